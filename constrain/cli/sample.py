"""`constrain sample`: random outputs of a schema, one a line."""

from __future__ import annotations

import argparse
import sys

from .._errors import ConstrainError, LimitError, UnsatisfiableError
from .check import COMPILING
from .sources import Unusable, parse_json, read

__all__ = ["sample"]


def sample(options: argparse.Namespace) -> int:
    """Write what the options ask for; the exit code."""
    import constrain

    try:
        source = read(options.schema)
        grammar = constrain.compile_json_schema(
            parse_json(source), **{name: getattr(options, name) for name in COMPILING}
        )
        for i in range(options.count):
            seed = None if options.seed is None else options.seed + i
            _write(constrain.sample(grammar, seed=seed, max_bytes=options.max_bytes))
    except Unusable as error:
        return _fail(str(error), 2)
    except (ConstrainError, ValueError) as error:
        refused = isinstance(error, (LimitError, UnsatisfiableError))
        return _fail(f"{source.name}: {str(error).splitlines()[0]}", 1 if refused else 2)
    return 0


def _write(text: str) -> None:
    """Always UTF-8: an output is bytes that somebody may check."""
    sys.stdout.buffer.write(text.encode() + b"\n")


def _fail(message: str, code: int) -> int:
    sys.stderr.write(f"constrain sample: {message}\n")
    return code
