"""States of a constraint that follow token histories, for hosts that show nothing but the ids of each row.

Such hosts permute, duplicate and drop rows (beams), go back (assisted decoding, prompt lookup), interleave two models,
and try continuations that the constraint forbids. A row number says nothing about a state; only the row's tokens do.

A *track* is a matcher together with the tokens it has taken. For each row, the track that shares the longest prefix
with the row's history is brought there: rolled back to the common prefix and fed the rest. In the usual step that is
one token, and the matcher moves without being copied; it is forked only when several rows continue one history. What
depends on the length of the history is one comparison of arrays in memory, a few microseconds for thousands of tokens.

The prompt is what the first call shows. A later call begins another generation when it is narrower than the prompt,
when its rows begin with other prompts, or when all rows have more than one new token and none is legal any more: a next
turn of a chat looks like that. A prompt that continues the last output *within* the constraint cannot be told from that
output; `reset()`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._masks import Masks
from ._tracks import Event, Family, Ids, OnFailure, Track

__all__ = ["Histories"]


class Histories:
    """The constraints of all rows of a host's batch.

    constraints: one Grammar for every row, or one Grammar or None (no constraint) per prompt. A prompt may have several
                 rows (beams, returned sequences); they are adjacent, as hosts arrange them.
    stop_token_ids: as for Grammar.matcher.
    on_failure, on_event, threads: see `Masks`.
    max_states:  states that are kept between calls, per constraint; those of the last call always are.

    Raises ValueError for grammars of different vocabularies, ConstrainError for one without.
    """

    def __init__(
        self,
        constraints: Any,
        *,
        stop_token_ids: Iterable[int] | None = None,
        on_failure: OnFailure | None = None,
        on_event: Callable[[Event], object] | None = None,
        max_states: int = 64,
        threads: int | None = None,
    ) -> None:
        self.shared = not isinstance(constraints, (list, tuple))
        entries = [constraints] if self.shared else list(constraints)
        if not entries:
            raise ValueError("an empty list of constraints: give one Grammar or None per prompt")
        for entry in entries:
            if (entry is not None or self.shared) and not callable(getattr(entry, "matcher", None)):
                raise TypeError(f"a constraint is a Grammar, or None in a list, not {type(entry).__name__}")
        vocabularies = {g.vocabulary.fingerprint: g.vocabulary for g in entries if g is not None and g.vocabulary}
        if len(vocabularies) > 1:
            raise ValueError("the grammars of one batch must have the same vocabulary")
        stops = None if stop_token_ids is None else tuple(stop_token_ids)
        self.vocabulary = next(iter(vocabularies.values()), None)
        self._masks = Masks(self.vocabulary, on_failure, on_event, threads)
        self._families = [None if g is None else Family(g, on_failure, stops, max_states) for g in entries]
        self._prompts: Ids | None = None
        self._last: Ids = np.zeros((0, 0), np.int64)

    def reset(self) -> None:
        """Forget the generation: the next call shows a prompt."""
        self._prompts = None
        for family in self._families:
            if family is not None:
                family.clear()

    def advance(self, ids: Ids) -> list[Track | None]:
        """The tracks of the rows of ids[rows, width]; None for rows without a constraint."""
        last, self._last = self._last, ids.copy()
        if self._prompts is not None and ids.shape[1] == last.shape[1] + 1 and np.array_equal(ids[:, :-1], last):
            tracks = self._step(ids[:, -1].tolist())
            if tracks is not None:
                return tracks
        if self._prompts is None or not self._continues(ids, self._prompts):
            self._begin(ids)
        tracks = self._follow(ids)
        jumped = ids.shape[1] > last.shape[1] + 1 or all(f.jumped for f in self._families if f is not None)
        if jumped and all(track.state != "open" for track in tracks if track is not None):
            self._begin(ids)
            tracks = self._follow(ids)
        return tracks

    def masks(self, ids: Ids, best: Callable[[int], int] | None = None) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The masks for the next tokens of ids[rows, width].

        Returns bitmask int32[n, words], valid until the next call, and int32[rows]: the row of the bitmask that goes
        with each row of ids, -1 where the row must be left alone.
        best: gives the token with the greatest score of a row; sessions that are undecided are told.
        """
        return self._masks.fill(self.advance(ids), lambda row: self._position, best)

    @property
    def counts(self) -> Counter[str]:
        """How many events of each kind there were."""
        return self._masks.counts

    def report(self, kind: Any, row: int, reason: str) -> None:
        """Count an event and pass it on."""
        self._masks.report(kind, row, self._position, reason)

    @property
    def _position(self) -> int:
        return self._last.shape[1] - self._prompt_width

    @property
    def _prompt_width(self) -> int:
        return 0 if self._prompts is None else self._prompts.shape[1]

    def _continues(self, ids: Ids, prompts: Ids) -> bool:
        width = prompts.shape[1]
        if ids.shape[1] < width:
            return False
        heads = ids[:, :width]
        if np.array_equal(heads, prompts):
            return True
        known = {row.tobytes() for row in prompts}
        return all(row.tobytes() in known for row in heads) if self.shared else False

    def _begin(self, ids: Ids) -> None:
        self.reset()
        self._prompts = ids.copy()

    def _step(self, tokens: list[int]) -> list[Track | None] | None:
        """The tracks when every row goes on by one token, which is the usual case; None where they need a search."""
        tracks: list[Track | None] = []
        each = len(tokens) // len(self._families)
        for first, family in zip(range(0, len(tokens), each), self._families, strict=True):
            found = [None] * each if family is None else family.step(tokens[first : first + each])
            if found is None:
                return None
            tracks += found
        return tracks

    def _follow(self, ids: Ids) -> list[Track | None]:
        rows, groups = len(ids), len(self._families)
        if rows % groups:
            raise ValueError(f"{rows} rows cannot belong to {groups} prompts: give one constraint (or None) per prompt")
        each = rows // groups
        histories = ids[:, self._prompt_width :]
        tracks: list[Track | None] = []
        for group, family in enumerate(self._families):
            mine = range(group * each, (group + 1) * each)
            if family is None:
                tracks += [None] * each
            else:
                tracks += family.follow(mine, [histories[row] for row in mine])
        return tracks
