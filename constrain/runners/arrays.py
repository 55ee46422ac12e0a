"""What of the loop depends on where arrays live, and that for numpy.

`Arrays` makes a `Workspace` for each run: the buffers of that run and five operations on them. A runner for another
device brings these two and keeps the loop. Bitmasks are filled by the matchers and so begin in host memory, int32
[rows, ceil(V / 32)]; `apply` is the place to move them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ..sampling import Sampling, choose

__all__ = ["Arrays", "Draw", "HostMasks", "NumpyArrays", "Workspace"]

Bitmask = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Draw:
    """What a token is drawn from: a row of the logits, and the other arguments of `constrain.sampling.choose`."""

    row: int
    sampling: Sampling
    seen: Set[int]
    counts: Mapping[int, int]
    u: float


class Workspace(Protocol):
    """The buffers of one run, for one thread, and what is done with them."""

    def bitmask(self) -> Bitmask:
        """The bitmask of the next step, in host memory; what is in it does not matter."""

    def fill(self, matchers: Sequence[Any], bitmask: Bitmask, rows: Sequence[int]) -> None:
        """Write the mask of matchers[i] to bitmask[rows[i]]; other rows stay as they are."""

    def apply(self, logits: Any, bitmask: Bitmask, rows: Sequence[int]) -> Any:
        """Logits [B, V] with minus infinity wherever the bit is 0 in the given rows; other rows keep their bits."""

    def best(self, logits: Any, row: int) -> int:
        """The token id with the greatest of logits[row], the lowest where several are equal."""

    def choose(self, logits: Any, draws: Sequence[Draw]) -> list[int | ValueError]:
        """For each draw the id that `constrain.sampling.choose` gives, or the ValueError that it raises."""


class Arrays(Protocol):
    """An array library, or a device."""

    def workspace(self, rows: int, vocab_size: int) -> AbstractContextManager[Workspace]:
        """A workspace for one run with at most so many rows of logits; leaving the context gives its memory back."""


class HostMasks:
    """Filling masks, which every workspace does in host memory; a context that has nothing to give back."""

    def fill(self, matchers: Sequence[Any], bitmask: Bitmask, rows: Sequence[int]) -> None:
        from ..automata.matcher import fill_next_token_bitmasks

        fill_next_token_bitmasks(matchers, bitmask, rows)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *error: object) -> None:
        pass


class NumpyWorkspace(HostMasks):
    """`Workspace` in host memory."""

    def __init__(self, rows: int, vocab_size: int) -> None:
        self._shape = (rows, vocab_size)
        self._bitmask: Bitmask | None = None

    def bitmask(self) -> Bitmask:
        if self._bitmask is None:
            from .. import allocate_token_bitmask

            self._bitmask = allocate_token_bitmask(*self._shape)
        return self._bitmask

    def apply(self, logits: npt.NDArray[np.floating], bitmask: Bitmask, rows: Sequence[int]) -> Any:
        from .. import apply_token_bitmask_inplace

        if not logits.flags.writeable:
            logits = logits.copy()
        apply_token_bitmask_inplace(logits, bitmask[: len(logits)], indices=rows)
        return logits

    def best(self, logits: npt.NDArray[np.floating], row: int) -> int:
        return int(logits[row].argmax())

    def choose(self, logits: npt.NDArray[np.floating], draws: Sequence[Draw]) -> list[int | ValueError]:
        return [_chosen(logits, draw) for draw in draws]


class NumpyArrays:
    """`Arrays` for numpy."""

    def workspace(self, rows: int, vocab_size: int) -> NumpyWorkspace:
        return NumpyWorkspace(rows, vocab_size)


def _chosen(logits: npt.NDArray[np.floating], draw: Draw) -> int | ValueError:
    try:
        return choose(logits[draw.row], draw.sampling, draw.seen, draw.counts, draw.u)
    except ValueError as error:
        return error
