"""Entry points of the kernels. Each takes one matcher's descriptor, so that a call costs little and a batch is one call.

A descriptor is an int64 array: (address, length) of every array that a step touches, then scalars. The matcher that owns
it keeps the arrays alive and writes it anew when one of them moves.
"""

from __future__ import annotations

import numpy as np

from .._jit import jit
from .layout import A_POS, NEED_TEXT, OK, REFUSED
from .views import view_i32, view_i64, view_u8
from .walks import W_SIZE, accept_bytes, accepting, fill_inside, fill_mask, only_byte, set_bit, undo

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


@jit
def ints(desc, place):
    return view_i32(desc[place], desc[place + 1])


@jit
def octets(desc, place):
    return view_u8(desc[place], desc[place + 1])


@jit
def trie_of(desc, place):
    return octets(desc, place), ints(desc, place + 2), ints(desc, place + 4), ints(desc, place + 6)


@jit
def room_for_walk(desc, A, T):
    """Whether the text buffer can take the longest token after what was read."""
    return A[A_POS] + desc[E_WALK + 1] // W_SIZE < len(T)


@jit
def fill(desc, bitmask, row):
    """Write the matcher's mask into bitmask[row] (int32, words as E_WORDS or more). Returns a status."""
    mask = bitmask[row]
    stops = ints(desc, E_STOPS)
    if desc[E_ENDED] != 0:
        mask[:] = 0
        for token in stops:
            set_bit(mask, token)
        return OK
    P, A, C, T = ints(desc, E_PROGRAM), ints(desc, E_ARENA), ints(desc, E_CONFIGS), octets(desc, E_TEXT)
    if not room_for_walk(desc, A, T):
        return NEED_TEXT
    words = desc[E_WORDS]
    masks = ints(desc, E_MASKS).reshape((desc[E_MASKS + 1] // words, words))
    status = fill_mask(
        P, A, C, T, ints(desc, E_WALK), trie_of(desc, E_TRIE), trie_of(desc, E_QUOTED), masks, mask, desc[E_THREADS]
    )
    if status == OK and accepting(P, A, C, T):
        for token in stops:
            set_bit(mask, token)
    return status


@jit
def fill_many(descriptors, bitmask, rows, statuses):
    """`fill` for every descriptor address in `descriptors` (int64[n]), into bitmask[rows[i]]; statuses int32[n]."""
    for i in range(len(descriptors)):
        statuses[i] = fill(view_i64(descriptors[i], E_SIZE), bitmask, rows[i])


@jit
def inside(desc, mask, probe, state):
    """Write the tokens that a JSON string can read from `state` of an automaton without ending. Returns a status."""
    P, A, C, T = ints(desc, E_PROGRAM), ints(desc, E_ARENA), ints(desc, E_CONFIGS), octets(desc, E_TEXT)
    if not room_for_walk(desc, A, T):
        return NEED_TEXT
    return fill_inside(P, A, C, T, ints(desc, E_WALK), trie_of(desc, E_TRIE), mask, probe, state)


@jit
def accept(desc, token, commit):
    """Read one token's bytes; with `commit` false only find out whether they can be read. Returns a status."""
    offsets = view_i64(desc[E_OFFSETS], desc[E_OFFSETS + 1])
    start, stop = offsets[token], offsets[token + 1]
    if start == stop:
        return REFUSED
    return accept_data(desc, octets(desc, E_FLAT), start, stop, commit)


@jit
def accept_data(desc, data, start, stop, commit):
    """Read data[start:stop] (uint8) as one step."""
    P, A, C, T = ints(desc, E_PROGRAM), ints(desc, E_ARENA), ints(desc, E_CONFIGS), octets(desc, E_TEXT)
    return accept_bytes(P, A, C, T, ints(desc, E_HISTORY), data, start, stop, desc[E_THREADS], commit)


@jit
def can_end(desc):
    """Whether the output may end here."""
    return accepting(ints(desc, E_PROGRAM), ints(desc, E_ARENA), ints(desc, E_CONFIGS), octets(desc, E_TEXT))


@jit
def forced_byte(desc):
    """(status, the only byte that can come next or -1)."""
    return only_byte(
        ints(desc, E_PROGRAM), ints(desc, E_ARENA), ints(desc, E_CONFIGS), octets(desc, E_TEXT), desc[E_THREADS]
    )


@jit
def roll_back(desc, count):
    """Take back the last `count` steps, which must exist."""
    undo(ints(desc, E_ARENA), ints(desc, E_HISTORY), np.int64(count))
