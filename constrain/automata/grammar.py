"""The grammar representation that every front end builds and the engine runs.

A grammar is a graph of nodes. Four kinds are enough:

    Lexeme   a run of bytes in a regular language: a string, a number, a keyword, whitespace
    Union    one of several nodes (parallel threads decide which)
    Frame    a small automaton over bytes ("layout") whose states can *call* other nodes; with a shape it has registers:
               ObjectShape  which keys were emitted, which may follow, when it may close
               ArrayShape   how many items were emitted
    Lazy     a node that is built when the stack first reaches it

Layouts are data: JSON objects, and any other notation for keyed values, differ in their layout and share the shape.
Invariant kept by the builders: every node has at least one word. An impossible alternative is left out, an impossible
optional key has the value None (the key is forbidden), an impossible required part makes the whole node impossible.

The interpreter in `oracle.py` runs this representation directly; `program.py` encodes it for the kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

from ..languages.dfa import DFA
from ..languages.remainders import Remainders

__all__ = [
    "MANY_LABELS",
    "NOWHERE",
    "SYMBOL",
    "ArrayShape",
    "Call",
    "Diagram",
    "Frame",
    "Guard",
    "Layout",
    "LayoutState",
    "Lazy",
    "Lexeme",
    "Node",
    "ObjectShape",
    "Select",
    "Skin",
    "Space",
    "Union",
    "resolve",
    "symbol",
]

MANY_LABELS = 30
"""Kinds of additional keys that an object with a diagram may have."""

NOWHERE = -1
"""In place of a layout state: none."""

SYMBOL = 256
"""Input from here on is not a byte: SYMBOL + i is the control token with id i."""


def symbol(token_id: int) -> int:
    """The input that stands for a control token: it has no bytes, and is read only by a layout edge that names it."""
    return SYMBOL + token_id


class Node:
    """A nonterminal of the grammar; compared by identity."""

    __slots__ = ()


class Skin(IntEnum):
    """How the characters of a lexeme are written.

    RAW:         as they are; the lexeme ends where its language accepts and the context takes over.
    JSON_STRING: between quotes, with JSON escapes (RFC 8259 section 7); every spelling of a value is the value.
    """

    RAW = 0
    JSON_STRING = 1


@dataclass(eq=False)
class Lexeme(Node):
    """words ∪ {w in dfa : min_chars <= characters of w <= max_chars}.

    words: distinct, sorted, each the UTF-8 bytes of a value; they are not subject to the character bounds.
    dfa:   needs `has_interval_lengths` where a bound is given.
    remainders: of a raw lexeme without bounds on characters, which words of dfa are admitted; or all.
    values: of a number with finitely many values, though perhaps infinitely many spellings (0.5, 0.50, ...): a bound on
    how
            many; else 0.
    """

    words: tuple[bytes, ...] = ()
    dfa: DFA | None = None
    min_chars: int = 0
    max_chars: int | None = None
    skin: Skin = Skin.RAW
    values: int = 0
    remainders: Remainders | None = None


@dataclass(eq=False)
class Union(Node):
    alternatives: tuple[Node, ...]


@dataclass(eq=False)
class Lazy(Node):
    """`build` is called once, under the grammar's lock.

    first, if given, is a superset of the first bytes, with SYMBOL for any symbol.
    """

    build: Callable[[], Node]
    first: frozenset[int] | None = None
    built: Node | None = None


@dataclass(eq=False)
class Diagram:
    """What the members of an object decide together: a decision diagram, with one level per key it is about.

    keys:    per level an index into the shape's keys.       options: per level the nodes that the value can be.
    levels:  per level its nodes, the first node of the first level being the root; a node is its edges, each an option,
             or -1 for an object that has no such key, and the node of the next level that it leads to.
    others:  per label of additional keys its options: (node of the value, kind).
    moves:   per kind, and per state of the additional members so far, the state after one more; state 0 is the first.
    ends:    per node behind the last level, and per state, whether the object may end.
    Every node lies on some way from the root to such an end, whose members the shape allows. Of each label there are
    more keys than an output has members. Labels are at most MANY_LABELS.
    """

    keys: tuple[int, ...]
    options: tuple[tuple[Node, ...], ...]
    levels: tuple[tuple[tuple[tuple[int, int], ...], ...], ...]
    others: tuple[tuple[tuple[Node, int], ...], ...]
    moves: tuple[tuple[int, ...], ...]
    ends: tuple[tuple[bool, ...], ...]


@dataclass(eq=False)
class ObjectShape:
    """What the members of an object must be.

    keys:     declared keys, UTF-8, sorted bytewise.      values: node per key; None forbids the key.
    required: per key.
    skin:     how keys are written; a RAW key ends where the layout goes on, and is not empty.
    rank:     per key its place when the order of members is fixed (additional keys come last); None: any order.
    extra:    automaton of the additional keys, labelled with an index into extra_values; None: no additional keys.
              A declared key is never an additional one, whatever `extra` accepts. No key occurs twice.
    diagram:  which members may go together, if not all; it has the nodes of the values that it is about, and of all
              additional ones. min_members is at most the number of required keys then.
    endless:  per key, or empty: whether its value is surely one of infinitely many; a help to unique arrays around.
    The builder has checked that min_members can be reached.
    """

    keys: tuple[bytes, ...] = ()
    values: tuple[Node | None, ...] = ()
    required: tuple[bool, ...] = ()
    rank: tuple[int, ...] | None = None
    extra: DFA | None = None
    extra_values: tuple[Node, ...] = ()
    min_members: int = 0
    max_members: int | None = None
    skin: Skin = Skin.JSON_STRING
    diagram: Diagram | None = None
    endless: tuple[bool, ...] = ()


@dataclass(eq=False)
class ArrayShape:
    """Item i follows prefix[i], later ones `rest` (None: no further items).

    compared: items are compared, as JSON values, with earlier ones (see `Call.equal`); the layout is that of JSON.
    endless: each item that must be unlike others is surely one of infinitely many values (only used where `compared`).
    tight:   which value an item has may decide what can follow it, though another item exists: few values are shared by
             items of different kinds (only used where `compared`).
    The builder has checked that min_items can be reached.
    """

    prefix: tuple[Node, ...] = ()
    rest: Node | None = None
    min_items: int = 0
    max_items: int | None = None
    compared: bool = False
    endless: bool = False
    tight: bool = False


class Select(IntEnum):
    """What a call calls: a fixed node, or what the shape's registers choose."""

    NODE = 0
    KEY = 1
    VALUE = 2
    ITEM = 3


class Guard(IntEnum):
    """Condition on the registers for entering a layout state."""

    NONE = 0
    MORE = 1
    """A further member or item may follow."""
    CLOSE = 2
    """Nothing required is missing."""
    NEVER = 3
    """An item that returns there must equal an earlier one (see `Call.equal`)."""


@dataclass(frozen=True)
class Space:
    """Bounded JSON whitespace: at most `newlines` line feeds and base + per_level * level other blanks in one run.

    level: objects and arrays around the one that it stands in.
    """

    newlines: int = 2
    base: int = 64
    per_level: int = 8


@dataclass(frozen=True, eq=False)
class Call:
    select: Select
    returns: int
    node: Node | None = None
    """For Select.NODE; for Select.ITEM in place of what the shape says."""
    equal: int | None = None
    """Only for Select.ITEM, where the shape compares items: the item is compared with the earlier ones that were called
    so. If it equals one, the frame goes on in this state, NOWHERE for none, and forgets the items; else in `returns`,
    whose guard is asked when the item ends, and the item is remembered. None: it is neither compared nor remembered.
    """


@dataclass(frozen=True, eq=False)
class LayoutState:
    """edges: byte or symbol -> state. `space`: JSON whitespace may stand here. `final`: the frame may end here."""

    edges: tuple[tuple[int, int], ...] = ()
    calls: tuple[Call, ...] = ()
    guard: Guard = Guard.NONE
    space: Space | None = None
    final: bool = False


@dataclass(frozen=True, eq=False)
class Layout:
    """States of a frame; 0 is the start."""

    states: tuple[LayoutState, ...]


@dataclass(eq=False)
class Frame(Node):
    layout: Layout
    shape: ObjectShape | ArrayShape | None = None


def resolve(node: Node) -> Node:
    """The node behind a Lazy one, built now if need be. Call under the grammar's lock."""
    while isinstance(node, Lazy):
        if node.built is None:
            node.built = node.build()
        node = node.built
    return node
