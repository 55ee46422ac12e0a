"""What constrained decoding adds to Lark's grammar language, taken out of the text before `lark` reads it.

    call: <tool_call> %json {"type": "object"} </tool_call>

`%json` and a JSON Schema stands for its values, `<name>` and `<[id, low-high]>` for control tokens, `<[^id]>` and
`<[*]>` under * or + for runs of any tokens but these. Each becomes the name of a rule that does not occur in the text.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from dataclasses import dataclass
from operator import itemgetter
from re import VERBOSE
from re import compile as compile_re
from typing import Any

from .._errors import GrammarError

__all__ = ["Extended", "Extension", "take_out"]

_PIECES = compile_re(
    r"""(?P<text> //[^\n]* | \#[^\n]* | "(?:\\.|[^"\\\n])*" | /(?!/)(?:\\.|[^/\\])*?/ )
      | (?P<json> %json\b ) | (?P<refused> %(?:regex|llguidance|lark)\b | @[A-Za-z_0-9]+ )
      | (?P<token> < (?: \[ [^\]\n]* \] | [^>\n\[] [^>\n]* ) > )""",
    VERBOSE,
)
_RANGE = compile_re(r"\s*([0-9]{1,9})\s*(?:-\s*([0-9]{1,9})\s*)?")
_REPEATED = compile_re(r"[ \t]*([*+])")


@dataclass(frozen=True)
class Extension:
    """schema: of %json, else tokens: names or ids, all others than these if `negated`, so many at `least`.

    at: position in the source.
    """

    at: int
    schema: Any = None
    tokens: tuple[str | int, ...] | None = None
    negated: bool = False
    least: int = 0


@dataclass(frozen=True)
class Extended:
    """text: for `lark`; extensions: by the names that stand for them there."""

    source: str
    text: str
    extensions: dict[str, Extension]
    moved: tuple[tuple[int, int], ...]

    def position(self, at: int) -> int:
        """Where position `at` of `text` lies in the source."""
        before = bisect_right(self.moved, at, key=itemgetter(0))
        shift = self.moved[before - 1][1] if before else 0
        return min(at + shift, len(self.source))


def take_out(source: str) -> Extended:
    """Raises GrammarError where an extension is malformed or not supported."""
    prefix = "extension"
    while prefix in source:
        prefix += "x"
    parts: list[str] = []
    moved: list[tuple[int, int]] = []
    extensions: dict[str, Extension] = {}
    at = length = 0
    while (found := _PIECES.search(source, at)) is not None:
        begin, end = found.span()
        if found["refused"]:
            raise GrammarError(f"{found['refused']} is not supported", source, begin)
        if found["text"]:
            parts.append(source[at:end])
            length += end - at
            at = end
            continue
        if found["json"]:
            extension, end = _schema(source, begin, end)
        else:
            extension, end = _tokens(source, begin, end)
        name = f"{prefix}{len(extensions)}"
        extensions[name] = extension
        parts += [source[at:begin], f" {name} "]
        length += begin - at + len(name) + 2
        at = end
        moved.append((length, at - length))
    parts.append(source[at:])
    parts.append("".join(f"\n{name}:" for name in extensions))
    return Extended(source, "".join(parts), extensions, tuple(moved))


def _schema(source: str, begin: int, at: int) -> tuple[Extension, int]:
    while at < len(source) and source[at] in " \t\r\n":
        at += 1
    try:
        schema, end = json.JSONDecoder().raw_decode(source, at)
    except json.JSONDecodeError as error:
        raise GrammarError(f"%json needs a JSON Schema: {error.msg}", source, error.pos) from None
    except RecursionError:
        raise GrammarError("%json: the schema is nested too deep", source, begin) from None
    return Extension(begin, schema=schema), end


def _tokens(source: str, begin: int, end: int) -> tuple[Extension, int]:
    inside = source[begin + 1 : end - 1]
    if not inside.startswith("["):
        return Extension(begin, tokens=(source[begin:end],)), end
    inside = inside[1:-1].strip()
    negated = inside.startswith("^") or inside == "*"
    tokens: list[str | int] = []
    for part in [] if inside == "*" else inside.removeprefix("^").split(","):
        found = _RANGE.fullmatch(part)
        if found is None:
            raise GrammarError("token ids are written <[7]>, <[7-9]>, <[7,9]>, <[^7]> or <[*]>", source, begin)
        low, high = int(found[1]), int(found[2] or found[1])
        if high - low > 100_000:
            raise GrammarError("a range of more than 100000 token ids", source, begin)
        tokens.extend(range(low, high + 1))
    if not negated:
        return Extension(begin, tokens=tuple(tokens)), end
    repeated = _REPEATED.match(source, end)
    if repeated is None:
        raise GrammarError("a negated token needs * or + after it: one token is no more than some text", source, begin)
    return Extension(begin, tokens=tuple(tokens), negated=True, least=int(repeated[1] == "+")), repeated.end()
