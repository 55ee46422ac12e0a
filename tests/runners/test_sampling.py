"""The sampling chain: against a naive chain, against the distributions it must have, and its edge cases."""

from __future__ import annotations

import math
import pickle
from collections import Counter

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from constrain.sampling import (
    Sampling,
    apply_min_p,
    apply_occurrence_penalties,
    apply_repetition_penalty,
    apply_temperature,
    apply_top_k,
    apply_top_p,
    choose,
    distribution,
    draw,
    greedy,
    uniforms,
)

INF = math.inf

finite = st.floats(-30, 30, width=32)
rows = st.lists(st.one_of(finite, st.sampled_from([0.0, 1.0, -INF])), min_size=1, max_size=12)
samplings = st.builds(
    Sampling,
    temperature=st.sampled_from([0.0, 0.1, 0.7, 1.0, 1.3, 5.0]),
    top_k=st.integers(0, 5),
    top_p=st.sampled_from([0.05, 0.3, 0.5, 0.9, 1.0]),
    min_p=st.sampled_from([0.0, 0.05, 0.5, 1.0]),
    repetition_penalty=st.sampled_from([0.5, 1.0, 1.2, 5.0]),
    presence_penalty=st.sampled_from([-2.0, 0.0, 0.5]),
    frequency_penalty=st.sampled_from([-2.0, 0.0, 0.7]),
)
draws = st.floats(0, 1, exclude_max=True)


@given(rows, samplings, st.data(), draws)
def test_the_chain_equals_the_naive_chain(fakes, row, sampling, data, u):
    assume(max(row) > -INF)
    ids = st.integers(0, len(row) - 1)
    reply = data.draw(st.lists(ids, max_size=6))
    seen, counts = set(reply) | data.draw(st.sets(ids)), Counter(reply)
    logits = np.array(row, np.float32)
    assert choose(logits, sampling, seen, counts, u) == fakes.choose(logits, sampling, seen, counts, u)


@given(rows, samplings, st.data(), draws, st.sampled_from([np.float16, np.float32, np.float64]))
def test_a_forbidden_token_is_never_chosen(row, sampling, data, u, dtype):
    """Whatever the penalties: they may make a token likelier, but not one that is forbidden (H1, H10)."""
    assume(max(row) > -INF)
    ids = st.integers(0, len(row) - 1)
    reply = data.draw(st.lists(ids, max_size=6))
    logits = np.array(row, dtype)
    before = logits.copy()
    assert row[choose(logits, sampling, set(reply), Counter(reply), u)] > -INF
    assert np.array_equal(logits, before)


@pytest.mark.parametrize(
    ("sampling", "expected"),
    [
        # logits are log of 4, 3, 2, 1 for the allowed ids 1, 3, 4, 6; the forbidden ones would be likelier
        (Sampling(), {1: 0.4, 3: 0.3, 4: 0.2, 6: 0.1}),
        (Sampling(top_k=2), {1: 4 / 7, 3: 3 / 7}),
        (Sampling(top_p=0.5), {1: 4 / 7, 3: 3 / 7}),
        (Sampling(top_p=0.75), {1: 4 / 9, 3: 3 / 9, 4: 2 / 9}),
        (Sampling(top_p=0.3), {1: 1.0}),
        (Sampling(min_p=0.5), {1: 4 / 9, 3: 3 / 9, 4: 2 / 9}),
        (Sampling(top_k=3, top_p=0.6), {1: 4 / 7, 3: 3 / 7}),  # top-p sees what top-k left: 4/9 + 3/9 reach 0.6
        (Sampling(temperature=0.5), {1: 16 / 30, 3: 9 / 30, 4: 4 / 30, 6: 1 / 30}),
        (Sampling(temperature=0.5, top_p=0.8), {1: 16 / 25, 3: 9 / 25}),
    ],
)
def test_draws_follow_the_masked_distribution(sampling, expected):
    """Chi-square of 4,000 draws against the distribution worked out by hand (H2), 0.1 % level."""
    logits = np.full(8, 5.0)
    logits[[1, 3, 4, 6]] = np.log([4.0, 3.0, 2.0, 1.0])
    logits[[0, 2, 5, 7]] = -INF
    rng, n = uniforms(7), 4000
    found = Counter(choose(logits, sampling, set(), {}, rng.random()) for _ in range(n))
    assert set(found) <= set(expected)
    chi2 = sum((found[i] - n * p) ** 2 / (n * p) for i, p in expected.items())
    assert chi2 < {1: 1e-9, 2: 10.83, 3: 13.82, 4: 16.27}[len(expected)]


def test_the_draw_is_the_inverse_of_the_cumulative_distribution():
    logits = np.log([0.25, 0.5, 0.25])
    assert [draw(logits, u) for u in (0.0, 0.2499, 0.2501, 0.7499, 0.7501, 1 - 2**-53)] == [0, 0, 1, 1, 2, 2]


def test_the_last_uniform_never_selects_a_token_without_weight():
    logits = np.array([-INF, 0.0, 0.1, 0.2, -INF, -INF])
    assert draw(logits, 1 - 2**-53) == 3
    assert draw(logits, 0.0) == 1


def test_ties_go_to_the_lowest_id():
    equal = np.array([-1.0, 2.0, 2.0, 2.0])
    assert greedy(equal) == 1
    assert apply_top_k(equal, 2).tolist() == [-INF, 2.0, 2.0, -INF]
    assert apply_top_p(equal, 0.3).tolist() == [-INF, 2.0, -INF, -INF]


@pytest.mark.parametrize("k", [0, 4, 9])
def test_a_top_k_that_keeps_everything_changes_nothing(k):
    logits = np.array([0.5, -INF, 0.25, 3.0, 1.0])
    assert apply_top_k(logits, k).tolist() == logits.tolist()


def test_repetition_divides_positive_logits_and_multiplies_the_others():
    out = apply_repetition_penalty(np.array([2.0, -2.0, -INF, 2.0]), {0, 1, 2}, 4.0)
    assert out.tolist() == [0.5, -8.0, -INF, 2.0]


def test_occurrence_penalties_count_once_and_each_time():
    out = apply_occurrence_penalties(np.array([1.0, 1.0, -INF]), {1: 3, 2: 1}, 0.5, 0.25)
    assert out.tolist() == [1.0, 1.0 - 0.5 - 0.75, -INF]


def test_min_p_is_a_share_of_the_best_probability():
    assert apply_min_p(np.log([0.5, 0.2, 0.3]), 0.5).tolist() == [math.log(0.5), -INF, math.log(0.3)]


@pytest.mark.parametrize("temperature", [1e-300, 1e-5, 1e5, 1e300])
def test_extreme_temperatures_stay_finite_where_it_matters(temperature):
    out = apply_temperature(np.array([80.0, -80.0, -INF]), temperature)
    assert out[0] == 0.0 and out[2] == -INF and not np.isnan(out).any()


def test_a_distribution_sums_to_one_and_is_zero_where_forbidden():
    p = distribution(np.array([3.0, -INF, 1.0], np.float16))
    assert p.sum() == pytest.approx(1, abs=1e-12) and p[1] == 0.0
    assert p[0] / p[2] == pytest.approx(math.e**2)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("row", [[-INF, -INF], [math.nan, 1.0], [INF, 1.0]])
def test_a_row_with_nothing_to_draw_from_is_an_error(row, temperature):
    with pytest.raises(ValueError, match="nothing to draw from"):
        choose(np.array(row), Sampling(temperature=temperature), set(), {}, 0.5)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("temperature", -0.1),
        ("temperature", INF),
        ("top_k", -1),
        ("top_p", 0.0),
        ("top_p", 1.5),
        ("min_p", -0.5),
        ("repetition_penalty", 0.0),
        ("presence_penalty", math.nan),
        ("frequency_penalty", INF),
    ],
)
def test_parameters_out_of_range_are_named(field, value):
    with pytest.raises(ValueError, match=field):
        Sampling(**{field: value})


def test_uniforms_are_the_documented_stream():
    """The first numbers of Python's generator for seed 1, as its documentation promises to keep them."""
    rng = uniforms(1)
    assert [round(rng.random(), 6) for _ in range(3)] == [0.134364, 0.847434, 0.763775]
    assert pickle.loads(pickle.dumps(Sampling(seed=3))) == Sampling(seed=3)
