"""What the tests of tool calls share: a small vocabulary with every format's control tokens, a slow mirror of a
matcher, random tools with arguments, and random walks over masks.
"""

from __future__ import annotations

import random
import string
from bisect import bisect_left
from typing import Any

import jsonschema
import numpy as np

import constrain
from constrain.automata.grammar import SYMBOL, symbol
from constrain.automata.oracle import Oracle
from constrain.wires.automaton import ToolAutomaton
from constrain.wires.markers import WIRES

PIECES = (
    b"></", b"><", b">\n", b">\n\n", b"=get", b".</", b'"></', b'{"', b'":', b'":"', b'":{"', b'":""', b'":[', b'",',
    b'"}', b'"}\n', b'"}}', b'"}}\n', b"}}\n", b"{}", b" {}", b"{}\n", b" true", b"true", b"function", b"parameter",
    b"</", b"<function=", b"<parameter=", b"</parameter>", b"</function>", b"></function>",
    b"</parameter>\n</function>", b"</function>\n<function=", b"_weather", b"get", b"call", b":{", b":[", b":-",
    b"},", b"},{", b"],", b"}]}", b"name", b"arguments", b'": "', b'", "', b"\n\n", b"tools", b' string="', b'">\n',
    b'">', b"```", b"json", b"```json\n", b"Hello", b" world", b"true\n", b"a\x00", b"12", b"}\n```", "é".encode(),
    b"\xe6\x97", b"invoke", b" to=functions.", b".get", b"commentary", b"analysis", b"final", b"assistant",
    b"functools", b"[{", b"}]", b"functions", b"arg", b"\n<", b"\t\t\t\t", b"        ",
)  # fmt: skip
CONTROLS = tuple(dict.fromkeys(text for wire in WIRES.values() for text in (*wire.controls, *wire.stops)))
FIRST_CONTROL = 256 + len(PIECES)
EOS = FIRST_CONTROL + len(CONTROLS)
WIDTH = EOS + 40


def make_vocabulary(without: tuple[str, ...] = ()) -> constrain.Vocabulary:
    """All bytes, merged pieces, the control tokens of all formats but `without`, an end, and padded rows."""
    special = {text: FIRST_CONTROL + i for i, text in enumerate(CONTROLS) if text not in without}
    tokens = [*(bytes([b]) for b in range(256)), *PIECES]
    return constrain.Vocabulary.from_tokens(
        tokens, special={**special, "<eos>": EOS}, eos_token_ids=[EOS], logits_width=WIDTH
    )


VOCABULARY = make_vocabulary()


def id_of(data: bytes | str) -> int:
    """Id of a piece, or of a control token."""
    if isinstance(data, str):
        return FIRST_CONTROL + CONTROLS.index(data) if data in CONTROLS else id_of(data.encode())
    return 256 + PIECES.index(data) if data in PIECES else data[0]


def mask_of(matcher: Any) -> set[int]:
    """The ids that the mask allows."""
    size = matcher.vocabulary.size
    bitmask = constrain.allocate_token_bitmask(1, size)
    matcher.fill_next_token_bitmask(bitmask)
    return set(np.flatnonzero(np.unpackbits(bitmask.view(np.uint8), bitorder="little")[:size]).tolist())


def tokens_of(automaton: ToolAutomaton, text: str, rng: random.Random | None = None) -> list[int]:
    """A tokenization of a reply: control tokens where the automaton's formats spell them, else pieces, at random or the
    longest first.
    """
    vocabulary = automaton.vocabulary
    assert vocabulary is not None
    spelled: dict[bytes, int] = {}
    for token in range(FIRST_CONTROL):
        data = vocabulary.token_bytes(token)
        if data:
            spelled.setdefault(data, token)
    result: list[int] = []
    run = bytearray()

    def flush() -> None:
        at = 0
        while at < len(run):
            ends = range(at + 1, min(len(run), at + 24) + 1)
            found = [piece for end in ends if (piece := bytes(run[at:end])) in spelled]
            piece = rng.choice(found) if rng else found[-1]
            result.append(spelled[piece])
            at += len(piece)
        run.clear()

    for unit in automaton.marks.split(text):
        if unit >= SYMBOL:
            flush()
            result.append(unit - SYMBOL)
        else:
            run.append(unit)
    flush()
    return result


class Mirror:
    """A matcher by the interpreter: slow, one byte at a time, with the same plan for what lies outside calls."""

    def __init__(self, automaton: ToolAutomaton, stops: tuple[int, ...]) -> None:
        self.automaton, self.stops = automaton, stops
        self.plan = automaton.plan
        self.oracle = Oracle(automaton.root)
        self.threads = self.oracle.start()
        self.state = self.plan.start()

    def units(self, token: int) -> tuple[int, ...]:
        data = self.automaton.vocabulary.token_bytes(token)
        return tuple(data) if data is not None else (symbol(token),)

    def after(self, token: int) -> list[Any]:
        threads = self.threads
        for unit in self.units(token):
            threads = self.oracle.advance(threads, unit)
            if not threads:
                break
        return threads

    def accepting(self) -> bool:
        return self.oracle.is_accepting(self.threads)

    def may_end(self) -> bool:
        return self.plan.may_end(self.state, self.accepting)

    def mask(self) -> set[int]:
        if not self.state.calling:
            return set(range(WIDTH)) - set(self.plan.banned(self.state, self.stops))
        allowed = {token for token in range(WIDTH) if self.after(token)}
        return allowed | set(self.stops) if self.may_end() else allowed

    def accept(self, token: int) -> None:
        if self.state.calling:
            self.threads = self.after(token)
            assert self.threads
            self.state = self.plan.after_step(self.state, self.units(token), self.accepting)
            return
        data = self.automaton.vocabulary.token_bytes(token)
        if data is not None:
            self.state = self.plan.after_text(self.state, data)
            return
        self.state, begins = self.plan.after_control(self.state, token)
        if begins:
            self.threads = self.after(token)
            assert self.threads


# Random tools --------------------------------------------------------------------------------------------------------

KEYS = ("path", "content", "a", "ab", "unit", "straße", "x_1", "deep", "tags")
WORDS = (
    "",
    "a",
    "celsius",
    "fahrenheit",
    "two\nlines",
    "\n",
    " x ",
    "<b>",
    "café",
    'say "hi"',
    "a, b",
    "null",
    "12",
    "{}",
)


def random_schema(rng: random.Random, depth: int) -> dict[str, Any]:
    kinds = ["string", "string", "enum", "pattern", "length", "integer", "number", "boolean", "null", "union"]
    kinds += ["array", "object", "any"] if depth else []
    kind = rng.choice(kinds)
    if kind == "enum":
        return {"enum": rng.sample([*WORDS, 1, 2.5, True, None, ["a"], {"k": 1}], rng.randint(1, 5))}
    if kind == "pattern":
        return {"type": "string", "pattern": rng.choice(["^[a-z]{1,3}$", "^a", r"\n$", "^x?$", "^(ab)*$"])}
    if kind == "length":
        return {"type": "string", "minLength": rng.choice([0, 1, 3]), "maxLength": rng.choice([3, 5])}
    if kind == "integer":
        return {"type": "integer", "minimum": rng.choice([-3, 0]), "maximum": rng.choice([5, 150])}
    if kind == "union":
        return {"type": rng.choice([["string", "null"], ["integer", "string"], ["boolean", "array"]])}
    if kind == "array":
        return {"type": "array", "items": random_schema(rng, depth - 1), "maxItems": 3}
    if kind == "object":
        return random_object(rng, depth - 1)
    return {} if kind == "any" else {"type": kind}


def random_object(rng: random.Random, depth: int = 2) -> dict[str, Any]:
    keys = rng.sample(KEYS, rng.randint(0, 4))
    schema: dict[str, Any] = {"type": "object", "properties": {key: random_schema(rng, depth) for key in keys}}
    schema["required"] = [key for key in keys if rng.random() < 0.5]
    if rng.random() < 0.2:
        schema["additionalProperties"] = rng.choice([True, {"type": "integer"}])
    return schema


def random_value(rng: random.Random, schema: dict[str, Any]) -> Any:
    """A valid value, or LookupError where none was found."""
    kind = schema.get("type") or ("enum" if "enum" in schema else rng.choice(["string", "integer", "object", "null"]))
    if isinstance(kind, list):
        kind = rng.choice(kind)
    if "enum" in schema:
        return rng.choice(schema["enum"])
    if kind == "string":
        words = [*WORDS, "abab", "ab", "x", "abc", "end\n", "日本", "a</b"]
        if schema.get("pattern", "").endswith("$") and schema["pattern"] != r"\n$":
            words = [word for word in words if not word.endswith("\n")]  # where Python's $ is not ECMA's
        valid = jsonschema.Draft202012Validator(schema).is_valid
        return rng.choice([word for word in words if valid(word)])
    if kind == "integer":
        return rng.randint(schema.get("minimum", -9), schema.get("maximum", 10**6))
    if kind == "object":
        return random_arguments(rng, schema)
    if kind == "array":
        return [random_value(rng, schema.get("items", {})) for _ in range(rng.randint(0, schema.get("maxItems", 2)))]
    return {"null": None, "boolean": rng.random() < 0.5, "number": rng.choice([0, -1.5, 2.25, 2.5e22])}[kind]


def random_arguments(rng: random.Random, schema: dict[str, Any]) -> dict[str, Any]:
    required, properties = schema.get("required", ()), schema.get("properties", {})
    keys = [key for key in properties if key in required or rng.random() < 0.5]
    rng.shuffle(keys)
    found = {key: random_value(rng, properties[key]) for key in keys}
    more = schema.get("additionalProperties")
    if more and rng.random() < 0.5:
        found["more"] = 7
    return found


def random_tools(rng: random.Random, count: int = 3) -> list[dict[str, Any]]:
    names = rng.sample(("get", "get_weather", "ping", "write-file", "wetter_für", "a.b"), count)
    return [{"type": "function", "function": {"name": name, "parameters": random_object(rng)}} for name in names]


def is_valid(tools: list[dict[str, Any]], name: str, arguments: Any) -> bool:
    """jsonschema's verdict, with objects closed that declare properties and say nothing of others."""
    schema = closed(next(t["function"]["parameters"] for t in tools if t["function"]["name"] == name))
    schema.setdefault("additionalProperties", False)  # a tool whose properties are {}
    return jsonschema.Draft202012Validator(schema).is_valid(arguments)


def closed(schema: Any) -> Any:
    if isinstance(schema, dict):
        schema = {key: closed(value) for key, value in schema.items()}
        if schema.get("properties") and "type" in schema:
            schema.setdefault("additionalProperties", False)
    return schema


# Walks ---------------------------------------------------------------------------------------------------------------

_LETTERS = {id_of(c) for c in string.ascii_letters + string.digits}


def walk(matcher: Any, rng: random.Random, most: int, mirror: Mirror | None = None) -> list[int] | None:
    """Tokens of a whole reply, at random over the masks; None when it did not end within `most` tokens."""
    taken: list[int] = []
    for step in range(most):
        if matcher.is_terminated():
            return taken
        allowed = mask_of(matcher)
        assert allowed, f"dead end after {taken}"
        if mirror is not None:
            assert allowed == mirror.mask(), f"{allowed ^ mirror.mask()} after {taken}"
        if matcher.is_accepting() and not matcher.in_call and taken:
            return taken
        if matcher.is_accepting() and taken and (rng.random() < 0.6 or step > most // 2):
            return taken
        choices = sorted(allowed - set(matcher.stop_token_ids) if matcher.is_accepting() else allowed)
        if not choices:
            assert matcher.is_accepting()
            return taken
        token = pick(choices, rng, hurry=step > most // 3)
        assert matcher.accept_token(token)
        if mirror is not None:
            mirror.accept(token)
        taken.append(token)
    return None


def pick(choices: list[int], rng: random.Random, hurry: bool) -> int:
    """Favour structure over letters, the more so when the walk should come to an end."""
    control = choices[bisect_left(choices, FIRST_CONTROL) :]
    if control and rng.random() < 0.7:
        return rng.choice(control)
    single = choices[: bisect_left(choices, 256)]
    marks = [t for t in single if chr(t) in '"}]>/<'] if len(choices) > 40 or hurry else choices
    if marks and rng.random() < (0.8 if hurry else 0.3):
        return rng.choice(marks)
    return rng.choice(choices)


def spelled(automaton: ToolAutomaton, tokens: list[int]) -> str:
    """The text of tokens, control tokens spelled."""
    found = (automaton.vocabulary.token_bytes(t) for t in tokens)
    both = zip(tokens, found, strict=True)
    return b"".join([CONTROLS[t - FIRST_CONTROL].encode() if data is None else data for t, data in both]).decode()


# Small scenes --------------------------------------------------------------------------------------------------------


def tool(name: str, properties: dict[str, Any], required: tuple[str, ...] = (), **more: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(required), **more}
    return {"type": "function", "function": {"name": name, "parameters": schema}}


WEATHER = tool(
    "get_weather",
    {
        "location": {"type": "string"},
        "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
        "days": {"type": "integer"},
    },
    ("location",),
)

HEADS = {
    "hermes": '<tool_call>\n{"name": "%s", "arguments": ',
    "qwen3_coder": "<tool_call>\n<function=%s>",
    "gemma4": "<|tool_call>call:%s{",
}


def parameter(key: str, value: str) -> str:
    return f"<parameter={key}>\n{value}\n</parameter>\n"


def units(automaton: ToolAutomaton, text: str) -> list[int]:
    """The text in tokens of one byte, and control tokens."""
    return [unit if unit < SYMBOL else unit - SYMBOL for unit in automaton.marks.split(text)]


class Scene:
    """A reply under way: `text` is what was written so far, byte by byte and control token by control token."""

    def __init__(self, wire: Any, tools: list[dict[str, Any]], text: str = "", **options: Any) -> None:
        self.automaton = ToolAutomaton(tools, options.pop("vocabulary", VOCABULARY), wire, **options)
        self.matcher = self.automaton.matcher()
        self.write(text)

    @classmethod
    def in_call(cls, wire: str, text: str = "", tools: list[dict[str, Any]] | None = None, **options: Any) -> Scene:
        """In a call of the first tool, after its name and what begins the arguments."""
        tools = tools or [WEATHER]
        return cls(wire, tools, HEADS[wire] % tools[0]["function"]["name"] + text, **options)

    def write(self, text: str) -> None:
        tokens = units(self.automaton, text)
        taken = self.matcher.accept_tokens(tokens)
        assert taken == len(tokens), f"refused after {taken} of {len(tokens)} tokens of {text!r}"

    def takes(self, text: str) -> bool:
        """Whether the text may follow."""
        tokens = units(self.automaton, text)
        return self.matcher.validate_tokens(tokens) == len(tokens)

    def allows(self, *pieces: bytes | str) -> list[bool]:
        """Of each piece of the vocabulary, or control token, whether the mask has it; `allows` says the same."""
        mask, ids = mask_of(self.matcher), [id_of(piece) for piece in pieces]
        found = [token in mask for token in ids]
        assert found == [self.matcher.allows(token) for token in ids]
        return found

    def first(self) -> set[str]:
        """The characters, of one byte, that may come next."""
        return {chr(token) for token in mask_of(self.matcher) if token < 128}
