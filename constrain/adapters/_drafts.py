"""Drafts of what comes next: text that the constraint forces, and what followed the same tokens before.

A draft is a guess that the model confirms: where the constraint leaves one text but several ways to cut it into tokens,
the model still chooses how. So the output is that of plain decoding, and only the number of its steps is smaller.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

__all__ = ["Spelling", "draft", "looked_up"]


class Spelling:
    """Cuts text into tokens of a vocabulary, always the longest that fits: what most tokenizers do with most texts."""

    _made: WeakKeyDictionary[Any, Spelling] = WeakKeyDictionary()

    def __init__(self, vocabulary: Any) -> None:
        spelled = ((vocabulary.token_bytes(token), token) for token in range(vocabulary.n_tokens - 1, -1, -1))
        self._ids = {text: token for text, token in spelled if text}
        self._longest = max(map(len, self._ids), default=0)

    @classmethod
    def of(cls, vocabulary: Any) -> Spelling:
        """The one of a vocabulary."""
        found = cls._made.get(vocabulary)
        if found is None:
            found = cls._made[vocabulary] = cls(vocabulary)
        return found

    def __call__(self, text: bytes) -> list[int]:
        """Ids of the text, up to where no token fits."""
        ids, start = [], 0
        while start < len(text):
            ends = range(min(len(text), start + self._longest), start, -1)
            end = next((end for end in ends if text[start:end] in self._ids), None)
            if end is None:
                break
            ids.append(self._ids[text[start:end]])
            start = end
        return ids


def draft(matcher: Any, spelling: Spelling, history: Sequence[int], limit: int, match: int = 2) -> list[int]:
    """At most `limit` tokens that may come next; the matcher does not change.

    First what is forced, with the stop token where the output must end; after it, or where nothing is, what followed
    the last `match` tokens of the history (prompt and reply) before, as far as the constraint allows it. match 0: not
    that.
    """
    ahead = matcher.fork()
    ids: list[int] = []
    while len(ids) < limit and not ahead.is_terminated():
        forced = spelling(ahead.forced_bytes(16 * limit)) or ahead.forced_tokens(limit=1)
        taken = ahead.accept_tokens(forced[: limit - len(ids)])
        ids += forced[:taken]
        if not taken:
            break
    room = limit - len(ids)
    if match and room > 0 and not ahead.is_terminated():
        found = looked_up([*history, *ids], match, room)
        ids += found[: ahead.validate_tokens(found)]
    return ids


def looked_up(ids: Sequence[int], match: int, limit: int) -> list[int]:
    """What followed the last `match` ids before, where they last occurred: at most `limit` ids."""
    end = list(ids[-match:])
    for start in range(len(ids) - match - 1, -1, -1):
        if ids[start] == end[0] and list(ids[start : start + match]) == end:
            return list(ids[start + match : start + match + limit])
    return []
