"""Answers in JSON, without and with a schema. The prompt is the same, and both answers are greedy."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import constrain

from ..runners import Completion, CpuRunner, Request, Timing
from ..sampling import Sampling
from .display import Column, Scene

__all__ = ["CASES", "answers", "judge", "scenes"]

CASES: list[tuple[str, dict[str, Any]]] = [
    (
        "Extract the name, the year of birth and the professions as JSON: "
        "Marie Curie was born in Warsaw in 1867. She was a physicist and a chemist.",
        {
            "type": "object",
            "properties": {
                "name": {"type": "string", "maxLength": 40},
                "born": {"type": "integer", "minimum": 0, "maximum": 2100},
                "professions": {
                    "type": "array",
                    "items": {"type": "string", "pattern": "^[a-z]{3,20}$"},
                    "minItems": 1,
                    "maxItems": 3,
                },
            },
            "required": ["name", "born", "professions"],
            "additionalProperties": False,
        },
    ),
    (
        "Rate this review as JSON with sentiment (positive, mixed or negative), stars (1 to 5) and summary: "
        '"The kettle is beautiful, but it leaks and nobody answers my mails."',
        {
            "type": "object",
            "properties": {
                "sentiment": {"enum": ["positive", "mixed", "negative"]},
                "stars": {"type": "integer", "minimum": 1, "maximum": 5},
                "summary": {"type": "string", "minLength": 10, "maxLength": 80},
            },
            "required": ["sentiment", "stars", "summary"],
            "additionalProperties": False,
        },
    ),
]


@dataclass(frozen=True)
class Answer:
    """One reply, the verdict of jsonschema on it, the times of its run, and those of the same run again."""

    completion: Completion
    valid: bool
    verdict: str
    timing: Timing
    again: Timing


def scenes(runner: CpuRunner, vocab: constrain.Vocabulary, max_tokens: int) -> Iterator[Scene]:
    """Each question with both answers."""
    for question, schema in CASES:
        free, bound = answers(runner, vocab, question, schema, max_tokens)
        columns = [
            Column(title, answer.completion.text, answer.verdict, answer.valid, _note(answer))
            for title, answer in (("without the schema", free), ("with the schema", bound))
        ]
        yield Scene(question, columns, bound.valid)


def answers(
    runner: CpuRunner, vocab: constrain.Vocabulary, question: str, schema: dict[str, Any], max_tokens: int
) -> tuple[Answer, Answer]:
    """The answer without and with the schema as constraint."""
    prompt = runner.prompt([{"role": "user", "content": question}])
    grammar = constrain.compile_json_schema(schema, vocab, whitespace="single")
    found = []
    for constraint in (None, grammar):
        timing, again = Timing(), Timing()
        request = Request(prompt, constraint, Sampling(temperature=0), max_tokens)
        [completion] = runner.generate([request], timing=timing)
        if constraint is not None:
            runner.generate([request], timing=again)
        found.append(Answer(completion, *judge(completion.text, schema), timing, again))
    return found[0], found[1]


def judge(text: str, schema: dict[str, Any]) -> tuple[bool, str]:
    """Whether `text` is JSON that the schema accepts, by json and jsonschema, and a sentence on it."""
    import jsonschema

    try:
        value = json.loads(text)
    except ValueError as error:
        return False, f"not JSON: {error}"
    fault = next(jsonschema.Draft202012Validator(schema).iter_errors(value), None)
    return (True, "valid") if fault is None else (False, f"not valid: {fault.message}")


def _note(answer: Answer) -> str:
    """Speed, and the cost of the constraint: the first run builds its tables, the second finds them."""
    note = f"{answer.timing.tokens} tokens, {answer.timing.tokens_per_second:.1f} a second"
    for timing, when in ((answer.timing, "in constrain"), (answer.again, "when asked again")):
        if timing.mask:
            micros = 1e6 * (timing.mask + timing.commit) / timing.tokens
            note += f"; {timing.constrain_share:.2%} of the time {when} ({micros:.0f} µs a token)"
    return note
