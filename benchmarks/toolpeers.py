"""Tool calls in other engines: XGrammar's built-in structural tags, and llguidance with grammars written here.

llguidance ships no tool-call formats, so a host writes the grammar. The writer below covers the tools of `toolsets`:
closed objects in the order of the schema, strings, enums, numbers, arrays and what JSON Schema says of them.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

__all__ = ["LLGuidance", "XGrammar"]

Step = tuple[Callable[[], object], Callable[[int], bool]]
"""What one token costs: fill the mask, commit a token."""


class XGrammar:
    """github.com/mlc-ai/xgrammar. Options are those of its GrammarCompiler."""

    TAGS = {"hermes": "qwen_3", "qwen3_coder": "qwen_3_coder", "gemma4": "gemma_4"}

    def __init__(self, path: Path, stops: Sequence[int], **options: Any) -> None:
        import xgrammar
        from transformers import PreTrainedTokenizerFast

        self.module, self.options = xgrammar, options
        tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(path))
        self.info = xgrammar.TokenizerInfo.from_huggingface(
            tokenizer, vocab_size=len(tokenizer), stop_token_ids=list(stops)
        )
        self.bitmask = xgrammar.allocate_token_bitmask(1, self.info.vocab_size)
        self.forget()

    def forget(self) -> None:
        """Forget every compiled grammar."""
        self.compiler = self.module.GrammarCompiler(self.info, **self.options)

    def compile(self, wire: str, tools: Sequence[Any]) -> Any:
        tag = self.module.get_model_structural_tag(
            self.TAGS[wire], tools=list(tools), tool_choice="auto", reasoning="disabled"
        )
        return self.compiler.compile_structural_tag(tag)

    def start(self, grammar: Any) -> Step:
        matcher = self.module.GrammarMatcher(grammar)
        fill, bitmask = matcher.fill_next_token_bitmask, self.bitmask
        return lambda: fill(bitmask), matcher.accept_token


class LLGuidance:
    """github.com/guidance-ai/llguidance."""

    def __init__(self, path: Path, stops: Sequence[int]) -> None:
        import llguidance
        import llguidance.hf
        import llguidance.numpy
        from transformers import PreTrainedTokenizerFast

        self.module = llguidance
        tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(path))
        self.tokenizer = llguidance.hf.from_tokenizer(tokenizer, eos_token=list(stops))
        self.bitmask = llguidance.numpy.allocate_token_bitmask(1, self.tokenizer.vocab_size)

    def forget(self) -> None:
        """It keeps nothing."""

    def compile(self, wire: str, tools: Sequence[Any]) -> Any:
        writer = {"hermes": _Json, "qwen3_coder": _Elements, "gemma4": _KeyValues}[wire]()
        matcher = self.module.LLMatcher(self.tokenizer, writer.grammar(tools), log_level=0)
        if matcher.is_error():
            raise ValueError(matcher.get_error())
        return matcher

    def start(self, grammar: Any) -> Step:
        matcher, row = grammar.deep_copy(), self.bitmask[0]
        fill, address, size = matcher.unsafe_compute_mask_ptr, row.ctypes.data, row.nbytes
        return lambda: fill(address, size), matcher.consume_token


def _text(value: str) -> str:
    """A literal of the grammar."""
    return json.dumps(value, ensure_ascii=False)


class _Writer(ABC):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def grammar(self, tools: Sequence[Any]) -> str:
        call = self.call([tool["function"] for tool in tools])
        return "\n".join(
            ["%llguidance {}", f"start: TEXT ({call} TEXT)*", r"TEXT: /(.|\n)*/", *self.lines, ""]
        )

    def rule(self, body: str) -> str:
        name = f"rule_{len(self.lines)}"
        self.lines.append(f"{name}: {body}")
        return name

    def terminal(self, texts: Sequence[str]) -> str:
        name = f"TERM_{len(self.lines)}"
        self.lines.append(f"{name}: {' | '.join(map(_text, texts))}")
        return name

    @abstractmethod
    def call(self, functions: Sequence[Any]) -> str:
        """The rule of one call of one of the functions."""


class _Json(_Writer):
    """The whole call is one JSON object, which is what its own documentation proposes."""

    def call(self, functions: Sequence[Any]) -> str:
        ways = [
            {
                "type": "object",
                "properties": {"name": {"const": one["name"]}, "arguments": one["parameters"]},
                "required": ["name", "arguments"],
                "additionalProperties": False,
            }
            for one in functions
        ]
        body = self.rule(f"%json {json.dumps({'anyOf': ways})}")
        return self.rule(rf'<tool_call> "\n" {body} "\n" </tool_call>')


class _Elements(_Writer):
    def call(self, functions: Sequence[Any]) -> str:
        self.lines.append(r"raw[lazy]: /(.|\n)*\n<\/parameter>\n/")
        heads = [(_text(one["name"] + ">\n"), self.members(one["parameters"])) for one in functions]
        ways = [self.rule(f"{name} {members}") for name, members in heads]
        return self.rule(rf'<tool_call> "\n<function=" ({" | ".join(ways)}) "</function>\n" </tool_call>')

    def members(self, schema: Any) -> str:
        return " ".join(
            self.rule(f"{_text(f'<parameter={key}>' + chr(10))} {self.value(one)}")
            + ("" if key in schema["required"] else "?")
            for key, one in schema["properties"].items()
        )

    def value(self, schema: Any) -> str:
        end = "\n</parameter>\n"
        if "enum" in schema:
            return self.terminal([one + end for one in schema["enum"]])
        return "raw" if schema["type"] == "string" else f"%json {json.dumps(schema)} {_text(end)}"


class _KeyValues(_Writer):
    quote = '<|"|>'

    def call(self, functions: Sequence[Any]) -> str:
        ways = [self.rule(f"{_text(one['name'])} {self.object(one['parameters'])}") for one in functions]
        return self.rule(f'<[48]> "call:" ({" | ".join(ways)}) <[49]>')

    def object(self, schema: Any) -> str:
        """Members in order; a comma before each but the first that is there."""
        more = '""'
        firsts: list[str] = []
        items = [(key, self.rule(f"{_text(key + ':')} {self.value(one)}")) for key, one in schema["properties"].items()]
        tails = []
        for key, item in reversed(items):
            tails.append((key, item, more))
            more = self.rule(f'"," {item} {more}' + ("" if key in schema["required"] else f" | {more}"))
        for key, item, after in reversed(tails):
            firsts.append(f"{item} {after}")
            if key in schema["required"]:
                return f'"{{" ({" | ".join(firsts)}) "}}"'
        return f'"{{" ({" | ".join([*firsts, chr(34) * 2])}) "}}"'

    def value(self, schema: Any) -> str:
        if "enum" in schema:
            return f"<[52]> {self.terminal(schema['enum'])} <[52]>"
        kind = schema["type"]
        if kind == "string":
            return "<[52]> TEXT <[52]>"
        if kind == "object":
            return self.rule(self.object(schema))
        if kind == "array":
            item = self.rule(self.value(schema["items"]))
            return f'"[" ({item} ("," {item})*)? "]"'
        return f"%json {json.dumps(schema)}"
