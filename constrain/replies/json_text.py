"""JSON that arrives in pieces (RFC 8259): checked symbol by symbol, passed on as it is."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from math import isinf
from typing import Any

from ..wires.markers import Envelope
from .cursor import BLANKS, Cursor, Malformed, Reading

__all__ = ["WHOLE_SCALAR", "as_object", "as_value", "escaped", "quoted", "read_envelope", "read_object", "read_word"]

_PLAIN = re.compile(r'[^"\\\x00-\x1f]*')
_ESCAPE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4})')
_PART_OF_ESCAPE = re.compile(r"\\(?:u[0-9A-Fa-f]{0,4})?")
_SCALAR = re.compile(r"[-+.0-9A-Za-z]*")
WHOLE_SCALAR = re.compile(r"true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")

_EXTENDED = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])
"""Every number that Decimal can hold; larger ones are its infinity."""


def _nothing(_: str) -> None:
    pass


def read_object(cursor: Cursor, out: Callable[[str], None]) -> Reading:
    """Read one JSON object and pass its text on, without whitespace before it. Malformed where it is none."""
    if (yield from cursor.blanks()) != "{":
        raise Malformed
    yield from _read_value(cursor, out)


def read_envelope(
    cursor: Cursor,
    envelope: Envelope,
    named: Callable[[str], None],
    identified: Callable[[str], None],
    arguments: Callable[[str], None],
    strict: bool,
) -> Reading:
    """Read an object that holds a call. Its members come in any order; of a repeated one the first counts.

    named, identified: called with the call's name and id. arguments: called with pieces of the arguments' JSON text.
    strict: a member that no envelope has is Malformed, so that other JSON is told apart early.
    """
    if (yield from cursor.blanks()) != "{":
        raise Malformed
    cursor.take(1)
    missing = {"name", "arguments"}
    separator: str | None = ","
    while separator == ",":
        yield from cursor.blanks()
        key = yield from _read_string(cursor)
        yield from cursor.blanks()
        yield from cursor.expect(":")
        start = yield from cursor.blanks()
        if key == envelope.name and "name" in missing:
            named((yield from _read_string(cursor)))
            missing.discard("name")
        elif key in envelope.arguments and "arguments" in missing:
            yield from read_object(cursor, arguments)
            missing.discard("arguments")
        elif key in envelope.ids and start == '"':
            identified((yield from _read_string(cursor)))
        elif strict and key not in ("type", *envelope.ids):
            raise Malformed
        else:
            yield from _read_value(cursor, _nothing)
        yield from cursor.blanks()
        separator = yield from cursor.match((",", "}"))
    if missing or separator is None:
        raise Malformed


def _read_value(cursor: Cursor, out: Callable[[str], None]) -> Reading:
    """Read one JSON value. A stack of its own, so that depth costs memory only."""
    stack: list[str] = []
    while True:
        symbol = yield from _peek_after_blanks(cursor, out)
        if symbol in ("{", "["):
            out(cursor.take(1))
            stack.append(symbol)
            following = yield from _peek_after_blanks(cursor, out)
            if following != _CLOSES[symbol]:
                if symbol == "{":
                    yield from _read_key(cursor, out)
                continue
        else:
            yield from _read_scalar(cursor, out)
        while True:  # a value has ended
            if not stack:
                return
            symbol = yield from _peek_after_blanks(cursor, out)
            if symbol not in (",", _CLOSES[stack[-1]]):
                raise Malformed
            out(cursor.take(1))
            if symbol == ",":
                break
            stack.pop()
        if stack[-1] == "{":
            yield from _peek_after_blanks(cursor, out)
            yield from _read_key(cursor, out)


_CLOSES = {"{": "}", "[": "]"}


def _peek_after_blanks(cursor: Cursor, out: Callable[[str], None]) -> Generator[None, None, str]:
    while True:
        symbol = yield from cursor.peek()
        if not symbol or symbol not in BLANKS:
            return symbol
        out(cursor.take(1))


def _read_key(cursor: Cursor, out: Callable[[str], None]) -> Reading:
    yield from _pass_string(cursor, out)
    if (yield from _peek_after_blanks(cursor, out)) != ":":
        raise Malformed
    out(cursor.take(1))


def _read_scalar(cursor: Cursor, out: Callable[[str], None]) -> Reading:
    if (yield from cursor.peek()) == '"':
        yield from _pass_string(cursor, out)
        return
    text = yield from read_word(cursor)
    if not WHOLE_SCALAR.fullmatch(text):
        raise Malformed
    out(text)


def read_word(cursor: Cursor) -> Generator[None, None, str]:
    """Read a run of the characters that numbers and literals have."""
    parts = []
    while (yield from cursor.peek()):
        length = cursor.run(_SCALAR)
        if not length:
            break
        parts.append(cursor.take(length))
    return "".join(parts)


def _pass_string(cursor: Cursor, out: Callable[[str], None]) -> Reading:
    yield from cursor.expect('"')
    out('"')
    while True:
        symbol = yield from cursor.peek()
        if symbol == '"':
            out(cursor.take(1))
            return
        if symbol == "\\":
            while cursor.run(_PART_OF_ESCAPE) == cursor.waiting and not cursor.run(_ESCAPE) and not cursor.ended:
                yield
            length = cursor.run(_ESCAPE)
        else:
            length = cursor.run(_PLAIN)
        if not length:
            raise Malformed
        out(cursor.spell(cursor.take(length), escaped))


def _read_string(cursor: Cursor) -> Generator[None, None, str]:
    parts: list[str] = []
    yield from _pass_string(cursor, parts.append)
    return str(json.loads("".join(parts)))


def escaped(text: str) -> str:
    """Text as it is written inside a JSON string."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


def quoted(text: str) -> str:
    """A JSON string."""
    return json.dumps(text, ensure_ascii=False)


def as_value(text: str) -> Any:
    """The value of a JSON text. Malformed if it is none, or nested deeper than Python can build."""
    try:
        return json.loads(text, parse_int=_integer, parse_float=_float, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise Malformed from None


def as_object(text: str) -> dict[str, Any]:
    """The value of the JSON text of an object; Malformed if it is none."""
    value = as_value(text)
    if not isinstance(value, dict):
        raise Malformed
    return value


def _integer(text: str) -> int | Decimal:
    try:
        return int(text)
    except ValueError:  # more digits than Python converts
        return Decimal(text)


def _float(text: str) -> float | Decimal:
    value = float(text)
    return _EXTENDED.create_decimal(text) if isinf(value) else value


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")
