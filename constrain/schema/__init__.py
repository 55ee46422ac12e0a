"""JSON Schema to grammar nodes.

A schema's way: text -> `document` (references resolved; `check` visits every keyword once) -> `normal` (forms:
value languages and shapes, one level at a time, combined by `algebra`) -> `build` (grammar nodes, on demand). Each
step is a class or function that can be called and looked at by itself; `explain` puts forms in words.
"""

from .compile import compile_schema
from .explain import Entry, explain_schema
from .report import Finding, Report

__all__ = ["Entry", "Finding", "Report", "compile_schema", "explain_schema"]
