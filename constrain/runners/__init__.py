"""Reference runners: the whole way from a prompt to constrained text, small enough to be read as the model answer.

loop      the loop itself, for any model and array library
arrays    what of it depends on where arrays live, for numpy
sequences the state of one request in the loop
speculation   forced tokens and drafts
chat      CpuRunner and CudaRunner: the loop on arrays in host memory and on a GPU
cuda_arrays, cuda_kernels, torch_arrays    the arrays of a GPU, by numba or by torch
requests  Request, Event, Completion, Timing, and the protocols Model and Tokens
streams   text increments across tokens, stop strings
gguf_file, llama, products, text, weights    a model backend: GGUF files of the Llama architecture, in numpy
"""

from __future__ import annotations

from .arrays import Arrays, Draw, NumpyArrays, Workspace
from .chat import CpuRunner, CudaRunner
from .errors import DownloadError, ModelError
from .gguf_file import GgufFile
from .llama import LlamaModel
from .loop import Runner
from .requests import Completion, Event, Model, Request, SequenceError, Timing, Tokens
from .speculation import Speculation
from .streams import TextStream
from .text import ChatTemplate, GgufTokenizer
from .weights import cached_model, model_path

__all__ = [
    "Arrays",
    "ChatTemplate",
    "Completion",
    "CpuRunner",
    "CudaRunner",
    "DownloadError",
    "Draw",
    "Event",
    "GgufFile",
    "GgufTokenizer",
    "LlamaModel",
    "Model",
    "ModelError",
    "NumpyArrays",
    "Request",
    "Runner",
    "SequenceError",
    "Speculation",
    "TextStream",
    "Timing",
    "Tokens",
    "Workspace",
    "cached_model",
    "model_path",
]
