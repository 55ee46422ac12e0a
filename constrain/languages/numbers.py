"""The languages of JSON numbers as text (RFC 8259 section 6), by value.

Without bounds a number is anything of the grammar, and so is one of a sign that no bound concerns. Else the texts are
    plain       -?(0|[1-9][0-9]*)(\\.[0-9]+)?          any number of digits
    normalised  -?[0-9](\\.[0-9]+)?[eE][+-]?[0-9]+     the digit before the point is 0 only where the value is
and in the "any" spelling an exponent may follow any plain number with at most k + 1 digits before the point, or fewer
than k zeros behind it before the first other digit; k is 20 where the bounds have at most 4 significant digits, else 8.
Membership is exactly by value.

Divisors leave plain numbers only, as from left to right a remainder has no meaning under an exponent; in the "any"
spelling powers of ten from 1e-20 to 1e20, such as 0.01, leave all exponents, and others without factors but 2 and 5
those of the multiples of the next power of ten. Integers are written -?(0|[1-9][0-9]*) in the "canonical" spelling;
"any" adds the other texts whose value is an integer (see decimal_steps for the longest that have an exponent).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from math import gcd, lcm

from .._errors import LimitError
from .._limits import Limits
from .decimal_steps import PLACES, steps_of_ten
from .decimals import Bound, decimal_places
from .dfa import DFA
from .integers import integer_range
from .literals import number_literals
from .magnitudes import CLASSES, EXPONENT, FRACTION, INTEGER, MINUS, POINT, SIGN, START, ZERO, E, Side, within
from .multiples import few_multiples, multiples
from .operations import assemble, difference, intersect, minimal, union

__all__ = ["PLACES", "Number", "number_language", "number_literal"]

Number = int | float | Decimal | Fraction

_SHORT, _WIDE = 4, 8
"""Significant digits of bounds up to which PLACES digits or zeros of a mantissa are told apart; else _WIDE."""
_CONTEXT = Context(prec=20_000, Emax=10**9, Emin=-(10**9))
_LONG = 13_000
"""Bits of the longest integer bound; about 3,900 digits, below what the interpreter refuses to print."""
_FEW = 10_000
"""Multiples between two bounds that are listed one by one where remainders would be too many."""


def number_language(
    *,
    kind: str = "number",
    minimum: Number | None = None,
    maximum: Number | None = None,
    exclusive_minimum: Number | None = None,
    exclusive_maximum: Number | None = None,
    multiple_of: Iterable[Number] = (),
    not_multiple_of: Iterable[Number] = (),
    excluded: Iterable[Number] = (),
    spelling: str = "canonical",
    limits: Limits | None = None,
) -> DFA:
    """Texts of the numbers within the bounds that are multiples of the ones and not of the others, nor excluded.

    kind: "number", "integer" or "fraction" (no integer by value). Floats mean their shortest decimal repr.
    spelling: "canonical" or "any" (see the module text for the texts of both).
    Raises ValueError for a bound without a finite decimal expansion or a divisor that is not positive, LimitError where
    digits or remainders exceed limits.max_states.
    """
    if spelling not in ("canonical", "any"):
        raise ValueError(f"spelling must be 'canonical' or 'any', not {spelling!r}")
    if kind not in ("number", "integer", "fraction"):
        raise ValueError(f"kind must be 'number', 'integer' or 'fraction', not {kind!r}")
    limits = limits or Limits()
    digits = limits.max_states
    low = _tighter(minimum, exclusive_minimum, True, digits)
    high = _tighter(maximum, exclusive_maximum, False, digits)
    divisors = frozenset(_fraction(value, digits) for value in multiple_of)
    others = frozenset(_fraction(value, digits) for value in not_multiple_of)
    if any(divisor <= 0 for divisor in divisors | others):
        raise ValueError("a divisor must be greater than 0")
    step = _joined(divisors, digits)
    without = frozenset(_fraction(value, digits) for value in excluded)
    return _language(kind, low, high, step, others, without, spelling == "any", limits)


def number_literal(value: Number, spelling: str = "canonical", limits: Limits | None = None) -> DFA:
    """Every spelling of one value among the texts of bounded numbers."""
    return number_language(minimum=value, maximum=value, spelling=spelling, limits=limits)


@lru_cache(maxsize=1024)
def _language(
    kind: str,
    low: Side,
    high: Side,
    step: Fraction | None,
    others: frozenset[Fraction],
    excluded: frozenset[Fraction],
    free_spelling: bool,
    limits: Limits,
) -> DFA:
    integer = kind == "integer"
    if integer and not free_spelling:
        return _integers(low, high, step, others, excluded, limits)
    if kind == "number" and low is None and high is None and step is None and not others and not excluded:
        return _free()
    if integer:
        low, high = _beyond_zero(low, high)
        step = Fraction(1) if step is None else _least_common_multiple(step, Fraction(1))
    elif kind == "fraction":
        others |= {Fraction(1)}
    # Multiples of powers of ten, and of 1, are told under exponents too, where those may follow.
    power = None if step is None else _power(step)
    exponents = all(_is_power(d) if free_spelling else d == 1 and kind == "fraction" for d in others)
    exponents = exponents and (step is None or (free_spelling and power is not None))
    limited = bool(excluded) and not integer  # what is taken away must be known in all its spellings
    wide = (_width(low, high, limits) if free_spelling else 0) if exponents else -1
    dfa: DFA | None = None
    if low is not None or high is not None or (wide == 0 and others) or (wide >= 0 and limited):
        dfa = within(low, high, wide, limited, limits)
    if step is not None:
        if exponents and power is not None:
            listed = steps_of_ten(power, True)
            if not _is_power(step):
                listed = union(listed, multiples(step, False, limits), limits)
        else:
            try:
                listed = multiples(step, False, limits)
            except LimitError:
                if dfa is None or (few := few_multiples(low, high, step, False, _FEW, limits)) is None:
                    raise
                dfa = listed = few
        dfa = listed if dfa is None else intersect(dfa, listed, limits)
    if dfa is None:
        dfa = within(None, None, -1, limited, limits) if wide < 0 else _free()
    for divisor in sorted(others):
        if exponents:
            dfa = intersect(dfa, steps_of_ten(_power(divisor) or 0, False), limits)
        else:
            dfa = difference(dfa, multiples(divisor, False, limits), limits)
    if integer and low is None and high is None and step == 1 and not others and not excluded:
        dfa = replace(dfa, name="integer:any")
    if excluded:
        reach = wide if wide < 0 or limited else PLACES + abs(power or 0) + max(len(str(abs(int(v)))) for v in excluded)
        dfa = difference(dfa, number_literals(map(_decimal, sorted(excluded)), max(reach, 0), limits), limits)
    if (wide > 0 or kind == "fraction") and (low or high or excluded):
        return minimal(dfa)
    return dfa


def _beyond_zero(low: Side, high: Side) -> tuple[Side, Side]:
    """Bounds of integers; those beside 0 are written so that no exponent need be compared with them."""
    if low is not None and 0 < low[0] <= 1 and low != (1, True):
        low = Fraction(0), True
    if high is not None and -1 <= high[0] < 0 and high != (-1, True):
        high = Fraction(0), True
    return low, high


def _width(low: Side, high: Side, limits: Limits) -> int:
    bounds = [Bound(abs(bound[0]), False, False, limits.max_states) for bound in (low, high) if bound is not None]
    return PLACES if all(len(bound.digits) <= _SHORT for bound in bounds) else _WIDE


def _integers(
    low: Side,
    high: Side,
    step: Fraction | None,
    others: frozenset[Fraction],
    excluded: frozenset[Fraction],
    limits: Limits,
) -> DFA:
    """Integers in their shortest spelling."""
    least = most = None
    if low is not None:  # strict and fractional bounds become the nearest integers inside
        least = -(-low[0].numerator // low[0].denominator)
        least += low[1] and least == low[0]
    if high is not None:
        most = high[0].numerator // high[0].denominator
        most -= high[1] and most == high[0]
    if any(bound is not None and bound.bit_length() > _LONG for bound in (least, most)):
        raise LimitError("max_states", limits.max_states, "digits of a bound")
    name = "integer" if least is None and most is None else None
    dfa = integer_range(least, most, name)
    if step is not None and step.numerator != 1:
        try:
            dfa = intersect(dfa, multiples(step, True, limits), limits)
        except LimitError:
            few = few_multiples(low, high, step, True, _FEW, limits)
            if few is None:
                raise
            dfa = few
    for divisor in sorted(others):
        dfa = difference(dfa, multiples(divisor, True, limits), limits)
    whole = [value.numerator for value in sorted(excluded) if value.denominator == 1]
    return difference(dfa, number_literals(whole, limits=limits), limits) if whole else dfa


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


def _decimal(value: Fraction) -> int | Decimal:
    """The same as an int or a Decimal; _fraction has seen to it that it is one."""
    if value.denominator == 1:
        return value.numerator
    places = decimal_places(value, value.denominator.bit_length())
    return Decimal(value.numerator * 10**places // value.denominator).scaleb(-places, _CONTEXT)


def _joined(divisors: frozenset[Fraction], max_digits: int) -> Fraction | None:
    """The least number that all of them divide."""
    joined: Fraction | None = None
    for divisor in sorted(divisors):
        decimal_places(divisor, max_digits)
        joined = divisor if joined is None else _least_common_multiple(joined, divisor)
    return joined


def _least_common_multiple(a: Fraction, b: Fraction) -> Fraction:
    return Fraction(lcm(a.numerator, b.numerator), gcd(a.denominator, b.denominator))


def _power(value: Fraction) -> int | None:
    """The least k such that 10**k is a multiple of the value; None where there is none, or it is far from 0."""
    place = [0, 0]
    for i, factor in enumerate((2, 5)):
        numerator, denominator = value.numerator, value.denominator
        while numerator % factor == 0:
            numerator, place[i] = numerator // factor, place[i] + 1
        while denominator % factor == 0:
            denominator, place[i] = denominator // factor, place[i] - 1
        value = Fraction(numerator, denominator)
    return max(place) if value == 1 and abs(max(place)) <= PLACES else None


def _is_power(value: Fraction) -> bool:
    return (power := _power(value)) is not None and value == Fraction(10) ** power


def _tighter(inclusive: Number | None, exclusive: Number | None, lower: bool, max_digits: int) -> Side:
    """(value, strict) of the narrower of two bounds on one side."""
    found = [
        (_fraction(v, max_digits), strict) for v, strict in ((inclusive, False), (exclusive, True)) if v is not None
    ]
    if not found:
        return None
    return max(found) if lower else min(found, key=lambda bound: (bound[0], not bound[1]))


@lru_cache(maxsize=1)
def _free() -> DFA:
    rows = [[-1] * 15 for _ in range(9)]
    digits = range(10)
    rows[START][10] = MINUS
    for digit in digits:
        rows[START][digit] = rows[MINUS][digit] = INTEGER if digit else ZERO
        rows[INTEGER][digit] = INTEGER
        rows[POINT][digit] = rows[FRACTION][digit] = FRACTION
        rows[E][digit] = rows[SIGN][digit] = rows[EXPONENT][digit] = EXPONENT
    for phase in (ZERO, INTEGER):
        rows[phase][12] = POINT
    for phase in (ZERO, INTEGER, FRACTION):
        rows[phase][13] = E
    rows[E][10] = rows[E][11] = SIGN
    accepting = (ZERO, INTEGER, FRACTION, EXPONENT)
    return assemble(
        CLASSES,
        START,
        lambda phase: [t if t >= 0 else None for t in rows[phase]],
        lambda phase: 0 if phase in accepting else -1,
        Limits(),
        "number",
    )
