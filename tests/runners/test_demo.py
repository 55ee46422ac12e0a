"""The demonstration: its verdicts, its exit codes, and a run on the real model where the weights are there."""

from __future__ import annotations

import jsonschema
import pytest

from constrain import demo
from constrain.runners import cached_model

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}


@pytest.mark.parametrize(
    ("text", "valid", "verdict"),
    [
        ('{"a": 1}', True, "valid"),
        ('```json\n{"a": 1}\n```', False, "not JSON"),
        ('{"a": 1} is the answer', False, "not JSON"),
        ('{"a": "1"}', False, "not valid: '1' is not of type 'integer'"),
        ("{}", False, "not valid: 'a' is a required property"),
    ],
)
def test_verdicts(text, valid, verdict):
    found, sentence = demo.judge(text, SCHEMA)
    assert found is valid and sentence.startswith(verdict)


def test_the_schemas_of_the_demonstration_are_schemas():
    for _, schema in demo.CASES:
        jsonschema.Draft202012Validator.check_schema(schema)


def test_a_model_that_is_missing_is_exit_code_2(tmp_path, capsys):
    assert demo.main(["--model", str(tmp_path / "none.gguf")]) == 2
    assert "no such file" in capsys.readouterr().err


@pytest.mark.skipif(cached_model() is None, reason="the weights are not in the cache")
def test_with_the_schema_every_answer_is_valid(capsys):
    assert demo.main(["--model", str(cached_model()), "--max-tokens", "60"]) == 0
    assert "not JSON" in capsys.readouterr().out
