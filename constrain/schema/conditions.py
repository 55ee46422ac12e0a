"""Conditions: Boolean combinations of object shapes, about one object.

Where a schema ties the members of an object together (not, oneOf, if, dependencies), writing that as a union of
shapes can multiply with every keyword. A shape may have conditions instead, each kept as it was said; `diagrams` makes
one decision diagram of all of them. Equal conditions are one object.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

__all__ = ["FALSE", "TRUE", "Condition", "Conditions"]


class Condition:
    """kind: "is" (parts: a Members without conditions, called an atom), "not" (a condition), "and", "or", "one"
    (conditions, of "one" exactly one holds), "true", "false". atoms: the shapes that it speaks of.
    """

    __slots__ = ("atoms", "kind", "parts")

    def __init__(self, kind: str, parts: tuple[Any, ...]) -> None:
        self.kind, self.parts = kind, parts
        self.atoms: dict[Any, None] = {}
        for part in parts:
            self.atoms.update({part: None} if kind == "is" else part.atoms)

    def all_parts(self) -> Iterator[Condition]:
        """Itself and all conditions in it."""
        yield self
        if self.kind != "is":
            for part in self.parts:
                yield from part.all_parts()

    def __repr__(self) -> str:
        return f"({self.kind} {' '.join(map(repr, self.parts))})"


TRUE, FALSE = Condition("true", ()), Condition("false", ())


class Conditions:
    """Makes conditions, simplified."""

    def __init__(self) -> None:
        self._table: dict[tuple[str, tuple[Any, ...]], Condition] = {}

    def _make(self, kind: str, *parts: Any) -> Condition:
        found = self._table.get((kind, parts))
        if found is None:
            found = self._table[kind, parts] = Condition(kind, parts)
        return found

    def atom(self, members: Any) -> Condition:
        """That an object is in a shape without conditions."""
        return self._make("is", members)

    def negate(self, condition: Condition) -> Condition:
        if condition is TRUE:
            return FALSE
        if condition is FALSE:
            return TRUE
        if condition.kind == "not":
            return condition.parts[0]  # type: ignore[no-any-return]
        return self._make("not", condition)

    def both(self, parts: Iterable[Condition]) -> Condition:
        return self._gather("and", parts, TRUE, FALSE)

    def either(self, parts: Iterable[Condition]) -> Condition:
        return self._gather("or", parts, FALSE, TRUE)

    def _gather(self, kind: str, parts: Iterable[Condition], idle: Condition, end: Condition) -> Condition:
        found: dict[Condition, None] = {}
        for part in parts:
            if part is end:
                return end
            if part.kind == kind:
                found.update(dict.fromkeys(part.parts))
            elif part is not idle:
                found[part] = None
        if not found:
            return idle
        return next(iter(found)) if len(found) == 1 else self._make(kind, *found)

    def one(self, parts: Iterable[Condition]) -> Condition:
        """That exactly one part holds."""
        left, held = [], 0
        for part in parts:
            held += part is TRUE
            if part is not TRUE and part is not FALSE:
                left.append(part)
        if held > 1:
            return FALSE
        if held:
            return self.both(map(self.negate, left))
        if not left:
            return FALSE
        return left[0] if len(left) == 1 else self._make("one", *left)

    def decide(
        self, condition: Condition, verdicts: Mapping[Any, bool], known: dict[Condition, Condition]
    ) -> Condition:
        """What is left of a condition when some atoms are decided. known: results for these verdicts."""
        if condition.atoms.keys().isdisjoint(verdicts):
            return condition
        result = known.get(condition)
        if result is None:
            kind, parts = condition.kind, condition.parts
            if kind == "is":
                result = TRUE if verdicts[parts[0]] else FALSE
            elif kind == "not":
                result = self.negate(self.decide(parts[0], verdicts, known))
            else:
                make = {"and": self.both, "or": self.either, "one": self.one}[kind]
                result = make(self.decide(part, verdicts, known) for part in parts)
            known[condition] = result
        return result
