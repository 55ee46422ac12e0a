"""Tool lists: names, and parameters compiled once for all formats, sequences and threads.

Three shapes of list are read, and may be mixed: OpenAI's (`{"type": "function", "function": {...}}`, or the same
without the inner object), Anthropic's (`input_schema`) and that of the Model Context Protocol (`inputSchema`).

Compiling a tool checks and indexes its schema, and finds out whether any arguments satisfy it. Grammar nodes are built
when a generation reaches them.
"""

from __future__ import annotations

import logging
import marshal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from .._arguments import an_instance, one_of
from .._errors import ConstrainError, LimitError, SchemaError, UnsatisfiableError
from .._limits import Limits, limits_of
from .._saved import frozen
from ..schema.notation import json_notation
from ..schema.options import Options
from ..schema.report import Report
from .listing import declares_nothing, entries, name_of, read
from .parameters import Parameters, ParameterStore, kept_tools, way

__all__ = ["COMPILER_OPTIONS", "BadTools", "Tool", "ToolSchemaCompiler"]

COMPILER_OPTIONS = frozenset(
    "servers additional_properties on_bad_tool draft whitespace property_order formats numbers lenient registry".split()
)
"""Options of ToolSchemaCompiler, but for its limits."""

_log = logging.getLogger("constrain")


class Tool(NamedTuple):
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

    def refuse(self, error: ConstrainError, pointer: str, name: str) -> None:
        """Tell the error of the tool at `pointer`."""
        self.report_or_raise(_of_tool(error, pointer, name), error)

    def report_or_raise(self, error: ConstrainError, cause: Exception | None = None) -> None:
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
    source:   gives the lists as they were given; arguments: all options but registry and limits.

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
        one_of(on_bad_tool, ("raise", "drop"), "on_bad_tool")
        self.options = Options(whitespace, property_order, additional_properties, formats, numbers, lenient)
        json_notation(whitespace)  # a pattern may be wrong
        self.limits = limits_of(limits)
        self.report = Report()
        self.bad = BadTools(on_bad_tool == "drop", self.report)
        self.compiled = 0
        self._store = ParameterStore(draft, registry, self.limits)
        self._way = way(self.options)
        self._options_key = repr(self.options).encode()
        self._said: list[bytes] = []
        if servers is not None and not isinstance(servers, Mapping):
            servers = list(an_instance(servers, Sequence, "servers", "a mapping, or a sequence as long as the tools"))
        found: dict[str, Tool] = {}
        for entry, pointer, server in entries(tools, servers):
            try:
                tool = self._tool(entry, pointer, server)
            except (SchemaError, UnsatisfiableError, LimitError) as error:
                self.bad.refuse(error, pointer, name_of(entry))
                continue
            if tool.name in found:
                self.bad.report_or_raise(_duplicate(tool, found[tool.name]))
                continue
            found[tool.name] = tool
        self.tools: tuple[Tool, ...] = tuple(found.values())
        self._by_name = found
        self.source = self._frozen(tools, servers)
        self.arguments = {
            "additional_properties": additional_properties,
            "on_bad_tool": on_bad_tool,
            "draft": draft,
            "whitespace": whitespace,
            "property_order": property_order,
            "formats": formats,
            "numbers": numbers,
            "lenient": lenient,
        }

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

    def _frozen(self, tools: Any, servers: Any) -> Callable[[], Any]:
        """Gives the lists again, whatever happens to them."""
        said = self._said
        if servers is not None or not isinstance(tools, list) or len(said) != len(tools):
            return frozen({"tools": tools, "servers": servers})
        return lambda: {"tools": [marshal.loads(one) for one in said], "servers": None}

    # One tool -------------------------------------------------------------------------------------------------------

    def _tool(self, entry: Any, pointer: str, server: str | None) -> Tool:
        options = self.options
        try:
            data = marshal.dumps(entry, 2)
            self._said.append(data)
            key = self._store.key_of(data, self._options_key)
        except ValueError:  # something that is not plain JSON; the reader says what
            key = None
        kept = None if key is None else kept_tools.get(key)
        if kept is not None:
            name, parameters, below = kept
            known = True
        else:
            name, schema, below = read(entry)
            if options.additional_properties is False and declares_nothing(schema):
                schema = {**schema, "additionalProperties": False}
            try:
                parameters, known = self._store.get(schema)
                parameters.check(self._way)
            except (SchemaError, UnsatisfiableError) as error:
                error.pointer = below + error.pointer
                raise
            if key is not None:
                kept_tools[key] = name, parameters, below
        report = parameters.document.report
        if report.findings or options.lenient:
            for finding in parameters.findings(options):
                where = f"{pointer}{below}{finding.pointer}"
                self.report.add(where, finding.keyword, finding.status, f"tool {name!r}: {finding.reason}")
        self.compiled += not known
        self.report.subschemas += report.subschemas
        return Tool(name if server is None else f"{server}_{name}", parameters, server, name, pointer + below)


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
