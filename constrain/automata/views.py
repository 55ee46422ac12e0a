"""Arrays from addresses, so that one kernel call takes one small descriptor instead of two dozen arrays.

Unboxing an array argument costs numba about 0.1 µs; a matcher's whole working set is therefore described by one int64
array of (address, length) pairs. Whoever makes the descriptor keeps the arrays alive.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numba
import numpy as np

from .._jit import jit

__all__ = ["call_native", "register", "view_i32", "view_i64", "view_u8"]

_functions: dict[int, Callable[..., int]] = {}


def register(func):
    """Without numba: a number that stands for the address of `func`."""
    _functions[id(func)] = func
    return id(func)


if numba.config.DISABLE_JIT:

    def _view(ctype, address, size):
        return np.ctypeslib.as_array((ctype * int(size)).from_address(int(address)))

    def view_i32(address, size):
        return _view(ctypes.c_int32, address, size)

    def view_i64(address, size):
        return _view(ctypes.c_int64, address, size)

    def view_u8(address, size):
        return _view(ctypes.c_uint8, address, size)

    def call_native(address, a, b, c, d):
        return _functions[int(address)](a, b, c, d)

else:
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic

    def _pointer_to(dtype):
        @intrinsic
        def cast(typingctx, address):
            def generate(context, builder, signature, args):
                return builder.inttoptr(args[0], context.get_value_type(dtype).as_pointer())

            return types.CPointer(dtype)(types.int64), generate

        return cast

    @intrinsic
    def call_native(typingctx, address, a, b, c, d):
        """Call int64(int64, int64, int64, int64) at an address."""

        def generate(context, builder, signature, args):
            i64 = ir.IntType(64)
            function = builder.inttoptr(args[0], ir.FunctionType(i64, [i64] * 4).as_pointer())
            return builder.call(function, args[1:])

        return types.int64(*[types.int64] * 5), generate

    _pointer_i32 = _pointer_to(types.int32)
    _pointer_i64 = _pointer_to(types.int64)
    _pointer_u8 = _pointer_to(types.uint8)

    @jit
    def view_i32(address, size):
        """int32[size] over the memory at `address`."""
        return numba.carray(_pointer_i32(address), size, np.int32)

    @jit
    def view_i64(address, size):
        return numba.carray(_pointer_i64(address), size, np.int64)

    @jit
    def view_u8(address, size):
        return numba.carray(_pointer_u8(address), size, np.uint8)
