"""Tests of the CUDA kernels, in numba's simulator or on a real device; `tests/runners/test_cuda.py` runs them so.

Elsewhere there is nothing to collect: whether kernels are simulated is decided when numba is imported.
"""

from __future__ import annotations

import os
import sys

collect_ignore_glob = [] if os.environ.get("NUMBA_ENABLE_CUDASIM") == "1" else ["test_*.py"]

if not collect_ignore_glob:
    sys.setswitchinterval(2e-5)  # each simulated thread is one of Python, which waits for its turn at every barrier
