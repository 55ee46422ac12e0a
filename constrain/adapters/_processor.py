"""What logits processors have in common where hosts show the token histories of their rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np

from ._history import Histories
from ._logits import allowed_columns, masked, on_host, put
from ._tracks import Event, OnFailure

__all__ = ["HistoryProcessor"]

SelfT = TypeVar("SelfT", bound="HistoryProcessor")


class HistoryProcessor:
    """Sets the scores of tokens that the constraint forbids to minus infinity.

    constraint:     one Grammar (or `constrain.requests.Constraint`) for all prompts of the batch, or a list with one or
                    None (no constraint) per prompt. Rows of None, rows whose output has ended and rows whose history
                    the constraint forbids are not touched.
    stop_token_ids: ids that end the output; None: those of the vocabulary. Give the host's where the two differ.
    on_failure:     if the constraint of a row fails (a limit is reached), "stop" lets that row only end, "soft" lifts
                    its constraint, "raise" raises ConstrainError; None is "stop" for a constraint that restricts from
                    the start, else "soft".
    on_event:       called with each Event; `counts` counts them by kind.
    max_states:     states kept between calls, per constraint; those of the last call always are.
    threads:        over which the masks of a batch are filled.

    When others (minimum lengths, bad words, a forced token) have forbidden every token that the constraint allows, the
    constraint prevails: its tokens become equally likely, an "override" event says so, and no row is ever all -inf.

    One processor serves one generation at a time, and may be used again for the next; `reset()` in between is needed
    only if the next prompt continues the last output within the constraint.
    """

    def __init__(
        self,
        constraint: Any,
        *,
        stop_token_ids: Iterable[int] | None = None,
        on_failure: OnFailure | None = None,
        on_event: Callable[[Event], object] | None = None,
        max_states: int = 64,
        threads: int | None = None,
    ) -> None:
        self._options: dict[str, Any] = {
            "stop_token_ids": None if stop_token_ids is None else tuple(stop_token_ids),
            "on_failure": on_failure,
            "on_event": on_event,
            "max_states": max_states,
            "threads": threads,
        }
        self._constraint = constraint
        self._histories = Histories(constraint, **self._options)
        self._narrow = -1

    @property
    def counts(self) -> dict[str, int]:
        """How many events of each kind there were."""
        return dict(self._histories.counts)

    def reset(self) -> None:
        """Forget the last generation: the next call shows a prompt."""
        self._histories.reset()

    def __deepcopy__(self: SelfT, memo: dict[int, Any]) -> SelfT:
        """A new processor for the same constraint; grammars are shared."""
        return type(self)(self._constraint, **self._options)

    def process(self, ids: Any, scores: Any) -> Any:
        """The masked copy of scores[rows, width] for ids[rows, length], or `scores` itself if nothing is restricted.

        Both are arrays of numpy, torch or mlx.
        """
        vocabulary = self._histories.vocabulary
        if vocabulary is None:
            return scores
        rows, width = scores.shape if scores.ndim == 2 else (-1, -1)
        if ids.ndim != 2 or len(ids) != rows:
            raise ValueError(
                f"expected ids [rows, length] and scores [rows, width], got {list(ids.shape)} and "
                f"{list(scores.shape)}; continuous batching, which shows only the last ids, is not supported"
            )
        bitmask, slots = self._histories.masks(on_host(ids), best=lambda row: int(scores[row].argmax()))
        if width < vocabulary.n_tokens and self._narrow != width:
            self._narrow = width
            self._histories.report("narrow", -1, f"{width} columns of scores for {vocabulary.n_tokens} tokens")
        if slots.max(initial=-1) < 0:
            return scores
        out, left = masked(scores, bitmask, slots)
        if not left.all():
            for row in np.flatnonzero(~left).tolist():
                self._override(row, out, scores, allowed_columns(bitmask[slots[row]], width))
        return out

    def matcher_of(self, ids: Any) -> Any:
        """The matcher after ids[1, length] of a single row, to be looked at; None where nothing is constrained."""
        tracks = self._histories.advance(ids)
        return tracks[0].matcher if tracks[0] is not None and tracks[0].state == "open" else None

    def _override(self, row: int, out: Any, scores: Any, allowed: Any) -> None:
        """Make a row usable whose allowed tokens had all been forbidden before."""
        if len(allowed):
            reason = f"other processors had forbidden all {len(allowed)} tokens that the constraint allows"
            put(out, row, allowed, -float(np.log(len(allowed))))
        else:
            reason = "none of the tokens that the constraint allows has a column in the scores"
            put(out, row, None, scores[row])
        self._histories.report("override" if len(allowed) else "disabled", row, reason)
