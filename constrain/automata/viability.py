"""Kernels that tell whether a lexeme under way, or the escape in it, can still become one that is allowed."""

from __future__ import annotations

from ._kernel import kernel
from .cells import any_bit, bit
from .keys import extra_key_left, some_additional_key
from .layout import (
    CHARS,
    D_LABELS,
    D_WORDS,
    DEPTH,
    ESC,
    G_BITS,
    G_EXTRA,
    HI,
    L_COUNTED,
    L_MAX,
    L_SHAPE,
    LO,
    NODE,
    O_ALL_LABELS,
    PARENT,
    R_REGS,
    REMAINDER,
    STATE,
)
from .lexemes import code_at, follow, within_bounds
from .remainders import can_divide, remainder_of

MAX_CODE = 0x10FFFF


@kernel("P A T i -> b")
def viable(P, A, T, y):
    """Whether some completion of the lexeme exists; a dead automaton part is put to -1."""
    node, state = A[y + NODE], A[y + STATE]
    shape = P[node + L_SHAPE]
    if state >= 0 and P[node + L_COUNTED] == REMAINDER:
        if not can_divide(P, node, state, remainder_of(A, y)):
            state = -1
    elif state >= 0 and P[node + L_COUNTED] != 0 and not within_bounds(P, node, state, A[y + CHARS]):
        state = -1
    if state >= 0 and shape >= 0:
        allowed = P[state + D_LABELS] & A[A[A[y + PARENT] + R_REGS] + G_EXTRA] != 0
        if not allowed or not extra_key_left(P, A, T, y):
            state = -1
    A[y + STATE] = state
    if state >= 0:
        return True
    if shape < 0:
        return A[y + LO] < A[y + HI]
    return any_bit(A, A[A[y + PARENT] + R_REGS] + G_BITS, A[y + LO], A[y + HI])


@kernel("P A T i -> b")
def escape_viable(P, A, T, y):
    """Whether the escape under way in row `y` can end in a character that the lexeme can go on with."""
    esc = A[y + ESC]
    phase = esc & 15
    high = (esc >> 20) & 0x3FF
    if phase == 1:
        return some_char(P, A, T, y, 0, MAX_CODE)
    if phase == 6 or phase == 7:
        return some_char(P, A, T, y, 0x10000 + (high << 10), 0x103FF + (high << 10))
    digits = phase - 2 if phase < 8 else phase - 8
    shift = 4 * (4 - digits)
    value = (esc >> 4) & 0xFFF
    first = value << shift
    last = first + (1 << shift) - 1
    if phase >= 8:
        first, last = max(first, 0xDC00), min(last, 0xDFFF)
        base = 0x10000 + (high << 10) - 0xDC00
        return first <= last and some_char(P, A, T, y, base + first, base + last)
    if some_char(P, A, T, y, first, min(last, 0xD7FF)) or some_char(P, A, T, y, max(first, 0xE000), last):
        return True
    first, last = max(first, 0xD800), min(last, 0xDBFF)
    return first <= last and some_char(
        P, A, T, y, 0x10000 + ((first - 0xD800) << 10), 0x103FF + ((last - 0xD800) << 10)
    )


@kernel("P A T i i i -> b")
def some_char(P, A, T, y, first, last):
    """Whether the lexeme can go on with some character in first..last."""
    if first > last:
        return False
    node, state = A[y + NODE], A[y + STATE]
    shape = P[node + L_SHAPE]
    if state >= 0 and some_char_of_dfa(P, node, state, A[y + CHARS] + 1, first, last):
        # additional keys may be used up: then the characters are tried one by one
        if shape < 0:
            return True
        if P[state + D_WORDS] < 0 and A[A[A[y + PARENT] + R_REGS] + G_EXTRA] == P[shape + O_ALL_LABELS]:
            return True
        if some_additional_key(P, A, T, y, first, last):
            return True
    depth = A[y + DEPTH]
    for word in range(A[y + LO], A[y + HI]):
        code = code_at(P, node, word, depth)
        if first <= code <= last and (shape < 0 or bit(A, A[A[y + PARENT] + R_REGS] + G_BITS, word) != 0):
            return True
    return False


@kernel("P i i i i i -> b")
def some_char_of_dfa(P, node, state, chars, first, last):
    """Whether the automaton can read some character in first..last and then still reach acceptance within the bounds."""
    if P[node + L_COUNTED] != 0 and P[node + L_MAX] >= 0 and chars > P[node + L_MAX]:
        return False
    for code in range(first, min(last, 0x7F) + 1):
        if bounded(P, node, follow(P, state, code), chars):
            return True
    return (
        some_in_block(P, node, state, chars, 0xC0, 6, max(first, 0x80), min(last, 0x7FF))
        or some_in_block(P, node, state, chars, 0xE0, 12, max(first, 0x800), min(last, 0xD7FF))
        or some_in_block(P, node, state, chars, 0xE0, 12, max(first, 0xE000), min(last, 0xFFFF))
        or some_in_block(P, node, state, chars, 0xF0, 18, max(first, 0x10000), last)
    )


@kernel("P i i i -> b")
def bounded(P, node, state, chars):
    """Whether `state` is alive and within the bounds on characters, where these count."""
    return state >= 0 and (P[node + L_COUNTED] == 0 or within_bounds(P, node, state, chars))


@kernel("P i i i i i i i -> b")
def some_in_block(P, node, state, chars, lead, shift, first, last):
    """The same for the characters in first..last whose UTF-8 starts with a byte from `lead` on and has shift / 6 more.

    A block of characters behind one byte is looked at once for each state that it starts in; neighbours mostly share it.
    """
    code, previous = first, -2
    while code <= last:
        end = code | ((1 << shift) - 1)
        target = follow(P, state, lead | code >> shift)
        if target >= 0 and (target != previous or end > last):
            if shift == 6:
                if some_tail(P, node, target, chars, code, min(end, last)):
                    return True
            else:
                inner, inner_previous = code, -2
                while inner <= min(end, last):
                    inner_end = inner | ((1 << (shift - 6)) - 1)
                    below = follow(P, target, 0x80 | (inner >> (shift - 6)) & 63)
                    if below >= 0 and (below != inner_previous or inner_end > last):
                        if shift == 12:
                            if some_tail(P, node, below, chars, inner, min(inner_end, last)):
                                return True
                        else:
                            deep, deep_previous = inner, -2
                            while deep <= min(inner_end, last):
                                third = follow(P, below, 0x80 | (deep >> 6) & 63)
                                if third >= 0 and (third != deep_previous or (deep | 63) > last):
                                    if some_tail(P, node, third, chars, deep, min(deep | 63, last)):
                                        return True
                                deep_previous = third if deep & 63 == 0 else -2
                                deep = (deep | 63) + 1
                    inner_previous = below if inner & ((1 << (shift - 6)) - 1) == 0 else -2
                    inner = inner_end + 1
        previous = target if code & ((1 << shift) - 1) == 0 else -2
        code = end + 1
    return False


@kernel("P i i i i i -> b")
def some_tail(P, node, state, chars, first, last):
    """The same for the last byte of the characters first..last, which share the bytes before it."""
    for code in range(first, last + 1):
        if bounded(P, node, follow(P, state, 0x80 | code & 63), chars):
            return True
    return False
