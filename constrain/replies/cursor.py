"""A place in a reply that arrives in pieces, and the few ways to read on from it.

Readers are generators: they yield where they need symbols that have not arrived, and are resumed when some have. What
they do between two yields does not depend on how the reply was cut into pieces, so neither does what they find.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable

from .alphabet import Alphabet

__all__ = ["BLANKS", "BLANK_RUN", "Cursor", "Malformed", "Reading"]

BLANKS = " \t\r\n"
BLANK_RUN = re.compile(r"[ \t\r\n]*")

Reading = Generator[None, None, None]


class Malformed(Exception):
    """What stands at the cursor cannot stand there, or the reply ends there."""


class Cursor:
    """ended: no more symbols will come. kept: what was read since `keep_from_here`, as symbols."""

    def __init__(self, alphabet: Alphabet) -> None:
        self.spell = alphabet.spell
        self._buffer = ""
        self._position = 0
        self._pin: tuple[int, int] | None = None
        self._kept: list[str] = []
        self.ended = False

    def append(self, symbols: str) -> None:
        start = self._position if self._pin is None else self._pin[0]
        if start:
            self._buffer = self._buffer[start:]
            self._position -= start
            if self._pin is not None:
                self._pin = (0, self._pin[1])
        self._buffer += symbols

    @property
    def waiting(self) -> int:
        """How many symbols have arrived and were not read yet."""
        return len(self._buffer) - self._position

    def run(self, pattern: re.Pattern[str], most: int | None = None) -> int:
        """Length of the pattern's match here, in what has arrived, of at most so many symbols; 0 for none."""
        end = len(self._buffer) if most is None else self._position + most
        found = pattern.match(self._buffer, self._position, end)
        return 0 if found is None else found.end() - self._position

    @property
    def kept(self) -> str:
        return self.kept_since(0)

    @property
    def kept_pieces(self) -> int:
        """How many pieces were kept: a place for `kept_since`."""
        return len(self._kept)

    def kept_since(self, piece: int) -> str:
        return "".join(self._kept[piece:])

    def keep_from_here(self) -> None:
        self._kept.clear()
        self._pin = None

    def pin(self) -> None:
        """Remember this place for `back`. Symbols from here on stay in memory until the next pin or `unpin`."""
        self._pin = (self._position, len(self._kept))

    def unpin(self) -> None:
        self._pin = None

    def back(self) -> None:
        """Return to the pinned place."""
        assert self._pin is not None
        self._position = self._pin[0]
        del self._kept[self._pin[1] :]
        self._pin = None

    def take(self, count: int) -> str:
        """Read `count` symbols that have arrived."""
        taken = self._buffer[self._position : self._position + count]
        self._position += count
        self._kept.append(taken)
        return taken

    def peek(self) -> Generator[None, None, str]:
        """The next symbol; "" at the end of the reply."""
        while self._position == len(self._buffer) and not self.ended:
            yield
        return self._buffer[self._position : self._position + 1]

    def blanks(self) -> Generator[None, None, str]:
        """Skip whitespace; the symbol after it, "" at the end of the reply."""
        while True:
            self.take(self.run(BLANK_RUN))
            if self._position < len(self._buffer) or self.ended:
                return self._buffer[self._position : self._position + 1]
            yield

    def match(self, texts: Iterable[str]) -> Generator[None, None, str | None]:
        """Read the longest of `texts` that stands here; None when none does."""
        texts = tuple(texts)
        longest = max(map(len, texts))
        while True:
            rest = self._buffer[self._position : self._position + longest]
            found = max((text for text in texts if rest.startswith(text)), key=len, default=None)
            if self.ended or not any(len(text) > len(rest) and text.startswith(rest) for text in texts):
                if found is not None:
                    self.take(len(found))
                return found
            yield

    def expect(self, text: str) -> Reading:
        """Read `text`, or raise Malformed."""
        if text and (yield from self.match((text,))) is None:
            raise Malformed

    def copy_until(self, end: str, out: Callable[[str], None]) -> Reading:
        """Pass on everything before `end`, as soon as it is certain; read `end`. Malformed if it never comes."""
        while True:
            at = self._buffer.find(end, self._position)
            certain = at if at >= 0 else len(self._buffer) - _overlap(self._tail(len(end)), end)
            if certain > self._position:
                out(self.take(certain - self._position))
            if at >= 0:
                self.take(len(end))
                return
            if self.ended:
                raise Malformed
            yield

    def _tail(self, length: int) -> str:
        """The last symbols that have arrived and were not read, `length` of them at most."""
        return self._buffer[max(self._position, len(self._buffer) - length) :]


def _overlap(text: str, end: str) -> int:
    """Length of the longest proper prefix of `end` with which `text` ends."""
    return next((n for n in range(min(len(text), len(end) - 1), 0, -1) if text.endswith(end[:n])), 0)
