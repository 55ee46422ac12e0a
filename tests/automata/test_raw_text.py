"""Masks of raw text, most of which is not walked: loops of classes of bytes, room for characters, what may follow."""

from __future__ import annotations

import random

import numpy as np
import pytest

from constrain import Vocabulary, allocate_token_bitmask, compile_lark, compile_regex, compile_tools
from constrain.automata.matcher import Matcher

PIECES = [
    *("a", "ab", "abc", " the", "hello world", "x" * 24, "1", "12", "123", "12a", "A", "Zz", "-", "_a", "f0", "g"),
    *("é", "ée", "日", "日本", "日本語<", "😀", "а", "привет", " é", "é\n", "q😀q", "ы" * 12),
    *("<", "</", "</p", "</p>", "<p>", "a<", "a</p>", "\n", "\n\n", " \n", "\t", "\r\n", "\n</p>", "x\n<", "<b> c"),
    *('"', '",', 'a"', '"a', "\\", '\\"', "\\n", "{", "}", "[", "]", "],", ": ", ",", ", ", "=>", "</parameter>"),
]
BYTES = [bytes([b]) for b in range(256)]
CUTS = [b"\xc3", b"a\xc3", b"\xa9", b"\xa9a", b"\xe6\x97", b"\x97\xa5", b"\xa5\xe6", b"\xf0\x9f\x98", b"\x80<", b"\xd1"]
TOKENS = [*BYTES, *(p.encode() for p in PIECES), *CUTS]
VOCABULARY = Vocabulary.from_tokens(TOKENS, eos_token_ids=[])
REGEXES = [
    r"[^<]*</p>",
    r"(?:[^<]|<[^/])*</p>",
    r"[^<\n]{0,9}\n",
    r"[a-zé]{3,}!",
    r"(?s:.)*",
    r".{2,30}",
    r"[^\x00-\x7f]*a",
    r"[\x00-\x7f]*",
    r"(?:[a-z]+ )*[0-9a-f]{4}",
    r"\S+\s\S*",
    r"[^é]*é",
    r"(?:ab|[^a])*",
]
LARKS = [
    r'start: "<" TEXT ">" [start]' "\n" r"TEXT: /[^<>]{0,20}/",
    r'start: (WORD | QUOTED)*' "\n" r'WORD: /[^"\s]+/' "\n" r'QUOTED: /"[^"]*"/' "\n" r"%ignore /\s/",
    r'start: ITEM ("," ITEM)*' "\n" r"ITEM: /[^,]{1,12}/",
]


def check(matcher: Matcher, rng: random.Random, steps: int) -> None:
    """Along a random walk, the mask holds just the tokens that would be taken."""
    bitmask = allocate_token_bitmask(1, VOCABULARY.size)
    for _ in range(steps):
        matcher.fill_next_token_bitmask(bitmask)
        allowed = np.flatnonzero(np.unpackbits(bitmask[0].view(np.uint8), bitorder="little"))
        taken = [t for t in range(VOCABULARY.size) if matcher.allows(t)]
        assert allowed.tolist() == taken, [VOCABULARY.token_bytes(t) for t in set(allowed.tolist()) ^ set(taken)][:9]
        if not taken:
            return
        assert matcher.accept_token(rng.choice([t for t in taken if len(TOKENS[t]) > 1] or taken))


@pytest.mark.parametrize("pattern", REGEXES)
def test_regexes(pattern: str) -> None:
    grammar = compile_regex(pattern, VOCABULARY)
    for seed in range(8):
        check(grammar.matcher(), random.Random(seed), 12)


@pytest.mark.parametrize("text", LARKS)
def test_terminals(text: str) -> None:
    grammar = compile_lark(text, VOCABULARY)
    for seed in range(8):
        check(grammar.matcher(), random.Random(seed), 12)


@pytest.mark.parametrize("wire", ["qwen3_coder", "glm45", "minimax_m2"])
def test_values_of_tools(wire: str) -> None:
    """Strings of raw text, bounded and by pattern, and what ends them."""
    marks = ["<tool_call>", "</tool_call>", "<minimax:tool_call>", "</minimax:tool_call>", "<arg_key>", "</arg_key>"]
    marks += ["<arg_value>", "</arg_value>"]
    special = {mark: len(TOKENS) + k for k, mark in enumerate(marks)}
    vocabulary = Vocabulary.from_tokens(TOKENS, special=special, eos_token_ids=[])
    properties = {
        "s": {"type": "string"},
        "t": {"type": "string", "maxLength": 6},
        "u": {"pattern": "^[a-z]+$"},
        "v": {"type": ["string", "integer"], "minLength": 1, "maxLength": 3},
        "w": {"type": "string", "minLength": 2, "pattern": r"^[^a].*\S$"},
        "x": {"type": "string", "minLength": 3, "maxLength": 40, "not": {"const": "abc"}},
    }
    tool = {"name": "f", "input_schema": {"type": "object", "properties": properties, "required": ["s", "t"]}}
    grammar = compile_tools([tool], vocabulary, wire, tool_choice="required")
    bitmask = allocate_token_bitmask(1, vocabulary.size)
    for seed in range(8):
        rng, matcher = random.Random(seed), grammar.matcher()
        for _ in range(60):
            matcher.fill_next_token_bitmask(bitmask)
            allowed = np.flatnonzero(np.unpackbits(bitmask[0].view(np.uint8), bitorder="little")).tolist()
            taken = [t for t in range(vocabulary.size) if matcher.allows(t)]
            assert allowed == taken
            likely = [t for t in taken if t >= 256]
            if not taken or not matcher.accept_token(rng.choice(likely if likely and rng.random() < 0.7 else taken)):
                break
