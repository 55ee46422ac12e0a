"""The masks of a batch of tracks, what a failure means, and what hosts are told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._errors import ConstrainError
from ..automata.matcher import fill_next_token_bitmasks
from ._tracks import Event, OnFailure, Track

__all__ = ["Masks", "only"]


class Masks:
    """Fills the masks of the rows of a host's batch.

    vocabulary: that of all constraints; None: there are none.
    on_failure: when a constraint fails, "soft" goes on without it, "stop" lets the row only end, "raise" raises
                ConstrainError; None is "soft" for a constraint that is idle at first and "stop" for one that is not.
    on_event:   called with each Event. `counts` counts them by kind.
    threads:    of `fill_next_token_bitmasks`.
    """

    def __init__(
        self,
        vocabulary: Any,
        on_failure: OnFailure | None = None,
        on_event: Callable[[Event], object] | None = None,
        threads: int | None = None,
    ) -> None:
        if on_failure not in (None, "soft", "stop", "raise"):
            raise ValueError(f'on_failure must be None, "soft", "stop" or "raise", not {on_failure!r}')
        self.vocabulary, self.on_failure, self.on_event, self.threads = vocabulary, on_failure, on_event, threads
        self.counts: Counter[str] = Counter()
        self._bitmask: NDArray[np.int32] = np.zeros((0, 0), np.int32)

    def fill(
        self,
        tracks: Sequence[Track | None],
        position: Callable[[int], int],
        best: Callable[[int], int] | None = None,
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The masks of the rows whose tracks these are, None for rows without a constraint.

        Returns bitmask int32[n, words], valid until the next call, and int32[rows]: the row of the bitmask that goes
        with each row of the batch, -1 where the row must be left alone.
        position: gives how many tokens a row has generated, for events.
        best: gives the token with the greatest score of a row; sessions that are undecided are told.
        """
        wanted = {id(track): track for track in tracks if track is not None}
        active = [track for track in wanted.values() if track.state == "open" and _is_constraining(track)]
        if best is not None and any(getattr(one.matcher, "undecided", False) for one in active):
            rows = {id(track): row for row, track in enumerate(tracks)}
            for one in active:
                if getattr(one.matcher, "undecided", False):
                    one.matcher.prefer(best(rows[id(one)]))
        bitmask = self._room(len(active) + 1)
        self._fill(active, bitmask)
        slots = {id(track): slot for slot, track in enumerate(active) if track.state == "open"}
        result: NDArray[np.int32] = np.full(len(tracks), -1, np.int32)
        for row, track in enumerate(tracks):
            if track is None:
                continue
            result[row] = slots.get(id(track), -1)
            if track.state == "failed" and track.ends:
                result[row] = len(active)
                only(bitmask[len(active)], track.matcher.stop_token_ids)
            if track.new and track.state != "ended":
                self._report_closed(row, position(row), track)
        for track in wanted.values():
            track.new = False
        return bitmask, result

    def report(self, kind: Any, row: int, position: int, reason: str) -> None:
        """Count an event and pass it on."""
        self.counts[kind] += 1
        if self.on_event is not None:
            self.on_event(Event(kind, row, position, reason))

    def _room(self, rows: int) -> NDArray[np.int32]:
        words = 0 if self.vocabulary is None else (self.vocabulary.size + 31) // 32
        if len(self._bitmask) < rows:
            self._bitmask = np.zeros((rows, words), np.int32)
        return self._bitmask

    def _fill(self, tracks: Sequence[Track], bitmask: NDArray[np.int32]) -> None:
        try:
            if len(tracks) > 1:
                fill_next_token_bitmasks([track.matcher for track in tracks], bitmask, threads=self.threads)
            else:
                for track in tracks:
                    track.matcher.fill_next_token_bitmask(bitmask)
        except Exception:  # one of them fails; the others need not
            for slot, track in enumerate(tracks):
                try:
                    track.matcher.fill_next_token_bitmask(bitmask, slot)
                except Exception as error:
                    track.fail("mask", error)

    def _report_closed(self, row: int, position: int, track: Track) -> None:
        if track.state == "failed" and self.on_failure == "raise":
            raise ConstrainError(f"row {row}, at {track.length} tokens: {track.reason}") from track.error
        kind = "disabled" if track.state == "failed" and not track.ends else track.state
        self.report(kind, row, position, track.reason)


def only(row: NDArray[np.int32], ids: Iterable[int]) -> None:
    """Let a row of a bitmask allow only `ids`."""
    row[:] = 0
    bits = row.view(np.uint32)
    for token in ids:
        bits[token >> 5] |= np.uint32(1 << (token & 31))


def _is_constraining(track: Track) -> bool:
    try:
        return bool(track.matcher.is_constraining)
    except Exception as error:
        track.fail("state", error)
        return False
