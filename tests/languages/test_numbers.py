"""Number languages against exact decimal arithmetic on texts written near the bounds."""

from __future__ import annotations

import json
import re
from decimal import Context, Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constrain._errors import LimitError
from constrain._limits import Limits
from constrain.languages.dfa import DFA
from constrain.languages.numbers import fraction_language, number_language, number_literal
from constrain.languages.operations import assemble, difference, equivalent, is_disjoint, union

GRAMMAR = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
PLAIN = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?")
INTEGER = re.compile(r"-?(0|[1-9][0-9]*)")
NORMALISED = re.compile(r"-?(?:[1-9](\.[0-9]+)?|0(\.0+)?)[eE][+-]?[0-9]+")
EXACT = Context(prec=400)

values = st.one_of(
    st.sampled_from(
        [
            Decimal(v)
            for v in ("0", "1", "-1", "0.5", "100", "-2147483648", "99.99", "0.001", "1E+21", "-10", "7", "12345.678")
        ]
    ),
    st.builds(lambda n, k: Decimal(n).scaleb(-k), st.integers(-(10**6), 10**6), st.integers(0, 4)),
)
offsets = st.builds(lambda sign, k: Decimal(sign).scaleb(k), st.sampled_from([-1, 0, 0, 1]), st.integers(-5, 3))


@st.composite
def spellings(draw: st.DrawFn, value: Decimal) -> str:
    if draw(st.booleans()):
        text = format(value, "f")
        zeros = "0" * draw(st.integers(0, 3))
        text += zeros if "." in text else "." + zeros if zeros else ""
        return draw(st.sampled_from([text, text if text.startswith("-") or value else "-" + text]))
    if not value:
        return draw(st.sampled_from(["0e5", "-0E-3", "0.0e+0", "0e00", "0.000E7"]))
    exponent = value.adjusted()
    mantissa = format(EXACT.normalize(value.scaleb(-exponent, EXACT)), "f")
    if "." in mantissa:
        mantissa += "0" * draw(st.integers(0, 2))
    sign = "-" if exponent < 0 else draw(st.sampled_from(["", "+"] if exponent else ["", "+", "-"]))
    return mantissa + draw(st.sampled_from("eE")) + sign + "0" * draw(st.integers(0, 2)) + str(abs(exponent))


def in_universe(text: str) -> bool:
    return bool(PLAIN.fullmatch(text) or NORMALISED.fullmatch(text))


def is_long(text: str) -> bool:
    """Whether a digit other than 0 follows the first 16 after a mantissa's point: neither integer nor fraction then."""
    mantissa, exponent, _ = text.lower().partition("e")
    return bool(exponent) and len(mantissa.partition(".")[2].rstrip("0")) > 16


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_bounds_and_divisors_by_value(data: st.DataObject) -> None:
    optional = st.one_of(st.none(), values)
    minimum, maximum, above, below = (data.draw(optional) for _ in range(4))
    divisors = data.draw(
        st.sampled_from([(), (), (), (Decimal("0.01"),), (Decimal("2.5"),), (3,), (100,), (Decimal("0.5"), 7), (120,)])
    )
    kind = data.draw(st.sampled_from(["number", "integer", "any", "fraction"]))
    arguments = {
        "minimum": minimum,
        "maximum": maximum,
        "exclusive_minimum": above,
        "exclusive_maximum": below,
        "multiple_of": divisors,
    }
    if kind == "fraction":
        dfa = fraction_language(**arguments)
    else:
        spelling = "any" if kind == "any" else "canonical"
        dfa = number_language(integer=kind != "number", spelling=spelling, **arguments)
    free = kind == "number" and not divisors and {minimum, maximum, above, below} == {None}
    bases = [v for v in (minimum, maximum, above, below) if v is not None] or [Decimal(0)]
    for _ in range(6):
        near = EXACT.add(data.draw(st.sampled_from(bases)), data.draw(offsets))
        text = data.draw(spellings(near))
        value = Decimal(text)
        expected = free or in_universe(text)
        expected = expected and (minimum is None or value >= minimum) and (maximum is None or value <= maximum)
        expected = expected and (above is None or value > above) and (below is None or value < below)
        if divisors:
            expected = (
                expected and bool(PLAIN.fullmatch(text)) and all(Fraction(value) % Fraction(d) == 0 for d in divisors)
            )
        whole = Fraction(value).denominator == 1
        if kind == "integer":
            expected = expected and bool(INTEGER.fullmatch(text))
        elif kind != "number":
            expected = expected and whole == (kind == "any") and not is_long(text)
        assert dfa.accepts(text.encode()) == expected, (text, arguments, kind)


@settings(max_examples=200, deadline=None)
@given(st.text("-+.eE0127", max_size=7))
def test_free_numbers_are_those_of_json(text: str) -> None:
    try:
        parsed = isinstance(json.loads(text), (int, float)) and text.strip() == text
    except ValueError:
        parsed = False
    assert number_language().accepts(text.encode()) == parsed == bool(GRAMMAR.fullmatch(text))
    assert number_language(integer=True).accepts(text.encode()) == bool(INTEGER.fullmatch(text))


TABLE = [
    (
        {"minimum": 0, "maximum": 100},
        ["100.000", "0", "-0.0", "1e2", "1E+02", "99.9999"],
        ["100.01", "-1", "1.01e2", "10e1", "0100", "1e3"],
    ),
    ({"exclusive_minimum": 0}, ["1e-9", "0.0001", "5"], ["0", "-0", "0.000", "0e5", "-1"]),
    ({"minimum": 0.1}, ["0.1", "0.10", "1e-1"], ["0.09999999999999999", "9.99e-2"]),
    ({"maximum": -1.5}, ["-1.5", "-2", "-1.5e0", "-1e5"], ["-1.49", "0", "1.5"]),
    ({"integer": True, "minimum": 1.5, "maximum": 3.5}, ["2", "3"], ["1", "4", "2.0"]),
    ({"integer": True, "exclusive_minimum": 1, "exclusive_maximum": 3}, ["2"], ["1", "3"]),
    (
        {"integer": True, "spelling": "any"},
        ["1.0", "1e2", "1.50e1", "-0.000", "1.234e+21", "3e-0", "0e-5"],
        ["1.5", "1.55e1", "1e-1", "2.5e0"],
    ),
    ({"integer": True, "minimum": -5, "maximum": 5}, ["-0", "-5", "0", "5"], ["6", "-6", "00"]),
    ({"multiple_of": (0.01,)}, ["0.01", "19.990", "5", "-0.070"], ["0.001", "19.999", "1e-2"]),
    ({"multiple_of": (1e6,)}, ["0", "1000000", "-12000000", "3000000.0"], ["100000", "1000001"]),
    ({"multiple_of": (Fraction(1, 8),)}, ["0.125", "0.5", "3.375"], ["0.1", "0.12"]),
    ({"multiple_of": (15, Decimal("0.4"))}, ["0", "30", "-60.0"], ["15", "10", "45"]),
    ({"minimum": Decimal("1e400")}, ["1e400", "2E+400", "1" + "0" * 400], ["9.99e399", "1" + "0" * 399]),
    (
        {"minimum": -1.7976931348623157e308, "maximum": 1.7976931348623157e308},
        ["1.7976931348623157e308", "-1e308", "0"],
        ["1.7976931348623158e308", "1e309"],
    ),
]


@pytest.mark.parametrize(("arguments", "yes", "no"), TABLE, ids=range(len(TABLE)))
def test_table(arguments: dict[str, object], yes: list[str], no: list[str]) -> None:
    dfa = number_language(**arguments)  # type: ignore[arg-type]
    assert [text for text in yes if not dfa.accepts(text.encode())] == []
    assert [text for text in no if dfa.accepts(text.encode())] == []


@pytest.mark.parametrize("value", [0, 1, -1, 12.5, Decimal("0.001"), 10**21, -200])
def test_literals(value: int | float | Decimal) -> None:
    dfa = number_literal(value)
    texts = [
        "0",
        "-0",
        "1",
        "1.0",
        "-1",
        "12.5",
        "1.25e1",
        "12.50",
        "0.001",
        "1e-3",
        "1E21",
        "1" + "0" * 21,
        "-200",
        "-2e2",
        "-2.0e+02",
    ]
    for text in texts:
        assert dfa.accepts(text.encode()) == (Decimal(text) == Decimal(str(value))), text


def test_contradictions_are_empty() -> None:
    assert number_language(minimum=2, maximum=1).is_empty
    assert number_language(exclusive_minimum=1, maximum=1).is_empty
    assert number_language(integer=True, exclusive_minimum=1, exclusive_maximum=2).is_empty
    assert number_language(minimum=1, maximum=2, multiple_of=(5,)).is_empty


def test_integers_and_fractions_part_the_universe() -> None:
    whole = number_language(integer=True, spelling="any", minimum=-20, maximum=20)
    broken = fraction_language(minimum=-20, maximum=20)
    assert is_disjoint(whole, broken)
    rest = difference(number_language(minimum=-20, maximum=20), union(whole, broken))
    # what is left has more than 16 digits in the mantissa
    assert not any(rest.accepts(text.encode()) for text in ("1", "1.5", "1.5e0", "1.5e1", "-1e-3", "0e9"))
    assert rest.accepts(b"1.00000000000000001e1")


@settings(max_examples=150, deadline=None)
@given(st.one_of(st.none(), st.integers(-2000, 2000)), st.one_of(st.none(), st.integers(-2000, 2000)))
def test_integer_ranges(low: int | None, high: int | None) -> None:
    dfa = number_language(integer=True, minimum=low, maximum=high)
    for value in {
        0,
        1,
        -1,
        9,
        10,
        99,
        100,
        999,
        -1000,
        10**9,
        *(b + d for b in (low, high) if b is not None for d in (-10, -1, 0, 1, 10)),
    }:
        assert dfa.accepts(str(value).encode()) == (
            (low is None or low <= value) and (high is None or value <= high)
        ), value
    assert not dfa.accepts(b"") and not dfa.accepts(b"-") and not dfa.accepts(b"00") and not dfa.accepts(b"1.0")
    if not dfa.is_empty:
        assert equivalent(dfa, assemble_again(dfa))
        assert assemble_again(dfa).n_states <= dfa.n_states <= assemble_again(dfa).n_states + 4


def assemble_again(dfa: DFA) -> DFA:
    """`dfa` through trimming and minimisation, which it should not need."""
    rows = [[None if target < 0 else target for target in row] for row in dfa.table.tolist()]
    return assemble(dfa.classes, 0, lambda state: rows[state], lambda state: int(dfa.labels[state]), Limits())


def test_names_and_sharing() -> None:
    assert number_language().name == "number"
    assert number_language(integer=True).name == "integer"
    assert number_language(integer=True, minimum=0) is number_language(integer=True, minimum=Decimal(0))
    assert equivalent(number_language(integer=True, exclusive_minimum=0), number_language(integer=True, minimum=1))


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"multiple_of": (0,)}, ValueError),
        ({"multiple_of": (-2,)}, ValueError),
        ({"minimum": float("nan")}, ValueError),
        ({"maximum": float("inf")}, ValueError),
        ({"minimum": Fraction(1, 3)}, ValueError),
        ({"minimum": Decimal("1e999999999")}, LimitError),
        ({"minimum": Decimal("1e-999999999")}, LimitError),
        ({"multiple_of": (10**9 + 7,)}, LimitError),
        ({"spelling": "odd"}, ValueError),
        ({"minimum": 10**200_000}, LimitError),
    ],
    ids=range(10),
)
def test_errors(arguments: dict[str, object], error: type[Exception]) -> None:
    with pytest.raises(error):
        number_language(**arguments, limits=Limits(max_states=10_000))  # type: ignore[arg-type]
