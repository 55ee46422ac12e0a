"""Sets of code points as sorted, disjoint, non-adjacent inclusive ranges, and their partition into classes.

Sets range over 0..0x10FFFF; surrogates may be named by a set but never reach an automaton, whose strings are sequences
of Unicode scalar values.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

__all__ = ["ALL", "CharSet", "case_closure", "complement", "intersect", "make", "partition", "property_set", "union"]

CharSet = tuple[tuple[int, int], ...]
MAX = 0x10FFFF
ALL: CharSet = ((0, MAX),)
SURROGATES = (0xD800, 0xDFFF)


def make(ranges: Iterable[tuple[int, int]]) -> CharSet:
    """The normal form of any collection of inclusive ranges."""
    ordered = sorted(ranges)
    if len(ordered) < 2:
        return tuple(ordered)
    out: list[tuple[int, int]] = []
    low, high = ordered[0]
    for lo, hi in ordered:
        if lo > high + 1:
            out.append((low, high))
            low, high = lo, hi
        elif hi > high:
            high = hi
    out.append((low, high))
    return tuple(out)


def union(*sets: CharSet) -> CharSet:
    return make(r for s in sets for r in s)


def complement(chars: CharSet) -> CharSet:
    out = []
    start = 0
    for lo, hi in chars:
        if lo > start:
            out.append((start, lo - 1))
        start = hi + 1
    if start <= MAX:
        out.append((start, MAX))
    return tuple(out)


def intersect(a: CharSet, b: CharSet) -> CharSet:
    return complement(union(complement(a), complement(b)))


def partition(sets: list[CharSet]) -> tuple[list[tuple[int, int, int]], list[int], int]:
    """The coarsest classes of scalar values that all `sets` are unions of.

    Returns (ranges, masks, count): ranges are (low, high, class) in order and cover every scalar value; masks[i] has
    bit c set where class c is in sets[i].
    """
    surrogate = 1 << len(sets)
    events: dict[int, int] = {0: 0, SURROGATES[0]: surrogate, SURROGATES[1] + 1: surrogate, MAX + 1: 0}
    for i, chars in enumerate(sets):
        bit = 1 << i
        for lo, hi in chars:
            events[lo] = events.get(lo, 0) ^ bit
            events[hi + 1] = events.get(hi + 1, 0) ^ bit
    classes: dict[int, int] = {}
    ranges: list[tuple[int, int, int]] = []
    signature = previous = 0
    for position in sorted(events):
        if position > previous and not signature & surrogate:
            number = classes.setdefault(signature, len(classes))
            ranges.append((previous, position - 1, number))
        signature ^= events[position]
        previous = position
    masks = [0] * len(sets)
    for members, number in classes.items():
        i = 0
        while members:
            if members & 1:
                masks[i] |= 1 << number
            members >>= 1
            i += 1
    return ranges, masks, len(classes)


# Where Unicode keeps letters with case; nothing outside has a simple case mapping.
_CASED = ((0x41, 0x5FF), (0x10A0, 0x1FFF), (0x2100, 0x24FF), (0x2C00, 0x2DFF), (0xA640, 0xABBF), (0xFB00, 0xFFFF),
          (0x10400, 0x10FFF), (0x11800, 0x118FF), (0x16E00, 0x16EFF), (0x1E900, 0x1E95F))  # fmt: skip


@lru_cache(maxsize=2)
def _case_families(simple: bool) -> dict[int, tuple[int, ...]]:
    """Code point -> all code points equal to it when case is ignored.

    simple: by simple case folding (ECMA-262 with the flags u and i); else by lower and upper case (Python's `re`).
    """
    family: dict[int, set[int]] = {}

    def join(a: int, b: int) -> None:
        merged = family.get(a, {a}) | family.get(b, {b})
        for member in merged:
            family[member] = merged

    for low, high in _CASED:
        for code in range(low, high + 1):
            char = chr(code)
            for other in (_folded(char),) if simple else (char.lower(), char.upper()):
                if other != char and len(other) == 1:
                    join(code, ord(other))
    if not simple:
        join(0x130, 0x69)  # its full lower case has two code points, the simple one is "i"
    return {code: tuple(sorted(members)) for code, members in family.items()}


_FOLDED = {"\u1fd3": "\u0390", "\u1fe3": "\u03b0", "\ufb05": "\ufb06"}


def _folded(char: str) -> str:
    """Simple case folding: the full one where it is one code point, else lower case where that is."""
    folded = char.casefold()
    return folded if len(folded) == 1 else _FOLDED.get(char, char.lower())


def case_closure(chars: CharSet, simple: bool) -> CharSet:
    """`chars` and everything that differs from a member only in case; simple: by simple case folding."""
    extra: list[tuple[int, int]] = []
    families = _case_families(simple)
    for lo, hi in chars:
        if hi - lo > len(families):
            extra.extend((m, m) for code, family in families.items() if lo <= code <= hi for m in family)
        else:
            extra.extend((m, m) for code in range(lo, hi + 1) if code in families for m in families[code])
    return make([*chars, *extra])


@lru_cache(maxsize=1)
def _every_scalar() -> str:
    import numpy as np

    codes = np.concatenate([np.arange(SURROGATES[0]), np.arange(SURROGATES[1] + 1, MAX + 1)]).astype("<u4")
    return codes.tobytes().decode("utf-32-le")


@lru_cache(maxsize=128)
def property_set(expression: str) -> CharSet:
    r"""The scalar values that match `expression`, a one-character pattern of the `regex` package such as r"\p{L}".

    Raises regex.error for an unknown property. About 20 ms the first time.
    """
    import regex

    gap = SURROGATES[1] + 1 - SURROGATES[0]
    out = []
    for match in regex.finditer(f"(?:{expression})+", _every_scalar(), flags=regex.V0):
        lo, hi = match.start(), match.end() - 1
        if lo < SURROGATES[0] <= hi:
            out.append((lo, SURROGATES[0] - 1))
            out.append((SURROGATES[1] + 1, hi + gap))
        else:
            shift = 0 if lo < SURROGATES[0] else gap
            out.append((lo + shift, hi + shift))
    return make(out)
