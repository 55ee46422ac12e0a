"""Masks under context-free grammars, beside llguidance's reading of the same Lark grammars on the same texts.

    python benchmarks/grammars.py --tokenizer tokenizer.json --eos '<|eot_id|>' --engines constrain,llguidance

The grammars are the examples of the tests (arithmetic, JSON, SQL, Python expressions, a C-like language, Markdown
tables), the texts below are written in them. Per token: fill the mask, look the token up, commit it; CPU time of the
thread. The engines take turns text by text. The first pass is the first time that an engine sees the grammar (compiled
anew, with nothing kept from earlier runs but what is kept per vocabulary), the last pass the best of `--passes` more.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path
from time import thread_time_ns
from typing import Any

import numpy as np
from engines import Constrain, LLGuidance
from support import Tokenizer, figure, load_tokenizer, percentile, table

import constrain

EXAMPLES = Path(__file__).parents[1] / "tests" / "grammars" / "examples"
TEXTS = {
    "arithmetic": [
        "f(x, y_1 ^ 2) - -alpha / (1 + (2 - 3)) * rate ^ 2 + max(width, height, 100) - total / count",
        "(a + b) * (c - d) / (e + f) - g ^ (h + i * (j - 12.5)) + sin(omega * t + phi)",
    ],
    "json": [
        '{"name": "Ada Lovelace", "born": 1815, "fields": ["mathematics", "computing"], "active": false,'
        ' "notes": null, "address": {"street": "12 St James\'s Square", "city": "London", "geo": [51.507, -0.135]}}',
        '[{"id": 1, "title": "The first row of a table", "tags": ["a", "b"], "ratio": 2.5e-3},'
        ' {"id": 2, "title": "Line one\\nLine two \\u00e9", "tags": [], "ratio": 0}]',
    ],
    "sql": [
        "SELECT name, COUNT(*) AS n FROM users AS u LEFT JOIN orders AS o ON u.id = o.user_id WHERE u.age >= 18"
        " AND NOT u.active IS NULL GROUP BY name HAVING COUNT(*) > 3 ORDER BY n DESC LIMIT 10;",
        "SELECT CASE WHEN price < 10 THEN 'cheap' ELSE 'it''s dear' END FROM (SELECT * FROM products) AS p"
        " WHERE category IN (1, 2, 3) AND title = 'A longer piece of text here';",
    ],
    "python_expressions": [
        '[f(x, key=lambda v: v["name"].lower()) for x in items if x is not None and x.size > 10]',
        "{'total': sum(row.price * row.count for row in rows), 'first': rows[0].name, **defaults} if rows else None",
        "not (a + b * c ** -d) // 2 <= matrix[1:2, ::3].T @ weights or 0xff",
    ],
    "c_like": [
        "int main(int argc, char** argv) {\n    int i, total = 0;\n    for (i = 0; i < argc; i++) {\n"
        "        total += length(argv[i]);\n    }\n    return total;\n}\n",
        "struct node* insert(struct node* head, int value) {\n    // the list stays sorted\n"
        "    struct node* fresh = allocate(16);\n    if (head == 0 || head->value >= value) {\n"
        "        fresh->next = head;\n        return fresh;\n    }\n"
        "    while (head->next && head->next->value < value) head = head->next;\n    return fresh;\n}\n",
    ],
    "markdown_table": [
        "| Name | Price | Remark |\n| --- | ---: | :---: |\n| Apples | 2.50 | from the region |\n"
        "| Oranges | 3.10 | sweet and ripe |\n| Pears | 1 | - |\n",
    ],
}
"""Texts as a model would write them."""


class ConstrainLark(Constrain):
    def compile(self, schema: Any) -> Any:
        return constrain.compile_lark(schema, self.vocabulary)


class LLGuidanceLark(LLGuidance):
    def compile(self, schema: Any) -> Any:
        matcher = self.module.LLMatcher(self.tokenizer, self.module.grammar_from("lark", schema))
        if matcher.is_error():
            raise ValueError(matcher.get_error())
        return matcher


ENGINES: dict[str, type[Constrain]] = {"constrain": ConstrainLark, "llguidance": LLGuidanceLark}


def replay(engine: Constrain, grammar: Any, tokens: list[int], where: str) -> list[float]:
    """µs of each token."""
    engine.start(grammar)
    times = []
    for token in tokens:
        before = thread_time_ns()
        engine.mask()
        allowed = engine.allows(token) and engine.commit(token)
        times.append((thread_time_ns() - before) / 1e3)
        if not allowed:
            raise SystemExit(f"{engine.name} does not allow token {token} of {where}")
    if not engine.is_accepting():
        raise SystemExit(f"{engine.name} does not accept {where}")
    return times


def measure(engines: list[Constrain], tokenizer: Tokenizer, names: list[str], passes: int) -> dict[Any, list[float]]:
    """µs per token, by (engine, grammar, "first" or "last")."""
    found: dict[Any, list[float]] = defaultdict(list)
    for name in names:
        source = (EXAMPLES / f"{name}.lark").read_text(encoding="utf-8")
        grammars = [engine.compile(source) for engine in engines]
        best: dict[Any, np.ndarray] = {}
        for number in range(1 + passes):
            for i, text in enumerate(TEXTS[name]):
                tokens = list(tokenizer.encode(text))
                order = range(len(engines)) if (number + i) % 2 == 0 else reversed(range(len(engines)))
                for k in order:
                    times = np.array(replay(engines[k], grammars[k], tokens, f"{name} {i}"))
                    if number == 0:
                        found[engines[k].name, name, "first"] += times.tolist()
                    else:
                        best[k, i] = np.minimum(best.get((k, i), times), times)
        for (k, _), values in best.items():
            found[engines[k].name, name, "last"] += values.tolist()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help=f"grammars: {', '.join(TEXTS)}; default: all")
    parser.add_argument("--tokenizer", type=Path, help="tokenizer.json; default: one token per byte")
    parser.add_argument("--eos", help="text of the token that ends the output; needed with --tokenizer")
    parser.add_argument("--engines", default="constrain", help=f"of {', '.join(ENGINES)}")
    parser.add_argument("--passes", type=int, default=3, help="passes after the first")
    options = parser.parse_args()
    tokenizer = load_tokenizer(options.tokenizer, options.eos)
    engines = [ENGINES[name](tokenizer) for name in options.engines.split(",")]
    names = options.names or list(TEXTS)
    found = measure(engines, tokenizer, names, options.passes)
    for which in ("first", "last"):
        rows = []
        for name in (*names, "all"):
            chosen = names if name == "all" else [name]
            columns = [[t for one in chosen for t in found[engine.name, one, which]] for engine in engines]
            row = [name, str(len(columns[0]))]
            for values in columns:
                row += [figure(float(np.mean(values))), figure(percentile(values, 0.5)), figure(max(values))]
            if len(engines) == 2:
                row.append(figure(float(np.mean(columns[0]) / np.mean(columns[1]))))
            rows.append(row)
        heads = [f"{engine.name} {what}" for engine in engines for what in ("mean", "median", "max")]
        ratio = ["ratio of means"] if len(engines) == 2 else []
        print(f"\n{which} pass, µs per token, {tokenizer.name}\n")
        print(table(["grammar", "tokens", *heads, *ratio], rows))


if __name__ == "__main__":
    main()
