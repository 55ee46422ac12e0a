"""The fields of request bodies that say what an answer must be, each read into a `Spec`.

One body has at most one of them. What they mean is in docs/requests.md, with where each comes from.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._errors import RequestError
from .fields import boolean, choices, mapping, one_of, string

__all__ = ["FORMATS", "Spec", "answer_of"]

FORMATS = ("json_schema", "json_object", "structural_tag", "text")
"""What an output format may be."""

_KINDS = ("choice", "regex", "json", "grammar", "structural_tag")
_IN_JSON = ("json_schema", "json_object")
_OPTIONS = ("whitespace_pattern", "disable_any_whitespace", "disable_additional_properties")
_GUIDED_OPTIONS = (
    "guided_whitespace_pattern",
    "guided_decoding_disable_any_whitespace",
    "guided_decoding_disable_additional_properties",
)
_STRUCTURED = (*_KINDS, "json_object", *_OPTIONS)
_IGNORED = ("backend", "_backend", "_backend_was_auto", "disable_fallback")
"""Members of structured_outputs that choose an engine."""

_TYPES = ("regex", "lark", "json_schema", "json")

_GUIDED = {
    "guided_json": "json",
    "guided_json_object": "json_object",
    "guided_regex": "regex",
    "guided_choice": "choice",
    "guided_grammar": "grammar",
    "guided_structural_tag": "structural_tag",
}
_ENGINES = {"json_schema": "json", "grammar": "grammar", "regex": "regex", "ebnf": "grammar"}
"""Fields by which llama.cpp's and SGLang's own interfaces say it."""

ANY_OBJECT: dict[str, Any] = {"type": "object"}


@dataclass(frozen=True)
class Spec:
    """source: the field of the body.   field: where in it the content is.
    kind: json_schema, json_object, regex, choice, lark, gbnf or structural_tag.
    content: a schema as dict, bool or JSON text; a list of choices; a structural tag; of the others, text.
    whitespace, closed: of JSON; None and False where the request does not say.
    """

    source: str
    field: str
    kind: str
    content: Any
    whitespace: str | None = None
    closed: bool = False


@dataclass(frozen=True)
class _Options:
    """How JSON is written. names: the fields that say so."""

    whitespace: str | None = None
    closed: bool = False
    names: tuple[str, ...] = ()


def answer_of(body: Mapping[str, Any], output: Any = None, name: str = "response_format") -> Spec | None:
    """What the answer must be, None for anything. output, name: the field of the interface for it.

    Raises RequestError, also where two fields say what it must be.
    """
    inner, written = _structured_outputs(body)
    guided, also = _guided(body)
    loose = _Options()
    for found, options in ((inner, written), (guided, also)):
        loose = loose if found else _merged(loose, options)
    own = format_of(output, name, loose)
    specs = [*([own] if own else []), *inner, *guided, *_legacy(body), *_engines(body)]
    if len(specs) > 1:
        names = " and ".join(dict.fromkeys(spec.field for spec in specs))
        known = f"{name.partition('.')[0]}, structured_outputs, constraint"
        raise RequestError(specs[0].field, f"{names} are given, but an answer has one constraint, in one of {known}")
    if loose.names and (own is None or own.kind not in _IN_JSON):
        raise RequestError(loose.names[0], "has no effect: there is no schema that the answer must satisfy")
    return specs[0] if specs else None


def format_of(value: Any, name: str, options: _Options) -> Spec | None:
    """An output format: OpenAI's `response_format` or `text.format`, Anthropic's `output_format`. None for text."""
    source = name.partition(".")[0]
    if value is None:
        return None
    found = mapping(value, name)
    kind = one_of(found.get("type"), f"{name}.type", FORMATS)
    if kind == "text":
        return None
    if kind == "structural_tag":
        return Spec(source, name, kind, dict(found))
    schema, where = found.get("schema"), f"{name}.schema"
    if kind == "json_schema" and found.get("json_schema") is not None:
        inner = mapping(found["json_schema"], f"{name}.json_schema")
        if schema is not None and inner.get("schema") is not None:
            raise RequestError(where, f"{name}.json_schema has a schema, too")
        if schema is None:
            schema, where = inner.get("schema"), f"{name}.json_schema.schema"
    elif schema is None:
        where = f"{name}.json_schema" if kind == "json_schema" else name
    return _json(source, where, kind, schema, options)


def _structured_outputs(body: Mapping[str, Any]) -> tuple[list[Spec], _Options]:
    """vLLM's field."""
    name = "structured_outputs"
    if body.get(name) is None:
        return [], _Options()
    found = mapping(body[name], name)
    unknown = [key for key in found if key not in _STRUCTURED and key not in _IGNORED]
    if unknown:
        raise RequestError(f"{name}.{unknown[0]}"[:120], f"is not known; there are {', '.join(_STRUCTURED)}")
    kinds = [kind for kind in _KINDS if found.get(kind) is not None]
    if boolean(found.get("json_object"), f"{name}.json_object"):
        kinds.append("json_object")
    options = _options(found, _OPTIONS, f"{name}.")
    if len(kinds) > 1:
        raise RequestError(name, f"an answer has one constraint, but {' and '.join(kinds)} are given; keep one of them")
    if not kinds and not options.names:
        raise RequestError(name, f"is empty; it needs one of {', '.join(_KINDS)}")
    return [_spec(name, f"{name}.{kind}", kind, found[kind], options) for kind in kinds], options


def _guided(body: Mapping[str, Any]) -> tuple[list[Spec], _Options]:
    """The fields that vLLM had before."""
    options = _options(body, _GUIDED_OPTIONS, "")
    given = [name for name in _GUIDED if body.get(name) is not None]
    if not boolean(body.get("guided_json_object"), "guided_json_object") and "guided_json_object" in given:
        given.remove("guided_json_object")
    return [_spec(name, name, _GUIDED[name], body[name], options) for name in given], options


def _engines(body: Mapping[str, Any]) -> list[Spec]:
    given = [name for name in _ENGINES if body.get(name) not in (None, "")]
    return [_spec(name, name, _ENGINES[name], body[name], _Options()) for name in given]


def _options(found: Mapping[str, Any], names: Sequence[str], prefix: str) -> _Options:
    """names: those of a pattern for whitespace, of having none, of closing objects."""
    pattern, compact, closed = names
    given = tuple(prefix + name for name in names if found.get(name) not in (None, False))
    whitespace = None if found.get(pattern) is None else string(found[pattern], prefix + pattern)
    if boolean(found.get(compact), prefix + compact):
        if whitespace is not None:
            raise RequestError(prefix + compact, f"{prefix}{pattern} says something else; keep one of them")
        whitespace = "compact"
    return _Options(whitespace, boolean(found.get(closed), prefix + closed), given)


def _merged(first: _Options, second: _Options) -> _Options:
    if first.whitespace and second.whitespace:
        raise RequestError(second.names[0], f"{first.names[0]} says something else; keep one of them")
    return _Options(first.whitespace or second.whitespace, first.closed or second.closed, first.names + second.names)


def _legacy(body: Mapping[str, Any]) -> list[Spec]:
    """`constraint` and `constraint_type`."""
    content, kind = body.get("constraint"), body.get("constraint_type")
    if content is None and kind is None:
        return []
    if kind is None:
        raise RequestError("constraint_type", f"is missing; use one of {', '.join(_TYPES)}")
    kind = one_of(kind, "constraint_type", _TYPES)
    if kind == "json" and content in (None, ""):
        return [Spec("constraint", "constraint", "json_object", ANY_OBJECT)]
    if kind in ("json", "json_schema"):
        return [_json("constraint", "constraint", "json_schema", content, _Options())]
    return [Spec("constraint", "constraint", kind, _text(content, "constraint"))]


def _spec(source: str, where: str, kind: str, content: Any, options: _Options) -> Spec:
    """A constraint by vLLM's names of kinds."""
    json, tag = kind in ("json", "json_object"), kind == "structural_tag"
    if options.names and not json and not (tag and not options.closed):
        raise RequestError(options.names[0], f"has no effect on {where}")
    if json:
        schema = content if kind == "json" else None
        return _json(source, where, "json_schema" if kind == "json" else kind, schema, options)
    if kind == "choice":
        return Spec(source, where, kind, choices(content, where))
    if tag:
        if not isinstance(content, (str, Mapping)):
            raise RequestError(where, "must be an object, or its JSON text")
        return Spec(source, where, kind, content, options.whitespace)
    text = _text(content, where)
    return Spec(source, where, kind if kind == "regex" else notation(text), text)


def _text(value: Any, where: str) -> str:
    text = string(value, where)
    if not text:
        raise RequestError(where, "must not be empty")
    return text


def _json(source: str, where: str, kind: str, schema: Any, options: _Options) -> Spec:
    if schema is None:
        if kind == "json_schema":
            raise RequestError(where, "the schema is missing")
        schema = ANY_OBJECT
    elif not isinstance(schema, (str, bool, Mapping)):
        raise RequestError(where, "must be a JSON Schema: an object, or its JSON text")
    if isinstance(schema, str):
        string(schema, where)
    return Spec(source, where, kind, schema, options.whitespace, options.closed)


def notation(grammar: str) -> str:
    """Which notation a grammar is in: GBNF defines rules with `::=`, Lark with a colon."""
    return "gbnf" if re.search(r"^\s*(?:[^\s:#]+)\s*::=", grammar, re.MULTILINE) else "lark"
