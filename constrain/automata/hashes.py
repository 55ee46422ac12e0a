"""Kernels that hash what a token can observe of a state: the key under which its mask is cached.

Counts are clipped: how far a bound is away matters only as long as one token can reach it. The additional keys that an
object has emitted are not part of a hash, so a state in which they could matter has the hash 0: it is not cached. They
matter while a key is being written or may come next, and always in a vocabulary with tokens that write a comma and a
whole key (A_WHOLE_KEYS).

Hashes have 62 bits; in the arena they lie in two ints of 31 bits each.
"""

from __future__ import annotations

from ._kernel import kernel
from .layout import (
    A_BEGIN,
    A_END,
    A_WHOLE_KEYS,
    CHARS,
    CW,
    DONE,
    E_ARENA,
    E_CONFIGS,
    E_GRAMMAR,
    E_LONG_TAILS,
    E_PROGRAM,
    F_SHAPE,
    F_SHAPE_KIND,
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
    LO,
    NODE,
    O_MAX,
    O_MIN,
    O_REGISTERS,
    PARENT,
    R_HASH,
    R_REGS,
    REACH,
    REGS,
    SHAPE_ARRAY,
    SHAPE_OBJECT,
    STATE,
    TEXT,
    TIGHT,
    UNCOUNTED,
    Y_MAX,
    Y_MIN,
    Y_PREFIX_COUNT,
    Y_UNIQUE,
)
from .views import ints


@kernel("i i -> i")
def mix(h, x):
    """Fold x into h (multiply and shift; both results keep 62 bits)."""
    h = ((h ^ x) * 0x1B03738712FAD5C9 + 0x2127599BF4325C37) & 0x3FFFFFFFFFFFFFFF
    return h ^ (h >> 29)


@kernel("A i i -> v")
def store_hash_at(A, place, h):
    A[place] = h & 0x7FFFFFFF
    A[place + 1] = h >> 31


@kernel("A i -> i")
def load_hash_at(A, place):
    return A[place] | (A[place + 1] << 31)


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


@kernel("P A i i -> i")
def registers_hash(P, A, node, regs):
    """Hash of a frame's registers; 0 when the emitted additional keys or items could matter."""
    kind, shape = P[node + F_SHAPE_KIND], P[node + F_SHAPE]
    if kind == SHAPE_OBJECT:
        if A[regs + G_EXTRAS] != 0 and A[A_WHOLE_KEYS] != 0:
            return 0
        h = mix(mix(7, clipped(A[regs + G_COUNT], P[shape + O_MIN], P[shape + O_MAX])), A[regs + G_KEY])
        h = mix(mix(h, A[regs + G_MISSING]), A[regs + G_EXTRA])
        for k in range(P[shape + O_REGISTERS]):
            h = mix(h, A[regs + G_BITS + k])
        return h | 1
    if kind == SHAPE_ARRAY:
        if P[shape + Y_UNIQUE] != 0:
            return 0
        least = max(P[shape + Y_MIN], P[shape + Y_PREFIX_COUNT])
        return mix(mix(11, clipped(A[regs], least, P[shape + Y_MAX])), min(A[regs], P[shape + Y_PREFIX_COUNT])) | 1
    return 1


@kernel("P A i i i i -> i")
def row_hash(P, A, node, state, regs, parent):
    """Hash of a frame row."""
    below, own = load_hash(A, parent), registers_hash(P, A, node, regs)
    if below == 0 or own == 0:
        return 0
    return mix(mix(mix(below, own), node), state) | 1


@kernel("A i i -> i")
def fork_hash(A, first, second):
    one, other = load_hash(A, first), load_hash(A, second)
    return 0 if one == 0 or other == 0 else mix(mix(one, 77), other) | 1


@kernel("O P A C i -> i")
def config_hash(desc, P, A, C, row):
    node = C[row + NODE]
    if node == DONE:
        return 3
    below = load_hash(A, C[row + PARENT])
    h = mix(mix(5, node), C[row + STATE])  # mix(node, state) would fold them into one
    if P[node] == K_LEXEME:
        if C[row + TEXT] >= 0 and (desc[E_LONG_TAILS] != 0 or A[A[C[row + PARENT] + R_REGS] + G_EXTRAS] != 0):
            return 0  # it must not repeat an earlier key, nor may a token close it and spell it again
        if P[node + L_COUNTED] == TIGHT:
            h = mix(h, C[row + CHARS])
        elif P[node + L_COUNTED] != UNCOUNTED:
            h = mix(h, clipped(C[row + CHARS], P[node + L_MIN], P[node + L_MAX]))
        own = 1
    else:
        own = registers_hash(P, A, node, C[row + REGS])
        if P[node + F_SHAPE_KIND] == SHAPE_OBJECT and A[C[row + REGS] + G_EXTRAS] != 0:
            return 0  # the next token may write a whole key at once
    if below == 0 or own == 0:
        return 0
    for k in range(LO, CHARS):
        h = mix(h, C[row + k])
    return mix(mix(h, below), own) | 1


@kernel("O -> i")
def state_key(desc):
    """Key of the matcher's state for the cache of masks; 0: not to be cached."""
    P, A, C = ints(desc, E_PROGRAM), ints(desc, E_ARENA), ints(desc, E_CONFIGS)
    key = desc[E_GRAMMAR]
    if desc[E_LONG_TAILS] > 1:
        return 0  # a token may reach beyond what the clipped counts tell apart
    for c in range(A[A_BEGIN], A[A_END]):
        h = config_hash(desc, P, A, C, c * CW)
        if h == 0:
            return 0
        key = mix(key, h)
    return key | 1
