"""The texts of finitely many numbers, however many: what `numbers.number_literal` says of each, in one automaton.

A value other than 0 is d.ddd times a power of ten, with digits that neither begin nor end with 0. It is written plainly
(`-12.50`), with any zeros behind the point, or normalised (`-1.250e+01`), with any zeros behind the mantissa and before
the exponent, or, where that is asked for, with the point of a mantissa elsewhere (`-125e-1`, `-0.0125e3`). Zero has a
sign of its own and any exponent. The automaton reads all values at once: its states are sets of places in their texts
(a subset construction), where places that differ in nothing to come are the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from .._errors import LimitError
from .._limits import Limits
from .dfa import DFA
from .operations import assemble

__all__ = ["number_literals"]

Place = tuple[Any, ...]
"""(_TEXT, characters to come, whether there is a point, exponent of a mantissa or None for a plain number),
(_ZEROS, whether one was read), (_MANTISSA, exponent, whether a point and a zero were read), (_EXPONENT, exponent), or
(_DIGITS, exponent, digits read).
"""

_SYMBOLS = "0123456789-+.e"
_CLASS = {symbol: i for i, symbol in enumerate(_SYMBOLS)}
_ZERO, _MINUS, _PLUS, _POINT, _E = (_CLASS[symbol] for symbol in "0-+.e")
_CLASSES = np.full(256, len(_SYMBOLS), np.uint8)
_CLASSES[[ord(symbol) for symbol in _SYMBOLS]] = np.arange(len(_SYMBOLS))
_CLASSES[ord("E")] = _E
_TEXT, _ZEROS, _MANTISSA, _EXPONENT, _DIGITS = range(5)
_ANY = 1 << 60
"""The exponent of zero: any."""
_LONG = 13_000
"""Bits of the longest integer; about 3,900 digits, below what the interpreter refuses to print."""


class _Texts:
    def __init__(self, values: Iterable[int | Decimal], wide: int, limits: Limits) -> None:
        self.start: set[Place] = set()
        for value in values:
            sign, digits, exponent = _scientific(value, limits)
            if not digits:
                for text in ("0", "-0"):
                    self._add(text, None)
                    self._add(text, _ANY)
                continue
            self._add(sign + _written(digits, exponent), None)
            for place in range(-wide, wide + 1):
                self._add(sign + _written(digits, place), exponent - place)

    def _add(self, text: str, exponent: int | None) -> None:
        self.start.add((_TEXT, text, "." in text, exponent))

    def moves(self, state: frozenset[Place]) -> Sequence[frozenset[Place] | None]:
        found: list[set[Place]] = [set() for _ in range(len(_SYMBOLS) + 1)]
        for place in state:
            for symbol, target in self._steps(place):
                found[symbol].add(target)
        return [frozenset(targets) if targets else None for targets in found]

    def label(self, state: frozenset[Place]) -> int:
        return 0 if any(map(self._accepts, state)) else -1

    def _accepts(self, place: Place) -> bool:
        kind = place[0]
        if kind == _TEXT:
            return not place[1] and place[3] is None
        if kind == _ZEROS:
            return place[1] == 1
        if kind == _DIGITS:
            exponent, read = place[1:]
            return read > 0 if exponent in (0, _ANY) else read == len(str(abs(exponent)))
        return False

    def _steps(self, place: Place) -> list[tuple[int, Place]]:
        kind = place[0]
        if kind == _TEXT:
            return self._through_text(*place[1:])
        if kind == _ZEROS:
            return [(_ZERO, (_ZEROS, 1))]
        if kind == _MANTISSA:
            _, exponent, complete = place
            zero = [(_ZERO, (_MANTISSA, exponent, 1))]
            return [*zero, (_E, (_EXPONENT, exponent))] if complete else zero
        exponent = place[1]
        if kind == _EXPONENT:
            steps = self._exponent(exponent, 0) if exponent >= 0 else []
            if exponent >= 0:
                steps.append((_PLUS, (_DIGITS, exponent, 0)))
            if exponent <= 0 or exponent == _ANY:
                steps.append((_MINUS, (_DIGITS, exponent, 0)))
            return steps
        return self._exponent(exponent, place[2])

    def _through_text(self, rest: str, point: bool, exponent: int | None) -> list[tuple[int, Place]]:
        if rest:
            return [(_CLASS[rest[0]], (_TEXT, rest[1:], point, exponent))]
        if exponent is None:
            return [(_ZERO, (_ZEROS, 1))] if point else [(_POINT, (_ZEROS, 0))]
        more = (_ZERO, (_MANTISSA, exponent, 1)) if point else (_POINT, (_MANTISSA, exponent, 0))
        return [more, (_E, (_EXPONENT, exponent))]

    def _exponent(self, exponent: int, read: int) -> list[tuple[int, Place]]:
        if exponent == _ANY:
            return [(digit, (_DIGITS, exponent, 1)) for digit in range(10)]
        if exponent == 0:
            return [(_ZERO, (_DIGITS, 0, 1))]
        digits = str(abs(exponent))
        steps: list[tuple[int, Place]] = []
        if read < len(digits):
            steps.append((int(digits[read]), (_DIGITS, exponent, read + 1)))
        return [(_ZERO, (_DIGITS, exponent, 0)), *steps] if read == 0 else steps


def number_literals(values: Iterable[int | Decimal], wide: int = 0, limits: Limits | None = None) -> DFA:
    """Every spelling of each of the values in the universe of bounded numbers, `wide` as in magnitudes.within.

    Raises LimitError past limits.max_states states or digits.
    """
    limits = limits or Limits()
    texts = _Texts(values, wide, limits)
    return assemble(_CLASSES, frozenset(texts.start), texts.moves, texts.label, limits)


def _written(digits: str, place: int) -> str:
    """d.ddd times 10**place without exponent."""
    if place >= len(digits) - 1:
        return digits.ljust(place + 1, "0")
    if place >= 0:
        return f"{digits[: place + 1]}.{digits[place + 1 :]}"
    return f"0.{'0' * (-place - 1)}{digits}"


def _scientific(value: int | Decimal, limits: Limits) -> tuple[str, str, int]:
    """(sign, digits d.ddd without the point and zeros at their end, exponent); no digits for zero."""
    if isinstance(value, int):
        if value.bit_length() > _LONG:
            raise LimitError("max_states", limits.max_states, "digits of a number")
        digits = str(abs(value))
        exponent = len(digits) - 1
    else:
        _, figures, scale = value.as_tuple()
        assert isinstance(scale, int)
        digits = "".join(map(str, figures)).lstrip("0")
        exponent = len(digits) - 1 + scale
    if abs(exponent) + len(digits) > 2 * limits.max_states:
        raise LimitError("max_states", limits.max_states, "digits of a number")
    return "-" if value < 0 else "", digits.rstrip("0"), exponent
