"""The free part of a reply: what lies outside calls, and when a call begins.

Outside calls nothing is masked; the text is only watched. A call begins at the control token that arms, but not inside
reasoning and not inside a code fence (a line that begins with at most three blanks and ``` begins or ends one). Calls
and reasoning leave that state as it was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from ..automata.grammar import SYMBOL
from .marks import Inputs

__all__ = ["Event", "Seen", "Watch"]

_HEAD = 8
"""Bytes of a line that tell whether it is a fence."""


class Event(Enum):
    """What a control token means: nothing, the end of the reasoning (which the prompt may have begun), or a call."""

    NONE = 0
    ANSWERS = 1
    CALLS = 2


class Seen(NamedTuple):
    """thinking: inside reasoning.  fence: inside a code fence, as of the last whole line.  line: how the line begins.
    recent: the last inputs, as many as the longest marker that is watched for.
    """

    thinking: bool = False
    fence: bool = False
    line: bytes = b""
    recent: Inputs = ()

    @property
    def in_fence(self) -> bool:
        return self.fence != _is_fence(self.line)


@dataclass(frozen=True)
class Watch:
    """What is watched for. arms: id of a control token -> the bytes one of which comes before it where it arms.

    think_open, think_close: the markers of reasoning.     breaks: markers after which other text begins, in no fence.
    fences: whether code fences count.
    """

    arms: Mapping[int, Sequence[bytes]]
    think_open: Sequence[Inputs] = ()
    think_close: Sequence[Inputs] = ()
    breaks: Sequence[Inputs] = ()
    fences: bool = True
    memory: int = field(init=False)
    spelled_open: tuple[bytes, ...] = field(init=False)
    spelled_close: tuple[bytes, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "spelled_open", _texts(self.think_open))
        object.__setattr__(self, "spelled_close", _texts(self.think_close))
        longest = max(map(len, (*self.think_open, *self.think_close, *self.breaks)), default=1)
        before = max((len(one) for ways in self.arms.values() for one in ways), default=0)
        object.__setattr__(self, "memory", max(longest - 1, before))

    def text(self, seen: Seen, data: bytes) -> Seen:
        """After bytes."""
        markers = self.spelled_close if seen.thinking else self.spelled_open
        if markers:
            whole = _last_text(seen.recent) + data
            ends = [whole.find(one) + len(one) for one in markers if one in whole]
            if ends:
                rest = whole[min(ends) :]
                return self.text(Seen(not seen.thinking), rest) if len(rest) < len(data) else seen
        if self.memory:
            seen = seen._replace(recent=(*seen.recent, *data)[-self.memory :])
        if self.fences and not seen.thinking:
            seen = _read_lines(seen, data)
        return seen

    def control(self, seen: Seen, token: int) -> tuple[Seen, Event]:
        """After a control token; what it means."""
        inputs = (*seen.recent, SYMBOL + token)
        if any(inputs[-len(one) :] == one for one in self.think_close):
            return Seen(), Event.ANSWERS
        if not seen.thinking:
            if any(inputs[-len(one) :] == one for one in self.think_open):
                return seen._replace(thinking=True, recent=()), Event.NONE
            ways = self.arms.get(token, ())
            if any(_ends_with(seen.recent, way) for way in ways) and not (self.fences and seen.in_fence):
                return seen, Event.CALLS
            if any(inputs[-len(one) :] == one for one in self.breaks):
                return Seen(), Event.NONE
        kept = inputs[-self.memory :] if self.memory else ()
        return seen._replace(recent=kept, line=(seen.line + b"\0")[:_HEAD]), Event.NONE


def _texts(markers: Sequence[Inputs]) -> tuple[bytes, ...]:
    """Those of the markers that have no control token."""
    return tuple(bytes(one) for one in markers if max(one, default=SYMBOL) < SYMBOL)


def _last_text(inputs: Inputs) -> bytes:
    """The bytes after the last control token."""
    start = max((i + 1 for i, unit in enumerate(inputs) if unit >= SYMBOL), default=0)
    return bytes(inputs[start:])


def _ends_with(inputs: Inputs, data: bytes) -> bool:
    return not data or inputs[-len(data) :] == tuple(data)


def _read_lines(seen: Seen, data: bytes) -> Seen:
    *whole, last = data.split(b"\n")
    if not whole:
        return seen if len(seen.line) >= _HEAD else seen._replace(line=(seen.line + last)[:_HEAD])
    fence = seen.fence != _is_fence(seen.line + whole[0])
    for line in whole[1:]:
        fence = fence != _is_fence(line)
    return seen._replace(fence=fence, line=last[:_HEAD])


def _is_fence(line: bytes) -> bool:
    text = line.lstrip(b" ")
    return text.startswith(b"```") and len(line) - len(text) <= 3
