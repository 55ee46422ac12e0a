"""Kernels on guards: whether the registers of a frame let it into a layout state."""

from __future__ import annotations

from ._kernel import kernel
from .cells import any_bit
from .choices import may_end
from .layout import (
    F_SHAPE,
    F_SHAPE_KIND,
    G_BITS,
    G_COUNT,
    G_EXTRA,
    G_MISSING,
    GUARD_CLOSE,
    GUARD_MORE,
    GUARD_NEVER,
    O_DIAGRAM,
    O_KEYS,
    O_MIN,
    S_GUARD,
    SHAPE_OBJECT,
    Y_MAX,
    Y_MIN,
    Y_PREFIX_COUNT,
    Y_REST,
)


@kernel("P A i i i -> b")
def may_continue(P, A, shape_kind, shape, regs):
    """Guard.MORE: whether a further member or item may follow."""
    if shape_kind == SHAPE_OBJECT:
        return A[regs + G_EXTRA] != 0 or any_bit(A, regs + G_BITS, 0, P[shape + O_KEYS])
    count = A[regs]
    if P[shape + Y_MAX] >= 0 and count >= P[shape + Y_MAX]:
        return False
    return count < P[shape + Y_PREFIX_COUNT] or P[shape + Y_REST] >= 0


@kernel("P A i i i -> b")
def passes(P, A, node, state, regs):
    """Whether the guard of a layout state lets the frame in."""
    guard = P[state + S_GUARD]
    if guard == GUARD_MORE:
        return may_continue(P, A, P[node + F_SHAPE_KIND], P[node + F_SHAPE], regs)
    if guard == GUARD_CLOSE:
        shape = P[node + F_SHAPE]
        if P[node + F_SHAPE_KIND] == SHAPE_OBJECT:
            if A[regs + G_MISSING] != 0 or A[regs + G_COUNT] < P[shape + O_MIN]:
                return False
            return P[shape + O_DIAGRAM] < 0 or may_end(P, A, shape, regs)
        return A[regs] >= P[shape + Y_MIN]
    return guard != GUARD_NEVER
