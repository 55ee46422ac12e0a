"""Runners of a model that is given as a file, with its chat template; `CpuRunner` and `CudaRunner` differ in arrays."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .arrays import Arrays, NumpyArrays
from .gguf_file import GgufFile
from .llama import LlamaModel
from .loop import Runner
from .requests import Model, Tokens
from .text import ChatTemplate, GgufTokenizer
from .weights import model_path

__all__ = ["ChatRunner", "CpuRunner", "CudaRunner"]

FilePath = str | os.PathLike[str]
Progress = Callable[[str], None]
Messages = Sequence[Mapping[str, Any]]  # role and content each


class ChatRunner(Runner[Model, Tokens]):
    """`Runner` with a prompt from messages.

    template: the model's chat template, for `prompt`; None where the model brings none.
    """

    def __init__(self, model: Model, tokenizer: Tokens, template: ChatTemplate | None, arrays: Arrays) -> None:
        super().__init__(model, tokenizer, arrays)
        self.template = template

    @classmethod
    def _from_file(cls, path: FilePath | None, progress: Progress | None) -> tuple[Model, Tokens, ChatTemplate | None]:
        file = GgufFile(path if path is not None else model_path(progress))
        if progress:
            progress(f"reading {file.path.name}")
        tokenizer = GgufTokenizer(file)
        template = ChatTemplate(file) if file.metadata("tokenizer.chat_template", None) else None
        return LlamaModel(file, progress), tokenizer, template

    def prompt(self, messages: Messages, tools: Messages | None = None) -> list[int]:
        """Token ids of a conversation, up to where the reply begins. Raises ValueError without a template."""
        if self.template is None:
            raise ValueError("this model has no chat template; encode the prompt with runner.tokenizer.encode")
        return self.tokenizer.encode(self.template.render(messages, tools))


class CpuRunner(ChatRunner):
    """`Runner` in host memory, for any model whose `forward` returns numpy logits; template as for ChatRunner."""

    def __init__(self, model: Model, tokenizer: Tokens, template: ChatTemplate | None = None) -> None:
        super().__init__(model, tokenizer, template, NumpyArrays())

    @classmethod
    def from_gguf(cls, path: FilePath | None = None, progress: Progress | None = None) -> CpuRunner:
        """A runner for a GGUF file of the Llama architecture; path None is `model_path()`, downloaded when needed.

        progress: called with a line of text now and then. Raises ModelError and its kind DownloadError.
        """
        return cls(*cls._from_file(path, progress))


class CudaRunner(ChatRunner):
    """`Runner` with logits in the memory of an NVIDIA GPU: masks are uploaded, and applied and drawn from there.

    model: `forward` returns logits in device memory (a torch tensor, or an array of numba or cupy); logits in host
    memory are uploaded. arrays: `CudaArrays` (numba's CUDA target), where that works, otherwise `TorchArrays`.
    Raises RuntimeError, with what is missing, where neither finds a GPU.
    """

    def __init__(
        self, model: Model, tokenizer: Tokens, template: ChatTemplate | None = None, arrays: Arrays | None = None
    ) -> None:
        super().__init__(model, tokenizer, template, arrays or _device_arrays())

    @classmethod
    def from_gguf(
        cls, path: FilePath | None = None, progress: Progress | None = None, arrays: Arrays | None = None
    ) -> CudaRunner:
        """As CpuRunner.from_gguf: the model itself computes on the CPU, and all that follows is done on the device."""
        arrays = arrays or _device_arrays()
        return cls(*cls._from_file(path, progress), arrays)


def _device_arrays() -> Arrays:
    from numba import cuda

    if cuda.is_available():
        from .cuda_arrays import CudaArrays

        return CudaArrays()
    reason = "numba finds none (is a driver installed, and the extra `cuda`?)"
    try:
        import torch
    except ImportError:
        raise RuntimeError(f"CudaRunner needs an NVIDIA GPU: {reason}, and torch is not installed") from None
    if not torch.cuda.is_available():
        raise RuntimeError(f"CudaRunner needs an NVIDIA GPU: {reason}, nor does torch")
    from .torch_arrays import TorchArrays

    return TorchArrays("cuda")
