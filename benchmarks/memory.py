"""What vocabularies, grammars and matchers hold in memory.

    python benchmarks/memory.py PATH --tokenizer tokenizer.json --eos '<|eot_id|>'

By their own account (`nbytes`), and matchers by what Python and numpy allocate for them: at rest after the first mask,
and far into a long output.
"""

from __future__ import annotations

import argparse
import gc
import json
import tracemalloc
from typing import Any

from support import Tokenizer, add_data_arguments, load_tokenizer, percentile, read_cases, table

import constrain
from constrain.automata.index import index_of

MATCHERS = 20


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
    """KB of a matcher at rest and in a long output, and bytes for each token more and each that can be taken back."""
    schema = {"type": "array", "items": {"type": "object", "properties": {"id": {"type": "integer"}}}}
    grammar = constrain.compile_json_schema(schema, tokenizer.vocabulary)
    text = json.dumps([{"id": i, "name": f"row {i}", "open": i % 2 == 0} for i in range(400)])
    tokens = list(tokenizer.encode(text))
    half = len(tokens) // 2
    taken = lambda tokens, rollback: bytes_of_matcher(tokenizer, grammar, tokens, rollback)  # noqa: E731
    taken(tokens, 256)
    rest, amid, end, long = (taken(t, r) for t, r in (([], 256), (tokens[:half], 256), (tokens, 256), (tokens, 2048)))
    return [
        ["matcher at rest", rest / 1e3, "KB"],
        [f"matcher after {len(tokens)} tokens, max_rollback 256", end / 1e3, "KB"],
        ["a token more, max_rollback 256", (end - amid) / (len(tokens) - half), "bytes"],
        ["a step more that can be taken back", (long - end) / (2048 - 256), "bytes"],
    ]


def bytes_of_matcher(tokenizer: Tokenizer, grammar: Any, tokens: list[int], rollback: int) -> float:
    """Bytes that Python and numpy take for a matcher that has taken the tokens."""
    bitmask = constrain.allocate_token_bitmask(1, tokenizer.vocabulary.size)
    kept = []
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(MATCHERS):
        matcher = grammar.matcher(max_rollback=rollback)
        walk(matcher, tokens, bitmask)
        matcher.fill_next_token_bitmask(bitmask)
        kept.append(matcher)
    gc.collect()
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return (after - before) / MATCHERS


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
