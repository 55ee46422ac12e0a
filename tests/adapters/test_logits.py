"""The masked copy against its definition on Python lists."""

from __future__ import annotations

import math

import numpy as np
import pytest

from constrain.adapters._logits import allowed_columns, copy_allowed, masked


@pytest.mark.parametrize(("width", "words"), [(64, 2), (70, 3), (100, 3), (130, 3), (20, 2)])
def test_forbidden_scores_become_minus_infinity(width, words):
    rng = np.random.default_rng(width)
    scores = rng.normal(size=(5, width)).astype(np.float32)
    bitmask = rng.integers(-(2**31), 2**31, (3, words)).astype(np.int32)
    bitmask[1] = 0
    bitmask[2] = -1
    slots = np.array([0, -1, 1, 2, 0], np.int32)
    scores[4] = -np.inf
    before, left = scores.tolist(), np.zeros(5, np.bool_)
    out = np.full_like(scores, 7)
    copy_allowed(scores, bitmask, slots, out, left)
    assert scores.tolist() == before
    for row, slot in enumerate(slots.tolist()):
        for column in range(width):
            word = int(bitmask[slot, column // 32]) if column // 32 < words else 0
            keep = slot < 0 or (word >> (column % 32)) & 1
            assert out[row, column] == (before[row][column] if keep else -math.inf)
        assert left[row] == (slot < 0 or max(out[row]) > -math.inf)
    expected = [c for c in range(width) if c // 32 < words and (int(bitmask[0, c // 32]) >> (c % 32)) & 1]
    assert allowed_columns(bitmask[0], width).tolist() == expected


def test_results_that_somebody_holds_are_never_written_again():
    rng = np.random.default_rng(1)
    bitmask, slots = np.full((1, 2), -1, np.int32), np.zeros(1, np.int32)
    held, seen = [], set()
    for step in range(8):
        scores = rng.normal(size=(1, 64)).astype(np.float32)
        out, _ = masked(scores, bitmask, slots)
        seen.add(out.ctypes.data)
        assert out.tolist() == scores.tolist()
        held.append((out[0, 3:5] if step % 2 else out, scores))
    for out, scores in held:
        assert out.tolist() in (scores.tolist(), scores[0, 3:5].tolist())
    held.clear()
    addresses = {masked(scores, bitmask, slots)[0].ctypes.data for _ in range(8)}
    assert len(seen) == 8 and len(addresses) < 8
