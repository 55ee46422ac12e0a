"""The table: every record is well formed, and no two parts of a format can be taken for each other."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import pytest

from constrain.vocabulary.markers import is_control
from constrain.vocabulary.table import AddedToken
from constrain.wires.markers import NOTHING, WIRES, JsonBody, Mark, Wire, members, wire_names

EVERY = pytest.mark.parametrize("wire", WIRES.values(), ids=WIRES)


def marks(part: Any) -> Iterator[Mark]:
    if isinstance(part, Mark):
        yield part
    elif isinstance(part, tuple):
        for one in part:
            yield from marks(one)
    elif dataclasses.is_dataclass(part):
        for field in dataclasses.fields(part):
            yield from marks(getattr(part, field.name))


@EVERY
def test_layout_is_no_part_of_a_marker(wire: Wire) -> None:
    for mark in marks(wire):
        assert mark.text == mark.text.strip()
        assert (mark.before + mark.after).strip() == ""
        assert Mark.of(str(mark)) == mark


@EVERY
def test_control_tokens_occur_and_count_as_control_tokens(wire: Wire) -> None:
    texts = [mark.text for mark in marks(wire)] + [getattr(wire.body, "quote", ""), *wire.stops]
    for control in wire.controls:
        assert any(control in text for text in texts)
        assert is_control(AddedToken(control, False)) or control == '<|"|>'


@EVERY
def test_a_block_begins_like_nothing_else(wire: Wire) -> None:
    others = [wire.reasoning.open] if wire.reasoning is not None else []
    texts = [mark.text for mark in (*wire.openers, *wire.silent, *others)]
    assert len(set(texts)) == len(texts)
    for opener in wire.openers:
        if not opener.text:
            assert isinstance(wire.body, JsonBody) and wire.body.envelope is not None  # begins with its brace


@EVERY
def test_where_a_call_ends_is_certain(wire: Wire) -> None:
    if wire.close == NOTHING:
        assert isinstance(wire.body, JsonBody)
    if wire.sections and wire.sections[0].close == NOTHING:
        raise AssertionError("a section needs an end")


def test_names_stand_for_formats() -> None:
    assert [wire.name for wire in members("qwen")] == ["hermes", "qwen3_coder"]
    assert [wire.name for wire in members(["glm45", "qwen", "hermes"])] == ["glm45", "hermes", "qwen3_coder"]
    assert all(members(name) for name in wire_names())
    with pytest.raises(ValueError, match="unknown wire format 'pidgin'; there are hermes, "):
        members("pidgin")
    with pytest.raises(ValueError, match="no wire format"):
        members([])
