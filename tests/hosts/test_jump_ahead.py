"""`custom_generate=jump_ahead`: the output of plain decoding, in fewer steps."""

from __future__ import annotations

import pytest

import constrain

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from constrain.adapters.transformers import jump_ahead  # noqa: E402

PROMPTS = ["hello", "a longer prompt", 'say {"city":"ab","unit":"kelvin"} or {"unit":"celsius"}', "x"]


@pytest.fixture
def steps(tiny, monkeypatch):
    """How often the model was asked."""
    count, forward = [0], tiny.model.forward

    def counted(*args, **kwargs):
        count[0] += 1
        return forward(*args, **kwargs)

    monkeypatch.setattr(tiny.model, "forward", counted)
    return count


@pytest.mark.parametrize("options", [{}, {"lookup": 0}, {"draft_tokens": 3}, {"do_sample": True}], ids=str)
def test_the_output_is_that_of_plain_decoding(tiny, processor_of, steps, options):
    counts = []
    for prompt in PROMPTS:
        outputs = []
        for extra in ({"do_sample": options.get("do_sample", False)}, {"custom_generate": jump_ahead, **options}):
            torch.manual_seed(5)
            before = steps[0]
            outputs.append(tiny.generate([prompt], [processor_of(tiny.grammar).processor], **extra))
            counts.append(steps[0] - before)
        assert outputs[0] == outputs[1]
        tiny.check(outputs[1])
    assert sum(counts[1::2]) < sum(counts[::2])


def test_what_is_forced_takes_one_step(tiny, processor_of, steps):
    word = constrain.compile_choice(["a long sentence of which every letter is known"], tiny.vocabulary)
    rows = tiny.generate(["x"], [processor_of(word).processor], custom_generate=jump_ahead, draft_tokens=64)
    assert tiny.text(rows[0]) == ("a long sentence of which every letter is known", True)
    assert steps[0] <= 8


def test_details_and_bounds(tiny, processor_of):
    inputs = tiny.tokenizer(["hello"], return_tensors="pt")
    made = processor_of(tiny.grammar)
    out = tiny.model.generate(
        **{k: v for k, v in inputs.items() if k != "token_type_ids"},
        max_new_tokens=9,
        eos_token_id=tiny.eos,
        pad_token_id=tiny.pad,
        logits_processor=[made.processor],
        custom_generate=jump_ahead,
        return_dict_in_generate=True,
        output_scores=True,
        output_logits=True,
    )
    assert out.sequences.shape[1] == inputs.input_ids.shape[1] + 9
    assert len(out.scores) == len(out.logits) == 9
    assert all(torch.isfinite(step).all() for step in out.logits)


def test_what_it_cannot_do_is_refused(tiny, processor_of):
    with pytest.raises(ValueError, match="one sequence"):
        tiny.generate(["a", "b"], [processor_of(tiny.grammar).processor], custom_generate=jump_ahead)
    with pytest.raises(ValueError, match="without one"):
        tiny.generate(["a"], [], custom_generate=jump_ahead)
    with pytest.raises(ValueError, match="cropped"):
        tiny.generate(["a"], [processor_of(tiny.grammar).processor], custom_generate=jump_ahead, use_cache=False)
