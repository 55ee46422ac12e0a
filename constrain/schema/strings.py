"""Languages of string values, kept structured until an automaton is really needed.

    Strings  =  words ∪ clause ∪ clause ...
    Clause   =  {w : every atom holds, w not excluded, min <= characters of w <= max}
    atom     =  (kind, text, positive): ("pattern", "^a", True) finds a match in w; ("format", "date", False) is not
      a date. Formats are named by their parts, whose bounds are those of clauses (languages.formats);
      ("without", "a\\0b", True) contains neither "a" nor "b"

The form is closed under union, intersection and complement, so the Boolean structure of schemas costs a few tuples;
huge word lists and length bounds never multiply states. `Lexicon` turns atoms into automata, once each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache, reduce

from .._errors import LimitError
from .._limits import Limits, check_alternatives, check_time
from ..languages import operations, syntax
from ..languages.dfa import DFA
from ..languages.formats import FORMATS, MOST, format_language, format_parts
from ..languages.operations import ANY_STRING, EMPTY_LANGUAGE, from_words
from ..languages.parser import parse
from ..languages.pattern import compile_pattern, compile_string_pattern
from ..languages.stored import Language, stored_if_slow
from ..languages.texts import strings_without

__all__ = [
    "ANY",
    "NOTHING",
    "Atom",
    "Clause",
    "Lexicon",
    "Strings",
    "check_lookbehinds",
    "encodable",
    "encoded",
    "is_risky",
    "known_format",
    "of_format",
    "of_words",
    "parsed",
]

Atom = tuple[str, str, bool]


@lru_cache(maxsize=4096)
def parsed(pattern: str, limits: Limits) -> syntax.Node:
    """The syntax tree of an ECMA pattern. GrammarError says where it is wrong."""
    return parse(pattern, dialect="ecma", limits=limits)


def check_lookbehinds(pattern: str, limits: Limits) -> None:
    """GrammarError where a lookbehind asks what follows it, which only the steps of its automaton tell."""
    if "(?<=" in pattern or "(?<!" in pattern:
        with suppress(LimitError):  # told when something needs the automaton
            compile_string_pattern(pattern, limits=limits)


def _plainly_matches(node: syntax.Node) -> bool:
    """Whether the tree shows that something matches: no assertions but anchors at its ends."""
    if node.kind == syntax.Kind.ALT:
        return any(map(_plainly_matches, node.a))
    parts = list(node.a) if node.kind == syntax.Kind.CAT else [node]
    while parts and parts[0].kind == syntax.Kind.START:
        del parts[0]
    while parts and parts[-1].kind == syntax.Kind.END:
        del parts[-1]
    return all(part.pure and part is not syntax.NOTHING for part in parts)


@lru_cache(maxsize=4096)
def is_risky(node: syntax.Node) -> bool:
    """Whether determinisation may multiply states: something counted beside something without end or anchor."""
    counted, endless = _counts(node)
    return counted > 8 and (endless or not node.anchored)


def _counts(node: syntax.Node) -> tuple[int, bool]:
    """(characters under finite counts, whether there is a repeat without end)."""
    if node.kind in (syntax.Kind.CAT, syntax.Kind.ALT):
        parts = [_counts(part) for part in node.a]
        return sum(counted for counted, _ in parts), any(endless for _, endless in parts)
    if node.kind in (syntax.Kind.LOOK, syntax.Kind.BEHIND):
        return _counts(node.a[0])[0] + 9, True
    if node.kind == syntax.Kind.REPEAT:
        body, low, high = node.a
        counted, endless = _counts(body)
        return max(counted, 1) * max(low, high or 1, 1), endless or high is None
    return 0, False


@lru_cache(maxsize=64)
def _language(atoms: tuple[Atom, ...], excluded: frozenset[str], limits: Limits) -> Language:
    """(automaton, least, most characters) of a clause without its own bounds; kept for later compilations."""
    if not any(kind == "pattern" for kind, _, _ in atoms):
        return _made(atoms, excluded, limits)
    key = atoms, sorted(excluded)
    return stored_if_slow(key, lambda: _made(atoms, excluded, limits), limits.max_states)


def _made(atoms: tuple[Atom, ...], excluded: frozenset[str], limits: Limits) -> Language:
    dfa, low, high = ANY_STRING, 0, None
    for kind, text, positive in atoms:
        if positive:
            least, most = 0, None
            if kind == "pattern":
                part, least, most = compile_string_pattern(text, dialect="ecma", search=True, limits=limits)
            elif kind == "without":
                part = _atom(kind, text, limits)
            else:
                part = format_language(text)
            dfa = part if dfa is ANY_STRING else operations.intersect(dfa, part, limits)
            low = max(low, least)
            high = most if high is None else high if most is None else min(high, most)
    for kind, text, positive in atoms:
        if not positive:
            dfa = operations.difference(dfa, _atom(kind, text, limits), limits)
    words = sorted(encoded(excluded))
    return operations.difference(dfa, from_words(words), limits) if words else dfa, low, high


@lru_cache(maxsize=64)
def _writable(without: tuple[str, ...], pattern: str | None, limits: Limits) -> DFA:
    """Keys that match a pattern and contain none of the texts `without`."""
    if pattern is None:
        return strings_without(without)
    written = compile_pattern(pattern, limits=limits)
    return operations.intersect(strings_without(without), written, limits) if without else written


def _atom(kind: str, text: str, limits: Limits) -> DFA:
    if kind == "pattern":
        return compile_pattern(text, dialect="ecma", search=True, limits=limits)
    return strings_without(tuple(text.split("\0"))) if kind == "without" else format_language(text)


@dataclass(frozen=True)
class Clause:
    atoms: tuple[Atom, ...] = ()
    excluded: frozenset[str] = frozenset()
    min: int = 0
    max: int | None = None

    def includes(self, other: Clause) -> bool:
        """Whether `other` is a subset for a reason that shows in the form."""
        return (
            set(self.atoms) <= set(other.atoms)
            and self.excluded <= other.excluded
            and self.min <= other.min
            and (self.max is None or (other.max is not None and other.max <= self.max))
        )


@dataclass(frozen=True)
class Strings:
    words: frozenset[str] = frozenset()
    clauses: tuple[Clause, ...] = ()


NOTHING = Strings()
ANY = Strings(clauses=(Clause(),))


def of_words(words: Iterable[str]) -> Strings:
    return Strings(frozenset(words))


def known_format(name: str) -> bool:
    """Whether the format is enforced, in some draft at least; any other is an annotation."""
    return name in FORMATS


@lru_cache(maxsize=64)
def of_format(name: str, draft: int) -> Strings:
    """The strings of a format; all where the draft does not know it."""
    parts = format_parts(name, draft)
    if parts is None:
        return ANY
    return Strings(clauses=tuple(Clause((("format", part, True),), max=MOST.get(part)) for part in parts))


class Lexicon:
    """Decides questions about string languages and builds their automata; one per compilation.

    universe: all strings there are; those that contain a text of `without` are not.
    keys:     the automaton of all keys that can be written, None for any string.
    """

    def __init__(self, limits: Limits, without: tuple[str, ...] = (), key_pattern: str | None = None) -> None:
        self.limits = limits
        self.universe, self.keys = ANY, None
        if without:
            self.universe = Strings(clauses=(Clause((("without", "\0".join(without), True),)),))
        if without or key_pattern is not None:
            self.keys = _writable(without, key_pattern, limits)
        self._automata: dict[tuple[str, str], DFA] = {}
        self._empty: dict[Clause, bool] = {}
        self._lexemes: dict[Clause, tuple[DFA, int, int | None]] = {}

    def matches(self, pattern: str, word: str) -> bool:
        """Whether the ECMA pattern is found in `word`."""
        check_time()
        return self.atom("pattern", pattern).accepts(_encode(word))

    def atom(self, kind: str, text: str) -> DFA:
        """The automaton of an atom, taken positively."""
        dfa = self._automata.get((kind, text))
        if dfa is None:
            dfa = self._automata[kind, text] = _atom(kind, text, self.limits)
        return dfa

    def is_key(self, key: str) -> bool:
        """Whether the key can be written at all."""
        return encodable(key) and (self.keys is None or _accepts(self.keys, key))

    # algebra

    def meet(self, a: Strings, b: Strings) -> Strings:
        if a is ANY or b is NOTHING:
            return b
        if b is ANY or a is NOTHING or a is b:
            return a
        words = {w for w in a.words if w in b.words or any(self.holds(c, w) for c in b.clauses)}
        words.update(w for w in b.words if any(self.holds(c, w) for c in a.clauses))
        clauses = []
        for x in a.clauses:
            for y in b.clauses:
                met = self._meet_clauses(x, y)
                if met is not None:
                    clauses.append(met)
        return self._simplified(words, clauses)

    def join(self, a: Strings, b: Strings) -> Strings:
        if a is ANY or b is NOTHING or a is b:
            return a
        if b is ANY or a is NOTHING:
            return b
        return self._simplified(a.words | b.words, b.clauses, a.clauses)

    def minus(self, a: Strings, b: Strings) -> Strings:
        """a without b."""
        if a is NOTHING or b is NOTHING:
            return a
        words = {w for w in a.words if w not in b.words and not any(self.holds(c, w) for c in b.clauses)}
        rest = Strings(clauses=a.clauses)
        for clause in b.clauses:
            rest = self.meet(rest, _complement(clause))
        if b.words:
            words.update(w for w in rest.words if w not in b.words)
            clauses = [replace(c, excluded=c.excluded | {w for w in b.words if self.holds(c, w)}) for c in rest.clauses]
        else:
            words.update(rest.words)
            clauses = list(rest.clauses)
        return self._simplified(words, clauses)

    def is_empty(self, strings: Strings) -> bool:
        if any(encodable(w) for w in strings.words):
            return False
        return all(self._clause_is_empty(c) for c in strings.clauses)

    def contains(self, strings: Strings, word: str) -> bool:
        return word in strings.words or any(self.holds(c, word) for c in strings.clauses)

    def holds(self, clause: Clause, word: str) -> bool:
        if (
            not clause.min <= len(word)
            or (clause.max is not None and len(word) > clause.max)
            or word in clause.excluded
        ):
            return False
        return all(_accepts(self.atom(kind, text), word) == positive for kind, text, positive in clause.atoms)

    # automata

    def lexeme(self, clause: Clause) -> tuple[DFA, int, int | None]:
        found = self._lexemes.get(clause)
        if found is None:
            found = self._lexemes[clause] = self._make_lexeme(clause)
        return found

    def settle(self, strings: Strings) -> None:
        """Build now what might pass a limit: meetings of patterns, and patterns that count and repeat without end."""
        for clause in strings.clauses:
            if len(clause.atoms) > 1 or any(
                kind == "pattern" and is_risky(parsed(text, self.limits)) for kind, text, _ in clause.atoms
            ):
                self.lexeme(clause)

    def _make_lexeme(self, clause: Clause) -> tuple[DFA, int, int | None]:
        """(automaton, least, most characters): the language of the clause, its bounds in registers where possible."""
        dfa, least, most = _language(clause.atoms, clause.excluded, self.limits)
        low = max(clause.min, least)
        high = most if clause.max is None else clause.max if most is None else min(clause.max, most)
        if high is not None and low > high:
            return EMPTY_LANGUAGE, 0, None
        if dfa.is_empty or (low == 0 and high is None):
            return dfa, 0, None
        shortest, longest = (int(bounds[0]) for bounds in dfa.char_bounds)
        if low <= shortest:
            low = 0
        if high is not None and 0 <= longest <= high:
            high = None
        if low and high is not None and not dfa.has_interval_lengths:
            # with one bound alone the shortest or the longest rest decides; so only the lower one goes into states
            dfa, low = operations.with_length(dfa, low, None, self.limits), 0
        return dfa, low, high

    def automaton(self, clause: Clause) -> DFA:
        """The language of the clause as one automaton, bounds included."""
        dfa, low, high = self.lexeme(clause)
        if low or high is not None:
            dfa = operations.with_length(dfa, low, high, self.limits)
        return dfa

    def whole(self, strings: Strings) -> DFA:
        """The whole language as one automaton."""
        parts = [self.automaton(c) for c in strings.clauses]
        if strings.words:
            parts.append(from_words(sorted(_encode(w) for w in strings.words if encodable(w))))
        return reduce(lambda x, y: operations.union(x, y, self.limits), parts, EMPTY_LANGUAGE)

    # clauses

    def _clause_is_empty(self, clause: Clause) -> bool:
        if clause.max is not None and clause.min > clause.max:
            return True
        if not clause.atoms:
            return clause.max == 0 and "" in clause.excluded
        if len(clause.atoms) == 1 and not clause.excluded and clause.min == 0 and clause.atoms[0][2]:
            kind, text, _ = clause.atoms[0]
            if clause.max == (MOST.get(text) if kind == "format" else None) and (
                kind != "pattern" or _plainly_matches(parsed(text, self.limits))
            ):
                return False
        known = self._empty.get(clause)
        if known is None:
            dfa, low, high = self.lexeme(clause)
            known = dfa.is_empty
            if not known and (low or high is not None):
                least, most = (int(bounds[0]) for bounds in dfa.char_bounds)
                known = (high is not None and least > high) or 0 <= most < low
            self._empty[clause] = known
        return known

    def _meet_clauses(self, a: Clause, b: Clause) -> Clause | None:
        atoms = tuple(dict.fromkeys((*a.atoms, *b.atoms)))
        if any((kind, text, not positive) in atoms for kind, text, positive in atoms):
            return None
        high = b.max if a.max is None else a.max if b.max is None else min(a.max, b.max)
        low = max(a.min, b.min)
        if high is not None and low > high:
            return None
        return Clause(tuple(sorted(atoms)), a.excluded | b.excluded, low, high)

    def _simplified(
        self, words: set[str] | frozenset[str], clauses: Iterable[Clause], simple: Iterable[Clause] = ()
    ) -> Strings:
        """The union of all. simple: clauses of which none includes another."""
        kept = list(simple)
        for clause in clauses:
            check_alternatives(len(kept), "clauses of one language of strings")
            if not any(other.includes(clause) for other in kept):
                kept = [other for other in kept if not clause.includes(other)]
                kept.append(clause)
        if words and any(not c.atoms for c in kept):
            free = [c for c in kept if not c.atoms]
            words = {w for w in words if not any(self.holds(c, w) for c in free)}
        if not kept and not words:
            return NOTHING
        if not words and kept == [Clause()]:
            return ANY
        return Strings(frozenset(words), tuple(kept))


def _complement(clause: Clause) -> Strings:
    parts = [Clause(atoms=((kind, text, not positive),)) for kind, text, positive in clause.atoms]
    if clause.min > 0:
        parts.append(Clause(max=clause.min - 1))
    if clause.max is not None:
        parts.append(Clause(min=clause.max + 1))
    return Strings(clause.excluded, tuple(parts))


def encoded(words: Iterable[str]) -> Iterator[bytes]:
    """The UTF-8 of each word that has one (lone surrogates have none)."""
    return (_encode(w) for w in words if encodable(w))


def _encode(word: str) -> bytes:
    return word.encode("utf-8", "surrogatepass")


@lru_cache(maxsize=1 << 14)
def _accepts(dfa: DFA, word: str) -> bool:
    """Kept, because the same keys and words are asked for again and again."""
    return dfa.accepts(_encode(word))


def encodable(word: str) -> bool:
    """Whether the word has a UTF-8 form."""
    return word.isascii() or not any("\ud800" <= c <= "\udfff" for c in word)
