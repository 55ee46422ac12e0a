"""Masked copies of the scores of any array library: numpy, torch, mlx.

Scores are never written in place: hosts keep them (`output_logits`), pass them again (prompt lookup), or cannot have
them written (mlx). A host keeps what it is given back, too.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import boolean, float32, int32, void
from numpy.typing import NDArray

from .._jit import jit
from ..bitmask import apply_token_bitmask_inplace

__all__ = ["allowed_columns", "copy_allowed", "masked", "on_host", "put"]

Left = NDArray[np.bool_]
"""bool[rows]: whether any score above minus infinity is left (True for rows left alone)."""


@jit(signature=void(float32[:, ::1], int32[:, ::1], int32[::1], float32[:, ::1], boolean[::1]))
def copy_allowed(scores: Any, bitmask: Any, slots: Any, out: Any, left: Any) -> None:
    """Write scores to `out` with minus infinity in place of those that are forbidden.

    scores:  float32[rows, width]. bitmask: int32[n, words]; columns beyond its words are forbidden.
    slots:   int32[rows], the row of the bitmask for each row of the scores; -1 leaves the row as it is.
    out:     float32[rows, width]. left: see `Left`.
    """
    width, words = scores.shape[1], bitmask.shape[1]
    for row in range(len(scores)):
        slot = slots[row]
        left[row] = slot < 0
        if slot < 0:
            out[row] = scores[row]
            continue
        some = False
        word, last = 0, (width + 31) // 32
        while word < last:
            bits = bitmask[slot, word] if word < words else 0
            first = word * 32
            word += 1
            if bits == 0 or (bits == -1 and some):
                while word < last and (bitmask[slot, word] if word < words else 0) == bits:  # runs are long
                    word += 1
                end = min(word * 32, width)
                if bits == 0:
                    out[row, first:end] = -np.inf
                else:
                    out[row, first:end] = scores[row, first:end]
                continue
            for column in range(first, min(first + 32, width)):
                score = scores[row, column] if (bits >> (column - first)) & 1 else -np.inf
                out[row, column] = score
                some |= score != -np.inf
        left[row] = some


def on_host(array: Any) -> NDArray[Any]:
    """The array as numpy's, without a copy where it can be."""
    if isinstance(array, np.ndarray):
        return array
    if _library(array) == "torch":
        return np.asarray((array if array.is_cpu and not array.requires_grad else array.detach().cpu()).numpy())
    return np.array(array, copy=False)


def masked(scores: Any, bitmask: NDArray[np.int32], slots: NDArray[np.int32]) -> tuple[Any, Left]:
    """A copy of scores[rows, width] with minus infinity where rows of the bitmask forbid, and what is left."""
    if isinstance(scores, np.ndarray):
        return _numpy(scores, bitmask, slots)
    return _MASKED[_library(scores)](scores, bitmask, slots)


def put(scores: Any, row: int, columns: NDArray[np.intp] | None, value: Any) -> None:
    """Write a value to columns of a row of what `masked` gave, or to all."""
    if columns is None:
        scores[row] = value
    elif _library(scores) == "torch":
        scores[row, scores.new_tensor(columns, dtype=sys.modules["torch"].long)] = value
    elif _library(scores) == "mlx":
        scores[row, sys.modules["mlx.core"].array(columns.astype(np.int32))] = value
    else:
        scores[row, columns] = value


def allowed_columns(packed: NDArray[np.int32], width: int) -> NDArray[np.intp]:
    """The columns below `width` whose bits are set in one row of a bitmask."""
    return np.flatnonzero(np.unpackbits(packed.view(np.uint8), bitorder="little")[:width])


def _library(array: Any) -> str:
    name = type(array).__module__.partition(".")[0]
    if name not in _MASKED:
        raise TypeError(f"scores must be a numpy, torch or mlx array, not {type(array).__name__}")
    return name


class _Outputs:
    """Arrays for results, used again when nobody holds them any more: fresh memory costs more than the masks."""

    def __init__(self, most: int = 3) -> None:
        self._most, self._arrays = most, list[NDArray[np.float32]]()

    def take(self, shape: tuple[int, ...]) -> NDArray[np.float32]:
        """float32 of this shape, of which only the caller knows; its content is left from before."""
        if self._arrays and self._arrays[0].shape != shape:
            self._arrays.clear()
        for place in range(len(self._arrays)):
            if sys.getrefcount(self._arrays[place]) == 2:  # the list's and the call's: no view or tensor is left
                return self._arrays[place]
        made = np.empty(shape, np.float32)
        if len(self._arrays) < self._most:
            self._arrays.append(made)
        return made


_local = threading.local()


def _numpy(scores: NDArray[Any], bitmask: NDArray[np.int32], slots: NDArray[np.int32]) -> tuple[Any, Left]:
    scores = np.ascontiguousarray(scores, np.float32)
    try:
        outputs = _local.outputs
    except AttributeError:
        outputs = _local.outputs = _Outputs()
    out, left = outputs.take(scores.shape), np.empty(len(scores), np.bool_)
    copy_allowed(scores, bitmask, slots, out, left)
    return out, left


def _torch(scores: Any, bitmask: NDArray[np.int32], slots: NDArray[np.int32]) -> tuple[Any, Left]:
    torch = sys.modules["torch"]
    if scores.is_cpu and scores.dtype == torch.float32:
        scores = scores.detach()
        out, left = _numpy(scores.numpy(), bitmask, slots)
        return torch.from_numpy(out), left
    out = scores.detach().clone(memory_format=torch.contiguous_format)
    aligned = torch.from_numpy(bitmask[np.maximum(slots, 0)])
    apply_token_bitmask_inplace(out, aligned, indices=np.flatnonzero(slots >= 0).tolist())
    return out, ((out != float("-inf")).any(dim=1).cpu().numpy()) | (slots < 0)


def _mlx(scores: Any, bitmask: NDArray[np.int32], slots: NDArray[np.int32]) -> tuple[Any, Left]:
    mx = sys.modules["mlx.core"]
    rows, width = scores.shape
    words = mx.array(bitmask[np.maximum(slots, 0)].view(np.uint32))
    allowed = ((words[:, :, None] >> mx.arange(32, dtype=mx.uint32)) & 1).astype(mx.bool_).reshape(rows, -1)[:, :width]
    if allowed.shape[1] < width:
        allowed = mx.pad(allowed, [(0, 0), (0, width - allowed.shape[1])])
    allowed = allowed | mx.array(slots < 0)[:, None]
    out = mx.where(allowed, scores, mx.array(-mx.inf, scores.dtype))
    return out, np.array((out > -mx.inf).any(axis=1)) | (slots < 0)


_MASKED: dict[str, Callable[[Any, NDArray[np.int32], NDArray[np.int32]], tuple[Any, Left]]] = {
    "numpy": _numpy,
    "torch": _torch,
    "mlx": _mlx,
}
