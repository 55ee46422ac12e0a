"""The languages of JSON numbers as text (RFC 8259 section 6), by value.

Without bounds a number is anything of the grammar. With bounds or divisors the universe is
    plain       -?(0|[1-9][0-9]*)(\\.[0-9]+)?          any number of digits
    normalised  -?[0-9](\\.[0-9]+)?[eE][+-]?[0-9]+     the digit before the point is 0 only where the value is
and membership is exactly by value. Divisors leave plain numbers only: from left to right a remainder has no meaning
under an exponent. Integers are written -?(0|[1-9][0-9]*) in the "canonical" spelling; "any" adds every number of the
universe whose value is an integer, as far as its mantissa's last non-zero digit is among the first 16 after the point.

A bound is compared digit by digit with the magnitude, in parallel as a plain number and as a mantissa; the automaton is
the product of those comparisons, the remainders, and the syntax.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from .._errors import LimitError
from .._limits import Limits
from .decimals import EACH, GREATER, LESS, Bound, Divisor, critical_digit, digit_order, digit_step, runs
from .dfa import DFA
from .integers import integer_range
from .operations import EMPTY_LANGUAGE, assemble

__all__ = ["Number", "fraction_language", "number_language", "number_literal"]

Number = int | float | Decimal | Fraction

_CLASSES = np.full(256, 14, np.uint8)
_CLASSES[0x30:0x3A] = np.arange(10)
for _symbol, _class in ((b"-", 10), (b"+", 11), (b".", 12), (b"e", 13), (b"E", 13)):
    _CLASSES[_symbol[0]] = _class
_NONE: list[Any] = [None] * 15

_MANTISSA = 16
"""Digits after the point of a mantissa that integrality looks at."""
_LONG = 13_000
"""Bits of the longest integer bound; about 3,900 digits, below what the interpreter refuses to print."""
_START, _MINUS, _ZERO, _INTEGER, _POINT, _FRACTION, _E, _SIGN, _EXPONENT = range(9)


class _Automaton:
    """moves and label over states (phase, negative, ...), the rest depending on the phase.

    _ZERO, _INTEGER     whole states, mantissa states, divisor states
    _POINT, _FRACTION   part states, mantissa states, divisor states, places, last non-zero place, nothing but zeros
    _E ... _EXPONENT    mantissa orders, last non-zero place, nothing but zeros, sign, exponent states, capped exponent
    """

    def __init__(
        self,
        bounds: tuple[tuple[Bound, ...] | None, tuple[Bound, ...] | None],
        divisors: tuple[Divisor, ...],
        integrality: bool | None,
        canonical: bool,
    ) -> None:
        self.bounds, self.divisors, self.integrality, self.canonical = bounds, divisors, integrality, canonical
        self.places = max([d.scale for d in divisors], default=0)
        self.exponents = not divisors and not canonical
        self.signed = bool(bounds[0] or bounds[1])
        """Whether what follows depends on the sign."""
        self.counts = integrality is not None and not canonical

    def moves(self, state: tuple[Any, ...]) -> list[Any]:
        phase = state[0]
        if phase <= _MINUS:
            return self._first(phase)
        row = _NONE.copy()
        bounds = self.bounds[state[1]]
        assert bounds is not None
        if phase <= _INTEGER:
            self._whole(row, bounds, *state)
        elif phase <= _FRACTION:
            self._fraction(row, bounds, *state)
        else:
            self._exponent(row, bounds, *state)
        return row

    def _whole(
        self,
        row: list[Any],
        bounds: tuple[Bound, ...],
        phase: int,
        negative: bool,
        whole: tuple[tuple[int, int], ...],
        mantissa: tuple[int, ...] | None,
        remainders: tuple[tuple[int, int], ...],
    ) -> None:
        if phase == _INTEGER:
            for digit, alike in self._digits([b.whole_critical(w) for b, w in zip(bounds, whole, strict=True)]):
                found = tuple([b.whole_step(w, digit) for b, w in zip(bounds, whole, strict=True)])
                if any(not b.least and w[0] > len(b.whole) for b, w in zip(bounds, found, strict=True)):
                    continue
                after = tuple([d.step(r, digit) for d, r in zip(self.divisors, remainders, strict=True)])
                following = (_INTEGER, negative, found, None, after)
                for same in alike:
                    row[same] = following
        if not self.canonical:
            orders = [b.whole_order(w) for b, w in zip(bounds, whole, strict=True)]
            part = tuple([0 if not order else LESS if order < 0 else GREATER for order in orders])
            row[12] = (_POINT, negative, part, mantissa, remainders, 0, 0, phase == _ZERO)
            if mantissa is not None:
                row[13] = self._e(negative, bounds, mantissa, 0, phase == _ZERO)

    def _fraction(
        self,
        row: list[Any],
        bounds: tuple[Bound, ...],
        phase: int,
        negative: bool,
        part: tuple[int, ...],
        mantissa: tuple[int, ...] | None,
        remainders: tuple[tuple[int, int], ...],
        places: int,
        last: int,
        zero: bool,
    ) -> None:
        critical = [0, *[critical_digit(b.part, p) for b, p in zip(bounds, part, strict=True)]]
        if mantissa is not None:
            critical += [critical_digit(b.digits, m) for b, m in zip(bounds, mantissa, strict=True)]
        for digit, alike in self._digits(critical):
            found = tuple([digit_step(b.part, p, digit) for b, p in zip(bounds, part, strict=True)])
            significant = mantissa
            if mantissa is not None:
                significant = tuple([digit_step(b.digits, m, digit) for b, m in zip(bounds, mantissa, strict=True)])
                if zero and digit:
                    significant = None  # 0.5e1 is not normalised
            if digit and any(places >= divisor.scale for divisor in self.divisors):
                continue
            after = tuple(
                [
                    divisor.step(remainder, digit) if places < divisor.scale else remainder
                    for divisor, remainder in zip(self.divisors, remainders, strict=True)
                ]
            )
            if significant is not None and self.counts:
                count = min(places + 1, _MANTISSA + 1)
                ending = count if digit else last
            else:
                count = min(places + 1, self.places)
                ending = int(self.counts and bool(digit or last))
            following = (_FRACTION, negative, found, significant, after, count, ending, zero and not digit)
            for same in alike:
                row[same] = following
        if phase == _FRACTION and mantissa is not None:
            row[13] = self._e(negative, bounds, mantissa, last, zero)

    def _exponent(
        self,
        row: list[Any],
        bounds: tuple[Bound, ...],
        phase: int,
        negative: bool,
        orders: tuple[int, ...],
        last: int,
        zero: bool,
        minus: bool,
        exponent: tuple[tuple[int, int], ...],
        value: int,
    ) -> None:
        if phase == _E:
            row[10] = (_SIGN, negative, orders, last, zero, True, exponent, value)
            row[11] = (_SIGN, negative, orders, last, zero, False, exponent, value)
        critical = [0, *[critical_digit(b.exponent_digits, e[0]) for b, e in zip(bounds, exponent, strict=True)]]
        for digit, alike in self._digits(critical):
            found = tuple([b.exponent_step(e, digit) for b, e in zip(bounds, exponent, strict=True)])
            capped = min(value * 10 + digit, _MANTISSA + 1) if self.counts else 0
            following = (_EXPONENT, negative, orders, last, zero, minus, found, capped)
            for same in alike:
                row[same] = following

    def _first(self, phase: int) -> list[Any]:
        row = _NONE.copy()
        negative = phase == _MINUS
        if phase == _START and self.bounds[1] is not None:
            row[10] = (_MINUS,)
        bounds = self.bounds[negative]
        negative = negative and self.signed
        if bounds is not None:
            critical = [0, *[b.whole_critical((0, 0)) for b in bounds]]
            if self.exponents:
                critical += [critical_digit(b.digits, 0) for b in bounds]
            for digit, alike in self._digits(critical):
                whole = tuple([b.whole_step((0, 0), digit) for b in bounds])
                mantissa = tuple([digit_step(b.digits, 0, digit) for b in bounds]) if self.exponents else None
                remainders = tuple([d.step((0, d.zeros), digit) for d in self.divisors])
                following = (_INTEGER if digit else _ZERO, negative, whole, mantissa, remainders)
                for same in alike:
                    row[same] = following
        return row

    def _digits(self, critical: list[int]) -> list[tuple[int, Sequence[int]]]:
        """(digit, digits that do as it does) to cover all ten; a critical digit stands alone."""
        if self.divisors or self.counts:
            return EACH
        key = 0
        for digit in critical:
            if digit >= 0:
                key |= 1 << digit
        return runs(key)

    def _e(
        self, negative: bool, bounds: tuple[Bound, ...], mantissa: tuple[int, ...], last: int, zero: bool
    ) -> tuple[Any, ...]:
        orders = tuple([digit_order(b.digits, m) for b, m in zip(bounds, mantissa, strict=True)])
        return _E, negative, orders, last, zero, False, ((0, 0),) * len(bounds), 0

    def label(self, state: tuple[Any, ...]) -> int:
        phase = state[0]
        if phase in (_START, _MINUS, _POINT, _E, _SIGN):
            return -1
        bounds = self.bounds[state[1]]
        assert bounds is not None
        if phase <= _INTEGER:
            orders = [b.whole_order(w) for b, w in zip(bounds, state[2], strict=True)]
            orders = [o or (-1 if b.part else 0) for b, o in zip(bounds, orders, strict=True)]
            whole_number = True
            good = all(d.divides(r, 0) for d, r in zip(self.divisors, state[4], strict=True))
        elif phase == _FRACTION:
            _, _, part, _, remainders, places, last, _ = state
            orders = [digit_order(b.part, p) for b, p in zip(bounds, part, strict=True)]
            whole_number = not last
            good = all(d.divides(r, min(places, d.scale)) for d, r in zip(self.divisors, remainders, strict=True))
        else:
            _, _negative, mantissa, last, zero, minus, exponent, value = state
            orders = []
            for bound, order, read in zip(bounds, mantissa, exponent, strict=True):
                if not zero and bound.digits:
                    order = bound.exponent_order(minus, read) or order
                orders.append(order)
            whole_number = zero or (value >= last and not minus) or (last == 0 and value == 0)
            good = zero or last <= _MANTISSA or (minus and value > 0 and self.integrality is False)
        good = good and (self.integrality is None or self.integrality == whole_number)
        return 0 if good and all(b.allows(o) for b, o in zip(bounds, orders, strict=True)) else -1


def _fraction(value: Number, max_digits: int) -> Fraction:
    if isinstance(value, float):
        value = Decimal(repr(value))
    if isinstance(value, Decimal):
        if not value.is_finite():
            raise ValueError(f"a bound must be finite, not {value}")
        exponent = value.as_tuple().exponent
        assert isinstance(exponent, int)
        if value and abs(value.adjusted()) + abs(exponent) > 2 * max_digits:
            raise LimitError("max_states", max_digits, "digits of a bound")
    return Fraction(value)


def _magnitudes(
    low: tuple[Fraction, bool] | None, high: tuple[Fraction, bool] | None, negative: bool, max_digits: int
) -> tuple[Bound, ...] | None:
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


@lru_cache(maxsize=1024)
def _language(
    integrality: bool | None,
    low: tuple[Fraction, bool] | None,
    high: tuple[Fraction, bool] | None,
    divisors: tuple[Fraction, ...],
    canonical: bool,
    limits: Limits,
    name: str | None,
) -> DFA:
    if canonical:
        # Strict and fractional bounds become the nearest integers inside.
        if low is not None:
            ceiling = -(-low[0].numerator // low[0].denominator)
            low = Fraction(ceiling + (low[1] and ceiling == low[0])), False
        if high is not None:
            floor = high[0].numerator // high[0].denominator
            high = Fraction(floor - (high[1] and floor == high[0])), False
        if not divisors:
            least, most = (None if bound is None else int(bound[0]) for bound in (low, high))
            if any(end is not None and end.bit_length() > _LONG for end in (least, most)):
                raise LimitError("max_states", limits.max_states, "digits of a bound")
            return integer_range(least, most, name)
    if low is not None and high is not None and (low[0] > high[0] or (low[0] == high[0] and (low[1] or high[1]))):
        return EMPTY_LANGUAGE
    positive = _magnitudes(low, high, False, limits.max_states)
    negative = _magnitudes(low, high, True, limits.max_states)
    remainders = tuple(Divisor(value, limits.max_states) for value in divisors)
    automaton = _Automaton((positive, negative), remainders, integrality, canonical)
    return assemble(_CLASSES, (_START,), automaton.moves, automaton.label, limits, name)


def _tighter(
    inclusive: Number | None, exclusive: Number | None, lower: bool, max_digits: int
) -> tuple[Fraction, bool] | None:
    """(value, strict) of the narrower of two bounds on one side."""
    found = [
        (_fraction(v, max_digits), strict) for v, strict in ((inclusive, False), (exclusive, True)) if v is not None
    ]
    if not found:
        return None
    return max(found) if lower else min(found, key=lambda bound: (bound[0], not bound[1]))


def _build(
    integrality: bool | None,
    minimum: Number | None,
    maximum: Number | None,
    exclusive_minimum: Number | None,
    exclusive_maximum: Number | None,
    multiple_of: tuple[Number, ...],
    canonical: bool,
    limits: Limits | None,
) -> DFA:
    limits = limits or Limits()
    low = _tighter(minimum, exclusive_minimum, True, limits.max_states)
    high = _tighter(maximum, exclusive_maximum, False, limits.max_states)
    divisors = tuple(sorted({_fraction(value, limits.max_states) for value in multiple_of}))
    if integrality is None and not divisors and low is None and high is None:
        return _free()
    name = None
    if low is None and high is None and not divisors and integrality:
        name = "integer" if canonical else "integer:any"
    return _language(integrality, low, high, divisors, canonical, limits, name)


def number_language(
    *,
    integer: bool = False,
    minimum: Number | None = None,
    maximum: Number | None = None,
    exclusive_minimum: Number | None = None,
    exclusive_maximum: Number | None = None,
    multiple_of: tuple[Number, ...] = (),
    spelling: str = "canonical",
    limits: Limits | None = None,
) -> DFA:
    """Texts of the numbers within the bounds that every divisor divides (see the module text for the universe).

    Floats mean their shortest decimal repr. spelling ("canonical" or "any") matters for integers only.
    Raises ValueError for a bound without a finite decimal expansion or a divisor that is not positive, LimitError where
    digits or remainders exceed limits.max_states.
    """
    if spelling not in ("canonical", "any"):
        raise ValueError(f"spelling must be 'canonical' or 'any', not {spelling!r}")
    canonical = integer and spelling == "canonical"
    bounds = (minimum, maximum, exclusive_minimum, exclusive_maximum)
    return _build(True if integer else None, *bounds, multiple_of, canonical, limits)


def fraction_language(
    *,
    minimum: Number | None = None,
    maximum: Number | None = None,
    exclusive_minimum: Number | None = None,
    exclusive_maximum: Number | None = None,
    multiple_of: tuple[Number, ...] = (),
    limits: Limits | None = None,
) -> DFA:
    """Texts of the numbers that are not integers by value, within the bounds; arguments as for number_language."""
    return _build(False, minimum, maximum, exclusive_minimum, exclusive_maximum, multiple_of, False, limits)


def number_literal(value: Number, limits: Limits | None = None) -> DFA:
    """Every spelling of one value in the universe of bounded numbers."""
    return number_language(minimum=value, maximum=value, limits=limits)


@lru_cache(maxsize=1)
def _free() -> DFA:
    rows = [[-1] * 15 for _ in range(9)]
    # start, minus, zero, integer, point, fraction, e, sign, exponent: the phases above
    digits = range(10)
    rows[_START][10] = _MINUS
    for digit in digits:
        rows[_START][digit] = rows[_MINUS][digit] = _INTEGER if digit else _ZERO
        rows[_INTEGER][digit] = _INTEGER
        rows[_POINT][digit] = rows[_FRACTION][digit] = _FRACTION
        rows[_E][digit] = rows[_SIGN][digit] = rows[_EXPONENT][digit] = _EXPONENT
    for phase in (_ZERO, _INTEGER):
        rows[phase][12] = _POINT
    for phase in (_ZERO, _INTEGER, _FRACTION):
        rows[phase][13] = _E
    rows[_E][10] = rows[_E][11] = _SIGN
    labels = [0 if phase in (_ZERO, _INTEGER, _FRACTION, _EXPONENT) else -1 for phase in range(9)]
    accepting = {phase for phase in range(9) if not labels[phase]}
    return assemble(
        _CLASSES,
        _START,
        lambda phase: [t if t >= 0 else None for t in rows[phase]],
        lambda phase: 0 if phase in accepting else -1,
        Limits(),
        "number",
    )
