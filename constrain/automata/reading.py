"""Kernels that read bytes and tokens from a matcher's state: the step of one token, its history, and the end.

All take the matcher's descriptor (layout.py).
"""

from __future__ import annotations

from ._kernel import kernel
from .compaction import drop, position_of
from .layout import (
    A_BEGIN,
    A_DROPPED,
    A_END,
    A_FLOOR,
    A_NEED,
    A_OUT,
    A_POS,
    A_STATUS,
    A_THINNED,
    A_TOKENS,
    A_TOP,
    CW,
    E_ARENA,
    E_CONFIGS,
    E_HISTORY,
    E_ROLLBACK,
    E_SPARE,
    E_SYMBOLS,
    E_TEXT,
    END,
    H_BEGIN,
    H_END,
    H_POS,
    H_SIZE,
    H_TOP,
    NEED_NODES,
    NEED_TEXT,
    OK,
    REFUSED,
    SYMBOL,
)
from .steps import advance
from .views import ints, octets


@kernel("O i -> v")
def settle(desc, top):
    """Forget what a walk or a failed step appended above `top`."""
    A = ints(desc, E_ARENA)
    A[A_OUT], A[A_TOP] = A[A_END], top


@kernel("O T i i i -> iii")
def read_input(desc, data, start, stop, token):
    """Read data[start:stop], or the symbol of a token (-1: none) in the place of one byte, from the current configurations:
    (status, first, last), the new ones being first..last-1.

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
        byte = SYMBOL + token if token >= 0 else int(data[k])
        T[position] = byte & 255
        A[A_POS] = position
        out = A[A_OUT]
        found = advance(desc, first, last, byte)
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


@kernel("O T i i i b -> i")
def accept_input(desc, data, start, stop, token, commit):
    """Read input (see read_input) as one step of the history; with `commit` false only find out. Returns a status."""
    A = ints(desc, E_ARENA)
    top, h = A[A_TOP], A[A_TOKENS] * H_SIZE
    if h + H_SIZE > desc[E_HISTORY + 1]:
        if A[A_FLOOR] - A[A_DROPPED] < desc[E_SPARE]:
            return NEED_TEXT
        drop(desc)
    C, H = ints(desc, E_CONFIGS), ints(desc, E_HISTORY)
    status, first, last = read_input(desc, data, start, stop, token)
    if status != OK or not commit:
        settle(desc, top)
        return status
    begin = A[A_END]
    H[h + H_BEGIN], H[h + H_END], H[h + H_TOP] = A[A_BEGIN], begin, top
    H[h + H_POS] = A[A_POS] if token < 0 else -1 - A[A_POS]
    if first != begin:
        for k in range((last - first) * CW):
            C[begin * CW + k] = C[first * CW + k]
    A[A_BEGIN], A[A_END], A[A_OUT] = begin, begin + last - first, begin + last - first
    A[A_POS] += stop - start
    A[A_TOKENS] += 1
    A[A_FLOOR] = max(A[A_FLOOR], A[A_TOKENS] - desc[E_ROLLBACK])
    return OK


@kernel("O i -> v")
def undo(desc, count):
    """Take back the last `count` steps; they must exist, and the first of them must have its configurations."""
    A, H = ints(desc, E_ARENA), ints(desc, E_HISTORY)
    tokens = A[A_TOKENS] - count
    h = tokens * H_SIZE
    A[A_BEGIN], A[A_END], A[A_TOP], A[A_POS] = H[h + H_BEGIN], H[h + H_END], H[h + H_TOP], position_of(H[h + H_POS])
    A[A_OUT], A[A_TOKENS] = A[A_END], tokens
    A[A_FLOOR], A[A_THINNED] = min(A[A_FLOOR], tokens), min(A[A_THINNED], tokens)


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
    for token in ints(desc, E_SYMBOLS):
        settle(desc, top)
        if A[A_STATUS] == OK and advance(desc, A[A_BEGIN], A[A_END], SYMBOL + token) > 0:
            only = -1
    settle(desc, top)
    if A[A_STATUS] != OK:
        return A[A_STATUS], -1
    if A[A_NEED] > 0:
        return NEED_NODES, -1
    return OK, only
