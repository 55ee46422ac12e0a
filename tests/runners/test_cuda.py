"""The CUDA kernels in numba's simulator, in a process of its own: numba decides at its import whether it simulates."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from numba import cuda

from constrain.runners import CudaRunner

TESTS = Path(__file__).parents[1]


def run(*arguments, **environment):
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        timeout=1800,
        cwd=TESTS.parent,
        env={**os.environ, **environment},
    )


def test_the_kernels_in_the_simulator():
    done = run("-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/cuda", NUMBA_ENABLE_CUDASIM="1")
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert "passed" in done.stdout and "skipped" not in done.stdout


@pytest.mark.skipif(cuda.is_available(), reason="there is a device")
def test_without_a_device_the_runner_says_what_is_missing():
    with pytest.raises(RuntimeError, match="needs an NVIDIA GPU: numba finds none"):
        CudaRunner(None, None)


def test_the_check_of_a_gpu_in_the_simulator():
    """Sizes are small there, and nothing is timed."""
    done = run("benchmarks/gpu_check.py", PYTHONPATH=str(TESTS.parent), NUMBA_ENABLE_CUDASIM="1")
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    assert "simulator" in done.stdout and "bandwidth" not in done.stdout and "DIFFERS" not in done.stdout
    assert done.stdout.count("equal |") == 3


@pytest.mark.skipif(cuda.is_available(), reason="there is a device")
def test_the_check_of_a_gpu_says_that_there_is_none():
    done = run("benchmarks/gpu_check.py", PYTHONPATH=str(TESTS.parent))
    assert done.returncode == 2 and done.stdout.startswith("No GPU") and "Nothing was checked" in done.stdout
