"""Grammar backend for SGLang (docs/hosts.md).

    from constrain.adapters.sglang import register
    register()                                            # then start the server with --grammar-backend constrain

The process that runs SGLang's scheduler has to call `register`: a script that starts the server, for instance.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Any

from ._imports import missing_host

try:
    import torch
    from sglang.srt.constrained.base_grammar_backend import (
        BaseGrammarBackend,
        BaseGrammarObject,
        InvalidGrammarObject,
        register_grammar_backend,
    )
except ImportError as error:
    raise missing_host("sglang", "torch and sglang", "pip install sglang", error) from error

from ..automata.matcher import fill_next_token_bitmasks
from ..vocabulary import Vocabulary
from ._served import Served, answer
from ._torch import allocate, apply_token_bitmask_inplace, upload

__all__ = ["ConstrainGrammar", "ConstrainGrammarBackend", "register"]

_ANY_OBJECT = "$$ANY$$"
_log = logging.getLogger("constrain")


class ConstrainGrammar(Served, BaseGrammarObject):  # type: ignore[misc]  # sglang is untyped here
    """One request's state, by SGLang's names. inside: the constraint of a reply that begins with reasoning."""

    def __init__(self, constraint: Any, inside: Any = None) -> None:
        BaseGrammarObject.__init__(self)
        Served.__init__(self, constraint)
        self._plain, self._inside = constraint, inside

    def maybe_init_reasoning(self, reasoning: bool) -> None:
        """Say whether the reply begins with reasoning; it is at its start."""
        wanted = self._inside if reasoning and self._inside is not None else self._plain
        if wanted is not self.constraint:
            self.constraint = wanted
            self.reset()

    def accept_token(self, token: int) -> None:
        """Take a token. Raises ValueError if it is not allowed: SGLang ends that request then."""
        if not self.take([token]):
            raise ValueError(f"token {token} is not allowed after {self.matcher.steps} tokens")

    def rollback(self, k: int) -> None:
        """Take back tokens, with them the end."""
        super().rollback(k)

    def is_terminated(self) -> bool:
        """Whether a stop token was taken."""
        return self.terminated

    def copy(self) -> ConstrainGrammar:
        """The state of another request with the same constraint, at its start."""
        return ConstrainGrammar(self._plain, self._inside)

    def allocate_vocab_mask(self, vocab_size: int, batch_size: int, device: Any) -> Any:
        """int32[batch_size, words] on the host; every token is allowed."""
        return allocate(batch_size, vocab_size, torch.device(device).type == "cuda" and torch.cuda.is_available())

    def fill_vocab_mask(self, vocab_mask: Any, idx: int) -> None:
        """Write one row."""
        self.fill(vocab_mask, idx)

    @staticmethod
    def fill_vocab_mask_batched(entries: Sequence[Any], vocab_mask: Any) -> None:
        """Write the rows of several requests at once. entries: (row, grammar)."""
        fill_next_token_bitmasks([entry.grammar.matcher for entry in entries], vocab_mask, [e.row for e in entries])

    @staticmethod
    def reset_vocab_mask(vocab_mask: Any) -> None:
        """Allow every token in every row."""
        vocab_mask.fill_(-1)

    @staticmethod
    def move_vocab_mask(vocab_mask: Any, device: Any) -> Any:
        """The mask on a device; the copy runs beside the host."""
        return upload(vocab_mask, device)

    @staticmethod
    def apply_vocab_mask(logits: Any, vocab_mask: Any) -> None:
        """Set the logits of forbidden tokens to minus infinity, in place."""
        apply_token_bitmask_inplace(logits, vocab_mask)

    def try_jump_forward(self, tokenizer: Any) -> Any:
        """None: SGLang does not ask for forced text any more."""
        return None


class ConstrainGrammarBackend(BaseGrammarBackend):  # type: ignore[misc]
    """The grammars of one server.

    markers:  (start, end) of the model's reasoning: a request that reasons is constrained from the end on.
    options:  of JSON, as `structured_outputs` has them (docs/requests.md): disable_any_whitespace, whitespace_pattern.
    settings: of `constrain.requests.completions`.
    """

    def __init__(
        self,
        tokenizer: Any,
        vocab_size: int,
        eos_token_ids: Iterable[int] | None = None,
        *,
        markers: tuple[str, str] | None = None,
        options: dict[str, Any] | None = None,
        settings: dict[str, Any] | None = None,
    ) -> None:
        super().__init__()
        ends = sorted(eos_token_ids) if eos_token_ids else None
        self.vocabulary = Vocabulary.from_tokenizer(tokenizer, logits_width=vocab_size, eos_token_ids=ends)
        self.markers, self.options, self.settings = markers, options or {}, settings or {}

    def _grammar(self, kind: str, content: str) -> Any:
        """What SGLang expects of a bad grammar is an object, not an exception."""
        try:
            plain = answer(kind, content, self.vocabulary, self.options, **self.settings)
            if self.markers is None:
                return ConstrainGrammar(plain)
            about = {**self.settings, "reasoning": "inside", "markers": self.markers}
            return ConstrainGrammar(plain, answer(kind, content, self.vocabulary, self.options, **about))
        except ValueError as error:
            _log.error("a grammar is invalid: %s", error)
            return InvalidGrammarObject(str(error))

    def dispatch_json(self, key_string: str) -> Any:
        """A JSON Schema, as text."""
        return self._grammar("json_object" if key_string == _ANY_OBJECT else "json", key_string)

    def dispatch_regex(self, key_string: str) -> Any:
        """A pattern that the whole answer matches."""
        return self._grammar("regex", key_string)

    def dispatch_ebnf(self, key_string: str) -> Any:
        """A grammar in GBNF or Lark."""
        return self._grammar("grammar", key_string)

    def dispatch_structural_tag(self, key_string: str) -> Any:
        """A structural tag, as JSON text."""
        return self._grammar("structural_tag", key_string)

    def _init_value_dispatch(self, key: tuple[str, str], require_reasoning: bool = False) -> Any:
        grammar = super()._init_value_dispatch(key, require_reasoning)
        if isinstance(grammar, ConstrainGrammar):
            grammar.maybe_init_reasoning(require_reasoning)
        return grammar


def register(name: str = "constrain", **settings: Any) -> None:
    """Let `--grammar-backend NAME` mean `constrain`. settings: of `constrain.requests.completions`."""

    def make(server_args: Any, tokenizer: Any, vocab_size: int, eos_token_ids: Any = None) -> ConstrainGrammarBackend:
        options = {
            "disable_any_whitespace": getattr(server_args, "constrained_json_disable_any_whitespace", False),
            "whitespace_pattern": getattr(server_args, "constrained_json_whitespace_pattern", None),
        }
        markers = _markers(getattr(server_args, "reasoning_parser", None))
        return ConstrainGrammarBackend(
            tokenizer, vocab_size, eos_token_ids, markers=markers, options=options, settings=settings
        )

    register_grammar_backend(name, make)


def _markers(parser: str | None) -> tuple[str, str] | None:
    """The texts around the reasoning that a parser of SGLang looks for."""
    if not parser:
        return None
    from sglang.srt.parser.reasoning_parser import ReasoningParser

    detector = ReasoningParser(model_type=parser, stream_reasoning=False).detector
    return detector.think_start_token, detector.think_end_token
