"""Languages of free text around fixed strings: text without any of them, and text up to the first of them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from .._limits import Limits
from ..languages import charsets, syntax
from ..languages.dfa import DFA
from ..languages.minimize import merge_equal, trim
from ..languages.operations import ANY_STRING, assemble, difference, intersect
from ..languages.pattern import compile_node
from ..languages.utf8 import finish

__all__ = ["concatenation", "until", "without"]


def _ending_in(strings: Collection[str], limits: Limits) -> DFA:
    """Text that ends with one of the strings."""
    anything = syntax.repeat(syntax.chars(charsets.ALL), 0, None)
    ends = syntax.alternatives([syntax.text(string) for string in sorted(strings)])
    return compile_node(syntax.concatenate([anything, ends]), limits=limits)


def without(strings: Collection[str], limits: Limits) -> DFA:
    """Text in which none of the (non-empty) strings occurs."""
    if not strings:
        return ANY_STRING
    found = syntax.alternatives([syntax.text(string) for string in sorted(strings)])
    return difference(ANY_STRING, compile_node(found, search=True, limits=limits), limits)


def until(ends: Collection[str], others: Collection[str], excluded: Collection[str], limits: Limits) -> DFA:
    """Text up to and with the first occurrence of one of `ends`, which nothing of `others` precedes.

    An occurrence counts where it is complete. What comes before the end contains nothing of `excluded`.
    """
    first = _ending_in({*ends, *others}, limits)
    # what is complete goes on no more
    table = np.where(first.labels[:, None] >= 0, -1, first.table).astype(np.int32)
    table, labels = merge_equal(*trim(table, first.labels))
    stopped = finish(first.classes, table, labels, None)
    if others:
        stopped = intersect(stopped, _ending_in(ends, limits), limits)
    if excluded:
        tail = compile_node(syntax.alternatives([syntax.text(end) for end in sorted(ends)]), limits=limits)
        stopped = intersect(stopped, concatenation(without(excluded, limits), tail, limits), limits)
    return replace(stopped, name=None)


def concatenation(first: DFA, second: DFA, limits: Limits) -> DFA:
    """Words of `first` followed by words of `second`."""
    joint: dict[tuple[int, int], int] = {}
    pairs = zip(first.classes.tolist(), second.classes.tolist(), strict=True)
    classes = np.array([joint.setdefault(pair, len(joint)) for pair in pairs], np.uint8)
    rows, tails = first.table.tolist(), second.table.tolist()
    accepts = [label >= 0 for label in first.labels.tolist()]
    ends = {state for state, label in enumerate(second.labels.tolist()) if label >= 0}
    State = tuple[int, frozenset[int]]

    def entered(state: int, after: set[int]) -> State | None:
        if state >= 0 and accepts[state]:
            after.add(0)
        return (state, frozenset(after)) if state >= 0 or after else None

    def moves(state: State) -> list[State | None]:
        head, after = state
        return [
            entered(rows[head][a] if head >= 0 else -1, {tails[t][b] for t in after if tails[t][b] >= 0})
            for a, b in joint
        ]

    start = entered(0, set())
    assert start is not None
    return assemble(classes, start, moves, lambda state: 0 if state[1] & ends else -1, limits)
