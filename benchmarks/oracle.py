"""Kernels against the reference interpreter: every token of a real vocabulary in many states.

    python benchmarks/oracle.py PATH --tokenizer tokenizer.json --eos '<|eot_id|>' --states 10000 --seconds 480

States come from random walks over the schemas of the file and over random grammars. A state whose kind was seen often
is rarely checked again, so that the mix is wide. The interpreter's mask is found depth first over the trie of the
vocabulary. To make that fast, threads that differ only in a content that no longer matters are represented by one of
them, and steps between states are remembered:

    a lexeme's content matters by the state of its automaton, by its characters where they are counted, and as it is
    while a listed word may still come of it;
    a key's content besides as it is while a declared or emitted key may come of it, and as it is once it ends, since it
    may not come twice: from there on steps start from the real threads.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from support import Case, Deadline, Late, add_data_arguments, load_tokenizer, read_cases, table, time_limit

import constrain
from constrain.automata.grammar import Frame, Lexeme, Node, Skin
from constrain.automata.oracle import QUOTE, Oracle, Thread, _KeyLexeme

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from tests.automata.grammars import random_node

Threads = tuple[Thread, ...]


class Reference:
    """Masks of one grammar by the interpreter."""

    def __init__(self, root: Node, vocabulary: constrain.Vocabulary) -> None:
        self.oracle = Oracle(root)
        self.vocabulary = vocabulary
        trie = vocabulary.trie
        self.byte, self.end = trie.byte.tolist(), trie.end.tolist()
        self.trie = trie
        self.numbers: dict[Threads, int] = {}
        self.states: list[Threads] = []
        self.steps: list[dict[int, int]] = []
        self.open_key: list[bool] = []
        self.representative: dict[tuple[object, ...], Thread] = {}

    def mask(self, threads: list[Thread]) -> np.ndarray:
        """bool[size]: the tokens whose bytes leave a thread alive; control tokens are left out."""
        byte, end, size = self.byte, self.end, len(self.byte)
        alive = np.zeros(size, bool)
        path = bytearray()
        here = self.number(threads)
        above = [(size, here)]
        node = 0
        while node < size:
            while node >= above[-1][0]:
                above.pop()
                path.pop()
            state, b = above[-1][1], byte[node]
            if b == QUOTE and self.open_key[state]:
                following = self.number(self.replay(threads, bytes(path) + b'"'))
            else:
                known = self.steps[state].get(b)
                following = self.step(state, b) if known is None else known
            if following < 0:
                node = end[node]
                continue
            alive[node] = True
            if end[node] > node + 1:
                above.append((end[node], following))
                path.append(b)
            node += 1
        tokens = np.zeros(self.vocabulary.size, bool)
        tokens[self.trie.ids[np.repeat(alive, np.diff(self.trie.id_start))]] = True
        return tokens

    def replay(self, threads: list[Thread], data: bytes) -> list[Thread]:
        for b in data:
            threads = self.oracle.advance(threads, b)
        return threads

    def step(self, state: int, byte: int) -> int:
        following = self.number(self.oracle.advance(self.states[state], byte))
        self.steps[state][byte] = following
        return following

    def number(self, threads: list[Thread]) -> int:
        """The number of a set of threads up to contents that make no difference; -1 for none."""
        if not threads:
            return -1
        key = tuple(dict.fromkeys(map(self.canonical, threads)))
        number = self.numbers.get(key)
        if number is None:
            number = self.numbers[key] = len(self.states)
            self.states.append(key)
            self.steps.append({})
            self.open_key.append(any(isinstance(t.node, _KeyLexeme) and not t.text.escape for t in key))
        return number

    def canonical(self, thread: Thread) -> Thread:
        node = thread.node
        if not isinstance(node, Lexeme):
            return thread
        content, escape = thread.text
        words: tuple[bytes, ...] = node.words
        if isinstance(node, _KeyLexeme):
            shape, members = thread.caller.object
            words = (*shape.keys, *members.emitted)
        if node.dfa is None or any(word.startswith(content) for word in words):
            return thread
        counted = node.min_chars > 0 or node.max_chars is not None
        chars = sum(b & 0xC0 != 0x80 for b in content) if counted else 0
        key = node, node.dfa.run(content), chars, escape, thread.parent
        return self.representative.setdefault(key, thread)


def kind(threads: list[Thread]) -> str:
    """What a state is like, coarsely."""
    return ", ".join(sorted({_kind(t) for t in threads}))


def _kind(thread: Thread) -> str:
    node = thread.node
    if isinstance(node, _KeyLexeme):
        return "key" + ("\\" if thread.text.escape else "") + ("+" if node.dfa is not None else "")
    if isinstance(node, Lexeme):
        content, escape = thread.text
        skin = "string" if node.skin is Skin.JSON_STRING else "raw"
        marks = ("\\" * bool(escape), "w" * bool(node.words), "#" * (node.min_chars > 0 or node.max_chars is not None))
        name = "" if node.dfa is None else node.dfa.name or f"~{min(node.dfa.n_states, 99) // 10}"
        return f"{skin}{''.join(marks)}{name}{'' if content else '.'}"
    if isinstance(node, Frame):
        return f"{type(node.shape).__name__}{thread.place.state}" + ("_" if thread.place[1:] != (0, 0) else "")
    return "root"


class Checker:
    def __init__(self, vocabulary: constrain.Vocabulary, options: argparse.Namespace) -> None:
        self.vocabulary, self.options = vocabulary, options
        self.rng = random.Random(options.seed)
        self.kinds: Counter[str] = Counter()
        self.sources: Counter[str] = Counter()
        self.checked = self.mismatches = 0
        self.bitmask = constrain.allocate_token_bitmask(1, vocabulary.size)
        pieces = [vocabulary.token_bytes(t) or b"" for t in range(vocabulary.size)]
        self.text = np.array([bool(p) for p in pieces])
        self.closing = np.array([bool(p.strip()) and frozenset(b'"]}0:, ').issuperset(p) for p in pieces])
        self.escaping = np.array([b"\\" in p or b"\n" in p for p in pieces])

    def walk(self, source: str, name: str, grammar: constrain.Grammar, reference: Reference) -> None:
        """One walk; on the way, the states whose kind is rare so far are checked."""
        rng, matcher = self.rng, grammar.matcher(max_rollback=0)
        threads, text = reference.oracle.start(), b""
        for _ in range(self.options.tokens):
            matcher.fill_next_token_bitmask(self.bitmask)
            bits = np.unpackbits(self.bitmask[0].view(np.uint8), bitorder="little")[: self.vocabulary.size].astype(bool)
            if not self.agree(source, name, matcher, reference, threads, text, bits) or not (bits & self.text).any():
                return
            wanted = bits & rng.choice((self.closing, self.closing, self.escaping, self.text, self.text))
            choice = np.flatnonzero(wanted if wanted.any() else bits & self.text)
            token = int(rng.choice(choice))
            data = self.vocabulary.token_bytes(token) or b""
            if not matcher.accept_token(token):
                self.report(name, text, f"the mask allows {data!r}, the matcher refuses it")
                return
            threads = reference.replay(threads, data)
            text += data

    def agree(
        self,
        source: str,
        name: str,
        matcher: Any,
        reference: Reference,
        threads: list[Thread],
        text: bytes,
        bits: np.ndarray,
    ) -> bool:
        seen = self.kinds[kind(threads)]
        if seen and self.rng.random() > 1 / seen:
            return True
        self.kinds[kind(threads)] += 1
        self.sources[source] += 1
        self.checked += 1
        expected = reference.mask(threads)
        accepting = reference.oracle.is_accepting(threads)
        expected[list(self.vocabulary.eos_token_ids)] = accepting
        wrong = np.flatnonzero(expected != bits)
        if not len(wrong) and matcher.is_accepting() == accepting:
            return True
        shown = [(self.vocabulary.token_bytes(t), "allowed" if bits[t] else "masked") for t in wrong[:8].tolist()]
        self.report(name, text, f"{len(wrong)} tokens differ, {shown}; accepting {accepting}")
        return False

    def report(self, name: str, text: bytes, what: str) -> None:
        self.mismatches += 1
        print(f"{name} after {text!r}: {what}", flush=True)


def sources(
    options: argparse.Namespace, vocabulary: constrain.Vocabulary
) -> Iterator[tuple[str, str, constrain.Grammar]]:
    """Grammars without end: of the file's schemas and random ones, in turns."""
    seed = options.seed * 1_000_003
    while True:
        for case in read_cases(options.path, options.every, options.offset):
            grammar = compiled(case, vocabulary)
            if grammar is not None:
                yield "schemas", case.id, grammar
            seed += 1
            yield "random grammars", f"grammar {seed}", constrain.Grammar(random_node(random.Random(seed)), vocabulary)


def compiled(case: Case, vocabulary: constrain.Vocabulary) -> constrain.Grammar | None:
    try:
        return constrain.compile_json_schema(case.schema, vocabulary)
    except constrain.ConstrainError:
        return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_data_arguments(parser)
    parser.add_argument("--states", type=int, default=1000, help="states to check")
    parser.add_argument("--seconds", type=float, default=480, help="budget for the whole run")
    parser.add_argument("--tokens", type=int, default=30, help="tokens of a walk")
    parser.add_argument("--limit", type=int, default=30, help="seconds for one walk")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    vocabulary = load_tokenizer(options.tokenizer, options.eos).vocabulary
    constrain.warmup(vocabulary)
    checker, deadline = Checker(vocabulary, options), Deadline(options.seconds)
    late = 0
    for source, name, grammar in sources(options, vocabulary):
        if deadline.passed or checker.checked >= options.states:
            break
        try:
            with time_limit(options.limit):
                checker.walk(source, name, grammar, Reference(grammar.root, vocabulary))
        except Late:
            late += 1
        except constrain.LimitError as error:
            print(f"{name}: {error}")
    print(
        table(
            ["states", "count"],
            [
                ["checked", checker.checked],
                *(["of " + source, count] for source, count in sorted(checker.sources.items())),
                ["kinds of states", len(checker.kinds)],
                ["tokens compared", checker.checked * vocabulary.size],
                ["walks cut short by time", late],
                ["mismatches", checker.mismatches],
            ],
        )
    )
    sys.exit(checker.mismatches > 0)


if __name__ == "__main__":
    main()
