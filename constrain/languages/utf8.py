"""From automata over character classes to trim DFAs over UTF-8 bytes (RFC 3629: no surrogates, no overlong forms).

Non-ASCII classes are spelled by a *trie* that depends on the partition alone: its root is where a character begins, and
every node maps the bytes 0x80..0xFF, grouped by how all nodes treat them, to a deeper node or to a class. A state of
the byte automaton is a state of the character automaton, or a pair of a deeper node and the targets of the classes
below it.
"""

from __future__ import annotations

import itertools
from bisect import bisect_right
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._errors import LimitError
from .derivatives import CharAutomaton
from .dfa import DFA

__all__ = ["EMPTY_LANGUAGE", "any_string", "finish", "to_bytes"]

_CELLS = 2_000_000
"""Table cells that are spelled at a time."""
EMPTY_LANGUAGE = DFA(np.zeros(256, np.uint8), np.zeros((0, 1), np.int32), np.zeros(0, np.int32))


_Child = tuple[int, int]
"""(depth, number) of a node among those of its depth; depth 0 is a class."""
_Children = tuple[_Child | None, ...]


class _Trie(NamedTuple):
    """groups: uint8[128] group of the bytes from 0x80. levels: deepest first, int32[nodes, groups]: value numbers.

    Values number the classes first, then the nodes in the order of `levels`, the root last; -1 is no character.
    classes: the classes that the first numbers stand for.
    """

    groups: NDArray[np.uint8]
    levels: tuple[NDArray[np.int32], ...]
    classes: tuple[int, ...]


@lru_cache(maxsize=256)
def _trie(ranges: tuple[tuple[int, int, int], ...]) -> _Trie:
    """The trie of the non-ASCII `ranges` (low, high, class)."""
    classes = tuple(sorted({number for _, _, number in ranges}))
    index = {number: i for i, number in enumerate(classes)}
    lows = [low for low, _, _ in ranges]
    found: tuple[dict[_Children, _Child], ...] = ({}, {}, {})
    uniform: dict[tuple[int, int], _Child | None] = {}

    def intern(depth: int, children: _Children) -> _Child | None:
        table = found[depth - 1]
        return table.setdefault(children, (depth, len(table))) if any(children) else None

    def node(base: int, depth: int, least: int) -> _Child | None:
        """The node for the 64**depth code points from `base`, of which those below `least` are spelled shorter."""
        width = 64**depth
        i = bisect_right(lows, base) - 1
        if base >= least and i >= 0 and base + width - 1 <= ranges[i][1]:
            number = index[ranges[i][2]]
            if depth == 0:
                return 0, number
            if (depth, number) not in uniform:
                uniform[depth, number] = intern(depth, (node(base, depth - 1, least),) * 64)
            return uniform[depth, number]
        outside = (i < 0 or ranges[i][1] < base) and (i + 1 == len(lows) or lows[i + 1] >= base + width)
        if depth == 0 or base + width <= least or outside:
            return None
        return intern(depth, tuple(node(base + k * (width // 64), depth - 1, least) for k in range(64)))

    root: list[_Child | None] = [None] * 64
    for lead in range(0xC2, 0xE0):
        root[lead - 0xC0] = node((lead - 0xC0) << 6, 1, 0x80)
    for lead in range(0xE0, 0xF0):
        root[lead - 0xC0] = node((lead - 0xE0) << 12, 2, 0x800)
    for lead in range(0xF0, 0xF5):
        root[lead - 0xC0] = node((lead - 0xF0) << 18, 3, 0x10000)
    offsets = [0, len(classes)]
    for table in found:
        offsets.append(offsets[-1] + len(table))

    def value(child: _Child | None) -> int:
        return -1 if child is None else offsets[child[0]] + child[1]

    rows = [[*[value(child) for child in children], *[-1] * 64] for table in found for children in table]
    rows.append([-1] * 64 + [value(child) for child in root])
    full = np.array(rows, np.int32)
    columns, groups = np.unique(full, axis=1, return_inverse=True)
    bounds = [offset - len(classes) for offset in offsets[1:]]
    levels = tuple(np.ascontiguousarray(columns[a:b]) for a, b in itertools.pairwise(bounds) if b > a)
    return _Trie(groups.reshape(-1).astype(np.uint8), (*levels, columns[-1:]), classes)


def to_bytes(automaton: CharAutomaton, max_states: int, name: str | None = None) -> DFA:
    """The trim byte DFA of `automaton`, minimised where that pays."""
    from .minimize import merge_equal

    n, edges, accepting = len(automaton.accepting), automaton.edges, automaton.accepting
    alive = _co_reachable(n, edges, accepting)
    if not alive[0]:
        return EMPTY_LANGUAGE if name is None else _named(EMPTY_LANGUAGE, name)
    table = _table(n, automaton.n_classes, edges, alive)
    labels = np.where(accepting, 0, -1).astype(np.int32)
    if not all(alive):
        table, labels = _keep(table, labels, np.array(alive))
    if not automaton.simple:
        table, labels = merge_equal(table, labels, thorough=name is not None)  # named ones are shared for long
    if name is None and len(labels) == 1 and not labels[0] and not table.any():
        return any_string()
    return _expand(table, labels, automaton.ranges, max_states, name)


def _table(n: int, n_classes: int, edges: list[tuple[int, int, int]], alive: list[bool]) -> NDArray[np.int32]:
    """int32[n, n_classes]: the edges between live states."""
    columns: dict[int, list[int]] = {}
    if n <= 256:
        rows = [[-1] * n_classes for _ in range(n)]
        for source, mask, target in edges:
            if alive[target]:
                if mask not in columns:
                    columns[mask] = [c for c in range(n_classes) if mask >> c & 1]
                row = rows[source]
                for column in columns[mask]:
                    row[column] = target
        return np.array(rows, np.int32)
    table = np.full((n, n_classes), -1, np.int32)
    grouped: dict[int, tuple[list[int], list[int]]] = {}
    for source, mask, target in edges:
        if alive[target]:
            sources, targets = grouped.setdefault(mask, ([], []))
            sources.append(source)
            targets.append(target)
    for mask, (sources, targets) in grouped.items():
        for column in range(n_classes):
            if mask >> column & 1:
                table[sources, column] = targets
    return table


def _named(dfa: DFA, name: str) -> DFA:
    return DFA(dfa.classes, dfa.table, dfa.labels, name)


def _co_reachable(n: int, edges: list[tuple[int, int, int]], accepting: list[bool]) -> list[bool]:
    before: list[list[int]] = [[] for _ in range(n)]
    for source, _, target in edges:
        before[target].append(source)
    alive = list(accepting)
    stack = [i for i in range(n) if alive[i]]
    while stack:
        for source in before[stack.pop()]:
            if not alive[source]:
                alive[source] = True
                stack.append(source)
    return alive


def _keep(
    table: NDArray[np.int32], labels: NDArray[np.int32], alive: NDArray[np.bool_]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    renumber = np.where(alive, np.cumsum(alive) - 1, -1).astype(np.int32)
    renumber = np.append(renumber, np.int32(-1))
    return renumber[table[alive]], labels[alive]


def _expand(
    table: NDArray[np.int32],
    labels: NDArray[np.int32],
    ranges: list[tuple[int, int, int]],
    max_states: int,
    name: str | None,
) -> DFA:
    n, _n_classes = table.shape
    classes = np.zeros(256, np.uint8)
    number_of: dict[int, int] = {}
    wide: list[tuple[int, int, int]] = []
    for low, high, number in ranges:
        if low < 0x80:
            column = number_of.setdefault(number, len(number_of))
            classes[low : min(high, 0x7F) + 1] = column
        if high >= 0x80:
            wide.append((max(low, 0x80), high, number))
    ascii_columns = table[:, list(number_of)]
    wide_classes = sorted({number for _, _, number in wide})
    wide_columns = table[:, wide_classes]
    if (wide_columns < 0).all():
        classes[0x80:] = len(number_of)
        rows = np.concatenate([ascii_columns, np.full((n, 1), -1, np.int32)], axis=1)
        return finish(classes, rows, labels, name)
    trie = _trie(tuple(wide))
    classes[0x80:] = trie.groups + np.uint8(len(number_of))
    vectors, which = _unique_rows(wide_columns)
    values = np.concatenate([vectors, np.full((len(vectors), 1), -1, np.int32)], axis=1)
    count = n
    extra = []
    for level in trie.levels[:-1]:
        # values holds, per vector, what each class and each deeper node stands for; its last column answers -1.
        numbers = np.full((len(vectors), len(level)), -1, np.int32)
        seen: dict[bytes, int] = {}
        part = max(1, _CELLS // level.size)
        for start in range(0, len(vectors), part):  # a part at a time, as most rows may be the same
            flat = values[start : start + part, level].reshape(-1, level.shape[1])
            alive = (flat >= 0).any(axis=1)
            if alive.any():
                distinct, inverse = _unique_rows(flat[alive])
                known = np.array([seen.setdefault(row.tobytes(), len(seen)) for row in distinct], np.int32)
                numbers[start : start + part].reshape(-1)[alive] = known[inverse] + count
            if count + len(seen) > max_states:
                raise LimitError("max_states", max_states, "states of a pattern in UTF-8")
        if seen:
            count += len(seen)
            extra.append(np.frombuffer(b"".join(seen), np.int32).reshape(-1, level.shape[1]))
        values = np.concatenate([values[:, :-1], numbers, values[:, -1:]], axis=1)
    leads = values[:, trie.levels[-1][0]][which]
    top = np.concatenate([ascii_columns, leads], axis=1)
    if extra:
        below = np.concatenate(extra)
        below = np.concatenate([np.full((len(below), len(number_of)), -1, np.int32), below], axis=1)
        top = np.concatenate([top, below])
        labels = np.concatenate([labels, np.full(len(below), -1, np.int32)])
    return finish(classes, top, labels, name)


def _unique_rows(rows: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """(distinct rows in order of appearance, index of each row among them)."""
    if rows.shape[1] == 1 and len(rows) > 1000:
        distinct, inverse = np.unique(rows[:, 0], return_inverse=True)
        return distinct.reshape(-1, 1), inverse.reshape(-1).astype(np.int32)
    seen: dict[bytes, int] = {}
    data = np.ascontiguousarray(rows).tobytes()
    width = rows.shape[1] * 4
    inverse_list = [seen.setdefault(data[i : i + width], len(seen)) for i in range(0, len(data), width)]
    distinct = np.frombuffer(b"".join(seen), np.int32).reshape(-1, rows.shape[1])
    return distinct, np.array(inverse_list, np.int32)


def finish(
    classes: NDArray[np.uint8], table: NDArray[np.int32], labels: NDArray[np.int32], name: str | None = None
) -> DFA:
    """A DFA with equal columns merged and its arrays read-only. table and labels must be trim."""
    columns: dict[bytes, int] = {}
    transposed = np.ascontiguousarray(table.T)
    data = transposed.tobytes()
    width = len(labels) * 4
    merged = [columns.setdefault(data[i * width : (i + 1) * width], len(columns)) for i in range(table.shape[1])]
    if len(columns) < table.shape[1]:
        classes = np.array(merged, np.uint8)[classes]
        first = [merged.index(i) for i in range(len(columns))]
        transposed = transposed[first]
    table = np.ascontiguousarray(transposed.T)
    for array in (classes, table, labels):
        array.flags.writeable = False
    return DFA(classes, table, labels, name)


@lru_cache(maxsize=1)
def any_string() -> DFA:
    """Every string of Unicode scalar values: the language named "string"."""
    table = np.zeros((1, 1), np.int32)
    ranges = [(0, 0xD7FF, 0), (0xE000, 0x10FFFF, 0)]
    return _expand(table, np.zeros(1, np.int32), ranges, 100, "string")
