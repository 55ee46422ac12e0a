"""Calls in the tokens of real tokenizers, where CONSTRAIN_TOKENIZERS names a folder of NAME/tokenizer.json."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import constrain
from constrain.replies import ReplyParser
from constrain.wires.markers import members
from constrain.wires.render import render_calls

from .support import WEATHER, is_valid, tool

FOLDER = Path(os.environ.get("CONSTRAIN_TOKENIZERS") or "/nonexistent")
TOOLS = [
    WEATHER,
    tool(
        "write_file",
        {
            "path": {"type": "string", "pattern": "^[a-z]+/[a-z.]+$"},
            "content": {"type": "string"},
            "tags": {"type": "array", "items": {"enum": ["x", "a, b"]}, "maxItems": 2},
            "opts": {"type": "object", "properties": {"deep": {"type": ["integer", "null"]}}, "required": ["deep"]},
        },
        ("path", "content"),
    ),
]
ARGUMENTS = {
    "path": "src/a.py",
    "content": 'if a < b:\n    print("hi {}", </b>)\n\n日本 🙂\n',
    "tags": ["x", "a, b"],
    "opts": {"deep": None},
}
EOS = {"qwen3": 151645, "llama3_1": 128009, "gemma4": 1, "deepseek_v3": 1, "gpt4o": 199999}
ROWS = [
    ("qwen3", ["hermes", "qwen3_coder", "qwen"]),
    ("llama3_1", ["llama3"]),
    ("gemma4", ["gemma4"]),
    ("deepseek_v3", ["deepseek_v3", "deepseek_v31", "dsml"]),
    ("gpt4o", ["harmony"]),
]


def load(name: str) -> tuple[Any, constrain.Vocabulary]:
    path = FOLDER / name / "tokenizer.json"
    if not path.is_file():
        pytest.skip(f"CONSTRAIN_TOKENIZERS has no {name}")
    tokenizer = pytest.importorskip("tokenizers").Tokenizer.from_file(str(path))
    if name == "gpt4o":
        tokenizer.add_special_tokens(list(members("harmony")[0].controls))
    return tokenizer, constrain.Vocabulary.from_tokenizer(tokenizer, eos_token_ids=[EOS[name]])


@pytest.mark.parametrize(("name", "wires"), ROWS)
def test_calls_as_tokenizers_split_them(name: str, wires: list[str]) -> None:
    tokenizer, vocabulary = load(name)
    bitmask = constrain.allocate_token_bitmask(1, vocabulary.size)
    calls = [("write_file", ARGUMENTS), ("get_weather", {"location": "Köln", "days": 3})]
    for wire in wires:
        text = render_calls(members(wire)[0].name, calls).lstrip("\n")
        grammar = constrain.compile_tools(TOOLS, vocabulary, wire, tool_choice="required", text_arming=True)
        matcher = grammar.matcher(stop_token_ids=[EOS[name]])
        for token in tokenizer.encode(text, add_special_tokens=False).ids:
            matcher.fill_next_token_bitmask(bitmask)
            assert bitmask[0, token >> 5] >> (token & 31) & 1, f"{wire}: {tokenizer.decode([token])!r}"
            assert matcher.accept_token(token)
        assert matcher.is_accepting()


@pytest.mark.parametrize(("name", "wires"), ROWS)
def test_walks_over_masks_end_in_valid_calls(name: str, wires: list[str]) -> None:
    _, vocabulary = load(name)
    bitmask = constrain.allocate_token_bitmask(1, vocabulary.size)
    controls = sorted(vocabulary.control.values())
    for seed, wire in enumerate(wires):
        rng = random.Random(seed)
        grammar = constrain.compile_tools(
            TOOLS, vocabulary, wire, tool_choice="required", parallel=False, text_arming=True
        )
        matcher, parser = grammar.matcher(), ReplyParser(wire, TOOLS, vocabulary)
        for _ in range(150):
            if matcher.is_accepting():
                break
            matcher.fill_next_token_bitmask(bitmask)
            allowed = np.flatnonzero(np.unpackbits(bitmask.view(np.uint8), bitorder="little"))
            # what ends free content, where there is any
            closing = [t for t in (*controls, *range(400)) if bitmask[0, t >> 5] >> (t & 31) & 1]
            token = rng.choice(closing if len(allowed) > 500 and closing and rng.random() < 0.7 else allowed.tolist())
            assert matcher.accept_token(token)
            parser.push(token)
        if not matcher.is_accepting():
            continue
        parser.finish()
        (call,) = parser.reply.tool_calls
        assert is_valid(TOOLS, call.name, call.arguments)


def test_merged_tokens_of_qwen() -> None:
    tokenizer, vocabulary = load("qwen3")
    grammar = constrain.compile_tools(TOOLS, vocabulary, "qwen", tool_choice="get_weather")
    matcher = grammar.matcher()
    assert matcher.accept_tokens([151657, *tokenizer.encode("\n<function=get_weather").ids])
    ids = {text: tokenizer.encode(text).ids for text in (">", ">\n", ">\n\n", "><", "></")}
    assert all(len(found) == 1 for found in ids.values())
    assert [matcher.allows(ids[text][0]) for text in ids] == [True, True, True, True, False]
    bitmask = constrain.allocate_token_bitmask(1, vocabulary.size)
    matcher.fill_next_token_bitmask(bitmask)
    allowed = np.flatnonzero(np.unpackbits(bitmask.view(np.uint8), bitorder="little")).tolist()
    assert len(allowed) < 12 and all((vocabulary.token_bytes(t) or b"").startswith(b">") for t in allowed)
