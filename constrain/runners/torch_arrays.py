"""`Arrays` for logits that are torch tensors, on any device of torch, by torch's own operations.

For machines with torch but without numba's CUDA target. Masks are unpacked by several operations where `CudaArrays` has
one kernel, and a row is sorted for top-k and top-p; the rules are those of `constrain.sampling`, in float64. As there,
two pinned bitmasks are used in turn, and the host waits once a step.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from ..sampling import Sampling
from .arrays import Bitmask, Draw, HostMasks

__all__ = ["TorchArrays", "TorchWorkspace"]

_NOT_A_NUMBER, _FORBIDDEN, _INFINITE = -1, -2, -3
_FAULTS = {
    _NOT_A_NUMBER: "the greatest logit is nan",
    _FORBIDDEN: "every token is forbidden",
    _INFINITE: "the greatest logit is inf",
}


class TorchArrays:
    """device: where the logits are, as torch names it."""

    def __init__(self, device: str | torch.device = "cuda") -> None:
        self.device = torch.device(device)

    def workspace(self, rows: int, vocab_size: int) -> TorchWorkspace:
        return TorchWorkspace(rows, vocab_size, self.device)


class TorchWorkspace(HostMasks):
    """`Workspace` on a device of torch."""

    def __init__(self, rows: int, vocab_size: int, device: torch.device) -> None:
        self._shape = (rows, (vocab_size + 31) // 32)
        self._device, self._pinned = device, device.type == "cuda"
        self._masks: list[tuple[torch.Tensor, Bitmask, torch.Tensor]] = []
        self._sent: list[Any] = [None, None]
        self._turn = 0

    def bitmask(self) -> Bitmask:
        if not self._masks:
            for _ in range(2):
                host = torch.empty(self._shape, dtype=torch.int32, pin_memory=self._pinned)
                self._masks.append(
                    (host, host.numpy(), torch.empty(self._shape, dtype=torch.int32, device=self._device))
                )
        self._turn ^= 1
        if self._sent[self._turn] is not None:
            self._sent[self._turn].synchronize()
        return self._masks[self._turn][1]

    def apply(self, logits: torch.Tensor, bitmask: Bitmask, rows: Sequence[int]) -> torch.Tensor:
        from ..bitmask import apply_token_bitmask_inplace

        [turn] = [i for i, (_, view, _) in enumerate(self._masks) if view is bitmask]
        host, _, device = self._masks[turn]
        used = max(rows) + 1
        device[:used].copy_(host[:used], non_blocking=True)
        if self._pinned:
            self._sent[turn] = torch.cuda.Event()
            self._sent[turn].record()
        logits = logits.detach()
        apply_token_bitmask_inplace(logits[:used], device[:used], indices=rows)
        return logits

    def best(self, logits: torch.Tensor, row: int) -> int:
        return int(logits[row].argmax())

    def choose(self, logits: torch.Tensor, draws: Sequence[Draw]) -> list[int | ValueError]:
        ids = torch.stack([_chosen(logits[draw.row], draw) for draw in draws]).tolist()
        return [ValueError(f"nothing to draw from: {_FAULTS[i]}") if i < 0 else i for i in ids]


def _chosen(logits: torch.Tensor, draw: Draw) -> torch.Tensor:
    """The id, or why there is none, on the device: int64 []."""
    sampling = draw.sampling
    row = logits.to(torch.float64, copy=True)
    fault = _fault(row)
    _penalise(row, draw)
    fault = torch.where(fault == 0, _fault(row), fault)
    if sampling.temperature == 0.0:
        token = row.argmax()
    else:
        row = (row - row.max()) / sampling.temperature
        mass = torch.cumsum(torch.exp(_cut(row, sampling)), 0)
        token = torch.searchsorted(mass, (draw.u * mass[-1])[None], right=True)[0]
        # u * total may round up to the total; the draw then belongs to the last token that has any weight
        token = torch.minimum(token, torch.searchsorted(mass, mass[-1:])[0])
    return torch.where(fault == 0, token, fault)


def _fault(row: torch.Tensor) -> torch.Tensor:
    best = row.max()
    reasons = (best.isnan() * _NOT_A_NUMBER, (best == -math.inf) * _FORBIDDEN, (best == math.inf) * _INFINITE)
    return reasons[0] + reasons[1] + reasons[2]


def _penalise(row: torch.Tensor, draw: Draw) -> None:
    sampling = draw.sampling
    if sampling.repetition_penalty != 1.0 and draw.seen:
        ids = torch.tensor(list(draw.seen), device=row.device)
        x = row[ids]
        row[ids] = torch.where(x > 0, x / sampling.repetition_penalty, x * sampling.repetition_penalty)
    if draw.counts and (sampling.presence_penalty or sampling.frequency_penalty):
        ids = torch.tensor(list(draw.counts), device=row.device)
        amounts = [sampling.presence_penalty + sampling.frequency_penalty * n for n in draw.counts.values()]
        row[ids] -= torch.tensor(amounts, dtype=torch.float64, device=row.device)


def _cut(row: torch.Tensor, sampling: Sampling) -> torch.Tensor:
    """Top-k, top-p and min-p of a row whose greatest number is 0."""
    if sampling.top_k or sampling.top_p < 1.0:
        ranked, ids = torch.sort(row, descending=True, stable=True)  # lower ids first among equals
        if sampling.top_k:
            ranked[sampling.top_k :] = -math.inf
        if sampling.top_p < 1.0:
            mass = torch.cumsum(torch.exp(ranked), 0)
            reached = torch.searchsorted(mass, sampling.top_p * mass[-1:])
            ranked[torch.arange(len(ranked), device=row.device) > reached] = -math.inf
        row = torch.empty_like(row).scatter_(0, ids, ranked)
    if sampling.min_p > 0.0:
        row = torch.where(torch.exp(row) < sampling.min_p, -math.inf, row)
    return row
