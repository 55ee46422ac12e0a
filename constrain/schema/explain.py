"""The normal form of a schema, for reading: what is left of it when all its keywords are worked into one another.

Each entry is one goal, that is, a combination of subschemas about one value, under a name made of their JSON pointers.
Entries refer to others by name, so recursion is visible; they are computed breadth first from the root, as far as a
depth, and each only one level deep, as in a compilation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from .._digits import spelled_json
from .._errors import LimitError, SchemaError
from .._limits import Limits, timed
from .compile import normalised
from .conditions import Condition
from .forms import FALSE, NULL, TRUE, Contains, Form, Goal, Items, Kind, Members, Rule
from .normal import Normaliser
from .numbers import Numbers
from .options import Options
from .signals import InProgress, Refusal
from .strings import Strings

__all__ = ["Entry", "explain_schema"]

_MOST = 200
"""Entries that are computed; what lies beyond is named only."""
_LONG = 12
"""Words, values and names that are listed; the rest is counted."""
_REPEATS = {None: "", True: " without repeats", False: " with a repeat"}
_BITS = ((NULL, "null"), (FALSE, "false"), (TRUE, "true"))


@dataclass
class Entry:
    """name: of the goal. empty: whether nothing satisfies it. problem: why there is no form, or none to run.

    The others are JSON values: constants among null, false and true; strings, numbers, objects and arrays as lists of
    alternatives (see `_string_parts`, `_number_parts`, `_object_parts` and `_array_parts` for their keys).
    """

    name: str
    depth: int
    empty: bool = False
    problem: str | None = None
    constants: list[str] = field(default_factory=list)
    strings: list[dict[str, Any]] = field(default_factory=list)
    numbers: list[dict[str, Any]] = field(default_factory=list)
    objects: list[dict[str, Any]] = field(default_factory=list)
    arrays: list[dict[str, Any]] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        """The form in words, one alternative a line; members and items on lines of their own, indented."""
        if self.problem is not None:
            yield f"cannot be worked out: {self.problem}"
        if self.empty:
            yield "nothing satisfies it"
            return
        if self.constants:
            yield ", ".join(self.constants)
        yield from (f"string {_words(part)}" for part in self.strings)
        yield from (f"number {_words(part)}" for part in self.numbers)
        for part in self.objects:
            yield f"object {_bounds(part, 'members')}".rstrip()
            yield from (f"  {line}" for line in _member_lines(part))
        for part in self.arrays:
            yield f"array {_bounds(part, 'items')}".rstrip() + _REPEATS[part.get("unique")]
            yield from (f"  {line}" for line in _item_lines(part))


def explain_schema(
    schema: Any,
    *,
    depth: int = 6,
    draft: str | int | None = None,
    registry: Any = None,
    limits: Limits | None = None,
    **options: Any,
) -> list[Entry]:
    """The normal forms of a schema and of what it reaches within `depth` steps. Options as for `compile_schema`.

    Raises SchemaError where the schema is malformed, and LimitError.
    """
    limits = limits or Limits()
    with timed(limits):
        return _explained(*normalised(schema, Options(**options), draft, registry, limits), depth)


def _explained(normaliser: Normaliser, root: Goal, depth: int) -> list[Entry]:
    namer = _Namer()
    entries: list[Entry] = []
    queue, seen = [(root, 0)], {root}
    for goal, level in queue:  # grows while it is read
        if level > depth or len(entries) >= _MOST:
            break
        entry = Entry("/" if goal.kind in (Kind.ALL, Kind.NONE) else namer.name(goal), level)
        entries.append(entry)
        for below in _describe(normaliser, goal, entry, namer):
            if below not in seen and below.kind not in (Kind.ALL, Kind.NONE, Kind.CONST):
                seen.add(below)
                queue.append((below, level + 1))
    return entries


class _Namer:
    """Names of goals; goals that look alike are numbered."""

    def __init__(self) -> None:
        self.names: dict[Goal, str] = {}
        self.taken: dict[str, int] = {}

    def name(self, goal: Goal) -> str:
        known = self.names.get(goal)
        if known is None:
            known = self._worded(goal)
            self.taken[known] = self.taken.get(known, 0) + 1
            if self.taken[known] > 1:
                known = f"{known} [{self.taken[known]}]"
            self.names[goal] = known
        return known

    def _worded(self, goal: Goal) -> str:
        if goal.kind == Kind.ALL:
            return "anything"
        if goal.kind == Kind.NONE:
            return "nothing"
        if goal.kind == Kind.CONST:
            return _shown(goal.parts)
        if goal.kind == Kind.AT:
            return goal.parts.pointer or "/"
        if goal.kind == Kind.NOT:
            return f"not {self._inner(goal.parts)}"
        return f" {goal.kind} ".join(map(self._inner, goal.parts))

    def _inner(self, goal: Goal) -> str:
        name = self.name(goal)
        return f"({name})" if goal.kind in (Kind.AND, Kind.OR) else name


def _describe(normaliser: Normaliser, goal: Goal, entry: Entry, namer: _Namer) -> list[Goal]:
    """Fill the entry; the goals that it refers to."""
    below: list[Goal] = []

    def refer(part: Goal) -> str:
        below.append(part)
        return namer.name(part)

    try:
        _fill(normaliser, normaliser.form(goal), entry, refer)
        entry.empty = not normaliser.emptiness.inhabited(goal)
    except (SchemaError, LimitError, Refusal) as error:
        entry.problem = str(error)
    except InProgress:
        entry.problem = "refers to itself without any structure in between"
    return below


def _fill(normaliser: Normaliser, form: Form, entry: Entry, refer: Callable[[Goal], str]) -> None:
    entry.constants = [name for bit, name in _BITS if form.bits & bit]
    if not normaliser.lexicon.is_empty(form.strings):
        entry.strings = list(_string_parts(form.strings))
    if not normaliser.numerals.is_empty(form.numbers):
        entry.numbers = list(_number_parts(form.numbers))
    entry.objects = [_object_parts(normaliser.closed(shape), refer) for shape in form.objects]
    entry.arrays = [_array_parts(shape, refer) for shape in form.arrays]


def _string_parts(strings: Strings) -> Iterator[dict[str, Any]]:
    """words; or pattern, not pattern, format, not format (lists), min and max characters, but not (words)."""
    if strings.words:
        yield {"words": sorted(strings.words)}
    for clause in strings.clauses:
        part: dict[str, Any] = {}
        for kind, text, positive in clause.atoms:
            part.setdefault(kind if positive else f"not {kind}", []).append(text)
        if clause.min:
            part["min"] = clause.min
        if clause.max is not None:
            part["max"] = clause.max
        if clause.excluded:
            part["but not"] = sorted(clause.excluded)
        yield part


def _number_parts(numbers: Numbers) -> Iterator[dict[str, Any]]:
    """values; or integer (true, false), bounds, multiples of, not multiples of, but not (values)."""
    if numbers.values:
        yield {"values": sorted(numbers.values)}
    for clause in numbers.clauses:
        part: dict[str, Any] = {}
        if clause.kind is not None:
            part["integer"] = clause.kind
        if clause.low is not None:
            part[">" if clause.low[1] else ">="] = clause.low[0]
        if clause.high is not None:
            part["<" if clause.high[1] else "<="] = clause.high[0]
        for name, found in (("multiple of", clause.multiples), ("not multiple of", clause.others)):
            if found:
                part[name] = sorted(found)
        if clause.excluded:
            part["but not"] = sorted(clause.excluded)
        yield part


def _object_parts(members: Members, refer: Callable[[Goal], str]) -> dict[str, Any]:
    """members: goal per declared key; required: keys; others: per schema that has a say, its patterns and what holds
    for the rest; keys: what each key must be; where: conditions, each such a part or {"not", "and", "or", "one": such
    parts}; min, max: number of members.
    """
    part: dict[str, Any] = {}
    if members.declared:
        part["members"] = {key: refer(goal) for key, goal in members.declared.items()}
    if members.required:
        part["required"] = list(members.required)
    part |= _rules(members.rules, members.names, refer)
    if members.where:
        part["where"] = [_condition(condition, refer) for condition in members.where]
    return part | _limits(members.low, members.high)


def _condition(condition: Condition, refer: Callable[[Goal], str]) -> dict[str, Any]:
    """{kind: parts}, see `Condition`."""
    if condition.kind == "is":
        return _object_parts(condition.parts[0], refer)
    return {condition.kind: [_condition(part, refer) for part in condition.parts]}


def _rules(rules: tuple[Rule, ...], names: tuple[Goal, ...], refer: Callable[[Goal], str]) -> dict[str, Any]:
    part: dict[str, Any] = {}
    if rules:
        part["others"] = [
            {
                **({"patterns": {p: refer(goal) for p, goal in rule.patterns}} if rule.patterns else {}),
                "otherwise": refer(rule.otherwise),
            }
            for rule in rules
        ]
    if names:
        part["keys"] = [refer(goal) for goal in names]
    return part


def _array_parts(items: Items, refer: Callable[[Goal], str]) -> dict[str, Any]:
    """prefix: goals of the first items; rest: goal of the others; unique: whether items
    must differ, or some must be equal; contains: counted goals; min, max: items."""
    part: dict[str, Any] = {}
    if items.prefix:
        part["prefix"] = [refer(goal) for goal in items.prefix]
    part["rest"] = refer(items.rest)
    if items.unique:
        part["unique"] = True
    if items.repeated:
        part["unique"] = False
    if items.contains:
        part["contains"] = [_counted(contains, refer) for contains in items.contains]
    return part | _limits(items.low, items.high)


def _counted(contains: Contains, refer: Callable[[Goal], str]) -> dict[str, Any]:
    start = {"from": contains.start} if contains.start else {}
    return {"goal": refer(contains.goal), **start, **_limits(contains.low, contains.high)}


def _limits(low: int, high: int | None) -> dict[str, int]:
    return ({"min": low} if low else {}) | ({"max": high} if high is not None else {})


# in words


def _words(part: dict[str, Any]) -> str:
    """A string or number alternative."""
    found: list[str] = []
    for key, value in part.items():
        if key in ("words", "values"):
            found.append(_listed(value))
        elif key in ("pattern", "not pattern", "format", "not format"):
            found += [f"{key} {text if 'format' in key else _shown(text)}" for text in value]
        elif key == "integer":
            found.append("integer" if value else "not an integer")
        elif key in ("min", "max"):
            continue
        elif isinstance(value, list):
            found.append(f"{key} {_listed(value)}")
        else:
            found.append(f"{key} {value if isinstance(value, str) else _shown(value)}")
    bounds = _bounds(part, "characters")
    return ", ".join([*found, bounds] if bounds else found) or "any"


def _bounds(part: dict[str, Any], what: str) -> str:
    low, high = part.get("min", 0), part.get("max")
    least, most = spelled_json(low), spelled_json(high)
    if high is None:
        return f"of at least {least} {what}" if low else ""
    if low == high:
        return f"of {least} {what}"
    return f"of {least} to {most} {what}" if low else f"of at most {most} {what}"


def _member_lines(part: dict[str, Any]) -> Iterator[str]:
    required = set(part.get("required", ()))
    for key, name in part.get("members", {}).items():
        yield f"{_shown(key)}: {name}{' (required)' if key in required else ''}"
    for key in required - part.get("members", {}).keys():
        yield f"{_shown(key)}: as others (required)"
    yield from _rule_lines(part)
    for condition in part.get("where", ()):
        yield from _condition_lines(condition)


def _condition_lines(part: dict[str, Any]) -> Iterator[str]:
    kind = next((kind for kind in _CONDITIONS if kind in part), None)
    if kind is not None:
        yield _CONDITIONS[kind]
        for below in part[kind]:
            yield from (f"  {line}" for line in _condition_lines(below))
        return
    yield f"an object {_bounds(part, 'members')}".rstrip()
    yield from (f"  {line}" for line in _member_lines(part))


_CONDITIONS = {"not": "not", "and": "all of", "or": "some of", "one": "exactly one of"}


def _rule_lines(part: dict[str, Any]) -> Iterator[str]:
    for rule in part.get("others", ()):
        patterns = rule.get("patterns", {}).items()
        yield from (f"keys matching {_shown(pattern)}: {name}" for pattern, name in patterns)
        yield f"other keys: {rule['otherwise']}"
    yield from (f"every key: {name}" for name in part.get("keys", ()))


def _item_lines(part: dict[str, Any]) -> Iterator[str]:
    prefix = part.get("prefix", ())
    yield from (f"item {i}: {name}" for i, name in enumerate(prefix))
    if part["rest"] != "anything" or prefix:
        yield f"{'other' if prefix else 'all'} items: {part['rest']}"
    for counted in part.get("contains", ()):
        bounds = _bounds(counted, "items").removeprefix("of ") or "any number of items"
        start = f" from item {counted['from']} on" if "from" in counted else ""
        yield f"{bounds}{start} satisfy {counted['goal']}"


def _listed(values: list[Any]) -> str:
    shown = [_shown(value) for value in values[:_LONG]]
    more = f" and {len(values) - _LONG} others" if len(values) > _LONG else ""
    return ", ".join(shown) + more


def _shown(value: Any) -> str:
    if isinstance(value, Decimal):
        return str(value)
    return spelled_json(value)
