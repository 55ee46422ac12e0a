r"""Host names with A-labels (RFC 5890), `xn--...`, as far as automata of moderate size tell which are valid.

Admitted, in small letters, are those of the U-labels

one way     of 1 to 24 ASCII letters and digits and one of `idn.LATIN`; 1 to 8 and two of those in Latin-1
            of 1 to 4 letters of `idn.GREEK`, 1 to 3 of `idn.CYRILLIC`, 1 or 2 of `idn.LATIN`, of Hiragana, of Katakana
            with what RFC 5892, appendix A, ties to its context: l·l; one or two Greek letters with a keraia before one;
            a Hiragana, Katakana or Han character beside a katakana middle dot; two consonants of Devanagari with a
            virama and a joiner or non-joiner between them; an extended Arabic-Indic digit with up to 3 ASCII characters
two ways    of 1 to 4 letters of Hebrew, 1 to 3 of the Arabic language, 1 or 2 of the Arabic block
            of one or two Hebrew letters with a geresh or gershayim behind one
            of a letter of the Arabic language and an Arabic-Indic digit, and at most one letter behind

Where a name has labels of the second kind, it has none of the first, and all others begin with a letter (RFC 5893).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from itertools import chain, product

import numpy as np

from .._limits import Limits
from . import operations, punycode
from .dfa import DFA
from .idn import CYRILLIC, GREEK, LATIN
from .parser import parse
from .pattern import compile_node
from .utf8 import finish
from .words import from_words

__all__ = ["host_names"]

_PREFIX = b"xn--"
_LATIN_1 = "".join(letter for letter in LATIN if letter <= "\xff")
_HEBREW = "".join(map(chr, range(0x5D0, 0x5EB)))
_ARABIC = "".join(map(chr, (*range(0x620, 0x63B), *range(0x641, 0x64B))))
_OTHER_ARABIC = (0x66E, 0x66F, *range(0x671, 0x675), *range(0x679, 0x6D4), 0x6D5, 0x6EE, 0x6EF, *range(0x6FA, 0x700))
_ARABIC_BLOCK = _ARABIC + "".join(map(chr, (*range(0x63B, 0x640), *_OTHER_ARABIC)))
_ARABIC_DIGITS = "".join(map(chr, range(0x660, 0x66A)))
_EXTENDED_DIGITS = "".join(map(chr, range(0x6F0, 0x6FA)))
_HIRAGANA = "".join(map(chr, (*range(0x3041, 0x3097), 0x309D, 0x309E)))
_KATAKANA = "".join(map(chr, (*range(0x30A1, 0x30FB), *range(0x30FC, 0x30FF))))
_HAN = "".join(map(chr, range(0x4E00, 0x9FA6)))
_DEVANAGARI = "".join(map(chr, range(0x915, 0x93A)))

_ONE_WAY = (
    (LATIN, 1, 1, 24),
    (_LATIN_1, 2, 1, 8),
    (LATIN, 2),
    (GREEK, 4),
    (CYRILLIC, 3),
    (_HIRAGANA, 2),
    (_KATAKANA, 2),
    (_EXTENDED_DIGITS, 1),
    (_EXTENDED_DIGITS, 1, 1, 3),
)
_TWO_WAYS = ((_HEBREW, 4), (_ARABIC, 3), (_ARABIC_BLOCK, 2))
"""Arguments of `punycode.labels`."""


def host_names(plain: str, plain_two_ways: str, limits: Limits, name: str) -> DFA:
    """Names of labels with and without the prefix.

    plain, plain_two_ways: patterns of the labels without it, in general and in names that have characters from right
    to left.
    """
    kinds = ((plain, _ONE_WAY, _one_way_in_context()), (plain_two_ways, _TWO_WAYS, _two_ways_in_context()))
    names = []
    for pattern, families, others in kinds:
        ends = [punycode.labels(*family) for family in families]
        ends.append(from_words((text.encode("punycode") for text in others), limits))
        ascii_labels = compile_node(parse(pattern, dialect="ecma", limits=limits), limits=limits)
        names.append(_dotted(operations.union(ascii_labels, _prefixed(_union(ends, limits)), limits)))
    found = _union(names, limits)
    return operations.relabel(found, found.labels, name)


def _one_way_in_context() -> Iterable[str]:
    japanese = _HIRAGANA + _KATAKANA + _HAN
    return chain(
        ["l\xb7l"],
        _texts("\u0375", GREEK),
        _texts("\u0375", GREEK, GREEK),
        _texts(GREEK, "\u0375", GREEK),
        _texts("\u30fb", japanese),
        _texts(japanese, "\u30fb"),
        _texts(_DEVANAGARI, "\u094d", "\u200c\u200d", _DEVANAGARI),
    )


def _two_ways_in_context() -> Iterable[str]:
    return chain(
        _texts(_HEBREW, "\u05f3\u05f4"),
        _texts(_HEBREW, _HEBREW, "\u05f3\u05f4"),
        _texts(_HEBREW, "\u05f3\u05f4", _HEBREW),
        _texts(_ARABIC, _ARABIC_DIGITS),
        _texts(_ARABIC, _ARABIC_DIGITS, _ARABIC),
    )


def _texts(*places: str) -> Iterable[str]:
    return map("".join, product(*places))


def _union(parts: list[DFA], limits: Limits) -> DFA:
    return reduce(lambda a, b: operations.union(a, b, limits), parts)


def _prefixed(ends: DFA) -> DFA:
    """The words of `ends` behind the prefix."""
    states, classes = ends.table.shape
    before = len(_PREFIX)
    table = np.full((before + states, classes + 256), -1, np.int32)
    table[before:, :classes] = np.where(ends.table < 0, -1, ends.table + before)
    table[before:, classes:] = table[before:, ends.classes]  # a class of its own for each byte
    table[np.arange(before), classes + np.frombuffer(_PREFIX, np.uint8)] = np.arange(1, before + 1)
    labels = np.concatenate([np.full(before, -1, np.int32), ends.labels])
    return finish(np.arange(256, dtype=np.uint8), np.ascontiguousarray(table[:, classes:]), labels)


def _dotted(label: DFA) -> DFA:
    """One or more of the labels, which have no dots, with dots between them."""
    classes, table = label.classes.copy(), label.table
    classes[ord(".")] = table.shape[1]
    onward = np.where(label.labels < 0, -1, 0).astype(np.int32)
    return finish(classes, np.column_stack([table, onward]), label.labels.copy())
