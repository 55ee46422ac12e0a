"""Text outside calls: where does something else begin?

A line that begins with three backticks (after up to three spaces) begins a code fence, and the next such line ends it.
Within a fence an example is an example: nothing begins there, except what is no part of any text.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping
from dataclasses import dataclass

from ..wires.markers import Head, Section, Wire
from .alphabet import Alphabet
from .cursor import BLANK_RUN, BLANKS, Cursor
from .recorder import Channel

__all__ = ["Marker", "Prose", "Route"]

_FENCE = re.compile(r" {0,3}```")
_FENCE_PREFIX = re.compile(r" {0,3}`{0,2}")


@dataclass(frozen=True)
class Route:
    """One way on from a block's opener. head: the one whose marker was read, None where the section's was."""

    wire: Wire
    section: Section | None = None
    head: Head | None = None

    def first(self, alphabet: Alphabet) -> str | None:
        """The symbols that may come next; None: those of a name."""
        if self.head is not None:
            return None if getattr(self.wire.body, "envelope", None) is None else "{"
        opens = [alphabet.encode(head.open.text)[:1] or "{" for head in self.wire.heads]
        return "".join(opens)


@dataclass(frozen=True)
class Marker:
    """What a text begins or is. Exactly one of: routes (a block), reasoning_close, neither (it carries nothing).

    bare: the text is the first symbol of the call itself.      starts: a message begins after it.
    """

    routes: tuple[Route, ...] = ()
    reasoning_close: str | None = None
    bare: bool = False
    starts: bool = False


class Prose:
    """Finds markers in text and passes the rest on to a channel.

    fresh: nothing was said yet in this message, so that a call without a marker of its own may begin.
    """

    def __init__(self, wires: tuple[Wire, ...], alphabet: Alphabet, channel: Channel, *, reasoning: bool) -> None:
        self._alphabet, self._channel = alphabet, channel
        self.fresh = True
        self._fenced = False
        self._line: str | None = ""
        silent = _silent(wires, alphabet)
        opened = _openers(wires, alphabet, at_start=False)
        if reasoning:
            opened |= _reasoning(wires, alphabet)
        stops = {text: Marker() for wire in wires for text in wire.stops if text not in alphabet.known_stops}
        anywhere = {alphabet.encode(text): marker for text, marker in stops.items()} | opened | silent
        at_start = _openers(wires, alphabet, at_start=True) | anywhere
        self._anywhere, self._at_start, self._in_fence = map(_Lexicon, (anywhere, at_start, silent))

    def read(self, cursor: Cursor) -> Generator[None, None, Marker | None]:
        """Pass text on up to the next marker, and read that; None at the end of the reply."""
        while True:
            lexicon = self._in_fence if self._fenced else self._at_start if self.fresh else self._anywhere
            cursor.keep_from_here()
            most = None if self._line is None else 1  # where a fence may begin, because the markers change after it
            ahead = lexicon.ahead(cursor, most, only_blanks=lexicon is self._at_start)
            if ahead:
                self.write(cursor.take(ahead))
            elif cursor.waiting:
                cursor.pin()
                found = yield from cursor.match(lexicon.markers)
                if found is None:
                    cursor.unpin()
                    self.write(cursor.take(1))
                    continue
                marker = lexicon.markers[found]
                if marker.bare:
                    cursor.back()
                cursor.unpin()
                return marker
            elif cursor.ended:
                return None
            else:
                yield

    def write(self, symbols: str) -> None:
        """Take symbols as text."""
        text = self._alphabet.spell(symbols)
        self._channel.write(text)
        if text.strip(BLANKS):
            self.fresh = False
        self._watch_fences(text)

    def restart(self, *, fresh: bool) -> None:
        """A part of the reply has ended: what follows is at the beginning of a line and in no fence."""
        self._fenced, self._line = False, ""
        self.fresh = fresh

    def _watch_fences(self, text: str) -> None:
        """self._line is the beginning of the line, None once it is no longer the beginning of a fence."""
        for number, part in enumerate(text.split("\n")):
            if number:
                self._line = ""
            if self._line is None:
                continue
            self._line += part
            if _FENCE.match(self._line):
                self._fenced = not self._fenced
            if not _FENCE_PREFIX.fullmatch(self._line):
                self._line = None


class _Lexicon:
    """Some markers by their text, and where the next can be."""

    def __init__(self, markers: Mapping[str, Marker]) -> None:
        self.markers = markers
        firsts = "".join(sorted({re.escape(text[0]) for text in markers}))
        self._other = re.compile(rf"[^\n{firsts}]*\n?")

    def ahead(self, cursor: Cursor, most: int | None, *, only_blanks: bool) -> int:
        """How many symbols, of `most`, cannot begin a marker. Up to a line feed, because a fence may begin after it.

        only_blanks: whitespace at most, because other text changes which markers there are.
        """
        return cursor.run(BLANK_RUN if only_blanks else self._other, most)


def _silent(wires: tuple[Wire, ...], alphabet: Alphabet) -> dict[str, Marker]:
    return {alphabet.encode(mark.text): Marker(starts=mark in wire.starts) for wire in wires for mark in wire.silent}


def _reasoning(wires: tuple[Wire, ...], alphabet: Alphabet) -> dict[str, Marker]:
    found = (wire.reasoning for wire in wires if wire.reasoning is not None)
    return {alphabet.encode(one.open.text): Marker(reasoning_close=alphabet.encode(one.close.text)) for one in found}


def _openers(wires: tuple[Wire, ...], alphabet: Alphabet, *, at_start: bool) -> dict[str, Marker]:
    """The openers of blocks; at_start: those that count only at the beginning of a message."""
    routes: dict[str, list[Route]] = {}
    for wire in wires:
        for section in wire.sections:
            if not at_start:
                routes.setdefault(alphabet.encode(section.open.text), []).append(Route(wire, section))
        for head in () if wire.sections else wire.heads:
            if head.at_start == at_start:
                routes.setdefault(alphabet.encode(head.open.text), []).append(Route(wire, head=head))
    return {text or "{": Marker(tuple(found), bare=not text) for text, found in routes.items()}
