"""Grammar notations: Lark, GBNF and structural tags, to nodes of the engine.

A grammar's way: text -> reader (`gbnf`; `lark_source`, `lark_reader`; `structural_tags`) -> rules (`expressions`) ->
`cfg`, by way of `leaves` and `machines` -> nodes.
"""

from __future__ import annotations

from typing import Any

from .._limits import Limits, timed
from .._saved import Origin, frozen
from ..automata.compiled import Grammar
from ..schema.report import Report
from ..vocabulary import Vocabulary

__all__ = ["compile_gbnf_text", "compile_lark_text", "compile_tag_spec"]


def compile_lark_text(text: str, vocab: Vocabulary | None, start: str, limits: Limits) -> Grammar:
    from .lark_reader import compile_text

    report = Report()
    with timed(limits):
        built, symbols = compile_text(text, vocab, start, limits, report)
    origin = Origin("lark", frozen(text), {"start": start})
    return Grammar(built.root, vocab, report=report, limits=limits, symbols=symbols, origin=origin)


def compile_gbnf_text(text: str, vocab: Vocabulary | None, root: str, limits: Limits) -> Grammar:
    from .gbnf import compile_text

    report = Report()
    with timed(limits):
        built, symbols = compile_text(text, vocab, root, limits, report)
    origin = Origin("gbnf", frozen(text), {"root": root})
    return Grammar(built.root, vocab, report=report, limits=limits, symbols=symbols, origin=origin)


def compile_tag_spec(spec: Any, vocab: Vocabulary | None, whitespace: str, limits: Limits) -> Grammar:
    from .structural_tags import compile_spec

    report = Report()
    with timed(limits):
        built, symbols = compile_spec(spec, vocab, whitespace, limits, report)
    source = frozen(spec.decode() if isinstance(spec, bytes) else spec)
    origin = Origin("structural_tag", source, {"whitespace": whitespace})
    return Grammar(built.root, vocab, report=report, limits=limits, symbols=symbols, origin=origin)
