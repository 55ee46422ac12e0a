r"""The plain texts -?(0|[1-9][0-9]*)(\.[0-9]+)? of the multiples of a decimal, digit by digit from the left.

A number is a multiple of base / 10**scale if its digits, without the point and with exactly `scale` digits after it,
are a multiple of base, and nothing but zeros follows. Of the digits read a remainder matters, and only as far as it
decides how they can go on: if the fewest further digits that can make a multiple are k, the remainder counts modulo
base / gcd(10**k, base). So a divisor 2**a * 5**b * c takes about c states where c is large, and few where c is 1.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import gcd
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._digits import spelled_integer
from .._errors import LimitError
from .._limits import Limits
from .decimals import decimal_places
from .dfa import DFA
from .explore import explore
from .minimize import merge_equal, trim
from .utf8 import finish
from .words import from_words

__all__ = ["few_multiples", "multiples"]

_CLASSES = np.full(256, 12, np.uint8)
_CLASSES[0x30:0x3A] = np.arange(10)
_CLASSES[0x2D], _CLASSES[0x2E] = 10, 11
_WIDTH = 13
_DIGITS = np.arange(10)


@lru_cache(maxsize=128)
def multiples(divisor: Fraction, integers: bool, limits: Limits) -> DFA:
    """Plain texts of the multiples of `divisor`; integers: only those without a point.

    Raises ValueError where `divisor` is not positive or has no finite decimal expansion, LimitError where remainders
    exceed limits.max_states.
    """
    if divisor <= 0:
        raise ValueError("a divisor must be greater than 0")
    scale = decimal_places(divisor, limits.max_states)
    base = divisor.numerator * 10**scale // divisor.denominator
    if integers:
        base, scale = base // gcd(base, 10**scale), 0
    return _Multiples(base, scale, limits).automaton(integers)


class _Multiples:
    """powers, moduli: by the number k of further digits, 10**k and base / gcd(10**k, base).

    After `horizon` more digits only the part of base without factors 2 and 5 counts. A key is k * base + remainder.
    """

    def __init__(self, base: int, scale: int, limits: Limits) -> None:
        self.base, self.scale, self.limits = base, scale, limits
        odd, longest = base, 0
        while (common := gcd(odd, 10)) > 1:
            odd //= common
            longest += 1
        self.horizon = max(longest, scale)
        self.powers = [10**k for k in range(self.horizon + 1)]
        self.moduli = [base // gcd(power, base) for power in self.powers]
        # So many remainders can become a multiple with k digits, and at most so many of them with fewer.
        sizes = [min(power, base) * modulus // base for power, modulus in zip(self.powers, self.moduli, strict=True)]
        sizes = [*sizes[scale : self.horizon], odd]
        if max(size - sum(sizes[:k]) for k, size in enumerate(sizes)) > limits.max_states:
            shown = spelled_integer(base)[:60]
            raise LimitError("max_states", limits.max_states, f"remainders modulo {shown} for multipleOf")
        small = base < 1 << 31 and (self.horizon + 2) * base < 1 << 62
        self.type: Any = np.int64 if small else object  # Python's integers where numpy's are too short

    def _needed(self, remainders: NDArray[Any], k: int) -> NDArray[Any]:
        """What k further digits must be, modulo base."""
        return -remainders * (self.powers[k] % self.base) % self.base

    def _classes(self, remainders: NDArray[Any], least: NDArray[Any]) -> NDArray[Any]:
        """Keys of remainders that at least `least` further digits follow."""
        keys = np.full(remainders.shape, -1, self.type)
        for k in range(int(least.min()), self.horizon + 1):
            able = (keys < 0) & (least <= k)
            if k < self.horizon and self.powers[k] < self.base:
                able &= self._needed(remainders, k) < self.powers[k]
            keys = np.where(able, k * self.base + remainders % self.moduli[k], keys)
        return keys

    def _step(self, keys: NDArray[Any]) -> NDArray[Any]:
        k, remainders = keys // self.base, keys % self.base
        following = (remainders[:, None] * 10 + _DIGITS.astype(self.type)) % self.base
        return self._classes(following, np.maximum(k - 1, self.scale)[:, None])

    def automaton(self, integers: bool) -> DFA:
        """start, minus, zero, the states of the digits before the point, and those of the point and behind it."""
        zero = np.zeros(1, self.type)
        root = self._classes(zero, zero + self.scale)
        span = (self.horizon + 1) * self.base
        whole, keys = explore(root, self._step, span, self.limits, "remainders for multipleOf")
        count = len(whole)
        table = np.full((3 + count, _WIDTH), -1, np.int32)
        table[3:, :10] = whole + 3
        table[:2, :10] = table[3, :10]
        table[:2, 0] = 2
        table[0, 10] = 1
        remainders = keys % self.base
        needed = self._needed(remainders, self.scale)
        enough = (keys // self.base == self.scale) & (needed < self.powers[self.scale])
        accepting = enough & (needed == 0)
        labels = np.concatenate([[-1, -1, 0], np.where(accepting, 0, -1)]).astype(np.int32)
        if not integers:
            pointed, further, accepted = self._behind_the_point(remainders[enough], len(table))
            table[3:, 11][enough] = pointed
            table[2, 11] = table[3, 11]
            table, labels = np.concatenate([table, further]), np.concatenate([labels, accepted])
        return finish(_CLASSES, *merge_equal(*trim(*_reachable(table, labels))))

    def _behind_the_point(
        self, remainders: NDArray[Any], first: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
        """(states that the point leads to from each remainder, table and labels of states numbered from `first`)."""
        layer, entry = np.unique(remainders, return_inverse=True)
        tables, labels, number = [], [], first
        for k in range(self.scale, 0, -1):
            table = np.full((len(layer), _WIDTH), -1, np.int32)
            following = (layer[:, None] * 10 + _DIGITS.astype(self.type)) % self.base
            able = self._needed(following, k - 1) < self.powers[k - 1]
            below, index = np.unique(following[able] % self.moduli[k - 1], return_inverse=True)
            table[:, :10][able] = number + len(layer) + index
            ends = self._needed(layer, k) == 0
            labels.append(np.where(ends & (k < self.scale), 0, -1))
            tables.append(table)
            number += len(layer)
            layer = below
        # nothing but zeros from here on; straight after the point there must be one
        table = np.full((2, _WIDTH), -1, np.int32)
        table[:, 0] = number + 1
        tables.append(table)
        labels.append(np.array([-1 if self.scale == 0 else 0, 0]))
        return first + entry.reshape(-1), np.concatenate(tables), np.concatenate(labels).astype(np.int32)


def _reachable(table: NDArray[np.int32], labels: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The states that state 0 reaches."""

    def step(states: NDArray[np.int64]) -> NDArray[np.int64]:
        return table[states].astype(np.int64)

    found, order = explore(np.zeros(1, np.int64), step, len(labels), Limits(max_states=len(labels)))
    return found, labels[order]


def few_multiples(
    low: tuple[Fraction, bool] | None,
    high: tuple[Fraction, bool] | None,
    divisor: Fraction,
    integers: bool,
    most: int,
    limits: Limits,
) -> DFA | None:
    """As `multiples`, between two bounds (value, strict), from a list; None where there are more than `most`.

    Whatever the divisor, this takes states for the digits of the multiples only.
    """
    if low is None or high is None:
        return None
    if integers:
        divisor = Fraction(divisor.numerator)
    first = -(-low[0] // divisor)
    first += low[1] and first * divisor == low[0]
    last = high[0] // divisor
    last -= high[1] and last * divisor == high[0]
    if last - first >= most:
        return None
    scale = decimal_places(divisor, limits.max_states)
    words = []
    for k in range(first, last + 1):
        value = k * divisor
        digits = str(abs(value.numerator) * 10**scale // value.denominator).rjust(scale + 1, "0")
        text = f"{digits[: len(digits) - scale]}.{digits[len(digits) - scale :]}"
        words += [text] if value > 0 else ["-" + text] if value else [text, "-" + text]
    listed = from_words([word.encode() for word in words], limits)
    if listed.is_empty:
        return listed
    count = listed.n_states
    table = np.full((count + 1, _WIDTH), -1, np.int32)
    for number, byte in enumerate(b"0123456789-."):
        table[:count, number] = listed.table[:, listed.classes[byte]]
    # Zeros at the end may be left out, with the point if nothing else is behind it, or more of them may follow.
    final = listed.labels >= 0
    table[:count, 0][final] = table[count, 0] = count
    accepting = np.append(final, False)  # the last entry is asked for target -1
    for _ in range(scale):
        accepting[:-1] |= accepting[table[:count, 0]] & (table[:count, 0] < count)
    accepting[:-1] |= accepting[table[:count, 11]]
    pointed = table[:count, 11]
    labels = np.append(np.where(accepting[:-1], 0, -1), 0).astype(np.int32)
    labels[pointed[pointed >= 0]] = -1
    if integers:
        table[:, 11] = -1
    return finish(_CLASSES, *merge_equal(*trim(*_reachable(table, labels))))
