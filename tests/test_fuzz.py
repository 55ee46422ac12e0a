"""The fuzzer: its corpus passes, its schemas vary, and it finds and shrinks what is wrong."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

from constrain.schema.counting import Counting
from fuzz.__main__ import cases
from fuzz.judge import Judge
from fuzz.mutate import corpus, holders, mutated
from fuzz.shrink import shrunk


def test_the_corpus_holds() -> None:
    judge = Judge(kernels=0.05)
    assert [f for i, schema in enumerate(corpus()[::6]) for f in judge.failures(schema, i)] == []
    assert judge.counts["valid"] > judge.counts["values"] / 5


def test_mutations_hold() -> None:
    judge = Judge(kernels=0.05)
    schemas = corpus()
    assert [f for i in range(40) for f in judge.failures(mutated(schemas, Random(i)), i)] == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_many_mutations_hold(seed: int) -> None:
    judge = Judge(kernels=0.1)
    pairs = [pair for pair, _ in zip(cases(seed + 100), range(500), strict=False)]
    assert [f for schema, own in pairs for f in judge.failures(schema, own)] == []


def test_mutations_vary_and_are_reproducible() -> None:
    schemas = corpus()
    texts = [json.dumps(mutated(schemas, Random(i))) for i in range(200)]
    assert len(set(texts)) > 150
    assert texts == [json.dumps(mutated(schemas, Random(i))) for i in range(200)]
    assert schemas == corpus()
    keywords = {keyword for text in texts for keyword in _keywords(json.loads(text))}
    assert {"not", "oneOf", "if", "contains", "unevaluatedProperties", "$ref", "propertyNames"} <= keywords


def _keywords(schema: Any) -> set[str]:
    below = [container[key] for container, key in holders(schema)]
    return {keyword for part in (schema, *below) if isinstance(part, dict) for keyword in part}


def test_a_fault_is_found_and_shrunk(monkeypatch: pytest.MonkeyPatch) -> None:
    """With an engine that lets every array of `contains` end."""
    live = Counting.live

    def broken(self: Counting, alive: Any) -> list[bool]:
        object.__setattr__(self, "accepting", (True,) * len(self.accepting))
        return live(self, alive)

    monkeypatch.setattr(Counting, "live", broken)
    schema = {"title": "x", "type": "array", "contains": {"type": "integer", "minimum": 1}, "minContains": 2}
    schema = {"properties": {"a": schema}, "required": ["a"], "type": "object"}

    def fails(schema: Any) -> bool:
        return any(f.kind in ("verdict", "sample") for f in Judge(kernels=0.0).failures(schema, 3))

    assert fails(schema)
    small = shrunk(schema, fails)
    assert "contains" in json.dumps(small) and len(json.dumps(small)) < 60
