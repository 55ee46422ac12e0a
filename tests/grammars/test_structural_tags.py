"""Structural tags: every format, what ends free text, control tokens for their names, errors with their pointers."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest

from constrain import ConstrainError, Grammar, LimitError, SchemaError, UnsatisfiableError, compile_structural_tag

from .support import CONTROL, VOCABULARY, mask, takes, tokens

NUMBER = {"type": "json_schema", "json_schema": {"type": "integer"}}
QUERY = {
    "type": "object",
    "properties": {"q": {"type": "string"}, "n": {"type": "integer"}},
    "required": ["q"],
    "additionalProperties": False,
}
ANY = {"type": "any_text"}


def text(value: str) -> dict[str, Any]:
    return {"type": "const_string", "value": value}


def tag(begin: Any, content: dict[str, Any] | None = None, end: Any = "</f>") -> dict[str, Any]:
    return {"type": "tag", "begin": begin, "content": content or NUMBER, "end": end}


def token(name: str | int) -> dict[str, Any]:
    return {"type": "token", "token": name}


def compiled(form: dict[str, Any], vocab: Any = None) -> Grammar:
    return compile_structural_tag({"type": "structural_tag", "format": form}, vocab)


def check(form: dict[str, Any], yes: list[str], no: list[str]) -> None:
    grammar = compiled(form)
    assert [t for t in yes if not grammar.accepts(t)] == []
    assert [t for t in no if grammar.accepts(t)] == []


class TestContent:
    def test_a_string(self) -> None:
        check(text("a\nb"), ["a\nb"], ["a", ""])

    def test_json_in_the_order_of_the_schema_or_in_any(self) -> None:
        form = {"type": "json_schema", "json_schema": QUERY}
        check(form, ['{"q": "x", "n": 1}', '{"q":"x"}'], ['{"n": 1, "q": "x"}', "{}"])
        check({**form, "any_order": True}, ['{"n": 1, "q": "x"}'], ['{"n": 1}', '{"q":"a","q":"b"}'])

    def test_bounded_whitespace(self) -> None:
        check({**NUMBER, "json_schema": {"enum": [[1]]}, "max_whitespace_cnt": 1}, ["[1]", "[ 1 ]"], ["[  1]"])

    def test_a_pattern_and_grammars(self) -> None:
        check({"type": "regex", "pattern": "[a-c]+|x"}, ["ab", "x"], ["d", ""])
        check({"type": "grammar", "grammar": 'root ::= "(" root ")" | "x"'}, ["((x))"], ["(x"])
        check({"type": "grammar", "syntax": "lark", "grammar": 'start: "a" start?'}, ["aaa"], [""])

    def test_any_text(self) -> None:
        check(ANY, ["", "abc\n日"], [])
        check({**ANY, "excludes": ["bad", "x"]}, ["ba", "good"], ["a bad b", "x"])
        check({**ANY, "max_chars": 3}, ["", "日本語"], ["abcd"])


class TestStyles:
    """Arguments as tool-call formats write them; the end of the tag comes only when nothing required is missing."""

    @pytest.mark.parametrize(
        ("style", "q", "n"),
        [
            ("qwen_xml", "\n<parameter=q>\na <b\n</parameter>", "\n<parameter=n>\n3\n</parameter>\n"),
            ("minimax_xml", '<parameter name="q">a <b</parameter>', '<parameter name="n">3</parameter>\n'),
            (
                "glm_xml",
                "<arg_key>q</arg_key>\n<arg_value>a</arg_value>",
                "<arg_key>n</arg_key><arg_value>3</arg_value>",
            ),
            (
                "kimi_k3_xml",
                '<|open|>argument key="q" type="string"<|sep|>a<|close|>argument<|sep|>',
                '<|open|>argument key="n" type="number"<|sep|>3<|close|>argument<|sep|>',
            ),
            (
                "deepseek_xml",
                '<｜DSML｜parameter name="q" string="true">a</｜DSML｜parameter>',
                '\n<｜DSML｜parameter name="n" string="false">3</｜DSML｜parameter>',
            ),
            (
                "deepseek_v4_1_xml",
                '<｜DSML｜ parameter name="q" string="true">a</｜DSML｜ parameter>',
                '\n<｜DSML｜ parameter name="n" string="false">3</｜DSML｜ parameter>',
            ),
        ],
    )
    def test_elements(self, style: str, q: str, n: str) -> None:
        form = {"type": "json_schema", "style": style, "json_schema": QUERY}
        check(
            tag("<f>", form), [f"<f>{q}</f>", f"<f>{q}{n}</f>"], ["<f></f>", f"<f>{n}</f>", f"<f>{q}{q}</f>", f"<f>{q}"]
        )

    def test_key_values(self) -> None:
        form = {"type": "json_schema", "style": "gemma", "json_schema": QUERY}
        check(tag("<f>", form), ['<f>{q:<|"|>a<|"|>,n:3}</f>'], ["<f>{}</f>", "<f>{n:3}</f>"])

    def test_the_older_name_and_several_ends(self) -> None:
        form = {"type": "qwen_xml_parameter", "json_schema": QUERY}
        check(tag("<f>", form, ["</f>", "."]), ["<f><parameter=q>a</parameter>."], ["<f>."])

    def test_members_in_any_order(self) -> None:
        form = {"type": "json_schema", "style": "qwen_xml", "json_schema": QUERY}
        text = "<f><parameter=n>3</parameter><parameter=q>a</parameter></f>"
        check(tag("<f>", form), [], [text])
        check(tag("<f>", {**form, "any_order": True}), [text], [])


class TestCombinations:
    def test_sequence_alternatives_and_repeats(self) -> None:
        check({"type": "sequence", "elements": [text("a"), NUMBER, text("b")]}, ["a12b"], ["a12", "ab"])
        check({"type": "sequence", "elements": []}, [""], ["a"])
        check({"type": "or", "elements": [text("a"), text("ab")]}, ["a", "ab"], ["b"])
        check({"type": "optional", "content": text("a")}, ["", "a"], ["aa"])
        check({"type": "star", "content": text("ab")}, ["", "abab"], ["aba"])
        check({"type": "plus", "content": text("ab")}, ["ab"], [""])
        check({"type": "repeat", "min": 1, "max": 2, "content": text("a")}, ["a", "aa"], ["", "aaa"])
        check({"type": "repeat", "min": 2, "max": -1, "content": text("a")}, ["aa", "a" * 9], ["a"])

    def test_a_repeat_of_what_nests(self) -> None:
        form = {"type": "star", "content": {"type": "grammar", "grammar": 'root ::= "(" root? ")"'}}
        check(form, ["", "()(())"], ["(()"])


class TestTags:
    def test_begin_content_end(self) -> None:
        check(tag("<f>"), ["<f>1</f>"], ["<f></f>", "<f>1</f>2", "<f>1"])
        check(tag("<f>", end=["</f>", "."]), ["<f>1</f>", "<f>1."], ["<f>1</f>."])
        check(tag("<f>", end=""), ["<f>1"], ["<f>1<"])

    def test_free_text_ends_at_the_first_end(self) -> None:
        check(tag("<t>", ANY, "</t>"), ["<t></t>", "<t>a</b</t>"], ["<t>a</t></t>", "<t>a"])
        check(tag("<t>", ANY, ["</t>", "</u>"]), ["<t>a</u>"], ["<t>a</u></t>"])
        check(tag("", ANY, "\n\n"), ["a\nb\n\n"], ["a\n\n\n", "\n\n\n"])

    def test_the_end_is_avoided_by_free_text_that_is_not_last(self) -> None:
        form = tag("<t>", {"type": "sequence", "elements": [ANY, text("!")]}, "</t>")
        check(form, ["<t>a!</t>", "<t>!!</t>"], ["<t></t>!</t>"])

    def test_the_end_follows_every_alternative_and_what_is_optional(self) -> None:
        form = tag("<t>", {"type": "or", "elements": [ANY, {"type": "optional", "content": NUMBER}]}, ".")
        check(form, ["<t>a.", "<t>.", "<t>12."], ["<t>a.b."])

    def test_an_inner_tag_has_its_own_end(self) -> None:
        inner = tag("<i>", ANY, "</i>")
        check(tag("<t>", {"type": "sequence", "elements": [inner]}, "</t>"), ["<t><i></t></i></t>"], ["<t><i></t>"])

    def test_tags_with_a_separator(self) -> None:
        form = {"type": "tags_with_separator", "tags": [tag("<f=a>"), tag("<f=b>")], "separator": ", "}
        check(form, ["", "<f=a>1</f>", "<f=b>1</f>, <f=a>2</f>"], ["<f=a>1</f>, ", "<f=a>1</f><f=a>2</f>"])
        check({**form, "at_least_one": True}, ["<f=a>1</f>"], [""])
        check({**form, "stop_after_first": True}, ["", "<f=a>1</f>"], ["<f=b>1</f>, <f=a>2</f>"])


class TestTriggers:
    FORM = {"type": "triggered_tags", "triggers": ["<f="], "tags": [tag("<f=a>"), tag("<f=b>", text("x"))]}

    def test_free_text_leads_over_to_a_tag(self) -> None:
        yes = ["", "hi <", "hi <f=a>1</f>, and <f=b>x</f><f=a>2</f>."]
        check(self.FORM, yes, ["<f=", "<f=c>1</f>", "<f=a>x</f>", "hi <f=a>1"])

    def test_at_least_one_and_only_one(self) -> None:
        check({**self.FORM, "at_least_one": True}, ["<f=a>1</f>", "<f=a>1</f> b"], ["", "hi <f=a>1</f>"])
        check({**self.FORM, "stop_after_first": True}, ["", "hi <f=a>1</f>"], ["hi <f=a>1</f>."])
        both = {**self.FORM, "at_least_one": True, "stop_after_first": True}
        check(both, ["<f=b>x</f>"], ["", "a<f=b>x</f>", "<f=b>x</f>a"])

    def test_excluded_strings(self) -> None:
        check({**self.FORM, "excludes": ["no"]}, ["n<f=a>1</f>o"], ["no", "no<f=a>1</f>", "<f=a>1</f>no"])

    def test_inside_a_tag(self) -> None:
        check(tag("<r>", self.FORM, "</r>"), ["<r>a<f=a>1</f></r>"], ["<r></r><f=a>1</f></r>", "<r>a<f=</r>"])

    def test_a_trigger_counts_at_its_first_occurrence(self) -> None:
        form = {"type": "triggered_tags", "triggers": ["aa"], "tags": [tag("aa", text("!"), "")]}
        check(form, ["a", "baa!", "aa!"], ["aaa!", "aab"])

    def test_dispatch(self) -> None:
        form = {"type": "dispatch", "rules": [["<a>", NUMBER], ["<b>", text("!")]], "excludes": ["zz"]}
        check(form, ["", "x<a>12 y<b>!."], ["<a>x", "<b>", "zz", "a<a>1zz"])
        check({**form, "loop": False}, ["", "x<a>12"], ["x<a>12 "])


class TestControlTokens:
    CALLS = {
        "type": "triggered_tags",
        "triggers": ["<tool_call>"],
        "tags": [tag("<tool_call>\n", NUMBER, "\n</tool_call>")],
    }

    def test_a_name_in_a_fixed_string_may_be_the_token(self) -> None:
        grammar = compiled(tag("<think>", NUMBER, "</think>"), VOCABULARY)
        for begin in (tokens("<think>"), list(b"<think>")):
            for end in (tokens("</think>"), list(b"</think>")):
                assert takes(grammar, begin + tokens("1") + end)

    def test_free_text_leads_over_by_the_token(self) -> None:
        grammar = compiled(self.CALLS, VOCABULARY)
        assert takes(grammar, tokens("hi ", "<tool_call>", "\n1\n", "</tool_call>", "yo"))
        assert takes(grammar, tokens("hi <tool_", "call>\n1\n", "</tool_call>"))
        assert not takes(grammar, tokens("hi", "<tool_call>", "1\n", "</tool_call>"))
        assert not takes(grammar, tokens("hi", "<think>"))

    def test_free_text_ends_by_the_token(self) -> None:
        grammar = compiled(tag("<think>", ANY, "</think>"), VOCABULARY)
        assert takes(grammar, tokens("<think>", "a < b", "</think>"))
        assert not takes(grammar, tokens("<think>", "<tool_call>"))

    def test_token_formats(self) -> None:
        reasoning = tag(token("<think>"), {"type": "any_tokens"}, token("</think>"))
        calls = {
            "type": "token_triggered_tags",
            "trigger_tokens": ["<tool_call>"],
            "tags": [tag(token(CONTROL["<tool_call>"]), NUMBER, token("</tool_call>"))],
        }
        grammar = compiled({"type": "sequence", "elements": [reasoning, calls]}, VOCABULARY)
        assert takes(
            grammar, tokens("<think>", "a", "<tool_call>", "b", "</think>", "c", "<tool_call>", "1", "</tool_call>")
        )
        assert not takes(grammar, tokens("<think>", "</think>", "<tool_call>", "x"))
        must = compiled({**calls, "at_least_one": True, "stop_after_first": True}, VOCABULARY)
        assert takes(must, tokens("<tool_call>", "1", "</tool_call>"))
        assert not takes(must, tokens("a"))

    def test_token_dispatch_and_runs_of_tokens(self) -> None:
        form = {"type": "token_dispatch", "rules": [["<think>", text("!")]], "exclude_tokens": ["</think>"]}
        grammar = compiled(form, VOCABULARY)
        assert takes(grammar, tokens("a", "<think>", "!", "b", "<tool_call>"))
        assert not takes(grammar, tokens("a", "</think>"))
        run = {"type": "plus", "content": {"type": "exclude_token", "exclude_tokens": ["<think>"]}}
        assert takes(compiled(run, VOCABULARY), tokens("ab", "</think>"))
        assert not takes(compiled(run, VOCABULARY), tokens("ab", "<think>"))
        assert not takes(compiled(run, VOCABULARY), [])

    def test_no_control_token_is_allowed_in_free_text(self) -> None:
        allowed = mask(compiled(self.CALLS, VOCABULARY).matcher())
        assert CONTROL["<tool_call>"] in allowed
        assert CONTROL["<think>"] not in allowed

    def test_without_a_vocabulary_names_are_text(self) -> None:
        grammar = compiled(tag(token("<think>"), {"type": "any_tokens"}, token("</think>")))
        assert grammar.accepts("<think>ab</think>")
        assert not grammar.accepts("<think></think></think>")


class TestForms:
    def test_the_older_form(self) -> None:
        spec = {
            "type": "structural_tag",
            "structures": [{"begin": "<f=a>", "schema": {"type": "integer"}, "end": "</f>"}],
            "triggers": ["<f="],
        }
        grammar = compile_structural_tag(json.dumps(spec))
        assert grammar.accepts("x<f=a>1</f>y")
        assert not grammar.accepts("x<f=b>1</f>")

    @pytest.mark.parametrize("names", [{"tag": "search"}, {"start_tag": "<search>", "end_tag": "</search>"}])
    def test_one_tag_by_itself(self, names: dict[str, str]) -> None:
        schema = {
            "type": "object",
            "properties": {"name": {"const": "search"}, "arguments": QUERY},
            "required": ["name", "arguments"],
        }
        grammar = compile_structural_tag({**names, "schema": schema})
        assert grammar.accepts('<search>{"name": "search", "arguments": {"q": "x"}}</search>')
        assert not grammar.accepts('<search>{"name": "find", "arguments": {"q": "x"}}</search>')
        assert not grammar.accepts('<search>{"name": "search", "arguments": {}}</search>')

    def test_a_format_by_itself(self) -> None:
        assert compile_structural_tag(text("a")).accepts("a")


class TestErrors:
    @pytest.mark.parametrize(
        ("form", "pointer", "reason"),
        [
            ({"type": "zz"}, "/format", "unknown format 'zz'"),
            ({"type": ["tag"]}, "/format", "unknown format"),
            (text("a") | {"extra": 1}, "/format", "no field"),
            ({"type": "const_string"}, "/format", "is missing"),
            (tag(1), "/format", "a string or an object, not int"),
            (
                tag("<f>", {"type": "json_schema", "json_schema": {"type": "strng"}}),
                "/format/content/json_schema",
                "strng",
            ),
            ({"type": "regex", "pattern": "("}, "/format/pattern", "not closed"),
            ({"type": "grammar", "grammar": "root ::= x"}, "/format/grammar", "'x' is not defined"),
            ({"type": "grammar", "grammar": "", "syntax": "bnf"}, "/format", "'ebnf' or 'lark'"),
            ({**TestTriggers.FORM, "triggers": ["<g="]}, "/format/tags/0", "no trigger"),
            ({**TestTriggers.FORM, "triggers": ["<f=", "<f"]}, "/format/tags/0", "exactly one"),
            ({**TestTriggers.FORM, "triggers": []}, "/format", "a trigger is needed"),
            ({**TestTriggers.FORM, "tags": []}, "/format/tags", "a tag is needed"),
            ({**ANY, "max_tokens": 4}, "/format", "cannot be counted"),
            ({**ANY, "excludes": [""]}, "/format/excludes/0", "not empty"),
            (tag("<f>", {**NUMBER, "style": "cohere_xml"}), "/format/content", "not supported"),
            ({**NUMBER, "style": "qwen_xml"}, "/format", "right before its end"),
            (
                tag("<f>", {**NUMBER, "json_schema": QUERY, "style": "qwen_xml"}, " "),
                "/format/content/json_schema",
                "not blank",
            ),
            ({"type": "or", "elements": []}, "/format", "an alternative"),
            ({"type": "repeat", "min": 3, "max": 2, "content": text("a")}, "/format", "less than min"),
            ({"type": "sequence", "elements": [text("a"), 3]}, "/format/elements/1", "is an object"),
            (token(3), "/format/token", "needs a vocabulary"),
            ({"type": "exclude_token", "exclude_tokens": []}, "/format", "star or plus"),
        ],
    )
    def test_pointers(self, form: Any, pointer: str, reason: str) -> None:
        with pytest.raises(SchemaError) as caught:
            compiled(form)
        assert caught.value.pointer == pointer, str(caught.value)
        assert reason in str(caught.value)

    @pytest.mark.parametrize(
        "spec", ["{", "[]", None, 3, {}, {"type": "structural_tag"}, {"tag": "a", "start_tag": "b", "schema": {}}]
    )
    def test_what_is_no_structural_tag(self, spec: Any) -> None:
        with pytest.raises(SchemaError):
            compile_structural_tag(spec)

    def test_tokens_that_are_not_there(self) -> None:
        with pytest.raises(SchemaError, match="no token of the vocabulary"):
            compiled(token("<nothing>"), VOCABULARY)
        with pytest.raises(SchemaError, match="ordinary text"):
            compiled({"type": "any_tokens", "exclude_tokens": [65]}, VOCABULARY)

    def test_nothing_satisfies_it(self) -> None:
        with pytest.raises(UnsatisfiableError):
            compiled({"type": "json_schema", "json_schema": False})
        with pytest.raises(UnsatisfiableError):
            compiled({"type": "sequence", "elements": [text("a"), {"type": "regex", "pattern": "[]"}]})

    def test_deep_nesting(self) -> None:
        form: dict[str, Any] = text("a")
        for _ in range(3000):
            form = {"type": "sequence", "elements": [form]}
        with pytest.raises(LimitError, match="max_depth"):
            compiled(form)

    def test_any_value_is_read_or_refused(self) -> None:
        values: list[Any] = [None, True, 0, 1.5, "x", [], {}, [1], {"type": 1}, {"type": "tag"}]
        for key in ("format", "structures", "triggers", "schema", "tag", "type"):
            for value in values:
                with contextlib.suppress(ConstrainError):
                    compile_structural_tag({"type": "structural_tag", key: value})
