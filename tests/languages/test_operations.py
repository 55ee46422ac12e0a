"""Boolean algebra, lengths and words, against sets of words enumerated by hand."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constrain._errors import LimitError
from constrain._limits import Limits
from constrain.languages import operations as ops
from constrain.languages.dfa import DFA
from constrain.languages.operations import ANY_STRING, EMPTY_LANGUAGE, EMPTY_STRING
from constrain.languages.pattern import compile_pattern

PATTERNS = [
    "^(ab)*$",
    "^a?b{1,3}$",
    "é",
    "^[^a]*$",
    "^(a|éb)*c?$",
    "^$",
    "[]",
    "a.c",
    "^(aa|b)+$",
    "(?!^a)b",
    "^.{2,4}$",
]
TEXTS = ["".join(letters) for size in range(5) for letters in itertools.product("abé", repeat=size)]
WORDS = [text.encode() for text in TEXTS]
pattern = st.sampled_from(PATTERNS)


def members(dfa: DFA) -> set[bytes]:
    return {word for word in WORDS if dfa.accepts(word)}


def check_trim(dfa: DFA) -> None:
    """Every state is reachable and reaches acceptance, as the engine relies on."""
    reached = {0} if dfa.n_states else set()
    todo = list(reached)
    while todo:
        for target in set(dfa.table[todo.pop()].tolist()) - {-1} - reached:
            reached.add(target)
            todo.append(target)
    assert len(reached) == dfa.n_states
    alive = set((dfa.labels >= 0).nonzero()[0].tolist())
    while True:
        more = {s for s in range(dfa.n_states) if alive & set(dfa.table[s].tolist())} | alive
        if more == alive:
            break
        alive = more
    assert len(alive) == dfa.n_states


@settings(max_examples=80, deadline=None)
@given(pattern, pattern)
def test_boolean_algebra(first: str, second: str) -> None:
    a, b = compile_pattern(first), compile_pattern(second)
    both, either, minus, neither = ops.intersect(a, b), ops.union(a, b), ops.difference(a, b), ops.complement(a)
    assert members(both) == members(a) & members(b)
    assert members(either) == members(a) | members(b)
    assert members(minus) == members(a) - members(b)
    assert members(neither) == set(WORDS) - members(a)
    for dfa in (a, both, either, minus, neither):
        check_trim(dfa)
    assert ops.is_disjoint(a, b) == both.is_empty
    assert ops.is_subset(a, b) == minus.is_empty
    assert ops.equivalent(ops.complement(neither), a)
    assert ops.equivalent(either, ops.complement(ops.intersect(ops.complement(a), ops.complement(b))))


def test_any_string_is_utf8() -> None:
    assert ANY_STRING.name == "string"
    assert ANY_STRING.n_states == 8
    for code in [0, 0x7F, 0x80, 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x10FFFF]:
        assert ANY_STRING.accepts(chr(code).encode())
    for wrong in [
        b"\x80",
        b"\xc0\xaf",
        b"\xc1\x80",
        b"\xe0\x9f\xbf",
        b"\xed\xa0\x80",
        b"\xf0\x8f\xbf\xbf",
        b"\xf4\x90\x80\x80",
        b"\xc3",
    ]:
        assert not ANY_STRING.accepts(wrong)
        with pytest.raises(UnicodeDecodeError):
            wrong.decode()


def test_constants() -> None:
    assert EMPTY_LANGUAGE.is_empty and not EMPTY_LANGUAGE.accepts(b"")
    assert ops.words(EMPTY_STRING, 5) == [b""]
    assert ops.intersect(EMPTY_LANGUAGE, ANY_STRING).is_empty
    assert ops.complement(ANY_STRING).is_empty
    assert ops.equivalent(ops.complement(EMPTY_LANGUAGE), ANY_STRING)


def test_label_product() -> None:
    dfas = [compile_pattern("^a"), compile_pattern("b$"), compile_pattern("[]")]
    names = {frozenset(): 7, frozenset({0}): 1, frozenset({1}): 2, frozenset({0, 1}): -1}
    product = ops.label_product(dfas, lambda found: names[found])
    for word in WORDS:
        expected = names[frozenset(i for i, test in enumerate((word[:1] == b"a", word[-1:] == b"b")) if test)]
        assert product.label(word) == expected
    assert product.label(b"\xff") == -1
    check_trim(product)
    assert ops.equivalent(ops.label_product([], lambda found: 0), ANY_STRING)


@settings(max_examples=100, deadline=None)
@given(pattern, st.integers(0, 4), st.one_of(st.none(), st.integers(0, 4)))
def test_with_length(text: str, least: int, most: int | None) -> None:
    dfa = compile_pattern(text)
    bounded = ops.with_length(dfa, least, most)
    top = 99 if most is None else most
    assert members(bounded) == {word for word in members(dfa) if least <= len(word.decode()) <= top}
    check_trim(bounded)


LENGTHS = [
    "^(ab)*$",
    "^(ab|c)*$",
    "^a{2,5}$",
    "^a(bcd)?$",
    "^(a|bb|cccc)$",
    "^é{3}|x$",
    "^(é|😀)*a?$",
    "^.{0,3}$",
    "^(abc|de|f)+$",
    "^(ab)*c?$",
    "^(aaa|aa)*$",
    "^x(aaa|aa)*$",
    "^((ab)*c|d)$",
]


@pytest.mark.parametrize("text", LENGTHS)
def test_lengths_by_enumeration(text: str) -> None:
    """Counts to acceptance up to a horizon, found by walking the automaton."""
    dfa = compile_pattern(text)
    least, most = dfa.char_bounds
    horizon = 12
    interval = True
    for state in range(dfa.n_states):
        reach = {state}
        found = set()
        for count in range(horizon + 1):
            # continuation bytes belong to the character that has begun
            while True:
                more = {dfa.step(s, byte) for s in reach for byte in range(0x80, 0xC0)} - {-1} | reach
                if more == reach:
                    break
                reach = more
            if any(dfa.labels[s] >= 0 for s in reach):
                found.add(count)
            reach = {dfa.step(s, byte) for s in reach for byte in [*range(0x80), *range(0xC0, 0x100)]} - {-1}
        unbounded = bool(reach)
        assert least[state] == min(found)
        assert most[state] == (-1 if unbounded else max(found))
        top = horizon if unbounded else max(found)
        interval = interval and (max(found) < top or found >= set(range(min(found), top + 1)))
        interval = interval and (not unbounded or found >= set(range(min(found), horizon + 1)))
    assert dfa.has_interval_lengths == interval


@settings(max_examples=60, deadline=None)
@given(st.lists(st.binary(max_size=5), max_size=12))
def test_word_lists(listed: list[bytes]) -> None:
    dfa = ops.from_words(listed)
    expected = sorted(set(listed))
    assert ops.words(dfa, 100) == expected
    assert ops.count_words(dfa, 100) == len(expected)
    if expected:
        check_trim(dfa)
        assert ops.words(dfa, len(expected) - 1) is None
        assert ops.shortest_word(dfa) == min(expected, key=lambda word: (len(word), word))
        assert ops.sample(dfa, random.Random(1)) in expected
    else:
        assert ops.shortest_word(dfa) is None


def test_word_lists_share_suffixes() -> None:
    dfa = ops.from_words([prefix + b"-suffix" for prefix in (b"a", b"b", b"cc")])
    assert dfa.n_states == 10
    assert ops.words(ops.from_words([bytes([i]) for i in range(256)]), 256) == [bytes([i]) for i in range(256)]


@pytest.mark.parametrize("text", PATTERNS)
def test_samples_are_words(text: str) -> None:
    dfa = compile_pattern(text)
    if dfa.is_empty:
        with pytest.raises(ValueError, match="no word"):
            ops.sample(dfa, random.Random(0))
        return
    rng = random.Random(5)
    assert all(dfa.accepts(ops.sample(dfa, rng)) for _ in range(50))


def test_counts_of_infinite_languages() -> None:
    assert ops.count_words(compile_pattern("^a*$"), 1000) == 1000
    assert ops.words(compile_pattern("^a*$"), 1000) is None
    assert ops.count_words(compile_pattern("^[a-z]{3}$"), 10**6) == 26**3


def test_limits() -> None:
    small = Limits(max_states=50)
    a, b = compile_pattern("^(.{7})*$"), compile_pattern("^(.{11})*$")
    for act in (
        lambda: ops.intersect(a, b, small),
        lambda: ops.with_length(ANY_STRING, 0, 99, small),
        lambda: ops.from_words([b"x" * 99], small),
    ):
        with pytest.raises(LimitError) as caught:
            act()
        assert caught.value.limit == "max_states"


@settings(max_examples=40, deadline=None)
@given(pattern, pattern)
def test_large_products_are_those_of_small_ones(first: str, second: str) -> None:
    """States a frontier at a time, against states one by one."""
    a, b = compile_pattern(first), compile_pattern(second)
    found = []
    for few in (0, 10**9):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ops, "_FEW_CELLS", few)
            found.append([ops.intersect(a, b), ops.union(a, b), ops.difference(a, b)])
            labelled = ops.label_product([a, b], lambda members: sum(2**i for i in members))
        assert all(labelled.label(word) == a.accepts(word) + 2 * b.accepts(word) for word in WORDS[:200])
    for large, small in zip(*found, strict=True):
        check_trim(large)
        assert large.n_states == small.n_states and ops.equivalent(large, small)


def test_long_chains_are_trimmed_and_merged() -> None:
    """Many breadths of few states, some of which lead nowhere."""
    chain = compile_pattern("^a{3000}$", limits=Limits(max_states=100_000))
    either = ops.union(chain, compile_pattern("^a{2999}b$", limits=Limits(max_states=100_000)))
    assert ops.minimal(either).n_states == 3001
    assert ops.difference(either, chain).n_states == 3001
    assert ops.intersect(either, compile_pattern("^a{2000,2500}$", limits=Limits(max_states=100_000))).is_empty


def test_minimal_automata() -> None:
    dfa = compile_pattern("^(?:a(?:x|yy?)|b(?:x|yy?))$")
    assert ops.minimal(dfa).n_states == 4 and ops.equivalent(ops.minimal(dfa), dfa)
    relabelled = ops.relabel(dfa, dfa.labels * 0 - 1)
    assert relabelled.is_empty
