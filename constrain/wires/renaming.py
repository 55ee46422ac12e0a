"""Formats under other markers: the same syntax in a vocabulary that calls its control tokens something else.

Fine-tunes and copies of tokenizers rename control tokens (`<unused42>` for `<tool_call>`) or never had them. A renaming
is applied to the record of the format, so the constraint and the reader of replies both see it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

from .._errors import ArgumentError, VocabularyError
from ..vocabulary import Vocabulary
from .records import KeyValueBody, Mark, Wire

__all__ = ["Markers", "named", "renamed"]

Markers = Mapping[str, str | int | None]
"""Text of a control token in the table -> what the model has instead: a control token's text or id; None: no token, the
text is spelled in bytes."""


def named(
    wires: Sequence[Wire], markers: Markers | None, vocab: Vocabulary | Mapping[str, int] | None
) -> dict[str, str | None]:
    """The markers with texts in place of ids.

    Raises ValueError for a key that none of the formats has as a control token or stop, VocabularyError for an id that
    is no control token.
    """
    if not markers:
        return {}
    known = dict.fromkeys(text for wire in wires for text in (*wire.controls, *wire.stops))
    for text, other in markers.items():
        if text not in known:
            raise ArgumentError(f"markers: {text!r} is no control token of the format; there are {', '.join(known)}")
        if other == "" or isinstance(other, bool) or not isinstance(other, (str, int, type(None))):
            raise ArgumentError(f"markers[{text!r}] must be the text of a control token, its id or None, not {other!r}")
    return {text: _text_of(other, vocab) if isinstance(other, int) else other for text, other in markers.items()}


def renamed(wires: Sequence[Wire], texts: Mapping[str, str | None]) -> tuple[Wire, ...]:
    """The formats with these control tokens in place of their own."""
    return tuple(_renamed(wire, texts) for wire in wires) if texts else tuple(wires)


def _text_of(token_id: int, vocab: Vocabulary | Mapping[str, int] | None) -> str:
    ids: Mapping[str, int] = vocab.control if isinstance(vocab, Vocabulary) else vocab or {}
    for text, number in ids.items():
        if number == token_id and text:
            return text
    raise VocabularyError(f"markers: token {token_id} is no control token of the vocabulary")


def _renamed(wire: Wire, texts: Mapping[str, str | None]) -> Wire:
    names = {text: other for text, other in texts.items() if other is not None}
    longest_first = sorted(map(re.escape, names), key=len, reverse=True)
    pattern = re.compile("|".join(longest_first))

    def spelled(text: str) -> str:
        return pattern.sub(lambda found: names[found.group()], text) if names else text

    def rewritten(part: Any) -> Any:
        if isinstance(part, Mark):
            return replace(part, text=spelled(part.text))
        if isinstance(part, tuple):
            return tuple(map(rewritten, part))
        if is_dataclass(part) and not isinstance(part, type):
            new = {field.name: rewritten(getattr(part, field.name)) for field in fields(part)}
            if isinstance(part, KeyValueBody):
                new["quote"] = spelled(part.quote)
            return replace(part, **new)
        return part

    def tokens(listed: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(spelled(text) for text in listed if texts.get(text, text) is not None)

    found: Wire = rewritten(wire)
    return replace(found, controls=tokens(wire.controls), stops=tokens(wire.stops))
