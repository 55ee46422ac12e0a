"""The reference interpreter: runs a grammar byte by byte, in plain Python, as directly as it can be said.

It is the oracle that the kernels are tested against token by token, the engine of `grammar.accepts` and of
`constrain check`, and the source of explanations. Nothing here is shared with the kernels but the grammar itself:
contents are kept as bytes, emitted keys in a tuple, and every question of viability ("is there a completion?") is asked
from first principles.

A *thread* (`threads`) is one way to read the text so far.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from .._limits import check_time
from ..languages.dfa import DFA
from ..languages.operations import with_labels
from .diagrams import completable, options
from .grammar import (
    NOWHERE,
    SYMBOL,
    ArrayShape,
    Call,
    Frame,
    Guard,
    Lexeme,
    Node,
    ObjectShape,
    Select,
    Skin,
    Space,
    Union,
    resolve,
)
from .threads import DONE, Ahead, Items, Members, Place, Text, Thread

if TYPE_CHECKING:
    from .values import Values

__all__ = [
    "DONE",
    "Items",
    "Members",
    "Oracle",
    "Place",
    "Thread",
    "callees",
    "children",
    "key_lexeme",
    "nullable",
    "value_of",
]

BLANKS = b" \t\n\r"
QUOTE, BACKSLASH = ord('"'), ord("\\")
SHORT_ESCAPES = {ord(k): ord(v) for k, v in zip('"\\/bfnrt', '"\\/\b\f\n\r\t', strict=True)}
_LATELY = 256
_MOST_DIGITS = 4000  # of an exponent
HEX = frozenset(b"0123456789abcdefABCDEF")


@dataclass(frozen=True)
class Oracle:
    """Interpreter of the grammar under `root`. any_space lifts the bounds on whitespace runs (for checking texts)."""

    root: Node
    any_space: bool = False

    def accepts(self, data: bytes | Sequence[int]) -> bool:
        """Whether `data`, bytes or a sequence with symbols among them, is a whole word of the grammar."""
        threads, used = self.run(data)
        return used == len(data) and self.is_accepting(threads)

    def run(self, data: bytes | Sequence[int]) -> tuple[list[Thread], int]:
        """Threads after the longest viable prefix of `data`, and its length."""
        threads = self.start()
        for i, byte in enumerate(data):
            following = self.advance(threads, byte)
            if not following:
                return threads, i
            threads = following
        return threads, len(data)

    def start(self) -> list[Thread]:
        """The threads before the first byte: frames that call the root are implied by parent None."""
        return [Thread(_Root(self.root), Place(), None, None, -1)]

    def advance(self, threads: Iterable[Thread], byte: int) -> list[Thread]:
        """Every way to read one more byte or symbol; equal threads are merged."""
        check_time()
        ready = (u for thread in threads for u in self.closure(thread))
        data = bytes([byte & 255])
        read = dict.fromkeys(_recorded(t, data) for u in ready for t in self._consume(u, byte))
        return [t for t in read if self._can_differ(t)]

    def is_accepting(self, threads: Iterable[Thread]) -> bool:
        return any(u is DONE for thread in threads for u in self.closure(thread))

    def closure(self, thread: Thread) -> Iterator[Thread]:
        """`thread` and all that it can become without reading: returns to callers, and calls that match nothing."""
        if isinstance(thread.node, Lexeme) and thread.node.skin is Skin.JSON_STRING:
            yield thread
            return
        todo, seen = [thread], {thread}
        while todo:
            this = todo.pop()
            yield this
            for other in self._silent(this):
                if other not in seen:
                    seen.add(other)
                    todo.append(other)

    def _can_differ(self, thread: Thread) -> bool:
        """Whether all compared items that are under way, or have to come, can end as they must."""
        return thread.node is None or thread.unique < 0 or self._values.can_differ(thread)

    @cached_property
    def _values(self) -> Values:
        from .values import Values

        return Values(self)

    # One step without input ------------------------------------------------------------------------------------------

    def _silent(self, thread: Thread) -> Iterator[Thread]:
        node = thread.node
        if isinstance(node, Lexeme):
            if node.skin is Skin.RAW and self._label(thread) >= 0:
                yield from self._return(thread)
        elif isinstance(node, _Root):
            if thread.place.state == 1 or nullable(node.node):
                yield DONE
        elif isinstance(node, Frame):
            state = thread.layout_state
            if state.final:
                yield from self._return(thread)
            for call in state.calls:
                if call.node is not None and nullable(call.node):
                    moved = self._enter_state(thread, call.returns)
                    if moved is not None:
                        yield moved

    def _return(self, thread: Thread, last: bytes = b"") -> Iterator[Thread]:
        """Give control back to the calling frame; a key or an item is recorded there, if it may be. last: what was just
        read, and is not recorded yet.
        """
        parent = thread.caller
        if isinstance(parent.registers, Items) and parent.registers.text is not None:
            landed = self._land(parent, value_of(parent.registers.text + last))
            if landed is None:
                return
            parent = landed
        if isinstance(thread.node, _KeyLexeme):
            key, (shape, members) = thread.text.content, parent.object
            if key not in _allowed_keys(shape, members, [key]):
                return
            parent = parent._replace(registers=members._replace(emitted=(*members.emitted, key)))
        yield parent

    def _land(self, frame: Thread, value: object) -> Thread | None:
        """An array frame after a compared item with that value has ended; None where it must not have it."""
        _, registers = frame.array
        if value not in registers.values:
            frame = frame._replace(registers=Items(registers.begun, (*registers.values, value)))
            return self._enter_state(frame, frame.place.state)
        if registers.equal == NOWHERE:
            return None
        return frame._replace(position=Place(registers.equal), registers=Items(registers.begun))

    # One step with input ---------------------------------------------------------------------------------------------

    def _consume(self, thread: Thread, byte: int) -> Iterator[Thread]:
        node = thread.node
        if isinstance(node, Lexeme):
            yield from self._consume_text(thread, byte)
        elif isinstance(node, _Root):
            if thread.place.state == 0:
                yield from self._enter(node.node, byte, thread._replace(position=Place(1)))
        elif isinstance(node, Frame):
            state = thread.layout_state
            if state.space is not None and byte < SYMBOL and byte in BLANKS:
                yield from self._consume_space(thread, state.space, byte)
            for edge, target in state.edges:
                if edge == byte:
                    moved = self._enter_state(thread, target)
                    if moved is not None:
                        yield moved
            for call in state.calls:
                yield from self._call(thread, call, byte)

    def _consume_space(self, thread: Thread, space: Space, byte: int) -> Iterator[Thread]:
        _, blanks, newlines = thread.place
        if byte == ord("\n"):
            newlines += 1
        else:
            blanks += 1
        if self.any_space:
            yield thread
        elif newlines <= space.newlines and blanks <= space.base + space.per_level * _level(thread):
            yield thread._replace(position=Place(thread.place.state, blanks, newlines))

    def _call(self, thread: Thread, call: Call, byte: int) -> Iterator[Thread]:
        for node, after in callees(thread, call):
            caller = self._caller(after, call)
            if caller is not None:
                yield from self._enter(node, byte, caller)

    def _caller(self, after: Thread, call: Call) -> Thread | None:
        """The calling frame in the state that the call returns to. What a compared item returns to is asked at its end.
        """
        if call.equal is not None:
            return after._replace(position=Place(call.returns))
        return self._enter_state(after, call.returns)

    def _enter(self, node: Node, byte: int, parent: Thread) -> Iterator[Thread]:
        """All ways to start `node`, called by `parent`, with `byte`."""
        node = resolve(node)
        if isinstance(node, Union):
            for alternative in node.alternatives:
                yield from self._enter(alternative, byte, parent)
        elif isinstance(node, Lexeme):
            thread = Thread(node, Text.begin(node), None, parent, parent.depth + 1, parent.unique)
            if node.skin is Skin.RAW:
                yield from self._consume_text(thread, byte)
            elif byte == QUOTE and self._goes_on(thread, b""):
                yield thread
        elif isinstance(node, Frame):
            registers: Members | Items | None = None
            if node.shape is not None:
                registers = Members() if isinstance(node.shape, ObjectShape) else Items()
            unique = isinstance(node.shape, ArrayShape) and node.shape.compared
            depth = parent.depth + 1
            begun = Thread(node, Place(), registers, parent, depth, depth if unique else parent.unique)
            for thread in self.closure(begun):
                if thread.node is node and thread.parent is parent:  # what begins with a call that matches nothing
                    yield from self._consume(thread, byte)

    def _enter_state(self, thread: Thread, target: int) -> Thread | None:
        """The frame in another layout state, if that state's guard lets it in."""
        guard = thread.frame.layout.states[target].guard
        if guard is Guard.CLOSE and not _may_close(thread):
            return None
        if guard is Guard.MORE and not _may_continue(thread):
            return None
        if guard is Guard.NEVER:
            return None
        return thread._replace(position=Place(target))

    # Lexemes ---------------------------------------------------------------------------------------------------------

    def _consume_text(self, thread: Thread, byte: int) -> Iterator[Thread]:
        text = thread.text
        if byte >= SYMBOL:
            return
        if text.escape:
            escape = text.escape + bytes([byte])
            decoded = _decode_escape(escape)
            if isinstance(decoded, int):
                yield from self._read(thread, chr(decoded).encode())
            elif decoded is not None and any(self._some_char(thread, low, high) for low, high in decoded):
                yield thread._replace(position=text.within(escape))
        elif thread.lexeme.skin is Skin.RAW:
            yield from self._read(thread, bytes([byte]))
        elif byte == BACKSLASH:
            starts = [(c, c) for c in SHORT_ESCAPES.values()] + [(0, 0xD7FF), (0xE000, 0x10FFFF)]
            if any(self._some_char(thread, low, high) for low, high in starts):
                yield thread._replace(position=text.within(b"\\"))
        elif byte == QUOTE:
            if self._label(thread) >= 0:
                yield from self._return(thread, bytes([byte]))
        elif byte >= 0x20:
            yield from self._read(thread, bytes([byte]))

    def _label(self, thread: Thread) -> int:
        """Whether the content so far is a word of the lexeme (>= 0)."""
        node, (state, chars, low, high) = thread.lexeme, thread.text.ahead
        if low < high and node.words[low] == thread.text.content:
            return 0
        label = int(node.dfa.labels[state]) if node.dfa is not None and state >= 0 else -1
        if node.remainders is not None:
            return 0 if state >= 0 and node.remainders.may_end(state, chars) else -1
        if label >= 0 and node.min_chars <= chars <= _most(node.max_chars):
            return label
        return -1

    def _read(self, thread: Thread, data: bytes) -> Iterator[Thread]:
        """The thread with more content, if some word goes on like that."""
        ahead = self._goes_on(thread, data)
        if ahead is not None:
            yield thread._replace(position=thread.text.then(data, ahead))

    def _goes_on(self, thread: Thread, data: bytes) -> Ahead | None:
        """What the content and `data` lead to, if some word of the lexeme starts so; of keys, one that may be emitted
        now.
        """
        node = thread.lexeme
        ahead = thread.text.look(node, data)
        if isinstance(node, _KeyLexeme):
            content = thread.text.content + data
            return ahead if _key_viable(*thread.caller.object, content) else None
        if ahead.low < ahead.high or _dfa_viable(node, ahead):
            return ahead
        return None

    def _some_char(self, thread: Thread, low: int, high: int) -> bool:
        """Whether the content can go on with some character in low..high (not a surrogate)."""
        return any(self._goes_on(thread, c) is not None for c in _next_chars(thread, low, high))


def _recorded(thread: Thread, data: bytes) -> Thread:
    """The thread, with more text in all items that it is in."""
    if thread.node is None or thread.unique < 0 or thread.parent is None or thread.parent.unique < 0:
        return thread
    parent = _recorded(thread.parent, data)
    if isinstance(parent.registers, Items) and parent.registers.text is not None:
        parent = parent._replace(registers=parent.registers._replace(text=parent.registers.text + data))
    return thread._replace(parent=parent)


def value_of(text: bytes) -> object:
    """A hashable form of a JSON text: equal for equal values, whatever their spelling and the order of members."""
    return _hashable(json.loads(text, parse_float=_number, parse_int=_number))


def _number(text: str) -> object:
    """The value of a JSON number, of any size: sign, digits without zeros at either end, and the place of the point."""
    mantissa, _, power = text.lower().partition("e")
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    digits = (whole + fraction).lstrip("0")
    if not digits:
        return ("number", 0)
    exponent = power.lstrip("+-").lstrip("0") or "0"
    if len(exponent) > _MOST_DIGITS:
        return ("number", text)  # no integer; equal only if spelled alike
    place = len(digits) - len(fraction) + (-int(exponent) if power.startswith("-") else int(exponent))
    return ("number", mantissa.startswith("-"), digits.rstrip("0"), place)


def _hashable(value: object) -> object:
    if isinstance(value, list):
        return ("array", *map(_hashable, value))
    if isinstance(value, dict):
        return ("object", frozenset((key, _hashable(item)) for key, item in value.items()))
    return ("bool", value) if isinstance(value, bool) else value


class _Root(Node):
    """The frame below everything: calls the root node, then ends."""

    __slots__ = ("node",)

    def __init__(self, node: Node) -> None:
        self.node = node


@dataclass(eq=False)
class _KeyLexeme(Lexeme):
    """The keys of an object, as a lexeme; what is allowed depends on the registers of the object's frame."""


def key_lexeme(shape: ObjectShape) -> _KeyLexeme:
    """The key lexeme of a shape; one object per shape, so that threads compare equal."""
    found = shape.__dict__.get("_key_lexeme")
    if found is None:
        words = tuple(k for k, v in zip(shape.keys, shape.values, strict=True) if v is not None)
        found = shape.__dict__["_key_lexeme"] = _KeyLexeme(words, shape.extra, skin=shape.skin)
    return found


def nullable(node: Node) -> bool:
    """Whether the empty text is a word of `node`."""
    node = resolve(node)
    if isinstance(node, Union):
        return any(map(nullable, node.alternatives))
    if isinstance(node, Lexeme):
        return node.skin is Skin.RAW and (
            b"" in node.words
            or (node.dfa is not None and not node.dfa.is_empty and node.dfa.labels[0] >= 0 and node.min_chars == 0)
        )
    return isinstance(node, Frame) and node.layout.states[0].final


def callees(thread: Thread, call: Call) -> Iterator[tuple[Node, Thread]]:
    """The nodes that `call` can call for the thread's registers, each with the caller afterwards."""
    if call.node is not None and call.select is Select.NODE:
        yield call.node, thread
    elif call.select is Select.ITEM:
        shape, (begun, values, *_) = thread.array
        if call.node is not None or _may_continue(thread):
            item = call.node or (shape.prefix[begun] if begun < len(shape.prefix) else shape.rest)
            assert item is not None
            after = Items(begun + 1, values) if call.equal is None else Items(begun + 1, values, b"", call.equal)
            yield item, thread._replace(registers=after)
    elif call.select is Select.KEY:
        yield key_lexeme(thread.object[0]), thread
    else:
        shape_, members = thread.object
        for node, option in options(shape_, members.emitted[-1]):
            if shape_.diagram is None:
                yield node, thread
                continue
            taken = members._replace(chosen=(*members.chosen, option))
            if completable(shape_, taken):
                yield node, thread._replace(registers=taken)


def children(node: Node) -> Iterator[Node]:
    """Nodes that `node` can call, resolved."""
    node = resolve(node)
    if isinstance(node, Union):
        yield from map(resolve, node.alternatives)
    elif isinstance(node, Frame):
        yield from (resolve(c.node) for s in node.layout.states for c in s.calls if c.node is not None)
        if isinstance(node.shape, ObjectShape):
            yield from (resolve(v) for v in (*node.shape.values, *node.shape.extra_values) if v is not None)
            if node.shape.diagram is not None:
                yield from (resolve(v) for values in node.shape.diagram.options for v in values)
                yield from (resolve(v) for pairs in node.shape.diagram.others for v, _ in pairs)
        elif isinstance(node.shape, ArrayShape):
            yield from (resolve(v) for v in (*node.shape.prefix, node.shape.rest) if v is not None)


# What shapes allow ---------------------------------------------------------------------------------------------------


def _level(thread: Thread) -> int:
    """Objects and arrays around a frame."""
    level, around = 0, thread.parent
    while around is not None:
        level += isinstance(around.node, Frame) and around.node.shape is not None
        around = around.parent
    return level


def _may_close(thread: Thread) -> bool:
    if isinstance(thread.frame.shape, ArrayShape):
        shape, (begun, *_) = thread.array
        return begun >= shape.min_items
    shape_, members = thread.object
    if len(members.emitted) < shape_.min_members or _missing(shape_, members.emitted):
        return False
    return completable(shape_, members, now=True)


def _may_continue(thread: Thread) -> bool:
    if isinstance(thread.frame.shape, ArrayShape):
        shape, (begun, *_) = thread.array
        return (begun < len(shape.prefix) or shape.rest is not None) and begun < _most(shape.max_items)
    return _key_viable(*thread.object, b"")


def _missing(shape: ObjectShape, emitted: Iterable[bytes]) -> set[bytes]:
    return {k for k, needed in zip(shape.keys, shape.required, strict=True) if needed} - set(emitted)


def _allowed_keys(shape: ObjectShape, registers: Members, candidates: Iterable[bytes]) -> set[bytes]:
    """The candidates that may be emitted next, such that the object can still be completed."""
    emitted, place = registers.emitted, {k: i for i, k in enumerate(shape.keys)}
    missing = _missing(shape, emitted)
    result = set()
    for key in candidates:
        declared = key in place
        if key in emitted or (declared and shape.values[place[key]] is None):
            continue
        if not declared and (shape.extra is None or shape.extra.label(key) < 0):
            continue
        if len(emitted) + 1 + len(missing) - (key in missing) > _most(shape.max_members):
            continue
        if shape.rank is not None and not _in_order(shape, shape.rank, emitted, key, missing):
            continue
        if not completable(shape, registers._replace(emitted=(*emitted, key))):
            continue
        result.add(key)
    return result


def _in_order(
    shape: ObjectShape, ranks: tuple[int, ...], emitted: tuple[bytes, ...], key: bytes, missing: set[bytes]
) -> bool:
    """Whether `key` may come next in a fixed order: nothing required is skipped, and enough is left for the minimum."""
    rank = dict(zip(shape.keys, ranks, strict=True))
    last = len(rank)  # additional keys come after all declared ones

    def position(k: bytes) -> int:
        return rank.get(k, last)

    here = position(key)
    if any(position(k) > here or (position(k) == here and here < last) for k in emitted):
        return False
    if any(position(k) < here for k in missing):
        return False
    if shape.extra is not None:
        return True
    left = sum(1 for k, v in zip(shape.keys, shape.values, strict=True) if v is not None and rank[k] > here)
    return len(emitted) + 1 + left >= shape.min_members


def _key_viable(shape: ObjectShape, registers: Members, content: bytes) -> bool:
    """Whether some key that starts with `content` may be emitted next."""
    declared = [k for k in shape.keys if k.startswith(content)]
    if declared and _allowed_keys(shape, registers, declared):
        return True
    if shape.extra is None or (state := _state(shape.extra, content)) < 0:
        return False
    emitted, missing = registers.emitted, _missing(shape, registers.emitted)
    if len(emitted) + 1 + len(missing) > _most(shape.max_members) or (shape.rank is not None and missing):
        return False
    extra = shape.extra
    if shape.diagram is not None:
        labels = _labels_from(extra, state)
        kept = frozenset(label for label in labels if completable(shape, registers, label=label))
        if not kept:
            return False
        if len(kept) < len(labels):
            extra = _part(extra, kept)
            state = extra.run(content)
    # an additional key: one that is neither declared nor emitted must be left
    if extra.char_bounds[1][state] < 0:
        return True  # of infinitely many
    taken = {k for k in (*shape.keys, *emitted) if k.startswith(content) and extra.label(k) >= 0}
    return _more_words_than(extra, state, len(taken))


@lru_cache(maxsize=1024)
def _part(dfa: DFA, labels: frozenset[int]) -> DFA:
    """The words that have one of the labels."""
    return with_labels(dfa, {label: label for label in labels})


def _labels_from(dfa: DFA, state: int) -> set[int]:
    """Labels of the words that lead on from a state."""
    seen, todo = {state}, [state]
    while todo:
        for target in set(dfa.table[todo.pop()].tolist()) - seen:
            if target >= 0:
                seen.add(target)
                todo.append(target)
    return {int(dfa.labels[s]) for s in seen if dfa.labels[s] >= 0}


def _more_words_than(dfa: DFA, state: int, bound: int) -> bool:
    """Whether more than `bound` words lead from `state` to acceptance: breadth first, stopping early."""
    found, layer, steps = 0, {state: 1}, 0
    while layer:
        found += sum(ways for s, ways in layer.items() if dfa.labels[s] >= 0)
        if found > bound:
            return True
        steps += 1
        if steps > dfa.n_states:  # longer than any simple path: a loop, so there are infinitely many
            return True
        following: dict[int, int] = {}
        for s, ways in layer.items():
            for byte in range(256):
                t = dfa.step(s, byte)
                if t >= 0:
                    following[t] = following.get(t, 0) + ways
        layer = following
    return False


def _dfa_viable(node: Lexeme, ahead: Ahead) -> bool:
    state, chars, _, _ = ahead
    if node.dfa is None or state < 0:
        return False
    if node.remainders is not None:
        return node.remainders.is_viable(state, chars)
    if node.min_chars == 0 and node.max_chars is None:
        return True
    least, most = node.dfa.char_bounds
    within = chars + least[state] <= _most(node.max_chars)
    return bool(within and (most[state] < 0 or chars + most[state] >= node.min_chars))


def _state(dfa: DFA, content: bytes) -> int:
    """`dfa.run(content)`, by a step or few from a state that was met lately: long texts are read one byte at a time."""
    lately: dict[bytes, int] = dfa.__dict__.setdefault("_lately", {})
    state = lately.get(content)
    if state is None:
        known = next((cut for cut in range(1, 5) if content[:-cut] in lately), len(content))
        state = dfa.run(content[-known:], lately[content[:-known]]) if known < len(content) else dfa.run(content)
        if len(lately) >= _LATELY:
            lately.clear()
        lately[content] = state
    return state


# Characters and escapes ----------------------------------------------------------------------------------------------


def _most(bound: int | None) -> float:
    return float("inf") if bound is None else bound


def _decode_escape(raw: bytes) -> int | list[tuple[int, int]] | None:
    """A raw escape, from its backslash: the code point if it is complete, the ranges still possible if it is a proper
    prefix, None if it is neither.
    """
    if len(raw) == 2 and raw[1] in SHORT_ESCAPES:
        return SHORT_ESCAPES[raw[1]]
    low = _unit_range(raw[:6])
    if low is None:
        return None
    if len(raw) < 6:
        return _without_low_surrogates(*low)
    unit = low[0]
    if not 0xD800 <= unit < 0xE000:
        return unit
    if unit >= 0xDC00:
        return None
    base = 0x10000 + ((unit - 0xD800) << 10)
    second = _unit_range(raw[6:]) if len(raw) > 6 else (0xDC00, 0xDFFF)
    if second is None:
        return None
    first, last = max(second[0], 0xDC00), min(second[1], 0xDFFF)
    if first > last:
        return None
    if len(raw) == 12:
        return base + first - 0xDC00
    return [(base + first - 0xDC00, base + last - 0xDC00)]


def _unit_range(raw: bytes) -> tuple[int, int] | None:
    """UTF-16 units that an escape of four hexadecimal digits can be when its first bytes are `raw`."""
    if not b"\\u".startswith(raw[:2]) or any(b not in HEX for b in raw[2:]):
        return None
    digits = raw[2:].decode()
    return int(digits.ljust(4, "0"), 16), int(digits.ljust(4, "f"), 16)


def _without_low_surrogates(low: int, high: int) -> list[tuple[int, int]] | None:
    """Code points that a first unit in low..high can lead to."""
    ranges = [(low, min(high, 0xD7FF)), (max(low, 0xE000), high)]
    first, last = max(low, 0xD800), min(high, 0xDBFF)
    if first <= last:
        ranges.append((0x10000 + ((first - 0xD800) << 10), 0x10000 + ((last - 0xD800) << 10) + 0x3FF))
    return [(a, b) for a, b in ranges if a <= b] or None


def _next_chars(thread: Thread, low: int, high: int) -> Iterator[bytes]:
    """UTF-8 of characters in low..high that can come next by the words and the automaton alone; all that can, but for
    characters that are no more viable than others that are there.
    """
    node, (state, _, first, last) = thread.lexeme, thread.text.ahead
    length = len(thread.text.content) if first < last else 0
    for word in node.words[first:last]:
        if len(word) > length and word[length] & 0xC0 != 0x80:
            char = word[length:].decode()[0]
            if low <= ord(char) <= high:
                yield char.encode()
    if node.dfa is not None and not node.dfa.is_empty:
        # Behind characters that lead to one state the same words follow, so one of them will do; except that a key may
        # be used up: then one more than there are keys that can be.
        enough = 1
        if isinstance(node, _KeyLexeme):
            shape, members = thread.caller.object
            enough += len(shape.keys) + len(members.emitted)
        yield from _chars_from(node.dfa, state, low, high, enough)


def _chars_from(dfa: DFA, state: int, low: int, high: int, enough: int) -> Iterator[bytes]:
    """UTF-8 of characters in low..high that the automaton can read from `state`: of those that lead to the same state
    at least `enough`, or all.
    """
    if state < 0:
        return
    seen: Counter[tuple[int, int]] = Counter()

    def behind(state: int, head: bytes, first: int, size: int) -> Iterator[bytes]:
        """Characters first..first+size-1, of which the bytes `head` led to `state`."""
        if size == 1:
            yield head
            return
        part = size // 64
        for k in range(64):
            start = first + k * part
            target = dfa.step(state, 0x80 | k)
            if target < 0 or start > high or start + part - 1 < low:
                continue
            if low <= start and start + part - 1 <= high:
                if seen[target, part] >= enough:
                    continue
                seen[target, part] += 1
            yield from behind(target, head + bytes([0x80 | k]), start, part)

    for lead in (*range(0x80), *range(0xC2, 0xF5)):
        size = 1 if lead < 0x80 else 64 if lead < 0xE0 else 4096 if lead < 0xF0 else 262144
        mask = 0x7F if lead < 0x80 else 0x1F if lead < 0xE0 else 0x0F if lead < 0xF0 else 0x07
        first = (lead & mask) * size
        target = dfa.step(state, lead)
        if target >= 0 and first <= high and first + size - 1 >= low:
            yield from behind(target, bytes([lead]), first, size)
