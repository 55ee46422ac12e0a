"""Kernels over tokens: the mask of all allowed tokens (a walk over the trie), and the step of one token.

The walk goes through the trie in depth-first order. Per depth it keeps the configurations that the bytes so far lead to and
the arena's top, so that going back costs nothing; a subtree whose byte no configuration can read is skipped by its size.
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
    TOO_MANY_THREADS,
)
from .steps import consume, may_end, merge, set_row

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


@kernel("P A C T i i i i -> i")
def advance(P, A, C, T, first, last, byte, most_threads):
    """Append what configurations first..last-1 become by reading `byte`; their number. T[A_POS] must hold the byte."""
    start = A[A_OUT]
    for c in range(first, last):
        consume(P, A, C, T, c, byte)
    if A[A_OUT] - start > 1:
        merge(A, C, start)
        if A[A_OUT] - start > most_threads:
            A[A_STATUS] = TOO_MANY_THREADS
    return A[A_OUT] - start


@kernel("P A C T W i i R M i -> v")
def walk(P, A, C, T, W, first, last, trie, mask, most_threads):
    """Set in `mask` the bit of every token in the trie that configurations first..last-1 can read."""
    byte, end, id_start, ids = trie
    base = A[A_POS]
    W[W_FROM], W[W_TO], W[W_TOP], W[W_END] = first, last, A[A_TOP], len(byte)
    depth, node, n = 0, 0, len(byte)
    while node < n:
        while node >= W[depth * W_SIZE + W_END]:
            depth -= 1
        level = depth * W_SIZE
        A[A_OUT], A[A_TOP], A[A_POS] = W[level + W_TO], W[level + W_TOP], base + depth
        T[base + depth] = byte[node]
        found = advance(P, A, C, T, W[level + W_FROM], W[level + W_TO], byte[node] | 0, most_threads)
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
            depth += 1
        node += 1
    A[A_POS] = base


@kernel("A -> v")
def settle(A):
    """Forget what a walk or a failed step appended."""
    A[A_OUT] = A[A_END]


@kernel("P A C T W R R M M i i -> i")
def fill_mask(P, A, C, T, W, trie, quoted, masks, mask, words, most_threads):
    """Write the whole mask. Returns a status; on NEED_* nothing of the matcher has changed and the call is repeated.

    trie, quoted: (byte, end, id_start, ids) of all tokens, and of those that contain a quote.
    masks: int32[slots * words], the tokens without a quote that a string's automaton can read from some of its states.
    """
    top = A[A_TOP]
    A[A_NEED], A[A_STATUS] = 0, OK
    first, last = A[A_BEGIN], A[A_END]
    slot = -1
    if last - first == 1:
        slot = ready_mask(P, C, first * CW)
        if slot < -1:
            return NEED_MASK
    if slot >= 0:
        for k in range(words):
            mask[k] = masks[slot * words + k]
        for k in range(words, len(mask)):
            mask[k] = 0
        walk(P, A, C, T, W, first, last, quoted, mask, most_threads)
    else:
        clear(mask)
        walk(P, A, C, T, W, first, last, trie, mask, most_threads)
    settle(A)
    A[A_TOP] = top
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


@kernel("P A C T W R M i i -> i")
def fill_inside(P, A, C, T, W, trie, mask, node, state):
    """Write the tokens that the JSON string lexeme `node` can read from `state` of its automaton and stay inside."""
    top = A[A_TOP]
    A[A_NEED], A[A_STATUS] = 0, OK
    first = A[A_END]
    if (first + 1) * CW > len(C):
        return NEED_TEXT
    set_row(C, first * CW, node, state, -1, -1, 0)
    A[A_OUT] = first + 1
    clear(mask)
    walk(P, A, C, T, W, first, first + 1, trie, mask, 1 << 20)
    settle(A)
    A[A_TOP] = top
    return A[A_STATUS]


@kernel("P A C T T i i i -> iii")
def step_bytes(P, A, C, T, data, start, stop, most_threads):
    """Read data[start:stop] from the current configurations. On OK the new ones lie at W_FROM..W_TO = (returned range).

    Returns (status, first, last); the matcher's own state is not changed, only what lies above it.
    """
    A[A_NEED], A[A_STATUS] = 0, OK
    first, last, pos = A[A_BEGIN], A[A_END], A[A_POS]
    base = pos
    if pos + (stop - start) >= len(T):
        return NEED_TEXT, 0, 0
    A[A_OUT] = last
    status = OK
    for k in range(start, stop):
        T[pos] = data[k]
        A[A_POS] = pos
        out = A[A_OUT]
        found = advance(P, A, C, T, first, last, data[k] | 0, most_threads)
        status = A[A_STATUS]
        if status == OK and A[A_NEED] > 0:
            status = NEED_NODES
        if status == OK and found == 0:
            status = REFUSED
        if status != OK:
            break
        first, last = out, A[A_OUT]
        pos += 1
    A[A_POS] = base
    return status, first, last


@kernel("P A C T H T i i i b -> i")
def accept_bytes(P, A, C, T, H, data, start, stop, most_threads, commit):
    """Read data[start:stop] as one step of the history; with `commit` false only find out. Returns a status."""
    top = A[A_TOP]
    tokens = A[A_TOKENS]
    if (tokens + 1) * H_SIZE > len(H):
        return NEED_TEXT
    status, first, last = step_bytes(P, A, C, T, data, start, stop, most_threads)
    if status != OK or not commit:
        settle(A)
        A[A_TOP] = top
        return status
    h = tokens * H_SIZE
    H[h + H_BEGIN], H[h + H_END], H[h + H_TOP], H[h + H_POS] = A[A_BEGIN], A[A_END], top, A[A_POS]
    begin = A[A_END]
    if first != begin:
        for k in range((last - first) * CW):
            C[begin * CW + k] = C[first * CW + k]
    A[A_BEGIN], A[A_END] = begin, begin + last - first
    A[A_OUT] = A[A_END]
    A[A_POS] += stop - start
    A[A_TOKENS] = tokens + 1
    return OK


@kernel("A H i -> v")
def undo(A, H, count):
    """Take back the last `count` steps; they must exist."""
    tokens = A[A_TOKENS] - count
    h = tokens * H_SIZE
    A[A_BEGIN], A[A_END], A[A_TOP], A[A_POS] = H[h + H_BEGIN], H[h + H_END], H[h + H_TOP], H[h + H_POS]
    A[A_OUT] = A[A_END]
    A[A_TOKENS] = tokens


@kernel("P A C T -> b")
def accepting(P, A, C, T):
    """Whether the output may end here."""
    top = A[A_TOP]
    A[A_STATUS] = OK
    for c in range(A[A_BEGIN], A[A_END]):
        if may_end(P, A, C, T, c):
            A[A_TOP] = top
            return True
    A[A_TOP] = top
    return False


@kernel("P A C T i -> ii")
def only_byte(P, A, C, T, most_threads):
    """(status, byte): the one byte that can come next, or -1 when there are none or several."""
    top = A[A_TOP]
    A[A_NEED], A[A_STATUS] = 0, OK
    only = -1
    if A[A_POS] >= len(T):
        return NEED_TEXT, -1
    for byte in range(256):
        A[A_OUT], A[A_TOP] = A[A_END], top
        T[A[A_POS]] = byte
        found = advance(P, A, C, T, A[A_BEGIN], A[A_END], byte, most_threads)
        if A[A_STATUS] != OK:
            break
        if found > 0:
            if only >= 0:
                only = -1
                break
            only = byte
    settle(A)
    A[A_TOP] = top
    if A[A_STATUS] != OK:
        return A[A_STATUS], -1
    if A[A_NEED] > 0:
        return NEED_NODES, -1
    return OK, only
