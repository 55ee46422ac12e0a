"""Old steps are dropped: what a matcher says stays the same, and what it takes does not grow with the output."""

from __future__ import annotations

import json
import random
import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import constrain
from constrain.automata import kernels
from constrain.automata import layout as at
from constrain.automata.compiled import Grammar
from constrain.automata.grammar import ArrayShape, Call, Frame, Layout, LayoutState, Select, Union, symbol
from constrain.automata.json_layouts import array_layout
from constrain.automata.matcher import Matcher

from .grammars import CLOSE, EOS, INTEGER, OPEN, STRING, SYMBOLS, byte_vocabulary, random_node
from .test_engine import LIKELY, VOCABULARIES, mask_of

VOCABULARY = byte_vocabulary()
GARBAGE = -987_654


class Eager(Matcher):
    """Drops and moves all that it can before every step, and spoils what lies behind it."""

    compactions = 0

    def accept_token(self, token_id: int) -> bool:
        arena = self._arena
        if arena[at.A_FLOOR] > arena[at.A_DROPPED] or arena[at.A_TOKENS] - at.RECENT > arena[at.A_THINNED]:
            kernels.operate(self._desc, kernels.DROP, 0, 0)
            self.compactions += self._compact()
            arena[arena[at.A_TOP] :] = GARBAGE
            self._text[1 + self._text_used :] = 255
            self._configs[int(arena[at.A_END]) * at.CW :] = GARBAGE
        return super().accept_token(token_id)


def walk(seed: int, steps: int) -> int:
    """A matcher that keeps all and one that drops steps take the same tokens. How often that dropped some."""
    rng = random.Random(seed)
    vocabulary = VOCABULARIES[seed % 2]
    grammar = Grammar(random_node(rng), vocabulary, symbols=SYMBOLS)
    likely = [t for t in range(EOS) if vocabulary.token_bytes(t) in LIKELY]
    most = rng.choice((0, 1, 2, 4, 50, None))
    whole, eager = Matcher(grammar, max_rollback=None), Eager(grammar, max_rollback=most)
    left, compactions = 0, 0  # left: what can be taken back in any case
    for number in range(steps):
        allowed = mask_of(whole)
        assert mask_of(eager) == allowed, f"seed {seed}, step {number}"
        assert eager.is_accepting() == whole.is_accepting() == (EOS in allowed)
        structural = [t for t in likely if t in allowed]
        tokens = structural if structural and rng.random() < 0.6 else sorted(allowed - {EOS})
        if not tokens:
            break
        token = rng.choice(tokens)
        for other in rng.sample(range(vocabulary.size), 3):
            assert eager.allows(other) == (other in allowed)
            assert other in allowed or not eager.accept_token(other)
        draft = [token, *(rng.choice(tokens) for _ in range(5))]
        assert eager.validate_tokens(draft) == whole.validate_tokens(draft)
        assert eager.forced_bytes(3) == whole.forced_bytes(3)
        assert whole.accept_token(token) and eager.accept_token(token)
        assert eager.steps == whole.steps
        left = left + 1 if most is None else min(left + 1, most)
        if rng.random() < 0.2:
            back = rng.randint(0, left)
            whole.rollback(back)
            eager.rollback(back)
            left -= back
        if rng.random() < 0.2:
            other_way = eager.fork()
            for token in sorted(mask_of(eager) - {EOS})[:1] * 3:
                eager.accept_token(token)  # the fork must not see it
            eager = other_way
        compactions = max(compactions, eager.compactions)
    return compactions


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 1 << 32))
def test_masks_are_those_of_a_matcher_that_keeps_all_steps(seed: int) -> None:
    walk(seed, 16)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1 << 32))
def test_masks_on_longer_walks(seed: int) -> None:
    """On these, states are read again."""
    walk(seed, 90)


def test_walks_do_drop_steps() -> None:
    assert sum(walk(seed, 16) for seed in range(8)) > 8


def test_every_step_can_be_taken_back() -> None:
    """Whatever is kept of it: also over control tokens and bytes that are one step, and again from there."""
    begin, end = (LayoutState(edges=((symbol(token), n),)) for token, n in ((OPEN, 1), (CLOSE, 3)))
    marked = Frame(Layout((begin, LayoutState(calls=(Call(Select.NODE, 2, INTEGER),)), end, LayoutState(final=True))))
    items = Frame(array_layout("compact"), ArrayShape((), Union((STRING, INTEGER, marked))))
    grammar = Grammar(items, VOCABULARY, symbols=SYMBOLS)
    for most in (None, 100):
        matcher, rng = Eager(grammar, max_rollback=most), random.Random(9)
        masks, steps = [mask_of(matcher)], []
        for _ in range(150):
            going_on = sorted(masks[-1] - {EOS, ord("]")})
            token = rng.choice([t for t in going_on if rng.random() < 0.1 or t in SYMBOLS or t < 128] or going_on)
            assert matcher.accept_token(token)
            steps.append(token)
            masks.append(mask_of(matcher))
        for count in range(100):
            other = matcher.fork()
            other.rollback(count)
            at_step = len(steps) - count
            assert mask_of(other) == masks[at_step] and other.steps == at_step
            assert other.accept_tokens(steps[at_step:]) == count
            assert mask_of(other) == masks[-1]


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_masks_on_many_random_walks(block: int) -> None:
    assert sum(walk(seed, 24) for seed in range(5000 + block * 100, 5100 + block * 100)) > 100


KEYS: Any = {"type": "object", "additionalProperties": {"type": ["integer", "array", "object"]}}
TEXTS: dict[str, tuple[Any, Any]] = {
    "records": (
        {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}},
        [{"a": i, f"key {i % 7}": "x" * (i % 17), "list": [i, [None]]} for i in range(40)],
    ),
    "additional keys": (KEYS, {f"key {i}": [i, {"a": "b"}] for i in range(50)}),
    "unique items": (
        {"type": "array", "uniqueItems": True, "items": {"type": ["array", "integer", "string"]}},
        [[i, str(i)] if i % 3 else i for i in range(50)],
    ),
    "unique items, nested": (
        {"type": "array", "items": {"type": "array", "uniqueItems": True}},
        [[i, [i, {"k": i}], "x"] for i in range(40)],
    ),
    "few values, all different": (
        {"items": {"type": "array", "uniqueItems": True, "items": {"enum": [1, 2, "ab"]}, "minItems": 3}},
        [[1, "ab", 2], [2, 1, "ab"]] * 15,
    ),
    "not all different": ({"items": {"type": "array", "not": {"uniqueItems": True}}}, [[1, 2, 1], [[], [], 3]] * 12),
    "a choice": (
        {"type": "array", "items": {"anyOf": [KEYS, {"type": "object", "properties": {"k": {"type": "string"}}}]}},
        [{"k": [i]} if i % 2 else {"k": f"text {i}", "m": 1} for i in range(40)],
    ),
    "members that decide together": (
        {"items": {"dependentRequired": {"a": ["b"]}, "oneOf": [{"required": ["a"]}, {"required": ["c"]}]}},
        [{"b": 1, "a": [1]}, {"c": {"a": 1}, "d": 2}] * 12,
    ),
}


@pytest.mark.parametrize("name", TEXTS)
def test_long_texts(name: str) -> None:
    """At each byte the masks agree, and after each the last steps can be taken back and taken again."""
    schema, value = TEXTS[name]
    grammar = constrain.compile_json_schema(schema, VOCABULARY)
    text = json.dumps(value).encode()
    whole, eager = Matcher(grammar, max_rollback=None), Eager(grammar, max_rollback=3)
    for position, byte in enumerate(text):
        if position % 3 == 0:
            allowed = mask_of(whole)
            assert byte in allowed and mask_of(eager) == allowed, text[:position]
        assert whole.accept_token(byte) and eager.accept_token(byte)
        if position % 11 == 5:
            eager.rollback(3)
            assert all(eager.accept_token(again) for again in text[position - 2 : position + 1])
    assert eager.is_accepting() and eager.compactions > len(text) // 2
    assert eager.fork().is_accepting()
    eager.reset()
    assert eager.steps == 0 and eager.accept_tokens(list(text)) == len(text) and eager.is_accepting()


def test_what_was_written_long_ago_still_counts() -> None:
    grammar = constrain.compile_json_schema(KEYS, VOCABULARY)
    matcher = Eager(grammar, max_rollback=1)
    for byte in json.dumps({f"key {i}": i for i in range(50)}).encode()[:-1]:
        assert matcher.accept_token(byte)
    assert not matcher.fork().accept_bytes(b', "key 0":')
    assert matcher.accept_bytes(b', "key 50":')
    matcher = Eager(constrain.compile_json_schema({"uniqueItems": True}, VOCABULARY), max_rollback=1)
    for byte in json.dumps([f"item {i}" for i in range(50)]).encode()[:-1]:
        assert matcher.accept_token(byte)
    assert not matcher.fork().accept_bytes(b', "item 0"')
    assert matcher.accept_bytes(b', "item 50"]')


def sizes(matcher: Matcher) -> tuple[int, ...]:
    return tuple(map(len, (matcher._arena, matcher._configs, matcher._history, matcher._text)))


FLAT: dict[str, tuple[Any, bytes, int]] = {
    "records": ({"type": "array", "items": {"type": "object"}}, b'{"a": [1, "some text"], "b": {"c": null}}, ', 256),
    "no rollback": ({"type": "array", "items": {"type": "object"}}, b'{"a": [1, "some text"], "b": {"c": null}}, ', 0),
    "one string": ({"type": "array", "items": {"type": "string"}}, b"a long string ", 256),
    "unique items": ({"type": "array", "items": {"uniqueItems": True}}, b'[1, "some text", [2, {"a": 3}]], ', 256),
    "additional keys": ({"type": "array", "items": KEYS}, b'{"a": 1, "b": [1, 2], "cde": {}}, ', 32),
}


@pytest.mark.parametrize("name", FLAT)
def test_what_a_matcher_takes_does_not_grow_with_the_output(name: str) -> None:
    """And it is at most 64 KB, and 64 bytes for each step that can be taken back."""
    schema, part, most = FLAT[name]
    grammar = constrain.compile_json_schema(schema, VOCABULARY)
    matcher = grammar.matcher(max_rollback=most)
    row = constrain.allocate_token_bitmask(1, VOCABULARY.size)
    early: tuple[int, ...] = ()
    text = b'["' if name == "one string" else b"["
    text += part * (200_000 // len(part))
    for position, byte in enumerate(text):
        if position % 97 == 0:
            matcher.fill_next_token_bitmask(row)
        assert matcher.accept_token(byte), position
        if position == 50_000:
            early = sizes(matcher)
    assert sizes(matcher) == early
    assert matcher.nbytes <= 64_000 + 64 * most
    assert matcher.steps == len(text)
    matcher.rollback(most)
    assert matcher.steps == len(text) - most


def test_a_matcher_at_rest_is_small() -> None:
    grammar = constrain.compile_json_schema({"type": "array"}, VOCABULARY)
    matcher = grammar.matcher()
    mask_of(matcher)
    assert matcher.nbytes < 56_000
    whole = grammar.matcher(max_rollback=None)
    assert matcher.accept_bytes(b"[" + b"1, " * 1000) and whole.accept_tokens(list(b"[" + b"1, " * 1000)) == 3001
    whole.rollback(3000)
    assert whole.steps == 1 and len(mask_of(whole)) > 1


def test_many_additional_keys_take_what_they_need() -> None:
    grammar = constrain.compile_json_schema(KEYS, VOCABULARY)
    matcher = grammar.matcher(max_rollback=16)
    text = json.dumps({f"key {i:04}": [i, {}] for i in range(1000)}).encode()
    for byte in text:
        assert matcher.accept_token(byte)
    assert int(matcher._arena[at.A_TOP]) - at.ARENA < 1000 * 8 + 8000, "a key of 8 bytes is 7 ints"
    assert not matcher.fork().accept_bytes(b', "key 0007":')


def test_steps_that_were_dropped_cannot_be_taken_back() -> None:
    matcher = Eager(constrain.compile_json_schema({"type": "string"}, VOCABULARY), max_rollback=2)
    for byte in b'"abcdefgh':
        assert matcher.accept_token(byte)
    steps = matcher.steps
    matcher.rollback(2)
    assert matcher._kept(2) == 1  # what can be taken back in any case is 0; the last step was not dropped yet
    with pytest.raises(ValueError, match="cannot roll back 2 steps: 1 are available"):
        matcher.rollback(2)
    assert matcher.steps == steps - 2 and matcher.accept_token(ord('"')) and matcher.is_accepting()
    matcher.reset()
    assert matcher.steps == 0 and matcher.accept_bytes(b'"a"')


def test_drafts_of_any_length_are_taken_back() -> None:
    """Also where there are more tokens in a draft than steps are kept."""
    text = list(json.dumps([{"a": i} for i in range(200)]).encode())
    grammar = constrain.compile_json_schema({"type": "array", "items": {"type": "object"}}, VOCABULARY)
    matcher = grammar.matcher(max_rollback=1)
    bitmask = constrain.allocate_token_bitmask(len(text) + 1, VOCABULARY.size)
    for start in (0, 700):
        assert matcher.accept_tokens(text[:start]) == start
        before = mask_of(matcher)
        assert matcher.validate_tokens(text[start:]) == len(text) - start
        assert matcher.fill_draft_bitmasks(text[start:], bitmask) == len(text) + 1 - start
        assert mask_of(matcher) == before and matcher.steps == start
        assert np.flatnonzero(np.unpackbits(bitmask[0].view(np.uint8), bitorder="little")).tolist() == sorted(before)
    assert matcher.accept_tokens(text[700:]) == len(text) - 700 and matcher.is_accepting()


def test_many_threads_take_turns_with_the_workspaces() -> None:
    grammar = constrain.compile_json_schema({"type": "array", "items": KEYS}, VOCABULARY)
    text = json.dumps([{f"k{i}": [i, {"a": None}], "b": i} for i in range(20)]).encode()
    expected, wrong = [], []
    matcher = grammar.matcher()
    for byte in text:
        expected.append(mask_of(matcher))
        matcher.accept_token(byte)

    def run(number: int) -> None:
        VOCABULARY.resize_mask_cache(1 << 14)  # nothing is found there for long
        mine = Eager(grammar, max_rollback=number)
        for byte, allowed in zip(text, expected, strict=True):
            if mask_of(mine) != allowed or not mine.accept_token(byte):
                wrong.append((number, mine.steps))

    threads = [threading.Thread(target=run, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    VOCABULARY.resize_mask_cache(1 << 20)
    assert not wrong


def test_sessions_and_drafts() -> None:
    text = list(json.dumps([{"a": i} for i in range(100)]).encode())
    grammar = constrain.compile_json_schema({"type": "array", "items": {"type": "object"}}, VOCABULARY)
    session = constrain.Session(grammar, max_rollback=1, stop=["never"])
    assert session.accept_tokens(text[:400]) == 400
    assert session.validate_tokens(text[400:]) == len(text) - 400
    assert session.steps == 400 and len(session._ways.past) <= 66 and len(session._texts) <= 67
    session.rollback(1)
    assert session.steps == 399
    with pytest.raises(ValueError, match="cannot roll back 2 steps"):
        session.rollback(2)
    assert session.accept_tokens(text[399:]) == len(text) - 399 and session.is_accepting()


def test_a_session_takes_back_no_more_than_its_matcher_keeps() -> None:
    grammar = constrain.compile_json_schema({"type": "array"}, VOCABULARY)
    session = constrain.Session(grammar.matcher(max_rollback=2))
    assert session.accept_tokens(list(b"[1, 2, 3")) == 8
    with pytest.raises(ValueError, match="cannot roll back 3 steps: 2 are available"):
        session.rollback(3)
