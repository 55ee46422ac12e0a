"""In which order a decision diagram takes the keys. Its size depends on that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._limits import check_time
from .conditions import Condition
from .forms import Goal

__all__ = ["ordered"]


def ordered(
    where: list[Condition],
    asked: dict[str, dict[int, Goal]],
    speaks: Callable[[Condition], frozenset[int]],
    listed: Callable[[str, Goal], bool],
    hubs: bool,
) -> list[str]:
    """The keys in the order of the levels: such that few parts of conditions are open at a time, those that were
    looked at and not decided. hubs: first come keys that tell more than two shapes apart by listed values, because of
    the others then only matters what is left open, and then those of more than two conditions.
    """
    naming: dict[int, list[str]] = {}
    for key, found in asked.items():
        for i in found:
            naming.setdefault(i, []).append(key)
    parts: dict[str, set[Condition]] = {key: set() for key in asked}
    left: dict[Condition, int] = {}
    for part in dict.fromkeys(part for condition in where for part in condition.all_parts()):
        keys = {key for i in speaks(part) for key in naming.get(i, ())}
        left[part] = len(keys)
        for key in keys:
            parts[key].add(part)
    tops = frozenset(where)
    weight = {
        key: (len(parts[key] & tops), sum(listed(key, goal) for goal in wanted.values()))
        for key, wanted in asked.items()
    }
    hub = {
        key: (values == len(asked[key]) > 2, count if count > 2 else 0) if hubs else (False, 0)
        for key, (count, values) in weight.items()
    }
    alike: dict[tuple[Any, ...], list[str]] = {}  # keys that nothing tells apart here are taken one after the other
    for key in reversed(asked):
        alike.setdefault((frozenset(parts[key]), hub[key], weight[key][1]), []).append(key)
    place = {key: n for n, key in enumerate(asked)}
    opened: set[Condition] = set()

    def worth(like: list[str]) -> tuple[tuple[bool, int], int, int, int, int, int]:
        key = like[-1]
        found = parts[key]
        begun = len(found & opened)
        opens = len(found) - begun
        closes = sum(left[part] == 1 for part in found)
        return hub[key], closes - opens, begun, len(found), weight[key][1], -place[key]

    placed: list[str] = []
    waiting = list(alike.values())
    while waiting:
        check_time()
        best = max(waiting, key=worth)
        key = best.pop()
        if not best:
            waiting.remove(best)
        placed.append(key)
        opened |= parts[key]
        for part in parts[key]:
            left[part] -= 1
    return placed
