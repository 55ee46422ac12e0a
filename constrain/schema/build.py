"""From forms to grammar nodes, each built when the engine first reaches it.

One goal is one node, so recursion and sharing come for free. Anything that costs work sits behind a `Lazy`, with
the bytes that its value can begin with where they are cheap to tell. Values of which no more than a type is said are
built once for all compilations (`commons`). How values are written is the `Notation`'s business.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

from .._limits import timed
from ..automata.grammar import (
    ArrayShape,
    Diagram,
    Frame,
    Lazy,
    Lexeme,
    Node,
    ObjectShape,
    Select,
    Union,
)
from ..automata.json_layouts import without_repeats
from ..languages import operations
from ..languages.dfa import DFA
from .commons import commons, lone_type
from .counting import unrolled
from .forms import FALSE, NULL, TRUE, Form, Goal, Items, Kind, Members
from .goals import fields
from .normal import Normaliser
from .notation import QUOTE, Notation, json_notation
from .numbers import Numbers
from .plans import Plan
from .strings import Strings, encoded

__all__ = ["MOST_KNOWN", "Builder", "Scalars"]

MOST_KNOWN, _MOST_WORDS = 2000, 100
_LITERALS = ((FALSE, b"false"), (NULL, b"null"), (TRUE, b"true"))
_NUMERIC = b"-0123456789"
_FIRST = {
    "null": b"n", "boolean": b"tf", "string": b'"', "number": _NUMERIC, "integer": _NUMERIC,
    "array": b"[", "object": b"{",
}  # fmt: skip


Scalars = tuple[int, Strings, Numbers]
"""All that a value without members and items can be."""


class Builder:
    """Nodes of the goals of one compilation in one notation. `lock` guards the compilation; builders may share it.

    known: nodes of scalar values of earlier compilations with the same options and limits, which are the same for all.
    """

    def __init__(
        self,
        normaliser: Normaliser,
        notation: Notation | None = None,
        lock: threading.RLock | None = None,
        known: dict[Scalars, Node] | None = None,
        *,
        is_common: bool = False,
    ) -> None:
        self.normaliser = normaliser
        self.notation = notation or json_notation(normaliser.options.whitespace)
        self.lock = lock or threading.RLock()
        self.known: dict[Scalars, Node] = {} if known is None else known
        self.ordered = normaliser.options.property_order == "schema"
        self.commons = None if is_common else commons(normaliser.options, self.notation, normaliser.oldest)
        self._nodes: dict[Goal, Node] = {}
        self._promises: dict[Goal, Node] = {}
        self._strings: dict[Strings, list[Node]] = {}
        self._numbers: dict[Any, list[Node]] = {}

    def node(self, goal: Goal) -> Node:
        """The node of an inhabited goal."""
        with self.lock:
            node = self._nodes.get(goal) or self._common(goal)
            if node is None:
                with timed(self.normaliser.document.limits):
                    node = self._nodes[goal] = self._built(self.normaliser.settled(goal))
            return node

    def _built(self, form: Form) -> Node:
        key = self.scalars_of(form)
        node = None if key is None else self.known.get(key)
        if node is None:
            nodes = self._alternatives(form)
            assert nodes, "only inhabited goals have nodes"
            node = nodes[0] if len(nodes) == 1 else Union(tuple(nodes))
            if key is not None and len(self.known) < MOST_KNOWN:
                self.known[key] = node
        return node

    def of_type(self, name: str) -> Node:
        """The node of the values of a type."""
        return self._built(self.normaliser.of_types(name))

    def _common(self, goal: Goal) -> Node | None:
        """The node of a goal that says no more than a type, or nothing."""
        if self.commons is None or self.normaliser.repeats.met:
            return None
        if goal.kind == Kind.ALL:
            return self.commons.anything
        named = lone_type(goal)
        return None if named is None else self.commons.of.get(named)

    def scalars_of(self, form: Form) -> Scalars | None:
        """What stands for the form in any compilation; None where it has members or items, or is counted."""
        if form.arrays or form.objects or self.normaliser.repeats.met or len(form.strings.words) > _MOST_WORDS:
            return None
        return form.bits, form.strings, form.numbers

    def later(self, goal: Goal) -> Node:
        """The node, or a promise of it."""
        node = self._nodes.get(goal) or self._promises.get(goal) or self._common(goal)
        if node is None:
            first = first_bytes(goal)
            if first is not None and self.notation.quote != QUOTE and QUOTE in first:
                first = first - {QUOTE} | {self.notation.quote}
            node = self._promises[goal] = Lazy(lambda: self.node(goal), first)
        return node

    def _alternatives(self, form: Form) -> list[Node]:
        written = self._strings.get(form.strings)
        if written is None:
            written = self._strings[form.strings] = [self.notation.string(one) for one in self.strings(form.strings)]
        return [*self.scalars(form), *written, *self.arrays(form), *self.objects(form)]

    def scalars(self, form: Form) -> list[Node]:
        """null, true, false, and numbers."""
        nodes: list[Node] = []
        if form.bits:
            nodes.append(Lexeme(words=tuple(word for bit, word in _LITERALS if form.bits & bit)))
        if (form.numbers.values or form.numbers.clauses) and not self.normaliser.numerals.is_empty(form.numbers):
            numbers = self._numbers.get(form.numbers)
            if numbers is None:
                count = self.normaliser.repeats.count_numbers(form.numbers) if self.normaliser.repeats.met else 0
                numbers = self._numbers[form.numbers] = [
                    Lexeme(dfa=self.notation.number(dfa), values=count)
                    if remainders is None
                    else Lexeme(dfa=dfa, values=count, remainders=remainders)
                    for dfa, remainders in self.normaliser.numerals.languages(form.numbers)
                ]
            nodes += numbers
        return nodes

    def arrays(self, form: Form) -> list[Node]:
        inhabited = self.normaliser.emptiness.items
        return [self._array(items) for items in form.arrays if inhabited(items)]

    def objects(self, form: Form) -> list[Node]:
        inhabited = self.normaliser.emptiness.members
        return [
            Frame(self.notation.object_layout, self.shape(members, self.later))
            for members in form.objects
            if inhabited(members)
        ]

    # strings

    def strings(self, strings: Strings) -> list[Lexeme]:
        """The strings themselves, as raw lexemes: one where one can hold it all, because clauses without bounds in
        registers are united in one automaton.
        """
        lexicon = self.normaliser.lexicon
        listed = tuple(sorted(encoded(strings.words)))
        plain: DFA | None = None
        bounded: list[tuple[DFA, int, int | None]] = []
        for clause in strings.clauses:
            if lexicon._clause_is_empty(clause):
                continue
            dfa, low, high = lexicon.lexeme(clause)
            if low or high is not None:
                bounded.append((dfa, low, high))
            else:
                plain = dfa if plain is None else operations.union(plain, dfa, lexicon.limits)
        if plain is not None:
            bounded.insert(0, (plain, 0, None))
        if not bounded:
            return [Lexeme(words=listed)] if listed else []
        lexemes: list[Lexeme] = []
        for dfa, low, high in bounded:
            lexemes.append(Lexeme(listed, dfa, low, high))
            listed = ()
        return lexemes

    # arrays

    def _array(self, items: Items) -> Node:
        inhabited = self.normaliser.emptiness.inhabited
        if items.contains or items.automaton is not None:
            automaton = self.normaliser.algebra.counting(items)
            layout = self.notation.array_layout
            if items.unique is None and items.repeated is None:
                return Frame(unrolled(layout, automaton, inhabited, self.later))
            layout = unrolled(layout, automaton, inhabited, self.later, Select.ITEM)
            if items.unique is not None:
                tight = items.tight
                return Frame(without_repeats(layout), ArrayShape(compared=True, endless=not tight, tight=tight))
            if automaton.bounded:
                return Frame(layout, ArrayShape(compared=True, endless=True))
            shape = ArrayShape((), self.later(items.rest), items.low, items.high, compared=True, endless=True)
            return Frame(layout, shape)
        if self.normaliser.repeats.is_of_strings(items):
            return self._distinct_strings(items)
        high = items.high
        prefix: list[Node] = []
        for i, goal in enumerate(items.prefix):
            if (high is not None and i >= high) or not inhabited(goal):
                high = i if high is None else min(high, i)
                break
            prefix.append(self.later(goal))
        rest = None
        if (high is None or high > len(prefix)) and inhabited(items.rest):
            rest = self.later(items.rest)
        if rest is None:
            high = len(prefix) if high is None else min(high, len(prefix))
        shape = ArrayShape(tuple(prefix), rest, items.low, high)
        if items.unique is None:
            return Frame(self.notation.array_layout, shape)
        shape.compared, shape.tight = True, items.tight
        shape.endless = all(map(self.normaliser.repeats.endless, (*items.prefix, *([items.rest] if rest else []))))
        return Frame(without_repeats(self.notation.array_layout), shape)

    def _distinct_strings(self, items: Items) -> Node:
        """An array of different strings."""
        strings = self.normaliser.form(items.rest).strings
        clauses = replace(strings, words=frozenset())
        extra = self.normaliser.lexicon.whole(clauses) if strings.clauses else None
        if extra is not None and extra.is_empty:
            extra = None
        return self.notation.distinct(tuple(sorted(encoded(strings.words))), extra, items.low, items.high)

    # objects

    def shape(self, members: Members, value: Callable[[Goal], Node]) -> ObjectShape:
        """What the members of an object must be. value: the node of a goal."""
        normaliser = self.normaliser
        inhabited = normaliser.emptiness.inhabited
        members = normaliser.closed(members)
        order, extra, choices = normaliser.keys.resolved(members)
        plan = self._plan(members)
        together = frozenset(() if plan is None else plan.keys)
        possible = {key: inhabited(goal) for key, goal in order.items()}
        for key, options in zip(plan.keys, plan.options, strict=True) if plan is not None else ():
            possible[key] = bool(options)
        kept = [key for key in order if possible[key] or extra is not None or key in together]
        rank = {key: i for i, key in enumerate(kept)}
        kept.sort(key=str.encode)
        shape = ObjectShape(
            tuple(key.encode() for key in kept),
            tuple((_DECIDED if key in together else value(order[key])) if possible[key] else None for key in kept),
            tuple(key in members.required for key in kept),
            tuple(rank[key] for key in kept) if self.ordered else None,
            extra,
            tuple(value(choice[0]) if plan is None else _DECIDED for choice in choices),
            0 if plan is not None else max(members.low, 0),
            members.high,
            self.notation.keys,
            None if plan is None else _diagram(plan, kept, value),
        )
        if normaliser.repeats.met:
            shape.endless = tuple(key not in together and normaliser.repeats.endless(order[key]) for key in kept)
        return shape

    def _plan(self, members: Members) -> Plan | None:
        """The diagram of a shape with conditions, of goals that have values."""
        if not members.where:
            return None
        plan = self.normaliser.diagrams.of(members)
        plan = None if plan is None else plan.trimmed(self.normaliser.emptiness.inhabited)
        assert plan is not None, "only inhabited shapes are built"
        return plan


_DECIDED = Lexeme(words=(b"",))
"""Stands for values that a diagram has."""


def _diagram(plan: Plan, keys: list[str], value: Callable[[Goal], Node]) -> Diagram:
    place = {key: i for i, key in enumerate(keys)}
    return Diagram(
        tuple(place[key] for key in plan.keys),
        tuple(tuple(map(value, options)) for options in plan.options),
        plan.levels,
        tuple(tuple((value(goal), kind) for goal, kind in pairs) for pairs in plan.others),
        plan.moves,
        plan.ends,
    )


def first_bytes(goal: Goal) -> frozenset[int] | None:
    """A superset of the bytes that a value of the goal begins with, if that is cheap to tell."""
    if goal.kind == Kind.AND:
        known = [first for part in goal.parts if (first := first_bytes(part)) is not None]
        return frozenset.intersection(*known) if known else None
    if goal.kind != Kind.AT:
        return None
    named = fields(goal.parts).get("type")
    if named is None:
        return None
    return _first_of((named,) if isinstance(named, str) else tuple(named))


@lru_cache(maxsize=256)
def _first_of(names: tuple[str, ...]) -> frozenset[int]:
    return frozenset(byte for name in names for byte in _FIRST[name])
