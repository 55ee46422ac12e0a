"""A masked write for scores in host memory that also says what is left."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import boolean, float32, int32, void
from numpy.typing import NDArray

from .._jit import jit

__all__ = ["allowed_columns", "forbid"]


@jit(signature=void(float32[:, ::1], int32[:, ::1], int32[::1], boolean[::1]))
def forbid(scores: Any, bitmask: Any, slots: Any, left: Any) -> None:
    """Set forbidden scores to minus infinity, in place.

    scores:  float32[rows, width]. bitmask: int32[n, words]; columns beyond its words are forbidden.
    slots:   int32[rows], the row of the bitmask for each row of the scores; -1 leaves the row alone.
    left:    bool[rows], written: whether any score above minus infinity is left (True for rows left alone).
    """
    width = scores.shape[1]
    for row in range(len(scores)):
        slot = slots[row]
        left[row] = slot < 0
        if slot < 0:
            continue
        some = False
        for word in range((width + 31) // 32):
            bits = bitmask[slot, word] if word < bitmask.shape[1] else 0
            first = word * 32
            end = min(first + 32, width)
            if bits == 0:
                scores[row, first:end] = -np.inf
            elif bits != -1 or not some:
                for column in range(first, end):
                    if (bits >> (column - first)) & 1:
                        some = some or scores[row, column] != -np.inf
                    else:
                        scores[row, column] = -np.inf
        left[row] = some


def allowed_columns(packed: NDArray[np.int32], width: int) -> NDArray[np.intp]:
    """The columns below `width` whose bits are set in one row of a bitmask."""
    return np.flatnonzero(np.unpackbits(packed.view(np.uint8), bitorder="little")[:width])
