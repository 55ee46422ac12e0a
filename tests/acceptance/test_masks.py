"""Masks, commits and draws: what a host may rely on at each step, through the public interface."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest

import constrain
from constrain.sampling import Sampling, choose, choose_checked, uniforms

INF = float("inf")
CHI2 = {1: 10.83, 2: 13.82, 3: 16.27, 4: 18.47}  # 0.1 % level, by degrees of freedom


def weights_of(shares):
    return np.log(np.array(shares, np.float64))


def chi_square_holds(counts, expected):
    """Whether counts follow the expected probabilities, none of them where 0 is expected."""
    n = sum(counts.values())
    if any(not expected.get(token) for token in counts):
        return False
    likely = {token: p for token, p in expected.items() if p > 0}
    chi2 = sum((counts[token] - n * p) ** 2 / (n * p) for token, p in likely.items())
    return len(likely) == 1 or chi2 < CHI2[len(likely) - 1]


# The mask comes first ------------------------------------------------------------------------------------------------


def test_penalties_never_bring_a_forbidden_token_back(kit):
    """Forbidden is minus infinity before penalties that favour what was seen, and stays so through the whole chain."""
    sampling = Sampling(temperature=3.0, top_k=50, top_p=0.99, repetition_penalty=0.2, frequency_penalty=-2.0)
    rng, noise = uniforms(3), np.random.default_rng(3)
    matcher, everything = kit.grammar.matcher(), set(range(kit.vocabulary.size))
    counts = Counter(dict.fromkeys(everything, 5))
    for _ in range(60):
        logits = noise.normal(0, 4, (1, kit.vocabulary.size)).astype(np.float32)
        bitmask = constrain.allocate_token_bitmask(1, kit.vocabulary.size)
        matcher.fill_next_token_bitmask(bitmask)
        constrain.apply_token_bitmask_inplace(logits, bitmask)
        assert matcher.accept_token(choose(logits[0], sampling, everything, counts, rng.random()))
        if matcher.is_terminated():
            matcher.reset()


def test_top_k_counts_allowed_tokens_only(kit):
    """3 of 10 tokens are allowed and top-k keeps 2: the draws follow the two best allowed ones."""
    logits = np.full((1, kit.vocabulary.size), -INF)
    logits[0, list(b"abcdefghij")] = weights_of([50, 1, 40, 2, 30, 20, 10, 5, 4, 3])
    matcher = constrain.compile_choice(["b", "d", "j"], kit.vocabulary).matcher()
    bitmask = constrain.allocate_token_bitmask(1, kit.vocabulary.size)
    matcher.fill_next_token_bitmask(bitmask)
    constrain.apply_token_bitmask_inplace(logits, bitmask)
    rng = uniforms(11)
    found = Counter(choose(logits[0], Sampling(top_k=2), set(), {}, rng.random()) for _ in range(3000))
    assert chi_square_holds(found, {ord("j"): 3 / 5, ord("d"): 2 / 5})


# Draw, check, draw again ----------------------------------------------------------------------------------------------


class Checked:
    """A constraint that allows a set of ids, and counts what it is asked."""

    def __init__(self, size, allowed):
        self.vocabulary, self.allowed = SimpleNamespace(size=size), set(allowed)
        self.checks = self.masks = 0

    def allows(self, token):
        self.checks += 1
        return token in self.allowed

    def fill_next_token_bitmask(self, bitmask, row=0):
        self.masks += 1
        bits = np.zeros(bitmask.shape[1] * 32, bool)
        bits[list(self.allowed)] = True
        bitmask[row] = np.packbits(bits, bitorder="little").view(np.int32)
        return True


SHARES = [40, 25, 15, 10, 6, 4]
ALLOWED = (1, 3, 4)


def kept(shares, sampling):
    """Ids that top-k, then top-p, then min-p keep of {id: share}, from their definitions."""
    order = sorted(shares, key=lambda i: (-shares[i], i))
    order = order[: sampling.top_k or len(order)]
    total, sofar, some = sum(shares[i] for i in order), 0.0, []
    for i in order:
        some.append(i)
        sofar += shares[i]
        if sofar >= sampling.top_p * total - 1e-12:
            break
    return [i for i in some if shares[i] >= sampling.min_p * shares[order[0]] - 1e-12]


def chain(shares, sampling):
    """{id: probability} of the whole chain on {id: share}."""
    alive = kept(shares, sampling)
    total = sum(shares[i] for i in alive)
    return {i: shares[i] / total for i in alive}


def redrawn(shares, allowed, sampling):
    """{id: probability} of drawing from the chain and again without what was refused, until a draw is allowed."""
    out = Counter()
    for token, p in chain(shares, sampling).items():
        if token in allowed:
            out[token] += p
        else:
            rest = {i: share for i, share in shares.items() if i != token}
            for other, q in redrawn(rest, allowed, sampling).items():
                out[other] += p * q
    return out


SAMPLINGS = [
    Sampling(),
    Sampling(top_k=2),
    Sampling(top_k=3),
    Sampling(top_p=0.5),
    Sampling(top_p=0.8),
    Sampling(min_p=0.5),
    Sampling(top_k=4, top_p=0.7, min_p=0.2),
]


def draws(mode, sampling, n=3000):
    constraint, rng, logits = Checked(len(SHARES), ALLOWED), uniforms(5), weights_of(SHARES)
    found = Counter(choose_checked(logits, constraint, sampling, set(), {}, rng.random(), mode=mode) for _ in range(n))
    return found, constraint


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=("free", "k2", "k3", "p.5", "p.8", "min.5", "all"))
def test_exact_redraws_have_the_masked_distribution(sampling):
    """Checking draws gives the distribution of masking first and running the whole chain after."""
    shares = {i: share for i, share in enumerate(SHARES) if i in ALLOWED}
    assert chi_square_holds(draws("exact", sampling)[0], chain(shares, sampling))


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=("free", "k2", "k3", "p.5", "p.8", "min.5", "all"))
def test_fast_redraws_have_the_documented_distribution(sampling):
    """Redraws from the same chain are exact without cuts, and else a mixture that is worked out here."""
    mixture = redrawn(dict(enumerate(SHARES)), ALLOWED, sampling)
    found, constraint = draws("fast", sampling)
    assert chi_square_holds(found, mixture)
    assert constraint.masks == 0
    if sampling == Sampling():
        assert mixture == pytest.approx(chain({i: SHARES[i] for i in ALLOWED}, sampling))


def test_the_fast_redraw_fails_the_test_that_the_exact_one_passes():
    """The chi-square test has the power to tell the two apart."""
    sampling = Sampling(top_k=2)
    assert not chi_square_holds(draws("fast", sampling)[0], chain({i: SHARES[i] for i in ALLOWED}, sampling))


def test_an_allowed_draw_needs_no_mask():
    """One check a step, and a mask only after a refusal; top-p cannot do without."""
    constraint, logits = Checked(4, {0, 2}), weights_of([97, 1, 1, 1])
    assert choose_checked(logits, constraint, Sampling(top_k=3), set(), {}, 0.5) == 0
    assert (constraint.checks, constraint.masks) == (1, 0)
    assert choose_checked(logits, constraint, Sampling(temperature=0), set(), {}, 0.5) == 0
    assert (constraint.checks, constraint.masks) == (2, 0)
    choose_checked(logits, constraint, Sampling(top_p=0.9), set(), {}, 0.5)
    assert (constraint.checks, constraint.masks) == (2, 1)


@pytest.mark.parametrize("mode", ["exact", "fast"])
def test_redraws_are_greedy_repeatable_and_bounded(mode):
    """Greedy takes the best allowed token; equal uniforms give equal ids; many refusals end in one mask."""
    logits = weights_of(np.arange(40, 0, -1.0))
    constraint = Checked(40, {37, 38})
    assert choose_checked(logits, constraint, Sampling(temperature=0), set(), {}, 0.5, mode=mode) == 37
    assert (constraint.checks, constraint.masks) == ({"exact": 1, "fast": 8}[mode], 1)
    for u in (0.0, 0.3, 1 - 2**-53):
        again = {choose_checked(logits, constraint, Sampling(), set(), {}, u, mode=mode) for _ in range(3)}
        assert len(again) == 1 and again < {37, 38}
    with pytest.raises(ValueError, match="every token is forbidden"):
        choose_checked(logits, Checked(40, ()), Sampling(top_k=3), set(), {}, 0.5, mode=mode)
    with pytest.raises(ValueError, match="mode"):
        choose_checked(logits, constraint, Sampling(), set(), {}, 0.5, mode="exakt")


@pytest.mark.parametrize("mode", ["exact", "fast"])
def test_redraws_with_a_matcher_give_valid_outputs(kit, mode):
    """The matcher takes every id that was drawn and checked; columns beyond the vocabulary are never drawn."""
    matcher, rng, noise = kit.grammar.matcher(), uniforms(8), np.random.default_rng(8)
    for _ in range(40):
        logits = noise.normal(0, 3, kit.vocabulary.size + 40)
        token = choose_checked(logits, matcher, Sampling(top_k=30), set(), {}, rng.random(), mode=mode)
        assert matcher.accept_token(token)
        if matcher.is_terminated():
            matcher.reset()


# Reads and commits ----------------------------------------------------------------------------------------------------


def walk(kit, seed, steps=25):
    """A matcher at successive states of a random output."""
    rng, matcher = random.Random(seed), kit.grammar.matcher()
    for _ in range(steps):
        yield matcher
        if matcher.is_terminated():
            return
        matcher.accept_token(rng.choice(sorted(kit.mask_of(matcher))))


@pytest.mark.parametrize("seed", range(3))
def test_a_single_check_equals_the_bit_of_the_mask(kit, seed):
    """For every id, padding and the end included, and for ids that do not exist."""
    size = kit.vocabulary.size
    for matcher in itertools.islice(walk(kit, seed), 8):
        assert {i for i in range(-2, size + 3) if matcher.allows(i)} == kit.mask_of(matcher)


def test_only_a_commit_moves_the_state(kit):
    """Masks, checks, validation and looking ahead leave it; a run of tokens is taken up to the first bad one."""
    matcher = kit.grammar.matcher()
    before = kit.mask_of(matcher)
    ids = list(kit.TEXT)
    for read in (
        lambda: kit.mask_of(matcher),
        lambda: [matcher.allows(i) for i in range(kit.vocabulary.size)],
        lambda: matcher.validate_tokens([*ids, kit.END]),
        lambda: (matcher.forced_bytes(), matcher.forced_tokens()),
        lambda: matcher.fill_draft_bitmasks(ids[:4], constrain.allocate_token_bitmask(5, kit.vocabulary.size)),
        lambda: matcher.accept_token(ord("]")),
    ):
        read()
        assert matcher.steps == 0 and kit.mask_of(matcher) == before
    assert matcher.validate_tokens([*ids, kit.END, 65]) == len(ids) + 1
    assert matcher.accept_tokens([ids[0], ids[1], ord("x"), ids[2]]) == 2
    assert matcher.steps == 2 and matcher.allows(ids[2])


# Tokens that the host injects -----------------------------------------------------------------------------------------


def is_all_ones(matcher):
    bitmask = np.zeros((2, (matcher.vocabulary.size + 31) // 32), np.int32)
    engaged = matcher.fill_next_token_bitmask(bitmask, 1)
    assert engaged == matcher.is_constraining and not bitmask[0].any()
    return bool((bitmask[1] == -1).all())


@pytest.mark.parametrize("injected", ["</think>", "]", "padding"])
def test_an_illegal_injected_token_releases_until_it_is_taken_back(kit, injected):
    """In the middle of an object: from then on all is free, and the rollback over it brings the constraint back."""
    token = {"padding": kit.vocabulary.size - 1, "]": ord("]")}.get(injected, kit.vocabulary.control_id(injected))
    matcher = kit.grammar.matcher()
    matcher.accept_tokens([*b'{"ci'])
    before = kit.mask_of(matcher)
    assert matcher.force_token(token) is False
    assert not matcher.is_constraining and is_all_ones(matcher)
    assert matcher.accept_tokens([ord("]"), kit.TOOL, *b"x\x01"]) == 4 and matcher.allows(ord("]"))
    batch = np.zeros((2, (kit.vocabulary.size + 31) // 32), np.int32)
    constrain.fill_next_token_bitmasks([matcher, kit.grammar.matcher()], batch)
    assert (batch[0] == -1).all() and not (batch[1] == -1).all()
    copy = matcher.fork()
    matcher.rollback(4)
    assert is_all_ones(matcher)
    matcher.rollback(1)
    assert matcher.is_constraining and kit.mask_of(matcher) == before
    assert not copy.is_constraining
    copy.reset()
    assert copy.is_constraining and kit.mask_of(copy) == kit.mask_of(kit.grammar.matcher())


def test_an_injected_stop_token_ends_the_output(kit):
    """Wherever it comes, until it is taken back."""
    matcher = kit.grammar.matcher()
    matcher.accept_tokens([*b'{"ci'])
    before = kit.mask_of(matcher)
    assert matcher.force_token(kit.END) is False and matcher.is_terminated()
    assert not matcher.accept_token(ord("t")) and not matcher.force_token(ord("t"))
    matcher.rollback(1)
    assert not matcher.is_terminated() and kit.mask_of(matcher) == before


def test_a_legal_injected_token_keeps_the_constraint(kit):
    """It counts as any other step."""
    matcher, other = kit.grammar.matcher(), kit.grammar.matcher()
    for token in b'{"city":"a':
        assert matcher.force_token(token) is True and other.accept_token(token)
    assert matcher.is_constraining and kit.mask_of(matcher) == kit.mask_of(other)
    matcher.rollback(3)
    assert matcher.steps == other.steps - 3 and matcher.allows(ord(":"))
    assert other.accept_tokens([*b'"}', kit.END]) == 3 and other.force_token(kit.THINK) is False


# Speculation ----------------------------------------------------------------------------------------------------------


def preferences(kit, history):
    """A scripted model: one row of logits for a history."""
    return np.random.default_rng([7, *history]).normal(0, 3, kit.vocabulary.size)


def best(kit, matcher, history, packed=None):
    logits = preferences(kit, history)[None]
    bitmask = constrain.allocate_token_bitmask(1, kit.vocabulary.size) if packed is None else packed[None]
    if packed is None:
        matcher.fill_next_token_bitmask(bitmask)
    constrain.apply_token_bitmask_inplace(logits, bitmask)
    return int(logits[0].argmax())


@pytest.mark.parametrize("seed", range(3))
def test_greedy_speculation_changes_nothing(kit, seed):
    """Drafts of 4, good, bad and illegal, with a mask per position and a rollback, end in the plain loop's output."""
    grammar = constrain.compile_json_schema({"type": "array", "items": kit.SCHEMA, "minItems": 3}, kit.vocabulary)
    plain, matcher, start = [], grammar.matcher(), [seed]
    while len(plain) < 60 and not matcher.is_terminated():
        plain.append(best(kit, matcher, start + plain))
        assert matcher.accept_token(plain[-1])

    rng, reply, matcher = random.Random(seed), [], grammar.matcher()
    bitmask, kinds = constrain.allocate_token_bitmask(5, kit.vocabulary.size), Counter()
    while len(reply) < len(plain):
        draft = plain[len(reply) : len(reply) + 4]
        if rng.random() < 0.6:  # the draft model is wrong somewhere, perhaps in a way that is not allowed
            draft[rng.randrange(len(draft))] = rng.choice([ord(b) for b in '"a1,}]'] + [kit.END, kit.THINK])
        rows = matcher.fill_draft_bitmasks(draft, bitmask)
        taken = matcher.accept_tokens(draft)
        assert rows == taken + 1 or (rows == taken and matcher.is_terminated())
        checked = [best(kit, matcher, start + reply + draft[:i], bitmask[i]) for i in range(rows)]
        agreed = next((i for i, (d, c) in enumerate(zip(draft, checked, strict=False)) if d != c), min(rows, taken))
        matcher.rollback(taken - agreed)
        reply += draft[:agreed]
        kinds[agreed] += 1
        if not matcher.is_terminated():
            reply.append(checked[agreed])
            assert matcher.accept_token(reply[-1])
    assert reply[: len(plain)] == plain
    assert len(kinds) > 2


def test_forced_continuations_are_reported_and_not_taken(kit):
    """After `{"city` only `":"` can follow, and every tokenization of it stays allowed.

    Letters of keys and strings are not forced: JSON can spell them as escapes too.
    """
    matcher = constrain.compile_json_schema(kit.SCHEMA, kit.vocabulary, whitespace="compact").matcher()
    matcher.accept_tokens([*b'{"city'])
    assert matcher.forced_bytes() == b'":"'
    assert {kit.id_of(b'"'), kit.id_of(b'":'), kit.id_of(b'":"')} == kit.mask_of(matcher)
    assert matcher.forced_tokens() == []
    matcher.rollback(2)
    assert matcher.forced_bytes() == b"" and {kit.id_of(b"t"), kit.id_of(b"\\")} == kit.mask_of(matcher)
    fixed = constrain.compile_regex("xyz", kit.vocabulary).matcher()
    assert fixed.forced_bytes() == b"xyz" and fixed.forced_tokens() == [*b"xyz", kit.END]
    assert fixed.steps == 0


# What is never allowed ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_null_bytes_control_tokens_and_padding_are_never_allowed(kit, seed):
    """In no state of a constrained output, free strings and free text included; the end only where it is complete."""
    banned = {0, *(256 + i for i, piece in enumerate(kit.PIECES) if b"\0" in piece)}
    assert len(banned) == 4
    banned |= {kit.THINK, kit.TOOL, *range(kit.END + 1, kit.vocabulary.size)}
    grammars = [kit.grammar, constrain.compile_json_schema({}, kit.vocabulary)]
    grammars.append(constrain.compile_regex(r"[\s\S]*", kit.vocabulary))
    for grammar in grammars:
        for matcher in walk(SimpleNamespace(**{**vars(kit), "grammar": grammar}), seed, 12):
            allowed = kit.mask_of(matcher)
            assert not allowed & banned
            assert (kit.END in allowed) == matcher.is_accepting()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_forbidden_is_exactly_minus_infinity(kit, dtype):
    """The softmax sums to 1, is exactly 0 where forbidden, and allowed logits keep their bits."""
    matcher = kit.grammar.matcher()
    matcher.accept_tokens([*b'{"city":"'])
    allowed = sorted(kit.mask_of(matcher))
    bitmask = constrain.allocate_token_bitmask(1, kit.vocabulary.size)
    matcher.fill_next_token_bitmask(bitmask)
    logits = np.random.default_rng(0).normal(0, 5, (1, kit.vocabulary.size)).astype(dtype)
    before = logits.copy()
    constrain.apply_token_bitmask_inplace(logits, bitmask)
    assert logits.dtype == dtype and np.array_equal(logits[0, allowed], before[0, allowed])
    weights = np.exp(logits[0] - logits[0].max(), dtype=np.float64)
    shares = weights / weights.sum()
    assert shares.sum() == pytest.approx(1) and set(np.flatnonzero(shares)) == set(allowed)
    assert np.isneginf(np.delete(logits[0], allowed)).all()


# Sequences and tokenizations ------------------------------------------------------------------------------------------


def test_interleaved_sequences_equal_sequences_alone(kit):
    """Matchers of one grammar and of several share tables, and nothing that a mask can show."""
    grammars = [kit.grammar, constrain.compile_regex("(ab|c)*[0-9]{2}", kit.vocabulary), kit.grammar]

    def run(matcher, seed):
        rng = random.Random(seed)
        for _ in range(15):
            if matcher.is_terminated():
                return
            allowed = kit.mask_of(matcher)
            yield allowed
            matcher.accept_token(rng.choice(sorted(allowed)))

    alone = [list(run(grammar.matcher(), seed)) for seed, grammar in enumerate(grammars)]
    mixed = list(itertools.zip_longest(*(run(grammar.matcher(), seed) for seed, grammar in enumerate(grammars))))
    assert [[mask for mask in column if mask is not None] for column in zip(*mixed, strict=True)] == alone


def test_any_tokenization_of_a_text_is_equal(kit):
    """The state depends on bytes alone: every split of a text is accepted and leaves the same mask behind."""
    for end in (5, 10, 13, len(kit.TEXT)):
        reference = kit.grammar.matcher()
        assert reference.accept_bytes(kit.TEXT[:end])
        expected = kit.mask_of(reference)
        for split in kit.splits(kit.vocabulary, kit.TEXT[:end], random.Random(end), 12):
            matcher = kit.grammar.matcher()
            assert matcher.accept_tokens(split) == len(split)
            assert kit.mask_of(matcher) == expected
