"""States that follow histories: each mask must be the one of a fresh matcher that has read the row's tokens."""

from __future__ import annotations

import random
import subprocess
import sys

import numpy as np
import pytest

import constrain
from constrain import Matcher
from constrain.adapters._history import Histories

PROMPT = [7, 7, 7]


def rows_of(*histories, prompt=PROMPT):
    return np.array([[*prompt, *history] for history in histories], np.int64)


def masks_of(histories, ids):
    bitmask, slots = histories.masks(ids)
    return [None if slot < 0 else bitmask[slot].tolist() for slot in slots]


@pytest.fixture
def calls(monkeypatch):
    """How often matchers are copied and fed."""
    counts = {"fork": 0, "accept_token": 0, "rollback": 0}
    for name in counts:
        original = getattr(Matcher, name)

        def counted(self, *args, _name=name, _original=original):
            counts[_name] += 1
            return _original(self, *args)

        monkeypatch.setattr(Matcher, name, counted)
    return counts


@pytest.mark.parametrize("seed", range(6))
def test_rows_may_move_split_vanish_and_go_back(grammar, oracle, seed):
    """A made-up search: rows come from the last ones at random, some illegal, and at times go back or start over."""
    rng = random.Random(seed)
    histories = Histories(grammar, max_states=rng.choice([0, 2, 64]))
    rows: list[list[int]] = [[] for _ in range(4)]
    seen = set()
    for _ in range(120):
        expected = [oracle.replayed(grammar, row) for row in rows]
        assert masks_of(histories, rows_of(*rows)) == expected
        seen |= {None if mask is None else "mask" for mask in expected}
        if rng.random() < 0.15:
            length = rng.randrange(len(rows[0]) + 1)
            rows = [row[:length] for row in rows]
            continue
        parents = [rng.choice(rows) for _ in rows]
        rows = []
        for parent in parents:
            legal = oracle.replayed(grammar, parent) is not None
            choices = oracle.allowed(grammar, parent) if legal and rng.random() < 0.95 else [0, 65, oracle.END]
            rows.append([*parent, rng.choice(choices)])
        if len(rows[0]) > 40:
            rows = [[] for _ in range(4)]
    assert seen == {None, "mask"}


def test_one_row_is_fed_one_token_and_never_copied(grammar, oracle, calls):
    histories, history = Histories(grammar), []
    for token in b'{"a":"ab","b":[1,2,3]}':
        histories.masks(rows_of(history))
        history.append(token)
    assert calls == {"fork": 1, "accept_token": len(history) - 1, "rollback": 0}
    histories.masks(rows_of(history[:5]))
    histories.masks(rows_of(history[:6]))
    assert calls == {"fork": 1, "accept_token": len(history), "rollback": 1}


def test_equal_rows_share_a_state_until_they_differ(grammar, calls):
    histories = Histories(grammar)
    tracks = histories.advance(rows_of([], [], []))
    assert len({id(track) for track in tracks}) == 1
    tracks = histories.advance(rows_of(b"{", b"{", b"{"))
    assert len({id(track) for track in tracks}) == 1
    assert calls["fork"] == 1
    first, second, third = histories.advance(rows_of(b'{"', b'{"', [123, 34]))
    assert first is second is third
    first, second, third = histories.advance(rows_of(b'{"a', b'{"b', b'{"a'))
    assert first is third is not second
    assert calls["fork"] == 2


def test_kept_states_are_bounded(grammar):
    histories = Histories(grammar, max_states=3)
    family = histories._families[0]
    for value in range(30):
        text = b'{"b":[' + str(value).encode().zfill(2)[:1]
        histories.masks(rows_of(*(text + bytes([d]) for d in b"0123"), prompt=PROMPT))
        histories.masks(rows_of(*(text[:3],)))
        assert len(family.tracks) <= 4
    none_kept = Histories(grammar, max_states=0)
    none_kept.masks(rows_of([], []))
    none_kept.masks(rows_of(b"{", b"["))
    assert len(none_kept._families[0].tracks) == 2


def test_ended_and_illegal_rows_are_left_alone(word, oracle):
    events = []
    histories = Histories(word, on_event=events.append)
    masks_of(histories, rows_of([], [], []))
    histories.masks(rows_of(b"x", b"a", b"q"))
    end, pad = oracle.END, 0
    assert masks_of(histories, rows_of([120, end], b"ab", b"qq"))[0::2] == [None, None]
    assert masks_of(histories, rows_of([120, end, pad], b"abc", b"qqq"))[0::2] == [None, None]
    assert [(event.kind, event.row, event.position) for event in events] == [("illegal", 2, 1)]
    assert "token 113" in events[0].reason
    # one step back from the end, and from the fault
    assert masks_of(histories, rows_of(b"x", b"a", b"a")) == [
        oracle.replayed(word, list(t)) for t in (b"x", b"a", b"a")
    ]
    assert histories.counts == {"illegal": 1}


def test_a_new_prompt_is_a_new_output(word, oracle):
    start = oracle.replayed(word, [])
    histories = Histories(word)
    for prompt in ([1, 2, 3], [1, 2, 3], [1, 2], [1, 2, 9, 9], [5], []):
        for done in (b"", b"a", b"ab"):
            expected = [oracle.replayed(word, list(done))]
            assert masks_of(histories, rows_of(done, prompt=prompt)) == expected
    # the next turn of a chat begins with the last prompt and its output
    turn = [1, 2, *b"abc", oracle.END, 10, 11, 12]
    histories = Histories(word)
    for end in range(2, 7):
        histories.masks(np.array([turn[:end]]))
    assert masks_of(histories, np.array([turn])) == [start]
    assert masks_of(histories, np.array([[*turn, 97]])) == [oracle.replayed(word, [97])]
    # so it does after an output that was cut off
    histories = Histories(word)
    for end in range(2, 4):
        histories.masks(np.array([turn[:end]]))
    assert masks_of(histories, np.array([[*turn[:3], 10, 11]])) == [start]


def test_several_tokens_at_once_go_on_with_the_output(word, oracle):
    histories = Histories(word)
    histories.masks(rows_of([]))
    assert masks_of(histories, rows_of(b"ab")) == [oracle.replayed(word, list(b"ab"))]
    histories.reset()
    assert masks_of(histories, rows_of(b"ab")) == [oracle.replayed(word, [])]


def test_a_list_gives_each_prompt_its_constraint(grammar, word, oracle):
    histories = Histories([word, None, grammar])
    ids = rows_of(*[[]] * 6)
    assert masks_of(histories, ids) == [oracle.replayed(word, [])] * 2 + [None] * 2 + [oracle.replayed(grammar, [])] * 2
    texts = [b"x", b"a", b"?", b"{", b"{", b"["]
    assert masks_of(histories, rows_of(*texts)) == [
        *(oracle.replayed(word, list(text)) for text in texts[:2]),
        None,
        None,
        oracle.replayed(grammar, [123]),
        None,
    ]
    with pytest.raises(ValueError, match="4 rows cannot belong to 3 prompts"):
        histories.masks(rows_of([], [], [], []))


def test_constraints_that_cannot_be_used_are_refused(word):
    other = constrain.compile_choice(["a"], constrain.Vocabulary.from_tokens([b"a", None], eos_token_ids=[1]))
    for constraints, error, match in [
        ([word, other], ValueError, "same vocabulary"),
        ([], ValueError, "empty list"),
        (None, TypeError, "not NoneType"),
        ([word, "{}"], TypeError, "not str"),
        (constrain.compile_choice(["a"]), constrain.ConstrainError, "vocabulary"),
    ]:
        with pytest.raises(error, match=match):
            Histories(constraints)
    with pytest.raises(ValueError, match="on_failure"):
        Histories(word, on_failure="hard")


# Failures ------------------------------------------------------------------------------------------------------------


class Poisoned:
    """A grammar whose matchers raise from a certain token on, and nothing else about them."""

    def __init__(self, grammar, token):
        self.grammar, self.vocabulary, self.token = grammar, grammar.vocabulary, token

    def matcher(self, **options):
        token = self.token

        class Failing(Matcher):
            def accept_token(self, token_id):
                if token_id == token:
                    raise RuntimeError("poisoned")
                return super().accept_token(token_id)

            def fork(self):
                other = super().fork()
                other.__class__ = Failing
                return other

        return Failing(self.grammar, **options)


@pytest.mark.parametrize(("policy", "kind"), [(None, "failed"), ("stop", "failed"), ("soft", "disabled")])
def test_a_failing_row_does_not_touch_the_others(word, oracle, policy, kind):
    events = []
    histories = Histories([word, Poisoned(word, ord("b")), word], on_failure=policy, on_event=events.append)
    only_end = [1 if i == oracle.END // 32 else 0 for i in range(9)]
    for text in (b"", b"a", b"ab", b"abd"):
        expected = oracle.replayed(word, list(text))
        failed = only_end if kind == "failed" else None
        assert masks_of(histories, rows_of(text, text, text)) == [
            expected,
            expected if len(text) < 2 else failed,
            expected,
        ]
    assert [(event.kind, event.row, event.position) for event in events] == [(kind, 1, 2)]
    assert events[0].reason == "commit: RuntimeError: poisoned"
    # before the fault it works again, and the next sequence reports too
    assert masks_of(histories, rows_of(b"a", b"a", b"a")) == [oracle.replayed(word, [97])] * 3
    histories.masks(rows_of(b"ab", b"ab", b"ab"))
    assert [event.row for event in events] == [1, 1]


def test_raise_names_the_row(word):
    histories = Histories([word, Poisoned(word, ord("a"))], on_failure="raise")
    histories.masks(rows_of([], []))
    with pytest.raises(constrain.ConstrainError, match=r"row 1, .*poisoned") as caught:
        histories.masks(rows_of(b"a", b"a"))
    assert isinstance(caught.value.__cause__, RuntimeError)


def test_a_limit_reached_by_a_mask_is_a_failure(vocabulary, oracle):
    """Two readings of one text, with room for one."""
    texts, numbers = ({"type": "array", "items": {"type": name}} for name in ("string", "integer"))
    schema = {"type": "array", "items": {"anyOf": [texts, numbers]}}
    grammar = constrain.compile_json_schema(schema, vocabulary, limits=constrain.Limits(max_threads=1))
    reference = constrain.compile_json_schema(schema, vocabulary)
    events = []
    histories = Histories([grammar, reference], on_event=events.append)
    for end in range(5):
        text = list(b"[[1]"[:end])
        assert masks_of(histories, rows_of(text, text))[1] == oracle.replayed(reference, text)
    assert [(event.kind, event.row) for event in events] == [("failed", 0)]
    assert "max_threads" in events[0].reason


def test_a_state_without_tokens_is_a_failure():
    """The vocabulary cannot spell the second letter."""
    vocabulary = constrain.Vocabulary.from_tokens([b"a", None], eos_token_ids=[1])
    grammar = constrain.compile_choice(["ab"], vocabulary)
    events = []
    histories = Histories(grammar, on_event=events.append)
    for history in ([], [0]):
        bitmask, slots = histories.masks(rows_of(history))
    if grammar.matcher().allows(0):
        assert bitmask[slots[0]].tolist() == [2]
    assert "no token" in events[-1].reason


def test_idle_constraints_are_left_alone(word, oracle):
    """A constraint that waits for something: rows it does not restrict are not masked, and its failure is soft."""

    class Waiting(Matcher):
        is_constraining = property(lambda self: self.steps > 0)

        def fork(self):
            other = super().fork()
            other.__class__ = Waiting
            return other

    class Grammar:
        vocabulary = word.vocabulary

        def matcher(self, **options):
            return Waiting(word, **options)

    histories = Histories(Grammar())
    assert masks_of(histories, rows_of([])) == [None]
    assert masks_of(histories, rows_of(b"a")) == [oracle.replayed(word, [97])]


def test_the_core_needs_no_host():
    """Neither importing nor using it loads torch or transformers."""
    code = (
        "import sys, constrain.adapters._history, constrain.adapters._logits;"
        "print([name for name in ('torch', 'transformers', 'mlx') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
