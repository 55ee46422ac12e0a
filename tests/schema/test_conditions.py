"""Many keywords that tie members together stay exact and do not multiply."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any

import jsonschema
import pytest

from constrain import LimitError, Limits, UnsatisfiableError
from constrain.automata.shortest import completion
from constrain.schema import compile_schema

from .support import oracle, walk

Schema = dict[str, Any]
DRAFT7 = "http://json-schema.org/draft-07/schema#"
VALUES = (True, False, None, 1, 5, "s", {}, {"p": "s"}, {"p": 1}, {"x0": "s"}, {"x1": "q", "x0": ""}, [1])


def pairs(n: int) -> Schema:
    return {"dependentRequired": {f"a{i}": [f"b{i}"] for i in range(n)}}


def chain(n: int) -> Schema:
    return {"dependentRequired": {f"k{i}": [f"k{i + 1}"] for i in range(n)}}


def star(n: int) -> Schema:
    """Keys that go with some types only."""

    def only(i: int) -> Schema:
        return {"properties": {"type": {"enum": ["xyz"[i % 3], "xyz"[(i + 1) % 3]]}}}

    return {
        "$schema": DRAFT7,
        "properties": {"type": {"enum": ["x", "y", "z"]}},
        "dependencies": {f"k{i}": only(i) for i in range(n)},
    }


def conditionals(n: int) -> Schema:
    return {
        "allOf": [
            {
                "if": {"properties": {f"a{i}": {"const": True}}, "required": [f"a{i}"]},
                "then": {"required": [f"b{i}"]},
                "else": {"properties": {f"b{i}": False}},
            }
            for i in range(n)
        ]
    }


def tagged(n: int) -> Schema:
    def then(i: int) -> Schema:
        config = {"type": "object", "properties": {f"x{i}": {"type": "string"}}, "required": [f"x{i}"]}
        return {"properties": {"config": config}, "required": ["config"]}

    return {
        "properties": {"kind": {"enum": [f"t{i}" for i in range(n)]}},
        "required": ["kind"],
        "allOf": [{"if": {"properties": {"kind": {"const": f"t{i}"}}}, "then": then(i)} for i in range(n)],
    }


def exclusive(n: int) -> Schema:
    names = {"p": {"type": "string"}}
    value = {"type": "object", "required": ["p"], "properties": names, "additionalProperties": False}
    return {
        "properties": {f"k{i}": {} for i in range(n)},
        "additionalProperties": False,
        "oneOf": [{"properties": {f"k{i}": value}, "required": [f"k{i}"]} for i in range(n)],
    }


def exclusive_closed(n: int) -> Schema:
    def branch(i: int) -> Schema:
        names = {"type": {"enum": [f"t{i}", f"t{(i + 1) % n}"]}, f"k{i}": {"type": "integer"}}
        return {"properties": names, "required": ["type"], "additionalProperties": False}

    return {"oneOf": [branch(i) for i in range(n)]}


def some_of(n: int) -> Schema:
    return {"allOf": [{"anyOf": [{"required": [f"{letter}{i}"]} for letter in "abc"]} for i in range(n)]}


def never_both(n: int) -> Schema:
    return {"allOf": [{"not": {"required": [f"a{i}", f"b{i}"]}} for i in range(n)], "maxProperties": n}


def counted(n: int) -> Schema:
    """How many members there are may matter to a condition."""
    return {"allOf": [{"if": {"required": [f"a{i}"]}, "then": {"minProperties": 3}} for i in range(n)]}


def thresholds(n: int) -> Schema:
    def rule(i: int) -> Schema:
        return {"if": {"properties": {"n": {"minimum": i}}, "required": ["n"]}, "then": {"required": [f"k{i}"]}}

    return {"allOf": [rule(i) for i in range(n)]}


def patterned(n: int) -> Schema:
    """Members that no schema names may break a condition."""
    return {
        "allOf": [
            {"if": {"required": [f"a{i}"]}, "then": {"patternProperties": {f"^x{i}": {"type": "integer"}}}}
            for i in range(n)
        ]
    }


KINDS = (
    pairs, chain, star, conditionals, tagged, exclusive, exclusive_closed, some_of, never_both, counted, thresholds
)  # fmt: skip


def judge(schema: Schema) -> Any:
    return jsonschema.validators.validator_for(schema, jsonschema.Draft202012Validator)(schema)


def names(schema: Schema, n: int) -> list[str]:
    text = json.dumps(schema)
    found = [f"{letter}{i}" for letter in "abck" for i in range(n + 1) if f'"{letter}{i}"' in text]
    return [*found, "zz", "x0q", *(key for key in ("n", "config") if f'"{key}"' in text)]


def instance(random: Random, schema: Schema, n: int) -> Schema:
    keys = names(schema, n)
    chosen = random.sample(keys, min(len(keys), random.choice((0, 1, 2, 3, 6, 12))))
    value = {key: random.choice(VALUES) for key in chosen}
    for tag in ("kind", "type"):
        if random.random() < 0.7 and f'"{tag}": {{' in json.dumps(schema):
            value[tag] = random.choice((f"t{random.randrange(n)}", "x", "y"))
    return value


@pytest.mark.parametrize("kind", [*KINDS, patterned])
def test_verdicts_are_right(kind: Callable[[int], Schema]) -> None:
    for n in (2, 3, 6):
        schema = {"type": "object", **kind(n)}
        grammar, validator, random = oracle(schema), judge(schema), Random(n)
        for _ in range(60):
            value = instance(random, schema, n)
            assert grammar.accepts(json.dumps(value).encode()) == validator.is_valid(value), (schema, value)


@pytest.mark.parametrize("kind", KINDS)
def test_many_of_a_kind_compile(kind: Callable[[int], Schema]) -> None:
    schema = {"type": "object", **kind(60)}
    grammar, validator, random = oracle(schema), judge(schema), Random(60)
    text = completion(grammar, grammar.start())
    assert isinstance(text, bytes) and validator.is_valid(json.loads(text))
    for _ in range(4):
        value = instance(random, schema, 60)
        assert grammar.accepts(json.dumps(value).encode()) == validator.is_valid(value), value


@pytest.mark.parametrize("kind", [*KINDS, patterned])
def test_walks_meet_no_dead_end(kind: Callable[[int], Schema]) -> None:
    schema = {"type": "object", **kind(3)}
    grammar, validator = oracle(schema), judge(schema)
    for seed in range(6):
        text = walk(grammar, Random(seed))
        assert text is None or validator.is_valid(json.loads(text)), text


@pytest.mark.parametrize("kind", KINDS)
def test_declared_order_is_kept(kind: Callable[[int], Schema]) -> None:
    """Keys that come too early for what follows are refused."""
    schema = {"type": "object", **kind(3)}
    grammar = oracle(schema, property_order="schema")
    for seed in range(4):
        text = walk(grammar, Random(seed))
        assert text is None or judge(schema).is_valid(json.loads(text)), text


SINGLE: list[Schema] = [
    {"not": {"propertyNames": {"not": {"const": "ab"}}}},
    {"not": {"propertyNames": {"enum": ["b", "c"]}}, "propertyNames": {"enum": ["ab", "b"]}},
    {"not": {"patternProperties": {"^ab$": {"type": "string"}}}},
    {"not": {"additionalProperties": False, "patternProperties": {"^([^a]|a[^b]|ab.)*$": {}}}},
    {"oneOf": [{"propertyNames": {"not": {"const": "ab"}}}, {"propertyNames": {"not": {"enum": ["ab", "c"]}}}]},
]


@pytest.mark.parametrize("schema", SINGLE, ids=json.dumps)
def test_what_only_a_declared_key_can_do_no_other_key_does(schema: Schema) -> None:
    """A condition that only the key "ab" can meet, which is declared, forbidden or one of few."""
    for more in (
        {"properties": {"ab": False}},
        {"properties": {"ab": {"type": "integer"}}},
        {"maxProperties": 2, "dependentRequired": {"ab": ["d"]}},
        {"properties": {"ab": {}}, "maxProperties": 1},
    ):
        both = {"type": "object", **schema, **more}
        validator = judge(both)
        objects = [dict(zip(keys, "xy", strict=False)) for keys in (("ab",), ("c",), ("d", "ab"), ("ab", "c"), ("d",))]
        objects += [{"ab": 1}, {"ab": 1, "d": 1}, {"c": 1, "d": 1}, {}]
        try:
            grammar = oracle(both)
        except UnsatisfiableError:
            assert not any(map(validator.is_valid, objects))
            continue
        for value in objects:
            assert grammar.accepts(json.dumps(value).encode()) == validator.is_valid(value), (both, value)
        for text in (b"{", b'{"d', b'{"d"', b'{"d":1', b'{"d":1,', b'{"ab":1,', b'{"c":1,', b'{"c":1', b'{"e":1'):
            threads, used = grammar.run(text)
            if used == len(text):
                assert completion(grammar, threads) is not None, (both, text)


def test_a_web_of_conditions_is_a_limit() -> None:
    random = Random(1)
    rules = [{f"k{i}": random.sample([f"k{j}" for j in range(60)], 4)} for i in range(60)]
    schema = {"allOf": [{"not": {"required": list(rule) + rule[key]}} for rule in rules for key in rule]}
    with pytest.raises(LimitError) as raised:
        compile_schema({"type": "object", **schema}, limits=Limits(max_states=200, max_seconds=60))
    assert raised.value.limit == "max_states"


ITSELF = {"$ref": "#/$defs/d"}
RECURSIVE: dict[str, Schema] = {
    "a name that is too short": {"patternProperties": {"^.$": ITSELF}, "not": {"propertyNames": {"minLength": 1}}},
    "a condition": {
        "patternProperties": {"^.$": ITSELF}, "additionalProperties": False, "if": {"minProperties": 1},
        "then": {"required": ["b"]}, "type": "object",
    },
    "a name of another kind": {
        "patternProperties": {"^x": ITSELF}, "additionalProperties": {"type": "null"}, "type": "object",
        "not": {"propertyNames": {"pattern": "^y"}},
    },
}  # fmt: skip
NESTED = (
    {}, {"": 1}, {"a": 1}, {"a": {}}, {"b": {}}, {"b": {"b": {}}}, {"a": {"": 2}}, {"": 1, "a": {"": 2}},
    {"": 1, "a": {}}, {"x": {"z": None}}, {"x": {"z": None}, "z": None}, {"z": None}, {"y": None}, 1, [], None,
)  # fmt: skip


@pytest.mark.parametrize("name", RECURSIVE)
def test_undeclared_members_may_be_objects_like_the_one_they_are_in(name: str) -> None:
    schema = {"oneOf": [ITSELF], "$defs": {"d": RECURSIVE[name]}}
    validator, grammar = judge(schema), oracle(schema)
    for value in NESTED:
        assert grammar.accepts(json.dumps(value).encode()) == validator.is_valid(value), value
    random = Random(3)
    for _ in range(40):
        text = walk(grammar, random)
        assert text is None or validator.is_valid(json.loads(text)), text


def test_members_that_need_themselves_without_end_have_no_value() -> None:
    endless = {"type": "object", "patternProperties": {"^x": ITSELF}, "additionalProperties": False}
    either = {"anyOf": [{"required": ["x"]}, {"required": ["xx"]}]}
    for needed in ({"not": {"propertyNames": {"pattern": "^y"}}}, either):
        with pytest.raises(UnsatisfiableError):
            oracle({"oneOf": [ITSELF], "$defs": {"d": {**endless, **needed}}})
