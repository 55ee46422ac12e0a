"""Token bytes to text, piece by piece: UTF-8 across tokens, and stop strings across pieces.

What is emitted never has to be taken back: bytes of an unfinished character wait for the rest of it, and text that may
still become a stop string waits until that is decided. The outcome does not depend on how the text is cut into tokens.
"""

from __future__ import annotations

import codecs
from collections.abc import Sequence

from .._errors import ArgumentError

__all__ = ["TextStream"]


class TextStream:
    """Increments of the text of one reply.

    stop: strings that end it; the text ends before the match that is complete first, of those the one that began first.
    """

    def __init__(self, stop: Sequence[str] = ()) -> None:
        if "" in stop:
            raise ArgumentError("a stop string must not be empty")
        self.stopped: str | None = None
        self._stop = tuple(stop)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""

    def feed(self, data: bytes) -> str:
        """The text that `data` settles; sets `stopped` to the stop string when one is complete."""
        return self._settle(self._decoder.decode(data))

    def finish(self) -> str:
        """What was still held back, at the end of the reply; an unfinished character becomes U+FFFD."""
        text = self._settle(self._decoder.decode(b"", final=True)) + self._held
        self._held = ""
        return text

    def _settle(self, fresh: str) -> str:
        if self.stopped is not None:
            return ""
        self._held += fresh
        matches = [(at + len(s), at, s) for s in self._stop if (at := self._held.find(s)) >= 0]
        if matches:
            _, at, self.stopped = min(matches)
            text, self._held = self._held[:at], ""
            return text
        keep = max((_overlap(self._held, s) for s in self._stop), default=0)
        cut = len(self._held) - keep
        text, self._held = self._held[:cut], self._held[cut:]
        return text


def _overlap(text: str, stop: str) -> int:
    """Length of the longest end of `text` that begins `stop`, `stop` as a whole excepted."""
    for length in range(min(len(text), len(stop) - 1), 0, -1):
        if stop.startswith(text[-length:]):
            return length
    return 0
