"""Every limit gives an error that names it, and hostile schemas end in bounded time and memory."""

from __future__ import annotations

import contextlib
import json
import pickle
import threading
import time
from typing import Any

import pytest

import constrain
from constrain import LimitError, Limits, SchemaError, UnsatisfiableError
from constrain._limits import check_time, timed, within
from constrain.schema import compile_schema, explain_schema


def nested(depth: int, keyword: str = "items") -> Any:
    schema: Any = {"type": "null"}
    for _ in range(depth):
        schema = {keyword: [schema] if keyword.endswith("Of") else schema}
    return schema


def linked(count: int, link: Any) -> Any:
    """Definitions d0, d1, ..., each made of the next by `link`."""
    below = {f"d{i}": link({"$ref": f"#/$defs/d{i + 1}"}) for i in range(count)}
    return {"$ref": "#/$defs/d0", "$defs": {**below, f"d{count}": {"type": "null"}}}


def options(i: int) -> list[Any]:
    return [{"properties": {f"a{i}{j}": {"type": "string"}}, "required": [f"a{i}{j}"]} for j in range(4)]


def held(i: int) -> list[Any]:
    return [{"contains": {"const": f"{i}{j}"}} for j in range(4)]


@pytest.mark.parametrize(
    ("limit", "value", "schema"),
    [
        ("max_source_bytes", 100, {"enum": ["x" * 30, *range(200)]}),
        ("max_source_bytes", 100, json.dumps({"enum": ["x" * 130]})),
        ("max_depth", 20, nested(21)),
        ("max_depth", 400, nested(390, "oneOf")),
        ("max_depth", 400, '{"a":' * 5000),
        ("max_states", 100, {"type": "string", "pattern": "(a|b)*a(a|b){12}", "minLength": 1}),
        ("max_states", 1000, {"type": "integer", "multipleOf": 10**20 + 39}),
        ("max_alternatives", 16, {"type": "array", "allOf": [{"anyOf": held(i)} for i in range(3)]}),
        (
            "max_alternatives",
            64,
            {
                "type": "string",
                "not": {"anyOf": [{"allOf": [{"pattern": f"{i}a"}, {"pattern": f"{i}b"}]} for i in range(9)]},
            },
        ),
        (
            "max_alternatives",
            64,
            {
                "type": "integer",
                "not": {"anyOf": [{"multipleOf": i, "not": {"multipleOf": i * i}} for i in range(3, 20)]},
            },
        ),
        ("max_nodes", 50, {"type": "object", "properties": {f"a{i}": {"type": "null"} for i in range(90)}}),
        ("max_seconds", 0.05, {"type": "string", "pattern": "^(a?){3000}a{3000}$", "minLength": 1}),
        (
            "max_seconds",
            0.05,
            {"type": "object", "patternProperties": {f"{i}.*b": {"minLength": i} for i in range(90)}},
        ),
        ("max_seconds", 0.05, linked(3000, lambda below: {"type": "array", "items": below, "minItems": 1})),
    ],
)
def test_each_limit_is_named(limit: str, value: float, schema: Any) -> None:
    with pytest.raises(LimitError) as caught:
        constrain.sample(constrain.compile_json_schema(schema, limits=Limits(**{limit: value})))  # type: ignore[arg-type]
    assert (caught.value.limit, caught.value.value) == (limit, value)
    assert f"Limits({limit}=" in str(caught.value)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


HOSTILE: dict[str, Any] = {
    "products of unions": {"type": "object", "allOf": [{"oneOf": options(i)} for i in range(30)]},
    "a negated union": {"type": "object", "not": {"anyOf": [{"anyOf": options(i)} for i in range(30)]}},
    "deep allOf": nested(390, "allOf"),
    "deep not": nested(390, "not"),
    "deep values": nested(390),
    "counted counts": {"type": "string", "pattern": "(a{1000}){1000}"},
    "a long bounded string": {"type": "string", "pattern": "^.{0,100000}$"},
    "lookaheads over counts": {"type": "string", "pattern": "^(?=.*a.{500})(?=.*b.{500}).{0,100000}$"},
    "letters of all scripts": {"type": "string", "pattern": r"\p{L}{500,900}\p{N}{500,900}", "minLength": 1},
    "thousands of patterns": {"type": "object", "patternProperties": {f"^a{i}.*b{i}": {} for i in range(2000)}},
    "a long enum of numbers": {"enum": [*range(20_000), *(i / 2 for i in range(1999))]},
    "a long enum of strings": {"enum": [f"word {i}" for i in range(20_000)]},
    "a long enum of objects": {"enum": [{"a": i} for i in range(2000)]},
    "a chain of references": linked(20_000, lambda below: below),
    "doubled references": linked(60, lambda below: {"allOf": [below, below]}),
    "references in branches": linked(40, lambda below: {"anyOf": [{"properties": {c: below}} for c in "ab"]}),
    "only itself": {"$ref": "#"},
    "a union of itself": {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]},
    "not itself": {"not": {"$ref": "#"}},
    "round and round": {
        "$ref": "#/$defs/a",
        "$defs": {"a": {"allOf": [{"$ref": "#/$defs/b"}]}, "b": {"oneOf": [{"$ref": "#/$defs/a"}]}},
    },
    "many notes": {"properties": {f"a{i}": {"unheard": 1} for i in range(20_000)}},
    "huge counts": {"minItems": 10**12, "minProperties": 10**12, "minLength": 10**12, "maxContains": 10**12},
    "huge numbers": {"type": "number", "minimum": 10**3000, "exclusiveMaximum": 10**3001},
    "a deep constant": {"const": json.loads("[" * 900 + "]" * 900)},
    "conditions": {
        "type": "object",
        "allOf": [{"if": {"required": [f"k{i}"]}, "then": {"required": [f"r{i}"]}} for i in range(60)],
    },
    "unevaluated branches": {
        "unevaluatedProperties": False,
        "anyOf": [{"properties": {f"a{i}": {}}} for i in range(40)],
    },
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_schemas_end_soon(name: str) -> None:
    start = time.thread_time()
    limits = Limits(max_seconds=0.4, max_states=5000)
    with contextlib.suppress(LimitError, SchemaError, UnsatisfiableError):
        compile_schema(HOSTILE[name], limits=limits)
    assert time.thread_time() - start < 4  # what is between two looks at the clock


def test_patterns_and_explanations_have_the_limit_too() -> None:
    with pytest.raises(LimitError, match="max_seconds"):
        constrain.compile_regex("(a?){3000}a{3000}", limits=Limits(max_seconds=0.05))
    many = {"type": "object", "patternProperties": {f"{i}.*b": {"minLength": i} for i in range(90)}}
    [entry] = [e for e in explain_schema({"allOf": [many]}, limits=Limits(max_seconds=0.05), depth=0)]
    assert entry.problem is None  # a form needs no automaton


def test_what_is_built_later_has_the_limit_too() -> None:
    """An automaton that is built only when an output reaches it."""
    schema = {"type": "object", "properties": {"a": {"type": "string", "pattern": "^(a?){3000}a{3000}$"}}}
    grammar = constrain.compile_json_schema(schema, limits=Limits(max_seconds=0.05))
    assert grammar.accepts('{"b":1}')
    with pytest.raises(LimitError, match="max_seconds"):
        grammar.accepts('{"a":"aa"}')


def busy(seconds: float) -> None:
    start = time.thread_time()
    while time.thread_time() - start < seconds:
        pass


def test_a_step_has_the_limit_whatever_it_builds_and_decides() -> None:
    """What is built and decided for one token counts together; the next token starts afresh."""
    schema = {"type": "array", "uniqueItems": True, "items": {"properties": {"a": {}, "b": {}}}, "maxItems": 9}
    limits = Limits(max_seconds=0.02)
    vocabulary = constrain.Vocabulary.from_tokens([bytes([b]) for b in range(256)] + [b""], eos_token_ids=[256])
    matcher = constrain.Matcher(constrain.compile_json_schema(schema, vocabulary, limits=limits))
    with matcher._on_the_clock():
        busy(0.03)
    with pytest.raises(LimitError, match=r"max_seconds=0\.02 reached .*one step"):
        matcher.fill_next_token_bitmask(constrain.allocate_token_bitmask(1, vocabulary.size))
    matcher.reset()
    assert matcher.accept_bytes(b"[")


def test_a_loaded_machine_refuses_nothing() -> None:
    """The clock counts what the thread works, not what it waits."""
    with timed(Limits(max_seconds=0.01)):
        time.sleep(0.02)
        check_time()
        with pytest.raises(LimitError):
            busy(0.01)
            check_time()


def test_a_question_has_a_clock_within_that_of_the_work() -> None:
    with timed(Limits(max_seconds=60)):
        with pytest.raises(LimitError), within(1e-6):
            busy(0.001)
            check_time()
        check_time()
    with timed(Limits(max_seconds=1e-6)), pytest.raises(LimitError), within(60):
        busy(0.001)
        check_time()


def test_the_clock_of_a_compilation_is_its_own() -> None:
    with timed(Limits(max_seconds=1e-9)):
        with pytest.raises(LimitError), timed(Limits(max_seconds=100)):  # shares the outer clock
            busy(0.001)
            check_time()
        found: list[BaseException | None] = []
        thread = threading.Thread(target=lambda: found.append(check_time()))
        thread.start()
        thread.join()
        assert found == [None]
    check_time()
