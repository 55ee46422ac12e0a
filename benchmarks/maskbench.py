"""Coverage and speed on MaskBench-style data: every instance is replayed token by token through the masks.

    python benchmarks/maskbench.py PATH --tokenizer tokenizer.json --eos '<|eot_id|>' --engines constrain,llguidance

Verdicts, one per schema: pass, refused (did not compile), false_accept, false_reject, timeout, crash. By MaskBench's
rule an instance is accepted when each of its tokens is allowed; by the strict rule the output must also be complete
after the last one. Times are per token: fill the mask, look the token up, commit it; and once more for the same
instances when the engine knows them ("again"). They are of the processor (of the thread for a token, of all threads for
compiling), so that other work on the machine counts little; --clock wall takes the clock on the wall. Several engines
take turns schema by schema, in changing order; ratios are over the tokens of those schemas that all of them compiled.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from time import perf_counter_ns, process_time_ns, thread_time_ns

import numpy as np
from engines import ENGINES, Constrain
from support import (
    Case,
    Deadline,
    Late,
    add_data_arguments,
    load_tokenizer,
    percentile,
    read_cases,
    table,
    time_limit,
)

SHARES = [1 - 10 ** (-k / 50) for k in range(175)]
"""Shares of the tokens for plots: ever closer to all, up to 0.9997."""
QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999, "max": 1.0}


@dataclass
class Outcome:
    """One engine on one case. token_us, again_us: µs per token; ready_ms: compile and first mask."""

    verdict: str = "pass"
    strict: str = "pass"
    why: str = ""
    token_us: list[float] = field(default_factory=list)
    again_us: list[float] = field(default_factory=list)
    ready_ms: float | None = None


class Clock:
    """ns of one token's work, and of a compilation; what reading the clock adds is taken off."""

    def __init__(self, wall: bool) -> None:
        self.token = perf_counter_ns if wall else thread_time_ns
        self.all = perf_counter_ns if wall else process_time_ns
        self.cost = median(-(self.token() - self.token()) for _ in range(1000))


def judge(
    engine: Constrain, case: Case, texts: list[list[int]], skipped: set[int], seconds: int, clock: Clock
) -> Outcome:
    outcome = Outcome()
    try:
        with time_limit(seconds):
            replay(engine, case, texts, skipped, outcome, clock)
    except Late:
        outcome.verdict = outcome.strict = "timeout"
    except BaseException as error:  # a panic of native code need not be an Exception
        if isinstance(error, KeyboardInterrupt):
            raise
        outcome.verdict = outcome.strict = "crash"
        outcome.why = repr(error)[:200]
    return outcome


def replay(
    engine: Constrain, case: Case, texts: list[list[int]], skipped: set[int], outcome: Outcome, clock: Clock
) -> None:
    start = clock.all()
    try:
        grammar = engine.compile(case.schema)
    except Exception as error:
        outcome.verdict = outcome.strict = "refused"
        outcome.why = str(error)[:200]
        return
    first = clock.token()
    engine.start(grammar)
    engine.mask()
    outcome.token_us.append((clock.token() - first - clock.cost) / 1e3)
    outcome.ready_ms = (clock.all() - start) / 1e6
    for number, (test, tokens) in enumerate(zip(case.tests, texts, strict=True)):
        engine.start(grammar)
        allowed = walk(engine, tokens, outcome.token_us, clock)
        if number in skipped:
            continue
        complete = allowed and engine.is_accepting()
        if allowed != test["valid"] and outcome.verdict == "pass":
            outcome.verdict = "false_accept" if allowed else "false_reject"
        if complete != test["valid"] and outcome.strict == "pass":
            outcome.strict = "false_accept" if complete else "false_reject"
            outcome.why = f"test {number}"
    for tokens in texts:
        engine.start(grammar)
        walk(engine, tokens, outcome.again_us, clock)


def walk(engine: Constrain, tokens: list[int], times: list[float], clock: Clock) -> bool:
    """Mask and commit until a token is not allowed; whether all were."""
    now, cost = clock.token, clock.cost
    for token in tokens:
        before = now()
        engine.mask()
        allowed = engine.allows(token) and engine.commit(token)
        times.append((now() - before - cost) / 1e3)
        if not allowed:
            return False
    return True


def summary(names: list[str], outcomes: dict[str, list[Outcome]]) -> str:
    verdicts = ("pass", "refused", "false_accept", "false_reject", "timeout", "crash")
    counts = []
    for rule in ("verdict", "strict"):
        for name in names:
            tally = Counter(getattr(o, rule) for o in outcomes[name])
            counts.append([f"{name}, {'MaskBench' if rule == 'verdict' else rule} rule", *(tally[v] for v in verdicts)])
    times = []
    for name in names:
        for what, values in figures(outcomes[name]).items():
            times.append([f"{name}, {what}", len(values), *spread(values)])
    parts = [table(["schemas", *verdicts], counts), table(["time", "n", "avg", *QUANTILES], times)]
    if len(names) > 1:
        parts.append(table(["our figure / theirs", "schemas", "avg", *QUANTILES], ratios(names, outcomes)))
    return "\n\n".join(parts)


FIRST, AGAIN, READY = "mask + commit, µs", "again, µs", "compile + first mask, ms"


def figures(outcomes: list[Outcome]) -> dict[str, list[float]]:
    return {
        FIRST: [t for o in outcomes for t in o.token_us],
        AGAIN: [t for o in outcomes for t in o.again_us],
        READY: [o.ready_ms for o in outcomes if o.ready_ms is not None],
    }


def spread(values: list[float]) -> list[float]:
    return [sum(values) / max(1, len(values)), *(percentile(values, q) for q in QUANTILES.values())]


def ratios(names: list[str], outcomes: dict[str, list[Outcome]]) -> list[list[object]]:
    """Figures of the first engine over those of each other, on the schemas that both compiled."""
    rows: list[list[object]] = []
    for other in names[1:]:
        pairs = zip(outcomes[names[0]], outcomes[other], strict=True)
        common = [p for p in pairs if all(o.ready_ms is not None and o.verdict != "timeout" for o in p)]
        ours, theirs = (figures(list(side)) for side in zip(*common, strict=True)) if common else ({}, {})
        for what in ours:
            quotients = [
                a / b if b else float("nan") for a, b in zip(spread(ours[what]), spread(theirs[what]), strict=True)
            ]
            rows.append([f"{names[0]} / {other}, {what.rpartition(',')[0]}", len(common), *quotients])
    return rows


def curves(names: list[str], outcomes: dict[str, list[Outcome]]) -> dict[str, dict[str, list[float]]]:
    """For plots: for each engine and figure the values at SHARES."""
    return {
        name: {what: np.quantile(values, SHARES).tolist() for what, values in figures(outcomes[name]).items() if values}
        for name in names
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_data_arguments(parser)
    parser.add_argument("--engines", default="constrain", help=f"comma-separated, of: {', '.join(ENGINES)}")
    parser.add_argument("--limit", type=int, default=20, help="seconds for one schema with all its instances")
    parser.add_argument("--skip", type=Path, help='JSON {"id": [numbers of tests that are not judged]}')
    parser.add_argument("--seconds", type=float, help="budget for the whole run")
    parser.add_argument("--clock", choices=("cpu", "wall"), default="cpu")
    parser.add_argument("--json", type=Path, help="write figures for plots there")
    parser.add_argument("--verbose", action="store_true", help="list the schemas that do not pass the strict rule")
    options = parser.parse_args()
    tokenizer = load_tokenizer(options.tokenizer, options.eos)
    names = options.engines.split(",")
    if unknown := [name for name in names if name not in ENGINES]:
        parser.error(f"unknown engine {unknown[0]!r}")
    engines = {name: ENGINES[name](tokenizer) for name in names}
    skip = json.loads(options.skip.read_text(encoding="utf-8")) if options.skip else {}
    outcomes: dict[str, list[Outcome]] = {name: [] for name in names}
    clock, deadline = Clock(options.clock == "wall"), Deadline(options.seconds)
    for turn, case in enumerate(read_cases(options.path, options.every, options.offset)):
        if deadline.passed:
            break
        texts = [list(tokenizer.encode(json.dumps(test["data"], ensure_ascii=False))) for test in case.tests]
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            outcome = judge(engines[name], case, texts, set(skip.get(case.id, ())), options.limit, clock)
            outcomes[name].append(outcome)
            if options.verbose and outcome.strict != "pass":
                print(f"{name}: {case.id}: {outcome.strict} {outcome.why}", flush=True)
    count, source = len(outcomes[names[0]]), options.path.name if options.path else "the examples"
    print(f"{count} schemas of {source}, tokenizer {tokenizer.name}, {options.clock} time\n")
    print(summary(names, outcomes))
    if options.json:
        options.json.write_text(json.dumps(curves(names, outcomes)), encoding="utf-8")


if __name__ == "__main__":
    main()
