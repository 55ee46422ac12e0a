"""Marker texts as inputs of a grammar: control tokens where there are some, else bytes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from ..automata.grammar import symbol
from ..vocabulary import Vocabulary

__all__ = ["Inputs", "Marks"]

Inputs = tuple[int, ...]
"""Bytes and symbols, as layouts read them."""


class Marks:
    """Spells texts with the control tokens `ids`, text -> id; what is not among them is bytes."""

    def __init__(self, ids: Mapping[str, int]) -> None:
        self.ids = dict(ids)
        self.texts = {number: text for text, number in ids.items()}
        longest_first = sorted(map(re.escape, ids), key=len, reverse=True)
        self._controls = re.compile("|".join(longest_first)) if ids else None
        self._spelled = re.compile("|".join(longest_first).encode()) if ids else None

    @classmethod
    def of(cls, controls: Iterable[str], vocabulary: Vocabulary | None) -> Marks:
        """The marks of some formats' control tokens in a vocabulary. Without one each control gets a number of its own,
        so that grammars can tell them from text.
        """
        if vocabulary is None:
            return cls({text: number for number, text in enumerate(dict.fromkeys(controls))})
        found = {text: vocabulary.control_id(text) for text in controls}
        return cls({text: number for text, number in found.items() if number is not None})

    def spell(self, text: str) -> Inputs:
        """The inputs of a text, every control token in it taken for one."""
        return tuple(self.split(text))

    def at(self, data: bytes, position: int) -> tuple[int | None, int]:
        """(id, length) of the control token that is spelled at a position; (None, 0) where there is none."""
        found = self._spelled.match(data, position) if self._spelled else None
        return (self.ids[found.group().decode()], len(found.group())) if found else (None, 0)

    def split(self, text: str) -> Iterable[int]:
        """The same, one after the other."""
        at = 0
        for found in self._controls.finditer(text) if self._controls else ():
            yield from text[at : found.start()].encode()
            yield symbol(self.ids[found.group()])
            at = found.end()
        yield from text[at:].encode()
