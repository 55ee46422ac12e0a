"""The processor for llama-cpp-python, in llama-cpp-python, with SmolLM2-135M-Instruct."""

from __future__ import annotations

import json

import jsonschema
import pytest

import constrain

llama_cpp = pytest.importorskip("llama_cpp")

from constrain.adapters.llama_cpp import ConstraintLogitsProcessor, vocabulary_of  # noqa: E402

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string", "maxLength": 12}, "unit": {"enum": ["celsius", "kelvin"]}},
    "required": ["city", "unit"],
    "additionalProperties": False,
}
PROMPT = "<|im_start|>user\nWeather in Oslo as JSON.<|im_end|>\n<|im_start|>assistant\n"


@pytest.fixture(scope="module")
def llm():
    from constrain.runners import DownloadError, model_path

    try:
        path = model_path()
    except DownloadError as error:
        pytest.skip(f"the weights cannot be had: {error}")
    return llama_cpp.Llama(str(path), n_ctx=512, n_threads=2, verbose=False)


@pytest.fixture(scope="module")
def grammar(llm):
    return constrain.compile_json_schema(SCHEMA, vocabulary_of(llm), whitespace="compact")


def answer(llm, processor, **options):
    processors = llama_cpp.LogitsProcessorList([processor])
    found = llm(PROMPT, logits_processor=processors, max_tokens=100, **options)["choices"][0]
    processor.check()
    return found["text"], found["finish_reason"]


def test_the_vocabulary_is_that_of_the_host(llm):
    """Bytes of tokens as the host spells them, which has room for 32."""
    vocabulary = vocabulary_of(llm)
    for token in range(0, vocabulary.n_tokens, 7):
        spelled = vocabulary.token_bytes(token)
        if spelled and len(spelled) <= 32:
            assert llm.detokenize([token], prev_tokens=[1]) == spelled
    assert llm.token_eos() in vocabulary.eos_token_ids


@pytest.mark.parametrize("options", [{"temperature": 0}, {"temperature": 1.5, "seed": 3}], ids=["greedy", "sampled"])
def test_answers_satisfy_their_constraint(llm, grammar, options):
    processor = ConstraintLogitsProcessor(grammar)
    for _ in range(2):  # an instance serves again
        text, reason = answer(llm, processor, **options)
        assert reason == "stop"
        jsonschema.validate(json.loads(text), SCHEMA)
    assert not processor.counts


def test_a_failure_ends_the_reply_and_is_raised(llm, grammar, monkeypatch):
    processor = ConstraintLogitsProcessor(grammar)

    def fails(*arguments, **options):
        raise RuntimeError("poisoned")

    monkeypatch.setattr(processor._histories, "masks", fails)
    with pytest.raises(RuntimeError, match="poisoned"):
        answer(llm, processor, temperature=0)
