"""A recogniser for small grammars and short texts that shares nothing with the library but the expressions.

The spans (i, j) of the text that a rule derives are the least solution of what its expression says; they are found by
going over all rules until nothing is added.
"""

from __future__ import annotations

import random
from collections.abc import Mapping

from constrain.grammars.cfg import Rule
from constrain.grammars.expressions import (
    Alt,
    Expr,
    Ref,
    Regular,
    Repeat,
    Seq,
    choice,
    literal,
    repetition,
    sequence,
)
from constrain.languages.pattern import compile_node

Spans = frozenset[tuple[int, int]]


def derives(rules: Mapping[str, Rule], start: str, text: str) -> bool:
    table: dict[str, Spans] = {name: frozenset() for name in rules}
    while True:
        following = {name: _spans(rule.expr, text, table) for name, rule in rules.items()}
        if following == table:
            return (0, len(text)) in table[start]
        table = following


def _spans(expr: Expr, text: str, table: Mapping[str, Spans]) -> Spans:
    n = len(text)
    if isinstance(expr, Regular):
        dfa = compile_node(expr.node)
        return frozenset((i, j) for i in range(n + 1) for j in range(i, n + 1) if dfa.accepts(text[i:j].encode()))
    if isinstance(expr, Ref):
        return table[expr.name]
    if isinstance(expr, Alt):
        return frozenset().union(*(_spans(part, text, table) for part in expr.parts))
    here = frozenset((i, i) for i in range(n + 1))
    if isinstance(expr, Seq):
        for part in expr.parts:
            here = _then(here, _spans(part, text, table))
        return here
    assert isinstance(expr, Repeat)
    once = _spans(expr.body, text, table)
    for _ in range(expr.low):
        here = _then(here, once)
    found = here
    for _ in range(n + 1 if expr.high is None else expr.high - expr.low):
        here = _then(here, once)
        found |= here
    return found


def _then(first: Spans, second: Spans) -> Spans:
    return frozenset((i, k) for i, j in first for m, k in second if m == j)


def random_rules(rng: random.Random, alphabet: str = "ab") -> dict[str, Rule]:
    """Rules s, t, u ... with nullable, left-recursive, ambiguous and useless ones among them."""
    names = ["s", "t", "u", "v"][: rng.randint(1, 4)]

    def expr(depth: int) -> Expr:
        kind = rng.random()
        if depth == 0 or kind < 0.35:
            if rng.random() < 0.5:
                return Ref(rng.choice(names))
            return literal("".join(rng.choice(alphabet) for _ in range(rng.choice((0, 1, 1, 1, 2)))))
        if kind < 0.65:
            return sequence(expr(depth - 1) for _ in range(rng.randint(2, 3)))
        if kind < 0.9:
            return choice(expr(depth - 1) for _ in range(rng.randint(2, 3)))
        low = rng.choice((0, 0, 1, 2))
        return repetition(expr(depth - 1), low, rng.choice((None, low, low + 1, low + 2)))

    return {name: Rule(name, choice([expr(2), *(expr(2) for _ in range(rng.randint(0, 2)))])) for name in names}
