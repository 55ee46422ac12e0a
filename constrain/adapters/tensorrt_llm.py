"""Grammar matcher and factory for TensorRT-LLM's PyTorch executor (docs/hosts.md).

TensorRT-LLM chooses factories by fixed names and has no register; `install_factory` lets one of these names mean
`constrain`, in a process that has loaded the executor.
"""

from __future__ import annotations

import json
from typing import Any

from ._imports import missing_host

try:
    from tensorrt_llm._torch.pyexecutor.grammar_matcher import GrammarMatcher, GrammarMatcherFactory
except ImportError as error:
    raise missing_host(
        "tensorrt_llm", "tensorrt_llm", "install TensorRT-LLM as its documentation says", error
    ) from error

from ..vocabulary import Vocabulary
from ._served import Served, answer

__all__ = ["ConstrainMatcher", "ConstrainMatcherFactory", "install_factory"]

_KINDS = {
    "JSON": "json_object",
    "JSON_SCHEMA": "json",
    "REGEX": "regex",
    "EBNF_GRAMMAR": "grammar",
    "STRUCTURAL_TAG": "structural_tag",
}


class ConstrainMatcher(Served, GrammarMatcher):  # type: ignore[misc]  # tensorrt_llm is untyped here
    """One request's state, by TensorRT-LLM's names."""

    def accept_token(self, token_id: int) -> bool:
        """Take a token. False: it is not allowed, and nothing has changed."""
        return self.take([token_id])

    def rollback(self, num_tokens: int) -> None:
        """Take back tokens, with them the end."""
        super().rollback(num_tokens)

    def fill_next_token_bitmask(self, next_token_bitmask: Any, index: int) -> None:
        """Write one row."""
        self.fill(next_token_bitmask, index)

    def is_terminated(self) -> bool:
        """Whether a stop token was taken."""
        return self.terminated


class ConstrainMatcherFactory(GrammarMatcherFactory):  # type: ignore[misc]
    """The grammars of one executor.

    guided_decoding_config: its tokenizer_str (a tokenizer.json as text) or encoded_vocab, and stop_token_ids.
    vocab_size_padded: width of the logits. vocabulary: in place of the one that the configuration describes.
    settings: of `constrain.requests.completions`.
    """

    def __init__(
        self,
        guided_decoding_config: Any,
        vocab_size_padded: int,
        max_num_draft_tokens: int = 0,
        *,
        vocabulary: Vocabulary | None = None,
        **settings: Any,
    ) -> None:
        super().__init__()
        self.vocabulary = vocabulary or _vocabulary(guided_decoding_config, vocab_size_padded)
        self._settings = settings

    def create(self, guided_decoding_params: Any) -> ConstrainMatcher:
        """Raises RequestError, a ValueError: TensorRT-LLM fails that request then."""
        kind = _KINDS.get(guided_decoding_params.guide_type.name)
        if kind is None:
            raise ValueError(f"guide type {guided_decoding_params.guide_type} is not one of {', '.join(_KINDS)}")
        return ConstrainMatcher(answer(kind, guided_decoding_params.guide, self.vocabulary, {}, **self._settings))


def _vocabulary(config: Any, width: int) -> Vocabulary:
    ends = list(config.stop_token_ids) if config.stop_token_ids else None
    if config.tokenizer_str is None:
        raise ValueError("the guided decoding configuration has no tokenizer_str; give vocabulary=")
    from tokenizers import Tokenizer

    json.loads(config.tokenizer_str)  # a path would be read as a tokenizer of no tokens
    return Vocabulary.from_tokenizer(Tokenizer.from_str(config.tokenizer_str), logits_width=width, eos_token_ids=ends)


def install_factory(name: str = "XGrammarMatcherFactory", **settings: Any) -> None:
    """Let TensorRT-LLM's factory of this name (or "LLGuidanceMatcherFactory") make constraints of `constrain`.

    It replaces the class where the executor's guided decoder looks it up; requests are still checked by TensorRT-LLM.
    settings: of `constrain.requests.completions`.
    """
    from tensorrt_llm._torch.pyexecutor import guided_decoder

    if not hasattr(guided_decoder, name):
        raise ValueError(f"TensorRT-LLM's guided decoder knows no {name}")

    def make(*arguments: Any, **options: Any) -> ConstrainMatcherFactory:
        return ConstrainMatcherFactory(*arguments, **{**options, **settings})

    setattr(guided_decoder, name, make)
