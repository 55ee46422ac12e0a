"""Table K of the acceptance tables: reading replies back. tests/replies has the details."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import constrain
from constrain.replies import CallDelta, Reply, ReplyParser, TextDelta
from constrain.wires.markers import members, wire_names

from .conftest import END, TOOL, make_vocabulary

TOOLS = [
    {
        "name": "get_weather",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
            "required": ["city"],
        },
    }
]
CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Bonn", "days": 2}}\n</tool_call>'
XML = (
    "<tool_call>\n<function=get_weather>\n<parameter=city>\n- use </tool_call>\n</parameter>\n"
    "<parameter=days>\n2\n</parameter>\n</function>\n</tool_call>"
)


def read(wire: str, pieces: list[str | bytes], **options: object) -> Reply:
    parser = ReplyParser(wire, TOOLS, **options)  # type: ignore[arg-type]
    for piece in pieces:
        parser.push_text(piece)
    parser.finish()
    return parser.reply


def test_k1_by_token_ids_a_spelled_marker_is_text_and_by_text_it_is_not() -> None:
    vocab = make_vocabulary()
    spelled = ReplyParser("hermes", TOOLS, vocab)
    for byte in CALL.encode():
        spelled.push(byte)
    spelled.finish()
    assert (spelled.reply.text, spelled.reply.tool_calls) == (CALL, ())
    by_id = ReplyParser("hermes", TOOLS, vocab)
    head, tail = CALL.split("<tool_call>")[1].split("</tool_call>")
    by_id.push(TOOL)
    for byte in head.encode():
        by_id.push(byte)
    assert vocab.control_id("</tool_call>") is None  # this vocabulary spells it
    for byte in f"</tool_call>{tail}".encode():
        by_id.push(byte)
    by_id.push(END)
    by_id.finish()
    assert by_id.reply == read("hermes", [CALL])


def test_k2_every_split_gives_the_same() -> None:
    text = f"<think>\n5 < 6\n</think>\n\nSo: ä {CALL}\n{XML}"
    whole = read("qwen", [text])
    assert [call.arguments for call in whole.tool_calls] == [
        {"city": "Bonn", "days": 2},
        {"city": "- use </tool_call>", "days": 2},
    ]
    data = text.encode()
    assert read("qwen", [bytes([byte]) for byte in data]) == whole
    for at in range(1, len(data)):
        assert read("qwen", [data[:at], data[at:]]) == whole


def test_k3_a_cut_off_call_is_text_and_the_one_before_is_kept() -> None:
    reply = read("hermes", [CALL, '\n<tool_call>{"na'])
    assert len(reply.tool_calls) == 1
    assert (reply.text, reply.cut) == ('<tool_call>{"na', True)


def test_k4_an_example_in_a_code_block_is_content_and_a_code_block_in_a_call_is_an_argument() -> None:
    fenced = f"```\n{CALL}\n```"
    assert read("hermes", [fenced]).text == fenced
    inside = CALL.replace("Bonn", "```\\n</think>")
    [call] = read("hermes", [inside]).tool_calls
    assert call.arguments == {"city": "```\n</think>", "days": 2}


def test_k5_an_end_marker_in_an_argument_does_not_end_the_call() -> None:
    for wire, text in (("qwen3_coder", XML), ("hermes", CALL.replace("Bonn", "- use </tool_call>"))):
        [call] = read(wire, [text]).tool_calls
        assert call.arguments == {"city": "- use </tool_call>", "days": 2}


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 11, 64])
def test_k6_deltas_add_up(size: int) -> None:
    for text, content in ((f"Well.\n{XML}", "Well."), (XML, None)):
        parser = ReplyParser("qwen3_coder", TOOLS)
        events = [event for i in range(0, len(text), size) for event in parser.push_text(text[i : i + size])]
        events += parser.finish()
        assert "".join(event.text for event in events if isinstance(event, TextDelta)) == (content or "")
        assert parser.reply.content == content
        arguments = "".join(event.arguments for event in events if isinstance(event, CallDelta))
        assert arguments == parser.reply.tool_calls[0].arguments_text


def test_k7_finish_reasons() -> None:
    assert read("hermes", [CALL]).finish_reason == "tool_calls"
    assert read("hermes", ["Hello"]).finish_reason == "stop"
    parser = ReplyParser("hermes", TOOLS)
    parser.push_text("Hel")
    parser.finish(truncated=True)
    assert parser.reply.finish_reason == "length"


@pytest.mark.parametrize("wire", wire_names())
def test_k8_what_opens_a_call_for_the_reader_opens_one_for_the_constraint(wire: str) -> None:
    """In a vocabulary with all control tokens of the format."""
    controls = dict.fromkeys(text for one in members(wire) for text in (*one.controls, *one.stops))
    ids = {text: 256 + number for number, text in enumerate(controls)}
    single: list[bytes | None] = [bytes([byte]) for byte in range(256)]
    vocab = constrain.Vocabulary.from_tokens(single, special=ids, eos_token_ids=[ids[members(wire)[0].stops[0]]])
    openers = [mark.text for one in members(wire) for mark in one.openers]
    opening = {text for text in one_of(openers, controls)}
    automaton = constrain.compile_tools(TOOLS, vocab, wire)
    constraining = set()
    for text, token_id in ids.items():
        matcher = automaton.matcher()
        if matcher.accept_token(token_id) and matcher.is_constraining:
            constraining.add(text)
        parser = ReplyParser(wire, TOOLS, vocab)
        parser.push(token_id)
        assert text not in opening or parser.reply.text == ""  # held back: a call may follow
    assert constraining == opening


def one_of(openers: list[str], controls: dict[str, None]) -> Iterator[str]:
    """The control tokens that openers begin with."""
    for opener in openers:
        yield from (text for text in controls if opener.startswith(text))


@pytest.mark.parametrize(("raw", "value"), [("3", 3), ("three", "three")])
def test_k9_k3_names_types_and_a_wrong_one_keeps_the_text(raw: str, value: object) -> None:
    text = (
        '<|open|>tools<|sep|><|open|>call tool="get_weather" index="1"<|sep|>'
        f'<|open|>argument key="days" type="number"<|sep|>{raw}<|close|>argument<|sep|>'
        "<|close|>call<|sep|><|close|>tools<|sep|>"
    )
    [call] = read("kimi_k3", [text]).tool_calls
    assert call.arguments == {"days": value}
