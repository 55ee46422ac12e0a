"""Punycode (RFC 3492) as automata.

A label is written as its ASCII characters, "-" behind them if there are any, and for each other letter, by rising code
points, a number that tells how far on it is in the order of code points and places. What may follow thus depends on
the last letter, its place, how many characters there are and the bias of the next number, and not on which characters
came before, as long as every sequence of the letters is a label. So there are few states where the alphabet is small
and the letters are few.
"""

from __future__ import annotations

from collections.abc import Iterable

from .dfa import DFA
from .words import Node, from_nodes

__all__ = ["labels"]

_DIGITS = b"abcdefghijklmnopqrstuvwxyz0123456789"
_BASE, _TMIN, _TMAX, _SKEW, _DAMP, _BIAS, _FIRST = 36, 1, 26, 38, 700, 72, 128  # RFC 3492, section 5


def labels(letters: Iterable[str], most: int, ascii_least: int = 0, ascii_most: int = 0) -> DFA:
    """The Punycode of all strings of 1 to `most` of the letters with ASCII letters and digits at any places.

    letters: beyond ASCII.
    ascii_least, ascii_most: how many of the ASCII characters; small letters, and no hyphens.
    """
    found = _Labels(sorted(map(ord, letters)))
    return from_nodes(found.nodes, found.root(most, ascii_least, ascii_most))


def _adapted(delta: int, length: int, first: bool) -> int:
    """Section 6.1: the bias behind a number."""
    delta //= _DAMP if first else 2
    delta += delta // length
    k = 0
    while delta > (_BASE - _TMIN) * _TMAX // 2:
        delta //= _BASE - _TMIN
        k += _BASE
    return k + (_BASE - _TMIN + 1) * delta // (delta + _SKEW)


def _written(number: int, bias: int) -> bytes:
    """Section 6.3: a number in digits."""
    text = bytearray()
    k = _BASE
    while True:
        threshold = min(max(k - bias, _TMIN), _TMAX)
        if number < threshold:
            text.append(_DIGITS[number])
            return bytes(text)
        number, digit = divmod(number - threshold, _BASE - threshold)
        text.append(_DIGITS[threshold + digit])
        k += _BASE


class _Labels:
    """Nodes of the minimal automaton, made from its end: (accepting, byte -> node), equal ones once."""

    def __init__(self, codes: list[int]) -> None:
        self.codes = codes
        self.nodes: list[Node] = []
        self._numbers: dict[tuple[object, ...], int] = {}
        self._after: dict[tuple[int, ...], int] = {}

    def root(self, most: int, ascii_least: int, ascii_most: int) -> int:
        node = -1
        for length in range(ascii_most, -1, -1):
            edges = {} if node < 0 else dict.fromkeys(_DIGITS, node)
            if length >= ascii_least:
                start = self.after(_FIRST, 0, length, _BIAS, most, True)
                if not length:  # with ASCII characters possible, a number and they would begin alike
                    assert not edges
                    return start
                edges[ord("-")] = start
            node = self._node(False, edges)
        return node

    def after(self, last: int, place: int, length: int, bias: int, left: int, first: bool = False) -> int:
        """The node behind a number, at which the next letter is at `place` or behind it if it is `last` again.

        length: characters so far. left: letters that may follow. first: none was yet.
        """
        if not left:
            return self._node(True, {})
        key = (last, place, length, bias, left)
        node = self._after.get(key)
        if node is None:
            longer = length + 1
            numbers = {}
            for code in self.codes:
                for spot in range(place if code == last else 0, longer):
                    delta = (code - last) * longer + spot - place
                    if delta >= 0:
                        following = self.after(code, spot + 1, longer, _adapted(delta, longer, first), left - 1)
                        numbers[_written(delta, bias)] = following
            node = self._after[key] = self._trie(not first, numbers)
        return node

    def _trie(self, accepting: bool, words: dict[bytes, int]) -> int:
        """No word is the beginning of another, as numbers end by themselves."""
        edges: dict[int, int] = {}
        longer: dict[int, dict[bytes, int]] = {}
        for word, node in words.items():
            if len(word) == 1:
                edges[word[0]] = node
            else:
                longer.setdefault(word[0], {})[word[1:]] = node
        for byte, rest in longer.items():
            edges[byte] = self._trie(False, rest)
        return self._node(accepting, edges)

    def _node(self, accepting: bool, edges: dict[int, int]) -> int:
        number = self._numbers.setdefault((accepting, *sorted(edges.items())), len(self.nodes))
        if number == len(self.nodes):
            self.nodes.append((accepting, edges))
        return number
