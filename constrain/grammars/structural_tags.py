"""Structural tags: formats of output as JSON, in the published format of XGrammar and vLLM.

    {"type": "structural_tag", "format": {"type": "triggered_tags", "triggers": ["<function="], "tags": [...]}}

The older form with `structures` and `triggers` is read too, and so is one tag by itself: {"tag": "search", "schema":
...} or {"start_tag": ..., "end_tag": ..., "schema": ...}. What free text must not contain, the ends of the tag around
it among it, it does not contain; an end or a trigger counts at its first occurrence, as a parser would see it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from .._errors import GrammarError, LimitError, SchemaError, UnsatisfiableError
from .._limits import Limits
from ..languages.parser import parse
from ..languages.pattern import compile_node
from ..schema.report import Report
from ..vocabulary import Vocabulary
from . import gbnf, lark_reader, tag_fields
from .cfg import Built, Rule, compile_rules
from .dispatch import Plan, Tag, dispatched, in_turns
from .expressions import EMPTY, Embed, Expr, Language, choice, regular, repetition, sequence
from .free_text import FreeText
from .styles import STYLES, styled
from .tag_fields import fields, natural, strings
from .tokens import Tokens
from .values import json_values

__all__ = ["compile_spec"]

Close = tuple[str, ...]
"""Strings one of which follows the content; () for none."""


def compile_spec(
    spec: Any, vocab: Vocabulary | None, whitespace: str, limits: Limits, report: Report
) -> tuple[Built, frozenset[int]]:
    """The grammar of a structural tag (JSON text or what it says), and the control tokens that it names.

    Raises SchemaError with the pointer into the specification, UnsatisfiableError, LimitError.
    """
    tokens = Tokens(vocab)
    reader = _Reader(tokens, whitespace, limits, report)
    try:
        expr = reader.whole(tag_fields.loaded(spec, limits))
        built = compile_rules({"format": Rule("format", expr)}, "format", limits=limits, report=report)
    except RecursionError:
        raise LimitError("max_depth", limits.max_depth, "nesting of formats") from None
    except GrammarError:
        raise UnsatisfiableError("", "no text has this format") from None
    return built, frozenset(tokens.used)


class _Scope(NamedTuple):
    """What the nearest tag around ends with: unlimited content avoids it wherever it stands."""

    strings: tuple[str, ...] = ()
    tokens: tuple[str | int, ...] = ()
    depth: int = 0


class _Reader:
    def __init__(self, tokens: Tokens, whitespace: str, limits: Limits, report: Report) -> None:
        self.tokens, self.whitespace, self.limits, self.report = tokens, whitespace, limits, report
        self.text = FreeText(tokens, limits)

    # Forms of the whole ----------------------------------------------------------------------------------------------

    def whole(self, spec: Mapping[str, Any]) -> Expr:
        if "format" in spec:
            found = fields(spec, "", {"type": str, "format": dict})
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
        found = fields(spec, "", {"structures": list, "triggers": list}, {"type": (str, "structural_tag")})
        tags = []
        for i, structure in enumerate(found["structures"]):
            at = f"/structures/{i}"
            parts = fields(structure, at, {"begin": str, "end": str, "schema": (dict, bool, str)})
            values = self.values(parts["schema"], f"{at}/schema", {})
            tags.append(Tag(parts["begin"], sequence([values, self.text.marked(parts["end"])])))
        triggers = strings(found["triggers"], "/triggers")
        return dispatched(self.text, tags, "/structures", triggers, (), (), (), Plan(loop=True))

    def envelope(self, spec: Mapping[str, Any]) -> Expr:
        """One tag around JSON values."""
        names = dict.fromkeys(("tag", "start_tag", "end_tag"), (str, None))
        found = fields(spec, "", {"schema": (dict, bool, str)}, {"type": (str, "structural_tag"), **names})
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

    def format(self, spec: Any, at: str, scope: _Scope, close: Close) -> Expr:
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

    def closed(self, expr: Expr, close: Close) -> Expr:
        return sequence([expr, choice(self.text.marked(end) for end in close)]) if close else expr

    def const_string(self, spec: Any, at: str, scope: _Scope, close: Close) -> Expr:
        return self.closed(self.text.marked(fields(spec, at, {"value": str})["value"]), close)

    def json_schema(self, spec: Any, at: str, scope: _Scope, close: Close) -> Expr:
        optional = {"style": (str, "json"), "any_order": (bool, False), "max_whitespace_cnt": (int, None)}
        found = fields(spec, at, {"json_schema": (dict, bool, str)}, {**optional, "excludes": (list, [])})
        if found["excludes"]:
            raise SchemaError(at, "excludes", "strings inside JSON values cannot be excluded")
        options: dict[str, Any] = {"property_order": "any" if found["any_order"] else "schema"}
        if found["max_whitespace_cnt"] is not None:
            most = natural(found["max_whitespace_cnt"], at, "max_whitespace_cnt")
            options["whitespace"] = f"[ \\t\\n\\r]{{0,{most}}}"
        if found["style"] != "json":
            return self.arguments(found["json_schema"], at, found["style"], options, close)
        return self.closed(self.values(found["json_schema"], f"{at}/json_schema", options), close)

    def arguments(self, schema: Any, at: str, style: str, options: dict[str, Any], close: Close) -> Expr:
        """The values of a schema as a tool-call format writes arguments."""
        if style not in STYLES:
            raise SchemaError(at, "style", f"{style!r} is not supported; it is 'json' or one of {', '.join(STYLES)}")
        if "whitespace" in options:
            raise SchemaError(at, "max_whitespace_cnt", "is for the style 'json'")
        if not close:
            raise SchemaError(at, "style", f"content in the style {style} stands in a tag, right before its end")
        order = options["property_order"]
        with _pointed(f"{at}/json_schema"):
            return styled(schema, style, close, order, self.text, self.report, f"{at}/json_schema")

    def qwen_xml_parameter(self, spec: Any, at: str, scope: _Scope, close: Close) -> Expr:
        """An older name of one style."""
        schema = fields(spec, at, {"json_schema": (dict, bool, str)})["json_schema"]
        return self.arguments(schema, at, "qwen_xml", {"property_order": "schema"}, close)

    def values(self, schema: Any, at: str, options: dict[str, Any]) -> Embed:
        options = {"whitespace": self.whitespace, "property_order": "schema", **options}
        with _pointed(at):
            return json_values(schema, limits=self.limits, report=self.report, pointer=at, **options)

    def regex(self, spec: Any, at: str, scope: _Scope, close: Close) -> Expr:
        pattern = fields(spec, at, {"pattern": str})["pattern"]
        with _inside(f"{at}/pattern"):
            node = parse(pattern, dialect="ecma", limits=self.limits)
            found = regular(node) if node.pure else Language(compile_node(node, limits=self.limits, source=pattern))
        return self.closed(found, close)

    def grammar(self, spec: Any, at: str, scope: _Scope, close: Close) -> Expr:
        found = fields(spec, at, {"grammar": str}, {"syntax": (str, "ebnf")})
        if found["syntax"] not in ("ebnf", "lark"):
            raise SchemaError(at, "syntax", f"is 'ebnf' or 'lark', not {found['syntax']!r}")
        vocab = self.tokens.vocab
        with _inside(f"{at}/grammar"):
            if found["syntax"] == "ebnf":
                built, used = gbnf.compile_text(found["grammar"], vocab, "root", self.limits, self.report)
            else:
                built, used = lark_reader.compile_text(found["grammar"], vocab, "start", self.limits, self.report)
        self.tokens.used |= used
        return self.closed(EMPTY if built.node is None else Embed(built.node, built.nullable), close)

    def any_text(self, spec: Any, at: str, scope: _Scope, close: Close) -> Expr:
        optional: dict[str, Any] = {"excludes": (list, []), "max_tokens": (int, None), "max_chars": (int, None)}
        found = fields(spec, at, {}, optional)
        _refuse_max_tokens(found, at)
        excludes = strings(found["excludes"], f"{at}/excludes")
        if found["max_chars"] is not None:
            most = natural(found["max_chars"], at, "max_chars")
            return self.closed(self.text.without({*excludes, *scope.strings}, most), close)
        if close:
            return self.text.until(close, (), excludes)
        return self.text.without({*excludes, *scope.strings})

    # Tokens ----------------------------------------------------------------------------------------------------------

    def token(self, spec: Any, at: str, scope: _Scope, close: Close) -> Expr:
        token = fields(spec, at, {"token": (int, str)})["token"]
        return self.closed(self.one_token(token, f"{at}/token"), close)

    def one_token(self, token: str | int, at: str) -> Expr:
        with _valid(at):
            return self.tokens.named(token) if isinstance(token, str) else self.tokens.numbered(token)

    def token_run(self, excluded: Iterable[str | int], least: int, at: str) -> Expr:
        with _valid(at):
            return self.tokens.all_but(excluded, least, self.limits)

    def exclude_token(self, spec: Any, at: str, scope: _Scope, close: Close) -> Expr:
        reason = "exclude_token can stand in star or plus only: one token is no more than some text"
        raise SchemaError(at, "type", reason)

    def any_tokens(self, spec: Any, at: str, scope: _Scope, close: Close) -> Expr:
        found = fields(spec, at, {}, {"exclude_tokens": (list, []), "max_tokens": (int, None)})
        _refuse_max_tokens(found, at)
        excluded = tag_fields.tokens(found["exclude_tokens"], f"{at}/exclude_tokens")
        return self.closed(self.token_run((*excluded, *scope.tokens), 0, f"{at}/exclude_tokens"), close)

    # Combinations ----------------------------------------------------------------------------------------------------

    def sequence(self, spec: Any, at: str, scope: _Scope, close: Close) -> Expr:
        elements = fields(spec, at, {"elements": list})["elements"]
        last = len(elements) - 1
        parts = [
            self.format(element, f"{at}/elements/{i}", scope, close if i == last else ())
            for i, element in enumerate(elements)
        ]
        return sequence(parts) if parts else self.closed(EMPTY, close)

    def alternatives(self, spec: Any, at: str, scope: _Scope, close: Close) -> Expr:
        elements = fields(spec, at, {"elements": list})["elements"]
        if not elements:
            raise SchemaError(at, "elements", "an alternative is needed")
        return choice(self.format(element, f"{at}/elements/{i}", scope, close) for i, element in enumerate(elements))

    def optional(self, spec: Any, at: str, scope: _Scope, close: Close) -> Expr:
        content = fields(spec, at, {"content": dict})["content"]
        return choice([self.format(content, f"{at}/content", scope, close), self.closed(EMPTY, close)])

    def star(self, spec: Any, at: str, scope: _Scope, close: Close) -> Expr:
        return self.repeated(fields(spec, at, {"content": dict})["content"], f"{at}/content", scope, close, 0, None)

    def plus(self, spec: Any, at: str, scope: _Scope, close: Close) -> Expr:
        return self.repeated(fields(spec, at, {"content": dict})["content"], f"{at}/content", scope, close, 1, None)

    def repeat(self, spec: Any, at: str, scope: _Scope, close: Close) -> Expr:
        found = fields(spec, at, {"content": dict, "min": int, "max": int})
        low, high = natural(found["min"], at, "min"), found["max"]
        if high != -1 and high < low:
            raise SchemaError(at, "max", f"{high} is less than min {low}; -1 is no bound")
        return self.repeated(found["content"], f"{at}/content", scope, close, low, None if high == -1 else high)

    def repeated(self, content: Any, at: str, scope: _Scope, close: Close, low: int, high: int | None) -> Expr:
        if high is None and low <= 1 and content.get("type") == "exclude_token":
            found = fields(content, at, {}, {"exclude_tokens": (list, [])})["exclude_tokens"]
            excluded = tag_fields.tokens(found, f"{at}/exclude_tokens")
            return self.closed(self.token_run((*excluded, *scope.tokens), low, f"{at}/exclude_tokens"), close)
        return self.closed(repetition(self.format(content, at, scope, ()), low, high), close)

    # Tags ------------------------------------------------------------------------------------------------------------

    def tag(self, spec: Any, at: str, scope: _Scope, close: Close) -> Expr:
        return self.closed(self.whole_tag(self.read_tag(spec, at, scope)), close)

    def whole_tag(self, tag: Tag) -> Expr:
        begin = self.text.marked(tag.begin) if isinstance(tag.begin, str) else tag.begin
        return sequence([begin, tag.rest])

    def read_tag(self, spec: Any, at: str, scope: _Scope) -> Tag:
        required = {"begin": (str, dict), "content": dict, "end": (str, list, dict)}
        found = fields(spec, at, required, {"type": (str, "tag")})
        if found["type"] != "tag":
            raise SchemaError(at, "type", f"a tag is needed, not {found['type']!r}")
        begin, token = found["begin"], None
        if not isinstance(begin, str):
            token = fields(begin, f"{at}/begin", {"token": (int, str)}, {"type": (str, "token")})["token"]
            begin = self.one_token(token, f"{at}/begin/token")
        end, inner = found["end"], _Scope(depth=scope.depth)
        if isinstance(end, Mapping):
            last = fields(end, f"{at}/end", {"token": (int, str)}, {"type": (str, "token")})["token"]
            content = self.format(found["content"], f"{at}/content", inner._replace(tokens=(last,)), ())
            return Tag(begin, sequence([content, self.one_token(last, f"{at}/end/token")]), token)
        ends = strings([end] if isinstance(end, str) else end, f"{at}/end", empty=True)
        if not ends:
            raise SchemaError(at, "end", "an end is needed")
        inner = inner._replace(strings=tuple(string for string in ends if string))
        if "" in ends:  # nothing to look for
            content = self.format(found["content"], f"{at}/content", inner, ())
            return Tag(begin, self.closed(content, ends), token)
        return Tag(begin, self.format(found["content"], f"{at}/content", inner, ends), token)

    def tags(self, specs: Sequence[Any], at: str, scope: _Scope) -> list[Tag]:
        if not specs:
            raise SchemaError(at, None, "a tag is needed")
        return [self.read_tag(spec, f"{at}/{i}", scope) for i, spec in enumerate(specs)]

    def triggered_tags(self, spec: Any, at: str, scope: _Scope, close: Close) -> Expr:
        found = fields(spec, at, {"triggers": list, "tags": list}, {**_TURNS, "excludes": (list, [])})
        tags = self.tags(found["tags"], f"{at}/tags", scope)
        triggers = strings(found["triggers"], f"{at}/triggers")
        excludes = strings(found["excludes"], f"{at}/excludes")
        plan = Plan(not found["stop_after_first"], found["at_least_one"])
        return dispatched(self.text, tags, f"{at}/tags", triggers, excludes, scope.strings, close, plan)

    def dispatch(self, spec: Any, at: str, scope: _Scope, close: Close) -> Expr:
        found = fields(spec, at, {"rules": list}, {"loop": (bool, True), "excludes": (list, [])})
        rules = [self.rule(rule, f"{at}/rules/{i}", scope) for i, rule in enumerate(found["rules"])]
        patterns = strings([pattern for pattern, _ in rules], f"{at}/rules")
        tags = [Tag(pattern, content) for pattern, content in rules]
        excludes = strings(found["excludes"], f"{at}/excludes")
        plan = Plan(found["loop"])
        return dispatched(self.text, tags, f"{at}/rules", patterns, excludes, scope.strings, close, plan)

    def rule(self, rule: Any, at: str, scope: _Scope) -> tuple[Any, Expr]:
        """A pattern, or a token, and what follows it."""
        if not isinstance(rule, (list, tuple)) or len(rule) != 2:
            raise SchemaError(at, None, "a rule is a pair of a pattern and a format")
        return rule[0], self.format(rule[1], f"{at}/1", scope, ())

    def token_triggered_tags(self, spec: Any, at: str, scope: _Scope, close: Close) -> Expr:
        found = fields(spec, at, {"trigger_tokens": list, "tags": list}, {**_TURNS, "exclude_tokens": (list, [])})
        tags = self.tags(found["tags"], f"{at}/tags", scope)
        triggers = tag_fields.tokens(found["trigger_tokens"], f"{at}/trigger_tokens")
        with _valid(f"{at}/trigger_tokens"):
            known = {self.tokens.identity(trigger) for trigger in triggers}
        for i, tag in enumerate(tags):
            if tag.token is None or self.tokens.identity(tag.token) not in known:
                raise SchemaError(f"{at}/tags/{i}", "begin", "is not one of the trigger tokens")
        plan = Plan(not found["stop_after_first"], found["at_least_one"])
        return self.token_turns(tags, triggers, found["exclude_tokens"], at, scope, close, plan)

    def token_dispatch(self, spec: Any, at: str, scope: _Scope, close: Close) -> Expr:
        found = fields(spec, at, {"rules": list}, {"loop": (bool, True), "exclude_tokens": (list, [])})
        rules = [self.rule(rule, f"{at}/rules/{i}", scope) for i, rule in enumerate(found["rules"])]
        triggers = tag_fields.tokens([token for token, _ in rules], f"{at}/rules")
        tags = [
            Tag(self.one_token(token, f"{at}/rules/{i}/0"), content, token) for i, (token, content) in enumerate(rules)
        ]
        return self.token_turns(tags, triggers, found["exclude_tokens"], at, scope, close, Plan(found["loop"]))

    def token_turns(
        self,
        tags: Sequence[Tag],
        triggers: Iterable[str | int],
        excluded: Sequence[Any],
        at: str,
        scope: _Scope,
        close: Close,
        plan: Plan,
    ) -> Expr:
        """Any tokens but the triggers, which lead over to their tags."""
        others = tag_fields.tokens(excluded, f"{at}/exclude_tokens")
        free = self.token_run((*triggers, *others, *scope.tokens), 0, at)
        bodies = choice(self.whole_tag(tag) for tag in tags)
        end = self.closed(EMPTY, close)
        return in_turns(plan, sequence([free, bodies]), bodies, sequence([free, end]), end)

    def tags_with_separator(self, spec: Any, at: str, scope: _Scope, close: Close) -> Expr:
        found = fields(spec, at, {"tags": list, "separator": str}, _TURNS)
        one = choice(self.whole_tag(tag) for tag in self.tags(found["tags"], f"{at}/tags", scope))
        separator = self.text.marked(found["separator"])
        many = one if found["stop_after_first"] else sequence([one, repetition(sequence([separator, one]), 0, None)])
        return self.closed(many if found["at_least_one"] else repetition(many, 0, 1), close)


@contextmanager
def _inside(at: str) -> Iterator[None]:
    """Errors of a text in the specification, with the pointer to it."""
    try:
        yield
    except GrammarError as error:
        raise SchemaError(at, None, str(error)) from None


@contextmanager
def _pointed(at: str) -> Iterator[None]:
    """Errors of a schema in the specification, with pointers that begin at the specification."""
    try:
        yield
    except SchemaError as error:
        raise SchemaError(at + error.pointer, error.keyword, error.reason) from None
    except UnsatisfiableError as error:
        raise UnsatisfiableError(at + error.pointer, error.reason) from None


@contextmanager
def _valid(at: str) -> Iterator[None]:
    """Errors about tokens, with the pointer to them."""
    try:
        yield
    except ValueError as error:
        raise SchemaError(at, None, str(error)) from None


def _refuse_max_tokens(found: dict[str, Any], at: str) -> None:
    if found["max_tokens"] is not None:
        reason = "tokens cannot be counted, since one text has many spellings in tokens; max_chars counts characters"
        raise SchemaError(at, "max_tokens", reason)


_TURNS = {"at_least_one": (bool, False), "stop_after_first": (bool, False)}
_FORMATS: dict[str, Callable[[_Reader, Any, str, _Scope, Close], Expr]] = {
    "const_string": _Reader.const_string,
    "json_schema": _Reader.json_schema,
    "qwen_xml_parameter": _Reader.qwen_xml_parameter,
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
    "token": _Reader.token,
    "exclude_token": _Reader.exclude_token,
    "any_tokens": _Reader.any_tokens,
    "token_triggered_tags": _Reader.token_triggered_tags,
    "token_dispatch": _Reader.token_dispatch,
}
