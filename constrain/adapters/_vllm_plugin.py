"""What vLLM runs at the start of each of its processes: nothing, unless the environment asks for the backend."""

from __future__ import annotations

import os

__all__ = ["load"]


def load() -> None:
    """Install the structured-output backend under the name in CONSTRAIN_VLLM_BACKEND, if there is one."""
    name = os.environ.get("CONSTRAIN_VLLM_BACKEND")
    if name:
        from .vllm import install_backend

        install_backend(name)
