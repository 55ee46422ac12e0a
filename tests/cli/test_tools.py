"""`constrain tools` reads the calls in transcripts and says where one leaves its format."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from constrain._limits import timed
from constrain.cli import main
from constrain.wires.markers import WIRES
from constrain.wires.render import render_call

TOOLS = {
    "tools": [
        {
            "name": "get_weather",
            "inputSchema": {
                "type": "object",
                "properties": {"city": {"type": "string"}, "unit": {"enum": ["celsius", "fahrenheit"]}},
                "required": ["city"],
            },
        }
    ]
}


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("tools.json").write_text(json.dumps(TOOLS), encoding="utf-8")
    return tmp_path


def write(name: str, text: str) -> str:
    Path(name).write_text(text, encoding="utf-8")
    return name


@pytest.mark.parametrize("wire", WIRES)
def test_a_reply_in_its_format_is_accepted(wire: str, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reply = write("reply", render_call(wire, "get_weather", {"city": "Köln", "unit": "celsius"}))
    assert main(["tools", "--tools", "tools.json", "--wire", wire, "--text", reply]) == 0
    call, verdict = capsys.readouterr().out.splitlines()
    assert call.startswith("call      reply: get_weather {")
    assert '"city": "Köln"' in call
    assert verdict == "accepted  reply: 1 call"


def test_it_says_where_a_reply_leaves_its_tool(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "Let me see.\n" + render_call("qwen3_coder", "get_weather", {"city": "Köln", "unit": "kelvin"})
    bad = write("bad", text)
    assert main(["tools", "--tools", "tools.json", "--wire", "qwen", "--text", bad]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith('call      bad: get_weather {"city": "Köln", "unit": "kelvin"}')
    at = len(text[: text.index("kelvin")].encode())
    assert lines[1].startswith(f"rejected  bad: byte {at}, in /get_weather/unit: expected ")
    assert lines[1].endswith("'celsius' or 'fahrenheit', got 'k' (line 8, column 1)")
    assert lines[2] == "          what can be read of it: 11 characters of text, 1 call"


def test_json_output_has_everything(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = render_call("hermes", "get_weather", {"city": "a"})
    paths = [write("good", f"<think>\nHm.\n</think>\n\n{good}"), write("cut", good[:-20])]
    arguments = ["tools", "--tools", "tools.json", "--wire", "hermes", "--json"]
    assert main([*arguments, *(part for path in paths for part in ("--text", path))]) == 1
    found = json.loads(capsys.readouterr().out)
    first, second = found["replies"]
    assert (found["exit_code"], found["errors"]) == (1, [])
    assert (first["accepted"], first["reasoning"], first["text"]) == (True, "Hm.", "")
    assert first["tool_calls"] == [
        {"name": "get_weather", "arguments": {"city": "a"}, "id": None, "wire": "hermes", "raw": good}
    ]
    assert (second["accepted"], second["cut"], second["finish_reason"]) == (False, True, "length")
    assert second["text"] == good[:-20]
    assert second["rejection"]["byte"] == len(good) - 20
    assert second["rejection"]["got"] == "the end"


def test_options_of_the_request(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = render_call("hermes", "get_weather", {"city": "a"})
    prose, twice, inside = (
        write("prose", "Hello"),
        write("twice", f"{one}\n{one}"),
        write("inside", f"Hm.</think>{one}"),
    )
    base = ["tools", "--tools", "tools.json", "--wire", "hermes", "--wire", "gemma4"]
    assert main([*base, "--text", prose]) == 0
    assert main([*base, "--text", prose, "--tool-choice", "required"]) == 1
    assert main([*base, "--text", twice]) == 0
    capsys.readouterr()
    assert main([*base, "--text", inside, "--inside-reasoning"]) == 0
    assert "3 characters of reasoning, 1 call" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("tools", "message"),
    [
        ("{", "not JSON"),
        ('{"name": "f"}', "tools are a list"),
        ('[{"name": "f", "parameters": {"type": "strng"}}]', "tool 'f'"),
        ('[{"name": "f"}, {"name": "f"}]', "f"),
    ],
)
def test_unusable_tools(tools: str, message: str, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write("tools.json", tools)
    assert main(["tools", "--tools", "tools.json", "--wire", "hermes", "--text", write("reply", "x")]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("constrain tools: tools.json: ")
    assert message in captured.err
    assert captured.out == ""


def test_unusable_input(files: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    base = ["tools", "--tools", "tools.json", "--wire", "hermes"]
    assert main([*base, "--text", "nowhere"]) == 2
    assert "nowhere: cannot be read" in capsys.readouterr().err
    assert main([*base, "--text", "-", "--text", "-"]) == 2
    assert "only once" in capsys.readouterr().err
    assert main([*base, "--text", write("x", "x"), "--tool-choice", "other"]) == 2
    assert "no tool named 'other'" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main(["tools", "--tools", "tools.json", "--wire", "pidgin", "--text", "x"])
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"Hello")))
    assert main([*base, "--text", "-"]) == 0
    assert "accepted  standard input: 5 characters of text, 0 calls" in capsys.readouterr().out


def test_a_reply_that_takes_too_long_is_an_error(
    files: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from constrain import Limits

    monkeypatch.setattr("constrain.automata.compiled.timed", lambda _, what: timed(Limits(max_seconds=0.0), what))
    assert main(["tools", "--tools", "tools.json", "--wire", "hermes", "--text", write("long", "text " * 1000)]) == 2
    assert "long: limit max_seconds" in capsys.readouterr().err
