"""The values of one key, told apart by which of several goals they satisfy.

Goals that list their values are told apart by value, others each from its complement. A split of all (`split`) has up
to two to the power of their number; where only some combinations matter, `split_for` makes no others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from .._errors import LimitError, SchemaError
from .._limits import check_time
from .algebra import Algebra
from .dialect import ASSERTIONS
from .forms import FALSE, NULL, TRUE, Goal, Kind
from .goals import Goals, canonical, fields
from .numbers import exact
from .signals import InProgress, Refusal

__all__ = ["Listed", "Part", "Splits"]

_FEW = 4


class Part(NamedTuple):
    """Some values. goal: what has them, or the goal of no value where they are out of the question; which: of the
    goals asked about, those that they satisfy, None where that was not asked; rest: what is left of the question, None
    where they are out.
    """

    goal: Goal
    which: tuple[bool | None, ...]
    rest: Any


class Listed(NamedTuple):
    """A set of null, booleans, strings and numbers, by canonical form: these, or (inside=False) all values but them."""

    values: dict[Any, Any]
    inside: bool

    def has(self, key: Any) -> bool:
        return (key in self.values) is self.inside

    def is_of(self, size: int) -> bool:
        return self.inside and len(self.values) == size

    def meet(self, other: Listed) -> Listed:
        """The values in both."""
        if not self.inside and not other.inside:
            return Listed({**self.values, **other.values}, False)
        one, two = (self, other) if self.inside else (other, self)
        return Listed({key: value for key, value in one.values.items() if two.has(key)}, True)


class Splits:
    def __init__(self, goals: Goals, algebra: Algebra) -> None:
        self.goals, self.algebra = goals, algebra
        self._splits: dict[tuple[Goal, tuple[Goal, ...]], list[Part]] = {}
        self._lists: dict[Goal, Listed | None] = {}

    def split(self, given: Goal, wanted: tuple[Goal, ...]) -> list[Part]:
        """The values of a goal, parted by which of the others they satisfy."""
        found = self._splits.get((given, wanted))
        if found is None:
            found = self.split_for(given, wanted, (), lambda rest, i, holds: (*rest, holds))
            self._splits[given, wanted] = found
        return found

    def split_for(
        self,
        given: Goal,
        wanted: tuple[Goal, ...],
        start: Any,
        after: Callable[[Any, int, bool], Any],
    ) -> list[Part]:
        """A split as far as a question about the values needs it; no goal is made of values that are out of it.

        after: what is left of the question when the values satisfy wanted[i], or do not.
        """
        lists = [self.listed_among(given, goal) for goal in wanted]
        asked = [i for i, values in enumerate(lists) if values is not None]
        unasked: tuple[bool | None, ...] = (None,) * len(wanted)
        parts = [Part(given, unasked, start)]
        if asked:
            parts = []
            for goal, held in self._by_value(given, wanted, lists):
                rest = start
                for i in asked:
                    rest = after(rest, i, held[i]) if rest is not None else None
                which = tuple(held[i] if i in asked else None for i in range(len(wanted)))
                parts.append(Part(self.goals.none if rest is None else goal, which, rest))
        for i, goal in enumerate(wanted):
            if lists[i] is None:
                parts = self._refined(parts, i, goal, after)
        return parts

    def _refined(self, parts: list[Part], i: int, goal: Goal, after: Callable[[Any, int, bool], Any]) -> list[Part]:
        """The parts, told apart by one more goal."""
        goals, surely_empty = self.goals, self.algebra.surely_empty
        most = self.algebra.limits.max_alternatives
        # what few parts have is looked at when they are reached
        looking = sum(part.goal is not goals.none for part in parts) >= _FEW
        refined: list[Part] = []
        for part in parts:
            check_time()
            if part.goal is goals.none:
                refined.append(part)
                continue
            with_it, without = after(part.rest, i, True), after(part.rest, i, False)
            if with_it == without:
                refined.append(Part(goals.none if with_it is None else part.goal, part.which, with_it))
                continue
            inside, outside = goals.conj(part.goal, goal), goals.conj(part.goal, goals.negate(goal))
            if (
                inside is part.goal
                or outside is goals.none
                or (looking and without is not None and surely_empty(outside))
            ):
                inside, outside = part.goal, goals.none
            elif outside is part.goal or (looking and with_it is not None and surely_empty(inside)):
                inside, outside = goals.none, part.goal
            for piece, holds, rest in ((inside, True, with_it), (outside, False, without)):
                if piece is not goals.none:
                    which = (*part.which[:i], holds, *part.which[i + 1 :])
                    refined.append(Part(goals.none if rest is None else piece, which, rest))
        if sum(part.goal is not goals.none for part in refined) > most:
            raise LimitError("max_alternatives", most, "kinds of values of one member")
        return refined

    def listed(self, goal: Goal) -> Listed | None:
        """The values of a goal, if it shows that a list says which they are."""
        if goal not in self._lists:
            self._lists[goal] = self._listed(goal)
        return self._lists[goal]

    def listed_among(self, given: Goal, goal: Goal) -> Listed | None:
        """The same of a goal, which may also look at each value of a list that is given."""
        found = self.listed(goal)
        if found is None and (among := self.listed(given)) is not None and among.inside:
            found = self._held(among.values, goal)
        return found

    def _listed(self, goal: Goal) -> Listed | None:
        kind = goal.kind
        if kind == Kind.CONST or kind == Kind.AT:
            return self._written(goal)
        if kind == Kind.NOT:
            found = self.listed(goal.parts)
            return None if found is None else Listed(found.values, not found.inside)
        if kind == Kind.ALL or kind == Kind.NONE:
            return Listed({}, kind == Kind.NONE)
        lists = [found for part in goal.parts if (found := self.listed(part)) is not None]
        met = Listed({}, False)
        for one in lists:
            met = met.meet(one if kind == Kind.AND else Listed(one.values, not one.inside))
        if kind == Kind.OR:
            return Listed(met.values, not met.inside) if len(lists) == len(goal.parts) else None
        if len(lists) == len(goal.parts):
            return met
        return self._held(met.values, goal) if met.inside else None

    def _written(self, goal: Goal) -> Listed | None:
        """The values that one schema lists."""
        plain, values = True, [goal.parts]
        if goal.kind == Kind.AT:
            schema = fields(goal.parts)
            plain = len(ASSERTIONS & schema.keys()) == 1
            values = [schema["const"]] if "const" in schema else schema.get("enum", ())
        if not values or any(isinstance(value, (list, dict)) for value in values):
            return None
        known = {canonical(value): value for value in values}
        return Listed(known, True) if plain else self._held(known, goal)

    def _held(self, values: dict[Any, Any], goal: Goal) -> Listed | None:
        """Those of some values that satisfy a goal; None where that cannot be told, and where numbers are among them,
        because a goal may also say how these are written.
        """
        try:
            form = self.algebra.form(goal)
        except (InProgress, Refusal, SchemaError):
            return None
        held = {}
        for key, value in values.items():
            if isinstance(value, str):
                fits = self.algebra.lexicon.contains(form.strings, value)
            elif value is None or isinstance(value, bool):
                fits = bool(form.bits & (NULL if value is None else TRUE if value else FALSE))
            elif form.numbers.contains(exact(value)):
                return None
            else:
                fits = False
            if fits:
                held[key] = value
        return Listed(held, True)

    def _by_value(
        self, given: Goal, wanted: tuple[Goal, ...], lists: list[Listed | None]
    ) -> Iterator[tuple[Goal, tuple[bool, ...]]]:
        goals, surely_empty = self.goals, self.algebra.surely_empty
        own = self.listed(given)
        finite = own is not None and own.inside
        values = {k: v for one in ((own,) if finite else lists) if one is not None for k, v in one.values.items()}
        groups: dict[tuple[bool, ...], list[Any]] = {}
        for key, value in values.items():
            groups.setdefault(tuple(one is not None and one.has(key) for one in lists), []).append(value)
        for which, group in groups.items():
            if finite:
                goal = given if len(group) == len(values) else goals.disj(*map(goals.const, group))
            else:
                same = [i for i, one in enumerate(lists) if which[i] and one is not None and one.is_of(len(group))]
                goal = goals.conj(given, wanted[same[0]] if same else goals.disj(*map(goals.const, group)))
            if finite or not surely_empty(goal):
                yield goal, which
        if not finite:
            others = [(goal, one) for goal, one in zip(wanted, lists, strict=True) if one is not None]
            rest = goals.conj(given, *(goals.negate(goal) if one.inside else goal for goal, one in others))
            if rest is not goals.none and not surely_empty(rest):
                yield rest, tuple(one is not None and not one.inside for one in lists)

    def united(self, given: Goal, parts: list[Part], split: list[Part], wanted: tuple[Goal, ...]) -> Goal:
        """One goal for some parts of a split."""
        goals = self.goals
        if len(parts) == len(split):
            return given
        if len(parts) == 1:
            return parts[0].goal
        for i, goal in enumerate(wanted):
            for holds in (True, False):
                if all(part.which[i] is holds for part in parts) and len(parts) == sum(
                    part.which[i] in (holds, None) for part in split
                ):
                    return goals.conj(given, goal if holds else goals.negate(goal))
        return goals.disj(*(part.goal for part in parts))
