"""Judges whole replies as texts, without tokens: by the interpreter in calls, by the plan outside.

A control token that is spelled out stands for the token where a marker can stand; inside a string it is text. Where a
format's calls begin with text alone, that text begins one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._limits import check_time
from ..automata.explain import Rejection, rejection
from ..automata.grammar import SYMBOL, symbol
from ..automata.recogniser import Recogniser

if TYPE_CHECKING:
    from .gated import ReplyGrammar

__all__ = ["Judge"]

_BLANKS = b" \t\r\n"


class Judge:
    """One reading of one text. position: bytes that were read."""

    def __init__(self, automaton: ReplyGrammar, data: bytes) -> None:
        self.automaton, self.data = automaton, data
        self.plan, self.marks = automaton.plan, automaton.marks
        self.recogniser = Recogniser(automaton.root)
        self.reading = self.recogniser.start()
        self.state = self.plan.start()
        self.position = self.since = 0
        self.failed = False
        while self.position < len(data) and not self.failed:
            if self.state.calling:
                self._in_call()
            else:
                self._free()

    def accepts(self) -> bool:
        return not self.failed and self.plan.may_end(self.state, self._accepting)

    def explain(self) -> Rejection | None:
        """Why the text is not a reply; None if it is one."""
        if self.accepts():
            return None
        if not self.state.calling and self.position < len(self.data):
            return Rejection(self.position, "", "the beginning of another call", ("text", "the end"))
        if not self.state.calling:
            demanded = self.automaton.demand
            expected = f"the end of the reasoning, then {demanded}" if self.plan.waits else demanded
            return Rejection(self.position, "", "the end", (expected,))
        return rejection(self.recogniser, self.reading, self.data, self.position, self.marks.texts)

    def _accepting(self) -> bool:
        return self.recogniser.is_accepting(self.reading)

    def _free(self) -> None:
        """Read a control token, the beginning of a call, or a byte of text."""
        check_time()
        data, at = self.data, self.position
        token, length = self.marks.at(data, at)
        if token is not None:
            if token in self.plan.banned(self.state, ()):
                self.failed = True
                return
            state, begins = self.plan.after_control(self.state, token)
            if not begins and state.seen != self.state.seen and not state.seen.recent:
                self.since = at + length
            self.state = state
            self.position += length
            if begins and not self._advance(symbol(token)):
                self.position = at
                self.failed = True
            return
        seen = self.state.seen
        if not (seen.thinking or (self.plan.watch.fences and seen.in_fence)) and self._begins_here():
            self.failed = self.plan.bars_text
            self.state = self.state if self.failed else self.plan.after_trigger(self.state)
            return
        self.state = self.plan.after_text(self.state, data[at : at + 1])
        self.position += 1

    def _begins_here(self) -> bool:
        """Whether a call begins here by its text."""
        if self.plan.single and self.state.calls:
            return False
        return any(
            trigger.match(self.data, self.position) and (not at_start or self._at_start())
            for trigger, at_start in self.automaton.triggers
        )

    def _at_start(self) -> bool:
        """Whether the message has no text yet."""
        return self.data[self.since : self.position].strip(_BLANKS) in (b"", b";")

    def _in_call(self) -> None:
        """Read a control token where one can stand, else a byte."""
        token, length = self.marks.at(self.data, self.position)
        if token is not None and self._advance(symbol(token)):
            self._stepped((symbol(token),), length)
        elif self._advance(self.data[self.position]):
            self._stepped((self.data[self.position],), 1)
        else:
            self.failed = True

    def _advance(self, unit: int) -> bool:
        following = self.recogniser.advance(self.reading, unit)
        if following is not None:
            self.reading = following
        return following is not None

    def _stepped(self, inputs: tuple[int, ...], length: int) -> None:
        self.position += length
        if inputs[0] >= SYMBOL or self.plan.overruns or self.state.span is not None:
            self.state = self.plan.after_step(self.state, inputs, self._accepting)
            if not self.state.calling:
                self.since = self.position
