"""Random schemas with few values, in arrays whose items must differ and in objects that must have members."""

from __future__ import annotations

from random import Random
from typing import Any

__all__ = ["few_values"]

STRINGS = ("^a?$", "^(a|b)?$", "^[ab]{1,2}$", "^(?!b)[abc]$", "^a{0,3}$", "^(ab|a)$")
KINDS = ("listed", "listed", "numbers", "numbers", "strings", "types", "array", "object", "mixed", "mixed")
SCALARS: tuple[Any, ...] = (None, True, False, 0, 1, 2, -1, 0.5, "", "a", "b", "ab")


def few_values(rng: Random) -> Any:
    """A schema with an array whose items must differ, or an object, somewhere in it."""
    schema: Any = _array(rng, 2) if rng.random() < 0.8 else _object(rng, 2, most=4)
    if rng.random() < 0.2:
        schema = {"type": "object", "properties": {"a": schema}, "required": ["a"], "maxProperties": 1}
    if rng.random() < 0.1:
        schema = {"anyOf": [schema, _array(rng, 1)]}
    return schema


def _leaf(rng: Random, depth: int) -> Any:
    kind = rng.choice(KINDS)
    if depth == 0 and kind in ("array", "object", "mixed"):
        kind = "listed"
    if kind == "listed":
        return {"enum": rng.sample(SCALARS, rng.randint(1, 4))}
    if kind == "numbers":
        low = rng.randint(-2, 2)
        step = rng.choice((1, 1, 2, 0.5, 3))
        schema = {"type": "number", "multipleOf": step, "minimum": low, "maximum": low + rng.randint(0, 3)}
        return {**schema, "not": _leaf(rng, 0)} if rng.random() < 0.2 else schema
    if kind == "strings":
        schema = {"type": "string", "pattern": rng.choice(STRINGS)}
        return {**schema, rng.choice(("minLength", "maxLength")): 1} if rng.random() < 0.3 else schema
    if kind == "types":
        return {"type": rng.sample(["null", "boolean"], rng.randint(1, 2))}
    if kind == "array":
        return _array(rng, depth - 1)
    if kind == "object":
        return _object(rng, depth - 1, most=2)
    parts = [_leaf(rng, depth - 1) for _ in range(2)]
    join = rng.choice(("anyOf", "anyOf", "oneOf", "allOf", "not"))
    if join == "not":
        return {"allOf": [parts[0], {"not": parts[1]}]}
    return {join: parts}


def _array(rng: Random, depth: int) -> Any:
    schema: dict[str, Any] = {"type": "array"}
    if rng.random() < 0.9:
        schema["uniqueItems"] = True
    if rng.random() < 0.5:
        schema["prefixItems"] = [_leaf(rng, depth) for _ in range(rng.randint(1, 3))]
    schema["items"] = False if rng.random() < 0.15 else _leaf(rng, depth)
    if rng.random() < 0.4:
        schema["contains"] = _leaf(rng, depth)
        schema["minContains"] = rng.randint(0, 3)
        if rng.random() < 0.4:
            schema["maxContains"] = schema["minContains"] + rng.randint(0, 1)
    if rng.random() < 0.5:
        schema["minItems"] = rng.randint(1, 4)
    if rng.random() < 0.4:
        schema["maxItems"] = schema.get("minItems", 1) + rng.randint(0, 2)
    return {"type": "array", "not": {**schema, "type": "array"}, "maxItems": 3} if rng.random() < 0.1 else schema


def _object(rng: Random, depth: int, most: int) -> Any:
    keys = ["a", "b", "ab", "c"]
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {key: _leaf(rng, depth) for key in rng.sample(keys, rng.randint(0, 2))},
        "additionalProperties": _leaf(rng, depth) if rng.random() < 0.4 else False,
        "maxProperties": rng.randint(1, most),
    }
    if rng.random() < 0.6:
        schema["propertyNames"] = {"pattern": rng.choice(("^[ab]$", "^(a|ab|b)$", "^.$", "^a"))}
    if rng.random() < 0.4:
        schema["patternProperties"] = {rng.choice(("^a", "^.$", "b$")): _leaf(rng, depth)}
    if rng.random() < 0.5:
        schema["minProperties"] = rng.randint(1, schema["maxProperties"])
    if rng.random() < 0.3:
        schema["dependentRequired"] = {rng.choice(keys): rng.sample(keys, 1)}
    if rng.random() < 0.2:
        schema["oneOf"] = [{"required": [rng.choice(keys)]}, {"maxProperties": 1}]
    return schema
