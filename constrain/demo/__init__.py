"""A small real model with and without a constraint: `python -m constrain.demo`.

SmolLM2-135M-Instruct (98 MB, downloaded once) answers two prompts that ask for JSON (`answers`), and calls a tool in
three formats although it would rather give it an argument that it does not take (`calls`). On its own it writes what a
small model writes: prose, a code fence, fields of its own invention, kelvin. Constrained, every reply is valid, as the
package `jsonschema` confirms. The prompts are the same, and all replies are greedy.

Needs the extra `demo`; shown as tables where `rich` is installed, as plain text elsewhere.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import chain
from typing import Any

import constrain

from ..runners import CpuRunner, model_path
from .display import show

__all__ = ["main"]

CALL_TOKENS = 90
"""Tokens of a call at most."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demonstration; 0 when every constrained reply was valid, 1 otherwise, 2 when it cannot run."""
    parser = argparse.ArgumentParser(
        prog="python -m constrain.demo", description="A small model with and without a schema."
    )
    parser.add_argument("--model", help="a GGUF file of the Llama architecture; default: SmolLM2-135M-Instruct")
    parser.add_argument("--max-tokens", type=int, default=120, help="of each answer (default 120)")
    options = parser.parse_args(arguments)
    try:
        from . import answers, calls

        path = options.model or model_path(_progress)
        runner = CpuRunner.from_gguf(path, _progress)
        vocab = constrain.Vocabulary.from_tokenizer(path)
    except (constrain.ConstrainError, ImportError) as error:
        missing = isinstance(error, ImportError)
        hint = "; the demonstration needs: pip install 'constrain-decoding[demo]'" if missing else ""
        sys.stderr.write(f"constrain.demo: {error}{hint}\n")
        return 2
    _progress("compiling the kernels, once per machine")
    started = time.perf_counter()
    constrain.warmup(vocab)
    _progress(f"kernels are ready after {time.perf_counter() - started:.1f} s")
    valid = True
    with _single_threaded():
        for scene in chain(answers.scenes(runner, vocab, options.max_tokens), calls.scenes(runner, vocab, CALL_TOKENS)):
            show(scene)
            valid = valid and scene.held
    return 0 if valid else 1


def _progress(line: str) -> None:
    sys.stderr.write(f"  {line}\n")
    sys.stderr.flush()


def _single_threaded() -> AbstractContextManager[Any]:
    """One BLAS thread, where threadpoolctl is installed: products this small wait for memory, not for arithmetic."""
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        return nullcontext()
    return threadpool_limits(limits=1, user_api="blas")
