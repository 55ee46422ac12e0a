"""Choices and whole-text patterns."""

from __future__ import annotations

import time

import pytest

from constrain import GrammarError, UnsatisfiableError, compile_choice, compile_regex

from .support import EOS, VOCABULARY, mask, splits, takes


class TestChoice:
    def test_prefixes_are_both_reachable(self) -> None:
        matcher = compile_choice(["a", "ab"], VOCABULARY).matcher()
        assert mask(matcher) == {ord("a"), *(t for t in range(EOS) if VOCABULARY.token_bytes(t) == b"ab")}
        assert matcher.accept_token(ord("a"))
        assert mask(matcher) == {ord("b"), EOS}

    def test_any_tokens(self) -> None:
        grammar = compile_choice(["aabab", "int", "n+n"], VOCABULARY)
        for text in (b"aabab", b"int", b"n+n"):
            found = list(splits(text))
            assert len(found) > 2
            assert all(takes(grammar, ids) for ids in found)
        assert not takes(grammar, list(b"aaba"))

    def test_the_empty_choice_and_repeated_ones(self) -> None:
        grammar = compile_choice(["", "a", "a"], VOCABULARY)
        assert takes(grammar, []) and takes(grammar, [ord("a")])
        assert EOS in mask(grammar.matcher())

    def test_choices_of_any_characters(self) -> None:
        words = ["naïve", "日本語", "line1\nline2", 'say "hi"', "😀"]
        grammar = compile_choice(words)
        assert all(grammar.accepts(word) for word in words)
        assert not grammar.accepts("naive") and not grammar.accepts("line1")

    def test_thousands_are_quick(self) -> None:
        words = [f"option {i} of many" for i in range(20_000)]
        start = time.thread_time()
        grammar = compile_choice(words, VOCABULARY)
        matcher = grammar.matcher()
        assert mask(matcher) == {ord("o")}
        for byte in b"option 19999 of many":
            assert matcher.accept_token(byte)
        assert matcher.is_accepting()
        assert time.thread_time() - start < 5

    @pytest.mark.parametrize("choices", [[], "ab", None, ["a", 1], ["\ud800"]])
    def test_what_is_no_list_of_choices(self, choices: object) -> None:
        with pytest.raises(GrammarError):
            compile_choice(choices)  # type: ignore[arg-type]


class TestRegex:
    def test_the_whole_text_matches(self) -> None:
        grammar = compile_regex("^[0-9]{3}$", VOCABULARY)
        matcher = grammar.matcher()
        for _ in range(3):
            assert mask(matcher) >= set(b"0123456789")
            assert matcher.accept_token(ord("0"))
        assert mask(matcher) == {EOS}
        assert not compile_regex("b").accepts("abc")

    def test_dialects(self) -> None:
        assert compile_regex(r"\u{61}").accepts("a")
        assert compile_regex(r"(?i:ab)\Z", dialect="python").accepts("AB")
        with pytest.raises(GrammarError, match="no anchor in ECMA"):
            compile_regex(r"a\Z")

    def test_any_tokens(self) -> None:
        grammar = compile_regex("(aab|ab)+", VOCABULARY)
        assert all(takes(grammar, ids) for ids in splits(b"aabab"))

    def test_errors(self) -> None:
        with pytest.raises(GrammarError) as caught:
            compile_regex("a(b")
        assert caught.value.column == 2
        with pytest.raises(UnsatisfiableError):
            compile_regex("a^b")

    def test_no_text_has_the_byte_zero(self) -> None:
        grammar = compile_regex("[\\x00-a]+", VOCABULARY)
        assert grammar.accepts("A") and not grammar.accepts("A\0")
        with pytest.raises(UnsatisfiableError):
            compile_regex("a\\x00")
