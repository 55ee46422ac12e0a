"""What a format can write, and the options that say so."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from .._arguments import one_of
from ..schema.options import Options
from .markers import ElementBody, JsonBody, KeyValueBody, Mark, Wire
from .values import BARE_KEYS

__all__ = ["Settings", "schema_options", "unwritable_in_names"]


@dataclass(frozen=True)
class Settings:
    """Options of the constraint that are not about schemas. See `constrain.wires.automaton.ToolAutomaton`."""

    parallel: bool = True
    names: str = "declared"
    json_values: str = "schema"
    spelled_markers: str | None = None
    literals: str = "json"

    def __post_init__(self) -> None:
        for name, value, choices in (
            ("names", self.names, ("declared", "any")),
            ("json_values", self.json_values, ("schema", "free")),
            ("spelled_markers", self.spelled_markers, (None, "allow", "forbid")),
            ("literals", self.literals, ("json", "both")),
        ):
            one_of(value, choices, name)


def schema_options(wire: Wire, options: Options, settings: Settings) -> Options:
    """The options under which arguments are compiled for a format: what cannot be written does not exist."""
    forbidden: list[str] = []
    body = wire.body
    if isinstance(body, ElementBody):
        forbidden.append(body.value_close.text)
    spelled = settings.spelled_markers or ("allow" if isinstance(body, JsonBody) else "forbid")
    if spelled == "forbid":
        thinking = (wire.reasoning.open.text, wire.reasoning.close.text) if wire.reasoning else ()
        forbidden += [text for text in wire.controls if text not in thinking]
    without = tuple(dict.fromkeys(forbidden))
    if isinstance(body, KeyValueBody):
        return replace(options, without=without, key_pattern=BARE_KEYS, json=False)
    return replace(options, without=without)


def unwritable_in_names(wire: Wire, options: Options) -> re.Pattern[str] | None:
    """What a tool's name cannot have in it: how the marker after it begins, and markers not to be spelled."""
    body = wire.body
    ends = [re.escape(text) for text in options.without]
    in_json = isinstance(body, JsonBody) and body.envelope is not None
    if not in_json and not (isinstance(body, ElementBody) and body.attribute_escapes):
        follows = {"<", "{"}
        for head in wire.heads:
            for close in (*((Mark(head.counter.before),) if head.counter else ()), *head.closes):
                follows.update(str(close)[:1])
        ends.append("[" + re.escape("".join(sorted(follows))) + "]")
    return re.compile("|".join(ends)) if ends else None
