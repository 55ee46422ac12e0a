"""`Arrays` for logits on an NVIDIA GPU, by numba's CUDA target: logits of numba, cupy, torch, or of the host.

A workspace owns two bitmasks in pinned host memory with their twins on the device, used in turn: the next one can be
filled while the last upload is still on its way, and is not handed out before its own last upload is done. Uploads and
kernels go to one stream, torch's current one or one of the workspace, so a model that runs asynchronously is still
computing while masks are filled. The host waits once a step, for the drawn ids.

Formats: float64, float32, float16, and bfloat16 (torch tensors, or arrays of 16-bit integers, since numpy has none).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import config, cuda

from ..sampling import Sampling
from . import cuda_kernels as kernels
from .arrays import Bitmask, Draw, HostMasks

__all__ = ["CudaArrays", "CudaWorkspace"]

_MINUS_INFINITY = {"float64": -(1 << 52), "float32": -(1 << 23), "float16": -(1 << 10), "bfloat16": -(1 << 7)}
"""Bit patterns of minus infinity as signed integers: sign and exponent all ones."""
_PASSES = 4  # numbers per thread of the kernels that go over all logits once
_FAULTS = {
    kernels.NOT_A_NUMBER: "the greatest logit is nan",
    kernels.FORBIDDEN: "every token is forbidden",
    kernels.INFINITE: "the greatest logit is inf",
}
_GREEDY = Sampling(temperature=0.0)


class CudaArrays:
    """threads: per block, a power of two; few in the simulator, which runs each as a thread of Python."""

    def __init__(self, threads: int | None = None) -> None:
        if not cuda.is_available():
            raise RuntimeError("no CUDA device, or no CUDA toolkit, that numba can use; see docs/runners.md")
        simulated = bool(config.ENABLE_CUDASIM)
        self.threads = threads or (8 if simulated else kernels.THREADS)
        if self.threads & (self.threads - 1) or not 1 <= self.threads <= kernels.THREADS:
            raise ValueError(f"threads={threads} must be a power of two, at most {kernels.THREADS}")

    def workspace(self, rows: int, vocab_size: int) -> CudaWorkspace:
        return CudaWorkspace(rows, vocab_size, self.threads)


class _Twin:
    """An array in pinned host memory and one like it on the device; both grow with what is written."""

    def __init__(self, shape: int | tuple[int, int], dtype: type) -> None:
        self.host: npt.NDArray[Any] = cuda.pinned_array(shape, dtype)
        self.device = cuda.device_array(shape, dtype)
        self.sent = cuda.event()
        self._waits = False

    def wait(self) -> None:
        """Until the host side may be written to."""
        if self._waits:
            self.sent.synchronize()
            self._waits = False

    def send(self, count: int, stream: Any) -> Any:
        """Upload the first `count` rows; the device array."""
        if count:
            self.device[:count].copy_to_device(self.host[:count], stream)
            self.sent.record(stream)
            self._waits = True
        return self.device

    def put(self, values: Sequence[Any] | npt.NDArray[Any], stream: Any) -> Any:
        """Write values from the start and upload them."""
        self.wait()
        if len(values) > len(self.host):
            shape = (2 * len(values), *self.host.shape[1:])
            self.host, self.device = (
                cuda.pinned_array(shape, self.host.dtype),
                cuda.device_array(shape, self.host.dtype),
            )
        self.host[: len(values)] = values
        return self.send(len(values), stream)


class CudaWorkspace(HostMasks):
    """`Workspace` on a device."""

    def __init__(self, rows: int, vocab_size: int, threads: int) -> None:
        self._threads, self._rows, self._width = threads, rows, vocab_size
        self._masks: list[_Twin] = []
        self._turn = 0
        self._masked, self._drawn = _Twin(rows, np.int32), _Twin(rows, np.int32)
        self._parameters = _Twin((rows, len(kernels.DRAWN_FROM)), np.float64)
        self._lists = [_Twin(1, dtype) for dtype in (np.int32, np.int32, np.float64)]
        self._starts = [_Twin(rows + 1, np.int32) for _ in range(2)]
        self._chosen = _Twin(rows, np.int32)
        self._values: dict[str, Any] = {}
        self._work: Any = None
        self._stream = cuda.stream()

    def bitmask(self) -> Bitmask:
        if not self._masks:
            self._masks = [_Twin((self._rows, (self._width + 31) // 32), np.int32) for _ in range(2)]
        self._turn ^= 1
        self._masks[self._turn].wait()
        return self._masks[self._turn].host

    def apply(self, logits: Any, bitmask: Bitmask, rows: Sequence[int]) -> Any:
        """In place where the logits are in device memory and their rows one after another; else on a copy there."""
        [twin] = [one for one in self._masks if one.host is bitmask]
        kept, array, kind = _on_device(logits)
        stream = self._stream_of(logits)
        masks = twin.send(max(rows) + 1, stream)
        places = self._masked.put(rows, stream)
        lanes, per_lane = _lanes(array, kind)
        bits = 8 * array.dtype.itemsize
        minus_infinity = _MINUS_INFINITY[kind] & (1 << bits) - 1
        pattern = sum(minus_infinity << bits * i for i in range(per_lane))
        pattern -= (pattern >> (bits * per_lane - 1)) << bits * per_lane  # as a signed integer
        grid = self._blocks(lanes.shape[1]), len(rows)
        kernels.forbid[grid, self._threads, stream](lanes, masks, places, np.int64(pattern), per_lane, bits)
        return kept

    def best(self, logits: Any, row: int) -> int:
        [token] = self.choose(logits, [Draw(row, _GREEDY, frozenset(), {}, 0.0)])
        return token if isinstance(token, int) else 0

    def choose(self, logits: Any, draws: Sequence[Draw]) -> list[int | ValueError]:
        _, array, kind = _on_device(logits)
        stream, count = self._stream_of(logits), len(draws)
        work, keys = self._room(count, array.shape[1])
        grid = self._blocks(array.shape[1]), count
        rows = self._drawn.put([draw.row for draw in draws], stream)
        if kind in ("float16", "bfloat16"):
            if kind not in self._values:
                self._values[kind] = cuda.to_device(_values(kind))
            kernels.load_coded[grid, self._threads, stream](array.view(np.int16), self._values[kind], rows, work)
        else:
            kernels.load[grid, self._threads, stream](array, rows, work)
        parameters = self._parameters.put([_parameters(draw) for draw in draws], stream)
        seen, occurring = [_penalised(draw) for draw in draws], [_occurring(draw) for draw in draws]
        lists = [
            self._lists[0].put(np.concatenate(seen), stream),
            self._starts[0].put(_starts(seen), stream),
            self._lists[1].put(np.concatenate([ids for ids, _ in occurring]), stream),
            self._lists[2].put(np.concatenate([amounts for _, amounts in occurring]), stream),
            self._starts[1].put(_starts([ids for ids, _ in occurring]), stream),
        ]
        kernels.choose[count, self._threads, stream](work, keys, parameters, *lists, self._chosen.device)
        self._chosen.device[:count].copy_to_host(self._chosen.host[:count], stream)
        stream.synchronize()
        ids = self._chosen.host[:count].tolist()
        return [ValueError(f"nothing to draw from: {_FAULTS[i]}") if i < 0 else i for i in ids]

    def __exit__(self, *error: object) -> None:
        """Wait for the device, which may still read the buffers."""
        self._stream.synchronize()
        for twin in self._masks:
            twin.wait()

    def _room(self, rows: int, width: int) -> tuple[Any, Any]:
        """float64 [rows, width] on the device, and the same memory as int64."""
        if self._work is None or self._work.shape[1] != width or self._work.shape[0] < rows:
            self._work = cuda.device_array((rows, width), np.float64)
        work = self._work[:rows]
        return work, work.view(np.int64)

    def _blocks(self, numbers: int) -> int:
        return -(-numbers // (_PASSES * self._threads))

    def _stream_of(self, logits: Any) -> Any:
        """Torch's stream for the device of its tensors. The workspace's own one waits for the default stream."""
        if _is_torch(logits) and logits.is_cuda:
            import torch

            current = torch.cuda.current_stream(logits.device).cuda_stream
            if current:
                return cuda.external_stream(current)
        return self._stream


def _on_device(logits: Any) -> tuple[Any, Any, str]:
    """The logits in device memory, as given where they are, as an array of numba, and their format."""
    if isinstance(logits, np.ndarray):
        logits = cuda.to_device(np.ascontiguousarray(logits))
    if cuda.devicearray.is_cuda_ndarray(logits):
        array, kind = logits, str(logits.dtype)
    elif _is_torch(logits):
        import torch

        if not logits.is_cuda:
            raise TypeError("logits of torch must be on a CUDA device; constrain.runners.TorchArrays takes any device")
        logits, kind = logits.detach().contiguous(), str(logits.dtype).removeprefix("torch.")
        array = cuda.as_cuda_array(logits.view(torch.int16) if kind == "bfloat16" else logits)
    else:
        array = cuda.as_cuda_array(logits)
        kind = str(array.dtype)
    kind = "bfloat16" if kind in ("int16", "uint16") else kind
    if kind not in _MINUS_INFINITY or array.ndim != 2:
        raise TypeError(f"logits must be [rows, V] of {', '.join(_MINUS_INFINITY)}; got {kind}{list(array.shape)}")
    if not array.is_c_contiguous():
        raise TypeError("logits must be C-contiguous: rows one after another, without gaps")
    return logits, array, kind


def _lanes(array: Any, kind: str) -> tuple[Any, int]:
    """The array as the widest signed integers that rows are made of, and how many logits each holds."""
    size, place = array.dtype.itemsize, getattr(array, "device_ctypes_pointer", None)
    address = 0 if place is None else place.value or 0
    per_lane = next(n for n in (4, 2, 1) if n * size <= 8 and array.shape[1] % n == 0 and address % (n * size) == 0)
    return array.view(np.dtype(f"i{size * per_lane}")), per_lane


@lru_cache(maxsize=2)
def _values(kind: str) -> npt.NDArray[np.float64]:
    """What each of the 65,536 codes of a format with 16 bits stands for."""
    codes = np.arange(1 << 16, dtype=np.uint32)
    with np.errstate(invalid="ignore"):  # NaNs of all kinds are among them
        if kind == "float16":
            return codes.astype(np.uint16).view(np.float16).astype(np.float64)
        return (codes << 16).view(np.float32).astype(np.float64)


def _parameters(draw: Draw) -> list[float]:
    values = {**vars(draw.sampling), "u": draw.u}
    return [values[name] for name in kernels.DRAWN_FROM]


def _penalised(draw: Draw) -> npt.NDArray[np.int32]:
    ids = draw.seen if draw.sampling.repetition_penalty != 1.0 else ()
    return np.fromiter(ids, np.int32, len(ids))


def _occurring(draw: Draw) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float64]]:
    presence, frequency = draw.sampling.presence_penalty, draw.sampling.frequency_penalty
    counts = draw.counts if presence or frequency else {}
    times = np.fromiter(counts.values(), np.float64, len(counts))
    return np.fromiter(counts, np.int32, len(counts)), presence + frequency * times


def _starts(lists: Sequence[npt.NDArray[np.int32]]) -> npt.NDArray[np.int32]:
    return np.cumsum([0, *map(len, lists)], dtype=np.int32)


def _is_torch(array: Any) -> bool:
    return type(array).__module__.partition(".")[0] == "torch"
