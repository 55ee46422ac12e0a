"""Families of constraints and texts by size, for growth.py: what real use makes long, deep, many or wide."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import toolsets

import constrain

__all__ = ["CURVES", "Curve"]

Make = Callable[[], Any]
LONG = (10, 100, 1000, 5000, 20_000)
WIDE = (2, 10, 50, 100, 200)


@dataclass(frozen=True)
class Curve:
    """make(size, vocabulary) gives what compiles the constraint, and a text that it allows. axis: what size counts."""

    name: str
    about: str
    axis: str
    sizes: tuple[int, ...]
    make: Callable[[int, constrain.Vocabulary], tuple[Make, str]]


def _schema(pair: Callable[[int], tuple[Any, Any]]) -> Callable[[int, constrain.Vocabulary], tuple[Make, str]]:
    """From a function that gives schema and value."""

    def make(size: int, vocabulary: constrain.Vocabulary) -> tuple[Make, str]:
        schema, value = pair(size)
        text = value if isinstance(value, Text) else json.dumps(value)
        return lambda: constrain.compile_json_schema(schema, vocabulary), text

    return make


class Text(str):
    """A value that is written already."""


def _closed(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _words(count: int) -> str:
    return " ".join(("the", "loader", "skips", "broken", "rows")[i % 5] for i in range(count))


# Output length --------------------------------------------------------------------------------------------------------


def _integers(n: int) -> tuple[Any, Any]:
    return {"type": "array", "items": {"type": "integer"}}, [7 * i % 1000 for i in range(n // 2)]


def _objects(n: int) -> tuple[Any, Any]:
    item = _closed({"id": {"type": "integer"}, "name": {"type": "string"}, "open": {"type": "boolean"}}, ["id", "name"])
    return {"type": "array", "items": item}, [
        {"id": i, "name": f"row {i}", "open": i % 2 == 0} for i in range(max(1, n // 18))
    ]


def _string(n: int) -> tuple[Any, Any]:
    return {"type": "string"}, _words(n)


def _free_keys(n: int) -> tuple[Any, Any]:
    return {"type": "object", "additionalProperties": {"type": "integer"}}, {f"key {i}": i for i in range(n // 6)}


def _unique(n: int) -> tuple[Any, Any]:
    return {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}, list(range(n // 2))


def _free_json(n: int) -> tuple[Any, Any]:
    return {}, [{"a": i, "b": [None, {"c": "text"}]} for i in range(max(1, n // 20))]


# Depth ----------------------------------------------------------------------------------------------------------------


def _nested_arrays(n: int) -> tuple[Any, Any]:
    schema = {"type": "array", "items": {"$ref": "#"}}
    return schema, Text("[" * n + "]" * n)


def _nested_objects(n: int) -> tuple[Any, Any]:
    schema = _closed({"name": {"type": "string"}, "child": {"$ref": "#"}}, ["name"])
    return schema, Text('{"name": "a", "child": ' * (n - 1) + '{"name": "leaf"}' + "}" * (n - 1))


def _nested_open(n: int) -> tuple[Any, Any]:
    return {"type": "object"}, Text('{"a": [' * (n // 2) + "1" + "]}" * (n // 2))


# Width ----------------------------------------------------------------------------------------------------------------


def _enum(n: int) -> tuple[Any, Any]:
    return {"type": "array", "items": {"enum": [f"value-{i}" for i in range(n)]}}, [
        f"value-{i * (n - 1) // 19}" for i in range(20)
    ]


def _some_properties(n: int) -> tuple[Any, Any]:
    chosen = sorted({i * (n - 1) // 39 for i in range(40)})
    return _closed({f"k{i}": {"type": "integer"} for i in range(n)}, []), {f"k{i}": i for i in chosen}


def _all_properties(n: int) -> tuple[Any, Any]:
    names = [f"k{i}" for i in range(n)]
    return _closed({name: {"type": "integer"} for name in names}, names), {name: 1 for name in names}


def _open_properties(n: int) -> tuple[Any, Any]:
    names = {f"k{i}": {"type": "integer"} for i in range(n)}
    chosen = sorted({i * (n - 1) // 39 for i in range(40)})
    return {"type": "object", "properties": names}, {f"k{i}": i for i in chosen} | {f"other {i}": i for i in range(20)}


def _bounded(n: int) -> tuple[Any, Any]:
    return {"type": "string", "maxLength": n}, _words(200)[:n]


def _bounded_full(n: int) -> tuple[Any, Any]:
    return {"type": "string", "maxLength": n}, _words(n)[:n]


def _tagged(n: int) -> tuple[Any, Any]:
    ways = [
        _closed(
            {"kind": {"const": f"kind-{i}"}, f"field_{i}": {"type": "integer"}, "note": {"type": "string"}}, ["kind"]
        )
        for i in range(n)
    ]
    return {"oneOf": ways}, {"kind": f"kind-{n - 1}", f"field_{n - 1}": 3, "note": "last one"}


def _tagged_late(n: int) -> tuple[Any, Any]:
    schema, value = _tagged(n)
    value = {"note": "before the kind is known", **value}
    del value[f"field_{n - 1}"]
    return schema, value


def _by_key(n: int) -> tuple[Any, Any]:
    ways = [
        {
            "type": "object",
            "properties": {f"way_{i}": {"type": "string"}, "x": {"type": "integer"}},
            "required": [f"way_{i}"],
        }
        for i in range(n)
    ]
    return {"anyOf": ways}, {"x": 1, f"way_{n - 1}": "taken", "more": [1, 2]}


def _alike(n: int) -> tuple[Any, Any]:
    ways = [
        _closed({"a": {"type": "integer", "minimum": i}, "b": {"type": "string", "maxLength": 5 + i}}, ["a", "b"])
        for i in range(n)
    ]
    return {"anyOf": ways}, {"a": n + 1, "b": "abc"}


def _patterns(n: int) -> tuple[Any, Any]:
    return {"anyOf": [{"type": "string", "pattern": f"^way{i}-[a-z0-9]+$"} for i in range(n)]}, f"way{n - 1}-abc123def"


# Tools ----------------------------------------------------------------------------------------------------------------


def _tools(wire: str) -> Callable[[int, constrain.Vocabulary], tuple[Make, str]]:
    def make(size: int, vocabulary: constrain.Vocabulary) -> tuple[Make, str]:
        tools = toolsets.tools(size)

        def compiled() -> Any:
            return toolsets.fresh(tools, vocabulary, wire)

        return compiled, toolsets.call(wire, tools[-1])

    return make


CURVES: tuple[Curve, ...] = (
    Curve("length: integers", "An array of integers.", "tokens", LONG, _schema(_integers)),
    Curve("length: objects", "An array of objects of three properties.", "tokens", LONG, _schema(_objects)),
    Curve("length: string", "One free string.", "tokens", LONG, _schema(_string)),
    Curve("length: free keys", "An object whose keys are all free, and may not repeat.", "tokens", LONG, _schema(_free_keys)),
    Curve("length: unique", "An array of different integers.", "tokens", LONG, _schema(_unique)),
    Curve("length: any JSON", "Any JSON value.", "tokens", LONG, _schema(_free_json)),
    Curve("depth: arrays", "Arrays in arrays.", "levels", (10, 100, 300, 1000), _schema(_nested_arrays)),
    Curve("depth: objects", "A schema that refers to itself.", "levels", (10, 100, 300, 1000), _schema(_nested_objects)),
    Curve("depth: any JSON", "Any JSON object, objects and arrays in turn.", "levels", (10, 100, 300, 1000), _schema(_nested_open)),
    Curve("enum", "Twenty of n strings.", "members", (10, 100, 1000, 10_000, 50_000), _schema(_enum)),
    Curve("properties: some", "Forty of n optional properties.", "properties", (10, 100, 1000, 5000), _schema(_some_properties)),
    Curve("properties: all", "n required properties.", "properties", (10, 100, 1000, 5000), _schema(_all_properties)),
    Curve("properties: open", "Forty of n optional properties and twenty others.", "properties", (10, 100, 1000, 5000), _schema(_open_properties)),
    Curve("maxLength", "A string of some 1,000 characters where n are allowed.", "characters", (100, 1000, 10_000, 100_000), _schema(_bounded)),
    Curve("maxLength: full", "A string of n characters where n are allowed.", "characters", (100, 1000, 10_000, 100_000), _schema(_bounded_full)),
    Curve("union: tagged", "oneOf over n objects with a constant tag, which comes first.", "branches", WIDE, _schema(_tagged)),
    Curve("union: tagged late", "The same, when another property comes before the tag.", "branches", WIDE, _schema(_tagged_late)),
    Curve("union: by key", "anyOf over n open objects with a required key each.", "branches", WIDE, _schema(_by_key)),
    Curve("union: alike", "anyOf over n objects that overlap.", "branches", WIDE, _schema(_alike)),
    Curve("union: patterns", "anyOf over n patterns.", "branches", WIDE, _schema(_patterns)),
    Curve("tools: JSON", "A demanded call of the last of n tools of ten parameters.", "tools", (1, 8, 32, 128, 512), _tools("hermes")),
    Curve("tools: XML", "The same in Qwen3-Coder's format.", "tools", (1, 8, 32, 128, 512), _tools("qwen3_coder")),
)  # fmt: skip
