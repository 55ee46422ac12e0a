"""Kernels for values that surely have infinitely many ways to go on, which therefore can become unlike any others."""

from __future__ import annotations

from ..languages.number_values import ENDLESS, ENDLESS_UNLESS_ZERO
from ._kernel import kernel
from .cells import bit
from .layout import (
    A_POS,
    CHARS,
    D_EVERYTHING,
    D_LABELS,
    D_MOST,
    D_WORDS,
    F_SHAPE,
    F_SHAPE_KIND,
    G_BITS,
    G_EXTRA,
    K_LEXEME,
    L_FINITE,
    L_MAX,
    L_SKIN,
    NODE,
    O_DIAGRAM,
    O_ENDLESS,
    O_EXTRA,
    O_KEYS,
    O_MAX,
    PARENT,
    R_NODE,
    R_PARENT,
    R_REGS,
    REGS,
    SHAPE_ARRAY,
    SHAPE_OBJECT,
    SKIN_JSON,
    STATE,
    Y_COMPARED,
    Y_MAX,
    Y_REST,
)

MANY = 4  # characters that a free string may still get: more strings than an array has items


@kernel("P A C T i i -> b")
def endless_until(P, A, C, T, row, frame):
    """Whether the item under way in the array at arena row `frame` surely has infinitely many values to become."""
    node, state = C[row + NODE], C[row + STATE]
    if P[node] == K_LEXEME:
        if state >= 0:
            most = P[node + L_MAX]
            if most < 0 and P[state + D_MOST] < 0 and P[node + L_FINITE] == 0:
                endless = ENDLESS if P[node + L_SKIN] == SKIN_JSON else P[state + D_LABELS]
                if endless == ENDLESS or (endless == ENDLESS_UNLESS_ZERO and not is_zero(A, T)):
                    return True
            if most >= 0 and P[state + D_WORDS] == D_EVERYTHING and most - C[row + CHARS] >= MANY:
                return True
    elif endless_frame(P, A, node, C[row + REGS]):
        return True
    here = C[row + PARENT]
    while here != frame:
        if endless_frame(P, A, A[here + R_NODE], A[here + R_REGS]):
            return True
        here = A[here + R_PARENT]
    return False


@kernel("P A i i -> b")
def endless_frame(P, A, node, regs):
    """Whether infinitely many members or items, or values of one, can still follow in a frame."""
    kind, shape = P[node + F_SHAPE_KIND], P[node + F_SHAPE]
    if kind == SHAPE_ARRAY:
        return P[shape + Y_MAX] < 0 and P[shape + Y_REST] >= 0 and P[shape + Y_COMPARED] == 0
    if kind != SHAPE_OBJECT:
        return False
    extra = P[shape + O_EXTRA]
    if extra >= 0 and P[shape + O_MAX] < 0 and P[extra + D_MOST] < 0:
        if P[shape + O_DIAGRAM] < 0 or A[regs + G_EXTRA] != 0:
            return True
    for key in range(P[shape + O_KEYS]):
        if bit(P, P[shape + O_ENDLESS], key) != 0 and bit(A, regs + G_BITS, key) != 0:
            return True
    return False


@kernel("A T -> b")
def is_zero(A, T):
    """Whether all digits before the exponent of the number that the text ends in are zeros, as far as it is written."""
    at, zero = A[A_POS], True
    while at >= 0:
        byte = T[at]
        if byte | 32 == 101:
            zero = True
        elif 49 <= byte <= 57:
            zero = False
        elif byte != 48 and byte != 43 and byte != 45 and byte != 46:
            break
        at -= 1
    return zero
