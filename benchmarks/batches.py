"""Batches of different sequences, filled in one call, by one thread and by several.

    python benchmarks/batches.py PATH --tokenizer tokenizer.json --eos '<|eot_id|>' --sizes 8 64

Every sequence writes a valid instance of a schema of its own, and all take their next token together. Measured is the
call that fills the masks of the whole batch, on the wall's clock, since threads are to save time and not work. Each
step's time is the least of the rounds, and the numbers of threads take turns.

new     the grammars are new: nodes are built in Python on the way, by one thread after the other
anew    nodes are there, but all masks must be made again
again   the masks of all states are known: a copy each

Where the platform can, the caller and each thread that helps it are bound to processors of their own, because a machine
with other work may otherwise let them wait for each other on one.
"""

from __future__ import annotations

import argparse
import json
import os
import threading
from itertools import cycle, islice
from pathlib import Path
from time import perf_counter_ns
from typing import Any

import numpy as np
from support import Case, Tokenizer, add_data_arguments, load_tokenizer, read_cases, table

import constrain
from constrain.automata.batch import _pool

WAYS = ("new", "anew", "again")


class Sequences:
    """size instances with their tokens; as many schemas, where there are so many."""

    def __init__(self, cases: list[Case], tokenizer: Tokenizer, size: int, steps: int) -> None:
        chosen = list(islice(cycle(cases), size))
        self.vocabulary = tokenizer.vocabulary
        self.schemas = [case.schema for case in chosen]
        self.tokens = []
        for i, case in enumerate(chosen):
            valid = [test["data"] for test in case.tests if test["valid"]]
            text = json.dumps(valid[i // len(cases) % len(valid)], ensure_ascii=False)
            self.tokens.append(list(tokenizer.encode(text))[:steps])
        self.bitmask = constrain.allocate_token_bitmask(size, self.vocabulary.size)

    def compile(self) -> list[Any]:
        made = {id(schema): constrain.compile_json_schema(schema, self.vocabulary) for schema in self.schemas}
        return [made[id(schema)] for schema in self.schemas]

    def replay(self, grammars: list[Any], threads: int) -> list[float]:
        """µs of each call, as long as all sequences go on."""
        matchers, times = [grammar.matcher(max_rollback=0) for grammar in grammars], []
        for step in range(min(map(len, self.tokens))):
            start = perf_counter_ns()
            constrain.fill_next_token_bitmasks(matchers, self.bitmask, threads=threads)
            times.append((perf_counter_ns() - start) / 1e3)
            for matcher, tokens in zip(matchers, self.tokens, strict=True):
                if not matcher.accept_token(tokens[step]):
                    raise ValueError(f"token {step} of a valid instance is refused")
        return times


def forget(vocabulary: constrain.Vocabulary) -> None:
    """Give up all masks that are kept."""
    vocabulary.resize_mask_cache(16 << 20)


def measure(sequences: Sequences, numbers: list[int], rounds: int) -> dict[str, dict[int, np.ndarray]]:
    """Least µs of each step, by way and number of threads."""
    least: dict[str, dict[int, np.ndarray]] = {way: {} for way in WAYS}
    for _ in range(rounds):
        for threads in numbers:
            forget(sequences.vocabulary)
            grammars = sequences.compile()
            for way in WAYS:
                if way == "anew":
                    forget(sequences.vocabulary)
                times = np.array(sequences.replay(grammars, threads))
                least[way][threads] = np.minimum(least[way].get(threads, times), times)
    return least


def bind(numbers: list[int]) -> bool:
    """Bind the caller and its helpers to processors of their own, if there are enough."""
    if not hasattr(os, "sched_setaffinity"):
        return False
    free = sorted(os.sched_getaffinity(0))
    if len(free) < max(numbers):
        return False
    for threads in numbers:
        together = threading.Barrier(threads)

        def take(cpu: int, together: threading.Barrier = together) -> None:
            os.sched_setaffinity(0, {cpu})
            together.wait()

        jobs = [_pool(threads - 1, os.getpid()).submit(take, cpu) for cpu in free[1:threads]]
        together.wait()
        for job in jobs:
            job.result()
    os.sched_setaffinity(0, {free[0]})
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_data_arguments(parser)
    parser.add_argument("--sizes", type=int, nargs="*", default=[8, 64, 256])
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--steps", type=int, default=24, help="tokens of each sequence at most")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path, help="write figures for plots there")
    options = parser.parse_args()
    tokenizer = load_tokenizer(options.tokenizer, options.eos)
    constrain.warmup(tokenizer.vocabulary)
    cases = []
    for case in read_cases(options.path, options.every, options.offset):
        valid = [test["data"] for test in case.tests if test["valid"]]
        if valid and all(len(tokenizer.encode(json.dumps(v, ensure_ascii=False))) >= 8 for v in valid):
            try:
                constrain.compile_json_schema(case.schema, tokenizer.vocabulary)
            except constrain.ConstrainError:
                continue
            cases.append(case)
        if len(cases) == max(options.sizes):
            break
    bound = bind([n for n in options.threads if n > 1])
    head = ["µs a call", "sequences", *(f"{n} thread" + "s" * (n > 1) for n in options.threads), "a sequence", "ratio"]
    rows: list[list[object]] = []
    found = []
    for size in options.sizes:
        least = measure(Sequences(cases, tokenizer, size, options.steps), options.threads, options.rounds)
        for way in WAYS:
            means = [float(least[way][n].mean()) for n in options.threads]
            rows.append([way, size, *means, means[0] / size, means[-1] / means[0]])
            found.append({"way": way, "size": size, "threads": options.threads, "means": means})
    print(
        f"{len(cases)} schemas, tokenizer {tokenizer.name}; threads are {'' if bound else 'not '}bound to processors\n"
    )
    print(table(head, rows))
    if options.json:
        options.json.write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main()
