"""Whether infinitely many values can surely still follow, by quick rules: the same as of the kernels in endless.py."""

from __future__ import annotations

from functools import lru_cache

from ..languages.number_values import ENDLESS, ENDLESS_UNLESS_ZERO, is_zero_so_far
from ..languages.operations import ANY_STRING
from .diagrams import completable
from .grammar import ArrayShape, Frame, Layout, Lexeme, ObjectShape, Skin
from .oracle import _allowed_keys
from .threads import Thread

__all__ = ["is_endless"]

_SOME_CHARS = 4
"""Free strings of so many more characters are more than any array has items."""


def is_endless(thread: Thread) -> bool:
    """Whether infinitely many values can surely still follow in what a thread is in."""
    node = thread.node
    if isinstance(node, Lexeme):
        if node.dfa is None or node.values:
            return False
        if node.max_chars is not None:
            chars = sum(byte & 0xC0 != 0x80 for byte in thread.text.content)
            return node.dfa is ANY_STRING and not thread.text.escape and node.max_chars - chars >= _SOME_CHARS
        state, numbers = node.dfa.run(thread.text.content), node.dfa.number_values if node.skin is Skin.RAW else None
        if state < 0 or numbers is None:
            return state >= 0 and int(node.dfa.char_bounds[1][state]) < 0
        endless = numbers.endless[state]
        return endless == ENDLESS or (endless == ENDLESS_UNLESS_ZERO and not is_zero_so_far(thread.text.content))
    if not isinstance(node, Frame) or not (thread.layout_state.edges or thread.layout_state.calls):
        return False
    if node.shape is None:
        return _loops(node.layout)[thread.place.state]
    if isinstance(node.shape, ArrayShape):
        return node.shape.rest is not None and node.shape.max_items is None and not node.shape.compared
    if not isinstance(node.shape, ObjectShape):
        return False
    shape, members = thread.object
    if shape.extra is not None and shape.max_members is None and int(shape.extra.char_bounds[1][0]) < 0:
        labels = range(len(shape.extra_values))
        if shape.diagram is None or any(completable(shape, members, label=label) for label in labels):
            return True
    left = {k for k, endless in zip(shape.keys, shape.endless, strict=False) if endless}
    return bool(_allowed_keys(shape, members, left)) if left else False


@lru_cache(maxsize=256)
def _loops(layout: Layout) -> tuple[bool, ...]:
    """Per state of a layout without guards, whether so many calls as one likes can follow: items of an array."""
    states = layout.states
    follow = [{target for _, target in state.edges} | {call.returns for call in state.calls} for state in states]
    reach = [set(targets) for targets in follow]
    changed = True
    while changed:
        changed = False
        for targets in reach:
            size = len(targets)
            targets.update(*[reach[target] for target in targets])
            changed = changed or len(targets) > size
    looping = {q for q, state in enumerate(states) if any(q in reach[call.returns] for call in state.calls)}
    return tuple(not looping.isdisjoint(targets | {q}) for q, targets in enumerate(reach))
