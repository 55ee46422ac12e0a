"""Decision diagrams: what the conditions of an object shape say about its members together.

The conditions speak of atoms, shapes of their own. A member decides something about each atom, whether its value is
as that asks; so does a member that is absent. Taken key by key, what is left of the conditions after some keys is a
node of a layered diagram, equal rests being one node (Bryant 1986, with more than two values). Its size depends on the
order of the keys: those that most atoms speak of come first, then those that they leave open.

Values of a key are told apart at each node only by what the rest still asks about. Undeclared members come last: of
them only matters which atoms some member breaks, and where numbers of members are asked for, how many there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .._errors import LimitError
from .._limits import check_time
from .conditions import FALSE, TRUE, Condition, atoms
from .dialect import ASSERTIONS
from .forms import Goal, Kind, Members
from .goals import canonical, fields
from .signals import InProgress

if TYPE_CHECKING:
    from .normal import Normaliser

__all__ = ["Diagrams", "Plan"]

Row = tuple[tuple[int, int], ...]
_SMALL = 3000
_FEW = 4
_MOST_REST = 64


@dataclass(eq=False)
class Plan:
    """A decision diagram over goals; see `automata.grammar.Diagram`, which has nodes in their place."""

    keys: tuple[str, ...]
    options: tuple[tuple[Goal, ...], ...]
    levels: tuple[tuple[Row, ...], ...]
    others: tuple[tuple[tuple[Goal, int], ...], ...]
    moves: tuple[tuple[int, ...], ...]
    ends: tuple[tuple[bool, ...], ...]

    def goals(self) -> Iterator[Goal]:
        for options in self.options:
            yield from options
        for pairs in self.others:
            yield from (goal for goal, _ in pairs)

    def exists(self, alive: Callable[[Goal], bool]) -> bool:
        """Whether some object is left, however many members it has; asks about few goals where it can."""
        lives: list[dict[int, bool]] = [{} for _ in self.keys]
        ends = [self._rest(alive, row) < float("inf") for row in self.ends]
        stack = [(0, 0)]

        def known(level: int, node: int) -> bool | None:
            return ends[node] if level == len(self.keys) else lives[level].get(node)

        while known(0, 0) is None:
            level, node = stack[-1]
            verdict: bool | None = False
            for option, child in self.levels[level][node]:
                below = known(level + 1, child)
                if below is None:
                    stack.append((level + 1, child))
                    verdict = None
                    break
                if below and (option < 0 or alive(self.options[level][option])):
                    verdict = True
                    break
            if verdict is not None:
                lives[level][node] = verdict
                stack.pop()
        return bool(known(0, 0))

    def cost(self, required: Iterable[str], alive: Callable[[Goal], bool]) -> float:
        """The fewest members besides the required ones that an object has; infinite where there is no object."""
        needed = frozenset(required)
        least = [self._rest(alive, row) for row in self.ends]
        for key, options, nodes in zip(reversed(self.keys), reversed(self.options), reversed(self.levels), strict=True):
            price = int(key not in needed)
            open_ = [alive(goal) for goal in options]
            costs = [[least[c] + price * (o >= 0) for o, c in row if o < 0 or open_[o]] for row in nodes]
            least = [min(cost, default=float("inf")) for cost in costs]
        return least[0] if least else float("inf")

    def _rest(self, alive: Callable[[Goal], bool], ends: tuple[bool, ...]) -> float:
        """The fewest undeclared members after which a node of the last level may end."""
        kinds = {kind for pairs in self.others for goal, kind in pairs if alive(goal)}
        cost, here, seen = 0, {0}, {0}
        while here:
            if any(ends[state] for state in here):
                return cost
            here = {self.moves[kind][state] for state in here for kind in kinds} - seen
            seen |= here
            cost += 1
        return float("inf")

    def trimmed(self, alive: Callable[[Goal], bool]) -> Plan | None:
        """Without the options that are not alive, and what is then of no use; None when nothing is left."""
        others = tuple(tuple(pair for pair in pairs if alive(pair[0])) for pairs in self.others)
        rows: list[list[Row]] = []
        ends = [any(row) for row in self.ends]
        kept = {i: n for n, i in enumerate(i for i, useful in enumerate(ends) if useful)}
        last = tuple(row for row, useful in zip(self.ends, ends, strict=True) if useful)
        options: list[tuple[Goal, ...]] = []
        for goals, nodes in zip(reversed(self.options), reversed(self.levels), strict=True):
            open_ = [alive(goal) for goal in goals]
            useful = {
                i: row
                for i, node in enumerate(nodes)
                if (row := tuple((o, kept[c]) for o, c in node if c in kept and (o < 0 or open_[o])))
            }
            used = sorted({o for row in useful.values() for o, _ in row if o >= 0})
            number = {-1: -1, **{o: n for n, o in enumerate(used)}}
            distinct: dict[Row, int] = {}
            rows_now = {i: tuple((number[o], c) for o, c in row) for i, row in useful.items()}
            kept = {i: distinct.setdefault(row, len(distinct)) for i, row in rows_now.items()}
            rows.append(list(distinct))
            options.append(tuple(goals[o] for o in used))
        if 0 not in kept:
            return None
        levels = tuple(tuple(level) for level in reversed(rows))
        return Plan(self.keys, tuple(reversed(options)), levels, others, self.moves, last)


class Diagrams:
    def __init__(self, normaliser: Normaliser) -> None:
        self.normaliser = normaliser
        self._splits: dict[tuple[Goal, tuple[Goal, ...]], list[tuple[Goal, tuple[bool, ...]]]] = {}

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

    def _made(self, members: Members) -> Plan | None:
        limits = self.normaliser.lexicon.limits
        found = None
        for hubs, most in ((True, _SMALL), (False, _SMALL), (True, limits.max_states)):
            found = found or _Drawing(self, members, hubs).drawn(most)
        if found is None:
            raise LimitError("max_states", limits.max_states, "cases of the members of one object")
        return found.trimmed(lambda goal: True)

    def listed(self, goal: Goal) -> dict[Any, Any] | None:
        """The values of a goal, by canonical form, if it is a list of null, booleans, strings and numbers."""
        if goal.kind == Kind.CONST:
            values = [goal.parts]
        elif goal.kind == Kind.AT:
            schema = fields(goal.parts)
            if not (schema.keys() & ASSERTIONS) <= {"const", "enum", "type"}:
                return None
            values = [schema["const"]] if "const" in schema else schema.get("enum")  # type: ignore[assignment]
            if values is None or ("const" in schema and "enum" in schema):
                return None
            named = schema.get("type")
            if named is not None:
                if named != "string":
                    return None
                values = [value for value in values if isinstance(value, str)]
        else:
            return None
        if any(isinstance(value, (list, dict)) for value in values):
            return None
        return {canonical(value): value for value in values}

    def split(self, given: Goal, wanted: tuple[Goal, ...]) -> list[tuple[Goal, tuple[bool, ...]]]:
        """The values of a goal, parted by which of the others they satisfy: (goal, which)."""
        found = self._splits.get((given, wanted))
        if found is None:
            found = self._splits[given, wanted] = self._split(given, wanted)
        return found

    def _split(self, given: Goal, wanted: tuple[Goal, ...]) -> list[tuple[Goal, tuple[bool, ...]]]:
        goals, algebra = self.normaliser.goals, self.normaliser.algebra
        lists = [self.listed(goal) for goal in wanted]
        parts: list[tuple[Goal, tuple[bool, ...]]] = [(given, (False,) * len(wanted))]
        if any(values is not None for values in lists):
            parts = list(self._by_value(given, wanted, lists))
        for i, (goal, values) in enumerate(zip(wanted, lists, strict=True)):
            if values is not None:
                continue
            looking = len(parts) >= _FEW  # what few parts have is looked at when they are reached
            refined = []
            for part, which in parts:
                check_time()
                inside, outside = goals.conj(part, goal), goals.conj(part, goals.negate(goal))
                if inside is part or outside is goals.none or (looking and algebra.surely_empty(outside)):
                    inside, outside = part, goals.none
                elif outside is part or (looking and algebra.surely_empty(inside)):
                    inside, outside = goals.none, part
                for piece, holds in ((inside, True), (outside, False)):
                    if piece is not goals.none:
                        refined.append((piece, (*which[:i], holds, *which[i + 1 :])))
            parts = refined
            if len(parts) > algebra.limits.max_alternatives:
                raise LimitError("max_alternatives", algebra.limits.max_alternatives, "kinds of values of one member")
        return parts

    def _by_value(
        self, given: Goal, wanted: tuple[Goal, ...], lists: list[dict[Any, Any] | None]
    ) -> Iterator[tuple[Goal, tuple[bool, ...]]]:
        goals, surely_empty = self.normaliser.goals, self.normaliser.algebra.surely_empty
        own = self.listed(given)
        values: dict[Any, Any] = own if own is not None else {k: v for one in lists for k, v in (one or {}).items()}
        groups: dict[tuple[bool, ...], list[Any]] = {}
        for key, value in values.items():
            groups.setdefault(tuple(one is not None and key in one for one in lists), []).append(value)
        for which, group in groups.items():
            if own is not None:
                goal = given if len(group) == len(own) else goals.disj(*map(goals.const, group))
            else:
                same = [i for i, one in enumerate(lists) if which[i] and len(one or ()) == len(group)]
                goal = goals.conj(given, wanted[same[0]] if same else goals.disj(*map(goals.const, group)))
            if own is not None or not surely_empty(goal):
                yield goal, which
        if own is None:
            others = (goals.negate(goal) for goal, one in zip(wanted, lists, strict=True) if one is not None)
            rest = goals.conj(given, *others)
            if rest is not goals.none and not surely_empty(rest):
                yield rest, (False,) * len(wanted)

    def united(self, given: Goal, parts: list[Goal], which: list[tuple[bool, ...]], split: Any, wanted: Any) -> Goal:
        """One goal for some parts of a split."""
        goals = self.normaliser.goals
        if len(parts) == len(split):
            return given
        if len(parts) == 1:
            return parts[0]
        for i, goal in enumerate(wanted):
            for holds in (True, False):
                if sum(w[i] is holds for _, w in split) == len(which) and all(w[i] is holds for w in which):
                    return goals.conj(given, goal if holds else goals.negate(goal))
        return goals.disj(*parts)


_PENDING = object()


class _Drawing:
    """One diagram in one order of the keys. hubs: order them by how many atoms speak of them first."""

    def __init__(self, diagrams: Diagrams, members: Members, hubs: bool) -> None:
        self.diagrams, self.members = diagrams, members
        normaliser = diagrams.normaliser
        self.goals, self.conditions = normaliser.goals, normaliser.algebra.conditions
        where = list(members.where)
        if members.low > max(1, len(members.required)) or (members.low == 1 and not members.required):
            where.append(self.conditions.atom(Members(low=members.low)))
        self.order, _, choices = normaliser.keys.resolved(members)
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
        self.keys = self._ordered(where, hubs)
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
        return given is not self.goals.none and not self.diagrams.normaliser.algebra._narrower(given, wanted)

    def _speaks(self, condition: Condition) -> frozenset[int]:
        found = self.spoken.get(condition)
        if found is None:
            found = self.spoken[condition] = frozenset(self.place[atom] for atom in atoms(condition))
        return found

    def _ordered(self, where: list[Condition], hubs: bool) -> list[str]:
        """The keys in the order of the levels: such that few parts of conditions are open at a time, those that were
        looked at and not decided. hubs: keys of more than two conditions come first.
        """
        naming: dict[int, list[str]] = {}
        for key, found in self.asked.items():
            for i in found:
                naming.setdefault(i, []).append(key)
        parts: dict[str, set[Condition]] = {key: set() for key in self.asked}
        left: dict[Condition, int] = {}
        for part in dict.fromkeys(part for condition in where for part in condition.all_parts()):
            keys = {key for i in self._speaks(part) for key in naming.get(i, ())}
            left[part] = len(keys)
            for key in keys:
                parts[key].add(part)
        tops = frozenset(where)
        weight = {
            key: (len(parts[key] & tops), sum(self.diagrams.listed(goal) is not None for goal in wanted.values()))
            for key, wanted in self.asked.items()
        }
        hub = {key: count if hubs and count > 2 else 0 for key, (count, _) in weight.items()}
        opened: set[Condition] = set()

        def worth(key: str) -> tuple[int, int, int, int, int]:
            found = parts[key]
            begun = len(found & opened)
            opens = len(found) - begun
            closes = sum(left[part] == 1 for part in found)
            return hub[key], closes - opens, begun, len(found), weight[key][1]

        placed: list[str] = []
        waiting = dict.fromkeys(parts)
        while waiting:
            check_time()
            best = max(waiting, key=worth)
            del waiting[best]
            placed.append(best)
            opened |= parts[best]
            for part in parts[best]:
                left[part] -= 1
        return placed

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
            numbers: dict[Goal, int] = {}
            below: dict[tuple[frozenset[Condition], int], int] = {}
            rows = []
            for conditions, count in here:
                check_time()
                edges = self._edges(n, key, conditions.union(self.starting[n]), count)
                rows.append(
                    tuple(
                        (
                            -1 if goal is None else numbers.setdefault(goal, len(numbers)),
                            below.setdefault(target, len(below)),
                        )
                        for goal, target in edges
                    )
                )
            levels.append(tuple(rows))
            options.append(tuple(numbers))
            here = below
        others, moves, states = self._rest()
        ends = tuple(
            tuple(self._ends(conditions.union(self.starting[-1]), count, *state) for state in states)
            for conditions, count in here
        )
        return Plan(tuple(self.keys), tuple(options), tuple(levels), others, moves, ends)

    def _edges(
        self, n: int, key: str, conditions: frozenset[Condition], count: int
    ) -> Iterator[tuple[Goal | None, tuple[frozenset[Condition], int]]]:
        """(goal of the value, None where there is none; what is left), for one node."""
        speaks = frozenset[int]().union(*map(self._speaks, conditions))
        asked = [i for i in self.asked[key] if i in speaks]
        given, goals = self.order[key], self.goals
        done = {self.atoms[i]: True for i in asked if self.last[i] == n and i not in self.late}
        if key not in self.members.required:
            verdicts = {**done, **{self.atoms[i]: False for i in asked if key in self.atoms[i].required}}
            after = self._after(conditions, verdicts)
            if after is not None:
                yield None, (after, count)
        if given is goals.none:
            return
        wants = {i: self.asked[key][i] for i in asked}
        broken = {self.atoms[i]: False for i, goal in wants.items() if goal is goals.none}
        telling = tuple(
            dict.fromkeys(goal for goal in wants.values() if goal is not goals.none and self._matters(given, goal))
        )
        split = self.diagrams.split(given, telling)
        grouped: dict[frozenset[Condition], list[int]] = {}
        for k, (_, which) in enumerate(split):
            failing = {goal for goal, holds in zip(telling, which, strict=True) if not holds}
            verdicts = {**done, **broken, **{self.atoms[i]: False for i, goal in wants.items() if goal in failing}}
            after = self._after(conditions, verdicts)
            if after is not None:
                grouped.setdefault(after, []).append(k)
        for after, pieces in grouped.items():
            united = self.diagrams.united(
                given, [split[k][0] for k in pieces], [split[k][1] for k in pieces], split, telling
            )
            yield united, (after, min(count + 1, self.most))

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
            for goal, which in self.diagrams.split(given, telling):
                failing = {wanted for wanted, holds in zip(telling, which, strict=True) if not holds}
                broken = frozenset(i for i, wanted in wants.items() if wanted in failing or wanted is self.goals.none)
                pairs.append((goal, kinds.setdefault(broken, len(kinds))))
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
