"""Kernels for lexemes of multiples: the remainder of the digits so far, and whether it can still become zero.

See `languages.remainders`. The register is kept in CHARS and ESC of a raw lexeme, 31 bits each.
"""

from __future__ import annotations

from ._kernel import kernel
from .layout import (
    CHARS,
    ESC,
    L_DFA,
    L_MIN,
    M_MODULUS,
    M_OTHER,
    M_OTHERS,
    M_RUNS,
    M_STATE,
    M_STEP,
    N_COUNTS,
    N_ENDS,
    N_FIRST_RUN,
    N_RUNS,
    NODE,
    RUN_DIGITS,
    RUN_FIRST,
    RUN_MORE,
    RUN_SIZE,
    STATE,
)


@kernel("P i -> i")
def double(P, at):
    """A number kept in two ints."""
    return int(P[at]) | int(P[at + 1]) << 31


@kernel("A i -> i")
def remainder_of(A, y):
    """The register of configuration row `y`."""
    return int(A[y + CHARS]) | int(A[y + ESC]) << 31


@kernel("P i i -> i")
def runs_of(P, node, state):
    """Address of the runs of a state."""
    table = P[node + L_MIN]
    return P[P[table + M_RUNS] + (state - P[node + L_DFA]) // P[table + M_STATE]]


@kernel("P A i i -> v")
def feed_digit(P, A, y, byte):
    """Bring the register of configuration row `y` up to date with a byte that its state is about to read."""
    node = A[y + NODE]
    if 48 <= byte <= 57 and P[runs_of(P, node, A[y + STATE]) + N_COUNTS] != 0:
        remainder = (remainder_of(A, y) * 10 + byte - 48) % double(P, P[node + L_MIN] + M_MODULUS)
        A[y + CHARS], A[y + ESC] = remainder & 0x7FFFFFFF, remainder >> 31


@kernel("P i i i -> i")
def shifted(P, table, remainder, digits):
    """The remainder with so many zeros behind it."""
    modulus = double(P, table + M_MODULUS)
    for _ in range(digits):
        remainder = remainder * 10 % modulus
    return remainder


@kernel("P i i -> b")
def admits(P, table, number):
    """Whether a number is a multiple of the step and of none of the others."""
    if number % double(P, table + M_STEP) != 0:
        return False
    for k in range(P[table + M_OTHERS]):
        if number % double(P, table + M_OTHER + 2 * k) == 0:
            return False
    return True


@kernel("P i i i -> b")
def may_end(P, node, state, remainder):
    """Whether a number may end in a state with this remainder."""
    table, ends = P[node + L_MIN], P[runs_of(P, node, state) + N_ENDS]
    return ends >= 0 and admits(P, table, shifted(P, table, remainder, ends))


@kernel("P i i i -> b")
def can_divide(P, node, state, remainder):
    """Whether digits that may follow make a multiple."""
    table, runs = P[node + L_MIN], runs_of(P, node, state)
    modulus, step, tries = double(P, table + M_MODULUS), double(P, table + M_STEP), 1 << P[table + M_OTHERS]
    run, digits = runs + N_FIRST_RUN, 0
    for _ in range(P[runs + N_RUNS]):
        remainder = shifted(P, table, remainder, P[run + RUN_DIGITS] - digits)
        digits = P[run + RUN_DIGITS]
        first = (remainder + double(P, run + RUN_FIRST)) % modulus
        more = (step - first % step) % step
        for _ in range(tries):
            if more > double(P, run + RUN_MORE):
                break
            if admits(P, table, (first + more) % modulus):
                return True
            more += step
        run += RUN_SIZE
    return False
