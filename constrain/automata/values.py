"""Ways in which a thread can go on that differ in the value they spell: for arrays whose items are compared.

Of the texts for one value nearly always only one is produced: no whitespace, no needless escapes, members in one order.
(A number may come in several spellings.) So among one more texts than an array has items there is one with a new value,
and when fewer come, these are all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from .._errors import LimitError
from .._limits import check_time, within
from .endlessness import is_endless
from .grammar import (
    NOWHERE,
    SYMBOL,
    ArrayShape,
    Call,
    Frame,
    Guard,
    Layout,
    Lexeme,
    Node,
    ObjectShape,
    Select,
    Skin,
    Union,
    resolve,
)
from .lexeme_texts import LexemeTexts, written
from .oracle import (
    Items,
    Members,
    Oracle,
    Place,
    Thread,
    _allowed_keys,
    _KeyLexeme,
    _missing,
    _recorded,
    callees,
    value_of,
)
from .places import Places
from .shortest import Completer
from .spellings import spellings, words_of

__all__ = ["Values"]

_HEIGHT = 16
"""How deep the values that are looked at are nested."""
_MOST_SECONDS = 1.0
"""Time of one question at run time; what is not known by then is taken to exist."""
_MOST_TEXTS = 20_000
"""Texts that are looked at before the search is given up, and a new value is taken to exist."""


class Values:
    def __init__(self, oracle: Oracle) -> None:
        self.oracle = oracle
        self.completer = Completer(oracle)
        self._layouts: dict[int, tuple[Layout, list[int]]] = {}
        self._lexemes = LexemeTexts(self.completer)
        self.choices: dict[int, tuple[Node, int, frozenset[object] | None]] = {}
        """Of nodes, how many values were looked for, and the values, if they are fewer (see `places`)."""

    def can_differ(self, thread: Thread) -> bool:
        """Whether every compared item that is under way, or has to follow, can end as it must: unlike the earlier ones,
        or equal to one of them.
        """
        if _compares(thread) and not self._goes_on(thread):
            return False
        inner: list[Thread] = [thread]
        frame = thread.parent
        while frame is not None and frame.unique >= 0:
            registers = frame.registers
            if isinstance(registers, Items) and registers.text is not None and not self._can_end(thread, inner, frame):
                return False
            inner.append(frame)
            frame = frame.parent
        return True

    def _can_end(self, thread: Thread, inner: list[Thread], frame: Thread) -> bool:
        """Whether the item of `frame` that a thread is in can end as it must. inner: the thread and what it returns to,
        up to the frame.
        """
        shape, registers = frame.array
        if registers.equal != NOWHERE:
            return not self._must_repeat(frame) or self._first(self._repeated(thread, frame))
        if any(map(is_endless, inner)):
            return not shape.tight or self._fits(frame, None)
        if not (registers.values or shape.tight):
            return True
        text = registers.text or b""
        texts = (text + rest for rest, _ in self._until(thread, frame))
        return self._fits(frame, texts) if shape.tight else self._new(registers.values, texts)

    def _must_repeat(self, frame: Thread) -> bool:
        """Whether the item under way in an array must equal an earlier one."""
        return self.oracle._enter_state(frame, frame.place.state) is None

    def _repeated(self, thread: Thread, frame: Thread) -> Iterator[tuple[bytes, Thread]]:
        """(text, `frame` then), such that the item under way equals an earlier one."""
        for value in frame.array[1].values:
            yield from spellings(self.completer, thread, frame, value)

    def _first(self, ways: Iterator[object]) -> bool:
        """Whether there is any; true where that is not known in time."""
        try:
            with within(_MOST_SECONDS):
                return next(ways, None) is not None
        except (LimitError, RecursionError):
            return True

    def completions(self, thread: Thread, frame: Thread) -> Iterator[tuple[bytes, Thread]]:
        """(text, `frame` then): from a thread in a unique array to the return to `frame`, a caller of it."""
        return self._until(thread, frame)

    def is_endless(self, thread: Thread) -> bool:
        """Whether infinitely many values can surely still follow in what a thread is in."""
        return is_endless(thread)

    def words(self, node: Node) -> Iterator[bytes]:
        """Texts of a node, the value of each once."""
        return self._values(node, _HEIGHT)

    def _goes_on(self, thread: Thread) -> bool:
        """Whether an array can go on, as far as its items must be unlike each other: where it is `tight` in all that
        must still follow, else in one more item after a comma.
        """
        shape, registers = thread.array
        if shape.endless:
            return True
        if shape.tight:
            return self._fits(thread, None)
        if thread.layout_state.guard is not Guard.MORE:
            return True
        item = shape.prefix[registers.begun] if registers.begun < len(shape.prefix) else shape.rest
        return item is not None and self._new(registers.values, self._values(item, _HEIGHT))

    def _fits(self, frame: Thread, texts: Iterator[bytes] | None) -> bool:
        """Whether the items that follow can all be different. texts: of the item under way, if one is."""
        try:
            with within(_MOST_SECONDS):
                return Places(self, frame).fill(texts)
        except (LimitError, RecursionError):  # not known
            return True

    def _new(self, values: tuple[object, ...], texts: Iterator[bytes]) -> bool:
        try:
            with within(_MOST_SECONDS):
                for looked_at, text in enumerate(texts):
                    if value_of(text) not in values or looked_at > _MOST_TEXTS:
                        return True
        except (LimitError, RecursionError):  # not known
            return True
        return False

    # What remains of threads -----------------------------------------------------------------------------------------

    def _until(self, thread: Thread, frame: Thread) -> Iterator[tuple[bytes, Thread]]:
        if thread.depth <= frame.depth:
            yield b"", thread
            return
        bound = self._bound(thread, frame)
        if bound is not None:
            for rest, above in self._repeated(thread, bound):
                for more, last in self._until(above, frame):
                    yield rest + more, last
            return
        for rest, caller in self._rests(thread):
            above = _recorded(caller, rest)
            registers = above.registers
            # does what follows depend on what is said?
            matters = isinstance(thread.node, _KeyLexeme) or _is_compared(above, frame)
            if isinstance(registers, Items) and registers.text is not None and above.depth > frame.depth:
                landed = self.oracle._land(above, value_of(registers.text + rest))
                if landed is None:
                    continue
                above = landed
            ends = False
            for more, last in self._until(above, frame):
                ends = True
                yield rest + more, last
            if not ends and not matters:
                return

    def _bound(self, thread: Thread, frame: Thread) -> Thread | None:
        """Of the arrays around a thread and within `frame`, the outermost whose item under way must equal an earlier
        one.
        """
        found, above = None, thread.parent
        while above is not None and above.depth > frame.depth:
            registers = above.registers
            compared = isinstance(registers, Items) and registers.text is not None and registers.equal != NOWHERE
            if compared and self._must_repeat(above):
                found = above
            above = above.parent
        return found

    def _rests(self, thread: Thread) -> Iterator[tuple[bytes, Thread]]:
        """(rest of what the innermost node spells, its caller then)."""
        node, parent = thread.node, thread.caller
        if isinstance(node, Lexeme):
            content, escape = thread.text
            heads = self.completer._after_escape(thread) if escape else [(b"", content)]
            for head, begun in heads:
                if isinstance(node, _KeyLexeme):
                    _, members = parent.object
                    for key in self._keys(parent, begun, None):
                        after = parent._replace(registers=members._replace(emitted=(*members.emitted, key)))
                        yield head + written(key[len(begun) :], node.skin), after
                else:
                    for rest in self._lexemes.rests(node, begun):
                        yield head + rest, parent
        else:
            for rest in self._rest(thread, _HEIGHT, None):
                yield rest, parent

    # Nodes -----------------------------------------------------------------------------------------------------------

    def _values(self, node: Node, height: int) -> Iterator[bytes]:
        node = resolve(node)
        if isinstance(node, Union):
            for alternative in node.alternatives:
                yield from self._values(alternative, height)
        elif isinstance(node, Lexeme):
            opening = b'"' if node.skin is Skin.JSON_STRING else b""
            for text in self._lexemes.rests(node, b""):
                yield opening + text
        elif isinstance(node, Frame):
            check_time()
            if height == 0:
                raise LimitError("max_depth", _HEIGHT, "nesting of the values that may be left")
            registers = Members() if isinstance(node.shape, ObjectShape) else Items()
            yield from self._rest(Thread(node, Place(), registers, None, 0), height, b"")

    def _keys(self, frame: Thread, content: bytes, floor: bytes | None) -> Iterator[bytes]:
        """Keys that start with `content` and may follow in an object. floor: all in turn after this one, so that each
        set of members comes once: declared keys in ascending order, then additional ones; None: whichever may follow.
        """
        shape, members = frame.object
        missing = _missing(shape, members.emitted)
        declared = _allowed_keys(shape, members, [k for k in shape.keys if k.startswith(content)])
        if floor is not None and shape.rank is None:
            declared = {k for k in declared if k >= floor and k <= min(missing, default=k)}
        yield from sorted(declared, key=lambda k: (k not in missing, k))
        if shape.extra is None or (floor is not None and missing) or (state := shape.extra.run(content)) < 0:
            return
        taken = {k[len(content) :] for k in (*shape.keys, *members.emitted) if k.startswith(content)}
        for label in range(len(shape.extra_values)):
            for _, rest in self.completer._paths(shape.extra, shape.skin, label).words(state, taken):
                if not _allowed_keys(shape, members, [content + rest]):
                    break  # nor is any other of the label
                yield content + rest
                if floor is not None:
                    break

    def _rest(self, thread: Thread, height: int, floor: bytes | None) -> Iterator[bytes]:
        """Rests of a frame; floor: see `_keys`, for keys chosen from here on. Of an object with a diagram those of few
        members come first: one that is no use now could be followed by more of its kind for ever.
        """
        if not isinstance(thread.frame.shape, ObjectShape) or thread.frame.shape.diagram is None:
            yield from self._frame(thread, height, floor, _Sizes())
            return
        sizes = _Sizes(most=len(thread.object[1].emitted) + 1)
        yield from self._frame(thread, height, floor, sizes)
        while sizes.is_cut:
            check_time()
            assert sizes.most is not None
            sizes = _Sizes(sizes.most, 2 * sizes.most)
            yield from self._frame(thread, height, floor, sizes)

    def _frame(self, thread: Thread, height: int, floor: bytes | None, sizes: _Sizes) -> Iterator[bytes]:
        """Rests of a frame, as an object of a size within `sizes`."""
        state = thread.layout_state
        if _compares(thread) and thread.array[0].tight and not self._goes_on(thread):
            return
        if state.final and sizes.has(thread):
            yield b""
        distance = self._distances(thread.frame.layout)
        for byte, target in sorted(state.edges, key=lambda edge: distance[edge[1]]):
            moved = self.oracle._enter_state(thread, target)
            if moved is not None and byte < SYMBOL:
                for rest in self._frame(moved, height, floor, sizes):
                    yield bytes([byte]) + rest
        calls = sorted(state.calls, key=lambda call: min(distance[place] for place in _returns(call)))
        if len(calls) > 1 and _compares(thread) and thread.array[0].tight:
            # the values that are left may take longer ways, and the shortest may lead around for ever
            first = Places(self, thread).next_return()
            calls.sort(key=lambda call: call.returns != first)
        for call in calls:
            if call.select is Select.KEY and sizes.ends_at(thread):
                continue
            for ways in self._called(thread, call, height, floor or b""):
                for text, moved, after in ways:
                    ends = False
                    for rest in self._frame(moved, height, after, sizes):
                        ends = True
                        yield text + rest
                    if not ends and call.select is not Select.KEY and not _compares(thread):
                        break  # what follows does not depend on the value

    def _distances(self, layout: Layout) -> list[int]:
        """Steps from each state of a layout to a final one, guards aside: whoever goes the shorter way first arrives.
        """
        known = self._layouts.get(id(layout))
        if known is None:
            steps = [0 if state.final else len(layout.states) for state in layout.states]
            for _ in layout.states:
                for i, state in enumerate(layout.states):
                    targets = [target for _, target in state.edges]
                    targets += [place for call in state.calls for place in _returns(call)]
                    steps[i] = min([steps[i], *(steps[target] + 1 for target in targets)])
            known = self._layouts[id(layout)] = layout, steps
        return known[1]

    def _called(
        self, thread: Thread, call: Call, height: int, floor: bytes
    ) -> Iterator[Iterator[tuple[bytes, Thread, bytes]]]:
        """(text, frame, floor then) of what a call calls: of the keys, or of one node after the other."""
        if call.select is Select.KEY:
            yield self._members(thread, call, floor)
            return
        for node, after in callees(thread, call):
            caller = self.oracle._caller(after, call)
            if caller is not None:
                yield self._options(call, node, caller, height, floor)

    def _members(self, thread: Thread, call: Call, floor: bytes) -> Iterator[tuple[bytes, Thread, bytes]]:
        moved = self.oracle._enter_state(thread, call.returns)
        assert moved is not None
        shape, members = moved.object
        for key in self._keys(moved, b"", floor):
            opening = b'"' if shape.skin is Skin.JSON_STRING else b""
            after = moved._replace(registers=members._replace(emitted=(*members.emitted, key)))
            yield opening + written(key, shape.skin), after, (key if key in shape.keys else b"\xff")

    def _options(
        self, call: Call, node: Node, caller: Thread, height: int, floor: bytes
    ) -> Iterator[tuple[bytes, Thread, bytes]]:
        """(text, frame, floor then) of one node that a call calls."""
        if call.equal is None:
            for text in self._values(node, height - 1):
                yield text, caller, floor
            return
        texts = self._values(node, height - 1)
        if call.equal != NOWHERE and self._must_repeat(caller):
            _, registers = caller.array
            texts = (text for value in registers.values for text in islice(words_of(node, value), 1))
        for text in texts:
            landed = self.oracle._land(caller, value_of(text))
            if landed is not None:
                yield text, landed, floor


@dataclass
class _Sizes:
    """How many members an object may have in one search: more than `least`, at most `most`. is_cut: there were more."""

    least: int = -1
    most: int | None = None
    is_cut: bool = False

    def has(self, thread: Thread) -> bool:
        return self.most is None or len(thread.object[1].emitted) > self.least

    def ends_at(self, thread: Thread) -> bool:
        """Whether an object gets no more members."""
        if self.most is None or len(thread.object[1].emitted) < self.most:
            return False
        self.is_cut = True
        return True


def _returns(call: Call) -> tuple[int, ...]:
    """The states that a call can return to."""
    return (call.returns,) if call.equal is None or call.equal == NOWHERE else (call.returns, call.equal)


def _compares(thread: Thread) -> bool:
    return isinstance(thread.node, Frame) and isinstance(thread.node.shape, ArrayShape) and thread.node.shape.compared


def _is_compared(thread: Thread | None, frame: Thread) -> bool:
    """Whether what a thread writes is part of an item that an array within `frame` compares."""
    while thread is not None and thread.depth > frame.depth:
        if isinstance(thread.registers, Items) and thread.registers.text is not None:
            return True
        thread = thread.parent
    return False
