"""The kernel for most bytes, plain content of strings: walks have it inline.

What it leaves open goes to `steps.advance`.
"""

from __future__ import annotations

from ._kernel import kernel
from .layout import (
    A_OUT,
    A_STATUS,
    CHARS,
    CW,
    D_WORDS,
    DONE,
    ESC,
    G_EXTRA,
    HI,
    K_LEXEME,
    L_COUNTED,
    L_SHAPE,
    L_SKIN,
    LO,
    NEED_CONFIGS,
    NODE,
    O_ALL_LABELS,
    P_COMPARES,
    PARENT,
    R_REGS,
    SKIN_RAW,
    STATE,
    UNCOUNTED,
)
from .lexemes import follow, narrow, within_bounds


@kernel("P A C i i -> b")
def is_content(P, A, C, row, byte):
    """Whether a byte is plain content of the JSON string that a configuration is in, and no array asks what it is."""
    if byte < 32 or byte == 34 or byte == 92 or P[P_COMPARES] != 0:
        return False
    return C[row + NODE] != DONE and P[C[row + NODE]] == K_LEXEME and P[C[row + NODE] + L_SKIN] != SKIN_RAW


@kernel("P A C i i -> i")
def read_content(P, A, C, row, byte):
    """Read a byte of plain content where a lexeme surely goes on with it, or surely does not: the many bytes for which
    `consume` would do the same at length. Returns the configurations appended, or -1 where more is at stake."""
    node, state = C[row + NODE], C[row + STATE]
    if node == DONE or P[node] != K_LEXEME or C[row + ESC] != 0 or state < 0:
        return -1
    counted, chars = P[node + L_COUNTED], C[row + CHARS]
    target = follow(P, state, byte)
    if counted != UNCOUNTED:
        chars += 1 if byte & 0xC0 != 0x80 else 0
        if target >= 0 and not within_bounds(P, node, target, chars):
            target = -1
    if P[node + L_SHAPE] >= 0:
        if target < 0 or P[target + D_WORDS] >= 0:
            return -1
        if A[A[C[row + PARENT] + R_REGS] + G_EXTRA] != P[P[node + L_SHAPE] + O_ALL_LABELS]:
            return -1
    elif target < 0:
        return 0 if C[row + LO] >= C[row + HI] else -1
    out = A[A_OUT] * CW
    if out + CW > len(C):
        A[A_STATUS] = NEED_CONFIGS
        return 0
    for k in range(CW):
        C[out + k] = C[row + k]
    if C[row + LO] < C[row + HI]:
        narrow(P, C, out, byte)
    C[out + STATE] = target
    C[out + CHARS] = chars
    A[A_OUT] += 1
    return 1
