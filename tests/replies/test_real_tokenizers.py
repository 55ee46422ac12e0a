"""Replies in the tokens of real tokenizers, where CONSTRAIN_TOKENIZERS names a folder of NAME/tokenizer.json."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from constrain import Vocabulary
from constrain.replies import ReplyParser
from constrain.wires.markers import members
from constrain.wires.render import render_calls

from .support import BOOKING, TOOLS, called

FOLDER = Path(os.environ.get("CONSTRAIN_TOKENIZERS") or "/nonexistent")


@pytest.mark.parametrize(
    ("name", "wires"),
    [
        ("qwen3", ["hermes", "qwen3_coder", "qwen"]),
        ("llama3_1", ["llama3"]),
        ("gemma4", ["gemma4"]),
        ("deepseek_v3", ["deepseek_v3", "deepseek_v31", "dsml"]),
        ("gpt4o", ["harmony"]),
    ],
)
def test_replies_in_tokens(name: str, wires: list[str]) -> None:
    path = FOLDER / name / "tokenizer.json"
    if not path.is_file():
        pytest.skip(f"CONSTRAIN_TOKENIZERS has no {name}")
    tokenizer = pytest.importorskip("tokenizers").Tokenizer.from_file(str(path))
    vocab = Vocabulary.from_tokenizer(path, eos_token_ids=[106] if name == "gemma4" else None)
    for wire in wires:
        before = "" if wire in ("llama3", "harmony") else "Sí, 日本 🙂:\n\n"
        calls = [("book_table", {**BOOKING, "place": "```\n</think> “日本 🙂”\n"}), ("ping", {})]
        text = before + render_calls(members(wire)[0].name, calls)
        parser = ReplyParser(wire, TOOLS, vocab)
        for token_id in tokenizer.encode(text, add_special_tokens=False).ids:
            parser.push(token_id)
        parser.finish()
        assert called(parser.reply) == calls
        assert parser.reply.text == before.rstrip()
        if any(vocab.control_id(text) is not None for text in members(wire)[0].controls[:1]):
            spelled = ReplyParser(wire, TOOLS, vocab)
            for byte in text.encode():
                spelled.push_text(bytes([byte]))  # no control token among them
            spelled.finish()
            assert (spelled.reply.text, spelled.reply.tool_calls) == (text, ())
