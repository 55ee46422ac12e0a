"""From whatever a user has at hand to a TokenTable: which loader reads it, and where its EOS ids are written.

Objects are told by the package that defines their class, files by their content. End-of-sequence ids of a file are
those named by any of the configuration files beside it: all of them end a sequence.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np

from constrain._errors import VocabularyError
from constrain.vocabulary.gguf_file import read_gguf
from constrain.vocabulary.sentencepiece_model import parse_sentencepiece_model
from constrain.vocabulary.store import cached_table
from constrain.vocabulary.table import AddedToken, TokenTable
from constrain.vocabulary.tiktoken_encoding import read_tiktoken
from constrain.vocabulary.tokenizer_json import parse_tokenizer_json
from constrain.vocabulary.transformers_tokenizer import read_transformers

__all__ = ["read_table"]

_IN_FOLDER = ("tokenizer.json", "tokenizer.model")
_RANK_LINE = re.compile(rb"[A-Za-z0-9+/]+=* \d+\r?\n")


def read_table(source: Any) -> TokenTable:
    """Read any source that `Vocabulary.from_tokenizer` lists; `eos` is None where no EOS id is written anywhere."""
    if isinstance(source, (str, os.PathLike)):
        return _read_path(Path(source))
    packages = {cls.__module__.partition(".")[0] for cls in type(source).__mro__}
    if "tokenizers" in packages:
        return cached_table(source.to_str().encode(), parse_tokenizer_json)
    if "tiktoken" in packages:
        return read_tiktoken(source)
    if "sentencepiece" in packages:
        return cached_table(source.serialized_model_proto(), parse_sentencepiece_model)
    if "transformers" in packages:
        table = read_transformers(source)
        folder = Path(str(getattr(source, "name_or_path", "") or "/nowhere"))
        return _with_configuration(table, folder) if folder.is_dir() else table
    raise VocabularyError(
        f"cannot read a vocabulary from {type(source).__module__}.{type(source).__qualname__}; give a path to "
        "tokenizer.json, tokenizer.model or a GGUF file, a tokenizer of transformers, tokenizers, tiktoken or "
        "sentencepiece, or use Vocabulary.from_tokens"
    )


def _read_path(path: Path) -> TokenTable:
    if path.is_dir():
        found = [path / name for name in _IN_FOLDER if (path / name).is_file()]
        if not found:
            raise VocabularyError(f"{path} has none of {', '.join(_IN_FOLDER)}")
        path = found[0]
    if not path.is_file():
        raise VocabularyError(f"{path}: no such file or folder; for a model's name, load its tokenizer and give that")
    try:
        with path.open("rb") as file:
            head = file.read(64)
        if head.startswith(b"GGUF"):
            return read_gguf(path)
        content = path.read_bytes()
    except OSError as error:
        raise VocabularyError(f"{path}: {error.strerror or error}") from error
    if _RANK_LINE.match(content[:4096]):
        raise VocabularyError(f"{path} holds tiktoken ranks without special tokens; give a tiktoken.Encoding of it")
    parse = parse_tokenizer_json if head.lstrip()[:1] == b"{" else parse_sentencepiece_model
    try:
        table = cached_table(content, parse)
    except VocabularyError as error:
        raise VocabularyError(f"{path}: {error}") from error
    return _with_configuration(table, path.parent)


def _with_configuration(table: TokenTable, folder: Path) -> TokenTable:
    """Add what the JSON files in `folder` know: named tokens that the tokenizer lacks, and EOS ids."""
    tokenizer = _load_object(folder / "tokenizer_config.json")
    _add_named_tokens(table, tokenizer.get("added_tokens_decoder"))
    eos = set(table.eos or ())
    for name in ("generation_config.json", "config.json"):
        settings = _load_object(folder / name)
        inner = settings.get("text_config")
        for holder in (settings, inner if isinstance(inner, dict) else {}):
            value = holder.get("eos_token_id")
            eos.update(i for i in (value if isinstance(value, list) else [value]) if isinstance(i, int))
    for settings in (tokenizer, _load_object(folder / "special_tokens_map.json")):
        value = settings.get("eos_token")
        text = value.get("content") if isinstance(value, dict) else value
        found = table.find(text) if isinstance(text, str) else None
        if found is not None:
            eos.add(found)
    table.eos = tuple(sorted(i for i in eos if 0 <= i < table.n_tokens)) or None
    return table


def _add_named_tokens(table: TokenTable, entries: Any) -> None:
    """Tokens that only tokenizer_config.json knows; without bytes, as their tokenizer cannot decode them alone."""
    for key, entry in entries.items() if isinstance(entries, dict) else ():
        if not (key.isdecimal() and isinstance(entry, dict) and isinstance(entry.get("content"), str)):
            continue
        token_id = int(key)
        if token_id >= table.n_tokens + len(entries):
            continue
        if token_id >= table.n_tokens:
            table.offsets = np.pad(table.offsets, (0, token_id + 1 - table.n_tokens), "edge")
        elif token_id in table.added or table.offsets[token_id + 1] > table.offsets[token_id]:
            continue
        table.added[token_id] = AddedToken(entry["content"], bool(entry.get("special")))


def _load_object(path: Path) -> dict[str, Any]:
    """The JSON object in a configuration file; empty when the file is missing or not one."""
    try:
        document = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}
