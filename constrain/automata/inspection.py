"""What the frames of a matcher say, for those who tell users what is being written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import layout as at

if TYPE_CHECKING:
    from .matcher import Matcher

__all__ = ["additional_key"]


def additional_key(matcher: Matcher) -> tuple[int, bytes] | None:
    """The additional key that the outermost object of the output was given last: a number that no other key of this
    output has, and its bytes. None where there is no object around what is written, or it has only declared keys.
    """
    arena, configs, program = matcher._arena, matcher._configs, matcher._heap
    start = int(arena[at.A_BEGIN]) * at.CW
    if arena[at.A_END] <= arena[at.A_BEGIN] or configs[start + at.NODE] == at.DONE:
        return None
    found = 0
    node, registers, parent = (int(configs[start + field]) for field in (at.NODE, at.REGS, at.PARENT))
    while True:
        if program[node] == at.K_FRAME and program[node + at.F_SHAPE_KIND] == at.SHAPE_OBJECT:
            found = registers
        while parent >= 0 and arena[parent + at.R_NODE] == at.FORK:
            parent = int(arena[parent + at.R_PARENT])
        if parent < 0:
            break
        node, registers = int(arena[parent + at.R_NODE]), int(arena[parent + at.R_REGS])
        parent = int(arena[parent + at.R_PARENT])
    key = int(arena[found + at.G_EXTRAS]) if found > 0 else 0
    if key == 0:
        return None
    size = int(arena[key + at.X_BYTES])
    words = arena[key + at.X_DATA : key + at.X_DATA + (size + 3) // 4]
    return int(arena[key + at.X_START]) + 1, words.tobytes()[:size]
