"""What a tool-call format is made of. `constrain.wires.markers` has the formats.

A reply is

    reply    ::= reasoning? text? block* text?
    block    ::= section.open call (between call)* section.close?        where a wire has sections
               | call (between call)*                                    where it has none
    call     ::= head.open name (counter number)? head.close arguments close
               | head.open envelope close                                the name stands inside the JSON body

and the arguments have one of three shapes: a JSON object, keyed elements with raw text, or Gemma's key:value.

All markers are texts. A text in `controls` is one control token where the vocabulary has it, also in the middle of a
longer marker; in other vocabularies it is bytes like the rest. Whitespace around a marker is layout: written as chat
templates write it, read in any amount.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

__all__ = [
    "NOTHING",
    "Body",
    "Counter",
    "ElementBody",
    "Envelope",
    "Head",
    "JsonBody",
    "KeyValueBody",
    "Mark",
    "Reasoning",
    "Section",
    "Typing",
    "Wire",
]

_BLANKS = " \t\r\n"


@dataclass(frozen=True)
class Mark:
    """A fixed text. before, after: the whitespace that templates write around it; it is layout, `text` is exact."""

    text: str
    before: str = ""
    after: str = ""

    def __str__(self) -> str:
        return self.before + self.text + self.after

    @classmethod
    def of(cls, trained: str) -> Mark:
        """The mark of a text as it is trained: whitespace at its ends is layout."""
        text = trained.strip(_BLANKS)
        start = len(trained) - len(trained.lstrip(_BLANKS))
        return cls(text, trained[:start], trained[start + len(text) :]) if text else cls("", after=trained)


NOTHING = Mark("")


@dataclass(frozen=True)
class Section:
    """What stands around the calls of one block. close_optional: models leave the closing marker out."""

    open: Mark
    close: Mark = NOTHING
    close_optional: bool = False


@dataclass(frozen=True)
class Counter:
    """A number after the name, in decimal digits without leading zeros. before: the text between name and number.

    The calls of a reply count up from `start`; over_conversation: from wherever the conversation has got to.
    call_id: the id of a call in hosts' messages, with {name} and {number}; "": the number is not part of one.
    """

    before: str
    start: int
    over_conversation: bool = False
    call_id: str = ""


@dataclass(frozen=True)
class Head:
    """The beginning of a call, with the name in the middle unless the body has an envelope.

    open:    "" where a call begins with its name or its body.
    closes:  what may stand between name (or counter) and arguments; the first is what templates write.
    at_start: text that may as well occur in prose: a call only at the beginning of a message, or after another call.
    """

    open: Mark = NOTHING
    closes: tuple[Mark, ...] = (NOTHING,)
    counter: Counter | None = None
    at_start: bool = False


@dataclass(frozen=True)
class Envelope:
    """The members of the JSON object that holds name and arguments. arguments: the first is written, all are read.

    ids: members that may hold an id of the call; they are read, never written.
    """

    arguments: tuple[str, ...]
    name: str = "name"
    ids: tuple[str, ...] = ("id",)


@dataclass(frozen=True)
class JsonBody:
    """Arguments as a JSON object. envelope: None where the name stands in the head. Separators as trained."""

    envelope: Envelope | None = None
    item_separator: str = ", "
    key_separator: str = ": "


class Typing(Enum):
    """How an element says whether its raw text is a string or JSON.

    SCHEMA:      it does not; the tool's schema does.
    STRING_FLAG: `true` (raw string) or `false` (JSON) between key_close and value_open.
    TYPE_NAME:   the JSON type's name there: string (raw), number, boolean, null, object, array (JSON).
    """

    SCHEMA = "schema"
    STRING_FLAG = "flag"
    TYPE_NAME = "type"


@dataclass(frozen=True)
class ElementBody:
    """One element per argument: key_open KEY key_close [type] value_open VALUE value_close, joined by `between`.

    A string is its characters, without quotes or escapes; other values are JSON. The first value_close ends the value.
    pad:      layout on either side of the value, exactly once; all other whitespace beside a value is the value's.
    attribute_escapes: in key and name, `&` is written `&amp;` and `"` is written `&quot;`.
    capitals: older templates write True, False, None for a value that is one of these; it is read, and written under
              the option `literals`.
    """

    key_open: Mark
    key_close: Mark
    value_close: Mark
    value_open: Mark = NOTHING
    between: str = ""
    pad: str = ""
    typing: Typing = Typing.SCHEMA
    attribute_escapes: bool = False
    capitals: bool = False


@dataclass(frozen=True)
class KeyValueBody:
    """{key:value,key:value}: bare keys at every depth, no whitespace, strings between two `quote` without escapes.

    sorted_keys: templates sort keys, ignoring case, at every depth.
    nulls:       spellings of null; the first is what today's templates write.
    """

    quote: str
    sorted_keys: bool = True
    nulls: tuple[str, ...] = ("null", "None")


Body = JsonBody | ElementBody | KeyValueBody


@dataclass(frozen=True)
class Reasoning:
    """The markers around reasoning. in_prompt: the prompt ends with `open`, so that the reply begins inside."""

    open: Mark
    close: Mark
    in_prompt: bool = False


@dataclass(frozen=True)
class Wire:
    """One format. What is not given, the format does not have.

    sections:  alternatives; the first is what templates write.
    heads:     alternatives; likewise.
    close:     ends a call; NOTHING where the arguments' last byte does.
    between:   between two calls of one block (of a section, where there are sections).
    one_per_section: templates write a section for each call; between then stands between the sections.
    silent:    markers outside calls that carry nothing for a reader: message headers, wrappers around the answer.
    starts:    those of them after which a message begins.     headers: those that head a message which is no call.
    stops:     end-of-turn tokens of the family besides the vocabulary's EOS. A `close` that is a stop may be missing
               at the end of a reply, because hosts keep stop tokens to themselves.
    prose_after: whether models are trained to go on with text after a call.
    loose:     readers skip whitespace between the markers; elsewhere it is as trained.
    before_call, after_calls: markers that may stand before a call which is demanded at once (of the message, of an
               answer that stays empty), and after the last call.
    before_answer, after_answer: the same around an answer without calls.
    """

    name: str
    models: str
    body: Body
    heads: tuple[Head, ...] = (Head(),)
    sections: tuple[Section, ...] = ()
    close: Mark = NOTHING
    between: Mark = NOTHING
    one_per_section: bool = False
    reasoning: Reasoning | None = None
    silent: tuple[Mark, ...] = ()
    starts: tuple[Mark, ...] = ()
    headers: tuple[Mark, ...] = ()
    stops: tuple[str, ...] = ()
    controls: tuple[str, ...] = ()
    prose_after: bool = True
    loose: bool = False
    before_call: tuple[Mark, ...] = ()
    after_calls: tuple[Mark, ...] = ()
    before_answer: tuple[Mark, ...] = ()
    after_answer: tuple[Mark, ...] = ()

    @property
    def openers(self) -> tuple[Mark, ...]:
        """What begins a block. An empty one: the format has no marker there, and begins with its body."""
        opened: tuple[Section, ...] | tuple[Head, ...] = self.sections or self.heads
        return tuple(dict.fromkeys(one.open for one in opened))
