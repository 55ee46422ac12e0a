"""The matchers of what a reply may still be: of an answer, of tool calls, or one of each.

Each takes the tokens that it allows, and drops out at the first that it does not. So nothing has to be told apart
before it differs, also where calls and answers begin with the same text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..automata.matcher import Matcher
from ..automata.stepper import Stepper

__all__ = ["Alternatives", "allow"]

_ANSWER, _CALLS = 1, 2
_BOTH = _ANSWER | _CALLS


class Alternatives:
    """matchers: none, one, or that of an answer and that of calls.
    alive: a bit per matcher, whether it has taken all steps so far.
    past: per step, `alive` before it; forgotten: steps before those, which cannot be taken back.
    preferred: the token that the model would choose if nothing were constrained; None: nobody said.
    """

    def __init__(self, matchers: Sequence[Any]) -> None:
        self.matchers = list(matchers)
        self.preferred: int | None = None
        self._rewind()

    def _rewind(self) -> None:
        self.alive = (1 << len(self.matchers)) - 1
        self.past: list[int] = []
        self.forgotten = 0

    def reset(self) -> None:
        for matcher in self.matchers:
            matcher.reset()
        self.preferred = None
        self._rewind()

    def fork(self) -> Alternatives:
        other = Alternatives([matcher.fork() for matcher in self.matchers])
        other.alive, other.past, other.preferred = self.alive, self.past.copy(), self.preferred
        other.forgotten = self.forgotten
        return other

    def drop(self) -> None:
        """Use none of them any more."""
        self.matchers, self.alive = [], 0
        self.past = [0] * len(self.past)

    @property
    def living(self) -> list[Any]:
        return [matcher for i, matcher in enumerate(self.matchers) if self.alive >> i & 1]

    @property
    def only(self) -> Any:
        """The matcher, where there is one."""
        return None if self.alive in (0, _BOTH) else self.matchers[self.alive >> 1]

    @property
    def undecided(self) -> bool:
        """Whether the next step may be the beginning of a call, or of an answer."""
        return self.alive == _BOTH and bool(self.matchers[1].in_call)

    def prefer(self, token: int) -> bool:
        """Set `preferred`; whether that token turns the reply to a call."""
        self.preferred = token
        return self.undecided and not self.matchers[0].allows(token) and bool(self.matchers[1].allows(token))

    def taken(self, take: Callable[[Any], bool], token: int | None = None) -> int:
        """The matchers for which `take` is true, as bits. Where another token is preferred, calls have no say."""
        took = 0
        for i in range(len(self.matchers)):
            if not self.alive >> i & 1:
                continue
            if i and self.alive == _BOTH and not took and self.preferred not in (None, token):
                continue
            took |= bool(take(self.matchers[i])) << i
        return took

    def step(self, took: int) -> bool:
        """Note a step; whether it turned the reply to calls."""
        if took == _BOTH and self.matchers[1].in_call and not getattr(self.matchers[0], "in_call", True):
            self.matchers[0]._undo(
                1
            )  # while the answer waits for the end of reasoning, there was none, and a call begins
            took = _CALLS
        turned = self.alive == _BOTH and took == _CALLS
        self.past.append(self.alive)
        self.alive, self.preferred = took, None
        return turned

    def undo(self, count: int) -> None:
        """Take steps back."""
        steps = [0] * len(self.matchers)
        for _ in range(count):
            for i in range(len(steps)):
                steps[i] += self.alive >> i & 1
            self.alive = self.past.pop()
        for matcher, taken in zip(self.matchers, steps, strict=True):
            if taken:
                (matcher._undo if isinstance(matcher, Stepper) else matcher.rollback)(taken)
        if count:
            self.preferred = None

    @property
    def steps(self) -> int:
        """Steps taken since the start."""
        return self.forgotten + len(self.past)

    def forget(self, count: int) -> None:
        """Forget the oldest steps."""
        del self.past[:count]
        self.forgotten += count

    def kept(self, most: int) -> int:
        """How many of the last `most` steps can be taken back."""
        steps, alive = [0] * len(self.matchers), self.alive
        most = min(most, len(self.past))
        for count, before in enumerate(reversed(self.past[len(self.past) - most :])):
            for i, matcher in enumerate(self.matchers):
                steps[i] += alive >> i & 1
                if isinstance(matcher, Stepper) and matcher._kept(steps[i]) < steps[i]:
                    return count
            alive = before
        return most

    def hold(self, on: bool) -> None:
        """See Stepper._hold."""
        for matcher in self.matchers:
            if isinstance(matcher, Stepper):
                matcher._hold(on)

    def fill(self, array: NDArray[np.int32], row: int) -> bool:
        """The mask, into one row. Raises RuntimeError for a row without tokens."""
        first, *other = self.living
        constrained = bool(first.fill_next_token_bitmask(array, row))
        if other and self.preferred is None:
            more: NDArray[np.int32] = np.zeros((1, array.shape[1]), np.int32)
            other[0].fill_next_token_bitmask(more, 0)
            array[row] |= more[0]
        elif other and self.preferred is not None and other[0].allows(self.preferred):
            allow(array[row], self.preferred)
        if not array[row].any():
            raise RuntimeError("no token is allowed here")
        return constrained

    @property
    def index(self) -> Any:
        """What is known of the vocabulary: at least `words`, of a mask."""
        found = [matcher for matcher in self.matchers if isinstance(matcher, Matcher)]
        return found[0]._index if found else SimpleNamespace(words=0)


def allow(row: NDArray[np.int32], token: int) -> None:
    """Set the bit of a token in a row of a bitmask."""
    row.view(np.uint32)[token >> 5] |= np.uint32(1 << (token & 31))
