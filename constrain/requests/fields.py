"""Reading fields of request bodies: each is checked, and what is wrong is a RequestError that names it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from .._errors import RequestError
from .._limits import Limits
from ..schema.document import json_type

__all__ = ["boolean", "choices", "mapping", "one_of", "parsed", "string"]


def mapping(value: Any, field: str) -> Mapping[str, Any]:
    """An object."""
    if not isinstance(value, Mapping):
        raise RequestError(field, f"must be an object, not {json_type(value)}")
    return value


def string(value: Any, field: str) -> str:
    """A string that UTF-8 can spell."""
    if value is None:
        raise RequestError(field, "is missing")
    if not isinstance(value, str):
        raise RequestError(field, f"must be a string, not {json_type(value)}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise RequestError(field, "has a lone surrogate, which is not text") from None
    return value


def one_of(value: Any, field: str, names: Sequence[str]) -> str:
    """One of some strings."""
    found = string(value, field)
    if found not in names:
        raise RequestError(field, f"{found[:80]!r} is not supported; use one of {', '.join(names)}")
    return found


def boolean(value: Any, field: str) -> bool:
    """true or false; null is false."""
    if not isinstance(value, (bool, type(None))):
        raise RequestError(field, f"must be true or false, not {json_type(value)}")
    return bool(value)


def choices(value: Any, field: str) -> list[str]:
    """A list of strings, not empty."""
    if not isinstance(value, list):
        raise RequestError(field, f"must be a list of strings, not {json_type(value)}")
    if not value:
        raise RequestError(field, "must not be empty: nothing could be generated")
    return [string(one, f"{field}[{i}]") for i, one in enumerate(value)]


def parsed(text: str, field: str, limits: Limits) -> tuple[Any, bool]:
    """The value of JSON text, and whether Python's floats hold all its numbers."""
    if len(text) > limits.max_source_bytes:
        raise RequestError(field, f"is longer than {limits.max_source_bytes} characters")
    exact = True

    def number(digits: str) -> float | Decimal:
        nonlocal exact
        value = float(digits)
        if Decimal(repr(value)) == Decimal(digits):
            return value
        exact = False
        return Decimal(digits)

    def constant(name: str) -> None:
        raise ValueError(f"{name} is not JSON")

    try:
        return json.loads(text, parse_float=number, parse_constant=constant), exact
    except RecursionError:
        raise RequestError(field, "is nested too deeply") from None
    except (ValueError, ArithmeticError) as error:
        raise RequestError(field, f"is not JSON: {error}") from None
