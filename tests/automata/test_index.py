"""What is kept per vocabulary: made once, shared by equal vocabularies, counted, and read back from disk."""

from __future__ import annotations

import gc
import pickle
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from constrain import Vocabulary, allocate_token_bitmask, compile_json_schema
from constrain.automata import index as module
from constrain.automata.index import index_of
from constrain.vocabulary import store

WORDS = [
    b'":',
    b'"}',
    b'", "',
    b"  ",
    b"\n\n",
    b" \n x",
    b"ab",
    b"\\u00",
    b"\\n",
    "é日".encode(),
    b'{"a":',
    b'a":1,"b":2,"c"',
]
ARRAYS = ("closers", "lengths", "spaces", "long")


def vocabulary(more: bytes = b"") -> Vocabulary:
    tokens = [bytes([b]) for b in range(256)] + WORDS + [b"%d" % n for n in range(10, 300)] + [more or b"ab"]
    return Vocabulary.from_tokens(tokens, eos_token_ids=[])


def vocabulary_of(more: list[bytes]) -> Vocabulary:
    return Vocabulary.from_tokens([bytes([b]) for b in range(256)] + more, eos_token_ids=[])


def masks(vocab: Vocabulary) -> list[np.ndarray]:
    """The masks on the way through a text."""
    matcher = compile_json_schema({"properties": {"a": {"maxLength": 3}}}, vocab).matcher()
    found, bitmask = [], allocate_token_bitmask(1, vocab.size)
    for data in (b"{", b'"a', b'": "x', b'y", "', b'b":'):
        matcher.fill_next_token_bitmask(bitmask)
        found.append(bitmask.copy())
        assert matcher.accept_bytes(data)
    return found


def test_long_tokens_that_end_a_string_outgrow_the_buffers() -> None:
    """The tables of a vocabulary are made by a matcher that is as small as any."""
    ways = [b"x" * length + end for length in (1, 20, 90, 700, 1500) for end in (b'"', b'", "b": 1', b'\\"y"')]
    vocab = vocabulary_of(ways)
    matcher = compile_json_schema({"type": "object", "properties": {"b": {"type": "integer"}}}, vocab).matcher()
    bitmask = allocate_token_bitmask(1, vocab.size)
    assert matcher.accept_bytes(b'{"a": "')
    matcher.fill_next_token_bitmask(bitmask)
    for token, way in enumerate(ways, 256):
        assert bitmask[0, token >> 5] >> (token & 31) & 1, way
        assert matcher.allows(token), way


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty cache folder in which also small vocabularies are kept."""
    monkeypatch.setenv("CONSTRAIN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(store, "_SMALL", 1)
    return tmp_path


def same(one: Any, other: Any) -> None:
    for name in ("trie", "quoted", "tails", "lean"):
        mine, theirs = getattr(one, name), getattr(other, name)
        assert mine.depth == theirs.depth
        for field in ("byte", "end", "id_start", "ids"):
            np.testing.assert_array_equal(getattr(mine, field), getattr(theirs, field))
    for name in ARRAYS:
        mine, theirs = getattr(one, name), getattr(other, name)
        assert mine.dtype == theirs.dtype == np.int32 and mine.flags.c_contiguous
        np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(one.masks[0], other.masks[0])
    assert (one.long_tails, one.whole_keys) == (other.long_tails, other.whole_keys)


class TestOnDisk:
    def test_it_is_read_back(self, kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        made = index_of(vocabulary(b"one"))
        expected = masks(vocabulary(b"one"))
        del made
        gc.collect()
        assert list(kept.rglob("index-*.npz"))
        fresh = module.VocabularyIndex(vocabulary(b"one"))
        fresh.make(vocabulary(b"one"))
        monkeypatch.setattr(module.VocabularyIndex, "make", None)  # reading must do without
        again = vocabulary(b"one")
        found = index_of(again)
        assert found.lean.n_nodes == fresh.lean.n_nodes and found.long_tails == fresh.long_tails
        for mine, theirs in zip(masks(again), expected, strict=True):
            np.testing.assert_array_equal(mine, theirs)

    @pytest.mark.parametrize(
        "damage", [lambda d: d[: len(d) // 2], lambda d: b"", lambda d: d[:-3] + b"abc", lambda d: b"x" * 90]
    )
    def test_damage_means_making_it_again(self, kept: Path, damage) -> None:
        first = index_of(vocabulary(b"two"))
        (path,) = kept.rglob("index-*.npz")
        path.write_bytes(damage(path.read_bytes()))
        module._indexes.clear()
        same(index_of(vocabulary(b"two")), first)

    def test_a_foreign_file(self, kept: Path) -> None:
        first = index_of(vocabulary(b"three"))
        (path,) = kept.rglob("index-*.npz")
        np.savez(path, closers=np.zeros(3))
        module._indexes.clear()
        same(index_of(vocabulary(b"three")), first)

    def test_nothing_writable(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        file = tmp_path / "a file"
        file.touch()
        for name in ("CONSTRAIN_CACHE_DIR", "XDG_CACHE_HOME"):
            monkeypatch.setenv(name, str(file))
        monkeypatch.setattr(store, "_SMALL", 1)
        assert index_of(vocabulary(b"four")).lean.n_nodes

    def test_other_code_makes_another_file(self, kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        index_of(vocabulary(b"five"))
        module._indexes.clear()
        monkeypatch.setattr(module, "code_stamp", lambda *folders: b"edited")
        index_of(vocabulary(b"five"))
        assert len(list(kept.rglob("index-*.npz"))) == 2


class TestSharing:
    def test_equal_vocabularies_share_it(self) -> None:
        one, other = vocabulary(b"six"), vocabulary(b"six")
        assert index_of(one) is index_of(other)

    def test_it_outlives_the_vocabulary_that_made_it(self) -> None:
        one, other = vocabulary(b"seven"), vocabulary(b"seven")
        made = id(index_of(one))
        index_of(other)
        del one
        gc.collect()
        assert id(index_of(vocabulary(b"seven"))) == made

    def test_threads_make_it_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        made, make = [], module.VocabularyIndex.make
        monkeypatch.setattr(module.VocabularyIndex, "make", lambda self, v: (made.append(self), make(self, v)))
        vocabularies = [vocabulary(b"eight") for _ in range(8)]
        threads = [threading.Thread(target=index_of, args=(v,)) for v in vocabularies]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(made) == 1 and len({id(v.index) for v in vocabularies}) == 1

    def test_a_pickle_leaves_it_out(self) -> None:
        one = vocabulary(b"nine")
        before = len(pickle.dumps(one))
        index_of(one)
        assert len(pickle.dumps(one)) == before
        again = pickle.loads(pickle.dumps(one))
        assert again.index is None and index_of(again) is index_of(one)


class TestSize:
    def test_the_vocabulary_counts_it(self) -> None:
        """nbytes counts what is kept, and grows by a mask when one is cached."""
        one = vocabulary(b"ten")
        bare = one.nbytes
        index = index_of(one)
        assert one.nbytes == one.flat.nbytes + one.offsets.nbytes + index.nbytes > bare
        before = one.nbytes
        masks(one)
        assert one.nbytes >= before + index.words * 4
