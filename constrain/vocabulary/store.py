"""Parsed token tables on disk, so that a tokenizer file of megabytes is parsed once per machine.

One `.npz` per content hash of the source and of the loaders' own code, in CONSTRAIN_CACHE_DIR or the user's cache
folder; the youngest are kept. A truncated or foreign file, a read-only disk and concurrent writers all end in parsing
again.
"""

from __future__ import annotations

import functools
import hashlib
import io
import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

from constrain import _cache
from constrain.vocabulary.table import AddedToken, TokenTable

__all__ = ["cached_table"]

_KEPT_TABLES = 24


def cached_table(content: bytes, parse: Callable[[bytes], TokenTable]) -> TokenTable:
    """`parse(content)`, from disk if it was parsed before."""
    directory = _directory()
    if directory is None:
        return parse(content)
    digest = hashlib.sha256(_loader_stamp())
    digest.update(content)
    path = directory / f"{digest.hexdigest()[:40]}.npz"
    table = _load(path)
    if table is None:
        table = parse(content)
        if _cache.write_atomically(path, _dump(table)):
            _cache.prune(directory, "*.npz", _KEPT_TABLES)
    return table


def _directory() -> Path | None:
    bases = _cache.configured_dirs()
    if (user := _cache.user_cache_dir()) is not None:
        bases.append(user)
    return _cache.usable_dir(bases, "vocabularies")


@functools.cache
def _loader_stamp() -> bytes:
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.digest()


def _dump(table: TokenTable) -> bytes:
    names = {"added": [[i, *token] for i, token in table.added.items()], "eos": table.eos}
    buffer = io.BytesIO()
    np.savez(
        buffer,
        flat=table.flat,
        offsets=table.offsets,
        names=np.frombuffer(json.dumps(names).encode(), np.uint8),
    )
    return buffer.getvalue()


def _load(path: Path) -> TokenTable | None:
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as arrays:
            names = json.loads(arrays["names"].tobytes())
            added = {int(i): AddedToken(str(text), bool(special)) for i, text, special in names["added"]}
            eos = None if names["eos"] is None else tuple(int(i) for i in names["eos"])
            table = TokenTable(arrays["flat"], arrays["offsets"], added, eos)
            os.utime(path)  # used again: among the last to be pruned
    except FileNotFoundError:
        return None
    except PermissionError:
        pass  # read, but its date cannot be set
    except Exception:  # whatever a damaged zip, array or JSON text raises
        return None
    return table
