"""The native code of `operations.operate`, compiled or loaded at import."""

from __future__ import annotations

from ._kernel import native_address
from .operations import operate

ADDRESS = native_address(operate, "i i i i -> i")
