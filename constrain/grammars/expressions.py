"""What the right-hand sides of rules are made of, for every grammar notation.

    Regular     a regular language given by a syntax tree (languages.syntax): literals, character classes, terminals
    Language    a regular language given by its automaton, for what a tree cannot say (complements, lookarounds)
    Words       a long list of literals
    Ref         another rule
    Symbol      one control token of the vocabulary
    Embed       a node of the engine, such as a JSON value under a schema
    Seq, Alt, Repeat

The functions that make them fold neighbours: a sequence, choice or repetition of regular parts is regular again, so
what the engine sees as one lexeme is as long as it can be, however the notation cuts it. Nothing here recurses:
notations may nest as deep as `Limits.max_depth` says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from ..automata.grammar import Node
from ..languages import syntax
from ..languages.dfa import DFA

__all__ = [
    "EMPTY",
    "NOTHING",
    "Alt",
    "Embed",
    "Expr",
    "Language",
    "Ref",
    "Regular",
    "Repeat",
    "Seq",
    "Symbol",
    "Words",
    "choice",
    "fold",
    "literal",
    "references",
    "regular",
    "repetition",
    "sequence",
]

_MOST_NODES, _MOST_DEPTH = 2000, 60
"""Beyond this a regular part is not folded into its neighbours: flattening copies it, and derivatives recurse."""


class Expr:
    """Compared by identity."""

    __slots__ = ()


@dataclass(frozen=True, eq=False, slots=True)
class Regular(Expr):
    """size, depth: of the tree, bounded so that folding cannot explode."""

    node: syntax.Node
    size: int = 1
    depth: int = 1


@dataclass(frozen=True, eq=False, slots=True)
class Language(Expr):
    """Words of `dfa` with min_chars to max_chars characters (as in automata.grammar.Lexeme)."""

    dfa: DFA
    min_chars: int = 0
    max_chars: int | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Words(Expr):
    """One of a long list of words: distinct, sorted, not empty, UTF-8."""

    words: tuple[bytes, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Ref(Expr):
    """at: position of the reference in the source, for errors."""

    name: str
    at: int | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Symbol(Expr):
    """What a layout edge may carry instead of a byte: automata.grammar.symbol(token id)."""

    edge: int


@dataclass(frozen=True, eq=False, slots=True)
class Embed(Expr):
    """The words of `node`, and the empty one if `nullable`. Of itself the node has no empty word."""

    node: Node
    nullable: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class Seq(Expr):
    parts: tuple[Expr, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Alt(Expr):
    parts: tuple[Expr, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Repeat(Expr):
    """low to high copies of body; high None: no upper bound."""

    body: Expr
    low: int
    high: int | None


EMPTY = Regular(syntax.EMPTY)
NOTHING = Regular(syntax.NOTHING)


def regular(node: syntax.Node) -> Regular:
    """A part without assertions: what it matches must not depend on its neighbours (`node.pure`)."""
    assert node.pure
    return Regular(node, _size(node), 1)


def literal(text: str) -> Regular:
    return Regular(syntax.text(text), max(1, len(text)), 1)


def sequence(parts: Iterable[Expr]) -> Expr:
    flat: list[Expr] = []
    run: list[Regular] = []
    for part in parts:
        for inner in part.parts if isinstance(part, Seq) else (part,):
            if not isinstance(inner, Regular):
                flat += _joined(syntax.concatenate, run)
                run = []
                flat.append(inner)
            elif inner.node is not syntax.EMPTY:
                run.append(inner)
    flat += _joined(syntax.concatenate, run)
    if len(flat) == 1:
        return flat[0]
    return Seq(tuple(flat)) if flat else EMPTY


def choice(parts: Iterable[Expr]) -> Expr:
    flat: list[Expr] = []
    run: list[Regular] = []
    for part in parts:
        for inner in part.parts if isinstance(part, Alt) else (part,):
            if isinstance(inner, Regular):
                run.append(inner)
            else:
                flat.append(inner)
    if sum(part.size for part in run) > _MOST_NODES:
        spelled = [(part, _spelling(part.node)) for part in run]
        words = tuple(sorted({word for _, word in spelled if word}))
        run = [part for part, word in spelled if not word]
        flat += [Words(words)] if words else []
    flat += _joined(syntax.alternatives, run)
    if len(flat) == 1:
        return flat[0]
    return Alt(tuple(flat)) if flat else NOTHING


def repetition(body: Expr, low: int, high: int | None) -> Expr:
    """`low` to `high` copies; requires low <= high."""
    if high == 0:
        return EMPTY
    if low == 1 == high:
        return body
    if isinstance(body, Regular) and body.depth < _MOST_DEPTH:
        return Regular(syntax.repeat(body.node, low, high), body.size + 1, body.depth + 1)
    return Repeat(body, low, high)


def _joined(make: Callable[[list[syntax.Node]], syntax.Node], run: list[Regular]) -> Iterator[Regular]:
    """The parts of a run as one, or as few as their size allows."""
    start = size = 0
    for stop, part in enumerate([*run, None]):
        if part is not None and (stop == start or (size + part.size <= _MOST_NODES and part.depth < _MOST_DEPTH)):
            size += part.size
            continue
        if stop - start == 1:
            yield run[start]
        elif stop > start:
            depth = max(p.depth for p in run[start:stop]) + 1
            yield Regular(make([p.node for p in run[start:stop]]), size, depth)
        if part is not None:
            start, size = stop, part.size


def _spelling(node: syntax.Node) -> bytes | None:
    """UTF-8 of the only string that `node` matches, if it is plain text."""
    chars = node.a if node.kind == syntax.Kind.CAT else (node,)
    if not all(part.kind == syntax.Kind.CHARS and part.a[0][0] == part.a[-1][1] for part in chars):
        return None
    return "".join(chr(part.a[0][0]) for part in chars).encode(errors="ignore")


def _size(node: syntax.Node) -> int:
    size, todo = 0, [node]
    while todo:
        this = todo.pop()
        size += 1
        if this.kind in (syntax.Kind.CAT, syntax.Kind.ALT):
            todo.extend(this.a)
        elif this.kind == syntax.Kind.REPEAT:
            todo.append(this.a[0])
        if size > _MOST_NODES:
            break
    return size


T = TypeVar("T")


def _parts(expr: Expr) -> tuple[Expr, ...]:
    if isinstance(expr, (Seq, Alt)):
        return expr.parts
    return (expr.body,) if isinstance(expr, Repeat) else ()


def _inner_first(expr: Expr) -> Iterator[Expr]:
    """Every distinct part, after its own parts."""
    seen: set[int] = set()
    todo: list[tuple[Expr, bool]] = [(expr, False)]
    while todo:
        this, ready = todo.pop()
        if ready:
            yield this
        elif id(this) not in seen:
            seen.add(id(this))
            todo.append((this, True))
            todo.extend((part, False) for part in reversed(_parts(this)))


def fold(expr: Expr, leaf: Callable[[Expr], Expr]) -> Expr:
    """`expr` with every part that has no parts replaced by leaf(part), made anew."""
    made: dict[int, Expr] = {}
    for this in _inner_first(expr):
        parts = [made[id(part)] for part in _parts(this)]
        if isinstance(this, Seq):
            made[id(this)] = sequence(parts)
        elif isinstance(this, Alt):
            made[id(this)] = choice(parts)
        elif isinstance(this, Repeat):
            made[id(this)] = repetition(parts[0], this.low, this.high)
        else:
            made[id(this)] = leaf(this)
    return made[id(expr)]


def references(expr: Expr) -> Iterator[Ref]:
    """All references to rules, in the order of the source."""
    return (this for this in _inner_first(expr) if isinstance(this, Ref))
