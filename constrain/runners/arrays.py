"""The five operations of the loop that depend on where arrays live, here for numpy.

A runner for another device brings an object with the same five methods and keeps the loop. Bitmasks are filled by the
matchers and so begin in host memory, int32 [rows, ceil(V / 32)]; `apply` is the place to move them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ..sampling import Sampling, choose

__all__ = ["Arrays", "NumpyArrays"]

Bitmask = npt.NDArray[np.int32]


class Arrays(Protocol):
    """What the loop asks of an array library."""

    def allocate(self, rows: int, vocab_size: int) -> Bitmask:
        """A bitmask in host memory, int32 [rows, ceil(vocab_size / 32)]."""

    def fill(self, matchers: Sequence[Any], bitmask: Bitmask, rows: Sequence[int]) -> None:
        """Write the mask of matchers[i] to bitmask[rows[i]]; other rows stay as they are."""

    def apply(self, logits: Any, bitmask: Bitmask, rows: Sequence[int]) -> Any:
        """Logits [B, V] with minus infinity wherever the bit is 0 in the given rows; other rows keep their bits."""

    def best(self, logits: Any, row: int) -> int:
        """The token id with the greatest of logits[row], the lowest where several are equal."""

    def choose(
        self, logits: Any, row: int, sampling: Sampling, seen: Set[int], counts: Mapping[int, int], u: float
    ) -> int:
        """The token id that `constrain.sampling.choose` gives for logits[row]."""


class NumpyArrays:
    """`Arrays` for numpy, in host memory."""

    def allocate(self, rows: int, vocab_size: int) -> Bitmask:
        from .. import allocate_token_bitmask

        return allocate_token_bitmask(rows, vocab_size)

    def fill(self, matchers: Sequence[Any], bitmask: Bitmask, rows: Sequence[int]) -> None:
        from ..automata.matcher import fill_next_token_bitmasks

        fill_next_token_bitmasks(matchers, bitmask, rows)

    def apply(self, logits: npt.NDArray[np.floating], bitmask: Bitmask, rows: Sequence[int]) -> Any:
        from .. import apply_token_bitmask_inplace

        if not logits.flags.writeable:
            logits = logits.copy()
        apply_token_bitmask_inplace(logits, bitmask, indices=rows)
        return logits

    def best(self, logits: npt.NDArray[np.floating], row: int) -> int:
        return int(logits[row].argmax())

    def choose(
        self,
        logits: npt.NDArray[np.floating],
        row: int,
        sampling: Sampling,
        seen: Set[int],
        counts: Mapping[int, int],
        u: float,
    ) -> int:
        return choose(logits[row], sampling, seen, counts, u)
