r"""Reader of GBNF, the grammar notation of llama.cpp (grammars/README.md of that project).

    root  ::= "yes" | "no" ws [0-9a-fA-F]{1,4}    literals, classes, counts
    ws    ::= ( " " | "\n" )*                       groups may run over lines
    think ::= <think> !</think>* </think>           control tokens, by name or as <[id]>

Escapes are \n \r \t \\ \" \[ \] \- \xNN \uNNNN \UNNNNNNNN and name code points; `.` is any character. A line break ends
a rule only where the next rule begins: that llama.cpp wants `|` before it is not asked for. A rule that is defined
twice counts as it was last defined, as there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from re import compile as compile_re

from .._errors import GrammarError, LimitError
from .._limits import Limits
from ..languages import charsets, syntax
from ..schema.report import Report
from ..vocabulary import Vocabulary
from .cfg import Built, Rule, compile_rules
from .expressions import Expr, Ref, choice, literal, regular, repetition, sequence
from .tokens import Tokens

__all__ = ["compile_text", "read_rules"]

_NAME = compile_re(r"[A-Za-z0-9_-]+")
_SPACE = compile_re(r"(?:[ \t\r\n]|#[^\n]*)*")
_DEFINES = compile_re(r"[ \t]*::=")
_COUNTS = compile_re(r"\{\s*([0-9]{1,9})\s*(?:(,)\s*([0-9]{1,9})?\s*)?\}")
_TOKEN = compile_re(r"<(?:\[\s*([0-9]{1,9})\s*\]|[^>\n\[][^>\n]*)>")
_SHORT = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\", '"': '"', "[": "[", "]": "]", "-": "-"}
_HEX = {"x": 2, "u": 4, "U": 8}
_QUANTIFIERS = {"*": (0, None), "+": (1, None), "?": (0, 1)}


def compile_text(
    text: str, vocab: Vocabulary | None, root: str, limits: Limits, report: Report
) -> tuple[Built, frozenset[int]]:
    """The grammar, and the control tokens that it names. Raises GrammarError, LimitError."""
    tokens = Tokens(vocab)
    rules = read_rules(text, tokens, limits, report)
    return compile_rules(rules, root, text=text, limits=limits, report=report), frozenset(tokens.used)


def read_rules(text: str, tokens: Tokens, limits: Limits, report: Report) -> dict[str, Rule]:
    """The rules of a grammar text."""
    if not isinstance(text, str):
        raise GrammarError(f"a grammar must be text, not {type(text).__name__}")
    if len(text) > limits.max_source_bytes:
        raise LimitError("max_source_bytes", limits.max_source_bytes, "length of a grammar")
    return _Reader(text, tokens, limits, report).rules()


@dataclass(frozen=True)
class _Unless:
    """!<token>: any token but that; what it stands for depends on how it is repeated."""

    token: str | int
    at: int


@dataclass
class _Group:
    """An open group, or the whole rule: its finished alternatives, and the current one."""

    at: int
    options: list[Expr] = field(default_factory=list)
    parts: list[Expr | _Unless] = field(default_factory=list)


class _Reader:
    def __init__(self, text: str, tokens: Tokens, limits: Limits, report: Report) -> None:
        self.text, self.tokens, self.limits, self.report = text, tokens, limits, report
        self.at = 0

    def fail(self, reason: str, at: int | None = None) -> GrammarError:
        return GrammarError(reason, self.text, self.at if at is None else at)

    def skip(self) -> None:
        found = _SPACE.match(self.text, self.at)
        assert found is not None
        self.at = found.end()

    def rules(self) -> dict[str, Rule]:
        found: dict[str, Rule] = {}
        self.skip()
        while self.at < len(self.text):
            begin = self.at
            name = _NAME.match(self.text, begin)
            defines = name and _DEFINES.match(self.text, name.end())
            if not name or not defines:
                raise self.fail("a rule is expected here: name ::= ...")
            self.at = defines.end()
            if name.group() in found:
                line = self.text.count("\n", 0, begin) + 1
                self.report.add("", name.group(), "note", f"line {line}: rule {name.group()!r} is defined anew")
            found[name.group()] = Rule(name.group(), self.body(), begin)
        if not found:
            raise self.fail("a grammar needs a rule: name ::= ...")
        return found

    def body(self) -> Expr:
        """The right-hand side of a rule, up to the next rule or the end."""
        text = self.text
        stack = [_Group(self.at)]
        while True:
            self.skip()
            group, begin = stack[-1], self.at
            char = text[begin : begin + 1]
            if not char or (len(stack) == 1 and self.next_rule()):
                break
            if char == "|":
                self.at += 1
                group.options.append(self.finish(group.parts, begin))
                group.parts = []
            elif char == "(":
                self.at += 1
                stack.append(_Group(begin))
                if len(stack) > self.limits.max_depth:
                    raise LimitError("max_depth", self.limits.max_depth, "groups in a grammar")
            elif char == ")":
                if len(stack) == 1:
                    raise self.fail("this ) closes no group")
                self.at += 1
                stack.pop()
                group.options.append(self.finish(group.parts, begin))
                stack[-1].parts.append(choice(group.options))
            elif char in _QUANTIFIERS or char == "{":
                self.quantify(group.parts)
            else:
                group.parts.append(self.item(char))
        if len(stack) > 1:
            raise self.fail("this group is not closed", stack[-1].at)
        group = stack[0]
        group.options.append(self.finish(group.parts, self.at))
        return choice(group.options)

    def next_rule(self) -> bool:
        name = _NAME.match(self.text, self.at)
        return name is not None and _DEFINES.match(self.text, name.end()) is not None

    def finish(self, parts: list[Expr | _Unless], at: int) -> Expr:
        for part in parts:
            if isinstance(part, _Unless):
                raise self.fail("!<token> needs * or + after it: one token is no more than some text", part.at)
        return sequence(part for part in parts if isinstance(part, Expr))

    def quantify(self, parts: list[Expr | _Unless]) -> None:
        begin = self.at
        low, high = 0, None
        char = self.text[begin]
        if char == "{":
            found = _COUNTS.match(self.text, begin)
            if found is None:
                raise self.fail("a count is {m}, {m,} or {m,n}")
            low = int(found[1])
            high = (int(found[3]) if found[3] else None) if found[2] else low
            if high is not None and low > high:
                raise self.fail(f"the least count {low} exceeds the greatest {high}")
            self.at = found.end()
        else:
            low, high = _QUANTIFIERS[char]
            self.at += 1
        if not parts:
            raise self.fail("nothing to repeat before this", begin)
        last = parts[-1]
        if isinstance(last, _Unless):
            if low > 1 or high is not None:
                raise self.fail("!<token> can be repeated by * or + only: tokens are not counted", begin)
            try:
                parts[-1] = self.tokens.all_but([last.token], low, self.limits)
            except ValueError as error:
                raise self.fail(str(error), last.at) from None
        else:
            parts[-1] = repetition(last, low, high)

    def item(self, char: str) -> Expr | _Unless:
        begin = self.at
        if char == '"':
            self.at += 1
            chars = []
            while not self.text.startswith('"', self.at):
                if self.at >= len(self.text):
                    raise self.fail("this literal is not closed", begin)
                at = self.at
                code = self.char()
                if 0xD800 <= code < 0xE000:
                    raise self.fail("a surrogate is no character", at)
                chars.append(chr(code))
            self.at += 1
            return literal("".join(chars))
        if char == "[":
            return self.bracket(begin)
        if char == ".":
            self.at += 1
            return regular(syntax.chars(charsets.ALL))
        if char == "<" or self.text.startswith("!<", begin):
            return self.token(begin, negated=char == "!")
        name = _NAME.match(self.text, begin)
        if name is None:
            raise self.fail(f"{char!r} cannot stand here")
        self.at = name.end()
        return Ref(name.group(), begin)

    def token(self, begin: int, negated: bool) -> Expr | _Unless:
        """<name>, <[id]>, or either of them after !."""
        found = _TOKEN.match(self.text, begin + negated)
        if found is None:
            raise self.fail("a token is written <name> or <[id]>", begin)
        self.at = found.end()
        token = int(found[1]) if found[1] else found[0]
        if negated:
            return _Unless(token, begin)
        try:
            return self.tokens.named(token) if isinstance(token, str) else self.tokens.numbered(token)
        except ValueError as error:
            raise self.fail(str(error), begin) from None

    def bracket(self, begin: int) -> Expr:
        self.at += 1
        negated = self.text.startswith("^", self.at)
        if negated:
            self.at += 1
        ranges: list[tuple[int, int]] = []
        while not self.text.startswith("]", self.at):
            if self.at >= len(self.text):
                raise self.fail("this class is not closed", begin)
            at = self.at
            low = high = self.char()
            if self.text.startswith("-", self.at) and not self.text.startswith("-]", self.at):
                self.at += 1
                high = self.char()
                if low > high:
                    raise self.fail("a range that runs backwards", at)
            ranges.append((low, high))
        if not ranges:
            raise self.fail("an empty class", begin)
        self.at += 1
        members = charsets.make(ranges)
        return regular(syntax.chars(charsets.complement(members) if negated else members))

    def char(self) -> int:
        """One code point, as itself or as an escape."""
        text, begin = self.text, self.at
        if begin >= len(text):
            raise self.fail("the grammar ends too early")
        self.at += 1
        if text[begin] != "\\":
            return ord(text[begin])
        kind = text[begin + 1 : begin + 2]
        self.at += 1
        if kind in _HEX:
            digits = text[self.at : self.at + _HEX[kind]]
            if len(digits) < _HEX[kind] or not digits.isascii() or not digits.isalnum():
                raise self.fail(f"{_HEX[kind]} hexadecimal digits expected", begin)
            try:
                code = int(digits, 16)
            except ValueError:
                raise self.fail(f"{_HEX[kind]} hexadecimal digits expected", begin) from None
            if code > charsets.MAX:
                raise self.fail("beyond the last code point", begin)
            self.at += len(digits)
            return code
        if not kind or kind not in _SHORT:
            raise self.fail(f"unknown escape \\{kind}", begin)
        return ord(_SHORT[kind])
