"""Limits on what a constraint may cost, with defaults that a public server can run."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Limits"]


@dataclass(frozen=True)
class Limits:
    """Bounds on compile and step costs; passing one raises LimitError with the field's name.

    max_source_bytes: length of a schema, pattern or grammar text in UTF-8 bytes.
    max_depth:        nesting of the source (schema in schema, group in group); a step's stack is not bounded by it.
    max_states:       states of one automaton after determinisation (about 100 bytes and 1-5 µs each).
    max_alternatives: shapes that one union of objects or arrays may have after normalisation.
    max_threads:      parallel threads that one step may keep alive (each costs about 50 ns a byte).
    max_nodes:        grammar nodes that one grammar may compile in its life (about 1 KB each).
    """

    max_source_bytes: int = 4_000_000
    max_depth: int = 400
    max_states: int = 50_000
    max_alternatives: int = 512
    max_threads: int = 512
    max_nodes: int = 200_000
