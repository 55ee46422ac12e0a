"""The options of a schema compilation, checked in one place."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Options"]


@dataclass(frozen=True)
class Options:
    """See `compile_schema` for what each means; ValueError names the choices."""

    whitespace: str = "flexible"
    property_order: str = "any"
    additional_properties: bool | None = None
    formats: str = "assert"
    numbers: str = "canonical"
    lenient: bool = False
    openapi: bool = False
    without: tuple[str, ...] = ()
    """Texts that no string value and no key contains: a notation has no way to write them."""
    key_pattern: str | None = None
    """An ECMA pattern that every key matches, for the same reason."""
    json: bool = True
    """Whether values are written as JSON: only so does the engine tell arrays and objects that are equal."""

    def __post_init__(self) -> None:
        _check("property_order", self.property_order, ("any", "schema"))
        _check("formats", self.formats, ("assert", "annotate"))
        _check("numbers", self.numbers, ("canonical", "any"))
        if self.additional_properties not in (None, False):
            raise ValueError(
                "additional_properties must be None (as the schema says) or False (closed where it does not say)"
            )
        if not isinstance(self.whitespace, str):
            raise ValueError("whitespace must be 'flexible', 'compact', 'single' or a pattern")


def _check(name: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name}={value!r}; use one of {', '.join(map(repr, choices))}")
