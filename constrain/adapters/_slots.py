"""Constraints of a server's requests, by the slot that each request has in the batch.

For hosts that say when a request comes, moves and goes: a slot has the tokens that its request has generated so far,
and the tracks that have taken them. With drafted tokens a request has several rows, one for each
length of its history.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._masks import Masks
from ._tracks import Family, OnFailure, Track

__all__ = ["Slot", "Slots"]


class Slot:
    """One request. tokens[:length] are those that it has generated; a host that goes back writes over them.

    source: where the host keeps them, if it does.
    """

    def __init__(self, constraint: Any, stop_token_ids: Iterable[int] | None, on_failure: OnFailure | None) -> None:
        self.family = Family(constraint, on_failure, stop_token_ids, max_tracks=2)
        self.tokens: NDArray[np.int64] = np.zeros(256, np.int64)
        self.length = 0
        self.source: Any = None

    def write(self, start: int, tokens: Sequence[int]) -> None:
        """The tokens from `start` on are these, and there are no more."""
        end = start + len(tokens)
        if start > self.length:
            raise ValueError(f"tokens {self.length} to {start - 1} of a request are missing")
        if end > len(self.tokens):
            self.tokens = np.concatenate([self.tokens, np.zeros(max(end, len(self.tokens)), np.int64)])
        self.tokens[start:end] = tokens
        self.length = end


class Slots:
    """The requests of a batch that have a constraint.

    vocabulary: of all constraints. masks: see `Masks`.
    """

    def __init__(self, masks: Masks) -> None:
        self.masks = masks
        self._slots: dict[int, Slot] = {}

    def __bool__(self) -> bool:
        return bool(self._slots)

    def __contains__(self, name: int) -> bool:
        return name in self._slots

    def __getitem__(self, name: int) -> Slot:
        return self._slots[name]

    def __iter__(self) -> Iterator[tuple[int, Slot]]:
        return iter(self._slots.items())

    def put(self, name: int, constraint: Any, stop_token_ids: Iterable[int] | None = None) -> Slot:
        """A new request takes a slot, whoever had it before."""
        slot = self._slots[name] = Slot(constraint, stop_token_ids, self.masks.on_failure)
        return slot

    def drop(self, name: int) -> None:
        """A request has gone, or one without a constraint has come."""
        self._slots.pop(name, None)

    def move(self, source: int, target: int, swap: bool = False) -> None:
        """The request of `source` moves to `target`; whoever was there goes, or moves to `source` in a swap."""
        moved, other = self._slots.pop(source, None), self._slots.pop(target, None)
        if moved is not None:
            self._slots[target] = moved
        if swap and other is not None:
            self._slots[source] = other

    def fill(
        self, rows: Sequence[tuple[int, int] | None], best: Callable[[int], int] | None = None
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Masks for rows of the batch, each a slot and how many of its tokens the row has; None for other rows.

        The rest is that of `Masks.fill`.
        """
        places: dict[int, list[int]] = {}
        for place, row in enumerate(rows):
            if row is not None and row[0] in self._slots:
                places.setdefault(row[0], []).append(place)
        tracks: list[Track | None] = [None] * len(rows)
        lengths = [0 if row is None else row[1] for row in rows]
        for name, mine in places.items():
            slot = self._slots[name]
            histories = [slot.tokens[: lengths[place]] for place in mine]
            for place, track in zip(mine, slot.family.follow(range(len(mine)), histories), strict=True):
                tracks[place] = track
        return self.masks.fill(tracks, lengths.__getitem__, best)
