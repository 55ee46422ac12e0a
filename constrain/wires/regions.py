"""From a format and tools to grammar nodes: what may stand from the token that begins a call on.

The token that arms is the first control token of an opening marker. Everything after it belongs to the region: the
rest of the marker, the name, the arguments, the close, and in formats with sections further calls. Names are the keys
of an ObjectShape whose values are the arguments, so that one automaton holds all names and no tool is built before it
is named.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from operator import itemgetter
from typing import Any

from .._errors import LimitError, SchemaError, UnsatisfiableError
from .._limits import Limits
from ..automata.grammar import SYMBOL, Layout, Lazy, Lexeme, Node, ObjectShape, Skin, Union
from ..automata.json_layouts import FLEXIBLE
from ..languages.pattern import compile_pattern
from ..schema.options import Options
from .ahead import LARGE
from .layouts import KEY, VALUE, Either, Many, Maybe, Part, Parts, frame
from .markers import Counter, ElementBody, Envelope, Head, JsonBody, KeyValueBody, Section, Wire
from .marks import Inputs, Marks
from .parameters import Parameters, ParameterStore, way
from .tools import BadTools, Tool
from .values import LOOSE, Elements, KeyValues, can_write, escaped, space
from .writable import Settings, schema_options, unwritable_in_names

__all__ = ["Opening", "Region"]

@dataclass(frozen=True)
class Opening:
    """A way to begin a block. before: bytes that precede the arming token; token: its id, None where there is none;
    node: what follows it.     is_call: False for another marker that begins like one.
    Where there is no token: trigger, a pattern of the text by which a call is recognised; at_start: only where a
    message begins; node: the whole block, opening marker and all.
    """

    before: bytes
    token: int | None
    node: Node
    is_call: bool = True
    trigger: bytes = b""
    at_start: bool = False


class Region:
    """One format for some tools.

    openings: the ways to begin a block, and other markers that begin with the same token.
    ends_in_text: whether a block ends with a byte, so that a token may end it and go on.
    """

    def __init__(
        self,
        wire: Wire,
        options: Options,
        tools: Sequence[Tool],
        marks: Marks,
        settings: Settings,
        bad: BadTools,
    ) -> None:
        self.wire, self.marks, self.settings = wire, marks, settings
        self.loose = wire.loose
        self.options = schema_options(wire, options, settings)
        notation = KeyValues.of(wire.body, marks, options.numbers) if isinstance(wire.body, KeyValueBody) else None
        self.space = _JsonSpace(options.whitespace)
        self.way = way(self.options, notation)
        self._unwritable = unwritable_in_names(wire, self.options)
        self.tools = [tool for tool in tools if self._can_write(tool, bad)]
        self._shapes: dict[Any, ObjectShape] = {}
        self._layouts: dict[str, Layout] = {}

    @property
    def ends_in_text(self) -> bool:
        ends = [section.close.text for section in self.wire.sections] or [self.wire.close.text]
        return any(not inputs or inputs[-1] < SYMBOL for inputs in map(self.marks.spell, ends))

    def _can_write(self, tool: Tool, bad: BadTools) -> bool:
        try:
            self._check(tool)
        except (SchemaError, UnsatisfiableError, LimitError) as error:
            bad.refuse(error, tool.pointer, tool.name)
            return False
        return True

    def _check(self, tool: Tool) -> None:
        """Make sure that the tool can be written. Raises SchemaError, UnsatisfiableError, LimitError."""
        if self._unwritable is not None and (found := self._unwritable.search(tool.name)) is not None:
            raise SchemaError("", None, f"the format {self.wire.name} cannot write {found.group()!r} in a name")
        tool.parameters.check(self.way)
        if isinstance(self.wire.body, ElementBody) and not can_write(self.wire.body, tool.parameters, self.way):
            raise SchemaError(
                "", "required", f"the format {self.wire.name} cannot write the name of a required parameter"
            )

    # Blocks ---------------------------------------------------------------------------------------------------------

    def openings(self, calls: bool = True) -> Iterator[Opening]:
        """The ways to begin a block; then the other markers that begin with the same tokens.

        calls: False: blocks cannot be written, and nothing follows what begins them.
        """
        wire = self.wire
        ways: Iterable[tuple[Inputs, Callable[[Inputs], Node]]] = self._blocks()
        if not calls:
            ways = [(self.marks.spell(mark.text), lambda _: frame()) for mark in wire.openers]
        armed = set()
        for opener, make in ways:
            before, token, rest = _cut(opener)
            armed.add(token)
            if token is None:
                trigger = re.escape(before) if before else _TRIGGER
                yield Opening(before, None, make(opener), True, trigger, wire.heads[-1].at_start or not before)
            else:
                yield Opening(before, token, make(rest))
        others = [*wire.silent, *((wire.reasoning.open,) if wire.reasoning else ())]
        for text in dict.fromkeys(mark.text for mark in others):
            before, token, rest = _cut(self.marks.spell(text))
            if token is not None and token in armed:
                yield Opening(before, token, frame(rest), is_call=False)

    def blocks(self) -> list[Node]:
        """The blocks with their opening markers, whole."""
        return [make(opener) for opener, make in self._blocks()]

    def large(self) -> Iterator[Node]:
        """The arguments of tools with large schemas."""
        names = {self._written_name(tool.name) for tool in self.tools if tool.parameters.size > LARGE}
        for shape in self._shapes.values() if names else ():
            yield from (node for key, node in zip(shape.keys, shape.values, strict=True) if node and key in names)

    def lead(self) -> Parts:
        """What may stand before the first block where one is demanded."""
        return [Maybe(self.marks.spell(mark.text)) for mark in self.wire.before_call]

    def tail(self) -> Parts:
        """What may stand after the last block where one is demanded."""
        return [Maybe(self.marks.spell(mark.text)) for mark in self.wire.after_calls]

    @cached_property
    def message_starts(self) -> list[Inputs]:
        """What begins a message, in formats in which every message has a header; empty in others."""
        return [self.marks.spell(mark.text) for mark in self.wire.starts]

    @cached_property
    def message_headers(self) -> list[Inputs]:
        """The headers of messages that are no calls."""
        wire = self.wire
        texts = [mark.text for mark in wire.headers]
        texts += [wire.reasoning.open.text] if wire.reasoning else []
        return [self.marks.spell(text) for text in texts]

    def message(self, calls: bool = True) -> Node:
        """A call, or the header of another message."""
        return Union((*(self.blocks() if calls else ()), *(frame(header) for header in self.message_headers)))

    def between(self) -> Parts | None:
        """What stands between two blocks; None where there is one at most."""
        wire = self.wire
        if wire.sections and not wire.one_per_section:
            return None
        text = self.marks.spell(wire.between.text)
        if self.loose:
            return [LOOSE, text]
        if text and (wire.between.before or wire.between.after):
            return [*self.space.anywhere, text, *self.space.anywhere]
        return [self.marks.spell(str(wire.between))]

    def _blocks(self) -> Iterator[tuple[Inputs, Callable[[Inputs], Node]]]:
        """(opening marker, what makes the node of all of a block from what of that marker is to be part of it)."""
        if not self.tools and self.settings.names == "declared":
            return
        for section in self.wire.sections:
            yield self.marks.spell(section.open.text), partial(_block, (), self._section(section), None)
        for head in () if self.wire.sections else self.wire.heads:
            before = (Maybe(head.open.before.encode()),) if head.at_start and head.open.text else ()
            block = partial(_block, before, self._call(head), self._shape(head))
            yield self.marks.spell(head.open.text), block

    def _section(self, section: Section) -> list[Part]:
        """All that follows the opening marker of a section."""
        wire, spell = self.wire, self.marks.spell
        strict_end = spell(wire.close.after) if not self.loose else b""
        before = self._gap(section.close.before)
        close: Parts = (strict_end, *before, spell(section.close.text))
        if section.close_optional:
            close = (Maybe(*close),)
        opened = self._gap(section.open.after)
        counter = wire.heads[0].counter
        if counter is not None and not counter.over_conversation:
            return [*opened, self._counted(counter, counter.start, close)]
        calls = self._any_call(None)
        further: Parts = ()
        if self.settings.parallel:
            further = (Many(strict_end, *self._separator(), calls),)
        return [*opened, calls, *further, *close]

    def _counted(self, counter: Counter, number: int, close: Parts) -> Node:
        """Calls that are numbered, from one on, and the close of their section."""

        def build() -> Node:
            call = self._any_call(number)
            if not self.settings.parallel:
                return frame(call, *close)
            return frame(call, Either((*self._separator(), self._counted(counter, number + 1, close)), close))

        return Lazy(build)

    def _separator(self) -> Parts:
        """What stands between two calls of a section."""
        between = self.wire.between
        if between.text:
            return (*self.space.anywhere, self.marks.spell(between.text), *self.space.after)
        return self._gap(str(between))

    def _gap(self, trained: str) -> tuple[Part, ...]:
        if isinstance(self.wire.body, JsonBody) and self.wire.body.envelope and self.wire.sections:
            return tuple(self.space.anywhere)  # a JSON array
        return space(trained, self.loose)

    # Calls ----------------------------------------------------------------------------------------------------------

    def _any_call(self, number: int | None) -> Node:
        """A call within a section."""
        spell = self.marks.spell
        found = [
            frame(spell(head.open.text), *self._call(head, number), shape=self._shape(head)) for head in self.wire.heads
        ]
        return found[0] if len(found) == 1 else Union(tuple(found))

    def _call(self, head: Head, number: int | None = None) -> list[Part]:
        """All of a call that follows the text of its opening marker."""
        parts = self._parts(head, number)
        if self.settings.names == "any":
            parts.append(_NOTHING)
        return parts

    def _parts(self, head: Head, number: int | None) -> list[Part]:
        wire, spell = self.wire, self.marks.spell
        body = wire.body
        close: list[Part] = [*space(wire.close.before, self.loose), spell(wire.close.text)] if wire.close.text else []
        if isinstance(body, JsonBody) and body.envelope is not None:
            opened = space(head.open.after, self.loose) if head.open.text else ()
            return [*opened, *self._envelope(body.envelope), *close]
        counter = () if head.counter is None else self._number(head.counter, number)
        opened = (spell(head.open.after),)
        if isinstance(body, ElementBody):
            (only,) = head.closes
            return [*opened, KEY, *counter, spell(only.before + only.text), VALUE]
        ways = [(spell(str(one)),) for one in head.closes]
        return [*opened, KEY, *counter, Either(*ways), VALUE, *close]

    def _number(self, counter: Counter, number: int | None) -> Parts:
        before = self.marks.spell(counter.before)
        if number is not None:
            return before, str(number).encode()
        return before, Lexeme(dfa=compile_pattern("^(?:0|[1-9][0-9]{0,8})$"))

    def _envelope(self, envelope: Envelope) -> list[Part]:
        """{"name": KEY, "arguments": VALUE}"""
        ws, after = self.space.anywhere, self.space.after
        name, arguments = (f'"{member}"'.encode() for member in (envelope.name, envelope.arguments[0]))
        head = [b"{", *ws, name, *ws, b":", *after, KEY, *ws, b",", *after, arguments, *ws, b":", *after, VALUE]
        return [*head, *ws, b"}"]

    def _shape(self, head: Head) -> ObjectShape:
        """Names and arguments: one tool, once."""
        in_json = isinstance(self.wire.body, JsonBody) and self.wire.body.envelope is not None
        after = head.closes[0].after
        shape = self._shapes.get((in_json, after))
        if shape is None:
            named = sorted(((self._written_name(tool.name), tool) for tool in self.tools), key=itemgetter(0))
            values = tuple(self._arguments(tool.parameters, after) for _, tool in named)
            skin = Skin.JSON_STRING if in_json else Skin.RAW
            names_any = self.settings.names == "any"
            shape = ObjectShape(
                keys=tuple(name for name, _ in named),
                values=values,
                required=(False,) * len(named),
                extra=compile_pattern(_ANY_NAME) if names_any else None,
                extra_values=(self._any_arguments(after),) if names_any else (),
                max_members=1,
                skin=skin,
            )
            self._shapes[in_json, after] = shape
        return shape

    def _written_name(self, name: str) -> bytes:
        body = self.wire.body
        return escaped(name.encode()) if isinstance(body, ElementBody) and body.attribute_escapes else name.encode()

    def _arguments(self, parameters: Parameters, after_head: str) -> Node:
        """The arguments of a tool, built when its name was written."""
        if isinstance(self.wire.body, ElementBody):
            return Lazy(lambda: self._elements(parameters, after_head))
        return parameters.node(self.way)

    def _any_arguments(self, after_head: str) -> Node:
        """The arguments of a tool that nobody declared: any object."""
        parameters, _ = ParameterStore(None, None, Limits()).get({"type": "object"})
        return self._arguments(parameters, after_head)

    def _elements(self, parameters: Parameters, after_head: str) -> Node:
        builder, goal = parameters.builder(self.way)
        settings = self.settings
        free_json, capitals = settings.json_values == "free", settings.literals == "both"
        layout = self._layouts.get(after_head)
        if layout is None:
            layout = self._layouts[after_head] = Elements.layout(self.wire, self.marks, after_head)
        made = Elements(builder, self.wire, self.marks, free_json=free_json, capitals=capitals)
        return made.node(goal, layout)


_NOTHING = Lexeme(words=(b"",))
"""At the end of a call: while arguments are written its frame stays on the stack, where its name is found."""

_ANY_NAME = r"^[\p{L}\p{M}\p{N}_.\-]{1,64}$"
"""A tool that nobody declared may have this name."""

_TRIGGER = rb'\{[ \t\r\n]{0,4}"name"'
"""Begins a JSON object that is a call, where nothing else does."""


class _JsonSpace:
    """Whitespace in the JSON around names, by the policy of the JSON inside (see `json_layouts`)."""

    def __init__(self, policy: str) -> None:
        self.anywhere: Parts = ()
        self.after: Parts = ()
        if policy == "flexible":
            self.anywhere = self.after = (FLEXIBLE,)
        elif policy == "single":
            self.after = (b" ",)
        elif policy != "compact":
            self.anywhere = self.after = (Lexeme(dfa=compile_pattern(policy, search=False)),)


def _block(before: Parts, parts: Parts, shape: ObjectShape | None, marker: Inputs) -> Node:
    return frame(*before, marker, *parts, shape=shape)


def _cut(opener: Inputs) -> tuple[bytes, int | None, Inputs]:
    """(bytes before the first control token, its id, what follows it)."""
    for i, unit in enumerate(opener):
        if unit >= SYMBOL:
            return bytes(opener[:i]), unit - SYMBOL, opener[i + 1 :]
    return bytes(opener), None, ()
