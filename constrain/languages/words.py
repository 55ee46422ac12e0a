"""Automata of finite lists of words, and the words of automata: counted, listed, shortest, at random."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from random import Random
from typing import TypeAlias

import numpy as np

from .._errors import LimitError
from .._limits import Limits
from .dfa import DFA
from .utf8 import EMPTY_LANGUAGE, finish

__all__ = ["Node", "count_words", "distances", "from_nodes", "from_words", "sample", "shortest_word", "words"]

Node: TypeAlias = tuple[bool, dict[int, int]]
"""(accepting, byte -> number of a node)"""
_WANDER = 24
"""Steps after which a random word heads for acceptance."""


def from_words(members: Iterable[bytes], limits: Limits | None = None, name: str | None = None) -> DFA:
    """The minimal DFA of a finite language. Raises LimitError past limits.max_states states."""
    limits = limits or Limits()
    ordered = sorted(set(members))
    if not ordered:
        return EMPTY_LANGUAGE
    # Words come in order, so a node is complete when the next word leaves it; equal nodes are then shared (Daciuk).
    register: dict[tuple[object, ...], int] = {}
    finished: list[Node] = []
    path: list[Node] = [(False, {})]
    previous = b""

    def close(down_to: int) -> None:
        while len(path) > down_to + 1:
            final, edges = path.pop()
            key = (final, tuple(edges.items()))
            number = register.get(key)
            if number is None:
                number = register[key] = len(finished)
                finished.append((final, edges))
                if number > limits.max_states:
                    raise LimitError("max_states", limits.max_states, "states of a list of words")
            path[-1][1][previous[len(path) - 1]] = number

    for word in ordered:
        common = 0
        while common < min(len(word), len(previous)) and word[common] == previous[common]:
            common += 1
        close(common)
        path.extend((False, {}) for _ in range(len(word) - common))
        path[-1] = True, path[-1][1]
        previous = word
    close(0)
    finished.append(path[0])
    return from_nodes(finished, len(finished) - 1, name)


def from_nodes(nodes: list[Node], root: int, name: str | None = None) -> DFA:
    """The DFA of an acyclic automaton: each node comes behind those it leads to, and `root` reaches all before it."""
    nodes = nodes[: root + 1]
    used = sorted({byte for _, edges in nodes for byte in edges})
    classes = np.full(256, len(used), np.uint8) if len(used) < 256 else np.zeros(256, np.uint8)
    classes[used] = np.arange(len(used), dtype=np.uint8)
    table = np.full((len(nodes), min(len(used) + 1, 256)), -1, np.int32)
    for number, (_, edges) in enumerate(nodes):
        for byte, target in edges.items():
            table[root - number, classes[byte]] = root - target
    labels = np.array([0 if accepting else -1 for accepting, _ in reversed(nodes)], np.int32)
    return finish(classes, table, labels, name)


def count_words(dfa: DFA, cap: int) -> int:
    """The number of words, or `cap` where it is larger or infinite."""
    if dfa.is_empty:
        return 0
    if (dfa.table == np.arange(dfa.n_states, dtype=np.int32)[:, None]).any():
        return cap  # a state leads to itself
    weights = np.bincount(dfa.classes, minlength=dfa.table.shape[1]).tolist()
    into: list[list[tuple[int, int]]] = [[] for _ in range(dfa.n_states)]
    pending = [0] * dfa.n_states
    for source, row in enumerate(dfa.table.tolist()):
        for target, weight in zip(row, weights, strict=True):
            if target >= 0:
                into[target].append((source, weight))
                pending[source] += 1
    total = [int(label >= 0) for label in dfa.labels.tolist()]
    ready = [state for state in range(dfa.n_states) if not pending[state]]
    for state in ready:
        for source, weight in into[state]:
            total[source] = min(cap, total[source] + weight * total[state])
            pending[source] -= 1
            if not pending[source]:
                ready.append(source)
    return min(cap, total[0]) if not pending[0] else cap


def words(dfa: DFA, limit: int) -> list[bytes] | None:
    """All words in bytewise order, or None where there are more than `limit`."""
    if count_words(dfa, limit + 1) > limit:
        return None
    if dfa.is_empty:
        return []
    moves = _byte_moves(dfa)
    labels = dfa.labels.tolist()
    found: list[bytes] = []
    stack: list[tuple[int, bytes]] = [(0, b"")]
    while stack:
        state, word = stack.pop()
        if labels[state] >= 0:
            found.append(word)
        stack.extend((target, word + bytes((byte,))) for byte, target in reversed(moves[state]))
    return found


def _byte_moves(dfa: DFA) -> list[list[tuple[int, int]]]:
    """Per state its (byte, target), by byte."""
    classes = dfa.classes.tolist()
    table = dfa.table.tolist()
    return [[(byte, row[c]) for byte, c in enumerate(classes) if row[c] >= 0] for row in table]


@lru_cache(maxsize=16)
def distances(dfa: DFA) -> list[int]:
    """The least bytes from each state to acceptance."""
    before: list[list[int]] = [[] for _ in range(dfa.n_states)]
    for source, row in enumerate(dfa.table.tolist()):
        for target in set(row):
            if target >= 0:
                before[target].append(source)
    distance = [0 if label >= 0 else -1 for label in dfa.labels.tolist()]
    queue = [state for state, d in enumerate(distance) if d == 0]
    for state in queue:
        for source in before[state]:
            if distance[source] < 0:
                distance[source] = distance[state] + 1
                queue.append(source)
    return distance


def shortest_word(dfa: DFA) -> bytes | None:
    """The first in bytewise order of the words with the fewest bytes, or None for the empty language."""
    if dfa.is_empty:
        return None
    distance = distances(dfa)
    return _descend(dfa, distance, 0)


def _descend(dfa: DFA, distance: list[int], state: int) -> bytes:
    first_byte = [int(np.flatnonzero(dfa.classes == c)[0]) for c in range(dfa.table.shape[1])]
    word = bytearray()
    while distance[state]:
        options = [
            (first_byte[c], target)
            for c, target in enumerate(dfa.table[state].tolist())
            if target >= 0 and distance[target] < distance[state]
        ]
        byte, state = min(options)
        word.append(byte)
    return bytes(word)


def sample(dfa: DFA, rng: Random) -> bytes:
    """A word at random; every word can occur that wanders at most a few dozen bytes. Raises ValueError when empty."""
    if dfa.is_empty:
        raise ValueError("the empty language has no word")
    distance = distances(dfa)
    word = bytearray()
    state = 0
    while True:
        row = [(c, target) for c, target in enumerate(dfa.table[state].tolist()) if target >= 0]
        if dfa.labels[state] >= 0 and (not row or rng.random() < 0.15):
            return bytes(word)
        if len(word) >= _WANDER:
            return bytes(word) + _descend(dfa, distance, state)
        c, state = rng.choice(row)
        word.append(rng.choice(np.flatnonzero(dfa.classes == c).tolist()))
