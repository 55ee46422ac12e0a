"""JSON Schema to grammar nodes.

A schema's way: text -> `document` (references resolved; `check` visits every keyword once) -> `normal` (forms:
value languages and shapes, one level at a time, combined by `algebra`) -> `build` (grammar nodes, on demand). Each
step is a class or function that can be called and looked at by itself.
"""

from .compile import compile_schema
from .report import Finding, Report

__all__ = ["Finding", "Report", "compile_schema"]
