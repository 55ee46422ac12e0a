"""Raw text becomes a value by the tool's schema."""

from __future__ import annotations

from typing import Any

import pytest

from constrain.replies import CallDelta, ReplyParser

from .support import read


def value(raw: str, schema: Any, *, wire: str = "qwen3_coder", **root: Any) -> Any:
    """What `raw` is read as where the argument has this schema."""
    tools = [{"name": "f", "parameters": {"type": "object", "properties": {"a": schema}, **root}}]
    texts = {
        "qwen3_coder": f"<tool_call>\n<function=f>\n<parameter=a>\n{raw}\n</parameter>\n</function>\n</tool_call>",
        "glm47": f"<tool_call>f<arg_key>a</arg_key><arg_value>{raw}</arg_value></tool_call>",
    }
    [call] = read(wire, texts[wire], tools=tools).tool_calls
    assert call.arguments is not None
    return call.arguments["a"]


@pytest.mark.parametrize(
    ("raw", "schema", "expected"),
    [
        ("02134", {"type": "string"}, "02134"),
        ("3", {"type": "string"}, "3"),
        ("null", {"type": "string"}, "null"),
        ('{"a": 1}', {"type": "string"}, '{"a": 1}'),
        ('"x"', {"type": "string"}, '"x"'),
        ("3", {"type": "integer"}, 3),
        (" 3 ", {"type": "integer"}, 3),
        ("-1.5e3", {"type": "number"}, -1500.0),
        ("1e-07", {"type": "number"}, 1e-07),
        ("3", {}, 3),
        ("3", True, 3),
        ("three", {}, "three"),
        ("three", {"type": "integer"}, "three"),
        ("3", {"type": "boolean"}, "3"),
        ("true", {"type": "boolean"}, True),
        ("null", {"type": ["string", "null"]}, None),
        ("none", {"type": ["string", "null"]}, "none"),
        ("3", {"type": ["string", "integer"]}, 3),
        ("3.", {"type": ["string", "number"]}, "3."),
        ("3", {"anyOf": [{"type": "string"}, {"type": "integer", "minimum": 10}]}, "3"),
        ("30", {"anyOf": [{"type": "string"}, {"type": "integer", "minimum": 10}]}, 30),
        ("3", {"enum": ["3", 4]}, "3"),
        ("4", {"enum": ["3", 4]}, 4),
        ("5", {"enum": ["3", 4]}, 5),
        ("3", {"const": "3"}, "3"),
        ("[1, 2]", {"type": "array"}, [1, 2]),
        ("[1, 2", {"type": "array"}, "[1, 2"),
        ('{"b": null}', {"oneOf": [{"type": "object"}, {"type": "null"}]}, {"b": None}),
        ("3", {"allOf": [{"type": ["string", "integer"]}, {"type": "string"}]}, "3"),
        ("3", {"$ref": "#/$defs/text"}, "3"),
    ],
)
@pytest.mark.parametrize("wire", ["qwen3_coder", "glm47"])
def test_the_schema_decides(wire: str, raw: str, schema: Any, expected: Any) -> None:
    found = value(raw, schema, wire=wire, **{"$defs": {"text": {"type": "string"}}})
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    "reference", ["#/$defs/loop", "#/$defs/nowhere", "#/allOf/0/not", "https://example.org/elsewhere"]
)
def test_a_schema_that_cannot_be_compiled_leaves_everything_open(reference: str) -> None:
    loop = {"$defs": {"loop": {"$ref": "#/$defs/loop"}}, "allOf": [{}]}
    assert value("3", {"$ref": reference}, **loop) == 3
    assert value("x", {"$ref": reference}, **loop) == "x"


def test_capitals_are_read_where_old_checkpoints_write_them() -> None:
    assert value("True", {"type": "boolean"}) is True
    assert value("None", {"type": ["integer", "null"]}) is None
    assert value("None", {"type": "string"}) == "None"
    assert value("True", {"type": "boolean"}, wire="glm47") == "True"


def test_undeclared_arguments_have_the_schema_of_their_pattern_or_of_the_rest() -> None:
    assert value("3", False, patternProperties={"^a": {"type": "string"}}) == 3  # what is declared is declared
    tools = [
        {
            "name": "f",
            "parameters": {
                "patternProperties": {"(": {}, "^t": {"type": "string"}},
                "additionalProperties": {"type": ["string", "boolean"]},
            },
        }
    ]
    elements = "".join(
        f"<arg_key>{key}</arg_key><arg_value>{raw}</arg_value>"
        for key, raw in {"t": "3", "b": "true", "c": "3"}.items()
    )
    [call] = read("glm47", f"<tool_call>f{elements}</tool_call>", tools=tools).tool_calls
    assert call.arguments == {"t": "3", "b": True, "c": "3"}


def test_exactly_one_line_feed_of_layout_on_each_side() -> None:
    text = {"type": "string"}
    assert value("", text) == ""
    assert value("\n", text) == "\n"
    assert value("\n x\n\n", text) == "\n x\n\n"
    for raw in ("x", "\nx", "x\n"):
        element = f"<tool_call><function=f><parameter=a>{raw}</parameter></function></tool_call>"
        [call] = read(
            "qwen3_coder", element, tools=[{"name": "f", "parameters": {"properties": {"a": text}}}]
        ).tool_calls
        assert call.arguments == {"a": "x"}
    assert value(" x\n", text, wire="glm47") == " x\n"  # no layout there


@pytest.mark.parametrize(
    ("said", "raw", "schema", "expected"),
    [
        ("string", "5", {}, "5"),
        ("number", "5", {}, 5),
        ("integer", "5", {}, 5),
        ("number", "three", {}, "three"),
        ("number", "5", {"type": "string"}, "5"),
        ("string", "5", {"type": "integer"}, 5),
        ("null", "null", {"type": ["string", "null"]}, None),
        ("string", "null", {"type": ["string", "null"]}, "null"),
        ("object", '{"a": 1}', {}, {"a": 1}),
    ],
)
def test_a_type_that_the_model_names_counts_where_the_schema_leaves_it_open(
    said: str, raw: str, schema: Any, expected: Any
) -> None:
    tools = [{"name": "f", "parameters": {"properties": {"a": schema}}}]
    k3 = (
        '<|open|>tools<|sep|><|open|>call tool="f" index="1"<|sep|>'
        f'<|open|>argument key="a" type="{said}"<|sep|>{raw}<|close|>argument<|sep|>'
        "<|close|>call<|sep|><|close|>tools<|sep|>"
    )
    flag = "true" if said == "string" else "false"
    dsml = (
        '<｜DSML｜tool_calls>\n<｜DSML｜invoke name="f">\n'
        f'<｜DSML｜parameter name="a" string="{flag}">{raw}</｜DSML｜parameter>\n'
        "</｜DSML｜invoke>\n</｜DSML｜tool_calls>"
    )
    for wire, text in (("kimi_k3", k3), ("dsml", dsml)):
        [call] = read(wire, text, tools=tools).tool_calls
        assert call.arguments == {"a": expected}


def test_attributes_are_unescaped() -> None:
    text = (
        '<|open|>tools<|sep|><|open|>call tool="a&amp;b" index="12"<|sep|>'
        '<|open|>argument key="city&amp;&quot;unit&quot; &amp;lt;" type="string"<|sep|>a &amp; b'
        "<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>"
    )
    [call] = read("kimi_k3", text, tools=None).tool_calls
    assert (call.name, call.arguments) == ("a&b", {'city&"unit" &lt;': "a &amp; b"})


def test_gemma_spellings() -> None:
    text = (
        '<|tool_call>call:f{a:None, b : [ null,true,-1.5e+22 ],\n<|"|>c<|"|>:<|"|>{"x\\n<|"|>,d e:{f:{}}}<tool_call|>'
    )
    [call] = read("gemma4", text, tools=None).tool_calls
    assert call.arguments == {"a": None, "b": [None, True, -1.5e22], "c": '{"x\\n', "d e": {"f": {}}}
    [call] = read("functiongemma", "<start_function_call>call:f{a:<escape>3<escape>,b:3}<end_function_call>").tool_calls
    assert call.arguments == {"a": "3", "b": 3}


def test_envelopes_are_read_in_any_order_and_with_either_key() -> None:
    for body in (
        '{"arguments": {"a": "x"}, "name": "f"}',
        '{"id": "abc", "type": "function", "name": "f", "parameters": {"a": "x"}}',
        '{\n  "name":"f","more":[{"name":"g"}],"arguments":{"a":"x"}\n}',
        '{"n\\u0061me": "\\u0066", "arguments": {"a": "\\u0078"}}',
    ):
        [call] = read("hermes", f"<tool_call>{body}</tool_call>").tool_calls
        assert (call.name, call.arguments) == ("f", {"a": "x"})
        assert call.id == ("abc" if "abc" in body else None)


def test_ids_of_kimi() -> None:
    one = "<|tool_call_begin|>functions.fs.read:17<|tool_call_argument_begin|>{}<|tool_call_end|>"
    [call] = read("kimi_k2", f"<|tool_calls_section_begin|>{one}<|tool_calls_section_end|>").tool_calls
    assert (call.name, call.id) == ("fs.read", "functions.fs.read:17")


def test_mistral_with_and_without_its_second_marker() -> None:
    for text in (
        "[TOOL_CALLS]f[ARGS]{}[TOOL_CALLS]g[ARGS]{}",
        "[TOOL_CALLS]f{}[TOOL_CALLS]g{}",
        "[TOOL_CALLS]f {}\n[TOOL_CALLS]g{}",
    ):
        assert [call.name for call in read("mistral_v11", text).tool_calls] == ["f", "g"]
    one = '{"name": "f", "arguments": {}}'
    for text in (f"[TOOL_CALLS] [{one}, {one}]", f"[TOOL_CALLS][{one},{one} ]"):
        assert [call.name for call in read("mistral", text).tool_calls] == ["f", "f"]


def test_strings_stream_and_other_values_come_whole() -> None:
    tools = [{"name": "f", "parameters": {"properties": {"s": {"type": "string"}}}}]
    parser = ReplyParser("qwen3_coder", tools)
    parser.push_text("<tool_call><function=f><parameter=s>\n")
    assert parser.push_text('a"b') == [CallDelta(0, 'a\\"b')]
    assert parser.push_text("c</param") == [CallDelta(0, "c")]
    parser.push_text("eter><parameter=n>")
    assert parser.push_text("12") == []
    assert parser.push_text("3</parameter>") == [CallDelta(0, "123")]


def test_tools_are_taken_in_the_three_forms() -> None:
    schema = {"properties": {"a": {"type": "string"}}}
    for tool in (
        {"type": "function", "function": {"name": "f", "parameters": schema}},
        {"type": "function", "name": "f", "parameters": schema},
        {"name": "f", "input_schema": schema},
        {"name": "f", "inputSchema": schema},
    ):
        [call] = read(
            "glm47", "<tool_call>f<arg_key>a</arg_key><arg_value>3</arg_value></tool_call>", tools=[tool]
        ).tool_calls
        assert call.arguments == {"a": "3"}
    with pytest.raises(ValueError, match="/0"):
        ReplyParser("glm47", [{"function": {}}])
