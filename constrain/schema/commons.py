"""The nodes of schemas that say nothing, or no more than a type: made once for all compilations with the same options.

Schemas consist of them for the most part. Grammars know them by identity, and are encoded from a start that has them
(`automata.program`), so that an output that reaches one finds it there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from .._limits import Limits
from ..automata.grammar import Frame, Node, ObjectShape, Union, resolve
from .dialect import ASSERTIONS, Draft
from .document import Document, load
from .forms import Goal, Kind
from .goals import fields
from .notation import Notation
from .options import Options
from .report import Report

__all__ = ["Commons", "commons", "lone_type"]

_SCALARS = ("string", "number", "integer", "boolean", "null")


@dataclass(frozen=True)
class Commons:
    """anything: any value.   of: by the name of a type, its values; not of arrays and objects."""

    anything: Node
    of: dict[str, Node]

    @property
    def nodes(self) -> tuple[Node, ...]:
        return (*self.of.values(), self.anything)


@lru_cache(maxsize=64)
def commons(options: Options, notation: Notation, oldest: bool) -> Commons:
    """Those of compilations with these options, in a notation. oldest: of draft 4, where integers are spelt plainly."""
    plain = replace(options, property_order="any", formats="assert", lenient=False, openapi=False)
    return _made(plain, notation, oldest)


@lru_cache(maxsize=64)
def _made(options: Options, notation: Notation, oldest: bool) -> Commons:
    from .build import Builder
    from .normal import Normaliser

    limits, report = Limits(), Report()
    document = Document(load(True, limits), Draft.D4 if oldest else None, None, limits, report)
    normaliser = Normaliser(document, options, limits, report)
    builder = Builder(normaliser, notation, is_common=True)
    made = Commons(builder.node(normaliser.goals.all), {name: builder.of_type(name) for name in _SCALARS})
    _build_all(made.anything)
    return made


def _build_all(root: Node) -> None:
    """Build whatever is lazy below a node."""
    seen, todo = set(), [root]
    while todo:
        node = resolve(todo.pop())
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, Union):
            todo += node.alternatives
        elif isinstance(node, Frame):
            todo += [call.node for state in node.layout.states for call in state.calls if call.node is not None]
            shape = node.shape
            if isinstance(shape, ObjectShape):
                todo += shape.extra_values
            elif shape is not None and shape.rest is not None:
                todo.append(shape.rest)


def lone_type(goal: Goal) -> str | None:
    """The name of the type that is all that a schema asserts."""
    if goal.kind != Kind.AT:
        return None
    keywords = fields(goal.parts)
    named = keywords.get("type")
    return named if type(named) is str and len(ASSERTIONS & keywords.keys()) == 1 else None
