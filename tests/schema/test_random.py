"""Random schemas and values: the grammar agrees with jsonschema, and whatever it generates is valid."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from constrain._errors import LimitError, SchemaError, UnsatisfiableError
from constrain.automata.oracle import Oracle
from constrain.schema import compile_schema

from .support import is_valid, walk

KEYS = ("a", "b", "ab")
SCALARS = st.sampled_from([None, True, False, 0, 1, 2, 3, 1.5, -1, "", "a", "b", "ab", "aab"])
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from((*KEYS, "c")), inner, max_size=3),
    max_leaves=5,
)
TYPES = ("null", "boolean", "string", "number", "integer", "array", "object")
SMALL = st.integers(0, 3)


def _keywords(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    maps = st.dictionaries(st.sampled_from(KEYS), inner, max_size=2)
    lists = st.lists(inner, min_size=1, max_size=2)
    keywords: dict[str, st.SearchStrategy[Any]] = {
        "type": st.sampled_from(TYPES) | st.lists(st.sampled_from(TYPES), min_size=1, max_size=3, unique=True),
        "enum": st.lists(VALUES, min_size=1, max_size=3),
        "const": VALUES,
        "minLength": SMALL,
        "maxLength": SMALL,
        "pattern": st.sampled_from(["^a", "b$", "^(ab)*$", "aa", "^[ab]?$"]),
        "minimum": st.integers(-2, 3),
        "exclusiveMaximum": st.integers(-2, 3),
        "multipleOf": st.sampled_from([1, 2, 0.5]),
        "properties": maps,
        "patternProperties": st.dictionaries(st.sampled_from(["^a", "b"]), inner, max_size=2),
        "additionalProperties": inner,
        "propertyNames": st.sampled_from([{"maxLength": 1}, {"pattern": "^a"}, {"enum": ["a", "c"]}, True]),
        "required": st.lists(st.sampled_from(KEYS), max_size=2, unique=True),
        "minProperties": SMALL,
        "maxProperties": SMALL,
        "dependentRequired": st.dictionaries(
            st.sampled_from(KEYS), st.lists(st.sampled_from(KEYS), max_size=1), max_size=1
        ),
        "dependentSchemas": maps,
        "items": inner,
        "prefixItems": lists,
        "minItems": SMALL,
        "maxItems": SMALL,
        "contains": inner,
        "minContains": SMALL,
        "maxContains": SMALL,
        "anyOf": lists,
        "oneOf": lists,
        "allOf": lists,
        "not": inner,
        "if": inner,
        "then": inner,
        "else": inner,
        "unevaluatedProperties": inner,
        "unevaluatedItems": inner,
    }
    names = st.lists(st.sampled_from(sorted(keywords)), min_size=1, max_size=4, unique=True)
    return names.flatmap(lambda chosen: st.fixed_dictionaries({name: keywords[name] for name in chosen}))


SCHEMAS = st.recursive(st.booleans() | st.just({}), _keywords, max_leaves=6)
RELAXED = settings(
    max_examples=400,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


@RELAXED
@given(SCHEMAS, st.lists(VALUES, min_size=1, max_size=8))
def test_verdicts_agree_with_jsonschema(schema: Any, values: list[Any]) -> None:
    try:
        root, report = compile_schema(schema, numbers="any")
    except (SchemaError, LimitError):
        return
    except UnsatisfiableError:
        assert [value for value in values if is_valid(schema, value)] == []
        return
    assert report.is_exact
    grammar = Oracle(root)
    wrong = [v for v in values if grammar.accepts(json.dumps(v).encode()) != is_valid(schema, v)]
    assert wrong == []


@settings(RELAXED, max_examples=60)
@given(SCHEMAS, st.integers(0, 2**32))
def test_whatever_is_generated_is_valid(schema: Any, seed: int) -> None:
    """A random walk never meets a dead end and ends in a valid value."""
    try:
        root, _ = compile_schema(schema, whitespace="compact")
    except (SchemaError, LimitError, UnsatisfiableError):
        return
    text = walk(Oracle(root), Random(seed), most=120)
    if text is not None:
        assert is_valid(schema, json.loads(text)), text


@pytest.mark.parametrize("seed", range(10))
def test_recursive_schemas_end(seed: int) -> None:
    schema = {
        "$defs": {
            "n": {
                "type": "object",
                "properties": {"v": {"type": "integer"}, "n": {"$ref": "#/$defs/n"}},
                "required": ["v"],
            }
        },
        "$ref": "#/$defs/n",
        "additionalProperties": False,
        "properties": {"v": {}, "n": {}},
    }
    root, _ = compile_schema(schema, whitespace="compact")
    text = walk(Oracle(root), Random(seed), most=300)
    assert text is None or is_valid(schema, json.loads(text))
