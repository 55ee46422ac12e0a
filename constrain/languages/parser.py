r"""Reader of pattern texts: ECMA-262 (2025, `u` semantics, as JSON Schema asks for) and Python's `re`.

The ECMA dialect reads code points, takes surrogate pairs of escapes as one, and keeps the leniencies of Annex B that
real schemas rely on: identity escapes of punctuation, literal ] { }, a class escape as the end of a range. Groups nest
without recursion. What is not regular, or would silently mean something else, is a GrammarError at its position.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from .._errors import ArgumentError, GrammarError, LimitError
from .._limits import Limits
from . import charsets
from .charsets import CharSet
from .syntax import (
    EMPTY,
    Node,
    alternatives,
    chars,
    concatenate,
    end,
    look,
    look_behind,
    repeat,
    start,
    word_boundary,
)

__all__ = ["parse"]

DIGIT: CharSet = ((0x30, 0x39),)
WORD: CharSet = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
SPACE: CharSet = ((0x09, 0x0D), (0x20, 0x20), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A), (0x2028, 0x2029),
                  (0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000), (0xFEFF, 0xFEFF))  # fmt: skip
ASCII_SPACE: CharSet = ((0x09, 0x0D), (0x20, 0x20))
NEWLINE: CharSet = ((0x0A, 0x0A),)
LINE_ENDS: CharSet = ((0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029))
_CONTROLS = {"t": 9, "n": 10, "v": 11, "f": 12, "r": 13}
_PYTHON_CONTROLS = {**_CONTROLS, "a": 7}
_BINARY = {"Any": charsets.ALL, "ASCII": ((0, 0x7F),)}
# The first row is ECMA-262's; the second is what the formats need.
_PROPERTIES = {"General_Category", "gc", "Script", "sc", "Script_Extensions", "scx",
               "Bidi_Class", "Canonical_Combining_Class", "Joining_Type", "NFKC_Quick_Check"}  # fmt: skip
_HEX = frozenset("0123456789abcdefABCDEF")
_QUANTIFIERS = {"*": (0, None), "+": (1, None), "?": (0, 1)}


class _Flags(NamedTuple):
    ignore_case: bool = False
    multiline: bool = False
    dot_all: bool = False
    ascii: bool = False
    verbose: bool = False


@dataclass
class _Group:
    """An open group: what it does with its body, its flags, its finished alternatives and its current one."""

    kind: str
    at: int
    outer: _Flags
    options: list[Node] = field(default_factory=list)
    parts: list[Node] = field(default_factory=list)


class _Parser:
    def __init__(self, text: str, python: bool, limits: Limits) -> None:
        self.text, self.python, self.limits = text, python, limits
        self.at = 0
        self.flags = _Flags()
        self.sets: dict[str, CharSet] = {}
        self.names: set[str] = set()

    def fail(self, reason: str, at: int | None = None) -> GrammarError:
        return GrammarError(reason, self.text, self.at if at is None else at)

    def parse(self) -> Node:
        text = self.text
        stack = [_Group("(?:", 0, self.flags)]
        if self.python:
            self.global_flags()
        while self.at < len(text):
            group = stack[-1]
            begin = self.at
            char = text[begin]
            self.at += 1
            quantifiable = True
            if char == "|":
                group.options.append(concatenate(group.parts))
                group.parts = []
                continue
            if char == "(":
                opened = self.open_group()
                if opened is not None:
                    stack.append(opened)
                    if len(stack) > self.limits.max_depth:
                        raise LimitError("max_depth", self.limits.max_depth, "groups in a pattern")
                continue
            if char == ")":
                if len(stack) == 1:
                    raise self.fail("this ) closes no group", begin)
                stack.pop()
                node = self.close_group(group)
                group = stack[-1]
            elif char in "*+?":
                raise self.fail(f"nothing to repeat before {char!r}", begin)
            elif char == "{" and self.counts(begin) is not None:
                raise self.fail("nothing to repeat before this count", begin)
            elif char == "^":
                node = self.line_start() if self.flags.multiline else start()
                quantifiable = False
            elif char == "$":
                node = self.line_end()
                quantifiable = False
            elif char == ".":
                ends = NEWLINE if self.python else LINE_ENDS
                node = chars(charsets.ALL if self.flags.dot_all else charsets.complement(ends))
            elif char == "[":
                node = chars(self.bracket(begin))
            elif char == "\\":
                node, quantifiable = self.escape(begin)
            elif self.flags.verbose and (char in " \t\n\r\v\f" or char == "#"):
                if char == "#":
                    stop = text.find("\n", self.at)
                    self.at = len(text) if stop < 0 else stop
                continue
            else:
                node = chars(self.fold(((ord(char), ord(char)),)))
            group.parts.append(self.quantify(node, quantifiable))
        if len(stack) > 1:
            raise self.fail("this group is not closed", stack[-1].at)
        group = stack[0]
        return alternatives([*group.options, concatenate(group.parts)]) if group.options else concatenate(group.parts)

    # Quantifiers

    def counts(self, at: int) -> tuple[int, int | None, int] | None:
        """(low, high, end) of the count that begins at `at`, or None where the { is a literal."""
        text = self.text
        stop = text.find("}", at)
        if stop < 0:
            return None
        low, comma, high = text[at + 1 : stop].partition(",")
        if not ((low.isascii() and low.isdigit()) or (not low and comma and self.python)):
            return None
        if high and not (high.isascii() and high.isdigit()):
            return None
        if len(low) > 9 or len(high) > 9:
            raise self.fail("a count of more than nine digits", at)
        least = int(low or 0)
        if not comma:
            return least, least, stop + 1
        return least, int(high) if high else None, stop + 1

    def quantify(self, node: Node, quantifiable: bool) -> Node:
        text = self.text
        if self.at >= len(text):
            return node
        begin = self.at
        char = text[begin]
        if char in _QUANTIFIERS:
            low, high = _QUANTIFIERS[char]
            self.at += 1
        elif char == "{" and (found := self.counts(begin)) is not None:
            low, high, self.at = found
            if high is not None and low > high:
                raise self.fail(f"the least count {low} exceeds the greatest {high}", begin)
        else:
            return node
        if not quantifiable:
            raise self.fail("an assertion cannot be repeated", begin)
        if self.at < len(text):
            if text[self.at] == "?":
                self.at += 1  # a lazy quantifier matches the same strings
            elif text[self.at] == "+" and self.python:
                raise self.fail("possessive quantifiers are not supported: they can reject what the plain one matches")
        if node.nullable and not node.pure and low > self.limits.max_states:
            raise LimitError("max_states", self.limits.max_states, "copies of an assertion")
        return repeat(node, low, high)

    # Groups

    def global_flags(self) -> None:
        if self.text.startswith("(?"):
            stop = self.text.find(")")
            body = self.text[2:stop]
            if body and body.isalpha() and body.isascii():
                self.at = 2
                self.flags = self.change(body, 2)
                self.at = stop + 1

    def change(self, letters: str, at: int) -> _Flags:
        """The flags after "letters" or "on-off"."""
        on, dash, off = letters.partition("-")
        known = {"i": "ignore_case", "m": "multiline", "s": "dot_all"}
        if self.python:
            known |= {"a": "ascii", "x": "verbose"}
        values = {}
        for offset, letter in enumerate(letters):
            if letter == "-":
                continue
            if letter == "u" and self.python:
                values["ascii"] = False
            elif letter in known:
                values[known[letter]] = offset < len(on)
            else:
                raise self.fail(f"unknown or unsupported flag {letter!r}", at + offset)
        if dash and not off and not on:
            raise self.fail("no flag to change", at)
        return self.flags._replace(**values)

    def open_group(self) -> _Group | None:
        """The group whose ( was just read; None for a comment."""
        begin = self.at - 1
        text = self.text
        flags = self.flags
        if not text.startswith("?", self.at):
            return _Group("(", begin, flags)
        for kind in ("?:", "?=", "?!", "?<=", "?<!"):
            if text.startswith(kind, self.at):
                self.at += len(kind)
                return _Group(kind, begin, flags)
        named = "?P<" if self.python else "?<"
        if text.startswith(named, self.at):
            stop = text.find(">", self.at)
            name = text[self.at + len(named) : stop] if stop > 0 else ""
            if not name.replace("$", "_").isidentifier():
                raise self.fail("a group name must be an identifier", self.at + len(named))
            if name in self.names and self.python:
                raise self.fail(f"a second group named {name!r}", self.at + len(named))
            self.at = stop + 1
            self.names.add(name)
            return _Group("(", begin, flags)
        if self.python:
            if text.startswith("?#", self.at):
                stop = text.find(")", self.at)
                if stop < 0:
                    raise self.fail("this comment is not closed", begin)
                self.at = stop + 1
                return None
            if text.startswith("?P=", self.at):
                raise self.fail("back-references are not regular", begin)
            if text.startswith("?>", self.at):
                raise self.fail("atomic groups are not supported: they can reject what the plain group matches", begin)
            if text.startswith("?(", self.at):
                raise self.fail("conditional groups are not regular", begin)
        stop = self.at + 1
        while stop < len(text) and (text[stop].isalpha() or text[stop] == "-"):
            stop += 1
        if stop > self.at + 1 and stop < len(text) and text[stop] == ":":
            self.flags = self.change(text[self.at + 1 : stop], self.at + 1)
            self.at = stop + 1
            return _Group("?:", begin, flags)
        if stop > self.at + 1 and text.startswith(")", stop) and not self.python:
            raise self.fail(f"ECMA-262 knows flags for a group only; write (?{text[self.at + 1 : stop]}:...)", begin)
        raise self.fail("unknown kind of group", begin)

    def close_group(self, group: _Group) -> Node:
        self.flags = group.outer
        body = concatenate(group.parts)
        if group.options:
            body = alternatives([*group.options, body])
        if group.kind in ("?=", "?!"):
            return look(body, group.kind == "?!")
        if group.kind in ("?<=", "?<!"):
            return look_behind(body, group.kind == "?<!")
        return body

    # Anchors

    def line_start(self) -> Node:
        return alternatives([start(), look_behind(chars(NEWLINE if self.python else LINE_ENDS), False)])

    def line_end(self) -> Node:
        if self.flags.multiline:
            return alternatives([end(), look(chars(NEWLINE if self.python else LINE_ENDS), False)])
        if self.python:
            return alternatives([end(), look(concatenate([chars(NEWLINE), end()]), False)])
        return end()

    # Characters

    def fold(self, members: CharSet) -> CharSet:
        if not self.flags.ignore_case:
            return members
        if self.flags.ascii:
            small = charsets.intersect(members, ((0x41, 0x5A), (0x61, 0x7A)))
            return charsets.union(members, tuple((lo ^ 0x20, hi ^ 0x20) for lo, hi in small))
        return charsets.case_closure(members, not self.python)

    def shorthand(self, letter: str) -> CharSet:
        kind = letter.lower()
        if not self.python or self.flags.ascii:
            members = {"d": DIGIT, "w": WORD, "s": ASCII_SPACE if self.python else SPACE}[kind]
            if kind == "w" and self.flags.ignore_case and not self.python:
                members = self.fold(members)  # long s and the Kelvin sign
        else:
            members = _unicode_shorthand(kind)
        return charsets.complement(members) if letter.isupper() else members

    def escape(self, begin: int) -> tuple[Node, bool]:
        """(node, whether it may be repeated) for the escape whose backslash was just read."""
        if self.at >= len(self.text):
            raise self.fail("a pattern cannot end in a backslash", begin)
        char = self.text[self.at]
        if char in "bB":
            self.at += 1
            boundary = word_boundary(self.shorthand("w"), char == "B")
            if self.python and char == "B":  # there, up to 3.13, the empty text has neither
                boundary = concatenate([look(concatenate([start(), end()]), True), boundary])
            return boundary, False
        octal = self.python and len(digits := self.text[self.at : self.at + 3]) == 3 and not digits.strip("01234567")
        if (char in "123456789" and not octal) or (char == "k" and not self.python):
            raise self.fail("back-references are not regular", begin)
        if char == "A" and self.python:
            self.at += 1
            return start(), False
        if char == "Z" and self.python:
            self.at += 1
            return end(), False
        if char in "AZz" and not self.python:
            other = "^" if char == "A" else "$"
            raise self.fail(f"\\{char} is no anchor in ECMA-262; write {other}", begin)
        members = self.class_escape(begin)
        return chars(members if isinstance(members, tuple) else self.fold(((members, members),))), True

    def class_escape(self, begin: int) -> int | CharSet:
        """What an escape stands for, in or outside brackets: one code point or a set."""
        text = self.text
        char = text[self.at]
        self.at += 1
        if char in "dDwWsS":
            return self.shorthand(char)
        controls = _PYTHON_CONTROLS if self.python else _CONTROLS
        if char in controls:
            return controls[char]
        if char == "x":
            return self.hexadecimal(2, begin)
        if char == "u":
            return self.unicode_escape(begin)
        if self.python:
            if char == "U":
                value = self.hexadecimal(8, begin)
                if value > charsets.MAX:
                    raise self.fail("beyond the last code point", begin)
                return value
            if char == "N":
                return self.character_name(begin)
            if char in "01234567":  # outside brackets only with a 0 first or as three digits
                stop = self.at
                while stop < self.at + 2 and stop < len(text) and text[stop] in "01234567":
                    stop += 1
                value = int(text[self.at - 1 : stop], 8)
                if value > 0o377:
                    raise self.fail("an octal escape beyond \\377", begin)
                self.at = stop
                return value
        elif char == "c":
            if self.at < len(text) and text[self.at].isascii() and text[self.at].isalpha():
                self.at += 1
                return ord(text[self.at - 1]) % 32
            raise self.fail("\\c needs a letter", begin)
        elif char in "pP":
            return self.unicode_property(char == "P", begin)
        elif char == "0" and not (self.at < len(text) and text[self.at].isdigit()):
            return 0
        if char.isascii() and char.isalnum():
            raise self.fail(f"unknown escape \\{char}", begin)
        return ord(char)

    def hexadecimal(self, digits: int, begin: int) -> int:
        found = self.text[self.at : self.at + digits]
        if len(found) < digits or not _HEX.issuperset(found):
            raise self.fail(f"{digits} hexadecimal digits expected", begin)
        self.at += digits
        return int(found, 16)

    def unicode_escape(self, begin: int) -> int:
        text = self.text
        if not self.python and text.startswith("{", self.at):
            stop = text.find("}", self.at)
            found = text[self.at + 1 : stop] if stop > 0 else ""
            if not found or not _HEX.issuperset(found) or int(found, 16) > charsets.MAX:
                raise self.fail("\\u{...} needs the hexadecimal number of a code point", begin)
            self.at = stop + 1
            return int(found, 16)
        value = self.hexadecimal(4, begin)
        if not self.python and 0xD800 <= value < 0xDC00 and text.startswith("\\u", self.at):
            low = text[self.at + 2 : self.at + 6]
            if len(low) == 4 and _HEX.issuperset(low) and 0xDC00 <= int(low, 16) < 0xE000:
                self.at += 6
                return 0x10000 + ((value - 0xD800) << 10) + int(low, 16) - 0xDC00
        return value

    def character_name(self, begin: int) -> int:
        import unicodedata

        stop = self.text.find("}", self.at)
        if self.text.startswith("{", self.at) and stop > 0:
            try:
                value = ord(unicodedata.lookup(self.text[self.at + 1 : stop]))
            except (KeyError, TypeError):
                raise self.fail("unknown character name", begin) from None
            self.at = stop + 1
            return value
        raise self.fail("\\N needs a name in braces", begin)

    def unicode_property(self, negated: bool, begin: int) -> CharSet:
        r"""\p{Value}, \p{Property} or \p{Property=Value}."""
        import regex

        stop = self.text.find("}", self.at)
        if not self.text.startswith("{", self.at) or stop < 0:
            raise self.fail("\\p needs a property in braces", begin)
        expression = self.text[self.at + 1 : stop]
        self.at = stop + 1
        if expression in _BINARY:
            members = _BINARY[expression]
        else:
            key, equals, value = expression.partition("=")
            if (equals and (key not in _PROPERTIES or not value)) or not key.replace("_", "").isalnum():
                raise self.fail(f"unknown property {expression!r}", begin)
            try:
                members = charsets.property_set(f"\\p{{{expression}}}")
            except regex.error:
                raise self.fail(f"unknown property {expression!r}", begin) from None
        if negated:
            members = charsets.complement(members)
        return self.fold(members)

    def bracket(self, begin: int) -> CharSet:
        """The set of the brackets whose [ was just read."""
        text = self.text
        negated = text.startswith("^", self.at)
        if negated:
            self.at += 1
        ranges: list[tuple[int, int]] = []
        sets: list[CharSet] = []
        first = True
        while True:
            if self.at >= len(text):
                raise self.fail("these brackets are not closed", begin)
            if text[self.at] == "]" and not (first and self.python):
                self.at += 1
                break
            first = False
            at = self.at
            low = self.class_atom(begin)
            if text.startswith("-", self.at) and self.at + 1 < len(text) and text[self.at + 1] != "]":
                self.at += 1
                high = self.class_atom(begin)
                if isinstance(low, int) and isinstance(high, int):
                    if low > high:
                        raise self.fail("a range that runs backwards", at)
                    ranges.append((low, high))
                    continue
                if self.python:
                    raise self.fail("a range needs two characters", at)
                ranges.append((0x2D, 0x2D))
                if isinstance(high, int):
                    ranges.append((high, high))
                else:
                    sets.append(high)
            if isinstance(low, int):
                ranges.append((low, low))
            else:
                sets.append(low)
        members = charsets.union(self.fold(charsets.make(ranges)), *sets)
        return charsets.complement(members) if negated else members

    def class_atom(self, begin: int) -> int | CharSet:
        char = self.text[self.at]
        at = self.at
        self.at += 1
        if char != "\\":
            return ord(char)
        if self.at >= len(self.text):
            raise self.fail("these brackets are not closed", begin)
        if self.text[self.at] == "b":
            self.at += 1
            return 8
        return self.class_escape(at)


def _unicode_shorthand(kind: str) -> CharSet:
    r"""Python's \d, \w and \s for str."""
    found = _shorthands.get(kind)
    if found is None:
        tests = {"d": str.isdecimal, "s": str.isspace, "w": lambda c: c.isalnum() or c == "_"}
        test = tests[kind]
        found = _shorthands[kind] = charsets.make((code, code) for code in range(charsets.MAX + 1) if test(chr(code)))
    return found


_shorthands: dict[str, CharSet] = {}


def parse(text: str, *, dialect: str, limits: Limits) -> Node:
    """The syntax tree of `text`. dialect: "ecma" or "python". Raises GrammarError (with position) and LimitError."""
    if dialect not in ("ecma", "python"):
        raise ArgumentError(f"dialect must be 'ecma' or 'python', not {dialect!r}")
    if len(text) > limits.max_source_bytes:
        raise LimitError("max_source_bytes", limits.max_source_bytes, "length of a pattern")
    return _Parser(text, dialect == "python", limits).parse() if text else EMPTY
