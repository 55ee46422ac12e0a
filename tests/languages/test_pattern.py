"""Patterns against Python's `re` (and `interegular`) as oracles, and tables for what ECMA-262 reads differently."""

from __future__ import annotations

import itertools
import re
import time

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from constrain._errors import GrammarError, LimitError
from constrain._limits import Limits
from constrain.languages.operations import ANY_STRING, equivalent, is_subset
from constrain.languages.pattern import compile_pattern, compile_string_pattern

ALPHABET = "ab_ é\n😀"
TEXTS = st.text(ALPHABET, max_size=6)


def patterns(look_behind: bool = True) -> st.SearchStrategy[str]:
    """Patterns on which ECMA-262 and `re` with re.ASCII agree."""
    atoms = ["a", "b", "_", " ", "é", "😀", ".", "[ab]", "[^a]", r"\w", r"\W", r"[^\wé]", r"\d", "[a-z_]"]
    asserts = ["^", "$", r"\b"] + (["(?<=a)", "(?<!ab)", r"(?<=\ba)", "(?<=^a)", "(?<=b$)", "(?<=a|é)"] * look_behind)
    quantifiers = st.sampled_from(["", "", "", "*", "+", "?", "{2}", "{1,3}", "{0,2}", "{2,}", "*?"])

    def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        group = st.builds(lambda kind, body: f"({kind}{body})", st.sampled_from(["", "?:", "?:", "?=", "?!"]), inner)
        item = st.one_of(
            st.builds(str.__add__, st.sampled_from(atoms), quantifiers),
            st.builds(str.__add__, group, quantifiers),
            st.sampled_from(asserts),
        )
        sequence = st.lists(item, max_size=4).map("".join)
        return st.lists(sequence, min_size=1, max_size=3).map("|".join)

    return st.recursive(st.sampled_from(atoms), larger, max_leaves=8)


def reference(pattern: str) -> re.Pattern[str]:
    """`pattern` with the $ of ECMA-262, which matches at the very end only."""
    try:
        return re.compile(pattern.replace("$", r"(?!.|\n)").replace(r"b(?!.|\n))", r"b\Z)"), re.ASCII)
    except re.error:
        assume(False)
        raise


@settings(max_examples=200, deadline=None)
@given(patterns(), st.lists(TEXTS, min_size=8, max_size=8))
def test_same_language_as_re(pattern: str, texts: list[str]) -> None:
    oracle = reference(pattern)
    try:
        somewhere = compile_pattern(pattern, limits=Limits(max_states=3000))
        whole = compile_pattern(pattern, search=False, limits=Limits(max_states=3000))
    except LimitError:
        assume(False)
    body, least, most = compile_string_pattern(pattern)
    for text in texts:
        data = text.encode()
        assert somewhere.accepts(data) == bool(oracle.search(text)), text
        assert whole.accepts(data) == bool(oracle.fullmatch(text)), text
        fits = least <= len(text) and (most is None or len(text) <= most)
        assert (body.accepts(data) and fits) == bool(oracle.search(text)), text
    assert is_subset(somewhere, ANY_STRING)


@settings(max_examples=50, deadline=None)
@given(patterns(), st.lists(TEXTS, min_size=8, max_size=8))
def test_python_dialect(pattern: str, texts: list[str]) -> None:
    try:
        oracle = re.compile(pattern)
        dfa = compile_pattern(pattern, dialect="python", search=False, limits=Limits(max_states=3000))
        found = compile_pattern(pattern, dialect="python", limits=Limits(max_states=3000))
    except (re.error, LimitError, GrammarError):
        assume(False)
    for text in texts:
        assert dfa.accepts(text.encode()) == bool(oracle.fullmatch(text)), text
        assert found.accepts(text.encode()) == bool(oracle.search(text)), text


PYTHON = [
    r"(?i)straße",
    r"(?i:a)b",
    r"(?s).",
    r"(?m)^b$",
    r"(?a)\w+",
    r"\w+",
    r"\d\s\D",
    r"(?P<n>a)b",
    r"\A(?:a|b)\Z",
    r"a{,2}b",
    r"(?x) a  b # two",
    r"[]a]+",
    r"[^]a]+",
    r"\x41\u00e9\U0001F600\0\a",
    r"(?#note)a",
    r"(?-i:a)",
    r"\N{DIGIT ONE}",
    r"{a}",
    r"a{b",
    r"[a\]b-]",
    r"(?i)[^a-c]",
    r"(?ai)k",
    r"(?i)k",
    r"(?i)i",
    r"(?i)[h-j]",
    r"\.\-\_\ ",
    r"a$|b",
    r"\101\012?[\1\60]*",
    r"\B",
    r"a?\Bb*",
    r"(?u)\w(?a:\w)",
    r"(?s-i:.)(?<!é)",
]


@pytest.mark.parametrize("pattern", PYTHON)
def test_python_syntax(pattern: str) -> None:
    oracle = re.compile(pattern)
    dfa = compile_pattern(pattern, dialect="python", search=False)
    texts = [
        "straße",
        "STRASSE",
        "STRAßE",
        "ab",
        "Ab",
        "AB",
        "aB",
        "\n",
        "a\nb",
        "b\n",
        "b",
        "é",
        "éa_1",
        "٣ x",
        "a",
        "aab",
        "1",
        "]",
        "A\u00e9\U0001f600\0\a",
        "{a}",
        "a{b",
        "K",
        "k",
        "\u212a",
        ".-_ ",
        "c",
        "C",
        "d",
        "a\n",
        "aa",
        "aaab",
        "\u0130",
        "\u0131",
        "",
    ]
    for text in texts:
        assert dfa.accepts(text.encode()) == bool(oracle.fullmatch(text)), text


ECMA = [
    (r"^\p{Letter}cole$", ["école", "Ecole"], ["1cole"]),
    (r"^\p{Script=Greek}+$", ["αβγ"], ["a", ""]),
    (r"^\p{L}\P{L}$", ["é1"], ["11", "aa"]),
    (r"^\p{ASCII}$", ["\x7f"], ["\x80"]),
    (r"^\d$", ["7"], ["\u0667"]),
    (r"^\w$", ["_"], ["é"]),
    (r"^\s$", [" ", "\ufeff", "\u2029", "\u00a0"], ["\x85", "\u200b"]),
    (r"^.$", ["😀", "\x85"], ["\n", "\r", "\u2028", "\u2029", "ab"]),
    (r"^[^]$", ["\n", "x"], [""]),
    (r"^a$", ["a"], ["a\n"]),
    (r"^\u{1F600}\uD83D\uDE00\x41\cJ\0$", ["😀😀A\n\0"], ["😀"]),
    (r"^\-\_\/\.\@\%$", ["-_/.@%"], ["-"]),
    (r"^a]b}c{d{,3}$", ["a]b}c{d{,3}"], ["a"]),
    (r"^[\w-.]+$", ["a-.", "-"], ["/"]),
    (r"^[a-]$", ["-"], ["b"]),
    (r"^[\b]$", ["\b"], ["b"]),
    (r"^(?<year>\d{4})$", ["2020"], ["20"]),
    (r"^(?i:k)b$", ["kb", "Kb", "\u212ab"], ["kB"]),
    (r"^a|b$", ["ax", "xb"], ["xa", "bx"]),
    (r"(^foo|bar)$", ["foo", "xbar"], ["xfoo"]),
    (r"", ["", "x"], []),
    (r"[]", [], ["", "x"]),
    (r"^(?!.*--)[a-z-]+(?<!-)$", ["a-b"], ["a--b", "a-"]),
    (r"^(?=.*[A-Z])(?=.*\d).{8,}$", ["Password1"], ["password1", "Pass1"]),
    (r"\B", ["", "ab"], ["a"]),
    (r"^(?:(?=a)|b)*a$", ["a", "ba", "bba"], ["b", ""]),
    (r"(?<=\$)\d+$", ["$5", "x$55"], ["5"]),
    (r"^(?i:i)$", ["i", "I"], ["\u0130", "\u0131"]),
    (r"^(?i:\w\W)$", ["\u017f-", "\u212a "], ["-\u017f", "é-"]),
    (r"^(?i:\P{Lu}[^s]ẞ)$", ["Aaß", "atẞ"], ["asß", "a\u017fß", "aSS"]),
    (r"(?<=a\b)-", ["a-", "b a-"], ["b-", "-"]),
    (r"(?<!a\b|b)-", ["-", "c-", "a_-"], ["a-", "b-"]),
    (r"^..(?<=a(?=c)|b\B).+$", ["xac", "xbb"], ["xab", "xb "]),
    (r"^(?<=^\b|x)a", ["a"], ["-a", ""]),
]


@pytest.mark.parametrize(("pattern", "yes", "no"), ECMA, ids=[row[0] for row in ECMA])
def test_ecma_syntax(pattern: str, yes: list[str], no: list[str]) -> None:
    dfa = compile_pattern(pattern)
    assert [text for text in yes if not dfa.accepts(text.encode())] == []
    assert [text for text in no if dfa.accepts(text.encode())] == []


@pytest.mark.parametrize(
    ("pattern", "position"),
    [
        ("a(b", 1),
        ("ab)", 2),
        ("[a", 0),
        ("*a", 0),
        ("a**", 2),
        (r"(a)\1", 3),
        (r"\k<n>", 0),
        (r"\Z", 0),
        (r"a\q", 1),
        ("a{3,2}", 1),
        ("a\\", 1),
        ("[z-a]", 1),
        (r"\p{Nope}", 0),
        (r"\u{110000}", 0),
        ("^*", 1),
        ("(?<1>a)", 3),
        (r"\xg0", 0),
        ("(?z)", 0),
        ("a(?i)b", 1),
    ],
)
def test_errors_name_the_place(pattern: str, position: int) -> None:
    with pytest.raises(GrammarError) as caught:
        compile_pattern(pattern)
    assert caught.value.position == position


@pytest.mark.parametrize("pattern", ["a++", "(?>a)", "(?P=n)", "(?(1)a|b)", r"\1", r"\400", "(?P<n>a)(?P<n>b)"])
def test_python_syntax_that_is_refused(pattern: str) -> None:
    with pytest.raises(GrammarError):
        compile_pattern(pattern, dialect="python")


@pytest.mark.parametrize(
    ("pattern", "least", "most"),
    [
        ("^[a-z]{1,64}$", 1, 64),
        ("^.{0,100000}$", 0, 100000),
        ("^(?:[a-z]{2,5000})$", 2, 5000),
        ("^a+$", 1, None),
        ("^[A-Z][a-z]{0,4000}$", 1, 4001),
        ("^.{3}$", 3, 3),
        ("^(a|b){2,90}$", 2, 90),
        ("^x[ab]{7,900}yz$", 10, 903),
    ],
)
def test_counts_become_bounds(pattern: str, least: int, most: int | None) -> None:
    dfa, low, high = compile_string_pattern(pattern)
    assert (low, high) == (least, most)
    assert dfa.n_states < 40
    assert dfa.has_interval_lengths


@pytest.mark.parametrize(
    "pattern", ["[a-z]{1,64}", "^[a-z]{1,64}", "^a{1,40}b{1,40}$", "^(ab){1,64}$", "^a?b{1,64}$", "^a{40}|b$"]
)
def test_counts_that_stay(pattern: str) -> None:
    dfa, low, high = compile_string_pattern(pattern)
    assert (low, high) == (0, None)
    assert equivalent(dfa, compile_pattern(pattern))


def test_surrogates_never_match() -> None:
    dfa = compile_pattern(r"^[\uD800-\uDFFF]$")
    assert dfa.is_empty
    assert not compile_pattern("^[^a]$").accepts(b"\xed\xa0\x80")
    assert not compile_pattern("^[^a]$").accepts(b"\xc0\x80")


@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)+$" * 300,
        "((a{1,1000}){1,1000}){1,1000}",
        "^((a{0,1000}){0,1000}){0,1000}$",
        "(.*a){12}.{40}b",
        "(a|aa)+" * 60,
        "^" + "(" * 300 + "a" + ")*" * 300 + "$",
        "(?=.*a.{20})" * 20,
        "(x+x+)+y",
        "a" * 20000,
        "((a{1,999}b){1,999}c){1,999}",
        r"^(((?:\b|a){300}){300}){300}$",
        r"(?:\b|a{2}|b\b){3000,40000}",
        "^(?:" + "a?" * 50_000 + ")*$",
        r"^(?:" + r"a?\b" * 50_000 + ")*$",
    ],
    ids=range(14),
)
def test_hostile_patterns_end_soon(pattern: str) -> None:
    begin = time.process_time()
    try:
        compile_pattern(pattern, limits=Limits(max_states=5_000))
    except LimitError as error:
        assert error.limit == "max_states"
    assert time.process_time() - begin < 20


@pytest.mark.parametrize("count", ["{2}", "{2,}", "{3,4}", "{1,2}", "{1,3}"])
@pytest.mark.parametrize("body", [r"\b|a", "(?=a)|(?<=b)|ab?", "(?!b)a?", "^|$|b", r"\b(?:a|)(?:b|\B)", "(?=ab)|b"])
def test_copies_that_only_assert(body: str, count: str) -> None:
    """Written out, copy by copy, they are the same."""
    low, _, high = count.strip("{}").partition(",")
    more = int(low) if "," not in count else int(high or 9)
    copies = f"(?:{body})" * int(low) + f"(?:{body})?" * (more - int(low))
    for text in map("".join, itertools.chain.from_iterable(itertools.product("ab", repeat=n) for n in range(6))):
        for around in ("^{}$", "b{}a", "{}"):
            counted, written = (around.format(one) for one in (f"(?:{body}){count}", copies))
            expected = re.search(written, text) is not None
            assert compile_pattern(counted).accepts(text.encode()) == expected, (counted, text)


def test_depth_is_limited() -> None:
    with pytest.raises(LimitError) as caught:
        compile_pattern("(" * 500 + ")" * 500)
    assert caught.value.limit == "max_depth"


@pytest.mark.parametrize("pattern", ["", "a*", r"^[\s\S]*$", "^(.|[\n\r\u2028\u2029])*$"])
def test_the_language_of_all_strings_is_shared(pattern: str) -> None:
    assert compile_pattern(pattern) is ANY_STRING
    assert compile_string_pattern(pattern) == (ANY_STRING, 0, None)


def test_results_are_cached() -> None:
    assert compile_pattern("^cached[0-9]$") is compile_pattern("^cached[0-9]$")
    assert compile_pattern("^cached[0-9]$") is not compile_pattern("^cached[0-9]$", search=False)


@settings(max_examples=60, deadline=None)
@given(patterns(look_behind=False).filter(lambda p: not any(mark in p for mark in ("^", "$", "\\b", "(?=", "(?!"))))
def test_agrees_with_interegular(pattern: str) -> None:
    interegular = pytest.importorskip("interegular")
    try:
        fsm = interegular.parse_pattern(pattern).to_fsm()
        dfa = compile_pattern(pattern, search=False, limits=Limits(max_states=3000))
    except (LimitError, interegular.patterns.Unsupported, interegular.patterns.InvalidSyntax, AttributeError):
        assume(False)

    for size in range(4):
        for letters in itertools.product("ab_😀", repeat=size):
            text = "".join(letters)
            assert dfa.accepts(text.encode()) == fsm.accepts(text), text
