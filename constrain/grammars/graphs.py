"""What machines say about each other: which rules have words, which may be empty."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .machines import Machine, letters_of

__all__ = ["productive", "with_empty_words"]


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
