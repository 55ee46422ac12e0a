"""What the engine keeps per vocabulary: the tries that masks are walked over, ready masks, and the cache of whole masks."""

from __future__ import annotations

import re
import threading
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from ..languages.dfa import DFA
from ..vocabulary import Vocabulary
from ..vocabulary.store import cached_trie
from ..vocabulary.trie import Trie, build_trie
from . import layout as at

__all__ = ["MaskCache", "VocabularyIndex", "as_bits", "index_of"]

NEVER, WANTED = -1, -2
SLOTS = 512
CACHED = 768
QUOTE = ord('"')
# a token that could end an additional key and spell a whole further key
_LONG_TAIL = re.compile(rb'".*:.*,.*".*"', re.DOTALL)
# a token that writes a whole key after a comma or an opening brace
_WHOLE_KEY = re.compile(rb'[,{]\s*"[^"]*"\s*(:|$)')


class MaskCache:
    """Masks of whole states by their key (hashes.py), until it is full; then the index starts another one.

    keys int64[n], slots int32[n]: an open hash table, key 0 is free; masks int32[CACHED, words]: a row never changes once its
    key is in the table, so that kernels read without a lock.
    """

    def __init__(self, words: int) -> None:
        self.keys: NDArray[np.int64] = np.zeros(4 * 1024, np.int64)
        self.slots: NDArray[np.int32] = np.zeros(4 * 1024, np.int32)
        self.masks: NDArray[np.int32] = np.zeros((CACHED, words), np.int32)
        self.used = 0

    def add(self, key: int, mask: NDArray[np.int32]) -> bool:
        """Keep a mask; False when there is no room. Call under the index's lock."""
        if self.used >= CACHED:
            return False
        place = key & (len(self.keys) - 1)
        while self.keys[place]:
            if self.keys[place] == key:
                return True
            place = (place + 1) & (len(self.keys) - 1)
        self.masks[self.used] = mask
        self.slots[place] = self.used
        self.keys[place] = key
        self.used += 1
        return True


class VocabularyIndex:
    """Shared by all grammars of one vocabulary.

    trie     all tokens with bytes              quoted  those that contain a quote
    tails    of the tokens that end a string that may be anything, what follows its quote; closers: those with nothing there
    lean     all tokens by what they say after the JSON whitespace they begin with; spaces, long: which they are (layout.py)
    masks    int32[SLOTS, words]: the tokens that stay inside a string, for states of its automaton. Row s, once published,
             never changes; the array is reserved whole and touched on demand.
    lengths  int32[n, words]: row k: the tokens that begin at most k characters inside a string
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.words = (vocabulary.size + 31) // 32
        self.trie = vocabulary.trie
        self.quoted = _containing(vocabulary, QUOTE)
        self.tails = build_trie(np.zeros(0, np.uint8), np.zeros(1, np.int64), [])
        self.closers: NDArray[np.int32] = np.zeros(self.words, np.int32)
        self.masks: NDArray[np.int32] = np.zeros((SLOTS, self.words), np.int32)
        self.lengths: NDArray[np.int32] = np.zeros((0, self.words), np.int32)
        spells_twice = any(_LONG_TAIL.search(vocabulary.token_bytes(t) or b"") for t in self.quoted.ids.tolist())
        self.whole_keys = any(_WHOLE_KEY.search(vocabulary.token_bytes(t) or b"") for t in self.quoted.ids.tolist())
        self.long_tails = 2 if vocabulary.max_token_bytes > at.REACH else int(spells_twice)
        self.lean, self.spaces, self.long = _without_leading_blanks(vocabulary, self.words)
        self.cache = MaskCache(self.words)
        self.lock = threading.RLock()
        self._slots: dict[tuple[object, int], int] = {}
        self._keep: list[DFA] = []

    @property
    def nbytes(self) -> int:
        rows = len(self._slots) + len(self.lengths) + len(self.spaces) + self.cache.used
        return sum(t.nbytes for t in (self.trie, self.lean, self.quoted, self.tails)) + rows * self.words * 4

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

    def remember(self, key: int, mask: NDArray[np.int32]) -> MaskCache:
        """Keep the mask of a whole state; the cache to use from now on."""
        with self.lock:
            if not self.cache.add(key, mask):
                self.cache = MaskCache(self.words)
                self.cache.add(key, mask)
            return self.cache


_indexes: WeakKeyDictionary[Vocabulary, VocabularyIndex] = WeakKeyDictionary()
_unfinished: WeakKeyDictionary[Vocabulary, VocabularyIndex] = WeakKeyDictionary()
_indexes_lock = threading.RLock()


def index_of(vocabulary: Vocabulary) -> VocabularyIndex:
    """The index of a vocabulary, built on first use."""
    found = _indexes.get(vocabulary)
    if found is not None:
        return found
    with _indexes_lock:
        found = _indexes.get(vocabulary) or _unfinished.get(vocabulary)
        if found is None:
            from .ready import prepare

            found = _unfinished[vocabulary] = VocabularyIndex(vocabulary)
            try:
                prepare(vocabulary, found)  # runs kernels, which ask for this index
                _indexes[vocabulary] = found
            finally:
                del _unfinished[vocabulary]
        return found


def as_bits(tokens: NDArray[np.int32], words: int) -> NDArray[np.int32]:
    """Token ids as a mask, int32[words]."""
    flags: NDArray[np.uint8] = np.zeros(words * 32, np.uint8)
    flags[tokens] = 1
    return np.packbits(flags, bitorder="little").view(np.int32)


def _without_leading_blanks(
    vocabulary: Vocabulary, words: int
) -> tuple[Trie, NDArray[np.int32], NDArray[np.int32]]:
    """The trie of what tokens say after their leading whitespace, masks by that whitespace, and the tokens with much of it."""
    flat, offsets, ids = vocabulary.flat, vocabulary.offsets, np.sort(vocabulary.trie.ids)
    starts, ends = offsets[ids], offsets[ids + 1]
    blank = np.isin(flat, np.frombuffer(b" \t\n\r", np.uint8))
    solid = np.append(np.flatnonzero(~blank), len(flat))
    cut = np.minimum(solid[np.searchsorted(solid, starts)], ends)
    line_feeds = np.concatenate([[0], np.cumsum(flat == 0x0A)])
    newlines = line_feeds[cut] - line_feeds[starts]
    blanks = cut - starts - newlines
    bare = cut == ends
    kept: NDArray[np.int32] = np.zeros(len(flat) + 1, np.int32)
    np.add.at(kept, cut, 1)
    np.add.at(kept, ends, -1)
    lengths: NDArray[np.int64] = np.zeros(len(offsets) - 1, np.int64)
    lengths[ids] = ends - cut
    lean_flat = flat[np.cumsum(kept)[:-1] > 0]
    lean_offsets = np.concatenate([[0], np.cumsum(lengths)])
    lean = cached_trie(
        vocabulary.fingerprint, "lean", vocabulary.size, lambda: build_trie(lean_flat, lean_offsets, ids)
    )
    short = (newlines < at.SPACE_ROWS) & (blanks <= at.SOFT)
    rows = [as_bits(ids[short & (newlines <= r) & (bare == b)], words) for b in (0, 1) for r in range(at.SPACE_ROWS)]
    rows.append(as_bits(ids[~short], words))
    long = np.stack([ids, newlines, blanks, bare], axis=1)[~short]
    return lean, np.stack(rows), np.ascontiguousarray(long, np.int32).reshape(-1)


def _containing(vocabulary: Vocabulary, byte: int) -> Trie:
    """Trie of the tokens whose bytes contain `byte`."""
    flat, offsets = vocabulary.flat, vocabulary.offsets
    seen = np.concatenate([[0], np.cumsum(flat == byte)])
    ids = vocabulary.trie.ids
    return build_trie(flat, offsets, ids[seen[offsets[ids + 1]] > seen[offsets[ids]]])
