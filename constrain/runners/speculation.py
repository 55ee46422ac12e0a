"""Looking ahead: tokens that must come, and tokens that are likely to come.

Where the mask has one bit, the token is certain, and is taken without asking the model (*jump-ahead*). Beyond that,
tokens are *drafted*: the model reads them in one pass together with what is new, and each position is then masked and
drawn as in plain decoding, with the uniform that belongs to the position, until a draw differs from the draft. So a
draft only changes how many positions one pass of the model decides. The reply is that of plain decoding, greedy or
sampled, penalties and constraint included, for the same seed; only the rounding of the model's own sums may differ
between passes over one and over several tokens. (For drafts that are not drawn, accepting a draft where the draw is
equal to it is also the rule of Leviathan et al. 2023, Fast Inference from Transformers via Speculative Decoding.)

Drafts come from two sources. *Forced text*: bytes that the constraint leaves no choice about, in the tokens that the
tokenizer gives them; several tokenisations are allowed, and the model mostly prefers this one. *Prompt lookup*: what
followed the last few tokens when they occurred before, in prompt or reply (Saxena 2023, Prompt Lookup Decoding).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["PromptLookup", "Speculation", "follow", "forced_text"]


@dataclass(frozen=True)
class Speculation:
    """How far to look ahead.

    most: tokens drafted for one step at most; 0 drafts nothing. ngram: the longest run of tokens that prompt lookup
    searches for; least: the shortest; ngram=0 turns it off. jump: take forced tokens without the model, and draft
    forced text. Raises ValueError for a negative number, and where least is not in 1..ngram.
    """

    most: int = 4
    ngram: int = 3
    least: int = 1
    jump: bool = True

    def __post_init__(self) -> None:
        if self.most < 0 or self.ngram < 0:
            raise ValueError(f"most={self.most} and ngram={self.ngram} must be 0 or more")
        if self.ngram and not 1 <= self.least <= self.ngram:
            raise ValueError(f"least={self.least} must be in 1..{self.ngram} (ngram)")


class PromptLookup:
    """Where runs of tokens occurred last; speculation None or without prompt lookup keeps and finds nothing."""

    def __init__(self, speculation: Speculation | None, tokens: Iterable[int] = ()) -> None:
        on = speculation is not None and speculation.most > 0 and speculation.ngram > 0
        self._lengths = range(speculation.ngram, speculation.least - 1, -1) if on and speculation else range(0)
        self._tokens: list[int] = []
        self._after: dict[tuple[int, ...], int] = {}
        """A run of tokens -> the position after its last occurrence; the run at the very end is not in it."""
        self.extend(tokens)

    def extend(self, tokens: Iterable[int]) -> None:
        """Append tokens."""
        if not self._lengths:
            return
        for token in tokens:
            end = len(self._tokens)
            for length in self._lengths:
                if length <= end:
                    self._after[tuple(self._tokens[end - length :])] = end
            self._tokens.append(token)

    def find(self, tokens: Sequence[int], most: int) -> list[int]:
        """What followed the longest run that ends the text with `tokens` appended, at most so many tokens."""
        for length in self._lengths:
            tail = (*self._tokens[-length:], *tokens)[-length:]
            at = self._after.get(tail) if len(tail) == length else None
            if at is not None:
                return self._tokens[at : at + most]
        return []


def forced_text(session: Any, encode: Any, most: int) -> list[int]:
    """At most so many tokens of the text that the constraint forces, as the tokenizer writes it; none if that fails."""
    try:
        return list(session.forced_tokens(canonical=True, encode=encode))[:most]
    except Exception:
        return []


def follow(session: Any, draft: Sequence[int], bitmask: Any, row: int) -> tuple[list[int], list[int]]:
    """The part of a draft that the constraint allows, with its masks: row + i is the mask after the first i tokens.

    Walks on a copy, so that a limit that only a draft reaches is no failure of the sequence. Ends before a state where
    the reply may become an answer or a call, which needs the model's preference. Returns the tokens and those of the
    rows that restrict something; row itself is not written.
    """
    kept: list[int] = []
    restricted: list[int] = []
    try:
        ahead = session.fork()
        ahead.on_event = None
        for token in draft:
            if not ahead.accept_token(token) or ahead.failure or ahead.is_terminated() or ahead.undecided:
                break
            at = row + len(kept) + 1
            limits = ahead.fill_next_token_bitmask(bitmask, at)
            if ahead.failure:
                break
            kept.append(token)
            if limits:
                restricted.append(at)
    except Exception:
        pass  # what was walked so far is good
    return kept, restricted
