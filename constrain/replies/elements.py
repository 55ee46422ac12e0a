"""Arguments as keyed elements with raw text, read as JSON."""

from __future__ import annotations

from collections.abc import Callable, Generator

from ..wires.markers import ElementBody, Typing
from .alphabet import Alphabet
from .cursor import Cursor, Malformed, Reading
from .json_text import escaped, quoted
from .values import KINDS, ArgumentTypes

__all__ = ["ElementReader", "unescape_attribute"]

_TYPE_NAMES = {name: frozenset((name,)) for name in KINDS} | {"integer": frozenset(("number",))}
_FLAGS = {"true": frozenset(("string",)), "false": KINDS - {"string"}}


def unescape_attribute(text: str) -> str:
    """Undo the escapes of an attribute's value."""
    return text.replace("&quot;", '"').replace("&amp;", "&")


class ElementReader:
    """Reads the elements of one format. close: what ends the call, and so the elements."""

    def __init__(self, body: ElementBody, close: str, alphabet: Alphabet) -> None:
        self._body = body
        self._key_open = alphabet.encode(body.key_open.text)
        self._key_close = alphabet.encode(body.key_close.text)
        self._value_open = alphabet.encode(body.value_open.text)
        self._value_close = alphabet.encode(body.value_close.text)
        self._close = alphabet.encode(close)
        self._types = {Typing.STRING_FLAG: _FLAGS, Typing.TYPE_NAME: _TYPE_NAMES}.get(body.typing)

    @property
    def ends_of_name(self) -> str:
        """Symbols that end a name which nothing else does."""
        return self._key_open[0] + self._close[0]

    def read(self, cursor: Cursor, types: ArgumentTypes, out: Callable[[str], None]) -> Reading:
        """Read elements and the close of the call; pass them on as the JSON text of an object."""
        separator = "{"
        while True:
            yield from cursor.blanks()
            found = yield from cursor.match((self._key_open, self._close))
            if found == self._close:
                break
            if found is None:
                raise Malformed
            key = yield from self._read_key(cursor)
            kinds = types.kinds(key)
            if self._types is not None:
                said = yield from cursor.match(self._types)
                if said is None:
                    raise Malformed
                kinds = kinds & self._types[said] or kinds  # where they differ, the schema knows better
            if self._value_open:
                if self._types is None:
                    yield from cursor.blanks()
                yield from cursor.expect(self._value_open)
            out(f"{separator}{quoted(key)}: ")
            separator = ", "
            yield from self._read_value(cursor, key, kinds, types, out)
        out("{}" if separator == "{" else "}")

    def _read_key(self, cursor: Cursor) -> Generator[None, None, str]:
        parts: list[str] = []
        yield from cursor.copy_until(self._key_close, parts.append)
        key = cursor.spell("".join(parts))
        return unescape_attribute(key) if self._body.attribute_escapes else key

    def _read_value(
        self, cursor: Cursor, key: str, kinds: frozenset[str], types: ArgumentTypes, out: Callable[[str], None]
    ) -> Reading:
        if kinds == {"string"}:
            out('"')
            yield from cursor.copy_until(
                self._value_close, self._without_pad(lambda part: out(escaped(cursor.spell(part))))
            )
            out('"')
        else:
            parts: list[str] = []
            yield from cursor.copy_until(self._value_close, self._without_pad(parts.append))
            raw = cursor.spell("".join(parts))
            out(types.json_text(key, raw, kinds, self._body.capitals))

    def _without_pad(self, out: Callable[[str], None]) -> Callable[[str], None]:
        """Passes a value on that comes in pieces, without one `pad` at its beginning and one at its end."""
        pad = self._body.pad
        if not pad:
            return out
        assert len(pad) == 1
        begun, held = False, ""

        def accept(part: str) -> None:
            nonlocal begun, held
            if not begun:
                begun, part = True, part.removeprefix(pad)
            part = held + part
            held = pad if part.endswith(pad) else ""
            out(part.removesuffix(pad))

        return accept
