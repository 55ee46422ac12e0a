"""What vocabularies, grammars and matchers hold in memory.

    python benchmarks/memory.py PATH --tokenizer tokenizer.json --eos '<|eot_id|>'

By their own account (`nbytes`), and matchers by what the process takes more (resident pages, Linux only): at rest after
the first mask, and per token of a long output.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
from pathlib import Path
from typing import Any

from support import Tokenizer, add_data_arguments, load_tokenizer, percentile, read_cases, table

import constrain
from constrain.automata.index import index_of

FORKS = 200
PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


def resident() -> int | None:
    """Bytes of the process in memory; None where that is not known."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE
    except OSError:
        return None


def megabytes(count: float) -> float:
    return count / 1e6


def replayed(tokenizer: Tokenizer, options: argparse.Namespace) -> list[int]:
    """Bytes of each grammar after its instances were replayed."""
    sizes, bitmask = [], constrain.allocate_token_bitmask(1, tokenizer.vocabulary.size)
    for case in read_cases(options.path, options.every, options.offset):
        try:
            grammar = constrain.compile_json_schema(case.schema, tokenizer.vocabulary)
        except constrain.ConstrainError:
            continue
        for test in case.tests:
            walk(grammar.matcher(), tokenizer.encode(json.dumps(test["data"], ensure_ascii=False)), bitmask)
        sizes.append(grammar.nbytes)
    return sizes


def walk(matcher: Any, tokens: Any, bitmask: Any) -> None:
    for token in tokens:
        matcher.fill_next_token_bitmask(bitmask)
        if not matcher.accept_token(token):
            return


def of_matchers(tokenizer: Tokenizer) -> list[list[object]]:
    """KB of a matcher at rest, and bytes for each token of its output."""
    schema = {"type": "array", "items": {"type": "object", "properties": {"id": {"type": "integer"}}}}
    grammar = constrain.compile_json_schema(schema, tokenizer.vocabulary)
    bitmask = constrain.allocate_token_bitmask(1, tokenizer.vocabulary.size)
    text = json.dumps([{"id": i, "name": f"row {i}", "open": i % 2 == 0} for i in range(200)])
    tokens = list(tokenizer.encode(text))
    walk(grammar.matcher(), tokens, bitmask)
    marks = []
    kept: list[Any] = []  # all to the end: memory that is given back would be taken again
    gc.collect()
    for stop in (0, len(tokens) // 2, len(tokens)):
        before = resident()
        if before is None:
            return []
        for _ in range(FORKS):
            matcher = grammar.matcher()
            walk(matcher, tokens[:stop], bitmask)
            matcher.fill_next_token_bitmask(bitmask)
            kept.append(matcher)
        marks.append(((resident() or 0) - before) / FORKS)
    per_token = (marks[2] - marks[1]) / (len(tokens) - len(tokens) // 2)
    return [["matcher at rest", marks[0] / 1e3, "KB"], ["matcher, a token more", per_token, "bytes"]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_data_arguments(parser)
    options = parser.parse_args()
    tokenizer = load_tokenizer(options.tokenizer, options.eos)
    vocabulary = tokenizer.vocabulary
    rows: list[list[object]] = [["vocabulary, bytes alone", megabytes(vocabulary.nbytes), "MB"]]
    constrain.warmup(vocabulary)
    rows.append(["vocabulary, with tries and tables", megabytes(vocabulary.nbytes), "MB"])
    matchers = of_matchers(tokenizer)
    sizes = replayed(tokenizer, options)
    rows.append([f"vocabulary, after {len(sizes)} schemas", megabytes(vocabulary.nbytes), "MB"])
    index = index_of(vocabulary)
    room = sum((len(c.keys) - min(int(c.used[0]), len(c.keys))) * c.masks.strides[0] for c in (index.cache,))
    room += 0 if index.previous is not index.cache else index.cache.masks.nbytes
    rows.append(["the same, both caches of masks full", megabytes(vocabulary.nbytes + room), "MB"])
    rows += [[f"grammar after its instances, {name}", percentile(sizes, q) / 1e3, "KB"] for name, q in
             (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1.0))]  # fmt: skip
    rows += matchers
    print(f"tokenizer {tokenizer.name}, {vocabulary.size} rows of logits; a mask is {index.words * 4 / 1e3:.0f} KB\n")
    print(table(["what", "size", "unit"], rows))


if __name__ == "__main__":
    main()
