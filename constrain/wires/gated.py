"""Grammars of whole replies, and the constraint of an answer as one of them.

A `ReplyGrammar` has a plan of what happens outside the part that it constrains; its matchers and its judge of texts
follow the plan. Tool automata are such grammars. So is an answer that comes after reasoning:

    reply ::= reasoning? blanks lead answer tail
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from functools import cached_property
from re import Pattern
from typing import TYPE_CHECKING

from ..automata.compiled import Grammar
from .gate import Gate
from .judge import Judge
from .layouts import Part, Parts, frame
from .marks import Marks
from .records import Wire
from .reply import Plan
from .watch import Watch

if TYPE_CHECKING:
    from ..automata.explain import Rejection
    from .matcher import ToolMatcher

__all__ = ["AnswerGrammar", "ReplyGrammar"]


class ReplyGrammar(Grammar, ABC):
    """marks: how markers are spelled.   wires: the formats of the reply.
    triggers: patterns of texts by which a call begins, each with whether only at the start of a message.
    demand: what a reply must have, in a word.
    """

    marks: Marks
    wires: Sequence[Wire] = ()
    triggers: Sequence[tuple[Pattern[bytes], bool]] = ()
    demand = "an answer"

    @property
    @abstractmethod
    def plan(self) -> Plan:
        """What a matcher does outside the constrained part."""

    def accepts(self, data: bytes | str) -> bool:
        """Whether `data` is a whole reply. Control tokens are spelled out in it."""
        with self._questioned(data) as text:
            return Judge(self.judged(), text).accepts()

    def explain(self, data: bytes | str) -> Rejection | None:
        """Where and why `data` is not a reply, and what was expected there; None when it is one. Tools are the first
        keys of the pointer.
        """
        with self._questioned(data) as text:
            return Judge(self.judged(), text).explain()

    def judged(self) -> ReplyGrammar:
        """The grammar by which texts are judged."""
        return self

    def matcher(self, *, max_rollback: int | None = 256, stop_token_ids: Iterable[int] | None = None) -> ToolMatcher:
        """A matcher at the start of a reply.

        stop_token_ids: by default the vocabulary's EOS ids and the formats' own.
        """
        stops = self.stop_token_ids if stop_token_ids is None else stop_token_ids
        if self.plan.textual:
            from .by_text import TextMatcher

            return TextMatcher(self, max_rollback=max_rollback, stop_token_ids=stops)
        from .matcher import ToolMatcher

        return ToolMatcher(self, max_rollback=max_rollback, stop_token_ids=stops)

    @cached_property
    def stop_token_ids(self) -> tuple[int, ...]:
        """The tokens that may end a reply: the vocabulary's EOS ids and the end-of-turn tokens of the formats."""
        vocabulary = self._bound()
        found = (vocabulary.control_id(text) for wire in self.wires for text in wire.stops)
        return tuple(dict.fromkeys((*vocabulary.eos_token_ids, *(i for i in found if i is not None))))


class AnswerGrammar(ReplyGrammar):
    """A reply whose answer is constrained, and what comes before it.

    answer: the grammar of the answer. It is not changed, and shares its nodes.   gate: the reasoning; None for none.
    lead, tail: what stands around the answer.
    """

    def __init__(
        self,
        answer: Grammar,
        gate: Gate | None,
        marks: Marks,
        wires: Sequence[Wire] = (),
        lead: Parts = (),
        tail: Parts = (),
    ) -> None:
        self.answer, self.gate, self.marks, self.wires = answer, gate, marks, wires
        self._textual = answer.vocabulary is not None and gate is not None and bool(gate.texts)
        before: list[Part] = [] if gate is None else gate.lead(self._textual)
        super().__init__(
            frame(*before, *lead, answer.root, *tail),
            answer.vocabulary,
            report=answer.report,
            limits=answer.limits,
            symbols=(*answer.symbols, *marks.texts),
        )
        self.lock = answer.lock  # nodes that are built on demand are built once

    @cached_property
    def plan(self) -> Plan:
        gate = self.gate
        waits = gate is not None and gate.waits
        opens, closes = (gate.opens, gate.closes) if gate is not None and waits else ((), ())
        return Plan(
            watch=Watch({}, opens, closes, fences=False),
            demanded=True,
            waits=waits,
            inside=gate is not None and gate.inside,
            textual=self._textual,
        )
