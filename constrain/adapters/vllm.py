"""Logits processor, grammar and grammar backend for vLLM (docs/hosts.md).

    vllm serve MODEL --logits-processors constrain.adapters.vllm:ConstraintLogitsProcessor
    SamplingParams(extra_args={"constrain": {"response_format": ...}})    # a body, as constrain.requests.chat reads it

The processor serves both model runners, V1 and V2: vLLM has one group of entry points for the two, and refuses a class
that is not of the running one. `ConstrainBackend` and `ConstrainGrammar` have vLLM's interface of structured outputs.
vLLM chooses such backends by fixed names; `install_backend` lets one of these names mean `constrain`.
"""

from __future__ import annotations

import logging
from typing import Any

import numpy as np

from ._imports import missing_host

try:
    import torch
    from vllm.v1.sample.logits_processor import LogitsProcessor, MoveDirectionality
    from vllm.v1.structured_output.backend_types import StructuredOutputBackend, StructuredOutputGrammar
except ImportError as error:
    raise missing_host("vllm", "torch and vllm", "pip install vllm", error) from error

from .._api import compile_choice
from ..vocabulary import Vocabulary
from ._masks import Masks
from ._served import Served, answer, reply
from ._slots import Slots
from ._torch import allocate, apply_token_bitmask_inplace
from ._tracks import Event

try:
    from vllm.v1.worker.gpu.sample.logits_processor import LogitsProcessor as SlotLogitsProcessor
except ImportError:  # before Model Runner V2
    SlotLogitsProcessor = object  # type: ignore[misc,assignment]

__all__ = ["ConstrainBackend", "ConstrainGrammar", "ConstraintLogitsProcessor", "install_backend"]

_KINDS = {
    "JSON": "json",
    "JSON_OBJECT": "json_object",
    "REGEX": "regex",
    "GRAMMAR": "grammar",
    "CHOICE": "choice",
    "STRUCTURAL_TAG": "structural_tag",
}
_BLIND = (
    "vLLM hides the tokens of requests from processors that are only an entry point while it schedules "
    "asynchronously; start it with --logits-processors constrain.adapters.vllm:ConstraintLogitsProcessor, "
    "or with --no-async-scheduling"
)
_log = logging.getLogger("constrain")


def vocabulary_of(vllm_config: Any, tokenizer: Any = None) -> Vocabulary:
    """The vocabulary of an engine's model: its tokenizer, the width of its logits, the tokens that end a generation."""
    model = vllm_config.model_config
    if tokenizer is None:
        from vllm.tokenizers import cached_tokenizer_from_config

        tokenizer = cached_tokenizer_from_config(model)
    ends = (model.try_get_generation_config() or {}).get("eos_token_id")
    ends = [ends] if isinstance(ends, int) else ends
    return Vocabulary.from_tokenizer(tokenizer, logits_width=model.get_vocab_size(), eos_token_ids=ends)


def settings_of(vllm_config: Any) -> dict[str, Any]:
    """Options of `constrain.requests.chat` for all requests: "constrain" in --additional-config."""
    found = getattr(vllm_config, "additional_config", None) or {}
    return dict(found.get("constrain") or {}) if isinstance(found, dict) else {}


class ConstraintLogitsProcessor(LogitsProcessor, SlotLogitsProcessor):  # type: ignore[misc]  # vllm is untyped here
    """Constrains the requests that have "constrain" in their `extra_args`: a body, or its JSON text.

    When the constraint of a request fails, it may only end, and the log says why. In Model Runner V2 drafted tokens
    have masks of their own; the V1 runner takes no processors with speculative decoding.
    """

    def __init__(self, vllm_config: Any, *host: Any) -> None:
        """host: (device, is_pin_memory) of the V1 runner, (req_states,) of V2."""
        self._config = vllm_config
        self._states = host[0] if len(host) == 1 else None
        self._vocabulary: Vocabulary | None = None
        self._unreadable: Exception | None = None
        self._slots = Slots(Masks(None, "stop", _log_event))
        self._outputs: dict[int, list[int]] = {}

    @classmethod
    def validate_params(cls, sampling_params: Any) -> None:
        """Raises ValueError for a body that cannot become a constraint, before the request is admitted."""
        body = _body(sampling_params)
        if body is not None:
            reply(body, None)

    def is_argmax_invariant(self) -> bool:
        """Never: what is forbidden may have been the greatest."""
        return False

    def _put(self, name: int, params: Any) -> bool:
        """A request takes a slot. Returns whether it has a constraint."""
        self._slots.drop(name)
        body = _body(params)
        if body is None:
            return False
        stops = sorted(getattr(params, "all_stop_token_ids", None) or ()) or None
        vocabulary = self._read_vocabulary()
        try:  # an exception here would end the engine, not the request
            if self._unreadable is not None:
                raise self._unreadable
            constraint = reply(body, vocabulary, **settings_of(self._config))
            if constraint is not None:
                self._slots.put(name, constraint, stops)
        except Exception as error:
            self._slots.put(name, compile_choice([""], vocabulary), stops).family.fail("creation", error)
        return name in self._slots

    def _read_vocabulary(self) -> Vocabulary:
        """That of the model, or one without text where its tokenizer cannot be read: requests may end, then."""
        if self._vocabulary is None:
            try:
                self._vocabulary = vocabulary_of(self._config)
            except Exception as error:
                self._unreadable = error
                width = self._config.model_config.get_vocab_size()
                self._vocabulary = Vocabulary.from_tokens([None] * width, eos_token_ids=[])
            self._slots.masks.vocabulary = self._vocabulary
        return self._vocabulary

    # The V1 runner ---------------------------------------------------------------------------------------------------

    def update_state(self, batch_update: Any) -> None:
        """Follow the requests that went, came and moved."""
        if batch_update is None:
            return
        for name in batch_update.removed:
            self._slots.drop(name)
        for name, params, _, output in batch_update.added:
            if self._put(name, params):
                self._slots[name].source = output
        for source, target, way in batch_update.moved:
            self._slots.move(source, target, way == MoveDirectionality.SWAP)

    def _rows_by_lists(self, rows: int) -> list[tuple[int, int] | None]:
        """One row per request, whose tokens are in the host's lists."""
        result: list[tuple[int, int] | None] = [None] * rows
        for name, slot in self._slots:
            fresh = slot.source[slot.length :]
            if min(fresh, default=0) < 0:
                slot.family.fail("tokens", _BLIND)
            else:
                slot.write(slot.length, fresh)
            result[name] = (name, slot.length)
        return result

    # Model Runner V2 -------------------------------------------------------------------------------------------------

    def add_request(self, req_idx: int, sampling_params: Any) -> bool:
        """A request takes a slot. Returns whether it is constrained."""
        return self._put(req_idx, sampling_params)

    def _rows_by_slots(self, context: Any) -> list[tuple[int, int] | None]:
        """A row per drafted token as well. What is not yet known of a request is read from the host's state."""
        if not any(int(name) in self._slots for name in context.idx_mapping_np):
            return [None] * len(context.expanded_idx_mapping)
        layout = (context.expanded_idx_mapping, context.expanded_local_pos, context.pos, context.input_ids)
        table = torch.stack([column.long() for column in layout], dim=1).cpu().numpy()  # one transfer
        result: list[tuple[int, int] | None] = []
        for name, offset, place, token in table.tolist():
            # the token fed at a place is the last of the row's history
            length = place + 1 - self._prompt_length(name) if name in self._slots else -1
            if length < 0:
                result.append(None)
                continue
            slot = self._slots[name]
            if offset == 0 and slot.length < length - 1:
                slot.write(slot.length, self._committed(name, slot.length, length - 1))
            if length > 0:
                slot.write(length - 1, [token])
            result.append((name, length))
        return result

    def _prompt_length(self, name: int) -> int:
        return int(self._states.prompt_len.np[name])  # type: ignore[union-attr]

    def _committed(self, name: int, start: int, end: int) -> Any:
        """Tokens that were generated before the request was put here (it was preempted), or accepted from drafts."""
        first = self._prompt_length(name)
        return self._states.all_token_ids.gpu[name, first + start : first + end].cpu().numpy()  # type: ignore[union-attr]

    # Both ------------------------------------------------------------------------------------------------------------

    def apply(self, logits: Any, context: Any = None) -> Any:
        """Logits [rows, width], masked in place."""
        if not self._slots:
            return logits
        rows = self._rows_by_lists(len(logits)) if context is None else self._rows_by_slots(context)
        bitmask, slots = self._slots.fill(rows, lambda row: int(logits[row].argmax()))
        constrained = np.flatnonzero(slots >= 0).tolist()
        if constrained:
            apply_token_bitmask_inplace(logits, bitmask[np.maximum(slots, 0)], indices=constrained)
        return logits


def _body(params: Any) -> Any:
    return (getattr(params, "extra_args", None) or {}).get("constrain")


def _log_event(event: Event) -> None:
    _log.error("row %d, after %d tokens: %s: %s", event.row, event.position, event.kind, event.reason)


# Structured outputs ---------------------------------------------------------------------------------------------------


class ConstrainGrammar(Served, StructuredOutputGrammar):  # type: ignore[misc]
    """One request's state, by vLLM's names."""

    def accept_tokens(self, request_id: str, tokens: list[int]) -> bool:
        """Take all tokens, or none of them (False)."""
        return self.take(tokens)

    def validate_tokens(self, tokens: list[int]) -> list[int]:
        """The tokens that would be taken; none after the end."""
        return self.prefix(tokens)

    def rollback(self, num_tokens: int) -> None:
        """Take back tokens, with them the end."""
        super().rollback(num_tokens)

    def fill_bitmask(self, bitmask: Any, batch_index: int) -> None:
        """Write one row."""
        self.fill(bitmask, batch_index)

    def is_terminated(self) -> bool:
        """Whether a stop token was taken."""
        return self.terminated

    def reset(self) -> None:
        """Back to the start."""
        super().reset()


class ConstrainBackend(StructuredOutputBackend):  # type: ignore[misc]
    """The grammars of one engine. Reads what the engine's structured_outputs_config says of JSON."""

    def __init__(self, vllm_config: Any, tokenizer: Any, vocab_size: int) -> None:
        super().__init__(vllm_config, tokenizer, vocab_size)
        self.vocabulary = vocabulary_of(vllm_config, tokenizer)
        config = getattr(vllm_config, "structured_outputs_config", None)
        names = ("disable_any_whitespace", "disable_additional_properties")
        self._options = {name: getattr(config, name, False) for name in names}

    def compile_grammar(self, request_type: Any, grammar_spec: str, stop_token_ids: Any = None) -> ConstrainGrammar:
        """Raises RequestError, a ValueError. request_type: a StructuredOutputOptions."""
        kind = _KINDS.get(request_type.name)
        if kind is None:
            raise ValueError(f"{request_type} is not known; there are {', '.join(_KINDS)}")
        settings = settings_of(self.vllm_config)
        constraint = answer(kind, grammar_spec, self.vocabulary, self._options, **settings)
        return ConstrainGrammar(constraint, sorted(stop_token_ids) if stop_token_ids else None)

    def allocate_token_bitmask(self, max_num_seqs: int) -> Any:
        """int32[max_num_seqs, words] on the host."""
        return allocate(max_num_seqs, self.vocabulary.size, torch.cuda.is_available())

    def destroy(self) -> None:
        """Nothing is held beyond this object."""


def install_backend(name: str = "guidance") -> None:
    """Let one of vLLM's names of structured-output backends, "guidance" or "xgrammar", mean `constrain`.

    vLLM chooses backends by fixed names and has no register, so this replaces the class that its manager makes for the
    name. It has to run in the process of the engine core: constrain-decoding is a plugin of vLLM that calls it where
    the environment has CONSTRAIN_VLLM_BACKEND. vLLM still validates requests as it does for that name.
    """
    import vllm.v1.structured_output as host

    classes = {"guidance": "GuidanceBackend", "xgrammar": "XgrammarBackend"}
    if name not in classes or not hasattr(host, classes[name]):
        raise ValueError(f"the name of a backend is {' or '.join(classes)}, not {name!r}")
    setattr(host, classes[name], ConstrainBackend)
