"""Token bitmasks: int32 rows; bit t % 32 of word t // 32 says whether token t may come next (bit 0 is the least).

The layout is the one that serving engines share. Bits from the logits' width to the end of the last word are 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._arguments import integer, integers
from ._errors import ArgumentError

__all__ = ["allocate_token_bitmask", "apply_token_bitmask_inplace"]


def allocate_token_bitmask(batch: int, vocab_size: int) -> NDArray[np.int32]:
    """int32[batch, ceil(vocab_size / 32)] with every bit set. vocab_size: width of the logits."""
    batch, vocab_size = integer(batch, "batch", 0), integer(vocab_size, "vocab_size", 1)
    return np.full((batch, (vocab_size + 31) // 32), -1, np.int32)


def apply_token_bitmask_inplace(logits: Any, bitmask: Any, indices: Sequence[int] | None = None) -> None:
    """Set the logits of forbidden tokens to minus infinity, in place.

    logits:  float[rows, width] or float[width]; a numpy array (any strides), a torch tensor (CPU, CUDA), a cupy array.
    bitmask: int32[rows, words], numpy or of the library of the logits. Row i of the mask goes with row i of the logits.
    indices: only these rows; the others are not touched. Columns beyond the mask's words are forbidden.
    """
    if isinstance(logits, np.ndarray):
        _apply_numpy(logits, _packed(bitmask), indices)
    elif type(logits).__module__.partition(".")[0] == "torch":
        _apply_torch(logits, bitmask, indices)
    elif type(logits).__module__.partition(".")[0] == "cupy":
        _apply_cupy(logits, bitmask, indices)
    else:
        raise ArgumentError(f"logits must be a numpy, torch or cupy array, not {type(logits).__name__}")


def _packed(bitmask: Any) -> NDArray[np.int32]:
    """A bitmask as a numpy array of words."""
    try:
        masks = np.asarray(bitmask)
    except (TypeError, ValueError, RuntimeError) as error:  # a tensor on a device, for one
        raise ArgumentError(f"a bitmask of numpy logits must be a numpy array or a CPU tensor: {error}") from None
    if masks.dtype not in (np.int32, np.uint32):
        raise ArgumentError(f"a bitmask must be int32[rows, words], not {masks.dtype}{list(masks.shape)}")
    return masks


def _rows(indices: Sequence[int], count: int) -> list[int]:
    return integers(indices, "indices", 0, count - 1)


def _check(shape: tuple[int, ...], mask_shape: tuple[int, ...]) -> None:
    if len(shape) != 2 or len(mask_shape) != 2 or shape[0] != mask_shape[0]:
        raise ArgumentError(f"logits {list(shape)} and bitmask {list(mask_shape)} must have as many rows")


def _apply_numpy(logits: NDArray[Any], bitmask: NDArray[np.int32], indices: Sequence[int] | None) -> None:
    if not np.issubdtype(logits.dtype, np.floating) and logits.dtype.kind != "V":
        raise ArgumentError(f"logits must be floating point to hold minus infinity, not {logits.dtype}")
    table = logits[None] if logits.ndim == 1 else logits
    masks = bitmask[None] if bitmask.ndim == 1 else bitmask
    _check(table.shape, masks.shape)
    width = table.shape[1]
    if not table.flags.writeable:
        raise ArgumentError("logits must be writable")
    for row in range(len(table)) if indices is None else _rows(indices, len(table)):
        packed = np.ascontiguousarray(masks[row]).view(np.uint8)
        bits = np.unpackbits(packed, bitorder="little")[:width]
        np.copyto(table[row, : len(bits)], -np.inf, where=bits == 0, casting="unsafe")
        table[row, len(bits) :] = -np.inf


def _apply_torch(logits: Any, bitmask: Any, indices: Sequence[int] | None) -> None:
    import torch

    masks = torch.as_tensor(bitmask)
    table = logits[None] if logits.dim() == 1 else logits
    masks = masks[None] if masks.dim() == 1 else masks
    _check(tuple(table.shape), tuple(masks.shape))
    chosen_rows = range(len(table)) if indices is None else _rows(indices, len(table))
    rows = torch.as_tensor(list(chosen_rows), dtype=torch.long)
    if len(rows) == 0:
        return
    chosen = masks[rows.to(masks.device)].to(table.device, non_blocking=True)
    shifts = torch.arange(32, device=table.device, dtype=torch.int32)
    allowed = ((chosen[:, :, None] >> shifts) & 1).bool().flatten(1)
    width = table.shape[1]
    if allowed.shape[1] < width:
        allowed = torch.nn.functional.pad(allowed, (0, width - allowed.shape[1]))
    forbidden = ~allowed[:, :width]
    if indices is None:
        table.masked_fill_(forbidden, float("-inf"))
    else:
        rows = rows.to(table.device)
        table[rows] = table[rows].masked_fill(forbidden, float("-inf"))


def _apply_cupy(logits: Any, bitmask: Any, indices: Sequence[int] | None) -> None:
    import cupy

    masks = cupy.asarray(bitmask)
    table = logits[None] if logits.ndim == 1 else logits
    masks = masks[None] if masks.ndim == 1 else masks
    _check(table.shape, masks.shape)
    rows = cupy.arange(len(table)) if indices is None else cupy.asarray(_rows(indices, len(table)))
    shifts = cupy.arange(32, dtype=cupy.int32)
    allowed = ((masks[rows][:, :, None] >> shifts) & 1).astype(bool).reshape(len(rows), -1)[:, : table.shape[1]]
    full = cupy.zeros((len(rows), table.shape[1]), bool)
    full[:, : allowed.shape[1]] = allowed
    table[rows] = cupy.where(full, table[rows], -cupy.inf)
