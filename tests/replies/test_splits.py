"""However a reply is cut into tokens or pieces, the same is read; and what is rendered is read back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from constrain.replies import Reply
from constrain.wires.markers import WIRES, members, wire_names
from constrain.wires.render import render_call, render_calls

from .support import BOOKING, TOOLS, called, controls, cut, in_bytes, in_chunks, read, read_ids, tokens

CALLS = [("book_table", BOOKING), ("ping", {})]


def example(wire: str) -> str:
    """A reply with all there is: reasoning, text, two calls, and what the family wraps around them."""
    form = WIRES[wire]
    thought = f"{form.reasoning.open}Two ⟨calls⟩.{form.reasoning.close}" if form.reasoning is not None else ""
    if wire == "llama3":
        return render_calls(wire, CALLS)
    if wire == "harmony":
        return f"{thought}<|start|>assistant" + render_calls(wire, CALLS)
    if wire == "kimi_k3":
        calls = render_calls(wire, CALLS)
        return f"{thought}<|open|>response<|sep|>Right – now:\n<|close|>response<|sep|>{calls}<|close|>message<|sep|>"
    return f"{thought}Right – now:\n\n{render_calls(wire, CALLS)}{form.stops[0]}"


def check(wire: str, reply: Reply) -> None:
    assert called(reply) == CALLS
    assert reply.text == ("" if wire in ("llama3", "harmony") else "Right – now:")
    assert reply.reasoning == ("" if WIRES[wire].reasoning is None else "Two ⟨calls⟩.")
    assert not reply.cut
    assert reply.finish_reason == "tool_calls"


@pytest.mark.parametrize("wire", WIRES)
def test_a_reply_is_read_whole_and_in_pieces_of_any_size(wire: str) -> None:
    text = example(wire)
    check(wire, read(wire, text))
    for size in (1, 2, 3, 5, 7, 11, 64):
        check(wire, read(wire, in_chunks(size)(text)))
        check(wire, read(wire, cut(tokens(wire, text), in_chunks(size)), vocab=controls(wire)))
    check(wire, read(wire, in_bytes(text)))
    check(wire, read(wire, cut(tokens(wire, text), in_bytes), vocab=controls(wire)))


@pytest.mark.parametrize("wire", WIRES)
def test_a_reply_is_read_from_any_two_parts(wire: str) -> None:
    data = (
        "So –\n" * (wire not in ("llama3", "harmony")) + render_call(wire, "book_table", {"place": "é<", "guests": 2})
    ).encode()
    whole = read(wire, data.decode())
    assert called(whole) == [("book_table", {"place": "é<", "guests": 2})]
    for at in range(0, len(data) + 1):
        assert read(wire, [data[:at], data[at:]]) == whole


@pytest.mark.parametrize("wire", WIRES)
def test_a_parser_that_is_asked_early_knows_what_is_certain(wire: str) -> None:
    from constrain.replies import ReplyParser

    text = example(wire)
    parser = ReplyParser(wire, TOOLS)
    seen = 0
    for character in text:
        parser.push_text(character)
        reply = parser.reply
        assert "Right – now:".startswith(reply.text) and "Two ⟨calls⟩.".startswith(reply.reasoning)
        for call, (name, arguments) in zip(reply.tool_calls, CALLS, strict=False):
            assert call.name == name
            assert (call.arguments == arguments) if call.complete else (call.arguments is None)
        seen = max(seen, len(reply.tool_calls))
        assert reply.finish_reason is None
    assert seen == 2


NAMES = st.sampled_from(["get", "get_weather", "wetter_für", "fs.read-file", "f2"])
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12) | st.sampled_from(
    ["null", "3", "true", '"', "\\", "</tool_call>", "```\n", "</think>", "\n", "\n\n x\n", "{", "a, b", "&quot;"]
)
NUMBERS = st.integers(-(10**20), 10**20) | st.floats(allow_nan=False, allow_infinity=False)
SCALARS = st.none() | st.booleans() | NUMBERS | TEXTS
KEYS = st.from_regex(r"[a-zß日][a-z_0-9 &]{0,5}[a-z]|[a-z]", fullmatch=True)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3))
KINDS = {
    str: "string",
    bool: "boolean",
    int: "number",
    float: "number",
    list: "array",
    dict: "object",
    type(None): "null",
}


@pytest.mark.parametrize("wire", WIRES)
@given(st.lists(st.tuples(NAMES, st.dictionaries(KEYS, VALUES, max_size=4)), min_size=1, max_size=3), st.data())
@settings(max_examples=8, deadline=None)
def test_what_is_rendered_is_read_back(wire: str, calls: list[tuple[str, dict[str, Any]]], data: st.DataObject) -> None:
    tools = [
        {"name": name, "parameters": _schema([one for called, one in calls if called == name])} for name, _ in calls
    ]
    try:
        text = render_calls(wire, calls)
    except ValueError:
        assume(False)
    size = data.draw(st.integers(1, 9))
    assert called(read(wire, in_chunks(size)(text), tools=tools)) == calls
    assert called(read(wire, cut(tokens(wire, text), in_chunks(size)), tools=tools, vocab=controls(wire))) == calls


def _schema(calls: list[dict[str, Any]]) -> dict[str, Any]:
    """The types of the arguments; where calls differ about one, strings are left to quotes to tell."""
    types: dict[str, set[str]] = {}
    for arguments in calls:
        for key, value in arguments.items():
            types.setdefault(key, set()).add(KINDS[type(value)])
    assume(not any("string" in kinds and len(kinds) > 1 for kinds in types.values()))
    return {"type": "object", "properties": {key: {"type": sorted(kinds)} for key, kinds in types.items()}}


@pytest.mark.parametrize("wire", wire_names())
@given(st.data())
@settings(max_examples=12, deadline=None)
def test_damaged_replies_are_read_the_same_in_any_pieces_and_never_fail(wire: str, data: st.DataObject) -> None:
    one = data.draw(st.sampled_from(members(wire))).name
    texts = [*controls(wire), *'{}"\n<>,\\', "```", "é", "\n```\n"]
    reply = data.draw(st.sampled_from(["", "Hm.\n", "```\n"])) + render_calls(one, CALLS)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(reply)))
        drop = data.draw(st.integers(0, 4))
        reply = reply[:at] + data.draw(st.sampled_from(["", *texts])) + reply[at + drop :]
    reply = reply[: data.draw(st.integers(0, len(reply)) | st.just(len(reply)))]
    reasoning = data.draw(st.sampled_from(["auto", "inside", None]))
    symbols: list[Any] = tokens(wire, reply) if data.draw(st.booleans()) else [reply]
    options: dict[str, Any] = {"reasoning": reasoning, "vocab": controls(wire) if symbols != [reply] else None}
    whole = read(wire, symbols, **options)
    assert read(wire, cut(symbols, in_bytes), **options) == whole
    assert read(wire, cut(symbols, in_chunks(data.draw(st.integers(1, 20)))), **options) == whole
    for call in whole.tool_calls:
        assert call.complete
        assert json.loads(call.arguments_text) == call.arguments


@pytest.mark.parametrize("wire", WIRES)
def test_a_reply_that_ends_early_keeps_the_calls_before(wire: str) -> None:
    """Cut within the second call, the first is kept."""
    first, both = render_call(wire, "book_table", BOOKING), render_calls(wire, [("book_table", BOOKING)] * 2)
    parts = tokens(wire, both)
    starts = sum(len(part) if isinstance(part, str) else 1 for part in tokens(wire, first))
    flat = list(cut(parts, list))
    for end in range(starts + 1, len(flat), 7):
        reply = read(wire, flat[:end], vocab=controls(wire))
        assert called(reply)[0] == ("book_table", BOOKING)
        assert len(reply.tool_calls) == 1 or len(flat) - end < 24  # only what ends the section is missing
    assert called(read_ids(wire, both)) == [("book_table", BOOKING)] * 2
