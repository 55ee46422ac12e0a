"""Layouts of JSON objects and arrays (RFC 8259 sections 2, 4, 5) under each whitespace policy.

flexible  JSON whitespace between all tokens, each run bounded so that no model can stall in it (see `Space`)
compact   no whitespace
single    exactly one space after ':' and ','
a pattern whitespace between tokens is what the (ECMA) pattern matches as a whole
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from ..languages.dfa import DFA
from .grammar import NOWHERE, Call, Guard, Layout, LayoutState, Lexeme, Select, Space

__all__ = ["array_layout", "distinct_layout", "object_layout", "without_repeats"]

FLEXIBLE = Space()
QUOTE, COMMA, COLON = ord('"'), ord(","), ord(":")


@lru_cache(maxsize=64)
def object_layout(whitespace: str = "flexible") -> Layout:
    """`{` members `}`: keys, values and the closing brace are governed by an ObjectShape."""
    return _members(whitespace, ord("{"), ord("}"), keyed=True)


@lru_cache(maxsize=64)
def array_layout(whitespace: str = "flexible") -> Layout:
    """`[` items `]`, governed by an ArrayShape."""
    return _members(whitespace, ord("["), ord("]"), keyed=False)


@lru_cache(maxsize=256)
def without_repeats(layout: Layout) -> Layout:
    """The layout of an array in which no item may equal an earlier one."""
    states = []
    for state in layout.states:
        calls = (replace(call, equal=NOWHERE) if call.select is Select.ITEM else call for call in state.calls)
        states.append(replace(state, calls=tuple(calls)))
    return Layout(tuple(states))


@lru_cache(maxsize=64)
def distinct_layout(whitespace: str = "flexible") -> Layout:
    """`[` strings `]`, all different: the keys of an ObjectShape, without values."""
    return _members(whitespace, ord("["), ord("]"), keyed=False, item=Select.KEY)


def _members(whitespace: str, opening: int, closing: int, *, keyed: bool, item: Select = Select.ITEM) -> Layout:
    """open ws (close | member (ws ',' ws member)* ws close), where member = key ws ':' ws value, or an item."""
    build = _Builder(whitespace)
    end = build.state(final=True, guard=Guard.CLOSE)
    after_value = build.state(ws=build.anywhere)
    before_value = build.state(ws=build.after_mark)
    build.call(before_value, Select.VALUE if keyed else item, after_value)
    if keyed:
        after_key = build.state(ws=build.anywhere)
        build.edge(after_key, COLON, before_value)
        before_first = build.state(ws=build.anywhere)
        build.call(before_first, Select.KEY, after_key)
        next_member = build.state(ws=build.after_mark, guard=Guard.MORE)
        build.call(next_member, Select.KEY, after_key)
    else:
        before_first = build.state(ws=build.anywhere)
        build.call(before_first, item, after_value)
        next_member = build.state(ws=build.after_mark, guard=Guard.MORE)
        build.call(next_member, item, after_value)
    build.edge(before_first, closing, end)
    build.edge(after_value, COMMA, next_member)
    build.edge(after_value, closing, end)
    start = build.state()
    build.edge(start, opening, before_first)
    return build.layout(start)


class _Builder:
    """Collects states; a state with whitespace before it is split in two where the whitespace is not a bounded loop."""

    anywhere = "anywhere"
    """Between any two tokens."""
    after_mark = "after_mark"
    """After ':' and ','."""

    def __init__(self, whitespace: str) -> None:
        self.policy = whitespace
        self.edges: list[list[tuple[int, int]]] = []
        self.calls: list[list[Call]] = []
        self.flags: list[tuple[Guard, Space | None, bool]] = []
        self.body: dict[int, int] = {}
        """State with a separate whitespace part in front -> the state that carries the edges and calls."""
        pattern = None if whitespace in ("flexible", "compact", "single") else whitespace
        self.lexeme = Lexeme(dfa=_whitespace_language(pattern)) if pattern is not None else None

    def state(self, *, ws: str | None = None, guard: Guard = Guard.NONE, final: bool = False) -> int:
        space = FLEXIBLE if ws is not None and self.policy == "flexible" else None
        this = self._new(guard, space, final)
        if ws is not None and self.lexeme is not None:
            self.body[this] = self._new(Guard.NONE, None, False)
            self.calls[this].append(Call(Select.NODE, self.body[this], self.lexeme))
        elif ws == self.after_mark and self.policy == "single":
            self.body[this] = self._new(Guard.NONE, None, False)
            self.edges[this].append((ord(" "), self.body[this]))
        return this

    def edge(self, source: int, byte: int, target: int) -> None:
        self.edges[self.body.get(source, source)].append((byte, target))

    def call(self, source: int, select: Select, returns: int) -> None:
        self.calls[self.body.get(source, source)].append(Call(select, returns))

    def layout(self, start: int) -> Layout:
        """The states renumbered so that `start` is 0."""
        order = [start, *(s for s in range(len(self.flags)) if s != start)]
        place = {old: new for new, old in enumerate(order)}
        return Layout(
            tuple(
                LayoutState(
                    edges=tuple((b, place[t]) for b, t in self.edges[s]),
                    calls=tuple(Call(c.select, place[c.returns], c.node) for c in self.calls[s]),
                    guard=self.flags[s][0],
                    space=self.flags[s][1],
                    final=self.flags[s][2],
                )
                for s in order
            )
        )

    def _new(self, guard: Guard, space: Space | None, final: bool) -> int:
        self.edges.append([])
        self.calls.append([])
        self.flags.append((guard, space, final))
        return len(self.flags) - 1


def _whitespace_language(pattern: str) -> DFA:
    from .._errors import GrammarError
    from ..languages.operations import is_subset
    from ..languages.pattern import compile_pattern

    dfa = compile_pattern(pattern, search=False)
    if dfa.is_empty or not is_subset(dfa, compile_pattern(r"[ \t\n\r]*", search=False)):
        raise GrammarError("a whitespace pattern may match JSON whitespace only (space, \\t, \\n, \\r)", pattern, 0)
    return dfa
