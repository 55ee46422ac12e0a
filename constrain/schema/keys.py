"""The keys that an object does not declare: one labelled automaton that says what value each may have.

Pattern properties overlap freely, so the value of a key depends on the set of patterns found in it. The product of
their automata, labelled with the goal of each combination, answers for every key at once; combinations that no
value satisfies drop out. Where the object has conditions, a combination also says what their atoms ask of the value.
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
from .strings import encodable, encoded

if TYPE_CHECKING:
    from .normal import Normaliser

__all__ = ["MOST_KEYS", "Choice", "Keys"]

MOST_KEYS = 1024
"""Undeclared keys that are declared one by one where there are no more."""

Choice = tuple[Goal, ...]
"""Goals of a value: what it must satisfy, then what each atom of the shape's conditions asks of it."""


class Keys:
    def __init__(self, normaliser: Normaliser) -> None:
        self.normaliser = normaliser

    def atoms(self, members: Members) -> list[Members]:
        """The shapes that the conditions of a shape speak of."""
        return list(dict.fromkeys(atom for condition in members.where for atom in condition.atoms))

    def resolved(
        self, members: Members, alive: Callable[[Goal], bool] | None = None
    ) -> tuple[dict[str, Goal], DFA | None, list[Choice]]:
        """(the keys that are told apart by name, with their goals; the automaton of the others; its choices). alive:
        which goals have a value; by default as that is.

        Of conditions other keys must be more than an output has members, so few undeclared ones are told apart too.
        """
        normaliser = self.normaliser
        extra, choices = self.undeclared(members, alive or normaliser.emptiness.inhabited)
        order: dict[str, Goal] = {}
        for shape in (members, *self.atoms(members)):
            for key in (*shape.declared, *shape.required):
                if key not in order and encodable(key):
                    order[key] = normaliser.algebra.member(members, key)
        if extra is not None and extra is not ANY_STRING and extra is not normaliser.lexicon.keys:
            finite = words(extra, MOST_KEYS + len(order))
            if finite is not None:
                for word in finite:
                    order.setdefault(word.decode(), choices[extra.label(word)][0])
                return order, None, []
        if members.where and extra is not None:
            few = self._few(extra, choices)
            for key, label in few.items():
                order.setdefault(key, choices[label][0])
            if few:
                kept = [label for label in range(len(choices)) if label not in few.values()]
                choices = [choices[label] for label in kept]
                extra = with_labels(extra, {label: i for i, label in enumerate(kept)}, normaliser.lexicon.limits)
        return order, extra, choices

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
        asking = self.atoms(members)
        shapes = (members, *asking)
        patterns = list(dict.fromkeys(p for shape in shapes for rule in shape.rules for p, _ in rule.patterns))
        tested = list(dict.fromkeys(name for atom in asking for name in atom.names))
        names = self._names(members)
        if not patterns and not tested:
            goal = goals.conj(*(rule.otherwise for rule in members.rules))
            if not alive(goal) or (names is not None and names.is_empty):
                return None, []
            return (ANY_STRING if names is None else names), [self._choice(asking, goal, set(), set())]
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
            return found.setdefault(self._choice(asking, goal, matched, failed), len(found))

        dfa = operations.label_product(automata, label, normaliser.lexicon.limits)
        return (None, []) if dfa.is_empty else (dfa, list(found))

    def _choice(self, asking: list[Members], goal: Goal, matched: set[str], failed: set[Goal]) -> Choice:
        goals = self.normaliser.goals
        asked = []
        for atom in asking:
            misnamed = not failed.isdisjoint(atom.names)
            asked.append(goals.none if misnamed else goals.conj(*(self._ruled(rule, matched) for rule in atom.rules)))
        return goal, *asked

    def _ruled(self, rule: Rule, matched: set[str]) -> Goal:
        then = [value for pattern, value in rule.patterns if pattern in matched]
        return self.normaliser.goals.conj(*(then or (rule.otherwise,)))

    def _few(self, extra: DFA, choices: list[Choice]) -> dict[str, int]:
        """The undeclared keys, with their labels, of the labels that only few keys have."""
        found: dict[str, int] = {}
        for label in range(len(choices)):
            part = with_labels(extra, {label: label}, self.normaliser.lexicon.limits)
            found.update((key.decode(), label) for key in words(part, MOST_KEYS) or ())
        return found

    def more_than(self, members: Members, count: int, alive: Callable[[Goal], bool]) -> bool:
        """Whether more than `count` undeclared keys are possible."""
        goals = self.normaliser.goals
        if not members.names and not members.where and not any(rule.patterns for rule in members.rules):
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
