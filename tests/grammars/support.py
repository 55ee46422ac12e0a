"""A small vocabulary with control tokens, and what a matcher makes of a text in it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import constrain
from constrain import Grammar, Vocabulary
from constrain.automata.grammar import symbol

PIECES = (
    b"n+", b"+n", b"n+n", b"(n", b"))", b"ab", b"aab", b"ba", b"if", b" if", b"in", b"int", b" x", b"  ", b"\n", b"xa",
    b"01",
    b'"a', b'":', b"{\"", b"\xc3", b"\xa9", "é".encode(), b"</", b"</f", b">\n", b"<f", b"<f=", b"a>1", b"1</f>",
)  # fmt: skip
EOS = 256 + len(PIECES)
CONTROL = {"<tool_call>": EOS + 1, "</tool_call>": EOS + 2, "<think>": EOS + 3, "</think>": EOS + 4}
VOCABULARY = Vocabulary.from_tokens(
    [bytes([b]) for b in range(256)] + list(PIECES), special={"<eos>": EOS, **CONTROL}, eos_token_ids=[EOS]
)


def inputs(*parts: str) -> tuple[int, ...]:
    """Inputs of a text; a part that is the name of a control token is that token."""
    return tuple(x for part in parts for x in ([symbol(CONTROL[part])] if part in CONTROL else part.encode()))


def tokens(*parts: str) -> list[int]:
    """The same as token ids, one byte each."""
    return [x for part in parts for x in ([CONTROL[part]] if part in CONTROL else part.encode())]


def mask(matcher: constrain.Matcher) -> set[int]:
    row = constrain.allocate_token_bitmask(1, VOCABULARY.size)
    matcher.fill_next_token_bitmask(row)
    return set(np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist())


def takes(grammar: Grammar, ids: list[int]) -> bool:
    """Whether a matcher takes the tokens, each of which its mask must then allow, and may end after them."""
    matcher = grammar.matcher()
    for token in ids:
        allowed = token in mask(matcher)
        assert matcher.accept_token(token) == allowed
        if not allowed:
            return False
    return matcher.is_accepting()


def splits(text: bytes) -> Iterator[list[int]]:
    """Every way to write a text in tokens."""
    if not text:
        yield []
    for token in range(EOS):
        data = VOCABULARY.token_bytes(token)
        if data and text.startswith(data):
            for rest in splits(text[len(data) :]):
                yield [token, *rest]
