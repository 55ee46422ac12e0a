"""Arrays in which some item must equal an earlier one: what counts as equal, that the last chance is taken, kernels as
the interpreter. And arrays without equal items whose kinds of items share few values.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from fractions import Fraction
from typing import Any

import pytest

import constrain
from constrain.automata.oracle import Oracle, value_of
from constrain.automata.spellings import numerals, text_of
from constrain.schema import compile_schema

from .grammars import SYMBOLS, byte_vocabulary
from .test_engine import one_walk
from .test_shortest import assert_no_dead_end
from .test_unique import DIFFERENT, EQUAL, ITEMS

VOCABULARY = byte_vocabulary()
IDS = {VOCABULARY.token_bytes(token): token for token in range(VOCABULARY.size)}
LIKELY = [IDS[data] for data in (b"[", b"]", b",", b"1", b'"', b"a", b"{", b"}", b"[]", b"{}")]
REPEAT: dict[str, Any] = {"type": "array", "not": {"uniqueItems": True}}
SHARED: list[Any] = [
    {"prefixItems": [{"enum": [1, 2]}, {"enum": [1, 2, []]}, {"const": 1}], "minItems": 3},
    {"prefixItems": [{"enum": [{"a": 1}, "x"]}, {"type": "boolean"}], "items": {"enum": ["x", True, {"a": 1}]},
     "minItems": 4},
    {"contains": {"enum": [1, "a", {}]}, "minContains": 2},
    {"contains": {"enum": [1, "a", {}]}, "maxContains": 1, "minItems": 2},
    {"items": {"enum": [*range(12), "a"]}, "contains": {"type": "integer", "maximum": 1}, "minContains": 2,
     "maxItems": 3},
]  # fmt: skip


def accepted(schema: Any, text: str, **options: Any) -> tuple[bool, bool]:
    """By the interpreter, and by the kernels."""
    grammar = constrain.compile_json_schema(schema, VOCABULARY, numbers="any", **options)
    matcher = grammar.matcher()
    return grammar.accepts(text), matcher.accept_bytes(text.encode()) and matcher.is_accepting()


@pytest.mark.parametrize(("one", "other"), EQUAL)
def test_a_repeat_may_have_any_spelling(one: str, other: str) -> None:
    for first, second in ((one, other), (other, one)):
        assert accepted(REPEAT, f"[{first}, {second}]") == (True, True)
        assert accepted({**REPEAT, "maxItems": 3}, f"[{first},null, {second} ]") == (True, True)
        assert accepted({**REPEAT, "maxItems": 2}, f"[ {first} , {second} ]") == (True, True)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_different_items_are_no_repeat(one: str, other: str) -> None:
    for first, second in ((one, other), (other, one)):
        assert accepted(REPEAT, f"[{first}, {second}]") == (False, False)
        assert accepted(REPEAT, f"[{first}, {second}, {first}, null]") == (True, True)


def test_the_last_item_that_may_come_must_be_the_repeat() -> None:
    schema = {**REPEAT, "items": {"type": ["integer", "object", "string"]}, "maxItems": 3}
    grammar = constrain.compile_json_schema(schema, VOCABULARY, whitespace="compact")
    matcher = grammar.matcher()
    assert matcher.accept_bytes(b'[12,{"b":"x","a":1},')
    for wrong in (b"]", b"2", b"-", b'"', b"[", b'{"c', b'{"a":2', b'{"b":"y', b"{}", b'{"a":1}', b"13"):
        assert not matcher.accept_bytes(wrong), wrong
    fork = matcher.fork()
    assert fork.accept_bytes(b"12") and not fork.accept_bytes(b"0") and fork.accept_bytes(b"]")
    assert matcher.accept_bytes(b'{"a":1') and not matcher.accept_bytes(b"}")
    assert matcher.accept_bytes(b',"b":"x"') and not matcher.accept_bytes(b",") and matcher.accept_bytes(b"}]")
    # a repeat that has come leaves the rest free
    matcher.reset()
    assert matcher.accept_bytes(b"[12,12") and matcher.accept_bytes(b",7]")


def test_a_repeat_of_another_kind_of_item() -> None:
    """The later item of a pair is spelled as its own place wants it."""
    schema = {**REPEAT, "prefixItems": [{"type": "number"}, {"type": "integer"}], "items": False}
    assert accepted(schema, "[2.0,2]") == accepted(schema, "[2e0,2]") == (True, True)
    assert accepted(schema, "[2.5,2]") == accepted(schema, "[2]") == (False, False)
    fixed = {"type": "object", "properties": {"b": {}, "a": {}}, "additionalProperties": False}
    ordered = {**REPEAT, "items": fixed, "maxItems": 2}
    for text, good in (('[{"b":1,"a":2},{"b":1,"a":2}]', True), ('[{"a":2},{"b":1,"a":2}]', False)):
        assert accepted(ordered, text, property_order="schema") == (good, good)


def test_what_cannot_repeat_has_no_value() -> None:
    for extra in ({"maxItems": 1}, {"prefixItems": [{"const": 1}, {"const": 2}], "items": False}, {"items": False}):
        with pytest.raises(constrain.UnsatisfiableError):
            compile_schema({**REPEAT, **extra})
    with pytest.raises(constrain.UnsatisfiableError):
        compile_schema({"uniqueItems": True, **REPEAT})


@pytest.mark.parametrize("item", ITEMS)
def test_masks_equal_the_interpreter(item: Any) -> None:
    for seed, extra in enumerate(({"maxItems": 2}, {}, {"maxItems": 3}, {"prefixItems": [{}], "maxItems": 3})):
        root, _ = compile_schema({**REPEAT, "items": item, **extra}, whitespace="compact" if seed % 2 else "flexible")
        grammar = constrain.Grammar(root, VOCABULARY, symbols=SYMBOLS)
        one_walk(random.Random(seed), grammar, LIKELY, 16, f"{item}, seed {seed}")


@pytest.mark.parametrize("item", ITEMS)
def test_every_reading_of_a_random_walk_can_end(item: Any) -> None:
    for seed, extra in enumerate(({"maxItems": 2}, {"minItems": 3}, {"prefixItems": [{"type": "integer"}]})):
        root, _ = compile_schema({**REPEAT, "items": item, **extra})
        assert_no_dead_end(Oracle(root), seed, 30)


@pytest.mark.parametrize("shared", SHARED, ids=str)
def test_values_that_kinds_of_items_share(shared: Any) -> None:
    for seed in range(3):
        schema = {"type": "array", "uniqueItems": True, **shared}
        root, _ = compile_schema(schema, whitespace="compact" if seed % 2 else "flexible")
        one_walk(
            random.Random(seed), constrain.Grammar(root, VOCABULARY, symbols=SYMBOLS), LIKELY, 16, f"{shared}, {seed}"
        )
        assert_no_dead_end(Oracle(root), seed, 30)


def test_a_value_is_left_to_the_item_that_needs_it() -> None:
    schema = {"type": "array", "uniqueItems": True, **SHARED[0]}
    grammar = constrain.compile_json_schema(schema, VOCABULARY, whitespace="compact")
    matcher = grammar.matcher()
    assert not matcher.accept_bytes(b"[1") and matcher.accept_bytes(b"[2,")
    assert not matcher.accept_bytes(b"1") and matcher.accept_bytes(b"[],1,") and not matcher.accept_bytes(b"[]")
    with pytest.raises(constrain.UnsatisfiableError):
        compile_schema({**schema, "prefixItems": [{"enum": [1, 2]}, {"enum": [1, 2]}, {"enum": [1, 2]}, {}]})
    with pytest.raises(constrain.UnsatisfiableError):
        compile_schema({"type": "array", "uniqueItems": True, "contains": {"enum": [1, "a"]}, "minContains": 3})


PLAIN = """
import constrain
tokens = [bytes([b]) for b in range(256)]
vocabulary = constrain.Vocabulary.from_tokens(tokens, special={"<eos>": 256}, eos_token_ids=[256])
for schema, good, bad in (
    ({"uniqueItems": True}, b'["a",1,{"b":2}]', b'["a",1,{"b":2},1'),
    ({"type": "array", "not": {"uniqueItems": True}, "maxItems": 3}, b'[1,{"a":2},{"a":2}]', b"[1,2,3"),
    ({"type": "array", "uniqueItems": True, "contains": {"enum": [1, "a"]}, "minContains": 2}, b'["a",2,1]', b"[1,2]"),
):
    grammar = constrain.compile_json_schema(schema, vocabulary)
    for text in (good, bad):
        matcher = grammar.matcher()
        print(matcher.accept_bytes(text) and matcher.is_accepting())
"""


def test_the_kernels_run_as_plain_python() -> None:
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    result = subprocess.run([sys.executable, "-c", PLAIN], env=environment, capture_output=True, text=True, check=False)
    assert result.stdout.split() == ["True", "False"] * 3, result.stderr


def test_spellings_of_numbers() -> None:
    """Whatever a number begins with, the spellings of a value that go on from there have that value."""
    for value, text in ((120, "120"), (Fraction(-5, 4), "-1.25"), (0, "0"), (Fraction(3, 10**7), "3e-7")):
        wanted = value_of(text.encode())
        for written in "", *"- 1 12 1.2 1.20 -1 -12 0 0. 0.0 3 3e 3e-0 30e -0".split():
            for spelling in numerals(wanted, written.encode()):
                assert value_of(spelling) == wanted, (value, written, spelling)
        begun = {"120": "12", "-1.25": "-12", "0": "-0", "3e-7": "30e"}[text]
        assert any(spelling.startswith(begun.encode()) for spelling in numerals(wanted, begun.encode()))


def test_texts_of_values() -> None:
    value = json.loads('{"b": [1, -2.50, 1e99, true, null, "\\u00e9\\"", {}, []], "a": 0}')
    written = json.dumps(value).encode()
    assert value_of(text_of(value_of(written))) == value_of(written)
