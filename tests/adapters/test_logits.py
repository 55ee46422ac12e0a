"""The masked copy against its definition on Python lists."""

from __future__ import annotations

import math

import numpy as np
import pytest

from constrain.adapters._logits import allowed_columns, copy_allowed


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
