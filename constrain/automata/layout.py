"""Where everything lies in the flat int32 arrays that the kernels read and write. The one place with these numbers.

PROGRAM (one per grammar, grows): a heap of records; the address of a record is the identity of what it describes.
The first two ints are no record: they say whether some array compares its items and whether there are diagrams (0: no).
-1 means "none". Bytes (words, byte classes) are packed four to an int32, little end first.

Before every node lies the address of its possible first bytes, 8 x 32 bits, and one int that says whether it may start with a
symbol: a call that cannot start with an input is not made.

    lexeme        kind, skin, n words, offsets of words (n+1 ints), packed words, start of its automaton, min, max characters,
                  counted (do characters count?), object shape (for keys), finite (a number of finitely many values),
                  goes on (after any content its automaton has words of any length),
                  the most characters that acceptance can be away
    remainders    of a lexeme: modulus, step (2 ints each), ints of a dfa state, n others, runs of each dfa state, others
                  (2 ints each). runs: do digits count?, digits left out at an end (-1: none), n, then per run: digits, first
                  number modulo the modulus (2 ints), how many more there are, as far as that matters (2 ints)
    union         kind, n, then the addresses of its alternatives
    frame         kind, start state, shape kind, shape
    stub          kind, index, address once built (0 before)
    state         of a layout: guard, flags, whitespace (newlines, base, per level; newlines -1: none),
                  n calls, address of calls, n edges, then per edge: byte, target.
                  call: select, returning state, node, nullable, state where an item goes on that equals an earlier one
    dfa state     byte classes, label, least and most characters to acceptance, words to acceptance (-1: not
                  to be counted here nor further on, D_EVERYTHING: all strings), labels of these words (bits, -1: any; outside
                  keys 0 where only finitely many values follow, however they are spelled),
                  mask slot (-1: never, -2: not made yet), address of the words to acceptance by their label (-1: none is
                  to be counted apart), then per class its target
    object shape  see O_*            array shape   see Y_*
    diagram       of an object shape: see V_*

ARENA (one per matcher): a header, scratch space, then frames and registers, immutable once written (a persistent stack)
but for the note of the last step that returned to a row:

    frame row         node, state to return to, registers, parent row (-1: the root's caller), level (objects and arrays
                      around it), row of the innermost array around that compares the item it called (itself, perhaps; 0: none),
                      hash of the row and all below it (62 bits in two ints, 0: must not be used), the last step that gave control
                      back to it (2 ints: its number, more of that and the ways as bits)
    object registers  emitted count, label of the current key, required keys missing, emitted additional keys (linked, 0: none),
                      the labels of additional keys that may follow (as bits), then a bit per declared key: may it follow?
                      Of a shape with a diagram also, per level, the option taken + 1 (0: none yet), and the state of the
                      additional members
    array registers   emitted count; of an array that compares items also: where its last item begins (-1: it is not compared),
                      the items before (linked, 0: none), where the array begins, the state to go on in if the item
                      equals one of those (-1: none)
    item              next, where it begins, hash of its value (2 ints)
    additional key    next, hash of it and of those before (2 ints), n bytes, where it begins in the text (which tells it apart),
                      packed bytes

CONFIGURATIONS (one array per matcher): rows of CW ints, one per parallel thread.

HISTORY (one array per matcher): a row per step, see H_*.

TEXT (one array per matcher): the bytes so far.

Of the last two the oldest part is dropped now and then (compaction.py), but what is left keeps its numbers: the descriptor
holds the address at which number 0 would lie, and the length as if it did. Of older steps few have configurations left; the
others are read again from the text when they are wanted.

WORKSPACES (a few per vocabulary): what a mask needs while it is made, see Z_*.
"""

from __future__ import annotations

N_FIRST = -1  # where the address of a node's first bytes lies
# kinds of nodes
K_LEXEME, K_UNION, K_FRAME, K_STUB = 1, 2, 3, 4

# lexeme
L_SKIN, L_WORDS, L_OFFSETS, L_BYTES, L_DFA, L_MIN, L_MAX, L_COUNTED, L_SHAPE, L_FINITE, L_GOES_ON, L_LEAST, L_SIZE = range(1, 14)
SKIN_RAW, SKIN_JSON = 0, 1
# L_COUNTED: characters do not count; they count, but the automaton may end or go on anywhere, so that the bounds alone decide;
# they count; they count, and acceptance may be further away than a token is long
UNCOUNTED, LOOSE, STRICT, TIGHT = 0, 1, 2, 3
REMAINDER = 4  # L_COUNTED: not characters, but a remainder is kept, as L_MIN says (remainders.py); L_MAX is -1
REACH = 160  # more bytes than any usual token has

# remainders of a lexeme, and of one state of its automaton
M_MODULUS, M_STEP, M_STATE, M_OTHERS, M_RUNS, M_OTHER = 0, 2, 4, 5, 6, 7
N_COUNTS, N_ENDS, N_RUNS, N_FIRST_RUN = 0, 1, 2, 3
RUN_DIGITS, RUN_FIRST, RUN_MORE, RUN_SIZE = 0, 1, 3, 5

# union
U_COUNT, U_FIRST = 1, 2

P_COMPARES, P_NARROWS = 0, 1

# frame
F_START, F_SHAPE_KIND, F_SHAPE, F_SIZE = 1, 2, 3, 4
SHAPE_NONE, SHAPE_OBJECT, SHAPE_ARRAY = 0, 1, 2

# stub
T_INDEX, T_BUILT, T_SIZE = 1, 2, 3

# layout state
S_GUARD, S_FLAGS, S_NEWLINES, S_BASE, S_LEVEL, S_CALLS, S_CALL_LIST, S_EDGES, S_EDGE_LIST = range(9)
FLAG_FINAL, FLAG_CLOSED = 1, 2  # may end here; ends here (nothing can follow)
FLAG_SETTLED, FLAG_VALUED = 4, 8  # behind the value of a member, before what separates it from the next; before it, behind its key
CALL_SELECT, CALL_RETURNS, CALL_NODE, CALL_NULLABLE, CALL_EQUAL, CALL_SIZE = 0, 1, 2, 3, 4, 5
# CALL_EQUAL: the state where an item that equals an earlier one goes on, or
NOWHERE, UNCOMPARED = -1, -2
SELECT_NODE, SELECT_KEY, SELECT_VALUE, SELECT_ITEM = 0, 1, 2, 3
GUARD_NONE, GUARD_MORE, GUARD_CLOSE, GUARD_NEVER = 0, 1, 2, 3

# dfa state
D_CLASSES, D_LABEL, D_LEAST, D_MOST, D_WORDS, D_LABELS, D_MASK, D_COUNTS, D_NEXT = 0, 1, 2, 3, 4, 5, 6, 7, 8
D_EVERYTHING = -2  # D_WORDS of the automaton of all strings

# object shape: declared keys, words of bits, key lexeme, values, required bits, possible bits, initial bits, initially extra?,
# required count, least, most members, rank of each key (or -1), keys by rank, values of additional keys, their automaton, labels;
# diagram (or -1); bits of the declared keys whose value is surely one of infinitely many; labels of additional keys as bits;
# ints of registers behind the fixed ones; may a token that begins before the comma tell which keys may follow it?
O_KEYS, O_WORDS, O_LEXEME, O_VALUES, O_REQUIRED, O_POSSIBLE, O_INITIAL, O_EXTRA_FIRST = 0, 1, 2, 3, 4, 5, 6, 7
O_MISSING, O_MIN, O_MAX, O_RANK, O_BY_RANK, O_EXTRA_VALUES, O_EXTRA, O_LABELS = 8, 9, 10, 11, 12, 13, 14, 15
O_DIAGRAM, O_ENDLESS, O_ALL_LABELS, O_REGISTERS, O_SEEN, O_SIZE = 16, 17, 18, 19, 20, 21

# diagram: levels; nodes, those behind the last level included; level of each declared key (or -1); per level: key, number of
# options, their nodes, number of edges, edges (node, option or -1, node), all nodes numbered through; number of the first node
# behind the last level; states of the additional members; per such node and state the fewest additional members to the end;
# per label: number of options, their (node, kind); per kind and state the state after
V_LEVELS, V_NODES, V_LEVEL_OF, V_LIST, V_LAST, V_STATES, V_ENDS, V_OTHERS, V_MOVES, V_SIZE = range(10)
I_KEY, I_OPTIONS, I_VALUES, I_EDGES, I_EDGE_LIST, I_SIZE = range(6)

# array shape
Y_PREFIX_COUNT, Y_PREFIX, Y_REST, Y_MIN, Y_MAX, Y_COMPARED, Y_ENDLESS, Y_TIGHT, Y_SIZE = range(9)

# arena: header
A_TOP, A_OUT, A_STATUS, A_NEED, A_BEGIN, A_END, A_POS, A_TOKENS, A_WANTED, A_WALK, A_WHOLE_KEYS = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
A_ASKED = 12  # the question of NEED_VERDICT: frame, text from .. to, its hash (2 ints)
A_VERDICTS = 17  # address of the table of answers (2 ints) and its size; pairs of a hash, 0 where free, and an answer
A_SET_COUNT = 20  # sets of configurations that the walk under way keeps
A_NARROWED = 21  # address of the table of what decision diagrams said lately (2 ints), and its size (choices.py); 0: none at hand
A_NEEDED, NEED_CAP = 24, 64  # addresses of stubs that a step wanted
A_CURRENT = A_NEEDED + NEED_CAP
CW = 11
NARROWED_SLOTS, NARROWED_SIZE = 1024, 1 << 15
SCRATCH_CAP = 640  # more than a union has alternatives (Limits.max_alternatives)
A_SCRATCH = A_CURRENT + CW
A_NEXT = A_SCRATCH + SCRATCH_CAP * CW  # 8 ints: the bytes that a set of configurations can read
# what was asked for lately: a state of an automaton and the classes of bytes with which it stays there (two ints)
A_LOOPS, LOOP_STATES, LOOP_SIZE = A_NEXT + 8, 32, 3
A_STEP = A_LOOPS + LOOP_STATES * LOOP_SIZE  # number of the step under way (2 ints); rows of scratch that it has looked at
A_WORK = A_STEP + 2
A_ASKED_STATE = A_WORK + 1  # of a question what can follow in an array: its state (0: another question), items begun
# what is dropped (compaction.py): steps that cannot be taken back any more; steps whose rows of the history are gone; steps of
# which few have configurations left; the first text position that is left
A_FLOOR = A_ASKED_STATE + 2
A_DROPPED, A_THINNED, A_CUT = A_FLOOR + 1, A_FLOOR + 2, A_FLOOR + 3
A_FRESH, A_OLDEST = A_FLOOR + 4, A_FLOOR + 5  # of a compaction: where what it moves goes; the text position that it needs
ARENA = A_FLOOR + 6
WORK = 64  # rows of scratch that one step may look at for each thread that it may keep

# arena: rows
R_NODE, R_STATE, R_REGS, R_PARENT, R_LEVEL, R_COMPARES, R_HASH, R_SEEN, R_SIZE = 0, 1, 2, 3, 4, 5, 6, 8, 10
G_COUNT, G_KEY, G_MISSING, G_EXTRAS, G_EXTRA, G_BITS = 0, 1, 2, 3, 4, 5
X_NEXT, X_HASH, X_BYTES, X_START, X_DATA = 0, 1, 3, 4, 5
U_ITEM, U_ITEMS, U_OPEN, U_EQUAL, U_SIZE = 1, 2, 3, 4, 5
V_NEXT, V_START, V_HASH, V_SIZE = 0, 1, 2, 4
C_SIZE = 5
# a set of configurations that a walk keeps: next, configurations from .. to, hash (two ints), then per byte the set that it
# leads to (0: not known yet, NOTHING, LOOSE_END: one that is not kept)
Q_NEXT, Q_FROM, Q_TO, Q_HASH, Q_TARGETS = 0, 1, 2, 3, 5
Q_SIZE = Q_TARGETS + 256
NOTHING, LOOSE_END = -1, -2
SET_LISTS, MANY_SETS = 64, 256  # the first sets of so many linked lists, by their hashes; sets that one walk keeps

# configuration; a frame keeps its whitespace run where a lexeme keeps its interval of words
NODE, STATE, LO, HI, DEPTH, ESC, CHARS, TEXT, REGS, PARENT, LEVEL = range(11)
BLANKS, NEWLINES = LO, HI
CALLED = ESC  # 1 in a frame whose calls stand beside it as configurations of their own (CALL)
DONE = 0  # node of the configuration in which the whole output is complete
ENTER = -2  # state of a scratch row that asks to start its node
RETURN = -3  # state of a scratch row that gives control back to its parent, in one of three ways (kept at MODE):
READ, EMIT, ASK = 0, 1, 2  # the caller still has to read the byte; it is read already; there is none, may the output end?
MODE = ESC
FORK = -7  # R_NODE of an arena row that stands for two frames to return to: R_STATE and R_PARENT (itself a fork or not)

# a row of the history: configurations from (-1: none are left) .. to, arena top and text length before the step; the last as
# -1 - length where the step is a control token
H_BEGIN, H_END, H_TOP, H_POS, H_SIZE = 0, 1, 2, 3, 4
RECENT, EVERY = 32, 8  # so many of the last steps have their configurations, and of older ones each with such a number

# A row of the walk's own stack: configurations from .. to, where new ones go, arena top, end of the subtree, the set that the
# configurations are (0: not kept), whether the bytes that they can read are known, whether they are one that stays as it is
# when it reads a loop, the loops: classes of bytes that some of them can read in any order (two ints), and how many of them;
# whether they are a raw lexeme alone, the bytes that they can read, and those that others read when it ends (8 ints each)
W_FROM, W_TO, W_OUT, W_TOP, W_END, W_SET, W_TOLD, W_STAYS, W_LOOPS, W_ROOM = 0, 1, 2, 3, 4, 5, 6, 7, 8, 10
# whether the bytes so far are all of the lexeme that the walk began in, which is alone; and whether what reads loops alone is
# in the mask already
W_ALONE, W_NEXT, W_AFTER, W_WITHIN, W_DONE, W_SIZE = 11, 12, 20, 28, 29, 30

# status of a step
OK, NEED_NODES, NEED_ARENA, NEED_CONFIGS, NEED_TEXT, NEED_MASK = 0, 1, 2, 3, 4, 5
TOO_MANY_THREADS, REFUSED, NEED_CACHE, NEED_VERDICT, NEED_WORKSPACE, AGAIN = 6, 7, 8, 9, 10, 11

# DESCRIPTOR (one per matcher, int64): (address, length) of every array that a step touches, then scalars. A trie takes five
# pairs in a row. E_OUT and E_DATA: what an operation writes (a mask row) and reads (bytes). E_ADVANCE and E_OPERATE are the
# addresses of the native code of steps.advance and kernels.operate, E_SELF that of the descriptor.
E_PROGRAM, E_ARENA, E_CONFIGS, E_TEXT, E_HISTORY, E_WALK, E_STOPS = 0, 2, 4, 6, 8, 10, 12
E_FLAT, E_OFFSETS, E_TRIE, E_QUOTED, E_TAILS = 14, 16, 18, 28, 38
E_MASKS, E_CLOSERS, E_LENGTHS = 48, 50, 52
E_TABLE, E_KEYS, E_CACHED, E_USED, OLD = 54, 56, 58, 60, 8  # the cache of masks, and the one before it
E_LEAN, E_SPACES, E_LONG = 70, 80, 82
E_OUT, E_DATA = 84, 86
E_WORDS, E_THREADS, E_ENDED, E_ADVANCE, E_OPERATE, E_SELF, E_GRAMMAR, E_LONG_TAILS = 88, 89, 90, 91, 92, 93, 94, 95
E_SYMBOLS, E_CONTAINING, E_RAW_LENGTHS = 96, 98, 100
E_WORKSPACES, E_SETS, E_OWN, E_WORKSPACE, E_ROLLBACK, E_LENDS, E_SPARE, E_SIZE = 102, 104, 106, 110, 111, 112, 113, 114
# E_SYMBOLS: ids of the control tokens that the grammar names. E_CONTAINING: masks of all tokens with bytes, and of those with
# a byte of each class (byte_classes.py). E_LENGTHS, E_RAW_LENGTHS: masks of the tokens that begin at most so many characters
# inside a JSON string, and outside.
# E_WORKSPACES: the table of all (Z_*), E_WORKSPACE: the place of the one in use (-1: none). E_WALK: the walk's stack there, whose
# length is always told; E_SETS: the sets that it keeps. E_OWN: while the workspace's arena and configurations are in the place of
# the matcher's, those (two pairs; 0: they are not). E_LENDS: where masks are made: 0 in the matcher's own arena, as long as there
# is room; 1 in the workspace's; 2 in its own, which may grow.
# E_ROLLBACK: steps that can be taken back; E_SPARE: so many more are kept before they are dropped.
# E_LONG_TAILS: 1 if a token may end an additional key and spell it again, 2 if one is longer than REACH.
# E_SPACES: masks of the tokens that begin with at most 0, 1, 2 line feeds and SOFT other blanks, and have more to them (rows
# 0..2) or not (3..5); row 6: all other tokens. E_LONG: of these, per token: id, line feeds, other blanks, nothing more?
SPACE_ROWS, LONG_SIZE, SOFT = 3, 4, 32

# a workspace: how many threads have tried to take it (0: it is free), then (address, length) of a walk's stack, of the sets that it
# keeps, of an arena, of configurations, and of a table of what diagrams said (int64); the grammar that this is about
Z_TAKEN, Z_WALK, Z_SETS, Z_ARENA, Z_CONFIGS, Z_NARROWED, Z_GRAMMAR, Z_SIZE = 0, 1, 3, 5, 7, 9, 11, 12
MOST_WORKSPACES = 64
LENT = 4096  # ints of frames and registers at most that are copied to a workspace; of more the mask is made where they are
END = -1  # read instead of a byte: the end of the output
LEAVE = -2  # read instead of a byte: raw lexemes that may end do so, and their callers wait for the byte
CALL = -3  # read instead of a byte: frames make the calls that can be made before the byte is known, and keep their edges (CALLED)
SYMBOL = 256  # from here on: the control token with id input - SYMBOL
