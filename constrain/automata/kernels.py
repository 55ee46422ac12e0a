"""Entry points of the kernels. Each takes one matcher's descriptor, so that a call costs little and a batch is one call.

The matcher that owns a descriptor keeps its arrays alive and writes it anew when one of them moves.
"""

from __future__ import annotations

from ._kernel import kernel
from .layout import E_ENDED, E_FLAT, E_OFFSETS, E_SIZE, E_STOPS, NEED_TEXT, OK, REFUSED
from .steps import ADVANCE, ints, octets
from .views import view_i64
from .walks import accept_bytes, accepting, clear, fill_inside, fill_mask, only_byte, room_for_walk, set_bit, undo

__all__ = ["ADVANCE", "accept", "accept_data", "can_end", "fill", "fill_many", "forced_byte", "inside", "roll_back"]


@kernel("O B i -> i", entry=True)
def fill(desc, bitmask, row):
    """Write the matcher's mask into bitmask[row] (int32, words as E_WORDS or more). Returns a status."""
    mask = bitmask[row]
    status = OK
    if desc[E_ENDED] != 0:
        clear(mask)
    elif not room_for_walk(desc):
        return NEED_TEXT
    else:
        status = fill_mask(desc, mask)
    if status == OK and (desc[E_ENDED] != 0 or accepting(desc)):
        for token in ints(desc, E_STOPS):
            set_bit(mask, token)
    return status


@kernel("O B O M -> v", entry=True)
def fill_many(descriptors, bitmask, rows, statuses):
    """`fill` for every descriptor address in `descriptors` (int64[n]), into bitmask[rows[i]]; statuses int32[n]."""
    for i in range(len(descriptors)):
        statuses[i] = fill(view_i64(descriptors[i], E_SIZE), bitmask, rows[i])


@kernel("O M i i -> i", entry=True)
def inside(desc, mask, probe, state):
    """Write the tokens that a JSON string can read from `state` of an automaton. Returns a status."""
    return fill_inside(desc, mask, probe, state)


@kernel("O T i i b -> i", entry=True)
def accept_data(desc, data, start, stop, commit):
    """Read data[start:stop] (uint8) as one step; with `commit` false only find out. Returns a status."""
    return accept_bytes(desc, data, start, stop, commit)


@kernel("O i b -> i", entry=True)
def accept(desc, token, commit):
    """Read one token's bytes; with `commit` false only find out whether they can be read. Returns a status."""
    offsets = view_i64(desc[E_OFFSETS], desc[E_OFFSETS + 1])
    start, stop = offsets[token], offsets[token + 1]
    if start == stop:
        return REFUSED
    return accept_bytes(desc, octets(desc, E_FLAT), start, stop, commit)


@kernel("O -> b", entry=True)
def can_end(desc):
    """Whether the output may end here."""
    return accepting(desc)


@kernel("O -> ii", entry=True)
def forced_byte(desc):
    """(status, the only byte that can come next or -1)."""
    return only_byte(desc)


@kernel("O i -> v", entry=True)
def roll_back(desc, count):
    """Take back the last `count` steps, which must exist."""
    undo(desc, count)
