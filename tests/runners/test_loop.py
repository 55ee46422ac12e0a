"""The reference loop with a scripted model: streams, stops, cancels, batches and failures."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from constrain._errors import ConstrainError
from constrain.runners import CpuRunner, Request, SequenceError, Timing
from constrain.sampling import Sampling

GREEDY = Sampling(temperature=0)
PROMPT = [1, 2, 3]


def kinds(completion):
    return [(event.kind, event.position) for event in completion.events]


class TestConstraint:
    def test_a_constraint_turns_the_model_away_from_its_preference(self, fakes):
        model = fakes.Model([b"Sure! {}"])
        [done] = fakes.runner(model).generate([Request(PROMPT, fakes.Grammar([b'{"a":1}']), GREEDY)])
        assert done.text == '{"a":1}' and done.finish_reason == "stop" and done.complete is True
        assert bytes(done.token_ids[:-1]) == b'{"a":1}' and done.token_ids[-1] == fakes.END
        assert kinds(done) == [("engaged", 0), ("finished", 8)]

    def test_each_step_feeds_only_what_is_new(self, fakes):
        model = fakes.Model([b"xyz"])
        fakes.runner(model).generate([Request(PROMPT, None, GREEDY)])
        assert model.calls == [[3], [1], [1], [1]]

    def test_a_matcher_is_used_from_where_it_stands(self, fakes):
        matcher = fakes.Matcher([b"abc"])
        matcher.accept_token(ord("a"))
        [done] = fakes.runner(fakes.Model([None])).generate([Request(PROMPT, matcher, GREEDY)])
        assert done.text == "bc" and matcher.is_terminated()

    def test_stop_ids_of_the_request_reach_the_matcher(self, fakes):
        grammar = fakes.Grammar([b"a"])
        fakes.runner(fakes.Model([None])).generate([Request(PROMPT, grammar, GREEDY, stop_token_ids=[9])])
        assert grammar.stop_token_ids == [9, fakes.END]

    def test_an_idle_constraint_engages_and_releases(self, fakes):
        reply = [*b"hi", fakes.MARKER, *b"XX", *b" ok"]
        grammar = fakes.Grammar([b"{}"], armed_by=fakes.MARKER)
        [done] = fakes.runner(fakes.Model([reply])).generate([Request(PROMPT, grammar, GREEDY)])
        assert done.text == "hi{} ok" and done.complete is True
        assert kinds(done) == [("engaged", 3), ("released", 5), ("finished", 9)]

    @pytest.mark.parametrize("sampling", [Sampling(seed=5), Sampling(seed=6, temperature=2.0, top_k=3, top_p=0.9)])
    def test_the_ids_equal_those_of_a_naive_loop(self, fakes, sampling):
        """Same seed, same ids (M4), free and constrained, with penalties."""
        words = [bytes(p) for p in itertools.product(b"abcd", repeat=4)]
        for constrained in (True, False):
            penalised = Sampling(**{**vars(sampling), "repetition_penalty": 1.3, "frequency_penalty": -0.4})
            model, again = fakes.Model([None], noise=3.0), fakes.Model([None], noise=3.0)
            matcher = fakes.Matcher(words) if constrained else None
            [done] = fakes.runner(model).generate([Request(PROMPT, matcher, penalised, max_tokens=20)])
            naive = fakes.generate(again, PROMPT, fakes.Matcher(words) if constrained else None, penalised, 20)
            assert done.token_ids == naive
            assert not constrained or done.text.encode() in words


class TestBatch:
    def test_mixed_rows_each_get_their_own(self, fakes):
        replies = [b"free text", b"no", [fakes.MARKER, *b"no"], b"done"]
        requests = [
            Request(PROMPT, None, GREEDY),
            Request([7], fakes.Grammar([b"yes"]), GREEDY),
            Request([8, 9], fakes.Grammar([b"[]"], armed_by=fakes.MARKER), GREEDY),
            Request([5], None, GREEDY, max_tokens=2),
        ]
        runner = fakes.runner(fakes.Model(replies))
        done = runner.generate(requests)
        assert [d.text for d in done] == ["free text", "yes", "[]", "do"]
        assert [d.finish_reason for d in done] == ["stop", "stop", "stop", "length"]
        assert [d.complete for d in done] == [None, True, True, None]
        # one call fills all constrained rows of a step; sequence 3 leaves after two steps, 1 after four
        assert runner.arrays.fills[:3] == [[1], [1, 2], [1, 2]]
        assert runner.arrays.fills == runner.arrays.applied

    def test_a_batch_equals_its_sequences_alone(self, fakes):
        words = [bytes(p) for p in itertools.product(b"abc", repeat=3)]

        def requests():
            grammars = [fakes.Grammar(words), None, fakes.Grammar(words), None]
            return [Request(PROMPT, g, Sampling(seed=i), max_tokens=9) for i, g in enumerate(grammars)]

        together = fakes.runner(fakes.Model([None] * 4, noise=2.0)).generate(requests())
        for index, request in enumerate(requests()):
            model = fakes.Model([None] * 4, noise=2.0)
            model.opened = index
            assert fakes.runner(model).generate([request])[0].token_ids == together[index].token_ids

    def test_free_and_idle_rows_are_the_model_s_own_logits(self, fakes):
        """Never written, never copied; the constrained row next to them is masked (B15, M2)."""
        model = fakes.Model([None, None, None], noise=1.0)
        runner = fakes.runner(model)
        requests = [
            Request(PROMPT, None, Sampling(seed=1), max_tokens=30),
            Request(PROMPT, fakes.Grammar([b"a" * 40]), Sampling(seed=2), max_tokens=30),
            Request(PROMPT, fakes.Grammar([b"{}"], armed_by=300), Sampling(seed=3), max_tokens=30),
        ]
        runner.generate(requests)
        for given, kept in zip(model.handed_out, model.copies, strict=True):
            assert given[0].tobytes() == kept[0].tobytes() and given[-1].tobytes() == kept[-1].tobytes()
        assert any(np.isneginf(given).any() for given in model.handed_out)
        assert all(any(logits is given for given in model.handed_out) for logits, _, _ in runner.arrays.sampled)

    def test_an_idle_constraint_changes_no_draw(self, fakes):
        """1,000 steps without a call: ids and logits as without the library (B15)."""

        def run(constraint):
            model = fakes.Model([None], noise=2.0)
            request = Request(PROMPT, constraint, Sampling(seed=11, top_k=40), max_tokens=1000, stop_token_ids=())
            runner = fakes.runner(model)
            runner.tokenizer.eos_token_ids = ()
            [done] = runner.generate([request])
            return done.token_ids, [logits.tobytes() for logits in model.handed_out]

        free, idle = run(None), run(fakes.Grammar([b"{}"], armed_by=9999))
        assert len(free[0]) == 1000 and free == idle

    @pytest.mark.parametrize("sampling", [Sampling(seed=4), Sampling(seed=4, temperature=0), Sampling(seed=4, top_k=1)])
    def test_one_uniform_a_step(self, fakes, sampling):
        """Greedy or not, constrained or not: step k uses the k-th uniform of the sequence's seed (M6)."""
        import random

        model = fakes.Model([b"abcdef", b"abcdef"])
        runner = fakes.runner(model)
        runner.generate([Request(PROMPT, None, sampling), Request(PROMPT, fakes.Grammar([b"abcdef"]), sampling)])
        expected = random.Random(4)
        stream = [expected.random() for _ in range(7)]
        for row in (0, 1):
            assert [u for _, r, u in runner.arrays.sampled if r == row] == stream


class TestEnds:
    def test_a_stop_string_across_tokens_is_cut_off(self, fakes):
        [done] = fakes.runner(fakes.Model([b"one. two. STOP three"])).generate(
            [Request(PROMPT, None, GREEDY, stop=["STOP", ". STAY"])]
        )
        assert done.text == "one. two. " and done.finish_reason == "stop"
        assert bytes(done.token_ids) == b"one. two. STOP"

    def test_a_stop_token_ends_the_reply_without_text(self, fakes):
        [done] = fakes.runner(fakes.Model([b"ab#cd"])).generate([Request(PROMPT, None, GREEDY, stop_token_ids=[35])])
        assert done.text == "ab" and bytes(done.token_ids) == b"ab#"

    def test_the_token_limit_leaves_an_incomplete_reply(self, fakes):
        """Cut at 5 tokens: complete is False, the partial text is kept, nothing is raised (I7)."""
        [done] = fakes.runner(fakes.Model([None])).generate(
            [Request(PROMPT, fakes.Grammar([b'{"key":1}']), GREEDY, max_tokens=5)]
        )
        assert (done.text, done.finish_reason, done.complete) == ('{"key', "length", False)

    def test_no_tokens_asked_for(self, fakes):
        [done] = fakes.runner(fakes.Model([b"a"])).generate([Request(PROMPT, None, GREEDY, max_tokens=0)])
        assert (done.token_ids, done.finish_reason) == ([], "length")
        assert fakes.runner(fakes.Model([])).generate([]) == []

    def test_the_context_is_filled_and_not_exceeded(self, fakes):
        model = fakes.Model([b"abcdefgh"], context_length=6)
        [done] = fakes.runner(model).generate([Request(PROMPT, None, GREEDY)])
        assert (done.text, done.finish_reason) == ("abcd", "length")

    @pytest.mark.parametrize("prompt", [[], [1] * 7, ""])
    def test_a_prompt_that_does_not_fit_fails_alone(self, fakes, prompt):
        model = fakes.Model([b"ab", b"cd"], context_length=6)
        done = fakes.runner(model).generate([Request(prompt, None, GREEDY), Request("hey", None, GREEDY)])
        assert done[0].finish_reason == "failed" and "1 to 6" in done[0].events[0].reason
        assert done[1].finish_reason == "stop"


class TestStreaming:
    @pytest.mark.parametrize("constrained", [False, True])
    def test_the_texts_of_the_events_sum_up(self, fakes, constrained):
        text = "né 日本 🙂 <end"
        constraint = fakes.Grammar([text.encode()]) if constrained else None
        seen = []
        [done] = fakes.runner(fakes.Model([text.encode()])).generate(
            [Request(PROMPT, constraint, GREEDY, stop=["<ende"])], seen.append
        )
        assert "".join(event.text for event in seen) == done.text == text
        assert [event.token_id for event in seen if event.kind == "token"] == done.token_ids
        assert [event.position for event in seen if event.kind == "token"] == list(range(len(done.token_ids)))
        assert all(event.text == "" or event.text.isprintable() for event in seen)
        assert seen[-1].completion is done

    def test_two_sequences_interleave(self, fakes):
        events = list(fakes.runner(fakes.Model([b"ab", b"cd"])).stream([Request(PROMPT, None, GREEDY)] * 2))
        texts = [(event.sequence, event.text) for event in events if event.text]
        assert texts == [(0, "a"), (1, "c"), (0, "b"), (1, "d")]

    def test_a_callback_that_returns_false_cancels_its_sequence(self, fakes):
        """The others go on, and the cancelled matcher works again after reset (M7)."""
        matcher = fakes.Matcher([b"abcdef"])
        requests = [Request(PROMPT, matcher, GREEDY), Request(PROMPT, fakes.Grammar([b"xyz"]), GREEDY)]
        runner = fakes.runner(fakes.Model([None] * 3))
        done = runner.generate(requests, lambda event: not (event.sequence == 0 and event.text == "c"))
        assert [(d.text, d.finish_reason, d.complete) for d in done] == [
            ("abc", "cancelled", False),
            ("xyz", "stop", True),
        ]
        matcher.reset()
        [again] = runner.generate([Request(PROMPT, matcher, GREEDY)])
        assert again.text == "abcdef"

    def test_closing_the_stream_stops_the_model(self, fakes):
        model = fakes.Model([b"abcdef"])
        stream = fakes.runner(model).stream([Request(PROMPT, None, GREEDY)])
        assert next(stream).text == "a"
        stream.close()
        assert len(model.calls) == 1

    def test_timing_adds_up(self, fakes):
        timing = Timing()
        requests = [Request(PROMPT, fakes.Grammar([b"abc"]), GREEDY)] * 2
        fakes.runner(fakes.Model([None] * 2)).generate(requests, timing=timing)
        assert (timing.tokens, timing.prompt_tokens) == (8, 6)
        assert min(timing.prefill, timing.model, timing.mask, timing.sample, timing.commit) > 0
        assert 0 < timing.constrain_share < 1 and timing.tokens_per_second > 0
        assert Timing().tokens_per_second == Timing().constrain_share == 0.0


class TestFailures:
    """Row 1 of three fails; rows 0 and 2 must come out as if nothing had happened (I1, I2, I3)."""

    def run(self, fakes, policy, **options):
        words = [b"abcd"]
        requests = [
            Request(PROMPT, fakes.Grammar(words), GREEDY),
            Request(PROMPT, fakes.Grammar(words, **options), GREEDY, on_failure=policy),
            Request(PROMPT, fakes.Grammar(words), GREEDY),
        ]
        return fakes.runner(fakes.Model([b"ABCD"] * 3)).generate(requests)

    STAGES = [
        ({"broken": True}, "creation: ValueError: cannot be made", 0),
        ({"poison": {"state": 2}}, "mask: RuntimeError: poisoned state", 2),
        ({"poison": {"mask": 2}}, "mask: RuntimeError: poisoned mask", 2),
        ({"poison": {"empty": 2}}, "mask: RuntimeError: no token is allowed here", 2),
        ({"poison": {"commit": 2}}, "commit: RuntimeError: poisoned commit", 2),
        ({"poison": {"refuse": 2}}, f"commit: RuntimeError: the matcher refuses token {ord('c')}", 2),
    ]

    @pytest.mark.parametrize(("options", "reason", "position"), STAGES)
    def test_soft_goes_on_without_the_constraint(self, fakes, options, reason, position):
        done = self.run(fakes, "soft", **options)
        assert [done[0].text, done[2].text] == ["abcd", "abcd"] and done[0].complete and done[2].complete
        [event] = [e for e in done[1].events if e.kind == "disabled"]
        assert (event.sequence, event.position, event.reason) == (1, position, reason)
        drawn = position + ("commit" in reason)  # a token drawn from the mask before its commit failed is kept
        assert done[1].text == "abcd"[:drawn] + "ABCD"[drawn:]
        assert done[1].complete is False and done[1].finish_reason == "stop"

    @pytest.mark.parametrize(("options", "reason", "position"), STAGES)
    @pytest.mark.parametrize("policy", ["stop", None])
    def test_stop_ends_the_sequence_and_keeps_its_text(self, fakes, policy, options, reason, position):
        done = self.run(fakes, policy, **options)
        assert [done[0].text, done[2].text] == ["abcd", "abcd"]
        assert (done[1].text, done[1].finish_reason, done[1].complete) == ("ab"[:position], "failed", False)
        assert ("failed", position) in kinds(done[1])

    @pytest.mark.parametrize(("options", "reason", "position"), STAGES)
    def test_raise_raises_with_the_place(self, fakes, options, reason, position):
        with pytest.raises(SequenceError) as caught:
            self.run(fakes, "raise", **options)
        assert (caught.value.sequence, caught.value.position, caught.value.reason) == (1, position, reason)
        assert isinstance(caught.value, ConstrainError) and caught.value.__cause__ is not None

    def test_a_constraint_idle_at_first_fails_soft_by_default(self, fakes):
        reply = [*b"hi", fakes.MARKER, *b"no way"]
        grammar = fakes.Grammar([b"{}"], armed_by=fakes.MARKER, poison={"mask": 3})
        [done] = fakes.runner(fakes.Model([reply])).generate([Request(PROMPT, grammar, GREEDY)])
        assert done.text == "hino way" and ("disabled", 3) in kinds(done)

    def test_two_sequences_both_report(self, fakes):
        bad = fakes.Grammar([b"abcd"], poison={"mask": 1})
        done = fakes.runner(fakes.Model([b"ABCD"] * 2)).generate([Request(PROMPT, bad, GREEDY, on_failure="soft")] * 2)
        assert [[e.sequence for e in d.events if e.kind == "disabled"] for d in done] == [[0], [1]]

    def test_logits_that_are_no_numbers_end_the_sequence(self, fakes):
        model = fakes.Model([b"ab", b"cd"])
        forward = model.forward

        def poisoned(caches, tokens):
            logits = forward(caches, tokens)
            if len(model.calls) == 2:
                logits[0, 5] = np.nan
            return logits

        model.forward = poisoned
        done = fakes.runner(model).generate([Request(PROMPT, None, GREEDY)] * 2)
        assert done[0].finish_reason == "failed" and done[0].text == "a"
        assert "nan" in done[0].events[0].reason
        assert done[1].text == "cd"


def test_the_engine_drives_the_cpu_runner(fakes):
    """The same loop with real matchers, masks and kernels: valid JSON out of noise."""
    import json

    import constrain

    tokens = [bytes([b]) for b in range(256)] + [None, None, b'"}'] + [None] * 5
    vocab = constrain.Vocabulary.from_tokens(tokens, special={"<end>": fakes.END}, eos_token_ids=[fakes.END])
    schema = {"enum": [{"a": [1, True]}, {"a": []}]}
    grammar = constrain.compile_json_schema(schema, vocab)
    requests = [Request(PROMPT, grammar if i % 2 else None, Sampling(seed=i), max_tokens=200) for i in range(4)]
    done = CpuRunner(fakes.Model([None] * 4, noise=3.0), fakes.Tokens()).generate(requests)
    for completion in done[1::2]:
        assert completion.complete and json.loads(completion.text) in schema["enum"]
    free = CpuRunner(fakes.Model([None], noise=3.0), fakes.Tokens()).generate(requests[:1])
    assert free[0].token_ids == done[0].token_ids
