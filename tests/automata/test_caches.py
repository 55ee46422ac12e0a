"""The cache of whole masks: bounded, adjustable, shared by threads, and never wrong."""

from __future__ import annotations

import random
import threading

import numpy as np
import pytest

from constrain import Vocabulary, allocate_token_bitmask, compile_json_schema
from constrain.automata.index import index_of
from constrain.automata.mask_cache import MaskCache, next_cache

WORDS = [b'{"', b'":', b'", "', b"  ", b"ab", b"abc", "é".encode(), b'a": "', b'"a"', b'"ab', b'": "b', b'"}', b'"},']
TEXTS = (b'{"a": "abc", "b": 17}', b'{"ab": "\\u0061", "c": [1, 2], "a": ""}', b'{"x": {"y": [true, null]}, "a": "b"}')
SCHEMA = {"properties": {"a": {"type": "string", "maxLength": 5}, "b": {"type": "integer"}}, "minProperties": 1}


def vocabulary(salt: bytes) -> Vocabulary:
    tokens = [bytes([b]) for b in range(256)] + WORDS + [salt]
    return Vocabulary.from_tokens(tokens, eos_token_ids=[])


def masks(matcher, texts=TEXTS) -> list[bytes]:
    found, bitmask = [], allocate_token_bitmask(1, matcher.vocabulary.size)
    for text in texts:
        matcher.reset()
        for byte in text:
            matcher.fill_next_token_bitmask(bitmask)
            found.append(bitmask.tobytes())
            assert matcher.accept_bytes(bytes([byte]))
    return found


def test_masks_are_the_same_with_any_room() -> None:
    vocab = vocabulary(b"room")
    grammar = compile_json_schema(SCHEMA, vocab)
    expected = masks(grammar.matcher())
    for rows in (1, 2, 7, 4096):
        vocab.resize_mask_cache(rows * 2 * 4 * index_of(vocab).words)
        for _ in range(3):
            assert masks(grammar.matcher()) == expected
        assert len(index_of(vocab).cache.keys) == rows
    with pytest.raises(ValueError, match="at least"):
        vocab.resize_mask_cache(3)


def test_what_is_used_stays_and_the_rest_goes() -> None:
    vocab = vocabulary(b"stay")
    grammar = compile_json_schema({"type": "string"}, vocab)
    index = index_of(vocab)
    vocab.resize_mask_cache(2 * 4 * index.words * 8)
    matcher, bitmask = grammar.matcher(), allocate_token_bitmask(1, vocab.size)
    turns = 0
    for n in range(200):
        before = index.cache
        other = compile_json_schema({"const": n}, vocab).matcher()
        other.fill_next_token_bitmask(bitmask)
        matcher.fill_next_token_bitmask(bitmask)
        turns += index.cache is not before
        assert int(index.cache.used[0]) <= 8
    assert turns > 10
    kept = set(index.cache.keys[: int(index.cache.used[0])].tolist()) | set(index.previous.keys.tolist())
    before = index.cache.used[0]
    matcher.fill_next_token_bitmask(bitmask)  # it was used in every turn
    assert index.cache.used[0] == before and len(kept) > 1


def test_a_cache_that_nobody_looks_into_is_used_again() -> None:
    first, second = MaskCache(4, 8), MaskCache(4, 8)
    address = first.masks.ctypes.data
    first.table[3] = 1
    holders = [first]
    del first
    again = next_cache(second, holders)
    assert again.masks.ctypes.data == address and not again.table.any()
    holders = [again]  # which `again` still looks into
    assert next_cache(second, holders) is not again


def test_threads_share_it() -> None:
    """Many threads fill and turn over a small cache; each mask is what one thread alone gets."""
    vocab = vocabulary(b"threads")
    grammar = compile_json_schema(SCHEMA, vocab)
    expected = masks(grammar.matcher())
    vocab.resize_mask_cache(2 * 4 * index_of(vocab).words * 16)
    wrong: list[int] = []

    def work(seed: int) -> None:
        rng = random.Random(seed)
        matcher = grammar.matcher()
        for _ in range(25):
            order = rng.sample(range(len(TEXTS)), len(TEXTS))
            found = masks(matcher, [TEXTS[k] for k in order])
            starts = np.cumsum([0, *map(len, TEXTS)])
            wanted = [mask for k in order for mask in expected[starts[k] : starts[k + 1]]]
            if found != wanted:
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_memory_is_counted() -> None:
    vocab = vocabulary(b"count")
    masks(compile_json_schema(SCHEMA, vocab).matcher())
    index = index_of(vocab)
    held = vocab.nbytes
    index.cache.used[0] += 3
    assert vocab.nbytes == held + 3 * 4 * index.words


KEYS = {
    "a": {"type": "integer"},
    "ab": {"type": "string"},
    "#": {"$ref": "#"},
    "b": {"type": "array", "items": {"$ref": "#"}},
}
TOLD = [
    pytest.param([b',"', b'","', b'}, {"'], id="not which keys may follow"),
    pytest.param([b',"a', b'","#', b'},"b', b', "\\', b'1,"'], id="how keys begin"),
    pytest.param([b'","\\u', b',"\\u0061', b',"'], id="escaped keys"),
    pytest.param([b',"ab":', b'","a":1,"', b',"'], id="whole keys"),
]


@pytest.mark.parametrize("pieces", TOLD)
@pytest.mark.parametrize("more", [{}, {"additionalProperties": False}, {"maxProperties": 3, "required": ["a"]}])
def test_states_that_differ_in_the_keys_written(pieces: list[bytes], more: dict) -> None:
    """What is kept for a state holds in every state with the same key: each bit is what trying the token says."""
    tokens = [bytes([b]) for b in range(256)] + pieces
    vocab = Vocabulary.from_tokens(tokens, eos_token_ids=[])
    tried = [t for t, text in enumerate(tokens) if text in (b",", b"}", b"]", b"a", b"#", b'"') or len(text) > 1]
    grammar = compile_json_schema({"type": "object", "properties": KEYS, **more}, vocab, whitespace="compact")
    rng, bitmask = random.Random(1), allocate_token_bitmask(1, vocab.size)
    for _ in range(12):
        matcher = grammar.matcher()
        for _ in range(60):
            matcher.fill_next_token_bitmask(bitmask)
            bits = np.unpackbits(bitmask[0].view(np.uint8), bitorder="little")
            assert {t for t in tried if bits[t]} == {t for t in tried if matcher.allows(t)}
            allowed = [t for t in np.flatnonzero(bits).tolist() if t in tried or tokens[t] in b'{:[1"']
            if not allowed or not matcher.accept_token(rng.choice(allowed)):
                break
