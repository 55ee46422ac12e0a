"""Sizes of a schema document, so that a reader sees what a provider's limits would see."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

__all__ = ["count"]

_SCHEMA = frozenset(
    "additionalProperties additionalItems items contains propertyNames not if then else unevaluatedProperties "
    "unevaluatedItems contentSchema".split()
)
_LIST = frozenset("allOf anyOf oneOf prefixItems items".split())
_MAP = frozenset("properties patternProperties $defs definitions dependentSchemas dependencies".split())


def count(schema: Any) -> dict[str, int]:
    """properties: declared members of all objects; enum_values, largest_enum: all members of `enum`, and of the longest
    one; branches: of anyOf, oneOf and allOf; depth: nesting of subschemas, 1 for the root alone.
    """
    sizes = dict.fromkeys(("properties", "required", "enum_values", "largest_enum", "branches", "depth"), 0)
    todo = [(schema, 1)]
    while todo:
        here, depth = todo.pop()
        if not isinstance(here, dict):
            continue
        sizes["depth"] = max(sizes["depth"], depth)
        sizes["properties"] += _length(here.get("properties"), dict)
        sizes["required"] += _length(here.get("required"), list)
        sizes["branches"] += sum(_length(here.get(keyword), list) for keyword in ("anyOf", "oneOf", "allOf"))
        values = _length(here.get("enum"), list)
        sizes["enum_values"] += values
        sizes["largest_enum"] = max(sizes["largest_enum"], values)
        todo += [(below, depth + 1) for below in _below(here)]
    return sizes


def _below(schema: dict[str, Any]) -> Iterator[Any]:
    for keyword, value in schema.items():
        if keyword in _MAP and isinstance(value, dict):
            yield from value.values()
        elif keyword in _LIST and isinstance(value, list):
            yield from value
        elif keyword in _SCHEMA:
            yield value


def _length(value: Any, kind: type[dict[Any, Any]] | type[list[Any]]) -> int:
    return len(value) if isinstance(value, kind) else 0
