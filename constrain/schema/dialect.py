"""The drafts of JSON Schema and the vocabulary of each: which keywords mean something, and since when.

Sources: json-schema.org drafts 4, 6, 7, 2019-09 and 2020-12 (core and validation).

Keywords that cannot mean anything in the draft at hand keep the meaning they have elsewhere where that is
unambiguous (array-form `items`, boolean `exclusiveMinimum`, `dependencies`); keywords that came later than an
explicitly named draft are annotations, as the drafts say.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any

from .._arguments import shown
from .._errors import ArgumentError

__all__ = [
    "ANNOTATIONS",
    "ASSERTIONS",
    "FORMAT_ASSERTION",
    "IN_PLACE",
    "TYPES",
    "Draft",
    "draft_named",
    "draft_of_uri",
    "introduced",
    "unspoken",
]


class Draft(IntEnum):
    D4 = 4
    D6 = 6
    D7 = 7
    D2019 = 2019
    D2020 = 2020

    @property
    def id_keyword(self) -> str:
        return "id" if self == Draft.D4 else "$id"

    @property
    def ref_alone(self) -> bool:
        """Whether the siblings of `$ref` are ignored."""
        return self <= Draft.D7


_NAMES = {
    "4": Draft.D4, "draft4": Draft.D4, "draft-04": Draft.D4,
    "6": Draft.D6, "draft6": Draft.D6, "draft-06": Draft.D6,
    "7": Draft.D7, "draft7": Draft.D7, "draft-07": Draft.D7,
    "2019-09": Draft.D2019, "2019": Draft.D2019, "draft2019-09": Draft.D2019,
    "2020-12": Draft.D2020, "2020": Draft.D2020, "draft2020-12": Draft.D2020,
}  # fmt: skip

_URIS = {
    "json-schema.org/draft-04/schema": Draft.D4,
    "json-schema.org/draft-06/schema": Draft.D6,
    "json-schema.org/draft-07/schema": Draft.D7,
    "json-schema.org/draft/2019-09/schema": Draft.D2019,
    "json-schema.org/draft/2020-12/schema": Draft.D2020,
}


def draft_named(name: str | int) -> Draft:
    """The draft that a caller names: "7", "draft7", "2020-12", ... ArgumentError lists the names."""
    text = name if isinstance(name, str) else str(name) if type(name) is int and 0 <= name < 10_000 else ""
    draft = _NAMES.get(text.lower())
    if draft is None:
        raise ArgumentError(f"unknown draft {shown(name)}; use one of 4, 6, 7, 2019-09, 2020-12")
    return draft


def draft_of_uri(uri: str) -> Draft | None:
    """The draft whose meta-schema `uri` is, or None."""
    return _URIS.get(uri.partition("#")[0].partition("://")[2].rstrip("/"))


TYPES = ("null", "boolean", "string", "number", "integer", "array", "object")

ANNOTATIONS = frozenset(
    "title description default examples example deprecated readOnly writeOnly $comment $schema $id id "
    "$anchor $dynamicAnchor $recursiveAnchor $vocabulary definitions $defs contentEncoding "
    "contentMediaType contentSchema".split()
)

IN_PLACE = frozenset("$ref $dynamicRef $recursiveRef allOf anyOf oneOf not if dependencies dependentSchemas".split())
"""Keywords whose subschemas speak about the same value."""

ASSERTIONS = IN_PLACE | frozenset(
    "type enum const minLength maxLength pattern format minimum maximum exclusiveMinimum exclusiveMaximum "
    "multipleOf properties patternProperties additionalProperties propertyNames required minProperties "
    "maxProperties dependentRequired items prefixItems additionalItems minItems maxItems uniqueItems "
    "contains unevaluatedProperties unevaluatedItems".split()
)
"""Keywords that can make a value invalid; a schema without any allows everything."""

introduced: dict[str, Draft] = {
    "const": Draft.D6, "contains": Draft.D6, "propertyNames": Draft.D6,
    "if": Draft.D7, "then": Draft.D7, "else": Draft.D7,
    "dependentRequired": Draft.D2019, "dependentSchemas": Draft.D2019, "unevaluatedProperties": Draft.D2019,
    "unevaluatedItems": Draft.D2019, "minContains": Draft.D2019, "maxContains": Draft.D2019,
    "$recursiveRef": Draft.D2019,
    "prefixItems": Draft.D2020, "$dynamicRef": Draft.D2020,
}  # fmt: skip
"""Keywords that mean nothing before a draft."""

FORMAT_ASSERTION = "https://json-schema.org/draft/2020-12/vocab/format-assertion"
"""The vocabulary under which formats are asserted whatever the caller asks for."""
_UNEVALUATED = frozenset(("unevaluatedProperties", "unevaluatedItems"))
_APPLICATOR = frozenset(
    "properties patternProperties additionalProperties propertyNames dependencies dependentSchemas items prefixItems "
    "additionalItems contains allOf anyOf oneOf not if then else".split()
)
_VALIDATION = frozenset(
    "type enum const minLength maxLength pattern minimum maximum exclusiveMinimum exclusiveMaximum multipleOf required "
    "minProperties maxProperties dependentRequired minItems maxItems uniqueItems minContains maxContains".split()
)
_NOTHING: frozenset[str] = frozenset()
_VOCABULARIES: dict[Draft, dict[str, frozenset[str]]] = {
    Draft.D2019: {
        "core": _NOTHING, "applicator": _APPLICATOR | _UNEVALUATED, "validation": _VALIDATION,
        "format": frozenset(("format",)), "meta-data": _NOTHING, "content": _NOTHING,
    },
    Draft.D2020: {
        "core": _NOTHING, "applicator": _APPLICATOR, "unevaluated": _UNEVALUATED, "validation": _VALIDATION,
        "format-annotation": frozenset(("format",)), "format-assertion": frozenset(("format",)),
        "meta-data": _NOTHING, "content": _NOTHING,
    },
}  # fmt: skip
"""The assertions and applicators of each vocabulary (core specification, section 8.1.2 and the vocabularies' own)."""


def unspoken(draft: Draft, vocabularies: Mapping[str, Any]) -> frozenset[str]:
    """The keywords that are annotations in a dialect of these vocabularies, the value of its `$vocabulary`.

    LookupError names a vocabulary that the dialect requires and that is not known.
    """
    known = _VOCABULARIES.get(draft, {})
    spoken: set[str] = set()
    for uri, required in vocabularies.items():
        prefix, _, name = uri.partition(f"json-schema.org/draft/{draft.value}-{'09' if draft == 2019 else '12'}/vocab/")
        keywords = known.get(name) if prefix in ("http://", "https://") else None
        if keywords is not None:
            spoken |= keywords
        elif required is not False:
            raise LookupError(uri)
    return frozenset().union(*known.values()) - spoken
