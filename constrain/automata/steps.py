"""Kernels for one byte: how configurations read it, and whether the output may end in one.

`advance` is the one entry: it moves a range of configurations over a byte, or asks at the end of the output whether it may
end. It is compiled apart and called by address, since inlining it into every walk would compile it a dozen times.

`consume` appends to the configuration array every way to read one byte from one configuration: a lexeme that may end here
hands over to its caller, a frame tries its edges and calls, a call starts its node.
"""

from __future__ import annotations

from ._kernel import kernel
from .content import is_content, read_content
from .escapes import escape_step
from .frames import call_ahead, enter, read_frame
from .layout import (
    A_CURRENT,
    A_OUT,
    A_POS,
    A_SCRATCH,
    A_STATUS,
    A_STEP,
    A_WORK,
    ASK,
    CALL,
    CALL_NULLABLE,
    CALL_RETURNS,
    CALL_SELECT,
    CALL_SIZE,
    CW,
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
    FLAG_FINAL,
    K_LEXEME,
    L_SKIN,
    LEAVE,
    LEVEL,
    NEED_CONFIGS,
    NODE,
    OK,
    P_COMPARES,
    PARENT,
    READ,
    REGS,
    RETURN,
    S_CALL_LIST,
    S_CALLS,
    S_FLAGS,
    SELECT_NODE,
    SKIN_RAW,
    STATE,
    SYMBOL,
    TOO_MANY_THREADS,
    WORK,
)
from .lexemes import feed, feed_code
from .rows import emit, hand_back, leave, merge, push_return, push_scratch, set_row
from .uniqueness import keep_possible
from .viability import escape_viable, viable
from .views import call_native, ints, octets, view_i64

MOST_AHEAD = 12  # configurations that calls are made to ahead


@kernel("P A C T i i i -> v")
def consume(P, A, C, T, c, byte, most):
    """Append every configuration that reading `byte` from configuration number `c` leads to. T[A_POS] holds the byte.

    most: rows that the step may look at. Calls that begin with each other in many ways could multiply without end.
    """
    for k in range(CW):
        A[A_SCRATCH + k] = C[c * CW + k]
    n = 1
    while n > 0 and A[A_STATUS] == 0:
        A[A_WORK] += 1
        if A[A_WORK] > most:
            A[A_STATUS] = TOO_MANY_THREADS
            return
        n -= 1
        row = A_SCRATCH + n * CW
        node, state = A[row + NODE], A[row + STATE]
        if state == RETURN:
            n = hand_back(P, A, C, T, n)
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
            n = read_frame(P, A, C, T, n, byte)


@kernel("P A C T i i -> i")
def read_raw(P, A, C, T, n, byte):
    """A raw lexeme goes on with the byte, and where it may end its caller gets the byte. Returns the scratch count."""
    row = A_SCRATCH + n * CW
    for k in range(CW):
        A[A_CURRENT + k] = A[row + k]
    if byte < SYMBOL:
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
    if byte >= SYMBOL:
        return n
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
            n = hand_back(P, A, C, T, n)
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


@kernel("P A C T i -> v")
def let_go(P, A, C, T, c):
    """Append the frames that configuration number `c`, a raw lexeme that may end, hands over to: they wait for a byte."""
    if C[c * CW + NODE] == DONE or P[C[c * CW + NODE]] != K_LEXEME or P[C[c * CW + NODE] + L_SKIN] != SKIN_RAW:
        return
    for k in range(CW):
        A[A_CURRENT + k] = C[c * CW + k]
    n = leave(P, A, C, T, 0, A_CURRENT, A[A_POS], EMIT)
    while n > 0 and A[A_STATUS] == 0:
        n = hand_back(P, A, C, T, n - 1)


@kernel("P A C i i -> i")
def make_calls(P, A, C, first, last):
    """Append configurations first..last-1, and what their calls begin with; how many, or 0 where no call was made."""
    start, made = A[A_OUT], 0
    if P[P_COMPARES] != 0:
        return 0
    if (start + last - first) * CW > len(C):
        A[A_STATUS] = NEED_CONFIGS
        return 0
    for k in range((last - first) * CW):
        C[start * CW + k] = C[first * CW + k]
    A[A_OUT] = start + last - first
    c = start
    while c < A[A_OUT] and A[A_OUT] - start <= MOST_AHEAD and A[A_STATUS] == OK:
        node, state = C[c * CW + NODE], C[c * CW + STATE]
        if node != DONE and P[node] != K_LEXEME and P[state + S_CALLS] > 0 and call_ahead(P, A, C, c):
            made += 1
        c += 1
    return A[A_OUT] - start if made > 0 and A[A_OUT] - start <= MOST_AHEAD else 0


@kernel("A -> v")
def begin_step(A):
    """Number the step: what rows have noted of earlier ones holds no more."""
    A[A_WORK] = 0
    if A[A_STEP] == 0x7FFFFFFF:
        A[A_STEP] = 0
        A[A_STEP + 1] += 1
    A[A_STEP] += 1


def advance_all(descriptor, first, last, byte):
    """Append what configurations first..last-1 become by reading `byte` (which the text buffer holds at A_POS) or a symbol, merged.

    Returns how many they are; for END, how many of first..last-1 can end here; for LEAVE, how many frames wait where raw
    lexemes end here; for CALL, how many configurations they are with their calls made, 0 where none was. Sets A_STATUS.
    """
    desc = view_i64(descriptor, E_SIZE)
    P, A, C, T = ints(desc, E_PROGRAM), ints(desc, E_ARENA), ints(desc, E_CONFIGS), octets(desc, E_TEXT)
    if byte == END:
        found = 0
        for c in range(first, last):
            begin_step(A)
            found += 1 if may_end(P, A, C, T, c) else 0
        return found
    start, most = A[A_OUT], desc[E_THREADS]
    if byte == LEAVE:
        begin_step(A)
        for c in range(first, last):
            let_go(P, A, C, T, c)
        if A[A_OUT] - start > 1:
            merge(P, A, C, start, desc[E_THREADS])
        return A[A_OUT] - start
    if byte == CALL:
        return make_calls(P, A, C, first, last)
    if last - first == 1 and byte < SYMBOL and is_content(P, A, C, first * CW, byte):
        found = read_content(P, A, C, first * CW, byte)
        if found >= 0:
            return found
    begin_step(A)
    for c in range(first, last):
        consume(P, A, C, T, c, byte, most * WORK)
    if A[A_OUT] - start > 1:
        merge(P, A, C, start, most)
        if A[A_OUT] - start > most:
            A[A_STATUS] = TOO_MANY_THREADS
    keep_possible(P, A, C, T, start)
    return A[A_OUT] - start


@kernel("O i i i -> i")
def advance(desc, first, last, byte):
    """Call `advance_all`, compiled apart (native_advance)."""
    return call_native(desc[E_ADVANCE], desc[E_SELF], first, last, byte)
