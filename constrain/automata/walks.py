"""Kernels that walk the trie of the tokens.

The walk goes through the trie in depth-first order. Per depth it keeps the configurations that the bytes so far lead to and
the arena's top, so that going back costs nothing; a subtree whose byte no configuration can read is skipped by its size, and
one of which a configuration can read everything is taken whole (lookahead.py).

All take the matcher's descriptor (layout.py).
"""

from __future__ import annotations

from ..vocabulary.byte_classes import CLASS_OF, HEIGHT, ILL_FORMED, MOST_HEIGHT
from ._kernel import kernel
from .bits import clear_bit, set_bit, set_bits
from .cells import allocate, bit
from .content import is_content, read_content
from .hashes import config_hash
from .keys import matched
from .layout import (
    A_NEXT,
    A_OUT,
    A_POS,
    A_SET_COUNT,
    A_STATUS,
    A_TOP,
    A_WALK,
    CW,
    DEPTH,
    DONE,
    E_ARENA,
    E_CONFIGS,
    E_CONTAINING,
    E_LENDS,
    E_PROGRAM,
    E_SETS,
    E_TEXT,
    E_TRIE,
    E_WALK,
    E_WORDS,
    ESC,
    F_SHAPE_KIND,
    G_EXTRAS,
    HI,
    K_FRAME,
    L_SKIN,
    LO,
    LOOSE_END,
    MANY_SETS,
    NEED_ARENA,
    NODE,
    NOTHING,
    OK,
    P_COMPARES,
    PARENT,
    Q_FROM,
    Q_HASH,
    Q_NEXT,
    Q_SIZE,
    Q_TARGETS,
    Q_TO,
    R_REGS,
    SET_LISTS,
    SHAPE_NONE,
    SKIN_RAW,
    TEXT,
    W_AFTER,
    W_ALONE,
    W_DONE,
    W_END,
    W_FROM,
    W_LOOPS,
    W_NEXT,
    W_OUT,
    W_ROOM,
    W_SET,
    W_SIZE,
    W_STAYS,
    W_TO,
    W_TOLD,
    W_TOP,
    W_WITHIN,
    X_BYTES,
    X_NEXT,
)
from .lexemes import word_byte
from .lookahead import BEYOND_ASCII, alone, classes_of, loop_of, next_bytes_of, next_of_words, stays
from .mixing import load_hash_at, mix, store_hash_at
from .steps import advance
from .views import ints, octets, view_i64

ROOM = 512  # ints that must be left of the arena where a set is kept, lest it grow for such
SMALL = 6  # nodes of a subtree that is walked faster than it is thought about
FEW_CLASSES = 10  # masks of classes that are put together in less time than a walk takes
CROWD = 4  # configurations of which nothing is foreseen
# What a walk looks for: all tokens; those that spell words of a lexeme, or go on after one; the same, and tokens that complete
# a word are decided anew, the mask being that of a string which is none; tokens that stay inside a string; tokens of which
# at least one byte belongs to the lexemes themselves; those that leave a raw lexeme, what stays inside it being in the mask
ALL, WORDS, CORRECTED, INSIDE, OWN, LEAVING = 0, 1, 2, 3, 4, 5


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
    W[level + W_TOLD] = W[level + W_STAYS] = W[level + W_LOOPS] = W[level + W_LOOPS + 1] = 0
    W[level + W_ALONE] = W[level + W_WITHIN] = W[level + W_DONE] = 0


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


@kernel("O i i -> i")
def keep_set(desc, first, last):
    """The set that equals configurations first..last-1, kept now if it was not yet; 0 where it is not kept.

    Other nodes of the trie lead to the same set, and what a byte makes of it is then known. Kept are frames without
    registers and raw lexemes: in grammars a walk meets few different sets, and most of the trie.
    """
    P, A, C, S = ints(desc, E_PROGRAM), ints(desc, E_ARENA), ints(desc, E_CONFIGS), ints(desc, E_SETS)
    if P[P_COMPARES] != 0:
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
    first_set = h & (SET_LISTS - 1)
    found = S[first_set]
    while found > 0 and load_hash_at(S, found + Q_HASH) != h:
        found = S[found + Q_NEXT]
    if found > 0 or A[A_SET_COUNT] >= MANY_SETS:
        return found
    if A[A_TOP] + ROOM > len(A):
        if desc[E_LENDS] == 0:
            A[A_STATUS] = NEED_ARENA
        return 0
    found = SET_LISTS + A[A_SET_COUNT] * Q_SIZE
    S[found + Q_NEXT], S[found + Q_FROM], S[found + Q_TO] = S[first_set], first, last
    store_hash_at(S, found + Q_HASH, h)
    told = next_bytes_of(P, A, C, first, last, True)
    for byte in range(256):
        S[found + Q_TARGETS + byte] = NOTHING if told and bit(A, A_NEXT, byte) == 0 else 0
    S[first_set] = found
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
    T, S = octets(desc, E_TEXT), ints(desc, E_SETS)
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
            S[k] = 0
        keep_level(desc, level)
    look_ahead(desc, level, base, words, aim == OWN)
    if place == E_TRIE and node == 0 and aim != LEAVING and W[level + W_ROOM] == MOST_HEIGHT:
        W[level + W_DONE] = add_loops(desc, load_hash_at(W, level + W_LOOPS), mask)
        if A[A_STATUS] != OK:
            return
    leaving = 0
    if aim == LEAVING:
        W[level + W_DONE] = 1
        if alone(P, A, C, first * CW):
            leaving = classes_of(A, A_NEXT)
            W[level + W_WITHIN] = 1
    while node < stop:
        while node >= W[level + W_END]:
            level -= W_SIZE
        if W[level + W_WITHIN] != 0 and classes[node] & leaving == 0:
            node = end[node]  # nothing in it can leave the lexeme
            continue
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
        there = S[here + Q_TARGETS + byte[node]] if here > 0 else 0
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
                    S[here + Q_TARGETS + byte[node]] = NOTHING
                node = end[node]
                continue
        for k in range(id_start[node], id_start[node + 1]):
            set_bit(mask, ids[k])
        # what leads back to the same set needs no level of its own, unless its byte is none of the loops that are done
        if end[node] > node + 1 and (there <= 0 or there != here or W[level + W_DONE] != 0):
            level += W_SIZE
            if there > 0:
                W[level + W_FROM], W[level + W_TO], W[level + W_SET] = S[there + Q_FROM], S[there + Q_TO], there
                W[level + W_OUT], W[level + W_TOP], W[level + W_END] = out, W[level - W_SIZE + W_TOP], end[node]
                W[level + W_TOLD] = W[level + W_STAYS] = W[level + W_ALONE] = W[level + W_WITHIN] = W[level + W_DONE] = 0
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
                        S[here + Q_TARGETS + byte[node]] = there if there > 0 else LOOSE_END
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
    A, W, S = ints(desc, E_ARENA), ints(desc, E_WALK), ints(desc, E_SETS)
    known = A[A_SET_COUNT]
    kept = keep_set(desc, W[level + W_FROM], W[level + W_TO])
    W[level + W_SET] = kept
    if A[A_SET_COUNT] > known:
        for below in range(0, level + 1, W_SIZE):
            W[below + W_OUT], W[below + W_TOP] = A[A_OUT], A[A_TOP]
    elif kept > 0:
        W[level + W_FROM], W[level + W_TO] = S[kept + Q_FROM], S[kept + Q_TO]
        W[level + W_OUT], W[level + W_TOP] = W[level - W_SIZE + W_OUT], W[level - W_SIZE + W_TOP]
    return kept


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
