"""`compile_schema`: from a schema to the node of its grammar."""

from __future__ import annotations

from typing import Any

from .._errors import LimitError, SchemaError, UnsatisfiableError
from .._limits import Limits, timed
from ..automata.grammar import Node
from .build import Builder
from .check import scan
from .contradiction import contradiction
from .dialect import Draft
from .document import Document, chosen_draft, load
from .forms import Goal
from .normal import Normaliser
from .options import Options
from .report import Report
from .signals import InProgress

__all__ = ["compile_schema", "normalised"]


def compile_schema(
    schema: Any,
    *,
    draft: str | int | Draft | None = None,
    whitespace: str = "flexible",
    property_order: str = "any",
    additional_properties: bool | None = None,
    formats: str = "assert",
    numbers: str = "canonical",
    lenient: bool = False,
    openapi: bool = False,
    registry: Any = None,
    limits: Limits | None = None,
) -> tuple[Node, Report]:
    """The grammar node of a JSON Schema, and the report on its keywords.

    schema:                dict, bool, JSON text (str or bytes), or a type that pydantic can describe.
    draft:                 4, 6, 7, "2019-09" or "2020-12"; None: what `$schema` says, else 2020-12.
    whitespace:            "flexible", "compact", "single" or a pattern for the text between tokens.
    property_order:        "any" (each key once, in any order) or "schema" (declared keys in the order of their
    declaration). additional_properties: None: as JSON Schema says (open); False: objects that declare members and
    say nothing about others are closed.
    formats:               "assert": known formats are enforced; "annotate": no format is.
    numbers:               spelling of numbers, "canonical" or "any".
    lenient:               keywords that cannot be enforced have no effect and are reported as relaxed, instead of
    an error.
    openapi:               OpenAPI's `nullable` and `discriminator` are read; else the report notes them.
    registry:              a `referencing.Registry` with the documents that references outside the schema need.

    Raises SchemaError (malformed, or not enforceable), UnsatisfiableError (no value satisfies it), LimitError,
    ValueError (options).
    """
    limits = limits or Limits()
    options = Options(whitespace, property_order, additional_properties, formats, numbers, lenient, openapi)
    try:
        with timed(limits):
            normaliser, root = normalised(schema, options, draft, registry, limits)
            if normaliser.document.hard or lenient:
                normaliser.survey(root)
            if not normaliser.emptiness.inhabited(root):
                raise UnsatisfiableError(*contradiction(normaliser, root))
            return Builder(normaliser).node(root), normaliser.report
    except InProgress:
        raise SchemaError("", "$ref", "refers to itself without any structure in between") from None
    except RecursionError:
        raise LimitError("max_depth", limits.max_depth, "nesting of schemas about one value") from None


def normalised(
    schema: Any, options: Options, draft: str | int | Draft | None, registry: Any, limits: Limits
) -> tuple[Normaliser, Goal]:
    """What a compilation starts from: the document read, checked and indexed, and the goal of its root."""
    report = Report()
    document = Document(load(schema, limits), chosen_draft(draft), registry, limits, report, options.openapi)
    scan(document)
    report.subschemas = len(document.locations)
    normaliser = Normaliser(document, options, limits, report)
    return normaliser, normaliser.goals.at(document.root)
