"""The interpreter of whole texts: it shares the stacks of all readings, so that ambiguity costs no more than the text.

The reference interpreter (`oracle`) keeps each reading by itself. Where one text has many, their number can grow with
every byte. Here what was called at one place in the text is one object, whoever called it (a graph-structured stack;
Scott and Johnstone, GLL parsing, 2010). It knows frames without registers and plain lexemes; anything else, such as a
JSON value inside a grammar, it leaves to the oracle.

Sets are kept as dicts, in the order in which things were found: what is explained comes in the same order each time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from .._limits import check_time
from .grammar import Frame, Guard, Lexeme, Node, Select, Skin, Union, resolve
from .oracle import Oracle, Thread, nullable

__all__ = ["Closed", "Reading", "Recogniser"]


@dataclass(eq=False)
class _Called:
    """A node that was called at one place in the text, and by whom: frames, with the state that each goes on in."""

    node: Node
    callers: dict[tuple[_Called | None, int], None] = field(default_factory=dict)


_Place = tuple[_Called, int]
"""A frame, or the automaton of a plain lexeme, in a state."""
_Inner = tuple[_Called, tuple[Thread, ...]]
"""Any other node, with the threads of an oracle of its own."""


class Closed(NamedTuple):
    """A reading with all that is called next. may_end: whether the text may end here."""

    places: dict[_Place, None]
    inner: list[_Inner]
    may_end: bool


@dataclass(eq=False)
class Reading:
    """All readings of a text so far, before anything that is called next."""

    places: dict[_Place, None]
    inner: list[_Inner]
    closed: Closed | None = None


class Recogniser:
    """Interpreter of the grammar under `root`. any_space: as for the oracle."""

    def __init__(self, root: Node, *, any_space: bool = False) -> None:
        self.root, self.any_space = resolve(root), any_space
        self.oracles: dict[int, Oracle] = {}
        self.simple: dict[int, bool] = {}

    def accepts(self, data: bytes | Sequence[int]) -> bool:
        """Whether `data`, bytes or a sequence with symbols among them, is a whole word of the grammar."""
        reading, used = self.run(data)
        return used == len(data) and self.is_accepting(reading)

    def run(self, data: bytes | Sequence[int]) -> tuple[Reading, int]:
        """The readings of the longest viable prefix of `data`, and its length."""
        reading = self.start()
        for i, byte in enumerate(data):
            following = self.advance(reading, byte)
            if following is None:
                return reading, i
            reading = following
        return reading, len(data)

    def start(self) -> Reading:
        reading = Reading({}, [])
        reading.closed = self._closure(reading, [self.root])
        return reading

    def advance(self, reading: Reading, byte: int) -> Reading | None:
        """The readings after one more byte or symbol, None where there are none."""
        check_time()
        places, inner, _ = self.closed(reading)
        following = Reading({}, [])
        for called, state in places:
            node = called.node
            if isinstance(node, Frame):
                edges = node.layout.states[state].edges
                following.places.update(((called, target), None) for edge, target in edges if edge == byte)
            elif byte < 256:
                assert isinstance(node, Lexeme) and node.dfa is not None
                target = node.dfa.step(state, byte)
                if target >= 0:
                    following.places[called, target] = None
        for called, threads in inner:
            after = tuple(self.oracle(called.node).advance(threads, byte))
            if after:
                following.inner.append((called, after))
        return following if following.places or following.inner else None

    def is_accepting(self, reading: Reading) -> bool:
        return self.closed(reading).may_end

    def closed(self, reading: Reading) -> Closed:
        if reading.closed is None:
            reading.closed = self._closure(reading, ())
        return reading.closed

    def _closure(self, reading: Reading, roots: Iterable[Node]) -> Closed:
        seen: dict[_Place, None] = {}
        inner = list(reading.inner)
        todo = list(reading.places)
        called_here: dict[int, _Called] = {}
        accepting = False

        def call(node: Node, caller: tuple[_Called | None, int]) -> None:
            waiting = [node]
            while waiting:
                node = resolve(waiting.pop())
                if isinstance(node, Union):
                    waiting.extend(node.alternatives)
                    continue
                called = called_here.get(id(node))
                if called is None:
                    called = called_here[id(node)] = _Called(node)
                    if self._is_simple(node):
                        todo.append((called, 0))
                    else:
                        inner.append((called, tuple(self.oracle(node).start())))
                called.callers[caller] = None

        for node in roots:
            accepting = accepting or nullable(node)
            call(node, (None, 0))
        ended = [called for called, threads in reading.inner if self.oracle(called.node).is_accepting(threads)]
        while todo or ended:
            if ended:
                for caller, state in ended.pop().callers:
                    if caller is None:
                        accepting = True
                    else:
                        todo.append((caller, state))
                continue
            place = called, state = todo.pop()
            if place in seen:
                continue
            seen[place] = None
            if isinstance(called.node, Lexeme):
                assert called.node.dfa is not None
                # what is called here reads something first: that it may be empty is said at each call
                if called.node.dfa.labels[state] >= 0 and place in reading.places:
                    ended.append(called)
                continue
            assert isinstance(called.node, Frame)
            layout = called.node.layout.states[state]
            if layout.final and called_here.get(id(called.node)) is not called:
                ended.append(called)
            for one in layout.calls:
                assert one.node is not None
                if nullable(one.node):
                    todo.append((called, one.returns))
                call(one.node, (called, one.returns))
        return Closed(seen, inner, accepting)

    def oracle(self, node: Node) -> Oracle:
        """The interpreter of an inner node."""
        if id(node) not in self.oracles:
            self.oracles[id(node)] = Oracle(node, self.any_space)
        return self.oracles[id(node)]

    def _is_simple(self, node: Node) -> bool:
        if id(node) not in self.simple:
            if isinstance(node, Lexeme):
                plain = node.min_chars == 0 and node.max_chars is None and node.remainders is None and not node.words
                found = node.skin is Skin.RAW and plain and node.dfa is not None and not node.dfa.is_empty
            else:
                assert isinstance(node, Frame)
                found = node.shape is None and all(
                    s.guard is Guard.NONE and s.space is None and all(c.select is Select.NODE for c in s.calls)
                    for s in node.layout.states
                )
            self.simple[id(node)] = found
        return self.simple[id(node)]
