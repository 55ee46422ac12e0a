"""What `automata.batch` asks of a matcher, answered for a session by the only matcher that it has left."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .alternatives import Alternatives

__all__ = ["Batched"]


class Batched(ABC):
    """Where a session has one matcher, and that is in its constraint, the kernels of a batch do without the session."""

    _ways: Alternatives

    @abstractmethod
    def fail(self, stage: str, error: Exception | str) -> None:
        """Note that the constraint cannot be used any more."""

    @abstractmethod
    def _fill_without(self, row: NDArray[np.int32]) -> bool:
        """The mask where no matcher gives one."""

    @property
    def _in_engine(self) -> bool:
        return bool(getattr(self._ways.only, "_in_engine", False))

    @property
    def _address(self) -> Any:
        return self._ways.only._address

    @property
    def _index(self) -> Any:
        return self._ways.index

    @property
    def _lacks_bytes(self) -> bool:
        return bool(getattr(self._ways.only, "_lacks_bytes", False))

    def _check_alive(self, mask: NDArray[np.int32]) -> None:
        try:
            self._ways.only._check_alive(mask)
        except Exception as error:
            self.fail("mask", error)
            self._fill_without(mask)
