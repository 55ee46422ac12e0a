"""What grows with the size of a constraint or of an output, and what does not.

    python benchmarks/growth.py --tokenizer tokenizer.json --eos '<|eot_id|>' --only enum,depth

A curve is a family of constraints and texts by size. For each size, the time until the first mask is there, and the
time of mask and commit per token: when the grammar is new (first), and for a second sequence (again). Times are of the
processor, not of the clock, and each token's is its least over the rounds, so that other work on the machine does not
look like growth. The last tenth is the average of the last tokens of the first sequence: what a token costs once the
output is that long.

The exponent is the slope of the log of the time over the log of the size in the upper half of the sizes: 0 is flat, 1
is linear. A token may not grow: what does is marked.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median
from time import thread_time_ns as now
from typing import Any

import numpy as np
from curves import CURVES, Curve
from support import Deadline, Late, Tokenizer, figure, load_tokenizer, table, time_limit

import constrain

GROWS = 0.35  # an exponent that a logarithm does not reach over these sizes
CLOCK = median(-(now() - now()) for _ in range(1000))
"""ns that reading the clock adds to what is measured."""


@dataclass
class Point:
    """Figures of one size. ready: ms of compile and first mask; the others: µs a token; nbytes: of the grammar."""

    size: int
    tokens: int
    ready: float
    first: float
    first_max: float
    last: float
    again: float
    again_max: float
    nbytes: int


def replay(matcher: Any, tokens: Sequence[int], bitmask: Any) -> list[float]:
    """µs of mask and commit for each token."""
    times = []
    fill, accept = matcher.fill_next_token_bitmask, matcher.accept_token
    for token in tokens:
        start = now()
        fill(bitmask)
        taken = accept(token)
        times.append((now() - start - CLOCK) / 1e3)
        if not taken:
            raise ValueError(f"token {len(times) - 1} of {len(tokens)} is refused")
    return times


def measure(curve: Curve, size: int, tokenizer: Tokenizer, rounds: int) -> Point:
    make, text = curve.make(size, tokenizer.vocabulary)
    tokens = list(tokenizer.encode(text))
    bitmask = constrain.allocate_token_bitmask(1, tokenizer.vocabulary.size)
    ready, first, again, nbytes = [], [], [], 0
    for _ in range(rounds):
        start = now()
        grammar = make()
        grammar.matcher().fill_next_token_bitmask(bitmask)
        ready.append((now() - start) / 1e6)
        first.append(replay(grammar.matcher(max_rollback=0), tokens, bitmask))
        again.append(replay(grammar.matcher(max_rollback=0), tokens, bitmask))
        nbytes = grammar.nbytes
    fresh, warm = np.min(first, axis=0), np.min(again, axis=0)
    tail = fresh[-max(1, len(fresh) // 10) :]
    return Point(
        size, len(tokens), min(ready), fresh.mean(), fresh.max(), tail.mean(), warm.mean(), warm.max(), nbytes
    )  # fmt: skip


def exponent(points: Sequence[Point], of: Callable[[Point], float]) -> float:
    """Slope of log(time) over log(size) in the upper half of the sizes."""
    upper = points[len(points) // 2 - (len(points) > 2) :]
    if len(upper) < 2:
        return math.nan
    x = np.log([p.size for p in upper])
    return float(np.polyfit(x, np.log([max(of(p), 1e-3) for p in upper]), 1)[0])


def run(curve: Curve, tokenizer: Tokenizer, rounds: int, limit: int, deadline: Deadline) -> Iterator[Point | str]:
    for size in curve.sizes:
        if deadline.passed:
            yield f"{curve.name}, {size}: left out, since the time was up"
            return
        try:
            with time_limit(limit):
                yield measure(curve, size, tokenizer, rounds)
        except Late:
            yield f"{curve.name}, {size}: more than {limit} s"
            return
        except (constrain.ConstrainError, ValueError) as error:
            yield f"{curve.name}, {size}: {type(error).__name__}: {str(error)[:200]}"


HEAD = [
    "size", "tokens", "compile + first mask, ms", "first, µs", "max", "last tenth", "again, µs", "max", "grammar, KB",
]  # fmt: skip


def slopes_of(points: Sequence[Point]) -> list[float]:
    """Exponents of what gets a grammar ready, of the last tokens in a new one, and of tokens in a known one."""
    return [exponent(points, of) for of in (lambda p: p.ready, lambda p: p.last, lambda p: p.again)]


def brief(found: dict[str, list[Point]], remarks: dict[str, list[str]]) -> str:
    """A row for each curve: from the smallest size to the largest."""

    def span(points: list[Point], of: Callable[[Point], float]) -> str:
        return f"{figure(of(points[0]))} – {figure(of(points[-1]))}"

    rows: list[list[object]] = []
    for curve in CURVES:
        if points := found.get(curve.name):
            ready, last, again = slopes_of(points)
            rows.append(
                [curve.name, f"{points[0].size} – {points[-1].size:,} {curve.axis}",
                 span(points, lambda p: p.ready), ready, span(points, lambda p: p.first),
                 span(points, lambda p: p.last), last, span(points, lambda p: p.again), again]
            )  # fmt: skip
    head = [
        "curve",
        "sizes",
        "compile + first mask, ms",
        "exp.",
        "new: µs a token",
        "its last",
        "exp.",
        "known: µs a token",
        "exp.",
    ]
    return "\n".join([table(head, rows), "", *(f"- {remark}" for many in remarks.values() for remark in many)])


def report(curve: Curve, points: list[Point], remarks: list[str]) -> str:
    rows: list[list[object]] = [
        [p.size, p.tokens, p.ready, p.first, p.first_max, p.last, p.again, p.again_max, p.nbytes / 1e3] for p in points
    ]
    slopes = slopes_of(points)
    names = ("compile + first mask", "a token", "a token again")
    said = ", ".join(
        f"{name} {slope:.2f}" + (" **grows**" if slope > GROWS and name != names[0] else "")
        for name, slope in zip(names, slopes, strict=True)
    )
    return "\n".join([f"### {curve.name}", "", curve.about, "", table(HEAD, rows), "", f"Exponents: {said}.", *remarks])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokenizer", type=Path, help="tokenizer.json; default: one token per byte")
    parser.add_argument("--eos", help="text of the token that ends the output; needed with --tokenizer")
    parser.add_argument("--only", default="", help="comma-separated beginnings of the names of curves")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--largest", type=int, help="leave larger sizes out")
    parser.add_argument("--limit", type=int, default=60, help="seconds for one size")
    parser.add_argument(
        "--seconds", type=float, help="budget for the whole run; what does not fit is left out, and said"
    )
    parser.add_argument("--brief", action="store_true", help="one row for each curve")
    parser.add_argument("--json", type=Path, help="write the figures there, for plots")
    options = parser.parse_args()
    tokenizer = load_tokenizer(options.tokenizer, options.eos, ("<tool_call>", "</tool_call>"))
    constrain.warmup(tokenizer.vocabulary)
    chosen = [c for c in CURVES if c.name.startswith(tuple(options.only.split(",")))]
    found: dict[str, list[Point]] = {}
    remarks: dict[str, list[str]] = {}
    deadline = Deadline(options.seconds)
    for curve in chosen:
        if options.largest:
            curve = replace(curve, sizes=tuple(size for size in curve.sizes if size <= options.largest))
        points, said = found.setdefault(curve.name, []), remarks.setdefault(curve.name, [])
        for outcome in run(curve, tokenizer, options.rounds, options.limit, deadline):
            if isinstance(outcome, Point):
                points.append(outcome)
            else:
                said.append(outcome)
        if not options.brief:
            print(report(curve, points, said) + "\n", flush=True)
    if options.brief:
        print(brief(found, remarks))
    if options.json:
        figures = {name: [asdict(point) for point in points] for name, points in found.items()}
        options.json.write_text(json.dumps(figures), encoding="utf-8")
    if not chosen:
        sys.exit(f"no curve is called so; there are {', '.join(c.name for c in CURVES)}")


if __name__ == "__main__":
    main()
