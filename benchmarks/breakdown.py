"""Where the time of masks and commits goes, on MaskBench-style data.

    python benchmarks/breakdown.py PATH --every 45 --tokenizer tokenizer.json --eos '<|eot_id|>'

Every instance is replayed once in a new grammar, as in maskbench.py, CPU time of the thread. A mask is *known* when it
was found under the key of its state, else it was *made*; what kernels ask Python for on the way (nodes of the grammar
that the output reaches for the first time, ready masks of automaton states) is counted apart. Made masks are told by
what the output is in. The floor is what no mask can be cheaper than: the calls and the copy.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from statistics import median
from time import perf_counter_ns
from time import thread_time_ns as now
from typing import Any

import numpy as np
from support import add_data_arguments, load_tokenizer, percentile, read_cases, table

import constrain
from constrain.automata import kernels
from constrain.automata import layout as at
from constrain.automata.matcher import Matcher

CLOCK = median(-(now() - now()) for _ in range(1000))
ASKED = {
    at.NEED_NODES: "nodes of the grammar",
    at.NEED_MASK: "ready masks of automaton states",
    at.NEED_CACHE: "another cache of masks",
    at.NEED_VERDICT: "whether items can end as they must",
}


class Watched:
    """Times what matchers do in Python for their kernels, while it is entered."""

    def __init__(self) -> None:
        self.times: dict[str, list[float]] = defaultdict(list)
        self.spent = 0.0

    def __enter__(self) -> Watched:
        self.original = original = Matcher._provide

        def provide(matcher: Matcher, status: int, text: int = 0) -> None:
            start = now()
            original(matcher, status, text)
            took = (now() - start - CLOCK) / 1e3
            self.times[ASKED.get(status, "room in buffers")].append(took)
            self.spent += took + 2 * CLOCK / 1e3

        Matcher._provide = provide  # type: ignore[method-assign]
        return self

    def __exit__(self, *_: object) -> None:
        Matcher._provide = self.original  # type: ignore[method-assign]


def place(matcher: Matcher) -> str:
    """What the output is in, by the configurations of its state."""
    program, arena = matcher.grammar.program.heap, matcher._arena
    begin, end = int(arena[at.A_BEGIN]), int(arena[at.A_END])
    if end - begin > 1:
        return f"{'several' if end - begin <= 4 else 'more than four'} readings"
    row = matcher._configs[begin * at.CW : (begin + 1) * at.CW]
    node = int(row[at.NODE])
    if node == at.DONE:
        return "the end"
    if program[node] == at.K_FRAME:
        return "between values"
    if program[node + at.L_SKIN] == at.SKIN_RAW:
        return "a number or literal"
    if row[at.TEXT] >= 0:
        return "a key that may be a free one"
    return "a string of given words" if row[at.STATE] < 0 else "a string"


def replay(matcher: Matcher, tokens: Any, bitmask: Any, parts: dict[str, list[float]], watched: Watched) -> None:
    fill, accept, index = matcher.fill_next_token_bitmask, matcher.accept_token, matcher._index
    for token in tokens:
        cache, used = index.cache, int(index.cache.used[0])
        watched.spent = 0.0
        start = now()
        fill(bitmask)
        took = (now() - start - CLOCK) / 1e3 - watched.spent
        known = index.cache is cache and int(cache.used[0]) == used
        parts["masks known" if known else f"masks made: in {place(matcher)}"].append(took)
        watched.spent = 0.0
        start = now()
        taken = accept(token)
        parts["commits"].append((now() - start - CLOCK) / 1e3 - watched.spent)
        if not taken:
            return


def floor(vocabulary: constrain.Vocabulary) -> list[list[object]]:
    """µs of the parts of a known step, the least of many."""
    bitmask = constrain.allocate_token_bitmask(1, vocabulary.size)
    other = bitmask.copy()
    matcher = constrain.compile_json_schema({"type": "object"}, vocabulary).matcher()
    matcher.fill_next_token_bitmask(bitmask)
    desc, row = matcher._desc, bitmask[0]
    calls = {
        "copy of a mask (numpy)": lambda: np.copyto(row, other[0]),
        "call of a kernel that does next to nothing": lambda: kernels.operate(desc, kernels.UNDO, 0, 0),
        "mask, known: kernel alone": lambda: kernels.fill(desc, bitmask, 0),
        "mask, known: fill_next_token_bitmask": lambda: matcher.fill_next_token_bitmask(bitmask),
        "check of one token: allows": lambda: matcher.allows(0),
    }
    rows: list[list[object]] = []
    for what, call in calls.items():
        times = []
        for _ in range(200):
            start = perf_counter_ns()
            for _ in range(20):
                call()
            times.append((perf_counter_ns() - start) / 20e3)
        rows.append([what, min(times)])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_data_arguments(parser)
    options = parser.parse_args()
    tokenizer = load_tokenizer(options.tokenizer, options.eos)
    constrain.warmup(tokenizer.vocabulary)
    bitmask = constrain.allocate_token_bitmask(1, tokenizer.vocabulary.size)
    parts: dict[str, list[float]] = defaultdict(list)
    with Watched() as watched:
        for case in read_cases(options.path, options.every, options.offset):
            try:
                grammar = constrain.compile_json_schema(case.schema, tokenizer.vocabulary)
                grammar.matcher().fill_next_token_bitmask(bitmask)
            except constrain.ConstrainError:
                continue
            for test in case.tests:
                tokens = tokenizer.encode(json.dumps(test["data"], ensure_ascii=False))
                replay(grammar.matcher(), tokens, bitmask, parts, watched)
    parts |= {f"Python: {what}": times for what, times in watched.times.items()}
    total, steps = sum(map(sum, parts.values())), len(parts["commits"])
    rows: list[list[object]] = []
    for what, times in sorted(parts.items(), key=lambda part: -sum(part[1])):
        quantiles = [percentile(times, share) for share in (0.5, 0.99, 1.0)]
        rows.append([what, len(times), 100 * sum(times) / total, sum(times) / steps, float(np.mean(times)), *quantiles])
    print(f"{steps} tokens, tokenizer {tokenizer.name}: {total / steps:.1f} µs a token\n")
    print(table(["part", "times", "% of all", "µs a token", "µs each", "p50", "p99", "max"], rows))
    print("\n" + table(["floor", "µs"], floor(tokenizer.vocabulary)))


if __name__ == "__main__":
    main()
