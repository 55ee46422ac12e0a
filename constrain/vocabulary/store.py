"""Parsed token tables, and their tries, on disk: a tokenizer file of megabytes is parsed and sorted once per machine.

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
from typing import TYPE_CHECKING

import numpy as np

from constrain import _cache
from constrain.vocabulary.table import AddedToken, TokenTable

if TYPE_CHECKING:
    from constrain.vocabulary.trie import Trie

__all__ = ["cached_table", "cached_trie"]

_KEPT_TABLES = 24
_KEPT_TRIES = 48
_SMALL = 1 << 14  # tries of fewer tokens are built as fast as they are read


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
            _cache.prune(directory, "[0-9a-f]*.npz", _KEPT_TABLES)
    return table


def cached_trie(fingerprint: str, name: str, size: int, build: Callable[[], Trie]) -> Trie:
    """The trie `name` of the vocabulary with that fingerprint and `size` ids: from disk if it was built before."""
    from constrain.vocabulary.trie import Trie

    directory = _directory() if size >= _SMALL else None
    if directory is None:
        return build()
    stamp = hashlib.sha256(_loader_stamp() + fingerprint.encode()).hexdigest()[:40]
    path = directory / f"trie-{stamp}-{name}.npz"
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as stored:
            return Trie(stored["byte"], stored["end"], stored["id_start"], stored["ids"], int(stored["depth"]))
    except Exception:  # not there, cut off or damaged: zip files have checksums
        trie = build()
    buffer = io.BytesIO()
    np.savez(buffer, byte=trie.byte, end=trie.end, id_start=trie.id_start, ids=trie.ids, depth=trie.depth)
    if _cache.write_atomically(path, buffer.getvalue()):
        _cache.prune(directory, "trie-*.npz", _KEPT_TRIES)
    return trie


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
