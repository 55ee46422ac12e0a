"""JSON values under a schema, as a part of a grammar."""

from __future__ import annotations

from typing import Any

from .._limits import Limits
from ..automata.oracle import nullable
from ..schema import compile_schema
from ..schema.report import Report
from .expressions import Embed

__all__ = ["json_values"]


def json_values(schema: Any, *, limits: Limits, report: Report, pointer: str = "", **options: Any) -> Embed:
    """The values that `schema` allows; options as for compile_json_schema. The findings on it go into `report`.

    Raises SchemaError, UnsatisfiableError, LimitError.
    """
    node, findings = compile_schema(schema, limits=limits, **options)
    for finding in findings:
        report.add(pointer + finding.pointer, finding.keyword, finding.status, finding.reason)
    assert not nullable(node)
    return Embed(node)
