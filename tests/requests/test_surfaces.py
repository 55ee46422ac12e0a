"""Request bodies: which constraint each gives, and what is wrong with the others."""

from __future__ import annotations

import json
import logging

import pytest

import constrain
from constrain import requests
from constrain.requests import CompileCache, chat, completions, messages, responses

from ..wires.support import VOCABULARY
from .bodies import NAMED, SCHEMA, TAG, WEATHER

WRAPPED = {"type": "json_schema", "json_schema": {"name": "X", "strict": True, "schema": SCHEMA}}
FLAT = {"type": "json_schema", "name": "X", "schema": SCHEMA}
TEXT = json.dumps(SCHEMA)

SAME = [
    (chat, {"response_format": WRAPPED}),
    (chat, {"response_format": FLAT}),
    (chat, {"response_format": {"type": "json_object", "schema": SCHEMA}}),
    (chat, {"response_format": {"type": "json_schema", "json_schema": {"schema": TEXT}}}),
    (responses, {"text": {"format": FLAT, "verbosity": "low"}}),
    (messages, {"output_format": FLAT}),
    (messages, {"output_config": {"format": FLAT}}),
    (completions, {"response_format": WRAPPED}),
    (chat, {"structured_outputs": {"json": SCHEMA}}),
    (responses, {"structured_outputs": {"json": TEXT}}),
    (chat, {"guided_json": TEXT}),
    (completions, {"constraint": TEXT, "constraint_type": "json_schema"}),
    (completions, {"constraint": SCHEMA, "constraint_type": "json"}),
    (completions, {"json_schema": SCHEMA}),
    (chat, {"tools": [WEATHER], "response_format": WRAPPED}),
]


def test_one_schema_is_one_grammar_whatever_the_interface():
    """L-1: fields, wrappers and spellings do not matter; the vocabulary does."""
    cache = CompileCache()
    found = [read(body, VOCABULARY, cache=cache, **wire(read)).grammar for read, body in SAME]
    assert all(grammar is found[0] for grammar in found)
    assert chat(SAME[0][1], None, cache=cache).grammar is not found[0]


def wire(read):
    return {} if read is completions else {"wire": "hermes"}


def test_the_schema_is_taken_out_of_its_wrapper():
    constraint = chat({"response_format": WRAPPED}, VOCABULARY)
    assert constraint.accepts('{"x":100}')
    for text in ("100", '{"name":"X"}', "{}", '{"x":"1"}', '{"x":1,"y":2}'):
        assert not constraint.accepts(text)


def test_properties_come_in_the_order_of_the_schema():
    constraint = responses({"text": {"format": FLAT}}, VOCABULARY)
    assert constraint.accepts('{"x":1,"name":"a"}') and not constraint.accepts('{"name":"a","x":1}')


@pytest.mark.parametrize(
    ("read", "body"),
    [
        (chat, {}),
        (chat, {"response_format": None, "tools": None, "tool_choice": None, "structured_outputs": None}),
        (chat, {"response_format": {"type": "text"}, "frequency_penalty": 1.0, "user": "me", "nonsense": [1]}),
        (chat, {"tools": [], "tool_choice": "auto"}),
        (chat, {"tools": [WEATHER], "tool_choice": "none"}),
        (messages, {"tools": [NAMED], "tool_choice": {"type": "none"}}),
        (responses, {"text": {"format": {"type": "text"}}}),
        (responses, {"text": {}}),
        (completions, {"guided_json_object": False, "grammar": ""}),
        (chat, {"reasoning_effort": "high"}),
    ],
)
def test_bodies_that_constrain_nothing(read, body):
    """L-7, J7, J10: unknown and sampling fields are left alone, and effort without a constraint changes nothing."""
    constraint = read(body, VOCABULARY, **wire(read))
    assert constraint.is_free and (constraint.source, constraint.kind) == ("none", "none")
    assert constraint.accepts('anything at all {"x":') and constraint.explain("{") is None
    session = constraint.session()
    bitmask = constrain.allocate_token_bitmask(1, VOCABULARY.size)
    bitmask[:] = 5
    assert not session.is_constraining and not session.fill_next_token_bitmask(bitmask) and (bitmask == -1).all()


@pytest.mark.parametrize(
    ("body", "accepted", "refused"),
    [
        ({"response_format": {"type": "json_object"}}, ["{}", '{"a":[1]}'], ["[1]", "3", "null"]),
        ({"structured_outputs": {"json_object": True}}, ['{"a":{}}'], ["[]"]),
        ({"structured_outputs": {"choice": ["a", "ab"]}}, ["a", "ab"], ["", "b", "abc"]),
        ({"guided_choice": ["yes", ""]}, ["yes", ""], ["y"]),
        ({"structured_outputs": {"regex": "^[0-9]{3}$"}}, ["007"], ["07", "0070", "007\n"]),
        ({"guided_regex": "a|bc"}, ["a", "bc"], ["abc", "b"]),
        ({"structured_outputs": {"grammar": 'root ::= "a" [0-9]+'}}, ["a12"], ["a", "12"]),
        ({"structured_outputs": {"grammar": 'start: "yes" | "no"'}}, ["yes", "no"], ["maybe"]),
        ({"constraint": 'start: "a" start?', "constraint_type": "lark"}, ["a", "aaa"], ["", "b"]),
        ({"constraint": "x+", "constraint_type": "regex"}, ["xx"], ["", "xy"]),
        ({"constraint_type": "json"}, ['{"k":1}'], ["[1]"]),
        ({"ebnf": 'root ::= "q"'}, ["q"], ["root"]),
        (
            {"structured_outputs": {"structural_tag": {"tag": "search", "schema": SCHEMA}}},
            ['<search>{"x":1}</search>'],
            ['{"x":1}', '<search>{"x":"1"}</search>', "<search>free text</search>", 'search{"x":1}search'],
        ),
        (
            {"response_format": TAG},
            ['see <f>{"x":1}</f> there', "no tag"],
            ['see <f>{"y":1}</f>'],
        ),
    ],
)  # fmt: skip
def test_each_kind(body, accepted, refused):
    constraint = chat(body, VOCABULARY)
    for text in accepted:
        assert constraint.accepts(text), text
        session = constraint.session()
        assert session.accept_bytes(text.encode()) and session.is_complete
    for text in refused:
        assert not constraint.accepts(text), text
        assert constraint.explain(text).position <= len(text)


@pytest.mark.parametrize(
    ("fields", "accepted", "refused"),
    [
        ({}, ['{"x":1}', '{ "x" : 1 }'], ['{"x":1} ']),
        ({"disable_any_whitespace": True}, ['{"x":1,"name":"a b"}'], ['{"x": 1}', '{ "x":1}', '{"x":1, "name":"a"}']),
        ({"whitespace_pattern": "[ ]?"}, ['{"x":1}', '{ "x":1 }'], ['{\n"x":1}', '{  "x":1}']),
        ({"disable_any_whitespace": False, "disable_fallback": True, "backend": "auto"}, ['{ "x":1}'], []),
    ],
)
def test_options_of_structured_outputs(fields, accepted, refused):
    """They hold for the schema beside them, and for that of the interface's own field."""
    bodies = [
        {"structured_outputs": {"json": SCHEMA, **fields}},
        {"guided_json": SCHEMA, **{OLD[name]: value for name, value in fields.items() if name in OLD}},
    ]
    if fields.get("whitespace_pattern") or fields.get("disable_any_whitespace"):
        bodies.append({"response_format": FLAT, "structured_outputs": fields})
    for body in bodies:
        constraint = chat(body, VOCABULARY)
        assert [constraint.accepts(text) for text in accepted + refused] == [True] * len(accepted) + [False] * len(
            refused
        )


OLD = {
    "disable_any_whitespace": "guided_decoding_disable_any_whitespace",
    "whitespace_pattern": "guided_whitespace_pattern",
}


def test_objects_may_be_closed_by_an_option():
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    text = '{"a":1,"b":2}'
    assert chat({"structured_outputs": {"json": schema}}, VOCABULARY).accepts(text)
    closed = {"json": schema, "disable_additional_properties": True}
    assert not chat({"structured_outputs": closed}, VOCABULARY).accepts(text)


BAD = [
    # two constraints at once (L-2)
    (chat, {"structured_outputs": {"choice": ["a"]}, "response_format": FLAT}, "response_format.schema",
     ["response_format", "structured_outputs.choice", "constraint"]),
    (completions, {"guided_choice": ["a", "b"], "guided_regex": "[0-9]+"}, "guided_regex", ["guided_choice"]),
    (chat, {"structured_outputs": {"choice": ["a"], "regex": "a"}}, "structured_outputs", ["choice and regex"]),
    (chat, {"constraint": "a", "constraint_type": "regex", "guided_json": {}}, "guided_json", ["constraint"]),
    (chat, {"response_format": {"type": "json_schema", "schema": {}, "json_schema": {"schema": {}}}},
     "response_format.schema", ["json_schema"]),
    (messages, {"output_format": FLAT, "output_config": {"format": FLAT}}, "output_format", ["output_config"]),
    # types (L-3, L-4)
    *((chat, {"response_format": {"type": kind}}, "response_format.type", ["string"]) for kind in (1, [], {}, True)),
    (chat, {"response_format": {"type": None}}, "response_format.type", ["missing"]),
    (chat, {"response_format": {}}, "response_format.type", ["missing"]),
    (chat, {"response_format": {"type": "xml"}}, "response_format.type", ["json_schema, json_object", "text"]),
    *((chat, {"response_format": value}, "response_format", ["object"]) for value in ("json_object", [], 1)),
    (responses, {"text": {"format": {}}}, "text.format.type", ["missing"]),
    (responses, {"text": "json"}, "text", ["object"]),
    (messages, {"output_config": {"format": {"type": 3}}}, "output_config.format.type", ["string"]),
    (completions, {"constraint": "a", "constraint_type": []}, "constraint_type", ["string"]),
    (completions, {"constraint": "a", "constraint_type": "ebnf"}, "constraint_type", ["regex, lark, json_schema"]),
    (completions, {"constraint": "a"}, "constraint_type", ["missing"]),
    (completions, {"constraint_type": "regex"}, "constraint", ["missing"]),
    (chat, {"tools": [WEATHER], "tool_choice": {"type": 1}}, "tool_choice.type", ["string"]),
    (chat, {"tools": [WEATHER], "tool_choice": {}}, "tool_choice.type", ["string"]),
    (chat, {"tools": [WEATHER], "tool_choice": {"type": "function", "function": {"name": 7}}},
     "tool_choice.function.name", ["string"]),
    (chat, {"tools": [WEATHER], "tool_choice": 3}, "tool_choice", ["int"]),
    (messages, {"tools": [NAMED], "tool_choice": "any"}, "tool_choice", ["object"]),
    (messages, {"tools": [NAMED], "tool_choice": {"type": "tool"}}, "tool_choice.name", ["missing"]),
    (chat, {"parallel_tool_calls": "no"}, "parallel_tool_calls", ["true or false"]),
    (chat, {"tools": {}}, "tools", ["list"]),
    (chat, [], "body", ["object"]),
    # what is empty or missing (L-5, L-6)
    (chat, {"structured_outputs": {}}, "structured_outputs", ["choice, regex, json, grammar, structural_tag"]),
    (chat, {"structured_outputs": {"whitespace_pattern": " "}}, "structured_outputs.whitespace_pattern", ["no effect"]),
    (chat, {"structured_outputs": {"regex": "a", "disable_any_whitespace": True}},
     "structured_outputs.disable_any_whitespace", ["no effect"]),
    (chat, {"structured_outputs": {"json": {}, "disable_any_whitespace": True, "whitespace_pattern": " "}},
     "structured_outputs.disable_any_whitespace", ["whitespace_pattern"]),
    (chat, {"structured_outputs": {"jsno": {}}}, "structured_outputs.jsno", ["json"]),
    (chat, {"structured_outputs": {"choice": []}}, "structured_outputs.choice", ["empty"]),
    (chat, {"structured_outputs": {"choice": ["a", 1]}}, "structured_outputs.choice[1]", ["string"]),
    (chat, {"structured_outputs": {"choice": "ab"}}, "structured_outputs.choice", ["list"]),
    (chat, {"structured_outputs": {"regex": ""}}, "structured_outputs.regex", ["empty"]),
    (chat, {"response_format": {"type": "json_schema"}}, "response_format.json_schema", ["missing"]),
    (chat, {"response_format": {"type": "json_schema", "json_schema": {"name": "X"}}},
     "response_format.json_schema.schema", ["missing"]),
    (chat, {"response_format": {"type": "json_schema", "json_schema": ""}}, "response_format.json_schema", ["object"]),
    (chat, {"response_format": {"type": "json_schema", "schema": [1]}}, "response_format.schema", ["JSON Schema"]),
    (chat, {"response_format": {"type": "json_schema", "schema": "{"}}, "response_format.schema", ["not JSON"]),
    # what cannot be compiled
    (chat, {"response_format": {"type": "json_schema", "schema": {"type": "string", "pattern": "(unclosed"}}},
     "response_format.schema", ["pattern", "not closed"]),
    (chat, {"response_format": {"type": "json_schema", "schema": {"properties": {"a": {"type": "strng"}}}}},
     "response_format.schema", ["/properties/a", "strng"]),
    (chat, {"response_format": {"type": "json_schema", "schema": {"$ref": "http://example.com/s"}}},
     "response_format.schema", ["$ref"]),
    (chat, {"response_format": {"type": "json_schema", "schema": False}}, "response_format.schema", ["nothing can"]),
    (chat, {"structured_outputs": {"regex": "a\0"}}, "structured_outputs.regex", ["no text"]),
    (chat, {"structured_outputs": {"grammar": "root ::= other"}}, "structured_outputs.grammar", ["line 1", "other"]),
    (chat, {"structured_outputs": {"structural_tag": {"type": "nope"}}}, "structured_outputs.structural_tag", ["nope"]),
    (chat, {"structured_outputs": {"structural_tag": 3}}, "structured_outputs.structural_tag", ["object"]),
    # tools (L-9, J6, J8)
    (chat, {"tool_choice": "required"}, "tool_choice", ["no tools"]),
    (messages, {"tools": [], "tool_choice": {"type": "any"}}, "tool_choice", ["no tools"]),
    (chat, {"tools": [WEATHER], "tool_choice": "required", "response_format": FLAT},
     "tool_choice", ["response_format.schema"]),
    (chat, {"tools": [WEATHER], "tool_choice": {"type": "function", "function": {"name": "other"}}},
     "tool_choice", ["other", "get_weather"]),
    (messages, {"tools": [NAMED], "tool_choice": {"type": "tool", "name": "other"}}, "tool_choice", ["other"]),
    (chat, {"tools": [WEATHER, {"name": "f", "parameters": {"properties": {"u": {"type": 1}}}}]},
     "tools[1]", ["tool 'f'", "/properties/u", "type"]),
    (chat, {"tools": [WEATHER, WEATHER]}, "tools[1]", ["taken"]),
    (chat, {"tools": ["get_weather"]}, "tools[0]", ["object"]),
    # fields of other interfaces, and of other times
    (chat, {"functions": [{}]}, "functions", ["tools"]),
    (responses, {"response_format": FLAT}, "response_format", ["text.format"]),
    (messages, {"response_format": FLAT}, "response_format", ["output_format"]),
    # reasoning (J9)
    (chat, {"reasoning_effort": "huge"}, "reasoning_effort", ["low, medium"]),
    (chat, {"reasoning_effort": 3}, "reasoning_effort", ["string"]),
    (responses, {"reasoning": {"effort": "minimal"}}, "reasoning.effort", ["none, low"]),
    (chat, {"reasoning_effort": "custom:no place"}, "reasoning_effort", ["{line}"]),
    (chat, {"reasoning_effort": "custom:{text:0}"}, "reasoning_effort", ["characters"]),
    (chat, {"reasoning_effort": "custom:{what}"}, "reasoning_effort", ["brace"]),
    (chat, {"reasoning_effort": "custom:</think>{text}", "response_format": FLAT}, "reasoning_effort", ["marker"]),
]  # fmt: skip


@pytest.mark.parametrize(("read", "body", "field", "words"), BAD)
def test_what_is_wrong_with_a_body(read, body, field, words):
    with pytest.raises(constrain.RequestError) as caught:
        read(body, VOCABULARY, **wire(read)).session()
    assert (caught.value.status, caught.value.field) == (400, field)
    for word in words:
        assert word in str(caught.value)


def test_a_call_that_the_model_cannot_write():
    """I5: without a format, a required call is an error, and optional ones are a warning."""
    with pytest.raises(constrain.RequestError, match="no format"):
        chat({"tools": [WEATHER], "tool_choice": "required"}, VOCABULARY)
    assert "not constrained" in chat({"tools": [WEATHER]}, VOCABULARY).warnings[0]


def test_efforts_are_those_of_the_model():
    with pytest.raises(constrain.RequestError, match="'medium' is not known; use one of low, high"):
        chat({"reasoning_effort": "medium"}, VOCABULARY, efforts=("low", "high"))


@pytest.mark.parametrize(
    ("read", "body", "line"),
    [
        (chat, {"response_format": FLAT}, "source=response_format type=json_schema"),
        (chat, {"structured_outputs": {"regex": "a"}}, "source=structured_outputs type=regex"),
        (responses, {"text": {"format": FLAT}}, "source=text type=json_schema"),
        (chat, {"response_format": FLAT, "tools": [WEATHER]}, "source=response_format,tools type=json_schema,auto"),
        (messages, {"tools": [NAMED], "tool_choice": {"type": "any"}}, "source=tools type=required"),
        (chat, {}, "source=none type=none"),
    ],
)
def test_one_line_in_the_log(read, body, line, caplog):
    with caplog.at_level(logging.INFO, logger="constrain"):
        constraint = read(body, VOCABULARY, wire="hermes")
    assert [record.getMessage() for record in caplog.records] == [line]
    assert line == f"source={constraint.source} type={constraint.kind}"


def test_hostile_content_is_bounded():
    """L-8: what would take long, or is large, is an error soon."""
    limits = constrain.Limits(max_source_bytes=20_000, max_seconds=1, max_states=2_000)
    deep: object = {}
    for _ in range(100_000):
        deep = {"items": deep}
    wide = {"enum": ["x" * 100] * 300}
    for body in (
        {"structured_outputs": {"regex": "(a|b)*a(a|b){40}"}},
        {"structured_outputs": {"regex": "(a+)+$" * 4_000}},
        {"structured_outputs": {"choice": ["y" * 10_000, "z" * 10_001]}},
        {"response_format": {"type": "json_schema", "schema": wide}},
        {"response_format": {"type": "json_schema", "schema": json.dumps(wide)}},
        {"response_format": {"type": "json_schema", "schema": deep}},
        {"response_format": {"type": "json_schema", "schema": "[" * 19_000}},
        {"tools": [{"name": "f", "parameters": wide}]},
    ):
        with pytest.raises(constrain.RequestError):
            chat(body, VOCABULARY, "hermes", limits=limits)
    assert chat({"structured_outputs": {"regex": "(a+)+$"}}, VOCABULARY, limits=limits).accepts("aaa")


def test_names_of_the_package():
    assert constrain.requests is requests and constrain.Session is requests.Session
    assert set(requests.__all__) <= set(dir(requests)) | {"Session"}
    with pytest.raises(AttributeError):
        requests.nothing  # noqa: B018


def test_none_may_forbid_calls():
    """J7: with and without tools; an answer that is constrained cannot become a call in any case."""
    for body in ({"tools": [WEATHER], "tool_choice": "none"}, {"tool_choice": "none"}):
        assert chat(body, VOCABULARY, "hermes").is_free
        constraint = chat(body, VOCABULARY, "hermes", tool_options={"bar_calls": True})
        assert constraint.kind == "none" and not constraint.is_free
        assert constraint.accepts("No call.") and not constraint.accepts("<tool_call>")
        session = constraint.session()
        assert not session.allows(VOCABULARY.control_id("<tool_call>")) and session.accept_bytes(b"Hm.")
    body = {"response_format": {"type": "json_object"}, "tool_choice": "none"}
    assert chat(body, VOCABULARY, "hermes", tool_options={"bar_calls": True}).accepts("{}")
