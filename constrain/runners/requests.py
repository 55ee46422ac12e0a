"""What goes into a reference loop and what comes out: requests, events, completions, times."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from .._errors import ConstrainError
from ..sampling import Sampling
from .speculation import Speculation

__all__ = ["Completion", "Event", "Model", "Request", "SequenceError", "Timing", "Tokens"]

FinishReason = Literal["stop", "length", "cancelled", "failed"]
EventKind = Literal["token", "warning", "engaged", "released", "call", "unknown_tool", "disabled", "failed", "finished"]


class Model(Protocol):
    """A language model with a cache per sequence. context_length: tokens that one cache can hold."""

    vocab_size: int
    context_length: int

    def new_cache(self) -> Any:
        """An empty cache for one sequence."""

    def forward(self, caches: Sequence[Any], tokens: Sequence[Sequence[int]]) -> Any:
        """Append tokens[i] to caches[i]; logits after the last of each, float [len(caches), V], to be written to.

        For requests with speculation, there is a third parameter, `keep: Sequence[int]`: the logits after the last
        keep[i] tokens of each, float [sum(keep), V], in order; and a cache has `truncate(length)`, which forgets all
        but its first tokens.
        """


class Tokens(Protocol):
    """The text side of a model."""

    @property
    def eos_token_ids(self) -> Collection[int]:
        """The ids that end a reply."""

    def encode(self, text: str) -> list[int]:
        """Ids of a text."""

    def token_bytes(self, token_id: int) -> bytes | None:
        """Bytes that a token stands for; None where it has no text."""


@dataclass(frozen=True)
class Request:
    """One sequence to generate.

    prompt: token ids, or text for the tokenizer. constraint: a Grammar or a `constrain.requests.Constraint` (a session
    is made of it), a Matcher or a Session (used from where it stands), or None. max_tokens: of the reply, stop token
    included. stop: strings that end the reply and are not part of it. stop_token_ids: in addition to the model's own.
    on_failure: when the constraint fails, "soft" goes on without it, "stop" ends the sequence, "raise" raises
    SequenceError; None is "soft" for a constraint that is idle at first (tools) and "stop" for one that is not.
    speculation: whether and how to look ahead; it does not change the reply.
    """

    prompt: Sequence[int] | str
    constraint: Any = None
    sampling: Sampling = field(default_factory=Sampling)
    max_tokens: int = 256
    stop: Sequence[str] = ()
    stop_token_ids: Collection[int] = ()
    on_failure: Literal["soft", "stop", "raise"] | None = None
    speculation: Speculation | None = None


@dataclass(frozen=True)
class Completion:
    """What became of a request.

    text: the reply without control tokens and stop strings, bytes that are not UTF-8 replaced by U+FFFD.
    token_ids: the reply, stop token included. complete: the constraint is satisfied (None without a constraint, False
    when it was cut short or failed). events: all of the sequence's events but the tokens.
    """

    token_ids: list[int]
    text: str
    finish_reason: FinishReason
    complete: bool | None
    events: list[Event]


@dataclass(frozen=True)
class Event:
    """Something that happened to a sequence.

    kind: "token"     a token was committed; text is what it settles (often "", and the rest later)
          "warning"   the constraint could not be set up as asked; reason says what is missing
          "engaged"   the constraint begins to restrict tokens;  "released"  it stops doing so
          "call"      the reply calls a tool, instead of the answer
          "unknown_tool"  the reply calls a tool that is not in the list, which `names="any"` lets it
          "disabled"  the constraint failed and the sequence goes on without it; reason says at what and why
          "failed"    the sequence ends for that reason
          "finished"  the last event; text is what was still held back, reason the finish reason, completion the result
    sequence: index of the request. position: tokens in the reply when it happened (a token's own index for "token").
    The texts of a sequence's events, joined, are the completion's text.
    """

    kind: EventKind
    sequence: int
    position: int
    text: str = ""
    token_id: int | None = None
    reason: str = ""
    completion: Completion | None = None


@dataclass
class Timing:
    """Seconds spent in a run, by part, and the number of tokens; a loop adds to it.

    draft: looking ahead, the masks of drafted tokens included. steps: passes of the model, summed over the sequences.
    drafted, accepted: tokens read on trial, and those of them that the draws confirmed. jumped: forced tokens that were
    taken without the model. With a device, what it does is counted where the host waits for it, in `sample` mostly.
    """

    prefill: float = 0.0
    model: float = 0.0
    draft: float = 0.0
    mask: float = 0.0
    sample: float = 0.0
    commit: float = 0.0
    prompt_tokens: int = 0
    tokens: int = 0
    steps: int = 0
    drafted: int = 0
    accepted: int = 0
    jumped: int = 0

    @property
    def total(self) -> float:
        return self.prefill + self.model + self.draft + self.mask + self.sample + self.commit

    @property
    def tokens_per_step(self) -> float:
        """Tokens of the replies per pass of the model; 1 without speculation."""
        return self.tokens / self.steps if self.steps else 0.0

    @property
    def tokens_per_second(self) -> float:
        """Tokens of the replies per second, the reading of the prompts left out."""
        decoding = self.total - self.prefill
        return self.tokens / decoding if decoding > 0 else 0.0

    @property
    def constrain_share(self) -> float:
        """Part of the decoding time spent in masks and commits, 0 to 1."""
        decoding = self.total - self.prefill
        return (self.mask + self.commit) / decoding if decoding > 0 else 0.0


class SequenceError(ConstrainError):
    """A constraint failed under on_failure="raise". sequence, position and reason as in Event; the cause is chained."""

    def __init__(self, sequence: int, position: int, reason: str) -> None:
        self.sequence, self.position, self.reason = sequence, position, reason
        super().__init__(f"sequence {sequence}, after {position} tokens: {reason}")

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.sequence, self.position, self.reason)
