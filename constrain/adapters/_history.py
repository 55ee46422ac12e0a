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
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .._errors import ArgumentError, ConstrainError
from ..automata.matcher import fill_next_token_bitmasks

__all__ = ["Event", "Histories", "Track"]

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
            for token in history[common:].tolist():
                if self.length == len(self.tokens):
                    self.tokens = np.concatenate([self.tokens, np.empty_like(self.tokens)])
                self.tokens[self.length] = token
                self.length += 1
                if not self.matcher.accept_token(token):
                    self.close("illegal", f"token {token} is not allowed after {self.length - 1} tokens")
                elif self.matcher.is_terminated():
                    self.close("ended")
                if self.state != "open":
                    break
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


class _Family:
    """The tracks of one constraint, the most recently used last."""

    def __init__(self, make: Callable[[], Any], max_tracks: int, on_failure: OnFailure | None) -> None:
        self._make, self.max_tracks = make, max_tracks
        self.root = Track(make)
        ends = on_failure == "stop" or (on_failure is None and bool(self.root.matcher.is_constraining))
        self.root.ends = ends and bool(self.root.matcher.stop_token_ids)
        self.tracks: list[Track] = []
        self.jumped = False  # whether all histories of the last call had at least two tokens that no track had seen
        self._by_row: dict[int, Track] = {}

    def clear(self) -> None:
        self.tracks, self._by_row = [], {}
        if self.root.state != "open":
            self.root = Track(self._make, self.root.ends)

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


class Histories:
    """The constraints of all rows of a host's batch.

    constraints: one Grammar for every row, or one Grammar or None (no constraint) per prompt. A prompt may have several
                 rows (beams, returned sequences); they are adjacent, as hosts arrange them.
    stop_token_ids: as for Grammar.matcher.
    on_failure:  when a constraint fails, "soft" goes on without it, "stop" lets the row only end, "raise" raises
                 ConstrainError; None is "soft" for a constraint that is idle at first and "stop" for one that is not.
    on_event:    called with each Event. `counts` counts them by kind.
    max_states:  states that are kept between calls, per constraint; those of the last call always are.
    threads:     of `fill_next_token_bitmasks`.

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
        if on_failure not in (None, "soft", "stop", "raise"):
            raise ArgumentError(f'on_failure must be None, "soft", "stop" or "raise", not {on_failure!r}')
        self.shared = not isinstance(constraints, (list, tuple))
        entries = [constraints] if self.shared else list(constraints)
        if not entries:
            raise ArgumentError("an empty list of constraints: give one Grammar or None per prompt")
        for entry in entries:
            if (entry is not None or self.shared) and not callable(getattr(entry, "matcher", None)):
                raise ArgumentError(f"a constraint is a Grammar, or None in a list, not {type(entry).__name__}")
        vocabularies = {g.vocabulary.fingerprint: g.vocabulary for g in entries if g is not None and g.vocabulary}
        if len(vocabularies) > 1:
            raise ArgumentError("the grammars of one batch must have the same vocabulary")
        stops = None if stop_token_ids is None else tuple(stop_token_ids)
        self._families = [None if g is None else _Family(_maker(g, stops), max_states, on_failure) for g in entries]
        self.vocabulary = next(iter(vocabularies.values()), None)
        self.on_failure, self.on_event, self.threads = on_failure, on_event, threads
        self.counts: Counter[str] = Counter()
        self._prompts: Ids | None = None
        self._width = 0
        self._bitmask: NDArray[np.int32] = np.zeros((0, 0), np.int32)

    def reset(self) -> None:
        """Forget the generation: the next call shows a prompt."""
        self._prompts = None
        for family in self._families:
            if family is not None:
                family.clear()

    def advance(self, ids: Ids) -> list[Track | None]:
        """The tracks of the rows of ids[rows, width]; None for rows without a constraint."""
        if self._prompts is None or not self._continues(ids, self._prompts):
            self._begin(ids)
        tracks = self._follow(ids)
        jumped = ids.shape[1] > self._width + 1 or all(f.jumped for f in self._families if f is not None)
        if jumped and all(track.state != "open" for track in tracks if track is not None):
            self._begin(ids)
            tracks = self._follow(ids)
        self._width = ids.shape[1]
        return tracks

    def masks(self, ids: Ids, best: Callable[[int], int] | None = None) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The masks for the next tokens of ids[rows, width].

        Returns bitmask int32[n, words], valid until the next call, and int32[rows]: the row of the bitmask that goes
        with each row of ids, -1 where the row must be left alone.
        best: gives the token with the greatest score of a row; sessions that are undecided are told.
        """
        tracks = self.advance(ids)
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
                _only(bitmask[len(active)], track.matcher.stop_token_ids)
            if track.new and track.state != "ended":
                self._report_closed(row, track)
        for track in wanted.values():
            track.new = False
        return bitmask, result

    def report(self, kind: Any, row: int, reason: str) -> None:
        """Count an event and pass it on."""
        self.counts[kind] += 1
        if self.on_event is not None:
            self.on_event(Event(kind, row, self._width - self._prompt_width, reason))

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
        self._width = ids.shape[1]

    def _follow(self, ids: Ids) -> list[Track | None]:
        rows, groups = len(ids), len(self._families)
        if rows % groups:
            wanted = "give one constraint (or None) per prompt"
            raise ArgumentError(f"{rows} rows cannot belong to {groups} prompts: {wanted}")
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

    # Masks ------------------------------------------------------------------------------------------------------------

    def _room(self, rows: int) -> NDArray[np.int32]:
        words = 0 if self.vocabulary is None else (self.vocabulary.size + 31) // 32
        if len(self._bitmask) < rows:
            self._bitmask = np.zeros((rows, words), np.int32)
        return self._bitmask

    def _fill(self, tracks: Sequence[Track], bitmask: NDArray[np.int32]) -> None:
        try:
            fill_next_token_bitmasks([track.matcher for track in tracks], bitmask, threads=self.threads)
        except Exception:  # one of them fails; the others need not
            for slot, track in enumerate(tracks):
                try:
                    track.matcher.fill_next_token_bitmask(bitmask, slot)
                except Exception as error:
                    track.fail("mask", error)
        for slot in np.flatnonzero(~bitmask[: len(tracks)].any(axis=1)).tolist():
            if tracks[slot].state == "open":
                tracks[slot].fail("mask", "no token of the vocabulary can continue here")

    def _report_closed(self, row: int, track: Track) -> None:
        if track.state == "failed" and self.on_failure == "raise":
            raise ConstrainError(f"row {row}, at {track.length} tokens: {track.reason}") from track.error
        self.report("disabled" if track.state == "failed" and not track.ends else track.state, row, track.reason)


def _maker(grammar: Any, stop_token_ids: tuple[int, ...] | None) -> Callable[[], Any]:
    return lambda: grammar.matcher(max_rollback=None, stop_token_ids=stop_token_ids)


def _is_constraining(track: Track) -> bool:
    try:
        return bool(track.matcher.is_constraining)
    except Exception as error:
        track.fail("state", error)
        return False


def _only(row: NDArray[np.int32], ids: Iterable[int]) -> None:
    """Let a row of a bitmask allow only `ids`."""
    row[:] = 0
    bits = row.view(np.uint32)
    for token in ids:
        bits[token >> 5] |= np.uint32(1 << (token & 31))
