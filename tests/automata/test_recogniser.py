"""The interpreter with shared stacks against the reference interpreter, and where that one would not end in time."""

from __future__ import annotations

import random

import constrain
from constrain.automata.grammar import Frame, Layout, LayoutState
from constrain.automata.oracle import Oracle
from constrain.automata.recogniser import Recogniser

from .grammars import random_node

TEXTS = (b"", b"{}", b"[]", b'{"a":1}', b'"a"', b"[1, 2]", b"true", b"-1.5", b'{"a": {"b": []}}', b"[[]]", b"x")


def test_it_agrees_with_the_reference_interpreter() -> None:
    for seed in range(120):
        root = random_node(random.Random(seed))
        recogniser, oracle = Recogniser(root), Oracle(root)
        for text in TEXTS:
            assert recogniser.accepts(text) == oracle.accepts(text), (seed, text)


def test_readings_that_multiply_with_every_byte_are_shared() -> None:
    """Each bracket may be closed in two ways, which only the end tells."""
    grammar = constrain.compile_gbnf(
        'root ::= "(" root ")" | "(" root "]" | "(" other ")"\nother ::= root | "x" | other other'
    )
    text = "(" * 200 + "x" + ")" * 200
    assert grammar.accepts(text)
    assert not grammar.accepts(text[:-1])
    assert not grammar.accepts(text + ")")


def test_a_reading_can_be_gone_on_with_more_than_once() -> None:
    recogniser = Recogniser(constrain.compile_gbnf('root ::= "a" root "b" | "c"').root)
    reading = recogniser.start()
    for byte in b"aac":
        following = recogniser.advance(reading, byte)
        assert following is not None
        reading = following
    for rest in (b"bb", b"b", b"bbb", b"bb"):
        after = reading
        for byte in rest:
            following = recogniser.advance(after, byte)
            if following is None:
                break
            after = following
        else:
            assert recogniser.is_accepting(after) == (rest == b"bb")
            continue
        assert rest == b"bbb"


def test_symbols_are_read_where_they_stand() -> None:
    root = Frame(Layout((LayoutState(edges=((300, 1), (97, 0))), LayoutState(final=True))))
    assert Recogniser(root).accepts((97, 97, 300))
    assert not Recogniser(root).accepts((97, 300, 300))
