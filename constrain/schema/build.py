"""From forms to grammar nodes, each built when the engine first reaches it.

One goal is one node, so recursion and sharing come for free. Anything that costs work sits behind a `Lazy`, with
the bytes that its value can begin with where they are cheap to tell. Values that mention nothing (a free string,
any JSON value) are built once per compilation.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .._limits import timed
from ..automata.grammar import ArrayShape, Frame, Lazy, Lexeme, Node, ObjectShape, Select, Skin, Union, Variant
from ..automata.json_layouts import array_layout, distinct_layout, object_layout, with_obligations
from ..languages import operations
from ..languages.dfa import DFA
from ..languages.operations import ANY_STRING
from ..languages.words import words
from .counting import unrolled
from .forms import FALSE, NULL, TRUE, Form, Goal, Items, Kind, Members
from .goals import fields
from .keys import MOST_KEYS, Choice
from .normal import Normaliser
from .strings import Strings, encodable, encoded

__all__ = ["Builder"]

_LITERALS = ((FALSE, b"false"), (NULL, b"null"), (TRUE, b"true"))
_NUMERIC = b"-0123456789"
_FIRST = {
    "null": b"n", "boolean": b"tf", "string": b'"', "number": _NUMERIC, "integer": _NUMERIC,
    "array": b"[", "object": b"{",
}  # fmt: skip


class Builder:
    def __init__(self, normaliser: Normaliser) -> None:
        self.normaliser = normaliser
        whitespace = normaliser.options.whitespace
        self.object_layout, self.array_layout = object_layout(whitespace), array_layout(whitespace)
        self.ordered = normaliser.options.property_order == "schema"
        self._strings: dict[Strings, list[Node]] = {}
        self._numbers: dict[Any, Node] = {}

    def node(self, goal: Goal) -> Node:
        """The node of an inhabited goal."""
        if goal.node is None:
            with timed(self.normaliser.document.limits):
                goal.node = self._union(self._alternatives(self.normaliser.settled(goal)))
        return goal.node  # type: ignore[no-any-return]

    def later(self, goal: Goal) -> Node:
        """The node, or a promise of it."""
        if goal.node is not None:
            return goal.node  # type: ignore[no-any-return]
        if goal.lazy is None:
            goal.lazy = Lazy(lambda: self.node(goal), first_bytes(goal))
        return goal.lazy  # type: ignore[no-any-return]

    def _union(self, nodes: list[Node]) -> Node:
        assert nodes, "only inhabited goals have nodes"
        return nodes[0] if len(nodes) == 1 else Union(tuple(nodes))

    def _alternatives(self, form: Form) -> list[Node]:
        nodes: list[Node] = []
        if form.bits:
            nodes.append(Lexeme(words=tuple(word for bit, word in _LITERALS if form.bits & bit)))
        if (form.numbers.values or form.numbers.clauses) and not self.normaliser.numerals.is_empty(form.numbers):
            number = self._numbers.get(form.numbers)
            if number is None:
                finite = self.normaliser.repeats.met and not self.normaliser.repeats.endless_numbers(form.numbers)
                dfa = self.normaliser.numerals.automaton(form.numbers)
                number = self._numbers[form.numbers] = Lexeme(dfa=dfa, finite=finite)
            nodes.append(number)
        nodes.extend(self._string_nodes(form.strings))
        emptiness = self.normaliser.emptiness
        nodes.extend(self._array(items) for items in form.arrays if emptiness.items(items))
        nodes.extend(self._object(members) for members in form.objects if emptiness.members(members))
        return nodes

    # strings

    def _string_nodes(self, strings: Strings) -> list[Node]:
        nodes = self._strings.get(strings)
        if nodes is None:
            nodes = self._strings[strings] = self._make_strings(strings)
        return nodes

    def _make_strings(self, strings: Strings) -> list[Node]:
        """One lexeme where one can hold it all: clauses without bounds in registers are united in one automaton."""
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
            return [Lexeme(words=listed, skin=Skin.JSON_STRING)] if listed else []
        nodes: list[Node] = []
        for dfa, low, high in bounded:
            nodes.append(Lexeme(listed, dfa, low, high, Skin.JSON_STRING))
            listed = ()
        return nodes

    # arrays

    def _array(self, items: Items) -> Node:
        inhabited = self.normaliser.emptiness.inhabited
        if items.contains or items.automaton is not None:
            automaton = self.normaliser.algebra.counting(items)
            if items.unique is None:
                return Frame(unrolled(self.array_layout, automaton, inhabited, self.later))
            layout = unrolled(self.array_layout, automaton, inhabited, self.later, Select.ITEM)
            return Frame(layout, ArrayShape(unique=True, endless=True))
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
        if items.unique is not None:
            shape.unique = True
            shape.endless = all(map(self.normaliser.repeats.endless, (*items.prefix, *([items.rest] if rest else []))))
        return Frame(self.array_layout, shape)

    def _distinct_strings(self, items: Items) -> Node:
        """An array of different strings: an object of keys alone."""
        strings = self.normaliser.form(items.rest).strings
        words = tuple(sorted(encoded(strings.words)))
        clauses = replace(strings, words=frozenset())
        extra = self.normaliser.lexicon.whole(clauses) if strings.clauses else None
        nothing = Lexeme(words=(b"",))
        shape = ObjectShape(
            words,
            (nothing,) * len(words),
            (False,) * len(words),
            None,
            extra if extra is not None and not extra.is_empty else None,
            (nothing,),
            items.low,
            items.high,
        )
        return Frame(distinct_layout(self.normaliser.options.whitespace), shape)

    # objects

    def _object(self, members: Members) -> Node:
        normaliser = self.normaliser
        inhabited = normaliser.emptiness.inhabited
        members = normaliser.closed(members)
        extra, choices = normaliser.keys.undeclared(members, inhabited)
        order: dict[str, Choice] = {}
        for key in (*members.declared, *members.required):
            if key not in order and encodable(key):
                order[key] = normaliser.variants(members, key)
        if extra is not None and extra is not ANY_STRING:
            finite = words(extra, MOST_KEYS + len(order))
            if finite is not None:
                for word in finite:
                    order.setdefault(word.decode(), choices[extra.label(word)])
                extra, choices = None, []
        many = set(range(len(choices)))
        if members.some and extra is not None:
            listed, many = normaliser.keys.listed(members, inhabited)
            order.update((key, choices[label]) for key, label in listed.items())
        possible = {key: inhabited(choice[0]) for key, choice in order.items()}
        rank = {key: i for i, key in enumerate(order)}
        kept = sorted((k for k in order if possible[k] or extra is not None), key=str.encode)
        tables = [
            Variant(
                tuple(self._maybe(order[key][variant]) for key in kept),
                tuple(
                    self._maybe(choice[variant]) if label in many or not variant else None
                    for label, choice in enumerate(choices)
                ),
            )
            for variant in range(1 << len(members.some))
        ]
        plain = tables[0]
        shape = ObjectShape(
            tuple(key.encode() for key in kept),
            plain.values,
            tuple(key in members.required for key in kept),
            tuple(rank[key] for key in kept) if self.ordered else None,
            extra,
            tuple(value for value in plain.extra_values if value is not None),
            max(members.low, 0),
            members.high,
            variants=tuple(tables[1:]),
        )
        if normaliser.repeats.met:
            shape.endless = tuple(normaliser.repeats.endless(order[key][0]) for key in kept)
        layout = self.object_layout
        return Frame(with_obligations(layout, len(members.some)) if members.some else layout, shape)

    def _maybe(self, goal: Goal) -> Node | None:
        return self.later(goal) if self.normaliser.emptiness.inhabited(goal) else None


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


def _first_of(names: tuple[str, ...]) -> frozenset[int]:
    return frozenset(byte for name in names for byte in _FIRST[name])
