"""Calls that begin with text alone, and reasoning that ends with text: there the automaton reads the free text, too.

    free   ::= text without the text of an opening marker
    reply  ::= free (block free)*

So a token that completes an opening marker and goes on is allowed if what follows may begin the call. Control tokens in
free text are none of the automaton's business and pass by it; so do reasoning and code blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arguments import token_id_of
from ..automata.grammar import Lexeme, Node, Union
from ..automata.matcher import NOT_RELEASED, Matcher
from ..languages import operations
from ..languages.operations import ANY_STRING
from ..languages.pattern import compile_pattern
from ..languages.texts import strings_without
from ..vocabulary import Vocabulary
from .layouts import Either, Many, Maybe, Parts, frame
from .matcher import ToolMatcher, all_but
from .regions import Opening
from .reply import State
from .values import LOOSE

__all__ = ["TextMatcher", "free_root"]

_AT_START = r'^[ \t\r\n]*(?:;[ \t\r\n]*)?\{[ \t\r\n]{0,4}"name"'
"""How a call begins in formats without an opening marker: at the start of a message, or after another call."""


def free_root(openings: Sequence[Opening], ways: Sequence[Parts], single: bool, barred: bool = False) -> Node:
    """The grammar of whole replies.

    openings: calls that begin with text.     ways: those that begin with a control token.     single: at most one call.
    barred: no call can be written.
    """
    markers = tuple(dict.fromkeys(one.before.decode() for one in openings if one.before))
    language = strings_without(markers) if markers else ANY_STRING
    start: Parts = ()
    at_start = [one.node for one in openings if not one.before]
    if at_start:
        language = operations.difference(language, compile_pattern(_AT_START))
        start = (LOOSE, Union(tuple(at_start)))
    free = Lexeme(dfa=language)
    if barred:
        return frame(free, Many(Either(*ways), free)) if ways else frame(free)
    anywhere: list[Parts] = [*ways, *((one.node,) for one in openings if one.before)]
    if single:
        later: Parts = (free, Maybe(Either(*anywhere), free)) if anywhere else (free,)
        return frame(Either((*start, free), later)) if start else frame(*later)
    more = Many(LOOSE, b";", *start) if start else b""
    rest = (Many(Either(*anywhere), more, free),) if anywhere else ()
    return frame(Maybe(*start, more), free, *rest) if start else frame(free, *rest)


class TextMatcher(ToolMatcher):
    """A ToolMatcher whose automaton reads free text. There `is_constraining` is True, though little is forbidden."""

    @property
    def is_free(self) -> bool:
        """Whether the next token may be free text."""
        if self._plan.demanded:
            return self._state.seen.thinking
        return not self._state.calling or Matcher.is_accepting(self)

    @property
    def in_call(self) -> bool:
        return super().in_call and not self.is_free

    @property
    def _in_engine(self) -> bool:
        return super()._in_engine and not self.is_free

    def fill_next_token_bitmask(self, bitmask: Any, row: int = 0) -> bool:
        if self._free != NOT_RELEASED or not self._state.calling or not self.is_free:
            return super().fill_next_token_bitmask(bitmask, row)
        Matcher.fill_next_token_bitmask(self, bitmask, row)
        words = self._index.words
        target = bitmask if isinstance(bitmask, np.ndarray) else bitmask.numpy()
        target[row, :words] |= _without_bytes(self.vocabulary, words)
        target[row, :words] &= all_but(self._banned(), words)
        return True

    def allows(self, token_id: int) -> bool:
        token = token_id_of(token_id)
        if self._free != NOT_RELEASED or not self._state.calling or not self.is_free:
            return super().allows(token)
        if not 0 <= token < self.vocabulary.size or self.is_terminated() or token in self._banned():
            return False
        return self.vocabulary.token_bytes(token) is None or Matcher.allows(self, token)

    def accept_token(self, token_id: int) -> bool:
        state = self._state
        if self._free != NOT_RELEASED or self.is_terminated():
            return super().accept_token(token_id)
        if not state.calling:
            taken = super().accept_token(token_id)
            self._resume()
            return taken
        token, free = token_id_of(token_id), self.is_free
        if not 0 <= token < self.vocabulary.size or (free and token in self._banned()):
            return False
        data = self.vocabulary.token_bytes(token)
        if data is None and free and token not in self._stop_set:
            return self._pass_by(state, token)
        if not Matcher.accept_token(self, token):
            return False
        self._read(state, free, data or b"")
        return True

    def accept_bytes(self, data: bytes) -> bool:
        state, free = self._state, self.is_free
        if self._free != NOT_RELEASED or self.is_terminated() or not state.calling or not data:
            taken = super().accept_bytes(data)
            self._resume()
            return taken
        if not Matcher.accept_bytes(self, data):
            return False
        self._read(state, free, data)
        return True

    def is_accepting(self) -> bool:
        if self._free != NOT_RELEASED or self.is_terminated():
            return True
        return not self._state.calling or Matcher.is_accepting(self)

    def _pass_by(self, state: State, token: int) -> bool:
        """Note a control token in free text; the automaton reads it only where it begins a call."""
        after, begins = self._plan.after_control(state, token)
        if begins and not self._accept(token, True):
            return False
        self._note((state, int(begins)))
        self._state = after if begins else after._replace(calling=not after.seen.thinking)
        return True

    def _read(self, state: State, free: bool, data: bytes) -> None:
        """Note what the automaton has read: free text, or a part of a call."""
        self._note((state, 1))
        self._state = state = self._with_name(state)
        if self.is_terminated() or self._plan.demanded:
            if free:
                self._state = state._replace(seen=self._plan.watch.text(state.seen, data))
            return
        if free and self.is_free:
            self._state = state._replace(seen=self._plan.watch.text(state.seen, data))
        elif self.is_free:
            start = self._plan.start()
            self._state = state._replace(calling=start.calling, seen=start.seen, calls=state.calls + 1, span=None)
        if self._is_aside():
            self._state = self._state._replace(calling=False)

    def _resume(self) -> None:
        """After reasoning or a code block the automaton reads on."""
        if not self._plan.demanded and not self._is_aside():
            self._state = self._state._replace(calling=True)

    def _is_aside(self) -> bool:
        """Whether this is reasoning or a code block."""
        seen = self._state.seen
        return seen.thinking or (self._plan.watch.fences and seen.in_fence)


@lru_cache(maxsize=16)
def _without_bytes(vocabulary: Vocabulary, words: int) -> NDArray[np.int32]:
    """Mask of the rows that have no bytes, int32[words]."""
    flags: NDArray[np.uint8] = np.zeros(words * 32, np.uint8)
    flags[: vocabulary.size] = np.diff(vocabulary.offsets) == 0
    return np.packbits(flags, bitorder="little").view(np.int32)
