"""Grammars as bytes: every front end comes back with the same meaning, and damage is told, never overlooked."""

import copy
import hashlib
import json
import pickle
import struct
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pytest

import constrain
from constrain import ConstrainError, Grammar, VocabularyError
from constrain.automata.grammar import Lexeme
from constrain.wires.gate import Thoughts
from constrain.wires.kinds import QwenCoderToolAutomaton
from constrain.wires.records import Mark, Reasoning

BYTES = [bytes([b]) for b in range(256)]
MARKERS = {"<eos>": 256, "<tool_call>": 257, "</tool_call>": 258}
VOCABULARY = constrain.Vocabulary.from_tokens([*BYTES], special=MARKERS, eos_token_ids=[256])
OTHER = constrain.Vocabulary.from_tokens([*BYTES], special=MARKERS, eos_token_ids=[256], logits_width=300)

TOOL = {
    "name": "book",
    "parameters": {
        "type": "object",
        "properties": {"seats": {"type": "integer", "maximum": 9}, "row": {"enum": ["a", "b"]}},
        "required": ["seats"],
    },
}
CONTENT = {"type": "json_schema", "json_schema": {"type": "integer"}}
TAG = {"type": "structural_tag", "format": {"type": "tag", "begin": "<n>", "content": CONTENT, "end": "</n>"}}
REMOTE = {"$id": "https://example.test/size", "enum": ["small", "large"]}


def schema_grammar(**options):
    return lambda vocabulary: constrain.compile_json_schema(
        {"type": "object", "properties": {"b": {"const": 1}, "a": {"type": "number", "multipleOf": 0.1}}},
        vocabulary,
        **options,
    )


GRAMMARS = {
    "schema": (schema_grammar(), ['{"a": 0.3}', '{"b": 1, "a": 2}'], ['{"a": 0.35}', '{"b": 2}']),
    "schema, other options": (
        schema_grammar(property_order="schema", whitespace="compact", additional_properties=False),
        ['{"b":1,"a":0.3}'],
        ['{"a":0.3,"b":1}', '{"b": 1}', '{"c":1}'],
    ),
    "schema as text": (
        lambda v: constrain.compile_json_schema('{"minimum": 1.0000000000000000000001, "type": "number"}', v),
        ["1.0000000000000000000001"],
        ["1"],
    ),
    "schema with other documents": (
        lambda v: constrain.compile_json_schema(
            {"$ref": "https://example.test/size"}, v, registry={"https://example.test/size": REMOTE}
        ),
        ['"small"'],
        ['"medium"'],
    ),
    "true": (lambda v: constrain.compile_json_schema(True, v), ["[null]"], ["]"]),
    "regex": (lambda v: constrain.compile_regex(r"\d{2}\Z", v, dialect="python"), ["12"], ["123"]),
    "choice": (lambda v: constrain.compile_choice(["yes", "ja, stimmt", "é"], v), ["yes", "é"], ["no"]),
    "lark": (lambda v: constrain.compile_lark('top: "a" %json {"type": "boolean"}', v, start="top"), ["atrue"], ["a"]),
    "gbnf": (lambda v: constrain.compile_gbnf('word ::= "x" [0-9]+', v, root="word"), ["x12"], ["x"]),
    "structural tag": (lambda v: constrain.compile_structural_tag(TAG, v), ["<n>12</n>"], ["<n>a</n>"]),
    "structural tag as text": (
        lambda v: constrain.compile_structural_tag(json.dumps(TAG).encode(), v, whitespace="compact"),
        ["<n>12</n>"],
        ["<n>a</n>"],
    ),
    "tools": (
        lambda v: constrain.compile_tools([TOOL], v, tool_choice="required", property_order="schema"),
        ['<tool_call>\n{"name": "book", "arguments": {"seats": 3, "row": "b"}}\n</tool_call>'],
        [
            '<tool_call>\n{"name": "book", "arguments": {"row": "b", "seats": 3}}\n</tool_call>',
            '<tool_call>\n{"name": "book", "arguments": {"seats": 10}}\n</tool_call>',
        ],
    ),
    "tools of servers": (
        lambda v: constrain.compile_tools(None, v, ["hermes", "qwen3_coder"], servers={"s": [TOOL]}),
        ['<tool_call>\n{"name": "s_book", "arguments": {"seats": 3}}\n</tool_call>'],
        ['<tool_call>\n{"name": "book", "arguments": {"seats": 3}}\n</tool_call>'],
    ),
    "tools of one format": (
        lambda v: QwenCoderToolAutomaton([TOOL], v, tool_choice={"type": "tool", "name": "book"}),
        ["<tool_call>\n<function=book>\n<parameter=seats>\n3\n</parameter>\n</function>\n</tool_call>"],
        ["<tool_call>\n<function=book>\n</function>\n</tool_call>"],
    ),
}


@pytest.fixture(params=GRAMMARS)
def case(request):
    if "lark" in request.param:
        pytest.importorskip("lark")
    return GRAMMARS[request.param]


def masks(grammar, text):
    """All masks on the way through a text, its markers as tokens; 0 where a token is refused."""
    tokens, rest = [], text
    while rest:
        marker = next((m for m in MARKERS if rest.startswith(m)), None)
        tokens += [MARKERS[marker]] if marker else list(rest[0].encode())
        rest = rest[len(marker) if marker else 1 :]
    matcher, bitmask, seen = grammar.matcher(), constrain.allocate_token_bitmask(1, VOCABULARY.size), []
    for token in tokens:
        matcher.fill_next_token_bitmask(bitmask)
        seen.append(bitmask.copy() if matcher.accept_token(token) else 0)
    return seen


class TestRoundTrip:
    def test_texts(self, case):
        """Without a vocabulary, the restored grammar accepts and refuses the same texts."""
        make, good, bad = case
        grammar = make(None)
        again = Grammar.from_bytes(grammar.to_bytes())
        assert type(again) is type(grammar)
        for text in good:
            assert grammar.accepts(text) and again.accepts(text)
        for text in bad:
            assert not grammar.accepts(text) and not again.accepts(text)

    def test_masks(self, case):
        """With one, it gives the same masks."""
        make, good, bad = case
        grammar = make(VOCABULARY)
        again = Grammar.from_bytes(grammar.to_bytes(), VOCABULARY)
        for text in good + bad:
            for expected, found in zip(masks(grammar, text), masks(again, text), strict=True):
                assert np.array_equal(expected, found)

    def test_bytes_are_stable(self, case):
        """A restored grammar has the same bytes, and the same report."""
        make, _, _ = case
        grammar = make(VOCABULARY)
        again = Grammar.from_bytes(grammar.to_bytes(), VOCABULARY)
        assert again.to_bytes() == grammar.to_bytes()
        assert str(again.report) == str(grammar.report)
        assert again.symbols == grammar.symbols

    def test_pickle(self, case):
        make, good, _ = case
        grammar = make(VOCABULARY)
        again, vocabulary = pickle.loads(pickle.dumps((grammar, VOCABULARY)))
        assert again.to_bytes() == grammar.to_bytes()
        assert again.vocabulary is vocabulary and vocabulary == VOCABULARY
        assert all(again.accepts(text) for text in good)

    def test_limits_are_kept(self):
        limits = constrain.Limits(max_states=123, max_seconds=4.5)
        grammar = constrain.compile_regex("a{5}", limits=limits)
        assert Grammar.from_bytes(grammar.to_bytes()).limits == limits

    def test_numbers_keep_their_digits(self):
        schema = {"enum": [Decimal("0.10"), Decimal("1E+40"), 0.1, 10**30, -0.0, 2**53 + 1]}
        grammar = constrain.compile_json_schema(schema)
        again = Grammar.from_bytes(grammar.to_bytes())
        assert again.to_bytes() == grammar.to_bytes()
        for text in ("0.1", "1" + "0" * 40, "1" + "0" * 30, str(2**53 + 1)):
            assert grammar.accepts(text) and again.accepts(text), text
        assert not again.accepts(str(2**53))

    def test_later_changes_by_the_caller(self):
        """What was compiled is saved, not what the caller made of it since."""
        schema, tools, tag = {"enum": ["a"]}, copy.deepcopy([TOOL]), copy.deepcopy(TAG)
        grammars = [
            constrain.compile_json_schema(schema),
            constrain.compile_tools(tools),
            constrain.compile_structural_tag(tag),
        ]
        before = [grammar.to_bytes() for grammar in grammars]
        schema["enum"].append("b")
        tools[0]["name"] = "cancel"
        tag["format"]["begin"] = "<m>"
        assert [grammar.to_bytes() for grammar in grammars] == before

    def test_documents_of_a_registry(self):
        """Documents that were needed are saved with the grammar, and no others; those of a dialect, too."""
        referencing = pytest.importorskip("referencing")
        registry = referencing.Registry().with_resources(
            (uri, referencing.Resource.opaque(contents))
            for uri, contents in {
                "https://example.test/size": {"$ref": "color"},
                "https://example.test/color": {"enum": ["red"]},
                "https://example.test/unused": {"enum": ["nothing"]},
                "https://example.test/dialect": {
                    "$schema": "https://json-schema.org/draft/2020-12/schema",
                    "$vocabulary": {"https://json-schema.org/draft/2020-12/vocab/core": True},
                },
            }.items()
        )
        grammar = constrain.compile_json_schema({"$ref": "https://example.test/size"}, registry=registry)
        data = grammar.to_bytes()
        assert b"unused" not in data
        again = Grammar.from_bytes(data)
        assert again.accepts('"red"') and not again.accepts('"blue"')
        tools = [{"name": "f", "parameters": {"properties": {"c": {"$ref": "https://example.test/color"}}}}]
        automaton = Grammar.from_bytes(constrain.compile_tools(tools, registry=registry).to_bytes())
        assert automaton.accepts('<tool_call>\n{"name": "f", "arguments": {"c": "red"}}\n</tool_call>')
        assert not automaton.accepts('<tool_call>\n{"name": "f", "arguments": {"c": "blue"}}\n</tool_call>')
        spoken = constrain.compile_json_schema(
            {"$schema": "https://example.test/dialect", "minimum": 3}, registry=registry
        )
        assert spoken.accepts("1") and Grammar.from_bytes(spoken.to_bytes()).accepts("1")

    def test_another_process(self, tmp_path):
        """What one process wrote, another one reads."""
        path = tmp_path / "grammar"
        path.write_bytes(constrain.compile_json_schema({"const": "é"}).to_bytes())
        code = (
            "import constrain, pathlib, sys\n"
            "g = constrain.Grammar.from_bytes(pathlib.Path(sys.argv[1]).read_bytes())\n"
            "assert g.accepts('\"é\"') and not g.accepts('1')"
        )
        subprocess.run([sys.executable, "-c", code, str(path)], check=True)

    def test_what_is_asked_of_reasoning(self):
        """Automata of a request keep the markers, the effort and the state of the reasoning."""
        thoughts = Thoughts(inside=True, effort="low", markers=(Reasoning(Mark.of("<t>\n"), Mark.of("\n</t>")),))
        automaton = constrain.compile_tools([TOOL], tool_choice="required", reasoning=thoughts)
        again = Grammar.from_bytes(automaton.to_bytes())
        assert again.arguments == automaton.arguments and again.arguments["reasoning"] == thoughts


class TestRefusals:
    def test_built_from_nodes(self):
        grammar = Grammar(Lexeme(words=(b"a",)), None)
        with pytest.raises(TypeError, match="compile function"):
            grammar.to_bytes()
        with pytest.raises(TypeError, match="no source"):
            pickle.dumps(grammar)

    @pytest.mark.parametrize(("written", "given"), [(VOCABULARY, OTHER), (VOCABULARY, None), (None, VOCABULARY)])
    def test_another_vocabulary(self, written, given):
        data = constrain.compile_choice(["a"], written).to_bytes()
        with pytest.raises(VocabularyError, match="saved"):
            Grammar.from_bytes(data, given)

    def test_another_class(self):
        data = constrain.compile_choice(["a"]).to_bytes()
        with pytest.raises(ConstrainError, match="saved Grammar, not a QwenCoderToolAutomaton"):
            QwenCoderToolAutomaton.from_bytes(data)

    def test_every_truncation_and_every_flipped_byte(self):
        data = constrain.compile_choice(["a"]).to_bytes()
        for end in range(len(data)):
            with pytest.raises(ConstrainError, match=r"cut off|not a saved grammar"):
                Grammar.from_bytes(data[:end])
        for i in range(len(data)):
            damaged = bytearray(data)
            damaged[i] ^= 0x41
            with pytest.raises(ConstrainError):
                Grammar.from_bytes(bytes(damaged))

    def test_too_much(self):
        with pytest.raises(ConstrainError, match="followed by"):
            Grammar.from_bytes(constrain.compile_choice(["a"]).to_bytes() + b"\n")

    def test_another_format(self):
        data = bytearray(constrain.compile_choice(["a"]).to_bytes())
        struct.pack_into("<H", data, 8, 7)
        with pytest.raises(ConstrainError, match=r"format 7.*reads format 1"):
            Grammar.from_bytes(bytes(data))

    def test_no_bytes(self):
        with pytest.raises(TypeError):
            Grammar.from_bytes("text")

    @pytest.mark.parametrize(
        "change",
        [
            lambda c: c.pop("limits"),
            lambda c: c["limits"].update(max_dreams=3),
            lambda c: c.update(front_end="eval"),
            lambda c: c["options"].update(colour="red"),
            lambda c: c.update(source=[]),
            lambda c: c.update(options=7),
        ],
    )
    def test_made_up_content(self, change):
        """Data with a right checksum and a wrong content is an error, too."""
        header = struct.Struct("<8sHQ32s")
        data = constrain.compile_choice(["a"]).to_bytes()
        content = json.loads(data[header.size :])
        change(content)
        payload = json.dumps(content).encode()
        made_up = header.pack(data[:8], 1, len(payload), hashlib.sha256(payload).digest()) + payload
        with pytest.raises(ConstrainError):
            Grammar.from_bytes(made_up)


class TestCopies:
    def test_a_grammar_is_its_own_copy(self):
        grammar = Grammar(Lexeme(words=(b"a",)), None)
        assert copy.copy(grammar) is grammar and copy.deepcopy({"g": grammar})["g"] is grammar

    @pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
    def test_a_matcher_is_forked(self, copied):
        matcher = constrain.compile_choice(["ab", "ac"], VOCABULARY).matcher()
        assert matcher.accept_token(ord("a"))
        other = copied(matcher)
        assert other.accept_token(ord("b")) and other.is_accepting()
        assert not matcher.is_accepting() and matcher.accept_token(ord("c"))

    def test_a_matcher_is_not_pickled(self):
        with pytest.raises(TypeError, match="pickle its grammar"):
            pickle.dumps(constrain.compile_choice(["a"], VOCABULARY).matcher())
