"""Comparing and dividing decimals digit by digit, from left to right: the parts of a number automaton.

A comparison with the digits of a bound is a place in them while all digits agree, else LESS or GREATER.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from .._errors import LimitError

__all__ = [
    "GREATER",
    "LESS",
    "Bound",
    "Exponents",
    "critical_digit",
    "decimal_places",
    "digit_order",
    "digit_step",
    "runs",
]

LESS, GREATER = -1, -2


class Bound:
    """A magnitude to compare with, and what the comparison must say.

    whole, part: its digits before and after the point.
    digits, exponent: the value is digits[0].digits[1:] * 10**exponent.
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


class Exponents:
    """Compares exponents as they are written with `known`, digit by digit.

    A state is (significant digits read, order of the magnitudes while as many are read).
    """

    def __init__(self, known: int) -> None:
        self.known, self.digits = known, str(abs(known)).lstrip("0")

    def step(self, state: tuple[int, int], digit: int) -> tuple[int, int]:
        count, order = state
        if not count and not digit:
            return state
        if count >= len(self.digits):
            return len(self.digits) + 1, 1
        if not order:
            known = ord(self.digits[count]) - 48
            order = (digit > known) - (digit < known)
        return count + 1, order

    def order(self, negative: bool, state: tuple[int, int]) -> int:
        """-1, 0, 1 for an exponent below, at, above the known one."""
        count, order = state
        order = -1 if count < len(self.digits) else 1 if count > len(self.digits) else order
        if negative:
            return -1 if self.known > 0 else -order
        return 1 if self.known < 0 else order


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


def decimal_places(value: Fraction, most: int) -> int:
    """Digits after the point of a decimal. ValueError where they never end, LimitError past `most`."""
    return len(_expansion(value.numerator % value.denominator, value.denominator, most))


def digit_step(digits: str, state: int, digit: int) -> int:
    """Compare one more digit with `digits`, which zeros follow. state: a place in digits, or decided (negative)."""
    if state < 0:
        return state
    if state >= len(digits):
        return GREATER if digit else state
    known = ord(digits[state]) - 48
    return state + 1 if digit == known else GREATER if digit > known else LESS


@lru_cache(maxsize=1024)
def runs(critical: int) -> list[tuple[int, Sequence[int]]]:
    """(digit, digits that do as it does) to cover all ten; a digit whose bit is set stands alone."""
    runs: list[tuple[int, list[int]]] = []
    for digit in range(10):
        if critical >> digit & 1 or not digit or critical >> digit - 1 & 1:
            runs.append((digit, []))
        runs[-1][1].append(digit)
    return list(runs)


def critical_digit(digits: str, state: int) -> int:
    return ord(digits[state]) - 48 if 0 <= state < len(digits) else -1


def digit_order(digits: str, state: int) -> int:
    if state < 0:
        return -1 if state == LESS else 1
    return -1 if state < len(digits) else 0
