"""Automata on disk: those of formats that take long to build are built once per machine.

One `.npz` per name, with what every automaton is asked first, and per hash of all that it is made from: the code of
this package, and the Unicode tables. A missing, truncated or foreign file, a read-only disk and concurrent writers all
end in building again.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import io
import unicodedata
from collections.abc import Callable
from pathlib import Path

import numpy as np

from .. import _cache
from .dfa import DFA

__all__ = ["stored"]

_KEPT = 64


def stored(name: str, build: Callable[[], DFA]) -> DFA:
    """`build()`, from disk if it was built before on this machine."""
    bases = _cache.configured_dirs()
    if (user := _cache.user_cache_dir()) is not None:
        bases.append(user)
    directory = _cache.usable_dir(bases, "automata")
    if directory is None:
        return build()
    path = directory / f"{name}-{_stamp()}.npz"
    dfa = _load(path)
    if dfa is None:
        dfa = build()
        least, most = dfa.char_bounds
        regular = np.array(dfa.has_interval_lengths)
        buffer = io.BytesIO()
        np.savez(
            buffer, classes=dfa.classes, table=dfa.table, labels=dfa.labels, name=np.array(dfa.name or ""),
            least=least, most=most, regular=regular,
        )  # fmt: skip
        if _cache.write_atomically(path, buffer.getvalue()):
            _cache.prune(directory, "*.npz", _KEPT)
    return dfa


def _load(path: Path) -> DFA | None:
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as arrays:
            found = [arrays[key] for key in ("classes", "table", "labels", "least", "most")]
            name, regular = str(arrays["name"]) or None, bool(arrays["regular"])
    except Exception:  # not there, cut off or damaged: zip files have checksums
        return None
    for array in found:
        array.flags.writeable = False
    dfa = DFA(found[0], found[1], found[2], name)
    # what these would compute when first asked for
    dfa.__dict__.update(char_bounds=(found[3], found[4]), has_interval_lengths=regular)
    return dfa


@functools.cache
def _stamp() -> str:
    regex = importlib.util.find_spec("regex")  # to import it would take longer than the rest
    date = Path(regex.origin).stat().st_mtime_ns if regex is not None and regex.origin else 0
    digest = hashlib.sha256(f"{unicodedata.unidata_version} {date}".encode())
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:32]
