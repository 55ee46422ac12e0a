"""Random grammars, texts and vocabularies for the engine's tests: nodes are built directly, no schema is involved."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import islice

from constrain import Vocabulary
from constrain.automata.diagrams import completable
from constrain.automata.grammar import (
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
    symbol,
)
from constrain.automata.json_layouts import array_layout, object_layout, without_repeats
from constrain.automata.oracle import Members, Oracle, children, value_of
from constrain.languages.operations import ANY_STRING, label_product
from constrain.languages.pattern import compile_pattern
from constrain.schema.plans import Plan

PIECES = (
    b'{"', b'":', b'": ', b'":"', b'",', b'", "', b'"}', b'"}}', b'"]', b"[]", b"{}", b"}}", b"},", b'},{"', b"]}",
    b"],",
    b"true", b"false", b"null", b" true",
    b", ", b"  ", b"\n\n", b"\n  ", b"\t", b'\\"', b"\\n", b"\\u", b"\\u00",
    b"00",
    b"ab", b"abc", b"b\"", b"a\":", b"a\":1,\"", b"\"a\":1,\"b\":", b"\xc3", b"\xa9", "é".encode(), "日".encode(),
    b"\xe6\x97", b"\xa5",
    "😀".encode(), b"\xf0\x9f", b"\x98\x80", b"12", b"1.5", b"-1", b"e+", b"10", b"a,b", b"[[", b"]]", b'["', b'","',
    b"aa", b"aab",
    b"\\ud8", b"3d\\u", b"de00", b"\x00", b"\x1f", b"a\x00", b"\\\\", b"\\\"\"", b"\"\"", b"\"\":", b"\xff",
)  # fmt: skip
EOS = 256 + len(PIECES)
OPEN, CLOSE = EOS + 1, EOS + 2
SYMBOLS = (OPEN, CLOSE)


def byte_vocabulary(*, logits_width: int | None = None, whole_keys: bool = True) -> Vocabulary:
    """All single bytes, merged pieces that straddle every kind of boundary, an EOS, and padding.

    whole_keys: keep the pieces that write a comma and a whole key; masks are cached more widely without them.
    """
    tokens: list[bytes | None] = [bytes([b]) for b in range(256)]
    tokens += [p if whole_keys or not (b'"b":' in p and b"," in p) else None for p in PIECES]
    tokens.append(None)
    width = logits_width or EOS + 70
    special = {"<eos>": EOS, "<|open|>": OPEN, "<|close|>": CLOSE}
    return Vocabulary.from_tokens(tokens, special=special, eos_token_ids=[EOS], logits_width=width)


STRING = Lexeme(dfa=ANY_STRING, skin=Skin.JSON_STRING)
INTEGER = Lexeme(dfa=compile_pattern("-?(?:0|[1-9][0-9]*)", search=False))
NUMBER = Lexeme(dfa=compile_pattern(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?", search=False))
LITERALS = Lexeme(words=(b"false", b"null", b"true"))
KEYS = (
    b"", b"a", b"aa", b"ab", b"abc", b"b", b'q"', b"\n", "é".encode(), "日本".encode(), "😀".encode(), b"a:1", b"\\",
)  # fmt: skip
PATTERNS = ("^a", "b$", "^[a-c]*$", "^(ab)*$", "^[^a]+$", "é|日", "^.{2,3}$", "^[ab]$", "^[ab]{1,2}$", "^(aa|é)?$", "")


def random_node(rng: random.Random, depth: int = 3) -> Node:
    """A node whose language is not empty."""
    pool: list[Callable[[random.Random, int], Node]] = [_scalar, _string, _words]
    if depth > 0:
        pool += [_object, _object, _array, _union, _lazy, _tagged, _bare]
    return rng.choice(pool)(rng, depth - 1)


def _scalar(rng: random.Random, depth: int) -> Node:
    return rng.choice((STRING, INTEGER, NUMBER, LITERALS))


def _string(rng: random.Random, depth: int) -> Node:
    dfa = compile_pattern(rng.choice(PATTERNS))
    low = rng.choice((0, 0, 1, 2))
    high = rng.choice((None, None, 2, 3, 5))
    if not dfa.has_interval_lengths or dfa.char_bounds[0][0] > (high if high is not None else 9):
        low, high = 0, None
    most = dfa.char_bounds[1][0]
    if most >= 0:
        low = min(low, int(most))
    return Lexeme(dfa=dfa, min_chars=low, max_chars=high, skin=Skin.JSON_STRING)


def _words(rng: random.Random, depth: int) -> Node:
    words = tuple(sorted(rng.sample(KEYS, rng.randint(1, 5))))
    dfa = compile_pattern(rng.choice(PATTERNS)) if rng.random() < 0.2 else None
    return Lexeme(words=words, dfa=dfa, skin=Skin.JSON_STRING)


def _object(rng: random.Random, depth: int) -> Node:
    keys = tuple(sorted(rng.sample(KEYS, rng.randint(0, 4))))
    values = tuple(None if rng.random() < 0.1 else random_node(rng, depth) for _ in keys)
    required = tuple(v is not None and rng.random() < 0.4 for v in values)
    extra, extra_values = None, ()
    if rng.random() < 0.6:
        extra = ANY_STRING if rng.random() < 0.5 else compile_pattern(rng.choice(PATTERNS))
        extra_values = (random_node(rng, depth),)
        if rng.random() < 0.3:
            extra = label_product([extra, compile_pattern("a")], lambda hit: -1 if 0 not in hit else int(1 in hit))
            extra_values = (*extra_values, random_node(rng, depth))
    possible = sum(v is not None for v in values)
    low, high = rng.choice((0, 0, 1, 2)), rng.choice((None, None, 1, 2, 3))
    if extra is not ANY_STRING:
        low = min(low, possible)
    if high is not None:
        high = max(high, sum(required), low)
    rank = None
    if rng.random() < 0.3:
        order = list(range(len(keys)))
        rng.shuffle(order)
        rank = tuple(order)
    shape = ObjectShape(keys, values, required, rank, extra, extra_values, low, high)
    if rng.random() < 0.5:
        _add_diagram(rng, shape, depth)
    return Frame(object_layout(_whitespace(rng)), shape)


def _add_diagram(rng: random.Random, shape: ObjectShape, depth: int) -> None:
    """Let some members decide together what the object may have, if that can be."""
    if shape.extra is not None and shape.extra.char_bounds[1][0] >= 0:
        return  # additional keys could be used up
    keys = [i for i, value in enumerate(shape.values) if value is not None and rng.random() < 0.8]
    rng.shuffle(keys)
    width = [1, *(rng.randint(1, 3) for _ in keys)]
    options = [tuple(random_node(rng, depth) for _ in range(rng.randint(1, 3))) for _ in keys]
    levels = []
    for n, key in enumerate(keys):
        choices = [*(() if shape.required[key] else (-1,)), *range(len(options[n]))]
        levels.append(
            tuple(
                tuple((option, rng.randrange(width[n + 1])) for option in choices if rng.random() < 0.7)
                for _ in range(width[n])
            )
        )
    states, kinds = rng.randint(1, 3), rng.randint(1, 2)
    others = tuple(
        tuple((random_node(rng, depth), rng.randrange(kinds)) for _ in range(rng.randint(0, 2)))
        for _ in shape.extra_values
    )
    moves = tuple(tuple(rng.randrange(states) for _ in range(states)) for _ in range(kinds))
    ends = tuple(tuple(rng.random() < 0.5 for _ in range(states)) for _ in range(width[-1]))
    plan = Plan(tuple(map(str, keys)), tuple(options), tuple(levels), others, moves, ends).trimmed(lambda node: True)
    if plan is None:
        return
    low = shape.min_members
    shape.min_members = min(low, sum(shape.required))
    shape.diagram = Diagram(tuple(keys), plan.options, plan.levels, plan.others, plan.moves, plan.ends)
    if not completable(shape, Members()):
        shape.diagram, shape.min_members = None, low


def _tagged(rng: random.Random, depth: int) -> Node:
    """A node between two control tokens, or after one of several."""
    inner, close = random_node(rng, depth), rng.choice((symbol(CLOSE), symbol(OPEN), ord(";")))
    first = LayoutState(edges=((symbol(OPEN), 1), (symbol(rng.choice(SYMBOLS)), 1)))
    states = (first, LayoutState(calls=(Call(Select.NODE, 2, inner),)), LayoutState(edges=((close, 3),)))
    return Frame(Layout((*states, LayoutState(final=True))))


BARE = Layout(
    (
        LayoutState(edges=((ord("("), 1),)),
        LayoutState(edges=((ord(")"), 6),), calls=(Call(Select.KEY, 2),)),
        LayoutState(edges=((ord("="), 3), (symbol(OPEN), 3))),
        LayoutState(calls=(Call(Select.VALUE, 4),)),
        LayoutState(edges=((ord(","), 5), (ord(")"), 6))),
        LayoutState(calls=(Call(Select.KEY, 2),), guard=Guard.MORE),
        LayoutState(final=True, guard=Guard.CLOSE),
    )
)


def _bare(rng: random.Random, depth: int) -> Node:
    """An object whose keys are written without quotes; such keys are not empty."""
    frame = _object(rng, depth)
    assert isinstance(frame, Frame) and isinstance(frame.shape, ObjectShape)
    shape = frame.shape
    if b"" in shape.keys or (shape.extra is not None and shape.extra.accepts(b"")):
        return frame
    shape.skin = Skin.RAW
    return Frame(BARE, shape)


def _array(rng: random.Random, depth: int) -> Node:
    prefix = tuple(random_node(rng, depth) for _ in range(rng.choice((0, 0, 1, 2))))
    rest = random_node(rng, depth) if rng.random() < 0.8 else None
    low, high = rng.choice((0, 0, 1, 2)), rng.choice((None, None, 2, 3))
    if rest is None:
        low = min(low, len(prefix))
    frame = Frame(array_layout(_whitespace(rng)), ArrayShape(prefix, rest, low, high))
    if rng.random() < 0.4 and not (prefix and low) and _is_json(frame, set()):
        assert isinstance(frame.shape, ArrayShape)
        frame = Frame(without_repeats(frame.layout), frame.shape)
        assert isinstance(frame.shape, ArrayShape)
        frame.shape.compared = True
        if low and rest is not None:
            different = {value_of(text) for text in islice(Oracle(frame)._values.words(rest), 9)}
            frame.shape.min_items = min(low, len(different))
    return frame


def _is_json(node: Node, seen: set[Node]) -> bool:
    """Whether all texts of a node are JSON values."""
    node = resolve(node)
    if node in seen:
        return True
    seen.add(node)
    if isinstance(node, Frame) and (node.shape is None or getattr(node.shape, "skin", Skin.JSON_STRING) is Skin.RAW):
        return False
    return all(_is_json(child, seen) for child in children(node))


def _union(rng: random.Random, depth: int) -> Node:
    return Union(tuple(random_node(rng, depth) for _ in range(rng.randint(1, 3))))


def _lazy(rng: random.Random, depth: int) -> Node:
    node = random_node(rng, depth)
    return Lazy(lambda: node)


def _whitespace(rng: random.Random) -> str:
    return rng.choice(("flexible", "flexible", "compact", "single", "[ ]?"))
