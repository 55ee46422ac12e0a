"""The options of a schema compilation, checked in one place."""

from __future__ import annotations

from dataclasses import dataclass

from .._arguments import flag, one_of
from .._errors import ArgumentError

__all__ = ["Options"]


@dataclass(frozen=True)
class Options:
    """See `compile_schema` for what each means; ArgumentError names the choices."""

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
        one_of(self.property_order, ("any", "schema"), "property_order")
        one_of(self.formats, ("assert", "annotate"), "formats")
        one_of(self.numbers, ("canonical", "any"), "numbers")
        for name in ("lenient", "openapi"):
            object.__setattr__(self, name, flag(getattr(self, name), name))
        if self.additional_properties is not None and self.additional_properties is not False:
            raise ArgumentError(
                "additional_properties must be None (as the schema says) or False (closed where it does not say)"
            )
        if not isinstance(self.whitespace, str):
            raise ArgumentError("whitespace must be 'flexible', 'compact', 'single' or a pattern")
