"""The command line: `constrain check`, `constrain sample`, `constrain tools`, `constrain warmup`, `constrain
--version`.

sources   reads what the command names: files, standard input, JSON; says what is unusable about it
counts    sizes of a schema
verdicts  what the automaton and jsonschema say about an instance
masks     what a tokenizer's masks are like: how many tokens are allowed, how long a mask takes
check     the command itself: from the options to a `Result`
output    a `Result` as text or as JSON
sample    random outputs
tools     `constrain tools`: the calls in a transcript, and where it leaves its format
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

__all__ = ["main"]

_EXIT_CODES = """\
exit codes:
  0  the schema compiles with nothing relaxed or refused, and every instance and text is accepted
  1  an instance or a text is rejected, or something in the schema is relaxed, refused or cannot be satisfied
  2  unusable input: an unreadable file, invalid JSON, an invalid schema, an unusable tokenizer, a wrong option
"""

_TOOLS_EXIT_CODES = """\
exit codes:
  0  every reply is in its format, and its calls are valid for their tools
  1  a reply leaves its format, or a call is not valid
  2  unusable input: an unreadable file, invalid JSON, unusable tools, a wrong option
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit code. SystemExit(2) on wrong options, as argparse does."""
    options = _parser().parse_args(arguments)
    if options.command == "warmup":
        return _warmup(options)
    if options.command == "sample":
        from .sample import sample

        return sample(options)
    if options.command == "tools":
        from .tools import tools

        return tools(options)
    from .check import check
    from .output import show

    result = check(options)
    show(result, as_json=options.json)
    return result.exit_code


def _warmup(options: argparse.Namespace) -> int:
    import constrain

    from ..languages.formats import keep_slow_formats
    from .sources import Unusable, read_vocabulary

    try:
        vocabulary = read_vocabulary(options) if options.tokenizer else None
    except Unusable as error:
        sys.stderr.write(f"constrain warmup: {error}\n")
        return 2
    sys.stdout.write(f"kernels are ready after {constrain.warmup(vocabulary):.2f} s\n")
    keep_slow_formats()
    return 0


class _Version(argparse.Action):
    """The version of the installed package, looked up only when it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object, **__: object) -> None:
        from importlib.metadata import PackageNotFoundError, version

        try:
            found = version("constrain-decoding")
        except PackageNotFoundError:
            found = "(not installed)"
        sys.stdout.write(f"constrain {found}\n")
        parser.exit()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="constrain", description="Exact and fast constrained decoding.")
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    check = commands.add_parser(
        "check",
        help="check a JSON Schema, and instances against it",
        description="Compile a JSON Schema, say what is enforced, relaxed or refused, and check instances against it.",
        epilog=_EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    check.add_argument("--schema", required=True, metavar="FILE", help="the schema; - reads standard input")
    check.add_argument(
        "--instance",
        action="append",
        default=[],
        metavar="FILE",
        help="a JSON value to check, with any whitespace, by the automaton and by jsonschema if that is installed; "
        "may be repeated; - reads standard input",
    )
    check.add_argument(
        "--text",
        action="append",
        default=[],
        metavar="FILE",
        help="a model's whole output to check to the byte, JSON or not, under --whitespace; may be repeated",
    )
    _add_compiling(check)
    check.add_argument(
        "--explain",
        type=int,
        nargs="?",
        const=6,
        metavar="DEPTH",
        help="show what the keywords come down to, subschema by subschema to this depth (default 6), and an example",
    )
    check.add_argument("--json", action="store_true", help="write one JSON object")
    _add_tokenizer(check, "add mask statistics for this vocabulary")

    sample = commands.add_parser(
        "sample",
        help="write random outputs of a JSON Schema",
        description="Write random values that are valid under a JSON Schema, one a line.",
        epilog="exit codes: 0 done, 1 nothing satisfies the schema or a limit was reached, 2 unusable input",
    )
    sample.add_argument("--schema", required=True, metavar="FILE", help="the schema; - reads standard input")
    sample.add_argument("--count", type=int, default=1, metavar="N", help="how many (default 1)")
    sample.add_argument("--seed", type=int, metavar="N", help="the same seed writes the same values")
    sample.add_argument("--max-bytes", type=int, default=2000, metavar="N", help="finish each soon after N bytes")
    _add_compiling(sample)
    _add_tools(commands)

    warmup = commands.add_parser("warmup", help="compile all kernels and the formats now, or load them")
    _add_tokenizer(warmup, "build the tables of this vocabulary too")
    return parser


def _add_compiling(parser: argparse.ArgumentParser) -> None:
    """The options of a schema compilation."""
    parser.add_argument("--draft", help="4, 6, 7, 2019-09 or 2020-12; default: what $schema says, else 2020-12")
    parser.add_argument("--whitespace", default="flexible", help="flexible, compact, single or a pattern")
    parser.add_argument("--property-order", default="any", choices=["any", "schema"])
    parser.add_argument("--formats", default="assert", choices=["assert", "annotate"])
    parser.add_argument("--numbers", default="canonical", choices=["canonical", "any"])
    parser.add_argument("--lenient", action="store_true", help="relax what cannot be enforced, instead of refusing it")
    parser.add_argument("--openapi", action="store_true", help="read OpenAPI's nullable and discriminator")


def _add_tools(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    from ..wires.markers import wire_names

    tools = commands.add_parser(
        "tools",
        help="read the tool calls in a model's replies, and check them",
        description="Read the tool calls in transcripts of replies, and say where one leaves its format or its tools.",
        epilog=_TOOLS_EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    tools.add_argument("--tools", required=True, metavar="FILE", help="the list of tools; - reads standard input")
    tools.add_argument(
        "--wire",
        required=True,
        action="append",
        choices=wire_names(),
        metavar="NAME",
        help="the format: " + ", ".join(wire_names()) + "; repeated: any of them",
    )
    tools.add_argument(
        "--text",
        required=True,
        action="append",
        metavar="FILE",
        help="a whole reply, with its control tokens spelled out; may be repeated; - reads standard input",
    )
    tools.add_argument("--tool-choice", default="auto", metavar="CHOICE", help="auto, required, none or a tool's name")
    tools.add_argument("--inside-reasoning", action="store_true", help="the prompt has begun the reasoning")
    tools.add_argument("--json", action="store_true", help="write one JSON object")


def _add_tokenizer(parser: argparse.ArgumentParser, purpose: str) -> None:
    parser.add_argument(
        "--tokenizer", metavar="PATH", help=f"tokenizer.json or its folder, SentencePiece or GGUF: {purpose}"
    )
    parser.add_argument("--logits-width", type=int, metavar="N", help="width of the logits, if more than the tokens")
    parser.add_argument(
        "--eos-token-id", type=int, action="append", metavar="ID", help="if the tokenizer names none; may be repeated"
    )
