"""`constrain tools`: the calls in transcripts of replies, and where one leaves its format."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from .._errors import ConstrainError
from ..automata.explain import Rejection
from ..replies import Reply, ReplyParser
from ..wires.automaton import ToolAutomaton
from .output import print_lines, write_line
from .sources import Source, Unusable, parse_json, read

__all__ = ["tools"]


@dataclass(frozen=True)
class _Transcript:
    """A reply that was read. rejection: where and why the constraint would not have let it pass."""

    source: Source
    reply: Reply
    rejection: Rejection | None


@dataclass
class _Findings:
    transcripts: list[_Transcript] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        return 2 if self.errors else int(any(one.rejection is not None for one in self.transcripts))


def tools(options: argparse.Namespace) -> int:
    """Do what the options of the command ask for; the exit code."""
    found = _Findings()
    try:
        automaton = _automaton(options)
    except Unusable as error:
        found.errors.append(str(error))
    else:
        for path in options.text:
            try:
                found.transcripts.append(_transcript(read(path), automaton, options))
            except Unusable as error:
                found.errors.append(str(error))
    for message in found.errors:
        write_line(sys.stderr, f"constrain tools: {message}")
    if options.json:
        write_line(sys.stdout, json.dumps(_to_json(found), ensure_ascii=False, indent=1, default=str))
    else:
        print_lines([line for one in found.transcripts for line in _lines(one)])
    return found.exit_code


def _automaton(options: argparse.Namespace) -> ToolAutomaton:
    if [options.tools, *options.text].count("-") > 1:
        raise Unusable("standard input (-) can be read only once")
    source = read(options.tools)
    listed = parse_json(source)
    try:
        return ToolAutomaton(
            listed,
            None,
            options.wire,
            tool_choice=options.tool_choice,
            reasoning="inside" if options.inside_reasoning else "wait",
        )
    except ConstrainError as error:
        raise Unusable(f"{source.name}: {error}") from None


def _transcript(source: Source, automaton: ToolAutomaton, options: argparse.Namespace) -> _Transcript:
    parser = ReplyParser(options.wire, automaton.compiler, reasoning="inside" if options.inside_reasoning else "auto")
    parser.push_text(source.data)
    parser.finish()
    try:
        return _Transcript(source, parser.reply, automaton.explain(source.data))
    except ConstrainError as error:
        raise Unusable(f"{source.name}: {error}") from None


def _lines(found: _Transcript) -> Iterator[tuple[str, str]]:
    """(status, line); the status colours the first word."""
    reply, name = found.reply, found.source.name
    for call in reply.tool_calls:
        arguments = json.dumps(call.arguments, ensure_ascii=False, default=str)
        yield "call", f"call      {name}: {call.name} {arguments}"
    parts = [f"{len(reply.reasoning):,} characters of reasoning"] if reply.reasoning else []
    parts += [f"{len(reply.text):,} characters of text"] if reply.text else []
    parts.append(f"{len(reply.tool_calls)} call{'s' * (len(reply.tool_calls) != 1)}")
    if reply.cut:
        parts.append("it ends too early")
    if found.rejection is None:
        yield "accepted", f"accepted  {name}: {', '.join(parts)}"
        return
    rejection = found.rejection
    line, column = found.source.place(rejection.position)
    place = f"byte {rejection.position}, in {rejection.pointer or '/'}"
    yield "rejected", f"rejected  {name}: {place}: {rejection.reason} (line {line}, column {column})"
    yield "", f"          what can be read of it: {', '.join(parts)}"


def _to_json(found: _Findings) -> dict[str, Any]:
    return {
        "exit_code": found.exit_code,
        "replies": [_reply_json(one) for one in found.transcripts],
        "errors": found.errors,
    }


def _reply_json(found: _Transcript) -> dict[str, Any]:
    reply, rejection = found.reply, found.rejection
    as_json: dict[str, Any] = {
        "name": found.source.name,
        "accepted": rejection is None,
        "text": reply.text,
        "reasoning": reply.reasoning,
        "tool_calls": [
            {"name": call.name, "arguments": call.arguments, "id": call.id, "wire": call.wire, "raw": call.raw}
            for call in reply.tool_calls
        ],
        "cut": reply.cut,
        "finish_reason": reply.finish_reason,
    }
    if rejection is not None:
        line, column = found.source.place(rejection.position)
        as_json["rejection"] = {
            "byte": rejection.position,
            "line": line,
            "column": column,
            "pointer": rejection.pointer,
            "expected": rejection.expected,
            "got": rejection.got,
            "reason": rejection.reason,
        }
    return as_json
