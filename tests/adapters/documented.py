"""The interfaces of hosts that cannot run here, as they document them: names, signatures and nothing behind them.

Where a host can be imported, the same tests run against its own classes instead.
"""

from __future__ import annotations

import dataclasses
import enum
import importlib
import importlib.util
import sys
import types
from abc import ABC, abstractmethod
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np


def use(monkeypatch, name: str):
    """The adapter for a host, over the host itself or over what is documented of it; whether it is the host itself."""
    real = _is_there(PROBES[name])
    parts = {} if real else MODULES[name]()
    if not _is_there("torch"):
        parts |= {"torch": _torch()}
    for path, content in parts.items():
        for part in _parents(path):
            if part not in sys.modules:
                monkeypatch.setitem(sys.modules, part, types.ModuleType(part))
                parent, _, last = part.rpartition(".")
                if parent:
                    monkeypatch.setattr(sys.modules[parent], last, sys.modules[part], raising=False)
        module = sys.modules[path]
        for key, value in content.items():
            monkeypatch.setattr(module, key, value, raising=False)
    for adapter in (f"constrain.adapters.{name}", "constrain.adapters._torch"):
        monkeypatch.delitem(sys.modules, adapter, raising=False)
    adapter = importlib.import_module(f"constrain.adapters.{name}")
    for module in (f"constrain.adapters.{name}", "constrain.adapters._torch"):
        if module in sys.modules:
            monkeypatch.setitem(sys.modules, module, sys.modules[module])  # gone again after the test
    return adapter, real


def _parents(path: str) -> list[str]:
    parts = path.split(".")
    return [".".join(parts[: i + 1]) for i in range(len(parts))]


def _is_there(module: str) -> bool:
    try:
        importlib.import_module(module)
    except Exception:
        return False
    return True


class Tensor(np.ndarray):
    """As much of a tensor as adapters need where there is no torch."""

    def cpu(self):
        return self

    def numpy(self):
        return self.view(np.ndarray)

    def long(self):
        return self.astype(np.int64)

    def fill_(self, value):
        self[...] = value

    def to(self, device, non_blocking=False):
        return self


def tensor(values: Any, dtype: Any = np.int64) -> Any:
    """A tensor of torch, or what stands for it."""
    if _is_there("torch") and hasattr(sys.modules["torch"], "nn"):
        return sys.modules["torch"].from_numpy(np.array(values, dtype))
    return np.array(values, dtype).view(Tensor)


def _torch() -> dict[str, Any]:
    return {
        "Tensor": Tensor,
        "int32": np.int32,
        "device": lambda name: types.SimpleNamespace(type=name),
        "cuda": types.SimpleNamespace(is_available=lambda: False),
        "full": lambda shape, value, dtype, pin_memory: np.full(shape, value, dtype).view(Tensor),
        "stack": lambda columns, dim: np.stack(columns, axis=dim).view(Tensor),
    }


# vLLM: vllm/v1/sample/logits_processor/interface.py, vllm/v1/worker/gpu/sample/logits_processor/interface.py,
# vllm/v1/structured_output/backend_types.py


def _vllm() -> dict[str, dict[str, Any]]:
    class MoveDirectionality(enum.Enum):
        UNIDIRECTIONAL = enum.auto()
        SWAP = enum.auto()

    @dataclasses.dataclass(frozen=True)
    class BatchUpdate:
        batch_size: int
        removed: Any
        added: Any
        moved: Any

    class LogitsProcessor(ABC):
        @classmethod
        def validate_params(cls, sampling_params):
            return None

        @abstractmethod
        def __init__(self, vllm_config, device, is_pin_memory): ...

        @abstractmethod
        def apply(self, logits): ...

        @abstractmethod
        def is_argmax_invariant(self): ...

        @abstractmethod
        def update_state(self, batch_update): ...

    @dataclasses.dataclass(frozen=True)
    class LogitsContext:
        expanded_idx_mapping: Any
        idx_mapping: Any
        idx_mapping_np: Any
        expanded_local_pos: Any
        input_ids: Any
        pos: Any
        seq_lens_upper_bound_np: Any

    class SlotLogitsProcessor(ABC):
        def __init__(self, vllm_config, req_states):
            self.req_states = req_states

        @classmethod
        def validate_params(cls, sampling_params):
            return None

        def add_request(self, req_idx, sampling_params):
            return True

        def apply_staged_writes(self):
            return None

        @abstractmethod
        def apply(self, logits, ctx): ...

    names = "JSON JSON_OBJECT REGEX GRAMMAR CHOICE STRUCTURAL_TAG"
    StructuredOutputOptions = enum.Enum("StructuredOutputOptions", names)

    class StructuredOutputGrammar(ABC):
        @abstractmethod
        def accept_tokens(self, request_id, tokens): ...

        @abstractmethod
        def validate_tokens(self, tokens): ...

        @abstractmethod
        def rollback(self, num_tokens): ...

        @abstractmethod
        def fill_bitmask(self, bitmask, batch_index): ...

        @abstractmethod
        def is_terminated(self): ...

        @abstractmethod
        def reset(self): ...

    @dataclasses.dataclass
    class StructuredOutputBackend(ABC):
        vllm_config: Any
        tokenizer: Any
        vocab_size: int

        @abstractmethod
        def compile_grammar(self, request_type, grammar_spec, stop_token_ids=None): ...

        @abstractmethod
        def allocate_token_bitmask(self, max_num_seqs): ...

        @abstractmethod
        def destroy(self): ...

    return {
        "vllm.tokenizers": {"cached_tokenizer_from_config": lambda model_config: None},
        "vllm.v1.sample.logits_processor": {
            "LogitsProcessor": LogitsProcessor,
            "MoveDirectionality": MoveDirectionality,
            "BatchUpdate": BatchUpdate,
        },
        "vllm.v1.worker.gpu.sample.logits_processor": {
            "LogitsProcessor": SlotLogitsProcessor,
            "LogitsContext": LogitsContext,
        },
        "vllm.v1.structured_output": {"GuidanceBackend": object, "XgrammarBackend": object},
        "vllm.v1.structured_output.backend_types": {
            "StructuredOutputOptions": StructuredOutputOptions,
            "StructuredOutputGrammar": StructuredOutputGrammar,
            "StructuredOutputBackend": StructuredOutputBackend,
        },
    }


# SGLang: python/sglang/srt/constrained/base_grammar_backend.py


def _sglang() -> dict[str, dict[str, Any]]:
    registry: dict[str, Any] = {}

    class GrammarRow(NamedTuple):
        row: int
        grammar: Any

    class BaseGrammarObject:
        def __init__(self):
            self._finished = False
            self.grammar_stats = None
            self.current_token = None

        @property
        def finished(self):
            return self._finished

        @finished.setter
        def finished(self, finished):
            self._finished = finished

    class InvalidGrammarObject(BaseGrammarObject):
        def __init__(self, error_message="Unknown grammar error"):
            super().__init__()
            self.error_message = error_message

    class BaseGrammarBackend:
        def __init__(self):
            self.executor = ThreadPoolExecutor()
            self.cache = {}

        def _init_value_dispatch(self, key, require_reasoning):
            kind, text = key
            names = {"json": "json", "regex": "regex", "ebnf": "ebnf", "structural_tag": "structural_tag"}
            return getattr(self, f"dispatch_{names[kind]}")(text)

        def get_cached_or_future_value(self, key, require_reasoning):
            value = self.cache.get(key)
            if value:
                copied = value.copy()
                copied.maybe_init_reasoning(require_reasoning)
                return copied, True
            return self.executor.submit(self._init_value_dispatch, key, require_reasoning), False

        def set_cache(self, key, value):
            self.cache[key] = value

    return {
        "sglang.srt.constrained.base_grammar_backend": {
            "BaseGrammarBackend": BaseGrammarBackend,
            "BaseGrammarObject": BaseGrammarObject,
            "GrammarRow": GrammarRow,
            "InvalidGrammarObject": InvalidGrammarObject,
            "GRAMMAR_BACKEND_REGISTRY": registry,
            "register_grammar_backend": registry.__setitem__,
        },
        "sglang.srt.parser.reasoning_parser": {
            "ReasoningParser": lambda model_type, stream_reasoning: types.SimpleNamespace(
                detector=types.SimpleNamespace(think_start_token="<think>", think_end_token="</think>")
            )
        },
    }


# TensorRT-LLM: tensorrt_llm/_torch/pyexecutor/grammar_matcher.py


def _tensorrt_llm() -> dict[str, dict[str, Any]]:
    class GrammarMatcher(ABC):
        @abstractmethod
        def accept_token(self, token_id): ...

        @abstractmethod
        def rollback(self, num_tokens): ...

        @abstractmethod
        def fill_next_token_bitmask(self, next_token_bitmask, index): ...

        @abstractmethod
        def is_terminated(self): ...

    class GrammarMatcherFactory(ABC):
        @abstractmethod
        def create(self, guided_decoding_params): ...

    return {
        "tensorrt_llm._torch.pyexecutor.grammar_matcher": {
            "GrammarMatcher": GrammarMatcher,
            "GrammarMatcherFactory": GrammarMatcherFactory,
        },
        "tensorrt_llm._torch.pyexecutor.guided_decoder": {
            "XGrammarMatcherFactory": object,
            "LLGuidanceMatcherFactory": object,
        },
    }


def _llama_cpp() -> dict[str, dict[str, Any]]:
    return {"llama_cpp": {"Llama": type("Llama", (), {})}}


PROBES = {
    "vllm": "vllm.v1.structured_output",
    "sglang": "sglang.srt.constrained.base_grammar_backend",
    "tensorrt_llm": "tensorrt_llm._torch.pyexecutor.grammar_matcher",
    "llama_cpp": "llama_cpp",
}
MODULES = {"vllm": _vllm, "sglang": _sglang, "tensorrt_llm": _tensorrt_llm, "llama_cpp": _llama_cpp}
