"""What must hold for every schema; whatever does not is a `Failure`.

crash      nothing but the package's own errors is raised, soon
verdict    the interpreter agrees with jsonschema about every value (where jsonschema_rs is there, it decides a dispute)
sample     what is generated is valid
dead end   every state on the way of a sample has a completion, and that one is valid
kernels    the masks of one token per byte are what the interpreter says
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from typing import Any

import constrain
from constrain.automata.oracle import Oracle
from constrain.automata.shortest import Completer
from constrain.cli.verdicts import second_opinion
from constrain.schema import explain_schema

from .instances import changed, values

__all__ = ["Failure", "Judge"]

_SLOW = 5.0
_OPTIONS: dict[str, tuple[Any, ...]] = {
    "whitespace": ("flexible", "compact", "single", "[ ]{0,2}"),
    "property_order": ("any", "schema"),
    "additional_properties": (None, None, False),
    "formats": ("assert", "annotate"),
    "numbers": ("canonical", "any"),
}
_COUNTS = (
    "schemas",
    "refused",
    "unsatisfiable",
    "limited",
    "values",
    "valid",
    "samples",
    "disputed",
    "with kernels",
)


@dataclass(frozen=True)
class Failure:
    kind: str
    schema: Any
    detail: str

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "detail": self.detail, "schema": self.schema}


class Judge:
    """Judges schemas, with a random number generator for each of its own.

    kernels: the share that meets kernels too. instances: values judged for each schema, its samples not among them.
    seconds: what a compilation or a sample may take.
    counts: of what was met so far. reason: why the last schema was refused or limited, or a value disputed.
    """

    def __init__(self, kernels: float = 0.2, instances: int = 20, seconds: float = 3.0) -> None:
        self.kernels = kernels
        self.instances = instances
        self.limits = constrain.Limits(max_seconds=seconds)
        self.counts = dict.fromkeys(_COUNTS, 0)
        self.reason = ""
        tokens: list[bytes | None] = [bytes([b]) for b in range(256)]
        self.vocabulary = constrain.Vocabulary.from_tokens(tokens, {"<end>": 256}, [256])

    def failures(self, schema: Any, seed: int, given: Sequence[Any] = ()) -> Iterator[Failure]:
        """All that fails for the schema, with values and samples drawn from `seed`; values `given` are judged too."""
        rng = Random(seed)
        self.counts["schemas"] += 1
        start = time.thread_time()
        try:
            grammar = constrain.compile_json_schema(schema, self.vocabulary, numbers="any", limits=self.limits)
        except constrain.UnsatisfiableError:
            self.counts["unsatisfiable"] += 1
            yield from self._verdicts(schema, None, [*given, *values(schema, rng, self.instances - len(given))])
            return
        except (constrain.LimitError, constrain.SchemaError) as error:
            self._set_aside(error)
            return
        except Exception as error:
            yield Failure("crash", schema, f"compile: {type(error).__name__}: {error}")
            return
        if (taken := time.thread_time() - start) > _SLOW * self.limits.max_seconds:
            yield Failure("crash", schema, f"compile takes {taken:.0f} s")
        try:
            yield from self._of_grammar(schema, grammar, rng, given)
        except constrain.LimitError as error:
            self._set_aside(error)
        except Exception as error:
            yield Failure("crash", schema, f"{type(error).__name__}: {error}")

    def _set_aside(self, error: Exception) -> None:
        self.counts["limited" if isinstance(error, constrain.LimitError) else "refused"] += 1
        self.reason = f"{type(error).__name__}: {error}"

    def _of_grammar(
        self, schema: Any, grammar: constrain.Grammar, rng: Random, given: Sequence[Any]
    ) -> Iterator[Failure]:
        list(explain_schema(schema, depth=2, numbers="any", limits=self.limits))
        oracle = Oracle(grammar.root)
        samples = [constrain.sample(grammar, seed=rng.randrange(1 << 30), max_bytes=most) for most in (0, 80, 80)]
        self.counts["samples"] += len(samples)
        found = [json.loads(text, parse_float=Decimal) for text in samples]
        second = _second(schema)
        for text, value in zip(samples, found, strict=True):
            if not oracle.accepts(text.encode()):
                yield Failure("sample", schema, f"not accepted again: {text}")
            elif second is not None and second.on(value).valid is False and not self._disputed(schema, value, True):
                yield Failure("sample", schema, f"generated, but not valid: {text}")
        wanted = self.instances - len(given)
        near = [changed(found[i % len(found)], rng) for i in range(wanted // 2)]
        judged = [*given, *near, *values(schema, rng, wanted - len(near))]
        yield from self._verdicts(schema, oracle, judged)
        yield from self._dead_ends(schema, oracle, samples[1].encode(), rng)
        if rng.random() < self.kernels:
            self.counts["with kernels"] += 1
            yield from self._masks(schema, grammar, oracle, samples[1].encode())
            yield from self._accepted(schema, grammar, oracle, judged)
        yield from self._with_options(schema, rng)

    def _with_options(self, schema: Any, rng: Random) -> Iterator[Failure]:
        """A sample under other options is valid as well."""
        options = {name: rng.choice(choices) for name, choices in _OPTIONS.items()}
        try:
            grammar = constrain.compile_json_schema(schema, limits=self.limits, **options)  # type: ignore[arg-type]
        except constrain.UnsatisfiableError as error:
            if options["additional_properties"] is None and options["formats"] == "annotate":
                yield Failure("verdict", schema, f"with {options}: {error}")
            return
        text = constrain.sample(grammar, seed=rng.randrange(1 << 30), max_bytes=60)
        second = _second(schema)
        value = json.loads(text, parse_float=Decimal)
        if second is not None and second.on(value).valid is False and not self._disputed(schema, value, True):
            yield Failure("sample", schema, f"generated with {options}, but not valid: {text}")
        yield from self._dead_ends(schema, Oracle(grammar.root), text.encode(), rng)

    def _verdicts(self, schema: Any, oracle: Oracle | None, found: list[Any]) -> Iterator[Failure]:
        """oracle: None for a schema that has no value."""
        second = _second(schema)
        assert second is not None
        for value in found:
            text = json.dumps(value, ensure_ascii=False, default=float)
            ours = oracle is not None and oracle.accepts(text.encode())
            theirs = second.on(json.loads(text, parse_float=Decimal)).valid
            self.counts["values"] += 1
            self.counts["valid"] += ours
            if theirs is None or ours == theirs:
                continue
            if self._disputed(schema, value, ours):
                self.counts["disputed"] += 1
                self.reason = f"{'accepted' if ours else 'rejected'}, unlike jsonschema: {text}"
            else:
                yield Failure(
                    "verdict", schema, f"{'accepted' if ours else 'rejected'}, but jsonschema differs: {text}"
                )

    def _disputed(self, schema: Any, value: Any, ours: bool) -> bool:
        """Whether a third validator sides with us, or the difference is a known one."""
        if _differs_as_documented(json.dumps(schema)):
            return True
        try:
            import jsonschema_rs
        except ImportError:
            return False
        try:
            validator = jsonschema_rs.validator_for(schema)
            return bool(validator.is_valid(json.loads(json.dumps(value, default=float)))) == ours
        except Exception:  # whatever it cannot read is no opinion
            return False

    def _dead_ends(self, schema: Any, oracle: Oracle, text: bytes, rng: Random) -> Iterator[Failure]:
        completer = Completer(oracle)
        threads = oracle.start()
        for i, byte in enumerate(text):
            threads = oracle.advance(threads, byte)
            if rng.random() > 0.2:
                continue
            rest = completer.completion(threads)
            if rest is None:
                yield Failure("dead end", schema, f"after {text[: i + 1]!r}")
                return
            if not oracle.accepts(text[: i + 1] + bytes(rest)):
                yield Failure("dead end", schema, f"after {text[: i + 1]!r}: {bytes(rest)!r} does not complete it")

    def _masks(self, schema: Any, grammar: constrain.Grammar, oracle: Oracle, text: bytes) -> Iterator[Failure]:
        import numpy as np

        bitmask = constrain.allocate_token_bitmask(1, self.vocabulary.size)
        matcher = grammar.matcher()
        threads = oracle.start()
        for i in range(min(len(text), 60) + 1):
            matcher.fill_next_token_bitmask(bitmask)
            bits = np.unpackbits(bitmask.view(np.uint8), bitorder="little")[:257].tolist()
            wanted = [int(bool(oracle.advance(threads, byte))) for byte in range(256)]
            wanted.append(int(oracle.is_accepting(threads)))
            if bits != wanted:
                wrong = [b for b, (x, y) in enumerate(zip(bits, wanted, strict=True)) if x != y]
                yield Failure(
                    "kernels", schema, f"after {text[:i]!r} the masks differ from the interpreter in {wrong[:8]}"
                )
                return
            if i < len(text):
                matcher.accept_bytes(text[i : i + 1])
                threads = oracle.advance(threads, text[i])

    def _accepted(
        self, schema: Any, grammar: constrain.Grammar, oracle: Oracle, found: Sequence[Any]
    ) -> Iterator[Failure]:
        """Kernels and interpreter agree on whole texts."""
        for value in found:
            text = json.dumps(value, ensure_ascii=False, default=float).encode()
            matcher = grammar.matcher()
            taken = matcher.accept_bytes(text) and matcher.is_accepting()
            if taken != oracle.accepts(text):
                yield Failure("kernels", schema, f"{'accept' if taken else 'refuse'}, unlike the interpreter: {text!r}")


def _second(schema: Any) -> Any:
    """jsonschema, which compares decimals: with those of the schema as they are written."""
    return second_opinion(json.loads(json.dumps(schema), parse_float=Decimal), None, False)


def _differs_as_documented(schema: str) -> bool:
    """What docs/json-schema.md says of older drafts, and validators do not do.

    Only since 2020-12 is what `contains` finds evaluated. A numeric `exclusiveMinimum` is a bound in draft 4 as well.
    """
    if "2019-09" in schema:
        return '"contains"' in schema and '"unevaluatedItems"' in schema
    return "draft-04" in schema and '"exclusiveM' in schema
