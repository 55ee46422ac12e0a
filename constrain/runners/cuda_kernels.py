"""The kernels of `CudaRunner`: masking logits in place, and drawing a token from a row.

    forbid                  packed masks onto rows of logits, whatever their format: floats are bit patterns to it
    load, load_coded        rows of logits to float64
    choose                  `constrain.sampling.choose` for one row per block: penalties to draw

`choose` computes what `constrain.sampling` does, in float64 and by the same rules, so that equal logits and uniforms
give equal ids. Nothing is sorted: after the penalties a row holds *distances* (best - x) / temperature, which are never
negative, so the bits of a distance order like the distance, and the k-th nearest, or the nearest that carry a mass, are
found by eight passes over the row, a byte of the key each (radix selection). Masses are integers there (`UNIT` is the
weight of the best token), whose sums do not depend on the order in which threads add. What can differ from the CPU is
rounding: the last bit of exp, the order of the final sum, and weights below 1 / UNIT; a draw or a cut that falls
between two roundings then goes to the neighbour, less than once in a million draws.

No product is followed by a sum without a barrier between them: the compiler would fuse the two into one rounding.
"""

from __future__ import annotations

import math

from numba import cuda, float64, int64

__all__ = ["DRAWN_FROM", "FORBIDDEN", "INFINITE", "NOT_A_NUMBER", "THREADS", "choose", "forbid", "load", "load_coded"]

THREADS = 512
"""Threads of a block, at most; a power of two, 256 or more on a device."""

DRAWN_FROM = ("temperature", "top_k", "top_p", "min_p", "u", "repetition_penalty")
"""The columns of `parameters`."""
TEMPERATURE, TOP_K, TOP_P, MIN_P, U, REPETITION = range(6)

NOT_A_NUMBER, FORBIDDEN, INFINITE = -1, -2, -3
"""In place of an id: the row has a NaN; every token is forbidden; the greatest logit is infinite."""

UNIT = float(1 << 43)
_BINS = 256
_INFINITY_KEY = 0x7FF0000000000000
_NOTHING = -1


@cuda.jit
def forbid(lanes, bitmask, rows, minus_infinity, per_lane, bits):  # type: ignore[no-untyped-def]
    """Minus infinity where the bit is 0, in the given rows; grid (any, len(rows)).

    lanes: the logits [B, lanes] as signed integers of which each holds `per_lane` of them, 1, 2 or 4; a lane is written
    in one piece, and read only if some of its tokens are allowed. bitmask: int32 [>= B, words]; what is beyond its
    words is forbidden. minus_infinity: a lane of nothing else. bits: the size of one logit.
    """
    row = rows[cuda.blockIdx.y]
    everything = (1 << per_lane) - 1
    lane = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    while lane < lanes.shape[1]:
        token = lane * per_lane
        allowed = 0
        if token >> 5 < bitmask.shape[1]:
            allowed = (bitmask[row, token >> 5] >> (token & 31)) & everything
        if allowed == 0:
            lanes[row, lane] = minus_infinity
        elif allowed != everything:
            gone = int64(0)
            for j in range(per_lane):
                if not (allowed >> j) & 1:
                    field = int64(-1)  # the sign of the lane goes with its last logit
                    if j < per_lane - 1:
                        field = int64((1 << bits) - 1)
                    gone |= field << int64(j * bits)
            lanes[row, lane] = (lanes[row, lane] & ~gone) | (minus_infinity & gone)
        lane += cuda.gridDim.x * cuda.blockDim.x


@cuda.jit
def load(logits, rows, work):  # type: ignore[no-untyped-def]
    """work[i] = logits[rows[i]], float64 [n, V]; grid (any, n)."""
    line = cuda.blockIdx.y
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    while i < work.shape[1]:
        work[line, i] = logits[rows[line], i]
        i += cuda.gridDim.x * cuda.blockDim.x


@cuda.jit
def load_coded(codes, values, rows, work):  # type: ignore[no-untyped-def]
    """As `load`, for formats of 16 bits: codes int16 [B, V], values float64 [65536], what each code stands for."""
    line = cuda.blockIdx.y
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    while i < work.shape[1]:
        work[line, i] = values[int64(codes[rows[line], i]) & 0xFFFF]
        i += cuda.gridDim.x * cuda.blockDim.x


@cuda.jit
def choose(work, keys, parameters, seen, seen_at, occurring, amounts, occurring_at, chosen):  # type: ignore[no-untyped-def]
    """One id per row of work, into chosen int32 [n], or a reason why there is none; one block per row.

    work: float64 [n, V], used up; keys: the same memory as int64. parameters: float64 [n, len(DRAWN_FROM)].
    seen: ids with a repetition penalty, those of row i at seen_at[i] to seen_at[i + 1]; occurring: in the same way, ids
    from which an amount is subtracted.
    """
    line, t, threads = cuda.blockIdx.x, cuda.threadIdx.x, cuda.blockDim.x
    real = cuda.shared.array(THREADS, float64)
    number = cuda.shared.array(THREADS, int64)
    temperature = parameters[line, TEMPERATURE]

    best = _best(work, line, real, number)
    fault = _fault(work, line, best)
    cuda.syncthreads()
    if fault == 0:
        for j in range(seen_at[line] + t, seen_at[line + 1], threads):
            x = work[line, seen[j]]
            work[line, seen[j]] = x / parameters[line, REPETITION] if x > 0.0 else x * parameters[line, REPETITION]
        cuda.syncthreads()
        for j in range(occurring_at[line] + t, occurring_at[line + 1], threads):
            work[line, occurring[j]] -= amounts[j]
        cuda.syncthreads()
        best = _best(work, line, real, number)
        fault = _fault(work, line, best)
    if fault != 0 or temperature == 0.0:
        if t == 0:
            chosen[line] = fault if fault != 0 else best
        return

    top = work[line, best]
    cuda.syncthreads()
    for i in range(t, work.shape[1], threads):
        work[line, i] = math.fabs(top - work[line, i]) / temperature
    cuda.syncthreads()
    if parameters[line, TOP_K] > 0.0:
        _keep(work, keys, line, parameters[line, TOP_K], 0.0, real, number)
    if parameters[line, TOP_P] < 1.0:
        _keep(work, keys, line, parameters[line, TOP_P], UNIT, real, number)
    if parameters[line, MIN_P] > 0.0:
        for i in range(t, work.shape[1], threads):
            if math.exp(-work[line, i]) < parameters[line, MIN_P]:
                work[line, i] = math.inf
        cuda.syncthreads()
    drawn = _find(work, keys, line, _NOTHING, parameters[line, U], real, number)
    if t == 0:
        chosen[line] = drawn


@cuda.jit(device=True)
def _fault(work, line, best):  # type: ignore[no-untyped-def]
    """Why nothing can be drawn from a row with this best id; 0: something can."""
    if best < 0:
        return NOT_A_NUMBER
    if work[line, best] == -math.inf:
        return FORBIDDEN
    if work[line, best] == math.inf:
        return INFINITE
    return 0


@cuda.jit(device=True)
def _best(work, line, real, number):  # type: ignore[no-untyped-def]
    """The id of the greatest number in a row, the lowest of equal ones; -1 where there is a NaN."""
    t, width = cuda.threadIdx.x, work.shape[1]
    value, index = -math.inf, width
    for i in range(t, width, cuda.blockDim.x):
        x = work[line, i]
        if x != x:
            index = -1
        elif index >= 0 and (index == width or x > value):
            value, index = x, i
    real[t] = value
    number[t] = index
    cuda.syncthreads()
    half = cuda.blockDim.x // 2
    while half > 0:
        if t < half and number[t] >= 0:
            other, theirs = number[t + half], real[t + half]
            if other < 0 or (other < width and (theirs > real[t] or (theirs == real[t] and other < number[t]))):
                real[t] = theirs
                number[t] = other
        cuda.syncthreads()
        half //= 2
    index = number[0]
    cuda.syncthreads()
    return index


@cuda.jit(device=True)
def _weight(distance, unit):  # type: ignore[no-untyped-def]
    """The mass of a token in units of the best one's, or 1 for unit 0."""
    if unit == 0.0:
        return int64(1)
    return int64(math.exp(-distance) * unit)


@cuda.jit(device=True)
def _keep(work, keys, line, share, unit, real, number):  # type: ignore[no-untyped-def]
    """Keep the nearest tokens: `share` of them (unit 0), or as few as carry that share of the mass; lower ids first
    among equals. The others become infinitely far.
    """
    t, threads, width = cuda.threadIdx.x, cuda.blockDim.x, work.shape[1]
    total = int64(0)
    for i in range(t, width, threads):
        if keys[line, i] < _INFINITY_KEY:
            total += _weight(work[line, i], unit)
    number[t] = total
    cuda.syncthreads()
    half = threads // 2
    while half > 0:
        if t < half:
            number[t] += number[t + half]
        cuda.syncthreads()
        half //= 2
    total = number[0]
    cuda.syncthreads()
    wanted = int64(share) if unit == 0.0 else int64(math.ceil(share * total))
    if wanted >= total:
        if unit == 0.0:
            return
        wanted = total
    # the key of the last token that is needed, a byte at a time; `wanted` is what must come from the tokens in reach
    last = int64(0)
    for step in range(8):
        shift = 56 - 8 * step
        for b in range(t, _BINS, threads):
            number[b] = 0
        cuda.syncthreads()
        for i in range(t, width, threads):
            key = keys[line, i]
            if key < _INFINITY_KEY and (step == 0 or key >> (shift + 8) == last >> (shift + 8)):
                cuda.atomic.add(number, (key >> shift) & 255, _weight(work[line, i], unit))
        cuda.syncthreads()
        if t == 0:
            b, before = 0, int64(0)
            while b < _BINS - 1 and before + number[b] < wanted:
                before += number[b]
                b += 1
            real[0] = b
            number[_BINS - 1] = wanted - before
        cuda.syncthreads()
        last |= int64(real[0]) << shift
        wanted = number[_BINS - 1]
        cuda.syncthreads()
    equal = _weight(_distance(work, keys, line, last, real, number), unit)
    places = (wanted + equal - 1) // equal
    end = _find(work, keys, line, last, places - 0.5, real, number)
    for i in range(t, width, threads):
        if keys[line, i] > last or (keys[line, i] == last and i > end):
            work[line, i] = math.inf
    cuda.syncthreads()


@cuda.jit(device=True)
def _distance(work, keys, line, key, real, number):  # type: ignore[no-untyped-def]
    """The distance that a key stands for, read where it occurs."""
    for i in range(cuda.threadIdx.x, work.shape[1], cuda.blockDim.x):
        if keys[line, i] == key:
            real[0] = work[line, i]
    cuda.syncthreads()
    distance = real[0]
    cuda.syncthreads()
    return distance


@cuda.jit(device=True)
def _mass(work, keys, line, i, key):  # type: ignore[no-untyped-def]
    """What `_find` adds up: probabilities, or tokens with a certain key."""
    if key >= 0:
        return 1.0 if keys[line, i] == key else 0.0
    return math.exp(-work[line, i])


@cuda.jit(device=True)
def _find(work, keys, line, key, goal, real, number):  # type: ignore[no-untyped-def]
    """The first id, in id order, at which the sum exceeds the goal; the last one that adds something, where none does.

    The goal is a share of the whole sum, or absolute where tokens with a key are counted. Each thread sums a stretch of
    ids, one adds up the stretches, and the one whose stretch it is looks inside.
    """
    t, threads, width = cuda.threadIdx.x, cuda.blockDim.x, work.shape[1]
    stretch = (width + threads - 1) // threads
    begin, end = t * stretch, (t + 1) * stretch
    if end > width:
        end = width
    total = 0.0
    for i in range(begin, end):
        total += _mass(work, keys, line, i, key)
    real[t] = total
    cuda.syncthreads()
    if t == 0:
        total = 0.0
        for j in range(threads):
            total += real[j]
        if key < 0:
            goal = goal * total
        before, owner, owner_before = 0.0, 0, 0.0
        for j in range(threads):
            if real[j] > 0.0:
                owner, owner_before = j, before
                if before + real[j] > goal:
                    break
            before += real[j]
        number[0] = owner
        real[0] = owner_before
        real[1] = goal
    cuda.syncthreads()
    if t == number[0]:
        before, found = real[0], begin
        for i in range(begin, end):
            mass = _mass(work, keys, line, i, key)
            if mass > 0.0:
                found = i
                before += mass
                if before > real[1]:
                    break
        number[1] = found
    cuda.syncthreads()
    found = number[1]
    cuda.syncthreads()
    return found
