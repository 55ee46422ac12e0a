"""The parameters of a tool, compiled once: checked and indexed, and put into normal form once per way of writing.

Compiled parameters are kept by content for later lists, so of a list that changes in one tool only that tool is
compiled again, and sequences, threads and formats share all that was built for them.
"""

from __future__ import annotations

import marshal
import threading
from collections import OrderedDict
from collections.abc import Iterator
from functools import lru_cache
from hashlib import blake2b
from typing import Any, TypeVar

from .._errors import UnsatisfiableError
from .._limits import Limits
from ..automata.grammar import Lazy, Node
from ..schema.build import Builder
from ..schema.compile import normalise, scanned
from ..schema.document import Document, Location
from ..schema.forms import Goal
from ..schema.glance import has_object
from ..schema.notation import Notation
from ..schema.options import Options
from ..schema.report import Finding, Report

__all__ = ["ParameterStore", "Parameters", "Way", "forget", "kept_tools", "way"]

_KEPT = 4096
"""Compiled parameters that are kept for later lists."""

V = TypeVar("V")
_OBJECT = {"type": "object"}
_BRACE = frozenset((ord("{"),))


class Way:
    """A way to write values: schema options, and a notation if it is not JSON. Equal ones are one object."""

    def __init__(self, options: Options, notation: Notation | None) -> None:
        self.options, self.notation = options, notation


@lru_cache(maxsize=1024)
def way(options: Options, notation: Notation | None = None) -> Way:
    return Way(options, notation)


class Parameters:
    """The schema of one tool's arguments."""

    def __init__(self, schema: Any, draft: str | int | None, registry: Any, limits: Limits) -> None:
        self.document: Document = scanned(schema, draft=draft, registry=registry, limits=limits)
        self.lock = threading.RLock()
        self.size = 0
        """Bytes of the schema, in some encoding."""
        self._checked: set[Way] = set()
        self._nodes: dict[Way, Node] = {}
        self._builders: dict[Way, tuple[Builder, Goal]] = {}
        self._reports: dict[Options, Report] = {}

    def check(self, way: Way) -> None:
        """Make sure that some arguments can be written, and nothing is asked that cannot be enforced.

        Raises SchemaError, UnsatisfiableError, LimitError, with pointers into the schema.
        """
        if way not in self._checked:
            hard = self.document.hard or way.options.lenient
            if hard or not has_object(self.document.root.schema, way.options):
                self.builder(way)
            self._checked.add(way)

    def node(self, way: Way) -> Node:
        """The arguments, an object in the notation of `way`; built when they are reached."""
        node = self._nodes.get(way)
        if node is None:
            node = self._nodes[way] = Lazy(lambda: self._build(way), _BRACE)
        return node

    def _build(self, way: Way) -> Node:
        builder, goal = self.builder(way)
        return builder.node(goal)

    def builder(self, way: Way) -> tuple[Builder, Goal]:
        """A builder, and the goal of the arguments, which are an object. Raises as `check` does."""
        with self.lock:
            found = self._builders.get(way)
            if found is None:
                others = (builder for other, (builder, _) in self._builders.items() if other.options == way.options)
                shared = next(others, None)
                report = self._reports.setdefault(way.options, Report())
                normaliser = shared.normaliser if shared else normalise(self.document, way.options, report)
                builder = Builder(normaliser, way.notation, self.lock)
                found = self._builders[way] = builder, self._object(builder)
            return found

    def _object(self, builder: Builder) -> Goal:
        """The goal of the root, if need be without the values that are not objects."""
        root, goal = self.document.root, builder.normaliser.root
        if isinstance(root.schema, dict) and root.schema.get("type") == "object":
            return goal
        goals = builder.normaliser.goals
        goal = goals.conj(goal, goals.at(Location(_OBJECT, root.scope, None, "")))
        if not builder.normaliser.emptiness.inhabited(goal):
            raise UnsatisfiableError("", "arguments are an object, and this allows none")
        return goal

    def findings(self, options: Options) -> Iterator[Finding]:
        """What became of the keywords."""
        yield from self.document.report
        yield from self._reports.get(options, ())


class _Kept(OrderedDict[bytes, V]):
    """What was made for earlier lists, the oldest given up for the newest; for any number of threads."""

    def __setitem__(self, key: bytes, value: V) -> None:
        with _lock:
            super().__setitem__(key, value)
            while len(self) > _KEPT:
                self.popitem(last=False)


_store: _Kept[Parameters] = _Kept()
_lock = threading.Lock()
kept_tools: _Kept[tuple[str, Parameters, str]] = _Kept()
"""Name, compiled parameters and where they stand in a tool, by all that the tool says."""


def forget() -> None:
    """Forget what was made for earlier lists of tools."""
    with _lock:
        _store.clear()
        kept_tools.clear()


class ParameterStore:
    """Compiled parameters by their schema, under one set of options."""

    def __init__(self, draft: str | int | None, registry: Any, limits: Limits) -> None:
        self.draft, self.registry, self.limits = draft, registry, limits
        self._mark = None if registry is not None else repr((draft, limits)).encode()

    def get(self, schema: Any) -> tuple[Parameters, bool]:
        """The compiled parameters, and whether they had been kept. Raises SchemaError, LimitError."""
        try:
            key = None if self._mark is None else self._mark + marshal.dumps(schema, 2)
        except ValueError:  # something that is not plain JSON; the reader says what
            key = None
        if key is None:
            return Parameters(schema, self.draft, self.registry, self.limits), False
        found = _store.get(key)
        if found is not None:
            return found, True
        made = Parameters(schema, self.draft, self.registry, self.limits)
        made.size = len(key)
        _store[key] = made
        return made, False

    def key_of(self, tool: bytes, options: bytes) -> bytes | None:
        """A key of the whole tool, whose bytes are given, compiled under options that are told apart by theirs."""
        if self._mark is None:
            return None
        return blake2b(self._mark + options + tool, digest_size=24).digest()
