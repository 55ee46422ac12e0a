"""Request bodies to constraints, and the state of one reply. Pure functions: a server maps them to HTTP.

    constraint = constrain.requests.chat(body, vocab, wire="hermes")   # once per request; equal ones are compiled once
    session = constraint.session(prompt=ids)                           # once per sequence; a Matcher for all of it

surfaces     chat, responses, messages, completions: the interfaces
sources      the fields that say what an answer must be
fields       checked reading of fields
compile      from content to grammars, through the cache
cache        CompileCache
constraint   Constraint: an answer, calls, or either, after reasoning
session      Session: the state of one reply
alternatives the matchers of what it may still be
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .cache import CompileCache
from .constraint import Constraint
from .surfaces import chat, completions, messages, responses

if TYPE_CHECKING:
    from .session import Session, SessionEvent

__all__ = [
    "CompileCache",
    "Constraint",
    "Session",
    "SessionEvent",
    "chat",
    "completions",
    "messages",
    "responses",
]


def __getattr__(name: str) -> object:
    if name in ("Session", "SessionEvent"):  # their module loads the kernels
        from . import session

        return getattr(session, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
