"""Values close to what a schema says: its own constants, keys and bounds, combined and changed a little."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from random import Random
from typing import Any

__all__ = ["changed", "values"]

_PLAIN = (None, True, False, 0, 1, 2, 3, -1, 0.5, 1.5, 10, 100, "", "a", "b", "ab", "abc", "aab", "abab", "é", "😀")
_KEYS = ("a", "b", "ab", "c", "", "v", "t", "n")


def values(schema: Any, rng: Random, count: int) -> list[Any]:
    """Random values; the plain ones of the schema itself come often."""
    scalars, keys = list(_PLAIN), list(_KEYS)
    whole: list[Any] = []
    for value in _mentioned(schema):
        if isinstance(value, str):
            keys.append(value)
            scalars.append(value)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            scalars += [value, value + 1, value - 1, value + 0.5]
        else:
            whole.append(value)
    return [_value(rng, scalars, keys, whole, 3) for _ in range(count)]


def _mentioned(schema: Any) -> Iterator[Any]:
    """Names, numbers and constants anywhere in the schema."""
    stack = [schema]
    while stack:
        here = stack.pop()
        if isinstance(here, dict):
            for keyword, value in here.items():
                if keyword in ("properties", "dependentSchemas", "dependentRequired"):
                    yield from value if isinstance(value, dict) else ()
                elif keyword == "const":
                    yield value
                elif keyword in ("enum", "required") and isinstance(value, list):
                    yield from value
                elif isinstance(value, (int, float)) and not isinstance(value, bool):
                    yield value
                stack.append(value)
        elif isinstance(here, list):
            stack += here


def _value(rng: Random, scalars: list[Any], keys: list[str], whole: list[Any], depth: int) -> Any:
    chance = rng.random()
    if whole and chance < 0.15:
        return deepcopy(rng.choice(whole))
    if depth == 0 or chance < 0.5:
        return rng.choice(scalars)
    if chance < 0.75:
        items = [_value(rng, scalars, keys, whole, depth - 1) for _ in range(rng.randrange(4))]
        return items + items[:1] if rng.random() < 0.2 else items
    chosen = rng.sample(sorted(set(keys)), rng.randrange(min(4, len(set(keys)))))
    return {key: _value(rng, scalars, keys, whole, depth - 1) for key in chosen}


def changed(value: Any, rng: Random) -> Any:
    """The value with one change at a random place."""
    holder = [deepcopy(value)]
    places: list[tuple[Any, Any]] = [(holder, 0)]
    for container, key in places:  # grows while it is read
        here = container[key]
        if isinstance(here, list):
            places += [(here, i) for i in range(len(here))]
        elif isinstance(here, dict):
            places += [(here, name) for name in here]
    container, key = rng.choice(places)
    here = container[key]
    if isinstance(here, list) and rng.random() < 0.7:
        if here and rng.random() < 0.5:
            here.pop(rng.randrange(len(here)))
        else:
            here.append(deepcopy(rng.choice(here)) if here and rng.random() < 0.5 else rng.choice(_PLAIN))
    elif isinstance(here, dict) and rng.random() < 0.7:
        if here and rng.random() < 0.5:
            del here[rng.choice(list(here))]
        else:
            here[rng.choice(_KEYS)] = rng.choice(_PLAIN)
    elif isinstance(here, str) and rng.random() < 0.7:
        container[key] = rng.choice((here + "a", here[:-1], here + here, here.upper()))
    elif isinstance(here, (int, float)) and not isinstance(here, bool) and rng.random() < 0.7:
        container[key] = here + rng.choice((1, -1, 0.5))
    else:
        container[key] = rng.choice(_PLAIN)
    return holder[0]
