"""Coverage and speed on MaskBench-style data: every instance is replayed token by token through the masks.

    python benchmarks/maskbench.py PATH --tokenizer tokenizer.json --eos '<|eot_id|>' --engines constrain,llguidance

Verdicts, one per schema: pass, refused (did not compile), false_accept, false_reject, timeout, crash. By MaskBench's
rule an instance is accepted when each of its tokens is allowed; by the strict rule the output must also be complete
after the last one. Times are per token: fill the mask, look the token up, commit it. Several engines take turns
schema by schema, in changing order, so that they share whatever else the machine is doing; ratios are over the tokens
of those schemas that all of them compiled.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter_ns

from support import (
    ENGINES,
    Case,
    Constrain,
    Late,
    add_data_arguments,
    load_tokenizer,
    percentile,
    read_cases,
    table,
    time_limit,
)

QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999, "max": 1.0}


@dataclass
class Outcome:
    """One engine on one case. token_us: µs per token; ready_ms: compile and first mask."""

    verdict: str = "pass"
    strict: str = "pass"
    why: str = ""
    token_us: list[float] = field(default_factory=list)
    ready_ms: float | None = None


def judge(engine: Constrain, case: Case, texts: list[list[int]], skipped: set[int], seconds: int) -> Outcome:
    outcome = Outcome()
    try:
        with time_limit(seconds):
            replay(engine, case, texts, skipped, outcome)
    except Late:
        outcome.verdict = outcome.strict = "timeout"
    except BaseException as error:  # a panic of native code need not be an Exception
        if isinstance(error, KeyboardInterrupt):
            raise
        outcome.verdict = outcome.strict = "crash"
        outcome.why = repr(error)[:200]
    return outcome


def replay(engine: Constrain, case: Case, texts: list[list[int]], skipped: set[int], outcome: Outcome) -> None:
    start = perf_counter_ns()
    try:
        grammar = engine.compile(case.schema)
    except Exception as error:
        outcome.verdict = outcome.strict = "refused"
        outcome.why = str(error)[:200]
        return
    compiled = perf_counter_ns()
    engine.start(grammar)
    engine.mask()
    outcome.ready_ms = (perf_counter_ns() - start) / 1e6
    outcome.token_us.append((perf_counter_ns() - compiled) / 1e3)
    for number, (test, tokens) in enumerate(zip(case.tests, texts, strict=True)):
        engine.start(grammar)
        allowed = True
        for token in tokens:
            before = perf_counter_ns()
            engine.mask()
            allowed = engine.allows(token) and engine.commit(token)
            outcome.token_us.append((perf_counter_ns() - before) / 1e3)
            if not allowed:
                break
        if number in skipped:
            continue
        complete = allowed and engine.is_accepting()
        if allowed != test["valid"] and outcome.verdict == "pass":
            outcome.verdict = "false_accept" if allowed else "false_reject"
        if complete != test["valid"] and outcome.strict == "pass":
            outcome.strict = "false_accept" if complete else "false_reject"
            outcome.why = f"test {number}"


def summary(names: list[str], outcomes: dict[str, list[Outcome]]) -> str:
    verdicts = ("pass", "refused", "false_accept", "false_reject", "timeout", "crash")
    counts = []
    for rule in ("verdict", "strict"):
        for name in names:
            tally = Counter(getattr(o, rule) for o in outcomes[name])
            counts.append([f"{name}, {'MaskBench' if rule == 'verdict' else rule} rule", *(tally[v] for v in verdicts)])
    times = []
    for name in names:
        us = [t for o in outcomes[name] for t in o.token_us]
        ready = [o.ready_ms for o in outcomes[name] if o.ready_ms is not None]
        times.append(
            [
                f"{name}, mask + commit, µs",
                len(us),
                sum(us) / max(1, len(us)),
                *(percentile(us, q) for q in QUANTILES.values()),
            ]
        )
        times.append(
            [
                f"{name}, compile + first mask, ms",
                len(ready),
                sum(ready) / max(1, len(ready)),
                *(percentile(ready, q) for q in QUANTILES.values()),
            ]
        )
    parts = [table(["schemas", *verdicts], counts), table(["time", "n", "avg", *QUANTILES], times)]
    if len(names) > 1:
        parts.append(table(["ratio", "schemas", "avg", *QUANTILES], ratios(names, outcomes)))
    return "\n\n".join(parts)


def ratios(names: list[str], outcomes: dict[str, list[Outcome]]) -> list[list[object]]:
    """Each other engine's figures over those of the first, on the schemas that all compiled."""
    cases = len(outcomes[names[0]])
    common = [
        i
        for i in range(cases)
        if all(outcomes[n][i].ready_ms is not None and outcomes[n][i].verdict != "timeout" for n in names)
    ]

    def figures(values: list[float]) -> list[float]:
        return [sum(values) / max(1, len(values)), *(percentile(values, q) for q in QUANTILES.values())]

    rows: list[list[object]] = []
    for what in ("mask + commit", "compile + first mask"):
        per = {}
        for name in names:
            chosen = [outcomes[name][i] for i in common]
            per[name] = figures(
                [t for o in chosen for t in o.token_us]
                if what == "mask + commit"
                else [o.ready_ms or 0.0 for o in chosen]
            )
        for other in names[1:]:
            quotients = [b / a if a else float("nan") for a, b in zip(per[names[0]], per[other], strict=True)]
            rows.append([f"{other} / {names[0]}, {what}", len(common), *quotients])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_data_arguments(parser)
    parser.add_argument("--engines", default="constrain", help=f"comma-separated, of: {', '.join(ENGINES)}")
    parser.add_argument("--limit", type=int, default=20, help="seconds for one schema with all its instances")
    parser.add_argument("--skip", type=Path, help='JSON {"id": [numbers of tests that are not judged]}')
    parser.add_argument("--verbose", action="store_true", help="list the schemas that do not pass the strict rule")
    options = parser.parse_args()
    tokenizer = load_tokenizer(options.tokenizer, options.eos)
    names = options.engines.split(",")
    if unknown := [name for name in names if name not in ENGINES]:
        parser.error(f"unknown engine {unknown[0]!r}")
    engines = {name: ENGINES[name](tokenizer) for name in names}
    skip = json.loads(options.skip.read_text(encoding="utf-8")) if options.skip else {}
    outcomes: dict[str, list[Outcome]] = {name: [] for name in names}
    for turn, case in enumerate(read_cases(options.path, options.every, options.offset)):
        texts = [list(tokenizer.encode(json.dumps(test["data"], ensure_ascii=False))) for test in case.tests]
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            outcome = judge(engines[name], case, texts, set(skip.get(case.id, ())), options.limit)
            outcomes[name].append(outcome)
            if options.verbose and outcome.strict != "pass":
                print(f"{name}: {case.id}: {outcome.strict} {outcome.why}", flush=True)
    print(
        f"{turn + 1} schemas of {options.path.name if options.path else 'the examples'}, tokenizer {tokenizer.name}\n"
    )
    print(summary(names, outcomes))


if __name__ == "__main__":
    main()
