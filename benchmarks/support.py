"""What the benchmark scripts share: cases, tokenizers, percentiles and tables.

A case is one line of JSON, {"id", "schema", "tests": [{"data", "valid"}]}, as in MaskBench's data; `.xz` files are
read as they are. Without a file the bundled `examples.jsonl` is used.
"""

from __future__ import annotations

import json
import lzma
import re
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

import constrain

EXAMPLES = Path(__file__).with_name("examples.jsonl")


@dataclass(frozen=True)
class Case:
    id: str
    schema: Any
    tests: list[dict[str, Any]]


def read_cases(path: Path | None, every: int = 1, offset: int = 0) -> Iterator[Case]:
    """Every so many cases of a file (jsonl or jsonl.xz), from `offset` on; of the examples when there is no path."""
    path = path or EXAMPLES
    with lzma.open(path, "rt", encoding="utf-8") if path.suffix == ".xz" else path.open(encoding="utf-8") as lines:
        for line in islice(lines, offset, None, every):
            row = json.loads(line)
            yield Case(row["id"], row["schema"], row.get("tests", []))


def add_data_arguments(parser: Any) -> None:
    parser.add_argument("path", nargs="?", type=Path, help="cases, jsonl or jsonl.xz; default: the bundled examples")
    parser.add_argument("--every", type=int, default=1, help="only every so many cases")
    parser.add_argument("--offset", type=int, default=0, help="the first case")
    parser.add_argument("--tokenizer", type=Path, help="tokenizer.json; default: one token per byte")
    parser.add_argument("--eos", help="text of the token that ends the output; needed with --tokenizer")


# Tokenizers -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tokenizer:
    """A vocabulary, and how text becomes its tokens. path: None for the vocabulary of single bytes."""

    name: str
    path: Path | None
    eos: int
    vocabulary: constrain.Vocabulary
    encode: Callable[[str], Sequence[int]]


def load_tokenizer(path: Path | None, eos: str | None, markers: Sequence[str] = ()) -> Tokenizer:
    """markers: control tokens that it gets where it lacks them."""
    if path is None:
        return _bytes(markers)
    if eos is None:
        raise SystemExit("--tokenizer needs --eos, the text of the token that ends the output")
    from tokenizers import Tokenizer as Reader

    reader = Reader.from_file(str(path))
    eos_id = reader.token_to_id(eos)
    if eos_id is None:
        raise SystemExit(f"the tokenizer has no token {eos!r}")
    reader.add_special_tokens([marker for marker in markers if reader.token_to_id(marker) is None])
    vocabulary = constrain.Vocabulary.from_tokenizer(reader if markers else str(path), eos_token_ids=[eos_id])
    name = path.parent.name if path.name == "tokenizer.json" else path.stem
    return Tokenizer(name, path, eos_id, vocabulary, lambda text: reader.encode(text, add_special_tokens=False).ids)


def _bytes(markers: Sequence[str]) -> Tokenizer:
    special = {name: 256 + i for i, name in enumerate(("<eos>", *markers))}
    pieces = re.compile("|".join(map(re.escape, special)) + "|(?s:.)")

    def encode(text: str) -> list[int]:
        found: list[int] = []
        for piece in pieces.findall(text):
            found += [special[piece]] if piece in special else piece.encode()
        return found

    tokens = [bytes([b]) for b in range(256)]
    vocabulary = constrain.Vocabulary.from_tokens(tokens, special=special, eos_token_ids=[256])
    return Tokenizer("bytes", None, 256, vocabulary, encode)


# Time limits, figures and tables --------------------------------------------------------------------------------------


class Late(BaseException):
    """A case took too long; not an Exception, so that no engine's adapter swallows it."""


@contextmanager
def time_limit(seconds: int) -> Iterator[None]:
    """Raise Late in the block after so many seconds, where the platform has SIGALRM."""
    if not hasattr(signal, "SIGALRM"):
        yield
        return

    def ring(*_: object) -> None:
        raise Late

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


class Deadline:
    """Seconds left of a budget; None: no end."""

    def __init__(self, seconds: float | None) -> None:
        self.end = None if seconds is None else time.monotonic() + seconds

    @property
    def passed(self) -> bool:
        return self.end is not None and time.monotonic() > self.end


def percentile(values: Sequence[float], share: float) -> float:
    """The value that so large a share of the values does not exceed; nan for no values."""
    if not len(values):
        return float("nan")
    return float(np.sort(values)[min(len(values) - 1, int(len(values) * share))])


def figure(value: float) -> str:
    """Three significant digits, without an exponent."""
    if value != value:
        return "–"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table, aligned so that it reads as plain text: the first column left, the others right."""
    cells = [[str(c) if not isinstance(c, float) else figure(c) for c in row] for row in (head, *rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]

    def line(row: Sequence[str]) -> str:
        return (
            "| "
            + " | ".join(c.rjust(w) if i else c.ljust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True)))
            + " |"
        )

    rule = "|" + "|".join("-" * (w + 1) + (":" if i else "-") for i, w in enumerate(widths)) + "|"
    return "\n".join([line(cells[0]), rule, *map(line, cells[1:])])
