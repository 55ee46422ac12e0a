"""Kernels on rows: the configurations of parallel threads, and the frames that they return to.

A configuration is one parallel thread (layout.py). Rows that a step still has to look at wait in the arena's scratch
space; finished ones are emitted. Giving control back goes through a scratch row too, since one lexeme may return to
several frames: configurations that differ in nothing else are merged into one with a *fork* of frames to return to.
"""

from __future__ import annotations

from ._kernel import kernel
from .cells import allocate
from .hashes import fork_hash, store_hash
from .items import landing
from .keys import close_key
from .layout import (
    A_OUT,
    A_POS,
    A_SCRATCH,
    A_STATUS,
    A_STEP,
    CW,
    DONE,
    EMIT,
    F_SHAPE,
    F_SHAPE_KIND,
    FLAG_CLOSED,
    FORK,
    G_BITS,
    K_LEXEME,
    L_SHAPE,
    LEVEL,
    LO,
    MODE,
    NEED_CONFIGS,
    NODE,
    O_REGISTERS,
    PARENT,
    R_COMPARES,
    R_HASH,
    R_LEVEL,
    R_NODE,
    R_PARENT,
    R_REGS,
    R_SEEN,
    R_SIZE,
    R_STATE,
    READ,
    REGS,
    RETURN,
    S_FLAGS,
    SCRATCH_CAP,
    SHAPE_ARRAY,
    SHAPE_OBJECT,
    STATE,
    TEXT,
    TOO_MANY_THREADS,
    U_ITEM,
    U_ITEMS,
    V_NEXT,
    V_START,
    Y_COMPARED,
)
from .lexemes import complete


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


@kernel("P A C T i -> i")
def hand_back(P, A, C, T, n):
    """Give control back as scratch row `n` asks: to every frame of a fork; a frame that ends there returns in turn;
    below the outermost one the output is complete. A step gives control back to a row once in each way: however many
    ways lead there, it goes on alike. Returns the scratch count."""
    row = A_SCRATCH + n * CW
    parent, mode = A[row + PARENT], A[row + MODE]
    while parent >= 0:
        if is_seen(A, parent, mode):
            return n
        if A[parent + R_NODE] == FORK:
            n = push_return(A, n, A[parent + R_PARENT], mode)
            row = push_scratch(A, n)
            parent = A[parent + R_STATE]
            continue
        state = A[parent + R_STATE]
        if P[state + S_FLAGS] & FLAG_CLOSED == 0:
            break
        parent = A[parent + R_PARENT]
    regs = A[parent + R_REGS] if parent >= 0 else 0
    if parent >= 0 and A[parent + R_COMPARES] == parent:
        state, regs = landing(P, A, T, parent, A[A_POS] + 1 if mode == EMIT else A[A_POS])
        if state < 0:
            return n
    if parent < 0:
        if mode == READ:
            return n  # nothing can follow the complete output
        set_row(A, row, DONE, 0, -1, -1, 0)
        if mode == EMIT:
            emit(A, C, row)
            return n
        return n + 1
    set_row(A, row, A[parent + R_NODE], state, regs, A[parent + R_PARENT], A[parent + R_LEVEL])
    if mode == EMIT:
        emit(A, C, row)
        return n
    return n + 1


@kernel("A i i -> b")
def is_seen(A, row, mode):
    """Whether the step under way has given control back to an arena row in this mode already; from now on it has."""
    low, high, way = A[A_STEP], A[A_STEP + 1], 1 << mode
    seen = A[row + R_SEEN + 1]
    if A[row + R_SEEN] != low or seen >> 3 != high:
        A[row + R_SEEN], A[row + R_SEEN + 1] = low, high << 3 | way
        return False
    A[row + R_SEEN + 1] = seen | way
    return seen & way != 0


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


@kernel("P A C i i -> v")
def merge(P, A, C, first, most):
    """Make one of the configurations from number `first` on that differ in nothing but the frame they return to.

    They read the same from here on, so one of them goes on for all, with a *fork* of the frames to return to. The
    number of configurations is then bounded by the grammar, not by the ways to have come here; that of frames to return
    to may grow with the text, up to `most`.
    """
    out = A[A_OUT]
    kept = first + 1
    for c in range(first + 1, out):
        mine, fresh = c * CW, True
        for other in range(first, kept):
            row = other * CW
            if C[row + NODE] == C[mine + NODE] and C[row + STATE] == C[mine + STATE] and alike(P, A, C, row, mine):
                mixed = C[row + PARENT] != C[mine + PARENT]
                if mixed and (in_compared(A, C[row + PARENT]) or in_compared(A, C[mine + PARENT])):
                    if not same_frames(A, C[row + PARENT], C[mine + PARENT]):
                        continue  # each must end unlike its own earlier items
                parent = with_parents(A, C[row + PARENT], C[mine + PARENT], most)
                if parent == 0:
                    return
                C[row + PARENT] = parent
                fresh = False
                break
        if fresh:
            if kept != c:
                for k in range(CW):
                    C[kept * CW + k] = C[mine + k]
            kept += 1
    A[A_OUT] = kept


@kernel("A i -> b")
def in_compared(A, parent):
    """Whether what returns to an arena row lies in an item that is compared."""
    return parent >= 0 and A[parent + R_COMPARES] != 0


@kernel("A i i -> b")
def same_items(A, first, second):
    """Whether two lists of items of one text are equal."""
    while first != second:
        if first == 0 or second == 0 or A[first + V_START] != A[second + V_START]:
            return False
        first, second = A[first + V_NEXT], A[second + V_NEXT]
    return True


@kernel("A i i i -> i")
def with_parents(A, known, more, most):
    """The frames to return to of `known` and those of `more`, as one row; each once (0: the arena must grow, or they
    are more than `most`)."""
    while True:
        is_fork = more >= 0 and A[more + R_NODE] == FORK
        one = A[more + R_STATE] if is_fork else more
        count = frames_unlike(A, known, one)
        if count > 0:
            if count >= most:
                A[A_STATUS] = TOO_MANY_THREADS
                return 0
            fork = allocate(A, R_SIZE)
            if fork == 0:
                return 0
            A[fork + R_COMPARES] = A[fork + R_SEEN] = A[fork + R_SEEN + 1] = 0
            A[fork + R_NODE], A[fork + R_STATE], A[fork + R_PARENT] = FORK, one, known
            store_hash(A, fork, fork_hash(A, one, known))
            known = fork
        if not is_fork:
            return known
        more = A[more + R_PARENT]


@kernel("A i i -> i")
def frames_unlike(A, known, one):
    """How many frames to return to `known` stands for; 0 if row `one` is among them."""
    count = 1
    while known >= 0 and A[known + R_NODE] == FORK:
        if same_frames(A, A[known + R_STATE], one):
            return 0
        known = A[known + R_PARENT]
        count += 1
    return 0 if same_frames(A, known, one) else count


@kernel("A i i -> b")
def same_frames(A, first, second):
    """Whether two rows are the same frame in the same frames: called anew at each byte, one call has many rows."""
    while first != second:
        if first < 0 or second < 0 or A[first + R_NODE] == FORK:
            return False
        if A[first + R_HASH] != A[second + R_HASH] or A[first + R_HASH + 1] != A[second + R_HASH + 1]:
            return False
        for k in range(R_NODE, R_REGS + 1):
            if A[first + k] != A[second + k]:
                return False
        if A[first + R_LEVEL] != A[second + R_LEVEL]:
            return False
        first, second = A[first + R_PARENT], A[second + R_PARENT]
    return True


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
        size = G_BITS + P[shape + O_REGISTERS] if kind == SHAPE_OBJECT else 1
        if kind == SHAPE_ARRAY and P[shape + Y_COMPARED] != 0:
            if A[first + U_ITEM] != A[second + U_ITEM] or not same_items(A, A[first + U_ITEMS], A[second + U_ITEMS]):
                return False
        for k in range(size):
            if A[first + k] != A[second + k]:
                return False
    return True
