"""Kernels on single masks: int32[words], bit t % 32 of word t // 32 is token t."""

from __future__ import annotations

from ._kernel import kernel


@kernel("M i -> v")
def set_bit(mask, token):
    value = 1 << (token & 31)
    mask[token >> 5] |= value - 0x100000000 if value >= 0x80000000 else value


@kernel("M i -> v")
def clear_bit(mask, token):
    value = 1 << (token & 31)
    mask[token >> 5] &= ~(value - 0x100000000 if value >= 0x80000000 else value)


@kernel("M -> v")
def clear(mask):
    for k in range(len(mask)):
        mask[k] = 0


@kernel("M M i i -> v")
def set_bits(mask, ids, first, last):
    """Set the bits of the tokens ids[first:last]."""
    for k in range(first, last):
        set_bit(mask, ids[k])


@kernel("M M i i -> v")
def add_row(mask, rows, row, words):
    """OR one row of a table of masks into `mask`."""
    base = row * words
    for k in range(words):
        mask[k] |= rows[base + k]
