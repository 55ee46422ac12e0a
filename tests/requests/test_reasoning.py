"""Reasoning before what is constrained: waited for, written within bounds, or not there."""

from __future__ import annotations

import random

import pytest

import constrain
from constrain.requests import Constraint

from .support import ANSWER, BARE, CALL, SCHEMA, TOOLS, VOCABULARY, id_of, ids, kinds, mask_of

THINKING = [("hermes", None), (None, ("<think>", "</think>"))]


def make(vocabulary=VOCABULARY, **options):
    options.setdefault("wire", "hermes")
    return Constraint(constrain.compile_json_schema(SCHEMA, vocabulary), **options)


# Waiting --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reasoning", ["wait", "inside"])
@pytest.mark.parametrize(("wire", "markers"), THINKING)
def test_reasoning_is_free_and_the_answer_is_not(reasoning, wire, markers):
    """J1, G9: a prompt that has opened the block makes no difference; the reply cannot end before the answer."""
    constraint = make(wire=wire, markers=markers, reasoning=reasoning)
    for text in (
        'free thoughts {not json} 1 < 2\n</think>\n\n{"x":1}',
        '</think>{"x":2}',
        'a <tool_call></think> {"x":3}',
    ):
        assert constraint.accepts(text), text
    for text in ('{"x":1}', "hm", "hm</think>", 'hm</think>\nSure: {"x":1}', 'hm</think>{"x":"1"}'):
        assert not constraint.accepts(text), text
    session = constraint.session()
    stops = set(session.stop_token_ids)
    for token in ids("hm <think> {"):
        assert mask_of(session) == set(range(VOCABULARY.size)) - stops
        assert session.accept_token(token)
    assert not session.is_accepting() and session.accept_token(id_of("</think>"))
    assert mask_of(session) & {id_of(b"{"), id_of(b"x"), id_of("<think>"), *stops} == {id_of(b"{")}
    assert session.accept_tokens(ids('\n\n{"x":12}')) == 10
    assert mask_of(session) == stops and session.is_complete
    session.rollback(12)
    assert mask_of(session) == set(range(VOCABULARY.size)) - stops


def test_boundary_tokens_may_come_in_one_batch():
    """The last of the reasoning, its end, blank lines and the first of the answer are each read as what they are."""
    session = make(reasoning="inside").session()
    assert session.accept_tokens([id_of(b"Hello"), id_of("</think>"), id_of(b"\n\n"), id_of(b"{")]) == 4
    assert session.accept_bytes(b'"x":1}') and session.is_complete
    assert session.validate_tokens([id_of(b"{")]) == 0


@pytest.mark.parametrize("seed", range(4))
def test_an_end_that_is_text_may_be_split_anywhere(seed):
    """Tokens that run across the marker are allowed where their rest begins the answer."""
    vocabulary = constrain.Vocabulary.from_tokens(
        [
            *(bytes([b]) for b in range(256)),
            b"</th",
            b"ink",
            b">{",
            b">\n\n{",
            b'>\n\n{"',
            b">[",
            b"></",
            b"</think>x",
            b"nk>",
        ],
        {"<eos>": 270},
        [270],
    )
    constraint = make(vocabulary, reasoning="inside", wire=None, markers=("<think>", "</think>"))
    session = constraint.session()
    assert session.accept_bytes(b"so </th") and session.accept_token(257)
    allowed = mask_of(session)
    assert {258, 259, 260, ord(">"), ord("x")} <= allowed  # "></" begins another marker, which is no end
    assert not {261, 262, 270} & allowed
    assert all(session.allows(token) == (token in allowed) for token in range(271))
    rng, text = random.Random(seed), b'hm </think>\n{"x":1}'
    session.reset()
    spelled = {vocabulary.token_bytes(i): i for i in range(265)}
    while text:
        piece = rng.choice([text[:n] for n in range(1, 9) if text[:n] in spelled])
        assert session.accept_token(spelled[piece])
        text = text[len(piece) :]
    assert session.is_complete and mask_of(session) == {270}


def test_a_grammar_does_not_reach_into_the_reasoning():
    constraint = constrain.requests.chat({"grammar": "root ::= [a-z]+"}, VOCABULARY, "hermes", reasoning="inside")
    assert constraint.accepts("hm, maybe 42?</think>yes") and constraint.accepts("</think>no")
    assert not any(map(constraint.accepts, ("hm", "hm</think>", "hm</think>YES")))


def test_forced_ends_of_reasoning_begin_the_answer():
    """A host that has spent its budget writes the marker; the constraint holds from there (J1, H6)."""
    session = make(reasoning="wait").session()
    assert session.accept_tokens(ids("thinking")) == 8 and session.force_token(id_of("</think>"))
    assert id_of(b"{") in mask_of(session) and id_of(b"H") not in mask_of(session)
    assert kinds(session) == [("engaged", 9)]  # events are noted where a mask is asked for


@pytest.mark.parametrize("vocabulary", [VOCABULARY, BARE], ids=["tokens", "text"])
@pytest.mark.parametrize(
    ("prompt", "opened"),
    [
        ("hi<think>\n", True),
        ("<think>", True),
        ("<think>\n\n</think>\n\n", False),
        ("done</think>", False),
        ("<think>a</think>and then", None),
        ("say <think> please", None),
        ("", None),
    ],
)
def test_the_prompt_says_where_the_reply_begins(vocabulary, prompt, opened):
    """J1: only what a prompt ends with counts."""
    constraint = make(vocabulary, reasoning="wait")
    assert constraint.opened_by(ids(prompt, vocabulary)) is opened
    session = constraint.session(prompt=ids(prompt, vocabulary))
    assert session.accept_tokens(ids('\n{"x":1}', vocabulary)) == 8
    assert session.is_complete == (opened is False)


def test_without_markers_the_constraint_holds_at_once():
    """G9: a warning, in the constraint and as an event, and the plain grammar."""
    for options in ({"wire": "llama3"}, {"wire": None}):
        for asked in ({"reasoning": "wait"}, {"effort": "low"}):
            constraint = Constraint(ANSWER, **options, **asked)
            session = constraint.session()
            assert "no markers" in constraint.warnings[0] and kinds(session)[0] == ("warning", 0)
            assert constraint.grammars() == (ANSWER,) and id_of(b"H") not in mask_of(session)


def test_formats_with_headers():
    """Messages of these formats have headers of their own around an answer."""
    harmony = make(wire="harmony", reasoning="wait")
    head = "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>"
    assert harmony.accepts(head + '{"x":1}') and not harmony.accepts(head + "hi")
    session = harmony.session()
    assert session.accept_tokens(ids(head + '{"x":1}<|return|>')) == len(ids(head)) + 8 and session.is_terminated()
    k3 = make(wire="kimi_k3", reasoning="inside")
    reply = 'hm<|close|>think<|sep|><|open|>response<|sep|>{"x":1}<|close|>response<|sep|><|close|>message<|sep|>'
    assert k3.accepts(reply) and not k3.accepts(reply.replace("1", "a"))


# Written reasoning ----------------------------------------------------------------------------------------------------

TEMPLATE = "custom:Plan: {line}\nWhy {{ {text:9}"

WRITTEN = [
    ("low", ["", "short", "two\nlines", "x" * 2_000], ["x" * 2_001, "a <think> b"]),
    ("medium", ["x" * 8_000], ["x" * 8_001]),
    ("normal", ["x" * 8_000], ["x" * 8_001]),
    ("high", ["x" * 9_000], []),
    ("cot", ["Step 1: a", "Step 1: a\nStep 2: b\nStep 3: c"], ["", "a", "Step 2: a", "Step 1: a\nStep 3: b"]),
    ("chain_of_thought", ["Step 1: a"], ["Step 1: "]),
    (
        "cove",
        ["Draft: a\nb\nQuestions:\n- c?\n- d?\nAnswers:\n- e\nFinal: f"],
        ["Draft: a\nFinal: f", "Draft: a\nQuestions:\nAnswers:\n- e\nFinal: f"],
    ),
    (TEMPLATE, ["Plan: go\nWhy { because", "Plan: go\nWhy { "], ["Plan: \nWhy { x", "Plan: go\nWhy { 0123456789"]),
]


@pytest.mark.parametrize(("effort", "good", "bad"), WRITTEN, ids=[one[0][:8] for one in WRITTEN])
def test_each_effort_writes_its_own_reasoning(effort, good, bad):
    constraint = make(effort=effort)
    for thoughts in good:
        assert constraint.accepts(f'<think>\n{thoughts}\n</think>\n\n{{"x":1}}'), thoughts[:40]
    for thoughts in bad:
        assert not constraint.accepts(f'<think>{thoughts}</think>{{"x":1}}'), thoughts[:40]
    assert not constraint.accepts('{"x":1}') and not constraint.accepts(f"<think>{good[0]}</think>hello")


@pytest.mark.parametrize("vocabulary", [VOCABULARY, BARE], ids=["tokens", "text"])
@pytest.mark.parametrize("effort", [one[0] for one in WRITTEN], ids=[one[0][:8] for one in WRITTEN])
def test_sessions_follow_the_effort(vocabulary, effort):
    """With the opening marker written or already in the prompt; nothing but the marker ends the reasoning."""
    thoughts = next(good[0] for name, good, _ in WRITTEN if name == effort)
    constraint = make(vocabulary, effort=effort)
    reply = ids(f'<think>{thoughts}</think>{{"x":1}}', vocabulary)
    session = constraint.session()
    assert mask_of(session) <= {reply[0], id_of(b"<")} | set(range(256, 256 + 90)) and not session.is_accepting()
    assert session.accept_tokens(reply) == len(reply) and session.is_complete
    opened = ids("<think>", vocabulary)
    session = constraint.session(prompt=opened)
    assert session.accept_tokens(reply[len(opened) :]) == len(reply) - len(opened) and session.is_complete
    session = constraint.session(prompt=ids("<think>\n\n</think>\n\n", vocabulary))
    assert session.accept_tokens(ids('{"x":1}', vocabulary)) == 7 and session.is_complete


def test_no_effort_is_no_reasoning():
    """J9: the answer at once, or after the end of a block that the prompt has opened."""
    constraint = make(effort="none")
    assert constraint.grammars()[0] is constraint.grammar
    session = constraint.session(prompt=ids("<think>"))
    assert id_of(b"H") not in mask_of(session) and session.accept_tokens(ids('\n</think>\n\n{"x":1}')) == 11
    assert session.is_complete


def test_effort_without_a_constraint_has_no_effect():
    """J10: not on a free reply, nor where tools may be called but need not."""
    for constraint in (
        Constraint(None, None, VOCABULARY, wire="hermes", effort="cot"),
        Constraint(None, constrain.compile_tools(TOOLS, VOCABULARY, "hermes"), effort="cot"),
    ):
        session = constraint.session()
        assert not session.is_constraining and not constraint.warnings
        assert session.accept_tokens(ids("Hello")) == 5 and session.is_accepting()


def test_a_required_call_comes_after_the_effort():
    tools = constrain.compile_tools(TOOLS, VOCABULARY, "hermes", tool_choice="required")
    constraint = Constraint(None, tools, effort="cot")
    assert constraint.accepts(f"<think>Step 1: call</think>\n{CALL}")
    assert not constraint.accepts(CALL) and not constraint.accepts(f"<think>call</think>{CALL}")
    waiting = Constraint(None, tools, reasoning="wait")
    assert waiting.accepts(f"call</think>\n{CALL}") and not waiting.accepts("call</think> no")


def test_options_that_cannot_be():
    with pytest.raises(ValueError, match="reasoning"):
        make(reasoning="sometimes")
    with pytest.raises(ValueError, match="must not be empty"):
        make(reasoning="wait", markers=("<a>", ""))
    with pytest.raises(constrain.RequestError, match="effort"):
        make(effort="tiny")
