"""How kernels are declared: `@kernel("P A T i -> b")` names the type of every argument and of the result.

    P A C H W M   int32[::1]: program, arena, configurations, history, walk stack, mask (layout.py)
    T             uint8[::1]: text, or other bytes
    O             int64[::1]: descriptor, token offsets
    B             int32[:, ::1]: masks in rows
    R             (uint8[::1], int32[::1], int32[::1], int32[::1]): a trie
    i b v         int64, bool, nothing; ii and iii are tuples

Every kernel is compiled for exactly these types, once, when another kernel first needs it: numba would otherwise
compile a version for each mix of int32 and int64 that it meets.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from .._jit import jit, native

__all__ = ["kernel", "native_address"]

F = TypeVar("F", bound=Callable[..., Any])


def kernel(spec: str, *, entry: bool = False) -> Callable[[F], F]:
    """Decorate a kernel. entry: Python calls it, so it is compiled (or loaded) at import."""
    return jit(signature=_signature(spec), eager=entry, _nrt=False)


def native_address(func: Callable[..., Any], spec: str) -> int:
    """Address of `func` compiled apart, for `views.call_native`."""
    from .views import register

    compiled = native(func, _signature(spec))
    return register(func) if compiled is None else compiled.address


def _signature(spec: str) -> Any:
    from numba import types

    i32, u8, i64 = types.int32[::1], types.uint8[::1], types.int64[::1]
    named = {
        **dict.fromkeys("PACHWM", i32),
        "T": u8,
        "O": i64,
        "B": types.int32[:, ::1],
        "R": types.Tuple((u8, i32, i32, i32)),
        "i": types.int64,
        "b": types.boolean,
        "v": types.void,
        "ii": types.UniTuple(types.int64, 2),
        "iii": types.UniTuple(types.int64, 3),
    }
    arguments, result = spec.split("->")
    return named[result.strip()](*(named[a] for a in arguments.split()))
