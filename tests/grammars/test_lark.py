"""Grammars in Lark's language: constructs, what is added, errors, and membership as Lark's own parser has it."""

from __future__ import annotations

import random
import sys
import time

import lark
import pytest

from constrain import Grammar, GrammarError, LimitError, Limits, SchemaError, compile_lark
from constrain.grammars.lark_source import LarkSource

from .random_lark import RandomGrammar, mutated
from .support import CONTROL, VOCABULARY, inputs, takes, tokens


def check(text: str, yes: list[str], no: list[str]) -> Grammar:
    grammar = compile_lark(text)
    assert [t for t in yes if not grammar.accepts(t)] == []
    assert [t for t in no if grammar.accepts(t)] == []
    return grammar


class TestSyntax:
    def test_rules_terminals_and_operators(self) -> None:
        check('start: A b? c* ("d" | "e")+ ["f"]\nA: "a"\nb: "b"\nc: "c"', ["ad", "abccdef"], ["a", "abf", "adff"])

    def test_repeats(self) -> None:
        check('start: "a" ~ 2 B~1..3\nB: /[bc]/ ~ 2', ["aabb", "aabcbcbc"], ["abb", "aab", "aabbb", "aa" + "bb" * 4])

    def test_ranges_and_flags(self) -> None:
        check('start: "a".."c" "if"i /x.y/s /[k-m]+/i', ["bIfx\nykL", "aifxzyM"], ["difxzyk", "aifxzy"])

    def test_terminals_of_terminals(self) -> None:
        check(
            'start: NUMBER\nNUMBER: SIGN? INT ("." INT)?\nSIGN: "-" | "+"\nINT: /[0-9]/+', ["-1.50", "7"], ["1.", "--1"]
        )

    def test_modifiers_aliases_and_priorities_change_nothing(self) -> None:
        grammar = check('!start: a -> one | _b\n?a.2: "a"\n_b: "b"\nUNUSED.3: "c"', ["a", "b"], ["c"])
        assert [f.reason for f in grammar.report] == [
            "line 4: 'UNUSED' has a priority, which restricts nothing here",
            "line 2: 'a' has a priority, which restricts nothing here",
            "line 4: rule 'UNUSED' is never used",
        ]

    def test_templates(self) -> None:
        text = """
start: list{A, ","} pair{list{"x", ";"}}
list{item, sep}: item (sep item)*
pair{p}: "<" p p ">"
A: /[a-c]/
"""
        check(text, ["a,b<xx>", "a<x;xx>"], ["a,<xx>", "a<x>"])

    def test_a_template_that_uses_itself(self) -> None:
        check('start: list{"a"}\nlist{x}: x | list{x} "," x', ["a", "a,a,a"], ["", "a,"])

    def test_a_template_without_end_reaches_a_limit(self) -> None:
        with pytest.raises(LimitError):
            compile_lark('start: t{"a"}\nt{x}: "(" t{t{x}} ")" | x')

    def test_imports(self) -> None:
        text = """
start: NUMBER WORD STR
%import common.NUMBER
%import common (WORD, WS)
%import common.ESCAPED_STRING -> STR
%ignore WS
"""
        check(text, ['1.5e3 ab "c\\"d"', '1ab""'], ['1 ab "c" d"', "ab"])

    def test_overriding_and_extending_an_import(self) -> None:
        check('start: DIGIT+\n%import common.DIGIT\n%extend DIGIT: "x"', ["1x2"], ["y"])
        check('start: DIGIT+\n%import common.DIGIT\n%override DIGIT: "y"', ["yy"], ["1"])

    def test_comments_and_continued_lines(self) -> None:
        check('// head\nstart: a # one\n  | b // two\na: "x"\nb: "y" \\\n  "z"', ["x", "yz"], ["y"])

    def test_another_start(self) -> None:
        assert compile_lark('a: "x"\nb: "y"', start="b").accepts("y")

    def test_unicode(self) -> None:
        check(r'start: "é" /[\u3040-\u309f]+/ "\U0001F600"', ["éひら😀"], ["e"])


class TestTerminals:
    """A terminal is the whole regular language of its pattern."""

    def test_the_order_of_alternatives_is_no_matter(self) -> None:
        check("start: /a|ab/", ["a", "ab"], ["b"])

    def test_lazy_quantifiers_do_not_shorten(self) -> None:
        check("start: /a+?/", ["a", "aaa"], [""])

    def test_terminals_may_be_empty(self) -> None:
        check('start: /a*/ "b"', ["b", "aab"], ["a"])

    def test_text_may_be_cut_anywhere(self) -> None:
        check('start: NAME "if" NAME\nNAME: /[a-z]+/', ["aifb", "ififif"], ["if", "aif"])

    def test_the_library_ends_strings_and_comments_where_they_end(self) -> None:
        check("start: ESCAPED_STRING\n%import common.ESCAPED_STRING", ['"a"', r'"a\"b\\"'], ['"a"b"', r'"a\"', '"\n"'])
        check("start: C_COMMENT\n%import common.C_COMMENT", ["/**/", "/*a\n*b**/"], ["/* */ */", "/*/"])

    def test_looking_around_stays_inside_the_terminal_and_is_noted(self) -> None:
        grammar = check("start: /if(?!x)/ /[a-z]/", ["ifa", "ifx"], ["if"])
        assert "looks around itself" in str(next(iter(grammar.report)))
        check("start: /(?!b)[a-c]+/", ["ab"], ["ba"])


class TestIgnoredText:
    def test_it_stands_before_between_and_after(self) -> None:
        check(
            'start: "a" B\nB: "b" "c"\n%ignore " "\n%ignore /#[^\\n]*\\n/',
            ["abc", "  a # x\n bc ", "a#\nbc"],
            ["ab c", "abc #"],
        )

    def test_it_is_ignored_in_templates_and_after_schemas(self) -> None:
        check('start: two{"a"} %json {"const": 1}\ntwo{x}: x x\n%ignore " "', ["aa1", " a a 1 "], ["a a"])

    def test_of_an_empty_text(self) -> None:
        check('start: "a"*\n%ignore " "', ["", "  ", " a a "], ["b"])


class TestExtensions:
    def test_a_schema_stands_for_its_values(self) -> None:
        text = """
start: "call " body "!"
body: %json {
  "type": "object", "properties": {"a": {"type": "integer"}},
  "required": ["a"]
}
"""
        check(text, ['call {"a": 1}!', 'call {"b":"}","a":2}!'], ["call {}!", 'call {"a": "x"}!'])

    def test_control_tokens_by_name_and_id(self) -> None:
        text = f'start: <tool_call> "x" (<[{CONTROL["</tool_call>"]}]> | <[{EOS_RANGE}]>)'
        grammar = compile_lark(text, VOCABULARY)
        assert takes(grammar, tokens("<tool_call>", "x", "</tool_call>"))
        assert takes(grammar, tokens("<tool_call>", "x", "<think>"))
        assert not takes(grammar, list(b"<tool_call>"))

    def test_any_tokens_and_all_but_some(self) -> None:
        grammar = compile_lark(f"start: <[^{CONTROL['</think>']}]>* </think> <[*]>+", VOCABULARY)
        assert takes(grammar, tokens("a", "<think>", "b", "</think>", "c", "</think>"))
        assert not takes(grammar, tokens("a", "</think>"))

    def test_without_a_vocabulary_a_name_is_its_text(self) -> None:
        check("start: <think> /[a-z]*/ </think>", ["<think>ab</think>"], ["ab"])

    def test_names_in_literals_patterns_and_comments_are_text(self) -> None:
        check('start: "<a>" /<b>/ // <c>\n', ["<a><b>"], ["<a>"])

    @pytest.mark.parametrize(
        ("text", "line", "column", "reason"),
        [
            ('start: "a"\n  %json {"type":}', 2, 17, "%json needs a JSON Schema"),
            ("start: <[1-]>", 1, 8, "token ids are written"),
            ("start: <[^1]>", 1, 8, "needs \\* or \\+"),
            ("start: <[0-999999]>", 1, 8, "more than 100000"),
            ('start: %regex {"substring_chars": "a"}', 1, 8, "%regex is not supported"),
            ("start: @other", 1, 8, "@other is not supported"),
            ("start: <nothing>", 1, 8, "no token of the vocabulary"),
        ],
    )
    def test_errors(self, text: str, line: int, column: int, reason: str) -> None:
        with pytest.raises(GrammarError, match=reason) as caught:
            compile_lark(text, VOCABULARY)
        assert (caught.value.line, caught.value.column) == (line, column)

    def test_a_wrong_schema_is_a_schema_error(self) -> None:
        with pytest.raises(SchemaError, match="'strng' is not a type"):
            compile_lark('start: %json {"type": "strng"}')

    def test_symbols_are_inputs_of_the_interpreters(self) -> None:
        from constrain.automata.recogniser import Recogniser

        grammar = compile_lark('start: <think> "a"+ </think>', VOCABULARY)
        assert Recogniser(grammar.root).accepts(inputs("<think>", "aa", "</think>"))


EOS_RANGE = f"{CONTROL['<think>']}-{CONTROL['</think>']}"


class TestErrors:
    @pytest.mark.parametrize(
        ("text", "line", "column", "reason"),
        [
            ("start: a", 1, 8, "'a' used but not defined"),
            ('start: "a"\nb: "x" (', 2, 9, "Expecting a value"),
            ("start: A\nA: B\nB: A", 1, 8, "Recursion in terminal"),
            ("start: A\n%declare A", 1, 8, "only declared"),
            ('start: "a"\nstart: "b"', 1, 1, "more than once"),
            ("start: /(a/", 1, 8, "in the pattern /\\(a/: this group is not closed"),
            ('start: a~3..1\na: "x"', 1, 9, "no count can be 3..1"),
            ('start: "\\ud800"', 1, 8, "surrogate"),
            ('start: "b" start', 1, 1, "'start' has no words"),
            ('a: "x"', 1, 1, "no rule 'start'"),
            ('start: "a"\n\nfoo bar', 3, 5, "unexpected 'bar'"),
            ('start: "ab".."c"', 1, 8, "two single characters"),
        ],
    )
    def test_places(self, text: str, line: int, column: int, reason: str) -> None:
        with pytest.raises(GrammarError, match=reason) as caught:
            compile_lark(text)
        assert (caught.value.line, caught.value.column) == (line, column), str(caught.value)

    @pytest.mark.parametrize("path", ["other.X", ".other.X", "os.path.X"])
    def test_nothing_but_larks_library_is_imported(self, path: str) -> None:
        with pytest.raises(GrammarError, match="only Lark's own library"):
            compile_lark(f"start: X\n%import {path}")

    def test_not_text_and_too_long(self) -> None:
        with pytest.raises(GrammarError, match="must be text"):
            compile_lark(None)  # type: ignore[arg-type]
        with pytest.raises(LimitError, match="max_source_bytes"):
            compile_lark('start: "a"', limits=Limits(max_source_bytes=5))

    def test_deep_nesting_is_read_or_reaches_a_limit(self) -> None:
        assert compile_lark("start: " + "(" * 60 + '"a"' + ")" * 60).accepts("a")
        with pytest.raises(LimitError):
            compile_lark("start: " + "(" * 100_000 + '"a"' + ")" * 100_000, limits=Limits(max_source_bytes=1000))

    def test_without_the_package(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "lark.load_grammar", None)
        with pytest.raises(ImportError, match="constrain-decoding\\[lark\\]"):
            compile_lark('start: "a"')


def compare(seeds: range) -> int:
    """Membership of texts of random grammars, valid and mutated, in Lark's parser and here; how many are members."""
    members = 0
    for seed in seeds:
        rng = random.Random(seed)
        grammar = RandomGrammar.make(rng)
        try:
            parser = lark.Lark(grammar.text(), parser="earley", lexer="dynamic_complete", ambiguity="resolve")
        except lark.exceptions.GrammarError:
            continue  # it wants alternatives to differ
        words = {word for _ in range(30) if (word := grammar.word(rng)) is not None and len(word) < 24}
        texts = sorted(words)[:25]
        texts += [mutated(rng, rng.choice(texts or [""])) for _ in range(50 - len(texts))]
        try:
            ours = compile_lark(grammar.text())
        except GrammarError:
            assert not words
            continue
        for text in texts:
            try:
                parser.parse(text)
                expected = True
            except lark.exceptions.UnexpectedInput:
                expected = False
            assert ours.accepts(text) == expected, (seed, grammar.text(), text)
            members += expected
    return members


def test_membership_is_that_of_larks_earley_parser() -> None:
    assert compare(range(12)) > 100


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
def test_membership_is_that_of_larks_earley_parser_at_length(block: int) -> None:
    assert compare(range(100 + 25 * block, 125 + 25 * block)) > 150


class TestLongGrammars:
    def test_they_are_read_in_time_by_their_length(self) -> None:
        """Definitions and uses are looked up once, not once for each rule."""

        def seconds(rules: int) -> float:
            names = "|".join(f"r{i}" for i in range(rules))
            lines = [f'r{i}: "{i}" <think> start?' for i in range(rules)]
            begin = time.thread_time()
            LarkSource("\n".join([f"start: {names}", *lines]), Limits())
            return time.thread_time() - begin

        seconds(50)
        assert seconds(1600) < 4 * 8 * seconds(200)

    def test_what_lark_cannot_read_in_time_is_refused(self) -> None:
        with pytest.raises(LimitError, match="max_seconds"):
            compile_lark("start: " + '"a" ' * 30_000, limits=Limits(max_seconds=1))


class TestExplanations:
    """Where and why a text is refused, in grammars with many readings."""

    def test_they_take_time_by_the_length_of_the_text(self) -> None:
        for text in ('start: start start | "a"', 'start: "a" start "a" | "b" start "b" | "a" | "b" |'):
            found = compile_lark(text).explain("a" * 300 + "c" + "a" * 50)
            assert found is not None and found.position == 300 and found.got == "'c'"
            assert "'a'" in found.expected and "the end" in found.expected

    def test_they_say_what_can_follow_in_every_reading(self) -> None:
        grammar = compile_lark('start: "if" WS NAME | NAME "(" [start] ")"\nNAME: /[a-z]+/\nWS: " "')
        found = grammar.explain("if)")
        assert found is not None and (found.position, found.pointer) == (2, "")
        assert set(found.expected) == {"a space", "'('", "'a' to 'z'"}
        found = grammar.explain("f(")
        assert found is not None and found.got == "the end" and set(found.expected) == {"'a' to 'z'", "')'"}

    def test_they_point_into_json_values(self) -> None:
        schema = '{"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}'
        grammar = compile_lark(f'start: "x" start? %json {schema}')
        found = grammar.explain('xxx{"n": 1}{"n": true}')
        assert found is not None and (found.position, found.pointer) == (17, "/n")
        assert found.expected == ("a number",)

    def test_blanks_in_json_values_are_bounded_alike_for_texts_and_masks(self) -> None:
        """The bound grows with objects and arrays around, not with rules."""
        grammar = compile_lark('start: "(" start ")" | %json {"type": "array"}', VOCABULARY)
        for inner, most in (("", 64), ("[", 72)):
            for blanks in (most, most + 1):
                text = "((((" + inner + "[" + " " * blanks + "]" + "]" * len(inner) + "))))"
                matcher = grammar.matcher()
                assert grammar.accepts(text) == matcher.accept_bytes(text.encode()) == (blanks == most)
