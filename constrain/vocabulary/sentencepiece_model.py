"""SentencePiece models, read from the file or processor without the sentencepiece package.

A `.model` file is a protocol buffer (sentencepiece_model.proto):
    ModelProto     1: repeated SentencePiece   2: TrainerSpec
    SentencePiece  1: piece (text)   2: score   3: type (see below, 1 where absent)
    TrainerSpec    42: id of the end-of-sentence piece, 2 where absent, -1 for none
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from constrain._errors import VocabularyError
from constrain.vocabulary.table import AddedToken, TokenTable, decode_byte_piece, decode_sentencepiece

__all__ = ["BYTE", "CONTROL", "NORMAL", "UNKNOWN", "UNUSED", "USER_DEFINED", "parse_sentencepiece_model", "piece_bytes"]

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)


def piece_bytes(piece: str, kind: int) -> bytes | None:
    """Bytes of a piece of the given type; None for those that never stand for text."""
    if kind == BYTE:
        return decode_byte_piece(piece)
    if kind == UNUSED:
        return None
    return decode_sentencepiece(piece) if kind == NORMAL else piece.replace("▁", " ").encode("utf-8", "surrogatepass")


def parse_sentencepiece_model(content: bytes) -> TokenTable:
    """Read a serialized ModelProto; VocabularyError when it is none."""
    pieces: list[bytes | None] = []
    added: dict[int, AddedToken] = {}
    eos = 2
    try:
        for number, value in _fields(content):
            if number == 1 and isinstance(value, bytes):
                fields: dict[int, Any] = dict(_fields(value))
                text, kind = fields[1].decode(), fields.get(3, NORMAL)
                if kind in (UNKNOWN, CONTROL, USER_DEFINED):
                    added[len(pieces)] = AddedToken(text, kind != USER_DEFINED)
                pieces.append(piece_bytes(text, kind))
            elif number == 2 and isinstance(value, bytes):
                trainer: dict[int, Any] = dict(_fields(value))
                eos = trainer.get(42, eos)
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        raise VocabularyError(f"not a SentencePiece model: {type(error).__name__}: {error}") from error
    if not pieces:
        raise VocabularyError("not a SentencePiece model: it has no pieces")
    return TokenTable.from_pieces(pieces, added, (eos,) if 0 <= eos < len(pieces) else ())


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """(number, value) of each field of a protocol buffer message: varints as signed ints, the rest as bytes."""
    position = 0
    while position < len(data):
        key, position = _varint(data, position)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, position = _varint(data, position)
            yield number, value - (1 << 64) if value >> 63 else value
            continue
        if wire == 2:
            size, position = _varint(data, position)
        elif wire in (1, 5):
            size = 8 if wire == 1 else 4
        else:
            raise ValueError(f"wire type {wire} at byte {position}")
        if position + size > len(data):
            raise ValueError("it ends in the middle of a field")
        yield number, data[position : position + size]
        position += size


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
        if shift > 63:
            raise ValueError("a number of more than 64 bits")
