"""Run a selection of the benchmarks in about five minutes and write a Markdown report with plots beside it.

    python benchmarks/report.py --out docs/benchmarks/report.md
    python benchmarks/report.py --data cases.jsonl.xz --tokenizer tokenizer.json --eos '<|eot_id|>' --out FILE

Without data the bundled examples are used. Without a tokenizer one is trained on the spot (trained.py); where the
package tokenizers is not installed, every byte is a token. Other engines take part where they are installed, and plots
need matplotlib.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TRAINED = HERE.parent / "build" / "bench" / "tokenizer.json"
PACKAGES = ("numpy", "numba", "tokenizers", "llguidance", "glrmask", "xgrammar", "jsonschema")


@dataclass(frozen=True)
class Section:
    """One script. share: of the budget, 0 where it takes what it takes; plot: from the figures that it writes."""

    title: str
    script: str
    arguments: list[str]
    share: float = 0.0
    plot: Callable[[Any, Path], None] | None = None


def installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def machine() -> str:
    versions = [f"{p} {v}" for p in PACKAGES if (v := installed(p))]
    return f"Python {platform.python_version()}, {', '.join(versions)}; {platform.machine()}, {os.cpu_count()} CPUs."


def load() -> str:
    """How much else the machine does, since that is in the figures."""
    if not hasattr(os, "getloadavg"):
        return ""
    before = os.getloadavg()[0]
    return f" The machine's load was {before:.1f} when it began."


def run(section: Section, seconds: float, out: Path) -> list[str]:
    """What a script prints; what went wrong too, since a report of mismatches is a report."""
    print(f"{section.script} ...", file=sys.stderr, flush=True)
    arguments = [*section.arguments]
    if section.share:
        arguments += ["--seconds", f"{section.share * seconds:.0f}"]
    with tempfile.TemporaryDirectory() as folder:
        figures = Path(folder) / "figures.json"
        if section.plot:
            arguments += ["--json", str(figures)]
        began = time.monotonic()
        done = subprocess.run(
            [sys.executable, str(HERE / section.script), *arguments], capture_output=True, text=True, env=environment()
        )
        print(f"    {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
        lines = [done.stdout.strip()]
        if done.returncode:
            lines += ["", "It failed:", "", "```", done.stderr.strip()[-1500:], "```"]
        if section.plot and figures.exists() and find_spec("matplotlib"):
            picture = out.with_name(f"{Path(section.script).stem}.png")
            section.plot(json.loads(figures.read_text(encoding="utf-8")), picture)
            lines = [f"![{section.title}]({picture.name})", "", *lines]
    return lines


def environment() -> dict[str, str]:
    """So that the scripts find the package beside them, installed or not."""
    paths = [str(HERE.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def sections(options: argparse.Namespace, tokenizer: list[str], engines: list[str]) -> list[Section]:
    data = [options.data, "--every", str(options.every)] if options.data else []
    both = [*data, *tokenizer]
    fewer = [options.data, "--every", str(4 * options.every), *tokenizer] if options.data else tokenizer
    judged = ["--engines", ",".join(engines), *(["--skip", options.skip] if options.skip else [])]
    return [
        Section("Coverage and speed", "maskbench.py", [*both, *judged], 0.32, quantiles),
        Section("Where the time goes", "breakdown.py", both),
        Section("Growth", "growth.py", [*tokenizer, "--rounds", "2", "--limit", "8", "--brief"], 0.3, growth),
        Section("Batches and threads", "batches.py", [*both, "--rounds", "3"], 0, batches),
        Section("Memory", "memory.py", fewer),
        Section("Cold start", "coldstart.py", [*tokenizer, "--runs", "3"]),
        Section("Random walks", "walks.py", both, 0.04),
        Section("Against the reference interpreter", "oracle.py", [*both, "--states", "1000000"], 0.04),
    ]


def quantiles(found: Any, path: Path) -> None:
    from plots import plot_quantiles

    plot_quantiles(found, path)


def growth(found: Any, path: Path) -> None:
    from curves import CURVES
    from plots import plot_growth

    plot_growth(found, {curve.name: curve.axis for curve in CURVES}, path)


def batches(found: Any, path: Path) -> None:
    from plots import plot_batches

    plot_batches(found, path)


def some_tokenizer(options: argparse.Namespace) -> list[str]:
    """Arguments that name the tokenizer: the one that was given, or one that is trained once."""
    if options.tokenizer:
        return ["--tokenizer", options.tokenizer, "--eos", options.eos or ""]
    if find_spec("tokenizers") is None:
        return []
    from trained import EOS, train

    if not TRAINED.exists():
        print("training a tokenizer ...", file=sys.stderr, flush=True)
        train(TRAINED)
    return ["--tokenizer", str(TRAINED), "--eos", EOS]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="cases, jsonl or jsonl.xz")
    parser.add_argument("--every", type=int, default=45, help="only every so many cases of the data")
    parser.add_argument("--tokenizer", help="tokenizer.json")
    parser.add_argument("--eos", help="text of the token that ends the output")
    parser.add_argument("--skip", help="tests that are not judged, as maskbench.py takes them")
    parser.add_argument("--engines", help="comma-separated; default: all that are installed")
    parser.add_argument("--seconds", type=float, default=300, help="for the whole report, roughly")
    parser.add_argument("--only", help="comma-separated scripts without .py; default: all")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    sys.path.insert(0, str(HERE.parent))
    tokenizer = some_tokenizer(options)
    from engines import ENGINES, usable

    engines = options.engines.split(",") if options.engines else usable(bool(tokenizer))
    if unknown := set(engines) - set(ENGINES):
        parser.error(f"unknown engines: {', '.join(sorted(unknown))}")
    lines = [
        "# Benchmarks",
        "",
        f"Written by `make bench`. {machine()}{load()}",
        "Times are of one run on one machine: compare within a table. [Performance](../performance.md) explains them.",
    ]
    options.out.parent.mkdir(parents=True, exist_ok=True)
    wanted = options.only.split(",") if options.only else None
    for section in sections(options, tokenizer, engines):
        if wanted is None or section.script.removesuffix(".py") in wanted:
            lines += ["", f"## {section.title}", "", f"`benchmarks/{section.script}`", ""]
            lines += run(section, options.seconds, options.out)
    options.out.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"wrote {options.out}")


if __name__ == "__main__":
    main()
