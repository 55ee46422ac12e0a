"""The numpy backend against transformers' reading of the same GGUF file: ids and logits.

The `smollm2` fixture fetches the weights where they are not cached yet.
"""

from __future__ import annotations

import numpy as np
import pytest

from constrain.runners import CpuRunner, model_path

torch = pytest.importorskip("torch")

TEXTS = [
    "The capital of France is",
    'Write JSON: {"name": "Ada", "age": 36, "tags": ["a", "b"]}\n\n\t{}',
    "Grüße aus Köln, naïve café – Ελληνικά, Русский, עברית, العربية, हिन्दी, 日本語と한국어 🙂👩‍👩‍👧",
    "numbers 0123456789 1,234.5e-6   spaces\r\n\r\n tabs\t\tand we'll it's I'D",
    "<|im_start|>user\nHi <|im_end|>\n<|im_start|>assistant\n",
    "def f(x):\n    return [i**2 for i in range(x)]  # comment\n" * 26,
]


@pytest.fixture(scope="module")
def ours(smollm2):
    return CpuRunner.from_gguf(model_path())


@pytest.fixture(scope="module")
def theirs(smollm2):
    return smollm2.tokenizer, smollm2.model


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: ascii(text[:12]))
def test_texts_have_the_same_ids(ours, theirs, text):
    ids = theirs[0](text, add_special_tokens=False)["input_ids"]
    assert ours.tokenizer.encode(text) == ids


def test_conversations_have_the_same_ids(ours, theirs):
    for messages in (
        [{"role": "user", "content": "Hi"}],
        [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hé\n"}],
        [{"role": role, "content": "x"} for role in ("user", "assistant", "user")],
    ):
        text = theirs[0].apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
        assert ours.template.render(messages) == text


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: ascii(text[:12]))
def test_logits_agree(ours, theirs, text):
    """At the end of a prefill and after each single token; first is the same token wherever the lead is not noise."""
    ids = ours.tokenizer.encode(text)
    with torch.no_grad():
        expected = theirs[1](torch.tensor([ids])).logits[0].numpy()
    cache, start = ours.model.new_cache(), max(1, len(ids) - 6)
    for position in range(start - 1, len(ids)):
        logits = ours.model.forward([cache], [ids[cache.length : position + 1]])[0]
        assert np.abs(logits - expected[position]).max() < 5e-4
        best, second = np.sort(expected[position])[[-1, -2]]
        if best - second > 1e-3:
            assert logits.argmax() == expected[position].argmax()


def test_greedy_replies_agree(ours, theirs):
    prompt = ours.prompt([{"role": "user", "content": "Name three colours."}])
    with torch.no_grad():
        out = theirs[1].generate(torch.tensor([prompt]), max_new_tokens=12, do_sample=False)[0].tolist()
    cache, pending, reply = ours.model.new_cache(), prompt, []
    for _ in range(len(out) - len(prompt)):
        pending = [int(ours.model.forward([cache], [pending])[0].argmax())]
        reply += pending
    assert reply == out[len(prompt) :]
