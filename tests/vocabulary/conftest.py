"""Oracles for token bytes: what a tokenizer's own `decode` says about one token in the middle of a text."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable

import pytest

from constrain.vocabulary import Vocabulary

# Bytes that may have to come before and after a piece of a character to make whole characters of it.
_BEFORE = [
    b"",
    b"\xc3",
    b"\xe0",
    b"\xe4",
    b"\xed",
    b"\xf0",
    b"\xf1",
    b"\xf4",
    b"\xe4\xb8",
    b"\xf0\x9f",
    b"\xf0\x9f\x98",
]
_AFTER = [b"", b"\x80", b"\xa0", b"\x90", b"\x80\x80", b"\xa0\x80", b"\x90\x80", b"\x80\x80\x80", b"\x90\x80\x80"]

TEXTS = [
    "The quick brown fox jumps over the lazy dog, 1234567890 times!",
    '{"name": "Zoë", "tags": ["a\\nb", "\\u00e9"], "π": 3.14e-5}\n\t',
    "Größe, naïve façade, Ångström; çok güzel; Příliš žluťoučký kůň",
    "Съешь же ещё этих мягких французских булок",
    "快速的棕色狐狸跳过了懒狗。速い茶色の狐がのろまな犬を飛び越えた。다람쥐 헌 쳇바퀴에 타고파",
    "ऋषियों को सताने वाले दुष्ट राक्षसों  نص حكيم له سر قاطع  דג סקרן",
    "👩‍👩‍👧‍👦 🏳️‍🌈 🇺🇳 𝔘𝔫𝔦𝔠𝔬𝔡𝔢 \U0001f9ff\U000e0062",
    "def f(x):\n    return {k: v for k, v in x.items()}  # comment\r\n\n\n",
]


def _completed(data: bytes) -> tuple[bytes, bytes] | None:
    """(before, after) such that before + data + after is UTF-8 text, or None where nothing makes it so."""
    for before, after in itertools.product(_BEFORE, _AFTER):
        try:
            (before + data + after).decode()
        except UnicodeDecodeError:
            continue
        return before, after
    return None


@pytest.fixture(scope="session")
def check_decoding() -> Callable[..., None]:
    """Compare the bytes of every id with `decode(ids) -> str`, by whole characters, so that U+FFFD is never read."""

    def check(vocab: Vocabulary, decode_batch: Callable[[list[list[int]]], list[str]], anchor: bytes = b"a") -> None:
        single = {}
        for token_id in range(vocab.n_tokens):
            data = vocab.token_bytes(token_id)
            if data is not None and len(data) == 1:
                single.setdefault(data[0], token_id)
        start = [single[byte] for byte in anchor]
        cases, expected, impossible = [], [], 0
        for token_id in range(vocab.n_tokens):
            data = vocab.token_bytes(token_id)
            if data is None:
                continue
            completion = _completed(data)
            if completion is None:
                impossible += 1
                continue
            before, after = completion
            cases.append([*start, *(single[b] for b in before), token_id, *(single[b] for b in after)])
            expected.append((anchor + before + data + after).decode())
        wrong = [
            (case, want, got)
            for case, want, got in zip(cases, expected, decode_batch(cases), strict=True)
            if want != got
        ]
        assert not wrong, wrong[:5]
        # bytes that occur in no character (C0, C1, F5..FF), and the few tokens that contain one
        assert impossible <= 13 + vocab.n_tokens // 1000

    return check


@pytest.fixture(scope="session")
def check_encoding() -> Callable[..., None]:
    """Compare the joined bytes of encoded texts with the texts, but for a space that the tokenizer puts in front."""

    def check(vocab: Vocabulary, encode: Callable[[str], Iterable[int]], texts: list[str] = TEXTS) -> None:
        for text in texts:
            joined = b"".join(vocab.token_bytes(int(i)) or b"<no bytes>" for i in encode(text))
            assert joined.decode() in (text, " " + text)

    return check
