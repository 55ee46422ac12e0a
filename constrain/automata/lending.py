"""Kernels that lend a matcher what it needs only for a moment: a workspace of its vocabulary (workspaces.py).

A workspace is taken and given back within one call, without a lock. Where a mask needs more room than the matcher has,
it is made in the arena of the workspace, to which the few frames of the matcher are copied, and its own need not grow.
"""

from __future__ import annotations

from ._kernel import kernel
from .layout import (
    A_BEGIN,
    A_END,
    A_NARROWED,
    A_NEXT,
    A_SCRATCH,
    A_TOP,
    AGAIN,
    ARENA,
    CW,
    E_ARENA,
    E_CONFIGS,
    E_GRAMMAR,
    E_LENDS,
    E_OWN,
    E_PROGRAM,
    E_SETS,
    E_WALK,
    E_WORKSPACE,
    E_WORKSPACES,
    LENT,
    NARROWED_SLOTS,
    NEED_ARENA,
    NEED_CONFIGS,
    P_NARROWS,
    Z_ARENA,
    Z_CONFIGS,
    Z_GRAMMAR,
    Z_NARROWED,
    Z_SETS,
    Z_SIZE,
    Z_TAKEN,
    Z_WALK,
)
from .mixing import store_hash_at
from .views import fence, ints, take_one, view_i64


@kernel("O -> b")
def take_workspace(desc):
    """Take a workspace that no other thread has; False when there is none."""
    table = view_i64(desc[E_WORKSPACES], desc[E_WORKSPACES + 1])
    for place in range(0, len(table), Z_SIZE):
        if table[place + Z_WALK] == 0:
            return False
        if table[place + Z_TAKEN] == 0 and take_one(desc[E_WORKSPACES] + 8 * (place + Z_TAKEN)) == 0:
            fence()
            desc[E_WORKSPACE], desc[E_WALK] = place, table[place + Z_WALK]
            desc[E_SETS], desc[E_SETS + 1] = table[place + Z_SETS], table[place + Z_SETS + 1]
            if ints(desc, E_PROGRAM)[P_NARROWS] != 0:
                use_table(desc, table, place)
            return True
    return False


@kernel("O O i -> v")
def use_table(desc, table, place):
    """Keep what diagrams say in the table of the workspace, if the grammar has any."""
    A, size = ints(desc, E_ARENA), table[place + Z_NARROWED + 1]
    if table[place + Z_GRAMMAR] != desc[E_GRAMMAR]:
        said = view_i64(table[place + Z_NARROWED], size)
        for k in range(NARROWED_SLOTS + 1):
            said[k] = 0
        table[place + Z_GRAMMAR] = desc[E_GRAMMAR]
    store_hash_at(A, A_NARROWED, table[place + Z_NARROWED])
    A[A_NARROWED + 2] = size


@kernel("O -> v")
def give_back(desc):
    """Give the workspace back."""
    ints(desc, E_ARENA)[A_NARROWED + 2] = 0
    fence()
    view_i64(desc[E_WORKSPACES], desc[E_WORKSPACES + 1])[desc[E_WORKSPACE] + Z_TAKEN] = 0
    desc[E_WORKSPACE] = -1


@kernel("O -> v")
def borrow_arena(desc):
    """Put the arena and the configurations of the workspace in the place of the matcher's, with the same content."""
    A, C = ints(desc, E_ARENA), ints(desc, E_CONFIGS)
    table, place = view_i64(desc[E_WORKSPACES], desc[E_WORKSPACES + 1]), desc[E_WORKSPACE]
    first, last = A[A_BEGIN] * CW, A[A_END] * CW
    if desc[E_LENDS] != 1 or A[A_TOP] - ARENA > LENT or last - first > table[place + Z_CONFIGS + 1] // 2:
        return
    desc[E_OWN], desc[E_OWN + 1] = desc[E_ARENA], desc[E_ARENA + 1]
    desc[E_OWN + 2], desc[E_OWN + 3] = desc[E_CONFIGS], desc[E_CONFIGS + 1]
    desc[E_ARENA], desc[E_ARENA + 1] = table[place + Z_ARENA], table[place + Z_ARENA + 1]
    # configurations keep their numbers
    desc[E_CONFIGS] = table[place + Z_CONFIGS] - 4 * first
    desc[E_CONFIGS + 1] = table[place + Z_CONFIGS + 1] + first
    there, rows = ints(desc, E_ARENA), ints(desc, E_CONFIGS)
    for k in range(A_SCRATCH):
        there[k] = A[k]
    for k in range(A_NEXT, A[A_TOP]):
        there[k] = A[k]
    for k in range(first, last):
        rows[k] = C[k]


@kernel("O i -> i")
def return_arena(desc, status):
    """Put the matcher's own arrays back, with what a mask leaves in the header of an arena. Returns the status.

    Where the arrays were too small, the mask is to be made again in others.
    """
    short = status in (NEED_ARENA, NEED_CONFIGS)
    if desc[E_OWN] == 0:
        if short and desc[E_LENDS] == 0:
            desc[E_LENDS] = 1
            return AGAIN
        return status
    there = ints(desc, E_ARENA)
    desc[E_ARENA], desc[E_ARENA + 1] = desc[E_OWN], desc[E_OWN + 1]
    desc[E_CONFIGS], desc[E_CONFIGS + 1] = desc[E_OWN + 2], desc[E_OWN + 3]
    desc[E_OWN] = 0
    A = ints(desc, E_ARENA)
    for k in range(A_SCRATCH):
        A[k] = there[k]
    for k in range(A_NEXT, ARENA):
        A[k] = there[k]
    if short:
        desc[E_LENDS] = 2
        return AGAIN
    return status
