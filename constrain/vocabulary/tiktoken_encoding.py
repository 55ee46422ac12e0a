"""A `tiktoken.Encoding`: ranks are bytes already, special tokens have names."""

from __future__ import annotations

from typing import Any

from constrain.vocabulary.table import AddedToken, TokenTable

__all__ = ["read_tiktoken"]

_END = "<|endoftext|>"


def read_tiktoken(encoding: Any) -> TokenTable:
    """Read an Encoding. Of its special tokens only `<|endoftext|>` is known to end a sequence."""
    added = {encoding.encode_single_token(text): AddedToken(text, True) for text in encoding.special_tokens_set}
    pieces: list[bytes | None] = []
    for token_id in range(encoding.max_token_value + 1):
        try:
            pieces.append(encoding.decode_single_token_bytes(token_id))
        except KeyError:  # encodings leave gaps between the ranks and the special tokens
            pieces.append(None)
    eos = tuple(i for i, token in added.items() if token.text == _END)
    return TokenTable.from_pieces(pieces, added, eos or None)
