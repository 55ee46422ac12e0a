"""Undeclared keys of several kinds, of which only some may follow: is one of these left that is not taken?"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import constrain
from constrain.automata.oracle import Oracle
from constrain.automata.shortest import Completer

PIECES = [b'"a"', b'"a', b'":{', b'x"', b"{}", b',"', b'","', b'{"', b'":{},"', b"}}", b'ab"', b'\\u0061"', b"null"]
TOKENS = [*(bytes([b]) for b in range(256)), *PIECES]
VOCABULARY = constrain.Vocabulary.from_tokens([*TOKENS, b"<end>"], eos_token_ids=[len(TOKENS)])

OBJECT = {"type": "object"}
SHORT = {
    "a key that another one excludes": {
        "maxProperties": 2,
        "additionalProperties": {"type": "array"},
        "patternProperties": {"^.$": {}},
        "dependentRequired": {"a": ["c"]},
        "oneOf": [{"unevaluatedProperties": False}, {"additionalProperties": OBJECT}],
    },
    "long keys never": {
        **OBJECT,
        "additionalProperties": {"type": "array"},
        "patternProperties": {"^.$": {}},
        "oneOf": [{"unevaluatedProperties": False}, {"additionalProperties": OBJECT}],
    },
    "long keys without another": {
        **OBJECT,
        "additionalProperties": {"type": "null"},
        "patternProperties": {"^.{0,2}$": OBJECT},
        "if": {"required": ["k"]},
        "then": {"additionalProperties": OBJECT},
    },
    "three kinds": {
        **OBJECT,
        "additionalProperties": {"type": "null"},
        "patternProperties": {"^.?$": OBJECT, "^a.?$": {"maxProperties": 1}},
        "anyOf": [{"additionalProperties": OBJECT, "maxProperties": 3}, {"required": ["k"], "maxProperties": 2}],
    },
}
BEGUN = [b'{"a', b'{"b":{},"a', b'{"b":{},"b', b'{"b":{},"bc', b'{"b":{},"', b'{"b":{},"c":{},"b', b'{"k":{},"a":{},"a',
         b'{"a":{},"k":{},"ab', b'{"ab":{},"k":{},"ab', b'{"ab":{},"k":{},"abc', b'{"x":{},"\\u0078']  # fmt: skip


@pytest.mark.parametrize("name", SHORT)
def test_a_key_goes_on_only_to_one_that_may_follow(name: str) -> None:
    grammar = constrain.compile_json_schema(SHORT[name], VOCABULARY)
    oracle = Oracle(grammar.root)
    completer = Completer(oracle)
    for text in BEGUN:
        threads = oracle.start()
        for byte in text:
            threads = oracle.advance(threads, byte)
        assert grammar.matcher().accept_bytes(text) == bool(threads), text
        assert not threads or completer.completion(threads) is not None, text


@pytest.mark.parametrize("name", SHORT)
def test_masks_equal_the_interpreter_and_every_state_has_a_completion(name: str) -> None:
    grammar = constrain.compile_json_schema(SHORT[name], VOCABULARY, whitespace="compact")
    oracle = Oracle(grammar.root)
    completer = Completer(oracle)
    rng = random.Random(name)
    bitmask = constrain.allocate_token_bitmask(1, VOCABULARY.size)
    for _ in range(12):
        matcher, threads = grammar.matcher(), oracle.start()
        for _ in range(14):
            assert completer.completion(threads) is not None
            matcher.fill_next_token_bitmask(bitmask)
            bits = np.unpackbits(bitmask[0].view(np.uint8), bitorder="little")[: len(TOKENS)]
            following = {i: read(oracle, threads, token) for i, token in enumerate(TOKENS)}
            assert bits.tolist() == [int(bool(following[i])) for i in range(len(TOKENS))]
            likely = [i for i in np.flatnonzero(bits).tolist() if i >= 256 or TOKENS[i] in b'abkx"{}:,']
            if not likely:
                break
            token = rng.choice(likely)
            assert matcher.accept_token(token)
            threads = following[token]


def read(oracle: Oracle, threads: Any, token: bytes) -> Any:
    for byte in token:
        threads = oracle.advance(threads, byte)
    return threads
