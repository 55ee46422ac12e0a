"""Masks of whole states, by their keys (hashes.py): bounded, the least used of late going first."""

from __future__ import annotations

import sys

import numpy as np
from numpy.typing import NDArray

__all__ = ["ROWS", "MaskCache", "next_cache"]

ROWS = 512
"""Masks per cache; two are in use at a time."""


class MaskCache:
    """table int32[8 * rows]: an open hash table of rows + 1, 0 is free; keys int64[rows]; masks int32[rows, words];
    used int64[1]: rows taken.

    When it is full, the next one is begun, and this one is still looked into: what is found there moves on, the rest is
    given up with it. A row once entered never changes, so that kernels read and write without a lock (cached.py).
    """

    def __init__(self, words: int, rows: int = ROWS) -> None:
        self.table: NDArray[np.int32] = np.zeros(1 << (8 * rows - 1).bit_length(), np.int32)
        self.keys: NDArray[np.int64] = np.zeros(rows, np.int64)
        self.masks: NDArray[np.int32] = np.zeros((rows, words), np.int32)
        self.used: NDArray[np.int64] = np.zeros(1, np.int64)
        arrays = (self.table, self.keys, self.masks, self.used)
        self.descriptor = [x for a in arrays for x in (a.ctypes.data, a.size)]
        """The addresses and sizes of the four."""

    @property
    def nbytes(self) -> int:
        """Bytes in use."""
        return self.table.nbytes + self.keys.nbytes + min(int(self.used[0]), len(self.keys)) * self.masks.strides[0]


def next_cache(current: MaskCache, holders: list[MaskCache]) -> MaskCache:
    """The cache to use when `current` is full: the one before it, taken out of `holders`, if nobody looks into it."""
    words, rows = current.masks.shape[1], len(current.keys)
    old = holders.pop()
    if old is not current and sys.getrefcount(old) == 2 and old.masks.shape == current.masks.shape:
        old.table[:] = 0
        old.used[0] = 0
        return old
    return MaskCache(words, rows)
