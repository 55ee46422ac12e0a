"""Limits on what a constraint may cost, with defaults that a public server can run, and the clock of a compilation."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import NamedTuple

from ._arguments import an_instance, integer
from ._errors import LimitError

__all__ = ["Limits", "check_alternatives", "check_time", "limits_of", "timed", "within"]


@dataclass(frozen=True)
class Limits:
    """Bounds on compile and step costs; passing one raises LimitError with the field's name.

    max_source_bytes: length of a schema, pattern or grammar text in UTF-8 bytes.
    max_depth:        nesting of the source (schema in schema, group in group); a step's stack is not bounded by it.
    max_states:       states of one automaton after determinisation (about 100 bytes and 1-5 µs each).
    max_alternatives: shapes that one union of objects or arrays may have after normalisation, and clauses of one
                      language of strings or numbers.
    max_threads:      parallel threads that one step may keep alive (each costs about 50 ns a byte).
    max_nodes:        grammar nodes that one grammar may compile in its life (about 1 KB each).
    max_seconds:      processor time of one compilation, and of what one later step builds and decides on demand.
    """

    max_source_bytes: int = 4_000_000
    max_depth: int = 400
    max_states: int = 50_000
    max_alternatives: int = 512
    max_threads: int = 512
    max_nodes: int = 200_000
    max_seconds: float = 10.0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if name == "max_seconds" and isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0:
                continue
            integer(value, f"Limits.{name}", 0)


def limits_of(limits: Limits | None) -> Limits:
    """The limits that a caller gives, or the defaults."""
    return Limits() if limits is None else an_instance(limits, Limits, "limits", "constrain.Limits")  # type: ignore[no-any-return]


class _Clock(NamedTuple):
    """The limits at work, what the work is, and when it ends: by the processor time of its thread. That cannot pass a
    length of time before the wall clock does, which is cheaper to look at.
    """

    limits: Limits
    what: str
    wall: float
    processor: float

    @classmethod
    def of(cls, limits: Limits, what: str, seconds: float) -> _Clock:
        return cls(limits, what, time.monotonic() + seconds, time.thread_time() + seconds)


_running: ContextVar[_Clock | None] = ContextVar("_running", default=None)


@contextmanager
def timed(limits: Limits, what: str = "time of one compilation", seconds: float | None = None) -> Iterator[None]:
    """Inside, work that may grow checks the clock; what is called from there shares the outermost clock.

    seconds: what is left of `limits.max_seconds`; all by default.
    """
    if _running.get() is not None:
        yield
        return
    token = _running.set(_Clock.of(limits, what, limits.max_seconds if seconds is None else seconds))
    try:
        yield
    finally:
        _running.reset(token)


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Inside, the clock ends so soon if it does not end sooner."""
    outer = _running.get()
    limits, what = (Limits(), "time of one question") if outer is None else (outer.limits, outer.what)
    clock = _Clock.of(limits, what, seconds)
    token = _running.set(clock if outer is None or clock.processor < outer.processor else outer)
    try:
        yield
    finally:
        _running.reset(token)


def check_time() -> None:
    """LimitError when the time is up. Takes a tenth of a microsecond."""
    clock = _running.get()
    if clock is not None and time.monotonic() > clock.wall and time.thread_time() > clock.processor:
        raise LimitError("max_seconds", clock.limits.max_seconds, clock.what)


def check_alternatives(count: int, what: str) -> None:
    """LimitError when a union has too many parts, or the time is up."""
    check_time()
    clock = _running.get()
    most = Limits.max_alternatives if clock is None else clock.limits.max_alternatives
    if count > most:
        raise LimitError("max_alternatives", most, what)
