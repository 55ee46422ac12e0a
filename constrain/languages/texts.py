"""Strings that do not contain given texts: what can stand before a marker that ends at its first occurrence."""

from __future__ import annotations

from functools import lru_cache

from .dfa import DFA
from .operations import complement
from .pattern import compile_node
from .syntax import alternatives, text

__all__ = ["strings_without"]


@lru_cache(maxsize=256)
def strings_without(texts: tuple[str, ...]) -> DFA:
    """All strings that contain none of `texts`. One object for the same texts: what is made of it is shared."""
    return complement(compile_node(alternatives([text(one) for one in texts]), search=True))
