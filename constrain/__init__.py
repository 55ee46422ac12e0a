"""Exact and fast constrained decoding: which tokens may come next, so that every output is valid.

vocab = constrain.Vocabulary.from_tokenizer("path/to/tokenizer.json")        # once per model
grammar = constrain.compile_json_schema(schema, vocab)                       # once per constraint
matcher = grammar.matcher()                                                  # once per sequence
bitmask = constrain.allocate_token_bitmask(1, vocab.size)
while not matcher.is_terminated():
    matcher.fill_next_token_bitmask(bitmask)                                 # at each step
    constrain.apply_token_bitmask_inplace(logits, bitmask)
    matcher.accept_token(draw(logits))
"""

from __future__ import annotations

from importlib import import_module

from ._api import (
    compile_choice,
    compile_gbnf,
    compile_json_schema,
    compile_lark,
    compile_regex,
    compile_structural_tag,
    compile_tools,
    sample,
    warmup,
)
from ._errors import (
    ArgumentError,
    ConstrainError,
    GrammarError,
    LimitError,
    RequestError,
    SchemaError,
    UnsatisfiableError,
    VocabularyError,
)
from ._limits import Limits
from .automata.compiled import Grammar
from .bitmask import allocate_token_bitmask, apply_token_bitmask_inplace
from .vocabulary import Vocabulary

__all__ = [
    "ArgumentError",
    "ConstrainError",
    "Grammar",
    "GrammarError",
    "LimitError",
    "Limits",
    "Matcher",
    "RequestError",
    "SchemaError",
    "Session",
    "UnsatisfiableError",
    "Vocabulary",
    "VocabularyError",
    "allocate_token_bitmask",
    "apply_token_bitmask_inplace",
    "compile_choice",
    "compile_gbnf",
    "compile_json_schema",
    "compile_lark",
    "compile_regex",
    "compile_structural_tag",
    "compile_tools",
    "fill_next_token_bitmasks",
    "requests",
    "sample",
    "warmup",
]

_LAZY = {
    "Matcher": ".automata.matcher",
    "Session": ".requests.session",
    "fill_next_token_bitmasks": ".automata.matcher",
}
"""Names whose modules define kernels: importing them loads numba, so that waits until they are asked for."""


def __getattr__(name: str) -> object:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name], __name__), name)
    if name == "requests":
        return import_module(".requests", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
