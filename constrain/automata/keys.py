"""Kernels on the keys of objects: which were written, which an additional one may still be, and what one leaves behind."""

from __future__ import annotations

from ._kernel import kernel
from .cells import allocate, bit, packed_byte
from .escapes import decode
from .layout import (
    A_POS,
    D_COUNTS,
    D_LABEL,
    D_LABELS,
    D_WORDS,
    DEPTH,
    G_BITS,
    G_COUNT,
    G_EXTRA,
    G_EXTRAS,
    G_KEY,
    G_MISSING,
    HI,
    L_SHAPE,
    L_SKIN,
    LO,
    NODE,
    O_ALL_LABELS,
    O_BY_RANK,
    O_EXTRA,
    O_KEYS,
    O_LEXEME,
    O_MAX,
    O_MIN,
    O_POSSIBLE,
    O_RANK,
    O_REGISTERS,
    O_REQUIRED,
    O_WORDS,
    PARENT,
    R_REGS,
    STATE,
    TEXT,
    X_BYTES,
    X_DATA,
    X_HASH,
    X_NEXT,
    X_START,
)
from .lexemes import code_at, follow, word_byte
from .mixing import load_hash_at, mix, store_hash_at


@kernel("P A T i i i -> b")
def some_additional_key(P, A, T, y, first, last):
    """As some_char, for additional keys whose language is finite: is one left that starts with the content and a
    character in first..last? (Rare: only where the words can be used up.)"""
    state = A[y + STATE]
    code = first
    while code <= last:
        if 0xD800 <= code <= 0xDFFF:
            code = 0xE000
            continue
        target = step_code(P, state, code)
        if target >= 0 and P[target + D_LABELS] & A[A[A[y + PARENT] + R_REGS] + G_EXTRA] != 0:
            left = words_ahead(P, A, y, target)
            if left < 0 or left > words_taken(P, A, T, y, code):
                return True
        code += 1
    return False


@kernel("P i i -> i")
def step_code(P, state, code):
    """State of the automaton after the UTF-8 bytes of one code point."""
    if code < 0x80:
        return follow(P, state, code)
    if code < 0x800:
        return follow(P, follow(P, state, 0xC0 | code >> 6), 0x80 | code & 63)
    if code < 0x10000:
        state = follow(P, follow(P, state, 0xE0 | code >> 12), 0x80 | (code >> 6) & 63)
        return follow(P, state, 0x80 | code & 63)
    state = follow(P, follow(P, state, 0xF0 | code >> 18), 0x80 | (code >> 12) & 63)
    return follow(P, follow(P, state, 0x80 | (code >> 6) & 63), 0x80 | code & 63)


@kernel("P A i i -> i")
def labels_wanted(P, A, shape, regs):
    """The labels of additional keys that may follow, as bits; -1 where these are all."""
    return -1 if A[regs + G_EXTRA] == P[shape + O_ALL_LABELS] else A[regs + G_EXTRA]


@kernel("P A i i -> i")
def words_ahead(P, A, y, state):
    """How many additional keys lead on from a state of their automaton that have a label which may follow; -1: so many
    that they need not be counted."""
    labels = labels_wanted(P, A, P[A[y + NODE] + L_SHAPE], A[A[y + PARENT] + R_REGS])
    if labels < 0:
        return P[state + D_WORDS]
    counts, found = P[state + D_COUNTS], 0
    if counts < 0:
        return -1
    while labels != 0:
        found += P[counts] if labels & 1 != 0 else 0
        labels >>= 1
        counts += 1
    return found


@kernel("P A T i -> b")
def extra_key_left(P, A, T, y):
    """Whether an additional key that starts with the content, and may follow, is neither declared nor emitted yet."""
    left = words_ahead(P, A, y, A[y + STATE])
    if left < 0 or left > A[y + HI] - A[y + LO] + A[A[A[y + PARENT] + R_REGS] + G_COUNT]:
        return True
    return left > words_taken(P, A, T, y, -1)


@kernel("P A T i i -> i")
def words_taken(P, A, T, y, code):
    """Additional keys of labels that may follow which start with the content of row `y` (and then `code`, unless -1) and
    are declared or emitted already."""
    node, regs = A[y + NODE], A[A[y + PARENT] + R_REGS]
    shape = P[node + L_SHAPE]
    labels = labels_wanted(P, A, shape, regs)
    taken = declared_taken(P, node, A[y + STATE], A[y + LO], A[y + HI], A[y + DEPTH], code, labels)
    entry = A[regs + G_EXTRAS]
    while entry > 0:
        if starts_with(A, entry, T, A[y + TEXT], A[A_POS] + 1, code, P[node + L_SKIN]):
            if labels < 0 or labels >> label_of(P, A, P[shape + O_EXTRA], entry) & 1 != 0:
                taken += 1
        entry = A[entry + X_NEXT]
    return taken


@kernel("P A i i -> i")
def label_of(P, A, state, entry):
    """Label of the emitted key at `entry` in the automaton that starts at `state`."""
    for index in range(A[entry + X_BYTES]):
        state = follow(P, state, key_byte(A, entry, index))
    return P[state + D_LABEL]


@kernel("P i i i i i i i -> i")
def declared_taken(P, node, start, lo, hi, depth, code, labels):
    """Declared keys among lo..hi-1 whose rest after `depth` bytes the automaton accepts from `start` with one of the
    labels (bits; -1: any)."""
    taken = 0
    for word in range(lo, hi):
        if code < 0 or code_at(P, node, word, depth) == code:
            state, index = start, depth
            byte = word_byte(P, node, word, index)
            while byte >= 0:
                state = follow(P, state, byte)
                index += 1
                byte = word_byte(P, node, word, index)
            if state >= 0 and P[state + D_LABEL] >= 0:
                taken += 1 if labels < 0 else labels >> P[state + D_LABEL] & 1
    return taken


@kernel("A i T i i i -> i")
def matched(A, entry, T, start, end, skin):
    """Bytes of the emitted key at `entry` that the content spelled in T[start:end] is; -1: the key does not start with
    it. An escape that is not complete at `end` spells nothing."""
    index, position = 0, start
    while position < end:
        char, position = decode(T, position, end, skin)
        if char < 0:
            break
        index = match_code(A, entry, index, char)
        if index < 0:
            return -1
    return index


@kernel("A i T i i i i -> b")
def starts_with(A, entry, T, start, end, code, skin):
    """Whether the emitted key at `entry` starts with the content spelled in T[start:end], and then `code` unless -1."""
    index = matched(A, entry, T, start, end, skin)
    return index >= 0 and (code < 0 or match_code(A, entry, index, code) >= 0)


@kernel("A i i i -> i")
def match_code(A, entry, index, code):
    """Index after the bytes of `code` in the emitted key, or -1 when they are not there. Codes below 256 from `decode`
    of raw bytes are passed as 0x40000000 | byte and match one byte."""
    if code & 0x40000000:
        return index + 1 if key_byte(A, entry, index) == code & 255 else -1
    if code < 0x80:
        return index + 1 if key_byte(A, entry, index) == code else -1
    if code < 0x800:
        n, lead = 2, 0xC0 | code >> 6
    elif code < 0x10000:
        n, lead = 3, 0xE0 | code >> 12
    else:
        n, lead = 4, 0xF0 | code >> 18
    if key_byte(A, entry, index) != lead:
        return -1
    for k in range(1, n):
        if key_byte(A, entry, index + k) != 0x80 | (code >> (6 * (n - 1 - k))) & 63:
            return -1
    return index + n


@kernel("A i i -> i")
def key_byte(A, entry, index):
    return packed_byte(A, entry + X_DATA, index) if index < A[entry + X_BYTES] else -1


@kernel("A i i i -> v")
def store_byte(A, entry, index, byte):
    word = entry + X_DATA + (index >> 2)
    if index & 3 == 0:
        A[word] = 0
    shifted = byte << ((index & 3) * 8)
    A[word] |= shifted - 0x100000000 if shifted >= 0x80000000 else shifted


@kernel("P A T i i i -> i")
def record_key(P, A, T, y, start, end):
    """Entry of a new additional key spelled in T[start:end], decoded, linked before the earlier ones; 0 when it repeats
    one of them (or when the arena must grow)."""
    regs = A[A[y + PARENT] + R_REGS]
    entry = allocate(A, X_DATA + (end - start + 3) // 4 + 1)
    if entry == 0:
        return 0
    n, position, skin = 0, start, P[A[y + NODE] + L_SKIN]
    while position < end:
        char, position = decode(T, position, end, skin)
        if char & 0x40000000:
            store_byte(A, entry, n, char & 255)
            n += 1
        elif char < 0x80:
            store_byte(A, entry, n, char)
            n += 1
        else:
            k = 2 if char < 0x800 else 3 if char < 0x10000 else 4
            store_byte(A, entry, n, (0xF00 >> k) & 0xFF | char >> (6 * (k - 1)))
            for j in range(1, k):
                store_byte(A, entry, n + j, 0x80 | (char >> (6 * (k - 1 - j))) & 63)
            n += k
    A[entry + X_NEXT] = A[regs + G_EXTRAS]
    A[entry + X_BYTES], A[entry + X_START] = n, start
    other, h = A[regs + G_EXTRAS], mix(13, n)
    if other > 0:
        h = mix(h, load_hash_at(A, other + X_HASH))
    for k in range((n + 3) // 4):
        h = mix(h, A[entry + X_DATA + k])
    store_hash_at(A, entry + X_HASH, h)
    while other > 0:
        if A[other + X_BYTES] == n:
            same = True
            for k in range((n + 3) // 4):
                if A[other + X_DATA + k] != A[entry + X_DATA + k]:
                    same = False
                    break
            if same:
                return 0
        other = A[other + X_NEXT]
    return entry


@kernel("P A T i i i i -> i")
def close_key(P, A, T, y, label, start, end):
    """Registers of the object after the key of row `y` (spelled in T[start:end] if additional), or 0 when the key may not
    be emitted. Writes a new block; the old one stays as it is."""
    shape = P[A[y + NODE] + L_SHAPE]
    old = A[A[y + PARENT] + R_REGS]
    words, keys = P[shape + O_WORDS], P[shape + O_KEYS]
    extras = A[old + G_EXTRAS]
    if label >= keys:
        extras = record_key(P, A, T, y, start, end)
        if extras == 0:
            return 0
    size = G_BITS + P[shape + O_REGISTERS]
    regs = allocate(A, size)
    if regs == 0:
        return 0
    for k in range(size):
        A[regs + k] = A[old + k]
    A[regs + G_COUNT] += 1
    A[regs + G_KEY] = label
    A[regs + G_EXTRAS] = extras
    if label < keys:
        A[regs + G_BITS + (label >> 5)] &= ~(1 << (label & 31))
        A[regs + G_MISSING] -= bit(P, P[shape + O_REQUIRED], label)
    if P[shape + O_RANK] >= 0:
        keep_order(P, A, shape, regs, label)
    if A[regs + G_EXTRA] != 0 and P[P[shape + O_EXTRA] + D_WORDS] >= 0 and extras_used_up(P, A, shape, regs):
        A[regs + G_EXTRA] = 0
    if P[shape + O_MAX] >= 0 and A[regs + G_COUNT] + A[regs + G_MISSING] >= P[shape + O_MAX]:
        # room is left for the required keys only
        A[regs + G_EXTRA] = 0
        for k in range(words):
            A[regs + G_BITS + k] &= P[P[shape + O_REQUIRED] + k]
    return regs


@kernel("P A i i -> b")
def extras_used_up(P, A, shape, regs):
    """Whether every additional key is declared or emitted already (their language is finite)."""
    left, n = P[P[shape + O_EXTRA] + D_WORDS], P[shape + O_KEYS]
    if left > n + A[regs + G_COUNT]:
        return False
    left -= declared_taken(P, P[shape + O_LEXEME], P[shape + O_EXTRA], 0, n, 0, -1, -1)
    entry = A[regs + G_EXTRAS]
    while entry > 0:
        left -= 1
        entry = A[entry + X_NEXT]
    return left <= 0


@kernel("P A i i i -> v")
def keep_order(P, A, shape, regs, label):
    """After the key `label` under a fixed order: allow what may come next, up to the next required key."""
    keys, words = P[shape + O_KEYS], P[shape + O_WORDS]
    for k in range(words):
        A[regs + G_BITS + k] = 0
    place = keys if label >= keys else P[P[shape + O_RANK] + label] + 1
    left = 0
    for r in range(place, keys):
        left += bit(P, P[shape + O_POSSIBLE], P[P[shape + O_BY_RANK] + r])
    open_ = P[shape + O_EXTRA] >= 0
    for r in range(place, keys):
        key = P[P[shape + O_BY_RANK] + r]
        possible = bit(P, P[shape + O_POSSIBLE], key)
        left -= possible
        if possible != 0 and (open_ or A[regs + G_COUNT] + 1 + left >= P[shape + O_MIN]):
            mask = 1 << (key & 31)
            A[regs + G_BITS + (key >> 5)] |= mask - 0x100000000 if mask >= 0x80000000 else mask
        if bit(P, P[shape + O_REQUIRED], key) != 0:
            A[regs + G_EXTRA] = 0
            return
    A[regs + G_EXTRA] = P[shape + O_ALL_LABELS] if open_ else 0
