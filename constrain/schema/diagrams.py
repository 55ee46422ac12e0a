"""Decision diagrams: what the conditions of an object shape say about its members together.

The conditions speak of atoms, shapes of their own. A member decides something about each atom, whether its value is
as that asks; so does a member that is absent. Taken key by key, what is left of the conditions after some keys is a
node of a layered diagram, equal rests being one node (Bryant 1986, with more than two values). Its size depends on the
order of the keys: those that most atoms speak of come first, then those that they leave open.

Values of a key are told apart at each node only by what the rest still asks about. Undeclared members come last: of
them only matters which atoms some member breaks, and where numbers of members are asked for, how many there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from .._errors import LimitError
from .._limits import check_time
from .conditions import FALSE, TRUE, Condition
from .forms import Goal, Members
from .key_order import ordered
from .plans import Plan, Row
from .signals import InProgress
from .splits import Part, Splits

if TYPE_CHECKING:
    from .normal import Normaliser

__all__ = ["Diagrams"]

_Value = Goal | tuple[int, ...] | None
"""Of an edge: the goal of the value, or the parts of a split that it may be in; None: there is no value."""
_Edge = tuple[_Value, tuple[frozenset[Condition], int]]
_SMALL = 3000
_MOST_REST = 64


class Diagrams:
    def __init__(self, normaliser: Normaliser) -> None:
        self.normaliser = normaliser
        self.splits = Splits(normaliser.goals, normaliser.algebra)
        self._sketches: dict[tuple[Members, bool], Plan | None] = {}

    def of(self, members: Members) -> Plan | None:
        """The diagram of a shape with conditions; None when no object satisfies them. LimitError when it is large."""
        if members.diagram is None:
            members.diagram = _PENDING
            try:
                members.diagram = (self._made(members),)
            except BaseException:
                members.diagram = None
                raise
        if members.diagram is _PENDING:
            raise InProgress
        plan: Plan | None = members.diagram[0]
        return plan

    def sketch(self, members: Members, known: dict[Goal, bool], final: bool) -> Plan | None:
        """The diagram as far as is known which goals have a value: those that may have one are in it. To draw the
        diagram itself needs to know which undeclared members there are, which may be such a question. final: what is
        known is what counts in the end, so that the diagram itself will do.
        """
        if final:
            with suppress(InProgress):
                return self.of(members)
        if (members, final) not in self._sketches:
            self._sketches[members, final] = self._made(members, lambda goal: known.get(goal, True))
        return self._sketches[members, final]

    def _made(self, members: Members, alive: Callable[[Goal], bool] | None = None) -> Plan | None:
        limits = self.normaliser.lexicon.limits
        found = None
        for hubs, most in ((True, _SMALL), (False, _SMALL), (True, limits.max_states)):
            found = found or _Drawing(self, members, hubs, alive).drawn(most)
        if found is None:
            raise LimitError("max_states", limits.max_states, "cases of the members of one object")
        return found.trimmed(lambda goal: True)


_PENDING = object()


class _Drawing:
    """One diagram in one order of the keys. hubs: order them by how many atoms speak of them first. alive: which values
    undeclared members may have; by default those that there are.
    """

    def __init__(
        self, diagrams: Diagrams, members: Members, hubs: bool, alive: Callable[[Goal], bool] | None
    ) -> None:
        self.splits, self.members = diagrams.splits, members
        normaliser = diagrams.normaliser
        self.narrower = normaliser.algebra._narrower
        self.goals, self.conditions = normaliser.goals, normaliser.algebra.conditions
        where = list(members.where)
        if members.low > max(1, len(members.required)) or (members.low == 1 and not members.required):
            where.append(self.conditions.atom(Members(low=members.low)))
        self.order, _, choices = normaliser.keys.resolved(members, alive)
        self.choices = choices
        known = normaliser.keys.atoms(members)
        counted = [i for i, atom in enumerate(known) if atom.low or atom.high is not None]
        if len(where) > len(members.where):
            counted.append(len(known))
            known = [*known, where[-1].parts[0]]
        self.atoms = known
        bounds = [known[i] for i in counted]
        self.most = max((max(b.low, 0 if b.high is None else b.high + 1) for b in bounds), default=0)
        self.late = frozenset(counted) | {
            i for choice in choices for i, wanted in enumerate(choice[1:]) if self._matters(choice[0], wanted)
        }
        self.asked: dict[str, dict[int, Goal]] = {key: {} for key in self.order} if counted else {}
        """Per key the atoms that it can decide, and what they want its value to be."""
        member = normaliser.algebra.member
        for i, atom in enumerate(known):
            for key in self.order if atom.rules or atom.names else atom.keys:
                if key in self.order:
                    wanted = member(atom, key)
                    if key in atom.required or self._matters(self.order[key], wanted):
                        self.asked.setdefault(key, {})[i] = wanted
        self.place = {atom: i for i, atom in enumerate(known)}
        self.spoken: dict[Condition, frozenset[int]] = {}
        self.keys = ordered(where, self.asked, self._speaks, self._is_listed, hubs)
        level = {key: n for n, key in enumerate(self.keys)}
        self.last = [-1] * len(known)
        first = [len(self.keys)] * len(known)
        for key, asked in self.asked.items():
            for i in asked:
                self.last[i] = max(self.last[i], level[key])
                first[i] = min(first[i], level[key])
        decided = {known[i]: True for i in range(len(known)) if self.last[i] < 0 and i not in self.late}
        memo: dict[Condition, Condition] = {}
        self.starting: list[list[Condition]] = [[] for _ in range(len(self.keys) + 1)]
        for condition in where:
            left = self.conditions.decide(condition, decided, memo)
            for part in left.parts if left.kind == "and" else (left,):
                if part is not TRUE:
                    begins = min((first[i] for i in self._speaks(part)), default=0)
                    self.starting[begins].append(part)

    def _matters(self, given: Goal, wanted: Goal) -> bool:
        return given is not self.goals.none and not self.narrower(given, wanted)

    def _speaks(self, condition: Condition) -> frozenset[int]:
        found = self.spoken.get(condition)
        if found is None:
            found = self.spoken[condition] = frozenset(self.place[atom] for atom in condition.atoms)
        return found

    def drawn(self, most: int) -> Plan | None:
        """The diagram, not trimmed; None when it has more than `most` nodes."""
        here: dict[tuple[frozenset[Condition], int], int] = {(frozenset(), 0): 0}
        levels: list[tuple[Row, ...]] = []
        options: list[tuple[Goal, ...]] = []
        size = 0
        for n, key in enumerate(self.keys):
            size += len(here)
            if size > most:
                return None
            below: dict[tuple[frozenset[Condition], int], int] = {}
            common = self._common(key)
            found: list[list[tuple[_Value, int]]] = []
            for conditions, count in here:
                check_time()
                edges = self._edges(n, key, conditions.union(self.starting[n]), count, common)
                found.append([(value, below.setdefault(target, len(below))) for value, target in edges])
            goals, rows = self._numbered(key, found, common)
            levels.append(rows)
            options.append(goals)
            here = below
        others, moves, states = self._rest()
        ends = tuple(
            tuple(self._ends(conditions.union(self.starting[-1]), count, *state) for state in states)
            for conditions, count in here
        )
        return Plan(tuple(self.keys), tuple(options), tuple(levels), others, moves, ends)

    def _is_listed(self, key: str, wanted: Goal) -> bool:
        return self.splits.listed_among(self.order[key], wanted) is not None

    def _telling(self, key: str, asked: Iterable[int]) -> tuple[Goal, ...]:
        """What tells values of a key apart for some atoms."""
        given, wants = self.order[key], self.asked[key]
        goals = dict.fromkeys(wants[i] for i in asked)
        return tuple(goal for goal in goals if goal is not self.goals.none and self._matters(given, goal))

    def _common(self, key: str) -> tuple[Goal, ...] | None:
        """What tells values of a key apart at all nodes alike; None where that could be too many kinds of values.

        Of options that have no value in common one is left when a value ends; else one for each node that may be meant.
        """
        telling, given = self._telling(key, self.asked[key]), self.order[key]
        return telling if all(self.splits.listed_among(given, goal) is not None for goal in telling) else None

    def _edges(
        self, n: int, key: str, conditions: frozenset[Condition], count: int, common: tuple[Goal, ...] | None
    ) -> list[_Edge]:
        """Per edge of one node: the parts of the common split or the goal of the value, and what is left."""
        speaks = frozenset[int]().union(*map(self._speaks, conditions))
        asked = [i for i in self.asked[key] if i in speaks]
        given, goals = self.order[key], self.goals
        done = {self.atoms[i]: True for i in asked if self.last[i] == n and i not in self.late}
        edges: list[_Edge] = []
        if key not in self.members.required:
            verdicts = {**done, **{self.atoms[i]: False for i in asked if key in self.atoms[i].required}}
            after = self._after(conditions, verdicts)
            if after is not None:
                edges.append((None, (after, count)))
        if given is goals.none:
            return edges
        wants = {i: self.asked[key][i] for i in asked}
        telling = self._telling(key, asked)
        known = {
            self.atoms[i]: goal is not goals.none
            for i, goal in wants.items()
            if goal is goals.none or (goal not in telling and self.atoms[i] in done)
        }
        start = self._after(conditions, known)
        if start is None:
            return edges
        held = [
            {self.atoms[i]: True for i, goal in wants.items() if goal is one and self.atoms[i] in done}
            for one in telling
        ]
        failed = [{self.atoms[i]: False for i, goal in wants.items() if goal is one} for one in telling]
        memo: dict[tuple[frozenset[Condition], int, bool], frozenset[Condition] | None] = {}

        def after_one(rest: frozenset[Condition], i: int, holds: bool) -> frozenset[Condition] | None:
            if (rest, i, holds) not in memo:
                memo[rest, i, holds] = self._after(rest, held[i] if holds else failed[i])
            return memo[rest, i, holds]

        total = min(count + 1, self.most)
        if common is None:
            split = self.splits.split_for(given, telling, start, after_one)
            alike: dict[frozenset[Condition], list[Part]] = {}
            for part in split:
                if part.goal is not goals.none:
                    alike.setdefault(part.rest, []).append(part)
            edges += [
                (self.splits.united(given, parts, split, telling), (rest, total)) for rest, parts in alike.items()
            ]
            return edges
        place = [common.index(goal) for goal in telling]
        numbers: dict[frozenset[Condition], list[int]] = {}
        rests: dict[tuple[bool | None, ...], frozenset[Condition] | None] = {}
        for k, part in enumerate(self.splits.split(given, common)):
            which = tuple(part.which[i] for i in place)
            if which not in rests:
                rest: frozenset[Condition] | None = start
                for i, holds in enumerate(which):
                    rest = after_one(rest, i, bool(holds)) if rest is not None else None
                rests[which] = rest
            after = rests[which]
            if after is not None:
                numbers.setdefault(after, []).append(k)
        edges += [(tuple(pieces), (rest, total)) for rest, pieces in numbers.items()]
        return edges

    def _numbered(
        self, key: str, found: list[list[tuple[_Value, int]]], common: tuple[Goal, ...] | None
    ) -> tuple[tuple[Goal, ...], tuple[Row, ...]]:
        """Options of a level, and the edges by their numbers."""
        numbers: dict[Goal, int] = {}
        option_of: dict[int, int] = {}
        if common is not None:
            given, split = self.order[key], self.splits.split(self.order[key], common)
            targets: dict[int, list[tuple[int, int]]] = {}
            for node, edges in enumerate(found):
                for value, child in edges:
                    for piece in value if isinstance(value, tuple) else ():
                        targets.setdefault(piece, []).append((node, child))
            alike: dict[tuple[tuple[int, int], ...], list[int]] = {}  # what no node tells apart is one option
            for piece in sorted(targets):
                alike.setdefault(tuple(targets[piece]), []).append(piece)
            for like in alike.values():
                goal = self.splits.united(given, [split[piece] for piece in like], split, common)
                option_of.update(dict.fromkeys(like, numbers.setdefault(goal, len(numbers))))
        rows = []
        for edges in found:
            row: list[tuple[int, int]] = []
            for value, child in edges:
                if value is None:
                    row.append((-1, child))
                elif isinstance(value, tuple):
                    row += [(option, child) for option in dict.fromkeys(option_of[piece] for piece in value)]
                else:
                    row.append((numbers.setdefault(value, len(numbers)), child))
            rows.append(tuple(row))
        return tuple(numbers), tuple(rows)

    def _after(self, conditions: Iterable[Condition], verdicts: dict[Members, bool]) -> frozenset[Condition] | None:
        memo: dict[Condition, Condition] = {}
        left: set[Condition] = set()
        for condition in conditions:
            rest = self.conditions.decide(condition, verdicts, memo)
            if rest is FALSE:
                return None
            if rest.kind == "and":
                left.update(rest.parts)
            elif rest is not TRUE:
                left.add(rest)
        return frozenset(left)

    def _rest(self) -> tuple[tuple[tuple[tuple[Goal, int], ...], ...], tuple[tuple[int, ...], ...], list[Any]]:
        """Of undeclared members: goals and kinds per label, moves, and the states: (atoms broken, members)."""
        kinds: dict[frozenset[int], int] = {}
        others = []
        for choice in self.choices:
            given = choice[0]
            wants = {i: goal for i, goal in enumerate(choice[1:]) if i in self.late and self._matters(given, goal)}
            telling = tuple(dict.fromkeys(goal for goal in wants.values() if goal is not self.goals.none))
            pairs = []
            for part in self.splits.split(given, telling):
                failing = {wanted for wanted, holds in zip(telling, part.which, strict=True) if not holds}
                broken = frozenset(i for i, wanted in wants.items() if wanted in failing or wanted is self.goals.none)
                pairs.append((part.goal, kinds.setdefault(broken, len(kinds))))
            others.append(tuple(pairs))
        states: dict[tuple[frozenset[int], int], int] = {(frozenset(), 0): 0}
        moves: list[list[int]] = [[] for _ in kinds]
        for broken, count in (queue := list(states)):
            for kind, more in enumerate(kinds):
                after = (broken | more, min(count + 1, self.most))
                if after not in states:
                    if len(states) >= _MOST_REST:
                        raise LimitError("max_states", _MOST_REST, "cases of the undeclared members of one object")
                    states[after] = len(states)
                    queue.append(after)
                moves[kind].append(states[after])
        return tuple(others), tuple(map(tuple, moves)), list(states)

    def _ends(self, conditions: Iterable[Condition], count: int, broken: frozenset[int], more: int) -> bool:
        """Whether an object with these members may end."""
        total = min(count + more, self.most)
        verdicts = {}
        for i in self.late:
            atom = self.atoms[i]
            fits = atom.low <= total and (atom.high is None or total <= atom.high)
            verdicts[atom] = i not in broken and fits
        return self._after(conditions, verdicts) == frozenset()
