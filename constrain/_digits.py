"""Integers of any length as text. Python refuses by itself where they are long, since its own way is quadratic."""

from __future__ import annotations

from decimal import Decimal

__all__ = ["integer_of", "spelled_integer"]

_LONG = 4000
"""Digits from which Python may refuse (sys.set_int_max_str_digits; 4,300 by default)."""


def integer_of(text: str) -> int:
    """The integer that JSON text of one denotes."""
    return int(text) if len(text) < _LONG else int(Decimal(text))


def spelled_integer(value: int) -> str:
    """Its digits."""
    return str(value) if value.bit_length() < 3 * _LONG else f"{Decimal(value):f}"
