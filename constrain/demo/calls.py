"""A model that wants kelvin, against a tool that takes celsius or fahrenheit.

In the conversation that it is shown the model has already called the tool with kelvin, and the user asks for kelvin
again. Left alone it writes the same once more, in whatever format the conversation has. Constrained, it calls the tool
as the tool is declared.

SmolLM2 has no token for any of the markers, so calls begin with their text (`text_arming`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import jsonschema

import constrain

from ..replies import ReplyParser, ToolCall
from ..runners import CpuRunner, Request
from ..sampling import Sampling
from ..wires.render import render_call
from .display import Column, Scene

__all__ = ["TOOL", "UNITS", "WIRES", "conversation", "judge", "replies", "scenes"]

WIRES = ("hermes", "qwen3_coder", "gemma4")
UNITS = ["celsius", "fahrenheit"]
TOOL: dict[str, Any] = {
    "name": "get_weather",
    "description": "The weather at a place.",
    "parameters": {
        "type": "object",
        "properties": {
            "location": {"type": "string", "maxLength": 30},
            "unit": {"type": "string", "enum": UNITS},
        },
        "required": ["location", "unit"],
        "additionalProperties": False,
    },
}


def scenes(runner: CpuRunner, vocab: constrain.Vocabulary, max_tokens: int) -> Iterator[Scene]:
    """One for each format: the call without and with the constraint."""
    for wire in WIRES:
        columns, held = [], False
        texts = replies(runner, vocab, wire, max_tokens)
        for title, text in zip(("without the constraint", "with the constraint"), texts, strict=True):
            call, verdict = judge(wire, text)
            held = call is not None and verdict == "valid"
            called = "" if call is None else f"{call.name} {json.dumps(call.arguments, ensure_ascii=False)}: "
            columns.append(Column(title, text, called + verdict, held))
        yield Scene(f"{wire}: a model that wants kelvin", columns, held)


def conversation(wire: str) -> list[dict[str, str]]:
    """Messages after which kelvin is what a model goes on with."""
    return [
        {"role": "user", "content": "How warm is it in Oslo? In kelvin, please."},
        {"role": "assistant", "content": render_call(wire, TOOL["name"], {"location": "Oslo", "unit": "kelvin"})},
        {"role": "user", "content": "And in Rome? In kelvin, please."},
    ]


def replies(runner: CpuRunner, vocab: constrain.Vocabulary, wire: str, max_tokens: int) -> list[str]:
    """The reply without and with the constraint, both greedy."""
    automaton = constrain.compile_tools(
        [TOOL], vocab, wire, tool_choice="required", parallel=False, text_arming=True, property_order="schema"
    )
    prompt = runner.prompt(conversation(wire))
    requests = [Request(prompt, one, Sampling(temperature=0), max_tokens) for one in (None, automaton)]
    return [completion.text for completion in runner.generate(requests)]


def judge(wire: str, text: str) -> tuple[ToolCall | None, str]:
    """The first call in a reply, and what jsonschema says of its arguments."""
    parser = ReplyParser(wire, [TOOL])
    parser.push_text(text)
    parser.finish()
    if not parser.reply.tool_calls:
        return None, "no call"
    call = parser.reply.tool_calls[0]
    fault = next(jsonschema.Draft202012Validator(TOOL["parameters"]).iter_errors(call.arguments), None)
    return call, "valid" if fault is None else f"not valid: {fault.message}"
