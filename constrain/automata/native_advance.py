"""The native code of `steps.advance_all`: most of the engine, compiled or loaded at import."""

from __future__ import annotations

from ._kernel import native_address
from .steps import advance_all

ADDRESS = native_address(advance_all, "i i i i -> i")
