"""Entry points of the kernels. Each takes one matcher's descriptor, so that a call costs little and a batch is one call.

The matcher that owns a descriptor keeps its arrays alive and writes it anew when one of them moves.
"""

from __future__ import annotations

from ._kernel import kernel
from .hashes import state_key
from .layout import (
    E_CACHED,
    E_ENDED,
    E_FLAT,
    E_KEYS,
    E_OFFSETS,
    E_SIZE,
    E_SLOTS,
    E_STOPS,
    E_WORDS,
    NEED_TEXT,
    OK,
    REFUSED,
    WALKED,
)
from .steps import ADVANCE
from .views import ints, octets, view_i64
from .walks import (
    accept_bytes,
    accepting,
    clear,
    clear_bit,
    fill_inside,
    fill_mask,
    find_ends,
    only_byte,
    room_for_walk,
    set_bit,
    undo,
)

__all__ = [
    "ADVANCE",
    "accept",
    "accept_data",
    "can_end",
    "fill",
    "fill_many",
    "finish",
    "forced_byte",
    "inside",
    "key_of",
    "roll_back",
    "string_ends",
]


@kernel("O M -> v")
def add_stops(desc, mask):
    """Stop tokens are allowed exactly where the output may end."""
    end = desc[E_ENDED] != 0 or accepting(desc)
    for token in ints(desc, E_STOPS):
        if end:
            set_bit(mask, token)
        else:
            clear_bit(mask, token)


@kernel("O M i -> b")
def look_up(desc, mask, key):
    """Copy the cached mask of a state."""
    keys = view_i64(desc[E_KEYS], desc[E_KEYS + 1])
    place = key & (len(keys) - 1)
    while keys[place] != 0:
        if keys[place] == key:
            words, cached = desc[E_WORDS], ints(desc, E_CACHED)
            base = ints(desc, E_SLOTS)[place] * words
            for k in range(words):
                mask[k] = cached[base + k]
            for k in range(words, len(mask)):
                mask[k] = 0
            return True
        place = (place + 1) & (len(keys) - 1)
    return False


@kernel("O B i -> i", entry=True)
def fill(desc, bitmask, row):
    """Write the matcher's mask into bitmask[row] (int32, words as E_WORDS or more). Returns a status; WALKED: the mask is
    written but for the stop tokens (`finish`), and worth caching."""
    mask = bitmask[row]
    if desc[E_ENDED] != 0:
        clear(mask)
        add_stops(desc, mask)
        return OK
    if not room_for_walk(desc):
        return NEED_TEXT
    key = state_key(desc)
    if key != 0 and look_up(desc, mask, key):
        add_stops(desc, mask)
        return OK
    status = fill_mask(desc, mask)
    if status == OK and key != 0:
        return WALKED
    if status == OK:
        add_stops(desc, mask)
    return status


@kernel("O B i -> v", entry=True)
def finish(desc, bitmask, row):
    """Put the stop tokens into a mask that `fill` left WALKED."""
    add_stops(desc, bitmask[row])


@kernel("O -> i", entry=True)
def key_of(desc):
    """Key of the matcher's state in the cache of masks; 0: not to be cached."""
    return state_key(desc)


@kernel("O B O M -> v", entry=True)
def fill_many(descriptors, bitmask, rows, statuses):
    """`fill` for every descriptor address in `descriptors` (int64[n]), into bitmask[rows[i]]; statuses int32[n]."""
    for i in range(len(descriptors)):
        statuses[i] = fill(view_i64(descriptors[i], E_SIZE), bitmask, rows[i])


@kernel("O M i i -> i", entry=True)
def inside(desc, mask, probe, state):
    """Write the tokens that a JSON string can read from `state` of an automaton. Returns a status."""
    return fill_inside(desc, mask, probe, state)


@kernel("O i i M -> i", entry=True)
def string_ends(desc, probe, state, ends):
    """Nodes of the quoted trie at which a JSON string ends that follows an automaton from `state`; how many."""
    return find_ends(desc, probe, state, ends)


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
