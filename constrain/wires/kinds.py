"""The tool automata by kinds of formats, under their usual names; all of them are `ToolAutomaton`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._errors import ArgumentError
from ..vocabulary import Vocabulary
from .automaton import ToolAutomaton
from .markers import WIRES, JsonBody, KeyValueBody, members

__all__ = ["CompositeToolAutomaton", "GemmaToolAutomaton", "JsonToolAutomaton", "QwenCoderToolAutomaton"]


class JsonToolAutomaton(ToolAutomaton):
    """Calls whose arguments are JSON objects: Hermes and Qwen (the default), Llama, Mistral, DeepSeek, Kimi K2 and
    others.
    """

    def __init__(self, tools: Any, vocab: Vocabulary | None, wire: str = "hermes", **options: Any) -> None:
        _require(wire, JsonBody)
        super().__init__(tools, vocab, wire, **options)


class GemmaToolAutomaton(ToolAutomaton):
    """Calls in key:value notation: Gemma 4 (the default) and FunctionGemma."""

    def __init__(self, tools: Any, vocab: Vocabulary | None, wire: str = "gemma4", **options: Any) -> None:
        _require(wire, KeyValueBody)
        super().__init__(tools, vocab, wire, **options)


class QwenCoderToolAutomaton(ToolAutomaton):
    """Calls of Qwen3-Coder and its successors: one element per parameter, strings as raw text."""

    def __init__(self, tools: Any, vocab: Vocabulary | None, **options: Any) -> None:
        super().__init__(tools, vocab, "qwen3_coder", **options)


class CompositeToolAutomaton(ToolAutomaton):
    """Several formats at once, by default Hermes and Qwen3-Coder: a call shows by its first byte which one it is in."""

    def __init__(
        self, tools: Any, vocab: Vocabulary | None, wire: str | Sequence[str] = "qwen", **options: Any
    ) -> None:
        super().__init__(tools, vocab, wire, **options)


def _require(wire: str, body: type) -> None:
    if not all(isinstance(one.body, body) for one in members(wire)):
        fitting = ", ".join(one.name for one in WIRES.values() if isinstance(one.body, body))
        raise ArgumentError(f"wire={wire!r} is another kind of format; use one of {fitting}")
