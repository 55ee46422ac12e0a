"""Tool sets of any size, and one full call of a tool in several formats."""

from __future__ import annotations

import json
from typing import Any

import constrain

__all__ = ["call", "fresh", "tools", "written"]

_ACTIONS = "open close list find get put copy move rename delete check build sign send read plan".split()
_THINGS = "ticket order parcel invoice account report calendar message".split()
_TEXTS = "subject body reason address comment source target author".split()


def tools(count: int) -> list[dict[str, Any]]:
    """OpenAI's shape; every tool has ten parameters, four of them required."""
    made = []
    for k in range(count):
        first, second, third, fourth = (_TEXTS[(k + 3 * j) % 8] for j in range(4))
        text = {"type": "string"}
        members = {
            first: {"type": "string", "description": f"The {first}."},
            second: text,
            "limit": {"type": "integer", "minimum": 1, "maximum": 50 + k},
            "weight": {"type": "number"},
            "urgent": {"type": "boolean"},
            "state": {"type": "string", "enum": [f"{thing}_{k % 5}" for thing in _THINGS[: 3 + k % 6]]},
            "labels": {"type": "array", "items": text},
            third: text,
            "retry": {
                "type": "object",
                "properties": {"mode": {"enum": ["once", "twice", "never"]}, "wait": {"type": "integer", "minimum": 0}},
                "required": ["mode"],
                "additionalProperties": False,
            },
            fourth: text,
        }
        schema = {"type": "object", "properties": members, "required": [first, second, "limit", "state"], "additionalProperties": False}  # fmt: skip
        name = f"{_ACTIONS[k % 16]}_{_THINGS[k // 16 % 8]}" + (f"_{k // 128}" if k >= 128 else "")
        made.append({"type": "function", "function": {"name": name, "description": f"Tool {k}.", "parameters": schema}})
    return made


def arguments(tool: dict[str, Any]) -> dict[str, Any]:
    """A value for every parameter."""
    values: dict[str, Any] = {}
    for name, schema in tool["function"]["parameters"]["properties"].items():
        kind = schema["type"]
        if "enum" in schema:
            values[name] = schema["enum"][-1]
        elif kind == "string":
            values[name] = f'The {name} says: "rows 3 to 7 are broken", and more.\nA second line, then a third.'
        else:
            some = {"integer": 42, "number": 0.75, "boolean": True, "array": ["late", "to check"]}
            values[name] = some.get(kind, {"mode": "twice", "wait": 30})
    return values


def call(wire: str, tool: dict[str, Any]) -> str:
    """A call of the tool with every parameter, as models write it."""
    return written(wire, tool["function"]["name"], arguments(tool))


def written(wire: str, name: str, values: dict[str, Any]) -> str:
    """A call with these arguments, in the order in which they are given."""
    if wire == "hermes":
        return f'<tool_call>\n{{"name": "{name}", "arguments": {json.dumps(values)}}}\n</tool_call>'
    if wire == "llama3":
        return f'<|python_tag|>{{"name": "{name}", "parameters": {json.dumps(values)}}}'
    if wire == "gemma4":
        return f"<|tool_call>call:{name}{_gemma(values)}<tool_call|>"
    inner = "".join(
        f"<parameter={key}>\n{value if isinstance(value, str) else json.dumps(value)}\n</parameter>\n"
        for key, value in values.items()
    )
    return f"<tool_call>\n<function={name}>\n{inner}</function>\n</tool_call>"


def _gemma(value: Any) -> str:
    if isinstance(value, str):
        return f'<|"|>{value}<|"|>'
    if isinstance(value, dict):
        return "{" + ",".join(f"{key}:{_gemma(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_gemma, value)) + "]"
    return json.dumps(value)


def fresh(tools: Any, vocabulary: constrain.Vocabulary, wire: str, **options: Any) -> Any:
    """An automaton that is not the one of an earlier call with the same arguments. A call is demanded by default."""
    from constrain.wires.automaton import ToolAutomaton

    return ToolAutomaton(tools, vocabulary, wire, **{"tool_choice": "required", **options})
