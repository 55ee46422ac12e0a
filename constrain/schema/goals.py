"""The goal table: interning, and the simplifications that need nothing but the goals themselves."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from .._errors import LimitError
from .._limits import Limits, check_time
from .dialect import ASSERTIONS, Draft, introduced
from .document import Document, Location
from .forms import Goal, Kind
from .numbers import exact

__all__ = ["Goals", "fields"]


def fields(location: Location) -> dict[str, Any]:
    """The keywords of a subschema that mean something in its dialect."""
    schema: dict[str, Any] = location.schema
    draft, silent = location.scope.draft, location.scope.silent
    if silent and not silent.isdisjoint(schema):
        return {k: v for k, v in schema.items() if k not in silent and introduced.get(k, draft) <= draft}
    if draft == Draft.D2020:
        return schema
    if draft.ref_alone and "$ref" in schema:
        return {"$ref": schema["$ref"]}
    if introduced.keys().isdisjoint(schema):
        return schema
    return {keyword: value for keyword, value in schema.items() if introduced.get(keyword, draft) <= draft}


class Goals:
    """Makes goals; equal ones are made once."""

    def __init__(self, document: Document, limits: Limits) -> None:
        self.document, self.limits = document, limits
        self._table: dict[Any, Goal] = {}
        self.all = self._goal(Kind.ALL, None, (Kind.ALL,))
        self.none = self._goal(Kind.NONE, None, (Kind.NONE,))

    def _goal(self, kind: str, parts: Any, key: Any) -> Goal:
        goal = self._table.get(key)
        if goal is None:
            check_time()
            if len(self._table) >= self.limits.max_nodes:
                raise LimitError("max_nodes", self.limits.max_nodes, "combinations of subschemas")
            goal = self._table[key] = Goal(len(self._table), kind, parts)
        return goal

    def at(self, location: Location) -> Goal:
        """The goal of a subschema; references that stand alone are followed."""
        while True:
            schema = location.schema
            if schema is True:
                return self.all
            if schema is False:
                return self.none
            key = (id(schema), location.dynamic) if location.dynamic else id(schema)
            goal = self._table.get(key)
            if goal is not None:
                return goal
            if ASSERTIONS.isdisjoint(schema):
                return self.all
            if "$ref" not in schema or not (location.scope.draft.ref_alone or len(ASSERTIONS & schema.keys()) == 1):
                return self._goal(Kind.AT, location, key)
            check_time()
            location = self.document.resolve(location, "$ref")

    def child(self, location: Location, keyword: str, *tokens: str | int) -> Goal:
        """The goal of the subschema under `keyword`, then `tokens`."""
        value, here = location.schema[keyword], location
        if tokens:
            here = Location(value, location.scope, location, keyword)
            value = value[tokens[0]]
            keyword = tokens[0]  # type: ignore[assignment]
        if isinstance(value, bool):
            return self.all if value else self.none
        known = self.document.locations.get(id(value))
        below = known if known is not None else Location(value, location.scope, here, keyword)
        return self.at(below.within(location) if location.dynamic else below)

    def const(self, value: Any) -> Goal:
        return self._goal(Kind.CONST, value, (Kind.CONST, canonical(value)))

    def conj(self, *goals: Goal) -> Goal:
        if len(goals) == 2 and goals[0] is goals[1]:
            return goals[0]
        parts: dict[int, Goal] = {}
        for goal in goals:
            if goal is self.none:
                return goal
            if goal.kind == Kind.AND:
                parts.update((part.uid, part) for part in goal.parts)
            elif goal is not self.all:
                parts[goal.uid] = goal
        if not parts:
            return self.all
        if len(parts) == 1:
            return next(iter(parts.values()))
        if any(goal.kind == Kind.NOT and goal.parts.uid in parts for goal in parts.values()):
            return self.none
        ids = tuple(sorted(parts))
        return self._goal(Kind.AND, tuple(parts[i] for i in ids), (Kind.AND, ids))

    def without_last(self, goal: Goal) -> Goal | None:
        """Of a conjunction, that of all parts but the last, if it has been made."""
        ids = tuple(part.uid for part in goal.parts[:-1])
        return goal.parts[0] if len(ids) == 1 else self._table.get((Kind.AND, ids))

    def disj(self, *goals: Goal) -> Goal:
        parts: dict[int, Goal] = {}
        for goal in goals:
            if goal is self.all:
                return goal
            if goal.kind == Kind.OR:
                parts.update((part.uid, part) for part in goal.parts)
            elif goal is not self.none:
                parts[goal.uid] = goal
        if not parts:
            return self.none
        if len(parts) == 1:
            return next(iter(parts.values()))
        ids = tuple(sorted(parts))
        return self._goal(Kind.OR, tuple(parts[i] for i in ids), (Kind.OR, ids))

    def negate(self, goal: Goal) -> Goal:
        if goal is self.all:
            return self.none
        if goal is self.none:
            return self.all
        if goal.kind == Kind.NOT:
            return goal.parts  # type: ignore[no-any-return]
        if goal.kind == Kind.OR:
            return self.conj(*(self.negate(part) for part in goal.parts))
        return self._goal(Kind.NOT, goal, (Kind.NOT, goal.uid))


def canonical(value: Any) -> Any:
    """A hashable key: equal for values that JSON Schema calls equal, different otherwise."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return ("bool", value)
    if isinstance(value, (int, float, Decimal)):
        return ("number", exact(value))
    if isinstance(value, list):
        return ("array", *map(canonical, value))
    return ("object", *sorted((key, canonical(item)) for key, item in value.items()))
