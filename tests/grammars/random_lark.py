"""Random grammars in Lark's language, and texts of them.

A grammar is kept as a tree, from which both its text and random words are made. Terminals are such that the first match
of Lark's regular expressions is the longest: elsewhere a lexer does not see the whole language of a terminal.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

TERMINALS = {
    "WORD": ("/[ab]+/", ["a", "b", "ab", "ba", "aab"]),
    "DIGITS": ("/[01]{1,3}/", ["0", "1", "01", "110"]),
    "PAIR": ('"a" "b"?', ["a", "ab"]),
    "SIGN": ('"+" | "-"', ["+", "-"]),
    "TAGGED": ("/x[ab]*/", ["x", "xa", "xbb"]),
    "RANGED": ('"a".."c"', ["a", "b", "c"]),
    "KEY": ('"if"i', ["if", "IF", "iF"]),
}
LITERALS = ("a", "b", "ab", "+", "(", ")", ",", "if")
SPACE = ("/[ ]+/", " ")
Tree = tuple[Any, ...]


@dataclass
class RandomGrammar:
    rules: dict[str, Tree] = field(default_factory=dict)
    ignore: bool = False
    template: bool = False

    @classmethod
    def make(cls, rng: random.Random) -> RandomGrammar:
        names = ["start", "p", "q", "r"][: rng.randint(1, 4)]
        grammar = cls(ignore=rng.random() < 0.4, template=rng.random() < 0.3)
        for name in names:
            grammar.rules[name] = ("alt", *(grammar._tree(rng, names, 2) for _ in range(rng.randint(1, 3))))
        return grammar

    def _tree(self, rng: random.Random, names: list[str], depth: int) -> Tree:
        kind = rng.random()
        if depth == 0 or kind < 0.3:
            which = rng.random()
            if which < 0.4:
                return "ref", rng.choice(names)
            if which < 0.6:
                return "term", rng.choice(list(TERMINALS))
            return "text", rng.choice(LITERALS)
        if kind < 0.65:
            return "seq", *(self._tree(rng, names, depth - 1) for _ in range(rng.randint(2, 3)))
        if kind < 0.8:
            return "alt", *(self._tree(rng, names, depth - 1) for _ in range(2))
        if kind < 0.85 and self.template:
            return "list", rng.choice([("ref", rng.choice(names)), ("term", rng.choice(list(TERMINALS)))])
        return "rep", self._tree(rng, names, depth - 1), rng.choice(((0, 1), (0, None), (1, None), (2, 2), (1, 3)))

    def text(self) -> str:
        lines = [f"{name}: {_written(tree)}" for name, tree in self.rules.items()]
        lines += [f"{name}: {pattern}" for name, (pattern, _) in TERMINALS.items()]
        if self.template:
            lines.append('list{x}: x | list{x} "," x')
        if self.ignore:
            lines.append(f"%ignore {SPACE[0]}")
        return "\n".join(lines) + "\n"

    def word(self, rng: random.Random, name: str = "start", fuel: int = 12) -> str | None:
        """A random word of a rule, or None where none was found in time."""
        return self._word(rng, self.rules[name], fuel)

    def _word(self, rng: random.Random, tree: Tree, fuel: int) -> str | None:
        kind, *parts = tree
        if fuel <= 0:
            return None
        if kind == "ref":
            return self._word(rng, self.rules[parts[0]], fuel - 1)
        if kind == "text":
            return self._spaced(rng, parts[0])
        if kind == "term":
            return self._spaced(rng, rng.choice(TERMINALS[parts[0]][1]))
        if kind == "alt":
            for part in rng.sample(parts, len(parts)):
                found = self._word(rng, part, fuel - 1)
                if found is not None:
                    return found
            return None
        if kind == "rep":
            low, high = parts[1]
            parts = [parts[0]] * rng.randint(low, low + 2 if high is None else high)
        elif kind == "list":
            comma = ("text", ",")
            parts = [parts[0], *[comma, parts[0]] * rng.randint(0, 2)]
        made = []
        for part in parts:
            made.append(self._word(rng, part, fuel - 1))
            if made[-1] is None:
                return None
        return "".join(x for x in made if x is not None)

    def _spaced(self, rng: random.Random, text: str) -> str:
        return text + SPACE[1] * rng.choice((0, 0, 0, 1, 2)) if self.ignore else text


def _written(tree: Tree) -> str:
    kind, *parts = tree
    if kind in ("ref", "term"):
        return str(parts[0])
    if kind == "text":
        return f'"{parts[0]}"'
    if kind == "seq":
        return "(" + " ".join(map(_written, parts)) + ")"
    if kind == "alt":
        return "(" + " | ".join(map(_written, parts)) + ")"
    if kind == "list":
        return f"list{{{_written(parts[0])}}}"
    low, high = parts[1]
    operator = {(0, 1): "?", (0, None): "*", (1, None): "+"}.get((low, high), f"~{low}..{high}")
    return f"({_written(parts[0])}){operator}"


def mutated(rng: random.Random, text: str) -> str:
    """A text near by: some characters replaced, dropped, doubled or put in."""
    chars = list(text)
    for _ in range(rng.randint(1, 2)):
        place = rng.randint(0, len(chars))
        kind = rng.random()
        if kind < 0.4:
            chars.insert(place, rng.choice("ab01+(),x if"))
        elif chars and kind < 0.7:
            del chars[min(place, len(chars) - 1)]
        elif chars:
            chars[min(place, len(chars) - 1)] = rng.choice("ab01+(),x")
    return "".join(chars)
