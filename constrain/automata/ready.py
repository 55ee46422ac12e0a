"""Makes what masks inside strings and other lexemes are put together from (see VocabularyIndex)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..languages.dfa import DFA
from ..languages.operations import ANY_STRING
from ..vocabulary import Vocabulary
from ..vocabulary.trie import build_trie
from . import kernels
from . import layout as at
from .compiled import Grammar
from .grammar import Lexeme, Skin
from .index import WANTED, VocabularyIndex, as_bits

if TYPE_CHECKING:
    from .matcher import Matcher

__all__ = ["make_ready_mask", "prepare"]

_MOST_STATES = 1000


def prepare(vocabulary: Vocabulary, index: VocabularyIndex) -> None:
    """Make what every grammar with a free string needs."""
    matcher = Grammar(Lexeme(dfa=ANY_STRING, skin=Skin.JSON_STRING), vocabulary).matcher()
    matcher.accept_bytes(b'"')  # encodes the automaton
    state = int(matcher._configs[int(matcher._arena[at.A_BEGIN]) * at.CW + at.STATE])
    _make_tails(vocabulary, index, _ends(matcher, state))
    index.publish(ANY_STRING, 0, Skin.JSON_STRING, _inside(matcher, state))
    _make_lengths(vocabulary, index)


def make_ready_mask(matcher: Matcher) -> None:
    """Make the ready mask of the automaton state that the matcher's kernel asked for."""
    state = int(matcher._arena[at.A_WANTED])
    program, index = matcher.grammar.program, matcher._index
    kind = dfa, number, skin = program.dfa_states[state]
    slot = index.slot(*kind)
    if slot == WANTED:
        hub = _hub(dfa)
        place = state + (hub - number) * program.dfa_record(dfa)
        if hub != number and index.alike(*kind) is None and program.dfa_states.get(place) == (dfa, hub, skin):
            index.publish(dfa, hub, skin, _inside(matcher, place))  # most states are like that one
        slot = index.publish(*kind, _inside(matcher, state))
    with matcher.grammar.lock:
        program.heap[state + at.D_MASK] = slot


def _hub(dfa: DFA) -> int:
    """The state that the most bytes do not leave, of the first ones."""
    table = dfa.table[:_MOST_STATES]
    stays = table == np.arange(len(table))[:, None]
    return int((stays @ np.bincount(dfa.classes, minlength=table.shape[1])).argmax())


def _make_lengths(vocabulary: Vocabulary, index: VocabularyIndex) -> None:
    """Fill `lengths` and `raw_lengths`: all tokens by the characters that they begin at most."""
    tokens = np.sort(index.trie.ids)
    index.lengths, index.raw_lengths = (
        _by_length(tokens, chars, index.words) for chars in _characters(vocabulary, tokens)
    )


def _by_length(tokens: NDArray[np.int32], chars: NDArray[np.int64], words: int) -> NDArray[np.int32]:
    rows: NDArray[np.uint8] = np.zeros((int(chars.max(initial=0)) + 1, words * 32), np.uint8)
    rows[chars, tokens] = 1
    packed = np.packbits(rows, axis=1, bitorder="little").view(np.int32)
    return np.bitwise_or.accumulate(packed, axis=0)


def _inside(matcher: Matcher, state: int) -> NDArray[np.int32]:
    """Mask of the tokens that a lexeme can read from a state of its automaton without ending."""
    program, index = matcher.grammar.program, matcher._index
    kind = program.dfa_states[state]
    probe = program.probe if kind[2] is Skin.JSON_STRING else program.raw_probe
    like = index.alike(*kind)
    mask: NDArray[np.int32] = np.zeros(index.words, np.int32) if like is None else like[0].copy()
    flags: NDArray[np.uint8] = np.ones(256, np.uint8) if like is None else like[1].astype(np.uint8)
    while True:
        matcher._desc[at.E_OUT : at.E_OUT + 2] = mask.ctypes.data, len(mask)
        matcher._desc[at.E_DATA : at.E_DATA + 2] = flags.ctypes.data, len(flags)
        status = kernels.operate(matcher._desc, kernels.INSIDE, probe, state)
        if status == at.OK:
            break
        matcher._provide(status)
    return mask


def _ends(matcher: Matcher, state: int) -> list[int]:
    """Nodes of the quoted trie at which a JSON string ends that goes on from a state of its automaton."""
    ends: NDArray[np.int32] = np.zeros(matcher._index.quoted.n_nodes + 1, np.int32)
    probe = matcher.grammar.program.probe
    while True:
        matcher._desc[at.E_OUT : at.E_OUT + 2] = ends.ctypes.data, len(ends)
        count = kernels.operate(matcher._desc, kernels.ENDS, probe, state)
        if count >= 0:
            return ends[:count].tolist()
        matcher._provide(-1 - count)


def _make_tails(vocabulary: Vocabulary, index: VocabularyIndex, ends: list[int]) -> None:
    """Fill `tails` and `closers` from the nodes of the quoted trie at which a free string ends."""
    trie = index.quoted
    depths = _depths(trie.end)
    closers: list[int] = []
    tails: dict[int, bytes] = {}
    for node in ends:
        cut = depths[node]
        for token in trie.ids[trie.id_start[node] : trie.id_start[trie.end[node]]].tolist():
            tail = (vocabulary.token_bytes(token) or b"")[cut:]
            if tail:
                tails[token] = tail
            else:
                closers.append(token)
    spelled = [tails.get(token, b"") for token in range(max(tails, default=-1) + 1)]
    flat = np.frombuffer(b"".join(spelled), np.uint8)
    offsets = np.cumsum([0, *map(len, spelled)])
    index.tails = build_trie(flat, offsets, sorted(tails))
    index.closers = as_bits(np.array(closers, np.int32), index.words)


def _depths(end: NDArray[np.int32]) -> list[int]:
    """Number of bytes on the path to each node of a trie."""
    depths, path = [], []
    for node, stop in enumerate(end.tolist()):
        while path and path[-1] <= node:
            path.pop()
        path.append(stop)
        depths.append(len(path))
    return depths


def _characters(
    vocabulary: Vocabulary, tokens: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Characters that each token begins inside a JSON string, escapes decoded, and outside; it may end inside one."""
    starts = np.concatenate([[0], np.cumsum(vocabulary.flat & 0xC0 != 0x80)])
    raw = (starts[vocabulary.offsets[tokens + 1]] - starts[vocabulary.offsets[tokens]]).astype(np.int64)
    chars = raw.copy()
    escaped = np.concatenate([[0], np.cumsum(vocabulary.flat == 0x5C)])
    has_escape = escaped[vocabulary.offsets[tokens + 1]] > escaped[vocabulary.offsets[tokens]]
    for i in np.flatnonzero(has_escape).tolist():
        chars[i] = _escaped_characters(vocabulary.token_bytes(int(tokens[i])) or b"")
    return chars, raw


def _escaped_characters(data: bytes) -> int:
    """The same for a token with escapes."""
    count, i = 0, 0
    while i < len(data):
        if data[i] != 0x5C:
            count += data[i] & 0xC0 != 0x80
            i += 1
            continue
        count += 1
        if data[i + 1 : i + 2] != b"u":
            i += 2
            continue
        high = data[i + 2 : i + 4].lower()
        i += 6
        if high[:1] == b"d" and high[1:2] in (b"8", b"9", b"a", b"b"):
            i += 6
    return count
