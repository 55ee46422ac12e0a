"""What the automaton and jsonschema say about one instance. Two opinions, because they come from different people."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from .._limits import Limits
from ..automata.compiled import judging
from ..automata.explain import explain
from ..automata.grammar import Node
from ..automata.recogniser import Recogniser
from ..schema.dialect import Draft, draft_named
from .sources import Source

__all__ = ["Second", "Verdict", "judge", "second_opinion"]

_SHOWN = 5
_WIDTH = 200


@dataclass(frozen=True)
class Second:
    """jsonschema's opinion. valid: None where it has none, for the first reason of `faults`.

    faults: (JSON pointer into the instance, message).
    """

    valid: bool | None
    faults: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Verdict:
    """position, line, column: of the first byte that cannot stand there. second: None when nobody was asked."""

    name: str
    kind: str  # "instance" or "text"
    accepted: bool
    position: int | None = None
    line: int | None = None
    column: int | None = None
    pointer: str | None = None
    expected: tuple[str, ...] = ()
    got: str | None = None
    reason: str | None = None
    second: Second | None = None

    @property
    def differs(self) -> bool:
        return self.second is not None and self.second.valid is not None and self.second.valid is not self.accepted

    @property
    def is_good(self) -> bool:
        return self.accepted and not self.differs


def judge(source: Source, root: Node, kind: str, second: Second | None = None) -> Verdict:
    """The automaton's verdict: on an instance with any JSON whitespace, on a text as it is. May raise LimitError."""
    data, start = source.trimmed if kind == "instance" else (source.data, 0)
    with judging(Limits(), len(data)):
        rejection = explain(Recogniser(root, any_space=kind == "instance"), data)
    if rejection is None:
        return Verdict(source.name, kind, True, second=second)
    position = start + rejection.position
    line, column = source.place(position)
    return Verdict(
        source.name,
        kind,
        False,
        position,
        line,
        column,
        rejection.pointer,
        rejection.expected,
        rejection.got,
        rejection.reason,
        second,
    )


class SecondOpinion:
    """jsonschema for one schema; without network, with whole decimals as integers."""

    def __init__(self, schema: Any, draft: str | None, assert_formats: bool) -> None:
        import jsonschema
        from jsonschema_specifications import REGISTRY

        named = {
            Draft.D4: jsonschema.Draft4Validator,
            Draft.D6: jsonschema.Draft6Validator,
            Draft.D7: jsonschema.Draft7Validator,
            Draft.D2019: jsonschema.Draft201909Validator,
            Draft.D2020: jsonschema.Draft202012Validator,
        }
        default = named[draft_named(draft) if draft is not None else Draft.D2020]
        declared = isinstance(schema, dict) and isinstance(schema.get("$schema"), str)
        plain = jsonschema.validators.validator_for(schema, default) if declared else default
        checker = plain.TYPE_CHECKER
        if plain is not jsonschema.Draft4Validator:  # since draft 6, 1.0 is an integer
            checker = checker.redefine("integer", _is_integer)
        self._schema, self._meta = schema, plain(plain.META_SCHEMA, registry=REGISTRY)
        formats = plain.FORMAT_CHECKER if assert_formats else None
        self._validator = jsonschema.validators.extend(plain, type_checker=checker)(
            schema, registry=REGISTRY, format_checker=formats
        )

    @property
    def schema_fault(self) -> tuple[str, str] | None:
        """Where and why the schema is not valid under its meta-schema."""
        return _first_fault(self._meta, self._schema)

    def on(self, value: Any) -> Second:
        try:
            faults = sorted(self._validator.iter_errors(value), key=lambda error: list(map(str, error.absolute_path)))
        except Exception as error:  # references it cannot resolve, arithmetic that overflows, nesting too deep
            return Second(None, (("", f"{type(error).__name__}: {_one_line(str(error))}"),))
        return Second(not faults, tuple((_pointer(e), _one_line(e.message)) for e in faults[:_SHOWN]))


def second_opinion(schema: Any, draft: str | None, assert_formats: bool) -> SecondOpinion | None:
    """None when jsonschema is not installed."""
    try:
        return SecondOpinion(schema, draft, assert_formats)
    except ImportError:
        return None


def _first_fault(validator: Any, schema: Any) -> tuple[str, str] | None:
    try:
        fault = next(iter(validator.iter_errors(schema)), None)
    except Exception as error:
        return "", f"{type(error).__name__}: {_one_line(str(error))}"
    return None if fault is None else (_pointer(fault), _one_line(fault.message))


def _is_integer(_: Any, value: Any) -> bool:
    if isinstance(value, Decimal):
        return value == value.to_integral_value()
    return isinstance(value, int) and not isinstance(value, bool)


def _pointer(error: Any) -> str:
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in error.absolute_path)


def _one_line(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"
