"""The model backend: a tiny random GGUF file against a naive forward pass, its text side, and files that do not fit."""

from __future__ import annotations

import gguf
import numpy as np
import pytest
from tokenizers.pre_tokenizers import ByteLevel

from constrain.runners import ChatTemplate, CpuRunner, GgufFile, GgufTokenizer, LlamaModel, ModelError, Request
from constrain.sampling import Sampling

WIDTH, HEADS, KV_HEADS, HEAD, HIDDEN, LAYERS, CONTEXT = 64, 4, 2, 16, 96, 2, 600
EPSILON, BASE = 1e-5, 10000.0
MERGES = ["h e", "l l", "he ll", "hell o", "Ġ hello", "1 2"]


def tokens():
    """Two control tokens, the 256 bytes as tokenizers spells them, the merges, one token of its own."""
    return ["<|end|>", "<|user|>", *sorted(ByteLevel.alphabet()), *(m.replace(" ", "") for m in MERGES), "<tool>"]


def permuted(weight, heads):
    """Rows in the order that GGUF files of this architecture keep for queries and keys."""
    return weight.reshape(heads, 2, -1, weight.shape[1]).swapaxes(1, 2).reshape(weight.shape)


def random_weights(tied, seed=0):
    rng = np.random.default_rng(seed)

    def matrix(*shape):
        return (rng.normal(size=shape) / np.sqrt(shape[-1])).astype(np.float32)

    weights = {"token_embd": matrix(len(tokens()), WIDTH) * 4, "output_norm": 1 + matrix(WIDTH)}
    if not tied:
        weights["output"] = matrix(len(tokens()), WIDTH)
    for i in range(LAYERS):
        weights |= {
            f"blk.{i}.attn_norm": 1 + matrix(WIDTH),
            f"blk.{i}.attn_q": matrix(HEADS * HEAD, WIDTH),
            f"blk.{i}.attn_k": matrix(KV_HEADS * HEAD, WIDTH),
            f"blk.{i}.attn_v": matrix(KV_HEADS * HEAD, WIDTH),
            f"blk.{i}.attn_output": matrix(WIDTH, HEADS * HEAD),
            f"blk.{i}.ffn_norm": 1 + matrix(WIDTH),
            f"blk.{i}.ffn_gate": matrix(HIDDEN, WIDTH),
            f"blk.{i}.ffn_up": matrix(HIDDEN, WIDTH),
            f"blk.{i}.ffn_down": matrix(WIDTH, HIDDEN),
        }
    return weights


def write(path, weights, quantised=None, architecture="llama", divisors=None, omit=(), **overrides):
    values = {"pre": "smollm", "model": "gpt2", "rotated": HEAD, "scaling": None} | overrides
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_block_count(LAYERS)
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_layer_norm_rms_eps(EPSILON)
    writer.add_rope_freq_base(BASE)
    writer.add_rope_dimension_count(values["rotated"])
    if values["scaling"]:
        writer.add_rope_scaling_type(gguf.RopeScalingType(values["scaling"]))
    spelled = tokens()
    writer.add_tokenizer_model(values["model"])
    writer.add_tokenizer_pre(values["pre"])
    writer.add_token_list(spelled)
    writer.add_token_types([3, 3] + [1] * (len(spelled) - 3) + [4])
    writer.add_token_merges(MERGES)
    writer.add_eos_token_id(0)
    writer.add_chat_template(
        "{% for m in messages %}\n  {% if m %}{{ '<|user|>' + m['content'] }}{% endif %}\n{% endfor %}"
        "{% if tools %}{{ tools | tojson }}{% endif %}{% if not messages %}{{ raise_exception('none') }}{% endif %}"
    )
    if divisors is not None:
        writer.add_tensor("rope_freqs.weight", divisors)
    for name, weight in weights.items():
        if name in omit:
            continue
        if name.endswith(("attn_q", "attn_k")):
            weight = permuted(weight, HEADS if name.endswith("q") else KV_HEADS)
        if quantised is None or weight.ndim == 1:
            writer.add_tensor(f"{name}.weight", weight)
        else:
            writer.add_tensor(f"{name}.weight", gguf.quants.quantize(weight, quantised), raw_dtype=quantised)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def naive_logits(weights, ids, divisors=None):
    """The architecture in float64, one position and head at a time; rotary pairs are (i, i + head / 2)."""
    w = {name: weight.astype(np.float64) for name, weight in weights.items()}
    half = HEAD // 2
    frequency = BASE ** (-np.arange(half) / half) / (1.0 if divisors is None else divisors)

    def norm(v, weight):
        return v / np.sqrt(np.mean(v**2) + EPSILON) * weight

    def rotate(v, position):
        a, b, angle = v[:half], v[half:], position * frequency
        return np.concatenate([a * np.cos(angle) - b * np.sin(angle), b * np.cos(angle) + a * np.sin(angle)])

    xs = [w["token_embd"][i] for i in ids]
    for layer in range(LAYERS):
        p = {key.split(".")[2]: value for key, value in w.items() if key.startswith(f"blk.{layer}.")}
        normed = [norm(x, p["attn_norm"]) for x in xs]
        keys = [[rotate(k, t) for k in (p["attn_k"] @ n).reshape(KV_HEADS, HEAD)] for t, n in enumerate(normed)]
        values = [(p["attn_v"] @ n).reshape(KV_HEADS, HEAD) for n in normed]
        for t, n in enumerate(normed):
            heads = []
            for h, q in enumerate((p["attn_q"] @ n).reshape(HEADS, HEAD)):
                g = h // (HEADS // KV_HEADS)
                scores = np.array([rotate(q, t) @ keys[s][g] for s in range(t + 1)]) / np.sqrt(HEAD)
                share = np.exp(scores - scores.max())
                share /= share.sum()
                heads.append(sum(share[s] * values[s][g] for s in range(t + 1)))
            xs[t] = xs[t] + p["attn_output"] @ np.concatenate(heads)
            n = norm(xs[t], p["ffn_norm"])
            gate = p["ffn_gate"] @ n
            xs[t] = xs[t] + p["ffn_down"] @ (gate / (1 + np.exp(-gate)) * (p["ffn_up"] @ n))
    return w.get("output", w["token_embd"]) @ norm(xs[-1], w["output_norm"])


@pytest.fixture(scope="module")
def weights():
    return random_weights(tied=True)


@pytest.fixture(scope="module")
def path(tmp_path_factory, weights):
    return write(tmp_path_factory.mktemp("model") / "tiny.gguf", weights)


@pytest.fixture(scope="module")
def model(path):
    return LlamaModel(GgufFile(path))


class TestForward:
    def test_prefill_equals_the_naive_pass(self, model, weights):
        for ids in ([5], [7, 3, 250, 1, 0, 99, 99, 12, 40]):
            logits = model.forward([model.new_cache()], [ids])
            np.testing.assert_allclose(logits[0], naive_logits(weights, ids), atol=2e-4)

    def test_token_by_token_equals_at_once(self, model, weights):
        ids = [9, 8, 7, 6, 5, 4]
        cache = model.new_cache()
        for end in range(1, len(ids) + 1):
            logits = model.forward([cache], [[ids[end - 1]]])
            np.testing.assert_allclose(logits[0], naive_logits(weights, ids[:end]), atol=2e-4)

    def test_a_batch_of_unequal_sequences(self, model, weights):
        """Prefill and decoding mixed in one call, then decoding together."""
        sequences = [[1, 2, 3], [4], [5, 6], [7]]
        caches = [model.new_cache() for _ in sequences]
        for _ in range(3):
            new = [s[c.length :] for s, c in zip(sequences, caches, strict=True)]
            logits = model.forward(caches, new)
            for row, ids in zip(logits, sequences, strict=True):
                np.testing.assert_allclose(row, naive_logits(weights, ids), atol=2e-4)
            for ids, row in zip(sequences, logits, strict=True):
                ids.append(int(row.argmax()))

    def test_long_prompts_in_chunks_and_caches_that_grow(self, model):
        """Past the chunk size and the first capacity, chunks and single tokens still agree."""
        ids = np.random.default_rng(1).integers(0, 250, 300).tolist()
        at_once, single = model.new_cache(), model.new_cache()
        a = model.forward([at_once], [ids])
        for i in ids:
            b = model.forward([single], [[i]])
        np.testing.assert_allclose(a, b, atol=2e-4)

    def test_the_last_rows_of_each_sequence(self, model):
        """keep: several rows of some, across chunks of the prefill, in the order of the sequences."""
        ids = [i % 250 for i in range(260)]
        sequences, keep = [ids[:5], [7], ids], [3, 1, 6]
        logits = model.forward([model.new_cache() for _ in sequences], sequences, keep)
        wanted = []
        for tokens, count in zip(sequences, keep, strict=True):
            cache = model.new_cache()
            steps = [model.forward([cache], [[token]])[0] for token in tokens]
            wanted += steps[-count:]
        np.testing.assert_allclose(logits, wanted, atol=2e-4)
        with pytest.raises(ValueError, match="as many as rows"):
            model.forward([model.new_cache()], [[1, 2]], [3])

    @pytest.mark.parametrize("shape", [(7, 5, 2), (9, 33, 5), (4, 1, 16), (1, 8, 3), (5, 8, 1), (6, 8, 17)])
    def test_products_of_few_vectors(self, shape):
        from constrain.runners.products import product

        rows, width, count = shape
        rng = np.random.default_rng(rows)
        weight, x = (rng.normal(size=(n, width)).astype(np.float32) for n in (rows, count))
        np.testing.assert_allclose(product(x, weight), x @ weight.T, atol=1e-5)
        weight.flags.writeable = False
        assert product(x[:, ::-1], weight).shape == (count, rows)

    def test_truncation_forgets(self, model):
        cache = model.new_cache()
        model.forward([cache], [[1, 2, 3, 4]])
        cache.truncate(2)
        logits = model.forward([cache], [[9]])
        np.testing.assert_allclose(logits, model.forward([model.new_cache()], [[1, 2, 9]]), atol=2e-4)
        with pytest.raises(ValueError, match="outside"):
            cache.truncate(4)

    def test_a_separate_head_and_frequency_divisors(self, tmp_path):
        weights = random_weights(tied=False, seed=3)
        divisors = np.linspace(1, 8, HEAD // 2, dtype=np.float32)
        model = LlamaModel(GgufFile(write(tmp_path / "m.gguf", weights, divisors=divisors)))
        ids = [3, 1, 4, 1, 5]
        logits = model.forward([model.new_cache()], [ids])
        np.testing.assert_allclose(logits[0], naive_logits(weights, ids, divisors), atol=2e-4)

    @pytest.mark.parametrize("kind", ["F16", "Q8_0", "Q4_0", "Q4_1"])
    def test_quantised_files(self, tmp_path, weights, kind):
        """What the quantiser stored is what the model computes with."""
        kind = gguf.GGMLQuantizationType[kind]
        path = write(tmp_path / "m.gguf", weights, quantised=kind)
        stored = {}
        for name, weight in weights.items():
            if weight.ndim == 2:
                weight = gguf.quants.dequantize(gguf.quants.quantize(weight, kind), kind).reshape(weight.shape)
            stored[name] = weight
        model = LlamaModel(GgufFile(path))
        ids = [3, 200, 17]
        np.testing.assert_allclose(model.forward([model.new_cache()], [ids])[0], naive_logits(stored, ids), atol=2e-4)

    def test_bad_input_changes_no_cache(self, model):
        cache = model.new_cache()
        with pytest.raises(IndexError, match="token ids"):
            model.forward([cache], [[5, 10_000]])
        with pytest.raises(ModelError, match="context length of 600"):
            model.forward([cache], [[1] * 601])
        with pytest.raises(ValueError, match="at least one"):
            model.forward([cache], [[]])
        assert cache.length == 0


class TestText:
    def test_bytes_of_every_token(self, path):
        """Merged by the tokenizer, spelled by the table: both must give the text back."""
        tokenizer = GgufTokenizer(GgufFile(path))
        text = "hello hello 12\n日本 é <tool>"
        ids = tokenizer.encode(text)
        assert b"".join(tokenizer.token_bytes(i) for i in ids) == text.encode()
        assert tokenizer.decode(ids) == text
        assert len(tokenizer.encode(" hello")) == 1 and len(tokenizer.encode("<tool>")) == 1
        single = {tokenizer.token_bytes(i) for i in range(2, 258)}
        assert single == {bytes([b]) for b in range(256)}

    def test_digits_stand_alone_only_where_the_model_says_so(self, path, tmp_path, weights):
        assert len(GgufTokenizer(GgufFile(path)).encode("12")) == 2
        other = write(tmp_path / "m.gguf", weights, pre="gpt-2")
        assert len(GgufTokenizer(GgufFile(other)).encode("12")) == 1

    def test_control_tokens(self, path):
        tokenizer = GgufTokenizer(GgufFile(path))
        assert tokenizer.encode("<|user|>") == [1] and tokenizer.token_bytes(1) is None
        assert tokenizer.eos_token_ids == (0,) and tokenizer.control_token_ids == {0, 1}
        assert tokenizer.decode([1, *tokenizer.encode("a"), 0]) == "a"

    def test_the_chat_template_runs_in_a_sandbox(self, path):
        template = ChatTemplate(GgufFile(path))
        messages = [{"role": "user", "content": "hé"}]
        assert template.render(messages) == "<|user|>hé"
        assert template.render(messages, [{"n": "ü"}]) == '<|user|>hé[{"n": "ü"}]'
        with pytest.raises(ModelError, match="none"):
            template.render([])

    def test_the_runner_goes_from_file_to_text(self, path):
        lines = []
        runner = CpuRunner.from_gguf(path, lines.append)
        prompt = runner.prompt([{"role": "user", "content": "hello"}])
        assert prompt[0] == 1 and lines
        [done] = runner.generate([Request(prompt, None, Sampling(seed=1), max_tokens=8)])
        assert 0 < len(done.token_ids) <= 8


class TestRefusals:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"architecture": "mamba"}, "architecture 'mamba'"),
            ({"omit": ("blk.1.ffn_up",)}, "'blk.1.ffn_up.weight' is missing"),
            ({"rotated": 8}, "partial rotary"),
            ({"scaling": "yarn"}, "scaled rotary positions"),
        ],
    )
    def test_models_that_are_not_implemented_say_why(self, tmp_path, weights, options, message):
        with pytest.raises(ModelError, match=message):
            LlamaModel(GgufFile(write(tmp_path / "m.gguf", weights, **options)))

    @pytest.mark.parametrize(
        ("options", "message"), [({"model": "llama"}, "'llama'"), ({"pre": "odd"}, "'odd'; known")]
    )
    def test_vocabularies_that_are_not_implemented_say_why(self, tmp_path, weights, options, message):
        with pytest.raises(ModelError, match=message):
            GgufTokenizer(GgufFile(write(tmp_path / "m.gguf", weights, **options)))

    def test_a_wrong_shape_is_named(self, tmp_path, weights):
        wrong = {**weights, "blk.0.ffn_down": weights["blk.0.ffn_up"]}
        with pytest.raises(ModelError, match=r"ffn_down.*\(96, 64\), expected \(64, 96\)"):
            LlamaModel(GgufFile(write(tmp_path / "m.gguf", wrong)))

    @pytest.mark.parametrize("content", [b"", b"GGUF", b"PK\x03\x04" + bytes(100), b"GGUF" + bytes(8)])
    def test_files_that_are_not_gguf(self, tmp_path, content):
        bad = tmp_path / "bad.gguf"
        bad.write_bytes(content)
        with pytest.raises(ModelError, match=r"bad\.gguf"):
            GgufFile(bad)

    @pytest.mark.parametrize(
        ("old", "new", "message"),
        [(b"<|user|>", b"<|\xff\xff\xff|>", "not UTF-8"), (b"hell o", b"hell q", "do not fit together")],
    )
    def test_a_damaged_vocabulary(self, tmp_path, path, old, new, message):
        bad = tmp_path / "bad.gguf"
        bad.write_bytes(path.read_bytes().replace(old, new.ljust(len(old), b"|")))
        with pytest.raises(ModelError, match=message):
            GgufTokenizer(GgufFile(bad))

    def test_a_truncated_file(self, tmp_path, path):
        bad = tmp_path / "bad.gguf"
        bad.write_bytes(path.read_bytes()[:-5000])
        with pytest.raises(ModelError):
            LlamaModel(GgufFile(bad))

    def test_a_missing_file(self, tmp_path):
        with pytest.raises(ModelError, match="no such file"):
            GgufFile(tmp_path / "none.gguf")
