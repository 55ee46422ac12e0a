"""Grammars as bytes: what a grammar was compiled from, to be compiled again where it is read.

Compiling is on demand and takes about a millisecond, and the tables that a generation has built by then are specific to
what it has met; so the source is what is kept. It is small, it cannot run code, and its meaning is that of the
documented options, not of tables.

    magic    8 bytes   b"\\x89cnstrn\\n"
    version  uint16    FORMAT; the integers are little-endian
    length   uint64    bytes of the payload
    digest   32 bytes  sha256 of the payload
    payload  JSON: front_end; source (text or JSON value); options and limits; documents (URI -> JSON value, those that
             references outside the schema needed); vocabulary (fingerprint, or null)

Numbers with a fraction or an exponent keep all their digits.
"""

from __future__ import annotations

import copy
import hashlib
import json
import marshal
import struct
from collections.abc import Callable, Mapping
from dataclasses import asdict
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

from ._arguments import an_instance, check_vocabulary, text_bytes
from ._digits import integer_of, spelled_integer
from ._errors import ArgumentError, ConstrainError, LimitError, VocabularyError
from ._limits import Limits

if TYPE_CHECKING:
    from .automata.compiled import Grammar
    from .vocabulary import Vocabulary

__all__ = ["FORMAT", "Origin", "dump", "frozen", "load"]

FORMAT = 1
_MAGIC = b"\x89cnstrn\n"
_HEADER = struct.Struct("<8sHQ32s")


class Origin(NamedTuple):
    """What a grammar was compiled from.

    front_end: a key of `_LOADERS`. source: gives the text or JSON value. options: arguments of the front end.
    documents: gives the JSON values, by URI, that references outside the source have needed so far.
    """

    front_end: str
    source: Callable[[], Any]
    options: Mapping[str, Any]
    documents: Callable[[], Mapping[str, Any]] = dict


def frozen(value: Any) -> Callable[[], Any]:
    """Gives an equal value later, whatever happens to this one."""
    if isinstance(value, str):
        return lambda: value
    try:
        data = marshal.dumps(value, 2)
    except ValueError:  # not of plain types, or nested too deeply for it
        kept = copy.deepcopy(value)
        return lambda: kept
    return lambda: marshal.loads(data)


def dump(grammar: Grammar) -> bytes:
    """See `Grammar.to_bytes`."""
    origin = grammar.origin
    if origin is None:
        raise ArgumentError(
            "a grammar that was built from nodes, or around another grammar, has no source to save; save what a "
            "compile function of constrain has given"
        )
    content = {
        "front_end": origin.front_end,
        "source": origin.source(),
        "options": dict(origin.options),
        "limits": asdict(grammar.limits),
        "documents": dict(origin.documents()),
        "vocabulary": None if grammar.vocabulary is None else grammar.vocabulary.fingerprint,
    }
    try:
        payload = _spell(content).encode()
    except RecursionError:
        raise LimitError("max_depth", grammar.limits.max_depth, "nesting of the source") from None
    header = _HEADER.pack(_MAGIC, FORMAT, len(payload), hashlib.sha256(payload).digest())
    return header + payload


def load(data: bytes | bytearray | memoryview, vocabulary: Vocabulary | None) -> Grammar:
    """See `Grammar.from_bytes`."""
    content = _content(text_bytes(an_instance(data, (bytes, bytearray, memoryview), "data", "bytes")))
    check_vocabulary(vocabulary)
    try:
        loader = _LOADERS[content["front_end"]]
        written_for = content["vocabulary"]
        arguments = content["source"], content["options"], content["documents"]
        limits = Limits(**content["limits"])
    except (KeyError, TypeError, AttributeError) as error:
        raise ConstrainError(f"the data is not a saved grammar: {type(error).__name__} {error}") from None
    _check_vocabulary(written_for, vocabulary)
    try:
        return loader(vocabulary, *arguments, limits)
    except ConstrainError:
        raise
    except (TypeError, ValueError, KeyError) as error:
        raise ConstrainError(f"the saved grammar has arguments that cannot be: {error}") from error


def _content(data: bytes) -> Any:
    """The payload, when it is whole."""
    if len(data) < _HEADER.size and data[: len(_MAGIC)] == _MAGIC[: len(data)]:
        raise ConstrainError(f"the saved grammar is cut off: {len(data)} bytes are less than its header has")
    if data[: len(_MAGIC)] != _MAGIC:
        raise ConstrainError("the data is not a saved grammar: it does not begin like one")
    _, version, length, digest = _HEADER.unpack_from(data)
    if version != FORMAT:
        raise ConstrainError(
            f"the grammar was saved in format {version}, and this version of constrain reads format "
            f"{FORMAT}; compile it from its source"
        )
    payload = data[_HEADER.size :]
    if len(payload) != length:
        how = "cut off" if len(payload) < length else "followed by something else"
        raise ConstrainError(f"the saved grammar is {how}: it has {length} bytes after its header, not {len(payload)}")
    if hashlib.sha256(payload).digest() != digest:
        raise ConstrainError("the saved grammar is damaged: its checksum differs")
    try:
        return json.loads(payload, parse_float=_exact, parse_int=integer_of)
    except (ValueError, RecursionError) as error:
        raise ConstrainError(f"the data is not a saved grammar: {error}") from None


def _check_vocabulary(written_for: str | None, vocabulary: Vocabulary | None) -> None:
    given = None if vocabulary is None else vocabulary.fingerprint
    if written_for == given:
        return
    if written_for is None:
        raise VocabularyError("the grammar was saved without a vocabulary; read it without, or compile it for this one")
    other = "none was given" if given is None else f"this one is {given[:12]}…"
    raise VocabularyError(
        f"the grammar was saved for the vocabulary {written_for[:12]}…, and {other}; give the same tokenizer with "
        "the same logits_width, eos_token_ids and control, or compile the grammar for this one"
    )


def _exact(text: str) -> float | Decimal:
    """A number as a float where that says the same."""
    number = float(text)
    return number if repr(number) == text else Decimal(text)


def _spell(value: Any) -> str:
    """JSON text of a value that may hold decimals."""
    if isinstance(value, Decimal):
        return str(value)
    try:
        return json.dumps(value, separators=(",", ":"))
    except (TypeError, ValueError):  # decimals or long integers within, or a mapping or sequence of another kind
        if isinstance(value, int):
            return spelled_integer(value)
        if isinstance(value, Mapping):
            return "{" + ",".join(f"{json.dumps(str(k))}:{_spell(v)}" for k, v in value.items()) + "}"
        if isinstance(value, (list, tuple)):
            return "[" + ",".join(map(_spell, value)) + "]"
        raise ArgumentError(
            f"a grammar made from {type(value).__name__} objects cannot be saved: they are not JSON"
        ) from None


# Front ends -----------------------------------------------------------------------------------------------------------


def _json_schema(vocabulary: Any, source: Any, options: Any, documents: Any, limits: Limits) -> Grammar:
    from ._api import compile_json_schema

    return compile_json_schema(source, vocabulary, **options, registry=documents or None, limits=limits)


def _plain(name: str) -> Callable[..., Grammar]:
    """A compile function that takes source, vocabulary, options and limits."""

    def loader(vocabulary: Any, source: Any, options: Any, documents: Any, limits: Limits) -> Grammar:
        from . import _api

        return getattr(_api, name)(source, vocabulary, **options, limits=limits)  # type: ignore[no-any-return]

    return loader


def _tools(vocabulary: Any, source: Any, options: Any, documents: Any, limits: Limits) -> Grammar:
    from .wires.saved import restored

    return restored(vocabulary, source, options, documents, limits)


_LOADERS: dict[str, Callable[..., Grammar]] = {
    "json_schema": _json_schema,
    "regex": _plain("compile_regex"),
    "choice": _plain("compile_choice"),
    "lark": _plain("compile_lark"),
    "gbnf": _plain("compile_gbnf"),
    "structural_tag": _plain("compile_structural_tag"),
    "tools": _tools,
}
