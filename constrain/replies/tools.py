"""The schemas of the arguments in a request's list of tools."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .._errors import SchemaError

__all__ = ["argument_schemas"]


def argument_schemas(tools: Iterable[Any]) -> dict[str, Any]:
    """Name -> schema of the arguments, from the OpenAI, the Anthropic or the MCP form.

    None where there is none: the tool takes anything. Schemas are not looked at. SchemaError where a tool has no name.
    """
    found = {}
    for number, tool in enumerate(tools):
        inner = tool.get("function", tool) if isinstance(tool, Mapping) else None
        if not isinstance(inner, Mapping) or not isinstance(inner.get("name"), str):
            raise SchemaError(
                f"/{number}", None, "a tool must be an object with a name, or with a function that has one"
            )
        keys = ("parameters", "input_schema", "inputSchema")
        found[inner["name"]] = next((inner[key] for key in keys if key in inner), None)
    return found
