"""Documents: drafts, identifiers, anchors, references near and far, and everything that can be wrong with one."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

import constrain._errors as errors
from constrain import _limits
from constrain.automata.oracle import Oracle
from constrain.schema import compile_schema

from .support import accepts, is_valid


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"$defs": {"i": {"type": "integer"}}, "items": {"$ref": "#/$defs/i"}}, [1], ["a"]),
        ({"$defs": {"a/b~c d": {"type": "integer"}}, "$ref": "#/$defs/a~1b~0c%20d"}, 1, "a"),
        ({"properties": {"x": {"$ref": "#"}}, "additionalProperties": False}, {"x": {"x": {}}}, {"x": {"y": 1}}),
        ({"$defs": {"i": {"$anchor": "here", "type": "integer"}}, "$ref": "#here"}, 1, "a"),
        ({"$id": "http://x.org/s/", "$ref": "t", "$defs": {"t": {"$id": "t", "type": "integer"}}}, 1, "a"),
        (
            {
                "$id": "http://x.org/root",
                "$ref": "inner",
                "$defs": {
                    "i": {"$id": "inner", "$ref": "#/$defs/j", "$defs": {"j": {"type": "null"}}},
                    "j": {"type": "string"},
                },
            },
            None,
            "a",
        ),
        ({"prefixItems": [{"type": "integer"}, {"$ref": "#/prefixItems/0"}]}, [1, 2], [1, "a"]),
        ({"unknown": {"i": {"type": "integer"}}, "$ref": "#/unknown/i"}, 1, "a"),
        (
            {
                "$defs": {"l": {"anyOf": [{"type": "null"}, {"type": "array", "items": {"$ref": "#/$defs/l"}}]}},
                "$ref": "#/$defs/l",
            },
            [[None, []], None],
            [[1]],
        ),
        ({"$defs": {"t": {"$dynamicAnchor": "n", "type": "integer"}}, "items": {"$dynamicRef": "#n"}}, [1], ["a"]),
        (
            {
                "$schema": "http://json-schema.org/draft-07/schema#",
                "definitions": {"f": {"$id": "#foo", "type": "integer"}},
                "items": {"$ref": "#foo"},
            },
            [1],
            ["a"],
        ),
        (
            {
                "$schema": "http://json-schema.org/draft-04/schema#",
                "id": "http://x.org/a/",
                "items": {"$ref": "b"},
                "definitions": {"b": {"id": "b", "type": "integer"}},
            },
            [1],
            ["a"],
        ),
    ],
    ids=lambda value: str(value)[:60],
)
def test_references_find_their_target(schema: Any, good: Any, bad: Any) -> None:
    assert is_valid_by_its_draft(schema, good) and not is_valid_by_its_draft(schema, bad)
    assert accepts(schema, good) and not accepts(schema, bad)


def test_a_union_may_hold_itself() -> None:
    schema = {
        "$ref": "#/$defs/a",
        "$defs": {
            "a": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/a"}, {"$ref": "#/$defs/b"}]},
            "b": {"anyOf": [{"$ref": "#/$defs/a"}, {"type": "array", "items": {"$ref": "#/$defs/b"}}]},
        },
    }
    assert accepts(schema, "x") and accepts(schema, [["x"], "y"])
    assert not accepts(schema, 1) and not accepts(schema, [1])
    with pytest.raises(errors.SchemaError, match="refers to itself"):
        compile_schema({"anyOf": [{"allOf": [{"$ref": "#"}, {"type": "string"}]}]})


def test_dynamic_references_depend_on_the_way() -> None:
    """The same subschema reached through two resources means two things."""
    tree = {
        "$id": "tree",
        "$dynamicAnchor": "node",
        "type": "object",
        "properties": {"data": True, "children": {"type": "array", "items": {"$dynamicRef": "#node"}}},
    }
    schema = {
        "$id": "http://x.org/strict",
        "$dynamicAnchor": "node",
        "$ref": "tree",
        "unevaluatedProperties": False,
        "properties": {"loose": {"$ref": "http://x.org/loose"}},
        "$defs": {"tree": tree, "loose": {"$id": "http://x.org/loose", "$ref": "tree"}},
    }
    values = [
        {"children": [{"data": 1}]},
        {"children": [{"daat": 1}]},
        {"daat": 1},
        {"loose": {"daat": 1}},
        {"loose": {"children": [{"daat": 1}]}},
    ]
    assert [accepts(schema, value) for value in values] == [is_valid(schema, value) for value in values]


def is_valid_by_its_draft(schema: Any, value: Any) -> bool:
    named = schema.get("$schema", "")
    return is_valid(schema, value, 4 if "04" in named else 7 if "07" in named else 2020)


def test_linked_lists_may_be_deep() -> None:
    schema = {"type": "object", "properties": {"next": {"$ref": "#"}}, "additionalProperties": False}
    value: dict[str, Any] = {}
    for _ in range(40):
        value = {"next": value}
    assert accepts(schema, value)


def test_a_registry_supplies_other_documents() -> None:
    from referencing import Registry, Resource
    from referencing.jsonschema import DRAFT202012

    other = {"$defs": {"x": {"$anchor": "x", "type": "integer"}}}
    registry = Registry().with_resource("http://x.org/other", Resource.from_contents(other, DRAFT202012))
    schema = {"items": {"$ref": "http://x.org/other#x"}}
    assert accepts(schema, [1], registry=registry) and not accepts(schema, ["a"], registry=registry)
    with pytest.raises(errors.SchemaError, match="cannot find"):
        compile_schema(schema)


MALFORMED: list[tuple[Any, str, str | None]] = [
    (None, "", None),
    ([], "", None),
    ("{", "", None),
    ("[1]", "", None),
    ({"type": "strng"}, "", "type"),
    ({"type": 1}, "", "type"),
    ({"properties": {"a": {"type": "strng"}}}, "/properties/a", "type"),
    ({"properties": {"a": 1}}, "/properties/a", None),
    ({"properties": []}, "", "properties"),
    ({"required": "a"}, "", "required"),
    ({"properties": {"a": {"required": True}}}, "/properties/a", "required"),
    ({"minLength": -1}, "", "minLength"),
    ({"maxItems": 1.5}, "", "maxItems"),
    ({"minimum": "1"}, "", "minimum"),
    ({"multipleOf": 0}, "", "multipleOf"),
    ({"enum": 1}, "", "enum"),
    ({"anyOf": []}, "", "anyOf"),
    ({"allOf": {}}, "", "allOf"),
    ({"pattern": "("}, "", "pattern"),
    ({"patternProperties": {"[": {}}}, "", "patternProperties"),
    ({"items": {"$ref": "#/nowhere"}}, "/items", "$ref"),
    ({"$ref": "#nowhere"}, "", "$ref"),
    ({"$ref": "#"}, "", "$ref"),
    ({"$defs": {"a": {"oneOf": [{"$ref": "#/$defs/b"}]}, "b": {"not": {"$ref": "#/$defs/a"}}}}, "/$defs/a", "$ref"),
    ({"uniqueItems": 1}, "", "uniqueItems"),
    ({"dependentRequired": {"a": "b"}}, "", "dependentRequired"),
    ({"minimum": Decimal("1e999999999")}, "", "minimum"),
]


@pytest.mark.parametrize(("schema", "pointer", "keyword"), MALFORMED, ids=lambda value: str(value)[:50])
def test_malformed_schemas_say_where(schema: Any, pointer: str, keyword: str | None) -> None:
    with pytest.raises(errors.SchemaError) as caught:
        compile_schema(schema)
    assert (caught.value.pointer, caught.value.keyword) == (pointer, keyword)
    assert caught.value.reason


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        (False, ""),
        ({"type": "object", "properties": {"a": {"type": "string", "enum": [1]}}, "required": ["a"]}, "/properties/a"),
        ({"type": "object", "properties": {"next": {"$ref": "#"}}, "required": ["next"]}, ""),
        ({"type": "integer", "minimum": 2, "maximum": 1}, ""),
        ({"type": "integer", "exclusiveMinimum": 1, "exclusiveMaximum": 2}, ""),
        ({"type": "string", "minLength": 2, "maxLength": 1}, ""),
        ({"type": "string", "pattern": "^(ab)+$", "minLength": 3, "maxLength": 3}, ""),
        ({"type": "string", "pattern": "a^"}, ""),
        ({"type": "array", "items": False, "minItems": 1}, ""),
        ({"type": "array", "prefixItems": [{}, {"type": []}], "minItems": 2}, "/prefixItems/1"),
        ({"type": "array", "contains": {"type": "string"}, "items": {"type": "integer"}}, ""),
        ({"type": "array", "uniqueItems": True, "items": {"enum": ["a", "b", "a"]}, "minItems": 3}, ""),
        ({"type": "object", "propertyNames": {"enum": ["a", "b"]}, "minProperties": 3}, ""),
        ({"type": "object", "properties": {"a": {}}, "additionalProperties": False, "minProperties": 2}, ""),
        ({"type": "object", "required": ["a", "b"], "maxProperties": 1}, ""),
        ({"type": "object", "required": ["a"], "additionalProperties": False}, ""),
        ({"type": "object", "patternProperties": {"^.$": False}, "required": ["a"]}, ""),
        ({"allOf": [{"type": "string"}, {"type": "integer"}]}, ""),
        ({"oneOf": [{"required": ["a"]}, {"required": ["a"]}], "type": "object"}, ""),
        ({"not": {}}, ""),
        ({"enum": []}, ""),
        ({"enum": ["\ud800"]}, ""),
        ({"type": "object", "required": ["\ud800"]}, ""),
    ],
    ids=lambda value: ascii(value)[:60],
)
def test_what_nothing_satisfies_is_refused(schema: Any, pointer: str) -> None:
    with pytest.raises(errors.UnsatisfiableError) as caught:
        compile_schema(schema)
    assert caught.value.pointer == pointer


def test_empty_parts_disappear() -> None:
    """An impossible alternative, an impossible optional member and an impossible item leave the rest as it is."""
    schema = {
        "type": "object",
        "properties": {
            "a": {"anyOf": [{"type": "string", "enum": [1]}, {"const": 2}]},
            "b": {"not": {}},
            "c": {"$ref": "#/$defs/loop"},
        },
        "$defs": {"loop": {"type": "object", "properties": {"l": {"$ref": "#/$defs/loop"}}, "required": ["l"]}},
    }
    assert accepts(schema, {"a": 2}) and accepts(schema, {"d": 1})
    assert not accepts(schema, {"a": 1}) and not accepts(schema, {"b": 1}) and not accepts(schema, {"c": {"l": {}}})


def test_lenient_relaxes_exactly_what_cannot_be_enforced() -> None:
    schema: dict[str, Any] = {"type": "array", "items": {"type": ["integer", "string"]}, "minItems": 1}
    schema |= {"contains": {"type": "integer"}, "minContains": 5000}
    with pytest.raises(errors.SchemaError) as caught:
        compile_schema(schema)
    assert (caught.value.pointer, caught.value.keyword) == ("", "contains")
    _, report = compile_schema(schema, lenient=True)
    assert [(f.pointer, f.keyword, f.status) for f in report] == [("", "contains", "relaxed")]
    assert not report.is_exact and json.dumps(report.to_json())
    assert accepts(schema, [1, 1], lenient=True) and not accepts(schema, [], lenient=True)
    assert not accepts(schema, [None], lenient=True)


def test_the_caller_may_change_the_schema_afterwards() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "integer"}}}
    root, _ = compile_schema(schema)
    schema["properties"]["a"]["type"] = "string"
    assert Oracle(root).accepts(b'{"a": 1}') and not Oracle(root).accepts(b'{"a": "x"}')
    loop: dict[str, Any] = {}
    loop["not"] = loop
    with pytest.raises(errors.LimitError):
        compile_schema(loop, limits=_limits.Limits(max_source_bytes=10_000))
    for wrong in ({"enum": [{1, 2}]}, {"properties": {1: {}}}):
        with pytest.raises(errors.SchemaError, match="not JSON"):
            compile_schema(wrong)


def test_notes_lose_nothing() -> None:
    schema = {"$schema": "http://example.org/mine", "type": "string", "format": "mine", "requierd": ["a"]}
    _, report = compile_schema(schema)
    assert report.is_exact
    assert {f.keyword for f in report} == {"$schema", "format", "requierd"}
    assert report.summary == "1 subschemas, 0 relaxed, 0 refused, 3 note"


def test_limits_are_named() -> None:
    deep: Any = {}
    for _ in range(1000):
        deep = {"not": {"not": {"items": deep}}}
    with pytest.raises(errors.LimitError) as caught:
        compile_schema(deep)
    assert caught.value.limit == "max_depth"
    with pytest.raises(errors.LimitError) as caught:
        compile_schema("[" * 100_000)
    assert caught.value.limit == "max_depth"
    with pytest.raises(errors.LimitError) as caught:
        compile_schema(json.dumps({"enum": ["x" * 100]}), limits=_limits.Limits(max_source_bytes=50))
    assert caught.value.limit == "max_source_bytes"


def test_options_are_checked() -> None:
    for options in (
        {"formats": "no"},
        {"numbers": "no"},
        {"property_order": "no"},
        {"draft": "5"},
        {"additional_properties": True},
    ):
        with pytest.raises(ValueError):
            compile_schema({}, **options)


def test_models_are_described_by_pydantic() -> None:
    pydantic = pytest.importorskip("pydantic")

    class Point(pydantic.BaseModel):
        x: int
        label: str | None = None

    root, _ = compile_schema(Point)
    assert Oracle(root).accepts(b'{"x": 1}') and not Oracle(root).accepts(b'{"label": "a"}')
    root, _ = compile_schema(list[int])
    assert Oracle(root).accepts(b"[1, 2]") and not Oracle(root).accepts(b'["a"]')


META = "http://example.org/meta"
VOCABULARY = "https://json-schema.org/draft/{}/vocab/{}"


@pytest.mark.parametrize("draft", ["2019-09", "2020-12"])
@pytest.mark.parametrize(
    ("names", "schema", "good", "bad"),
    [
        (["core", "applicator"], {"items": {"minimum": 3}, "properties": {"a": False}}, [1], {"a": 1}),
        (["core", "applicator"], {"contains": True, "minContains": 0}, [1], []),
        (["core", "validation"], {"type": "array", "items": False, "maxItems": 1}, [1], [1, 2]),
        (["core", "validation"], {"minLength": 1, "format": "date"}, "x", ""),
        (["core", "applicator", "validation"], {"contains": {"const": 1}, "minContains": 2}, [1, 1], [1]),
    ],
)
def test_a_dialect_without_a_vocabulary_leaves_its_keywords_out(
    draft: str, names: list[str], schema: dict[str, Any], good: Any, bad: Any
) -> None:
    meta = {
        "$schema": f"https://json-schema.org/draft/{draft}/schema",
        "$vocabulary": {VOCABULARY.format(draft, name): True for name in names},
    }
    schema = {"$schema": META, **schema}
    assert accepts(schema, good, registry={META: meta}) and not accepts(schema, bad, registry={META: meta})


def test_a_dialect_may_lie_behind_another_and_applies_to_its_resource_only() -> None:
    core = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    registry = {
        META: {**core, "$vocabulary": {VOCABULARY.format("2020-12", "core"): True, "http://example.org/own": False}},
        META + "/2": {"$schema": META},
    }
    schema = {
        "prefixItems": [
            {"$id": "http://example.org/a", "$schema": META + "/2", "type": "string"},
            {"$id": "http://example.org/b", "type": "string"},
        ]
    }
    assert accepts(schema, ["x", "x"], registry=registry) and not accepts(schema, [1, "x"], registry=registry)
    schema["prefixItems"][0]["$schema"] = META
    assert accepts(schema, [1, "x"], registry=registry) and not accepts(schema, [1, 1], registry=registry)
    _, report = compile_schema({"$schema": META, "type": "string"}, registry=registry)
    assert accepts({"$schema": META, "type": "string"}, 1, registry=registry)
    assert [finding.keyword for finding in report] == ["type"]


def test_a_dialect_with_an_unknown_required_vocabulary_is_refused() -> None:
    meta = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$vocabulary": {"http://example.org/own": True}}
    with pytest.raises(errors.SchemaError, match="requires the vocabulary"):
        compile_schema({"$schema": META}, registry={META: meta})


def test_a_dialect_may_have_formats_asserted() -> None:
    core = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    for name, asserted in (("format-assertion", True), ("format-annotation", False)):
        meta = {**core, "$vocabulary": {VOCABULARY.format("2020-12", name): False}}
        schema = {"$schema": META, "format": "ipv4"}
        assert accepts(schema, "x", registry={META: meta}, formats="annotate") is not asserted
        assert not accepts(schema, "x", registry={META: meta})
        assert accepts({"format": "ipv4"}, "x", formats="annotate")


DRAFT_7 = "http://json-schema.org/draft-07/schema#"


def test_only_what_has_an_effect_makes_a_loop() -> None:
    """`then` without `if`, and keywords that a draft does not have, apply nothing."""
    assert accepts({"type": "string", "then": {"$ref": "#"}, "else": {"$ref": "#"}}, "a")
    later: dict[str, Any] = {"$schema": DRAFT_7, "dependentSchemas": ["no schema"], "$dynamicRef": 5}
    assert accepts({**later, "allOf": [{"$ref": "#/definitions/a"}], "definitions": {"a": {"type": "string"}}}, "a")
    with pytest.raises(errors.SchemaError, match="refers to itself"):
        compile_schema({"if": {}, "then": {"$ref": "#"}})


def test_a_dynamic_reference_to_its_own_resource_may_lead_elsewhere() -> None:
    inner = {"$id": "inner", "$dynamicAnchor": "n", "allOf": [{"$dynamicRef": "#n"}, {"minimum": 3}]}
    schema = {
        "$id": "http://x.org/outer",
        "$ref": "inner",
        "$defs": {"other": {"$dynamicAnchor": "n", "type": "integer"}, "inner": inner},
    }
    values = (5, 1, "a", 3.5)
    assert [accepts(schema, value) for value in values] == [is_valid(schema, value) for value in values]
    with pytest.raises(errors.SchemaError, match="refers to itself"):
        compile_schema(inner)


def test_what_was_evaluated_in_a_union_that_holds_itself() -> None:
    union = {"anyOf": [{"$ref": "#/$defs/a"}, {"properties": {"x": {"type": "integer"}}}]}
    schema = {"$ref": "#/$defs/a", "unevaluatedProperties": False, "$defs": {"a": union}}
    assert accepts(schema, {"x": 1}) and accepts(schema, {}) and accepts(schema, 1)
    assert not accepts(schema, {"x": "a"}) and not accepts(schema, {"y": 1})


@pytest.mark.parametrize(
    ("schema", "pointer", "keyword"),
    [
        ({"$ref": "#/allOf/" + "9" * 5000, "allOf": [{}]}, "", "$ref"),
        ({"items": {"$ref": "#/allOf/00"}, "allOf": [{}]}, "/items", "$ref"),
        ({"items": {"$id": "x", "$schema": 5}}, "/items", "$schema"),
        ({"$id": "http://a.org", "items": {"$id": "//["}}, "/items", "$id"),
        ({"$id": "http://a.org", "items": {"$ref": "//["}}, "/items", "$ref"),
        ({"$id": "//[", "items": {"$ref": "x"}}, "/items", "$ref"),
        ('{"const": 1e99999999999999999999}', "", None),
        ('{"minimum": -1e-99999999999999999999}', "", None),
    ],
    ids=lambda value: str(value)[:50],
)
def test_odd_indices_addresses_and_numbers_are_schema_errors(schema: Any, pointer: str, keyword: str | None) -> None:
    with pytest.raises(errors.SchemaError) as caught:
        compile_schema(schema)
    assert (caught.value.pointer, caught.value.keyword) == (pointer, keyword)


def test_zero_is_zero_with_any_exponent() -> None:
    for text in ('{"const": 0e7000}', '{"maximum": 0e-7000, "minimum": -0e7000}'):
        verdict = Oracle(compile_schema(text)[0]).accepts
        assert verdict(b"0") and not verdict(b"1") and not verdict(b"-1")


def test_one_object_in_very_many_places_is_too_long() -> None:
    """Written out, such a schema is long, and a program that did it would not end."""
    schema: Any = {"type": "string"}
    for _ in range(100):
        schema = {"anyOf": [schema, schema]}
    for wrong in (schema, {"enum": ["x" * 100_000] * 100_000}, {"items": [schema]}):
        with pytest.raises(errors.LimitError) as caught:
            compile_schema(wrong)
        assert caught.value.limit == "max_source_bytes"


def test_documents_that_ask_for_ever_more_documents_end_with_the_time() -> None:
    from referencing import Registry, Resource
    from referencing.jsonschema import DRAFT202012

    registry = Registry(retrieve=lambda uri: Resource.from_contents({"items": {"$ref": f"{uri}0"}}, DRAFT202012))
    with pytest.raises(errors.LimitError) as caught:
        compile_schema({"$ref": "http://x.org/"}, registry=registry, limits=_limits.Limits(max_seconds=0.1))
    assert caught.value.limit == "max_seconds"


@pytest.mark.parametrize(
    "registry", [5, "http://x.org", [{}], object(), lambda uri: {}], ids=lambda r: type(r).__name__
)
def test_a_registry_is_a_mapping(registry: Any) -> None:
    with pytest.raises(errors.ArgumentError, match="registry must be"):
        compile_schema({"$ref": "http://x.org/"}, registry=registry)


DRAFT_4, DRAFT_2020 = "http://json-schema.org/draft-04/schema#", "https://json-schema.org/draft/2020-12/schema"


@pytest.mark.parametrize(
    ("outer", "inner", "identifier", "keywords", "good", "bad"),
    [
        (DRAFT_2020, DRAFT_4, "id", {"type": "number", "minimum": 1, "exclusiveMinimum": True}, 2, 1),
        (DRAFT_4, DRAFT_2020, "$id", {"const": 1}, 1, 2),
        (DRAFT_7, DRAFT_4, "id", {"minimum": 1, "exclusiveMinimum": True}, 2, 1),
        (DRAFT_7, DRAFT_2020, "$id", {"prefixItems": [{"type": "null"}]}, [None], [1]),
    ],
)
def test_an_embedded_resource_is_named_as_its_own_draft_says(
    outer: str, inner: str, identifier: str, keywords: dict[str, Any], good: Any, bad: Any
) -> None:
    embedded = {"$schema": inner, identifier: "http://x.org/a", **keywords}
    schema = {"$schema": outer, "allOf": [{"$ref": "http://x.org/a"}], "definitions": {"a": embedded}}
    assert accepts(schema, good) and not accepts(schema, bad)


def test_a_pasted_resource_may_refer_to_the_document_that_it_was_pasted_into() -> None:
    account = {
        "$schema": DRAFT_4,
        "id": "schemata/account",
        "definitions": {"name": {"type": "string"}},
        "properties": {
            "name": {"$ref": "#/definitions/account/definitions/name"},
            "own": {"$ref": "#/definitions/name"},
        },
    }
    schema = {"definitions": {"account": account}, "properties": {"account": {"$ref": "#/definitions/account"}}}
    assert accepts(schema, {"account": {"name": "a", "own": "b"}})
    assert not accepts(schema, {"account": {"name": 1}}) and not accepts(schema, {"account": {"own": 1}})
    _, report = compile_schema(schema)
    assert [note.keyword for note in report.having("note") if "read from the root" in note.reason] == ["$ref"]
    account["properties"]["lost"] = {"$ref": "#/definitions/nowhere"}
    with pytest.raises(errors.SchemaError, match="nothing at 'nowhere'"):
        compile_schema(schema)


def test_addresses_without_a_base_are_normalised() -> None:
    for reference in ("./x/../r", "../r", "r", "./r#", "x/./../r"):
        schema = {"items": {"$ref": reference}, "$defs": {"r": {"$id": "r", "type": "integer"}}}
        assert accepts(schema, [1]) and not accepts(schema, ["a"])
    for named in ("http://x.org/r", "http://x.org/r#"):
        for key in ("http://x.org/r", "http://x.org/r#"):
            registry = {key: {"type": "integer"}}
            assert accepts({"$ref": named}, 1, registry=registry)
            assert not accepts({"$ref": named}, "a", registry=registry)


def test_what_is_no_json_in_another_document_is_found_there() -> None:
    with pytest.raises(errors.SchemaError, match="not JSON") as caught:
        compile_schema({"$ref": "http://x.org/r"}, registry={"http://x.org/r": {"enum": [{1, 2}]}})
    assert caught.value.pointer == "http://x.org/r#"


@pytest.mark.parametrize("pattern", ["(?<!(?!a)b)", "(?<=(?=a)a)b", r"(?<!\b(?:(?:b|-))*)"])
def test_what_only_the_automaton_of_a_pattern_refuses_has_its_pointer(pattern: str) -> None:
    for schema, pointer in (
        ({"properties": {"x": {"pattern": pattern}}}, "/properties/x"),
        ({"items": {"patternProperties": {pattern: {}}}}, "/items"),
    ):
        with pytest.raises(errors.SchemaError, match="lookbehind") as caught:
            compile_schema(schema)
        assert caught.value.pointer.startswith(pointer)
