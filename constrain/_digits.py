"""Integers of any length as text. Python refuses by itself where they are long, since its own way is quadratic."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

__all__ = ["integer_of", "shown_value", "spelled_integer"]

_LONG = 4000
"""Digits from which Python may refuse (sys.set_int_max_str_digits; 4,300 by default)."""


def integer_of(text: str) -> int:
    """The integer that JSON text of one denotes."""
    return int(text) if len(text) < _LONG else int(Decimal(text))


def spelled_integer(value: int) -> str:
    """Its digits."""
    return str(value) if value.bit_length() < 3 * _LONG else f"{Decimal(value):f}"


def shown_value(value: Any) -> str:
    """A JSON value as people read it, whatever integers are in it."""
    if isinstance(value, Decimal):
        return str(value)
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except ValueError:  # Python prints no integer of so many digits
        if isinstance(value, int):
            return spelled_integer(value)
        if isinstance(value, dict):
            return f"{{{', '.join(f'{shown_value(key)}: {shown_value(item)}' for key, item in value.items())}}}"
        return f"[{', '.join(map(shown_value, value))}]"
