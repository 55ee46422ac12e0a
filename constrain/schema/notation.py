"""How JSON values are written. The shapes of objects and arrays are the same in every notation; their layout, the way
keys and strings are written, and perhaps the spelling of numbers are not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from ..automata.grammar import Frame, Layout, Lexeme, Node, ObjectShape, Skin
from ..automata.json_layouts import array_layout, distinct_layout, object_layout
from ..languages.dfa import DFA

__all__ = ["QUOTE", "Notation", "distinct_shape", "json_notation"]

QUOTE = ord('"')


@dataclass(frozen=True)
class Notation:
    """JSON itself (RFC 8259); other notations override. What cannot be written at all is for `Options` to say.

    object_layout, array_layout: of the members of objects and the items of arrays.     distinct_layout: of different
    strings, as keys without values.     keys: how keys are written.
    quote: the input that strings begin with.
    """

    object_layout: Layout
    array_layout: Layout
    distinct_layout: Layout
    keys: Skin = Skin.JSON_STRING
    quote: int = QUOTE

    def string(self, language: Lexeme) -> Node:
        """The strings of a language, written."""
        return replace(language, skin=Skin.JSON_STRING)

    def distinct(self, words: tuple[bytes, ...], language: DFA | None, low: int, high: int | None) -> Node:
        """Arrays of different strings, among `words` and those of a language."""
        return Frame(self.distinct_layout, distinct_shape(words, language, low, high, self.keys))

    def number(self, language: DFA) -> DFA:
        """The JSON texts of numbers that this notation uses; not empty."""
        return language


@lru_cache(maxsize=64)
def json_notation(whitespace: str) -> Notation:
    """JSON under a whitespace policy (see `json_layouts`)."""
    return Notation(object_layout(whitespace), array_layout(whitespace), distinct_layout(whitespace))


def distinct_shape(
    words: tuple[bytes, ...], language: DFA | None, low: int, high: int | None, skin: Skin
) -> ObjectShape:
    """Keys without values: different strings among `words` and those of a language."""
    nothing = Lexeme(words=(b"",))
    return ObjectShape(
        words, (nothing,) * len(words), (False,) * len(words), None, language, (nothing,), low, high, skin
    )
