"""The normal form in words and as data: what keywords come down to, with recursion by name and a bounded depth."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest

from constrain import ConstrainError, SchemaError
from constrain.schema import compile_schema, explain_schema


def lines(schema: Any, **options: Any) -> dict[str, list[str]]:
    entries = explain_schema(schema, **options)
    json.dumps([vars(entry) for entry in entries], default=float)
    return {entry.name: list(entry.lines()) for entry in entries}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({}, ["null, false, true", "string any", "number any", "object", "array"]),
        ({"type": "string", "enum": [1, "b", "a"]}, ['string "a", "b"']),
        ({"type": "integer", "minimum": 2, "exclusiveMaximum": 9.5}, ["number integer, >= 2, < 9.5"]),
        (
            {"type": "number", "multipleOf": 0.5, "not": {"multipleOf": 2}},
            ["number multiple of 0.5, not multiple of 2"],
        ),
        (
            {"type": "string", "minLength": 2, "not": {"const": "abc"}},
            ['string but not "abc", of at least 2 characters'],
        ),
        ({"type": "string", "pattern": "^2", "format": "date"}, ['string format date, pattern "^2"']),
        ({"type": ["null", "boolean"], "not": {"const": False}}, ["null, true"]),
        ({"enum": []}, ["nothing satisfies it"]),
        ({"type": "array", "minItems": 2, "maxItems": 2}, ["array of 2 items"]),
        ({"type": "array", "uniqueItems": True}, ["array without repeats"]),
        ({"type": "array", "not": {"uniqueItems": True}, "maxItems": 3}, ["array of 2 to 3 items with a repeat"]),
    ],
)
def test_values(schema: Any, expected: list[str]) -> None:
    assert lines(schema)["/"] == expected


def test_members_and_items() -> None:
    found = lines(
        {
            "type": ["object", "array"],
            "properties": {"a": {"type": "null"}, "b": False},
            "required": ["a", "x-c"],
            "patternProperties": {"^x-": {"type": "boolean"}},
            "additionalProperties": False,
            "propertyNames": {"maxLength": 3},
            "maxProperties": 4,
            "prefixItems": [{"const": 1}],
            "items": {"type": "string"},
            "contains": {"minLength": 2},
            "maxContains": 2,
        }
    )
    assert found["/"] == [
        "object of at most 4 members",
        '  "a": /properties/a (required)',
        '  "b": nothing',
        '  "x-c": as others (required)',
        '  keys matching "^x-": /patternProperties/^x-',
        "  other keys: nothing",
        "  every key: /propertyNames",
        "array",
        "  item 0: /prefixItems/0",
        "  other items: /items",
        "  1 to 2 items satisfy /contains",
    ]
    assert found["/patternProperties/^x-"] == ["false, true"]


def test_what_is_joined_is_worked_out() -> None:
    found = lines(
        {
            "type": "object",
            "allOf": [{"properties": {"a": {"minimum": 3}}}, {"properties": {"a": {"type": "number", "maximum": 5}}}],
            "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
        }
    )
    both = "/allOf/0/properties/a and /allOf/1/properties/a"
    assert found["/"] == [
        "object",
        f'  "a": {both} (required)',
        '  "b": nothing',
        "object",
        '  "a": nothing',
        '  "b": as others (required)',
    ]
    assert found[both] == ["number >= 3, <= 5"]


def test_recursion_ends_and_the_depth_is_kept() -> None:
    tree = {"properties": {"kids": {"type": "array", "items": {"$ref": "#"}}}, "type": "object"}
    assert lines(tree) == {
        "/": ["object", '  "kids": /properties/kids'],
        "/properties/kids": ["array", "  all items: /"],
    }
    chain: dict[str, Any] = {"type": "null"}
    for _ in range(30):
        chain = {"type": "object", "properties": {"n": chain}}
    assert len(lines(chain, depth=4)) == 5


def test_what_is_refused_says_so() -> None:
    pattern = {"type": "object", "not": {"patternProperties": {"^a": {"type": "string"}}}}
    many = {"type": "integer", "multipleOf": 10**20 + 39, "minimum": 2}
    for schema in (pattern, many):
        found = lines({"properties": {"a": schema, "b": {"type": "null"}}})
        assert found["/properties/b"] == ["null"]
    with pytest.raises(SchemaError):
        explain_schema({"type": "strin"})


def test_integers_too_long_to_print_are_named_by_their_length() -> None:
    long = 10**5000
    for schema in ({"type": "string", "minLength": long}, {"type": "array", "maxItems": long}, {"const": long}):
        lines = [line for entry in explain_schema(schema, depth=1) for line in entry.lines()]
        assert any("5,001 digits" in line for line in lines)


_LONG, _LONGER = "9" * 6000, "1" + "0" * 7000


@pytest.mark.parametrize(
    "schema",
    [
        f'{{"const": {_LONG}}}',
        f'{{"enum": [{_LONG}, 1, {{"a": [{_LONG}]}}]}}',
        f'{{"const": {_LONG}, "enum": [1]}}',
        f'{{"const": -{_LONG}, "type": "string"}}',
        f'{{"minimum": {_LONGER}, "maximum": {_LONG}}}',
        f'{{"type": "integer", "exclusiveMinimum": {_LONG}, "exclusiveMaximum": {_LONG}}}',
        f'{{"multipleOf": {_LONG}}}',
        f'{{"minLength": {_LONG}}}',
        f'{{"type": "array", "minItems": {_LONG}, "maxItems": {_LONG}}}',
        f'{{"items": {{"const": [{_LONG}]}}}}',
        f'{{"oneOf": [{{"const": {_LONG}}}, {{"const": [{_LONGER}]}}]}}',
        f'{{"required": [{_LONG}]}}',
        f'{{"contains": {{"const": 1}}, "minContains": {_LONG}}}',
    ],
    ids=range(13),
)
def test_integers_that_python_does_not_print(schema: str) -> None:
    """Whatever is said of them, and they are, raises nothing but the package's errors."""
    for of in (compile_schema, lambda one: [list(entry.lines()) for entry in explain_schema(one)]):
        with contextlib.suppress(ConstrainError):
            of(schema)
