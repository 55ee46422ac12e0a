"""Formats against tables, the standard library, and the JSON-Schema-Test-Suite where it is at hand."""

from __future__ import annotations

import datetime
import ipaddress
import json
import os
import random
from pathlib import Path

import pytest

from constrain._limits import Limits
from constrain.languages import formats
from constrain.languages.formats import FORMATS, format_language, format_string
from constrain.languages.operations import equivalent, is_subset, sample
from constrain.languages.parser import parse
from constrain.languages.pattern import compile_pattern

SUITE = Path(os.environ.get("JSON_SCHEMA_TEST_SUITE", Path(__file__).parents[2] / "shared/data/json_schema_test_suite"))

TABLE = {
    "date": (
        ["2024-02-29", "2000-02-29", "1999-12-31"],
        ["2023-02-29", "1900-02-29", "2024-13-01", "2024-04-31", "24-01-01", "2024-1-1"],
    ),
    "time": (
        ["00:00:00Z", "23:59:60Z", "22:59:60-01:00", "05:29:60+05:30", "12:00:00.5+01:00"],
        ["24:00:00Z", "12:00:60Z", "12:00:00", "22:59:60+01:00"],
    ),
    "date-time": (
        ["1990-12-31T23:59:60Z", "2024-02-29t10:00:00z"],
        ["2024-02-30T10:00:00Z", "2024-02-28 10:00:00Z", "2024-02-28T10:00:00"],
    ),
    "duration": (["P3Y6M4DT12H30M5S", "PT0S", "P4W"], ["P", "PT", "P1Y1W", "P1.5D", "1D"]),
    "email": (
        ["a@b", "a.b+c@x-y.example", '"a b"@c.d', "a@[1.2.3.4]", "a" * 64 + "@b"],
        ["a", "@b", "a@", "a..b@c", "a@b..c", "a" * 65 + "@b", "é@b"],
    ),
    "idn-email": (["é@b", "실례@실례.테스트"], ["é", "@é"]),
    "hostname": (["a", "a-b.c", "1.2", "a" * 63 + ".b"], ["", "-a", "a-", "a..b", "a" * 64, "a_b", "a.", "xn--a"]),
    "idn-hostname": (["실례.테스트", "a", "l·l", "אב"], ["a·l", "-a", "a..b", "אa", "〮a"]),
    "ipv4": (["1.2.3.4", "255.255.255.255"], ["256.1.1.1", "1.2.3", "01.2.3.4", "1.2.3.4.5"]),
    "ipv6": (
        ["::", "::1", "1:2:3:4:5:6:7:8", "::ffff:1.2.3.4", "1::8", "fe80::1"],
        ["1:2:3:4:5:6:7", "1::2::3", ":1", "12345::", "fe80::1%eth0", "1:2:3:4:5:6:7:8:9"],
    ),
    "uri": (
        ["http://a/b?c#d", "urn:x:y", "mailto:a@b", "http://[::1]:80/"],
        ["/a", "a", "http://a b", "http://[::1", "1a:b", "http://é"],
    ),
    "uri-reference": (["", "/a", "a", "//a", "?q", "#f", "a:b"], ["a b", "1a:b", "#a#b", "é"]),
    "iri": (["http://é/ü?ö#ä"], ["é", "http://a b"]),
    "iri-reference": (["é", "//é"], ["a b", "\\"]),
    "uuid": (
        ["2EB8AA08-aa98-11ea-b4aa-73b441d16380"],
        ["2eb8aa08aa9811eab4aa73b441d16380", "2eb8aa08-aa98-11ea-b4aa-73b441d1638"],
    ),
    "uri-template": (["a{b}", "{+x,y:3}", "{?q*}", ""], ["{", "}", "{}", "{a", "a b"]),
    "json-pointer": (["", "/a/b", "/~0~1", "/", "/é\n"], ["a", "/~2", "/~"]),
    "relative-json-pointer": (["0", "1/a", "2#"], ["01", "/a", "-1", "0##"]),
    "regex": (
        ["", "a|b", "(a(b))*", "[a-z]+?", "a{2,3}", r"\d\.\p{L}", "^(?=a)$"],
        ["(", ")", "[", "a**", "\\", "a{3,2}", "[z-a]", r"\a", "*"],
    ),
}


def test_the_table_covers_every_format() -> None:
    assert sorted(TABLE) == sorted(FORMATS)


def accepts(name: str, text: str, draft: str | None = None) -> bool:
    found = format_string(name, draft)
    assert found is not None
    dfa, least, most = found
    return dfa.accepts(text.encode()) and least <= len(text) <= (len(text) if most is None else most)


@pytest.mark.parametrize("name", TABLE)
def test_table(name: str) -> None:
    yes, no = TABLE[name]
    assert [text for text in yes if not accepts(name, text)] == []
    assert [text for text in no if accepts(name, text)] == []


# Where the suite asks for what is not regular; every line is explained in the text of formats.py.
LEFT_OUT = {
    "hostname": lambda text: "--" in text,
    "idn-hostname": lambda text: "xn--" in text or len(text) > 40,
    "regex": lambda text: "(?<" in text,
}


@pytest.mark.parametrize("draft", ["draft4", "draft6", "draft7", "draft2019-09", "draft2020-12"])
def test_suite(draft: str) -> None:
    folder = SUITE / "tests" / draft / "optional" / "format"
    if not folder.is_dir():
        pytest.skip("the JSON-Schema-Test-Suite is not at hand; JSON_SCHEMA_TEST_SUITE names its folder")
    wrong = []
    for file in sorted(folder.glob("*.json")):
        for group in json.loads(file.read_text(encoding="utf-8")):
            name = group["schema"].get("format")
            if name not in FORMATS or format_string(name, draft) is None:
                continue
            for case in group["tests"]:
                text = case["data"]
                if isinstance(text, str) and accepts(name, text, draft) != case["valid"]:
                    if name in LEFT_OUT and LEFT_OUT[name](text):
                        # left out is for the valid only, but for the octets of an encoded label
                        assert case["valid"] or name == "idn-hostname"
                        continue
                    wrong.append((name, text, case["description"]))
    assert wrong == []


def test_dates_are_those_of_the_calendar() -> None:
    dfa = format_language("date")
    assert dfa is not None
    for year in (1, 4, 100, 400, 1999, 2000, 2023, 2024, 2100):
        for month in range(14):
            for day in range(33):
                try:
                    real = bool(datetime.date(year, month, day))
                except ValueError:
                    real = False
                assert dfa.accepts(f"{year:04}-{month:02}-{day:02}".encode()) == real


@pytest.mark.parametrize(("name", "parse"), [("ipv4", ipaddress.IPv4Address), ("ipv6", ipaddress.IPv6Address)])
def test_addresses_against_the_standard_library(name: str, parse: type) -> None:
    dfa = format_language(name)
    assert dfa is not None
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


def test_host_names_have_at_most_253_characters() -> None:
    counted = format_language("hostname")
    assert counted is not None
    label = "a" * 49 + "."
    for size in (1, 2, 3):
        text = label * 5 + "b" * size
        assert counted.accepts(text.encode()) == accepts("hostname", text) == (len(text) <= 253)


def test_names_unknown_formats_and_drafts() -> None:
    for name in ("date", "uri", "email"):
        dfa = format_language(name)
        assert dfa is not None and dfa.name == f"format:{name}"
        assert format_language(name) is dfa
    assert format_language("no-such-format") is None
    assert format_string("color") is None
    assert format_string("uuid", "draft7") is None
    assert format_string("uuid", "http://json-schema.org/draft-07/schema#") is None
    assert format_string("uuid", "https://json-schema.org/draft/2019-09/schema") is not None


def test_relations() -> None:
    def language(name: str):
        found = format_string(name)
        assert found is not None
        return found[0]

    assert is_subset(language("uri"), language("iri"))
    assert is_subset(language("uri"), language("uri-reference"))
    assert is_subset(language("uri-reference"), language("iri-reference"))
    assert is_subset(language("email"), language("idn-email"))
    assert equivalent(language("uuid"), compile_pattern("^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"))
    assert formats.FORMATS["hostname"].most == 253


def test_generated_expressions_compile() -> None:
    found = format_string("regex")
    assert found is not None
    rng = random.Random(11)
    for _ in range(150):
        parse(sample(found[0], rng).decode(), dialect="ecma", limits=Limits())
