"""Different items that are values like the array itself: a least fixpoint, and never a schema refused for it."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

import constrain

SELF = {"$ref": "#"}
UNIQUE = {"type": ["null", "boolean", "array"], "items": SELF, "uniqueItems": True}
TEXTS = ["null", "[]", "[null]", "[null,null]", "[true,false]", "[null,[true,false]]", "[null,[]]", "[1]", "[1,1]"]
TEXTS += ["[[null],null]", "[null,true,false]", "[null,true,false,[null,true,false]]", "[[true,false],[false,true]]"]
TEXTS += ['["a",null,[null]]', "[[null,null],[null,null]]"]
SCHEMAS: list[Any] = [
    UNIQUE,
    UNIQUE | {"minItems": 2},
    UNIQUE | {"minItems": 4},
    UNIQUE | {"minItems": 2, "prefixItems": [SELF]},
    UNIQUE | {"minItems": 2, "type": ["null", "array"]},
    {"type": ["null", "string", "array"], "items": SELF, "uniqueItems": True, "minItems": 2, "prefixItems": [SELF]},
    {"type": ["null", "array"], "contains": SELF, "uniqueItems": True},
    {"type": ["null", "array"], "contains": SELF, "uniqueItems": True, "prefixItems": [{"not": {}}], "minItems": 1},
    {"anyOf": [{"type": "null"}, {"type": "array", "contains": SELF, "uniqueItems": True, "minContains": 2}]},
    {"anyOf": [{"type": "null"}, {"items": {"const": 1}, "maxItems": 3, "type": "array"}, {"type": "array"} | UNIQUE]},
    {"anyOf": [{"type": "null"}, {"type": "array", "items": SELF, "not": {"uniqueItems": True}}]},
]


@pytest.mark.parametrize("schema", SCHEMAS, ids=str)
def test_verdicts(schema: Any) -> None:
    validator = jsonschema.Draft202012Validator(schema)
    grammar = constrain.compile_json_schema(schema)
    for text in TEXTS:
        assert grammar.accepts(text) == validator.is_valid(json.loads(text)), text
    assert validator.is_valid(json.loads(constrain.sample(grammar, seed=1, max_bytes=30)))


def test_none_without_end() -> None:
    schema = {"type": "array", "items": SELF, "uniqueItems": True, "minItems": 1}
    with pytest.raises(constrain.UnsatisfiableError):
        constrain.compile_json_schema(schema)
    schema = {"type": "array", "minItems": 2, "contains": SELF, "uniqueItems": True, "prefixItems": [False]}
    with pytest.raises(constrain.UnsatisfiableError):
        constrain.compile_json_schema(schema)
