"""Kernels on JSON values in the text: hashes by which items are compared, and whether a value that is not complete may
become equal to another.

Equal values have equal hashes, whatever their spelling: escapes decoded, 1 = 1.0, members in any order.
"""

from __future__ import annotations

from ._kernel import kernel
from .cells import allocate
from .escapes import decode
from .layout import (
    A_TOP,
    C_SIZE,
    SKIN_JSON,
)
from .mixing import mix

SEED, NUMBER, STRING, OBJECT, ARRAY = 0x2545F491, 11, 12, 13, 14
HUGE = 1 << 39


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
    return int(A[at]) | (int(A[at + 1]) << 31)


@kernel("A i i -> v")
def set_wide(A, at, value):
    A[at] = value & 0x7FFFFFFF
    A[at + 1] = value >> 31


# Values that are not complete -----------------------------------------------------------------------------------------


@kernel("A T i i i -> b")
def alike_so_far(A, T, part, end, whole):
    """Whether the value that is written from `part` up to `end`, perhaps not all of it, may become equal to the one
    that is written from `whole`.
    """
    while True:
        opening = T[part] | 0
        if opening == 34:
            return T[whole] == 34 and spelled_alike(T, part + 1, end, whole + 1)
        if opening != 123 and opening != 91:
            return scalars_alike(T, part, end, whole)
        if T[whole] != opening:
            return False
        # the part that is not complete, and what is in its place
        if opening == 91:
            part, whole = open_item(A, T, part, end, whole)
        else:
            part, whole = open_member(A, T, part, end, whole)
        if part < 0:
            return whole != 0


@kernel("A T i i i -> ii")
def open_item(A, T, part, end, whole):
    """(start of the last item of an array that is not complete, start of the item in its place); or -1 and whether the
    arrays are alike.
    """
    at, other = part + 1, whole + 1
    while True:
        at, other = after_separators(T, at, end), after_separators(T, other, end)
        if at >= end:
            return -1, 1
        if T[at] == 93 or T[other] == 93:
            return -1, 1 if T[at] == T[other] else 0
        h, after = value_hash(A, T, at, end)
        if after < 0 or (after >= end and T[end - 1] != 34 and T[end - 1] != 93 and T[end - 1] != 125):
            return at, other
        same, other = value_hash(A, T, other, end)
        if same != h:
            return -1, 0
        at = after


@kernel("A T i i i -> ii")
def open_member(A, T, part, end, whole):
    """The same for the value of the last member of an object; or -1 and whether the objects are alike."""
    at = part + 1
    while True:
        at = after_separators(T, at, end)
        if at >= end or T[at] == 125:
            return -1, 1
        key, after = string_hash(T, at, end)
        value = after_separators(T, after, end) if after >= 0 else end
        h, whole_value = 0, -1
        if value < end:
            h, whole_value = value_hash(A, T, value, end)
        complete = whole_value >= 0 and (
            whole_value < end or T[end - 1] == 34 or T[end - 1] == 93 or T[end - 1] == 125
        )
        found, other = -1, whole + 1
        while found < 0:
            other = after_separators(T, other, end)
            if T[other] == 125:
                return -1, 0
            its_key, its_end = string_hash(T, other, end)
            its_value = after_separators(T, its_end, end)
            if after < 0 and spelled_alike(T, at + 1, end, other + 1):
                return -1, 1
            its_hash, its_end = value_hash(A, T, its_value, end)
            if after >= 0 and its_key == key and (not complete or its_hash == h):
                found = its_value
            other = its_end
        if value >= end:
            return -1, 1
        if not complete:
            return value, found
        at = whole_value


@kernel("T i i i -> b")
def scalars_alike(T, part, end, whole):
    """Whether a literal or a number that is written from `part` up to `end` may become equal to the value that is
    written from `whole`: the digits that count must agree as far as they are written.
    """
    if T[part] >= 97 or T[whole] >= 97:
        return T[part] == T[whole]  # literals differ in their first letter
    if T[whole] == 34 or T[whole] > 57:
        return False
    at, other, negative = part, whole, False
    if T[part] == 45:
        at, negative = part + 1, True
    if T[whole] == 45:
        other += 1
    at, other = significant(T, at, end, True), significant(T, other, HUGE, True)
    if at >= end:
        return not negative or T[whole] == 45 or not 48 < T[other] < 58
    if not 48 < T[at] < 58:
        return not 48 < T[other] < 58  # zero, in whatever form
    if negative != (T[whole] == 45):
        return False
    while at < end and 48 <= T[at] < 58:
        digit = T[other] | 0 if 48 <= T[other] < 58 else 48
        if T[at] != digit:
            return False
        if 48 <= T[other] < 58:
            other = significant(T, other + 1, HUGE, False)
        at = significant(T, at + 1, end, False)
    return True


@kernel("T i i b -> i")
def significant(T, at, end, first):
    """The place of the next digit of a number that counts, the first one of it or any; or what follows its digits."""
    while at < end and (T[at] == 46 or (first and T[at] == 48)):
        at += 1
    return at


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
