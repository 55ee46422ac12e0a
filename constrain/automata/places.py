"""Whether all items that an array without equal items still needs can be different, where values are few.

The items that follow are *places* to fill with different values, none of which is used. A place with infinitely many
values is filled at last, whatever the others hold; the others are a matching of places and values, which grows along
augmenting paths (Hall's condition is what it comes up against). Which places follow is for the layout to say, where
there is a choice: ways through it are tried, the shortest first, but each combination of places only once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .._limits import check_time
from .grammar import SYMBOL, Frame, Guard, Lexeme, Node, ObjectShape, Select, Union, resolve
from .oracle import Items, Members, Place, Text, Thread, value_of

if TYPE_CHECKING:
    from .values import Values

__all__ = ["Places"]

_MOST_TEXTS = 20_000
"""Texts that are looked at before a place is taken to have infinitely many values."""

_FEW = 512
"""More values than any array has items; the kernels reckon with fewer (answers.FEW)."""

Choice = frozenset[object]


class Places:
    """Of one array, from `frame` on."""

    def __init__(self, values: Values, frame: Thread) -> None:
        self.values, self.frame = values, frame
        self.shape, registers = frame.array
        self.used = frozenset(registers.values)
        self.begun = registers.begun
        self.bound = max(self.shape.min_items, len(self.shape.prefix))
        self.most = len(self.used) + max(self.bound, len(frame.frame.layout.states)) + 2
        """More values than places: as good as infinitely many."""
        self.tried: set[tuple[int, int, tuple[int, ...]]] = set()

    def fill(self, texts: Iterator[bytes] | None) -> bool:
        """Whether the array can be completed. texts: of the item under way, if one is."""
        places: list[Choice] = []
        if texts is not None:
            first = self._few(texts)
            if first is not None:
                places.append(first - self.used)
        matched = _matched({}, places, 0) if places else {}
        return matched is not None and self._goes_on(self.frame.place.state, self.begun, places, matched)

    def next_return(self) -> int | None:
        """The state that the next item returns to on a way of fewest items through the layout; None where there is none
        to come, or no way.
        """
        queue: deque[tuple[int, int, list[Choice], dict[object, int], int | None]]
        queue = deque([(self.frame.place.state, self.begun, [], {}, None)])
        seen = set()
        while queue:
            check_time()
            state, begun, places, matched, first = queue.popleft()
            key = self._key(state, begun, places)
            if key in seen:
                continue
            seen.add(key)
            ends, items = self._moves(state, begun)
            if ends:
                return first
            for node, returns in items:
                choice, more = self._choice(node), places
                found: dict[object, int] | None = matched
                if choice is not None:
                    more = [*places, choice - self.used]
                    found = _matched(matched, more, len(places))
                if found is not None:
                    queue.append((returns, begun + 1, more, found, returns if first is None else first))
        return None

    def few_values(self) -> set[object]:
        """The values of places that have few, however many items there are."""
        self.most = max(self.most, _FEW)
        calls = (call for state in self.frame.frame.layout.states for call in state.calls)
        nodes = {*(call.node for call in calls if call.select is Select.ITEM), *self.shape.prefix, self.shape.rest}
        return set().union(*(self._choice(node) or () for node in nodes if node is not None))

    def _goes_on(self, state: int, begun: int, places: list[Choice], matched: dict[object, int]) -> bool:
        """Whether the array can be completed from a state of its layout, when so many items have begun."""
        choices: list[tuple[Choice | None, int]] = [(None, state)]
        while len(choices) == 1 and choices[0][0] is None:  # no choice: not one level of recursion each
            check_time()
            state = choices[0][1]
            key = self._key(state, begun, places)
            if key in self.tried:
                return False
            self.tried.add(key)
            ends, items = self._moves(state, begun)
            if ends:
                return True
            choices = [(self._choice(node), returns) for node, returns in items]
            begun += 1
        for choice, returns in sorted(choices, key=lambda way: way[0] is not None):
            if choice is None:
                if self._goes_on(returns, begun, places, matched):
                    return True
                continue
            more = [*places, choice - self.used]
            found = _matched(matched, more, len(places))
            if found is not None and self._goes_on(returns, begun, more, found):
                return True
        return False

    def _key(self, state: int, begun: int, places: list[Choice]) -> tuple[int, int, tuple[int, ...]]:
        """What the rest of an array depends on."""
        return state, min(begun, self.bound), tuple(sorted(map(hash, places)))

    def _moves(self, state: int, begun: int) -> tuple[bool, list[tuple[Node, int]]]:
        """Whether the array may end before another item, and the items that can come: (node, state to return to)."""
        layout, shape = self.frame.frame.layout, self.shape
        seen, todo, items = {state}, [state], []
        while todo:
            this = layout.states[todo.pop()]
            if this.final:
                return True, []
            targets = [target for byte, target in this.edges if byte < SYMBOL]
            for call in this.calls:
                if call.select is not Select.ITEM:
                    targets.append(call.returns)
                elif call.node is not None:
                    items.append((call.node, call.returns))
                elif self._may_continue(begun):
                    node = shape.prefix[begun] if begun < len(shape.prefix) else shape.rest
                    assert node is not None
                    items.append((node, call.returns))
            for target in targets:
                guard = layout.states[target].guard
                enters = (
                    self._may_continue(begun)
                    if guard is Guard.MORE
                    else begun >= shape.min_items
                    if guard is Guard.CLOSE
                    else guard is Guard.NONE
                )
                if enters and target not in seen:
                    seen.add(target)
                    todo.append(target)
        return False, items

    def _may_continue(self, begun: int) -> bool:
        shape = self.shape
        room = shape.max_items is None or begun < shape.max_items
        return room and (begun < len(shape.prefix) or shape.rest is not None)

    def _choice(self, node: Node) -> Choice | None:
        """The values of a node, None for infinitely many."""
        known = self.values.choices.get(id(node))
        if known is None or (known[2] is None and known[1] < self.most):
            endless = self._is_endless(node)
            found = None if endless else self._few(self.values.words(node))
            known = self.values.choices[id(node)] = node, (1 << 60 if endless else self.most), found
        return known[2]

    def _is_endless(self, node: Node) -> bool:
        node = resolve(node)
        if isinstance(node, Union):
            return any(map(self._is_endless, node.alternatives))
        if isinstance(node, Lexeme):
            return self.values.is_endless(Thread(node, Text.begin(node), None, None, 0))
        assert isinstance(node, Frame)
        registers = Members() if isinstance(node.shape, ObjectShape) else Items()
        return self.values.is_endless(Thread(node, Place(), registers, None, 0))

    def _few(self, texts: Iterator[bytes]) -> Choice | None:
        """The values of texts; None where they are more than there are places."""
        found: set[object] = set()
        try:
            for looked_at, text in enumerate(texts):
                found.add(value_of(text))
                if len(found) > self.most or looked_at > _MOST_TEXTS:
                    return None
        except RecursionError:  # longer and longer ones
            return None
        return frozenset(found)


def _matched(matched: dict[object, int], places: list[Choice], place: int) -> dict[object, int] | None:
    """The matching (value -> place), with one more place matched; None where that cannot be (Kuhn's algorithm)."""
    fresh = dict(matched)
    seen: set[object] = set()

    def assign(place: int) -> bool:
        for value in places[place]:
            if value in seen:
                continue
            seen.add(value)
            if value not in fresh or assign(fresh[value]):
                fresh[value] = place
                return True
        return False

    return fresh if assign(place) else None
