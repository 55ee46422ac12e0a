"""Context-free grammars, in whatever notation, to nodes of the engine.

The engine reads from the left with parallel threads, so ambiguity is no trouble; a rule that begins with itself would
call itself for ever. The way of a grammar:

    check        every name is defined; what is not used, or has no words, is noted
    fold         rules that are regular by themselves go into those that use them (`expressions`)
    machines     one automaton per rule (`leaves`, `machines`); the empty words of rules become silent moves around them
    left corners rules that begin with each other are solved together: their automata become loops
    inline       small rules, and those used once, go into those that use them; recursion that only says "and so on"
                 becomes a loop, so what remains to be called is what must be nested
    nodes        one frame per rule that remains

Each step keeps the language.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from .._errors import GrammarError, LimitError
from .._limits import Limits
from ..automata.grammar import Call, Frame, Layout, LayoutState, Lexeme, Node, Select
from ..languages.components import components
from ..schema.report import Report
from .expressions import Alt, Expr, Ref, Repeat, Seq, fold, references
from .graphs import productive, with_empty_words
from .leaves import Leaves
from .machines import Letter, Machine, deterministic, letters_of, loop_at_the_end, trimmed, without_empty

__all__ = ["Built", "Rule", "compile_rules"]

_GROWTH = 60
"""States that writing a rule out at every use may add."""
_LARGE = 1000
"""States of a machine that nothing more is written into."""


@dataclass(frozen=True)
class Rule:
    """name: for notes and errors. at: position of the definition in the source; None for one that was made here."""

    name: str
    expr: Expr
    at: int | None = None


@dataclass(frozen=True)
class Built:
    """The non-empty words of a grammar, None where there are none, and whether the empty text is one."""

    node: Node | None
    nullable: bool

    @property
    def root(self) -> Node:
        """A node of all words."""
        if not self.nullable:
            assert self.node is not None
            return self.node
        if self.node is None:
            return Lexeme(words=(b"",))
        return Frame(
            Layout((LayoutState(calls=(Call(Select.NODE, 1, self.node),), final=True), LayoutState(final=True)))
        )


def compile_rules(
    rules: Mapping[str, Rule], start: str, *, text: str = "", limits: Limits | None = None, report: Report | None = None
) -> Built:
    """The grammar `rules` from rule `start`. text: the source, for errors.

    Raises GrammarError where a name is not defined or the start has no words, LimitError.
    """
    return _Compiler(rules, start, text, limits or Limits(), Report() if report is None else report).built()


class _Compiler:
    def __init__(self, rules: Mapping[str, Rule], start: str, text: str, limits: Limits, report: Report) -> None:
        self.rules, self.start, self.text, self.limits, self.report = rules, start, text, limits, report
        self.leaves = Leaves(limits)
        self.machines: dict[str, Machine] = {}

    def built(self) -> Built:
        order = self.check()
        if len(order) > self.limits.max_nodes:
            raise LimitError("max_nodes", self.limits.max_nodes, "rules of a grammar")
        machines = {name: self.leaves.machine(expr) for name, expr in self.folded(order).items()}
        nullable = with_empty_words(machines)
        left_out = machines.keys() - productive(machines) - nullable
        for name in [name for name in machines if name in left_out]:
            self.note(self.rules[name], "has no words and is left out")
        if self.start in left_out:
            name, at = self.rules[self.start].name, self.rules[self.start].at
            raise GrammarError(f"rule {name!r} has no words: no text can be made from it", self.text, at)
        # from here on letters stand for non-empty words, so it is asked anew what has any
        machines = {name: without_empty(deterministic(machine)) for name, machine in machines.items()}
        inhabited = productive(machines)
        for machine in machines.values():
            _drop_letters(machine, lambda letter: isinstance(letter, str) and letter not in inhabited)
        self.machines = {name: trimmed(machine) for name, machine in machines.items() if name in inhabited}
        if self.start not in self.machines:
            return Built(None, True)
        self.solve_left_recursion()
        self.inline()
        return Built(self.node(), self.start in nullable)

    # Names -----------------------------------------------------------------------------------------------------------

    def check(self) -> list[str]:
        """The rules that the start needs, those that others use before them where recursion allows."""
        for rule in self.rules.values():
            for ref in references(rule.expr):
                if ref.name not in self.rules:
                    raise GrammarError(f"rule {ref.name!r} is not defined", self.text, ref.at)
        if self.start not in self.rules:
            raise GrammarError(f"there is no rule {self.start!r} to start from", self.text, 0 if self.text else None)
        used = {name: [ref.name for ref in references(rule.expr)] for name, rule in self.rules.items()}
        order = [name for component in components([self.start], used.__getitem__) for name in component]
        used_names = set(order)
        for name, rule in self.rules.items():
            if name not in used_names and rule.at is not None:
                self.note(rule, "is never used")
        return order

    def note(self, rule: Rule, what: str) -> None:
        line = "" if rule.at is None else f"line {self.text.count(chr(10), 0, rule.at) + 1}: "
        self.report.add("", rule.name, "note", f"{line}rule {rule.name!r} {what}")

    def folded(self, order: list[str]) -> dict[str, Expr]:
        """Expressions in which rules that are one terminal stand for themselves no longer."""
        terminals: dict[str, Expr] = {}
        found: dict[str, Expr] = {}
        for name in order:
            expr = fold(
                self.rules[name].expr, lambda leaf: terminals.get(leaf.name, leaf) if isinstance(leaf, Ref) else leaf
            )
            if not isinstance(expr, (Ref, Seq, Alt, Repeat)):
                terminals[name] = expr
            found[name] = expr
        used = {name: [ref.name for ref in references(expr)] for name, expr in found.items()}
        return {name: found[name] for component in components([self.start], used.__getitem__) for name in component}

    # Left recursion --------------------------------------------------------------------------------------------------

    def solve_left_recursion(self) -> None:
        corners = {
            name: [letter for letter in machine.edges[0] if isinstance(letter, str)]
            for name, machine in self.machines.items()
        }
        for component in components(self.machines, corners.__getitem__):
            if len(component) > 1 or component[0] in corners[component[0]]:
                self.solve(component)

    def solve(self, component: list[str]) -> None:
        """Rules that begin with each other: X = (what does not begin so) then any of what may follow each finished one.

        With X = Y a | b and so on, a left-linear system, the words of X begin with some b of the component; when a rule
        Y is finished there, what follows Y at the beginning of a rule Z finishes Z in turn, until X is finished.
        """
        members = set(component)
        size = sum(self.machines[name].size for name in component)
        if size * len(component) > self.limits.max_states:
            raise LimitError("max_states", self.limits.max_states, "states of rules that begin with each other")
        solved = {}
        for wanted in component:
            whole = Machine()
            start = whole.state()
            done = {name: whole.state() for name in component}
            for name in component:
                machine = self.machines[name]
                base = machine.copy_into(whole)
                for final in machine.final:
                    whole.silent[base + final].add(done[name])
                for letter, targets in machine.edges[0].items():
                    for target in targets:
                        if letter in members:
                            assert isinstance(letter, str)
                            whole.silent[done[letter]].add(base + target)
                        else:
                            whole.add(start, letter, base + target)
            whole.final = {done[wanted]}
            solved[wanted] = deterministic(trimmed(whole))
        self.machines.update(solved)

    # Fewer calls -----------------------------------------------------------------------------------------------------

    def inline(self) -> None:
        """Write rules out where they are used, until those remain that are large or nested in themselves."""
        changed: Iterable[str] = list(self.machines)
        while changed:
            for name in changed:
                while (looped := loop_at_the_end(self.machines[name], name)) is not None:
                    self.machines[name] = looped
            self.keep_reachable()
            chosen = self.chosen()
            changed = [
                name
                for name, machine in self.machines.items()
                if name not in chosen and not letters_of(machine).isdisjoint(chosen)
            ]
            for name in changed:
                self.machines[name] = deterministic(_written_out(self.machines[name], self.machines, chosen))

    def keep_reachable(self) -> None:
        used = {name: [x for x in letters_of(m) if isinstance(x, str)] for name, m in self.machines.items()}
        kept = {name for component in components([self.start], used.__getitem__) for name in component}
        self.machines = {name: machine for name, machine in self.machines.items() if name in kept}

    def chosen(self) -> set[str]:
        """Rules to write out next; none of them uses another."""
        uses = Counter(letter for m in self.machines.values() for _, letter, _ in m.moves() if isinstance(letter, str))
        calls = {name: {x for x in letters_of(m) if isinstance(x, str)} for name, m in self.machines.items()}
        growth = {name: (uses[name] - (name != self.start)) * m.size for name, m in self.machines.items()}
        users: dict[str, list[str]] = {name: [] for name in self.machines}
        for user, called in calls.items():
            for name in called:
                users[name].append(user)
        chosen: set[str] = set()
        blocked: set[str] = set()
        room = {name: _LARGE - machine.size for name, machine in self.machines.items()}
        for name in sorted(self.machines, key=lambda name: growth[name]):
            machine = self.machines[name]
            if not uses[name] or name in calls[name] or name in blocked or not chosen.isdisjoint(users[name]):
                continue
            if growth[name] > _GROWTH and machine.size > 3:
                continue
            if any(room[user] < machine.size for user in users[name]):
                continue
            for user in users[name]:
                room[user] -= machine.size
                blocked.add(user)
            chosen.add(name)
        return chosen

    # Nodes -----------------------------------------------------------------------------------------------------------

    def node(self) -> Node:
        frames: dict[str, Frame] = {name: Frame(Layout(())) for name in self.machines}
        lone = {name: _lone_letter(machine) for name, machine in self.machines.items()}

        def of(letter: Letter) -> Node:
            while isinstance(letter, str):
                inner = lone[letter]
                if inner is None:
                    return frames[letter]
                letter = inner
            assert isinstance(letter, Node)
            return letter

        for name, machine in self.machines.items():
            states = []
            for state, edges in enumerate(machine.edges):
                bytes_ = sorted((x, t) for x, targets in edges.items() if isinstance(x, int) for t in targets)
                calls = [(x, t) for x, targets in edges.items() if not isinstance(x, int) for t in sorted(targets)]
                states.append(
                    LayoutState(
                        edges=tuple(bytes_),
                        calls=tuple(Call(Select.NODE, target, of(letter)) for letter, target in calls),
                        final=state in machine.final,
                    )
                )
            frames[name].layout = Layout(tuple(states))
        return of(self.start)


def _lone_letter(machine: Machine) -> str | Node | None:
    """The letter of a machine whose only words are that letter."""
    if machine.size == 2 and len(machine.edges[0]) == 1 and not machine.edges[1]:
        ((letter, targets),) = machine.edges[0].items()
        if targets == {1} and not isinstance(letter, int):
            return letter
    return None


def _drop_letters(machine: Machine, unwanted: Callable[[Letter], bool]) -> None:
    for edges in machine.edges:
        for letter in [letter for letter in edges if unwanted(letter)]:
            del edges[letter]


def _written_out(machine: Machine, machines: Mapping[str, Machine], chosen: set[str]) -> Machine:
    """`machine` with the machines of the chosen rules in the place of their letters."""
    result = Machine()
    machine.copy_into(result)
    result.final = set(machine.final)
    for source, letter, target in list(machine.moves()):
        if isinstance(letter, str) and letter in chosen:
            inner = machines[letter]
            base = inner.copy_into(result)
            result.silent[source].add(base)
            for final in inner.final:
                result.silent[base + final].add(target)
    _drop_letters(result, lambda letter: isinstance(letter, str) and letter in chosen)
    return result
