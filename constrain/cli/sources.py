"""What a command reads, and one clear line for whatever is unusable about it."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from .._digits import integer_of
from .._errors import ConstrainError
from ..vocabulary import Vocabulary

__all__ = ["Source", "Unusable", "parse_json", "read", "read_vocabulary"]

_BOM = b"\xef\xbb\xbf"
_BLANKS = b" \t\n\r"


class Unusable(Exception):
    """Input that nothing can be done with. str() is one line, with the name of the source."""


@dataclass(frozen=True)
class Source:
    """Bytes with the name that the user gave them; "-" is called "standard input"."""

    name: str
    data: bytes

    @property
    def trimmed(self) -> tuple[bytes, int]:
        """The data without a byte order mark and JSON whitespace around it, and the position where that begins."""
        data = self.data.removeprefix(_BOM)
        inner = data.lstrip(_BLANKS)
        return inner.rstrip(_BLANKS), len(self.data) - len(inner)

    def place(self, position: int) -> tuple[int, int]:
        """Line and column of a byte, both from 1; columns count characters."""
        before = self.data[:position].removeprefix(_BOM)
        line = before.rpartition(b"\n")[2]
        return before.count(b"\n") + 1, len(line.decode("utf-8", "replace")) + 1


def read(path: str) -> Source:
    """The contents of a file, or of standard input for "-"."""
    if path == "-":
        return Source("standard input", sys.stdin.buffer.read())
    try:
        return Source(path, Path(path).read_bytes())
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise Unusable(f"{path}: cannot be read: {reason}") from None


def parse_json(source: Source) -> Any:
    """The JSON value of a source; numbers with a point or an exponent are Decimal."""
    try:
        text = source.data.removeprefix(_BOM).decode()
    except UnicodeDecodeError as error:
        line, column = source.place(len(source.data) - len(source.data.removeprefix(_BOM)) + error.start)
        raise Unusable(f"{source.name}: line {line}, column {column}: not UTF-8: {error.reason}") from None
    try:
        return json.loads(text, parse_float=Decimal, parse_int=integer_of, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        reason = error.msg[0].lower() + error.msg[1:]
        raise Unusable(f"{source.name}: line {error.lineno}, column {error.colno}: not JSON: {reason}") from None
    except ValueError as error:
        raise Unusable(f"{source.name}: not JSON: {error}") from None
    except RecursionError:
        raise Unusable(f"{source.name}: nested too deeply to be read") from None


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


def read_vocabulary(options: argparse.Namespace) -> Vocabulary:
    """The vocabulary that --tokenizer and its companions name."""
    try:
        return Vocabulary.from_tokenizer(
            options.tokenizer, logits_width=options.logits_width, eos_token_ids=options.eos_token_id
        )
    except (ConstrainError, ImportError, OSError) as error:
        message = " ".join(str(error).split())
        named = message if options.tokenizer in message else f"{options.tokenizer}: {message}"
        hint = "; name it with --eos-token-id" if "end-of-sequence" in message else ""
        raise Unusable(named.replace("; give eos_token_ids=[...], or [] if there is none", "") + hint) from None
