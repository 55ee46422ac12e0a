"""Nodes that all compilations share: the values that the long way round gives, under every option, and one object."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import constrain
from constrain.schema import compile_schema
from constrain.schema.commons import commons
from constrain.schema.notation import json_notation
from constrain.schema.options import Options

TYPES: list[Any] = ["string", "number", "integer", "boolean", "null", None]
TEXTS = [
    b"1", b"-0", b"1.0", b"1e2", b"1.50", b"01", b'"a\\u0062"', b'"\\ud800"', b"null", b"true", b"false", b"[]",
    b"[1,[2]]", b"[ 1 , 2 ]", b'{"a":1}', b'{"a": 1, "b": {"c": []}}', b'{"a":1,"a":2}', b'{"b":1,"a":2}', b"{ }",
    b"", b'"', b"-",
]  # fmt: skip
CHOICES: dict[str, list[Any]] = {
    "whitespace": ["flexible", "compact", "single", "[ \\n]?"],
    "property_order": ["any", "schema"],
    "numbers": ["canonical", "any"],
    "additional_properties": [None, False],
    "draft": [4, "2020-12"],
}


@pytest.mark.parametrize("options", [dict(zip(CHOICES, o, strict=True)) for o in itertools.product(*CHOICES.values())])
def test_they_are_what_would_be_built(options: dict[str, Any]) -> None:
    """A schema in `allOf` says the same, and is built for itself."""
    for name in TYPES:
        said = {} if name is None else {"type": name}
        wordy = {"allOf": [said | {"not": {"enum": ["no such text"]}}]}
        pair = [constrain.compile_json_schema({"properties": {"x": one}}, **options) for one in (said, wordy)]
        for text in TEXTS:
            for written in (b'{"x":' + text + b"}", b'{"x": ' + text + b"}", b'{"x":' + text + b',"y":' + text + b"}"):
                accepted = [grammar.accepts(written) for grammar in pair]
                assert accepted[0] == accepted[1], written


def test_two_compilations_share_them() -> None:
    one, two = (compile_schema({"type": "string", "title": str(n)})[0] for n in range(2))
    assert one is two is commons(Options(), json_notation("flexible"), False).of["string"]
    assert compile_schema({"type": "string", "minLength": 1})[0] is not one
    assert compile_schema(True)[0] is commons(Options(), json_notation("flexible"), False).anything
