"""The shortest way from a viable state to a complete output, found in the grammar's structure, not by trying texts.

A thread needs the rest of what it is in, then the rest of each frame around it. The parts are independent, so each has
its own shortest text:

    lexeme   a shortest path of its automaton, bytes weighted by how JSON spells them; with bounds on the length, an A*
             search over (state, characters)
    frame    a shortest path over its layout, where calls cost what they call. An object first decides which members it
             still gets (what is required, then the cheapest up to the minimum); an array counts its items.

Words of nodes are a least fixpoint over the height of their derivation (a node may contain itself), so a word is the
least among those of the least height. Texts are deterministic, and close to the shortest.

A state without a completion is a dead end: the tests assert that no walk meets one.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import TypeVar

import numpy as np

from .._errors import LimitError
from .._limits import Limits, check_time
from ..languages.dfa import DFA
from .diagrams import fewest, options
from .grammar import SYMBOL, ArrayShape, Call, Frame, Guard, Lexeme, Node, ObjectShape, Select, Skin, Union, resolve
from .oracle import (
    SHORT_ESCAPES,
    Items,
    Members,
    Oracle,
    Thread,
    _allowed_keys,
    _decode_escape,
    _KeyLexeme,
    _next_chars,
)

__all__ = ["Completer", "Word", "completion", "spelled"]

Word = bytes | tuple[int, ...]
"""A text; with symbols in it, a tuple of inputs."""

W = TypeVar("W", bound=Word)

_CANDIDATES = 8
"""Ways to finish a key or an escape that are compared; each of them is viable, or the interpreter is wrong."""

_SHORT = {code: b"\\" + bytes([letter]) for letter, code in SHORT_ESCAPES.items()}
_SPELLING = [bytes([b]) if b >= 0x20 and b not in b'"\\' else _SHORT.get(b, b"\\u%04x" % b) for b in range(256)]
"""How JSON spells each byte of a content most briefly."""


def completion(oracle: Oracle, threads: Iterable[Thread]) -> Word | None:
    """A short text after which `threads` accept, or None when there is none: a dead end."""
    return Completer(oracle).completion(threads)


class Completer:
    """Completions for one grammar; keeps the words that it found for nodes."""

    def __init__(self, oracle: Oracle) -> None:
        self.oracle = oracle
        self._words: dict[Node, Word] = {}
        self._failed: dict[Node, int] = {}
        """Of the question at hand: the greatest height at which a node was looked at, and no word was found."""
        self._automata: dict[tuple[DFA, Skin, int | None], _Paths] = {}

    def completion(self, threads: Iterable[Thread]) -> Word | None:
        """See `completion`. LimitError where the values of arrays without equal items nest too deeply to be tried."""
        try:
            return _least([self._grown(partial(self._thread, thread)) for thread in threads])
        except RecursionError:
            raise LimitError("max_depth", Limits.max_depth, "nesting of the rest of an output") from None

    def word(self, node: Node) -> Word | None:
        """A short text of `node`; None when it has none."""
        return self._grown(partial(self._word, node))

    def _grown(self, attempt: Callable[[int], Word | None]) -> Word | None:
        """The result of the least height that gives one. None when a greater height can give no more: on no way down a
        least derivation is a node met twice, so it is not higher than there are nodes.
        """
        height = 0
        self._failed.clear()
        while True:
            height += 1
            found = attempt(height)
            if found is not None or height > len(self._words) + len(self._failed):
                return found

    # Nodes and threads -----------------------------------------------------------------------------------------------

    def _word(self, node: Node, height: int) -> Word | None:
        """The least word of `node` among those whose derivation is at most so high."""
        node = resolve(node)
        if node in self._words:
            return self._words[node]
        if height <= self._failed.setdefault(node, 0):
            return None
        found: Word | None
        if isinstance(node, Lexeme):
            found = self._text(node, b"")
            if found is not None and node.skin is Skin.JSON_STRING:
                found = b'"' + found
        elif isinstance(node, Frame) and isinstance(node.shape, ArrayShape) and node.shape.compared:
            found = next(self.oracle._values.words(node), None)
        elif isinstance(node, Union):
            found = _least([self._word(alternative, height - 1) for alternative in node.alternatives])
        else:
            assert isinstance(node, Frame)
            registers = Members() if isinstance(node.shape, ObjectShape) else Items()
            found = self._frame(node, 0, registers, height)
        if found is None:
            self._failed[node] = height
        else:
            self._words[node] = found
        return found

    def _thread(self, thread: Thread | None, height: int) -> Word | None:
        """The rest of the output behind `thread`."""
        parts: list[Word] = []
        while thread is not None and thread.node is not None:
            node = thread.node
            if thread.unique >= 0:
                # the items of a unique array depend on each other: all of the outermost one is one part
                frame = thread
                while frame.unique >= 0:
                    frame = frame.caller
                found = next(self.oracle._values.completions(thread, frame), None)
                if found is None:
                    return None
                parts.append(found[0])
                thread = found[1]
                continue
            part: Word | None
            if isinstance(node, _KeyLexeme):
                # the key decides what its object still needs, so both are one part
                part, thread = self._key(thread, height), thread.caller
            elif isinstance(node, Lexeme):
                part = self._string(thread) if node.skin is Skin.JSON_STRING else self._text(node, thread.text.content)
            elif isinstance(node, Frame):
                part = self._frame(node, thread.place.state, thread.registers, height)
            else:
                part = b"" if thread.place.state else self._word(self.oracle.root, height)
            if part is None:
                return None
            parts.append(part)
            thread = thread.parent
        return _joined(parts)

    # Lexemes ---------------------------------------------------------------------------------------------------------

    def _text(self, node: Lexeme, content: bytes) -> bytes | None:
        """The rest of a lexeme whose content so far is `content`, the closing quote included."""
        json = node.skin is Skin.JSON_STRING
        found: list[bytes | None] = [w[len(content) :] for w in node.words if w.startswith(content)]
        if json:
            found = [spelled(rest) + b'"' for rest in found if rest is not None]
        if node.dfa is not None and node.remainders is not None:
            state, remainder = node.remainders.run(node.dfa, content)
            found.append(next(node.remainders.texts(node.dfa, state, remainder), None) if state >= 0 else None)
        elif node.dfa is not None and (state := node.dfa.run(content)) >= 0:
            chars = sum(b & 0xC0 != 0x80 for b in content)
            most = None if node.max_chars is None else node.max_chars - chars
            rest = self._paths(node.dfa, node.skin).shortest(state, max(0, node.min_chars - chars), most)
            if rest is not None:
                found.append(spelled(rest) + b'"' if json else rest)
        return _least(found)

    def _string(self, thread: Thread) -> Word | None:
        """The rest of a JSON string, perhaps inside an escape."""
        if not thread.text.escape:
            return self._text(thread.lexeme, thread.text.content)
        found = ((head, self._text(thread.lexeme, content)) for head, content in self._after_escape(thread))
        return _least([_joined((head, rest)) for head, rest in found if rest is not None])

    def _after_escape(self, thread: Thread) -> list[tuple[bytes, bytes]]:
        """Ways to finish the open escape: (raw bytes, content then), the shortest first."""
        content, escape = thread.text
        first = escape == b"\\"
        ranges = [(0, 0xD7FF), (0xE000, 0x10FFFF)] if first else _decode_escape(escape)
        assert isinstance(ranges, list)
        found: dict[tuple[bytes, bytes], None] = {}
        for low, high in [(c, c) for c in _SHORT] * first + ranges:
            for char in _next_chars(thread, low, high):
                if self.oracle._goes_on(thread, char) is not None:
                    found[_escape(char, first)[len(escape) :], content + char] = None
        return sorted(found, key=lambda way: (len(way[0]), way))[:_CANDIDATES]

    def _paths(self, dfa: DFA, skin: Skin, label: int | None = None) -> _Paths:
        key = dfa, skin, label
        if key not in self._automata:
            self._automata[key] = _Paths(dfa, skin, label)
        return self._automata[key]

    # Keys ------------------------------------------------------------------------------------------------------------

    def _key(self, thread: Thread, height: int) -> Word | None:
        """The rest of a key and of its object."""
        content, escape = thread.text
        heads = self._after_escape(thread) if escape else [(b"", content)]
        frame = thread.caller
        shape, members = frame.object
        spell = bytes if shape.skin is Skin.RAW else lambda rest: spelled(rest) + b'"'
        found = []
        for head, begun in heads:
            for key in self._keys(frame, begun):
                after = members._replace(emitted=(*members.emitted, key))
                rest = self._frame(frame.frame, frame.place.state, after, height)
                if rest is not None:
                    found.append(_joined((head, spell(key[len(begun) :]), rest)))
        return _least(found)

    def _keys(self, frame: Thread, content: bytes) -> list[bytes]:
        """Some keys that start with `content` and may be emitted now: required and short ones first."""
        shape, members = frame.object
        required = dict(zip(shape.keys, shape.required, strict=True))
        declared = _allowed_keys(shape, members, [k for k in shape.keys if k.startswith(content)])
        keys = sorted(declared, key=lambda k: (not required[k], len(k), k))[:_CANDIDATES]
        if shape.extra is not None and (state := shape.extra.run(content)) >= 0:
            taken = {k[len(content) :] for k in (*shape.keys, *members.emitted) if k.startswith(content)}
            for label in range(len(shape.extra_values)):
                rests = self._paths(shape.extra, Skin.JSON_STRING, label).words(state, taken)
                additional = [content + rest for _, rest in islice(rests, 1)]
                keys += sorted(_allowed_keys(shape, members, additional))
        return keys

    def _members(self, shape: ObjectShape, emitted: tuple[bytes, ...], least: int, height: int) -> list[bytes] | None:
        """The members that an object without a diagram still gets, at least `least`, as keys; None when none is known
        at this height.
        """
        chosen = [k for k, needed in zip(shape.keys, shape.required, strict=True) if needed and k not in emitted]
        wanted = max(least, shape.min_members - len(emitted)) - len(chosen)
        if shape.max_members is not None and len(emitted) + len(chosen) + max(wanted, 0) > shape.max_members:
            return None
        if wanted > 0:
            found = heapq.merge(*self._optional(shape, emitted, height))
            optional = list(islice((key for _, key in found if key not in chosen), wanted))
            if len(optional) < wanted:
                return None
            chosen += optional
        return _in_turn(shape, chosen)

    def _plans(self, shape: ObjectShape, members: Members, height: int) -> Iterator[tuple[Members, list[bytes]]]:
        """Members that an object can still get: (registers with the options of all values, keys to come); first
        without, then with one more than needed, where a comma has promised it.
        """
        if shape.diagram is None:
            for least in (0, 1):
                keys = self._members(shape, members.emitted, least, height)
                if keys is not None:
                    yield members, keys
            return
        yield from self._together(shape, members, [], height)
        if len(members.chosen) < len(members.emitted):
            return  # no comma yet
        others = [next(self._additional(shape.extra, label, {*shape.keys, *members.emitted}, 0), (0, b""))[1]
                  for label in range(len(shape.extra_values)) if shape.extra is not None]  # fmt: skip
        for key in sorted(_allowed_keys(shape, members, [*shape.keys, *others])):
            yield from self._together(shape, members, [key], height)

    def _together(
        self, shape: ObjectShape, members: Members, begun: list[bytes], height: int
    ) -> Iterator[tuple[Members, list[bytes]]]:
        """Fewest members behind `begun` that complete an object with a diagram, of these the shortest."""

        def cost(key: bytes, node: Node) -> int | None:
            word = self._word(node, height - 1)
            return None if word is None else len(spelled(key)) + len(word)

        def other(label: int, taken: set[bytes]) -> bytes | None:
            assert shape.extra is not None
            return next((key for _, key in self._additional(shape.extra, label, taken, 0)), None)

        found = fewest(shape, members._replace(emitted=(*members.emitted, *begun)), cost, other)
        if found is not None:
            following = _in_turn(shape, list(found.emitted[len(members.emitted) + len(begun) :]))
            keys = [*begun, *following]
            option = dict(zip(found.emitted, found.chosen, strict=True))
            emitted = (*members.emitted, *keys)
            yield Members(members.emitted, tuple(option[key] for key in emitted)), keys

    def _optional(
        self, shape: ObjectShape, emitted: tuple[bytes, ...], height: int
    ) -> Iterator[Iterator[tuple[int, bytes]]]:
        """Ascending lists of (cost, key) of the members that an object may get besides those that are required."""
        passed, declared = _passed(shape, emitted), []
        for key, value, needed in zip(shape.keys, shape.values, shape.required, strict=True):
            if needed or value is None or key in passed:
                continue
            word = self._word(value, height - 1)
            if word is not None:
                declared.append((len(spelled(key)) + len(word), key))
        yield iter(sorted(declared))
        if shape.extra is None or shape.extra.is_empty:
            return
        taken = {*shape.keys, *emitted}
        for label, value in enumerate(shape.extra_values):
            word = self._word(value, height - 1)
            if word is not None:
                yield self._additional(shape.extra, label, taken, len(word))

    def _additional(self, extra: DFA, label: int, taken: set[bytes], value: int) -> Iterator[tuple[int, bytes]]:
        for cost, key in self._paths(extra, Skin.JSON_STRING, label).words(0, taken):
            yield cost + value, key

    # Frames ----------------------------------------------------------------------------------------------------------

    def _frame(self, frame: Frame, state: int, registers: Members | Items | None, height: int) -> Word | None:
        """The rest of a frame in a layout state."""
        shape = frame.shape
        if isinstance(shape, ObjectShape):
            assert isinstance(registers, Members)
            for members, keys in self._plans(shape, registers, height):
                found = self._object(frame, shape, state, members, keys, height)
                if found is not None:
                    return found
            return None
        if isinstance(shape, ArrayShape):
            assert isinstance(registers, Items)
            return self._array(frame, shape, state, registers.begun, height)
        return _path(frame, state, 0, lambda call, at: (self._called(call, height), at), lambda guard, at: True)

    def _object(
        self, frame: Frame, shape: ObjectShape, state: int, members: Members, keys: list[bytes], height: int
    ) -> Word | None:
        spell = bytes if shape.skin is Skin.RAW else lambda key: b'"' + spelled(key) + b'"'
        emitted, before = (*members.emitted, *keys), len(members.emitted)

        def call(call: Call, at: int) -> tuple[Word | None, int]:
            if call.select is Select.KEY:
                return (spell(keys[at]), at + 1) if at < len(keys) else (None, at)
            if call.select is Select.VALUE:
                last = before + at - 1
                values = dict((option, node) for node, option in options(shape, emitted[last]))
                value = values.get(-1 if shape.diagram is None or -1 in values else members.chosen[last])
                return None if value is None else self._word(value, height - 1), at
            return self._called(call, height), at

        def enter(guard: Guard, at: int) -> bool:
            return at == len(keys) if guard is Guard.CLOSE else at < len(keys)

        return _path(frame, state, 0, call, enter)

    def _array(self, frame: Frame, shape: ArrayShape, state: int, begun: int, height: int) -> Word | None:
        enough = max(begun, shape.min_items, len(shape.prefix)) + 1

        def more(at: int) -> bool:
            return (at < len(shape.prefix) or shape.rest is not None) and (
                at < enough and (shape.max_items is None or at < shape.max_items)
            )

        def call(call: Call, at: int) -> tuple[Word | None, int]:
            if call.select is not Select.ITEM:
                return self._called(call, height), at
            item = shape.prefix[at] if at < len(shape.prefix) else shape.rest
            return (None, at) if item is None or not more(at) else (self._word(item, height - 1), at + 1)

        return _path(
            frame, state, begun, call, lambda guard, at: at >= shape.min_items if guard is Guard.CLOSE else more(at)
        )

    def _called(self, call: Call, height: int) -> Word | None:
        return None if call.node is None else self._word(call.node, height - 1)


def _path(
    frame: Frame,
    state: int,
    register: int,
    call: Callable[[Call, int], tuple[Word | None, int]],
    enter: Callable[[Guard, int], bool],
) -> Word | None:
    """The shortest text from a layout state to a final one (Dijkstra over (state, register)).

    call:  text of a call, None where there is none, and the register afterwards.
    enter: whether a guarded state may be entered.
    """
    states = frame.layout.states
    came: dict[tuple[int, int], tuple[tuple[int, int], Word]] = {}
    done: set[tuple[int, int]] = set()
    best = {(state, register): 0}
    queue = [(0, (state, register))]
    while queue:
        check_time()
        cost, here = heapq.heappop(queue)
        if here in done:
            continue
        done.add(here)
        this, at = states[here[0]], here[1]
        if this.final:
            parts = []
            while here in came:
                here, part = came[here]
                parts.append(part)
            return _joined(parts[::-1])
        moves: list[tuple[Word | None, tuple[int, int]]] = [
            (bytes([b]) if b < SYMBOL else (b,), (target, at)) for b, target in this.edges
        ]
        for c in this.calls:
            text, after = call(c, at)
            moves.append((text, (c.returns, after)))
        for text, there in moves:
            guard = states[there[0]].guard
            if text is None or (guard is not Guard.NONE and not enter(guard, there[1])):
                continue
            if cost + len(text) < best.get(there, cost + len(text) + 1):
                best[there] = cost + len(text)
                came[there] = here, text
                heapq.heappush(queue, (best[there], there))
    return None


def _in_turn(shape: ObjectShape, keys: list[bytes]) -> list[bytes]:
    """The keys in the order that is fixed, if any."""
    if shape.rank is not None:
        rank = dict(zip(shape.keys, shape.rank, strict=True))
        keys.sort(key=lambda k: (rank.get(k, len(rank)), k))
    return keys


def _passed(shape: ObjectShape, emitted: tuple[bytes, ...]) -> set[bytes]:
    """Declared keys that cannot follow: emitted ones, and those that come before them in a fixed order."""
    if shape.rank is None or not emitted:
        return set(emitted)
    rank = dict(zip(shape.keys, shape.rank, strict=True))
    begun = max(rank.get(k, len(rank)) for k in emitted)
    return {k for k in shape.keys if rank[k] <= begun}


class _Paths:
    """Shortest words of an automaton under a skin; with a label, only words of that label."""

    def __init__(self, dfa: DFA, skin: Skin, label: int | None) -> None:
        self.dfa = dfa
        weights = [len(s) for s in _SPELLING] if skin is Skin.JSON_STRING else [1] * 256
        self.weights = weights
        self.accepting = [(found >= 0 if label is None else found == label) for found in dfa.labels.tolist()]
        classes = dfa.classes.tolist()
        # per class the cheapest byte that begins a character or goes on with one; a class has only one kind of them
        self.byte = {
            c: min((b for b in range(256) if classes[b] == c), key=lambda b: (weights[b], b)) for c in set(classes)
        }
        self.distance = self._distances()

    def _distances(self) -> list[int]:
        """Cost from each state to acceptance, -1 where there is no way."""
        into: list[list[tuple[int, int]]] = [[] for _ in self.accepting]
        sources, columns = np.nonzero(self.dfa.table >= 0)
        targets = self.dfa.table[sources, columns]
        for source, column, target in zip(sources.tolist(), columns.tolist(), targets.tolist(), strict=True):
            if column in self.byte:
                into[target].append((source, self.weights[self.byte[column]]))
        distance = [-1] * len(into)
        queue = [(0, state) for state, accepts in enumerate(self.accepting) if accepts]
        while queue:
            cost, state = heapq.heappop(queue)
            if distance[state] >= 0:
                continue
            distance[state] = cost
            for source, weight in into[state]:
                if distance[source] < 0:
                    heapq.heappush(queue, (cost + weight, source))
        return distance

    def moves(self, state: int) -> Iterator[tuple[int, int]]:
        """(cheapest byte of a class, target), without targets from where there is no way."""
        row = self.dfa.table[state].tolist()
        for column, byte in self.byte.items():
            if row[column] >= 0 and self.distance[row[column]] >= 0:
                yield byte, row[column]

    def shortest(self, state: int, least: int, most: int | None) -> bytes | None:
        """The cheapest word from `state` with least..most characters."""
        if self.distance[state] < 0:
            return None
        if least == 0 and most is None:
            word = bytearray()
            while self.distance[state]:
                _, byte, state = min((self.weights[b] + self.distance[t], b, t) for b, t in self.moves(state))
                word.append(byte)
            return bytes(word)
        low, high = self.dfa.char_bounds
        came: dict[tuple[int, int], tuple[tuple[int, int], int]] = {}
        best = {(state, 0): 0}
        queue = [(0, 0, (state, 0))]
        while queue:
            check_time()
            _, _, here = heapq.heappop(queue)
            state, chars = here
            if self.accepting[state] and chars >= least:
                word = bytearray()
                while here in came:
                    here, byte = came[here]
                    word.append(byte)
                return bytes(reversed(word))
            for byte, target in self.moves(state):
                after = chars + (byte & 0xC0 != 0x80)
                if most is None:
                    after = min(after, least)
                elif after + low[target] > most:
                    continue
                if high[target] >= 0 and after + high[target] < least:
                    continue
                cost = best[here] + self.weights[byte]
                if cost < best.get((target, after), cost + 1):
                    best[target, after] = cost
                    came[target, after] = here, byte
                    ahead = max(self.distance[target], least - after)
                    heapq.heappush(queue, (cost + ahead, -after, (target, after)))
        return None

    def words(
        self, state: int, taken: set[bytes], alike: Callable[[bytes, int], object] | None = None
    ) -> Iterator[tuple[int, bytes]]:
        """(cost, word) of the words from `state` that are not taken, the cheapest first. alike: of beginnings of words
        and the states behind them; of those in one state for which it gives the same only the cheapest goes on.
        """
        if self.distance[state] < 0:
            return
        queue = [(self.distance[state], b"", 0, state)]
        met: set[tuple[int, object]] = set()
        classes = self.dfa.classes.tolist()
        while queue:
            check_time()
            _, word, cost, state = heapq.heappop(queue)
            if alike is not None:
                if (known := (state, alike(word, state))) in met:
                    continue
                met.add(known)
            if self.accepting[state] and word not in taken:
                yield cost, word
            row = self.dfa.table[state].tolist()
            for byte in range(256):
                target = row[classes[byte]]
                if target >= 0 and self.distance[target] >= 0:
                    after = cost + self.weights[byte]
                    heapq.heappush(queue, (after + self.distance[target], word + bytes([byte]), after, target))


def _least(found: Iterable[W | None]) -> W | None:
    """The shortest, and among those the first."""
    return min((f for f in found if f is not None), key=lambda f: (len(f), tuple(f)), default=None)


def _joined(parts: Sequence[Word]) -> Word:
    if all(isinstance(part, bytes) for part in parts):
        return b"".join(parts)  # type: ignore[arg-type]
    return tuple(unit for part in parts for unit in part)


def spelled(content: bytes) -> bytes:
    """UTF-8, or a part of it, inside a JSON string."""
    return b"".join([_SPELLING[b] for b in content])


def _escape(char: bytes, short: bool) -> bytes:
    """An escape for one character: the short one if there is one and it may be used."""
    code = ord(char.decode())
    if short and code in _SHORT:
        return _SHORT[code]
    units = [code] if code < 0x10000 else [0xD800 + ((code - 0x10000) >> 10), 0xDC00 + (code & 0x3FF)]
    return b"".join(b"\\u%04x" % unit for unit in units)
