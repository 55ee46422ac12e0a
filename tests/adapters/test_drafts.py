"""Drafts: what the constraint forces, and what came after the same tokens before."""

from __future__ import annotations

import pytest

import constrain
from constrain.adapters._drafts import Spelling, draft, looked_up


def test_spelling_takes_the_longest_tokens(vocabulary):
    spell = Spelling.of(vocabulary)
    assert spell(b'{"a":ab') == [123, 34, 97, 257, 258] and Spelling.of(vocabulary) is spell
    small = constrain.Vocabulary.from_tokens([b"a", b"abc", None], eos_token_ids=[2])
    assert Spelling(small)(b"aabcab") == [0, 1, 0]


def test_forced_text_and_the_end_are_drafted(vocabulary, word, oracle):
    spell = Spelling.of(vocabulary)
    matcher = word.matcher()
    assert draft(matcher, spell, [], 9, match=0) == []  # "a" or "x"
    assert matcher.accept_token(ord("x"))
    assert draft(matcher, spell, [], 9, match=0) == [oracle.END]
    matcher.reset()
    assert matcher.accept_token(ord("a"))
    assert draft(matcher, spell, [], 9, match=0) == [ord("b")]
    sentence = constrain.compile_choice(["abab and so on"], vocabulary).matcher()
    whole = [*spell(b"abab and so on"), oracle.END]
    for limit in (0, 1, 5, 40):
        assert draft(sentence, spell, [], limit) == whole[:limit]
    assert sentence.steps == 0


def test_what_followed_before_is_drafted_as_far_as_it_is_allowed(vocabulary, grammar):
    spell = Spelling.of(vocabulary)
    matcher = grammar.matcher()
    earlier = b'see {"b":[12,34],"a":"no"} '
    history = [*earlier, *b'{"b":[']
    assert matcher.accept_bytes(b'{"b":[')
    assert bytes(draft(matcher, spell, history, 30)).startswith(b"12,34],")
    assert draft(matcher, spell, history, 3) == list(b"12,")
    assert draft(matcher, spell, history, 30, match=0) == []


@pytest.mark.parametrize(
    ("ids", "found"),
    [([1, 2, 3, 1, 2], [3, 1, 2]), ([1, 2, 1, 2, 5, 1, 2], [5, 1, 2]), ([1, 2], []), ([], []), ([7, 7, 7], [7])],
)
def test_lookup_takes_the_last_occurrence(ids, found):
    assert looked_up(ids, 2, 9) == found
