"""Errors of the reference runners: model files and their download."""

from __future__ import annotations

from .._errors import ConstrainError

__all__ = ["DownloadError", "ModelError"]


class ModelError(ConstrainError):
    """A model file cannot be run here: it is damaged, or uses something the reference backend does not implement."""


class DownloadError(ModelError):
    """The weights could not be fetched; the message names the ways around."""
