"""Whatever a public function is given, it works or raises one of constrain's own errors."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable
from decimal import Decimal
from enum import Enum
from typing import Any

import numpy as np
import pytest

import constrain
from constrain import ConstrainError
from constrain._errors import ArgumentError
from constrain.requests import Session
from constrain.sampling import Sampling

BYTES = [bytes([b]) for b in range(256)]
VOCABULARY = constrain.Vocabulary.from_tokens([*BYTES, b"ab", None], {"<eos>": 258}, [258])
OTHER = constrain.Vocabulary.from_tokens(BYTES, eos_token_ids=[])
STRING = constrain.compile_json_schema({"type": "string"}, VOCABULARY)
ODD: list[Any] = [
    None, True, False, 0, 1, -1, 2**70, 10**5000, 1.5, math.nan, math.inf, "", "x", "\ud800", b"",
    b"x", b"\xff", [], [1],
    {}, {"a": 1}, {1: 2}, (1,), object(), set(), np.zeros(3), np.zeros(()), np.int32(3),
    Decimal(1), int, lambda: 0, ...,
]  # fmt: skip
SOURCES: dict[str, tuple[Any, tuple[str, ...]]] = {
    "compile_json_schema": (
        {"type": "string"},
        ("draft", "whitespace", "property_order", "additional_properties", "formats", "numbers", "lenient", "openapi"),
    ),
    "compile_regex": ("a", ("dialect",)),
    "compile_choice": (["a"], ()),
    "compile_lark": ('start: "a"', ("start",)),
    "compile_gbnf": ('root ::= "a"', ("root",)),
    "compile_structural_tag": ({"type": "structural_tag", "format": {"type": "any_text"}}, ("whitespace",)),
    "compile_tools": (
        [{"type": "function", "function": {"name": "f", "parameters": {}}}],
        ("wire", "tool_choice", "parallel", "reasoning", "names", "json_values", "spelled_markers", "on_bad_tool"),
    ),
}


def is_clean(call: Callable[[], Any]) -> bool:
    try:
        call()
    except ConstrainError as error:
        return bool(str(error))
    return True


def bad(calls: dict[str, Callable[[], Any]]) -> list[str]:
    """Names of the calls that raise anything else."""
    wrong = []
    for name, call in calls.items():
        try:
            assert is_clean(call)
        except Exception as error:
            wrong.append(f"{name}: {type(error).__name__} {error}"[:200])
    return wrong


@pytest.mark.parametrize("name", SOURCES)
def test_sources_and_options_of_compilations(name: str) -> None:
    if name == "compile_lark":
        pytest.importorskip("lark")
    compile_it, (good, options) = getattr(constrain, name), SOURCES[name]
    assert compile_it(good, limits=constrain.Limits(max_seconds=600)) is not None  # the first one imports
    calls: dict[str, Callable[[], Any]] = {}
    for i, odd in enumerate(ODD):
        calls[f"source {i}"] = lambda odd=odd: compile_it(odd)
        calls[f"within {i}"] = lambda odd=odd: compile_it([odd])
        calls[f"vocab {i}"] = lambda odd=odd: compile_it(good, odd)
        for option in (*options, "limits"):
            calls[f"{option} {i}"] = lambda odd=odd, option=option: compile_it(good, **{option: odd})
    assert bad(calls) == []


class _Kind(str, Enum):
    NAME = "object"


VALUES = [
    math.nan, math.inf, 10**5000, Decimal("NaN"), Decimal("1.5"), Decimal("1E+1000000000"), 2**80,
    5e-324, -0.0, "\ud800",
    object(), (1, 2), {1: 2}, b"x", np.int64(3), np.float64(1.5), np.float32(1.5), np.array([1,
    2]), {1, 2}, True, None, [],
    ["a", 1], {"": True}, "(", "#/a/b", "#/%zz", "http://[::1", "http://[", "urn:a:b", _Kind.NAME,
]  # fmt: skip
KEYWORDS = [
    "minimum", "maximum", "exclusiveMinimum", "multipleOf", "minLength", "maxItems", "minItems",
    "minProperties", "enum",
    "const", "required", "pattern", "patternProperties", "properties", "type", "$ref", "$id",
    "$anchor", "$schema", "format",
    "allOf", "items", "prefixItems", "$defs", "dependentRequired", "if", "not", "uniqueItems",
    "contains", "minContains",
    "$dynamicRef", "unevaluatedProperties", "contentEncoding", "discriminator", "nullable", "default", "x",
]  # fmt: skip


@pytest.mark.parametrize("keyword", KEYWORDS)
def test_values_of_keywords(keyword: str) -> None:
    calls: dict[str, Callable[[], Any]] = {}
    for i, value in enumerate(VALUES):
        for place, schema in enumerate(
            ({keyword: value}, {"items": {keyword: value, "$ref": "a"}}, {keyword: [value]})
        ):
            calls[f"{i} {place}"] = lambda schema=schema: constrain.compile_json_schema(schema).to_bytes()
    assert bad(calls) == []


def test_texts_of_schemas() -> None:
    texts = [
        "{",
        "[]",
        "1",
        "null",
        "NaN",
        '{"minimum":NaN}',
        '{"minimum":1e999999}',
        '{"a":1,"a":2}',
        "\ufeff{}",
        b"\xff",
        "",
    ]
    assert bad({text: lambda text=text: constrain.compile_json_schema(text) for text in map(str, texts)}) == []
    long = "1" * 6000
    grammar = constrain.compile_json_schema('{"minimum": ' + long + "}", limits=constrain.Limits(max_seconds=600))
    assert not grammar.accepts("7") and not constrain.Grammar.from_bytes(grammar.to_bytes()).accepts("7")


def test_scalars_of_other_classes_mean_their_value() -> None:
    grammar = constrain.compile_json_schema({"type": _Kind.NAME, "properties": {"a": {"const": np.float64(1.5)}}})
    assert grammar.accepts('{"a":1.5}') and not grammar.accepts('{"a":2}') and not grammar.accepts("[]")


def test_grammars() -> None:
    data = STRING.to_bytes()
    calls: dict[str, Callable[[], Any]] = {}
    for i, odd in enumerate(ODD):
        for name in ("accepts", "explain"):
            calls[f"{name} {i}"] = lambda odd=odd, name=name: getattr(STRING, name)(odd)
        calls[f"max_rollback {i}"] = lambda odd=odd: STRING.matcher(max_rollback=odd)
        calls[f"stops {i}"] = lambda odd=odd: STRING.matcher(stop_token_ids=odd)
        calls[f"stop {i}"] = lambda odd=odd: STRING.matcher(stop_token_ids=[odd])
        calls[f"from_bytes {i}"] = lambda odd=odd: constrain.Grammar.from_bytes(odd, VOCABULARY)
        calls[f"from_bytes vocab {i}"] = lambda odd=odd: constrain.Grammar.from_bytes(data, odd)
        calls[f"sample {i}"] = lambda odd=odd: constrain.sample(odd)
        calls[f"seed {i}"] = lambda odd=odd: constrain.sample(STRING, seed=odd)
        calls[f"max_bytes {i}"] = lambda odd=odd: constrain.sample(STRING, max_bytes=odd)
        calls[f"Matcher {i}"] = lambda odd=odd: constrain.Matcher(odd)
        calls[f"Limits {i}"] = lambda odd=odd: constrain.Limits(max_states=odd, max_seconds=odd)
        for field in ("temperature", "top_k", "top_p", "min_p", "repetition_penalty", "presence_penalty", "seed"):
            calls[f"{field} {i}"] = lambda odd=odd, field=field: Sampling(**{field: odd})
    for cut in (0, 3, 20, len(data) - 1):
        calls[f"cut {cut}"] = lambda cut=cut: constrain.Grammar.from_bytes(data[:cut], VOCABULARY)
    calls["other vocabulary"] = lambda: constrain.Grammar.from_bytes(data, OTHER)
    calls["no vocabulary"] = lambda: constrain.compile_json_schema({}).matcher()
    calls["built from nodes"] = lambda: pickle.dumps(constrain.Grammar(STRING.root, VOCABULARY))
    assert bad(calls) == []
    assert STRING.accepts(bytearray(b'"a"')) and not STRING.accepts(b'"\xff"') and STRING.explain(b'"\xff"') is not None


def test_vocabularies() -> None:
    make = constrain.Vocabulary.from_tokens
    calls: dict[str, Callable[[], Any]] = {}
    for i, odd in enumerate(ODD):
        calls[f"from_tokenizer {i}"] = lambda odd=odd: constrain.Vocabulary.from_tokenizer(odd)
        calls[f"tokens {i}"] = lambda odd=odd: make(odd, eos_token_ids=[])
        calls[f"token {i}"] = lambda odd=odd: make([odd], eos_token_ids=[])
        calls[f"special {i}"] = lambda odd=odd: make([b"a"], odd, [])
        calls[f"special id {i}"] = lambda odd=odd: make([b"a"], {"x": odd}, [])
        calls[f"eos {i}"] = lambda odd=odd: make([b"a"], None, odd)
        calls[f"eos id {i}"] = lambda odd=odd: make([b"a"], None, [odd])
        calls[f"width {i}"] = lambda odd=odd: make([b"a"], None, [], odd)
        calls[f"token_bytes {i}"] = lambda odd=odd: VOCABULARY.token_bytes(odd)
        calls[f"control_id {i}"] = lambda odd=odd: VOCABULARY.control_id(odd)
        calls[f"itself {i}"] = lambda odd=odd: constrain.Vocabulary(
            odd, odd, n_tokens=odd, control=odd, eos_token_ids=odd
        )
    assert bad(calls) == []


def test_matchers_and_sessions() -> None:
    bitmask = constrain.allocate_token_bitmask(3, VOCABULARY.size)
    calls: dict[str, Callable[[], Any]] = {}
    methods = ("allows", "accept_token", "accept_tokens", "accept_bytes", "validate_tokens", "rollback", "force_token",
               "forced_bytes", "fill_next_token_bitmask")  # fmt: skip
    for i, odd in enumerate(ODD):
        for make in (STRING.matcher, lambda: Session(STRING)):
            kind = type(make()).__name__
            for name in methods:
                calls[f"{kind}.{name} {i}"] = lambda odd=odd, name=name, make=make: getattr(make(), name)(odd)
            calls[f"{kind} tokens {i}"] = lambda odd=odd, make=make: make().accept_tokens([odd])
            calls[f"{kind} row {i}"] = lambda odd=odd, make=make: make().fill_next_token_bitmask(bitmask, odd)
            calls[f"{kind} draft {i}"] = lambda odd=odd, make=make: make().fill_draft_bitmasks([34, odd], bitmask)
            calls[f"{kind} drafts {i}"] = lambda odd=odd, make=make: make().fill_draft_bitmasks(odd, bitmask)
            calls[f"{kind} draft row {i}"] = lambda odd=odd, make=make: make().fill_draft_bitmasks([34], bitmask, odd)
            for place in range(3):

                def tree(odd: Any = odd, make: Any = make, place: int = place, whole: bool = True) -> None:
                    lists: list[Any] = [[34, 34], [1, -1], [-1, -1]]
                    lists[place] = odd if whole else [odd, -1]
                    make().fill_tree_bitmasks(*lists, bitmask)

                calls[f"{kind} tree {place} {i}"] = tree
                calls[f"{kind} tree of {place} {i}"] = lambda tree=tree: tree(whole=False)
        calls[f"canonical {i}"] = lambda odd=odd: STRING.matcher().forced_tokens(odd)
        calls[f"limit {i}"] = lambda odd=odd: STRING.matcher().forced_tokens(limit=odd)
        calls[f"batch {i}"] = lambda odd=odd: constrain.fill_next_token_bitmasks(odd, bitmask)
        calls[f"batch of {i}"] = lambda odd=odd: constrain.fill_next_token_bitmasks([odd], bitmask)
        calls[f"batch into {i}"] = lambda odd=odd: constrain.fill_next_token_bitmasks([STRING.matcher()], odd)
        calls[f"rows {i}"] = lambda odd=odd: constrain.fill_next_token_bitmasks([STRING.matcher()], bitmask, odd)
        calls[f"row {i}"] = lambda odd=odd: constrain.fill_next_token_bitmasks([STRING.matcher()], bitmask, [odd])
        for option in ("prompt", "max_rollback", "stop_token_ids", "stop", "on_failure", "vocab"):
            calls[f"Session {option} {i}"] = lambda odd=odd, option=option: Session(STRING, **{option: odd})
    assert bad(calls) == []


BITMASKS = [
    np.zeros((3, 9), np.int64), np.zeros((3, 9), np.uint32), np.zeros(9, np.int32), np.zeros((3, 8), np.int32),
    np.zeros((3, 18), np.int32)[:, ::2], np.zeros((9, 9), np.int32).T, np.zeros((1, 3, 9), np.int32),
    np.zeros((0, 9), np.int32), np.zeros((3, 9), np.dtype(">i4")), np.zeros((3, 9), np.float32),
]  # fmt: skip


@pytest.mark.parametrize("bitmask", BITMASKS, ids=lambda array: f"{array.dtype}{list(array.shape)}")
def test_bitmasks_of_another_form(bitmask: np.ndarray) -> None:
    for fill in (
        lambda: STRING.matcher().fill_next_token_bitmask(bitmask),
        lambda: constrain.fill_next_token_bitmasks([STRING.matcher()], bitmask),
        lambda: STRING.matcher().fill_draft_bitmasks([34], bitmask),
    ):
        with pytest.raises(ArgumentError):
            fill()
    assert is_clean(lambda: constrain.apply_token_bitmask_inplace(np.zeros((3, 259), np.float32), bitmask))


def test_read_only_arrays_are_refused() -> None:
    bitmask = constrain.allocate_token_bitmask(1, VOCABULARY.size)
    logits = np.zeros((1, VOCABULARY.size), np.float32)
    bitmask.flags.writeable = logits.flags.writeable = False
    with pytest.raises(ArgumentError, match="writable"):
        STRING.matcher().fill_next_token_bitmask(bitmask)
    with pytest.raises(ArgumentError, match="writable"):
        constrain.fill_next_token_bitmasks([STRING.matcher()], bitmask)
    with pytest.raises(ArgumentError, match="writable"):
        constrain.apply_token_bitmask_inplace(logits, bitmask)


def test_batches_and_trees_that_contradict_themselves() -> None:
    bitmask = constrain.allocate_token_bitmask(3, VOCABULARY.size)
    one, two = STRING.matcher(), STRING.matcher()
    with pytest.raises(ArgumentError, match="same row"):
        constrain.fill_next_token_bitmasks([one, two], bitmask, [1, 1])
    with pytest.raises(ArgumentError, match="twice"):
        constrain.fill_next_token_bitmasks([one, one], bitmask)
    narrow = constrain.allocate_token_bitmask(2, 8)
    with pytest.raises(ArgumentError, match="shape"):
        constrain.fill_next_token_bitmasks([one, constrain.compile_json_schema({}, OTHER).matcher()], narrow)
    for first_child, next_sibling in (([0, -1], [-1, -1]), ([1, 1], [-1, -1]), ([1, -1], [-1, 1]), ([1, 0], [-1, -1])):
        with pytest.raises(ArgumentError, match="no tree"):
            one.fill_tree_bitmasks([34, 34], first_child, next_sibling, bitmask)
    assert one.steps == 0


def test_copies_and_pickles() -> None:
    matcher = STRING.matcher()
    assert matcher.accept_bytes(b'"a')
    for other in (copy.copy(matcher), copy.deepcopy(matcher)):
        assert other.accept_bytes(b'"') and other.is_accepting() and not matcher.is_accepting()
    with pytest.raises(ArgumentError, match="cannot be pickled"):
        pickle.dumps(matcher)
    assert pickle.loads(pickle.dumps(VOCABULARY)) == VOCABULARY and copy.deepcopy(VOCABULARY) == VOCABULARY
    assert pickle.loads(pickle.dumps(STRING)).accepts('"a"') and copy.copy(STRING) is STRING
    for error in (
        ArgumentError("x"), constrain.SchemaError("/a", "b", "c"), constrain.LimitError("a", 1, "b"),
        constrain.GrammarError("a", "b", 1), constrain.RequestError("a", "b"), constrain.UnsatisfiableError("", "b"),
    ):  # fmt: skip
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error) and str(again) == str(error)


def test_an_argument_error_is_found_under_pythons_own_names() -> None:
    for kind in (TypeError, ValueError, IndexError, ConstrainError):
        with pytest.raises(kind):
            VOCABULARY.token_bytes(-1)
