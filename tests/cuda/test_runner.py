"""CudaRunner against CpuRunner: one loop, the same ids."""

from __future__ import annotations

import numpy as np
import pytest
from numba import cuda

import constrain
from constrain.runners import CpuRunner, CudaRunner, Request, Speculation
from constrain.runners.cuda_arrays import CudaArrays
from constrain.sampling import Sampling

TOKENS = [bytes([b]) for b in b'abcde{}[]":,0123 '] + [b'"a"', b'":', b"01", b'{"', b"<|end|>"]
END, WIDTH = len(TOKENS) - 1, len(TOKENS) + 3
PIECES = TOKENS[:-1] + [None] * (WIDTH - len(TOKENS) + 1)


class Tokens:
    eos_token_ids = (END,)

    def encode(self, text):
        return [TOKENS.index(bytes([b])) for b in text.encode()]

    def token_bytes(self, token_id):
        return PIECES[token_id]


class Cache(list):
    def truncate(self, length):
        del self[length:]


class NoisyModel:
    """Logits that follow from the tokens read; on the device where `upload` is given."""

    vocab_size, context_length = WIDTH, 4096

    def __init__(self, kind="float32", upload=None):
        self.kind, self.upload = kind, upload

    def new_cache(self):
        return Cache()

    def forward(self, caches, tokens, keep=None):
        rows = []
        for cache, ids, count in zip(caches, tokens, keep or [1] * len(caches), strict=True):
            cache.extend(ids)
            for end in range(len(cache) - count + 1, len(cache) + 1):
                seed = hash(tuple(cache[max(0, end - 3) : end])) % 2**32
                rows.append(np.random.default_rng(seed).normal(0, 2, WIDTH).round(1))
        logits = np.array(rows, np.float32)
        if self.kind == "bfloat16":
            codes = (logits.view(np.uint32) >> 16).astype(np.uint16)
            return self.upload(codes) if self.upload else (codes.astype(np.uint32) << 16).view(np.float32)
        logits = logits.astype(self.kind)
        return self.upload(logits) if self.upload else logits


@pytest.fixture(scope="module")
def vocabulary():
    return constrain.Vocabulary.from_tokens(PIECES, special={"<|end|>": END}, eos_token_ids=[END])


@pytest.fixture(scope="module")
def grammars(vocabulary):
    numbers = constrain.compile_regex(r'\[[0-3]{2,9}(,"[a-e]{1,6}"){20,40}\]', vocabulary)
    return [numbers, constrain.compile_choice(['{"a":0}', '{"b":[0,1]}'], vocabulary)]


def requests(grammars, steps):
    return [
        Request("ab", grammars[0], Sampling(seed=1, top_k=6), max_tokens=steps),
        Request("c", None, Sampling(seed=2), max_tokens=steps, stop_token_ids=()),
        Request("d", grammars[1], Sampling(seed=3, temperature=0.5), max_tokens=steps),
        Request("e", grammars[0], Sampling(seed=4, temperature=1.5, frequency_penalty=0.1), max_tokens=steps),
        Request("a", grammars[0], Sampling(temperature=0, repetition_penalty=1.1), max_tokens=steps),
    ]


@pytest.mark.parametrize("kind", ["float32", "float16", "bfloat16"])
def test_the_same_ids_as_on_the_host(grammars, kind):
    """Rows with a constraint and without, greedy and sampled, in the three formats; 1,000 draws and more in all."""
    wanted, found = [], []
    for salt in range(3):
        batch = [
            Request(r.prompt + "abc"[salt], r.constraint, r.sampling, r.max_tokens, stop_token_ids=r.stop_token_ids)
            for r in requests(grammars, 40)
        ]
        wanted += CpuRunner(NoisyModel(kind), Tokens()).generate(batch)
        device = CudaRunner(NoisyModel(kind, cuda.to_device), Tokens(), arrays=CudaArrays(1))
        found += device.generate(batch)
    assert [done.token_ids for done in found] == [done.token_ids for done in wanted]
    assert [done.events[-1].reason for done in found] == [done.events[-1].reason for done in wanted]
    assert sum(len(done.token_ids) for done in found) > 334


def test_logits_of_the_host_are_uploaded(grammars):
    batch = requests(grammars, 6)
    wanted = CpuRunner(NoisyModel(), Tokens()).generate(batch)
    found = CudaRunner(NoisyModel(), Tokens(), arrays=CudaArrays(2)).generate(batch)
    assert [done.token_ids for done in found] == [done.token_ids for done in wanted]


def test_speculation_on_the_device(grammars):
    """Drafts have rows of their own; the reply is that of plain decoding on the host."""
    ahead = [
        Request(r.prompt, r.constraint, r.sampling, r.max_tokens, speculation=Speculation(3))
        for r in requests(grammars, 12)
    ]
    wanted = CpuRunner(NoisyModel(), Tokens()).generate(requests(grammars, 12))
    found = CudaRunner(NoisyModel("float32", cuda.to_device), Tokens(), arrays=CudaArrays(1)).generate(ahead)
    assert [done.token_ids for done in found] == [done.token_ids for done in wanted]


def test_a_row_of_no_numbers_fails_alone(grammars):
    class Poisoned(NoisyModel):
        def forward(self, caches, tokens, keep=None):
            logits = super().forward(caches, tokens, keep)
            if len(caches) == 2 and len(caches[0]) > 3:  # while the first one lives
                logits[0] = np.nan
            return logits

    done = CudaRunner(Poisoned(), Tokens(), arrays=CudaArrays(1)).generate(requests(grammars, 5)[:2])
    assert [one.finish_reason for one in done] == ["failed", "length"]
    assert "nan" in done[0].events[-2].reason
