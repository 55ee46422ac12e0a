"""Reasoning of a bounded size or of a fixed form, by the `reasoning_effort` of a request.

    none                    no reasoning
    low, medium, high       free text of at most 2,000, 8,000 and 32,000 characters; `normal` is medium
    chain_of_thought, cot   lines `Step 1: …`, `Step 2: …` and so on, at most 12
    cove                    a draft, questions about it, their answers, and what becomes of the draft (Dhuliawala et al.
                            2023, Chain-of-Verification Reduces Hallucination in Large Language Models)
    custom:TEMPLATE         the template, with `{line}` for a line and `{text}` for any text; `{line:80}` for at most 80
                            characters. `{{` and `}}` are braces.

Nowhere in it is a marker of reasoning, as text or as a token, so that the first one ends it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from .._errors import RequestError
from ..automata.grammar import Lexeme, Node
from ..languages import operations
from ..languages.pattern import compile_pattern
from ..languages.texts import strings_without
from .layouts import Many, Maybe, Part, frame

__all__ = ["EFFORTS", "check_effort", "thought"]

_SIZES = {"low": 2_000, "medium": 8_000, "normal": 8_000, "high": 32_000}
_LINE, _TEXT, _STEPS = 400, 4_000, 12
_CUSTOM = "custom:"
_MOST_TEMPLATE, _MOST_PLACES, _MOST_CHARS = 4_000, 32, 100_000

EFFORTS = ("none", *_SIZES, "chain_of_thought", "cot", "cove", "custom:TEMPLATE")
"""What `reasoning_effort` may say."""

_PLACE = re.compile(r"\{\{|\}\}|\{(line|text)(?::([0-9]{1,6}))?\}|[{}]")


def check_effort(effort: object, field: str = "reasoning_effort", known: Iterable[str] | None = None) -> str:
    """The effort of a request. known: the efforts that the model has, None for all. Raises RequestError."""
    if not isinstance(effort, str):
        raise RequestError(field, f"must be a string, not {type(effort).__name__}")
    names = EFFORTS if known is None else tuple(known)
    custom = effort.startswith(_CUSTOM)
    if effort == EFFORTS[-1] or not (effort in names or (custom and EFFORTS[-1] in names)):
        raise RequestError(field, f"{effort[:80]!r} is not known; use one of {', '.join(names)}")
    if custom:
        _template(effort[len(_CUSTOM) :], field)
    return effort


def thought(effort: str, markers: Sequence[str]) -> Node | None:
    """The grammar of the reasoning, without the markers around it; None for no reasoning. Raises RequestError."""
    return _thought(check_effort(effort), tuple(dict.fromkeys(markers)))


@lru_cache(maxsize=64)
def _thought(effort: str, markers: tuple[str, ...]) -> Node | None:
    if effort == "none":
        return None
    if effort in _SIZES:
        return _text(markers, _SIZES[effort])
    if effort.startswith(_CUSTOM):
        parts = _template(effort[len(_CUSTOM) :], "reasoning_effort")
        for part in parts:
            if isinstance(part, str) and any(marker in part for marker in markers):
                raise RequestError("reasoning_effort", "the template contains a marker that ends the reasoning")
        return frame(
            *(
                part.encode() if isinstance(part, str) else (_line if part[0] == "line" else _text)(markers, part[1])
                for part in parts
            )
        )
    line = _line(markers, _LINE)
    if effort == "cove":
        items: list[Part] = [b"- ", line, b"\n", Many(b"- ", line, b"\n")]
        text = _text(markers, _TEXT, least=1)
        return frame(b"Draft: ", text, b"\nQuestions:\n", *items, b"Answers:\n", *items, b"Final: ", text)
    step: list[Part] = []
    for number in range(_STEPS, 0, -1):
        more = (Maybe(b"\n", *step),) if step else ()
        step = [f"Step {number}: ".encode(), line, *more]
    return frame(*step)


def _text(markers: tuple[str, ...], most: int, least: int = 0) -> Node:
    return Lexeme(dfa=strings_without(markers), min_chars=least, max_chars=most)


def _line(markers: tuple[str, ...], most: int) -> Node:
    dfa = operations.intersect(strings_without(markers), compile_pattern(r"^[^\r\n]+$"))
    return Lexeme(dfa=dfa, max_chars=most)


def _template(template: str, field: str) -> list[str | tuple[str, int]]:
    """Texts, and places with their kinds and most characters. Raises RequestError."""
    if len(template) > _MOST_TEMPLATE:
        raise RequestError(field, f"a template has at most {_MOST_TEMPLATE} characters")
    try:
        template.encode()
    except UnicodeEncodeError:
        raise RequestError(field, "a template cannot have a lone surrogate") from None
    parts = list(_parts(template, field))
    places = [part for part in parts if isinstance(part, tuple)]
    if not places or len(places) > _MOST_PLACES:
        raise RequestError(field, f"a template needs 1 to {_MOST_PLACES} of {{line}} and {{text}}")
    if any(not 0 < most <= _MOST_CHARS for _, most in places):
        raise RequestError(field, f"a place in a template has 1 to {_MOST_CHARS} characters")
    return parts


def _parts(template: str, field: str) -> Iterator[str | tuple[str, int]]:
    at, literal = 0, ""
    for found in _PLACE.finditer(template):
        literal += template[at : found.start()]
        at, kind, most = found.end(), found[1], found[2]
        if found[0] in ("{{", "}}"):
            literal += found[0][0]
        elif kind is None:
            raise RequestError(field, "a brace in a template is one of {line}, {text}, {line:80}, {{ and }}")
        else:
            if literal:
                yield literal
            literal = ""
            yield kind, int(most) if most else (_LINE if kind == "line" else _TEXT)
    literal += template[at:]
    if literal:
        yield literal
