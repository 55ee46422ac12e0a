"""Kernels on frames: guards, edges, whitespace, and the calls of nodes.

Each takes and returns the number of scratch rows (rows.py). A call asks its node, by a scratch row, to start with the
byte; what cannot start with it is not called.
"""

from __future__ import annotations

from ._kernel import kernel
from .cells import allocate, bit
from .choices import chosen, narrow, option_count, option_node, options_of
from .guards import may_continue, passes
from .hashes import row_hash, store_hash, value_of
from .items import next_item
from .layout import (
    A_CURRENT,
    A_NEED,
    A_NEEDED,
    A_OUT,
    A_POS,
    A_SCRATCH,
    A_STATUS,
    BLANKS,
    CALL_EQUAL,
    CALL_NODE,
    CALL_NULLABLE,
    CALL_RETURNS,
    CALL_SELECT,
    CALL_SIZE,
    CALLED,
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
    K_LEXEME,
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
    O_DIAGRAM,
    O_EXTRA,
    O_EXTRA_FIRST,
    O_INITIAL,
    O_LEXEME,
    O_MISSING,
    O_REGISTERS,
    O_WORDS,
    OK,
    PARENT,
    R_COMPARES,
    R_LEVEL,
    R_NODE,
    R_PARENT,
    R_REGS,
    R_SEEN,
    R_SIZE,
    R_STATE,
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
    SELECT_ITEM,
    SELECT_KEY,
    SELECT_NODE,
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
from .lexemes import feed
from .rows import emit, push_return, push_scratch, set_row
from .viability import viable


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
    row = A_SCRATCH + n * CW  # what is pushed takes its place
    node, state, called = A[row + NODE], A[row + STATE], A[row + CALLED]
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
    for _ in range(P[state + S_CALLS] if called == 0 else 0):
        n = make_call(P, A, T, n, call, node, regs, parent, level, byte)
        call += CALL_SIZE
    if P[state + S_FLAGS] & FLAG_FINAL != 0:
        n = push_return(A, n, parent, READ)
    return n


@kernel("P A i i i -> i")
def call_target(P, A, call, node, regs):
    """The node that a call calls for these registers, or -1 when none may follow. Of a value that has options: -1."""
    select = P[call + CALL_SELECT]
    if P[call + CALL_NODE] >= 0:
        return P[call + CALL_NODE]
    shape = P[node + F_SHAPE]
    if select == SELECT_KEY:
        return P[shape + O_LEXEME]
    if select == SELECT_VALUE:
        label = A[regs + G_KEY]
        return -1 if P[shape + O_DIAGRAM] >= 0 and options_of(P, shape, label) >= 0 else value_of(P, shape, label)
    if not may_continue(P, A, SHAPE_ARRAY, shape, regs):
        return -1
    count = A[regs]
    return P[P[shape + Y_PREFIX] + count] if count < P[shape + Y_PREFIX_COUNT] else P[shape + Y_REST]


@kernel("P A T i i i i i i i -> i")
def make_call(P, A, T, n, call, node, regs, parent, level, byte):
    """Push what a call leads to: its node, asked to start with the byte, and for a node that may be empty also the
    state after it. Returns the scratch count."""
    returns, select = P[call + CALL_RETURNS], P[call + CALL_SELECT]
    if P[call + CALL_NULLABLE] != 0:
        set_row(A, push_scratch(A, n), node, returns, regs, parent, level)
        n += 1
    shape = P[node + F_SHAPE]
    if select == SELECT_VALUE and P[shape + O_DIAGRAM] >= 0:
        return call_options(P, A, n, returns, node, regs, parent, level, byte)
    target = call_target(P, A, call, node, regs)
    if target < 0 or not starts_with_byte(P, target, byte):
        return n
    if select == SELECT_ITEM:
        old = regs
        compares = P[shape + Y_COMPARED] != 0
        regs = next_item(A, T, old, P[call + CALL_EQUAL]) if compares else allocate(A, 1)
        if regs == 0:
            return n
        A[regs] = A[old] + 1
        return push_call(P, A, n, target, returns, node, regs, parent, level, P[call + CALL_EQUAL] != UNCOMPARED)
    return push_call(P, A, n, target, returns, node, regs, parent, level, False)


@kernel("P A i i i i i i i b -> i")
def push_call(P, A, n, target, returns, node, regs, parent, level, compares):
    """Push a scratch row that starts a node called by a frame. compares: see push_frame. Returns the scratch count."""
    caller = push_frame(P, A, node, returns, regs, parent, level, compares)
    if caller == 0:
        return n
    below = level if P[node + F_SHAPE_KIND] == SHAPE_NONE else level + 1
    set_row(A, push_scratch(A, n), target, ENTER, -1, caller, below)
    return n + 1


@kernel("P A C i -> b")
def call_ahead(P, A, C, c):
    """Append what the calls of configuration number `c`, a frame, begin with, and leave it its edges; False where that
    cannot be told before the byte is known."""
    row = c * CW
    node, state, regs, parent, level = C[row + NODE], C[row + STATE], C[row + REGS], C[row + PARENT], C[row + LEVEL]
    call, out = P[state + S_CALL_LIST], A[A_OUT]
    for _ in range(P[state + S_CALLS]):
        select = P[call + CALL_SELECT]
        plain = select == SELECT_NODE or (select == SELECT_VALUE and P[P[node + F_SHAPE] + O_DIAGRAM] < 0)
        caller = push_frame(P, A, node, P[call + CALL_RETURNS], regs, parent, level, False) if plain else 0
        below = level if P[node + F_SHAPE_KIND] == SHAPE_NONE else level + 1
        target = built(P, A, call_target(P, A, call, node, regs)) if caller > 0 else -1
        if target == 0:
            caller = 0
        elif target > 0 and P[target] == K_UNION:
            for k in range(P[target + U_COUNT]):
                alternative = built(P, A, P[target + U_FIRST + k])
                if alternative <= 0 or not start_ahead(P, A, C, alternative, caller, below):
                    caller = 0
        elif target > 0 and not start_ahead(P, A, C, target, caller, below):
            caller = 0
        if caller <= 0:
            A[A_OUT] = out
            return False
        call += CALL_SIZE
    C[row + CALLED] = 1
    return True


@kernel("P A i -> i")
def built(P, A, node):
    """The node behind an address, which may be a stub's; 0 where it must be built first."""
    if node < 0 or P[node] != K_STUB:
        return node
    if P[node + T_BUILT] == 0:
        want(A, node)
    return P[node + T_BUILT]


@kernel("P A C i i i -> b")
def start_ahead(P, A, C, node, parent, level):
    """Append the start of a raw lexeme that is no key, or of a frame; False for anything else."""
    if P[node] == K_UNION:
        return False
    if P[node] == K_LEXEME:
        if P[node + L_SKIN] != SKIN_RAW or P[node + L_SHAPE] >= 0:
            return False
        set_row(A, A_CURRENT, node, P[node + L_DFA], -1, parent, level)
        A[A_CURRENT + HI] = P[node + L_WORDS]
    else:
        set_row(A, A_CURRENT, node, P[node + F_START], first_registers(P, A, node), parent, level)
    emit(A, C, A_CURRENT)
    return A[A_STATUS] == OK


@kernel("P A i i i i i i i -> i")
def call_options(P, A, n, returns, node, regs, parent, level, byte):
    """Push every option of the value that comes next which other members can complete. Returns the scratch count."""
    shape = P[node + F_SHAPE]
    label = A[regs + G_KEY]
    place = options_of(P, shape, label)
    for option in range(1 if place < 0 else option_count(P, place)):
        target = option_node(P, shape, label, place, option)
        if target >= 0 and starts_with_byte(P, target, byte):
            after = chosen(P, A, shape, regs, label, place, option)
            if after == 0:
                return n
            if after > 0:
                n = push_call(P, A, n, target, returns, node, after, parent, level, False)
    return n


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
        regs = allocate(A, G_BITS + P[shape + O_REGISTERS])
        if regs != 0:
            A[regs + G_COUNT] = 0
            A[regs + G_KEY] = -1
            A[regs + G_MISSING] = P[shape + O_MISSING]
            A[regs + G_EXTRAS] = 0
            A[regs + G_EXTRA] = P[shape + O_EXTRA_FIRST]
            for k in range(words):
                A[regs + G_BITS + k] = P[P[shape + O_INITIAL] + k]
            for k in range(words, P[shape + O_REGISTERS]):
                A[regs + G_BITS + k] = 0
            if P[shape + O_DIAGRAM] >= 0:
                narrow(P, A, shape, regs)
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
