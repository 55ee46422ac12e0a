"""`constrain check`: exit codes, positions and reasons, the second opinion, and what makes input unusable."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from constrain.cli import main

ORDER = {
    "type": "object",
    "properties": {
        "customer": {"type": "string", "minLength": 2, "maxLength": 10},
        "kind": {"enum": ["new", "old", 3]},
        "items": {
            "type": "array",
            "items": {"type": "object", "properties": {"price": {"type": "number"}}, "required": ["price"]},
        },
    },
    "required": ["customer"],
    "additionalProperties": False,
}


class Command:
    """Runs `constrain check` on files in a folder of its own."""

    def __init__(self, folder: Path, capture: pytest.CaptureFixture[str]) -> None:
        self.folder, self.capture = folder, capture

    def file(self, name: str, content: Any) -> str:
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return str(path)

    def __call__(self, schema: Any, *arguments: str, instances: tuple[Any, ...] = ()) -> tuple[int, str, str]:
        command = ["check", "--schema", self.file("schema.json", schema), *arguments]
        for i, instance in enumerate(instances):
            command += ["--instance", self.file(f"instance{i}.json", instance)]
        code = main(command)
        shown = self.capture.readouterr()
        return code, shown.out, shown.err

    def json(self, schema: Any, *arguments: str, instances: tuple[Any, ...] = ()) -> dict[str, Any]:
        code, out, _ = self(schema, "--json", *arguments, instances=instances)
        found: dict[str, Any] = json.loads(out)
        assert found["exit_code"] == code
        return found


@pytest.fixture
def command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(tmp_path, capsys)


def test_a_schema_that_is_enforced_and_a_good_instance(command: Command) -> None:
    code, out, err = command(ORDER, instances=({"customer": "Ann", "items": [{"price": 1.5}]},))
    assert (code, err) == (0, "")
    assert "accepted" in out


@pytest.mark.parametrize(
    ("marked", "pointer", "reason"),
    [
        (b'{"customer":"Ann","items":[{"price":1},{"price":^"x"}]}', "/items/1/price", "a number, got a quote"),
        (b'{"customer":"A^"}', "/customer", "expected another character, got a quote"),
        (b'{"customer":"Ann","kind":"n^xw"}', "/kind", "expected 'ew', got 'x'"),
        (b'{"customer":"Ann","^colour":1}', "", 'expected one of the keys "items" or "kind"'),
        (b'{"customer":"Ann","^customer":"Ann"}', "", 'expected one of the keys "items" or "kind"'),
        (b'{"kind":"old"^}', "", "expected ',' and the required key \"customer\", got '}'"),
        (b'{"customer":"Ann","items":[{^}]}', "/items/0", 'expected the required key "price"'),
        (b"^[]", "", "expected an object, got '['"),
    ],
)
def test_where_and_why_an_instance_is_rejected(command: Command, marked: bytes, pointer: str, reason: str) -> None:
    """The caret stands before the byte at fault."""
    found = command.json(ORDER, instances=(marked.replace(b"^", b""),))
    assert found["exit_code"] == 1
    [instance] = found["instances"]
    assert (instance["rejection"]["byte"], instance["rejection"]["pointer"]) == (marked.index(b"^"), pointer)
    assert reason in instance["rejection"]["reason"]


def test_any_whitespace_is_accepted_and_positions_stay_right(command: Command) -> None:
    spaced = b'\xef\xbb\xbf \n\t{ "customer"\n\n\n\n\n: "Ann"' + b" " * 500 + b"}\n\n "
    assert command(ORDER, instances=(spaced,))[0] == 0
    assert command(ORDER, "--whitespace", "compact", instances=(spaced,))[0] == 0
    wrong = spaced.replace(b'"Ann"', b'"\xc3\xa9"')
    code, out, _ = command(ORDER, instances=(wrong,))
    position = wrong.index(b'"', wrong.index(b"\xc3"))
    assert code == 1
    assert f"byte {position}, in /customer: " in out
    assert "(line 7, column 5)" in out


def test_a_text_is_checked_to_the_byte(command: Command) -> None:
    assert command(ORDER, "--text", command.file("good", b'{"customer":"Ann"}'))[0] == 0
    assert command(ORDER, "--text", command.file("spaced", b' {"customer":"Ann"}'))[0] == 1
    code, out, _ = command(ORDER, "--text", command.file("cut", b'{"customer":"Ann"'))
    assert code == 1
    assert "byte 17" in out and "got the end" in out


def test_both_opinions_are_shown_where_they_differ(command: Command) -> None:
    twice = b'{"customer":"Ann","customer":"Ann"}'  # one key twice: JSON readers keep the last
    [instance] = command.json(ORDER, instances=(twice,))["instances"]
    assert instance["accepted"] is False
    assert instance["jsonschema"]["valid"] is True
    assert instance["differs"] is True
    [instance] = command.json(ORDER, instances=({"customer": "A"},))["instances"]
    assert instance["jsonschema"] == {
        "valid": False,
        "faults": [{"pointer": "/customer", "message": "'A' is too short"}],
    }
    assert instance["differs"] is False


def test_decimals_are_exact_for_both(command: Command) -> None:
    found = command.json({"type": "number", "multipleOf": 0.01}, instances=(b"0.29", b"1.10", b"4.35", b"0.291"))
    assert [i["accepted"] for i in found["instances"]] == [True, True, True, False]
    assert not any(i["differs"] for i in found["instances"])
    found = command.json({"type": "integer"}, "--numbers", "any", instances=(b"1.0", b"1.5"))
    assert [i["accepted"] for i in found["instances"]] == [True, False]
    assert not any(i["differs"] for i in found["instances"])


def test_what_is_refused_fails_the_check_and_is_listed(command: Command) -> None:
    schema = {
        "type": "object",
        "properties": {
            name: {"type": "array", "contains": {"type": "integer"}, "minContains": 5000} for name in "ab"
        },
    }
    for arguments, status in (((), "refused"), (("--lenient",), "relaxed")):
        found = command.json(schema, *arguments)
        assert found["exit_code"] == 1
        assert [(f["pointer"], f["keyword"], f["status"]) for f in found["findings"]] == [
            ("/properties/a", "contains", status),
            ("/properties/b", "contains", status),
        ]


def test_a_long_integer_is_read_and_named_by_its_length(command: Command) -> None:
    code, out, err = command(b'{"const": ' + b"9" * 6000 + b"}", "--explain")
    assert code in (0, 1) and "not JSON" not in out + err and "digits or so" in out


def test_notes_do_not_fail_the_check(command: Command) -> None:
    found = command.json({"type": "string", "colour": "blue", "format": "telephone"})
    assert found["exit_code"] == 0
    assert {finding["status"] for finding in found["findings"]} == {"note"}


def test_a_schema_without_any_value_fails_the_check(command: Command) -> None:
    code, out, _ = command({"type": "string", "minLength": 3, "maxLength": 2}, instances=("abc",))
    assert code == 1
    assert "nothing can satisfy this" in out


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b'{"type": "string",\n "minLength": 1,,}', "line 2, column 17: not JSON"),
        (b"\xff\xfe", "not UTF-8"),
        (b'{"minimum": NaN}', "NaN"),
        (b"[" * 100_000, "nested too deeply"),
        (b"", "line 1, column 1: not JSON"),
        (b'{"type": "strin"}', "at /, keyword 'type'"),
        (b'{"properties": {"a": {"minLength": -1}}}', "at /properties/a, keyword 'minLength'"),
        (b'{"$ref": "#/$defs/nowhere"}', "$ref"),
        (b"[1]", "a schema is an object or a boolean"),
    ],
)
def test_an_unusable_schema_is_one_clear_line(command: Command, content: bytes, line: str) -> None:
    code, _, err = command(content)
    assert code == 2
    assert err.count("\n") == 1
    assert line in err and "schema.json" in err


def test_each_unusable_instance_is_one_line_and_the_others_are_checked(command: Command, tmp_path: Path) -> None:
    missing = str(tmp_path / "missing.json")
    code, out, err = command(ORDER, "--instance", missing, instances=({"customer": "Ann"}, b'{"customer":}'))
    assert code == 2
    assert len(err.splitlines()) == 2
    assert "missing.json: cannot be read: No such file" in err
    assert "instance1.json: line 1, column 13: not JSON" in err
    assert "accepted" in out


def test_standard_input_once(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def feed(data: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    feed(b'{"customer": "Ann"}')
    assert command(ORDER, "--instance", "-")[0] == 0
    feed(b'{"type": "string"}')
    assert main(["check", "--schema", "-"]) == 0
    assert main(["check", "--schema", "-", "--instance", "-"]) == 2


@pytest.mark.parametrize("arguments", [["--draft", "12"], ["--whitespace", "("], ["--tokenizer", "/nowhere"]])
def test_wrong_options(command: Command, arguments: list[str]) -> None:
    code, _, err = command(ORDER, *arguments)
    assert code == 2
    assert err.count("\n") == 1


@pytest.mark.parametrize("arguments", [["check"], [], ["check", "--schema", "x", "--numbers", "roman"], ["unheard"]])
def test_wrong_usage_is_exit_code_2(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2


def test_options_reach_the_compiler(command: Command) -> None:
    swapped = b'{"kind":"old","customer":"Ann"}'
    assert command(ORDER, instances=(swapped,))[0] == 0
    assert command(ORDER, "--property-order", "schema", instances=(swapped,))[0] == 1
    day = {"type": "string", "format": "date"}
    assert command(day, instances=("soon",))[0] == 1
    assert command(day, "--formats", "annotate", instances=("soon",))[0] == 0
    pair = {"items": [{"type": "integer"}], "additionalItems": False}
    assert command(pair, "--draft", "7", instances=([1, 2],))[0] == 1


def test_sizes(command: Command) -> None:
    sizes = command.json(ORDER)["sizes"]
    assert (sizes["properties"], sizes["largest_enum"], sizes["depth"], sizes["subschemas"]) == (4, 3, 4, 6)


def test_a_lone_surrogate_can_be_shown(command: Command) -> None:
    code, out, _ = command({"const": "a"}, instances=(b'"\\ud800"',))
    assert code == 1
    assert "rejected" in out


def test_mask_statistics(command: Command) -> None:
    tokenizer = {
        "version": "1.0",
        "added_tokens": [],
        "pre_tokenizer": {"type": "ByteLevel"},
        "decoder": {"type": "ByteLevel"},
        "model": {"type": "BPE", "merges": [], "vocab": {c: i for i, c in enumerate('{}":abcust0123456789')}},
    }
    path = command.file("tokenizer.json", tokenizer)
    schema = {"properties": {"a": {"const": 12}}, "required": ["a"], "additionalProperties": False, "type": "object"}
    options = ("--tokenizer", path, "--eos-token-id", "19")
    masks = command.json(schema, *options, instances=(b'{"a":12}',))["masks"]
    # `{`, `"`, `a`, `"`, `:`, `1`, `2` are forced; so is the brace but for 12.0, whose point no token spells
    assert [step["token"] for step in masks["steps"]] == [*'{"a":12}', ""]
    assert [step["allowed"] for step in masks["steps"]] == [1, 1, 1, 1, 1, 1, 1, 1, 1]
    assert masks["dead_end"] is None
    assert ord("z") in masks["missing_bytes"] and ord("a") not in masks["missing_bytes"]
    found = command.json({"enum": ["zebra"]}, *options)
    assert found["exit_code"] == 1
    assert "after" in found["masks"]["dead_end"]


def test_a_plain_check_is_light(command: Command) -> None:
    """It loads neither numba nor rich."""
    schema = command.file("schema.json", ORDER)
    code = (
        "import sys; from constrain.cli import main; code = main(sys.argv[1:]); "
        "sys.exit(code or 10 * any(name in sys.modules for name in ('numba', 'rich', 'torch')))"
    )
    run = subprocess.run([sys.executable, "-c", code, "check", "--schema", schema], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr


def test_the_module_runs() -> None:
    run = subprocess.run([sys.executable, "-m", "constrain", "--version"], capture_output=True, text=True)
    assert run.returncode == 0
    assert run.stdout.startswith("constrain ")


def test_the_normal_form(command: Command) -> None:
    code, out, _ = command(ORDER, "--explain")
    assert code == 0
    lines = out.splitlines()
    at = lines.index("/properties/customer")
    assert lines[at + 1] == "  string of 2 to 10 characters"
    assert '    "price": /properties/items/items/properties/price (required)' in lines
    shallow = command.json(ORDER, "--explain", "0")["normal_form"]
    assert [entry["name"] for entry in shallow] == ["/"]
    assert shallow[0]["objects"][0]["required"] == ["customer"]
    assert command.json(ORDER)["normal_form"] == []
    example = command.json(ORDER, "--explain")["example"]
    assert f"example  {example}" in out
    assert command(ORDER, instances=(example.encode(),))[0] == 0
    [entry] = command.json({"type": "string", "enum": [0.5]}, "--explain")["normal_form"]
    assert entry["empty"] is True
    assert command.json({"type": "string", "enum": [0.5]}, "--explain")["example"] is None


def test_a_text_that_takes_too_long_is_an_error(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    from constrain import Limits

    monkeypatch.setattr("constrain.cli.verdicts.Limits", lambda: Limits(max_seconds=0.0))
    code, out, err = command({"type": "string"}, instances=("x" * 1000,))
    assert code == 2 and "accepted" not in out
    assert "instance0.json: limit max_seconds" in out + err
