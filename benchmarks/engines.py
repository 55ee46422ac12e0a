"""Engines behind one interface, for the scripts that compare them: this package, and others where installed."""

from __future__ import annotations

import json
from importlib.util import find_spec
from typing import Any

import numpy as np
from support import Tokenizer

import constrain

__all__ = ["ENGINES", "Constrain", "GlrMask", "LLGuidance", "XGrammar", "usable"]


class Constrain:
    """The engine of this package. `mask` and `commit` act on the matcher of the last `start`."""

    name = "constrain"
    packages: tuple[str, ...] = ("constrain",)

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.vocabulary = tokenizer.vocabulary
        self.bitmask = constrain.allocate_token_bitmask(1, self.vocabulary.size)
        constrain.warmup(self.vocabulary)

    def compile(self, schema: Any) -> Any:
        return constrain.compile_json_schema(schema, self.vocabulary)

    def start(self, grammar: Any) -> None:
        self.matcher = grammar.matcher()

    def mask(self) -> None:
        self.matcher.fill_next_token_bitmask(self.bitmask)

    def allows(self, token: int) -> bool:
        """Whether the last mask allows the token."""
        return bool(int(self.bitmask[0, token >> 5]) >> (token & 31) & 1)

    def commit(self, token: int) -> bool:
        return self.matcher.accept_token(token)

    def is_accepting(self) -> bool:
        return self.matcher.is_accepting()


class LLGuidance(Constrain):
    """github.com/guidance-ai/llguidance."""

    name = "llguidance"
    packages = ("llguidance",)

    def __init__(self, tokenizer: Tokenizer) -> None:
        import llguidance
        import llguidance.numpy

        if tokenizer.path is None:
            raise SystemExit("llguidance needs --tokenizer and --eos")
        self.module = llguidance
        self.tokenizer = llguidance.LLTokenizer(tokenizer.path.read_text(encoding="utf-8"), eos_token=tokenizer.eos)
        self.bitmask = llguidance.numpy.allocate_token_bitmask(1, self.tokenizer.vocab_size)
        self.fill = llguidance.numpy.fill_next_token_bitmask

    def compile(self, schema: Any) -> Any:
        matcher = self.module.LLMatcher(self.tokenizer, json.dumps({"grammars": [{"json_schema": schema}]}))
        if matcher.is_error():
            raise ValueError(matcher.get_error())
        return matcher

    def start(self, grammar: Any) -> None:
        self.matcher = grammar.deep_copy()

    def mask(self) -> None:
        self.fill(self.matcher, self.bitmask, 0)

    def commit(self, token: int) -> bool:
        return self.matcher.consume_token(token)


class GlrMask(Constrain):
    """glrmask on PyPI, with its default strategy."""

    name = "glrmask"
    packages = ("glrmask",)

    def __init__(self, tokenizer: Tokenizer) -> None:
        import glrmask

        self.module = glrmask
        vocabulary = tokenizer.vocabulary
        spelled = {t: bytes(b) for t in range(vocabulary.size) if (b := vocabulary.token_bytes(t))}
        self.tokens = glrmask.Vocab.from_id_to_bytes(spelled)
        self.bitmask = np.zeros((1, (vocabulary.size + 31) // 32 + 8), np.int32)
        self.row = self.bitmask[0]

    def compile(self, schema: Any) -> Any:
        return self.module.Grammar.from_json_schema(schema).compile(self.tokens)

    def start(self, grammar: Any) -> None:
        self.matcher = grammar.start()

    def mask(self) -> None:
        self.matcher.fill_mask(self.row)

    def commit(self, token: int) -> bool:
        return self.matcher.commit_token(token)


class XGrammar(Constrain):
    """github.com/mlc-ai/xgrammar, compiling on demand: all at once takes it most of a second for one schema."""

    name = "xgrammar"
    packages = ("xgrammar", "torch", "transformers")

    def __init__(self, tokenizer: Tokenizer) -> None:
        import xgrammar
        from transformers import PreTrainedTokenizerFast

        if tokenizer.path is None:
            raise SystemExit("xgrammar needs --tokenizer and --eos")
        self.module, self.eos = xgrammar, tokenizer.eos
        info = xgrammar.TokenizerInfo.from_huggingface(
            PreTrainedTokenizerFast(tokenizer_file=str(tokenizer.path)),
            vocab_size=tokenizer.vocabulary.size,
            stop_token_ids=[tokenizer.eos],
        )
        self.compiler = xgrammar.GrammarCompiler(
            info, max_threads=1, cache_enabled=False, enable_dynamic_compilation=True
        )
        self.tensor = xgrammar.allocate_token_bitmask(1, info.vocab_size)
        self.bitmask = self.tensor.numpy()

    def compile(self, schema: Any) -> Any:
        return self.compiler.compile_json_schema(json.dumps(schema), any_whitespace=True, strict_mode=False)

    def start(self, grammar: Any) -> None:
        self.matcher = self.module.GrammarMatcher(grammar)

    def mask(self) -> None:
        if not self.matcher.fill_next_token_bitmask(self.tensor):
            self.bitmask[:] = -1

    def is_accepting(self) -> bool:
        if self.matcher.is_terminated():
            return True
        self.mask()
        return self.allows(self.eos)


ENGINES: dict[str, type[Constrain]] = {e.name: e for e in (Constrain, LLGuidance, GlrMask, XGrammar)}


def usable(with_tokenizer: bool) -> list[str]:
    """Names of the engines that can be imported, and with a tokenizer.json or without one, as given."""
    names = [name for name, engine in ENGINES.items() if all(find_spec(p) is not None for p in engine.packages)]
    return names if with_tokenizer else names[:1]
