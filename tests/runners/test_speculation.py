"""Looking ahead changes nothing but the number of passes: forced tokens, drafts, and batches on four threads."""

from __future__ import annotations

import gc
import random
import threading
import weakref

import numpy as np
import pytest

import constrain
from constrain.runners import CpuRunner, Request, Speculation, Timing
from constrain.runners.speculation import PromptLookup
from constrain.sampling import Sampling

PIECES = [bytes([b]) for b in range(256)] + [b'{"', b'":', b'",', b"name", b"city", b"an", b'"}']
END, WIDTH = len(PIECES), len(PIECES) + 4
VOCABULARY = constrain.Vocabulary.from_tokens(
    [*PIECES, *[None] * (WIDTH - END)], special={"<|end|>": END}, eos_token_ids=[END]
)
SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 6}, "city": {"enum": ["Nantes", "Nancy", "Oran"]}},
    "required": ["name", "city"],
    "additionalProperties": False,
}


class Tokens:
    eos_token_ids = (END,)

    def encode(self, text):
        """Greedily the longest pieces first."""
        data, ids = text.encode(), []
        while data:
            token = max((i for i, p in enumerate(PIECES) if data.startswith(p)), key=lambda i: len(PIECES[i]))
            ids.append(token)
            data = data[len(PIECES[token]) :]
        return ids

    def token_bytes(self, token_id):
        return PIECES[token_id] if token_id < END else None


class Cache(list):
    def truncate(self, length):
        assert 0 <= length <= len(self)
        del self[length:]


class Model:
    """Logits that follow from the last tokens read, so that texts repeat themselves; notes what it is fed."""

    vocab_size, context_length = WIDTH, 400

    def __init__(self, memory=2, sharp=3.0):
        self.memory, self.sharp, self.fed = memory, sharp, []

    def new_cache(self):
        return Cache()

    def forward(self, caches, tokens, keep=None):
        rows = []
        for cache, ids, count in zip(caches, tokens, keep or [1] * len(caches), strict=True):
            assert 1 <= count <= len(ids)
            cache.extend(ids)
            assert len(cache) <= self.context_length
            for end in range(len(cache) - count + 1, len(cache) + 1):
                state = np.random.default_rng([7, *cache[max(0, end - self.memory) : end]])
                rows.append(state.normal(0, self.sharp, WIDTH))
        self.fed.append([len(ids) for ids in tokens])
        return np.array(rows, np.float32)


@pytest.fixture(scope="module")
def grammar():
    return constrain.compile_json_schema(SCHEMA, VOCABULARY, whitespace="compact")


def replies(request_of, model=Model, **options):
    timing = Timing()
    events = []
    done = CpuRunner(model(**options), Tokens()).generate(
        request_of, lambda event: events.append((event.kind, event.sequence, event.position, event.token_id)), timing
    )
    return [
        (d.token_ids, d.text, d.finish_reason, d.complete, [(e.kind, e.position) for e in d.events]) for d in done
    ], timing


SAMPLINGS = [
    Sampling(temperature=0),
    Sampling(temperature=0, repetition_penalty=1.2, frequency_penalty=0.3),
    Sampling(seed=5, temperature=0.8, top_k=20, top_p=0.9),
    Sampling(seed=6, presence_penalty=0.5),
]
AHEAD = [
    Speculation(),
    Speculation(most=0),
    Speculation(8, ngram=2, jump=False),
    Speculation(3, ngram=0),
    Speculation(1),
]


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("constrained", [True, False])
def test_the_reply_is_that_of_plain_decoding(grammar, sampling, constrained):
    """Ids, text, reasons and events; greedy and sampled, with penalties, whatever is looked ahead."""
    constraint = grammar if constrained else None
    prompt = 'Nancy {"name":"Jo","city":"Oran"} '
    plain, plain_timing = replies([Request(prompt, constraint, sampling, max_tokens=60)])
    gained = 0
    for ahead in AHEAD:
        found, timing = replies([Request(prompt, constraint, sampling, max_tokens=60, speculation=ahead)])
        assert found == plain
        assert timing.steps <= plain_timing.steps == plain_timing.tokens == timing.tokens
        gained += plain_timing.steps - timing.steps
    if constrained:
        assert gained > 0


def test_drafts_are_accepted_and_read_once(grammar):
    """A text that repeats itself: several tokens a pass, and no token is read twice."""
    model = Model(memory=1, sharp=9.0)
    timing = Timing()
    request = Request([40], None, Sampling(temperature=0), max_tokens=100, speculation=Speculation(5))
    [done] = CpuRunner(model, Tokens()).generate([request], timing=timing)
    plain = CpuRunner(Model(memory=1, sharp=9.0), Tokens()).generate(
        [Request([40], None, Sampling(temperature=0), 100)]
    )
    assert [done.token_ids] == [one.token_ids for one in plain]
    assert timing.accepted > 50 and timing.tokens_per_step > 2
    assert sum(map(sum, model.fed)) <= 1 + len(done.token_ids) + timing.drafted - timing.accepted


def test_forced_tokens_need_no_pass():
    """Where the mask has one bit: the model is asked once, for the only choice, and every event is there."""
    grammar = constrain.compile_regex("\x01{30}[ab]\x02{30}", VOCABULARY)
    plain, _ = replies([Request("x", grammar, Sampling(temperature=0))])
    found, timing = replies([Request("x", grammar, Sampling(temperature=0), speculation=Speculation(0))])
    assert found == plain and plain[0][2] == "stop" and len(plain[0][0]) == 62
    assert (timing.steps, timing.jumped, timing.tokens) == (1, 61, 62)


def test_a_limit_of_tokens_or_context_ends_as_in_plain_decoding(grammar):
    class Short(Model):
        context_length = 30

    for most, model in ((7, Model), (500, Short), (1, Model)):
        for constraint in (grammar, None):
            requests = [
                Request("Nancy Nancy Nan", constraint, Sampling(temperature=0), most, speculation=ahead)
                for ahead in (None, Speculation(6))
            ]
            [plain] = replies(requests[:1], model)[0]
            [found] = replies(requests[1:], model)[0]
            assert found == plain


def test_a_cancel_within_a_draft_ends_there():
    model = Model(memory=1, sharp=9.0)
    request = Request([40], None, Sampling(temperature=0), max_tokens=100, speculation=Speculation(8))
    [done] = CpuRunner(model, Tokens()).generate([request], lambda event: event.position < 70)
    assert done.finish_reason == "cancelled" and len(done.token_ids) == 71


def test_models_that_cannot_go_back_are_refused():
    class Plain(Model):
        def new_cache(self):
            return []

    with pytest.raises(ValueError, match="truncated"):
        CpuRunner(Plain(), Tokens()).generate([Request("x", speculation=Speculation())])
    assert CpuRunner(Plain(), Tokens()).generate([Request("x", max_tokens=2)])


@pytest.mark.parametrize("options", [{"most": -1}, {"ngram": -1}, {"least": 0}, {"ngram": 2, "least": 3}])
def test_options_out_of_range(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        Speculation(**options)


def test_lookup_finds_what_followed_the_longest_run_last():
    lookup = PromptLookup(Speculation(4, ngram=3, least=1), [1, 2, 3, 9, 2, 3, 7, 1, 2])
    assert lookup.find([], 3) == [3, 9, 2]  # after 1 2, not after the 2 before
    assert lookup.find([3], 2) == [9, 2]
    assert lookup.find([8], 2) == [] and lookup.find([3, 7], 4) == [1, 2]
    lookup.extend([3, 5])
    assert lookup.find([3], 4) == [5] and lookup.find([2, 3], 1) == [5]
    assert PromptLookup(None, [1, 1, 1]).find([], 3) == []


class Broken:
    """A matcher that fails at a step, at its mask or at its commit."""

    def __init__(self, matcher, stage, step):
        self.matcher, self.stage, self.step = matcher, stage, step

    def __getattr__(self, name):
        return getattr(self.__dict__["matcher"], name)

    def _reach(self, stage):
        if self.stage == stage and self.matcher.steps >= self.step:
            raise RuntimeError(f"broken {stage}")

    _in_engine = False

    def fill_next_token_bitmask(self, bitmask, row=0):
        self._reach("mask")
        return self.matcher.fill_next_token_bitmask(bitmask, row)

    def accept_token(self, token):
        self._reach("commit")
        return self.matcher.accept_token(token)


def test_sixty_four_sequences_on_four_threads(grammar):
    """Mixed constraints, one runner, random cancels and failures: each sequence is as alone, and nothing is left."""
    other = constrain.compile_regex("(an){3,9}[0-9]{2}", VOCABULARY)
    dice = random.Random(3)
    plans = []
    for index in range(64):
        plan = {"kind": dice.choice(["schema", "regex", "free", "broken"]), "prompt": [65 + index % 20, 40, index]}
        plan["sampling"] = Sampling(seed=index, temperature=dice.choice([0.0, 0.7, 1.0]), top_k=dice.choice([0, 30]))
        plan["ahead"] = dice.choice([None, Speculation(), Speculation(2)])
        plan["cancel"] = dice.choice([None, None, dice.randrange(1, 12)])
        plan["stage"], plan["step"], plan["policy"] = (
            dice.choice(["mask", "commit"]),
            dice.randrange(6),
            dice.choice(["soft", "stop"]),
        )
        plans.append(plan)
    matchers = []

    def request(plan):
        constraint = {"schema": grammar, "regex": other, "free": None}.get(plan["kind"])
        if plan["kind"] == "broken":
            constraint = Broken(other.matcher(), plan["stage"], plan["step"])
            matchers.append(weakref.ref(constraint.matcher))
        elif constraint is not None:
            constraint = constraint.matcher()
            matchers.append(weakref.ref(constraint))
        ahead = plan["ahead"]
        return Request(plan["prompt"], constraint, plan["sampling"], 40, on_failure=plan["policy"], speculation=ahead)

    runner = CpuRunner(Model(), Tokens())

    def run(part):
        def answer(event):
            cancel = part[event.sequence]["cancel"]
            return not (event.kind == "token" and cancel is not None and event.position >= cancel)

        return [
            (d.token_ids, d.text, d.finish_reason, d.complete)
            for d in runner.generate([request(p) for p in part], answer)
        ]

    alone = [run([plan])[0] for plan in plans]
    together = {}

    def work(thread):
        for turn in range(2):
            together[thread, turn] = run(plans[thread::4])

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for thread in range(4):
        for turn in range(2):
            assert together[thread, turn] == alone[thread::4]
    reasons = [result[2] for result in alone]
    assert {"stop", "cancelled", "failed"} <= set(reasons)
    for plan, (ids, text, reason, complete) in zip(plans, alone, strict=True):
        if plan["kind"] in ("schema", "regex") and reason == "stop":
            assert complete and (grammar if plan["kind"] == "schema" else other).accepts(text.encode()), text
            assert ids[-1] == END
    gc.collect()
    assert len(matchers) > 100 and not [one for one in matchers if one() is not None]
