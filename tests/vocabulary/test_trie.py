"""The token trie against the definition: its nodes are all prefixes of all tokens, in lexicographic order."""

from __future__ import annotations

import bisect

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from constrain.vocabulary.byte_classes import CLASS_OF, HEIGHT, ILL_FORMED, WELL_FORMED, classes_on_path
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


PIECES = st.sampled_from(
    [b"a", b"G", b"7", b'"', b" ", b"\n", b"\x01", "\u00e9".encode(), "\u65e5".encode(), "\U0001f600".encode()]
)
CUTS = st.sampled_from([b"\xc3", b"\xe6\x97", b"\xa9", b"\xff", b"\xed\xa0\x80", b"\xe0\x80\x80", b"\xf4\x90\x80\x80"])
SPELLED = st.lists(st.lists(PIECES | PIECES | CUTS, min_size=1, max_size=5).map(b"".join), max_size=12)


@settings(deadline=None, max_examples=300)
@given(SPELLED)
def test_classes_tell_what_is_below(tokens: list[bytes]) -> None:
    """What begins at a node, a boundary of characters, is well formed exactly when no class says otherwise."""
    trie = build_trie(*arrays(tokens), range(len(tokens)))
    paths = sorted({t[:n] for t in tokens for n in range(1, len(t) + 1)})
    for node, path in enumerate(paths):
        try:
            path[:-1].decode()
        except UnicodeDecodeError:
            continue  # the node's byte goes on with a character
        rests = [t[len(path) - 1 :] for t in tokens if t.startswith(path)]
        found = {k for k in range(HEIGHT) if int(trie.classes[node]) >> k & 1}
        assert int(trie.classes[node]) >> HEIGHT == max(sum(b & 0xC0 != 0x80 for b in rest) for rest in rests)
        assert {int(CLASS_OF[b]) for rest in rests for b in rest if b < 128} == found - {WELL_FORMED, ILL_FORMED}
        assert all(utf8(rest) for rest in rests) == (ILL_FORMED not in found)
        if ILL_FORMED not in found:
            assert (WELL_FORMED in found) == any(not rest.isascii() for rest in rests)


@settings(deadline=None, max_examples=300)
@given(SPELLED)
def test_classes_of_tokens(tokens: list[bytes]) -> None:
    tokens = sorted({t for t in tokens if t})
    trie = build_trie(*arrays(tokens), range(len(tokens)))
    for node, found in enumerate(classes_on_path(trie.byte, trie.end).tolist()):
        for token in trie.ids[trie.id_start[node] : trie.id_start[node + 1]].tolist():
            data = tokens[token]
            assert {int(CLASS_OF[b]) for b in data if b < 128} == {k for k in range(WELL_FORMED) if found >> k & 1}
            assert utf8(data) == (not found >> ILL_FORMED & 1)


def utf8(data: bytes) -> bool:
    try:
        return bool(data.decode())
    except UnicodeDecodeError:
        return False
