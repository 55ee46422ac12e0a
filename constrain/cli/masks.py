"""What masks are like for a schema and a tokenizer: tokens allowed at each step, and the time they take.

The walk follows an accepted instance, in the longest tokens that its text starts with; without one it takes random
allowed tokens, from a fixed seed, until the output is complete or long enough.
"""

from __future__ import annotations

import random
import time
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from .._errors import VocabularyError
from ..automata.compiled import Grammar
from ..bitmask import allocate_token_bitmask
from ..vocabulary import TEXT_BYTES, Vocabulary

__all__ = ["MaskStatistics", "mask_statistics", "percentile"]

_MOST_STEPS = 256


@dataclass
class MaskStatistics:
    """Times in seconds. steps: (bytes of the token taken, tokens allowed before it), in order; the last is the end.

    masks, again: time of each mask but the first, when the walk is made once, and when it is made again.
    missing_bytes: bytes that JSON can need and no token spells alone.
    dead_end: where no token is allowed although the output is not complete; None if that was not met.
    """

    vocabulary: str
    size: int
    kernels: float = 0.0
    tables: float = 0.0
    compile: float = 0.0
    first_mask: float = 0.0
    walk: str = ""
    steps: list[tuple[str, int]] = field(default_factory=list)
    masks: list[float] = field(default_factory=list)
    again: list[float] = field(default_factory=list)
    missing_bytes: list[int] = field(default_factory=list)
    dead_end: str | None = None

    @property
    def allowed(self) -> tuple[int, int, int]:
        """Least, median and most tokens allowed at a step."""
        counts = sorted(n for _, n in self.steps) or [0]
        return counts[0], counts[len(counts) // 2], counts[-1]

    def to_json(self) -> dict[str, Any]:
        found = asdict(self)
        found["steps"] = [{"token": token, "allowed": allowed} for token, allowed in self.steps]
        for name in ("masks", "again"):
            found[name] = {"p50": percentile(found[name], 0.5), "p99": percentile(found[name], 0.99)}
        return found


def percentile(times: list[float], share: float) -> float:
    """The time that `share` of the times do not exceed; 0 without any."""
    ordered = sorted(times)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


def mask_statistics(
    schema: Any, vocabulary: Vocabulary, name: str, options: dict[str, Any], followed: tuple[str, bytes] | None
) -> MaskStatistics:
    """Compile the schema for the vocabulary and walk. followed: name and text of an output to follow, or None."""
    import constrain

    from ..automata.index import index_of

    found = MaskStatistics(name, vocabulary.size)
    found.missing_bytes = [byte for byte in vocabulary.missing_bytes if byte in TEXT_BYTES]
    found.kernels = constrain.warmup()
    start = time.perf_counter()
    index_of(vocabulary)
    found.tables = time.perf_counter() - start
    start = time.perf_counter()
    grammar = constrain.compile_json_schema(schema, vocabulary, **options)
    found.compile = time.perf_counter() - start
    found.walk = f"along {followed[0]}" if followed else "random, seed 0"
    text = followed[1] if followed else None
    _walk(grammar, found, text)
    again = MaskStatistics(name, vocabulary.size)
    _walk(grammar, again, text)
    found.again = again.masks
    return found


def _walk(grammar: Grammar, found: MaskStatistics, text: bytes | None) -> None:
    vocabulary = grammar.vocabulary
    assert vocabulary is not None
    ids = _by_bytes(vocabulary) if text is not None else {}
    chance = random.Random(0)
    bitmask = allocate_token_bitmask(1, vocabulary.size)
    start = time.perf_counter()
    matcher = grammar.matcher(max_rollback=0)
    written = b""
    while len(found.steps) < _MOST_STEPS:
        start = start if not found.steps else time.perf_counter()
        try:
            matcher.fill_next_token_bitmask(bitmask)
        except VocabularyError:
            bitmask[0] = 0
        elapsed = time.perf_counter() - start
        if found.steps:
            found.masks.append(elapsed)
        else:
            found.first_mask = elapsed
        allowed = np.flatnonzero(np.unpackbits(bitmask[0].view(np.uint8), bitorder="little"))
        complete = matcher.is_accepting()
        if complete and (text is None or written == text):
            found.steps.append(("", len(allowed)))
            return
        if text is None:
            token = int(allowed[chance.randrange(len(allowed))]) if len(allowed) else -1
        else:
            token = _longest(ids, set(allowed.tolist()), text[len(written) :], vocabulary.max_token_bytes)
        if token < 0:
            found.dead_end = f"after {written[-60:].decode('utf-8', 'backslashreplace')!r}"
            if text is not None and len(allowed):
                found.dead_end += f" no token spells the byte 0x{text[len(written)]:02x} that follows"
            return
        piece = vocabulary.token_bytes(token) or b""
        found.steps.append((piece.decode("utf-8", "backslashreplace"), len(allowed)))
        matcher.accept_token(token)
        written += piece


def _by_bytes(vocabulary: Vocabulary) -> dict[bytes, int]:
    flat, offsets = vocabulary.flat.tobytes(), vocabulary.offsets.tolist()
    found: dict[bytes, int] = {}
    for token in range(vocabulary.size):
        found.setdefault(flat[offsets[token] : offsets[token + 1]], token)
    return found


def _longest(ids: dict[bytes, int], allowed: set[int], rest: bytes, most: int) -> int:
    """The allowed token that spells the longest beginning of `rest`, or -1."""
    for size in range(min(most, len(rest)), 0, -1):
        token = ids.get(rest[:size], -1)
        if token in allowed:
            return token
    return -1
