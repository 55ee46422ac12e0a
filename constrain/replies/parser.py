"""`ReplyParser`: the public reader of replies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .._errors import ArgumentError
from ..vocabulary import Vocabulary
from ..wires.markers import members
from ..wires.renaming import Markers, named, renamed
from ..wires.tools import ToolSchemaCompiler
from .alphabet import Alphabet, TextDecoder
from .blocks import BlockReader
from .cursor import Cursor, Malformed, Reading
from .events import Event, Reply
from .prose import Prose
from .recorder import Recorder
from .tools import argument_schemas

__all__ = ["ReplyParser"]


class ReplyParser:
    """Reads one reply of a model while it streams in: text, reasoning and tool calls.

    wire:      the format's name as in `compile_tools`, or a list of names: each call shows by its first byte which one
               it is in.
    tools:     the tools of the request (OpenAI, Anthropic or MCP form, or compiled). Formats that write strings without
               quotes need them to know "5" from 5; without, what is JSON is JSON. Formats whose calls begin like prose
               take as a call only what names one of the tools.
    vocab:     a `Vocabulary`, or the ids of the control tokens by text. With it, and with ids pushed, only the ids are
               markers, and the same characters in prose are prose. Without, markers are recognised by their text.
    reasoning: "auto" recognises a block of reasoning where it begins; "inside": the prompt has begun one;
               None: reasoning is text like other text.
    markers:   control tokens of the format under other names, as in `compile_tools`.

    A reply that leaves its format, or ends too early, is never an error: that part of it is text. However a reply is
    cut into pieces, the result is the same. One parser reads one reply, in one thread.

    Raises ValueError on an unknown wire or option, SchemaError on unreadable tools.
    """

    def __init__(
        self,
        wire: str | Sequence[str],
        tools: ToolSchemaCompiler | Iterable[Any] | None = None,
        vocab: Vocabulary | Mapping[str, int] | None = None,
        *,
        reasoning: str | None = "auto",
        markers: Markers | None = None,
    ) -> None:
        if reasoning not in ("auto", "inside", None):
            raise ArgumentError(f'reasoning must be "auto", "inside" or None, not {reasoning!r}')
        self._wires = renamed(members(wire), named(members(wire), markers, vocab))
        self._alphabet = Alphabet(self._wires, vocab)
        self._decoder = TextDecoder()
        self._cursor = Cursor(self._alphabet)
        self._recorder = Recorder()
        self._prose = Prose(self._wires, self._alphabet, self._recorder.text, reasoning=reasoning is not None)
        schemas = None if tools is None else argument_schemas(tools)
        self._blocks = BlockReader(self._cursor, self._alphabet, self._recorder, self._prose, schemas)
        self._reading = self._read(reasoning == "inside")
        self._finished = False

    @property
    def reply(self) -> Reply:
        """The reply as far as it was read. A call that is not complete yet is its last one."""
        return self._recorder.reply

    def push(self, token_id: int, piece: str | bytes | None = None) -> list[Event]:
        """Read a token. piece: its text; needed only where `vocab` is no `Vocabulary`.

        A stop token ends the message: what is not complete by then never will be. Returns what became certain.
        """
        if token_id in self._alphabet.stop_ids:
            self._advance(self._decoder.flush())
            self._end()
            self._reading = self._read(inside=False)
            return self._recorder.take_events()
        symbol = self._alphabet.symbol(token_id)
        if symbol is not None:
            return self._advance(self._decoder.flush() + symbol)
        return self.push_text(self._alphabet.piece(token_id) if piece is None else piece)

    def push_text(self, text: str | bytes) -> list[Event]:
        """Read text, or UTF-8 bytes, which may end within a character. Returns what became certain."""
        return self._advance(self._decoder.decode(text))

    def finish(self, *, truncated: bool = False) -> list[Event]:
        """The reply is over. truncated: because the host ran out of tokens. Returns the rest of the events.

        Calling it again returns none.
        """
        if self._finished:
            return []
        self._advance(self._decoder.flush())
        self._end()
        self._finished = True
        recorder = self._recorder
        over = truncated or recorder.cut
        recorder.finish_reason = "length" if over else "tool_calls" if recorder.reply.tool_calls else "stop"
        return recorder.take_events()

    def _advance(self, symbols: str) -> list[Event]:
        if self._finished:
            raise RuntimeError("the reply is finished; another reply needs another ReplyParser")
        if symbols:
            self._cursor.append(symbols)
            next(self._reading, None)
        return self._recorder.take_events()

    def _end(self) -> None:
        """Nothing follows what was pushed."""
        self._cursor.ended = True
        next(self._reading, None)
        self._cursor.ended = False
        self._recorder.text.flush()
        self._recorder.reasoning.flush()

    def _read(self, inside: bool) -> Reading:
        if inside:
            yield from self._read_prompted_reasoning()
        while (marker := (yield from self._prose.read(self._cursor))) is not None:
            if marker.routes:
                yield from self._blocks.read(marker.routes)
            elif marker.reasoning_close is not None:
                yield from self._read_reasoning(marker.reasoning_close)
            else:
                self._recorder.text.marker()
                self._prose.restart(fresh=marker.starts or self._prose.fresh)

    def _read_prompted_reasoning(self) -> Reading:
        """Reasoning that the prompt began; some models repeat the marker."""
        found = next((wire.reasoning for wire in self._wires if wire.reasoning is not None), None)
        if found is None:
            return
        self._cursor.pin()
        yield from self._cursor.blanks()
        if (yield from self._cursor.match((self._alphabet.encode(found.open.text),))) is None:
            self._cursor.back()
        self._cursor.unpin()
        yield from self._read_reasoning(self._alphabet.encode(found.close.text))

    def _read_reasoning(self, close: str) -> Reading:
        channel = self._recorder.reasoning
        self._recorder.text.marker()
        channel.marker()
        try:
            yield from self._cursor.copy_until(close, lambda part: channel.write(self._alphabet.spell(part)))
        except Malformed:
            self._recorder.cut = True
            return
        channel.marker()
        self._prose.restart(fresh=True)
