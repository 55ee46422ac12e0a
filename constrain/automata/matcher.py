"""Matcher: the state of one sequence under a grammar. One thread at a time; fork() for another."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arguments import an_instance, flag, integer, integers, text_bytes, token_id_of
from .._errors import ArgumentError, LimitError, VocabularyError
from .._limits import timed
from ..vocabulary import TEXT_BYTES
from . import kernels
from . import layout as at
from .compiled import Grammar
from .index import address_of, index_of, point
from .ready import make_ready_mask
from .stepper import Stepper

__all__ = ["Matcher", "fill_next_token_bitmasks", "mask_array"]

NOT_RELEASED = -1
_MOST_VERDICTS = 1 << 15  # more than one mask asks for
_MOST_INTS = 1 << 28  # arrays of one matcher never grow beyond 1 GiB
_ARENA = 3072  # ints of frames and registers at first
_CONFIGS, _STEPS, _TEXT = 224, 192, 2048  # and configurations, steps that can be taken back, bytes
_FEW = 64  # steps more than can be taken back, at least
_FOREVER = 1 << 40  # more steps than there are
_GUARD = 1  # bytes before the text, which are no blank


_NOTHING = object()
"""No bitmask, not even None."""


class Matcher(Stepper):
    """Says which tokens may come next and takes the chosen one.

    A mask and `accept_token` agree on every token. A refused token changes nothing. A stop token is an ordinary step: it
    is allowed exactly where the output is complete, and can be rolled back.
    """

    def __init__(
        self, grammar: Grammar, *, max_rollback: int | None = 256, stop_token_ids: Iterable[int] | None = None
    ) -> None:
        vocabulary = an_instance(grammar, Grammar, "grammar", "a constrain.Grammar")._bound()
        if max_rollback is not None:
            max_rollback = integer(max_rollback, "max_rollback (or None)", 0)
        stops = vocabulary.eos_token_ids
        if stop_token_ids is not None:
            stops = tuple(dict.fromkeys(integers(stop_token_ids, "stop_token_ids", 0, vocabulary.size - 1)))
        self.grammar = grammar
        self.vocabulary, self._size = vocabulary, vocabulary.size
        self.max_rollback = max_rollback
        self.stop_token_ids: tuple[int, ...] = tuple(stops)
        self._stop_set = frozenset(stops)
        self._stops = np.array(stops, np.int32)
        self._symbols = np.array(grammar.symbols, np.int32)
        self._index = index_of(vocabulary)
        self._lacks_bytes = not TEXT_BYTES.isdisjoint(vocabulary.missing_bytes)
        self._heap = grammar.program.heap
        steps = _FEW + (_STEPS if max_rollback is None else min(max_rollback, _STEPS))
        self._arena: NDArray[np.int32] = np.zeros(at.ARENA + _ARENA, np.int32)
        self._configs: NDArray[np.int32] = np.zeros(_CONFIGS * at.CW, np.int32)
        self._text: NDArray[np.uint8] = np.zeros(_TEXT, np.uint8)
        self._history: NDArray[np.int32] = np.zeros(steps * at.H_SIZE, np.int32)
        self._desc: NDArray[np.int64] = np.zeros(at.E_SIZE, np.int64)
        self._verdicts: dict[int, bool] = {}
        self._verdict_table: NDArray[np.int64] = np.zeros(64, np.int64)
        self._checked: object = _NOTHING
        # so many steps more than can be taken back are kept, so that dropping them costs little a step
        self._spare = _FEW + min((max_rollback or 0) // 8, 192)
        self._describe()
        self.reset()

    def reset(self) -> None:
        """Back to the start of the output."""
        arena = self._arena
        arena[: at.A_SCRATCH] = 0
        arena[at.A_NEXT : at.ARENA] = 0
        arena[at.A_TOP] = at.ARENA
        arena[at.A_WHOLE_KEYS] = self._index.whole_keys
        self._use_buffers()
        self._describe_tables()
        self._compacted = self._reached = 0
        self._step, self._seconds = -1, 0.0
        self._desc[at.E_LENDS] = 0
        self._configs[: at.CW] = 0
        self._configs[[at.NODE, at.STATE]] = self.grammar.program.entry
        self._configs[[at.REGS, at.PARENT, at.TEXT]] = -1
        arena[at.A_END] = arena[at.A_OUT] = 1
        self._desc[at.E_ENDED] = 0
        self._free = NOT_RELEASED

    def fork(self) -> Matcher:
        """An independent copy in the same state."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        for name in ("_arena", "_configs", "_text", "_history", "_desc", "_verdicts", "_verdict_table"):
            setattr(other, name, getattr(self, name).copy())
        other._checked = _NOTHING
        other._describe()
        return other

    def __copy__(self) -> Matcher:
        return self.fork()

    def __deepcopy__(self, memo: Any) -> Matcher:
        return self.fork()

    def __reduce__(self) -> str:
        # its arrays are known to the kernels by their addresses
        raise ArgumentError(
            "a matcher cannot be pickled; pickle its grammar and the tokens, and let a new matcher accept them"
        )

    # Masks -------------------------------------------------------------------------------------------------------------

    @property
    def is_constraining(self) -> bool:
        """Whether the mask restricts anything here: always, until `force_token` released the constraint."""
        return self._free == NOT_RELEASED

    @property
    def _in_engine(self) -> bool:
        """Whether the mask here is the kernels' business."""
        return self._free == NOT_RELEASED

    def fill_next_token_bitmask(self, bitmask: Any, row: int = 0) -> bool:
        """Write the mask of allowed tokens into `bitmask[row]`; other rows stay as they are.

        bitmask: int32[rows, ceil(size / 32)], C-contiguous, numpy or a CPU tensor; bit t % 32 of word t // 32 is token t.
        Returns False when nothing is constrained (the row is all ones then). Repeatable: the state does not change.
        Raises VocabularyError when the vocabulary lacks the bytes to go on (never with one that has all 256 bytes).
        """
        if bitmask is not self._checked:
            self._use_bitmask(bitmask)
        if type(row) is not int or not 0 <= row < self._rows:
            row = integer(row, "row", 0, self._rows - 1)
        if self._free != NOT_RELEASED:
            self._masks[row] = -1
            return False
        status = kernels.fill(self._desc, self._masks, row)
        while status != at.OK:
            self._provide(status)
            status = kernels.fill(self._desc, self._masks, row)
        if self._lacks_bytes:
            self._check_alive(self._masks[row])
        return True

    def _use_bitmask(self, bitmask: Any) -> None:
        """Check an array for masks; what is numpy's own need not be checked again."""
        self._masks = mask_array(bitmask, self._index.words)
        self._rows = len(self._masks)
        self._checked = bitmask if type(bitmask) is np.ndarray else _NOTHING

    def allows(self, token_id: int) -> bool:
        """Whether `token_id` may come next, without a whole mask."""
        token = token_id if type(token_id) is int else token_id_of(token_id)
        if not 0 <= token < self.vocabulary.size:
            return False
        if self._free != NOT_RELEASED:
            return True
        if token in self._stop_set and (self.is_terminated() or self.is_accepting()):
            return True
        if token in self._stop_set and token not in self.grammar.symbols:
            return False
        return not self.is_terminated() and self._accept(token, False)

    # Steps -------------------------------------------------------------------------------------------------------------

    def accept_token(self, token_id: int) -> bool:
        """Take one token. False: it is not allowed, and nothing has changed."""
        token = token_id if type(token_id) is int else token_id_of(token_id)
        if not 0 <= token < self._size:
            return False
        if token in self._stop_set or self._free != NOT_RELEASED:
            return self._accept_at_the_margin(token)
        status = kernels.operate(self._desc, kernels.ACCEPT, token, 1)
        return status == at.OK or (status != at.REFUSED and self._accept_after(status, token, True))

    def _accept_at_the_margin(self, token: int) -> bool:
        """Take a stop token, or any where nothing is constrained."""
        if self.is_terminated():
            return False
        if token in self._stop_set and (self._free != NOT_RELEASED or self.is_accepting()):
            self._desc[at.E_ENDED] = 1
            return True
        if token in self._stop_set and token not in self.grammar.symbols:
            return False
        if self._free != NOT_RELEASED:
            self._free += 1
            return True
        return self._accept(token, True)

    def force_token(self, token_id: int) -> bool:
        """Take a token that the host injects, legal or not.

        True: it was allowed, and the constraint goes on. False: it was not, and the constraint is released: nothing is
        masked any more, until a rollback takes the token back. A stop token ends the output in any case, and nothing more
        is taken after it (False).
        """
        if self.is_terminated():
            return False
        if self.accept_token(token_id):
            return self._free == NOT_RELEASED
        if token_id_of(token_id) in self._stop_set:
            self._desc[at.E_ENDED] = 1
            return False
        self._free = 1 if self._free == NOT_RELEASED else self._free + 1
        return False

    def accept_bytes(self, data: bytes) -> bool:
        """Take text, as one step, whatever its tokens. False: it is not allowed, and nothing has changed."""
        data = text_bytes(data)
        if self.is_terminated():
            return not data
        if not data:
            return True
        if self._free != NOT_RELEASED:
            self._free += 1
            return True
        return self._take_bytes(data)

    def _take_bytes(self, data: bytes) -> bool:
        array = np.frombuffer(data, np.uint8).copy()
        while True:
            self._desc[at.E_DATA : at.E_DATA + 2] = address_of(array), len(array)
            status = kernels.operate(self._desc, kernels.READ, 0, 0)
            if status == at.OK:
                return True
            if status == at.REFUSED:
                return False
            self._provide(status, len(array))

    @property
    def steps(self) -> int:
        """Steps taken since the start."""
        return int(self._arena[at.A_TOKENS]) + max(self._free, 0) + int(self._desc[at.E_ENDED])

    def is_accepting(self) -> bool:
        """Whether the output is complete here (a stop token is allowed)."""
        return (
            self.is_terminated()
            or self._free != NOT_RELEASED
            or bool(kernels.operate(self._desc, kernels.CAN_END, 0, 0))
        )

    def is_terminated(self) -> bool:
        """Whether a stop token was accepted."""
        return bool(self._desc[at.E_ENDED])

    # Looking ahead -----------------------------------------------------------------------------------------------------

    def forced_bytes(self, limit: int = 4096) -> bytes:
        """The bytes that must come next whatever is chosen, at most `limit`; the state does not change."""
        limit = integer(limit, "limit")
        ahead, forced = self.fork(), bytearray()
        while len(forced) < limit and not ahead.is_accepting():
            byte = kernels.operate(ahead._desc, kernels.FORCED, 0, 0)
            if byte == -1:
                break
            if byte < 0:
                ahead._provide(-1 - byte)
                continue
            ahead.accept_bytes(bytes([byte]))
            forced.append(byte)
        return bytes(forced)

    def forced_tokens(self, canonical: bool = False, encode: Any = None, limit: int = 4096) -> list[int]:
        """Ids as long as exactly one token is allowed; the state does not change.

        canonical: instead the tokens that `encode` (text -> ids, of the model's tokenizer) gives for the forced bytes,
        without the last one, which could merge with what follows.
        """
        if flag(canonical, "canonical"):
            if not callable(encode):
                raise ArgumentError("forced_tokens(canonical=True) needs encode=, the tokenizer's text -> ids")
            text = self.forced_bytes(limit).decode("utf-8", "ignore")
            ids = integers(encode(text), "the ids of encode") if text else []
            return ids[: self.validate_tokens(ids[:-1])]
        limit = integer(limit, "limit")
        ahead, forced = self.fork(), []
        row: NDArray[np.int32] = np.zeros((1, self._index.words), np.int32)
        while len(forced) < limit and not ahead.is_terminated():
            ahead.fill_next_token_bitmask(row)
            allowed = np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little"))
            if len(allowed) != 1 or not ahead.accept_token(int(allowed[0])):
                break
            forced.append(int(allowed[0]))
        return forced

    # Arrays ------------------------------------------------------------------------------------------------------------

    def _accept(self, token: int, commit: bool) -> bool:
        status = kernels.operate(self._desc, kernels.ACCEPT, token, commit)
        return status == at.OK or (status != at.REFUSED and self._accept_after(status, token, commit))

    def _accept_after(self, status: int, token: int, commit: bool) -> bool:
        """Take a token when the kernel was given what it asked for."""
        while status not in (at.OK, at.REFUSED):
            self._provide(status, self.vocabulary.trie.depth)
            status = kernels.operate(self._desc, kernels.ACCEPT, token, commit)
        return status == at.OK

    def _undo(self, count: int) -> None:
        if count and self._desc[at.E_ENDED]:
            self._desc[at.E_ENDED] = 0
            count -= 1
        if count and self._free > 0:
            released = min(count, self._free)
            count -= released
            self._free = self._free - released or NOT_RELEASED
        if count:
            self._take_back(count)

    def _take_back(self, count: int) -> None:
        """Take back steps of the automaton. Where the state is not kept, it is read again from the last one that is."""
        arena, history = self._arena, self._history
        tokens, dropped, cut = (int(arena[place]) for place in (at.A_TOKENS, at.A_DROPPED, at.A_CUT))
        row = (tokens - count - dropped) * at.H_SIZE
        start = row
        while history[start + at.H_BEGIN] < 0:
            start -= at.H_SIZE
        ends = history[start + at.H_POS : row + at.H_SIZE : at.H_SIZE].tolist()
        ends[-1] = ends[-1] if ends[-1] >= 0 else -1 - ends[-1]
        parts = [self._text[i - cut + _GUARD : j - cut + _GUARD].tobytes() for i, j in pairwise(ends)]
        kernels.operate(self._desc, kernels.UNDO, count + len(parts), 0)
        for part in parts:
            self._take_bytes(part)

    def _kept(self, most: int) -> int:
        arena = self._arena
        return min(most, int(arena[at.A_TOKENS] - arena[at.A_DROPPED]) + max(self._free, 0) + int(self._desc[at.E_ENDED]))

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays."""
        return sum(array.nbytes for array in (*self._arrays, self._desc, self._verdict_table))

    def _hold(self, on: bool) -> None:
        self._desc[at.E_ROLLBACK] = _FOREVER if on or self.max_rollback is None else min(self.max_rollback, _FOREVER)

    def _provide(self, status: int, text: int = 0) -> None:
        """Give a kernel what it asked for by its status."""
        if status == at.NEED_NODES:
            needed = self._arena[at.A_NEEDED : at.A_NEEDED + self._arena[at.A_NEED]].tolist()
            with self._on_the_clock():
                self.grammar.build(needed)
            if self._heap is not self.grammar.program.heap:
                self._use_heap()
            return
        if status == at.NEED_MASK:
            make_ready_mask(self)
            self._use_heap()
            return
        if status == at.NEED_CACHE:
            self._older = self._cache
            self._index.turn_over(self._cache)
            self._use_cache()
            return
        if status == at.NEED_VERDICT:
            with self._on_the_clock():
                self._ask()
            self._describe_tables()
            return
        if status == at.TOO_MANY_THREADS:
            raise LimitError("max_threads", self.grammar.limits.max_threads, "parallel readings of the output so far")
        if status == at.NEED_WORKSPACE:
            self._index.workspaces.add()
            return
        if status == at.AGAIN:
            return
        self._make_room(status, text)

    def _make_room(self, status: int, text: int) -> None:
        """Make room in the array that is full: drop what is not needed any more, and where that is little let it grow."""
        arena = self._arena
        before = self._arrays
        old = int(arena[at.A_TOKENS]) - at.RECENT - int(arena[at.A_THINNED])
        dropped = max(int(arena[at.A_FLOOR] - arena[at.A_DROPPED]), old) >= self._spare
        if dropped:
            kernels.operate(self._desc, kernels.DROP, 0, 0)
        text += self.vocabulary.trie.depth + 8 + _GUARD
        short = self._text_used + text > len(self._text)
        compacted = (short or status == at.NEED_ARENA) and self._compact()
        if status == at.NEED_ARENA:
            rows, used = len(arena) - at.ARENA, int(arena[at.A_TOP]) - at.ARENA
            wanted = 2 * used + _ARENA if compacted else max(2 * used, 3 * rows // 2) + 1
            self._arena = _grown(arena, at.ARENA + wanted, 0)
        elif status == at.NEED_CONFIGS:
            rows = int(arena[at.A_END]) * at.CW
            if not dropped or 2 * rows > len(self._configs):
                self._configs = _grown(self._configs, len(self._configs) + 1)
        else:
            used = self._text_used
            self._text = _grown(self._text, used + used // 4 * compacted + text)
            steps = int(arena[at.A_TOKENS] - arena[at.A_DROPPED]) + 1
            most = _FOREVER if self.max_rollback is None else self.max_rollback + self._spare
            self._history = _grown(self._history, steps * at.H_SIZE, most * at.H_SIZE)
            self._configs = _grown(self._configs, (int(arena[at.A_END]) + 2) * at.CW)
        if any(array is not other for array, other in zip(self._arrays, before, strict=True)):
            self._use_buffers()

    @property
    def _arrays(self) -> tuple[NDArray[Any], ...]:
        """What grows with the output."""
        return self._arena, self._configs, self._text, self._history

    @property
    def _text_used(self) -> int:
        return int(self._arena[at.A_POS] - self._arena[at.A_CUT])

    def _compact(self) -> bool:
        """Keep of the arena and of the text only what is still referred to, if steps were dropped since that was done."""
        arena = self._arena
        dropped = int(arena[at.A_DROPPED]) + int(arena[at.A_THINNED])
        if dropped == self._compacted:
            return False
        buffer = self._index.workspaces.take_buffer(int(arena[at.A_TOP]) - at.ARENA)
        point(self._desc, at.E_OUT, buffer)
        kernels.operate(self._desc, kernels.COMPACT, 0, 0)
        self._index.workspaces.keep_buffer(buffer)
        self._compacted, self._desc[at.E_LENDS] = dropped, 0
        return True

    @contextmanager
    def _on_the_clock(self) -> Iterator[None]:
        """Inside, Python works for a step, which may take `Limits.max_seconds` in all."""
        limits, step = self.grammar.limits, int(self._arena[at.A_TOKENS])
        if step != self._step:
            self._step, self._seconds = step, limits.max_seconds
        what = "time of what one step builds and decides"
        if self._seconds < 0:
            raise LimitError("max_seconds", limits.max_seconds, what)
        start = time.thread_time()
        try:
            with timed(limits, what, self._seconds):
                yield
        finally:
            self._seconds -= time.thread_time() - start

    def _ask(self) -> None:
        """Answer a kernel's question whether the items of an array can end as they must."""
        frame, start, stop, *wide = self._arena[at.A_ASKED : at.A_ASKED + 5].tolist()
        state, begun = self._arena[at.A_ASKED_STATE : at.A_ASKED_STATE + 2].tolist()
        cut = int(self._arena[at.A_CUT]) - _GUARD
        text = self._text[start - cut : stop - cut].tobytes()
        if len(self._verdicts) >= _MOST_VERDICTS:
            self._verdicts.clear()
            self._verdict_table[:] = 0
        if state == 0:
            alive = self.grammar.can_go_on(frame, text)
        else:
            few = self._key_of_few(frame, b"")
            if few not in self._verdicts:
                values = self.grammar.few_values(frame)
                self._verdicts[few] = True
                self._verdicts.update((self._key_of_few(frame, value), True) for value in values)
            alive = self.grammar.can_follow(frame, state, begun, text)
        self._verdicts[wide[0] | wide[1] << 31] = alive
        while 4 * len(self._verdicts) > len(self._verdict_table):
            self._verdict_table = np.zeros(2 * len(self._verdict_table), np.int64)
        _enter(self._verdict_table, self._verdicts)

    def _key_of_few(self, frame: int, value: bytes) -> int:
        """Key under which it is kept that a value counts in the tight array at that address; b"": that all are kept."""
        data = np.frombuffer(value, np.uint8)
        while True:
            self._desc[at.E_DATA : at.E_DATA + 2] = address_of(data), len(data)
            key = int(kernels.operate(self._desc, kernels.HASH, frame, 0))
            if key:
                return key
            self._provide(at.NEED_ARENA)

    def _check_alive(self, mask: NDArray[np.int32]) -> None:
        """In a vocabulary that lacks bytes, a completion may exist that no token can begin: say so, never an empty mask."""
        if not mask.any():
            missing = ", ".join(f"0x{b:02x}" for b in self.vocabulary.missing_bytes[:8])
            raise VocabularyError(f"no token of the vocabulary can continue here; it has none for the bytes {missing}")

    def _describe(self) -> None:
        """Write the addresses of all arrays into the descriptor."""
        vocabulary, desc, ended = self.vocabulary, self._desc, self._desc[at.E_ENDED]
        desc[:] = self._index.descriptor
        desc[at.E_ENDED] = ended
        for place, array in (
            (at.E_STOPS, self._stops),
            (at.E_FLAT, vocabulary.flat),
            (at.E_OFFSETS, vocabulary.offsets),
            (at.E_SYMBOLS, self._symbols),
        ):
            point(desc, place, array)
        self._hold(False)
        desc[at.E_SPARE] = self._spare
        desc[at.E_THREADS] = self.grammar.limits.max_threads
        desc[at.E_ADVANCE], desc[at.E_OPERATE] = kernels.ADVANCE, kernels.OPERATE
        desc[at.E_SELF] = self._address = address_of(desc)
        desc[at.E_GRAMMAR] = self.grammar.program.number
        self._use_heap()
        self._use_buffers()
        self._use_cache()
        self._describe_tables()

    def _use_heap(self) -> None:
        self._heap = self.grammar.program.heap
        point(self._desc, at.E_PROGRAM, self._heap)

    def _use_buffers(self) -> None:
        """Write the addresses of the matcher's own arrays, which may have grown: of what is numbered from the start, where
        number 0 would be."""
        arena, desc = self._arena, self._desc
        point(desc, at.E_ARENA, arena)
        point(desc, at.E_CONFIGS, self._configs)
        for place, array, dropped in (
            (at.E_HISTORY, self._history, int(arena[at.A_DROPPED]) * at.H_SIZE),
            (at.E_TEXT, self._text, int(arena[at.A_CUT]) - _GUARD),
        ):
            desc[place] = address_of(array) - dropped * array.itemsize
            desc[place + 1] = array.size + dropped

    def _use_cache(self) -> None:
        """Look into the newest cache of masks, and the one before it."""
        index = self._index
        with index.lock:
            self._cache, self._older = index.cache, index.previous
        for place, cache in ((0, self._cache), (at.OLD, self._older)):
            self._desc[at.E_TABLE + place : at.E_TABLE + place + 8] = cache.descriptor

    def _describe_tables(self) -> None:
        """Say where answers about arrays that compare their items are."""
        arena, address = self._arena, address_of(self._verdict_table)
        arena[at.A_VERDICTS : at.A_VERDICTS + 3] = address & 0x7FFFFFFF, address >> 31, len(self._verdict_table)


def mask_array(bitmask: Any, words: int) -> NDArray[np.int32]:
    """`bitmask` as int32[rows, >= words], without a copy; a clear error if it cannot be."""
    array = bitmask if isinstance(bitmask, np.ndarray) else _from_tensor(bitmask)
    if array.dtype != np.int32 or array.ndim != 2 or array.shape[1] < words or not array.flags.carray:
        raise ArgumentError(
            f"a token bitmask is a writable, C-contiguous int32 array of shape (rows, {words}); got "
            f"{array.dtype}{list(array.shape)}; see constrain.allocate_token_bitmask"
        )
    return array


def _from_tensor(tensor: Any) -> NDArray[Any]:
    numpy = getattr(tensor, "numpy", None)
    if numpy is None:
        raise ArgumentError(f"a token bitmask is a numpy array or a CPU tensor, not {type(tensor).__name__}")
    try:
        return np.asarray(numpy())
    except Exception as error:  # on another device, or one that wants a gradient
        raise ArgumentError(f"a token bitmask is a numpy array or a CPU tensor: {error}") from None


def _enter(table: NDArray[np.int64], answers: dict[int, bool]) -> None:
    """Write answers into an open hash table of pairs."""
    for key, answer in answers.items():
        slot = 2 * key & (len(table) - 1)
        while table[slot] not in (0, key):
            slot = slot + 2 & (len(table) - 1)
        table[slot : slot + 2] = key, answer


def _grown(array: NDArray[Any], least: int, most: int = _FOREVER) -> NDArray[Any]:
    """The array with room for `least` elements, if it has not: twice as long, but to `most` where that is enough."""
    if len(array) >= least:
        return array
    size = max(min(2 * len(array), most), least)
    if size > _MOST_INTS:
        raise LimitError("matcher memory", _MOST_INTS, "ints in one matcher's arrays")
    grown = np.zeros(size, array.dtype)
    grown[: len(array)] = array
    return grown


def fill_next_token_bitmasks(
    matchers: Sequence[Matcher], bitmask: Any, rows: Sequence[int] | None = None, threads: int | None = None
) -> None:
    """Fill one row per matcher in one call that does not hold the GIL.

    rows: row of each matcher, 0, 1, 2 … by default. threads: let so many threads share the batch, the
    caller's among them, which pays where masks must be made and not only copied.
    The matchers must be distinct objects.
    """
    from .batch import fill_batch

    fill_batch(matchers, bitmask, rows, threads)
