"""The Llama architecture on the CPU, in numpy.

One layer, for activations x float32 [T, width] (T tokens of one sequence in prefill, T sequences in decoding):

    x += attention(rms_norm(x)) @ output         q, k, v from one fused product; rotary positions; grouped heads
    x += (silu(gate) * up) @ down                gate, up from one fused product

Rotary positions: a GGUF file of this architecture has the rows of `attn_q` and `attn_k` permuted such that the two
coordinates of a rotated pair are neighbours. A head is then a vector of complex numbers, and the rotation is a product
with exp(i * position * frequency).

A Cache holds keys and values of one sequence, float32 [layers, kv_heads, capacity, head], and grows by doubling.
Sources: Touvron et al. 2023 (LLaMA), Su et al. 2021 (RoPE), Ainslie et al. 2023 (GQA), Shazeer 2020 (SwiGLU).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .errors import ModelError
from .gguf_file import GgufFile

__all__ = ["Cache", "LlamaModel", "Shape"]

Floats = npt.NDArray[np.float32]

PREFILL_CHUNK = 256  # tokens; bounds the attention scores of a long prompt to heads * 256 * context floats


@dataclass(frozen=True)
class Shape:
    """Sizes of a model; head is the width of one attention head, groups the query heads per key head."""

    layers: int
    width: int
    heads: int
    kv_heads: int
    head: int
    hidden: int
    vocab: int
    context: int
    epsilon: float

    @property
    def groups(self) -> int:
        return self.heads // self.kv_heads


@dataclass(frozen=True)
class _Layer:
    attention_norm: Floats  # [width]
    qkv: Floats  # [(heads + 2 * kv_heads) * head, width]
    output: Floats  # [width, heads * head]
    feed_norm: Floats  # [width]
    gate_up: Floats  # [2 * hidden, width]
    down: Floats  # [width, hidden]


class Cache:
    """Keys and values of one sequence; `length` tokens are in it."""

    def __init__(self, shape: Shape, capacity: int = 128) -> None:
        self.length = 0
        self.context = shape.context
        size = (shape.layers, shape.kv_heads, min(capacity, shape.context), shape.head)
        self.keys: Floats = np.empty(size, np.float32)
        self.values: Floats = np.empty(size, np.float32)

    def reserve(self, tokens: int) -> None:
        """Make room for `tokens` more. Raises ModelError beyond the model's context length."""
        needed = self.length + tokens
        if needed > self.context:
            raise ModelError(f"{needed} tokens exceed the model's context length of {self.context}")
        capacity = self.keys.shape[2]
        if needed > capacity:
            capacity = min(max(needed, 2 * capacity), self.context)
            self.keys, self.values = self._grown(self.keys, capacity), self._grown(self.values, capacity)

    def truncate(self, length: int) -> None:
        """Forget everything after the first `length` tokens (to undo drafted ones, or to keep a shared prompt)."""
        if not 0 <= length <= self.length:
            raise ValueError(f"length {length} is outside 0..{self.length}")
        self.length = length

    def _grown(self, old: Floats, capacity: int) -> Floats:
        new = np.empty((*old.shape[:2], capacity, old.shape[3]), np.float32)
        new[:, :, : self.length] = old[:, :, : self.length]
        return new


class LlamaModel:
    """A GGUF model of architecture `llama`, all weights float32.

    progress: called with one line of text now and then while loading.
    Raises ModelError for another architecture, for experts, scaled rotary positions or a tensor that does not fit.
    """

    def __init__(self, file: GgufFile, progress: Callable[[str], None] | None = None) -> None:
        from .products import product  # loads numba

        self._product = product
        self.shape = shape = _read_shape(file)
        self.vocab_size, self.context_length = shape.vocab, shape.context
        self._embedding = file.tensor("token_embd.weight", shape.vocab, shape.width)
        self._layers = []
        for index in range(shape.layers):
            self._layers.append(_read_layer(file, shape, index))
            if progress and (index + 1) % 10 == 0:
                progress(f"loading weights: layer {index + 1} of {shape.layers}")
        self._norm = file.tensor("output_norm.weight", shape.width)
        tied = "output.weight" not in file
        self._head = self._embedding if tied else file.tensor("output.weight", shape.vocab, shape.width)
        self._frequencies = _rotary_frequencies(file, shape)

    def new_cache(self) -> Cache:
        """An empty cache for one sequence."""
        return Cache(self.shape)

    def forward(
        self, caches: Sequence[Cache], tokens: Sequence[Sequence[int]], keep: Sequence[int] | None = None
    ) -> Floats:
        """Append tokens[i] (one or more ids) to caches[i]; the logits after the last keep[i] of them (1 by default), in
        order: float32 [sum(keep), V].

        Sequences with a single token share their matrix products. A cache is extended only when its tokens are in;
        raises ModelError beyond the context length, IndexError for an id outside the vocabulary and ValueError for more
        rows than tokens.
        """
        sizes = [1] * len(caches) if keep is None else list(keep)
        for cache, ids, size in zip(caches, tokens, sizes, strict=True):
            if not 1 <= size <= len(ids):
                raise ValueError(
                    f"forward needs at least one token per sequence, and as many as rows: {len(ids)}, {size}"
                )
            cache.reserve(len(ids))
        starts = np.cumsum([0, *sizes])
        last = np.empty((starts[-1], self.shape.width), np.float32)
        single = [row for row, ids in enumerate(tokens) if len(ids) == 1]
        if single:
            last[starts[single]] = self._decode([caches[row] for row in single], [tokens[row][0] for row in single])
        for row, ids in enumerate(tokens):
            if len(ids) > 1:
                kept: Floats = last[:0]
                for start in range(0, len(ids), PREFILL_CHUNK):
                    hidden = self._prefill(caches[row], ids[start : start + PREFILL_CHUNK])
                    kept = np.concatenate([kept, hidden])[-sizes[row] :]
                last[starts[row] : starts[row + 1]] = kept
        return self._product(_rms_norm(last, self._norm, self.shape.epsilon), self._head)

    def _prefill(self, cache: Cache, ids: Sequence[int]) -> Floats:
        """Several tokens of one sequence; the residual stream after the last layer, [T, width]."""
        shape, before, count = self.shape, cache.length, len(ids)
        x = self._embed(ids)
        positions = np.arange(before, before + count)
        after = before + count
        future = np.arange(after)[None, :] > positions[:, None]  # [T, after]
        for index, layer in enumerate(self._layers):
            q, k, v = self._project(layer, x, positions)
            keys, values = cache.keys[index], cache.values[index]
            keys[:, before:after], values[:, before:after] = k.transpose(1, 0, 2), v.transpose(1, 0, 2)
            grouped = q.reshape(count, shape.kv_heads, shape.groups, shape.head).transpose(1, 2, 0, 3)
            scores = grouped @ keys[:, None, :after].transpose(0, 1, 3, 2)  # [kv, groups, T, after]
            scores[..., future] = -np.inf
            mixed = _softmax(scores) @ values[:, None, :after]  # [kv, groups, T, head]
            x += self._product(mixed.transpose(2, 0, 1, 3).reshape(count, -1), layer.output)
            x += self._feed_forward(layer, x)
        cache.length = after
        return x

    def _decode(self, caches: Sequence[Cache], ids: Sequence[int]) -> Floats:
        """One token of each of several sequences; the residual stream after the last layer, [B, width]."""
        shape = self.shape
        x = self._embed(ids)
        positions = np.array([cache.length for cache in caches])
        mixed = np.empty((len(caches), shape.kv_heads, shape.groups, shape.head), np.float32)
        for index, layer in enumerate(self._layers):
            q, k, v = self._project(layer, x, positions)
            grouped = q.reshape(len(caches), shape.kv_heads, shape.groups, shape.head)
            for row, cache in enumerate(caches):
                at = cache.length
                keys, values = cache.keys[index], cache.values[index]
                keys[:, at], values[:, at] = k[row], v[row]
                scores = grouped[row] @ keys[:, : at + 1].transpose(0, 2, 1)  # [kv, groups, at + 1]
                mixed[row] = _softmax(scores) @ values[:, : at + 1]
            x += self._product(mixed.reshape(len(caches), -1), layer.output)
            x += self._feed_forward(layer, x)
        for cache in caches:
            cache.length += 1
        return x

    def _embed(self, ids: Sequence[int]) -> Floats:
        index = np.asarray(ids, dtype=np.int64)
        if index.min() < 0 or index.max() >= self.shape.vocab:
            raise IndexError(f"token ids must be in 0..{self.shape.vocab - 1}, got {index.min()}..{index.max()}")
        return self._embedding[index]

    def _project(self, layer: _Layer, x: Floats, positions: npt.NDArray[np.int64]) -> tuple[Floats, Floats, Floats]:
        """Rotated, scaled queries [T, heads, head], rotated keys and plain values [T, kv_heads, head]."""
        shape = self.shape
        fused = self._product(_rms_norm(x, layer.attention_norm, shape.epsilon), layer.qkv)
        fused = fused.reshape(len(x), shape.heads + 2 * shape.kv_heads, shape.head)
        turning = fused[:, : shape.heads + shape.kv_heads].copy()
        angles = positions[:, None] * self._frequencies
        turning.view(np.complex64)[...] *= np.exp(1j * angles).astype(np.complex64)[:, None, :]
        queries = turning[:, : shape.heads] * np.float32(shape.head**-0.5)
        return queries, turning[:, shape.heads :], fused[:, shape.heads + shape.kv_heads :]

    def _feed_forward(self, layer: _Layer, x: Floats) -> Floats:
        fused = self._product(_rms_norm(x, layer.feed_norm, self.shape.epsilon), layer.gate_up)
        gate, up = fused[:, : self.shape.hidden], fused[:, self.shape.hidden :]
        return self._product(_silu(gate) * up, layer.down)


def _rms_norm(x: Floats, weight: Floats, epsilon: float) -> Floats:
    scale: Floats = np.sqrt(np.mean(x * x, axis=-1, keepdims=True, dtype=np.float32) + np.float32(epsilon))
    return x / scale * weight


def _silu(x: Floats) -> Floats:
    # below -80 the result is 0 to the precision of float32
    return (x / (1 + np.exp(-np.maximum(x, np.float32(-80))))).astype(np.float32, copy=False)


def _softmax(x: Floats) -> Floats:
    x = np.exp(x - x.max(axis=-1, keepdims=True))
    return x / x.sum(axis=-1, keepdims=True)


def _read_shape(file: GgufFile) -> Shape:
    architecture = file.metadata("general.architecture")
    if architecture != "llama":
        raise ModelError(f"{file.path}: architecture {architecture!r}; only 'llama' is implemented")
    if file.metadata("llama.expert_count", 0):
        raise ModelError(f"{file.path}: mixtures of experts are not implemented")
    scaling = file.metadata("llama.rope.scaling.type", "none")
    if scaling != "none":
        raise ModelError(f"{file.path}: scaled rotary positions ({scaling!r}) are not implemented")
    heads = int(file.metadata("llama.attention.head_count"))
    width = int(file.metadata("llama.embedding_length"))
    kv_heads = int(file.metadata("llama.attention.head_count_kv", heads))
    head = int(file.metadata("llama.attention.key_length", width // max(heads, 1)))
    if kv_heads < 1 or heads % kv_heads or head % 2:
        raise ModelError(f"{file.path}: {heads} heads of width {head} over {kv_heads} key heads do not fit together")
    rotated = int(file.metadata("llama.rope.dimension_count", head))
    if rotated != head:
        raise ModelError(f"{file.path}: partial rotary positions ({rotated} of {head}) are not implemented")
    return Shape(
        layers=int(file.metadata("llama.block_count")),
        width=width,
        heads=heads,
        kv_heads=kv_heads,
        head=head,
        hidden=int(file.metadata("llama.feed_forward_length")),
        vocab=len(file.metadata("tokenizer.ggml.tokens")),
        context=int(file.metadata("llama.context_length")),
        epsilon=float(file.metadata("llama.attention.layer_norm_rms_epsilon")),
    )


def _read_layer(file: GgufFile, shape: Shape, index: int) -> _Layer:
    def tensor(name: str, *size: int) -> Floats:
        return file.tensor(f"blk.{index}.{name}.weight", *size)

    query, key = shape.heads * shape.head, shape.kv_heads * shape.head
    return _Layer(
        attention_norm=tensor("attn_norm", shape.width),
        qkv=np.concatenate(
            [
                tensor("attn_q", query, shape.width),
                tensor("attn_k", key, shape.width),
                tensor("attn_v", key, shape.width),
            ]
        ),
        output=tensor("attn_output", shape.width, query),
        feed_norm=tensor("ffn_norm", shape.width),
        gate_up=np.concatenate(
            [tensor("ffn_gate", shape.hidden, shape.width), tensor("ffn_up", shape.hidden, shape.width)]
        ),
        down=tensor("ffn_down", shape.width, shape.hidden),
    )


def _rotary_frequencies(file: GgufFile, shape: Shape) -> npt.NDArray[np.float64]:
    """Radians per position of each pair, [head / 2]; a file may bring divisors of its own (Llama 3.1)."""
    base = float(file.metadata("llama.rope.freq_base", 10000.0))
    frequencies = base ** (-np.arange(0, shape.head, 2) / shape.head)
    if "rope_freqs.weight" in file:
        frequencies = frequencies / file.tensor("rope_freqs.weight", shape.head // 2)
    return frequencies
