"""What an adapter says when its host cannot be imported: the true cause."""

from __future__ import annotations

__all__ = ["missing_host"]


def missing_host(module: str, needs: str, install: str, error: ImportError) -> ImportError:
    """The error of an adapter's module whose host fails to import.

    Only where a package is absent does it say how to install it: an import may as well fail because a package is
    there and broken, or too old for the names that are asked for.
    """
    hint = f"; {install}" if isinstance(error, ModuleNotFoundError) else ""
    return ImportError(
        f"constrain.adapters.{module} needs {needs}, and importing them fails: {error}{hint}", name=error.name
    )
