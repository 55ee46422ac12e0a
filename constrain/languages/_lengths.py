"""How many characters lie between a state and acceptance. Characters count at their first byte.

A byte 0x80..0xBF never begins a character, so edges weigh 1 or 0. In a trim automaton of valid UTF-8 no cycle weighs 0,
hence a state has unbounded lengths exactly when it reaches a cycle.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .dfa import DFA

__all__ = ["char_bounds", "has_interval_lengths", "leads"]

_FAR = 1 << 30


def leads(dfa: DFA) -> NDArray[np.int32]:
    """int32[n_classes]: 1 where the class holds a byte that begins a character, else 0."""
    starts = np.zeros(dfa.table.shape[1], np.int32)
    starts[dfa.classes[:0x80]] = 1
    starts[dfa.classes[0xC0:]] = 1
    return starts


def _edges(dfa: DFA) -> list[list[tuple[int, int]]]:
    """Per state, the distinct (source, weight) of the edges into it."""
    sources, columns = np.nonzero(dfa.table >= 0)
    keys = np.unique((dfa.table[sources, columns].astype(np.int64) * dfa.n_states + sources) * 2 + leads(dfa)[columns])
    into: list[list[tuple[int, int]]] = [[] for _ in range(dfa.n_states)]
    pairs = keys >> 1
    targets, starts = np.divmod(pairs, dfa.n_states)
    for target, source, weight in zip(targets.tolist(), starts.tolist(), (keys & 1).tolist(), strict=True):
        into[target].append((source, weight))
    return into


def char_bounds(dfa: DFA) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """See DFA.char_bounds."""
    n = dfa.n_states
    into = _edges(dfa)
    accepting = np.flatnonzero(dfa.labels >= 0).tolist()
    least = [_FAR] * n
    for state in accepting:
        least[state] = 0
    layer, distance = accepting, 0
    while layer:
        following: list[int] = []
        for state in layer:  # grows while it is read: edges of weight 0 stay in the layer
            if least[state] != distance:
                continue
            for source, weight in into[state]:
                if distance + weight < least[source]:
                    least[source] = distance + weight
                    (following if weight else layer).append(source)
        layer, distance = following, distance + 1
    pending = [0] * n
    for sources in into:
        for source, _ in sources:
            pending[source] += 1
    most = [-1] * n
    best = [0] * n
    ready = [state for state in range(n) if not pending[state]]
    for state in ready:
        most[state] = best[state]
        for source, weight in into[state]:
            best[source] = max(best[source], best[state] + weight)
            pending[source] -= 1
            if not pending[source]:
                ready.append(source)
    return np.array(least, np.int32), np.array(most, np.int32)


def has_interval_lengths(dfa: DFA) -> bool:
    """See DFA.has_interval_lengths. Exact.

    If from every state the intervals of its successors, one step later, leave no gap (0 included where it accepts),
    then by induction over the length every count between the bounds is reached; and a gap is a count that is not.
    """
    if dfa.is_empty:
        return True
    least, most = dfa.char_bounds
    upper = np.where(most < 0, _FAR, most)
    weight = leads(dfa)
    target = dfa.table
    live = target >= 0
    low = np.where(live, least[target] + weight, _FAR)
    high = np.where(live, upper[target] + weight, -1)
    accepting = (dfa.labels >= 0)[:, None]
    low = np.concatenate([low, np.where(accepting, 0, _FAR)], axis=1)
    high = np.concatenate([high, np.where(accepting, 0, -1)], axis=1)
    order = np.argsort(low, axis=1, kind="stable")
    low = np.take_along_axis(low, order, 1)
    reach = np.maximum.accumulate(np.take_along_axis(high, order, 1), axis=1)
    return bool((low[:, 1:] <= reach[:, :-1] + 1).all(where=low[:, 1:] < _FAR))
