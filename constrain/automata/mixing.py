"""Kernels for hashes of 62 bits; in the arena they lie in two ints of 31 bits each."""

from __future__ import annotations

from ._kernel import kernel


@kernel("i i -> i")
def mix(h, x):
    """Fold x into h (multiply and shift; both results keep 62 bits)."""
    h = ((h ^ x) * 0x1B03738712FAD5C9 + 0x2127599BF4325C37) & 0x3FFFFFFFFFFFFFFF
    return h ^ (h >> 29)


@kernel("A i i -> v")
def store_hash_at(A, place, h):
    A[place] = h & 0x7FFFFFFF
    A[place + 1] = h >> 31


@kernel("A i -> i")
def load_hash_at(A, place):
    return A[place] | (A[place + 1] << 31)
