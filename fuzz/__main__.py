"""Fuzz for some time; exit code 1 and a file per failure when something fails."""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

from .judge import Failure, Judge
from .mutate import corpus, mutated
from .shrink import shrunk


def cases(seed: int) -> Iterator[tuple[Any, int]]:
    """(schema, seed of its values): the corpus, then mutations without end."""
    schemas = corpus()
    yield from ((schema, seed) for schema in schemas)
    for i in count():
        own = seed * 1_000_003 + i
        yield mutated(schemas, Random(own)), own


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="time to spend (default 60)")
    parser.add_argument("--count", type=int, help="schemas to judge, instead of a time")
    parser.add_argument("--seed", type=int, default=0, help="another seed, other schemas")
    parser.add_argument("--kernels", type=float, default=0.2, help="share of schemas whose masks are compared too")
    parser.add_argument("--save", type=Path, default=Path(__file__).parent / "failures", help="folder for failures")
    options = parser.parse_args()
    judge, found = Judge(options.kernels), 0
    end = time.monotonic() + options.seconds
    for i, (schema, seed) in enumerate(cases(options.seed)):
        if i == options.count if options.count is not None else time.monotonic() > end:
            break
        failure = next(judge.failures(schema, seed), None)
        if failure is not None:
            found += 1
            _save(_smallest(failure, seed), options.save)
    print(", ".join(f"{number:,} {name}" for name, number in judge.counts.items()) + f"; {found} failures")
    return int(found > 0)


def _smallest(failure: Failure, seed: int) -> Failure:
    """The failure for a smaller schema."""
    judge = Judge(1.0 if failure.kind == "kernels" else 0.0)

    def again(schema: Any) -> Failure | None:
        return next((f for f in judge.failures(schema, seed) if f.kind == failure.kind), None)

    return again(shrunk(failure.schema, lambda schema: again(schema) is not None)) or failure


def _save(failure: Failure, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(failure.to_json(), ensure_ascii=False, indent=1)
    name = f"{failure.kind.replace(' ', '-')}-{hashlib.sha256(text.encode()).hexdigest()[:10]}.json"
    (folder / name).write_text(text + "\n", "utf-8")
    print(f"{failure.kind}: {json.dumps(failure.schema, ensure_ascii=False)}\n    {failure.detail}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
