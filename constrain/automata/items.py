"""Kernels for the items of an array that are compared: where the next one begins, and whether one that ends is new.

Items are compared as values: escapes decoded, 1 = 1.0, members in any order. The frame of such an array remembers where
its items begin in the text; of each value a hash is kept. An equal hash is only a hint.
"""

from __future__ import annotations

from ._kernel import kernel
from .answers import EQUAL, verdict
from .cells import allocate
from .equality import set_wide, value_hash, wide
from .guards import passes
from .layout import (
    A_POS,
    R_NODE,
    R_REGS,
    R_STATE,
    U_EQUAL,
    U_ITEM,
    U_ITEMS,
    U_OPEN,
    U_SIZE,
    UNCOMPARED,
    V_HASH,
    V_NEXT,
    V_SIZE,
    V_START,
)


@kernel("A T i i -> i")
def next_item(A, T, old, equal):
    """Registers of an array whose next item begins at the current position; 0 when the arena must grow. equal: where it
    goes on if it equals an earlier one, NOWHERE, or UNCOMPARED.
    """
    items = A[old + U_ITEMS]
    if A[old + U_ITEM] >= 0:
        h, _ = value_hash(A, T, A[old + U_ITEM], A[A_POS])
        entry = allocate(A, V_SIZE)
        if entry == 0:
            return 0
        A[entry + V_NEXT], A[entry + V_START] = items, A[old + U_ITEM]
        set_wide(A, entry + V_HASH, h)
        items = entry
    regs = allocate(A, U_SIZE)
    if regs == 0:
        return 0
    A[regs], A[regs + U_ITEMS], A[regs + U_OPEN], A[regs + U_EQUAL] = A[old] + 1, items, A[old + U_OPEN], equal
    A[regs + U_ITEM] = A[A_POS] if equal != UNCOMPARED else -1
    return regs


@kernel("P A T i i -> ii")
def landing(P, A, T, frame, end):
    """(state, registers) in which an array goes on, at arena row `frame`, when its compared item ends before text
    position `end`; state -1: the item must not end so, or the arena must grow.
    """
    regs, state = A[frame + R_REGS], A[frame + R_STATE]
    if differs(A, T, regs, end):
        return (state if passes(P, A, A[frame + R_NODE], state, regs) else -1), regs
    equal = A[regs + U_EQUAL]
    if equal < 0:
        return -1, regs
    fresh = allocate(A, U_SIZE)
    if fresh == 0:
        return -1, regs
    A[fresh], A[fresh + U_ITEM], A[fresh + U_ITEMS], A[fresh + U_OPEN] = A[regs], -1, 0, A[regs + U_OPEN]
    A[fresh + U_EQUAL] = -1
    return equal, fresh


@kernel("A T i i -> b")
def differs(A, T, regs, end):
    """Whether the item of an array that ends before text position `end` is unlike all that are remembered."""
    entry = A[regs + U_ITEMS]
    if entry == 0:
        return True
    h, at = value_hash(A, T, A[regs + U_ITEM], end)
    if at < 0:
        return False  # the arena must grow
    while entry != 0:
        if wide(A, entry + V_HASH) == h:
            return verdict(A, T, EQUAL, regs, end)
        entry = A[entry + V_NEXT]
    return True
