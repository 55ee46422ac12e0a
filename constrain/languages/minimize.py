"""Merging of states that accept the same words: Moore's partition refinement, a round at a time on hashed rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["merge_equal", "trim"]

_CELLS = 2_000_000
"""Table cells that refinement may visit; a longer one is given up, as a larger automaton is merely slower."""


def merge_equal(
    table: NDArray[np.int32], labels: NDArray[np.int32], thorough: bool = False
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The minimal automaton of a trim one; state 0 stays state 0, the others keep the order of their first members.

    Where many rounds would find little to merge, only states with the same targets are merged, again and again; if
    thorough, that is so only where rounds would take very long.
    """
    n = len(labels)
    if n < 2:
        return table, labels
    refine = _refine_lists if table.size <= 1500 else _refine_arrays
    block = refine(table, labels, thorough)
    if block is None:
        block = _alike(table, labels)
    count = int(block.max()) + 1
    if count == n:
        return table, labels
    first = np.full(count, n, np.int64)
    np.minimum.at(first, block, np.arange(n))
    order = np.argsort(first, kind="stable")
    rank = np.empty(count + 1, np.int32)
    rank[order] = np.arange(count, dtype=np.int32)
    rank[count] = -1
    block = np.append(block, count)  # the last entry answers target -1
    members = first[order]
    return rank[block[table[members]]], labels[members]


def _alike(table: NDArray[np.int32], labels: NDArray[np.int32]) -> NDArray[np.int64]:
    """Blocks of states that have the same label and targets, once such targets are taken for one."""
    block = np.arange(len(labels))
    count = len(labels)
    for _ in range(64):
        named = np.append(block, -1)
        rows = np.ascontiguousarray(np.concatenate([labels[:, None], named[table]], axis=1))
        whole = rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).reshape(-1)
        block = np.unique(whole, return_inverse=True)[1].reshape(-1)
        found = int(block.max()) + 1
        if (count - found) * 100 < count:
            break
        count = found
    return block


def _refine_lists(table: NDArray[np.int32], labels: NDArray[np.int32], thorough: bool) -> NDArray[np.int64] | None:
    rows = table.tolist()
    block = [*labels.tolist(), -2]
    count = rounds = 0
    while True:
        seen: dict[tuple[int, ...], int] = {}
        refined = [seen.setdefault((block[i], *[block[t] for t in row]), len(seen)) for i, row in enumerate(rows)]
        growth = len(seen) - count
        count += growth
        if not growth or count == len(rows):
            return np.array(refined, np.int64)
        rounds += 1
        if not thorough and rounds > 8 and growth * 16 < len(rows) - count:
            return None  # a long chain: many rounds to come, and little to merge at their end
        block = [*refined, -2]


def _refine_arrays(table: NDArray[np.int32], labels: NDArray[np.int32], thorough: bool) -> NDArray[np.int64] | None:
    n, width = table.shape
    # Odd multipliers that look random; a collision could only merge wrongly, so the result is verified below.
    weights = _mixed(np.arange(1, width + 2, dtype=np.uint64)) | np.uint64(1)
    block = np.unique(labels, return_inverse=True)[1].reshape(-1)
    count = int(block.max()) + 1
    for rounds in range(max(8, _CELLS // table.size)):
        named = _mixed(np.append(block, -1).astype(np.uint64))
        hashed = named[:-1] * weights[width]
        for column in range(width):
            hashed += named[table[:, column]] * weights[column]
        refined = np.unique(hashed, return_inverse=True)[1].reshape(-1)
        found = int(refined.max()) + 1
        if found == count:
            return refined if _stable(table, labels, refined) else None
        if found == n:
            return refined
        if not thorough and rounds > 8 and (found - count) * 40 < n - found:
            return None  # as above
        block, count = refined, found
    return None


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Numbers whose bits depend on all bits of the given ones (the finaliser of splitmix64)."""
    values = (values + np.uint64(0x9E3779B97F4A7C15)) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ values >> np.uint64(29)) * np.uint64(0x94D049BB133111EB)
    return values ^ values >> np.uint64(31)


def _stable(table: NDArray[np.int32], labels: NDArray[np.int32], block: NDArray[np.int64]) -> bool:
    """Whether the states of each block agree on their label and on the block of every target."""
    named = np.append(block, -1)
    first = np.full(int(block.max()) + 1, len(labels), np.int64)
    np.minimum.at(first, block, np.arange(len(labels)))
    leader = first[block]
    return bool((labels == labels[leader]).all() and (named[table] == named[table[leader]]).all())


def trim(table: NDArray[np.int32], labels: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The states that reach acceptance, of an automaton whose states are all reachable; none when state 0 does not."""
    if not len(labels):
        return table, labels
    alive = (_alive_lists if table.size <= 3000 else _alive_arrays)(table, labels)
    if not alive[0]:
        return table[:0], labels[:0]
    if alive.all():
        return table, labels
    renumber = np.append(np.where(alive, np.cumsum(alive) - 1, -1), -1).astype(np.int32)
    return renumber[table[alive]], labels[alive]


def _alive_lists(table: NDArray[np.int32], labels: NDArray[np.int32]) -> NDArray[np.bool_]:
    before: list[list[int]] = [[] for _ in range(len(labels))]
    for source, row in enumerate(table.tolist()):
        for target in set(row):
            if target >= 0:
                before[target].append(source)
    alive = (labels >= 0).tolist()
    stack = [state for state, found in enumerate(alive) if found]
    while stack:
        for source in before[stack.pop()]:
            if not alive[source]:
                alive[source] = True
                stack.append(source)
    return np.array(alive)


def _alive_arrays(table: NDArray[np.int32], labels: NDArray[np.int32]) -> NDArray[np.bool_]:
    n = len(labels)
    alive = np.append(labels >= 0, False)  # the last entry answers target -1
    for _ in range(8):
        reaching = np.asarray(alive[table].any(axis=1))
        if not (reaching & ~alive[:-1]).any():
            return alive[:-1]
        alive[:-1] |= reaching
    # a long way to acceptance: from here on only what is new is looked at
    alive = alive[:-1]
    sources, columns = np.nonzero((table >= 0) & ~alive[:, None])
    edges = table[sources, columns].astype(np.int64) * n + sources
    edges.sort()
    targets, sources = np.divmod(edges, n)
    begins = np.searchsorted(targets, np.arange(n + 1))
    layer = np.flatnonzero(alive)
    while len(layer):
        sizes = begins[layer + 1] - begins[layer]
        offsets = np.repeat(begins[layer] - np.cumsum(sizes) + sizes, sizes)
        found = sources[offsets + np.arange(len(offsets))]
        layer = np.unique(found[~alive[found]])
        alive[layer] = True
    return alive
