"""`constrain check`: from the options to a `Result`. Nothing is printed here."""

from __future__ import annotations

import argparse
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from .._errors import LimitError, SchemaError, UnsatisfiableError
from .._limits import Limits
from ..automata.compiled import judging
from ..automata.grammar import Node
from ..automata.oracle import Oracle
from ..schema import Entry, Finding, Report, compile_schema, explain_schema
from .counts import count
from .masks import MaskStatistics, mask_statistics
from .sources import Source, Unusable, parse_json, read, read_vocabulary
from .verdicts import Verdict, judge, second_opinion

__all__ = ["COMPILING", "Result", "check"]

COMPILING = ("draft", "whitespace", "property_order", "formats", "numbers", "lenient", "openapi")
"""The options that are passed on to the compilation."""
_EXAMPLE = 400
"""Bytes after which an example comes to its end."""


@dataclass
class Result:
    """What a check found. compiled: whether there is an automaton (without what `findings` say is refused).

    errors: one line per unusable input. sizes: see `counts`, and the bytes of the schema. normal_form: see
    `schema.explain`. example: a random output.
    """

    schema: str
    compiled: bool = False
    seconds: float = 0.0
    sizes: dict[str, int] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    normal_form: list[Entry] = field(default_factory=list)
    example: str | None = None
    masks: MaskStatistics | None = None
    has_second: bool = False
    errors: list[str] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        if self.errors:
            return 2
        lost = any(finding.status in ("relaxed", "refused") for finding in self.findings)
        dead = self.masks is not None and self.masks.dead_end is not None
        return int(lost or dead or not all(verdict.is_good for verdict in self.verdicts))


def check(options: argparse.Namespace) -> Result:
    """Do what the options of the command ask for."""
    result = Result("standard input" if options.schema == "-" else options.schema)
    if [options.schema, *options.instance, *options.text].count("-") > 1:
        result.errors.append("standard input (-) can be read only once")
        return result
    try:
        source = read(options.schema)
        schema = parse_json(source)
    except Unusable as error:
        result.errors.append(str(error))
        return result
    result.sizes = {"bytes": len(source.data), **count(schema)}
    compiling = {name: getattr(options, name) for name in COMPILING}
    root = _compile(schema, compiling, result)
    if options.explain is not None and not result.errors:
        _explain(schema, root, options.explain, compiling, result)
    if not result.errors:
        _judge(schema, root, options, compiling, result)
    if root is not None and options.tokenizer and not result.errors:
        _measure(schema, options, compiling, result)
    return result


def _compile(schema: Any, options: dict[str, Any], result: Result) -> Node | None:
    """The automaton. If something is refused, the one without that, and everything refused as findings."""
    start = time.perf_counter()
    try:
        root, report = _attempt(schema, options)
    except SchemaError as error:
        result.errors.append(f"{result.schema}: invalid schema {error}")
        return None
    except UnsatisfiableError as error:
        result.findings.append(Finding(error.pointer, "", "refused", f"nothing can satisfy this: {error.reason}"))
        return None
    except LimitError as error:
        result.findings.append(Finding("", "", "refused", str(error)))
        return None
    except ValueError as error:
        result.errors.append(f"unusable option: {str(error).splitlines()[0]}")
        return None
    result.seconds = time.perf_counter() - start
    result.compiled = True
    result.sizes["subschemas"] = report.subschemas
    result.findings.extend(report)
    return root


def _attempt(schema: Any, options: dict[str, Any]) -> tuple[Node, Report]:
    try:
        return compile_schema(schema, **options)
    except SchemaError:
        if options["lenient"]:
            raise
        root, report = compile_schema(schema, **options | {"lenient": True})  # again a SchemaError if it is malformed
        report.findings = [replace(f, status="refused") if f.status == "relaxed" else f for f in report]
        return root, report


def _explain(schema: Any, root: Node | None, depth: int, compiling: dict[str, Any], result: Result) -> None:
    """An example, and the normal form as far as it can be worked out; why not further is among the findings already."""
    import constrain

    with suppress(LimitError):
        result.normal_form = explain_schema(schema, depth=depth, **compiling)
    if root is not None:
        with suppress(LimitError):
            result.example = constrain.sample(constrain.Grammar(root, None), seed=0, max_bytes=_EXAMPLE)


def _judge(
    schema: Any, root: Node | None, options: argparse.Namespace, compiling: dict[str, Any], result: Result
) -> None:
    second = second_opinion(schema, options.draft, options.formats == "assert")
    result.has_second = second is not None
    if second is not None and second.schema_fault is not None:
        pointer, message = second.schema_fault
        reason = f"not valid under the draft's meta-schema, says jsonschema: {message}"
        result.findings.append(Finding(pointer, "", "note", reason))
    spaced = root
    if root is not None and options.instance and options.whitespace != "flexible":
        spaced, _ = _attempt(schema, compiling | {"whitespace": "flexible"})
    for kind, paths in (("instance", options.instance), ("text", options.text)):
        for path in paths:
            try:
                source = read(path)
                value = parse_json(source) if kind == "instance" else None
            except Unusable as error:
                result.errors.append(str(error))
                continue
            opinion = second.on(value) if second is not None and kind == "instance" else None
            node = spaced if kind == "instance" else root
            if node is not None:
                try:
                    result.verdicts.append(judge(source, node, kind, opinion))
                except LimitError as error:
                    result.errors.append(f"{source.name}: {error}")
            else:
                reason = "the schema has no automaton"
                result.verdicts.append(Verdict(source.name, kind, False, reason=reason, second=opinion))


def _measure(schema: Any, options: argparse.Namespace, compiling: dict[str, Any], result: Result) -> None:
    try:
        vocabulary = read_vocabulary(options)
    except Unusable as error:
        result.errors.append(str(error))
        return
    if any(finding.status == "refused" for finding in result.findings):
        compiling = compiling | {"lenient": True}
    followed = _followed(schema, options, compiling, result)
    result.masks = mask_statistics(schema, vocabulary, options.tokenizer, compiling, followed)


def _followed(
    schema: Any, options: argparse.Namespace, compiling: dict[str, Any], result: Result
) -> tuple[str, bytes] | None:
    """The first text or accepted instance that a model could write under the whitespace policy."""
    oracle = Oracle(compile_schema(schema, **compiling)[0])
    accepted = {verdict.name for verdict in result.verdicts if verdict.accepted}
    for path in (*options.text, *options.instance):
        if path == "-" or path not in accepted:
            continue
        source: Source = read(path)
        text = source.trimmed[0]
        with suppress(LimitError), judging(Limits(), len(text)):
            if oracle.accepts(text):
                return path, text
    return None
