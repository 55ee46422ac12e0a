"""A vocabulary of the 256 bytes, END = 256, and two pairs of bytes, so that outputs have several tokenizations."""

from __future__ import annotations

import numpy as np
import pytest

import constrain

END, PAIRS = 256, {257: b'":', 258: b"ab"}


@pytest.fixture(scope="session")
def vocabulary() -> constrain.Vocabulary:
    tokens = [bytes([b]) for b in range(256)] + [None, *PAIRS.values()]
    return constrain.Vocabulary.from_tokens(tokens, eos_token_ids=[END])


@pytest.fixture(scope="session")
def grammar(vocabulary) -> constrain.Grammar:
    schema = {
        "type": "object",
        "properties": {"a": {"enum": ["ab", "ba", "abab"]}, "b": {"type": "array", "items": {"type": "integer"}}},
        "required": ["a", "b"],
        "additionalProperties": False,
    }
    return constrain.compile_json_schema(schema, vocabulary, whitespace="compact")


@pytest.fixture(scope="session")
def word(vocabulary) -> constrain.Grammar:
    return constrain.compile_choice(["abc", "abd", "x"], vocabulary)


def replayed(grammar, history):
    """Bits of the next mask after `history` from a fresh matcher; None where it is illegal or has ended."""
    matcher = grammar.matcher(max_rollback=None)
    if matcher.accept_tokens(history) < len(history) or matcher.is_terminated():
        return None
    bitmask = constrain.allocate_token_bitmask(1, grammar.vocabulary.size)
    matcher.fill_next_token_bitmask(bitmask)
    return bitmask[0].tolist()


def allowed(grammar, history):
    """Ids that may follow a legal history."""
    bits = np.unpackbits(np.array(replayed(grammar, history), np.int32).view(np.uint8), bitorder="little")
    return np.flatnonzero(bits).tolist()


@pytest.fixture(scope="session")
def oracle():
    from types import SimpleNamespace

    return SimpleNamespace(replayed=replayed, allowed=allowed, END=END)


@pytest.fixture(scope="session")
def tokenizer():
    """A byte-level tokenizer of 256 letters, two pairs and the token that ends."""
    tokenizers = pytest.importorskip("tokenizers")
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    merges = [('"', ":"), ("a", "b")]
    pieces = [first + second for first, second in merges]
    made = tokenizers.Tokenizer(tokenizers.models.BPE({c: i for i, c in enumerate([*alphabet, *pieces])}, merges))
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = tokenizers.decoders.ByteLevel()
    made.add_special_tokens(["<|end|>"])
    return made


@pytest.fixture(scope="session")
def encode(tokenizer):
    """Text to ids."""
    return lambda text: tokenizer.encode(text, add_special_tokens=False).ids
