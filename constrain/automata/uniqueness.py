"""Kernels for arrays whose items are compared (`ArrayShape.compared`): which readings can still end in an item unlike
all others, or, where it must, equal to an earlier one.

Quick rules settle nearly all cases (`endless`, and what is complete of a value: `some_alike`), and what they leave open
is asked of the interpreter (`answers`).
"""

from __future__ import annotations

from ._kernel import kernel
from .answers import can_follow, verdict
from .endless import endless_frame, endless_until
from .equality import alike_so_far
from .guards import passes
from .layout import (
    A_OUT,
    A_POS,
    CW,
    DONE,
    F_SHAPE,
    F_SHAPE_KIND,
    GUARD_MORE,
    K_LEXEME,
    NODE,
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
    STATE,
    U_EQUAL,
    U_ITEM,
    U_ITEMS,
    V_NEXT,
    V_START,
    Y_COMPARED,
    Y_ENDLESS,
    Y_TIGHT,
)


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
