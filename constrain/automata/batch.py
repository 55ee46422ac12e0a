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

from .._arguments import integer, integers, is_listing
from .._errors import ArgumentError
from . import kernels
from . import layout as at
from .matcher import Matcher, mask_array

__all__ = ["fill_batch"]


def fill_batch(
    matchers: Sequence[Matcher], bitmask: Any, rows: Sequence[int] | None = None, threads: int | None = None
) -> None:
    """See `constrain.fill_next_token_bitmasks`."""
    matchers = _list_of_matchers(matchers)
    if not matchers:
        return
    given = range(len(matchers)) if rows is None else integers(rows, "rows")
    places = np.array(given, np.int64) if max(map(abs, given), default=0) < 1 << 62 else None
    if places is None or len(places) != len(matchers):
        raise ArgumentError(f"{len(matchers)} matchers, and rows that do not fit them")
    if len(set(given)) != len(given):
        raise ArgumentError("two matchers have the same row")
    if threads is not None:
        threads = integer(threads, "threads (or None)", 0)
    if len({id(m) for m in matchers}) != len(matchers):
        raise ArgumentError("a matcher occurs twice in the batch; fork() it")
    array = mask_array(bitmask, max(m._index.words for m in matchers))
    if len(places) and (places.min() < 0 or places.max() >= len(array)):
        raise ArgumentError(f"rows {places.min()}..{places.max()} of a bitmask with {len(array)} rows")
    count = len(matchers)
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
        for index in {m._index for m in matchers}:
            index.workspaces.ensure(min(threads, count))
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


def _list_of_matchers(matchers: Any) -> list[Matcher]:
    if is_listing(matchers):
        found = list(matchers)
        if all(hasattr(one, "_in_engine") for one in found):
            return found
    raise ArgumentError("matchers must be a sequence of matchers or sessions")


@lru_cache(maxsize=4)
def _pool(threads: int, pid: int) -> ThreadPoolExecutor:
    """Threads that help the caller; one pool per process, since threads do not survive a fork."""
    return ThreadPoolExecutor(threads, thread_name_prefix="constrain-fill")
