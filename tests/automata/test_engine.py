"""The kernels against the reference interpreter, token by token, on random grammars and random walks."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest

from constrain import Vocabulary
from constrain.automata.compiled import Grammar
from constrain.automata.grammar import symbol
from constrain.automata.matcher import Matcher
from constrain.automata.oracle import Oracle

from .grammars import EOS, SYMBOLS, byte_vocabulary, random_node

# without tokens that write a comma and a whole key, masks are cached more widely
VOCABULARIES = (byte_vocabulary(), byte_vocabulary(whole_keys=False))
WORDS = (VOCABULARIES[0].size + 31) // 32
LIKELY = (b'"', b'"', b"a", b":", b",", b"}", b"]", b"1", b'""', b'":', b'",')


def mask_of(matcher: Matcher) -> set[int]:
    row = np.full((1, WORDS), -1, np.int32)
    matcher.fill_next_token_bitmask(row)
    return set(np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist())


def oracle_mask(oracle: Oracle, threads: list, vocabulary: Vocabulary) -> set[int]:
    """Tokens whose bytes, replayed one by one, leave a thread alive; the EOS where the output may end."""
    after: dict[bytes, list] = {b"": threads}

    def replay(data: bytes) -> list:
        if data not in after:
            before = replay(data[:-1])
            after[data] = oracle.advance(before, data[-1]) if before else []
        return after[data]

    allowed = {EOS} if oracle.is_accepting(threads) else set()
    for token in range(EOS):
        data = vocabulary.token_bytes(token)
        if data and 0 not in data and replay(data):
            allowed.add(token)
    allowed.update(token for token in SYMBOLS if oracle.advance(threads, symbol(token)))
    return allowed


def step(oracle: Oracle, threads: list, data: Sequence[int]) -> list:
    for byte in data:
        threads = oracle.advance(threads, byte)
    return threads


def walk(seed: int, steps: int) -> None:
    """Two walks with one grammar, so that the second meets masks that the first has left in the cache."""
    rng = random.Random(seed)
    vocabulary = VOCABULARIES[seed % 2]
    grammar = Grammar(random_node(rng), vocabulary, symbols=SYMBOLS)
    likely = [t for t in range(EOS) if vocabulary.token_bytes(t) in LIKELY]
    for _ in range(2):
        one_walk(rng, grammar, likely, steps, f"seed {seed}")


def one_walk(rng: random.Random, grammar: Grammar, likely: list[int], steps: int, name: str) -> None:
    vocabulary = grammar.vocabulary
    assert vocabulary is not None
    oracle, matcher = Oracle(grammar.root), grammar.matcher(max_rollback=None)
    threads, text = oracle.start(), b""
    trail = []
    for _ in range(steps):
        expected = oracle_mask(oracle, threads, vocabulary)
        got = mask_of(matcher)
        wrong = [(vocabulary.token_bytes(t), "allowed" if t in got else "masked") for t in sorted(got ^ expected)]
        assert not wrong, f"{name} after {text!r}: {wrong[:20]}"
        assert expected, f"{name}: dead end after {text!r}"
        assert matcher.is_accepting() == (EOS in expected)
        structural = [t for t in likely if t in expected]
        token = rng.choice(structural if structural and rng.random() < 0.6 else sorted(expected))
        if token == EOS:
            break
        # a few tokens that are not allowed change nothing
        for other in rng.sample(range(vocabulary.size), 3):
            assert matcher.allows(other) == (other in expected)
            if other not in expected:
                assert not matcher.accept_token(other)
        assert matcher.accept_token(token)
        trail.append((threads, token))
        data = vocabulary.token_bytes(token) or b""
        text += data or b"<%d>" % token
        threads = step(oracle, threads, data or [symbol(token)])
        if rng.random() < 0.1 and trail:
            back = rng.randint(1, len(trail))
            matcher.rollback(back)
            threads = trail[-back][0]
            del trail[-back:]
            text = b"".join(vocabulary.token_bytes(t) or b"" for _, t in trail)


@pytest.mark.parametrize("block", range(10))
def test_masks_equal_the_oracle_on_random_walks(block: int) -> None:
    """In every state of a random walk, each token's bit says whether its bytes survive in the interpreter."""
    for seed in range(block * 8, block * 8 + 8):
        walk(seed, 14)


@pytest.mark.parametrize(
    "seed",
    [
        pytest.param(1275, id="a byte stays in a state, others of its class do not"),
        pytest.param(1410, id="no additional key has a label that may follow"),
        pytest.param(2056, id="a byte closes a frame, and begins what it calls"),
    ],
)
def test_walks_that_once_went_wrong(seed: int) -> None:
    walk(seed, 24)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_masks_equal_the_oracle_on_many_random_walks(block: int) -> None:
    for seed in range(1000 + block * 100, 1000 + block * 100 + 100):
        walk(seed, 24)
