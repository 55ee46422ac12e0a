"""`uniqueItems` and its negation: how the engine runs arrays without equal items, and arrays with some.

    few values      a counting automaton over the sets of values that were used (`distinct`, `some_alike`)
    strings         an object of keys without values: no key occurs twice, and used-up keys are known (`is_of_strings`)
    anything else   an array that compares its items as values (`ArrayShape.compared`); the interpreter is asked
                    where an item could run out of new values, or must be one of the earlier ones

`minItems` needs so many different values to exist: endless items have them, others are counted, and where items of
different kinds share few values, they are matched with the places that are left (`automata.places`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from .._errors import LimitError
from .._limits import check_time
from ..languages.operations import count_words, with_length
from .counting import counting, distinct, repeating, some_alike
from .forms import FALSE, NULL, TRUE, Goal, Items, Kind, Members
from .numbers import Numbers
from .signals import Refusal
from .strings import NOTHING as NO_STRINGS
from .strings import Clause as Text
from .strings import encodable

if TYPE_CHECKING:
    from .normal import Normaliser

__all__ = ["Repeats"]

_SOME_CHARS = 4
"""Free strings of so many characters are more than any array has items."""
_MOST_TEXTS = 20_000
"""Texts that are looked at before so many values are taken to exist."""
_MANY_CHARS = 4096
"""Strings of so many lengths, too."""
_MANY = 1 << 40
"""More values than any array has items."""

_COUNTED = 64
"""Bounds on the items of an array with a prefix up to this are kept in states, others in a register."""
_LONGEST = 256
"""Lengths beyond this are kept in a register rather than in the states of a key's automaton."""


class Repeats:
    def __init__(self, normaliser: Normaliser) -> None:
        self.normaliser = normaliser
        self.met = False
        """Whether some array asked for unique items: then objects say which of their values are endless."""
        self._endless: dict[Goal, bool] = {}
        self._looked_at: set[Goal] = set()

    def forget(self) -> None:
        """Ask anew what is not surely endless."""
        self._endless = {goal: True for goal, known in self._endless.items() if known}

    def nests(self, goal: Goal, shape: Items) -> None:
        """An array of the goal has a value: if one may stand in another like it, there is no end of them."""
        if shape.contains:
            return  # an item that gives way to it may have been needed
        places = shape.prefix if shape.high is None or shape.high >= len(shape.prefix) else shape.prefix[: shape.high]
        if goal in places or (goal is shape.rest and (shape.high is None or shape.high > len(shape.prefix))):
            self._endless[goal] = True

    def settle(self, shape: Items, is_alive: bool) -> Items | None:
        """The shape as the engine can run it; None when it has no value. Refuses what could run into a dead end.

        is_alive: it is known to have a value; its items may have more than are known.
        """
        assert shape.unique is not None
        if shape.high is not None and shape.high <= 1:
            return self._without(shape)
        automaton = None if shape.contains else distinct(shape, self._constants)
        if automaton is not None:
            return self._without(shape, automaton)
        if not self.normaliser.options.json and not self.is_of_strings(shape) and self._may_look_alike(shape):
            self.normaliser.refuse(
                shape.unique, "uniqueItems", "outside JSON, only strings among strings can be told apart, and scalars"
            )
            return self._without(shape)
        if shape.contains:
            try:
                counted = self.normaliser.algebra.counting(shape)
            except Refusal:
                return shape  # the caller meets it again
            alive = self.normaliser.emptiness.inhabited
            if all(self.endless(edge.goal) for edges in counted.edges for edge in edges if alive(edge.goal)):
                return shape
            if is_alive:
                return replace(shape, tight=True)
            return self._matching(shape)
        if shape.low <= 1 or all(self.endless(shape.item(i)) for i in range(min(shape.low, len(shape.prefix) + 1))):
            return shape
        if is_alive:
            return replace(shape, tight=True)
        if shape.prefix:
            return self._matching(shape)
        return shape if self._exist(shape.rest, shape.low) else None

    def repeat(self, shape: Items) -> Items | None:
        """The shape of arrays with equal items as the engine can run it; None when it has no value."""
        where = shape.repeated
        assert where is not None
        if shape.high is not None and shape.high < 2:
            return None
        shape = replace(shape, low=max(shape.low, 2))
        automaton = None if shape.contains else some_alike(shape, self._constants)
        if automaton is not None:
            return self._without(shape, automaton)
        if not self.normaliser.options.json and self._may_look_alike(shape):
            self.normaliser.refuse(where, "uniqueItems", "outside JSON, a repeat can only be asked of scalars")
            return self._without(shape)
        goals = self.normaliser.goals
        try:
            if shape.contains:
                base = counting(shape, goals, sorting=True)
            elif max(shape.low, shape.high or 0) <= _COUNTED if shape.prefix else False:
                base = counting(shape, goals)
            else:
                base = replace(counting(replace(shape, low=0, high=None), goals), bounded=False)
            return replace(shape, automaton=repeating(base, goals))
        except Refusal as refusal:
            self.normaliser.refuse(where, "uniqueItems", refusal.reason)
            return self._without(shape)

    def _matching(self, shape: Items) -> Items | None:
        """A shape whose items share few values; None where these cannot all be different."""
        from ..automata.grammar import Frame
        from ..automata.oracle import Items as Begun
        from ..automata.oracle import Oracle, Place, Thread
        from ..automata.places import Places
        from ..automata.values import Values
        from .build import Builder

        shape = replace(shape, tight=True)
        if not self.normaliser.emptiness.items(shape):
            return None
        node = Builder(self.normaliser)._array(shape)
        assert isinstance(node, Frame)
        try:
            fits = Places(Values(Oracle(node)), Thread(node, Place(), Begun(), None, 0)).fill(None)
        except (LimitError, RecursionError):
            check_time()
            return shape  # not known: the engine asks again where values run out
        return shape if fits else None

    def is_of_strings(self, shape: Items) -> bool:
        """Whether all items are strings, of languages that fit into automata."""
        if shape.unique is None or shape.prefix or shape.contains or shape.automaton is not None:
            return False
        form = self.normaliser.form(shape.rest)
        others = form.bits or form.objects or form.arrays or form.numbers.values or form.numbers.clauses
        return not others and all(map(self._fits, form.strings.clauses))

    def _fits(self, clause: Text) -> bool:
        if not clause.atoms:
            return clause.max is None
        if clause.max is not None and clause.max > _LONGEST:
            return False
        _, low, high = self.normaliser.lexicon.lexeme(clause)
        return low <= _LONGEST and (high is None or high <= _LONGEST)

    def _may_look_alike(self, shape: Items) -> bool:
        """Whether some item may be a string, an array or an object."""
        forms = [self.normaliser.form(goal) for goal in (*shape.prefix, shape.rest)]
        return any(form.objects or form.arrays or form.strings is not NO_STRINGS for form in forms)

    def endless(self, goal: Goal) -> bool:
        """Whether infinitely many values surely satisfy the goal."""
        known = self._endless.get(goal)
        if known is None:
            if goal in self._looked_at:
                return False  # a value must not need itself
            self._looked_at.add(goal)
            try:
                known = self._endless[goal] = self.normaliser.emptiness.inhabited(goal) and self._glance(goal)
            finally:
                self._looked_at.remove(goal)
        return known

    def _glance(self, goal: Goal) -> bool:
        if goal.kind == Kind.ALL:
            return True
        form = self.normaliser.settled(goal)
        return (
            any(map(self._endless_text, form.strings.clauses))
            or self.endless_numbers(form.numbers)
            or any(map(self._endless_object, form.objects))
            or any(self._endless_array(items) for items in form.arrays)
        )

    def endless_numbers(self, numbers: Numbers) -> bool:
        """Whether infinitely many numbers are in the language: some clause that has any has no bound on a side, or no
        step.
        """
        return any(
            (c.low is None or c.high is None or (c.low[0] != c.high[0] and not (c.multiples or c.kind)))
            and not self.normaliser.numerals.clause_is_empty(c)
            for c in numbers.clauses
        )

    def count_numbers(self, numbers: Numbers) -> int:
        """A bound on how many numbers are in the language, 0 for infinitely many."""
        if self.endless_numbers(numbers):
            return 0
        return _MANY if numbers.clauses else len(numbers.values)

    def _endless_text(self, clause: Text) -> bool:
        if not clause.atoms:
            return clause.max is None or clause.max >= _SOME_CHARS
        if clause.max is not None:
            return False
        dfa, low, high = self.normaliser.lexicon.lexeme(clause)
        if dfa.is_empty or int(dfa.char_bounds[1][0]) >= 0:
            return False
        if high is None or high >= _MANY_CHARS:
            return True
        few = with_length(dfa, low, min(high, low + 2 * _SOME_CHARS), self.normaliser.lexicon.limits)
        return count_words(few, _MANY) == _MANY

    def _endless_object(self, members: Members) -> bool:
        normaliser = self.normaliser
        if not normaliser.emptiness.members(members):
            return False
        members = normaliser.closed(members)
        if members.high is None:
            keys, _ = normaliser.keys.undeclared(members, normaliser.emptiness.inhabited)
            if keys is not None and int(keys.char_bounds[1][0]) < 0:
                return True
        room = members.high is None or members.high > len(members.required)
        keys_left = {**members.declared, **members.required} if room else members.required
        return any(self.endless(normaliser.algebra.member(members, key)) for key in keys_left)

    def _endless_array(self, items: Items) -> bool:
        if not self.normaliser.emptiness.items(items):
            return False
        if items.contains or items.automaton is not None:
            return items.unique is None and self._endless_counting(items)
        inhabited = self.normaliser.emptiness.inhabited
        if items.high is None and all(map(inhabited, (*items.prefix, items.rest))):
            return items.unique is None or self.endless(items.rest)
        return any(self.endless(items.item(i)) for i in range(items.low))

    def _endless_counting(self, items: Items) -> bool:
        """Whether an automaton over items has arrays of any length, or an item of which infinitely many values do."""
        inhabited = self.normaliser.emptiness.inhabited
        automaton = self.normaliser.algebra.counting(items)
        live = automaton.live(inhabited)
        follow: dict[int, set[int]] = {}
        reached = [0]
        for q in reached:  # grows while it is read
            edges = [edge for edge in automaton.edges[q] if live[edge.target] and inhabited(edge.goal)]
            if any(self.endless(edge.goal) for edge in edges):
                return True
            follow[q] = {edge.target for edge in edges}
            reached += follow[q].difference(reached)
        size = len(follow) + 1
        while follow and len(follow) < size:  # what has no end to it is a cycle
            size = len(follow)
            follow = {q: left for q, targets in follow.items() if (left := targets & follow.keys())}
        return bool(follow)

    def _exist(self, goal: Goal, count: int) -> bool:
        """Whether `count` different values satisfy the goal."""
        from ..automata.oracle import Oracle, value_of
        from ..automata.values import Values
        from .build import Builder

        normaliser = self.normaliser
        form = normaliser.form(goal)
        if form.strings is not NO_STRINGS and not (form.bits or form.objects or form.arrays or form.numbers.clauses):
            return count_words(normaliser.lexicon.whole(form.strings), count) + len(form.numbers.values) >= count
        if not normaliser.emptiness.inhabited(goal):
            return False
        if not (form.strings.clauses or form.strings.words or form.objects or form.arrays or form.numbers.clauses):
            return form.bits.bit_count() + len(form.numbers.values) >= count
        node = Builder(normaliser).node(goal)
        values: set[object] = set()
        try:
            for looked_at, text in enumerate(Values(Oracle(node)).words(node)):
                check_time()
                values.add(value_of(text))
                if len(values) >= count or looked_at > _MOST_TEXTS:
                    return True
        except (LimitError, RecursionError):
            check_time()
            return True  # not known: the engine asks again where values run out
        return False

    def _without(self, shape: Items, automaton: object = None) -> Items:
        return Items(shape.prefix, shape.rest, shape.low, shape.high, None, shape.contains, automaton)

    def _constants(self, goal: Goal) -> list[Goal] | None:
        """The values of a goal as constants, if they are finitely many scalars."""
        form = self.normaliser.form(goal)
        if form.objects or form.arrays or form.strings.clauses or form.numbers.clauses:
            return None
        values: list[object] = [value for bit, value in ((NULL, None), (FALSE, False), (TRUE, True)) if form.bits & bit]
        values += sorted(form.numbers.values)
        values += sorted(filter(encodable, form.strings.words))
        return list(map(self.normaliser.goals.const, values))
