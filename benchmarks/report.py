"""Run a short selection of the benchmarks and write one Markdown report.

    python benchmarks/report.py --out docs/benchmarks/report.md
    python benchmarks/report.py --data cases.jsonl.xz --tokenizer tokenizer.json --eos '<|eot_id|>' --out FILE

Without data the bundled examples are used, without a tokenizer one token per byte. llguidance takes part where it is
installed and a tokenizer is given.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGES = ("numpy", "numba", "tokenizers", "llguidance", "jsonschema")


def installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def machine() -> str:
    versions = [f"{p} {v}" for p in PACKAGES if (v := installed(p))]
    return f"Python {platform.python_version()}, {', '.join(versions)}; {platform.machine()}, {os.cpu_count()} CPUs."


def run(script: str, *arguments: str) -> str:
    """What a script prints; what went wrong too, since a report of mismatches is a report."""
    print(f"{script} ...", file=sys.stderr, flush=True)
    done = subprocess.run([sys.executable, str(HERE / script), *arguments], capture_output=True, text=True)
    return done.stdout.strip() + ("\n\n" + done.stderr.strip()[-2000:] if done.returncode and done.stderr else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="cases, jsonl or jsonl.xz")
    parser.add_argument("--every", default="15", help="only every so many cases of the data")
    parser.add_argument("--tokenizer", help="tokenizer.json")
    parser.add_argument("--eos", help="text of the token that ends the output")
    parser.add_argument(
        "--seconds", default="120", help="budget of the walks, and of the comparison with the interpreter"
    )
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    tokenizer = ["--tokenizer", options.tokenizer, "--eos", options.eos or ""] if options.tokenizer else []
    data = [options.data, "--every", options.every] if options.data else []
    engines = "constrain,llguidance" if tokenizer and installed("llguidance") else "constrain"
    budget = ["--seconds", options.seconds]
    sections = [
        ("Coverage and speed", "maskbench.py", [*data, *tokenizer, "--engines", engines]),
        ("Cold start", "coldstart.py", tokenizer),
        ("Random walks", "walks.py", [*data, *tokenizer, *budget]),
        ("Against the reference interpreter", "oracle.py", [*data, *tokenizer, *budget, "--states", "1000000"]),
    ]
    lines = [
        "# Benchmarks",
        "",
        f"Written by `make bench`. {machine()}",
        "Times are of one run on one machine: compare within a table.",
    ]
    for title, script, arguments in sections:
        lines += ["", f"## {title}", "", f"See `benchmarks/{script}`.", "", run(script, *arguments)]
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"wrote {options.out}")


if __name__ == "__main__":
    main()
