"""Boolean algebra, lengths and products of byte automata.

Every operation is a product: states are tuples of states, found from the start by breadth, then trimmed and merged
where equal. A component that may be dead (-1) stays in the tuple; one that must live prunes the search.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from .._errors import LimitError
from .._limits import Limits, check_time
from ._lengths import leads
from .dfa import DFA
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
    "sample",
    "shortest_word",
    "union",
    "with_length",
    "words",
]

S = TypeVar("S")
_Rows = list[list[int]]

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
    table, labels = merge_equal(*trim(np.array(rows, np.int32), labels))
    if not len(labels):
        return EMPTY_LANGUAGE
    return finish(classes, table, labels, name)


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
    # A dead component is row -1, the last one, which leads to itself. Rows are by state, then joint class.
    tables = []
    labels = []
    for i, dfa in enumerate(dfas):
        table = dfa.table[:, [column[i] for column in joint]].tolist()
        table.append([-1] * len(joint))
        tables.append(table)
        labels.append([*dfa.labels.tolist(), -1])
    start = tuple(-1 if dfa.is_empty else 0 for dfa in dfas)
    if len(dfas) == 2:
        first, second = tables
        if required == 2:

            def moves(state: tuple[int, ...]) -> Sequence[tuple[int, ...] | None]:
                pairs = zip(first[state[0]], second[state[1]], strict=True)
                return [pair if pair[0] >= 0 and pair[1] >= 0 else None for pair in pairs]

        elif required == 1:

            def moves(state: tuple[int, ...]) -> Sequence[tuple[int, ...] | None]:
                return [pair if pair[0] >= 0 else None for pair in zip(first[state[0]], second[state[1]], strict=True)]

        else:

            def moves(state: tuple[int, ...]) -> Sequence[tuple[int, ...] | None]:
                pairs = zip(first[state[0]], second[state[1]], strict=True)
                return [pair if pair[0] >= 0 or pair[1] >= 0 else None for pair in pairs]

    else:

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


def with_labels(dfa: DFA, kept: set[int], limits: Limits | None = None) -> DFA:
    """The words of `dfa` that have one of the labels, which they keep."""
    return _product((dfa,), 1, lambda found: found[0] if found[0] in kept else -1, limits or Limits())


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
    nearest, farthest = (bound.tolist() for bound in dfa.char_bounds)
    table = dfa.table.tolist()
    weights = leads(dfa).tolist()
    labels = dfa.labels.tolist()
    if nearest[0] > (most if most is not None else nearest[0]) or -1 < farthest[0] < least:
        return EMPTY_LANGUAGE

    def moves(state: tuple[int, int]) -> list[tuple[int, int] | None]:
        found: list[tuple[int, int] | None] = []
        count = state[1]
        for target, weight in zip(table[state[0]], weights, strict=True):
            after = count + weight
            if (
                target < 0
                or (most is not None and after + nearest[target] > most)
                or -1 < farthest[target] < least - after
            ):
                found.append(None)
            else:
                found.append((target, min(after, least) if most is None else after))
        return found

    return assemble(dfa.classes, (0, 0), moves, lambda state: labels[state[0]] if state[1] >= least else -1, limits)
