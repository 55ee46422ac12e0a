"""What the adapter for llama-cpp-python does with its calls; tests/hosts has the host itself."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import constrain

from . import documented


@pytest.fixture
def host(monkeypatch):
    return documented.use(monkeypatch, "llama_cpp")[0]


def records(width):
    """Scores as llama-cpp-python shows them: one field of records, not contiguous."""
    table = np.recarray(width, dtype=[("id", np.intc), ("logit", np.single), ("p", np.single)])
    table.logit[:] = 0
    return table


def test_strided_scores_are_masked(host, word, oracle):
    processor = host.ConstraintLogitsProcessor(word)
    for text in (b"", b"a", b"ab"):
        table = records(word.vocabulary.size)
        table.logit[:] = processor(np.array([3, 4, 5, *text], np.intc), table.logit)
        assert np.flatnonzero(table.logit == 0).tolist() == oracle.allowed(word, list(text))
    processor.check()


@pytest.mark.parametrize("stops", [None, [7, 9]])
def test_an_exception_lets_the_reply_end_and_is_raised_afterwards(host, word, oracle, monkeypatch, stops):
    processor = host.ConstraintLogitsProcessor(word, stop_token_ids=stops)
    ids = np.array([3, 4], np.intc)

    def fails(*arguments, **options):
        raise RuntimeError("poisoned")

    monkeypatch.setattr(processor._histories, "masks", fails)
    for _ in range(2):
        out = processor(ids, records(word.vocabulary.size).logit)
        assert np.flatnonzero(out == 0).tolist() == (stops or [oracle.END])
    with pytest.raises(RuntimeError, match="poisoned"):
        processor.check()
    processor.check()  # once
    monkeypatch.undo()
    processor.reset()
    out = processor(ids, records(word.vocabulary.size).logit)
    assert np.flatnonzero(out == 0).tolist() == oracle.allowed(word, [])


def test_draft_models_are_refused(host):
    with pytest.raises(ValueError, match="draft_model"):
        host.vocabulary_of(SimpleNamespace(draft_model=object()))


def test_the_vocabulary_is_that_of_the_file(host, tokenizer, tmp_path):
    path = tmp_path / "tokenizer.json"
    path.write_text(tokenizer.to_str())
    (tmp_path / "config.json").write_text('{"eos_token_id": 258}')
    llm = SimpleNamespace(draft_model=None, model_path=str(path), n_vocab=lambda: 288)
    vocabulary = host.vocabulary_of(llm)
    assert (vocabulary.size, vocabulary.eos_token_ids) == (288, (258,))
    assert constrain.compile_choice(["ab"], vocabulary).matcher().allows(257)
