"""Masks where conditions tie members together: few readings, and the same without the table of late answers."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import numpy as np
import pytest

import constrain
from constrain import Grammar
from constrain.automata import layout as at
from constrain.automata.index import index_of
from constrain.automata.matcher import Matcher
from constrain.schema import compile_schema

from .grammars import byte_vocabulary

VOCABULARY = byte_vocabulary()
DRAFT7 = "http://json-schema.org/draft-07/schema#"
LETTERS = "abcdefghij"


def overlapping(n: int) -> dict[str, Any]:
    """Keys that go with some values of a tag only, each with others."""

    def only(i: int) -> dict[str, Any]:
        return {"properties": {"tag": {"enum": [LETTERS[i % 10], LETTERS[(i + 1) % 10], LETTERS[(3 * i) % 10]]}}}

    return {
        "$schema": DRAFT7,
        "type": "object",
        "properties": {"tag": {"enum": list(LETTERS)}},
        "dependencies": {f"k{i}": only(i) for i in range(n)},
    }


def numbered(n: int) -> dict[str, Any]:
    """Values that no list says: what tells them apart differs from node to node."""

    def rule(i: int) -> dict[str, Any]:
        return {"if": {"properties": {"n": {"minimum": i}}, "required": ["n"]}, "then": {"required": [f"k{i}"]}}

    rules = [rule(i) for i in range(n)]
    return {"type": "object", "properties": {"n": {"type": "integer"}}, "allOf": rules, "maxProperties": n}


def readings(matcher: Matcher) -> int:
    return int(matcher._arena[at.A_END] - matcher._arena[at.A_BEGIN])


def masks(schema: dict[str, Any], text: bytes, **options: Any) -> list[bytes]:
    """The mask before each byte of the text, of a fresh grammar, none from the cache."""
    grammar = Grammar(compile_schema(schema, **options)[0], VOCABULARY)
    matcher, found = grammar.matcher(), []
    bitmask = constrain.allocate_token_bitmask(1, VOCABULARY.size)
    for byte in text:
        matcher.fill_next_token_bitmask(bitmask)
        found.append(bitmask.tobytes())
        assert matcher.accept_token(byte), text
    return found


def test_a_listed_value_leaves_one_reading() -> None:
    """Each kind asks for other tags, and the diagram speaks of kinds first: what is told of a tag differs by node."""

    def listed(i: int) -> list[str]:
        return [LETTERS[i], LETTERS[(i + 1) % 10], LETTERS[(3 * i) % 10]]

    def rule(i: int) -> dict[str, Any]:
        kind = {"properties": {"kind": {"const": i}}, "required": ["kind"]}
        return {"if": kind, "then": {"properties": {"tag": {"enum": listed(i)}}}}

    kinds = {"kind": {"enum": list(range(8))}, "tag": {"enum": list(LETTERS)}}
    schema = {"type": "object", "properties": kinds, "required": ["kind"], "allOf": [rule(i) for i in range(8)]}
    matcher = Grammar(compile_schema(schema)[0], VOCABULARY).matcher()
    assert matcher.accept_bytes(b'{"zz": 1, "tag": "c"')
    assert readings(matcher) == 1
    for kind in range(8):
        assert matcher.fork().accept_bytes(f', "kind": {kind}}}'.encode()) == ("c" in listed(kind))


@pytest.mark.parametrize("order", ["any", "schema"])
@pytest.mark.parametrize("schema", [overlapping(6), numbered(5)])
def test_the_table_changes_no_mask(schema: dict[str, Any], order: str) -> None:
    random = Random(3)
    members: dict[str, Any] = {"tag": "a"} if "dependencies" in schema else {"n": 2}
    members |= {"k0": 1, "k1": None, "k2": True} if "n" in members else {"k0": 1, "zz": "x"}
    if order == "any":
        members = dict(random.sample(list(members.items()), len(members)))
    text = json.dumps(members).encode()
    expected = masks(schema, text, property_order=order)
    sizes = index_of(VOCABULARY).workspaces.table[at.Z_NARROWED + 1 :: at.Z_SIZE]
    for size in (0, at.NARROWED_SLOTS + 120, 2 * at.NARROWED_SLOTS):  # none; one record or two; a few, written over
        before = sizes.copy()
        sizes[:] = np.minimum(sizes, size)
        try:
            assert masks(schema, text, property_order=order) == expected
        finally:
            sizes[:] = before


def test_matchers_and_grammars_that_share_a_table() -> None:
    """Two grammars in turn, whose nodes have the same addresses, and a fork that goes another way."""
    one, other = (Grammar(compile_schema(overlapping(n))[0], VOCABULARY).matcher() for n in (6, 7))
    for begin, end in ((b'{"t', b'ag": '), (b'"a', b'"'), (b', "k', b'0": 1}')):
        fork = one.fork()
        assert one.accept_bytes(begin) and other.accept_bytes(begin)
        if begin == b'"a':
            assert fork.accept_bytes(b'"e"') and not fork.accept_bytes(b', "k0": 1}')
        assert one.accept_bytes(end) and other.accept_bytes(end)
    assert one.is_accepting() and other.is_accepting()


def test_only_bytes_that_begin_a_lazy_value_make_calls() -> None:
    program = (grammar := Grammar(compile_schema({"$ref": "#/$defs/a", "$defs": {
        "a": {"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}, "additionalProperties": False}
    }})[0], VOCABULARY)).program  # fmt: skip
    assert grammar.matcher().accept_bytes(b'{"a": {"a": {}}}')
    built = [address for address in program._stub_addresses.values() if program.heap[address + at.T_BUILT]]
    assert built
    for stub in built:
        bits = int(program.heap[stub + at.N_FIRST])
        first = int.from_bytes(program.heap[bits : bits + 8].tobytes(), "little")
        assert first != (1 << 256) - 1
