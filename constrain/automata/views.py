"""Arrays from addresses, and calls by address, inside kernels.

Unboxing an array argument costs numba about 0.1 µs; a matcher's whole working set is therefore described by one int64
array of (address, length) pairs, and kernels make their arrays from it. Whoever makes the descriptor keeps them alive.

These are intrinsics, not functions: they put a few instructions into the kernel that uses them.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numba

__all__ = ["address_of", "address_of_row", "call_native", "fence", "ints", "octets", "register", "take_one", "view_i64"]

_functions: dict[int, Callable[..., Any]] = {}


def register(func: Callable[..., Any]) -> int:
    """Without numba: a number that stands for the address of `func`."""
    _functions[id(func)] = func
    return id(func)


if numba.config.DISABLE_JIT:

    def _view(ctype: Any, code: Any, address: int, size: int) -> Any:
        """A memoryview and not an array, since its elements are plain ints, which hashes need not fit into."""
        if not size:
            return memoryview(b"").cast("B").cast(code)
        return memoryview((ctype * int(size)).from_address(int(address))).cast("B").cast(code)

    def view_i64(address, size):
        return _view(ctypes.c_int64, "q", address, size)

    def ints(desc, place):
        return _view(ctypes.c_int32, "i", desc[place], desc[place + 1])

    def octets(desc, place):
        return _view(ctypes.c_uint8, "B", desc[place], desc[place + 1])

    def address_of(array):
        return array.ctypes.data

    def address_of_row(table, row):
        return table.ctypes.data + row * table.strides[0]

    def call_native(address, a, b, c, d):
        return _functions[int(address)](a, b, c, d)

    def fence():
        pass

    def take_one(address):
        counter = view_i64(address, 1)
        counter[0] += 1
        return int(counter[0]) - 1

else:
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic
    from numba.np.arrayobj import populate_array

    _I64 = ir.IntType(64)

    def _array(context, builder, kind, address, size):
        """The array value of `kind` over `size` elements of the memory at `address`."""
        array = context.make_array(kind)(context, builder)
        itemsize = ir.Constant(_I64, kind.dtype.bitwidth // 8)
        populate_array(
            array,
            data=builder.inttoptr(address, array.data.type),
            shape=cgutils.pack_array(builder, [size]),
            strides=cgutils.pack_array(builder, [itemsize]),
            itemsize=itemsize,
            meminfo=None,
        )
        return array._getvalue()

    def _from_descriptor(kind):
        @intrinsic
        def view(typingctx, desc, place):
            def generate(context, builder, signature, args):
                base = context.make_array(signature.args[0])(context, builder, args[0]).data
                address = builder.load(builder.gep(base, [args[1]]))
                size = builder.load(builder.gep(base, [builder.add(args[1], ir.Constant(_I64, 1))]))
                return _array(context, builder, kind, address, size)

            return kind(desc, types.int64), generate

        return view

    ints = _from_descriptor(types.int32[::1])
    """ints(desc, place): int32[length] over the array whose address and length lie at desc[place]."""
    octets = _from_descriptor(types.uint8[::1])
    """The same for uint8."""

    @intrinsic
    def view_i64(typingctx, address, size):
        """int64[size] over the memory at `address`."""
        kind = types.int64[::1]

        def generate(context, builder, signature, args):
            return _array(context, builder, kind, *args)

        return kind(types.int64, types.int64), generate

    @intrinsic
    def address_of(typingctx, array):
        """Address of the first element of an array."""

        def generate(context, builder, signature, args):
            return builder.ptrtoint(context.make_array(signature.args[0])(context, builder, args[0]).data, _I64)

        return types.int64(array), generate

    @intrinsic
    def address_of_row(typingctx, table, row):
        """Address of a row of an int32[rows, words]."""

        def generate(context, builder, signature, args):
            array = context.make_array(signature.args[0])(context, builder, args[0])
            stride = cgutils.unpack_tuple(builder, array.strides, 2)[0]
            return builder.add(builder.ptrtoint(array.data, _I64), builder.mul(args[1], stride))

        return types.int64(table, types.int64), generate

    @intrinsic
    def call_native(typingctx, address, a, b, c, d):
        """Call int64(int64, int64, int64, int64) at an address."""

        def generate(context, builder, signature, args):
            function = builder.inttoptr(args[0], ir.FunctionType(_I64, [_I64] * 4).as_pointer())
            return builder.call(function, args[1:])

        return types.int64(*[types.int64] * 5), generate

    @intrinsic
    def fence(typingctx):
        """What was written before is seen before what is written after, by other threads too; and so for reading."""

        def generate(context, builder, signature, args):
            builder.fence("acq_rel")
            return context.get_dummy_value()

        return types.void(), generate

    @intrinsic
    def take_one(typingctx, address):
        """Add 1 to the int64 at an address, at once for all threads; what it was."""

        def generate(context, builder, signature, args):
            pointer = builder.inttoptr(args[0], _I64.as_pointer())
            return builder.atomic_rmw("add", pointer, ir.Constant(_I64, 1), "monotonic")

        return types.int64(types.int64), generate
