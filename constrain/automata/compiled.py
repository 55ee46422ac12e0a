"""Grammar: a constraint bound to a vocabulary. Its meaning is immutable; its tables grow on demand under a lock."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .._arguments import text_bytes
from .._errors import ConstrainError, LimitError, VocabularyError
from .._limits import Limits, timed, within
from ..vocabulary import Vocabulary
from .grammar import Node
from .oracle import Items, Oracle, Place, Thread, value_of
from .places import Places
from .recogniser import Recogniser
from .spellings import text_of

if TYPE_CHECKING:
    from typing_extensions import Self

    from .._saved import Origin
    from .explain import Rejection
    from .matcher import Matcher
    from .program import Program

__all__ = ["Grammar", "judging"]


_MOST_SECONDS = 2.0
"""Time of one question about an array whose items are compared; what is not known by then is taken to be possible."""
_BYTES = 100_000
"""Bytes of a text that is judged, for each of which it may take the time of a compilation."""
_MOST_KEPT = 32
"""Beginnings of its text that are kept."""


@contextmanager
def judging(limits: Limits, length: int) -> Iterator[None]:
    """Inside, a text of so many bytes is judged: for each 100,000 it may take the time of a compilation."""
    try:
        with timed(replace(limits, max_seconds=limits.max_seconds * (1 + length / _BYTES)), "time of judging one text"):
            yield
    except RecursionError:
        raise LimitError("max_depth", limits.max_depth, "nesting of a text") from None


class Grammar:
    """A compiled constraint, shared by any number of matchers and threads.

    vocabulary: None for a grammar that only checks text.
    report:     what is enforced, relaxed or refused; None for front ends that have nothing to report.
    symbols:    ids of the control tokens that the grammar names.
    origin:     what it was compiled from, to be saved; None for a grammar built from nodes.
    common:     nodes in it that other grammars have, too, and that are encoded once for all.
    """

    def __init__(
        self,
        root: Node,
        vocabulary: Vocabulary | None,
        *,
        report: Any = None,
        limits: Limits | None = None,
        symbols: Iterable[int] = (),
        origin: Origin | None = None,
        common: Sequence[Node] = (),
    ) -> None:
        self.root = root
        self.vocabulary = vocabulary
        self.report = report
        self.symbols = tuple(sorted(set(symbols)))
        self.origin = origin
        self.limits = limits or Limits()
        self.lock = threading.RLock()
        self._common = tuple(common)
        self._program: Program | None = None
        self._arrays: dict[int, _Array] = {}

    @property
    def program(self) -> Program:
        """The encoded grammar; made on first use."""
        if self._program is None:
            with self.lock:
                if self._program is None:
                    from .index import index_of

                    self._program = index_of(self._bound()).program(self.root, self.limits, self._common)
        return self._program

    @property
    def nbytes(self) -> int:
        """Bytes of the encoded tables so far; ready masks belong to the vocabulary."""
        return 0 if self._program is None else self._program.nbytes

    def matcher(self, *, max_rollback: int | None = 256, stop_token_ids: Iterable[int] | None = None) -> Matcher:
        """A matcher at the start of the output.

        max_rollback: steps that can be taken back; None keeps all. A matcher takes some 60 KB, and 64 bytes for each.
        stop_token_ids: ids that end the output where it is complete; the vocabulary's EOS ids by default.
        """
        from .matcher import Matcher

        return Matcher(self, max_rollback=max_rollback, stop_token_ids=stop_token_ids)

    def to_bytes(self) -> bytes:
        """The grammar to be kept or sent: its source, options and limits, the documents that it refers to, and the
        fingerprint of its vocabulary. No tables: they are made again on demand. TypeError when it was built from nodes.
        """
        from .._saved import dump

        return dump(self)

    @classmethod
    def from_bytes(cls, data: bytes, vocab: Vocabulary | None = None) -> Self:
        """The grammar that `to_bytes` gave, with the same meaning. vocab: the one it was compiled for, or an equal one.

        Nothing in the data is run; it is compiled, under the limits that it names. Raises VocabularyError for another
        vocabulary; ConstrainError for data that is cut off, damaged, of another format, or no grammar of this class.
        """
        from .._saved import load

        grammar = load(data, vocab)
        if not isinstance(grammar, cls):
            raise ConstrainError(f"the data is a saved {type(grammar).__name__}, not a {cls.__name__}")
        return grammar

    def __reduce__(self) -> tuple[Any, ...]:
        from .._saved import load

        return load, (self.to_bytes(), self.vocabulary)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def accepts(self, data: bytes | str) -> bool:
        """Whether `data` is a complete output, by the interpreters: the kernels have no part in it.

        Takes some 10 µs a byte. Raises LimitError past limits.max_seconds for each 100,000 bytes.
        """
        with self._questioned(data) as text:
            return Recogniser(self.root).accepts(text)

    def explain(self, data: bytes | str) -> Rejection | None:
        """Where and why `data` is not a complete output, and what was expected there; None when it is one.

        Raises LimitError as `accepts` does.
        """
        from .explain import explain

        with self._questioned(data) as text:
            return explain(Recogniser(self.root), text)

    @contextmanager
    def _questioned(self, data: bytes | str) -> Iterator[bytes]:
        """A text to judge, with the clock running."""
        text = text_bytes(data)
        with judging(self.limits, len(text)):
            yield text

    def can_go_on(self, frame: int, text: bytes) -> bool:
        """Whether the array at that address of the program, written as far as `text`, can go on; for -1, whether
        the last item of any array is unlike the others.
        """
        if frame < 0:
            *earlier, last = value_of(text + b"]")[1:]  # type: ignore[index]
            return last not in earlier
        with self.lock:
            array = self._array(frame)
            try:
                with within(_MOST_SECONDS):
                    return array.is_viable(text)
            except (LimitError, RecursionError):
                return True  # not known in time

    def can_follow(self, frame: int, state: int, begun: int, text: bytes) -> bool:
        """Whether the items that follow in the tight array at that address can all be different, in the layout state at
        an address of its own. text: of the array, with the items before. begun: items, one under way included.
        """
        with self.lock:
            return self._array(frame).can_follow(self.program.state_numbers[state], begun, text)

    def few_values(self, frame: int) -> list[bytes]:
        """The values that items of the tight array at that address may need for themselves, as JSON."""
        with self.lock:
            return self._array(frame).few_values()

    def _array(self, frame: int) -> _Array:
        known = self._arrays.get(frame)
        if known is None:
            known = self._arrays[frame] = _Array(Oracle(self.program.comparing[frame], any_space=True))
        return known

    def _bound(self) -> Vocabulary:
        if self.vocabulary is None:
            raise VocabularyError("a grammar compiled without a vocabulary can check text, but not mask tokens")
        return self.vocabulary

    def build(self, stubs: Iterable[int]) -> None:
        """Encode the nodes behind stubs that a kernel met."""
        with self.lock:
            for stub in stubs:
                self.program.build(stub)


class _Array:
    """An array read by the interpreter, which goes on from the last text where it can."""

    def __init__(self, oracle: Oracle) -> None:
        self.oracle = oracle
        self.read: list[tuple[bytes, list[Thread]]] = [(b"", oracle.start())]

    def is_viable(self, text: bytes) -> bool:
        while not text.startswith(self.read[-1][0]):
            self.read.pop()
        known, threads = self.read[-1]
        for end in range(len(known) + 1, len(text) + 1):
            threads = self.oracle.advance(threads, text[end - 1])
            if not threads:
                return False
            if end == len(text) - 1:
                del self.read[1:-_MOST_KEPT]
                self.read.append((text[:end], threads))
        return True

    def can_follow(self, state: int, begun: int, text: bytes) -> bool:
        values = value_of(text.rstrip(b", \t\n\r") + b"]")[1:]  # type: ignore[index]
        return self.oracle._values._fits(self._frame(state, begun, values), None)

    def few_values(self) -> list[bytes]:
        return list(map(text_of, Places(self.oracle._values, self._frame(0, 0, ())).few_values()))

    def _frame(self, state: int, begun: int, values: tuple[object, ...]) -> Thread:
        return Thread(self.oracle.root, Place(state), Items(begun, values), None, 0)
