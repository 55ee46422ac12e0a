"""What the tests of sessions share."""

from __future__ import annotations

from typing import Any

import constrain

from ..wires.support import FIRST_CONTROL, VOCABULARY, WIDTH, id_of, make_vocabulary, mask_of

__all__ = [
    "ANSWER",
    "BARE",
    "CALL",
    "FIRST_CONTROL",
    "SCHEMA",
    "TOOLS",
    "VOCABULARY",
    "WIDTH",
    "id_of",
    "ids",
    "kinds",
    "mask_of",
]

SCHEMA = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"], "additionalProperties": False}
ANSWER = constrain.compile_json_schema(SCHEMA, VOCABULARY, property_order="schema")
TOOLS = [
    {"name": "ping", "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}}
]
CALL = '<tool_call>\n{"name": "ping", "arguments": {"n": 1}}\n</tool_call>'

BARE = make_vocabulary(without=("<tool_call>", "</tool_call>", "<think>", "</think>"))
"""A vocabulary in which markers are text."""


def ids(text: str, vocabulary: constrain.Vocabulary = VOCABULARY) -> list[int]:
    """Tokens of one byte, and control tokens."""
    found: list[int] = []
    while text:
        name = next((name for name in vocabulary.control if text.startswith(name)), None)
        found += [vocabulary.control[name]] if name else list(text[0].encode())
        text = text[len(name) if name else 1 :]
    return found


def kinds(session: Any) -> list[tuple[str, int]]:
    return [(event.kind, event.position) for event in session.events]
