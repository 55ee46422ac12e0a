"""Tokens as symbols: a control token is one symbol that no text can spell, all else is characters.

Where the vocabulary knows the id of a control token, only that id is the marker, and the same characters in prose are
characters. Where it does not (no ids, or no such token), the marker is its characters. Symbols are lone surrogates,
which decoded UTF-8 never holds, so that everything behind this module matches strings and need not know which it is.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterable, Mapping

from .._errors import ArgumentError
from ..vocabulary import Vocabulary
from ..wires.markers import Wire

__all__ = ["Alphabet", "TextDecoder"]

_FIRST = 0xD800
_SYMBOL = re.compile("[\ud800-\udfff]")


class Alphabet:
    """The symbols of some wire formats for one vocabulary. Immutable.

    stop_ids: ids that end a message and are no part of any format.
    """

    def __init__(self, wires: Iterable[Wire], vocab: Vocabulary | Mapping[str, int] | None) -> None:
        self._vocab = vocab if isinstance(vocab, Vocabulary) else None
        ids: Mapping[str, int] = {} if vocab is None else vocab.control if isinstance(vocab, Vocabulary) else vocab
        wires = tuple(wires)
        controls = dict.fromkeys(text for wire in wires for text in wire.controls if text in ids)
        self._texts = dict(zip(map(chr, range(_FIRST, _FIRST + len(controls))), controls, strict=True))
        self._symbols = {text: symbol for symbol, text in self._texts.items()}
        self._by_id = {ids[text]: symbol for text, symbol in self._symbols.items()}
        self._controls = {token_id: text for text, token_id in ids.items()}
        stops = {ids[text] for wire in wires for text in wire.stops if text in ids}
        self.stop_ids = frozenset(stops.union(self._vocab.eos_token_ids if self._vocab else ())) - self._by_id.keys()
        self.known_stops = frozenset(text for wire in wires for text in wire.stops if ids.get(text) in self.stop_ids)
        longest_first = sorted(self._symbols, key=len, reverse=True)
        self._spelled = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    def symbol(self, token_id: int) -> str | None:
        """The symbol of a control token that some format names."""
        return self._by_id.get(token_id)

    def is_control(self, symbol: str) -> bool:
        """Whether a symbol is a control token's."""
        return symbol in self._texts

    def piece(self, token_id: int) -> str | bytes:
        """What any other token is in text."""
        control = self._controls.get(token_id)
        if control is not None:
            return control
        if self._vocab is None:
            raise ArgumentError(f"the text of token {token_id} is not known: give its piece, or a Vocabulary as vocab")
        return self._vocab.token_bytes(token_id) or b""

    def encode(self, marker: str) -> str:
        """A marker of the table as symbols."""
        if self._spelled is None:
            return marker
        return self._spelled.sub(lambda found: self._symbols[found.group()], marker)

    def spell(self, symbols: str, write: Callable[[str], str] = str) -> str:
        """Symbols as text. write: how the text of a control token is written there."""
        return _SYMBOL.sub(lambda found: write(self._texts[found.group()]), symbols)


class TextDecoder:
    """UTF-8 that arrives in pieces, also pieces of characters. What is not UTF-8 becomes U+FFFD."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def decode(self, piece: str | bytes) -> str:
        if isinstance(piece, str):
            return self.flush() + _SYMBOL.sub("�", piece)
        return self._decoder.decode(piece)

    def flush(self) -> str:
        """What was left of a character that is not completed."""
        rest = self._decoder.decode(b"", final=True)
        self._decoder.reset()
        return rest
