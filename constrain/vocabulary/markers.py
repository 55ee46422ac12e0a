"""Which added tokens are control tokens.

Control tokens have no bytes: they stand for themselves and are allowed only where a grammar names them. The tokenizer's
`special` flag does not tell them all (Qwen's `<tool_call>` and `<think>`, DeepSeek's tool tokens are not flagged), and
not all added tokens are control tokens (Gemma adds runs of newlines, of spaces, and HTML tags as ordinary text).

The rule: an added token is a control token if it is flagged special, or if its text is one marker:
    <...>  [...]   one word, with a letter, in brackets: `<think>`, `</tool_call>`, `<minimax:tool_call>`, `[INST]`
    <|...  ...|>   the same with bars inside the brackets, whatever is between them: `<|"|>`, `<｜tool▁sep｜>`
    |...|          a word between bars: `｜DSML｜`
but not the tag of an HTML element.
"""

from __future__ import annotations

import re

from constrain.vocabulary.table import AddedToken, decode_byte_piece

__all__ = ["is_control"]

_MARKER = re.compile(
    r"""  <[|｜][^<>]+>  |  <[^<>]+[|｜]>          # bars inside the brackets
        | <[^\s<>]*[^\W\d_][^\s<>]*>             # a word in angle brackets
        | \[/?[^\W\d_][^\s\[\]]*\]               # a word in square brackets
        | [|｜][^\s|｜]+[|｜]                     # a word between bars
    """,
    re.VERBOSE,
)

# Elements of the HTML standard, some obsolete ones, and Gemma's <bbox>.
_HTML = frozenset(
    """a abbr address area article aside audio b base bbox bdi bdo big blockquote body br button canvas caption center
    cite code col colgroup data datalist dd del details dfn dialog div dl dt em embed fieldset figcaption figure font
    footer form h1 h2 h3 h4 h5 h6 head header hgroup hr html i iframe img input ins kbd label legend li link main map
    mark math menu meta meter nav noscript object ol optgroup option output p param picture pre progress q rp rt ruby s
    samp script search section select slot small source span strike strong style sub summary sup svg table tbody td
    template textarea tfoot th thead time title tr track tt u ul var video wbr""".split()
)


def is_control(token: AddedToken) -> bool:
    """Whether an added token is a control token, by the rule of the module text."""
    if token.special:
        return True
    if not _MARKER.fullmatch(token.text) or decode_byte_piece(token.text) is not None:
        return False
    return token.text.strip("</>").lower() not in _HTML
