"""From one row of logits to one token id, as small pure functions.

A row is float [V]; a forbidden token is minus infinity. The steps run in this order, and each of them maps minus
infinity to minus infinity: what the mask forbids stays forbidden, and the distribution is exactly the masked one.

    mask -> repetition -> presence, frequency -> temperature -> top-k -> top-p -> min-p -> draw

    repetition            divides positive logits, multiplies others; prompt and reply count (Keskar et al. 2019, CTRL)
    presence, frequency   subtract a constant, and one per occurrence; the reply counts (OpenAI API reference)
    top-k                 Fan et al. 2018, Hierarchical Neural Story Generation
    top-p                 Holtzman et al. 2019, The Curious Case of Neural Text Degeneration
    min-p                 Nguyen et al. 2024, Turning Up the Heat
    draw                  inversion: the first id, in id order, whose cumulative weight exceeds u times the total

`choose` takes a masked row. `choose_checked` takes the row as the model gave it and asks the matcher about single
tokens, so that most steps need no mask.

One uniform u in [0, 1) is consumed per step and sequence, whatever the parameters, greedy included: the position in
the random stream is then a function of the number of steps alone. Ties always go to the lowest id. No function writes
to its arguments; all compute in float64, whose sums run in a fixed order, so that equal seeds give equal ids.
"""

from __future__ import annotations

import math
import numbers
import random
from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from ._arguments import shown
from ._errors import ArgumentError
from .bitmask import allocate_token_bitmask, apply_token_bitmask_inplace

__all__ = [
    "Sampling",
    "TokenConstraint",
    "apply_min_p",
    "apply_occurrence_penalties",
    "apply_repetition_penalty",
    "apply_temperature",
    "apply_top_k",
    "apply_top_p",
    "choose",
    "choose_checked",
    "distribution",
    "draw",
    "greedy",
    "shape_logits",
    "uniforms",
]

_GREATEST = 1e300
Logits = npt.NDArray[np.float64]
Counts = Mapping[int, int]
AnyLogits = npt.NDArray[np.floating]


class TokenConstraint(Protocol):
    """What `choose_checked` asks of a matcher. A `constrain.Session` is also asked whether it is undecided."""

    @property
    def vocabulary(self) -> Any:
        """Its `size` is the number of tokens that a mask covers."""

    def allows(self, token_id: int) -> bool:
        """Whether the token may come next."""

    def fill_next_token_bitmask(self, bitmask: Any, row: int = 0) -> bool:
        """Write the mask to bitmask[row]; False when nothing is constrained."""


@dataclass(frozen=True)
class Sampling:
    """How to draw a token; the defaults leave the model's distribution as it is.

    temperature: > 0; 0 is greedy (the penalties still count, the rest cannot change the outcome).
    top_k: number of tokens kept, 0 keeps all. top_p: mass kept, in (0, 1].
    min_p: least probability kept, as a share of the best one's.
    repetition_penalty: > 0, 1 is none. presence_penalty, frequency_penalty: any finite number, 0 is none.
    seed: of the sequence's uniforms; None takes a fresh one from the operating system.

    Raises ValueError, with the field's name, for a value outside these ranges.
    """

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    seed: int | None = None

    def __post_init__(self) -> None:
        for field, value in vars(self).items():
            whole = field in ("top_k", "seed")
            number = isinstance(value, numbers.Integral if whole else numbers.Real) and not isinstance(value, bool)
            if number and not whole and abs(value) > _GREATEST:
                raise ArgumentError(f"{field}={shown(value)} must be a finite number")
            if not number and not (field == "seed" and value is None):
                raise ArgumentError(f"{field} must be {'an integer' if whole else 'a number'}, not {shown(value)}")
        ranges = {
            "temperature": (0.0 <= self.temperature < math.inf, "a finite number, 0 or more"),
            "top_k": (self.top_k >= 0, "0 (keep all) or more"),
            "top_p": (0.0 < self.top_p <= 1.0, "in (0, 1]"),
            "min_p": (0.0 <= self.min_p <= 1.0, "in [0, 1]"),
            "repetition_penalty": (0.0 < self.repetition_penalty < math.inf, "a finite number above 0"),
            "presence_penalty": (math.isfinite(self.presence_penalty), "a finite number"),
            "frequency_penalty": (math.isfinite(self.frequency_penalty), "a finite number"),
        }
        for field, (holds, wanted) in ranges.items():
            if not holds:
                raise ArgumentError(f"{field}={shown(getattr(self, field))} must be {wanted}")


def uniforms(seed: int | None) -> random.Random:
    """The source of a sequence's uniforms; `.random()` gives the next, with 53 bits, stable across Python versions."""
    return random.Random(seed)


def apply_repetition_penalty(logits: AnyLogits, seen: Set[int], penalty: float) -> Logits:
    """Make each id of `seen` less likely: x / penalty where x > 0, x * penalty elsewhere."""
    out = np.array(logits, dtype=np.float64)
    if penalty != 1.0 and seen:
        ids = np.fromiter(seen, dtype=np.int64, count=len(seen))
        x = out[ids]
        out[ids] = np.where(x > 0, x / penalty, x * penalty)
    return out


def apply_occurrence_penalties(logits: AnyLogits, counts: Counts, presence: float, frequency: float) -> Logits:
    """Subtract presence + frequency * count from each id that occurs; counts: id -> occurrences in the reply."""
    out = np.array(logits, dtype=np.float64)
    if counts and (presence or frequency):
        ids = np.fromiter(counts.keys(), dtype=np.int64, count=len(counts))
        times = np.fromiter(counts.values(), dtype=np.float64, count=len(counts))
        out[ids] -= presence + frequency * times
    return out


def apply_temperature(logits: AnyLogits, temperature: float) -> Logits:
    """Divide by temperature (> 0), with the greatest moved to 0 first: no temperature can then overflow upwards."""
    out = np.asarray(logits, dtype=np.float64)
    with np.errstate(over="ignore"):  # a quotient beyond float64 is minus infinity, its probability 0 either way
        return (out - out.max()) / temperature


def apply_top_k(logits: AnyLogits, k: int) -> Logits:
    """Keep the k greatest (0: all), the lower id where two are equal; the rest becomes minus infinity."""
    out = np.array(logits, dtype=np.float64)
    alive = _descending(out)
    if 0 < k < alive.size:
        out[alive[k:]] = -np.inf
    return out


def apply_top_p(logits: AnyLogits, p: float) -> Logits:
    """Keep the fewest most likely tokens whose probabilities reach p together, and at least one."""
    out = np.array(logits, dtype=np.float64)
    if p < 1.0:
        alive = _descending(out)
        mass = np.cumsum(np.exp(out[alive] - out[alive[0]]))
        reached = int(np.searchsorted(mass, p * mass[-1], side="left"))
        out[alive[reached + 1 :]] = -np.inf
    return out


def apply_min_p(logits: AnyLogits, p: float) -> Logits:
    """Keep the tokens whose probability is at least p times that of the most likely one."""
    out = np.array(logits, dtype=np.float64)
    if p > 0.0:
        out[np.exp(out - out.max()) < p] = -np.inf
    return out


def shape_logits(logits: AnyLogits, sampling: Sampling, seen: Set[int], counts: Counts) -> Logits:
    """All steps between the mask and the draw. seen: ids of prompt and reply; counts: occurrences in the reply."""
    out = apply_repetition_penalty(logits, seen, sampling.repetition_penalty)
    out = apply_occurrence_penalties(out, counts, sampling.presence_penalty, sampling.frequency_penalty)
    if sampling.temperature == 0.0:
        return out
    out = apply_temperature(out, sampling.temperature)
    out = apply_top_k(out, sampling.top_k) if sampling.top_k else out
    out = apply_top_p(out, sampling.top_p)
    return apply_min_p(out, sampling.min_p)


def distribution(logits: AnyLogits) -> Logits:
    """Probabilities of a row: softmax, exactly 0 at minus infinity. Raises ValueError as `draw` does."""
    weights = _weights(logits)
    return weights / np.cumsum(weights)[-1]


def draw(logits: AnyLogits, u: float) -> int:
    """The id that the uniform u in [0, 1) selects.

    Raises ValueError when the row offers nothing to draw from: NaN, plus infinity, or every token forbidden.
    """
    return _invert(_weights(logits), u)


def _invert(weights: Logits, u: float) -> int:
    mass = np.cumsum(weights)
    chosen = int(np.searchsorted(mass, u * mass[-1], side="right"))
    # u * total may round up to the total; the draw then belongs to the last token that has any weight.
    return min(chosen, int(np.searchsorted(mass, mass[-1], side="left")))


def greedy(logits: AnyLogits) -> int:
    """The id of the greatest logit, the lowest where several are equal. Raises ValueError as `draw` does."""
    best = int(np.argmax(logits))
    _check_best(float(logits[best]))
    return best


def choose(logits: AnyLogits, sampling: Sampling, seen: Set[int], counts: Counts, u: float) -> int:
    """One token id for one masked row: `shape_logits`, then `draw` with u, or `greedy` at temperature 0."""
    if not np.isfinite(np.max(logits)):
        _check_best(float(np.max(logits)))
    shaped = shape_logits(logits, sampling, seen, counts)
    return greedy(shaped) if sampling.temperature == 0.0 else draw(shaped, u)


def choose_checked(
    logits: AnyLogits,
    matcher: TokenConstraint,
    sampling: Sampling,
    seen: Set[int],
    counts: Counts,
    u: float,
    *,
    mode: Literal["exact", "fast"] = "exact",
    most: int = 8,
) -> int:
    """One token id for one row that is not masked: draw, check that token, and draw again where it is refused.

    mode "exact": the ids are distributed as those of `choose` on the masked row. Let P be the distribution of the whole
        chain on the free row, and Q that on the masked one. Without top-p and min-p, P(t) <= Q(t) for every allowed t:
        the other steps act on each token alone, and the k best allowed tokens weigh no more than the k best of all. So
        an allowed draw stands, with probability P(t), and a refused one is followed by a draw from Q - P, normalised,
        which brings every t to Q(t) (Leviathan et al. 2023, Fast Inference from Transformers via Speculative Decoding,
        2.3, with the free chain as the draft). A mask is filled after a refusal only. Top-p and min-p cut where all
        tokens together say, so that P(t) > Q(t) is possible; with one of them the mask comes first, as in `choose`.
    mode "fast": a refused token is forbidden and the chain runs again, `most` times before a mask is filled after all.
        Under top-k, top-p and min-p this is biased towards tokens that are kept beside forbidden ones: a token
        that only comes into the kept ones when others have gone has no part in the first draws. Without
        them, and at temperature 0, it is exact.

    Where a session is undecided between an answer and a call, the first draw is from the free row: a token that begins
    a call is taken, and after any other the calls are left out.

    Redraws take their uniforms from a stream that u seeds, so that the step consumes one uniform all the same.
    logits: float [V], not written. Raises ValueError as `draw` does, and for an unknown mode.
    """
    if mode not in ("exact", "fast"):
        raise ArgumentError(f'mode must be "exact" or "fast", not {mode!r}')
    cuts, further = sampling.temperature > 0.0, uniforms(int(u * 2**53))
    if getattr(matcher, "undecided", False):
        token = choose(logits, sampling, seen, counts, u)
        if matcher.prefer(token):  # type: ignore[attr-defined]  # only sessions are undecided
            return token
        u = further.random()
    if mode == "exact" and cuts and (sampling.top_p < 1.0 or sampling.min_p > 0.0):
        return choose(_masked(logits, matcher), sampling, seen, counts, u)
    row = np.array(logits, dtype=np.float64)
    for _ in range(most if mode == "fast" else 1):
        token = choose(row, sampling, seen, counts, u)
        if matcher.allows(token):
            return token
        row[token] = -np.inf
        u = further.random()
    masked = _masked(logits, matcher)
    if mode == "exact" and cuts and sampling.top_k and np.max(masked) > -np.inf:
        drawn_from = distribution(shape_logits(logits, sampling, seen, counts))
        wanted = distribution(shape_logits(masked, sampling, seen, counts))
        rest = np.maximum(wanted - drawn_from, 0.0)
        return _invert(rest if rest.any() else wanted, u)
    return choose(masked, sampling, seen, counts, u)


def _masked(logits: AnyLogits, matcher: TokenConstraint) -> Logits:
    row = np.array(logits, dtype=np.float64)
    bitmask = allocate_token_bitmask(1, matcher.vocabulary.size)
    if matcher.fill_next_token_bitmask(bitmask):
        apply_token_bitmask_inplace(row, bitmask)
    return row


def _descending(logits: Logits) -> npt.NDArray[np.int64]:
    """Ids of the tokens still allowed, likeliest first, lower ids first among equals."""
    alive = np.flatnonzero(logits > -np.inf)
    return alive[np.argsort(-logits[alive], kind="stable")]


def _weights(logits: AnyLogits) -> Logits:
    row = np.asarray(logits, dtype=np.float64)
    best = float(row.max())
    _check_best(best)
    return np.exp(row - best)


def _check_best(best: float) -> None:
    if not math.isfinite(best):
        what = "every token is forbidden" if best == -math.inf else f"the greatest logit is {best}"
        raise ArgumentError(f"nothing to draw from: {what}")
