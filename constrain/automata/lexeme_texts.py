"""Texts of lexemes for `values`: of a number in general one for each value, of strings one for each."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import islice

from ..languages.dfa import DFA
from ..languages.number_values import signature
from ..languages.operations import intersect, is_subset, with_length
from ..languages.pattern import compile_pattern
from .grammar import Lexeme, Skin
from .oracle import value_of
from .shortest import Completer, spelled
from .spellings import numerals

__all__ = ["LexemeTexts", "written"]

_MANY_LENGTHS = 1024
"""More than any array has items."""


class LexemeTexts:
    def __init__(self, completer: Completer) -> None:
        self._paths = completer._paths
        self._bounded: dict[tuple[int, int | None], tuple[Lexeme, DFA | None]] = {}
        self._plain: dict[int, tuple[DFA, DFA, bool]] = {}

    def rests(self, node: Lexeme, content: bytes) -> Iterator[bytes]:
        """Rests of a lexeme whose content so far is `content`."""
        seen = set()
        for word in node.words:
            if word.startswith(content):
                seen.add(word[len(content) :])
                yield written(word[len(content) :], node.skin)
        dfa = self._automaton(node, content)
        if dfa is not None and node.remainders is not None:
            state, remainder = node.remainders.run(dfa, content)
            if state >= 0:
                yield from node.remainders.texts(dfa, state, remainder)
        elif dfa is not None and (state := dfa.run(content)) >= 0:
            words = self._numerals(dfa, content) if node.values else self._words(dfa, node.skin, state, content, seen)
            for rest in words:
                yield written(rest, node.skin)

    def _words(self, dfa: DFA, skin: Skin, state: int, content: bytes, taken: set[bytes]) -> Iterator[bytes]:
        """Rests of the words of an automaton that are not taken; of numbers those that differ in value, or in what may
        follow.
        """
        numbers = dfa.number_values if skin is Skin.RAW else None
        alike = None if numbers is None else lambda rest, at: signature(content + rest, bool(numbers.counts[at]))
        return (rest for _, rest in self._paths(dfa, skin).words(state, taken, alike))

    def _numerals(self, dfa: DFA, content: bytes) -> Iterator[bytes]:
        """Rests of spellings that begin with `content` of an automaton of finitely many numbers, one or two for each:
        what can be written plainly from there, then what takes an exponent.
        """
        known = self._plain.get(id(dfa))
        if known is None:
            known = self._plain[id(dfa)] = dfa, intersect(dfa, _plain_numbers()), is_subset(dfa, _plain_numbers())
        _, plain, is_all = known
        if plain.is_empty:
            return
        paths, seen = self._paths(plain, Skin.RAW), set()
        state = plain.run(content)
        if state >= 0:
            for _, rest in paths.words(state, set()):
                seen.add(value_of(content + rest))
                yield rest
        if is_all:
            return
        for _, word in paths.words(0, set()):
            value = value_of(word)
            if value not in seen:
                texts = (text for text in numerals(value, content) if dfa.accepts(text))
                yield from islice((text[len(content) :] for text in texts), 1)

    def _automaton(self, node: Lexeme, content: bytes) -> DFA | None:
        """The automaton of a lexeme, with its bounds on characters; strings much longer than need be are left out: what
        is left has more lengths than any array has items. LimitError when it is large.
        """
        if node.dfa is None or node.dfa.is_empty or (node.min_chars == 0 and node.max_chars is None):
            return None if node.dfa is None or node.dfa.is_empty else node.dfa
        enough = max(node.min_chars, len(content)) // _MANY_LENGTHS * _MANY_LENGTHS + 2 * _MANY_LENGTHS
        most = node.max_chars if node.max_chars is None else min(node.max_chars, enough)
        found = self._bounded.get((id(node), most))
        if found is None:
            found = self._bounded[id(node), most] = node, with_length(node.dfa, node.min_chars, most)
        return found[1]


@lru_cache(maxsize=1)
def _plain_numbers() -> DFA:
    """Each number plainly, without needless zeros."""
    return compile_pattern(r"-?(0|[1-9][0-9]*)(\.[0-9]*[1-9])?", search=False)


def written(rest: bytes, skin: Skin) -> bytes:
    """The rest of a content as it is written, with the closing quote of a string."""
    return spelled(rest) + b'"' if skin is Skin.JSON_STRING else rest
