"""All that a matcher can be asked for, as one function of plain numbers: compiled once, and apart (native_operate)."""

from __future__ import annotations

from ._kernel import kernel
from .answers import few_key
from .bits import clear, clear_bit, set_bit
from .cached import is_full, keep, look_up
from .compaction import compact, drop
from .equality import value_hash
from .fills import fill_mask
from .hashes import key_of
from .inside import fill_inside, find_ends
from .layout import (
    A_BEGIN,
    A_END,
    E_ARENA,
    E_DATA,
    E_ENDED,
    E_FLAT,
    E_OFFSETS,
    E_OUT,
    E_PROGRAM,
    E_SIZE,
    E_STOPS,
    NEED_CACHE,
    NEED_TEXT,
    NEED_WORKSPACE,
    OK,
    P_NARROWS,
    REFUSED,
)
from .lending import borrow_arena, give_back, return_arena, take_workspace
from .reading import accept_input, accepting, only_byte, undo
from .views import ints, octets, view_i64
from .walks import room_for_walk

__all__ = [
    "ACCEPT",
    "CAN_END",
    "COMPACT",
    "DROP",
    "ENDS",
    "FILL",
    "FORCED",
    "HASH",
    "INSIDE",
    "READ",
    "UNDO",
    "operate",
]


@kernel("O M -> v")
def add_stops(desc, mask):
    """Stop tokens are allowed where the output may end; one that is a symbol, too, also where the grammar reads it."""
    end = desc[E_ENDED] != 0 or accepting(desc)
    offsets = view_i64(desc[E_OFFSETS], desc[E_OFFSETS + 1])
    for token in ints(desc, E_STOPS):
        if end:
            set_bit(mask, token)
        elif offsets[token] < offsets[token + 1]:
            clear_bit(mask, token)


@kernel("O M -> i")
def fill_row(desc, mask):
    """Write the matcher's mask (int32, words as E_WORDS or more). Returns a status."""
    if desc[E_ENDED] != 0:
        clear(mask)
        add_stops(desc, mask)
        return OK
    if not room_for_walk(desc):
        return NEED_TEXT
    A = ints(desc, E_ARENA)
    key = key_of(desc, A[A_BEGIN], A[A_END])
    if key == 0 or not look_up(desc, mask, key):
        if is_full(desc):
            return NEED_CACHE
        if not take_workspace(desc):
            return NEED_WORKSPACE
        borrow_arena(desc)
        status = return_arena(desc, fill_mask(desc, mask))
        give_back(desc)
        if status != OK:
            return status
        if key != 0:
            keep(desc, mask, key)
    add_stops(desc, mask)
    return OK


def operate(descriptor, operation, a, b):
    """Do one of the operations below; what it returns is said there."""
    desc = view_i64(descriptor, E_SIZE)
    if operation == FILL:
        return fill_row(desc, ints(desc, E_OUT))
    if operation == CAN_END:
        return 1 if accepting(desc) else 0
    if operation == UNDO:
        undo(desc, a)
    elif operation == DROP:
        drop(desc)
    elif operation == COMPACT:
        compact(desc)
    elif operation == HASH:
        size = desc[E_DATA + 1]
        value, end = value_hash(ints(desc, E_ARENA), octets(desc, E_DATA), 0, size) if size > 0 else (0, 0)
        return few_key(a, value) if end >= 0 else 0
    else:
        walks = operation in (INSIDE, ENDS)
        held = (walks or ints(desc, E_PROGRAM)[P_NARROWS] != 0) and take_workspace(desc)
        if walks and not held:
            return NEED_WORKSPACE if operation == INSIDE else -1 - NEED_WORKSPACE
        result = read(desc, operation, a, b)
        if held:
            give_back(desc)
        return result
    return OK


@kernel("O i i i -> i")
def read(desc, operation, a, b):
    """An operation that reads bytes, with what a workspace has to help."""
    if operation == ACCEPT:
        if desc[E_ENDED] != 0:
            return REFUSED
        offsets = view_i64(desc[E_OFFSETS], desc[E_OFFSETS + 1])
        if offsets[a] == offsets[a + 1]:
            return accept_input(desc, octets(desc, E_FLAT), 0, 1, a, b != 0)
        return accept_input(desc, octets(desc, E_FLAT), offsets[a], offsets[a + 1], -1, b != 0)
    if operation == READ:
        return accept_input(desc, octets(desc, E_DATA), 0, desc[E_DATA + 1], -1, True)
    if operation == FORCED:
        status, byte = only_byte(desc)
        return byte if status == OK else -1 - status
    if operation == INSIDE:
        return fill_inside(desc, ints(desc, E_OUT), a, b)
    return find_ends(desc, a, b, ints(desc, E_OUT))


# Operations, with their arguments a and b
FILL = 0  # write the mask to E_OUT: a status
ACCEPT = 1  # read the bytes or the symbol of token a as one step, or with b = 0 only find out if it may be: a status
READ = 2  # read E_DATA as one step: a status
CAN_END = 3  # whether the output may end here: 1 or 0
UNDO = 4  # take back the last a steps, which must exist, the first of them with its configurations
FORCED = 5  # the only byte that can come next; -1: none or several; below that, -1 - status
INSIDE = 6  # write the tokens that a JSON string (a probe lexeme a) reads from automaton state b to E_OUT: a status
ENDS = 7  # write the nodes of the quoted trie at which such a string ends to E_OUT: how many, or -1 - status
HASH = 8  # key under which it is kept that the value in E_DATA counts in array a (few_key); 0: the arena must grow
DROP = 9  # forget the steps that cannot be taken back, and most configurations of older ones
COMPACT = 10  # keep of the arena and the text what is referred to; E_OUT: a buffer as long as what lies in the arena
