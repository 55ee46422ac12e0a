"""tokenizer.json files, made here with the tokenizers package, which is also the oracle for the bytes."""

from __future__ import annotations

import json

import pytest

from constrain._errors import VocabularyError
from constrain.vocabulary import Vocabulary

tokenizers = pytest.importorskip("tokenizers")
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers  # noqa: E402

CORPUS = [
    "the theme of the thesis, then",
    "größer größe naïve",
    "日本語 日本人 本日",
    '{"a": [1, 2], "ab": "cd"}\n\n',
] * 4
TEXTS = ["then the größe", '日本語 {"a": "語"}\n\t🙂 é', "naïve  theme"]
ADDED = [
    AddedToken("<tool_call>", special=False),
    AddedToken("</b>", special=False),
    AddedToken("\n\n\n", special=False),
]


def byte_level() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(CORPUS, trainers.BpeTrainer(vocab_size=400, initial_alphabet=alphabet))
    tokenizer.add_special_tokens(["<|end|>"])
    tokenizer.add_tokens(ADDED)
    return tokenizer


def sentencepiece_like() -> Tokenizer:
    vocab = {"<unk>": 0, "<s>": 1, "</s>": 2}
    for piece in [*(f"<0x{byte:02X}>" for byte in range(256)), *"▁theorsa", "th", "the", "▁the", "▁▁", "日"]:
        vocab[piece] = len(vocab)
    merges = [("t", "h"), ("th", "e"), ("▁", "the"), ("▁", "▁")]
    tokenizer = Tokenizer(models.BPE(vocab, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    tokenizer.add_special_tokens(["<s>", "</s>"])
    tokenizer.add_tokens(ADDED)
    return tokenizer


def unigram() -> Tokenizer:
    bytes_ = [(f"<0x{byte:02X}>", -9.0) for byte in range(256)]
    pieces = [("<unk>", 0.0), ("▁", -2.0), ("▁the", -1.0), ("a", -3.0), ("e", -3.0), ("th", -3.0), *bytes_]
    tokenizer = Tokenizer(models.Unigram(pieces, 0, byte_fallback=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace()])
    return tokenizer


@pytest.mark.parametrize("make", [byte_level, sentencepiece_like, unigram])
def test_bytes_are_those_of_incremental_decoding(make, check_decoding, check_encoding) -> None:
    tokenizer = make()
    vocab = Vocabulary.from_tokenizer(tokenizer, eos_token_ids=[])
    assert vocab.n_tokens == tokenizer.get_vocab_size()
    check_decoding(vocab, lambda batch: tokenizer.decode_batch(batch, skip_special_tokens=False))
    check_encoding(vocab, lambda text: tokenizer.encode(text, add_special_tokens=False).ids, TEXTS)
    assert vocab.missing_bytes == (0,)


def test_added_tokens() -> None:
    tokenizer = byte_level()
    ids = {text: tokenizer.token_to_id(text) for text in ("<|end|>", "<tool_call>", "</b>", "\n\n\n")}

    def without_bytes(**options):
        vocab = Vocabulary.from_tokenizer(tokenizer, eos_token_ids=[], **options)
        assert all(vocab.token_bytes(i) in (None, text.encode()) for text, i in ids.items())
        assert all(vocab.control_id(text) == (None if vocab.token_bytes(i) else i) for text, i in ids.items())
        return {text for text, i in ids.items() if vocab.token_bytes(i) is None}

    assert without_bytes() == {"<|end|>", "<tool_call>"}
    assert without_bytes(control=[]) == {"<|end|>"}
    assert without_bytes(control=["</b>", ids["\n\n\n"]]) == {"<|end|>", "</b>", "\n\n\n"}
    ordinary = Vocabulary.from_tokenizer(tokenizer, eos_token_ids=[], control=["{", tokenizer.token_to_id("}")])
    assert ordinary.control_id("{") == tokenizer.token_to_id("{") and ordinary.control_id("}") is not None
    for wrong in (["<no such token>"], [100_000], [1.5]):
        with pytest.raises(VocabularyError):
            Vocabulary.from_tokenizer(tokenizer, eos_token_ids=[], control=wrong)


def test_unknown_token_has_no_bytes() -> None:
    tokenizer = sentencepiece_like()
    assert not any(t["content"] == "<unk>" for t in json.loads(tokenizer.to_str())["added_tokens"])
    vocab = Vocabulary.from_tokenizer(tokenizer, eos_token_ids=[2])
    assert vocab.token_bytes(0) is None and vocab.control_id("<unk>") == 0


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"tokenizer_config.json": {"eos_token": "<|end|>"}}, ["<|end|>"]),
        ({"tokenizer_config.json": {"eos_token": {"content": "<|end|>", "lstrip": False}}}, ["<|end|>"]),
        ({"special_tokens_map.json": {"eos_token": "</b>"}}, ["</b>"]),
        ({"generation_config.json": {"eos_token_id": [5, 3]}, "config.json": {"eos_token_id": 4}}, [3, 4, 5]),
        ({"config.json": {"text_config": {"eos_token_id": 0}}}, [0]),
        ({"config.json": {"eos_token_id": None}, "tokenizer_config.json": []}, None),
        ({"config.json": {"eos_token_id": 10**6}, "tokenizer_config.json": {"eos_token": "<none>"}}, None),
        ({}, None),
    ],
)
def test_eos_ids_come_from_the_files_beside_it(tmp_path, files, expected) -> None:
    tokenizer = byte_level()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    for name, content in files.items():
        (tmp_path / name).write_text(json.dumps(content))
    for source in (tmp_path, tmp_path / "tokenizer.json", str(tmp_path / "tokenizer.json")):
        if expected is None:
            with pytest.raises(VocabularyError, match="give eos_token_ids"):
                Vocabulary.from_tokenizer(source)
        else:
            ids = [tokenizer.token_to_id(e) if isinstance(e, str) else e for e in expected]
            assert Vocabulary.from_tokenizer(source).eos_token_ids == tuple(ids)
        assert Vocabulary.from_tokenizer(source, eos_token_ids=[]).eos_token_ids == ()


def test_tokens_that_only_the_configuration_names(tmp_path) -> None:
    tokenizer = byte_level()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    n = tokenizer.get_vocab_size()
    entries = {str(n + 1): {"content": "<late>", "special": True}, "0": {"content": "<other>"}, "x": {}}
    (tmp_path / "tokenizer_config.json").write_text(
        json.dumps({"added_tokens_decoder": entries, "eos_token": "<late>"})
    )
    vocab = Vocabulary.from_tokenizer(tmp_path)
    assert (vocab.n_tokens, vocab.eos_token_ids, vocab.control_id("<late>")) == (n + 2, (n + 1,), n + 1)
    assert vocab.control_id("<other>") is None and vocab.token_bytes(n) is None


def document(**changes) -> str:
    base = {"added_tokens": [], "model": {"type": "BPE", "vocab": {"a": 0}}, "decoder": {"type": "ByteLevel"}}
    return json.dumps({**base, **changes})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not a tokenizer.json"),
        ("{}", "not a tokenizer.json"),
        ("[1]", "not a SentencePiece model"),
        ("", "not a SentencePiece model"),
        (document(model={"vocab": [1, 2]}), "not a tokenizer.json"),
        (document(model={"vocab": {}}), "no tokens"),
        (document(model={"vocab": {"a": -1}}), "negative"),
        (document(model={"vocab": {"a": 10**9}}), "token id of 1000000000"),
        (document(decoder=None), "no decoder"),
        (document(decoder={"type": "Replace", "pattern": {"Regex": "("}, "content": ""}), "pattern '\\('"),
        (document(decoder=["ByteLevel"]), "not a tokenizer.json"),
        (document(decoder={"type": "CTC"}), "'CTC' is not supported"),
        (document(decoder={"type": "Sequence", "decoders": [{"type": "Fuse"}, {"type": "ByteFallback"}]}), "joined"),
        ("IQ== 0\nIg== 1\n", "tiktoken ranks"),
    ],
)
def test_what_cannot_be_read_says_why(tmp_path, text, message) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(text)
    with pytest.raises(VocabularyError, match=message) as caught:
        Vocabulary.from_tokenizer(path, eos_token_ids=[])
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("decoder", "token", "expected"),
    [
        ({"type": "Metaspace", "replacement": "_"}, "_a", b" a"),
        ({"type": "Replace", "pattern": {"Regex": "x+"}, "content": "\\1"}, "axxb", b"a\\1b"),
        ({"type": "Strip", "content": "#", "start": 2, "stop": 1}, "###a##", b"#a#"),
        ({"type": "Strip", "content": "#", "start": 1, "stop": 1}, "a\n", b"a\n"),
        ({"type": "ByteLevel"}, "Ġé", b" \xe9"),
        ({"type": "ByteLevel"}, "a b é", "a b é".encode()),
        ({"type": "ByteFallback"}, "<0xe9>", b"\xe9"),
        ({"type": "ByteFallback"}, "<0xe>", b"<0xe>"),
    ],
)
def test_decoder_steps(tmp_path, decoder, token, expected) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(document(decoder=decoder, model={"type": "BPE", "vocab": {token: 0}}))
    assert Vocabulary.from_tokenizer(path, eos_token_ids=[]).token_bytes(0) == expected
