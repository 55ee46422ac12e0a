"""Many matchers in one kernel call, optionally shared with other threads: each takes the next matcher when it is done
with one, and the caller works, too, so that a batch of masks that are all at hand waits for nobody."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import kernels
from . import layout as at
from .matcher import Matcher, mask_array

__all__ = ["fill_batch"]


def fill_batch(
    matchers: Sequence[Matcher], bitmask: Any, rows: Sequence[int] | None = None, threads: int | None = None
) -> None:
    """See `constrain.fill_next_token_bitmasks`."""
    count = len(matchers)
    if not count:
        return
    places = np.arange(count) if rows is None else np.asarray(rows, np.int64)
    if len(places) != count:
        raise ValueError(f"{count} matchers but {len(places)} rows")
    if len(set(map(id, matchers))) != count:
        raise ValueError("a matcher occurs twice in the batch; fork() it")
    array = mask_array(bitmask, max([m._index.words for m in matchers]))
    if places.min() < 0 or places.max() >= len(array):
        raise IndexError(f"rows {places.min()}..{places.max()} of a bitmask with {len(array)} rows")
    apart = [i for i, m in enumerate(matchers) if not m._in_engine]
    if apart:
        for i in apart:
            matchers[i].fill_next_token_bitmask(array, int(places[i]))
        together = [i for i, m in enumerate(matchers) if m._in_engine]
        fill_batch([matchers[i] for i in together], array, places[together].tolist(), threads)
        return
    statuses: NDArray[np.int32] = np.zeros(count, np.int32)
    taken: NDArray[np.int64] = np.zeros(1, np.int64)
    work = (np.array([m._address for m in matchers], np.int64), array, places, statuses, taken)
    helpers: list[Future[None]] = []
    if threads is not None:
        for _ in range(min(threads, count) - 1):
            helpers.append(_pool(threads - 1, os.getpid()).submit(kernels.fill_many, *work))
    kernels.fill_many(*work)
    for helper in helpers:
        if not helper.cancel():  # one that has not begun yet is not needed any more
            helper.result()
    for i in np.flatnonzero(statuses != at.OK).tolist():
        matchers[i].fill_next_token_bitmask(array, int(places[i]))
    for matcher, place in zip(matchers, places.tolist(), strict=True):
        if matcher._lacks_bytes:
            matcher._check_alive(array[place])


@lru_cache(maxsize=4)
def _pool(threads: int, pid: int) -> ThreadPoolExecutor:
    """Threads that help the caller; one pool per process, since threads do not survive a fork."""
    return ThreadPoolExecutor(threads, thread_name_prefix="constrain-fill")
