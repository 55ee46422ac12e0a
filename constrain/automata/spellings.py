"""Ways in which a thread can go on so that an item of an array spells a given value: for items that must equal an
earlier one.

The search is guided by the value. What is written of the item so far is compared with the value first; from there on
each piece that is still missing (a string, a number, a mark) is given to the interpreter, which says whether the
grammar reads it there. The members of an object are tried in every order that the grammar allows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from .grammar import SYMBOL, Node, Select
from .oracle import BLANKS, SHORT_ESCAPES, Oracle, Thread, _decode_escape, _recorded, value_of
from .shortest import Completer, spelled

__all__ = ["numerals", "spellings", "text_of", "words_of"]

_SHORT = {chr(code): letter for letter, code in SHORT_ESCAPES.items()}
_NUMERIC = b"+-.0123456789Ee"
_NUMBER = re.compile(rb"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_DELIMITERS = b",]}: \t\n\r"
_FEW_POINTS = 24
"""How far from its place the point of a number with an exponent is tried."""


class _Cursor(NamedTuple):
    """How far the text that is given has been compared with the value; once that is all, `threads` read the rest,
    which is `written`.
    """

    at: int
    threads: tuple[Thread, ...]
    written: bytes = b""


def spellings(completer: Completer, thread: Thread, frame: Thread, value: object) -> Iterator[tuple[bytes, Thread]]:
    """(text, `frame` then): from a thread in an item of the array `frame`, a caller of it, to the end of the item, such
    that the item has that value. `frame` compares items, and has its text so far.
    """
    _, registers = frame.array
    assert registers.text is not None
    for end in _Search(completer, registers.text).value(value, _Cursor(0, (thread,))):
        if end.at == len(registers.text):
            for last in end.threads:
                for after in completer.oracle.closure(last):
                    if after.depth == frame.depth and after.node is frame.node:
                        yield end.written, after


def words_of(node: Node, value: object) -> Iterator[bytes]:
    """Texts of `node` with that value."""
    oracle = Oracle(node)
    for end in _Search(Completer(oracle), b"").value(value, _Cursor(0, tuple(oracle.start()))):
        if oracle.is_accepting(end.threads):
            yield end.written


def text_of(value: object) -> bytes:
    """A JSON text of a value."""
    if isinstance(value, str) or value is None:
        return json.dumps(value).encode()
    assert isinstance(value, tuple)
    kind, *parts = value
    if kind == "bool":
        return b"true" if parts[0] else b"false"
    if kind == "array":
        return b"[" + b",".join(map(text_of, parts)) + b"]"
    if kind == "object":
        members = sorted(parts[0], key=lambda member: member[0])
        return b"{" + b",".join(text_of(key) + b":" + text_of(item) for key, item in members) + b"}"
    if len(parts) == 1:
        return str(parts[0]).encode()
    negative, digits, place = parts
    return f"{'-' if negative else ''}{digits}e{place - len(digits)}".encode()


class _Search:
    def __init__(self, completer: Completer, text: bytes) -> None:
        self.completer, self.oracle, self.text = completer, completer.oracle, text

    # Values ----------------------------------------------------------------------------------------------------------

    def value(self, value: object, cursor: _Cursor) -> Iterator[_Cursor]:
        if isinstance(value, str):
            yield from self.string(value, cursor)
        elif value is None:
            yield from self.literal(b"null", cursor)
        elif isinstance(value, tuple) and value[0] == "bool":
            yield from self.literal(b"true" if value[1] else b"false", cursor)
        elif isinstance(value, tuple) and value[0] == "number":
            yield from self.number(value, cursor)
        elif isinstance(value, tuple) and value[0] == "array":
            for opened in self.mark(b"[", cursor):
                yield from self.items(value[1:], 0, opened)
        elif isinstance(value, tuple):
            for opened in self.mark(b"{", cursor):
                yield from self.members(dict(value[1]), opened)

    def items(self, items: tuple[object, ...], i: int, cursor: _Cursor) -> Iterator[_Cursor]:
        if i == len(items):
            yield from self.mark(b"]", cursor)
            return
        for before in self.mark(b",", cursor) if i else (cursor,):
            for after in self.value(items[i], before):
                yield from self.items(items, i + 1, after)

    def members(self, left: dict[str, object], cursor: _Cursor, mark: bytes = b"") -> Iterator[_Cursor]:
        if not left:
            yield from self.mark(b"}", cursor)
            return
        for before in self.mark(mark, cursor) if mark else (cursor,):
            for key in sorted(left):
                for named in self.string(key, before):
                    rest = {k: v for k, v in left.items() if k != key}
                    for between in self.mark(b":", named):
                        for after in self.value(left[key], between):
                            yield from self.members(rest, after, b",")

    # Pieces ----------------------------------------------------------------------------------------------------------

    def literal(self, word: bytes, cursor: _Cursor) -> Iterator[_Cursor]:
        at = self.after_blanks(cursor.at)
        written = self.text[at : at + len(word)]
        if word.startswith(written):
            yield from self.give(word[len(written) :], at + len(written), cursor)

    def string(self, value: str, cursor: _Cursor) -> Iterator[_Cursor]:
        at = self.after_blanks(cursor.at)
        if at == len(self.text):
            yield from self.give(b'"' + spelled(value.encode()) + b'"', at, cursor)
            return
        if self.text[at] != ord('"'):
            return
        content, at, escape = bytearray(), at + 1, b""
        while at < len(self.text) and self.text[at] != ord('"'):
            if self.text[at] != ord("\\"):
                content.append(self.text[at])
                at += 1
                continue
            size = next((n for n in (2, 6, 12) if isinstance(_decode_escape(self.text[at : at + n]), int)), 0)
            if size == 0 or at + size > len(self.text):
                escape = self.text[at:]
                break
            content += chr(_decode_escape(self.text[at : at + size])).encode()  # type: ignore[arg-type]
            at += size
        whole = value.encode()
        if at < len(self.text) and not escape:
            if content == whole:
                yield cursor._replace(at=at + 1)
        elif whole.startswith(content):
            rest = whole[len(content) :]
            if not escape:
                yield from self.give(spelled(rest) + b'"', len(self.text), cursor)
            elif rest:
                char = rest.decode()[0]
                for ending in _escapes(char, escape):
                    yield from self.give(ending + spelled(rest[len(char.encode()) :]) + b'"', len(self.text), cursor)

    def number(self, value: tuple[object, ...], cursor: _Cursor) -> Iterator[_Cursor]:
        at = end = self.after_blanks(cursor.at)
        while end < len(self.text) and self.text[end] not in _DELIMITERS:
            end += 1
        written = self.text[at:end]
        if written.strip(_NUMERIC) or (end < len(self.text) and not written):
            return  # something else
        if end < len(self.text):
            if value_of(written) == value:
                yield cursor._replace(at=end)
            return
        texts = (text[len(written) :] for text in numerals(value, written))
        blanks: dict[int, list[bytes]] = {}
        reached: dict[bytes, tuple[Thread, ...]] = {b"": cursor.threads}
        for rest in dict.fromkeys(texts):
            if not rest:
                yield cursor._replace(at=end)
                continue
            if rest[0] not in blanks:
                blanks[rest[0]] = [b""] if written else list(self.blanks(cursor.threads, rest[0]))
            for before in blanks[rest[0]]:
                threads = self.reach(reached, before + rest)
                if threads:
                    yield _Cursor(end, threads, cursor.written + before + rest)

    def reach(self, reached: dict[bytes, tuple[Thread, ...]], data: bytes) -> tuple[Thread, ...]:
        """The threads after `data`. reached: those after beginnings that were read before, which many spellings share.
        """
        known = next(size for size in range(len(data), -1, -1) if data[:size] in reached)
        for size in range(known + 1, len(data) + 1):
            threads = reached[data[: size - 1]]
            if not threads:
                return ()
            reached[data[:size]] = self.read(threads, data[size - 1 : size])
        return reached[data]

    def mark(self, byte: bytes, cursor: _Cursor) -> Iterator[_Cursor]:
        """A bracket, a comma or a colon, and the whitespace that must stand before it."""
        at = self.after_blanks(cursor.at)
        if at < len(self.text):
            if self.text[at] == byte[0]:
                yield cursor._replace(at=at + 1)
            return
        yield from self.give(byte, at, cursor)

    def give(self, piece: bytes, at: int, cursor: _Cursor) -> Iterator[_Cursor]:
        """Let the threads read a piece, behind the whitespace that must stand there."""
        if not piece:
            yield cursor._replace(at=at)
            return
        for blanks in self.blanks(cursor.threads, piece[0]):
            threads = self.read(cursor.threads, blanks + piece)
            if threads:
                yield _Cursor(at, threads, cursor.written + blanks + piece)

    def blanks(self, threads: tuple[Thread, ...], byte: int) -> Iterator[bytes]:
        """Whitespace after which the byte can be read: none, if that will do."""
        if self.read(threads, bytes([byte])):
            yield b""
            return
        ways: dict[bytes, None] = {}
        for thread in threads:
            for reached in self.oracle.closure(thread):
                if reached.node is None or not hasattr(reached.node, "layout"):
                    continue
                state = reached.layout_state
                ways.update((bytes([b]), None) for b, _ in state.edges if b < SYMBOL and b in BLANKS)
                for call in state.calls:
                    word = self.completer.word(call.node) if call.select is Select.NODE and call.node else None
                    if isinstance(word, bytes) and word and not word.strip(BLANKS):
                        ways[word] = None
        yield from (way for way in ways if self.read(threads, way + bytes([byte])))

    def read(self, threads: Iterable[Thread], data: bytes) -> tuple[Thread, ...]:
        """The threads after `data`; whether compared items can still end as they must is not asked."""
        here = tuple(threads)
        for byte in data:
            ready = (u for thread in here for u in self.oracle.closure(thread))
            read = dict.fromkeys(_recorded(t, bytes([byte])) for u in ready for t in self.oracle._consume(u, byte))
            here = tuple(read)
        return here

    def after_blanks(self, at: int) -> int:
        while at < len(self.text) and self.text[at] in BLANKS:
            at += 1
        return at


def _escapes(char: str, escape: bytes) -> Iterator[bytes]:
    """Rests of spellings of a character that begin with `escape`."""
    if escape == b"\\" and char in _SHORT:
        yield bytes([_SHORT[char]])
    units = char.encode("utf-16-be").hex()
    full = "".join(f"\\u{units[k : k + 4]}" for k in range(0, len(units), 4)).encode()
    if full.startswith(escape.lower()) or full.startswith(escape[:2] + escape[2:].lower()):
        yield full[len(escape) :]


def numerals(value: object, written: bytes) -> Iterator[bytes]:
    """Spellings of a number that begin with `written`: plainly, then with an exponent."""
    for text in _candidates(value, written):
        if text.startswith(written) and _NUMBER.fullmatch(text):
            yield text


def _candidates(value: object, written: bytes) -> Iterator[bytes]:
    assert isinstance(value, tuple) and value[0] == "number"
    if len(value) == 2:
        if value[1] == 0:
            yield from _zeros(written)
        else:
            yield str(value[1]).encode()  # a number with a huge exponent is equal only to itself
        return
    _, negative, digits, place = value
    assert isinstance(digits, str) and isinstance(place, int)
    sign = b"-" if negative else b""
    mantissa, _, power = written.lower().partition(b"e")
    letter = written[len(mantissa) : len(mantissa) + 1] or b"e"
    exponent_begun = len(mantissa) < len(written)
    points = range(min(place, 1) - _FEW_POINTS, max(place, len(digits), len(mantissa)) + _FEW_POINTS)
    for point in sorted(points, key=lambda n: (abs(n - place), n)):
        whole = digits[: max(point, 0)].ljust(max(point, 0), "0") or "0"
        fraction = "0" * max(-point, 0) + digits[max(point, 0) :]
        for plain in _padded(sign + whole.encode(), fraction.encode(), mantissa, exponent_begun):
            power_left = place - point
            if not exponent_begun and power_left == 0:
                yield plain
            if exponent_begun and plain != mantissa:
                continue
            for sign_of in (b"-",) if power_left < 0 else (b"", b"+", b"-") if power_left == 0 else (b"", b"+"):
                size = str(abs(power_left)).encode()
                zeros = power[len(sign_of) :]
                padding = zeros[: len(zeros) - len(zeros.lstrip(b"0"))] if power.startswith(sign_of) else b""
                yield plain + letter + sign_of + padding + size
                if power_left == 0 and padding:
                    yield plain + letter + sign_of + padding
                if not exponent_begun:
                    yield plain + b"E" + sign_of + size


def _padded(whole: bytes, fraction: bytes, mantissa: bytes, complete: bool) -> Iterator[bytes]:
    """whole.fraction with so many zeros behind it as `mantissa` has, or one where it ends in a point."""
    plain = whole + b"." + fraction if fraction else whole
    if not complete or plain == mantissa:
        yield plain
    padded = plain if b"." in plain else plain + b"."
    if mantissa.startswith(padded) and not mantissa[len(padded) :].strip(b"0") and mantissa != plain:
        yield mantissa + (b"0" if mantissa.endswith(b".") else b"")
    elif not complete and not fraction:
        yield whole + b".0"


def _zeros(written: bytes) -> Iterator[bytes]:
    mantissa = written.lower().partition(b"e")[0]
    if mantissa.strip(b"-0."):
        return
    for rest in (b"", b"0", b".0", b"0e0", b"e0"):
        yield written + rest
