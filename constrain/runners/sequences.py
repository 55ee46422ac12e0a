"""The state of one request while the loop runs it."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ..sampling import uniforms
from .requests import Event, FinishReason, Request, Tokens
from .speculation import PromptLookup
from .streams import TextStream

__all__ = ["LiveSequence"]


class LiveSequence:
    """Session (None before the start), random stream, text stream and reply so far.

    pending: tokens that the model has not read yet; draft: those that it reads beyond them in this step, on trial.
    row: the sequence's first row of this step's logits and bitmask; row + i belongs to the first i drafted tokens.
    restricted: which of the rows after the first are to be masked.
    """

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
        self.read = False
        """Whether the model has read the prompt."""
        self.pending = list(self.prompt)
        self.draft: list[int] = []
        self.row = 0
        self.restricted: list[int] = []
        self.lookup = PromptLookup(request.speculation, self.prompt)
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
        self.pending.append(token)
        self.lookup.extend([token])

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
