"""What one reply must be: an answer, tool calls, or either of them, and what comes before."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from .._errors import ArgumentError
from ..automata.compiled import Grammar
from ..vocabulary import Vocabulary
from ..wires.automaton import ToolAutomaton
from ..wires.gate import Gate, Thoughts, opened_by, read_thoughts
from ..wires.gated import AnswerGrammar
from ..wires.layouts import Maybe, Part
from ..wires.markers import members
from ..wires.marks import Marks
from ..wires.records import Mark, Reasoning, Wire
from ..wires.values import LOOSE

if TYPE_CHECKING:
    from ..automata.explain import Rejection
    from .session import Session

__all__ = ["Constraint"]


class Constraint:
    """A constraint on whole replies, shared by any number of sequences and threads.

    grammar:   what the answer is; None: anything.
    tools:     the tools that the reply may call, or must. With a grammar as well, a reply is an answer or calls tools:
               it begins with one or the other, and there is no text beside calls.
    vocab:     only needed where neither is given.
    wire:      the model's format or formats, of which the markers of reasoning and of messages are taken; by default
               those of `tools`.
    reasoning: None; "wait": the constraint begins where the reasoning ends; "inside": so it does, and the prompt has
               begun the reasoning; "optional": a reply that does not begin with reasoning begins with what is
               constrained. A session that is shown the prompt finds out what that has begun or ended.
    markers:   (start, end) of the reasoning, in place of the format's.
    effort:    a bounded reasoning instead (`constrain.wires.efforts`). Without a grammar, or a call that is required,
               it has no effect.
    leading_whitespace: whether blanks may stand before the answer.
    source, kind: which field of a request it comes from, and what it is.

    warnings: what could not be done: without known markers the constraint holds from the start.
    Raises RequestError (effort), ValueError (options).
    """

    def __init__(
        self,
        grammar: Grammar | None = None,
        tools: ToolAutomaton | None = None,
        vocab: Vocabulary | None = None,
        *,
        wire: str | Sequence[str] | None = None,
        reasoning: str | bool | None = None,
        markers: tuple[str, str] | None = None,
        effort: str | None = None,
        leading_whitespace: bool = False,
        source: str = "none",
        kind: str = "none",
    ) -> None:
        self.grammar, self.tools = grammar, tools
        self.source, self.kind = source, kind
        self.leading_whitespace = leading_whitespace
        self.wires: tuple[Wire, ...] = members(wire) if wire is not None else tuple(tools.wires) if tools else ()
        self.vocabulary = next((g.vocabulary for g in (grammar, tools) if g is not None), vocab)
        self.warnings: list[str] = []
        self._thoughts = self._read(reasoning, markers, effort)
        self._beside = tools is not None and self._may_call(tools) and grammar is not None
        if self._beside and tools is not None and tools.choice.mode == "required":
            raise ArgumentError("a call is required, so there is no answer to constrain: give grammar or tools")
        self._lock = threading.Lock()
        self._built: dict[bool | None, tuple[Grammar, ...]] = {}
        self.grammars()

    def _read(self, reasoning: Any, markers: tuple[str, str] | None, effort: str | None) -> Thoughts | None:
        thoughts = read_thoughts(reasoning)
        holds = self.grammar is not None or (self.tools is not None and self.tools.choice.mode == "required")
        if effort is not None and holds:
            thoughts = replace(thoughts or Thoughts(), effort=effort)
        if thoughts is None or not (holds or self.tools is not None):
            return None
        if markers is not None:
            thoughts = replace(thoughts, markers=(Reasoning(Mark.of(markers[0]), Mark.of(markers[1])),))
        if not all(one.close.text for one in thoughts.markers):
            raise ArgumentError("markers: the end of the reasoning must not be empty")
        if not thoughts.reasonings(self.wires):
            about = "the format's name (wire=) or markers= is needed" if not self.wires else "the format has none"
            self.warnings.append(f"no markers of reasoning are known ({about}): the constraint holds from the start")
            return None
        return thoughts

    def _may_call(self, tools: ToolAutomaton) -> bool:
        """Whether a reply may call a tool."""
        if tools.choice.mode == "auto" and not tools.begins_calls:
            self.warnings.append("the vocabulary has no token to begin a call: no tool can be called")
            return False
        return tools.choice.mode != "none"

    @property
    def is_free(self) -> bool:
        """Whether nothing is constrained."""
        return self.grammar is None and self.tools is None

    @property
    def nbytes(self) -> int:
        """Bytes of what was encoded for it, apart from `grammar` and `tools`."""
        apart = (self.grammar, self.tools)
        return sum(one.nbytes for found in self._built.values() for one in found if one not in apart)

    @cached_property
    def stop_token_ids(self) -> tuple[int, ...]:
        """The vocabulary's EOS ids, and the end-of-turn tokens of the formats."""
        if self.vocabulary is None:
            return ()
        found = (self.vocabulary.control_id(text) for wire in self.wires for text in wire.stops)
        return tuple(dict.fromkeys((*self.vocabulary.eos_token_ids, *(i for i in found if i is not None))))

    def session(self, prompt: Sequence[int] | None = None, **options: Any) -> Session:
        """A session at the start of a reply; see `constrain.Session` for the options."""
        from .session import Session

        return Session(self, prompt=prompt, **options)

    def matcher(self, *, max_rollback: int | None = 256, stop_token_ids: Iterable[int] | None = None) -> Session:
        """The same for hosts with a failure policy of their own: it raises, as a Matcher does."""
        return self.session(max_rollback=max_rollback, stop_token_ids=stop_token_ids, on_failure="raise")

    def accepts(self, data: bytes | str) -> bool:
        """Whether `data` is a whole reply. Control tokens are spelled out in it."""
        return self.is_free or any(grammar.accepts(data) for grammar in self.grammars())

    def explain(self, data: bytes | str) -> Rejection | None:
        """Where and why `data` is not a reply, by the reading that comes farthest; None when it is one."""
        found = [grammar.explain(data) for grammar in self.grammars()]
        rejections = [one for one in found if one is not None]
        return None if len(rejections) < len(found) or not found else max(rejections, key=lambda one: one.position)

    def opened_by(self, prompt: Sequence[int]) -> bool | None:
        """Whether a prompt has begun the reasoning (True) or ended it (False); None where neither, or nobody asks."""
        if self._thoughts is None or self.vocabulary is None:
            return None
        return opened_by(prompt, self._thoughts.reasonings(self.wires), self._marks, self.vocabulary)

    def grammars(self, opened: bool | None = None) -> tuple[Grammar, ...]:
        """The grammars of the alternatives: first that of an answer, or of a reply with tools; then that of calls
        instead of an answer. opened: see `opened_by`.
        """
        with self._lock:
            found = self._built.get(opened)
            if found is None:
                found = self._built[opened] = tuple(self._alternatives(opened))
            return found

    def _alternatives(self, opened: bool | None) -> Iterable[Grammar]:
        thoughts = self._thoughts
        if thoughts is not None and opened is not None:
            thoughts = replace(thoughts, inside=opened, over=not opened)
        if self.grammar is not None:
            yield self._answer(self.grammar, thoughts)
        if self.tools is not None and (self.grammar is None or self._beside):
            again = self._beside or thoughts is not None
            yield self.tools.variant(thoughts, demanded=self._beside) if again else self.tools

    @cached_property
    def _marks(self) -> Marks:
        controls = [control for wire in self.wires for control in wire.controls]
        more = [] if self._thoughts is None else self._thoughts.controls(self.vocabulary)
        return Marks.of((*controls, *more), self.vocabulary)

    def _answer(self, grammar: Grammar, thoughts: Thoughts | None) -> Grammar:
        gate = None if thoughts is None else Gate.of(thoughts, self.wires, self._marks)
        spell = self._marks.spell
        lead: list[Part] = [LOOSE] if self.leading_whitespace else []
        lead += [Maybe(spell(mark.text)) for wire in self.wires for mark in wire.before_answer]
        tail = [Maybe(spell(mark.text)) for wire in self.wires for mark in wire.after_answer]
        if gate is None and not lead and not tail:
            return grammar
        return AnswerGrammar(grammar, gate, self._marks, self.wires, lead, tail)
