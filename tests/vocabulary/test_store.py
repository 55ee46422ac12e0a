"""The on-disk cache of parsed tokenizers: used when it can be, never in the way."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from constrain.vocabulary import Vocabulary, sources, store


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write(tmp_path / "tokenizer.json", "abc")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CONSTRAIN_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / "vocabularies"


def write(path: Path, tokens: str) -> Path:
    vocab = {token: i for i, token in enumerate(tokens)}
    added = [{"id": 0, "content": "a", "special": True}]
    path.write_text(json.dumps({"model": {"vocab": vocab}, "decoder": {"type": "ByteLevel"}, "added_tokens": added}))
    return path


def read(path: Path) -> Vocabulary:
    return Vocabulary.from_tokenizer(path, eos_token_ids=[])


def forbid_parsing(monkeypatch: pytest.MonkeyPatch) -> None:
    def parse(content: bytes) -> None:
        raise AssertionError("parsed again")

    monkeypatch.setattr(sources, "parse_tokenizer_json", parse)


def test_second_load_does_not_parse(source, cache, monkeypatch) -> None:
    first = read(source)
    forbid_parsing(monkeypatch)
    second = read(source)
    assert second == first and second.control == {"a": 0}
    write(source, "abcd")
    with pytest.raises(AssertionError, match="parsed again"):
        read(source)


@pytest.mark.parametrize(
    "damage", [lambda b: b[:100], lambda b: b"", lambda b: b[:-200] + b"x" * 200, lambda b: b"junk"]
)
def test_damaged_files_are_replaced(source, cache, damage, monkeypatch) -> None:
    first = read(source)
    (path,) = cache.glob("*.npz")
    path.write_bytes(damage(path.read_bytes()))
    assert read(source) == first
    forbid_parsing(monkeypatch)
    assert read(source) == first


def test_nothing_writable(source, monkeypatch) -> None:
    for name in ("CONSTRAIN_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA", "HOME"):
        monkeypatch.setenv(name, str(source))  # a file: no folder can be made in it
    assert read(source).n_tokens == 3


def test_bounded_and_without_litter(tmp_path, cache, monkeypatch) -> None:
    monkeypatch.setattr(store, "_KEPT_TABLES", 3)
    paths = [write(tmp_path / f"{n}.json", "abcdefgh"[: n + 1]) for n in range(8)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(read, paths * 3))
    assert [v.n_tokens for v in found] == [n + 1 for n in range(8)] * 3
    read(write(tmp_path / "last.json", "abcdefghij"))
    files = list(cache.iterdir())
    assert len(files) == 3 and all(f.suffix == ".npz" for f in files)
