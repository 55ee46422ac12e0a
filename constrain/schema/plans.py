"""Decision diagrams over goals: the members that an object may have together.

A plan is layered, a level per key; `diagrams` draws it, and `build` puts nodes in the place of goals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from .forms import Goal

__all__ = ["Plan", "Row"]

Row = tuple[tuple[int, int], ...]


@dataclass(eq=False)
class Plan:
    """A decision diagram over goals; see `automata.grammar.Diagram`, which has nodes in their place."""

    keys: tuple[str, ...]
    options: tuple[tuple[Goal, ...], ...]
    levels: tuple[tuple[Row, ...], ...]
    others: tuple[tuple[tuple[Goal, int], ...], ...]
    moves: tuple[tuple[int, ...], ...]
    ends: tuple[tuple[bool, ...], ...]

    def goals(self) -> Iterator[Goal]:
        for options in self.options:
            yield from options
        for pairs in self.others:
            yield from (goal for goal, _ in pairs)

    def exists(self, alive: Callable[[Goal], bool]) -> bool:
        """Whether some object is left, however many members it has; asks about few goals where it can."""
        lives: list[dict[int, bool]] = [{} for _ in self.keys]
        ends = [self._rest(alive, row) < float("inf") for row in self.ends]
        stack = [(0, 0)]

        def known(level: int, node: int) -> bool | None:
            return ends[node] if level == len(self.keys) else lives[level].get(node)

        while known(0, 0) is None:
            level, node = stack[-1]
            verdict: bool | None = False
            for option, child in self.levels[level][node]:
                below = known(level + 1, child)
                if below is None:
                    stack.append((level + 1, child))
                    verdict = None
                    break
                if below and (option < 0 or alive(self.options[level][option])):
                    verdict = True
                    break
            if verdict is not None:
                lives[level][node] = verdict
                stack.pop()
        return bool(known(0, 0))

    def cost(self, required: Iterable[str], alive: Callable[[Goal], bool]) -> float:
        """The fewest members besides the required ones that an object has; infinite where there is no object."""
        needed = frozenset(required)
        least = [self._rest(alive, row) for row in self.ends]
        for key, options, nodes in zip(reversed(self.keys), reversed(self.options), reversed(self.levels), strict=True):
            price = int(key not in needed)
            open_ = [alive(goal) for goal in options]
            costs = [[least[c] + price * (o >= 0) for o, c in row if o < 0 or open_[o]] for row in nodes]
            least = [min(cost, default=float("inf")) for cost in costs]
        return least[0] if least else float("inf")

    def _rest(self, alive: Callable[[Goal], bool], ends: tuple[bool, ...]) -> float:
        """The fewest undeclared members after which a node of the last level may end."""
        kinds = {kind for pairs in self.others for goal, kind in pairs if alive(goal)}
        cost, here, seen = 0, {0}, {0}
        while here:
            if any(ends[state] for state in here):
                return cost
            here = {self.moves[kind][state] for state in here for kind in kinds} - seen
            seen |= here
            cost += 1
        return float("inf")

    def trimmed(self, alive: Callable[[Goal], bool]) -> Plan | None:
        """Without the options that are not alive, and what is then of no use; None when nothing is left."""
        others = tuple(tuple(pair for pair in pairs if alive(pair[0])) for pairs in self.others)
        rows: list[list[Row]] = []
        ends = [any(row) for row in self.ends]
        kept = {i: n for n, i in enumerate(i for i, useful in enumerate(ends) if useful)}
        last = tuple(row for row, useful in zip(self.ends, ends, strict=True) if useful)
        options: list[tuple[Goal, ...]] = []
        for goals, nodes in zip(reversed(self.options), reversed(self.levels), strict=True):
            open_ = [alive(goal) for goal in goals]
            useful = {
                i: row
                for i, node in enumerate(nodes)
                if (row := tuple((o, kept[c]) for o, c in node if c in kept and (o < 0 or open_[o])))
            }
            used = sorted({o for row in useful.values() for o, _ in row if o >= 0})
            number = {-1: -1, **{o: n for n, o in enumerate(used)}}
            distinct: dict[Row, int] = {}
            rows_now = {i: tuple((number[o], c) for o, c in row) for i, row in useful.items()}
            kept = {i: distinct.setdefault(row, len(distinct)) for i, row in rows_now.items()}
            rows.append(list(distinct))
            options.append(tuple(goals[o] for o in used))
        if 0 not in kept:
            return None
        levels = tuple(tuple(level) for level in reversed(rows))
        return Plan(self.keys, tuple(reversed(options)), levels, others, self.moves, last)
