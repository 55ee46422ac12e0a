"""What lies outside calls: when a call begins, what is masked before and after, and taking steps back."""

from __future__ import annotations

import random

import numpy as np
import pytest

import constrain

from .support import CONTROLS, EOS, VOCABULARY, WEATHER, WIDTH, Scene, id_of, make_vocabulary, mask_of, tool, units

PING = tool("ping", {})
EVERYTHING = set(range(WIDTH))
CODER_CALL = "<tool_call>\n<function=get_weather>\n<parameter=location>\nx\n</parameter>\n</function>\n</tool_call>"
JSON_CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"location": "x"}}\n</tool_call>'


def is_idle(scene: Scene) -> bool:
    matcher = scene.matcher
    bitmask = np.full((1, (WIDTH + 31) // 32), 7, np.int32)
    constrained = matcher.fill_next_token_bitmask(bitmask)
    assert constrained == matcher.is_constraining
    assert constrained or (bitmask == -1).all()
    return not constrained


@pytest.mark.parametrize("wire", ["hermes", "qwen3_coder", "qwen", "gemma4", "mistral_v11", "kimi_k2"])
def test_free_text_is_left_alone(wire: str) -> None:
    scene = Scene(wire, [WEATHER], "Hello. {")
    rng = random.Random(1)
    opener = scene.automaton.plan.watch.arms
    for _ in range(300):
        assert is_idle(scene)
        token = rng.choice([t for t in range(WIDTH) if t not in opener and t not in scene.matcher.stop_token_ids])
        assert scene.matcher.accept_token(token)


def test_only_the_token_begins_a_call() -> None:
    scene = Scene("qwen3_coder", [WEATHER])
    for byte in b"<tool_call><function=get_weather>":
        assert scene.matcher.accept_token(byte)
    assert is_idle(scene)
    scene.write("<tool_call>")
    assert not is_idle(scene)


def test_control_tokens_may_have_any_id() -> None:
    tokens = [None, *(bytes([b]) for b in range(256))]
    vocabulary = constrain.Vocabulary.from_tokens(tokens, {"<tool_call>": 0, "<eos>": 257}, eos_token_ids=[257])
    automaton = constrain.compile_tools([PING], vocabulary, "hermes")
    matcher = automaton.matcher()
    assert matcher.accept_token(0) and matcher.is_constraining
    # the vocabulary has no token for the close, so it is text; token 0 does not end the call
    assert matcher.accept_bytes(b'{"name": "ping", "arguments": {}}')
    assert not matcher.allows(0) and matcher.accept_bytes(b"\n</tool_call>")
    assert not matcher.is_constraining and matcher.is_accepting()


def test_without_the_token_no_call_begins() -> None:
    vocabulary = make_vocabulary(without=("<tool_call>",))
    automaton = constrain.compile_tools([PING], vocabulary, "hermes")
    assert any("no call can begin" in f.reason for f in automaton.report.having("note"))
    matcher = automaton.matcher()
    assert matcher.accept_tokens([*b"<tool_call>{"]) == 12 and not matcher.is_constraining
    with pytest.raises(constrain.VocabularyError, match="<tool_call>"):
        constrain.compile_tools([PING], vocabulary, "hermes", tool_choice="required")


def test_merged_tokens_cannot_skip_what_is_required() -> None:
    scene = Scene("qwen3_coder", [WEATHER], "<tool_call>\n<function=get_weather")
    assert scene.allows(b">", b">\n", b"><") == [True, True, True]
    assert scene.allows(b"></", b"></function>", b'">') == [False, False, False]
    assert Scene("qwen3_coder", [PING], "<tool_call>\n<function=ping").allows(b"></", b"></function>") == [True, True]
    scene = Scene("hermes", [WEATHER], '<tool_call>{"name": "get_weather", "arguments')
    assert scene.allows(b'":', b'":{"') == [True, True] and scene.allows(b'":""', b'":[') == [False, False]
    scene.write('":')
    assert scene.allows(b"{}", b" {}", b"{", b'{"') == [False, False, True, True]


def test_names_with_a_common_beginning() -> None:
    tools = [tool("get", {"a": {"type": "integer"}}, ("a",)), tool("get_weather", {})]
    scene = Scene("gemma4", tools, "<|tool_call>call:get")
    assert scene.allows(b"{}", b"_weather") == [False, True] and scene.first() == {"{", "_"}
    scene.write("_weather")
    assert scene.allows(b"{}") == [True] and scene.first() == {"{"}


@pytest.mark.parametrize("text", [CODER_CALL, JSON_CALL])
def test_every_split_of_a_call_gives_the_same_states(text: str) -> None:
    automaton = constrain.compile_tools([WEATHER], VOCABULARY, "qwen")
    whole = automaton.matcher()
    for unit in units(automaton, text[: text.rindex("\n")]):
        assert whole.accept_token(unit)
    expected = mask_of(whole)
    for seed in range(10):
        from .support import tokens_of

        matcher = automaton.matcher()
        tokens = tokens_of(automaton, text[: text.rindex("\n")], random.Random(seed))
        assert matcher.accept_tokens(tokens) == len(tokens)
        assert mask_of(matcher) == expected


def test_names_are_those_of_the_tools() -> None:
    for wire, head in (
        ("hermes", '<tool_call>{"name": "'),
        ("qwen3_coder", "<tool_call><function="),
        ("gemma4", "<|tool_call>call:"),
    ):
        scene = Scene(wire, [WEATHER, PING], head)
        assert scene.first() - {"\\"} == {"g", "p"}
        assert not scene.takes("other")


def test_calls_follow_calls() -> None:
    scene = Scene("qwen3_coder", [WEATHER], CODER_CALL)
    assert is_idle(scene) and scene.takes("<function=")
    scene.write("\nand\n<tool_call><function=get_weather>")
    assert not scene.takes("</function>")
    scene.write("<parameter=location>x</parameter></function>\n<function=get_weather>")
    assert not scene.takes("</function>")
    scene.write("<parameter=location>y</parameter>")
    assert scene.takes("</function></tool_call>")


def test_one_token_may_end_a_call_and_begin_another() -> None:
    scene = Scene("qwen3_coder", [WEATHER], CODER_CALL[: CODER_CALL.index("</function>")])
    assert scene.allows(b"</function>\n<function=", b"</function>") == [True, True]
    assert scene.matcher.accept_token(id_of(b"</function>\n<function="))
    scene.write("get_weather")
    assert scene.allows(b"></", b">\n") == [False, True]


def test_closing_tokens_may_go_on_as_models_write_them() -> None:
    scene = Scene("hermes", [WEATHER], '<tool_call>{"name": "get_weather", "arguments": {"location": "x')
    assert scene.allows(b'"}}\n', b'"}}', b'"}', b'"}\n') == [True] * 4
    scene.write('"}}')
    assert scene.first() == set(" \t\r\n") and scene.allows("</tool_call>") == [True]
    scene = Scene("qwen3_coder", [PING], "<tool_call><function=ping></function")
    assert scene.allows(b">\n", b">") == [True, True]
    assert scene.first() == {">"}


def test_the_arguments_come_after_the_name() -> None:
    scene = Scene("hermes", [WEATHER], '<tool_call>{"')
    assert scene.first() == {"n"}
    assert not scene.takes('arguments"')


def test_calls_in_reasoning_are_none() -> None:
    scene = Scene("hermes", [WEATHER], "<think>maybe <tool_call>")
    assert is_idle(scene)
    scene.write("{ no </think>\n\n<tool_call>")
    assert not is_idle(scene)
    inside = Scene("hermes", [WEATHER], "hm <tool_call>", reasoning="inside")
    assert is_idle(inside)
    inside.write("</think><tool_call>")
    assert not is_idle(inside)


def test_calls_in_code_are_none() -> None:
    text = "Like this:\n```xml\n<tool_call>"
    assert is_idle(Scene("hermes", [WEATHER], text))
    assert not is_idle(Scene("hermes", [WEATHER], text, code_fences=False))
    assert not is_idle(Scene("hermes", [WEATHER], "Like this:\n```xml\nx\n```\n<tool_call>"))
    assert not is_idle(Scene("hermes", [WEATHER], "not a fence ```\n<tool_call>"))
    assert is_idle(Scene("hermes", [WEATHER], "  ```\n<tool_call>"))
    assert not is_idle(Scene("hermes", [WEATHER], "    ```\n<tool_call>"))


def test_fences_and_reasoning_inside_arguments_change_nothing() -> None:
    scene = Scene.in_call("qwen3_coder", "<parameter=location>\n```\n")
    assert scene.matcher.accept_bytes(b"</think>")  # in text; the token cannot stand here
    scene.write("\n</parameter></function></tool_call>")
    assert is_idle(scene)
    scene.write("<tool_call>")
    assert not is_idle(scene)


@pytest.mark.parametrize("wire", ["hermes", "qwen3_coder", "gemma4", "kimi_k3", "harmony", "mistral_v11"])
def test_no_control_token_stands_in_a_string_and_no_padding_anywhere(wire: str) -> None:
    openings = {
        "hermes": JSON_CALL[: JSON_CALL.index('x"')],
        "qwen3_coder": CODER_CALL[: CODER_CALL.index("x\n")],
        "gemma4": '<|tool_call>call:get_weather{location:<|"|>',
        "kimi_k3": '<|open|>tools<|sep|><|open|>call tool="get_weather" index="1"<|sep|><|open|>argument key="location"'
        ' type="string"<|sep|>',
        "harmony": '<|channel|>commentary to=functions.get_weather<|message|>{"location": "',
        "mistral_v11": '[TOOL_CALLS]get_weather[ARGS]{"location": "',
    }
    scene = Scene(wire, [WEATHER], openings[wire])
    mask = mask_of(scene.matcher)
    closers = {"gemma4": {id_of('<|"|>')}, "kimi_k3": {id_of("<|close|>")}}.get(wire, set())
    assert mask & {id_of(text) for text in CONTROLS} == closers
    assert not mask & set(range(EOS, WIDTH)) and 0 not in mask and id_of(b"a\x00") not in mask
    assert ord("<") in mask and id_of(b"Hello") in mask


# A demanded call -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "choice", ["required", "any", {"type": "any"}, {"type": "function", "function": {"name": "ping"}}]
)
@pytest.mark.parametrize(
    ("wire", "opener"), [("hermes", "<tool_call>"), ("qwen", "<tool_call>"), ("gemma4", "<|tool_call>")]
)
def test_a_demanded_call_comes_first(wire: str, opener: str, choice) -> None:
    scene = Scene(wire, [PING, WEATHER], tool_choice=choice)
    assert mask_of(scene.matcher) == {id_of(opener)} and not scene.matcher.is_accepting()
    assert not scene.matcher.accept_token(EOS)


def test_after_a_demanded_call_come_only_calls_or_the_end() -> None:
    scene = Scene("gemma4", [PING], "<|tool_call>call:ping{}<tool_call|>", tool_choice="required")
    stops = {EOS, id_of("<turn|>"), id_of("<|tool_response>")}
    assert mask_of(scene.matcher) == {*stops, id_of("<|tool_call>")}
    scene.write("<|tool_call>call:ping{}<tool_call|>")
    assert scene.matcher.accept_token(id_of("<|tool_response>")) and scene.matcher.is_terminated()
    single = Scene("gemma4", [PING], "<|tool_call>call:ping{}<tool_call|>", tool_choice="required", parallel=False)
    assert mask_of(single.matcher) == stops


def test_a_demanded_call_waits_for_the_end_of_the_reasoning() -> None:
    for mode in ("wait", True, "inside"):
        scene = Scene("qwen3_coder", [PING], "Let me see. <", tool_choice="required", reasoning=mode)
        # free, but for an end without the call
        assert mask_of(scene.matcher) == EVERYTHING - set(scene.matcher.stop_token_ids)
        assert not scene.matcher.is_accepting()
        scene.write("</think>")
        assert scene.allows("<tool_call>", b"\n\n", b"Hello") == [True, True, False]
        scene.write("\n\n<tool_call>\n<function=ping>\n</function>\n</tool_call>")
        assert scene.matcher.is_accepting()
    skipped = Scene("qwen3_coder", [PING], "<tool_call>", tool_choice="required", reasoning="wait")
    assert not skipped.takes("Hello") and skipped.takes("<function=ping>")


def test_a_named_tool_is_the_only_one() -> None:
    for choice in ("ping", {"type": "tool", "name": "ping"}, {"type": "function", "name": "ping"}):
        scene = Scene("hermes", [WEATHER, PING], '<tool_call>{"name": "', tool_choice=choice)
        assert scene.first() - {"\\"} == {"p"}
    for choice in ("pong", {"type": "tool", "name": "pong"}):
        with pytest.raises(constrain.RequestError, match="no tool named 'pong'"):
            constrain.compile_tools([PING], None, "hermes", tool_choice=choice)


def test_a_choice_among_some_of_the_tools() -> None:
    choice = {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "ping"}]}
    scene = Scene("hermes", [WEATHER, PING], '<tool_call>{"name": "', tool_choice=choice)
    assert scene.first() - {"\\"} == {"p"}


@pytest.mark.parametrize(
    ("choice", "field"),
    [
        (3, "tool_choice"),
        ({"type": None}, "tool_choice.type"),
        ({"type": "all"}, "tool_choice.type"),
        ({"type": "tool"}, "tool_choice.name"),
        ({"type": "function", "function": {"name": 1}}, "tool_choice.function.name"),
        ({"type": "allowed_tools", "tools": 1}, "tool_choice.tools"),
    ],
)
def test_choices_that_are_none(choice, field: str) -> None:
    with pytest.raises(constrain.RequestError) as caught:
        constrain.compile_tools([PING], None, "hermes", tool_choice=choice)
    assert caught.value.field == field


def test_a_call_cannot_be_demanded_without_tools() -> None:
    with pytest.raises(constrain.RequestError, match="no tools"):
        constrain.compile_tools([], None, "hermes", tool_choice="required")
    assert is_idle(Scene("hermes", [], "<tool_call>"))


@pytest.mark.parametrize("choice", ["none", {"type": "none"}])
def test_none_never_begins_a_call(choice) -> None:
    scene = Scene("qwen", [WEATHER], "<tool_call>\n<", tool_choice=choice)
    assert is_idle(scene) and scene.matcher.is_accepting()


@pytest.mark.parametrize("tools", [[WEATHER], []])
@pytest.mark.parametrize("wire", ["qwen", "deepseek_v31", "kimi_k2", "gemma4", "mistral_v11", "harmony", "kimi_k3"])
def test_none_may_forbid_what_begins_a_call(wire: str, tools) -> None:
    """J7: no token that begins a call, whatever was written; the rest of the reply is free."""
    scene = Scene(wire, tools, "", tool_choice="none", bar_calls=True)
    openers = [mark.text for one in scene.automaton.wires for mark in one.openers]
    texts = ["", "Hm", "Well.\n"] if wire not in ("harmony", "kimi_k3") else [""]
    for text in texts:
        after = Scene(wire, tools, text, tool_choice="none", bar_calls=True)
        for opener in openers:
            assert not Scene(wire, tools, text, tool_choice="none", bar_calls=True).takes(opener), (text, opener)
            assert not scene.automaton.accepts(text + opener)
        assert mask_of(after.matcher)
        forked = after.matcher.fork()
        assert [t for t in sorted(mask_of(after.matcher)) if not forked.allows(t)] == []
    if wire not in ("harmony", "kimi_k3"):
        assert scene.automaton.accepts("Hm.") and scene.takes("Hm.") and scene.matcher.is_accepting()
    free = Scene(wire, tools, "", tool_choice="none")
    assert is_idle(free)


def test_none_may_forbid_calls_in_formats_in_which_every_message_has_a_header() -> None:
    automaton = Scene("harmony", [WEATHER], "", tool_choice="none", bar_calls=True).automaton
    thought, answer = "<|channel|>analysis<|message|>Hm.<|end|>", "<|start|>assistant<|channel|>final<|message|>Yes."
    assert automaton.accepts(thought + answer) and automaton.accepts(answer.removeprefix("<|start|>assistant"))
    assert not automaton.accepts("<|channel|>commentary to=functions.get_weather<|message|>{}")


def test_none_may_forbid_the_text_of_an_opener() -> None:
    options = {"tool_choice": "none", "bar_calls": True, "text_arming": True}
    vocabulary = constrain.Vocabulary.from_tokens([bytes([b]) for b in range(256)], {"<eos>": 256}, [256])
    automaton = constrain.compile_tools([WEATHER], vocabulary, "qwen", **options)
    matcher = automaton.matcher()
    assert matcher.accept_bytes(b"a <tool_call") and not matcher.allows(ord(">")) and matcher.allows(ord(" "))
    assert matcher.accept_bytes(b" >") and matcher.is_accepting()
    assert automaton.accepts("a <tool_call >") and not automaton.accepts("a <tool_call>")


def test_at_most_one_call() -> None:
    for options in ({"parallel": False}, {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}}):
        scene = Scene("qwen", [WEATHER], JSON_CALL + "\nthen ", **options)
        assert EVERYTHING - mask_of(scene.matcher) == {id_of("<tool_call>")}
        assert not scene.matcher.accept_token(id_of("<tool_call>")) and scene.matcher.accept_token(EOS)
    scene = Scene("qwen3_coder", [PING], "<tool_call><function=ping></function>", parallel=False)
    assert not scene.takes("<function=") and scene.takes("</tool_call>")
    assert not scene.automaton.accepts(CODER_CALL * 2)


# The matcher ---------------------------------------------------------------------------------------------------------


def test_steps_can_be_taken_back_across_calls() -> None:
    automaton = constrain.compile_tools([WEATHER], VOCABULARY, "qwen")
    matcher, rng = automaton.matcher(max_rollback=None), random.Random(3)
    tokens = units(automaton, f"Hm.\n{JSON_CALL}\n```\n{CODER_CALL}\n```\n<think>{JSON_CALL}</think>\n{CODER_CALL}")
    masks = []
    for token in tokens:
        masks.append(mask_of(matcher))
        assert matcher.accept_token(token)
    assert matcher.accept_token(EOS) and matcher.is_terminated()
    place = len(tokens)
    matcher.rollback(1)
    for _ in range(60):
        target = rng.randrange(len(tokens))
        if target <= place:
            matcher.rollback(place - target)
        else:
            assert matcher.accept_tokens(tokens[place:target]) == target - place
        place = target
        assert mask_of(matcher) == masks[place] and matcher.steps == place
    with pytest.raises(ValueError, match="cannot roll back"):
        matcher.rollback(place + 1)
    matcher.reset()
    assert mask_of(matcher) == masks[0] and matcher.steps == 0


def test_forks_and_drafts() -> None:
    scene = Scene("qwen", [WEATHER], "<tool_call>")
    other = scene.matcher.fork()
    assert other.accept_tokens(units(scene.automaton, JSON_CALL)[1:]) and not other.is_constraining
    assert scene.takes("\n<function=get_weather>")
    draft = units(scene.automaton, '{"name": "get_weather", "arguments": {"location": "x"}}</tool_call>Hi')
    bitmask = constrain.allocate_token_bitmask(len(draft) + 1, WIDTH)
    assert scene.matcher.fill_draft_bitmasks(draft, bitmask) == len(draft) + 1
    assert (bitmask[-2:] == -1).all() and scene.takes("\n<function=get_weather>")
    assert scene.matcher.validate_tokens([*draft, EOS, EOS]) == len(draft) + 1


def test_an_injected_token_releases_the_call() -> None:
    scene = Scene("hermes", [WEATHER], '<tool_call>{"na')
    assert not scene.matcher.force_token(id_of("</think>"))
    assert is_idle(scene) and scene.matcher.accept_token(ord("x"))
    scene.matcher.rollback(2)
    assert not is_idle(scene) and scene.first() == {"m"}
    assert scene.matcher.force_token(ord("m"))


def test_a_batch_of_replies_that_stand_in_different_places() -> None:
    scenes = [
        Scene("qwen", [WEATHER], text)
        for text in ("Hi", "<tool_call>", JSON_CALL, CODER_CALL[:30], "<think><tool_call>", JSON_CALL[:20])
    ]
    grammar = constrain.compile_json_schema({"type": "integer"}, VOCABULARY)
    matchers = [*(scene.matcher for scene in scenes), grammar.matcher()]
    bitmask = constrain.allocate_token_bitmask(len(matchers), WIDTH)
    constrain.fill_next_token_bitmasks(matchers, bitmask, threads=2)
    for row, matcher in enumerate(matchers):
        alone = constrain.allocate_token_bitmask(1, WIDTH)
        matcher.fill_next_token_bitmask(alone)
        assert (alone[0] == bitmask[row]).all()


def test_forced_bytes() -> None:
    scene = Scene("qwen3_coder", [WEATHER], "Hi")
    assert scene.matcher.forced_bytes() == b"" and scene.matcher.forced_tokens() == []
    scene.write("<tool_call>\n<func")
    assert scene.matcher.forced_bytes() == b"tion=get_weather>"


def test_texts_are_judged_without_a_vocabulary() -> None:
    grammar = constrain.compile_tools([WEATHER], None, "qwen")
    assert grammar.accepts("Just text.") and grammar.accepts(f"a\n{JSON_CALL}\nb\n{CODER_CALL}")
    assert grammar.accepts("<think>" + JSON_CALL[:30] + "</think>") and not grammar.accepts(JSON_CALL[:30])
    text = 'Hm. <tool_call>{"name": "get_weather", "arguments": {"location": 3}}</tool_call>'
    found = grammar.explain(text)
    assert found is not None and text[found.position :].startswith("3}}") and found.pointer == "/get_weather/location"
    found = grammar.explain(JSON_CALL.replace("</tool_call>", "x"))
    assert found is not None and "</tool_call>" in found.reason
    required = constrain.compile_tools([WEATHER], None, "qwen", tool_choice="required", reasoning="wait")
    found = required.explain("hm")
    assert found is not None and "a call" in found.reason


def test_names_that_nobody_declared_can_be_let_through() -> None:
    for wire, text in (
        ("hermes", '<tool_call>{"name": "other", "arguments": {"x": [1]}}</tool_call>'),
        ("qwen3_coder", "<tool_call><function=other.x>\n<parameter=a b>\nfoo</parameter></function></tool_call>"),
        ("gemma4", '<|tool_call>call:oth-er{x:{y:<|"|><|"|>}}<tool_call|>'),
    ):
        scene = Scene(wire, [WEATHER], text, names="any")
        assert not scene.matcher.is_constraining and scene.automaton.accepts(text)
        assert not constrain.compile_tools([WEATHER], None, wire).accepts(text)
    declared = Scene("hermes", [WEATHER], '<tool_call>{"name": "get_weather", "arguments": {', names="any")
    assert "}" not in declared.first() and not declared.takes('"other"')


def test_the_trace_tells_what_happened_when() -> None:
    scene = Scene("hermes", [WEATHER], "Hm" + JSON_CALL)
    length = len(units(scene.automaton, "Hm" + JSON_CALL))
    assert scene.matcher.trace() == [("call", 3), ("text", length)]
    scene.matcher.accept_token(EOS)
    assert scene.matcher.trace()[-1] == ("end", length + 1)
    scene.matcher.rollback(length)
    assert scene.matcher.trace() == []
