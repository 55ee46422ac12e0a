r"""Regular expressions as a language: the part of ECMA-262's syntax, with the u flag, that is regular.

Parentheses nest without end in the standard; here groups, assertions among them, lie at most DEPTH deep, in and behind
a named group at most one deep. A back-reference needs the number or the name of a group: there may be `\1` behind a
group at the top, before any further one, and `\k<n>` right behind a group named `n` without brackets and groups inside,
for names of one small ASCII letter. Left out are other back-references; all but one named group, as names must
differ, and that within others; ranges but those within a-z, A-Z and 0-9; counts of more than three digits; properties
but the general categories.
"""

from __future__ import annotations

import string

__all__ = ["DEPTH", "regular_expression"]

DEPTH = 3

_HEX = "[0-9A-Fa-f]"
_CATEGORY = "L[ulotm]?|N[dlo]?|M[nce]?|P[dse]?|S[mc]?|Zs?"


def _escape() -> str:
    number = rf"x{_HEX}{{2}}|u(?:{_HEX}{{4}}|\{{(?:{_HEX}{{1,5}}|10{_HEX}{{4}})\}})"
    return rf"\\(?:[dDwWsStnrvf^$\\.*+?()\[\]{{}}|/]|c[A-Za-z]|0(?![0-9])|{number}|[pP]\{{(?:{_CATEGORY})\}})"


def _brackets() -> str:
    ranges = "|".join(
        f"{low}-[{low}-{last}]"
        for first, last in ("az", "AZ", "09")
        for low in map(chr, range(ord(first), ord(last) + 1))
    )
    member = rf"(?:{_escape()}|\\[b\-]|{ranges}|[^\[\]\\\-^])"
    return rf"\[\^?-?(?:{member})*-?\]"


def _quantifier() -> str:
    pairs = "|".join(f"{low},[{low}-9]" for low in range(10))
    count = rf"\{{(?:[0-9]{{1,3}},?|{pairs}|[0-9],[1-9][0-9]{{1,2}})\}}"
    return rf"(?:(?:[*+?]|{count})\??)?"


def regular_expression() -> str:
    """The pattern of such expressions."""
    quantifier = _quantifier()
    plain = rf"(?:[^\\^$.*+?()\[\]{{}}|]|\.|{_escape()}|{_brackets()}){quantifier}"
    flat = rf"{plain}|[$^|]|\\[bB]"
    bodies = [f"(?:{flat})*"]
    for _ in range(DEPTH):
        inner = bodies[-1]
        bodies.append(rf"(?:{flat}|\((?:\?:)?{inner}\){quantifier}|\(\?<?[=!]{inner}\))*")
    named = rf"\(\?<[A-Za-z_$][A-Za-z0-9_$]*>{bodies[1]}\){quantifier}"
    numbered = rf"\({bodies[1]}\){quantifier}(?:{flat}|\\1(?![0-9]){quantifier})*"
    simple = rf"(?:(?:[^\\^$.*+?()\[\]{{}}|]|\.|{_escape()})[*+?]?|[$^|])*"
    recalled = "|".join(rf"\(\?<{name}>{simple}\)\\k<{name}>" for name in string.ascii_lowercase)
    return f"{bodies[-1]}(?:{named}{bodies[1]}|{numbered}|(?:{recalled}){quantifier}{bodies[1]})?"
