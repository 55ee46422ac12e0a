"""The values of one key, told apart by which of several goals they satisfy.

Goals that list their values are told apart by value, others each from its complement.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .._errors import LimitError
from .._limits import check_time
from .algebra import Algebra
from .dialect import ASSERTIONS
from .forms import Goal, Kind
from .goals import Goals, canonical, fields

__all__ = ["Splits", "listed"]

_FEW = 4


class Splits:
    def __init__(self, goals: Goals, algebra: Algebra) -> None:
        self.goals, self.algebra = goals, algebra
        self._splits: dict[tuple[Goal, tuple[Goal, ...]], list[tuple[Goal, tuple[bool, ...]]]] = {}

    def split(self, given: Goal, wanted: tuple[Goal, ...]) -> list[tuple[Goal, tuple[bool, ...]]]:
        """The values of a goal, parted by which of the others they satisfy: (goal, which)."""
        found = self._splits.get((given, wanted))
        if found is None:
            found = self._splits[given, wanted] = self._split(given, wanted)
        return found

    def _split(self, given: Goal, wanted: tuple[Goal, ...]) -> list[tuple[Goal, tuple[bool, ...]]]:
        goals, algebra = self.goals, self.algebra
        lists = [listed(goal) for goal in wanted]
        parts: list[tuple[Goal, tuple[bool, ...]]] = [(given, (False,) * len(wanted))]
        if any(values is not None for values in lists):
            parts = list(self._by_value(given, wanted, lists))
        for i, (goal, values) in enumerate(zip(wanted, lists, strict=True)):
            if values is not None:
                continue
            looking = len(parts) >= _FEW  # what few parts have is looked at when they are reached
            refined = []
            for part, which in parts:
                check_time()
                inside, outside = goals.conj(part, goal), goals.conj(part, goals.negate(goal))
                if inside is part or outside is goals.none or (looking and algebra.surely_empty(outside)):
                    inside, outside = part, goals.none
                elif outside is part or (looking and algebra.surely_empty(inside)):
                    inside, outside = goals.none, part
                for piece, holds in ((inside, True), (outside, False)):
                    if piece is not goals.none:
                        refined.append((piece, (*which[:i], holds, *which[i + 1 :])))
            parts = refined
            if len(parts) > algebra.limits.max_alternatives:
                raise LimitError("max_alternatives", algebra.limits.max_alternatives, "kinds of values of one member")
        return parts

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

    def united(self, given: Goal, parts: list[Goal], which: list[tuple[bool, ...]], split: Any, wanted: Any) -> Goal:
        """One goal for some parts of a split."""
        goals = self.goals
        if len(parts) == len(split):
            return given
        if len(parts) == 1:
            return parts[0]
        for i, goal in enumerate(wanted):
            for holds in (True, False):
                if sum(w[i] is holds for _, w in split) == len(which) and all(w[i] is holds for w in which):
                    return goals.conj(given, goal if holds else goals.negate(goal))
        return goals.disj(*parts)


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
