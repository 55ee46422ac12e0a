"""SentencePiece, GGUF and tiktoken vocabularies, each made here with the package that defines its format."""

from __future__ import annotations

import io
import struct

import pytest

from constrain._errors import VocabularyError
from constrain.vocabulary import Vocabulary

CORPUS = [
    "the theme of the thesis",
    "then there is more",
    "größer größe naïve café",
    "日本語 日本人 本日",
    "a  b   c",
] * 20
TEXTS = ["then the größe 🙂", "日本語\n\tthe theme", "naïve   café <sep> <b>"]


@pytest.fixture(scope="module")
def processor():
    sentencepiece = pytest.importorskip("sentencepiece")
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(CORPUS),
        model_writer=model,
        vocab_size=340,
        hard_vocab_limit=False,
        byte_fallback=True,
        user_defined_symbols=["<sep>", "<b>", "▁▁"],
        control_symbols=["<ctl>"],
        remove_extra_whitespaces=False,
        normalization_rule_name="identity",
        minloglevel=2,
    )
    return sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())


def test_sentencepiece(processor, tmp_path, check_encoding) -> None:
    vocab = Vocabulary.from_tokenizer(processor)
    path = tmp_path / "tokenizer.model"
    path.write_bytes(processor.serialized_model_proto())
    assert Vocabulary.from_tokenizer(path) == Vocabulary.from_tokenizer(tmp_path) == vocab
    assert vocab.eos_token_ids == (processor.eos_id(),) and vocab.n_tokens == processor.get_piece_size()
    anchor = processor.piece_to_id("t")
    for token_id in range(vocab.n_tokens):
        data = vocab.token_bytes(token_id)
        if processor.is_byte(token_id):
            assert data == (bytes([int(processor.id_to_piece(token_id)[3:5], 16)]) if "0x00" not in
                            processor.id_to_piece(token_id) else None)  # fmt: skip
        elif processor.is_control(token_id) or processor.is_unknown(token_id):
            assert data is None and vocab.control_id(processor.id_to_piece(token_id)) == token_id
        elif processor.id_to_piece(token_id) == "<sep>":
            assert data is None and vocab.control_id("<sep>") == token_id
        else:
            assert data is not None and "t" + data.decode() == processor.decode([anchor, token_id])
    texts = [text.replace("<sep>", "") for text in TEXTS]
    check_encoding(vocab, processor.encode, texts)


@pytest.mark.parametrize("keep", [0, 1, 17, 100, -1])
def test_damaged_sentencepiece_model(processor, tmp_path, keep) -> None:
    path = tmp_path / "tokenizer.model"
    path.write_bytes(processor.serialized_model_proto()[:keep])
    with pytest.raises(VocabularyError, match="not a SentencePiece model"):
        Vocabulary.from_tokenizer(path, eos_token_ids=[])


NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)


def write_gguf(path, model: str, rows: list[tuple[str, int]], endian=None, **fields: int) -> None:
    gguf = pytest.importorskip("gguf")
    writer = gguf.GGUFWriter(path, "llama", endianess=endian or gguf.GGUFEndian.LITTLE)
    writer.add_uint32("llama.context_length", 64)
    writer.add_array("some.numbers", [1.5, 2.5])
    writer.add_tokenizer_model(model)
    writer.add_token_list([text for text, _ in rows])
    writer.add_token_scores([0.0] * len(rows))
    writer.add_token_types([kind for _, kind in rows])
    writer.add_token_merges(["a b"])
    for name, value in fields.items():
        writer.add_uint32(f"tokenizer.ggml.{name}", value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()


GPT2 = [("Ġthe", NORMAL), ("ĠgrÃ¶ÃŁe", NORMAL), ("Ċ", NORMAL), ("<|end|>", CONTROL), ("<think>", USER_DEFINED),
        ("  ", USER_DEFINED), ("[PAD6]", UNUSED), ("é", USER_DEFINED), ("<eot>", CONTROL)]  # fmt: skip
LLAMA = [("<unk>", UNKNOWN), ("<s>", CONTROL), ("</s>", CONTROL), ("<0x0A>", BYTE), ("<0xE9>", BYTE), ("▁the", NORMAL),
         ("▁▁", USER_DEFINED), ("<b>", USER_DEFINED), ("<|m|>", USER_DEFINED), ("<unused>", UNUSED)]  # fmt: skip


def test_gguf_byte_level(tmp_path) -> None:
    gguf = pytest.importorskip("gguf")
    for endian in gguf.GGUFEndian:
        path = tmp_path / f"{endian.name}.gguf"
        write_gguf(path, "gpt2", GPT2, endian, eos_token_id=3, eot_token_id=8)
        vocab = Vocabulary.from_tokenizer(path, logits_width=16)
        rows = [vocab.token_bytes(i) for i in range(10)]
        assert rows == [b" the", " größe".encode(), b"\n", None, None, b"  ", None, "é".encode(), None, None]
        assert vocab.control == {"<|end|>": 3, "<think>": 4, "<eot>": 8}
        assert vocab.eos_token_ids == (3, 8)


def test_gguf_sentencepiece(tmp_path) -> None:
    path = tmp_path / "model.gguf"
    write_gguf(path, "llama", LLAMA, eos_token_id=2)
    vocab = Vocabulary.from_tokenizer(path)
    rows = [vocab.token_bytes(i) for i in range(len(LLAMA))]
    assert rows == [None, None, None, b"\n", b"\xe9", b" the", b"  ", b"<b>", None, None]
    assert vocab.control == {"<unk>": 0, "<s>": 1, "</s>": 2, "<|m|>": 8}


def test_gguf_that_cannot_be_used(tmp_path) -> None:
    path = tmp_path / "model.gguf"
    write_gguf(path, "rwkv", GPT2)
    with pytest.raises(VocabularyError, match="'rwkv' is not supported"):
        Vocabulary.from_tokenizer(path)
    write_gguf(path, "gpt2", GPT2)
    with pytest.raises(VocabularyError, match="eos_token_ids"):
        Vocabulary.from_tokenizer(path)
    content = path.read_bytes()
    endless = content[:16] + struct.pack("<Q", 2**60) + content[24:]
    for damaged in (content[:4], content[:30], content[: len(content) // 2], endless, b"GGUF" + b"\xff" * 64):
        path.write_bytes(damaged)
        with pytest.raises(VocabularyError, match="not a GGUF file"):
            Vocabulary.from_tokenizer(path)


def test_tiktoken(check_encoding) -> None:
    tiktoken = pytest.importorskip("tiktoken")
    ranks = {bytes([b]): b for b in range(256)} | {b"th": 256, b"the": 257, b" the": 258, "日".encode()[:2]: 260}
    special = {"<|endoftext|>": 270, "<|im_start|>": 271}
    encoding = tiktoken.Encoding(
        "made-here", pat_str=r"\s?\w+|\s+|[^\s\w]+", mergeable_ranks=ranks, special_tokens=special
    )
    vocab = Vocabulary.from_tokenizer(encoding, logits_width=280)
    expected: list[bytes | None] = [None] * 280
    for data, token_id in ranks.items():
        expected[token_id] = data
    expected[0] = None  # NUL
    assert [vocab.token_bytes(i) for i in range(280)] == expected
    assert vocab.control == special and vocab.eos_token_ids == (270,)
    check_encoding(vocab, encoding.encode_ordinary, TEXTS)
