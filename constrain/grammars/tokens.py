"""References to single tokens in grammars: by name, by id, and all but some.

A control token is a symbol of its own. An ordinary token is its text, in whatever tokens that is written: what the
output says is the same. Without a vocabulary a name is read as its spelled text.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from .._limits import Limits
from ..automata.grammar import symbol
from ..languages import syntax
from ..languages.operations import ANY_STRING, difference, from_words
from ..languages.pattern import compile_node
from ..vocabulary import Vocabulary
from .expressions import Expr, Language, Symbol, choice, literal, repetition, sequence

__all__ = ["Tokens"]


class Tokens:
    """What tokens stand for. used: the control tokens that were named. Raises ValueError with the reason."""

    def __init__(self, vocab: Vocabulary | None) -> None:
        self.vocab = vocab
        self.used: set[int] = set()

    def named(self, name: str) -> Expr:
        """The token spelled `name`."""
        if self.vocab is None:
            return literal(name)
        found = self.identity(name)
        assert isinstance(found, int)
        return self.numbered(found)

    def identity(self, token: str | int) -> str | int:
        """The id of a token, by name or id; without a vocabulary its name."""
        found = self._find(token) if isinstance(token, str) and self.vocab is not None else token
        if found is None:
            raise ValueError(f"{token!r} is no token of the vocabulary")
        return found

    def numbered(self, token_id: int) -> Expr:
        vocab = self._vocabulary()
        if not 0 <= token_id < vocab.size:
            raise ValueError(f"token id {token_id} is outside the vocabulary (0..{vocab.size - 1})")
        if self._is_control(token_id):
            self.used.add(token_id)
            return Symbol(symbol(token_id))
        data = vocab.token_bytes(token_id)
        if data is None:
            raise ValueError(f"token {token_id} is unused: it has neither text nor a meaning of its own")
        return Language(from_words([data]))

    def all_but(self, tokens: Iterable[str | int], least: int, limits: Limits) -> Expr:
        """A run of tokens, at least `least` (0 or 1), that are none of these: text, and other control tokens.

        Only control tokens can be left out, since the text of an ordinary one can be written with others. EOS ids end
        the output and are never part of a run.
        """
        excluded = list(tokens)
        if self.vocab is None:
            if not all(isinstance(token, str) for token in excluded):
                raise ValueError("a token id needs a vocabulary")
            names = [syntax.text(str(token)) for token in excluded]
            named = compile_node(syntax.alternatives(names), search=True, limits=limits)
            return Language(difference(ANY_STRING, named, limits), min_chars=least)
        ids = set()
        for token in excluded:
            found = self.identity(token)
            assert isinstance(found, int)
            if not self._is_control(found):
                raise ValueError(f"{token!r} is ordinary text, which other tokens can spell: it cannot be left out")
            ids.add(found)
        others = sorted(set(self.vocab.control.values()) - ids - set(self.vocab.eos_token_ids))
        self.used.update(others)
        if not others:
            return Language(ANY_STRING, min_chars=least)
        # between two control tokens there is one run of text, cut in one way only
        text, symbols = Language(ANY_STRING), choice(Symbol(symbol(token)) for token in others)
        more = repetition(sequence([symbols, text]), 0, None)
        if least == 0:
            return sequence([text, more])
        return choice([sequence([Language(ANY_STRING, min_chars=1), more]), sequence([symbols, text, more])])

    def _vocabulary(self) -> Vocabulary:
        if self.vocab is None:
            raise ValueError("a token id needs a vocabulary")
        return self.vocab

    def _is_control(self, token_id: int) -> bool:
        vocab = self._vocabulary()
        return token_id in vocab.eos_token_ids or token_id in vocab.control.values()

    def _find(self, name: str) -> int | None:
        vocab = self._vocabulary()
        found = vocab.control_id(name)
        if found is not None:
            return found
        data = name.encode(errors="surrogatepass")
        lengths = np.diff(vocab.offsets)
        for token in np.flatnonzero(lengths == len(data)).tolist():
            if vocab.token_bytes(token) == data:
                return token
        return None
