"""Random tools in every format, at length: `python -m tests.wires.campaign --walks 2000 --renderings 2000`.

walks       whole replies at random over the masks, the matcher in a call from the start: each call that is finished is
            read back by ReplyParser, and its arguments are valid for jsonschema
renderings  valid arguments, written as templates write them: accepted in every tokenization that is tried, of the
            longest pieces and of random ones, and by the interpreter

Each number is a seed of its own, so a failure is repeated by `--wires NAME --start SEED --walks 1`. A set of tools
serves SHARED seeds.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from functools import lru_cache
from typing import Any

import constrain
from constrain.replies import ReplyParser
from constrain.wires.automaton import ToolAutomaton
from constrain.wires.markers import WIRES
from constrain.wires.render import render_calls

from .support import EOS, VOCABULARY, Mirror, is_valid, random_arguments, random_tools, tokens_of, walk

__all__ = ["NAMES", "rendered", "walked"]

NAMES = (*WIRES, "qwen")
SHARED = 4
SILENT = ("harmony", "kimi_k3")
"""Formats in which a message may begin like a call and be an answer."""


@lru_cache(maxsize=2)
def make(wire: str, seed: int) -> tuple[list[dict[str, Any]], ToolAutomaton | None]:
    """Random tools and their automaton; None where they cannot be written."""
    rng = random.Random(seed)
    tools = random_tools(rng)
    choice, parallel = rng.choice(["auto", "required"]), rng.random() < 0.7
    try:
        options = {"tool_choice": choice, "parallel": parallel, "on_bad_tool": "drop"}
        return tools, ToolAutomaton(tools, VOCABULARY, wire, **options)
    except constrain.UnsatisfiableError:
        return tools, None


def open_call(automaton: ToolAutomaton, rng: random.Random) -> list[int]:
    """Tokens after which a reply is in a call, or where it must begin one."""
    plan = automaton.plan
    if plan.start().calling:
        return []
    token = rng.choice(sorted(plan.watch.arms))
    return [*plan.watch.arms[token][0], token]


def walked(wire: str, seed: int, most: int, mirrored: bool = False) -> tuple[int, int] | None:
    """(tokens, calls) of one walk, all found valid; None where it did not end, or the tools cannot be written."""
    rng = random.Random(seed)
    tools, automaton = make(wire, seed // SHARED)
    if automaton is None:
        return None
    matcher = automaton.matcher()
    mirror = Mirror(automaton, matcher.stop_token_ids) if mirrored else None
    tokens = open_call(automaton, rng)
    for token in tokens:
        assert matcher.accept_token(token)
        if mirror is not None:
            mirror.accept(token)
    rest = walk(matcher, rng, most, mirror)
    if rest is None:
        return None
    parser = ReplyParser(wire, tools, VOCABULARY)
    for token in tokens + rest:
        parser.push(token)
    parser.finish()
    found = parser.reply.tool_calls
    assert found or wire in SILENT, f"seed {seed}: {parser.reply}"
    for call in found:
        assert is_valid(tools, call.name, call.arguments), f"seed {seed}: {call}"
    return len(tokens) + len(rest), len(found)


def rendered(wire: str, seed: int, splits: int) -> int | None:
    """How many tokenizations of one or two rendered calls were accepted; None where there are none for the seed."""
    rng = random.Random(seed)
    tools, automaton = make(wire, seed // SHARED)
    chosen = [rng.choice(tools)["function"] for _ in range(rng.choice([1, 1, 2]))]
    calls = [(one["name"], random_arguments(rng, one["parameters"])) for one in chosen]
    if automaton is None or (automaton.plan.single and len(calls) > 1):
        return None
    text = render_calls(wire, calls).lstrip("\n")
    assert automaton.explain(text) is None, f"seed {seed}: {automaton.explain(text)} in {text!r}"
    for split in (None, *[rng] * splits):
        matcher, tokens = automaton.matcher(stop_token_ids=[EOS]), tokens_of(automaton, text, split)
        assert matcher.accept_tokens(tokens) == len(tokens) and matcher.is_accepting(), f"seed {seed}: {text!r}"
    return 1 + splits


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wires", nargs="*", default=list(NAMES), choices=NAMES)
    parser.add_argument("--walks", type=int, default=2000, help="finished walks per format")
    parser.add_argument("--renderings", type=int, default=2000, help="rendered replies per format")
    parser.add_argument("--start", type=int, default=10_000, help="the first seed")
    options = parser.parse_args()
    failures = 0
    for wire in options.wires:
        tally = Counter[str]()
        for what, count in (("walks", options.walks), ("renderings", options.renderings)):
            seed = options.start
            while tally[what] < count:
                try:
                    if what == "walks":
                        found = walked(wire, seed, 300)
                        tally["tokens"], tally["calls"] = (
                            tally[name] + (found[i] if found else 0) for i, name in enumerate(("tokens", "calls"))
                        )
                        tally["not ended"] += found is None
                    else:
                        found = rendered(wire, seed, 2)
                        tally["tokenizations"] += found or 0
                    tally[what] += found is not None
                except Exception as error:
                    failures += 1
                    tally["failures"] += 1
                    tally[what] += 1
                    print(f"{wire}, {what}, seed {seed}: {error!r}", flush=True)
                seed += 1
        print(f"{wire}: " + ", ".join(f"{tally[name]} {name}" for name in (*tally,)), flush=True)
    raise SystemExit(failures > 0)


if __name__ == "__main__":
    main()
