"""Entry points of the kernels. Each takes one matcher's descriptor, so that a call costs little and a batch is one call.

The matcher that owns a descriptor keeps its arrays alive and writes it anew when one of them moves. The work is done by two
native functions that are called by their addresses, and that are compiled side by side when nothing is cached yet.
"""

from __future__ import annotations

from .._jit import compile_beside
from ._kernel import kernel
from .layout import E_OPERATE, E_OUT, E_SELF, E_SIZE
from .operations import ACCEPT, CAN_END, COMPACT, DROP, ENDS, FILL, FORCED, HASH, INSIDE, READ, UNDO
from .views import address_of, address_of_row, call_native, take_one, view_i64

wait = compile_beside(f"{__package__}.native_operate", f"{__package__}.operations")
from .native_advance import ADDRESS as ADVANCE  # noqa: E402

wait()
from .native_operate import ADDRESS as OPERATE  # noqa: E402

__all__ = [
    "ACCEPT",
    "ADVANCE",
    "CAN_END",
    "COMPACT",
    "DROP",
    "ENDS",
    "FORCED",
    "HASH",
    "INSIDE",
    "OPERATE",
    "READ",
    "UNDO",
    "fill",
    "fill_many",
    "operate",
]


@kernel("O i i i -> i", entry=True)
def operate(desc, operation, a, b):
    """Do one operation for the matcher of a descriptor."""
    return call_native(desc[E_OPERATE], desc[E_SELF], operation, a, b)


@kernel("O B i -> i", entry=True)
def fill(desc, bitmask, row):
    """FILL into bitmask[row]."""
    desc[E_OUT], desc[E_OUT + 1] = address_of_row(bitmask, row), bitmask.shape[1]
    return call_native(desc[E_OPERATE], desc[E_SELF], FILL, 0, 0)


@kernel("O B O M O -> v", entry=True)
def fill_many(descriptors, bitmask, rows, statuses, taken):
    """FILL for every descriptor address in `descriptors` (int64[n]), into bitmask[rows[i]]; statuses int32[n].

    taken (int64[1]): how many have been begun. Threads that are given the same arrays share the work."""
    count = address_of(taken)
    i = take_one(count)
    while i < len(descriptors):
        desc = view_i64(descriptors[i], E_SIZE)
        desc[E_OUT], desc[E_OUT + 1] = address_of_row(bitmask, rows[i]), bitmask.shape[1]
        statuses[i] = call_native(desc[E_OPERATE], desc[E_SELF], FILL, 0, 0)
        i = take_one(count)
