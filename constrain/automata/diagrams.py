"""The interpreter's view of decision diagrams: which members may still go together.

Asked of all members so far at once, each time anew: the fewest members that must follow, by one pass over the diagram
from its end (a shortest path in layers).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from .grammar import Diagram, Node, ObjectShape

if TYPE_CHECKING:
    from .oracle import Members

__all__ = ["completable", "fewest", "fewest_additional", "levels_of", "options"]

NEVER = 1 << 30
_LATELY = 4096

Best = tuple[tuple[int, int], tuple[tuple[bytes, int], ...]]
"""(members, length), then keys and options."""


def fewest_additional(diagram: Diagram) -> list[list[int]]:
    """[node behind the last level][state]: the fewest additional members after which the object may end, or NEVER."""
    known: list[list[int]] | None = diagram.__dict__.get("_fewest")
    if known is None:
        kinds = {kind for pairs in diagram.others for _, kind in pairs}
        known = diagram.__dict__["_fewest"] = [_fewest(diagram, kinds, row) for row in diagram.ends]
    return known


def _fewest(diagram: Diagram, kinds: set[int], ends: tuple[bool, ...]) -> list[int]:
    cost = [0 if end else NEVER for end in ends]
    for _ in ends:
        for state in range(len(ends)):
            after = [cost[diagram.moves[kind][state]] + 1 for kind in kinds]
            cost[state] = min(cost[state], NEVER, *after)
    return cost


def levels_of(shape: ObjectShape) -> dict[bytes, int]:
    """Level per key that the shape's diagram is about."""
    if shape.diagram is None:
        return {}
    known: dict[bytes, int] | None = shape.diagram.__dict__.get("_levels")
    if known is None:
        known = shape.diagram.__dict__["_levels"] = {shape.keys[k]: n for n, k in enumerate(shape.diagram.keys)}
    return known


def options(shape: ObjectShape, key: bytes) -> Iterator[tuple[Node, int]]:
    """(node, option) for the value under a key that may be emitted; option -1 where it decides nothing."""
    level = levels_of(shape).get(key)
    if level is not None and shape.diagram is not None:
        for option, node in enumerate(shape.diagram.options[level]):
            yield node, option
    elif key in shape.keys:
        value = shape.values[shape.keys.index(key)]
        if value is not None:
            yield value, -1
    else:
        assert shape.extra is not None
        label = shape.extra.label(key)
        if shape.diagram is None:
            yield shape.extra_values[label], -1
        else:
            for option, (node, _) in enumerate(shape.diagram.others[label]):
                yield node, option


def completable(shape: ObjectShape, members: Members, *, label: int | None = None, now: bool = False) -> bool:
    """Whether members can follow such that the object may end, or (now) whether it may end.

    label: of an additional key that comes next. The value of the last key may not have begun; it can be any then.
    """
    if shape.diagram is None:
        return True
    lately: dict[object, bool] = shape.__dict__.setdefault("_completable", {})
    question = members, label, now
    answer = lately.get(question)
    if answer is None:
        if len(lately) >= _LATELY:
            lately.clear()
        answer = lately[question] = _completable(shape, shape.diagram, members, label, now)
    return answer


def _completable(shape: ObjectShape, diagram: Diagram, members: Members, label: int | None, now: bool) -> bool:
    emitted, level = members.emitted, levels_of(shape)
    taken = {level[key]: n for n, key in enumerate(emitted) if key in level}
    missing = {k for k, needed in zip(shape.keys, shape.required, strict=True) if needed}.difference(emitted)
    passed = _passed(shape, emitted, label is not None)
    states = _states(shape, diagram, members, label)
    least = [min((row[state] for state in states), default=NEVER) for row in fewest_additional(diagram)]
    for n in range(len(diagram.keys) - 1, -1, -1):
        key, here = shape.keys[diagram.keys[n]], taken.get(n)
        # what the options cost, and being absent; NEVER where that cannot be
        absent = 0 if here is None else NEVER
        prices = [0] * len(diagram.options[n])
        if here is None:
            price = 0 if key in missing else NEVER if now else 1
            prices = [NEVER if key in passed else price] * len(prices)
        elif here < len(members.chosen):
            prices = [0 if option == members.chosen[here] else NEVER for option in range(len(prices))]
        prices.append(absent)  # option -1
        nodes = diagram.levels[n]
        least = [min([least[child] + prices[option] for option, child in row], default=NEVER) for row in nodes]
    if now:
        return least[0] == 0
    most = NEVER if shape.max_members is None else shape.max_members + 1
    return len(emitted) + len(missing) + (label is not None) + least[0] < most


def _states(shape: ObjectShape, diagram: Diagram, members: Members, label: int | None) -> set[int]:
    """States that the additional members so far may have led to."""
    states = {0}
    labels = [(n, _label(shape, key)) for n, key in enumerate(members.emitted) if key not in shape.keys]
    if label is not None:
        labels.append((len(members.emitted), label))
    for n, one in labels:
        pairs = diagram.others[one]
        options = pairs if n >= len(members.chosen) else (pairs[members.chosen[n]],)
        states = {diagram.moves[kind][state] for state in states for _, kind in options}
    return states


def _label(shape: ObjectShape, key: bytes) -> int:
    assert shape.extra is not None
    return int(shape.extra.label(key))


def _passed(shape: ObjectShape, emitted: tuple[bytes, ...], other: bool) -> set[bytes]:
    """Declared keys that a fixed order lets follow no more."""
    if shape.rank is None:
        return set()
    rank = dict(zip(shape.keys, shape.rank, strict=True))
    last = max((rank.get(key, len(rank)) for key in emitted), default=-1)
    return {key for key in shape.keys if other or rank[key] < last}


def fewest(
    shape: ObjectShape,
    members: Members,
    cost: Callable[[bytes, Node], int | None],
    other: Callable[[int, set[bytes]], bytes | None],
) -> Members | None:
    """The fewest members, of these the cheapest, that complete an object: the registers with them, options and all.

    cost: of a member with that key and value; None for none.     other: an additional key of a label, not one of those.
    """
    from .oracle import Members

    diagram = shape.diagram
    assert diagram is not None
    emitted, known = members.emitted, len(members.chosen)
    level, ways = levels_of(shape), [(0, members.chosen)]
    if known < len(emitted) and emitted[-1] not in level:  # its value decides what is said below of the rest
        ways = [(0, (*members.chosen, option)) for _, option in options(shape, emitted[-1])]
    found: list[tuple[tuple[int, int], Members]] = []
    for _, chosen in ways:
        state = 0
        for key, option in zip(emitted, chosen, strict=False):
            if key not in shape.keys and shape.extra is not None:
                state = diagram.moves[diagram.others[shape.extra.label(key)][option][1]][state]
        best = _cheapest(shape, Members(emitted, chosen), state, cost, other)
        if best is not None:
            found.append(best)
    least = min((price for price, _ in found), default=None)
    return next((after for price, after in found if price == least), None)


def _cheapest(
    shape: ObjectShape,
    members: Members,
    state: int,
    cost: Callable[[bytes, Node], int | None],
    other: Callable[[int, set[bytes]], bytes | None],
) -> tuple[tuple[int, int], Members] | None:
    """(price, registers): see `fewest`. The state of the additional members is given."""
    from .oracle import Members

    diagram = shape.diagram
    assert diagram is not None
    emitted, level, passed = members.emitted, levels_of(shape), _passed(shape, members.emitted, False)
    plain = [
        (key, value)
        for key, value, needed in zip(shape.keys, shape.values, shape.required, strict=True)
        if needed and key not in emitted and key not in level and value is not None
    ]
    if any(cost(key, value) is None for key, value in plain):
        return None
    taken = {level[key]: n for n, key in enumerate(emitted) if key in level}
    best: list[Best | None] = [_additional(shape, row, state, emitted, cost, other) for row in diagram.ends]
    for n in range(len(diagram.keys) - 1, -1, -1):
        key = shape.keys[diagram.keys[n]]
        here = taken.get(n)
        prices = [cost(key, node) for node in diagram.options[n]]
        above: list[Best | None] = []
        for row in diagram.levels[n]:
            found: list[Best] = []
            for option, child in row:
                rest = best[child]
                if rest is None or (option < 0 if here is not None else option >= 0 and key in passed):
                    continue
                if option < 0:
                    found.append(rest)
                elif here is not None and here < len(members.chosen):
                    if members.chosen[here] == option:
                        found.append(rest)
                elif (price := prices[option]) is not None:
                    (count, length), plan = rest
                    found.append(((count + (here is None), length + price), ((key, option), *plan)))
            above.append(min(found, key=lambda way: way[0], default=None))
        best = above
    if best[0] is None:
        return None
    (count, length), plan = best[0]
    if shape.max_members is not None and len(emitted) + count + len(plain) > shape.max_members:
        return None
    options_taken = {**dict(zip(emitted, members.chosen, strict=False)), **dict(plan)}
    keys = dict.fromkeys((*emitted, *(key for key, _ in plain), *(key for key, _ in plan)))
    return (count, length), Members(tuple(keys), tuple(options_taken.get(key, -1) for key in keys))


def _additional(
    shape: ObjectShape,
    ends: tuple[bool, ...],
    state: int,
    emitted: tuple[bytes, ...],
    cost: Callable[[bytes, Node], int | None],
    other: Callable[[int, set[bytes]], bytes | None],
) -> Best | None:
    """The fewest additional members, of these the cheapest."""
    diagram = shape.diagram
    assert diagram is not None
    here: dict[int, tuple[int, tuple[tuple[bytes, int], ...]]] = {state: (0, ())}
    for count in range(len(ends) + 1):
        finished = [way for at, way in here.items() if ends[at]]
        if finished:
            length, plan = min(finished)
            return (count, length), plan
        after: dict[int, tuple[int, tuple[tuple[bytes, int], ...]]] = {}
        for at, (length, plan) in here.items():
            taken = {*shape.keys, *emitted, *(key for key, _ in plan)}
            for label, pairs in enumerate(diagram.others):
                key = other(label, taken) if pairs else None
                for option, (node, kind) in enumerate(pairs):
                    price = None if key is None else cost(key, node)
                    if key is not None and price is not None:
                        target, way = diagram.moves[kind][at], (length + price, (*plan, (key, option)))
                        if target not in after or way < after[target]:
                            after[target] = way
        here = after
    return None
