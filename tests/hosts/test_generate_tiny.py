"""`generate` in all its modes, on a tiny model with random weights: it has no inclination at all to write JSON."""

from __future__ import annotations

import copy
import json
import math

import numpy as np
import pytest

import constrain

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

PROMPTS = ["hello", "a longer prompt", "x"]
MODES = {
    "greedy": {},
    "sampling": {"do_sample": True},
    "top-k and top-p": {"do_sample": True, "top_k": 3, "top_p": 0.8, "temperature": 1.5},
    "penalties": {"repetition_penalty": 5.0, "no_repeat_ngram_size": 2},
    "returned sequences": {"do_sample": True, "num_return_sequences": 4},
    "beams": {"num_beams": 3},
    "returned beams": {"num_beams": 4, "num_return_sequences": 2, "length_penalty": 0.5},
    "sampled beams": {"num_beams": 5, "do_sample": True},
}


@pytest.mark.parametrize("options", MODES.values(), ids=MODES)
def test_every_output_is_valid(tiny, processor_of, options):
    torch.manual_seed(1)
    made = processor_of(tiny.grammar)
    rows = tiny.generate(PROMPTS, [made.processor], **options)
    assert len(rows) == 3 * options.get("num_return_sequences", 1)
    tiny.check(rows)
    # beams of score -inf may be illegal; nothing else may
    assert made.kinds() <= ({"illegal"} if "num_beams" in options else {"override"})


@pytest.mark.parametrize("sample", [False, True])
def test_assisted_decoding(tiny, assistant, processor_of, sample):
    """One instance serves the assistant and the verification; greedy gives what it gives without an assistant."""
    for prompt in PROMPTS:
        torch.manual_seed(2)
        made = processor_of(tiny.grammar)
        rows = tiny.generate([prompt], [made.processor], assistant_model=assistant, do_sample=sample)
        tiny.check(rows)
        assert not made.events
        if not sample:
            assert rows == tiny.generate([prompt], [processor_of(tiny.grammar).processor])


def test_prompt_lookup(tiny, processor_of):
    """Candidates come from the prompt, and most are illegal where they are proposed."""
    prompt = 'say {"city":"a","unit":"kelvin"} or {"unit":"celsius","city":"b","city":12,"unit":"kelvin","days":1500}'
    for sample in (False, True):
        torch.manual_seed(3)
        made = processor_of(tiny.grammar)
        rows = tiny.generate([prompt], [made.processor], prompt_lookup_num_tokens=5, do_sample=sample)
        tiny.check(rows)
        assert "override" not in made.kinds()
        if not sample:
            assert rows == tiny.generate([prompt], [processor_of(tiny.grammar).processor])


def test_a_list_constrains_prompts_one_by_one(tiny, processor_of):
    """Rows without a constraint are what they are without a processor, whatever the mode."""
    digits = constrain.compile_regex("[0-9]{5}", tiny.vocabulary)
    for options in ({}, {"num_beams": 2, "num_return_sequences": 2}):
        each = options.get("num_return_sequences", 1)
        made = processor_of([tiny.grammar, None, digits])
        rows = tiny.generate(PROMPTS, [made.processor], max_new_tokens=120, **options)
        plain = tiny.generate(PROMPTS, [], max_new_tokens=120, **options)
        assert rows[each : 2 * each] == plain[each : 2 * each]
        tiny.check(rows[:each])
        for row in rows[2 * each :]:
            assert len(tiny.text(row)[0]) == 5 and tiny.text(row)[0].isdigit()
    with pytest.raises(ValueError, match="3 rows cannot belong to 2 prompts"):
        tiny.generate(PROMPTS, [processor_of([digits, None]).processor])


def test_an_instance_serves_again(tiny, processor_of):
    """With the same, a longer, a shorter prompt, more rows, beams, after a cut, and with the next turn of a chat."""
    processor = processor_of(tiny.grammar).processor
    for prompts, options in [
        (["hello"], {}),
        (["hello"], {}),
        (["hello there"], {}),
        (["hel"], {}),
        (PROMPTS, {}),
        (PROMPTS, {"num_beams": 3}),
        (["hello"], {"num_return_sequences": 3, "do_sample": True}),
        (["hello"], {}),
    ]:
        tiny.check(tiny.generate(prompts, [processor], **options))
    tiny.check(tiny.generate(["hello"], [processor], max_new_tokens=4), finished=False)
    tiny.check(tiny.generate(["hello"], [processor]))
    text, _ = tiny.text(tiny.generate(["hello"], [processor])[0])
    tiny.check(tiny.generate([f"hello{text}<|end|>and then?"], [processor]))
    processor.reset()
    tiny.check(tiny.generate(["hello"], [processor]))
    tiny.check(tiny.generate(["hello"], [copy.deepcopy(processor)]))


def test_embeddings_instead_of_ids(tiny, processor_of):
    """Then the first call shows no prompt at all."""
    embeddings = tiny.model.get_input_embeddings()(torch.tensor([[1, 2, 3], [4, 5, 6]]))
    out = tiny.model.generate(
        inputs_embeds=embeddings,
        attention_mask=torch.ones(2, 3, dtype=torch.long),
        max_new_tokens=120,
        eos_token_id=tiny.eos,
        pad_token_id=tiny.pad,
        logits_processor=[processor_of(tiny.grammar).processor],
    )
    tiny.check(out.tolist())


def test_raw_logits_are_not_written(tiny, processor_of):
    inputs = tiny.tokenizer(["hello"], return_tensors="pt")
    out = tiny.model.generate(
        input_ids=inputs.input_ids,
        attention_mask=inputs.attention_mask,
        max_new_tokens=5,
        eos_token_id=tiny.eos,
        pad_token_id=tiny.pad,
        logits_processor=[processor_of(tiny.grammar).processor],
        return_dict_in_generate=True,
        output_logits=True,
        output_scores=True,
    )
    assert all(torch.isfinite(step).all() for step in out.logits)
    assert all(torch.isinf(step).any() for step in out.scores)


# Together with other processors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"do_sample": True}, {"num_beams": 3}], ids=["greedy", "sampling", "beams"])
def test_the_constraint_prevails_over_what_was_forbidden_before(tiny, processor_of, options):
    """More new tokens than the constraint has; a bad word that it needs; an end forced in the middle."""
    four = constrain.compile_regex("[0-9]{4}", tiny.vocabulary)
    brace = tiny.tokenizer("}").input_ids
    cases = [
        (four, {"min_new_tokens": 30}),
        (four, {"bad_words_ids": [[i] for i in tiny.tokenizer("0123456789").input_ids]}),
        (four, {"forced_eos_token_id": tiny.eos, "max_new_tokens": 3}),
        (tiny.grammar, {"bad_words_ids": [brace]}),
        (tiny.grammar, {"suppress_tokens": [tiny.eos]}),
    ]
    for grammar, other in cases:
        torch.manual_seed(5)
        made = processor_of(grammar)
        rows = tiny.generate(PROMPTS, [made.processor], **{"max_new_tokens": 120, **other}, **options)
        assert "override" in made.kinds()
        assert made.processor.counts["override"] == sum(event.kind == "override" for event in made.events)
        for row in rows:
            text, ended = tiny.text(row)
            if grammar is four:
                assert text.isdigit() and len(text) == min(4, other.get("max_new_tokens", 4)), text
            elif ended:
                tiny.check([row])


def test_a_word_that_is_not_needed_stays_forbidden(tiny, processor_of):
    made = processor_of(constrain.compile_choice(["abc", "xyz"], tiny.vocabulary))
    rows = tiny.generate(PROMPTS, [made.processor], bad_words_ids=[tiny.tokenizer("a").input_ids])
    assert {tiny.text(row)[0] for row in rows} == {"xyz"} and not made.events


def test_the_mask_comes_before_top_k(tiny, processor_of):
    """Three of ten are allowed, and top-k keeps two of those three: the two best, in proportion."""
    processor = processor_of(constrain.compile_choice(["b", "d", "i"], tiny.vocabulary)).processor
    ids = [tiny.tokenizer(letter).input_ids[0] for letter in "abcdefghij"]
    scores = torch.full((1, 272), -50.0)
    scores[0, ids] = torch.tensor([9.0, 1.0, 8.0, 2.0, 7.0, 6.0, 5.0, 4.0, 0.5, 3.0])
    chain = transformers.LogitsProcessorList([processor, transformers.TopKLogitsWarper(2)])
    probabilities = chain(torch.tensor([[1, 2]]), scores).softmax(-1)[0]
    assert probabilities[ids[1]].item() == pytest.approx(1 / (1 + math.e))
    assert probabilities[ids[3]].item() == pytest.approx(math.e / (1 + math.e))
    assert probabilities.sum().item() == pytest.approx(1)


# The call itself ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64])
def test_masked_scores(tiny, processor_of, dtype):
    """Forbidden is exactly minus infinity, allowed and unconstrained keep their bits, the input is not written."""
    processor = processor_of([tiny.grammar, None]).processor
    scores = torch.randn(2, 272, generator=torch.Generator().manual_seed(0)).to(dtype)
    before = scores.clone()
    masked = processor(torch.tensor([[1, 2], [3, 4]]), scores)
    bitmask = constrain.allocate_token_bitmask(1, 272)
    tiny.grammar.matcher().fill_next_token_bitmask(bitmask)
    allowed = np.unpackbits(bitmask.view(np.uint8), bitorder="little")[:272].astype(bool)
    assert masked.dtype == dtype and torch.equal(scores, before)
    assert torch.equal(masked[1], before[1])
    assert torch.equal(masked[0, allowed], before[0, allowed])
    assert (masked[0, ~allowed] == -math.inf).all()
    probabilities = masked.float().softmax(-1)
    assert (probabilities[0, ~allowed] == 0).all() and not probabilities.isnan().any()


def test_nothing_to_do_is_nothing_done(tiny, processor_of):
    scores = torch.randn(2, 272)
    assert processor_of([None, None]).processor(torch.tensor([[1], [2]]), scores) is scores
    processor = processor_of([tiny.grammar, None]).processor
    processor(torch.tensor([[1], [2]]), scores)
    assert processor(torch.tensor([[1, tiny.eos], [2, 5]]), scores) is scores  # an illegal history


@pytest.mark.parametrize("width", [300, 260])
def test_scores_of_another_width(tiny, processor_of, width):
    """Wider: the rest is forbidden. Narrower: what is there is masked, and an event says so."""
    vocabulary = constrain.Vocabulary.from_tokenizer(tiny.tokenizer)
    made = processor_of(constrain.compile_choice(["abc"], vocabulary))
    scores = torch.zeros(1, width)
    masked = made.processor(torch.tensor([[1]]), scores)
    assert torch.isfinite(masked[0]).nonzero().flatten().tolist() == tiny.tokenizer("a").input_ids
    made = processor_of(constrain.compile_choice([""], vocabulary))
    masked = made.processor(torch.tensor([[1]]), scores)
    assert torch.isfinite(masked).any()
    assert made.kinds() == (set() if width > tiny.eos else {"narrow", "disabled"})


def test_a_failing_row_ends_and_the_others_go_on(tiny, processor_of):
    """A limit that is too small for one constraint of the batch."""
    lists = [{"type": "array", "items": {"type": name}, "minItems": 1} for name in ("boolean", "integer")]
    schema = {"type": "array", "items": {"anyOf": lists}, "minItems": 1, "maxItems": 2}
    tight = constrain.compile_json_schema(schema, tiny.vocabulary, limits=constrain.Limits(max_threads=1))
    made = processor_of([tiny.grammar, tight, tiny.grammar])
    rows = tiny.generate(PROMPTS, [made.processor])
    tiny.check([rows[0], rows[2]])
    text, ended = tiny.text(rows[1])
    assert ended and len(text) < 4
    with pytest.raises(json.JSONDecodeError):
        json.loads(text)
    assert [(event.kind, event.row) for event in made.events] == [("failed", 1)]
    with pytest.raises(constrain.ConstrainError, match="row 1"):
        tiny.generate(PROMPTS, [processor_of([None, tight, None], on_failure="raise").processor])


def test_stop_tokens_of_the_caller(tiny, processor_of):
    pad = tiny.pad
    made = processor_of(constrain.compile_choice(["abc"], tiny.vocabulary), stop_token_ids=[pad])
    letters = tiny.tokenizer("abc").input_ids
    for end in range(4):
        masked = made.processor(torch.tensor([[1, *letters[:end]]]), torch.zeros(1, 272))
    assert torch.isfinite(masked[0]).nonzero().flatten().tolist() == [pad]


def test_continuous_batching_is_declined(tiny, processor_of):
    processor = processor_of(tiny.grammar).processor
    assert processor.supports_continuous_batching is False
    with pytest.raises(ValueError, match="continuous batching"):
        processor(torch.tensor([1, 2]), torch.zeros(2, 272))
