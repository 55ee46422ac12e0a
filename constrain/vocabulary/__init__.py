"""Vocabularies: the exact bytes of every token, its control tokens, and the trie over them.

    source -> sources.read_table -> TokenTable -> Vocabulary -> trie

Each tokenizer family has one loader module (`tokenizer_json`, `sentencepiece_model`, `tiktoken_encoding`, `gguf_file`,
`transformers_tokenizer`); all fill the same `TokenTable`.
"""

from __future__ import annotations

from constrain.vocabulary.vocabulary import TEXT_BYTES, Vocabulary

__all__ = ["TEXT_BYTES", "Vocabulary"]
