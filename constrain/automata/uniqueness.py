"""Kernels for arrays whose items are compared (`ArrayShape.compared`): which readings can still end in an item unlike
all others, or, where it must, equal to an earlier one.

Items are compared as values: escapes decoded, 1 = 1.0, members in any order. The frame of such an array remembers where
its items begin in the text; of each value a hash is kept. An equal hash is only a hint, and so is every doubt about
what can follow: quick rules settle nearly all cases, and what they leave open is asked of the interpreter
(NEED_VERDICT), with the text of the array as the question. Its answers are kept in a table of the matcher under a hash
of that text.
"""

from __future__ import annotations

from ._kernel import kernel
from .equality import SEED, alike_so_far, set_wide, value_hash, wide
from .guards import passes
from .layout import (
    A_ASKED,
    A_ASKED_STATE,
    A_OUT,
    A_POS,
    A_STATUS,
    A_VERDICTS,
    CHARS,
    CW,
    D_EVERYTHING,
    D_MOST,
    D_WORDS,
    DONE,
    F_SHAPE,
    F_SHAPE_KIND,
    G_BITS,
    G_EXTRA,
    GUARD_MORE,
    K_LEXEME,
    L_FINITE,
    L_MAX,
    L_SKIN,
    NEED_VERDICT,
    NODE,
    O_DIAGRAM,
    O_ENDLESS,
    O_EXTRA,
    O_KEYS,
    O_MAX,
    P_COMPARES,
    PARENT,
    R_COMPARES,
    R_NODE,
    R_PARENT,
    R_REGS,
    R_STATE,
    REGS,
    S_GUARD,
    SHAPE_ARRAY,
    SHAPE_OBJECT,
    SKIN_JSON,
    STATE,
    U_EQUAL,
    U_ITEM,
    U_ITEMS,
    U_OPEN,
    U_SIZE,
    UNCOMPARED,
    V_HASH,
    V_NEXT,
    V_SIZE,
    V_START,
    Y_COMPARED,
    Y_ENDLESS,
    Y_MAX,
    Y_MIN,
    Y_PREFIX_COUNT,
    Y_REST,
    Y_TIGHT,
)
from .lexemes import allocate, bit
from .mixing import mix
from .views import view_i64

EQUAL = -1  # asked in place of a node
FEW_VALUES = 0x3779B97F
FEW = 200  # items of an array up to which it is known which of their values others may have
MANY = 4  # characters that a free string may still get: more strings than an array has items


# Items ---------------------------------------------------------------------------------------------------------------


@kernel("A T i i -> i")
def next_item(A, T, old, equal):
    """Registers of an array whose next item begins at the current position; 0 when the arena must grow. equal: where it
    goes on if it equals an earlier one, NOWHERE, or UNCOMPARED.
    """
    items = A[old + U_ITEMS]
    if A[old + U_ITEM] >= 0:
        h, _ = value_hash(A, T, A[old + U_ITEM], A[A_POS])
        entry = allocate(A, V_SIZE)
        if entry == 0:
            return 0
        A[entry + V_NEXT], A[entry + V_START] = items, A[old + U_ITEM]
        set_wide(A, entry + V_HASH, h)
        items = entry
    regs = allocate(A, U_SIZE)
    if regs == 0:
        return 0
    A[regs], A[regs + U_ITEMS], A[regs + U_OPEN], A[regs + U_EQUAL] = A[old] + 1, items, A[old + U_OPEN], equal
    A[regs + U_ITEM] = A[A_POS] if equal != UNCOMPARED else -1
    return regs


@kernel("P A T i i -> ii")
def landing(P, A, T, frame, end):
    """(state, registers) in which an array goes on, at arena row `frame`, when its compared item ends before text
    position `end`; state -1: the item must not end so, or the arena must grow.
    """
    regs, state = A[frame + R_REGS], A[frame + R_STATE]
    if differs(A, T, regs, end):
        return (state if passes(P, A, A[frame + R_NODE], state, regs) else -1), regs
    equal = A[regs + U_EQUAL]
    if equal < 0:
        return -1, regs
    fresh = allocate(A, U_SIZE)
    if fresh == 0:
        return -1, regs
    A[fresh], A[fresh + U_ITEM], A[fresh + U_ITEMS], A[fresh + U_OPEN] = A[regs], -1, 0, A[regs + U_OPEN]
    A[fresh + U_EQUAL] = -1
    return equal, fresh


@kernel("A T i i -> b")
def differs(A, T, regs, end):
    """Whether the item of an array that ends before text position `end` is unlike all that are remembered."""
    entry = A[regs + U_ITEMS]
    if entry == 0:
        return True
    h, at = value_hash(A, T, A[regs + U_ITEM], end)
    if at < 0:
        return False  # the arena must grow
    while entry != 0:
        if wide(A, entry + V_HASH) == h:
            return verdict(A, T, EQUAL, regs, end)
        entry = A[entry + V_NEXT]
    return True


@kernel("A T i i i -> b")
def verdict(A, T, node, regs, end):
    """What the interpreter says of the array's text up to `end`: whether it can go on, or with EQUAL as the node,
    whether its last item is unlike the others. True and a status where it was not asked.
    """
    h = mix(SEED, node)
    for k in range(A[regs + U_OPEN], end):
        h = mix(h, int(T[k]))
    answer = known_answer(A, h | 1)
    if answer < 0:
        ask(A, node, A[regs + U_OPEN], end, h | 1, 0, 0)
    return answer != 0


@kernel("A i -> i")
def known_answer(A, h):
    """The answer that is kept under a hash; -1 for none."""
    size = int(A[A_VERDICTS + 2])
    table = view_i64(wide(A, A_VERDICTS), size)
    slot = 2 * h & (size - 1)
    while table[slot] != 0:
        if table[slot] == h:
            return table[slot + 1]
        slot = slot + 2 & (size - 1)
    return -1


@kernel("A i i i i i i -> v")
def ask(A, node, start, end, h, state, begun):
    A[A_STATUS] = NEED_VERDICT
    A[A_ASKED], A[A_ASKED + 1], A[A_ASKED + 2] = node, start, end
    set_wide(A, A_ASKED + 3, h)
    A[A_ASKED_STATE], A[A_ASKED_STATE + 1] = state, begun


@kernel("P A T i i i b -> b")
def can_follow(P, A, T, node, state, regs, complete):
    """Whether the items that still follow in a tight array can be unlike each other and the earlier ones, in a state of
    its layout. complete: whether the last item is complete, or it is under way and may become anything.

    Of earlier items only those count whose values are among the few that another item may have: once such an array is
    met, their hashes are in the table of answers (`few_key`).
    """
    begun, last = A[regs], A[regs + U_ITEM]
    end = A[A_POS] + 1 if complete or last < 0 else last
    if known_answer(A, few_key(node, 0)) < 0:
        ask(A, node, A[regs + U_OPEN], end, few_key(node, 0), state, begun)
        return True
    shape = P[node + F_SHAPE]
    h, together = mix(mix(SEED, node), state), 0
    h = mix(h, min(begun, max(P[shape + Y_MIN], P[shape + Y_PREFIX_COUNT])))
    if complete and last >= 0:
        value, _ = value_hash(A, T, last, end)
        together = counted(A, node, begun, value)
    entry = A[regs + U_ITEMS]
    while entry != 0:
        together += counted(A, node, begun, wide(A, entry + V_HASH))
        entry = A[entry + V_NEXT]
    h = mix(h, together & 0x3FFFFFFFFFFFFFFF) | 1
    answer = known_answer(A, h)
    if answer < 0:
        ask(A, node, A[regs + U_OPEN], end, h, state, begun)
    return answer != 0


@kernel("A i i i -> i")
def counted(A, node, begun, value):
    """What the hash of an item contributes to the question what can follow it."""
    return mix(5, value) if begun > FEW or known_answer(A, few_key(node, value)) > 0 else 0


@kernel("i i -> i")
def few_key(node, value):
    """Key under which it is kept that the value with that hash counts in an array; with 0: that all are kept."""
    return mix(mix(FEW_VALUES, node), value) | 1


# Readings ------------------------------------------------------------------------------------------------------------


@kernel("P A C T i -> b")
def can_end(P, A, C, T, row):
    """Whether a configuration can go on such that every compared item under way ends as it must, and what must follow
    can be different.
    """
    node = C[row + NODE]
    if node == DONE:
        return True
    if P[node] != K_LEXEME and P[node + F_SHAPE_KIND] == SHAPE_ARRAY:
        shape, regs = P[node + F_SHAPE], C[row + REGS]
        if P[shape + Y_COMPARED] != 0 and P[shape + Y_ENDLESS] == 0:
            if P[shape + Y_TIGHT] != 0:
                if not can_follow(P, A, T, node, C[row + STATE], regs, True):
                    return False
            elif P[C[row + STATE] + S_GUARD] == GUARD_MORE:
                # after a comma another item must exist
                end = A[A_POS] + 1
                while T[end - 1] != 44:
                    end -= 1  # blanks change nothing
                if not verdict(A, T, node, regs, end):
                    return False
    end = A[A_POS] + 1
    if P[node] != K_LEXEME:
        while is_blank(T, end - 1) and is_blank(T, end - 2):
            end -= 1  # nor do more blanks
    parent = C[row + PARENT]
    frame = A[parent + R_COMPARES] if parent >= 0 else 0
    while frame != 0:
        regs, caller = A[frame + R_REGS], A[frame + R_NODE]
        if A[regs + U_EQUAL] >= 0:
            if not passes(P, A, caller, A[frame + R_STATE], regs):
                # it must equal an earlier item
                if not some_alike(A, T, regs) or not verdict(A, T, caller, regs, end):
                    return False
        elif is_tight(P, A, frame):
            if endless_until(P, A, C, T, row, frame):
                if not can_follow(P, A, T, caller, A[frame + R_STATE], regs, False):
                    return False
            elif not verdict(A, T, caller, regs, end):
                return False
        elif A[regs + U_ITEMS] != 0 and not endless_until(P, A, C, T, row, frame) and some_alike(A, T, regs):
            if not verdict(A, T, caller, regs, end):
                return False
        above = A[frame + R_PARENT]
        frame = A[above + R_COMPARES] if above >= 0 else 0
    return True


@kernel("T i -> b")
def is_blank(T, at):
    return T[at] == 32 or T[at] == 10 or T[at] == 13 or T[at] == 9


@kernel("P A i -> b")
def is_tight(P, A, frame):
    return P[P[A[frame + R_NODE] + F_SHAPE] + Y_TIGHT] != 0


@kernel("P A C T i -> i")
def in_doubt(P, A, C, T, row):
    """Whether what a configuration reads may decide whether a compared item can end as it must.

    0: no. 1: no frame around it, inside the item, can go on for ever, and so far the item is like an earlier one that
    it must not equal. 2: it must equal an earlier one.
    """
    start, doubt = C[row + PARENT], 0
    frame = A[start + R_COMPARES] if start >= 0 else 0
    while frame != 0:
        regs = A[frame + R_REGS]
        if A[regs + U_EQUAL] >= 0:
            if not passes(P, A, A[frame + R_NODE], A[frame + R_STATE], regs):
                return 2
        elif A[regs + U_ITEMS] != 0 or is_tight(P, A, frame):
            here, sure = start, False
            while here != frame and not sure:
                sure = endless_frame(P, A, A[here + R_NODE], A[here + R_REGS])
                here = A[here + R_PARENT]
            if not sure and doubt == 0:
                A[A_POS] -= 1  # nothing is read yet at the current position
                if is_tight(P, A, frame) or some_alike(A, T, regs):
                    doubt = 1
                A[A_POS] += 1
        above = A[frame + R_PARENT]
        frame = A[above + R_COMPARES] if above >= 0 else 0
    return doubt


@kernel("A T -> b")
def is_zero(A, T):
    """Whether the number that the text ends in is zero whatever follows: the exponent of a mantissa of zeros."""
    at, exponent = A[A_POS], False
    while at >= 0:
        byte = T[at] | 32
        if byte == 101 and not exponent:
            exponent = True
        elif 49 <= byte <= 57 and exponent:
            return False
        elif not (48 <= byte <= 57) and T[at] != 43 and T[at] != 45 and T[at] != 46:
            break
        at -= 1
    return exponent


@kernel("P A C T i i -> b")
def endless_until(P, A, C, T, row, frame):
    """Whether the item under way in the array at arena row `frame` surely has infinitely many values to become.
    """
    node, state = C[row + NODE], C[row + STATE]
    if P[node] == K_LEXEME:
        if state >= 0:
            most = P[node + L_MAX]
            if most < 0 and P[state + D_MOST] < 0 and P[node + L_FINITE] == 0:
                if P[node + L_SKIN] == SKIN_JSON or not is_zero(A, T):
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


@kernel("A T i -> b")
def some_alike(A, T, regs):
    """Whether the part of an item up to the current position may become equal to an earlier item, as far as its
    complete members or items tell.
    """
    entry, end = A[regs + U_ITEMS], A[A_POS] + 1
    while entry != 0:
        if alike_so_far(A, T, A[regs + U_ITEM], end, A[entry + V_START]):
            return True
        entry = A[entry + V_NEXT]
    return False


@kernel("P A C T i -> v")
def keep_possible(P, A, C, T, first):
    """Drop the configurations from number `first` on in which some compared item cannot end as it must."""
    if P[P_COMPARES] == 0:
        return
    kept = first
    for c in range(first, A[A_OUT]):
        if can_end(P, A, C, T, c * CW):
            if kept != c:
                for k in range(CW):
                    C[kept * CW + k] = C[c * CW + k]
            kept += 1
    A[A_OUT] = kept
