"""A `Result` as text, in colour where rich is installed and somebody is looking, or as JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

from .check import Result
from .masks import MaskStatistics, percentile
from .verdicts import Verdict

__all__ = ["print_lines", "show", "write_line"]

_STYLES = {
    "accepted": "green",
    "rejected": "red",
    "relaxed": "yellow",
    "refused": "red",
    "note": "cyan",
    "entry": "bold",
    "form": "magenta",
    "call": "cyan",
    "example": "green",
}


def show(result: Result, *, as_json: bool) -> None:
    """Write the result to standard output, and what was unusable to standard error as well."""
    for error in result.errors:
        write_line(sys.stderr, f"constrain check: {error}")
    if as_json:
        write_line(sys.stdout, json.dumps(to_json(result), ensure_ascii=False, indent=1, default=_number))
    else:
        print_lines(list(_lines(result)))


def to_json(result: Result) -> dict[str, Any]:
    """The result as a JSON object; times are in seconds."""
    return {
        "schema": result.schema,
        "exit_code": result.exit_code,
        "compiled": result.compiled,
        "compile_seconds": result.seconds,
        "sizes": result.sizes,
        "findings": [vars(finding) for finding in result.findings],
        "normal_form": [vars(entry) for entry in result.normal_form],
        "example": result.example,
        "instances": [_verdict_json(verdict) for verdict in result.verdicts],
        "masks": result.masks.to_json() if result.masks is not None else None,
        "errors": result.errors,
    }


def _number(value: Any) -> float:
    """For JSON: a Decimal of the schema."""
    return float(value)


def _verdict_json(verdict: Verdict) -> dict[str, Any]:
    found: dict[str, Any] = {"name": verdict.name, "kind": verdict.kind, "accepted": verdict.accepted}
    if not verdict.accepted:
        found["rejection"] = {
            "byte": verdict.position,
            "line": verdict.line,
            "column": verdict.column,
            "pointer": verdict.pointer,
            "expected": verdict.expected,
            "got": verdict.got,
            "reason": verdict.reason,
        }
    if verdict.second is not None:
        faults = [{"pointer": pointer, "message": message} for pointer, message in verdict.second.faults]
        found["jsonschema"] = {"valid": verdict.second.valid, "faults": faults}
        found["differs"] = verdict.differs
    return found


def _lines(result: Result) -> Iterator[tuple[str, str]]:
    """(status, line); the status colours the first word."""
    if result.sizes:
        yield "", _summary(result)
    for finding in result.findings:
        yield finding.status, f"{finding.status}  {_where(finding.pointer, finding.keyword)}: {finding.reason}"
    for entry in result.normal_form:
        yield "entry", entry.name
        yield from (("form", f"  {line}") for line in entry.lines())
    if result.example is not None:
        yield "example", f"example  {result.example}"
    for verdict in result.verdicts:
        yield from _verdict_lines(verdict)
    if result.verdicts and not result.has_second:
        yield "note", "note  no second opinion: jsonschema is not installed"
    if result.masks is not None:
        yield from (("", line) for line in _mask_lines(result.masks))


def _summary(result: Result) -> str:
    sizes = result.sizes
    parts = [f"{sizes['bytes']:,} bytes"]
    if result.compiled:
        parts.append(f"{sizes['subschemas']:,} subschemas")
    parts += [f"{sizes['properties']:,} properties", f"depth {sizes['depth']}"]
    if sizes["enum_values"]:
        parts.append(f"{sizes['enum_values']:,} enum values (the longest has {sizes['largest_enum']:,})")
    if result.compiled:
        refused = any(finding.status == "refused" for finding in result.findings)
        state = "compiles without what is refused" if refused else "compiles"
        parts.append(f"{state}, in {1e3 * result.seconds:.1f} ms")
    return f"{result.schema}: {', '.join(parts)}"


def _where(pointer: str, keyword: str) -> str:
    return f"{pointer or '/'}, {keyword}" if keyword else pointer or "/"


def _verdict_lines(verdict: Verdict) -> Iterator[tuple[str, str]]:
    second = verdict.second
    status = "accepted" if verdict.accepted else "rejected"
    if verdict.accepted:
        yield status, f"accepted  {verdict.name}"
    elif verdict.position is None:
        yield status, f"rejected  {verdict.name}: {verdict.reason}"
    else:
        place = f"byte {verdict.position}, in {verdict.pointer or '/'}"
        line = f"line {verdict.line}, column {verdict.column}"
        yield status, f"rejected  {verdict.name}: {place}: {verdict.reason} ({line})"
    if second is None:
        return
    if second.valid is None:
        yield "", f"          jsonschema has no verdict: {second.faults[0][1]}"
    elif verdict.differs:
        yield "note", f"differs   jsonschema {'accepts' if second.valid else 'rejects'} it"
    if second.valid is False:
        for pointer, message in second.faults:
            yield "", f"          jsonschema: in {pointer or '/'}: {message}"


def _mask_lines(found: MaskStatistics) -> Iterator[str]:
    least, median, most = found.allowed
    forced = sum(n == 1 for _, n in found.steps)
    yield f"{found.vocabulary}: {found.size:,} rows"
    yield (
        f"  kernels {found.kernels:.2f} s, tables {1e3 * found.tables:.1f} ms, compile {1e3 * found.compile:.2f} ms, "
        f"first mask {1e3 * found.first_mask:.2f} ms"
    )
    yield f"  walk {found.walk}: {len(found.steps)} steps, {forced} with one token only"
    yield f"  allowed tokens: least {least:,}, median {median:,}, most {most:,}"
    for times, when in ((found.masks, "first walk"), (found.again, "again")):
        yield f"  mask, {when}: p50 {1e6 * percentile(times, 0.5):.1f} µs, p99 {1e6 * percentile(times, 0.99):.1f} µs"
    if found.missing_bytes:
        shown = " ".join(f"{byte:02x}" for byte in found.missing_bytes[:16])
        yield f"  {len(found.missing_bytes)} bytes that no token spells alone: {shown}"
    yield f"  dead end {found.dead_end}" if found.dead_end else "  no dead end met"


def print_lines(lines: list[tuple[str, str]]) -> None:
    """Write (status, line) to standard output; the status colours the first word."""
    if sys.stdout.isatty():
        try:
            from rich.console import Console
            from rich.text import Text
        except ImportError:
            pass
        else:
            console = Console(highlight=False, soft_wrap=True)
            for status, line in lines:
                rest = line.lstrip()
                head, blank, tail = (rest, "", "") if status == "entry" else rest.partition(" ")
                indent = line[: len(line) - len(rest)]
                console.print(Text.assemble(indent, (head, _STYLES.get(status, "")), blank, tail))
            return
    for _, line in lines:
        write_line(sys.stdout, line)


def write_line(stream: Any, line: str) -> None:
    """Write a line; what the stream's encoding lacks (and lone surrogates) as escapes."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    stream.write(line.encode(encoding, "backslashreplace").decode(encoding) + "\n")
