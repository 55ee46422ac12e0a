"""What the engine keeps per vocabulary: the tries that masks are walked over, and ready masks of string states."""

from __future__ import annotations

import threading
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from ..languages.dfa import DFA
from ..vocabulary import Vocabulary
from ..vocabulary.trie import Trie, build_trie

__all__ = ["VocabularyIndex", "index_of"]

NEVER, WANTED = -1, -2
SLOTS = 768


class VocabularyIndex:
    """Shared by all grammars of one vocabulary.

    masks int32[SLOTS, words]: row s, once published, never changes. The array is reserved whole and touched on demand.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.words = (vocabulary.size + 31) // 32
        self.trie = vocabulary.trie
        self.quoted = _containing(vocabulary, ord('"'))
        self.quoted_bits = _as_bits(self.quoted.ids, self.words)
        self.masks: NDArray[np.int32] = np.zeros((SLOTS, self.words), np.int32)
        self.lock = threading.Lock()
        self._slots: dict[tuple[object, int], int] = {}
        self._keep: list[DFA] = []

    @property
    def nbytes(self) -> int:
        return self.trie.nbytes + self.quoted.nbytes + len(self._slots) * self.words * 4

    def slot(self, dfa: DFA, state: int) -> int:
        """Row of the ready mask of that state; WANTED if it may still be made, NEVER if there is no room."""
        found = self._slots.get((dfa.name or id(dfa), state))
        if found is not None:
            return found
        return WANTED if len(self._slots) < SLOTS else NEVER

    def publish(self, dfa: DFA, state: int, mask: NDArray[np.int32]) -> int:
        """Keep a ready mask; its row, or NEVER."""
        with self.lock:
            found = self.slot(dfa, state)
            if found == WANTED:
                found = len(self._slots)
                self.masks[found] = mask
                self._keep.append(dfa)
                self._slots[dfa.name or id(dfa), state] = found
            return found


_indexes: WeakKeyDictionary[Vocabulary, VocabularyIndex] = WeakKeyDictionary()
_indexes_lock = threading.Lock()


def index_of(vocabulary: Vocabulary) -> VocabularyIndex:
    """The index of a vocabulary, built on first use."""
    found = _indexes.get(vocabulary)
    if found is None:
        with _indexes_lock:
            found = _indexes.get(vocabulary)
            if found is None:
                found = _indexes[vocabulary] = VocabularyIndex(vocabulary)
    return found


def _as_bits(tokens: NDArray[np.int32], words: int) -> NDArray[np.int32]:
    """Token ids as a mask, int32[words]."""
    flags = np.zeros(words * 32, np.uint8)
    flags[tokens] = 1
    return np.packbits(flags, bitorder="little").view(np.int32)


def _containing(vocabulary: Vocabulary, byte: int) -> Trie:
    """Trie of the tokens whose bytes contain `byte`."""
    flat, offsets = vocabulary.flat, vocabulary.offsets
    places = np.flatnonzero(flat == byte)
    tokens = np.unique(np.searchsorted(offsets, places, side="right") - 1)
    usable = np.intersect1d(tokens, vocabulary.trie.ids)
    return build_trie(flat, offsets, usable)
