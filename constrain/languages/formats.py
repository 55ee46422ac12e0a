r"""The languages of the `format` keyword of JSON Schema.

Each is a pattern in the ECMA dialect, put together from the grammar of its standard, and compiled when first asked for.
Where a standard is not regular or needs a table of its own, the language is a regular part of it, so that what is
generated is valid, and the text here says what is left out:

    date-time, time   RFC 3339, with the calendar; a leap second only where it is 23:59:60 in UTC, and there only with
                      offsets of whole and half hours
    hostname          RFC 1123 without labels that have "--" in their third place: they stand for Punycode, whose
                      validity only decoding can tell
    idn-hostname      RFC 5891-5893 without such labels; a name with right-to-left letters has them first in every
                      label, and no Latin letters or ASCII digits; at most 63 characters (that the encoded labels have
                      at most 63 octets is not checked further)
    regex             ECMA-262 with groups at most two deep, no names or back-references, ranges within a-z, A-Z or 0-9
    email, idn-email  RFC 5321 and 6531; local part of at most 64 characters, 33 where it has escapes
    others            as in the RFC named beside them, exactly
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from .._limits import Limits
from .dfa import DFA
from .operations import with_length
from .parser import parse
from .pattern import compile_node

__all__ = ["FORMATS", "format_language", "format_string"]

_LDH = "[A-Za-z0-9]"
_LABEL = f"{_LDH}(?:[A-Za-z0-9-]{{0,61}}{_LDH})?"
_HEX = "[0-9A-Fa-f]"
_OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_IPV4 = rf"{_OCTET}(?:\.{_OCTET}){{3}}"

# RFC 3987: what IRIs add to URIs.
_UCS = (
    r"\u00A0-\uD7FF\uF900-\uFDCF\uFDF0-\uFFEF"
    + "".join(rf"\u{{{plane:X}0000}}-\u{{{plane:X}FFFD}}" for plane in range(1, 14))
    + r"\u{E1000}-\u{EFFFD}"
).replace(r"\u{E0000}-", r"\u{E1000}-")
_PRIVATE = r"\uE000-\uF8FF\u{F0000}-\u{FFFFD}\u{100000}-\u{10FFFD}"


def _date() -> str:
    leap = "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)"
    return (
        "(?:[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)"
        f"|02-(?:0[1-9]|1[0-9]|2[0-8]))|{leap}-02-29)"
    )


def _time() -> str:
    hour = "(?:[01][0-9]|2[0-3])"
    fraction = r"(?:\.[0-9]+)?"
    usual = f"{hour}:[0-5][0-9]:[0-5][0-9]{fraction}(?:[Zz]|[+-]{hour}:[0-5][0-9])"
    hours = []
    for h in range(24):
        leap = []
        for m in (29, 59):
            offset = (h * 60 + m + 1) % 1440
            ahead, behind = (f"{minutes // 60:02}:{minutes % 60:02}" for minutes in (offset, -offset % 1440))
            utc = "" if offset else "|[Zz]"
            leap.append(rf"{m}:60{fraction}(?:\+{ahead}|-{behind}{utc})")
        hours.append(f"{h:02}:(?:{'|'.join(leap)})")
    tens = [f"{ten}(?:{'|'.join(hour[1:] for hour in hours if hour[0] == ten)})" for ten in "012"]
    return f"(?:{usual}|{'|'.join(tens)})"


def _duration() -> str:
    clock = "T(?:[0-9]+H(?:[0-9]+M(?:[0-9]+S)?)?|[0-9]+M(?:[0-9]+S)?|[0-9]+S)"
    date = "(?:[0-9]+D|[0-9]+M(?:[0-9]+D)?|[0-9]+Y(?:[0-9]+M(?:[0-9]+D)?)?)"
    return f"P(?:{date}(?:{clock})?|{clock}|[0-9]+W)"


def _ipv6() -> str:
    group = f"{_HEX}{{1,4}}"
    tail = f"(?:{group}:{group}|{_IPV4})"
    options = [f"(?:{group}:){{6}}{tail}"]
    for before in range(8):
        left = f"(?:(?:{group}:){{0,{before - 1}}}{group})?" if before > 1 else f"(?:{group})?" if before else ""
        right = {6: group, 7: ""}.get(before, f"(?:{group}:){{{5 - before}}}{tail}" if before < 6 else "")
        options.append(f"{left}::{right}")
    return f"(?:{'|'.join(options)})"


def _uri(relative: bool, international: bool) -> str:
    ucs = _UCS if international else ""
    private = _PRIVATE if international else ""
    escape = f"%{_HEX}{{2}}"
    free = rf"A-Za-z0-9._~\-!$&'()*+,;={ucs}"
    pchar = f"(?:[{free}:@]|{escape})"
    address = rf"\[(?:{_ipv6()}|[vV]{_HEX}+\.[A-Za-z0-9._~\-!$&'()*+,;=:]+)\]"
    authority = f"(?:(?:[{free}:]|{escape})*@)?(?:{address}|(?:[{free}]|{escape})*)(?::[0-9]*)?"
    segments = f"(?:/{pchar}*)*"
    absolute = f"/(?:{pchar}+{segments})?"
    ending = rf"(?:\?(?:[{free}:@/?{private}]|{escape})*)?(?:#(?:[{free}:@/?]|{escape})*)?"
    full = f"[A-Za-z][A-Za-z0-9+.\\-]*:(?://{authority}{segments}|{absolute}|{pchar}+{segments}|){ending}"
    if not relative:
        return full
    first = f"(?:[{free}@]|{escape})+"
    return f"(?:{full}|(?://{authority}{segments}|{absolute}|{first}{segments}|){ending})"


def _uri_template() -> str:
    escape = f"%{_HEX}{{2}}"
    literal = rf"(?:[!#$&'()*+,\-./0-9:;=?@A-Z\[\]_a-z~{_UCS}{_PRIVATE}]|{escape})"
    name = f"(?:[A-Za-z0-9_]|{escape})"
    variable = rf"{name}(?:\.?{name})*(?::[1-9][0-9]{{0,3}}|\*)?"
    return rf"(?:{literal}|\{{[+#./;?&]?{variable}(?:,{variable})*\}})*"


def _email(wide: str, domain: str) -> str:
    atom = f"[A-Za-z0-9!#$%&'*+/=?^_`{{|}}~\\-{wide}]+"
    plain = rf"[ !#-\[\]-~{wide}]"
    quoted = rf'"(?:{plain}{{0,62}}|(?:{plain}|\\[ -~]){{0,31}})"'
    tag = rf"[A-Za-z0-9\-]*{_LDH}:[!-Z^-~]+"
    general = rf"(?!IPv6:){tag}"
    literal = rf"\[(?:{_IPV4}|[Ii][Pp][Vv]6:{_ipv6()}|{general.replace('IPv6', '[Ii][Pp][Vv]6')})\]"
    return rf"(?:(?=[^@]{{1,64}}@){atom}(?:\.{atom})*|{quoted})@(?:{domain}|{literal})"


def _names(label: str, dot: str = r"\.") -> str:
    return f"{label}(?:{dot}{label})*"


# RFC 5892, section 2: PVALID, CONTEXTJ and CONTEXTO in terms of Unicode properties.
_LETTERS = r"\p{Ll}\p{Lu}\p{Lo}\p{Nd}\p{Lm}\p{Mn}\p{Mc}"
_UNSTABLE = r"\p{Changes_When_Casefolded}\p{NFKC_Quick_Check=N}\p{White_Space}\p{Default_Ignorable_Code_Point}"
_OLD_JAMO = r"\u1100-\u11FF\uA960-\uA97C\uD7B0-\uD7FB"
_DISALLOWED = r"\u0640\u07FA\u302E\u302F\u3031-\u3035\u303B\u20D0-\u20FF\u{1D100}-\u{1D1FF}\u{1D200}-\u{1D24F}"
_ALLOWED = r"\u00DF\u03C2\u06FD\u06FE\u0F0B\u3007"
_CONTEXT = r"\u00B7\u0375\u05F3\u05F4\u30FB\u0660-\u0669\u06F0-\u06F9\u200C\u200D"
_RIGHT = r"\p{Bidi_Class=R}\p{Bidi_Class=AL}"


def _wide_label() -> str:
    """A U-label (RFC 5891 section 4.2.3), with the context rules of RFC 5892 appendix A."""
    valid = rf"(?![{_UNSTABLE}{_OLD_JAMO}{_DISALLOWED}{_CONTEXT}])[{_LETTERS}]|[{_ALLOWED}]"
    joining = (
        r"(?<=\p{Canonical_Combining_Class=9})[\u200C\u200D]"
        r"|(?<=[\p{Joining_Type=L}\p{Joining_Type=D}]\p{Joining_Type=T}*)\u200C"
        r"(?=\p{Joining_Type=T}*[\p{Joining_Type=R}\p{Joining_Type=D}])"
    )
    context = rf"(?<=l)\u00B7(?=l)|\u0375(?=\p{{Script=Greek}})|(?<=\p{{Script=Hebrew}})[\u05F3\u05F4]|{joining}"
    plain = f"(?:{valid}|{context}|-)"
    japanese = r"[\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Han}]"
    body = (
        f"(?:(?:{plain}|[\\u0660-\\u0669])+|(?:{plain}|[\\u06F0-\\u06F9])+"
        rf"|(?:{plain}|\u30FB)*(?:{japanese}\u30FB|\u30FB{japanese})(?:{plain}|\u30FB)*)"
    )
    return rf"(?!..--)(?![\p{{M}}-]){body}(?<!-)"


def _idn_hostname() -> str:
    stop = r"[.\u3002\uFF0E\uFF61]"
    one_way = rf"(?![^]*[{_RIGHT}\p{{Bidi_Class=AN}}])"
    leftward = rf"(?=(?:[{_RIGHT}][^A-Za-z0-9]*(?:{stop}|$))+$)"
    return rf"(?:{one_way}|{leftward}){_names(_wide_label(), stop)}"


def _regex() -> str:
    ranges = "|".join(
        f"{low}-[{low}-{last}]"
        for first, last in ("az", "AZ", "09")
        for low in map(chr, range(ord(first), ord(last) + 1))
    )
    category = r"[pP]\{(?:L[ulotm]?|N[dlo]?|P|S|Z)\}"
    escape = rf"\\(?:[dDwWsStnrvf^$\\.*+?()\[\]{{}}|/]|c[A-Za-z]|x{_HEX}{{2}}|u{_HEX}{{4}}|{category})"
    member = rf"(?:{escape}|\\[b\-]|{ranges}|[^\[\]\\\-^])"
    brackets = rf"\[\^?-?(?:{member})*-?\]"
    pairs = "|".join(f"{low},[{low}-9]" for low in range(10))
    count = rf"\{{(?:[0-9]{{1,3}},?|{pairs}|[0-9],[1-9][0-9]{{1,2}})\}}"
    quantifier = rf"(?:(?:[*+?]|{count})\??)?"
    plain = rf"(?:[^\\^$.*+?()\[\]{{}}|]|\.|{escape}|{brackets}){quantifier}"
    body = rf"(?:{plain}|[$^|]|\\[bB])*"
    for _ in range(2):
        group = rf"\((?:\?:)?{body}\){quantifier}|\(\?<?[=!]{body}\)"
        body = rf"(?:{plain}|[$^|]|\\[bB]|{group})*"
    return body


_POINTER = "(?:/(?:[^~/]|~[01])*)*"


class _Format(NamedTuple):
    """pattern: makes the pattern that the whole string matches. most: characters of the longest string, or None."""

    pattern: Callable[[], str]
    most: int | None = None


_WIDE_LDH = r"[A-Za-z0-9\u00A1-\u{10FFFF}]"
_LOOSE_LABEL = rf"{_WIDE_LDH}(?:[A-Za-z0-9\u00A1-\u{{10FFFF}}-]{{0,61}}{_WIDE_LDH})?"

FORMATS: dict[str, _Format] = {
    "date": _Format(_date),
    "time": _Format(_time),
    "date-time": _Format(lambda: f"{_date()}[Tt]{_time()}"),
    "duration": _Format(_duration),  # RFC 3339, appendix A
    "email": _Format(lambda: _email("", _names(_LABEL))),
    "idn-email": _Format(lambda: _email(r"\u0080-\u{10FFFF}", _names(_LOOSE_LABEL))),
    "hostname": _Format(lambda: _names(f"(?!..--){_LABEL}"), 253),
    "idn-hostname": _Format(_idn_hostname, 63),
    "ipv4": _Format(lambda: _IPV4),
    "ipv6": _Format(_ipv6),  # RFC 4291, section 2.2
    "uri": _Format(lambda: _uri(False, False)),  # RFC 3986
    "uri-reference": _Format(lambda: _uri(True, False)),
    "iri": _Format(lambda: _uri(False, True)),  # RFC 3987
    "iri-reference": _Format(lambda: _uri(True, True)),
    "uuid": _Format(lambda: f"{_HEX}{{8}}(?:-{_HEX}{{4}}){{3}}-{_HEX}{{12}}"),  # RFC 4122
    "uri-template": _Format(_uri_template),  # RFC 6570, with erratum 6937
    "json-pointer": _Format(lambda: _POINTER),  # RFC 6901
    "relative-json-pointer": _Format(lambda: f"(?:0|[1-9][0-9]*)(?:#|{_POINTER})"),
    "regex": _Format(_regex),
}
_SINCE = {"duration": 2019, "uuid": 2019}
"""Drafts from which a format is known, where that is later than draft 3 to 7; earlier it is an annotation."""
_LIMITS = Limits(max_states=200_000)


@lru_cache(maxsize=64)
def _unbounded(name: str) -> DFA:
    node = parse(FORMATS[name].pattern(), dialect="ecma", limits=_LIMITS)
    return compile_node(node, limits=_LIMITS, name=f"format:{name}")


def format_string(name: str, draft: str | None = None) -> tuple[DFA, int, int | None] | None:
    """(dfa, least, most): the format is the language of dfa among strings of least to most characters.

    None where the format is unknown: it is then an annotation. draft: "draft7", "draft2020-12" or the address of a
    meta-schema; None is the latest. A bound other than (0, None) is given for host names only; it needs no counting in
    states, as with an upper bound alone a prefix is viable while the least rest fits.
    """
    if name not in FORMATS or (name in _SINCE and draft is not None and "20" not in draft):
        return None
    return _unbounded(name), 0, FORMATS[name].most


@lru_cache(maxsize=64)
def _counted(name: str) -> DFA:
    dfa, least, most = _unbounded(name), 0, FORMATS[name].most
    return dfa if most is None else replace(with_length(dfa, least, most, _LIMITS), name=dfa.name)


def format_language(name: str, draft: str | None = None) -> DFA | None:
    """As format_string, with the bounds counted in the states, which is slow and large for host names."""
    found = format_string(name, draft)
    return None if found is None else _counted(name)
