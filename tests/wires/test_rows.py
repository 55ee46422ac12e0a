"""What may follow where in a tool call, in the small vocabulary and in those of real tokenizers, where
CONSTRAIN_TOKENIZERS names a folder of NAME/tokenizer.json.

Each row says how far a call is written, what may follow, and what may not. Continuations are tried in the tokenizer's
own tokens and byte by byte; where one is a single token, so is its bit of the mask. At every place the mask is compared
with replaying the bytes of tokens, by the kernels for many, by the interpreter for some.
"""

from __future__ import annotations

import os
import random
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import constrain
from constrain.automata.grammar import SYMBOL
from constrain.automata.oracle import Oracle
from constrain.wires.markers import members
from constrain.wires.render import render_call

from .rows import INTEGER, KINDS, ORDER, ROWS, STRING, UNIONS, WEATHER, Q, Row, p, tool
from .support import VOCABULARY

FOLDER = Path(os.environ.get("CONSTRAIN_TOKENIZERS") or "/nonexistent")
EOS = {"qwen3": 151645, "llama3_1": 128009, "gemma4": 1, "deepseek_v3": 1, "gpt4o": 199999}


class Kit(NamedTuple):
    """A tokenizer: text -> ids; the vocabulary; bytes -> id of a token with just these."""

    encode: Any
    vocabulary: constrain.Vocabulary
    ids: dict[bytes, int]


@lru_cache(maxsize=2)  # more vocabularies of this size are not kept side by side
def kit(name: str) -> Kit:
    if name == "small":
        return Kit(_longest, VOCABULARY, _ids(VOCABULARY))
    path = FOLDER / name / "tokenizer.json"
    if not path.is_file():
        pytest.skip(f"CONSTRAIN_TOKENIZERS has no {name}")
    reader = pytest.importorskip("tokenizers").Tokenizer.from_file(str(path))
    if name == "gpt4o":
        reader.add_special_tokens(list(members("harmony")[0].controls))
    vocabulary = constrain.Vocabulary.from_tokenizer(reader, eos_token_ids=[EOS[name]])
    return Kit(lambda text: reader.encode(text, add_special_tokens=False).ids, vocabulary, _ids(vocabulary))


def _ids(vocabulary: constrain.Vocabulary) -> dict[bytes, int]:
    ids: dict[bytes, int] = {}
    for token in range(vocabulary.size):
        data = vocabulary.token_bytes(token)
        if data:
            ids.setdefault(data, token)
    return ids


def _longest(text: str) -> list[int]:
    """Tokens of the small vocabulary, each the longest that fits; none for bytes that no token has."""
    data, ids, found = text.encode(), kit("small").ids, []
    while data:
        size = next((n for n in range(24, 0, -1) if data[:n] in ids), 0)
        if not size:
            return []
        found.append(ids[data[:size]])
        data = data[size:]
    return found


class Place:
    """A reply that is written up to some text. Formats without a marker of their own begin a call with its text."""

    def __init__(self, name: str, wire: str, tools: list[dict[str, Any]], text: str, **options: Any) -> None:
        self.kit = kit(name)
        options = {"tool_choice": "required", "text_arming": True, **options}
        self.automaton = constrain.compile_tools(tools, self.kit.vocabulary, wire, **options)
        self.matcher = self.automaton.matcher()
        self.oracle = Oracle(self.automaton.root)
        self.read = self.units(text)
        tokens = self.tokens(text)
        taken = self.matcher.accept_tokens(tokens)
        assert taken == len(tokens), f"{wire}: {text!r} is refused after {taken} of {len(tokens)} tokens"

    def units(self, text: str) -> list[int]:
        return list(self.automaton.marks.split(text))

    def tokens(self, text: str, whole: bool = True) -> list[int]:
        """Control tokens where markers are spelled, all else as the tokenizer has it, or byte by byte. A byte that no
        token has is -1.
        """
        found: list[int] = []
        for is_control, group in groupby(self.units(text), lambda unit: unit >= SYMBOL):
            if is_control:
                found += [unit - SYMBOL for unit in group]
                continue
            data = bytes(group)
            tokens = self.kit.encode(data.decode()) if whole else []
            if b"".join([self.kit.vocabulary.token_bytes(token) or b"" for token in tokens]) != data:  # or normalised
                tokens = [self.kit.ids.get(bytes([byte]), -1) for byte in data]
            found += tokens
        return found

    def takes(self, text: str) -> bool:
        """Whether the text may follow; every way of cutting it into tokens says the same."""
        found = set()
        for whole in (True, False):
            tokens = self.tokens(text, whole)
            found.add(self.matcher.validate_tokens(tokens) == len(tokens))
        token = self.kit.ids.get(text.encode())
        if token is not None:
            found |= {self.matcher.allows(token), self.mask()[token]}
        assert len(found) == 1, f"tokenizations of {text!r} differ"
        return bool(found.pop())

    def mask(self) -> np.ndarray:
        bitmask = constrain.allocate_token_bitmask(1, self.kit.vocabulary.size)
        self.matcher.fill_next_token_bitmask(bitmask)
        return np.unpackbits(bitmask.view(np.uint8), bitorder="little")[: self.kit.vocabulary.size].astype(bool)

    def check_mask(self, seed: int) -> None:
        """Bits against what replaying the bytes of tokens says."""
        mask, rng, vocabulary = self.mask(), random.Random(seed), self.kit.vocabulary
        allowed = np.flatnonzero(mask).tolist()
        assert allowed or self.matcher.is_accepting()
        some = [*rng.sample(allowed, min(len(allowed), 150)), *rng.sample(range(vocabulary.size), 150)]
        for token in some:
            data = vocabulary.token_bytes(token)
            if not data:
                assert mask[token] == self.matcher.allows(token)
                continue
            fork = self.matcher.fork()
            assert mask[token] == (fork.accept_bytes(data) and b"\0" not in data), data
        threads, used = self.oracle.run(self.read)
        assert used == len(self.read)
        for token in some[:20] + some[-20:]:
            data, after = vocabulary.token_bytes(token) or b"\xff", threads
            for byte in data:
                after = self.oracle.advance(after, byte) if after else after
            assert mask[token] == bool(after) or token in self.matcher.stop_token_ids or not data.strip(b"\xff"), data


def head(wire: str, name: str, kind: str = "json") -> str:
    """A call up to its arguments."""
    one = members(wire)[-1 if kind == "coder" else 0].name
    text = render_call(one, name, {}).lstrip("\n")
    if kind == "coder":
        return text[: text.index(">\n</function")] + ">"
    return text[: text.rindex("{}")]


CASES = sorted(((name, wire, row) for row in ROWS for name, wire in KINDS[row.kind]), key=lambda one: one[0])


@pytest.mark.parametrize(("name", "wire", "row"), CASES, ids=[f"{n}-{w}-{row.id}-{row.text}"[:60] for n, w, row in CASES])
def test_rows(name: str, wire: str, row: Row) -> None:
    function = row.tools[0]["function"]
    quote = getattr(members(wire)[0].body, "quote", Q)
    place = Place(name, wire, row.tools, head(wire, function["name"], row.kind) + row.text.replace(Q, quote))
    place.check_mask(1)
    for good in row.good:
        assert place.takes(good.replace(Q, quote)), f"{good!r} must be allowed"
    for bad in row.bad:
        assert not place.takes(bad.replace(Q, quote)), f"{bad!r} must not be allowed"


# Merged tokens, control tokens, the ends of calls ---------------------------------------------------------------------


def bits(place: Place, *texts: str) -> list[bool]:
    """Of each text that is one token, whether the mask has it; `allows` says the same."""
    mask, ids = place.mask(), [place.kit.ids[text.encode()] for text in texts]
    assert [bool(mask[token]) for token in ids] == [place.matcher.allows(token) for token in ids]
    return [bool(mask[token]) for token in ids]


@pytest.mark.parametrize("wire", ["qwen3_coder", "qwen"])
def test_b4_a_token_across_the_end_of_the_name_must_go_on_as_arguments(wire: str) -> None:
    place = Place("qwen3", wire, [WEATHER], "<tool_call>\n<function=get_weather", tool_choice="auto")
    place.check_mask(4)
    assert bits(place, ">", ">\n", ">\n\n", "><") == [True] * 4
    assert bits(place, "></", ">(", ">{", ">.") == [False] * 4
    bare = Place("qwen3", wire, [tool({}, name="ping")], "<tool_call>\n<function=ping", tool_choice="auto")
    assert bits(bare, "></", ">\n", ">(") == [True, True, False]


@pytest.mark.parametrize("wire", ["hermes", "qwen"])
def test_b5_a_token_across_the_colon_must_go_on_as_an_object(wire: str) -> None:
    place = Place("qwen3", wire, [WEATHER], '<tool_call>\n{"name": "get_weather", "arguments', tool_choice="auto")
    assert bits(place, '":', '":{"') == [True] * 2 and bits(place, '":"', '":""', '":[') == [False] * 3
    place.matcher.accept_token(place.kit.ids[b'":'])
    assert bits(place, "{}", " {}", "{", '{"', ' {"') == [False, False, True, True, True]


def test_b6_names_that_begin_alike() -> None:
    tools = [tool({"a": INTEGER}, ["a"], "get"), tool({}, name="get_weather"), tool({"q": STRING}, name="get_weather_all")]
    place = Place("gemma4", "gemma4", tools, "<|tool_call>call:get", tool_choice="auto")
    assert bits(place, "{}", "{", "_") == [False, True, True]
    place = Place("gemma4", "gemma4", tools, "<|tool_call>call:get_weather", tool_choice="auto")
    assert bits(place, "{}", "{", "_") == [True, True, True] and not place.takes("_al{") and place.takes("_all{}")
    place.check_mask(6)


@pytest.mark.parametrize(
    ("name", "wire", "text"),
    [
        ("qwen3", "hermes", '<tool_call>\n{"name": "get_weather", "arguments": {"location": "'),
        ("qwen3", "qwen3_coder", "<tool_call>\n<function=get_weather>\n<parameter=location>\n"),
        ("gemma4", "gemma4", f"<|tool_call>call:get_weather{{location:{Q}"),
    ],
)
def test_c10_c11_d4_e7_control_tokens_in_strings(name: str, wire: str, text: str) -> None:
    place = Place(name, wire, [WEATHER], text, tool_choice="auto")
    mask, vocabulary = place.mask(), place.kit.vocabulary
    quote = {vocabulary.control_id(Q)} if wire == "gemma4" else set()
    assert {token for token in vocabulary.control.values() if mask[token]} == quote
    assert not any(mask[token] for token in range(vocabulary.size) if b"\0" in (vocabulary.token_bytes(token) or b""))
    rest = "tool_call|>" if wire == "gemma4" else "/tool_call>"
    spelled = [*place.kit.encode("<"), *place.kit.encode(rest)]
    assert (place.matcher.validate_tokens(spelled) == len(spelled)) == (wire == "hermes")
    if wire == "gemma4":  # ordinary added tokens are text
        assert mask[place.kit.ids[b"<b>"]]


def test_b10_natural_closers_are_let_through() -> None:
    start = '<tool_call>\n{"name": "get_weather", "arguments": {"location": "x'
    place = Place("qwen3", "hermes", [WEATHER], start)
    assert bits(place, '"}}\n', '"}}', '"}', '"}\n') == [True] * 4
    place = Place("qwen3", "hermes", [WEATHER], start + '", "days": 3')
    assert bits(place, "}}\n", "}}", "}}}") == [True, True, False]
    place = Place("qwen3", "qwen3_coder", [WEATHER], "<tool_call>\n<function=get_weather>\n<parameter=location>\nf(x")
    assert bits(place, ")\n", ");\n", "}\n") == [True] * 3
    place = Place("deepseek_v3", "deepseek_v3", [WEATHER], head("deepseek_v3", "get_weather") + '{"location": "x')
    assert bits(place, '"}\n', '"}') == [True, True]


def test_b11_after_the_arguments_comes_the_close() -> None:
    start = '<tool_call>\n{"name": "get_weather", "arguments": {"location": "x"}'
    place = Place("qwen3", "hermes", [WEATHER], start)
    assert not place.takes(",") and not place.takes("x") and place.takes("}\n</tool_call>")


@pytest.mark.parametrize(
    ("name", "wire", "text", "first"),
    [
        ("qwen3", "hermes", '<tool_call>\n{"name": "get_weather", "arguments": {"location": "x"}}\n</tool_call>', "<tool_call>"),
        ("qwen3", "qwen3_coder", "<tool_call>\n<function=get_weather>\n" + p("location", "x") + "</function>\n</tool_call>", "<tool_call>"),
        ("gemma4", "gemma4", f"<|tool_call>call:get_weather{{location:{Q}x{Q}}}<tool_call|>", "<|tool_call>"),
    ],
)  # fmt: skip
def test_j5_j6_j7_tool_choice(name: str, wire: str, text: str, first: str) -> None:
    tools = [WEATHER, tool({}, name="ping")]
    opener = kit(name).vocabulary.control_id(first)
    for choice in ("required", "any", {"type": "any"}):
        place = Place(name, wire, tools, "", tool_choice=choice)
        assert np.flatnonzero(place.mask()).tolist() == [opener] and not place.matcher.is_accepting()
        assert place.takes(text)
    named = Place(name, wire, tools, "", tool_choice="ping")
    assert not named.takes(text) and named.takes(render_call(wire, "ping", {}).lstrip("\n"))
    none = Place(name, wire, tools, text[: len(text) // 2], tool_choice="none")
    assert not none.matcher.is_constraining and none.mask().all()
    with pytest.raises(constrain.RequestError, match="no tool named 'pong'"):
        Place(name, wire, tools, "", tool_choice="pong")


@pytest.mark.parametrize("wire", ["hermes", "qwen3_coder"])
def test_f3_an_overlay_masks_token_for_token_like_the_format_that_was_decided(wire: str) -> None:
    rng = random.Random(5)
    tools = [WEATHER, ORDER, UNIONS | {"function": {**UNIONS["function"], "name": "g"}}]
    both, single = (Place("qwen3", one, tools, "", tool_choice="auto") for one in ("qwen", wire))
    for _ in range(6):
        values = {"location": rng.choice(["x", "日本", "a\nb"]), "days": rng.randrange(50)}
        text = render_call(wire, "get_weather", values).lstrip("\n")
        written, begins = b"", b"{" if wire == "hermes" else b"<"
        for token in single.tokens(text):
            if begins in written:
                assert (both.mask() == single.mask()).all()
            written += single.kit.vocabulary.token_bytes(token) or b""
            assert both.matcher.accept_token(token) and single.matcher.accept_token(token)
