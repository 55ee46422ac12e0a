"""Masks and draws of the kernels against those of numpy, bit for bit and id for id."""

from __future__ import annotations

import numpy as np
import pytest
from numba import cuda

from constrain.runners.arrays import Draw, NumpyWorkspace
from constrain.runners.cuda_arrays import CudaArrays
from constrain.sampling import Sampling

KINDS = ["float32", "float16", "bfloat16", "float64"]


def to_bfloat16(values):
    """Numbers cut to 16 bits, and their codes, which is how numpy can hold them."""
    codes = (np.asarray(values, np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return from_bfloat16(codes), codes


def from_bfloat16(codes):
    return (codes.astype(np.uint32) << 16).view(np.float32)


def logits_of(kind, values):
    """Numbers of a format on the host, and on the device."""
    if kind == "bfloat16":
        host, codes = to_bfloat16(values)
        return host, cuda.to_device(codes)
    host = values.astype(kind)
    return host, cuda.to_device(host)


def on_host(kind, device):
    array = device.copy_to_host()
    return from_bfloat16(array) if kind == "bfloat16" else array


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("width", [31, 76, 90])  # one, four and two logits to a lane, and an unfinished word
def test_masks_are_applied_in_place_to_their_rows_alone(kind, width, threads):
    rng = np.random.default_rng(width)
    host, device = logits_of(kind, rng.normal(0, 5, (5, width)))
    space = CudaArrays(threads).workspace(5, width)
    bitmask = space.bitmask()
    bitmask[:] = rng.integers(-(2**31), 2**31, bitmask.shape)
    bitmask[3] = 0
    bitmask[2] = -1
    before = host.copy()
    assert space.apply(device, bitmask, [4, 2, 3]) is device
    NumpyWorkspace(5, width).apply(host, bitmask, [4, 2, 3])
    after = on_host(kind, device)
    assert after.tobytes() == host.tobytes()
    assert after[[0, 1, 2]].tobytes() == before[[0, 1, 2]].tobytes() and np.isneginf(after[3]).all()


def test_columns_beyond_the_mask_are_forbidden():
    host, device = logits_of("float32", np.ones((1, 70)))
    space = CudaArrays(2).workspace(1, 40)
    bitmask = space.bitmask()
    bitmask[:] = -1
    space.apply(device, bitmask, [0])
    assert np.isneginf(device.copy_to_host()[0, 64:]).all() and (device.copy_to_host()[0, :64] == host[0, :64]).all()


SAMPLINGS = [
    Sampling(0.0),
    Sampling(0.0, repetition_penalty=0.8, frequency_penalty=-0.3),
    Sampling(),
    Sampling(0.7, top_k=5),
    Sampling(1.3, top_p=0.8),
    Sampling(2.0, min_p=0.3, presence_penalty=1.5),
    Sampling(0.9, top_k=6, top_p=0.7, min_p=0.1, repetition_penalty=1.3, presence_penalty=0.2, frequency_penalty=0.7),
    Sampling(3.0, top_p=1e-9),
    Sampling(1.0, top_k=1000, top_p=0.999999),
    Sampling(1e-300, top_k=2),
]


@pytest.mark.filterwarnings("ignore:overflow encountered in scalar divide")
@pytest.mark.parametrize(("kind", "threads"), [("float32", 4), ("float16", 1), ("bfloat16", 2), ("float64", 1)])
def test_the_ids_are_those_of_the_chain_on_the_host(kind, threads):
    """Rounded logits have many ties, which go to the lowest id in every step of the chain."""
    rng = np.random.default_rng(7)
    width = 45
    values = rng.normal(0, 2, (4, width)).round(0)
    values[1] = rng.normal(0, 2, width)
    values[2, rng.permutation(width)[:40]] = -np.inf
    values[3] = 1.0
    host, device = logits_of(kind, values)
    draws = []
    for row in range(4):
        for sampling in SAMPLINGS:
            seen = set(rng.integers(0, width, 6).tolist())
            counts = {token: int(rng.integers(1, 4)) for token in sorted(seen)[:3]}
            draws.append(Draw(row, sampling, seen, counts, float(rng.random())))
    found = CudaArrays(threads).workspace(len(draws), width).choose(device, draws)
    assert found == NumpyWorkspace(len(draws), width).choose(host, draws)
    assert on_host(kind, device).tobytes() == host.tobytes()


def test_the_last_uniform_belongs_to_the_last_token_with_weight():
    values = np.full((1, 40), -np.inf)
    values[0, [3, 20]] = 0.0, -2.0
    host, device = logits_of("float32", values)
    draws = [Draw(0, Sampling(), set(), {}, u) for u in (0.0, 0.88, 0.881, 1 - 2**-53)]
    assert CudaArrays(4).workspace(4, 40).choose(device, draws) == [3, 3, 20, 20]
    assert NumpyWorkspace(4, 40).choose(host, draws) == [3, 3, 20, 20]


def test_what_cannot_be_drawn_from_is_said_as_on_the_host():
    values = np.zeros((4, 40))
    values[0, 5], values[1], values[2, 7], values[3, 9] = np.nan, -np.inf, np.inf, 1.0
    host, device = logits_of("float32", values)
    draws = [Draw(row, Sampling(seed=1), set(), {}, 0.5) for row in range(4)]
    found = CudaArrays(2).workspace(4, 40).choose(device, draws)
    wanted = NumpyWorkspace(4, 40).choose(host, draws)
    assert [str(one) for one in found] == [str(one) for one in wanted]
    assert isinstance(found[0], ValueError) and found[3] == wanted[3]


def test_bitmasks_are_used_in_turn():
    space = CudaArrays(1).workspace(2, 40)
    first, second = space.bitmask(), space.bitmask()
    assert first is not second and space.bitmask() is first and first.shape == (2, 2) and first.dtype == np.int32


@pytest.mark.parametrize(
    ("logits", "message"),
    [(np.zeros((2, 4), np.int64), "int64"), (np.zeros(4, np.float32), "float32"), (np.zeros((4, 4)).T, "contiguous")],
)
def test_other_logits_are_refused(logits, message):
    space = CudaArrays(1).workspace(4, 4)
    given = cuda.to_device(logits)
    if message == "contiguous":
        given = cuda.to_device(np.zeros((4, 8)))[:, :4]
    with pytest.raises(TypeError, match=message):
        space.choose(given, [Draw(0, Sampling(), set(), {}, 0.5)])


@pytest.mark.parametrize("threads", [3, 0, 1024])
def test_threads_are_a_power_of_two(threads):
    if threads:
        with pytest.raises(ValueError, match="power of two"):
            CudaArrays(threads)
    else:
        assert CudaArrays().threads
