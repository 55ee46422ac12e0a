"""The page on requests: its example runs, and its tables name what there is."""

from __future__ import annotations

import re
from pathlib import Path

from constrain.requests.sources import _ENGINES, _GUIDED, _GUIDED_OPTIONS, _STRUCTURED, _TYPES, FORMATS
from constrain.wires.efforts import EFFORTS

PAGE = (Path(__file__).parents[2] / "docs" / "requests.md").read_text(encoding="utf-8")


def test_the_example_runs_as_printed():
    [program] = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    exec(compile(program, "docs/requests.md", "exec"), {})


def test_every_field_is_described():
    for name in (*_ENGINES, *_GUIDED, *_GUIDED_OPTIONS, *_STRUCTURED, *_TYPES, *FORMATS, *EFFORTS):
        assert f"`{name}`" in PAGE or f'"{name}"' in PAGE, name
