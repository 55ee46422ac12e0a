"""An answer beside tools: the reply may call a tool instead, when that is what the model wants."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest

import constrain
from constrain.adapters._history import Histories
from constrain.replies import ReplyParser
from constrain.requests import Constraint
from constrain.runners import CpuRunner, Request
from constrain.sampling import Sampling, choose_checked, distribution, uniforms
from constrain.wires.markers import WIRES

from .support import ANSWER, BARE, CALL, SCHEMA, TOOLS, VOCABULARY, WIDTH, id_of, ids, kinds, mask_of

FENCE, OPENER, BRACE = id_of(b"```"), id_of("<tool_call>"), id_of(b"{")


def tools(wire="hermes", vocabulary=VOCABULARY, **options):
    return constrain.compile_tools(TOOLS, vocabulary, wire, **options)


def beside(wire="hermes", **options):
    return Constraint(ANSWER, tools(wire), **options)


def logits_of(*tokens):
    """A row that likes these tokens, the first of them best."""
    row = np.zeros(WIDTH)
    row[list(tokens)] = 20.0 - np.arange(len(tokens))
    return row


# What a reply may be --------------------------------------------------------------------------------------------------


def test_a_reply_is_an_answer_or_calls():
    constraint = beside()
    assert all(map(constraint.accepts, ('{"x":1}', CALL, f"{CALL}\n{CALL}")))
    for text in (
        "Hello",
        f'{{"x":1}}{CALL}',
        f'{CALL}{{"x":1}}',
        f"Let me see.\n{CALL}",
        CALL.replace("ping", "pong"),
        "",
    ):
        assert not constraint.accepts(text)
    assert constraint.explain('{"x":"1"}').pointer == "/x"
    assert constraint.explain(CALL.replace("1", '"1"')).pointer == "/ping/n"


def test_the_first_token_decides_and_may_be_taken_back():
    """J4: the opener as a token; then the call is constrained, and nothing but calls follows."""
    session = beside().session()
    assert session.undecided and mask_of(session) == {BRACE, id_of(b'{"'), OPENER} and not session.in_call
    assert session.accept_token(OPENER) and session.in_call and not session.undecided
    assert mask_of(session) & {BRACE, id_of(b"H"), *session.stop_token_ids} == {BRACE}
    session.rollback()
    assert session.undecided and session.accept_token(BRACE) and not session.in_call
    assert OPENER not in mask_of(session)
    session.rollback()
    assert session.accept_tokens(ids(CALL)) == len(ids(CALL)) and session.is_complete
    assert mask_of(session) & {OPENER, BRACE, id_of(b"H"), *session.stop_token_ids} == {OPENER, *session.stop_token_ids}
    assert kinds(session) == [("engaged", 0), ("call", 1)]
    fork = session.fork()
    session.reset()
    assert session.undecided and kinds(session) == [] and fork.is_complete and fork.in_call


@pytest.mark.parametrize("wire", sorted(WIRES))
def test_the_openers_are_those_that_the_parser_knows(wire):
    """K8, J4: in every format a call that the parser reads releases the answer, also where it begins with text."""
    automaton = tools(wire, text_arming=True)
    constraint = Constraint(ANSWER, automaton, wire=wire)
    reply = render(wire)
    assert ReplyParser(wire, TOOLS, VOCABULARY) is not None and constraint.accepts(reply)
    session = constraint.session()
    assert session.accept_tokens(ids(reply)) == len(ids(reply))
    assert [event.kind for event in session.events if event.kind == "call"] == ["call"]
    parser = ReplyParser(wire, TOOLS)
    parser.push_text(reply)
    parser.finish()
    assert [(call.name, call.arguments) for call in parser.reply.tool_calls] == [("ping", {"n": 1})]


def render(wire):
    from constrain.wires.render import render_call

    return render_call(wire, "ping", {"n": 1})


def test_an_opener_that_is_text_may_be_split():
    constraint = Constraint(constrain.compile_json_schema(SCHEMA, BARE), tools(vocabulary=BARE, text_arming=True))
    session = constraint.session()
    assert mask_of(session) == {ord("{"), id_of(b'{"'), ord("<")}
    assert session.accept_bytes(b"<tool_") and session.accept_bytes(b"call>\n{") and session.in_call
    assert session.accept_bytes(CALL[CALL.index("{") + 1 :].encode()) and session.is_complete


def test_answers_and_calls_that_begin_alike_are_told_apart_where_they_differ():
    """Calls of this format are JSON, too: both ways stay open up to the first byte that only one of them has."""
    schema = {"type": "object", "properties": {"nature": {"type": "string"}}, "required": ["nature"]}
    answer = constrain.compile_json_schema(schema, VOCABULARY, property_order="schema", whitespace="compact")
    constraint = Constraint(answer, tools("llama3", text_arming=True))
    session = constraint.session()
    assert session.accept_bytes(b'{"na') and session.undecided
    assert mask_of(session) & {ord("t"), ord("m"), ord("x")} == {ord("t"), ord("m")}
    session.prefer(ord("x"))
    assert mask_of(session) & {ord("t"), ord("m"), ord("x")} == {ord("t")}
    assert session.accept_token(ord("t")) and not session.undecided
    assert constraint.accepts('{"nature":"x"}') and constraint.accepts('{"name": "ping", "parameters": {"n": 1}}')


def test_without_a_token_to_begin_a_call_there_is_only_the_answer():
    constraint = Constraint(constrain.compile_json_schema(SCHEMA, BARE), tools(vocabulary=BARE))
    assert "no tool can be called" in constraint.warnings[0] and not constraint.session().undecided
    with pytest.raises(ValueError, match="required"):
        Constraint(ANSWER, tools(tool_choice="required"))


# The start of a reply -------------------------------------------------------------------------------------------------


def test_only_the_model_s_first_choice_turns_the_reply_to_a_call():
    """J3: openers are in the mask when the unmasked top choice is one; blanks are not in it at all."""
    session = beside().session()
    for top, expected in [(FENCE, False), (id_of(b"\n"), False), (BRACE, False), (OPENER, True)]:
        assert session.prefer(top) == expected
        mask = mask_of(session)
        assert mask == {BRACE, id_of(b'{"'), *({OPENER} if expected else ())}
        assert all(session.allows(token) == (token in mask) for token in range(WIDTH))
        assert session.fork().accept_token(OPENER) == expected
    session.prefer(FENCE)
    assert not session.accept_token(OPENER) and session.accept_token(BRACE)


@pytest.mark.parametrize("mode", ["exact", "fast"])
def test_a_rejected_first_draw_is_not_replaced_by_a_call(mode):
    """J2: the model wants a fence; never a blank or an opener instead. If it wants the opener, that is taken."""
    likes_fences = logits_of(FENCE, OPENER, id_of(b"\n"), ord(" "), id_of(b"Hello"))
    for sampling in (Sampling(temperature=0), Sampling(), Sampling(top_k=3), Sampling(top_p=0.9)):
        for u in (0.0, 0.2, 0.4):
            token = choose_checked(likes_fences, beside().session(), sampling, set(), {}, u, mode=mode)
            assert token in (BRACE, id_of(b'{"'))
        likes_calls = logits_of(OPENER)
        assert choose_checked(likes_calls, beside().session(), sampling, set(), {}, 0.3, mode=mode) == OPENER


@pytest.mark.parametrize("sampling", [Sampling(), Sampling(top_k=3), Sampling(top_p=0.7)], ids=["free", "k", "p"])
def test_calls_are_as_likely_as_the_model_makes_them(sampling):
    """The share of calls is that of the free row; answers keep their masked distribution (chi-square, 0.1 % level)."""
    row = np.full(WIDTH, -np.inf)
    row[[FENCE, OPENER, BRACE, id_of(b'{"')]] = np.log([4.0, 3.0, 2.0, 1.0])
    session, rng, n = beside().session(), uniforms(3), 3000
    found = Counter(choose_checked(row, session, sampling, set(), {}, rng.random()) for _ in range(n))
    from constrain.sampling import shape_logits

    calls = float(distribution(shape_logits(row, sampling, set(), {}))[OPENER])
    answers = row.copy()
    answers[[FENCE, OPENER]] = -np.inf
    kept = distribution(shape_logits(answers, sampling, set(), {})) * (1 - calls)
    expected = {token: p for token, p in [(OPENER, calls), *enumerate(kept.tolist())] if p > 0}
    assert set(found) <= set(expected)
    chi2 = sum((found[token] - n * p) ** 2 / (n * p) for token, p in expected.items())
    assert chi2 < {1: 1e-9, 2: 10.83, 3: 13.82}[len(expected)]


class Model:
    """Wants a reply, token by token, and then the end."""

    vocab_size, context_length = WIDTH, 1000

    def __init__(self, reply):
        self.reply = reply

    def new_cache(self):
        return SimpleNamespace(steps=0)

    def forward(self, caches, tokens):
        [cache] = caches
        wanted = self.reply[cache.steps] if cache.steps < len(self.reply) else VOCABULARY.eos_token_ids[0]
        cache.steps += 1
        return logits_of(wanted, OPENER).astype(np.float32)[None]


TOKENS = SimpleNamespace(
    eos_token_ids=VOCABULARY.eos_token_ids, encode=lambda text: ids(text), token_bytes=VOCABULARY.token_bytes
)


@pytest.mark.parametrize(
    ("wanted", "text", "call"),
    [("```{", "{", False), (CALL, None, True), ("Sure!", "{", False), ('{"x":1}', '{"x":1}', False)],
)
def test_the_runner_asks_the_model_first(wanted, text, call):
    [done] = CpuRunner(Model(ids(wanted)), TOKENS).generate(
        [Request([1], beside(), Sampling(temperature=0), max_tokens=60)]
    )
    assert [event.kind for event in done.events if event.kind == "call"] == ["call"] * call
    assert done.token_ids[: len(ids(wanted))] == ids(wanted) if text is None else done.text.startswith(text)
    assert done.complete or done.finish_reason == "length"


def test_hosts_that_show_histories_are_asked_too():
    for best, expected in [(FENCE, False), (OPENER, True), (None, True)]:
        histories = Histories(beside())
        tell = None if best is None else (lambda row, best=best: best)
        bitmask, slots = histories.masks(np.array([[5, 6]]), best=tell)
        assert bool(bitmask[slots[0]][OPENER >> 5] >> (OPENER & 31) & 1) == expected


# After reasoning ------------------------------------------------------------------------------------------------------


def test_the_choice_comes_after_the_reasoning():
    session = beside(reasoning="inside").session()
    assert session.accept_tokens(ids("call <tool_call>? </thin")) and not session.undecided
    assert session.accept_token(OPENER)  # in reasoning it begins nothing
    assert session.accept_tokens([id_of("</think>"), id_of(b"\n\n")]) == 2 and session.undecided
    session.prefer(FENCE)
    assert OPENER not in mask_of(session) and BRACE in mask_of(session)
    session.prefer(OPENER)
    assert session.accept_tokens(ids(CALL)) == len(ids(CALL)) and session.is_complete
    session.rollback(len(ids(CALL)))
    assert session.undecided and session.accept_bytes(b'{"x":1}') and session.is_complete


def test_a_model_that_skips_its_reasoning_may_call_at_once():
    """The call is constrained from its opener on, although the answer still waits for the end of reasoning."""
    session = beside(reasoning="wait").session()
    assert session.accept_token(OPENER) and session.in_call and ("call", 1) in kinds(session)
    assert id_of(b"H") not in mask_of(session)
    session.rollback()
    assert id_of(b"H") in mask_of(session)
    assert session.accept_tokens(ids('so</think>{"x":1}')) == 10 and session.is_complete


def test_effort_comes_before_both():
    constraint = beside(effort="cot")
    assert constraint.accepts('<think>Step 1: a</think>{"x":1}') and constraint.accepts(
        f"<think>Step 1: a</think>\n{CALL}"
    )
    session = constraint.session()
    assert session.accept_tokens(ids("<think>Step 1: a</think>")) == 11 and session.undecided
    assert {OPENER, BRACE} <= mask_of(session)
