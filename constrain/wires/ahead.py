"""Large tools are built ahead: what a step would otherwise pay for when it first meets them, compilation pays.

A step that meets an enum of thousands of members, or an object of hundreds of properties, would take milliseconds to
build and encode it. All else is built in some ten microseconds when it is met.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..automata.grammar import Frame, Lexeme, Node, ObjectShape, resolve
from ..automata.oracle import children
from ..automata.program import Program

__all__ = ["LARGE", "build_ahead"]

LARGE = 6000
"""Bytes of a schema from which a tool may hold something large."""

_WORDS, _KEYS = 200, 40
_MOST = 5000


def build_ahead(nodes: Iterable[Node], program: Program) -> None:
    """Build what lies below the nodes, and encode what is large. Call under the grammar's lock."""
    todo = [resolve(node) for node in nodes]
    seen = set(map(id, todo))
    for node in todo:  # grows while it is read
        if _is_large(node):
            program.node(node)
        if len(todo) < _MOST:
            below = [child for child in children(node) if id(child) not in seen]
            seen.update(map(id, below))
            todo += below


def _is_large(node: Node) -> bool:
    if isinstance(node, Lexeme):
        return len(node.words) > _WORDS
    return isinstance(node, Frame) and isinstance(node.shape, ObjectShape) and len(node.shape.keys) > _KEYS
