"""A loop for `generate` of transformers that drafts what the constraint forces (see `jump_ahead`)."""

from __future__ import annotations

from typing import Any

import torch

from ._drafts import Spelling, draft
from ._processor import HistoryProcessor

__all__ = ["jump_ahead"]


def jump_ahead(
    model: Any,
    input_ids: Any,
    logits_processor: Any = None,
    stopping_criteria: Any = None,
    generation_config: Any = None,
    draft_tokens: int = 16,
    lookup: int = 2,
    **model_kwargs: Any,
) -> Any:
    """For `generate(custom_generate=jump_ahead)`: greedy decoding or sampling of one sequence, with drafts.

    Drafts are what the constraint forces (keys, punctuation, the end) and what followed the last `lookup` tokens
    before; the model confirms a draft in one step. The output is that of plain decoding, and with sampling the same
    seed gives the same tokens. (Both up to rounding: a model may compute several tokens with other products than one.)

    `generate` hands a streamer to no callable, so nothing streams.

    draft_tokens: at most so many at once. lookup: 0 drafts only what is forced.
    Raises ValueError for more than one sequence, and without a ConstraintLogitsProcessor of one constraint.
    """
    processor = next((one for one in logits_processor or [] if isinstance(one, HistoryProcessor)), None)
    if processor is None or len(input_ids) != 1:
        raise ValueError(
            "jump_ahead decodes one sequence with a ConstraintLogitsProcessor in logits_processor=, "
            f"not {len(input_ids)} sequences" + ("" if processor else " without one")
        )
    name = "cache" if model_kwargs.get("cache") is not None else "past_key_values"
    cache: Any = model_kwargs.get(name)
    if not hasattr(cache, "crop"):
        raise ValueError(f"jump_ahead needs a cache that can be cropped (use_cache=True), not {type(cache).__name__}")
    details = generation_config.return_dict_in_generate
    mask = model_kwargs.get("attention_mask")
    mask = torch.ones_like(input_ids) if mask is None else mask
    scores: tuple[Any, ...] = ()
    logits: tuple[Any, ...] = ()
    drafts: list[int] = []
    done, fed = False, cache.get_seq_length()
    while not done:
        tokens = torch.cat([input_ids, input_ids.new_tensor([drafts])], dim=1) if drafts else input_ids
        attended = torch.nn.functional.pad(mask, (0, tokens.shape[1] - mask.shape[1]), value=1)
        outputs = model(
            input_ids=tokens[:, fed:],
            attention_mask=attended,
            position_ids=(attended.cumsum(-1) - 1).clamp(min=0)[:, fed:],
            use_cache=True,
            **{name: cache},
            **({"logits_to_keep": len(drafts) + 1} if "logits_to_keep" in model_kwargs else {}),
        )
        found = outputs.logits[:, -len(drafts) - 1 :]
        for step in range(len(drafts) + 1):
            raw = found[:, step].to(copy=True, dtype=torch.float32, device=input_ids.device)
            row = logits_processor(input_ids, raw)
            if details and generation_config.output_scores:
                scores += (row,)
            if details and generation_config.output_logits:
                logits += (raw,)
            if generation_config.do_sample:
                token = torch.multinomial(torch.softmax(row, dim=-1), num_samples=1)
            else:
                token = row.argmax(dim=-1, keepdim=True)
            input_ids = torch.cat([input_ids, token], dim=1)
            done = bool(stopping_criteria(input_ids, scores)[0])
            if done or step == len(drafts) or int(token) != drafts[step]:
                break
        fed = input_ids.shape[1] - 1
        if tokens.shape[1] > fed:
            cache.crop(fed - tokens.shape[1])  # negative: so many of the last
        drafts = [] if done else _drafts(processor, input_ids, draft_tokens, lookup)
    return _result(input_ids, cache, scores, logits) if details else input_ids


def _drafts(processor: HistoryProcessor, input_ids: Any, limit: int, lookup: int) -> list[int]:
    matcher = processor.matcher_of(input_ids.cpu().numpy())
    if matcher is None:
        return []
    return draft(matcher, Spelling.of(matcher.vocabulary), input_ids[0].tolist(), limit, lookup)


def _result(input_ids: Any, cache: Any, scores: Any, logits: Any) -> Any:
    from transformers.generation import GenerateDecoderOnlyOutput

    found = {"sequences": input_ids, "scores": scores or None, "logits": logits or None}
    fields = getattr(GenerateDecoderOnlyOutput, "__dataclass_fields__", {})
    found["cache" if "cache" in fields else "past_key_values"] = cache
    return GenerateDecoderOnlyOutput(**found)
