"""The shortest completion: accepted by the interpreter from every thread of random walks, and as short as by hand."""

from __future__ import annotations

import json
import random

import pytest

import constrain
from constrain.automata.grammar import SYMBOL, ArrayShape, Frame, Lexeme, ObjectShape, Skin, Union, symbol
from constrain.automata.json_layouts import array_layout, object_layout
from constrain.automata.oracle import Oracle
from constrain.automata.shortest import Completer, completion
from constrain.languages.operations import ANY_STRING
from constrain.languages.pattern import compile_pattern
from constrain.schema import compile_schema

from .grammars import INTEGER, LITERALS, STRING, SYMBOLS, random_node

LIKELY = b'"\\{}[]:,abqn0u123d8e/ \xc3\xa9\xf0'


def assert_no_dead_end(oracle: Oracle, seed: int, steps: int) -> None:
    """Walk at random, byte by byte, and complete every single thread of every state."""
    rng, completer = random.Random(seed), Completer(oracle)
    threads, text = oracle.start(), b""
    for _ in range(steps):
        for thread in threads:
            rest = completer.completion([thread])
            assert rest is not None, f"seed {seed}: dead end after {text!r}"
            ended = [thread]
            for byte in rest:
                ended = oracle.advance(ended, byte)
            assert oracle.is_accepting(ended), f"seed {seed}: {rest!r} does not complete {text!r}"
        order = rng.sample(LIKELY, len(LIKELY)) + rng.sample(range(256), 256) + list(map(symbol, SYMBOLS))
        following = next(((b, after) for b in order if (after := oracle.advance(threads, b))), None)
        if following is None:
            assert oracle.is_accepting(threads)
            return
        byte, threads = following
        text += bytes([byte]) if byte < SYMBOL else b"<%d>" % byte


@pytest.mark.parametrize("block", range(6))
def test_every_thread_of_a_random_walk_has_a_completion(block: int) -> None:
    for seed in range(block * 25, block * 25 + 25):
        assert_no_dead_end(Oracle(random_node(random.Random(seed))), seed, 40)


def test_a_member_that_is_needed_for_the_minimum_only_may_be_deep() -> None:
    """The optional member is counted apart from the required one, also when its least value is not known at once."""
    schema = {"type": "object", "properties": {"a": {"$ref": "#/$defs/o"}, "b": {"type": "null"}}, "required": ["b"],
              "additionalProperties": False, "minProperties": 2,
              "$defs": {"o": {"type": "object", "additionalProperties": False}}}  # fmt: skip
    oracle = Oracle(node(schema))
    assert Completer(oracle).completion(oracle.start()) in (b'{"a":{},"b":null}', b'{"b":null,"a":{}}')


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_every_thread_of_many_random_walks_has_a_completion(block: int) -> None:
    for seed in range(10_000 + block * 100, 10_000 + block * 100 + 100):
        assert_no_dead_end(Oracle(random_node(random.Random(seed), 4)), seed, 80)


def node(schema: object) -> object:
    return constrain.compile_json_schema(schema, whitespace="compact").root


TREE = {
    "$defs": {"tree": {"type": "object", "required": ["kids"], "properties": {"kids": {"$ref": "#/$defs/forest"}}},
              "forest": {"type": "array", "items": {"$ref": "#/$defs/tree"}, "minItems": 0}},
    "$ref": "#/$defs/tree",
}  # fmt: skip

AFTER = [
    # schema, text so far, shortest rest
    ({}, "", "0"),
    ({}, "-", "0"),
    ({}, "[", "]"),
    ({}, "[0,", "0]"),
    ({}, '{"a"', ":0}"),
    ({}, '{"a":0,"', '":0}'),
    ({}, '{"a":0,"a', ' ":0}'),
    ({"type": "string"}, '"\\', '""'),
    ({"type": "string"}, '"\\u', '0000"'),
    ({"type": "string"}, '"\\ud83', '4\\udc00"'),
    ({"type": "string", "minLength": 3}, '"', '   "'),
    ({"type": "string", "minLength": 3}, '"é', '  "'),
    ({"enum": ["x\n", "xyz"]}, '"', 'x\\n"'),
    ({"enum": ["é"]}, '"\\u00', 'e9"'),
    ({"type": "string", "pattern": '^"+$'}, '"', '\\""'),
    ({"type": "boolean"}, "", "true"),
    ({"type": "array", "items": {"type": "null"}, "minItems": 2}, "[", "null,null]"),
    ({"type": "array", "contains": {"type": "null"}, "minContains": 2, "items": {"type": ["null", "boolean"]}},
     "[true,", "null,null]"),
    ({"type": "object", "required": ["b", "a"], "properties": {"a": {"const": 1}, "b": {"type": "boolean"}}},
     '{"', 'a":1,"b":true}'),
    ({"type": "object", "minProperties": 2, "additionalProperties": {"const": 7}}, "{", '"":7," ":7}'),
    (TREE, "", '{"kids":[]}'),
    (TREE, '{"kids":[', "]}"),
    (TREE, '{"kids":[{"kids":[],"', '":0}]}'),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "text", "rest"), AFTER, ids=lambda x: json.dumps(x)[:40])
def test_the_completion_is_the_shortest(schema: object, text: str, rest: str) -> None:
    oracle = Oracle(node(schema))
    threads, used = oracle.run(text.encode())
    assert used == len(text.encode())
    found = completion(oracle, threads)
    assert found is not None and len(found) == len(rest.encode())
    assert oracle.accepts(text.encode() + found)


def test_a_fixed_order_is_kept() -> None:
    shape = ObjectShape((b"a", b"b", b"c"), (LITERALS,) * 3, (True, True, False), (2, 0, 1), ANY_STRING, (INTEGER,), 4)
    oracle = Oracle(Frame(object_layout("compact"), shape))
    assert completion(oracle, oracle.start()) == b'{"b":null,"a":null,"":0," ":0}'


def test_a_long_text_takes_the_straight_way() -> None:
    oracle = Oracle(Lexeme(dfa=ANY_STRING, min_chars=20_000, skin=Skin.JSON_STRING))
    assert completion(oracle, oracle.start()) == b'"' + b" " * 20_000 + b'"'


def test_an_upper_bound_prefers_fewer_characters_to_fewer_bytes() -> None:
    """With one character left only the long one will do."""
    oracle = Oracle(Lexeme(dfa=compile_pattern("^(ab|日|aé)$"), max_chars=1, skin=Skin.JSON_STRING))
    assert completion(oracle, oracle.start()) == '"日"'.encode()


def test_a_node_without_a_finite_word_is_a_dead_end() -> None:
    loop = Frame(array_layout("compact"))
    loop.shape = ArrayShape(rest=Union((loop,)), min_items=1)
    oracle = Oracle(loop)
    assert completion(oracle, oracle.start()) is None
    loop.shape = ArrayShape(rest=Union((loop, STRING)), min_items=1)
    assert completion(oracle, oracle.start()) == b'[""]'


@pytest.mark.parametrize("whitespace", ["[ ]{0,2}", "flexible", "compact"])
def test_what_is_needed_may_lie_deeper_than_all_that_is_new(whitespace: str) -> None:
    """The search goes on through heights at which it meets no other node."""
    contained = {"enum": [[{"b": None}, -11], [{"a": 13, "ab": True}, []]]}
    oracle = Oracle(compile_schema({"type": "array", "contains": contained}, whitespace=whitespace)[0])
    for begun in (b"", b"[", b"[0"):
        threads = oracle.start()
        for byte in begun:
            threads = oracle.advance(threads, byte)
        rest = completion(oracle, threads)
        assert rest is not None and oracle.accepts(begun + bytes(rest))
