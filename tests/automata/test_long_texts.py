"""The interpreter on long and deep texts: linear, without recursion, and under a clock."""

from __future__ import annotations

import time

import pytest

import constrain
from constrain.automata.threads import Text, Thread

NESTED = {"$defs": {"a": {"type": "array", "items": {"$ref": "#/$defs/a"}}}, "$ref": "#/$defs/a"}
CASES = {
    "number": ({"type": "number"}, lambda n: b"1" * n),
    "multiple": ({"type": "integer", "multipleOf": 7}, lambda n: b"7" * n),
    "large multiple": ({"type": "integer", "multipleOf": 1000003}, lambda n: b"1000003" * n),
    "brackets": (NESTED, lambda n: b"[" * n + b"]" * n),
    "free brackets": ({}, lambda n: b"[" * n + b"]" * n),
    "objects": ({}, lambda n: b'{"a":' * n + b"1" + b"}" * n),
    "string": ({"type": "string"}, lambda n: b'"' + b"a" * n + b'"'),
    "pattern": ({"type": "string", "pattern": "^[ab]*$"}, lambda n: b'"' + b"ab" * n + b'"'),
    "length": ({"type": "string", "maxLength": 10**6}, lambda n: b'"' + b"a" * n + b'"'),
    "escapes": ({"type": "string"}, lambda n: b'"' + rb"\u0041\n" * n + b'"'),
    "items": ({"type": "array"}, lambda n: b"[" + b"1," * n + b"1]"),
}


@pytest.mark.parametrize("name", CASES)
def test_time_grows_with_the_text_alone(name: str) -> None:
    schema, text = CASES[name]
    grammar = constrain.compile_json_schema(schema, limits=constrain.Limits(max_seconds=600))
    taken = []
    for n in (250, 250, 2500):
        data = text(n)
        start = time.process_time()
        assert grammar.accepts(data)
        rejection = grammar.explain(data[:-1])
        assert rejection is None or rejection.position == len(data) - 1
        taken.append(time.process_time() - start)
    assert taken[2] < 10 * 4 * max(taken[1], 0.005)  # 10 times the text; 100 times if it were quadratic


def test_a_text_that_takes_too_long_ends_in_a_limit_error() -> None:
    grammar = constrain.compile_json_schema({}, limits=constrain.Limits(max_seconds=0.05))
    assert grammar.accepts("[1, 2]")
    for ask in (grammar.accepts, grammar.explain):
        with pytest.raises(constrain.LimitError, match="max_seconds"):
            ask('"' + "a" * 10**6 + '"')


def test_a_reply_that_takes_too_long_ends_in_a_limit_error() -> None:
    tool = {"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "string"}}}}
    automaton = constrain.compile_tools([tool], None, "hermes", limits=constrain.Limits(max_seconds=0.05))
    call = '<tool_call>{"name": "f", "arguments": {"a": "%s"}}</tool_call>'
    assert automaton.accepts("Text. " + call % "x")
    for text in ("text " * 10**5, call % ("a" * 10**6)):
        for ask in (automaton.accepts, automaton.explain):
            with pytest.raises(constrain.LimitError, match="max_seconds"):
                ask(text)


def test_a_unique_array_nested_too_deeply_ends_in_a_limit_error() -> None:
    schema = {"type": "array", "uniqueItems": True, "items": {"$ref": "#"}}
    grammar = constrain.compile_json_schema(schema, limits=constrain.Limits(max_seconds=2))
    try:
        assert grammar.accepts("[" * 3000 + "]" * 3000)
    except constrain.LimitError as error:
        assert error.limit in ("max_depth", "max_seconds")


def test_contents_share_their_bytes_and_are_compared_by_value() -> None:
    grammar = constrain.compile_choice(["ab", "ac"])
    node = grammar.root
    start = Text.begin(node)
    a = start.then(b"a", start.look(node, b"a"))
    ab, ac = (a.then(end, a.look(node, end)) for end in (b"b", b"c"))
    assert (a.content, ab.content, ac.content) == (b"a", b"ab", b"ac")
    again = Text.begin(node).then(b"ab", Text.begin(node).look(node, b"ab"))
    assert ab != ac and ab.ahead[2:] == (0, 1) and ac.ahead[2:] == (1, 2)
    assert start.then(b"a", a.ahead) == a and hash(start.then(b"a", a.ahead)) == hash(a)
    assert again.content == ab.content
    deep = [Thread(node, ab, None, None, 0), Thread(node, ab, None, None, 0)]
    for _ in range(5000):
        deep = [Thread(node, a, None, parent, parent.depth + 1) for parent in deep]
    assert deep[0] == deep[1] and hash(deep[0]) == hash(deep[1])
    assert deep[0] != Thread(node, a, None, deep[1].parent, 1)
