"""Families of random schemas for the campaign: blocks of cases by number, each block the same whenever it is drawn.

A case is a schema and values that someone else made for it (none, for most families).
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import UnsatisfiedAssumption

from fuzz.mutate import corpus, mutated

from .few_values import few_values
from .test_random import SCHEMAS
from .test_random_arrays import array

try:
    from hypothesis_jsonschema import from_schema
except ImportError:  # it needs an older hypothesis
    from_schema = None

__all__ = ["FAMILIES", "Case", "block"]

Case = tuple[Any, list[Any]]

SIZE = 100
"""Cases in a block."""


def block(family: str, number: int) -> list[Case]:
    return FAMILIES[family](number)


# --- by hypothesis ---


def _examples(strategy: st.SearchStrategy[Case], number: int) -> list[Case]:
    found: list[Case] = []

    @seed(number)
    @settings(
        max_examples=SIZE,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def collect(case: Case) -> None:
        found.append(case)

    collect()
    return found


KEYS = ("a", "b", "ab", "c", "~/", "é", "")
PATTERNS = ("^a", "b$", "^[a-c]{2,4}$", "a.b", "^(ab|ba)+$", "[^a]", "^[0-9]+$", "c?d*$", "^$", "^.{2}$")
BOUNDS = st.integers(-5, 20) | st.sampled_from([-1.5, 0.25, 0.5, 2.75, 1e3, -1e-3, 12.5])
COUNTS = st.integers(0, 4)


def _optional(keywords: dict[str, st.SearchStrategy[Any]], most: int = 4, **fixed: Any) -> st.SearchStrategy[Any]:
    names = st.lists(st.sampled_from(sorted(keywords)), max_size=most, unique=True)
    return names.flatmap(lambda chosen: st.fixed_dictionaries({name: keywords[name] for name in chosen})).map(
        lambda schema: {**fixed, **schema}
    )


PLAIN = st.none() | st.booleans() | st.integers(-20, 20) | st.floats(-99, 99, width=16) | st.text("abcd01é", max_size=4)
NESTED = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=2)
)


def _typed(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Schemas as hypothesis-jsonschema draws them: mostly of one type, with the keywords of that type (draft 7)."""
    names, maps = st.sampled_from(KEYS), st.dictionaries(st.sampled_from(KEYS), inner, max_size=3)
    branches = st.lists(inner, min_size=1, max_size=3)
    numeric = {
        "minimum": BOUNDS,
        "maximum": BOUNDS,
        "exclusiveMinimum": BOUNDS,
        "exclusiveMaximum": BOUNDS,
        "multipleOf": st.sampled_from([1, 2, 3, 7, 0.5, 0.25, 0.1, 1.5, 12]),
    }
    text = {"minLength": COUNTS, "maxLength": st.integers(0, 9), "pattern": st.sampled_from(PATTERNS)}
    items = {
        "items": inner | st.lists(inner, max_size=3),
        "additionalItems": inner,
        "contains": inner,
        "minItems": COUNTS,
        "maxItems": COUNTS,
        "uniqueItems": st.booleans(),
    }
    members = {
        "properties": maps,
        "patternProperties": st.dictionaries(st.sampled_from(PATTERNS), inner, max_size=2),
        "additionalProperties": inner,
        "propertyNames": _optional(text),
        "required": st.lists(names, max_size=3, unique=True),
        "minProperties": COUNTS,
        "maxProperties": COUNTS,
        "dependencies": st.dictionaries(names, inner | st.lists(names, max_size=2, unique=True), max_size=2),
    }
    combined = {
        "allOf": branches,
        "anyOf": branches,
        "oneOf": branches,
        "not": inner,
        "if": inner,
        "then": inner,
        "else": inner,
    }
    mixed = st.lists(st.sampled_from(["null", "boolean", "integer", "number", "string", "array", "object"]), min_size=2)
    return st.one_of(
        _optional(numeric, type="integer"),
        _optional(numeric, type="number"),
        _optional(text, type="string"),
        _optional(items, type="array"),
        _optional(members, type="object"),
        st.fixed_dictionaries({"enum": st.lists(NESTED, min_size=1, max_size=4)}),
        st.fixed_dictionaries({"const": NESTED}),
        _optional(combined, most=3),
        st.tuples(
            st.fixed_dictionaries({"type": mixed.map(lambda types: sorted(set(types)))}),
            _optional({**numeric, **text, **items, **members}, most=5),
        ).map(lambda parts: {**parts[1], **parts[0]}),
        st.tuples(_optional(members, most=3, type="object"), _optional(combined, most=1)).map(
            lambda parts: {**parts[0], **parts[1]}
        ),
    )


TYPED = st.recursive(st.booleans() | st.just({}), _typed, max_leaves=8).filter(lambda schema: isinstance(schema, dict))


@st.composite
def _with_values(draw: st.DrawFn) -> Case:
    """A typed schema with values that hypothesis-jsonschema, where it is installed, says are valid."""
    schema = {"$schema": "http://json-schema.org/draft-07/schema#", **draw(TYPED)}
    if from_schema is None:
        return schema, []
    try:
        return schema, draw(st.lists(from_schema(schema), max_size=4))
    except UnsatisfiedAssumption:  # nothing found that it takes for valid: another schema
        raise
    except Exception:  # whatever it cannot read, unsatisfiable schemas among it
        return schema, []


# --- by a plain generator: deep, with references ---

SCALARS: tuple[Any, ...] = (None, True, False, 0, 1, 2, 3, -1, 0.5, 1.5, 10, "", "a", "b", "ab", "abc", "é", "\n", '"')
NAMES = ("a", "b", "ab", "c", "d")


def _value(rng: Random, depth: int = 2) -> Any:
    chance = rng.random()
    if depth == 0 or chance < 0.6:
        return rng.choice(SCALARS)
    if chance < 0.8:
        return [_value(rng, depth - 1) for _ in range(rng.randrange(3))]
    return {name: _value(rng, depth - 1) for name in rng.sample(NAMES, rng.randrange(3))}


class _Deep:
    """One schema of 2020-12 with definitions, rich in what needs complements and evaluation.

    A reference in place, as in `allOf`, leads to later definitions only, so that no value meets itself.
    """

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.definitions = [f"d{i}" for i in range(rng.choice((0, 0, 1, 2, 3)))]
        self.free = 0

    def document(self) -> dict[str, Any]:
        schema = self.schema(3)
        while not isinstance(schema, dict):
            schema = self.schema(3)
        definitions = {}
        for i, name in enumerate(self.definitions):
            self.free = i + 1
            definitions[name] = self.schema(2)
        return {**schema, "$defs": definitions} if definitions else schema

    def below(self, depth: int) -> Any:
        """A schema of items or members."""
        self.free, before = 0, self.free
        try:
            return self.schema(depth)
        finally:
            self.free = before

    def schema(self, depth: int, kind: str | None = None) -> Any:
        """kind: what it is likely to be about."""
        rng = self.rng
        if depth <= 0 or rng.random() < 0.07:
            return rng.choice((True, False, {}, {}, {"type": rng.choice(("string", "integer", "object", "array"))}))
        definitions = self.definitions[self.free :]
        if definitions and rng.random() < 0.12:
            return {"$ref": f"#/$defs/{rng.choice(definitions)}"}
        if kind is None or rng.random() < 0.2:
            kind = rng.choice(("string", "number", "listed", "array", "array", "object", "object", "object"))
        schema: dict[str, Any] = getattr(self, kind)(depth - 1)
        for likely in (0.55, 0.2):
            if rng.random() < likely:
                schema |= self.combine(depth - 1, kind)
        return schema

    def typed(self, name: str) -> dict[str, Any]:
        others = ("null", "boolean", "integer", "string")
        return self.rng.choice(({}, {"type": name}, {"type": name}, {"type": sorted({name, self.rng.choice(others)})}))

    def some(self, keywords: dict[str, Callable[[], Any]], most: int) -> dict[str, Any]:
        names = self.rng.sample(sorted(keywords), min(len(keywords), self.rng.randint(1, most)))
        return {name: keywords[name]() for name in names}

    def least(self) -> int:
        return self.rng.choice((0, 1, 1, 1, 2, 2, 3))

    def most(self) -> int:
        return self.rng.choice((0, 1, 2, 2, 3, 3, 4, 5))

    def string(self, depth: int) -> dict[str, Any]:
        pattern = self.rng.choice(PATTERNS)
        keywords = {"minLength": self.least, "maxLength": self.most, "pattern": lambda: pattern}
        return self.typed("string") | self.some(keywords, 2)

    def number(self, depth: int) -> dict[str, Any]:
        def bound(*values: float) -> Callable[[], float]:
            return lambda: self.rng.choice(values)

        keywords: dict[str, Callable[[], Any]] = {
            "minimum": bound(-3, -1, 0, 1, 0.5, -0.25),
            "maximum": bound(0, 2, 5, 10, 99.5, 1e6),
            "exclusiveMinimum": bound(-5, 0, 1, 2, 0.25),
            "exclusiveMaximum": bound(1, 3, 5, 10.5),
            "multipleOf": bound(1, 2, 3, 5, 0.5, 0.1, 1.5),
        }
        return self.typed(self.rng.choice(("integer", "number"))) | self.some(keywords, 3)

    def listed(self, depth: int) -> dict[str, Any]:
        if self.rng.random() < 0.4:
            return {"const": _value(self.rng)}
        return {"enum": [_value(self.rng) for _ in range(self.rng.randint(1, 5))]}

    def array(self, depth: int) -> dict[str, Any]:
        keywords: dict[str, Callable[[], Any]] = {
            "items": lambda: self.below(depth),
            "prefixItems": lambda: [self.below(depth) for _ in range(self.rng.randint(1, 3))],
            "minItems": self.least,
            "maxItems": self.most,
            "contains": lambda: self.below(depth),
            "uniqueItems": lambda: True,
            "unevaluatedItems": lambda: self.below(depth - 1),
        }
        schema = self.typed("array") | self.some(keywords, 4)
        if "contains" in schema:
            schema |= self.some({"minContains": self.least, "maxContains": self.most, "minItems": self.least}, 2)
        return schema

    def object(self, depth: int) -> dict[str, Any]:
        rng = self.rng

        def several(names: tuple[str, ...], most: int) -> dict[str, Any]:
            return {name: self.below(depth) for name in rng.sample(names, rng.randint(1, most))}

        def needed() -> list[str]:
            return rng.sample(NAMES, rng.choice((1, 1, 2, 3)))

        keywords: dict[str, Callable[[], Any]] = {
            "properties": lambda: several(NAMES, 4),
            "patternProperties": lambda: several(("^a", "b", "^.$", "^[^b]*$"), 2),
            "additionalProperties": lambda: self.below(depth - 1),
            "propertyNames": lambda: self.string(0) if rng.random() < 0.5 else {"not": {"const": rng.choice(NAMES)}},
            "required": needed,
            "minProperties": self.least,
            "maxProperties": self.most,
            "dependentRequired": lambda: {rng.choice(NAMES): needed()},
            "dependentSchemas": lambda: {rng.choice(NAMES): self.schema(depth, "object")},
            "unevaluatedProperties": lambda: self.below(depth - 1),
        }
        return self.typed("object") | self.some(keywords, 5)

    def combine(self, depth: int, kind: str) -> dict[str, Any]:
        rng = self.rng

        def branches() -> list[Any]:
            return [self.schema(depth, kind) for _ in range(rng.choice((1, 2, 2, 3)))]

        chosen = rng.choice(("not", "not", "oneOf", "oneOf", "anyOf", "allOf", "if", "if", "unevaluated"))
        if chosen == "not":
            return {"not": self.schema(depth, kind)}
        if chosen == "if":
            names = rng.choice((("if", "then", "else"), ("if", "then", "else"), ("if", "then"), ("if", "else")))
            return {name: self.schema(depth, kind) for name in names}
        if chosen == "unevaluated":
            name = "unevaluatedItems" if kind == "array" else "unevaluatedProperties"
            rest = False if rng.random() < 0.5 else self.below(depth - 1)
            return {rng.choice(("anyOf", "allOf", "oneOf")): branches(), name: rest}
        return {chosen: branches()}


def _plain(make: Callable[[Random], Any]) -> Callable[[int], list[Case]]:
    return lambda number: [(make(Random(number * SIZE + i)), []) for i in range(SIZE)]


FAMILIES: dict[str, Callable[[int], list[Case]]] = {
    "typed": lambda number: _examples(_with_values(), number),
    "any": lambda number: _examples(SCHEMAS.map(lambda schema: (schema, [])), number),
    "deep": _plain(lambda rng: _Deep(rng).document()),
    "arrays": _plain(array),
    "few": _plain(few_values),
    "mutated": _plain(lambda rng: mutated(corpus(), rng)),
}
"""How a block of a family is drawn from its number.

typed    like hypothesis-jsonschema's schemas, draft 7
any      any keywords together, few at a time
deep     definitions, references, and what needs complements, several levels deep
arrays   uniqueItems and contains
few      items and members of which there are few
mutated  the corpus of the fuzzer, changed
"""
