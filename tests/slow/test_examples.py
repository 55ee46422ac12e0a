"""The examples of the benchmarks: their labels, and that every state of a random walk leads to a valid document."""

from __future__ import annotations

import json
import random
from pathlib import Path

import jsonschema
import pytest

import constrain
from constrain.automata.oracle import Oracle
from constrain.automata.shortest import Completer

EXAMPLES = Path(__file__).parents[2] / "benchmarks" / "examples.jsonl"
CASES = [json.loads(line) for line in EXAMPLES.read_bytes().splitlines()]
JUDGED = [case for case in CASES if "\\p" not in json.dumps(case["schema"])]  # a pattern that Python's `re` cannot read
LIKELY = b'"\\{}[]:,abqn0u123e.-Zx '


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_the_labels_of_the_examples_hold(case: dict) -> None:
    grammar = constrain.compile_json_schema(case["schema"])
    for test in case["tests"]:
        assert grammar.accepts(json.dumps(test["data"], ensure_ascii=False)) == test["valid"], test


@pytest.mark.slow
@pytest.mark.parametrize("case", JUDGED, ids=lambda case: case["id"])
def test_every_state_of_a_walk_leads_to_a_valid_document(case: dict) -> None:
    oracle = Oracle(constrain.compile_json_schema(case["schema"]).root)
    completer, validator = Completer(oracle), jsonschema.Draft202012Validator(case["schema"])
    for seed in range(2):
        rng, threads, text = random.Random(seed), oracle.start(), b""
        for _ in range(60):
            rest = completer.completion(threads)
            assert rest is not None, f"dead end after {text!r}"
            ended = threads
            for byte in rest:
                ended = oracle.advance(ended, byte)
            assert oracle.is_accepting(ended), text + rest
            assert validator.is_valid(json.loads(text + rest)), text + rest
            order = rng.sample(LIKELY, len(LIKELY)) + rng.sample(range(256), 256)
            byte, threads = next(((b, t) for b in order if (t := oracle.advance(threads, b))), (0, []))
            if not threads:
                break
            text += bytes([byte])
