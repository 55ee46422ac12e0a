"""What the engine keeps per vocabulary: the tries that masks are walked over, ready masks, and the cache of whole masks."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from .._cache import code_stamp
from .._errors import ArgumentError
from .._limits import Limits
from ..languages.dfa import DFA
from ..languages.operations import ANY_STRING
from ..vocabulary import Vocabulary
from ..vocabulary.byte_classes import ILL_FORMED, classes_on_path
from ..vocabulary.store import Arrays, cached_arrays
from ..vocabulary.trie import FIELDS, Trie, build_trie
from . import layout as at
from .grammar import Node, Skin
from .mask_cache import MaskCache, next_cache
from .program import Program
from .workspaces import Workspaces

__all__ = ["VocabularyIndex", "address_of", "as_bits", "index_of", "point"]

NEVER, WANTED = -1, -2
_MOST_STARTS = 16
_ALL_BYTES = frozenset(bytes([byte]) for byte in range(256))
SLOTS = 512
QUOTE = ord('"')
# a token that could end an additional key and spell a whole further key
_LONG_TAIL = re.compile(rb'".*:.*,.*".*"', re.DOTALL)
# a token that writes a whole key after a comma or an opening brace
_WHOLE_KEY = re.compile(rb'[,{]\s*"[^"]*"\s*(:|$)')


class VocabularyIndex:
    """Shared by all grammars of one vocabulary.

    trie     all tokens with bytes              quoted  those that contain a quote
    tails    of the tokens that end a string that may be anything, what follows its quote; closers: those with nothing there
    lean     all tokens by what they say after the JSON whitespace they begin with; spaces, long: which they are (layout.py)
    masks    int32[SLOTS, words]: the tokens that stay inside a JSON string or another lexeme, for states of its automaton.
             Row s, once published, never changes; the array is reserved whole and touched on demand.
    lengths  int32[n, words]: row k: the tokens that begin at most k characters inside a string; raw_lengths: outside JSON
    workspaces  what masks are made in
    containing  int32[n, words]: all tokens with bytes; row 1 + k: those with bytes of class k (byte_classes.py)
    """

    quoted: Trie
    tails: Trie
    closers: NDArray[np.int32]
    lengths: NDArray[np.int32]
    raw_lengths: NDArray[np.int32]
    lean: Trie
    spaces: NDArray[np.int32]
    long: NDArray[np.int32]
    containing: NDArray[np.int32]

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.words = (vocabulary.size + 31) // 32
        self.trie = vocabulary.trie
        self.long_tails = self.whole_keys = 0
        self.key_starts: frozenset[bytes] = frozenset()
        self.masks: NDArray[np.int32] = np.zeros((SLOTS, self.words), np.int32)
        self.cache = self.previous = MaskCache(self.words)
        self.workspaces = Workspaces((vocabulary.trie.depth + 2) * at.W_SIZE)
        self.lock = threading.RLock()
        self.ready = False
        self._descriptor: NDArray[np.int64] | None = None
        self._slots: dict[tuple[object, Skin, int], int] = {}
        self._known: dict[tuple[object, Skin], list[int]] = {}
        self._starts: dict[tuple[int, ...], Program] = {}

    def program(self, root: Node, limits: Limits, common: Sequence[Node] = ()) -> Program:
        """The encoded grammar of a root. common: nodes that many grammars have; they are encoded once, and copied."""
        key = tuple(map(id, common))
        start = self._starts.get(key)
        if start is None:
            starts = self.key_starts | ({b""} if self.whole_keys else set())
            start = Program(Limits(), _unknown, starts)  # nothing in it may hold what holds it
            start.encode_all(common)
            if len(self._starts) >= _MOST_STARTS:
                self._starts.clear()
            self._starts[key] = start
        program = start.another(limits, self.slot)
        program.begin(root)
        return program

    @property
    def descriptor(self) -> NDArray[np.int64]:
        """What a matcher's descriptor holds of the index (layout.py): int64[E_SIZE], the rest zeros."""
        if self._descriptor is None:
            desc: NDArray[np.int64] = np.zeros(at.E_SIZE, np.int64)
            tries = ((at.E_TRIE, self.trie), (at.E_QUOTED, self.quoted), (at.E_TAILS, self.tails), (at.E_LEAN, self.lean))
            for place, trie in tries:
                for k, array in enumerate(trie.arrays):
                    point(desc, place + 2 * k, array)
            point(desc, at.E_MASKS, self.masks)
            point(desc, at.E_CLOSERS, self.closers)
            point(desc, at.E_LENGTHS, self.lengths)
            point(desc, at.E_RAW_LENGTHS, self.raw_lengths)
            point(desc, at.E_SPACES, self.spaces)
            point(desc, at.E_LONG, self.long)
            point(desc, at.E_CONTAINING, self.containing)
            point(desc, at.E_WORKSPACES, self.workspaces.table)
            desc[at.E_WALK + 1], desc[at.E_WORKSPACE] = self.workspaces.walk, -1
            desc[at.E_WORDS], desc[at.E_LONG_TAILS] = self.words, self.long_tails
            if not self.ready:
                return desc
            self._descriptor = desc
        return self._descriptor

    def make(self, vocabulary: Vocabulary) -> None:
        """Make what is derived from the tokens alone; `ready.prepare` makes the rest."""
        self.quoted = _containing(vocabulary, QUOTE)
        self.tails = build_trie(np.zeros(0, np.uint8), np.zeros(1, np.int64), [])
        self.closers = np.zeros(self.words, np.int32)
        self.lengths = self.raw_lengths = np.zeros((0, self.words), np.int32)
        spells_twice = any(_LONG_TAIL.search(vocabulary.token_bytes(t) or b"") for t in self.quoted.ids.tolist())
        self.whole_keys = any(_WHOLE_KEY.search(vocabulary.token_bytes(t) or b"") for t in self.quoted.ids.tolist())
        self.key_starts = _key_starts(vocabulary.token_bytes(t) or b"" for t in self.quoted.ids.tolist())
        self.long_tails = 2 if vocabulary.max_token_bytes > at.REACH else int(spells_twice)
        self.containing = _containing_classes(self.trie, self.words)
        self.lean, self.spaces, self.long = _without_leading_blanks(vocabulary, self.words)

    def arrays(self) -> Arrays:
        """All that was made, to be kept on disk."""
        found = {f"{name}.{field}": np.asarray(getattr(getattr(self, name), field)) for name, field in _TRIES}
        found |= {name: getattr(self, name) for name in _ARRAYS}
        return found | {"flags": np.array([self.long_tails, self.whole_keys, *sorted(map(ord, self.key_starts))], np.int64), "inside": self.masks[0]}

    def use(self, arrays: Arrays) -> None:
        """Take over what another index made."""
        parts: dict[str, list[Any]] = {}
        for name, field in _TRIES:
            parts.setdefault(name, []).append(arrays[f"{name}.{field}"])
        for name, found in parts.items():
            setattr(self, name, Trie.of(found))
        for name in _ARRAYS:
            setattr(self, name, arrays[name])
        self.long_tails, self.whole_keys, *starts = arrays["flags"].tolist()
        self.key_starts = frozenset(bytes([byte]) for byte in starts)
        self.publish(ANY_STRING, 0, Skin.JSON_STRING, arrays["inside"])

    @property
    def nbytes(self) -> int:
        rows = len(self._slots) + len(self.lengths) + len(self.raw_lengths) + len(self.spaces) + len(self.containing)
        kept = sum(cache.nbytes for cache in {self.cache, self.previous}) + self.workspaces.nbytes
        return sum(t.nbytes for t in (self.trie, self.lean, self.quoted, self.tails)) + rows * self.words * 4 + kept

    def slot(self, dfa: DFA, state: int, skin: Skin) -> int:
        """Row of the ready mask of that state; WANTED if it may still be made, NEVER if there is no room."""
        found = self._slots.get((dfa.moves, skin, state))
        if found is not None:
            return found
        return WANTED if len(self._slots) < SLOTS else NEVER

    def publish(self, dfa: DFA, state: int, skin: Skin, mask: NDArray[np.int32]) -> int:
        """Keep a ready mask; its row, or NEVER."""
        with self.lock:
            found = self.slot(dfa, state, skin)
            if found == WANTED:
                found = len(self._slots)
                self.masks[found] = mask
                self._slots[dfa.moves, skin, state] = found
                self._known.setdefault((dfa.moves, skin), []).append(state)
            return found

    def alike(self, dfa: DFA, state: int, skin: Skin) -> tuple[NDArray[np.int32], NDArray[np.bool_]] | None:
        """The ready mask that most tokens have in common with that of a state, and flags, bool[256], of the bytes with
        which the others begin; None where less than half would be gained.
        """
        known = self._known.get((dfa.moves, skin), ())
        if not known:
            return None
        states = list(known)
        differ = (dfa.table[states] != dfa.table[state])[:, dfa.classes]
        if skin is Skin.JSON_STRING:
            differ[:, ord("\\")] = True
        costs = differ @ self._begin
        best = int(costs.argmin())
        if 2 * costs[best] > self._begin.sum():
            return None
        return self.masks[self._slots[dfa.moves, skin, states[best]]], differ[best]

    @cached_property
    def _begin(self) -> NDArray[np.int64]:
        """int64[256]: how many tokens begin with each byte."""
        trie, counts, node = self.trie, np.zeros(256, np.int64), 0
        while node < trie.n_nodes:
            end = int(trie.end[node])
            counts[trie.byte[node]] = trie.id_start[end] - trie.id_start[node]
            node = end
        return counts

    def resize(self, nbytes: int) -> None:
        """Begin a cache of whole masks that takes, with the one to follow it, so many bytes at most."""
        rows = nbytes // (2 * 4 * self.words)
        if rows < 1:
            raise ArgumentError(f"a cache of masks takes at least {2 * 4 * self.words} bytes here, not {nbytes}")
        with self.lock:
            self.cache = self.previous = MaskCache(self.words, rows)

    def turn_over(self, full: MaskCache) -> None:
        """Begin another cache of whole masks in the place of one that is full, unless that was done."""
        with self.lock:
            if self.cache is full:
                holders, self.previous = [self.previous], full
                self.cache = next_cache(full, holders)


_TRIES = [(name, field) for name in ("quoted", "tails", "lean") for field in FIELDS]
_ARRAYS = ("closers", "lengths", "raw_lengths", "spaces", "long", "containing")
_NAMES = (*(f"{name}.{field}" for name, field in _TRIES), *_ARRAYS, "flags", "inside")

_indexes: WeakValueDictionary[str, VocabularyIndex] = WeakValueDictionary()
"""By fingerprint. A vocabulary keeps its own alive."""
_unfinished: dict[str, VocabularyIndex] = {}
_lock = threading.RLock()


def index_of(vocabulary: Vocabulary) -> VocabularyIndex:
    """The index of a vocabulary, made on first use, or read from disk."""
    if vocabulary.index is not None:
        return vocabulary.index  # type: ignore[no-any-return]
    key = vocabulary.fingerprint
    with _lock:
        found = _indexes.get(key) or _unfinished.get(key)
        if found is not None and key in _unfinished:
            return found
        if found is None:
            found = _made(vocabulary)
            _indexes[key] = found
        vocabulary.index = found
        return found


def _made(vocabulary: Vocabulary) -> VocabularyIndex:
    key, index = vocabulary.fingerprint, VocabularyIndex(vocabulary)

    def build() -> Arrays:
        from .ready import prepare

        _unfinished[key] = index
        try:
            index.make(vocabulary)
            prepare(vocabulary, index)  # runs kernels, which ask for this index
        finally:
            del _unfinished[key]
        return index.arrays()

    stamp = code_stamp("vocabulary", "languages", "automata")
    arrays = cached_arrays("index", _NAMES, key, vocabulary.size, stamp, build)
    if not index._slots:
        index.use(arrays)
    index.ready = True
    return index


def _key_starts(tokens: Iterable[bytes]) -> frozenset[bytes]:
    """What tokens say behind a comma and a quote: the beginnings of keys. A backslash alone says nothing, as any key can
    be spelled so; where more of an escape is there, it may be any byte.
    """
    found: set[bytes] = set()
    for token in tokens:
        comma = token.find(b",")
        quote = token.find(b'"', comma) if comma >= 0 else -1
        while 0 <= quote < len(token) - 1:
            tail = token[quote + 1 :]
            if len(tail) > 1 and tail[:1] == b"\\":
                return _ALL_BYTES
            found.add(tail[:1])
            quote = token.find(b'"', quote + 1)
    return frozenset(found) - {b"\\"}


def _unknown(dfa: DFA, state: int, skin: Skin) -> int:
    return WANTED


def point(desc: NDArray[np.int64], place: int, array: NDArray[Any]) -> None:
    """Write the address and the size of an array to a place of a descriptor."""
    desc[place] = address_of(array)
    desc[place + 1] = array.size


def address_of(array: NDArray[Any]) -> int:
    """Of its first element. Its `ctypes.data` says so, too, but takes longer and leaves garbage."""
    return array.__array_interface__["data"][0]  # type: ignore[no-any-return]


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
    lean = build_trie(lean_flat, lean_offsets, ids)
    short = (newlines < at.SPACE_ROWS) & (blanks <= at.SOFT)
    rows = [as_bits(ids[short & (newlines <= r) & (bare == b)], words) for b in (0, 1) for r in range(at.SPACE_ROWS)]
    rows.append(as_bits(ids[~short], words))
    long = np.stack([ids, newlines, blanks, bare], axis=1)[~short]
    return lean, np.stack(rows), np.ascontiguousarray(long, np.int32).reshape(-1)


def _containing_classes(trie: Trie, words: int) -> NDArray[np.int32]:
    """Masks of all tokens of a trie, and of those with bytes of each class."""
    classes = classes_on_path(trie.byte, trie.end)
    tokens = np.repeat(classes, np.diff(trie.id_start))
    rows = [as_bits(trie.ids, words)]
    rows += [as_bits(trie.ids[tokens >> number & 1 != 0], words) for number in range(1 + ILL_FORMED)]
    return np.stack(rows)


def _containing(vocabulary: Vocabulary, byte: int) -> Trie:
    """Trie of the tokens whose bytes contain `byte`."""
    flat, offsets = vocabulary.flat, vocabulary.offsets
    seen = np.concatenate([[0], np.cumsum(flat == byte)])
    ids = vocabulary.trie.ids
    return build_trie(flat, offsets, ids[seen[offsets[ids + 1]] > seen[offsets[ids]]])
