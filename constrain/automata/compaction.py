"""Kernels that drop the steps of a matcher that cannot be taken back, and all that only these refer to.

`drop` forgets the rows of the history and the configurations of such steps, and of older steps most configurations,
since a state can be read again from an earlier one. `compact` moves the frames and registers that are still referred to
into a buffer, as a copying garbage collector does, block by block, with a list of the rows that are still to be looked
at, and back to the beginning of the arena. A block that has moved holds its new address, negative, in its first int,
where nothing else is as low.

Steps and text positions keep their numbers: the addresses in the descriptor move (layout.py).
"""

from __future__ import annotations

from ._kernel import kernel
from .layout import (
    A_BEGIN,
    A_CUT,
    A_DROPPED,
    A_END,
    A_FLOOR,
    A_FRESH,
    A_OLDEST,
    A_OUT,
    A_POS,
    A_THINNED,
    A_TOKENS,
    A_TOP,
    A_WORK,
    ARENA,
    CW,
    DONE,
    E_ARENA,
    E_CONFIGS,
    E_HISTORY,
    E_OUT,
    E_PROGRAM,
    E_TEXT,
    EVERY,
    F_SHAPE,
    F_SHAPE_KIND,
    FORK,
    G_BITS,
    G_EXTRAS,
    H_BEGIN,
    H_END,
    H_POS,
    H_SIZE,
    H_TOP,
    K_LEXEME,
    NODE,
    O_REGISTERS,
    PARENT,
    R_COMPARES,
    R_NODE,
    R_PARENT,
    R_REGS,
    R_SIZE,
    R_STATE,
    RECENT,
    REGS,
    SHAPE_ARRAY,
    SHAPE_OBJECT,
    TEXT,
    U_ITEM,
    U_ITEMS,
    U_OPEN,
    U_SIZE,
    V_NEXT,
    V_SIZE,
    V_START,
    X_BYTES,
    X_DATA,
    X_NEXT,
    Y_COMPARED,
)
from .views import ints, octets

NEXT_ROW = 1  # of a row that has moved, behind its new address: the next one to look at


@kernel("O -> v")
def drop(desc):
    """Forget the steps that cannot be taken back, and of older ones most configurations; not yet what these refer to.

    What can be read again from the last step that has configurations is thinned out. Over a control token there is no
    such way, so the state after one stays.
    """
    A, C, H = ints(desc, E_ARENA), ints(desc, E_CONFIGS), ints(desc, E_HISTORY)
    tokens, before, kept, out = A[A_TOKENS], A[A_DROPPED], A[A_FLOOR], 0
    while before < kept < tokens and H[kept * H_SIZE + H_BEGIN] < 0:
        kept -= 1
    for step in range(kept, tokens):
        h, there = step * H_SIZE, (before + step - kept) * H_SIZE
        first, last = H[h + H_BEGIN], H[h + H_END]
        old = kept < step < tokens - RECENT and step % EVERY != 0
        if first >= 0 and old and H[h - H_SIZE + H_POS] >= 0:
            first = -1
        if first >= 0:
            last = copy_rows(C, first, last, out)
            first, out = out, last
        H[there + H_BEGIN], H[there + H_END] = first, last
        H[there + H_TOP], H[there + H_POS] = H[h + H_TOP], H[h + H_POS]
    last = copy_rows(C, A[A_BEGIN], A[A_END], out)
    A[A_BEGIN], A[A_END], A[A_OUT] = out, last, last
    shift(desc, E_HISTORY, (kept - before) * H_SIZE, 4)
    A[A_DROPPED], A[A_THINNED] = kept, max(A[A_THINNED], tokens - RECENT)


@kernel("C i i i -> i")
def copy_rows(C, first, last, out):
    """Move configurations first..last-1 down to number `out`; the number after them."""
    for k in range((last - first) * CW):
        C[out * CW + k] = C[first * CW + k]
    return out + last - first


@kernel("i -> i")
def position_of(entry):
    """The text position that a row of the history holds."""
    return entry if entry >= 0 else -1 - entry


@kernel("O i i i -> v")
def shift(desc, place, count, size):
    """Say that an array has lost its first `count` elements, of `size` bytes, and the rest has moved to the front."""
    desc[place] -= count * size
    desc[place + 1] += count


@kernel("O -> v")
def compact(desc):
    """Keep of the arena and of the text only what the steps that are left refer to.

    E_OUT: a buffer as long as what lies in the arena.
    """
    P, A, C, H = ints(desc, E_PROGRAM), ints(desc, E_ARENA), ints(desc, E_CONFIGS), ints(desc, E_HISTORY)
    shift(desc, E_OUT, ARENA, 4)
    B, kept = ints(desc, E_OUT), A[A_DROPPED] * H_SIZE
    A[A_OLDEST] = position_of(H[kept + H_POS]) if A[A_DROPPED] < A[A_TOKENS] else A[A_POS]
    A[A_FRESH], A[A_WORK] = ARENA, 0
    for c in range(A[A_END]):
        row = c * CW
        if C[row + NODE] != DONE:
            if C[row + TEXT] >= 0:
                refer_to(A, C[row + TEXT])
            C[row + REGS] = moved_registers(P, A, B, C[row + NODE], C[row + REGS])
            C[row + PARENT] = moved_row(A, B, C[row + PARENT])
    while A[A_WORK] > 0:
        row = A[A_WORK]
        A[A_WORK] = A[row + NEXT_ROW]
        look_at(P, A, B, -A[row])
    top = A[A_FRESH]
    for k in range(ARENA, top):
        A[k] = B[k]
    A[A_TOP] = top
    for h in range(kept, A[A_TOKENS] * H_SIZE, H_SIZE):
        H[h + H_TOP] = top
    drop_text(desc, A)


@kernel("O A -> v")
def drop_text(desc, A):
    """Drop the text before the position that compaction has found."""
    T, cut = octets(desc, E_TEXT), A[A_OLDEST]
    for k in range(A[A_POS] - cut):
        T[A[A_CUT] + k] = T[cut + k]
    shift(desc, E_TEXT, cut - A[A_CUT], 1)
    A[A_CUT] = cut


@kernel("A i -> v")
def refer_to(A, position):
    """Note that a text position is referred to."""
    A[A_OLDEST] = min(A[A_OLDEST], position)


@kernel("A A i i -> i")
def move(A, B, block, size):
    """Move a block of the arena that has not moved yet; its new address."""
    fresh = A[A_FRESH]
    for k in range(size):
        B[fresh + k] = A[block + k]
    A[A_FRESH] = fresh + size
    A[block] = -fresh
    return fresh


@kernel("A i -> b")
def has_moved(A, block):
    return A[block] <= -ARENA


@kernel("A A i -> i")
def moved_row(A, B, row):
    """New address of an arena row; one that moves now is put on the list of those to look at."""
    if row <= 0:
        return row
    if has_moved(A, row):
        return -A[row]
    fresh = move(A, B, row, R_SIZE)
    A[row + NEXT_ROW], A[A_WORK] = A[A_WORK], row
    return fresh


@kernel("P A A i -> v")
def look_at(P, A, B, row):
    """Move what a row in the buffer refers to."""
    if B[row + R_NODE] == FORK:
        B[row + R_STATE] = moved_row(A, B, B[row + R_STATE])
    else:
        B[row + R_REGS] = moved_registers(P, A, B, B[row + R_NODE], B[row + R_REGS])
        B[row + R_COMPARES] = moved_row(A, B, B[row + R_COMPARES])
    B[row + R_PARENT] = moved_row(A, B, B[row + R_PARENT])


@kernel("P A A i i -> i")
def moved_registers(P, A, B, node, regs):
    """New address of the registers of a node; lexemes and frames without a shape have none."""
    if regs <= 0 or P[node] == K_LEXEME:
        return regs
    if has_moved(A, regs):
        return -A[regs]
    kind, shape = P[node + F_SHAPE_KIND], P[node + F_SHAPE]
    if kind == SHAPE_OBJECT:
        fresh = move(A, B, regs, G_BITS + P[shape + O_REGISTERS])
        B[fresh + G_EXTRAS] = moved_list(A, B, B[fresh + G_EXTRAS], False)
        return fresh
    if kind != SHAPE_ARRAY:
        return regs
    if P[shape + Y_COMPARED] == 0:
        return move(A, B, regs, 1)
    fresh = move(A, B, regs, U_SIZE)
    refer_to(A, B[fresh + U_OPEN])
    if B[fresh + U_ITEM] >= 0:
        refer_to(A, B[fresh + U_ITEM])
    B[fresh + U_ITEMS] = moved_list(A, B, B[fresh + U_ITEMS], True)
    return fresh


@kernel("A A i b -> i")
def moved_list(A, B, entry, items):
    """New address of a list of items, or else of additional keys."""
    link = V_NEXT if items else X_NEXT
    head = last = 0
    while entry > 0:
        if has_moved(A, entry):
            fresh, following = -A[entry], 0
        else:
            following = A[entry + link]
            if items:
                fresh = move(A, B, entry, V_SIZE)
                refer_to(A, B[fresh + V_START])
            else:
                fresh = move(A, B, entry, X_DATA + (A[entry + X_BYTES] + 3) // 4)
        if last > 0:
            B[last + link] = fresh
        else:
            head = fresh
        last, entry = fresh, following
    return head
