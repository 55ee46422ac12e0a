"""Session: one object for one sequence, with the interface of a Matcher.

Failures of a constraint are those of its sequence alone. What becomes of them, and what happened, is in `events`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .._arguments import integer, integers, one_of, shown, text_bytes, token_id_of
from .._errors import ArgumentError, ConstrainError
from ..automata.matcher import mask_array
from ..automata.stepper import Stepper
from ..vocabulary import Vocabulary
from ..wires.matcher import ToolMatcher
from .alternatives import Alternatives, allow
from .batched import Batched
from .constraint import Constraint
from .events import EventKind, SessionEvent

__all__ = ["Session"]

OnFailure = Literal["soft", "stop", "raise"]
_LASTING = ("warning", "disabled", "failed")
"""Events that a rollback does not take back."""


class Session(Batched, Stepper):
    """The state of one reply.

    constraint:     a Grammar, tool automaton or `constrain.requests.Constraint`, of which matchers are made; a matcher,
                    which is used from where it stands; or None.
    prompt:         ids of the prompt, where reasoning counts: what it has begun or ended is found out.
    max_rollback:   as for Grammar.matcher.
    stop_token_ids: tokens that end the reply where it is complete; by default those of the constraint.
    stop:           texts that end the reply wherever they stand in it.
    on_failure:     when the constraint fails: "soft" goes on without it; "stop" lets the sequence only end; "raise"
                    raises ConstrainError, then and ever after. None is "soft" for a constraint that is idle at first
                    (tools), and "stop" for one that is not.
    on_event:       called with each SessionEvent.
    vocab:          needed for `stop` where the constraint has no vocabulary.

    events:  what happened so far; what is taken back by a rollback is not in it any more.
    failure: why the constraint failed, None if it did not; error: the exception, if there was one.
    Use it in one thread at a time.
    """

    def __init__(
        self,
        constraint: Any = None,
        *,
        prompt: Sequence[int] | None = None,
        max_rollback: int | None = 256,
        stop_token_ids: Iterable[int] | None = None,
        stop: Sequence[str] = (),
        on_failure: OnFailure | None = None,
        on_event: Callable[[SessionEvent], object] | None = None,
        vocab: Vocabulary | None = None,
    ) -> None:
        one_of(on_failure, (None, "soft", "stop", "raise"), "on_failure")
        listed = isinstance(stop, Sequence) and not isinstance(stop, (str, bytes))
        if not listed or not all(isinstance(text, str) for text in stop):
            raise ArgumentError("stop must be a sequence of texts")
        if max_rollback is not None:
            max_rollback = integer(max_rollback, "max_rollback (or None)", 0)
        self.constraint, self.max_rollback, self.on_event = constraint, max_rollback, on_event
        self.on_failure: OnFailure = on_failure or "stop"
        self.vocabulary: Any = getattr(constraint, "vocabulary", None) or vocab
        if "" in stop or (stop and self.vocabulary is None):
            raise ArgumentError("stop: texts, not empty ones, and a vocabulary (vocab=) that knows the bytes of tokens")
        self._stop = tuple(text_bytes(text, "a text of stop") for text in stop)
        stops = None if stop_token_ids is None else tuple(integers(stop_token_ids, "stop_token_ids", 0))
        ends = () if self.vocabulary is None else tuple(self.vocabulary.eos_token_ids)
        self.stop_token_ids: tuple[int, ...] = ends if stops is None else stops
        self.events: list[SessionEvent] = []
        self.failure: str | None = None
        self.error: Exception | None = None
        self._failed_at = 0
        self._ways = Alternatives(())
        self._clear()
        try:
            self._ways = Alternatives(self._made(prompt, stops))
            bounds = (self.max_rollback, *(getattr(matcher, "max_rollback", None) for matcher in self._ways.matchers))
            self.max_rollback = min((bound for bound in bounds if bound is not None), default=None)
            self._hold(False)
            if stops is None and self._ways.matchers:
                self.stop_token_ids = tuple(getattr(self._ways.matchers[0], "stop_token_ids", ()))
            if on_failure is None and not self._restricts():
                self.on_failure = "soft"
        except Exception as error:
            self.fail("creation", error)
        for warning in getattr(constraint, "warnings", ()):
            self._tell("warning", warning)

    def _made(self, prompt: Sequence[int] | None, stops: Sequence[int] | None) -> list[Any]:
        constraint, options = self.constraint, {}
        if constraint is None:
            return []
        if not hasattr(constraint, "matcher"):
            return [constraint]
        if self.max_rollback != 256:
            options["max_rollback"] = self.max_rollback
        if isinstance(constraint, Constraint):
            opened = None if prompt is None else constraint.opened_by(prompt)
            stops = list(constraint.stop_token_ids) if stops is None else list(stops)
            return [one.matcher(stop_token_ids=stops, **options) for one in constraint.grammars(opened)]
        if stops is None:
            return [constraint.matcher(**options)]
        return [constraint.matcher(stop_token_ids=list(stops), **options)]

    def _clear(self) -> None:
        self._texts: list[bytes] = [b""]
        """The end of the text before each step that is kept, and now; only where there are texts that end the reply."""
        self._freed: int | None = None
        """After how many steps a forced token released the constraint."""
        self._ended = self._engaged = self._quiet = False
        self._reached = 0
        self._hold(False)

    def reset(self) -> None:
        """Back to the start of the reply. What failed stays off."""
        self._clear()
        self._ways.reset()
        self.events = [event for event in self.events if event.kind in _LASTING]

    def fork(self) -> Session:
        """An independent copy in the same state; it calls the same `on_event`."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._ways, other._texts, other.events = self._ways.fork(), self._texts.copy(), self.events.copy()
        return other

    # What is allowed ------------------------------------------------------------------------------------------------

    @property
    def is_constraining(self) -> bool:
        """Whether the mask restricts anything here."""
        self._note()
        return self._engaged

    @property
    def undecided(self) -> bool:
        """Whether the next token may begin a call instead of the answer; `prefer` is of use then."""
        return self._ways.undecided

    def prefer(self, token_id: int) -> bool:
        """Say which token the model would choose next if nothing were constrained. Returns whether it begins a call.

        Where the reply is undecided, only that token may turn it to a call: what the model wanted as an answer does not
        become a call because the constraint has forbidden its first choice. Without this, both ways are open. It holds
        for the next token.
        """
        try:
            return self._ways.prefer(token_id_of(token_id))
        except Exception as error:
            self.fail("mask", error)
            return False

    def fill_next_token_bitmask(self, bitmask: Any, row: int = 0) -> bool:
        """As Matcher.fill_next_token_bitmask."""
        self._note()
        array = mask_array(bitmask, self._ways.index.words)
        row = integer(row, "row", 0, len(array) - 1)
        if self._ways.alive:
            try:
                return self._ways.fill(array, row)
            except Exception as error:
                self.fail("mask", error)
        return self._fill_without(array[row])

    def allows(self, token_id: int) -> bool:
        """As Matcher.allows."""
        token = token_id_of(token_id)
        if self._ways.alive:
            try:
                return bool(self._ways.taken(lambda matcher: matcher.allows(token), token))
            except Exception as error:
                self.fail("mask", error)
        self._raise()
        if self._is_open:
            return token >= 0 and (self.vocabulary is None or token < self.vocabulary.size)
        return token in self.stop_token_ids

    # Steps ----------------------------------------------------------------------------------------------------------

    def accept_token(self, token_id: int) -> bool:
        """As Matcher.accept_token."""
        token = token_id_of(token_id)
        if self.is_terminated():
            return False
        took = 0
        if self._ways.alive:
            try:
                took = self._ways.taken(lambda matcher: matcher.accept_token(token), token)
            except Exception as error:
                self.fail("commit", error)
        if not took and (self._ways.alive or not self.allows(token)):
            return False
        self._stepped(took, token)
        return True

    def force_token(self, token_id: int) -> bool:
        """As Matcher.force_token: take a token that the host injects. Where it breaks the constraint, that is released
        and an event says so.
        """
        token = token_id_of(token_id)
        if self.is_terminated():
            return False
        if self.accept_token(token):
            return self.failure is None and self._freed is None
        for matcher in self._ways.living:
            matcher.force_token(token)
        self._stepped(self._ways.alive, token)
        if self.failure is None:
            self._freed = self.steps
            self._tell("released", f"token {shown(token)} was forced, which the constraint does not allow")
            self._engaged = False
        return False

    def accept_bytes(self, data: bytes) -> bool:
        """As Matcher.accept_bytes."""
        data = text_bytes(data)
        if self.is_terminated() or not data:
            return not data
        took = 0
        if self._ways.alive:
            try:
                took = self._ways.taken(lambda matcher: matcher.accept_bytes(data))
            except Exception as error:
                self.fail("commit", error)
        self._raise()
        if not took and not self._is_open:
            return False
        self._stepped(took, data)
        return True

    def validate_tokens(self, token_ids: Iterable[int]) -> int:
        """As Matcher.validate_tokens."""
        with self._silent():
            return super().validate_tokens(token_ids)

    @property
    def steps(self) -> int:
        """Steps taken since the start."""
        return self._ways.steps

    def is_accepting(self) -> bool:
        """Whether the reply may end here; after a failure, it may."""
        living = self._ways.living
        return self._ended or not living or any(matcher.is_accepting() for matcher in living)

    def is_terminated(self) -> bool:
        """Whether a stop token was accepted, or a stop text is complete."""
        return self._ended or any(matcher.is_terminated() for matcher in self._ways.living)

    @property
    def is_complete(self) -> bool:
        """Whether the reply so far satisfies the constraint, which has not failed and was not released."""
        if self.failure is not None or self._freed is not None:
            return False
        living = self._ways.living
        return not living or any(matcher.is_terminated() or matcher.is_accepting() for matcher in living)

    @property
    def in_call(self) -> bool:
        """Whether the next token belongs to a tool call."""
        answer = isinstance(self.constraint, Constraint) and self.constraint.grammar is not None
        only = self._ways.only if not answer or self._ways.alive == 2 else None
        return bool(getattr(only, "in_call", False))

    def fail(self, stage: str, error: Exception | str) -> None:
        """Note that the constraint cannot be used any more: carry out `on_failure`."""
        self.failure = f"{stage}: " + (error if isinstance(error, str) else f"{type(error).__name__}: {error}")
        self.error = error if isinstance(error, Exception) else None
        self._failed_at = self.steps
        self._ways.drop()
        self._tell("disabled" if self.on_failure == "soft" else "failed", self.failure)
        self._note()

    # Looking ahead --------------------------------------------------------------------------------------------------

    def forced_bytes(self, limit: int = 4096) -> bytes:
        """As Matcher.forced_bytes; empty while the reply may be two things."""
        return self._ways.only.forced_bytes(limit) if self._ways.only is not None else b""

    def forced_tokens(self, canonical: bool = False, encode: Any = None, limit: int = 4096) -> list[int]:
        """As Matcher.forced_tokens; empty while the reply may be two things."""
        return self._ways.only.forced_tokens(canonical, encode, limit) if self._ways.only is not None else []

    def fill_draft_bitmasks(self, tokens: Sequence[int], bitmask: Any, row: int = 0) -> int:
        """As Matcher.fill_draft_bitmasks."""
        with self._silent():
            return super().fill_draft_bitmasks(tokens, bitmask, row)

    def fill_tree_bitmasks(
        self, tokens: Sequence[int], first_child: Sequence[int], next_sibling: Sequence[int], bitmask: Any, row: int = 0
    ) -> None:
        """As Matcher.fill_tree_bitmasks."""
        with self._silent():
            super().fill_tree_bitmasks(tokens, first_child, next_sibling, bitmask, row)

    # States ---------------------------------------------------------------------------------------------------------

    @property
    def _is_open(self) -> bool:
        """Whether there is no constraint (any more)."""
        ends = self.failure is not None and self.on_failure == "stop" and self.stop_token_ids
        return not self._ways.alive and not ends

    def _stepped(self, took: int, what: int | bytes) -> None:
        """Note a step that these matchers have taken."""
        turned = self._ways.step(took)
        if isinstance(what, int):
            self._ended = what in self.stop_token_ids
        if self._stop:
            data = what if isinstance(what, bytes) else self.vocabulary.token_bytes(what) or b""
            text = self._texts[-1] + data
            self._ended = self._ended or any(one in text for one in self._stop)
            self._texts.append(text[1 - max(map(len, self._stop)) or len(text) :])
        if turned:
            self._tell("call", "the reply calls a tool instead of the answer")
        names = next((one.undeclared for one in self._ways.living if isinstance(one, ToolMatcher)), ())
        if names:
            told = sum(event.kind == "unknown_tool" for event in self.events)
            for name in names[told:]:
                self._tell("unknown_tool", f"the reply calls {name!r}, which is not in the list of tools")
        if len(self._ways.past) > self._most_past:
            cut = len(self._ways.past) - (self.max_rollback or 0)
            self._ways.forget(cut)
            del self._texts[:cut]

    def _kept(self, most: int) -> int:
        return self._ways.kept(most)

    def _hold(self, on: bool) -> None:
        self._most_past = sys.maxsize if on or self.max_rollback is None else 2 * self.max_rollback + 64
        self._ways.hold(on)

    def _undo(self, count: int) -> None:
        self._ways.undo(count)
        if count:
            self._ended = False
            del self._texts[len(self._ways.past) + 1 :]
        if self._freed is not None and self._freed > self.steps:
            self._freed = None
        if not self._quiet:
            self.events = [one for one in self.events if one.kind in _LASTING or one.position <= self.steps]
            changes = [one.kind for one in self.events if one.kind in ("engaged", "released")]
            self._engaged = changes[-1:] == ["engaged"]

    def _raise(self) -> None:
        """After a failure that is to be raised there is nothing else."""
        if self.failure is not None and self.on_failure == "raise":
            raise ConstrainError(f"after {self._failed_at} tokens: {self.failure}") from self.error

    def _restricts(self) -> bool:
        return any([matcher.is_constraining for matcher in self._ways.living])

    def _note(self) -> None:
        """Ask whether the constraint restricts anything now, and tell when that has changed."""
        if not self._ways.alive:
            self._raise()
            self._engaged = not self._is_open
            return
        try:
            engaged = self._restricts()
        except Exception as error:
            self.fail("mask", error)
            return
        if engaged != self._engaged:
            self._engaged = engaged
            self._tell("engaged" if engaged else "released")

    def _fill_without(self, row: NDArray[np.int32]) -> bool:
        """The mask where no matcher gives one."""
        row[:] = -1 if self._is_open else 0
        for token in () if self._is_open else self.stop_token_ids:
            allow(row, token)
        return not self._is_open

    def _tell(self, kind: EventKind, reason: str = "") -> None:
        if self._quiet and kind not in _LASTING:
            return
        event = SessionEvent(kind, self.steps, reason)
        self.events.append(event)
        if self.on_event is not None:
            self.on_event(event)

    @contextmanager
    def _silent(self) -> Iterator[None]:
        """Steps that are taken back: they are no events."""
        before = self._quiet, self._engaged, self._ways.preferred
        self._quiet = True
        try:
            yield
        finally:
            self._quiet, self._engaged, self._ways.preferred = before
            if self.failure is not None:
                self._note()
