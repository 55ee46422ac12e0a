"""Logits processor for llama-cpp-python (docs/hosts.md).

llm = Llama("model.gguf")
grammar = constrain.compile_json_schema(schema, vocabulary_of(llm))
processor = ConstraintLogitsProcessor(grammar)
llm(prompt, logits_processor=LogitsProcessorList([processor]))
processor.check()
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ._imports import missing_host

try:
    from llama_cpp import Llama
except ImportError as error:
    raise missing_host("llama_cpp", "llama-cpp-python", "pip install llama-cpp-python", error) from error

from ..vocabulary import Vocabulary
from ._processor import HistoryProcessor

__all__ = ["ConstraintLogitsProcessor", "vocabulary_of"]


def vocabulary_of(llm: Llama) -> Vocabulary:
    """The vocabulary of a model, from its GGUF file.

    Raises ValueError for a model with a draft_model: llama-cpp-python shows processors drafted tokens as if they had
    been chosen, so no processor can work with it.
    """
    if getattr(llm, "draft_model", None) is not None:
        raise ValueError(
            "a logits processor cannot work with draft_model: llama-cpp-python shows it drafted tokens as if chosen"
        )
    return Vocabulary.from_tokenizer(llm.model_path, logits_width=llm.n_vocab())


class ConstraintLogitsProcessor(HistoryProcessor):
    __doc__ = f"""{HistoryProcessor.__doc__}
    llama-cpp-python swallows exceptions of processors and would go on without the mask. Here the reply may only end
    then, and `check` raises the exception.
    """

    error: Exception | None = None

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """Scores float32[width] for input_ids int32[length], prompt and reply: a new array, or `scores`."""
        try:
            if self.error is None:
                return self.process(np.asarray(input_ids)[None], np.asarray(scores)[None])[0]
        except Exception as error:
            self.error = error
        return self._only_end(scores)

    def check(self) -> None:
        """Raise what went wrong in the last generation, if anything did."""
        if self.error is not None:
            error, self.error = self.error, None
            raise error

    def reset(self) -> None:
        """Forget the last generation, and what went wrong in it."""
        super().reset()
        self.error = None

    def _only_end(self, scores: Any) -> Any:
        vocabulary = self._histories.vocabulary
        stops = self._options["stop_token_ids"] or (vocabulary.eos_token_ids if vocabulary is not None else ())
        out = np.full(len(scores), -np.inf, np.float32) if stops else np.array(scores, np.float32)
        out[list(stops)] = 0
        return out
