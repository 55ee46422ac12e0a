"""Each keyword on hand-written values, against jsonschema; the values cover both sides of every bound."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from constrain import SchemaError
from constrain.automata.oracle import Oracle
from constrain.schema import compile_schema

from .support import accepts, is_valid, oracle

VALUES: list[Any] = [
    None,
    True,
    False,
    0,
    1,
    -1,
    2,
    3,
    5,
    7,
    10,
    1.5,
    -0.5,
    100,
    "",
    "a",
    "ab",
    "abc",
    "aé",
    "b1",
    "🐍",
    "2024-02-29",
    "2023-02-29",
    [],
    [1],
    [1, 2],
    [1, 2, 3],
    ["a"],
    ["a", 1],
    [None],
    [[]],
    [1, 1],
    [2, "a", 2],
    {},
    {"a": 1},
    {"a": "x"},
    {"b": 1},
    {"a": 1, "b": 2},
    {"a": 1, "b": "x", "c": None},
    {"ab": 3},
    {"ab": 1},
    {"x1": "y"},
    {"c": True},
    {"a": {"a": 1}},
    {"a": [1]},
    {"a": 2, "d": 1},
]

SCHEMAS: list[Any] = [
    True,
    False,
    {},
    *({"type": name} for name in ("null", "boolean", "string", "number", "integer", "array", "object")),
    {"type": ["string", "null", "integer"]},
    {"const": None},
    {"const": 1},
    {"const": "a"},
    {"const": {"a": [1]}},
    {"const": [1, 2]},
    {"const": False},
    {"enum": ["a", "abc", 1, None, [1], {"b": 1}]},
    {"enum": ["a", "ab", 1, 1.5], "type": "string"},
    {"enum": ["a", "ab", "abc"], "minLength": 2},
    {"enum": [1, 2, 3, 10], "minimum": 2},
    {"minLength": 1},
    {"maxLength": 1},
    {"minLength": 2, "maxLength": 2},
    {"maxLength": 0},
    {"minLength": 1, "maxLength": 1_000_000},
    {"pattern": "^a"},
    {"pattern": "b$", "minLength": 2},
    {"pattern": "^[a-z]{1,2}$"},
    {"pattern": "[0-9]"},
    {"pattern": "^(ab)*$", "maxLength": 3},
    {"minimum": 1},
    {"maximum": 2},
    {"exclusiveMinimum": 1, "exclusiveMaximum": 7},
    {"minimum": 1, "exclusiveMinimum": 1},
    {"multipleOf": 2},
    {"multipleOf": 0.5, "minimum": 0},
    {"type": "integer", "minimum": -1, "maximum": 5, "multipleOf": 5},
    {"properties": {"a": {"type": "integer"}, "b": {"type": "string"}}},
    {"properties": {"a": False}},
    {"required": ["a"]},
    {"required": ["a", "b"], "additionalProperties": {"type": "integer"}},
    {"properties": {"a": {}}, "additionalProperties": False},
    {"properties": {"a": {"type": "integer"}}, "additionalProperties": {"type": ["string", "null"]}},
    {"patternProperties": {"^a": {"type": "integer"}}},
    {"patternProperties": {"^a": {"type": "integer"}, "b$": {"minimum": 3}}},
    {"patternProperties": {"^a": {"type": "integer"}}, "additionalProperties": False},
    {
        "patternProperties": {"[0-9]": {}},
        "additionalProperties": {"type": "integer"},
        "properties": {"b": {"type": "string"}},
    },
    {"propertyNames": {"maxLength": 1}},
    {"propertyNames": {"enum": ["a", "b"]}, "minProperties": 2},
    {"propertyNames": {"pattern": "^[ab]$"}, "properties": {"c": {}}},
    {"propertyNames": False},
    {"minProperties": 1},
    {"maxProperties": 1},
    {"minProperties": 2, "maxProperties": 2, "properties": {"a": {}, "b": {}}, "additionalProperties": False},
    {"dependentRequired": {"a": ["b"]}},
    {"dependentSchemas": {"a": {"properties": {"b": {"type": "integer"}}}}},
    {"items": {"type": "integer"}},
    {"items": False},
    {"prefixItems": [{"type": "integer"}, {"type": "string"}]},
    {"prefixItems": [{"type": "integer"}], "items": False},
    {"prefixItems": [{}, False]},
    {"minItems": 1, "maxItems": 2},
    {"items": {"type": "integer"}, "minItems": 3},
    {"contains": {"const": 1}},
    {"contains": {"type": "string"}, "minContains": 0},
    {"contains": {"type": "integer"}, "minContains": 2},
    {"contains": {"type": "integer"}, "maxContains": 1},
    {"contains": {"const": 2}, "minContains": 2, "maxContains": 2, "maxItems": 3},
    {"contains": True, "maxItems": 2},
    {"contains": {"type": "integer"}, "maxContains": 0},
    {"contains": {"type": "integer"}, "minContains": 0, "maxContains": 0},
    {"uniqueItems": False},
    {"uniqueItems": True},
    {"uniqueItems": True, "items": {"type": "string", "maxLength": 1}, "minItems": 2},
    {"uniqueItems": True, "items": {"type": ["number", "null", "boolean"]}, "minItems": 2},
    {"uniqueItems": True, "items": {"type": "object", "properties": {"a": {"enum": [1, "a"]}}}},
    {"uniqueItems": True, "items": {"properties": {"a": {"type": "boolean"}}, "additionalProperties": False}},
    {"uniqueItems": True, "contains": {"type": "integer"}},
    {"uniqueItems": True, "contains": {"type": "integer"}, "minContains": 2, "maxContains": 2},
    {"uniqueItems": True, "contains": {"enum": [1, "a"]}, "minContains": 2},
    {"uniqueItems": True, "prefixItems": [{"enum": [1, 2, {}]}, {"enum": [1, {}]}, {"const": 1}], "minItems": 2},
    {"not": {"uniqueItems": True}},
    {"type": "array", "not": {"uniqueItems": True}, "items": {"type": ["integer", "string"]}, "maxItems": 3},
    {"type": "array", "not": {"uniqueItems": True}, "items": {"enum": [1, 2, "a"]}},
    {"type": "array", "not": {"uniqueItems": True}, "prefixItems": [{"type": "integer"}, {"minimum": 2}]},
    {"type": "array", "not": {"uniqueItems": True}, "contains": {"type": "integer"}, "maxContains": 1},
    {"type": "array", "oneOf": [{"uniqueItems": True}, {"maxItems": 2}]},
    {"if": {"uniqueItems": True}, "then": {"maxItems": 1}, "else": {"minItems": 3}},
    {"uniqueItems": True, "prefixItems": [{"type": "boolean"}, {"type": "boolean"}]},
    {"not": {"additionalProperties": {"type": "integer"}}},
    {"not": {"patternProperties": {"^a": {"type": "string"}}, "additionalProperties": {"minimum": 2}}},
    {"not": {"propertyNames": {"pattern": "^a"}}, "type": "object"},
    {"oneOf": [{"additionalProperties": {"type": "integer"}}, {"additionalProperties": {"minimum": 2}}]},
    {"not": {"additionalProperties": {"type": "string"}}, "maxProperties": 1, "type": "object"},
    {"allOf": [{"not": {"additionalProperties": {"type": "string"}}}, {"not": {"propertyNames": {"maxLength": 1}}}]},
    {"uniqueItems": True, "maxItems": 1},
    {"uniqueItems": True, "items": {"enum": [1, 2, "a", None]}},
    {"uniqueItems": True, "items": {"enum": [1, 2, "a"]}, "minItems": 2, "maxItems": 2},
    {"uniqueItems": True, "prefixItems": [{"const": 1}], "items": {"enum": [1, 3, 2]}, "type": "array"},
    {"unevaluatedProperties": False, "properties": {"a": {}}},
    {"allOf": [{"properties": {"a": {}}}], "properties": {"b": {}}, "unevaluatedProperties": False},
    {"allOf": [{"prefixItems": [{}]}], "unevaluatedItems": False},
]


@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda schema: str(schema)[:70])
def test_verdicts_agree_with_jsonschema(schema: Any) -> None:
    """One keyword, or a few of one type, on every value."""
    try:
        verdicts = [accepts(schema, value) for value in VALUES]
    except Exception as error:
        assert schema is False, error
        return
    expected = [is_valid(schema, value) for value in VALUES]
    assert [v for v, got, want in zip(VALUES, verdicts, expected, strict=True) if got != want] == []


@pytest.mark.parametrize(
    ("draft", "schema"),
    [
        (4, {"minimum": 1, "exclusiveMinimum": True}),
        (4, {"maximum": 5, "exclusiveMaximum": False}),
        (4, {"items": [{"type": "integer"}], "additionalItems": False}),
        (4, {"const": 1}),
        (4, {"dependencies": {"a": ["b"]}}),
        (6, {"contains": {"const": 1}}),
        (6, {"if": {"required": ["a"]}, "then": False}),
        (6, {"items": [{}], "additionalItems": {"type": "integer"}}),
        (7, {"dependencies": {"a": {"required": ["b"]}}}),
        (7, {"$ref": "#/definitions/i", "type": "string", "definitions": {"i": {"type": "integer"}}}),
        (2019, {"$ref": "#/$defs/i", "minimum": 2, "$defs": {"i": {"type": "integer"}}}),
        (2019, {"items": [{"type": "integer"}], "unevaluatedItems": False}),
        (7, {"dependentRequired": {"a": ["b"]}}),
    ],
    ids=str,
)
def test_each_draft_has_its_own_keywords(draft: int, schema: Any) -> None:
    """Old spellings, and keywords that a draft does not know yet."""
    expected = [is_valid(schema, value, draft) for value in VALUES]
    assert [accepts(schema, value, draft=draft) for value in VALUES] == expected


def test_old_spellings_keep_their_meaning_without_a_declared_draft() -> None:
    """Array-form items, boolean exclusiveMinimum and dependencies mean nothing else in 2020-12."""
    for schema in (
        {"items": [{"type": "integer"}], "additionalItems": False},
        {"minimum": 1, "exclusiveMinimum": True},
        {"dependencies": {"a": ["b"]}},
    ):
        assert [accepts(schema, value) for value in VALUES] == [is_valid(schema, value, 4) for value in VALUES]


def test_formats_are_asserted_or_not() -> None:
    schema = {"type": "string", "format": "date"}
    assert accepts(schema, "2024-02-29") and not accepts(schema, "2023-02-29")
    assert accepts(schema, "2023-02-29", formats="annotate")
    assert accepts({"type": "string", "format": "no-such"}, "x")


def test_numbers_are_equal_by_value() -> None:
    """1 is 1.0, and neither is true."""
    schema = {"enum": [1, 2.50]}
    assert accepts(schema, 1) and accepts(schema, 1.0) and accepts(schema, 2.5)
    assert not accepts(schema, True) and not accepts(schema, 2)
    assert accepts({"type": "integer"}, 1.0, numbers="any") and not accepts({"type": "integer"}, 1.5, numbers="any")


def test_excluded_numbers_are_excluded_in_every_spelling() -> None:
    grammar = {"type": "number", "not": {"enum": [1, 30]}}
    from .support import oracle

    for text in (b"1", b"1.0", b"1e0", b"10e-1", b"3e1", b"0.3E+2"):
        assert not oracle(grammar).accepts(text)
    assert oracle(grammar).accepts(b"2") and oracle(grammar).accepts(b"1.5e0")


NUMBERS = [
    (
        {"multipleOf": 99991, "minimum": 0, "maximum": 300000, "not": {"const": 99991}},
        [0, 199982],
        [99991, 199981, 299974],
    ),
    ({"type": "integer", "multipleOf": 12345, "enum": [12345, 5, 24690]}, [12345, 24690], [5, 37035]),
    ({"multipleOf": 0.01, "not": {"multipleOf": 0.1}}, [0.01, 1.25, -3.07], [0.1, 5, 0.001]),
    ({"type": "integer", "multipleOf": 1000000000, "minimum": -(10**12)}, [0, 10**9, -(10**12)], [10**8, -(10**13)]),
    ({"multipleOf": 1e-8, "exclusiveMaximum": 1}, [0.12345678, 0.99999999], [0.123456789, 1]),
    ({"allOf": [{"multipleOf": 6}, {"multipleOf": 10}], "not": {"multipleOf": 4}}, [30, -90], [60, 15, 0]),
    ({"anyOf": [{"multipleOf": 3}, {"multipleOf": 0.5}]}, [3, 0.5, 9, 2.5], [0.25, 3.1]),
]


@pytest.mark.parametrize("spelling", ["canonical", "any"])
@pytest.mark.parametrize(("schema", "good", "bad"), NUMBERS, ids=range(len(NUMBERS)))
def test_divisors_with_ranges_enum_and_not(schema: Any, good: list[Any], bad: list[Any], spelling: str) -> None:
    oracle_ = oracle(schema, numbers=spelling)
    assert [value for value in good if not oracle_.accepts(format(Decimal(str(value)), "f").encode())] == []
    assert [value for value in bad if oracle_.accepts(format(Decimal(str(value)), "f").encode())] == []


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "integer"}, ["1.0", "1e2", "10e-1", "1E+2", "0.5e1", "-0.0e9"], ["1.5", "15e-1", "1e-1"]),
        ({"type": "integer", "minimum": 5, "maximum": 10}, ["5.0", "1e1", "50e-1", "0.7e1"], ["4e0", "11e0", "0.75e1"]),
        ({"const": 100}, ["100", "1e2", "1000e-1", "0.1e3", "100.00"], ["1e1", "100.01"]),
        ({"enum": [1, 2.5]}, ["10e-1", "25e-1", "0.25e1"], ["2", "1e1"]),
        ({"type": "number", "not": {"type": "integer"}}, ["1.5", "15e-1"], ["1.0", "10e-1", "1"]),
        ({"type": "integer", "not": {"enum": [0, 3]}}, ["1", "30e0"], ["0e5", "30e-1", "3.0", "-0"]),
        ({"type": "number", "minimum": 0.5, "maximum": 2}, ["5e-1", "50e-2", "0.02e2"], ["0.4e0", "21e-1"]),
    ],
    ids=range(7),
)
def test_any_spelling_of_numbers(schema: Any, good: list[str], bad: list[str]) -> None:
    oracle_ = oracle(schema, numbers="any")
    assert [text for text in good if not oracle_.accepts(text.encode())] == []
    assert [text for text in bad if oracle_.accepts(text.encode())] == []


def test_true_is_not_one_as_a_bound() -> None:
    """Whatever was compiled before: as keys of a cache they would be the same."""
    for value in (True, 1, 1.0, True):
        schema = {"type": "integer", "exclusiveMinimum": value}
        assert accepts(schema, 1) is (value is True)
        assert accepts(schema, 2)


@pytest.mark.parametrize("names", [{"type": "array"}, {"const": {}}, {"allOf": [False]}, {"if": True, "then": False}])
def test_names_that_no_string_satisfies(names: Any) -> None:
    schema = {"type": "object", "propertyNames": names}
    assert accepts(schema, {})
    assert not accepts(schema, {"a": 1})


def test_integers_of_draft_4_have_no_fraction() -> None:
    schema = {"type": "integer"}
    assert accepts(schema, 1.0, numbers="any") and not accepts(schema, 1.0, numbers="any", draft=4)
    assert not is_valid(schema, 1.0, 4)


def test_listed_integers_are_written_as_integers_where_a_schema_asks_for_them() -> None:
    listed = {"enum": [0, 12, 1.5]}
    for schema in ({**listed, "type": "integer"}, {"allOf": [{"type": "integer"}, listed], "not": {"enum": [7]}}):
        texts = [text for text in ("12", "0", "-0", "12.0", "1.2e1", "1.5") if oracle(schema).accepts(text.encode())]
        assert texts == ["12", "0", "-0"]
        assert oracle(schema, numbers="any").accepts(b"12.0")
        assert not oracle(schema, numbers="any", draft=4).accepts(b"12.0")
    for schema in (listed, {**listed, "type": "number"}, {"anyOf": [{"type": "integer"}, listed]}):
        assert oracle(schema).accepts(b"12.0")


@pytest.mark.parametrize("numbers", ["canonical", "any"])
def test_numbers_beyond_floats_are_listed_like_others(numbers: str) -> None:
    def verdicts(schema: str, *texts: str) -> list[bool]:
        grammar = Oracle(compile_schema(schema, numbers=numbers)[0])
        return [grammar.accepts(text.encode()) for text in texts]

    long = "1" + "0" * 400
    assert verdicts('{"enum": [1e400, 1e-400]}', "1e400", "1E-400", long, "1e399", "0") == [
        True,
        True,
        True,
        False,
        False,
    ]
    assert verdicts('{"const": 1e400, "type": "integer"}', long, long + "0", "1") == [True, False, False]
    assert verdicts('{"enum": [1e400, 3], "multipleOf": 2}', "1e400", "3", "2") == [True, False, False]
    assert verdicts('{"const": [1e400, {"a": 1e-400}]}', '[1e400,{"a":1e-400}]', '[1e400,{"a":0}]') == [True, False]
    assert verdicts('{"enum": [1e400, 1], "maximum": 1e399}', "1", "1e400") == [True, False]
    for far in ('{"const": 1e999999}', '{"enum": [[1e-999999]]}', '{"maximum": 1e999999}'):
        with pytest.raises(SchemaError, match="out of range"):
            compile_schema(far, numbers=numbers)
