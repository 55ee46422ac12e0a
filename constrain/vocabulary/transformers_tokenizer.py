"""Tokenizers of the transformers package, of all kinds it has had.

    fast                    the `tokenizer.json` of its backend
    SentencePiece based     pieces by id (`sp_model`), in the numbering of the wrapper
    byte-level in Python    `byte_decoder` and `get_vocab()`
    tiktoken inside         the Encoding (remote-code tokenizers)
Nothing here imports transformers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from constrain._errors import VocabularyError
from constrain.vocabulary.store import cached_table
from constrain.vocabulary.table import AddedToken, TokenTable, decode_byte_alphabet, decode_sentencepiece
from constrain.vocabulary.tiktoken_encoding import read_tiktoken
from constrain.vocabulary.tokenizer_json import parse_tokenizer_json

__all__ = ["read_transformers"]


def read_transformers(tokenizer: Any) -> TokenTable:
    """Read a tokenizer object of transformers; its `eos_token_id` becomes the table's."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is not None:
        table = cached_table(backend.to_str().encode(), parse_tokenizer_json)
    elif getattr(tokenizer, "sp_model", None) is not None:
        table = _read_pieces(tokenizer, decode_sentencepiece)
    elif hasattr(tokenizer, "byte_decoder"):
        table = _read_pieces(tokenizer, decode_byte_alphabet)
    elif (encoding := _inner_tiktoken(tokenizer)) is not None:
        table = read_tiktoken(encoding)
    else:
        raise VocabularyError(
            f"{type(tokenizer).__name__} gives no access to the bytes of its tokens; use its fast version, the path of "
            "its tokenizer.json or tokenizer.model, or Vocabulary.from_tokens"
        )
    eos = getattr(tokenizer, "eos_token_id", None)
    if eos is not None:
        table.eos = tuple(eos) if isinstance(eos, (list, tuple)) else (int(eos),)
    return table


def _read_pieces(tokenizer: Any, decode: Callable[[str], bytes]) -> TokenTable:
    added = {int(i): AddedToken(str(t), bool(t.special)) for i, t in tokenizer.added_tokens_decoder.items()}
    size = max([*tokenizer.get_vocab().values(), *added]) + 1
    names = tokenizer.convert_ids_to_tokens(list(range(size)))
    for i in tokenizer.all_special_ids:
        added[i] = AddedToken(names[i], True)
    pieces = [None if name is None else name.encode() if i in added else decode(name) for i, name in enumerate(names)]
    return TokenTable.from_pieces(pieces, added)


def _inner_tiktoken(tokenizer: Any) -> Any:
    for name in ("model", "tokenizer"):
        inner = getattr(tokenizer, name, None)
        if type(inner).__module__.partition(".")[0] == "tiktoken":
            return inner
    return None
