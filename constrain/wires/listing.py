"""Reads lists of tools: where each tool's name and schema stand in the shapes that interfaces give them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from .._errors import SchemaError
from ..schema.dialect import IN_PLACE
from ..schema.strings import encodable

__all__ = ["declares_nothing", "entries", "name_of", "read"]

NO_PARAMETERS = {"type": "object", "properties": {}, "additionalProperties": False}

_NAME_RULE = "it must have characters, all of them printable and none of them a blank"
_SCHEMAS = ("parameters", "input_schema", "inputSchema")
_ABOUT_MEMBERS = IN_PLACE | frozenset(
    "additionalProperties patternProperties propertyNames unevaluatedProperties dependentRequired".split()
)


def entries(tools: Any, servers: Any) -> Iterator[tuple[Any, str, str | None]]:
    """(tool, pointer, server) of every tool of every list."""
    names: Sequence[str | None] = ()
    if servers is not None and not isinstance(servers, Mapping):
        names = list(servers)
    listed = list(_list(tools, "")) if tools is not None else []
    if names and len(names) != len(listed):
        raise SchemaError("", None, f"servers names {len(names)} servers for {len(listed)} tools; use one per tool")
    for i, (entry, pointer) in enumerate(listed):
        yield entry, pointer, _server(names[i]) if names else None
    if isinstance(servers, Mapping):
        for server, more in servers.items():
            for entry, pointer in _list(more, "/" + str(server).replace("~", "~0").replace("/", "~1")):
                yield entry, pointer, _server(server)


def _list(tools: Any, pointer: str) -> Iterator[tuple[Any, str]]:
    if isinstance(tools, Mapping) and "tools" in tools:
        tools, pointer = tools["tools"], pointer + "/tools"
    if isinstance(tools, (str, bytes, Mapping)) or not isinstance(tools, Sequence):
        raise SchemaError(pointer, None, f"tools are a list, not {type(tools).__name__}")
    for i, entry in enumerate(tools):
        yield entry, f"{pointer}/{i}"


def _server(name: Any) -> str | None:
    if name is not None and not (isinstance(name, str) and _is_name(name)):
        raise SchemaError("", None, f"{name!r} cannot be the name of a server: {_NAME_RULE}")
    return name


def read(entry: Any) -> tuple[str, Any, str]:
    """(name, schema of the arguments, its pointer in the tool). Raises SchemaError."""
    if not isinstance(entry, dict):
        raise SchemaError("", None, f"a tool is an object, not {type(entry).__name__}")
    body, below = entry, ""
    if "function" in entry:
        body, below = entry["function"], "/function"
        if not isinstance(body, dict):
            raise SchemaError(below, None, f"a function is an object, not {type(body).__name__}")
    name = body.get("name")
    if not isinstance(name, str):
        raise SchemaError(below, "name", "is missing" if name is None else "must be a string")
    if not _is_name(name):
        raise SchemaError(below, "name", f"{name!r} cannot be a tool's name: {_NAME_RULE}")
    for keyword in _SCHEMAS:
        if keyword in body:
            schema = body[keyword]
            if not isinstance(schema, (dict, bool)):
                kind = "null" if schema is None else type(schema).__name__
                raise SchemaError(below, keyword, f"must be a JSON Schema, which is an object, not {kind}")
            return name, schema, f"{below}/{keyword}"
    if body is entry and entry.get("type", "function") not in ("function", "custom"):
        raise SchemaError(below, "type", f"{entry['type']!r} is run by the provider; it has no arguments to constrain")
    return name, NO_PARAMETERS, below


def declares_nothing(schema: Any) -> bool:
    """Whether the schema gives an empty list of properties and says no more of them."""
    if not isinstance(schema, dict) or schema.get("properties") != {} or schema.get("required"):
        return False
    return _ABOUT_MEMBERS.isdisjoint(schema)


@lru_cache(maxsize=8192)
def _is_name(name: str) -> bool:
    return len(name.split()) == 1 and name.isprintable() and " " not in name and encodable(name)


def name_of(entry: Any) -> str:
    """The name of a tool that may be malformed, for messages."""
    body = entry.get("function", entry) if isinstance(entry, dict) else None
    name = body.get("name") if isinstance(body, dict) else None
    return name if isinstance(name, str) else ""
