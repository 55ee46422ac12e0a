"""Byte-level deterministic automata: the one form in which every regular language reaches the engine.

A DFA reads bytes. For string languages these are the UTF-8 bytes of the *value* (before JSON escaping); the engine
composes them with the escape transducer. For numbers and other lexemes they are the bytes of the text itself.

Layout
    classes  uint8[256]                 byte -> class; bytes of one class move alike in every state
    table    int32[n_states, n_classes] target state, or -1 when no word continues that way
    labels   int32[n_states]            -1: not accepting; else the label of what was accepted (0 for plain languages)
State 0 is the start. The automaton is trim: every state is reachable and can reach acceptance, so "not -1" means "there
is a completion". The empty language has no states at all.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from .number_values import NumberValues

__all__ = ["DFA"]


@dataclass(frozen=True, eq=False)
class DFA:
    """A trim, immutable, labelled byte automaton (see the module text for the arrays)."""

    classes: NDArray[np.uint8]
    table: NDArray[np.int32]
    labels: NDArray[np.int32]
    name: str | None = field(default=None)
    """Set for languages shared by many grammars ("string", "format:email"): masks are then shared per vocabulary."""

    @property
    def n_states(self) -> int:
        return len(self.labels)

    @cached_property
    def moves(self) -> object:
        """Equal for automata with the same states and transitions, whatever their labels."""
        if self.name is not None:
            return self.name
        digest = blake2b(self.classes.tobytes(), digest_size=16)
        digest.update(self.table.tobytes())
        return digest.digest()

    @property
    def is_empty(self) -> bool:
        return len(self.labels) == 0

    def step(self, state: int, byte: int) -> int:
        """Next state, or -1. `state` may be -1."""
        return -1 if state < 0 else int(self.table[state, self.classes[byte]])

    def run(self, data: bytes, state: int = 0) -> int:
        """State after `data`, or -1."""
        if self.is_empty:
            return -1
        for byte in data:
            state = self.step(state, byte)
            if state < 0:
                return -1
        return state

    def label(self, data: bytes) -> int:
        """Label of the whole word `data`, or -1 when it is not in the language."""
        state = self.run(data)
        return -1 if state < 0 else int(self.labels[state])

    def accepts(self, data: bytes) -> bool:
        return self.label(data) >= 0

    @cached_property
    def char_bounds(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """(least, most) characters from each state to acceptance, int32[n_states]; most is -1 when unbounded.

        A character counts at its first byte, so a state inside a UTF-8 sequence does not count it again.
        """
        from ._lengths import char_bounds

        return char_bounds(self)

    @cached_property
    def number_values(self) -> NumberValues | None:
        """How many values follow each state, where words are numbers; None where they are not."""
        from .number_values import number_values

        return number_values(self)

    @cached_property
    def has_interval_lengths(self) -> bool:
        """Whether from every state the possible character counts to acceptance form an interval.

        Only then can minLength and maxLength be kept in a register instead of in states.
        """
        from ._lengths import has_interval_lengths

        return has_interval_lengths(self)
