"""A smaller schema that fails in the same way, by deleting and hoisting parts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

from .mutate import holders

__all__ = ["shrunk"]

_TRIES = 300


def shrunk(schema: Any, fails: Callable[[Any], bool]) -> Any:
    """The smallest schema met for which `fails` still holds."""
    tries = 0
    better = True
    while better and tries < _TRIES:
        better = False
        for smaller in sorted(_smaller(schema), key=lambda s: len(json.dumps(s))):
            tries += 1
            if tries > _TRIES:
                break
            if fails(smaller):
                schema, better = smaller, True
                break
    return schema


def _smaller(schema: Any) -> Iterator[Any]:
    """The schema without one part, or one of its parts alone."""
    if not isinstance(schema, dict):
        return
    for container, key in holders(schema):
        yield deepcopy(container[key])
    count = sum(1 for _ in _entries(schema))
    for i in range(count):
        copy = deepcopy(schema)
        container, key = next(entry for j, entry in enumerate(_entries(copy)) if j == i)
        del container[key]
        yield copy
    for i in range(sum(1 for _ in holders(schema))):
        for plain in (True, False):
            copy = deepcopy(schema)
            container, key = next(place for j, place in enumerate(holders(copy)) if j == i)
            if container[key] != plain:
                container[key] = plain
                yield copy


def _entries(schema: Any) -> Iterator[tuple[Any, Any]]:
    """Everything in it that can be deleted."""
    stack = [schema]
    while stack:
        here = stack.pop()
        if isinstance(here, dict):
            yield from ((here, key) for key in here if key != "$schema")
            stack += here.values()
        elif isinstance(here, list):
            yield from ((here, i) for i in range(len(here)))
            stack += here
