"""`generate` in all its modes, on a real model: finished outputs are valid, others the beginning of a valid one."""

from __future__ import annotations

import pytest

import constrain

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

CHAT = "<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n"
PROMPT = CHAT.format('Weather in Oslo as JSON, like {"city":"Rome","days":3,"unit":"celsius"}')
LONGER = CHAT.format("Please tell me, at some length and with much detail, which city in Europe is coldest. Use JSON.")
SHORTER = CHAT.format("JSON?")
MODES = {
    "greedy": {},
    "sampling": {"do_sample": True, "temperature": 1.3, "top_p": 0.95},
    "beams": {"num_beams": 3},
    "returned sequences": {"do_sample": True, "num_return_sequences": 4},
    "prompt lookup": {"prompt_lookup_num_tokens": 4},
}


@pytest.mark.parametrize("options", MODES.values(), ids=MODES)
def test_every_output_is_valid(smollm2, processor_of, options):
    torch.manual_seed(1)
    made = processor_of(smollm2.grammar)
    rows = smollm2.generate([PROMPT], [made.processor], max_new_tokens=60, **options)
    assert smollm2.check(rows, finished=False) or options.get("do_sample")
    assert made.kinds() <= {"illegal"}


def test_speculation_changes_nothing(smollm2, processor_of):
    """The model as its own assistant, and drafts from the prompt: greedy gives the same ids."""
    plain = smollm2.generate([PROMPT], [processor_of(smollm2.grammar).processor], max_new_tokens=60)
    for options in ({"assistant_model": smollm2.model}, {"prompt_lookup_num_tokens": 4}):
        made = processor_of(smollm2.grammar)
        assert smollm2.generate([PROMPT], [made.processor], max_new_tokens=60, **options) == plain


def test_a_batch_of_different_requests(smollm2, processor_of):
    choice = constrain.compile_choice(["celsius", "kelvin"], smollm2.vocabulary)
    made = processor_of([smollm2.grammar, None, choice])
    rows = smollm2.generate([PROMPT, LONGER, SHORTER], [made.processor], max_new_tokens=40)
    plain = smollm2.generate([PROMPT, LONGER, SHORTER], [], max_new_tokens=40)
    assert rows[1] == plain[1]
    smollm2.check(rows[:1], finished=False)
    assert smollm2.text(rows[2]) in [("celsius", True), ("kelvin", True)]
    assert not made.events


def test_an_instance_serves_again(smollm2, processor_of):
    processor = processor_of(smollm2.grammar).processor
    for prompt in (PROMPT, PROMPT, LONGER, SHORTER):
        smollm2.check(smollm2.generate([prompt], [processor], max_new_tokens=40), finished=False)
