"""Kernels that tell from configurations, without reading, what a walk over a trie need not look into: the bytes that
may come next, and the bytes that may come without an end.
"""

from __future__ import annotations

from ..vocabulary.byte_classes import CLASS_OF, HEIGHT, ILL_FORMED, MOST_HEIGHT, WELL_FORMED
from ._kernel import kernel
from .cells import bit
from .choices import option_count, option_node, options_of
from .frames import call_target
from .keys import key_byte, matched
from .layout import (
    A_LOOPS,
    A_NEXT,
    CALL_NULLABLE,
    CALL_SELECT,
    CALL_SIZE,
    CALLED,
    CHARS,
    CW,
    D_LABEL,
    D_LEAST,
    D_WORDS,
    DEPTH,
    DONE,
    ESC,
    F_SHAPE,
    FLAG_FINAL,
    FORK,
    G_EXTRA,
    G_EXTRAS,
    G_KEY,
    HI,
    K_FRAME,
    L_COUNTED,
    L_MAX,
    L_MIN,
    L_SHAPE,
    L_SKIN,
    LO,
    LOOP_SIZE,
    LOOP_STATES,
    N_FIRST,
    NODE,
    O_ALL_LABELS,
    O_DIAGRAM,
    P_COMPARES,
    PARENT,
    R_COMPARES,
    R_NODE,
    R_PARENT,
    R_REGS,
    R_STATE,
    REGS,
    REMAINDER,
    S_CALL_LIST,
    S_CALLS,
    S_EDGE_LIST,
    S_EDGES,
    S_FLAGS,
    S_NEWLINES,
    SELECT_VALUE,
    SKIN_RAW,
    STATE,
    SYMBOL,
    TEXT,
    UNCOUNTED,
    X_BYTES,
    X_NEXT,
)
from .lexemes import first_word_from, follow, word_byte
from .rows import in_compared

# classes of bytes that a JSON string does not hold as they are
_OUTSIDE = sum(1 << int(c) for c in {int(CLASS_OF[b]) for b in (*range(32), 34, 92)})
ANY_HEIGHT = MOST_HEIGHT << HEIGHT
IN_JSON = ((2 << ILL_FORMED) - 1 & ~_OUTSIDE) | ANY_HEIGHT
BEYOND_ASCII = 1 << WELL_FORMED


@kernel("P A C i i b -> b")
def next_bytes_of(P, A, C, first, last, after):
    """Write to A_NEXT a superset of the bytes that configurations first..last-1 can read, with `after` also after
    lexemes have ended, if that can be told without much ado."""
    for k in range(8):
        A[A_NEXT + k] = 0
    for c in range(first, last):
        row = c * CW
        node, state = C[row + NODE], C[row + STATE]
        if node == DONE:
            continue
        if P[node] == K_FRAME:
            ends = P[state + S_FLAGS] & FLAG_FINAL != 0
            if C[row + CALLED] != 0:
                add_edge_bytes(P, A, A_NEXT, state)
            elif not add_first_bytes(P, A, A_NEXT, node, state, C[row + REGS]):
                return False
        elif P[node + L_SKIN] != SKIN_RAW:
            if state >= 0 or C[row + ESC] != 0:
                return False
            add_byte(A, A_NEXT, 34)
            add_byte(A, A_NEXT, 92)
            add_word_bytes(P, A, A_NEXT, C, row)
            ends = False
        elif P[node + L_SHAPE] >= 0:
            return False
        else:
            add_word_bytes(P, A, A_NEXT, C, row)
            ends = after and may_complete(P, C, row)
            for byte in range(256):
                if follow(P, state, byte) >= 0:
                    add_byte(A, A_NEXT, byte)
        if ends and not add_bytes_after(P, A, A_NEXT, C[row + PARENT]):
            return False
    return True


@kernel("P C i -> b")
def may_complete(P, C, row):
    """Whether a raw lexeme, bounds apart, is complete."""
    node, state, lo = C[row + NODE], C[row + STATE], C[row + LO]
    if lo < C[row + HI] and word_byte(P, node, lo, C[row + DEPTH]) < 0:
        return True
    return state >= 0 and P[state + D_LABEL] >= 0


@kernel("P A C T i i -> b")
def next_of_words(P, A, C, T, row, end):
    """The same for the words of a JSON string alone, and for the additional keys that were emitted and start with its
    content, which ends before text position `end`."""
    for k in range(8):
        A[A_NEXT + k] = 0
    add_byte(A, A_NEXT, 34)
    add_byte(A, A_NEXT, 92)
    add_word_bytes(P, A, A_NEXT, C, row)
    entry = A[A[C[row + PARENT] + R_REGS] + G_EXTRAS] if C[row + TEXT] >= 0 else 0
    while entry > 0:
        index = matched(A, entry, T, C[row + TEXT], end, P[C[row + NODE] + L_SKIN])
        if 0 <= index < A[entry + X_BYTES]:
            add_byte(A, A_NEXT, key_byte(A, entry, index))
        entry = A[entry + X_NEXT]
    return C[row + ESC] == 0


@kernel("A i -> i")
def classes_of(A, place):
    """The classes of the bytes in the 8 ints at `place`."""
    found = 0
    for byte in range(256):
        if bit(A, place, byte) != 0:
            found |= 1 << int(CLASS_OF[byte]) if byte < 128 else BEYOND_ASCII | BEYOND_ASCII << 1
    return found


@kernel("A i i -> v")
def add_byte(A, place, byte):
    value = 1 << (byte & 31)
    A[place + (byte >> 5)] |= value - 0x100000000 if value >= 0x80000000 else value


@kernel("P A i C i -> v")
def add_word_bytes(P, A, place, C, row):
    """Add the bytes with which the words of a lexeme go on."""
    node, lo, hi, depth = C[row + NODE], C[row + LO], C[row + HI], C[row + DEPTH]
    while lo < hi:
        byte = word_byte(P, node, lo, depth)
        if byte >= 0:
            add_byte(A, place, byte)
        lo = first_word_from(P, node, lo, hi, depth, byte + 1)


@kernel("P A i i i i -> b")
def add_first_bytes(P, A, place, node, state, regs):
    """Add to the 8 ints at `place` the bytes that a frame can read in a layout state; False where it cannot be told."""
    add_edge_bytes(P, A, place, state)
    for k in range(P[state + S_CALLS]):
        call = P[state + S_CALL_LIST] + k * CALL_SIZE
        if P[call + CALL_NULLABLE] != 0:
            return False
        if P[call + CALL_SELECT] == SELECT_VALUE and P[P[node + F_SHAPE] + O_DIAGRAM] >= 0:
            shape, label = P[node + F_SHAPE], A[regs + G_KEY]
            options = options_of(P, shape, label)
            for option in range(1 if options < 0 else option_count(P, options)):
                add_first_bytes_of(P, A, place, option_node(P, shape, label, options, option))
        else:
            add_first_bytes_of(P, A, place, call_target(P, A, call, node, regs))
    return True


@kernel("P A i i -> v")
def add_edge_bytes(P, A, place, state):
    """The same without the calls."""
    if P[state + S_NEWLINES] >= 0:
        A[place] |= 1 << 9 | 1 << 10 | 1 << 13
        A[place + 1] |= 1
    for k in range(P[state + S_EDGES]):
        byte = P[state + S_EDGE_LIST + 2 * k]
        if byte < SYMBOL:
            add_byte(A, place, byte)


@kernel("P A i i -> v")
def add_first_bytes_of(P, A, place, target):
    """Add to the 8 ints at `place` the possible first bytes of a node (-1: none)."""
    if target >= 0:
        for j in range(8):
            A[place + j] |= P[P[target + N_FIRST] + j]


@kernel("P A i i -> b")
def add_bytes_after(P, A, place, parent):
    """Add to the 8 ints at `place` the bytes that can be read when control goes back to arena row `parent`; False where
    it cannot be told."""
    rest = -1
    while parent >= 0:
        if A[parent + R_NODE] == FORK:
            if rest >= 0 or A[A[parent + R_STATE] + R_NODE] == FORK:
                return False
            rest, parent = A[parent + R_PARENT], A[parent + R_STATE]
        if A[parent + R_COMPARES] == parent:
            return False  # where it goes on depends on the item
        state = A[parent + R_STATE]
        if not add_first_bytes(P, A, place, A[parent + R_NODE], state, A[parent + R_REGS]):
            return False
        parent = A[parent + R_PARENT] if P[state + S_FLAGS] & FLAG_FINAL != 0 else -1
        if parent < 0:
            parent, rest = rest, -1
    return True


@kernel("P A C i -> ii")
def loop_of(P, A, C, row):
    """Classes of the bytes that a configuration can read in any order, whatever else it can, and how many of them: the
    automaton of a lexeme stays where it is, and used-up keys are no matter. No classes: (0, 0)."""
    node, state = C[row + NODE], C[row + STATE]
    if node == DONE or P[node] == K_FRAME or state < 0 or C[row + ESC] != 0:
        return 0, 0
    if P[P_COMPARES] != 0 and in_compared(A, C[row + PARENT]):
        return 0, 0
    if C[row + TEXT] >= 0 and P[state + D_WORDS] >= 0:
        return 0, 0
    if C[row + TEXT] >= 0 and A[A[C[row + PARENT] + R_REGS] + G_EXTRA] != P[P[node + L_SHAPE] + O_ALL_LABELS]:
        return 0, 0
    room = MOST_HEIGHT
    if P[node + L_COUNTED] != UNCOUNTED and P[node + L_MAX] >= 0:
        room = P[node + L_MAX] - C[row + CHARS] - P[state + D_LEAST]
        if room <= 0:
            return 0, 0
    loops = known_loops(P, A, state)
    return loops & IN_JSON if P[node + L_SKIN] != SKIN_RAW else loops, room


@kernel("P A C i -> b")
def alone(P, A, C, row):
    """Whether a raw lexeme without words reads bytes by its automaton only, but for those in A_NEXT, which those may
    read that it returns to."""
    node, state = C[row + NODE], C[row + STATE]
    if node == DONE or P[node] == K_FRAME or P[node + L_SKIN] != SKIN_RAW or P[node + L_SHAPE] >= 0:
        return False
    if state < 0 or C[row + LO] < C[row + HI] or P[node + L_COUNTED] == REMAINDER or P[P_COMPARES] != 0:
        return False
    for k in range(8):
        A[A_NEXT + k] = 0
    return add_bytes_after(P, A, A_NEXT, C[row + PARENT])


@kernel("P C i -> b")
def stays(P, C, row):
    """Whether a lexeme's configuration that reads a loop and nothing else stays as it is for all that matters."""
    node = C[row + NODE]
    if C[row + LO] < C[row + HI]:
        return False
    return P[node + L_COUNTED] == UNCOUNTED or (C[row + CHARS] >= P[node + L_MIN] and P[node + L_MAX] < 0)


@kernel("P A i -> i")
def known_loops(P, A, state):
    """`loops` of a state, looked up if it was asked for lately."""
    place = A_LOOPS + (state & (LOOP_STATES - 1)) * LOOP_SIZE
    if A[place] != state:
        found = loops(P, state)
        A[place], A[place + 1], A[place + 2] = state, found & 0x7FFFFFFF, found >> 31
    return int(A[place + 1]) | int(A[place + 2]) << 31


@kernel("P i -> i")
def loops(P, state):
    """Classes of the bytes with which an automaton stays in a state."""
    found = ANY_HEIGHT | BEYOND_ASCII - 1
    for byte in range(128):
        if follow(P, state, byte) != state:
            found &= ~(1 << int(CLASS_OF[byte]))
    after = -1  # what every byte that begins a character of two leads to; and so on
    for byte in range(0xC2, 0xE0):
        target = follow(P, state, byte)
        if target < 0 or (byte > 0xC2 and target != after):
            return found
        after = target
    if not all_lead(P, after, 0x80, 0xBF, state):
        return found
    two = follow(P, state, 0xE1)
    if not all_lead(P, two, 0x80, 0xBF, after) or not all_lead(P, follow(P, state, 0xE0), 0xA0, 0xBF, after):
        return found
    for byte in range(0xE2, 0xF0):
        if byte != 0xED and follow(P, state, byte) != two:
            return found
    if not all_lead(P, follow(P, state, 0xED), 0x80, 0x9F, after):
        return found
    three = follow(P, state, 0xF1)
    if not all_lead(P, three, 0x80, 0xBF, two) or follow(P, state, 0xF2) != three or follow(P, state, 0xF3) != three:
        return found
    if not all_lead(P, follow(P, state, 0xF0), 0x90, 0xBF, two):
        return found
    return found | BEYOND_ASCII if all_lead(P, follow(P, state, 0xF4), 0x80, 0x8F, two) else found


@kernel("P i i i i -> b")
def all_lead(P, state, first, last, target):
    """Whether all bytes first..last lead from a state (-1: none) to another."""
    for byte in range(first, last + 1):
        if follow(P, state, byte) != target:
            return False
    return target >= 0
