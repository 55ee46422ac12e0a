"""Kernels for what the interpreter is asked about arrays whose items are compared, and for its answers.

A question is asked with the text of the array (NEED_VERDICT); its answer is kept in a table of the matcher under a hash
of that text, or of what matters of it.
"""

from __future__ import annotations

from ._kernel import kernel
from .equality import SEED, set_wide, value_hash, wide
from .layout import (
    A_ASKED,
    A_ASKED_STATE,
    A_POS,
    A_STATUS,
    A_VERDICTS,
    F_SHAPE,
    NEED_VERDICT,
    U_ITEM,
    U_ITEMS,
    U_OPEN,
    V_HASH,
    V_NEXT,
    Y_MIN,
    Y_PREFIX_COUNT,
)
from .mixing import mix
from .views import view_i64

EQUAL = -1  # asked in place of a node
FEW_VALUES = 0x3779B97F
FEW = 200  # items of an array up to which it is known which of their values others may have


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
