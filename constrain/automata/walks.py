"""Kernels over tokens: the mask of all allowed tokens (a walk over the trie), and the step of one token.

The walk goes through the trie in depth-first order. Per depth it keeps the configurations that the bytes so far lead to and
the arena's top, so that going back costs nothing; a subtree whose byte no configuration can read is skipped by its size.

All take the matcher's descriptor (layout.py).
"""

from __future__ import annotations

from ..vocabulary.byte_classes import CLASS_OF, HEIGHT, ILL_FORMED, MOST_HEIGHT
from ._kernel import kernel
from .cached import keep, look_up
from .content import is_content, read_content
from .hashes import config_hash, key_of
from .layout import (
    A_BEGIN,
    A_COMPARES,
    A_END,
    A_NEED,
    A_NEXT,
    A_OUT,
    A_POS,
    A_SET_COUNT,
    A_SETS,
    A_STATUS,
    A_TOKENS,
    A_TOP,
    A_WALK,
    A_WANTED,
    BLANKS,
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
    E_CONTAINING,
    E_FLAT,
    E_HISTORY,
    E_LEAN,
    E_LENGTHS,
    E_LONG,
    E_LONG_TAILS,
    E_MASKS,
    E_OFFSETS,
    E_PROGRAM,
    E_QUOTED,
    E_SPACES,
    E_SYMBOLS,
    E_TAILS,
    E_TEXT,
    E_TRIE,
    E_WALK,
    E_WORDS,
    END,
    ESC,
    F_SHAPE_KIND,
    G_EXTRA,
    G_EXTRAS,
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
    LOOSE_END,
    MANY_SETS,
    NEED_CONFIGS,
    NEED_MASK,
    NEED_NODES,
    NEED_TEXT,
    NEWLINES,
    NODE,
    NOTHING,
    O_ALL_LABELS,
    OK,
    PARENT,
    Q_FROM,
    Q_HASH,
    Q_NEXT,
    Q_SIZE,
    Q_TARGETS,
    Q_TO,
    R_REGS,
    REACH,
    REFUSED,
    S_BASE,
    S_LEVEL,
    S_NEWLINES,
    SET_LISTS,
    SHAPE_NONE,
    SKIN_JSON,
    SKIN_RAW,
    SOFT,
    SPACE_ROWS,
    STATE,
    SYMBOL,
    TEXT,
    TIGHT,
    UNCOUNTED,
    X_BYTES,
    X_NEXT,
)
from .lexemes import allocate, bit, follow, matched, word_byte
from .lookahead import BEYOND_ASCII, IN_JSON, alone, known_loops, loop_of, next_bytes_of, next_of_words, stays
from .mixing import load_hash_at, mix, store_hash_at
from .rows import in_compared, set_row
from .steps import advance
from .uniqueness import in_doubt
from .views import ints, octets, view_i64

# Ways to make the mask of a configuration (string_way)
PLAIN, READY, FREE, BOUNDED, NEAR = 0, 1, 2, 3, 4
FEW_LONGER = 24  # characters that only few tokens have
NO_MASK = -1
# A row of the walk's own stack: configurations from .. to, where new ones go, arena top, end of the subtree, the set that the
# configurations are (0: not kept), whether the bytes that they can read are known, whether they are one that stays as it is
# when it reads a loop, the loops: classes of bytes that some of them can read in any order (two ints), and how many of them;
# whether they are a raw lexeme alone, the bytes that they can read, and those that others read when it ends (8 ints each)
W_FROM, W_TO, W_OUT, W_TOP, W_END, W_SET, W_TOLD, W_STAYS, W_LOOPS, W_ROOM = 0, 1, 2, 3, 4, 5, 6, 7, 8, 10
# and whether what reads loops alone is in the mask already
W_ALONE, W_NEXT, W_AFTER, W_DONE, W_SIZE = 11, 12, 20, 28, 29
ROOM = 16  # sets for which there must be room, lest the arena grow for them
SMALL = 6  # nodes of a subtree that is walked faster than it is thought about
FEW_CLASSES = 10  # masks of classes that are put together in less time than a walk takes
CROWD = 4  # configurations of which nothing is foreseen
# What a walk looks for: all tokens; those that spell words of a lexeme, or go on after one; the same, and tokens that complete
# a word are decided anew, the mask being that of a string which is none; tokens that stay inside a string; tokens of which
# at least one byte belongs to the lexemes themselves
ALL, WORDS, CORRECTED, INSIDE, OWN = 0, 1, 2, 3, 4
# A row of the history: configurations from .. to, arena top and text length before the token
H_BEGIN, H_END, H_TOP, H_POS, H_SIZE = 0, 1, 2, 3, 4


@kernel("M i -> v")
def set_bit(mask, token):
    value = 1 << (token & 31)
    mask[token >> 5] |= value - 0x100000000 if value >= 0x80000000 else value


@kernel("M i -> v")
def clear_bit(mask, token):
    value = 1 << (token & 31)
    mask[token >> 5] &= ~(value - 0x100000000 if value >= 0x80000000 else value)


@kernel("M -> v")
def clear(mask):
    for k in range(len(mask)):
        mask[k] = 0


@kernel("O -> b")
def room_for_walk(desc):
    """Whether the text buffer can take the longest token after what was read."""
    return ints(desc, E_ARENA)[A_POS] + desc[E_WALK + 1] // W_SIZE < desc[E_TEXT + 1]


@kernel("O i i i i -> v")
def set_level(desc, level, first, last, end):
    """A row of the walk's stack: configurations first..last-1 in a subtree up to node `end`; new ones go after the last."""
    A, W = ints(desc, E_ARENA), ints(desc, E_WALK)
    W[level + W_FROM], W[level + W_TO], W[level + W_OUT] = first, last, A[A_OUT]
    W[level + W_TOP], W[level + W_END], W[level + W_SET] = A[A_TOP], end, 0
    W[level + W_TOLD] = W[level + W_STAYS] = W[level + W_LOOPS] = W[level + W_LOOPS + 1] = W[level + W_ALONE] = W[level + W_DONE] = 0


@kernel("O i i i b -> v")
def look_ahead(desc, level, position, words, own):
    """Find out what a level's configurations can read: which bytes next, and which without end. words: a lexeme of which,
    where it is alone, only the words matter, and the keys taken; -1: none. position: of the next byte. own: not what their callers read next."""
    P, A, C, W = ints(desc, E_PROGRAM), ints(desc, E_ARENA), ints(desc, E_CONFIGS), ints(desc, E_WALK)
    first, last = W[level + W_FROM], W[level + W_TO]
    if last - first > CROWD:
        return
    row = first * CW
    if last - first == 1 and C[row + NODE] == words:
        told = next_of_words(P, A, C, octets(desc, E_TEXT), row, position)
    else:
        loops = room = 0
        for c in range(first, last):
            found, most = loop_of(P, A, C, c * CW)
            if found & loops == loops and most >= room:
                loops, room = found, most
        store_hash_at(W, level + W_LOOPS, loops)
        W[level + W_ROOM] = room
        if last - first == 1 and W[level + W_ALONE] == 0 and alone(P, A, C, row):
            W[level + W_ALONE] = 1
            for k in range(8):
                W[level + W_AFTER + k] = A[A_NEXT + k]
        raw = loops != 0 and P[C[row + NODE] + L_SKIN] == SKIN_RAW
        if loops != 0 and last - first == 1 and (not raw or W[level + W_ALONE] != 0) and stays(P, C, row):
            W[level + W_STAYS] = 1
        # what has loops reads nearly everything
        told = (own or (W[level + W_SET] == 0 and loops == 0)) and next_bytes_of(P, A, C, first, last, not own)
    if told:
        W[level + W_TOLD] = 1
        for k in range(8):
            W[level + W_NEXT + k] = A[A_NEXT + k]


@kernel("M M i i -> v")
def set_bits(mask, ids, first, last):
    """Set the bits of the tokens ids[first:last]."""
    for k in range(first, last):
        set_bit(mask, ids[k])


@kernel("O i i -> i")
def keep_set(desc, first, last):
    """The set that equals configurations first..last-1, kept now if it was not yet; 0 where it is not kept.

    Other nodes of the trie lead to the same set, and what a byte makes of it is then known. Kept are frames without
    registers and raw lexemes: in grammars a walk meets few different sets, and most of the trie.
    """
    P, A, C = ints(desc, E_PROGRAM), ints(desc, E_ARENA), ints(desc, E_CONFIGS)
    if A[A_COMPARES] != 0:
        return 0
    h = last - first
    for c in range(first, last):
        node = C[c * CW + NODE]
        if node != DONE and (P[node + F_SHAPE_KIND] != SHAPE_NONE if P[node] == K_FRAME else P[node + L_SKIN] != SKIN_RAW):
            return 0
        one = config_hash(desc, P, A, C, c * CW)
        if one == 0:
            return 0
        h = mix(h, one)
    first_set = A_SETS + (h & (SET_LISTS - 1))
    found = A[first_set]
    while found > 0 and load_hash_at(A, found + Q_HASH) != h:
        found = A[found + Q_NEXT]
    if found > 0 or A[A_SET_COUNT] >= MANY_SETS or A[A_TOP] + ROOM * Q_SIZE > len(A):
        return found
    found = allocate(A, Q_SIZE)
    A[found + Q_NEXT], A[found + Q_FROM], A[found + Q_TO] = A[first_set], first, last
    store_hash_at(A, found + Q_HASH, h)
    told = next_bytes_of(P, A, C, first, last, True)
    for byte in range(256):
        A[found + Q_TARGETS + byte] = NOTHING if told and bit(A, A_NEXT, byte) == 0 else 0
    A[first_set] = found
    A[A_SET_COUNT] += 1
    return found


@kernel("O i M -> i")
def add_loops(desc, loops, mask):
    """Set the tokens that are made of the classes `loops` alone, if these are most classes. Returns 1 if so, else 0."""
    A, words, containing = ints(desc, E_ARENA), desc[E_WORDS], ints(desc, E_CONTAINING)
    top, few = A[A_TOP], 0
    for number in range(1 + ILL_FORMED):
        few += 1 - ((loops >> number) & 1)
    if few > FEW_CLASSES:
        return 0
    others = allocate(A, words)
    if others == 0:
        return 0
    for k in range(words):
        A[others + k] = 0
    for number in range(1 + ILL_FORMED):
        if (loops >> number) & 1 == 0:
            row = (1 + number) * words
            for k in range(words):
                A[others + k] |= containing[row + k]
    for k in range(words):
        mask[k] |= containing[k] & ~A[others + k]
    A[A_TOP] = top
    return 1


@kernel("O i i i i i i M -> v")
def walk(desc, place, first, last, node, stop, aim, mask):
    """Set in `mask` the bit of every token of the trie at `place`, in its nodes node..stop-1 (siblings with their subtrees),
    that configurations first..last-1 can read. aim: which of them (ALL ...). A_WALK > 0: a part of fill_inside, whose stack
    goes on from there."""
    P, A, C, W = ints(desc, E_PROGRAM), ints(desc, E_ARENA), ints(desc, E_CONFIGS), ints(desc, E_WALK)
    T = octets(desc, E_TEXT)
    byte, end = octets(desc, place), ints(desc, place + 2)
    id_start, ids = ints(desc, place + 4), ints(desc, place + 6)
    classes = view_i64(desc[place + 8], desc[place + 9])
    base = A[A_POS]
    bottom = level = A[A_WALK]
    words = C[first * CW + NODE] if aim in (WORDS, CORRECTED) else -1
    set_level(desc, level, first, last, stop)
    if aim in (ALL, OWN):
        A[A_SET_COUNT] = 0
        for k in range(SET_LISTS):
            A[A_SETS + k] = 0
        keep_level(desc, level)
    look_ahead(desc, level, base, words, aim == OWN)
    if place == E_TRIE and node == 0 and W[level + W_ROOM] == MOST_HEIGHT:
        W[level + W_DONE] = add_loops(desc, load_hash_at(W, level + W_LOOPS), mask)
        if A[A_STATUS] != OK:
            return
    while node < stop:
        while node >= W[level + W_END]:
            level -= W_SIZE
        if W[level + W_TOLD] != 0 and bit(W, level + W_NEXT, byte[node]) == 0:
            node = end[node]
            continue
        loops = load_hash_at(W, level + W_LOOPS)
        if classes[node] & ~loops == 0 and classes[node] >> HEIGHT <= W[level + W_ROOM]:
            if W[level + W_DONE] == 0:
                set_bits(mask, ids, id_start[node], id_start[end[node]])
            node = end[node]
            continue
        here, out, start = W[level + W_SET], W[level + W_OUT], W[level + W_FROM]
        position = base + (level - bottom) // W_SIZE
        single = W[level + W_ALONE] != 0 and bit(W, level + W_AFTER, byte[node]) == 0
        looped = byte[node] < 128 and (loops >> int(CLASS_OF[byte[node]])) & 1 != 0
        if looped and W[level + W_STAYS] != 0 and (single or W[level + W_ALONE] == 0):
            T[position] = byte[node]
            for k in range(id_start[node], id_start[node + 1]):
                set_bit(mask, ids[k])
            if end[node] > node + 1:
                for k in range(W_SIZE):
                    W[level + W_SIZE + k] = W[level + k]
                level += W_SIZE
                W[level + W_END] = end[node]
            node += 1
            continue
        there = A[here + Q_TARGETS + byte[node]] if here > 0 else 0
        if there == NOTHING:
            node = end[node]
            continue
        if there <= 0:
            A[A_OUT], A[A_TOP], A[A_POS] = out, W[level + W_TOP], position
            T[position] = byte[node]
            # below a word's end there are any configurations, before it the lexeme alone
            within = C[start * CW + NODE] == words and W[level + W_TO] - start == 1
            found = -1
            single = single or (W[level + W_TO] - start == 1 and is_content(P, A, C, start * CW, byte[node]))
            if single:
                found = read_content(P, A, C, start * CW, byte[node])
            if found < 0:
                single = False
                found = advance(desc, start, W[level + W_TO], byte[node])
            if A[A_STATUS] != OK:
                break
            if within:
                ends = byte[node] == 34 and C[start * CW + ESC] == 0
                if ends and (aim != CORRECTED or not spells_word(P, A, C, T, start * CW)):
                    node = end[node]  # whatever the mask says
                    continue
                if aim == CORRECTED and (ends or found == 0):
                    for k in range(id_start[node], id_start[end[node]]):
                        clear_bit(mask, ids[k])
                if found > 0 and not ends and C[out * CW + LO] >= C[out * CW + HI]:
                    if not is_like_taken(P, A, C, T, out * CW, position + 1):
                        node = end[node]
                        continue
            elif aim == INSIDE and found > 0 and C[out * CW + NODE] == DONE:
                found = 0  # the string has ended
            if found == 0:
                if here > 0:
                    A[here + Q_TARGETS + byte[node]] = NOTHING
                node = end[node]
                continue
        for k in range(id_start[node], id_start[node + 1]):
            set_bit(mask, ids[k])
        if end[node] > node + 1 and (there <= 0 or there != here):
            level += W_SIZE
            if there > 0:
                W[level + W_FROM], W[level + W_TO], W[level + W_SET] = A[there + Q_FROM], A[there + Q_TO], there
                W[level + W_OUT], W[level + W_TOP], W[level + W_END] = out, W[level - W_SIZE + W_TOP], end[node]
                W[level + W_TOLD] = W[level + W_STAYS] = W[level + W_ALONE] = W[level + W_DONE] = 0
                W[level + W_LOOPS] = W[level + W_LOOPS + 1] = 0
            else:
                set_level(desc, level, out, A[A_OUT], end[node])
                if single and W[level - W_SIZE + W_ALONE] != 0:
                    for k in range(W_ALONE, W_DONE):
                        W[level + k] = W[level - W_SIZE + k]
                elif aim in (ALL, OWN) and there == 0:
                    there = keep_level(desc, level)
                    if A[A_STATUS] != OK:
                        break
                    if here > 0:
                        A[here + Q_TARGETS + byte[node]] = there if there > 0 else LOOSE_END
            below = level - W_SIZE
            if loops != 0 and (looped or (byte[node] >= 128 and loops & BEYOND_ASCII != 0)):
                # what has read a loop, or is amid a character, can go on so
                store_hash_at(W, level + W_LOOPS, loops)
                begins = byte[node] & 0xC0 != 0x80 and W[below + W_ROOM] < MOST_HEIGHT
                W[level + W_ROOM] = W[below + W_ROOM] - (1 if begins else 0)
                W[level + W_DONE] = W[below + W_DONE]
            elif end[node] - node > SMALL:
                look_ahead(desc, level, position + 1, words, False)
        node += 1
    A[A_POS] = base


@kernel("O i -> i")
def keep_level(desc, level):
    """Keep the configurations of a level as a set, if that can be; what is kept stays when the levels are left. Returns the
    set or 0."""
    A, W = ints(desc, E_ARENA), ints(desc, E_WALK)
    known = A[A_SET_COUNT]
    kept = keep_set(desc, W[level + W_FROM], W[level + W_TO])
    W[level + W_SET] = kept
    if A[A_SET_COUNT] > known:
        for below in range(0, level + 1, W_SIZE):
            W[below + W_OUT], W[below + W_TOP] = A[A_OUT], A[A_TOP]
    elif kept > 0:
        W[level + W_FROM], W[level + W_TO] = A[kept + Q_FROM], A[kept + Q_TO]
        W[level + W_OUT], W[level + W_TOP] = W[level - W_SIZE + W_OUT], W[level - W_SIZE + W_TOP]
    return kept


@kernel("M M i i -> v")
def add_row(mask, rows, row, words):
    """OR one row of a table of masks into `mask`."""
    base = row * words
    for k in range(words):
        mask[k] |= rows[base + k]


@kernel("O i -> v")
def settle(desc, top):
    """Forget what a walk or a failed step appended above `top`."""
    A = ints(desc, E_ARENA)
    A[A_OUT], A[A_TOP] = A[A_END], top


@kernel("O M -> i")
def fill_mask(desc, mask):
    """Write the mask, without stop tokens. Returns a status; on NEED_* nothing of the matcher has changed and the call is
    repeated when it was given what it needs.

    What several configurations allow together is what one of them allows. Inside JSON strings most of it is ready.
    """
    P, A, C = ints(desc, E_PROGRAM), ints(desc, E_ARENA), ints(desc, E_CONFIGS)
    top, first, last = A[A_TOP], A[A_BEGIN], A[A_END]
    A[A_NEED], A[A_STATUS] = 0, OK
    clear(mask)
    plain = 0
    for c in range(first, last):
        way = string_way(desc, P, A, C, c * CW, last - first == 1)
        if way == PLAIN:
            plain += 1
        elif P[C[c * CW + STATE] + D_MASK] < 0:
            A[A_WANTED] = C[c * CW + STATE]
            return NEED_MASK
    if plain == last - first:
        if spaced_alike(P, C, first, last):
            fill_spaced(desc, first, last, mask)
        else:
            aim = OWN if fill_after(desc, first, last, mask) else ALL
            if A[A_STATUS] == OK:
                walk(desc, E_TRIE, first, last, 0, desc[E_TRIE + 1], aim, mask)
    else:
        for c in range(first, last):
            way = string_way(desc, P, A, C, c * CW, last - first == 1)
            settle(desc, top)
            if way == PLAIN:
                walk(desc, E_TRIE, c, c + 1, 0, desc[E_TRIE + 1], ALL, mask)
            else:
                fill_string(desc, c, way, mask)
            if A[A_STATUS] != OK:
                break
    for token in ints(desc, E_SYMBOLS):
        settle(desc, top)
        if A[A_STATUS] == OK and advance(desc, first, last, SYMBOL + token) > 0:
            set_bit(mask, token)
    settle(desc, top)
    if A[A_STATUS] != OK:
        return A[A_STATUS]
    return NEED_NODES if A[A_NEED] > 0 else OK


@kernel("O i i M -> b")
def fill_after(desc, first, last, mask):
    """Where raw lexemes may end and nothing but whitespace and one kind of frame can follow: write what can follow them.

    Such frames are met again and again, after any value, so their masks are looked up and kept.
    """
    P, A, C = ints(desc, E_PROGRAM), ints(desc, E_ARENA), ints(desc, E_CONFIGS)
    top, begin = A[A_TOP], A[A_OUT]
    for c in range(first, last):
        if A[A_COMPARES] != 0 or C[c * CW + NODE] == DONE or P[C[c * CW + NODE]] != K_LEXEME:
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
def string_way(desc, P, A, C, row, alone):
    """How the mask of a configuration is made.

    PLAIN    by a walk over all tokens
    READY    the tokens that stay inside the string are ready; those with a quote are walked
    FREE     the same in a string that may be anything; what follows its end does not depend on the rest of its content,
             so the tokens that end it are looked at by what follows the quote only
    BOUNDED  as READY, where a length bound alone may end the string: with the tokens of so many characters at most
    NEAR     as BOUNDED, where the automaton may need some characters more: the few tokens that leave no room for these are
             tried one by one
    Where the string may also spell a word of the lexeme, or a key that is taken, some tokens are decided anew; this takes
    tokens back, so the configuration must be `alone` in the mask.
    """
    node = C[row + NODE]
    if node == DONE or P[node] != K_LEXEME or P[node + L_SKIN] != SKIN_JSON or C[row + ESC] != 0:
        return PLAIN
    state = C[row + STATE]
    if state < 0 or P[state + D_MASK] == NO_MASK:
        return PLAIN
    anything = P[state + D_WORDS] == D_EVERYTHING and P[state + D_LABEL] >= 0
    words_left = C[row + LO] < C[row + HI]
    if not alone and C[row + TEXT] >= 0 and P[state + D_WORDS] >= 0:
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
        if words_left or counted == TIGHT or desc[E_LONG_TAILS] > 1:
            return PLAIN
        if counted == LOOSE:
            return READY if most < 0 else BOUNDED
        # far from its bounds no token can tell
        least = P[node + L_MIN]
        enough = C[row + CHARS] >= least or P[node + L_GOES_ON] != 0
        if not enough:
            return PLAIN
        if most < 0 or most - C[row + CHARS] > 2 * REACH:
            return READY
        return NEAR if most - C[row + CHARS] - P[node + L_LEAST] >= FEW_LONGER else PLAIN
    if not anything or compared:
        return READY
    if C[row + TEXT] >= 0 and (desc[E_LONG_TAILS] != 0 or not alone or is_taken(P, A, C, octets(desc, E_TEXT), row)):
        return READY  # a key that must not repeat an additional one
    return FREE if alone or not words_left else READY


@kernel("O i i M -> v")
def fill_string(desc, c, way, mask):
    """Add to `mask` what configuration number `c`, inside a JSON string, allows."""
    P, A, C = ints(desc, E_PROGRAM), ints(desc, E_ARENA), ints(desc, E_CONFIGS)
    row, words = c * CW, desc[E_WORDS]
    node, state = C[row + NODE], C[row + STATE]
    if way == BOUNDED:
        rows = desc[E_LENGTHS + 1] // words
        left = min(P[node + L_MAX] - C[row + CHARS], rows - 1)
        inside, short = P[state + D_MASK] * words, left * words
        masks, lengths = ints(desc, E_MASKS), ints(desc, E_LENGTHS)
        for k in range(words):
            mask[k] |= masks[inside + k] & lengths[short + k]
    elif way == NEAR:
        fill_near(desc, c, mask)
        if A[A_STATUS] != OK:
            return
    else:
        add_row(mask, ints(desc, E_MASKS), P[state + D_MASK], words)
    if way == FREE:
        end_string(desc, c, mask)
    else:
        # exact for all tokens with a quote, whether they end the string or spell a quote inside
        walk(desc, E_QUOTED, c, c + 1, 0, desc[E_QUOTED + 1], ALL, mask)
    if A[A_STATUS] == OK and (C[row + LO] < C[row + HI] or is_like_taken(P, A, C, octets(desc, E_TEXT), row, A[A_POS])):
        finite = C[row + TEXT] >= 0 and P[state + D_WORDS] >= 0
        A[A_OUT] = A[A_END]
        walk(desc, E_TRIE, c, c + 1, 0, desc[E_TRIE + 1], CORRECTED if way == FREE or finite else WORDS, mask)


@kernel("O i M -> v")
def fill_near(desc, c, mask):
    """Add the tokens that stay inside the string of configuration `c` and leave room for what its automaton still needs."""
    P, A, C = ints(desc, E_PROGRAM), ints(desc, E_ARENA), ints(desc, E_CONFIGS)
    row, words = c * CW, desc[E_WORDS]
    node, rows = C[row + NODE], desc[E_LENGTHS + 1] // desc[E_WORDS]
    left = P[node + L_MAX] - C[row + CHARS]
    inside = P[C[row + STATE] + D_MASK] * words
    sure, most = min(left - P[node + L_LEAST], rows - 1) * words, min(left, rows - 1) * words
    masks, lengths = ints(desc, E_MASKS), ints(desc, E_LENGTHS)
    flat, offsets = octets(desc, E_FLAT), view_i64(desc[E_OFFSETS], desc[E_OFFSETS + 1])
    top, need = A[A_TOP], A[A_NEED]
    for k in range(words):
        mask[k] |= masks[inside + k] & lengths[sure + k]
        doubt = masks[inside + k] & lengths[most + k] & ~lengths[sure + k] & ~mask[k]
        if doubt == 0 or need > 0:  # where nodes are needed first, the mask is made again
            continue
        for b in range(32):
            if (doubt >> b) & 1 != 0:
                token = 32 * k + b
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


@kernel("P A C T i i -> b")
def is_like_taken(P, A, C, T, row, end):
    """Whether some additional key that was emitted starts with the content, up to text position `end`, of a key."""
    if C[row + TEXT] < 0 or C[row + NODE] == DONE:
        return False
    entry = A[A[C[row + PARENT] + R_REGS] + G_EXTRAS]
    while entry > 0:
        if matched(A, entry, T, C[row + TEXT], end, P[C[row + NODE] + L_SKIN]) >= 0:
            return True
        entry = A[entry + X_NEXT]
    return False


@kernel("P A C T i -> b")
def is_taken(P, A, C, T, row):
    """Whether the content of a key, before text position A_POS, is an additional key that was emitted."""
    if C[row + TEXT] < 0:
        return False
    entry = A[A[C[row + PARENT] + R_REGS] + G_EXTRAS]
    while entry > 0:
        if matched(A, entry, T, C[row + TEXT], A[A_POS], P[C[row + NODE] + L_SKIN]) == A[entry + X_BYTES]:
            return True
        entry = A[entry + X_NEXT]
    return False


@kernel("P A C T i -> b")
def spells_word(P, A, C, T, row):
    """Whether the content of a lexeme configuration, before text position A_POS, is one of its words or a key taken."""
    if C[row + LO] < C[row + HI] and word_byte(P, C[row + NODE], C[row + LO], C[row + DEPTH]) < 0:
        return True
    return is_taken(P, A, C, T, row)


@kernel("O M i i -> i")
def fill_inside(desc, mask, node, state):
    """Write the tokens that the JSON string lexeme `node` can read from `state` of an automaton without ending.

    Plain content only moves the automaton, so it is followed here; what a backslash starts is walked as ever.
    """
    P, A, C, W = ints(desc, E_PROGRAM), ints(desc, E_ARENA), ints(desc, E_CONFIGS), ints(desc, E_WALK)
    byte, end = octets(desc, E_TRIE), ints(desc, E_TRIE + 2)
    id_start, ids = ints(desc, E_TRIE + 4), ints(desc, E_TRIE + 6)
    top, base, row, n = A[A_TOP], A[A_POS], A[A_END], len(byte)
    A[A_NEED], A[A_STATUS] = 0, OK
    if (row + 2) * CW > len(C) or not room_for_walk(desc):
        return NEED_TEXT
    clear(mask)
    classes = view_i64(desc[E_TRIE + 8], desc[E_TRIE + 9])
    # rows of the stack: state, end of the subtree, loops
    W[W_FROM], W[W_END] = state, n
    store_hash_at(W, W_LOOPS, known_loops(P, A, state) & IN_JSON)
    level = k = 0
    while k < n:
        while k >= W[level + W_END]:
            level -= W_SIZE
        if classes[k] & ~load_hash_at(W, level + W_LOOPS) == 0:
            set_bits(mask, ids, id_start[k], id_start[end[k]])
            k = end[k]
            continue
        if byte[k] == 92:
            set_row(C, row * CW, node, W[level + W_FROM], -1, -1, 0)
            A[A_OUT], A[A_POS] = row + 1, base + level // W_SIZE
            A[A_WALK] = level + W_SIZE
            walk(desc, E_TRIE, row, row + 1, k, end[k], INSIDE, mask)
            A[A_WALK] = 0
            if A[A_STATUS] != OK:
                break
            k = end[k]
            continue
        target = follow(P, W[level + W_FROM], byte[k]) if byte[k] >= 32 and byte[k] != 34 else -1
        if target < 0:
            k = end[k]
            continue
        for j in range(id_start[k], id_start[k + 1]):
            set_bit(mask, ids[j])
        if end[k] > k + 1:
            level += W_SIZE
            W[level + W_FROM], W[level + W_END] = target, end[k]
            store_hash_at(W, level + W_LOOPS, known_loops(P, A, target) & IN_JSON)
        k += 1
    A[A_POS] = base
    settle(desc, top)
    return A[A_STATUS]


@kernel("O i i M -> i")
def find_ends(desc, node, state, ends):
    """Nodes of the trie of tokens with a quote at which a JSON string ends that follows an automaton from `state`, into
    `ends`; how many, or -1 - status."""
    A, C, W, T = ints(desc, E_ARENA), ints(desc, E_CONFIGS), ints(desc, E_WALK), octets(desc, E_TEXT)
    byte, end = octets(desc, E_QUOTED), ints(desc, E_QUOTED + 2)
    top, first, base, n, count = A[A_TOP], A[A_END], A[A_POS], len(byte), 0
    A[A_NEED], A[A_STATUS] = 0, OK
    if (first + 1) * CW > len(C) or not room_for_walk(desc):
        return -1 - NEED_TEXT
    set_row(C, first * CW, node, state, -1, -1, 0)
    A[A_OUT] = first + 1
    set_level(desc, 0, first, first + 1, n)
    level = k = 0
    while k < n:
        while k >= W[level + W_END]:
            level -= W_SIZE
        out = W[level + W_OUT]
        A[A_OUT], A[A_TOP], A[A_POS] = out, W[level + W_TOP], base + level // W_SIZE
        T[A[A_POS]] = byte[k]
        found = advance(desc, W[level + W_FROM], W[level + W_TO], byte[k])
        if A[A_STATUS] != OK:
            break
        if found > 0 and C[out * CW + NODE] == DONE:
            ends[count] = k
            count += 1
            found = 0
        if found == 0 or end[k] == k + 1:
            k = end[k]
            continue
        level += W_SIZE
        set_level(desc, level, out, A[A_OUT], end[k])
        k += 1
    A[A_POS] = base
    settle(desc, top)
    return count if A[A_STATUS] == OK else -1 - A[A_STATUS]


@kernel("O T i i i -> iii")
def read_input(desc, data, start, stop, token):
    """Read data[start:stop], or the symbol of a token (-1: none) in the place of one byte, from the current configurations:
    (status, first, last), the new ones being first..last-1.

    Only what lies above the matcher's own state is written.
    """
    A, T = ints(desc, E_ARENA), octets(desc, E_TEXT)
    A[A_NEED], A[A_STATUS] = 0, OK
    first, last, base = A[A_BEGIN], A[A_END], A[A_POS]
    if base + (stop - start) >= len(T):
        return NEED_TEXT, 0, 0
    A[A_OUT] = last
    status = OK
    for k in range(start, stop):
        position = base + k - start
        byte = SYMBOL + token if token >= 0 else int(data[k])
        T[position] = byte & 255
        A[A_POS] = position
        out = A[A_OUT]
        found = advance(desc, first, last, byte)
        status = A[A_STATUS]
        if status == OK and A[A_NEED] > 0:
            status = NEED_NODES
        if status == OK and found == 0:
            status = REFUSED
        if status != OK:
            break
        first, last = out, A[A_OUT]
    A[A_POS] = base
    return status, first, last


@kernel("O T i i i b -> i")
def accept_input(desc, data, start, stop, token, commit):
    """Read input (see read_input) as one step of the history; with `commit` false only find out. Returns a status."""
    A, C, H = ints(desc, E_ARENA), ints(desc, E_CONFIGS), ints(desc, E_HISTORY)
    top, h = A[A_TOP], A[A_TOKENS] * H_SIZE
    if h + H_SIZE > len(H):
        return NEED_TEXT
    status, first, last = read_input(desc, data, start, stop, token)
    if status != OK or not commit:
        settle(desc, top)
        return status
    begin = A[A_END]
    H[h + H_BEGIN], H[h + H_END], H[h + H_TOP], H[h + H_POS] = A[A_BEGIN], begin, top, A[A_POS]
    if first != begin:
        for k in range((last - first) * CW):
            C[begin * CW + k] = C[first * CW + k]
    A[A_BEGIN], A[A_END], A[A_OUT] = begin, begin + last - first, begin + last - first
    A[A_POS] += stop - start
    A[A_TOKENS] += 1
    return OK


@kernel("O i -> v")
def undo(desc, count):
    """Take back the last `count` steps; they must exist."""
    A, H = ints(desc, E_ARENA), ints(desc, E_HISTORY)
    tokens = A[A_TOKENS] - count
    h = tokens * H_SIZE
    A[A_BEGIN], A[A_END], A[A_TOP], A[A_POS] = H[h + H_BEGIN], H[h + H_END], H[h + H_TOP], H[h + H_POS]
    A[A_OUT], A[A_TOKENS] = A[A_END], tokens


@kernel("O -> b")
def accepting(desc):
    """Whether the output may end here."""
    A = ints(desc, E_ARENA)
    top = A[A_TOP]
    A[A_STATUS] = OK
    found = advance(desc, A[A_BEGIN], A[A_END], END)
    settle(desc, top)
    return found > 0


@kernel("O -> ii")
def only_byte(desc):
    """(status, byte): the one byte that can come next, or -1 when there are none or several."""
    A, T = ints(desc, E_ARENA), octets(desc, E_TEXT)
    top, only = A[A_TOP], -1
    A[A_NEED], A[A_STATUS] = 0, OK
    if A[A_POS] >= len(T):
        return NEED_TEXT, -1
    for byte in range(256):
        A[A_OUT], A[A_TOP] = A[A_END], top
        T[A[A_POS]] = byte
        found = advance(desc, A[A_BEGIN], A[A_END], byte)
        if A[A_STATUS] != OK:
            break
        if found > 0:
            if only >= 0:
                only = -1
                break
            only = byte
    for token in ints(desc, E_SYMBOLS):
        settle(desc, top)
        if A[A_STATUS] == OK and advance(desc, A[A_BEGIN], A[A_END], SYMBOL + token) > 0:
            only = -1
    settle(desc, top)
    if A[A_STATUS] != OK:
        return A[A_STATUS], -1
    if A[A_NEED] > 0:
        return NEED_NODES, -1
    return OK, only
