"""The syntax tree of a regular expression over code points, and the rewrites that keep automata small.

Nodes are immutable and shared freely. The constructors below normalise as they build, so that every repeat has a body
which consumes at least one character; a derivative then never loops without reading.

    kind      a                          matches
    CHARS     CharSet                    one character of the set
    CAT       tuple of nodes             one after the other; () is the empty string
    ALT       tuple of nodes             any of them; () is nothing at all
    REPEAT    (node, low, high | None)   low to high copies
    START     None                       here, if nothing was read
    END       None                       here, if nothing follows
    BOUNDARY  (CharSet, negated)         here, if exactly one neighbour is in the set (negated: both or none)
    LOOK      (node, negated)            here, if a match of node begins here (negated: does not)
    BEHIND    (node, negated)            here, if a match of node ends here (negated: does not)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import Any

from .._errors import LimitError
from .._limits import Limits, check_time
from .charsets import CharSet, union

__all__ = [
    "EMPTY",
    "NOTHING",
    "Kind",
    "Node",
    "alternatives",
    "chars",
    "concatenate",
    "end",
    "look",
    "look_behind",
    "repeat",
    "start",
    "text",
    "word_boundary",
]


_LONGEST = 4000
"""Parts of a group of which the first that reads something is told apart; that takes their square in room."""


class Kind(IntEnum):
    CHARS = 0
    CAT = 1
    ALT = 2
    REPEAT = 3
    START = 4
    END = 5
    BOUNDARY = 6
    LOOK = 7
    BEHIND = 8


class Node:
    """nullable: may match the empty string somewhere. pure: holds no assertion, so its matches depend on nothing else.

    anchored: cannot match but at the very start. length: characters of every match, or None where they differ.
    """

    __slots__ = ("a", "anchored", "consuming", "kind", "length", "nullable", "pure")

    def __init__(self, kind: Kind, a: Any, nullable: bool, pure: bool, anchored: bool, length: int | None) -> None:
        self.kind, self.a = kind, a
        self.nullable, self.pure, self.anchored, self.length = nullable, pure, anchored, length
        self.consuming: Node | None = None


EMPTY = Node(Kind.CAT, (), True, True, False, 0)
NOTHING = Node(Kind.ALT, (), False, True, True, None)
_START = Node(Kind.START, None, True, False, True, 0)
_END = Node(Kind.END, None, True, False, False, 0)


def start() -> Node:
    return _START


def end() -> Node:
    return _END


def chars(members: CharSet) -> Node:
    return Node(Kind.CHARS, members, False, True, False, 1) if members else NOTHING


def text(literal: str) -> Node:
    return concatenate([chars(((ord(c), ord(c)),)) for c in literal])


def word_boundary(word: CharSet, negated: bool) -> Node:
    return Node(Kind.BOUNDARY, (word, negated), True, False, False, 0)


def look(body: Node, negated: bool) -> Node:
    return Node(Kind.LOOK, (body, negated), True, False, body.anchored and not negated, 0)


def look_behind(body: Node, negated: bool) -> Node:
    """Assertions at the very end of the body see what follows, so they are taken out: (?<=a\\b) is (?<=a)\\b."""
    ends = _ends(body)
    if not any(asserted for _, asserted in ends):
        return Node(Kind.BEHIND, (body, negated), True, False, False, 0)
    options = []
    for core, asserted in ends:
        behind = look_behind(core, negated)
        if negated:
            options.append(alternatives([behind, *map(_opposite, asserted)]))
        else:
            options.append(concatenate([behind, *asserted]))
    return concatenate(options) if negated else alternatives(options)


def _ends(node: Node) -> list[tuple[Node, list[Node]]]:
    """The alternatives of a body, each with the assertions about what follows taken off its end."""
    if node.pure:
        return [(node, [])]
    if node.kind in (Kind.BOUNDARY, Kind.LOOK):
        return [(EMPTY, [node])]
    if node.kind == Kind.ALT:
        return [end for part in node.a for end in _ends(part)]
    if node.kind == Kind.CAT and node.a:
        before = concatenate(node.a[:-1])
        found = []
        for core, asserted in _ends(node.a[-1]):
            if core is EMPTY:
                found += [(rest, [*more, *asserted]) for rest, more in _ends(before)]
            else:
                found.append((concatenate([before, core]), asserted))
        return found
    return [(node, [])]


def _opposite(node: Node) -> Node:
    body, negated = node.a
    return word_boundary(body, not negated) if node.kind == Kind.BOUNDARY else look(body, not negated)


def concatenate(parts: Iterable[Node]) -> Node:
    flat: list[Node] = []
    for part in parts:
        if part.kind == Kind.CAT:
            flat.extend(part.a)
        elif part is NOTHING:
            return NOTHING
        else:
            flat.append(part)
    if len(flat) == 1:
        return flat[0]
    if not flat:
        return EMPTY
    nullable = pure = True
    anchored = False
    leading = True
    length: int | None = 0
    for part in flat:
        nullable = nullable and part.nullable
        pure = pure and part.pure
        if leading:
            anchored = anchored or part.anchored
            leading = part.length == 0
        length = None if length is None or part.length is None else length + part.length
    return Node(Kind.CAT, tuple(flat), nullable, pure, anchored, length)


def alternatives(parts: Sequence[Node]) -> Node:
    flat: list[Node] = []
    sets: list[CharSet] = []
    for part in parts:
        for inner in part.a if part.kind == Kind.ALT else (part,):
            if inner.kind == Kind.CHARS:
                sets.append(inner.a)
            else:
                flat.append(inner)
    if sets:
        flat.insert(0, chars(union(*sets) if len(sets) > 1 else sets[0]))
    if len(flat) == 1:
        return flat[0]
    if not flat:
        return NOTHING
    lengths = {part.length for part in flat}
    return Node(
        Kind.ALT,
        tuple(flat),
        any(part.nullable for part in flat),
        all(part.pure for part in flat),
        all(part.anchored for part in flat),
        lengths.pop() if len(lengths) == 1 else None,
    )


def repeat(body: Node, low: int, high: int | None) -> Node:
    """`low` to `high` copies of `body`; high None: no upper bound. Requires low <= high."""
    if high == 0 or body is EMPTY:
        return EMPTY
    if low == 1 == high:
        return body
    if body is NOTHING:
        return EMPTY if low == 0 else NOTHING
    if body.nullable:
        inner = consuming(body)
        if body.pure:
            return repeat(inner, 0, high)
        return _repeat_asserting(inner, _empty_part(body), low, high)
    if body.kind == Kind.REPEAT:
        inner, a, b = body.a
        seamless = a <= 1 if low == 0 else b is None or low * (b - a) >= a - 1
        if seamless:
            return repeat(inner, a * low, None if b is None or high is None else b * high)
    length = body.length * low if body.length is not None and low == high else None
    return Node(Kind.REPEAT, (body, low, high), low == 0, body.pure, body.anchored and low > 0, length)


def _repeat_asserting(inner: Node, nothing: Node, low: int, high: int | None) -> Node:
    """Copies of "inner, or nothing where `nothing` holds", of which only the first `low` can be forced to assert.

    Where one of these reads nothing, all that do may do so at one place: what holds there once holds there often.
    """
    if low == 0 or any(part is EMPTY for part in (nothing.a if nothing.kind == Kind.ALT else (nothing,))):
        return repeat(inner, 0, high)
    if high is None:
        before = repeat(inner, 0, low - 1)
        return alternatives([repeat(inner, low, None), concatenate([before, nothing, repeat(inner, 0, None)])])
    options = [repeat(inner, low, high)]
    for copies in range(low):
        check_time()
        options.append(concatenate([repeat(inner, copies, copies), nothing, repeat(inner, 0, high - 1 - copies)]))
    return alternatives(options)


def consuming(node: Node) -> Node:
    """The matches of `node` that read at least one character."""
    if not node.nullable:
        return node
    if node.consuming is None:
        node.consuming = _consuming(node)
    return node.consuming


def _consuming(node: Node) -> Node:
    if node.kind == Kind.ALT:
        return alternatives([consuming(part) for part in node.a])
    if node.kind == Kind.REPEAT:
        body, _, high = node.a
        return repeat(body, 1, high)
    if node.kind == Kind.CAT:
        # (x y)+ = x+ y | (x, matching nothing) y+, from the right so that the tails are shared.
        if len(node.a) > _LONGEST:
            raise LimitError("max_states", Limits.max_states, "parts of a repeated group that may match nothing")
        tail, found = EMPTY, NOTHING
        for part in reversed(node.a):
            options = [concatenate([consuming(part), tail])]
            if part.nullable:
                options.append(concatenate([_empty_part(part), found]))
            found = alternatives(options)
            tail = concatenate([part, tail])
        return found
    return NOTHING


def _empty_part(node: Node) -> Node:
    """The matches of `node` that read nothing, with what they assert."""
    if node.pure:
        return EMPTY if node.nullable else NOTHING
    if node.kind == Kind.ALT:
        return alternatives([_empty_part(part) for part in node.a])
    if node.kind == Kind.CAT:
        return concatenate([_empty_part(part) for part in node.a])
    if node.kind == Kind.REPEAT:
        return EMPTY if node.a[1] == 0 else NOTHING
    return node
