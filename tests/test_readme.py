"""The README's example runs as printed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def test_the_example_runs_as_printed() -> None:
    [example] = re.findall(r"^```python\n(.*?)^```$", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    run = subprocess.run([sys.executable, "-c", example], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    value = json.loads(run.stdout)
    assert value.keys() == {"age"}
    assert 0 <= value["age"] <= 150


def test_links_lead_somewhere() -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", README.read_text(encoding="utf-8"))
    assert links
    assert [link for link in links if not (README.parent / link).exists()] == []
