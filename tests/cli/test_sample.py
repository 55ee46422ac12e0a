"""`constrain sample`: one valid value a line; exit codes as in `constrain check`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from constrain.cli import main

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}


@pytest.fixture
def schema(tmp_path: Path) -> str:
    path = tmp_path / "schema.json"
    path.write_text(json.dumps(SCHEMA))
    return str(path)


def test_as_many_lines_as_asked_for(schema: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sample", "--schema", schema, "--count", "4", "--seed", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [list(json.loads(line)) for line in lines] == [["n"]] * 4
    assert main(["sample", "--schema", schema, "--seed", "2"]) == 0
    assert capsys.readouterr().out.splitlines() == lines[1:2]


def test_options_reach_the_compiler(schema: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sample", "--schema", schema, "--whitespace", "single"]) == 0
    assert capsys.readouterr().out.startswith('{"n": ')


@pytest.mark.parametrize(
    ("content", "code", "line"),
    [
        ('{"minItems": 2, "maxItems": 1, "type": "array"}', 1, "nothing can satisfy this"),
        ('{"type": "integer", "multipleOf": 100000000000000000039}', 1, "limit max_states"),
        ('{"type": "strin"}', 2, "keyword 'type'"),
        ("{", 2, "not JSON"),
    ],
)
def test_why_there_is_no_sample(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, code: int, line: str
) -> None:
    path = tmp_path / "schema.json"
    path.write_text(content)
    assert main(["sample", "--schema", str(path)]) == code
    shown = capsys.readouterr()
    assert shown.out == "" and shown.err.count("\n") == 1 and line in shown.err
