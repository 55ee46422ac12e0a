"""The keys that an object does not declare: one labelled automaton that says what value each may have.

Pattern properties overlap freely, so the value of a key depends on the set of patterns found in it. The product of
their automata, labelled with the goal of each combination, answers for every key at once; combinations that no
value satisfies drop out. Where the object has obligations, a combination also says which of them its members can meet.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import TYPE_CHECKING

from ..languages import operations
from ..languages.dfa import DFA
from ..languages.operations import ANY_STRING, count_words, with_labels
from ..languages.words import words
from .forms import Goal, Members, Rule
from .strings import encoded

if TYPE_CHECKING:
    from .normal import Normaliser

__all__ = ["MOST_KEYS", "Choice", "Keys"]

MOST_KEYS = 1024
"""Undeclared keys that are declared one by one where there are no more."""

Choice = tuple[Goal, ...]
"""Goals of a value: the plain one, then those in which it meets each nonempty set of the shape's obligations."""


class Keys:
    def __init__(self, normaliser: Normaliser) -> None:
        self.normaliser = normaliser

    def undeclared(self, members: Members, alive: Callable[[Goal], bool]) -> tuple[DFA | None, list[Choice]]:
        """(automaton, choices): keys labelled with an index into choices, all of them alive; None when there is no such
        key.
        """
        known = members.undeclared if alive == self.normaliser.emptiness.inhabited else None
        if known is None:
            known = self._undeclared(members, alive)
            if alive == self.normaliser.emptiness.inhabited:
                members.undeclared = known
        return known

    def _undeclared(self, members: Members, alive: Callable[[Goal], bool]) -> tuple[DFA | None, list[Choice]]:
        normaliser = self.normaliser
        goals = normaliser.goals
        patterns = [pattern for rule in members.rules for pattern, _ in rule.patterns]
        patterns += [pattern for some in members.some for rule in some.rules for pattern, _ in rule.patterns]
        patterns = list(dict.fromkeys(patterns))
        tested = list(dict.fromkeys(name for some in members.some for name in some.names))
        names = self._names(members)
        if not patterns and not tested:
            goal = goals.conj(*(rule.otherwise for rule in members.rules))
            if not alive(goal) or (names is not None and names.is_empty):
                return None, []
            return (ANY_STRING if names is None else names), [self._choice(members, goal, set(), set())]
        found: dict[Choice, int] = {}
        automata = [normaliser.lexicon.atom("pattern", pattern) for pattern in patterns]
        automata += [self._language((name,)) for name in tested]
        if names is not None:
            automata.append(names)

        def label(hit: frozenset[int]) -> int:
            if names is not None and len(automata) - 1 not in hit:
                return -1
            matched = {pattern for i, pattern in enumerate(patterns) if i in hit}
            failed = {name for i, name in enumerate(tested, len(patterns)) if i not in hit}
            goal = goals.conj(*(self._ruled(rule, matched) for rule in members.rules))
            if not alive(goal):
                return -1
            return found.setdefault(self._choice(members, goal, matched, failed), len(found))

        dfa = operations.label_product(automata, label, normaliser.lexicon.limits)
        return (None, []) if dfa.is_empty else (dfa, list(found))

    def _choice(self, members: Members, goal: Goal, matched: set[str], failed: set[Goal]) -> Choice:
        goals = self.normaliser.goals
        breaking = []
        for some in members.some:
            kept = goals.conj(*(self._ruled(rule, matched) for rule in some.rules))
            breaking.append(goals.all if failed & set(some.names) else goals.negate(kept))
        return self.variants(goal, breaking)

    def variants(self, goal: Goal, breaking: list[Goal]) -> Choice:
        """The goal, then with each nonempty set of obligations met."""
        conj = self.normaliser.goals.conj
        met = range(1 << len(breaking))
        return tuple(conj(goal, *(b for i, b in enumerate(breaking) if bits >> i & 1)) for bits in met)

    def _ruled(self, rule: Rule, matched: set[str]) -> Goal:
        then = [value for pattern, value in rule.patterns if pattern in matched]
        return self.normaliser.goals.conj(*(then or (rule.otherwise,)))

    def listed(self, members: Members, alive: Callable[[Goal], bool]) -> tuple[dict[str, int], set[int]]:
        """For an object with obligations: (undeclared keys, with their labels, of the labels that only few keys have;
        the other labels).
        """
        dfa, choices = self.undeclared(members, alive)
        many: set[int] = set()
        found: dict[str, int] = {}
        if dfa is None:
            return found, many
        for label in range(len(choices)):
            part = with_labels(dfa, {label}, self.normaliser.lexicon.limits)
            keys = words(part, MOST_KEYS)
            if keys is None:
                many.add(label)
            else:
                found.update((key.decode(), label) for key in keys)
        return {key: label for key, label in found.items() if key not in members.declared}, many

    def more_than(self, members: Members, count: int, alive: Callable[[Goal], bool]) -> bool:
        """Whether more than `count` undeclared keys are possible."""
        goals = self.normaliser.goals
        if not members.names and not members.some and not any(rule.patterns for rule in members.rules):
            return alive(goals.conj(*(rule.otherwise for rule in members.rules)))
        dfa, _ = self.undeclared(members, alive)
        if dfa is None:
            return False
        taken = sum(dfa.accepts(key) for key in encoded({**members.declared, **members.required}))
        return count_words(dfa, count + taken + 1) > count + taken

    def _names(self, members: Members) -> DFA | None:
        """The keys that can be written and have a permitted name; None where any string is one."""
        written = self.normaliser.lexicon.keys
        if not members.names:
            return written
        names = self._language(members.names)
        return names if written is None else operations.intersect(names, written, self.normaliser.lexicon.limits)

    def _language(self, names: tuple[Goal, ...]) -> DFA:
        lexicon, form = self.normaliser.lexicon, self.normaliser.form
        return lexicon.whole(reduce(lexicon.meet, (form(name).strings for name in names)))
