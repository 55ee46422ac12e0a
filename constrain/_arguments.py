"""Checks of arguments that public functions share. Each raises ArgumentError with the name of the argument."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from typing import Any

from ._errors import ArgumentError

__all__ = [
    "an_instance",
    "check_vocabulary",
    "flag",
    "integer",
    "integers",
    "is_listing",
    "one_of",
    "shown",
    "text_bytes",
    "token_id_of",
]


def text_bytes(data: Any, what: str = "data") -> bytes:
    """A text as bytes: UTF-8 of a str, or the bytes of anything like bytes."""
    if isinstance(data, bytes):
        return data
    if isinstance(data, str):
        try:
            return data.encode()
        except UnicodeEncodeError as error:
            raise ArgumentError(f"{what} has a lone surrogate at {error.start}: no UTF-8 text can spell it") from None
    if isinstance(data, (bytearray, memoryview)):
        return bytes(data)
    raise ArgumentError(f"{what} must be str or bytes, not {shown(data)}")


def integer(value: Any, what: str, least: int | None = None, most: int | None = None) -> int:
    """An integer, numpy's among them, no float and no bool, within bounds."""
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None:
        raise ArgumentError(f"{what} must be an integer, not {shown(value)}")
    if (least is not None and number < least) or (most is not None and number > most):
        bounds = f"at least {least}" if most is None else f"in {least}..{most}"
        raise ArgumentError(f"{what} must be {bounds}, not {shown(number)}")
    return number


def token_id_of(value: Any) -> int:
    """A token id, of any integer type; it may be none of the vocabulary."""
    return integer(value, "a token id")


def flag(value: Any, what: str) -> bool:
    """True or False; 0, 1 and None are taken for them."""
    if value is None or (isinstance(value, int) and value in (0, 1)) or type(value).__name__ == "bool_":
        return bool(value)
    raise ArgumentError(f"{what} must be True or False, not {shown(value)}")


def integers(values: Any, what: str, least: int | None = None, most: int | None = None) -> list[int]:
    """A sequence of integers; arrays of one dimension are fine."""
    if not is_listing(values):
        raise ArgumentError(f"{what} must be a sequence of integers, not {shown(values)}")
    return [integer(value, f"each of {what}", least, most) for value in values]


def is_listing(values: Any) -> bool:
    """Whether the value lists others: no text, no mapping, and no array without dimensions."""
    plain = isinstance(values, Iterable) and not isinstance(values, (str, bytes, bytearray, Mapping))
    return plain and getattr(values, "ndim", 1) > 0


def an_instance(value: Any, kinds: Any, what: str, wanted: str) -> Any:
    """The value, if it is an instance of a class or of one of several."""
    if not isinstance(value, kinds):
        raise ArgumentError(f"{what} must be {wanted}, not {shown(value)}")
    return value


def check_vocabulary(vocabulary: Any) -> None:
    """Only a `Vocabulary`, or None."""
    if vocabulary is not None and not hasattr(vocabulary, "fingerprint"):
        raise ArgumentError(
            f"vocab must be a constrain.Vocabulary or None, not {shown(vocabulary)}; see Vocabulary.from_tokenizer"
        )


def one_of(value: Any, choices: tuple[Any, ...], what: str) -> Any:
    """The value, if it is one of the choices."""
    if not any(value is choice or (type(value) is type(choice) and value == choice) for choice in choices):
        raise ArgumentError(f"{what} must be one of {', '.join(map(repr, choices))}, not {shown(value)}")
    return value


def shown(value: Any) -> str:
    """A value for a message: itself where it is short, else its type."""
    if isinstance(value, int) and value.bit_length() > 128:
        return "a huge integer"
    text = repr(value) if isinstance(value, (int, float, str, bytes, type(None))) else ""
    return text if 0 < len(text) <= 40 else f"a value of type {type(value).__name__}"
