"""The public functions: compile a constraint, warm the kernels up."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ._arguments import an_instance, check_vocabulary, integer, one_of
from ._errors import LimitError
from ._limits import Limits, limits_of, timed
from ._saved import Origin, frozen
from .automata.compiled import Grammar
from .vocabulary import TEXT_BYTES, Vocabulary

if TYPE_CHECKING:
    from .wires.automaton import ToolAutomaton

__all__ = [
    "compile_choice",
    "compile_gbnf",
    "compile_json_schema",
    "compile_lark",
    "compile_regex",
    "compile_structural_tag",
    "compile_tools",
    "sample",
    "warmup",
]


def compile_json_schema(
    schema: Any,
    vocab: Vocabulary | None = None,
    *,
    draft: str | int | None = None,
    whitespace: str = "flexible",
    property_order: str = "any",
    additional_properties: bool | None = None,
    formats: str = "assert",
    numbers: str = "canonical",
    lenient: bool = False,
    openapi: bool = False,
    registry: Any = None,
    limits: Limits | None = None,
) -> Grammar:
    """A grammar whose outputs are exactly the JSON texts that are valid under `schema` (docs/json-schema.md).

    schema:                dict, bool, JSON text, or a pydantic model or type.
    vocab:                 None: the grammar only checks text.
    draft:                 4, 6, 7, "2019-09" or "2020-12"; None: what `$schema` says, else 2020-12.
    whitespace:            "flexible", "compact", "single" or a pattern for the text between JSON tokens.
    property_order:        "any" or "schema" (the order of declaration).
    additional_properties: None: open as JSON Schema says; False: objects that do not say are closed.
    formats:               "assert" or "annotate".
    numbers:               "canonical", or "any": integers may also be written 1.0 or 1e2.
    lenient:               relax what cannot be enforced and list it in `grammar.report`, instead of SchemaError.
    openapi:               read OpenAPI's `nullable` and `discriminator` (else the report notes that they mean nothing).
    registry:              a `referencing.Registry` for references to other documents.

    Raises SchemaError, UnsatisfiableError, LimitError.
    """
    from .schema.compile import common_nodes, compile_document, scanned
    from .schema.options import Options

    limits = limits_of(limits)
    check_vocabulary(vocab)
    options = Options(whitespace, property_order, additional_properties, formats, numbers, lenient, openapi)
    with timed(limits):
        document = scanned(schema, draft=draft, registry=registry, limits=limits, openapi=openapi)
        root, report = compile_document(document, options), document.report
    missing = [] if vocab is None else sorted(TEXT_BYTES.intersection(vocab.missing_bytes))
    if missing:
        shown = " ".join(f"{byte:02x}" for byte in missing[:16]) + (" ..." if len(missing) > 16 else "")
        reason = f"no token of the vocabulary is one of the bytes {shown}: an output may need them and find no token"
        report.add("", "", "note", reason)
    arguments = {
        "draft": draft,
        "whitespace": whitespace,
        "property_order": property_order,
        "additional_properties": additional_properties,
        "formats": formats,
        "numbers": numbers,
        "lenient": lenient,
        "openapi": openapi,
    }
    origin = Origin("json_schema", lambda: document.root.schema, arguments, lambda: document.retrieved)
    common = common_nodes(document, options)
    return Grammar(root, vocab, report=report, limits=limits, origin=origin, common=common)


def compile_regex(
    pattern: str, vocab: Vocabulary | None = None, *, dialect: str = "ecma", limits: Limits | None = None
) -> Grammar:
    """A grammar whose outputs are the texts that `pattern` matches as a whole. dialect: "ecma" or "python".

    Without the texts that have a NUL, which no token writes.

    Raises GrammarError (with the position), UnsatisfiableError, LimitError.
    """
    from ._errors import UnsatisfiableError
    from .automata.grammar import Lexeme
    from .grammars.leaves import without_nul
    from .languages.pattern import compile_pattern

    limits = limits_of(limits)
    check_vocabulary(vocab)
    an_instance(pattern, str, "pattern", "a str")
    one_of(dialect, ("ecma", "python"), "dialect")
    with timed(limits):
        dfa = without_nul(compile_pattern(pattern, dialect=dialect, search=False, limits=limits))
    if dfa.is_empty:
        raise UnsatisfiableError("", f"no text matches the pattern {pattern!r}")
    return Grammar(Lexeme(dfa=dfa), vocab, limits=limits, origin=Origin("regex", frozen(pattern), {"dialect": dialect}))


def compile_choice(choices: list[str], vocab: Vocabulary | None = None, *, limits: Limits | None = None) -> Grammar:
    """A grammar whose outputs are exactly the given strings, in any tokenization. "" is a choice like any other."""
    from ._errors import GrammarError
    from .automata.grammar import Lexeme

    if not isinstance(choices, (list, tuple)) or not all(isinstance(c, str) for c in choices):
        raise GrammarError("choices must be a list of strings")
    limits = limits_of(limits)
    check_vocabulary(vocab)
    if any("\0" in choice for choice in choices):
        raise GrammarError("a choice has a NUL character, which no output may contain")
    if not choices:
        raise GrammarError("choices must not be empty: nothing could be generated")
    try:
        words = tuple(sorted({choice.encode() for choice in choices}))
    except UnicodeEncodeError as error:
        raise GrammarError(f"a choice has a lone surrogate, which no UTF-8 text can spell: {error.object!r}") from None
    origin = Origin("choice", lambda: [word.decode() for word in words], {})
    return Grammar(Lexeme(words=words), vocab, limits=limits, origin=origin)


def sample(grammar: Grammar, *, seed: int | None = None, max_bytes: int = 2000) -> str:
    """A random output of the grammar: an example, valid to the byte, of plain words and short numbers.

    seed:      equal seeds give equal outputs; None: another one each time.
    max_bytes: after so many bytes nothing is chosen at random any more: a short completion follows, so every output
               ends, and is longer only by that. 0 gives a shortest output, or nearly.

    Control tokens are spelled as the vocabulary names them. Not a fair draw: rare outputs are rarer here (see
    `constrain.automata.examples`). Raises LimitError.
    """
    from random import Random

    from .automata.examples import example
    from .automata.grammar import SYMBOL, symbol
    from .automata.oracle import Oracle

    an_instance(grammar, Grammar, "grammar", "a constrain.Grammar")
    max_bytes = integer(max_bytes, "max_bytes")
    if seed is not None:
        seed = integer(seed, "seed (or None)")
    names = {} if grammar.vocabulary is None else {symbol(i): name for name, i in grammar.vocabulary.control.items()}
    symbols = tuple(map(symbol, grammar.symbols))
    try:
        with grammar.lock, timed(grammar.limits, "time of one sample"):
            inputs = example(Oracle(grammar.root), Random(seed), max_bytes, symbols)
    except RecursionError:
        raise LimitError("max_depth", grammar.limits.max_depth, "nesting of an output") from None
    return b"".join([bytes((i,)) if i < SYMBOL else names[i].encode() for i in inputs]).decode()


def compile_tools(
    tools: Any, vocab: Vocabulary | None = None, wire: str | Sequence[str] = "hermes", **options: Any
) -> ToolAutomaton:
    """An automaton for the tool calls of replies in one format, or several (docs/tool-calls.md).

    tools: an OpenAI, Anthropic or MCP list, or a `constrain.automata.ToolSchemaCompiler`.
    vocab: None: it only checks texts.
    wire:  "hermes", "exaone", "llama3", "mistral", "mistral_v11", "deepseek_v3", "deepseek_v31", "kimi_k2",
           "phi4_mini", "harmony", "gemma4", "functiongemma", "qwen3_coder", "kimi_k3", "glm45", "glm47", "minimax_m2",
           "dsml"; "qwen" is hermes and qwen3_coder at once; or a list of names.
    The options are those of `constrain.wires.automaton.ToolAutomaton` and ToolSchemaCompiler.

    The same arguments give the same automaton: the last few are kept, with all that was built for them.
    """
    from .wires.automaton import automaton

    return automaton(tools, vocab, wire, options)


def compile_lark(
    text: str, vocab: Vocabulary | None = None, *, start: str = "start", limits: Limits | None = None
) -> Grammar:
    """A grammar in Lark's language, with `%json {schema}` and `<control token>` (docs/grammars.md). Needs `lark`.

    A terminal stands for the whole regular language of its pattern, and ignored text may stand around terminals.
    The report notes what is not used, has no words, or has no effect.

    Raises GrammarError (line, column), SchemaError, LimitError; ImportError without the package.
    """
    from .grammars import compile_lark_text

    an_instance(start, str, "start", "the name of a rule")

    limits = limits_of(limits)
    check_vocabulary(vocab)
    with timed(limits):
        return compile_lark_text(text, vocab, start, limits)


def compile_gbnf(
    text: str, vocab: Vocabulary | None = None, *, root: str = "root", limits: Limits | None = None
) -> Grammar:
    """A grammar in GBNF, the notation of llama.cpp, token literals included (docs/grammars.md).

    Raises GrammarError (line, column), LimitError.
    """
    from .grammars import compile_gbnf_text

    an_instance(root, str, "root", "the name of a rule")

    limits = limits_of(limits)
    check_vocabulary(vocab)
    with timed(limits):
        return compile_gbnf_text(text, vocab, root, limits)


def compile_structural_tag(
    spec: Any, vocab: Vocabulary | None = None, *, whitespace: str = "flexible", limits: Limits | None = None
) -> Grammar:
    """A structural tag in the published format of XGrammar and vLLM: a dict or JSON text (docs/grammars.md).

    whitespace: of JSON values, as in compile_json_schema. Their members come in the order of the schema, unless a
    format says `any_order`.

    Raises SchemaError (JSON pointer into `spec`), UnsatisfiableError, LimitError.
    """
    from .grammars import compile_tag_spec

    limits = limits_of(limits)
    check_vocabulary(vocab)
    with timed(limits):
        return compile_tag_spec(spec, vocab, whitespace, limits)


def warmup(vocab: Vocabulary | None = None) -> float:
    """Load or compile every kernel, and the tables of `vocab`, now; later calls are steady. Returns the seconds taken.

    From scratch this takes some tens of seconds, later about a quarter of a second: machine code is kept on disk
    (CONSTRAIN_CACHE_DIR, else beside the package, else in the user's cache).
    """
    check_vocabulary(vocab)
    start = time.perf_counter()
    if vocab is None:
        vocab = Vocabulary.from_tokens([bytes([b]) for b in range(256)], eos_token_ids=[])
    grammar = compile_json_schema({}, vocab)
    matcher = grammar.matcher()
    from .bitmask import allocate_token_bitmask

    bitmask = allocate_token_bitmask(1, vocab.size)
    for data in (b"{", b'"a"', b":", b'"b'):
        matcher.fill_next_token_bitmask(bitmask)
        matcher.accept_bytes(data)
    matcher.fill_next_token_bitmask(bitmask)
    return time.perf_counter() - start
