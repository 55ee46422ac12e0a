"""Kernels that write the mask of a matcher's state, from what is ready and what is walked.

All take the matcher's descriptor (layout.py).
"""

from __future__ import annotations

from ._kernel import kernel
from .bits import add_row, clear, clear_bit, set_bit
from .cached import keep, look_up
from .hashes import key_of
from .layout import (
    A_BEGIN,
    A_END,
    A_NEED,
    A_OUT,
    A_POS,
    A_STATUS,
    A_TOP,
    A_WANTED,
    BLANKS,
    CALL,
    CHARS,
    CW,
    D_EVERYTHING,
    D_LABEL,
    D_MASK,
    D_WORDS,
    DEPTH,
    DONE,
    E_ARENA,
    E_CLOSERS,
    E_CONFIGS,
    E_FLAT,
    E_LEAN,
    E_LENGTHS,
    E_LONG,
    E_LONG_TAILS,
    E_MASKS,
    E_OFFSETS,
    E_PROGRAM,
    E_QUOTED,
    E_RAW_LENGTHS,
    E_SPACES,
    E_SYMBOLS,
    E_TAILS,
    E_TEXT,
    E_TRIE,
    E_WORDS,
    ESC,
    G_EXTRA,
    HI,
    K_FRAME,
    K_LEXEME,
    L_COUNTED,
    L_GOES_ON,
    L_LEAST,
    L_MAX,
    L_MIN,
    L_SHAPE,
    L_SKIN,
    LEAVE,
    LEVEL,
    LO,
    LONG_SIZE,
    LOOSE,
    NEED_CONFIGS,
    NEED_MASK,
    NEED_NODES,
    NEWLINES,
    NODE,
    O_ALL_LABELS,
    OK,
    P_COMPARES,
    PARENT,
    R_REGS,
    REACH,
    REFUSED,
    S_BASE,
    S_LEVEL,
    S_NEWLINES,
    SKIN_JSON,
    SKIN_RAW,
    SOFT,
    SPACE_ROWS,
    STATE,
    SYMBOL,
    TEXT,
    TIGHT,
    UNCOUNTED,
)
from .lexemes import follow, within_bounds
from .lookahead import alone
from .reading import read_input, settle
from .rows import in_compared
from .steps import advance
from .uniqueness import in_doubt
from .views import ints, octets, view_i64
from .walks import ALL, CORRECTED, LEAVING, OWN, WORDS, is_like_taken, is_taken, walk

# Ways to make the mask of a configuration (way_of, string_way)
PLAIN, READY, FREE, BOUNDED, NEAR = 0, 1, 2, 3, 4
NO_MASK = -1
FEW_LONGER = 24  # characters that only few tokens have


@kernel("O M -> i")
def fill_mask(desc, mask):
    """Write the mask, without stop tokens. Returns a status; on NEED_* nothing of the matcher has changed and the call is
    repeated when it was given what it needs.

    What several configurations allow together is what one of them allows. Inside strings most of it is ready.
    """
    A = ints(desc, E_ARENA)
    top, first, last = A[A_TOP], A[A_BEGIN], A[A_END]
    A[A_NEED], A[A_STATUS] = 0, OK
    clear(mask)
    plain = count_plain(desc, first, last)
    if plain == last - first:
        # frames may wait to call a lexeme that is ready
        count = advance(desc, first, last, CALL)
        if A[A_STATUS] == OK and A[A_NEED] == 0 and count > 0:
            more = count_plain(desc, last, last + count)
            if more < count:
                A[A_BEGIN], A[A_END], plain = last, last + count, more
    if A[A_STATUS] == OK and A[A_NEED] == 0:
        if plain < 0:
            A[A_STATUS] = NEED_MASK
        else:
            fill_from(desc, plain, mask)
    A[A_BEGIN], A[A_END] = first, last
    settle(desc, top)
    if A[A_STATUS] != OK:
        return A[A_STATUS]
    return NEED_NODES if A[A_NEED] > 0 else OK


@kernel("O i i -> i")
def count_plain(desc, first, last):
    """How many of configurations first..last-1 need a walk over all tokens; -1, and which in A_WANTED, where a ready mask
    must be made first."""
    P, A, C = ints(desc, E_PROGRAM), ints(desc, E_ARENA), ints(desc, E_CONFIGS)
    plain = 0
    for c in range(first, last):
        if way_of(desc, P, A, C, c * CW, last - first == 1) == PLAIN:
            plain += 1
        elif P[C[c * CW + STATE] + D_MASK] < 0:
            A[A_WANTED] = C[c * CW + STATE]
            return -1
    return plain


@kernel("O i M -> v")
def fill_from(desc, plain, mask):
    """Write the mask of the configurations A_BEGIN..A_END-1, of which so many need a walk."""
    P, A, C = ints(desc, E_PROGRAM), ints(desc, E_ARENA), ints(desc, E_CONFIGS)
    top, first, last = A[A_TOP], A[A_BEGIN], A[A_END]
    A[A_OUT] = last
    if plain == last - first:
        if spaced_alike(P, C, first, last):
            fill_spaced(desc, first, last, mask)
        else:
            aim = OWN if fill_after(desc, first, last, mask) else ALL
            if A[A_STATUS] == OK:
                walk(desc, E_TRIE, first, last, 0, desc[E_TRIE + 1], aim, mask)
    else:
        c = first
        while c < last and A[A_STATUS] == OK:
            way, following = way_of(desc, P, A, C, c * CW, last - first == 1), c + 1
            settle(desc, top)
            if way == PLAIN:
                while following < last and way_of(desc, P, A, C, following * CW, False) == PLAIN:
                    following += 1
                walk(desc, E_TRIE, c, following, 0, desc[E_TRIE + 1], ALL, mask)
            else:
                fill_string(desc, c, way, mask)
            c = following
    for token in ints(desc, E_SYMBOLS):
        settle(desc, top)
        if A[A_STATUS] == OK and advance(desc, first, last, SYMBOL + token) > 0:
            set_bit(mask, token)


@kernel("O i i M -> b")
def fill_after(desc, first, last, mask):
    """Where raw lexemes may end and nothing but whitespace and one kind of frame can follow: write what can follow them.

    Such frames are met again and again, after any value, so their masks are looked up and kept.
    """
    P, A, C = ints(desc, E_PROGRAM), ints(desc, E_ARENA), ints(desc, E_CONFIGS)
    top, begin = A[A_TOP], A[A_OUT]
    for c in range(first, last):
        if P[P_COMPARES] != 0 or C[c * CW + NODE] == DONE or P[C[c * CW + NODE]] != K_LEXEME:
            return False
    if advance(desc, first, last, LEAVE) == 0 or A[A_STATUS] != OK or not spaced_alike(P, C, begin, A[A_OUT]):
        settle(desc, top)
        return False
    key = key_of(desc, begin, A[A_OUT])
    if key == 0 or not look_up(desc, mask, key):
        fill_spaced(desc, begin, A[A_OUT], mask)
        if key != 0 and A[A_STATUS] == OK and A[A_NEED] == 0:
            keep(desc, mask, key)
    settle(desc, top)
    return True


@kernel("P C i i -> b")
def spaced_alike(P, C, first, last):
    """Whether all configurations are frames in the same whitespace run, of which no short token reaches the bound."""
    row = first * CW
    for c in range(first, last):
        mine = c * CW
        node, state = C[mine + NODE], C[mine + STATE]
        if node == DONE or P[node] != K_FRAME:
            return False
        newlines = P[state + S_NEWLINES]
        room = P[state + S_BASE] + P[state + S_LEVEL] * C[mine + LEVEL] - C[mine + BLANKS]
        if newlines < 0 or newlines >= SPACE_ROWS or newlines < C[mine + NEWLINES] or room < SOFT:
            return False
        other = C[row + STATE]
        if newlines != P[other + S_NEWLINES] or C[mine + NEWLINES] != C[row + NEWLINES]:
            return False
        if room != P[other + S_BASE] + P[other + S_LEVEL] * C[row + LEVEL] - C[row + BLANKS]:
            return False
    return True


@kernel("O i i M -> v")
def fill_spaced(desc, first, last, mask):
    """Write the mask of frames in the same whitespace run: what a token says after the blanks that it begins with is walked
    once for all tokens that say it."""
    P, C = ints(desc, E_PROGRAM), ints(desc, E_CONFIGS)
    words, rows, long = desc[E_WORDS], ints(desc, E_SPACES), ints(desc, E_LONG)
    row = first * CW
    state = C[row + STATE]
    newlines = P[state + S_NEWLINES] - C[row + NEWLINES]
    room = P[state + S_BASE] + P[state + S_LEVEL] * C[row + LEVEL] - C[row + BLANKS]
    walk(desc, E_LEAN, first, last, 0, desc[E_LEAN + 1], ALL, mask)
    more, only, rest = newlines * words, (newlines + SPACE_ROWS) * words, 2 * SPACE_ROWS * words
    for k in range(words):
        mask[k] = mask[k] & (rows[more + k] | rows[rest + k]) | rows[only + k]
    for k in range(0, len(long), LONG_SIZE):
        token = long[k]
        if long[k + 1] > newlines or long[k + 2] > room:
            clear_bit(mask, token)
        elif long[k + 3] != 0:
            set_bit(mask, token)


@kernel("O P A C i b -> i")
def way_of(desc, P, A, C, row, single):
    """How the mask of a configuration is made, the only one if `single`: string_way, or for a raw lexeme PLAIN, READY,
    BOUNDED or NEAR. Raw ones are ready where it can be told what follows them: the tokens that leave them are walked."""
    node = C[row + NODE]
    if node == DONE or P[node] != K_LEXEME or P[node + L_SKIN] == SKIN_JSON:
        return string_way(desc, P, A, C, row, single)
    state = C[row + STATE]
    if state < 0 or P[state + D_MASK] == NO_MASK or not alone(P, A, C, row):
        return PLAIN
    return READY if P[node + L_COUNTED] == UNCOUNTED else counted_way(desc, P, C, row)


@kernel("O P C i -> i")
def counted_way(desc, P, C, row):
    """The same for a lexeme with bounds and without words: PLAIN, READY, BOUNDED or NEAR."""
    node = C[row + NODE]
    counted, most = P[node + L_COUNTED], P[node + L_MAX]
    if counted == TIGHT or desc[E_LONG_TAILS] > 1:
        return PLAIN
    if counted == LOOSE:
        return READY if most < 0 else BOUNDED
    # far from its bounds no token can tell
    if C[row + CHARS] < P[node + L_MIN] and P[node + L_GOES_ON] == 0:
        return PLAIN
    if most < 0 or most - C[row + CHARS] > 2 * REACH:
        return READY
    few = most - C[row + CHARS] - P[node + L_LEAST] >= FEW_LONGER
    return NEAR if few or P[node + L_SHAPE] < 0 else PLAIN


@kernel("O P A C i b -> i")
def string_way(desc, P, A, C, row, single):
    """How the mask of a configuration is made.

    PLAIN    by a walk over all tokens
    READY    the tokens that stay inside the string are ready; those with a quote are walked
    FREE     the same in a string that may be anything; what follows its end does not depend on the rest of its content,
             so the tokens that end it are looked at by what follows the quote only
    BOUNDED  as READY, where a length bound alone may end the string: with the tokens of so many characters at most
    NEAR     as BOUNDED, where the automaton may need some characters more: the few tokens that leave no room for these are
             followed one by one
    Where the string may also spell a word of the lexeme, or a key that is taken, some tokens are decided anew; this takes
    tokens back, so the configuration must be the `single` one of the mask.
    """
    node = C[row + NODE]
    if node == DONE or P[node] != K_LEXEME or P[node + L_SKIN] != SKIN_JSON or C[row + ESC] != 0:
        return PLAIN
    state = C[row + STATE]
    if state < 0 or P[state + D_MASK] == NO_MASK:
        return PLAIN
    anything = P[state + D_WORDS] == D_EVERYTHING and P[state + D_LABEL] >= 0
    words_left = C[row + LO] < C[row + HI]
    if not single and C[row + TEXT] >= 0 and P[state + D_WORDS] >= 0:
        return PLAIN
    counted, most = P[node + L_COUNTED], P[node + L_MAX]
    if C[row + TEXT] >= 0 and A[A[C[row + PARENT] + R_REGS] + G_EXTRA] != P[P[node + L_SHAPE] + O_ALL_LABELS]:
        return PLAIN  # only keys of some labels
    compared = in_compared(A, C[row + PARENT])
    doubt = in_doubt(P, A, C, octets(desc, E_TEXT), row) if compared else 0
    if doubt == 2:
        return PLAIN
    if doubt == 1:
        endless = anything and (counted == UNCOUNTED or (counted == LOOSE and most < 0))
        if not endless and not (anything and counted == LOOSE and most - C[row + CHARS] > 2 * REACH):
            return PLAIN
        if C[row + TEXT] >= 0:
            return PLAIN
    if counted != UNCOUNTED:
        return PLAIN if words_left else counted_way(desc, P, C, row)
    if not anything or compared:
        return READY
    if C[row + TEXT] >= 0 and (desc[E_LONG_TAILS] != 0 or not single or is_taken(P, A, C, octets(desc, E_TEXT), row)):
        return READY  # a key that must not repeat an additional one
    return FREE if single or not words_left else READY


@kernel("O i i M -> v")
def fill_string(desc, c, way, mask):
    """Add to `mask` what configuration number `c`, inside a string or another lexeme, allows."""
    P, A, C = ints(desc, E_PROGRAM), ints(desc, E_ARENA), ints(desc, E_CONFIGS)
    row, words = c * CW, desc[E_WORDS]
    node, state = C[row + NODE], C[row + STATE]
    raw = P[node + L_SKIN] == SKIN_RAW
    place = E_RAW_LENGTHS if raw else E_LENGTHS
    if way == BOUNDED:
        rows = desc[place + 1] // words
        left = min(P[node + L_MAX] - C[row + CHARS], rows - 1)
        inside, short = P[state + D_MASK] * words, left * words
        masks, lengths = ints(desc, E_MASKS), ints(desc, place)
        for k in range(words):
            mask[k] |= masks[inside + k] & lengths[short + k]
    elif way == NEAR:
        fill_near(desc, c, place, mask)
        if A[A_STATUS] != OK:
            return
    else:
        add_row(mask, ints(desc, E_MASKS), P[state + D_MASK], words)
    if raw:
        A[A_OUT] = A[A_END]
        walk(desc, E_TRIE, c, c + 1, 0, desc[E_TRIE + 1], LEAVING, mask)
        return
    if way == FREE:
        end_string(desc, c, mask)
    else:
        # exact for all tokens with a quote, whether they end the string or spell a quote inside
        walk(desc, E_QUOTED, c, c + 1, 0, desc[E_QUOTED + 1], ALL, mask)
    # words and keys that are taken matter to tokens that end the string; to others where it may not be anything
    anything = P[state + D_WORDS] == D_EVERYTHING and P[state + D_LABEL] >= 0
    if A[A_STATUS] != OK or (anything and way != FREE):
        return
    if C[row + LO] < C[row + HI] or is_like_taken(P, A, C, octets(desc, E_TEXT), row, A[A_POS]):
        A[A_OUT] = A[A_END]
        if anything:
            walk(desc, E_QUOTED, c, c + 1, 0, desc[E_QUOTED + 1], CORRECTED, mask)
        else:
            finite = C[row + TEXT] >= 0 and P[state + D_WORDS] >= 0
            walk(desc, E_TRIE, c, c + 1, 0, desc[E_TRIE + 1], CORRECTED if finite else WORDS, mask)


@kernel("O i i M -> v")
def fill_near(desc, c, place, mask):
    """Add the tokens that stay inside the string of configuration `c` and leave room for what its automaton still needs.

    place: of the masks of tokens by their lengths."""
    P, A, C = ints(desc, E_PROGRAM), ints(desc, E_ARENA), ints(desc, E_CONFIGS)
    row, words = c * CW, desc[E_WORDS]
    node, rows = C[row + NODE], desc[place + 1] // desc[E_WORDS]
    left = P[node + L_MAX] - C[row + CHARS]
    inside = P[C[row + STATE] + D_MASK] * words
    sure, most = min(left - P[node + L_LEAST], rows - 1) * words, min(left, rows - 1) * words
    masks, lengths = ints(desc, E_MASKS), ints(desc, place)
    flat, offsets = octets(desc, E_FLAT), view_i64(desc[E_OFFSETS], desc[E_OFFSETS + 1])
    top, need, raw, key = A[A_TOP], A[A_NEED], P[node + L_SKIN] == SKIN_RAW, P[node + L_SHAPE] >= 0
    for k in range(words):
        safe = lengths[sure + k] if sure >= 0 else 0
        mask[k] |= masks[inside + k] & safe
        doubt = masks[inside + k] & lengths[most + k] & ~safe & ~mask[k]
        if doubt == 0 or need > 0:  # where nodes are needed first, the mask is made again
            continue
        for b in range(32):
            if (doubt >> b) & 1 == 0:
                continue
            token = 32 * k + b
            state, chars = C[row + STATE], C[row + CHARS]
            for i in range(offsets[token], offsets[token + 1]):
                if key or (flat[i] == 92 and not raw):
                    state = -1
                    break
                state = follow(P, state, int(flat[i]))
                chars += 1 if flat[i] & 0xC0 != 0x80 else 0
            if state >= 0:
                if within_bounds(P, node, state, chars):
                    set_bit(mask, token)
                continue
            status, _, _ = read_input(desc, flat, offsets[token], offsets[token + 1], -1)
            settle(desc, top)
            if status == OK:
                set_bit(mask, token)
            elif status != REFUSED:
                A[A_STATUS] = status
                return


@kernel("O i M -> v")
def end_string(desc, c, mask):
    """Add the tokens that end the string of configuration `c`, none of its words being spelled: the same tails for all."""
    A, C, T = ints(desc, E_ARENA), ints(desc, E_CONFIGS), octets(desc, E_TEXT)
    first, base = A[A_END], A[A_POS]
    if (first + 1) * CW > len(C):
        A[A_STATUS] = NEED_CONFIGS
        return
    for k in range(CW):
        C[first * CW + k] = C[c * CW + k]
    C[first * CW + LO] = C[first * CW + HI] = C[first * CW + DEPTH] = 0
    A[A_OUT] = first + 1
    T[base] = 34
    if advance(desc, first, first + 1, 34) > 0 and A[A_STATUS] == OK:
        add_row(mask, ints(desc, E_CLOSERS), 0, desc[E_WORDS])
        A[A_POS] = base + 1
        walk(desc, E_TAILS, first + 1, A[A_OUT], 0, desc[E_TAILS + 1], ALL, mask)
        A[A_POS] = base
