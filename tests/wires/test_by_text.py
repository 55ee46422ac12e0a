"""Calls that begin with text, in vocabularies that lack a format's control tokens."""

from __future__ import annotations

import random

import pytest

import constrain
from constrain.automata.oracle import Oracle

from .support import EOS, VOCABULARY, WEATHER, WIDTH, Scene, id_of, make_vocabulary, mask_of, tokens_of

BARE = make_vocabulary(without=("<tool_call>", "</tool_call>", "<think>", "</think>"))
CALL = '<tool_call>{"name": "get_weather", "arguments": {"location": "x"}}</tool_call>'
LLAMA = '{"name": "get_weather", "parameters": {"location": "x"}}'


def scene(text: str = "", wire: str = "qwen", **options) -> Scene:
    return Scene(wire, [WEATHER], text, vocabulary=BARE, text_arming=True, **options)


def test_it_is_an_option() -> None:
    idle = Scene("qwen", [WEATHER], "<tool_call>x", vocabulary=BARE)
    assert not idle.matcher.is_constraining
    with pytest.raises(constrain.VocabularyError, match="no control token"):
        constrain.compile_tools([WEATHER], BARE, "qwen", tool_choice="required")
    demanded = scene(tool_choice="required")
    assert demanded.first() == {"<"} and demanded.takes(CALL) and not demanded.takes("<t>")


def test_free_text_stays_free() -> None:
    free = scene("Hello < <tool")
    mask = mask_of(free.matcher)
    assert {id_of(b"Hello"), id_of(b"></"), id_of("[TOOL_CALLS]"), EOS, WIDTH - 1, 0} <= mask
    free.write("_calls> {")
    assert free.matcher.is_accepting() and not free.matcher.in_call


@pytest.mark.parametrize("seed", range(6))
def test_the_text_of_a_marker_begins_a_call_however_it_is_split(seed: int) -> None:
    one = scene()
    tokens = tokens_of(one.automaton, "Well.\n" + CALL[:-4], random.Random(seed))
    assert one.matcher.accept_tokens(tokens) == len(tokens)
    assert one.matcher.in_call and one.first() == {"a"} and not one.matcher.is_accepting()
    one.write("all>")
    assert not one.matcher.in_call and one.matcher.is_accepting()


def test_tokens_that_complete_a_marker_must_go_on_as_a_call() -> None:
    one = scene("Hm <tool_call")
    assert one.allows(b">", b">\n", b"><", b'">') == [True, True, True, True]  # the last completes no marker
    one.write("><function=get_weather")
    assert one.allows(b"></", b">\n") == [False, True]


def test_masks_are_those_of_the_interpreter() -> None:
    one, rng = scene(), random.Random(5)
    oracle = Oracle(one.automaton.root)
    threads = oracle.start()
    for token in tokens_of(one.automaton, f"a <tool_ {CALL}\n<tool_call>\n<function=get_weather>", rng):
        expected = set()
        for other in range(256 + 90):
            data = BARE.token_bytes(other)
            found = threads if data else []
            for byte in data or b"":
                found = oracle.advance(found, byte)
            if found:
                expected.add(other)
        bytes_of = {t for t in mask_of(one.matcher) if BARE.token_bytes(t) is not None}
        assert bytes_of == expected
        assert one.matcher.accept_token(token)
        for byte in BARE.token_bytes(token) or b"":
            threads = oracle.advance(threads, byte)


def test_code_and_reasoning_are_passed_by() -> None:
    one = scene("```\n<tool_call> no\n```\n")
    assert not one.matcher.in_call
    one.write("<tool_call>")
    assert one.matcher.in_call
    thinking = scene("<think> <tool_call> hm </think>")
    assert not thinking.matcher.in_call and not thinking.takes("<tool_call>x")


def test_at_most_one_call_by_text() -> None:
    one = scene(CALL + " and <tool_call", parallel=False)
    assert one.allows(b">") == [False] and one.takes("s>")


def test_calls_without_any_marker() -> None:
    one = Scene("llama3", [WEATHER], text_arming=True)
    assert one.takes("Hello {") and one.takes(f"{LLAMA}; {LLAMA} and more")
    assert not one.takes('{"name": "other"') and not one.takes('\n{ "name": 1')
    one.write('See {"name": 1}.')
    assert not one.matcher.in_call
    one.write("<|python_tag|>")
    assert one.matcher.in_call and one.first() >= {"{"}
    after = Scene("llama3", [WEATHER], LLAMA, text_arming=True)
    assert after.matcher.is_accepting() and not after.takes('; {"name": "x')


def test_a_demanded_call_waits_for_reasoning_that_ends_in_text() -> None:
    one = scene("hm <tool_call> </think", tool_choice="required", reasoning="inside")
    mask = mask_of(one.matcher)
    assert not mask & set(one.matcher.stop_token_ids) and id_of("[TOOL_CALLS]") in mask
    assert one.allows(b">", b">\n", b"></", b'">') == [True, True, False, True]
    one.write(">\n\n")
    assert one.first() == {" ", "\t", "\r", "<"}
    one.write(CALL)
    assert one.matcher.is_accepting() and one.matcher.accept_token(EOS)
    one.matcher.rollback(2)
    assert one.first() == {">"}


def test_reasoning_that_is_text_holds_calls_by_token_back() -> None:
    vocabulary = make_vocabulary(without=("<think>", "</think>"))
    one = Scene("hermes", [WEATHER], "<think>hm <tool_call> </thi", vocabulary=vocabulary)
    assert not one.matcher.in_call
    one.write("nk>\n\n<tool_call>")
    assert one.matcher.in_call


def test_steps_are_taken_back() -> None:
    one = scene()
    text, masks = f"Hi {CALL}```\n<tool_call>```\n{CALL}", []
    for byte in text.encode():
        masks.append(mask_of(one.matcher))
        assert one.matcher.accept_token(byte)
    for step in reversed(range(len(masks))):
        one.matcher.rollback(1)
        assert mask_of(one.matcher) == masks[step]
    other = one.matcher.fork()
    assert other.accept_bytes(CALL.encode()) and mask_of(one.matcher) == masks[0]
    assert VOCABULARY.size == WIDTH


def test_texts_are_judged_as_replies() -> None:
    automaton = constrain.compile_tools([WEATHER], BARE, "qwen", text_arming=True)
    assert automaton.accepts(f"Hi. {CALL} Bye.") and not automaton.accepts(CALL[:-20])
    found = automaton.explain(CALL.replace('"x"', "1"))
    assert found is not None and found.pointer == "/get_weather/location"
