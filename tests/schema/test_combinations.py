"""Boolean structure: unions, intersections, exclusions, conditions; jsonschema gives the verdicts."""

from __future__ import annotations

from typing import Any

import pytest

from .support import accepts, is_valid
from .test_keywords import VALUES

TAGGED = [
    {"properties": {"k": {"const": "a"}, "v": {"type": "integer"}}, "required": ["k"]},
    {"properties": {"k": {"enum": ["b", "c"]}, "v": {"type": "string"}}, "required": ["k", "v"]},
]
OBJECTS: list[Any] = [
    {"k": "a"},
    {"k": "a", "v": 1},
    {"k": "a", "v": "s"},
    {"k": "b", "v": "s"},
    {"k": "b"},
    {"k": "c", "v": 1},
    {"v": 1},
    {"k": 1},
    {"a": 1, "b": 1, "c": 1},
    {"a": 1, "c": 1},
    {"b": 1, "c": 2},
    {"a": {"b": 1}},
    {"a": {"b": "x"}},
    {"a": {}},
    {"c": 1},
]

SCHEMAS: list[Any] = [
    {"anyOf": [{"type": "string"}, {"minimum": 3}]},
    {"anyOf": [{"required": ["a"]}, {"required": ["b"]}], "type": "object"},
    {"anyOf": TAGGED},
    {"oneOf": TAGGED},
    {"oneOf": TAGGED, "type": "object"},
    {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
    {"oneOf": [{"required": ["a"]}, {"required": ["b"]}, {"required": ["c"]}], "type": "object"},
    {"oneOf": [{"type": "integer"}, {"minimum": 2}]},
    {"oneOf": [{"multipleOf": 5}, {"multipleOf": 2}], "type": "integer"},
    {"oneOf": [{"minLength": 2}, {"maxLength": 2}], "type": "string"},
    {"oneOf": [{"pattern": "^a"}, {"pattern": "b$"}], "type": "string"},
    {"oneOf": [{"items": {"type": "integer"}}, {"items": {"type": "string"}}], "type": "array"},
    {"oneOf": [{"minItems": 2}, {"maxItems": 2}], "type": "array"},
    {"oneOf": [True, {"type": "string"}]},
    {
        "oneOf": [
            {"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": False},
            {"type": "object", "properties": {"b": {"type": "integer"}}, "additionalProperties": False},
        ]
    },
    {"allOf": [{"type": ["string", "integer"]}, {"enum": ["a", 1, None]}]},
    {"allOf": [{"properties": {"a": {"type": "integer"}}}, {"properties": {"a": {"minimum": 2}}, "required": ["a"]}]},
    {"allOf": [{"additionalProperties": {"type": "integer"}}, {"patternProperties": {"b": {"type": "string"}}}]},
    {"allOf": [{"prefixItems": [{"type": "integer"}]}, {"items": {"minimum": 1}}]},
    {"not": {"type": "string"}},
    {"not": {"type": ["object", "array"]}},
    {"not": {"required": ["a"]}},
    {"not": {"required": ["a", "b"]}},
    {"not": {"properties": {"a": {"type": "integer"}}, "required": ["a"]}},
    {"not": {"properties": {"a": {"properties": {"b": {"type": "integer"}}}}}},
    {"not": {"minimum": 2}},
    {"not": {"multipleOf": 2}, "type": "integer"},
    {"not": {"type": "integer"}},
    {"not": {"pattern": "a"}},
    {"not": {"enum": ["a", 1, None, {"a": 1}]}},
    {"not": {"const": [1, 2]}},
    {"not": {"minLength": 1, "maxLength": 2}},
    {"not": {"items": {"type": "integer"}}},
    {"not": {"contains": {"const": 1}}},
    {"not": {"minItems": 1, "maxItems": 1}},
    {"not": {"minProperties": 1, "maxProperties": 1}},
    {"not": {"anyOf": [{"type": "string"}, {"required": ["a"]}]}},
    {"not": {"not": {"type": "string"}}},
    {"not": {}},
    {"not": {"properties": {"a": {}}, "additionalProperties": False}},
    {"if": {"type": "string"}, "then": {"minLength": 2}, "else": {"type": ["integer", "object"]}},
    {"if": {"properties": {"a": {"const": 1}}, "required": ["a"]}, "then": {"required": ["b"]}},
    {"if": {"properties": {"k": {"const": "a"}}}, "then": {"required": ["v"]}, "else": {"not": {"required": ["v"]}}},
    {"if": True, "then": {"type": "string"}},
    {"if": {"minimum": 3}, "else": {"multipleOf": 2}},
    {"then": False},
    {"dependentRequired": {"a": ["b", "c"], "b": ["a"]}},
    {"dependentSchemas": {"a": {"required": ["c"]}, "k": {"properties": {"v": {"type": "integer"}}}}},
]


@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda schema: str(schema)[:80])
def test_verdicts_agree_with_jsonschema(schema: Any) -> None:
    values = VALUES + OBJECTS
    if schema == {"not": {}}:
        with pytest.raises(Exception, match="nothing can satisfy"):
            accepts(schema, 1)
        return
    wrong = [value for value in values if accepts(schema, value) != is_valid(schema, value)]
    assert wrong == []


def test_many_tagged_branches_stay_cheap() -> None:
    """A hundred branches told apart by their tag need no negation and no product."""
    branches = [
        {
            "type": "object",
            "properties": {"kind": {"const": f"k{i}"}, f"p{i}": {"type": "integer"}},
            "required": ["kind"],
        }
        for i in range(100)
    ]
    schema = {"oneOf": branches}
    assert accepts(schema, {"kind": "k42", "p42": 1, "p7": "x"})
    assert not accepts(schema, {"kind": "k42", "p42": "x"})
    assert not accepts(schema, {"kind": "k100"})


def test_a_recursive_branch_beside_another() -> None:
    """Whether its complement has values depends on whether it has: that question must not go round and round."""
    nested = {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"$ref": "#/$defs/nested"}}]}
    schema = {"oneOf": [{"required": ["a"]}, {"$ref": "#/$defs/nested"}], "$defs": {"nested": nested}}
    for value in (1, [1], [[], [2]], ["a"], [["a"], 1], {}, {"a": 1}, "a", None):
        assert accepts(schema, value) == is_valid(schema, value), value
