"""Boolean algebra on forms: intersection, union and difference, each exact or refused.

Objects and arrays are unions of shapes. Two shapes meet by merging their parts; an array shape minus another is the
union of the ways in which a value of the first can fail the second. Objects could fail in many ways, so where there is
more than one (a required key absent or its value wrong counts as one), the difference is the first shape with a
condition; so is what would multiply a union. A failure that no shape can express raises `Refusal`; nothing is ever
dropped silently.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import combinations
from typing import Any

from .._errors import LimitError, SchemaError
from .._limits import Limits, check_time
from . import numbers as num
from .conditions import FALSE, TRUE, Condition, Conditions
from .counting import Counting, counting
from .forms import Contains, Form, Goal, Items, Kind, Members, Rule
from .goals import Goals, canonical, fields
from .signals import InProgress, Refusal
from .strings import Lexicon

__all__ = ["Algebra"]

_FEW = 4
"""So many shapes or conditions are not worth sparing."""


class Algebra:
    """form: goal -> Form.   inhabited: goal -> bool.   members_inhabited, items_inhabited: the same for one shape."""

    def __init__(self, goals: Goals, lexicon: Lexicon, numerals: num.Numerals, limits: Limits) -> None:
        self.goals, self.lexicon, self.numerals, self.limits = goals, lexicon, numerals, limits
        self.conditions = Conditions()
        self._atoms: dict[object, Members] = {}
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
            self.meet_objects(a.objects, b.objects),
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

    def exactly_one(self, base: Form, options: list[Form]) -> Form:
        """The values of base that satisfy one of the options and none of the others."""
        exact = []
        met = [self.meet(base, option) for option in options]
        flat = [replace(form, objects=()) for form in met]
        for i, form in enumerate(flat):
            for j, other in enumerate(flat):
                if i != j and not form.is_void:
                    form = self.minus(form, other)
            exact.append(form)
        joined = self.join(exact)
        joined.objects = self._exactly_one(base.objects, [o.objects for o in options], [m.objects for m in met])
        return joined

    def _exactly_one(
        self, base: tuple[Members, ...], options: list[tuple[Members, ...]], met: list[tuple[Members, ...]]
    ) -> tuple[Members, ...]:
        """met: the options within the base. Options that overlap are told apart by one condition."""
        shapes: list[Members] = []
        for group in self._overlapping(met):
            if len(group) == 1:
                shapes += met[group[0]]
                continue
            parts = self._apart(met[group[0]], met[group[1]]) if len(group) == 2 else None
            if parts is None:
                one = self.conditions.one(self.holds(options[i]) for i in group)
                parts = [shape for shape in self.tied(base, one) if not self._surely_void(shape)]
            shapes += parts
        return self._bounded(shapes)

    def _overlapping(self, unions: list[tuple[Members, ...]]) -> list[list[int]]:
        """The unions that have shapes, in groups such that those of different groups have no object in common."""
        groups: list[list[int]] = []
        for i, union in enumerate(unions):
            check_time()
            if union:
                joined = [i]
                apart = []
                for group in groups:
                    if any(self._meet_surely(x, y) for j in group for x in union for y in unions[j]):
                        joined = group + joined
                    else:
                        apart.append(group)
                groups = [*apart, sorted(joined)]
        return sorted(groups)

    def _meet_surely(self, a: Members, b: Members) -> bool:
        """False where it shows that no object is in both shapes."""
        met = None if self._told_apart(a, b) else self.meet_members(a, b)
        return met is not None and not self._surely_void(met)

    def _apart(self, a: tuple[Members, ...], b: tuple[Members, ...]) -> list[Members] | None:
        """What is in one of two shapes and not in the other, where that is two shapes without conditions."""
        if len(a) > 1 or len(b) > 1 or a[0].where or b[0].where:
            return None
        ours, theirs = self._ways(a[0], b[0]), self._ways(b[0], a[0])
        if ours is None or theirs is None:
            return None
        return [*ours, *theirs]

    def conditional(self, base: Form, condition: Form, then: Form, otherwise: Form, *, crowded: bool) -> Form:
        """The values of base that satisfy the condition and `then`, or neither it nor anything but `otherwise`.

        crowded: there is more of this kind, so that unions would multiply.
        """
        flat = replace(base, objects=())
        with_it = self.meet(self.meet(flat, condition), then)
        form = self.join((with_it, self.meet(self.minus(flat, condition), otherwise)))
        held = self.holds(condition.objects)
        rule = self.conditions.either(
            (
                self.conditions.both((held, self.holds(then.objects))),
                self.conditions.both((self.conditions.negate(held), self.holds(otherwise.objects))),
            )
        )
        objects: list[Members] = []
        for shape in base.objects:
            inside = self.meet_objects((shape,), condition.objects)
            if not inside:
                objects += self.meet_objects((shape,), otherwise.objects)
                continue
            parts: tuple[Members, ...] = ()
            if not crowded:
                outside = self._without((shape,), condition.objects, self.minus_members)
                parts = self.meet_objects(inside, then.objects) + self.meet_objects(outside, otherwise.objects)
            objects += parts if not crowded and len(parts) <= 2 else self.tied((shape,), rule)
        return replace(form, objects=self._bounded(objects))

    def meet_objects(self, a: tuple[Members, ...], b: tuple[Members, ...]) -> tuple[Members, ...]:
        """The objects in both unions, in no more shapes than the larger one has, or few."""
        met = self._product(a, b, self.meet_members)
        if len(met) <= max(len(a), len(b), _FEW):
            return met
        if len(a) > len(b):
            a, b = b, a
        shapes: list[Members] = []
        for shape in a:
            shapes += self.tied((shape,), self.holds(other for other in b if self._meet_surely(shape, other)))
        return self._bounded(shapes)

    # conditions

    def holds(self, shapes: Iterable[Members]) -> Condition:
        """That an object is in one of some shapes."""
        return self.conditions.either(map(self._holds, shapes))

    def _holds(self, shape: Members) -> Condition:
        if shape.is_free:
            return TRUE
        plain = shape if not shape.where else shape.but(where=())
        if plain.is_free:
            return self.conditions.both(shape.where)
        said = (
            tuple(plain.declared.items()), plain.rules, plain.names, frozenset(plain.required), plain.low, plain.high
        )  # fmt: skip
        return self.conditions.both((self.conditions.atom(self._atoms.setdefault(said, plain)), *shape.where))

    def tied(self, shapes: Iterable[Members], condition: Condition) -> tuple[Members, ...]:
        """The shapes under one more condition."""
        if condition is FALSE:
            return ()
        if condition is TRUE:
            return tuple(shapes)
        more = condition.parts if condition.kind == "and" else (condition,)
        return tuple(shape.but(where=tuple(dict.fromkeys((*shape.where, *more)))) for shape in shapes)

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
            and set(a.where) <= set(b.where)
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
        if isinstance(shape, Members) and len(shape.where) > _FEW:
            shape = shape.but(where=())  # what many conditions come to is asked once, in the end
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
        where = tuple(dict.fromkeys(a.where + b.where))
        met = Members(declared, rules, names, required, low, high, a.states_rest or b.states_rest, where)
        if any(key not in declared and self.member(met, key) is self.goals.none for key in required):
            return None
        return met

    def minus_members(self, a: Members, b: Members) -> list[Members]:
        if not self._meet_surely(a, b):
            return [a]
        ways = None if b.where else self._ways(a, b)
        if ways is None:
            ways = [*self.tied((a,), self.conditions.negate(self._holds(b)))]
        return [way for way in ways if not self._surely_void(way)]

    def _ways(self, a: Members, b: Members) -> list[Members] | None:
        """Ways in which an object of shape a can fail b, which has no conditions, if there is one at most; None where
        there may be more, or undeclared members may fail.
        """
        if not self._surely_kept(a, b):
            return None
        ways: list[Members] = []
        for way in self._all_ways(a, b):
            if not self._surely_void(way.but(where=())):
                ways.append(way)
                if len(ways) > 1:
                    return None
        return ways

    def _all_ways(self, a: Members, b: Members) -> Iterator[Members]:
        none = self.goals.none
        if b.low > max(a.low, len(a.required)) and (a.high is None or a.high >= a.low):
            yield a.but(high=b.low - 1 if a.high is None else min(a.high, b.low - 1))
        if b.high is not None and (a.high is None or a.high > b.high):
            yield a.but(low=max(a.low, b.high + 1))
        for key in {**b.required, **b.declared, **a.declared, **a.required}:
            wanted, given = self.member(b, key), self.member(a, key)
            failing = none
            if wanted is not self.goals.all and wanted is not given:
                failing = self.goals.conj(given, self.goals.negate(wanted))
            if failing is not none and self.surely_empty(failing):
                failing = none
            if key in b.required and key not in a.required:
                yield a.but(declared={**a.declared, key: failing})
            elif failing is not none:
                yield a.but(declared={**a.declared, key: failing}, required={**a.required, key: None})

    def _surely_kept(self, a: Members, b: Members) -> bool:
        """Whether a glance shows that no undeclared member of shape a breaks the rules of b, or its names."""
        rules = [rule for rule in b.rules if rule not in a.rules]
        names = [name for name in b.names if name not in a.names]
        if not (rules or names) or (a.high is not None and a.high <= len(a.required)):
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
