"""Goals and forms: what a value must satisfy, and the normal form of that, one level deep.

A `Goal` is an interned Boolean combination of subschemas, all about one JSON value; equal combinations are the same
object, which is what ties recursive schemas into finite graphs. A `Form` says which values satisfy a goal, by JSON
type:

    bits      NULL | FALSE | TRUE
    strings   a Strings language        numbers  a Numbers language
    objects   a union of Members        arrays   a union of Items

The parts of Members and Items are goals again, so a form is shallow and computing it costs what one subschema costs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from . import numbers as num
from . import strings as text
from .conditions import Condition
from .document import Location

__all__ = [
    "FALSE",
    "NULL",
    "TRUE",
    "Contains",
    "Form",
    "Goal",
    "Items",
    "Kind",
    "Members",
    "Rule",
]

NULL, FALSE, TRUE = 1, 2, 4


class Kind:
    """Kinds of goals, with what their `parts` are."""

    ALL = "all"  # nothing; anything goes
    NONE = "none"  # nothing; no value at all
    AT = "at"  # a Location
    CONST = "const"  # a JSON value
    AND = "and"  # goals
    OR = "or"  # goals
    NOT = "not"  # a goal


class Goal:
    """uid orders goals for reproducible results. The other fields are memos of the compilation that owns the goal."""

    __slots__ = ("form", "kind", "parts", "pending", "uid")

    def __init__(self, uid: int, kind: str, parts: Any) -> None:
        self.uid, self.kind, self.parts = uid, kind, parts
        self.form: Form | None = None
        self.pending = False

    def __repr__(self) -> str:
        if self.kind == Kind.AT:
            return f"<{self.parts.pointer or '/'}>"
        return f"<{self.kind} {self.parts!r}>"

    def locations(self) -> Iterator[Location]:
        """The subschemas that the goal speaks of."""
        if self.kind == Kind.AT:
            yield self.parts
        elif self.kind in (Kind.AND, Kind.OR):
            for part in self.parts:
                yield from part.locations()
        elif self.kind == Kind.NOT:
            yield from self.parts.locations()


@dataclass(frozen=True)
class Rule:
    """What one schema says about keys it does not declare: the goals of all patterns found in the key, or else
    `otherwise`.
    """

    patterns: tuple[tuple[str, Goal], ...]
    otherwise: Goal


@dataclass(eq=False)
class Members:
    """A set of objects.

    declared: goal per declared key, complete (rules already applied), in declaration order.
    rules:    for every other key, all of them.     names: goals that each key must satisfy as a string (declared
    ones too). required: keys, in order.     low, high: bounds on the number of members. states_rest: whether some
    schema said something about undeclared keys. where: conditions that tie the members together, all of them.
    """

    declared: dict[str, Goal] = field(default_factory=dict)
    rules: tuple[Rule, ...] = ()
    names: tuple[Goal, ...] = ()
    required: dict[str, None] = field(default_factory=dict)
    low: int = 0
    high: int | None = None
    states_rest: bool = False
    where: tuple[Condition, ...] = ()
    tags: dict[str, frozenset[Any]] | None = None
    """Memo: required keys whose value is one of finitely many scalars."""
    undeclared: Any = None
    """Memo: the automaton of undeclared keys and its goals."""
    diagram: Any = None
    """Memo: the decision diagram of a shape with conditions."""

    @property
    def keys(self) -> dict[str, Any]:
        """The keys that it speaks of by name."""
        return {**self.declared, **self.required}

    def but(self, **changes: Any) -> Members:
        """The shape with some fields changed."""
        return replace(self, **{"tags": None, "undeclared": None, "diagram": None, **changes})

    @property
    def is_free(self) -> bool:
        parts = self.declared or self.rules or self.names or self.required or self.low or self.where
        return not parts and self.high is None


@dataclass(frozen=True)
class Contains:
    """Of the items from index `start` on, at least `low` and at most `high` satisfy `goal`. location: where that
    was asked for.
    """

    goal: Goal
    low: int
    high: int | None
    location: Location | None = None
    start: int = 0


@dataclass(eq=False)
class Items:
    """A set of arrays: item i satisfies prefix[i], later ones `rest`. unique: where uniqueItems was asked for, or
    None. repeated: the same of its negation, so that some item equals an earlier one.
    """

    prefix: tuple[Goal, ...]
    rest: Goal
    low: int = 0
    high: int | None = None
    unique: Location | None = None
    contains: tuple[Contains, ...] = ()
    automaton: Any = None
    """Memo: the counting automaton of a shape with `contains`; of a settled one with `repeated`, its automaton."""
    repeated: Location | None = None
    tight: bool = False
    """Of a settled shape with `unique`: whether a value of one item may be needed by a later one (ArrayShape.tight)."""

    @property
    def is_free(self) -> bool:
        return (
            not (self.prefix or self.low or self.unique or self.repeated or self.contains)
            and self.high is None
            and self.rest.kind == Kind.ALL
        )

    def item(self, i: int) -> Goal:
        return self.prefix[i] if i < len(self.prefix) else self.rest


@dataclass(eq=False)
class Form:
    bits: int = 0
    strings: text.Strings = text.NOTHING
    numbers: num.Numbers = num.NOTHING
    objects: tuple[Members, ...] = ()
    arrays: tuple[Items, ...] = ()

    @property
    def is_void(self) -> bool:
        """Whether the form shows at once that nothing satisfies it."""
        return (
            not (self.bits or self.objects or self.arrays)
            and self.strings is text.NOTHING
            and self.numbers is num.NOTHING
        )
