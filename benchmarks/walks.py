"""Random walks through the masks: whatever they allow must lead to a valid document.

    python benchmarks/walks.py PATH --tokenizer tokenizer.json --eos '<|eot_id|>' --every 15

A walk takes allowed tokens at random, closing ones preferred the longer it lasts. A text that ends is validated by
`jsonschema`. One that does not is driven on by the shortest completion of the reference interpreter; the matcher must
take it, accept there, and the text must be valid. Counted besides: dead ends (an empty mask, or a state without a
completion), and any disagreement between the matcher and the interpreter.

Formats are not asserted by the validators. `jsonschema` reads patterns as Python's, not as ECMA's (there `$` matches
before a last line feed), so where `jsonschema_rs` is installed a text is invalid only if it says so too, else disputed.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
from collections import Counter
from typing import Any

import jsonschema
import numpy as np
from support import Case, Deadline, Late, Tokenizer, add_data_arguments, load_tokenizer, read_cases, table, time_limit

import constrain
from constrain.automata.oracle import Oracle
from constrain.automata.shortest import Completer

try:
    from jsonschema_rs import validator_for as second_opinion
except ImportError:
    second_opinion = None

CLOSING = frozenset(b'"]}0 ')
LIKES_CLOSING, HURRY = 40, 0.8  # after so many tokens a closing one is taken with this probability, before with 0.25


class Walker:
    """Walks over one vocabulary."""

    def __init__(self, tokenizer: Tokenizer, tokens: int) -> None:
        self.vocabulary = tokenizer.vocabulary
        self.tokens = tokens
        self.bitmask = constrain.allocate_token_bitmask(1, self.vocabulary.size)
        pieces = [self.vocabulary.token_bytes(t) for t in range(self.vocabulary.size)]
        self.closing = np.array([p is not None and bool(p.strip()) and CLOSING.issuperset(p) for p in pieces])
        self.text = np.array([p is not None for p in pieces])

    def allowed(self, matcher: Any) -> np.ndarray:
        matcher.fill_next_token_bitmask(self.bitmask)
        bits = np.unpackbits(self.bitmask[0].view(np.uint8), bitorder="little")[: self.vocabulary.size].astype(bool)
        return bits & self.text

    def walk(self, matcher: Any, rng: random.Random) -> tuple[str, bytes]:
        """(how it ended: "done", "open", "dead end" or "mask lied", the text)."""
        text = b""
        for step in range(self.tokens):
            bits = self.allowed(matcher)
            ids = np.flatnonzero(bits)
            if matcher.is_accepting() and (not len(ids) or rng.random() < 0.5 or step > self.tokens // 2):
                return "done", text
            if not len(ids):
                return "dead end", text
            close = np.flatnonzero(bits & self.closing)
            hurry = HURRY if step > LIKES_CLOSING else 0.25
            token = int(rng.choice(close if len(close) and rng.random() < hurry else ids))
            if not matcher.accept_token(token):
                return "mask lied", text
            text += self.vocabulary.token_bytes(token) or b""
        return "open", text


def finish(grammar: Any, matcher: Any, completer: Completer, text: bytes) -> tuple[str, bytes]:
    """Drive an open walk to its end by the shortest completion."""
    threads, used = completer.oracle.run(text)
    if used < len(text):
        return "interpreter refuses", text
    rest = completer.completion(threads)
    if rest is None:
        return "dead end", text
    if not matcher.accept_bytes(rest) or not matcher.is_accepting():
        return "matcher refuses", text + rest
    return "completed", text + rest


def verdict(schema: Any, validator: Any, text: bytes) -> str:
    try:
        value = json.loads(text)
    except ValueError:
        return "not JSON"
    try:
        if validator.is_valid(value):
            return "valid"
        judged = "invalid"
    except Exception:  # a pattern that Python's `re` cannot read, a reference to another document
        judged = "not judged"
    if second_opinion is not None:
        with contextlib.suppress(ValueError):
            if second_opinion(schema, validate_formats=False).is_valid(value):
                return "valid" if judged == "not judged" else "disputed"
            return "invalid"
    return judged


def walk_case(case: Case, walker: Walker, options: argparse.Namespace, tally: Counter[str]) -> None:
    try:
        grammar = constrain.compile_json_schema(case.schema, walker.vocabulary)
    except constrain.ConstrainError:
        tally["refused"] += 1
        return
    validator = jsonschema.validators.validator_for(case.schema, jsonschema.Draft202012Validator)(case.schema)
    completer = Completer(Oracle(grammar.root))
    tally["compiled"] += 1
    for number in range(options.walks):
        rng = random.Random(f"{options.seed} {case.id} {number}")
        matcher = grammar.matcher(max_rollback=0)
        ended, text = walker.walk(matcher, rng)
        if ended == "open":
            ended, text = finish(grammar, matcher, completer, text)
        if ended in ("done", "completed"):
            judged = verdict(case.schema, validator, text)
            tally[f"{ended}, {judged}"] += 1
            if judged in ("valid", "not judged"):
                continue
            ended = f"{ended}, {judged}"
        else:
            tally[ended] += 1
        print(
            f"{ended}: {case.id} walk {number}: {json.dumps(text.decode('utf-8', 'backslashreplace'))[:1500]}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_data_arguments(parser)
    parser.add_argument("--walks", type=int, default=3, help="walks per schema")
    parser.add_argument("--tokens", type=int, default=120, help="tokens after which a walk is completed")
    parser.add_argument("--limit", type=int, default=30, help="seconds for one schema")
    parser.add_argument("--seconds", type=float, help="budget for the whole run")
    parser.add_argument("--seed", default="0")
    options = parser.parse_args()
    walker = Walker(load_tokenizer(options.tokenizer, options.eos), options.tokens)
    constrain.warmup(walker.vocabulary)
    deadline, tally = Deadline(options.seconds), Counter[str]()
    for case in read_cases(options.path, options.every, options.offset):
        if deadline.passed:
            break
        tally["schemas"] += 1
        try:
            with time_limit(options.limit):
                walk_case(case, walker, options, tally)
        except Late:
            tally["timeout"] += 1
            print(f"timeout: {case.id}", flush=True)
        except Exception as error:
            tally["crash"] += 1
            print(f"crash: {case.id}: {error!r}", flush=True)
    print(table(["walks", "count"], sorted(tally.items())))


if __name__ == "__main__":
    main()
