"""Constraints inside `generate` of transformers: what they cost, what others cost there, and what drafts gain.

    python benchmarks/hosts.py                 # needs the extras hosts and bench, and SmolLM2-135M-Instruct
    python benchmarks/hosts.py --drafts 200    # only drafts, on so many prompts

1. `generate` with `constrain`, batches of 1 and 8: the processor's share of a step.
2. The calls of such a run again, for the processors of three libraries in turn: the same ids, the same scores.
3. `jump_ahead` and prompt lookup: the same ids as plain decoding, and how many steps and how much time it takes.

CPU time of the calling thread, and torch has one; medians. All three constrain the same compact JSON.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from support import figure, table

import constrain

SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "maxLength": 24},
        "temperature": {"type": "number"},
        "conditions": {"enum": ["sunny", "cloudy", "rain", "snow"]},
        "hourly": {"type": "array", "items": {"type": "integer", "minimum": -60, "maximum": 60}, "maxItems": 6},
    },
    "required": ["city", "temperature", "conditions", "hourly"],
    "additionalProperties": False,
}
CITIES = "Oslo Rome Lima Cairo Bonn Delhi Quito Perth Turin Osaka Accra Dakar Hanoi Kyoto Leeds Milan".split()
STYLES = [
    'Weather in {} as JSON like {{"city":"Paris","temperature":20.5,"conditions":"sunny","hourly":[19,20,21]}}.',
    "Write a weather report for {} as JSON.",
    "How cold is {} in winter? Answer in JSON with city, temperature, conditions and hourly.",
]
CHAT = "<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n"


def prompts(count: int) -> list[str]:
    texts = [style.format(city) + f" (request {n})" * (n > 0) for n in range(9) for style in STYLES for city in CITIES]
    return [CHAT.format(text) for text in texts[:count]]


class Host:
    """SmolLM2-135M-Instruct in transformers."""

    def __init__(self) -> None:
        import torch
        import transformers

        from constrain.runners import model_path

        torch.set_num_threads(1)
        path = model_path()
        transformers.utils.logging.disable_progress_bar()
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(
            path.parent, gguf_file=path.name, padding_side="left"
        )
        self.model = transformers.AutoModelForCausalLM.from_pretrained(
            path.parent, gguf_file=path.name, dtype=torch.float32
        ).eval()
        self.width = self.model.config.vocab_size
        self.vocabulary = constrain.Vocabulary.from_tokenizer(self.tokenizer, logits_width=self.width)
        self.grammar = constrain.compile_json_schema(
            SCHEMA, self.vocabulary, whitespace="compact", property_order="schema"
        )

    def generate(self, texts: list[str], processors: list[Any], tokens: int, **options: Any) -> list[list[int]]:
        inputs = self.tokenizer(texts, return_tensors="pt", padding=True)
        out = self.model.generate(
            input_ids=inputs.input_ids,
            attention_mask=inputs.attention_mask,
            logits_processor=processors,
            max_new_tokens=tokens,
            pad_token_id=self.tokenizer.pad_token_id,
            do_sample=False,
            **options,
        )
        return out[:, inputs.input_ids.shape[1] :].tolist()


# The processors of three libraries ------------------------------------------------------------------------------------


def makers(host: Host) -> dict[str, Callable[[], Any]]:
    """Name -> a function that makes a fresh processor."""
    from constrain.adapters.transformers import ConstraintLogitsProcessor

    made: dict[str, Callable[[], Any]] = {"constrain": lambda: ConstraintLogitsProcessor(host.grammar)}
    try:
        import xgrammar
        from xgrammar.contrib.hf import LogitsProcessor
    except ImportError:
        pass
    else:
        info = xgrammar.TokenizerInfo.from_huggingface(host.tokenizer, vocab_size=host.width)
        compiled = xgrammar.GrammarCompiler(info).compile_json_schema(
            json.dumps(SCHEMA), any_whitespace=False, separators=(",", ":")
        )
        made["xgrammar"] = lambda: LogitsProcessor(compiled)
    try:
        import llguidance.hf
        from outlines.backends.llguidance import LLGuidanceLogitsProcessor
    except ImportError:
        pass
    else:
        tokenizer = llguidance.hf.from_tokenizer(host.tokenizer, host.width)
        spec = llguidance.LLMatcher.grammar_from_json_schema(
            json.dumps(SCHEMA), defaults={"whitespace_flexible": False}
        )
        made["llguidance (in Outlines)"] = lambda: LLGuidanceLogitsProcessor(spec, tokenizer, "torch")
        made["llguidance (batched)"] = lambda: Llguidance(spec, tokenizer)
    return made


class Llguidance:
    """Its own functions for torch, with one call that fills all rows and one that masks them."""

    def __init__(self, spec: Any, tokenizer: Any) -> None:
        self.spec, self.tokenizer, self.matchers = spec, tokenizer, None

    def __call__(self, ids: Any, scores: Any) -> Any:
        import llguidance
        import llguidance.torch as native

        if self.matchers is None:
            self.executor = llguidance.LLExecutor(num_threads=1)
            self.matchers = [llguidance.LLMatcher(self.tokenizer, self.spec) for _ in ids]
            self.bitmask = native.allocate_token_bitmask(len(ids), self.tokenizer.vocab_size)
        else:
            for matcher, token in zip(self.matchers, ids[:, -1].tolist(), strict=True):
                if not matcher.is_stopped():
                    matcher.consume_token(token)
        live = [(matcher, row) for row, matcher in enumerate(self.matchers) if not matcher.is_stopped()]
        native.fill_next_token_bitmask_par(self.executor, live, self.bitmask)
        native.apply_token_bitmask_inplace(scores, self.bitmask)
        return scores


class Timed:
    """Times the calls of a processor, and keeps what they were given."""

    def __init__(self, processor: Any) -> None:
        self.processor, self.seconds, self.calls = processor, [], []

    def __call__(self, ids: Any, scores: Any) -> Any:
        self.calls.append((ids.clone(), scores.clone()))
        started = time.thread_time()
        out = self.processor(ids, scores)
        self.seconds.append(time.thread_time() - started)
        return out


def shares(host: Host, batch: int, tokens: int, repeat: int) -> tuple[list[object], list[Any]]:
    """A row of the table of shares, and the calls of the last run."""
    from constrain.adapters.transformers import ConstraintLogitsProcessor

    found = []
    for _ in range(repeat + 1):
        timed = Timed(ConstraintLogitsProcessor(host.grammar))
        started = time.thread_time()
        host.generate(prompts(batch), [timed], tokens)
        whole = time.thread_time() - started
        found.append((float(np.median(timed.seconds)), sum(timed.seconds), whole / len(timed.seconds), whole))
    median, total, step, whole = found[int(np.argsort([row[1] / row[3] for row in found[1:]])[repeat // 2]) + 1]
    row = [batch, f"{median * 1e6:.0f}", f"{step * 1e3:.1f}", f"{median / step:.2%}", f"{total / whole:.2%}"]
    return row, timed.calls


def replay(host: Host, calls: list[Any], repeat: int) -> dict[str, float]:
    """Median seconds of a call, of the processors in turn, on the calls of one run up to the first ended sequence."""
    last = next(
        (n for n, (ids, _) in enumerate(calls) if (ids[:, -1] == host.tokenizer.eos_token_id).any() and n), len(calls)
    )
    made, seconds = makers(host), {}
    for turn in range(repeat + 1):
        for name, make in made.items():
            timed = make()
            for ids, scores in calls[:last]:
                scores = scores.clone()
                started = time.thread_time()
                timed(ids, scores)
                if turn:
                    seconds.setdefault(name, []).append(time.thread_time() - started)
    return {name: float(np.median(values)) for name, values in seconds.items()}


def drafts(host: Host, count: int, tokens: int) -> list[list[object]]:
    """Rows of the table of drafts: equal outputs, steps per token and time, against plain decoding."""
    from constrain.adapters.transformers import ConstraintLogitsProcessor, jump_ahead

    ways: dict[str, dict[str, Any]] = {
        "plain": {},
        "jump_ahead": {"custom_generate": jump_ahead},
        "jump_ahead, only forced": {"custom_generate": jump_ahead, "lookup": 0},
        "prompt_lookup_num_tokens=4": {"prompt_lookup_num_tokens": 4},
    }
    steps = {name: 0 for name in ways}
    seconds = {name: 0.0 for name in ways}
    same = {name: 0 for name in ways}
    made = 0
    forward = host.model.forward
    for text in prompts(count):
        outputs = {}
        for name, options in ways.items():
            asked = [0]

            def counted(*args: Any, asked: list[int] = asked, **kwargs: Any) -> Any:
                asked[0] += 1
                return forward(*args, **kwargs)

            host.model.forward = counted
            started = time.thread_time()
            outputs[name] = host.generate([text], [ConstraintLogitsProcessor(host.grammar)], tokens, **options)
            seconds[name] += time.thread_time() - started
            steps[name] += asked[0]
            same[name] += outputs[name] == outputs["plain"]
        made += len(outputs["plain"][0])
    host.model.forward = forward
    return [
        [name, f"{same[name]} of {count}", f"{made / steps[name]:.2f}", f"{seconds['plain'] / seconds[name]:.2f}"]
        for name in ways
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=48, help="at most so many new tokens")
    parser.add_argument("--repeat", type=int, default=3, help="how often each run is repeated")
    parser.add_argument("--drafts", type=int, default=0, help="measure drafts on so many prompts, and nothing else")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    host = Host()
    if arguments.drafts:
        head = ["", "output as plain", "tokens a step", "speed"]
        print(table(head, drafts(host, arguments.drafts, arguments.tokens)))
        return
    rows, again = [], []
    for batch in (1, 8):
        row, calls = shares(host, batch, arguments.tokens, arguments.repeat)
        rows.append(row)
        medians = replay(host, calls, arguments.repeat)
        for name, median in medians.items():
            ratio = medians["constrain"] / median
            again.append([batch, name, f"{median * 1e6:.0f}", figure(ratio)])
    print(table(["batch", "µs a call", "ms a step", "share of a step", "share of the run"], rows))
    print()
    print(table(["batch", "processor", "µs a call", "constrain / it"], again))


if __name__ == "__main__":
    main()
