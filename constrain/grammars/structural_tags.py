"""Structural tags: formats of output as JSON, in the published format of XGrammar and vLLM.

    {"type": "structural_tag", "format": {"type": "triggered_tags", "triggers": ["<function="], "tags": [...]}}

The older form with `structures` and `triggers` is read too, and so is one tag by itself: {"tag": "search", "schema": {...}}
or {"start_tag": ..., "end_tag": ..., "schema": ...}. What free text must not contain, ends of the tag around it among
it, it does not contain; an end or a trigger counts at its first occurrence, as a parser would see it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

from .._errors import GrammarError, LimitError, SchemaError, UnsatisfiableError
from .._limits import Limits
from ..languages.parser import parse
from ..languages.pattern import compile_node
from ..schema.report import Report
from ..vocabulary import Vocabulary
from . import gbnf, lark_reader
from .cfg import Built, Rule, compile_rules
from .expressions import EMPTY, Embed, Expr, Language, choice, regular, repetition, sequence
from .free_text import FreeText
from .tokens import Tokens
from .values import json_values

__all__ = ["compile_spec"]

_REQUIRED = object()
_Close = tuple[str, ...]
"""Ends that the content is followed by; () for none."""


def compile_spec(
    spec: Any, vocab: Vocabulary | None, whitespace: str, limits: Limits, report: Report
) -> tuple[Built, frozenset[int]]:
    """The grammar of a structural tag (JSON text or what it says), and the control tokens that it names.

    Raises SchemaError with the pointer into the specification, UnsatisfiableError, LimitError.
    """
    tokens = Tokens(vocab)
    reader = _Reader(tokens, whitespace, limits, report)
    try:
        expr = reader.whole(_loaded(spec, limits))
        built = compile_rules({"format": Rule("format", expr)}, "format", limits=limits, report=report)
    except RecursionError:
        raise LimitError("max_depth", limits.max_depth, "nesting of formats") from None
    except GrammarError:
        raise UnsatisfiableError("", "no text has this format") from None
    return built, frozenset(tokens.used)


def _loaded(spec: Any, limits: Limits) -> Mapping[str, Any]:
    if isinstance(spec, (str, bytes)):
        if len(spec) > limits.max_source_bytes:
            raise LimitError("max_source_bytes", limits.max_source_bytes, "length of a structural tag")
        try:
            spec = json.loads(spec)
        except ValueError as error:
            raise SchemaError("", None, f"is not JSON: {error}") from None
    if not isinstance(spec, Mapping):
        raise SchemaError("", None, f"a structural tag is an object, not {type(spec).__name__}")
    return spec


class _Scope(NamedTuple):
    """What the nearest tag around ends with: unlimited content avoids it wherever it stands."""

    strings: tuple[str, ...] = ()
    tokens: tuple[str | int, ...] = ()
    depth: int = 0


@dataclass(frozen=True)
class _Tag:
    """begin: a string, or the token `token`. rest: content and end."""

    begin: str | Expr
    rest: Expr
    token: str | int | None


class _Reader:
    def __init__(self, tokens: Tokens, whitespace: str, limits: Limits, report: Report) -> None:
        self.tokens, self.whitespace, self.limits, self.report = tokens, whitespace, limits, report
        self.text = FreeText(tokens, limits)

    # Forms of the whole ----------------------------------------------------------------------------------------------

    def whole(self, spec: Mapping[str, Any]) -> Expr:
        if "format" in spec:
            found = self.fields(spec, "", {"type": str, "format": dict})
            if found["type"] != "structural_tag":
                raise SchemaError("/type", None, f"is 'structural_tag', not {found['type']!r}")
            return self.format(found["format"], "/format", _Scope(), ())
        if "structures" in spec:
            return self.legacy(spec)
        if "schema" in spec:
            return self.envelope(spec)
        if spec.get("type") == "structural_tag":
            raise SchemaError("", "format", "is missing")
        return self.format(spec, "", _Scope(), ())

    def legacy(self, spec: Mapping[str, Any]) -> Expr:
        """Structures with begin, schema and end, and the triggers of their begins."""
        found = self.fields(spec, "", {"structures": list, "triggers": list}, {"type": (str, "structural_tag")})
        tags = []
        for i, structure in enumerate(found["structures"]):
            at = f"/structures/{i}"
            parts = self.fields(structure, at, {"begin": str, "end": str, "schema": (dict, bool, str)})
            values = self.values(parts["schema"], f"{at}/schema", {})
            tags.append(_Tag(parts["begin"], sequence([values, self.text.marked(parts["end"])]), None))
        triggers = self.strings(found["triggers"], "/triggers")
        return self.dispatched(tags, triggers, "/structures", (), _Scope(), (), loop=True, must=False)

    def envelope(self, spec: Mapping[str, Any]) -> Expr:
        """One tag around JSON values."""
        optional = {
            "type": (str, "structural_tag"),
            "tag": (str, None),
            "start_tag": (str, None),
            "end_tag": (str, None),
        }
        found = self.fields(spec, "", {"schema": (dict, bool, str)}, optional)
        if (found["tag"] is None) == (found["start_tag"] is None):
            raise SchemaError("", "tag", "either tag or start_tag and end_tag are needed")
        if found["tag"] is not None:
            begin, end = f"<{found['tag']}>", f"</{found['tag']}>"
        elif found["end_tag"] is not None:
            begin, end = found["start_tag"], found["end_tag"]
        else:
            raise SchemaError("", "end_tag", "is missing")
        values = self.values(found["schema"], "/schema", {})
        return sequence([self.text.marked(begin), values, self.text.marked(end)])

    # Formats ---------------------------------------------------------------------------------------------------------

    def format(self, spec: Any, at: str, scope: _Scope, close: _Close) -> Expr:
        """The texts of a format, each followed by one of the strings of `close`."""
        if not isinstance(spec, Mapping):
            raise SchemaError(at, None, f"a format is an object, not {type(spec).__name__}")
        scope = scope._replace(depth=scope.depth + 1)
        if scope.depth > self.limits.max_depth:
            raise LimitError("max_depth", self.limits.max_depth, "nesting of formats")
        kind = spec.get("type")
        read = _FORMATS.get(kind) if isinstance(kind, str) else None
        if read is None:
            raise SchemaError(at, "type", f"unknown format {kind!r}: it is one of {', '.join(_FORMATS)}")
        return read(self, spec, at, scope, close)

    def closed(self, expr: Expr, close: _Close) -> Expr:
        return sequence([expr, choice(self.text.marked(end) for end in close)]) if close else expr

    def const_string(self, spec: Any, at: str, scope: _Scope, close: _Close) -> Expr:
        found = self.fields(spec, at, {"value": str})
        return self.closed(self.text.marked(found["value"]), close)

    def json_schema(self, spec: Any, at: str, scope: _Scope, close: _Close) -> Expr:
        optional = {
            "style": (str, "json"),
            "any_order": (bool, False),
            "max_whitespace_cnt": (int, None),
            "excludes": (list, []),
        }
        found = self.fields(spec, at, {"json_schema": (dict, bool, str)}, optional)
        if found["style"] != "json":
            raise SchemaError(
                at, "style", f"{found['style']!r} is not supported here; tool-call formats are compile_tools'"
            )
        if found["excludes"]:
            raise SchemaError(at, "excludes", "strings inside JSON values cannot be excluded")
        options: dict[str, Any] = {"property_order": "any" if found["any_order"] else "schema"}
        if found["max_whitespace_cnt"] is not None:
            options["whitespace"] = (
                f"[ \\t\\n\\r]{{0,{self.natural(found['max_whitespace_cnt'], at, 'max_whitespace_cnt')}}}"
            )
        return self.closed(self.values(found["json_schema"], f"{at}/json_schema", options), close)

    def values(self, schema: Any, at: str, options: dict[str, Any]) -> Embed:
        options = {"whitespace": self.whitespace, "property_order": "schema", **options}
        try:
            return json_values(schema, limits=self.limits, report=self.report, pointer=at, **options)
        except SchemaError as error:
            raise SchemaError(at + error.pointer, error.keyword, error.reason) from None
        except UnsatisfiableError as error:
            raise UnsatisfiableError(at + error.pointer, error.reason) from None

    def regex(self, spec: Any, at: str, scope: _Scope, close: _Close) -> Expr:
        pattern = self.fields(spec, at, {"pattern": str})["pattern"]
        with self.inside(f"{at}/pattern"):
            node = parse(pattern, dialect="ecma", limits=self.limits)
            found = regular(node) if node.pure else Language(compile_node(node, limits=self.limits, source=pattern))
        return self.closed(found, close)

    def grammar(self, spec: Any, at: str, scope: _Scope, close: _Close) -> Expr:
        found = self.fields(spec, at, {"grammar": str}, {"syntax": (str, "ebnf")})
        if found["syntax"] not in ("ebnf", "lark"):
            raise SchemaError(at, "syntax", f"is 'ebnf' or 'lark', not {found['syntax']!r}")
        vocab = self.tokens.vocab
        with self.inside(f"{at}/grammar"):
            if found["syntax"] == "ebnf":
                built, used = gbnf.compile_text(found["grammar"], vocab, "root", self.limits, self.report)
            else:
                built, used = lark_reader.compile_text(found["grammar"], vocab, "start", self.limits, self.report)
        self.tokens.used |= used
        return self.closed(EMPTY if built.node is None else Embed(built.node, built.nullable), close)

    @contextmanager
    def inside(self, at: str) -> Iterator[None]:
        """Errors of a text in the specification, with the pointer to it."""
        try:
            yield
        except GrammarError as error:
            raise SchemaError(at, None, str(error)) from None

    def any_text(self, spec: Any, at: str, scope: _Scope, close: _Close) -> Expr:
        optional = {"excludes": (list, []), "max_tokens": (int, None), "max_chars": (int, None)}
        found = self.fields(spec, at, {}, optional)
        self.refuse_max_tokens(found, at)
        excludes = self.strings(found["excludes"], f"{at}/excludes")
        if found["max_chars"] is not None:
            most = self.natural(found["max_chars"], at, "max_chars")
            return self.closed(self.text.without({*excludes, *scope.strings}, most), close)
        if close:
            return self.text.until(close, (), excludes)
        return self.text.without({*excludes, *scope.strings})

    def refuse_max_tokens(self, found: dict[str, Any], at: str) -> None:
        if found["max_tokens"] is not None:
            raise SchemaError(
                at, "max_tokens", "tokens cannot be counted: the same text has many; max_chars counts characters"
            )

    # Tokens ----------------------------------------------------------------------------------------------------------

    def token_format(self, spec: Any, at: str, scope: _Scope, close: _Close) -> Expr:
        return self.closed(self.token(self.fields(spec, at, {"token": (int, str)})["token"], f"{at}/token"), close)

    def token(self, token: str | int, at: str) -> Expr:
        try:
            return self.tokens.named(token) if isinstance(token, str) else self.tokens.numbered(token)
        except ValueError as error:
            raise SchemaError(at, None, str(error)) from None

    def token_run(self, excluded: Iterable[str | int], least: int, at: str) -> Expr:
        try:
            return self.tokens.all_but(excluded, least, self.limits)
        except ValueError as error:
            raise SchemaError(at, None, str(error)) from None

    def exclude_token(self, spec: Any, at: str, scope: _Scope, close: _Close) -> Expr:
        raise SchemaError(
            at, "type", "exclude_token can stand in star or plus only: one token is no more than some text"
        )

    def any_tokens(self, spec: Any, at: str, scope: _Scope, close: _Close) -> Expr:
        found = self.fields(spec, at, {}, {"exclude_tokens": (list, []), "max_tokens": (int, None)})
        self.refuse_max_tokens(found, at)
        excluded = [*self.token_list(found["exclude_tokens"], f"{at}/exclude_tokens"), *scope.tokens]
        return self.closed(self.token_run(excluded, 0, f"{at}/exclude_tokens"), close)

    def token_list(self, tokens: Sequence[Any], at: str) -> list[str | int]:
        for i, token in enumerate(tokens):
            if isinstance(token, bool) or not isinstance(token, (int, str)):
                raise SchemaError(f"{at}/{i}", None, "a token is an id or a string")
            self.token(token, f"{at}/{i}")
        return list(tokens)

    # Combinations ----------------------------------------------------------------------------------------------------

    def sequence(self, spec: Any, at: str, scope: _Scope, close: _Close) -> Expr:
        elements = self.fields(spec, at, {"elements": list})["elements"]
        last = len(elements) - 1
        parts = [
            self.format(element, f"{at}/elements/{i}", scope, close if i == last else ())
            for i, element in enumerate(elements)
        ]
        return sequence(parts) if parts else self.closed(EMPTY, close)

    def alternatives(self, spec: Any, at: str, scope: _Scope, close: _Close) -> Expr:
        elements = self.fields(spec, at, {"elements": list})["elements"]
        if not elements:
            raise SchemaError(at, "elements", "an alternative is needed")
        return choice(self.format(element, f"{at}/elements/{i}", scope, close) for i, element in enumerate(elements))

    def optional(self, spec: Any, at: str, scope: _Scope, close: _Close) -> Expr:
        content = self.fields(spec, at, {"content": dict})["content"]
        return choice([self.format(content, f"{at}/content", scope, close), self.closed(EMPTY, close)])

    def repeated(self, spec: Any, at: str, scope: _Scope, close: _Close, low: int, high: int | None) -> Expr:
        content = spec["content"]
        if high is None and low <= 1 and isinstance(content, Mapping) and content.get("type") == "exclude_token":
            found = self.fields(content, f"{at}/content", {}, {"exclude_tokens": (list, [])})["exclude_tokens"]
            excluded = [*self.token_list(found, f"{at}/content/exclude_tokens"), *scope.tokens]
            return self.closed(self.token_run(excluded, low, f"{at}/content/exclude_tokens"), close)
        return self.closed(repetition(self.format(content, f"{at}/content", scope, ()), low, high), close)

    def star(self, spec: Any, at: str, scope: _Scope, close: _Close) -> Expr:
        self.fields(spec, at, {"content": dict})
        return self.repeated(spec, at, scope, close, 0, None)

    def plus(self, spec: Any, at: str, scope: _Scope, close: _Close) -> Expr:
        self.fields(spec, at, {"content": dict})
        return self.repeated(spec, at, scope, close, 1, None)

    def repeat(self, spec: Any, at: str, scope: _Scope, close: _Close) -> Expr:
        found = self.fields(spec, at, {"content": dict, "min": int, "max": int})
        low = self.natural(found["min"], at, "min")
        if found["max"] != -1 and found["max"] < low:
            raise SchemaError(at, "max", f"{found['max']} is less than min {low}; -1 is no bound")
        return self.repeated(spec, at, scope, close, low, None if found["max"] == -1 else found["max"])

    # Tags ------------------------------------------------------------------------------------------------------------

    def tag(self, spec: Any, at: str, scope: _Scope, close: _Close) -> Expr:
        tag = self.read_tag(spec, at, scope)
        begin = self.text.marked(tag.begin) if isinstance(tag.begin, str) else tag.begin
        return self.closed(sequence([begin, tag.rest]), close)

    def read_tag(self, spec: Any, at: str, scope: _Scope) -> _Tag:
        found = self.fields(
            spec, at, {"begin": (str, dict), "content": dict, "end": (str, list, dict)}, {"type": (str, "tag")}
        )
        if found["type"] != "tag":
            raise SchemaError(at, "type", f"a tag is needed, not {found['type']!r}")
        begin, token = found["begin"], None
        if not isinstance(begin, str):
            token = self.fields(begin, f"{at}/begin", {"token": (int, str)}, {"type": (str, "token")})["token"]
            begin = self.token(token, f"{at}/begin/token")
        end = found["end"]
        inner = _Scope(depth=scope.depth)
        if isinstance(end, Mapping):
            last = self.fields(end, f"{at}/end", {"token": (int, str)}, {"type": (str, "token")})["token"]
            content = self.format(found["content"], f"{at}/content", inner._replace(tokens=(last,)), ())
            return _Tag(begin, sequence([content, self.token(last, f"{at}/end/token")]), token)
        ends = self.strings([end] if isinstance(end, str) else end, f"{at}/end", empty=True)
        if not ends:
            raise SchemaError(at, "end", "an end is needed")
        inner = inner._replace(strings=tuple(x for x in ends if x))
        if "" in ends:
            content = self.format(found["content"], f"{at}/content", inner, ())
            return _Tag(begin, self.closed(content, ends), token)
        return _Tag(begin, self.format(found["content"], f"{at}/content", inner, ends), token)

    def tags(self, specs: Sequence[Any], at: str, scope: _Scope) -> list[_Tag]:
        if not specs:
            raise SchemaError(at, None, "a tag is needed")
        return [self.read_tag(spec, f"{at}/{i}", scope) for i, spec in enumerate(specs)]

    def triggered_tags(self, spec: Any, at: str, scope: _Scope, close: _Close) -> Expr:
        optional = {"at_least_one": (bool, False), "stop_after_first": (bool, False), "excludes": (list, [])}
        found = self.fields(spec, at, {"triggers": list, "tags": list}, optional)
        tags = self.tags(found["tags"], f"{at}/tags", scope)
        triggers = self.strings(found["triggers"], f"{at}/triggers")
        excludes = self.strings(found["excludes"], f"{at}/excludes")
        loop, must = not found["stop_after_first"], found["at_least_one"]
        return self.dispatched(tags, triggers, f"{at}/tags", excludes, scope, close, loop=loop, must=must)

    def dispatch(self, spec: Any, at: str, scope: _Scope, close: _Close) -> Expr:
        found = self.fields(spec, at, {"rules": list}, {"loop": (bool, True), "excludes": (list, [])})
        tags = []
        for i, rule in enumerate(found["rules"]):
            pattern, content = self.dispatch_rule(rule, f"{at}/rules/{i}", scope)
            if not isinstance(pattern, str) or not pattern:
                raise SchemaError(f"{at}/rules/{i}/0", None, "a pattern is a string that is not empty")
            tags.append(_Tag(pattern, content, None))
        triggers = tuple(tag.begin for tag in tags if isinstance(tag.begin, str))
        excludes = self.strings(found["excludes"], f"{at}/excludes")
        return self.dispatched(tags, triggers, f"{at}/rules", excludes, scope, close, loop=found["loop"], must=False)

    def dispatch_rule(self, rule: Any, at: str, scope: _Scope) -> tuple[Any, Expr]:
        if not isinstance(rule, (list, tuple)) or len(rule) != 2:
            raise SchemaError(at, None, "a rule is a pair of a pattern and a format")
        return rule[0], self.format(rule[1], f"{at}/1", scope, ())

    def dispatched(
        self,
        tags: list[_Tag],
        triggers: tuple[str, ...],
        at: str,
        excludes: tuple[str, ...],
        scope: _Scope,
        close: _Close,
        *,
        loop: bool,
        must: bool,
    ) -> Expr:
        """Free text, in which a trigger leads to the tags that begin with it."""
        if not triggers:
            raise SchemaError(at.rpartition("/")[0], "triggers", "a trigger is needed")
        avoided = {*triggers, *scope.strings}
        by_trigger: dict[str, list[_Tag]] = {}
        for i, tag in enumerate(tags):
            if not isinstance(tag.begin, str):
                raise SchemaError(f"{at}/{i}", "begin", "is a string where triggers are strings")
            matching = [trigger for trigger in triggers if tag.begin.startswith(trigger)]
            if len(matching) != 1:
                which = "no trigger" if not matching else f"the triggers {', '.join(map(repr, matching))}"
                raise SchemaError(f"{at}/{i}", "begin", f"{tag.begin!r} begins with {which}; it must be exactly one")
            by_trigger.setdefault(matching[0], []).append(tag)
        calls, first = [], []
        for trigger, group in by_trigger.items():
            bodies = []
            for tag in group:
                assert isinstance(tag.begin, str)
                bodies.append(sequence([self.text.marked(tag.begin[len(trigger) :]), tag.rest]))
                first.append(sequence([self.text.marked(tag.begin), tag.rest]))
                calls.append(
                    sequence([self.text.until_token(tag.begin, {*avoided, *excludes}, len(trigger)), tag.rest])
                )
            found = self.text.until([trigger], avoided - {trigger}, excludes, cut=0)
            calls.append(sequence([found, choice(bodies)]))
        tail = self.text.until(close, triggers, excludes) if close else self.text.without({*avoided, *excludes})
        return self.loop(choice(calls), choice(first), tail, self.closed(EMPTY, close), loop=loop, must=must)

    def loop(self, call: Expr, first: Expr, tail: Expr, end: Expr, *, loop: bool, must: bool) -> Expr:
        """Calls with free text before each, and after the last where they go on; with `must` one stands at the start.
        """
        if not loop:
            return sequence([first, end]) if must else choice([tail, sequence([call, end])])
        more = sequence([repetition(call, 0, None), tail])
        return sequence([first, more]) if must else more

    def token_triggered_tags(self, spec: Any, at: str, scope: _Scope, close: _Close) -> Expr:
        optional = {"at_least_one": (bool, False), "stop_after_first": (bool, False), "exclude_tokens": (list, [])}
        found = self.fields(spec, at, {"trigger_tokens": list, "tags": list}, optional)
        tags = self.tags(found["tags"], f"{at}/tags", scope)
        triggers = self.token_list(found["trigger_tokens"], f"{at}/trigger_tokens")
        known = {self.tokens.identity(trigger) for trigger in triggers}
        for i, tag in enumerate(tags):
            if tag.token is None or self.tokens.identity(tag.token) not in known:
                raise SchemaError(f"{at}/tags/{i}", "begin", "is not one of the trigger tokens")
        loop, must = not found["stop_after_first"], found["at_least_one"]
        return self.token_dispatched(tags, triggers, found, at, scope, close, loop=loop, must=must)

    def token_dispatch(self, spec: Any, at: str, scope: _Scope, close: _Close) -> Expr:
        found = self.fields(spec, at, {"rules": list}, {"loop": (bool, True), "exclude_tokens": (list, [])})
        tags = []
        for i, rule in enumerate(found["rules"]):
            token, content = self.dispatch_rule(rule, f"{at}/rules/{i}", scope)
            self.token_list([token], f"{at}/rules/{i}")
            tags.append(_Tag(self.token(token, f"{at}/rules/{i}/0"), content, token))
        triggers = [tag.token for tag in tags if tag.token is not None]
        return self.token_dispatched(tags, triggers, found, at, scope, close, loop=found["loop"], must=False)

    def token_dispatched(
        self,
        tags: list[_Tag],
        triggers: list[str | int],
        found: dict[str, Any],
        at: str,
        scope: _Scope,
        close: _Close,
        *,
        loop: bool,
        must: bool,
    ) -> Expr:
        excluded = self.token_list(found["exclude_tokens"], f"{at}/exclude_tokens")
        free = self.token_run([*triggers, *excluded, *scope.tokens], 0, at)
        bodies = choice(sequence([tag.begin, tag.rest]) for tag in tags if isinstance(tag.begin, Expr))
        end = self.closed(EMPTY, close)
        return self.loop(sequence([free, bodies]), bodies, sequence([free, end]), end, loop=loop, must=must)

    def tags_with_separator(self, spec: Any, at: str, scope: _Scope, close: _Close) -> Expr:
        optional = {"at_least_one": (bool, False), "stop_after_first": (bool, False)}
        found = self.fields(spec, at, {"tags": list, "separator": str}, optional)
        tags = self.tags(found["tags"], f"{at}/tags", scope)
        one = choice(
            sequence([self.text.marked(tag.begin) if isinstance(tag.begin, str) else tag.begin, tag.rest])
            for tag in tags
        )
        separator = self.text.marked(found["separator"])
        many = one if found["stop_after_first"] else sequence([one, repetition(sequence([separator, one]), 0, None)])
        return self.closed(many if found["at_least_one"] else repetition(many, 0, 1), close)

    # Fields ----------------------------------------------------------------------------------------------------------

    def fields(
        self, spec: Any, at: str, required: Mapping[str, Any], optional: Mapping[str, tuple[Any, Any]] | None = None
    ) -> dict[str, Any]:
        """The fields of an object, of the types that are asked for; others are refused. optional: type and default."""
        if not isinstance(spec, Mapping):
            raise SchemaError(at, None, f"an object is needed, not {type(spec).__name__}")
        wanted = {name: (kinds, _REQUIRED) for name, kinds in required.items()} | dict(optional or {})
        for name in spec:
            if name not in wanted and name != "type":
                raise SchemaError(at, str(name), "is no field of this format")
        found = {}
        for name, (kinds, default) in wanted.items():
            value = spec.get(name, default)
            if value is _REQUIRED:
                raise SchemaError(at, name, "is missing")
            allowed = kinds if isinstance(kinds, tuple) else (kinds,)
            given = name in spec and not (value is None and default is None)
            if given and (not isinstance(value, allowed) or (isinstance(value, bool) and bool not in allowed)):
                shown = " or ".join(_SHOWN[kind] for kind in allowed)
                raise SchemaError(at, name, f"is {shown}, not {type(value).__name__}")
            found[name] = value
        return found

    def strings(self, values: Sequence[Any], at: str, empty: bool = False) -> tuple[str, ...]:
        for i, value in enumerate(values):
            if not isinstance(value, str) or (not value and not empty):
                raise SchemaError(f"{at}/{i}", None, "a string is needed" + ("" if empty else " that is not empty"))
        return tuple(dict.fromkeys(values))

    def natural(self, value: int, at: str, name: str) -> int:
        if value < 0:
            raise SchemaError(at, name, f"is not negative, as {value} is")
        return value


_SHOWN = {str: "a string", dict: "an object", list: "a list", int: "an integer", bool: "true or false"}
_FORMATS: dict[str, Callable[[_Reader, Any, str, _Scope, _Close], Expr]] = {
    "const_string": _Reader.const_string,
    "json_schema": _Reader.json_schema,
    "qwen_xml_parameter": _Reader.json_schema,
    "regex": _Reader.regex,
    "grammar": _Reader.grammar,
    "any_text": _Reader.any_text,
    "sequence": _Reader.sequence,
    "or": _Reader.alternatives,
    "optional": _Reader.optional,
    "star": _Reader.star,
    "plus": _Reader.plus,
    "repeat": _Reader.repeat,
    "tag": _Reader.tag,
    "triggered_tags": _Reader.triggered_tags,
    "tags_with_separator": _Reader.tags_with_separator,
    "dispatch": _Reader.dispatch,
    "token": _Reader.token_format,
    "exclude_token": _Reader.exclude_token,
    "any_tokens": _Reader.any_tokens,
    "token_triggered_tags": _Reader.token_triggered_tags,
    "token_dispatch": _Reader.token_dispatch,
}
