"""From what a request says to the constraint: compiled once for equal content, whatever field it came in."""

from __future__ import annotations

import copy
import hashlib
import marshal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from .. import _api as api
from .._errors import ConstrainError, RequestError, SchemaError
from .._limits import Limits, timed
from ..automata.compiled import Grammar
from ..vocabulary import Vocabulary
from ..wires.automaton import ToolAutomaton
from .cache import CompileCache
from .constraint import Constraint
from .fields import parsed
from .sources import Spec

__all__ = ["CACHE", "Settings", "compile_spec", "compile_tools", "constraint"]

CACHE = CompileCache()
"""The cache of all requests for which no other is given."""


@dataclass(frozen=True)
class Settings:
    """What the host says of its model and of how it wants requests read. See `constrain.requests.chat`."""

    vocab: Vocabulary | None = None
    wire: str | Sequence[str] | None = None
    reasoning: str | bool | None = None
    markers: tuple[str, str] | None = None
    efforts: Sequence[str] | None = None
    whitespace: str = "flexible"
    leading_whitespace: bool = False
    formats: str = "assert"
    numbers: str = "canonical"
    lenient: bool = False
    regex_dialect: str = "ecma"
    tool_options: Mapping[str, Any] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    cache: CompileCache = CACHE

    def key(self, *content: Any) -> bytes:
        """A name for content and for what all compilations depend on. Raises ValueError for what is no plain value."""
        vocabulary = None if self.vocab is None else self.vocab.fingerprint
        return hashlib.sha256(marshal.dumps((content, vocabulary, repr(self.limits)), 2)).digest()


def compile_spec(spec: Spec, settings: Settings) -> tuple[bytes, Grammar]:
    """The grammar of an answer, and its name. Raises RequestError."""
    content: Any = spec.content
    options: tuple[Any, ...] = ()
    with _as_request_error(spec.field):
        name = content
        if spec.kind in ("json_schema", "json_object"):
            content, name = _schema(spec, settings)
            white = spec.whitespace or settings.whitespace
            options = (white, spec.closed, settings.formats, settings.numbers, settings.lenient)
        elif spec.kind == "structural_tag":
            content, name = _schema(spec, settings)
            options = (spec.whitespace or settings.whitespace,)
        elif spec.kind == "regex":
            options = (settings.regex_dialect,)
        kind = "json_schema" if spec.kind == "json_object" else spec.kind
        key = _key(settings, spec.field, kind, name, options)
        return key, settings.cache.get(key, _maker(kind, content, options, settings))


def compile_tools(tools: Sequence[Any], choice: Any, parallel: bool, settings: Settings) -> tuple[bytes, ToolAutomaton]:
    """The automaton of a request's tools, and its name. Raises RequestError."""
    assert settings.wire is not None
    wire = settings.wire if isinstance(settings.wire, str) else list(settings.wire)
    key = _key(
        settings, "tools", "tools", (tools, choice, parallel), (wire, repr(sorted(settings.tool_options.items())))
    )

    def make() -> ToolAutomaton:
        options = {"limits": settings.limits, **settings.tool_options}
        return ToolAutomaton(tools, settings.vocab, wire, tool_choice=choice, parallel=parallel, **options)

    with _as_request_error("tools"):
        return key, settings.cache.get(key, make)


def constraint(
    answer: tuple[bytes, Grammar] | None,
    tools: tuple[bytes, ToolAutomaton] | None,
    effort: str | None,
    settings: Settings,
    source: str,
    kind: str,
) -> Constraint:
    """The constraint of a reply, from its parts."""
    wire = settings.wire if settings.wire is None or isinstance(settings.wire, str) else list(settings.wire)
    about = (wire, settings.reasoning, settings.markers, effort, settings.leading_whitespace)
    key = settings.key("constraint", answer and answer[0], tools and tools[0], about)

    def make() -> Constraint:
        return Constraint(
            answer and answer[1],
            tools and tools[1],
            settings.vocab,
            wire=wire,
            reasoning=settings.reasoning,
            markers=settings.markers,
            effort=effort,
            leading_whitespace=settings.leading_whitespace,
        )

    with _as_request_error("reasoning_effort" if effort else "tools"):
        found = copy.copy(settings.cache.get(key, make))  # what it builds later it shares with the other copies
    found.source, found.kind = source, kind
    return found


def _schema(spec: Spec, settings: Settings) -> tuple[Any, Any]:
    """A schema or structural tag as a value, and what tells it from others: equal ones are equal as text, too."""
    if not isinstance(spec.content, str):
        return spec.content, spec.content
    value, exact = parsed(spec.content, spec.field, settings.limits)
    return value, value if exact else spec.content


def _key(settings: Settings, where: str, kind: str, content: Any, options: Any) -> bytes:
    try:
        size = len(marshal.dumps(content, 2))
        key = settings.key(kind, content, options)
    except ValueError:
        raise RequestError(where, "is nested too deeply, or holds values that are not JSON") from None
    if size > settings.limits.max_source_bytes:
        raise RequestError(where, f"is larger than {settings.limits.max_source_bytes} bytes")
    return key


def _maker(kind: str, content: Any, options: tuple[Any, ...], settings: Settings) -> Callable[[], Grammar]:
    vocab, limits = settings.vocab, settings.limits

    def make() -> Grammar:
        if kind == "json_schema":
            whitespace, closed, formats, numbers, lenient = options
            return api.compile_json_schema(
                content,
                vocab,
                whitespace=whitespace,
                property_order="schema",
                additional_properties=False if closed else None,
                formats=formats,
                numbers=numbers,
                lenient=lenient,
                limits=limits,
            )
        if kind == "regex":
            return api.compile_regex(content, vocab, dialect=options[0], limits=limits)
        if kind == "choice":
            return api.compile_choice(content, vocab, limits=limits)
        if kind == "lark":
            return api.compile_lark(content, vocab, limits=limits)
        if kind == "gbnf":
            return api.compile_gbnf(content, vocab, limits=limits)
        return api.compile_structural_tag(content, vocab, whitespace=options[0], limits=limits)

    def within_time() -> Grammar:
        with timed(limits):
            return make()

    return within_time


@contextmanager
def _as_request_error(where: str) -> Iterator[None]:
    """What a compilation refuses is wrong with the request."""
    try:
        yield
    except RequestError:
        raise
    except ConstrainError as error:
        place = where
        if where == "tools" and isinstance(error, SchemaError) and error.pointer[1:].partition("/")[0].isdigit():
            place = f"tools[{error.pointer[1:].partition('/')[0]}]"
        raise RequestError(place, str(error)) from error
    except ImportError as error:
        raise RequestError(where, f"is not supported here: {error}", 501) from error
