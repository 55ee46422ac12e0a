"""Reachable states of large automata, a breadth at a time: states are numbers, and one call steps a whole frontier.

Python objects cost microseconds a state; here it is a few array operations a breadth, whatever its size.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._errors import LimitError
from .._limits import Limits, check_time

__all__ = ["explore"]

_DENSE = 4_000_000
"""Spans of keys up to which an array by key is kept: 4 bytes a key."""


def explore(
    start: NDArray[Any],
    step: Callable[[NDArray[Any]], NDArray[Any]],
    span: int,
    limits: Limits,
    what: str = "states of a product of languages",
) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """(table, keys) of the states that `start`, an array of one key, reaches; it is state 0.

    step: n keys -> [n, classes] keys of their targets, -1 for none. All keys are below `span`; the arrays are int64, or
    hold Python's integers where that is too short. Raises LimitError past limits.max_states states.
    """
    found = _Dense(span) if span <= _DENSE else _Sorted()
    frontier = start
    layers, rows = [], []
    count = 0
    while len(frontier):
        check_time()
        count += len(frontier)
        if count > limits.max_states:
            raise LimitError("max_states", limits.max_states, what)
        found.add(frontier)
        layers.append(frontier)
        targets = step(frontier)
        rows.append(targets)
        frontier = found.unknown(targets[targets >= 0])
    return found.numbers(np.concatenate(rows)), np.concatenate(layers)


class _Dense:
    def __init__(self, span: int) -> None:
        self.number = np.full(span + 1, -1, np.int32)  # the last entry answers key -1
        self.count = 0

    def add(self, keys: NDArray[Any]) -> None:
        self.number[keys] = np.arange(self.count, self.count + len(keys), dtype=np.int32)
        self.count += len(keys)

    def unknown(self, keys: NDArray[Any]) -> NDArray[Any]:
        return _distinct(keys[self.number[keys] < 0])

    def numbers(self, keys: NDArray[Any]) -> NDArray[np.int32]:
        return self.number[keys]


class _Sorted:
    def __init__(self) -> None:
        self.keys: NDArray[Any] = np.zeros(0, np.int64)
        self.layers: list[NDArray[Any]] = []

    def add(self, keys: NDArray[Any]) -> None:
        self.layers.append(keys)
        self.keys = np.concatenate([self.keys, keys])
        self.keys.sort(kind="stable")

    def unknown(self, keys: NDArray[Any]) -> NDArray[Any]:
        keys = _distinct(keys)
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return keys[self.keys[at] != keys]

    def numbers(self, keys: NDArray[Any]) -> NDArray[np.int32]:
        order = np.argsort(np.concatenate(self.layers), kind="stable").astype(np.int32)
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(keys < 0, np.int32(-1), order[at])


def _distinct(keys: NDArray[Any]) -> NDArray[Any]:
    """In order. (numpy.unique hashes, which is far slower for keys like these.)"""
    keys.sort()
    return keys[np.append(True, keys[1:] != keys[:-1])[: len(keys)]]
