"""ToolMatcher: the state of one reply. Outside calls it watches and masks nothing; inside, it is a Matcher."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..automata import layout as at
from ..automata.grammar import symbol
from ..automata.matcher import NOT_RELEASED, Matcher, mask_array
from .watch import Event, Seen

if TYPE_CHECKING:
    from .automaton import ToolAutomaton

__all__ = ["ToolMatcher"]


class _State(NamedTuple):
    """calling: inside a call, or where one is demanded.   seen: what was seen of the free text.   calls: how many began.
    span: inputs of the call so far, as long as it may yet be another marker; None when it cannot be one any more.
    """

    calling: bool
    seen: Seen
    calls: int = 0
    span: tuple[int, ...] | None = None


class ToolMatcher(Matcher):
    """See `Matcher`. In free text `is_constraining` is False and `fill_next_token_bitmask` returns False, unless something
    is forbidden even there: to end a reply before the call that it must have, or to begin a second call of one.
    """

    grammar: ToolAutomaton

    def __init__(
        self, grammar: ToolAutomaton, *, max_rollback: int | None = 256, stop_token_ids: Iterable[int] | None = None
    ) -> None:
        self._plan = grammar.plan
        super().__init__(grammar, max_rollback=max_rollback, stop_token_ids=stop_token_ids)

    def reset(self) -> None:
        """Back to the start of the reply."""
        super().reset()
        plan = self._plan
        self._state = _State(plan.demanded and not plan.waits, Seen(plan.inside))
        self._past: list[tuple[_State, int] | None] = []
        """Per step: the state before it and the steps that the automaton took for it; None: the same state, one step."""

    def fork(self) -> ToolMatcher:
        """An independent copy in the same state."""
        other = super().fork()
        other._past = self._past.copy()
        return other  # type: ignore[return-value]

    # Masks -------------------------------------------------------------------------------------------------------------

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
        """Tokens that are forbidden although no call is under way."""
        plan = self._plan
        if plan.demanded:
            return self.stop_token_ids
        return tuple(plan.watch.arms) if plan.single and self._state.calls else ()

    def fill_next_token_bitmask(self, bitmask: Any, row: int = 0) -> bool:
        if self._in_engine:
            return super().fill_next_token_bitmask(bitmask, row)
        array = mask_array(bitmask, self._index.words)
        if not 0 <= row < len(array):
            raise IndexError(f"row {row} of a bitmask with {len(array)} rows")
        array[row] = -1
        if self._free != NOT_RELEASED or not self._banned():
            return False
        array[row, : self._index.words] = _all_but(self._banned(), self._index.words)
        return True

    def allows(self, token_id: int) -> bool:
        if self._in_engine:
            return super().allows(token_id)
        token = operator.index(token_id)
        if not 0 <= token < self.vocabulary.size:
            return False
        return self._free != NOT_RELEASED or self.is_terminated() or token not in self._banned()

    # Steps -------------------------------------------------------------------------------------------------------------

    def accept_token(self, token_id: int) -> bool:
        state = self._state
        if self._free != NOT_RELEASED:
            return super().accept_token(token_id)
        if state.calling:
            return super().accept_token(token_id) and self._stepped(state, token_id)
        token = operator.index(token_id)
        if not 0 <= token < self.vocabulary.size or self.is_terminated() or token in self._banned():
            return False
        if token in self._stop_set:
            self._desc[at.E_ENDED] = 1
            self._past.append((state, 1))
            return True
        data = self.vocabulary.token_bytes(token)
        if data is not None:
            self._look(state, data)
        else:
            self._look_at_control(state, token)
        return True

    def accept_bytes(self, data: bytes) -> bool:
        state = self._state
        if self._free != NOT_RELEASED or self.is_terminated() or not data:
            return super().accept_bytes(data)
        if state.calling:
            return super().accept_bytes(data) and self._stepped(state, -1, data)
        self._look(state, data)
        return True

    def _look(self, state: _State, data: bytes) -> None:
        """Note free text."""
        self._past.append((state, 0))
        self._state = state._replace(seen=self._plan.watch.text(state.seen, data))

    def _look_at_control(self, state: _State, token: int) -> None:
        """Note a control token in free text; a call may begin with it."""
        plan = self._plan
        seen, event = plan.watch.control(state.seen, token)
        if event is Event.CALLS and self._accept(token, True):
            self._past.append((state, 1))
            span = (symbol(token),) if plan.others else None
            self._state = _State(True, seen, state.calls + 1, span)
            return
        self._past.append((state, 0))
        self._state = state._replace(seen=seen, calling=event is Event.ANSWERS and plan.demanded)

    def _stepped(self, state: _State, token: int, data: bytes | None = None) -> bool:
        """Note a step that the automaton has taken inside a call. Always True."""
        plan = self._plan
        if plan.demanded or self.is_terminated():
            self._past.append(None)
            return True
        if token >= 0 and (plan.overruns or state.span is not None):
            data = self.vocabulary.token_bytes(token)
        span = None
        if state.span is not None:
            span = (*state.span, *(data or (symbol(token),)))
            span = span if len(span) <= plan.longest_other else None
        if (data is None or plan.overruns) and super().is_accepting():
            self._past.append((state, 1))
            self._state = self._after_region(state, span)
        elif span != state.span:
            self._past.append((state, 1))
            self._state = state._replace(span=span)
        else:
            self._past.append(None)
        return True

    def _after_region(self, state: _State, span: tuple[int, ...] | None) -> _State:
        """The state after a call, or after another marker that began like one."""
        if span is None or span not in self._plan.others:
            return _State(False, Seen(), state.calls)
        thinking = span in self._plan.watch.think_open
        return _State(False, state.seen._replace(thinking=thinking), state.calls - 1)

    @property
    def steps(self) -> int:
        released = max(self._free, 0) + int(self._free != NOT_RELEASED and self.is_terminated())
        return len(self._past) + released

    def _undo(self, count: int) -> None:
        if count and self._free != NOT_RELEASED:
            released = min(count, self.steps - len(self._past))
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
        if self._state.calling:
            return self._plan.demanded and super().is_accepting()
        return not self._plan.demanded

    def forced_bytes(self, limit: int = 4096) -> bytes:
        return super().forced_bytes(limit) if self._in_engine else b""


@lru_cache(maxsize=256)
def _all_but(tokens: tuple[int, ...], words: int) -> NDArray[np.int32]:
    """A mask that forbids only some tokens, int32[words]."""
    flags: NDArray[np.uint8] = np.ones(words * 32, np.uint8)
    flags[list(tokens)] = 0
    return np.packbits(flags, bitorder="little").view(np.int32)
