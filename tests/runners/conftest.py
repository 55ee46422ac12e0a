"""Fakes for the loop: a byte vocabulary, a scripted model, and matchers that need no engine.

Vocabulary: ids 0..255 are the bytes, 256 ends a reply, 257 is a marker without text, 258 is the two bytes `"}`; the
logits are 264 wide, so ids 259..263 stand for nothing.
"""

from __future__ import annotations

import math
import random
from types import SimpleNamespace

import numpy as np
import pytest

from constrain.runners import NumpyArrays, Runner
from constrain.runners.arrays import NumpyWorkspace

END, MARKER, PAIR, WIDTH = 256, 257, 258, 264


class FakeTokens:
    eos_token_ids = (END,)

    def encode(self, text):
        return list(text.encode())

    def token_bytes(self, token_id):
        if token_id < 256:
            return bytes([token_id])
        return b'"}' if token_id == PAIR else None


class ScriptedModel:
    """Prefers reply[k] as the k-th token of a sequence, ids beyond the script being END; noise below the preference.

    Keeps the logits it handed out, and copies of them, for tests of what the loop does to them.
    """

    vocab_size = WIDTH

    def __init__(self, replies, noise=0.0, context_length=10_000):
        self.replies, self.noise, self.context_length = replies, noise, context_length
        self.handed_out, self.copies, self.calls, self.opened = [], [], [], 0

    def new_cache(self):
        cache = SimpleNamespace(index=self.opened, ids=[], steps=0)
        self.opened += 1
        return cache

    def forward(self, caches, tokens):
        logits = np.zeros((len(caches), WIDTH), np.float32)
        for row, (cache, ids) in enumerate(zip(caches, tokens, strict=True)):
            assert len(ids) > 0
            cache.ids += ids
            assert len(cache.ids) <= self.context_length
            reply = self.replies[cache.index]
            if self.noise:
                logits[row] = np.random.default_rng([cache.index, *cache.ids]).normal(0, self.noise, WIDTH)
            if reply is not None:
                logits[row, reply[cache.steps] if cache.steps < len(reply) else END] += 20
            cache.steps += 1
        self.calls.append([len(ids) for ids in tokens])
        self.handed_out.append(logits)
        self.copies.append(logits.copy())
        return logits


class LiteralMatcher:
    """Allows the given byte strings, then END; with `armed_by`, only between that token and the end of a string."""

    def __init__(self, words, armed_by=None, poison=None):
        self.words, self.armed_by, self.poison = words, armed_by, poison or {}
        self.reset()

    def reset(self):
        self.done, self.steps, self.armed, self.terminated = b"", 0, self.armed_by is None, False

    def _check(self, stage):
        if self.poison.get(stage) == self.steps:
            raise RuntimeError(f"poisoned {stage}")

    def _allowed(self):
        rests = [word[len(self.done) :] for word in self.words if word.startswith(self.done)]
        for token in range(PAIR + 1):
            data = FakeTokens().token_bytes(token)
            if data is not None and any(rest.startswith(data) for rest in rests):
                yield token
        if self.armed_by is None and self.done in self.words:
            yield END

    @property
    def is_constraining(self):
        self._check("state")
        return self.armed

    def is_accepting(self):
        return not self.armed or self.done in self.words

    def is_terminated(self):
        return self.terminated

    def fill_next_token_bitmask(self, bitmask, row):
        self._check("mask")
        bits = np.zeros(bitmask.shape[1] * 32, bool)
        if "empty" not in self.poison or self.poison["empty"] != self.steps:
            bits[list(self._allowed())] = True
        bitmask[row] = np.packbits(bits, bitorder="little").view(np.int32)
        return True

    def accept_token(self, token):
        self._check("commit")
        if self.poison.get("refuse") == self.steps:
            return False
        self.steps += 1
        if not self.armed:
            self.armed = token == self.armed_by
            return True
        if token not in self._allowed():
            return False
        if token == END:
            self.terminated = True
        else:
            self.done += FakeTokens().token_bytes(token)
            if self.armed_by is not None and self.done in self.words:
                self.armed, self.done = False, b""
        return True


class LiteralGrammar:
    def __init__(self, words, **options):
        self.words, self.options = words, options
        self.stop_token_ids = None

    def matcher(self, stop_token_ids=None):
        self.stop_token_ids = stop_token_ids
        if self.options.get("broken"):
            raise ValueError("cannot be made")
        return LiteralMatcher(self.words, **self.options)


class PlainArrays(NumpyArrays):
    """NumpyArrays without the engine; counts the calls of its workspaces and keeps what reached the sampler."""

    def __init__(self):
        self.fills, self.applied, self.sampled = [], [], []

    def workspace(self, rows, vocab_size):
        return PlainWorkspace(self, rows, vocab_size)


class PlainWorkspace(NumpyWorkspace):
    def __init__(self, arrays, rows, vocab_size):
        super().__init__(rows, vocab_size)
        self.arrays, self.mask = arrays, np.full((rows, -(-vocab_size // 32)), -1, np.int32)

    def bitmask(self):
        return self.mask

    def fill(self, matchers, bitmask, rows):
        self.arrays.fills.append(list(rows))
        for matcher, row in zip(matchers, rows, strict=True):
            matcher.fill_next_token_bitmask(bitmask, row)

    def apply(self, logits, bitmask, rows):
        self.arrays.applied.append(list(rows))
        bits = np.unpackbits(bitmask.view(np.uint8), axis=1, bitorder="little")[:, : logits.shape[1]].astype(bool)
        for row in rows:
            logits[row, ~bits[row]] = -np.inf
        return logits

    def choose(self, logits, draws):
        self.arrays.sampled += [(logits, draw.row, draw.u) for draw in draws]
        return super().choose(logits, draws)


def naive_choose(logits, sampling, seen, counts, u):
    """The whole sampling chain on a list of floats, as one would write it from its description."""
    x = [float(v) for v in logits]
    for i in seen:
        x[i] = x[i] / sampling.repetition_penalty if x[i] > 0 else x[i] * sampling.repetition_penalty
    for i, n in counts.items():
        x[i] -= sampling.presence_penalty + sampling.frequency_penalty * n
    if sampling.temperature == 0:
        return max(range(len(x)), key=lambda i: (x[i], -i))
    best = max(x)
    x = [(v - best) / sampling.temperature for v in x]
    order = sorted((i for i in range(len(x)) if x[i] > -math.inf), key=lambda i: (-x[i], i))
    if sampling.top_k:
        order = order[: sampling.top_k]
    if sampling.top_p < 1:
        total = 0.0
        for i in order:
            total += math.exp(x[i])
        kept, mass = [], 0.0
        for i in order:
            kept.append(i)
            mass += math.exp(x[i])
            if mass >= sampling.top_p * total:
                break
        order = kept
    order = [i for i in order if math.exp(x[i]) >= sampling.min_p]
    total = 0.0
    for i in sorted(order):
        total += math.exp(x[i])
    mass = 0.0
    for i in sorted(order):
        mass += math.exp(x[i])
        if mass > u * total:
            return i
    raise AssertionError("nothing left to draw")


def naive_generate(model, prompt, matcher, sampling, max_tokens):
    """One sequence, token by token, with the naive chain; the ids of the reply."""
    rng = random.Random(sampling.seed)
    cache, pending, reply = model.new_cache(), list(prompt), []
    while len(reply) < max_tokens:
        logits = model.forward([cache], [pending])[0]
        if matcher is not None:
            allowed = set(matcher._allowed())
            logits = [v if i in allowed else -math.inf for i, v in enumerate(logits)]
        counts = {i: reply.count(i) for i in reply}
        token = naive_choose(logits, sampling, set(prompt) | set(reply), counts, rng.random())
        if matcher is not None:
            assert matcher.accept_token(token)
        reply.append(token)
        if token == END:
            break
        pending = [token]
    return reply


@pytest.fixture(scope="session")
def fakes():
    return SimpleNamespace(
        END=END,
        MARKER=MARKER,
        PAIR=PAIR,
        WIDTH=WIDTH,
        Tokens=FakeTokens,
        Model=ScriptedModel,
        Matcher=LiteralMatcher,
        Grammar=LiteralGrammar,
        Arrays=PlainArrays,
        choose=naive_choose,
        generate=naive_generate,
        runner=lambda model: Runner(model, FakeTokens(), PlainArrays()),
    )
