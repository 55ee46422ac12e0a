"""Models for the hosts: a tiny one with random weights, and SmolLM2-135M-Instruct from its GGUF file."""

from __future__ import annotations

import json
import warnings
from types import SimpleNamespace

import jsonschema
import pytest

import constrain

SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "maxLength": 12},
        "days": {"type": "integer", "minimum": 0, "maximum": 150},
        "unit": {"enum": ["celsius", "kelvin"]},
    },
    "required": ["city", "unit"],
    "additionalProperties": False,
}


def tiny_model(width: int, seed: int):
    """A Llama with random weights and logits that are `width` wide."""
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    config = transformers.LlamaConfig(
        vocab_size=width,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=2048,
        bos_token_id=None,
        eos_token_id=None,
    )
    torch.manual_seed(seed)
    model = transformers.LlamaForCausalLM(config).eval()
    with torch.no_grad():
        model.lm_head.weight *= 40  # opinions, so that modes of decoding differ
    return model


class Host:
    """A model, its tokenizer, and the checks that every output must pass."""

    def __init__(self, model, tokenizer, eos, pad):
        self.model, self.tokenizer, self.eos, self.pad = model, tokenizer, eos, pad
        self.vocabulary = constrain.Vocabulary.from_tokenizer(tokenizer, logits_width=model.config.vocab_size)
        # compact, so that models that like spaces come to an end
        self.grammar = constrain.compile_json_schema(SCHEMA, self.vocabulary, whitespace="compact")

    def generate(self, prompts, processors, max_new_tokens=120, **options):
        """Ids after the prompts [rows, new]."""
        inputs = self.tokenizer(prompts, return_tensors="pt", padding=True)
        out = self.model.generate(
            input_ids=inputs.input_ids,
            attention_mask=inputs.attention_mask,
            max_new_tokens=max_new_tokens,
            eos_token_id=self.eos,
            pad_token_id=self.pad,
            logits_processor=processors,
            **options,
        )
        return out[:, inputs.input_ids.shape[1] :].tolist()

    def text(self, ids):
        """Text of ids up to the end token, and whether there is one."""
        finished = self.eos in ids
        ids = ids[: ids.index(self.eos)] if finished else ids
        return b"".join(self.vocabulary.token_bytes(i) or b"<control>" for i in ids).decode(
            "utf-8", "replace"
        ), finished

    def check(self, rows, grammar=None, schema=SCHEMA, finished=True):
        """Every row is a valid text, or the legal beginning of one where finished is False; the finished values."""
        values = []
        for ids in rows:
            text, ended = self.text(ids)
            assert ended or not finished, text
            if ended:
                values.append(json.loads(text))
                jsonschema.validate(values[-1], schema)
            else:
                assert (grammar or self.grammar).matcher().accept_tokens(ids) == len(ids), text
        return values


@pytest.fixture(scope="session", autouse=True)
def one_thread():
    """Small products on several threads wait for each other, badly so on a machine with other work."""
    pytest.importorskip("torch").set_num_threads(1)


@pytest.fixture(scope="session")
def tiny() -> Host:
    transformers = pytest.importorskip("transformers")
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = [("c", "e"), ('"', ":"), ("{", '"'), ("Ġ", "a")]
    pieces = [a + b for a, b in merges]
    tokenizer = Tokenizer(models.BPE({c: i for i, c in enumerate([*alphabet, *pieces])}, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(["<|end|>", "<|pad|>"])
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="<|end|>", pad_token="<|pad|>", padding_side="left"
    )
    return Host(tiny_model(272, seed=3), fast, fast.eos_token_id, fast.pad_token_id)


@pytest.fixture(scope="session")
def assistant():
    """Another model for the tokenizer of `tiny`."""
    return tiny_model(272, seed=4)


@pytest.fixture(scope="session")
def smollm2() -> Host:
    """SmolLM2-135M-Instruct; skips where its weights are neither there nor to be had."""
    pytest.importorskip("accelerate", reason="transformers reads GGUF files with accelerate")
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    from constrain.runners import DownloadError, model_path

    try:
        path = model_path()
    except DownloadError as error:
        pytest.skip(f"the weights cannot be had: {error}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tokenizer = transformers.AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name, padding_side="left")
        model = transformers.AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32)
    return Host(model.eval(), tokenizer, tokenizer.eos_token_id, tokenizer.pad_token_id)


@pytest.fixture
def processor_of():
    """A processor and the events that it reported."""
    pytest.importorskip("transformers")
    from constrain.adapters.transformers import ConstraintLogitsProcessor

    def make(constraint, **options):
        events: list[object] = []
        processor = ConstraintLogitsProcessor(constraint, on_event=events.append, **options)
        return SimpleNamespace(processor=processor, events=events, kinds=lambda: {e.kind for e in events})

    return make
