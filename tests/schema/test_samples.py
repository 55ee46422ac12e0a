"""`constrain.sample`: random outputs are valid, reproducible, varied, readable, and always end."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import constrain
from constrain import LimitError, SchemaError, UnsatisfiableError

from .support import is_valid
from .test_random import RELAXED, SCHEMAS

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
        "mail": {"type": "string", "format": "email"},
        "kind": {"enum": ['a "quoted"\nkind', 3, None]},
        "tags": {"type": "array", "items": {"type": "string"}, "minItems": 1},
    },
    "required": ["name"],
}
TREE = {
    "$defs": {
        "tree": {
            "type": "object",
            "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/tree"}, "minItems": 1}, "leaf": {}},
            "oneOf": [{"required": ["kids"]}, {"required": ["leaf"]}],
            "additionalProperties": False,
        }
    },
    "$ref": "#/$defs/tree",
}


@settings(RELAXED, max_examples=80)
@given(SCHEMAS, st.integers(0, 2**32))
def test_samples_of_random_schemas_are_valid(schema: Any, seed: int) -> None:
    try:
        grammar = constrain.compile_json_schema(schema)
    except (SchemaError, LimitError, UnsatisfiableError):
        return
    for most in (0, 60):
        text = constrain.sample(grammar, seed=seed, max_bytes=most)
        assert grammar.accepts(text)
        assert is_valid(schema, json.loads(text)), text


@pytest.mark.parametrize("schema", [PERSON, TREE], ids=["person", "tree"])
def test_samples_are_valid_varied_and_of_plain_text(schema: Any) -> None:
    grammar = constrain.compile_json_schema(schema)
    texts = [constrain.sample(grammar, seed=seed) for seed in range(12)]
    assert all(is_valid(schema, json.loads(text)) for text in texts)
    assert len(set(texts)) > 8
    assert all(text.isascii() and text.isprintable() and len(text) < 2500 for text in texts)


def test_optional_members_come_and_go() -> None:
    grammar = constrain.compile_json_schema(PERSON)
    values = [json.loads(constrain.sample(grammar, seed=seed)) for seed in range(30)]
    for key in PERSON["properties"]:
        assert any(key in value for value in values)
    assert any("tags" not in value for value in values)
    additional = sum(len(value.keys() - PERSON["properties"].keys()) for value in values)
    assert additional < sum(map(len, values)) / 4


def test_a_seed_gives_the_same_sample_again() -> None:
    first, second = (constrain.compile_json_schema(PERSON) for _ in range(2))
    for seed in range(3):
        assert constrain.sample(first, seed=seed) == constrain.sample(second, seed=seed)


def test_a_small_room_gives_a_small_sample() -> None:
    grammar = constrain.compile_json_schema(TREE)
    assert all(len(constrain.sample(grammar, seed=seed, max_bytes=0)) < 20 for seed in range(5))


def test_long_strings_are_finished() -> None:
    schema = {"type": "string", "pattern": "^[a-z]{200,}!$", "maxLength": 260}
    grammar = constrain.compile_json_schema(schema)
    for seed in range(3):
        assert is_valid(schema, json.loads(constrain.sample(grammar, seed=seed)))


@pytest.mark.parametrize(
    "grammar",
    [
        constrain.compile_regex("[A-Z]{2}-[0-9]{3,}|[äöü]{4}"),
        constrain.compile_choice(["one", "on", "", "two\nlines"]),
        constrain.compile_json_schema(
            {"items": {"type": "integer"}, "minItems": 2, "type": "array"}, whitespace="single"
        ),
        constrain.compile_json_schema({"type": "array", "minItems": 2}, whitespace=r"\n ?"),
    ],
    ids=["regex", "choice", "single", "forced whitespace"],
)
def test_any_grammar_has_samples(grammar: constrain.Grammar) -> None:
    texts = {constrain.sample(grammar, seed=seed) for seed in range(20)}
    assert all(map(grammar.accepts, texts))
    assert len(texts) > 2


@pytest.mark.parametrize(
    "members",
    [
        {"required": ["c"], "anyOf": [{"required": ["ab"]}, {"maxProperties": 0}]},
        {"required": ["c"], "oneOf": [{"required": ["ab"]}, {"required": ["b", "d"]}], "minProperties": 2},
        {"required": ["c"], "if": {"minProperties": 2}, "then": {"required": ["ab"]}, "minProperties": 3},
        {"oneOf": [{"maxProperties": 2}, {"propertyNames": {"not": {"const": "a"}}, "required": ["ab"]}]},
    ],
    ids=str,
)
def test_the_shortest_of_objects_that_differ_and_have_conditions(members: dict[str, Any]) -> None:
    """Members that are no use come without end; those that complete an object are found before."""
    items = {"type": "object", **members}
    schema = {"type": "array", "uniqueItems": True, "minItems": 2, "prefixItems": [items, items], "items": items}
    grammar = constrain.compile_json_schema(schema, limits=constrain.Limits(max_seconds=5))
    text = constrain.sample(grammar, seed=1, max_bytes=0)
    assert grammar.accepts(text) and is_valid(schema, json.loads(text)) and len(text) < 80
