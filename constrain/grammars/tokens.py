"""References to single tokens in grammar texts: <name>, <[id]> and their negations.

A control token is a symbol of its own. An ordinary token is its text, in whatever tokens that is written: what the
output says is the same. Without a vocabulary a name is read as its spelled text.
"""

from __future__ import annotations

from dataclasses import dataclass
from re import compile as compile_re

from .._errors import GrammarError
from ..languages.operations import ANY_STRING, from_words
from ..vocabulary import Vocabulary
from .expressions import Expr, Language, Symbol, choice, literal, repetition

__all__ = ["TokenReader", "Unless"]

_RANGE = compile_re(r"\s*([0-9]+)\s*(?:-\s*([0-9]+)\s*)?")


@dataclass(frozen=True)
class Unless:
    """Any token but some; only a run of them has a meaning in text. at: position in the source."""

    others: Expr
    at: int

    def text(self, least: int) -> Expr:
        """A run of at least `least` (0 or 1) such tokens."""
        return repetition(choice([Language(ANY_STRING, min_chars=1), self.others]), least, None)


class TokenReader:
    """used: the control tokens that were named."""

    def __init__(self, vocab: Vocabulary | None) -> None:
        self.vocab = vocab
        self.names: set[int] = set()

    @property
    def used(self) -> frozenset[int]:
        return frozenset(self.names)

    def symbol(self, token_id: int) -> Expr:
        """What stands for a token of the vocabulary."""
        raise NotImplementedError
