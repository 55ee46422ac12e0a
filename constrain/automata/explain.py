"""Why a text is not an output of a grammar: where it fails, what stood there, and what was expected."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from .grammar import SYMBOL, Call, Frame, Lexeme, Node, ObjectShape, Select, Skin, Union, resolve
from .oracle import Items, Members, Oracle, Thread, callees, key_lexeme
from .recogniser import Reading, Recogniser

__all__ = ["Rejection", "explain", "rejection"]

_NAMES = {
    ord('"'): "a quote",
    ord("'"): "an apostrophe",
    ord("\\"): "a backslash",
    ord("\n"): "a line feed",
    ord("\t"): "a tab",
    ord("\r"): "a carriage return",
    ord(" "): "a space",
}
_SHOWN = 6
_MOST_READ = 500
"""Descriptions of what can follow that are looked through."""
_DIGITS = list(b"0123456789")


@dataclass(frozen=True)
class Rejection:
    """position: bytes of the text that are a viable beginning. pointer: JSON pointer to the value being written there.
    got: what cannot follow, in words ("the end" when the text stops too early). expected: what could follow.
    """

    position: int
    pointer: str
    got: str
    expected: tuple[str, ...]

    def __str__(self) -> str:
        return f"byte {self.position}, in {self.pointer or '/'}: {self.reason}"

    @property
    def reason(self) -> str:
        return f"expected {_listed(self.expected) or 'nothing more'}, got {self.got}"


def explain(recogniser: Recogniser, data: bytes) -> Rejection | None:
    """The rejection of `data`, or None when it is accepted."""
    reading, used = recogniser.run(data)
    if used == len(data) and recogniser.is_accepting(reading):
        return None
    return rejection(recogniser, reading, data, used)


def rejection(
    recogniser: Recogniser, reading: Reading, data: bytes, used: int, names: Mapping[int, str] | None = None
) -> Rejection:
    """Why `reading`, which has read `data` up to `used`, cannot go on. names: of the control tokens, by id."""
    got = _describe_at(data, used) if used < len(data) else "the end"
    expected = dict.fromkeys(islice(_expected_anywhere(recogniser, reading, names or {}), _MOST_READ))
    pointer = _pointer(reading.inner[0][1]) if reading.inner else ""
    return Rejection(used, pointer, got, tuple(expected)[: 2 * _SHOWN])


def _expected_anywhere(recogniser: Recogniser, reading: Reading, names: Mapping[int, str]) -> Iterator[str]:
    """What can follow, by all readings: first in values that were begun, then in rules and in what they call."""
    closed = recogniser.closed(reading)
    for called, threads in closed.inner:
        oracle = recogniser.oracle(called.node)
        for thread in dict.fromkeys(u for before in threads for u in oracle.closure(before)):
            yield from _expected(oracle, thread, names)
    if closed.may_end:
        yield "the end"
    alive: set[int] = set()
    for called, state in closed.places:
        node = called.node
        if isinstance(node, Frame):
            alive.update(edge for edge, _ in node.layout.states[state].edges)
        elif isinstance(node, Lexeme) and node.dfa is not None:
            alive.update(byte for byte in range(256) if node.dfa.step(state, byte) >= 0)
    yield from _describe_bytes([byte for byte in sorted(alive) if byte < SYMBOL])
    yield from (_describe_input(unit, names) for unit in sorted(alive) if unit >= SYMBOL)


def _describe_at(data: bytes, position: int) -> str:
    """The character at `position`, in words; a byte where it is none."""
    start = position
    while start > max(0, position - 3) and data[start] & 0xC0 == 0x80:
        start -= 1
    char = data[start : start + 4].decode("utf-8", "ignore")[:1]
    if data[start] < 0x80 or not char.isprintable() or not data.startswith(char.encode(), start):
        return describe_byte(data[position])
    return f"'{char}'" if start == position else f"the byte 0x{data[position]:02x} of '{char}'"


def describe_byte(byte: int) -> str:
    if byte in _NAMES:
        return _NAMES[byte]
    if byte in _DIGITS:
        return f"the digit {chr(byte)}"
    return f"'{chr(byte)}'" if 33 <= byte < 127 else f"the byte 0x{byte:02x}"


def _describe_input(unit: int, names: Mapping[int, str]) -> str:
    return describe_byte(unit) if unit < SYMBOL else names.get(unit - SYMBOL, f"token {unit - SYMBOL}")


def _pointer(threads: Sequence[Thread]) -> str:
    """JSON pointer of the value that the first thread is in; of the object, where a key is being written."""
    parts: list[str] = []
    thread: Thread | None = threads[0] if threads else None
    if thread is not None and isinstance(thread.node, Lexeme) and thread.node is _key_of(thread.parent):
        thread = thread.caller.parent
    elif thread is not None and isinstance(thread.node, Frame) and _is_between(thread):
        thread = thread.parent
    while thread is not None:
        registers = thread.registers
        if isinstance(registers, Members) and registers.emitted:
            key = registers.emitted[-1].decode("utf-8", "replace")
            if not _has_values(thread.frame):
                key = str(len(registers.emitted) - 1)
            parts.append(key.replace("~", "~0").replace("/", "~1"))
        elif isinstance(registers, Items) and registers.begun:
            parts.append(str(registers.begun - 1))
        thread = thread.parent
    return "".join(f"/{part}" for part in reversed(parts))


def _key_of(thread: Thread | None) -> Lexeme | None:
    shape = thread.node.shape if thread is not None and isinstance(thread.node, Frame) else None
    return key_lexeme(shape) if isinstance(shape, ObjectShape) else None


def _has_values(frame: Frame) -> bool:
    """Whether keys have values; in an array of different strings they are the items."""
    return any(call.select is Select.VALUE for state in frame.layout.states for call in state.calls)


def _is_between(thread: Thread) -> bool:
    """Whether the frame is between members: its last value or item is complete, or none has begun."""
    state = thread.layout_state
    awaits_value = any(call.select is Select.VALUE for call in state.calls)
    return not awaits_value and all(byte != ord(":") for byte, _ in state.edges)


def _expected(oracle: Oracle, thread: Thread, names: Mapping[int, str]) -> Iterator[str]:
    node = thread.node
    if isinstance(node, Lexeme):
        yield from _expected_text(oracle, thread)
    elif isinstance(node, Frame):
        missing = _missing_keys(thread)
        for call in thread.layout_state.calls:
            yield from _expected_call(thread, call, missing)
        for byte, target in thread.layout_state.edges:
            if oracle._enter_state(thread, target) is not None:
                with_key = missing and byte == ord(",")
                yield _describe_input(byte, names) + (f" and the required {_keys(missing)}" if with_key else "")
    elif node is not None and thread.place.state == 0:
        yield from _describe(node.node)  # type: ignore[attr-defined]


def _missing_keys(thread: Thread) -> list[bytes]:
    """Required keys that were not written yet."""
    if not isinstance(thread.frame.shape, ObjectShape):
        return []
    shape, members = thread.object
    emitted = members.emitted
    return [k for k, needed in zip(shape.keys, shape.required, strict=True) if needed and k not in emitted]


def _expected_call(thread: Thread, call: Call, missing: list[bytes]) -> Iterator[str]:
    if call.select is Select.KEY:
        if missing:
            yield f"the required {_keys(missing)}"
        shape, members = thread.object
        emitted = members.emitted
        left = [k for k in key_lexeme(shape).words if k not in emitted and k not in missing]
        if not _has_values(thread.frame):
            yield "a string unlike the earlier ones" if emitted else "a string"
        elif shape.extra is not None:
            yield "another key" if missing or left else "a key"
        elif left:
            yield _one_of(left)
        return
    for node, _ in callees(thread, call):
        yield from _describe(node)


def _keys(keys: list[bytes]) -> str:
    return ("key " if len(keys) == 1 else "keys ") + _listed(_quoted(tuple(keys)), "and")


def _one_of(keys: list[bytes]) -> str:
    return f"the {_keys(keys)}" if len(keys) == 1 else f"one of the keys {_listed(_quoted(tuple(keys)))}"


def _expected_text(oracle: Oracle, thread: Thread) -> Iterator[str]:
    """What can follow in a lexeme: whole words where they are few, else the bytes that keep it viable."""
    node, (content, escape) = thread.lexeme, thread.text
    alive = [byte for byte in range(256) if next(oracle._consume(thread, byte), None) is not None]
    words = [word for word in node.words if word.startswith(content)]
    if words and node.dfa is None and not escape:
        if node is _key_of(thread.parent):
            _, members = thread.caller.object
            words = [word for word in words if word not in members.emitted]
            yield _one_of(words)
        else:
            yield from (_text(word[len(content) :]) for word in words[:_SHOWN] if word != content)
            if node.skin is Skin.JSON_STRING and content in words:
                yield "a quote"
        return
    if node.skin is Skin.JSON_STRING and not escape and len(alive) > 1:
        alive = [byte for byte in alive if byte != ord("\\")]
    yield from _describe_bytes(alive)


def _describe_bytes(alive: list[int]) -> Iterator[str]:
    """A set of bytes in words: runs of three or more as ranges."""
    if ord('"') in alive and len(alive) > 1:
        yield "a quote"
        alive = [byte for byte in alive if byte != ord('"')]
    if len(alive) > 80 or any(byte >= 0x80 for byte in alive):
        yield "another character"
        return
    start = 0
    for i in range(len(alive)):
        if i + 1 < len(alive) and alive[i + 1] == alive[i] + 1:
            continue
        run, start = alive[start : i + 1], i + 1
        if run == _DIGITS:
            yield "a digit"
        elif len(run) > 2:
            yield f"'{chr(run[0])}' to '{chr(run[-1])}'"
        else:
            yield from map(describe_byte, run)


def _describe(node: Node, seen: frozenset[int] = frozenset()) -> Iterator[str]:
    """What a node starts with, in words."""
    node = resolve(node)
    if isinstance(node, Union):
        if id(node) not in seen:
            for alternative in node.alternatives:
                yield from _describe(alternative, seen | {id(node)})
    elif isinstance(node, Lexeme):
        if node.skin is Skin.JSON_STRING:
            yield from _quoted(node.words) if node.words and node.dfa is None else ["a string"]
        else:
            yield from map(_text, node.words[:_SHOWN])
            if node.dfa is not None:
                first = {byte for byte in range(256) if node.dfa.step(0, byte) >= 0}
                yield "a number" if first and first <= {ord("-"), *_DIGITS} else "text"
    elif isinstance(node, Frame):
        opening = [byte for byte, _ in node.layout.states[0].edges]
        yield {ord("{"): "an object", ord("["): "an array"}.get(opening[0] if opening else -1, "text")


def _quoted(words: tuple[bytes, ...]) -> list[str]:
    shown = [json.dumps(word.decode("utf-8", "replace"), ensure_ascii=False) for word in words[:_SHOWN]]
    return [*shown, f"{len(words) - _SHOWN} others"] if len(words) > _SHOWN else shown


def _text(word: bytes) -> str:
    text = word.decode("utf-8", "replace")
    return "'" + "".join(char if char.isprintable() else repr(char)[1:-1] for char in text) + "'"


def _listed(parts: Sequence[str], last: str = "or") -> str:
    return f"{', '.join(parts[:-1])} {last} {parts[-1]}" if len(parts) > 1 else "".join(parts)
