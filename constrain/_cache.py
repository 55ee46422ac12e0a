"""Files that may be lost: where caches live, and how they are written and bounded.

A cache directory is chosen from candidates, best first. Every function here treats a full, read-only or vanished disk
as normal: caches make things faster, they never make them fail.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

__all__ = ["code_stamp", "configured_dirs", "prune", "usable_dir", "user_cache_dir", "write_atomically"]


@functools.cache
def code_stamp(*folders: str) -> bytes:
    """Hash of the modules in folders of this package; what they made is only good for the same code."""
    digest = hashlib.sha256()
    for folder in folders:
        for path in sorted((Path(__file__).parent / folder).glob("*.py")):
            digest.update(path.read_bytes())
    return digest.digest()


def user_cache_dir() -> Path | None:
    """The per-user cache folder of `constrain` by the platform's convention, or None when there is no home."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA")
    elif sys.platform == "darwin":
        base = os.path.expanduser("~/Library/Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    if not base or base.startswith("~"):
        return None
    return Path(base) / "constrain"


def configured_dirs() -> list[Path]:
    """The folder that the environment names: CONSTRAIN_CACHE_DIR, if set."""
    named = os.environ.get("CONSTRAIN_CACHE_DIR")
    return [Path(named)] if named else []


def usable_dir(bases: Iterable[Path], name: str) -> Path | None:
    """The first `base/name` that can be written, or that exists already (a read-only cache baked into an image)."""
    for base in bases:
        path = base / name
        try:
            existed = path.is_dir()
            if not existed:
                path.mkdir(mode=0o700, parents=True, exist_ok=True)
            try:
                tempfile.TemporaryFile(dir=path).close()
            except OSError:
                if not existed or not any(path.iterdir()):
                    continue
            return path
        except OSError:
            continue
    return None


def write_atomically(path: Path, data: bytes) -> bool:
    """Write `data` to `path` so that readers see the old file, the new one or none; False when the disk refuses."""
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(prefix=path.name + ".", suffix=".tmp", dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
    except OSError:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        return False
    return True


def prune(base: Path, pattern: str, keep: int) -> None:
    """Remove all but the `keep` most recently modified entries (files or folders) of `base` that match `pattern`."""
    dated = []
    try:
        for entry in base.glob(pattern):
            with contextlib.suppress(OSError):
                dated.append((entry.stat().st_mtime, entry.name))
    except OSError:
        return
    for _, name in sorted(dated, reverse=True)[keep:]:
        entry = base / name
        with contextlib.suppress(OSError):
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry, ignore_errors=True)
            else:
                entry.unlink()
