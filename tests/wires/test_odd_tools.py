"""Schemas as careless or hostile clients send them: each is refused with its tool's name, or constrained exactly, in
every format. Replies that are cut anywhere, or arrive in any pieces, are read all the same.
"""

from __future__ import annotations

import random
from typing import Any

import jsonschema
import pytest

import constrain
from constrain.replies import ReplyParser
from constrain.wires.automaton import ToolAutomaton
from constrain.wires.render import render_call

from .campaign import NAMES, SILENT
from .support import VOCABULARY, Scene, closed, spelled, tool, walk

INTEGER, STRING = {"type": "integer"}, {"type": "string"}
AB = {"a": INTEGER, "b": INTEGER}
NODE = {"type": "object", "properties": {"v": INTEGER, "next": {"$ref": "#/$defs/node"}}, "required": ["v"]}

SOME = ("hermes", "gemma4", "qwen3_coder", "kimi_k3", "dsml", "qwen")

ODD: dict[str, Any] = {
    "no_properties": {"type": "object"},
    "empty": {},
    "true": True,
    "object_or_null": {"type": ["object", "null"], "properties": {"a": INTEGER}},
    "open": {"type": "object", "properties": {"a": INTEGER}, "additionalProperties": True},
    "only_additional": {"type": "object", "additionalProperties": INTEGER},
    "references": {
        "$ref": "#/$defs/p",
        "$defs": {
            "p": {"type": "object", "properties": {"a": {"$ref": "#/$defs/s"}}, "required": ["a"]},
            "s": {"enum": ["x", "y"]},
        },
    },
    "list": {"type": "object", "properties": {"l": {"$ref": "#/$defs/node"}}, "$defs": {"node": NODE}},
    "root_in_itself": {"type": "object", "properties": {"c": {"$ref": "#"}, "n": INTEGER}, "required": ["n"]},
    "one_of": {
        "oneOf": [
            {"type": "object", "properties": {"k": {"const": "a"}, "x": INTEGER}, "required": ["k", "x"]},
            {"type": "object", "properties": {"k": {"const": "b"}, "y": STRING}, "required": ["k"]},
        ]
    },
    "any_of": {"type": "object", "properties": AB, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
    "exactly_one": {"type": "object", "properties": AB, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
    "all_of": {
        "allOf": [
            {"type": "object", "properties": {"a": INTEGER}, "required": ["a"]},
            {"properties": {"b": {**STRING, "maxLength": 3}}, "required": ["b"]},
        ]
    },
    "not_both": {"type": "object", "properties": AB, "not": {"required": ["a", "b"]}},
    "if_then": {
        "type": "object",
        "properties": {"a": {"type": "boolean"}, "b": INTEGER},
        "required": ["a"],
        "if": {"properties": {"a": {"const": True}}},
        "then": {"required": ["b"]},
    },
    "dependent": {"type": "object", "properties": AB, "dependentRequired": {"a": ["b"]}},
    "patterns": {"type": "object", "patternProperties": {"^x_": INTEGER}, "additionalProperties": False},
    "names": {
        "type": "object",
        "propertyNames": {"pattern": "^[a-z]{1,3}$"},
        "additionalProperties": {"type": "boolean"},
    },
    "exactly_two": {"type": "object", "properties": {**AB, "c": INTEGER}, "minProperties": 2, "maxProperties": 2},
    "marker_values": {
        "type": "object",
        "properties": {"a": {"enum": ["</tool_call>", "ok", '<|"|>', "</parameter>", "x<tool_call>", "</arg_value>"]}},
        "required": ["a"],
    },
    "marker_keys": {"type": "object", "properties": {"<parameter=": INTEGER, "a": INTEGER, "</tool_call>": STRING}},
    "odd_keys": {
        "type": "object",
        "properties": dict.fromkeys(["", " a", "a b", 'q"', "a:b", "n\nl", "ключ", "&amp;", "a,b"], INTEGER),
    },
    "nulls": {
        "type": "object",
        "properties": {"a": {"type": ["string", "null"]}, "b": {"enum": [None, "null", "None"]}},
        "required": ["b"],
    },
    "strings_like_others": {
        "type": "object",
        "properties": {
            "a": {**STRING, "pattern": "^[0-9]+$", "maxLength": 5},
            "b": {"enum": ["true", "null", "12", "[1]", "{}"]},
        },
        "required": ["a", "b"],
    },
    "line_feeds": {
        "type": "object",
        "properties": {"b": {"enum": ["\n", "\n\n", "", "a\n"]}, "c": {**STRING, "minLength": 1, "maxLength": 2}},
        "required": ["b"],
    },
    "large_numbers": {
        "type": "object",
        "properties": {"b": {**INTEGER, "minimum": 10**20, "maximum": 10**20 + 5}},
        "required": ["b"],
    },
    "constant": {"const": {"a": 1, "b": "x"}},
    "enum_of_objects": {"enum": [{"a": 1}, {"a": 2, "b": []}, 3]},
    "required_only": {"type": "object", "required": ["a"], "additionalProperties": INTEGER},
}


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("wire", SOME)
def test_odd_schemas_are_constrained_exactly(wire: str, name: str) -> None:
    constrained_exactly(wire, name)


@pytest.mark.slow
@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("wire", [wire for wire in NAMES if wire not in SOME])
def test_odd_schemas_in_the_other_formats(wire: str, name: str) -> None:
    constrained_exactly(wire, name)


def constrained_exactly(wire: str, name: str) -> None:
    schema = ODD[name]
    tools = [{"type": "function", "function": {"name": name, "parameters": schema}}]
    automaton = ToolAutomaton(tools, VOCABULARY, wire, tool_choice="required", parallel=False)
    validator = jsonschema.Draft202012Validator(closed(schema))
    ended = 0
    for seed in range(8):
        rng = random.Random(f"{wire} {name} {seed}")
        matcher = automaton.matcher()
        tokens = walk(matcher, rng, 260)
        if tokens is None or ended == 2:
            continue
        ended += 1
        text = spelled(automaton, tokens)
        assert automaton.explain(text) is None, text
        reader = ReplyParser(wire, tools, VOCABULARY)
        for token in tokens:
            reader.push(token)
        reader.finish()
        for call in reader.reply.tool_calls:
            assert validator.is_valid(call.arguments), text
        assert reader.reply.tool_calls or wire in SILENT, text
        read_in_pieces(wire, tools, text)
        for cut in rng.sample(range(len(tokens)), min(4, len(tokens))):
            reader = ReplyParser(wire, tools, VOCABULARY)
            for token in tokens[:cut]:
                reader.push(token)
            reader.finish(truncated=True)
            assert reader.reply.finish_reason == "length"
    assert ended or name == "required_only"


def read_in_pieces(wire: str, tools: list[dict[str, Any]], text: str) -> None:
    """The same reply, however the text is cut."""
    found = []
    for size in (10**6, 1, 5):
        reader, data = ReplyParser(wire, tools), text.encode()
        for start in range(0, len(data), size):
            reader.push_text(data[start : start + size])
        reader.finish()
        found.append(reader.reply)
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize(
    "schema", [False, STRING, {"type": "object", "required": ["a"], "properties": {"a": False}}, {"enum": [1, "x"]}]
)
@pytest.mark.parametrize("wire", ["hermes", "gemma4", "qwen3_coder"])
def test_schemas_that_no_arguments_satisfy_are_refused_by_name(wire: str, schema: Any) -> None:
    with pytest.raises(constrain.UnsatisfiableError, match="tool 'bad'"):
        constrain.compile_tools([{"name": "bad", "parameters": schema}], None, wire)


@pytest.mark.parametrize("wire", ["hermes", "gemma4", "qwen3_coder", "glm47", "kimi_k2"])
def test_names_that_begin_each_other(wire: str) -> None:
    names = ["a", "ab", "abc", "a_b", "a.b", "wetter", "wetter_für", "天気"]
    tools = [tool(name, {f"p{i}": INTEGER}, (f"p{i}",)) for i, name in enumerate(names)]
    grammar = constrain.compile_tools(tools, None, wire, tool_choice="required")
    for i, name in enumerate(names):
        assert grammar.accepts(render_call(wire, name, {f"p{i}": 1}).lstrip("\n")), name
        assert not grammar.accepts(render_call(wire, name, {f"p{(i + 1) % len(names)}": 1}).lstrip("\n")), name
    assert not grammar.accepts(render_call(wire, "abcd", {"p2": 1}).lstrip("\n"))


def test_five_hundred_tools() -> None:
    tools = [tool(f"tool_{i}", {"x": {**INTEGER, "maximum": i}}, ("x",)) for i in range(500)]
    for wire in ("hermes", "gemma4", "qwen3_coder"):
        grammar = constrain.compile_tools(tools, VOCABULARY, wire, tool_choice="required")
        assert grammar.accepts(render_call(wire, "tool_499", {"x": 499}).lstrip("\n"))
        assert not grammar.accepts(render_call(wire, "tool_49", {"x": 50}).lstrip("\n"))
    assert Scene("gemma4", tools, "<|tool_call>call:tool_49").first() == {*"0123456789", "{"}
