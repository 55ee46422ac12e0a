"""The pushdown engine, and under their usual names the automata of tool calls (which are front ends:
`constrain.wires`).
"""

from __future__ import annotations

__all__ = [
    "CompositeToolAutomaton",
    "GemmaToolAutomaton",
    "JsonToolAutomaton",
    "QwenCoderToolAutomaton",
    "ToolAutomaton",
    "ToolSchemaCompiler",
]


def __getattr__(name: str) -> object:
    if name in __all__:
        from ..wires import automaton, kinds, tools

        module = {"ToolSchemaCompiler": tools, "ToolAutomaton": automaton}.get(name, kinds)
        return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
