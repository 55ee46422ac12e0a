"""Context-free rules to nodes: the same language as an independent recogniser finds, whatever recursion there is."""

from __future__ import annotations

import itertools
import random

import pytest

from constrain import GrammarError, LimitError, Limits
from constrain.automata.grammar import Frame, Lexeme, Node
from constrain.automata.recogniser import Recogniser
from constrain.grammars.cfg import Rule, compile_rules
from constrain.grammars.expressions import EMPTY, Expr, Ref, choice, literal, regular, repetition, sequence
from constrain.languages import syntax
from constrain.schema.report import Report

from .spans import derives, random_rules

TEXTS = ["".join(t) for n in range(7) for t in itertools.product("ab", repeat=n)]


def build(start: str = "s", limits: Limits | None = None, **exprs: Expr) -> Node:
    return compile_rules({name: Rule(name, expr) for name, expr in exprs.items()}, start, limits=limits).root


def words(node: Node, alphabet: str = "ab", longest: int = 5) -> set[str]:
    texts = ("".join(t) for n in range(longest + 1) for t in itertools.product(alphabet, repeat=n))
    return {text for text in texts if Recogniser(node).accepts(text.encode())}


def frames(node: Node) -> int:
    """Frames that can be reached."""
    seen: dict[int, Node] = {}
    todo = [node]
    while todo:
        this = todo.pop()
        if id(this) not in seen:
            seen[id(this)] = this
            if isinstance(this, Frame):
                todo += [c.node for s in this.layout.states for c in s.calls if c.node is not None]
    return sum(isinstance(this, Frame) for this in seen.values())


def compare(seeds: range) -> None:
    for seed in seeds:
        rng = random.Random(seed)
        rules = random_rules(rng)
        chosen = rng.sample(TEXTS, 12) + TEXTS[:8]
        try:
            node = compile_rules(rules, "s").root
        except GrammarError:
            assert not any(derives(rules, "s", text) for text in chosen), seed
            continue
        recogniser = Recogniser(node)
        for text in chosen:
            assert recogniser.accepts(text.encode()) == derives(rules, "s", text), (seed, text)


def test_random_grammars_have_the_words_that_derive() -> None:
    compare(range(60))


@pytest.mark.slow
@pytest.mark.parametrize("block", range(8))
def test_many_random_grammars_have_the_words_that_derive(block: int) -> None:
    compare(range(1000 + 150 * block, 1150 + 150 * block))


class TestLeftRecursion:
    def test_direct(self) -> None:
        node = build(s=choice([sequence([Ref("s"), literal("a")]), literal("b")]))
        assert words(node) == {"b", "ba", "baa", "baaa", "baaaa"}

    def test_through_another_rule(self) -> None:
        node = build(s=choice([Ref("t"), literal("b")]), t=sequence([Ref("s"), literal("a")]))
        assert words(node) == {"b", "ba", "baa", "baaa", "baaaa"}

    def test_behind_a_rule_that_may_be_empty(self) -> None:
        node = build(
            s=choice([sequence([Ref("t"), Ref("s"), literal("b")]), literal("a")]), t=repetition(literal("a"), 0, 1)
        )
        assert words(node, longest=4) == {"a", "ab", "aab", "abb", "aabb", "abbb"}

    def test_of_rules_that_only_name_each_other(self) -> None:
        node = build(s=choice([Ref("t"), literal("a")]), t=choice([Ref("s"), literal("b")]))
        assert words(node) == {"a", "b"}

    def test_a_root_that_calls_itself_in_the_middle(self) -> None:
        node = build(s=choice([sequence([literal("a"), Ref("s"), literal("b")]), EMPTY]))
        assert words(node, longest=6) == {"", "ab", "aabb", "aaabbb"}


class TestLoops:
    """Recursion that only says "and so on" needs no stack."""

    def test_an_ambiguous_rule_of_sums_is_one_frame_without_calls(self) -> None:
        node = build(s=choice([sequence([Ref("s"), literal("+"), Ref("s")]), literal("n")]))
        assert isinstance(node, Frame)
        assert not any(state.calls for state in node.layout.states)
        assert words(node, "n+") == {"n", "n+n", "n+n+n"}

    def test_what_nests_is_called_and_the_rest_is_not(self) -> None:
        node = build(
            s=choice([sequence([Ref("s"), literal("+"), Ref("t")]), Ref("t")]),
            t=choice([literal("n"), sequence([literal("("), Ref("s"), literal(")")])]),
        )
        assert frames(node) == 1
        assert Recogniser(node).accepts(b"(n+(n))+n")
        assert not Recogniser(node).accepts(b"(n+(n)+n")

    def test_a_call_stays_where_more_can_follow_it_than_the_end(self) -> None:
        node = build(s=choice([sequence([literal("a"), Ref("s"), repetition(literal("b"), 0, 1)]), literal("c")]))
        assert words(node, "abc", 4) == {"c", "ac", "acb", "aac", "aacb", "aaac"}

    def test_a_regular_grammar_is_one_lexeme(self) -> None:
        name = repetition(regular(syntax.chars(((65, 90), (97, 122)))), 1, None)
        node = build(s=sequence([Ref("t"), repetition(sequence([literal(","), Ref("t")]), 0, None)]), t=name)
        assert isinstance(node, Lexeme)
        assert Recogniser(node).accepts(b"ab,c") and not Recogniser(node).accepts(b"ab,")


class TestFindings:
    def test_a_rule_that_is_not_defined_is_an_error_where_it_is_used(self) -> None:
        text = "s = a\n    t"
        with pytest.raises(GrammarError, match="'t' is not defined") as caught:
            compile_rules({"s": Rule("s", sequence([literal("a"), Ref("t", text.index("t"))]))}, "s", text=text)
        assert (caught.value.line, caught.value.column) == (2, 5)

    def test_unused_rules_and_rules_without_words_are_noted(self) -> None:
        report = Report()
        rules = {
            "s": Rule("s", choice([literal("a"), Ref("t")]), 0),
            "t": Rule("t", sequence([literal("b"), Ref("t")]), 4),
            "u": Rule("u", literal("c"), 8),
        }
        node = compile_rules(rules, "s", text="s...\nt..\nu", report=report).root
        assert words(node) == {"a"}
        assert [f.reason for f in report] == [
            "line 2: rule 'u' is never used",
            "line 1: rule 't' has no words and is left out",
        ]

    def test_a_start_without_words_is_an_error(self) -> None:
        with pytest.raises(GrammarError, match="'s' has no words"):
            build(s=sequence([literal("a"), Ref("s")]))

    def test_a_rule_with_the_empty_word_only(self) -> None:
        assert words(
            build(s=sequence([Ref("t"), literal("a")]), t=choice([EMPTY, sequence([Ref("t"), Ref("t")])]))
        ) == {"a"}
        assert words(build(s=EMPTY)) == {""}


class TestLimits:
    def test_repeats_of_repeats_reach_a_limit(self) -> None:
        nest = sequence([literal("("), repetition(Ref("s"), 0, 1), literal(")")])
        with pytest.raises(LimitError, match="max_states"):
            build(s=repetition(repetition(nest, 300, 300), 300, 300))

    def test_many_rules_reach_a_limit(self) -> None:
        exprs = {f"r{i}": sequence([literal("("), Ref(f"r{(i + 1) % 30}"), literal(")")]) for i in range(29)}
        with pytest.raises(LimitError, match="max_nodes"):
            build("r0", Limits(max_nodes=20), **exprs, r29=literal("a"))

    def test_long_chains_of_rules_compile(self) -> None:
        exprs = {f"r{i}": sequence([literal("("), Ref(f"r{i + 1}"), literal(")")]) for i in range(300)}
        node = build("r0", **exprs, r300=literal("a"))
        assert Recogniser(node).accepts(b"(" * 300 + b"a" + b")" * 300)

    def test_doubling_rules_compile(self) -> None:
        exprs = {f"r{i}": sequence([Ref(f"r{i + 1}"), Ref(f"r{i + 1}")]) for i in range(40)}
        node = build("r0", **exprs, r40=literal("a"))
        assert not Recogniser(node).accepts(b"a" * 100)

    def test_counts_of_characters_are_kept_in_a_register(self) -> None:
        letters = repetition(regular(syntax.chars(((97, 122),))), 2, 5000)
        node = build(s=sequence([letters, literal("!"), Ref("t")]), t=EMPTY)
        assert Recogniser(node).accepts(b"x" * 5000 + b"!")
        assert not Recogniser(node).accepts(b"x" * 5001 + b"!")
        assert not Recogniser(node).accepts(b"x!")
