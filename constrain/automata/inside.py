"""Kernels that make ready masks: what stays inside a lexeme, and where a JSON string ends (ready.py)."""

from __future__ import annotations

from ._kernel import kernel
from .bits import clear_bit, set_bit, set_bits
from .layout import (
    A_END,
    A_NEED,
    A_OUT,
    A_POS,
    A_STATUS,
    A_TOP,
    A_WALK,
    CW,
    DONE,
    E_ARENA,
    E_CONFIGS,
    E_DATA,
    E_PROGRAM,
    E_QUOTED,
    E_TEXT,
    E_TRIE,
    E_WALK,
    L_SKIN,
    NEED_TEXT,
    NODE,
    OK,
    SKIN_JSON,
    W_END,
    W_FROM,
    W_LOOPS,
    W_OUT,
    W_SIZE,
    W_TO,
    W_TOP,
)
from .lexemes import follow
from .lookahead import IN_JSON, known_loops
from .mixing import load_hash_at, store_hash_at
from .reading import settle
from .rows import set_row
from .steps import advance
from .views import ints, octets, view_i64
from .walks import INSIDE, room_for_walk, set_level, walk


@kernel("O M i i -> i")
def fill_inside(desc, mask, node, state):
    """Write the tokens that the lexeme `node` can read from `state` of an automaton without ending, of those that begin
    with a byte whose flag in E_DATA (uint8[256]) is set; the others stay as they are.

    Plain content only moves the automaton, so it is followed here; what a backslash starts in JSON is walked as ever.
    """
    P, A, C, W = ints(desc, E_PROGRAM), ints(desc, E_ARENA), ints(desc, E_CONFIGS), ints(desc, E_WALK)
    byte, end = octets(desc, E_TRIE), ints(desc, E_TRIE + 2)
    id_start, ids = ints(desc, E_TRIE + 4), ints(desc, E_TRIE + 6)
    flags, in_json = octets(desc, E_DATA), P[node + L_SKIN] == SKIN_JSON
    content = IN_JSON if in_json else -1
    top, base, row, n = A[A_TOP], A[A_POS], A[A_END], len(byte)
    A[A_NEED], A[A_STATUS] = 0, OK
    if (row + 2) * CW > len(C) or not room_for_walk(desc):
        return NEED_TEXT
    classes = view_i64(desc[E_TRIE + 8], desc[E_TRIE + 9])
    # rows of the stack: state, end of the subtree, loops
    W[W_FROM], W[W_END] = state, n
    store_hash_at(W, W_LOOPS, known_loops(P, A, state) & content)
    level = k = 0
    while k < n:
        while k >= W[level + W_END]:
            level -= W_SIZE
        if level == 0:
            if flags[byte[k]] == 0:
                k = end[k]
                continue
            for j in range(id_start[k], id_start[end[k]]):
                clear_bit(mask, ids[j])
        if classes[k] & ~load_hash_at(W, level + W_LOOPS) == 0:
            set_bits(mask, ids, id_start[k], id_start[end[k]])
            k = end[k]
            continue
        if in_json and byte[k] == 92:
            set_row(C, row * CW, node, W[level + W_FROM], -1, -1, 0)
            A[A_OUT], A[A_POS] = row + 1, base + level // W_SIZE
            A[A_WALK] = level + W_SIZE
            walk(desc, E_TRIE, row, row + 1, k, end[k], INSIDE, mask)
            A[A_WALK] = 0
            if A[A_STATUS] != OK:
                break
            k = end[k]
            continue
        outside = in_json and (byte[k] < 32 or byte[k] == 34)
        target = -1 if outside else follow(P, W[level + W_FROM], byte[k])
        if target < 0:
            k = end[k]
            continue
        for j in range(id_start[k], id_start[k + 1]):
            set_bit(mask, ids[j])
        if end[k] > k + 1:
            level += W_SIZE
            W[level + W_FROM], W[level + W_END] = target, end[k]
            store_hash_at(W, level + W_LOOPS, known_loops(P, A, target) & content)
        k += 1
    A[A_POS] = base
    settle(desc, top)
    return A[A_STATUS]


@kernel("O i i M -> i")
def find_ends(desc, node, state, ends):
    """Nodes of the trie of tokens with a quote at which a JSON string ends that follows an automaton from `state`, into
    `ends`; how many, or -1 - status."""
    A, C, W, T = ints(desc, E_ARENA), ints(desc, E_CONFIGS), ints(desc, E_WALK), octets(desc, E_TEXT)
    byte, end = octets(desc, E_QUOTED), ints(desc, E_QUOTED + 2)
    top, first, base, n, count = A[A_TOP], A[A_END], A[A_POS], len(byte), 0
    A[A_NEED], A[A_STATUS] = 0, OK
    if (first + 1) * CW > len(C) or not room_for_walk(desc):
        return -1 - NEED_TEXT
    set_row(C, first * CW, node, state, -1, -1, 0)
    A[A_OUT] = first + 1
    set_level(desc, 0, first, first + 1, n)
    level = k = 0
    while k < n:
        while k >= W[level + W_END]:
            level -= W_SIZE
        out = W[level + W_OUT]
        A[A_OUT], A[A_TOP], A[A_POS] = out, W[level + W_TOP], base + level // W_SIZE
        T[A[A_POS]] = byte[k]
        found = advance(desc, W[level + W_FROM], W[level + W_TO], byte[k])
        if A[A_STATUS] != OK:
            break
        if found > 0 and C[out * CW + NODE] == DONE:
            ends[count] = k
            count += 1
            found = 0
        if found == 0 or end[k] == k + 1:
            k = end[k]
            continue
        level += W_SIZE
        set_level(desc, level, out, A[A_OUT], end[k])
        k += 1
    A[A_POS] = base
    settle(desc, top)
    return count if A[A_STATUS] == OK else -1 - A[A_STATUS]
