"""Exceptions that steer the normalisation and never leave the package."""

from __future__ import annotations

__all__ = ["InProgress", "Refusal"]


class Refusal(Exception):
    """Something is not expressible; whoever knows the keyword turns it into a SchemaError. reason: one clause."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class InProgress(Exception):
    """The question depends on a form that is being computed; the asker assumes nothing."""
