"""What the schema tests share: the verdicts of the grammar and of jsonschema, and random walks through a grammar."""

from __future__ import annotations

import json
from functools import lru_cache
from random import Random
from typing import Any

import jsonschema

from constrain.automata.oracle import Oracle
from constrain.schema import compile_schema

VALIDATORS = {
    4: jsonschema.Draft4Validator,
    6: jsonschema.Draft6Validator,
    7: jsonschema.Draft7Validator,
    2019: jsonschema.Draft201909Validator,
    2020: jsonschema.Draft202012Validator,
}

# Bytes that bring a walk on: structure first, then some content.
_LIKELY = b'"{}[]:,ab0123tfn-.eulsrz\\ '


@lru_cache(maxsize=256)
def _oracle(text: str, options: tuple[tuple[str, Any], ...]) -> Oracle:
    return Oracle(compile_schema(text, **dict(options))[0])


def oracle(schema: Any, **options: Any) -> Oracle:
    if "registry" in options:
        return Oracle(compile_schema(schema, **options)[0])
    return _oracle(json.dumps(schema), tuple(options.items()))


def accepts(schema: Any, value: Any, **options: Any) -> bool:
    """The grammar's verdict on one JSON text of `value`."""
    return oracle(schema, **options).accepts(json.dumps(value, ensure_ascii=False).encode())


def is_valid(schema: Any, value: Any, draft: int = 2020) -> bool:
    """jsonschema's verdict."""
    return VALIDATORS[draft](schema).is_valid(value)


def walk(grammar: Oracle, random: Random, most: int = 400) -> bytes | None:
    """Some text of the grammar, byte by byte at random; None when it did not end within `most` bytes.

    Asserts on the way that no state is a dead end.
    """
    threads, text = grammar.start(), bytearray()
    for step in range(most):
        if grammar.is_accepting(threads) and (random.random() < 0.5 or step > most // 2):
            return bytes(text)
        closing = step > most // 3
        likely = sorted(_LIKELY, key=lambda b: (closing and b not in b'"}]', random.random()))
        for byte in (*likely, *range(128), *range(128, 256)):
            following = grammar.advance(threads, byte)
            if following:
                threads = following
                text.append(byte)
                break
        else:
            assert grammar.is_accepting(threads), f"dead end after {bytes(text)!r}"
            return bytes(text)
    return None
