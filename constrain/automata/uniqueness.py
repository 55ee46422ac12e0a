"""Kernels for arrays without equal items (`ArrayShape.unique`): which readings can still end in an item unlike all
others.

Items are compared as values: escapes decoded, 1 = 1.0, members in any order. The frame of such an array remembers where
its items begin in the text; of each value a hash is kept. An equal hash is only a hint, and so is every doubt about
what can follow: quick rules settle nearly all cases, and what they leave open is asked of the interpreter
(NEED_VERDICT), with the text of the array as the question. Its answers are kept in a table of the matcher under a hash
of that text.
"""

from __future__ import annotations

from ._kernel import kernel
from .hashes import mix
from .layout import (
    A_ASKED,
    A_OUT,
    A_POS,
    A_STATUS,
    A_TOP,
    A_UNIQUE,
    A_VERDICTS,
    C_SIZE,
    CHARS,
    CW,
    D_EVERYTHING,
    D_MOST,
    D_WORDS,
    DONE,
    F_SHAPE,
    F_SHAPE_KIND,
    G_BITS,
    G_EXTRA,
    GUARD_MORE,
    K_LEXEME,
    L_FINITE,
    L_MAX,
    L_SKIN,
    NEED_VERDICT,
    NODE,
    O_DIAGRAM,
    O_ENDLESS,
    O_EXTRA,
    O_KEYS,
    O_MAX,
    PARENT,
    R_NODE,
    R_PARENT,
    R_REGS,
    R_UNIQUE,
    REGS,
    S_GUARD,
    SHAPE_ARRAY,
    SHAPE_OBJECT,
    SKIN_JSON,
    STATE,
    U_ITEM,
    U_ITEMS,
    U_OPEN,
    U_SIZE,
    V_HASH,
    V_NEXT,
    V_SIZE,
    V_START,
    Y_ENDLESS,
    Y_MAX,
    Y_REST,
    Y_UNIQUE,
)
from .lexemes import allocate, bit, decode
from .views import view_i64

EQUAL = -1  # asked in place of a node
SEED, NUMBER, STRING, OBJECT, ARRAY = 0x2545F491, 11, 12, 13, 14
HUGE = 1 << 39
MANY = 4  # characters that a free string may still get: more strings than an array has items


# Hashes of values ----------------------------------------------------------------------------------------------------


@kernel("T i i -> i")
def after_blanks(T, at, end):
    while at < end and (T[at] == 32 or T[at] == 10 or T[at] == 13 or T[at] == 9):
        at += 1
    return at


@kernel("T i i -> ii")
def string_hash(T, at, end):
    """(hash, position after it) of the JSON string that begins at `at`; position -1: it does not end before `end`."""
    h, at = STRING, at + 1
    while at < end:
        if T[at] == 34:
            return mix(SEED, h), at + 1
        char, at = decode(T, at, end, SKIN_JSON)
        if char < 0:
            break
        if char & 0x40000000:
            h = mix(h, char & 255)
        elif char < 0x80:
            h = mix(h, char)
        else:
            n = 2 if char < 0x800 else 3 if char < 0x10000 else 4
            h = mix(h, (0xF00 >> n) & 0xFF | char >> (6 * (n - 1)))
            for j in range(1, n):
                h = mix(h, 0x80 | (char >> (6 * (n - 1 - j))) & 63)
    return 0, -1


@kernel("T i i -> ii")
def scalar_hash(T, at, end):
    """The same for a literal or a number, which end where a delimiter follows or, whole, at `end`."""
    stop = at
    while stop < end and T[stop] != 44 and T[stop] != 93 and T[stop] != 125 and T[stop] > 32:
        stop += 1
    if T[at] >= 97:
        return mix(SEED, T[at] | 0), stop
    # the value is sign 0.d1 d2 ... dn * 10 ** point, without zeros at either end
    first, last, point, seen, fraction, k = -1, -1, 0, 0, False, at
    while k < stop and T[k] | 32 != 101:
        if T[k] == 46:
            fraction = True
        elif T[k] != 45:
            seen += 1
            if T[k] != 48:
                if first < 0:
                    first = seen
                last = seen
            if not fraction:
                point += 1
        k += 1
    if first < 0:
        return mix(SEED, NUMBER), stop
    exponent, negative = 0, False
    for j in range(k + 1, stop):
        if T[j] == 45:
            negative = True
        elif T[j] != 43:
            exponent = min(exponent * 10 + T[j] - 48, 1 << 40)
    place = point - first + (-exponent if negative else exponent)
    if place > HUGE or place < -HUGE:
        place = HUGE  # not exact any more: such numbers have few hashes, and are asked about
    h = mix(NUMBER, place)
    h = mix(h, 1 if T[at] == 45 else 0)
    seen = 0
    for j in range(at, k):
        if T[j] != 45 and T[j] != 46:
            seen += 1
            if first <= seen <= last:
                h = mix(h, T[j] | 0)
    return mix(SEED, h), stop


@kernel("A T i i -> ii")
def value_hash(A, T, at, end):
    """(hash, position after it) of the JSON value that begins at `at`; position -1: it does not end before `end`, or
    the arena must grow. Open containers are kept above the arena's top: kind, hash so far, hash of the key.
    """
    top, level = A[A_TOP], A[A_TOP]
    h = 0
    while at < end:
        at = after_blanks(T, at, end)
        if at >= end:
            break
        byte = T[at] | 0
        if byte == 44 or byte == 58:
            at += 1
            continue
        if byte == 123 or byte == 91:
            if level + C_SIZE > len(A):
                allocate(A, len(A))
                return 0, -1
            A[level] = OBJECT if byte == 123 else ARRAY
            set_wide(A, level + 1, SEED)
            set_wide(A, level + 3, 0)
            level += C_SIZE
            at += 1
            continue
        if byte == 125 or byte == 93:
            level -= C_SIZE
            h, at = mix(wide(A, level + 1), A[level]), at + 1
        elif byte == 34:
            h, at = string_hash(T, at, end)
            if at < 0:
                return 0, -1
            if level > top and A[level - C_SIZE] == OBJECT and wide(A, level - C_SIZE + 3) == 0:
                set_wide(A, level - C_SIZE + 3, h | 1)
                continue
        else:
            h, at = scalar_hash(T, at, end)
        if level == top:
            return h, at
        here = level - C_SIZE
        if A[here] == ARRAY:
            set_wide(A, here + 1, mix(wide(A, here + 1), h))
        else:
            # members in any order
            set_wide(A, here + 1, (wide(A, here + 1) + mix(wide(A, here + 3), h)) & 0x3FFFFFFFFFFFFFFF)
            set_wide(A, here + 3, 0)
    return 0, -1


@kernel("A i -> i")
def wide(A, at):
    """A number of 62 bits kept in two ints."""
    return A[at] | (A[at + 1] << 31)


@kernel("A i i -> v")
def set_wide(A, at, value):
    A[at] = value & 0x7FFFFFFF
    A[at + 1] = value >> 31


# Items ---------------------------------------------------------------------------------------------------------------


@kernel("A T i -> i")
def next_item(A, T, old):
    """Registers of a unique array whose next item begins at the current position; 0 when the arena must grow."""
    items = A[old + U_ITEMS]
    if A[old] > 0:
        h, _ = value_hash(A, T, A[old + U_ITEM], A[A_POS])
        entry = allocate(A, V_SIZE)
        if entry == 0:
            return 0
        A[entry + V_NEXT], A[entry + V_START] = items, A[old + U_ITEM]
        set_wide(A, entry + V_HASH, h)
        items = entry
    regs = allocate(A, U_SIZE)
    if regs == 0:
        return 0
    A[regs], A[regs + U_ITEM], A[regs + U_ITEMS], A[regs + U_OPEN] = A[old] + 1, A[A_POS], items, A[old + U_OPEN]
    return regs


@kernel("A T i i -> b")
def may_return(A, T, regs, end):
    """Whether the item of a unique array that ends before text position `end` is unlike all earlier ones."""
    entry = A[regs + U_ITEMS]
    if entry == 0:
        return True
    h, at = value_hash(A, T, A[regs + U_ITEM], end)
    if at < 0:
        return False  # the arena must grow
    while entry != 0:
        if wide(A, entry + V_HASH) == h:
            return verdict(A, T, EQUAL, regs, end)
        entry = A[entry + V_NEXT]
    return True


@kernel("A T i i i -> b")
def verdict(A, T, node, regs, end):
    """What the interpreter says of the array's text up to `end`: whether it can go on, or with EQUAL as the node,
    whether its last item is unlike the others. True and a status where it was not asked.
    """
    h = mix(SEED, node)
    for k in range(A[regs + U_OPEN], end):
        h = mix(h, T[k] | 0)
    h |= 1
    size = A[A_VERDICTS + 2]
    table = view_i64(wide(A, A_VERDICTS), size)
    slot = 2 * h & (size - 1)
    while table[slot] != 0:
        if table[slot] == h:
            return table[slot + 1] != 0
        slot = slot + 2 & (size - 1)
    A[A_STATUS] = NEED_VERDICT
    A[A_ASKED], A[A_ASKED + 1], A[A_ASKED + 2] = node, A[regs + U_OPEN], end
    set_wide(A, A_ASKED + 3, h)
    return True


# Readings ------------------------------------------------------------------------------------------------------------


@kernel("P A C T i -> b")
def can_differ(P, A, C, T, row):
    """Whether a configuration can go on such that every item under way ends unlike the earlier items of its array."""
    node = C[row + NODE]
    if node == DONE:
        return True
    if P[node] != K_LEXEME and P[node + F_SHAPE_KIND] == SHAPE_ARRAY:
        shape, regs = P[node + F_SHAPE], C[row + REGS]
        if P[shape + Y_UNIQUE] != 0 and P[C[row + STATE] + S_GUARD] == GUARD_MORE:
            # after a comma: another item must exist
            if P[shape + Y_ENDLESS] == 0:
                end = A[A_POS] + 1
                while T[end - 1] != 44:
                    end -= 1  # blanks after the comma change nothing
                if not verdict(A, T, node, regs, end):
                    return False
    parent = C[row + PARENT]
    frame = A[parent + R_UNIQUE] if parent >= 0 else 0
    while frame != 0:
        regs = A[frame + R_REGS]
        if A[regs + U_ITEMS] != 0 and not endless_until(P, A, C, T, row, frame) and some_alike(A, T, regs):
            if not verdict(A, T, A[frame + R_NODE], regs, A[A_POS] + 1):
                return False
        above = A[frame + R_PARENT]
        frame = A[above + R_UNIQUE] if above >= 0 else 0
    return True


@kernel("P A C T i -> b")
def in_doubt(P, A, C, T, row):
    """Whether what a configuration reads may decide whether an item can end unlike earlier ones: no frame around it,
    inside the item, can go on for ever, and so far the item is like an earlier one.
    """
    start = C[row + PARENT]
    frame = A[start + R_UNIQUE] if start >= 0 else 0
    while frame != 0:
        if A[A[frame + R_REGS] + U_ITEMS] != 0:
            here, sure = start, False
            while here != frame and not sure:
                sure = endless_frame(P, A, A[here + R_NODE], A[here + R_REGS])
                here = A[here + R_PARENT]
            if not sure:
                A[A_POS] -= 1  # nothing is read yet at the current position
                alike = some_alike(A, T, A[frame + R_REGS])
                A[A_POS] += 1
                if alike:
                    return True
        above = A[frame + R_PARENT]
        frame = A[above + R_UNIQUE] if above >= 0 else 0
    return False


@kernel("A T -> b")
def is_zero(A, T):
    """Whether the number that the text ends in is zero whatever follows: the exponent of a mantissa of zeros."""
    at, exponent = A[A_POS], False
    while at >= 0:
        byte = T[at] | 32
        if byte == 101 and not exponent:
            exponent = True
        elif 49 <= byte <= 57 and exponent:
            return False
        elif not (48 <= byte <= 57) and T[at] != 43 and T[at] != 45 and T[at] != 46:
            break
        at -= 1
    return exponent


@kernel("P A C T i i -> b")
def endless_until(P, A, C, T, row, frame):
    """Whether the item under way in the unique array at arena row `frame` surely has infinitely many values to become.
    """
    node, state = C[row + NODE], C[row + STATE]
    if P[node] == K_LEXEME:
        if state >= 0:
            most = P[node + L_MAX]
            if most < 0 and P[state + D_MOST] < 0 and P[node + L_FINITE] == 0:
                if P[node + L_SKIN] == SKIN_JSON or not is_zero(A, T):
                    return True
            if most >= 0 and P[state + D_WORDS] == D_EVERYTHING and most - C[row + CHARS] >= MANY:
                return True
    elif endless_frame(P, A, node, C[row + REGS]):
        return True
    here = C[row + PARENT]
    while here != frame:
        if endless_frame(P, A, A[here + R_NODE], A[here + R_REGS]):
            return True
        here = A[here + R_PARENT]
    return False


@kernel("P A i i -> b")
def endless_frame(P, A, node, regs):
    """Whether infinitely many members or items, or values of one, can still follow in a frame."""
    kind, shape = P[node + F_SHAPE_KIND], P[node + F_SHAPE]
    if kind == SHAPE_ARRAY:
        return P[shape + Y_MAX] < 0 and P[shape + Y_REST] >= 0 and P[shape + Y_UNIQUE] == 0
    if kind != SHAPE_OBJECT:
        return False
    extra = P[shape + O_EXTRA]
    if extra >= 0 and P[shape + O_MAX] < 0 and P[extra + D_MOST] < 0:
        if P[shape + O_DIAGRAM] < 0 or A[regs + G_EXTRA] != 0:
            return True
    for key in range(P[shape + O_KEYS]):
        if bit(P, P[shape + O_ENDLESS], key) != 0 and bit(A, regs + G_BITS, key) != 0:
            return True
    return False


@kernel("A T i -> b")
def some_alike(A, T, regs):
    """Whether the part of an item up to the current position may become equal to an earlier item, as far as its
    complete members or items tell.
    """
    entry, end = A[regs + U_ITEMS], A[A_POS] + 1
    while entry != 0:
        if alike_so_far(A, T, A[regs + U_ITEM], end, A[entry + V_START]):
            return True
        entry = A[entry + V_NEXT]
    return False


@kernel("A T i i i -> b")
def alike_so_far(A, T, part, end, whole):
    opening = T[part] | 0
    if opening == 34:
        return T[whole] == 34 and spelled_alike(T, part + 1, end, whole + 1)
    if opening != 123 and opening != 91:
        return T[whole] != 123 and T[whole] != 91 and T[whole] != 34
    if T[whole] != opening:
        return False
    at, other = part + 1, whole + 1
    while True:
        at = after_separators(T, at, end)
        other = after_separators(T, other, end)
        if at >= end:
            return True
        if opening == 91:
            h, at = value_hash(A, T, at, end)
            if at < 0 or at >= end:
                return True
            if T[other] == 93:
                return False
            same, other = value_hash(A, T, other, end)
            if same != h:
                return False
            continue
        key, at = string_hash(T, at, end)
        if at < 0:
            return True
        at = after_separators(T, at, end)
        if at >= end:
            return True
        h, at = value_hash(A, T, at, end)
        if at < 0 or at >= end:
            return True
        found, other = False, whole + 1
        while not found:
            other = after_separators(T, other, end)
            if T[other] == 125:
                return False
            its_key, other = string_hash(T, other, end)
            its_value, other = value_hash(A, T, after_separators(T, other, end), end)
            found = its_key == key and its_value == h


@kernel("T i i i -> b")
def spelled_alike(T, part, end, whole):
    """Whether the string that is written from `part` up to `end` is the beginning of the one that is written from
    `whole`.
    """
    one, other = 0, 0  # code points whose bytes are compared, and how many of these are done
    done, met = 0, 0
    while True:
        if done == 0:
            if part >= end or T[part] == 34:
                return part >= end or (T[whole] == 34 and met == 0)
            one, part = decode(T, part, end, SKIN_JSON)
            if one < 0:
                return True  # an escape that is not complete
        if met == 0:
            if T[whole] == 34:
                return False
            other, whole = decode(T, whole, end, SKIN_JSON)
        if utf8_byte(one, done) != utf8_byte(other, met):
            return False
        done = 0 if done + 1 >= utf8_size(one) else done + 1
        met = 0 if met + 1 >= utf8_size(other) else met + 1


@kernel("i -> i")
def utf8_size(char):
    """Bytes of what `decode` gives: a raw byte or a code point."""
    if char & 0x40000000 or char < 0x80:
        return 1
    return 2 if char < 0x800 else 3 if char < 0x10000 else 4


@kernel("i i -> i")
def utf8_byte(char, k):
    n = utf8_size(char)
    if n == 1:
        return char & 255
    if k == 0:
        return (0xF00 >> n) & 0xFF | char >> (6 * (n - 1))
    return 0x80 | (char >> (6 * (n - 1 - k))) & 63


@kernel("T i i -> i")
def after_separators(T, at, end):
    at = after_blanks(T, at, end)
    while at < end and (T[at] == 44 or T[at] == 58):
        at = after_blanks(T, at + 1, end)
    return at


@kernel("P A C T i -> v")
def keep_distinct(P, A, C, T, first):
    """Drop the configurations from number `first` on that cannot end in items unlike the earlier ones."""
    if A[A_UNIQUE] == 0:
        return
    kept = first
    for c in range(first, A[A_OUT]):
        if can_differ(P, A, C, T, c * CW):
            if kept != c:
                for k in range(CW):
                    C[kept * CW + k] = C[c * CW + k]
            kept += 1
    A[A_OUT] = kept
