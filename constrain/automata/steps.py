"""Kernels for one byte: how a configuration reads it, calls nodes, returns to frames and may end.

`advance` is the one entry: it moves a range of configurations over a byte, or asks at the end of the output whether it may
end. It is compiled apart and called by address, since inlining it into every walk would compile it a dozen times.

A configuration is one parallel thread (layout.py). `consume` appends to the configuration array every way to read one byte
from one configuration. Rows that still have to be looked at wait in the arena's scratch space: a lexeme that may end here
hands over to its caller, a frame tries its edges and calls, a call asks its node to start with the byte.
"""

from __future__ import annotations

from ._kernel import kernel, native_address
from .hashes import fork_hash, row_hash, store_hash
from .layout import (
    A_CURRENT,
    A_FIRST,
    A_NEED,
    A_NEEDED,
    A_OUT,
    A_POS,
    A_SCRATCH,
    A_STATUS,
    ASK,
    BLANKS,
    CALL_NODE,
    CALL_NULLABLE,
    CALL_RETURNS,
    CALL_SELECT,
    CALL_SIZE,
    CHARS,
    CW,
    D_WORDS,
    DONE,
    E_ADVANCE,
    E_ARENA,
    E_CONFIGS,
    E_PROGRAM,
    E_SELF,
    E_SIZE,
    E_TEXT,
    E_THREADS,
    EMIT,
    END,
    ENTER,
    ESC,
    F_SHAPE,
    F_SHAPE_KIND,
    F_START,
    FLAG_CLOSED,
    FLAG_FINAL,
    FORK,
    G_BITS,
    G_COUNT,
    G_EXTRA,
    G_EXTRAS,
    G_KEY,
    G_MISSING,
    GUARD_CLOSE,
    GUARD_MORE,
    HI,
    K_FRAME,
    K_LEXEME,
    K_STUB,
    K_UNION,
    L_COUNTED,
    L_DFA,
    L_MAX,
    L_SHAPE,
    L_SKIN,
    L_WORDS,
    LEVEL,
    LO,
    LOOSE,
    MODE,
    N_FIRST,
    NEED_CAP,
    NEED_CONFIGS,
    NEWLINES,
    NODE,
    O_EXTRA,
    O_EXTRA_FIRST,
    O_EXTRA_VALUES,
    O_INITIAL,
    O_KEYS,
    O_LEXEME,
    O_MIN,
    O_MISSING,
    O_VALUES,
    O_WORDS,
    PARENT,
    R_LEVEL,
    R_NODE,
    R_PARENT,
    R_REGS,
    R_SIZE,
    R_STATE,
    READ,
    REGS,
    RETURN,
    S_BASE,
    S_CALL_LIST,
    S_CALLS,
    S_EDGE_LIST,
    S_EDGES,
    S_FLAGS,
    S_GUARD,
    S_LEVEL,
    S_NEWLINES,
    SCRATCH_CAP,
    SELECT_ITEM,
    SELECT_KEY,
    SELECT_NODE,
    SELECT_VALUE,
    SHAPE_ARRAY,
    SHAPE_OBJECT,
    SKIN_RAW,
    STATE,
    T_BUILT,
    TEXT,
    TOO_MANY_THREADS,
    U_COUNT,
    U_FIRST,
    UNCOUNTED,
    Y_MAX,
    Y_MIN,
    Y_PREFIX,
    Y_PREFIX_COUNT,
    Y_REST,
)
from .lexemes import (
    allocate,
    any_bit,
    bit,
    close_key,
    complete,
    escape_step,
    escape_viable,
    feed,
    feed_code,
    follow,
    viable,
)
from .views import call_native, view_i32, view_i64, view_u8


@kernel("O i -> P")
def ints(desc, place):
    return view_i32(desc[place], desc[place + 1])


@kernel("O i -> T")
def octets(desc, place):
    return view_u8(desc[place], desc[place + 1])


@kernel("P i i i i i i -> v")
def set_row(array, row, node, state, regs, parent, level):
    """A fresh row: no lexeme content, no whitespace run."""
    array[row + NODE] = node
    array[row + STATE] = state
    for k in range(LO, TEXT):
        array[row + k] = 0
    array[row + TEXT] = -1
    array[row + REGS] = regs
    array[row + PARENT] = parent
    array[row + LEVEL] = level


@kernel("A C i -> v")
def emit(A, C, row):
    """Append the scratch row to the configurations."""
    out = A[A_OUT] * CW
    if out + CW > len(C):
        A[A_STATUS] = NEED_CONFIGS
        return
    for k in range(CW):
        C[out + k] = A[row + k]
    A[A_OUT] += 1


@kernel("A i -> i")
def push_scratch(A, n):
    """Address of scratch row `n`; beyond the space a status is set and the last row is used over."""
    if n >= SCRATCH_CAP:
        A[A_STATUS] = TOO_MANY_THREADS
        return A_SCRATCH + (SCRATCH_CAP - 1) * CW
    return A_SCRATCH + n * CW


@kernel("A i i i -> i")
def push_return(A, n, parent, mode):
    """Push a scratch row that gives control back to arena row `parent`; returns the scratch count."""
    row = push_scratch(A, n)
    set_row(A, row, DONE, RETURN, -1, parent, 0)
    A[row + MODE] = mode
    return n + 1


@kernel("P A C i -> i")
def hand_back(P, A, C, n):
    """Give control back as scratch row `n` asks: to every frame of a fork; a frame that ends there returns in turn; below
    the outermost one the output is complete. Returns the scratch count."""
    row = A_SCRATCH + n * CW
    parent, mode = A[row + PARENT], A[row + MODE]
    while parent >= 0:
        if A[parent + R_NODE] == FORK:
            n = push_return(A, n, A[parent + R_PARENT], mode)
            row = push_scratch(A, n)
            parent = A[parent + R_STATE]
            continue
        state = A[parent + R_STATE]
        if P[state + S_FLAGS] & FLAG_CLOSED == 0:
            break
        parent = A[parent + R_PARENT]
    if parent < 0:
        if mode == READ:
            return n  # nothing can follow the complete output
        set_row(A, row, DONE, 0, -1, -1, 0)
        if mode == EMIT:
            emit(A, C, row)
            return n
        return n + 1
    set_row(A, row, A[parent + R_NODE], state, A[parent + R_REGS], A[parent + R_PARENT], A[parent + R_LEVEL])
    if mode == EMIT:
        emit(A, C, row)
        return n
    return n + 1


@kernel("P A C T i i i i -> i")
def leave(P, A, C, T, n, source, end, mode):
    """End the lexeme in row `source` before text position `end`, if it may, and go on in its caller as `mode` says.
    Returns the scratch count."""
    label = complete(P, A, source)
    if label < 0:
        return n
    parent = A[source + PARENT]
    if P[A[source + NODE] + L_SHAPE] < 0:
        return push_return(A, n, parent, mode)
    regs = close_key(P, A, T, source, label, A[source + TEXT], end)
    if regs == 0:
        return n
    row = push_scratch(A, n)
    set_row(A, row, A[parent + R_NODE], A[parent + R_STATE], regs, A[parent + R_PARENT], A[parent + R_LEVEL])
    if mode == EMIT:
        emit(A, C, row)
        return n
    return n + 1


@kernel("P A i i i -> b")
def may_continue(P, A, shape_kind, shape, regs):
    """Guard.MORE: whether a further member or item may follow."""
    if shape_kind == SHAPE_OBJECT:
        return A[regs + G_EXTRA] != 0 or any_bit(A, regs + G_BITS, 0, P[shape + O_KEYS])
    count = A[regs]
    if P[shape + Y_MAX] >= 0 and count >= P[shape + Y_MAX]:
        return False
    return count < P[shape + Y_PREFIX_COUNT] or P[shape + Y_REST] >= 0


@kernel("P A i i i -> b")
def passes(P, A, node, state, regs):
    """Whether the guard of a layout state lets the frame in."""
    guard = P[state + S_GUARD]
    if guard == GUARD_MORE:
        return may_continue(P, A, P[node + F_SHAPE_KIND], P[node + F_SHAPE], regs)
    if guard == GUARD_CLOSE:
        shape = P[node + F_SHAPE]
        if P[node + F_SHAPE_KIND] == SHAPE_OBJECT:
            return A[regs + G_MISSING] == 0 and A[regs + G_COUNT] >= P[shape + O_MIN]
        return A[regs] >= P[shape + Y_MIN]
    return True


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


@kernel("P A C T i i -> v")
def consume(P, A, C, T, c, byte):
    """Append every configuration that reading `byte` from configuration number `c` leads to. T[A_POS] holds the byte."""
    for k in range(CW):
        A[A_SCRATCH + k] = C[c * CW + k]
    n = 1
    while n > 0 and A[A_STATUS] == 0:
        n -= 1
        row = A_SCRATCH + n * CW
        node, state = A[row + NODE], A[row + STATE]
        if state == RETURN:
            n = hand_back(P, A, C, n)
        elif node == DONE:
            continue
        elif state == ENTER:
            n = enter(P, A, C, T, n, byte)
        elif P[node] == K_LEXEME:
            if P[node + L_SKIN] == SKIN_RAW:
                n = read_raw(P, A, C, T, n, byte)
            else:
                n = read_json(P, A, C, T, n, byte)
        else:
            n = read_frame(P, A, C, n, byte)


@kernel("P A C T i i -> i")
def read_raw(P, A, C, T, n, byte):
    """A raw lexeme goes on with the byte, and where it may end its caller gets the byte. Returns the scratch count."""
    row = A_SCRATCH + n * CW
    for k in range(CW):
        A[A_CURRENT + k] = A[row + k]
    feed(P, A, A_CURRENT, byte)
    if viable(P, A, T, A_CURRENT):
        emit(A, C, A_CURRENT)
    for k in range(CW):
        A[A_CURRENT + k] = A[row + k]
    return leave(P, A, C, T, n, A_CURRENT, A[A_POS], READ)


@kernel("P A C T i i -> i")
def read_json(P, A, C, T, n, byte):
    """A JSON string goes on with the byte: content, part of an escape, or the closing quote. Returns the scratch count."""
    row = A_SCRATCH + n * CW
    esc = A[row + ESC]
    if esc != 0:
        esc, code = escape_step(esc, byte)
        if esc < 0:
            return n
        A[row + ESC] = esc
        if code >= 0:
            feed_code(P, A, row, code)
            if viable(P, A, T, row):
                emit(A, C, row)
        elif escape_viable(P, A, T, row):
            emit(A, C, row)
    elif byte == 34:
        for k in range(CW):
            A[A_CURRENT + k] = A[row + k]
        return leave(P, A, C, T, n, A_CURRENT, A[A_POS], EMIT)
    elif byte == 92:
        A[row + ESC] = 1
        if escape_viable(P, A, T, row):
            emit(A, C, row)
    elif byte >= 32:
        feed(P, A, row, byte)
        if viable(P, A, T, row):
            emit(A, C, row)
    return n


@kernel("P A C i i -> i")
def read_frame(P, A, C, n, byte):
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
        n = make_call(P, A, n, call, node, regs, parent, level, byte)
        call += CALL_SIZE
    if P[state + S_FLAGS] & FLAG_FINAL != 0:
        n = push_return(A, n, parent, READ)
    return n


@kernel("P A i i i -> i")
def call_target(P, A, call, node, regs):
    """The node that a call calls for these registers, or -1 when none may follow."""
    select = P[call + CALL_SELECT]
    if select == SELECT_NODE:
        return P[call + CALL_NODE]
    shape = P[node + F_SHAPE]
    if select == SELECT_KEY:
        return P[shape + O_LEXEME]
    if select == SELECT_VALUE:
        label, keys = A[regs + G_KEY], P[shape + O_KEYS]
        return P[P[shape + O_VALUES] + label] if label < keys else P[P[shape + O_EXTRA_VALUES] + label - keys]
    if not may_continue(P, A, SHAPE_ARRAY, shape, regs):
        return -1
    count = A[regs]
    return P[P[shape + Y_PREFIX] + count] if count < P[shape + Y_PREFIX_COUNT] else P[shape + Y_REST]


@kernel("P A i i i i i i i -> i")
def make_call(P, A, n, call, node, regs, parent, level, byte):
    """Push what a call leads to: its node, asked to start with the byte, and for a node that may be empty also the state
    after it. Returns the scratch count."""
    returns, target = P[call + CALL_RETURNS], call_target(P, A, call, node, regs)
    if P[call + CALL_NULLABLE] != 0:
        set_row(A, push_scratch(A, n), node, returns, regs, parent, level)
        n += 1
    if target < 0 or not starts_with_byte(P, target, byte):
        return n
    if P[call + CALL_SELECT] == SELECT_ITEM:
        count = A[regs]
        regs = allocate(A, 1)
        if regs == 0:
            return n
        A[regs] = count + 1
    caller = push_frame(P, A, node, returns, regs, parent, level)
    if caller == 0:
        return n
    set_row(A, push_scratch(A, n), target, ENTER, -1, caller, level + 1)
    return n + 1


@kernel("P A C i i -> b")
def first_bytes_of(P, A, C, first, last):
    """Write to A_FIRST the bytes that configurations first..last-1 can read, if that can be told at once: for frames that
    must read something before they end."""
    for k in range(8):
        A[A_FIRST + k] = 0
    for c in range(first, last):
        row = c * CW
        node, state = C[row + NODE], C[row + STATE]
        if node == DONE or P[node] != K_FRAME or P[state + S_FLAGS] & FLAG_FINAL != 0:
            return False
        if P[state + S_NEWLINES] >= 0:
            A[A_FIRST] |= 1 << 9 | 1 << 10 | 1 << 13
            A[A_FIRST + 1] |= 1
        for k in range(P[state + S_EDGES]):
            byte = P[state + S_EDGE_LIST + 2 * k]
            value = 1 << (byte & 31)
            A[A_FIRST + (byte >> 5)] |= value - 0x100000000 if value >= 0x80000000 else value
        for k in range(P[state + S_CALLS]):
            call = P[state + S_CALL_LIST] + k * CALL_SIZE
            if P[call + CALL_NULLABLE] != 0:
                return False
            target = call_target(P, A, call, node, C[row + REGS])
            if target >= 0:
                for j in range(8):
                    A[A_FIRST + j] |= P[P[target + N_FIRST] + j]
    return True


@kernel("P i i -> b")
def starts_with_byte(P, node, byte):
    """Whether `byte` is among the possible first bytes of a node."""
    return bit(P, P[node + N_FIRST], byte) != 0


@kernel("P A i i i i i -> i")
def push_frame(P, A, node, returns, regs, parent, level):
    """Arena row to return to; a call in last place needs none of its own (0: the arena must grow)."""
    if P[returns + S_FLAGS] & FLAG_CLOSED != 0 and parent >= 0:
        return parent
    caller = allocate(A, R_SIZE)
    if caller != 0:
        A[caller + R_NODE] = node
        A[caller + R_STATE] = returns
        A[caller + R_REGS] = regs
        A[caller + R_PARENT] = parent
        A[caller + R_LEVEL] = level
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
        regs = allocate(A, 1)
        if regs != 0:
            A[regs] = 0
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


@kernel("P A C i -> v")
def merge(P, A, C, first):
    """Make one of the configurations from number `first` on that differ in nothing but the frame they return to.

    They read the same from here on, so one of them goes on for all, with a *fork* of the frames to return to. The number of
    configurations is then bounded by the grammar, not by the ways to have come here.
    """
    out = A[A_OUT]
    kept = first + 1
    for c in range(first + 1, out):
        mine, fresh = c * CW, True
        for other in range(first, kept):
            row = other * CW
            if C[row + NODE] == C[mine + NODE] and C[row + STATE] == C[mine + STATE] and alike(P, A, C, row, mine):
                if C[row + PARENT] != C[mine + PARENT]:
                    fork = allocate(A, R_SIZE)
                    if fork == 0:
                        return
                    A[fork + R_NODE], A[fork + R_STATE], A[fork + R_PARENT] = FORK, C[mine + PARENT], C[row + PARENT]
                    store_hash(A, fork, fork_hash(A, C[mine + PARENT], C[row + PARENT]))
                    C[row + PARENT] = fork
                fresh = False
                break
        if fresh:
            if kept != c:
                for k in range(CW):
                    C[kept * CW + k] = C[mine + k]
            kept += 1
    A[A_OUT] = kept


@kernel("P A C i i -> b")
def alike(P, A, C, row, mine):
    """Whether two configurations of one node and state are equal but for the frame they return to."""
    node = C[row + NODE]
    for k in range(LO, TEXT + 1):
        if C[row + k] != C[mine + k]:
            return False
    if C[row + LEVEL] != C[mine + LEVEL]:
        return False
    if node != DONE and P[node] == K_LEXEME:
        # which keys are left is asked of the frame that is returned to
        return P[node + L_SHAPE] < 0 or C[row + PARENT] == C[mine + PARENT]
    first, second = C[row + REGS], C[mine + REGS]
    if first != second:
        kind, shape = P[node + F_SHAPE_KIND], P[node + F_SHAPE]
        size = G_BITS + P[shape + O_WORDS] if kind == SHAPE_OBJECT else 1
        for k in range(size):
            if A[first + k] != A[second + k]:
                return False
    return True


@kernel("P A C T i -> b")
def may_end(P, A, C, T, c):
    """Whether the output may end in configuration number `c`."""
    for k in range(CW):
        A[A_SCRATCH + k] = C[c * CW + k]
    n = 1
    while n > 0 and A[A_STATUS] == 0:
        n -= 1
        row = A_SCRATCH + n * CW
        node, state, parent = A[row + NODE], A[row + STATE], A[row + PARENT]
        if state == RETURN:
            n = hand_back(P, A, C, n)
        elif node == DONE:
            return True
        elif P[node] == K_LEXEME:
            if P[node + L_SKIN] == SKIN_RAW:
                for k in range(CW):
                    A[A_CURRENT + k] = A[row + k]
                n = leave(P, A, C, T, n, A_CURRENT, A[A_POS], ASK)
        else:
            regs, level = A[row + REGS], A[row + LEVEL]
            if P[state + S_FLAGS] & FLAG_FINAL != 0:
                n = push_return(A, n, parent, ASK)
            call = P[state + S_CALL_LIST]
            for _ in range(P[state + S_CALLS]):
                if P[call + CALL_SELECT] == SELECT_NODE and P[call + CALL_NULLABLE] != 0:
                    set_row(A, push_scratch(A, n), node, P[call + CALL_RETURNS], regs, parent, level)
                    n += 1
                call += CALL_SIZE
    return False


@kernel("P A C i i -> i")
def read_content(P, A, C, row, byte):
    """Read a plain byte of content where nothing but the automaton of a JSON string looks at it: the many bytes for which
    `consume` would do the same at length. Returns the configurations appended, or -1 where more is at stake."""
    node, state = C[row + NODE], C[row + STATE]
    if node == DONE or P[node] != K_LEXEME or P[node + L_SKIN] == SKIN_RAW or C[row + ESC] != 0 or state < 0:
        return -1
    if C[row + LO] < C[row + HI] or C[row + TEXT] >= 0 or P[state + D_WORDS] >= 0:
        return -1
    counted = P[node + L_COUNTED]
    if counted != UNCOUNTED and (counted != LOOSE or P[node + L_MAX] >= 0):
        return -1
    target = follow(P, state, byte)
    if target < 0:
        return 0
    out = A[A_OUT] * CW
    if out + CW > len(C):
        A[A_STATUS] = NEED_CONFIGS
        return 0
    for k in range(CW):
        C[out + k] = C[row + k]
    C[out + STATE] = target
    if counted != UNCOUNTED and byte & 0xC0 != 0x80:
        C[out + CHARS] += 1
    A[A_OUT] += 1
    return 1


def _advance(descriptor, first, last, byte):
    """Append what configurations first..last-1 become by reading `byte` (which the text buffer holds at A_POS), merged.

    Returns how many they are; for END, how many of first..last-1 can end here. Sets A_STATUS.
    """
    desc = view_i64(descriptor, E_SIZE)
    P, A, C, T = ints(desc, E_PROGRAM), ints(desc, E_ARENA), ints(desc, E_CONFIGS), octets(desc, E_TEXT)
    if byte == END:
        found = 0
        for c in range(first, last):
            found += 1 if may_end(P, A, C, T, c) else 0
        return found
    start = A[A_OUT]
    if last - first == 1 and byte >= 32 and byte != 34 and byte != 92:
        found = read_content(P, A, C, first * CW, byte)
        if found >= 0:
            return found
    for c in range(first, last):
        consume(P, A, C, T, c, byte)
    if A[A_OUT] - start > 1:
        merge(P, A, C, start)
        if A[A_OUT] - start > desc[E_THREADS]:
            A[A_STATUS] = TOO_MANY_THREADS
    return A[A_OUT] - start


ADVANCE = native_address(_advance, "i i i i -> i")


@kernel("O i i i -> i")
def advance(desc, first, last, byte):
    """Call `_advance`."""
    return call_native(desc[E_ADVANCE], desc[E_SELF], first, last, byte)
