"""GBNF: every construct, errors with their place, token literals."""

from __future__ import annotations

import pytest

from constrain import Grammar, GrammarError, LimitError, Limits, compile_gbnf

from .support import CONTROL, VOCABULARY, takes, tokens


def check(text: str, yes: list[str], no: list[str]) -> Grammar:
    grammar = compile_gbnf(text)
    assert [t for t in yes if not grammar.accepts(t)] == []
    assert [t for t in no if grammar.accepts(t)] == []
    return grammar


class TestSyntax:
    def test_literals_and_their_escapes(self) -> None:
        check(r'root ::= "a\tb\n\"\\\[\]\-" "\x41\u00e9\U0001F600"', ['a\tb\n"\\[]-Aé😀'], ["a\tb\n", ""])

    def test_classes(self) -> None:
        check(r"root ::= [a-cX\-] [^a-z\n] [\x30-\u0039]", ["a-0", "-é9", "XZ5"], ["daa", "aa0", "a\n0", "a-a"])
        check(r"root ::= [a-]", ["a", "-"], ["b"])
        check(r"root ::= [-a]", ["a", "-"], ["b"])

    def test_any_character_is_one_of_many_bytes(self) -> None:
        check("root ::= . .", ["ab", "日\n", "😀é"], ["a", "abc", ""])

    def test_repetition(self) -> None:
        check('root ::= "a"? "b"* "c"+', ["c", "abbcc"], ["", "ab", "aac"])
        check(
            'root ::= "a"{2} "b"{1,} "c"{0,2} [0-9]{ 1 , 2 }',
            ["aab1", "aabbbcc12"],
            ["ab1", "aa1", "aabccc1", "aab123"],
        )
        check('root ::= ("a" "b"?){2,3}', ["aa", "abab", "abaab"], ["a", "abb", "aaaa"])
        check('root ::= "a"{0}', [""], ["a"])

    def test_a_quantifier_of_a_literal_repeats_the_whole(self) -> None:
        check('root ::= "ab"+', ["ab", "abab"], ["abb", "a"])

    def test_groups_alternatives_and_empty_ones(self) -> None:
        check('root ::= ("a" | ("b" | "c")) "d" | ', ["ad", "cd", ""], ["a", "d"])
        check('root ::= "x" ( "" | "y" )*', ["x", "xyy"], ["", "y"])

    def test_rules_over_several_lines_and_comments(self) -> None:
        text = '# top\nroot ::= (\n  a # one\n  b\n) |\n  c\n\na ::= "x"\nb ::= "y"   # tail\n\nc ::=\n  "z"'
        check(text, ["xy", "z"], ["x", "xyz", ""])

    def test_alternatives_may_begin_a_line(self) -> None:
        check('root ::= "a"\n  | "b"\nother-rule_1 ::= "c"', ["a", "b"], ["c"])

    def test_carriage_returns_and_no_last_line_break(self) -> None:
        check('root ::= a\r\na ::= "x"', ["x"], [])

    def test_another_root(self) -> None:
        assert compile_gbnf('a ::= "x"\nb ::= "y"', root="b").accepts("y")


class TestErrors:
    @pytest.mark.parametrize(
        ("text", "line", "column", "reason"),
        [
            ("", 1, 1, "needs a rule"),
            ('root = "a"', 1, 1, "a rule is expected"),
            ('root ::= "a', 1, 10, "not closed"),
            ("root ::= [a", 1, 10, "not closed"),
            ('root ::= ("a"\n  "b"', 1, 10, "group is not closed"),
            ('root ::= "a")', 1, 13, "closes no group"),
            ('root ::= "a"{5,2}', 1, 13, "least count 5 exceeds"),
            ('root ::= "a"{x}', 1, 13, "a count is"),
            ("root ::= *", 1, 10, "nothing to repeat"),
            (r'root ::= "\q"', 1, 11, "unknown escape"),
            (r'root ::= "\x4"', 1, 11, "2 hexadecimal digits"),
            (r'root ::= "\U00110000"', 1, 11, "last code point"),
            (r'root ::= "\ud800"', 1, 11, "surrogate"),
            ("root ::= [z-a]", 1, 11, "runs backwards"),
            ("root ::= []", 1, 10, "empty class"),
            ('root ::= a\na ::= "x" b', 2, 11, "'b' is not defined"),
            ('a ::= "x"', 1, 1, "no rule 'root'"),
            ("root ::= loop\nloop ::= loop", 1, 1, "no words"),
            ('root ::= "a" ; "b"', 1, 14, "';' cannot stand here"),
            ("root ::= <a b", 1, 10, "a token is written"),
        ],
    )
    def test_places(self, text: str, line: int, column: int, reason: str) -> None:
        with pytest.raises(GrammarError) as caught:
            compile_gbnf(text)
        assert (caught.value.line, caught.value.column) == (line, column), str(caught.value)
        assert reason in str(caught.value)

    def test_not_text(self) -> None:
        with pytest.raises(GrammarError, match="must be text, not dict"):
            compile_gbnf({})  # type: ignore[arg-type]

    def test_limits(self) -> None:
        with pytest.raises(LimitError, match="max_source_bytes"):
            compile_gbnf('root ::= "a"' + " " * 100, limits=Limits(max_source_bytes=50))
        with pytest.raises(LimitError, match="max_depth"):
            compile_gbnf("root ::= " + "(" * 500 + '"a"' + ")" * 500)
        with pytest.raises(LimitError, match="max_states"):
            compile_gbnf('root ::= ("(" root? ")"){1000}{1000}')

    def test_what_llama_cpp_would_not_say_is_noted(self) -> None:
        grammar = check('root ::= "a"\nroot ::= "b"\nrest ::= "c"', ["b"], ["a"])
        assert [f.reason for f in grammar.report] == [
            "line 2: rule 'root' is defined anew",
            "line 3: rule 'rest' is never used",
        ]


class TestTokens:
    def test_a_name_is_the_control_token_and_not_its_text(self) -> None:
        grammar = compile_gbnf('root ::= <think> "a" </think>', VOCABULARY)
        assert takes(grammar, tokens("<think>", "a", "</think>"))
        assert not takes(grammar, list(b"<think>"))
        assert grammar.symbols == (CONTROL["<think>"], CONTROL["</think>"])

    def test_an_id(self) -> None:
        grammar = compile_gbnf(f'root ::= <[{CONTROL["<think>"]}]> "a"', VOCABULARY)
        assert takes(grammar, tokens("<think>", "a"))

    def test_an_ordinary_token_is_its_text_however_it_is_spelled(self) -> None:
        grammar = compile_gbnf("root ::= <[257]>", VOCABULARY)
        assert takes(grammar, [257]) and takes(grammar, list(b"+n"))

    def test_any_tokens_but_one(self) -> None:
        grammar = compile_gbnf('root ::= <think> !</think>* </think> "."', VOCABULARY)
        assert takes(grammar, tokens("<think>", "a b", "<tool_call>", "c", "</think>", "."))
        assert takes(grammar, tokens("<think>", "</think>", "."))
        assert not takes(grammar, tokens("<think>", "a", "</think>", "</think>", "."))
        more = compile_gbnf('root ::= !<think>+ "."', VOCABULARY)
        assert takes(more, tokens("</think>", "."))
        assert not takes(more, tokens("."))

    def test_without_a_vocabulary_a_name_is_its_text(self) -> None:
        grammar = compile_gbnf("root ::= <think> !</think>* </think>")
        assert grammar.accepts("<think>a < b</think>")
        assert not grammar.accepts("<think></think></think>")

    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            ("root ::= <nothing>", "no token of the vocabulary"),
            ("root ::= <[100000]>", "outside the vocabulary"),
            ("root ::= !<think>", "needs \\* or \\+"),
            ("root ::= !<think>{3}", "by \\* or \\+ only"),
            ("root ::= !<[65]>*", "ordinary text"),
        ],
    )
    def test_errors(self, text: str, reason: str) -> None:
        with pytest.raises(GrammarError, match=reason):
            compile_gbnf(text, VOCABULARY)

    def test_an_id_needs_a_vocabulary(self) -> None:
        with pytest.raises(GrammarError, match="needs a vocabulary"):
            compile_gbnf("root ::= <[3]>")
