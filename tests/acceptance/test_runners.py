"""The loop around a matcher, with the engine's own masks: fairness to free rows, and the plain protocol."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

import constrain
from constrain.runners import CpuRunner, Request
from constrain.sampling import Sampling


def test_rows_of_one_bitmask_are_independent(kit):
    """Only the rows of the matchers are written, and only the logits of the named rows."""
    bitmask = constrain.allocate_token_bitmask(4, kit.vocabulary.size)
    matchers = [kit.grammar.matcher(), constrain.compile_choice(["ab"], kit.vocabulary).matcher()]
    constrain.fill_next_token_bitmasks(matchers, bitmask, rows=[3, 1], threads=2)
    assert (bitmask[[0, 2]] == -1).all()
    logits = np.random.default_rng(0).normal(0, 1, (4, kit.vocabulary.size)).astype(np.float32)
    before = logits.copy()
    constrain.apply_token_bitmask_inplace(logits, bitmask, indices=[1, 3])
    assert logits[[0, 2]].tobytes() == before[[0, 2]].tobytes()
    assert [set(np.flatnonzero(np.isfinite(logits[row]))) for row in (3, 1)] == [kit.mask_of(m) for m in matchers]


def test_a_row_that_is_not_restricted_keeps_the_host_s_own_path(kit, scripted):
    """`is_constraining` says so by row; a runner then hands the model's own logits to the sampler, bit for bit."""
    released, engaged = kit.grammar.matcher(), kit.grammar.matcher()
    assert released.is_constraining
    released.force_token(kit.THINK)
    assert (released.is_constraining, engaged.is_constraining) == (False, True)
    model = scripted([b"anything"] * 3, noise=1.0)
    requests = [Request([1], constraint, Sampling(seed=4)) for constraint in (released, engaged, None)]
    done = CpuRunner(model, scripted.tokens).generate(requests)
    free = CpuRunner(scripted([b"anything"], noise=1.0), scripted.tokens).generate(
        [Request([1], None, Sampling(seed=4))]
    )
    assert done[0].token_ids == free[0].token_ids and done[0].text == "anything"
    assert [event.kind for event in done[0].events] == ["finished"]
    for given, kept in zip(model.handed_out[:9], model.copies, strict=False):
        assert given[0].tobytes() == kept[0].tobytes()
    assert np.isneginf(model.handed_out[0][1]).any()


def test_the_runner_equals_a_loop_in_plain_python(kit, scripted):
    """Same seed, same ids: mask bits read one by one, the chain on lists, one uniform a step, ties to the lowest id."""
    for sampling in (
        Sampling(seed=9, temperature=1.5, top_k=7, repetition_penalty=1.2),
        Sampling(temperature=0, seed=9),
    ):
        model = scripted([None], noise=2.0, rounding=0)  # rounded logits have many ties
        request = Request([3, 4], kit.grammar, sampling, max_tokens=25)
        [done] = CpuRunner(model, scripted.tokens).generate([request])
        assert done.token_ids == plain_loop(kit, scripted([None], noise=2.0, rounding=0), [3, 4], sampling, 25)


def plain_loop(kit, model, prompt, sampling, most):
    rng, matcher, cache, pending, reply = (
        random.Random(sampling.seed),
        kit.grammar.matcher(),
        model.new_cache(),
        prompt,
        [],
    )
    while len(reply) < most:
        x = [float(v) for v in model.forward([cache], [pending])[0]]
        u = rng.random()
        scores = {}
        for token in range(len(x)):
            if matcher.allows(token):
                value = x[token]
                if token in prompt or token in reply:
                    value = value / sampling.repetition_penalty if value > 0 else value * sampling.repetition_penalty
                scores[token] = value
        order = sorted(scores, key=lambda i: (-scores[i], i))
        token = order[0]
        if sampling.temperature:
            alive = sorted(order[: sampling.top_k])
            weights = [float(np.exp((scores[i] - scores[order[0]]) / sampling.temperature)) for i in alive]
            mass = list(np.cumsum(weights))
            token = alive[next(k for k, m in enumerate(mass) if m > u * mass[-1])]
        reply.append(token)
        assert matcher.accept_token(token)
        if matcher.is_terminated():
            break
        pending = [token]
    return reply


def test_a_cancelled_matcher_serves_again_after_reset(kit, scripted):
    """A callback that returns False stops its sequence; the others finish."""
    matcher = constrain.compile_choice(["abcdef"], kit.vocabulary).matcher()
    requests = [Request([1], matcher, Sampling(temperature=0)), Request([1], kit.grammar, Sampling(temperature=0))]
    done = CpuRunner(scripted([b"abcdef", kit.TEXT]), scripted.tokens).generate(
        requests, lambda event: not (event.sequence == 0 and event.text == "c")
    )
    assert [(d.finish_reason, d.complete) for d in done] == [("cancelled", False), ("stop", True)]
    assert done[0].text == "abc" and done[1].text.encode() == kit.TEXT
    matcher.reset()
    [again] = CpuRunner(scripted([b"abcdef"]), scripted.tokens).generate(requests[:1])
    assert (again.text, again.complete) == ("abcdef", True)


class Tensor:
    """What a host's CPU tensor offers of numpy's interface: `numpy()`, a view of the same memory."""

    def __init__(self, array):
        self.array = array

    def numpy(self):
        return self.array


def test_a_host_s_own_buffers_will_do(kit):
    """Tensors by `numpy()`, rows of a larger batch buffer, strided logits; a wrong one is refused with what to do."""
    words = (kit.vocabulary.size + 31) // 32
    expected = sorted(kit.mask_of(kit.grammar.matcher()))
    pool = np.zeros((8, words + 3), np.int32)
    tensor = Tensor(np.zeros((2, words), np.int32))
    kit.grammar.matcher().fill_next_token_bitmask(pool, 5)
    kit.grammar.matcher().fill_next_token_bitmask(tensor, 1)
    for row in (pool[5], tensor.array[1]):
        assert np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist() == expected
    logits = np.zeros((8, 2 * kit.vocabulary.size))[:, ::2]
    constrain.apply_token_bitmask_inplace(logits, pool, indices=[5])
    assert Counter(np.isneginf(logits).sum(axis=1).tolist()) == {0: 7, kit.vocabulary.size - len(expected): 1}
    for wrong in (np.zeros((1, words), np.int64), np.zeros(words, np.int32), np.zeros((words, 2), np.int32).T):
        with pytest.raises(ValueError, match="allocate_token_bitmask"):
            kit.grammar.matcher().fill_next_token_bitmask(wrong)
