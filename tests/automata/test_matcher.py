"""The matcher's own promises: buffers that grow, steps that can be taken back, batches, drafts, injected tokens."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import constrain
from constrain import Grammar, Vocabulary
from constrain.automata.grammar import Lexeme, Skin
from constrain.automata.matcher import Matcher
from constrain.automata.oracle import Oracle
from constrain.languages.pattern import compile_pattern

from .grammars import EOS, byte_vocabulary

VOCABULARY = byte_vocabulary()


def row_of(matcher: Matcher) -> list[int]:
    bitmask = constrain.allocate_token_bitmask(1, VOCABULARY.size)
    matcher.fill_next_token_bitmask(bitmask)
    return bitmask[0].tolist()


def test_long_outputs_outgrow_every_buffer() -> None:
    """Text, history, arena and configurations grow as needed, at every length, and the masks stay those of the text."""
    grammar = constrain.compile_json_schema({"type": "array", "items": {"type": "object"}}, VOCABULARY)
    text = json.dumps([{f"key {i}": {"a": [i, "x" * (i % 17)]}} for i in range(300)]).encode()
    matcher = grammar.matcher(max_rollback=None)
    bitmask = constrain.allocate_token_bitmask(1, VOCABULARY.size)
    for position, byte in enumerate(text):
        if position % 7 == 0 or 900 < position < 1100:
            matcher.fill_next_token_bitmask(bitmask)
            assert bitmask[0, byte >> 5] >> (byte & 31) & 1, position
        assert matcher.accept_token(byte), position
    assert matcher.is_accepting()
    matcher.rollback(len(text))
    assert row_of(matcher) == row_of(grammar.matcher())


def test_deep_nesting() -> None:
    """A thousand open brackets are accepted, and must all be closed."""
    schema = {"$ref": "#/$defs/n", "$defs": {"n": {"items": {"$ref": "#/$defs/n"}}}}
    grammar = constrain.compile_json_schema(schema, VOCABULARY)
    matcher = grammar.matcher()
    assert matcher.accept_bytes(b"[" * 1000)
    assert matcher.accept_bytes(b"]" * 999)
    assert not matcher.is_accepting()
    assert matcher.accept_bytes(b"]")
    assert matcher.is_accepting()


def test_rollback_is_bounded_and_says_so() -> None:
    matcher = constrain.compile_json_schema({"type": "string"}, VOCABULARY).matcher(max_rollback=2)
    for byte in b'"abc':
        assert matcher.accept_token(byte)
    matcher.rollback(2)
    with pytest.raises(ValueError, match="cannot roll back 3 steps: 2 are available"):
        matcher.rollback(3)


def test_a_stop_token_is_a_step_like_any_other() -> None:
    matcher = constrain.compile_choice(["a", "ab"], VOCABULARY).matcher()
    assert matcher.accept_token(ord("a"))
    assert matcher.allows(EOS) and matcher.allows(ord("b"))
    assert matcher.accept_token(EOS) and matcher.is_terminated()
    assert not matcher.accept_token(ord("b"))
    matcher.rollback(1)
    assert not matcher.is_terminated()
    assert matcher.accept_token(ord("b"))


def test_a_forced_token_that_is_not_allowed_releases_until_it_is_taken_back() -> None:
    matcher = constrain.compile_json_schema({"type": "object"}, VOCABULARY).matcher()
    assert matcher.force_token(ord("{")) and matcher.is_constraining
    before = row_of(matcher)
    assert not matcher.force_token(ord("x"))
    assert not matcher.is_constraining
    assert matcher.accept_token(ord("y")) and set(row_of(matcher)) == {-1}
    bitmask = constrain.allocate_token_bitmask(2, VOCABULARY.size)
    other = constrain.compile_json_schema({"type": "null"}, VOCABULARY).matcher()
    constrain.fill_next_token_bitmasks([matcher, other], bitmask)
    assert set(bitmask[0].tolist()) == {-1} and bitmask[1].tolist() == row_of(other)
    matcher.rollback(2)
    assert matcher.is_constraining and row_of(matcher) == before


def test_a_batch_equals_single_fills() -> None:
    """Rows are written where asked for, others are left alone, with and without threads."""
    schemas = [{"type": "integer"}, {"enum": ["a", "b"]}, {"type": "object"}, {"type": "string", "maxLength": 2}] * 3
    matchers = [constrain.compile_json_schema(s, VOCABULARY).matcher() for s in schemas]
    for threads in (None, 2, 5):
        bitmask = np.full((2 * len(matchers), (VOCABULARY.size + 31) // 32), 7, np.int32)
        rows = list(range(1, 2 * len(matchers), 2))
        constrain.fill_next_token_bitmasks(matchers, bitmask, rows, threads)
        assert [bitmask[r].tolist() for r in rows] == [row_of(m) for m in matchers]
        assert (bitmask[::2] == 7).all()


def test_drafts_and_trees_leave_the_matcher_where_it_was() -> None:
    matcher = constrain.compile_json_schema({"enum": ["ab", "ac"]}, VOCABULARY).matcher()
    before = row_of(matcher)
    bitmask = constrain.allocate_token_bitmask(5, VOCABULARY.size)
    assert matcher.fill_draft_bitmasks([ord('"'), ord("a"), ord("x"), ord("b")], bitmask) == 3
    assert row_of(matcher) == before
    # a tree: the current state, then a quote, then below it "a" and, as its sibling, "z"
    tree = constrain.allocate_token_bitmask(4, VOCABULARY.size)
    matcher.fill_tree_bitmasks([0, ord('"'), ord("a"), ord("z")], [1, 2, -1, -1], [-1, -1, 3, -1], tree)
    assert tree[:3].tolist() == bitmask[:3].tolist()
    assert tree[3].tolist() == [-1] * tree.shape[1], "the row of a refused token is not written"
    assert row_of(matcher) == before


def test_forks_are_independent() -> None:
    matcher = constrain.compile_json_schema({"type": "array"}, VOCABULARY).matcher()
    matcher.accept_bytes(b"[1")
    fork = matcher.fork()
    assert fork.accept_bytes(b",2]") and fork.is_accepting()
    assert not matcher.is_accepting() and matcher.accept_bytes(b"]")


def test_forced_bytes_stop_where_there_is_a_choice() -> None:
    matcher = constrain.compile_choice(["yes, but", "yes, and"], VOCABULARY).matcher()
    assert matcher.forced_bytes() == b"yes, "
    assert matcher.accept_bytes(b"yes, b") and matcher.forced_bytes() == b"ut"
    assert matcher.forced_tokens() == [ord("u"), ord("t"), EOS]


@pytest.mark.parametrize("bad", [np.zeros((1, 9), np.int64), np.zeros(9, np.int32), np.zeros((1, 3), np.int32)])
def test_a_wrong_bitmask_is_refused(bad: np.ndarray) -> None:
    with pytest.raises(ValueError, match="C-contiguous int32"):
        constrain.compile_choice(["a"], VOCABULARY).matcher().fill_next_token_bitmask(bad)


def test_a_vocabulary_that_cannot_go_on_says_so() -> None:
    """Never an empty mask: with no token for a digit, a number is refused at its place, singly and in a batch."""
    tokens = [None if chr(b).isdigit() else bytes([b]) for b in range(128)]
    vocabulary = constrain.Vocabulary.from_tokens(tokens, eos_token_ids=[])
    matcher = constrain.compile_json_schema({"const": [1]}, vocabulary).matcher()
    bitmask = constrain.allocate_token_bitmask(1, vocabulary.size)
    matcher.fill_next_token_bitmask(bitmask)
    assert matcher.accept_bytes(b"[" + b" " * 64 + b"\n\n")  # all the whitespace that may stand there
    with pytest.raises(constrain.VocabularyError, match="no token of the vocabulary can continue here"):
        matcher.fill_next_token_bitmask(bitmask)
    with pytest.raises(constrain.VocabularyError, match="0x30"):
        constrain.fill_next_token_bitmasks([matcher], bitmask)


@pytest.mark.parametrize("whole_keys", [True, False])
def test_a_cached_mask_does_not_forget_which_keys_were_written(whole_keys: bool) -> None:
    """States that differ in the emitted keys only have different masks where one token can write a key."""
    vocabulary = byte_vocabulary(whole_keys=whole_keys)
    empty_key = next(t for t in range(256, EOS) if vocabulary.token_bytes(t) == b'""')
    grammar = constrain.compile_json_schema({"type": "object"}, vocabulary)
    bitmask = constrain.allocate_token_bitmask(1, vocabulary.size)
    for text, allowed in ((b'{"a":1,', True), (b'{"":1,', False), (b'{"b":1,', True), (b'{"":1, ', False)):
        matcher = grammar.matcher()
        assert matcher.accept_bytes(text)
        matcher.fill_next_token_bitmask(bitmask)
        assert bool(bitmask[0, empty_key >> 5] >> (empty_key & 31) & 1) == allowed == matcher.allows(empty_key), text


def test_masks_near_a_length_bound() -> None:
    """Long tokens that leave the pattern no room are masked, in every state on the way to the bound."""
    tokens = [bytes([b]) for b in range(256)] + [b"ab" * n for n in range(5, 21)] + [b"c" * n for n in range(9, 41, 3)]
    tokens += [b"ab" * 12 + b"a", b'abc"', b'c"']
    vocabulary = Vocabulary.from_tokens(tokens, special={"<eos>": len(tokens)}, eos_token_ids=[len(tokens)])
    pattern = compile_pattern("^(abd?|c)*$")
    grammar = Grammar(Lexeme(dfa=pattern, min_chars=3, max_chars=60, skin=Skin.JSON_STRING), vocabulary)
    oracle, matcher = Oracle(grammar.root), grammar.matcher()
    threads = oracle.advance(oracle.start(), ord('"'))
    assert matcher.accept_bytes(b'"')
    row = np.zeros((1, (vocabulary.size + 31) // 32), np.int32)
    for step in range(60):
        matcher.fill_next_token_bitmask(row)
        got = set(np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist())
        expected = set()
        for token, data in enumerate(tokens):
            after = threads
            for byte in data:
                after = oracle.advance(after, byte)
            if after:
                expected.add(token)
        assert got == expected, step
        byte = b"abccab"[step % 6]
        threads = oracle.advance(threads, byte)
        if not threads:
            break
        assert matcher.accept_bytes(bytes([byte]))


def test_drafts_are_undone_when_something_fails() -> None:
    matcher = constrain.compile_json_schema({}, VOCABULARY).matcher()
    bitmask = constrain.allocate_token_bitmask(2, VOCABULARY.size)
    with pytest.raises(IndexError):
        matcher.fill_draft_bitmasks(list(b'{"a":'), bitmask)
    with pytest.raises(IndexError):
        matcher.fill_tree_bitmasks([0, *b'{"a'], [1, 2, 3, -1], [-1, -1, -1, -1], bitmask)
    with pytest.raises(TypeError):
        matcher.validate_tokens([123, "no id"])
    assert matcher.steps == 0


WITHOUT_NUMBA = """
import constrain
vocab = constrain.Vocabulary.from_tokens([bytes([b]) for b in range(256)], {"<end>": 256}, [256])
for grammar, text in [
    (constrain.compile_gbnf('root ::= "(" root ")" | "[" root "]" root | "n"', vocab), b"[([n]n)]n"),
    (constrain.compile_json_schema({"type": "object", "additionalProperties": {"type": ["object", "string"]}}, vocab),
     b'{"a": {"b": [1, {"c": null}]}, "d": "x'),
]:
    matcher, bitmask = grammar.matcher(), constrain.allocate_token_bitmask(1, vocab.size)
    for byte in text:
        assert matcher.accept_token(byte)
        matcher.fill_next_token_bitmask(bitmask)
        print(bitmask[0].tolist())
"""


def test_the_kernels_run_without_numba_s_compiler() -> None:
    """As plain Python they give the same masks, hashes of 62 bits included."""
    outputs = []
    for setting in ("0", "1"):
        environment = {**os.environ, "NUMBA_DISABLE_JIT": setting}
        command = [sys.executable, "-c", WITHOUT_NUMBA]
        outputs.append(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)
    assert outputs[0] == outputs[1] and len(outputs[0].splitlines()) == 47
