"""The keys that an object does not declare: one labelled automaton that says what value each may have.

Pattern properties overlap freely, so the value of a key depends on the set of patterns found in it. The product of
their automata, labelled with the goal of each combination, answers for every key at once; combinations that no
value satisfies drop out.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import TYPE_CHECKING

from ..languages import operations
from ..languages.dfa import DFA
from ..languages.operations import ANY_STRING, count_words
from .forms import Goal, Members
from .strings import encoded

if TYPE_CHECKING:
    from .normal import Normaliser

__all__ = ["Keys"]


class Keys:
    def __init__(self, normaliser: Normaliser) -> None:
        self.normaliser = normaliser

    def undeclared(self, members: Members, alive: Callable[[Goal], bool]) -> tuple[DFA | None, list[Goal]]:
        """(automaton, goals): keys labelled with an index into goals, all of them alive; None when there is no such
        key.
        """
        known = members.undeclared if alive == self.normaliser.emptiness.inhabited else None
        if known is None:
            known = self._undeclared(members, alive)
            if alive == self.normaliser.emptiness.inhabited:
                members.undeclared = known
        return known

    def _undeclared(self, members: Members, alive: Callable[[Goal], bool]) -> tuple[DFA | None, list[Goal]]:
        normaliser = self.normaliser
        goals = normaliser.goals
        patterns = list(dict.fromkeys(pattern for rule in members.rules for pattern, _ in rule.patterns))
        if not patterns:
            goal = goals.conj(*(rule.otherwise for rule in members.rules))
            if not alive(goal):
                return None, []
            names = self._names(members)
            return (ANY_STRING if names is None else None if names.is_empty else names), [goal]
        names = self._names(members)
        found: dict[Goal, int] = {}

        def label(hit: frozenset[int]) -> int:
            if names is not None and len(patterns) not in hit:
                return -1
            goal = goals.all
            for rule in members.rules:
                then = [value for pattern, value in rule.patterns if patterns.index(pattern) in hit]
                goal = goals.conj(goal, *(then or (rule.otherwise,)))
            return found.setdefault(goal, len(found)) if alive(goal) else -1

        automata = [normaliser.lexicon.atom("pattern", pattern) for pattern in patterns]
        if names is not None:
            automata.append(names)
        dfa = operations.label_product(automata, label, normaliser.lexicon.limits)
        return (None, []) if dfa.is_empty else (dfa, list(found))

    def more_than(self, members: Members, count: int, alive: Callable[[Goal], bool]) -> bool:
        """Whether more than `count` undeclared keys are possible."""
        goals = self.normaliser.goals
        if not members.names and not any(rule.patterns for rule in members.rules):
            return alive(goals.conj(*(rule.otherwise for rule in members.rules)))
        dfa, _ = self.undeclared(members, alive)
        if dfa is None:
            return False
        taken = sum(dfa.accepts(key) for key in encoded({**members.declared, **members.required}))
        return count_words(dfa, count + taken + 1) > count + taken

    def _names(self, members: Members) -> DFA | None:
        """The keys that can be written and have a permitted name; None where any string is one."""
        lexicon, form = self.normaliser.lexicon, self.normaliser.form
        if not members.names:
            return lexicon.keys
        names = lexicon.whole(reduce(lexicon.meet, (form(name).strings for name in members.names)))
        return names if lexicon.keys is None else operations.intersect(names, lexicon.keys, lexicon.limits)
