"""How many values the numbers have that an automaton can still write.

One number has many texts: `1.0`, `1.00`, `10e-1`, `1e00`; and what begins with `0.0` may be zero in all of them. So an
automaton that loops need not have infinitely many values to come. Here its strongly connected components are looked at
once, successors first: which loops change the value, in the digits or in the exponent, if the digits so far are zeros,
and if they are not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .components import components
from .dfa import DFA

__all__ = ["ENDLESS", "ENDLESS_UNLESS_ZERO", "NumberValues", "is_zero_so_far", "number_values", "signature"]

ENDLESS, ENDLESS_UNLESS_ZERO = 1, 2
_COUNTS, _POINT, _EXPONENT = 1, 2, 4
"""What an edge reads: a digit other than 0, a point, the mark of an exponent."""
_KINDS = (*((byte, _COUNTS) for byte in b"123456789"), (ord("."), _POINT), *((byte, _EXPONENT) for byte in b"eE"))
_MARKED = np.array([byte for byte, _ in _KINDS])
_IS_NUMERIC, _IS_MARK = (np.isin(np.arange(256), list(some)) for some in (b"0123456789+-.eE", b".eE"))
_WHOLE, _FRACTION, _POWER = 0, 1, 2
"""Where in a number a state is."""


class NumberValues(NamedTuple):
    """Per state of an automaton of numbers.

    endless: uint8[n_states]: ENDLESS where infinitely many values follow whatever is written, ENDLESS_UNLESS_ZERO where
             they do unless all digits so far are zeros, else 0.
    counts:  bool[n_states]: whether a digit other than 0 can still follow that is none of the exponent.
    """

    endless: NDArray[np.uint8]
    counts: NDArray[np.bool_]


def number_values(dfa: DFA) -> NumberValues | None:
    """None for an automaton that reads anything but numbers."""
    live = np.any(dfa.table >= 0, axis=0)[dfa.classes]
    if np.any(live & ~_IS_NUMERIC):
        return None
    if not np.any(live & _IS_MARK):  # whole numbers, which begin with no needless zeros
        return NumberValues((dfa.char_bounds[1] < 0).astype(np.uint8), np.ones(dfa.n_states, bool))
    kinds = [0] * dfa.table.shape[1]
    for (_, kind), column in zip(_KINDS, dfa.classes[_MARKED].tolist(), strict=True):
        kinds[column] |= kind
    edges: list[dict[int, int]] = []
    for row in dfa.table.tolist():
        to: dict[int, int] = {}
        for target, kind in zip(row, kinds, strict=True):
            if target >= 0:
                to[target] = to.get(target, 0) | kind
        edges.append(to)
    parts = components(range(len(edges)), edges.__getitem__)
    found = _Flags(edges, _places(edges, parts))
    for component in parts:
        found.settle(component)
    return NumberValues(np.array(found.endless, np.uint8), np.array(found.counts, bool))


class _Flags:
    """What is known of the states, components settled successors first."""

    def __init__(self, edges: list[dict[int, int]], places: list[int]) -> None:
        n = len(edges)
        self.edges, self.places = edges, places
        self.endless, self.counts = [0] * n, [False] * n
        self.loops = [False] * n
        """Whether a loop follows."""
        self.powers = [False] * n
        """Whether exponents of infinitely many sizes follow."""

    def settle(self, component: list[int]) -> None:
        inside = set(component)
        place = self.places[component[0]]
        onward = [(q, t, kind) for q in component for t, kind in self.edges[q].items()]
        loop = any(t in inside for _, t, _ in onward)
        counting = any(t in inside and kind & _COUNTS for _, t, kind in onward)
        here = [(t, kind) for _, t, kind in onward if t not in inside]
        loops = loop or any(self.loops[t] for t, _ in here)
        if place == _POWER:
            powers = counting or any(self.powers[t] or (kind & _COUNTS and self.loops[t]) for t, kind in here)
            self._set(component, ENDLESS_UNLESS_ZERO if powers else 0, False, loops, bool(powers))
            return
        digits = [(t, kind) for t, kind in here if not kind & _EXPONENT]
        counts = counting or any(kind & _COUNTS or self.counts[t] for t, kind in digits)
        powers = any(self.powers[t] for t, _ in here)
        # of zeros: a loop before digits that count, or an exponent behind such a digit
        always = (loop and counts) or any(self.endless[t] == ENDLESS for t, _ in digits)
        always = always or (powers and counting) or any(kind & _COUNTS and self.endless[t] for t, kind in digits)
        other = powers or (loop and place == _WHOLE) or any(self.endless[t] for t, _ in digits)
        self._set(component, ENDLESS if always else ENDLESS_UNLESS_ZERO if other else 0, bool(counts), loops, powers)

    def _set(self, component: list[int], endless: int, counts: bool, loops: bool, powers: bool) -> None:
        for state in component:
            self.endless[state], self.counts[state] = endless, counts
            self.loops[state], self.powers[state] = loops, powers


def _places(edges: list[dict[int, int]], parts: list[list[int]]) -> list[int]:
    """Where in a number each state is; the latest place where it may be in two."""
    places = [_WHOLE] * len(edges)
    for component in reversed(parts):
        place = max(places[state] for state in component)
        for state in component:
            places[state] = place
            for target, kind in edges[state].items():
                reached = _POWER if kind & _EXPONENT else _FRACTION if kind & _POINT else place
                places[target] = max(places[target], reached)
    return places


def is_zero_so_far(text: bytes) -> bool:
    """Whether all digits before the exponent of a number are zeros, as far as it is written."""
    return not text.lower().partition(b"e")[0].strip(b"-0.")


def signature(text: bytes, counts: bool) -> object:
    """What the value of a number depends on that begins with `text`, besides what follows. counts: whether a digit
    other than 0 may follow before the exponent.
    """
    mantissa, e, power = text.lower().partition(b"e")
    whole, point, fraction = mantissa.partition(b".")
    digits = (whole + fraction).lstrip(b"-0")
    if not digits and not counts:
        return b""  # zero, whatever follows
    if e or not counts:  # zeros at the end make no difference, but where the first digit stands does
        places = -len(fraction)
        kept = digits.rstrip(b"0")
        places += len(digits) - len(kept)
        if not e:
            return text[:1] == b"-", kept, places if point else (b"whole", places)
        return text[:1] == b"-", kept, places, power[:1] == b"-", power.lstrip(b"+-0"), power.strip(b"+-") != b""
    return mantissa[:1] == b"-", digits, len(fraction) if point else -1
