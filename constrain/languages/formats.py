r"""The languages of the `format` keyword of JSON Schema.

Each is a pattern in the ECMA dialect, put together from the grammar of its standard, and compiled when first asked for.
Where a standard is not regular or needs a table of its own, the language is a regular part of it, so that what is
generated is valid, and the text here says what is left out:

    date-time, time   RFC 3339, with the calendar; a leap second only where it is 23:59:60 in UTC, and there only with
                      offsets of whole and half hours
    hostname          RFC 1123; from draft 7 on labels that have "--" in their third place stand for Punycode, whose
                      validity only decoding can tell: of these those of `a_labels`
    idn-hostname      host names as above, and those with letters beyond ASCII of `idn`
    regex             ECMA-262 with the u flag (see `expressions`)
    email, idn-email  RFC 5321 and 6531; local part of at most 64 characters, 33 where it has escapes
    others            as in the RFC named beside them, exactly
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from .._limits import Limits
from . import a_labels, idn
from .dfa import DFA
from .expressions import regular_expression
from .parser import parse
from .pattern import compile_node
from .stored import stored

__all__ = ["FORMATS", "MOST", "format_language", "format_parts", "keep_slow_formats"]

_LDH = "[A-Za-z0-9]"
_LABEL = f"{_LDH}(?:[A-Za-z0-9-]{{0,61}}{_LDH})?"
_PLAIN = f"(?!..--){_LABEL}"
_PLAIN_TWO_WAYS = f"(?![0-9]){_PLAIN}"
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


_POINTER = "(?:/(?:[^~/]|~[01])*)*"


_WIDE_LDH = r"[A-Za-z0-9\u00A1-\u{10FFFF}]"
_LOOSE_LABEL = rf"{_WIDE_LDH}(?:[A-Za-z0-9\u00A1-\u{{10FFFF}}-]{{0,61}}{_WIDE_LDH})?"
_LIMITS = Limits(max_states=200_000)


class _Part(NamedTuple):
    """A regular language. slow: its automaton is kept on disk."""

    build: Callable[[], str] | Callable[[], DFA]
    slow: bool = False


_PARTS: dict[str, _Part] = {
    "date": _Part(_date),
    "time": _Part(_time),
    "date-time": _Part(lambda: f"{_date()}[Tt]{_time()}", True),
    "duration": _Part(_duration),  # RFC 3339, appendix A
    "email": _Part(lambda: _email("", _names(_LABEL)), True),
    "idn-email": _Part(lambda: _email(r"\u0080-\u{10FFFF}", _names(_LOOSE_LABEL)), True),
    "hostname": _Part(lambda: a_labels.host_names(_PLAIN, _PLAIN_TWO_WAYS, _LIMITS, "format:hostname"), True),
    "hostname-1123": _Part(lambda: _names(_LABEL)),
    "idn-alphabetic": _Part(lambda: idn.alphabetic(_LIMITS.max_states, "format:idn-alphabetic")),
    "idn-unicode": _Part(idn.unicode_pattern, True),
    "ipv4": _Part(lambda: _IPV4),
    "ipv6": _Part(_ipv6),  # RFC 4291, section 2.2
    "uri": _Part(lambda: _uri(False, False)),  # RFC 3986
    "uri-reference": _Part(lambda: _uri(True, False), True),
    "iri": _Part(lambda: _uri(False, True), True),  # RFC 3987
    "iri-reference": _Part(lambda: _uri(True, True), True),
    "uuid": _Part(lambda: f"{_HEX}{{8}}(?:-{_HEX}{{4}}){{3}}-{_HEX}{{12}}"),  # RFC 4122
    "uri-template": _Part(_uri_template),  # RFC 6570, with erratum 6937
    "json-pointer": _Part(lambda: _POINTER),  # RFC 6901
    "relative-json-pointer": _Part(lambda: f"(?:0|[1-9][0-9]*)(?:#|{_POINTER})"),
    "regex": _Part(regular_expression, True),
}
MOST = {"hostname": 253, "hostname-1123": 253, "idn-alphabetic": 60, "idn-unicode": 14}
"""Characters of the longest string of a part, where the automaton itself has longer ones."""
_UNIONS = {"idn-hostname": ("hostname", "idn-alphabetic", "idn-unicode")}
FORMATS = frozenset({*_PARTS, *_UNIONS} - {"hostname-1123", "idn-alphabetic", "idn-unicode"})
"""The formats that are known."""
_SINCE = {"duration": 2019, "uuid": 2019}
"""Drafts from which a format is known, where that is later than draft 3 to 7; earlier it is an annotation."""


def format_parts(name: str, draft: int = 2020) -> tuple[str, ...] | None:
    """The parts whose union the format is, each as far as MOST allows.

    None where the format is unknown in the draft (4, 6, 7, 2019, 2020): it is then an annotation.
    """
    if name not in FORMATS or draft < _SINCE.get(name, 0):
        return None
    if name == "hostname" and draft < 7:
        return ("hostname-1123",)
    return _UNIONS.get(name, (name,))


@lru_cache(maxsize=64)
def format_language(part: str) -> DFA:
    """The automaton of a part, without the bound on characters."""
    build, slow = _PARTS[part]
    return stored(part, lambda: _compiled(part, build)) if slow else _compiled(part, build)


def keep_slow_formats() -> None:
    """Build the automata that are kept on disk, where they are not there yet: some 5 s, nearly all for `hostname`."""
    for part, (_, slow) in _PARTS.items():
        if slow:
            format_language(part)


def _compiled(part: str, build: Callable[[], str] | Callable[[], DFA]) -> DFA:
    built = build()
    if isinstance(built, DFA):
        return built
    return compile_node(parse(built, dialect="ecma", limits=_LIMITS), limits=_LIMITS, name=f"format:{part}")
