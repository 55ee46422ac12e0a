"""Options of tool automata: other markers and literals, what is asked of the reasoning, names that nobody declared."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import pytest

import constrain
from constrain.replies import ReplyParser
from constrain.wires.gate import Thoughts
from constrain.wires.markers import WIRES

from .support import VOCABULARY, WEATHER, Scene, mask_of, tool, units

PING = tool("ping", {})


def vocabulary(special: dict[str, int]) -> constrain.Vocabulary:
    """All bytes, and control tokens at these ids."""
    free = (token for token in range(1000) if token not in special.values())
    tokens: list[bytes | None] = [None] * 300
    for byte in range(256):
        tokens[next(free)] = bytes([byte])
    return constrain.Vocabulary.from_tokens(tokens, {**special, "<eos>": 299}, eos_token_ids=[299])


def replay(automaton: Any, parts: Sequence[bytes | int]) -> tuple[Any, Any]:
    """The matcher and the reader after bytes, each its own token, and ids."""
    matcher = automaton.matcher()
    markers = automaton.arguments["markers"]
    reader = ReplyParser(automaton.wire_names, automaton.compiler, automaton.vocabulary, markers=markers)
    ids = {automaton.vocabulary.token_bytes(t): t for t in range(automaton.vocabulary.size)}
    for part in parts:
        for token in [part] if isinstance(part, int) else [ids[bytes([byte])] for byte in part]:
            assert matcher.allows(token) and matcher.accept_token(token), (part, token)
            reader.push(token)
    reader.finish()
    return matcher, reader.reply


# Markers -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("by_id", [False, True])
def test_control_tokens_under_other_names(by_id: bool) -> None:
    special = {"<unused41>": 0, "<unused42>": 49, "<unused45>": 52}
    names = {"<|tool_call>": "<unused41>", "<tool_call|>": "<unused42>", '<|"|>': "<unused45>"}
    markers = {text: special[other] for text, other in names.items()} if by_id else names
    automaton = constrain.compile_tools([WEATHER], vocabulary(special), "gemma4", markers=markers)
    matcher, reply = replay(automaton, [0, b"call:get_weather{location:", 52, b"x<|", 52, b"}", 49])
    assert not matcher.is_constraining and reply.tool_calls[0].arguments == {"location": "x<|"}
    assert automaton.accepts("<unused41>call:get_weather{location:<unused45>x<unused45>}<unused42>")
    again = pickle.loads(pickle.dumps(automaton))
    assert again.matcher().accept_token(0) and again.wires == automaton.wires


def test_a_marker_without_a_token_is_spelled() -> None:
    automaton = constrain.compile_tools(
        [PING], vocabulary({"<tool_call>": 7, "</tool_call>": 8}), "hermes", markers={"</tool_call>": None}
    )
    call = [7, b'{"name": "ping", "arguments": {}}\n']
    matcher, reply = replay(automaton, [*call, b"</tool_call>"])
    assert not matcher.is_constraining and reply.tool_calls[0].name == "ping"
    matcher, _ = replay(automaton, call)
    assert not matcher.allows(8)


def test_stop_tokens_may_have_other_names() -> None:
    known = vocabulary({"<|im_end|>": 3, "<end>": 4, "<tool_call>": 5})
    automaton = constrain.compile_tools([PING], known, "hermes", markers={"<|im_end|>": "<end>"})
    assert automaton.stop_token_ids == (299, 4)


@pytest.mark.parametrize(
    ("markers", "error", "match"),
    [
        ({"<tool>": "<x>"}, ValueError, "'<tool>' is no control token of the format; there are <tool_call>, "),
        ({"<tool_call>": ""}, ValueError, "text of a control token"),
        ({"<tool_call>": True}, ValueError, "text of a control token"),
        ({"<tool_call>": 3.0}, ValueError, "text of a control token"),
        ({"<tool_call>": 65}, constrain.VocabularyError, "token 65 is no control token"),
    ],
)
def test_markers_that_cannot_be(markers: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        constrain.compile_tools([PING], VOCABULARY, "hermes", markers=markers)
    with pytest.raises(error, match=match):
        ReplyParser("hermes", vocab=VOCABULARY, markers=markers)


# Literals ------------------------------------------------------------------------------------------------------------

LITERALS = tool("f", {"b": {"type": "boolean"}, "n": {"type": ["string", "null"], "maxLength": 2}, "a": {}})


def test_literals_are_those_of_json_unless_older_ones_are_asked_for() -> None:
    for literals, capitals in (("json", False), ("both", True)):
        scene = Scene.in_call("qwen3_coder", "<parameter=b>\n", [LITERALS], literals=literals)
        assert scene.takes("true\n</parameter>") and scene.takes("False\n</parameter>") == capitals
        assert not scene.takes("None") and not scene.takes("FALSE") and not scene.takes("Tru\n")
        scene = Scene.in_call("qwen3_coder", "<parameter=n>\n", [LITERALS], literals=literals)
        assert scene.takes("null\n</parameter>") and scene.takes("None\n</parameter>") == capitals


def test_older_literals_are_read_as_what_they_stand_for() -> None:
    text = "<tool_call>\n<function=f>\n<parameter=b>\nTrue\n</parameter>\n<parameter=n>\nNone\n</parameter>\n"
    text += "</function>\n</tool_call>"
    assert constrain.compile_tools([LITERALS], None, "qwen3_coder", literals="both").accepts(text)
    parser = ReplyParser("qwen3_coder", [LITERALS])
    parser.push_text(text)
    parser.finish()
    assert parser.reply.tool_calls[0].arguments == {"b": True, "n": None}


def test_older_literals_stand_for_whole_values_and_only_where_the_format_had_them() -> None:
    nested = tool("f", {"a": {"type": "array", "items": {"type": "boolean"}}})
    assert not Scene.in_call("qwen3_coder", "<parameter=a>\n[", [nested], literals="both").takes("True")
    for wire in ("glm45", "minimax_m2"):
        grammar = constrain.compile_tools([LITERALS], None, wire, tool_choice="required", literals="both")
        assert not grammar.accepts(
            "<tool_call>f\n<arg_key>b</arg_key>\n<arg_value>True</arg_value>\n</tool_call>"
            if wire == "glm45"
            else '<minimax:tool_call>\n<invoke name="f">\n<parameter name="b">True</parameter>\n</invoke>\n'
            "</minimax:tool_call>"
        )


# Gemma's numbers -----------------------------------------------------------------------------------------------------

NUMBER = tool("f", {"x": {"type": "number"}})


def test_an_exponent_of_gemma_comes_after_a_point() -> None:
    scene = Scene.in_call("gemma4", "x:", [NUMBER])
    for good in ("1.0e-07", "1.5E22", "0.0000001", "-3", "100000"):
        assert scene.takes(good + "}<tool_call|>"), good
    for bad in ("1e5", "1e-07", "-2E3"):
        assert not scene.takes(bad), bad
    scene = Scene.in_call("gemma4", "x:", [NUMBER], numbers="any")
    assert scene.takes("1e5}<tool_call|>") and scene.takes("1.0e5}<tool_call|>")


@pytest.mark.parametrize("value", [1e-07, 1e22, -5e300, 1.5e-9])
def test_every_number_can_be_written_without_a_bare_exponent(value: float) -> None:
    const = tool("f", {"x": {"const": value}}, ("x",))
    from constrain.wires.render import render_call

    for wire in WIRES:
        text = render_call(wire, "f", {"x": value}).lstrip("\n")
        assert constrain.compile_tools([const], None, wire, tool_choice="required").explain(text) is None, text


# Reasoning -----------------------------------------------------------------------------------------------------------


def test_reasoning_may_be_specified_part_by_part() -> None:
    same = {"inside": True, "markers": ("<think>", "</think>")}
    scene = Scene("hermes", [PING], "hm. ", tool_choice="required", reasoning=same)
    assert scene.matcher.allows(ord("x"))
    scene.write("</think>")
    assert not scene.matcher.allows(ord("x")) and scene.takes("\n\n<tool_call>")
    custom = {"markers": [["<reason>", "</reason>"], ["<think>", "</think>"]]}
    scene = Scene("hermes", [PING], "so</reason>", tool_choice="required", reasoning=custom)
    assert not scene.takes("x") and scene.takes("<tool_call>")
    effort = {"effort": "custom:{line:5}"}
    scene = Scene("hermes", [PING], "<think>\n", tool_choice="required", reasoning=effort)
    assert scene.takes("short</think>") and not scene.takes("too long</think>")
    over = Scene("hermes", [PING], tool_choice="required", reasoning={"over": True})
    assert not over.takes("x") and over.takes("<tool_call>")


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"within": True}, "reasoning has no 'within'; there are inside, over, optional, effort, markers"),
        ({"inside": 1}, "inside must be True or False"),
        ({"markers": ["<think>", ""]}, "a start and an end"),
        ({"markers": [("<think>",)]}, "a start and an end"),
        ({"effort": "most"}, "'most' is not known"),
        ("within", "use None"),
    ],
)
def test_reasoning_that_cannot_be(given: Any, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        constrain.compile_tools([PING], VOCABULARY, "hermes", reasoning=given)


def test_a_specification_is_saved_with_the_automaton() -> None:
    spec = {"effort": "low", "markers": ("<think>", "</think>")}
    one = constrain.compile_tools([PING], VOCABULARY, "hermes", tool_choice="required", reasoning=spec)
    again = pickle.loads(pickle.dumps(one))
    assert isinstance(one.arguments["reasoning"], Thoughts)
    assert mask_of(again.matcher()) == mask_of(one.matcher())


# Names that nobody declared -----------------------------------------------------------------------------------------

UNDECLARED = [
    (
        "hermes",
        '<tool_call>\n{"name": "%s", "arguments": {"k": 1}}\n</tool_call>\n',
        '<tool_call>\n{"name": "get_weather", "arguments": {"location": "x"}}\n</tool_call>\n',
    ),
    (
        "qwen3_coder",
        "<tool_call>\n<function=%s>\n<parameter=k>\n1\n</parameter>\n</function>\n</tool_call>\n",
        "<tool_call>\n<function=get_weather>\n<parameter=location>\nx\n</parameter>\n</function>\n</tool_call>\n",
    ),
    (
        "gemma4",
        "<|tool_call>call:%s{k:1}<tool_call|>",
        '<|tool_call>call:get_weather{location:<|"|>x<|"|>}<tool_call|>',
    ),
    ("mistral_v11", '[TOOL_CALLS]%s{"k": 1}', '[TOOL_CALLS]get_weather[ARGS]{"location": "x"}'),
    (
        "kimi_k2",
        '<|tool_calls_section_begin|><|tool_call_begin|>functions.%s:0<|tool_call_argument_begin|>{"k": 1}'
        "<|tool_call_end|><|tool_calls_section_end|>",
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>"
        '{"location": "x"}<|tool_call_end|><|tool_calls_section_end|>',
    ),
]


@pytest.mark.parametrize("choice", ["auto", "required"])
@pytest.mark.parametrize(("wire", "undeclared", "declared"), UNDECLARED)
def test_tools_that_nobody_declared_pass_if_asked_for_and_are_told(
    wire: str, undeclared: str, declared: str, choice: str
) -> None:
    assert not Scene(wire, [WEATHER], tool_choice=choice).takes(undeclared % "get_time")
    automaton = constrain.compile_tools([WEATHER], VOCABULARY, wire, tool_choice=choice, names="any")
    told: list[constrain.SessionEvent] = []
    session = constrain.Session(automaton, on_event=told.append, max_rollback=None)
    matcher = automaton.matcher(max_rollback=None)
    again = wire != "kimi_k2" or choice == "auto"  # one section is all that is demanded
    calls = [declared, undeclared % "get_time", undeclared % "wetter_für"] if again else [undeclared % "get_time"]
    for token in units(automaton, "".join(calls).rstrip("\n")):
        assert session.accept_token(token) and matcher.accept_token(token)
    names = ("get_time", "wetter_für") if again else ("get_time",)
    assert matcher.undeclared == names
    unknown = [event for event in told if event.kind == "unknown_tool"]
    assert [f"{name!r}" in event.reason for name, event in zip(names, unknown, strict=True)] == [True] * len(names)
    session.rollback(session.steps)
    matcher.rollback(matcher.steps)
    assert matcher.undeclared == () and not [event for event in session.events if event.kind == "unknown_tool"]


def test_whatever_the_name_the_arguments_are_an_object() -> None:
    scene = Scene("hermes", [WEATHER], '<tool_call>\n{"name": "get_time", "arguments": ', names="any")
    assert scene.takes('{"a": [1]}}\n</tool_call>') and not scene.takes("[") and not scene.takes('"')
    known = Scene("hermes", [WEATHER], '<tool_call>\n{"name": "get_weather", "arguments": {', names="any")
    assert not known.takes("}") and known.matcher.undeclared == ()
