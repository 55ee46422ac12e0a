"""Request bodies for tests: good ones of every interface, and mutations of them."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

from constrain import requests

SCHEMA = {
    "type": "object",
    "properties": {"x": {"type": "integer"}, "name": {"type": "string", "maxLength": 8}},
    "required": ["x"],
    "additionalProperties": False,
}
WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
NAMED = {"name": "get_weather", "input_schema": WEATHER["function"]["parameters"]}

TAG = {
    "type": "structural_tag",
    "structures": [{"begin": "<f>", "schema": SCHEMA, "end": "</f>"}],
    "triggers": ["<f>"],
}

GOOD: list[tuple[Any, dict[str, Any]]] = [
    (requests.chat, {"messages": [], "temperature": 0.5, "user": "me"}),
    (requests.chat, {"response_format": {"type": "text"}}),
    (requests.chat, {"response_format": {"type": "json_object"}}),
    (requests.chat, {"response_format": {"type": "json_schema", "json_schema": {"name": "X", "schema": SCHEMA}}}),
    (requests.chat, {"response_format": {"type": "json_schema", "schema": json.dumps(SCHEMA)}}),
    (requests.chat, {"response_format": TAG}),
    (requests.chat, {"tools": [WEATHER], "tool_choice": "auto", "parallel_tool_calls": False}),
    (requests.chat, {"tools": [WEATHER], "tool_choice": "required", "reasoning_effort": "cot"}),
    (requests.chat, {"tools": [WEATHER], "tool_choice": {"type": "function", "function": {"name": "get_weather"}}}),
    (requests.chat, {"tools": [WEATHER], "tool_choice": "none", "response_format": {"type": "json_object"}}),
    (requests.chat, {"tools": [WEATHER], "response_format": {"type": "json_object"}, "reasoning_effort": "low"}),
    (requests.chat, {"reasoning_effort": "custom:{line}\n{text:50}", "response_format": {"type": "json_object"}}),
    (requests.chat, {"structured_outputs": {"choice": ["yes", "no"]}}),
    (requests.chat, {"structured_outputs": {"regex": "^[a-z]{2,9}(?:-[0-9]+)?$"}}),
    (requests.chat, {"structured_outputs": {"json": SCHEMA, "disable_any_whitespace": True}}),
    (requests.chat, {"structured_outputs": {"json": json.dumps(SCHEMA), "whitespace_pattern": "[ ]?"}}),
    (requests.chat, {"structured_outputs": {"json_object": True, "disable_additional_properties": True}}),
    (requests.chat, {"structured_outputs": {"grammar": 'root ::= "a" [0-9]{1,3} | "(" root ")"'}}),
    (requests.chat, {"structured_outputs": {"grammar": 'start: it ("," it)*\nit: /[a-z]+/ | NUM\nNUM: /[0-9]+/'}}),
    (requests.chat, {"structured_outputs": {"structural_tag": json.dumps(TAG)}}),
    (requests.completions, {"guided_json": SCHEMA, "guided_whitespace_pattern": " ?"}),
    (requests.completions, {"guided_choice": ["a", "ab"]}),
    (requests.completions, {"guided_regex": "a|b*"}),
    (requests.completions, {"guided_grammar": 'root ::= "x"+'}),
    (requests.completions, {"constraint": "(?:ab)+", "constraint_type": "regex"}),
    (requests.completions, {"constraint": 'start: "a"+', "constraint_type": "lark"}),
    (requests.completions, {"constraint": SCHEMA, "constraint_type": "json_schema"}),
    (requests.completions, {"constraint_type": "json"}),
    (requests.completions, {"grammar": 'root ::= [^"\\\\]*'}),
    (requests.responses, {"text": {"format": {"type": "json_schema", "name": "X", "schema": SCHEMA}}}),
    (requests.responses, {"tools": [{"type": "function", **WEATHER["function"]}], "reasoning": {"effort": "high"}}),
    (requests.messages, {"output_format": {"type": "json_schema", "schema": SCHEMA}}),
    (requests.messages, {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}, "effort": "low"}}),
    (requests.messages, {"tools": [NAMED], "tool_choice": {"type": "any", "disable_parallel_tool_use": True}}),
    (requests.messages, {"tools": [NAMED], "tool_choice": {"type": "tool", "name": "get_weather"}}),
]  # fmt: skip

JUNK: list[Any] = [
    None, True, False, 0, 1, -1, 10**30, 1.5, 1e300, "", "a", "json", "json_schema", "auto", "required", "none", "\0",
    "\ud800", "é" * 50, "(", "[", "a{9999999}", "(a+)+$" * 40, "((((a{1,50}){1,50}){1,50}){1,50})", "(?<=a)b", "#",
    "start: start", "root ::= root", 'root ::= "a" root', '{"type": "object"}', '{"$ref": "#"}', "[" * 3000, "custom:",
    "custom:{", "custom:{text:0}", "custom:{line}", [], [[]], {}, {"type": None}, {"type": []}, {"": ""}, {"$ref": "#"},
    {"$ref": "http://example.com/x"}, {"not": {}}, {"enum": []}, {"type": "object", "required": [1]}, {"anyOf": []},
    {"type": "string", "pattern": "(a|b)*a(a|b){12}"}, {"minLength": 10**9},
    {"allOf": [{"type": "string"}, {"type": "null"}]},
    {"uniqueItems": True}, {"multipleOf": 0.1}, {"type": "function"}, {"type": "tool"}, {"function": {"name": "f"}},
    {"oneOf": [{"properties": {c: {"const": c}}} for c in "abcdef"]},
]  # fmt: skip

KEYS = (
    "type", "response_format", "json_schema", "schema", "structured_outputs", "choice", "regex", "json", "grammar",
    "text", "structural_tag", "guided_json", "guided_regex", "guided_choice", "constraint", "constraint_type",
    "tools", "format", "tool_choice", "parallel_tool_calls", "reasoning_effort", "reasoning", "output_format",
    "output_config", "name", "whitespace_pattern", "disable_any_whitespace", "json_object", "ebnf", "functions",
    "properties", "$ref", "items",
)  # fmt: skip


def mutated(rng: random.Random, body: Any) -> Any:
    """A body in which something was put in, taken out, replaced, moved or nested, once or a few times."""
    holder = [copy.deepcopy(body)]
    for _ in range(rng.choice((1, 1, 1, 2, 3, 5))):
        places = list(_places(holder))
        parent, key = rng.choice(places)
        value = parent[key]
        action = rng.randrange(8)
        if action <= 1:
            parent[key] = copy.deepcopy(rng.choice(JUNK))
        elif action == 2:
            other, its_key = rng.choice(places)
            parent[key] = copy.deepcopy(other[its_key])
        elif action == 3 and parent is not holder:
            del parent[key]
        elif action == 4 and isinstance(value, dict):
            value[rng.choice(KEYS)] = copy.deepcopy(rng.choice(JUNK))
        elif action == 5 and isinstance(value, dict):
            for one, other in rng.choice(GOOD)[1].items():
                value.setdefault(one, copy.deepcopy(other))
        elif action == 6 and isinstance(value, str):
            at = rng.randrange(len(value) + 1)
            parent[key] = (
                value[:at]
                + rng.choice(('"', "(", "]", "{", "\\", "*", "::=", ":", "|", "\n", "", "$"))
                + value[at + rng.randrange(2) :]
            )
        else:
            for _ in range(rng.choice((1, 1, 200, 5000))):
                parent[key] = [parent[key]] if rng.random() < 0.5 else {rng.choice(KEYS): parent[key]}
            break  # copying is recursive
    return holder[0]


def _places(value: Any):
    """(container, key) of every value."""
    stack = [value]
    while stack:
        one = stack.pop()
        for key in list(one) if isinstance(one, dict) else range(len(one)):
            yield one, key
            if isinstance(one[key], (dict, list)):
                stack.append(one[key])
