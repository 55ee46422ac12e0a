"""From subschemas to forms: what each keyword contributes, and how the keywords of one schema combine.

The form of a subschema is computed in this order, each step relative to what is known so far, because a difference
of two shapes is expressible far more often than a bare complement:

    1. the plain keywords of the schema and of everything it joins through allOf and $ref
    2. anyOf, oneOf, if/then/else, not, dependencies

Schemas with unevaluatedProperties or unevaluatedItems are taken apart further, in `unevaluated`.

Closing (`settled`) turns a form into the shapes that the grammar can run: `contains` and `uniqueItems` are resolved
or refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from decimal import Decimal
from functools import lru_cache
from typing import Any

from .._limits import Limits, check_time
from . import numbers as num
from . import strings as text
from .algebra import Algebra
from .diagrams import Diagrams
from .dialect import ASSERTIONS, Draft
from .document import Document, Location
from .emptiness import Emptiness
from .forms import FALSE, NULL, TRUE, Contains, Form, Goal, Items, Kind, Members, Rule
from .goals import Goals, fields
from .keys import Keys
from .options import Options
from .repeats import Repeats
from .report import Report
from .signals import InProgress, Refusal
from .unevaluated import Worlds

__all__ = ["Normaliser"]

_STRING = frozenset("minLength maxLength pattern format".split())
_NUMBER = frozenset("minimum maximum exclusiveMinimum exclusiveMaximum multipleOf".split())
_OBJECT = frozenset(
    "properties patternProperties additionalProperties required minProperties maxProperties propertyNames".split()
)
_ARRAY = frozenset("items prefixItems additionalItems minItems maxItems uniqueItems contains".split())
_DEPENDENCIES = ("dependencies", "dependentRequired", "dependentSchemas")
_BRANCHING = frozenset(("anyOf", "oneOf", "if", "not", *_DEPENDENCIES))
_UNEVALUATED = frozenset(("unevaluatedProperties", "unevaluatedItems"))


class Normaliser:
    """Forms of goals, on demand. One per compilation; not safe for threads by itself."""

    def __init__(self, document: Document, options: Options, limits: Limits, report: Report) -> None:
        self.document, self.options, self.report = document, options, report
        self.goals = Goals(document, limits)
        self.lexicon = text.Lexicon(limits, options.without, options.key_pattern)
        self.oldest = document.root.scope.draft == Draft.D4  # whose integers have no fraction and no exponent
        self.numerals = num.Numerals("canonical" if self.oldest else options.numbers, limits)
        self.algebra = Algebra(self.goals, self.lexicon, self.numerals, limits)
        self.free_items = Items((), self.goals.all)
        self.free_members = Members()
        strings = self.lexicon.universe
        self.anything = Form(NULL | FALSE | TRUE, strings, num.ANY, (self.free_members,), (self.free_items,))
        self.emptiness = Emptiness(self)
        self._settling: dict[Goal, tuple[Items, ...]] = {}
        """Goals whose arrays are being settled, with those that are known to have a value."""
        self._alive: set[Items] = set()
        """Arrays that are known to have a value, while there may be more values of their items than are known."""
        self._leaned_on: set[Goal] = set()
        """Those of them that something took as they are known so far."""
        self.keys = Keys(self)
        self.diagrams = Diagrams(self)
        self._closed: dict[Members, Members] = {}
        self.worlds = Worlds(self)
        self.repeats = Repeats(self)
        self.root = self.goals.at(document.root)
        self.algebra.form = self.form
        # what differs, and what is left when something is taken away, is for the schema to say: nothing is closed there
        self._as_said = Emptiness(self, closing=False) if options.additional_properties is False else self.emptiness
        self.algebra.inhabited = self._as_said.inhabited
        self.algebra.members_inhabited = self._as_said.members
        self.algebra.items_inhabited = self._as_said.items

    # forms

    def form(self, goal: Goal) -> Form:
        """The normal form of a goal. InProgress when it is being computed further up."""
        form = goal.form
        if form is None:
            if goal.pending:
                raise InProgress
            goal.pending = True
            try:
                form = goal.form = self._compute(goal)
            finally:
                goal.pending = False
        return form

    def _compute(self, goal: Goal) -> Form:
        check_time()
        kind = goal.kind
        if kind == Kind.AT:
            return self._of_schema(goal.parts)
        if kind == Kind.ALL:
            return self.anything
        if kind == Kind.NONE:
            return Form()
        if kind == Kind.CONST:
            return self._of_value(goal.parts)
        if kind == Kind.OR:
            return self.algebra.join(self.form(part) for part in goal.parts)
        if kind == Kind.AND and len(goal.parts) > 2:
            known = self.goals.without_last(goal)
            if known is not None and known.form is not None:
                return self._with(known.form, goal.parts[-1])
        positive = [part for part in goal.parts if part.kind != Kind.NOT] if kind == Kind.AND else []
        negative = [part for part in goal.parts if part.kind == Kind.NOT] if kind == Kind.AND else [goal]
        form = self.anything
        for part in positive:
            form = self.algebra.meet(form, self.form(part))
        for part in negative:
            form = self._with(form, part)
        return form

    def _with(self, form: Form, part: Goal) -> Form:
        """The values of a form that also satisfy a goal."""
        if part.kind != Kind.NOT:
            return self.algebra.meet(form, self.form(part))
        unwanted, location = self.form(part.parts), next(part.locations(), self.document.root)
        return self._or_refuse(lambda: self.algebra.minus(form, unwanted), form, location, "not")

    def _or_refuse(self, attempt: Callable[[], Form], otherwise: Form, location: Location, keyword: str) -> Form:
        """The attempt; if it is refused, `otherwise` when lenient, with a finding."""
        try:
            return attempt()
        except Refusal as refusal:
            self.refuse(location, keyword, refusal.reason)
            return otherwise

    def refuse(self, location: Location, keyword: str, reason: str) -> None:
        """SchemaError, or a finding when lenient."""
        if not self.options.lenient:
            raise location.error(keyword, reason)
        self.report.add(location.pointer, keyword, "relaxed", reason)

    def _of_value(self, value: Any) -> Form:
        if value is None:
            return Form(bits=NULL)
        if isinstance(value, bool):
            return Form(bits=TRUE if value else FALSE)
        if isinstance(value, str):
            return Form(strings=self._of_words((value,)))
        if isinstance(value, list):
            prefix = tuple(map(self.goals.const, value))
            return Form(arrays=(Items(prefix, self.goals.none, len(value), len(value)),))
        if isinstance(value, dict):
            declared = {key: self.goals.const(item) for key, item in value.items()}
            closed = (Rule((), self.goals.none),)
            required = dict.fromkeys(value)
            return Form(objects=(Members(declared, closed, (), required, len(value), len(value), True),))
        return Form(numbers=num.of_values((num.exact(value),)))

    # one schema

    def _of_schema(self, location: Location) -> Form:
        unevaluated = _UNEVALUATED & fields(location).keys()
        if unevaluated:
            try:
                return self.worlds.form(location)
            except Refusal as refusal:
                for keyword in sorted(unevaluated):
                    self.refuse(location, keyword, refusal.reason)
        joined, separate = self._conjuncts(location)
        form = self.anything
        for part in joined:
            plain = self.plain(part)
            form = plain if form is self.anything else self.algebra.meet(form, plain)
        for goal in separate:
            form = self.algebra.meet(form, self.form(goal))
        branching = [(part, keywords) for part in joined if not _BRANCHING.isdisjoint(keywords := fields(part))]
        conditionals = sum(
            sum(len(keywords.get(keyword, ())) for keyword in _DEPENDENCIES) + ("if" in keywords)
            for _, keywords in branching
        )
        for part, keywords in branching:
            form = self._branches(form, part, keywords, conditionals > 2)
        return form

    def _conjuncts(self, location: Location) -> tuple[list[Location], list[Goal]]:
        """What a schema joins through allOf and $ref: schemas to be merged, and goals that keep a form of their own."""
        joined, separate, stack = [], [], [location]
        while stack:
            here = stack.pop()
            if here is not location and not _UNEVALUATED.isdisjoint(fields(here)):
                separate.append(self.goals.at(here))
                continue
            joined.append(here)
            keywords = fields(here)
            below = [self.goals.child(here, "allOf", i) for i in range(len(keywords.get("allOf", ())))]
            for keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
                if keyword in keywords:
                    below.append(self.goals.at(self.document.resolve(here, keyword)))
            for goal in reversed(below):
                if goal.kind == Kind.AT:
                    if not any(_same(goal.parts, other) for other in joined):
                        stack.append(goal.parts)
                else:
                    separate.append(goal)
        return joined, separate

    def plain(self, location: Location) -> Form:
        """The keywords that speak about one type each, and type, enum and const."""
        keywords = fields(location)
        named = keywords.get("type")
        form = self.of_types(named) if named is not None else self.anything
        words = keywords.keys()
        if not _STRING.isdisjoint(words) and form.strings is not text.NOTHING:
            form = replace(form, strings=self._strings(location, keywords))
        if not _NUMBER.isdisjoint(words) and form.numbers is not num.NOTHING:
            form = replace(form, numbers=num.meet(form.numbers, self._numbers(keywords)))
        if not _OBJECT.isdisjoint(words) and form.objects:
            form = replace(form, objects=self._members(location, keywords))
        if not _ARRAY.isdisjoint(words) and form.arrays:
            form = replace(form, arrays=self._items(location, keywords))
        if "const" in keywords:
            form = self.algebra.meet(form, self.form(self.goals.const(keywords["const"])))
        if "enum" in keywords:
            form = self.algebra.meet(form, self._of_values(keywords["enum"]))
        return form

    def of_types(self, named: str | list[str]) -> Form:
        """The values of one type, or of several."""
        names = (named,) if isinstance(named, str) else tuple(named)
        bits = (NULL if "null" in names else 0) | (FALSE | TRUE if "boolean" in names else 0)
        return Form(
            bits,
            self.lexicon.universe if "string" in names else text.NOTHING,
            num.ANY if "number" in names else num.INTEGERS if "integer" in names else num.NOTHING,
            (self.free_members,) if "object" in names else (),
            (self.free_items,) if "array" in names else (),
        )

    def _of_values(self, values: list[Any]) -> Form:
        words = self._of_words(value for value in values if isinstance(value, str))
        figures = num.of_values(num.exact(value) for value in values if type(value) in (int, float, Decimal))
        listed = (str, int, float, Decimal)
        rest = [self.form(self.goals.const(value)) for value in values if type(value) not in listed]
        form = self.algebra.join(rest)
        if figures.values:
            form.numbers = figures
        if words.words:
            form.strings = words
        return form

    def _strings(self, location: Location, keywords: dict[str, Any]) -> text.Strings:
        atoms: list[text.Atom] = []
        if "pattern" in keywords:
            atoms.append(("pattern", keywords["pattern"], True))
        low, high = int(keywords.get("minLength", 0)), keywords.get("maxLength")
        clause = text.Clause(tuple(sorted(atoms)), frozenset(), low, None if high is None else int(high))
        if clause.max is not None and clause.min > clause.max:
            return text.NOTHING
        strings = text.ANY if clause == text.Clause() else text.Strings(clauses=(clause,))
        if "format" in keywords and (self.options.formats == "assert" or location.scope.asserts_formats):
            strings = self.lexicon.meet(strings, text.of_format(keywords["format"], location.scope.draft))
        return self.lexicon.meet(self.lexicon.universe, strings)

    def _of_words(self, words: Iterable[str]) -> text.Strings:
        return self.lexicon.meet(self.lexicon.universe, text.of_words(words))

    def _numbers(self, keywords: dict[str, Any]) -> num.Numbers:
        low = _bound(keywords.get("minimum"), keywords.get("exclusiveMinimum"), 1)
        high = _bound(keywords.get("maximum"), keywords.get("exclusiveMaximum"), -1)
        multiples = frozenset((num.exact(keywords["multipleOf"]),)) if "multipleOf" in keywords else frozenset()
        return num.Numbers(clauses=(num.Clause(None, low, high, multiples),))

    def _members(self, location: Location, keywords: dict[str, Any]) -> tuple[Members, ...]:
        goals, none = self.goals, self.goals.none
        patterns = tuple(
            (pattern, goals.child(location, "patternProperties", pattern))
            for pattern in keywords.get("patternProperties", ())
        )
        otherwise = goals.child(location, "additionalProperties") if "additionalProperties" in keywords else goals.all
        rules = (Rule(patterns, otherwise),) if patterns or otherwise is not goals.all else ()
        declared: dict[str, Goal] = {}
        for key in keywords.get("properties", ()):
            goal = goals.child(location, "properties", key)
            if patterns:
                goal = goals.conj(goal, *(then for pattern, then in patterns if self.lexicon.matches(pattern, key)))
            declared[key] = goal
        required = dict.fromkeys(keywords.get("required", ()))
        low, high = int(keywords.get("minProperties", 0)), keywords.get("maxProperties")
        names: tuple[Goal, ...] = ()
        if "propertyNames" in keywords:
            name = goals.child(location, "propertyNames")
            if name is none:
                high = 0
            elif name is not goals.all:
                names = (name,)
        members = Members(
            declared,
            rules,
            names,
            required,
            low,
            None if high is None else int(high),
            bool(patterns) or "additionalProperties" in keywords,
        )
        if members.is_free and not members.states_rest:
            return (self.free_members,)
        if members.high is not None and max(low, len(required)) > members.high:
            return ()
        if any(self.algebra.member(members, key) is none for key in required):
            return ()
        return (members,)

    def _items(self, location: Location, keywords: dict[str, Any]) -> tuple[Items, ...]:
        goals = self.goals
        prefix: tuple[Goal, ...] = ()
        rest = goals.all
        if "prefixItems" in keywords:
            prefix = tuple(goals.child(location, "prefixItems", i) for i in range(len(keywords["prefixItems"])))
        items = keywords.get("items")
        if isinstance(items, list):
            prefix = prefix or tuple(goals.child(location, "items", i) for i in range(len(items)))
            if "additionalItems" in keywords:
                rest = goals.child(location, "additionalItems")
        elif items is not None:
            rest = goals.child(location, "items")
        low, high = int(keywords.get("minItems", 0)), keywords.get("maxItems")
        contains: tuple[Contains, ...] = ()
        if "contains" in keywords:
            most = keywords.get("maxContains")
            least = int(keywords.get("minContains", 1))
            contains = (
                Contains(goals.child(location, "contains"), least, None if most is None else int(most), location),
            )
        unique = location if keywords.get("uniqueItems") is True else None
        self.repeats.met = self.repeats.met or unique is not None
        shape = Items(prefix, rest, low, None if high is None else int(high), unique, contains)
        if shape.is_free:
            return (self.free_items,)
        return () if shape.high is not None and low > shape.high else (shape,)

    # keywords that branch

    def _branches(self, form: Form, location: Location, keywords: dict[str, Any], crowded: bool) -> Form:
        """crowded: see `Algebra.conditional`."""
        algebra, goals = self.algebra, self.goals
        if "anyOf" in keywords:
            branches = self._leaves(location, len(keywords["anyOf"]))
            if not any(branch is goals.all for branch in branches):
                form = algebra.meet(form, algebra.join(map(self.form, branches)))
        if "oneOf" in keywords:
            options = [self.form(goals.child(location, "oneOf", i)) for i in range(len(keywords["oneOf"]))]
            base = form
            either = algebra.join(algebra.meet(form, option) for option in options) if self.options.lenient else form
            form = self._or_refuse(lambda: algebra.exactly_one(base, options), either, location, "oneOf")
        if "if" in keywords and ("then" in keywords or "else" in keywords):
            form = self._conditional(form, location, keywords, crowded)
        if "not" in keywords:
            unwanted, whole = self.form(goals.child(location, "not")), form
            form = self._or_refuse(lambda: algebra.minus(whole, unwanted), whole, location, "not")
        for keyword in _DEPENDENCIES:
            for key, dependency in keywords.get(keyword, {}).items():
                form = self.dependency(form, location, keyword, key, dependency, crowded=crowded)
        return form

    def _leaves(self, location: Location, count: int) -> list[Goal]:
        """The branches of anyOf, with those that are nothing but unions replaced by theirs: a union that holds itself
        is the union of the rest."""
        goals = self.goals
        leaves: dict[Goal, None] = {}
        stack = [goals.child(location, "anyOf", i) for i in reversed(range(count))]
        seen = {goals.at(location)}
        while stack:
            goal = stack.pop()
            if goal in seen:
                continue
            seen.add(goal)
            if goal.kind == Kind.AT and ASSERTIONS & fields(goal.parts).keys() == {"anyOf"}:
                below = goal.parts.schema["anyOf"]
                stack += [goals.child(goal.parts, "anyOf", i) for i in reversed(range(len(below)))]
            else:
                leaves[goal] = None
        return list(leaves)

    def _conditional(self, form: Form, location: Location, keywords: dict[str, Any], crowded: bool) -> Form:
        goals, algebra = self.goals, self.algebra
        condition = self.form(goals.child(location, "if"))
        then = goals.child(location, "then") if "then" in keywords else goals.all
        otherwise = goals.child(location, "else") if "else" in keywords else goals.all
        if then is otherwise:
            return algebra.meet(form, self.form(then))

        branches = self.form(then), self.form(otherwise)
        return self._or_refuse(
            lambda: algebra.conditional(form, condition, *branches, crowded=crowded), form, location, "if"
        )

    def dependency(
        self, form: Form, location: Location, keyword: str, key: str, dependency: Any, *, crowded: bool = False
    ) -> Form:
        """Objects without the key, or with it and what it asks for. crowded: see `Algebra.conditional`."""
        if not form.objects:
            return form
        goals, algebra = self.goals, self.algebra
        if isinstance(dependency, list):
            needed: tuple[Members, ...] = (Members(required=dict.fromkeys((key, *dependency))),)
        else:
            asked = self.form(goals.child(location, keyword, key))
            needed = algebra.meet(Form(objects=(Members(required={key: None}),)), asked).objects
        objects: list[Members] = []
        without = Members(declared={key: goals.none})
        for shape in form.objects:
            if algebra.member(shape, key) is goals.none:
                objects.append(shape)
                continue
            satisfied = isinstance(dependency, list) and all(name in shape.required for name in dependency)
            if satisfied:
                objects.append(shape)
                continue
            if crowded and key not in shape.required:
                objects += algebra.tied((shape,), algebra.holds((without, *needed)))
            else:
                objects += algebra.meet_objects((shape,), (without,))
                objects += algebra.meet_objects((shape,), needed)
        return replace(form, objects=algebra._bounded(objects))

    # closing

    def settled(self, goal: Goal, closing: bool = True) -> Form:
        """The form with shapes that a grammar can run. SchemaError for what cannot be. closing: close the objects that
        the option closes.

        Whether an array has enough different items may depend on the values of the goal itself. Of these there are
        first those without the arrays in question, then with the arrays that have turned out to have a value, until no
        other has: a least fixpoint, as for emptiness.
        """
        form = self.form(goal)
        arrays, objects = form.arrays, form.objects
        if any(shape.unique or shape.repeated or shape.contains for shape in arrays):
            if goal in self._settling:
                self._leaned_on.add(goal)
                return replace(form, arrays=self._settling[goal])
            arrays = self._settled_arrays(goal, arrays)
        if closing and self.options.additional_properties is False:
            objects = tuple(map(self.closed, objects))
        return (
            form if arrays is form.arrays and objects is form.objects else replace(form, arrays=arrays, objects=objects)
        )

    def _settled_arrays(self, goal: Goal, arrays: tuple[Items, ...]) -> tuple[Items, ...]:
        self._settling[goal] = ()
        try:
            while True:
                check_time()
                self._leaned_on.discard(goal)
                found = [(shape, settled) for shape in arrays for settled in self._settle(shape)]
                if goal not in self._leaned_on:
                    return tuple(settled for _, settled in found)
                found = [(shape, settled) for shape, settled in found if self.emptiness.items(settled)]
                alive = tuple(settled for _, settled in found)
                for shape, _ in found:
                    self._alive.add(shape)
                    self.repeats.nests(goal, shape)
                if len(alive) == len(self._settling[goal]):
                    return alive
                self._settling[goal] = alive
                self._doubt()
        finally:
            del self._settling[goal]
            self._leaned_on.discard(goal)
            if not self._settling:
                self._doubt()

    @property
    def is_settling(self) -> bool:
        """Whether some arrays are not settled yet, so that what has no value yet may have one."""
        return bool(self._settling)

    def _doubt(self) -> None:
        """Forget that something has no value, or not endlessly many, where that was concluded while arrays settled."""
        self.emptiness.forget()
        self._as_said.forget()
        self.repeats.forget()

    def closed(self, members: Members) -> Members:
        """With `additional_properties=False`, objects that declare members and say nothing about others have no
        others.
        """
        if self.options.additional_properties is not False or members.states_rest or not members.declared:
            return members
        closed = self._closed.get(members)
        if closed is None:
            known = dict.fromkeys((*members.declared, *members.required))
            for atom in self.keys.atoms(members):
                known.update(dict.fromkeys(atom.declared))
            declared = {key: self.algebra.member(members, key) for key in known}
            rules = (*members.rules, Rule((), self.goals.none))
            closed = self._closed[members] = members.but(declared=declared, rules=rules, states_rest=True)
        return closed

    def _settle(self, shape: Items) -> list[Items]:
        settled: Items | None = replace(shape, contains=(), automaton=None)
        for contains in shape.contains:
            if settled is not None:
                settled = self._resolve(settled, contains)
        if settled is not None and settled.unique is not None:
            settled = self.repeats.settle(settled, shape in self._alive)
        elif settled is not None and settled.repeated is not None:
            settled = self.repeats.repeat(settled)
        if settled is None:
            return []
        if settled.contains:
            try:
                self.algebra.counting(settled)
            except Refusal as refusal:
                asked = next((c.location for c in settled.contains if c.location is not None), self.document.root)
                self.refuse(asked, "contains", refusal.reason)
                settled = replace(settled, contains=(), automaton=None)
        return [settled]

    def _resolve(self, shape: Items, contains: Contains) -> Items | None:
        """The shape with the count in its bounds or items where that says the same, else left to a counting
        automaton.
        """
        goals, algebra = self.goals, self.algebra
        if contains.low == 0 and contains.high is None:
            return shape
        start = contains.start
        if contains.high is not None and contains.low > contains.high:
            return None
        if contains.high == 0:
            outside = goals.negate(contains.goal)
            length = max(len(shape.prefix), start)
            prefix = [shape.item(i) if i < start else goals.conj(shape.item(i), outside) for i in range(length)]
            return replace(shape, prefix=tuple(prefix), rest=goals.conj(shape.rest, outside))
        items = list(dict.fromkeys((*shape.prefix[start:], shape.rest)))
        if start == 0 and all(item is contains.goal or contains.goal is goals.all for item in items):
            high = (
                contains.high
                if shape.high is None
                else shape.high
                if contains.high is None
                else min(shape.high, contains.high)
            )
            low = max(shape.low, contains.low)
            return None if high is not None and low > high else replace(shape, low=low, high=high)
        if all(algebra.surely_empty(goals.conj(item, contains.goal)) for item in items):
            return shape if contains.low == 0 else None
        return algebra.counted(shape, contains)


def _same(a: Location, b: Location) -> bool:
    return a.schema is b.schema and a.dynamic == b.dynamic


@lru_cache(maxsize=1024, typed=True)  # True is not 1 here
def _bound(value: Any, exclusive: Any, sign: int) -> num.Bound | None:
    inclusive = None if value is None else (num.exact(value), exclusive is True)
    if exclusive is None or isinstance(exclusive, bool):
        return inclusive
    strict = (num.exact(exclusive), True)
    if inclusive is None:
        return strict
    return num._tighter(inclusive, strict, sign)
