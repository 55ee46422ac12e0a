"""The linear pass over a document at compile: every keyword well formed, every resource indexed, every reference
found.

`scan` visits each subschema once, without recursion, and calls one checker per keyword. Whatever a keyword means,
its shape is judged here, so that later passes may take it for granted. Subschemas are entered into the document's
index as they are met; targets of references that lie elsewhere (under unknown keywords, in other documents) are
visited as well.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any
from urllib.parse import urldefrag

from .._errors import LimitError
from .._limits import check_time
from . import openapi
from .dialect import ANNOTATIONS, ASSERTIONS, IN_PLACE, TYPES, Draft, draft_of_uri, introduced
from .document import Document, Location, Scope, join, json_type
from .goals import fields
from .strings import check_lookbehinds, is_risky, known_format, parsed

__all__ = ["scan"]

_MAX_EXPONENT = 6000
LATEST = max(introduced.values())


class _Scan:
    """State of one pass: the stack of locations to visit and the references met."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.stack: list[tuple[Location, int]] = []
        self.references: list[tuple[Location, str]] = []
        self.depth = 0

    def drain(self, location: Location) -> None:
        """Visit the location and all below it."""
        self.stack.append((location, 0))
        while self.stack:
            here, self.depth = self.stack.pop()
            below = len(self.stack)
            _visit(self, here)
            if len(self.stack) > below + 1:
                self.stack[below:] = self.stack[below:][::-1]  # in the order of the text

    def push(self, schema: Any, location: Location, token: str | int) -> None:
        self.stack.append((Location(schema, location.scope, location, token), self.depth + 1))


def scan(document: Document) -> None:
    """Check and index the whole document. SchemaError with the pointer of the first fault."""
    state = _Scan(document)
    document.scan = state.drain
    state.drain(document.root)
    for location, keyword in state.references:  # grows while it is read
        check_time()  # and without end where each document asks for another
        target = document.resolve(location, keyword)
        if not isinstance(target.schema, bool) and id(target.schema) not in document.locations:
            state.drain(target)
    names = [name for scope in set(document.scopes.values()) for name in scope.dynamic]
    if len(names) > len(set(names)):
        document.is_dynamic = True
        document.root.dynamic = (document.root.scope,)
    _check_cycles(document)


def _visit(state: _Scan, location: Location) -> None:
    schema = location.schema
    if isinstance(schema, bool):
        return
    if not isinstance(schema, dict):
        raise location.error(None, f"a schema is an object or a boolean, not {json_type(schema)}")
    document = state.document
    if id(schema) in document.locations:
        return
    document.locations[id(schema)] = location
    if state.depth > document.limits.max_depth:
        raise LimitError("max_depth", document.limits.max_depth, f"nesting of the schema at {location.pointer[:80]}")
    draft = location.scope.draft
    if document.openapi:
        openapi.rewrite(location, document.report)
    if draft.ref_alone and "$ref" in schema:
        _reference(state, location, "$ref", schema["$ref"])
        for keyword in ("definitions", "$defs"):
            if isinstance(schema.get(keyword), dict):
                _schema_map(state, location, keyword, schema[keyword])
        return
    if location is not location.scope.root and ("$id" in schema or "id" in schema):
        _enter_resource(document, location)
        draft = location.scope.draft
    early, silent = draft < LATEST, location.scope.silent
    for keyword, value in schema.items():
        checker = _CHECKERS.get(keyword)
        if checker is None:
            if not _is_annotation(keyword, document):
                reason = "a keyword of OpenAPI; it has no effect without openapi=True"
                reason = reason if keyword in openapi.KEYWORDS else "not a keyword; it has no effect"
                document.report.add(location.pointer, keyword, "note", reason)
        elif early and introduced.get(keyword, draft) > draft:
            document.report.add(
                location.pointer, keyword, "note", f"not a keyword of draft {draft.value}; it has no effect"
            )
        elif keyword in silent:
            reason = "of a vocabulary that the dialect leaves out; it has no effect"
            document.report.add(location.pointer, keyword, "note", reason)
        else:
            checker(state, location, keyword, value)


def _is_annotation(keyword: str, document: Document) -> bool:
    if keyword in ANNOTATIONS or keyword.startswith("x-"):
        return True
    return document.openapi and (keyword in openapi.KEYWORDS or keyword in openapi.ANNOTATIONS)


def _enter_resource(document: Document, location: Location) -> None:
    scope, schema = location.scope, location.schema
    named = schema.get("$schema")  # whose draft also says what an identifier is
    draft = (draft_of_uri(named) if isinstance(named, str) else None) or scope.draft
    identifier = schema.get(draft.id_keyword)
    if not isinstance(identifier, str):
        return
    try:
        uri, fragment = urldefrag(join(scope.uri, identifier))
    except ValueError as error:
        raise location.error(draft.id_keyword, str(error)) from None
    if identifier.startswith("#"):
        if draft.ref_alone:
            scope.anchors.setdefault(identifier[1:], location)
        return
    inner = Scope(uri, scope.draft)
    inner.silent, inner.asserts_formats = scope.silent, scope.asserts_formats
    document.declare(inner, schema, location.pointer)
    inner.root = location
    location.scope = inner
    document.scopes.setdefault(uri, inner)
    if fragment:
        inner.anchors[fragment] = location


# one checker per kind of keyword


def _schema(state: _Scan, location: Location, keyword: str, value: Any) -> None:
    state.push(value, location, keyword)


def _schema_list(state: _Scan, location: Location, keyword: str, value: Any) -> None:
    if not isinstance(value, list) or not value:
        raise location.error(keyword, f"must be a non-empty array of schemas, not {_shown(value)}")
    holder = Location(value, location.scope, location, keyword)
    for i in range(len(value)):
        state.push(value[i], holder, i)


def _schema_map(state: _Scan, location: Location, keyword: str, value: Any) -> None:
    if not isinstance(value, dict):
        raise location.error(keyword, f"must be an object of schemas, not {_shown(value)}")
    holder = Location(value, location.scope, location, keyword)
    for name, schema in value.items():
        state.push(schema, holder, name)


def _pattern_map(state: _Scan, location: Location, keyword: str, value: Any) -> None:
    _schema_map(state, location, keyword, value)
    for pattern in value:
        _check_pattern(state.document, location, keyword, pattern)
    if len(value) > 1:
        state.document.hard = True


def _dependencies(state: _Scan, location: Location, keyword: str, value: Any) -> None:
    if not isinstance(value, dict):
        raise location.error(keyword, f"must be an object, not {_shown(value)}")
    holder = Location(value, location.scope, location, keyword)
    for name, dependency in value.items():
        if isinstance(dependency, list):
            _names(state, location, keyword, dependency)
        elif isinstance(dependency, str) and location.scope.draft == Draft.D4:
            raise location.error(keyword, "a dependency is an array of names or a schema")
        else:
            state.push(dependency, holder, name)
    state.document.hard = True


def _dependent_required(state: _Scan, location: Location, keyword: str, value: Any) -> None:
    if not isinstance(value, dict):
        raise location.error(keyword, f"must be an object of arrays of names, not {_shown(value)}")
    for names in value.values():
        _names(state, location, keyword, names)
    state.document.hard = True


def _items(state: _Scan, location: Location, keyword: str, value: Any) -> None:
    if not isinstance(value, list):
        state.push(value, location, keyword)
        return
    if location.scope.draft == Draft.D2020:
        state.document.report.add(
            location.pointer, keyword, "note", "array form, as in earlier drafts: read as prefixItems"
        )
    holder = Location(value, location.scope, location, keyword)
    for i in range(len(value)):
        state.push(value[i], holder, i)


def _type(state: _Scan, location: Location, keyword: str, value: Any) -> None:
    names = value if isinstance(value, list) else [value]
    for name in names:
        if not isinstance(name, str) or name not in TYPES:
            raise location.error(keyword, f"{_shown(name)} is not a type; use one of {', '.join(TYPES)}")


def _enum(state: _Scan, location: Location, keyword: str, value: Any) -> None:
    if not isinstance(value, list):
        raise location.error(keyword, f"must be an array of values, not {_shown(value)}")
    _value(state, location, keyword, value)


def _value(state: _Scan, location: Location, keyword: str, value: Any) -> None:
    """A value to compare with: all its numbers must be finite, and not beyond reach."""
    todo = [value]
    while todo:
        one = todo.pop()
        if isinstance(one, (list, dict)):
            todo.extend(one.values() if isinstance(one, dict) else one)
        elif isinstance(one, (float, Decimal)):
            _check_magnitude(location, keyword, one)


def _count(state: _Scan, location: Location, keyword: str, value: Any) -> None:
    if isinstance(value, (float, Decimal)):
        _check_magnitude(location, keyword, value)
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)) or value < 0 or not _whole(value):
        raise location.error(keyword, f"must be a non-negative integer, not {_shown(value)}")


def _whole(value: int | float | Decimal) -> bool:
    return value == value.to_integral_value() if isinstance(value, Decimal) else value == value // 1


def _number(state: _Scan, location: Location, keyword: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        raise location.error(keyword, f"must be a number, not {_shown(value)}")
    _check_magnitude(location, keyword, value)


def _exclusive(state: _Scan, location: Location, keyword: str, value: Any) -> None:
    if not isinstance(value, bool):
        _number(state, location, keyword, value)
        if location.scope.draft == Draft.D4:
            state.document.report.add(
                location.pointer, keyword, "note", "a number, as in later drafts: read as the bound itself"
            )
    elif location.scope.draft != Draft.D4:
        state.document.report.add(
            location.pointer, keyword, "note", "a boolean, as in draft 4: makes the bound beside it exclusive"
        )


def _multiple(state: _Scan, location: Location, keyword: str, value: Any) -> None:
    _number(state, location, keyword, value)
    if value <= 0:
        raise location.error(keyword, f"must be greater than 0, not {_shown(value)}")


def _boolean(state: _Scan, location: Location, keyword: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise location.error(keyword, f"must be a boolean, not {_shown(value)}")


def _string(state: _Scan, location: Location, keyword: str, value: Any) -> None:
    if not isinstance(value, str):
        raise location.error(keyword, f"must be a string, not {_shown(value)}")


def _names(state: _Scan, location: Location, keyword: str, value: Any) -> None:
    if isinstance(value, bool) and keyword == "required":
        draft = "draft 3 style; list the names in `required` of the object instead"
        raise location.error(keyword, f"must be an array of names, not {_shown(value)} ({draft})")
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise location.error(keyword, f"must be an array of names, not {_shown(value)}")


def _pattern(state: _Scan, location: Location, keyword: str, value: Any) -> None:
    _string(state, location, keyword, value)
    _check_pattern(state.document, location, keyword, value)
    if "format" in location.schema:
        state.document.hard = True


def _format(state: _Scan, location: Location, keyword: str, value: Any) -> None:
    _string(state, location, keyword, value)
    if not known_format(value):
        state.document.report.add(location.pointer, keyword, "note", f"unknown format {_shown(value)}; an annotation")


def _reference(state: _Scan, location: Location, keyword: str, value: Any) -> None:
    _string(state, location, keyword, value)
    if keyword == "$recursiveRef" and location.scope.draft == Draft.D2020:
        state.document.report.add(location.pointer, keyword, "note", "as in draft 2019-09: read as it was there")
    state.references.append((location, keyword))


def _anchor(state: _Scan, location: Location, keyword: str, value: Any) -> None:
    scope = location.scope
    if keyword == "$recursiveAnchor":
        if value is True:
            scope.dynamic.add("")
        return
    _string(state, location, keyword, value)
    scope.anchors.setdefault(value, location)
    if keyword == "$dynamicAnchor":
        scope.dynamic.add(value)


def _marked_hard(checker: Callable[[_Scan, Location, str, Any], None]) -> Callable[[_Scan, Location, str, Any], None]:
    def check(state: _Scan, location: Location, keyword: str, value: Any) -> None:
        checker(state, location, keyword, value)
        state.document.hard = True

    return check


_CHECKERS: dict[str, Callable[[_Scan, Location, str, Any], None]] = {
    **dict.fromkeys(("additionalProperties", "additionalItems", "then", "else"), _schema),
    **dict.fromkeys(("not", "if", "contains", "propertyNames"), _marked_hard(_schema)),
    **dict.fromkeys(("unevaluatedProperties", "unevaluatedItems"), _marked_hard(_schema)),
    **dict.fromkeys(("allOf", "anyOf", "oneOf"), _marked_hard(_schema_list)),
    "prefixItems": _schema_list,
    **dict.fromkeys(("properties", "definitions", "$defs"), _schema_map),
    **dict.fromkeys(
        (
            "minLength",
            "maxLength",
            "minItems",
            "maxItems",
            "minProperties",
            "maxProperties",
            "minContains",
            "maxContains",
        ),
        _count,
    ),
    **dict.fromkeys(("minimum", "maximum"), _number),
    **dict.fromkeys(("exclusiveMinimum", "exclusiveMaximum"), _exclusive),
    **dict.fromkeys(("$ref", "$dynamicRef", "$recursiveRef"), _reference),
    **dict.fromkeys(("$anchor", "$dynamicAnchor", "$recursiveAnchor"), _anchor),
    "dependentSchemas": _marked_hard(_schema_map),
    "dependentRequired": _dependent_required,
    "dependencies": _dependencies,
    "patternProperties": _pattern_map,
    "items": _items,
    "type": _type,
    "enum": _enum,
    "const": _value,
    "multipleOf": _marked_hard(_multiple),
    "uniqueItems": _marked_hard(_boolean),
    "required": _names,
    "pattern": _pattern,
    "format": _format,
}
assert _CHECKERS.keys() >= ASSERTIONS


def _check_pattern(document: Document, location: Location, keyword: str, pattern: str) -> None:
    """The pattern can be read. Its automaton is built when something needs it, unless it may be large or refused."""
    try:
        document.hard = is_risky(parsed(pattern, document.limits)) or document.hard
        check_lookbehinds(pattern, document.limits)
    except ValueError as error:
        raise location.error(keyword, f"{pattern!r} is not a pattern: {error}") from None


def _check_magnitude(location: Location, keyword: str, value: int | float | Decimal) -> None:
    finite = value.is_finite() if isinstance(value, Decimal) else value - value == 0
    if finite and not value:
        return
    if not finite or (isinstance(value, Decimal) and abs(value.adjusted()) > _MAX_EXPONENT):
        raise location.error(keyword, f"{_shown(value)} is out of range")


def _shown(value: Any) -> str:
    try:
        text = str(value) if isinstance(value, Decimal) else repr(value)
    except ValueError:  # Python prints no integer of so many digits
        return f"{type(value).__name__} with a very long integer"
    return text if len(text) <= 60 else text[:57] + "..."


def _check_cycles(document: Document) -> None:
    """No schema may refer to itself about the same value: such a loop has no meaning."""
    if not document.targets:
        return
    state: dict[int, int] = {}
    for start in document.locations.values():
        if id(start.schema) in state or IN_PLACE.isdisjoint(start.schema):
            continue
        path = [(start, iter(_same_value(document, start)))]
        state[id(start.schema)] = 1
        while path:
            location, successors = path[-1]
            following = next(successors, None)
            if following is None:
                state[id(location.schema)] = 2
                path.pop()
            elif not isinstance(following.schema, dict):
                continue
            elif state.get(id(following.schema)) == 1:
                raise following.error("$ref", "refers to itself without any structure in between")
            elif id(following.schema) not in state:
                state[id(following.schema)] = 1
                path.append((following, iter(_same_value(document, following))))


def _same_value(document: Document, location: Location) -> list[Location]:
    schema, found = fields(location), list[Location]()
    for keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
        target = document.targets.get((id(location.schema), keyword)) if keyword in schema else None
        # where a dynamic reference leads to depends on the way there: the normal form finds such a loop
        if target is not None and not (document.is_dynamic and document.is_anchored(location, keyword, target)):
            found.append(target)
    if ASSERTIONS & schema.keys() == {"anyOf"}:
        return found  # a union that holds itself is the union of its other branches
    below: list[Any] = []
    for keyword in ("allOf", "anyOf", "oneOf"):
        below.extend(schema.get(keyword, ()))
    for keyword in ("not", "if", "then", "else"):
        if keyword in schema and (keyword in ("not", "if") or "if" in schema):
            below.append(schema[keyword])
    for keyword in ("dependencies", "dependentSchemas"):
        below.extend(schema.get(keyword, {}).values())
    found.extend(
        document.locations[id(value)] for value in below if isinstance(value, dict) and id(value) in document.locations
    )
    return found
