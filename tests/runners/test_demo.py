"""The demonstration: its verdicts, its exit codes, and a run on the real model where the weights are there."""

from __future__ import annotations

from types import SimpleNamespace

import jsonschema
import numpy as np
import pytest

import constrain
from constrain import demo
from constrain.demo import answers, calls
from constrain.runners import CpuRunner, cached_model
from constrain.wires.render import render_call

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}


@pytest.mark.parametrize(
    ("text", "valid", "verdict"),
    [
        ('{"a": 1}', True, "valid"),
        ('```json\n{"a": 1}\n```', False, "not JSON"),
        ('{"a": 1} is the answer', False, "not JSON"),
        ('{"a": "1"}', False, "not valid: '1' is not of type 'integer'"),
        ("{}", False, "not valid: 'a' is a required property"),
    ],
)
def test_verdicts(text, valid, verdict):
    found, sentence = answers.judge(text, SCHEMA)
    assert found is valid and sentence.startswith(verdict)


def test_the_schemas_of_the_demonstration_are_schemas():
    for _, schema in answers.CASES:
        jsonschema.Draft202012Validator.check_schema(schema)


def test_a_model_that_is_missing_is_exit_code_2(tmp_path, capsys):
    assert demo.main(["--model", str(tmp_path / "none.gguf")]) == 2
    assert "no such file" in capsys.readouterr().err


@pytest.mark.parametrize("wire", calls.WIRES)
def test_verdicts_on_calls(wire):
    for unit, verdict in (("celsius", "valid"), ("kelvin", "not valid: 'kelvin' is not one of")):
        call, sentence = calls.judge(wire, render_call(wire, "get_weather", {"location": "Rome", "unit": unit}))
        assert call.arguments["unit"] == unit and sentence.startswith(verdict)
    assert calls.judge(wire, "It is 300 K.") == (None, "no call")


class Insistent:
    """A model that goes on as `target` does after what was written last, wherever that stands in it."""

    context_length = 10_000

    def __init__(self, target, end):
        self.target, self.end, self.vocab_size = target, end, end + 1

    def new_cache(self):
        return SimpleNamespace(text=None)

    def forward(self, caches, tokens):
        logits = np.zeros((len(caches), self.vocab_size), np.float32)
        for row, (cache, ids) in enumerate(zip(caches, tokens, strict=True)):
            cache.text = b"" if cache.text is None else cache.text + bytes(ids)
            tails = [cache.text[len(cache.text) - n :] for n in range(len(cache.text), -1, -1)]
            place = next(self.target.find(tail) + len(tail) for tail in tails if tail in self.target)
            logits[row, self.target[place] if place < len(self.target) else self.end] = 20
        return logits


@pytest.fixture(scope="module")
def kelvin_runner(fakes):
    vocab = constrain.Vocabulary.from_tokens([bytes([b]) for b in range(256)], {"<end>": 256}, eos_token_ids=[256])
    template = SimpleNamespace(render=lambda messages, tools: messages[-1]["content"])
    return lambda text: (CpuRunner(Insistent(text.encode(), fakes.END), fakes.Tokens(), template), vocab)


@pytest.mark.parametrize("wire", calls.WIRES)
def test_a_scripted_model_that_wants_kelvin_gets_another_unit(wire, kelvin_runner):
    runner, vocab = kelvin_runner(render_call(wire, "get_weather", {"location": "Rome", "unit": "kelvin"}))
    free, bound = calls.replies(runner, vocab, wire, 300)
    assert calls.judge(wire, free)[0].arguments == {"location": "Rome", "unit": "kelvin"}
    call, verdict = calls.judge(wire, bound)
    assert verdict == "valid" and call.arguments["location"] == "Rome" and call.arguments["unit"] in calls.UNITS


@pytest.mark.skipif(cached_model() is None, reason="the weights are not in the cache")
def test_constrained_every_reply_of_the_model_is_valid(capsys):
    assert demo.main(["--model", str(cached_model()), "--max-tokens", "60"]) == 0
    shown = capsys.readouterr().out
    assert "not JSON" in shown and shown.count("'kelvin' is not one of") == len(calls.WIRES)
