"""What can be done with anything that takes tokens one by one and can take them back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .._arguments import integer, integers, is_listing, shown
from .._errors import ArgumentError

__all__ = ["Stepper"]


class Stepper(ABC):
    """Runs of tokens, drafts and drafted trees, and taking them back, for a matcher or a session."""

    max_rollback: int | None
    _reached = 0
    """The most steps that there were before a rollback."""

    @property
    @abstractmethod
    def steps(self) -> int:
        """Steps taken since the start."""

    @abstractmethod
    def fill_next_token_bitmask(self, bitmask: Any, row: int = 0) -> bool:
        """Write the mask of allowed tokens into one row."""

    @abstractmethod
    def accept_token(self, token_id: int) -> bool:
        """Take one token. False: it is not allowed, and nothing has changed."""

    @abstractmethod
    def _undo(self, count: int) -> None:
        """Take back steps that there are."""

    @abstractmethod
    def _hold(self, on: bool) -> None:
        """Drop no step that can be taken back now, however many are to come, until this is over."""

    def rollback(self, count: int = 1) -> None:
        """Take back the last `count` steps. ValueError when there are fewer, or more than max_rollback are asked for.

        Steps that lie more than max_rollback before the furthest that was reached may be gone, and then this is a
        ValueError, too.
        """
        steps = self.steps
        reached = max(steps, self._reached)
        most = sure = steps
        if self.max_rollback is not None:
            most, sure = min(steps, self.max_rollback), self.max_rollback - (reached - steps)
        count = integer(count, "count")
        if not 0 <= count <= most or (count > sure and count > self._kept(most)):
            raise ArgumentError(f"cannot roll back {shown(count)} steps: {self._kept(most)} are available")
        self._reached = reached
        self._undo(count)

    @abstractmethod
    def _kept(self, most: int) -> int:
        """How many of the last `most` steps can be taken back."""

    @contextmanager
    def _trial(self) -> Iterator[None]:
        """Take back all steps that are taken within."""
        before = self.steps
        self._hold(True)
        try:
            yield
        finally:
            self._undo(self.steps - before)
            self._hold(False)

    def accept_tokens(self, token_ids: Iterable[int]) -> int:
        """Take tokens up to the first that is refused; how many were taken."""
        if not is_listing(token_ids):
            raise ArgumentError(f"token_ids must be a sequence of token ids, not {type(token_ids).__name__}")
        taken = 0
        for token in token_ids:
            if not self.accept_token(token):
                break
            taken += 1
        return taken

    def validate_tokens(self, token_ids: Iterable[int]) -> int:
        """How many of the tokens would be accepted in turn; the state does not change."""
        with self._trial():
            return self.accept_tokens(token_ids)

    def fill_draft_bitmasks(self, tokens: Sequence[int], bitmask: Any, row: int = 0) -> int:
        """Masks for a drafted continuation: row + i is the mask after the first i tokens.

        Stops at a token that is refused, or -1. Returns the number of rows written; the state does not change.
        """
        row, drafted = integer(row, "row", 0), integers(tokens, "tokens")
        written = 0
        with self._trial():
            for written, token in enumerate([*drafted, -1], start=1):
                self.fill_next_token_bitmask(bitmask, row + written - 1)
                if token < 0 or not self.accept_token(token):
                    break
        return written

    def fill_tree_bitmasks(
        self, tokens: Sequence[int], first_child: Sequence[int], next_sibling: Sequence[int], bitmask: Any, row: int = 0
    ) -> None:
        """Masks for a drafted tree: row + i is the mask after the path to node i. Node 0 is the current state (its
        token is not read); first_child and next_sibling hold node numbers, -1 for none. Rows below a refused token
        are not written.
        """
        row, drafted = integer(row, "row", 0), integers(tokens, "tokens")
        most = len(drafted) - 1
        below, beside = integers(first_child, "first_child", -1, most), integers(next_sibling, "next_sibling", -1, most)
        _check_tree(len(drafted), below, beside)
        with self._trial():
            self._fill_tree(drafted, below, beside, bitmask, row)

    def _fill_tree(
        self, tokens: Sequence[int], first_child: Sequence[int], next_sibling: Sequence[int], bitmask: Any, row: int
    ) -> None:
        # (node, 1 to enter it or -1 to leave it)
        todo = [(0, 1)] if len(tokens) else []
        while todo:
            node, way = todo.pop()
            if way < 0:
                self._undo(1)
                continue
            if node and next_sibling[node] >= 0:
                todo.append((next_sibling[node], 1))
            if node and not self.accept_token(tokens[node]):
                continue
            self.fill_next_token_bitmask(bitmask, row + node)
            if node:
                todo.append((node, -1))
            if first_child[node] >= 0:
                todo.append((first_child[node], 1))


def _check_tree(count: int, first_child: Sequence[int], next_sibling: Sequence[int]) -> None:
    """Each node hangs in one place at most, so that a walk ends."""
    if not len(first_child) == len(next_sibling) == count:
        raise ArgumentError(f"{count} tokens, but {len(first_child)} first children and {len(next_sibling)} siblings")
    named = [node for node in (*first_child, *next_sibling) if node >= 0]
    if 0 in named or len(set(named)) < len(named):
        raise ArgumentError("first_child and next_sibling make no tree: a node is named twice, or the root is")
