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
_LESS, _GREATER = -1, -2
_START, _MINUS, _ZERO, _INTEGER, _POINT, _FRACTION, _E, _SIGN, _EXPONENT = range(9)


class _Bound:
    """A magnitude to compare with, and what the comparison must say.

    whole, part: its digits before and after the point. digits, exponent: the value is digits[0].digits[1:] * 10**exponent.
    least: the magnitude may not be smaller (else: not larger). strict: nor equal.
    """

    def __init__(self, value: Fraction, least: bool, strict: bool, max_digits: int) -> None:
        self.least, self.strict = least, strict
        whole, rest = divmod(value.numerator, value.denominator)
        if whole.bit_length() > 4 * max_digits:
            raise LimitError("max_states", max_digits, "digits of a bound")
        self.whole = _digits(whole)
        self.part = _expansion(rest, value.denominator, max_digits)
        self.digits = (self.whole + self.part).lstrip("0").rstrip("0")
        self.exponent = len(self.whole) - 1
        if whole == 0:
            self.exponent = -1 - (len(self.part) - len(self.part.lstrip("0")))
        self.exponent_digits = str(abs(self.exponent)).lstrip("0")

    def allows(self, order: int) -> bool:
        """order: -1, 0, 1 for a magnitude below, at, above the bound."""
        return order > 0 if self.least and order else order < 0 if order else not self.strict

    def whole_step(self, state: tuple[int, int], digit: int) -> tuple[int, int]:
        count, order = state
        if count >= len(self.whole):
            return len(self.whole) + 1, 1
        if not order:
            known = ord(self.whole[count]) - 48
            order = (digit > known) - (digit < known)
        return count + 1, order

    def whole_critical(self, state: tuple[int, int]) -> int:
        """The digit that only the bound itself has here; digits on one side of it do alike. -1: all do."""
        count, order = state
        return -1 if order or count >= len(self.whole) else ord(self.whole[count]) - 48

    def whole_order(self, state: tuple[int, int]) -> int:
        count, order = state
        return -1 if count < len(self.whole) else 1 if count > len(self.whole) else order

    def exponent_order(self, negative: bool, state: tuple[int, int]) -> int:
        """Order of the exponent read (sign, state of its magnitude) and the bound's."""
        count, order = state
        known = len(self.exponent_digits)
        order = -1 if count < known else 1 if count > known else order
        if negative:
            return -1 if self.exponent > 0 else -order
        return 1 if self.exponent < 0 else order

    def exponent_step(self, state: tuple[int, int], digit: int) -> tuple[int, int]:
        count, order = state
        if not count and not digit:
            return state
        if count >= len(self.exponent_digits):
            return len(self.exponent_digits) + 1, 1
        if not order:
            known = ord(self.exponent_digits[count]) - 48
            order = (digit > known) - (digit < known)
        return count + 1, order


def _digits(value: int) -> str:
    """Decimal digits of a large integer, without the interpreter's limit on their number."""
    if value.bit_length() < 10_000:
        return str(value)
    return format(Decimal(value), "f")


def _expansion(rest: int, denominator: int, most: int) -> str:
    """The digits of rest / denominator (< 1) after the point; ValueError where they never end."""
    twos = (denominator & -denominator).bit_length() - 1
    fives, left = 0, denominator >> twos
    while left % 5 == 0:
        left //= 5
        fives += 1
    if left != 1:
        raise ValueError("a bound must be a decimal number")
    length = max(twos, fives)
    if length > most:
        raise LimitError("max_states", most, "digits of a bound")
    return _digits(rest * 10**length // denominator).rjust(length, "0") if length else ""


def _digit_step(digits: str, state: int, digit: int) -> int:
    """Compare one more digit with `digits`, which zeros follow. state: a place in digits, or decided (negative)."""
    if state < 0:
        return state
    if state >= len(digits):
        return _GREATER if digit else state
    known = ord(digits[state]) - 48
    return state + 1 if digit == known else _GREATER if digit > known else _LESS


_EACH: list[tuple[int, Sequence[int]]] = [(digit, (digit,)) for digit in range(10)]


@lru_cache(maxsize=1024)
def _runs(critical: int) -> list[tuple[int, Sequence[int]]]:
    runs: list[tuple[int, list[int]]] = []
    for digit in range(10):
        if critical >> digit & 1 or not digit or critical >> digit - 1 & 1:
            runs.append((digit, []))
        runs[-1][1].append(digit)
    return list(runs)


def _critical(digits: str, state: int) -> int:
    return ord(digits[state]) - 48 if 0 <= state < len(digits) else -1


def _digit_order(digits: str, state: int) -> int:
    if state < 0:
        return -1 if state == _LESS else 1
    return -1 if state < len(digits) else 0


class _Divisor:
    """Multiples of base * 10**zeros / 10**scale, where 10 does not divide base.

    State (remainder modulo base of the digits before the last `run` zeros, run <= zeros): a multiple ends in `zeros`
    zeros after a multiple of base. That takes base * (zeros + 1) states instead of base * 10**zeros.
    """

    def __init__(self, value: Fraction, max_states: int) -> None:
        if value <= 0:
            raise ValueError("a divisor must be greater than 0")
        self.scale = len(_expansion(value.numerator % value.denominator, value.denominator, max_states))
        base = value.numerator * 10**self.scale // value.denominator
        self.zeros = 0
        while base % 10 == 0:
            base //= 10
            self.zeros += 1
        if base > max_states:
            raise LimitError("max_states", max_states, f"remainders modulo {base} for multipleOf")
        self.base = base

    def step(self, state: tuple[int, int], digit: int) -> tuple[int, int]:
        remainder, run = state
        if digit or not self.zeros:
            return (remainder * 10 ** (run + 1) + digit) % self.base, 0
        return (remainder, run + 1) if run < self.zeros else (remainder * 10 % self.base, run)

    def divides(self, state: tuple[int, int], places: int) -> bool:
        """places: digits read after the point."""
        for _ in range(self.scale - places):
            if state == (0, self.zeros):
                return True
            state = self.step(state, 0)
        return state == (0, self.zeros)


class _Automaton:
    """moves and label over states (phase, negative, ...), the rest depending on the phase.

    _ZERO, _INTEGER     whole states, mantissa states, divisor states
    _POINT, _FRACTION   part states, mantissa states, divisor states, places, last non-zero place, nothing but zeros
    _E ... _EXPONENT    mantissa orders, last non-zero place, nothing but zeros, sign, exponent states, exponent (capped)
    """

    def __init__(
        self,
        bounds: tuple[tuple[_Bound, ...] | None, tuple[_Bound, ...] | None],
        divisors: tuple[_Divisor, ...],
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
        negative = state[1]
        bounds = self.bounds[negative]
        assert bounds is not None
        if phase <= _INTEGER:
            _, _, whole, mantissa, remainders = state
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
                part = tuple([0 if not order else _LESS if order < 0 else _GREATER for order in orders])
                row[12] = (_POINT, negative, part, mantissa, remainders, 0, 0, phase == _ZERO)
                if mantissa is not None:
                    row[13] = self._exponent(negative, bounds, mantissa, 0, phase == _ZERO)
        elif phase <= _FRACTION:
            _, _, part, mantissa, remainders, places, last, zero = state
            critical = [0, *[_critical(b.part, p) for b, p in zip(bounds, part, strict=True)]]
            if mantissa is not None:
                critical += [_critical(b.digits, m) for b, m in zip(bounds, mantissa, strict=True)]
            for digit, alike in self._digits(critical):
                found = tuple([_digit_step(b.part, p, digit) for b, p in zip(bounds, part, strict=True)])
                significant = mantissa
                if mantissa is not None:
                    significant = tuple(
                        [_digit_step(b.digits, m, digit) for b, m in zip(bounds, mantissa, strict=True)]
                    )
                    if zero and digit:
                        significant = None  # 0.5e1 is not normalised
                after = remainders
                if self.divisors:
                    after = []
                    for divisor, remainder in zip(self.divisors, remainders, strict=True):
                        if places < divisor.scale:
                            remainder = divisor.step(remainder, digit)
                        elif digit:
                            break
                        after.append(remainder)
                    if len(after) < len(self.divisors):
                        continue
                    after = tuple(after)
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
                row[13] = self._exponent(negative, bounds, mantissa, last, zero)
        else:
            _, _, orders, last, zero, minus, exponent, value = state
            if phase == _E:
                row[10] = (_SIGN, negative, orders, last, zero, True, exponent, value)
                row[11] = (_SIGN, negative, orders, last, zero, False, exponent, value)
            critical = [0, *[_critical(b.exponent_digits, e[0]) for b, e in zip(bounds, exponent, strict=True)]]
            for digit, alike in self._digits(critical):
                found = tuple([b.exponent_step(e, digit) for b, e in zip(bounds, exponent, strict=True)])
                capped = min(value * 10 + digit, _MANTISSA + 1) if self.counts else 0
                following = (_EXPONENT, negative, orders, last, zero, minus, found, capped)
                for same in alike:
                    row[same] = following
        return row

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
                critical += [_critical(b.digits, 0) for b in bounds]
            for digit, alike in self._digits(critical):
                whole = tuple([b.whole_step((0, 0), digit) for b in bounds])
                mantissa = tuple([_digit_step(b.digits, 0, digit) for b in bounds]) if self.exponents else None
                remainders = tuple([d.step((0, d.zeros), digit) for d in self.divisors])
                following = (_INTEGER if digit else _ZERO, negative, whole, mantissa, remainders)
                for same in alike:
                    row[same] = following
        return row

    def _digits(self, critical: list[int]) -> list[tuple[int, Sequence[int]]]:
        """(digit, digits that do as it does) to cover all ten; a critical digit stands alone."""
        if self.divisors or self.counts:
            return _EACH
        key = 0
        for digit in critical:
            if digit >= 0:
                key |= 1 << digit
        return _runs(key)

    def _exponent(
        self, negative: bool, bounds: tuple[_Bound, ...], mantissa: tuple[int, ...], last: int, zero: bool
    ) -> tuple[Any, ...]:
        orders = tuple([_digit_order(b.digits, m) for b, m in zip(bounds, mantissa, strict=True)])
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
            orders = [_digit_order(b.part, p) for b, p in zip(bounds, part, strict=True)]
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
) -> tuple[_Bound, ...] | None:
    """Bounds of the magnitude of numbers with that sign, or None where there are no such numbers."""
    if negative:
        low, high = (high and (-high[0], high[1])), (low and (-low[0], low[1]))
    bounds = []
    if high is not None:
        if high[0] < 0 or high == (0, True):
            return None
        bounds.append(_Bound(high[0], False, high[1], max_digits))
    if low is not None and (low[0] > 0 or low == (0, True)):
        bounds.append(_Bound(low[0], True, low[1], max_digits))
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
            least = -(-low[0].numerator // low[0].denominator)
            low = Fraction(least + (low[1] and least == low[0])), False
        if high is not None:
            most = high[0].numerator // high[0].denominator
            high = Fraction(most - (high[1] and most == high[0])), False
        if not divisors:
            ends = [None if bound is None else int(bound[0]) for bound in (low, high)]
            if any(end is not None and end.bit_length() > _LONG for end in ends):
                raise LimitError("max_states", limits.max_states, "digits of a bound")
            return integer_range(*ends, name)
    if low is not None and high is not None and (low[0] > high[0] or (low[0] == high[0] and (low[1] or high[1]))):
        return EMPTY_LANGUAGE
    positive = _magnitudes(low, high, False, limits.max_states)
    negative = _magnitudes(low, high, True, limits.max_states)
    remainders = tuple(_Divisor(value, limits.max_states) for value in divisors)
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
