"""What a mask needs while it is made: workspaces of a vocabulary, which kernels take and give back (lending.py)."""

from __future__ import annotations

import threading
import time

import numpy as np
from numpy.typing import NDArray

from . import layout as at

__all__ = ["Workspaces"]

_ARENA = 1 << 16
_CONFIGS = 1 << 12
_MOST_BUFFERS, _LONGEST_BUFFER = 4, 1 << 18


class Workspaces:
    """walk: ints of the stack that a walk over the tokens needs.
    table: int64[MOST_WORKSPACES * Z_SIZE], zeros where none was made yet (layout.py).
    """

    def __init__(self, walk: int) -> None:
        self.walk = walk
        self.table: NDArray[np.int64] = np.zeros(at.MOST_WORKSPACES * at.Z_SIZE, np.int64)
        self._lock = threading.Lock()
        self._arrays: list[NDArray[np.int32] | NDArray[np.int64]] = []
        self._count = 0
        self._buffers: list[NDArray[np.int32]] = []

    def add(self) -> None:
        """Make one more; where there are as many as there may be, let other threads give one back."""
        with self._lock:
            if self._count == at.MOST_WORKSPACES:
                time.sleep(0)
                return
            place = self._count * at.Z_SIZE
            sets = at.SET_LISTS + at.MANY_SETS * at.Q_SIZE
            # pages are taken when they are first written
            for field, size in (
                (at.Z_SETS, sets), (at.Z_ARENA, _ARENA), (at.Z_CONFIGS, _CONFIGS * at.CW)
            ):  # fmt: skip
                self._tell(place + field, np.zeros(size, np.int32))
            self._tell(place + at.Z_NARROWED, np.zeros(at.NARROWED_SIZE, np.int64))
            self._tell(place + at.Z_WALK, np.zeros(self.walk, np.int32))  # last: with it, the workspace is there
            self._count += 1

    def _tell(self, place: int, array: NDArray[np.int32] | NDArray[np.int64]) -> None:
        self._arrays.append(array)
        self.table[place + 1] = array.size
        self.table[place] = array.ctypes.data

    def ensure(self, count: int) -> None:
        """Have so many of them, for as many threads."""
        while self._count < min(count, at.MOST_WORKSPACES):
            self.add()

    @property
    def nbytes(self) -> int:
        return self.table.nbytes + sum(array.nbytes for array in (*self._arrays, *self._buffers))

    def take_buffer(self, size: int) -> NDArray[np.int32]:
        """An int32 array of `size` elements or more, for a compaction."""
        try:
            found = self._buffers.pop()
        except IndexError:
            found = np.empty(0, np.int32)
        return found if len(found) >= size else np.empty(max(size, 2 * len(found), 1 << 13), np.int32)

    def keep_buffer(self, buffer: NDArray[np.int32]) -> None:
        """Keep a buffer for the next compaction."""
        if len(self._buffers) < _MOST_BUFFERS and len(buffer) <= _LONGEST_BUFFER:
            self._buffers.append(buffer)
