"""Layouts written as sequences of parts: markers, keys, values, optional and repeated stretches.

    frame(b"<function=", KEY, b">", VALUE)          a frame that reads these in turn

A part is one of
    bytes, or a tuple of inputs   a fixed text; inputs of control tokens are `symbol(id)`
    Space                         JSON whitespace may stand here
    KEY, VALUE                    what the frame's ObjectShape says
    a Node                        that node
    Maybe, Either, Many           an optional, an alternative, a repeated stretch
    Guarded                       a stretch whose first input needs the leave of the shape's registers

Layouts have no silent moves, so a stretch is built from its end: a state is what may follow, and where several
stretches may follow, their states are merged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..automata.grammar import Call, Frame, Guard, Layout, LayoutState, Lexeme, Node, ObjectShape, Select, Space
from ..automata.oracle import nullable

__all__ = ["KEY", "VALUE", "Either", "Guarded", "Many", "Maybe", "Part", "Parts", "frame", "layout"]

KEY, VALUE = Select.KEY, Select.VALUE


class Maybe:
    """The parts, or nothing."""

    def __init__(self, *parts: Part) -> None:
        self.parts = parts


class Many(Maybe):
    """The parts, any number of times."""


class Either:
    """One of several sequences of parts."""

    def __init__(self, *alternatives: Parts) -> None:
        self.alternatives = alternatives


class Guarded:
    """The parts, which begin with a fixed text whose first input the guard lets in or not."""

    def __init__(self, guard: Guard, *parts: Part) -> None:
        self.guard, self.parts = guard, parts


Part = bytes | tuple[int, ...] | Space | Select | Node | Maybe | Either | Guarded
Parts = Sequence[Part]


def frame(*parts: Part, shape: ObjectShape | None = None) -> Frame:
    """The frame that reads the parts in turn and ends."""
    return Frame(layout(*parts), shape)


def layout(*parts: Part) -> Layout:
    """The layout of such a frame, which frames may share."""
    build = _Builder()
    return build.layout(build.sequence(parts, build.add(_State(final=True))))


@dataclass
class _State:
    """`also`: states all of which this one is at once; a guard concerns the input that leads to the state itself."""

    edges: list[tuple[int, int]] = field(default_factory=list)
    calls: list[tuple[Select, int, Node | None]] = field(default_factory=list)
    also: list[int] = field(default_factory=list)
    guard: Guard = Guard.NONE
    space: Space | None = None
    final: bool = False


class _Builder:
    def __init__(self) -> None:
        self.states: list[_State] = []

    def add(self, state: _State) -> int:
        self.states.append(state)
        return len(self.states) - 1

    def sequence(self, parts: Parts, then: int) -> int:
        """The state from which the parts lead to the state `then`."""
        for part in reversed(parts):
            then = self.part(part, then)
        return then

    def part(self, part: Part, then: int) -> int:
        if isinstance(part, (bytes, tuple)):
            return self.text(part, then, Guard.NONE)
        if isinstance(part, Space):
            return self.add(_State(also=[then], space=part))
        if isinstance(part, Guarded):
            first, *rest = part.parts
            assert isinstance(first, (bytes, tuple)) and first
            return self.text(first, self.sequence(rest, then), part.guard)
        if isinstance(part, Either):
            return self.add(_State(also=[self.sequence(one, then) for one in part.alternatives]))
        if isinstance(part, Many):
            loop = self.add(_State(also=[then]))
            self.states[loop].also.append(self.sequence(part.parts, loop))
            return loop
        if isinstance(part, Maybe):
            return self.add(_State(also=[self.sequence(part.parts, then), then]))
        if isinstance(part, Select):
            return self.add(_State(calls=[(part, then, None)]))
        return self.add(_State(calls=[(Select.NODE, then, part)]))

    def text(self, text: Sequence[int], then: int, guard: Guard) -> int:
        for i in reversed(range(len(text))):
            if i == 0 and guard is not Guard.NONE:
                then = self.add(_State(also=[then], guard=guard))
            then = self.add(_State(edges=[(text[i], then)]))
        return then

    def whole(self, place: int) -> _State:
        """The state with all that it also is. Whitespace that may stand in one part of it may stand in it."""
        result = _State(guard=self.states[place].guard)
        seen = [place]
        for here in seen:  # grows while it is read
            state = self.states[here]
            result.edges += [edge for edge in state.edges if edge not in result.edges]
            result.calls += [call for call in state.calls if call not in result.calls]
            result.space = result.space or state.space
            result.final = result.final or state.final
            seen += [other for other in state.also if other not in seen]
        return result

    def ends(self, place: int) -> bool:
        """Whether the frame may end there: at once, or after a text that may be empty."""
        state = self.whole(place)
        empty = (then for _, then, node in state.calls if isinstance(node, Lexeme) and nullable(node))
        return state.final or any(map(self.ends, empty))

    def layout(self, start: int) -> Layout:
        """The states that are reached from `start`, which becomes 0."""
        place = {start: 0}
        order, states = [start], []
        for here in order:  # grows while it is read
            state = self.whole(here)
            state.final = self.ends(here)
            states.append(state)
            for target in (*(t for _, t in state.edges), *(t for _, t, _ in state.calls)):
                if target not in place:
                    place[target] = len(order)
                    order.append(target)
        return Layout(
            tuple(
                LayoutState(
                    tuple((unit, place[target]) for unit, target in state.edges),
                    tuple(Call(select, place[target], node) for select, target, node in state.calls),
                    state.guard,
                    state.space,
                    state.final,
                )
                for state in states
            )
        )
