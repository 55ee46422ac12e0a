"""Tries on disk: the same arrays come back, and a damaged file means building again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from constrain import Vocabulary
from constrain.vocabulary import store


def vocabulary() -> Vocabulary:
    tokens = [bytes([b]) for b in range(256)] + [b"%d" % n for n in range(10, 400)] + [b"ab", b"ab"]
    return Vocabulary.from_tokens(tokens, eos_token_ids=[])


def test_a_trie_is_read_back_and_rebuilt_when_damaged(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CONSTRAIN_CACHE_DIR", str(tmp_path))
    built = vocabulary().trie
    assert not list(tmp_path.rglob("trie-*.npz")), "small vocabularies are not kept"
    monkeypatch.setattr(store, "_SMALL", 1)
    fresh = vocabulary().trie
    (path,) = tmp_path.rglob("trie-*.npz")
    for damage in (lambda data: data, lambda data: data[: len(data) // 2], lambda data: b"x" * 100):
        path.write_bytes(damage(path.read_bytes()))
        again = vocabulary().trie
        for trie in (fresh, again):
            assert trie.depth == built.depth
            for field in ("byte", "end", "id_start", "ids"):
                mine, other = getattr(trie, field), getattr(built, field)
                assert mine.dtype == other.dtype and mine.flags.c_contiguous
                np.testing.assert_array_equal(mine, other)
