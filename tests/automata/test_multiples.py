"""Multiples of numbers that no automaton has states for: kernels and interpreter against each other and arithmetic."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

import constrain
from constrain.automata.compiled import Grammar
from constrain.automata.oracle import Oracle
from constrain.schema import compile_schema

from .test_engine import VOCABULARIES, one_walk
from .test_shortest import assert_no_dead_end

SCHEMAS: list[Any] = [
    {"type": "integer", "multipleOf": 123456789},
    {"type": "integer", "multipleOf": 1234567, "minimum": -(10**8), "maximum": 10**12},
    {"type": "number", "multipleOf": 123456.789, "exclusiveMinimum": 5},
    {"type": "integer", "multipleOf": 1234567, "not": {"multipleOf": 2}, "maximum": 10**15},
    {"type": "integer", "multipleOf": 777777777777777777},
    {"type": "integer", "multipleOf": 1234577, "not": {"enum": [0, 1234577]}},
    {"anyOf": [{"type": "integer", "multipleOf": 1000003}, {"type": "integer", "maximum": 50, "minimum": 1}]},
    {"type": "array", "items": {"multipleOf": 99999989, "type": "integer"}, "uniqueItems": True, "minItems": 3},
    {"type": "object", "properties": {"n": {"multipleOf": 1000003}}, "required": ["n"]},
]


@pytest.mark.parametrize("schema", SCHEMAS, ids=range(len(SCHEMAS)))
def test_masks_equal_the_interpreter(schema: Any) -> None:
    vocabulary = VOCABULARIES[0]
    likely = [t for t in range(256) if t in b"0123456789,n"]
    node, _ = compile_schema(schema, whitespace="compact")
    for seed in range(3):
        one_walk(random.Random(seed), Grammar(node, vocabulary), likely, 16, f"{schema}, seed {seed}")


@pytest.mark.parametrize("schema", SCHEMAS, ids=range(len(SCHEMAS)))
def test_no_dead_end(schema: Any) -> None:
    for seed in range(5):
        assert_no_dead_end(Oracle(compile_schema(schema, whitespace="compact")[0]), seed, 30)


@pytest.mark.parametrize("schema", SCHEMAS, ids=range(len(SCHEMAS)))
def test_samples_are_valid(schema: Any) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    grammar = constrain.compile_json_schema(schema)
    for seed in range(5):
        value = json.loads(constrain.sample(grammar, seed=seed))
        if "123456.789" not in json.dumps(schema):  # the validator divides floats
            assert jsonschema.Draft202012Validator(schema).is_valid(value), value


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "integer", "multipleOf": 123456789}, ["0", "123456789", "-246913578"], ["1", "123456788", "1.0"]),
        ({"multipleOf": 123456.789}, ["123456.789", "-246913.5780", "0.000", "0"], ["123456.7", "0.001"]),
        ({"type": "integer", "multipleOf": 1000003, "minimum": 5, "maximum": 10**13}, ["1000003"], ["0", "-1000003"]),
        ({"type": "integer", "multipleOf": 1000003, "not": {"multipleOf": 3}}, ["1000003"], ["3000009", "0"]),
        ({"type": "number", "multipleOf": 50000.5, "not": {"type": "integer"}}, ["50000.5"], ["100001", "0.5"]),
    ],
    ids=range(5),
)
def test_what_is_accepted(schema: Any, good: list[str], bad: list[str]) -> None:
    for spelling in ("canonical", "any"):
        grammar = constrain.compile_json_schema(schema, numbers=spelling)
        assert [text for text in good if not grammar.accepts(text)] == []
        assert [text for text in bad if grammar.accepts(text) and (spelling, text) != ("any", "1.0")] == []


def test_none_between_bounds_is_unsatisfiable() -> None:
    with pytest.raises(constrain.UnsatisfiableError):
        constrain.compile_json_schema({"type": "integer", "multipleOf": 10**9 + 7, "minimum": 1, "maximum": 10**9})
