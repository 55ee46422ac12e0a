"""Tool automata as bytes: what is saved of one (see `constrain._saved`), and how it is made again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from .._limits import Limits
from .._saved import Origin
from .gate import Thoughts
from .records import Mark, Reasoning
from .tools import ToolSchemaCompiler

if TYPE_CHECKING:
    from ..vocabulary import Vocabulary
    from .automaton import ToolAutomaton

__all__ = ["origin", "restored"]


def origin(automaton: ToolAutomaton) -> Origin:
    """What the automaton was compiled from: the lists of tools, the options, and those of the compiler."""
    compiler = automaton.compiler

    def documents() -> dict[str, Any]:
        found: dict[str, Any] = {}
        for tool in compiler.tools:
            found |= tool.parameters.document.retrieved
        return found

    options = {
        "kind": type(automaton).__name__,
        "wires": automaton.wire_names,
        "automaton": {**automaton.arguments, "reasoning": _spelled(automaton.arguments["reasoning"])},
        "compiler": compiler.arguments,
        "compiler_limits": vars(compiler.limits),
    }
    return Origin("tools", compiler.source, options, documents)


def restored(
    vocabulary: Vocabulary | None, source: Any, options: Any, documents: Mapping[str, Any], limits: Limits
) -> ToolAutomaton:
    """The automaton of such an origin."""
    from . import kinds
    from .automaton import ToolAutomaton

    compiling = Limits(**options["compiler_limits"])
    compiler = ToolSchemaCompiler(**source, **options["compiler"], registry=documents or None, limits=compiling)
    known = {kind.__name__: kind for kind in (ToolAutomaton, *(getattr(kinds, name) for name in kinds.__all__))}
    arguments = {**options["automaton"], "reasoning": _read(options["automaton"]["reasoning"])}
    automaton = object.__new__(known[options["kind"]])
    ToolAutomaton.__init__(automaton, compiler, vocabulary, options["wires"], **arguments, limits=limits)
    return automaton  # type: ignore[no-any-return]


def _spelled(reasoning: Any) -> Any:
    """The option as a JSON value."""
    return asdict(reasoning) if isinstance(reasoning, Thoughts) else reasoning


def _read(reasoning: Any) -> Any:
    if not isinstance(reasoning, dict):
        return reasoning
    markers = (Reasoning(Mark(**one["open"]), Mark(**one["close"]), one["in_prompt"]) for one in reasoning["markers"])
    return Thoughts(**{**reasoning, "markers": tuple(markers)})
