"""The reference loop: what a host does around a matcher, in the order that keeps the constraint exact.

A step, for the batch of live sequences:

    look ahead, where a request asks for it: take forced tokens, draft likely ones (see `speculation`)
    logits = model.forward(...)              one call
    fill the bitmask rows                    one call for all rows whose constraint restricts something now
    logits = space.apply(...)                forbidden logits become minus infinity, before everything else
    u = next uniform, per sequence           exactly one per token, whether constrained or not, greedy or not
    tokens = space.choose(...)               penalties -> temperature -> top-k -> top-p -> min-p -> draw
    session.accept_token(token)              the only place where a constraint moves
    a token equal to the drafted one:        the next row of that sequence is drawn as well

Rows without a constraint, or with an idle one, are never written: their logits reach the sampler as the model gave
them, and they draw the same ids as they would without this library. Each sequence has a `constrain.Session`: a failure
of its constraint, at creation, mask or commit, is that sequence's alone, and what the session tells become events. The
loop holds no state between runs; sessions, caches, buffers and a Timing belong to one run, and so to one thread, at a
time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from .arrays import Arrays, Draw, Workspace
from .requests import Completion, Event, Model, Request, SequenceError, Timing, Tokens
from .sequences import LiveSequence
from .speculation import follow, forced_text

__all__ = ["Runner"]

ModelT = TypeVar("ModelT", bound=Model)
TokensT = TypeVar("TokensT", bound=Tokens)

# A generator that yields events and is sent the consumer's answer to each; False cancels the event's sequence.
Events = Generator[Event, "bool | None", None]
Kept = Generator[Event, "bool | None", "list[LiveSequence]"]


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
        live = [LiveSequence(index, request, self.tokenizer) for index, request in enumerate(requests)]
        for sequence in live:
            yield from self._start(sequence)
        live = yield from self._finish_ended(live)
        if not live:
            return
        rows = sum(1 + (s.request.speculation.most if s.request.speculation else 0) for s in live)
        with self.arrays.workspace(rows, self.model.vocab_size) as space:
            while live:
                bitmask = space.bitmask() if any(s.session is not None for s in live) else None
                live = yield from self._look_ahead(live, bitmask, clock)
                if not live:
                    break
                logits = self._forward(live, clock)
                logits = yield from self._mask(live, logits, space, bitmask, clock)
                yield from self._draw(live, logits, space, clock)
                live = yield from self._finish_ended(live)

    def _start(self, sequence: LiveSequence) -> Events:
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
        if sequence.request.speculation is not None and not hasattr(sequence.cache, "truncate"):
            raise ValueError("speculation needs a model whose caches can be truncated, see constrain.runners.Model")

    def _look_ahead(self, live: list[LiveSequence], bitmask: Any, clock: Timing) -> Kept:
        """Take forced tokens, draft likely ones and give each sequence its rows; those that go on."""
        row = 0
        for sequence in live:
            sequence.row, sequence.draft, sequence.restricted = row, [], []
            if sequence.request.speculation is not None and not sequence.failed:
                if sequence.session is not None and sequence.request.speculation.jump:
                    yield from self._jump(sequence, clock)
                if sequence.finish is None:
                    self._draft(sequence, bitmask, clock)
            if sequence.finish is None:
                row += 1 + len(sequence.draft)
        return (yield from self._finish_ended(live))

    def _jump(self, sequence: LiveSequence, clock: Timing) -> Events:
        """Take the tokens that must come: any draw would give them."""
        session, limit = sequence.session, sequence.request.max_tokens - len(sequence.reply)
        with _timed(clock, "draft"):
            try:
                tokens = session.forced_tokens(limit=limit) if session.is_constraining else []
            except Exception:
                tokens = []  # what fails on the way is for the mask to find
        for token in tokens:
            with _timed(clock, "mask"):
                session.is_constraining  # noqa: B018  # lets the session note where it engages, as before every draw
            yield from _pass_on(sequence)
            if sequence.finish is None and not sequence.failed:
                sequence.random.random()
                clock.jumped += 1
                yield from self._take(sequence, token, clock)
            if sequence.finish is not None or sequence.failed:
                return

    def _draft(self, sequence: LiveSequence, bitmask: Any, clock: Timing) -> None:
        """Choose the tokens to try, and fill the rows behind them."""
        options, session = sequence.request.speculation, sequence.session
        assert options is not None
        size = len(sequence.reply)
        room = self.model.context_length - len(sequence.prompt) - size
        room = min(options.most, sequence.request.max_tokens - size - 1, room)
        if room <= 0:
            return
        with _timed(clock, "draft"):
            draft: list[int] = []
            if session is not None and session.undecided:
                return
            if session is not None and options.jump and session.is_constraining:
                draft = forced_text(session, self.tokenizer.encode, room)
            draft += sequence.lookup.find(draft, room - len(draft))
            if session is not None and draft:
                draft, sequence.restricted = follow(session, draft, bitmask, sequence.row)
            sequence.draft = draft
            clock.drafted += len(draft)

    def _forward(self, live: Sequence[LiveSequence], clock: Timing) -> Any:
        caches, tokens = [s.cache for s in live], [[*s.pending, *s.draft] for s in live]
        reading = [s for s in live if not s.read]
        with _timed(clock, "prefill" if reading else "model"):
            if any(s.draft for s in live):
                logits = self.model.forward(caches, tokens, [1 + len(s.draft) for s in live])  # type: ignore[call-arg]
            else:
                logits = self.model.forward(caches, tokens)
        clock.prompt_tokens += sum(len(s.prompt) for s in reading)
        clock.steps += len(live)
        for sequence in live:
            sequence.read = True
        return logits

    def _mask(
        self, live: Sequence[LiveSequence], logits: Any, space: Workspace, bitmask: Any, clock: Timing
    ) -> Generator[Event, bool | None, Any]:
        """Logits with the rows of all sequences masked whose constraint restricts something now."""
        with _timed(clock, "mask"):
            limited = [s for s in live if s.session is not None and s.session.is_constraining]
        for sequence in live:
            yield from _pass_on(sequence)
        limited = [s for s in limited if s.finish is None]
        with _timed(clock, "mask"):
            for sequence in limited:
                if sequence.session.undecided:
                    sequence.session.prefer(space.best(logits, sequence.row))
            if limited:
                _fill(limited, space, bitmask)
            rows = [s.row for s in limited if s.session.is_constraining]
            rows += [row for s in live if not s.failed for row in s.restricted]
            if rows:
                logits = space.apply(logits, bitmask, rows)
        for sequence in live:
            yield from _pass_on(sequence)
        return logits

    def _draw(self, live: list[LiveSequence], logits: Any, space: Workspace, clock: Timing) -> Events:
        """Draw one token for each sequence, and further ones as long as they are what was drafted."""
        drawing, depth = [s for s in live if s.finish is None], 0
        while drawing:
            with _timed(clock, "sample"):
                draws = [Draw(s.row + depth, s.request.sampling, s.seen, s.counts, s.random.random()) for s in drawing]
                tokens = space.choose(logits, draws)
            further = []
            for sequence, token in zip(drawing, tokens, strict=True):
                if isinstance(token, ValueError):
                    yield from _end(sequence, f"draw: {token}", token)
                    continue
                sequence.pending = []  # the model has read it, and what was drafted before this token
                yield from self._take(sequence, token, clock)
                drafted = sequence.draft[depth] if depth < len(sequence.draft) else None
                clock.accepted += token == drafted
                if token == drafted and sequence.finish is None and not sequence.failed:
                    further.append(sequence)
                elif drafted is not None and sequence.finish is None:
                    sequence.cache.truncate(len(sequence.prompt) + len(sequence.reply) - 1)
            drawing, depth = further, depth + 1

    def _take(self, sequence: LiveSequence, token: int, clock: Timing) -> Events:
        """Commit one token to one sequence, and emit what it settles."""
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

    def _commit(self, sequence: LiveSequence, token: int, clock: Timing) -> Events:
        """Advance the session by the token; a terminated one ends the sequence."""
        session = sequence.session
        with _timed(clock, "commit"):
            if not session.accept_token(token) and session.failure is None:
                session.fail("commit", RuntimeError(f"the matcher refuses token {token}"))
                session.accept_token(token)
            if session.is_terminated():
                sequence.finish = "stop"
        yield from _pass_on(sequence)

    def _is_full(self, sequence: LiveSequence) -> bool:
        size = len(sequence.reply)
        return size >= sequence.request.max_tokens or len(sequence.prompt) + size > self.model.context_length

    def _finish_ended(self, live: Sequence[LiveSequence]) -> Kept:
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


@contextmanager
def _timed(clock: Timing, part: str) -> Iterator[None]:
    """Add the time of the block to one part of a Timing."""
    started = time.perf_counter()
    try:
        yield
    finally:
        setattr(clock, part, getattr(clock, part) + time.perf_counter() - started)


def _fill(limited: Sequence[LiveSequence], space: Workspace, bitmask: Any) -> None:
    """Fill the rows in one call, and one by one only to find out whose constraint failed."""
    try:
        space.fill([s.session for s in limited], bitmask, [s.row for s in limited])
    except Exception:
        for sequence in limited:
            try:
                sequence.session.fill_next_token_bitmask(bitmask, sequence.row)
            except Exception as error:
                sequence.session.fail("mask", error)


def _emit(sequence: LiveSequence, kind: Any, text: str = "", token_id: int | None = None, reason: str = "") -> Events:
    """Yield one event; the consumer's False cancels the sequence."""
    position = len(sequence.reply) - (kind == "token")
    event = Event(kind, sequence.index, position, text, token_id, reason)
    sequence.text += text
    if kind != "token":
        sequence.events.append(event)
    if (yield event) is False and sequence.finish is None:
        sequence.finish = "cancelled"


def _pass_on(sequence: LiveSequence) -> Events:
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


def _end(sequence: LiveSequence, reason: str, error: Exception | None = None) -> Events:
    """The sequence cannot go on."""
    if sequence.request.on_failure == "raise":
        raise SequenceError(sequence.index, len(sequence.reply), reason) from error
    sequence.finish, sequence.failed = "failed", True
    yield from _emit(sequence, "failed", reason=reason)
