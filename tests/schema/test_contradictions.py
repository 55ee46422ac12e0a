"""Schemas without a value: the pointer of the place to blame, and the smallest set of keywords that clash there."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given, settings

from constrain import LimitError, Limits, SchemaError, UnsatisfiableError
from constrain.schema import compile_schema
from constrain.schema.check import scan
from constrain.schema.contradiction import contradiction
from constrain.schema.document import Document, load
from constrain.schema.normal import Normaliser
from constrain.schema.options import Options
from constrain.schema.report import Report

from .test_random import RELAXED, SCHEMAS


def clash(schema: Any, **options: Any) -> tuple[str, str]:
    with pytest.raises(UnsatisfiableError) as caught:
        compile_schema(schema, **options)
    return caught.value.pointer, caught.value.reason.removesuffix(" contradict each other")


PARTS = {"title": "a part", "description": "with annotations", "default": 3}


@pytest.mark.parametrize(
    ("schema", "pointer", "reason"),
    [
        ({**PARTS, "type": "integer", "minimum": 5, "maximum": 3}, "", "minimum 5 and maximum 3"),
        ({"type": "string", "enum": [1, 2]}, "", 'type "string" and enum [1, 2]'),
        ({"type": "integer", "enum": [1.5, "a"]}, "", 'type "integer" and enum [1.5, "a"]'),
        ({"type": "integer", "minimum": 1.2, "maximum": 1.8}, "", 'type "integer", minimum 1.2 and maximum 1.8'),
        ({"type": "array", "minItems": 3, "maxItems": 2, "items": {}}, "", "minItems 3 and maxItems 2"),
        ({"type": "string", "pattern": "^a{5}$", "maxLength": 3}, "", 'pattern "^a{5}$" and maxLength 3'),
        ({"type": "string", "format": "date", "pattern": "^x", "maxLength": 12}, "", 'format "date" and pattern "^x"'),
        ({"type": "array", "contains": {"const": 1}, "items": {"const": 2}}, "", "contains and items"),
        ({"enum": []}, "", "enum [] leaves no value"),
        ({"not": {}}, "", "not leaves no value"),
        ({"const": "\ud800"}, "", 'const "\\ud800" leaves no value'),
        (False, "", "the schema is false"),
    ],
)
def test_in_one_place(schema: Any, pointer: str, reason: str) -> None:
    assert clash(schema) == (pointer, reason)


@pytest.mark.parametrize(
    ("rest", "reason"),
    [
        ({"additionalProperties": False, "properties": {"b": {}}}, 'required "a" and additionalProperties false'),
        ({"properties": {"a": False, "b": {}}}, 'required "a" and properties "a" false'),
        ({"propertyNames": {"pattern": "^b"}}, 'required "a" and propertyNames'),
        ({"patternProperties": {"^a": False, "b": {}}}, 'required "a" and patternProperties "^a" false'),
        ({"not": {"required": ["a"]}}, 'required "a" and not'),
        ({"maxProperties": 0, "minProperties": 0}, 'required "a" and maxProperties 0'),
        ({"unevaluatedProperties": False, "properties": {"b": {}}}, 'required "a" and unevaluatedProperties false'),
        (
            {"dependentRequired": {"b": ["c"], "a": ["b"]}, "properties": {"b": False}},
            'required "a", dependentRequired "a" and properties "b" false',
        ),
    ],
)
def test_a_required_key_that_is_forbidden(rest: Any, reason: str) -> None:
    assert clash({"type": "object", "required": ["a"], **rest}) == ("", reason)


def test_in_two_places() -> None:
    schema = {
        "type": "object",
        "required": ["a"],
        "properties": {"a": {"type": "number", "minimum": 5}},
        "allOf": [{"properties": {"b": {"minimum": 9}}}, {"properties": {"a": {"maximum": 3}}}],
    }
    reason = "minimum 5 (at /properties/a) and maximum 3 (at /allOf/1/properties/a)"
    assert clash(schema) == ("/properties/a", reason)
    schema = {"const": 1, "allOf": [{"$ref": "#/$defs/two"}], "$defs": {"two": {"const": 2}}}
    assert clash(schema) == ("", "const 1 (at /) and const 2 (at /$defs/two)")
    schema = {"allOf": [{"type": "string"}, {"description": "nothing"}, {"type": ["integer", "null"]}]}
    assert clash(schema) == ("", 'type "string" (at /allOf/0) and type ["integer", "null"] (at /allOf/2)')


def test_the_innermost_place_is_named() -> None:
    inner = {"type": "string", "minLength": 3, "maxLength": 2}
    schema = {
        "type": "object",
        "properties": {"p": {"type": "array", "items": inner, "minItems": 1}},
        "required": ["p"],
    }
    assert clash(schema) == ("/properties/p/items", "minLength 3 and maxLength 2")
    schema = {"type": "array", "prefixItems": [{"type": "string"}, {"enum": []}], "minItems": 2}
    assert clash(schema) == ("/prefixItems/1", "enum [] leaves no value")


def test_branches_of_a_union_each_have_their_reason() -> None:
    inner = {"type": "object", "required": ["a"], "properties": {"a": False}}
    assert clash({"anyOf": [{"type": "string", "minLength": 2, "maxLength": 1}, inner]}) == (
        "",
        "no branch of anyOf is possible (0: minLength 2 and maxLength 1 contradict each other; "
        '1: required "a" and properties "a" false contradict each other)',
    )
    assert clash({"type": "string", "oneOf": [{}, {"title": "the same"}]})[1] == "oneOf leaves no value"


def test_values_that_would_never_end() -> None:
    schema = {"type": "object", "properties": {"n": {"$ref": "#"}}, "required": ["n"]}
    assert clash(schema) == (
        "",
        "its values would contain themselves without end: what it requires leads back to it",
    )


def test_what_an_option_has_closed() -> None:
    schema = {"type": "object", "properties": {"a": {}}, "minProperties": 2}
    reason = clash(schema, additional_properties=False)[1]
    assert reason.startswith("properties") and "minProperties 2" in reason
    assert reason.endswith("while additional_properties=False closes objects")


@pytest.mark.parametrize(
    ("seconds", "reason"),
    [(60, "minProperties 9 and maxProperties 8"), (0, "what applies here cannot hold together")],
)
def test_a_large_schema_takes_bounded_time(seconds: float, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("constrain.schema.contradiction._SECONDS", seconds)
    noise = [{"properties": {f"k{i}": {"type": "string"}, f"l{i}": {"enum": [i]}}} for i in range(300)]
    schema = {"type": "object", "minProperties": 9, "allOf": noise, "maxProperties": 8}
    start = time.thread_time()
    assert clash(schema)[1].startswith(reason)
    assert time.thread_time() - start < 3


def unsatisfiable(schema: Any) -> Document | None:
    report, limits = Report(), Limits()
    document = Document(load(schema, limits), None, None, limits, report)
    scan(document)
    normaliser = Normaliser(document, Options(), limits, report)
    root = normaliser.goals.at(document.root)
    try:
        if normaliser.emptiness.inhabited(root):
            return None
    except SchemaError:
        return None
    pointer, reason = contradiction(normaliser, root)
    here = document.root.schema
    for token in pointer.split("/")[1:]:
        here = here[int(token)] if isinstance(here, list) else here[token.replace("~1", "/")]
    assert reason
    return document


def tidy(schema: Any) -> Any:
    """With names of `required` in order."""
    if isinstance(schema, dict):
        return {key: sorted(value) if key == "required" else tidy(value) for key, value in schema.items()}
    return list(map(tidy, schema)) if isinstance(schema, list) else schema


@settings(RELAXED, max_examples=100)
@given(SCHEMAS)
def test_the_pointer_exists_and_the_document_is_put_back(schema: Any) -> None:
    schema = {"allOf": [schema], "type": "object", "required": ["a", "b"], "properties": {"a": {"type": "string"}}}
    document = unsatisfiable(schema)
    if document is not None:
        assert tidy(document.root.schema) == tidy(schema)


LONG = 3 * 10**5000 + 1


@pytest.mark.parametrize(
    ("schema", "error"),
    [
        ({"const": LONG, "type": "string"}, UnsatisfiableError),
        ({"enum": [{"a": [LONG]}], "type": "array"}, UnsatisfiableError),
        ({"minimum": LONG, "maximum": LONG - 1, "type": "integer"}, UnsatisfiableError),
        ({"minLength": LONG, "maxLength": LONG - 1, "type": "string"}, UnsatisfiableError),
        ({"enum": [3], "multipleOf": LONG}, UnsatisfiableError),
        ({"multipleOf": LONG}, LimitError),
        ({"not": {"multipleOf": LONG}, "type": "number"}, LimitError),
    ],
    ids=lambda value: ",".join(value) if isinstance(value, dict) else value.__name__,
)
def test_integers_too_long_to_print_are_named_by_their_length(schema: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error, match=r"5,001 digits|multipleOf"):
        compile_schema(schema)


def test_a_huge_divisor_ends_with_the_time() -> None:
    with pytest.raises(LimitError):
        compile_schema({"multipleOf": 10**4500}, limits=Limits(max_seconds=0.5))
