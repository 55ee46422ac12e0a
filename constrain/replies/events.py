"""What a reader reports while a reply streams in, and the reply as a whole.

The deltas add up: joined, the TextDelta are `Reply.text`, the ReasoningDelta are `Reply.reasoning`, and the CallDelta
of an index are `ToolCall.arguments_text`; except that a CallDropped takes back everything about its index.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = [
    "CallDelta",
    "CallDropped",
    "CallEnd",
    "CallStart",
    "Event",
    "ReasoningDelta",
    "Reply",
    "TextDelta",
    "ToolCall",
]


@dataclass(frozen=True)
class ToolCall:
    """A call. While it streams in, complete is False and arguments is None.

    index:          its place in the reply, from 0.
    id:             its id where the wire format has one (Kimi K2: "functions.NAME:3"), else None.
    arguments:      the JSON object, as Python values. Numbers too large for float are Decimal, and beyond its exponents
                    infinite.
    arguments_text: the same as JSON text, as far as it is known. Of a repeated key, the last value counts.
    raw:            the call as the model wrote it; control tokens are spelled.
    wire:           the format it was written in.
    """

    index: int
    name: str
    arguments: dict[str, Any] | None
    arguments_text: str
    id: str | None = None
    raw: str = ""
    wire: str = ""
    complete: bool = False


@dataclass(frozen=True)
class TextDelta:
    """More text for the user."""

    text: str


@dataclass(frozen=True)
class ReasoningDelta:
    """More reasoning."""

    text: str


@dataclass(frozen=True)
class CallStart:
    """A call begins: its name is known."""

    index: int
    name: str
    id: str | None = None


@dataclass(frozen=True)
class CallDelta:
    """More JSON text of a call's arguments."""

    index: int
    arguments: str


@dataclass(frozen=True)
class CallEnd:
    """A call is complete."""

    call: ToolCall


@dataclass(frozen=True)
class CallDropped:
    """What began as a call is none: it left the format, or the reply ended in it. Its text follows as TextDelta."""

    index: int
    reason: str


Event = TextDelta | ReasoningDelta | CallStart | CallDelta | CallEnd | CallDropped


@dataclass(frozen=True)
class Reply:
    """A reply, or what there is of it yet.

    cut:           the reply ended inside a call or inside the reasoning.
    finish_reason: "tool_calls", "stop" or "length", as chat APIs name it; None before the end.
    """

    text: str = ""
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    cut: bool = False
    finish_reason: str | None = None

    @property
    def content(self) -> str | None:
        """The text, or None in a turn that only calls tools."""
        return self.text or (None if self.tool_calls else "")
