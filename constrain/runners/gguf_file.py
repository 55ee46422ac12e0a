"""A GGUF file: typed metadata, and tensors as float32.

GGUF stores each matrix as rows of the output dimension, [out, in] in numpy's order, quantised in blocks along `in`.
Everything is expanded to float32 once: a matrix product then runs at the speed of the BLAS, which for models of some
hundred million parameters is bound by memory and fast enough for a reference.
Source: the GGUF specification in the ggml repository, read through the `gguf` package.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .errors import ModelError

__all__ = ["GgufFile"]

_REQUIRED: Any = object()


class GgufFile:
    """Opens `path` and reads its metadata; tensors are read from the mapped file when asked for.

    Raises ModelError when the file is missing or is not GGUF, ImportError when the package `gguf` is not installed.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        import gguf

        self.path = Path(path)
        if not self.path.is_file():
            raise ModelError(f"{self.path}: no such file")
        try:
            self._reader = gguf.GGUFReader(self.path)
        except (ValueError, IndexError, KeyError, OSError) as error:
            raise ModelError(f"{self.path}: not a readable GGUF file: {error}") from error
        self._tensors = {tensor.name: tensor for tensor in self._reader.tensors}

    def metadata(self, key: str, default: Any = _REQUIRED) -> Any:
        """The value under `key`, a scalar or a list. Raises ModelError if it is damaged, or absent without default."""
        field = self._reader.fields.get(key)
        if field is not None:
            try:
                return field.contents()
            except UnicodeDecodeError as error:
                raise ModelError(f"{self.path}: metadata {key!r} is not UTF-8: {error}") from error
        if default is _REQUIRED:
            raise ModelError(f"{self.path}: metadata {key!r} is missing")
        return default

    def __contains__(self, name: str) -> bool:
        return name in self._tensors

    def tensor(self, name: str, *shape: int) -> npt.NDArray[np.float32]:
        """The tensor `name`, expanded to float32 and C-contiguous.

        Raises ModelError when it is absent, when its shape is not `shape`, or when its quantisation is unknown.
        """
        import gguf

        stored = self._tensors.get(name)
        if stored is None:
            raise ModelError(f"{self.path}: tensor {name!r} is missing")
        actual = tuple(int(n) for n in reversed(stored.shape))
        if actual != shape:
            raise ModelError(f"{self.path}: tensor {name!r} has shape {actual}, expected {shape}")
        try:
            data = gguf.quants.dequantize(stored.data, stored.tensor_type)
        except NotImplementedError as error:  # what gguf raises for a type that it cannot read
            raise ModelError(f"{self.path}: tensor {name!r} is stored as {stored.tensor_type.name}: {error}") from error
        return np.ascontiguousarray(data, dtype=np.float32)
