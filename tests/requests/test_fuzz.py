"""Mutated bodies: each gives a RequestError or a constraint that works, in bounded time."""

from __future__ import annotations

import random
import time

import numpy as np
import pytest

import constrain
from constrain.requests import CompileCache, completions

from ..wires.support import VOCABULARY, WIDTH
from .bodies import GOOD, mutated

LIMITS = constrain.Limits(max_seconds=2)


@pytest.mark.parametrize("place", range(len(GOOD)))
def test_the_bodies_themselves_are_good(place):
    read, body = GOOD[place]
    read(body, VOCABULARY, **({} if read is completions else {"wire": "hermes"}))


def check(seeds):
    """Whether each body was good; the slowest, in seconds of CPU time, with its seed."""
    constrain.warmup(VOCABULARY)
    cache, found, slowest = CompileCache(max_entries=64, error_seconds=0), [], (0.0, -1)
    bitmask = constrain.allocate_token_bitmask(1, WIDTH)
    for seed in seeds:
        rng = random.Random(seed)
        read, good = rng.choice(GOOD)
        body = mutated(rng, good)
        options = {} if read is completions else {"wire": rng.choice(["hermes", "qwen3_coder", "llama3", None])}
        start = time.thread_time()
        try:
            session = read(body, VOCABULARY, limits=LIMITS, cache=cache, **options).session(on_failure="raise")
        except constrain.RequestError as error:
            assert error.status == 400 and error.field and error.message
            found.append(False)
        else:
            for _ in range(2):
                session.fill_next_token_bitmask(bitmask)
                allowed = np.flatnonzero(np.unpackbits(bitmask.view(np.uint8), bitorder="little")[:WIDTH])
                assert len(allowed) and session.accept_token(int(rng.choice(allowed.tolist())))
                if session.is_terminated():
                    break
            found.append(True)
        slowest = max(slowest, (time.thread_time() - start, seed))
    return found, slowest


def test_some_mutated_bodies():
    found, _ = check(range(400))
    assert 40 < sum(found) < 360  # both kinds are tried


@pytest.mark.slow
def test_many_mutated_bodies():
    found, slowest = check(range(1_000, 21_000))
    assert 2_000 < sum(found) < 18_000
    assert slowest[0] < 10 * LIMITS.max_seconds, slowest
