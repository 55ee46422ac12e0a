"""The adapter for vLLM, over its own classes where they can be imported, else over what is documented of them."""

from __future__ import annotations

import json
import logging
from types import SimpleNamespace

import numpy as np
import pytest

import constrain

from . import documented

WIDTH, END = 288, 258
SCHEMA = {"type": "object", "properties": {"a": {"enum": ["ab", "ba"]}}, "required": ["a"]}
BODY = {"structured_outputs": {"json": SCHEMA, "disable_any_whitespace": True}}
TEXT = '{"a":"ab"}'


@pytest.fixture
def host(monkeypatch, tokenizer):
    adapter, _ = documented.use(monkeypatch, "vllm")
    import vllm.tokenizers

    monkeypatch.setattr(vllm.tokenizers, "cached_tokenizer_from_config", lambda model_config, **options: tokenizer)
    return adapter


@pytest.fixture
def config():
    model = SimpleNamespace(get_vocab_size=lambda: WIDTH, try_get_generation_config=lambda: {"eos_token_id": END})
    outputs = SimpleNamespace(disable_any_whitespace=True, disable_additional_properties=False)
    return SimpleNamespace(model_config=model, structured_outputs_config=outputs, additional_config={})


def params(body=None):
    return SimpleNamespace(extra_args=None if body is None else {"constrain": body}, all_stop_token_ids={END})


def scores(rows):
    return documented.tensor(np.zeros((rows, WIDTH)), np.float32)


def allowed(row):
    return np.flatnonzero(np.asarray(row) == 0).tolist()


@pytest.fixture(scope="module")
def expected(tokenizer):
    """Ids that may follow a history under BODY."""
    vocabulary = constrain.Vocabulary.from_tokenizer(tokenizer, logits_width=WIDTH, eos_token_ids=[END])
    constraint = constrain.requests.chat(BODY, vocabulary)

    def after(ids):
        matcher = constraint.matcher(max_rollback=None)
        assert matcher.accept_tokens(ids) == len(ids)
        return [token for token in range(WIDTH) if matcher.allows(token)]

    return after


# Logits processors ----------------------------------------------------------------------------------------------------


def test_v1_follows_requests_that_come_move_and_go(host, config, encode, expected):
    from vllm.v1.sample.logits_processor import BatchUpdate, MoveDirectionality

    processor = host.ConstraintLogitsProcessor(config, "cpu", False)
    assert not processor.is_argmax_invariant()
    processor.update_state(None)
    assert allowed(processor.apply(scores(1))[0]) == list(range(WIDTH))
    first, second, free = [], [], []
    added = [(0, params(BODY), [1], first), (1, params(), [1], free), (2, params(json.dumps(BODY)), [2], second)]
    processor.update_state(BatchUpdate(3, [], added, []))
    ids = encode(TEXT)
    for step, token in enumerate(ids):
        out = processor.apply(scores(3))
        assert allowed(out[0]) == expected(ids[:step]) and allowed(out[2]) == expected(ids[:step])
        assert allowed(out[1]) == list(range(WIDTH))
        first.append(token)
        second.append(token)
    processor.update_state(BatchUpdate(3, [], [], [(0, 1, MoveDirectionality.SWAP)]))
    second.pop()  # as if preempted and put back in
    out = processor.apply(scores(3))
    assert allowed(out[0]) == list(range(WIDTH)) and allowed(out[1]) == [END]
    processor.update_state(BatchUpdate(2, [1], [], [(2, 1, MoveDirectionality.UNIDIRECTIONAL)]))
    second.append(ids[-1])
    assert allowed(processor.apply(scores(2))[1]) == [END]
    second.append(END)
    assert allowed(processor.apply(scores(2))[1]) == list(range(WIDTH))
    processor.update_state(BatchUpdate(1, [], [(1, params(), None, [])], []))
    assert allowed(processor.apply(scores(2))[1]) == list(range(WIDTH))


def test_v1_says_when_tokens_are_hidden(host, config, caplog):
    from vllm.v1.sample.logits_processor import BatchUpdate

    processor = host.ConstraintLogitsProcessor(config, "cpu", False)
    output: list[int] = []
    processor.update_state(BatchUpdate(1, [], [(0, params(BODY), [1], output)], []))
    processor.apply(scores(1))
    output.append(-1)
    with caplog.at_level(logging.ERROR, "constrain"):
        assert allowed(processor.apply(scores(1))[0]) == [END]
    assert "--logits-processors constrain.adapters.vllm:ConstraintLogitsProcessor" in caplog.text


@pytest.mark.parametrize("body", [{"structured_outputs": {"json": {"type": "no such"}}}, "{", {"regex": "("}])
def test_bad_bodies_are_refused_at_admission_and_never_end_the_engine(host, config, body, caplog):
    from vllm.v1.sample.logits_processor import BatchUpdate

    with pytest.raises(ValueError):
        host.ConstraintLogitsProcessor.validate_params(params(body))
    host.ConstraintLogitsProcessor.validate_params(params(BODY))
    host.ConstraintLogitsProcessor.validate_params(params())
    processor = host.ConstraintLogitsProcessor(config, "cpu", False)
    with caplog.at_level(logging.ERROR, "constrain"):
        processor.update_state(BatchUpdate(1, [], [(0, params(body), [1], [])], []))
        assert allowed(processor.apply(scores(1))[0]) == [END]
    assert "creation" in caplog.text


def test_an_unreadable_tokenizer_does_not_end_the_engine(host, config, caplog, monkeypatch):
    import vllm.tokenizers

    monkeypatch.setattr(vllm.tokenizers, "cached_tokenizer_from_config", lambda model_config, **options: object())
    processor = host.ConstraintLogitsProcessor(config, States([([1], []), ([1], [])]))
    with caplog.at_level(logging.ERROR, "constrain"):
        assert processor.add_request(0, params(BODY)) and not processor.add_request(1, params())
        out = processor.apply(scores(2), context([(0, 0, 0, 1), (1, 0, 0, 1)]))
    assert allowed(out[0]) == [END] and allowed(out[1]) == list(range(WIDTH))
    assert "creation" in caplog.text


class States:
    """What Model Runner V2 keeps: the tokens of each slot, and how long its prompt was."""

    def __init__(self, slots):
        table = np.zeros((len(slots), 64), np.int64)
        self.all_token_ids = SimpleNamespace(gpu=None)
        for slot, (prompt, output) in enumerate(slots):
            table[slot, : len(prompt) + len(output)] = [*prompt, *output]
        self.all_token_ids.gpu = documented.tensor(table)
        self.prompt_len = SimpleNamespace(np=np.array([len(prompt) for prompt, _ in slots]))


def context(rows):
    """rows: (slot, offset among the rows of its request, position, token fed)."""
    from vllm.v1.worker.gpu.sample.logits_processor import LogitsContext

    columns = [documented.tensor(column) for column in zip(*rows, strict=True)]
    slots = list(dict.fromkeys(row[0] for row in rows))
    return LogitsContext(
        expanded_idx_mapping=columns[0],
        idx_mapping=documented.tensor(slots),
        idx_mapping_np=np.array(slots),
        expanded_local_pos=columns[1],
        pos=columns[2],
        input_ids=columns[3],
        seq_lens_upper_bound_np=np.array([64] * len(slots)),
    )


def test_v2_masks_drafted_tokens_one_by_one(host, config, encode, expected):
    ids, prompt = encode(TEXT), [5, 6, 7]
    processor = host.ConstraintLogitsProcessor(config, States([(prompt, []), (prompt, ids[:3])]))
    assert processor.add_request(0, params(BODY)) and processor.add_request(1, params(BODY))
    assert not processor.add_request(3, params())
    # slot 0 is new; slot 1 comes back with three tokens; slot 3 has no constraint; rows in any order
    out = processor.apply(scores(3), context([(1, 0, 5, ids[2]), (3, 0, 9, 1), (0, 0, 2, 7)]))
    assert allowed(out[0]) == expected(ids[:3]) and allowed(out[2]) == expected([])
    assert allowed(out[1]) == list(range(WIDTH))
    # a right draft, then a wrong one
    wrong = (ids[2] + 1) % 256
    drafted = [(0, 0, 3, ids[0]), (0, 1, 4, ids[1]), (0, 2, 5, wrong)]
    out = processor.apply(scores(3), context(drafted))
    assert [allowed(out[i]) for i in range(2)] == [expected(ids[:1]), expected(ids[:2])]
    assert allowed(out[2]) == list(range(WIDTH))
    # one draft was taken: the next token takes the place of the other
    out = processor.apply(scores(2), context([(0, 0, 5, ids[2]), (0, 1, 6, ids[3])]))
    assert [allowed(out[i]) for i in range(2)] == [expected(ids[:3]), expected(ids[:4])]
    # the slot gets another request, whose prompt is still being read
    assert processor.add_request(0, params(BODY))
    out = processor.apply(scores(1), context([(0, 0, 1, 6)]))
    assert allowed(out[0]) == list(range(WIDTH))


# Structured outputs ---------------------------------------------------------------------------------------------------


@pytest.fixture
def backend(host, config, tokenizer):
    return host.ConstrainBackend(config, tokenizer=tokenizer, vocab_size=WIDTH)


def bits(bitmask, row):
    return np.flatnonzero(np.unpackbits(np.asarray(bitmask)[row].view(np.uint8), bitorder="little")).tolist()


@pytest.mark.parametrize(
    ("kind", "spec", "text"),
    [
        ("JSON", json.dumps(SCHEMA), TEXT),
        ("JSON_OBJECT", "", '{"x":[1]}'),
        ("REGEX", "[0-9]{2}", "12"),
        ("GRAMMAR", 'root ::= "ab"', "ab"),
        ("CHOICE", '["ab", "ba"]', "ba"),
        (
            "STRUCTURAL_TAG",
            json.dumps({"type": "structural_tag", "format": {"type": "json_schema", "json_schema": SCHEMA}}),
            TEXT,
        ),
    ],
)
def test_every_kind_of_structured_output(backend, encode, kind, spec, text):
    from vllm.v1.structured_output.backend_types import StructuredOutputOptions

    grammar = backend.compile_grammar(StructuredOutputOptions[kind], spec, stop_token_ids={END})
    bitmask = backend.allocate_token_bitmask(2)
    assert bitmask.shape == (2, 9)
    ids = encode(text)
    for token in ids:
        grammar.fill_bitmask(bitmask, 1)
        assert token in bits(bitmask, 1) and END not in bits(bitmask, 1)
        assert bits(bitmask, 0) == list(range(288))
        assert grammar.accept_tokens("r", [token]) and not grammar.is_terminated()
    assert grammar.validate_tokens([END, 1]) == [END]
    assert grammar.accept_tokens("r", [END, 7]) and grammar.is_terminated()
    assert grammar.validate_tokens([1]) == []
    grammar.rollback(len(ids) + 2)
    assert not grammar.is_terminated() and grammar.validate_tokens([*ids, -1, 3]) == ids
    assert not grammar.accept_tokens("r", [ids[0], 300]) and grammar.accept_tokens("r", ids)
    grammar.reset()
    assert grammar.accept_tokens("r", ids)
    backend.destroy()


def test_bad_specs_are_value_errors(backend):
    from vllm.v1.structured_output.backend_types import StructuredOutputOptions

    for kind, spec in [("JSON", "{"), ("JSON", '{"type": "no such"}'), ("REGEX", "("), ("CHOICE", "1")]:
        with pytest.raises(ValueError):
            backend.compile_grammar(StructuredOutputOptions[kind], spec)


def test_a_failing_request_may_only_end(backend, encode, caplog, monkeypatch):
    from vllm.v1.structured_output.backend_types import StructuredOutputOptions

    grammar = backend.compile_grammar(StructuredOutputOptions.REGEX, "[a-z]+", {END})
    bitmask = backend.allocate_token_bitmask(1)
    with caplog.at_level(logging.ERROR, "constrain"):
        grammar.matcher.fail("mask", "poisoned")
        grammar.fill_bitmask(bitmask, 0)
    assert bits(bitmask, 0) == [END] and "poisoned" in caplog.text
    assert grammar.accept_tokens("r", [END]) and grammar.is_terminated()


def test_the_backend_takes_a_name_of_the_host(host, monkeypatch):
    import vllm.v1.structured_output as manager

    from constrain.adapters import _vllm_plugin

    before = manager.GuidanceBackend
    monkeypatch.setattr(manager, "GuidanceBackend", before)
    monkeypatch.delenv("CONSTRAIN_VLLM_BACKEND", raising=False)
    _vllm_plugin.load()
    assert manager.GuidanceBackend is before
    monkeypatch.setenv("CONSTRAIN_VLLM_BACKEND", "guidance")
    _vllm_plugin.load()
    assert manager.GuidanceBackend is host.ConstrainBackend
    monkeypatch.setenv("CONSTRAIN_VLLM_BACKEND", "outlines")
    with pytest.raises(ValueError, match="'outlines'"):
        _vllm_plugin.load()
