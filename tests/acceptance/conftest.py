"""A made-up vocabulary in the manner of a byte-level one: all bytes, merged pieces of JSON, an end, padded logits."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import constrain

PIECES = (
    b'{"', b'":', b'": ', b'":"', b'":{"', b'":[', b'",', b'", "', b'"}', b'"}\n', b'"}}', b"{}", b"[]", b" {", b"true",
    b" true", b"null", b"city", b'"city', b"days", b'"days":', b"12", b"123", b"-1", b".5", b"\x00",
    b"a\x00", b"\x00\x00", "é".encode(), b"\xe6\x97", b"ab", b"abc", b"bc", b"</", b"\\n", b"  ", b"\n",
)  # fmt: skip
THINK, TOOL, END = (256 + len(PIECES) + i for i in range(3))
WIDTH = END + 150  # logits are wider than the tokenizer, by several words of a mask

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string", "maxLength": 6}, "days": {"type": "integer"}},
    "required": ["city"],
    "additionalProperties": False,
}
TEXT = b'{"city":"\xc3\xa9ab", "days":12}'


def make_vocabulary(without: bytes = b"", width: int | None = WIDTH) -> constrain.Vocabulary:
    """`without`: bytes that no token has."""
    tokens = [*(bytes([b]) for b in range(256)), *PIECES]
    kept = [None if set(token) & set(without) else token for token in tokens]
    special = {"</think>": THINK, "<tool_call>": TOOL, "<|im_end|>": END}
    return constrain.Vocabulary.from_tokens(kept, special=special, eos_token_ids=[END], logits_width=width)


def mask_of(matcher: constrain.Matcher) -> set[int]:
    """The ids that the mask allows."""
    bitmask = constrain.allocate_token_bitmask(1, matcher.vocabulary.size)
    matcher.fill_next_token_bitmask(bitmask)
    return set(np.flatnonzero(np.unpackbits(bitmask.view(np.uint8), bitorder="little")).tolist())


def splits(vocabulary: constrain.Vocabulary, text: bytes, rng, count: int):
    """Random tokenizations of a text."""
    ids: dict[bytes, list[int]] = {}
    for token in range(END):
        data = vocabulary.token_bytes(token)
        if data is not None:
            ids.setdefault(data, []).append(token)
    for _ in range(count):
        split, at = [], 0
        while at < len(text):
            data = rng.choice([text[at:end] for end in range(at + 1, len(text) + 1) if text[at:end] in ids])
            split.append(rng.choice(ids[data]))
            at += len(data)
        yield split


@pytest.fixture(scope="session")
def kit():
    vocabulary = make_vocabulary()
    return SimpleNamespace(
        THINK=THINK,
        TOOL=TOOL,
        END=END,
        SCHEMA=SCHEMA,
        TEXT=TEXT,
        PIECES=PIECES,
        vocabulary=vocabulary,
        grammar=constrain.compile_json_schema(SCHEMA, vocabulary),
        id_of=lambda data: 256 + PIECES.index(data) if data in PIECES else data[0],
        make_vocabulary=make_vocabulary,
        mask_of=mask_of,
        splits=splits,
    )


class Tokens:
    """The text side of a scripted model."""

    eos_token_ids = (END,)

    def encode(self, text):
        return list(text.encode())

    def token_bytes(self, token_id):
        return (*(bytes([b]) for b in range(256)), *PIECES)[token_id] if token_id < THINK else None


class ScriptedModel:
    """Prefers reply[k] as the k-th token of a sequence, then the end; noise, rounded, below that.

    Keeps the logits that it handed out, and copies of them.
    """

    tokens = Tokens()
    context_length = 1000

    def __init__(self, replies, noise=0.0, width=WIDTH, rounding=6):
        self.replies, self.noise, self.vocab_size, self.rounding = replies, noise, width, rounding
        self.handed_out, self.copies, self.opened = [], [], 0

    def new_cache(self):
        self.opened += 1
        return SimpleNamespace(reply=self.replies[self.opened - 1], ids=[], steps=0)

    def forward(self, caches, tokens):
        logits = np.zeros((len(caches), self.vocab_size), np.float32)
        for row, (cache, ids) in enumerate(zip(caches, tokens, strict=True)):
            cache.ids += ids
            if self.noise:
                noise = np.random.default_rng(cache.ids).normal(0, self.noise, self.vocab_size)
                logits[row] = noise.round(self.rounding)
            if cache.reply is not None:
                logits[row, cache.reply[cache.steps] if cache.steps < len(cache.reply) else END] += 50
            cache.steps += 1
        self.handed_out.append(logits)
        self.copies.append(logits.copy())
        return logits


@pytest.fixture(scope="session")
def scripted():
    return ScriptedModel
