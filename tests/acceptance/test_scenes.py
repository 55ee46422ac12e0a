"""Small scenes in which engines of this kind were reported to go wrong: vocabularies, ends, rollbacks, limits."""

from __future__ import annotations

import json
import time

import numpy as np
import pytest

import constrain
from constrain.requests import Constraint, chat
from constrain.sampling import Sampling, choose, distribution


def vocabulary(pieces, special=(), eos=(0,)):
    """Pieces by id; `special` ids are control tokens by these texts."""
    tokens = [None if i in special else piece.encode("latin-1") for i, piece in enumerate(pieces)]
    names = {pieces[i]: i for i in special}
    return constrain.Vocabulary.from_tokens(tokens, names, eos_token_ids=list(eos))


def mask_of(matcher):
    bitmask = constrain.allocate_token_bitmask(1, matcher.vocabulary.size)
    matcher.fill_next_token_bitmask(bitmask)
    return set(np.flatnonzero(np.unpackbits(bitmask.view(np.uint8), bitorder="little")).tolist())


def pieces_of(matcher, text):
    """Feed a text byte by byte."""
    assert all(matcher.accept_bytes(bytes([byte])) for byte in text)


# Widths ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "logits"), [(100, 160), (77, 320), (4077, 4320), (256, 257)])
def test_rows_of_logits_that_the_mask_does_not_cover_are_forbidden(size, logits):
    """Whether the model's output layer is padded by a few words or by many, and whether the mask has a spare tail."""
    vocab = constrain.Vocabulary.from_tokens([b"a"] * size, {}, [])
    matcher = constrain.compile_regex("a*", vocab).matcher()
    bitmask = constrain.allocate_token_bitmask(1, size)
    matcher.fill_next_token_bitmask(bitmask)
    row = np.zeros((1, logits), np.float32)
    constrain.apply_token_bitmask_inplace(row, bitmask)
    assert np.flatnonzero(np.isfinite(row[0])).tolist() == list(range(size))
    with pytest.raises(ValueError, match="shape"):
        matcher.fill_next_token_bitmask(constrain.allocate_token_bitmask(1, size - 40))


# Steps and ends -------------------------------------------------------------------------------------------------------


def test_a_refused_token_leaves_the_state():
    matcher = constrain.compile_regex("ab*", vocabulary(["<eos>", "a", "b", "ab"])).matcher()
    assert matcher.accept_token(1) and matcher.is_accepting()
    before = mask_of(matcher)
    assert not matcher.accept_token(1) and mask_of(matcher) == before == {0, 2}
    assert matcher.accept_token(2) and matcher.is_accepting()


def test_the_end_is_allowed_exactly_where_the_text_is_complete():
    schema = {
        "type": "object",
        "properties": {"a": {"type": "integer"}},
        "required": ["a"],
        "additionalProperties": False,
    }
    vocab = vocabulary(["<eos>", "{", "}", '"', "a", ":", "1"])
    matcher = constrain.compile_json_schema(schema, vocab).matcher()
    for token in (1, 3, 4, 3, 5, 6):
        assert 0 not in mask_of(matcher) and matcher.accept_token(token)
    assert mask_of(matcher) == {2, 6}
    assert matcher.accept_token(2) and mask_of(matcher) == {0}


def test_every_end_token_counts_and_all_agree():
    vocab = vocabulary(["<e1>", "<e2>", "<e3>", "a"], eos=(0, 1, 2))
    matcher = constrain.compile_choice(["a"], vocab).matcher()
    assert mask_of(matcher) == {3} and matcher.accept_token(3) and mask_of(matcher) == {0, 1, 2}
    for end in (0, 1, 2):
        assert matcher.allows(end) and matcher.validate_tokens([end]) == 1
        assert matcher.accept_token(end) and matcher.is_terminated()
        matcher.rollback()


def test_an_end_token_may_be_part_of_the_grammar():
    vocab = vocabulary(["<return>", "o", "k"], special=[0])
    matcher = constrain.compile_lark('start: "ok" <return>', vocab).matcher()
    assert matcher.accept_tokens([1, 2]) == 2 and mask_of(matcher) == {0}
    assert matcher.accept_token(0) and matcher.is_accepting()
    session = constrain.Session(constrain.compile_lark('start: "ok" <return>', vocab))
    assert session.accept_tokens([1, 2, 0]) == 3 and session.is_terminated()


def test_control_tokens_do_not_leak_into_strings():
    matcher = constrain.compile_json_schema(
        {"type": "string"}, vocabulary(["<eos>", "</s>", '"', "<", "/", "s", ">"], [1])
    )
    matcher = matcher.matcher()
    assert matcher.accept_token(2) and mask_of(matcher) == {2, 3, 4, 5, 6}


def test_blanks_before_the_answer_are_an_option():
    pieces = [
        "<eos>",
        "<pad>",
        "{",
        "}",
        '"',
        "a",
        ":",
        "1",
        "}\n",
        '":',
        '{"',
        '"}',
        ' {"',
        "\xc3",
        "\xa9",
        ",",
        "[",
        "]",
    ]
    grammar = constrain.compile_json_schema({"type": "object"}, vocabulary(pieces, [1]))
    assert mask_of(Constraint(grammar).session()) == {2, 10}
    session = Constraint(grammar, leading_whitespace=True).session()
    assert mask_of(session) == {2, 10, 12} and session.accept_token(12)
    assert session.accept_tokens([5, 9, 7, 3]) == 4 and session.is_complete


# Bytes ----------------------------------------------------------------------------------------------------------------


def test_bytes_that_are_no_text_are_never_allowed():
    pieces = ["<eos>", "\xc0", "\xc1", "\xed", "\xa0", "\xf5", "\x80", '"', "\x9f", "\xe6", "\xa5"]
    matcher = constrain.compile_json_schema({"type": "string"}, vocabulary(pieces)).matcher()
    assert matcher.accept_token(7) and mask_of(matcher) == {3, 7, 9}
    assert matcher.accept_token(3) and mask_of(matcher) == {6, 8}  # no surrogates after ED
    assert matcher.accept_token(8) and not matcher.allows(7)  # nor an end inside a character


def test_placeholders_of_spaces_are_read_by_the_tokenizer_s_own_scheme(tmp_path):
    def tokens(decoder):
        vocab = {"<eos>": 0, "Ġfind": 1, "find": 2, "▁find": 3, "f": 4, "i": 5, "n": 6, "d": 7}
        spec = {
            "added_tokens": [{"id": 0, "content": "<eos>", "special": True}],
            "decoder": decoder,
            "model": {"type": "BPE", "vocab": vocab, "merges": []},
        }
        path = tmp_path / "tokenizer.json"
        path.write_text(json.dumps(spec))
        found = constrain.Vocabulary.from_tokenizer(path, eos_token_ids=[0])
        return [found.token_bytes(i) for i in (1, 2, 3)]

    assert tokens({"type": "ByteLevel"})[:2] == [b" find", b"find"]
    assert tokens({"type": "Metaspace", "replacement": "▁"}) == ["Ġfind".encode(), b"find", b" find"]


def test_empty_tokens_never_and_equal_ones_together():
    matcher = constrain.compile_regex("ab?", vocabulary(["<eos>", "", "a", "a", "ab"])).matcher()
    assert mask_of(matcher) == {2, 3, 4} and not matcher.allows(1)
    assert matcher.accept_token(3) and mask_of(matcher) == {0}


def test_a_dead_end_is_an_error_with_the_place_not_a_row_of_zeros():
    grammar = constrain.compile_json_schema({"const": "ab"}, vocabulary(["<eos>", '"', "a"]))
    matcher = grammar.matcher()
    assert matcher.accept_tokens([1, 2]) == 2
    with pytest.raises(constrain.VocabularyError, match="no token of the vocabulary"):
        mask_of(matcher)
    assert grammar.explain('"a').position == 2 and "'b'" in str(grammar.explain('"a'))
    session = constrain.Session(grammar)
    assert session.accept_tokens([1, 2]) == 2 and mask_of(session) == {0}
    [event] = [event for event in session.events if event.kind == "failed"]
    assert event.position == 2 and "no token" in event.reason
    with pytest.raises(ValueError, match="every token is forbidden"):
        choose(np.full(3, -np.inf), Sampling(), set(), {}, 0.5)


def test_no_token_with_nul_anywhere():
    """H9: in strings, raw text, reasoning that is written, patterns and grammars, before and after."""
    pieces = [*(chr(b) for b in range(256)), "a\0", "\0\0", "\0b", "<eos>"]
    vocab = vocabulary(pieces, eos=(259,))
    with_nul = {0, 256, 257, 258}
    tools = [{"name": "f", "parameters": {"type": "object", "properties": {"t": {"type": "string"}}}}]
    for constraint, start in [
        (constrain.compile_json_schema({"type": "string"}, vocab), b'"a'),
        (constrain.compile_json_schema({}, vocab), b'{"k'),
        (constrain.compile_regex("a[^b]*", vocab), b"a"),
        (constrain.compile_regex("a\\x00?c", vocab), b"a"),
        (constrain.compile_gbnf("root ::= [^x]+", vocab), b"a"),
        (constrain.compile_tools(tools, vocab, "qwen3_coder", tool_choice="required", text_arming=True),
         b"<tool_call>\n<function=f>\n<parameter=t>\na"),
        (Constraint(constrain.compile_regex("b", vocab), wire="hermes", effort="low"), b"<think>a"),
    ]:  # fmt: skip
        matcher = constraint.matcher()
        assert not mask_of(matcher) & with_nul
        assert matcher.accept_bytes(start) and not mask_of(matcher) & with_nul and mask_of(matcher)
        assert not any(map(matcher.allows, with_nul))
    for impossible in ("\\x00", "a\\x00"):
        with pytest.raises(constrain.UnsatisfiableError):
            constrain.compile_regex(impossible, vocab)
    with pytest.raises(constrain.GrammarError, match="NUL"):
        constrain.compile_choice(["a", "a\0"], vocab)


# Going back -----------------------------------------------------------------------------------------------------------


def test_rollback_needs_no_preparation():
    matcher = constrain.compile_regex("(a|b)*c", vocabulary(["<eos>", "a", "b", "c"])).matcher()
    masks = [mask_of(matcher)]
    for token in (1, 2, 1):
        assert matcher.accept_token(token)
        masks.append(mask_of(matcher))
    matcher.rollback(2)
    assert mask_of(matcher) == masks[1]
    assert matcher.accept_tokens([2, 1, 3]) == 3 and mask_of(matcher) == {0}
    matcher.rollback(3)
    assert mask_of(matcher) == masks[1]
    with pytest.raises(ValueError, match="2 steps: 1 are"):
        matcher.rollback(2)
    assert mask_of(matcher) == masks[1]


def test_rollback_over_the_end():
    matcher = constrain.compile_regex("a{1,3}", vocabulary(["<eos>", "a"])).matcher()
    assert matcher.accept_tokens([1, 0]) == 2 and matcher.is_terminated()
    matcher.rollback(1)
    assert not matcher.is_terminated() and mask_of(matcher) == {0, 1}
    assert matcher.accept_tokens([1, 1, 0]) == 3 and matcher.is_terminated()


def test_forks_go_their_own_ways():
    matcher = constrain.compile_regex("ab|ba", vocabulary(["<eos>", "a", "b"])).matcher()
    other = matcher.fork()
    assert matcher.accept_token(1) and other.accept_token(2)
    assert (mask_of(matcher), mask_of(other)) == ({2}, {1})


def test_forced_tokens_stop_before_what_could_merge():
    pieces = [*(chr(b) for b in range(256)), '{"', "name", '":', '":"', '":"x', "<eos>"]
    vocab = vocabulary(pieces, eos=(261,))
    matcher = constrain.compile_regex('\\{"name":"[a-z]*"\\}', vocab).matcher()
    assert matcher.forced_bytes() == b'{"name":"'

    def encode(text):  # the longest piece first
        found = []
        while text:
            token = max(
                (i for i, piece in enumerate(pieces[:-1]) if text.startswith(piece)), key=lambda i: len(pieces[i])
            )
            found.append(token)
            text = text[len(pieces[token]) :]
        return found

    assert encode(matcher.forced_bytes().decode()) == [256, 257, 259]
    assert matcher.forced_tokens(canonical=True, encode=encode) == [256, 257]  # '":"' may become '":"x'
    assert matcher.forced_tokens() == []  # the first can be written with two different tokens


# Sampling -------------------------------------------------------------------------------------------------------------


def test_the_mask_comes_before_top_k():
    row = np.array([5.0, 4.0, 3.0, 0.1])
    bitmask = np.array([[0b1000]], np.int32)
    constrain.apply_token_bitmask_inplace(row[None], bitmask)
    assert {choose(row, Sampling(top_k=2), set(), {}, u) for u in (0.0, 0.5, 0.99)} == {3}


def test_probabilities_are_those_of_the_allowed_tokens():
    vocab = vocabulary(["<eos>", "yes", "no", "maybe"])
    matcher = constrain.compile_choice(["yes", "no"], vocab).matcher()
    row = np.log(np.array([[0.5, 0.2, 0.1, 0.2]]))
    bitmask = constrain.allocate_token_bitmask(1, vocab.size)
    matcher.fill_next_token_bitmask(bitmask)
    constrain.apply_token_bitmask_inplace(row, bitmask)
    assert distribution(row[0]) == pytest.approx([0, 2 / 3, 1 / 3, 0])


# Bounds ---------------------------------------------------------------------------------------------------------------


def test_patterns_and_lists_that_explode_are_bounded():
    start = time.thread_time()
    limits = constrain.Limits(max_seconds=2, max_states=20_000)
    with pytest.raises(constrain.LimitError):
        constrain.compile_regex("[ab]*a[ab]{18}", limits=limits)
    lists = {"type": "string"}
    for _ in range(4):
        lists = {"type": "array", "items": lists, "minItems": 20, "maxItems": 30}
    constrain.compile_json_schema(lists, limits=limits)
    assert time.thread_time() - start < 10


def test_nesting_by_the_thousand():
    grammar = constrain.compile_json_schema({"type": "array", "items": {"$ref": "#"}}, vocabulary(["<eos>", "[", "]"]))
    matcher = grammar.matcher(max_rollback=None)
    assert matcher.accept_tokens([1] * 5_000) == 5_000 and mask_of(matcher) == {1, 2}
    assert matcher.accept_tokens([2] * 5_000) == 5_000 and mask_of(matcher) == {0}


# Errors ---------------------------------------------------------------------------------------------------------------


def test_one_bad_keyword_in_many_tools_is_found():
    good = {"type": "object", "properties": {"q": {"type": "string"}}}
    bad = {"type": "object", "properties": {"a": {"items": {"type": "string", "minLength": -1}}}}
    tools = [{"name": f"tool_{i}", "parameters": bad if i == 20 else good} for i in range(34)]
    with pytest.raises(constrain.RequestError) as caught:
        chat({"tools": tools}, vocabulary(["<eos>", "a"]), "hermes")
    assert caught.value.field == "tools[20]"
    for word in ("tool_20", "/properties/a/items", "minLength", "-1"):
        assert word in caught.value.message


def test_why_a_token_was_refused():
    schema = {
        "type": "object",
        "properties": {"a": {"type": "integer"}},
        "required": ["a"],
        "additionalProperties": False,
    }
    rejection = constrain.compile_json_schema(schema).explain('{"a":x')
    assert (rejection.position, rejection.pointer) == (5, "/a")
    assert "a number" in rejection.reason and "'x'" in rejection.reason
