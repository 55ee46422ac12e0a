"""`compile_schema`: from a schema to the node of its grammar; and the steps on the way, for who compiles more often."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .._errors import LimitError, SchemaError, UnsatisfiableError
from .._limits import Limits, timed
from ..automata.grammar import Node
from .build import Builder
from .check import scan
from .commons import commons
from .contradiction import contradiction
from .dialect import Draft
from .document import Document, chosen_draft, load
from .forms import Goal
from .normal import Normaliser
from .notation import json_notation
from .options import Options
from .report import Report
from .signals import InProgress
from .survey import survey

__all__ = ["common_nodes", "compile_document", "compile_schema", "normalise", "normalised", "scanned"]


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
    with timed(limits):
        document = scanned(schema, draft=draft, registry=registry, limits=limits, openapi=openapi)
        return compile_document(document, options), document.report


def compile_document(document: Document, options: Options) -> Node:
    """The grammar node of a document. Raises as compile_schema does."""
    with timed(document.limits), _clear_errors(document):
        normaliser = normalise(document, options)
        return Builder(normaliser).node(normaliser.root)


def common_nodes(document: Document, options: Options) -> tuple[Node, ...]:
    """Nodes that the grammars of all documents have, under the same options."""
    oldest = document.root.scope.draft == Draft.D4
    return commons(options, json_notation(options.whitespace), oldest).nodes


def scanned(
    schema: Any, *, draft: str | int | Draft | None, registry: Any, limits: Limits | None, openapi: bool = False
) -> Document:
    """The document of a schema, checked and indexed. Raises SchemaError, LimitError."""
    limits = limits or Limits()
    report = Report()
    try:
        document = Document(load(schema, limits), chosen_draft(draft), registry, limits, report, openapi)
        scan(document)
    except RecursionError:
        raise LimitError("max_depth", limits.max_depth, "nesting of the schema") from None
    report.subschemas = len(document.locations)
    return document


def normalise(document: Document, options: Options, report: Report | None = None) -> Normaliser:
    """The normal forms of a document under some options, where it has a value at all; what only they can refuse is
    refused. report: for what the options make of the keywords, where it is not the document's.

    Raises SchemaError, UnsatisfiableError, LimitError.
    """
    with timed(document.limits), _clear_errors(document):
        normaliser = Normaliser(document, options, document.limits, report or document.report)
        root = normaliser.root
        if document.hard or options.lenient:
            survey(normaliser, root)
        if not normaliser.emptiness.inhabited(root):
            raise UnsatisfiableError(*contradiction(normaliser, root))
        return normaliser


@contextmanager
def _clear_errors(document: Document) -> Iterator[None]:
    """What the normal form cannot do, said as what is wrong with the schema."""
    try:
        yield
    except InProgress:
        raise SchemaError("", "$ref", "refers to itself without any structure in between") from None
    except RecursionError:
        raise LimitError("max_depth", document.limits.max_depth, "nesting of schemas about one value") from None


def normalised(
    schema: Any, options: Options, draft: str | int | Draft | None, registry: Any, limits: Limits
) -> tuple[Normaliser, Goal]:
    """What a compilation starts from: the document read, checked and indexed, and the goal of its root."""
    document = scanned(schema, draft=draft, registry=registry, limits=limits, openapi=options.openapi)
    normaliser = Normaliser(document, options, limits, document.report)
    return normaliser, normaliser.root
