"""Kernels that hash what a token can observe of a state: the key under which its mask is cached.

Counts are clipped: how far a bound is away matters only as long as one token can reach it. The additional keys that an
object has emitted are part of a hash where they matter: where a key may come next, and in a vocabulary with tokens that
write a comma and a whole key (A_WHOLE_KEYS) always. While a key is being written only those matter that start like it.
"""

from __future__ import annotations

from ._kernel import kernel
from .cells import any_bit
from .keys import labels_wanted, matched
from .layout import (
    A_POS,
    A_WHOLE_KEYS,
    CHARS,
    CW,
    D_COUNTS,
    D_WORDS,
    DONE,
    E_ARENA,
    E_CONFIGS,
    E_GRAMMAR,
    E_LONG_TAILS,
    E_PROGRAM,
    E_TEXT,
    F_SHAPE,
    F_SHAPE_KIND,
    FLAG_SETTLED,
    FLAG_VALUED,
    G_BITS,
    G_COUNT,
    G_EXTRA,
    G_EXTRAS,
    G_KEY,
    G_MISSING,
    K_LEXEME,
    L_COUNTED,
    L_MAX,
    L_MIN,
    L_SHAPE,
    L_SKIN,
    LO,
    NODE,
    O_EXTRA,
    O_EXTRA_VALUES,
    O_KEYS,
    O_MAX,
    O_MIN,
    O_REGISTERS,
    O_SEEN,
    O_VALUES,
    PARENT,
    R_HASH,
    R_REGS,
    REACH,
    REGS,
    REMAINDER,
    S_FLAGS,
    SHAPE_ARRAY,
    SHAPE_OBJECT,
    STATE,
    TEXT,
    TIGHT,
    U_ITEM,
    U_ITEMS,
    UNCOUNTED,
    X_BYTES,
    X_DATA,
    X_HASH,
    X_NEXT,
    Y_COMPARED,
    Y_MAX,
    Y_MIN,
    Y_PREFIX_COUNT,
)
from .mixing import load_hash_at, mix, store_hash_at
from .views import ints, octets


@kernel("A i i -> v")
def store_hash(A, row, h):
    store_hash_at(A, row + R_HASH, h)


@kernel("A i -> i")
def load_hash(A, row):
    """Hash of an arena row; a fixed one below the outermost frame."""
    if row < 0:
        return 1
    return load_hash_at(A, row + R_HASH)


@kernel("i i i -> i")
def clipped(count, least, most):
    """What matters of a count: how much is missing to `least`, and how much room there is to `most` (-1: any)."""
    room = 2 * REACH if most < 0 else min(most - count, 2 * REACH)
    return max(least - count, 0) * (2 * REACH + 1) + room


@kernel("P i i i -> b")
def is_blind(P, node, state, flags):
    """Whether an object is in a layout state with one of the flags, and no token tells which keys were written: only
    whether it may end, and go on, behind the value."""
    if P[node + F_SHAPE_KIND] != SHAPE_OBJECT or P[state + S_FLAGS] & flags == 0:
        return False
    return P[P[node + F_SHAPE] + O_SEEN] == 0


@kernel("P i i -> i")
def value_of(P, shape, label):
    """The node of the value of a declared key, or of an additional one with a label."""
    keys = P[shape + O_KEYS]
    return P[P[shape + O_VALUES] + label] if label < keys else P[P[shape + O_EXTRA_VALUES] + label - keys]


@kernel("P A i i -> i")
def hash_of_chances(P, A, shape, regs):
    goes_on = any_bit(A, regs + G_BITS, 0, P[shape + O_KEYS])
    may_end = A[regs + G_MISSING] == 0 and A[regs + G_COUNT] >= P[shape + O_MIN]
    return mix(mix(13, A[regs + G_EXTRA]), 2 * int(goes_on) + int(may_end)) | 1


@kernel("P A i i -> b")
def may_be_used_up(P, A, shape, regs):
    """Whether there may be too few additional keys, all of them or those of the labels that may follow."""
    extra = P[shape + O_EXTRA]
    if extra < 0:
        return False
    return P[extra + D_WORDS] >= 0 or (labels_wanted(P, A, shape, regs) >= 0 and P[extra + D_COUNTS] >= 0)


@kernel("P A i i -> i")
def registers_hash(P, A, node, regs):
    """Hash of a frame's registers, without the additional keys where these do not matter; 0 when items could matter."""
    kind, shape = P[node + F_SHAPE_KIND], P[node + F_SHAPE]
    if kind == SHAPE_OBJECT:
        h = mix(mix(7, clipped(A[regs + G_COUNT], P[shape + O_MIN], P[shape + O_MAX])), A[regs + G_KEY])
        h = mix(mix(h, A[regs + G_MISSING]), A[regs + G_EXTRA])
        for k in range(P[shape + O_REGISTERS]):
            h = mix(h, A[regs + G_BITS + k])
        if A[regs + G_EXTRAS] != 0 and (A[A_WHOLE_KEYS] != 0 or may_be_used_up(P, A, shape, regs)):
            h = mix(h, load_hash_at(A, A[regs + G_EXTRAS] + X_HASH))
        return h | 1
    if kind == SHAPE_ARRAY:
        if P[shape + Y_COMPARED] != 0 and (A[regs + U_ITEM] >= 0 or A[regs + U_ITEMS] != 0):
            return 0
        least = max(P[shape + Y_MIN], P[shape + Y_PREFIX_COUNT])
        return mix(mix(11, clipped(A[regs], least, P[shape + Y_MAX])), min(A[regs], P[shape + Y_PREFIX_COUNT])) | 1
    return 1


@kernel("P A i i i i -> i")
def row_hash(P, A, node, state, regs, parent):
    """Hash of a frame row."""
    below = load_hash(A, parent)
    if is_blind(P, node, state, FLAG_SETTLED):
        own = hash_of_chances(P, A, P[node + F_SHAPE], regs)
    else:
        own = registers_hash(P, A, node, regs)
    if below == 0 or own == 0:
        return 0
    return mix(mix(mix(below, own), node), state) | 1


@kernel("A i i -> i")
def fork_hash(A, first, second):
    one, other = load_hash(A, first), load_hash(A, second)
    return 0 if one == 0 or other == 0 else mix(mix(one, 77), other) | 1


@kernel("A T i i i -> i")
def hash_of_alike(A, T, entry, start, skin):
    """Hash of the emitted keys from `entry` on that start with the content from text position `start` on, and of how
    much of them that is; 0: none does."""
    h = 0
    while entry > 0:
        index = matched(A, entry, T, start, A[A_POS], skin)
        if index >= 0:
            h = mix(mix(h, index), A[entry + X_BYTES])
            for k in range((A[entry + X_BYTES] + 3) // 4):
                h = mix(h, A[entry + X_DATA + k])
            h |= 1
        entry = A[entry + X_NEXT]
    return h


@kernel("O P A C i -> i")
def config_hash(desc, P, A, C, row):
    node = C[row + NODE]
    if node == DONE:
        return 3
    below = load_hash(A, C[row + PARENT])
    h = mix(mix(5, node), C[row + STATE])  # mix(node, state) would fold them into one
    if P[node] == K_LEXEME:
        if C[row + TEXT] >= 0:
            if desc[E_LONG_TAILS] != 0:
                return 0  # a token may close the key and spell it again
            extras = A[A[C[row + PARENT] + R_REGS] + G_EXTRAS]
            if extras != 0 and may_be_used_up(P, A, P[node + L_SHAPE], A[C[row + PARENT] + R_REGS]):
                h = mix(h, load_hash_at(A, extras + X_HASH))
            if extras != 0:
                h = mix(h, hash_of_alike(A, octets(desc, E_TEXT), extras, C[row + TEXT], P[node + L_SKIN]))
        if P[node + L_COUNTED] == TIGHT or P[node + L_COUNTED] == REMAINDER:
            h = mix(h, C[row + CHARS])
        elif P[node + L_COUNTED] != UNCOUNTED:
            h = mix(h, clipped(C[row + CHARS], P[node + L_MIN], P[node + L_MAX]))
        own = 1
    else:
        state, regs = C[row + STATE], C[row + REGS]
        if is_blind(P, node, state, FLAG_SETTLED | FLAG_VALUED):
            own = hash_of_chances(P, A, P[node + F_SHAPE], regs)
            if P[state + S_FLAGS] & FLAG_VALUED != 0:
                own = mix(own, value_of(P, P[node + F_SHAPE], A[regs + G_KEY])) | 1
        else:
            own = registers_hash(P, A, node, regs)
            if P[node + F_SHAPE_KIND] == SHAPE_OBJECT and A[regs + G_EXTRAS] != 0:
                h = mix(h, load_hash_at(A, A[regs + G_EXTRAS] + X_HASH))  # a token may write a whole key at once
    if below == 0 or own == 0:
        return 0
    for k in range(LO, CHARS):
        h = mix(h, C[row + k])
    return mix(mix(h, below), own) | 1


@kernel("O i i -> i")
def key_of(desc, first, last):
    """Key of configurations first..last-1 for the cache of masks; 0: not to be cached."""
    P, A, C = ints(desc, E_PROGRAM), ints(desc, E_ARENA), ints(desc, E_CONFIGS)
    key = desc[E_GRAMMAR]
    if desc[E_LONG_TAILS] > 1:
        return 0  # a token may reach beyond what the clipped counts tell apart
    for c in range(first, last):
        h = config_hash(desc, P, A, C, c * CW)
        if h == 0:
            return 0
        key = mix(key, h)
    return key | 1
