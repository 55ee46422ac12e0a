"""Schema documents: where a subschema lies, which resource it belongs to, and what a reference means there.

A `Location` is one subschema in place: the JSON value, the resource (`Scope`) whose base URI and draft apply to it,
and the way to it, as a linked list from which its JSON pointer is written only when somebody asks. A `Document`
indexes the locations that `check.scan` visits and resolves references against them (RFC 3986, RFC 6901; core
specification sections 8 and 9 of 2020-12).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from types import NoneType
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin

from .._digits import integer_of
from .._errors import ArgumentError, LimitError, SchemaError
from .._limits import Limits
from .dialect import FORMAT_ASSERTION, Draft, draft_named, draft_of_uri, unspoken
from .report import Report

__all__ = ["Document", "Location", "Scope", "load"]

_SCALARS = frozenset((str, int, float, bool, Decimal, NoneType))
_INDEX = re.compile("0|[1-9][0-9]{0,8}")
"""An array index of a JSON pointer (RFC 6901, section 4), not too long to be one."""
_ABSOLUTE = re.compile("[A-Za-z][A-Za-z0-9+.-]*://")
_DOTS = re.compile(r"^[^?#]*(?<![^/])\.\.?(?![^/?#])")


class Scope:
    """A schema resource: a base URI, its draft, its root and its anchors."""

    __slots__ = ("anchors", "asserts_formats", "draft", "dynamic", "root", "silent", "uri")

    def __init__(self, uri: str, draft: Draft) -> None:
        self.uri, self.draft = uri, draft
        self.silent: frozenset[str] = frozenset()
        """Keywords of vocabularies that the dialect leaves out."""
        self.asserts_formats = False
        """Whether the dialect itself has formats asserted."""
        self.root: Location
        self.anchors: dict[str, Location] = {}
        self.dynamic: set[str] = set()
        """Names that are dynamic anchors; "" stands for $recursiveAnchor."""


class Location:
    """A subschema in place. `schema` is the JSON value, never copied; two locations with the same value and scope
    are one goal.
    """

    __slots__ = ("dynamic", "parent", "schema", "scope", "token")

    def __init__(self, schema: Any, scope: Scope, parent: Location | None, token: str | int) -> None:
        self.schema, self.scope, self.parent, self.token = schema, scope, parent, token
        self.dynamic: tuple[Scope, ...] = ()
        """The resources entered on the way here that dynamic references can lead to, outermost first: the root's, and
        those with a dynamic anchor that none before has. Kept only where dynamic references need them.
        """

    def within(self, outer: Location) -> Location:
        """The same place, reached from `outer`."""
        here = Location(self.schema, self.scope, self.parent, self.token)
        known = outer.dynamic
        fresh = any(all(name not in scope.dynamic for scope in known) for name in self.scope.dynamic)
        here.dynamic = (*known, self.scope) if fresh else known
        return here

    @property
    def pointer(self) -> str:
        """JSON pointer from the document's root."""
        tokens: list[str] = []
        here: Location | None = self
        while here is not None and here.parent is not None:
            tokens.append(str(here.token).replace("~", "~0").replace("/", "~1"))
            here = here.parent
        base = "" if here is None or isinstance(here.token, int) else here.token
        return base + "".join(f"/{token}" for token in reversed(tokens))

    def error(self, keyword: str | None, reason: str) -> SchemaError:
        return SchemaError(self.pointer, keyword, reason)


class Document:
    """The locations of one schema and of what it refers to.

    locations: by identity of the JSON value.     targets: resolved references by (identity of the value, keyword).
    retrieved: the documents that the registry was asked for and had, by URI.
    openapi:   whether OpenAPI's keywords are read.
    hard:      whether something was seen whose refusal or cost only the normal form can tell; it is then computed for
               all that can be reached.
    """

    def __init__(
        self,
        schema: Any,
        draft: Draft | None,
        registry: Any,
        limits: Limits,
        report: Report,
        openapi: bool = False,
    ) -> None:
        if registry is not None and not isinstance(registry, Mapping):
            kind = type(registry).__name__
            raise ArgumentError(
                f"registry must be a referencing.Registry or a mapping of URIs to documents, not {kind}"
            )
        self.registry, self.limits, self.report, self.openapi = registry, limits, report, openapi
        self.explicit_draft = draft is not None
        self.locations: dict[int, Location] = {}
        self.targets: dict[tuple[int, str], Location] = {}
        self.scopes: dict[str, Scope] = {}
        self.hard = False
        self.is_dynamic = False
        """Whether a dynamic reference may mean different places: several resources define one dynamic anchor."""
        self.keepalive: list[Any] = []
        self.retrieved: dict[str, Any] = {}
        self.scan: Callable[[Location], None] = lambda location: None
        """Visits a document that was retrieved, before anything in it is looked up."""
        self.root = self.add_resource(schema, "", draft or Draft.D2020, "")
        if draft is None:
            self.explicit_draft = isinstance(schema, dict) and isinstance(schema.get("$schema"), str)

    def add_resource(self, schema: Any, uri: str, draft: Draft, token: str) -> Location:
        """Enter a whole document under `uri`; its own `$schema` and `$id` come first. token: prefix of its pointers."""
        self.keepalive.append(schema)
        scope = Scope(uri, draft)
        if isinstance(schema, dict):
            self.declare(scope, schema, token)
        location = scope.root = Location(schema, scope, None, token)
        self.scopes[uri] = scope
        if isinstance(schema, dict):
            identifier = schema.get(scope.draft.id_keyword)
            if isinstance(identifier, str) and not (scope.draft.ref_alone and "$ref" in schema):
                try:
                    scope.uri = urldefrag(join(uri, identifier))[0]
                except ValueError as error:
                    raise SchemaError(token, scope.draft.id_keyword, str(error)) from None
                self.scopes.setdefault(scope.uri, scope)
        return location

    def declare(self, scope: Scope, schema: Mapping[str, Any], pointer: str) -> None:
        """Set the draft and the vocabularies of a resource to what its `$schema` says, if it has one.

        pointer: where the resource lies.
        """
        named = schema.get("$schema")
        if named is None:
            return
        if not isinstance(named, str):
            raise SchemaError(pointer, "$schema", "must be a string")
        dialect, vocabularies = self._dialect(named)
        if dialect is None:
            if "draft-03" in named:
                raise SchemaError(pointer, "$schema", "draft 3 is not supported; use draft 4 or later")
            self.report.add(pointer, "$schema", "note", f"{named!r} is not a known dialect; read as {scope.draft.name}")
            return
        scope.draft, scope.silent, scope.asserts_formats = dialect, frozenset(), False
        if vocabularies is not None:
            scope.asserts_formats = FORMAT_ASSERTION in vocabularies
            try:
                scope.silent = unspoken(dialect, vocabularies)
            except LookupError as unknown:
                reason = f"the dialect {named!r} requires the vocabulary {unknown.args[0]!r}, which is not known"
                raise SchemaError(pointer, "$schema", reason) from None

    def _dialect(self, uri: str) -> tuple[Draft | None, Mapping[str, Any] | None]:
        """(draft, `$vocabulary`) of a dialect: a draft's, or that of a meta-schema in the registry."""
        vocabularies: Mapping[str, Any] | None = None
        for step in range(8):  # a meta-schema may be written in a dialect of its own
            draft = draft_of_uri(uri)
            if draft is not None or self.registry is None:
                return draft, vocabularies
            found = _fetch(self.registry, uri) or _fetch(self.registry, urldefrag(uri)[0])
            if not isinstance(found, dict) or not isinstance(found.get("$schema"), str):
                break
            self.retrieved[uri] = _own(found, self.limits)
            if not step and isinstance(found.get("$vocabulary"), dict):
                vocabularies = found["$vocabulary"]
            uri = found["$schema"]
        return None, None

    def resolve(self, location: Location, keyword: str) -> Location:
        """What the reference under `keyword` of `location` points to. SchemaError when it cannot be found."""
        key = (id(location.schema), keyword)
        target = self.targets.get(key)
        if target is None:
            target = self.targets[key] = self._find(location, keyword, location.schema[keyword])
        if not self.is_dynamic:
            return target
        if self.is_anchored(location, keyword, target):
            name = _dynamic_name(location, keyword)
            outermost = next(scope for scope in (*location.dynamic, target.scope) if name in scope.dynamic)
            target = outermost.anchors[name] if name else outermost.root
        return target.within(location)

    def is_anchored(self, location: Location, keyword: str, target: Location) -> bool:
        """Whether a reference with that target is to a dynamic anchor, and so means what the way there says."""
        return keyword != "$ref" and _dynamic_name(location, keyword) in target.scope.dynamic

    def _find(self, location: Location, keyword: str, reference: str) -> Location:
        scope: Scope | None = location.scope
        assert scope is not None
        if reference.startswith("#"):
            fragment = reference[1:]
        else:
            try:
                uri, fragment = urldefrag(join(scope.uri, reference))
            except ValueError as error:
                raise location.error(keyword, str(error)) from None
            scope = self.scopes.get(uri) or self._retrieve(uri, scope.draft)
            if scope is None:
                raise location.error(
                    keyword, f"cannot find {reference!r}: no resource {uri!r} in the schema or the registry"
                )
        fragment = unquote(fragment)
        if not fragment:
            target = scope.root
        elif fragment.startswith("/"):
            try:
                target = self._walk(scope, fragment, location, keyword, reference)
            except SchemaError:
                if not reference.startswith("#") or scope is self.root.scope:
                    raise
                # schemas are pasted into others with their `$schema` and `id`, and what they refer to is the whole
                target = self._walk(self.root.scope, fragment, location, keyword, reference)
                reason = f"{reference!r} is not in the resource {scope.uri!r}: read from the root of the document"
                self.report.add(location.pointer, keyword, "note", reason)
        else:
            found = scope.anchors.get(fragment)
            if found is None:
                raise location.error(keyword, f"cannot find {reference!r}: no such anchor")
            target = found
        return target

    def _walk(self, scope: Scope, pointer: str, location: Location, keyword: str, reference: str) -> Location:
        here = scope.root
        for raw in pointer.split("/")[1:]:
            token = raw.replace("~1", "/").replace("~0", "~")
            value, step = here.schema, None
            if isinstance(value, dict):
                step = value.get(token, self)
            elif isinstance(value, list) and _INDEX.fullmatch(token) and int(token) < len(value):
                step = value[int(token)]
            else:
                step = self
            if step is self:
                raise location.error(keyword, f"cannot find {reference!r}: nothing at {token!r}")
            here = self.locations.get(id(step)) or Location(step, here.scope, here, token)
        return here

    def _retrieve(self, uri: str, draft: Draft) -> Scope | None:
        for registry in (self.registry, _known_registry(uri)):
            if registry is None:
                continue
            contents = _fetch(registry, uri)
            if contents is None:
                contents = _fetch(registry, uri + "#")
            if contents is None:
                continue
            try:
                contents = self.retrieved[uri] = _own(contents, self.limits)
            except SchemaError as error:
                raise SchemaError(f"{uri}#", error.keyword, error.reason) from None
            root = self.add_resource(contents, uri, draft, f"{uri}#")
            self.scan(root)
            return root.scope
        return None


def join(base: str, reference: str) -> str:
    """RFC 3986 resolution; bases that are not hierarchical (urn:) keep only their fragments. ValueError says what is
    no URI.
    """
    if _ABSOLUTE.match(reference):
        return reference
    if not base:  # as from the root of anything, so that "./a/../b" is "b"
        return urljoin("http://_/", reference).removeprefix("http://_/") if _DOTS.search(reference) else reference
    if reference.startswith("#"):
        return urldefrag(base)[0] + reference
    try:
        return urljoin(base, reference)
    except ValueError as error:  # "http://["
        raise ValueError(f"{reference[:200]!r} and {base[:200]!r} do not make a URI: {error}") from None


def _dynamic_name(location: Location, keyword: str) -> str:
    """The dynamic anchor that a reference names; "" for $recursiveRef."""
    return unquote(location.schema[keyword].partition("#")[2]) if keyword == "$dynamicRef" else ""


def _fetch(registry: Any, uri: str) -> Any:
    """What a registry (or a plain mapping of URIs to documents) holds under `uri`, or None."""
    try:
        held = registry[uri]
    except LookupError:
        try:
            held = registry.get_or_retrieve(uri).value
        except Exception:  # whatever a retrieval function of the caller's raises, the document is not to be had
            return None
    return getattr(held, "contents", held)


def _known_registry(uri: str) -> Any:
    """The published meta-schemas, where the `jsonschema_specifications` package is installed."""
    if "json-schema.org" not in uri:
        return None
    try:
        from jsonschema_specifications import REGISTRY
    except ImportError:
        return None
    return REGISTRY


def load(schema: Any, limits: Limits) -> Any:
    """The JSON value of a schema given as a value, as JSON text (str or bytes), or as a type that pydantic can
    describe.
    """
    if isinstance(schema, (dict, bool)):
        return _own(schema, limits)
    if isinstance(schema, (str, bytes, bytearray)):
        if len(schema) > limits.max_source_bytes:
            raise LimitError("max_source_bytes", limits.max_source_bytes, "the schema text")
        try:
            return _loaded(schema)
        except RecursionError:
            raise LimitError("max_depth", limits.max_depth, "nesting of the schema text") from None
        except ValueError as error:
            raise SchemaError("", None, f"not JSON: {error}") from None
        except InvalidOperation:
            raise SchemaError("", None, "a number has an exponent that is out of range") from None
    if schema is None or isinstance(schema, (list, int, float)):
        raise SchemaError("", None, f"a schema is an object or a boolean, not {json_type(schema)}")
    return _described(schema, limits)


def _loaded(text: str | bytes | bytearray) -> Any:
    try:
        return json.loads(text, parse_float=Decimal, parse_constant=_refuse_constant)
    except ValueError as error:
        if isinstance(error, (json.JSONDecodeError, UnicodeDecodeError)) or "digits" not in str(error):
            raise
        # integers longer than Python converts by itself
        return json.loads(text, parse_float=Decimal, parse_constant=_refuse_constant, parse_int=integer_of)


def _own(schema: Any, limits: Limits) -> Any:
    """A copy that the caller cannot change later; only JSON values may occur in it."""
    if isinstance(schema, dict):
        _check_size(schema, limits)
    try:
        text = json.dumps(schema)
        copy = json.loads(text) if len(text) <= limits.max_source_bytes else None
        if copy is not None and copy == schema:
            return copy
    except (TypeError, ValueError, RecursionError):
        pass
    return _own_by_steps(schema, limits)


def _check_size(schema: Any, limits: Limits) -> None:
    """LimitError where a schema written out is too long: in Python few objects can be in many places."""
    size, todo = 1, [schema]
    for here in todo:  # grows while it is read
        size += len(here)
        for value in here.values() if isinstance(here, dict) else here:
            kind = type(value)
            if kind is str:
                size += len(value)
            elif kind is dict or kind is list or (kind not in _SCALARS and isinstance(value, (dict, list, tuple))):
                todo.append(value)
        if size > limits.max_source_bytes:
            raise LimitError("max_source_bytes", limits.max_source_bytes, "values in the schema")


def _own_by_steps(schema: Any, limits: Limits) -> Any:
    """The same without recursion, for what is not plain, or not JSON."""
    holder: list[Any] = [schema]
    stack: list[tuple[Any, Any]] = [(holder, 0)]
    count = 0
    while stack:
        parent, key = stack.pop()
        value = parent[key]
        count += len(value) + 1 if isinstance(value, (dict, list, tuple)) else 1
        if count > limits.max_source_bytes:
            raise LimitError("max_source_bytes", limits.max_source_bytes, "values in the schema")
        if isinstance(value, dict):
            value = parent[key] = dict(value)
            for name, item in value.items():
                if not isinstance(name, str):
                    raise SchemaError("", None, f"not JSON: a key is {type(name).__name__}, not a string")
                if item is not None and type(item) not in _SCALARS:
                    stack.append((value, name))
        elif isinstance(value, (list, tuple)):
            value = parent[key] = list(value)
            stack += [(value, i) for i, item in enumerate(value) if type(item) not in _SCALARS]
        elif isinstance(value, (str, int, float)):  # of a class of its own: an enum's member, numpy's float
            parent[key] = str.__str__(value) if isinstance(value, str) else _plain(value)
        elif not isinstance(value, (Decimal, NoneType)):
            raise SchemaError("", None, f"not JSON: {type(value).__name__} is not a JSON value")
    return holder[0]


def _plain(value: int | float) -> int | float:
    if isinstance(value, bool):
        return bool(value)
    return int(value) if isinstance(value, int) else float(value)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _described(schema: Any, limits: Limits) -> Any:
    describe = getattr(schema, "model_json_schema", None)
    if describe is not None:
        return _own(describe(), limits)
    try:
        from pydantic import TypeAdapter
    except ImportError:
        raise SchemaError(
            "", None, f"cannot read a schema from {type(schema).__name__}; pydantic is not installed"
        ) from None
    try:
        return _own(TypeAdapter(schema).json_schema(), limits)
    except Exception as error:
        reason = str(error).partition("\n")[0]
        raise SchemaError("", None, f"pydantic cannot describe {schema!r}: {reason}") from None


def json_type(value: Any) -> str:
    """Name of the JSON type of a Python value."""
    if value is None:
        return "null"
    for python, name in (
        (bool, "boolean"),
        (str, "string"),
        (list, "array"),
        (dict, "object"),
        ((int, float, Decimal), "number"),
    ):
        if isinstance(value, python):  # type: ignore[arg-type]
            return name
    return type(value).__name__


def chosen_draft(draft: str | int | Draft | None) -> Draft | None:
    return draft if draft is None or isinstance(draft, Draft) else draft_named(draft)
