"""How many values an automaton of numbers can still write, against all that it writes."""

from __future__ import annotations

import random
from decimal import Decimal
from typing import Any

import pytest

import constrain
from constrain.languages.dfa import DFA
from constrain.languages.number_values import ENDLESS, ENDLESS_UNLESS_ZERO, is_zero_so_far, signature
from constrain.languages.pattern import compile_pattern

PATTERNS = {
    "digits": "-?(0|[1-9][0-9]*)",
    "a fraction": r"0\.[0-9]+",
    "zeros at the end": r"7(\.[05]0*)?",
    "zero in many ways": r"-?0(\.0+)?([eE][+-]?[0-9]+)?",
    "zeros before a digit": r"0\.0*1",
    "an exponent": "[12](e-?[0-9]+)?",
    "zeros of an exponent": "[02]0e-0*[0-3]",
    "a finite exponent": r"(0|5)\.[0-3]?0*e[1-3]",
    "a large exponent": "3e0*[1-9][0-9]*",
    "few": r"1|2\.5|2\.50",
    "one sign": r"-(0|[1-9][0-9]*)(\.0+)?|0(\.0+)?(e[0-9]+)?",
}
SCHEMAS: list[dict[str, Any]] = [
    {"maximum": 0, "multipleOf": 1},
    {"maximum": 0},
    {"minimum": -3, "exclusiveMaximum": 5, "type": "integer"},
    {"minimum": 0, "maximum": 0.5, "multipleOf": 0.1},
    {"minimum": -1.5, "maximum": 2},
    {"multipleOf": 0.5},
    {"multipleOf": 100, "minimum": 5},
]


def longest(dfa: DFA, state: int, text: bytes, length: int) -> dict[int, set[Decimal]]:
    """Values of all words from a state, by their length."""
    found: dict[int, set[Decimal]] = {}
    layer = [(text, state)]
    for size in range(length + 1):
        found[size] = {Decimal(word.decode()) for word, at in layer if dfa.labels[at] >= 0}
        steps = [(word + bytes([b]), dfa.step(at, b)) for word, at in layer for b in b"0123456789.eE+-"]
        layer = [(word, to) for word, to in steps if to >= 0]
        if len(layer) > 2000:
            break
    return found


def check(dfa: DFA, rng: random.Random) -> int:
    numbers, judged = dfa.number_values, 0
    assert numbers is not None
    for _ in range(12):
        text, state = b"", 0
        for _ in range(rng.randrange(7)):
            following = [b for b in b"000123456789.eE+-" if dfa.step(state, b) >= 0]
            if not following:
                break
            text += bytes([rng.choice(following)])
            state = dfa.run(text)
        endless = numbers.endless[state]
        endless = endless == ENDLESS or (endless == ENDLESS_UNLESS_ZERO and not is_zero_so_far(text))
        layers = longest(dfa, state, text, 5)
        values = set().union(*layers.values())
        if not endless:
            # each value is found by one of few words, and a search that tells words apart by what they come to ends
            found = search(dfa, state, text, 200, rng)
            assert values <= found and len(found) < 200, (text, values - found)
        else:
            assert len(search(dfa, state, text, 20, rng)) >= 20, text
        judged += 1
    return judged


def search(dfa: DFA, state: int, text: bytes, most: int, rng: random.Random) -> set[Decimal]:
    numbers = dfa.number_values
    assert numbers is not None
    found: set[Decimal] = set()
    met = {(state, signature(text, bool(numbers.counts[state])))}
    layer, rounds = [(text, state)], 0
    while layer and len(found) < most and rounds < 40:
        found.update(Decimal(word.decode()) for word, at in layer if dfa.labels[at] >= 0)
        following = []
        for word, at in layer:
            for b in b"0123456789.eE+-":
                to = dfa.step(at, b)
                if to >= 0 and (key := (to, signature(word + bytes([b]), bool(numbers.counts[to])))) not in met:
                    met.add(key)
                    following.append((word + bytes([b]), to))
        layer = rng.sample(following, min(len(following), 400))
        rounds += 1
    return found


@pytest.mark.parametrize("name", PATTERNS)
def test_values_of_patterns(name: str) -> None:
    assert check(compile_pattern(f"^({PATTERNS[name]})$"), random.Random(1))


def lexemes(node: Any) -> list[DFA]:
    parts = getattr(node, "alternatives", [node])
    return [part.dfa for part in parts if getattr(part, "dfa", None) is not None and part.dfa.number_values is not None]


@pytest.mark.parametrize("numbers", ["canonical", "any"])
@pytest.mark.parametrize("schema", SCHEMAS, ids=str)
def test_values_of_schemas(schema: dict[str, Any], numbers: str) -> None:
    grammar = constrain.compile_json_schema({"type": "number", **schema}, numbers=numbers)
    assert sum(check(dfa, random.Random(2)) for dfa in lexemes(grammar.root))


def test_texts_are_no_numbers() -> None:
    assert compile_pattern("^[a-z]+$").number_values is None
