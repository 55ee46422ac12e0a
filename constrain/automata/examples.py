"""Random outputs of a grammar that look like what a person would write, for documentation, tests and fuzzing.

The interpreter says what may come next; this module only prefers. Every byte that is taken was asked of the
interpreter, so whatever is preferred, the output is one of the grammar's. Strings are of plain words and printable
ASCII, numbers are short, objects get about half of their optional members and few additional ones, and the deeper a
value lies the sooner it ends. When the room is used up, the rest is a shortest completion, so an output always ends.

Nothing here is uniform: outputs are examples, not draws from a distribution.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Iterable, Iterator, Sequence
from random import Random

from ..languages.words import distances
from .grammar import ArrayShape, Frame, Lexeme, ObjectShape, Skin
from .oracle import DONE, Items, Members, Oracle, Thread, _KeyLexeme
from .shortest import Completer, spelled

__all__ = ["example"]

_PLAIN_WORDS = (
    "amber", "birch", "cedar", "delta", "ember", "flint", "grove", "harbor", "iris", "juniper", "kite", "linden",
    "maple", "north", "olive", "pine", "quartz", "river", "stone", "tide", "umber", "vale", "willow", "zinc",
)  # fmt: skip
_TYPICAL = (
    "river@example.com", "https://example.com/river?page=2", "/river/2", "example.com", "192.0.2.7", "2001:db8::7",
    "2024-05-17", "2024-05-17T09:30:00Z", "09:30:00Z", "P3DT12H", "https://example.com/{river}", "^[a-z]+$", "0/river",
)  # fmt: skip
"""One text or two of each common format."""
_LONG = 24
"""Characters after which a string heads for its end."""
_SOME_DIGITS = 8
"""Digits after which a number heads for a multiple, or fewer."""
_PATIENCE = 6
"""Plain words that are tried before a string is made of letters."""
_MOST_READINGS = 32
"""Parallel readings that are kept; each of them leads to an output, whatever becomes of the others."""
_DIGITS = frozenset(b"0123456789")
_NUMERIC = frozenset(b"0123456789+-.eE")


def _letter_weights() -> list[float]:
    weights = [0.001] * 256
    for char in string.printable[:-5]:
        weights[ord(char)] = 0.2
    for char in string.ascii_uppercase + "-_":
        weights[ord(char)] = 0.5
    for char in string.digits:
        weights[ord(char)] = 2.0
    for char in string.ascii_lowercase:
        weights[ord(char)] = 6.0
    return weights


_TEXT = _letter_weights()
_NUMBER = [
    8.0 if b in b"0123456789" else {ord("."): 1.5, ord("-"): 1.5}.get(b, 0.05 if b in _NUMERIC else 0.001)
    for b in range(256)
]
_OPENING = frozenset(b"{[")
_BEGINNING = {ord('"'): 4.0, **dict.fromkeys(b"tfn", 0.7), **dict.fromkeys(b"0123456789-", 0.3)}
_PRINTED = range(0x21, 0x7F)
_OTHERS = (0x20, *range(0x20), *range(0x7F, 256))


def example(oracle: Oracle, rng: Random, max_bytes: int, symbols: Sequence[int] = ()) -> list[int]:
    """A random output, as bytes and symbols. max_bytes: after so many, nothing more is chosen at random; what follows
    is the least that completes the output. symbols: those that the grammar names.
    """
    return _Writer(oracle, rng, max_bytes, symbols).write()


class _Writer:
    def __init__(self, oracle: Oracle, rng: Random, max_bytes: int, symbols: Sequence[int]) -> None:
        self.oracle, self.rng, self.max_bytes, self.symbols = oracle, rng, max_bytes, symbols
        self.completer = Completer(oracle)
        self.text: list[int] = []
        self.plan = b""
        """What is to be written next, as long as the interpreter agrees."""
        self.distances: dict[int, list[int]] = {}

    def write(self) -> list[int]:
        threads = self.oracle.start()
        while len(self.text) < self.max_bytes:
            views = list(dict.fromkeys(u for thread in threads for u in self.oracle.closure(thread)))
            going = [view for view in views if view is not DONE]
            if DONE in views and (not going or not self._goes_on(going)):
                return self.text
            step = self._step(threads, going)
            if step is None:
                break
            byte, threads = step
            if len(threads) > _MOST_READINGS:
                threads = self.rng.sample(threads, _MOST_READINGS)
            self.text.append(byte)
        rest = self.completer.completion(threads)
        assert rest is not None, f"no completion after {self.text}"
        return [*self.text, *rest]

    # One byte --------------------------------------------------------------------------------------------------------

    def _step(self, threads: list[Thread], views: list[Thread]) -> tuple[int, list[Thread]] | None:
        """The next byte and the threads behind it; None where only the end may follow."""
        if self.plan:
            byte, self.plan = self.plan[0], self.plan[1:]
            following = self._advance(threads, byte)
            if following:
                return byte, following
            self.plan = b""
        inside = [view for view in views if isinstance(view.node, Lexeme) and view.text.content + view.text.escape]
        known = set(inside)
        outside = [view for view in views if view not in known]
        groups = [inside, outside] if inside and self._goes_on(inside) else [outside, inside]
        for group in groups:
            for view in self.rng.sample(group, len(group)):
                for byte in self._wishes(view):
                    following = self._advance(threads, byte)
                    if following:
                        return byte, following
        for byte in (*_PRINTED, *self.symbols, *_OTHERS):
            following = self._advance(threads, byte)
            if following:
                return byte, following
        return None

    def _advance(self, threads: Iterable[Thread], byte: int) -> list[Thread]:
        return self.oracle.advance(threads, byte)

    def _goes_on(self, views: list[Thread]) -> bool:
        """Whether a lexeme that may end here goes on."""
        content = next((v.text.content for v in views if isinstance(v.node, Lexeme) and v.node.dfa is not None), None)
        if content is None:
            return self.rng.random() < 0.5
        if _NUMERIC.issuperset(content):
            return self.rng.random() < (0.4 if len(content) < 3 else 0.15)
        return self.rng.random() < (0.85 if len(content) < _LONG else 0.2)

    def _wishes(self, view: Thread) -> Iterator[int]:
        """Bytes in the order in which they are to be tried; not all of them can follow."""
        if isinstance(view.node, Lexeme):
            if view.node.skin is Skin.JSON_STRING:
                return self._in_string(view)
            return self._in_text(view)
        return self._between(view)

    # Lexemes ---------------------------------------------------------------------------------------------------------

    def _in_string(self, view: Thread) -> Iterator[int]:
        content, escape = view.text
        node = view.lexeme
        if escape:
            yield from self.rng.sample(b'"\\/nt', 5)
            yield from self.rng.sample(b"u0123456789abcdef", 17)
            return
        if not content or node.dfa is None:
            self._plan_string(view)
            if self.plan:
                byte, self.plan = self.plan[0], self.plan[1:]
                yield byte
                self.plan = b""  # it was refused
        state = view.text.ahead.state
        if state >= 0 and node.dfa is not None and node.dfa.labels[state] >= 0:
            chars = len(content)
            if self.rng.random() < (0.15 if chars < _LONG else 0.9):
                yield ord('"')
        yield from self._letters(node, content, state, _TEXT)
        yield ord('"')

    def _plan_string(self, view: Thread) -> None:
        """Plan the rest of a listed word, or a plain or typical one that the lexeme has, if one is found soon."""
        node, content = view.lexeme, view.text.content
        words = [word for word in node.words if word.startswith(content)]
        if isinstance(node, _KeyLexeme):
            _, registers = view.caller.object
            words = [word for word in words if word not in registers.emitted]
        if words and (node.dfa is None or self.rng.random() < 0.9):
            self.plan = spelled(self.rng.choice(words)[len(content) :]) + b'"'
            return
        plain = self.rng.sample(_PLAIN_WORDS, _PATIENCE)
        if self.rng.random() < 0.2:
            plain[0] += " " + plain[1]
        bounded = node.min_chars or node.max_chars is not None
        typical = [] if bounded or self.rng.random() < 0.2 else self.rng.sample(_TYPICAL, len(_TYPICAL))
        for word in (*plain, *typical):
            most = len(word) if node.max_chars is None else node.max_chars
            if node.dfa is not None and node.min_chars <= len(word) <= most and node.dfa.accepts(word.encode()):
                self.plan = spelled(word.encode()) + b'"'
                return

    def _in_text(self, view: Thread) -> Iterator[int]:
        node, content = view.lexeme, view.text.content
        words = [word for word in node.words if word.startswith(content) and word != content]
        if words and (node.dfa is None or self.rng.random() < 0.5):
            yield self.rng.choice(words)[len(content)]
            return
        state = view.text.ahead.state
        yield from self._letters(node, content, state, _NUMBER if _NUMERIC.issuperset(content) else _TEXT)

    def _letters(self, node: Lexeme, content: bytes, state: int, weights: list[float]) -> Iterator[int]:
        """Bytes that the automaton reads from `state`, at random by weight; past the usual length those first that
        bring the end nearer.
        """
        if state < 0 or node.dfa is None:
            return
        if node.remainders is not None and len(content) >= self.rng.randrange(1, _SOME_DIGITS):
            # few numbers are multiples: towards the next one
            _, remainder = node.remainders.run(node.dfa, content)
            yield from next(node.remainders.texts(node.dfa, state, remainder), b"")[:1]
            return
        targets = node.dfa.table[state][node.dfa.classes].tolist()
        viable = [byte for byte, target in enumerate(targets) if target >= 0]
        order = self._shuffled(viable, weights.__getitem__)
        if weights is _NUMBER and node.dfa.labels[state] < 0 and self.rng.random() < 0.8:
            # not a number yet: more digits before the point, else an exponent
            left = self._distances(node)
            order.sort(key=lambda byte: (byte not in _DIGITS or b"." in content, left[targets[byte]]))
        elif len(content) >= max(_LONG, node.min_chars):
            left = self._distances(node)
            order.sort(key=lambda byte: left[targets[byte]])
        yield from order

    def _distances(self, node: Lexeme) -> list[int]:
        assert node.dfa is not None
        found = self.distances.get(id(node.dfa))
        if found is None:
            found = self.distances[id(node.dfa)] = distances(node.dfa)
        return found

    # Frames ----------------------------------------------------------------------------------------------------------

    def _between(self, view: Thread) -> Iterator[int]:
        """Bytes between lexemes: brackets, marks, and what values begin with."""
        closing: frozenset[int] = frozenset()
        if isinstance(view.node, Frame):
            states = view.frame.layout.states
            edges = view.layout_state.edges
            closing = frozenset(byte for byte, target in edges if states[target].final)
        viable = [byte for byte in (*_PRINTED, *self.symbols) if self._advance((view,), byte)]
        viable = viable or [byte for byte in _OTHERS if self._advance((view,), byte)]
        if closing and len(viable) > 1:
            wanted = self._wants_more(view)
            viable = [byte for byte in viable if (byte not in closing) == wanted] or viable
        depth = max(view.depth, 0)
        nested = 1.5 * 0.6**depth

        def weight(byte: int) -> float:
            return nested if byte in _OPENING else _BEGINNING.get(byte, 0.5)

        yield from self._shuffled(viable, weight)

    def _wants_more(self, view: Thread) -> bool:
        """Whether an object or array that may end gets another member or item."""
        shape, registers = view.frame.shape, view.registers
        chance = 0.5
        if isinstance(shape, ObjectShape) and isinstance(registers, Members):
            left = [k for k, v in zip(shape.keys, shape.values, strict=True) if v is not None]
            left = [k for k in left if k not in registers.emitted]
            chance = 0.6 if left else 0.5 / (1 + len(registers.emitted)) if not shape.keys else 0.05
        elif isinstance(shape, ArrayShape) and isinstance(registers, Items):
            chance = 0.7 if registers.begun < 2 else 0.3
        fill = len(self.text) / self.max_bytes
        return self.rng.random() < chance * 0.9 ** max(view.depth, 0) * (1 - fill)

    def _shuffled(self, items: Iterable[int], weight: Callable[[int], float]) -> list[int]:
        """The items in a random order in which heavy ones come early (Efraimidis and Spirakis)."""
        return sorted(items, key=lambda item: self.rng.random() ** (1 / weight(item)), reverse=True)
