"""Free text in which something leads over to a tag: strings that trigger, or control tokens."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from .._errors import SchemaError
from .expressions import EMPTY, Expr, choice, repetition, sequence
from .free_text import FreeText

__all__ = ["Plan", "Tag", "dispatched", "in_turns"]


@dataclass(frozen=True)
class Tag:
    """begin: a string, or the token `token`. rest: content and end."""

    begin: str | Expr
    rest: Expr
    token: str | int | None = None


@dataclass(frozen=True)
class Plan:
    """loop: free text and tags go on after a tag. must: a tag comes first."""

    loop: bool
    must: bool = False


def in_turns(plan: Plan, call: Expr, first: Expr, tail: Expr, end: Expr) -> Expr:
    """Calls, which free text goes before, and `tail` after the last where they go on, else `end`.

    first: a call without text before it. tail: free text, and the end.
    """
    if not plan.loop:
        return sequence([first, end]) if plan.must else choice([tail, sequence([call, end])])
    more = sequence([repetition(call, 0, None), tail])
    return sequence([first, more]) if plan.must else more


def dispatched(
    text: FreeText,
    tags: Sequence[Tag],
    at: str,
    triggers: Collection[str],
    excludes: Collection[str],
    ends: Collection[str],
    close: Sequence[str],
    plan: Plan,
) -> Expr:
    """Free text, in which the first of `triggers` leads over to the tags that begin with it.

    at: pointer to the tags. ends: what the text must not contain since it ends the tag around. close: one of these
    follows in the end, () for nothing.
    """
    if not triggers:
        raise SchemaError(at.rpartition("/")[0], "triggers", "a trigger is needed")
    avoided = {*triggers, *ends}
    groups: dict[str, list[Tag]] = {}
    for i, tag in enumerate(tags):
        if not isinstance(tag.begin, str):
            raise SchemaError(f"{at}/{i}", "begin", "is a string where triggers are strings")
        matching = [trigger for trigger in triggers if tag.begin.startswith(trigger)]
        if len(matching) != 1:
            which = "no trigger" if not matching else f"the triggers {', '.join(map(repr, matching))}"
            raise SchemaError(f"{at}/{i}", "begin", f"{tag.begin!r} begins with {which}; it must be exactly one")
        groups.setdefault(matching[0], []).append(tag)
    calls: list[Expr] = []
    first: list[Expr] = []
    for trigger, group in groups.items():
        bodies = []
        for tag in group:
            assert isinstance(tag.begin, str)
            first.append(sequence([text.marked(tag.begin), tag.rest]))
            bodies.append(sequence([text.marked(tag.begin[len(trigger) :]), tag.rest]))
            by_token = text.until_token(tag.begin, {*avoided, *excludes}, len(trigger))
            calls.append(sequence([by_token, tag.rest]))
        found = text.until([trigger], avoided - {trigger}, excludes, cut=0)
        calls.append(sequence([found, choice(bodies)]))
    if close:
        tail = text.until(close, triggers, excludes)
        end = choice(text.marked(string) for string in close)
    else:
        tail, end = text.without({*avoided, *excludes}), EMPTY
    return in_turns(plan, choice(calls), choice(first), tail, end)
