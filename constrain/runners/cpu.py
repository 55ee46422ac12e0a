"""The reference runner on the CPU."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .._errors import ArgumentError
from .arrays import NumpyArrays
from .gguf_file import GgufFile
from .llama import LlamaModel
from .loop import Runner
from .requests import Model, Tokens
from .text import ChatTemplate, GgufTokenizer
from .weights import model_path

__all__ = ["CpuRunner"]

Messages = Sequence[Mapping[str, Any]]  # role and content each


class CpuRunner(Runner[Model, Tokens]):
    """`Runner` in host memory, for any model whose `forward` returns numpy logits.

    template: the model's chat template, for `prompt`; None where the model brings none.
    """

    def __init__(self, model: Model, tokenizer: Tokens, template: ChatTemplate | None = None) -> None:
        super().__init__(model, tokenizer, NumpyArrays())
        self.template = template

    @classmethod
    def from_gguf(
        cls, path: str | os.PathLike[str] | None = None, progress: Callable[[str], None] | None = None
    ) -> CpuRunner:
        """A runner for a GGUF file of the Llama architecture; path None is `model_path()`, downloaded when needed.

        progress: called with a line of text now and then. Raises ModelError and its kind DownloadError.
        """
        file = GgufFile(path if path is not None else model_path(progress))
        if progress:
            progress(f"reading {file.path.name}")
        tokenizer = GgufTokenizer(file)
        template = ChatTemplate(file) if file.metadata("tokenizer.chat_template", None) else None
        return cls(LlamaModel(file, progress), tokenizer, template)

    def prompt(self, messages: Messages, tools: Messages | None = None) -> list[int]:
        """Token ids of a conversation, up to where the reply begins. Raises ValueError without a template."""
        if self.template is None:
            raise ArgumentError("this model has no chat template; encode the prompt with runner.tokenizer.encode")
        return self.tokenizer.encode(self.template.render(messages, tools))
