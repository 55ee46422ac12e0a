"""Number texts within bounds: each bound is compared digit by digit with the magnitude, in parallel as a plain number
and as a mantissa, and then with the exponent.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from .._limits import Limits
from .decimals import GREATER, LESS, Bound, Exponents, critical_digit, digit_order, digit_step, runs
from .dfa import DFA
from .operations import EMPTY_LANGUAGE, assemble, minimal

__all__ = ["CLASSES", "Side", "within"]

CLASSES = np.full(256, 14, np.uint8)
"""0..9 the digits, then - + . e, then everything else."""
CLASSES[0x30:0x3A] = np.arange(10)
for _symbol, _class in ((b"-", 10), (b"+", 11), (b".", 12), (b"e", 13), (b"E", 13)):
    CLASSES[_symbol[0]] = _class
_NONE: list[Any] = [None] * 15

START, MINUS, ZERO, INTEGER, POINT, FRACTION, E, SIGN, EXPONENT = range(9)

Side = tuple[Fraction, bool] | None
"""(value, whether the value itself is outside) of a bound."""


@lru_cache(maxsize=1024)
def within(low: Side, high: Side, wide: int, limited: bool, limits: Limits) -> DFA:
    """Texts of the numbers between the bounds, by value.

    wide: -1: plain numbers only; 0: also normalised ones with an exponent; k: also those that have with their exponent
    at most k + 1 digits before the point, or fewer than k zeros behind it before the first other digit.
    limited: whether that holds for a sign without bounds too; otherwise its numbers are written in any way.
    """
    if low is not None and high is not None and (low[0] > high[0] or (low[0] == high[0] and (low[1] or high[1]))):
        return EMPTY_LANGUAGE
    positive = _of_sign(low, high, False, limits.max_states)
    negative = _of_sign(low, high, True, limits.max_states)
    automaton = _Automaton((positive, negative), wide, limited)
    dfa = assemble(CLASSES, (START,), automaton.moves, automaton.label, limits)
    return minimal(dfa) if wide > 0 else dfa


def _of_sign(low: Side, high: Side, negative: bool, max_digits: int) -> tuple[Bound, ...] | None:
    """Bounds of the magnitude of numbers with that sign, or None where there are no such numbers."""
    if negative:
        low, high = (high and (-high[0], high[1])), (low and (-low[0], low[1]))
    bounds = []
    if high is not None:
        if high[0] < 0 or high == (0, True):
            return None
        bounds.append(Bound(high[0], False, high[1], max_digits))
    if low is not None and (low[0] > 0 or low == (0, True)):
        bounds.append(Bound(low[0], True, low[1], max_digits))
    return tuple(bounds)


_Mantissa = tuple[tuple[int, ...], int] | None
"""Digit states and the exponent of the first digit but zero; None where no exponent may follow."""


class _Automaton:
    """moves and label over states (phase, negative, ...), the rest depending on the phase.

    ZERO, INTEGER     whole states, mantissa
    POINT, FRACTION   part states, mantissa, nothing but zeros
    E ... EXPONENT    mantissa orders, its exponent, nothing but zeros, sign, exponent states
    """

    def __init__(
        self, bounds: tuple[tuple[Bound, ...] | None, tuple[Bound, ...] | None], wide: int, limited: bool
    ) -> None:
        self.bounds, self.wide, self.limited = bounds, wide, limited
        self.signed = bool(bounds[0] or bounds[1])
        """Whether what follows depends on the sign."""
        self.known: dict[int, Exponents] = {}

    def moves(self, state: tuple[Any, ...]) -> list[Any]:
        phase = state[0]
        if phase <= MINUS:
            return self._first(phase)
        row = _NONE.copy()
        bounds = self.bounds[state[1]]
        assert bounds is not None
        if phase <= INTEGER:
            self._whole(row, bounds, *state)
        elif phase <= FRACTION:
            self._fraction(row, bounds, *state)
        else:
            self._exponent(row, bounds, *state)
        return row

    def _first(self, phase: int) -> list[Any]:
        row = _NONE.copy()
        negative = phase == MINUS
        if phase == START and self.bounds[1] is not None:
            row[10] = (MINUS,)
        bounds = self.bounds[negative]
        negative = negative and self.signed
        if bounds is not None:
            critical = [0, *[b.whole_critical((0, 0)) for b in bounds]]
            if self.wide >= 0:
                critical += [critical_digit(b.digits, 0) for b in bounds]
            for digit, alike in _digits(critical):
                whole = tuple([b.whole_step((0, 0), digit) for b in bounds])
                mantissa: _Mantissa = None
                if self.wide >= 0:
                    # the first zero is no digit of the mantissa
                    mantissa = tuple([digit_step(b.digits, 0, digit) if digit else 0 for b in bounds]), 0
                for same in alike:
                    row[same] = (INTEGER if digit else ZERO, negative, whole, mantissa)
        return row

    def _whole(
        self,
        row: list[Any],
        bounds: tuple[Bound, ...],
        phase: int,
        negative: bool,
        whole: tuple[tuple[int, int], ...],
        mantissa: _Mantissa,
    ) -> None:
        if phase == INTEGER:
            longer = mantissa
            if mantissa is not None and not bounds and not self.limited:
                longer = (), -1
            elif mantissa is not None and mantissa[1] >= self.wide:
                longer = None
            critical = [b.whole_critical(w) for b, w in zip(bounds, whole, strict=True)]
            if longer is not None:
                critical += [0, *[critical_digit(b.digits, m) for b, m in zip(bounds, longer[0], strict=True)]]
            for digit, alike in _digits(critical):
                found = tuple([b.whole_step(w, digit) for b, w in zip(bounds, whole, strict=True)])
                too_many = any(not b.least and w[0] > len(b.whole) for b, w in zip(bounds, found, strict=True))
                if too_many and longer is None:
                    continue
                following = None if longer is None else (_stepped(bounds, longer[0], digit), longer[1] + 1)
                for same in alike:
                    row[same] = (INTEGER, negative, found, following)
        orders = [b.whole_order(w) for b, w in zip(bounds, whole, strict=True)]
        part = tuple([0 if not order else LESS if order < 0 else GREATER for order in orders])
        row[12] = (POINT, negative, part, mantissa, phase == ZERO)
        if mantissa is not None:
            row[13] = self._e(negative, bounds, mantissa, phase == ZERO)

    def _fraction(
        self,
        row: list[Any],
        bounds: tuple[Bound, ...],
        phase: int,
        negative: bool,
        part: tuple[int, ...],
        mantissa: _Mantissa,
        zero: bool,
    ) -> None:
        critical = [0, *[critical_digit(b.part, p) for b, p in zip(bounds, part, strict=True)]]
        if mantissa is not None:
            critical += [critical_digit(b.digits, m) for b, m in zip(bounds, mantissa[0], strict=True)]
        for digit, alike in _digits(critical):
            found = tuple([digit_step(b.part, p, digit) for b, p in zip(bounds, part, strict=True)])
            following = mantissa
            if mantissa is None or (not bounds and not self.limited):
                pass
            elif digit or not zero:
                place = mantissa[1] - 1 if zero else mantissa[1]
                following = (_stepped(bounds, mantissa[0], digit), place) if place >= -self.wide else None
            else:
                following = mantissa[0], max(mantissa[1] - 1, -self.wide - 1)
            for same in alike:
                row[same] = (FRACTION, negative, found, following, zero and not digit)
        if phase == FRACTION and mantissa is not None:
            row[13] = self._e(negative, bounds, mantissa, zero)

    def _e(self, negative: bool, bounds: tuple[Bound, ...], mantissa: _Mantissa, zero: bool) -> tuple[Any, ...]:
        assert mantissa is not None
        orders = tuple([digit_order(b.digits, m) for b, m in zip(bounds, mantissa[0], strict=True)])
        place = 0 if zero or not any(b.digits for b in bounds) else mantissa[1]
        return E, negative, orders, place, zero, False, ((0, 0),) * len(bounds)

    def _compared(self, bounds: tuple[Bound, ...], place: int) -> list[Exponents]:
        found = []
        for bound in bounds:
            known = bound.exponent - place
            if known not in self.known:
                self.known[known] = Exponents(known)
            found.append(self.known[known])
        return found

    def _exponent(
        self,
        row: list[Any],
        bounds: tuple[Bound, ...],
        phase: int,
        negative: bool,
        orders: tuple[int, ...],
        place: int,
        zero: bool,
        minus: bool,
        exponent: tuple[tuple[int, int], ...],
    ) -> None:
        if phase == E:
            row[10] = (SIGN, negative, orders, place, zero, True, exponent)
            row[11] = (SIGN, negative, orders, place, zero, False, exponent)
        compared = self._compared(bounds, place)
        critical = [0, *[critical_digit(c.digits, e[0]) for c, e in zip(compared, exponent, strict=True)]]
        for digit, alike in _digits(critical):
            found = tuple([c.step(e, digit) for c, e in zip(compared, exponent, strict=True)])
            for same in alike:
                row[same] = (EXPONENT, negative, orders, place, zero, minus, found)

    def label(self, state: tuple[Any, ...]) -> int:
        phase = state[0]
        if phase in (START, MINUS, POINT, E, SIGN):
            return -1
        bounds = self.bounds[state[1]]
        assert bounds is not None
        if phase <= INTEGER:
            orders = [b.whole_order(w) for b, w in zip(bounds, state[2], strict=True)]
            orders = [o or (-1 if b.part else 0) for b, o in zip(bounds, orders, strict=True)]
        elif phase == FRACTION:
            orders = [digit_order(b.part, p) for b, p in zip(bounds, state[2], strict=True)]
        else:
            _, _, mantissa, place, zero, minus, exponent = state
            orders = []
            for bound, order, compared, read in zip(
                bounds, mantissa, self._compared(bounds, place), exponent, strict=True
            ):
                if not zero and bound.digits:
                    order = compared.order(minus, read) or order
                orders.append(order)
        return 0 if all(b.allows(o) for b, o in zip(bounds, orders, strict=True)) else -1


def _stepped(bounds: tuple[Bound, ...], states: tuple[int, ...], digit: int) -> tuple[int, ...]:
    return tuple([digit_step(b.digits, m, digit) for b, m in zip(bounds, states, strict=True)])


def _digits(critical: list[int]) -> Any:
    key = 0
    for digit in critical:
        if digit >= 0:
            key |= 1 << digit
    return runs(key)
