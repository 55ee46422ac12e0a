"""Automata whose letters are bytes, control tokens, terminals and rules: the form of one rule while it is worked on.

A letter is an int (a byte, or the edge of a control token), a str (a rule) or a node of the engine (compared by
identity: a terminal, an embedded value). A letter stands for its non-empty words only; that it may also be empty is
said by an empty move beside it. State 0 is the start.

Two automata of one rule with the same words over letters give the same language whatever the letters stand for, so
rules are made deterministic and minimal as if letters were characters.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from .._limits import check_time
from ..automata.grammar import Node

__all__ = [
    "Letter",
    "Machine",
    "deterministic",
    "letters_of",
    "loop_at_the_end",
    "quotient",
    "trimmed",
    "without_empty",
]

Letter = int | str | Node

_MOST_PAIRS = 5000
"""Pairs of states that are looked at to turn recursion into a loop."""


@dataclass
class Machine:
    """edges: per state, letter -> states. silent: per state, where it can go without reading. final: states."""

    edges: list[dict[Letter, set[int]]] = field(default_factory=list)
    silent: list[set[int]] = field(default_factory=list)
    final: set[int] = field(default_factory=set)

    def state(self) -> int:
        self.edges.append({})
        self.silent.append(set())
        return len(self.edges) - 1

    def add(self, source: int, letter: Letter, target: int) -> None:
        self.edges[source].setdefault(letter, set()).add(target)

    def closure(self, states: Iterable[int]) -> frozenset[int]:
        found = set(states)
        todo = list(found)
        while todo:
            for target in self.silent[todo.pop()]:
                if target not in found:
                    found.add(target)
                    todo.append(target)
        return frozenset(found)

    def moves(self) -> Iterator[tuple[int, Letter, int]]:
        for source, edges in enumerate(self.edges):
            for letter, targets in edges.items():
                for target in targets:
                    yield source, letter, target

    def copy_into(self, other: Machine) -> int:
        """Append the states to `other`, none of them final; returns the number that state 0 has there."""
        base = len(other.edges)
        for edges, silent in zip(self.edges, self.silent, strict=True):
            other.edges.append({letter: {base + t for t in targets} for letter, targets in edges.items()})
            other.silent.append({base + t for t in silent})
        return base

    @property
    def size(self) -> int:
        return len(self.edges)


def letters_of(machine: Machine) -> set[Letter]:
    return {letter for edges in machine.edges for letter in edges}


def trimmed(machine: Machine) -> Machine:
    """Only the states on a way from the start to a final one; the start stays."""
    into: list[list[int]] = [[] for _ in machine.edges]
    for source, _, target in machine.moves():
        into[target].append(source)
    for source, targets in enumerate(machine.silent):
        for target in targets:
            into[target].append(source)
    useful = set(machine.final)
    todo = list(useful)
    while todo:
        for source in into[todo.pop()]:
            if source not in useful:
                useful.add(source)
                todo.append(source)
    order = [0]
    numbers = {0: 0}
    for state in order:
        following = [t for targets in machine.edges[state].values() for t in sorted(targets)]
        for target in (*following, *sorted(machine.silent[state])):
            if target in useful and target not in numbers:
                numbers[target] = len(order)
                order.append(target)
    result = Machine()
    for state in order:
        kept = {
            letter: {numbers[t] for t in targets if t in numbers} for letter, targets in machine.edges[state].items()
        }
        result.edges.append({letter: targets for letter, targets in kept.items() if targets})
        result.silent.append({numbers[t] for t in machine.silent[state] if t in numbers})
    result.final = {numbers[state] for state in machine.final if state in numbers}
    return result


def deterministic(machine: Machine) -> Machine:
    """The minimal deterministic machine of the same words over letters, without silent moves; where that would be much
    larger, a smaller nondeterministic one."""
    most = 4 * machine.size + 64
    start = machine.closure((0,))
    numbers = {start: 0}
    order = [start]
    result = Machine()
    for states in order:
        check_time()
        number = result.state()
        if states & machine.final:
            result.final.add(number)
        reached: dict[Letter, set[int]] = {}
        for state in sorted(states):
            for letter, targets in machine.edges[state].items():
                reached.setdefault(letter, set()).update(targets)
        for letter, targets in reached.items():
            following = machine.closure(targets)
            found = numbers.get(following)
            if found is None:
                found = numbers[following] = len(order)
                order.append(following)
            result.add(number, letter, found)
        if len(order) > most:
            return quotient(trimmed(_without_silent(machine)))
    return quotient(trimmed(result))


def _without_silent(machine: Machine) -> Machine:
    result = Machine()
    for state in range(machine.size):
        result.state()
        reached = machine.closure((state,))
        if reached & machine.final:
            result.final.add(state)
        for other in sorted(reached):
            for letter, targets in machine.edges[other].items():
                result.edges[state].setdefault(letter, set()).update(targets)
    return result


def quotient(machine: Machine) -> Machine:
    """States that go on alike made one (the coarsest bisimulation); for a deterministic machine, the minimal one.

    Partition refinement that looks again only at states before those whose block has changed.
    """
    block = [int(state in machine.final) for state in range(machine.size)]
    before: list[set[int]] = [set() for _ in machine.edges]
    for source, _, target in machine.moves():
        before[target].add(source)
    sizes = {number: block.count(number) for number in set(block)}
    ahead_of: dict[int, frozenset[tuple[Letter, int]]] = {}
    dirty: Iterable[int] = range(machine.size)
    count = 2
    while dirty:
        check_time()
        groups: dict[int, dict[frozenset[tuple[Letter, int]], list[int]]] = {}
        for state in dirty:
            ahead = frozenset((x, block[t]) for x, targets in machine.edges[state].items() for t in targets)
            groups.setdefault(block[state], {}).setdefault(ahead, []).append(state)
        moved: list[int] = []
        for number, parts in groups.items():
            if sum(map(len, parts.values())) == sizes[number]:
                ahead_of[number] = max(parts, key=lambda ahead: len(parts[ahead]))
            for ahead, states in parts.items():
                if ahead == ahead_of[number]:
                    continue
                for state in states:
                    block[state] = count
                ahead_of[count], sizes[count] = ahead, len(states)
                sizes[number] -= len(states)
                moved += states
                count += 1
        dirty = sorted({source for state in moved for source in before[state]})
    if len(ahead_of) == machine.size:
        return machine
    numbers: dict[int, int] = {}
    for number in block:
        numbers.setdefault(number, len(numbers))
    result = Machine()
    for state, edges in enumerate(machine.edges):
        number = numbers[block[state]]
        if number < result.size:
            continue
        result.state()
        for letter, targets in edges.items():
            result.edges[number][letter] = {numbers[block[t]] for t in targets}
        if state in machine.final:
            result.final.add(number)
    return result


def without_empty(machine: Machine) -> Machine:
    """The same words but the empty one; the machine has no silent moves."""
    if 0 not in machine.final:
        return machine
    if not any(0 in targets for edges in machine.edges for targets in edges.values()):
        machine.final.discard(0)
        return trimmed(machine)
    result = Machine()
    start = result.state()
    base = machine.copy_into(result)
    result.edges[start] = {letter: set(targets) for letter, targets in result.edges[base].items()}
    result.final = {base + state for state in machine.final}
    return trimmed(result)


def loop_at_the_end(machine: Machine, name: str) -> Machine | None:
    """`machine`, the automaton of rule `name`, with calls of itself at its end made jumps to its start; None where
    there are none. It has neither silent moves nor the empty word.

    A call that returns to a final state q may be such a jump if whatever can follow q can follow every final state:
    then a word of the rule, and what can follow q, are together a word of the rule. That undoes recursion which only
    says "and so on", also where the grammar is ambiguous about how it nests: e = n | e + e reads n (+ n)*.
    """
    calls = [(state, target) for state, letter, target in machine.moves() if letter == name]
    targets = {target for _, target in calls if target in machine.final}
    if not targets:
        return None
    included = _inclusions(machine, name, {(target, final) for target in targets for final in machine.final})
    jumps = {target for target in targets if all((target, final) in included for final in machine.final)}
    if not jumps:
        return None
    result = Machine([dict(edges) for edges in machine.edges], [set() for _ in machine.edges], set(machine.final))
    for state, target in calls:
        if target in jumps:
            result.edges[state][name] = result.edges[state][name] - {target}
            result.silent[state].add(0)
    return deterministic(trimmed(result))


_Pair = tuple[int, int]


def _inclusions(machine: Machine, name: str, wanted: set[_Pair]) -> set[_Pair]:
    """Those of the `wanted` pairs (q, f), and of the pairs these lead to, of which f can read all that q can.

    A simulation, and so a sufficient condition only: f follows every move of q. A call of the rule itself can also be
    followed by reading on from f as from the start, if f can do that, and if what follows the call can follow every
    final state. (By induction on the length of a word, then on the calls in the way it is read.)
    """
    pairs = set(wanted)
    todo = list(wanted)
    options: dict[_Pair, list[list[list[_Pair]]]] = {}
    while todo:
        pair = q, f = todo.pop()
        if len(pairs) > _MOST_PAIRS:
            return set()
        if q == f:
            continue
        needs = options[pair] = []
        if q in machine.final and f not in machine.final:
            needs.append([])
            continue
        for letter, targets in machine.edges[q].items():
            for after in targets:
                ways = [[(after, other)] for other in machine.edges[f].get(letter, ())]
                if letter == name:
                    ways.append([(0, f), *((after, final) for final in machine.final)])
                needs.append(ways)
                for following in (p for way in ways for p in way):
                    if following not in pairs:
                        pairs.add(following)
                        todo.append(following)
    users: dict[_Pair, set[_Pair]] = {}
    for pair, needs in options.items():
        for following in (p for ways in needs for way in ways for p in way):
            users.setdefault(following, set()).add(pair)
    check = list(options)
    while check:
        pair = check.pop()
        if pair in pairs and not all(any(pairs.issuperset(way) for way in ways) for ways in options[pair]):
            pairs.discard(pair)
            check.extend(users.get(pair, ()))
    return pairs
