"""The token trie against the definition: its nodes are all prefixes of all tokens, in lexicographic order."""

from __future__ import annotations

import bisect

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from constrain.vocabulary.trie import Trie, build_trie


def arrays(tokens: list[bytes]):
    offsets = np.cumsum([0, *map(len, tokens)]).astype(np.int64)
    return np.frombuffer(b"".join(tokens), np.uint8), offsets


def check(trie: Trie, tokens: list[bytes], ids: list[int]) -> None:
    paths = sorted({tokens[i][:n] for i in ids for n in range(1, len(tokens[i]) + 1)})
    assert trie.n_nodes == len(paths)
    assert trie.byte.tolist() == [path[-1] for path in paths]
    for node, path in enumerate(paths):
        after = bisect.bisect_left(paths, True, key=lambda p, path=path: p > path and not p.startswith(path))
        assert trie.end[node] == after
        held = trie.ids[trie.id_start[node] : trie.id_start[node + 1]].tolist()
        assert held == [i for i in sorted(ids) if tokens[i] == path]
    assert trie.depth == max((len(tokens[i]) for i in ids), default=0)
    assert len(trie.id_start) == len(paths) + 1 and trie.id_start[0] == 0
    assert (trie.byte.dtype, trie.end.dtype, trie.id_start.dtype, trie.ids.dtype) == (
        np.uint8,
        np.int32,
        np.int32,
        np.int32,
    )


TOKENS = st.lists(st.binary(max_size=3) | st.text("ab", max_size=12).map(str.encode), max_size=30)


@settings(deadline=None, max_examples=150)
@given(TOKENS, st.data())
def test_nodes_are_the_prefixes(tokens: list[bytes], data: st.DataObject) -> None:
    ids = data.draw(st.permutations([i for i in range(len(tokens)) if data.draw(st.booleans())]))
    check(build_trie(*arrays(tokens), ids), tokens, [i for i in ids if tokens[i]])


def test_nothing_at_all() -> None:
    check(build_trie(*arrays([b"", b"a"]), [0]), [b""], [])
    check(build_trie(*arrays([]), []), [], [])


def test_long_shared_prefixes() -> None:
    tokens = [b" " * n for n in range(400, 0, -1)] + [b" " * 300 + b"x", b" " * 300]
    check(build_trie(*arrays(tokens), range(len(tokens))), tokens, list(range(len(tokens))))
