"""Formats against tables, the standard library, other packages, and the JSON-Schema-Test-Suite where it is at hand."""

from __future__ import annotations

import datetime
import ipaddress
import json
import os
import random
import re
import unicodedata
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constrain._limits import Limits
from constrain.languages import idn, stored
from constrain.languages.formats import FORMATS, MOST, format_language, format_parts
from constrain.languages.operations import equivalent, is_subset, sample
from constrain.languages.parser import parse
from constrain.languages.pattern import compile_pattern

SUITE = Path(os.environ.get("JSON_SCHEMA_TEST_SUITE", Path(__file__).parents[2] / "shared/data/json_schema_test_suite"))

TABLE = {
    "date": (
        ["2024-02-29", "2000-02-29", "1999-12-31", "0001-01-01"],
        ["2023-02-29", "1900-02-29", "2024-13-01", "2024-04-31", "24-01-01", "2024-1-1", "2024-00-10", "2024-01-00"],
    ),
    "time": (
        ["00:00:00Z", "23:59:60Z", "22:59:60-01:00", "05:29:60+05:30", "12:00:00.5+01:00", "12:00:00z"],
        ["24:00:00Z", "12:00:60Z", "12:00:00", "22:59:60+01:00", "12:00:00.Z", "1:00:00Z", "12:00:00+24:00"],
    ),
    "date-time": (
        ["1990-12-31T23:59:60Z", "2024-02-29t10:00:00z", "2024-02-29T10:00:00.123456789-11:45"],
        ["2024-02-30T10:00:00Z", "2024-02-28 10:00:00Z", "2024-02-28T10:00:00", "2024-02-28T10:00Z", "2024-02-28"],
    ),
    "duration": (
        ["P3Y6M4DT12H30M5S", "PT0S", "P4W", "P1Y", "PT36H", "P23DT23H"],
        ["P", "PT", "P1Y1W", "P1.5D", "1D", "P1D2Y", "P1S", "PT1D", "P1DT", "p1d"],
    ),
    "email": (
        ["a@b", "a.b+c@x-y.example", '"a b"@c.d', "a@[1.2.3.4]", "a" * 64 + "@b", r'"\""@b', "a@[IPv6:::1]", "a@[x:y]"],
        ["a", "@b", "a@", "a..b@c", "a@b..c", "a" * 65 + "@b", "é@b", ".a@b", "a.@b", '"a"b@c', "a@[1.2.3]", "a b@c"],
    ),
    "idn-email": (["é@b", "실례@실례.테스트", "a@b"], ["é", "@é", "é@", "é@.é", "é é@b"]),
    "hostname": (
        ["a", "a-b.c", "1.2", "a" * 63 + ".b", "a--b", "WWW.example.COM", "xn--bcher-kva.de"],
        ["", "-a", "a-", "a..b", "a" * 64, "a_b", "a.", ".a", "xn--a", "ab--c", "é", "a\n"],
    ),
    "idn-hostname": (
        ["실례.테스트", "a", "l·l", "אב", "אב.com", "bücher-regal.example.com", "क्‍ष", "बी", "例え。テスト", "・ア"],
        ["a·l", "-a", "a..b", "אa", "〮a", "Bücher.de", "é" + "́", "e" + "́", "क‍", "・", "xn--a", "ab--é", "ü" * 60],
    ),
    "ipv4": (["1.2.3.4", "255.255.255.255"], ["256.1.1.1", "1.2.3", "01.2.3.4", "1.2.3.4.5", "1.2.3.4/8", "१.2.3.4"]),
    "ipv6": (
        ["::", "::1", "1:2:3:4:5:6:7:8", "::ffff:1.2.3.4", "1::8", "fe80::1", "1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:7::"],
        ["1:2:3:4:5:6:7", "1::2::3", ":1", "12345::", "fe80::1%eth0", "1:2:3:4:5:6:7:8:9", "::1.2.3", "1.2.3.4::"],
    ),
    "uri": (
        ["http://a/b?c#d", "urn:x:y", "mailto:a@b", "http://[::1]:80/", "file:///a", "a+b:%20", "x:", "http://a:/"],
        ["/a", "a", "http://a b", "http://[::1", "1a:b", "http://é", "http://a/%2", "http://a/#b#c", "http://a/{b}"],
    ),
    "uri-reference": (
        ["", "/a", "a", "//a", "?q", "#f", "a:b", "../a", "./a:b", "//u@a:1/b"],
        ["a b", "1a:b", "#a#b", "é", "\\a", "<a>", "a%g0"],
    ),
    "iri": (["http://é/ü?ö#ä", "http://a", "urn:ü"], ["é", "http://a b", "http://é/<", "//é"]),
    "iri-reference": (["é", "//é", "", "#ü", "日本"], ["a b", "\\", "#a#b", "^"]),
    "uuid": (
        ["2EB8AA08-aa98-11ea-b4aa-73b441d16380", "00000000-0000-0000-0000-000000000000"],
        ["2eb8aa08aa9811eab4aa73b441d16380", "2eb8aa08-aa98-11ea-b4aa-73b441d1638", "{" + "0" * 8 + "-0" * 4 + "}"],
    ),
    "uri-template": (
        ["a{b}", "{+x,y:3}", "{?q*}", "", "{;a.b}", "/é{x}", "{#p:9999}"],
        ["{", "}", "{}", "{a", "a b", "{a:0}", "{a:10000}", "{a**}", "{!a}", "{a b}", '"'],
    ),
    "json-pointer": (["", "/a/b", "/~0~1", "/", "/é\n", "//"], ["a", "/~2", "/~", "#/a"]),
    "relative-json-pointer": (["0", "1/a", "2#", "10/~0"], ["01", "/a", "-1", "0##", "", "1a", "#"]),
    "regex": (
        ["", "a|b", "(a(b(c)))", "[a-z]+?", "a{2,3}", r"\d\.\p{L}", "^(?=a)$", r"(?<y>\d{4})-x", r"\u{1F600}[\b-]",
         r"(?<n>a)\k<n>", r"x(?<q>[.]|b+|\d).(?:y)", r"^(?<q>b+|\d)\k<q>{2}(?:y)", r"(a)\1", r"(x)([ab](?:c))?d*\1+$"],
        [r"(?<n>a)\k<m>", r"\k<n>", r"(?<n>a)\k<n>(?<n>b)", r"\1", r"(?:a)\1", r"(a)\2", r"(a)\10", r"(?=a)\1",
         "(", ")", "[", "a**", "\\", "a{3,2}", "[z-a]", r"\a", "*", "(?<a>b)(?<a>c)", "(?<1>a)", "{", "]", "^*"],
    ),
}  # fmt: skip


def accepts(name: str, text: str, draft: int = 2020) -> bool:
    parts = format_parts(name, draft)
    assert parts is not None
    return any(
        len(text) <= MOST.get(part, len(text)) and format_language(part).accepts(text.encode()) for part in parts
    )


def test_the_table_covers_every_format() -> None:
    assert set(TABLE) == FORMATS


@pytest.mark.parametrize("name", TABLE)
def test_table(name: str) -> None:
    yes, no = TABLE[name]
    assert [text for text in yes if not accepts(name, text)] == []
    assert [text for text in no if accepts(name, text)] == []


# What is valid and left out, as the texts of the modules say: (format, text).
DEPARTURES = [
    ("time", "05:14:60+05:15"),
    ("hostname", "xn--9n2bp8q.example"),
    ("idn-hostname", "xn--9n2bp8q.example"),
    ("idn-hostname", "xn--bcher-kva.bücher"),
    ("idn-hostname", "παράδειγμα" * 4),
    ("idn-hostname", "例えば.例えば.例えば.example"),
    ("idn-hostname", "a--b.bücher"),
    ("idn-hostname", "𐎀𐎁"),
    ("relative-json-pointer", "0+1"),
    ("regex", "((((a))))"),
    ("regex", r"\1(a)"),
    ("regex", r"(a)(b)\2"),
    ("regex", r"(a)\1(b)"),
    ("regex", r"(?<a>b)c\k<a>"),
    ("regex", r"(?<ab>b)\k<ab>"),
    ("regex", "(?<a>b)(?<c>d)"),
    ("regex", "[!-~]"),
    ("regex", r"a{1000}"),
    ("regex", r"\p{Script=Greek}"),
    ("email", '"' + r"\a" * 31 + 'b"@c'),
]


@pytest.mark.parametrize(("name", "text"), DEPARTURES)
def test_departures(name: str, text: str) -> None:
    assert not accepts(name, text)


# What of the suite is left out.
LEFT_OUT: dict[str, Callable[[str], bool]] = {
    "hostname": {"xn--9n2bp8q.xn--9t4b11yi5a", "xn--zca29lwxobi7a", "xn--ngba5hb2804a"}.__contains__,
    "idn-hostname": lambda text: text == "xn--ihqwcrb4cv8a8dqg056pqjye" or len(text) > 40,
}


@pytest.mark.parametrize("draft", ["draft4", "draft6", "draft7", "draft2019-09", "draft2020-12"])
def test_suite(draft: str) -> None:
    folder = SUITE / "tests" / draft / "optional" / "format"
    if not folder.is_dir():
        pytest.skip("the JSON-Schema-Test-Suite is not at hand; JSON_SCHEMA_TEST_SUITE names its folder")
    number = int(draft.removeprefix("draft").partition("-")[0])
    wrong = []
    for file in sorted(folder.glob("*.json")):
        for group in json.loads(file.read_text(encoding="utf-8")):
            name = group["schema"].get("format")
            if name not in FORMATS or format_parts(name, number) is None:
                continue
            for case in group["tests"]:
                text = case["data"]
                if isinstance(text, str) and accepts(name, text, number) != case["valid"]:
                    if case["valid"] and name in LEFT_OUT and LEFT_OUT[name](text):
                        continue
                    wrong.append((name, text, case["description"]))
    assert wrong == []


def test_dates_are_those_of_the_calendar() -> None:
    dfa = format_language("date")
    for year in (1, 4, 100, 400, 1999, 2000, 2023, 2024, 2100):
        for month in range(14):
            for day in range(33):
                try:
                    real = bool(datetime.date(year, month, day))
                except ValueError:
                    real = False
                assert dfa.accepts(f"{year:04}-{month:02}-{day:02}".encode()) == real


@settings(max_examples=60, deadline=None)
@given(
    st.datetimes(),
    st.integers(-1439, 1439).map(lambda minutes: datetime.timezone(datetime.timedelta(minutes=minutes))),
    st.sampled_from("Tt"),
)
def test_times_of_the_standard_library(moment: datetime.datetime, zone: datetime.timezone, separator: str) -> None:
    text = moment.replace(tzinfo=zone).isoformat(separator)
    assert accepts("date-time", text) and accepts("time", text[11:]) and accepts("date", text[:10])
    assert not accepts("date-time", moment.isoformat())


@settings(max_examples=40, deadline=None)
@given(st.uuids(), st.booleans())
def test_uuids_of_the_standard_library(value: uuid.UUID, upper: bool) -> None:
    text = str(value).upper() if upper else str(value)
    assert accepts("uuid", text)
    assert not accepts("uuid", value.hex) and not accepts("uuid", value.urn)


@pytest.mark.parametrize(("name", "parse"), [("ipv4", ipaddress.IPv4Address), ("ipv6", ipaddress.IPv6Address)])
def test_addresses_against_the_standard_library(name: str, parse: type) -> None:
    dfa = format_language(name)
    rng = random.Random(3)
    for _ in range(300):
        text = sample(dfa, rng).decode()
        parse(text)
        damaged = list(text)
        damaged[rng.randrange(len(text))] = rng.choice(".:0f9")
        changed = "".join(damaged)
        try:
            parse(changed)
            real = True
        except ValueError:
            real = False
        assert dfa.accepts(changed.encode()) == real, changed


@pytest.mark.parametrize("part", ["idn-alphabetic", "idn-unicode"])
def test_international_names_encode(part: str) -> None:
    """Whatever is generated has an encoded form in which labels have at most 63 octets."""
    encoder = pytest.importorskip("idna")
    dfa = format_language(part)
    rng = random.Random(7)
    for _ in range(300):
        text = sample(dfa, rng).decode()
        if len(text) <= MOST[part]:
            encoded = encoder.encode(text)
            assert len(encoded) <= 253 and encoded.count(b".") == sum(c in ".\u3002\uff0e\uff61" for c in text)


@pytest.mark.parametrize("letters", [idn.LATIN, idn.GREEK, idn.CYRILLIC, "一丁七万丈", "가각갂" + "힣", "\u0080\uffff"])
def test_the_worst_labels_fit(letters: str) -> None:
    """Punycode (RFC 3492) of long labels that jump to and fro between the ends of an alphabet."""
    rng = random.Random(11)
    weight, most = (3, 56) if letters in (idn.LATIN, idn.GREEK, idn.CYRILLIC) else (4, 56)
    ends = [letters[0], letters[-1], *rng.sample(letters, min(2, len(letters)))]
    for _ in range(300):
        label, left = "", most
        while left >= weight:
            extra = rng.choice(ends) if rng.random() < 0.9 else rng.choice("az09")
            label = label + extra if rng.random() < 0.5 else extra + label
            left -= weight if extra in letters else 1
        assert len("xn--" + label.encode("punycode").decode()) <= 63


def test_international_names_are_normal() -> None:
    dfa = format_language("idn-unicode")
    rng = random.Random(13)
    for _ in range(300):
        for label in sample(dfa, rng).decode().replace("\u3002", ".").replace("\uff0e", ".").split("."):
            assert unicodedata.normalize("NFC", label) == label


def test_host_names_have_at_most_253_characters() -> None:
    label = "a" * 49 + "."
    for size in (1, 2, 3):
        text = label * 5 + "b" * size
        assert accepts("hostname", text) == (len(text) <= 253)


def test_names_unknown_formats_and_drafts() -> None:
    for name in ("date", "uri", "email"):
        dfa = format_language(name)
        assert dfa.name == f"format:{name}"
        assert format_language(name) is dfa
    assert format_parts("color") is None
    assert format_parts("uuid", 7) is None and format_parts("uuid", 2019) == ("uuid",)
    assert format_parts("duration", 7) is None
    assert not accepts("hostname", "ab--cd", 7) and accepts("hostname", "ab--cd", 6) and accepts("hostname", "xn--x", 4)


def test_relations() -> None:
    assert is_subset(format_language("uri"), format_language("iri"))
    assert is_subset(format_language("uri"), format_language("uri-reference"))
    assert is_subset(format_language("uri-reference"), format_language("iri-reference"))
    assert is_subset(format_language("email"), format_language("idn-email"))
    assert is_subset(format_language("hostname"), format_language("hostname-1123"))
    pattern = compile_pattern("^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$")
    assert equivalent(format_language("uuid"), pattern)


def test_generated_expressions_compile() -> None:
    dfa = format_language("regex")
    rng = random.Random(11)
    recalled = re.compile(r"(?<!\\)(?:\\\\)*(\\1|\\k<[a-z]>)")  # back-references, which `parse` refuses as not regular
    for _ in range(150):
        text = sample(dfa, rng).decode()
        if not recalled.search(text):
            parse(text, dialect="ecma", limits=Limits())


def test_slow_formats_are_kept_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONSTRAIN_CACHE_DIR", str(tmp_path))
    made = []

    def build() -> stored.DFA:
        made.append(1)
        return compile_pattern("^a{3}b*$")

    first = stored.stored("some", build)
    again = stored.stored("some", build)
    assert len(made) == 1 and again is not first and equivalent(first, again) and again.name == first.name
    (file,) = (tmp_path / "automata").iterdir()
    file.write_bytes(file.read_bytes()[:-9])
    assert equivalent(stored.stored("some", build), first) and len(made) == 2
    assert stored.stored("some", build).accepts(b"aaab") and len(made) == 2


def test_languages_that_took_long_are_kept_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONSTRAIN_CACHE_DIR", str(tmp_path))
    made = []

    def build() -> stored.Language:
        made.append(1)
        return compile_pattern("^a{3}b*$"), 4, None

    stored.stored_if_slow(("quick", "\ud800"), build, 100)
    assert not list((tmp_path / "automata").iterdir())
    monkeypatch.setattr(stored, "_SLOW", 0.0)
    first = stored.stored_if_slow("slow", build, 100)
    again = stored.stored_if_slow("slow", build, 100)
    assert len(made) == 2 and equivalent(first[0], again[0]) and again[1:] == (4, None)
    stored.stored_if_slow("slow", build, first[0].n_states - 1)  # what would be refused is built, and refused, again
    assert len(made) == 3
    stored.stored("some", lambda: build()[0])
    for n in range(stored._KEPT + 3):
        stored.stored_if_slow(n, build, 100)
    assert len(list((tmp_path / "automata").iterdir())) == stored._KEPT + 1  # formats make room for nothing
