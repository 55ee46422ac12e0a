"""Kernels that follow a lexeme by its words and its automaton.

A lexeme is matched two ways at once: as an interval [LO, HI) of its sorted words that start with the content so far, and
as a state of its automaton. Registers: characters so far (where bounds count them), the escape under way (ESC), and for
keys where their text starts. Whether it can go on is said by `viability`.
"""

from __future__ import annotations

from ._kernel import kernel
from .cells import bit, packed_byte
from .layout import (
    CHARS,
    D_CLASSES,
    D_LABEL,
    D_LEAST,
    D_MOST,
    D_NEXT,
    DEPTH,
    G_BITS,
    G_EXTRA,
    HI,
    L_BYTES,
    L_COUNTED,
    L_MAX,
    L_MIN,
    L_OFFSETS,
    L_SHAPE,
    LO,
    NODE,
    O_KEYS,
    PARENT,
    R_REGS,
    REMAINDER,
    STATE,
    UNCOUNTED,
)
from .remainders import feed_digit, may_end, remainder_of


@kernel("P i i -> i")
def follow(P, state, byte):
    """Target state of the automaton, or -1."""
    if state < 0:
        return -1
    return P[state + D_NEXT + packed_byte(P, P[state + D_CLASSES], byte)]


@kernel("P i i i -> i")
def word_byte(P, node, word, index):
    """Byte `index` of a word, or -1 at its end."""
    offsets = P[node + L_OFFSETS]
    start = P[offsets + word]
    if start + index >= P[offsets + word + 1]:
        return -1
    return packed_byte(P, P[node + L_BYTES], start + index)


@kernel("P i i i i i -> i")
def first_word_from(P, node, lo, hi, depth, byte):
    """First of the words lo..hi-1 (equal in their first `depth` bytes) whose next byte is at least `byte`."""
    while lo < hi:
        middle = (lo + hi) >> 1
        if word_byte(P, node, middle, depth) < byte:
            lo = middle + 1
        else:
            hi = middle
    return lo


@kernel("P i i i -> i")
def code_at(P, node, word, index):
    """Code point that starts at byte `index` of a word; -1 at the end of the word or inside a character."""
    lead = word_byte(P, node, word, index)
    if lead < 0x80:
        return lead
    if lead < 0xC0:
        return -1
    if lead < 0xE0:
        return (lead & 31) << 6 | word_byte(P, node, word, index + 1) & 63
    second, third = word_byte(P, node, word, index + 1) & 63, word_byte(P, node, word, index + 2) & 63
    if lead < 0xF0:
        return (lead & 15) << 12 | second << 6 | third
    return (lead & 7) << 18 | second << 12 | third << 6 | word_byte(P, node, word, index + 3) & 63


@kernel("P A i i -> v")
def narrow(P, A, y, byte):
    """Keep those of the words lo..hi-1 of configuration row `y` that go on with a byte."""
    node, lo, hi, depth = A[y + NODE], A[y + LO], A[y + HI], A[y + DEPTH]
    lo = first_word_from(P, node, lo, hi, depth, byte)
    hi = first_word_from(P, node, lo, hi, depth, byte + 1)
    if lo < hi:
        A[y + LO], A[y + HI], A[y + DEPTH] = lo, hi, depth + 1
    else:
        A[y + LO] = A[y + HI] = A[y + DEPTH] = 0


@kernel("P A i i -> v")
def feed(P, A, y, byte):
    """Advance the lexeme of configuration row `y` by one byte of content, in place; viability is asked afterwards."""
    counted = P[A[y + NODE] + L_COUNTED]
    if A[y + LO] < A[y + HI]:
        narrow(P, A, y, byte)
    if counted == REMAINDER:
        if A[y + STATE] >= 0:
            feed_digit(P, A, y, byte)
    elif counted != UNCOUNTED and byte & 0xC0 != 0x80:
        A[y + CHARS] += 1
    A[y + STATE] = follow(P, A[y + STATE], byte)


@kernel("P A i i -> v")
def feed_code(P, A, y, code):
    """Advance by one code point, as its UTF-8 bytes."""
    if code < 0x80:
        feed(P, A, y, code)
    elif code < 0x800:
        feed(P, A, y, 0xC0 | code >> 6)
        feed(P, A, y, 0x80 | code & 63)
    elif code < 0x10000:
        feed(P, A, y, 0xE0 | code >> 12)
        feed(P, A, y, 0x80 | (code >> 6) & 63)
        feed(P, A, y, 0x80 | code & 63)
    else:
        feed(P, A, y, 0xF0 | code >> 18)
        feed(P, A, y, 0x80 | (code >> 12) & 63)
        feed(P, A, y, 0x80 | (code >> 6) & 63)
        feed(P, A, y, 0x80 | code & 63)


@kernel("P i i i -> b")
def within_bounds(P, node, state, chars):
    """Whether acceptance can be reached from `state` within the bounds on characters."""
    most, upper = P[state + D_MOST], P[node + L_MAX]
    if upper >= 0 and chars + P[state + D_LEAST] > upper:
        return False
    return most < 0 or chars + most >= P[node + L_MIN]


@kernel("P A i -> i")
def complete(P, A, y):
    """Label of the content as a whole word, or -1. Declared keys come first, additional ones after them."""
    node, state, lo = A[y + NODE], A[y + STATE], A[y + LO]
    shape = P[node + L_SHAPE]
    if lo < A[y + HI] and word_byte(P, node, lo, A[y + DEPTH]) < 0:
        if shape >= 0:
            return lo if bit(A, A[A[y + PARENT] + R_REGS] + G_BITS, lo) != 0 else -1
        return 0
    if state < 0 or P[state + D_LABEL] < 0:
        return -1
    if P[node + L_COUNTED] == REMAINDER:
        return 0 if may_end(P, node, state, remainder_of(A, y)) else -1
    if P[node + L_COUNTED] != 0:
        chars, upper = A[y + CHARS], P[node + L_MAX]
        if chars < P[node + L_MIN] or (upper >= 0 and chars > upper):
            return -1
    if shape < 0:
        return P[state + D_LABEL]
    if (A[A[A[y + PARENT] + R_REGS] + G_EXTRA] >> P[state + D_LABEL]) & 1 == 0:
        return -1
    return P[shape + O_KEYS] + P[state + D_LABEL]
