"""Where a reply stands: in free text, in reasoning, or in a call. The part of a matcher that knows nothing of automata.

A `State` is small and immutable, so taking back a step is putting an older one in its place. Whoever runs the automaton
(kernels on tokens, the interpreter on texts) asks the `Plan` for the state after each step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ..automata.grammar import symbol
from .marks import Inputs
from .watch import Event, Seen, Watch

__all__ = ["Plan", "State"]


class State(NamedTuple):
    """calling: inside a call, or where one is demanded.   seen: what was seen of the free text.   calls: how many
    ended.
    span: inputs of the call so far, as long as it may yet be another marker; None when it cannot be one any more.
    undeclared: names of the tools called so far that are not in the list.     named: the number of the last one's key.
    """

    calling: bool
    seen: Seen
    calls: int = 0
    span: Inputs | None = None
    undeclared: tuple[str, ...] = ()
    named: int = 0


@dataclass(frozen=True)
class Plan:
    """What happens between the steps of an automaton.

    demanded: the reply must call a tool.     waits: the demand begins after the reasoning.
    inside: the prompt has begun the reasoning.     single: at most one call.
    begins: every message has a header, so that the first may begin a call.
    others: markers that begin like a call but are none, as inputs, each with whether reasoning follows;
    longest_other: inputs of the longest.
    overruns: a call may end in the middle of a token.
    textual: the automaton reads free text, too (see `by_text`).     names_any: names may be those of no tool.
    barred: control tokens that cannot be written.     bars_text: nor can the texts by which calls begin.
    """

    watch: Watch
    demanded: bool
    waits: bool
    inside: bool
    single: bool = False
    begins: bool = False
    others: Mapping[Inputs, bool] = field(default_factory=dict)
    longest_other: int = 0
    overruns: bool = False
    textual: bool = False
    names_any: bool = False
    barred: tuple[int, ...] = ()
    bars_text: bool = False

    def start(self) -> State:
        if self.textual:
            thinking = self.waits or self.inside
            return State(self.demanded or not thinking, Seen(thinking))
        if self.demanded:
            return State(not self.waits, Seen(self.inside))
        begins = self.begins and not self.inside
        return State(begins, Seen(self.inside), 0, () if begins else None)

    def banned(self, state: State, stops: Sequence[int]) -> tuple[int, ...]:
        """Control tokens that are forbidden although no call is under way: to end a reply before the call that it must
        have, or to begin one where there may be none (any more).
        """
        if self.demanded:
            return tuple(stops)
        return (*self.barred, *self.watch.arms) if self.single and state.calls else self.barred

    def may_end(self, state: State, accepting: Callable[[], bool]) -> bool:
        """Whether the reply may end. accepting: whether the automaton accepts."""
        return accepting() if state.calling and self.demanded else not (state.calling or self.demanded)

    def after_text(self, state: State, data: bytes) -> State:
        """After free text."""
        return state._replace(seen=self.watch.text(state.seen, data))

    def after_control(self, state: State, token: int) -> tuple[State, bool]:
        """After a control token in free text; whether it begins a call, so that the automaton must read it."""
        seen, event = self.watch.control(state.seen, token)
        if event is Event.CALLS:
            return state._replace(calling=True, seen=seen, span=(symbol(token),) if self.others else None), True
        return state._replace(seen=seen, calling=event is Event.ANSWERS and self.demanded), False

    def after_trigger(self, state: State) -> State:
        """After the beginning of a call that was recognised by its text, none of which was read yet."""
        return state._replace(calling=True, span=None)

    def after_step(self, state: State, inputs: Sequence[int], accepting: Callable[[], bool]) -> State:
        """After a step in a call. inputs: what was read; bytes matter only where there are `others`."""
        if self.demanded:
            return state
        span = state.span
        if span is not None:
            span = (*span, *inputs)
            if len(span) > self.longest_other:
                span = None
            state = state._replace(span=span)
        if not accepting():
            return state
        thinking = None if span is None else self.others.get(span)
        if thinking is None:
            return state._replace(calling=False, seen=Seen(), calls=state.calls + 1, span=None)
        return state._replace(calling=False, seen=Seen(thinking), span=None)
