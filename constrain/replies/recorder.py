"""Collects what a reply turns out to be: the events since they were last asked for, and the whole so far."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby

from .cursor import BLANKS
from .events import (
    CallDelta,
    CallDropped,
    CallEnd,
    CallStart,
    Event,
    ReasoningDelta,
    Reply,
    TextDelta,
    ToolCall,
)
from .json_text import as_object

__all__ = ["Channel", "Recorder"]


class Recorder:
    """cut: the reply ended inside a call or the reasoning."""

    def __init__(self) -> None:
        self._events: list[Event] = []
        self.text = Channel(self, TextDelta)
        self.reasoning = Channel(self, ReasoningDelta)
        self._calls: list[ToolCall] = []
        self._open: ToolCall | None = None
        self._arguments: list[str] = []
        self.cut = False
        self.finish_reason: str | None = None

    def add(self, event: Event) -> None:
        """Report something."""
        self._events.append(event)

    def take_events(self) -> list[Event]:
        """The events since the last time; deltas of one kind that follow each other as one."""
        events, self._events = self._events, []
        if len(events) < 2:
            return events
        merged: list[Event] = []
        for _, run in groupby(events, lambda event: (type(event), getattr(event, "index", None))):
            first, *more = run
            if isinstance(first, CallDelta):
                parts = [one.arguments for one in more if isinstance(one, CallDelta)]
                merged.append(CallDelta(first.index, "".join([first.arguments, *parts])))
            elif isinstance(first, (TextDelta, ReasoningDelta)):
                parts = [one.text for one in more if isinstance(one, (TextDelta, ReasoningDelta))]
                merged.append(type(first)("".join([first.text, *parts])))
            else:
                merged += [first, *more]
        return merged

    def start(self, name: str, call_id: str | None, wire: str) -> None:
        index = len(self._calls)
        self._open = ToolCall(index, name, None, "", call_id, wire=wire)
        self._arguments = []
        self.add(CallStart(index, name, call_id))

    def arguments(self, text: str) -> None:
        if text and self._open is not None:
            self._arguments.append(text)
            self.add(CallDelta(self._open.index, text))

    def end(self, raw: str, call_id: str | None) -> None:
        """The open call is complete. Malformed if its arguments cannot be built."""
        assert self._open is not None
        text = "".join(self._arguments)
        call = replace(
            self._open,
            id=self._open.id or call_id,
            arguments=as_object(text),
            arguments_text=text,
            raw=raw,
            complete=True,
        )
        self._open = None
        self._calls.append(call)
        self.add(CallEnd(call))

    def drop(self, reason: str) -> None:
        """The open call, if any, is none."""
        if self._open is not None:
            self.add(CallDropped(self._open.index, reason))
            self._open = None

    @property
    def reply(self) -> Reply:
        calls = list(self._calls)
        if self._open is not None:
            calls.append(replace(self._open, arguments_text="".join(self._arguments)))
        return Reply(self.text.whole, self.reasoning.whole, tuple(calls), self.cut, self.finish_reason)


class Channel:
    """Text that comes in pieces, with markers in between.

    Whitespace beside a marker is layout: none at the beginning (but for the indentation of a line) or end of the text,
    and between two texts what stood before the marker, or if there was none, after it.
    """

    def __init__(self, recorder: Recorder, delta: type[TextDelta] | type[ReasoningDelta]) -> None:
        self._recorder, self._delta = recorder, delta
        self._parts: list[str] = []
        self._blanks: list[str] = []
        self._gap: str | None = None
        """The whitespace before the marker that was met last; None when text has followed."""

    @property
    def whole(self) -> str:
        return "".join(self._parts)

    def write(self, text: str) -> None:
        body = text.lstrip(BLANKS)
        self._blanks.append(text[: len(text) - len(body)])
        if not body:
            return
        blanks = "".join(self._blanks)
        body, tail = body.rstrip(BLANKS), body[len(body.rstrip(BLANKS)) :]
        self._blanks = [tail]
        self._emit(self._between(blanks) + body)
        self._gap = None

    def marker(self) -> None:
        """A marker stands here."""
        self._gap = self._gap or "".join(self._blanks)
        self._blanks.clear()

    def flush(self) -> None:
        """Nothing follows: whitespace at the end of the text is text."""
        if self._gap is None:
            self._emit("".join(self._blanks))
        self._blanks.clear()

    def _between(self, blanks: str) -> str:
        """The whitespace before a text after `blanks`."""
        if self._gap is None:
            return blanks
        indentation = blanks[blanks.rfind("\n") + 1 :] if "\n" in blanks else ""
        if not self._parts:
            return indentation
        return self._gap + (indentation if self._gap.endswith("\n") else "") if self._gap else blanks

    def _emit(self, text: str) -> None:
        if text:
            self._parts.append(text)
            self._recorder.add(self._delta(text))
