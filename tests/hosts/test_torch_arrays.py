"""`TorchArrays` on CPU tensors: masks and ids of the three formats against numpy's."""

from __future__ import annotations

import numpy as np
import pytest

import constrain
from constrain.runners.arrays import Draw, NumpyWorkspace
from constrain.sampling import Sampling

torch = pytest.importorskip("torch")

SAMPLINGS = [
    Sampling(0.0),
    Sampling(0.0, repetition_penalty=0.8, frequency_penalty=-0.3),
    Sampling(),
    Sampling(0.7, top_k=5),
    Sampling(1.3, top_p=0.8),
    Sampling(2.0, min_p=0.3, presence_penalty=1.5),
    Sampling(0.9, top_k=40, top_p=0.7, min_p=0.1, repetition_penalty=1.3, presence_penalty=0.2, frequency_penalty=0.7),
    Sampling(3.0, top_p=1e-9),
]


@pytest.mark.parametrize("kind", ["float32", "float16", "bfloat16"])
def test_1000_steps_as_on_the_host(kind):
    """Ids and masked logits; rows that are not named keep their bits."""
    from constrain.runners.torch_arrays import TorchArrays

    rng = np.random.default_rng(1)
    width, rows = 300, 8
    device, host = TorchArrays("cpu").workspace(rows, width), NumpyWorkspace(rows, width)
    for _ in range(125):
        logits = torch.tensor(rng.normal(0, 2, (rows, width)).round(1)).to(getattr(torch, kind))
        values = logits.to(torch.float32).numpy().copy()
        bitmask = device.bitmask()
        bitmask[:] = rng.integers(-(2**31), 2**31, bitmask.shape)
        masked = rng.permutation(rows)[:5].tolist()
        before = logits.clone()
        applied = device.apply(logits, bitmask, masked)
        assert applied.data_ptr() == logits.data_ptr()
        values = host.apply(values, bitmask, masked)
        assert (applied.to(torch.float32).numpy() == values).all()
        rest = [row for row in range(rows) if row not in masked]
        assert torch.equal(applied[rest], before[rest])
        draws = []
        for row in range(rows):
            seen = set(rng.integers(0, width, 9).tolist())
            counts = {token: int(rng.integers(1, 4)) for token in sorted(seen)[:4]}
            draws.append(Draw(row, SAMPLINGS[rng.integers(len(SAMPLINGS))], seen, counts, float(rng.random())))
        assert device.choose(applied, draws) == host.choose(values, draws)
        assert device.best(applied, 3) == host.best(values, 3)


def test_what_cannot_be_drawn_from_is_said_as_on_the_host():
    from constrain.runners.torch_arrays import TorchArrays

    logits = torch.zeros(4, 40)
    logits[0, 5], logits[1], logits[2, 7], logits[3, 9] = torch.nan, -torch.inf, torch.inf, 1.0
    draws = [Draw(row, Sampling(seed=1), set(), {}, 0.5) for row in range(4)]
    found = TorchArrays("cpu").workspace(4, 40).choose(logits, draws)
    wanted = NumpyWorkspace(4, 40).choose(logits.numpy(), draws)
    assert [str(one) for one in found] == [str(one) for one in wanted]


def test_the_loop_with_tensors():
    """CudaRunner with torch's arrays: the ids of CpuRunner, with a grammar and without."""
    from constrain.runners import CpuRunner, CudaRunner, Request
    from constrain.runners.torch_arrays import TorchArrays

    vocabulary = constrain.Vocabulary.from_tokens(
        [bytes([b]) for b in range(256)], special={"<end>": 256}, eos_token_ids=[256]
    )
    grammar = constrain.compile_regex("[a-f]{3,40}(x|yz)[0-9]{2,9}", vocabulary)

    class Model:
        vocab_size, context_length = 257, 500

        def __init__(self, upload):
            self.upload = upload

        def new_cache(self):
            return []

        def forward(self, caches, tokens):
            for cache, ids in zip(caches, tokens, strict=True):
                cache.extend(ids)
            return self.upload(np.array([np.random.default_rng(c[-3:]).normal(0, 2, 257) for c in caches], np.float32))

    class Tokens:
        eos_token_ids = (256,)

        def encode(self, text):
            return list(text.encode())

        def token_bytes(self, token_id):
            return bytes([token_id]) if token_id < 256 else None

    requests = [
        Request("a", grammar if i % 2 else None, Sampling(seed=i, top_k=20 * i), max_tokens=60) for i in range(4)
    ]
    found = CudaRunner(Model(torch.from_numpy), Tokens(), arrays=TorchArrays("cpu")).generate(requests)
    wanted = CpuRunner(Model(lambda x: x), Tokens()).generate(requests)
    assert [done.token_ids for done in found] == [done.token_ids for done in wanted]
