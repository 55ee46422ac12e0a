"""What a session tells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["EventKind", "SessionEvent"]

EventKind = Literal["warning", "engaged", "released", "call", "unknown_tool", "disabled", "failed"]


@dataclass(frozen=True)
class SessionEvent:
    """Something that happened.

    kind: "warning"   something could not be done as asked; reason says what
          "engaged"   the constraint begins to restrict tokens;  "released"  it stops doing so
          "call"      the reply calls a tool, instead of the answer
          "unknown_tool"  the reply calls a tool that no list declares, which `names="any"` lets it; reason has the name
          "disabled"  the constraint failed and the sequence goes on without it; reason says at what and why
          "failed"    the constraint failed, and the sequence may only end
    position: steps taken until then.
    """

    kind: EventKind
    position: int
    reason: str = ""
