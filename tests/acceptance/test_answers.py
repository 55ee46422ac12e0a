"""Constraints on whole answers, as they reach a decoding loop: from the first token to the end, and again."""

from __future__ import annotations

import random

import pytest

import constrain
from constrain.requests import Constraint


def constraint_of(kit, **fields):
    return constrain.requests.chat(fields, kit.vocabulary)


def test_an_answer_is_constrained_from_its_first_token_to_the_only_ends(kit):
    """G1, G2: no fence, no preamble; after the closing brace nothing but ends, of which there may be several."""
    matcher = kit.grammar.matcher(stop_token_ids=[kit.END, kit.THINK])
    assert kit.mask_of(matcher) == {ord("{"), kit.id_of(b'{"')}
    for byte in kit.TEXT:
        assert not kit.mask_of(matcher) & {kit.END, kit.THINK}
        assert matcher.accept_token(byte)
    assert kit.mask_of(matcher) == {kit.END, kit.THINK}


def test_a_number_may_end_where_it_is_one(kit):
    """G2: after `12` another digit or the end."""
    matcher = constrain.compile_json_schema({"type": "integer"}, kit.vocabulary).matcher()
    assert not matcher.allows(kit.END) and matcher.accept_bytes(b"12")
    assert kit.mask_of(matcher) == {kit.END, *b"0123456789", kit.id_of(b"12"), kit.id_of(b"123")}
    assert matcher.accept_bytes(b"0") and not matcher.allows(ord("."))


def test_any_json_object(kit):
    """G3: any keys and values, but an object."""
    constraint = constraint_of(kit, response_format={"type": "json_object"})
    assert all(map(constraint.accepts, ("{}", '{"x":[1]}', '{"value":{"a":null}}')))
    assert not any(map(constraint.accepts, ("[1]", "3", "null", '"a"', '{"a":1,"a":2}', "{} {}")))


@pytest.mark.parametrize(
    ("schema", "accepted", "refused"),
    [
        ({"type": "array", "items": {"type": "integer"}}, ["[]", "[1,2]"], ['["1"]', "1"]),
        ({"enum": ["a", 1, None, [True]]}, ['"a"', "1", "null", "[true]"], ["2", '"b"', "[]"]),
        ({"const": "Sure"}, ['"Sure"'], ["Sure"]),
        ({"type": "boolean"}, ["true", "false"], ["True", "0"]),
        (True, ["1", "{}", '"x"'], ["x", ""]),
        ({"type": ["null", "number"]}, ["null", "1.5", "-0"], ["1.", '"null"']),
    ],
)
def test_roots_that_are_no_objects(kit, schema, accepted, refused):
    """G4."""
    constraint = constraint_of(kit, response_format={"type": "json_schema", "json_schema": {"schema": schema}})
    assert all(map(constraint.accepts, accepted)) and not any(map(constraint.accepts, refused))
    for text in accepted:
        session = constraint.session()
        assert session.accept_tokens([*text.encode(), kit.END]) == len(text) + 1


def test_choices_in_any_tokens(kit):
    """G5: of two choices of which one begins the other both can be reached, in every split."""
    constraint = constraint_of(kit, structured_outputs={"choice": ["a", "ab", "abc", ""]})
    for text in (b"a", b"ab", b"abc", b""):
        for split in kit.splits(kit.vocabulary, text, random.Random(1), 4):
            session = constraint.session()
            assert session.accept_tokens(split) == len(split) and session.allows(kit.END)
    session = constraint.session()
    assert session.accept_bytes(b"a") and kit.mask_of(session) == {ord("b"), kit.id_of(b"bc"), kit.END}


def test_patterns_match_as_a_whole(kit):
    """G6: three digits and then only the end."""
    session = constraint_of(kit, structured_outputs={"regex": "^[0-9]{3}$"}).session()
    assert session.accept_token(kit.id_of(b"12")) and kit.mask_of(session) == set(b"0123456789")
    assert session.accept_token(ord("3")) and kit.mask_of(session) == {kit.END}


@pytest.mark.parametrize("grammar", ['start: "yes" | "no"', 'root ::= "yes" | "no"'])
def test_grammars(kit, grammar):
    """G7: in either notation."""
    constraint = constraint_of(kit, structured_outputs={"grammar": grammar})
    assert (
        kit.mask_of(constraint.session()) == set(b"yn") and constraint.accepts("no") and not constraint.accepts("yesno")
    )


@pytest.mark.parametrize(
    "tag", [{"tag": "call"}, {"start_tag": "<call>", "end_tag": "</call>"}], ids=["name", "two texts"]
)
def test_a_tag_around_a_value(kit, tag):
    """G8: the payload satisfies the schema; the tag is written with its brackets."""
    schema = {
        "type": "object",
        "properties": {"name": {"const": "search"}, "query": {"type": "string"}},
        "required": ["name", "query"],
        "additionalProperties": False,
    }
    constraint = constraint_of(kit, structured_outputs={"structural_tag": {**tag, "schema": schema}})
    assert constraint.accepts('<call>{"name":"search","query":"x"}</call>')
    for text in (
        '<call>{"name":"find","query":"x"}</call>',
        '<call>{"name":"search","query":1}</call>',
        '<call>{"query":"x","name":"search"}</call>',
        "<call>{}</call>",
        "<call>anything</call>",
        '{"name":"search","query":"x"}',
        'call{"name":"search","query":"x"}call',
    ):
        assert not constraint.accepts(text)


def test_reasoning_comes_first(kit):
    """G9: free before the marker, strict after it."""
    session = Constraint(kit.grammar, markers=("<think>", "</think>"), reasoning="inside").session()
    assert session.accept_tokens([*b"```json {"]) == 9 and not session.allows(kit.END)
    assert session.accept_token(kit.THINK)
    assert kit.mask_of(session) & {ord("{"), ord("`"), kit.END} == {ord("{")}
    assert session.accept_tokens([*b"\n\n", *kit.TEXT, kit.END]) == 3 + len(kit.TEXT)


def test_values_and_their_order_are_kept(kit):
    """G10: members in the order of the schema, values of an enumeration to the character."""
    schema = {
        "type": "object",
        "properties": {"thought": {"type": "string"}, "answer": {"enum": ["Ja, genau", "Café\n", "нет"]}},
        "required": ["thought", "answer"],
        "additionalProperties": False,
    }
    constraint = constraint_of(kit, response_format={"type": "json_schema", "schema": schema})
    assert constraint.accepts('{"thought":"x","answer":"Café\\n"}') and constraint.accepts(
        '{"thought":"","answer":"нет"}'
    )
    for text in (
        '{"answer":"нет","thought":"x"}',
        '{"thought":"x","answer":"Cafe\\n"}',
        '```json\n{"thought":"","answer":"нет"}\n```',
    ):
        assert not constraint.accepts(text)


@pytest.mark.parametrize("reasoning", [None, "inside"])
def test_a_session_is_used_again(kit, reasoning):
    """G11: after reset the first token is masked as it was, whatever came in between."""
    session = Constraint(kit.grammar, markers=("<think>", "</think>"), reasoning=reasoning).session()
    first = kit.mask_of(session)
    for ending in ([], [kit.END]):
        head = [*b"hm", kit.THINK] if reasoning else []
        assert session.accept_tokens([*head, *kit.TEXT, *ending]) == len(head) + len(kit.TEXT) + len(ending)
        session.reset()
        assert kit.mask_of(session) == first and not session.is_terminated()
        session.force_token(kit.TOOL)
        session.reset()
        assert kit.mask_of(session) == first and [event.position for event in session.events] == [0]
