"""Kernels that read bytes and flags in the flat arrays, and take room in the arena."""

from __future__ import annotations

from ._kernel import kernel
from .layout import (
    A_STATUS,
    A_TOP,
    NEED_ARENA,
)


@kernel("P i i -> i")
def packed_byte(array, base, index):
    """Byte `index` of the bytes packed at `base`."""
    return (array[base + (index >> 2)] >> ((index & 3) * 8)) & 255


@kernel("P i i -> i")
def bit(array, base, index):
    return (array[base + (index >> 5)] >> (index & 31)) & 1


@kernel("P i i i -> b")
def any_bit(array, base, lo, hi):
    """Whether one of the bits lo..hi-1 is set."""
    while lo < hi:
        if lo & 31 == 0 and lo + 32 <= hi:
            if array[base + (lo >> 5)] != 0:
                return True
            lo += 32
        else:
            word = (array[base + (lo >> 5)] & 0xFFFFFFFF) >> (lo & 31)
            span = min(hi - lo, 32 - (lo & 31))
            if word & ((1 << span) - 1) != 0:
                return True
            lo += span
    return False


@kernel("A i -> i")
def allocate(A, size):
    """Address of `size` fresh ints in the arena; 0 and a status when it must grow first."""
    address = A[A_TOP]
    if address + size > len(A):
        A[A_STATUS] = NEED_ARENA
        return 0
    A[A_TOP] = address + size
    return address
