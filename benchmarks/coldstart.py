"""How long a process takes from its start to its first mask: with kernels compiled from nothing, and warm.

    python benchmarks/coldstart.py --tokenizer tokenizer.json --eos '<|eot_id|>'

Each run is a new process. The first gets an empty CONSTRAIN_CACHE_DIR and so compiles every kernel; the others find
what it left there. Phases: Python with `import constrain`, the vocabulary, `constrain.warmup`, the schema, the mask.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from statistics import median

PHASES = ("start and import", "vocabulary", "warmup", "compile schema", "first mask", "total")


def child(tokenizer: str, eos: str, started: float) -> None:
    """Print the seconds of each phase; `started` is the parent's clock just before this process was made."""
    marks = [started]
    import constrain

    marks.append(time.time())
    from support import load_tokenizer, read_cases

    vocabulary = load_tokenizer(Path(tokenizer) if tokenizer else None, eos or None).vocabulary
    marks.append(time.time())
    constrain.warmup(vocabulary)
    marks.append(time.time())
    grammar = constrain.compile_json_schema(next(read_cases(None)).schema, vocabulary)
    marks.append(time.time())
    grammar.matcher().fill_next_token_bitmask(constrain.allocate_token_bitmask(1, vocabulary.size))
    marks.append(time.time())
    seconds = [b - a for a, b in pairwise(marks)]
    print(json.dumps([*seconds, marks[-1] - marks[0]]))


def measure(options: argparse.Namespace, cache: str) -> list[float]:
    tokenizer = str(options.tokenizer.resolve()) if options.tokenizer else ""
    command = [sys.executable, __file__, "--child", tokenizer, options.eos or "", repr(time.time())]
    done = subprocess.run(command, env={**os.environ, "CONSTRAIN_CACHE_DIR": cache}, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokenizer", type=Path, help="tokenizer.json; default: one token per byte")
    parser.add_argument("--eos", help="text of the token that ends the output")
    parser.add_argument("--runs", type=int, default=5, help="warm runs; their median is shown")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child[0], options.child[1], float(options.child[2]))
        return
    from support import table

    with tempfile.TemporaryDirectory() as cache:
        cold = measure(options, cache)
        warm = [measure(options, cache) for _ in range(options.runs)]
    typical = [median(times) for times in zip(*warm, strict=True)]
    print(table(["seconds", "cold", "warm"], list(zip(PHASES, cold, typical, strict=True))))


if __name__ == "__main__":
    main()
