"""The `tokenizer.json` of Hugging Face tokenizers.

How a token turns into bytes is decided by the file's own `decoder`, applied to one token in the middle of a text:
    ByteLevel      characters of GPT-2's byte alphabet
    ByteFallback   `<0xNN>` is a byte, other tokens go on
    Replace, Metaspace, Strip before Fuse change the text of each token
    Fuse           joins the tokens; a Strip after it trims the whole text and so is no part of any token
Token ids and added tokens are those of the file; an added token marked `normalized` decodes to its normalized text. The
model's unknown token counts as special.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable
from typing import Any

from constrain._errors import VocabularyError
from constrain.vocabulary.table import AddedToken, TokenTable, decode_byte_alphabet, decode_byte_piece

__all__ = ["parse_tokenizer_json"]

Step = Callable[[str], "str | bytes"]


def parse_tokenizer_json(content: bytes) -> TokenTable:
    """Read the text of a tokenizer.json; VocabularyError where it is none, or its decoder is not supported."""
    try:
        return _parse(json.loads(content))
    except VocabularyError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
        raise VocabularyError(f"not a tokenizer.json: {type(error).__name__}: {error}") from error


def _parse(document: dict[str, Any]) -> TokenTable:
    model = document["model"]
    vocab = model["vocab"]
    entries = document.get("added_tokens") or ()
    added = {int(t["id"]): AddedToken(str(t["content"]), bool(t["special"])) for t in entries}
    # Unigram lists [piece, score] by id, the others map token -> id
    if isinstance(vocab, dict):
        names = {int(i): token for token, i in vocab.items()}
    else:
        names = {i: str(entry[0]) for i, entry in enumerate(vocab)}
    for token_id in _unknown_ids(model, vocab):
        added.setdefault(token_id, AddedToken(names[token_id], True))
    normalize = _normalizer(document.get("normalizer"))
    names.update((i, token.text) for i, token in added.items())
    names.update((int(t["id"]), normalize(str(t["content"]))) for t in entries if t.get("normalized"))
    if not names or min(names) < 0:
        raise VocabularyError("tokenizer.json has no tokens, or a negative token id")
    if max(names) > 16 * len(names) + 65_536:
        raise VocabularyError(f"tokenizer.json has a token id of {max(names)} with only {len(names)} tokens")
    decode = _decoder(document.get("decoder"))
    return TokenTable.from_pieces((decode(names[i]) if i in names else None for i in range(max(names) + 1)), added)


def _unknown_ids(model: dict[str, Any], vocab: Any) -> list[int]:
    if isinstance(vocab, dict):
        unknown = model.get("unk_token")
        return [int(vocab[unknown])] if unknown in vocab else []
    return [] if model.get("unk_id") is None else [int(model["unk_id"])]


def _normalizer(config: dict[str, Any] | None) -> Callable[[str], str]:
    """The normalizer as far as it can change the text of an added token; unknown parts leave it alone."""

    def normalize(text: str) -> str:
        for part in _flattened(config, "normalizers") if config else ():
            kind = part.get("type")
            if kind == "Prepend":
                text = part["prepend"] + text if text else text
            elif kind == "Replace":
                text = str(_replace(part)(text))
            elif kind == "Lowercase":
                text = text.lower()
            elif kind in ("NFC", "NFD", "NFKC", "NFKD"):
                text = unicodedata.normalize(kind, text)
        return text

    return normalize


def _decoder(config: dict[str, Any] | None) -> Callable[[str], bytes]:
    """The function from one token to its bytes that the `decoder` entry describes."""
    steps = _steps(config)

    def decode(token: str) -> bytes:
        text = token
        for step in steps:
            result = step(text)
            if isinstance(result, bytes):
                return result
            text = result
        return text.encode("utf-8", "surrogatepass")

    return decode


def _steps(config: dict[str, Any] | None) -> list[Step]:
    if config is None:
        raise VocabularyError("tokenizer.json has no decoder, so the bytes of its tokens are not known")
    steps: list[Step] = []
    fused = False
    for part in _flattened(config, "decoders"):
        kind = part.get("type")
        if kind == "Fuse":
            fused = True
        elif kind == "ByteLevel":
            steps.append(decode_byte_alphabet)
            fused = True
        elif kind == "Strip" and fused:
            pass
        elif fused:
            raise VocabularyError(f"tokenizer.json: decoder {kind!r} after the tokens were joined is not supported")
        elif kind == "ByteFallback":
            steps.append(lambda text: decode_byte_piece(text) or text)
        elif kind == "Replace":
            steps.append(_replace(part))
        elif kind == "Metaspace":
            steps.append(_replace({"pattern": {"String": part.get("replacement", "▁")}, "content": " "}))
        elif kind == "Strip":
            steps.append(_strip(part))
        else:
            raise VocabularyError(
                f"tokenizer.json: decoder {kind!r} is not supported; give the tokens with Vocabulary.from_tokens"
            )
    return steps


def _flattened(config: dict[str, Any], inside: str) -> list[dict[str, Any]]:
    """The parts of a normalizer or decoder, those of sequences one after the other."""
    if config.get("type") != "Sequence":
        return [config]
    return [part for inner in config[inside] for part in _flattened(inner, inside)]


def _replace(part: dict[str, Any]) -> Step:
    pattern, content = part["pattern"], part["content"]
    if "String" in pattern:
        wanted = pattern["String"]
        return lambda text: text.replace(wanted, content)
    import regex  # rarely needed, and it takes a while to import

    try:
        compiled = regex.compile(pattern["Regex"])
    except regex.error as error:
        raise VocabularyError(f"tokenizer.json: pattern {pattern['Regex']!r}: {error}") from error
    return lambda text: compiled.sub(lambda _: content, text)


def _strip(part: dict[str, Any]) -> Step:
    content = re.escape(part["content"])
    ends = re.compile(f"^{content}{{0,{int(part['start'])}}}|{content}{{0,{int(part['stop'])}}}\\Z")
    return lambda text: ends.sub("", text)
