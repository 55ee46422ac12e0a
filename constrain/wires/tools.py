"""Tool lists: names, and parameters compiled once for all formats, sequences and threads.

Three shapes of list are read, and may be mixed: OpenAI's (`{"type": "function", "function": {...}}`, or the same
without the inner object), Anthropic's (`input_schema`) and that of the Model Context Protocol (`inputSchema`).

Compiling a tool checks and indexes its schema, and finds out whether any arguments satisfy it. Grammar nodes are built
when a generation reaches them. What was compiled is kept by content, so of a list that changes in one tool only that
tool is compiled again.
"""

from __future__ import annotations

import logging
import marshal
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from .._errors import ConstrainError, LimitError, SchemaError, UnsatisfiableError
from .._limits import Limits
from ..schema.build import Builder
from ..schema.compile import normalise, scanned
from ..schema.dialect import IN_PLACE
from ..schema.document import Document, Location
from ..schema.forms import Goal
from ..schema.notation import Notation
from ..schema.options import Options
from ..schema.report import Report
from ..schema.strings import encodable

__all__ = ["BadTools", "Parameters", "Tool", "ToolSchemaCompiler"]

T = TypeVar("T")

_log = logging.getLogger("constrain")

_KEPT = 4096
"""Compiled parameters that are kept for later lists."""

NO_PARAMETERS = {"type": "object", "properties": {}, "additionalProperties": False}


class Parameters:
    """The schema of one tool's arguments: checked and indexed once, put into normal form once per way of writing."""

    def __init__(self, schema: Any, draft: str | int | None, registry: Any, limits: Limits) -> None:
        self.document: Document = scanned(schema, draft=draft, registry=registry, limits=limits)
        self.lock = threading.RLock()
        self._builders: dict[tuple[Options, Notation | None], tuple[Builder, Goal]] = {}
        self._reports: dict[Options, Report] = {}

    def arguments(self, options: Options, notation: Notation | None = None) -> tuple[Builder, Goal]:
        """A builder and the goal of the arguments, which are an object. Raises as `normalise` does."""
        with self.lock:
            found = self._builders.get((options, notation))
            if found is None:
                shared = next((b for (o, _), (b, _) in self._builders.items() if o == options), None)
                report = self._reports.setdefault(options, Report())
                normaliser = shared.normaliser if shared else normalise(self.document, options, report)
                builder = Builder(normaliser, notation, self.lock)
                found = self._builders[options, notation] = builder, self._object(builder)
            return found

    def _object(self, builder: Builder) -> Goal:
        """The goal of the root, if need be without the values that are not objects."""
        root = self.document.root
        goal = builder.normaliser.root
        if isinstance(root.schema, dict) and root.schema.get("type") == "object":
            return goal
        goals, emptiness = builder.normaliser.goals, builder.normaliser.emptiness
        is_object = goals.at(Location(_OBJECT, root.scope, None, ""))
        goal = goals.conj(goal, is_object)
        if not emptiness.inhabited(goal):
            raise UnsatisfiableError("", "arguments are an object, and this allows none")
        return goal

    def findings(self, options: Options) -> Iterator[Any]:
        """What became of the keywords."""
        yield from self.document.report
        yield from self._reports.get(options, ())


_OBJECT = {"type": "object"}


@dataclass(frozen=True)
class Tool:
    """name: as the model writes it. server, own_name: where it comes from, and its name there.
    pointer: JSON pointer of its parameters in the list.
    """

    name: str
    parameters: Parameters
    server: str | None
    own_name: str
    pointer: str


@dataclass
class BadTools:
    """What becomes of tools that cannot be used: an error, or under `drop` a finding and a warning."""

    drop: bool
    report: Report

    def copy(self) -> BadTools:
        """The same policy, with a report of its own that begins with the same findings."""
        return BadTools(self.drop, Report(list(self.report.findings), self.report.subschemas))

    def guarded(self, pointer: str, name: str, make: Callable[[], T]) -> T | None:
        """What `make` makes. An error is told of the tool at `pointer`; None where the tool is dropped."""
        try:
            return make()
        except (SchemaError, UnsatisfiableError, LimitError) as error:
            self.refuse(_of_tool(error, pointer, name), error)
            return None

    def refuse(self, error: ConstrainError, cause: Exception | None = None) -> None:
        if not self.drop:
            raise error from cause
        self.report.add(getattr(error, "pointer", ""), getattr(error, "keyword", None) or "", "refused", str(error))
        _log.warning("a tool is left out: %s", error)


class ToolSchemaCompiler:
    """A list of tools, compiled: what all tool automata of all formats share. Immutable.

    tools:   an OpenAI, Anthropic or MCP list, or an MCP result with such a list under "tools".
    servers: for tools of several MCP servers: either a list with the server of each tool (None for no server), or a
             mapping of server names to further lists. A tool of a server is called `<server>_<tool>`; `route` gives
             both back.
    additional_properties: False: objects that declare properties and say nothing of others have no others; None: as
             JSON Schema has it. A tool without parameters, or with `"properties": {}`, takes exactly {}.
    on_bad_tool: "raise", or "drop": leave a tool out that cannot be used, with a finding in the report and a warning in
             the log `constrain`.
    The other options are those of `constrain.compile_json_schema`.

    tools:    tuple of Tool, in the order of the list.      report: findings; pointers begin in the list.
    compiled: how many of the schemas were read; the others were known already.

    Raises SchemaError, whose pointer leads into the list and whose reason names the tool; UnsatisfiableError;
    LimitError.
    """

    def __init__(
        self,
        tools: Any,
        *,
        servers: Mapping[str, Any] | Sequence[str | None] | None = None,
        additional_properties: bool | None = False,
        on_bad_tool: str = "raise",
        draft: str | int | None = None,
        whitespace: str = "flexible",
        property_order: str = "any",
        formats: str = "assert",
        numbers: str = "canonical",
        lenient: bool = False,
        registry: Any = None,
        limits: Limits | None = None,
    ) -> None:
        if on_bad_tool not in ("raise", "drop"):
            raise ValueError(f"on_bad_tool={on_bad_tool!r}; use 'raise' or 'drop'")
        self.options = Options(whitespace, property_order, additional_properties, formats, numbers, lenient)
        self.limits = limits or Limits()
        self.report = Report()
        self.bad = BadTools(on_bad_tool == "drop", self.report)
        self.compiled = 0
        self._draft, self._registry = draft, registry
        found: dict[str, Tool] = {}
        for entry, pointer, server in _entries(tools, servers):
            tool = self.bad.guarded(pointer, _shown_name(entry), partial(self._tool, entry, pointer, server))
            if tool is None:
                continue
            if tool.name in found:
                self.bad.refuse(_duplicate(tool, found[tool.name]))
                continue
            found[tool.name] = tool
        self.tools: tuple[Tool, ...] = tuple(found.values())
        self._by_name = found

    def __getitem__(self, name: str) -> Tool:
        """The tool of that name. KeyError when there is none."""
        return self._by_name[name]

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def __len__(self) -> int:
        return len(self.tools)

    def route(self, name: str) -> tuple[str | None, str]:
        """(server, the tool's name there) of a name that a model called. KeyError when there is no such tool."""
        tool = self._by_name[name]
        return tool.server, tool.own_name

    # One tool -------------------------------------------------------------------------------------------------------

    def _tool(self, entry: Any, pointer: str, server: str | None) -> Tool:
        name, schema, below = _read(entry)
        if self.options.additional_properties is False and _declares_nothing(schema):
            schema = {**schema, "additionalProperties": False}
        try:
            parameters = self._parameters(schema)
            parameters.arguments(self.options)
            if parameters.document.report.findings or self.options.lenient:
                for finding in parameters.findings(self.options):
                    where = f"{pointer}{below}{finding.pointer}"
                    self.report.add(where, finding.keyword, finding.status, f"tool {name!r}: {finding.reason}")
        except (SchemaError, UnsatisfiableError) as error:
            error.pointer = below + error.pointer
            raise
        self.report.subschemas += parameters.document.report.subschemas
        return Tool(name if server is None else f"{server}_{name}", parameters, server, name, pointer + below)

    def _parameters(self, schema: Any) -> Parameters:
        """The compiled parameters, from the store if the same schema was compiled before."""
        if self._registry is not None:
            return self._read_parameters(schema)
        try:
            key = marshal.dumps(schema, 2), self._draft, self.limits
        except ValueError:  # something that is not plain JSON; the reader says what
            return self._read_parameters(schema)
        with _store_lock:
            found = _store.get(key)
            if found is not None:
                _store.move_to_end(key)
                return found
        made = self._read_parameters(schema)
        with _store_lock:
            _store[key] = made
            while len(_store) > _KEPT:
                _store.popitem(last=False)
        return made

    def _read_parameters(self, schema: Any) -> Parameters:
        self.compiled += 1
        return Parameters(schema, self._draft, self._registry, self.limits)


_store: OrderedDict[Any, Parameters] = OrderedDict()
_store_lock = threading.Lock()


def _entries(tools: Any, servers: Any) -> Iterator[tuple[Any, str, str | None]]:
    """(tool, pointer, server) of every tool of every list."""
    names: Sequence[str | None] = ()
    if servers is not None and not isinstance(servers, Mapping):
        names = list(servers)
    entries = list(_list(tools, "")) if tools is not None else []
    if names and len(names) != len(entries):
        raise SchemaError("", None, f"servers names {len(names)} servers for {len(entries)} tools; use one per tool")
    for i, (entry, pointer) in enumerate(entries):
        yield entry, pointer, _server(names[i]) if names else None
    if isinstance(servers, Mapping):
        for server, more in servers.items():
            for entry, pointer in _list(more, "/" + _escaped(str(server))):
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


def _read(entry: Any) -> tuple[str, Any, str]:
    """(name, schema of the arguments, its pointer in the tool)."""
    if not isinstance(entry, Mapping):
        raise SchemaError("", None, f"a tool is an object, not {type(entry).__name__}")
    body, below = entry, ""
    if "function" in entry:
        body, below = entry["function"], "/function"
        if not isinstance(body, Mapping):
            raise SchemaError(below, None, f"a function is an object, not {type(body).__name__}")
    name = body.get("name")
    if not isinstance(name, str):
        raise SchemaError(below, "name", "is missing" if name is None else "must be a string")
    if not _is_name(name):
        raise SchemaError(below, "name", f"{name!r} cannot be a tool's name: {_NAME_RULE}")
    for keyword in ("parameters", "input_schema", "inputSchema"):
        if keyword in body:
            schema = body[keyword]
            if schema is None or (isinstance(schema, (list, str, int, float)) and not isinstance(schema, bool)):
                kind = "null" if schema is None else type(schema).__name__
                raise SchemaError(below, keyword, f"must be a JSON Schema, which is an object, not {kind}")
            return name, schema, f"{below}/{keyword}"
    if body is entry and entry.get("type", "function") not in ("function", "custom"):
        raise SchemaError(below, "type", f"{entry['type']!r} is run by the provider; it has no arguments to constrain")
    return name, NO_PARAMETERS, below


def _declares_nothing(schema: Any) -> bool:
    """Whether the schema gives an empty list of properties and says no more of them."""
    if not isinstance(schema, Mapping) or schema.get("properties") != {} or schema.get("required"):
        return False
    return _ABOUT_MEMBERS.isdisjoint(schema)


_ABOUT_MEMBERS = IN_PLACE | frozenset(
    "additionalProperties patternProperties propertyNames unevaluatedProperties dependentRequired".split()
)

_NAME_RULE = "it must have characters, all of them printable and none of them a blank"


def _is_name(name: str) -> bool:
    return bool(name) and name.isprintable() and encodable(name) and not any(c.isspace() for c in name)


def _shown_name(entry: Any) -> str:
    """The name of a tool that may be malformed, for messages."""
    body = entry.get("function", entry) if isinstance(entry, Mapping) else None
    name = body.get("name") if isinstance(body, Mapping) else None
    return name if isinstance(name, str) else ""


def _escaped(token: str) -> str:
    return token.replace("~", "~0").replace("/", "~1")


def _of_tool(error: ConstrainError, pointer: str, name: str) -> ConstrainError:
    """The error, told of a tool of the list."""
    who = f"tool {name!r}" if name else "a tool"
    if isinstance(error, SchemaError):
        return SchemaError(pointer + error.pointer, error.keyword, f"{who}: {error.reason}")
    if isinstance(error, UnsatisfiableError):
        return UnsatisfiableError(pointer + error.pointer, f"{who}: {error.reason}")
    assert isinstance(error, LimitError)
    return LimitError(error.limit, error.value, f"{who}: {error.what}")


def _duplicate(tool: Tool, other: Tool) -> SchemaError:
    def whose(one: Tool) -> str:
        return f"{one.own_name!r} of server {one.server!r}" if one.server else f"the one at {one.pointer}"

    return SchemaError(
        tool.pointer, "name", f"tool {tool.name!r}: the name is taken by {whose(other)}; tools need different names"
    )
