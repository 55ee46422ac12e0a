"""A Lark grammar as the `lark` package reads it, and its errors with the place in the source.

Nothing is imported but Lark's own library: a grammar that comes with a request must not read files.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from functools import cached_property
from re import MULTILINE, Pattern
from re import compile as compile_re
from typing import Any, NamedTuple

from .._errors import GrammarError, LimitError
from .._limits import Limits
from .lark_extensions import Extension, take_out

__all__ = ["LarkSource"]

_LIBRARY = ("common.lark", "lark.lark", "python.lark", "unicode.lark")
_BETTER = r"""
%override ESCAPED_STRING: /"([^"\\\n]|\\[^\n])*"/
%override C_COMMENT: /\/\*([^*]|\*+[^*\/])*\*+\//
"""
"""Terminals of Lark's library that end at the first place they can, without the lazy quantifier that says so there."""
_BYTES_A_SECOND = 100_000
"""Of grammars, that `lark` reads."""
_USE = compile_re(r"(?<![\w<])(\w+)(?!\w)(?![ \t]*[.:])")
_DEFINITION = compile_re(r"^[ \t]*(?:%(?:override|extend)[ \t]+)?[!?]*(\w+)[ \t]*[.:{]", MULTILINE)
_NAMED = compile_re(r"'(\w+)'|: (\w+)\)?$|\((\w+)\)$")


class Definition(NamedTuple):
    """params: of a template. tree: None where it is only declared. at: position in the source; None if imported."""

    name: str
    params: tuple[str, ...]
    tree: Any
    priority: int
    at: int | None


class LarkSource:
    """rules, terminals, ignored: what `lark` finds in `text`; extensions: by the names of the rules that stand for
    them.

    Raises GrammarError, LimitError; ImportError without the package.
    """

    def __init__(self, text: str, limits: Limits) -> None:
        self.text, self.limits = text, limits
        self._extended = take_out(text)
        self.extensions: Mapping[str, Extension] = self._extended.extensions
        grammar = self._load()
        self.terminals = [
            Definition(str(name), (), tree, int(priority or 0), self._defined_at(name))
            for name, (tree, priority) in grammar.term_defs
        ]
        self.rules = [
            Definition(str(name), tuple(params), tree, int((options and options.priority) or 0), self._defined_at(name))
            for name, params, tree, options in grammar.rule_defs
        ]
        self.ignored: list[str] = list(grammar.ignore)

    def _load(self) -> Any:
        try:
            from lark.exceptions import LarkError, UnexpectedInput
            from lark.load_grammar import GrammarBuilder
        except ImportError as error:
            raise ImportError(
                f"Lark grammars need the package lark: pip install 'constrain-decoding[lark]' ({error})"
            ) from error
        if len(self.text) > _BYTES_A_SECOND * self.limits.max_seconds:  # it asks no clock
            raise LimitError("max_seconds", self.limits.max_seconds, f"reading of {len(self.text)} characters")
        builder = GrammarBuilder(import_paths=[_library])
        try:
            builder.load_grammar(self._extended.text, "<grammar>")
            return builder.build()
        except GrammarError:
            raise
        except RecursionError:
            raise LimitError("max_depth", self.limits.max_depth, "nesting of a grammar") from None
        except (LarkError, AssertionError, OSError, ValueError, KeyError, TypeError) as error:
            cause = error if isinstance(error, UnexpectedInput) else error.__context__
            if isinstance(cause, UnexpectedInput):
                at = self._extended.position(cause.pos_in_stream or 0)
                reason = _reason(error).split(", at line")[0].split(" at line")[0]
                if reason.startswith("Unexpected token"):
                    reason = f"unexpected {str(getattr(cause, 'token', '')) or 'end'!r}"
                raise self.fail(reason, at) from None
            reason = _reason(error)
            named = _NAMED.search(reason)
            raise self.fail(reason, self.used_at(next(filter(None, named.groups()))) if named else None) from None

    def fail(self, reason: str, at: int | None = None) -> GrammarError:
        return GrammarError(reason, self.text, at)

    def position(self, token: Any) -> int | None:
        """Where a token that `lark` read lies in the source; None for one of an imported grammar."""
        at = getattr(token, "start_pos", None)
        if at is None or not self._extended.text.startswith(str(token), at):
            return None
        return self._extended.position(at)

    def used_at(self, name: str) -> int | None:
        """Where a name is used, else where it is defined."""
        return self._uses.get(name, self._defined_at(name))

    def is_used(self, name: str) -> bool:
        """Whether a name stands anywhere but where it is defined."""
        return name in self._uses

    def _defined_at(self, name: str) -> int | None:
        return self.extensions[name].at if name in self.extensions else self._definitions.get(name)

    @cached_property
    def _uses(self) -> dict[str, int]:
        """The first place of each name where it is not defined."""
        return _first_places(_USE, self.text)

    @cached_property
    def _definitions(self) -> dict[str, int]:
        return _first_places(_DEFINITION, self.text)


def _first_places(pattern: Pattern[str], text: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for match in pattern.finditer(text):
        found.setdefault(match[1], match.start(1))
    return found


def _library(base_path: Any, grammar_path: str) -> tuple[str, str]:
    """Lark's own grammars, for its `import_paths`."""
    if grammar_path not in _LIBRARY or base_path is not None:
        raise GrammarError(
            f"%import of {grammar_path!r}: only Lark's own library can be imported ({', '.join(_LIBRARY)})"
        )
    data = pkgutil.get_data("lark", f"grammars/{grammar_path}")
    assert data is not None
    return grammar_path, data.decode() + (_BETTER if grammar_path == "common.lark" else "")


def _reason(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(": ")
