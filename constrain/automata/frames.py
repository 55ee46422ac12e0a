"""Kernels on frames: guards, edges, whitespace, and the calls of nodes.

Each takes and returns the number of scratch rows (rows.py). A call asks its node, by a scratch row, to start with the
byte; what cannot start with it is not called.
"""

from __future__ import annotations

from ._kernel import kernel
from .guards import may_continue, passes
from .hashes import row_hash, store_hash
from .layout import (
    A_CURRENT,
    A_NEED,
    A_NEEDED,
    A_POS,
    A_SCRATCH,
    A_TOP,
    BLANKS,
    CALL_EQUAL,
    CALL_NODE,
    CALL_NULLABLE,
    CALL_RETURNS,
    CALL_SELECT,
    CALL_SIZE,
    CALL_VARIANT,
    CW,
    EMIT,
    ENTER,
    F_SHAPE,
    F_SHAPE_KIND,
    F_START,
    FLAG_CLOSED,
    FLAG_FINAL,
    G_BITS,
    G_COUNT,
    G_EXTRA,
    G_EXTRAS,
    G_KEY,
    G_MISSING,
    HI,
    K_FRAME,
    K_STUB,
    K_UNION,
    L_DFA,
    L_SHAPE,
    L_SKIN,
    L_WORDS,
    LEVEL,
    N_FIRST,
    NEED_CAP,
    NEWLINES,
    NODE,
    O_BY_RANK,
    O_EXTRA,
    O_EXTRA_FIRST,
    O_EXTRA_VALUES,
    O_INITIAL,
    O_KEYS,
    O_LABELS,
    O_LEXEME,
    O_MAX,
    O_MISSING,
    O_OBLIGATIONS,
    O_RANK,
    O_REQUIRED,
    O_VALUES,
    O_WORDS,
    PARENT,
    R_COMPARES,
    R_LEVEL,
    R_NODE,
    R_PARENT,
    R_REGS,
    R_SEEN,
    R_SIZE,
    R_STATE,
    REACH,
    READ,
    REGS,
    S_BASE,
    S_CALL_LIST,
    S_CALLS,
    S_EDGE_LIST,
    S_EDGES,
    S_FLAGS,
    S_LEVEL,
    S_NEWLINES,
    S_PENDING,
    SELECT_ITEM,
    SELECT_KEY,
    SELECT_VALUE,
    SHAPE_ARRAY,
    SHAPE_NONE,
    SHAPE_OBJECT,
    SKIN_RAW,
    STATE,
    SYMBOL,
    T_BUILT,
    TEXT,
    U_COUNT,
    U_EQUAL,
    U_FIRST,
    U_ITEM,
    U_ITEMS,
    U_OPEN,
    U_SIZE,
    UNCOMPARED,
    Y_COMPARED,
    Y_PREFIX,
    Y_PREFIX_COUNT,
    Y_REST,
)
from .lexemes import (
    allocate,
    bit,
    feed,
    viable,
)
from .rows import emit, push_return, push_scratch, set_row
from .uniqueness import next_item


@kernel("P A C i i i i i i -> i")
def move(P, A, C, n, node, state, regs, parent, level):
    """Emit the frame in another layout state, if its guard allows; a frame that ends there returns. Returns the scratch
    count."""
    if not passes(P, A, node, state, regs):
        return n
    if P[state + S_FLAGS] & FLAG_CLOSED != 0:
        return push_return(A, n, parent, EMIT)
    set_row(A, A_CURRENT, node, state, regs, parent, level)
    emit(A, C, A_CURRENT)
    return n


@kernel("P A C T i i -> i")
def read_frame(P, A, C, T, n, byte):
    """A frame reads whitespace, takes its edges and makes its calls. Returns the scratch count."""
    row = A_SCRATCH + n * CW
    node, state = A[row + NODE], A[row + STATE]
    regs, parent, level = A[row + REGS], A[row + PARENT], A[row + LEVEL]
    newlines_most = P[state + S_NEWLINES]
    if newlines_most >= 0 and (byte == 32 or byte == 10 or byte == 13 or byte == 9):
        blanks, newlines = A[row + BLANKS], A[row + NEWLINES]
        if byte == 10:
            newlines += 1
        else:
            blanks += 1
        if newlines <= newlines_most and blanks <= P[state + S_BASE] + P[state + S_LEVEL] * level:
            set_row(A, A_CURRENT, node, state, regs, parent, level)
            A[A_CURRENT + BLANKS], A[A_CURRENT + NEWLINES] = blanks, newlines
            emit(A, C, A_CURRENT)
    edge = state + S_EDGE_LIST
    for _ in range(P[state + S_EDGES]):
        if P[edge] == byte:
            n = move(P, A, C, n, node, P[edge + 1], regs, parent, level)
        edge += 2
    call = P[state + S_CALL_LIST]
    for _ in range(P[state + S_CALLS]):
        n = make_call(P, A, T, n, call, node, regs, parent, level, byte)
        call += CALL_SIZE
    if P[state + S_FLAGS] & FLAG_FINAL != 0:
        n = push_return(A, n, parent, READ)
    return n


@kernel("P i i i -> i")
def value_of(P, shape, label, variant):
    """The node of the value of a key, such that it meets the obligations of `variant`; -1 for none."""
    keys = P[shape + O_KEYS]
    if label < keys:
        return P[P[shape + O_VALUES] + variant * keys + label]
    return P[P[shape + O_EXTRA_VALUES] + variant * P[shape + O_LABELS] + label - keys]


@kernel("P A i i i i -> b")
def can_meet(P, A, shape, regs, pending, label):
    """Whether the obligations `pending` can be met by members that follow. label: of the key that comes before these,
    and does not meet them; -1: none does.

    The fewest optional members for each set of obligations, over the keys that are left, then over additional ones.
    """
    if pending == 0:
        return True
    keys, rank, sets = P[shape + O_KEYS], P[shape + O_RANK], 1 << P[shape + O_OBLIGATIONS]
    room = REACH
    if P[shape + O_MAX] >= 0:
        room = P[shape + O_MAX] - A[regs + G_COUNT] - A[regs + G_MISSING]
        if label >= keys or (label >= 0 and bit(P, P[shape + O_REQUIRED], label) == 0):
            room -= 1
    place = 0
    if rank >= 0:
        before = label if label >= 0 else A[regs + G_KEY]
        place = 0 if before < 0 else keys if before >= keys else P[rank + before] + 1
    top = A[A_TOP]
    cost = allocate(A, sets)
    if cost == 0:
        return False  # the arena must grow
    for k in range(sets):
        A[cost + k] = 0 if k == 0 else REACH + 1
    for r in range(place, keys):
        k = r if rank < 0 else P[P[shape + O_BY_RANK] + r]
        if k != label and (rank >= 0 or bit(A, regs + G_BITS, k) != 0):
            reach_sets(P, A, shape, k, cost, 1 - bit(P, P[shape + O_REQUIRED], k))
    if P[shape + O_EXTRA] >= 0:
        for _ in range(P[shape + O_OBLIGATIONS]):
            for k in range(P[shape + O_LABELS]):
                reach_sets(P, A, shape, keys + k, cost, 1)
    found = False
    for k in range(sets):
        if k & pending == pending and A[cost + k] <= room:
            found = True
    A[A_TOP] = top
    return found


@kernel("P A i i i i -> v")
def reach_sets(P, A, shape, label, cost, price):
    """Lower the costs of sets of obligations by one member of a label, at its price."""
    sets = 1 << P[shape + O_OBLIGATIONS]
    for met in range(sets - 1, -1, -1):
        for variant in range(1, sets):
            if met & variant == 0 and value_of(P, shape, label, variant) >= 0:
                A[cost + (met | variant)] = min(A[cost + (met | variant)], A[cost + met] + price)


@kernel("P A i i i -> i")
def keys_that_meet(P, A, shape, regs, pending):
    """Registers in which only those keys may follow after which the obligations `pending` can be met; 0 when the arena
    must grow.
    """
    keys, words = P[shape + O_KEYS], P[shape + O_WORDS]
    fresh = allocate(A, G_BITS + words)
    if fresh == 0:
        return 0
    for k in range(G_BITS + words):
        A[fresh + k] = A[regs + k]
    for label in range(keys + P[shape + O_LABELS]):
        if label < keys:
            if bit(A, regs + G_BITS, label) == 0:
                continue
        elif (A[regs + G_EXTRA] >> (label - keys)) & 1 == 0:
            continue
        meets, variant = False, 0
        while variant <= pending and not meets:
            if variant & ~pending == 0 and value_of(P, shape, label, variant) >= 0:
                meets = can_meet(P, A, shape, regs, pending & ~variant, label)
            variant += 1
        if not meets and label < keys:
            A[fresh + G_BITS + (label >> 5)] &= ~(1 << (label & 31))
        elif not meets:
            A[fresh + G_EXTRA] &= ~(1 << (label - keys))
    return fresh


@kernel("P A i i i -> i")
def call_target(P, A, call, node, regs):
    """The node that a call calls for these registers, or -1 when none may follow."""
    select = P[call + CALL_SELECT]
    if P[call + CALL_NODE] >= 0:
        return P[call + CALL_NODE]
    shape = P[node + F_SHAPE]
    if select == SELECT_KEY:
        return P[shape + O_LEXEME]
    if select == SELECT_VALUE:
        return value_of(P, shape, A[regs + G_KEY], P[call + CALL_VARIANT])
    if not may_continue(P, A, SHAPE_ARRAY, shape, regs):
        return -1
    count = A[regs]
    return P[P[shape + Y_PREFIX] + count] if count < P[shape + Y_PREFIX_COUNT] else P[shape + Y_REST]


@kernel("P A T i i i i i i i -> i")
def make_call(P, A, T, n, call, node, regs, parent, level, byte):
    """Push what a call leads to: its node, asked to start with the byte, and for a node that may be empty also the
    state after it. Returns the scratch count."""
    returns, target = P[call + CALL_RETURNS], call_target(P, A, call, node, regs)
    if P[call + CALL_NULLABLE] != 0:
        set_row(A, push_scratch(A, n), node, returns, regs, parent, level)
        n += 1
    if target < 0 or not starts_with_byte(P, target, byte):
        return n
    if P[call + CALL_SELECT] == SELECT_ITEM:
        old = regs
        compares = P[P[node + F_SHAPE] + Y_COMPARED] != 0
        regs = next_item(A, T, old, P[call + CALL_EQUAL]) if compares else allocate(A, 1)
        if regs == 0:
            return n
        A[regs] = A[old] + 1
    pending = P[returns + S_PENDING]
    if pending != 0:
        shape = P[node + F_SHAPE]
        if P[call + CALL_SELECT] == SELECT_VALUE and not can_meet(P, A, shape, regs, pending, -1):
            return n
        if P[call + CALL_SELECT] == SELECT_KEY:
            regs = keys_that_meet(P, A, shape, regs, pending)
            if regs == 0:
                return n
    caller = push_frame(P, A, node, returns, regs, parent, level, P[call + CALL_EQUAL] != UNCOMPARED)
    if caller == 0:
        return n
    below = level if P[node + F_SHAPE_KIND] == SHAPE_NONE else level + 1
    set_row(A, push_scratch(A, n), target, ENTER, -1, caller, below)
    return n + 1


@kernel("P i i -> b")
def starts_with_byte(P, node, byte):
    """Whether `byte` is among the possible first bytes of a node; of symbols, whether any is."""
    return bit(P, P[node + N_FIRST], min(byte, SYMBOL)) != 0


@kernel("P A i i i i i b -> i")
def push_frame(P, A, node, returns, regs, parent, level, compares):
    """Arena row to return to; a call in last place needs none of its own (0: the arena must grow). compares: whether
    what is called is an item that is compared.
    """
    if P[returns + S_FLAGS] & FLAG_CLOSED != 0 and parent >= 0:
        return parent
    caller = allocate(A, R_SIZE)
    if caller != 0:
        A[caller + R_NODE] = node
        A[caller + R_STATE] = returns
        A[caller + R_REGS] = regs
        A[caller + R_PARENT] = parent
        A[caller + R_LEVEL] = level
        A[caller + R_SEEN] = A[caller + R_SEEN + 1] = 0
        if compares:
            A[caller + R_COMPARES] = caller
        else:
            A[caller + R_COMPARES] = A[parent + R_COMPARES] if parent >= 0 else 0
        store_hash(A, caller, row_hash(P, A, node, returns, regs, parent))
    return caller


@kernel("P A C T i i -> i")
def enter(P, A, C, T, n, byte):
    """Start the node of scratch row `n` with the byte. Returns the scratch count."""
    row = A_SCRATCH + n * CW
    node, parent, level = A[row + NODE], A[row + PARENT], A[row + LEVEL]
    kind = P[node]
    if kind == K_STUB:
        if P[node + T_BUILT] == 0:
            want(A, node)
            return n
        A[row + NODE] = P[node + T_BUILT]
        return n + 1
    if kind == K_UNION:
        for k in range(P[node + U_COUNT]):
            alternative = P[node + U_FIRST + k]
            if starts_with_byte(P, alternative, byte):
                set_row(A, push_scratch(A, n), alternative, ENTER, -1, parent, level)
                n += 1
        return n
    if kind == K_FRAME:
        regs = first_registers(P, A, node)
        set_row(A, row, node, P[node + F_START], regs, parent, level)
        return n + 1
    # a lexeme
    set_row(A, row, node, P[node + L_DFA], -1, parent, level)
    A[row + HI] = P[node + L_WORDS]
    shape = P[node + L_SHAPE]
    if shape >= 0 and P[shape + O_EXTRA] >= 0:
        if A[A[parent + R_REGS] + G_EXTRA] != 0:
            A[row + TEXT] = A[A_POS] + (0 if P[node + L_SKIN] == SKIN_RAW else 1)
        else:
            A[row + STATE] = -1
    if P[node + L_SKIN] == SKIN_RAW:
        if byte < SYMBOL:
            feed(P, A, row, byte)
            if viable(P, A, T, row):
                emit(A, C, row)
    elif byte == 34 and viable(P, A, T, row):
        emit(A, C, row)
    return n


@kernel("P A i -> i")
def first_registers(P, A, node):
    """Registers of a frame that starts; -1 where it needs none."""
    shape = P[node + F_SHAPE]
    if P[node + F_SHAPE_KIND] == SHAPE_OBJECT:
        words = P[shape + O_WORDS]
        regs = allocate(A, G_BITS + words)
        if regs != 0:
            A[regs + G_COUNT] = 0
            A[regs + G_KEY] = -1
            A[regs + G_MISSING] = P[shape + O_MISSING]
            A[regs + G_EXTRAS] = 0
            A[regs + G_EXTRA] = P[shape + O_EXTRA_FIRST]
            for k in range(words):
                A[regs + G_BITS + k] = P[P[shape + O_INITIAL] + k]
        return regs
    if P[node + F_SHAPE_KIND] == SHAPE_ARRAY:
        regs = allocate(A, U_SIZE if P[shape + Y_COMPARED] != 0 else 1)
        if regs != 0:
            A[regs] = 0
            if P[shape + Y_COMPARED] != 0:
                A[regs + U_ITEM], A[regs + U_ITEMS], A[regs + U_OPEN], A[regs + U_EQUAL] = -1, 0, A[A_POS], -1
        return regs
    return -1


@kernel("A i -> v")
def want(A, stub):
    """Note that the node behind a stub is needed."""
    for k in range(A[A_NEED]):
        if A[A_NEEDED + k] == stub:
            return
    if A[A_NEED] < NEED_CAP:
        A[A_NEEDED + A[A_NEED]] = stub
        A[A_NEED] += 1
