"""ToolMatcher: the state of one reply. Outside calls it watches and masks nothing; inside, it is a Matcher."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._arguments import integer, token_id_of
from ..automata import layout as at
from ..automata.grammar import symbol
from ..automata.inspection import additional_key
from ..automata.matcher import NOT_RELEASED, Matcher, mask_array
from .reply import State

if TYPE_CHECKING:
    from .gated import ReplyGrammar

__all__ = ["ToolMatcher", "all_but"]


class ToolMatcher(Matcher):
    """See `Matcher`. In free text `is_constraining` is False and `fill_next_token_bitmask` returns False, unless
    something is forbidden even there: to end a reply before the call that it must have, or to begin a second call
    where there may be one.
    """

    grammar: ReplyGrammar

    def __init__(
        self, grammar: ReplyGrammar, *, max_rollback: int | None = 256, stop_token_ids: Iterable[int] | None = None
    ) -> None:
        self._plan = grammar.plan
        super().__init__(grammar, max_rollback=max_rollback, stop_token_ids=stop_token_ids)
        self._telling = self._stop_set if self._plan.demanded else self._stop_set.union(grammar.symbols)
        """Tokens after which a call may be over."""

    def reset(self) -> None:
        """Back to the start of the reply."""
        super().reset()
        self._state = self._plan.start()
        self._past: list[tuple[State, int] | None] = []
        """Per step: the state before it and the steps that the automaton took; None: the same state, one step."""
        self._forgotten = 0
        """Steps before those, which cannot be taken back."""
        self._events: list[tuple[str, int]] = []
        """Of those, what `trace` tells."""

    def fork(self) -> ToolMatcher:
        """An independent copy in the same state."""
        other = super().fork()
        assert isinstance(other, ToolMatcher)
        other._past, other._events = self._past.copy(), self._events.copy()
        return other

    # Masks ----------------------------------------------------------------------------------------------------------

    @property
    def in_call(self) -> bool:
        """Whether the next token belongs to a call, or must begin one."""
        return self._state.calling and self._free == NOT_RELEASED

    @property
    def is_constraining(self) -> bool:
        return self._free == NOT_RELEASED and (self._state.calling or bool(self._banned()))

    @property
    def _in_engine(self) -> bool:
        return self._state.calling and self._free == NOT_RELEASED

    def _banned(self) -> tuple[int, ...]:
        return self._plan.banned(self._state, self.stop_token_ids)

    def fill_next_token_bitmask(self, bitmask: Any, row: int = 0) -> bool:
        if self._in_engine:
            return super().fill_next_token_bitmask(bitmask, row)
        array = mask_array(bitmask, self._index.words)
        row = integer(row, "row", 0, len(array) - 1)
        array[row] = -1
        if self._free != NOT_RELEASED or not self._banned():
            return False
        array[row, : self._index.words] = all_but(self._banned(), self._index.words)
        return True

    def allows(self, token_id: int) -> bool:
        if self._in_engine:
            return super().allows(token_id)
        token = token_id_of(token_id)
        if not 0 <= token < self.vocabulary.size:
            return False
        return self._free != NOT_RELEASED or self.is_terminated() or token not in self._banned()

    # Steps ----------------------------------------------------------------------------------------------------------

    def accept_token(self, token_id: int) -> bool:
        state = self._state
        if not state.calling or self._free != NOT_RELEASED:
            return self._accept_outside(state, token_id)
        if not super().accept_token(token_id):
            return False
        plan = self._plan
        if token_id in self._telling or state.span is not None or plan.overruns or plan.names_any:
            self._stepped(state, self.vocabulary.token_bytes(token_id), token_id)
        else:
            self._note(None)
        return True

    def _accept_outside(self, state: State, token_id: int) -> bool:
        if self._free != NOT_RELEASED:
            return super().accept_token(token_id)
        token = token_id_of(token_id)
        if not 0 <= token < self.vocabulary.size or self.is_terminated() or token in self._banned():
            return False
        if token in self._stop_set:
            self._desc[at.E_ENDED] = 1
            self._note((state, 1))
            return True
        data = self.vocabulary.token_bytes(token)
        if data is not None:
            self._note((state, 0))
            self._state = self._plan.after_text(state, data)
            return True
        after, begins = self._plan.after_control(state, token)
        if begins and not self._accept(token, True):
            return False
        self._note((state, int(begins)))
        self._state = after
        return True

    def accept_bytes(self, data: bytes) -> bool:
        state = self._state
        if self._free != NOT_RELEASED or self.is_terminated() or not data:
            return super().accept_bytes(data)
        if not state.calling:
            self._note((state, 0))
            self._state = self._plan.after_text(state, data)
            return True
        if not super().accept_bytes(data):
            return False
        self._stepped(state, data, -1)
        return True

    def _stepped(self, state: State, data: bytes | None, token: int) -> None:
        """Note a step that the automaton has taken in a call: of bytes, or else of a control token."""
        inputs = data if data is not None else (symbol(token),)
        after = self._plan.after_step(self._with_name(state), inputs, super().is_accepting)
        self._note(None if after is state else (state, 1))
        self._state = after
        if token in self._stop_set and not self.is_terminated() and self.is_accepting():
            # it closes the call and ends the reply at once
            self._desc[at.E_ENDED] = 1
            self._past[-1] = (state, 2)

    def _with_name(self, state: State) -> State:
        """With the name of the tool that is being called, if it is known now and in no list."""
        found = additional_key(self) if self._plan.names_any else None
        if found is None or found[0] == state.named:
            return state
        return state._replace(undeclared=(*state.undeclared, found[1].decode("utf-8", "replace")), named=found[0])

    @property
    def undeclared(self) -> tuple[str, ...]:
        """The names of the tools called so far that are not in the list, in the order of the calls. Only `names="any"`
        lets such through.
        """
        return self._state.undeclared

    @property
    def steps(self) -> int:
        released = max(self._free, 0) + int(self._free != NOT_RELEASED and self.is_terminated())
        return self._taken + released

    @property
    def _taken(self) -> int:
        """Steps before a release."""
        return self._forgotten + len(self._past)

    def _kept(self, most: int) -> int:
        released = self.steps - self._taken
        kept, left = released, super()._kept(1 << 60) - released
        for entry in reversed(self._past):
            left -= 1 if entry is None else entry[1]
            if left < 0 or kept >= most:
                break
            kept += 1
        return min(kept, most)

    def _undo(self, count: int) -> None:
        if count and self._free != NOT_RELEASED:
            released = min(count, self.steps - self._taken)
            super()._undo(released)
            count -= released
        taken = 0
        for _ in range(count):
            before = self._past.pop()
            if before is None:
                taken += 1
            else:
                self._state = before[0]
                taken += before[1]
        super()._undo(taken)

    def is_accepting(self) -> bool:
        """Whether the reply may end here: outside calls, and after the call that is demanded."""
        if self._free != NOT_RELEASED or self.is_terminated():
            return True
        return self._plan.may_end(self._state, super().is_accepting)

    def trace(self) -> list[tuple[str, int]]:
        """What happened so far, each with the number of steps before it: "call" (one began, or was demanded), "text"
        (it was over), "end" (a stop token).
        """
        events = self._told(self._states())
        return [*events, ("end", self.steps)] if self.is_terminated() else events

    def _states(self) -> list[State]:
        """The states before the steps that are kept, and now."""
        states, state = [self._state], self._state
        for entry in reversed(self._past):
            state = state if entry is None else entry[0]
            states.append(state)
        return states[::-1]

    def _told(self, states: Sequence[State]) -> list[tuple[str, int]]:
        """The events before the steps that are kept, and those in the first states from there on."""
        events = self._events.copy()
        calling = bool(events) and events[-1][0] == "call"
        for step, state in enumerate(states, self._forgotten):
            if state.calling != calling:
                calling = state.calling
                events.append(("call" if calling else "text", step))
        return events

    def _note(self, step: tuple[State, int] | None) -> None:
        """Note a step, and forget the oldest if there are many more than can be taken back."""
        self._past.append(step)
        if len(self._past) > self._most_past:
            cut = len(self._past) - (self.max_rollback or 0) - 1
            self._events = self._told(self._states()[: cut + 1])
            del self._past[:cut]
            self._forgotten += cut

    def _hold(self, on: bool) -> None:
        super()._hold(on)
        self._most_past = sys.maxsize if on or self.max_rollback is None else 2 * self.max_rollback + 64

    def forced_bytes(self, limit: int = 4096) -> bytes:
        return super().forced_bytes(limit) if self._in_engine else b""


@lru_cache(maxsize=256)
def all_but(tokens: tuple[int, ...], words: int) -> NDArray[np.int32]:
    """A mask that forbids only some tokens, int32[words]."""
    flags: NDArray[np.uint8] = np.ones(words * 32, np.uint8)
    flags[list(tokens)] = 0
    return np.packbits(flags, bitorder="little").view(np.int32)
