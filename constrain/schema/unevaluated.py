"""unevaluatedProperties and unevaluatedItems: which members and items the rest of a schema looked at.

That depends on which branches hold, so a schema becomes a list of *worlds*: a form, and what is evaluated when it
holds. A value is valid if some world admits it with the unevaluated rest satisfied. Worlds of anyOf need only say
which branches hold, not that the others fail: a branch that holds as well can only evaluate more, and then less is
asked of the rest (core specification 2020-12, section 11).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

from .dialect import ASSERTIONS, Draft
from .document import Location
from .forms import Form, Goal, Items, Kind, Members, Rule
from .goals import fields
from .signals import InProgress, Refusal

if TYPE_CHECKING:
    from .normal import Normaliser

__all__ = ["Worlds"]

_MAX_WORLDS = 256


@dataclass(frozen=True)
class Evaluated:
    """Members by name and pattern, or all of them; the first `length` items, or all, and those that match some goal."""

    names: frozenset[str] = frozenset()
    patterns: frozenset[str] = frozenset()
    all_members: bool = False
    length: int = 0
    all_items: bool = False
    matched: tuple[Goal, ...] = ()

    def __or__(self, other: Evaluated) -> Evaluated:
        return Evaluated(
            self.names | other.names,
            self.patterns | other.patterns,
            self.all_members or other.all_members,
            max(self.length, other.length),
            self.all_items or other.all_items,
            tuple(dict.fromkeys(self.matched + other.matched)),
        )


NOTHING = Evaluated()
World = tuple[Form, Evaluated]


class Worlds:
    def __init__(self, normaliser: Normaliser) -> None:
        self.normaliser = normaliser
        self._open: list[Goal] = []
        """Goals whose worlds are being listed, each for the one before."""

    def form(self, location: Location) -> Form:
        """The form of a schema that has an unevaluated keyword. Refusal when it takes too many worlds."""
        return self.normaliser.algebra.join(form for form, _ in self.of(location))

    def of(self, location: Location) -> list[World]:
        normaliser, keywords = self.normaliser, fields(location)
        goals = normaliser.goals
        worlds: list[World] = [(normaliser.plain(location), self._own(location, keywords))]
        for keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
            if keyword in keywords:
                worlds = self._both(worlds, self._of_goal(goals.at(normaliser.document.resolve(location, keyword))))
        for branch in self._listed(location, keywords, "allOf"):
            worlds = self._both(worlds, self._of_goal(branch))
        if "anyOf" in keywords:
            worlds = self._any_of(worlds, self._listed(location, keywords, "anyOf"))
        if "oneOf" in keywords:
            branches = self._listed(location, keywords, "oneOf")
            worlds = self._bounded(
                world
                for i, branch in enumerate(branches)
                for world in self._without(self._both(worlds, self._of_goal(branch)), branches[:i] + branches[i + 1 :])
            )
        if "if" in keywords:
            condition = goals.child(location, "if")
            then = goals.child(location, "then") if "then" in keywords else goals.all
            otherwise = goals.child(location, "else") if "else" in keywords else goals.all
            held = self._both(self._both(worlds, self._of_goal(condition)), self._of_goal(then))
            worlds = held + self._both(self._without(worlds, [condition]), self._of_goal(otherwise))
        if "not" in keywords:
            worlds = self._without(worlds, [goals.child(location, "not")])
        for keyword in ("dependencies", "dependentRequired", "dependentSchemas"):
            for key, dependency in keywords.get(keyword, {}).items():
                worlds = self._dependent(worlds, location, keyword, key, dependency)
        return self._bounded(self._rest(world, location, keywords) for world in worlds)

    def _of_goal(self, goal: Goal) -> list[World]:
        if goal.kind == Kind.AT:
            if goal in self._open:
                return self._again(goal)
            self._open.append(goal)
            try:
                return self.of(goal.parts)
            finally:
                self._open.pop()
        return [] if goal.kind == Kind.NONE else [(self.normaliser.anything, NOTHING)]

    def _again(self, goal: Goal) -> list[World]:
        """A goal within itself. A union that holds itself is the union of its other branches."""
        between = self._open[self._open.index(goal) :]
        if all(ASSERTIONS & fields(step.parts).keys() == {"anyOf"} for step in between):
            return []
        raise InProgress

    def _own(self, location: Location, keywords: dict[str, Any]) -> Evaluated:
        items = keywords.get("items")
        listed = len(items) if isinstance(items, list) else 0
        matched: tuple[Goal, ...] = ()
        if "contains" in keywords and location.scope.draft >= Draft.D2020:
            matched = (self.normaliser.goals.child(location, "contains"),)
        return Evaluated(
            frozenset(keywords.get("properties", ())),
            frozenset(keywords.get("patternProperties", ())),
            "additionalProperties" in keywords,
            max(listed, len(keywords.get("prefixItems", ()))),
            (items is not None and not isinstance(items, list))
            or (isinstance(items, list) and "additionalItems" in keywords),
            matched,
        )

    def _listed(self, location: Location, keywords: dict[str, Any], keyword: str) -> list[Goal]:
        return [self.normaliser.goals.child(location, keyword, i) for i in range(len(keywords.get(keyword, ())))]

    def _both(self, worlds: list[World], others: list[World]) -> list[World]:
        meet = self.normaliser.algebra.meet
        met = ((meet(form, other), seen | also) for form, seen in worlds for other, also in others)
        return self._bounded(world for world in met if not world[0].is_void)

    def _without(self, worlds: list[World], unwanted: list[Goal]) -> list[World]:
        left = []
        for form, seen in worlds:
            for goal in unwanted:
                form = self.normaliser.algebra.minus(form, self.normaliser.form(goal))
            if not form.is_void:
                left.append((form, seen))
        return left

    def _any_of(self, worlds: list[World], branches: list[Goal]) -> list[World]:
        options = [self._of_goal(branch) for branch in branches]
        idle = [world for option in options for world in option if world[1] == NOTHING]
        options = [seeing for option in options if (seeing := [world for world in option if world[1] != NOTHING])]
        if len(options) > 8:
            raise Refusal("what was evaluated depends on more than 8 branches")
        found: list[World] = []
        if idle:
            found = self._both(worlds, [(self.normaliser.algebra.join(form for form, _ in idle), NOTHING)])
        for size in range(1, len(options) + 1):
            for chosen in combinations(options, size):
                some = worlds
                for option in chosen:
                    some = self._both(some, option)
                found += some
        return self._bounded(found)

    def _dependent(
        self, worlds: list[World], location: Location, keyword: str, key: str, dependency: Any
    ) -> list[World]:
        normaliser = self.normaliser
        if isinstance(dependency, list):
            return [(normaliser.dependency(form, location, keyword, key, dependency), seen) for form, seen in worlds]
        anything = normaliser.anything
        absent = replace(anything, objects=(Members(declared={key: normaliser.goals.none}),))
        present = Form(objects=(Members(required={key: None}),))
        asked = self._both([(present, NOTHING)], self._of_goal(normaliser.goals.child(location, keyword, key)))
        return self._both(worlds, [(absent, NOTHING), *asked])

    def _rest(self, world: World, location: Location, keywords: dict[str, Any]) -> World:
        """What the unevaluated keywords ask in this world; afterwards everything is evaluated."""
        normaliser, (form, seen) = self.normaliser, world
        goals, anything = normaliser.goals, normaliser.anything
        if "unevaluatedProperties" in keywords:
            rest = goals.child(location, "unevaluatedProperties")
            if not seen.all_members and rest is not goals.all:
                rule = Rule(tuple((pattern, goals.all) for pattern in sorted(seen.patterns)), rest)
                known = Members(dict.fromkeys(sorted(seen.names), goals.all), (rule,), states_rest=True)
                form = normaliser.algebra.meet(form, replace(anything, objects=(known,)))
            seen = replace(seen, all_members=True)
        if "unevaluatedItems" in keywords:
            rest = goals.child(location, "unevaluatedItems")
            if not seen.all_items and rest is not goals.all:
                items = Items((goals.all,) * seen.length, goals.disj(rest, *seen.matched))
                form = normaliser.algebra.meet(form, replace(anything, arrays=(items,)))
            seen = replace(seen, all_items=True)
        return form, seen

    def _bounded(self, worlds: Iterable[World]) -> list[World]:
        found = []
        for world in worlds:
            found.append(world)
            if len(found) > _MAX_WORLDS:
                raise Refusal(f"what was evaluated takes more than {_MAX_WORLDS} cases to tell")
        return found
