"""Gemma's arguments, {key:value,key:value} with bare keys and strings between quote tokens, read as JSON."""

from __future__ import annotations

from collections.abc import Callable

from ..wires.markers import KeyValueBody
from .cursor import BLANKS, Cursor, Malformed, Reading
from .json_text import WHOLE_SCALAR, escaped, quoted, read_word

__all__ = ["read_key_values"]

_CLOSES = {"{": "}", "[": "]"}


def read_key_values(cursor: Cursor, body: KeyValueBody, quote: str, out: Callable[[str], None]) -> Reading:
    """Read an object and pass it on as JSON text. quote: the quote token as symbols.

    Whitespace between parts is skipped. Malformed where it is none. Depth costs memory only: the stack is a list.
    """
    stack: list[str] = []
    if (yield from cursor.blanks()) != "{":
        raise Malformed
    while True:
        symbol = yield from cursor.blanks()
        if symbol in ("{", "["):
            out(cursor.take(1))
            stack.append(symbol)
            if (yield from cursor.blanks()) != _CLOSES[symbol]:
                if symbol == "{":
                    yield from _read_key(cursor, quote, out)
                continue
        elif symbol == quote[0]:
            yield from cursor.expect(quote)
            out('"')
            yield from cursor.copy_until(quote, lambda part: out(escaped(cursor.spell(part))))
            out('"')
        else:
            yield from _read_scalar(cursor, body, out)
        while True:  # a value has ended
            separator = yield from cursor.blanks()
            if separator not in (",", _CLOSES[stack[-1]]):
                raise Malformed
            cursor.take(1)
            out(", " if separator == "," else separator)
            if separator == ",":
                break
            stack.pop()
            if not stack:
                return
        if stack[-1] == "{":
            yield from _read_key(cursor, quote, out)


def _read_key(cursor: Cursor, quote: str, out: Callable[[str], None]) -> Reading:
    """A key is bare; one between quotes is read too, because some models write the declaration's notation."""
    symbol = yield from cursor.blanks()
    parts: list[str] = []
    if symbol == quote[0]:
        yield from cursor.expect(quote)
        yield from cursor.copy_until(quote, parts.append)
        yield from cursor.blanks()
        yield from cursor.expect(":")
    else:
        yield from _until_colon(cursor, parts)
    key = cursor.spell("".join(parts).rstrip(BLANKS))
    if not key:
        raise Malformed
    out(quoted(key) + ": ")


def _until_colon(cursor: Cursor, parts: list[str]) -> Reading:
    while (symbol := (yield from cursor.peek())) != ":":
        if not symbol or symbol in "}\n":
            raise Malformed
        parts.append(cursor.take(1))
    cursor.take(1)


def _read_scalar(cursor: Cursor, body: KeyValueBody, out: Callable[[str], None]) -> Reading:
    text = yield from read_word(cursor)
    if text in body.nulls:
        text = "null"
    if not WHOLE_SCALAR.fullmatch(text):
        raise Malformed
    out(text)
