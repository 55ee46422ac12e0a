"""A look at a schema that tells, for most, that some value satisfies it, without any normal form."""

from __future__ import annotations

from typing import Any

from .emptiness import PUZZLING
from .options import Options

__all__ = ["has_object", "has_value"]


def has_object(schema: Any, options: Options) -> bool:
    """Whether it shows that some object satisfies the schema. False says nothing."""
    return isinstance(schema, dict) and schema.get("type") == "object" and has_value(schema, options)


def has_value(schema: Any, options: Options) -> bool:
    """Whether it shows that some value satisfies the schema, which `check.scan` has seen. False says nothing."""
    if isinstance(schema, bool):
        return schema
    named = schema.get("type")
    puzzling = PUZZLING & schema.keys()
    if not puzzling:
        return named != []
    if named == "object":
        if puzzling != {"required"}:
            return False
        properties = schema.get("properties", {})
        for key in schema["required"]:
            if key not in properties or not _is_plain(key) or not has_value(properties[key], options):
                return False
        return True
    if named == "string" and puzzling == {"enum"}:
        return any(isinstance(word, str) and _is_written(word, options) for word in schema["enum"])
    if named == "string" and puzzling == {"maxLength"}:
        return bool(schema.get("minLength", 0) <= schema["maxLength"])
    if named in ("integer", "number") and puzzling == {"maximum"} and schema.keys().isdisjoint(_OTHER_BOUNDS):
        low, high = schema.get("minimum"), schema["maximum"]
        return low is None or (isinstance(low, int) and isinstance(high, int) and low <= high)
    return False


_OTHER_BOUNDS = frozenset(("exclusiveMinimum", "exclusiveMaximum"))


def _is_plain(key: str) -> bool:
    """Whether a key can be written in every notation."""
    return key.isascii() and key.replace("_", "x").replace("-", "x").isalnum()


def _is_written(word: str, options: Options) -> bool:
    return word.isascii() and not any(text in word for text in options.without)
