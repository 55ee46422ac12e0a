"""The adapter for TensorRT-LLM, over what is documented of its classes."""

from __future__ import annotations

import enum
import json
from types import SimpleNamespace

import numpy as np
import pytest

from . import documented

WIDTH, END = 288, 258
GuideType = enum.Enum("GuideType", "JSON JSON_SCHEMA REGEX EBNF_GRAMMAR STRUCTURAL_TAG OTHER")


@pytest.fixture
def host(monkeypatch):
    return documented.use(monkeypatch, "tensorrt_llm")[0]


@pytest.fixture
def config(tokenizer):
    return SimpleNamespace(tokenizer_str=tokenizer.to_str(), stop_token_ids=[END])


def guide(kind, text=None):
    return SimpleNamespace(guide_type=GuideType[kind], guide=text)


def bits(mask, row):
    return np.flatnonzero(np.unpackbits(mask[row].view(np.uint8), bitorder="little")).tolist()


@pytest.mark.parametrize(
    ("kind", "spec", "text"),
    [
        ("JSON", None, '{"x":[1]}'),
        ("JSON_SCHEMA", '{"enum": ["ab", "ba"]}', '"ab"'),
        ("REGEX", "[0-9]{2}", "12"),
        ("EBNF_GRAMMAR", 'root ::= "ab"', "ab"),
        (
            "STRUCTURAL_TAG",
            json.dumps({"type": "structural_tag", "format": {"type": "regex", "pattern": "[ab]{4}"}}),
            "abba",
        ),
    ],
)
def test_the_life_of_a_request(host, config, encode, kind, spec, text):
    matcher = host.ConstrainMatcherFactory(config, WIDTH, 3).create(guide(kind, spec))
    mask = np.full((2, 9), -1, np.int32)
    ids = encode(text)
    for token in ids:
        matcher.fill_next_token_bitmask(mask, 1)
        assert token in bits(mask, 1) and END not in bits(mask, 1)
        assert matcher.accept_token(token)
    assert not matcher.accept_token(300) and not matcher.is_terminated()
    assert matcher.accept_token(END) and matcher.is_terminated()
    matcher.rollback(2)
    assert not matcher.is_terminated() and matcher.accept_token(ids[-1]) and matcher.accept_token(END)


def test_what_cannot_be_is_a_value_error(host, config):
    factory = host.ConstrainMatcherFactory(config, WIDTH)
    for kind, spec in [("JSON_SCHEMA", "{"), ("REGEX", "("), ("OTHER", ""), ("EBNF_GRAMMAR", "")]:
        with pytest.raises(ValueError):
            factory.create(guide(kind, spec))
    with pytest.raises(ValueError, match="tokenizer_str"):
        host.ConstrainMatcherFactory(SimpleNamespace(tokenizer_str=None, stop_token_ids=None), WIDTH)


def test_the_factory_takes_a_name_of_the_host(host, config, encode, monkeypatch):
    from tensorrt_llm._torch.pyexecutor import guided_decoder

    monkeypatch.setattr(guided_decoder, "XGrammarMatcherFactory", guided_decoder.XGrammarMatcherFactory)
    host.install_factory(whitespace="compact")
    made = guided_decoder.XGrammarMatcherFactory(config, WIDTH, max_num_draft_tokens=2)
    matcher = made.create(guide("JSON_SCHEMA", '{"type": "array", "items": {"type": "null"}}'))
    assert matcher.take(encode("[null")) and not matcher.take(encode(" "))  # the setting holds
    with pytest.raises(ValueError, match="NoSuchFactory"):
        host.install_factory("NoSuchFactory")
