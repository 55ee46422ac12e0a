"""Encodes a grammar into the flat PROGRAM array that the kernels run (layout.py), node by node, on demand.

Only what a generation reaches is encoded: the children of shapes become *stubs*, three ints each; when a kernel meets a
stub it reports it, `build` encodes the node behind it, and the kernel runs again. Addresses never move: the array grows by
copying into a larger one, and kernels that still run on the old one read the same words there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, count

import numpy as np
from numpy.typing import NDArray

from .._errors import LimitError
from .._limits import Limits
from ..languages.dfa import DFA
from ..languages.operations import ANY_STRING
from ..languages.remainders import Remainders
from . import layout as at
from .diagrams import fewest_additional
from .grammar import (
    MANY_LABELS,
    NOWHERE,
    ArrayShape,
    Call,
    Diagram,
    Frame,
    Guard,
    Layout,
    LayoutState,
    Lazy,
    Lexeme,
    Node,
    ObjectShape,
    Select,
    Skin,
    Union,
    resolve,
)
from .oracle import nullable

__all__ = ["Program"]

ANY_INPUT = (1 << at.SYMBOL + 1) - 1  # all bytes, and bit SYMBOL for symbols
_numbers = count(1)
WIDE = 48  # states that go on with at least so many bytes deserve a ready mask
MANY_WORDS = 1 << 24  # word counts saturate here
MOST_JUDGED = 1024  # states of an automaton of numbers whose values are told to be finitely many or not when it is encoded
_MOST_COMPARED = 1024
_QUOTE = ord('"')
SPACES = 1 << 0x20 | 1 << 0x09 | 1 << 0x0A | 1 << 0x0D


class Program:
    """The encoded grammar. `heap` is the array for the kernels."""

    def __init__(self, limits: Limits, mask_slot: Callable[[DFA, int, Skin], int], key_starts: frozenset[bytes]) -> None:
        """key_starts: what stands in some token behind a comma and a quote; b"" where one spells a whole key."""
        self.heap: NDArray[np.int32] = np.zeros(4096, np.int32)
        self.limits = limits
        self.number = next(_numbers)
        """Tells the grammars of a process apart, in the keys of cached masks."""
        self.entry = 0, 0
        """(frame, state) of the first configuration: a frame that calls the root node and ends."""
        self._mask_slot, self._key_starts = mask_slot, key_starts
        self._top = 2
        self._stubs: list[Node] = []
        self._nodes: dict[int, int] = {}
        self._stub_addresses: dict[int, int] = {}
        self._keep: list[object] = []  # objects whose id() is a key below must stay alive
        self._dfas: dict[tuple[int, bool, Skin], int] = {}
        self._layouts: dict[int, int] = {}
        self._classes: dict[bytes, int] = {}
        self._first: dict[int, int] = {}
        self.comparing: dict[int, Frame] = {}
        """Arrays that compare items, by their addresses."""
        self.state_numbers: dict[int, int] = {}
        """Of states of layouts, by their addresses."""
        self.dfa_states: dict[int, tuple[DFA, int, Skin]] = {}
        """States that have ready masks, by their addresses."""
        self.probe = self._lexeme(Lexeme(skin=Skin.JSON_STRING), -1)
        """A JSON string lexeme of no language of its own: a row of it may stand in any state of any automaton."""
        self.raw_probe = self._lexeme(Lexeme(), -1)

    def begin(self, root: Node) -> None:
        """Encode the frame that calls the root."""
        call = Call(Select.NODE, 1, root)
        frame = self.node(Frame(Layout((LayoutState(calls=(call,)), LayoutState(final=True)))))
        self.entry = frame, int(self.heap[frame + at.F_START])

    def encode_all(self, nodes: Iterable[Node]) -> None:
        """Encode nodes with all that they lead to."""
        for node in nodes:
            self.node(node)
        built = 0
        while built < len(self._stubs):
            for address in list(self._stub_addresses.values())[built:]:
                self.build(address)
                built += 1

    def another(self, limits: Limits, mask_slot: Callable[[DFA, int, Skin], int]) -> Program:
        """A copy of this one, to be gone on with."""
        other = object.__new__(Program)
        for name, value in self.__dict__.items():
            setattr(other, name, value.copy() if isinstance(value, (dict, list, np.ndarray)) else value)
        other.limits, other.number, other._mask_slot = limits, next(_numbers), mask_slot
        for address, shared in self.dfa_states.items():
            other.heap[address + at.D_MASK] = mask_slot(*shared)
        return other

    @property
    def nbytes(self) -> int:
        return int(self.heap.nbytes)

    def build(self, stub: int) -> None:
        """Encode the node behind the stub at that address."""
        if not self.heap[stub + at.T_BUILT]:
            address = self.node(self._stubs[self.heap[stub + at.T_INDEX]])
            self.heap[stub + at.T_BUILT] = address
            self.heap[stub + at.N_FIRST] = self.heap[address + at.N_FIRST]  # of a lazy node it was any byte

    # Nodes -------------------------------------------------------------------------------------------------------------

    def node(self, node: Node) -> int:
        """Address of `node`, encoded now if it was not yet."""
        node = resolve(node)
        found = self._nodes.get(id(node))
        if found is not None:
            return found
        if len(self._nodes) >= self.limits.max_nodes:
            raise LimitError("max_nodes", self.limits.max_nodes, "grammar nodes compiled")
        self._keep.append(node)
        if isinstance(node, Lexeme):
            address = self._lexeme(node, -1)
        elif isinstance(node, Union):
            address = self._union(node)
        else:
            assert isinstance(node, Frame)
            address = self._frame(node)
        self._nodes[id(node)] = address
        return address

    def stub(self, node: Node) -> int:
        """Address that stands for `node`: the node itself if it is encoded, else a stub."""
        target = node.built if isinstance(node, Lazy) and node.built is not None else node
        found = self._nodes.get(id(target), self._stub_addresses.get(id(target)))
        if found is None:
            found = self._node(first_bytes(node), [at.K_STUB, len(self._stubs), 0])
            self._stub_addresses[id(target)] = found
            self._stubs.append(node)
            self._keep.append(target)
        return found

    def _lexeme(self, node: Lexeme, shape: int) -> int:
        counted = at.UNCOUNTED
        if node.dfa is not None and not node.dfa.is_empty and (node.min_chars > 0 or node.max_chars is not None):
            nearest, farthest = node.dfa.char_bounds
            loose = bool((nearest == 0).all() and (farthest < 0).all())
            counted = at.LOOSE if loose else at.STRICT if nearest.max() < at.REACH else at.TIGHT
        most = -1 if node.max_chars is None else min(node.max_chars, 2**30)
        least = min(node.min_chars, 2**30)
        if node.remainders is not None and node.dfa is not None:
            counted, least = at.REMAINDER, self._remainders(node.dfa, node.remainders)
        record = [
            at.K_LEXEME,
            int(node.skin),
            len(node.words),
            *self._words(node.words),
            self._dfa(node.dfa, node.skin, count_words=shape >= 0),
            least,
            most,
            counted,
            shape,
            int(node.values > 0),
            int(node.dfa is not None and bool((node.dfa.char_bounds[1] < 0).all())),
            0 if counted == at.UNCOUNTED or node.dfa is None else int(node.dfa.char_bounds[0].max()),
        ]
        return self._node(first_bytes(node), record)

    def _union(self, node: Union) -> int:
        alternatives = [self.stub(alternative) for alternative in node.alternatives]
        return self._node(first_bytes(node), [at.K_UNION, len(alternatives), *alternatives])

    def _frame(self, node: Frame) -> int:
        start = self._layout(node.layout)
        if isinstance(node.shape, ObjectShape):
            kind, shape = at.SHAPE_OBJECT, self._object(node.shape)
        elif isinstance(node.shape, ArrayShape):
            kind, shape = at.SHAPE_ARRAY, self._array(node.shape)
        else:
            kind, shape = at.SHAPE_NONE, -1
        address = self._node(first_bytes(node), [at.K_FRAME, start, kind, shape])
        if isinstance(node.shape, ArrayShape) and node.shape.compared:
            self.comparing[address] = node
            self.heap[at.P_COMPARES] = -1
        return address

    # Shapes ------------------------------------------------------------------------------------------------------------

    def _object(self, shape: ObjectShape) -> int:
        n = len(shape.keys)
        extra = shape.extra if shape.extra is not None and not shape.extra.is_empty else None
        required = [bool(r) for r in shape.required]
        possible = [v is not None for v in shape.values]
        missing, most = sum(required), -1 if shape.max_members is None else min(shape.max_members, 2**30)
        address = self._reserve(at.O_SIZE)
        labels = (1 << len(shape.extra_values)) - 1 if len(shape.extra_values) <= MANY_LABELS else -1
        lexeme = self._lexeme(Lexeme(shape.keys, extra, skin=shape.skin), address)
        initial, extra_first = self._initially_allowed(shape, extra is not None)
        by_rank = [0] * n
        if shape.rank is not None:
            for key, rank in enumerate(shape.rank):
                by_rank[rank] = key
        self._write(
            address,
            [
                n,
                (n + 31) // 32,
                lexeme,
                self._put(self._stubs_of(shape.values)),
                self._put(_bits(required)),
                self._put(_bits(possible)),
                self._put(_bits(initial)),
                labels if extra_first else 0,
                missing,
                min(shape.min_members, 2**30),
                most,
                -1 if shape.rank is None else self._put(shape.rank),
                -1 if shape.rank is None else self._put(by_rank),
                self._put(self._stubs_of(shape.extra_values)),
                self._dfa(extra, shape.skin, count_words=True),
                len(shape.extra_values),
                -1 if shape.diagram is None else self._diagram(shape, shape.diagram),
                self._put(_bits(shape.endless or [False] * n)),
                labels,
                (n + 31) // 32 + (0 if shape.diagram is None else len(shape.diagram.keys) + 1),
                int(self._is_seen(shape)),
            ],
        )
        return address

    def _is_seen(self, shape: ObjectShape) -> bool:
        """Whether a token that begins before a comma may tell which keys can follow it, beyond whether any can."""
        if shape.diagram is not None or shape.skin is not Skin.JSON_STRING:
            return True
        extra = self._dfa(shape.extra, shape.skin, count_words=True)
        if shape.extra is not None and extra >= 0:
            size = self.dfa_record(shape.extra)
            if (self.heap[extra + at.D_WORDS : extra + shape.extra.n_states * size : size] >= 0).any():
                return True  # additional keys may be used up
            if b"" in self._key_starts:
                return True  # one may have been written
        return any(key[:1] in self._key_starts for key in shape.keys)

    def _diagram(self, shape: ObjectShape, diagram: Diagram) -> int:
        self.heap[at.P_NARROWS] = 1
        sizes = [1] if not diagram.levels else [len(nodes) for nodes in diagram.levels]
        first = list(accumulate(sizes, initial=0))
        if not diagram.levels:
            first = [0]
        level_of = [-1] * len(shape.keys)
        levels: list[int] = []
        for n, (key, options, nodes) in enumerate(zip(diagram.keys, diagram.options, diagram.levels, strict=True)):
            level_of[key] = n
            edges = [(first[n] + i, option, first[n + 1] + child) for i, row in enumerate(nodes) for option, child in row]
            values = self._put([self.stub(node) for node in options])
            levels += [key, len(options), values, len(edges), self._put([x for edge in edges for x in edge])]
        others: list[int] = []
        for pairs in diagram.others:
            others += [len(pairs), self._put([x for node, kind in pairs for x in (self.stub(node), kind)])]
        fewest = [min(cost, at.REACH + 1) for row in fewest_additional(diagram) for cost in row]
        return self._put(
            [
                len(diagram.keys),
                first[-1] + len(diagram.ends),
                self._put(level_of),
                self._put(levels),
                first[-1],
                len(diagram.ends[0]),
                self._put(fewest),
                self._put(others),
                self._put([state for row in diagram.moves for state in row]),
            ]
        )

    def _stubs_of(self, values: Iterable[Node | None]) -> list[int]:
        return [-1 if value is None else self.stub(value) for value in values]

    def _initially_allowed(self, shape: ObjectShape, open_: bool) -> tuple[list[bool], bool]:
        """Which declared keys may come first, and whether an additional one may."""
        possible = [v is not None for v in shape.values]
        missing = sum(map(bool, shape.required))
        if shape.max_members is not None and shape.max_members - missing <= 0:
            possible = [p and bool(r) for p, r in zip(possible, shape.required, strict=True)]
            open_ = False
        if shape.rank is None:
            return possible, open_
        allowed = [False] * len(possible)
        left = sum(v is not None for v in shape.values)
        for key in sorted(range(len(possible)), key=shape.rank.__getitem__):
            left -= shape.values[key] is not None
            if possible[key] and (shape.extra is not None or 1 + left >= shape.min_members):
                allowed[key] = True
            if shape.required[key]:
                return allowed, False
        return allowed, open_

    def _array(self, shape: ArrayShape) -> int:
        return self._put(
            [
                len(shape.prefix),
                self._put([self.stub(v) for v in shape.prefix]),
                -1 if shape.rest is None else self.stub(shape.rest),
                min(shape.min_items, 2**30),
                -1 if shape.max_items is None else min(shape.max_items, 2**30),
                int(shape.compared),
                int(shape.endless),
                int(shape.tight),
            ]
        )

    # Layouts -----------------------------------------------------------------------------------------------------------

    def _layout(self, layout: Layout) -> int:
        """Address of the start state."""
        found = self._layouts.get(id(layout))
        if found is not None:
            return found
        self._keep.append(layout)
        sizes = [at.S_EDGE_LIST + 2 * len(s.edges) for s in layout.states]
        places = [self._reserve(size) for size in sizes]
        self._layouts[id(layout)] = places[0]
        self.state_numbers.update((place, number) for number, place in enumerate(places))
        flags = _member_flags(layout)
        for number, (place, state) in enumerate(zip(places, layout.states, strict=True)):
            self._write(place, self._layout_state(state, places, layout, flags.get(number, 0)))
        return places[0]

    def _layout_state(self, state: LayoutState, places: Sequence[int], layout: Layout, flags: int) -> list[int]:
        closed = state.final and not state.edges and not state.calls and state.space is None
        space = state.space
        calls: list[int] = []
        for call in state.calls:
            assert call.equal is not None or layout.states[call.returns].guard is Guard.NONE
            empty = call.node is not None and nullable(call.node)
            target = -1 if call.node is None else self.stub(call.node)
            equal = at.UNCOMPARED if call.equal is None else at.NOWHERE if call.equal == NOWHERE else places[call.equal]
            calls += [int(call.select), places[call.returns], target, int(empty), equal]
        return [
            int(state.guard),
            at.FLAG_FINAL * state.final + at.FLAG_CLOSED * closed + flags,
            *((-1, 0, 0) if space is None else (space.newlines, space.base, space.per_level)),
            len(state.calls),
            self._put(calls),
            len(state.edges),
            *(x for byte, target in state.edges for x in (byte, places[target])),
        ]

    # Languages ---------------------------------------------------------------------------------------------------------

    def _words(self, words: tuple[bytes, ...]) -> tuple[int, int]:
        """Addresses of the offsets and of the packed bytes."""
        offsets = self._put(list(accumulate(map(len, words), initial=0)))
        return offsets, self._pack(b"".join(words))

    def _remainders(self, dfa: DFA, remainders: Remainders) -> int:
        """Address of what the kernels need to know of remainders."""
        runs = []
        for counts, ends, parts in zip(remainders.counts, remainders.ends, remainders.runs, strict=True):
            record = [int(counts), ends, len(parts)]
            for digits, first, last in parts:
                more = min(last - first, remainders.room)
                record += [digits, *_halves(first % remainders.modulus), *_halves(more)]
            runs.append(self._put(record))
        numbers = [half for other in remainders.others for half in _halves(other)]
        width = self.dfa_record(dfa)
        head = [*_halves(remainders.modulus), *_halves(remainders.step), width, len(remainders.others), self._put(runs)]
        return self._put([*head, *numbers])

    def _dfa(self, dfa: DFA | None, skin: Skin, *, count_words: bool = False) -> int:
        """Address of the start state, -1 for none. Word counts are kept only where words can be used up: for keys."""
        if dfa is None or dfa.is_empty:
            return -1
        key = id(dfa), count_words and dfa.name != "string", skin
        found = self._dfas.get(key)
        if found is None:
            self._keep.append(dfa)
            found = self._dfas[key] = self._encode_dfa(dfa, key[1], skin)
        return found

    @staticmethod
    def dfa_record(dfa: DFA) -> int:
        """Ints that a state of the automaton takes."""
        return at.D_NEXT + dfa.table.shape[1]

    def _encode_dfa(self, dfa: DFA, count_words: bool, skin: Skin) -> int:
        n = dfa.n_states
        least, most = dfa.char_bounds
        record = self.dfa_record(dfa)
        classes_key = dfa.classes.tobytes()
        classes = self._classes.get(classes_key)
        if classes is None:
            classes = self._classes[classes_key] = self._pack(classes_key)
        counts = _label_counts(dfa) if count_words else None
        counted = -1 if counts is None else self._put(counts.ravel().tolist())
        base = self._reserve(n * record)
        rows = self.heap[base : base + n * record].reshape(n, record)
        rows[:, at.D_CLASSES] = classes
        rows[:, at.D_LABEL] = dfa.labels
        rows[:, at.D_LEAST] = least
        rows[:, at.D_MOST] = most
        rows[:, at.D_WORDS] = _word_counts(dfa) if count_words else -1
        rows[:, at.D_LABELS] = _labels_ahead(dfa) if count_words and dfa.labels.max() < MANY_LABELS else -1
        if skin is Skin.RAW and not count_words:
            # of large automata the interpreter is asked, where items are compared
            numbers = dfa.number_values if n <= MOST_JUDGED and most.min() < 0 else None
            rows[:, at.D_LABELS] = (most < 0) & (n <= MOST_JUDGED) if numbers is None else numbers.endless
        rows[:, at.D_COUNTS] = -1 if counts is None else counted + np.arange(n) * counts.shape[1]
        wide = (dfa.table >= 0)[:, dfa.classes].sum(axis=1) >= WIDE
        rows[:, at.D_MASK] = -1
        free, accepted = _free_states(dfa)
        for state in np.flatnonzero(wide).tolist():
            shared = (ANY_STRING, free[state], skin) if state in free else (dfa, state, skin)
            if state in accepted:
                rows[state, at.D_WORDS] = at.D_EVERYTHING
            rows[state, at.D_MASK] = self._mask_slot(*shared)
            self.dfa_states[base + state * record] = shared
        rows[:, at.D_NEXT :] = np.where(dfa.table < 0, -1, base + dfa.table * record)
        return base

    def _node(self, first: int, record: Sequence[int]) -> int:
        """Address of a node's record, with the address of its first bytes before it."""
        bits = self._first.get(first)
        if bits is None:
            bits = self._first[first] = self._pack(first.to_bytes(36, "little"))
        return self._put([bits, *record]) - at.N_FIRST

    # The heap ----------------------------------------------------------------------------------------------------------

    def _reserve(self, size: int) -> int:
        address = self._top
        self._top += size
        if self._top > len(self.heap):
            grown = np.zeros(max(2 * len(self.heap), self._top + 1024), np.int32)
            grown[:address] = self.heap[:address]
            self.heap = grown
        return address

    def _write(self, address: int, values: Sequence[int]) -> None:
        self.heap[address : address + len(values)] = values

    def _put(self, values: Sequence[int]) -> int:
        address = self._reserve(len(values))
        self.heap[address : address + len(values)] = values
        return address

    def _pack(self, data: bytes) -> int:
        packed = np.frombuffer(data + bytes(-len(data) % 4), np.int32)
        address = self._reserve(len(packed))
        self.heap[address : address + len(packed)] = packed
        return address


def _halves(number: int) -> tuple[int, int]:
    """A number of up to 62 bits as two ints."""
    return number & 0x7FFFFFFF, number >> 31


def first_bytes(node: Node, _open: frozenset[int] = frozenset()) -> int:
    """A superset of what `node` can start with, as bits: its bytes, and SYMBOL if symbols; nothing lazy is built for it."""
    if isinstance(node, Lazy):
        if node.built is None:
            return ANY_INPUT if node.first is None else _byte_set(node.first)
        node = resolve(node)
    if isinstance(node, Lexeme):
        if node.skin is Skin.JSON_STRING:
            return 1 << ord('"')
        bits = _byte_set({word[0] for word in node.words if word})
        if node.dfa is not None and not node.dfa.is_empty:
            alive = node.dfa.table[0][node.dfa.classes] >= 0
            bits |= int.from_bytes(np.packbits(alive, bitorder="little").tobytes(), "little")
        return bits
    if id(node) in _open:
        return 0
    inside = _open | {id(node)}
    if isinstance(node, Union):
        bits = 0
        for alternative in node.alternatives:
            bits |= first_bytes(alternative, inside)
        return bits
    assert isinstance(node, Frame)
    state = node.layout.states[0]
    bits = _byte_set({byte for byte, _ in state.edges}) | (SPACES if state.space is not None else 0)
    for call in state.calls:
        bits |= ANY_INPUT if call.node is None or nullable(call.node) else first_bytes(call.node, inside)
    return bits


def _member_flags(layout: Layout) -> dict[int, int]:
    """Flags of the states around the values of members (layout.py)."""
    states = layout.states
    if any(byte == _QUOTE for state in states for byte, _ in state.edges):
        return {}  # what begins with a quote need not be a key
    values = {n for n, state in enumerate(states) if state.calls and all(c.select is Select.VALUE for c in state.calls)}
    ended = {call.returns for n in values for call in states[n].calls}
    flags = {n: at.FLAG_SETTLED for n in ended if not states[n].calls}
    for n, state in enumerate(states):
        before = n not in flags and not state.calls and state.edges and values.issuperset(t for _, t in state.edges)
        if n in values or before:
            flags[n] = at.FLAG_VALUED
    return flags


def _byte_set(members: Iterable[int]) -> int:
    bits = 0
    for byte in members:
        bits |= 1 << min(byte, at.SYMBOL)
    return bits


def _bits(flags: Sequence[bool]) -> list[int]:
    """Flags packed 32 to a signed int, least significant first."""
    if not flags:
        return []
    padded = np.zeros((len(flags) + 31) // 32 * 32, np.uint8)
    padded[: len(flags)] = flags
    return np.packbits(padded, bitorder="little").view(np.int32).tolist()


def _free_states(dfa: DFA) -> tuple[dict[int, int], set[int]]:
    """States from which everything may follow, each with the like state of ANY_STRING; and those among them from which
    everything is accepted, with one label.
    """
    if dfa is ANY_STRING:
        same = {state: state for state in range(dfa.n_states)}
        return same, set(same)
    if dfa.n_states > _MOST_COMPARED:
        return {}, set()
    # one byte of each kind that either automaton tells apart
    kinds = dfa.classes.astype(np.int64) * ANY_STRING.table.shape[1] + ANY_STRING.classes
    some = np.unique(kinds, return_index=True)[1]
    mine, other = dfa.table[:, dfa.classes[some]], ANY_STRING.table[:, ANY_STRING.classes[some]]
    # pairs of states that read the same, byte by byte, for ever
    alike = ((mine >= 0)[:, None] == (other >= 0)[None]).all(axis=2)
    while alike.any():
        # where a byte is not read, the last state stands for what follows
        still = alike & (alike[mine[:, None], other[None]] | (mine < 0)[:, None]).all(axis=2)
        if (still == alike).all():
            break
        alike = still
    free = {state: int(alike[state].argmax()) for state in np.flatnonzero(alike.any(axis=1)).tolist()}
    accepted: set[int] = set()
    for state, like in free.items():
        if like == 0 and state not in accepted and dfa.labels[state] >= 0:
            accepted.update(_accepting_all(dfa, state, free))
    return free, accepted


def _accepting_all(dfa: DFA, start: int, free: dict[int, int]) -> set[int]:
    """The states that a free one leads to, if those that stand for a whole text have its label, and no others have any."""
    seen, todo = {start}, [start]
    while todo:
        here = todo.pop()
        if dfa.labels[here] != (dfa.labels[start] if ANY_STRING.labels[free[here]] >= 0 else -1):
            return set()
        below = {target for target in dfa.table[here].tolist() if target >= 0} - seen
        seen |= below
        todo += below
    return seen


def _labels_ahead(dfa: DFA) -> NDArray[np.int32]:
    """Labels of the words from each state to acceptance, as bits."""
    labels = np.where(dfa.labels >= 0, 1 << np.maximum(dfa.labels, 0), 0).astype(np.int32)
    while True:
        following = np.where(dfa.table >= 0, labels[dfa.table], 0)
        grown = labels | np.bitwise_or.reduce(following, axis=1)
        if (grown == labels).all():
            return labels
        labels = grown


def _word_counts(dfa: DFA) -> NDArray[np.int32]:
    """Words from each state to acceptance, int32[n_states]; MANY_WORDS when there are more, -1 when that holds of all
    states that can be reached: then no word needs to be counted on the way, and masks may be ready.
    """
    counts = _words_to(dfa, dfa.labels >= 0, np.ones(dfa.n_states, bool))
    few = counts < MANY_WORDS
    while not np.array_equal(few, grown := few | np.any((dfa.table >= 0) & few[dfa.table], axis=1)):
        few = grown
    return np.where(few, counts, -1).astype(np.int32)


def _label_counts(dfa: DFA) -> NDArray[np.int32] | None:
    """Words of each label from each state to acceptance, int32[n_states, labels], at most MANY_WORDS; None where there are
    always none or so many.
    """
    labels = int(dfa.labels.max(initial=0)) + 1
    if not 1 < labels <= MANY_LABELS:
        return None
    ahead = _labels_ahead(dfa)
    counts = np.stack([_words_to(dfa, dfa.labels == k, (ahead >> k & 1) != 0) for k in range(labels)], axis=1)
    return counts.astype(np.int32) if ((counts > 0) & (counts < MANY_WORDS)).any() else None


def _words_to(dfa: DFA, ends: NDArray[np.bool_], leads: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Words from each state to `ends`, at most MANY_WORDS. leads: the states that lead there."""
    n = dfa.n_states
    successors = dfa.table[:, dfa.classes]
    live = (successors >= 0) & leads[successors]
    counts = np.where(leads, MANY_WORDS, 0).astype(np.int64)
    # states in order of discovery backwards: a state is counted once all its successors are
    pending = np.array([len(set(row[ok].tolist())) for row, ok in zip(successors, live, strict=True)])
    predecessors: list[list[int]] = [[] for _ in range(n)]
    for state in range(n):
        for target in set(successors[state][live[state]].tolist()):
            predecessors[target].append(state)
    ready = [s for s in range(n) if pending[s] == 0]
    while ready:
        state = ready.pop()
        targets = successors[state][live[state]]
        counts[state] = min(MANY_WORDS, int(counts[targets].sum()) + int(ends[state]))
        for before in predecessors[state]:
            pending[before] -= 1
            if pending[before] == 0:
                ready.append(before)
    return counts
