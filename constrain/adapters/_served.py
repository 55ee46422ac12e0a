"""What grammar backends of servers have in common: constraints by kind, and the state of one request.

Servers name what an answer must be (a schema, a pattern, a grammar ...) and hold one object per request, which takes
tokens, takes them back and fills rows of a shared bitmask. How they name it, and what they expect of each call, is in
their adapters.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..requests import chat, completions
from ..requests.session import Session

__all__ = ["Served", "answer", "reply"]


def answer(kind: str, content: Any, vocabulary: Any, options: Mapping[str, Any], **settings: Any) -> Any:
    """The constraint of an answer.

    kind:     "json", "json_object", "regex", "grammar" (GBNF or Lark), "choice" or "structural_tag".
    content:  text, or a list of choices; JSON text is read where a value is meant.
    options:  of JSON: `disable_any_whitespace`, `whitespace_pattern`, `disable_additional_properties`.
    settings: see `constrain.requests.completions`; equal content is compiled once.

    Raises RequestError, which is a ValueError.
    """
    if kind == "choice" and isinstance(content, str):
        content = json.loads(content)
    given = {name: value for name, value in options.items() if value}
    if kind not in ("json", "json_object"):
        given = {}
    body = {"structured_outputs": {kind: True if kind == "json_object" else content, **given}}
    return completions(body, vocabulary, **settings)


def reply(body: Any, vocabulary: Any, **settings: Any) -> Any:
    """The constraint of a request's body, or of its JSON text: see `constrain.requests.chat`. None if it is free."""
    constraint = chat(json.loads(body) if isinstance(body, str) else body, vocabulary, **settings)
    return None if constraint.is_free else constraint


class Served:
    """The state of one request. When its constraint fails, it may only end, and the log says why.

    A token after the end is taken and does nothing: servers show what the model wrote behind a stop token, too. Such
    tokens count as steps of a rollback.
    """

    def __init__(self, constraint: Any, stop_token_ids: Iterable[int] | None = None) -> None:
        self.constraint = constraint
        self.stop_token_ids = None if stop_token_ids is None else tuple(stop_token_ids)
        self.reset()

    def reset(self) -> None:
        """Back to the start."""
        self.matcher = Session(
            self.constraint,
            max_rollback=None,
            stop_token_ids=self.stop_token_ids,
            on_failure="stop",
            on_event=_log_failure,
        )
        self._behind = 0

    def fresh(self) -> Served:
        """The state of another request with the same constraint."""
        return type(self)(self.constraint, self.stop_token_ids)

    @property
    def terminated(self) -> bool:
        """Whether a stop token was taken."""
        return bool(self.matcher.is_terminated())

    def take(self, tokens: Sequence[int]) -> bool:
        """Take all tokens, or none of them (False)."""
        for taken, token in enumerate(tokens):
            if self.terminated:
                self._behind += 1
            elif not self.matcher.accept_token(token):
                self.rollback(taken)
                return False
        return True

    def prefix(self, tokens: Sequence[int]) -> list[int]:
        """The tokens up to the first that is not allowed, or is the padding -1. The state does not change."""
        return list(tokens[: self.matcher.validate_tokens(tokens)])

    def rollback(self, count: int) -> None:
        """Take back steps. Raises ValueError when there are fewer."""
        behind = min(count, self._behind)
        self.matcher.rollback(count - behind)
        self._behind -= behind

    def fill(self, bitmask: Any, row: int) -> None:
        """Write one row of int32[rows, words]; no other is touched."""
        self.matcher.fill_next_token_bitmask(bitmask, row)


def _log_failure(event: Any) -> None:
    if event.kind == "failed":
        logging.getLogger("constrain").error("a constraint failed, and its request may only end: %s", event.reason)
