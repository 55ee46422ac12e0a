"""From the right-hand side of a rule to its machine: which parts become edges, and which become terminals of their own.

A regular part with few moves is written out as bytes, so that it merges with what begins alike; a larger one is one
letter, a lexeme that all rules share. A part whose automaton would be large is taken apart again.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._errors import LimitError
from .._limits import Limits, check_time
from ..automata.grammar import Lexeme
from ..languages import syntax
from ..languages.dfa import DFA
from ..languages.minimize import merge_equal, trim
from ..languages.pattern import compile_node
from ..languages.utf8 import finish
from .expressions import Alt, Embed, Expr, Language, Ref, Regular, Repeat, Seq, Symbol, Words
from .machines import Letter, Machine

__all__ = ["Leaves", "consuming", "without_nul"]

_NARROW = 64
"""Moves up to which an automaton is written out as edges: a layout looks at its edges one by one."""
_FOLDED = 512
"""States up to which a regular part is kept whole."""
_COUNTED = 32
"""Counts of one character class from here on are bounds on the length of a lexeme instead of states."""


class Leaves:
    """The terminals of one grammar. `machine` gives the machine of an expression."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.small = Limits(max_states=min(_FOLDED, limits.max_states))
        self.dfas: dict[syntax.Node, DFA | None] = {}
        self.letters: dict[object, Lexeme] = {}
        self.kept: list[DFA] = []

    def machine(self, expr: Expr) -> Machine:
        """Silent moves included; letters of rules that may be empty have none beside them yet."""
        result = Machine()
        todo: list[tuple[int, Expr | syntax.Node, int]] = [(result.state(), expr, result.state())]
        result.final.add(1)
        while todo:
            source, part, target = todo.pop()
            if isinstance(part, Regular):
                part = part.node
            if isinstance(part, syntax.Node):
                if self.add_regular(result, source, part, target):
                    continue
                kind = part.kind
                pieces: tuple[Expr | syntax.Node, ...] = part.a if kind != syntax.Kind.REPEAT else ()
                count = part.a[1:] if kind == syntax.Kind.REPEAT else None
                body: Expr | syntax.Node = part.a[0] if kind == syntax.Kind.REPEAT else part
                in_order = kind == syntax.Kind.CAT
            elif isinstance(part, (Seq, Alt)):
                pieces, count, in_order = part.parts, None, isinstance(part, Seq)
            elif isinstance(part, Repeat):
                count, body = (part.low, part.high), part.body
            else:
                self.add_leaf(result, source, part, target)
                continue
            if count is not None:
                low, high = count
                for _ in range(low):
                    middle = self.new_state(result)
                    todo.append((source, body, middle))
                    source = middle
                if high is None:
                    around = self.new_state(result)
                    result.silent[source].add(around)
                    todo.append((around, body, around))
                    source = around
                for _ in range(0 if high is None else high - low):
                    middle = self.new_state(result)
                    result.silent[source].add(target)
                    todo.append((source, body, middle))
                    source = middle
                result.silent[source].add(target)
            elif in_order:
                for piece in pieces[:-1]:
                    middle = self.new_state(result)
                    todo.append((source, piece, middle))
                    source = middle
                todo.append((source, pieces[-1], target))
            else:
                todo.extend((source, piece, target) for piece in pieces)
        return result

    def new_state(self, machine: Machine) -> int:
        check_time()
        if machine.size > self.limits.max_states:
            raise LimitError("max_states", self.limits.max_states, "states of one rule of a grammar")
        return machine.state()

    def add_leaf(self, machine: Machine, source: int, leaf: Expr, target: int) -> None:
        if isinstance(leaf, Ref):
            machine.add(source, leaf.name, target)
        elif isinstance(leaf, Symbol):
            machine.add(source, leaf.edge, target)
        elif isinstance(leaf, Embed):
            machine.add(source, leaf.node, target)
            if leaf.nullable:
                machine.silent[source].add(target)
        elif isinstance(leaf, Words):
            words = tuple(word for word in leaf.words if 0 not in word)
            if words:
                machine.add(source, Lexeme(words=words), target)
        else:
            assert isinstance(leaf, Language)
            self.add_language(machine, source, leaf.dfa, leaf.min_chars, leaf.max_chars, target)

    def add_regular(self, machine: Machine, source: int, node: syntax.Node, target: int) -> bool:
        """Add the words of `node` if it can be done in one piece."""
        if node is syntax.NOTHING:
            return True
        if node is syntax.EMPTY:
            machine.silent[source].add(target)
            return True
        if node.kind == syntax.Kind.REPEAT:
            body, low, high = node.a
            if body.kind == syntax.Kind.CHARS and max(low, high or 0) >= _COUNTED:
                dfa = self.dfa(syntax.repeat(body, 0, None))
                assert dfa is not None
                self.add_language(machine, source, dfa, low, high, target)
                return True
        found = self.dfa(node)
        if found is None:
            return False
        self.add_language(machine, source, found, 0, None, target)
        return True

    def dfa(self, node: syntax.Node) -> DFA | None:
        """The automaton of `node`; None where it is large and can be taken apart."""
        if node not in self.dfas:
            parts = node.kind in (syntax.Kind.CAT, syntax.Kind.ALT, syntax.Kind.REPEAT)
            try:
                self.dfas[node] = compile_node(node, limits=self.small if parts else self.limits)
            except LimitError:
                if not parts:
                    raise
                self.dfas[node] = None
        return self.dfas[node]

    def add_language(
        self, machine: Machine, source: int, dfa: DFA, min_chars: int, max_chars: int | None, target: int
    ) -> None:
        """Add the words of `dfa` with min_chars to max_chars characters."""
        dfa = without_nul(dfa)
        if min_chars <= 0 and not dfa.is_empty and dfa.labels[0] >= 0:
            machine.silent[source].add(target)
        if min_chars > 1 or max_chars is not None:
            most = -1 if dfa.is_empty else int(dfa.char_bounds[1][0])
            if not dfa.is_empty and max_chars != 0 and (most < 0 or most >= max(min_chars, 1)):
                assert dfa.has_interval_lengths
                machine.add(source, self.letter(dfa, max(min_chars, 1), max_chars), target)
            return
        dfa = consuming(dfa)
        if dfa.is_empty:
            return
        counts = np.bincount(dfa.classes, minlength=dfa.table.shape[1])
        if ((dfa.table >= 0) * counts).sum() <= _NARROW:
            states = [self.new_state(machine) for _ in range(dfa.n_states)]
            machine.silent[source].add(states[0])
            for state, row in zip(states, dfa.table.tolist(), strict=True):
                for byte, column in enumerate(dfa.classes.tolist()):
                    if row[column] >= 0:
                        machine.add(state, byte, states[row[column]])
            for state, label in zip(states, dfa.labels.tolist(), strict=True):
                if label >= 0:
                    machine.silent[state].add(target)
            return
        machine.add(source, self.letter(dfa, 0, None), target)

    def letter(self, dfa: DFA, min_chars: int, max_chars: int | None) -> Letter:
        """One lexeme per language, however many rules have it."""
        key = dfa.classes.tobytes(), dfa.table.tobytes(), dfa.labels.tobytes(), min_chars, max_chars
        if key not in self.letters:
            self.letters[key] = Lexeme(dfa=dfa, min_chars=min_chars, max_chars=max_chars)
        return self.letters[key]


def without_nul(dfa: DFA) -> DFA:
    """The words without the byte 0, which no token inside a constrained text has."""
    if dfa.is_empty or (dfa.table[:, dfa.classes[0]] < 0).all():
        return dfa
    classes = dfa.classes.copy()
    if (dfa.classes == dfa.classes[0]).sum() > 1:
        classes[0] = dfa.table.shape[1]
        table = np.concatenate([dfa.table, np.full((dfa.n_states, 1), -1, np.int32)], axis=1)
    else:
        table = dfa.table.copy()
        table[:, classes[0]] = -1
    table, labels = merge_equal(*trim(*_reachable(table, dfa.labels)))
    return finish(classes, table, labels, None)


def _reachable(table: NDArray[np.int32], labels: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The states that the start leads to."""
    order = [0]
    numbers = np.full(len(labels) + 1, -1, np.int32)
    numbers[0] = 0
    for state in order:
        for target in set(table[state].tolist()):
            if target >= 0 and numbers[target] < 0:
                numbers[target] = len(order)
                order.append(target)
    return np.where(table[order] >= 0, numbers[table[order]], -1).astype(np.int32), labels[order]


def consuming(dfa: DFA) -> DFA:
    """The words of `dfa` but the empty one."""
    if dfa.is_empty or dfa.labels[0] < 0:
        return dfa
    start = np.where(dfa.table[:1] >= 0, dfa.table[:1] + 1, -1)
    table = np.concatenate([start, np.where(dfa.table >= 0, dfa.table + 1, -1)]).astype(np.int32)
    labels = np.concatenate([np.array([-1], np.int32), dfa.labels])
    table, labels = merge_equal(*trim(*_reachable(table, labels)))
    return finish(dfa.classes, table, labels, None)
