"""Arrays without equal items: what counts as equal, no dead end where values run out, kernels as the interpreter."""

from __future__ import annotations

import json
import random
import re
from itertools import product
from typing import Any

import pytest

import constrain
from constrain.automata.oracle import Oracle
from constrain.schema import compile_schema

from .grammars import SYMBOLS, byte_vocabulary
from .test_engine import one_walk

VOCABULARY = byte_vocabulary()
ITEMS: list[Any] = [
    {},
    {"type": ["integer", "null"]},
    {"type": "number", "minimum": 0, "maximum": 2, "multipleOf": 0.5},
    {"enum": ["a", "ab", 1, 1.5, None, True, [], {}, {"a": 1}, [1]]},
    {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"enum": ["x", "y"]}}},
    {"type": "object", "properties": {"a": {"enum": [1, 2]}, "b": {"enum": ["x", "y"]}}, "additionalProperties": False},
    {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "boolean"}}, "required": ["a", "b"],
     "additionalProperties": False},
    {"type": "array", "items": {"type": "boolean"}, "maxItems": 2},
    {"type": "array", "items": {"enum": [1, 2, 3]}, "uniqueItems": True},
    {"type": ["string", "null"], "maxLength": 2},
    {"anyOf": [{"type": "integer"}, {"minimum": 2}, {"type": "string", "pattern": "^a"}]},
]  # fmt: skip
EQUAL = [
    ("1", "1.0"), ("1", "1e0"), ("-0.0", "0"), ("120", "1.2e2"), ("0.012", "1.2E-2"), ('"a"', '"\\u0061"'),
    ("[]", "[ ]"),
    ('"\U0001f600"', '"\\ud83d\\ude00"'), ('{"a": 1, "b": [2, {}]}', '{"b":[2.0,{ }],"a":1}'), ('"/"', '"\\/"'),
]  # fmt: skip
DIFFERENT = [
    ("1", "true"), ("0", "false"), ('"1"', "1"), ("null", '"null"'), ("[1]", "[[1]]"), ("{}", "[]"), ("1", "-1"),
    ('{"a": 1}', '{"a": true}'), ('{"a": 1}', '{"b": 1}'), ("[1, 2]", "[2, 1]"), ("10", "100"), ("0.1", "0.01"),
    ('{"a": 1}', '{"a": 1, "b": 1}'), ("12", "1.2"),
]  # fmt: skip


def accepted(schema: Any, text: str) -> tuple[bool, bool]:
    """By the interpreter, and by the kernels."""
    grammar = constrain.compile_json_schema(schema, VOCABULARY, numbers="any")
    matcher = grammar.matcher()
    return grammar.accepts(text), matcher.accept_bytes(text.encode()) and matcher.is_accepting()


@pytest.mark.parametrize(("one", "other"), EQUAL)
def test_equal_items_are_refused_in_any_spelling(one: str, other: str) -> None:
    for first, second in ((one, other), (other, one)):
        assert accepted({"uniqueItems": True}, f"[{first}, {second}]") == (False, False)
        assert accepted({"uniqueItems": True}, f"[{first},null, {second} ]") == (False, False)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_different_items_are_allowed(one: str, other: str) -> None:
    for first, second in ((one, other), (other, one)):
        assert accepted({"uniqueItems": True}, f"[{first}, {second}]") == (True, True)


@pytest.mark.parametrize("item", ITEMS)
def test_masks_equal_the_interpreter(item: Any) -> None:
    for seed, extra in enumerate(({}, {"minItems": 2}, {"maxItems": 3}, {"minItems": 1})):
        schema = {"type": "array", "uniqueItems": True, "items": item, **extra}
        root, _ = compile_schema(schema, whitespace="compact" if seed % 2 else "flexible")
        grammar = constrain.Grammar(root, VOCABULARY, symbols=SYMBOLS)
        likely = [VOCABULARY_IDS[data] for data in (b"[", b"]", b",", b"1", b'"', b"a", b"{", b"}", b"[]", b"{}")]
        one_walk(random.Random(seed), grammar, likely, 18, f"{item}, seed {seed}")


VOCABULARY_IDS = {VOCABULARY.token_bytes(token): token for token in range(VOCABULARY.size)}


@pytest.mark.parametrize("item", ITEMS)
def test_every_reading_of_a_random_walk_can_end(item: Any) -> None:
    from .test_shortest import assert_no_dead_end

    for seed in range(3):
        root, _ = compile_schema({"type": "array", "uniqueItems": True, "items": item, "minItems": seed})
        assert_no_dead_end(Oracle(root), seed, 30)


def test_values_that_run_out_end_the_array() -> None:
    schema = {"type": "array", "uniqueItems": True, "items": ITEMS[5]}
    grammar = constrain.compile_json_schema(schema, VOCABULARY, whitespace="compact")
    pairs = [{}, {"a": 1}, {"a": 2}, {"b": "x"}, {"b": "y"}]
    pairs += [{"a": a, "b": b} for a in (1, 2) for b in ("x", "y")]
    text = json.dumps(pairs, separators=(",", ":"))
    matcher = grammar.matcher()
    assert matcher.accept_bytes(text[:-1].encode())
    assert not matcher.accept_bytes(b",") and matcher.accept_bytes(b"]") and matcher.is_accepting()
    with pytest.raises(constrain.UnsatisfiableError):
        constrain.compile_json_schema({**schema, "minItems": 10})


def test_a_zero_stays_one_whatever_its_exponent() -> None:
    matcher = constrain.compile_json_schema({"uniqueItems": True}, VOCABULARY).matcher()
    assert matcher.accept_bytes(b"[0,0") and matcher.accept_bytes(b".0")
    assert not matcher.accept_bytes(b"e") and matcher.accept_bytes(b"1e5]")
    assert accepted({"uniqueItems": True}, "[0e1,0.1e1]") == (True, True)
    assert accepted({"uniqueItems": True}, "[0,0.0e1]") == (False, False)


def nested(depth: int, inner: str) -> str:
    return "[" * depth + inner + "]" * depth


def test_what_is_too_deep_or_too_long_to_list_is_taken_to_exist() -> None:
    item: Any = {"type": "boolean"}
    for _ in range(20):
        item = {"type": "array", "items": item, "minItems": 1, "maxItems": 1}
    schema = {"type": "array", "uniqueItems": True, "items": item, "minItems": 2}
    assert accepted(schema, f"[{nested(20, 'true')},{nested(20, 'false')}]") == (True, True)
    assert accepted(schema, f"[{nested(20, 'true')},{nested(20, 'true')}]") == (False, False)
    large = 10**45
    numbers = {"type": "array", "items": {"minimum": large, "maximum": large + 3, "type": "integer"}, "minItems": 1}
    assert accepted({"uniqueItems": True, "items": numbers}, f"[[{large}],[{large + 1}]]") == (True, True)


def test_exponents_of_any_size() -> None:
    huge = "9" * 30
    for one, other, different in ((f"1e{huge}", f"1e{huge[:-1]}8", True), (f"1e{huge}", f"10e{huge[:-1]}8", False)):
        assert accepted({"uniqueItems": True}, f"[{one},{other}]") == (different, different)
    assert accepted({"uniqueItems": True}, f"[0e{huge},0]") == (False, False)


def test_matchers_that_were_made_before_an_array_was_built() -> None:
    inner = {"type": "array", "items": {"enum": [[], [[]], 1]}, "uniqueItems": True}
    schema = {"properties": {"a": inner}, "required": ["a"], "type": "object"}
    grammar = constrain.compile_json_schema(schema, VOCABULARY)
    matchers = [grammar.matcher() for _ in range(3)]
    for matcher in matchers:
        assert matcher.accept_bytes(b'{"a":[1,[],[[]]')
        assert not matcher.accept_bytes(b",")


def reads(grammar: constrain.Grammar, begun: bytes) -> tuple[bool, bool]:
    """Whether the kernels, and the interpreter, read a beginning."""
    threads, used = Oracle(grammar.root).run(begun)
    return grammar.matcher().accept_bytes(begun), used == len(begun) and bool(threads)


@pytest.mark.parametrize(
    ("step", "begun", "goes_on"),
    [
        (7, b"[7,7.", False),
        (7, b"[7,14.", True),
        (7, b"[7,7", True),
        (0.25, b"[7.0,7.25,7.5,7.75,7.", False),
        (0.25, b"[7.0,7.25,7.75,7.", True),
        (0.25, b"[7.0,7.25,7.5,7.75,7", True),
        (123457, b"[123457,123457.", False),
        (123457, b"[123457,246914.", True),
    ],
)
def test_zeros_at_the_end_make_no_other_number(step: float, begun: bytes, goes_on: bool) -> None:
    schema = {"type": "array", "items": {"type": "number", "multipleOf": step}, "uniqueItems": True}
    grammar = constrain.compile_json_schema(schema, VOCABULARY)
    assert reads(grammar, begun) == (goes_on, goes_on)


@pytest.mark.parametrize(
    ("items", "begun", "goes_on"),
    [
        ({"multipleOf": 1, "maximum": 0}, b"[0,0.", False),
        ({"multipleOf": 1, "maximum": 0}, b"[0,0", False),
        ({"multipleOf": 1, "maximum": 0}, b"[0.0,-", True),
        ({"multipleOf": 1, "maximum": 0}, b"[-1,0.", True),
        ({"maximum": 0, "minimum": -3}, b"[0,0.0", False),
        ({"maximum": 0, "minimum": -3}, b"[0,-0.0", True),
        ({"type": "integer", "maximum": 4}, b"[4,40.0e-", False),
        ({"type": "integer", "maximum": 4}, b"[4,40.0e", False),
        ({"type": "integer", "maximum": 4}, b"[4,-40.0e-", True),
        ({"type": "integer", "maximum": 4}, b"[4,-40.0e", True),
        ({"multipleOf": 2, "minimum": -3, "oneOf": [{"minimum": 0}, {"multipleOf": 0.5}]}, b"[-2,", False),
        ({"multipleOf": 2, "minimum": -5, "oneOf": [{"minimum": 0}, {"multipleOf": 0.5}]}, b"[-2,", True),
        ({"minimum": 3, "maximum": 3, "not": {"multipleOf": 2}}, b"[3,", False),
        ({}, b"[0,0e", False),
        ({}, b"[0,0.0", True),
    ],
)
def test_zeros_before_a_digit_and_of_exponents_make_no_other_number(
    items: dict[str, Any], begun: bytes, goes_on: bool
) -> None:
    schema = {"type": "array", "items": {"type": "number", **items}, "uniqueItems": True}
    grammar = constrain.compile_json_schema(schema, VOCABULARY, numbers="any")
    assert reads(grammar, begun) == (goes_on, goes_on)


@pytest.mark.parametrize("pattern", ["^a?$", "^(a|b)?$", "^[ab]{0,2}$", "^(ab){0,2}$", "^a{1,3}$", "^(?=a).{0,1}$"])
def test_strings_of_bounded_length_may_be_few(pattern: str) -> None:
    """Also where the pattern is kept as an automaton without the bound, and a register."""
    strings = [s for n in range(5) for s in map("".join, product("ab", repeat=n)) if re.search(pattern, s)]
    items = {"type": "string", "pattern": pattern}
    for least in range(1, 9):
        for schema in (
            {"items": items, "minItems": least},
            {"contains": items, "minContains": least},
            {"items": {"anyOf": [items, {"type": "null"}]}, "minItems": least + 1},
        ):
            unique = {"type": "array", "uniqueItems": True, **schema}
            if least > len(strings):
                with pytest.raises(constrain.UnsatisfiableError):
                    constrain.compile_json_schema(unique)
            else:
                grammar = constrain.compile_json_schema(unique)
                assert grammar.accepts(constrain.sample(grammar, seed=1, max_bytes=0))


@pytest.mark.parametrize("pattern", ["^.{0,100000}$", "^a{0,100000}$", "^a{300,}$"])
def test_strings_with_a_large_bound_are_many(pattern: str) -> None:
    schema = {"type": "array", "uniqueItems": True, "items": {"type": "string", "pattern": pattern}, "minItems": 3}
    grammar = constrain.compile_json_schema(schema, VOCABULARY)
    text = constrain.sample(grammar, seed=1, max_bytes=0)
    assert grammar.accepts(text) and grammar.matcher().accept_bytes(text.encode())


@pytest.mark.parametrize(
    "items",
    [
        {"type": "array", "prefixItems": [False]},
        {"type": "array", "prefixItems": [{"type": "boolean"}, False]},
        {"type": "object", "propertyNames": False},
        {"type": "object", "properties": {"a": False, "b": {"type": "null"}}, "additionalProperties": False},
    ],
    ids=str,
)
def test_arrays_and_objects_that_cannot_grow_are_few(items: dict[str, Any]) -> None:
    for schema in ({"items": items, "minItems": 4}, {"contains": items, "minContains": 4}):
        with pytest.raises(constrain.UnsatisfiableError):
            constrain.compile_json_schema({"type": "array", "uniqueItems": True, **schema})
