"""What happens when a constraint cannot be kept: one sequence is concerned, an event says so, nothing is silent."""

from __future__ import annotations

import numpy as np
import pytest

import constrain
from constrain.adapters._history import Histories
from constrain.runners import CpuRunner, Request, SequenceError
from constrain.sampling import Sampling

GREEDY = Sampling(temperature=0)
NESTED = {
    "type": "array",
    "items": {"anyOf": [{"type": "array", "items": {"type": name}} for name in ("string", "integer")]},
}


def test_a_limit_of_one_sequence_leaves_the_others_constrained(kit, scripted):
    """Of three sequences the second reaches a limit in its mask: it alone loses its constraint, and says why."""
    tight = constrain.compile_json_schema(NESTED, kit.vocabulary, limits=constrain.Limits(max_threads=1))
    roomy = constrain.compile_json_schema(NESTED, kit.vocabulary)
    requests = [Request([1], grammar, GREEDY, on_failure="soft") for grammar in (roomy, tight, roomy)]
    done = CpuRunner(scripted([b"[[1x]]"] * 3), scripted.tokens).generate(requests)
    assert [completion.complete for completion in done] == [True, False, True]
    assert done[0].text == done[2].text and "x" not in done[0].text and done[1].text == "[[1x]]"
    [event] = [event for event in done[1].events if event.kind == "disabled"]
    assert event.sequence == 1 and "max_threads" in event.reason
    assert not [event for i in (0, 2) for event in done[i].events if event.kind in ("disabled", "failed")]


# States in which the vocabulary has no token --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def dead_end(kit):
    """A schema that needs a digit, and a vocabulary without digits; the dead end comes after `{"days":`."""
    vocabulary = kit.make_vocabulary(without=b"0123456789")
    schema = {"type": "object", "properties": {"days": {"enum": [1, 22]}}, "required": ["days"]}
    return constrain.compile_json_schema(schema, vocabulary, whitespace="compact", additional_properties=False)


def test_a_dead_end_carries_out_the_policy_of_its_sequence(dead_end, scripted):
    """Each of two sequences reports; "soft" goes on freely, "stop" (the default here) ends, "raise" raises."""
    reply, place = b'{"days":1} or so', 8
    for policy, kind, text in [("soft", "disabled", reply.decode()), ("stop", "failed", '{"days":')]:
        requests = [Request([1], dead_end, GREEDY, on_failure=policy)] * 2
        done = CpuRunner(scripted([reply] * 2), scripted.tokens).generate(requests)
        for sequence, completion in enumerate(done):
            assert (completion.text, completion.complete) == (text, False)
            [event] = [event for event in completion.events if event.kind == kind]
            assert (event.sequence, event.position) == (sequence, place) and "no token" in event.reason
    [done] = CpuRunner(scripted([reply]), scripted.tokens).generate([Request([1], dead_end, GREEDY)])
    assert done.finish_reason == "failed"
    with pytest.raises(SequenceError, match=rf"sequence 0, after {place} tokens.*no token"):
        CpuRunner(scripted([reply]), scripted.tokens).generate([Request([1], dead_end, GREEDY, on_failure="raise")])


@pytest.mark.parametrize(("policy", "kind"), [("soft", "disabled"), ("stop", "failed"), ("raise", None)])
def test_a_dead_end_never_leaves_a_row_without_tokens(kit, dead_end, policy, kind):
    """Hosts with histories get a free row, one that may only end, or an error, with the place."""
    events = []
    histories = Histories(dead_end, on_failure=policy, on_event=events.append)
    ids = np.array([[7, *b'{"days":']])
    for end in range(1, ids.shape[1]):
        bitmask, slots = histories.masks(ids[:, :end])
        assert bitmask[slots[0]].any()
    if policy == "raise":
        with pytest.raises(constrain.ConstrainError, match=r"row 0, at 8 tokens: .*no token"):
            histories.masks(ids)
        return
    bitmask, slots = histories.masks(ids)
    assert [(event.kind, event.row, event.position) for event in events] == [(kind, 0, 8)]
    if policy == "soft":
        assert slots[0] == -1
    else:
        bits = np.flatnonzero(np.unpackbits(bitmask[slots[0]].view(np.uint8), bitorder="little"))
        assert bits.tolist() == [kit.END]


def test_compile_says_which_bytes_the_vocabulary_lacks(kit, dead_end):
    """The report of a grammar notes it where outputs may be out of reach, and not where they are not."""
    [note] = dead_end.report.having("note")
    assert "30 31 32" in note.reason and dead_end.report.is_exact
    assert not kit.grammar.report.having("note")
    assert not constrain.compile_json_schema(kit.SCHEMA).report.having("note")


# Widths ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("extra", [0, 1, 40, 300])
def test_logits_wider_than_the_vocabulary_are_constrained(kit, scripted, extra):
    """Columns that no token has are forbidden, whatever the model thinks of them, in masks and in a runner."""
    exact = kit.make_vocabulary(width=None)
    grammar = constrain.compile_json_schema(kit.SCHEMA, exact)
    model = scripted([[exact.size + extra - 1] * 3 + [*kit.TEXT]], width=exact.size + extra)
    [done] = CpuRunner(model, scripted.tokens).generate([Request([1], grammar, GREEDY, max_tokens=40)])
    assert max(done.token_ids) < exact.size and done.events[0].kind == "engaged"
    assert done.finish_reason in ("stop", "length")
    for bitmask in (constrain.allocate_token_bitmask(1, exact.size + extra), constrain.allocate_token_bitmask(1, 4096)):
        logits = np.zeros((1, exact.size + extra))
        grammar.matcher().fill_next_token_bitmask(bitmask)
        constrain.apply_token_bitmask_inplace(logits, bitmask)
        assert set(np.flatnonzero(np.isfinite(logits[0]))) == {ord("{"), kit.id_of(b'{"')}


def test_logits_narrower_than_the_vocabulary_never_pass_unmasked(kit, scripted):
    """What is there is masked; a bitmask that is too narrow for the vocabulary is refused by name."""
    matcher = kit.grammar.matcher()
    bitmask = constrain.allocate_token_bitmask(1, kit.vocabulary.size)
    matcher.fill_next_token_bitmask(bitmask)
    logits = np.zeros((1, 200))
    constrain.apply_token_bitmask_inplace(logits, bitmask)
    assert np.flatnonzero(np.isfinite(logits[0])).tolist() == [ord("{")]
    with pytest.raises(ValueError, match="int32 array of shape"):
        matcher.fill_next_token_bitmask(constrain.allocate_token_bitmask(1, 200))
    [done] = CpuRunner(scripted([kit.TEXT], width=260), scripted.tokens).generate([Request([1], kit.grammar, GREEDY)])
    assert done.finish_reason == "failed" and "shape" in done.events[-2].reason and done.token_ids == []
