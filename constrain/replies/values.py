"""Which JSON value a raw text is: formats that write strings without quotes leave that to the tool's schema."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import regex

from .._errors import ConstrainError
from .cursor import BLANKS, Malformed
from .json_text import as_value, quoted

__all__ = ["KINDS", "ArgumentTypes"]

KINDS = frozenset(("string", "number", "boolean", "null", "object", "array"))
"""The JSON types; JSON Schema's "integer" is a number here."""

_ONLY_TYPE = frozenset(("type", "title", "description", "default", "examples"))
"""Keywords that say no more of a value than its type."""

_CAPITALS = {"True": "true", "False": "false", "None": "null"}


class ArgumentTypes:
    """The types of a tool's arguments. schema: of the whole arguments object; None or True: anything goes."""

    def __init__(self, schema: Any = None) -> None:
        self._schema = schema if isinstance(schema, Mapping) else {}

    def kinds(self, key: str) -> frozenset[str]:
        """The JSON types that the schema of an argument leaves open, by its structure."""
        return self._kinds(self._subschema(key), frozenset())

    def json_text(self, key: str, raw: str, kinds: frozenset[str], capitals: bool) -> str:
        """The JSON text of the value that `raw` stands for.

        kinds:    types that it can be. Where these are strings and others, a text that is JSON of one of the others is
                  that, unless only the string is valid under the schema. What is JSON of none of them is a string.
        capitals: True, False and None are spellings of true, false and null.
        """
        if kinds == {"string"}:
            return quoted(raw)
        text = raw.strip(BLANKS)
        text = _CAPITALS.get(text, text) if capitals else text
        try:
            kind = _kind(as_value(text))
        except Malformed:
            return quoted(raw)
        if kind not in kinds or kind == "string":
            return quoted(raw)
        if "string" in kinds and not self._accepts(key, text) and self._accepts(key, quoted(raw)):
            return quoted(raw)
        return text

    def _subschema(self, key: str) -> Any:
        properties = self._schema.get("properties")
        if isinstance(properties, Mapping) and key in properties:
            return properties[key]
        patterns = self._schema.get("patternProperties")
        if isinstance(patterns, Mapping):
            for pattern, subschema in patterns.items():
                try:
                    if regex.search(pattern, key):
                        return subschema
                except regex.error:
                    continue
        return self._schema.get("additionalProperties", True)

    def _kinds(self, schema: Any, seen: frozenset[str]) -> frozenset[str]:
        if not isinstance(schema, Mapping):
            return KINDS
        found = KINDS
        if "type" in schema:
            types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
            found = frozenset("number" if one == "integer" else one for one in types if isinstance(one, str)) & KINDS
        if "const" in schema:
            found &= {_kind(schema["const"])}
        if isinstance(schema.get("enum"), list):
            found &= frozenset(map(_kind, schema["enum"]))
        reference = schema.get("$ref")
        if isinstance(reference, str) and reference not in seen:
            found &= self._kinds(self._resolve(reference), seen | {reference})
        for keyword in ("anyOf", "oneOf"):
            if isinstance(schema.get(keyword), list):
                found &= frozenset().union(*(self._kinds(one, seen) for one in schema[keyword]))
        if isinstance(schema.get("allOf"), list):
            for one in schema["allOf"]:
                found &= self._kinds(one, seen)
        return found

    def _resolve(self, reference: str) -> Any:
        """The subschema behind a JSON pointer (RFC 6901); True for any other reference."""
        if not reference.startswith("#"):
            return True
        found: Any = self._schema
        for part in reference[1:].split("/")[1:]:
            part = part.replace("~1", "/").replace("~0", "~")
            if isinstance(found, list) and part.isdigit() and int(part) < len(found):
                found = found[int(part)]
            elif isinstance(found, Mapping) and part in found:
                found = found[part]
            else:
                return True
        return found

    def _accepts(self, key: str, text: str) -> bool:
        """Whether an argument's value, of a type that its schema names, is valid. True where the schema cannot say."""
        subschema = self._subschema(key)
        if not isinstance(subschema, Mapping) or _ONLY_TYPE.issuperset(subschema):
            return True
        return self._grammar is None or self._grammar.accepts(f"{{{quoted(key)}: {text}}}".encode("utf-8", "replace"))

    @cached_property
    def _grammar(self) -> Any:
        """Objects whose members are valid, whatever else the schema asks of the object as a whole."""
        from .._api import compile_json_schema

        whole = ("required", "minProperties", "maxProperties", "dependentRequired", "dependentSchemas", "dependencies")
        dropped = {*whole, "allOf", "anyOf", "oneOf", "not", "if", "then", "else"}
        schema = {keyword: value for keyword, value in self._schema.items() if keyword not in dropped}
        try:
            return compile_json_schema(schema, lenient=True, numbers="any")
        except ConstrainError:
            return None


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "string"
    if isinstance(value, list):
        return "array"
    return "object" if isinstance(value, Mapping) else "number"
