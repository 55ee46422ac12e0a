"""The example grammars: texts that they take and texts that they do not."""

from __future__ import annotations

import ast
import json
import random
from functools import cache
from pathlib import Path

import pytest

from constrain import Grammar, compile_lark

EXAMPLES = Path(__file__).parent / "examples"
VALID = {
    "json": ['{"a": [1, -2.5e3, {"b": null}], "c\\u00e9\\n": "x"}', " [ ] ", "true", '"日本"'],
    "arithmetic": ["1", "a+b*c^d", "f(x, y_1 ^ 2) - -alpha / (1 + (2 - 3))", "1 + 2"],
    "sql": [
        "SELECT * FROM t;",
        "SELECT name, COUNT(*) AS n FROM users AS u LEFT JOIN orders AS o ON u.id = o.user_id "
        "WHERE u.age >= 18 AND NOT u.active IS NULL GROUP BY name HAVING COUNT(*) > 3 ORDER BY n DESC LIMIT 10;",
        "SELECT CASE WHEN p < 10 THEN 'it''s' ELSE 'x' END FROM (SELECT * FROM q) AS p WHERE a IN (1, 2) -- end\n;",
        "SELECT 1 FROM a UNION ALL SELECT 2 FROM b;",
    ],
    "python_expressions": [
        '[f(x, key=lambda v: v["n"].lower()) for x in items if x is not None]',
        "{'a': 1, **other} if flag else dict(b=(2, 3,), *args)",
        "not (a + b * c ** -d) // 2 <= matrix[1:2, ::3].T @ w or 0xff",
        "(yes, no)[not ok]",
        "{1, 2} | {x for x in y}",
    ],
    "c_like": [
        "int main(int argc, char** argv) { int i, t = 0; for (i = 0; i < argc; i++) { t += f(argv[i]); } return t; }",
        "struct node* head = 0; float a[3] = {1.0, 2.5e3, 0.5f};",
        "void f() { if (a) b(); else { do ; while (x->y.z && !w); } // note\n }",
    ],
    "markdown_table": ["| a | b | c |\n| --- | :---: | ---: |\n| 1 | 日本 | x y |\n| 2 |  -  | 3 |\n"],
}
INVALID = {
    "json": ['{"a": 1,}', "[1 2]", "01", '"\t"', "{'a': 1}", "", '{"a"}'],
    "arithmetic": ["", "1 +", "(1", "f(,)", "1 2", "a b"],
    "sql": [
        "SELECT FROM t",
        "SELECT a FROM t WHERE;",
        "SELECT (a FROM t;",
        "SELECT a FROM t GROUP name;",
        "SELECT 'a FROM t;",
    ],
    "python_expressions": ["(a", "a +", "[x for x in]", "f(a b)", "{1: }", "'a\"", "a[", "1..2"],
    "c_like": ["int f( { }", "int f() { return 1 }", "f();", "int x = ;", "int f() { if a b; }", "int a[x];"],
    "markdown_table": [
        "| a | b | c |\n",
        "| a | b | c |\n| --- | --- |\n| 1 | 2 | 3 |\n",
        "| a | b | c |\n| -- | --- | --- |\n| 1 | 2 | 3 |\n",
    ],
}


@cache
def grammar(name: str) -> Grammar:
    return compile_lark((EXAMPLES / f"{name}.lark").read_text(encoding="utf-8"))


def test_every_example_is_tested() -> None:
    assert {path.stem for path in EXAMPLES.iterdir()} == set(VALID) == set(INVALID)


@pytest.mark.parametrize("name", VALID)
def test_nothing_in_it_is_unused_or_without_words(name: str) -> None:
    assert list(grammar(name).report) == []


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in VALID.items() for text in texts])
def test_valid(name: str, text: str) -> None:
    assert grammar(name).accepts(text)


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in INVALID.items() for text in texts])
def test_invalid(name: str, text: str) -> None:
    assert not grammar(name).accepts(text)


def test_json_is_what_the_json_module_reads() -> None:
    rng = random.Random(1)
    for text in VALID["json"]:
        for _ in range(60):
            chars = list(text)
            chars[rng.randrange(len(chars))] = rng.choice('{}[],:"1e.- \\ntrue')
            mutant = "".join(chars)
            try:
                json.loads(mutant)
                expected = True
            except json.JSONDecodeError:
                expected = False
            assert grammar("json").accepts(mutant) == expected, mutant


def test_python_expressions_are_read_by_python() -> None:
    """Both ways for what differs in one character, where the text is one that Python's tokens could be cut from."""
    rng = random.Random(2)
    agreed = 0
    for text in VALID["python_expressions"]:
        ast.parse(text.strip(), mode="eval")
        for _ in range(40):
            place = rng.randrange(len(text))
            mutant = text[:place] + text[place + 1 :]
            try:
                ast.parse(mutant, mode="eval")
            except SyntaxError:
                continue
            agreed += grammar("python_expressions").accepts(mutant)
    assert agreed > 40
