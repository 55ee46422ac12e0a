"""What the cache of the jit decorator survives; each case has processes of its own, on a small copy of the package."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "constrain"

CALLEE = """
from constrain._jit import jit
OFFSET = {offset}

@jit
def callee(x):
    return {factor} * x + OFFSET
"""

CALLER = """
from constrain._jit import jit
from constrain.callee import callee

@jit(signature="int64(int64)", eager=False)
def part(x):
    if x < 0:
        raise ValueError
    return callee(x)

@jit(signature="int64(int64)")
def caller(x):
    return part(x) + 1

@jit
def first(values, index=0):
    return values[index]
"""

SCRIPT = """
import json, sys, warnings
import constrain
assert "numba" not in sys.modules
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    from constrain._jit import cache_dir
    from constrain.caller import caller, first
    import numpy as np
    value = caller(10)
    compiled = hasattr(caller, "stats")
    first(np.arange(3))
    try:
        out_of_bounds = int(first(np.arange(3), 7))
    except IndexError:
        out_of_bounds = "IndexError"
    hits = sum(sum(f.stats.cache_hits.values()) for f in (caller, first)) if compiled else 0
try:
    caller(-1)
    raised = False
except ValueError:
    raised = True
try:
    caller("text")
    refused = False
except TypeError:
    refused = True
print(json.dumps(dict(value=value, compiled=compiled, hits=hits, directory=str(cache_dir()) if compiled else None,
                      warnings=[str(w.message) for w in seen], out_of_bounds=out_of_bounds, refused=refused,
                      raised=raised)))
"""


class Copy:
    """A package `constrain` with the real decorator and two kernel modules, one calling into the other."""

    def __init__(self, root: Path) -> None:
        self.root, self.package = root, root / "constrain"
        self.package.mkdir()
        (self.package / "__init__.py").touch()
        for name in ("_jit.py", "_parts.py", "_cache.py"):
            shutil.copy(PACKAGE / name, self.package / name)
        (self.package / "caller.py").write_text(CALLER)
        self.write_callee()

    def write_callee(self, factor: int = 2, offset: int = 0) -> None:
        (self.package / "callee.py").write_text(CALLEE.format(factor=factor, offset=offset))

    def start(self, script: str = SCRIPT, **environment: str) -> subprocess.Popen[str]:
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA_", "CONSTRAIN_"))}
        home = str(self.root / "home")
        return subprocess.Popen(
            [sys.executable, "-B", "-c", script],
            cwd=self.root,
            env={**inherited, "PYTHONPATH": str(self.root), "HOME": home, "XDG_CACHE_HOME": home, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, **environment: str) -> dict:
        return finish(self.start(**environment))

    def files(self, suffix: str) -> list[Path]:
        return sorted(self.root.rglob(f"*{suffix}"))


def finish(process: subprocess.Popen[str]) -> dict:
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return json.loads(out)


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    return Copy(tmp_path)


def test_second_process_loads_and_any_edit_recompiles(copy: Copy) -> None:
    cold = copy.run()
    assert (cold["value"], cold["hits"], cold["warnings"], cold["refused"]) == (21, 0, [], True)
    assert cold["raised"]  # by a function that is only a part of another
    assert Path(cold["directory"]).parent == copy.package / "__pycache__"
    assert copy.run()["hits"] == 3
    copy.write_callee(factor=3)  # a callee in another module
    assert copy.run()["value"] == 31
    copy.write_callee(factor=3, offset=100)  # a constant in another module
    edited = copy.run()
    assert (edited["value"], edited["hits"]) == (131, 0)
    copy.write_callee(factor=4)
    assert copy.run()["value"] == 41
    assert len(list((copy.package / "__pycache__").glob("constrain-numba-*"))) == 3


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
def test_damaged_files_are_compiled_again(copy: Copy, suffix: str) -> None:
    copy.run()
    for path in copy.files(suffix):
        path.write_bytes(path.read_bytes()[:100] if suffix == ".nbc" else b"garbage")
    damaged = copy.run()
    assert (damaged["value"], damaged["hits"]) == (21, 0)
    assert damaged["warnings"] and all("damaged" in text for text in damaged["warnings"])
    mended = copy.run()
    assert (mended["value"], mended["hits"], mended["warnings"]) == (21, 3, [])


def test_directories_are_tried_in_order(copy: Copy, tmp_path: Path) -> None:
    named = tmp_path / "named"
    assert Path(copy.run(CONSTRAIN_CACHE_DIR=str(named))["directory"]).parent == named
    (copy.package / "__pycache__").touch()  # a file in its place: not even root can write there
    directory = copy.run(CONSTRAIN_CACHE_DIR="/dev/null/no")["directory"]
    assert Path(directory).parent == tmp_path / "home" / "constrain"
    nowhere = copy.run(XDG_CACHE_HOME="/dev/null", HOME="/dev/null", LOCALAPPDATA="NUL")
    assert (nowhere["value"], nowhere["directory"], nowhere["warnings"]) == (21, "None", [])


def test_code_of_another_signature_is_not_run(copy: Copy) -> None:
    """Processes that compile at once can leave an index entry that names the file of another signature."""
    copy.run()
    script = SCRIPT.replace("caller(10)", "caller(10) + int(first(np.array([0.25, 2.5]), 1) * 4)").replace(
        "from constrain.caller", "import numpy as np\n    from constrain.caller"
    )
    assert finish(copy.start(script))["value"] == 31
    first = sorted(path for path in copy.files(".nbc") if "first" in path.name)
    contents = [path.read_bytes() for path in first]
    for path, content in zip(first, contents[1:] + contents[:1], strict=True):
        path.write_bytes(content)
    swapped = finish(copy.start(script))
    assert (swapped["value"], swapped["warnings"]) == (31, [])


def test_bounds_checked_code_is_kept_apart(copy: Copy) -> None:
    plain, checked = copy.run(), copy.run(NUMBA_BOUNDSCHECK="1")
    assert checked["out_of_bounds"] == "IndexError" != plain["out_of_bounds"]
    assert checked["directory"] != plain["directory"]


def test_disabled_jit_gives_plain_functions(copy: Copy) -> None:
    result = copy.run(NUMBA_DISABLE_JIT="1")
    assert (result["value"], result["compiled"]) == (21, False)
    assert not copy.files(".nbi")


def test_processes_may_compile_at_once(copy: Copy) -> None:
    results = [finish(process) for process in [copy.start() for _ in range(4)]]
    assert all((r["value"], r["warnings"]) == (21, []) for r in results)
    assert copy.run()["hits"] == 3
