"""From a syntax tree to a deterministic automaton over character classes.

A *term* is what may still follow: a node and then another term, or a conjunction of (possibly negated) sets of terms,
which is what lookaheads turn into. A state of the automaton is a set of terms, any of which may come true (Antimirov's
partial derivatives; with the conjunctions they are those of extended expressions). Terms are numbered and their first
steps are computed once, so counted repeats cost what is reached of them and nothing is ever expanded up front.

The sets of characters are bit masks over the classes of the pattern, with three extra bits for what a position can be
followed by: END (nothing), MID (something, seen from a lookbehind that stops here) and UNSURE (a lookbehind stops here,
but also asks what follows, which is refused).

What has been read is seen through the context of a state: whether anything was, whether the last character was a word
character, and for each lookbehind the set of terms of "anything, then its body".
"""

from __future__ import annotations

from dataclasses import dataclass

from .._errors import GrammarError, LimitError
from .._limits import check_time
from .charsets import ALL, CharSet, partition
from .syntax import EMPTY, Kind, Node, alternatives, chars, concatenate, repeat

__all__ = ["CharAutomaton", "build"]

EVERYTHING = 0
"""Term: any continuation."""
DONE = 1
"""Term: nothing may follow."""

Transitions = tuple[list[tuple[int, frozenset[int]]], int]
"""Disjoint (class mask, following terms), and the END, MID and UNSURE bits under which the term holds here."""
Parts = tuple[tuple[frozenset[int], bool], ...]

_INFINITE = float("inf")
_ALL_SET = frozenset((EVERYTHING,))
_NO_TERMS: frozenset[int] = frozenset()


def _by_low_then_widest(member: tuple[int, float, int]) -> tuple[int, float]:
    return member[0], -member[1]


@dataclass
class CharAutomaton:
    """ranges: (low, high, class) for every scalar value, in order.

    edges: (source, mask of classes, target), with disjoint masks per source. State 0 is the start; the automaton need
    not be trim or minimal. simple: determinisation made no choices, so that minimising is not worth while.
    """

    ranges: list[tuple[int, int, int]]
    n_classes: int
    accepting: list[bool]
    edges: list[tuple[int, int, int]]
    simple: bool


class _Builder:
    def __init__(self, max_states: int, source: str) -> None:
        self.max_states = max_states
        self.source = source
        self.work = 60 * max_states + 200_000
        self.numbers: dict[object, int] = {}
        self.terms: list[tuple[Node, int]] = [(EMPTY, 0), (EMPTY, 0)]
        self.conjunctions: dict[int, Parts] = {}
        self.memo: dict[tuple[int, int], Transitions] = {}
        self.masks: dict[CharSet, int] = {}
        self.repeats: dict[tuple[Node, int, int | None], Node] = {}
        self.behinds: list[Node] = []
        self.words: list[CharSet] = []
        self.widest: dict[frozenset[int], frozenset[int]] = {}
        self.has_start = self.has_counts = False
        # The context of the state being expanded.
        self.context = 0
        self.at_start = True
        self.after_word: tuple[bool, ...] = ()
        self.behind_holds: dict[Node, int] = {}
        """What each lookbehind, if it holds here, can be followed by."""

    # Terms

    def follow(self, node: Node, rest: int) -> int:
        """The term "node, then rest"."""
        if node.kind == Kind.CAT:
            for part in reversed(node.a):
                rest = self.follow(part, rest)
            return rest
        key = (node, rest)
        number = self.numbers.get(key)
        if number is None:
            number = self.numbers[key] = len(self.terms)
            self.terms.append(key)
        return number

    def conjunction(self, parts: Parts) -> frozenset[int]:
        """Terms for "every part holds", simplified."""
        kept: list[tuple[frozenset[int], bool]] = []
        pending = list(reversed(parts))
        while pending:
            terms, negated = pending.pop()
            if len(terms) == 1 and not negated:
                (term,) = terms
                if term in self.conjunctions:
                    pending.extend(reversed(self.conjunctions[term]))
                    continue
            self.work -= len(terms)
            if negated:
                if not terms:
                    continue
                if EVERYTHING in terms:
                    return _NO_TERMS
            else:
                if not terms:
                    return _NO_TERMS
                if EVERYTHING in terms:
                    continue
            if (terms, negated) not in kept:
                kept.append((terms, negated))
        if not kept:
            return _ALL_SET
        if len(kept) == 1 and not kept[0][1]:
            return kept[0][0]
        key = frozenset(kept)
        number = self.numbers.get(key)
        if number is None:
            number = self.numbers[key] = len(self.terms)
            self.terms.append((EMPTY, 0))
            self.conjunctions[number] = tuple(kept)
        return frozenset((number,))

    def shorter(self, node: Node) -> Node:
        """A repeat with one copy taken off."""
        body, low, high = node.a
        if not low and high is None:
            return node
        key = (body, low - 1 if low else 0, high - 1 if high is not None else None)
        found = self.repeats.get(key)
        if found is None:
            found = self.repeats[key] = repeat(*key)
        return found

    # Steps

    def expand(self, term: int) -> Transitions:
        key = (term, self.context)
        found = self.memo.get(key)
        if found is None:
            parts = self.conjunctions.get(term)
            found = self.memo[key] = self._expand(term) if parts is None else self._expand_conjunction(parts)
        return found

    def _expand(self, term: int) -> Transitions:
        steps: dict[int, list[int]] = {}
        holds = 0
        stack = [(term, self.full)]
        seen = set()
        terms, masks, classes_only, conjunctions = self.terms, self.masks, self.classes_only, self.conjunctions
        while stack:
            item = stack.pop()
            if item in seen or not item[1]:
                continue
            seen.add(item)
            if not len(seen) & 1023:  # alternatives in alternatives: one step may be all the work there is
                check_time()
                self.work -= 1024
                self._check_work()
            current, mask = item
            if current <= DONE:
                if current == EVERYTHING:
                    steps.setdefault(mask & classes_only, []).append(EVERYTHING)
                holds |= mask
                continue
            if current in conjunctions:
                outcome, also = self.expand(current)
                for inner, targets in outcome:
                    steps.setdefault(inner & mask, []).extend(targets)
                holds |= also & mask
                continue
            node, rest = terms[current]
            kind = node.kind
            if kind == Kind.CHARS:
                steps.setdefault(mask & masks[node.a], []).append(rest)
            elif kind == Kind.REPEAT:
                body, low, high = node.a
                after = rest if high == 1 else self.follow(self.shorter(node), rest)
                if body.kind == Kind.CHARS:
                    steps.setdefault(mask & masks[body.a], []).append(after)
                else:
                    stack.append((self.follow(body, after), mask))
                if low == 0:
                    stack.append((rest, mask))
            elif kind == Kind.ALT:
                stack.extend((self.follow(part, rest), mask) for part in node.a)
            elif kind == Kind.CAT:
                stack.append((rest, mask))
            elif kind == Kind.START:
                if self.at_start:
                    stack.append((rest, mask))
            elif kind == Kind.END:
                stack.append((rest, mask & self.end))
            elif kind == Kind.BOUNDARY:
                stack.append((rest, self._boundary(node, mask)))
            elif kind == Kind.LOOK:
                body, negated = node.a
                if mask & (self.mid | self.unsure):
                    raise GrammarError("a lookahead inside a lookbehind is not supported", self.source)
                ahead = frozenset((self.follow(body, EVERYTHING),))
                both = self.conjunction(((ahead, negated), (frozenset((rest,)), False)))
                stack.extend((number, mask) for number in both)
            else:
                allowed = self.behind_holds[node]
                stack.append((rest, mask & (~allowed if node.a[1] else allowed)))
        self.work -= len(seen) & 1023
        return self._disjoint(steps), holds & self.outcomes

    def _boundary(self, node: Node, mask: int) -> int:
        word, negated = node.a
        if mask & self.mid:
            mask = mask & ~self.mid | self.unsure
        inside = self.masks[word] | self.unsure
        outside = ~self.masks[word]
        after_word = self.after_word[self.words.index(word)]
        return mask & (outside if after_word != negated else inside)

    def _expand_conjunction(self, parts: Parts) -> Transitions:
        rows: list[tuple[int, Parts]] = [(self.classes_only, ())]
        holds = self.outcomes
        for terms, negated in parts:
            outcome, here = self.union(terms)
            holds &= ~here if negated else here
            left = self.classes_only
            for mask, _ in outcome:
                left &= ~mask
            if left and negated:
                outcome = [*outcome, (left, _NO_TERMS)]
            rows = [
                (a & mask, (*targets, (following, negated)))
                for a, targets in rows
                for mask, following in outcome
                if a & mask
            ]
            self.work -= len(rows)
            self._check_work()
        steps: dict[int, list[int]] = {}
        for mask, targets in rows:
            following = self.conjunction(targets)
            self._check_work()
            if following:
                steps.setdefault(mask, []).extend(following)
        return self._disjoint(steps), holds

    def union(self, terms: frozenset[int]) -> Transitions:
        """The steps of a set of terms."""
        if len(terms) == 1:
            (term,) = terms
            return self.expand(term)
        steps: dict[int, list[int]] = {}
        holds = 0
        for term in sorted(terms):
            outcome, here = self.expand(term)
            holds |= here
            self.work -= len(outcome)
            for mask, targets in outcome:
                steps.setdefault(mask, []).extend(targets)
        return self._disjoint(steps), holds

    def _check_work(self) -> None:
        if self.work < 0:
            raise LimitError("max_states", self.max_states, "a pattern needs too many steps to determinise")

    def _disjoint(self, steps: dict[int, list[int]]) -> list[tuple[int, frozenset[int]]]:
        steps.pop(0, None)
        covered = 0
        clash = False
        for mask in steps:
            clash = clash or bool(mask & covered)
            covered |= mask
        rows = [(mask, frozenset(targets)) for mask, targets in steps.items()]
        if clash:
            self._check_work()
            split: list[tuple[int, frozenset[int]]] = []
            for mask, targets in rows:
                refined = []
                for other, theirs in split:
                    common = mask & other
                    if common:
                        refined.append((common, targets | theirs))
                        if other != common:
                            refined.append((other ^ common, theirs))
                        mask ^= common
                        self.work -= len(theirs) >> 4
                    else:
                        refined.append((other, theirs))
                if mask:
                    refined.append((mask, targets))
                split = refined
            rows = split
        if self.has_counts:
            return [(mask, self._widest(targets) if len(targets) > 1 else targets) for mask, targets in rows]
        return [(mask, _ALL_SET if EVERYTHING in targets else targets) for mask, targets in rows]

    def _widest(self, targets: frozenset[int]) -> frozenset[int]:
        """`targets` without repeats that others with the same body and rest contain."""
        if EVERYTHING in targets:
            return _ALL_SET
        found = self.widest.get(targets)
        if found is not None:
            return found
        families: dict[tuple[Node, int], list[tuple[int, float, int]]] = {}
        for term in targets:
            node, rest = self.terms[term]
            if node.kind == Kind.REPEAT:
                body, low, high = node.a
                families.setdefault((body, rest), []).append((low, _INFINITE if high is None else high, term))
        drop = set()
        for members in families.values():
            reach = -1.0
            for _, high, term in sorted(members, key=_by_low_then_widest):
                if high <= reach:
                    drop.add(term)
                reach = max(reach, high)
        found = self.widest[targets] = targets - drop if drop else targets
        self.work -= len(targets) >> 2
        return found

    # Preparation

    def prepare(self, roots: list[Node]) -> None:
        """Collect the sets of the tree, number its classes and its lookbehinds (inner ones first)."""
        sets: dict[CharSet, None] = {}
        seen: set[int] = set()
        stack = [(node, False) for node in roots]
        while stack:
            node, leaving = stack.pop()
            if leaving:
                self.behinds.append(node)
                continue
            if id(node) in seen:
                continue
            seen.add(id(node))
            kind = node.kind
            if kind == Kind.CHARS:
                sets[node.a] = None
            elif kind == Kind.CAT or kind == Kind.ALT:
                stack.extend((part, False) for part in node.a)
            elif kind == Kind.START:
                self.has_start = True
            elif kind == Kind.BOUNDARY:
                sets[node.a[0]] = None
                if node.a[0] not in self.words:
                    self.words.append(node.a[0])
            elif kind >= Kind.REPEAT and node.a is not None:
                if kind == Kind.BEHIND:
                    stack.append((node, True))
                if kind == Kind.REPEAT and node.a[1:] not in ((0, None), (1, None), (0, 1)):
                    self.has_counts = True
                stack.append((node.a[0], False))
        self.ranges, masks, self.n_classes = partition(list(sets))
        self.masks = dict(zip(sets, masks, strict=True))
        self.classes_only = (1 << self.n_classes) - 1
        self.end, self.mid, self.unsure = (1 << self.n_classes + i for i in range(3))
        self.outcomes = self.end | self.mid | self.unsure
        self.full = self.classes_only | self.end | self.mid

    def run(self, first: frozenset[int]) -> CharAutomaton:
        if self.behinds or self.words:
            return self._run_with_context(first)
        self.full = self.classes_only | self.end
        numbers = {} if self.has_start else {first: 0}
        order = [first]
        edges: list[tuple[int, int, int]] = []
        accepting: list[bool] = []
        simple = True
        source = 0
        while source < len(order):
            check_time()
            terms = order[source]
            if source == 1:
                self.at_start, self.context = False, 1
            if len(terms) > 1:
                simple = False
            outcome, holds = self.union(terms)
            accepting.append(bool(holds & self.end))
            for mask, targets in outcome:
                target = numbers.get(targets)
                if target is None:
                    target = numbers[targets] = len(order)
                    order.append(targets)
                edges.append((source, mask, target))
            source += 1
            if len(order) > self.max_states or self.work < 0:
                raise LimitError("max_states", self.max_states, "states of a pattern")
        return CharAutomaton(self.ranges, self.n_classes, accepting, edges, simple)

    def _run_with_context(self, first: frozenset[int]) -> CharAutomaton:
        """As `run`, with states (terms, at start, after word, terms per lookbehind)."""
        anything = repeat(chars(ALL), 0, None)
        seeds = tuple(frozenset((self.follow(anything, self.follow(b.a[0], DONE)),)) for b in self.behinds)
        initial = (first, True, (False,) * len(self.words), seeds)
        numbers = {initial: 0}
        order = [initial]
        contexts: dict[object, int] = {}
        edges: list[tuple[int, int, int]] = []
        accepting: list[bool] = []
        source = 0
        while source < len(order):
            check_time()
            terms, self.at_start, self.after_word, behinds = order[source]
            if terms == _ALL_SET:
                accepting.append(True)
                edges.append((source, self.classes_only, source))
                source += 1
                continue
            self.behind_holds = {}
            rows: list[tuple[int, tuple[frozenset[int], ...]]] = [(self.classes_only, ())]
            for node, following in zip(self.behinds, behinds, strict=True):
                view = (self.at_start, self.after_word, tuple(self.behind_holds.values()))
                self.context = contexts.setdefault(view, len(contexts))
                outcome, holds = self.union(following)
                if holds & self.unsure:
                    reason = "a lookbehind that ends in a repeated \\b is not supported; put the \\b after it"
                    raise GrammarError(reason, self.source)
                inner = self.classes_only | self.mid if holds & self.mid else 0
                self.behind_holds[node] = inner | holds & self.end
                left = self.classes_only
                for mask, _ in outcome:
                    left &= ~mask
                rows = [
                    (a & mask, (*sets, targets))
                    for a, sets in rows
                    for mask, targets in [*outcome, (left, _NO_TERMS)]
                    if a & mask
                ]
            for word in self.words:
                inside = self.masks[word]
                rows = [(a & m, sets) for a, sets in rows for m in (inside, self.classes_only & ~inside) if a & m]
            view = (self.at_start, self.after_word, tuple(self.behind_holds.values()))
            self.context = contexts.setdefault(view, len(contexts))
            full, self.full = self.full, self.classes_only | self.end
            self.context = -1 - self.context  # lookbehinds, which see other outcomes, have the others
            outcome, holds = self.union(terms)
            self.full = full
            accepting.append(bool(holds & self.end))
            for mask, targets in outcome:
                for other, sets in rows:
                    common = mask & other
                    if not common:
                        continue
                    after = tuple(bool(common & self.masks[word]) for word in self.words)
                    state = (targets, False, after, sets) if targets != _ALL_SET else (_ALL_SET, False, (), ())
                    target = numbers.get(state)
                    if target is None:
                        target = numbers[state] = len(order)
                        order.append(state)
                    edges.append((source, common, target))
            source += 1
            self.work -= len(rows)
            if len(order) > self.max_states or self.work < 0:
                raise LimitError("max_states", self.max_states, "states of a pattern")
        return CharAutomaton(self.ranges, self.n_classes, accepting, edges, False)


def build(node: Node, *, search: bool, max_states: int, source: str = "") -> CharAutomaton:
    """The automaton of the strings that `node` matches whole, or (search) somewhere.

    Raises LimitError past `max_states` states or a number of steps in proportion, GrammarError where a lookbehind asks
    about what follows it.
    """
    anything = repeat(chars(ALL), 0, None)
    builder = _Builder(max_states, source)
    if not search:
        node = _without_start(node)
        builder.prepare([node, anything])
        return builder.run(frozenset((builder.follow(node, DONE),)))
    anchored: list[Node] = []
    floating: list[Node] = []
    for branch in node.a if node.kind == Kind.ALT else (node,):
        branch = _without_edges(branch)
        (anchored if branch.anchored else floating).append(branch)
    anchored = [_without_start(branch) for branch in anchored]
    middle = alternatives(floating)
    builder.prepare([*anchored, middle, anything])
    first = {builder.follow(branch, EVERYTHING) for branch in anchored}
    if floating:
        after = builder.follow(middle, EVERYTHING)
        first.add(after if after == EVERYTHING else builder.follow(anything, after))
    return builder.run(_ALL_SET if EVERYTHING in first else frozenset(first))


def _without_start(node: Node) -> Node:
    """`node` at the very start, where a leading ^ says nothing."""
    parts = node.a if node.kind == Kind.CAT else (node,)
    skip = 0
    while skip < len(parts) and parts[skip].kind == Kind.START:
        skip += 1
    return concatenate(parts[skip:]) if skip else node


def _without_edges(node: Node) -> Node:
    """`node` without what a search makes redundant: after "anything" a repeat needs only its least count."""
    parts = list(node.a) if node.kind == Kind.CAT else [node]
    for edge in (0, -1):
        while parts:
            part = parts[edge]
            if not part.pure:
                break
            if part.nullable:
                parts.pop(edge)
                continue
            if part.kind == Kind.REPEAT and part.a[1] != part.a[2]:
                parts[edge] = repeat(part.a[0], part.a[1], part.a[1])
            break
    return concatenate(parts)
