"""What machines say about each other: which rules have words, which may be empty, which lead to each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .machines import Machine, letters_of

__all__ = ["components", "productive", "with_empty_words"]


def with_empty_words(machines: Mapping[str, Machine]) -> set[str]:
    """Rules that may be empty; silent moves are added around their letters."""

    def holds(name: str, found: set[str]) -> bool:
        machine = machines[name]
        reached = set(machine.closure((0,)))
        todo = list(reached)
        while todo:
            state = todo.pop()
            for letter, targets in machine.edges[state].items():
                if isinstance(letter, str) and letter in found:
                    more = machine.closure(targets) - reached
                    reached |= more
                    todo.extend(more)
        return not reached.isdisjoint(machine.final)

    empty = _fixpoint(machines, holds)
    for machine in machines.values():
        for source, letter, target in list(machine.moves()):
            if isinstance(letter, str) and letter in empty:
                machine.silent[source].add(target)
    return empty


def productive(machines: Mapping[str, Machine]) -> set[str]:
    """Rules that have words."""

    def holds(name: str, found: set[str]) -> bool:
        machine = machines[name]
        seen = {0}
        todo = [0]
        while todo:
            state = todo.pop()
            following = set(machine.silent[state])
            for letter, targets in machine.edges[state].items():
                if not isinstance(letter, str) or letter in found:
                    following |= targets
            todo.extend(following - seen)
            seen |= following
        return not seen.isdisjoint(machine.final)

    return _fixpoint(machines, holds)


def _fixpoint(machines: Mapping[str, Machine], holds: Callable[[str, set[str]], bool]) -> set[str]:
    """The least set of rules with holds(rule, set); those that rules depend on come first in `machines`."""
    users: dict[str, list[str]] = {name: [] for name in machines}
    for name, machine in machines.items():
        for letter in letters_of(machine):
            if isinstance(letter, str):
                users[letter].append(name)
    found: set[str] = set()
    todo = list(reversed(list(machines)))
    waiting = set(todo)
    while todo:
        name = todo.pop()
        waiting.discard(name)
        if name not in found and holds(name, found):
            found.add(name)
            for user in users[name]:
                if user not in found and user not in waiting:
                    waiting.add(user)
                    todo.append(user)
    return found


def components(starts: list[str], edges: Mapping[str, list[str]]) -> list[list[str]]:
    """Strongly connected components of what `starts` lead to, each after those that it leads to (Tarjan)."""
    numbers: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    result: list[list[str]] = []
    for first in starts:
        if first in numbers:
            continue
        numbers[first] = low[first] = len(numbers)
        stack.append(first)
        on_stack.add(first)
        todo = [(first, iter(edges[first]))]
        while todo:
            name, following = todo[-1]
            for other in following:
                if other not in numbers:
                    numbers[other] = low[other] = len(numbers)
                    stack.append(other)
                    on_stack.add(other)
                    todo.append((other, iter(edges[other])))
                    break
                if other in on_stack:
                    low[name] = min(low[name], numbers[other])
            else:
                todo.pop()
                if todo:
                    low[todo[-1][0]] = min(low[todo[-1][0]], low[name])
                if low[name] == numbers[name]:
                    component: list[str] = []
                    while not component or component[-1] != name:
                        component.append(stack.pop())
                    on_stack.difference_update(component)
                    result.append(component[::-1])
    return result
