"""Calls as chat templates write them: what a model of each family is trained to emit."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .._errors import ArgumentError
from .markers import ElementBody, Head, JsonBody, KeyValueBody, Typing, Wire, members

__all__ = ["render_call", "render_calls"]


def render_call(wire: str, name: str, arguments: Mapping[str, Any], number: int | None = None) -> str:
    """One call, from the first marker to the last.

    wire:      a format's name; of several at once, the first is written.
    arguments: a JSON object as Python values. Floats are written as Python writes them, in key:value notation with a
               point before an exponent.
    number:    the call's number where the format counts calls; None: the first.

    Raises ValueError for what the format cannot write: a marker inside a raw text or a key.
    """
    return render_calls(wire, [(name, arguments)], number)


def render_calls(wire: str, calls: Iterable[tuple[str, Mapping[str, Any]]], number: int | None = None) -> str:
    """Several calls in one reply, as in `render_call`. number: of the first."""
    one = members(wire)[0]
    written = [_call(one, name, arguments, number, place) for place, (name, arguments) in enumerate(calls)]
    if one.sections:
        section = one.sections[0]
        blocks = written if one.one_per_section else [str(one.between).join(written)]
        written = [f"{section.open}{block}{section.close}" for block in blocks]
    return str(one.between).join(block.lstrip("\n") for block in written)  # without what would part it from a text


def _call(wire: Wire, name: str, arguments: Mapping[str, Any], number: int | None, place: int) -> str:
    head, body = wire.heads[0], wire.body
    if isinstance(body, JsonBody) and body.envelope is not None:
        whole = {body.envelope.name: name, body.envelope.arguments[0]: arguments}
        return f"{head.open}{_json(whole, body)}{wire.close}"
    opening = _opening(wire, head, name, number, place)
    if isinstance(body, JsonBody):
        written = _json(arguments, body)
    elif isinstance(body, KeyValueBody):
        written = _key_value(arguments, body)
    else:
        written = body.between.join(_element(body, key, value) for key, value in arguments.items())
    return f"{opening}{written}{wire.close}"


def _opening(wire: Wire, head: Head, name: str, number: int | None, place: int) -> str:
    """The marker before the name, the name, its number, and the marker after."""
    escapes = isinstance(wire.body, ElementBody) and wire.body.attribute_escapes
    counter = ""
    if head.counter is not None:
        counter = f"{head.counter.before}{(head.counter.start if number is None else number) + place}"
    return f"{head.open}{_attribute(name) if escapes else name}{counter}{head.closes[0]}"


def _element(body: ElementBody, key: str, value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, allow_nan=False)
    _check(body.value_close.text, text)
    said = {
        Typing.SCHEMA: "",
        Typing.STRING_FLAG: "true" if isinstance(value, str) else "false",
        Typing.TYPE_NAME: _type_name(value),
    }[body.typing]
    written_key = _attribute(key) if body.attribute_escapes else key
    _check(body.key_close.text, written_key)
    opening = f"{body.key_open}{written_key}{body.key_close}{said}{body.value_open}"
    return f"{opening}{body.pad}{text}{body.pad}{body.value_close}"


def _key_value(value: Any, body: KeyValueBody) -> str:
    if isinstance(value, str):
        _check(body.quote, value)
        return f"{body.quote}{value}{body.quote}"
    if isinstance(value, Mapping):
        for key in value:
            if not key or key != key.strip() or any(symbol in key for symbol in (":", "}", "\n", body.quote)):
                raise ArgumentError(f"the key {key!r} cannot be written in this format")
        keys = sorted(value, key=str.lower) if body.sorted_keys else list(value)
        return "{" + ",".join(f"{key}:{_key_value(value[key], body)}" for key in keys) + "}"
    if isinstance(value, Sequence):
        return "[" + ",".join(_key_value(item, body) for item in value) + "]"
    if isinstance(value, float):
        return _with_point(json.dumps(value, allow_nan=False))
    return body.nulls[0] if value is None else json.dumps(value)


def _with_point(number: str) -> str:
    """A number whose exponent comes after a point: some readers take 1e-07 for a string."""
    return number if "e" not in number or "." in number else number.replace("e", ".0e")


def _json(value: Any, body: JsonBody) -> str:
    separators = (body.item_separator, body.key_separator)
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=separators)


def _attribute(text: str) -> str:
    return text.replace("&", "&amp;").replace('"', "&quot;")


def _type_name(value: Any) -> str:
    if isinstance(value, bool):  # before numbers: a bool is an int
        return "boolean"
    if value is None:
        return "null"
    names = {str: "string", int: "number", float: "number", list: "array", tuple: "array", dict: "object"}
    return names[type(value)]


def _check(marker: str, text: str) -> None:
    if marker in text:
        raise ArgumentError(f"{marker} ends a value here, so that none can hold it: {text[:80]!r}")
