"""The adapter for SGLang, over its own classes where they can be imported, else over what is documented of them."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest

from . import documented

WIDTH, END = 288, 258
SCHEMA = json.dumps({"type": "object", "properties": {"a": {"enum": ["ab", "ba"]}}, "required": ["a"]})


@pytest.fixture
def host(monkeypatch):
    return documented.use(monkeypatch, "sglang")[0]


@pytest.fixture
def backend(host, tokenizer, monkeypatch):
    """As the server makes it: by the function that is registered."""
    from sglang.srt.constrained import base_grammar_backend as base

    monkeypatch.setattr(base, "GRAMMAR_BACKEND_REGISTRY", base.GRAMMAR_BACKEND_REGISTRY)
    host.register()
    arguments = SimpleNamespace(constrained_json_disable_any_whitespace=True, reasoning_parser=None)
    made = base.GRAMMAR_BACKEND_REGISTRY.pop("constrain")(arguments, tokenizer, WIDTH, {END})
    yield made
    made.executor.shutdown()


def bits(mask, row):
    return np.flatnonzero(np.unpackbits(np.asarray(mask)[row].view(np.uint8), bitorder="little")).tolist()


def compiled(backend, kind, text, reasoning=False):
    value, hit = backend.get_cached_or_future_value((kind, text), reasoning)
    if hit:
        return value
    grammar = value.result(60)
    backend.set_cache((kind, text), grammar)
    return grammar.copy()


@pytest.mark.parametrize(
    ("kind", "spec", "text"),
    [
        ("json", SCHEMA, '{"a":"ab"}'),
        ("json", "$$ANY$$", '{"x":[1]}'),
        ("regex", "[0-9]{2}", "12"),
        ("ebnf", 'root ::= "ab"', "ab"),
        (
            "structural_tag",
            json.dumps({"type": "structural_tag", "format": {"type": "regex", "pattern": "[ab]{4}"}}),
            "abba",
        ),
    ],
)
def test_the_life_of_a_request(backend, encode, kind, spec, text):
    grammar = compiled(backend, kind, spec)
    other = compiled(backend, kind, spec)  # from the cache
    ids = encode(text)
    mask = grammar.allocate_vocab_mask(WIDTH, 3, "cpu")
    assert tuple(mask.shape) == (3, 9) and bits(mask, 0) == list(range(WIDTH))
    for token in ids:
        grammar.fill_vocab_mask(mask, 1)
        assert token in bits(mask, 1) and END not in bits(mask, 1)
        # the server reads from the mask of a node whether a drafted child is legal, and takes it
        grammar.accept_token(token)
        grammar.rollback(1)
        grammar.accept_token(token)
    assert not grammar.is_terminated() and not grammar.finished
    grammar.accept_token(END)
    assert grammar.is_terminated()
    grammar.accept_token(5)  # what a server shows behind the end
    grammar.rollback(2)
    grammar.finished = True
    assert not grammar.is_terminated() and grammar.finished and not other.finished
    with pytest.raises(ValueError, match="not allowed after 0 tokens"):
        other.accept_token(END)


def test_rows_are_filled_together_and_applied(host, backend, encode):
    from sglang.srt.constrained.base_grammar_backend import GrammarRow

    first, second = compiled(backend, "json", SCHEMA), compiled(backend, "regex", "ab|x")
    mask = first.allocate_vocab_mask(WIDTH, 4, "cpu")
    alone = first.allocate_vocab_mask(WIDTH, 4, "cpu")
    first.fill_vocab_mask(alone, 3)
    second.fill_vocab_mask(alone, 1)
    first.fill_vocab_mask_batched([GrammarRow(3, first), GrammarRow(1, second)], mask)
    assert [bits(mask, row) for row in range(4)] == [bits(alone, row) for row in range(4)]
    logits = documented.tensor(np.zeros((4, WIDTH)), np.float32)
    first.apply_vocab_mask(logits, first.move_vocab_mask(mask, "cpu"))
    assert [np.flatnonzero(np.asarray(logits[row]) == 0).tolist() for row in range(4)] == [
        bits(mask, row) for row in range(4)
    ]
    first.reset_vocab_mask(mask)
    assert bits(mask, 3) == list(range(WIDTH))
    assert first.try_jump_forward(None) is None


def test_bad_grammars_are_objects(host, backend):
    from sglang.srt.constrained.base_grammar_backend import InvalidGrammarObject

    for kind, spec in [
        ("json", "{"),
        ("json", '{"type": "no such"}'),
        ("regex", "("),
        ("ebnf", "?"),
        ("structural_tag", "1"),
    ]:
        value, _ = backend.get_cached_or_future_value((kind, spec), False)
        assert isinstance(value.result(60), InvalidGrammarObject) and value.result().error_message


def test_reasoning_is_free_up_to_its_end(host, tokenizer, encode, monkeypatch):
    monkeypatch.setattr(host, "_markers", lambda parser: ("<think>", "</think>") if parser else None)
    from sglang.srt.constrained import base_grammar_backend as base

    host.register("other")
    arguments = SimpleNamespace(reasoning_parser="some")
    backend = base.GRAMMAR_BACKEND_REGISTRY.pop("other")(arguments, tokenizer, WIDTH, {END})
    for _ in range(2):  # compiled, then from the cache
        grammar, hit = backend.get_cached_or_future_value(("regex", "[0-9]{2}"), True)
        if not hit:
            grammar = grammar.result(60)
            backend.set_cache(("regex", "[0-9]{2}"), grammar)
        for token in [*encode("let me think</think>"), *encode("12"), END]:
            grammar.accept_token(token)
        assert grammar.is_terminated()
    plain, _ = backend.get_cached_or_future_value(("regex", "[0-9]{2}"), False)
    with pytest.raises(ValueError, match="not allowed"):
        plain.accept_token(encode("l")[0])
    backend.executor.shutdown()
