"""Kernels that read the escapes of JSON strings (RFC 8259 section 7).

ESC packs an escape under way: phase | digits so far << 4 | high surrogate << 20. Phases: 0 none, 1 after the backslash,
2..5 after `\\u` and 0..3 digits, 6 a high surrogate is complete, 7 its second backslash, 8..11 like 2..5 for the low one.
"""

from __future__ import annotations

from ._kernel import kernel
from .layout import (
    SKIN_RAW,
)


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
