"""Patterns to automata: the entry points, and the cache of compiled patterns.

A pattern takes the way  text -> syntax tree (parser) -> automaton over character classes (derivatives) -> trim byte DFA
(minimize, utf8). Counts that only bound the length of the whole string are kept out of the automaton on request.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import TypeVar

from .._limits import Limits
from . import derivatives
from .dfa import DFA
from .parser import parse
from .syntax import Kind, Node, concatenate, repeat
from .utf8 import to_bytes

__all__ = ["compile_node", "compile_pattern", "compile_string_pattern"]

T = TypeVar("T")
_CACHE_BYTES = 64 << 20
_LEAST_COUNT = 32
"""Counts from which a bound on the length is preferred to states, when other characters surround the repeat."""


class _Cache:
    """Least recently used results, bounded by the bytes of their tables."""

    def __init__(self, capacity: int) -> None:
        self.capacity, self.size = capacity, 0
        self.items: OrderedDict[Hashable, tuple[object, int]] = OrderedDict()
        self.lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], T], dfa_of: Callable[[T], DFA]) -> T:
        with self.lock:
            found = self.items.get(key)
            if found is not None:
                self.items.move_to_end(key)
                return found[0]  # type: ignore[return-value]
        made = make()
        cost = 2000 + dfa_of(made).table.nbytes
        with self.lock:
            if key not in self.items and cost < self.capacity:
                self.items[key] = made, cost
                self.size += cost
                while self.size > self.capacity:
                    self.size -= self.items.popitem(last=False)[1][1]
        return made


_cache = _Cache(_CACHE_BYTES)


def compile_node(
    node: Node, *, search: bool = False, limits: Limits | None = None, name: str | None = None, source: str = ""
) -> DFA:
    """The DFA of a syntax tree. source: the text to quote in errors."""
    max_states = (limits or Limits()).max_states
    return to_bytes(derivatives.build(node, search=search, max_states=max_states, source=source), max_states, name)


def compile_pattern(pattern: str, *, dialect: str = "ecma", search: bool = True, limits: Limits | None = None) -> DFA:
    r"""The language of a pattern as UTF-8.

    dialect: "ecma" (ECMA-262 with the u flag, as in JSON Schema) or "python" (the `re` module, str patterns).
    search:  True: strings in which the pattern matches somewhere; False: strings that it matches whole.
    Raises GrammarError where the text is wrong or not regular, LimitError past limits.max_states. Results are cached.
    """
    limits = limits or Limits()

    def make() -> DFA:
        node = parse(pattern, dialect=dialect, limits=limits)
        return compile_node(node, search=search, limits=limits, source=pattern)

    return _cache.get((pattern, dialect, search, limits), make, lambda dfa: dfa)


def compile_string_pattern(
    pattern: str, *, dialect: str = "ecma", search: bool = True, limits: Limits | None = None
) -> tuple[DFA, int, int | None]:
    """(dfa, least, most): the language of `pattern` is that of dfa among strings of least to most characters.

    Splits off the count of a pattern such as ^[a-z]{1,64}$ or ^[A-Z][a-z]{0,4000}$: where all else has a fixed length,
    the count of the only repeat is a bound on the whole. Other patterns give (compile_pattern(...), 0, None).
    """
    limits = limits or Limits()

    def make() -> tuple[DFA, int, int | None]:
        node = parse(pattern, dialect=dialect, limits=limits)
        split = _split_length(node, search)
        body, least, most = split or (node, 0, None)
        return compile_node(body, search=search and split is None, limits=limits, source=pattern), least, most

    return _cache.get(("string", pattern, dialect, search, limits), make, lambda found: found[0])


def _split_length(node: Node, search: bool) -> tuple[Node, int, int | None] | None:
    parts = list(node.a) if node.kind == Kind.CAT else [node]
    first, last = 0, len(parts)
    while first < last and parts[first].kind == Kind.START:
        first += 1
    while last > first and parts[last - 1].kind == Kind.END:
        last -= 1
    if search and (first == 0 or last == len(parts)):
        return None
    parts = parts[first:last]
    repeats = [i for i, part in enumerate(parts) if part.kind == Kind.REPEAT and part.length is None]
    if not repeats:
        repeats = [i for i, part in enumerate(parts) if part.kind == Kind.REPEAT and part.a[0].kind == Kind.CHARS]
    if len(repeats) != 1 or not all(part.pure for part in parts):
        return None
    place = repeats[0]
    body, low, high = parts[place].a
    others = [part.length for i, part in enumerate(parts) if i != place]
    if body.kind != Kind.CHARS or None in others:
        return None
    if others and max(low, high or 0) < _LEAST_COUNT:
        return None
    fixed = sum(length for length in others if length is not None)
    parts[place] = repeat(body, 0, None)
    return concatenate(parts), low + fixed, None if high is None else high + fixed
