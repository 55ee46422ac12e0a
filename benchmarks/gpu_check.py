"""Checks and times the CUDA side on a real GPU, in less than four minutes.

    python benchmarks/gpu_check.py [--steps 1000] [--rows 64] [--width 151936]

1. Equality. CudaRunner and CpuRunner run the same requests on the same logits: rows with a schema and without, greedy
   and sampled, 1,000 steps in each of float32, float16 and bfloat16. Ids must be equal, and masked logits bit for bit.
   Where torch sees the GPU, once more with its tensors, by the kernels and by torch's own operations.
2. Times, by events of the device: the mask kernel, with its share of the bandwidth of a copy in device memory, which is
   measured in the same run; the upload of masks; the draw of a batch.

Exit code 0: all equal; 1: something differs; 2: no GPU that numba can use, so nothing was checked or timed. In numba's
simulator (NUMBA_ENABLE_CUDASIM=1) the equality is checked with small sizes, and nothing is timed.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numba import config, cuda
from support import table

import constrain
from constrain.runners import Completion, CpuRunner, CudaRunner, Request
from constrain.runners.arrays import Arrays, Draw, NumpyWorkspace
from constrain.sampling import Sampling

KINDS = ("float32", "float16", "bfloat16")
SIMULATED = bool(config.ENABLE_CUDASIM)
SCHEMA = {
    "type": "array",
    "minItems": 90,
    "items": {
        "type": "object",
        "properties": {"name": {"type": "string", "minLength": 3, "maxLength": 12}, "size": {"type": "integer"}},
        "required": ["name", "size"],
        "additionalProperties": False,
    },
}


def make_vocabulary(width: int) -> constrain.Vocabulary:
    """All bytes, then made-up words, an end token, and three ids that stand for nothing."""
    letters = b'etaoinshrdlu 0123456789",:{}'
    words: list[bytes | None] = [bytes([b]) for b in range(256)]
    n = 0
    while len(words) < width - 4:
        word, rest = b"", n + len(letters)
        while rest:
            rest, letter = divmod(rest, len(letters))
            word += letters[letter : letter + 1]
        words.append(word)
        n += 1
    end = len(words)
    return constrain.Vocabulary.from_tokens([*words, *[None] * 4], special={"<end>": end}, eos_token_ids=[end])


class Tokens:
    """The text side of the made-up vocabulary; nothing ends a reply but its length."""

    eos_token_ids: Sequence[int] = ()

    def __init__(self, vocabulary: constrain.Vocabulary) -> None:
        self.vocabulary = vocabulary

    def encode(self, text: str) -> list[int]:
        return list(text.encode())

    def token_bytes(self, token_id: int) -> bytes | None:
        return self.vocabulary.token_bytes(token_id)


class PooledModel:
    """Logits that follow from the last tokens: a piece of a pool of random numbers, rounded so that ties occur."""

    context_length = 1 << 20

    def __init__(self, width: int, kind: str, place: Callable[[Any, str], Any]) -> None:
        self.vocab_size, self.kind, self.place = width, kind, place
        self.pool = np.random.default_rng(5).normal(0, 3, width + 4096).astype(np.float32).round(2)

    def new_cache(self) -> list[int]:
        return []

    def forward(self, caches: Sequence[list[int]], tokens: Sequence[Sequence[int]]) -> Any:
        rows = []
        for cache, ids in zip(caches, tokens, strict=True):
            cache.extend(ids)
            start = (31 * cache[-1] + 7 * cache[-2] + len(cache)) % 4096
            rows.append(self.pool[start : start + self.vocab_size])
        return self.place(np.array(rows), self.kind)


def codes(values: Any) -> Any:
    """The 16 bits of bfloat16, cut off."""
    return (values.view(np.uint32) >> 16).astype(np.uint16)


def on_host(values: Any, kind: str) -> Any:
    if kind == "bfloat16":
        return (codes(values).astype(np.uint32) << 16).view(np.float32)
    return values.astype(kind)


def by_numba(values: Any, kind: str) -> Any:
    return cuda.to_device(codes(values) if kind == "bfloat16" else values.astype(kind))


def by_torch(values: Any, kind: str) -> Any:
    import torch

    if kind == "bfloat16":
        return torch.from_numpy(codes(values).view(np.int16)).cuda().view(torch.bfloat16)
    return torch.from_numpy(values.astype(kind)).cuda()


def requests(grammar: Any, steps: int) -> list[Request]:
    samplings = [
        Sampling(0.0),
        Sampling(1.0, seed=1),
        Sampling(0.8, top_k=40, seed=2),
        Sampling(1.2, top_p=0.9, seed=3),
        Sampling(0.7, top_k=50, top_p=0.95, min_p=0.01, repetition_penalty=1.1, frequency_penalty=0.2, seed=4),
    ]
    return [Request([65, 66 + i], grammar, s, steps) for i, s in enumerate(samplings)] + [
        Request([65, 90 + i], None, s, steps) for i, s in enumerate(samplings[1:4])
    ]


Done = dict[str, tuple[list[Completion], float]]  # per format, what the CPU runner gave, and its seconds


def check_runs(
    arguments: Any, arrays: Arrays, place: Callable[[Any, str], Any], name: str, done: Done
) -> list[list[object]]:
    """Rows of the table of equality."""
    vocabulary = make_vocabulary(arguments.width)
    grammar = constrain.compile_json_schema(SCHEMA, vocabulary, whitespace="compact")
    tokens, found = Tokens(vocabulary), []
    for kind in KINDS:
        batch = requests(grammar, -(-arguments.steps // 8))
        if kind not in done:
            started = time.perf_counter()
            wanted = CpuRunner(PooledModel(arguments.width, kind, on_host), tokens).generate(batch)
            done[kind] = wanted, time.perf_counter() - started
        wanted, taken = done[kind]
        started = time.perf_counter()
        given = CudaRunner(PooledModel(arguments.width, kind, place), tokens, arrays=arrays).generate(batch)
        ended = time.perf_counter()
        pairs = [
            (a, b) for x, y in zip(wanted, given, strict=True) for a, b in zip(x.token_ids, y.token_ids, strict=False)
        ]
        equal = [x.token_ids == y.token_ids for x, y in zip(wanted, given, strict=True)]
        same = sum(a == b for a, b in pairs)
        verdict = "equal" if all(equal) and masks_equal(arguments, arrays, place, kind) else "DIFFERS"
        found.append([f"{name}, {kind}", len(pairs), same, taken, ended - started, verdict])
    return found


def masks_equal(arguments: Any, arrays: Arrays, place: Callable[[Any, str], Any], kind: str) -> bool:
    """Whether masked logits are those of the host, bit for bit, in the named rows and in the others."""
    rng = np.random.default_rng(9)
    values = rng.normal(0, 3, (6, arguments.width)).astype(np.float32)
    host, device = on_host(values, kind), place(values, kind)
    rows = [5, 0, 3]
    with arrays.workspace(6, arguments.width) as space:
        bitmask = space.bitmask()
        bitmask[:] = rng.integers(-(2**31), 2**31, bitmask.shape)
        NumpyWorkspace(6, arguments.width).apply(host, bitmask, rows)
        masked = space.apply(device, bitmask, rows)
    if hasattr(masked, "copy_to_host"):
        back = masked.copy_to_host()
        back = (back.astype(np.uint32) << 16).view(np.float32) if kind == "bfloat16" else back
        return bool(back.tobytes() == host.tobytes())
    return bool((masked.float().cpu().numpy() == host.astype(np.float32)).all())


# Times ----------------------------------------------------------------------------------------------------------------


def seconds(work: Callable[[Any], None], stream: Any, repeats: int = 30) -> float:
    """Time of one call on the device: the median of so many, each between two events."""
    work(stream)
    times = []
    for _ in range(repeats):
        begin, end = cuda.event(), cuda.event()
        begin.record(stream)
        work(stream)
        end.record(stream)
        end.synchronize()
        times.append(cuda.event_elapsed_time(begin, end) / 1e3)
    return float(np.median(times))


def copy_bandwidth(stream: Any) -> float:
    """Bytes a second, read and written, of a copy of 1 GB in device memory."""
    source, target = (cuda.device_array(1 << 30, np.uint8) for _ in range(2))
    return 2 * (1 << 30) / seconds(lambda s: target.copy_to_device(source, stream=s), stream, 10)


def time_masks(arguments: Any) -> list[list[object]]:
    """The mask kernel alone, for masks as they occur: few tokens allowed, half of them, all but a few."""
    from constrain.runners import cuda_arrays, cuda_kernels

    stream, rng = cuda.stream(), np.random.default_rng(2)
    bandwidth = copy_bandwidth(stream)
    print(f"copy in device memory: {bandwidth / 1e12:.2f} TB/s\n")
    words, places = (arguments.width + 31) // 32, cuda.to_device(np.arange(arguments.rows, dtype=np.int32))
    found: list[list[object]] = []
    for kind in KINDS:
        values = np.zeros((arguments.rows, arguments.width), np.float32)
        logits = by_numba(values, kind)
        size = logits.dtype.itemsize
        lanes, per_lane = cuda_arrays._lanes(logits, kind)
        grid = -(-lanes.shape[1] // (cuda_arrays._PASSES * cuda_kernels.THREADS)), arguments.rows
        for name, share in (("few allowed", 0.001), ("half allowed", 0.5), ("most allowed", 0.999)):
            bits = rng.random((arguments.rows, words * 32)) < share
            mask = cuda.to_device(np.packbits(bits, axis=1, bitorder="little").view(np.int32))
            lane_bits = bits[:, : arguments.width].reshape(arguments.rows, -1, per_lane).sum(axis=2)
            written = int((lane_bits < per_lane).sum()) * size * per_lane
            read = int(((lane_bits > 0) & (lane_bits < per_lane)).sum()) * size * per_lane + mask.size * 4

            def work(
                s: Any, mask: Any = mask, lanes: Any = lanes, grid: Any = grid, n: int = per_lane, b: int = 8 * size
            ) -> None:
                cuda_kernels.forbid[grid, cuda_kernels.THREADS, s](lanes, mask, places, np.int64(-1), n, b)

            taken = seconds(work, stream)
            moved = written + read
            found.append([f"{kind}, {name}", moved / 1e6, 1e6 * taken, f"{100 * moved / taken / bandwidth:.0f} %"])
    return found


def time_steps(arguments: Any) -> list[list[object]]:
    """What the host waits for, per step of a batch: upload and mask, and the draw."""
    from constrain.runners.cuda_arrays import CudaArrays

    found: list[list[object]] = []
    values = np.random.default_rng(3).normal(0, 3, (arguments.rows, arguments.width)).astype(np.float32)
    logits = cuda.to_device(values)
    samplings = {
        "greedy": Sampling(0.0),
        "temperature": Sampling(0.8),
        "top-k 50, top-p 0.95": Sampling(0.8, top_k=50, top_p=0.95),
        "top-p 0.9": Sampling(0.8, top_p=0.9),
    }
    with CudaArrays().workspace(arguments.rows, arguments.width) as space:
        rows = list(range(arguments.rows))

        def masks() -> None:
            bitmask = space.bitmask()
            bitmask[:] = 0x5555
            space.apply(logits, bitmask, rows)
            cuda.synchronize()

        works: dict[str, Callable[[], Any]] = {"upload and mask": masks}
        for name, sampling in samplings.items():
            draws = [Draw(row, sampling, set(), {}, 0.3) for row in rows]
            works[f"draw: {name}"] = lambda draws=draws: space.choose(logits, draws)  # type: ignore[misc]
        for name, work in works.items():
            work()
            times = []
            for _ in range(20):
                started = time.perf_counter()
                work()
                times.append(time.perf_counter() - started)
            found.append([name, 1e6 * float(np.median(times))])
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=24 if SIMULATED else 1000, help="draws per format")
    parser.add_argument("--rows", type=int, default=64, help="batch that is timed")
    parser.add_argument(
        "--width", type=int, default=300 if SIMULATED else 151_936, help="of the logits, a multiple of 4"
    )
    arguments = parser.parse_args()
    if not cuda.is_available():
        print("No GPU: numba finds no CUDA device (driver, toolkit or device missing). Nothing was checked or timed.")
        return 2
    from constrain.runners.cuda_arrays import CudaArrays

    started = time.perf_counter()
    print("numba's simulator, no GPU: equality only, no times." if SIMULATED else f"device: {device_name()}")
    constrain.warmup()
    done: Done = {}
    rows = check_runs(arguments, CudaArrays(1 if SIMULATED else None), by_numba, "numba", done)
    if not SIMULATED and torch_sees_a_device():
        from constrain.runners.torch_arrays import TorchArrays

        rows += check_runs(arguments, CudaArrays(), by_torch, "torch tensors, kernels", done)
        rows += check_runs(arguments, TorchArrays("cuda"), by_torch, "torch operations", done)
    print(table(["run", "draws", "equal ids", "CPU runner, s", "device runner, s", "verdict"], rows))
    if not SIMULATED:
        print()
        masks = time_masks(arguments)
        print(table(["mask kernel", "moved, MB", "time, µs", "of copy bandwidth"], masks))
        print()
        print(table([f"step of {arguments.rows} rows, as the host sees it", "time, µs"], time_steps(arguments)))
    print(f"\n{time.perf_counter() - started:.0f} s in all")
    return int(any(row[-1] != "equal" for row in rows))


def device_name() -> str:
    device = cuda.get_current_device()
    name = device.name.decode() if isinstance(device.name, bytes) else device.name
    return f"{name}, compute capability {'.'.join(map(str, device.compute_capability))}"


def torch_sees_a_device() -> bool:
    try:
        import torch
    except ImportError:
        return False
    return bool(torch.cuda.is_available())


if __name__ == "__main__":
    raise SystemExit(main())
