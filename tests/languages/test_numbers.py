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
from constrain.languages.numbers import number_language, number_literal
from constrain.languages.operations import assemble, difference, equivalent, is_disjoint, union

GRAMMAR = re.compile(r"(-?)(0|[1-9][0-9]*)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?")
PLAIN = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?")
INTEGER = re.compile(r"-?(0|[1-9][0-9]*)")
EXACT = Context(prec=400)

values = st.one_of(
    st.sampled_from(
        [
            Decimal(v)
            for v in ("0", "1", "-1", "0.5", "100", "-2147483648", "99.99", "0.001", "1E+21", "-10", "7", "12345.678")
        ]
    ),
    st.builds(lambda n, k: Decimal(n).scaleb(-k), st.integers(-(10**6), 10**6), st.integers(0, 4)),
    st.builds(lambda n, k: Decimal(n).scaleb(k), st.integers(-12, 12), st.integers(-2, 2)),
)
offsets = st.builds(lambda sign, k: Decimal(sign).scaleb(k), st.sampled_from([-1, 0, 0, 1]), st.integers(-5, 3))


@st.composite
def spellings(draw: st.DrawFn, value: Decimal) -> str:
    """A JSON text of the value: the point anywhere, and an exponent that makes up for it."""
    shift = draw(st.one_of(st.just(0), st.just(0), st.integers(-26, 26)))
    exponent = value.adjusted() if draw(st.booleans()) and value else 0
    exponent += shift
    text = format(EXACT.scaleb(value, -exponent), "f")
    if value.is_signed() and not text.startswith("-"):
        text = "-" + text
    zeros = "0" * draw(st.integers(0, 3))
    text += zeros if "." in text else "." + zeros if zeros else ""
    if not exponent and draw(st.booleans()):
        return text
    sign = "-" if exponent < 0 else draw(st.sampled_from(["", "+"] if exponent else ["", "+", "-"]))
    return text + draw(st.sampled_from("eE")) + sign + "0" * draw(st.integers(0, 2)) + str(abs(exponent))


def in_universe(text: str, kind: str, spelling: str, low: Decimal | None, high: Decimal | None, divisors: set) -> bool:
    """The texts that the module promises, whatever their value. low, high: the tightest bounds."""
    if spelling == "canonical" and kind == "integer":
        return bool(INTEGER.fullmatch(text))
    match = GRAMMAR.fullmatch(text)
    if match is None:
        return False
    sign, whole, part, exponent = match.group(1), match.group(2), match.group(3) or "", match.group(4)
    if exponent is None:
        return True
    if divisors and (spelling == "canonical" or not all(set(str(Decimal(d))) <= set("0.1") for d in divisors)):
        return False  # some are written with exponents, but none need be
    digits = whole + part
    zero = not digits.strip("0")
    if (kind != "number" or divisors) and not zero:  # what is counted in places
        power = max([abs(Decimal(d).adjusted()) for d in divisors], default=0) if kind == "number" else 0
        place = len(part) - (len(digits) - len(digits.rstrip("0")))
        if place > 20 + power or (place <= -20 - power and int(exponent) < -20 - power):
            return False
    if sign:
        low, high = (None if high is None else -high), (None if low is None else -low)
    if zero or ((low is None or low <= 0) and high is None):
        return True
    if spelling == "canonical":
        return len(whole) == 1 and (whole != "0" or zero)
    bounds = [b for b in (low, high) if b is not None]
    k = 20 if all(len(str(abs(b).normalize(EXACT).as_tuple().digits)) // 3 <= 4 for b in bounds) else 8
    return len(whole) <= k + 1 if whole != "0" else len(part) - len(part.lstrip("0")) < k


@settings(max_examples=70, deadline=None)
@given(st.data())
def test_bounds_and_divisors_by_value(data: st.DataObject) -> None:
    optional = st.one_of(st.none(), values)
    minimum, maximum, above, below = (data.draw(optional) for _ in range(4))
    divisors = data.draw(
        st.sampled_from([(), (), (), (Decimal("0.01"),), (Decimal("2.5"),), (3,), (100,), (Decimal("0.5"), 7), (120,)])
    )
    others = data.draw(st.sampled_from([(), (), (3,), (Decimal("0.5"),), (1000, 7)]))
    excluded = data.draw(st.one_of(st.just(()), st.tuples(values)))
    kind = data.draw(st.sampled_from(["number", "integer", "fraction"]))
    spelling = data.draw(st.sampled_from(["canonical", "any"]))
    arguments = {
        "minimum": minimum,
        "maximum": maximum,
        "exclusive_minimum": above,
        "exclusive_maximum": below,
        "multiple_of": divisors,
        "not_multiple_of": others,
        "excluded": excluded,
        "kind": kind,
        "spelling": spelling,
    }
    dfa = number_language(**arguments)
    low = max((v for v in (minimum, above) if v is not None), default=None)
    high = min((v for v in (maximum, below) if v is not None), default=None)
    bases = [v for v in (minimum, maximum, above, below, *excluded) if v is not None] or [Decimal(0)]
    for _ in range(6):
        near = EXACT.add(data.draw(st.sampled_from(bases)), data.draw(offsets))
        text = data.draw(spellings(near))
        value = Decimal(text)
        fits = (minimum is None or value >= minimum) and (maximum is None or value <= maximum)
        fits = fits and (above is None or value > above) and (below is None or value < below)
        fits = fits and all(Fraction(value) % Fraction(d) == 0 for d in divisors)
        fits = fits and not any(Fraction(value) % Fraction(d) == 0 for d in others) and value not in excluded
        fits = fits and (kind == "number" or (Fraction(value).denominator == 1) == (kind == "integer"))
        accepted = dfa.accepts(text.encode())
        if accepted:
            assert fits, (text, arguments)
        elif fits and not ((others or excluded) and "e" in text.lower()):
            assert not in_universe(text, kind, spelling, low, high, set(divisors)), (text, arguments)


@settings(max_examples=200, deadline=None)
@given(st.text("-+.eE0127", max_size=7))
def test_free_numbers_are_those_of_json(text: str) -> None:
    try:
        parsed = isinstance(json.loads(text), (int, float)) and text.strip() == text
    except ValueError:
        parsed = False
    assert number_language().accepts(text.encode()) == parsed == bool(GRAMMAR.fullmatch(text))
    assert number_language(kind="integer").accepts(text.encode()) == bool(INTEGER.fullmatch(text))


TABLE = [
    (
        {"minimum": 0, "maximum": 100},
        ["100.000", "0", "-0.0", "1e2", "1E+02", "99.9999"],
        ["100.01", "-1", "1.01e2", "10e1", "0100", "1e3"],
    ),
    ({"exclusive_minimum": 0}, ["1e-9", "0.0001", "5"], ["0", "-0", "0.000", "0e5", "-1"]),
    ({"minimum": 0.1}, ["0.1", "0.10", "1e-1"], ["0.09999999999999999", "9.99e-2"]),
    ({"maximum": -1.5}, ["-1.5", "-2", "-1.5e0", "-1e5"], ["-1.49", "0", "1.5"]),
    ({"kind": "integer", "minimum": 1.5, "maximum": 3.5}, ["2", "3"], ["1", "4", "2.0"]),
    ({"kind": "integer", "exclusive_minimum": 1, "exclusive_maximum": 3}, ["2"], ["1", "3"]),
    (
        {"kind": "integer", "spelling": "any"},
        ["1.0", "1e2", "1.50e1", "-0.000", "1.234e+21", "3e-0", "0e-5"],
        ["1.5", "1.55e1", "1e-1", "2.5e0"],
    ),
    (
        {"kind": "integer", "spelling": "any", "minimum": 0, "maximum": 100},
        ["10e-1", "1000e-1", "0.1e3", "1E+2", "100.0", "0.00e5", "1.2e1", "-0e7", "0.000001e6"],
        ["1001e-1", "10e1e1", "0.1e4", "-1e0", "1e-1", "12.5", "1e3", "100000e-40"],
    ),
    ({"spelling": "any", "minimum": 0.5, "maximum": 2}, ["20e-1", "5e-1", "0.02e2"], ["21e-1", "201e-2", "49e-2"]),
    ({"kind": "integer", "spelling": "any", "minimum": 1}, ["10e-1", "1e99", "0.01e2"], ["0e5", "-1", "5e-1"]),
    (
        {"kind": "integer", "spelling": "any", "excluded": (0, 500)},
        ["5", "5e1", "-500"],
        ["0e9", "5e2", "500.0", "0.005e5", "5" + "0" * 22 + "e-20", "50000e-2"],
    ),
    ({"spelling": "any", "multiple_of": (0.01,)}, ["1e-2", "150e-2", "1e5", "0.001e1"], ["1e-3", "0.1e-2", "15e-3"]),
    ({"spelling": "any", "multiple_of": (1000,)}, ["1e3", "0.5e4", "10e2", "3000.0"], ["1e2", "1500", "0.5e3"]),
    ({"spelling": "any", "multiple_of": (0.5,)}, ["1e308", "2.5", "1.5e1", "0e-9"], ["0.25", "25e-2", "1.5e-1"]),
    ({"spelling": "any", "multiple_of": (2500,), "maximum": 1e5}, ["1e4", "2500", "5e4"], ["2.5e2", "1e3", "2e5"]),
    ({"kind": "integer", "spelling": "any", "minimum": 1.5}, ["2", "20e-1"], ["1", "1e0", "0"]),
    (
        {"kind": "integer", "spelling": "any", "multiple_of": (1000,), "excluded": (5000,)},
        ["6000", "6e3"],
        ["5" + "0" * 25 + "e-22", "5e3", "5000.0"],
    ),
    ({"not_multiple_of": (5, 0.5)}, ["0.3", "7.25"], ["0.5", "5", "3e-1"]),
    ({"not_multiple_of": (0.1,), "spelling": "any"}, ["1e-2", "3.14"], ["1e-1", "3.1", "2"]),
    ({"excluded": (5, 0.5)}, ["5.5", "4", "1e9"], ["5", "5.0", "5e0", "0.5", "0.50", "5e-1"]),
    ({"kind": "integer", "multiple_of": (99991,), "minimum": 1, "maximum": 10**6}, ["99991", "199982"], ["0", "99992"]),
    (
        {"multiple_of": (0.123456789,), "minimum": -1, "maximum": 1},
        ["0", "-0.0", "0.123456789", "-0.2469135780", "0.740740734"],
        ["0.1", "1.111111101", "0.12345678", "1"],
    ),
    ({"kind": "integer", "minimum": -5, "maximum": 5}, ["-0", "-5", "0", "5"], ["6", "-6", "00"]),
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
    assert number_language(kind="integer", exclusive_minimum=1, exclusive_maximum=2).is_empty
    assert number_language(minimum=1, maximum=2, multiple_of=(5,)).is_empty


def test_integers_and_fractions_part_the_universe() -> None:
    whole = number_language(kind="integer", spelling="any", minimum=-20, maximum=20)
    broken = number_language(kind="fraction", minimum=-20, maximum=20)
    assert is_disjoint(whole, broken)
    rest = difference(number_language(minimum=-20, maximum=20), union(whole, broken))
    # what is left has more than 20 places behind the point of a mantissa
    assert not any(rest.accepts(text.encode()) for text in ("1", "1.5", "1.5e0", "1.5e1", "-1e-3", "0e9"))
    assert rest.accepts(b"1.000000000000000000001e1")


@settings(max_examples=150, deadline=None)
@given(st.one_of(st.none(), st.integers(-2000, 2000)), st.one_of(st.none(), st.integers(-2000, 2000)))
def test_integer_ranges(low: int | None, high: int | None) -> None:
    dfa = number_language(kind="integer", minimum=low, maximum=high)
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
    assert number_language(kind="integer").name == "integer"
    assert number_language(kind="integer", minimum=0) is number_language(kind="integer", minimum=Decimal(0))
    assert equivalent(number_language(kind="integer", exclusive_minimum=0), number_language(kind="integer", minimum=1))


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


@pytest.mark.parametrize("divisor", ["12345", "32768", "1e30", "0.007", "123.456", "6103515625", "1e-30", "49999"])
def test_multiples_of_large_numbers(divisor: str) -> None:
    """Texts around multiples, whatever the factors 2, 5 and others of the divisor."""
    value = Fraction(divisor)
    dfa = number_language(multiple_of=(value,))
    places = max(0, -Decimal(divisor).as_tuple().exponent)  # type: ignore[operator]
    for factor in (0, 1, 2, 3, 10, 99, 12_345_678_901, -7, -(10**12)):
        for offset in (0, 1, -1):
            digits = EXACT.scaleb(Decimal(divisor), places) * factor + offset
            text = format(EXACT.scaleb(digits, -places), "f")
            assert dfa.accepts(text.encode()) == (Fraction(text) % value == 0), text
