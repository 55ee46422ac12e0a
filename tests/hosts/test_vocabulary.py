"""Tokenizers of transformers give the vocabulary of the files that they were made from."""

from __future__ import annotations

import io

import pytest

from constrain.vocabulary import Vocabulary

transformers = pytest.importorskip("transformers")
from tokenizers import Tokenizer, decoders, models, pre_tokenizers  # noqa: E402


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({c: i for i, c in enumerate([*alphabet, "Ġa", "th"])}, [("Ġ", "a"), ("t", "h")]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(["<|end|>"])
    tokenizer.add_tokens(["<tool_call>"])
    return tokenizer


def test_fast_tokenizer_equals_its_file(tokenizer, tmp_path) -> None:
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|end|>")
    fast.save_pretrained(tmp_path)
    from_object, from_file = Vocabulary.from_tokenizer(fast), Vocabulary.from_tokenizer(tmp_path)
    assert from_object == from_file
    assert from_object.control == {"<|end|>": 258, "<tool_call>": 259}
    assert from_object.eos_token_ids == (258,)
    loaded = transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert Vocabulary.from_tokenizer(loaded) == from_file


def test_generation_config_adds_eos_ids(tokenizer, tmp_path) -> None:
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|end|>").save_pretrained(tmp_path)
    (tmp_path / "generation_config.json").write_text('{"eos_token_id": [1, 258]}')
    loaded = transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert Vocabulary.from_tokenizer(loaded).eos_token_ids == (1, 258)


def test_sentencepiece_based_tokenizer(tmp_path) -> None:
    sentencepiece = pytest.importorskip("sentencepiece")
    backend = pytest.importorskip("transformers.tokenization_utils_sentencepiece").SentencePieceBackend
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["the theme of the thesis, größe 日本"] * 20),
        model_writer=model,
        vocab_size=300,
        hard_vocab_limit=False,
        byte_fallback=True,
        minloglevel=2,
    )
    path = tmp_path / "tokenizer.model"
    path.write_bytes(model.getvalue())
    slow = backend(vocab_file=str(path), eos_token="</s>", unk_token="<unk>", bos_token="<s>")
    from_object, from_file = Vocabulary.from_tokenizer(slow), Vocabulary.from_tokenizer(path)
    assert from_object.eos_token_ids == from_file.eos_token_ids == (2,)
    for token_id in range(from_file.n_tokens):
        assert from_object.token_bytes(token_id) == from_file.token_bytes(token_id)
