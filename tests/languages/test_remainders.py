"""Remainders in a register against automata that keep them in states: every prefix alike."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from random import Random

import pytest

from constrain import LimitError, Limits
from constrain.languages.dfa import DFA
from constrain.languages.numbers import number_language
from constrain.languages.remainders import MOST, Remainders, with_remainders

BYTES = b"0123456789-.+e"


def compare(dfa: DFA, remainders: Remainders, wanted: DFA, rng: Random) -> None:
    """Every prefix of up to 3 bytes, and some of up to 5, goes on in one as in the other."""
    stack = [(0, 0, 0, b"")]
    while stack:
        state, other, remainder, text = stack.pop()
        ends = remainders.may_end(state, remainder)
        assert ends == (wanted.labels[other] >= 0), text
        rest = next(remainders.texts(dfa, state, remainder))
        assert wanted.accepts(text + rest) and (rest == b"") == ends, (text, rest)
        if len(text) < (5 if rng.random() < 0.1 else 3):
            for byte in BYTES:
                target, after = dfa.step(state, byte), remainders.after(state, remainder, byte)
                goes_on = target >= 0 and remainders.is_viable(target, after)
                assert goes_on == (wanted.step(other, byte) >= 0), (text, byte)
                if goes_on:
                    stack.append((target, wanted.step(other, byte), after, text + bytes([byte])))


@pytest.mark.parametrize("seed", range(24))
def test_a_register_says_what_states_say(seed: int) -> None:
    rng = Random(seed)
    places = rng.choice((0, 0, 1, 2))
    kind = "integer" if places == 0 and rng.random() < 0.6 else "number"
    step = Fraction(rng.choice((7, 12, 13, 60)), 10**places)
    low, high = rng.choice((None, rng.randrange(-300, 100))), rng.choice((None, rng.randrange(100, 900)))
    others = [Fraction(other) for other in rng.sample((5, 14, 26), rng.choice((0, 0, 1, 2 - min(places, 1))))]
    others = [other for other in others if (step / other).denominator != 1]
    excluded = [step * k for k in rng.sample(range(-20, 60), rng.choice((0, 0, 2)))]
    wanted = number_language(
        kind=kind, minimum=low, maximum=high, excluded=excluded, multiple_of=[step], not_multiple_of=others
    )
    base = number_language(kind=kind, minimum=low, maximum=high, excluded=excluded)
    finite = low is not None and high is not None
    dfa, remainders = with_remainders(base, step, others, Limits(), finite=finite)
    compare(dfa, remainders, wanted, rng)
    if low is not None and high is not None:
        values = {step * k for k in range(int(low // step), int(high // step) + 2)}
        values = {v for v in values if low <= v <= high and v not in excluded}
        values = {v for v in values if all((v / other).denominator != 1 for other in others)}
        assert {Fraction(Decimal(text.decode())) for text in remainders.texts(dfa, 0, 0)} == values


def test_bounds_without_a_multiple_are_empty() -> None:
    base = number_language(kind="integer", minimum=1, maximum=10**9)
    dfa, remainders = with_remainders(base, Fraction(10**9 + 7), (), Limits(), finite=True)
    assert not remainders.is_viable(0, 0)
    assert list(remainders.texts(dfa, 0, 0)) == []


def test_large_moduli_and_far_bounds() -> None:
    step = MOST - 11
    base = number_language(kind="integer", minimum=10**40)
    dfa, remainders = with_remainders(base, Fraction(step), (), Limits(), finite=False)
    text = next(remainders.texts(dfa, 0, 0))
    assert int(text) % step == 0 and int(text) >= 10**40
    with pytest.raises(LimitError, match="max_states"):
        with_remainders(base, Fraction(MOST + 1), (), Limits(), finite=False)
