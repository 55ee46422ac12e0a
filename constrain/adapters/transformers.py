"""A logits processor for `generate` of Hugging Face transformers (docs/huggingface.md).

    processor = ConstraintLogitsProcessor(grammar)
    model.generate(**inputs, logits_processor=[processor])

States follow the token histories of rows (`_history`), so greedy decoding, sampling, beam search, returned sequences,
assisted decoding and prompt lookup all work. `jump_ahead` is a loop of its own that writes forced tokens without asking
the model for each of them:

    model.generate(**inputs, logits_processor=[processor], custom_generate=jump_ahead)
"""

from __future__ import annotations

from typing import Any

from ._imports import missing_host

try:
    from transformers import LogitsProcessor

    from ._jump_ahead import jump_ahead
except ImportError as error:
    raise missing_host(
        "transformers", "torch and transformers", "pip install 'constrain-decoding[hf]'", error
    ) from error

from ._processor import HistoryProcessor
from ._tracks import Event

__all__ = ["ConstraintLogitsProcessor", "Event", "jump_ahead"]


class ConstraintLogitsProcessor(HistoryProcessor, LogitsProcessor):  # type: ignore[misc]  # transformers is untyped here
    __doc__ = HistoryProcessor.__doc__

    supports_continuous_batching = False

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """Scores [rows, width] for input_ids [rows, length]: a new tensor, or `scores` if nothing is restricted."""
        return self.process(input_ids, scores)
