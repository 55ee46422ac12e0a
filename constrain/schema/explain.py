"""Why a schema has no value: the deepest subschema to blame, and what clashes there."""

from __future__ import annotations

from .forms import Goal
from .goals import fields
from .normal import Normaliser

__all__ = ["contradiction"]


def contradiction(normaliser: Normaliser, goal: Goal) -> tuple[str, str]:
    """(pointer, reason) for an uninhabited goal: follow required parts that have no value as far as there is only
    one to follow.
    """
    inhabited = normaliser.emptiness.inhabited
    seen: set[int] = set()
    while goal.uid not in seen:
        seen.add(goal.uid)
        form = normaliser.settled(goal)
        if form.bits or len(form.objects) + len(form.arrays) != 1:
            break
        culprit: Goal | None = None
        if form.objects:
            shape = normaliser.closed(form.objects[0])
            culprit = next((g for k in shape.required if not inhabited(g := normaliser.algebra.member(shape, k))), None)
        else:
            items = form.arrays[0]
            culprit = next(
                (g for i in range(min(items.low, len(items.prefix) + 1)) if not inhabited(g := items.item(i))), None
            )
        if culprit is None or next(culprit.locations(), None) is None:
            break
        goal = culprit
    places = list(goal.locations())
    if not places:
        return "", "the schema is false"
    keywords = ", ".join(
        sorted({keyword for place in places for keyword in fields(place) if isinstance(place.schema, dict)})
    )
    if len(places) == 1:
        return places[0].pointer, f"these keywords contradict each other: {keywords}"
    others = ", ".join(sorted({place.pointer or "/" for place in places[1:]}))
    return places[0].pointer, f"contradicts what also applies here ({others}): {keywords}"
