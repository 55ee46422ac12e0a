"""Compiles functions that only other compiled functions call no further than to LLVM's language.

numba optimises every function together with all that it calls and makes machine code of it, and then does so again with
each caller that the code becomes part of. Of a function that Python never calls that is lost: a quarter of a minute for
the kernels here, half of all. Its code, not optimised yet, is linked into the callers; they are optimised as a whole.
"""

from __future__ import annotations

import functools
from typing import Any

__all__ = ["part_compiler"]


@functools.cache
def part_compiler() -> Any:
    """numba's compiler (for `pipeline_class=`), but for a code library that is only ever linked into others."""
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import CompilerBase, DefaultPassBuilder

    class Nowhere:
        """In place of the engine that would run the code."""

        def set_env(self, name: str, env: Any) -> None:
            return None

    class Part(JITCodeLibrary):  # type: ignore[misc]
        codegen = Nowhere()

        def _optimize_final_module(self) -> None:
            return None

        def _finalize_final_module(self) -> None:
            self._finalize_dynamic_globals()
            self._verify_declare_only_symbols()
            self._finalized = True

        def get_pointer_to_function(self, name: str) -> int:
            return 0

    class PartCompiler(CompilerBase):  # type: ignore[misc]
        def define_pipelines(self) -> list[Any]:
            state = self.state
            context, function = state.targetctx, state.func_id
            state.library = Part(context.codegen(), function.func_qualname)
            return [DefaultPassBuilder.define_nopython_pipeline(state)]

    return PartCompiler
