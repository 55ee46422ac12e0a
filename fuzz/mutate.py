"""Odd schemas, by changing and combining those of the corpus."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any

__all__ = ["corpus", "holders", "mutated"]

FOLDER = Path(__file__).parent / "corpus"
_SINGLE = frozenset(
    "not if then else items contains additionalProperties propertyNames unevaluatedProperties unevaluatedItems".split()
)
_LISTS = frozenset("allOf anyOf oneOf prefixItems".split())
_MAPS = frozenset("properties patternProperties dependentSchemas $defs".split())
_LONGEST = 900
"""Characters of a schema; longer ones are given up."""


def corpus() -> list[Any]:
    """The schemas of all files, in a fixed order."""
    return [
        json.loads(line) for path in sorted(FOLDER.glob("*.jsonl")) for line in path.read_text("utf-8").splitlines()
    ]


def holders(schema: Any) -> Iterator[tuple[Any, Any]]:
    """(container, key) of every subschema, those of `schema` itself excepted."""
    stack = [schema]
    while stack:
        here = stack.pop()
        if not isinstance(here, dict):
            continue
        places: list[tuple[Any, Any]] = []
        for keyword, value in here.items():
            if keyword in _SINGLE:
                places.append((here, keyword))
            elif keyword in _LISTS:
                places += [(value, i) for i in range(len(value))]
            elif keyword in _MAPS:
                places += [(value, key) for key in value]
        yield from places
        stack += [container[key] for container, key in places]


def mutated(schemas: list[Any], rng: Random) -> Any:
    """A schema of the corpus after a few random changes."""
    root = [deepcopy(rng.choice(schemas))]
    dialect = root[0].pop("$schema", None) if isinstance(root[0], dict) else None
    for _ in range(rng.choice((0, 1, 1, 2, 2, 3, 4, 6))):
        container, key = rng.choice([(root, 0), *holders(root[0])])
        schema = deepcopy(container[key])
        changed = rng.choice(_CHANGES)(_resource(schema, rng) if container is root else schema, schemas, rng)
        before, container[key] = container[key], changed
        if len(json.dumps(root[0])) > _LONGEST:
            container[key] = before
    return root[0] if dialect is None or not isinstance(root[0], dict) else {"$schema": dialect, **root[0]}


def _fresh(schemas: list[Any], rng: Random) -> Any:
    """A schema of the corpus that can stand anywhere."""
    schema = rng.choice(schemas)
    while isinstance(schema, dict) and "$schema" in schema:
        schema = rng.choice(schemas)
    return _resource(deepcopy(schema), rng)


def _resource(schema: Any, rng: Random) -> Any:
    """The schema, as a resource of its own where it has references, so that it can be moved."""
    if isinstance(schema, dict) and _refers(schema) and "$id" not in schema and "id" not in schema:
        schema["$id"] = f"https://example.com/{rng.randrange(1 << 40)}"
    return schema


def _refers(schema: Any) -> bool:
    return any(f'{keyword}"' in json.dumps(schema) for keyword in ("$ref", "$dynamicRef", "$recursiveRef"))


def _merge(schema: Any, schemas: list[Any], rng: Random) -> Any:
    other = _fresh(schemas, rng)
    if not isinstance(schema, dict) or not isinstance(other, dict) or _refers(other) or _refers(schema):
        return {"allOf": [schema, other]}
    return {**schema, **other} if rng.random() < 0.5 else {**other, **schema}


def _drop(schema: Any, schemas: list[Any], rng: Random) -> Any:
    if isinstance(schema, dict) and schema:
        del schema[rng.choice(list(schema))]
        if _refers(schema):
            return _fresh(schemas, rng)
    return schema


def _replace(schema: Any, schemas: list[Any], rng: Random) -> Any:
    return _fresh(schemas, rng)


def _wrap(schema: Any, schemas: list[Any], rng: Random) -> Any:
    one, two = _fresh(schemas, rng), _fresh(schemas, rng)
    return rng.choice(
        (
            {"not": schema},
            {"allOf": [schema, one]},
            {"anyOf": [schema, one]},
            {"oneOf": [schema, one]},
            {"oneOf": [one, schema, two]},
            {"if": schema, "then": one, "else": two},
            {"if": one, "then": schema},
            {"items": schema},
            {"contains": schema, "type": "array"},
            {"prefixItems": [one, schema]},
            {"properties": {"a": schema, "b": one}, "required": ["a"], "type": "object"},
            {"additionalProperties": schema, "type": "object"},
            {"patternProperties": {"^a": schema, "b": one}},
            {"dependentSchemas": {"a": schema}},
            {"allOf": [schema], "unevaluatedProperties": one},
            {"anyOf": [schema, one], "unevaluatedItems": False},
        )
    )


def _nudge(schema: Any, schemas: list[Any], rng: Random) -> Any:
    """Another number, truth value or name somewhere among the keywords."""
    if not isinstance(schema, dict):
        return not schema
    keys = [key for key, value in schema.items() if isinstance(value, (bool, int, float))]
    if keys:
        key = rng.choice(keys)
        value = schema[key]
        if isinstance(value, bool):
            schema[key] = not value
        elif key == "multipleOf":
            schema[key] = rng.choice((1, 2, 3, 0.5, 0.25, 6))
        else:
            schema[key] = max(0, value + rng.choice((-1, 1))) if isinstance(value, int) else value + 1
    if isinstance(schema.get("required"), list):
        schema["required"] = rng.sample(["a", "b", "ab", "c"], rng.randrange(3))
    return schema


_CHANGES = (_merge, _merge, _drop, _replace, _wrap, _wrap, _nudge)
