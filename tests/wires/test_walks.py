"""Random tools in every format: what the masks let through is valid and is read back, what is valid is let through, and
the kernels agree with the interpreter.
"""

from __future__ import annotations

import numpy as np
import pytest

import constrain
from constrain.replies import ReplyParser

from .campaign import NAMES, rendered, walked
from .support import VOCABULARY, WEATHER, WIDTH, Scene, parameter, units


def calls_of(wire: str, seeds: range, most: int, mirrored: bool = False) -> int:
    """How many calls the walks made, all of them valid."""
    return sum(found[1] for seed in seeds if (found := walked(wire, seed, most, mirrored)) is not None)


@pytest.mark.parametrize("wire", NAMES)
def test_what_the_masks_let_through_is_valid_and_read_back(wire: str) -> None:
    assert calls_of(wire, range(14), 200) > 4


@pytest.mark.parametrize("wire", ["hermes", "gemma4", "qwen3_coder", "glm47", "dsml", "kimi_k3"])
def test_masks_agree_with_the_interpreter(wire: str) -> None:
    calls_of(wire, range(100, 102), 40, mirrored=True)


@pytest.mark.parametrize("wire", NAMES)
def test_what_templates_write_is_let_through_in_any_tokens(wire: str) -> None:
    assert sum(rendered(wire, seed, 2) is not None for seed in range(12)) > 5


@pytest.mark.slow
@pytest.mark.parametrize("wire", NAMES)
def test_walks_at_length(wire: str) -> None:
    assert calls_of(wire, range(1000, 3000), 300) > 1000


@pytest.mark.slow
@pytest.mark.parametrize("wire", NAMES)
def test_templates_at_length(wire: str) -> None:
    assert sum(rendered(wire, seed, 2) is not None for seed in range(1000, 3000)) > 1000


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
