"""Intervals of integers in their shortest spelling, built digit by digit without a search.

While a prefix agrees with the digits of a bound the state is *tight*: (sign, digits read, order to the lower and to the
upper bound, 0 for equal). As soon as both orders are decided all that matters is how many digits may still follow:
a *free* state (least, most). A bound that ends in zeros (lower) or nines (upper) is decided where that tail begins, so
the automaton comes out minimal but for accidents.
"""

from __future__ import annotations

import numpy as np

from .dfa import DFA
from .utf8 import EMPTY_LANGUAGE, finish

__all__ = ["integer_range"]

_CLASSES = np.full(256, 11, np.uint8)
_CLASSES[0x30:0x3A] = np.arange(10)
_CLASSES[0x2D] = 10

_State = tuple[int | None, ...]


class _Magnitudes:
    """Numbers of one sign: their least and greatest magnitude as digits ("" for 0 and for no bound)."""

    def __init__(self, least: int, most: int | None) -> None:
        self.zero = least <= 0
        self.only_zero = most == 0
        self.low = str(least) if least > 0 else ""
        self.high = str(most) if most is not None else ""
        self.zeros_from = len(self.low.rstrip("0"))
        self.nines_from = len(self.high.rstrip("9"))

    def state(self, sign: int, read: int, low_order: int, high_order: int) -> _State | None:
        """The state after `read` digits with these orders to the bounds; None where nothing can follow."""
        if not low_order and read >= self.zeros_from:
            low_order = 1
        if not high_order and read >= self.nines_from:
            high_order = -1
        if not low_order or not high_order:
            return sign, read, low_order, high_order
        least = max(0, len(self.low) - read + (low_order < 0))
        if not self.high:
            return least, None
        most = len(self.high) - read - (high_order > 0)
        return (least, most) if least <= most else None

    def after(self, sign: int, read: int, low_order: int, high_order: int, digit: int) -> _State | None:
        if self.high and read == len(self.high):
            return None
        if not low_order:
            known = ord(self.low[read]) - 48
            low_order = (digit > known) - (digit < known)
        if not high_order:
            known = ord(self.high[read]) - 48
            high_order = (digit > known) - (digit < known)
        return self.state(sign, read + 1, low_order, high_order)

    def first(self, sign: int, digit: int) -> _State | None:
        if not digit:
            return (0, 0) if self.zero else None
        if self.only_zero:
            return None
        return self.after(sign, 0, 0 if self.low else 1, 0 if self.high else -1, digit)

    def accepts(self, read: int, low_order: int, high_order: int) -> bool:
        above = read > len(self.low) or (read == len(self.low) and low_order >= 0)
        return above and (not self.high or read < len(self.high) or (read == len(self.high) and high_order <= 0))


def integer_range(low: int | None, high: int | None, name: str | None = None) -> DFA:
    """-?(0|[1-9][0-9]*) with low <= value <= high (None: no bound). "-0" is zero."""
    if low is not None and high is not None and low > high:
        return EMPTY_LANGUAGE
    signs: list[_Magnitudes | None] = [None, None]
    if high is None or high >= 0:
        signs[0] = _Magnitudes(0 if low is None else max(low, 0), high)
    if low is None or low <= 0:
        signs[1] = _Magnitudes(0 if high is None else max(-high, 0), None if low is None else -low)
    numbers: dict[_State, int] = {(): 0}
    order: list[_State] = [()]
    rows: list[list[int]] = []
    labels: list[int] = []

    def number(state: _State | None) -> int:
        if state is None:
            return -1
        found = numbers.get(state)
        if found is None:
            found = numbers[state] = len(order)
            order.append(state)
        return found

    for state in order:
        row = [-1] * 12
        label = -1
        if len(state) < 2:  # (): the start; (sign,): after the minus
            sign = len(state)
            group = signs[sign]
            if group is not None:
                row[:10] = [number(group.first(sign, digit)) for digit in range(10)]
            if not sign and signs[1] is not None:
                row[10] = number((1,))
        elif len(state) == 2:
            least, most = state
            assert least is not None
            if most is None or most > 0:
                row[:10] = [number((max(0, least - 1), None if most is None else most - 1))] * 10
            label = -1 if least else 0
        else:
            sign, read, low_order, high_order = state  # type: ignore[assignment]
            group = signs[sign]
            assert group is not None and read is not None and low_order is not None and high_order is not None
            row[:10] = [number(group.after(sign, read, low_order, high_order, digit)) for digit in range(10)]
            label = 0 if group.accepts(read, low_order, high_order) else -1
        rows.append(row)
        labels.append(label)
    return finish(_CLASSES, np.array(rows, np.int32), np.array(labels, np.int32), name)
