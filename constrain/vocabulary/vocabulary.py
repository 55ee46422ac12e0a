"""The vocabulary of a model: what each row of its logits stands for.

    flat     uint8[total]      bytes of all ids, one after the other
    offsets  int64[size + 1]   id t has flat[offsets[t]:offsets[t + 1]]
A row has no bytes, and so never occurs inside a constrained text, when it is a control token (`markers`), an EOS id, a
padded row beyond the tokenizer, an unused or empty token, or one that contains NUL.
"""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from constrain._arguments import integer, is_listing, shown
from constrain._errors import VocabularyError
from constrain.vocabulary.markers import is_control
from constrain.vocabulary.sources import read_table
from constrain.vocabulary.table import AddedToken, TokenTable

if TYPE_CHECKING:
    from constrain.vocabulary.trie import Trie

__all__ = ["Vocabulary"]

_MAX_ROWS = 1 << 26

TEXT_BYTES = frozenset((9, 10, 13, *range(0x20, 0xC0), *range(0xC2, 0xF5)))
"""Bytes that UTF-8 text without control characters can hold."""


class Vocabulary:
    """Bytes and control tokens of a tokenizer, as wide as the model's logits. Immutable; picklable; equal by content.

    size:            rows of the logits, padding included.
    n_tokens:        rows that the tokenizer knows (its largest id + 1).
    flat, offsets:   the bytes, see the module text.
    control:         marker text -> id, ascending by id.
    eos_token_ids:   ids that end a sequence, ascending.
    max_token_bytes: length of the longest token.
    missing_bytes:   bytes that no token spells alone; text that needs them may be out of reach.
    fingerprint:     sha256 (hex) of all of the above.
    """

    def __init__(
        self,
        flat: NDArray[np.uint8],
        offsets: NDArray[np.int64],
        *,
        n_tokens: int,
        control: Mapping[str, int],
        eos_token_ids: Iterable[int],
    ) -> None:
        if not all(isinstance(a, np.ndarray) and a.ndim == 1 for a in (flat, offsets)) or not len(offsets):
            raise VocabularyError("flat and offsets must be arrays of one dimension; see Vocabulary.from_tokens")
        if not isinstance(control, Mapping):
            raise VocabularyError("control must be a mapping from texts to ids")
        self.flat = flat
        self.offsets = offsets
        self.size = len(offsets) - 1
        self.n_tokens = n_tokens
        self.control = dict(sorted(control.items(), key=operator.itemgetter(1)))
        self.eos_token_ids = tuple(sorted(set(eos_token_ids)))
        lengths = np.diff(offsets)
        self.max_token_bytes = int(lengths.max(initial=0))
        spelled = np.unique(flat[offsets[:-1][lengths == 1]])
        self.missing_bytes = tuple(sorted(set(range(256)).difference(spelled.tolist())))
        self.fingerprint = self._fingerprint()
        self.index: Any = None
        """What the engine keeps for the vocabulary once it has been used (automata.index), shared by equal ones."""

    @classmethod
    def from_tokenizer(
        cls,
        source: Any,
        *,
        logits_width: int | None = None,
        eos_token_ids: Sequence[int] | None = None,
        control: Iterable[str | int] | None = None,
    ) -> Vocabulary:
        """Read the vocabulary of a tokenizer.

        source:        a path to tokenizer.json, to a SentencePiece .model, to a GGUF file or to a folder with one of
                       the first two; or a tokenizer object of transformers, tokenizers, tiktoken or sentencepiece.
        logits_width:  width of the model's logits where it is more than the tokenizer has; the rows beyond are never
                       allowed.
        eos_token_ids: all ids that end a sequence. None takes those that the source or the configuration files beside
                       it name; [] says that there are none.
        control:       texts or ids of the control tokens among those that the tokenizer does not flag as special,
                       instead of the rule in `constrain.vocabulary.markers`.

        Raises VocabularyError: unreadable source, width too small, unknown ids, no EOS id found.
        """
        return cls._from_table(read_table(source), logits_width, eos_token_ids, control)

    @classmethod
    def from_tokens(
        cls,
        tokens: Sequence[bytes | None],
        special: Mapping[str, int] | None = None,
        eos_token_ids: Sequence[int] | None = None,
        logits_width: int | None = None,
    ) -> Vocabulary:
        """A vocabulary from the bytes of each id (None for an unused one) and its control tokens, text -> id.

        Control ids may lie beyond `tokens`. eos_token_ids is required; [] says that there are none.
        """
        if not is_listing(tokens):
            raise VocabularyError(f"tokens must be a sequence of bytes or None, not {type(tokens).__name__}")
        pieces = list(tokens)
        for token_id, piece in enumerate(pieces):
            if piece is not None and not isinstance(piece, (bytes, bytearray, memoryview)):
                raise VocabularyError(f"token {token_id} is {type(piece).__name__}, not bytes or None")
        added = {}
        special = {} if special is None else special
        if not isinstance(special, Mapping) or not all(isinstance(text, str) for text in special):
            raise VocabularyError("special must be a mapping from the texts of control tokens to their ids")
        for text, token_id in special.items():
            added[_checked_id(token_id, f"special token {text!r}", _MAX_ROWS)] = AddedToken(text, True)
        if len(added) < len(special):
            raise VocabularyError("two special tokens have the same id")
        pieces += [None] * (max(added, default=-1) + 1 - len(pieces))
        table = TokenTable.from_pieces([None if p is None else bytes(p) for p in pieces], added)
        return cls._from_table(table, logits_width, eos_token_ids, None)

    @classmethod
    def _from_table(
        cls,
        table: TokenTable,
        logits_width: int | None,
        eos_token_ids: Sequence[int] | None,
        control: Iterable[str | int] | None,
    ) -> Vocabulary:
        n_tokens = table.n_tokens
        size = n_tokens if logits_width is None else _checked_id(logits_width, "logits_width", _MAX_ROWS)
        if size < n_tokens:
            raise VocabularyError(
                f"logits_width {size} is less than the {n_tokens} tokens of the tokenizer: is it another model's?"
            )
        if eos_token_ids is None:
            if table.eos is None:
                raise VocabularyError(
                    "no end-of-sequence token is named by the tokenizer or by generation_config.json, config.json or "
                    "tokenizer_config.json beside it; give eos_token_ids=[...], or [] if there is none"
                )
            eos_token_ids = table.eos
        if not is_listing(eos_token_ids):
            raise VocabularyError(f"eos_token_ids must be a sequence of ids, not {type(eos_token_ids).__name__}")
        eos = sorted({_checked_id(i, "EOS id", n_tokens) for i in eos_token_ids})
        markers = _control_tokens(table, control)
        without_bytes = np.zeros(n_tokens, bool)
        without_bytes[list(markers)] = True
        without_bytes[eos] = True
        flat, offsets = _drop(table, without_bytes, size)
        names: dict[str, int] = {}
        for token_id, text in markers.items():
            names.setdefault(text, token_id)
        return cls(flat, offsets, n_tokens=n_tokens, control=names, eos_token_ids=eos)

    def token_bytes(self, token_id: int) -> bytes | None:
        """Bytes of a token, or None for a row that has none. IndexError when there is no such row."""
        token_id = integer(token_id, "token_id", 0, self.size - 1)
        start, stop = self.offsets[token_id : token_id + 2].tolist()
        return self.flat[start:stop].tobytes() if stop > start else None

    def control_id(self, text: str) -> int | None:
        """Id of the control token spelled `text`, or None; an id may be 0."""
        return self.control.get(text) if isinstance(text, str) else None

    @cached_property
    def trie(self) -> Trie:
        """The trie over all ids that have bytes; built on first use."""
        from constrain.vocabulary.store import cached_trie
        from constrain.vocabulary.trie import build_trie

        ids = np.arange(self.size)
        return cached_trie(self.fingerprint, self.size, lambda: build_trie(self.flat, self.offsets, ids))

    @property
    def nbytes(self) -> int:
        """Memory held, with the trie once it is built, and with all that the engine keeps for the vocabulary."""
        kept = self.index if self.index is not None else self.__dict__.get("trie")
        return self.flat.nbytes + self.offsets.nbytes + (kept.nbytes if kept is not None else 0)

    def resize_mask_cache(self, nbytes: int) -> None:
        """Bound the memory for masks of whole states, which all grammars of the vocabulary share: 16 MB by default for
        128,000 tokens. What was kept is given up. ValueError below one mask."""
        from constrain.automata.index import index_of

        index_of(self).resize(nbytes)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "trie"} | {"index": None}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        return (
            f"<Vocabulary of {self.size} rows: {self.n_tokens} tokens, {len(self.control)} control, "
            f"EOS {list(self.eos_token_ids)[:8]}, {self.fingerprint[:12]}>"
        )

    def _fingerprint(self) -> str:
        digest = hashlib.sha256(f"{self.size} {self.n_tokens} {self.eos_token_ids} {len(self.flat)}\0".encode())
        digest.update(self.offsets.astype("<i8", copy=False).tobytes())
        digest.update(self.flat.tobytes())
        digest.update(repr(list(self.control.items())).encode("utf-8", "surrogatepass"))
        return digest.hexdigest()


def _checked_id(value: Any, what: str, limit: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise VocabularyError(f"{what} {shown(value)} is not an integer") from None
    if not 0 <= number < limit:
        raise VocabularyError(f"{what} {shown(number)} is outside 0..{limit - 1}")
    return number


def _control_tokens(table: TokenTable, chosen: Iterable[str | int] | None) -> dict[int, str]:
    """id -> text of the control tokens, ascending by id."""
    if chosen is None:
        return {i: token.text for i, token in table.added.items() if is_control(token)}
    markers = {i: token.text for i, token in table.added.items() if token.special}
    if not is_listing(chosen):
        raise VocabularyError(f"control must be a sequence of texts or ids, not {type(chosen).__name__}")
    for entry in chosen:
        token_id = table.find(entry) if isinstance(entry, str) else _checked_id(entry, "control id", table.n_tokens)
        if token_id is None:
            raise VocabularyError(f"control token {entry!r} is not in the vocabulary")
        if token_id in table.added:
            markers[token_id] = table.added[token_id].text
        else:
            piece = table.flat[table.offsets[token_id] : table.offsets[token_id + 1]].tobytes()
            markers[token_id] = piece.decode("utf-8", "backslashreplace")
    return dict(sorted(markers.items()))


def _drop(
    table: TokenTable, without_bytes: NDArray[np.bool_], size: int
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """`flat` and `offsets` of `size` rows, where the given ids and those with a NUL have no bytes."""
    lengths = np.diff(table.offsets)
    owners = np.repeat(np.arange(len(lengths)), lengths)
    without_bytes = without_bytes.copy()
    without_bytes[owners[table.flat == 0]] = True
    offsets = np.zeros(size + 1, np.int64)
    np.cumsum(np.where(without_bytes, 0, lengths), out=offsets[1 : len(lengths) + 1])
    offsets[len(lengths) + 1 :] = offsets[len(lengths)]
    return np.ascontiguousarray(table.flat[~without_bytes[owners]]), offsets
