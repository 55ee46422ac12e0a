"""Arrays from addresses, so that one kernel call takes one small descriptor instead of two dozen arrays.

Unboxing an array argument costs numba about 0.1 µs; a matcher's whole working set is therefore described by one int64
array of (address, length) pairs. Whoever makes the descriptor keeps the arrays alive.
"""

from __future__ import annotations

import ctypes

import numba
import numpy as np

from .._jit import jit

__all__ = ["view_i32", "view_i64", "view_u8"]

if numba.config.DISABLE_JIT:

    def _view(ctype, address, size):
        return np.ctypeslib.as_array((ctype * int(size)).from_address(int(address)))

    def view_i32(address, size):
        return _view(ctypes.c_int32, address, size)

    def view_i64(address, size):
        return _view(ctypes.c_int64, address, size)

    def view_u8(address, size):
        return _view(ctypes.c_uint8, address, size)

else:
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic

    def _pointer_to(dtype):
        @intrinsic
        def cast(typingctx, address):
            def generate(context, builder, signature, args):
                return builder.inttoptr(args[0], cgutils.voidptr_t if dtype is None else context.get_value_type(dtype).as_pointer())

            return types.CPointer(dtype)(types.int64), generate

        return cast

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
