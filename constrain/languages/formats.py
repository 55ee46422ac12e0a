r"""The languages of the `format` keyword of JSON Schema.

Each is a pattern in the ECMA dialect, put together from the grammar of its standard, and compiled when first asked for.
Where a standard is not regular or needs a table of its own, the language is a regular part of it, so that what is
generated is valid, and the text here says what is left out:

    date-time, time   RFC 3339, with the calendar; a leap second only where it is 23:59:60 in UTC, and there only with
                      offsets of whole quarters of an hour
    hostname          RFC 1123; from draft 2019-09 without labels that have "--" in their third place, which stand for
                      Punycode whose validity only decoding can tell
    idn-hostname      RFC 5891-5893 without such labels; a label with right-to-left letters stands in a name without digits
                      first or Latin letters; the length of the encoded form is not known, so labels have at most 63
                      characters, of which those outside ASCII at most 55
    regex             ECMA-262 with groups at most three deep, no names or back-references, ranges within a-z, A-Z or 0-9
    email, idn-email  RFC 5321 and 6531; local part of at most 64 characters
    others            as in the RFC named beside them, exactly
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from .._limits import Limits
from .dfa import DFA
from .operations import with_length
from .pattern import compile_node
from .parser import parse

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
    leap = [f"23:59:60{fraction}[Zz]"]
    for local in range(14, 1440, 15):
        offset = (local + 1) % 1440
        ahead, behind = (f"{minutes // 60:02}:{minutes % 60:02}" for minutes in (offset, (1440 - offset) % 1440))
        leap.append(rf"{local // 60:02}:{local % 60:02}:60{fraction}(?:\+{ahead}|-{behind})")
    return f"(?:{usual}|{'|'.join(leap)})"


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
    quoted = rf'"(?:[ !#-\[\]-~{wide}]|\\[ -~])*"'
    tag = rf"[A-Za-z0-9\-]*{_LDH}:[!-Z^-~]+"
    general = rf"(?!IPv6:){tag}"
    literal = rf"\[(?:{_IPV4}|[Ii][Pp][Vv]6:{_ipv6()}|{general.replace('IPv6', '[Ii][Pp][Vv]6')})\]"
    return rf"(?=[^]{{1,64}}@[^@]*$)(?:{atom}(?:\.{atom})*|{quoted})@(?:{domain}|{literal})"


def _names(label: str, dot: str = r"\.") -> str:
    return f"{label}(?:{dot}{label})*"


_PLAIN_LABEL = f"(?!..--){_LABEL}"


# RFC 5892, section 2: PVALID, CONTEXTJ and CONTEXTO in terms of Unicode properties.
_LETTERS = r"\p{Ll}\p{Lu}\p{Lo}\p{Nd}\p{Lm}\p{Mn}\p{Mc}"
_UNSTABLE = r"\p{Changes_When_NFKC_Casefolded}\p{White_Space}\p{Default_Ignorable_Code_Point}"
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
    context = (
        r"(?<=l)\u00B7(?=l)|\u0375(?=\p{Script=Greek})|(?<=\p{Script=Hebrew})[\u05F3\u05F4]|[\u0660-\u0669\u06F0-\u06F9]"
        rf"|\u30FB|{joining}"
    )
    stop = r"\.\u3002\uFF0E\uFF61"
    kana = rf"(?=[^\u30FB{stop}]*(?:[{stop}]|$)|[^{stop}]*[\p{{Script=Hiragana}}\p{{Script=Katakana}}\p{{Script=Han}}])"
    digits = rf"(?![^{stop}]*[\u0660-\u0669][^{stop}]*[\u06F0-\u06F9]|[^{stop}]*[\u06F0-\u06F9][^{stop}]*[\u0660-\u0669])"
    return rf"(?!..--)(?![\p{{M}}-]){kana}{digits}(?:{valid}|{context}|-){{1,63}}(?<!-)"


def _idn_hostname() -> str:
    stop = r"[.\u3002\uFF0E\uFF61]"
    one_way = rf"(?![^]*[{_RIGHT}\p{{Bidi_Class=AN}}])"
    leftward = rf"(?=(?:[{_RIGHT}][^A-Za-z0-9]*(?:{stop}|$))+$)"
    few = rf"(?![^]*[^\x00-\x7F{stop[1:-1]}]{{56}})"
    return rf"(?:{one_way}|{leftward}){few}{_names(_wide_label(), stop)}"


def _regex() -> str:
    ranges = "|".join(
        f"{low}-[{low}-{last}]"
        for first, last in ("az", "AZ", "09")
        for low in map(chr, range(ord(first), ord(last) + 1))
    )
    escape = rf"\\(?:[dDwWsStnrvf^$\\.*+?()\[\]{{}}|/]|c[A-Za-z]|x{_HEX}{{2}}|u{_HEX}{{4}}|[pP]\{{(?:L[ulotm]?|N[dlo]?|P|S|Z)\}})"
    member = rf"(?:{escape}|\\[b\-]|{ranges}|[^\[\]\\\-^])"
    brackets = rf"\[\^?-?(?:{member})*-?\]".replace(r"(?:(?:", r"(?:(?:")
    pairs = "|".join(f"{low},[{low}-9]" for low in range(10))
    count = rf"\{{(?:[0-9]{{1,3}},?|{pairs}|[0-9],[1-9][0-9]{{1,2}})\}}"
    quantifier = rf"(?:(?:[*+?]|{count})\??)?"
    plain = rf"(?:[^\\^$.*+?()\[\]{{}}|]|\.|{escape}|{brackets}){quantifier}"
    body = rf"(?:{plain}|[$^|]|\\[bB])*"
    for _ in range(3):
        group = rf"\((?:\?:)?{body}\){quantifier}|\(\?<?[=!]{body}\)"
        body = rf"(?:{plain}|[$^|]|\\[bB]|{group})*"
    return body


_POINTER = "(?:/(?:[^~/]|~[01])*)*"


class _Format(NamedTuple):
    """pattern: makes the pattern that the whole string matches. most: characters of the longest string, or None."""

    pattern: Callable[[], str]
    most: int | None = None


FORMATS: dict[str, _Format] = {
    "date": _Format(_date),
    "time": _Format(_time),
    "date-time": _Format(lambda: f"{_date()}[Tt]{_time()}"),
    "duration": _Format(_duration),  # RFC 3339, appendix A
    "email": _Format(lambda: _email("", _names(_LABEL))),
    "idn-email": _Format(lambda: _email(r"\u0080-\u{10FFFF}", _names(r"[A-Za-z0-9\u00A1-\u{10FFFF}](?:[A-Za-z0-9\u00A1-\u{10FFFF}-]{0,61}[A-Za-z0-9\u00A1-\u{10FFFF}])?"))),
    "hostname": _Format(lambda: _names(_PLAIN_LABEL), 253),
    "hostname-draft7": _Format(lambda: _names(_LABEL), 253),
    "idn-hostname": _Format(_idn_hostname, 253),
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
_LIMITS = Limits(max_states=200_000)


@lru_cache(maxsize=64)
def _unbounded(key: str) -> DFA:
    name = "format:" + key.removesuffix("-draft7")
    return compile_node(parse(FORMATS[key].pattern(), dialect="ecma", limits=_LIMITS), limits=_LIMITS, name=name)


@lru_cache(maxsize=64)
def _bounded(key: str) -> DFA:
    most = FORMATS[key].most
    dfa = _unbounded(key)
    if most is None:
        return dfa
    exact = with_length(dfa, 0, most, _LIMITS)
    return DFA(exact.classes, exact.table, exact.labels, dfa.name)


def _key(name: str, draft: str | None) -> str | None:
    if name == "hostname" and draft is not None and any(mark in draft for mark in ("3", "4", "6", "7")):
        return "hostname-draft7" if "20" not in draft else "hostname"
    return name if name in FORMATS and "-draft" not in name else None


def format_language(name: str, draft: str | None = None) -> DFA | None:
    """The language of a format, or None where the format is unknown (it is then an annotation).

    draft: "draft7", "draft2020-12" and the like; None is the latest.
    """
    key = _key(name, draft)
    return None if key is None else _bounded(key)


def format_string(name: str, draft: str | None = None) -> tuple[DFA, int, int | None] | None:
    """(dfa, least, most) as compile_string_pattern: the same language with a bound on the length kept out of states."""
    key = _key(name, draft)
    return None if key is None else (_unbounded(key), 0, FORMATS[key].most)
