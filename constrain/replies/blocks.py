"""Blocks of calls: from the opener of a block to its end, for any format of the table."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field

from ..wires.markers import ElementBody, Head, JsonBody, KeyValueBody, Wire
from .alphabet import Alphabet
from .cursor import BLANKS, Cursor, Malformed, Reading
from .elements import ElementReader, unescape_attribute
from .json_text import read_envelope, read_object
from .key_values import read_key_values
from .prose import Prose, Route
from .recorder import Recorder
from .values import ArgumentTypes

__all__ = ["BlockReader"]


@dataclass
class _Call:
    """What is known of a call before it is started: the arguments may come before the name."""

    name: str | None = None
    id: str | None = None
    waiting: list[str] = field(default_factory=list)


class BlockReader:
    """Reads blocks. tools: schema of the arguments per tool, None where the tools are not known."""

    def __init__(
        self, cursor: Cursor, alphabet: Alphabet, recorder: Recorder, prose: Prose, tools: Mapping[str, object] | None
    ) -> None:
        self._cursor, self._alphabet, self._recorder, self._prose = cursor, alphabet, recorder, prose
        self._tools = tools
        self._types: dict[str, ArgumentTypes] = {}
        self._resync: str | None = None

    def read(self, routes: tuple[Route, ...]) -> Reading:
        """Read a block whose opener is the last that was kept. What is malformed becomes text."""
        self._resync = None
        try:
            yield from self._read_block(routes)
        except Malformed:
            yield from self._give_up()

    def _read_block(self, routes: tuple[Route, ...]) -> Reading:
        self._cursor.pin()
        route = yield from self._choose(routes)
        wire = route.wire
        if route.head is not None:
            yield from self._read_call(wire, route.head, self._encode(wire.close.text), 0)
            yield from self._skip_separator(wire)
            return
        assert route.section is not None
        close = self._encode(route.section.close.text)
        calls = 0
        while True:
            yield from self._cursor.blanks()
            self._cursor.pin()
            if close and (yield from self._cursor.match((close,))) is not None:
                break
            if not (yield from self._cursor.peek()) and route.section.close_optional and calls:
                break
            if calls:
                yield from self._cursor.expect(self._encode(wire.between.text))
                yield from self._cursor.blanks()
            start = self._cursor.kept_pieces
            head = yield from self._read_opening(wire)
            yield from self._read_call(wire, head, close, start)
            calls += 1
        if not calls:
            raise Malformed
        self._cursor.keep_from_here()

    def _choose(self, routes: tuple[Route, ...]) -> Generator[None, None, Route]:
        """The route that the next symbol belongs to."""
        if len(routes) == 1:
            return routes[0]
        symbol = yield from self._cursor.blanks()
        firsts = [(route, route.first(self._alphabet)) for route in routes]
        for route, first in sorted(firsts, key=lambda one: one[1] is None):  # a name could begin with anything
            if symbol and (first is None or symbol in first):
                return route
        raise Malformed

    def _read_opening(self, wire: Wire) -> Generator[None, None, Head]:
        """Read the marker that begins a call within a section."""
        opens = {self._encode(head.open.text): head for head in wire.heads}
        if "" in opens:
            return opens[""]
        found = yield from self._cursor.match(opens)
        if found is None:
            raise Malformed
        return opens[found]

    def _read_call(self, wire: Wire, head: Head, block_close: str, start: int) -> Reading:
        """Read a call after its opener, up to its close. start: where it begins, in `cursor.kept_pieces`."""
        call = _Call()
        close = self._encode(wire.close.text)
        body = wire.body
        elements = ElementReader(body, wire.close.text, self._alphabet) if isinstance(body, ElementBody) else None
        in_envelope = isinstance(body, JsonBody) and body.envelope is not None
        if not in_envelope:
            yield from self._read_head(wire, head, call, elements)
        elif (yield from self._cursor.blanks()) != "{":
            raise Malformed
        self._cursor.unpin()
        self._resync = block_close or close
        if in_envelope:
            yield from self._read_in_envelope(wire, head, call)
        elif elements is not None:
            yield from elements.read(self._cursor, self._types_of(call.name), self._recorder.arguments)
        elif isinstance(body, KeyValueBody):
            yield from read_key_values(self._cursor, body, self._encode(body.quote), self._recorder.arguments)
        else:
            yield from read_object(self._cursor, self._recorder.arguments)
        if close and elements is None:
            symbol = yield from self._cursor.blanks()
            if (yield from self._cursor.match((close,))) is None and (symbol or wire.close.text not in wire.stops):
                raise Malformed
        self._resync = ""
        self._recorder.end(self._alphabet.spell(self._cursor.kept_since(start)), call.id)
        self._recorder.text.marker()
        self._cursor.keep_from_here()
        self._resync = None
        self._prose.restart(fresh=True)

    def _read_head(self, wire: Wire, head: Head, call: _Call, elements: ElementReader | None) -> Reading:
        """Read name and counter, and what stands between them and the arguments."""
        closes = [self._encode(mark.text) for mark in head.closes]
        ends = [text for text in closes if text]
        bare = "" if all(closes) else elements.ends_of_name + BLANKS if elements is not None else "{"
        counter = head.counter
        before = [self._encode(counter.before)] if counter is not None else ends
        name = yield from self._read_name(before, "" if counter is not None else bare)
        if isinstance(wire.body, ElementBody) and wire.body.attribute_escapes:
            name = unescape_attribute(name)
        call.name = name
        if counter is not None:
            number = yield from self._read_number()
            if (yield from self._cursor.match(ends)) is None:
                raise Malformed
            call.id = counter.call_id.format(name=name, number=number) or None
        if head.at_start and not self._is_known(name):
            raise Malformed
        self._recorder.start(name, call.id, wire.name)

    def _read_name(self, ends: list[str], bare: str) -> Generator[None, None, str]:
        """Read up to one of `ends`, or to a symbol of `bare`, which is left there."""
        name = ""
        yield from self._cursor.blanks()
        while True:
            spaced = name.endswith(tuple(BLANKS))
            possible = [end for end in ends if spaced or not end[0].isalnum()]
            if possible and (yield from self._cursor.match(possible)) is not None:
                break
            symbol = yield from self._cursor.peek()
            if name and symbol and symbol in bare:
                break
            if not symbol or self._alphabet.is_control(symbol) or (spaced and symbol not in BLANKS):
                raise Malformed
            name += self._cursor.take(1)
        name = name.strip(BLANKS)
        if not name:
            raise Malformed
        return name

    def _read_number(self) -> Generator[None, None, int]:
        digits = ""
        while (yield from self._cursor.peek()) in tuple("0123456789"):
            digits += self._cursor.take(1)
        if not 1 <= len(digits) <= 18:
            raise Malformed
        return int(digits)

    def _read_in_envelope(self, wire: Wire, head: Head, call: _Call) -> Reading:
        assert isinstance(wire.body, JsonBody) and wire.body.envelope is not None

        def named(name: str) -> None:
            if head.at_start and not self._is_known(name):
                raise Malformed
            call.name = name
            self._recorder.start(name, call.id, wire.name)
            for part in call.waiting:
                self._recorder.arguments(part)

        def identified(text: str) -> None:
            call.id = text

        def arguments(part: str) -> None:
            if call.name is None:
                call.waiting.append(part)
            else:
                self._recorder.arguments(part)

        yield from read_envelope(self._cursor, wire.body.envelope, named, identified, arguments, strict=head.at_start)

    def _skip_separator(self, wire: Wire) -> Reading:
        """Between calls of a format without sections: its separator, if another call follows."""
        separator = self._encode(wire.between.text)
        if not separator or wire.between in wire.silent:
            return
        self._cursor.keep_from_here()
        self._cursor.pin()
        yield from self._cursor.blanks()
        if (yield from self._cursor.match((separator,))) is not None:
            symbol = yield from self._cursor.blanks()
            firsts = "".join(self._encode(head.open.text)[:1] or "{" for head in wire.heads)
            if symbol and symbol in firsts:
                self._cursor.keep_from_here()
                return
        self._cursor.back()

    def _give_up(self) -> Reading:
        """What was read of the block is text. Text of a call's body goes on to where the call would have ended, so that
        nothing inside it is taken for a call."""
        cursor, resync = self._cursor, self._resync
        self._recorder.cut |= cursor.ended  # before the end, nothing decided that it is malformed
        if resync is None:
            cursor.back()
            self._prose.write(cursor.kept)
            return
        self._recorder.drop("the reply ends in it" if cursor.ended else "it leaves the format")
        self._prose.write(cursor.kept)
        if resync:
            try:
                yield from cursor.copy_until(resync, self._prose.write)
                self._prose.write(resync)
            except Malformed:
                pass
        cursor.keep_from_here()
        self._prose.restart(fresh=False)

    def _types_of(self, name: str | None) -> ArgumentTypes:
        if name not in self._types:
            self._types[name or ""] = ArgumentTypes((self._tools or {}).get(name or ""))
        return self._types[name or ""]

    def _is_known(self, name: str) -> bool:
        return self._tools is None or name in self._tools

    def _encode(self, text: str) -> str:
        return self._alphabet.encode(text)
