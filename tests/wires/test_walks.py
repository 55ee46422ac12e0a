"""Random tools in every format: what the masks let through is valid and is read back, what is valid is let through, and
the kernels agree with the interpreter.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import constrain
from constrain.replies import ReplyParser
from constrain.wires.automaton import ToolAutomaton
from constrain.wires.markers import WIRES
from constrain.wires.render import render_calls

from .support import (
    EOS,
    VOCABULARY,
    WEATHER,
    WIDTH,
    Mirror,
    Scene,
    is_valid,
    parameter,
    random_arguments,
    random_tools,
    tokens_of,
    units,
    walk,
)

NAMES = (*WIRES, "qwen")


def make(wire: str, tools: list[dict[str, Any]], rng: random.Random) -> ToolAutomaton | None:
    choice, parallel = rng.choice(["auto", "required"]), rng.random() < 0.7
    try:
        return ToolAutomaton(tools, VOCABULARY, wire, tool_choice=choice, parallel=parallel, on_bad_tool="drop")
    except constrain.UnsatisfiableError:
        return None


def open_call(automaton: ToolAutomaton, rng: random.Random) -> list[int]:
    """Tokens after which a reply is in a call, or where it must begin one."""
    plan = automaton.plan
    if plan.start().calling:
        return []
    token = rng.choice(sorted(plan.watch.arms))
    return [*plan.watch.arms[token][0], token]


def walks(wire: str, seeds: range, most: int, mirrored: bool) -> int:
    """How many calls were made, and found valid."""
    calls = 0
    for seed in seeds:
        rng = random.Random(seed)
        tools = random_tools(rng)
        automaton = make(wire, tools, rng)
        if automaton is None:
            continue
        matcher = automaton.matcher()
        mirror = Mirror(automaton, matcher.stop_token_ids) if mirrored else None
        tokens = open_call(automaton, rng)
        for token in tokens:
            assert matcher.accept_token(token)
            if mirror is not None:
                mirror.accept(token)
        rest = walk(matcher, rng, most, mirror)
        if rest is None:
            continue
        parser = ReplyParser(wire, tools, VOCABULARY)
        for token in tokens + rest:
            parser.push(token)
        parser.finish()
        found = parser.reply.tool_calls
        assert found or wire in ("harmony", "kimi_k3"), f"seed {seed}: {parser.reply}"  # those may open an answer
        for call in found:
            assert is_valid(tools, call.name, call.arguments), f"seed {seed}: {call}"
        calls += len(found)
    return calls


@pytest.mark.parametrize("wire", NAMES)
def test_what_the_masks_let_through_is_valid_and_read_back(wire: str) -> None:
    assert walks(wire, range(14), 200, mirrored=False) > 4


@pytest.mark.parametrize("wire", ["hermes", "gemma4", "qwen3_coder", "glm47", "dsml", "kimi_k3"])
def test_masks_agree_with_the_interpreter(wire: str) -> None:
    walks(wire, range(100, 102), 40, mirrored=True)


@pytest.mark.parametrize("wire", NAMES)
def test_what_templates_write_is_let_through_in_any_tokens(wire: str) -> None:
    written = 0
    for seed in range(12):
        rng = random.Random(seed)
        tools = random_tools(rng)
        automaton = make(wire, tools, rng)
        chosen = [rng.choice(tools)["function"] for _ in range(rng.choice([1, 1, 2]))]
        calls = [(one["name"], random_arguments(rng, one["parameters"])) for one in chosen]
        if automaton is None or (automaton.plan.single and len(calls) > 1):
            continue
        text = render_calls(wire, calls).lstrip("\n")
        assert automaton.explain(text) is None
        for split in (None, rng, rng):
            matcher, tokens = automaton.matcher(stop_token_ids=[EOS]), tokens_of(automaton, text, split)
            assert matcher.accept_tokens(tokens) == len(tokens) and matcher.is_accepting(), f"seed {seed}: {text!r}"
        written += 1
    assert written > 5


@pytest.mark.slow
@pytest.mark.parametrize("wire", NAMES)
def test_walks_at_length(wire: str) -> None:
    assert walks(wire, range(1000, 3000), 300, mirrored=False) > 1000


@pytest.mark.parametrize(
    ("wire", "text"),
    [
        ("hermes", '<tool_call>\n{"name": "get_weather", "arguments": {"location": "x", "unit": "'),
        ("gemma4", '<|tool_call>call:get_weather{location:<|"|>x<|"|>,unit:<|"|>'),
        ("qwen3_coder", f"<tool_call>\n<function=get_weather>\n{parameter('location', 'x')}<parameter=unit>\n"),
    ],
)
def test_a_model_that_wants_kelvin_gets_another_unit(wire: str, text: str) -> None:
    scene = Scene(wire, [WEATHER], text)
    taken = units(scene.automaton, text)
    bitmask = constrain.allocate_token_bitmask(1, WIDTH)
    rng = np.random.default_rng(0)
    while scene.matcher.is_constraining:
        logits = rng.normal(size=(1, WIDTH)).astype(np.float32)
        logits[0, list(b"kelvin")] += 50
        scene.matcher.fill_next_token_bitmask(bitmask)
        constrain.apply_token_bitmask_inplace(logits, bitmask)
        taken.append(int(logits[0].argmax()))
        assert scene.matcher.accept_token(taken[-1])
        assert len(taken) < 400
    parser = ReplyParser(wire, [WEATHER], VOCABULARY)
    for token in taken:
        parser.push(token)
    parser.finish()
    (call,) = parser.reply.tool_calls
    assert call.arguments["unit"] in ("celsius", "fahrenheit")
