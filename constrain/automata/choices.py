"""Kernels on decision diagrams: which members of an object may still go together (grammar.Diagram).

The registers keep the option taken per level. One pass from the end gives, per node, the fewest members that must
follow; one from the root, the fewest on the way there: with both, every key and option is decided at once.

The tokens of one mask ask the same of many bytes that begin a value, so a matcher keeps the latest answers in a table:

    int64: where it is free, per slot where its record begins (0: none), then records: shape, room, current key, extra,
    the registers behind the fixed ones; the result, extra and the words of bits that narrow left
"""

from __future__ import annotations

from ._kernel import kernel
from .cells import allocate, bit
from .layout import (
    A_NARROWED,
    A_TOP,
    G_BITS,
    G_COUNT,
    G_EXTRA,
    G_KEY,
    G_MISSING,
    I_EDGE_LIST,
    I_EDGES,
    I_KEY,
    I_OPTIONS,
    I_SIZE,
    NARROWED_SLOTS,
    O_BY_RANK,
    O_DIAGRAM,
    O_KEYS,
    O_LABELS,
    O_MAX,
    O_RANK,
    O_REGISTERS,
    O_REQUIRED,
    O_VALUES,
    O_WORDS,
    REACH,
    V_ENDS,
    V_LAST,
    V_LEVEL_OF,
    V_LEVELS,
    V_LIST,
    V_MOVES,
    V_NODES,
    V_OTHERS,
    V_STATES,
)
from .mixing import load_hash_at, mix
from .views import view_i64

PROBES, QUESTION = 8, 4  # slots that a record may lie in; ints of it before the registers
FAR = 2 * REACH  # more members than there is room for


@kernel("P i i -> i")
def options_of(P, shape, label):
    """Address of the number of options of a value, followed by that of the options; -1 where it has none."""
    diagram, keys = P[shape + O_DIAGRAM], P[shape + O_KEYS]
    if label >= keys:
        return P[diagram + V_OTHERS] + 2 * (label - keys)
    level = P[P[diagram + V_LEVEL_OF] + label]
    return -1 if level < 0 else P[diagram + V_LIST] + level * I_SIZE + I_OPTIONS


@kernel("P i -> i")
def option_count(P, place):
    return P[place]


@kernel("P i i i i -> i")
def option_node(P, shape, label, place, option):
    """The node of an option; of a declared key's value without options, that (perhaps -1)."""
    if place < 0:
        return P[P[shape + O_VALUES] + label]
    return P[P[place + 1] + (option if label < P[shape + O_KEYS] else 2 * option)]


@kernel("P A i i i i i -> i")
def chosen(P, A, shape, regs, label, place, option):
    """Registers once that option is taken; -1 when no members can complete the object then, 0: the arena must grow."""
    keys, size = P[shape + O_KEYS], G_BITS + P[shape + O_REGISTERS]
    top = A[A_TOP]
    after = allocate(A, size)
    if after == 0:
        return 0
    for k in range(size):
        A[after + k] = A[regs + k]
    diagram, choices = P[shape + O_DIAGRAM], after + G_BITS + P[shape + O_WORDS]
    if label >= keys:
        state = choices + P[diagram + V_LEVELS]
        kind = P[P[place + 1] + 2 * option + 1]
        A[state] = P[P[diagram + V_MOVES] + kind * P[diagram + V_STATES] + A[state]]
    elif place >= 0:
        A[choices + P[P[diagram + V_LEVEL_OF] + label]] = option + 1
    found = narrow(P, A, shape, after)
    if found < 0:
        return 0
    if found == 0:
        A[A_TOP] = top
        return -1
    return after


@kernel("P A i i -> i")
def room_left(P, A, shape, regs):
    """How many members may follow besides the required ones."""
    if P[shape + O_MAX] < 0:
        return REACH
    return min(P[shape + O_MAX] - A[regs + G_COUNT] - A[regs + G_MISSING], REACH)


@kernel("P A i i i i i -> i")
def price_of_any(P, A, shape, regs, level, key, place):
    """What an option costs that is not taken: 1 for a member besides the required ones, FAR where it cannot be.

    place: declared keys of a lower rank cannot follow.
    """
    if A[regs + G_BITS + P[shape + O_WORDS] + level] > 0:
        return FAR
    if A[regs + G_KEY] == key:
        return 0
    if P[shape + O_RANK] >= 0:
        if P[P[shape + O_RANK] + key] < place:
            return FAR
    elif bit(A, regs + G_BITS, key) == 0:
        return FAR
    return 1 - bit(P, P[shape + O_REQUIRED], key)


@kernel("A i i i -> i")
def price_of_none(A, regs, choice, key):
    """What it costs that a key is absent: FAR where it is there already."""
    return FAR if A[choice] > 0 or A[regs + G_KEY] == key else 0


@kernel("i i i i -> i")
def price_of(option, taken, any_, none):
    """What an edge costs. taken: of its level, the option + 1."""
    if option < 0:
        return none
    return 0 if option == taken - 1 else any_


@kernel("P A i i i i -> i")
def from_end(P, A, shape, regs, place, cost):
    """Write to `cost`, per node, the fewest members besides the required ones that must follow from there on; returns
    that of the root."""
    diagram = P[shape + O_DIAGRAM]
    levels, last, nodes = P[diagram + V_LEVELS], P[diagram + V_LAST], P[diagram + V_NODES]
    choices = regs + G_BITS + P[shape + O_WORDS]
    state = A[choices + levels]
    for k in range(last):
        A[cost + k] = FAR
    for k in range(last, nodes):
        A[cost + k] = P[P[diagram + V_ENDS] + (k - last) * P[diagram + V_STATES] + state]
    for level in range(levels - 1, -1, -1):
        record = P[diagram + V_LIST] + level * I_SIZE
        edge, key, choice = P[record + I_EDGE_LIST], P[record + I_KEY], choices + level
        taken, none = A[choice], price_of_none(A, regs, choice, key)
        any_ = price_of_any(P, A, shape, regs, level, key, place)
        for _ in range(P[record + I_EDGES]):
            price = price_of(P[edge + 1], taken, any_, none)
            A[cost + P[edge]] = min(A[cost + P[edge]], A[cost + P[edge + 2]] + price)
            edge += 3
    return A[cost]


@kernel("P A i i -> b")
def may_end(P, A, shape, regs):
    """Whether an object may end with the members that it has."""
    diagram = P[shape + O_DIAGRAM]
    choices, node = regs + G_BITS + P[shape + O_WORDS], 0
    for level in range(P[diagram + V_LEVELS]):
        record = P[diagram + V_LIST] + level * I_SIZE
        edge, target = P[record + I_EDGE_LIST], -1
        for _ in range(P[record + I_EDGES]):
            if P[edge] == node and P[edge + 1] == A[choices + level] - 1:
                target = P[edge + 2]
            edge += 3
        if target < 0:
            return False
        node = target
    state = A[choices + P[diagram + V_LEVELS]]
    return P[P[diagram + V_ENDS] + (node - P[diagram + V_LAST]) * P[diagram + V_STATES] + state] == 0


@kernel("P A i i -> i")
def narrow(P, A, shape, regs):
    """Leave only the keys that some complete object may have next. Returns 1, or 0 when no object can be completed, or
    -1 when the arena must grow."""
    size, room = int(A[A_NARROWED + 2]), room_left(P, A, shape, regs)
    words, registers = P[shape + O_WORDS], P[shape + O_REGISTERS]
    length = QUESTION + registers + 2 + words
    if 8 * length > size:
        return narrow_anew(P, A, shape, regs, room)
    table = view_i64(load_hash_at(A, A_NARROWED), size)
    h = mix(mix(mix(shape, room), A[regs + G_KEY]), A[regs + G_EXTRA])
    for k in range(registers):
        h = mix(h, A[regs + G_BITS + k])
    slot = 0
    for k in range(PROBES):
        slot = 1 + (h + k & NARROWED_SLOTS - 1)
        if table[slot] == 0:
            break
        if is_asked(P, A, table, table[slot], shape, regs, room):
            answer = table[slot] + QUESTION + registers
            A[regs + G_EXTRA] = table[answer + 1]
            for j in range(words):
                A[regs + G_BITS + j] = table[answer + 2 + j]
            return table[answer]
    record = table[0]
    if record == 0 or record + length > size:
        for k in range(1, NARROWED_SLOTS + 1):
            table[k] = 0
        record = NARROWED_SLOTS + 1
    table[record], table[record + 1], table[record + 2] = shape, room, A[regs + G_KEY]
    table[record + 3] = A[regs + G_EXTRA]
    for k in range(registers):
        table[record + QUESTION + k] = A[regs + G_BITS + k]
    result = narrow_anew(P, A, shape, regs, room)
    if result >= 0:
        answer = record + QUESTION + registers
        table[answer], table[answer + 1] = result, A[regs + G_EXTRA]
        for k in range(words):
            table[answer + 2 + k] = A[regs + G_BITS + k]
        table[slot], table[0] = record, record + length
    return result


@kernel("P A O i i i i -> b")
def is_asked(P, A, table, record, shape, regs, room):
    """Whether a record of the table answers for these registers."""
    if table[record] != shape or table[record + 1] != room or table[record + 2] != A[regs + G_KEY]:
        return False
    for k in range(P[shape + O_REGISTERS]):
        if table[record + QUESTION + k] != A[regs + G_BITS + k]:
            return False
    return table[record + 3] == A[regs + G_EXTRA]


@kernel("P A i i i -> i")
def narrow_anew(P, A, shape, regs, room):
    """As narrow, without the table."""
    top = A[A_TOP]
    cost = allocate(A, 2 * P[P[shape + O_DIAGRAM] + V_NODES])
    if cost == 0:
        return -1
    if P[shape + O_RANK] >= 0:
        result = narrow_in_order(P, A, shape, regs, cost, room)
    else:
        result = narrow_in_any(P, A, shape, regs, cost, room)
    A[A_TOP] = top
    return result


@kernel("P A i i i i -> i")
def narrow_in_any(P, A, shape, regs, cost, room):
    """As narrow, for keys in any order. cost: room for two ints per node."""
    diagram, keys = P[shape + O_DIAGRAM], P[shape + O_KEYS]
    levels, way = P[diagram + V_LEVELS], cost + P[diagram + V_NODES]
    choices = regs + G_BITS + P[shape + O_WORDS]
    least = from_end(P, A, shape, regs, 0, cost)
    if least > room:
        return 0
    for key in range(keys):
        alone = bit(A, regs + G_BITS, key) != 0 and P[P[diagram + V_LEVEL_OF] + key] < 0
        if alone and least + 1 - bit(P, P[shape + O_REQUIRED], key) > room:
            A[regs + G_BITS + (key >> 5)] &= ~(1 << (key & 31))
    for k in range(P[diagram + V_NODES]):
        A[way + k] = FAR
    A[way] = 0
    for level in range(levels):
        record = P[diagram + V_LIST] + level * I_SIZE
        edge, key, choice, best = P[record + I_EDGE_LIST], P[record + I_KEY], choices + level, FAR
        taken, none = A[choice], price_of_none(A, regs, choice, key)
        any_ = price_of_any(P, A, shape, regs, level, key, 0)
        for _ in range(P[record + I_EDGES]):
            option = P[edge + 1]
            there = A[way + P[edge]] + price_of(option, taken, any_, none)
            A[way + P[edge + 2]] = min(A[way + P[edge + 2]], there)
            if option >= 0:
                best = min(best, there + A[cost + P[edge + 2]])
            edge += 3
        if best > room and bit(A, regs + G_BITS, key) != 0:
            A[regs + G_BITS + (key >> 5)] &= ~(1 << (key & 31))
    narrow_others(P, A, shape, regs, way, room)
    return 1


@kernel("P A i i i i -> v")
def narrow_others(P, A, shape, regs, way, room):
    """Leave only the labels of additional keys one of which may come next. way: the fewest members on the way to each
    node."""
    diagram = P[shape + O_DIAGRAM]
    last, states = P[diagram + V_LAST], P[diagram + V_STATES]
    state = A[regs + G_BITS + P[shape + O_WORDS] + P[diagram + V_LEVELS]]
    for label in range(P[shape + O_LABELS]):
        if (A[regs + G_EXTRA] >> label) & 1 != 0:
            place, found = P[diagram + V_OTHERS] + 2 * label, False
            for option in range(P[place]):
                kind = P[P[place + 1] + 2 * option + 1]
                after = P[P[diagram + V_MOVES] + kind * states + state]
                for k in range(P[diagram + V_NODES] - last):
                    if A[way + last + k] + 1 + P[P[diagram + V_ENDS] + k * states + after] <= room:
                        found = True
            if not found:
                A[regs + G_EXTRA] &= ~(1 << label)


@kernel("P A i i i i -> i")
def narrow_in_order(P, A, shape, regs, cost, room):
    """As narrow, for keys in a fixed order."""
    diagram, keys, rank = P[shape + O_DIAGRAM], P[shape + O_KEYS], P[shape + O_RANK]
    before = A[regs + G_KEY]
    place = 0 if before < 0 else keys if before >= keys else P[rank + before] + 1
    if from_end(P, A, shape, regs, place, cost) > room:
        return 0
    for r in range(place, keys):
        key = P[P[shape + O_BY_RANK] + r]
        if bit(A, regs + G_BITS, key) != 0:
            level, price = P[P[diagram + V_LEVEL_OF] + key], 1 - bit(P, P[shape + O_REQUIRED], key)
            best = FAR
            if level < 0:
                best = from_end(P, A, shape, regs, r + 1, cost)
            else:
                choice = regs + G_BITS + P[shape + O_WORDS] + level
                for option in range(P[P[diagram + V_LIST] + level * I_SIZE + I_OPTIONS]):
                    A[choice] = option + 1
                    best = min(best, from_end(P, A, shape, regs, r + 1, cost))
                A[choice] = 0
            if best + price > room:
                A[regs + G_BITS + (key >> 5)] &= ~(1 << (key & 31))
    if A[regs + G_EXTRA] != 0:
        way = cost + P[diagram + V_NODES]
        ways(P, A, shape, regs, way)
        narrow_others(P, A, shape, regs, way, room)
    return 1


@kernel("P A i i i -> v")
def ways(P, A, shape, regs, way):
    """Write to `way`, per node, whether it is reached without any further declared key: 0, else FAR."""
    diagram, choices = P[shape + O_DIAGRAM], regs + G_BITS + P[shape + O_WORDS]
    for k in range(P[diagram + V_NODES]):
        A[way + k] = FAR
    A[way] = 0
    for level in range(P[diagram + V_LEVELS]):
        record = P[diagram + V_LIST] + level * I_SIZE
        edge, key, choice = P[record + I_EDGE_LIST], P[record + I_KEY], choices + level
        taken, none = A[choice], price_of_none(A, regs, choice, key)
        any_ = price_of_any(P, A, shape, regs, level, key, P[shape + O_KEYS])
        for _ in range(P[record + I_EDGES]):
            price = price_of(P[edge + 1], taken, any_, none)
            A[way + P[edge + 2]] = min(A[way + P[edge + 2]], A[way + P[edge]] + price)
            edge += 3
