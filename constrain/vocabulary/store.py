"""Parsed token tables, and what is made of them, on disk: a tokenizer file of megabytes is parsed and sorted once per
machine.

One `.npz` per content hash of the source and of the code that made it, in CONSTRAIN_CACHE_DIR or the user's cache
folder; the youngest are kept. A truncated or foreign file, a read-only disk and concurrent writers all end in parsing
again.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from constrain import _cache
from constrain.vocabulary.table import AddedToken, TokenTable

if TYPE_CHECKING:
    from constrain.vocabulary.trie import Trie

__all__ = ["Arrays", "cached_arrays", "cached_table", "cached_trie"]

Arrays = Mapping[str, NDArray[Any]]

_KEPT_TABLES = 24
_KEPT_ARRAYS = 12  # of each kind
_SMALL = 1 << 14  # for fewer tokens, tries are built as fast as they are read


def cached_table(content: bytes, parse: Callable[[bytes], TokenTable]) -> TokenTable:
    """`parse(content)`, from disk if it was parsed before."""
    directory = _directory()
    if directory is None:
        return parse(content)
    digest = hashlib.sha256(_cache.code_stamp("vocabulary"))
    digest.update(content)
    path = directory / f"{digest.hexdigest()[:40]}.npz"
    table = _load(path)
    if table is None:
        table = parse(content)
        if _cache.write_atomically(path, _dump(table)):
            _cache.prune(directory, "[0-9a-f]*.npz", _KEPT_TABLES)
    return table


def cached_trie(fingerprint: str, size: int, build: Callable[[], Trie]) -> Trie:
    """The trie of the vocabulary with that fingerprint and `size` ids: from disk if it was built before."""
    from constrain.vocabulary.trie import FIELDS, Trie

    def made() -> Arrays:
        trie = build()
        return {field: np.asarray(getattr(trie, field)) for field in FIELDS}

    arrays = cached_arrays("trie", FIELDS, fingerprint, size, _cache.code_stamp("vocabulary"), made)
    return Trie.of(arrays[field] for field in FIELDS)


def cached_arrays(
    kind: str, names: Collection[str], fingerprint: str, size: int, stamp: bytes, build: Callable[[], Arrays]
) -> Arrays:
    """What `build()` makes for the vocabulary with that fingerprint and `size` ids, from disk if it was made before.

    kind: begins the names of the files. names: of the arrays. stamp: hash of the code that makes them.
    """
    directory = _directory() if size >= _SMALL else None
    if directory is None:
        return build()
    path = directory / f"{kind}-{hashlib.sha256(stamp + fingerprint.encode()).hexdigest()[:40]}.npz"
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as stored:
            return {name: stored[name] for name in names}
    except Exception:  # not there, cut off, damaged or foreign: zip files have checksums
        made = build()
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **made)  # type: ignore[arg-type]
    if _cache.write_atomically(path, buffer.getvalue()):
        _cache.prune(directory, f"{kind}-*.npz", _KEPT_ARRAYS)
    return made


def _directory() -> Path | None:
    bases = _cache.configured_dirs()
    if (user := _cache.user_cache_dir()) is not None:
        bases.append(user)
    return _cache.usable_dir(bases, "vocabularies")


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
