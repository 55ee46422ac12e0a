"""The vocabulary itself: rows with and without bytes, control tokens, EOS, padding, identity."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from constrain._errors import VocabularyError
from constrain.vocabulary import Vocabulary
from constrain.vocabulary.markers import is_control
from constrain.vocabulary.table import AddedToken

BYTES = [bytes([b]) for b in range(256)]


def test_rows_without_bytes() -> None:
    tokens = [b"ignored", b"a", None, b"", b"x\0y", b"\xe6\x97", b"bye", b"a"]
    vocab = Vocabulary.from_tokens(tokens, {"<call>": 0, "</call>": 9}, eos_token_ids=[6], logits_width=12)
    rows = [vocab.token_bytes(i) for i in range(vocab.size)]
    assert rows == [None, b"a", None, None, None, b"\xe6\x97", None, b"a", None, None, None, None]
    assert (vocab.size, vocab.n_tokens, vocab.max_token_bytes) == (12, 10, 2)
    assert vocab.control == {"<call>": 0, "</call>": 9}
    assert vocab.control_id("<call>") == 0 and vocab.control_id("<other>") is None
    assert vocab.flat.tobytes() == b"a\xe6\x97a" and vocab.flat.dtype == np.uint8
    assert vocab.offsets.tolist() == [0, 0, 1, 1, 1, 1, 3, 3, 4, 4, 4, 4, 4]
    assert vocab.trie.ids.tolist() == [1, 7, 5]
    for row in (-1, 12):
        with pytest.raises(IndexError):
            vocab.token_bytes(row)


def test_missing_bytes() -> None:
    assert Vocabulary.from_tokens(BYTES, eos_token_ids=[]).missing_bytes == (0,)
    tokens = [t for t in BYTES if t not in (b"\n", b"\xff")] + [b"\n\n"]
    assert Vocabulary.from_tokens(tokens, eos_token_ids=[]).missing_bytes == (0, 10, 255)


def test_eos_ids_are_required_but_may_be_none() -> None:
    with pytest.raises(VocabularyError, match=r"eos_token_ids=\[\.\.\.\]"):
        Vocabulary.from_tokens(BYTES)
    assert Vocabulary.from_tokens(BYTES, eos_token_ids=[]).eos_token_ids == ()
    vocab = Vocabulary.from_tokens(BYTES, {"<eot>": 300}, eos_token_ids=[300, 7, np.int64(7)])
    assert vocab.eos_token_ids == (7, 300) and vocab.token_bytes(7) is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(tokens=BYTES, eos_token_ids=[256]), "EOS id 256 is outside 0..255"),
        (dict(tokens=BYTES, eos_token_ids=[-1]), "outside"),
        (dict(tokens=BYTES, eos_token_ids=["</s>"]), "not an integer"),
        (dict(tokens=BYTES, eos_token_ids=[], logits_width=255), "less than the 256 tokens"),
        (dict(tokens=BYTES, eos_token_ids=[], logits_width=1e9), "not an integer"),
        (dict(tokens=["a"], eos_token_ids=[]), "token 0 is str"),
        (dict(tokens=BYTES, special={"<a>": -1}, eos_token_ids=[]), "outside"),
        (dict(tokens=BYTES, special={"<a>": 10**12}, eos_token_ids=[]), "outside"),
        (dict(tokens=BYTES, special={"<a>": 1, "<b>": 1}, eos_token_ids=[]), "same id"),
    ],
)
def test_bad_input_is_refused(arguments, message) -> None:
    with pytest.raises(VocabularyError, match=message):
        Vocabulary.from_tokens(**arguments)


@pytest.mark.parametrize("source", [None, 3, b"bytes", object(), "no/such/path", "/"])
def test_unreadable_sources_are_refused(source) -> None:
    with pytest.raises(VocabularyError):
        Vocabulary.from_tokenizer(source, eos_token_ids=[])


def test_identity_is_content() -> None:
    def make(tokens=(b"a", b"bc"), special=None, eos=(), width=None):
        return Vocabulary.from_tokens(list(tokens), special or {"<m>": 2}, eos_token_ids=list(eos), logits_width=width)

    vocab = make()
    others = [
        make(tokens=(b"ab", b"c")),
        make(special={"<n>": 2}),
        make(special={"<m>": 3}),
        make(eos=[2]),
        make(width=4),
        make(tokens=(b"a", b"bd")),
    ]
    assert make() == vocab and hash(make()) == hash(vocab) and make().fingerprint == vocab.fingerprint
    assert len({v.fingerprint for v in [vocab, *others]}) == 7
    before = vocab.nbytes
    assert vocab.trie.n_nodes == 3 and vocab.nbytes > before
    copy = pickle.loads(pickle.dumps(vocab))
    assert copy == vocab and copy.control == vocab.control and copy.nbytes == before
    assert copy.trie.ids.tolist() == vocab.trie.ids.tolist()
    assert len(repr(vocab)) < 200


@pytest.mark.parametrize(
    "text",
    [
        *[
            "<tool_call>",
            "</tool_call>",
            "<think>",
            "<|fim_prefix|>",
            "<|tool_call>",
            "<tool_call|>",
            '<|"|>',
            "<mask>",
        ],
        *[
            "<｜tool▁sep｜>",
            "<｜end of sentence｜>",
            "｜DSML｜",
            "[INST]",
            "[/INST]",
            "[multimodal]",
            "<unused7>",
            "</s1>",
        ],
        *["<start_of_image>", "<minimax:tool_call>", "<arg_key>", "<思考>"],
    ],
)
def test_markers_are_control_tokens(text) -> None:
    assert is_control(AddedToken(text, False))


@pytest.mark.parametrize(
    "text",
    [
        *["\n\n", "▁▁", "  ", "\t", "<b>", "</b>", "<table>", "<h1>", "</blockquote>", "<br/>", "<IMG>", "<bbox>"],
        *["<", ">", "<>", "</", "<=>", "<->", "<1>", "[1]", "[]", "[ ]", "a<b>", "<b>a", "<not a marker>", "||", "|"],
        *["<0x0A>", "word", "C++", "é", "[x", "<a><b>", ""],
    ],
)
def test_other_added_tokens_are_text(text) -> None:
    assert not is_control(AddedToken(text, False))
    assert is_control(AddedToken(text, True))
