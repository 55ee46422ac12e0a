"""Speculation in the reference runner: is the reply that of plain decoding, and what does it gain?

SmolLM2-135M-Instruct answers prompts of its own making: a text and a question about it that asks for JSON. Each prompt
is answered greedily by plain decoding and with speculation, with a schema and without, one sequence at a time. Printed
per mode: how many replies are equal token for token, tokens per pass of the model, drafted and accepted tokens a step,
CPU time, and the part of it that masks, commits and looking ahead take.

    python benchmarks/speculation.py [--prompts 200] [--tokens 32] [--whitespace compact] [--sample]
"""

from __future__ import annotations

import argparse
import itertools
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from support import table

import constrain
from constrain.runners import CpuRunner, Request, Speculation, Timing, model_path
from constrain.sampling import Sampling

NAMES = ["Ada Lovelace", "Niels Bohr", "Mary Anning", "Karl Gauss", "Rosa Parks"]
CITIES = ["Lisbon", "Osaka", "Winnipeg", "Tunis"]
JOBS = ["carpenter", "violinist"]


def text_schema(*names: str) -> dict[str, Any]:
    """An object of short texts."""
    properties = {name: {"type": "string", "maxLength": 24} for name in names}
    return {"type": "object", "properties": properties, "required": list(names), "additionalProperties": False}


PERSON = text_schema("full_name", "home_town", "profession")
PERSON["properties"]["age"] = {"type": "integer", "minimum": 0, "maximum": 120}
ORDER = text_schema("customer")
ORDER["properties"]["shipping_method"] = {"enum": ["standard", "express", "collected_by_customer"]}
ORDER["properties"]["item_count"] = {"type": "integer", "minimum": 1, "maximum": 99}
ORDER["required"] += ["shipping_method", "item_count"]
REVIEW = text_schema("summary")
REVIEW["properties"] = {"sentiment": {"enum": ["positive", "negative", "undecided"]}, **REVIEW["properties"]}
REVIEW["required"] = ["sentiment", "summary"]
PLACES = {"type": "array", "items": text_schema("city", "person"), "minItems": 1, "maxItems": 3}

QUESTIONS: list[tuple[str, dict[str, Any]]] = [
    ("{name}, {age}, is a {job} who lives in {city}. Give full_name, home_town and profession as JSON.", PERSON),
    (
        "{name} from {city} ordered {count} lamps, by express. Give customer, shipping_method, item_count as JSON.",
        ORDER,
    ),
    ('"The {job} from {city} was late, but {name} was kind." Give sentiment and summary as JSON.', REVIEW),
    ("{name} works in {city}. Give a JSON list of objects with city and person.", PLACES),
    ("Copy this as JSON: full_name {name}, home_town {city}, profession {job}.", PERSON),
]


def prompts() -> Iterator[tuple[str, dict[str, Any]]]:
    """200 of them: every question about every name, city and job."""
    for (name, city, job), (question, schema) in itertools.product(itertools.product(NAMES, CITIES, JOBS), QUESTIONS):
        age, count = 20 + len(name) * len(city) % 60, 2 + len(job)
        yield question.format(name=name, city=city, job=job, age=age, count=count), schema


@dataclass
class Mode:
    """Sums over the prompts, of plain decoding and with speculation."""

    equal: int = 0
    replies: int = 0
    valid: int = 0
    plain: Timing = field(default_factory=Timing)
    ahead: Timing = field(default_factory=Timing)
    plain_cpu: float = 0.0
    ahead_cpu: float = 0.0
    differing: list[str] = field(default_factory=list)

    def run(self, runner: CpuRunner, prompt: list[int], grammar: Any, options: Any, tokens: int, index: int) -> None:
        sampling, speculation = options
        replies = []
        for timing, look in ((self.plain, None), (self.ahead, speculation)):
            started = time.process_time()
            request = Request(prompt, grammar, sampling, max_tokens=tokens, speculation=look)
            [done] = runner.generate([request], timing=timing)
            used = time.process_time() - started
            if look is None:
                self.plain_cpu += used
            else:
                self.ahead_cpu += used
            replies.append(done)
        self.replies += 1
        self.equal += replies[0].token_ids == replies[1].token_ids
        self.valid += grammar is None or grammar.matcher().accept_tokens(replies[1].token_ids) == len(
            replies[1].token_ids
        )
        if replies[0].token_ids != replies[1].token_ids:
            self.differing.append(f"prompt {index}: {replies[0].text!r} and {replies[1].text!r}")

    def row(self, name: str) -> list[object]:
        plain, ahead = self.plain, self.ahead
        read = ahead.steps or 1
        return [
            name,
            f"{self.equal} of {self.replies}",
            ahead.tokens_per_step,
            ahead.drafted / read,
            ahead.accepted / read,
            ahead.jumped / read,
            self.plain_cpu,
            self.ahead_cpu,
            self.plain_cpu / self.ahead_cpu if self.ahead_cpu else 0.0,
            (plain.total - plain.prefill) / (ahead.total - ahead.prefill) if ahead.steps else 0.0,
            f"{100 * plain.constrain_share:.2f} %",
            f"{100 * (ahead.draft + ahead.mask + ahead.commit) / max(ahead.total - ahead.prefill, 1e-9):.2f} %",
        ]


HEAD = [
    "mode",
    "equal replies",
    "tokens a step",
    "drafted",
    "accepted",
    "forced",
    "plain, CPU s",
    "ahead, CPU s",
    "CPU gain",
    "decoding gain",
    "constrain, plain",
    "constrain + drafts, ahead",
]


def main() -> int:
    """0 when every reply equals that of plain decoding, otherwise 1."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prompts", type=int, default=200, help="how many, spread over the 200")
    parser.add_argument("--tokens", type=int, default=32, help="most tokens of a reply")
    parser.add_argument("--whitespace", default="compact", choices=["compact", "flexible"])
    parser.add_argument("--most", type=int, default=Speculation().most, help="most drafted tokens a step")
    parser.add_argument("--sample", action="store_true", help="temperature 0.8, top-k 50, top-p 0.95 and seeds")
    parser.add_argument("--only", choices=["schema", "free"], help="one of the two modes")
    arguments = parser.parse_args()
    path = model_path(print)
    runner = CpuRunner.from_gguf(path)
    vocabulary = constrain.Vocabulary.from_tokenizer(path, logits_width=runner.model.vocab_size)
    constrain.warmup(vocabulary)
    grammars: dict[int, Any] = {}
    modes = {name: Mode() for name in ("schema", "free") if arguments.only in (None, name)}
    every = max(1, 200 // max(arguments.prompts, 1))
    chosen = list(prompts())[::every][: arguments.prompts]
    for index, (question, schema) in enumerate(chosen):
        if id(schema) not in grammars:
            grammars[id(schema)] = constrain.compile_json_schema(schema, vocabulary, whitespace=arguments.whitespace)
        prompt = runner.prompt([{"role": "user", "content": question}])
        greedy = Sampling(temperature=0)
        sampling = Sampling(0.8, top_k=50, top_p=0.95, seed=index) if arguments.sample else greedy
        for name, mode in modes.items():
            grammar = grammars[id(schema)] if name == "schema" else None
            mode.run(runner, prompt, grammar, (sampling, Speculation(arguments.most)), arguments.tokens, index)
    print(table(HEAD, [mode.row(name) for name, mode in modes.items()]))
    for name, mode in modes.items():
        for line in mode.differing:
            print(f"{name}, {line}")
    return int(any(mode.equal < mode.replies for mode in modes.values()))


if __name__ == "__main__":
    raise SystemExit(main())
