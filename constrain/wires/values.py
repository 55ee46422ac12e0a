"""How values are written outside JSON: Gemma's key:value notation, and raw text between tags.

Neither has escapes, so a text that ends a value cannot occur in it; what cannot be written is left out of the strings
of the compilation (`Options.without`), and with it every alternative that would need it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypeVar

from .._limits import Limits
from ..automata.grammar import Frame, Guard, Layout, Lazy, Lexeme, Node, ObjectShape, Skin, Space, Union
from ..automata.json_layouts import array_layout, distinct_layout, object_layout
from ..languages import operations
from ..languages.dfa import DFA
from ..languages.operations import EMPTY_STRING
from ..languages.pattern import compile_pattern
from ..languages.words import count_words
from ..schema.build import Builder
from ..schema.dialect import IN_PLACE
from ..schema.forms import FALSE, NULL, TRUE, Form, Goal
from ..schema.notation import Notation, distinct_shape
from .layouts import KEY, VALUE, Either, Guarded, Many, Maybe, Part, Parts, frame, layout
from .markers import ElementBody, KeyValueBody, Typing, Wire
from .marks import Inputs, Marks
from .parameters import Parameters, Way

__all__ = ["BARE_KEYS", "LOOSE", "Elements", "KeyValues", "can_write", "escaped", "space"]

T = TypeVar("T")

BARE_KEYS = r"^[^\s\p{Cc}:,{}\[\]\"'<>](?:[^\p{Cc}:,{}\[\]\"'<>]*[^\s\p{Cc}:,{}\[\]\"'<>])?$"
"""Keys that need no quotes: nothing that has a meaning around them, no blank at either end."""

_PLAIN_NUMBERS = r"^-?[0-9]+(?:\.[0-9]+(?:[eE][+-]?[0-9]+)?)?$"
"""Numbers as readers know them who take for a float only what has a point."""


@dataclass(frozen=True)
class KeyValues(Notation):
    """{key:value,key:value} without whitespace: bare keys, strings between two `quote` inputs.

    exponents: whether a number may have an exponent without having a point. Some readers (vLLM's, SGLang's) take for a
    float only what has a point, and 1e5 for a string.
    """

    mark: Inputs = ()
    exponents: bool = False

    @classmethod
    def of(cls, body: KeyValueBody, marks: Marks, numbers: str = "canonical") -> KeyValues:
        """numbers: the option; "any" lets every spelling of a number pass."""
        mark = marks.spell(body.quote)
        layouts = object_layout("compact"), array_layout("compact"), distinct_layout("compact")
        return cls(*layouts, keys=Skin.RAW, quote=mark[0], mark=mark, exponents=numbers == "any")

    def string(self, language: Lexeme) -> Node:
        return frame(self.mark, language, self.mark)

    def distinct(self, words: tuple[bytes, ...], language: DFA | None, low: int, high: int | None) -> Node:
        """As the keys of a shape; the empty string, which no bare key can be, stands beside them at most once."""
        mark, words_left = self.mark, tuple(word for word in words if word)
        has_empty = len(words_left) < len(words) or (language is not None and language.accepts(b""))
        if language is not None:
            language = operations.difference(language, EMPTY_STRING)
            language = None if language.is_empty else language
        most = len(words_left) if language is None else count_words(language, low + 1) + len(words_left)
        item, more = (mark, KEY, mark), Guarded(Guard.MORE, b",")
        ways: list[Node] = []
        if most >= low:
            shape = distinct_shape(words_left, language, low, high, Skin.RAW)
            items = (Maybe(*item, Many(more, *item)),)
            ways.append(frame(b"[", *items, Guarded(Guard.CLOSE, b"]"), shape=shape))
        if has_empty and most >= low - 1 and high != 0:
            shape = distinct_shape(words_left, language, max(low - 1, 0), None if high is None else high - 1, Skin.RAW)
            before = (Many(*item, b","),)
            after = (Many(more, *item), Guarded(Guard.CLOSE, b"]"))
            ways.append(frame(b"[", *before, mark, mark, *after, shape=shape))
        return ways[0] if len(ways) == 1 else Union(tuple(ways))

    def number(self, language: DFA) -> DFA:
        if self.exponents or (language.table[:, language.classes[list(b"eE")]] < 0).all():
            return language
        return _plain_numbers(language)


@lru_cache(maxsize=256)
def _plain_numbers(language: DFA) -> DFA:
    """Those of some numbers that any reader takes for numbers; all where there is none."""
    plain = operations.intersect(language, compile_pattern(_PLAIN_NUMBERS))
    return language if plain.is_empty else plain


class Elements:
    """Arguments as elements with raw text, for one tool.

    free_json: objects and arrays are any text.
    capitals: True, False and None may be written where the format's older templates wrote them.
    """

    def __init__(self, builder: Builder, wire: Wire, marks: Marks, *, free_json: bool, capitals: bool) -> None:
        assert isinstance(wire.body, ElementBody)
        self.builder, self.body, self.marks = builder, wire.body, marks
        self.free_json, self.capitals = free_json, capitals and wire.body.capitals
        self.ending = marks.spell(wire.body.value_close.text)
        lexicon = builder.normaliser.lexicon
        self.free = Lexeme(dfa=lexicon.whole(lexicon.universe))
        self._values: dict[Goal, Node] = {}

    @staticmethod
    def layout(wire: Wire, marks: Marks, after_head: str) -> Layout:
        """All that follows the head of a call, up to its close, for any tool.

        after_head: layout between the head and the first element.
        """
        body, spell, loose = wire.body, marks.spell, wire.loose
        assert isinstance(body, ElementBody)
        close = Guarded(Guard.CLOSE, spell(wire.close.text))
        gap = space(body.key_close.after, loose and bool(body.value_open.text))
        value_open = spell(body.value_open.text) if body.typing is Typing.SCHEMA else b""
        rest = (KEY, spell(body.key_close.text), *gap, value_open, VALUE)
        element = (Guarded(Guard.MORE, spell(body.key_open.text)), *rest)
        if loose:
            return layout(LOOSE, Many(*element, LOOSE), close)
        close = Guarded(Guard.CLOSE, spell(wire.close.before + wire.close.text))
        after = spell(body.value_close.after)
        if not body.between:
            return layout(spell(after_head), Many(*element, after), close)
        further = (Guarded(Guard.MORE, spell(body.between + body.key_open.text)), *rest)
        return layout(spell(after_head), Either((*element, Many(*further), close), (close,)))

    def node(self, goal: Goal, layout: Layout) -> Node:
        """The arguments that satisfy a goal, in the layout of their format."""
        builder, inhabited = self.builder, self.builder.normaliser.emptiness.members
        frames: list[Node] = []
        with builder.lock:
            for members in filter(inhabited, builder.normaliser.settled(goal).objects):
                shape = _written(self.body, builder.shape(members, self._value))
                if shape is not None:
                    frames.append(Frame(layout, shape))
        assert frames, "see can_write"
        return frames[0] if len(frames) == 1 else Union(tuple(frames))

    # Values ---------------------------------------------------------------------------------------------------------

    def _value(self, goal: Goal) -> Node:
        """A value and the text that closes it, built when it is reached."""
        node = self._values.get(goal)
        if node is None:
            node = self._values[goal] = Lazy(lambda: self._make_value(goal))
        return node

    def _make_value(self, goal: Goal) -> Node:
        builder = self.builder
        with builder.lock:
            form = builder.normaliser.settled(goal)
            if self.body.typing is Typing.SCHEMA:
                return frame(Either(*self._by_schema(form)), self.ending)
            opened = self.marks.spell(self.body.value_open.text)
            kinds = self._flagged(form) if self.body.typing is Typing.STRING_FLAG else self._named(form)
            parts = [(kind, opened, node) for kind, nodes in kinds for node in nodes]
            return frame(Either(*parts), self.ending)

    def _by_schema(self, form: Form) -> Iterator[Parts]:
        pad = self.body.pad.encode()
        texts = self.builder.strings(form.strings)
        json = self._json(form)
        if self.capitals and form.bits:
            json.append(Lexeme(words=tuple(word for bit, word in _CAPITALS if form.bits & bit)))
        if self.free in json or any(is_same(text, self.free) for text in texts):
            yield (self.free,)  # whatever it is, it is also a string
            return
        for text in texts:
            yield from padded(text, pad, self.builder.normaliser.lexicon.limits) if pad else ((text,),)
        for node in json:
            yield (Maybe(pad), node, Maybe(pad)) if pad else (node,)

    def _json(self, form: Form) -> list[Node]:
        builder = self.builder
        if self.free_json and (form.objects or form.arrays):
            return [*builder.scalars(form), self.free]
        return [*builder.scalars(form), *builder.arrays(form), *builder.objects(form)]

    def _flagged(self, form: Form) -> Iterator[tuple[bytes, Sequence[Node]]]:
        yield b"true", self.builder.strings(form.strings)
        yield b"false", self._json(form)

    def _named(self, form: Form) -> Iterator[tuple[bytes, Sequence[Node]]]:
        builder = self.builder
        yield b"string", builder.strings(form.strings)
        yield b"number", builder.scalars(Form(numbers=form.numbers))
        yield b"boolean", builder.scalars(Form(form.bits & (FALSE | TRUE)))
        yield b"null", builder.scalars(Form(form.bits & NULL))
        yield b"object", [self.free] if self.free_json and form.objects else builder.objects(form)
        yield b"array", [self.free] if self.free_json and form.arrays else builder.arrays(form)


_CAPITALS = ((FALSE, b"False"), (NULL, b"None"), (TRUE, b"True"))

LOOSE = Space(newlines=2, base=8, per_level=0)
"""Layout between the elements of formats whose readers skip it."""


def space(trained: str, loose: bool) -> tuple[Part, ...]:
    """The layout at a place: whitespace as trained, or any."""
    return (LOOSE,) if loose else (trained.encode(),)


_PLAIN = '<>"\\p{Cc}'
_KEYS = {
    False: rf"^[^\s{_PLAIN}](?:[^{_PLAIN}]*[^\s{_PLAIN}])?$",
    True: r"^[^&\"\p{Cc}]+$",
}
"""Additional keys that can stand in a tag, without and with escapes (of which no use is made)."""
_ESCAPED_KEYS = r"^[^\p{Cc}]+$"


def can_write(body: ElementBody, parameters: Parameters, way: Way) -> bool:
    """Whether some arguments have no parameter whose name the format cannot write."""
    root = parameters.document.root.schema
    simple = isinstance(root, dict) and root.get("type") == "object" and IN_PLACE.isdisjoint(root)
    if simple and not root.get("minProperties") and all(_is_key(body, key) for key in root.get("required", ())):
        return True
    builder, goal = parameters.builder(way)
    inhabited = builder.normaliser.emptiness.members
    with builder.lock:
        members = filter(inhabited, builder.normaliser.settled(goal).objects)
        return any(_written(body, builder.shape(one, lambda goal: _SOMETHING)) is not None for one in members)


_SOMETHING = Lexeme(words=(b"",))


def _written(body: ElementBody, shape: ObjectShape) -> ObjectShape | None:
    """The shape with its keys as they are written; None where one that cannot be is needed."""
    kept = [i for i, key in enumerate(shape.keys) if _is_key(body, key.decode())]
    lost = set(range(len(shape.keys))).difference(kept)
    if any(shape.required[i] for i in lost) or (shape.diagram is not None and lost):
        return None
    written = [escaped(key) if body.attribute_escapes else key for key in shape.keys]
    kept.sort(key=written.__getitem__)

    def of(values: Sequence[T]) -> tuple[T, ...]:
        return tuple(values[i] for i in kept)

    extra = shape.extra
    if extra is not None:
        extra = operations.intersect(extra, compile_pattern(_KEYS[body.attribute_escapes]))
        extra = None if extra.is_empty else extra
    possible = sum(shape.values[i] is not None for i in kept)
    if possible + (count_words(extra, shape.min_members) if extra is not None else 0) < shape.min_members:
        return None
    diagram = shape.diagram
    if diagram is not None:
        diagram = replace(diagram, keys=tuple(map(kept.index, diagram.keys)))
    ranks = None if shape.rank is None else of(shape.rank)
    return replace(
        shape,
        keys=of(written),
        values=of(shape.values),
        required=of(shape.required),
        rank=None if ranks is None else tuple(map(sorted(ranks).index, ranks)),
        extra=extra,
        skin=Skin.RAW,
        diagram=diagram,
        endless=of(shape.endless) if shape.endless else (),
    )


def _is_key(body: ElementBody, key: str) -> bool:
    if key.isascii() and key.replace("_", "x").isalnum():
        return True
    return compile_pattern(_ESCAPED_KEYS if body.attribute_escapes else _KEYS[False]).accepts(key.encode())


def escaped(text: bytes) -> bytes:
    """As it is written in an attribute that has escapes."""
    return text.replace(b"&", b"&amp;").replace(b'"', b"&quot;")


def is_same(a: Lexeme, b: Lexeme) -> bool:
    """Whether two lexemes without words are plainly the same language."""
    return not a.words and a.dfa is b.dfa and a.min_chars == b.min_chars and a.max_chars == b.max_chars


def padded(text: Lexeme, pad: bytes, limits: Limits) -> Iterator[Parts]:
    """Ways to write a string where readers take away one `pad` on either side if it is there.

    A string that begins or ends with the pad itself needs one more there; all others may go without. Where a string
    less a pad is one of the language, too, nothing depends on it.
    """
    if text.dfa is not None and not text.words and is_closed_under_stripping(text, pad):
        yield Maybe(pad), text, Maybe(pad)
        return
    plain = tuple(word for word in text.words if not (word.startswith(pad) or word.endswith(pad)))
    if plain:
        yield Maybe(pad), Lexeme(words=plain), Maybe(pad)
    if len(plain) < len(text.words):
        others = set(text.words).difference(plain)
        yield (Lexeme(words=tuple(sorted({way for word in others for way in _padded_word(word, pad)}))),)
    if text.dfa is None:
        return
    begins = compile_pattern(f"^{pad.decode()}", limits=limits)
    ends = compile_pattern(f"{pad.decode()}$", limits=limits)
    all_ways = replace(text, words=())
    open_start, open_end = _less(all_ways, begins, limits), _less(all_ways, ends, limits)
    yield pad, all_ways, pad
    if open_end is not None:
        yield pad, open_end
    if open_start is not None:
        yield open_start, pad
        both = _less(open_start, ends, limits)
        if both is not None:
            yield (both,)


def is_closed_under_stripping(text: Lexeme, pad: bytes) -> bool:
    """Whether the strings of a lexeme are surely of it without their first or last byte, if that is `pad`."""
    dfa, byte = text.dfa, pad[0]
    if dfa is None or text.min_chars or dfa.step(0, byte) not in (0, -1):
        return False
    return bool((dfa.labels[dfa.table[:, dfa.classes[byte]] >= 0] >= 0).all())


def _padded_word(word: bytes, pad: bytes) -> Iterator[bytes]:
    yield pad + word + pad
    if not word.endswith(pad):
        yield pad + word
    if not word.startswith(pad):
        yield word + pad
        if not word.endswith(pad):
            yield word


@lru_cache(maxsize=256)
def _difference(one: DFA, other: DFA, limits: Limits) -> DFA:
    """Kept, because the same few languages stand for the strings of most parameters."""
    return operations.difference(one, other, limits)


def _less(text: Lexeme, other: DFA, limits: Limits) -> Lexeme | None:
    """The language of a lexeme without words, less another; None where nothing is left."""
    assert text.dfa is not None
    dfa, low, high = _difference(text.dfa, other, limits), text.min_chars, text.max_chars
    if dfa.is_empty:
        return None
    if low and high is not None and not dfa.has_interval_lengths:
        dfa, low = operations.with_length(dfa, low, None, limits), 0
        if dfa.is_empty:
            return None
    least, most = (int(bounds[0]) for bounds in dfa.char_bounds)
    if (high is not None and least > high) or 0 <= most < low:
        return None
    return Lexeme(dfa=dfa, min_chars=low, max_chars=high)
