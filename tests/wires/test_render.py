"""Calls as templates write them; docs/tool-calls.md has one of each format to the byte."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from constrain.replies import ReplyParser
from constrain.wires.markers import WIRES, Mark, members, wire_names
from constrain.wires.render import render_call, render_calls

PAGE = (Path(__file__).parents[2] / "docs" / "tool-calls.md").read_text(encoding="utf-8")
EXAMPLES = dict(re.findall(r"^### (\w+)\n\n~~~text\n(.*?)\n~~~$", PAGE, re.MULTILINE | re.DOTALL))
ARGUMENTS = json.loads(re.findall(r"^```json\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)[0])
TYPES = {"place": "string", "guests": "integer", "note": "string", "outdoor": "boolean", "seats": "array"}
TOOL = {"name": "book_table", "parameters": {"properties": {key: {"type": kind} for key, kind in TYPES.items()}}}


def test_the_page_has_every_format() -> None:
    assert list(EXAMPLES) == list(WIRES)
    assert re.findall(r"^\| \[?`(\w+)`", PAGE, re.MULTILINE) == ["wire", *wire_names()]
    for name in WIRES:
        [row] = [line for line in PAGE.splitlines() if line.startswith(f"| [`{name}`]")]
        assert all(mark.text.replace("|", "\\|") in row for mark in openers(name)[:1])
        assert WIRES[name].models in row


def openers(name: str) -> list[Mark]:
    return [mark for wire in members(name) for mark in wire.openers if mark.text]


@pytest.mark.parametrize("wire", WIRES)
def test_an_example_of_the_page_is_written_and_read_as_it_stands(wire: str) -> None:
    assert render_call(wire, "book_table", ARGUMENTS) == EXAMPLES[wire]
    parser = ReplyParser(wire, [TOOL])
    parser.push_text(EXAMPLES[wire])
    parser.finish()
    [call] = parser.reply.tool_calls
    assert (call.name, call.arguments, parser.reply.content) == ("book_table", ARGUMENTS, None)


def test_the_page_has_the_reasoning_of_every_format() -> None:
    rows = re.findall(r"^  \| (`.*`) \| (.*) \| (.*) \| (.*) \|$|^  \| (`.*`) \| \| \| \|$", PAGE, re.MULTILINE)
    told: dict[str, tuple[str, ...] | None] = {}
    for names, opened, closed, prompt, none in rows:
        for name in re.findall(r"`(\w+)`", names or none):
            cells = (opened, closed, prompt)
            told[name] = None if none else tuple(cell.strip("`").replace("\\|", "|") for cell in cells)
    assert told == {
        wire.name: None
        if wire.reasoning is None
        else (wire.reasoning.open.text, wire.reasoning.close.text, "yes" if wire.reasoning.in_prompt else "no")
        for wire in WIRES.values()
    }


def test_the_program_of_the_page_runs() -> None:
    [program] = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(program, "docs/tool-calls.md", "exec"), names)
    assert names["parser"].reply.text == "Let me look."


@pytest.mark.parametrize(
    ("wire", "expected"),
    [
        (
            "hermes",
            '<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>\n'
            '<tool_call>\n{"name": "g", "arguments": {}}\n</tool_call>',
        ),
        ("llama3", '{"name": "f", "parameters": {}}; {"name": "g", "parameters": {}}'),
        ("mistral", '[TOOL_CALLS] [{"name": "f", "arguments": {}}, {"name": "g", "arguments": {}}]'),
        ("mistral_v11", "[TOOL_CALLS]f[ARGS]{}[TOOL_CALLS]g[ARGS]{}"),
        (
            "deepseek_v3",
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{}\n```<｜tool▁call▁end｜>\n"
            "<｜tool▁call▁begin｜>function<｜tool▁sep｜>g\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        ),
        (
            "kimi_k2",
            "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{}<|tool_call_end|>"
            "<|tool_call_begin|>functions.g:1<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>",
        ),
        ("gemma4", "<|tool_call>call:f{}<tool_call|><|tool_call>call:g{}<tool_call|>"),
        (
            "qwen3_coder",
            "<tool_call>\n<function=f>\n</function>\n</tool_call>\n<tool_call>\n<function=g>\n</function>\n</tool_call>",
        ),
        (
            "kimi_k3",
            '<|open|>tools<|sep|><|open|>call tool="f" index="1"<|sep|><|close|>call<|sep|>'
            '<|open|>call tool="g" index="2"<|sep|><|close|>call<|sep|><|close|>tools<|sep|>',
        ),
        ("glm45", "<tool_call>f\n</tool_call>\n<tool_call>g\n</tool_call>"),
        ("glm47", "<tool_call>f</tool_call><tool_call>g</tool_call>"),
        (
            "minimax_m2",
            '<minimax:tool_call>\n<invoke name="f">\n</invoke>\n<invoke name="g">\n</invoke>\n</minimax:tool_call>',
        ),
        (
            "dsml",
            '<｜DSML｜function_calls>\n<｜DSML｜invoke name="f">\n\n</｜DSML｜invoke>\n'
            '<｜DSML｜invoke name="g">\n\n</｜DSML｜invoke>\n</｜DSML｜function_calls>',
        ),
    ],
)
def test_calls_without_arguments_one_after_the_other(wire: str, expected: str) -> None:
    assert render_calls(wire, [("f", {}), ("g", {})]) == expected


def test_counters_start_where_they_are_told() -> None:
    assert "functions.f:7<" in render_call("kimi_k2", "f", {}, 7)
    assert 'index="7"' in render_call("kimi_k3", "f", {}, 7)


def test_values_that_only_some_formats_write_differently() -> None:
    arguments = {"b": None, "A": 1e-07, "a": -0.0, "s": ""}
    assert '{A:1.0e-07,a:-0.0,b:null,s:<|"|><|"|>}' in render_call("gemma4", "f", arguments)
    assert "<parameter=s>\n\n</parameter>\n" in render_call("qwen3_coder", "f", arguments)
    assert 'key="a&amp;&quot;"' in render_call("kimi_k3", "f", {'a&"': 1})
    assert 'type="boolean"<|sep|>true<' in render_call("kimi_k3", "f", {"a": True})


@pytest.mark.parametrize(
    ("wire", "arguments"),
    [
        ("qwen3_coder", {"a": "x </parameter> y"}),
        ("qwen3_coder", {"a>b": "x"}),
        ("qwen3_coder", {"a": ["</parameter>"]}),
        ("gemma4", {"a": '<|"|>'}),
        ("gemma4", {"a:b": 1}),
        ("gemma4", {"a": {" b": 1}}),
        ("gemma4", {"": 1}),
        ("hermes", {"a": float("nan")}),
        ("gemma4", {"a": float("inf")}),
        ("glm45", {"a": float("inf")}),
    ],
)
def test_what_a_format_cannot_write_is_refused(wire: str, arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        render_call(wire, "f", arguments)
