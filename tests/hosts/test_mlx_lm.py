"""The processor for mlx-lm, in mlx-lm: its own loops, on a tiny Llama with random weights."""

from __future__ import annotations

import numpy as np
import pytest

import constrain

mx = pytest.importorskip("mlx.core")
pytest.importorskip("mlx_lm")

from mlx_lm.generate import BatchGenerator, generate_step, speculative_generate_step  # noqa: E402
from mlx_lm.models import llama  # noqa: E402
from mlx_lm.tokenizer_utils import TokenizerWrapper  # noqa: E402

from constrain.adapters.mlx_lm import ConstraintLogitsProcessor, vocabulary_of  # noqa: E402


def tiny_llama(seed):
    mx.random.seed(seed)
    arguments = llama.ModelArgs(
        model_type="llama",
        hidden_size=32,
        num_hidden_layers=2,
        intermediate_size=64,
        num_attention_heads=2,
        num_key_value_heads=1,
        rms_norm_eps=1e-5,
        vocab_size=272,
        tie_word_embeddings=False,
    )
    model = llama.Model(arguments)
    model.lm_head.weight = model.lm_head.weight * 40
    mx.eval(model.parameters())
    return model


@pytest.fixture(scope="module")
def model():
    return tiny_llama(1)


@pytest.fixture
def wrapped(tiny):
    return TokenizerWrapper(tiny.tokenizer, eos_token_ids=[tiny.eos])


def run(step, prompt, tiny, *models, **options):
    ids = []
    for token, *_ in step(mx.array(prompt), *models, max_tokens=120, **options):
        ids.append(int(token))
        if token == tiny.eos:
            break
    return ids


def test_the_vocabulary_is_that_of_the_model(model, wrapped, tiny):
    assert vocabulary_of(model, wrapped) == tiny.vocabulary


@pytest.mark.parametrize("prompt", ["hello", "x", "a much longer prompt, of many more tokens"])
def test_every_output_is_valid_with_and_without_drafts(model, tiny, prompt):
    ids = tiny.tokenizer(prompt).input_ids
    plain = run(generate_step, ids, tiny, model, logits_processors=[ConstraintLogitsProcessor(tiny.grammar)])
    tiny.check([plain], finished=False)
    # prefilled in pieces; drafted by another model
    processors = [ConstraintLogitsProcessor(tiny.grammar)]
    assert run(generate_step, ids, tiny, model, logits_processors=processors, prefill_step_size=3) == plain
    processors = [ConstraintLogitsProcessor(tiny.grammar)]
    drafted = run(
        speculative_generate_step, ids, tiny, model, tiny_llama(2), num_draft_tokens=3, logits_processors=processors
    )
    assert drafted == plain


def test_an_instance_serves_again(model, tiny):
    processor = ConstraintLogitsProcessor(tiny.grammar)
    for prompt in ("hello", "hello", "a longer prompt", "x"):
        ids = tiny.tokenizer(prompt).input_ids
        tiny.check([run(generate_step, ids, tiny, model, logits_processors=[processor])], finished=False)


def test_batches_of_different_constraints(model, tiny):
    digits = constrain.compile_regex("[0-9]{5}", tiny.vocabulary)
    prompts = [tiny.tokenizer(text).input_ids for text in ("hello", "a longer prompt", "x")]
    processors = [[ConstraintLogitsProcessor(tiny.grammar)], [ConstraintLogitsProcessor(digits)], []]
    batch = BatchGenerator(model, stop_tokens=[[tiny.eos]])
    rows = {uid: [] for uid in batch.insert(prompts, [120, 120, 9], logits_processors=processors)}
    while responses := batch.next_generated():
        for response in responses:
            rows[response.uid].append(response.token)
    batch.close()
    first, second, third = rows.values()
    tiny.check([first], finished=False)
    text, ended = tiny.text(second)
    assert ended and len(text) == 5 and text.isdigit() and len(third) == 9


@pytest.mark.parametrize("dtype", [mx.float32, mx.float16, mx.bfloat16])
def test_types_and_shapes_of_logits(tiny, dtype):
    processor = ConstraintLogitsProcessor(tiny.grammar)
    logits = mx.zeros((1, 272), dtype)
    out = processor(mx.array([1, 2]), logits)
    assert out.dtype == dtype and out.shape == (1, 272) and float(mx.abs(logits).max()) == 0
    flat = ConstraintLogitsProcessor(tiny.grammar)(mx.array([1, 2]), logits[0])
    kept = np.flatnonzero(np.array(out[0].astype(mx.float32)) == 0).tolist()
    assert kept == np.flatnonzero(np.array(flat.astype(mx.float32)) == 0).tolist()
    assert [tiny.vocabulary.token_bytes(i)[:1] for i in kept] == [b"{"] * len(kept)


def test_what_was_forbidden_before_is_allowed_again(tiny):
    """An earlier processor that forbids all that the constraint allows."""
    processor = ConstraintLogitsProcessor(tiny.grammar)
    out = processor(mx.array([1, 2]), mx.full((1, 272), -mx.inf))
    kept = np.flatnonzero(np.array(out[0]) > -np.inf).tolist()
    assert processor.counts == {"override": 1}
    assert [tiny.vocabulary.token_bytes(i)[:1] for i in kept] == [b"{"] * len(kept)
