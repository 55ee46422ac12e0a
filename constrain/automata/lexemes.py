"""Kernels for one lexeme: following its words and its automaton, JSON escapes, and what a key may be.

A lexeme is matched two ways at once: as an interval [LO, HI) of its sorted words that start with the content so far, and
as a state of its automaton. Registers: characters so far (where bounds count them), the escape under way (ESC), and for
keys where their text starts.

ESC packs an escape under way: phase | digits so far << 4 | high surrogate << 20. Phases: 0 none, 1 after the backslash,
2..5 after `\\u` and 0..3 digits, 6 a high surrogate is complete, 7 its second backslash, 8..11 like 2..5 for the low one.
"""

from __future__ import annotations

from ._kernel import kernel
from .layout import (
    A_POS,
    A_STATUS,
    A_TOP,
    CHARS,
    D_CLASSES,
    D_LABEL,
    D_LABELS,
    D_LEAST,
    D_MOST,
    D_NEXT,
    D_WORDS,
    DEPTH,
    ESC,
    G_BITS,
    G_COUNT,
    G_EXTRA,
    G_EXTRAS,
    G_KEY,
    G_MISSING,
    HI,
    L_BYTES,
    L_COUNTED,
    L_MAX,
    L_MIN,
    L_OFFSETS,
    L_SHAPE,
    L_SKIN,
    LO,
    NEED_ARENA,
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
    REMAINDER,
    SKIN_RAW,
    STATE,
    TEXT,
    UNCOUNTED,
    X_BYTES,
    X_DATA,
    X_HASH,
    X_NEXT,
    X_START,
)
from .mixing import load_hash_at, mix, store_hash_at
from .remainders import can_divide, feed_digit, may_end, remainder_of

MAX_CODE = 0x10FFFF


@kernel("P i i -> i")
def packed_byte(array, base, index):
    """Byte `index` of the bytes packed at `base`."""
    return (array[base + (index >> 2)] >> ((index & 3) * 8)) & 255


@kernel("P i i -> i")
def bit(array, base, index):
    return (array[base + (index >> 5)] >> (index & 31)) & 1


@kernel("P i i i -> b")
def any_bit(array, base, lo, hi):
    """Whether one of the bits lo..hi-1 is set."""
    while lo < hi:
        if lo & 31 == 0 and lo + 32 <= hi:
            if array[base + (lo >> 5)] != 0:
                return True
            lo += 32
        else:
            word = (array[base + (lo >> 5)] & 0xFFFFFFFF) >> (lo & 31)
            span = min(hi - lo, 32 - (lo & 31))
            if word & ((1 << span) - 1) != 0:
                return True
            lo += span
    return False


@kernel("A i -> i")
def allocate(A, size):
    """Address of `size` fresh ints in the arena; 0 and a status when it must grow first."""
    address = A[A_TOP]
    if address + size > len(A):
        A[A_STATUS] = NEED_ARENA
        return 0
    A[A_TOP] = address + size
    return address


@kernel("P i i -> i")
def follow(P, state, byte):
    """Target state of the automaton, or -1."""
    if state < 0:
        return -1
    return P[state + D_NEXT + packed_byte(P, P[state + D_CLASSES], byte)]


@kernel("P i i i -> i")
def word_byte(P, node, word, index):
    """Byte `index` of a word, or -1 at its end."""
    offsets = P[node + L_OFFSETS]
    start = P[offsets + word]
    if start + index >= P[offsets + word + 1]:
        return -1
    return packed_byte(P, P[node + L_BYTES], start + index)


@kernel("P i i i i i -> i")
def first_word_from(P, node, lo, hi, depth, byte):
    """First of the words lo..hi-1 (equal in their first `depth` bytes) whose next byte is at least `byte`."""
    while lo < hi:
        middle = (lo + hi) >> 1
        if word_byte(P, node, middle, depth) < byte:
            lo = middle + 1
        else:
            hi = middle
    return lo


@kernel("P A i i -> v")
def narrow(P, A, y, byte):
    """Keep those of the words lo..hi-1 of configuration row `y` that go on with a byte."""
    node, lo, hi, depth = A[y + NODE], A[y + LO], A[y + HI], A[y + DEPTH]
    lo = first_word_from(P, node, lo, hi, depth, byte)
    hi = first_word_from(P, node, lo, hi, depth, byte + 1)
    if lo < hi:
        A[y + LO], A[y + HI], A[y + DEPTH] = lo, hi, depth + 1
    else:
        A[y + LO] = A[y + HI] = A[y + DEPTH] = 0


@kernel("P A i i -> v")
def feed(P, A, y, byte):
    """Advance the lexeme of configuration row `y` by one byte of content, in place; viability is asked afterwards."""
    counted = P[A[y + NODE] + L_COUNTED]
    if A[y + LO] < A[y + HI]:
        narrow(P, A, y, byte)
    if counted == REMAINDER:
        if A[y + STATE] >= 0:
            feed_digit(P, A, y, byte)
    elif counted != UNCOUNTED and byte & 0xC0 != 0x80:
        A[y + CHARS] += 1
    A[y + STATE] = follow(P, A[y + STATE], byte)


@kernel("P A i i -> v")
def feed_code(P, A, y, code):
    """Advance by one code point, as its UTF-8 bytes."""
    if code < 0x80:
        feed(P, A, y, code)
    elif code < 0x800:
        feed(P, A, y, 0xC0 | code >> 6)
        feed(P, A, y, 0x80 | code & 63)
    elif code < 0x10000:
        feed(P, A, y, 0xE0 | code >> 12)
        feed(P, A, y, 0x80 | (code >> 6) & 63)
        feed(P, A, y, 0x80 | code & 63)
    else:
        feed(P, A, y, 0xF0 | code >> 18)
        feed(P, A, y, 0x80 | (code >> 12) & 63)
        feed(P, A, y, 0x80 | (code >> 6) & 63)
        feed(P, A, y, 0x80 | code & 63)


@kernel("P i i i -> b")
def within_bounds(P, node, state, chars):
    """Whether acceptance can be reached from `state` within the bounds on characters."""
    most, upper = P[state + D_MOST], P[node + L_MAX]
    if upper >= 0 and chars + P[state + D_LEAST] > upper:
        return False
    return most < 0 or chars + most >= P[node + L_MIN]


@kernel("P A T i -> b")
def viable(P, A, T, y):
    """Whether some completion of the lexeme exists; a dead automaton part is put to -1."""
    node, state = A[y + NODE], A[y + STATE]
    shape = P[node + L_SHAPE]
    if state >= 0 and P[node + L_COUNTED] == REMAINDER:
        if not can_divide(P, node, state, remainder_of(A, y)):
            state = -1
    elif state >= 0 and P[node + L_COUNTED] != 0 and not within_bounds(P, node, state, A[y + CHARS]):
        state = -1
    if state >= 0 and shape >= 0:
        allowed = P[state + D_LABELS] & A[A[A[y + PARENT] + R_REGS] + G_EXTRA] != 0
        if not allowed or (P[state + D_WORDS] >= 0 and not extra_key_left(P, A, T, y)):
            state = -1
    A[y + STATE] = state
    if state >= 0:
        return True
    if shape < 0:
        return A[y + LO] < A[y + HI]
    return any_bit(A, A[A[y + PARENT] + R_REGS] + G_BITS, A[y + LO], A[y + HI])


@kernel("P A i -> i")
def complete(P, A, y):
    """Label of the content as a whole word, or -1. Declared keys come first, additional ones after them."""
    node, state, lo = A[y + NODE], A[y + STATE], A[y + LO]
    shape = P[node + L_SHAPE]
    if lo < A[y + HI] and word_byte(P, node, lo, A[y + DEPTH]) < 0:
        if shape >= 0:
            return lo if bit(A, A[A[y + PARENT] + R_REGS] + G_BITS, lo) != 0 else -1
        return 0
    if state < 0 or P[state + D_LABEL] < 0:
        return -1
    if P[node + L_COUNTED] == REMAINDER:
        return 0 if may_end(P, node, state, remainder_of(A, y)) else -1
    if P[node + L_COUNTED] != 0:
        chars, upper = A[y + CHARS], P[node + L_MAX]
        if chars < P[node + L_MIN] or (upper >= 0 and chars > upper):
            return -1
    if shape < 0:
        return P[state + D_LABEL]
    if (A[A[A[y + PARENT] + R_REGS] + G_EXTRA] >> P[state + D_LABEL]) & 1 == 0:
        return -1
    return P[shape + O_KEYS] + P[state + D_LABEL]


# JSON escapes --------------------------------------------------------------------------------------------------------


@kernel("i -> i")
def hex_digit(byte):
    """Value of a hexadecimal digit, or -1."""
    if 48 <= byte <= 57:
        return byte - 48
    lower = byte | 32
    return lower - 87 if 97 <= lower <= 102 else -1


@kernel("i -> i")
def short_escape(byte):
    """Code point that a backslash and `byte` spell, or -1."""
    if byte == 34 or byte == 92 or byte == 47:
        return byte
    if byte == 98:
        return 8
    if byte == 102:
        return 12
    if byte == 110:
        return 10
    if byte == 114:
        return 13
    return 9 if byte == 116 else -1


@kernel("i i -> ii")
def escape_step(esc, byte):
    """(escape under way, code point): after one more byte of an escape. Code point -1: not complete; escape -1: wrong."""
    phase = esc & 15
    if phase == 1:
        if byte == 117:
            return 2, -1
        code = short_escape(byte)
        return (0, code) if code >= 0 else (-1, -1)
    if phase == 6:
        return ((esc & ~15) | 7, -1) if byte == 92 else (-1, -1)
    if phase == 7:
        return ((esc & ~15) | 8, -1) if byte == 117 else (-1, -1)
    digit = hex_digit(byte)
    if digit < 0:
        return -1, -1
    high = (esc >> 20) & 0x3FF
    value = ((esc >> 4) & 0xFFF) << 4 | digit
    if phase == 5:
        if 0xDC00 <= value <= 0xDFFF:
            return -1, -1
        if 0xD800 <= value <= 0xDBFF:
            return 6 | (value & 0x3FF) << 20, -1
        return 0, value
    if phase == 11:
        if not 0xDC00 <= value <= 0xDFFF:
            return -1, -1
        return 0, 0x10000 + (high << 10) + (value & 0x3FF)
    return (phase + 1) | value << 4 | high << 20, -1


@kernel("P A T i -> b")
def escape_viable(P, A, T, y):
    """Whether the escape under way in row `y` can end in a character that the lexeme can go on with."""
    esc = A[y + ESC]
    phase = esc & 15
    high = (esc >> 20) & 0x3FF
    if phase == 1:
        return some_char(P, A, T, y, 0, MAX_CODE)
    if phase == 6 or phase == 7:
        return some_char(P, A, T, y, 0x10000 + (high << 10), 0x103FF + (high << 10))
    digits = phase - 2 if phase < 8 else phase - 8
    shift = 4 * (4 - digits)
    value = (esc >> 4) & 0xFFF
    first = value << shift
    last = first + (1 << shift) - 1
    if phase >= 8:
        first, last = max(first, 0xDC00), min(last, 0xDFFF)
        base = 0x10000 + (high << 10) - 0xDC00
        return first <= last and some_char(P, A, T, y, base + first, base + last)
    if some_char(P, A, T, y, first, min(last, 0xD7FF)) or some_char(P, A, T, y, max(first, 0xE000), last):
        return True
    first, last = max(first, 0xD800), min(last, 0xDBFF)
    return first <= last and some_char(
        P, A, T, y, 0x10000 + ((first - 0xD800) << 10), 0x103FF + ((last - 0xD800) << 10)
    )


@kernel("P A T i i i -> b")
def some_char(P, A, T, y, first, last):
    """Whether the lexeme can go on with some character in first..last."""
    if first > last:
        return False
    node, state = A[y + NODE], A[y + STATE]
    shape = P[node + L_SHAPE]
    if state >= 0 and some_char_of_dfa(P, node, state, A[y + CHARS] + 1, first, last):
        # additional keys may be used up: then the characters are tried one by one
        if shape < 0:
            return True
        if P[state + D_WORDS] < 0 and A[A[A[y + PARENT] + R_REGS] + G_EXTRA] == P[shape + O_ALL_LABELS]:
            return True
        if some_additional_key(P, A, T, y, first, last):
            return True
    depth = A[y + DEPTH]
    for word in range(A[y + LO], A[y + HI]):
        code = code_at(P, node, word, depth)
        if first <= code <= last and (shape < 0 or bit(A, A[A[y + PARENT] + R_REGS] + G_BITS, word) != 0):
            return True
    return False


@kernel("P i i i -> i")
def code_at(P, node, word, index):
    """Code point that starts at byte `index` of a word; -1 at the end of the word or inside a character."""
    lead = word_byte(P, node, word, index)
    if lead < 0x80:
        return lead
    if lead < 0xC0:
        return -1
    if lead < 0xE0:
        return (lead & 31) << 6 | word_byte(P, node, word, index + 1) & 63
    second, third = word_byte(P, node, word, index + 1) & 63, word_byte(P, node, word, index + 2) & 63
    if lead < 0xF0:
        return (lead & 15) << 12 | second << 6 | third
    return (lead & 7) << 18 | second << 12 | third << 6 | word_byte(P, node, word, index + 3) & 63


@kernel("P i i i i i -> b")
def some_char_of_dfa(P, node, state, chars, first, last):
    """Whether the automaton can read some character in first..last and then still reach acceptance within the bounds."""
    if P[node + L_COUNTED] != 0 and P[node + L_MAX] >= 0 and chars > P[node + L_MAX]:
        return False
    for code in range(first, min(last, 0x7F) + 1):
        if bounded(P, node, follow(P, state, code), chars):
            return True
    return (
        some_in_block(P, node, state, chars, 0xC0, 6, max(first, 0x80), min(last, 0x7FF))
        or some_in_block(P, node, state, chars, 0xE0, 12, max(first, 0x800), min(last, 0xD7FF))
        or some_in_block(P, node, state, chars, 0xE0, 12, max(first, 0xE000), min(last, 0xFFFF))
        or some_in_block(P, node, state, chars, 0xF0, 18, max(first, 0x10000), last)
    )


@kernel("P i i i -> b")
def bounded(P, node, state, chars):
    """Whether `state` is alive and within the bounds on characters, where these count."""
    return state >= 0 and (P[node + L_COUNTED] == 0 or within_bounds(P, node, state, chars))


@kernel("P i i i i i i i -> b")
def some_in_block(P, node, state, chars, lead, shift, first, last):
    """The same for the characters in first..last whose UTF-8 starts with a byte from `lead` on and has shift / 6 more.

    A block of characters behind one byte is looked at once for each state that it starts in; neighbours mostly share it.
    """
    code, previous = first, -2
    while code <= last:
        end = code | ((1 << shift) - 1)
        target = follow(P, state, lead | code >> shift)
        if target >= 0 and (target != previous or end > last):
            if shift == 6:
                if some_tail(P, node, target, chars, code, min(end, last)):
                    return True
            else:
                inner, inner_previous = code, -2
                while inner <= min(end, last):
                    inner_end = inner | ((1 << (shift - 6)) - 1)
                    below = follow(P, target, 0x80 | (inner >> (shift - 6)) & 63)
                    if below >= 0 and (below != inner_previous or inner_end > last):
                        if shift == 12:
                            if some_tail(P, node, below, chars, inner, min(inner_end, last)):
                                return True
                        else:
                            deep, deep_previous = inner, -2
                            while deep <= min(inner_end, last):
                                third = follow(P, below, 0x80 | (deep >> 6) & 63)
                                if third >= 0 and (third != deep_previous or (deep | 63) > last):
                                    if some_tail(P, node, third, chars, deep, min(deep | 63, last)):
                                        return True
                                deep_previous = third if deep & 63 == 0 else -2
                                deep = (deep | 63) + 1
                    inner_previous = below if inner & ((1 << (shift - 6)) - 1) == 0 else -2
                    inner = inner_end + 1
        previous = target if code & ((1 << shift) - 1) == 0 else -2
        code = end + 1
    return False


@kernel("P i i i i i -> b")
def some_tail(P, node, state, chars, first, last):
    """The same for the last byte of the characters first..last, which share the bytes before it."""
    for code in range(first, last + 1):
        if bounded(P, node, follow(P, state, 0x80 | code & 63), chars):
            return True
    return False


# Keys ----------------------------------------------------------------------------------------------------------------


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
            left = P[target + D_WORDS]
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


@kernel("P A T i -> b")
def extra_key_left(P, A, T, y):
    """Whether an additional key that starts with the content is neither declared nor emitted yet."""
    left = P[A[y + STATE] + D_WORDS]
    if left > A[y + HI] - A[y + LO] + A[A[A[y + PARENT] + R_REGS] + G_COUNT]:
        return True
    return left > words_taken(P, A, T, y, -1)


@kernel("P A T i i -> i")
def words_taken(P, A, T, y, code):
    """Words of the additional keys' automaton that start with the content of row `y` (and then `code`, unless -1) and are
    declared or emitted already."""
    regs = A[A[y + PARENT] + R_REGS]
    taken = declared_taken(P, A[y + NODE], A[y + STATE], A[y + LO], A[y + HI], A[y + DEPTH], code)
    entry = A[regs + G_EXTRAS]
    while entry > 0:
        taken += 1 if starts_with(A, entry, T, A[y + TEXT], A[A_POS] + 1, code, P[A[y + NODE] + L_SKIN]) else 0
        entry = A[entry + X_NEXT]
    return taken


@kernel("P i i i i i i -> i")
def declared_taken(P, node, start, lo, hi, depth, code):
    """Declared keys among lo..hi-1 whose rest after `depth` bytes the automaton accepts from `start`."""
    taken = 0
    for word in range(lo, hi):
        if code < 0 or code_at(P, node, word, depth) == code:
            state, index = start, depth
            byte = word_byte(P, node, word, index)
            while byte >= 0:
                state = follow(P, state, byte)
                index += 1
                byte = word_byte(P, node, word, index)
            taken += 1 if state >= 0 and P[state + D_LABEL] >= 0 else 0
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


@kernel("T i i i -> ii")
def decode(T, position, end, skin):
    """(char, next position) of the content of a raw or JSON string: a raw byte as 0x40000000 | byte, an escape as its code point, -1 for
    an escape that does not end before `end`."""
    byte = int(T[position])
    if byte != 92 or skin == SKIN_RAW:
        return 0x40000000 | byte, position + 1
    esc, position = 1, position + 1
    while position < end:
        esc, code = escape_step(esc, int(T[position]))
        position += 1
        if code >= 0:
            return code, position
    return -1, position


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
    left -= declared_taken(P, P[shape + O_LEXEME], P[shape + O_EXTRA], 0, n, 0, -1)
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
