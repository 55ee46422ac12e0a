"""The threads of the interpreter: positions, registers and the frames to return to.

A *thread* is one way to read the text so far: a node, a position in it, its registers, and the frame to return to.
Threads are immutable and compared by value. What grows with the text is kept such that a step does not pay for it: a
content shares its bytes with the contents that it goes on from, and a hash is computed once.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from .grammar import NOWHERE, ArrayShape, Frame, LayoutState, Lexeme, Node, ObjectShape

__all__ = ["DONE", "Ahead", "Items", "Members", "Place", "Text", "Thread"]

_KEPT = object()


class Members(NamedTuple):
    """Registers of an object frame: keys in the order they were emitted, the last one perhaps without its value yet; if
    it has a diagram, also the option of each value.
    """

    emitted: tuple[bytes, ...] = ()
    chosen: tuple[int, ...] = ()


class Items(NamedTuple):
    """Registers of an array frame: how many items were begun; of one that compares items also the values of those that
    are remembered, the text of the one under way if it is compared, and the state to return to if it equals one.
    """

    begun: int = 0
    values: tuple[object, ...] = ()
    text: bytes | None = None
    equal: int = NOWHERE


class Place(NamedTuple):
    """Position in a frame: the layout state, and the whitespace run so far."""

    state: int = 0
    blanks: int = 0
    newlines: int = 0


class Ahead(NamedTuple):
    """What a content leads to in its lexeme: the state of the automaton (-1: none), the characters begun or the
    remainder so far, and which of the words start with it, low..high-1.
    """

    state: int
    chars: int
    low: int
    high: int


class Text:
    """Position in a lexeme: the decoded content so far, and the raw bytes of an escape not finished yet."""

    __slots__ = ("_buffer", "_content", "_hash", "_length", "ahead", "escape")

    def __init__(self, buffer: bytearray, length: int, number: int, ahead: Ahead, escape: bytes) -> None:
        self._buffer = buffer  # shared: only ever appended to, and the first `length` bytes are the content
        self._length = length
        self._hash = number
        self._content: bytes | None = None
        self.ahead = ahead
        self.escape = escape

    @classmethod
    def begin(cls, node: Lexeme) -> Text:
        state = -1 if node.dfa is None or node.dfa.is_empty else 0
        return cls(bytearray(), 0, 0, Ahead(state, 0, 0, len(node.words)), b"")

    @property
    def content(self) -> bytes:
        if self._content is None:
            self._content = bytes(memoryview(self._buffer)[: self._length])
        return self._content

    def __iter__(self) -> Iterator[bytes]:
        return iter((self.content, self.escape))

    def look(self, node: Lexeme, data: bytes) -> Ahead:
        """What the content leads to with `data` behind it."""
        state, chars, low, high = self.ahead
        for byte in data:
            if node.remainders is None:
                chars += byte & 0xC0 != 0x80
            elif state >= 0:
                chars = node.remainders.after(state, chars, byte)
            if state >= 0:
                assert node.dfa is not None
                state = node.dfa.step(state, byte)
        if low < high:
            content = self.content + data
            low = bisect_left(node.words, content, low, high)
            high = bisect_right(node.words, content, low, high, key=lambda word: word[: len(content)])
        return Ahead(state, chars, low, high)

    def then(self, data: bytes, ahead: Ahead) -> Text:
        """The position with `data` read; an escape is over."""
        buffer, length = self._buffer, self._length + len(data)
        if len(buffer) == self._length:
            buffer += data
        elif buffer[self._length : length] != data:
            buffer = buffer[: self._length] + data
        return Text(buffer, length, hash((self._hash, data)), ahead, b"")

    def within(self, escape: bytes) -> Text:
        """The position inside an escape."""
        return Text(self._buffer, self._length, self._hash, self.ahead, escape)

    def __hash__(self) -> int:
        return hash((self._hash, self.escape))

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Text) or (self._hash, self._length) != (other._hash, other._length):
            return False
        return self.escape == other.escape and self.content == other.content


class Thread:
    """node: None where the whole output is complete. parent: the calling frame, already moved to the state that it
    returns to. unique: depth of the innermost array around that compares items, this frame included; -1: none.
    """

    __slots__ = ("_hash", "depth", "node", "parent", "position", "registers", "unique")

    def __init__(
        self,
        node: Node | None,
        position: Text | Place | None,
        registers: Members | Items | None,
        parent: Thread | None,
        depth: int,
        unique: int = -1,
    ) -> None:
        self.node = node
        self.position = position
        self.registers = registers
        self.parent = parent
        self.depth = depth
        self.unique = unique
        self._hash: int | None = None

    def _replace(self, *, position: object = _KEPT, registers: object = _KEPT, parent: object = _KEPT) -> Thread:
        return Thread(
            self.node,
            self.position if position is _KEPT else position,  # type: ignore[arg-type]
            self.registers if registers is _KEPT else registers,  # type: ignore[arg-type]
            self.parent if parent is _KEPT else parent,  # type: ignore[arg-type]
            self.depth,
            self.unique,
        )

    def __hash__(self) -> int:
        if self._hash is None:
            chain = [self]  # not by recursion: frames nest as deep as the text does
            while (parent := chain[-1].parent) is not None and parent._hash is None:
                chain.append(parent)
            for thread in reversed(chain):
                above = None if thread.parent is None else thread.parent._hash
                thread._hash = hash((thread.node, thread.position, thread.registers, above, thread.depth))
        assert self._hash is not None
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Thread):
            return NotImplemented
        one: Thread | None = self
        two: Thread | None = other
        while one is not two:
            if (
                one is None
                or two is None
                or hash(one) != hash(two)
                or one.node is not two.node
                or (one.depth, one.unique) != (two.depth, two.unique)
                or one.position != two.position
                or one.registers != two.registers
            ):
                return False
            one, two = one.parent, two.parent
        return True

    # The fields as what they are in a lexeme, in a frame, and in the frame of an object or an array.

    @property
    def lexeme(self) -> Lexeme:
        assert isinstance(self.node, Lexeme)
        return self.node

    @property
    def text(self) -> Text:
        assert isinstance(self.position, Text)
        return self.position

    @property
    def frame(self) -> Frame:
        assert isinstance(self.node, Frame)
        return self.node

    @property
    def place(self) -> Place:
        assert isinstance(self.position, Place)
        return self.position

    @property
    def layout_state(self) -> LayoutState:
        return self.frame.layout.states[self.place.state]

    @property
    def object(self) -> tuple[ObjectShape, Members]:
        shape = self.frame.shape
        assert isinstance(shape, ObjectShape) and isinstance(self.registers, Members)
        return shape, self.registers

    @property
    def array(self) -> tuple[ArrayShape, Items]:
        shape = self.frame.shape
        assert isinstance(shape, ArrayShape) and isinstance(self.registers, Items)
        return shape, self.registers

    @property
    def caller(self) -> Thread:
        assert self.parent is not None
        return self.parent


DONE = Thread(None, None, None, None, 0)
