r"""Host names with letters beyond ASCII (RFC 5890 to 5893), as far as automata reach.

Whether the encoded form of a label has at most 63 octets depends on all of it (Punycode, RFC 3492), so bounds on
characters take the place of that, under which every label fits: those of the worst labels.

alphabetic  labels of ASCII and letters of one of the Latin, Greek and Cyrillic alphabets: a letter weighs 3, an ASCII
            character 1, a label at most 56; to be used with at most 60 characters in all.
unicode     labels of all valid code points of the Basic Multilingual Plane, with the rules of RFC 5892, appendix A, and
            RFC 5893; to be used with at most 14 characters in all.

In both, the letters of a label with any beyond ASCII are small ones, and no label has "--", so that A-labels are left
out. As a label is in normal form C, `unicode` has no mark behind another, and no mark where a single code point stands
for it and what precedes it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from itertools import chain

from .charsets import SURROGATES, CharSet, complement, intersect, make, union
from .derivatives import CharAutomaton
from .dfa import DFA
from .utf8 import to_bytes

__all__ = ["CYRILLIC", "GREEK", "LATIN", "alphabetic", "unicode_pattern"]

_DIGITS: CharSet = ((0x30, 0x39),)
_SMALL: CharSet = ((0x61, 0x7A),)
_CAPITALS: CharSet = ((0x41, 0x5A),)
_HYPHEN: CharSet = ((0x2D, 0x2D),)
_STOPS: CharSet = ((0x2E, 0x2E), (0x3002, 0x3002), (0xFF0E, 0xFF0E), (0xFF61, 0xFF61))

LATIN = "ßàáâãäåæçèéêëìíîïðñòóôõöøùúûüýþÿāăąćĉċčďđēĕėęěĝğġģĥħĩīĭįıĵķĸĺļľłńņňŋōŏőœŕŗřśŝşšţťŧũūŭůűųŵŷźżž"
GREEK = "άέήίΰαβγδεζηθικλμνξοπρςστυφχψωϊϋόύώ"
CYRILLIC = "абвгдежзийклмнопрстуфхцчшщъыьэюяѐёђѓєѕіїјљњћќѝўџ"
_WEIGHT = 56


def alphabetic(max_states: int, name: str) -> DFA:
    """Host names in the Latin, Greek and Cyrillic alphabets (see the module text)."""
    scripts = [make((ord(c), ord(c)) for c in letters) for letters in (LATIN, GREEK, CYRILLIC)]
    classes = [union(_DIGITS, _SMALL), _CAPITALS, _HYPHEN, _STOPS, *scripts]
    classes.append(complement(union(*classes, (SURROGATES,))))
    ranges = sorted((low, high, number) for number, members in enumerate(classes) for low, high in members)
    # A state is (weight so far, kind of label, whether a hyphen was last); kinds: 0 ASCII in small letters, 1 with
    # capitals, 4 to 6 with letters of a script.
    start = (0, 0, False)
    numbers = {start: 0}
    order = [start]
    edges: list[tuple[int, int, int]] = []
    for source, (weight, kind, hyphen) in enumerate(order):
        inside = bool(weight) and not hyphen
        following = {0: (weight + 1, kind, False)}
        if kind <= 1:
            following[1] = weight + 1, 1, False
        if inside:
            following[2], following[3] = (weight + 1, kind, True), start
        for script in range(4, 7):
            if kind in (0, script):
                following[script] = weight + 3, script, False
        for number, state in following.items():
            if state[0] <= _WEIGHT:
                if state not in numbers:
                    numbers[state] = len(order)
                    order.append(state)
                edges.append((source, 1 << number, numbers[state]))
    accepting = [bool(weight) and not hyphen for weight, _, hyphen in order]
    return to_bytes(CharAutomaton(ranges, len(classes), accepting, edges, False), max_states, name)


_STOP = r"[.\u3002\uFF0E\uFF61]"
_INSIDE = r"[^.\u3002\uFF0E\uFF61]"
_INNER_HYPHEN = r"-(?=[^\-.\u3002\uFF0E\uFF61])"


def unicode_pattern() -> str:
    """The ECMA pattern of the host names of all scripts (see the module text)."""
    one_way = f"(?:{_left_to_right()}|[A-Za-z0-9](?:[A-Za-z0-9]|{_INNER_HYPHEN})*)"
    # Where a name has characters from right to left, all its labels are subject to RFC 5893.
    two_way = f"(?:{_right_to_left()}|[A-Za-z](?:[A-Za-z0-9]|{_INNER_HYPHEN})*)"
    return f"{one_way}(?:{_STOP}{one_way})*|{two_way}(?:{_STOP}{two_way})*"


def _left_to_right() -> str:
    """A label without characters from right to left: RFC 5892, appendix A.1, A.3, A.4, A.7 and A.9."""
    valid = intersect(_valid(), complement(_bidi("R", "AL", "AN")))
    viramas = intersect(valid, _property("Canonical_Combining_Class=9"))
    japanese = union(*(_property(f"Script={name}") for name in ("Hiragana", "Katakana", "Han")))
    unit = (
        rf"{_normal(valid)}|[\u06F0-\u06F9]|(?<={_set(viramas)})[\u200C\u200D]|(?<=l)\u00B7(?=l)"
        rf"|\u0375(?={_set(_property('Script=Greek'))})|{_INNER_HYPHEN}"
    )
    with_dot = rf"(?={_INSIDE}*{_set(japanese)})(?:{unit}|\u30FB)+"
    return f"(?!{_set(union(_property('M'), _HYPHEN))})(?:(?:{unit})+|{with_dot})"


def _right_to_left() -> str:
    """A label that begins with a letter from right to left: RFC 5892, appendix A.1, A.5, A.6 and A.8; RFC 5893."""
    strong, marks, european = _bidi("R", "AL"), _bidi("NSM"), _bidi("EN")
    arabic = union(_bidi("AN"), ((0x660, 0x669),))
    valid = union(_valid(), ((0x660, 0x669), (0x6F0, 0x6F9)))
    allowed = intersect(valid, union(strong, marks, arabic, european, _bidi("ES", "CS", "ET", "ON", "BN")))
    joining = {kind: intersect(allowed, _property(f"Joining_Type={kind}")) for kind in "LDRT"}
    before, after = union(joining["L"], joining["D"]), union(joining["R"], joining["D"])
    between = f"{_set(joining['T'])}*"
    context = (
        rf"(?<={_set(_property('Script=Hebrew'))})[\u05F3\u05F4]|{_INNER_HYPHEN}"
        rf"|(?<={_set(before)}{between})\u200C(?={between}{_set(after)})"
    )
    bodies = [f"(?:{_normal(intersect(allowed, complement(digits)))}|{context})*" for digits in (arabic, european)]
    end = f"(?<={_set(union(strong, arabic, european))}{_set(intersect(_valid(), marks))}*)"
    return f"{_set(intersect(_valid(), strong))}(?:{'|'.join(bodies)}){end}"


def _normal(members: CharSet) -> str:
    """A character of `members` behind which the label still is in normal form C.

    Marks that compose are kept for the scripts of India and its neighbours, where that takes few characters.
    """
    bases: dict[int, list[int]] = {}
    for code in range(0xA0, 0x10000):
        parts = unicodedata.decomposition(chr(code)).split()
        if len(parts) == 2 and not parts[0].startswith("<"):
            bases.setdefault(int(parts[1], 16), []).append(int(parts[0], 16))
    kept = [mark for mark, found in bases.items() if mark >= 0x900 and len(found) <= 11]
    maybe = _property("NFC_Quick_Check=Maybe")
    seconds = intersect(intersect(members, maybe), _points(kept))
    firsts = _points(base for mark in kept for base in bases[mark])
    classed = intersect(_property("M"), complement(_property("Canonical_Combining_Class=0")))
    others = intersect(members, complement(maybe))
    return (
        f"{_set(intersect(others, complement(classed)))}"
        f"|(?<!{_set(classed)}){_set(intersect(others, classed))}"
        f"|(?<!{_set(firsts)})(?:{_set(intersect(seconds, complement(classed)))}"
        f"|(?<!{_set(classed)}){_set(intersect(seconds, classed))})"
    )


@lru_cache(maxsize=1)
def _valid() -> CharSet:
    """PVALID of RFC 5892, section 3, in the Basic Multilingual Plane; what depends on context is left out.

    So is what only one of the two Unicode tables at hand knows, as it is too new for others as well.
    """
    known = _points(code for code, char in zip(_codes(), _plane(), strict=True) if unicodedata.category(char) != "Cn")
    letters = _property("Ll", "Lu", "Lo", "Nd", "Lm", "Mn", "Mc")
    unstable = _property(
        "Changes_When_Casefolded", "NFKC_Quick_Check=No", "White_Space", "Default_Ignorable_Code_Point",
        "Noncharacter_Code_Point", "Hangul_Syllable_Type=L", "Hangul_Syllable_Type=V", "Hangul_Syllable_Type=T",
    )  # fmt: skip
    disallowed = _points([0x640, 0x7FA, 0x302E, 0x302F, *range(0x3031, 0x3036), 0x303B, *range(0x20D0, 0x2100)])
    context = _points([0xB7, 0x375, 0x5F3, 0x5F4, 0x30FB, *range(0x660, 0x66A), *range(0x6F0, 0x6FA), 0x200C, 0x200D])
    exceptions = _points([0xDF, 0x3C2, 0x6FD, 0x6FE, 0xF0B, 0x3007])
    return intersect(known, union(intersect(letters, complement(union(unstable, disallowed, context))), exceptions))


def _points(codes: Iterable[int]) -> CharSet:
    return make((code, code) for code in codes)


def _bidi(*classes: str) -> CharSet:
    return _property(*(f"Bidi_Class={name}" for name in classes))


@lru_cache(maxsize=64)
def _property(*names: str) -> CharSet:
    """The code points of the Basic Multilingual Plane with any of the properties."""
    import regex

    listed = "".join(rf"\p{{{name}}}" for name in names)
    found = [match.span() for match in regex.finditer(f"[{listed}]+", _plane())]
    gap = 0xE000 - 0xD800
    return make((a if a < 0xD800 else a + gap, b - 1 if b <= 0xD800 else b - 1 + gap) for a, b in found)


def _codes() -> Iterable[int]:
    return chain(range(0xD800), range(0xE000, 0x10000))


@lru_cache(maxsize=1)
def _plane() -> str:
    return "".join(map(chr, _codes()))


def _set(members: CharSet) -> str:
    return "[" + "".join(rf"\u{low:04X}-\u{high:04X}" for low, high in members) + "]"
