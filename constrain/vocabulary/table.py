"""What a loader hands over: bytes and names of tokens, before it is decided which of them are control tokens.

Also the two spellings that tokenizer families share: the byte alphabet of GPT-2, and SentencePiece's `▁` and `<0xNN>`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["AddedToken", "TokenTable", "decode_byte_alphabet", "decode_byte_piece", "decode_sentencepiece"]


class AddedToken(NamedTuple):
    """A token that was added to the model's vocabulary by name; special: the tokenizer's own flag."""

    text: str
    special: bool


@dataclass
class TokenTable:
    """Tokens by id, as their tokenizer decodes them in the middle of a text.

    flat:    uint8[total], the bytes of all ids one after the other.
    offsets: int64[n + 1], id t has flat[offsets[t]:offsets[t + 1]]; empty where no text can come from it.
    added:   added tokens by id (they have bytes in `flat`, too).
    eos:     end-of-sequence ids that the source itself names, or None where it has no place for them.
    """

    flat: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    added: dict[int, AddedToken] = field(default_factory=dict)
    eos: tuple[int, ...] | None = None

    @classmethod
    def from_pieces(
        cls, pieces: Iterable[bytes | None], added: dict[int, AddedToken], eos: tuple[int, ...] | None = None
    ) -> TokenTable:
        rows = [piece or b"" for piece in pieces]
        offsets = np.zeros(len(rows) + 1, np.int64)
        np.cumsum(np.fromiter((len(row) for row in rows), np.int64, len(rows)), out=offsets[1:])
        return cls(np.frombuffer(b"".join(rows), np.uint8).copy(), offsets, dict(sorted(added.items())), eos)

    @property
    def n_tokens(self) -> int:
        return len(self.offsets) - 1

    def find(self, text: str) -> int | None:
        """Id of the token spelled `text`: an added token, else the first with these bytes; None when there is none."""
        for token_id, token in self.added.items():
            if token.text == text:
                return token_id
        wanted = text.encode("utf-8", "surrogatepass")
        same_length = np.flatnonzero(np.diff(self.offsets) == len(wanted)) if wanted else ()
        for candidate in same_length:
            if self.flat[self.offsets[candidate] : self.offsets[candidate + 1]].tobytes() == wanted:
                return int(candidate)
        return None


def _byte_alphabet() -> dict[int, int]:
    """str.translate table: the code points that GPT-2 writes for bytes -> the byte; the rest of Latin-1 -> no Latin-1.

    GPT-2 writes printable Latin-1 characters as themselves and the other 68 bytes, in order, as U+0100, U+0101, ...
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in set(printable)]
    table = {byte: byte for byte in printable}
    table.update({byte: 0x10FFFF for byte in others})
    table.update({0x100 + i: byte for i, byte in enumerate(others)})
    return table


_BYTE_ALPHABET = _byte_alphabet()
_BYTE_PIECE = re.compile(r"<0x([0-9A-Fa-f]{2})>")


def decode_byte_alphabet(token: str) -> bytes:
    """Bytes of a byte-level BPE token; one with a character outside the byte alphabet stands for itself."""
    try:
        return token.translate(_BYTE_ALPHABET).encode("latin-1")
    except UnicodeEncodeError:
        return token.encode("utf-8", "surrogatepass")


def decode_byte_piece(piece: str) -> bytes | None:
    """The byte of a piece such as `<0x0A>`, or None for any other piece."""
    match = _BYTE_PIECE.fullmatch(piece) if len(piece) == 6 else None
    return bytes([int(match[1], 16)]) if match else None


def decode_sentencepiece(piece: str) -> bytes:
    """Bytes of a SentencePiece piece: `▁` is a space, `<0xNN>` a byte."""
    return decode_byte_piece(piece) or piece.replace("▁", " ").encode("utf-8", "surrogatepass")
