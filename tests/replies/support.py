"""Replies cut into tokens and pieces in many ways, and what the events of a reader add up to."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from constrain.replies import (
    CallDelta,
    CallDropped,
    CallEnd,
    CallStart,
    Event,
    ReasoningDelta,
    Reply,
    ReplyParser,
    TextDelta,
    ToolCall,
)
from constrain.wires.markers import members

TOOLS = [
    {
        "name": "book_table",
        "parameters": {
            "type": "object",
            "properties": {
                "place": {"type": "string"},
                "guests": {"type": "integer"},
                "note": {"type": ["string", "null"]},
                "outdoor": {"type": "boolean"},
                "seats": {"type": "array"},
            },
        },
    },
    {"name": "ping", "parameters": {"type": "object", "properties": {}}},
]

BOOKING = {"place": "Café <Luna>", "guests": 4, "note": "by the\nwindow", "outdoor": True, "seats": ["a", {"b": None}]}

Symbol = str | int | bytes
"""What one push takes: text, bytes, or the id of a control token."""


def controls(wire: str) -> dict[str, int]:
    """Ids for the control tokens of a format, as a vocabulary has them; the first is 0."""
    found = dict.fromkeys(text for one in members(wire) for text in (*one.controls, *one.stops))
    return {text: number for number, text in enumerate(found)}


def tokens(wire: str, text: str) -> list[Symbol]:
    """Control tokens as ids, all else as text."""
    ids = controls(wire)
    split = re.split("(" + "|".join(map(re.escape, sorted(ids, key=len, reverse=True))) + ")", text)
    return [ids.get(part, part) for part in split if part]


def cut(symbols: Iterable[Symbol], pieces: Callable[[str], Iterable[Symbol]]) -> Iterator[Symbol]:
    """The same symbols with each text in pieces."""
    for symbol in symbols:
        if isinstance(symbol, str):
            yield from pieces(symbol)
        else:
            yield symbol


def in_bytes(text: str) -> list[Symbol]:
    return [bytes([byte]) for byte in text.encode()]


def in_chunks(size: int) -> Callable[[str], list[Symbol]]:
    return lambda text: [text[i : i + size] for i in range(0, len(text), size)]


def read(
    wire: str | list[str],
    symbols: str | Iterable[Symbol],
    *,
    tools: Any = TOOLS,
    vocab: Any = None,
    reasoning: str | None = "auto",
) -> Reply:
    """The reply, after checking that the events add up to it."""
    parser = ReplyParser(wire, tools, vocab, reasoning=reasoning)
    events: list[Event] = []
    for symbol in [symbols] if isinstance(symbols, str) else symbols:
        events += parser.push(symbol) if isinstance(symbol, int) else parser.push_text(symbol)
    events += parser.finish()
    reply = parser.reply
    assert folded(events) == (reply.text, reply.reasoning, reply.tool_calls)
    return reply


def read_ids(wire: str, text: str, **options: Any) -> Reply:
    """The reply read by ids where the format has control tokens."""
    return read(wire, tokens(wire, text), vocab=controls(wire), **options)


def folded(events: Iterable[Event]) -> tuple[str, str, tuple[ToolCall, ...]]:
    """What the events add up to: text, reasoning, complete calls."""
    text = reasoning = ""
    names: dict[int, str] = {}
    arguments: dict[int, str] = {}
    calls: dict[int, ToolCall] = {}
    for event in events:
        if isinstance(event, TextDelta):
            text += event.text
        elif isinstance(event, ReasoningDelta):
            reasoning += event.text
        elif isinstance(event, CallStart):
            assert event.index == len(calls)
            names[event.index], arguments[event.index] = event.name, ""
        elif isinstance(event, CallDelta):
            arguments[event.index] += event.arguments
        elif isinstance(event, CallEnd):
            call = event.call
            assert (call.name, call.arguments_text) == (names[call.index], arguments[call.index])
            calls[call.index] = call
        else:
            assert isinstance(event, CallDropped)
            del arguments[event.index]
    assert arguments.keys() == calls.keys()
    return text, reasoning, tuple(calls.values())


def called(reply: Reply) -> list[tuple[str, Any]]:
    return [(call.name, call.arguments) for call in reply.tool_calls]
