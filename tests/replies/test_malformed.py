"""What leaves its format is text; nothing raises, and complete calls are kept."""

from __future__ import annotations

import pytest

from constrain.replies import CallDropped, CallStart, ReplyParser, TextDelta
from constrain.wires.render import render_call

from .support import BOOKING, TOOLS, called, read, read_ids

PING = '<tool_call>\n{"name": "ping", "arguments": {}}\n</tool_call>'


@pytest.mark.parametrize(
    ("wire", "text"),
    [
        ("hermes", '<tool_call>{"na'),
        ("hermes", "<tool_call>"),
        ("hermes", '<tool_call>{"name": "ping", "arguments": {}}'),
        ("qwen3_coder", "<tool_call>\n<function=ping"),
        ("qwen3_coder", "<tool_call>\n<function=book_table>\n<parameter=place>\nRo"),
        ("gemma4", '<|tool_call>call:book_table{place:<|"|>Ro'),
        ("kimi_k3", '<|open|>tools<|sep|><|open|>call tool="ping" index="1"<|sep|>'),
        ("deepseek_v3", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>ping\n```json\n{"),
        ("mistral", '[TOOL_CALLS] [{"name": "ping", "arguments": {'),
        ("harmony", "<|channel|>commentary to=functions.pi"),
    ],
)
def test_an_unfinished_call_is_text(wire: str, text: str) -> None:
    for reply in (read(wire, f"So: {text}"), read_ids(wire, f"So: {text}")):
        assert (reply.text, reply.tool_calls, reply.cut, reply.finish_reason) == (f"So: {text}", (), True, "length")


@pytest.mark.parametrize(
    ("wire", "text"),
    [
        ("hermes", "<tool_call>nothing</tool_call>"),
        ("hermes", '<tool_call>{"name": "ping", "arguments": {"a": 01}}</tool_call>'),
        ("hermes", '<tool_call>{"name": "ping", "arguments": {"a": "\\q"}}</tool_call>'),
        ("hermes", '<tool_call>{"name": "ping", "arguments": {"a": NaN}}</tool_call>'),
        ("hermes", '<tool_call>{"name": "ping", "arguments": "{}"}</tool_call>'),
        ("hermes", '<tool_call>{"name": "ping"}</tool_call>'),
        ("hermes", '<tool_call>{"name": 3, "arguments": {}}</tool_call>'),
        ("hermes", '<tool_call>{"arguments": {}}</tool_call>'),
        ("hermes", "<tool_call>{}</tool_call>"),
        ("hermes", '<tool_call>{"name": "ping", "arguments": {}}}</tool_call>'),
        ("hermes", '<tool_call>{"name": "ping", "arguments": {"a": [1,]}}</tool_call>'),
        ("qwen3_coder", "<tool_call></tool_call>"),
        ("qwen3_coder", "<tool_call><function=ping><parameter=a>1</function></tool_call>"),
        ("qwen3_coder", "<tool_call><function=></function></tool_call>"),
        ("qwen3_coder", "<tool_call><function=a b></function></tool_call>"),
        ("gemma4", "<|tool_call>call:ping{a=1}<tool_call|>"),
        ("gemma4", "<|tool_call>call:ping{a:fast}<tool_call|>"),
        ("gemma4", "<|tool_call>call:ping{a:[1}]<tool_call|>"),
        ("gemma4", "<|tool_call>call:ping(a=1)<tool_call|>"),
        ("gemma4", "<|tool_call>call:ping{,}<tool_call|>"),
        (
            "kimi_k2",
            "<|tool_calls_section_begin|><|tool_call_begin|>ping:0<|tool_call_argument_begin|>{}<|tool_call_end|>",
        ),
        (
            "kimi_k2",
            "<|tool_calls_section_begin|><|tool_call_begin|>functions.ping:x<|tool_call_argument_begin|>{}<|tool_call_end|>",
        ),
        ("dsml", '<｜DSML｜function_calls><｜DSML｜invoke name="ping"><｜DSML｜parameter name="a" string="no">'),
        ("mistral", "[TOOL_CALLS] []"),
        ("harmony", "<|channel|>commentary to=functions.ping<|message|>[]<|call|>"),
    ],
)
def test_what_is_malformed_is_text_as_written(wire: str, text: str) -> None:
    for reply in (read(wire, f"{text} So."), read_ids(wire, f"{text} So.")):
        assert reply.tool_calls == ()
        assert reply.text == f"{text} So."


def test_calls_before_and_after_a_malformed_one_are_kept() -> None:
    bad = '<tool_call>\n{"name": "ping", "arguments": {]}\n</tool_call>'
    for reply in (read("hermes", f"{PING}\n{bad}\n{PING}"), read_ids("hermes", f"{PING}\n{bad}\n{PING}")):
        assert called(reply) == [("ping", {})] * 2
        assert reply.text == bad
        assert [call.index for call in reply.tool_calls] == [0, 1]


def test_nothing_within_a_malformed_call_is_taken_for_a_call() -> None:
    inner = '<tool_call>{"name": "ping", "arguments": {}}'
    text = f'<tool_call>{{"name": "book_table", "arguments": {{"place": \'{inner}\'}}}}</tool_call>'
    reply = read("hermes", text)
    assert (reply.text, reply.tool_calls) == (text, ())
    cut = f"<tool_call><function=book_table><parameter=place>{PING}"
    assert (read("qwen", cut).text, read("qwen", cut).tool_calls) == (cut, ())


def test_a_marker_alone_gives_way_to_the_next() -> None:
    assert called(read("hermes", f"<tool_call>\n{PING}")) == [("ping", {})]
    assert read("hermes", f"Use <tool_call> {PING}").text == "Use <tool_call>"


@pytest.mark.parametrize(
    "wire", ["hermes", "qwen3_coder", "qwen", "gemma4", "glm47", "minimax_m2", "kimi_k3", "harmony"]
)
def test_an_end_marker_within_a_string_is_part_of_it(wire: str) -> None:
    value = "- use </tool_call> and </function>, not <tool_call|> or <|call|>, </invoke> or <tool_call>"
    text = render_call(wire, "book_table", {"place": value})
    for reply in (read(wire, text), read_ids(wire, text)):
        assert called(reply) == [("book_table", {"place": value})]
        assert reply.text == ""


def test_a_call_that_had_begun_is_taken_back() -> None:
    parser = ReplyParser("qwen3_coder", TOOLS)
    [start, _] = parser.push_text("<tool_call>\n<function=book_table>\n<parameter=place>\nRome\n</parameter>")
    assert start == CallStart(0, "book_table")
    dropped, text = parser.push_text("junk")
    assert dropped == CallDropped(0, "it leaves the format")
    assert text == TextDelta("<tool_call>\n<function=book_table>\n<parameter=place>\nRome\n</parameter>junk")
    parser.push_text(f"</tool_call>{render_call('qwen3_coder', 'ping', {})}")
    assert called(parser.reply) == [("ping", {})]


def test_a_stop_token_within_a_call_cuts_it() -> None:
    text = '<tool_call>{"name": "ping", "arguments": {"a": "b<|im_end|>'
    reply = read_ids("hermes", text)
    assert (reply.text, reply.cut) == (text.removesuffix("<|im_end|>"), True)


def test_the_host_says_when_it_ran_out_of_tokens() -> None:
    parser = ReplyParser("hermes", TOOLS)
    parser.push_text("Once upon")
    parser.finish(truncated=True)
    assert (parser.reply.finish_reason, parser.reply.cut) == ("length", False)


def test_what_is_no_utf8_and_no_text_becomes_replacement_characters() -> None:
    assert read("hermes", [b"a\xff", b"\xe6\x97", "b\ud800"]).text == "a��b�"
    assert read("hermes", [b"a\xe6", 0], vocab={"<tool_call>": 0}).text == "a�<tool_call>"


def test_depth_and_numbers_beyond_python_do_not_raise() -> None:
    deep = '<tool_call>{"name": "ping", "arguments": {"a": ' + "[" * 30_000 + "]" * 30_000 + "}}</tool_call>"
    assert read("hermes", deep).text == deep
    digits = "9" * 5000
    for number in (digits, "1e400", f"0.{digits}", "-6.5E99999999999999999999", "1e-99999999999999999999"):
        [call] = read("hermes", f'<tool_call>{{"name": "ping", "arguments": {{"a": {number}}}}}</tool_call>').tool_calls
        assert call.arguments is not None and call.arguments_text == f'{{"a": {number}}}'


def test_a_repeated_argument_counts_last() -> None:
    text = "<tool_call><function=ping><parameter=a>1</parameter><parameter=a>2</parameter></function></tool_call>"
    assert called(read("qwen3_coder", text)) == [("ping", {"a": 2})]


def test_a_call_keeps_what_the_model_wrote() -> None:
    one = render_call("qwen3_coder", "book_table", BOOKING)
    [call] = read_ids("qwen3_coder", f"A\n{one}").tool_calls
    assert call.raw == one.removeprefix("<tool_call>\n").removesuffix("\n</tool_call>")
    [call] = read_ids("hermes", f"A\n{PING} B").tool_calls
    assert call.raw == PING
