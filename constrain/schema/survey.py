"""Everything that a generation can reach, looked at once at compile, so that whatever is refused is refused then.

Most schemas say what is in a value by keywords that are never refused; of those only the subschemas are taken, without
any normal form.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..automata.grammar import MANY_LABELS
from .dialect import ASSERTIONS
from .forms import Form, Goal, Kind, Members
from .goals import fields
from .strings import is_risky, parsed

if TYPE_CHECKING:
    from .normal import Normaliser

__all__ = ["survey"]

_HOLDING = frozenset("properties patternProperties additionalProperties items prefixItems additionalItems".split())
_STRING = frozenset("minLength maxLength pattern format".split())
_PLAIN = _HOLDING | _STRING | frozenset(
    "type enum const minimum maximum exclusiveMinimum exclusiveMaximum required minProperties maxProperties minItems "
    "maxItems".split()
)  # fmt: skip
"""Keywords that the normal form neither refuses nor makes large automata of, one by one."""


def survey(normaliser: Normaliser, root: Goal) -> None:
    """Settle every goal that a generation can reach and that may be refused. Raises SchemaError, LimitError."""
    seen, stack = {root}, [root]
    while stack:
        goal = stack.pop()
        below = _plainly_below(normaliser, goal)
        if below is None:
            below = _below(normaliser, normaliser.settled(goal))
        fresh = [goal for goal in dict.fromkeys(below) if goal not in seen]
        seen.update(fresh)
        stack += reversed(fresh)


def _plainly_below(normaliser: Normaliser, goal: Goal) -> list[Goal] | None:
    """The goals of the values in a value, where a schema says them plainly; None where it does not."""
    if goal.kind in (Kind.ALL, Kind.NONE, Kind.CONST):
        return []
    if goal.kind != Kind.AT:
        return None
    location, keywords = goal.parts, fields(goal.parts)
    words = ASSERTIONS & keywords.keys()
    if not words <= _PLAIN:
        return None
    if "pattern" in words:
        alone = len(words & _STRING) == 1
        if not alone or is_risky(parsed(keywords["pattern"], normaliser.document.limits)):
            return None
    if words.isdisjoint(_HOLDING):
        return []
    child, named = normaliser.goals.child, keywords.get("type", ("object", "array"))
    below: list[Goal] = []
    if "object" in named:
        patterns = keywords.get("patternProperties", {})
        if len(patterns) > 1 or (patterns and "properties" in words):
            return None
        below += [child(location, "properties", key) for key in keywords.get("properties", ())]
        below += [child(location, "patternProperties", pattern) for pattern in patterns]
        if "additionalProperties" in words:
            below.append(child(location, "additionalProperties"))
    if "array" in named:
        for keyword in ("prefixItems", "items", "additionalItems"):
            value = keywords.get(keyword)
            if isinstance(value, list):
                below += [child(location, keyword, i) for i in range(len(value))]
            elif value is not None:
                below.append(child(location, keyword))
    return below


def _below(normaliser: Normaliser, form: Form) -> list[Goal]:
    """The same by a form, with what may be refused about the form itself."""
    algebra, inhabited = normaliser.algebra, normaliser.emptiness.inhabited
    normaliser.lexicon.settle(form.strings)
    normaliser.numerals.settle(form.numbers)
    below: list[Goal] = []
    for members in form.objects:
        closed = normaliser.closed(members)
        below += [algebra.member(members, key) for key in members.keys]
        if closed.where:
            _check_kinds(normaliser, closed)
            plan = normaliser.diagrams.of(closed)
            below += plan.goals() if plan is not None else ()
        if members.names or any(rule.patterns for rule in members.rules):
            below += [goal for goal, *_ in normaliser.keys.undeclared(closed, inhabited)[1]]
        else:
            below += algebra.rest_goals(members)
    for items in form.arrays:
        if items.contains or items.automaton is not None:
            below += [edge.goal for edges in algebra.counting(items).edges for edge in edges]
        else:
            below += [*items.prefix, items.rest]
    return below


def _check_kinds(normaliser: Normaliser, members: Members) -> None:
    """Refuse what registers cannot track (see ObjectShape.diagram)."""
    _, choices = normaliser.keys.undeclared(members, normaliser.emptiness.inhabited)
    if len(choices) > MANY_LABELS:
        places = (place for choice in choices for goal in choice for place in goal.locations())
        reason = f"would need more than {MANY_LABELS} kinds of undeclared members in an object with conditions"
        normaliser.refuse(next(places, normaliser.document.root), "", reason)
