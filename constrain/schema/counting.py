"""Arrays whose items are counted by what they satisfy: `contains`, its bounds, and their negations.

A shape with counts becomes a small automaton over items. Its states are (items so far, count per `contains`), each
capped where more makes no difference; an edge is a goal for the next item. Without an upper bound a count needs no
decision about the items outside: one edge takes any item and counts nothing, another takes an item that satisfies
the goal and counts it. With an upper bound the edges split each item into inside and outside.

Arrays without repeats over a few values are counted likewise, by the set of values they had.

`unrolled` multiplies the array layout with that automaton, so that the frame needs no registers for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from ..automata.grammar import Call, Guard, Layout, LayoutState, Node, Select
from .forms import Goal, Items
from .signals import Refusal

if TYPE_CHECKING:
    from .goals import Goals

__all__ = ["Counting", "counting", "distinct", "unrolled"]

_MAX_STATES = 2000
_MAX_DISTINCT = 8


@dataclass(frozen=True)
class Counting:
    """edges[q]: (goal of the next item, state after it); accepting[q]: the array may end. State 0 is the start. Not
    trimmed.
    """

    edges: tuple[tuple[tuple[Goal, int], ...], ...]
    accepting: tuple[bool, ...]

    def live(self, alive: Callable[[Goal], bool]) -> list[bool]:
        """Per state, whether some run of inhabited items leads to acceptance."""
        live = list(self.accepting)
        changed = True
        while changed:
            changed = False
            for q, edges in enumerate(self.edges):
                if not live[q] and any(live[target] and alive(goal) for goal, target in edges):
                    live[q] = changed = True
        return live


def counting(items: Items, goals: Goals) -> Counting:
    """The automaton of a shape with `contains`. Refusal when it would be large."""
    contains = items.contains
    last = max((len(items.prefix), items.low, items.high or 0, *(c.start for c in contains)))
    caps = tuple(c.low if c.high is None else c.high + 1 for c in contains)
    places: dict[tuple[int, ...], int] = {(0,) * (len(contains) + 1): 0}
    queue = list(places)
    edges: list[tuple[tuple[Goal, int], ...]] = []
    accepting: list[bool] = []
    for state in queue:  # grows while it is read
        i, counts = state[0], state[1:]
        accepting.append(i >= items.low and all(n >= c.low for n, c in zip(counts, contains, strict=True)))
        out: dict[tuple[Goal, int], None] = {}
        if items.high is None or i < items.high:
            counted = [n < cap and i >= c.start for n, cap, c in zip(counts, caps, contains, strict=True)]
            for inside in product(*((False, True) if may else (False,) for may in counted)):
                after = tuple(n + hit for n, hit in zip(counts, inside, strict=True))
                if any(c.high is not None and n > c.high for n, c in zip(after, contains, strict=True)):
                    continue
                goal = items.item(i)
                for hit, may, c in zip(inside, counted, contains, strict=True):
                    if hit:
                        goal = goals.conj(goal, c.goal)
                    elif may and c.high is not None:
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
        edges.append(tuple(out))
    return Counting(tuple(edges), tuple(accepting))


def distinct(items: Items, finite: Callable[[Goal], list[Goal] | None]) -> Counting | None:
    """The automaton of an array without repeats whose items have few values; None where it would be large.

    finite: the values of a goal as constants, or None where they are not finitely many scalars. A state is (items so
    far, which values they were).
    """
    places = [finite(goal) for goal in (*items.prefix, items.rest)]
    values = list(dict.fromkeys(value for place in places for value in place or ()))
    if any(place is None for place in places) or len(values) > _MAX_DISTINCT:
        return None
    states: dict[tuple[int, frozenset[Goal]], int] = {(0, frozenset()): 0}
    queue = list(states)
    edges: list[tuple[tuple[Goal, int], ...]] = []
    for i, used in queue:  # grows while it is read
        out = []
        if items.high is None or i < items.high:
            for value in places[min(i, len(items.prefix))] or ():
                if value not in used:
                    target = (i + 1, used | {value})
                    if target not in states:
                        states[target] = len(states)
                        queue.append(target)
                    out.append((value, states[target]))
        edges.append(tuple(out))
    return Counting(tuple(edges), tuple(i >= items.low for i, _ in states))


def unrolled(
    layout: Layout,
    automaton: Counting,
    alive: Callable[[Goal], bool],
    node: Callable[[Goal], Node],
    select: Select = Select.NODE,
) -> Layout:
    """The array layout with its item calls and guards replaced by what the automaton says. select: ITEM where a shape
    still looks at the items.
    """
    live = automaton.live(alive)
    follow = [[(g, t) for g, t in edges if live[t] and alive(g)] for edges in automaton.edges]
    places: dict[tuple[int, int], int] = {(0, 0): 0}
    queue = [(0, 0)]
    states: list[LayoutState] = []

    def place(state: int, q: int) -> int | None:
        guard = layout.states[state].guard
        if (guard == Guard.MORE and not follow[q]) or (guard == Guard.CLOSE and not automaton.accepting[q]):
            return None
        key = (state, q)
        if key not in places:
            places[key] = len(places)
            queue.append(key)
        return places[key]

    for state, q in queue:  # grows while it is read
        old = layout.states[state]
        edges = tuple((byte, at) for byte, target in old.edges if (at := place(target, q)) is not None)
        calls: list[Call] = []
        for call in old.calls:
            if call.select == Select.ITEM:
                for goal, target in follow[q]:
                    at = place(call.returns, target)
                    if at is not None:
                        calls.append(Call(select, at, node(goal)))
            else:
                at = place(call.returns, q)
                if at is not None:
                    calls.append(Call(call.select, at, call.node))
        states.append(LayoutState(edges, tuple(calls), Guard.NONE, old.space, old.final))
    return Layout(tuple(states))
