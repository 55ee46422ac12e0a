"""Free text around fixed strings: text without any of them, and text up to the first of them.

A fixed string may hold the names of control tokens, `<tool_call>` for one. Such a name can be written out as text or be
the token itself; in free text there are no control tokens.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np

from .._limits import Limits
from ..languages import charsets, syntax
from ..languages.dfa import DFA
from ..languages.minimize import merge_equal, trim
from ..languages.operations import ANY_STRING, assemble, difference, intersect
from ..languages.pattern import compile_node
from ..languages.utf8 import finish
from .expressions import Expr, Language, choice, literal, sequence
from .tokens import Tokens

__all__ = ["FreeText", "concatenation", "until", "without"]


def without(strings: Collection[str], limits: Limits) -> DFA:
    """Text in which none of the (non-empty) strings occurs."""
    if not strings:
        return ANY_STRING
    found = syntax.alternatives([syntax.text(string) for string in sorted(strings)])
    return difference(ANY_STRING, compile_node(found, search=True, limits=limits), limits)


def until(ends: Collection[str], others: Collection[str], excluded: Collection[str], limits: Limits) -> DFA:
    """Text up to and with the first occurrence of one of `ends`, which nothing of `others` precedes.

    An occurrence counts where it is complete. What comes before the end contains nothing of `excluded`.
    """
    first = _ending_in({*ends, *others}, limits)
    # what is complete goes on no more
    table = np.where(first.labels[:, None] >= 0, -1, first.table).astype(np.int32)
    table, labels = merge_equal(*trim(table, first.labels))
    stopped = finish(first.classes, table, labels, None)
    if others:
        stopped = intersect(stopped, _ending_in(ends, limits), limits)
    if excluded:
        tail = compile_node(syntax.alternatives([syntax.text(end) for end in sorted(ends)]), limits=limits)
        stopped = intersect(stopped, concatenation(without(excluded, limits), tail, limits), limits)
    return stopped


def concatenation(first: DFA, second: DFA, limits: Limits) -> DFA:
    """Words of `first` followed by words of `second`; neither is empty."""
    joint: dict[tuple[int, int], int] = {}
    pairs = zip(first.classes.tolist(), second.classes.tolist(), strict=True)
    classes = np.array([joint.setdefault(pair, len(joint)) for pair in pairs], np.uint8)
    rows, tails = first.table.tolist(), second.table.tolist()
    accepts = [label >= 0 for label in first.labels.tolist()]
    ends = {state for state, label in enumerate(second.labels.tolist()) if label >= 0}

    def entered(head: int, after: set[int]) -> tuple[int, frozenset[int]] | None:
        if head >= 0 and accepts[head]:
            after.add(0)
        return (head, frozenset(after)) if head >= 0 or after else None

    def moves(state: tuple[int, frozenset[int]]) -> list[tuple[int, frozenset[int]] | None]:
        head, after = state
        return [
            entered(rows[head][a] if head >= 0 else -1, {tails[t][b] for t in after if tails[t][b] >= 0})
            for a, b in joint
        ]

    start = entered(0, set())
    assert start is not None
    return assemble(classes, start, moves, lambda state: 0 if state[1] & ends else -1, limits)


def _ending_in(strings: Collection[str], limits: Limits) -> DFA:
    anything = syntax.repeat(syntax.chars(charsets.ALL), 0, None)
    ends = syntax.alternatives([syntax.text(string) for string in sorted(strings)])
    return compile_node(syntax.concatenate([anything, ends]), limits=limits)


class FreeText:
    """The same as parts of a grammar, with control tokens."""

    def __init__(self, tokens: Tokens, limits: Limits) -> None:
        self.tokens, self.limits = tokens, limits

    def marked(self, text: str) -> Expr:
        """A fixed string; the name of a control token in it may also be the token."""
        parts: list[Expr] = []
        at = 0
        for begin, end in self.names(text):
            if begin >= at:
                name = text[begin:end]
                parts += [literal(text[at:begin]), choice([literal(name), self.tokens.named(name)])]
                at = end
        return sequence([*parts, literal(text[at:])])

    def names(self, text: str) -> Iterator[tuple[int, int]]:
        """Where names of control tokens stand in `text`: by their beginning, the longest first."""
        vocab = self.tokens.vocab
        found = [] if vocab is None else [name for name in vocab.control if name and name in text]
        for begin in range(len(text)):
            for name in sorted((name for name in found if text.startswith(name, begin)), key=len, reverse=True):
                yield begin, begin + len(name)

    def without(self, strings: Collection[str], max_chars: int | None = None) -> Expr:
        return Language(without(strings, self.limits), 0, max_chars)

    def until(
        self, ends: Collection[str], others: Collection[str], excluded: Collection[str], cut: int | None = None
    ) -> Expr:
        """Text up to and with the first of `ends`, none of `others` before it and none of `excluded` in what precedes
        it.

        cut: only control tokens that begin so early in an end.
        """
        found: list[Expr] = [Language(until(ends, others, excluded, self.limits))]
        found += [self.until_token(end, {*ends, *others, *excluded}, cut) for end in ends]
        return choice(found)

    def until_token(self, end: str, avoided: Collection[str], cut: int | None = None) -> Expr:
        """Text up to and with `end`, in which a control token is written by itself: one that begins before `cut`."""
        found = []
        for begin, stop in self.names(end):
            if cut is None or begin < cut:
                text = without(avoided, self.limits)
                if begin:
                    text = intersect(text, _ending_in([end[:begin]], self.limits), self.limits)
                if not text.is_empty:
                    found.append(
                        sequence([Language(text), self.tokens.named(end[begin:stop]), self.marked(end[stop:])])
                    )
        return choice(found)
