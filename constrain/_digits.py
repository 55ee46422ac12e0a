"""Integers of any length as text. Python refuses by itself where they are long, since its own way is quadratic."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

__all__ = ["integer_of", "spelled_integer", "spelled_json"]

_LONG = 4000
"""Digits from which Python may refuse (sys.set_int_max_str_digits; 4,300 by default)."""


def integer_of(text: str) -> int:
    """The integer that JSON text of one denotes."""
    return int(text) if len(text) < _LONG else int(Decimal(text))


def spelled_integer(value: int) -> str:
    """Its digits."""
    return str(value) if value.bit_length() < 3 * _LONG else f"{Decimal(value):f}"


def spelled_json(value: Any) -> str:
    """JSON text of a value, for people: of integers that are too long to print only how long they are."""
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except ValueError:
        return json.dumps(_abridged(value), ensure_ascii=False, default=str)


def _abridged(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _abridged(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_abridged(item) for item in value]
    if isinstance(value, int) and value.bit_length() >= 3 * _LONG:
        return f"an integer of {value.bit_length() * 30103 // 100_000 + 1:,} digits or so"
    return value
