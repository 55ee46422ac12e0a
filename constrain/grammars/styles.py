"""JSON Schema content of structural tags in a `style`: the arguments of tool calls as their formats write them.

The formats are those of `constrain.wires`; where elements may end depends on which are still missing, so the end of the
tag is written together with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .._errors import SchemaError
from ..automata.oracle import nullable
from ..schema.options import Options
from ..schema.report import Report
from .expressions import Embed, Expr, choice, literal, sequence
from .free_text import FreeText

__all__ = ["STYLES", "styled"]

STYLES = {
    "qwen_xml": "qwen3_coder",
    "minimax_xml": "minimax_m2",
    "deepseek_xml": "dsml",
    "deepseek_v4_1_xml": "dsml",
    "glm_xml": "glm47",
    "kimi_k3_xml": "kimi_k3",
    "gemma": "gemma4",
}
"""Styles: the tool-call formats whose arguments they are."""


def styled(schema: Any, style: str, ends: Sequence[str], order: str, text: FreeText, report: Report, at: str) -> Expr:
    """The values of a schema that is an object, and one of `ends` after them. order: "schema" or "any".

    text: knows the tokens and limits. at: pointer to the schema, for the report.

    Raises SchemaError, UnsatisfiableError, LimitError with pointers into the schema.
    """
    from ..wires.markers import WIRES, ElementBody, KeyValueBody, Mark
    from ..wires.marks import Marks
    from ..wires.parameters import Parameters, way
    from ..wires.values import Elements, KeyValues, can_write
    from ..wires.writable import Settings, schema_options

    wire = WIRES[STYLES[style]]
    if style == "deepseek_v4_1_xml":
        assert isinstance(wire.body, ElementBody)
        marks_of = wire.body.key_open, wire.body.value_close
        opened, closed = (replace(mark, text=mark.text.replace("parameter", " parameter")) for mark in marks_of)
        wire = replace(wire, body=replace(wire.body, key_open=opened, value_close=closed))
    vocab, limits = text.tokens.vocab, text.limits
    marks = Marks({}) if vocab is None else Marks(vocab.control)
    parameters = Parameters(schema, None, None, limits)
    options = schema_options(wire, Options("flexible", order, None, "assert", "canonical", False), Settings())
    notation = KeyValues.of(wire.body, marks) if isinstance(wire.body, KeyValueBody) else None
    written = way(options, notation)
    builder, goal = parameters.builder(written)
    parts: list[Expr] = []
    if not isinstance(wire.body, ElementBody):
        node = builder.node(goal)
        parts = [sequence([Embed(node), choice(text.marked(end) for end in ends)])]
    else:
        if not can_write(wire.body, parameters, written):
            raise SchemaError("", "required", f"the style {style} cannot write the name of a required parameter")
        for end in ends:
            mark = Mark.of(end)
            if not mark.text:
                raise SchemaError("", None, f"content in the style {style} needs an end that is not blank")
            ended = replace(wire, close=mark)
            made = Elements(builder, ended, marks, free_json=False, capitals=False)
            node = made.node(goal, Elements.layout(ended, marks, ""))
            assert not nullable(node)
            parts.append(sequence([Embed(node), literal(mark.after)]))
    for finding in parameters.findings(options):
        report.add(at + finding.pointer, finding.keyword, finding.status, finding.reason)
    text.tokens.used.update(marks.ids.values())
    return choice(parts)
