"""Sessions: a matcher's interface for a whole reply, events, failures, forced tokens and ends."""

from __future__ import annotations

import random
from types import SimpleNamespace

import numpy as np
import pytest

import constrain
from constrain.requests import Constraint, Session, SessionEvent
from constrain.runners import CpuRunner, Request
from constrain.sampling import Sampling

from .support import ANSWER, CALL, SCHEMA, TOOLS, VOCABULARY, WIDTH, id_of, ids, kinds, mask_of

EOS = VOCABULARY.eos_token_ids[0]
THINK = id_of("</think>")
NESTED = {"type": "array", "items": {"anyOf": [{"type": "array", "items": {"type": t}} for t in ("string", "integer")]}}


def tools(**options):
    return constrain.compile_tools(TOOLS, VOCABULARY, "hermes", **options)


def tight():
    """A grammar that reaches a limit in its second mask."""
    limits = constrain.Limits(max_threads=1)
    return constrain.compile_json_schema(NESTED, VOCABULARY, limits=limits)


CONSTRAINTS = {
    "grammar": lambda: ANSWER,
    "tools": tools,
    "required": lambda: tools(tool_choice="required", reasoning="inside"),
    "answer": lambda: Constraint(ANSWER, wire="hermes", reasoning="wait"),
    "both": lambda: Constraint(ANSWER, tools(), reasoning="inside"),
}
REPLIES = {
    "grammar": '{"x":12}',
    "tools": f"Hi. {CALL}\n{CALL} so",
    "required": f"hm</think>\n{CALL}",
    "answer": 'hm</think>\n\n{"x":12}',
    "both": f"hm</think>\n{CALL}",
}


# The interface of a matcher ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_masks_and_steps_agree(name):
    """`allows`, the mask and `accept_token` say the same of every token, and a refused token changes nothing."""
    session, rng = CONSTRAINTS[name]().matcher(), random.Random(1)
    session = session if isinstance(session, Session) else Session(CONSTRAINTS[name]())
    for token in ids(REPLIES[name]):
        mask = mask_of(session)
        for other in (token, *rng.sample(range(WIDTH), 12)):
            assert (other in mask) == session.allows(other) == (session.fork().accept_token(other))
            assert session.validate_tokens([other]) == (other in mask)
        refused = [other for other in rng.sample(range(WIDTH), 5) if other not in mask]
        assert not any(session.accept_token(other) for other in refused) and mask_of(session) == mask
        assert session.accept_token(token)
    assert session.is_accepting() and session.is_complete and session.steps == len(ids(REPLIES[name]))
    assert session.accept_token(EOS) and session.is_terminated() and not session.accept_token(EOS)


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_rollback_leads_back_through_every_state(name):
    """H5: also over the end, over a decision and over the end of reasoning; more than there was is refused."""
    session, reply = Session(CONSTRAINTS[name](), max_rollback=None), [*ids(REPLIES[name]), EOS]
    masks = []
    for token in reply:
        masks.append(mask_of(session))
        assert session.accept_token(token)
    rng = random.Random(2)
    while session.steps:
        count = rng.randint(1, min(7, session.steps))
        session.rollback(count)
        assert mask_of(session) == masks[session.steps] and not session.is_terminated()
    with pytest.raises(ValueError, match="cannot roll back 1 steps: 0"):
        session.rollback()
    assert session.accept_tokens(reply) == len(reply)
    session.reset()
    assert mask_of(session) == masks[0]


def test_rollback_is_bounded():
    session = Session(ANSWER, max_rollback=3)
    session.accept_tokens(ids('{"x":1'))
    with pytest.raises(ValueError, match="4 steps: 3 are available"):
        session.rollback(4)
    session.rollback(3)
    assert session.steps == 3


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_drafts(name):
    """H7: the masks along a draft are those of taking it step by step; events of a draft are none."""
    session, reply = Session(CONSTRAINTS[name]()), ids(REPLIES[name])
    words = (WIDTH + 31) // 32
    rows = np.zeros((len(reply) + 1, words), np.int32)
    assert session.fill_draft_bitmasks(reply, rows) == len(reply) + 1
    other, row = session.fork(), np.zeros((1, words), np.int32)
    for i, token in enumerate(reply):
        other.fill_next_token_bitmask(row)
        assert (rows[i] == row[0]).all()
        other.accept_token(token)
    assert session.steps == 0 and not [event for event in session.events if event.position]
    first, sibling = [1, 2, -1, -1], [-1, 3, -1, -1]
    tree = np.zeros((4, words), np.int32)
    session.fill_tree_bitmasks([0, reply[0], reply[1], reply[0]], first, sibling, tree)
    assert (tree[:3] == rows[:3]).all() and (tree[3] == rows[1]).all()


def test_forks_are_independent():
    session = Session(Constraint(ANSWER, tools()))
    called, answered = session.fork(), session.fork()
    assert called.accept_token(id_of("<tool_call>")) and answered.accept_token(id_of(b"{"))
    assert called.in_call and not answered.in_call and session.undecided
    assert kinds(session) == [] and ("call", 1) in kinds(called) and kinds(answered) == []


def test_forced_text():
    session = Session(Constraint(ANSWER, tools()))
    assert session.forced_bytes() == b"" and session.forced_tokens() == []  # it may be two things
    session.accept_token(id_of(b"{"))
    assert session.forced_bytes() == Session(ANSWER).fork().forced_bytes()[1:] == b""
    session = Session(constrain.compile_choice(["abc"], VOCABULARY))
    assert session.forced_bytes() == b"abc"
    assert session.accept_token(id_of(b"abc"[:1])) and session.forced_bytes() == b"bc"


def test_a_batch_with_other_matchers():
    """One call fills the rows of sessions and plain matchers, in any state, threads or not."""
    sessions = [Session(CONSTRAINTS[name]()) for name in CONSTRAINTS]
    for session, reply in zip(sessions, REPLIES.values(), strict=True):
        assert session.accept_tokens(ids(reply)[:7]) == 7
    matchers = [*sessions, ANSWER.matcher(), Session(None, vocab=VOCABULARY)]
    for threads in (None, 2):
        bitmask = constrain.allocate_token_bitmask(len(matchers), WIDTH)
        constrain.fill_next_token_bitmasks(matchers, bitmask, threads=threads)
        for row, matcher in enumerate(matchers):
            alone = constrain.allocate_token_bitmask(1, WIDTH)
            matcher.fill_next_token_bitmask(alone)
            assert (bitmask[row] == alone[0]).all()


def test_bitmasks_are_checked():
    session = Session(ANSWER)
    with pytest.raises(IndexError, match="row must be in"):
        session.fill_next_token_bitmask(constrain.allocate_token_bitmask(1, WIDTH), 1)
    with pytest.raises(ValueError, match="int32"):
        session.fill_next_token_bitmask(np.zeros((1, 2), np.int32))
    assert session.failure is None


def test_any_constraint_will_do():
    for made in (ANSWER, ANSWER.matcher(), Constraint(ANSWER), Constraint(ANSWER).matcher()):
        session = made if isinstance(made, Session) else Session(made)
        assert session.accept_tokens(ids('{"x":1}')) == 7 and session.is_complete
    free = Session()
    assert not free.is_constraining and free.is_accepting() and free.is_complete and not free.undecided
    assert free.accept_tokens([5, 10**9]) == 2 and not free.accept_token(-1)
    assert free.accept_bytes(b"x") and free.steps == 3
    ending = Session(stop_token_ids=[7])
    assert ending.accept_tokens([1, 7, 1]) == 2 and ending.is_terminated()
    with pytest.raises(ValueError, match="on_failure"):
        Session(ANSWER, on_failure="never")


# Ends ----------------------------------------------------------------------------------------------------------------


def test_several_tokens_may_end_a_reply():
    """G1, G2: all of them where the reply is complete, none elsewhere; by default also those of the format."""
    session = Session(ANSWER, stop_token_ids=[EOS, THINK, id_of("<|im_end|>")])
    assert not mask_of(session) & {EOS, THINK}
    session.accept_bytes(b'{"x":1}')
    assert mask_of(session) == {EOS, THINK, id_of("<|im_end|>")}
    assert Session(Constraint(ANSWER, wire="hermes")).stop_token_ids == (EOS, id_of("<|im_end|>"))


@pytest.mark.parametrize(("stop", "at"), [([","], 4), (['": "a'], None), (['{"a":1,"b'], 9), (["1,", "b"], 7 - 1)])
def test_texts_that_end_a_reply(stop, at):
    session = Session(constrain.compile_json_schema({"type": "object"}, VOCABULARY), stop=stop)
    text = '{"a":1,"b":2}'
    at = len(text) if at is None else max(at, text.find(stop[0]) + len(stop[0]))
    taken = session.accept_tokens(ids(text))
    assert taken == at and session.is_terminated() == (at < len(text))
    if at < len(text):
        session.rollback(1)
        assert not session.is_terminated() and session.accept_token(ids(text)[at - 1]) and session.is_terminated()
        assert not session.is_complete
    with pytest.raises(ValueError, match="not empty"):
        Session(ANSWER, stop=[""])
    with pytest.raises(ValueError, match="vocab"):
        Session(stop=["a"])


# Events --------------------------------------------------------------------------------------------------------------


def test_events_tell_what_happened():
    """I6: engaged, released, calls, with the number of steps; callbacks get the same."""
    told: list[SessionEvent] = []
    session = Session(tools(), on_event=told.append)
    for token in ids(f"Hi {CALL} bye"):
        session.is_constraining  # noqa: B018  # as a host asks before each step
        session.accept_token(token)
    end = 3 + len(ids(CALL))
    assert kinds(session) == [("engaged", 4), ("released", end)] and told == session.events
    session.rollback(len(ids(" bye")) + 1)
    assert kinds(session) == [("engaged", 4)] and session.is_constraining
    session.accept_token(id_of("</tool_call>"))
    assert not session.is_constraining and kinds(session) == [("engaged", 4), ("released", end)]


# Tokens of the host --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_injected_tokens(name):
    """H6: a legal one keeps the constraint, another releases it with an event, until it is taken back."""
    session, reply = Session(CONSTRAINTS[name]()), ids(REPLIES[name])
    for token in reply[:-6]:
        assert session.force_token(token) and session.is_constraining in (True, False)
    before = mask_of(session)
    illegal = next(
        (token for token in range(WIDTH) if token not in before and token not in session.stop_token_ids), None
    )
    if illegal is None:
        return
    assert not session.force_token(illegal)
    assert mask_of(session) >= set(range(WIDTH)) and not session.is_constraining and not session.is_complete
    assert session.events[-1].kind == "released" and f"token {illegal}" in session.events[-1].reason
    assert session.accept_token(5) and not session.force_token(6)
    session.rollback(3)
    assert mask_of(session) == before and session.is_constraining
    assert not session.force_token(EOS) and session.is_terminated() and not session.force_token(5)


# Failures ------------------------------------------------------------------------------------------------------------


def test_a_failure_is_carried_out_as_asked():
    """I1, I2, I3: soft goes on freely, stop may only end, raise raises; each says at what, where and why."""
    for policy, kind, allowed in (("soft", "disabled", None), ("stop", "failed", {EOS}), (None, "failed", {EOS})):
        for _ in range(2):
            session = Session(tight(), on_failure=policy)
            for token in ids("[[1"):
                mask_of(session)
                session.accept_token(token)
            assert session.failure is not None and "max_threads" in session.failure
            assert [event.kind for event in session.events if event.kind in ("disabled", "failed")] == [kind]
            assert (
                isinstance(session.error, constrain.LimitError) and not session.is_complete and session.is_accepting()
            )
            assert mask_of(session) >= set(range(WIDTH)) if allowed is None else mask_of(session) == allowed
            assert session.allows(id_of(b"H")) == (allowed is None) and session.is_constraining == (allowed is not None)
            assert session.accept_token(EOS) and session.is_terminated()
    session = Session(tight(), on_failure="raise")
    with pytest.raises(constrain.ConstrainError, match=r"after 1 tokens: commit: .*max_threads") as caught:
        session.accept_tokens(ids("[[1"))
    assert isinstance(caught.value.__cause__, constrain.LimitError)
    for use in (lambda: mask_of(session), lambda: session.allows(5), lambda: session.accept_token(5)):
        with pytest.raises(constrain.ConstrainError, match="after 1 tokens"):
            use()


def test_tools_fail_soft_by_default():
    assert Session(tools()).on_failure == "soft" and Session(Constraint(ANSWER, tools())).on_failure == "stop"


def test_a_constraint_that_cannot_be_set_up():
    def broken(**_):
        raise RuntimeError("no room")

    made = SimpleNamespace(matcher=broken, vocabulary=VOCABULARY)
    session = Session(made)
    assert session.failure == "creation: RuntimeError: no room" and mask_of(session) == {EOS}
    assert not Session(made, on_failure="soft").is_constraining
    with pytest.raises(constrain.ConstrainError, match="no room"):
        Session(made, on_failure="raise")


def test_a_matcher_that_raises_is_no_disaster():
    class Poisoned:
        is_constraining, stop_token_ids, vocabulary = True, (EOS,), VOCABULARY

        def fill_next_token_bitmask(self, bitmask, row=0):
            raise ZeroDivisionError("mask")

        def accept_token(self, token):
            raise ZeroDivisionError("commit")

        allows = accept_token

        def is_terminated(self):
            return False

    def poisoned(**options):
        return Session(Poisoned(), **options)

    session = poisoned()
    assert mask_of(session) == {EOS} and session.failure == "mask: ZeroDivisionError: mask"
    session = poisoned()
    assert not session.accept_token(5) and session.failure == "commit: ZeroDivisionError: commit"
    session = poisoned(on_failure="soft")
    assert session.accept_token(5) and session.steps == 1 and kinds(session)[-1] == ("disabled", 0)
    session = poisoned()
    assert session.allows(EOS) and session.failure is not None


def test_no_row_is_ever_empty():
    """A dead end, in a vocabulary that cannot go on, is a failure, not a row of zeros, alone and in a batch."""
    pieces = [bytes([b]) if b not in b"0123456789" else None for b in range(256)]
    vocabulary = constrain.Vocabulary.from_tokens(pieces, {"<end>": 256}, [256])
    grammar = constrain.compile_json_schema({"enum": [{"days": 1}]}, vocabulary, whitespace="compact")
    for batched in (False, True):
        session = Session(grammar)
        assert session.accept_bytes(b'{"days":')
        bitmask = constrain.allocate_token_bitmask(2, vocabulary.size)
        if batched:
            constrain.fill_next_token_bitmasks([Session(grammar), session], bitmask, rows=[1, 0])
        else:
            session.fill_next_token_bitmask(bitmask)
        assert np.flatnonzero(np.unpackbits(bitmask[0].view(np.uint8), bitorder="little")).tolist() == [256]
        assert "no token" in session.failure and kinds(session)[-1] == ("failed", 1)


def test_other_sequences_keep_their_constraints():
    """I1: of three sequences in one run, the second fails."""

    class Model:
        vocab_size, context_length = WIDTH, 100

        def new_cache(self):
            return SimpleNamespace(steps=0)

        def forward(self, caches, tokens):
            logits = np.zeros((len(caches), WIDTH), np.float32)
            for row, cache in enumerate(caches):
                reply = ids("[[1x]]")
                logits[row, reply[cache.steps] if cache.steps < len(reply) else EOS] = 9
                cache.steps += 1
            return logits

    roomy = constrain.compile_json_schema(NESTED, VOCABULARY)
    tokens = SimpleNamespace(eos_token_ids=(EOS,), encode=ids, token_bytes=VOCABULARY.token_bytes)
    sessions = [Session(grammar, on_failure="soft") for grammar in (roomy, tight(), roomy)]
    greedy = Sampling(temperature=0)
    done = CpuRunner(Model(), tokens).generate([Request([1], one, greedy, max_tokens=8) for one in sessions])
    assert [completion.text for completion in done][1] == "[[1x]]" and "x" not in done[0].text + done[2].text
    assert [one.failure is not None for one in sessions] == [False, True, False]
    assert done[1].complete is False and "max_threads" in done[1].events[-2].reason


def test_one_grammar_in_many_sessions():
    """H11: sessions of one constraint do not know of each other."""
    constraint = Constraint(constrain.compile_json_schema(SCHEMA, VOCABULARY), tools(), reasoning="wait")
    first, second = constraint.session(), constraint.session()
    for one, other in zip(ids('hm</think>{"x":1}'), ids(f"hm</think>{CALL}")[:10], strict=True):
        assert first.accept_token(one) and second.accept_token(other)
    assert first.is_complete and second.in_call and not first.in_call
