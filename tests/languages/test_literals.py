"""The texts of finitely many numbers at once are those of each, united."""

from __future__ import annotations

from decimal import Decimal
from functools import reduce

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constrain._errors import LimitError
from constrain._limits import Limits
from constrain.languages.literals import number_literals
from constrain.languages.numbers import number_literal
from constrain.languages.operations import equivalent, union

VALUES = st.builds(lambda digits, scale: Decimal(digits).scaleb(scale), st.integers(-9999, 9999), st.integers(-6, 6))


@settings(max_examples=60, deadline=None)
@given(st.lists(VALUES | st.integers(-200, 200) | st.just(Decimal("-0.0")), min_size=1, max_size=4))
def test_each_value_has_its_spellings(values: list[int | Decimal]) -> None:
    assert equivalent(number_literals(values), reduce(union, map(number_literal, values)))


def test_spellings() -> None:
    dfa = number_literals([-12, Decimal("0.05"), 0, 300])
    good = "-12 -12.0 -1.2e1 -1.20E+01 0.05 0.0500 5e-2 5.0e-002 0 -0 0.00 0e7 -0.0E-9 300 300.0 3e2 3.0e+2".split()
    bad = "12 -012 -12. -1.2e0 -12e0 0.5 .05 5e2 50e-3 0.5e-1 00 0e e0 3e-2 30e1 300. 3e 1 ".split(" ")
    assert [text for text in good if not dfa.accepts(text.encode())] == []
    assert [text for text in bad if dfa.accepts(text.encode())] == []


def test_many_values_take_few_states() -> None:
    assert number_literals(range(10_000)).n_states < 100
    with pytest.raises(LimitError):
        number_literals([Decimal("1e-999999")], Limits(max_states=1000))
    with pytest.raises(LimitError):
        number_literals([1 << 20_000])


@settings(max_examples=12, deadline=None)
@given(
    st.lists(
        st.builds(lambda digits, scale: Decimal(digits).scaleb(scale), st.integers(-99, 99), st.integers(-3, 3)),
        min_size=1,
        max_size=2,
    )
)
def test_each_value_has_any_spelling(values: list[Decimal]) -> None:
    each = [number_literal(value, "any") for value in values]
    assert equivalent(number_literals(values, 20), reduce(union, each))
