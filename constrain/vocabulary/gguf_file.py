"""The tokenizer in the metadata of a GGUF file, read without the gguf package.

A file begins with magic, version, number of tensors and number of key-value pairs; each pair is a key, a value type and
a value (strings and arrays carry their length as 64 bits). Only `tokenizer.ggml.*` is kept, everything else is stepped
over, and the tensors are never touched.
    tokenizer.ggml.model       "gpt2": byte-level BPE;  "llama", "t5", "gemma4": SentencePiece spelling
    tokenizer.ggml.tokens      text by id
    tokenizer.ggml.token_type  SentencePiece's piece types by id
    tokenizer.ggml.{eos,eot,eom}_token_id
"""

from __future__ import annotations

import mmap
import struct
from pathlib import Path
from typing import Any

from constrain._errors import VocabularyError
from constrain.vocabulary import sentencepiece_model as spm
from constrain.vocabulary.table import AddedToken, TokenTable, decode_byte_alphabet

__all__ = ["read_gguf"]

_SENTENCEPIECE = ("llama", "t5", "gemma4")
_EOS_KEYS = ("eos_token_id", "eot_token_id", "eom_token_id", "eos_token_ids")
_PREFIX = "tokenizer.ggml."
_STRING, _ARRAY = 8, 9
_FORMATS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}


def read_gguf(path: Path) -> TokenTable:
    """Read the tokenizer of a GGUF file; VocabularyError when it has none, or one of an unsupported kind."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            metadata = _Reader(data).metadata()
    except (ValueError, struct.error, UnicodeDecodeError, IndexError) as error:
        raise VocabularyError(f"{path}: not a GGUF file: {error}") from error
    model, tokens = metadata.get("model"), metadata.get("tokens")
    if not isinstance(tokens, list) or not tokens:
        raise VocabularyError(f"{path}: no tokens in its metadata ({_PREFIX}tokens)")
    if model != "gpt2" and model not in _SENTENCEPIECE:
        raise VocabularyError(f"{path}: tokenizer model {model!r} is not supported")
    types = metadata.get("token_type") or [spm.NORMAL] * len(tokens)
    pieces = []
    added = {}
    for token_id, (text, kind) in enumerate(zip(tokens, types, strict=True)):
        if kind in (spm.UNKNOWN, spm.CONTROL, spm.USER_DEFINED):
            added[token_id] = AddedToken(text, kind != spm.USER_DEFINED)
        if model == "gpt2":
            pieces.append(_byte_level(text, kind))
        else:
            pieces.append(spm.piece_bytes(text, kind))
    return TokenTable.from_pieces(pieces, added, _eos_ids(metadata, len(tokens)))


def _byte_level(text: str, kind: int) -> bytes | None:
    if kind == spm.NORMAL:
        return decode_byte_alphabet(text)
    return None if kind == spm.UNUSED else text.encode()


def _eos_ids(metadata: dict[str, Any], n_tokens: int) -> tuple[int, ...] | None:
    found: set[int] = set()
    for key in _EOS_KEYS:
        value = metadata.get(key, [])
        found.update(i for i in (value if isinstance(value, list) else [value]) if 0 <= i < n_tokens)
    return tuple(sorted(found)) or None


class _Reader:
    """A cursor over the key-value pairs of a GGUF file."""

    def __init__(self, data: mmap.mmap) -> None:
        if data[:4] != b"GGUF":
            raise ValueError("wrong magic")
        self.data = data
        self.position = 4
        self.order = "<"
        version = self.number("I")
        if version & 0xFFFF == 0:  # written on a big-endian machine
            self.order, self.position = ">", 4
            version = self.number("I")
        if version not in (2, 3):
            raise ValueError(f"version {version}")

    def metadata(self) -> dict[str, Any]:
        """The values of `tokenizer.ggml.*` that a vocabulary needs, without the prefix."""
        wanted = {"model", "tokens", "token_type", *_EOS_KEYS}
        self.number("Q")  # tensors
        found = {}
        for _ in range(self.number("Q")):
            key = self.string().decode("utf-8", "replace").removeprefix(_PREFIX)
            value = self.value(self.number("I"), key in wanted)
            if key in wanted:
                found[key] = value
        return found

    def number(self, code: str) -> Any:
        (value,) = struct.unpack_from(self.order + code, self.data, self.position)
        self.position += struct.calcsize(code)
        return value

    def string(self) -> bytes:
        size = self.number("Q")
        start, self.position = self.position, self.position + size
        if self.position > len(self.data):
            raise ValueError("it ends in the middle of a text")
        return self.data[start : self.position]

    def value(self, kind: int, keep: bool) -> Any:
        if kind == _STRING:
            text = self.string()
            return text.decode("utf-8", "surrogateescape") if keep else None
        if kind != _ARRAY:
            return self.number(self.format(kind))
        item, count = self.number("I"), self.number("Q")
        if item in (_STRING, _ARRAY):
            values = [self.value(item, keep) for _ in range(self.bounded(count, 8))]
            return values if keep else None
        code = self.format(item)
        size = struct.calcsize(code)
        start = self.position
        self.position += self.bounded(count, size) * size
        return list(struct.unpack_from(f"{self.order}{count}{code}", self.data, start)) if keep else None

    def bounded(self, count: int, size: int) -> int:
        if self.position + count * size > len(self.data):
            raise ValueError("it ends in the middle of an array")
        return count

    def format(self, kind: int) -> str:
        if kind not in _FORMATS:
            raise ValueError(f"unknown value type {kind}")
        return _FORMATS[kind]
