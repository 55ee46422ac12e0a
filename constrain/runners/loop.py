"""The reference loop: what a host does around a matcher, in the order that keeps the constraint exact.

A step, for the batch of live sequences:

    logits = model.forward(...)              one call
    fill the bitmask rows                    one call for all rows whose constraint restricts something now
    logits = arrays.apply(...)               forbidden logits become minus infinity, before everything else
    for each sequence: u = next uniform      exactly one, whether constrained or not, greedy or not
        token = arrays.choose(...)           penalties -> temperature -> top-k -> top-p -> min-p -> draw
        session.accept_token(token)          the only place where a constraint moves

Rows without a constraint, or with an idle one, are never written: their logits reach the sampler as the model gave
them, and they draw the same ids as they would without this library. Each sequence has a `constrain.Session`: a failure
of its constraint, at creation, mask or commit, is that sequence's alone, and what the session tells become events. The
loop holds no state between runs; a session, a cache and a Timing belong to one run, and so to one thread, at a time.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from typing import Any, Generic, TypeVar

from ..sampling import uniforms
from .arrays import Arrays
from .requests import Completion, Event, FinishReason, Model, Request, SequenceError, Timing, Tokens
from .streams import TextStream

__all__ = ["Runner"]

ModelT = TypeVar("ModelT", bound=Model)
TokensT = TypeVar("TokensT", bound=Tokens)

# A generator that yields events and is sent the consumer's answer to each; False cancels the event's sequence.
Events = Generator[Event, "bool | None", None]


class _Sequence:
    """The state of one request: its session (None before the start), random stream, text stream and reply so far."""

    def __init__(self, index: int, request: Request, tokens: Tokens) -> None:
        prompt = request.prompt
        self.index, self.request = index, request
        self.prompt = tokens.encode(prompt) if isinstance(prompt, str) else [int(token) for token in prompt]
        self.stop_ids = frozenset(tokens.eos_token_ids) | frozenset(request.stop_token_ids)
        self.random = uniforms(request.sampling.seed)
        self.stream = TextStream(request.stop)
        self.session: Any = None
        self.told = 0
        """How many of the session's events were passed on."""
        self.cache: Any = None
        self.pending = self.prompt
        self.seen = set(self.prompt)
        self.counts: Counter[int] = Counter()
        self.reply: list[int] = []
        self.text = ""
        self.finish: FinishReason | None = None
        self.failed = False
        self.events: list[Event] = []

    def attach(self) -> None:
        """Make the session."""
        from ..requests.session import Session

        constraint, policy = self.request.constraint, self.request.on_failure
        if isinstance(constraint, Session):
            self.session = constraint
            return
        self.session = Session(
            constraint,
            prompt=self.prompt,
            stop_token_ids=sorted(self.stop_ids) if self.request.stop_token_ids else None,
            on_failure="stop" if policy == "raise" else policy,
        )

    def take(self, token: int) -> None:
        self.reply.append(token)
        self.seen.add(token)
        self.counts[token] += 1
        self.pending = [token]

    def complete(self) -> bool | None:
        constraint = self.request.constraint
        if constraint is None or getattr(constraint, "is_free", False):
            return None
        if self.failed or self.session is None:
            return False
        try:
            return bool(self.session.is_complete)
        except Exception:
            return False


class Runner(Generic[ModelT, TokensT]):
    """Runs requests on a model, with the arrays of one backend.

    model, tokenizer: see Model and Tokens in `constrain.runners`. arrays: see `constrain.runners.arrays`.
    """

    def __init__(self, model: ModelT, tokenizer: TokensT, arrays: Arrays) -> None:
        self.model, self.tokenizer, self.arrays = model, tokenizer, arrays

    def generate(
        self,
        requests: Sequence[Request],
        callback: Callable[[Event], bool | None] | None = None,
        timing: Timing | None = None,
    ) -> list[Completion]:
        """Run all requests as one batch; completions in their order.

        callback: gets every event as it happens; when it returns False, that event's sequence ends as "cancelled".
        timing: is added to. Raises SequenceError for a request with on_failure="raise".
        """
        done: dict[int, Completion] = {}
        events = self.stream(requests, timing)
        answer: bool | None = None
        while True:
            try:
                event = events.send(answer)
            except StopIteration:
                return [done[index] for index in range(len(requests))]
            if event.completion is not None:
                done[event.sequence] = event.completion
            answer = callback(event) if callback else None

    def stream(self, requests: Sequence[Request], timing: Timing | None = None) -> Events:
        """The events of `generate`, as a generator: `send(False)` cancels the last event's sequence, `close()` all."""
        clock = timing if timing is not None else Timing()
        live = [_Sequence(index, request, self.tokenizer) for index, request in enumerate(requests)]
        for sequence in live:
            yield from self._start(sequence)
        live = yield from self._finish_ended(live)
        constrained = any(sequence.request.constraint is not None for sequence in live)
        bitmask = self.arrays.allocate(len(live), self.model.vocab_size) if constrained else None
        while live:
            logits = self._forward(live, clock)
            logits = yield from self._mask(live, logits, bitmask, clock)
            for row, sequence in enumerate(live):
                if sequence.finish is None:
                    yield from self._advance(sequence, logits, row, clock)
            live = yield from self._finish_ended(live)

    def _start(self, sequence: _Sequence) -> Events:
        size, most = len(sequence.prompt), self.model.context_length
        if not 1 <= size <= most:
            yield from _end(sequence, f"prompt: {size} tokens, where 1 to {most} are possible")
            return
        if sequence.request.constraint is not None:
            sequence.attach()
            yield from _pass_on(sequence)
        if sequence.finish is None and sequence.request.max_tokens <= 0:
            sequence.finish = "length"
        sequence.cache = self.model.new_cache()

    def _forward(self, live: Sequence[_Sequence], clock: Timing) -> Any:
        started = time.perf_counter()
        logits = self.model.forward([s.cache for s in live], [s.pending for s in live])
        elapsed = time.perf_counter() - started
        if any(not s.reply for s in live):
            clock.prefill += elapsed
            clock.prompt_tokens += sum(len(s.pending) for s in live if not s.reply)
        else:
            clock.model += elapsed
        return logits

    def _mask(
        self, live: Sequence[_Sequence], logits: Any, bitmask: Any, clock: Timing
    ) -> Generator[Event, bool | None, Any]:
        """Logits with the rows of all sequences masked whose constraint restricts something now."""
        started = time.perf_counter()
        rows = [row for row, s in enumerate(live) if s.session is not None and s.session.is_constraining]
        clock.mask += time.perf_counter() - started
        for sequence in live:
            yield from _pass_on(sequence)
        rows = [row for row in rows if live[row].finish is None]
        if not rows:
            return logits
        started = time.perf_counter()
        bitmask = bitmask[: len(live)]
        for row in rows:
            if live[row].session.undecided:
                live[row].session.prefer(self.arrays.best(logits, row))
        self._fill(live, bitmask, rows)
        rows = [row for row in rows if live[row].session.is_constraining]
        if rows:
            logits = self.arrays.apply(logits, bitmask, rows)
        clock.mask += time.perf_counter() - started
        for sequence in live:
            yield from _pass_on(sequence)
        return logits

    def _fill(self, live: Sequence[_Sequence], bitmask: Any, rows: Sequence[int]) -> None:
        """Fill the rows in one call, and one by one only to find out whose constraint failed."""
        try:
            self.arrays.fill([live[row].session for row in rows], bitmask, rows)
        except Exception:
            for row in rows:
                try:
                    live[row].session.fill_next_token_bitmask(bitmask, row)
                except Exception as error:
                    live[row].session.fail("mask", error)

    def _advance(self, sequence: _Sequence, logits: Any, row: int, clock: Timing) -> Events:
        """Draw one token for one sequence, commit it, and emit what it settles."""
        started = time.perf_counter()
        u = sequence.random.random()
        sampling = sequence.request.sampling
        try:
            token = self.arrays.choose(logits, row, sampling, sequence.seen, sequence.counts, u)
        except ValueError as error:
            yield from _end(sequence, f"draw: {error}", error)
            return
        finally:
            clock.sample += time.perf_counter() - started
        if sequence.session is not None:
            yield from self._commit(sequence, token, clock)
            if sequence.finish in ("failed", "cancelled"):
                return
        clock.tokens += 1
        sequence.take(token)
        stops = token in sequence.stop_ids
        text = "" if stops else sequence.stream.feed(self.tokenizer.token_bytes(token) or b"")
        if stops or sequence.stream.stopped is not None:
            sequence.finish = "stop"
        elif sequence.finish is None and self._is_full(sequence):
            sequence.finish = "length"
        yield from _emit(sequence, "token", text=text, token_id=token)

    def _commit(self, sequence: _Sequence, token: int, clock: Timing) -> Events:
        """Advance the session by the token; a terminated one ends the sequence."""
        session = sequence.session
        started = time.perf_counter()
        if not session.accept_token(token) and session.failure is None:
            session.fail("commit", RuntimeError(f"the matcher refuses token {token}"))
            session.accept_token(token)
        if session.is_terminated():
            sequence.finish = "stop"
        clock.commit += time.perf_counter() - started
        yield from _pass_on(sequence)

    def _is_full(self, sequence: _Sequence) -> bool:
        size = len(sequence.reply)
        return size >= sequence.request.max_tokens or len(sequence.prompt) + size > self.model.context_length

    def _finish_ended(self, live: Sequence[_Sequence]) -> Generator[Event, bool | None, list[_Sequence]]:
        """Close the sequences that ended; the others."""
        for sequence in live:
            if sequence.finish is None:
                continue
            tail = sequence.stream.finish()
            sequence.text += tail
            completion = Completion(
                sequence.reply, sequence.text, sequence.finish, sequence.complete(), sequence.events
            )
            position = len(sequence.reply)
            event = Event("finished", sequence.index, position, tail, None, sequence.finish, completion)
            sequence.events.append(event)
            yield event
        return [sequence for sequence in live if sequence.finish is None]


def _emit(sequence: _Sequence, kind: Any, text: str = "", token_id: int | None = None, reason: str = "") -> Events:
    """Yield one event; the consumer's False cancels the sequence."""
    position = len(sequence.reply) - (kind == "token")
    event = Event(kind, sequence.index, position, text, token_id, reason)
    sequence.text += text
    if kind != "token":
        sequence.events.append(event)
    if (yield event) is False and sequence.finish is None:
        sequence.finish = "cancelled"


def _pass_on(sequence: _Sequence) -> Events:
    """Yield what the session has told since; a failure under a policy that says so ends the sequence."""
    session = sequence.session
    if session is None:
        return
    while sequence.told < len(session.events):
        told = session.events[sequence.told]
        sequence.told += 1
        if told.kind == "failed":
            yield from _end(sequence, told.reason, session.error)
        else:
            sequence.failed = sequence.failed or told.kind == "disabled"
            yield from _emit(sequence, told.kind, reason=told.reason)


def _end(sequence: _Sequence, reason: str, error: Exception | None = None) -> Events:
    """The sequence cannot go on."""
    if sequence.request.on_failure == "raise":
        raise SequenceError(sequence.index, len(sequence.reply), reason) from error
    sequence.finish, sequence.failed = "failed", True
    yield from _emit(sequence, "failed", reason=reason)
