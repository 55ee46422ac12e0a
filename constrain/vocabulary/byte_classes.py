"""Which bytes occur below a node of a trie, by classes, and how many in a row: what a walk need not look into.

A set of classes is an int64, bit k for class k. ASCII bytes fall into 42 classes: each punctuation mark and the usual
blanks alone; digits, a-f, g-z, A-F, G-Z; other control bytes. Two more classes are of sequences: WELL_FORMED, a
character beyond ASCII with all its bytes, and ILL_FORMED, any other byte: a token may begin or end inside one.
Above them, from bit HEIGHT on, stands the most characters that a path begins, the node's own included.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

__all__ = ["CLASS_OF", "HEIGHT", "ILL_FORMED", "MOST_HEIGHT", "WELL_FORMED", "classes_below", "classes_on_path"]

_RANGES = (b"09", b"af", b"gz", b"AF", b"GZ")
_ALONE = [*b"\t\n\r", *(b for b in range(32, 127) if not chr(b).isalnum())]


def _class_of() -> NDArray[np.uint8]:
    table: NDArray[np.uint8] = np.zeros(128, np.uint8)
    for number, byte in enumerate(_ALONE, 1):
        table[byte] = number
    for number, (first, last) in enumerate(_RANGES, 1 + len(_ALONE)):
        table[first : last + 1] = number
    return table


CLASS_OF = _class_of()
"""uint8[128]: the class of each ASCII byte."""
WELL_FORMED = int(CLASS_OF.max()) + 1
ILL_FORMED = WELL_FORMED + 1
HEIGHT, MOST_HEIGHT = 48, (1 << 14) - 1
_ILL = np.int64(1) << ILL_FORMED


def classes_below(
    byte: NDArray[np.uint8], end: NDArray[np.int32], id_start: NDArray[np.int32]
) -> NDArray[np.int64]:
    """int64[n]: per node of a trie (trie.py) the classes of its byte and those in its subtree, and its height."""
    found, levels, parents, inside = _own_classes(byte, end)
    found[inside & (id_start[1:] > id_start[:-1])] |= _ILL  # a token ends inside a character
    own = (byte & 0xC0 != 0x80).astype(np.int64)
    below: NDArray[np.int64] = np.zeros(len(byte), np.int64)
    for nodes, parent in zip(levels[:0:-1], parents[:0:-1], strict=True):
        np.bitwise_or.at(found, parent, found[nodes])
        np.maximum.at(below, parent, own[nodes] + below[nodes])
    return found | np.minimum(own + below, MOST_HEIGHT) << HEIGHT


def classes_on_path(byte: NDArray[np.uint8], end: NDArray[np.int32]) -> NDArray[np.int64]:
    """int64[n]: per node of a trie the classes of the bytes on the path to it, for a token that ends there."""
    found, levels, parents, inside = _own_classes(byte, end)
    for nodes, parent in zip(levels[1:], parents[1:], strict=True):
        found[nodes] |= found[parent]
    found[inside] |= _ILL
    return found


Levels = list[NDArray[np.intp]]


def _own_classes(
    byte: NDArray[np.uint8], end: NDArray[np.int32]
) -> tuple[NDArray[np.int64], Levels, Levels, NDArray[np.bool_]]:
    """The class of each node's byte; the nodes of each depth, and their parents; which nodes lie inside a character.

    UTF-8 is read from the root on (RFC 3629), a character being put under its first byte's node.
    """
    n = len(byte)
    step: NDArray[np.int64] = np.zeros(n + 2, np.int64)
    step[1 : n + 1] += 1  # a node's subtree begins
    np.subtract.at(step, end, 1)
    depth = np.cumsum(step)[:n]
    order = np.argsort(depth, kind="stable")
    levels = np.split(order, np.cumsum(np.bincount(depth, minlength=1))[:-1]) if n else []

    lead: NDArray[np.int8] = np.zeros(256, np.int8)  # continuation bytes that a byte asks for
    lead[0xC2:0xE0], lead[0xE0:0xF0], lead[0xF0:0xF5] = 1, 2, 3
    least: NDArray[np.uint8] = np.full(256, 0x80, np.uint8)  # of the byte that follows
    most: NDArray[np.uint8] = np.full(256, 0xBF, np.uint8)
    least[0xE0], most[0xED], least[0xF0], most[0xF4] = 0xA0, 0x9F, 0x90, 0x8F
    ascii_bits = np.left_shift(np.int64(1), CLASS_OF.astype(np.int64))
    found = np.where(byte < 128, ascii_bits[byte & 127], np.int64(1) << WELL_FORMED)
    left: NDArray[np.int8] = lead[byte]
    bad: NDArray[np.bool_] = (byte >= 0x80) & (left == 0)
    parents = [levels[0]] if n else []
    for above, nodes in pairwise(levels):
        parent = above[np.searchsorted(above, nodes) - 1]
        parents.append(parent)
        inside = left[parent] > 0
        fits = inside & (byte[nodes] >= least[byte[parent]]) & (byte[nodes] <= most[byte[parent]])
        left[nodes] = np.where(fits, left[parent] - 1, left[nodes])
        bad[nodes] = np.where(fits, False, bad[nodes] | inside)
    found[bad] |= _ILL
    return found, levels, parents, left > 0
