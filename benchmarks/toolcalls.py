"""Tool calls beside other engines: 128 and 512 tools of ten parameters, in the three formats with their own notations.

    python benchmarks/toolcalls.py --qwen qwen3/tokenizer.json --gemma gemma4/tokenizer.json

In one run and one process, the engines taking turns: XGrammar by its built-in structural tags, llguidance by grammars
that a host would write (`toolpeers`), and this package, whose parameters may come in any order; the others' may not.

compile     the grammar, and the first mask of a reply, by an engine that has seen no tool before; CPU time
one changed the same once more after the list was compiled, when one tool of it is another
first       mask and commit, token by token, over a sentence of prose and one whole call of each of eight tools, the
            first time that this grammar is used
again       the same three times more
large       enums of 5,000 members and objects of 300 optional parameters

Times are of the thread that works (of the process for compiling, since some engines use several), so that other work on
the machine counts little; a step's time is the least of the rounds, or of all passes. Figures of "first" hold for a
process in which the vocabulary was used before; the very first pass of the process is given beside them.
"""

from __future__ import annotations

import argparse
import gc
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from time import thread_time_ns as now
from typing import Any

import numpy as np
import toolsets
from support import percentile, table
from toolpeers import LLGuidance, Step, XGrammar

import constrain
from constrain.wires import parameters

CLOCK = median(-(now() - now()) for _ in range(1000))
"""ns that reading the clock adds to what is measured."""
WIRES = ("hermes", "qwen3_coder", "gemma4")
STOPS = {"qwen": ["<|im_end|>"], "gemma": ["<eos>", "<turn|>", "<|tool_response>"]}
PROSE = "I will look at the list of open orders first, and then send the messages that you asked for, one by one.\n"
PEERS = ("xgrammar", "xgrammar, one thread", "llguidance")


class Constrain:
    """This package."""

    def __init__(self, path: Path, stops: Sequence[int]) -> None:
        self.vocabulary = constrain.Vocabulary.from_tokenizer(str(path), eos_token_ids=list(stops))
        self.bitmask = constrain.allocate_token_bitmask(1, self.vocabulary.size)
        constrain.warmup(self.vocabulary)

    def forget(self) -> None:
        parameters.forget()

    def compile(self, wire: str, tools: Sequence[Any]) -> Any:
        return toolsets.fresh(tools, self.vocabulary, wire, tool_choice="auto")

    def start(self, grammar: Any) -> Step:
        matcher = grammar.matcher()
        fill, bitmask = matcher.fill_next_token_bitmask, self.bitmask
        return lambda: fill(bitmask), matcher.accept_token


class Side:
    """A tokenizer with the engines that use it."""

    def __init__(self, path: Path, stops: Sequence[str], engines: Sequence[str]) -> None:
        from tokenizers import Tokenizer

        reader = Tokenizer.from_file(str(path))
        self.encode: Callable[[str], list[int]] = lambda text: reader.encode(text, add_special_tokens=False).ids
        ids = [token for stop in stops if (token := reader.token_to_id(stop)) is not None]
        makers: dict[str, Callable[[], Any]] = {
            "constrain": lambda: Constrain(path, ids),
            "xgrammar": lambda: XGrammar(path, ids),
            "xgrammar, one thread": lambda: XGrammar(path, ids, max_threads=1, cache_enabled=False),
            "llguidance": lambda: LLGuidance(path, ids),
        }
        self.engines = {name: makers[name]() for name in engines}


def compiled(engine: Any, wire: str, tools: Sequence[Any]) -> tuple[Any, float]:
    """The grammar, and the ms of CPU time until the first mask."""
    start = time.process_time_ns()
    grammar = engine.compile(wire, tools)
    engine.start(grammar)[0]()
    return grammar, (time.process_time_ns() - start) / 1e6


def walk(engine: Any, grammar: Any, texts: Sequence[Sequence[int]]) -> list[float]:
    """µs of mask and commit for every token of every text, each a reply of its own."""
    times = []
    for tokens in texts:
        fill, accept = engine.start(grammar)
        for token in tokens:
            start = now()
            fill()
            taken = accept(token)
            times.append((now() - start - CLOCK) / 1e3)
            if not taken:
                raise ValueError(f"token {len(times)} is refused")
    return times


class Measured:
    """The rounds of one engine on one tool set."""

    def __init__(self) -> None:
        self.ready: list[float] = []
        self.changed: list[float] = []
        self.first: list[list[float]] = []
        self.again: list[list[float]] = []
        self.error = ""

    def add(self, engine: Any, wire: str, tools: Sequence[Any], other: Sequence[Any], texts: Any) -> None:
        gc.collect()
        gc.disable()
        try:
            engine.forget()
            grammar, ready = compiled(engine, wire, tools)
            self.ready.append(ready)
            if other:
                self.changed.append(compiled(engine, wire, other)[1])
            self.first.append(walk(engine, grammar, texts))
            self.again += [walk(engine, grammar, texts) for _ in range(3)]
        except (ValueError, RuntimeError) as error:
            self.error = str(error).splitlines()[0][:80]
        finally:
            gc.enable()

    def row(self) -> list[float]:
        first, again = np.min(self.first, axis=0), np.min(self.again, axis=0)
        changed = min(self.changed) if self.changed else float("nan")
        return [
            min(self.ready), changed, max(self.first[0]),
            first.mean(), percentile(first, 0.99), first.max(),
            again.mean(), percentile(again, 0.5), percentile(again, 0.99), again.max(),
        ]  # fmt: skip


HEAD = [
    "engine", "compile, ms", "one changed, ms", "very first: max, µs", "first: avg, µs", "p99", "max",
    "again: avg, µs", "p50", "p99", "max",
]  # fmt: skip


def run(side: Side, wire: str, tools: Sequence[Any], other: Sequence[Any], texts: Any, rounds: int) -> dict[str, Any]:
    found = {name: Measured() for name in side.engines}
    for _ in range(rounds):
        for name, engine in side.engines.items():
            if not found[name].error:
                found[name].add(engine, wire, tools, other, texts)
    return found


def report(title: str, found: dict[str, Measured]) -> dict[str, list[float]]:
    rows = {name: one.row() for name, one in found.items() if not one.error}
    print(f"\n### {title}\n\n" + table(HEAD, [[name, *row] for name, row in rows.items()]), flush=True)
    for name, one in found.items():
        if one.error:
            print(f"\n{name}: not possible: {one.error}")
    return rows


def beside_peers(rows: dict[str, list[float]]) -> list[float]:
    """Of compile, the averages and the 99th percentiles: our figure divided by the best of the peers."""
    peers = [row for name, row in rows.items() if name != "constrain"]
    return [rows["constrain"][i] / min(row[i] for row in peers) for i in (0, 3, 4, 6, 8)]


def changed(tools: Sequence[Any]) -> list[Any]:
    """The list with another last tool but one."""
    other = json.loads(json.dumps(list(tools)))
    other[-2]["function"]["parameters"]["properties"]["limit"]["maximum"] += 7
    return other


def large() -> list[tuple[str, dict[str, Any], dict[str, Any]]]:
    """(what, schema of the parameters, arguments)."""
    found = []
    members = [f"value-{i}" for i in range(5000)]
    enum = {"v": {"type": "string", "enum": members}}
    found.append(("an enum of 5,000", enum, ["v"], {"v": members[-1]}))
    many = {f"k{i}": {"type": "integer"} for i in range(300)}
    found.append(("300 optional parameters", many, [], dict.fromkeys(many, 1)))
    return [
        (what, {"type": "object", "properties": members, "required": required, "additionalProperties": False}, values)
        for what, members, required, values in found
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--qwen", type=Path, help="tokenizer.json with the control tokens of Qwen3")
    parser.add_argument("--gemma", type=Path, help="tokenizer.json with those of Gemma 4")
    parser.add_argument("--tools", type=int, nargs="*", default=[128, 512])
    parser.add_argument("--wires", nargs="*", default=list(WIRES), choices=WIRES)
    parser.add_argument("--engines", nargs="*", default=["constrain", *PEERS], choices=["constrain", *PEERS])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-large", action="store_true", help="leave the large enums and objects out")
    parser.add_argument("--json", type=Path, help="write the figures there")
    options = parser.parse_args()
    sides: dict[str, Side] = {}
    all_rows: dict[str, Any] = {}
    ratios = []
    for wire in options.wires:
        family = "gemma" if wire == "gemma4" else "qwen"
        path = getattr(options, family)
        if path is None:
            continue
        if family not in sides:
            sides[family] = Side(path, STOPS[family], options.engines)
        side = sides[family]
        for count in options.tools:
            tools = toolsets.tools(count)
            texts = [
                [*side.encode(PROSE), *side.encode(toolsets.call(wire, tool))]
                for tool in tools[:: max(1, count // 8)][:8]
            ]
            title = f"{wire}: {count} tools, {sum(map(len, texts))} tokens in 8 replies"
            rows = report(title, run(side, wire, tools, changed(tools), texts, options.rounds))
            all_rows[f"{wire} {count}"] = rows
            if "constrain" in rows and len(rows) > 1:
                ratios.append([f"{wire}, {count} tools", *beside_peers(rows)])
        for what, schema, values in [] if options.no_large else large():
            tool = {"type": "function", "function": {"name": "f", "description": "", "parameters": schema}}
            texts = [side.encode(toolsets.written(wire, "f", values))]
            rows = report(f"{wire}: {what}, {len(texts[0])} tokens", run(side, wire, [tool], (), texts, options.rounds))
            all_rows[f"{wire} {what}"] = rows
    if ratios:
        head = ["our figure / the best peer's", "compile", "first: avg", "p99", "again: avg", "p99"]
        print("\n### Beside the better peer\n\n" + table(head, ratios))
    if options.json:
        options.json.write_text(json.dumps(all_rows), encoding="utf-8")


if __name__ == "__main__":
    main()
