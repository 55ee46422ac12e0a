"""Number texts, with or without exponent, of the multiples of a power of ten, 1 among them; and of all others.

If p is the place of the last digit but zero (1 is the first after the point, -1 the tens), a number times 10**e is a
multiple of 10**s where e >= p + s. So an automaton needs that place, and then compares the exponent with it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from .._limits import Limits
from .dfa import DFA
from .magnitudes import CLASSES, EXPONENT, FRACTION, INTEGER, MINUS, POINT, SIGN, START, ZERO, E
from .operations import assemble, relabel

__all__ = ["PLACES", "steps_of_ten"]

PLACES = 20
"""Places on either side of the point that are told apart under an exponent."""
_ZEROS = -1_000_000
"""The place of the last digit but zero where there is none."""
_FAR = 1_000_000
"""A place beyond those that are told apart: no exponent may follow."""


@lru_cache(maxsize=32)
def steps_of_ten(power: int, multiples: bool) -> DFA:
    """Texts of the multiples of 10**power, or of the numbers that are none.

    An exponent may follow a mantissa with its last digit but zero at most PLACES + abs(power) places behind the point;
    where more zeros than that end the digits before the point, it may not be less than minus so many.
    """
    labelled = _labelled(power)
    return relabel(labelled, np.where(labelled.labels == int(not multiples), 0, -1))


@lru_cache(maxsize=32)
def _labelled(power: int) -> DFA:
    automaton = _Automaton(power)
    return assemble(CLASSES, (START,), automaton.moves, automaton.label, Limits(max_states=10**6))


class _Automaton:
    """States: (phase,), then
    ZERO, INTEGER     place
    POINT, FRACTION   place, digits after the point
    E ... EXPONENT    least exponent, minus, exponent
    """

    def __init__(self, power: int) -> None:
        self.power, self.most = power, PLACES + abs(power)

    def moves(self, state: tuple[int, ...]) -> list[Any]:
        phase = state[0]
        row: list[Any] = [None] * 15
        if phase <= MINUS:
            row[0] = (ZERO, _ZEROS)
            row[1:10] = [(INTEGER, 0)] * 9
            if phase == START:
                row[10] = (MINUS,)
        elif phase <= INTEGER:
            place = state[1]
            if phase == INTEGER:
                row[0] = (INTEGER, max(place - 1, -self.most))
                row[1:10] = [(INTEGER, 0)] * 9
            row[12] = (POINT, place, 0)
            row[13] = (E, place + self.power, 0, 0)
        elif phase <= FRACTION:
            place, read = state[1:]
            read = min(read + 1, self.most + 1)
            row[0] = (FRACTION, place, read)
            row[1:10] = [(FRACTION, read if read <= self.most else _FAR, read)] * 9
            if phase == FRACTION and place != _FAR:
                row[13] = (E, place + self.power, 0, 0)
        else:
            least, minus, exponent = state[1:]
            if phase == E:
                row[10], row[11] = (SIGN, least, 1, 0), (SIGN, least, 0, 0)
            cap = max(1 - least if minus else least, 0)
            if least <= _ZEROS // 2:
                cap = 0
            row[:10] = [(EXPONENT, least, minus, min(exponent * 10 + digit, cap)) for digit in range(10)]
        return row

    def label(self, state: tuple[int, ...]) -> int:
        """0: a multiple; 1: none; -1: no number, or not told apart."""
        phase = state[0]
        if phase in (START, MINUS, POINT, E, SIGN):
            return -1
        if phase <= FRACTION:
            return int(state[1] + self.power > 0)
        least, minus, exponent = state[1:]
        if (-exponent if minus else exponent) >= least:
            return 0
        return -1 if least <= self.power - self.most else 1
