"""Why a text is not an output of a grammar: where it fails, what stood there, and what was expected."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .grammar import Call, Frame, Guard, Lexeme, Node, ObjectShape, Select, Skin, Union, resolve
from .oracle import Items, Members, Oracle, Thread, callee, key_lexeme

__all__ = ["Rejection", "explain"]

_NAMES = {
    ord('"'): "a quote",
    ord("{"): "'{'",
    ord("\\"): "a backslash",
    ord("\n"): "a line feed",
    ord("\t"): "a tab",
    ord("\r"): "a carriage return",
    ord(" "): "a space",
}
_SHOWN = 6


@dataclass(frozen=True)
class Rejection:
    """position: bytes of the text that are a viable beginning. pointer: JSON pointer to the value being written there.
    got: the byte that cannot follow, in words ("the end" when the text stops too early). expected: what could follow.
    """

    position: int
    pointer: str
    got: str
    expected: tuple[str, ...]

    def __str__(self) -> str:
        wanted = self.expected[0] if self.expected else "nothing more"
        if len(self.expected) > 1:
            wanted = f"{', '.join(self.expected[:-1])} or {self.expected[-1]}"
        return f"byte {self.position}, in {self.pointer or '/'}: expected {wanted}, got {self.got}"


def explain(oracle: Oracle, data: bytes) -> Rejection | None:
    """The rejection of `data`, or None when it is accepted."""
    threads, used = oracle.run(data)
    if used == len(data):
        if oracle.is_accepting(threads):
            return None
        got = "the end"
    else:
        got = describe_byte(data[used])
    expected = list(dict.fromkeys(e for thread in threads for u in oracle.closure(thread) for e in _expected(u)))
    return Rejection(used, _pointer(threads), got, tuple(expected[: 2 * _SHOWN]))


def describe_byte(byte: int) -> str:
    if byte in _NAMES:
        return _NAMES[byte]
    if 48 <= byte <= 57:
        return f"the digit {chr(byte)}"
    return repr(chr(byte)) if 33 <= byte < 127 else f"the byte 0x{byte:02x}"


def _pointer(threads: list[Thread]) -> str:
    """JSON pointer of the value that the first thread is in."""
    parts: list[str] = []
    thread: Thread | None = threads[0] if threads else None
    inner = True
    while thread is not None:
        registers = thread.registers
        if isinstance(registers, Members) and registers.emitted and not (inner and _at_boundary(thread)):
            parts.append(registers.emitted[-1].decode().replace("~", "~0").replace("/", "~1"))
        elif isinstance(registers, Items) and registers.begun and not (inner and _at_boundary(thread)):
            parts.append(str(registers.begun - 1))
        inner = False
        thread = thread.parent
    return "".join(f"/{part}" for part in reversed(parts))


def _at_boundary(thread: Thread) -> bool:
    """Whether the frame is between members: its last key or item is complete."""
    assert isinstance(thread.node, Frame)
    state = thread.node.layout.states[thread.position.state]  # type: ignore[union-attr]
    return not any(call.select is Select.VALUE for call in state.calls) and not any(b == ord(":") for b, _ in state.edges)


def _expected(thread: Thread) -> Iterator[str]:
    node = thread.node
    if node is None:
        yield "the end"
    elif isinstance(node, Lexeme):
        yield from _expected_text(thread, node)
    elif isinstance(node, Frame):
        state = node.layout.states[thread.position.state]  # type: ignore[union-attr]
        for call in state.calls:
            yield from _expected_call(thread, call)
        for byte, target in state.edges:
            if node.layout.states[target].guard is Guard.NONE or _may_enter(thread, target):
                yield describe_byte(byte)
    else:
        yield from _describe(node.node)  # type: ignore[attr-defined]


def _may_enter(thread: Thread, target: int) -> bool:
    return Oracle(thread.node)._enter_state(thread, target) is not None  # type: ignore[arg-type]


def _expected_call(thread: Thread, call: Call) -> Iterator[str]:
    shape = getattr(thread.node, "shape", None)
    if call.select is Select.KEY and isinstance(shape, ObjectShape):
        emitted = thread.registers.emitted  # type: ignore[union-attr]
        left = [k for k in key_lexeme(shape).words if k not in emitted]
        if left or shape.extra is not None:
            names = [f'"{k.decode()}"' for k in left[:_SHOWN]]
            yield f"a key ({', '.join(names)}{', …' if len(left) > _SHOWN or shape.extra is not None else ''})" if names else "a key"
        return
    node, _ = callee(thread, call)
    if node is not None:
        yield from _describe(node)


def _expected_text(thread: Thread, node: Lexeme) -> Iterator[str]:
    content, escape = thread.position  # type: ignore[misc]
    if escape:
        yield "the rest of an escape"
        return
    rests = [word[len(content) :] for word in node.words if word.startswith(content)]
    rests = [rest for rest in rests if rest]
    for rest in rests[:_SHOWN]:
        yield f"'{rest.decode('utf-8', 'replace')}'"
    if node.dfa is not None and (state := node.dfa.run(content)) >= 0:
        yield _describe_bytes([b for b in range(256) if node.dfa.step(state, b) >= 0])
    if node.skin is Skin.JSON_STRING and Oracle(node)._label(thread) >= 0:
        yield "a quote"


def _describe_bytes(alive: list[int]) -> str:
    if alive == list(b"0123456789"):
        return "a digit"
    if len(alive) > 40:
        return "another character"
    return " or ".join(describe_byte(b) for b in alive[:_SHOWN]) or "nothing more"


def _describe(node: Node, seen: frozenset[int] = frozenset()) -> Iterator[str]:
    """What a node starts with, in words."""
    node = resolve(node)
    if isinstance(node, Union):
        if id(node) not in seen:
            for alternative in node.alternatives:
                yield from _describe(alternative, seen | {id(node)})
    elif isinstance(node, Lexeme):
        if node.skin is Skin.JSON_STRING:
            if node.words and node.dfa is None:
                for word in node.words[:_SHOWN]:
                    yield f'"{word.decode()}"'
                if len(node.words) > _SHOWN:
                    yield "…"
            else:
                yield "a string"
        else:
            for word in node.words[:_SHOWN]:
                yield f"'{word.decode('utf-8', 'replace')}'"
            if node.dfa is not None:
                yield "a number" if node.dfa.run(b"1") >= 0 or node.dfa.run(b"-") >= 0 else "text"
    elif isinstance(node, Frame):
        opening = [byte for byte, _ in node.layout.states[0].edges]
        yield {ord("{"): "an object", ord("["): "an array"}.get(opening[0] if opening else -1, "text")
