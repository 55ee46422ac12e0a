"""Why a schema has no value: where, and a smallest set of keywords that cannot hold together.

First the place: required members and items that have no value are followed down as far as there is only one way. Then
the clash: every keyword that speaks about the value there is a candidate, and candidates are taken out of the schema,
many at a time, then one by one, as long as it stays without a value (a deletion-based minimal unsatisfiable subset).
What is left, nearly always two keywords, is named with its values and places.

The document is changed while that is tried, and put back; it is a copy of the caller's.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from .._digits import shown_value
from .._errors import LimitError, SchemaError
from .dialect import ASSERTIONS
from .document import Location
from .forms import Goal, Kind
from .goals import fields
from .normal import Normaliser
from .options import Options
from .report import Report
from .signals import InProgress, Refusal

__all__ = ["contradiction"]

_SECONDS = 0.3
_SHOWN = 6
_WIDTH = 60
_REFERENCES = frozenset("$ref $dynamicRef $recursiveRef".split())
_CANDIDATES = ASSERTIONS - _REFERENCES - {"allOf"} | frozenset("then else minContains maxContains".split())
_LISTED = frozenset("required properties patternProperties dependencies dependentRequired dependentSchemas".split())
"""Keywords of which only the entries that matter are named."""
_TYPES = ("null", "boolean", "string", "number", "array", "object")


def contradiction(normaliser: Normaliser, goal: Goal) -> tuple[str, str]:
    """(pointer, reason) for a goal without a value. The search for the smallest clash ends after a third of a second of
    this thread's processor time; then more keywords are named than would have to be, or none where they are many.
    """
    return _explained(normaliser, goal, time.thread_time() + _SECONDS, into_branches=True)


def _explained(normaliser: Normaliser, goal: Goal, deadline: float, into_branches: bool) -> tuple[str, str]:
    goal, endless = _deepest(normaliser, goal)
    places = list(goal.locations())
    if not places:
        return "", "the schema is false"
    if endless:
        return places[0].pointer, "its values would contain themselves without end: what it requires leads back to it"
    search = _Search(normaliser, goal, deadline)
    clash = search.clash()
    named = {part.location.pointer for part in clash}
    pointer = named.pop() if len(named) == 1 else places[0].pointer
    reason = _worded(clash, pointer)
    closing = normaliser.options.additional_properties is False and not search.is_empty(
        replace(normaliser.options, additional_properties=None)
    )
    search.restore()
    union = next((part for part in clash if part.keyword in ("anyOf", "oneOf")), None)
    if closing:
        reason += " while additional_properties=False closes objects"
    elif union is not None and into_branches:
        reason = _of_branches(normaliser, goal, union, deadline) or reason
    return pointer, reason


def _deepest(normaliser: Normaliser, goal: Goal) -> tuple[Goal, bool]:
    """(the part to blame, whether it is required to contain itself)."""
    inhabited = normaliser.emptiness.inhabited
    seen: set[int] = set()
    while goal.uid not in seen:
        seen.add(goal.uid)
        form = normaliser.settled(goal)
        if form.bits or len(form.objects) + len(form.arrays) != 1:
            return goal, False
        if form.objects:
            shape = normaliser.closed(form.objects[0])
            below = [normaliser.algebra.member(shape, key) for key in shape.required]
        else:
            items = form.arrays[0]
            below = [items.item(i) for i in range(min(items.low, len(items.prefix) + 1))]
        culprit = next((part for part in below if not inhabited(part)), None)
        if culprit is None or next(culprit.locations(), None) is None:
            return goal, False
        goal = culprit
    return goal, True


@dataclass(eq=False)
class _Part:
    """Something that can be taken out of the document: a keyword (holder: its schema), an entry of a keyword's map, a
    name in `required`, or a false schema in `allOf` (holder: the array, key: the index). keyword: what it belongs to.
    """

    holder: Any
    key: Any
    keyword: str
    location: Location
    value: Any = None

    @property
    def is_in(self) -> bool:
        return self.holder[self.key] is not True if isinstance(self.key, int) else self.key in self.holder

    def remove(self) -> None:
        if isinstance(self.key, int):
            self.value, self.holder[self.key] = self.holder[self.key], True
        elif isinstance(self.holder, dict):
            self.value = self.holder.pop(self.key)
        else:
            self.holder.remove(self.key)

    def restore(self) -> None:
        if isinstance(self.key, int) or isinstance(self.holder, dict):
            self.holder[self.key] = self.value
        else:
            self.holder.append(self.key)

    def __str__(self) -> str:
        if isinstance(self.key, int):
            return f"{self.keyword} with false"
        value = self.holder[self.key] if isinstance(self.holder, dict) else None
        shown = isinstance(value, (str, bool, int, float, Decimal)) or self.keyword in ("type", "enum", "const")
        named = f"{self.keyword} {_short(self.key)}" if self.holder is not self.location.schema else self.keyword
        return f"{named} {_short(value)}" if shown else named


class _Search:
    """The keywords that matter for one goal."""

    def __init__(self, normaliser: Normaliser, goal: Goal, deadline: float) -> None:
        self.normaliser, self.goal, self.deadline = normaliser, goal, deadline
        self.focus: Location | None = None
        self.removed: list[_Part] = []

    def clash(self) -> list[_Part]:
        """The parts that have to stay; [] when there was no time to come down to a few. The others are taken out."""
        parts = list(self._parts())
        types = [part for part in parts if part.keyword == "type"]
        kept = [part for part in parts if part.keyword != "type"]
        possible = [name for name in _TYPES if all(_allows(part.holder["type"], name) for part in types)]
        if types and possible:
            # among the values of one type that is allowed; the keyword is named only where it takes part
            self.focus = self._of_type(possible[0])
            kept = self._minimal([*types, *self._minimal(kept)])
            if len(kept) < 2:
                self.focus = None
                for part in types:
                    self._put_back(part)
                kept = self._minimal([*types, *(part for part in kept if part not in types)])
        else:
            kept = self._minimal([*types, *kept])
        kept = [entry for part in kept for entry in self._entries(part)]
        return kept if len(kept) <= _SHOWN else []

    def restore(self) -> None:
        """The document as it was."""
        for part in reversed(self.removed):
            part.restore()
        self.removed.clear()

    def is_empty(self, options: Options) -> bool:
        """Whether the goal has no value in the document as it is now. Not knowing counts as having one."""
        document = self.normaliser.document
        fresh = Normaliser(document, options, document.limits, Report())
        try:
            goal = _rebuilt(fresh, self.goal)
            if self.focus is not None:
                goal = fresh.goals.conj(goal, fresh.goals.at(self.focus))
            return not fresh.emptiness.inhabited(goal)
        except (InProgress, Refusal, SchemaError, LimitError, RecursionError):
            return False

    def _parts(self) -> Iterator[_Part]:
        """Every keyword that says something about the goal's own value, but for those that only join others to it."""
        goals, document = self.normaliser.goals, self.normaliser.document
        stack, seen = [self.goal], set()
        while stack:
            goal = stack.pop()
            if goal.kind == Kind.AND:
                stack += reversed(goal.parts)
            if goal.kind != Kind.AT or id(goal.parts.schema) in seen:
                continue
            location: Location = goal.parts
            schema = location.schema
            seen.add(id(schema))
            below: list[Goal] = []
            for keyword in fields(location):
                if keyword in _CANDIDATES:
                    yield _Part(schema, keyword, keyword, location)
                elif keyword == "allOf":
                    below += [goals.child(location, keyword, i) for i in range(len(schema[keyword]))]
                    for i, branch in enumerate(schema[keyword]):
                        if branch is False:
                            yield _Part(schema[keyword], i, keyword, location)
                elif keyword in _REFERENCES:
                    below.append(goals.at(document.resolve(location, keyword)))
                    if below[-1].kind == Kind.NONE:
                        yield _Part(schema, keyword, keyword, location)
            stack += reversed(below)

    def _of_type(self, name: str) -> Location:
        schema = {"type": name}
        self.normaliser.document.keepalive.append(schema)
        return Location(schema, self.normaliser.document.root.scope, None, "")

    def _minimal(self, parts: list[_Part]) -> list[_Part]:
        """Take out what can go while the goal stays without a value, first many parts at a time. Returns the rest."""
        size = len(parts)
        while size:
            for start in range(0, len(parts), size):
                self._try(parts[start : start + size])
            parts = [part for part in parts if part.is_in]
            size //= 2
        return parts

    def _try(self, taken: list[_Part]) -> None:
        if time.thread_time() > self.deadline:
            return
        for part in taken:
            part.remove()
        if self.is_empty(self.normaliser.options):
            self.removed += taken
        else:
            for part in reversed(taken):
                part.restore()

    def _put_back(self, part: _Part) -> None:
        if part in self.removed:
            self.removed.remove(part)
            part.restore()

    def _entries(self, part: _Part) -> list[_Part]:
        """Of a map, or of `required`, the entries that matter; else the keyword."""
        value = part.holder[part.key]
        if part.keyword not in _LISTED or len(value) < 1:
            return [part]
        return self._minimal([_Part(value, key, part.keyword, part.location) for key in list(value)]) or [part]


def _rebuilt(normaliser: Normaliser, goal: Goal) -> Goal:
    """The goal in the goal table of another normaliser."""
    goals = normaliser.goals
    if goal.kind == Kind.AT:
        return goals.at(goal.parts)
    if goal.kind == Kind.CONST:
        return goals.const(goal.parts)
    if goal.kind == Kind.NOT:
        return goals.negate(_rebuilt(normaliser, goal.parts))
    if goal.kind in (Kind.AND, Kind.OR):
        parts = [_rebuilt(normaliser, part) for part in goal.parts]
        return goals.conj(*parts) if goal.kind == Kind.AND else goals.disj(*parts)
    return goals.all if goal.kind == Kind.ALL else goals.none


def _of_branches(normaliser: Normaliser, goal: Goal, union: _Part, deadline: float) -> str:
    """Why no branch of a union is possible; "" where one is, and the union fails as a whole."""
    document, options = normaliser.document, normaliser.options
    branches = [normaliser.goals.child(union.location, union.keyword, i) for i in range(len(union.holder[union.key]))]
    reasons = []
    union.remove()
    try:
        for i, branch in enumerate(branches):
            fresh = Normaliser(document, options, document.limits, Report())
            both = fresh.goals.conj(_rebuilt(fresh, goal), _rebuilt(fresh, branch))
            if fresh.emptiness.inhabited(both):
                return ""
            if i < _SHOWN:
                pointer, reason = _explained(fresh, both, deadline, into_branches=False)
                where = "" if branch.kind != Kind.AT or pointer == branch.parts.pointer else f" at {pointer or '/'}"
                reasons.append(f"{i}{where}: {reason}")
    finally:
        union.restore()
    more = f"; and {len(branches) - _SHOWN} others" if len(branches) > _SHOWN else ""
    return f"no branch of {union.keyword} is possible ({'; '.join(reasons)}{more})"


def _allows(named: Any, name: str) -> bool:
    """Whether the value of `type` allows values of the type `name`; integers are numbers."""
    names = (named,) if isinstance(named, str) else named
    return name in names or (name == "number" and "integer" in names)


def _worded(clash: list[_Part], pointer: str) -> str:
    places = [part.location.pointer for part in clash]
    apart = any(place != pointer for place in places)
    named = [f"{part} (at {place or '/'})" if apart else str(part) for part, place in zip(clash, places, strict=True)]
    if not named:
        return "what applies here cannot hold together"
    if len(named) == 1:
        return f"{named[0]} leaves no value"
    return f"{', '.join(named[:-1])} and {named[-1]} contradict each other"


def _short(value: Any) -> str:
    text = shown_value(value).encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"
