"""Entry points of the kernels. Each takes one matcher's descriptor, so that a call costs little and a batch is one call.

A descriptor is an int64 array: (address, length) of every array that a step touches, then scalars. The matcher that owns
it keeps the arrays alive and writes it anew when one of them moves.
"""

from __future__ import annotations

import numpy as np

from ._kernel import kernel
from .layout import A_POS, NEED_TEXT, OK, REFUSED
from .views import view_i32, view_i64, view_u8
from .walks import W_SIZE, accept_bytes, accepting, clear, fill_inside, fill_mask, only_byte, set_bit, undo

__all__ = ["accept", "accept_data", "can_end", "fill", "fill_many", "forced_byte", "inside", "roll_back"]

# places of the (address, length) pairs; a trie takes four pairs in a row
E_PROGRAM, E_ARENA, E_CONFIGS, E_TEXT, E_HISTORY, E_WALK, E_TRIE, E_QUOTED, E_MASKS, E_FLAT, E_OFFSETS, E_STOPS = (
    0,
    2,
    4,
    6,
    8,
    10,
    12,
    20,
    28,
    30,
    32,
    34,
)
# scalars: ints in a mask row, most parallel threads, whether a stop token was accepted
E_WORDS, E_THREADS, E_ENDED, E_SIZE = 36, 37, 38, 39


@kernel("O i -> P")
def ints(desc, place):
    return view_i32(desc[place], desc[place + 1])


@kernel("O i -> T")
def octets(desc, place):
    return view_u8(desc[place], desc[place + 1])


@kernel("O i -> R")
def trie_of(desc, place):
    return octets(desc, place), ints(desc, place + 2), ints(desc, place + 4), ints(desc, place + 6)


@kernel("O A T -> b")
def room_for_walk(desc, A, T):
    """Whether the text buffer can take the longest token after what was read."""
    return A[A_POS] + desc[E_WALK + 1] // W_SIZE < len(T)


@kernel("O B i -> i", entry=True)
def fill(desc, bitmask, row):
    """Write the matcher's mask into bitmask[row] (int32, words as E_WORDS or more). Returns a status."""
    mask = bitmask[row]
    stops = ints(desc, E_STOPS)
    if desc[E_ENDED] != 0:
        clear(mask)
        for token in stops:
            set_bit(mask, token)
        return OK
    P, A, C, T = ints(desc, E_PROGRAM), ints(desc, E_ARENA), ints(desc, E_CONFIGS), octets(desc, E_TEXT)
    if not room_for_walk(desc, A, T):
        return NEED_TEXT
    status = fill_mask(
        P, A, C, T, ints(desc, E_WALK), trie_of(desc, E_TRIE), trie_of(desc, E_QUOTED), ints(desc, E_MASKS), mask, desc[E_WORDS], desc[E_THREADS]
    )
    if status == OK and accepting(P, A, C, T):
        for token in stops:
            set_bit(mask, token)
    return status


@kernel("O B O M -> v", entry=True)
def fill_many(descriptors, bitmask, rows, statuses):
    """`fill` for every descriptor address in `descriptors` (int64[n]), into bitmask[rows[i]]; statuses int32[n]."""
    for i in range(len(descriptors)):
        statuses[i] = fill(view_i64(descriptors[i], E_SIZE), bitmask, rows[i])


@kernel("O M i i -> i", entry=True)
def inside(desc, mask, probe, state):
    """Write the tokens that a JSON string can read from `state` of an automaton without ending. Returns a status."""
    P, A, C, T = ints(desc, E_PROGRAM), ints(desc, E_ARENA), ints(desc, E_CONFIGS), octets(desc, E_TEXT)
    if not room_for_walk(desc, A, T):
        return NEED_TEXT
    return fill_inside(P, A, C, T, ints(desc, E_WALK), trie_of(desc, E_TRIE), mask, probe, state)


@kernel("O T i i b -> i", entry=True)
def accept_data(desc, data, start, stop, commit):
    """Read data[start:stop] (uint8) as one step."""
    P, A, C, T = ints(desc, E_PROGRAM), ints(desc, E_ARENA), ints(desc, E_CONFIGS), octets(desc, E_TEXT)
    return accept_bytes(P, A, C, T, ints(desc, E_HISTORY), data, start, stop, desc[E_THREADS], commit)


@kernel("O i b -> i", entry=True)
def accept(desc, token, commit):
    """Read one token's bytes; with `commit` false only find out whether they can be read. Returns a status."""
    offsets = view_i64(desc[E_OFFSETS], desc[E_OFFSETS + 1])
    start, stop = offsets[token], offsets[token + 1]
    if start == stop:
        return REFUSED
    return accept_data(desc, octets(desc, E_FLAT), start, stop, commit)


@kernel("O -> b", entry=True)
def can_end(desc):
    """Whether the output may end here."""
    return accepting(ints(desc, E_PROGRAM), ints(desc, E_ARENA), ints(desc, E_CONFIGS), octets(desc, E_TEXT))


@kernel("O -> ii", entry=True)
def forced_byte(desc):
    """(status, the only byte that can come next or -1)."""
    return only_byte(
        ints(desc, E_PROGRAM), ints(desc, E_ARENA), ints(desc, E_CONFIGS), octets(desc, E_TEXT), desc[E_THREADS]
    )


@kernel("O i -> v", entry=True)
def roll_back(desc, count):
    """Take back the last `count` steps, which must exist."""
    undo(ints(desc, E_ARENA), ints(desc, E_HISTORY), np.int64(count))
