"""Tool automata: grammars for replies that call tools, in one format or several at once.

An automaton is a Grammar whose matchers know about replies: outside calls they mask nothing, from the token that begins
a call on they constrain every byte. Two roots serve the two ways in which a call comes about:

    free     (token region)*           the model begins a call when it wants to; between calls nothing is masked
    demanded opener region (between opener region)*     the reply begins with a call
"""

from __future__ import annotations

import copy
import marshal
import re
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from .._arguments import check_vocabulary, flag
from .._errors import ArgumentError, UnsatisfiableError, VocabularyError
from .._limits import Limits, limits_of
from ..automata.grammar import SYMBOL, Lexeme, Node, Union, symbol
from ..languages.operations import ANY_STRING
from ..vocabulary import Vocabulary
from .ahead import build_ahead
from .choice import read_choice
from .gate import Gate, Thoughts, read_thoughts
from .gated import ReplyGrammar
from .layouts import Either, Many, Part, Parts, frame
from .markers import members
from .marks import Marks
from .regions import Region
from .renaming import Markers, named, renamed
from .reply import Plan
from .saved import origin
from .tools import COMPILER_OPTIONS, Tool, ToolSchemaCompiler
from .watch import Watch
from .writable import Settings

__all__ = [
    "ToolAutomaton",
    "automaton",
]


class ToolAutomaton(ReplyGrammar):
    """Constrains the tool calls of replies.

    tools:       a list of tools, or a ToolSchemaCompiler; `compiler` afterwards.
    vocab:       None: it only checks texts.
    wire:        the name of a format, of an overlay, or a list of names.
    tool_choice: "auto", "required" or "any", "none", a name, or OpenAI's or Anthropic's object.
    parallel:    whether a reply may have several calls.
    reasoning:   None; "wait" or True: a demanded call comes after the reasoning; "inside": the prompt has begun it;
                 "optional": there may be reasoning; or a mapping with some of "inside", "over", "optional", "effort"
                 and "markers" (docs/tool-calls.md), or a `gate.Thoughts`.
    names:       "declared": only the names of tools can be written; "any": any name, with an object as arguments; the
                 matcher's `undeclared` tells them.
    json_values: "schema", or "free": on raw-text formats objects and arrays are any text.
    literals:    "json", or "both": where older templates of the format wrote True, False and None for a value
                 (qwen3_coder), that is allowed beside true, false and null.
    spelled_markers: whether strings may spell the format's markers: "allow" or "forbid"; None: what the format needs.
    markers:     control tokens of the format under other names: a mapping of their texts to the text or id of a control
                 token of the vocabulary, or to None where it has none (see `renaming.Markers`).
    text_arming: whether a call may begin with the text of a marker for which the vocabulary has no token.
    code_fences: whether a call inside a ``` block stays text.
    bar_calls:   with the choice "none": whether the markers that begin a call are forbidden. Else the reply is free.
    The other options are those of ToolSchemaCompiler, and only for a list of tools.

    Raises SchemaError, UnsatisfiableError, LimitError (they name the tool), RequestError (tool_choice),
    VocabularyError (a call is demanded that the vocabulary has no token to begin), ValueError (options).
    """

    demand = "a call"

    def __init__(
        self,
        tools: Any,
        vocab: Vocabulary | None,
        wire: str | Sequence[str],
        *,
        tool_choice: Any = "auto",
        parallel: bool = True,
        reasoning: str | bool | Mapping[str, Any] | Thoughts | None = None,
        names: str = "declared",
        json_values: str = "schema",
        literals: str = "json",
        markers: Markers | None = None,
        spelled_markers: str | None = None,
        text_arming: bool = False,
        code_fences: bool = True,
        bar_calls: bool = False,
        limits: Limits | None = None,
        **options: Any,
    ) -> None:
        thoughts = read_thoughts(reasoning)
        self.arguments: dict[str, Any] = {
            "tool_choice": copy.deepcopy(tool_choice),
            "parallel": parallel,
            "reasoning": thoughts if isinstance(reasoning, Mapping) else reasoning,
            "names": names,
            "json_values": json_values,
            "literals": literals,
            "spelled_markers": spelled_markers,
            "text_arming": text_arming,
            "code_fences": code_fences,
            "bar_calls": bar_calls,
        }
        if isinstance(tools, ToolSchemaCompiler):
            if options:
                raise ArgumentError(f"{', '.join(options)}: options of the ToolSchemaCompiler, which is given")
            self.compiler = tools
        else:
            self.compiler = ToolSchemaCompiler(tools, limits=limits, **options)
        trained = members(wire if isinstance(wire, str) else tuple(wire))
        self.arguments["markers"] = texts = named(trained, markers, vocab)
        self.wires = renamed(trained, texts)
        self.wire_names = tuple(wire.name for wire in self.wires)
        self.choice = read_choice(tool_choice, [tool.name for tool in self.compiler.tools])
        controls = [control for one in self.wires for control in one.controls]
        self.marks = Marks.of((*controls, *(thoughts or Thoughts()).controls(vocab)), vocab)
        chosen = self.choice.names
        self.tools: tuple[Tool, ...] = tuple(t for t in self.compiler.tools if chosen is None or t.name in chosen)
        both = flag(parallel, "parallel") and self.choice.parallel
        settings = Settings(both, names, json_values, spelled_markers, literals)
        bad = self.compiler.bad.copy()
        self.regions = [Region(one, self.compiler.options, self.tools, self.marks, settings, bad) for one in self.wires]
        self._gate = None if thoughts is None else Gate.of(thoughts, self.wires, self.marks)
        watched = Thoughts(markers=thoughts.markers) if thoughts else Thoughts()
        self._watched = Gate.of(watched, self.wires, self.marks) or Gate()
        self._settings, self._code_fences = settings, code_fences
        self._demanded = self.choice.mode == "required"
        none = self.choice.mode == "none"
        self._barred = none and bar_calls
        openings = [] if none and not bar_calls else [o for r in self.regions for o in r.openings(not none)]
        self._openings = [(one.token, one) for one in openings if one.token is not None]
        self._by_text = [one for one in openings if one.token is None] if vocab is None or text_arming else []
        self.triggers = [(re.compile(one.trigger), one.at_start) for one in self._by_text]
        self.vocabulary = vocab
        root = self._demanded_root() if self._demanded else self._free_root()
        super().__init__(root, vocab, report=bad.report, limits=limits, symbols=self.marks.texts, origin=origin(self))
        self._check_vocabulary()
        large = [] if vocab is None else [node for region in self.regions for node in region.large()]
        if large:
            with self.lock:
                build_ahead(large, self.program)

    def variant(self, reasoning: str | bool | Thoughts | None, *, demanded: bool = False) -> ToolAutomaton:
        """The same tools and options, with another `reasoning`. demanded: a reply has nothing but calls."""
        options = {**self.arguments, "reasoning": reasoning}
        if demanded:
            named = [{"name": tool.name} for tool in self.tools]
            options["tool_choice"] = {"type": "allowed_tools", "mode": "required", "tools": named}
            options["parallel"] = self._settings.parallel
        return ToolAutomaton(self.compiler, self.vocabulary, self.wire_names, **options, limits=self.limits)

    def judged(self) -> ReplyGrammar:
        return self._for_texts if self._textual else self

    @cached_property
    def _for_texts(self) -> ToolAutomaton:
        """The same automaton without a vocabulary, in which spelled markers stand for tokens."""
        return ToolAutomaton(self.compiler, None, self.wire_names, **self.arguments, limits=self.limits)

    @property
    def begins_calls(self) -> bool:
        """Whether the vocabulary has the tokens to begin a call."""
        return bool(self._openings or self._by_text)

    @cached_property
    def plan(self) -> Plan:
        """What a matcher does outside calls."""
        spell = self.marks.spell
        arms: dict[int, list[bytes]] = {}
        others_begin = {token for token, opening in self._openings if not opening.is_call}
        barred = {token for token, _ in self._openings} - others_begin if self._barred else set()
        for token, opening in self._openings:
            if opening.is_call and token not in barred:
                arms.setdefault(token, []).append(opening.before)
        silent = [mark.text for wire in self.wires for mark in wire.silent]
        others = {spell(text): False for text in silent}
        others |= {spell(wire.reasoning.open.text): True for wire in self.wires if wire.reasoning is not None}
        for region in self._messages:
            for start in region.message_starts:
                arms.setdefault(start[0] - SYMBOL, []).append(b"")
                others |= {(*start, *header): others[header] for header in region.message_headers}
        others = {mark: thinking for mark, thinking in others.items() if mark[0] - SYMBOL in arms}
        breaks = [mark for mark in map(spell, silent) if mark[-1] >= SYMBOL]
        gate, seen = self._gate, self._watched
        return Plan(
            watch=Watch(arms, seen.opens, seen.closes, tuple(breaks), self._code_fences),
            demanded=self._demanded,
            waits=self._demanded and gate is not None and gate.waits,
            inside=gate is not None and gate.waits and gate.inside,
            single=not self._settings.parallel,
            begins=bool(self._messages),
            others=others,
            longest_other=max(map(len, others), default=0),
            overruns=any(region.ends_in_text for region in self.regions),
            textual=self._textual,
            names_any=self._settings.names == "any",
            barred=tuple(sorted(barred)),
            bars_text=self._barred,
        )

    @property
    def _textual(self) -> bool:
        """Whether tokens of free text are the automaton's business: they may begin a call, or end the reasoning that a
        demanded call waits for.
        """
        if self.vocabulary is None:
            return False
        return self._gate is not None and bool(self._gate.texts) if self._demanded else bool(self._by_text)

    @cached_property
    def _messages(self) -> list[Region]:
        """The formats in which every message has a header."""
        free = (self.choice.mode == "auto" or self._barred) and bool(self._openings)
        return [region for region in self.regions if region.message_starts] if free else []

    # Roots ----------------------------------------------------------------------------------------------------------

    def _free_root(self) -> Node:
        nodes: dict[int, list[Node]] = {}
        for token, opening in self._openings:
            if not (self._barred and opening.is_call):
                nodes.setdefault(token, []).append(opening.node)
        messages = [region.message(not self._barred) for region in self._messages]
        for region, message in zip(self._messages, messages, strict=True):
            for start in region.message_starts:
                nodes.setdefault(start[0] - SYMBOL, []).append(frame(start[1:], message))
        ways: list[Parts] = [((symbol(token),), _union(found), ANYTHING) for token, found in nodes.items()]
        if self._textual:
            from .by_text import free_root

            single = not self._settings.parallel
            return free_root(self._by_text, [way[:-1] for way in ways], single, self._barred)
        ways += [(opening.node, ANYTHING) for opening in self._by_text if not self._barred]
        first: Parts = (_union(messages),) if messages else ()
        return frame(*first, Many(Either(*ways))) if ways else frame(*first)

    def _demanded_root(self) -> Node:
        blocks = [node for region in self.regions for node in region.blocks()]
        if not blocks:
            raise UnsatisfiableError("", "a call is required, but no tool is left that could be called")
        block = _union(blocks)
        lead: list[Part] = [] if self._gate is None else self._gate.lead(self._textual)
        for region in self.regions:
            lead += region.lead()
        tail = [part for region in self.regions for part in region.tail()]
        gaps = [gap for region in self.regions if (gap := region.between()) is not None]
        if not self._settings.parallel or not gaps:
            return frame(*lead, block, *tail)
        return frame(*lead, block, Many(Either(*gaps), block), *tail)

    def _check_vocabulary(self) -> None:
        """A format whose first marker the vocabulary lacks cannot begin a call by a token."""
        if self.vocabulary is None or self.choice.mode == "none" or self.begins_calls:
            return
        missing = ", ".join(repr(region.wire.openers[0].text) for region in self.regions)
        if self._demanded:
            raise VocabularyError(f"a call is required, but the vocabulary has no control token to begin it: {missing}")
        reason = f"no call can begin: the vocabulary has no control token {missing}"
        self.report.add("", "", "note", reason)


_KEPT = 32
_kept: OrderedDict[Any, ToolAutomaton] = OrderedDict()
_lock = threading.Lock()


def automaton(
    tools: Any, vocab: Vocabulary | None, wire: str | Sequence[str], options: Mapping[str, Any]
) -> ToolAutomaton:
    """The automaton of these arguments, which may have been made before."""
    others = dict(options)
    check_vocabulary(vocab)
    limits_of(options.get("limits"))
    if not isinstance(wire, (str, Sequence)) or not all(isinstance(name, str) for name in wire):
        raise ArgumentError("wire must be the name of a format, or a sequence of names")
    if not isinstance(tools, ToolSchemaCompiler):
        of_tools = {name: others.pop(name) for name in COMPILER_OPTIONS if name in others}
        tools = ToolSchemaCompiler(tools, limits=options.get("limits"), **of_tools)
    names = wire if isinstance(wire, str) else tuple(wire)
    content = tuple((tool.name, tool.parameters, tool.pointer) for tool in tools.tools)
    try:
        chosen = marshal.dumps(sorted((k, v) for k, v in others.items() if k != "limits"), 2)
        limits = tools.limits, options.get("limits")
        key = content, tools.options, limits, tools.bad.drop, names, chosen, vocab and vocab.fingerprint
    except (TypeError, ValueError):  # an option that is no plain value; the automaton says what it thinks of it
        return ToolAutomaton(tools, vocab, wire, **others)
    with _lock:
        found = _kept.get(key)
        if found is not None:
            _kept.move_to_end(key)
            return found
    made = ToolAutomaton(tools, vocab, wire, **others)
    with _lock:
        _kept[key] = made
        while len(_kept) > _KEPT:
            _kept.popitem(last=False)
    return made


ANYTHING = Lexeme(dfa=ANY_STRING)
"""What follows a call in the token that ends it, if it ends with a byte."""


def _union(nodes: Sequence[Node]) -> Node:
    return nodes[0] if len(nodes) == 1 else Union(tuple(nodes))
