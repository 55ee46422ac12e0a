"""What comes before the constrained part of a reply: reasoning, which is waited for or written by a grammar of its own.

Waiting leaves the reply free until a marker ends the reasoning. Where that marker ends with a control token, the plan
of a reply sees it come (`reply.Plan`). Where it is text, tokens may run across it, and the automaton reads the
reasoning, too: text without the marker, then the marker.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from .._arguments import shown
from .._errors import ArgumentError
from ..automata.grammar import SYMBOL, Lexeme, Node
from ..languages.texts import strings_without
from ..vocabulary import Vocabulary
from .efforts import check_effort, thought
from .layouts import Either, Maybe, Part, frame
from .marks import Inputs, Marks
from .records import Mark, Reasoning, Wire
from .values import LOOSE

__all__ = ["Gate", "Thoughts", "opened_by", "read_thoughts"]

_BLANKS = frozenset(b" \t\r\n")


@dataclass(frozen=True)
class Thoughts:
    """What is asked of the reasoning of a reply.

    inside:  the prompt has begun it.     over: the prompt has ended it.
    optional: the reply may begin with it, or without; where the prompt has begun it, it is waited for.
    effort:  None: it is free, and waited for; else how much of it is written (see `efforts`).
    markers: in place of those of the formats.
    """

    inside: bool = False
    over: bool = False
    optional: bool = False
    effort: str | None = None
    markers: tuple[Reasoning, ...] = ()

    def reasonings(self, wires: Iterable[Wire]) -> tuple[Reasoning, ...]:
        """The markers, those that are written first; empty where none are known."""
        return self.markers or tuple(dict.fromkeys(w.reasoning for w in wires if w.reasoning is not None))

    def controls(self, vocabulary: Vocabulary | None) -> list[str]:
        """The control tokens in `markers`. Without a vocabulary a marker is one."""
        texts = [text for one in self.markers for text in (one.open.text, one.close.text) if text]
        if vocabulary is None or not texts:
            return texts
        return [name for name in vocabulary.control if name and any(name in text for text in texts)]


_WAYS = {
    None: None,
    False: None,
    True: Thoughts(),
    "wait": Thoughts(),
    "inside": Thoughts(inside=True),
    "optional": Thoughts(optional=True),
}


def read_thoughts(reasoning: str | bool | Mapping[str, Any] | Thoughts | None) -> Thoughts | None:
    """The option `reasoning`. A mapping has some of the fields of Thoughts; its `markers` are the start and the end of
    the reasoning, or a list of such pairs. Raises ValueError; RequestError for an unknown effort.
    """
    if isinstance(reasoning, Thoughts):
        return reasoning
    if isinstance(reasoning, Mapping):
        return _read_mapping(reasoning)
    if not isinstance(reasoning, (str, bool, type(None))) or reasoning not in _WAYS:
        raise ArgumentError(f"reasoning={shown(reasoning)}; use None, 'wait', 'inside', 'optional' or a mapping")
    return _WAYS[reasoning]


def _read_mapping(given: Mapping[str, Any]) -> Thoughts:
    known = [field.name for field in fields(Thoughts)]
    unknown = [name for name in given if name not in known]
    if unknown:
        raise ArgumentError(f"reasoning has no {unknown[0]!r}; there are {', '.join(known)}")
    for name in ("inside", "over", "optional"):
        if not isinstance(given.get(name, False), bool):
            raise ArgumentError(f"reasoning: {name} must be True or False, not {given[name]!r}")
    if given.get("effort") is not None:
        check_effort(given["effort"], "reasoning.effort")
    pairs = given.get("markers") or ()
    if len(pairs) == 2 and all(isinstance(one, str) for one in pairs):
        pairs = (pairs,)
    for pair in pairs:
        if len(pair) != 2 or not all(isinstance(one, str) for one in pair) or not pair[1]:
            raise ArgumentError(f"reasoning: markers are a start and an end, which is not empty; not {pair!r}")
    markers = tuple(Reasoning(Mark.of(start), Mark.of(end)) for start, end in pairs)
    return Thoughts(**{**given, "markers": markers})


@dataclass(frozen=True)
class Gate:
    """opens, closes: the markers of the reasoning, as inputs.   inside: the prompt has written the first of them.
    over: it has written the last, too.   written: the grammar of the reasoning with its markers, if it has one.
    optional: whether that may be left out.
    """

    opens: tuple[Inputs, ...] = ()
    closes: tuple[Inputs, ...] = ()
    inside: bool = False
    over: bool = False
    written: Node | None = None
    optional: bool = False

    @classmethod
    def of(cls, thoughts: Thoughts, wires: Sequence[Wire], marks: Marks) -> Gate | None:
        """None where there is no reasoning to wait for or to write: no markers are known, or the effort is none."""
        found = thoughts.reasonings(wires)
        if not found:
            return None
        opens = tuple(dict.fromkeys(_to_control(marks.spell(one.open.text)) for one in found if one.open.text))
        closes = tuple(dict.fromkeys(marks.spell(one.close.text) for one in found))
        optional = thoughts.optional and thoughts.effort is None and not thoughts.inside
        if thoughts.over or (thoughts.effort is None and not optional):
            return cls(opens, closes, thoughts.inside, thoughts.over)
        texts = tuple(dict.fromkeys(text for one in found for text in (one.open.text, one.close.text) if text))
        body = Lexeme(dfa=strings_without(texts)) if thoughts.effort is None else thought(thoughts.effort, texts)
        if body is None and not thoughts.inside:
            return None
        open, close = found[0].open, found[0].close
        begin: list[Part] = []
        if not thoughts.inside:
            begin = [*([Maybe(open.before.encode())] if open.before else []), marks.spell(open.text)]
        inner: list[Part] = [LOOSE] if body is None else [LOOSE, body, LOOSE]
        written = frame(*begin, *inner, marks.spell(close.text))
        return cls(opens, closes, thoughts.inside, written=written, optional=optional)

    @property
    def waits(self) -> bool:
        return self.written is None and not self.over

    @property
    def texts(self) -> list[bytes]:
        """The markers that are waited for and have no control token."""
        return [bytes(close) for close in self.closes if max(close) < SYMBOL] if self.waits else []

    def lead(self, reads_text: bool) -> list[Part]:
        """What the automaton reads before the constrained part. reads_text: it reads reasoning that ends in text."""
        if self.written is not None:
            return [Maybe(self.written, LOOSE)] if self.optional else [self.written, LOOSE]
        if not reads_text:
            return [LOOSE]
        ends = self.texts
        free = Lexeme(dfa=strings_without(tuple(end.decode() for end in ends)))
        return [free, Either(*((end,) for end in ends)), LOOSE]


def opened_by(
    prompt: Sequence[int], reasonings: Sequence[Reasoning], marks: Marks, vocabulary: Vocabulary
) -> bool | None:
    """Whether the reply begins in reasoning that its prompt has begun (True) or after such that its prompt has ended
    (False), by the marker that the prompt ends with; None where it ends with neither.

    prompt: ids of tokens.
    """
    opens = [marks.spell(one.open.text) for one in reasonings if one.open.text]
    closes = [marks.spell(one.close.text) for one in reasonings]
    longest = max(map(len, (*opens, *closes)), default=0)
    tail: list[int] = []
    for token in reversed(prompt):
        data = vocabulary.token_bytes(token) if 0 <= token < vocabulary.size else None
        tail[:0] = (SYMBOL + token,) if data is None else data
        while tail and tail[-1] in _BLANKS:
            tail.pop()
        if len(tail) >= longest:
            break
    for markers, found in ((opens, True), (closes, False)):
        if any(tuple(tail[-len(marker) :]) == marker for marker in markers):
            return found
    return None


def _to_control(marker: Inputs) -> Inputs:
    """The marker up to its last control token, which is where it is recognised."""
    last = max((i for i, unit in enumerate(marker) if unit >= SYMBOL), default=len(marker) - 1)
    return marker[: last + 1]
