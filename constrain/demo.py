"""A small real model with and without a schema: `python -m constrain.demo`.

SmolLM2-135M-Instruct (98 MB, downloaded once) answers two prompts that ask for JSON and show the schema. On its own it
writes what a small model writes: a code fence, prose, fields of its own invention. With the schema as constraint every
answer is valid, as the package `jsonschema` confirms. Both answers are greedy.

Needs the extra `demo`; shown as a table where `rich` is installed, as plain text elsewhere.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import constrain

from .runners import Completion, CpuRunner, Request, Timing, model_path
from .sampling import Sampling

__all__ = ["main"]

CASES: list[tuple[str, dict[str, Any]]] = [
    (
        "Marie Curie was born in Warsaw in 1867. She was a physicist and a chemist. Who is this about?",
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
        'A customer wrote: "The kettle is beautiful, but it leaks and nobody answers my mails." Rate the review.',
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
    """One reply, the verdict of jsonschema on it, and the times of its run."""

    completion: Completion
    valid: bool
    verdict: str
    timing: Timing


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demonstration; 0 when every constrained answer was valid, 1 otherwise, 2 when it cannot run."""
    parser = argparse.ArgumentParser(
        prog="python -m constrain.demo", description="A small model with and without a schema."
    )
    parser.add_argument("--model", help="a GGUF file of the Llama architecture; default: SmolLM2-135M-Instruct")
    parser.add_argument("--max-tokens", type=int, default=120, help="of each answer (default 120)")
    options = parser.parse_args(arguments)
    try:
        path = options.model or model_path(_progress)
        runner = CpuRunner.from_gguf(path, _progress)
        vocab = constrain.Vocabulary.from_tokenizer(path)
    except (constrain.ConstrainError, ImportError) as error:
        hint = "; the demonstration needs: pip install 'constrain-decoding[demo]'" if _is_missing(error) else ""
        sys.stderr.write(f"constrain.demo: {error}{hint}\n")
        return 2
    _progress("compiling the kernels, once per machine")
    started = time.perf_counter()
    constrain.warmup(vocab)
    _progress(f"kernels are ready after {time.perf_counter() - started:.1f} s")
    valid = True
    for question, schema in CASES:
        free, bound = answers(runner, vocab, question, schema, options.max_tokens)
        _show(question, free, bound)
        valid = valid and bound.valid
    return 0 if valid else 1


def answers(
    runner: CpuRunner, vocab: constrain.Vocabulary, question: str, schema: dict[str, Any], max_tokens: int
) -> tuple[Answer, Answer]:
    """The answer without and with the schema as constraint; the prompt is the same."""
    content = f"{question}\nAnswer in JSON that follows this schema: {json.dumps(schema)}"
    prompt = runner.prompt([{"role": "user", "content": content}])
    grammar = constrain.compile_json_schema(schema, vocab, whitespace="single", property_order="schema")
    found = []
    for constraint in (None, grammar):
        timing = Timing()
        request = Request(prompt, constraint, Sampling(temperature=0), max_tokens)
        [completion] = runner.generate([request], timing=timing)
        found.append(Answer(completion, *judge(completion.text, schema), timing))
    return found[0], found[1]


def judge(text: str, schema: dict[str, Any]) -> tuple[bool, str]:
    """Whether `text` is JSON that the schema accepts, by json and jsonschema, and a sentence on it."""
    import jsonschema

    try:
        value = json.loads(text)
    except ValueError as error:
        return False, f"not JSON: {error}"
    error = jsonschema.Draft202012Validator(schema).iter_errors(value)
    first = next(error, None)
    return (True, "valid") if first is None else (False, f"not valid: {first.message}")


def _show(question: str, free: Answer, bound: Answer) -> None:
    sides = [("without the schema", free), ("with the schema", bound)]
    notes = [_note(answer) for _, answer in sides]
    try:
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text
    except ImportError:
        sys.stdout.write(f"\n{question}\n")
        for (title, answer), note in zip(sides, notes, strict=True):
            sys.stdout.write(f"\n--- {title}\n{answer.completion.text}\n[{answer.verdict}] {note}\n")
        return
    table = Table(title=question, show_lines=True, expand=True)
    for title, _ in sides:
        table.add_column(title, ratio=1)
    table.add_row(*(Text(answer.completion.text) for _, answer in sides))
    table.add_row(*(Text(answer.verdict, style="green" if answer.valid else "red") for _, answer in sides))
    table.add_row(*(Text(note) for note in notes))
    Console().print(table)


def _note(answer: Answer) -> str:
    timing = answer.timing
    note = f"{timing.tokens} tokens, {timing.tokens_per_second:.1f} a second"
    if answer.completion.complete is not None:
        micros = 1e6 * (timing.mask + timing.commit) / max(timing.tokens, 1)
        note += f"; {timing.constrain_share:.2%} of the time in constrain ({micros:.0f} µs a token)"
    return note


def _progress(line: str) -> None:
    sys.stderr.write(f"  {line}\n")
    sys.stderr.flush()


def _is_missing(error: Exception) -> bool:
    return isinstance(error, ImportError)


if __name__ == "__main__":
    sys.exit(main())
