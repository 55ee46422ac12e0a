"""Types that pydantic can describe, as schemas: whatever is generated is read back by pydantic."""

from __future__ import annotations

import datetime
import enum
import uuid
from typing import Annotated, Any, Literal, Union

import pytest

import constrain

pydantic = pytest.importorskip("pydantic")
typing_extensions = pytest.importorskip("typing_extensions")
Field = pydantic.Field


class Color(enum.Enum):
    RED = "red"
    THREE = 3


class Cat(pydantic.BaseModel):
    kind: Literal["cat"]
    lives: int = Field(ge=0, le=9)


class Dog(pydantic.BaseModel):
    kind: Literal["dog"]
    name: Annotated[str, Field(min_length=1, max_length=5, pattern="^[A-Z]")]


class Order(pydantic.BaseModel):
    model_config = {"extra": "forbid"}
    pet: Annotated[Cat | Dog, Field(discriminator="kind")]
    ratio: float = Field(gt=0, lt=1)
    when: datetime.datetime
    ident: uuid.UUID
    colors: list[Color] = Field(min_length=1)
    note: str | None = None
    tags: set[str] = set()
    pair: tuple[int, str] = (1, "a")
    counts: dict[str, int] = {}
    parts: list[Order] = []


class Options(typing_extensions.TypedDict, total=False):
    depth: typing_extensions.Required[int]
    names: list[str]


TYPES = [
    Order,
    Options,
    Color,
    Union[int, str, None],  # noqa: UP007
    list[Cat],
    dict[str, list[bool]],
    Annotated[int, Field(ge=3, multiple_of=2)],
    Annotated[str, Field(max_length=3)],
    Literal["a", 2, None],
    datetime.date,
    datetime.time,
    uuid.UUID,
]


@pytest.mark.parametrize("described", TYPES, ids=str)
def test_samples_are_read_back(described: Any) -> None:
    grammar = constrain.compile_json_schema(described, openapi=True)
    reader = pydantic.TypeAdapter(described)
    for seed in range(6):
        reader.validate_json(constrain.sample(grammar, seed=seed))
    assert grammar.report.is_exact


def test_constraints_of_types_hold() -> None:
    good = (
        b'{"pet":{"kind":"dog","name":"Rex"},"ratio":0.5,"when":"2024-02-29T10:00:00Z","colors":[3,"red"],"parts":[],'
    )
    good += b'"ident":"8c5b2e9a-6a57-4f0a-9b59-9a3f2f3bb1d5","pair":[2,"b"],"counts":{"x":1}}'
    grammar = constrain.compile_json_schema(Order)
    assert grammar.accepts(good)
    for old, new in (
        (b"Rex", b"rex"),
        (b'"dog"', b'"cat"'),
        (b"0.5", b"1"),
        (b"02-29", b"02-30"),
        (b'[3,"red"]', b"[]"),
        (b'[2,"b"]', b"[2]"),
        (b'"parts":[]', b'"parts":[{}]'),
        (b'"x":1', b'"x":"1"'),
        (b'"counts"', b'"count"'),
    ):
        assert old in good and not grammar.accepts(good.replace(old, new)), new


def test_a_decimal_is_a_number_or_a_string() -> None:
    from decimal import Decimal

    grammar = constrain.compile_json_schema(Annotated[Decimal, Field(ge=1)])
    assert grammar.accepts("1.50") and grammar.accepts('"1.50"') and not grammar.accepts("0.5")


def test_what_pydantic_cannot_describe_is_a_schema_error() -> None:
    class Opaque:
        pass

    for described in (Opaque, list[Opaque], object()):
        with pytest.raises(constrain.SchemaError) as caught:
            constrain.compile_json_schema(described)
        assert "\n" not in str(caught.value)
