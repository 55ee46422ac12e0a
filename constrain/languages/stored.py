"""Automata on disk: what takes long to build is built once per machine.

One `.npz` per name and per stamp of all that it is made from: the code of this package, and the Unicode tables. The
youngest of each kind are kept. A missing, truncated or foreign file, a read-only disk and concurrent writers all end in
building again.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import io
import os
import time
import unicodedata
from collections.abc import Callable
from pathlib import Path

import numpy as np

from .. import _cache
from .dfa import DFA

__all__ = ["Language", "stored", "stored_if_slow"]

_KEPT = 64
"""Files of each kind: formats, and what schemas make of strings."""
_SLOW = 0.02
"""Seconds of building from which a language is kept."""
_MOST_BYTES = 4 << 20

Language = tuple[DFA, int, "int | None"]
"""An automaton, and the least and the most characters of its strings that count."""


def stored(name: str, build: Callable[[], DFA]) -> DFA:
    """`build()` of a format, from disk if it was built before on this machine."""
    path = _path(f"format-{name}")
    found = None if path is None else _load(path)
    if found is not None:
        return found[0]
    dfa = build()
    if path is not None:
        _keep(path, (dfa, 0, None))
    return dfa


def stored_if_slow(key: object, build: Callable[[], Language], max_states: int) -> Language:
    """`build()`, from disk if that took long before. key: of plain values, told by its `repr`. max_states: the limit of
    `build`, of which the file knows nothing.
    """
    path = _path("language-" + hashlib.sha256(repr(key).encode("utf-8", "surrogatepass")).hexdigest()[:32])
    found = None if path is None or not os.path.exists(path) else _load(path)
    if found is not None and found[0].n_states <= max_states:
        return found
    start = time.thread_time()
    built = build()
    if path is not None and time.thread_time() - start > _SLOW and built[0].table.nbytes <= _MOST_BYTES:
        _keep(path, built)
    return built


def _path(name: str) -> str | None:
    env = os.environ.get
    directory = _directory(env("CONSTRAIN_CACHE_DIR"), env("XDG_CACHE_HOME"), env("HOME"))
    return None if directory is None else f"{directory}/{name}-{_stamp()}.npz"


@functools.lru_cache(maxsize=8)
def _directory(*_named: str | None) -> Path | None:
    """The folder, looked for again when what may name it has changed."""
    bases = _cache.configured_dirs()
    if (user := _cache.user_cache_dir()) is not None:
        bases.append(user)
    return _cache.usable_dir(bases, "automata")


def _keep(path: str, language: Language) -> None:
    dfa, low, high = language
    least, most = dfa.char_bounds
    regular = np.array(dfa.has_interval_lengths)
    buffer = io.BytesIO()
    np.savez(
        buffer, classes=dfa.classes, table=dfa.table, labels=dfa.labels, name=np.array(dfa.name or ""),
        least=least, most=most, regular=regular, bounds=np.array([low, -1 if high is None else high]),
    )  # fmt: skip
    file = Path(path)
    if _cache.write_atomically(file, buffer.getvalue()):
        kind, _, _ = file.name.partition("-")
        _cache.prune(file.parent, f"{kind}-*.npz", _KEPT)


def _load(path: str) -> Language | None:
    try:
        with np.load(io.BytesIO(Path(path).read_bytes()), allow_pickle=False) as arrays:
            found = [arrays[key] for key in ("classes", "table", "labels", "least", "most")]
            name, regular = str(arrays["name"]) or None, bool(arrays["regular"])
            low, high = arrays["bounds"].tolist()
    except Exception:  # not there, cut off or damaged: zip files have checksums
        return None
    for array in found:
        array.flags.writeable = False
    dfa = DFA(found[0], found[1], found[2], name)
    # what these would compute when first asked for
    dfa.__dict__.update(char_bounds=(found[3], found[4]), has_interval_lengths=regular)
    return dfa, low, None if high < 0 else high


@functools.cache
def _stamp() -> str:
    regex = importlib.util.find_spec("regex")  # to import it would take longer than the rest
    date = Path(regex.origin).stat().st_mtime_ns if regex is not None and regex.origin else 0
    digest = hashlib.sha256(f"{unicodedata.unidata_version} {date}".encode())
    for path in sorted(Path(__file__).parent.glob("*.py")):
        about = path.stat()  # to read them all would take longer than most patterns
        digest.update(f" {path.name} {about.st_size} {about.st_mtime_ns}".encode())
    return digest.hexdigest()[:32]
