"""The schemas of the arguments in a request's list of tools."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .._errors import SchemaError
from ..wires.tools import ToolSchemaCompiler

__all__ = ["argument_schemas"]


def argument_schemas(tools: ToolSchemaCompiler | Iterable[Any]) -> dict[str, Any]:
    """Name -> schema of the arguments; of a list in the OpenAI, the Anthropic or the MCP form, or of compiled tools.

    None where there is none: the tool takes anything. Schemas are not looked at. SchemaError where a tool has no name.
    """
    if isinstance(tools, ToolSchemaCompiler):
        return {tool.name: tool.parameters.document.root.schema for tool in tools.tools}
    found = {}
    entries = tools.get("tools", ()) if isinstance(tools, Mapping) else tools
    for number, tool in enumerate(entries):
        inner = tool.get("function", tool) if isinstance(tool, Mapping) else None
        if not isinstance(inner, Mapping) or not isinstance(inner.get("name"), str):
            reason = "a tool is an object with a name, or with a function that has one"
            raise SchemaError(f"/{number}", None, reason)
        keys = ("parameters", "input_schema", "inputSchema")
        found[inner["name"]] = next((inner[key] for key in keys if key in inner), None)
    return found
