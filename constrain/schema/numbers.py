"""Languages of numbers, structured like those of strings: finite values and clauses of constraints.

    Numbers  =  values ∪ clause ∪ clause ...
    Clause   =  {x : bounds, integer or not, multiples of some, not of others, not excluded}

Values compare exactly: they are int or Decimal, never float, and the arithmetic is Fraction's. Only `Numerals`
knows the texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from fractions import Fraction
from functools import reduce
from math import ceil, floor, lcm

from .._errors import LimitError
from .._limits import Limits, check_alternatives
from ..languages import operations
from ..languages.dfa import DFA
from ..languages.literals import number_literals
from ..languages.numbers import PLACES, number_language
from ..languages.remainders import Remainders, with_remainders
from ..languages.words import from_words

__all__ = ["ANY", "INTEGERS", "NOTHING", "Clause", "Exact", "Numbers", "Numerals", "exact", "of_values"]

Exact = int | Decimal
Bound = tuple[Exact, bool]
"""(value, whether the value itself is outside)."""

_ENUMERABLE = 10_000
_WIDE = Context(prec=20_000)
_STATES, _FEW = 1000, 500
"""Remainders that are kept in states; multiples between two bounds that are listed."""
_MANY, _NARROW = 64, 2
"""Values beyond which fewer places of the point of a mantissa are told apart, as each place is a text of its own."""


def exact(value: int | float | Decimal) -> Exact:
    """The number that the JSON text of `value` denotes, as an int where it is integral."""
    if isinstance(value, int):
        return value
    decimal = value if isinstance(value, Decimal) else Decimal(repr(value))
    return int(decimal) if decimal.adjusted() < 400 and decimal == decimal.to_integral_value() else decimal


@dataclass(frozen=True)
class Clause:
    """kind: True for integers only, False for non-integers only, None for both."""

    kind: bool | None = None
    low: Bound | None = None
    high: Bound | None = None
    multiples: frozenset[Exact] = frozenset()
    others: frozenset[Exact] = frozenset()
    excluded: frozenset[Exact] = frozenset()

    def includes(self, other: Clause) -> bool:
        return (
            (self.kind is None or self.kind == other.kind)
            and (self.low is None or (other.low is not None and _tighter(self.low, other.low, 1) == other.low))
            and (self.high is None or (other.high is not None and _tighter(self.high, other.high, -1) == other.high))
            and self.multiples <= other.multiples
            and self.others <= other.others
            and self.excluded <= other.excluded
        )

    def holds(self, x: Exact) -> bool:
        return x not in self.excluded and self.holds_but_for_exclusion(x)

    def holds_but_for_exclusion(self, x: Exact) -> bool:
        if self.low is not None and (x < self.low[0] or (x == self.low[0] and self.low[1])):
            return False
        if self.high is not None and (x > self.high[0] or (x == self.high[0] and self.high[1])):
            return False
        if self.kind is not None and self.kind != _is_integral(x):
            return False
        return all(_divides(m, x) for m in self.multiples) and not any(_divides(m, x) for m in self.others)


@dataclass(frozen=True)
class Numbers:
    """whole: those of the values that are written as integers, because a schema asks for an integer."""

    values: frozenset[Exact] = frozenset()
    clauses: tuple[Clause, ...] = ()
    whole: frozenset[Exact] = frozenset()

    def contains(self, x: Exact) -> bool:
        return x in self.values or any(c.holds(x) for c in self.clauses)

    def is_whole(self, x: Exact) -> bool:
        """Whether x, which must be among them, is written as integers are."""
        return x in self.whole if x in self.values else all(c.kind for c in self.clauses if c.holds(x))


NOTHING = Numbers()
ANY = Numbers(clauses=(Clause(),))
INTEGERS = Numbers(clauses=(Clause(kind=True),))


def of_values(values: Iterable[Exact]) -> Numbers:
    return Numbers(frozenset(values))


def meet(a: Numbers, b: Numbers) -> Numbers:
    if a is ANY or b is NOTHING:
        return b
    if b is ANY or a is NOTHING or a is b:
        return a
    values = {x for x in a.values if b.contains(x)} | {x for x in b.values if a.contains(x)}
    clauses = [met for x in a.clauses for y in b.clauses if (met := _meet_clauses(x, y)) is not None]
    return _simplified(values, {x for x in values if a.is_whole(x) or b.is_whole(x)}, clauses)


def join(a: Numbers, b: Numbers) -> Numbers:
    if a is ANY or b is NOTHING or a is b:
        return a
    if b is ANY or a is NOTHING:
        return b
    return _simplified(a.values | b.values, _whole_in_both(a, b), b.clauses, a.clauses)


def minus(a: Numbers, b: Numbers) -> Numbers:
    """a without b."""
    if a is NOTHING or b is NOTHING:
        return a
    values = {x for x in a.values if not b.contains(x)}
    rest = Numbers(clauses=a.clauses)
    for clause in b.clauses:
        rest = meet(rest, _complement(clause))
    values.update(x for x in rest.values if x not in b.values)
    whole = _whole_in_both(a, rest)
    clauses = [replace(c, excluded=c.excluded | {x for x in b.values if c.holds(x)}) for c in rest.clauses]
    return _simplified(values, whole, clauses)


def _whole_in_both(a: Numbers, b: Numbers) -> set[Exact]:
    """Values of either that are written as integers wherever they occur."""
    return {x for x in a.whole | b.whole if (x in a.whole or x not in a.values) and (x in b.whole or x not in b.values)}


def _complement(clause: Clause) -> Numbers:
    parts = []
    if clause.kind is not None:
        parts.append(Clause(kind=not clause.kind))
    if clause.low is not None:
        parts.append(Clause(high=(clause.low[0], not clause.low[1])))
    if clause.high is not None:
        parts.append(Clause(low=(clause.high[0], not clause.high[1])))
    parts.extend(Clause(others=frozenset((m,))) for m in sorted(clause.multiples))
    parts.extend(Clause(multiples=frozenset((m,))) for m in sorted(clause.others))
    return Numbers(clause.excluded, tuple(parts))


def _tighter(a: Bound, b: Bound, sign: int) -> Bound:
    if a[0] == b[0]:
        return a if a[1] else b
    return a if (a[0] > b[0]) == (sign > 0) else b


def _meet_clauses(a: Clause, b: Clause) -> Clause | None:
    if a.kind is not None and b.kind is not None and a.kind != b.kind:
        return None
    low = b.low if a.low is None else a.low if b.low is None else _tighter(a.low, b.low, 1)
    high = b.high if a.high is None else a.high if b.high is None else _tighter(a.high, b.high, -1)
    met = Clause(
        b.kind if a.kind is None else a.kind,
        low,
        high,
        a.multiples | b.multiples,
        a.others | b.others,
        a.excluded | b.excluded,
    )
    return None if _crossed(met) or met.multiples & met.others else met


def _crossed(clause: Clause) -> bool:
    low, high = clause.low, clause.high
    return low is not None and high is not None and (low[0] > high[0] or (low[0] == high[0] and (low[1] or high[1])))


def _simplified(
    values: set[Exact] | frozenset[Exact],
    whole: set[Exact],
    clauses: Iterable[Clause],
    simple: Iterable[Clause] = (),
) -> Numbers:
    """The union of all. whole: among the values, those written as integers. simple: clauses of which none includes
    another.
    """
    kept = list(simple)
    for clause in clauses:
        check_alternatives(len(kept), "clauses of one language of numbers")
        if not any(other.includes(clause) for other in kept):
            kept = [other for other in kept if not clause.includes(other)]
            kept.append(clause)
    if kept:
        values = {x for x in values if not any((not c.kind or x in whole) and c.holds(x) for c in kept)}
    if not kept and not values:
        return NOTHING
    if not values and len(kept) == 1:
        if kept[0] == ANY.clauses[0]:
            return ANY
        if kept[0] == INTEGERS.clauses[0]:
            return INTEGERS
    return Numbers(frozenset(values), tuple(kept), frozenset(whole.intersection(values)))


def _is_integral(x: Exact) -> bool:
    return isinstance(x, int) or x == x.to_integral_value()


def _divides(m: Exact, x: Exact) -> bool:
    return (Fraction(x) / Fraction(m)).denominator == 1


def _least_common_multiple(factors: Iterable[Fraction]) -> Fraction:
    """Of fractions in lowest terms: lcm of numerators over gcd of denominators, here through a common denominator."""
    fractions = list(factors)
    denominator = lcm(*(f.denominator for f in fractions))
    return Fraction(lcm(*(int(f * denominator) for f in fractions)), denominator)


class Numerals:
    """Emptiness and texts of number languages under one spelling ("canonical" or "any")."""

    def __init__(self, spelling: str, limits: Limits) -> None:
        self.spelling, self.limits = spelling, limits
        self._languages: dict[Clause, tuple[DFA, Remainders | None]] = {}

    def is_empty(self, numbers: Numbers) -> bool:
        return not numbers.values and all(self.clause_is_empty(c) for c in numbers.clauses)

    def clause_is_empty(self, clause: Clause) -> bool:
        """Whether no number satisfies a clause."""
        if _crossed(clause):
            return True
        steps = [Fraction(m) for m in clause.multiples]
        if clause.kind:
            steps.append(Fraction(1))
        if not steps:
            # a dense set: only a single point can be taken away altogether
            low, high = clause.low, clause.high
            if low is None or high is None or low[0] != high[0]:
                return False
            return not clause.holds(low[0])
        step = _least_common_multiple(steps)
        if clause.kind is False and step.denominator == 1:
            return True
        if any((step / Fraction(m)).denominator == 1 for m in clause.others):
            return True
        if clause.low is None or clause.high is None:
            return False
        first, last = ceil(Fraction(clause.low[0]) / step), floor(Fraction(clause.high[0]) / step)
        tried = min(last, first + _ENUMERABLE + len(clause.excluded))
        if any(clause.holds(_decimal(step * k)) for k in range(first, tried + 1)):
            return False
        if tried == last:
            return True
        dfa, remainders = self.language(clause)
        return dfa.is_empty or (remainders is not None and not remainders.is_viable(0, 0))

    def language(self, clause: Clause) -> tuple[DFA, Remainders | None]:
        """The texts of a clause: words of an automaton, and where remainders would take too many states, which."""
        found = self._languages.get(clause)
        if found is None:
            found = self._languages[clause] = self._make(clause)
        return found

    def settle(self, numbers: Numbers) -> None:
        """Build now what might pass a limit: remainders."""
        for clause in numbers.clauses:
            if clause.multiples or clause.others:
                self.language(clause)

    def _make(self, clause: Clause) -> tuple[DFA, Remainders | None]:
        kind = "number" if clause.kind is None else "integer" if clause.kind else "fraction"
        steps = [Fraction(m) for m in clause.multiples] + [Fraction(1)] * (clause.kind is True)
        step = _least_common_multiple(steps) if steps else None
        if step is not None and _is_wide(step, clause):
            others = {Fraction(m) for m in clause.others} | ({Fraction(1)} if clause.kind is False else set())
            base = self._automaton(clause, "integer" if clause.kind and self.spelling == "canonical" else "number")
            finite = clause.low is not None and clause.high is not None
            try:
                return with_remainders(base, step, others, self.limits, finite=finite)
            except LimitError as error:
                if error.limit != "max_states":
                    raise
        return self._automaton(clause, kind, clause.multiples, clause.others), None

    def _automaton(
        self, clause: Clause, kind: str, multiples: Iterable[Exact] = (), others: Iterable[Exact] = ()
    ) -> DFA:
        low, high = clause.low, clause.high
        return number_language(
            kind=kind,
            minimum=low[0] if low and not low[1] else None,
            exclusive_minimum=low[0] if low and low[1] else None,
            maximum=high[0] if high and not high[1] else None,
            exclusive_maximum=high[0] if high and high[1] else None,
            multiple_of=multiples,
            not_multiple_of=others,
            excluded=[x for x in clause.excluded if clause.holds_but_for_exclusion(x)],
            spelling=self.spelling,
            limits=self.limits,
        )

    def languages(self, numbers: Numbers) -> Iterator[tuple[DFA, Remainders | None]]:
        """The texts of some numbers, as few languages; see `language`."""
        found = [self.language(clause) for clause in numbers.clauses if not self.clause_is_empty(clause)]
        yield from ((dfa, remainders) for dfa, remainders in found if remainders is not None)
        parts = [dfa for dfa, remainders in found if remainders is None]
        free = sorted(numbers.values - numbers.whole if self.spelling == "canonical" else numbers.values)
        if free:
            wide = 0 if self.spelling == "canonical" else PLACES if len(free) <= _MANY else _NARROW
            parts.append(number_literals(free, wide, self.limits))
        if len(free) < len(numbers.values):
            texts = [format(Decimal(x), "f") for x in numbers.whole]
            parts.append(
                from_words((text.encode() for text in [*texts, *(["-0"] if "0" in texts else [])]), self.limits)
            )
        if parts:
            yield reduce(lambda x, y: operations.union(x, y, self.limits), parts), None


def _is_wide(step: Fraction, clause: Clause) -> bool:
    """Whether an automaton of the multiples would have many states."""
    width = step.numerator
    for factor in (2, 5):
        while width % factor == 0:
            width //= factor
    if width <= _STATES:
        return False
    return clause.low is None or clause.high is None or Fraction(clause.high[0]) - Fraction(clause.low[0]) > _FEW * step


def _decimal(value: Fraction) -> Exact:
    """Exact: the denominators met here divide a power of ten."""
    if value.denominator == 1:
        return value.numerator
    digits, denominator = 0, value.denominator
    while (10**digits) % denominator:
        digits += 1
    return Decimal(value.numerator * (10**digits // denominator)).scaleb(-digits, context=_WIDE)
