"""Random outputs of grammars that are not JSON: control tokens are spelled, bare keys and raw text written as asked."""

from __future__ import annotations

import constrain
from constrain.automata.grammar import (
    Call,
    Frame,
    Guard,
    Layout,
    LayoutState,
    Lexeme,
    ObjectShape,
    Select,
    Skin,
    symbol,
)
from constrain.languages.pattern import compile_pattern

VOCABULARY = constrain.Vocabulary.from_tokens([bytes([b]) for b in range(256)], {"<call>": 256, "</call>": 257}, [])


def test_control_tokens_are_spelled() -> None:
    body = Lexeme(dfa=compile_pattern("[a-z]{1,8}", search=False))
    states = (
        LayoutState(edges=((symbol(256), 1),)),
        LayoutState(calls=(Call(Select.NODE, 2, body),)),
        LayoutState(edges=((symbol(257), 3), (ord(";"), 1))),
        LayoutState(final=True),
    )
    grammar = constrain.Grammar(Frame(Layout(states)), VOCABULARY, symbols=(256, 257))
    texts = {constrain.sample(grammar, seed=seed) for seed in range(20)}
    assert all(text.startswith("<call>") and text.endswith("</call>") for text in texts)
    assert any(";" in text for text in texts) and len(texts) > 10
    assert constrain.sample(grammar, seed=0, max_bytes=0) == "<call>a</call>"


def test_bare_keys_and_required_ones() -> None:
    """Notation `key=value;key=value.` with a required key."""
    value = Lexeme(words=(b"no", b"yes"))
    shape = ObjectShape((b"a", b"ab", b"c"), (value,) * 3, (False, True, False), skin=Skin.RAW)
    states = (
        LayoutState(calls=(Call(Select.KEY, 1),)),
        LayoutState(edges=((ord("="), 2),)),
        LayoutState(calls=(Call(Select.VALUE, 3),)),
        LayoutState(edges=((ord(";"), 4), (ord("."), 5))),
        LayoutState(calls=(Call(Select.KEY, 1),), guard=Guard.MORE),
        LayoutState(guard=Guard.CLOSE, final=True),
    )
    grammar = constrain.Grammar(Frame(Layout(states), shape), None)
    texts = [constrain.sample(grammar, seed=seed) for seed in range(20)]
    for text in texts:
        members = dict(part.split("=") for part in text.removesuffix(".").split(";"))
        assert "ab" in members and members.keys() <= {"a", "ab", "c"} and set(members.values()) <= {"no", "yes"}
    assert len(set(texts)) > 8
