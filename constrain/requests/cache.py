"""A bounded cache of what was compiled for requests. What several ask for at one time is compiled once."""

from __future__ import annotations

import copy
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from .._errors import ConstrainError

__all__ = ["CompileCache"]

ValueT = TypeVar("ValueT")


class _Entry:
    """done: set when value or error is there.   until: time.monotonic() at which an error is forgotten."""

    def __init__(self) -> None:
        self.done = threading.Event()
        self.value: Any = None
        self.error: Exception | None = None
        self.until = 0.0


class CompileCache:
    """Keeps the most recently used values.

    max_entries, max_bytes: bounds; the bytes are those that the values report as `nbytes`, which grow with use and are
        looked at when something is added. One value is kept, whatever its size.
    error_seconds: how long an error is remembered, so that a client that repeats a bad request costs little. An error
        other than a ConstrainError is not.
    Safe for threads. What was dropped stays valid for those who hold it.
    """

    def __init__(self, max_entries: int = 256, max_bytes: int = 1 << 30, error_seconds: float = 10.0) -> None:
        self.max_entries, self.max_bytes, self.error_seconds = max_entries, max_bytes, error_seconds
        self.hits = self.misses = 0
        self._entries: OrderedDict[Hashable, _Entry] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], ValueT]) -> ValueT:
        """The value of `key`, made if need be: by one caller, while the others wait. Raises what `make` raises."""
        with self._lock:
            entry = self._entries.get(key)
            known = entry is not None and not (entry.error is not None and time.monotonic() >= entry.until)
            if known:
                self._entries.move_to_end(key)
                self.hits += 1
            else:
                entry = self._entries[key] = _Entry()
                self.misses += 1
        assert entry is not None
        if not known:
            self._make(key, entry, make)
        entry.done.wait()
        if entry.error is not None:
            raise copy.copy(entry.error) from entry.error.__cause__
        value: ValueT = entry.value
        return value

    def _make(self, key: Hashable, entry: _Entry, make: Callable[[], Any]) -> None:
        try:
            entry.value = make()
        except ConstrainError as error:
            entry.error, entry.until = error, time.monotonic() + self.error_seconds
        except BaseException as error:
            entry.error = error if isinstance(error, Exception) else RuntimeError("the compilation was interrupted")
            self._forget(key, entry)
            raise
        finally:
            entry.done.set()
        with self._lock:
            self._trim()

    def _forget(self, key: Hashable, entry: _Entry) -> None:
        with self._lock:
            if self._entries.get(key) is entry:
                del self._entries[key]

    def _trim(self) -> None:
        """Drop what was not used for longest; what is being made stays."""
        finished = [key for key, entry in self._entries.items() if entry.done.is_set()]
        sizes = {key: int(getattr(self._entries[key].value, "nbytes", 0)) for key in finished}
        total = sum(sizes.values())
        for key in finished[:-1]:
            if len(self._entries) <= self.max_entries and total <= self.max_bytes:
                break
            total -= sizes[key]
            del self._entries[key]

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._entries.clear()

    def __len__(self) -> int:
        return len(self._entries)
