"""The nodes themselves: order of members, closed objects, sharing, laziness, and what the builders promise."""

from __future__ import annotations

import time
from random import Random
from typing import Any

import pytest

import constrain
from constrain import UnsatisfiableError
from constrain.automata.grammar import Frame, Lazy, Lexeme, ObjectShape, Union, resolve
from constrain.automata.oracle import Oracle, children
from constrain.schema import compile_schema

from .support import accepts, oracle

VOCABULARY = constrain.Vocabulary.from_tokens([bytes([byte]) for byte in range(256)], eos_token_ids=[])
ORDERED = {"type": "object", "properties": {"b": {"type": "integer"}, "a": {"type": "integer"}}, "required": ["c", "a"]}


def test_members_come_in_the_order_of_their_declaration() -> None:
    """Declared keys, then required ones that are not declared, then others."""
    grammar = oracle(ORDERED, property_order="schema")
    for text in (b'{"b":1,"a":1,"c":1}', b'{"a":1,"c":1,"z":1}'):
        assert grammar.accepts(text)
    for text in (b'{"a":1,"b":1,"c":1}', b'{"c":1,"a":1}', b'{"z":1,"a":1,"c":1}'):
        assert not grammar.accepts(text) and oracle(ORDERED).accepts(text)


@pytest.mark.parametrize("impossible", [{"a": False}, {"z": False}, {"a": False, "z": {"not": {}}}])
def test_a_member_that_cannot_be_has_no_place_in_the_order(impossible: dict[str, Any]) -> None:
    """The places of the others stay dense, as the kernels index them."""
    schema = {"properties": {**impossible, "c": {"type": "null"}, "b": {"type": "null"}}, "additionalProperties": False}
    grammar = constrain.compile_json_schema({"type": "object", **schema}, VOCABULARY, property_order="schema")
    assert grammar.matcher().accept_bytes(b'{"c":null,"b":null}')
    assert not grammar.matcher().accept_bytes(b'{"b":null,"c":null}')
    assert grammar.accepts(b'{"c":null,"b":null}') and not grammar.accepts(b'{"b":null,"c":null}')


def test_no_key_occurs_twice() -> None:
    grammar = oracle({"type": "object", "properties": {"a": {}}})
    assert not grammar.accepts(b'{"a":1,"a":1}') and not grammar.accepts(b'{"z":1,"\\u007a":1}')


def test_objects_that_do_not_say_can_be_closed() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "object"}, "b": {"properties": {"x": {}}}},
        "required": ["c"],
    }
    assert accepts(schema, {"c": 1, "d": 1})
    assert not accepts(schema, {"c": 1, "d": 1}, additional_properties=False)
    assert accepts(schema, {"c": 1, "a": {"free": 1}, "b": {"x": 1}}, additional_properties=False)
    assert not accepts(schema, {"c": 1, "b": {"y": 1}}, additional_properties=False)
    merged = {"allOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}], "type": "object"}
    assert accepts(merged, {"a": 1, "b": 1}, additional_properties=False)
    assert accepts({**schema, "additionalProperties": True}, {"c": 1, "d": 1}, additional_properties=False)


def test_what_the_option_closes_is_part_of_what_the_schema_allows() -> None:
    """A branch of `oneOf` does not fail because the option leaves it no value."""
    declaring = {"properties": {"b": {}}}
    for one in (declaring, {"dependentSchemas": {"b": {}}}, {"properties": {"x": declaring}}):
        for other in ({}, {"additionalProperties": {}}):
            schema = {"oneOf": [one, other], "minProperties": 2, "properties": {"x": {"minProperties": 2}}}
            with pytest.raises(UnsatisfiableError):
                compile_schema(schema, additional_properties=False)
    schema = {"oneOf": [declaring, {"required": ["c"]}], "minProperties": 1}
    assert accepts(schema, {"b": 1}, additional_properties=False)
    assert not accepts(schema, {"c": 1, "d": 1}, additional_properties=False)


@pytest.mark.parametrize(
    ("whitespace", "text"),
    [("compact", b'{"a":[1,2]}'), ("single", b'{"a": [1, 2]}'), ("flexible", b'{ "a" :\n[1 ,2] }')],
)
def test_whitespace_is_a_choice(whitespace: str, text: bytes) -> None:
    for policy in ("compact", "single", "flexible"):
        expected = policy == whitespace or policy == "flexible"
        assert oracle({"type": "object"}, whitespace=policy).accepts(text) == expected
        assert (
            oracle({"contains": {"const": 2}, "type": ["object", "array"]}, whitespace=policy).accepts(text) == expected
        )


def _nodes(root: Any) -> list[Any]:
    found, stack = {}, [resolve(root)]
    while stack:
        node = stack.pop()
        if id(node) not in found:
            found[id(node)] = node
            stack += [resolve(child) for child in children(node)]
    return list(found.values())


def test_shapes_keep_the_promises_of_the_grammar() -> None:
    """Keys sorted bytewise, parallel tuples, no empty union, a finite key language becomes declared keys."""
    schema = {
        "type": "object",
        "properties": {"é": {}, "z": {"type": "integer"}, "Z": False, "a": {"$ref": "#"}},
        "required": ["q"],
        "patternProperties": {"^(x|y)$": {"type": "null"}},
        "additionalProperties": False,
    }
    schema["patternProperties"]["^q$"] = {"enum": [1, "a", None, [1], {"b": 2}]}
    root, _ = compile_schema(schema)
    for node in _nodes(root):
        if isinstance(node, Frame) and isinstance(node.shape, ObjectShape):
            shape = node.shape
            assert list(shape.keys) == sorted(set(shape.keys))
            assert len(shape.keys) == len(shape.values) == len(shape.required)
            assert all(value is not None for value, needed in zip(shape.values, shape.required, strict=True) if needed)
        if isinstance(node, Union):
            assert len(node.alternatives) > 1
        if isinstance(node, Lexeme):
            assert node.words or (node.dfa is not None and not node.dfa.is_empty)
    first = resolve(root).shape
    assert first.extra is None and set(first.keys) == {k.encode() for k in ("é", "z", "a", "q", "x", "y")}


def test_equal_subschemas_by_reference_are_one_node() -> None:
    schema = {
        "$defs": {"n": {"type": "object", "properties": {"l": {"$ref": "#/$defs/n"}, "r": {"$ref": "#/$defs/n"}}}}
    }
    root, _ = compile_schema({**schema, "$ref": "#/$defs/n"})
    values = [resolve(value) for value in root.shape.values]
    assert values[0] is values[1] is root


def test_nothing_is_built_before_it_is_reached() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "pattern": "^(a|b)*a(a|b){12}$"}}}
    root, _ = compile_schema(schema)
    value = root.shape.values[0]
    assert isinstance(value, Lazy) and value.built is None and value.first == frozenset(b'"')


def test_big_schemas_compile_quickly() -> None:
    """Thousands of words, members and huge bounds cost a pass over them, not automata."""
    words = [f"word number {i}" for i in range(5000)]
    schema = {
        "type": "object",
        "properties": {f"p{i}": {"type": "string", "maxLength": 10**9} for i in range(3000)},
        "additionalProperties": {"enum": words},
        "minProperties": 2,
    }
    started = time.process_time()
    root, _ = compile_schema(schema)
    assert time.process_time() - started < 5.0  # automata for it would take minutes
    grammar = Oracle(root)
    assert grammar.accepts(b'{"p7": "x", "q": "word number 4999"}') and not grammar.accepts(b'{"p7": "x", "q": "word"}')


def test_lone_surrogates_cannot_be_written() -> None:
    schema = {"enum": ["a\ud800", "b"]}
    assert accepts(schema, "b") and Random(0)
    assert not oracle(schema).accepts(b'"a\\ud800"')
    assert not oracle({"type": "string"}).accepts(b'"\\ud800"') and oracle({"type": "string"}).accepts(
        b'"\\ud83d\\ude00"'
    )
