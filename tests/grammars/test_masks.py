"""Masks under grammars: the kernels against the interpreter with shared stacks, and the time that long texts take."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

import pytest

import constrain
from constrain import Grammar, GrammarError, LimitError, compile_gbnf, compile_lark
from constrain.automata.grammar import symbol
from constrain.automata.recogniser import Reading, Recogniser

from .random_lark import RandomGrammar
from .support import CONTROL, EOS, VOCABULARY, mask
from .test_examples import EXAMPLES, VALID

LIKELY = [t for t in range(EOS) if set(VOCABULARY.token_bytes(t) or b"\0") <= set(b'ab01+(),xif n{}[]":')]


def reference(recogniser: Recogniser, reading: Reading, symbols: tuple[int, ...]) -> set[int]:
    """Tokens whose bytes, or whose symbol, the interpreter can read one by one; the EOS where the text may end."""
    after: dict[bytes, Reading | None] = {b"": reading}

    def replay(data: bytes) -> Reading | None:
        if data not in after:
            before = replay(data[:-1])
            after[data] = None if before is None else recogniser.advance(before, data[-1])
        return after[data]

    allowed = {EOS} if recogniser.is_accepting(reading) else set()
    for token in range(EOS):
        data = VOCABULARY.token_bytes(token)
        if data and replay(data) is not None:
            allowed.add(token)
    return allowed | {token for token in symbols if recogniser.advance(reading, symbol(token)) is not None}


def walk(grammar: Grammar, rng: random.Random, steps: int, name: str) -> None:
    recogniser, matcher = Recogniser(grammar.root), grammar.matcher(max_rollback=None)
    reading, written = recogniser.start(), b""
    trail: list[tuple[Reading, bytes]] = []
    for _ in range(steps):
        expected = reference(recogniser, reading, grammar.symbols)
        assert mask(matcher) == expected, f"{name} after {written!r}"
        assert expected, f"{name}: dead end after {written!r}"
        assert matcher.is_accepting() == (EOS in expected)
        likely = [token for token in LIKELY if token in expected]
        token = rng.choice(likely if likely and rng.random() < 0.8 else sorted(expected))
        if token == EOS:
            break
        for other in rng.sample(range(VOCABULARY.size), 3):
            assert matcher.allows(other) == (other in expected)
        assert matcher.accept_token(token)
        trail.append((reading, written))
        data: bytes | tuple[int, ...] = VOCABULARY.token_bytes(token) or (symbol(token),)
        for byte in data:
            following = recogniser.advance(reading, byte)
            assert following is not None
            reading = following
        written += VOCABULARY.token_bytes(token) or b"<>"
        if rng.random() < 0.1:
            back = rng.randint(1, len(trail))
            matcher.rollback(back)
            reading, written = trail[-back]
            del trail[-back:]


def random_walks(seeds: range, steps: int) -> None:
    for seed in seeds:
        rng = random.Random(seed)
        try:
            grammar = compile_lark(RandomGrammar.make(rng).text(), VOCABULARY)
        except GrammarError:
            continue
        for _ in range(2):  # the second meets masks that the first has left in the cache
            try:
                walk(grammar, rng, steps, f"seed {seed}")
            except LimitError as error:
                assert error.limit == "max_threads"


def test_masks_are_the_interpreters_on_random_grammars() -> None:
    random_walks(range(25), 15)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(8))
def test_masks_are_the_interpreters_on_many_random_grammars(block: int) -> None:
    random_walks(range(100 + 40 * block, 140 + 40 * block), 40)


@pytest.mark.parametrize("name", VALID)
def test_masks_are_the_interpreters_on_the_examples(name: str) -> None:
    grammar = compile_lark((EXAMPLES / f"{name}.lark").read_text(encoding="utf-8"), VOCABULARY)
    walk(grammar, random.Random(3), 12, name)


@pytest.mark.parametrize("name", VALID)
def test_valid_texts_are_taken_in_any_tokens(name: str) -> None:
    grammar = compile_lark((EXAMPLES / f"{name}.lark").read_text(encoding="utf-8"), VOCABULARY)
    rng = random.Random(4)
    for text in VALID[name]:
        rest = text.encode()
        matcher = grammar.matcher()
        while rest:
            fitting = [t for t in range(EOS) if (data := VOCABULARY.token_bytes(t)) and rest.startswith(data)]
            token = rng.choice(fitting)
            assert matcher.accept_token(token), (text, rest)
            rest = rest[len(VOCABULARY.token_bytes(token) or b"") :]
        assert matcher.is_accepting()


def test_a_root_that_calls_itself_has_the_same_mask_and_acceptance() -> None:
    grammar = compile_gbnf('root ::= "(" root ")" | root "x" | "n"', VOCABULARY)
    matcher = grammar.matcher()
    for byte in b"((nx)xx)":
        assert byte in mask(matcher)
        assert matcher.accept_token(byte)
    assert matcher.is_accepting() and mask(matcher) == {ord("x"), EOS}


def test_symbols_between_grammar_rules() -> None:
    grammar = compile_lark("start: (<tool_call> WORD </tool_call> | WORD)+\nWORD: /[a-z]+/", VOCABULARY)
    for seed in range(4):
        walk(grammar, random.Random(seed), 20, "symbols")
    assert CONTROL["<tool_call>"] in mask(grammar.matcher())


LONG: dict[str, tuple[str, Callable[[int], bytes]]] = {
    "ambiguous": ('start: start "+" start | "n"', lambda n: b"n" + b"+n" * n),
    "left-recursive": ((EXAMPLES / "arithmetic.lark").read_text(encoding="utf-8"), lambda n: b"a" + b"+b*2" * (n // 2)),
    "right-recursive": ('start: "n" "+" start | "n"', lambda n: b"n" + b"+n" * n),
    "any split": ('start: start start | "a"', lambda n: b"a" * 2 * n),
    "nested": ('start: "(" start ")" | "n"', lambda n: b"(" * n + b"n" + b")" * n),
    "words in a row": ('start: x+\nx: W W "." | "(" x ")"\nW: /[a-z]+/', lambda n: (b"a" * 30 + b".") * (n // 15)),
}


@pytest.mark.parametrize("name", LONG)
def test_the_time_of_a_text_is_linear(name: str) -> None:
    text, make = LONG[name]
    grammar = compile_lark(text, VOCABULARY)

    def seconds(n: int) -> float:
        data = make(n)
        best = 1e9
        for _ in range(3):
            matcher = grammar.matcher()
            start = time.thread_time()
            assert all(matcher.accept_token(byte) for byte in data)
            assert matcher.is_accepting()
            best = min(best, time.thread_time() - start)
        return best

    seconds(50)
    assert seconds(2000) < 3 * 8 * seconds(250)


def test_readings_that_cannot_be_shared_reach_a_limit_and_no_wrong_answer() -> None:
    grammar = compile_gbnf('root ::= "a" root | "a" root "b" | "c"', VOCABULARY)
    matcher = grammar.matcher()
    taken = 0
    with pytest.raises(LimitError, match="max_threads"):
        for byte in b"a" * 2000 + b"c" + b"b" * 2000:
            assert matcher.accept_token(byte)
            taken += 1
    assert taken > 60
    assert grammar.accepts("a" * 40 + "c" + "b" * 40)


def test_the_mask_of_a_release_is_free() -> None:
    """A forced token that does not fit releases a grammar as it does any constraint."""
    matcher = compile_gbnf('root ::= "a"+', VOCABULARY).matcher()
    row = constrain.allocate_token_bitmask(1, VOCABULARY.size)
    matcher.force_token(ord("z"))
    assert not matcher.fill_next_token_bitmask(row)


TWINS = 'root ::= x\nx ::= "a" y "b"? | "a" x "c"? | "d"\ny ::= "a" x "e"? | "a" y "f"? | "d"'
"""Every `a` doubles the ways in which the text can go on, but not the places where it can."""


def test_frames_that_many_ways_lead_back_to_are_returned_to_once() -> None:
    grammar = compile_gbnf(TWINS, VOCABULARY)
    matcher = grammar.matcher()
    assert all(matcher.accept_token(byte) for byte in b"a" * 200 + b"d" + b"bfce" * 20)
    assert {ord(c) for c in "bcef"} | {EOS} == mask(matcher)
    with pytest.raises(LimitError, match="max_threads"):  # the frames to return to are bounded as readings are
        deep = grammar.matcher()
        assert all(deep.accept_token(byte) for byte in b"a" * 2000 + b"d" + b"b" * 1000)
        mask(deep)


def test_rules_that_begin_with_each_other_in_many_ways_reach_a_limit() -> None:
    """2**18 ways from the root to the letter x, through rules too large to be written out."""
    long = " root ".join(f'"{i}"' for i in range(40))
    rules = ["root ::= r0", 'r18 ::= "x" | "y" root', 'q18 ::= "x" | "z" root']
    for i in range(18):
        rules += [f'r{i} ::= r{i + 1} "a" | q{i + 1} "b" | "({i}" {long}']
        rules += [f'q{i} ::= r{i + 1} "c" | q{i + 1} "d" | "[{i}" {long}']
    matcher = compile_gbnf("\n".join(rules), VOCABULARY).matcher()
    start = time.thread_time()
    with pytest.raises(LimitError, match="max_threads"):
        matcher.accept_token(ord("x"))
    assert time.thread_time() - start < 5
