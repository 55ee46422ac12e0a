"""Backend for Outlines (docs/hosts.md).

backend = ConstrainBackend(model)
generator = outlines.Generator(model, processor=backend.get_json_schema_logits_processor(schema))
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._imports import missing_host

try:
    from outlines.backends.base import BaseBackend
    from outlines.models import LlamaCpp, Transformers
    from outlines.processors.base_logits_processor import OutlinesLogitsProcessor
except ImportError as error:
    raise missing_host("outlines", "outlines", "pip install outlines", error) from error

from ..vocabulary import Vocabulary
from ._processor import HistoryProcessor
from ._served import answer

__all__ = ["ConstrainBackend", "ConstraintLogitsProcessor", "vocabulary_of"]


def vocabulary_of(model: Any) -> Vocabulary:
    """The vocabulary of a model of Outlines: Transformers, LlamaCpp or MLXLM. Raises ValueError for others."""
    if isinstance(model, Transformers):
        return Vocabulary.from_tokenizer(model.hf_tokenizer, logits_width=_text_config(model.model).vocab_size)
    if isinstance(model, LlamaCpp):
        from .llama_cpp import vocabulary_of as of_llama

        return of_llama(model.model)
    if hasattr(model, "mlx_tokenizer"):
        from .mlx_lm import vocabulary_of as of_mlx

        return of_mlx(model.model, model.mlx_tokenizer)
    raise ValueError(f"constrain works with Transformers, LlamaCpp and MLXLM, not {type(model).__name__}")


def _text_config(model: Any) -> Any:
    get = getattr(model.config, "get_text_config", None)
    return model.config if get is None else get()


class ConstraintLogitsProcessor(HistoryProcessor, OutlinesLogitsProcessor):  # type: ignore[misc]  # untyped here
    __doc__ = HistoryProcessor.__doc__

    def __init__(self, constraint: Any, tensor_library_name: str = "torch", **options: Any) -> None:
        HistoryProcessor.__init__(self, constraint, **options)
        OutlinesLogitsProcessor.__init__(self, tensor_library_name)
        self._library = tensor_library_name

    def __deepcopy__(self, memo: dict[int, Any]) -> ConstraintLogitsProcessor:
        return type(self)(self._constraint, self._library, **self._options)

    def process_logits(self, input_ids: Any, logits: Any) -> Any:
        """Logits [rows, width] for input_ids [rows, length]: a new array, or `logits` if nothing is restricted."""
        return self.process(input_ids, logits)


class ConstrainBackend(BaseBackend):  # type: ignore[misc]
    """Makes logits processors for a model of Outlines.

    processor_options: of `ConstraintLogitsProcessor`. settings: of `constrain.requests.completions`.
    """

    def __init__(self, model: Any, *, processor_options: dict[str, Any] | None = None, **settings: Any) -> None:
        self.vocabulary = vocabulary_of(model)
        library = model.tensor_library_name
        options = processor_options or {}
        self._make: Callable[[Any], ConstraintLogitsProcessor] = lambda constraint: ConstraintLogitsProcessor(
            constraint, library, **options
        )
        # Outlines' patterns are Python's
        self._settings: dict[str, Any] = {"regex_dialect": "python", **settings}

    def _processor(self, kind: str, content: Any, **options: Any) -> ConstraintLogitsProcessor:
        return self._make(answer(kind, content, self.vocabulary, options, **self._settings))

    def get_json_schema_logits_processor(
        self, json_schema: Any, whitespace_pattern: str | None = None
    ) -> ConstraintLogitsProcessor:
        """For a JSON Schema, as text or dict. whitespace_pattern: for the blanks between JSON tokens."""
        return self._processor("json", json_schema, whitespace_pattern=whitespace_pattern)

    def get_regex_logits_processor(self, regex: str) -> ConstraintLogitsProcessor:
        """For a pattern that the whole answer matches."""
        return self._processor("regex", regex)

    def get_cfg_logits_processor(self, grammar: str) -> ConstraintLogitsProcessor:
        """For a grammar in Lark's notation, or GBNF."""
        return self._processor("grammar", grammar)
