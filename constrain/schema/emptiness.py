"""Which goals have a value at all: a least fixpoint over required parts.

A value is a finite tree, so a goal is inhabited exactly if it has a derivation of finite height: start from
"nothing is", let each round derive what follows, stop when a round adds nothing. What was derived stays true; what
was not derived by then is empty. Only the parts that an answer was asked of are visited, and a glance at the schema
settles most of them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from .forms import Form, Goal, Items, Kind, Members
from .goals import fields

if TYPE_CHECKING:
    from .normal import Normaliser

__all__ = ["PUZZLING", "Emptiness"]

PUZZLING = frozenset(
    "$ref $dynamicRef $recursiveRef allOf anyOf oneOf not if enum const dependencies dependentSchemas "
    "dependentRequired pattern format maxLength maximum exclusiveMaximum multipleOf required "
    "minProperties minItems contains uniqueItems unevaluatedProperties unevaluatedItems".split()
)
"""Keywords that can leave a schema without any value; one without them has a value of every type it allows."""

_OF_STRINGS = frozenset(("pattern", "format", "maxLength"))
_OF_OTHERS = PUZZLING - _OF_STRINGS


class Emptiness:
    """closing: whether objects are closed that the option `additional_properties=False` closes."""

    def __init__(self, normaliser: Normaliser, closing: bool = True) -> None:
        self.normaliser, self.closing = normaliser, closing
        self.known: dict[Goal, bool] = {}
        """Of goals, whether they have a value."""
        self._doubtful: list[Goal] = []

    def conclude(self, goal: Goal) -> None:
        """The goal has no value, as far as is known."""
        self.known[goal] = False
        if self.normaliser.is_settling:
            self._doubtful.append(goal)

    def forget(self) -> None:
        """Ask anew where that was concluded while arrays were being settled."""
        for goal in self._doubtful:
            self.known.pop(goal, None)
        self._doubtful.clear()

    def inhabited(self, goal: Goal) -> bool:
        """Whether some value satisfies the goal."""
        known = self.known.get(goal)
        if known is None:
            known = self.known[goal] = self._at_a_glance(goal) or _Fixpoint(self).run(goal)
        return known

    def members(self, members: Members) -> bool:
        return self._members(members, self.inhabited)

    def items(self, items: Items) -> bool:
        return self._items(items, self.inhabited)

    def _at_a_glance(self, goal: Goal) -> bool:
        if goal.kind == Kind.ALL:
            return True
        if goal.kind != Kind.AT:
            return False
        keywords = fields(goal.parts)
        if PUZZLING.isdisjoint(keywords):
            return keywords.get("type") != []
        named = keywords.get("type")
        if named == "string":
            return _OF_STRINGS.isdisjoint(keywords) and _OF_OTHERS.isdisjoint(keywords)
        if named == "object":
            return keywords.keys().isdisjoint(_OF_OTHERS) or (
                not keywords.get("required")
                and not keywords.get("minProperties")
                and (keywords.keys() & PUZZLING) <= _OBJECT_BOUNDS
            )
        return False

    def _form(self, form: Form, value: Callable[[Goal], bool]) -> bool:
        normaliser = self.normaliser
        return bool(
            form.bits
            or ((form.strings.clauses or form.strings.words) and not normaliser.lexicon.is_empty(form.strings))
            or ((form.numbers.clauses or form.numbers.values) and not normaliser.numerals.is_empty(form.numbers))
            or any(self._items(shape, value) for shape in form.arrays)
            or any(self._members(shape, value) for shape in form.objects)
        )

    def _members(self, members: Members, value: Callable[[Goal], bool]) -> bool:
        if self.closing:
            members = self.normaliser.closed(members)
        member = self.normaliser.algebra.member
        if members.high is not None and len(members.required) > members.high:
            return False
        if not all([value(member(members, key)) for key in members.required]):
            return False
        if members.where:
            plan = self.normaliser.diagrams.sketch(members, self.known, self.closing)
            if plan is None or members.high is None:
                return plan is not None and plan.exists(value)
            return plan.cost(members.required, value) <= members.high - len(members.required)
        missing = members.low - len(members.required)
        if missing <= 0:
            return True
        for key in members.declared:
            if key not in members.required and value(member(members, key)):
                missing -= 1
                if missing == 0:
                    return True
        return self.normaliser.keys.more_than(members, missing - 1, value)

    def _items(self, items: Items, value: Callable[[Goal], bool]) -> bool:
        if items.high is not None and items.low > items.high:
            return False
        if items.contains or items.automaton is not None:
            return self.normaliser.algebra.counting(items).live(value)[0]
        return all([value(goal) for goal in items.prefix[: items.low]]) and (
            items.low <= len(items.prefix) or value(items.rest)
        )


_OBJECT_BOUNDS = frozenset(("required", "minProperties"))


class _Fixpoint:
    """One question and all those it leads to; each is looked at again when one that it asked is answered."""

    def __init__(self, emptiness: Emptiness) -> None:
        self.emptiness, self.known = emptiness, emptiness.known
        self.asked_by: dict[Goal, dict[Goal, None]] = {}
        self.queue: deque[Goal] = deque()
        self.current: Goal

    def run(self, goal: Goal) -> bool:
        self.asked_by[goal] = {}
        self.queue.append(goal)
        while self.queue and goal not in self.known:
            self.current = self.queue.popleft()
            if self.current not in self.known and self._derive(self.current):
                self.known[self.current] = True
                self.queue += self.asked_by[self.current]
        if goal not in self.known:
            for candidate in self.asked_by:
                if candidate not in self.known:
                    self.emptiness.conclude(candidate)
        return self.known[goal]

    def _derive(self, goal: Goal) -> bool:
        emptiness = self.emptiness
        return emptiness._form(emptiness.normaliser.settled(goal, emptiness.closing), self._value)

    def _value(self, goal: Goal) -> bool:
        known = self.known.get(goal)
        if known is None:
            if self.emptiness._at_a_glance(goal):
                known = self.known[goal] = True
            elif goal in self.asked_by:
                self.asked_by[goal][self.current] = None
            else:
                self.asked_by[goal] = {self.current: None}
                self.queue.append(goal)
        return bool(known)
