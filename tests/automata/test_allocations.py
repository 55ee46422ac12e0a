"""A step of a sequence whose states are known allocates nothing that outlives it, in Python or in the kernels."""

from __future__ import annotations

import gc
import json
import tracemalloc
from collections.abc import Iterator
from typing import Any

import numba
import numpy as np
import pytest

import constrain
from constrain import Vocabulary
from constrain.automata.matcher import Matcher

STEPS = 10_000
MOST_BYTES = 2048
"""What may be taken while a step runs (ints for its arguments, frames of Python), and stay in free lists. A mask of the
vocabulary here is more, and so is one byte for every step."""

TOKENS = [b'{"', b'": ', b'", "', b", ", b"ro", b"row ", b"name", b'"name', b"12", b"ue", b"null", b"},", b"}]", b'"}']
SCHEMA = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "name": {"type": "string", "maxLength": 20},
            "id": {"type": "integer"},
            "kind": {"enum": ["a", "b"]},
        },
        "required": ["name"],
    },
}


@numba.njit
def _allocate(size: int) -> Any:
    return np.zeros(size).sum()


@pytest.fixture
def counters() -> Iterator[Any]:
    """numba's counters of allocations, switched on."""
    if numba.config.DISABLE_JIT:
        pytest.skip("without numba nothing of its is counted")
    from numba.core.runtime import _nrt_python, rtsys

    _allocate(1)
    was_on = _nrt_python.memsys_stats_enabled()
    _nrt_python.memsys_enable_stats()
    try:
        yield rtsys.get_allocation_stats
    finally:
        if not was_on:
            _nrt_python.memsys_disable_stats()


@pytest.fixture(scope="module")
def vocab() -> Vocabulary:
    tokens = [bytes([b]) for b in range(256)] + TOKENS + [b"more %d" % i for i in range(20_000)]
    return Vocabulary.from_tokens(tokens, {"<end>": len(tokens)}, [len(tokens)])


def encode(text: str, vocab: Vocabulary) -> list[int]:
    """The longest token at each place."""
    data, ids = text.encode(), []
    longest = sorted(range(256 + len(TOKENS)), key=lambda t: -len(vocab.token_bytes(t) or b""))
    while data:
        token = next(t for t in longest if data.startswith(vocab.token_bytes(t) or b"\0"))
        ids.append(token)
        data = data[len(vocab.token_bytes(token) or b"") :]
    return ids


def steps(matcher: Matcher, bitmask: Any, tokens: list[int], rounds: int) -> bool:
    """Mask and commit for each token, over and over; whether all were allowed."""
    fill, accept, fine = matcher.fill_next_token_bitmask, matcher.accept_token, True
    for _ in range(rounds):
        matcher.reset()
        for token in tokens:
            fill(bitmask)
            fine = accept(token) and fine
    return fine


@pytest.mark.parametrize("rows", [4, 600], ids=["short outputs", "one long output"])
def test_known_states_allocate_nothing(rows: int, vocab: Vocabulary, counters: Any) -> None:
    """10,000 steps: no allocation of numba's, and what Python traces stays where it was, at its peak too."""
    value = [{"name": f"row {i}", "id": i, "kind": "ab"[i % 2], "more": [None, True, {"x": ""}]} for i in range(rows)]
    tokens = encode(json.dumps(value), vocab)
    rounds = -(-STEPS // len(tokens))
    matcher = constrain.compile_json_schema(SCHEMA, vocab).matcher()
    bitmask = constrain.allocate_token_bitmask(1, vocab.size)
    for _ in range(3):
        assert steps(matcher, bitmask, tokens, 1)  # builds nodes, grows buffers, fills the cache

    before = counters()
    assert steps(matcher, bitmask, tokens, rounds)
    assert counters() == before
    _allocate(3)
    assert counters().alloc == before.alloc + 1 and counters().free == before.free + 1  # they do count

    matcher.reset()
    gc.collect()
    tracemalloc.start()
    try:
        steps(matcher, bitmask, tokens, rounds)  # fills the free lists of Python and numpy
        start = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        assert steps(matcher, bitmask, tokens, rounds)
        end, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert end - start <= MOST_BYTES and peak - start <= MOST_BYTES


def test_batches_of_known_states_allocate_nothing(vocab: Vocabulary, counters: Any) -> None:
    """Neither do the kernels of a batch, nor does memory grow with the number of calls."""
    grammar = constrain.compile_json_schema(SCHEMA, vocab)
    matchers = [grammar.matcher() for _ in range(16)]
    bitmask = constrain.allocate_token_bitmask(len(matchers), vocab.size)
    for i, matcher in enumerate(matchers):
        assert matcher.accept_bytes(b'[{"name": "row 17", "id": 3'[: 1 + i])
    for _ in range(3):
        constrain.fill_next_token_bitmasks(matchers, bitmask)
    before = counters()
    tracemalloc.start()
    try:
        constrain.fill_next_token_bitmasks(matchers, bitmask)
        start = tracemalloc.get_traced_memory()[0]
        for _ in range(1000):
            constrain.fill_next_token_bitmasks(matchers, bitmask)
        end = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert counters() == before
    assert end - start <= MOST_BYTES
