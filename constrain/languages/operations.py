"""Boolean algebra, lengths and products of byte automata.

Every operation is a product: states are tuples of states, found from the start by breadth, then trimmed and merged
where equal. A component that may be dead (-1) stays in the tuple; one that must live prunes the search.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._errors import LimitError
from .._limits import Limits, check_time
from ._lengths import leads
from .dfa import DFA
from .explore import explore
from .minimize import merge_equal, trim
from .utf8 import EMPTY_LANGUAGE, any_string, finish
from .words import count_words, from_words, sample, shortest_word, words

__all__ = [
    "ANY_STRING",
    "EMPTY_LANGUAGE",
    "EMPTY_STRING",
    "assemble",
    "complement",
    "count_words",
    "difference",
    "equivalent",
    "from_words",
    "intersect",
    "is_disjoint",
    "is_subset",
    "label_product",
    "minimal",
    "relabel",
    "sample",
    "shortest_word",
    "union",
    "with_length",
    "words",
]

S = TypeVar("S")
_Rows = list[list[int]]
_FEW_CELLS = 5_000
"""Cells of a product up to which it is built a state at a time."""

ANY_STRING = any_string()
"""Every string of Unicode scalar values."""
EMPTY_STRING = from_words([b""])


def assemble(
    classes: NDArray[np.uint8],
    start: S,
    moves: Callable[[S], Sequence[S | None]],
    label: Callable[[S], int],
    limits: Limits,
    name: str | None = None,
) -> DFA:
    """The trim minimal DFA of an automaton given by functions.

    moves(state): the next state, or None, for each class; label(state): its label or -1. States are hashable.
    Raises LimitError past limits.max_states states before trimming.
    """
    numbers = {start: 0}
    order = [start]
    rows: _Rows = []
    for state in order:
        check_time()
        row = []
        for following in moves(state):
            if following is None:
                row.append(-1)
                continue
            number = numbers.get(following)
            if number is None:
                number = numbers[following] = len(order)
                order.append(following)
            row.append(number)
        rows.append(row)
        if len(order) > limits.max_states:
            raise LimitError("max_states", limits.max_states, "states of a product of languages")
    labels = np.array([label(state) for state in order], np.int32)
    return _finished(classes, np.array(rows, np.int32), labels, name)


def _finished(
    classes: NDArray[np.uint8], table: NDArray[np.int32], labels: NDArray[np.int32], name: str | None = None
) -> DFA:
    """The trim minimal DFA of reachable states."""
    table, labels = merge_equal(*trim(table, labels))
    return finish(classes, table, labels, name) if len(labels) else EMPTY_LANGUAGE


def _joint_classes(dfas: Sequence[DFA]) -> tuple[NDArray[np.uint8], list[tuple[int, ...]]]:
    """(classes, per class the classes of each dfa) of the coarsest common refinement."""
    seen: dict[tuple[int, ...], int] = {}
    columns = zip(*(dfa.classes.tolist() for dfa in dfas), strict=True)
    classes = [seen.setdefault(column, len(seen)) for column in columns]
    return np.array(classes, np.uint8), list(seen)


def _product(dfas: Sequence[DFA], required: int, label: Callable[[tuple[int, ...]], int], limits: Limits) -> DFA:
    """label maps the components' labels (-1: not accepting) to one; the first `required` components must live on."""
    if any(dfa.is_empty for dfa in dfas[:required]):
        return EMPTY_LANGUAGE
    classes, joint = _joint_classes(dfas)
    start = tuple(-1 if dfa.is_empty else 0 for dfa in dfas)
    sizes = [dfa.n_states + 1 for dfa in dfas]
    if math.prod(sizes) * len(joint) <= _FEW_CELLS or math.prod(sizes) >= 1 << 62:
        return _small_product(dfas, classes, joint, start, required, label, limits)
    # A dead component is row -1, the last one, which leads to itself. A key lists the states in mixed radix.
    tables = []
    for i, dfa in enumerate(dfas):
        table = np.full((sizes[i], len(joint)), sizes[i] - 1, np.int64)
        moved = dfa.table[:, [column[i] for column in joint]]
        np.copyto(table[:-1], moved, where=moved >= 0)
        tables.append(table)

    def states(keys: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        found = []
        for size in reversed(sizes):
            keys, state = np.divmod(keys, size)
            found.append(state)
        return found[::-1]

    def step(keys: NDArray[np.int64]) -> NDArray[np.int64]:
        alive: NDArray[np.bool_] | None = None
        targets: NDArray[np.int64] | None = None
        for i, state in enumerate(states(keys)):
            moved = tables[i][state]
            lives = moved < sizes[i] - 1
            targets = moved if targets is None else targets * sizes[i] + moved
            if alive is None:
                alive = lives
            elif i < required:
                alive &= lives
            elif not required:
                alive |= lives
        assert targets is not None and alive is not None
        return np.where(alive, targets, -1)

    first = 0
    for size, state in zip(sizes, start, strict=True):
        first = first * size + state % size
    numbers, keys = explore(np.array([first]), step, math.prod(sizes), limits)
    columns = [np.append(dfa.labels, np.int32(-1))[state] for dfa, state in zip(dfas, states(keys), strict=True)]
    distinct, which = np.unique(np.stack(columns), axis=1, return_inverse=True)
    named = np.array([label(tuple(found)) for found in distinct.T.tolist()], np.int32)
    return _finished(classes, numbers, named[which.reshape(-1)])


def _small_product(
    dfas: Sequence[DFA],
    classes: NDArray[np.uint8],
    joint: list[tuple[int, ...]],
    start: tuple[int, ...],
    required: int,
    label: Callable[[tuple[int, ...]], int],
    limits: Limits,
) -> DFA:
    """As `_product`, a state at a time, which is faster where there are few."""
    tables = []
    labels = []
    for i, dfa in enumerate(dfas):
        table = dfa.table[:, [column[i] for column in joint]].tolist()
        table.append([-1] * len(joint))
        tables.append(table)
        labels.append([*dfa.labels.tolist(), -1])

    def moves(state: tuple[int, ...]) -> Sequence[tuple[int, ...] | None]:
        found = zip(*[table[i] for table, i in zip(tables, state, strict=True)], strict=True)
        if required:
            return [t if min(t[:required]) >= 0 else None for t in found]
        return [t if max(t) >= 0 else None for t in found]

    return assemble(
        classes,
        start,
        moves,
        lambda state: label(tuple([column[i] for column, i in zip(labels, state, strict=True)])),
        limits,
    )


def intersect(a: DFA, b: DFA, limits: Limits | None = None) -> DFA:
    """Words of both, which are languages of strings. Labels are those of `a`."""
    if a is b or b is ANY_STRING:
        return a
    if a is ANY_STRING and not (b.labels > 0).any():
        return b
    return _product((a, b), 2, lambda found: found[0] if found[1] >= 0 else -1, limits or Limits())


def union(a: DFA, b: DFA, limits: Limits | None = None) -> DFA:
    """Words of either. Labels are those of `a` where it accepts, else of `b`."""
    if a is b or b.is_empty:
        return a
    if a.is_empty:
        return b
    return _product((a, b), 0, lambda found: found[0] if found[0] >= 0 else found[1], limits or Limits())


def difference(a: DFA, b: DFA, limits: Limits | None = None) -> DFA:
    """Words of `a` that are not in `b`. Labels are those of `a`."""
    if b.is_empty:
        return a
    return _product((a, b), 1, lambda found: found[0] if found[1] < 0 else -1, limits or Limits())


def complement(a: DFA, limits: Limits | None = None) -> DFA:
    """Every string of Unicode scalar values that is not in `a`."""
    return difference(ANY_STRING, a, limits)


def label_product(dfas: Sequence[DFA], labeller: Callable[[frozenset[int]], int], limits: Limits | None = None) -> DFA:
    """All strings, each labelled with labeller(indexes of the dfas that accept it), or left out where that is -1."""
    known: dict[tuple[int, ...], int] = {}

    def label(found: tuple[int, ...]) -> int:
        if found[0] < 0:
            return -1
        if found not in known:
            known[found] = labeller(frozenset(i for i, value in enumerate(found[1:]) if value >= 0))
        return known[found]

    return _product((ANY_STRING, *dfas), 1, label, limits or Limits())


def relabel(dfa: DFA, labels: NDArray[Any], name: str | None = None) -> DFA:
    """`dfa` with other labels of its states, and without what then leads nowhere."""
    return _finished(dfa.classes, dfa.table, labels.astype(np.int32), name)


def minimal(dfa: DFA) -> DFA:
    """`dfa` with equal states merged, more thoroughly than products do."""
    return finish(dfa.classes, *merge_equal(dfa.table, dfa.labels, thorough=True), dfa.name)


def with_labels(dfa: DFA, labels: Mapping[int, int], limits: Limits | None = None) -> DFA:
    """The words of `dfa` that have one of the labels, with what that becomes for their label."""
    return _product((dfa,), 1, lambda found: labels.get(found[0], -1), limits or Limits())


def is_subset(a: DFA, b: DFA, limits: Limits | None = None) -> bool:
    """Whether every word of `a` is in `b`."""
    return _holds_for_all_pairs(a, b, lambda x, y: y >= 0 or x < 0, True, limits or Limits())


def is_disjoint(a: DFA, b: DFA, limits: Limits | None = None) -> bool:
    """Whether no word is in both."""
    return _holds_for_all_pairs(a, b, lambda x, y: y < 0 or x < 0, False, limits or Limits())


def equivalent(a: DFA, b: DFA, limits: Limits | None = None) -> bool:
    """Whether both have the same words (labels aside)."""
    return is_subset(a, b, limits) and is_subset(b, a, limits)


def _holds_for_all_pairs(a: DFA, b: DFA, test: Callable[[int, int], bool], needs_b: bool, limits: Limits) -> bool:
    """Whether `test` holds for the labels of every pair of states that some word leads to.

    needs_b: a word of `a` whose prefix kills `b` refutes it (`a` is trim, so such a word then exists).
    """
    if a.is_empty:
        return True
    if b.is_empty:
        return not needs_b
    _, joint = _joint_classes((a, b))
    first = a.table[:, [column[0] for column in joint]].tolist()
    second = b.table[:, [column[1] for column in joint]].tolist()
    a_labels, b_labels = a.labels.tolist(), b.labels.tolist()
    seen = {(0, 0)}
    stack = [(0, 0)]
    while stack:
        check_time()
        x, y = stack.pop()
        if not test(a_labels[x], b_labels[y]):
            return False
        for pair in set(zip(first[x], second[y], strict=True)):
            if pair[0] < 0:
                continue
            if pair[1] < 0:
                if needs_b:
                    return False
                continue
            if pair not in seen:
                seen.add(pair)
                stack.append(pair)
        if len(seen) > 20 * limits.max_states:
            raise LimitError("max_states", limits.max_states, "pairs of states in a comparison of languages")
    return True


def with_length(dfa: DFA, least: int, most: int | None, limits: Limits | None = None) -> DFA:
    """Words of `dfa` of `least` to `most` characters (None: no upper bound), by counting in the states."""
    limits = limits or Limits()
    if dfa.is_empty or (least <= 0 and most is None):
        return dfa
    nearest, farthest = (bound.astype(np.int64) for bound in dfa.char_bounds)
    if nearest[0] > (most if most is not None else nearest[0]) or -1 < farthest[0] < least:
        return EMPTY_LANGUAGE
    weights = leads(dfa).astype(np.int64)
    cap = least if most is None else most  # counts beyond it are not told apart
    width = cap + 1
    if dfa.n_states * width >= 1 << 62:
        raise LimitError("max_states", limits.max_states, "states that count characters")

    def step(keys: NDArray[np.int64]) -> NDArray[np.int64]:
        state, count = np.divmod(keys, width)
        targets = dfa.table[state].astype(np.int64)
        after = count[:, None] + weights
        short = (farthest[targets] >= 0) & (farthest[targets] < least - after)
        if most is not None:
            short |= after + nearest[targets] > most
        return np.where((targets < 0) | short, -1, targets * width + np.minimum(after, cap))

    table, keys = explore(np.zeros(1, np.int64), step, dfa.n_states * width, limits, "states that count characters")
    state, count = np.divmod(keys, width)
    return _finished(dfa.classes, table, np.where(count >= least, dfa.labels[state], np.int32(-1)))
