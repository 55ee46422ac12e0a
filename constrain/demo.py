"""A small real model with and without a schema: `python -m constrain.demo`.

SmolLM2-135M-Instruct (98 MB, downloaded once) answers two prompts that ask for JSON. On its own it writes what a small
model writes: prose, a code fence, fields of its own invention. With a schema as constraint every answer is valid, as
the package `jsonschema` confirms. The prompt is the same, and both answers are greedy.

Needs the extra `demo`; shown as a table where `rich` is installed, as plain text elsewhere.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import constrain

from .runners import Completion, CpuRunner, Request, Timing, model_path
from .sampling import Sampling

__all__ = ["main"]

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
        missing = isinstance(error, ImportError)
        hint = "; the demonstration needs: pip install 'constrain-decoding[demo]'" if missing else ""
        sys.stderr.write(f"constrain.demo: {error}{hint}\n")
        return 2
    _progress("compiling the kernels, once per machine")
    started = time.perf_counter()
    constrain.warmup(vocab)
    _progress(f"kernels are ready after {time.perf_counter() - started:.1f} s")
    valid = True
    with _single_threaded():
        for question, schema in CASES:
            free, bound = answers(runner, vocab, question, schema, options.max_tokens)
            _show(question, free, bound)
            valid = valid and bound.valid
    return 0 if valid else 1


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
    """Speed, and the cost of the constraint: the first run builds its tables, the second finds them."""
    note = f"{answer.timing.tokens} tokens, {answer.timing.tokens_per_second:.1f} a second"
    for timing, when in ((answer.timing, "in constrain"), (answer.again, "when asked again")):
        if timing.mask:
            micros = 1e6 * (timing.mask + timing.commit) / timing.tokens
            note += f"; {timing.constrain_share:.2%} of the time {when} ({micros:.0f} µs a token)"
    return note


def _progress(line: str) -> None:
    sys.stderr.write(f"  {line}\n")
    sys.stderr.flush()


def _single_threaded() -> AbstractContextManager[Any]:
    """One BLAS thread, where threadpoolctl is installed: products this small wait for memory, not for arithmetic."""
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        return nullcontext()
    return threadpool_limits(limits=1, user_api="blas")


if __name__ == "__main__":
    sys.exit(main())
