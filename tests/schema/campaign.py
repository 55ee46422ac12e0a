"""Random schemas by the thousand: `python -m tests.schema.campaign --schemas 20000 --instances 10 --seed 0`.

Every schema goes to the judge of the fuzzer (`fuzz.judge`): the verdict of the grammar on each instance is that of
jsonschema, samples are valid, no state on their way is a dead end, and for a share of the schemas the kernels say what
the interpreter says, in masks and in verdicts. Instances lie close to the schema; where hypothesis-jsonschema is
installed, those of the family "typed" are joined by values that it made for the schema.

Schemas come in blocks of a hundred, a family each (`families`), no schema twice. With --state FILE each finished block
is a line of the file, and the same command goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections import Counter
from itertools import cycle
from pathlib import Path
from typing import Any

from fuzz.judge import Judge

from .families import FAMILIES, block

ORDER = ("typed", "deep", "any", "few", "arrays", "deep", "any", "mutated")


def run_block(family: str, number: int, judge: Judge, seen: set[str]) -> tuple[Counter[str], list[str], list[str]]:
    """(counts, names of the schemas judged, what failed) of one block."""
    before, names, failed = Counter(judge.counts), [], list[str]()
    for i, (schema, values) in enumerate(block(family, number)):
        name = hashlib.sha256(json.dumps(schema, sort_keys=True).encode()).hexdigest()[:16]
        if schema in (True, False, {}) or name in seen:
            continue
        seen.add(name)
        names.append(name)
        known = dict(judge.counts)
        for failure in judge.failures(schema, number * 1000 + i, values):
            failed.append(f"{family} {number}/{i}: {failure.kind}: {json.dumps(schema)}\n    {failure.detail}")
        for reason in ("limited", "refused", "disputed"):
            if judge.counts[reason] > known[reason]:
                print(f"{family} {number}/{i}: {reason}: {judge.reason}: {json.dumps(schema)[:400]}", flush=True)
    return Counter(judge.counts) - before, names, failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--schemas", type=int, default=1000, help="schemas whose instances are judged")
    parser.add_argument("--instances", type=int, default=10, help="instances of each, samples not counted")
    parser.add_argument("--seed", type=int, default=0, help="another seed, other schemas")
    parser.add_argument("--kernels", type=float, default=0.1, help="share of schemas whose masks are compared too")
    parser.add_argument("--seconds", type=float, default=60.0, help="time of one compilation or sample")
    parser.add_argument("--families", nargs="*", default=list(ORDER), choices=sorted(FAMILIES))
    parser.add_argument("--state", type=Path, help="file of finished blocks, to go on from")
    options = parser.parse_args()
    judge, seen, totals = (
        Judge(options.kernels, options.instances, options.seconds),
        set[str](),
        dict[str, Counter[str]](),
    )
    done: set[tuple[str, int]] = set()
    for line in options.state.read_text("utf-8").splitlines() if options.state and options.state.exists() else ():
        entry: dict[str, Any] = json.loads(line)
        done.add((entry["family"], entry["block"]))
        seen.update(entry["names"])
        totals.setdefault(entry["family"], Counter()).update(entry["counts"])
    start = time.process_time()
    for i, family in enumerate(cycle(options.families)):
        if sum(_judged(counts) for counts in totals.values()) >= options.schemas:
            break
        number = options.seed * 100_000 + i
        if (family, number) in done:
            continue
        counts, names, failed = run_block(family, number, judge, seen)
        counts["failures"] = len(failed)
        totals.setdefault(family, Counter()).update(counts)
        for failure in failed:
            print(failure, flush=True)
        if options.state:
            with options.state.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"family": family, "block": number, "names": names, "counts": counts}) + "\n")
    print(f"{time.process_time() - start:.0f} s of processor time", file=sys.stderr)
    for family, counts in totals.items():
        print(f"{family}: {_line(counts)}")
    total = sum(totals.values(), Counter[str]())
    print(f"all: {_line(total)}")
    return int(total["failures"] > 0)


def _judged(counts: Counter[str]) -> int:
    return counts["schemas"] - counts["refused"] - counts["limited"]


def _line(counts: Counter[str]) -> str:
    shown = {name: n for name, n in counts.items() if name not in ("schemas", "failures")}
    return (
        f"{_judged(counts):,} judged, "
        + ", ".join(f"{n:,} {name}" for name, n in shown.items())
        + f"; {counts['failures']} failures"
    )


if __name__ == "__main__":
    sys.exit(main())
