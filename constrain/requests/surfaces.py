"""The interfaces of serving engines: which fields of a body say what, and how they go together. No HTTP."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from .._errors import RequestError
from ..vocabulary import Vocabulary
from ..wires.choice import read_choice
from ..wires.efforts import check_effort
from ..wires.listing import name_of
from .compile import Settings, compile_spec, compile_tools, constraint
from .constraint import Constraint
from .fields import boolean, mapping
from .sources import Spec, answer_of

__all__ = ["chat", "completions", "messages", "responses"]

_log = logging.getLogger("constrain")


def chat(
    body: Any, vocab: Vocabulary | None = None, wire: str | Sequence[str] | None = None, **options: Any
) -> Constraint:
    """The constraint of a body of OpenAI's chat completions, with the fields that engines add to it (docs/requests.md).

    vocab: None: the constraint only checks texts.
    wire:  the model's format of tool calls, or several; None: it has none.

    Options of the host:
    reasoning: None: the model does not reason; "wait", "inside", "optional" as for `Constraint`.   markers: likewise.
    efforts:   the values of `reasoning_effort` that the model has; None: all.
    whitespace, formats, numbers, lenient: as for compile_json_schema.     regex_dialect: as for compile_regex.
    leading_whitespace: whether blanks may stand before the answer.
    tool_options: further options of compile_tools, as a dict.
    limits, cache: a `Limits` and a `CompileCache`; by default those that all requests share.

    A body that asks for nothing gives a constraint that `is_free`. Raises RequestError; TypeError for unknown options.
    """
    found = mapping(body, "body")
    _refuse(found, {"functions": "tools", "function_call": "tool_choice", "output_format": "response_format"})
    answer = answer_of(found, found.get("response_format"))
    effort = (found.get("reasoning_effort"), "reasoning_effort")
    parallel = boolean(_given(found, "parallel_tool_calls", True), "parallel_tool_calls")
    return _whole(found, answer, parallel, effort, Settings(vocab, wire, **options))


def responses(
    body: Any, vocab: Vocabulary | None = None, wire: str | Sequence[str] | None = None, **options: Any
) -> Constraint:
    """The same for OpenAI's responses: `text.format`, `tools`, `tool_choice`, `reasoning.effort`."""
    found = mapping(body, "body")
    _refuse(found, {"response_format": "text.format", "output_format": "text.format"})
    text = mapping(_given(found, "text", {}), "text")
    answer = answer_of(found, text.get("format"), "text.format")
    effort = (mapping(_given(found, "reasoning", {}), "reasoning").get("effort"), "reasoning.effort")
    parallel = boolean(_given(found, "parallel_tool_calls", True), "parallel_tool_calls")
    return _whole(found, answer, parallel, effort, Settings(vocab, wire, **options))


def messages(
    body: Any, vocab: Vocabulary | None = None, wire: str | Sequence[str] | None = None, **options: Any
) -> Constraint:
    """The same for Anthropic's messages: `output_format` or `output_config.format`, `tools`, `tool_choice`,
    `output_config.effort`.
    """
    found = mapping(body, "body")
    _refuse(found, {"response_format": "output_format"})
    config = mapping(_given(found, "output_config", {}), "output_config")
    name = "output_format" if found.get("output_format") is not None else "output_config.format"
    output = found.get("output_format")
    if output is not None and config.get("format") is not None:
        raise RequestError("output_format", "output_config.format is given, too; keep one of them")
    answer = answer_of(found, output if output is not None else config.get("format"), name)
    if found.get("tool_choice") is not None:
        mapping(found["tool_choice"], "tool_choice")
    effort = (config.get("effort"), "output_config.effort")
    return _whole(found, answer, True, effort, Settings(vocab, wire, **options))


def completions(body: Any, vocab: Vocabulary | None = None, **options: Any) -> Constraint:
    """The same for completions without messages: `response_format` and the fields that engines add."""
    found = mapping(body, "body")
    answer = answer_of(found, found.get("response_format"))
    return _whole({}, answer, True, (found.get("reasoning_effort"), "reasoning_effort"), Settings(vocab, **options))


def _given(body: Mapping[str, Any], name: str, default: Any) -> Any:
    return default if body.get(name) is None else body[name]


def _refuse(body: Mapping[str, Any], others: Mapping[str, str]) -> None:
    """Fields that would constrain elsewhere, and are not to be ignored here."""
    for name, instead in others.items():
        if body.get(name) is not None:
            raise RequestError(name, f"is not a field of this interface; use {instead}")


def _whole(
    body: Mapping[str, Any], answer: Spec | None, parallel: bool, effort: tuple[Any, str], settings: Settings
) -> Constraint:
    """The constraint of a body of which the answer was read."""
    wanted = None if effort[0] is None else check_effort(effort[0], effort[1], settings.efforts)
    tools = body.get("tools")
    if tools is None:
        tools = []
    if not isinstance(tools, list):
        raise RequestError("tools", f"must be a list, not {type(tools).__name__}")
    choice = read_choice(body.get("tool_choice"), [name_of(tool) for tool in tools])
    if choice.mode == "required" and answer is not None:
        raise RequestError(
            "tool_choice",
            f"a call is required, so there is no answer for {answer.field} to constrain; keep one of them",
        )
    if choice.mode == "required" and settings.wire is None:
        raise RequestError("tool_choice", "a call is required, but this model has no format for calls")
    warnings = []
    if tools and choice.mode == "auto" and settings.wire is None:
        warnings.append("the model has no format for calls: tools are not constrained")
    compiled = None
    barred = choice.mode == "none" and bool(settings.tool_options.get("bar_calls"))
    if settings.wire is not None and (barred or (tools and choice.mode != "none")):
        compiled = compile_tools(tools, body.get("tool_choice"), parallel, settings)
    grammar = None if answer is None else compile_spec(answer, settings)
    sources = [*([answer.source] if answer else []), *(["tools"] if compiled else [])]
    kinds = [*([answer.kind] if answer else []), *([choice.mode] if compiled else [])]
    found = constraint(grammar, compiled, wanted, settings, ",".join(sources) or "none", ",".join(kinds) or "none")
    found.warnings = [*found.warnings, *warnings]
    _report(found)
    return found


def _report(found: Constraint) -> None:
    _log.info("source=%s type=%s", found.source, found.kind)
    for warning in found.warnings:
        _log.warning("%s", warning)
