"""Kernels over tokens: the mask of all allowed tokens (a walk over the trie), and the step of one token.

The walk goes through the trie in depth-first order. Per depth it keeps the configurations that the bytes so far lead to and
the arena's top, so that going back costs nothing; a subtree whose byte no configuration can read is skipped by its size.

All take the matcher's descriptor (layout.py).
"""

from __future__ import annotations

from ._kernel import kernel
from .layout import (
    A_BEGIN,
    A_END,
    A_NEED,
    A_OUT,
    A_POS,
    A_STATUS,
    A_TOKENS,
    A_TOP,
    CW,
    D_EVERYTHING,
    D_MASK,
    D_WORDS,
    DONE,
    E_ARENA,
    E_CONFIGS,
    E_HISTORY,
    E_MASKS,
    E_PROGRAM,
    E_QUOTED,
    E_TEXT,
    E_TRIE,
    E_WALK,
    E_WORDS,
    END,
    ESC,
    HI,
    K_LEXEME,
    L_COUNTED,
    L_SKIN,
    LO,
    NEED_MASK,
    NEED_NODES,
    NEED_TEXT,
    NODE,
    OK,
    REFUSED,
    SKIN_JSON,
    STATE,
)
from .steps import advance, ints, octets, set_row

# A row of the walk's own stack: configurations from .. to, arena top, end of the subtree
W_FROM, W_TO, W_TOP, W_END, W_SIZE = 0, 1, 2, 3, 4
# A row of the history: configurations from .. to, arena top and text length before the token
H_BEGIN, H_END, H_TOP, H_POS, H_SIZE = 0, 1, 2, 3, 4


@kernel("M i -> v")
def set_bit(mask, token):
    value = 1 << (token & 31)
    mask[token >> 5] |= value - 0x100000000 if value >= 0x80000000 else value


@kernel("M -> v")
def clear(mask):
    for k in range(len(mask)):
        mask[k] = 0


@kernel("O -> b")
def room_for_walk(desc):
    """Whether the text buffer can take the longest token after what was read."""
    return ints(desc, E_ARENA)[A_POS] + desc[E_WALK + 1] // W_SIZE < desc[E_TEXT + 1]


@kernel("O i i i M -> v")
def walk(desc, place, first, last, mask):
    """Set in `mask` the bit of every token of the trie at `place` that configurations first..last-1 can read."""
    A, W, T = ints(desc, E_ARENA), ints(desc, E_WALK), octets(desc, E_TEXT)
    byte, end = octets(desc, place), ints(desc, place + 2)
    id_start, ids = ints(desc, place + 4), ints(desc, place + 6)
    base, n = A[A_POS], len(byte)
    W[W_FROM], W[W_TO], W[W_TOP], W[W_END] = first, last, A[A_TOP], n
    level = node = 0
    while node < n:
        while node >= W[level + W_END]:
            level -= W_SIZE
        position = base + level // W_SIZE
        A[A_OUT], A[A_TOP], A[A_POS] = W[level + W_TO], W[level + W_TOP], position
        T[position] = byte[node]
        found = advance(desc, W[level + W_FROM], W[level + W_TO], byte[node])
        if A[A_STATUS] != OK:
            break
        if found == 0:
            node = end[node]
            continue
        for k in range(id_start[node], id_start[node + 1]):
            set_bit(mask, ids[k])
        if end[node] > node + 1:
            below = level + W_SIZE
            W[below + W_FROM], W[below + W_TO] = W[level + W_TO], A[A_OUT]
            W[below + W_TOP], W[below + W_END] = A[A_TOP], end[node]
            level = below
        node += 1
    A[A_POS] = base


@kernel("O i -> v")
def settle(desc, top):
    """Forget what a walk or a failed step appended above `top`."""
    A = ints(desc, E_ARENA)
    A[A_OUT], A[A_TOP] = A[A_END], top


@kernel("O M -> i")
def fill_mask(desc, mask):
    """Write the mask, without stop tokens. Returns a status; on NEED_* nothing of the matcher has changed and the call is
    repeated when it was given what it needs."""
    P, A, C = ints(desc, E_PROGRAM), ints(desc, E_ARENA), ints(desc, E_CONFIGS)
    top, first, last = A[A_TOP], A[A_BEGIN], A[A_END]
    A[A_NEED], A[A_STATUS] = 0, OK
    slot = ready_mask(P, C, first * CW) if last - first == 1 else -1
    if slot < -1:
        return NEED_MASK
    if slot >= 0:
        words, masks = desc[E_WORDS], ints(desc, E_MASKS)
        for k in range(words):
            mask[k] = masks[slot * words + k]
        for k in range(words, len(mask)):
            mask[k] = 0
        walk(desc, E_QUOTED, first, last, mask)
    else:
        clear(mask)
        walk(desc, E_TRIE, first, last, mask)
    settle(desc, top)
    if A[A_STATUS] != OK:
        return A[A_STATUS]
    return NEED_NODES if A[A_NEED] > 0 else OK


@kernel("P C i -> i")
def ready_mask(P, C, row):
    """Slot of the ready mask that covers the tokens without a quote in this configuration; -1: none, -2: to be made.

    It does inside a JSON string that follows its automaton alone, or one that reads everything, where neither the length
    nor used-up keys matter.
    """
    node = C[row + NODE]
    if node == DONE or P[node] != K_LEXEME or P[node + L_SKIN] != SKIN_JSON or C[row + ESC] != 0:
        return -1
    state = C[row + STATE]
    if state < 0 or P[node + L_COUNTED] != 0 or P[state + D_WORDS] >= 0:
        return -1
    if C[row + LO] < C[row + HI] and P[state + D_WORDS] != D_EVERYTHING:
        return -1
    return P[state + D_MASK]


@kernel("O M i i -> i")
def fill_inside(desc, mask, node, state):
    """Write the tokens that the JSON string lexeme `node` can read from `state` of an automaton, as if nothing followed."""
    A, C = ints(desc, E_ARENA), ints(desc, E_CONFIGS)
    top, first = A[A_TOP], A[A_END]
    A[A_NEED], A[A_STATUS] = 0, OK
    if (first + 1) * CW > len(C) or not room_for_walk(desc):
        return NEED_TEXT
    set_row(C, first * CW, node, state, -1, -1, 0)
    A[A_OUT] = first + 1
    clear(mask)
    walk(desc, E_TRIE, first, first + 1, mask)
    settle(desc, top)
    return A[A_STATUS]


@kernel("O T i i -> iii")
def read_bytes(desc, data, start, stop):
    """Read data[start:stop] from the current configurations: (status, first, last), the new ones being first..last-1.

    Only what lies above the matcher's own state is written.
    """
    A, T = ints(desc, E_ARENA), octets(desc, E_TEXT)
    A[A_NEED], A[A_STATUS] = 0, OK
    first, last, base = A[A_BEGIN], A[A_END], A[A_POS]
    if base + (stop - start) >= len(T):
        return NEED_TEXT, 0, 0
    A[A_OUT] = last
    status = OK
    for k in range(start, stop):
        position = base + k - start
        T[position] = data[k]
        A[A_POS] = position
        out = A[A_OUT]
        found = advance(desc, first, last, data[k])
        status = A[A_STATUS]
        if status == OK and A[A_NEED] > 0:
            status = NEED_NODES
        if status == OK and found == 0:
            status = REFUSED
        if status != OK:
            break
        first, last = out, A[A_OUT]
    A[A_POS] = base
    return status, first, last


@kernel("O T i i b -> i")
def accept_bytes(desc, data, start, stop, commit):
    """Read data[start:stop] as one step of the history; with `commit` false only find out. Returns a status."""
    A, C, H = ints(desc, E_ARENA), ints(desc, E_CONFIGS), ints(desc, E_HISTORY)
    top, h = A[A_TOP], A[A_TOKENS] * H_SIZE
    if h + H_SIZE > len(H):
        return NEED_TEXT
    status, first, last = read_bytes(desc, data, start, stop)
    if status != OK or not commit:
        settle(desc, top)
        return status
    begin = A[A_END]
    H[h + H_BEGIN], H[h + H_END], H[h + H_TOP], H[h + H_POS] = A[A_BEGIN], begin, top, A[A_POS]
    if first != begin:
        for k in range((last - first) * CW):
            C[begin * CW + k] = C[first * CW + k]
    A[A_BEGIN], A[A_END], A[A_OUT] = begin, begin + last - first, begin + last - first
    A[A_POS] += stop - start
    A[A_TOKENS] += 1
    return OK


@kernel("O i -> v")
def undo(desc, count):
    """Take back the last `count` steps; they must exist."""
    A, H = ints(desc, E_ARENA), ints(desc, E_HISTORY)
    tokens = A[A_TOKENS] - count
    h = tokens * H_SIZE
    A[A_BEGIN], A[A_END], A[A_TOP], A[A_POS] = H[h + H_BEGIN], H[h + H_END], H[h + H_TOP], H[h + H_POS]
    A[A_OUT], A[A_TOKENS] = A[A_END], tokens


@kernel("O -> b")
def accepting(desc):
    """Whether the output may end here."""
    A = ints(desc, E_ARENA)
    top = A[A_TOP]
    A[A_STATUS] = OK
    found = advance(desc, A[A_BEGIN], A[A_END], END)
    settle(desc, top)
    return found > 0


@kernel("O -> ii")
def only_byte(desc):
    """(status, byte): the one byte that can come next, or -1 when there are none or several."""
    A, T = ints(desc, E_ARENA), octets(desc, E_TEXT)
    top, only = A[A_TOP], -1
    A[A_NEED], A[A_STATUS] = 0, OK
    if A[A_POS] >= len(T):
        return NEED_TEXT, -1
    for byte in range(256):
        A[A_OUT], A[A_TOP] = A[A_END], top
        T[A[A_POS]] = byte
        found = advance(desc, A[A_BEGIN], A[A_END], byte)
        if A[A_STATUS] != OK:
            break
        if found > 0:
            if only >= 0:
                only = -1
                break
            only = byte
    settle(desc, top)
    if A[A_STATUS] != OK:
        return A[A_STATUS], -1
    if A[A_NEED] > 0:
        return NEED_NODES, -1
    return OK, only
