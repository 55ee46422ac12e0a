"""Arrays whose items are counted by what they satisfy: `contains`, its bounds, and their negations.

A shape with counts becomes a small automaton over items. Its states are (items so far, count per `contains`), each
capped where more makes no difference; an edge is a goal for the next item. Without an upper bound a count needs no
decision about the items outside: one edge takes any item and counts nothing, another takes an item that satisfies
the goal and counts it. With an upper bound the edges split each item into inside and outside.

Arrays without repeats over a few values are counted likewise, by the set of values they had; and so are arrays that
must have a repeat. Where values are many, the engine compares items: an edge says whether its item is compared, and
where it leads if it equals an earlier one (`repeating`).

`unrolled` multiplies the array layout with that automaton, so that the frame needs no registers for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from ..automata.grammar import NOWHERE, Call, Guard, Layout, LayoutState, Node, Select
from .forms import Goal, Items
from .signals import Refusal

if TYPE_CHECKING:
    from .goals import Goals

__all__ = ["Counting", "Edge", "counting", "distinct", "repeating", "some_alike", "unrolled"]

_MAX_STATES = 2000
_MAX_DISTINCT = 8
_FEW_ITEMS = 64


class Edge(NamedTuple):
    """Goal of the next item, state after it; if the item is compared, the state after one that equals an earlier one
    (NOWHERE: there must be none), else None.
    """

    goal: Goal
    target: int
    equal: int | None = None


@dataclass(frozen=True)
class Counting:
    """edges[q]: what the next item may be; accepting[q]: the array may end. State 0 is the start. Not trimmed.

    bounded: whether the automaton counts items; otherwise their number is bounded by a shape beside it.
    """

    edges: tuple[tuple[Edge, ...], ...]
    accepting: tuple[bool, ...]
    bounded: bool = True

    def live(self, alive: Callable[[Goal], bool]) -> list[bool]:
        """Per state, whether some run of inhabited items leads to acceptance."""
        live = list(self.accepting)
        changed = True
        while changed:
            changed = False
            for q, edges in enumerate(self.edges):
                if not live[q] and any(_leads(edge, live) and alive(edge.goal) for edge in edges):
                    live[q] = changed = True
        return live


def _leads(edge: Edge, live: list[bool]) -> bool:
    return live[edge.target] or (edge.equal is not None and edge.equal != NOWHERE and live[edge.equal])


def counting(items: Items, goals: Goals, sorting: bool = False) -> Counting:
    """The automaton of a shape with `contains`. sorting: the edges of a state say of each `contains` whether the item
    satisfies it, also where that does not count any more. Refusal when it would be large.
    """
    contains = items.contains
    last = max((len(items.prefix), items.low, items.high or 0, *(c.start for c in contains)))
    caps = tuple(c.low if c.high is None else c.high + 1 for c in contains)
    places: dict[tuple[int, ...], int] = {(0,) * (len(contains) + 1): 0}
    queue = list(places)
    edges: list[tuple[Edge, ...]] = []
    accepting: list[bool] = []
    for state in queue:  # grows while it is read
        i, counts = state[0], state[1:]
        accepting.append(i >= items.low and all(n >= c.low for n, c in zip(counts, contains, strict=True)))
        out: dict[tuple[Goal, int], None] = {}
        if items.high is None or i < items.high:
            counted = [(n < cap or sorting) and i >= c.start for n, cap, c in zip(counts, caps, contains, strict=True)]
            for inside in product(*((False, True) if may else (False,) for may in counted)):
                after = tuple(min(n + hit, cap) for n, hit, cap in zip(counts, inside, caps, strict=True))
                if any(c.high is not None and n > c.high for n, c in zip(after, contains, strict=True)):
                    continue
                goal = items.item(i)
                for hit, may, c in zip(inside, counted, contains, strict=True):
                    if hit:
                        goal = goals.conj(goal, c.goal)
                    elif may and (c.high is not None or sorting):
                        goal = goals.conj(goal, goals.negate(c.goal))
                if goal is goals.none:
                    continue
                target = (min(i + 1, last), *after)
                if target not in places:
                    if len(places) >= _MAX_STATES:
                        raise Refusal(f"counting its items takes more than {_MAX_STATES} states")
                    places[target] = len(places)
                    queue.append(target)
                out[goal, places[target]] = None
        edges.append(tuple(Edge(*way) for way in out))
    return Counting(tuple(edges), tuple(accepting))


def repeating(base: Counting, goals: Goals) -> Counting:
    """The arrays of an automaton in which some item equals an earlier one, by comparing items.

    Goals of `base` that can follow an item that has another must be the same object where an equal item can have both,
    or come from different places of a prefix. Of a pair of equal items the later one has some goal g. Phases: no item
    that may be the earlier one has come (a phase per g); some have, and are remembered; the pair is there.
    """
    later = _later(base)
    wanted = list(dict.fromkeys(edge.goal for edges in base.edges for edge in edges))
    places: dict[tuple[int, str, Goal | None], int] = {(0, "start", None): 0}
    queue = list(places)
    edges: list[tuple[Edge, ...]] = []

    def place(q: int, phase: str, goal: Goal | None) -> int:
        key = q, phase, goal
        if key not in places:
            if len(places) >= _MAX_STATES:
                raise Refusal(f"counting its items takes more than {_MAX_STATES} states")
            places[key] = len(places)
            queue.append(key)
        return places[key]

    def waiting(q: int, goal: Goal) -> list[Edge]:
        """Edges while no item of a pair has come, of which the later one will have that goal."""
        out = []
        for edge in base.edges[q]:
            if goal not in later[edge.target]:
                continue
            both = goal if edge.goal is goal else goals.conj(edge.goal, goal)
            if both is not goals.none:
                out.append(Edge(both, place(edge.target, "some", goal), NOWHERE))
            if edge.goal is not goal:
                out.append(Edge(edge.goal, place(edge.target, "none", goal)))
        return out

    for q, phase, goal in queue:  # grows while it is read
        if phase == "start":
            out = [edge for each in wanted for edge in waiting(q, each)]
        elif phase == "none":
            assert goal is not None
            out = waiting(q, goal)
        elif phase == "some":
            out = [
                Edge(goal, place(edge.target, phase, goal), place(edge.target, "pair", None))
                if edge.goal is goal
                else Edge(edge.goal, place(edge.target, phase, goal))
                for edge in base.edges[q]
            ]
        else:
            out = [Edge(edge.goal, place(edge.target, phase, None)) for edge in base.edges[q]]
        edges.append(tuple(out))
    accepting = tuple(phase == "pair" and base.accepting[q] for q, phase, _ in places)
    return Counting(tuple(edges), accepting, base.bounded)


def _later(base: Counting) -> list[set[Goal]]:
    """Per state, the goals of items that can follow."""
    found = [{edge.goal for edge in edges} for edges in base.edges]
    changed = True
    while changed:
        changed = False
        for q, edges in enumerate(base.edges):
            size = len(found[q])
            found[q].update(*(found[edge.target] for edge in edges))
            changed = changed or len(found[q]) > size
    return found


def distinct(items: Items, finite: Callable[[Goal], list[Goal] | None]) -> Counting | None:
    """The automaton of an array without repeats whose items have few values; None where it would be large.

    finite: the values of a goal as constants, or None where they are not finitely many scalars. A state is (items so
    far, which values they were).
    """
    places = _few(items, finite)
    if places is None:
        return None
    states: dict[tuple[int, frozenset[Goal]], int] = {(0, frozenset()): 0}
    queue = list(states)
    edges: list[tuple[Edge, ...]] = []
    for i, used in queue:  # grows while it is read
        out = []
        if items.high is None or i < items.high:
            for value in places[min(i, len(items.prefix))]:
                if value not in used:
                    target = (i + 1, used | {value})
                    if target not in states:
                        states[target] = len(states)
                        queue.append(target)
                    out.append(Edge(value, states[target]))
        edges.append(tuple(out))
    return Counting(tuple(edges), tuple(i >= items.low for i, _ in states))


def some_alike(items: Items, finite: Callable[[Goal], list[Goal] | None]) -> Counting | None:
    """The automaton of an array with a repeat whose items have few values; None where it would be large.

    finite: as for `distinct`. A state is (items so far, which values they were, or None once one was repeated).
    """
    places = _few(items, finite)
    last = max(len(items.prefix), items.low, items.high or 0)
    if places is None or last > _FEW_ITEMS:
        return None
    states: dict[tuple[int, frozenset[Goal] | None], int] = {(0, frozenset()): 0}
    queue = list(states)
    edges: list[tuple[Edge, ...]] = []
    for i, used in queue:  # grows while it is read
        out = []
        if items.high is None or i < items.high:
            for value in places[min(i, len(items.prefix))]:
                target = (min(i + 1, last), None if used is None or value in used else used | {value})
                if target not in states:
                    states[target] = len(states)
                    queue.append(target)
                out.append(Edge(value, states[target]))
        edges.append(tuple(out))
    return Counting(tuple(edges), tuple(i >= items.low and used is None for i, used in states))


def _few(items: Items, finite: Callable[[Goal], list[Goal] | None]) -> list[list[Goal]] | None:
    """The values of each item of a prefix, and of the others, where they are few together."""
    places = [finite(goal) for goal in (*items.prefix, items.rest)]
    known = [place for place in places if place is not None]
    few = len({value for place in known for value in place}) <= _MAX_DISTINCT
    return known if few and len(known) == len(places) else None


def unrolled(
    layout: Layout,
    automaton: Counting,
    alive: Callable[[Goal], bool],
    node: Callable[[Goal], Node],
    select: Select = Select.NODE,
) -> Layout:
    """The array layout with its item calls replaced by what the automaton says, and its guards too, unless they are
    still needed to bound the items. select: ITEM where a shape still looks at the items.
    """
    live = automaton.live(alive)
    follow = [[edge for edge in edges if _leads(edge, live) and alive(edge.goal)] for edges in automaton.edges]
    places: dict[tuple[int, int, Guard], int] = {}
    queue: list[tuple[int, int, Guard]] = []
    states: list[LayoutState] = []

    def place(state: int, q: int, wanted: Guard = Guard.NONE) -> int | None:
        """The state of the product. wanted: a guard that it has anyway."""
        guard = layout.states[state].guard
        if (guard == Guard.MORE and not follow[q]) or (guard == Guard.CLOSE and not automaton.accepting[q]):
            return None
        key = (state, q, wanted if automaton.bounded or wanted else guard)
        if key not in places:
            places[key] = len(places)
            queue.append(key)
        return places[key]

    def called(edge: Edge, returns: int) -> Call | None:
        if edge.equal is None or edge.equal == NOWHERE:
            at = place(returns, edge.target)
            return None if at is None else Call(select, at, node(edge.goal), equal=edge.equal)
        # an item that is no repeat: some other one must follow
        wanted = Guard.NEVER if not live[edge.target] else Guard.NONE if automaton.bounded else Guard.MORE
        at, equal = place(returns, edge.target, wanted), place(returns, edge.equal)
        return None if at is None or equal is None else Call(select, at, node(edge.goal), equal=equal)

    place(0, 0)
    for state, q, guard in queue:  # grows while it is read
        old = layout.states[state]
        if guard == Guard.NEVER:
            states.append(LayoutState(guard=guard))
            continue
        edges = tuple((byte, at) for byte, target in old.edges if (at := place(target, q)) is not None)
        calls: list[Call] = []
        for call in old.calls:
            if call.select == Select.ITEM:
                calls += [made for edge in follow[q] if (made := called(edge, call.returns)) is not None]
            else:
                at = place(call.returns, q)
                if at is not None:
                    calls.append(Call(call.select, at, call.node))
        states.append(LayoutState(edges, tuple(calls), guard, old.space, old.final))
    return Layout(tuple(states))
