"""Products of a few vectors with a weight matrix, which decoding waits for.

For one vector BLAS reads the matrix once, at the speed of memory. For a few it first rearranges the whole matrix, which
takes several times as long as one vector does; the kernel here reads it once for all of them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import types

from .._jit import jit

__all__ = ["product"]

Floats = npt.NDArray[np.float32]

FEW = range(2, 17)

_READ = types.Array(types.float32, 2, "C", readonly=True)


def product(x: Floats, weight: Floats) -> Floats:
    """x @ weight.T for x [T, width] and weight [out, width]; float32 [T, out]."""
    if len(x) not in FEW or not hasattr(_few, "py_func"):
        return x @ weight.T
    out: Floats = np.empty((len(x), len(weight)), np.float32)
    _few(weight, np.ascontiguousarray(x), out)
    return out


@jit(signature=types.void(_READ, _READ, types.float32[:, ::1]), fastmath={"reassoc", "contract", "nsz"})
def _few(weight, x, out):  # type: ignore[no-untyped-def]
    """Four rows of the matrix at a time, so that each number of x is loaded once for four sums."""
    rows, width = weight.shape
    whole = rows - rows % 4
    for n in range(0, whole, 4):
        for t in range(len(x)):
            a = b = c = d = np.float32(0)
            for k in range(width):
                value = x[t, k]
                a += weight[n, k] * value
                b += weight[n + 1, k] * value
                c += weight[n + 2, k] * value
                d += weight[n + 3, k] * value
            out[t, n], out[t, n + 1], out[t, n + 2], out[t, n + 3] = a, b, c, d
    for n in range(whole, rows):
        for t in range(len(x)):
            a = np.float32(0)
            for k in range(width):
                a += weight[n, k] * x[t, k]
            out[t, n] = a
