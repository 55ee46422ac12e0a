"""Strongly connected components of a directed graph."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

__all__ = ["components"]

N = TypeVar("N", bound=Hashable)


def components(starts: Iterable[N], edges: Callable[[N], Iterable[N]]) -> list[list[N]]:
    """Strongly connected components of what `starts` lead to, each after those that it leads to (Tarjan)."""
    numbers: dict[N, int] = {}
    low: dict[N, int] = {}
    stack: list[N] = []
    on_stack: set[N] = set()
    result: list[list[N]] = []
    for first in starts:
        if first in numbers:
            continue
        numbers[first] = low[first] = len(numbers)
        stack.append(first)
        on_stack.add(first)
        todo = [(first, iter(edges(first)))]
        while todo:
            name, following = todo[-1]
            for other in following:
                if other not in numbers:
                    numbers[other] = low[other] = len(numbers)
                    stack.append(other)
                    on_stack.add(other)
                    todo.append((other, iter(edges(other))))
                    break
                if other in on_stack:
                    low[name] = min(low[name], numbers[other])
            else:
                todo.pop()
                if todo:
                    low[todo[-1][0]] = min(low[todo[-1][0]], low[name])
                if low[name] == numbers[name]:
                    component: list[N] = []
                    while not component or component[-1] != name:
                        component.append(stack.pop())
                    on_stack.difference_update(component)
                    result.append(component[::-1])
    return result
