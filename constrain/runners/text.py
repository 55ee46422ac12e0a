"""Text of a GGUF model: to ids and back, and its chat template.

Byte-level BPE (`tokenizer.ggml.model` = "gpt2") is built with the package `tokenizers` from the file's own vocabulary
and merges. `tokenizer.ggml.pre` names the splitting that precedes BPE; the patterns belong to the model families.
Control tokens (token type 3) and user-defined ones (4) are recognised in text as wholes.

Byte-level BPE spells each byte as one printable code point (Radford et al. 2019, GPT-2); `token_bytes` undoes that.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from .errors import ModelError
from .gguf_file import GgufFile

__all__ = ["ChatTemplate", "GgufTokenizer"]

NORMAL, CONTROL, USER_DEFINED = 1, 3, 4  # tokenizer.ggml.token_type

_LLAMA3_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_QWEN2_SPLIT = _LLAMA3_SPLIT.replace(r"\p{N}{1,3}", r"\p{N}")


class GgufTokenizer:
    """Token ids of a GGUF file's vocabulary.

    vocab_size: rows of the vocabulary; eos_token_ids: the ids that end a reply; control_token_ids: those without text.
    Raises ModelError for a vocabulary that is not byte-level BPE, or a splitting that is not known here.
    """

    def __init__(self, file: GgufFile) -> None:
        from tokenizers import AddedToken, Tokenizer, decoders, models

        family = file.metadata("tokenizer.ggml.model")
        if family != "gpt2":
            raise ModelError(f"{file.path}: vocabulary of kind {family!r}; only byte-level BPE ('gpt2') is implemented")
        spellings: list[str] = file.metadata("tokenizer.ggml.tokens")
        kinds: list[int] = file.metadata("tokenizer.ggml.token_type", [NORMAL] * len(spellings))
        merges = [tuple(pair.split(" ", 1)) for pair in file.metadata("tokenizer.ggml.merges")]
        try:
            model = models.BPE({s: i for i, s in enumerate(spellings)}, merges)
        except Exception as error:  # tokenizers raises nothing narrower
            raise ModelError(f"{file.path}: vocabulary and merges do not fit together: {error}") from error
        self._tokenizer = Tokenizer(model)
        self._tokenizer.pre_tokenizer = _splitting(file)
        self._tokenizer.decoder = decoders.ByteLevel()
        added = [(s, kind) for s, kind in zip(spellings, kinds, strict=True) if kind in (CONTROL, USER_DEFINED)]
        self._tokenizer.add_tokens([AddedToken(s, normalized=False, special=k == CONTROL) for s, k in added])
        self.vocab_size = len(spellings)
        self.control_token_ids = frozenset(i for i, kind in enumerate(kinds) if kind == CONTROL)
        self.eos_token_ids = _end_tokens(file)
        self._bytes = [_bytes_of(s, kind) for s, kind in zip(spellings, kinds, strict=True)]

    def encode(self, text: str) -> list[int]:
        """Ids of `text`; the spelling of a control token becomes that token. Nothing is put in front."""
        return list(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def decode(self, ids: Sequence[int]) -> str:
        """Text of `ids`, without control tokens; bytes that are not UTF-8 become U+FFFD."""
        return b"".join(self.token_bytes(i) or b"" for i in ids).decode("utf-8", "replace")

    def token_bytes(self, token_id: int) -> bytes | None:
        """The bytes that a token stands for; None for a control token."""
        return self._bytes[token_id]


class ChatTemplate:
    """The model's own template (`tokenizer.chat_template`), run in jinja2's sandbox as transformers runs it."""

    def __init__(self, file: GgufFile) -> None:
        from jinja2.ext import loopcontrols
        from jinja2.sandbox import ImmutableSandboxedEnvironment

        source = file.metadata("tokenizer.chat_template")
        tokens = file.metadata("tokenizer.ggml.tokens")
        environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
        environment.filters["tojson"] = _tojson
        environment.globals["raise_exception"] = _raise_exception
        for role in ("bos", "eos"):
            index = file.metadata(f"tokenizer.ggml.{role}_token_id", None)
            environment.globals[f"{role}_token"] = "" if index is None else tokens[index]
        self._template = environment.from_string(source)

    def render(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]] | None = None) -> str:
        """The prompt for `messages` (each with role and content), ending where the assistant's reply begins."""
        return self._template.render(messages=messages, tools=tools, add_generation_prompt=True)


def _splitting(file: GgufFile) -> Any:
    from tokenizers import Regex, pre_tokenizers

    name = file.metadata("tokenizer.ggml.pre", "default")
    gpt2 = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    if name in ("default", "gpt-2"):
        return gpt2
    if name == "smollm":
        return pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), gpt2])
    patterns = {"llama-bpe": _LLAMA3_SPLIT, "llama3": _LLAMA3_SPLIT, "qwen2": _QWEN2_SPLIT}
    if name not in patterns:
        known = ", ".join(["default", "gpt-2", "smollm", *patterns])
        raise ModelError(f"{file.path}: unknown tokenizer.ggml.pre {name!r}; known are {known}")
    return pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(patterns[name]), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )


def _end_tokens(file: GgufFile) -> tuple[int, ...]:
    keys = ("tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id")
    found = [file.metadata(key, None) for key in keys]
    return tuple(dict.fromkeys(int(index) for index in found if index is not None))


def _printable_bytes() -> dict[str, int]:
    """GPT-2's code point for each byte: printable Latin-1 stands for itself, the rest follows from U+0100 on."""
    itself = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in itself]
    return {chr(byte): byte for byte in itself} | {chr(0x100 + n): byte for n, byte in enumerate(others)}


_BYTE_OF = _printable_bytes()


def _bytes_of(spelling: str, kind: int) -> bytes | None:
    if kind == CONTROL:
        return None
    if kind == USER_DEFINED or any(c not in _BYTE_OF for c in spelling):
        return spelling.encode()
    return bytes(_BYTE_OF[c] for c in spelling)


def _tojson(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _raise_exception(message: str) -> None:
    raise ModelError(f"the chat template refuses these messages: {message}")
