"""Reading the objects of a structural tag: which fields there are, of which types, and what is wrong with them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from .._errors import LimitError, SchemaError
from .._limits import Limits

__all__ = ["fields", "loaded", "natural", "strings", "tokens"]

_REQUIRED = object()
_SHOWN = {str: "a string", dict: "an object", list: "a list", int: "an integer", bool: "true or false"}


def loaded(spec: Any, limits: Limits) -> Mapping[str, Any]:
    """The specification as an object, from JSON text if need be."""
    if isinstance(spec, (str, bytes)):
        if len(spec) > limits.max_source_bytes:
            raise LimitError("max_source_bytes", limits.max_source_bytes, "length of a structural tag")
        try:
            spec = json.loads(spec)
        except ValueError as error:
            raise SchemaError("", None, f"is not JSON: {error}") from None
    if not isinstance(spec, Mapping):
        raise SchemaError("", None, f"a structural tag is an object, not {type(spec).__name__}")
    return spec


def fields(
    spec: Any, at: str, required: Mapping[str, Any], optional: Mapping[str, tuple[Any, Any]] | None = None
) -> dict[str, Any]:
    """The fields of an object, each of its type or one of its types; others are refused, but for `type`.

    optional: type and default.
    """
    if not isinstance(spec, Mapping):
        raise SchemaError(at, None, f"an object is needed, not {type(spec).__name__}")
    wanted = {name: (kinds, _REQUIRED) for name, kinds in required.items()} | dict(optional or {})
    for name in spec:
        if name not in wanted and name != "type":
            raise SchemaError(at, str(name), "is no field of this format")
    found = {}
    for name, (kinds, default) in wanted.items():
        value = spec.get(name, default)
        if value is _REQUIRED:
            raise SchemaError(at, name, "is missing")
        allowed = kinds if isinstance(kinds, tuple) else (kinds,)
        given = name in spec and not (value is None and default is None)
        if given and (not isinstance(value, allowed) or (isinstance(value, bool) and bool not in allowed)):
            shown = " or ".join(_SHOWN[kind] for kind in allowed)
            raise SchemaError(at, name, f"is {shown}, not {type(value).__name__}")
        found[name] = value
    return found


def strings(values: Sequence[Any], at: str, empty: bool = False) -> tuple[str, ...]:
    """Distinct strings, in order; they may be empty if `empty`."""
    for i, value in enumerate(values):
        if not isinstance(value, str) or (not value and not empty):
            raise SchemaError(f"{at}/{i}", None, "a string is needed" + ("" if empty else " that is not empty"))
    return tuple(dict.fromkeys(values))


def tokens(values: Sequence[Any], at: str) -> tuple[str | int, ...]:
    """Tokens, by name or id."""
    for i, value in enumerate(values):
        if isinstance(value, bool) or not isinstance(value, (int, str)):
            raise SchemaError(f"{at}/{i}", None, "a token is an id or a string")
    return tuple(values)


def natural(value: int, at: str, name: str) -> int:
    if value < 0:
        raise SchemaError(at, name, f"is not negative, as {value} is")
    return value
