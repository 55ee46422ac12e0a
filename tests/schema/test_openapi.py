"""OpenAPI's keywords: without effect and noted by default, read with `openapi=True`."""

from __future__ import annotations

from typing import Any

import pytest

from constrain import SchemaError
from constrain.automata.oracle import Oracle
from constrain.schema import compile_schema

from .support import accepts

PETS = {
    "oneOf": [{"$ref": "#/components/schemas/Cat"}, {"$ref": "#/components/schemas/Big~1Dog"}],
    "discriminator": {"propertyName": "kind"},
    "components": {
        "schemas": {
            "Cat": {"type": "object", "properties": {"lives": {"type": "integer"}}},
            "Big/Dog": {"type": "object", "properties": {"lives": {"type": "string"}}},
        }
    },
}


def notes(schema: Any, **options: Any) -> list[tuple[str, str, str]]:
    report = compile_schema(schema, **options)[1]
    return [(f.pointer, f.keyword, f.reason) for f in report.having("note")]


def verdicts(schema: Any, values: list[Any], **options: Any) -> list[bool]:
    return [accepts(schema, value, openapi=True, **options) for value in values]


def test_without_the_option_both_are_noted() -> None:
    assert not accepts({"type": "string", "nullable": True}, None)
    schema = {"properties": {"a": {"type": "string", "nullable": True}, "b": PETS}}
    reason = "a keyword of OpenAPI; it has no effect without openapi=True"
    found = [note for note in notes(schema | {"$defs": {}, "components": PETS["components"]}) if note[2] == reason]
    assert found == [("/properties/a", "nullable", reason), ("/properties/b", "discriminator", reason)]


@pytest.mark.parametrize(
    ("schema", "null", "note"),
    [
        ({"type": "string", "nullable": True}, True, None),
        ({"type": ["string", "integer"], "nullable": True}, True, None),
        ({"type": "string", "nullable": False}, False, None),
        ({"type": "string", "nullable": True, "enum": ["a", None]}, True, None),
        ({"type": "string", "nullable": True, "enum": ["a"]}, False, "`enum` does not list null"),
        ({"nullable": True, "enum": ["a"]}, False, "no effect without `type`"),
        ({"nullable": True, "allOf": [{"type": "string"}]}, False, "no effect without `type`"),
        ({"type": "string", "nullable": True, "allOf": [{"type": "string"}]}, False, None),
        ({"nullable": False}, True, None),
    ],
)
def test_nullable_widens_the_type_beside_it(schema: Any, null: bool, note: str | None) -> None:
    assert verdicts(schema, [None, "a"]) == [null, True]
    found = notes(schema, openapi=True)
    assert [keyword for _, keyword, _ in found] == (["nullable"] if note else [])
    assert not note or note in found[0][2]


def test_annotations_of_openapi_are_no_news() -> None:
    schema = {"type": "string", "xml": {"name": "a"}, "externalDocs": {"url": "https://example.com"}, "example": "b"}
    assert notes(schema, openapi=True) == []


def test_the_tag_is_the_name_in_the_reference() -> None:
    values = [{"kind": "Cat", "lives": 9}, {"kind": "Big/Dog", "lives": "one"}]
    assert verdicts(PETS, values) == [True, True]
    wrong = [{"kind": "Cat", "lives": "one"}, {"kind": "Big/Dog", "lives": 1}, {"lives": 9}, {"kind": "Cow"}, {}]
    assert not any(verdicts(PETS, wrong))
    assert not accepts(PETS, {"kind": "Cat"})  # both branches hold
    assert verdicts(PETS, [{"kind": "Cat"}]) == [True]


@pytest.mark.parametrize("keyword", ["oneOf", "anyOf"])
def test_a_mapping_replaces_the_names(keyword: str) -> None:
    mapping = {"cat": "#/components/schemas/Cat", "tiger": "Cat"}
    branches = [PETS["oneOf"][0], PETS["oneOf"][1]]
    schema = {
        keyword: branches,
        "discriminator": {"propertyName": "kind", "mapping": mapping},
        "components": PETS["components"],
    }
    assert verdicts(schema, [{"kind": tag} for tag in ("cat", "tiger", "Big/Dog", "Cat")]) == [True, True, True, False]
    assert verdicts(schema, [{"kind": "tiger", "lives": "one"}]) == [False]


def test_branches_without_a_name_are_noted_and_kept() -> None:
    inline = {"properties": {"kind": {"const": "cow"}}, "required": ["kind"], "type": "object"}
    schema = {**PETS, "oneOf": [*PETS["oneOf"], inline]}
    assert verdicts(schema, [{"kind": "cow"}, {"kind": "Cat"}]) == [True, True]
    [note] = [note for note in notes(schema, openapi=True) if note[1] == "discriminator"]
    assert "branch 2 of oneOf" in note[2]
    alone = {"type": "object", "discriminator": {"propertyName": "kind"}}
    assert verdicts(alone, [{}]) == [True]
    assert "no effect" in notes(alone, openapi=True)[0][2]


def test_documents_of_the_caller_stay_as_they_are() -> None:
    schema = {"type": "string", "nullable": True}
    shared = {"https://example.com/a": schema}
    root, _ = compile_schema({"$ref": "https://example.com/a"}, openapi=True, registry=shared)
    assert Oracle(root).accepts(b"null")
    assert schema == {"type": "string", "nullable": True}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "nullable": "yes"},
        {"discriminator": "kind"},
        {"discriminator": {"mapping": {}}},
        {"discriminator": {"propertyName": "kind", "mapping": ["a"]}},
    ],
)
def test_what_is_malformed_is_an_error(schema: Any) -> None:
    compile_schema(schema)
    with pytest.raises(SchemaError):
        compile_schema(schema, openapi=True)
