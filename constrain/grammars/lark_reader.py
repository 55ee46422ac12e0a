"""Grammars in the language of Lark, from the trees of the `lark` package to rules.

A terminal stands for the whole regular language of its pattern: which of its words a lexer would prefer is no matter,
and neither are priorities. Ignored text may stand before, between and after terminals.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from .._errors import GrammarError, LimitError
from .._limits import Limits, check_time
from ..languages import syntax
from ..languages.parser import parse
from ..languages.pattern import compile_node
from ..schema.report import Report
from ..vocabulary import Vocabulary
from .cfg import Built, Rule, compile_rules
from .expressions import EMPTY, Expr, Language, Ref, choice, regular, repetition, sequence
from .lark_extensions import Extension
from .lark_source import Definition, LarkSource
from .tokens import Tokens
from .values import json_values

__all__ = ["compile_text"]

_START, _IGNORED = "(start)", "(ignored text)"
_OPERATORS = {"?": (0, 1), "*": (0, None), "+": (1, None)}

T = TypeVar("T")


def compile_text(
    text: str, vocab: Vocabulary | None, start: str, limits: Limits, report: Report
) -> tuple[Built, frozenset[int]]:
    """The grammar, and the control tokens that it names. Raises GrammarError, LimitError; ImportError without lark."""
    if not isinstance(text, str):
        raise GrammarError(f"a grammar must be text, not {type(text).__name__}")
    if len(text) > limits.max_source_bytes:
        raise LimitError("max_source_bytes", limits.max_source_bytes, "length of a grammar")
    tokens = Tokens(vocab)
    reader = _Reader(LarkSource(text, limits), tokens, limits, report)
    built = compile_rules(reader.rules(start), _START, text=text, limits=limits, report=report)
    return built, frozenset(tokens.used)


@dataclass(frozen=True)
class _Argument:
    """What a parameter of a template stands for. key: tells arguments apart, and is the name where it is one."""

    key: str
    expr: Expr


class _Reader:
    def __init__(self, source: LarkSource, tokens: Tokens, limits: Limits, report: Report) -> None:
        self.source, self.tokens, self.limits, self.report = source, tokens, limits, report
        self.found: dict[str, Rule] = {}
        self.templates: dict[str, Definition] = {}
        self.instances: dict[str, tuple[Definition, dict[str, _Argument]]] = {}
        self.ignored: Expr = EMPTY

    def rules(self, start: str) -> dict[str, Rule]:
        for definition in self.source.terminals:
            self.announce(definition)
            # other terminals have it written out, so only the text knows of its uses
            at = None if self.source.is_used(definition.name) else definition.at
            self.found[definition.name] = Rule(definition.name, self.terminal(definition), at)
        if self.source.ignored:
            parts = [self.found.pop(name).expr for name in dict.fromkeys(self.source.ignored)]
            for name, part in zip(dict.fromkeys(self.source.ignored), parts, strict=True):
                self.found[name] = Rule(name, part)
            self.found[_IGNORED] = Rule(_IGNORED, repetition(choice(parts), 0, None))
            self.ignored = Ref(_IGNORED)
        for definition in self.source.rules:
            name = definition.name
            if name in self.source.extensions:
                self.found[name] = Rule(name, self.extension(self.source.extensions[name]))
            elif definition.params:
                self.templates[name] = definition
            else:
                self.announce(definition)
                self.found[name] = Rule(name, self.rule(definition.tree, {}), definition.at)
        done = 0
        while done < len(self.instances):
            name, (template, arguments) = list(self.instances.items())[done]
            self.found[name] = Rule(name, self.rule(template.tree, arguments))
            done += 1
            check_time()
            if done > self.limits.max_nodes:
                raise LimitError("max_nodes", self.limits.max_nodes, f"uses of the template {template.name!r}")
        if start not in self.found:
            raise self.source.fail(f"there is no rule {start!r} to start from", 0)
        self.found[_START] = Rule(start, sequence([self.ignored, Ref(start)]), self.found[start].at)
        return self.found

    def announce(self, definition: Definition) -> None:
        """Refuse what was only declared; note what has no effect."""
        if definition.tree is None:
            reason = f"{definition.name!r} is only declared: what it stands for is not known"
            raise self.source.fail(reason, self.source.used_at(definition.name))
        if definition.priority and definition.at is not None:
            self.note(definition.name, definition.at, "has a priority, which restricts nothing here")

    def note(self, name: str, at: int | None, what: str) -> None:
        line = "" if at is None else f"line {self.source.text.count(chr(10), 0, at) + 1}: "
        self.report.add("", name, "note", f"{line}{name!r} {what}")

    # Terminals -------------------------------------------------------------------------------------------------------

    def terminal(self, definition: Definition) -> Expr:
        """The language of a terminal's definition."""
        return self.language(definition.name, _made(definition.tree, self.pattern_node), definition.at)

    def pattern_node(self, tree: Any, made: Callable[[Any], syntax.Node]) -> syntax.Node:
        """The pattern that one part of a terminal stands for."""
        kind, children = tree.data, tree.children
        if kind == "expansions":
            return syntax.alternatives([made(child) for child in children])
        if kind == "expansion":
            return syntax.concatenate([made(child) for child in children])
        if kind == "maybe":
            return syntax.repeat(made(children[0]), 0, 1)
        if kind == "expr":
            return syntax.repeat(made(children[0]), *self.counts(children[1:]))
        if kind == "value":
            return made(children[0])
        if kind == "alias":
            raise self.source.fail("a terminal cannot have an alias", self.source.position(children[1]))
        return self.pattern(tree)

    def pattern(self, tree: Any) -> syntax.Node:
        """A literal, a regular expression or a range of characters."""
        from lark.exceptions import LarkError
        from lark.lexer import PatternStr
        from lark.load_grammar import PrepareLiterals

        token = tree.children[0]
        at = self.source.position(token)
        try:
            found = PrepareLiterals().transform(tree).children[0]
        except (LarkError, AssertionError, ValueError) as error:
            reason = str(getattr(error, "orig_exc", error)).strip() or "a range needs two single characters"
            raise self.source.fail(reason.splitlines()[0], at) from None
        if isinstance(found, PatternStr) and not found.flags:
            if any("\ud800" <= char <= "\udfff" for char in found.value):
                raise self.source.fail("a surrogate is no character", at)
            return syntax.text(found.value)
        try:
            return parse(found.to_regexp(), dialect="python", limits=self.limits)
        except GrammarError as error:
            raise self.source.fail(f"in the pattern {token}: {error.reason}", at) from None

    def language(self, name: str, node: syntax.Node, at: int | None) -> Expr:
        if node.pure:
            return regular(node)
        self.note(name, at, "looks around itself: it sees no further than its own text")
        return Language(compile_node(node, limits=self.limits))

    def counts(self, arguments: list[Any]) -> tuple[int, int | None]:
        """Least and greatest count of an operator and its numbers."""
        operator, *numbers = arguments
        if operator in _OPERATORS:
            return _OPERATORS[operator]
        low, high = int(numbers[0]), int(numbers[-1])
        if not 0 <= low <= high:
            raise self.source.fail(f"no count can be {low}..{high}", self.source.position(operator))
        return low, high

    # Rules -----------------------------------------------------------------------------------------------------------

    def rule(self, tree: Any, arguments: dict[str, _Argument]) -> Expr:
        """The right-hand side of a rule, or of a template with its arguments."""

        def one(tree: Any, made: Callable[[Any], Expr]) -> Expr:
            kind, children = tree.data, tree.children
            if kind == "expansions":
                return choice(made(child) for child in children)
            if kind == "expansion":
                return sequence(made(child) for child in children)
            if kind == "maybe":
                return repetition(made(children[0]), 0, 1)
            if kind == "expr":
                return repetition(made(children[0]), *self.counts(children[1:]))
            if kind == "alias":
                return made(children[0])
            if kind == "template_usage":
                return self.use(children, arguments, made)
            if kind != "value":
                found = self.language(str(tree.children[0]), self.pattern(tree), self.source.position(tree.children[0]))
                return sequence([found, self.ignored])
            if hasattr(children[0], "data"):
                return made(children[0])
            return self.named(children[0], arguments).expr

        return _made(tree, one)

    def named(self, symbol: Any, arguments: dict[str, _Argument]) -> _Argument:
        """A rule, a terminal or a parameter."""
        name = str(symbol.name)
        if name in arguments:
            return arguments[name]
        if symbol.is_term:
            return _Argument(name, sequence([Ref(name), self.ignored]))
        return _Argument(name, Ref(name, self.source.used_at(name)))

    def use(self, children: list[Any], arguments: dict[str, _Argument], made: Callable[[Any], Expr]) -> Expr:
        """A template with arguments: the rule that is made of them."""
        template = str(children[0].name)
        template = arguments[template].key if template in arguments else template
        given = []
        for value in children[1:]:
            inner = value.children[0]
            if not hasattr(inner, "data"):
                given.append(self.named(inner, arguments))
            elif inner.data == "template_usage":
                expr = made(inner)
                assert isinstance(expr, Ref)
                given.append(_Argument(expr.name, expr))
            else:
                given.append(_Argument("..".join(map(str, inner.children)), made(inner)))
        name = f"{template}{{{','.join(argument.key for argument in given)}}}"
        definition = self.templates.get(template) or self.template(template)
        if len(definition.params) != len(given):
            reason = f"template {template!r} takes {len(definition.params)} arguments, not {len(given)}"
            raise self.source.fail(reason, self.source.used_at(template))
        if len(name) > 10_000:
            raise LimitError("max_nodes", self.limits.max_nodes, f"uses of the template {template!r} in each other")
        self.instances.setdefault(name, (definition, dict(zip(definition.params, given, strict=True))))
        return Ref(name)

    def template(self, name: str) -> Definition:
        for definition in self.source.rules:
            if definition.name == name and definition.params:
                return definition
        raise self.source.fail(f"{name!r} is no template", self.source.used_at(name))

    def extension(self, extension: Extension) -> Expr:
        """A JSON Schema or control tokens, and ignored text after them."""
        if extension.tokens is None:
            found: Expr = json_values(extension.schema, limits=self.limits, report=self.report)
        else:
            try:
                if extension.negated:
                    found = self.tokens.all_but(extension.tokens, extension.least, self.limits)
                else:
                    found = choice(
                        self.tokens.named(token) if isinstance(token, str) else self.tokens.numbered(token)
                        for token in extension.tokens
                    )
            except ValueError as error:
                raise self.source.fail(str(error), extension.at) from None
        return sequence([found, self.ignored])


def _made(tree: Any, make: Callable[[Any, Callable[[Any], T]], T]) -> T:
    """make(part, of_part) for every part of a tree, the inner ones first. Parts may be shared, as terminals are."""
    results: dict[int, T] = {}
    todo: list[tuple[Any, bool]] = [(tree, False)]
    while todo:
        part, ready = todo.pop()
        if ready:
            results[id(part)] = make(part, lambda inner: results[id(inner)])
        elif id(part) not in results:
            todo.append((part, True))
            todo.extend((inner, False) for inner in part.children if hasattr(inner, "data"))
    return results[id(tree)]
