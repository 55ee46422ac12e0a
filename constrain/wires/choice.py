"""What a request says about which tools to call: `tool_choice` in OpenAI's and Anthropic's forms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._errors import RequestError

__all__ = ["Choice", "read_choice"]

_MODES = {"auto": "auto", "required": "required", "any": "required", "none": "none", "validated": "auto"}
_HELP = (
    '"auto", "required" (or "any"), "none", the name of a tool, or the object of the OpenAI or the Anthropic interface'
)


@dataclass(frozen=True)
class Choice:
    """mode: "auto", "required" or "none".     names: the tools that may be called, None for all.
    parallel: False where the choice itself asks for a single call.
    """

    mode: str
    names: tuple[str, ...] | None = None
    parallel: bool = True


def read_choice(choice: Any, tools: Sequence[str]) -> Choice:
    """The choice among tools of these names. Raises RequestError."""
    if choice is None:
        return Choice("auto")
    if isinstance(choice, str):
        found = Choice(_MODES[choice]) if choice in _MODES else Choice("required", (choice,))
    elif isinstance(choice, Mapping):
        found = _of_object(choice)
    else:
        raise RequestError("tool_choice", f"must be {_HELP}; not {type(choice).__name__}")
    unknown = [name for name in found.names or () if name not in tools]
    if unknown:
        known = ", ".join(map(repr, tools[:20])) or "none"
        raise RequestError("tool_choice", f"there is no tool named {unknown[0]!r}; there are {known}")
    if found.mode == "required" and not tools:
        raise RequestError("tool_choice", "a call is required, but there are no tools")
    return found


def _of_object(choice: Mapping[str, Any]) -> Choice:
    kind = choice.get("type")
    parallel = choice.get("disable_parallel_tool_use") is not True
    if not isinstance(kind, str):
        raise RequestError("tool_choice.type", f"must be a string, not {type(kind).__name__}")
    if kind in ("auto", "any", "none", "required"):
        return Choice(_MODES[kind], None, parallel)
    if kind in ("function", "tool", "custom"):
        inner = choice.get(kind)
        named = inner if isinstance(inner, Mapping) else choice
        field = f"tool_choice.{kind}.name" if named is inner else "tool_choice.name"
        return Choice("required", (_name(named.get("name"), field),), parallel)
    if kind == "allowed_tools":
        inner = choice.get("allowed_tools", choice)
        if not isinstance(inner, Mapping) or not isinstance(inner.get("tools"), list):
            raise RequestError("tool_choice.tools", "must be a list of tools")
        mode = inner.get("mode", "auto")
        if mode not in ("auto", "required"):
            raise RequestError("tool_choice.mode", 'must be "auto" or "required"')
        return Choice(mode, tuple(_allowed(tool, i) for i, tool in enumerate(inner["tools"])), parallel)
    raise RequestError("tool_choice.type", f"{kind!r} is not known; use auto, any, required, none, tool or function")


def _allowed(tool: Any, i: int) -> str:
    if isinstance(tool, Mapping) and isinstance(tool.get("function"), Mapping):
        tool = tool["function"]
    return _name(tool.get("name") if isinstance(tool, Mapping) else None, f"tool_choice.tools[{i}].name")


def _name(name: Any, field: str) -> str:
    if not isinstance(name, str):
        raise RequestError(field, "is missing" if name is None else f"must be a string, not {type(name).__name__}")
    return name
