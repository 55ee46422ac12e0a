"""Tracks: matchers that follow the tokens of a sequence, and the events that hosts are told of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["Event", "Family", "Ids", "OnFailure", "Track"]

Ids = NDArray[np.integer]
OnFailure = Literal["soft", "stop", "raise"]


@dataclass(frozen=True)
class Event:
    """Something that happened to a row.

    kind: "illegal"   its history breaks the constraint (a rejected draft, a beam of score -inf); it is left alone
          "disabled"  the constraint failed, and the row goes on without it; reason says at what and why
          "failed"    the constraint failed, and the row may only end
          "override"  everything that the constraint allows had been forbidden before; the constraint prevailed
          "narrow"    the scores have fewer columns than the vocabulary has tokens (row -1: all rows)
    row: row of the call, which is no lasting name where rows move. position: tokens generated so far.
    """

    kind: Literal["illegal", "disabled", "failed", "override", "narrow"]
    row: int
    position: int
    reason: str


class Track:
    """A history and the matcher that has taken it.

    tokens[:length] are the tokens, up to and with the one after which the track was closed. state: "open"; "ended" by a
    stop token; "illegal", the last token was refused; "failed", with the reason. A closed track stands for all its
    continuations.
    ends: whether rows of a failed track may only end.
    """

    __slots__ = ("_make", "ends", "error", "length", "matcher", "new", "reason", "state", "tokens")

    def __init__(self, make: Callable[[], Any], ends: bool = False) -> None:
        self._make, self.ends = make, ends
        self.matcher: Any = make()
        self.tokens: Ids = np.empty(64, np.int64)
        self.length = 0
        self.state: Literal["open", "ended", "illegal", "failed"] = "open"
        self.reason = ""
        self.error: Exception | None = None
        self.new = False  # closed since the last look

    def common(self, history: Ids) -> int:
        """Length of the common prefix with `history`."""
        size = min(self.length, len(history))
        differ = self.tokens[:size] != history[:size]
        first = int(differ.argmax()) if size else 0
        return first if size and differ[first] else size

    def fork(self) -> Track:
        """An independent copy."""
        other = object.__new__(Track)
        for name in self.__slots__:
            setattr(other, name, getattr(self, name))
        other.matcher, other.tokens = self.matcher.fork(), self.tokens.copy()
        return other

    def move(self, common: int, history: Ids) -> None:
        """Bring the track to `history`, with which it has `common` tokens in common."""
        try:
            self._go_back(common)
        except Exception as error:
            self.fail("commit", error)
        for token in history[common:].tolist():
            self.push(token)
            if self.state != "open":
                break

    def push(self, token: int) -> None:
        """Take one token more. What follows a closed track says nothing."""
        if self.state != "open":
            return
        if self.length == len(self.tokens):
            self.tokens = np.concatenate([self.tokens, np.empty_like(self.tokens)])
        self.tokens[self.length] = token
        self.length += 1
        try:
            if not self.matcher.accept_token(token):
                self.close("illegal", f"token {token} is not allowed after {self.length - 1} tokens")
            elif self.matcher.is_terminated():
                self.close("ended")
        except Exception as error:
            self.fail("commit", error)

    def close(self, state: Literal["ended", "illegal", "failed"], reason: str = "") -> None:
        self.state, self.reason, self.new = state, reason, True

    def fail(self, stage: str, error: Exception | str) -> None:
        """Note that the matcher cannot be used at this history or after it."""
        self.error = None if isinstance(error, str) else error
        reason = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
        self.close("failed", f"{stage}: {reason}")

    def _go_back(self, length: int) -> None:
        if length == self.length:
            return
        if self.state == "failed":
            self.matcher = self._make()
            if self.matcher.accept_tokens(self.tokens[:length].tolist()) < length:
                raise RuntimeError("a history that was accepted is refused")
        else:
            self.matcher.rollback(self.length - length - (self.state == "illegal"))
        self.length, self.state, self.reason, self.new = length, "open", "", False


class Family:
    """The tracks of one constraint, the most recently used last.

    on_failure: what a failure means, see `Masks`. max_tracks: how many are kept beyond those of the last call.
    """

    def __init__(
        self,
        constraint: Any,
        on_failure: OnFailure | None = None,
        stop_token_ids: Iterable[int] | None = None,
        max_tracks: int = 64,
    ) -> None:
        stops = None if stop_token_ids is None else tuple(stop_token_ids)
        make = lambda: constraint.matcher(max_rollback=None, stop_token_ids=stops)  # noqa: E731
        self._make, self.max_tracks = make, max_tracks
        self.root = Track(make)
        ends = on_failure == "stop" or (on_failure is None and bool(self.root.matcher.is_constraining))
        self.root.ends = ends and bool(self.root.matcher.stop_token_ids)
        self.tracks: list[Track] = []
        self.jumped = False  # whether all histories of the last call had at least two tokens that no track had seen
        self._by_row: dict[int, Track] = {}

    def fail(self, stage: str, error: Exception | str) -> None:
        """Note that the constraint cannot be used for this sequence at all."""
        self.clear()
        self.root.fail(stage, error)

    def clear(self) -> None:
        """Forget all histories."""
        self.tracks, self._by_row = [], {}
        if self.root.state != "open":
            self.root = Track(self._make, self.root.ends)

    def step(self, tokens: Sequence[int]) -> list[Track] | None:
        """The tracks when each row of the last call goes on by one token; None where one must become several."""
        wanted: dict[int, tuple[Track, int]] = {}
        for track, token in zip(self._by_row.values(), tokens, strict=True):
            if track is self.root or wanted.setdefault(id(track), (track, token))[1] != token:
                return None
        for track, token in wanted.values():
            track.push(token)
        return list(self._by_row.values())

    def follow(self, rows: Sequence[int], histories: Sequence[Ids]) -> list[Track]:
        """The track of each history; equal histories share one."""
        # What happens to a track: the rows it serves, by the rest of their histories. None: it stays where it is.
        plans: dict[int, tuple[Track, dict[tuple[int, bytes] | None, list[int]]]] = {}
        self.jumped = True
        for place, history in enumerate(histories):
            track, common = self._nearest(rows[place], history)
            stays = common == track.length and (common == len(history) or track.state != "open")
            self.jumped &= not stays and len(history) - common > 1
            goal = None if stays else (common, history[common:].tobytes())
            plans.setdefault(id(track), (track, {}))[1].setdefault(goal, []).append(place)
        result: list[Track] = [self.root] * len(histories)
        for track, goals in plans.values():
            spare = track is not self.root and None not in goals
            last = next(reversed(goals))
            for goal, places in goals.items():
                served = track
                if goal is not None:
                    # copies are made before the track itself moves, with the last goal
                    served = track if spare and goal == last else track.fork()
                    served.move(goal[0], histories[places[0]])
                for place in places:
                    result[place] = served
        self._by_row = dict(zip(rows, result, strict=True))
        used = {id(track): track for track in result if track is not self.root}
        older = [track for track in self.tracks if id(track) not in used]
        keep = max(0, self.max_tracks - len(used))
        self.tracks = older[len(older) - min(keep, len(older)) :] + list(used.values())
        return result

    def _nearest(self, row: int, history: Ids) -> tuple[Track, int]:
        """The track with the longest common prefix, and its length; the row's last track and recent ones come first."""
        best, most = self.root, 0
        for track in self._candidates(row):
            common = track.common(history)
            if common > most:
                best, most = track, common
            # what is found after the last call; a longer match could only be of an equal row
            if most >= len(history) - 1 or (most == track.length and track is best and track.state != "open"):
                break
        return best, most

    def _candidates(self, row: int) -> Iterator[Track]:
        last = self._by_row.get(row)
        if last is not None:
            yield last
        for track in reversed(self.tracks):
            if track is not last:
                yield track
