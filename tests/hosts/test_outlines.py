"""The backend for Outlines, in Outlines, with a model of transformers."""

from __future__ import annotations

import copy
import json

import jsonschema
import numpy as np
import pytest

outlines = pytest.importorskip("outlines")
torch = pytest.importorskip("torch")

from constrain.adapters.outlines import ConstrainBackend, ConstraintLogitsProcessor, vocabulary_of  # noqa: E402

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string", "maxLength": 5}, "unit": {"enum": ["celsius", "kelvin"]}},
    "required": ["city", "unit"],
    "additionalProperties": False,
}
LARK = 'start: "x" ("ab" | NUMBER)\nNUMBER: /[0-9]{3}/'


@pytest.fixture
def model(tiny):
    return outlines.from_transformers(tiny.model, tiny.tokenizer)


def answer(model, processor, prompt="hello", **options):
    generator = outlines.Generator(model, processor=processor)
    return generator(prompt, max_new_tokens=200, eos_token_id=model.hf_tokenizer.eos_token_id, **options)


@pytest.mark.parametrize("options", [{}, {"do_sample": True}, {"num_beams": 3}], ids=str)
def test_answers_satisfy_their_constraint(model, options):
    torch.manual_seed(3)
    backend = ConstrainBackend(model, whitespace="compact")
    text = answer(model, backend.get_json_schema_logits_processor(json.dumps(SCHEMA)), **options)
    jsonschema.validate(json.loads(text), SCHEMA)
    text = answer(model, backend.get_regex_logits_processor("[0-9]{3}-[a-f]"), **options)
    assert len(text) == 5 and text[:3].isdigit()
    text = answer(model, backend.get_cfg_logits_processor(LARK), **options)
    assert text == "xab" or (text[0] == "x" and len(text) == 4)


def test_batches_and_repeated_use(model):
    backend = ConstrainBackend(model)
    generator = outlines.Generator(model, processor=backend.get_regex_logits_processor("[0-9]{4}"))
    end = {"eos_token_id": model.hf_tokenizer.eos_token_id, "max_new_tokens": 9}
    for _ in range(2):
        texts = generator.batch(["hello", "a longer prompt"], **end)
        assert len(texts) == 2 and all(len(text) == 4 and text.isdigit() for text in texts)


def test_whitespace_is_the_pattern_that_is_given(model):
    backend = ConstrainBackend(model)
    text = answer(
        model, backend.get_json_schema_logits_processor('{"enum": [[true, null]]}', whitespace_pattern=r"\n\n")
    )
    assert text.replace("\n\n", "") == "[true,null]" and "\n\n" in text
    with pytest.raises(ValueError):
        backend.get_json_schema_logits_processor('{"type": "no such"}')
    with pytest.raises(ValueError, match="object"):
        vocabulary_of(object())


def test_arrays_of_numpy(tiny):
    """As Outlines gives them for llama.cpp."""
    processor = copy.deepcopy(ConstraintLogitsProcessor(tiny.grammar, "numpy"))
    scores = np.zeros((1, tiny.vocabulary.size), np.float32)
    out = processor(np.array([[1, 2, 3]]), scores)
    allowed = np.flatnonzero(out[0] == 0).tolist()
    assert [tiny.vocabulary.token_bytes(i)[:1] for i in allowed] == [b"{"] * len(allowed) and scores.max() == 0
    assert processor(np.array([1, 2, 3, allowed[0]]), scores[0]).shape == scores[0].shape
