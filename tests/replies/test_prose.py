"""Where a call begins and where it does not: spelled markers, reasoning, code fences, layout."""

from __future__ import annotations

import time

import pytest

from constrain import Vocabulary
from constrain.replies import CallStart, ReplyParser, TextDelta

from .support import TOOLS, called, controls, read, read_ids, tokens

PING = '<tool_call>\n{"name": "ping", "arguments": {}}\n</tool_call>'
PINGED = [("ping", {})]


def test_a_marker_spelled_in_prose_is_prose_where_ids_are_known() -> None:
    ids = controls("hermes")
    spelled = f"Models write {PING} here."
    reply = read("hermes", [spelled], vocab=ids)
    assert (reply.text, reply.tool_calls, reply.finish_reason) == (spelled, (), "stop")
    assert called(read("hermes", spelled)) == PINGED  # by text alone, it cannot be told apart


def test_marker_texts_without_an_id_are_read_by_their_text() -> None:
    assert called(read("hermes", [PING], vocab={"<think>": 7})) == PINGED


def test_a_vocabulary_gives_bytes_markers_and_stops() -> None:
    single = [bytes([byte]) for byte in range(256)]
    special = {"<tool_call>": 256, "</tool_call>": 257, "<|im_end|>": 258, "<|other|>": 259}
    vocab = Vocabulary.from_tokens(single, special, [258])
    parser = ReplyParser("hermes", TOOLS, vocab)
    for token_id in [*"Zürich: ".encode(), 259, 256, *b'{"name": "ping", "arguments": {}}', 257, 258]:
        parser.push(token_id)
    parser.finish()
    assert parser.reply.text == "Zürich: <|other|>"
    assert called(parser.reply) == PINGED


def test_a_marker_may_have_id_0_and_pieces_come_with_their_ids() -> None:
    ids = controls("hermes")
    assert ids["<tool_call>"] == 0
    parser = ReplyParser("hermes", TOOLS, ids)
    for part in tokens("hermes", PING):
        if isinstance(part, int):
            parser.push(part, "ignored, because the id is known")
        else:
            parser.push(1000, str(part))
    assert called(parser.reply) == PINGED
    with pytest.raises(ValueError, match="token 1000"):
        parser.push(1000)


def test_text_is_held_back_only_while_it_can_become_a_marker() -> None:
    parser = ReplyParser("hermes", TOOLS)
    assert parser.push_text("a <tool") == [TextDelta("a")]
    assert parser.push_text("_box> b") == [TextDelta(" <tool_box> b")]


@pytest.mark.parametrize("wire", ["hermes", "qwen3_coder", "deepseek_v31", "kimi_k2", "glm45", "minimax_m2", "qwen"])
def test_no_call_begins_in_reasoning(wire: str) -> None:
    from constrain.wires.render import render_call

    call = render_call(wire, "ping", {})
    text = f"<think>\nI might {call} now.\n</think>\n\nDone. {call}"
    for reply in (read(wire, text), read_ids(wire, text)):
        assert reply.reasoning == f"I might {call} now."
        assert (reply.text, called(reply)) == ("Done.", PINGED)
    inside = text.removeprefix("<think>\n")
    assert read(wire, inside, reasoning="inside") == read(wire, text)
    assert read(wire, text, reasoning="inside") == read(wire, text)  # the model repeats the marker
    plain = read(wire, "<think>a</think>b", reasoning=None)
    assert (plain.text, plain.reasoning) == ("<think>a</think>b", "")


def test_reasoning_that_does_not_end_is_cut() -> None:
    reply = read("hermes", "<think>\nLet me")
    assert (reply.reasoning, reply.text, reply.cut, reply.finish_reason) == ("Let me", "", True, "length")


def test_gemma_and_harmony_have_their_own_reasoning() -> None:
    gemma = "<|channel>thought\nHm.\n<channel|>Yes.<|tool_call>call:ping{}<tool_call|><|tool_response>"
    harmony = (
        "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Yes.<|end|>"
        "<|start|>assistant<|channel|>commentary to=functions.ping <|constrain|>json<|message|>{}<|call|>"
    )
    for wire, text in (("gemma4", gemma), ("harmony", harmony)):
        for reply in (read(wire, text), read_ids(wire, text)):
            assert (reply.reasoning, reply.text, called(reply)) == ("Hm.", "Yes.", PINGED)


@pytest.mark.parametrize("wire", ["hermes", "qwen"])
def test_an_example_in_a_code_fence_is_content(wire: str) -> None:
    text = f"Like this:\n```xml\n{PING}\n```\nNow in earnest:\n{PING}"
    for reply in (read(wire, text), read_ids(wire, text)):
        assert reply.text == f"Like this:\n```xml\n{PING}\n```\nNow in earnest:"
        assert called(reply) == PINGED


@pytest.mark.parametrize(
    ("before", "calls"),
    [
        ("```\n", 0),
        ("   ```\n", 0),
        ("    ```\n", 1),
        ("a ```\n", 1),
        ("``\n", 1),
        ("```\nx\n```\n", 1),
        ("```\nx\n ``` ", 1),
    ],
)
def test_a_fence_begins_at_a_line(before: str, calls: int) -> None:
    assert len(read("hermes", before + PING).tool_calls) == calls
    assert len(read_ids("hermes", before + PING).tool_calls) == calls


def test_fences_and_reasoning_marks_within_arguments_change_nothing() -> None:
    value = "```\n</think>\n<think>\n```python\nx"
    for wire in ("qwen3_coder", "gemma4", "hermes", "kimi_k3", "glm45"):
        from constrain.wires.render import render_calls

        text = render_calls(wire, [("book_table", {"place": value}), ("ping", {})])
        for reply in (read(wire, text), read_ids(wire, text)):
            assert called(reply) == [("book_table", {"place": value}), ("ping", {})]
            assert reply.text == ""


def test_layout_beside_markers_is_no_text_and_all_other_whitespace_is() -> None:
    assert read("hermes", f" \n a \n\n{PING}\n\n  b\n").text == " \n a \n\n  b\n"
    assert read("hermes", f"a{PING}\n b").text == "a\n b"
    assert read("hermes", f"{PING}\n\n b").text == " b"
    assert read("hermes", f"{PING} b{PING}c").text == "bc"
    assert read("hermes", f"\n\n{PING}\n").content is None
    assert read("hermes", " \n").content == " \n"


def test_a_bare_call_counts_at_the_beginning_only_and_only_with_a_known_name() -> None:
    call = '{"name": "ping", "parameters": {}}'
    assert called(read("llama3", call)) == PINGED
    assert called(read("llama3", f" {call}; {call}")) == PINGED * 2
    assert called(read("llama3", f"<|python_tag|>{call}")) == PINGED
    for text in (
        f"Call {call}",
        '{"name": "pong", "parameters": {}}',
        '{"answer": 3}',
        f"{call[:-1]}",
        '{"name": "ping"}',
    ):
        reply = read("llama3", text)
        assert (reply.text, called(reply)) == (text, [])
    assert called(read("llama3", '{"name": "pong", "arguments": {"a": 1}}', tools=None)) == [("pong", {"a": 1})]
    reply = read("llama3", f"{call}; and so on")
    assert (reply.text, called(reply)) == ("; and so on", PINGED)


def test_harmony_headers_in_every_order_that_models_write() -> None:
    for header in (
        "<|channel|>commentary to=functions.ping <|constrain|>json<|message|>",
        "<|channel|>commentary to=functions.ping<|constrain|>json<|message|>",
        "<|channel|>commentary to=functions.ping<|message|>",
        "<|channel|>analysis to=functions.ping <|constrain|>json<|message|>",
        " to=functions.ping<|channel|>commentary <|constrain|>json<|message|>",
        " to=functions.ping<|channel|>commentary json<|message|>",
        "<|start|>assistant to=functions.ping<|channel|>analysis<|message|>",
    ):
        for reply in (read("harmony", header + "{}<|call|>"), read_ids("harmony", header + "{}<|call|>")):
            assert (called(reply), reply.text) == (PINGED, "")
        assert called(read("harmony", header + "{}")) == PINGED  # hosts keep stop tokens to themselves
    names = [{"name": "getjson"}]
    text = "<|channel|>commentary to=functions.getjson<|message|>{}<|call|>"
    assert called(read("harmony", text, tools=names)) == [("getjson", {})]


def test_the_overlay_decides_call_by_call() -> None:
    xml = "<tool_call>\n<function=ping>\n</function>\n</tool_call>"
    for reply in (read("qwen", f"A {PING}\n{xml} B"), read_ids("qwen", f"A {PING}\n{xml} B")):
        assert called(reply) == PINGED * 2
        assert [call.wire for call in reply.tool_calls] == ["hermes", "qwen3_coder"]
        assert reply.text == "A B"
    neither = "<tool_call>\n[1]</tool_call>"
    assert read("qwen", neither).text == neither
    assert called(read(["glm47", "hermes"], f"<tool_call>ping</tool_call>{PING}")) == PINGED * 2


def test_a_call_is_started_as_soon_as_its_name_is_known() -> None:
    parser = ReplyParser("hermes", TOOLS)
    assert parser.push_text('<tool_call>{"name": "ping"') == [CallStart(0, "ping")]
    [call] = parser.reply.tool_calls
    assert (call.complete, call.arguments, call.arguments_text) == (False, None, "")


def test_options_are_checked() -> None:
    with pytest.raises(ValueError, match=r"'pidgin'.*hermes"):
        ReplyParser("pidgin")
    with pytest.raises(ValueError, match="reasoning"):
        ReplyParser("hermes", reasoning="maybe")
    parser = ReplyParser("hermes")
    parser.finish()
    assert parser.finish() == []
    with pytest.raises(RuntimeError, match="finished"):
        parser.push_text("more")


@pytest.mark.parametrize("text", ["\n", " ", "\n\t", "`", "<", "x\n", "```\n", "{"], ids=repr)
def test_time_grows_with_the_text_alone(text: str) -> None:
    taken = []
    for n in (2_000, 2_000, 32_000):
        start = time.process_time()
        reply = read("llama3", [text * n])
        taken.append(time.process_time() - start)
        assert len(reply.text.strip()) in (0, len((text * n).strip()))
    assert taken[2] < 16 * 5 * max(taken[1], 0.005)  # 16 times the text; 256 times if it were quadratic
