"""Bitmasks as torch tensors, for servers that hold them so."""

from __future__ import annotations

import torch

from ..bitmask import apply_token_bitmask_inplace

__all__ = ["allocate", "apply_token_bitmask_inplace", "upload"]


def allocate(rows: int, vocab_size: int, pinned: bool) -> torch.Tensor:
    """int32[rows, ceil(vocab_size / 32)] on the host, with every bit set. pinned: so that uploads need not wait."""
    return torch.full((rows, (vocab_size + 31) // 32), -1, dtype=torch.int32, pin_memory=pinned)


def upload(bitmask: torch.Tensor, device: torch.device | str) -> torch.Tensor:
    """The bitmask on a device; the copy runs beside the host."""
    return bitmask.to(device, non_blocking=True)
