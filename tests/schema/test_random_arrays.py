"""Random schemas of arrays, rich in uniqueItems, contains and their negations: the grammar agrees with jsonschema, and
every reading of a random walk can end in a valid value.
"""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

from constrain import Limits
from constrain._errors import UnsatisfiableError
from constrain.automata.oracle import Oracle
from constrain.automata.shortest import completion
from constrain.schema import compile_schema

from .support import is_valid

LEAVES: list[Any] = [
    {}, {"type": "integer"}, {"type": "string"}, {"type": "boolean"}, {"enum": [1, 2]}, {"enum": ["a", 1, None]},
    {"const": 1}, {"type": "number", "minimum": 0, "maximum": 2, "multipleOf": 0.5}, {"type": "string", "maxLength": 1},
    {"type": "string", "pattern": "^a"}, {"type": "integer", "minimum": 1}, {"type": ["integer", "boolean"]}, False,
    {"type": "object", "properties": {"a": {"enum": [1, 2]}}, "additionalProperties": False},
    {"type": "array", "items": {"type": "boolean"}, "maxItems": 2}, {"enum": [[], [1], {}, 1]},
    {"type": "integer", "minimum": 0, "maximum": 9}, {"enum": ["a", "b", "ab", 1, 2, 3, None, True, [1]]},
    {"type": "number", "maximum": 0, "multipleOf": 1},
    {"type": "string", "pattern": "^(a|b)?$"}, {"type": "string", "pattern": "^[ab]{0,2}$", "not": {"const": "a"}},
    {"type": "array", "prefixItems": [{"type": "boolean"}, False]}, {"type": "object", "propertyNames": {"const": "a"}},
    {"multipleOf": 2, "minimum": -3, "oneOf": [{"minimum": 0}, {"multipleOf": 0.5}]},
]  # fmt: skip
VALUES: list[Any] = [
    1, 1, 2, 3, 1.0, 0.5, 1.5, "a", "a", "b", "ab", "", None, True, False, [], [1], [True], [True, True], [1, 1], {},
    {"a": 1}, {"a": 2}, {"a": 1.0}, 5, 9, -1,
]  # fmt: skip
PATIENT = Limits(max_seconds=600)
"""On a busy machine too."""
BYTES = b'"{}[]:,ab0123tfn-.eulsrz\\ '


def array(random: Random, depth: int = 1) -> dict[str, Any]:
    """A schema of arrays."""

    def leaf() -> Any:
        if depth and random.random() < 0.15:
            return array(random, depth - 1)
        chosen = random.choice(LEAVES)
        return {"not": chosen} if random.random() < 0.1 else chosen

    def some(likely: float, name: str, values: Any) -> None:
        if random.random() < likely:
            schema[name] = values()

    def below() -> Any:
        return {"uniqueItems": True} if random.random() < 0.5 else array(random, depth - 1)

    schema: dict[str, Any] = {}
    some(0.5, "items", leaf)
    some(0.4, "prefixItems", lambda: [leaf() for _ in range(random.choice((1, 1, 2, 3)))])
    some(0.5, "uniqueItems", lambda: True)
    some(0.3, "minItems", lambda: random.randint(0, 4))
    some(0.3, "maxItems", lambda: random.randint(1, 4))
    if random.random() < 0.35:
        schema["contains"] = leaf()
        some(0.5, "minContains", lambda: random.randint(0, 3))
        some(0.4, "maxContains", lambda: random.randint(1, 3))
    if depth:
        some(0.6, "type", lambda: "array")
        kind = random.choice(("not", "not", "oneOf", "oneOf", "if", "anyOf", "unevaluatedItems", "none", "none"))
        if kind == "not":
            schema["not"] = below()
        elif kind in ("oneOf", "anyOf"):
            schema[kind] = [below(), array(random, depth - 1)]
        elif kind == "if":
            schema |= {"if": below(), "then": array(random, depth - 1), "else": array(random, depth - 1)}
        elif kind == "unevaluatedItems":
            schema[kind] = leaf()
    return schema


def value(random: Random) -> list[Any]:
    pool = random.sample(VALUES, random.randint(1, 6))
    return [random.choice(pool) for _ in range(random.choice((0, 1, 2, 2, 3, 3, 4, 5)))]


@pytest.mark.parametrize("block", range(8))
def test_verdicts_agree_with_jsonschema(block: int) -> None:
    for seed in range(block * 20, block * 20 + 20):
        random = Random(seed)
        schema, values = array(random), [value(random) for _ in range(8)]
        try:
            root, report = compile_schema(schema, numbers="any", limits=PATIENT)
        except UnsatisfiableError:
            assert not any(is_valid(schema, value) for value in values), (seed, schema)
            continue
        assert report.is_exact
        wrong = [v for v in values if Oracle(root).accepts(json.dumps(v).encode()) != is_valid(schema, v)]
        assert not wrong, (seed, schema)


@pytest.mark.parametrize("block", range(4))
def test_every_reading_of_a_random_walk_can_end(block: int) -> None:
    for seed in range(block * 20, block * 20 + 20):
        random = Random(seed)
        schema = array(random)
        try:
            root, _ = compile_schema(schema, whitespace="compact", limits=PATIENT)
        except UnsatisfiableError:
            continue
        oracle, text = Oracle(root), bytearray()
        threads = oracle.start()
        for _ in range(20):
            steps = ((byte, oracle.advance(threads, byte)) for byte in random.sample(BYTES, len(BYTES)))
            byte, following = next(((byte, after) for byte, after in steps if after), (0, []))
            if not following:
                break
            text.append(byte)
            threads = following
        for thread in threads:
            rest = completion(oracle, [thread])
            assert isinstance(rest, bytes), (seed, schema, bytes(text))
            # a number that jsonschema's floats cannot hold is left aside
            if not any(abs(n) < 1e-300 for n in numbers_of(json.loads(bytes(text) + rest))):
                assert is_valid(schema, json.loads(bytes(text) + rest)), (seed, schema, bytes(text) + rest)


def test_a_way_to_the_end_is_found_where_the_shortest_leads_around() -> None:
    """Two readings of an item, counted or not, and few values left: which way still ends is for the values to say."""
    few = {"enum": ["a", 1, None]}
    exclusive = [{"uniqueItems": True}, {"items": {"enum": [[], [1], {}, 1]}, "uniqueItems": True, "maxItems": 4}]
    schema = {"type": "array", "uniqueItems": True, "contains": few, "minContains": 2, "oneOf": exclusive}
    oracle = Oracle(compile_schema(schema, numbers="any", limits=PATIENT)[0])
    for text in (b'["a",5', b'["a","w', b'["a","w",', b'["a","w",5,6,7,"v', b'[[2],"a",{},7,null', b"[1,[1],{},"):
        threads, used = oracle.run(text)
        assert used == len(text)
        for thread in threads:
            rest = completion(oracle, [thread])
            assert isinstance(rest, bytes) and is_valid(schema, json.loads(text + rest)), (text, rest)


def test_an_item_goes_on_to_a_value_that_is_new() -> None:
    """The nearest end of a member may make an item that was there."""
    item = {"type": "object", "properties": {"a": {"enum": [1, 2]}}, "additionalProperties": False}
    schema = {"type": "array", "items": item, "uniqueItems": True}
    oracle = Oracle(compile_schema(schema, numbers="any", limits=PATIENT)[0])
    for text in (b'[{"a":1},{"a":0', b'[{},{"a":1},{"a":0.', b'[{"a":1},{"a":2', b'[{"a":2},{"a":0'):
        threads, used = oracle.run(text)
        rest = completion(oracle, threads)
        assert used == len(text) and isinstance(rest, bytes), text
        assert is_valid(schema, json.loads(text + rest)), (text, rest)


def numbers_of(value: Any) -> list[float]:
    if isinstance(value, (list, dict)):
        return [n for item in (value.values() if isinstance(value, dict) else value) for n in numbers_of(item)]
    return [value] if isinstance(value, float) else []
