"""A second interpreter, for grammars: it shares the stacks of all readings, so that ambiguity costs no more than the
text.

The reference interpreter (`oracle`) keeps each reading by itself. Where one text has many, their number can grow with
every byte. Here what was called at one place in the text is one object, whoever called it (a graph-structured stack;
Scott and Johnstone, GLL parsing, 2010). It knows frames without registers and plain lexemes; anything else, such as a
JSON value inside a grammar, it leaves to the oracle.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from .._limits import check_time
from .grammar import Frame, Guard, Lexeme, Node, Select, Skin, Union, resolve
from .oracle import Oracle, Thread, nullable

__all__ = ["Reading", "Recogniser"]


@dataclass(eq=False)
class _Called:
    """A node that was called at one place in the text, and by whom: frames, with the state that each goes on in."""

    node: Node
    callers: set[tuple[_Called | None, int]] = field(default_factory=set)


_Place = tuple[_Called, int]
"""A frame, or the automaton of a plain lexeme, in a state."""
_Inner = tuple[_Called, tuple[Thread, ...]]
"""Any other node, with the threads of an oracle of its own."""


@dataclass(eq=False)
class Reading:
    """All readings of a text so far, before anything that is called next."""

    places: set[_Place]
    inner: list[_Inner]
    closed: tuple[set[_Place], list[_Inner], bool] | None = None


class Recogniser:
    """Interpreter of the grammar under `root`."""

    def __init__(self, root: Node) -> None:
        self.root = resolve(root)
        self.oracles: dict[int, Oracle] = {}
        self.simple: dict[int, bool] = {}

    def accepts(self, data: bytes | Sequence[int]) -> bool:
        """Whether `data`, bytes or a sequence with symbols among them, is a whole word of the grammar."""
        reading = self.start()
        for byte in data:
            check_time()
            following = self.advance(reading, byte)
            if following is None:
                return False
            reading = following
        return self.is_accepting(reading)

    def start(self) -> Reading:
        reading = Reading(set(), [])
        reading.closed = self._closure(reading, [self.root])
        return reading

    def advance(self, reading: Reading, byte: int) -> Reading | None:
        """The readings after one more byte or symbol, None where there are none."""
        places, inner, _ = self._closed(reading)
        following = Reading(set(), [])
        for called, state in places:
            node = called.node
            if isinstance(node, Frame):
                following.places.update(
                    (called, target) for edge, target in node.layout.states[state].edges if edge == byte
                )
            elif byte < 256:
                assert isinstance(node, Lexeme) and node.dfa is not None
                target = node.dfa.step(state, byte)
                if target >= 0:
                    following.places.add((called, target))
        for called, threads in inner:
            after = tuple(self._oracle(called.node).advance(threads, byte))
            if after:
                following.inner.append((called, after))
        return following if following.places or following.inner else None

    def is_accepting(self, reading: Reading) -> bool:
        return self._closed(reading)[2]

    def _closed(self, reading: Reading) -> tuple[set[_Place], list[_Inner], bool]:
        if reading.closed is None:
            reading.closed = self._closure(reading, ())
        return reading.closed

    def _closure(self, reading: Reading, roots: Iterable[Node]) -> tuple[set[_Place], list[_Inner], bool]:
        """Places and inner nodes with all that is called there, and whether the text may end."""
        seen: set[_Place] = set()
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
                        inner.append((called, tuple(self._oracle(node).start())))
                called.callers.add(caller)

        for node in roots:
            accepting = accepting or nullable(node)
            call(node, (None, 0))
        ended = [called for called, threads in reading.inner if self._oracle(called.node).is_accepting(threads)]
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
            seen.add(place)
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
        return seen, inner, accepting

    def _oracle(self, node: Node) -> Oracle:
        if id(node) not in self.oracles:
            self.oracles[id(node)] = Oracle(node)
        return self.oracles[id(node)]

    def _is_simple(self, node: Node) -> bool:
        if id(node) not in self.simple:
            if isinstance(node, Lexeme):
                plain = node.min_chars == 0 and node.max_chars is None and not node.words
                found = node.skin is Skin.RAW and plain and node.dfa is not None and not node.dfa.is_empty
            else:
                assert isinstance(node, Frame)
                found = node.shape is None and all(
                    s.guard is Guard.NONE and s.space is None and all(c.select is Select.NODE for c in s.calls)
                    for s in node.layout.states
                )
            self.simple[id(node)] = found
        return self.simple[id(node)]
