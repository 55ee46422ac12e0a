"""Logits processor for mlx-lm (docs/hosts.md).

    model, tokenizer = mlx_lm.load(...)
    grammar = constrain.compile_json_schema(schema, vocabulary_of(model, tokenizer))
    mlx_lm.generate(model, tokenizer, prompt, logits_processors=[ConstraintLogitsProcessor(grammar)])

It works with `speculative_generate_step` (a draft model) and in batches, where each prompt has a list of its own.
"""

from __future__ import annotations

from typing import Any

from ._imports import missing_host

try:
    import mlx.core as mx
    import mlx_lm  # noqa: F401
except ImportError as error:
    raise missing_host("mlx_lm", "mlx and mlx-lm", "pip install mlx-lm", error) from error

from ..vocabulary import Vocabulary
from ._processor import HistoryProcessor

__all__ = ["ConstraintLogitsProcessor", "vocabulary_of"]


def vocabulary_of(model: Any, tokenizer: Any) -> Vocabulary:
    """The vocabulary of a model and its tokenizer, as `mlx_lm.load` gives them."""
    ends = sorted(getattr(tokenizer, "eos_token_ids", None) or ())
    inner = getattr(tokenizer, "_tokenizer", tokenizer)
    return Vocabulary.from_tokenizer(inner, logits_width=_width(model), eos_token_ids=ends or None)


def _width(model: Any) -> int:
    """Columns of the logits, which may be more than the tokenizer has tokens. Nothing is computed."""
    return int(model(mx.array([[0]])).shape[-1])


class ConstraintLogitsProcessor(HistoryProcessor):
    __doc__ = HistoryProcessor.__doc__

    def __call__(self, tokens: Any, logits: Any) -> Any:
        """Logits [1, width] or [width] for tokens [length], prompt and reply: a new array, or `logits`."""
        if logits.ndim == 1:
            return self.process(tokens[None], logits[None])[0]
        return self.process(tokens[None], logits)
