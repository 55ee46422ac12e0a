"""Kernels that keep masks of states in the cache of a vocabulary (mask_cache.py), and look them up.

Matchers of any number of threads share the cache without a lock: a row is taken by an atomic count, written, and only
then entered in the table; whoever reads compares the row's key, so an entry that another thread overwrites is lost,
never wrong.
"""

from __future__ import annotations

from ._kernel import kernel
from .layout import E_CACHED, E_KEYS, E_TABLE, E_USED, E_WORDS, OLD
from .views import fence, ints, take_one, view_i64

MOST_PROBES = 16


@kernel("O i i -> i")
def row_of(desc, key, old):
    """The row of the cache that holds the mask of a state, or -1. old: 0, or OLD for the cache before this one."""
    table, keys = ints(desc, E_TABLE + old), view_i64(desc[E_KEYS + old], desc[E_KEYS + old + 1])
    place = key & (len(table) - 1)
    for _ in range(MOST_PROBES):
        row = table[place] - 1
        if row < 0:
            return -1
        fence()
        if keys[row] == key:
            return row
        place = (place + 1) & (len(table) - 1)
    return -1


@kernel("O M i -> b")
def look_up(desc, mask, key):
    """Write the mask that is kept under a key, if there is one."""
    old = 0
    row = row_of(desc, key, 0)
    if row < 0:
        old = OLD
        row = row_of(desc, key, OLD)
        if row < 0:
            return False
    words, cached = desc[E_WORDS], ints(desc, E_CACHED + old)
    for k in range(words):
        mask[k] = cached[row * words + k]
    for k in range(words, len(mask)):
        mask[k] = 0
    if old != 0:
        keep(desc, mask, key)  # used of late
    return True


@kernel("O -> b")
def is_full(desc):
    return view_i64(desc[E_USED], desc[E_USED + 1])[0] >= desc[E_KEYS + 1]


@kernel("O M i -> v")
def keep(desc, mask, key):
    """Keep a mask under its key, if there is room."""
    table, keys = ints(desc, E_TABLE), view_i64(desc[E_KEYS], desc[E_KEYS + 1])
    if is_full(desc):
        return
    row = take_one(desc[E_USED])
    if row >= len(keys):
        return
    words, cached = desc[E_WORDS], ints(desc, E_CACHED)
    for k in range(words):
        cached[row * words + k] = mask[k]
    keys[row] = key
    fence()
    place = key & (len(table) - 1)
    for _ in range(MOST_PROBES):
        if table[place] == 0:
            table[place] = row + 1
            return
        place = (place + 1) & (len(table) - 1)
