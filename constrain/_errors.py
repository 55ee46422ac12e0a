"""The exception tree, and how each error says where, why and what to do.

ConstrainError
├── SchemaError         a JSON Schema (or tool) that is malformed or not enforceable: pointer, keyword, reason
├── GrammarError        a pattern or grammar text that cannot be read: line, column, caret   (also ValueError)
├── UnsatisfiableError  a constraint that no output satisfies: pointer, reason
├── LimitError          a limit was reached: limit, value, how to raise it
├── ArgumentError       a function was given what it cannot take   (also TypeError, ValueError, IndexError)
├── VocabularyError     a tokenizer or vocabulary that cannot be used
└── RequestError        a request body that cannot become a constraint: status, field
"""

from __future__ import annotations

__all__ = [
    "ArgumentError",
    "ConstrainError",
    "GrammarError",
    "LimitError",
    "RequestError",
    "SchemaError",
    "UnsatisfiableError",
    "VocabularyError",
]


class ConstrainError(Exception):
    """Root of every error that `constrain` raises on purpose."""


class ArgumentError(ConstrainError, TypeError, ValueError, IndexError):
    """A function was given an argument of a type or value that it cannot take; the message says what it takes.

    Whoever is used to Python's own errors finds it under each of them.
    """


class SchemaError(ConstrainError, ValueError):
    """A schema is malformed, or asks for something that cannot be enforced.

    pointer: JSON pointer (RFC 6901) into the schema document, "" for its root.
    keyword: the keyword at fault, or None when the schema itself is.
    reason:  one clause, without the pointer.
    """

    def __init__(self, pointer: str, keyword: str | None, reason: str) -> None:
        self.pointer, self.keyword, self.reason = pointer, keyword, reason
        where = f"at {pointer or '/'}" + (f", keyword {keyword!r}" if keyword else "")
        super().__init__(f"{where}: {reason}")

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.pointer, self.keyword, self.reason)


class GrammarError(ConstrainError, ValueError):
    """A pattern or grammar text cannot be read.

    text: the source; position: offset of the fault in it (code points); line and column count from 1.
    """

    def __init__(self, reason: str, text: str = "", position: int | None = None) -> None:
        self.reason, self.text, self.position = reason, text, position
        self.line = self.column = None
        message = reason
        if position is not None:
            before = text[:position]
            self.line = before.count("\n") + 1
            self.column = position - (before.rfind("\n") + 1) + 1
            message = f"line {self.line}, column {self.column}: {reason}\n{_excerpt(text, position)}"
        super().__init__(message)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.reason, self.text, self.position)


class UnsatisfiableError(ConstrainError, ValueError):
    """No output at all satisfies the constraint. pointer and reason as in SchemaError."""

    def __init__(self, pointer: str, reason: str) -> None:
        self.pointer, self.reason = pointer, reason
        super().__init__(f"at {pointer or '/'}: nothing can satisfy this: {reason}")

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.pointer, self.reason)


class LimitError(ConstrainError):
    """A limit was reached. limit: its field name in Limits; value: its current value."""

    def __init__(self, limit: str, value: float, what: str = "") -> None:
        self.limit, self.value, self.what = limit, value, what
        about = f" ({what})" if what else ""
        super().__init__(f"limit {limit}={value} reached{about}; raise it with limits=constrain.Limits({limit}=...)")

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.limit, self.value, self.what)


class VocabularyError(ConstrainError, ValueError):
    """A tokenizer cannot be read, or a vocabulary cannot express the constraint."""


class RequestError(ConstrainError, ValueError):
    """A request body cannot become a constraint. status: HTTP status; field: the field at fault."""

    def __init__(self, field: str, message: str, status: int = 400) -> None:
        self.field, self.message, self.status = field, message, status
        super().__init__(f"{field}: {message}")

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.field, self.message, self.status)


def _excerpt(text: str, position: int, width: int = 72) -> str:
    """The line of `text` around `position`, with a caret below; long lines are cut on both sides."""
    start = text.rfind("\n", 0, position) + 1
    end = text.find("\n", position)
    line = text[start : len(text) if end < 0 else end]
    column = position - start
    left = max(0, column - width // 2)
    shown = line[left : left + width].replace("\t", " ")
    return f"    {'…' if left else ''}{shown}\n    {' ' * (column - left + (1 if left else 0))}^"
