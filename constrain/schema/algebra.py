"""Boolean algebra on forms: intersection, union and difference, each exact or refused.

Objects and arrays are unions of shapes. Two shapes meet by merging their parts; a shape minus another is the union
of the ways in which a value of the first can fail the second: a required key absent, a key present with a value
outside its goal, a count out of bounds, an obligation that some undeclared member fails. A failure that no shape can
express raises `Refusal`; nothing is ever dropped silently.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import combinations
from typing import Any

from .._errors import LimitError, SchemaError
from .._limits import Limits, check_time
from . import numbers as num
from .counting import Counting, counting
from .forms import MAX_OBLIGATIONS, Contains, Form, Goal, Items, Kind, Members, Rule, Some
from .goals import Goals, canonical, fields
from .signals import InProgress, Refusal
from .strings import Lexicon

__all__ = ["Algebra"]


class Algebra:
    """form: goal -> Form.   inhabited: goal -> bool.   members_inhabited, items_inhabited: the same for one shape."""

    def __init__(self, goals: Goals, lexicon: Lexicon, numerals: num.Numerals, limits: Limits) -> None:
        self.goals, self.lexicon, self.numerals, self.limits = goals, lexicon, numerals, limits
        self.form: Callable[[Goal], Form]
        self.inhabited: Callable[[Goal], bool]
        self.members_inhabited: Callable[[Members], bool]
        self.items_inhabited: Callable[[Items], bool]

    # forms

    def meet(self, a: Form, b: Form) -> Form:
        return Form(
            a.bits & b.bits,
            self.lexicon.meet(a.strings, b.strings),
            num.meet(a.numbers, b.numbers),
            self._product(a.objects, b.objects, self.meet_members),
            self._product(a.arrays, b.arrays, self.meet_items),
        )

    def join(self, forms: Iterable[Form]) -> Form:
        joined = Form()
        for form in forms:
            joined.bits |= form.bits
            joined.strings = self.lexicon.join(joined.strings, form.strings)
            joined.numbers = num.join(joined.numbers, form.numbers)
            joined.objects = self._union(joined.objects, form.objects)
            joined.arrays = self._union(joined.arrays, form.arrays)
        return joined

    def minus(self, a: Form, b: Form) -> Form:
        """a without b. Refusal where no union of shapes says so."""
        return Form(
            a.bits & ~b.bits,
            self.lexicon.minus(a.strings, b.strings),
            num.minus(a.numbers, b.numbers),
            self._without(a.objects, b.objects, self.minus_members),
            self._without(a.arrays, b.arrays, self.minus_items),
        )

    def exactly_one(self, forms: list[Form]) -> Form:
        """The values that satisfy one of the forms and none of the others."""
        exact = []
        for i, form in enumerate(forms):
            for j, other in enumerate(forms):
                if i != j:
                    form = self.minus(form, other)
            exact.append(form)
        return self.join(exact)

    def _product(self, a: tuple[Any, ...], b: tuple[Any, ...], meet: Callable[[Any, Any], Any]) -> tuple[Any, ...]:
        if a is b and len(a) <= 1:
            return a
        if not a or not b:
            return ()
        if len(a) * len(b) > self.limits.max_alternatives**2:
            raise LimitError("max_alternatives", self.limits.max_alternatives, "combinations of alternatives")
        shapes = [shape for x in a for y in b if (shape := meet(x, y)) is not None]
        if len(shapes) > 1:
            shapes = [shape for shape in shapes if not self._surely_void(shape)]
        return self._bounded(shapes)

    def _union(self, a: tuple[Any, ...], b: tuple[Any, ...]) -> tuple[Any, ...]:
        if not a or a is b:
            return b
        kept = list(a)
        for shape in b:
            if any(shape is other or other.is_free for other in kept):
                continue
            if shape.is_free:
                kept.clear()
            kept.append(shape)
        return self._bounded(kept)

    def _without(
        self, a: tuple[Any, ...], b: tuple[Any, ...], minus: Callable[[Any, Any], list[Any]]
    ) -> tuple[Any, ...]:
        for other in b:
            parts = [part for shape in a for part in minus(shape, other)]
            a = self._bounded(self._without_subsets(parts) if len(parts) > len(a) else parts)
        return a

    def _without_subsets(self, shapes: list[Any]) -> list[Any]:
        """Drop shapes that show themselves to be part of another: differences produce many."""
        kept: list[Any] = []
        for shape in shapes:
            check_time()
            if isinstance(shape, Items) or not any(self._includes(other, shape) for other in kept):
                kept = [other for other in kept if isinstance(other, Items) or not self._includes(shape, other)]
                kept.append(shape)
        return kept

    def _includes(self, a: Members, b: Members) -> bool:
        """Whether b is part of a for a reason that shows in the parts."""
        if not (
            a.required.keys() <= b.required.keys()
            and set(a.names) <= set(b.names)
            and set(a.rules) <= set(b.rules)
            and set(a.some) <= set(b.some)
        ):
            return False
        if a.low > max(b.low, len(b.required)) or (a.high is not None and (b.high is None or b.high > a.high)):
            return False
        return all(self._narrower(self.member(b, k), self.member(a, k)) for k in {**a.declared, **b.declared})

    def _narrower(self, x: Goal, y: Goal) -> bool:
        if x is y or y is self.goals.all or x is self.goals.none:
            return True
        if y.kind == Kind.OR and x in y.parts:
            return True
        parts = x.parts if x.kind == Kind.AND else (x,)
        return all(part in parts for part in y.parts) if y.kind == Kind.AND else y in parts

    def _bounded(self, shapes: list[Any]) -> tuple[Any, ...]:
        if len(shapes) > self.limits.max_alternatives:
            raise LimitError("max_alternatives", self.limits.max_alternatives, "alternatives of one value")
        return tuple(shapes)

    # emptiness, where not knowing is an answer

    def surely_empty(self, goal: Goal) -> bool:
        try:
            return not self.inhabited(goal)
        except (InProgress, Refusal, SchemaError):
            return False

    def _surely_void(self, shape: Members | Items) -> bool:
        try:
            return not (self.members_inhabited(shape) if isinstance(shape, Members) else self.items_inhabited(shape))
        except (InProgress, Refusal, SchemaError):
            return False

    # objects

    def member(self, members: Members, key: str) -> Goal:
        """The goal of the value under `key`; a key with lone surrogates, for one, cannot be written."""
        if not self.lexicon.is_key(key):
            return self.goals.none
        for name in members.names:
            if not self.lexicon.contains(self.form(name).strings, key):
                return self.goals.none
        goal = members.declared.get(key)
        return goal if goal is not None else self.ruled(members.rules, key)

    def ruled(self, rules: Iterable[Rule], key: str) -> Goal:
        """What the rules say about an undeclared key."""
        goal = self.goals.all
        for rule in rules:
            found = [then for pattern, then in rule.patterns if self.lexicon.matches(pattern, key)]
            goal = self.goals.conj(goal, *(found or (rule.otherwise,)))
        return goal

    def meet_members(self, a: Members, b: Members) -> Members | None:
        if a is b or (b.is_free and not b.states_rest):
            return a
        if a.is_free and not a.states_rest:
            return b
        if self._told_apart(a, b):
            return None
        high = b.high if a.high is None else a.high if b.high is None else min(a.high, b.high)
        low = max(a.low, b.low)
        required = {**a.required, **b.required}
        if high is not None and (low > high or len(required) > high):
            return None
        declared: dict[str, Goal] = {}
        for key in {**a.declared, **b.declared}:
            goal = self.goals.conj(self.member(a, key), self.member(b, key))
            if goal is self.goals.none and key in required:
                return None
            declared[key] = goal
        rules = tuple(dict.fromkeys(a.rules + b.rules)) if a.rules and b.rules else a.rules or b.rules
        names = tuple(dict.fromkeys(a.names + b.names))
        some = tuple(dict.fromkeys(a.some + b.some))
        met = Members(declared, rules, names, required, low, high, a.states_rest or b.states_rest, some)
        if any(key not in declared and self.member(met, key) is self.goals.none for key in required):
            return None
        return met

    def minus_members(self, a: Members, b: Members) -> list[Members]:
        if self._told_apart(a, b):
            return [a]
        met = self.meet_members(a, b)
        if met is None or self._surely_void(met):
            return [a]
        ways: list[Members] = []
        none = self.goals.none
        for key in b.required:
            if key not in a.required:
                ways.append(replace(a, declared={**a.declared, key: none}, tags=None, undeclared=None))
        for key in {**b.declared, **a.declared, **a.required, **b.required}:
            wanted, given = self.member(b, key), self.member(a, key)
            if wanted is self.goals.all or wanted is given:
                continue
            failing = self.goals.conj(given, self.goals.negate(wanted))
            if failing is none or self.surely_empty(failing):
                continue
            ways.append(
                replace(
                    a,
                    declared={**a.declared, key: failing},
                    required={**a.required, key: None},
                    tags=None,
                    undeclared=None,
                )
            )
        if b.low > max(a.low, len(a.required)) and (a.high is None or a.high >= a.low):
            ways.append(
                replace(a, high=b.low - 1 if a.high is None else min(a.high, b.low - 1), tags=None, undeclared=None)
            )
        if b.high is not None and (a.high is None or a.high > b.high):
            ways.append(replace(a, low=max(a.low, b.high + 1), tags=None, undeclared=None))
        ways.extend(self._failing_rest(a, b))
        return [way for way in ways if not self._surely_void(way)]

    def _failing_rest(self, a: Members, b: Members) -> list[Members]:
        """Ways in which members that neither shape declares can fail b: one of them breaks a rule of b, or all of them
        keep the rules that b obliges one to break.
        """
        ways = []
        known = frozenset({**a.declared, **a.required, **b.declared, **b.required})
        new = tuple(rule for rule in b.rules if rule not in a.rules)
        names = tuple(name for name in b.names if name not in a.names)
        if (new or names) and not self._surely_kept(a, new, names):
            declared = {key: self.member(a, key) for key in sorted(known, key=[*a.declared, *known].index)}
            some = dict.fromkeys((*a.some, Some(new, names, known)))
            if len(some) > MAX_OBLIGATIONS:
                raise Refusal(f"would need more than {MAX_OBLIGATIONS} members that break rules about undeclared ones")
            ways.append(replace(a, declared=declared, some=tuple(some), tags=None, undeclared=None))
        ways += [self._keeping(a, some) for some in b.some if some not in a.some]
        return ways

    def _surely_kept(self, a: Members, rules: tuple[Rule, ...], names: tuple[Goal, ...]) -> bool:
        """Whether a glance shows that no undeclared member of a shape breaks the rules or has another name."""
        if a.high is not None and a.high <= len(a.required):
            return True
        given = self.rest_goals(a)
        if all(goal is self.goals.none for goal in given):
            return True
        return not names and all(
            self.surely_empty(self.goals.conj(goal, self.goals.negate(wanted)))
            for goal in given
            for rule in rules
            for wanted in (*(then for _, then in rule.patterns), rule.otherwise)
            if wanted is not self.goals.all and wanted is not goal
        )

    def _keeping(self, a: Members, some: Some) -> Members:
        """The objects of a shape of which no member meets an obligation."""
        if any(not self.lexicon.contains(self.form(name).strings, key) for name in some.names for key in some.known):
            raise Refusal("would need names that only undeclared members must have")
        declared = {
            key: self.goals.conj(self.member(a, key), self.goals.negate(self.breaking(some, key)))
            for key in {**a.declared, **dict.fromkeys(sorted(some.known))}
        }
        rules, names = tuple(dict.fromkeys(a.rules + some.rules)), tuple(dict.fromkeys(a.names + some.names))
        return replace(a, declared=declared, rules=rules, names=names, states_rest=True, tags=None, undeclared=None)

    def breaking(self, some: Some, key: str) -> Goal:
        """What the value under `key` must satisfy so that the member meets an obligation."""
        if key in some.known:
            return self.goals.none
        if any(not self.lexicon.contains(self.form(name).strings, key) for name in some.names):
            return self.goals.all
        return self.goals.negate(self.ruled(some.rules, key))

    def rest_goals(self, members: Members) -> list[Goal]:
        """Goals that an undeclared key may have (a superset)."""
        patterns = [goal for rule in members.rules for _, goal in rule.patterns]
        otherwise = [rule.otherwise for rule in members.rules]
        if not patterns:
            return [self.goals.conj(*otherwise)]
        if len(members.rules) == 1 and len(patterns) == 1:
            return [patterns[0], otherwise[0]]
        choices: list[list[Goal]] = [[self.goals.all]]
        for rule in members.rules:
            options = [rule.otherwise]
            for size in range(1, min(len(rule.patterns), 3) + 1):
                options += [self.goals.conj(*(g for _, g in chosen)) for chosen in combinations(rule.patterns, size)]
            choices.append(list(dict.fromkeys(options)))
        found = [self.goals.all]
        for options in choices[1:]:
            found = list(dict.fromkeys(self.goals.conj(x, y) for x in found for y in options))
            if len(found) > self.limits.max_alternatives:
                raise LimitError("max_alternatives", self.limits.max_alternatives, "combinations of patternProperties")
        return found

    def tags(self, members: Members) -> dict[str, frozenset[Any]]:
        if members.tags is None:
            found = {}
            for key in members.required:
                values = self.scalars(members.declared.get(key))
                if values is not None:
                    found[key] = values
            members.tags = found
        return members.tags

    def scalars(self, goal: Goal | None) -> frozenset[Any] | None:
        """A finite set of scalars (canonical) that includes the goal's values, if its form of writing shows one."""
        if goal is None:
            return None
        if goal.kind == Kind.AND:
            return next((found for part in goal.parts if (found := self.scalars(part)) is not None), None)
        values: list[Any]
        if goal.kind == Kind.CONST:
            values = [goal.parts]
        elif goal.kind == Kind.AT:
            schema = fields(goal.parts)
            if "const" in schema:
                values = [schema["const"]]
            elif "enum" in schema:
                values = schema["enum"]
            else:
                return None
        else:
            return None
        if any(isinstance(value, (list, dict)) for value in values):
            return None
        return frozenset(map(canonical, values))

    def _told_apart(self, a: Members, b: Members) -> bool:
        """Whether a glance shows that no object is in both."""
        none = self.goals.none
        if any(b.declared.get(key) is none for key in a.required) or any(
            a.declared.get(key) is none for key in b.required
        ):
            return True
        ours, theirs = self.tags(a), self.tags(b)
        return any(key in theirs and values.isdisjoint(theirs[key]) for key, values in ours.items())

    # arrays

    def meet_items(self, a: Items, b: Items) -> Items | None:
        if a is b or b.is_free:
            return a
        if a.is_free:
            return b
        high = b.high if a.high is None else a.high if b.high is None else min(a.high, b.high)
        low = max(a.low, b.low)
        if high is not None and low > high:
            return None
        prefix = tuple(self.goals.conj(a.item(i), b.item(i)) for i in range(max(len(a.prefix), len(b.prefix))))
        rest = self.goals.conj(a.rest, b.rest)
        if any(goal is self.goals.none for goal in prefix[:low]) or (low > len(prefix) and rest is self.goals.none):
            return None
        contains = tuple(dict.fromkeys(a.contains + b.contains))
        unique, repeated = a.unique or b.unique, a.repeated or b.repeated
        if unique and repeated:
            return None
        return Items(prefix, rest, low, high, unique, contains, repeated=repeated)

    def minus_items(self, a: Items, b: Items) -> list[Items]:
        met = self.meet_items(a, b)
        if met is None or self._surely_void(met):
            return [a]
        ways: list[Items] = []
        if b.unique and not a.unique and (a.high is None or a.high > 1):
            ways.append(replace(a, repeated=b.unique, low=max(a.low, 2), automaton=None))
        if b.repeated and not a.repeated:
            ways.append(replace(a, unique=b.repeated, automaton=None))
        for c in b.contains:
            if c.low > 0:
                ways.append(self.counted(a, replace(c, low=0, high=c.low - 1)))
            if c.high is not None:
                ways.append(self.counted(a, replace(c, low=c.high + 1, high=None)))
        if b.low > a.low:
            ways.append(replace(a, high=b.low - 1 if a.high is None else min(a.high, b.low - 1), automaton=None))
        if b.high is not None and (a.high is None or a.high > b.high):
            ways.append(replace(a, low=max(a.low, b.high + 1), automaton=None))
        length = max(len(a.prefix), len(b.prefix))
        for i in range(length):
            self._failing_item(a, b, i, ways)
        if b.rest is not self.goals.all and b.rest is not a.rest:
            failing = self.goals.conj(a.rest, self.goals.negate(b.rest))
            if failing is not self.goals.none and not self.surely_empty(failing):
                ways.append(self.counted(a, Contains(self.goals.negate(b.rest), 1, None, None, length)))
        return [way for way in ways if not self._surely_void(way)]

    def counted(self, items: Items, contains: Contains) -> Items:
        return replace(items, contains=(*items.contains, contains), automaton=None)

    def counting(self, items: Items) -> Counting:
        """The counting automaton of a shape with `contains`."""
        if items.automaton is None:
            items.automaton = counting(items, self.goals)
        return items.automaton  # type: ignore[no-any-return]

    def _failing_item(self, a: Items, b: Items, i: int, ways: list[Items]) -> None:
        wanted, given = b.item(i), a.item(i)
        if wanted is self.goals.all or wanted is given or (a.high is not None and i >= a.high):
            return
        failing = self.goals.conj(given, self.goals.negate(wanted))
        if failing is self.goals.none or self.surely_empty(failing):
            return
        prefix = [a.item(k) for k in range(max(len(a.prefix), i + 1))]
        prefix[i] = failing
        ways.append(replace(a, prefix=tuple(prefix), low=max(a.low, i + 1), automaton=None))
