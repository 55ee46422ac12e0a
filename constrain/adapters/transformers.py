"""A logits processor for `generate` of Hugging Face transformers (docs/huggingface.md).

    processor = ConstraintLogitsProcessor(grammar)
    model.generate(**inputs, logits_processor=[processor])

States follow the token histories of rows (`_history`), so greedy decoding, sampling, beam search, returned sequences,
assisted decoding and prompt lookup all work. The processor never writes to the scores that it is given: `generate`
keeps them for `output_logits`, and prompt lookup passes one tensor several times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal

import numpy as np

try:
    import torch
    from transformers import LogitsProcessor
except ImportError as error:
    raise ImportError(
        f"constrain.adapters.transformers needs torch and transformers, and importing them fails: {error}"
        + ("; pip install 'constrain-decoding[hf]'" if isinstance(error, ModuleNotFoundError) else ""),
        name=error.name,
    ) from error

from .._errors import ArgumentError
from ..bitmask import apply_token_bitmask_inplace
from ._history import Event, Histories
from ._logits import allowed_columns, forbid

__all__ = ["ConstraintLogitsProcessor", "Event"]


class ConstraintLogitsProcessor(LogitsProcessor):  # type: ignore[misc]  # transformers is not type-checked here
    """Sets the scores of tokens that the constraint forbids to minus infinity.

    constraint:     one Grammar (or `constrain.requests.Constraint`) for all prompts of the batch, or a list with one or
                    None (no constraint) per prompt. Rows of None, rows whose output has ended and rows whose history
                    the constraint forbids are not touched.
    stop_token_ids: ids that end the output; None: those of the vocabulary. Give what generation_config.eos_token_id
                    says where the two differ.
    on_failure:     if the constraint of a row fails (a limit is reached), "stop" lets that row only end, "soft" lifts
                    its constraint, "raise" raises ConstrainError; None is "stop" for a constraint that restricts from
                    the start, else "soft".
    on_event:       called with each Event; `counts` counts them by kind.
    max_states:     states kept between calls, per constraint; those of the last call always are.
    threads:        over which the masks of a batch are filled.

    When earlier processors (min_new_tokens, bad words, a forced token) have forbidden every token that the constraint
    allows, the constraint prevails: its tokens become equally likely, an "override" event says so, and no row is ever
    all -inf.

    One processor serves one `generate` at a time, and may be used again for the next; `reset()` in between is needed
    only if the next prompt continues the last output within the constraint.
    """

    supports_continuous_batching = False

    def __init__(
        self,
        constraint: Any,
        *,
        stop_token_ids: Iterable[int] | None = None,
        on_failure: Literal["soft", "stop", "raise"] | None = None,
        on_event: Callable[[Event], object] | None = None,
        max_states: int = 64,
        threads: int | None = None,
    ) -> None:
        self._options: dict[str, Any] = {
            "stop_token_ids": None if stop_token_ids is None else tuple(stop_token_ids),
            "on_failure": on_failure,
            "on_event": on_event,
            "max_states": max_states,
            "threads": threads,
        }
        self._constraint = constraint
        self._histories = Histories(constraint, **self._options)
        self._narrow = -1

    @property
    def counts(self) -> dict[str, int]:
        """How many events of each kind there were."""
        return dict(self._histories.counts)

    def reset(self) -> None:
        """Forget the last generation: the next call shows a prompt."""
        self._histories.reset()

    def __deepcopy__(self, memo: dict[int, Any]) -> ConstraintLogitsProcessor:
        """A new processor for the same constraint; grammars are shared."""
        return type(self)(self._constraint, **self._options)

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """Scores [rows, width] for input_ids [rows, length]: a new tensor, or `scores` if nothing is restricted."""
        vocabulary = self._histories.vocabulary
        if vocabulary is None:
            return scores
        if scores.dim() != 2 or input_ids.dim() != 2 or len(scores) != len(input_ids):
            raise ArgumentError(
                f"expected input_ids [rows, length] and scores [rows, width], got {list(input_ids.shape)} and "
                f"{list(scores.shape)}; continuous batching is not supported"
            )
        bitmask, slots = self._histories.masks(
            input_ids.detach().cpu().numpy(), best=lambda row: int(scores[row].argmax())
        )
        width = scores.shape[1]
        if width < vocabulary.n_tokens and self._narrow != width:
            self._narrow = width
            self._histories.report("narrow", -1, f"{width} columns of scores for {vocabulary.n_tokens} tokens")
        constrained = np.flatnonzero(slots >= 0)
        if len(constrained) == 0:
            return scores
        masked = scores.detach().clone(memory_format=torch.contiguous_format)
        if masked.device.type == "cpu" and masked.dtype == torch.float32:
            left = np.empty(len(slots), np.bool_)
            forbid(masked.numpy(), bitmask, slots, left)
        else:
            left = _forbid_on_device(masked, bitmask, slots, constrained)
        for row in np.flatnonzero(~left).tolist():
            self._override(row, masked, scores, allowed_columns(bitmask[slots[row]], width))
        return masked

    def _override(self, row: int, masked: Any, scores: Any, allowed: Any) -> None:
        """Make a row usable whose allowed tokens had all been forbidden before."""
        if len(allowed):
            reason = f"other processors had forbidden all {len(allowed)} tokens that the constraint allows"
            masked[row, torch.from_numpy(allowed).to(masked.device)] = -float(np.log(len(allowed)))
        else:
            reason = "none of the tokens that the constraint allows has a column in the scores"
            masked[row] = scores[row]
        self._histories.report("override" if len(allowed) else "disabled", row, reason)


def _forbid_on_device(masked: Any, bitmask: Any, slots: Any, constrained: Any) -> Any:
    """As `forbid`, for other devices and types."""
    aligned = torch.from_numpy(bitmask[np.maximum(slots, 0)])
    apply_token_bitmask_inplace(masked, aligned, indices=constrained.tolist())
    return ((masked != float("-inf")).any(dim=1).cpu().numpy()) | (slots < 0)
