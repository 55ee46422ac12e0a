"""The values of one key, told apart by which of several goals they satisfy.

Goals that list their values are told apart by value, others each from its complement. A split of all (`split`) has up
to two to the power of their number; where only some combinations matter, `split_for` makes no others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from .._errors import LimitError
from .._limits import check_time
from .algebra import Algebra
from .dialect import ASSERTIONS
from .forms import Goal, Kind
from .goals import Goals, canonical, fields

__all__ = ["Part", "Splits", "listed"]

_FEW = 4


class Part(NamedTuple):
    """Some values. goal: what has them, or the goal of no value where they are out of the question; which: of the
    goals asked about, those that they satisfy, None where that was not asked; rest: what is left of the question, None
    where they are out.
    """

    goal: Goal
    which: tuple[bool | None, ...]
    rest: Any


class Splits:
    def __init__(self, goals: Goals, algebra: Algebra) -> None:
        self.goals, self.algebra = goals, algebra
        self._splits: dict[tuple[Goal, tuple[Goal, ...]], list[Part]] = {}

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
        lists = [listed(goal) for goal in wanted]
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

    def _by_value(
        self, given: Goal, wanted: tuple[Goal, ...], lists: list[dict[Any, Any] | None]
    ) -> Iterator[tuple[Goal, tuple[bool, ...]]]:
        goals, surely_empty = self.goals, self.algebra.surely_empty
        own = listed(given)
        values: dict[Any, Any] = own if own is not None else {k: v for one in lists for k, v in (one or {}).items()}
        groups: dict[tuple[bool, ...], list[Any]] = {}
        for key, value in values.items():
            groups.setdefault(tuple(one is not None and key in one for one in lists), []).append(value)
        for which, group in groups.items():
            if own is not None:
                goal = given if len(group) == len(own) else goals.disj(*map(goals.const, group))
            else:
                same = [i for i, one in enumerate(lists) if which[i] and len(one or ()) == len(group)]
                goal = goals.conj(given, wanted[same[0]] if same else goals.disj(*map(goals.const, group)))
            if own is not None or not surely_empty(goal):
                yield goal, which
        if own is None:
            others = (goals.negate(goal) for goal, one in zip(wanted, lists, strict=True) if one is not None)
            rest = goals.conj(given, *others)
            if rest is not goals.none and not surely_empty(rest):
                yield rest, (False,) * len(wanted)

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


def listed(goal: Goal) -> dict[Any, Any] | None:
    """The values of a goal, by canonical form, if it is a list of null, booleans, strings and numbers."""
    if goal.kind == Kind.CONST:
        values = [goal.parts]
    elif goal.kind == Kind.AT:
        schema = fields(goal.parts)
        if not (schema.keys() & ASSERTIONS) <= {"const", "enum", "type"}:
            return None
        values = [schema["const"]] if "const" in schema else schema.get("enum")  # type: ignore[assignment]
        if values is None or ("const" in schema and "enum" in schema):
            return None
        named = schema.get("type")
        if named is not None:
            if named != "string":
                return None
            values = [value for value in values if isinstance(value, str)]
    else:
        return None
    if any(isinstance(value, (list, dict)) for value in values):
        return None
    return {canonical(value): value for value in values}
