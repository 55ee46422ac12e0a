"""The trie over token bytes, in depth-first order, as flat arrays.

There is no root node. Node i stands for the bytes on the path to it:
    byte      uint8[n]      the last byte of the path
    end       int32[n]      index just past the subtree of i: the next sibling, if the parent's subtree goes on there;
                            i + 1 is the first child if end[i] > i + 1
    id_start  int32[n + 1]  ids[id_start[i]:id_start[i + 1]] are the tokens whose bytes are the path (often none, rarely
                            several), ascending
    ids       int32[...]    all token ids of the trie, in the order of their bytes
    classes   int64[n]      the classes of the bytes in the subtree, its own among them (byte_classes.py)
Siblings ascend by byte. The top-level siblings start at node 0. A walk that finds byte[i] impossible goes on at end[i].

Building sorts the tokens by their bytes; neighbours then share a common prefix, and one pass over them emits the nodes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from constrain._jit import jit
from constrain.vocabulary.byte_classes import classes_below

__all__ = ["FIELDS", "Trie", "build_trie"]

FIELDS = ("byte", "end", "id_start", "ids", "classes", "depth")


@dataclass(frozen=True, eq=False)
class Trie:
    """Token bytes as a tree in depth-first order (see the module text for the arrays)."""

    byte: NDArray[np.uint8]
    end: NDArray[np.int32]
    id_start: NDArray[np.int32]
    ids: NDArray[np.int32]
    classes: NDArray[np.int64]
    depth: int
    """Length of the longest path: the bytes of the longest token."""

    @classmethod
    def of(cls, fields: Iterable[NDArray[Any]]) -> Trie:
        """The trie of what was stored by the names in FIELDS."""
        byte, end, id_start, ids, classes, depth = fields
        return cls(byte, end, id_start, ids, classes, int(depth))

    @property
    def n_nodes(self) -> int:
        return len(self.byte)

    @property
    def nbytes(self) -> int:
        return sum(a.nbytes for a in self.arrays)

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """All arrays, in the order in which kernels know them."""
        return self.byte, self.end, self.id_start, self.ids, self.classes


def build_trie(flat: NDArray[np.uint8], offsets: NDArray[np.int64], ids: ArrayLike) -> Trie:
    """The trie of the tokens `ids` (integers, any order, each once); tokens without bytes are left out.

    flat, offsets: as in Vocabulary, id t has flat[offsets[t]:offsets[t + 1]].
    """
    wanted: NDArray[np.bool_] = np.zeros(len(offsets) - 1, np.bool_)
    wanted[np.asarray(ids, np.int64)] = True
    chosen = np.flatnonzero(wanted & (offsets[1:] > offsets[:-1]))
    blob = flat.tobytes()
    spellings = [
        blob[start:stop] for start, stop in zip(offsets[chosen].tolist(), offsets[chosen + 1].tolist(), strict=True)
    ]
    order = chosen[sorted(range(len(chosen)), key=spellings.__getitem__)]
    lengths = offsets[order + 1] - offsets[order]
    depth = int(lengths.max(initial=0))
    shared = np.empty(len(order), np.int64)
    n_nodes = _shared_prefixes(flat, offsets, order, shared)
    byte = np.empty(n_nodes, np.uint8)
    end = np.empty(n_nodes, np.int32)
    id_start = np.empty(n_nodes + 1, np.int32)
    _emit_nodes(flat, offsets, order, shared, np.empty(depth, np.int64), byte, end, id_start)
    return Trie(byte, end, id_start, order.astype(np.int32), classes_below(byte, end, id_start), depth)


@jit
def _shared_prefixes(flat, offsets, order, shared):
    """Write to shared[k] how many bytes token k of the order shares with the one before; return the number of nodes."""
    n_nodes = 0
    previous, previous_length = 0, 0
    for k in range(len(order)):
        start = offsets[order[k]]
        length = offsets[order[k] + 1] - start
        common = 0
        limit = min(length, previous_length)
        while common < limit and flat[start + common] == flat[previous + common]:
            common += 1
        shared[k] = common
        n_nodes += length - common
        previous, previous_length = start, length
    return n_nodes


@jit
def _emit_nodes(flat, offsets, order, shared, path, byte, end, id_start):
    """Write byte, end and id_start; path[d] is the open node at depth d. Linear in nodes and tokens."""
    node = 0
    open_depth = 0
    for k in range(len(order)):
        start = offsets[order[k]]
        length = offsets[order[k] + 1] - start
        for depth in range(shared[k], open_depth):
            end[path[depth]] = node
        for depth in range(shared[k], length):
            path[depth] = node
            byte[node] = flat[start + depth]
            id_start[node] = k
            node += 1
        open_depth = length
    for depth in range(open_depth):
        end[path[depth]] = node
    id_start[node] = len(order)
