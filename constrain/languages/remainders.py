"""Multiples of large numbers: a remainder in a register, where it would take too many states of an automaton.

The automaton of the numbers within some bounds says which digits may come; a register keeps the remainder of those so
far. Behind a state the digits that may follow are, per number of digits, all of some intervals. Whether a remainder can
still become zero is thus a matter of arithmetic, and no output runs into a dead end.

Numbers are counted in units of their last place that matters, 10**-places: a text may leave out digits at its end,
which are zeros then, and has only zeros behind that place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from math import lcm

import numpy as np
from numpy.typing import NDArray

from .._errors import LimitError
from .._limits import Limits, check_time
from .decimals import decimal_places
from .dfa import DFA
from .magnitudes import CLASSES
from .operations import assemble, intersect

__all__ = ["MOST", "Remainders", "Run", "with_remainders"]

MOST = 9 * 10**17
"""The largest modulus: a remainder and a digit fit in 63 bits."""
_MOST_RUNS = 64
"""Intervals that one state may have for one number of digits."""
_DIGIT = range(10)
_MINUS, _POINT = 10, 12

Run = tuple[int, int, int]
"""(digits, first, last): all numbers first..last, of so many digits."""


@dataclass(frozen=True, eq=False)
class Remainders:
    """Which words of an automaton of plain numbers are admitted: those whose number, in units of the last place, is a
    multiple of `step` and of none of `others`. The register is a remainder modulo `modulus`, which all of them divide.

    counts: per state, whether a digit that is read in it counts.     ends: per state, how many digits a word that ends
    there leaves out; -1 where none ends.     runs: per state, what may follow, by ascending digits; where that has no
    end, up to a run that has room for a multiple whatever the remainder.
    """

    modulus: int
    step: int
    others: tuple[int, ...]
    counts: tuple[bool, ...]
    ends: tuple[int, ...]
    runs: tuple[tuple[Run, ...], ...]

    @property
    def room(self) -> int:
        """So many numbers in a row have one that is admitted."""
        return self.step << len(self.others)

    def after(self, state: int, remainder: int, byte: int) -> int:
        """The register after a byte that is read in a state."""
        if self.counts[state] and 0x30 <= byte <= 0x39:
            return (remainder * 10 + byte - 0x30) % self.modulus
        return remainder

    def run(self, dfa: DFA, text: bytes) -> tuple[int, int]:
        """(state, register) after a text; state -1: no word begins so."""
        state = remainder = 0
        for byte in text:
            remainder = self.after(state, remainder, byte)
            state = dfa.step(state, byte)
            if state < 0:
                break
        return state, remainder

    def admits(self, number: int) -> bool:
        return number % self.step == 0 and all(number % other for other in self.others)

    def may_end(self, state: int, remainder: int) -> bool:
        """Whether a word that ends in a state with this register is admitted."""
        return self.ends[state] >= 0 and self.admits(remainder * 10 ** self.ends[state])

    def numbers(self, state: int, remainder: int) -> Iterator[tuple[int, int]]:
        """(digits, number): what may follow such that the word is admitted; where that has no end, not all of it."""
        for digits, first, last in self.runs[state]:
            shifted = remainder * 10**digits
            for number in range(first - (shifted + first) % -self.step, last + 1, self.step):
                check_time()
                if self.admits(shifted + number):
                    yield digits, number

    def is_viable(self, state: int, remainder: int) -> bool:
        return next(self.numbers(state, remainder), None) is not None

    def texts(self, dfa: DFA, state: int, remainder: int) -> Iterator[bytes]:
        """Rests of words, one for each of `numbers`, or two where the sign is open; the shortest first."""
        below = dfa.step(state, ord("-"))
        for digits, number in self.numbers(state, remainder):
            text = self._text(dfa, state, digits, number)
            yield text
            if below >= 0 and not text.startswith(b"-") and self._leads(below, digits, number):
                yield b"-" + self._text(dfa, below, digits, number)

    def _text(self, dfa: DFA, state: int, digits: int, number: int) -> bytes:
        text = bytearray()
        while number or digits != self.ends[state]:
            digit = number // 10 ** max(digits - 1, 0)
            ways = [(0x30 + digit, digits - 1, number - digit * 10 ** (digits - 1))] if digits else []
            for byte, left, rest in (*ways, (0x2E, digits, number), (0x30, digits, number), (0x2D, digits, number)):
                target = dfa.step(state, byte)
                counted = self.counts[state] and 0x30 <= byte <= 0x39
                if target >= 0 and counted == (left < digits) and self._leads(target, left, rest):
                    text.append(byte)
                    state, digits, number = target, left, rest
                    break
            else:
                raise AssertionError("a run is made of what its state leads to")
        return bytes(text)

    def _leads(self, state: int, digits: int, number: int) -> bool:
        return any(d == digits and first <= number <= last for d, first, last in self.runs[state])


def with_remainders(
    base: DFA, step: Fraction, others: Iterable[Fraction], limits: Limits, *, finite: bool
) -> tuple[DFA, Remainders]:
    """(the plain numbers of `base` with no more places than a multiple of `step` has; which of them are multiples of
    it, and of none of the others). finite: whether the numbers of `base` are within bounds on both sides.

    The numbers of `base` must be those between bounds, but for a few. Raises LimitError where they are not, or where
    the remainders are too large.
    """
    others = sorted(others)
    places = max(decimal_places(value, limits.max_states) for value in (step, *others))
    units = [int(value * 10**places) for value in (step, *others)]
    modulus = reduce(lcm, units)
    if modulus > MOST or units[0] << len(others) > MOST:
        raise LimitError("max_states", limits.max_states, "remainders of a divisor")
    numbers = intersect(_places(places), base, limits)
    if numbers.is_empty:
        return numbers, Remainders(modulus, units[0], tuple(units[1:]), (), (), ())
    ends = tuple(label // 2 if label >= 0 else -1 for label in numbers.labels.tolist())
    counts = _counting(numbers, places)
    found = Remainders(modulus, units[0], tuple(units[1:]), counts, ends, ())
    runs = _runs(numbers, found, limits, finite)
    return numbers, Remainders(modulus, units[0], tuple(units[1:]), counts, ends, runs)


def _moves(places: int) -> list[list[int]]:
    """Transitions of texts -?(0|[1-9][0-9]*)(.[0-9]{1,places}0*)?, per state and class of magnitudes.CLASSES. States:
    start, behind the sign, behind a leading zero, whole digits, behind the point and each digit after it, zeros.
    """
    start, sign, zero, whole, point, zeros = 0, 1, 2, 3, 4, 5 + places
    moves = [[-1] * 15 for _ in range(zeros + 1)]
    moves[start][_MINUS] = sign
    for digit in _DIGIT:
        moves[start][digit] = moves[sign][digit] = whole if digit else zero
        moves[whole][digit] = whole
        for k in range(places):
            moves[point + k][digit] = point + k + 1
    moves[zero][_POINT] = moves[whole][_POINT] = point
    moves[point + places][0] = moves[zeros][0] = zeros
    return moves


def _places(places: int) -> DFA:
    """The texts of `_moves`, labelled with twice the digits left out, and one more behind zeros that do not count."""
    moves = _moves(places)
    zeros = len(moves) - 1

    def label(state: int) -> int:
        if state in (2, 3):
            return 2 * places
        return 1 if state == zeros else 2 * (zeros - 1 - state) if state > 4 else -1

    def following(state: int) -> list[int | None]:
        return [target if target >= 0 else None for target in moves[state]]

    return assemble(CLASSES, 0, following, label, Limits())


def _counting(dfa: DFA, places: int) -> tuple[bool, ...]:
    """Per state of a part of `_places`, whether a digit that is read in it counts."""
    moves = _moves(places)
    last = len(moves) - 2
    phase = {0: 0}
    for state in (queue := [0]):
        for byte in b"0123456789-.":
            target = dfa.step(state, byte)
            if target >= 0:
                kind = moves[phase[state]][int(CLASSES[byte])]
                if target not in phase:
                    queue.append(target)
                assert (phase.setdefault(target, kind) < last) == (kind < last), "labels tell the phases apart"
    return tuple(phase[state] < last for state in range(dfa.n_states))


def _runs(dfa: DFA, found: Remainders, limits: Limits, finite: bool) -> tuple[tuple[Run, ...], ...]:
    """See Remainders.runs; by number of digits, since what follows a digit has one fewer."""
    table: NDArray[np.int32] = dfa.table[:, dfa.classes[np.frombuffer(b"0123456789-.", np.uint8)]]
    digits = [[(d, int(t)) for d, t in enumerate(row[:10]) if t >= 0] for row in table]
    free = [[int(t) for t in row[10:] if t >= 0] for row in table]
    for state, counts in enumerate(found.counts):
        if not counts:
            free[state] += [t for _, t in digits[state] if t != state]
            digits[state] = []
    order = _inner_first(free)
    runs: list[list[Run]] = [[] for _ in order]
    open_ = set(order)
    before: list[list[tuple[int, int]]] = [[] for _ in order]
    length, latest = 0, max(found.ends)
    while open_ and (length <= latest or any(before)):
        check_time()
        unit = 10 ** (length - 1) if length else 0
        here: list[list[tuple[int, int]]] = [[] for _ in order]
        for state in order:
            if state not in open_:
                continue
            parts = [(0, 0)] if found.ends[state] == length else []
            parts += [(d * unit + a, d * unit + b) for d, t in digits[state] for a, b in before[t]]
            parts += [part for t in free[state] for part in here[t]]
            here[state] = _merged(parts)
            if len(here[state]) > _MOST_RUNS:
                raise LimitError("max_states", limits.max_states, "ways to go on of a multiple")
            runs[state] += [(length, a, b) for a, b in here[state]]
        if not finite:
            open_ -= {s for s in order if any(b - a + 1 >= found.room for a, b in here[s])}
        before = here
        length += 1
    return tuple(map(tuple, runs))


def _inner_first(free: list[list[int]]) -> list[int]:
    """States such that those that bytes lead to that do not count come before."""
    order: list[int] = []
    seen: set[int] = set()
    stack = [(state, False) for state in range(len(free))]
    while stack:
        state, ready = stack.pop()
        if ready:
            order.append(state)
        elif state not in seen:
            seen.add(state)
            stack.append((state, True))
            stack += [(t, False) for t in free[state]]
    return order


def _merged(parts: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Intervals without overlaps, ascending."""
    merged: list[tuple[int, int]] = []
    for a, b in sorted(parts):
        if merged and a <= merged[-1][1] + 1:
            merged[-1] = merged[-1][0], max(merged[-1][1], b)
        else:
            merged.append((a, b))
    return merged
