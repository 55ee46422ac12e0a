"""Real tokenizers, where CONSTRAIN_TOKENIZERS names a folder of NAME/tokenizer.json."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from constrain.vocabulary import Vocabulary

FOLDER = Path(os.environ.get("CONSTRAIN_TOKENIZERS") or "/nonexistent")
NAMES = ["llama3_1", "qwen3", "gemma3", "gemma4", "gpt4o", "deepseek_v3", "llama2"]


def load(name: str):
    path = FOLDER / name / "tokenizer.json"
    if not path.is_file():
        pytest.skip(f"CONSTRAIN_TOKENIZERS has no {name}")
    tokenizer = pytest.importorskip("tokenizers").Tokenizer.from_file(str(path))
    vocab = Vocabulary.from_tokenizer(path, eos_token_ids=[106] if name == "gemma4" else None)
    return tokenizer, vocab


@pytest.mark.parametrize("name", NAMES)
def test_bytes_are_those_of_incremental_decoding(name, check_decoding, check_encoding) -> None:
    tokenizer, vocab = load(name)
    check_decoding(vocab, lambda batch: tokenizer.decode_batch(batch, skip_special_tokens=False))
    check_encoding(vocab, lambda text: tokenizer.encode(text, add_special_tokens=False).ids)
    named = set(vocab.control.values()) | set(vocab.eos_token_ids)
    for token_id in range(vocab.n_tokens):  # every id is text, a control token, or of no use
        if vocab.token_bytes(token_id) is None and token_id not in named:
            text = tokenizer.id_to_token(token_id)
            assert text is None or "\0" in tokenizer.decode([token_id]), (token_id, text)
        if token_id in named:
            assert vocab.token_bytes(token_id) is None
    assert vocab.missing_bytes == (0,)


@pytest.mark.parametrize(
    ("name", "markers", "text", "eos"),
    [
        ("llama3_1", {"<|eot_id|>": 128009, "<|begin_of_text|>": 128000}, [], (128009,)),
        ("qwen3", {"<tool_call>": 151657, "</think>": 151668, "<|im_end|>": 151645}, [], (151645,)),
        (
            "gemma3",
            {"<end_of_turn>": 106, "<pad>": 0, "<unused42>": 48},
            ["\n\n", "  ", "\t", "<table>", "</b>"],
            (106,),
        ),
        ("gemma4", {"<|tool_call>": 48, '<|"|>': 52}, ["\n\n\n", "    ", "<code>"], (106,)),
        ("deepseek_v3", {"<｜tool▁calls▁begin｜>": 128806, "<｜begin▁of▁sentence｜>": 0}, [], (1,)),
        ("llama2", {"<unk>": 0, "</s>": 2}, ["<", "\n"], (2,)),
    ],
)
def test_control_tokens_and_ordinary_added_tokens(name, markers, text, eos) -> None:
    tokenizer, vocab = load(name)
    for marker, token_id in markers.items():
        assert vocab.control_id(marker) == token_id
        assert tokenizer.token_to_id(marker) == token_id
    for piece in text:
        assert any(vocab.token_bytes(i) == piece.encode() for i in range(vocab.n_tokens)), piece
        assert vocab.control_id(piece) is None
    assert vocab.eos_token_ids == eos
