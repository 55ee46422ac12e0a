"""Arguments in the three notations: what may stand where, token by token."""

from __future__ import annotations

import pytest

import constrain
from constrain.replies import ReplyParser

from .support import VOCABULARY, WEATHER, Scene, id_of, parameter, tool, units

# JSON --------------------------------------------------------------------------------------------


def test_json_keys_come_once_and_the_required_ones_before_the_end() -> None:
    scene = Scene.in_call("hermes", "{")
    assert "}" not in scene.first() and '"' in scene.first()
    assert scene.takes('"lo') and not scene.takes('"city')
    scene.write('"location": "x"')
    assert scene.first() >= set(",} \n") and not scene.takes(', "location')
    scene.write(', "unit": "celsius", "days": 3')
    assert not scene.takes(",") and scene.allows(b'",') == [False]


def test_json_whitespace_stands_between_tokens_and_is_bounded() -> None:
    scene = Scene.in_call("hermes", '{ "days" :\n')
    assert scene.takes("3 ,") and scene.takes(' 3\n, "location": ""}\n}')
    assert scene.takes("\n3") and not scene.takes("\n\n\n3")
    assert not scene.takes(" " * 200)


def test_json_strings_are_json_strings() -> None:
    scene = Scene.in_call("hermes", '{"location": "')
    assert not scene.takes("\n") and not scene.takes("\\q") and not scene.takes('\\u12"')
    assert scene.takes("</tool") and scene.takes('\\n\\u00e9"')
    scene.matcher.accept_bytes("日".encode()[:2])
    assert not scene.matcher.allows(ord('"')) and scene.matcher.accept_bytes("日".encode()[2:])
    assert scene.matcher.allows(ord('"')) and not scene.matcher.allows(0xFF)
    assert scene.matcher.accept_bytes(b"</tool_call>"), "spelled out it is text"


def test_numbers_are_json_numbers() -> None:
    tools = [tool("f", {"i": {"type": "integer"}, "n": {"type": "number"}})]
    for wire, start, end in (
        ("hermes", '{"%s":', "}"),
        ("gemma4", "%s:", "}"),
        ("qwen3_coder", "<parameter=%s>\n", "\n</parameter>"),
    ):
        scene = Scene.in_call(wire, start % "i", tools)
        assert scene.takes("-0" + end) and scene.takes("120" + end)
        assert not any(scene.takes(text) for text in ("007", "+1", "1.", ".5", "- 5", "1e2", "one"))
        scene = Scene.in_call(wire, start % "n", tools)
        assert scene.takes("-0.5" + end) and scene.takes("1.0e-5" + end)
        assert scene.takes("1e-5" + end) == (wire != "gemma4")  # whose readers would take it for a string
        assert not any(scene.takes(text) for text in ("NaN", "Infinity", "1." + end, ".5", "01"))


def test_json_arguments_are_an_object() -> None:
    scene = Scene("hermes", [WEATHER], '<tool_call>{"name": "get_weather", "arguments": ')
    assert not scene.takes('"{') and not scene.takes("[") and not scene.takes("null") and scene.takes("{")


def test_nested_objects_and_arrays_have_requirements_of_their_own() -> None:
    inner = {"type": "object", "properties": {"k": {"type": "integer"}}, "required": ["k"]}
    array = {"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 2}
    scene = Scene.in_call("hermes", '{"o": {', [tool("f", {"o": inner, "a": array})])
    assert "}" not in scene.first() and scene.takes('"k": 1}, "a": [1, 2]}')
    scene.write('"k": 1}, "a": [')
    assert not scene.takes("]") and not scene.takes("1,]") and not scene.takes("1, 2,")


@pytest.mark.parametrize("whitespace", ["compact", "single"])
def test_whitespace_policies_hold_in_the_envelope_too(whitespace: str) -> None:
    scene = Scene("hermes", [WEATHER], "<tool_call>\n{", whitespace=whitespace)
    gap = " " if whitespace == "single" else ""
    scene.write(f'"name":{gap}"get_weather",{gap}"arguments":{gap}{{"location":{gap}""}}}}\n</tool_call>')


# Gemma --------------------------------------------------------------------------------------------


def test_gemma_strings_stand_between_quote_tokens() -> None:
    scene = Scene.in_call("gemma4", "location:")
    assert scene.first() == set() and scene.allows('<|"|>', b"{") == [True, False]
    scene.write('<|"|>a "quoted", {x} \\ <b>\n')
    assert scene.allows('<|"|>', "<tool_call|>", "<|tool_response>", "<turn|>") == [True, False, False, False]
    assert not scene.matcher.accept_bytes(b'<|"|>'), "spelled out, readers of text would take it for the token"
    assert Scene.in_call("gemma4", 'location:<|"|>', spelled_markers="allow").matcher.accept_bytes(b'<|"|>')
    scene.write('<|"|>')
    assert scene.first() == {",", "}"}
    scene.write("}")
    assert scene.allows("<tool_call|>", "<|tool_response>") == [True, False]


def test_gemma_enums_arrays_and_nested_objects() -> None:
    deep = {"type": "object", "properties": {"unit": {"type": "string"}}, "required": ["unit"]}
    tools = [
        tool(
            "f",
            {
                "unit": {"enum": ["celsius", "fahrenheit"]},
                "a": {"type": "array", "items": {"type": "string"}},
                "o": deep,
            },
        )
    ]
    scene = Scene.in_call("gemma4", 'unit:<|"|>', tools)
    assert scene.first() == {"c", "f"} and scene.allows('<|"|>') == [False]
    scene.write("celsius")
    assert scene.first() == set() and scene.allows('<|"|>') == [True]
    scene.write('<|"|>,a:[')
    assert scene.first() == {"]"} and scene.allows('<|"|>') == [True]
    scene.write('<|"|>x<|"|>],o:{')
    assert scene.first() == {"u"} and scene.takes('unit:<|"|><|"|>}}')


def test_gemma_keys_are_bare_and_any_order_will_do() -> None:
    keys = {"a": {"type": "integer"}, "ab": {"type": "integer"}}
    scene = Scene.in_call("gemma4", "a", [tool("f", keys)])
    assert scene.first() == {":", "b"} and not scene.takes(" ")
    scene.write(":1,")
    assert scene.first() == {"a"} and scene.takes("ab:2}") and not scene.takes("a:")
    scene.write("ab:2")
    assert scene.first() >= {"}"} and "," not in scene.first()


def test_gemma_free_values_are_balanced() -> None:
    scene = Scene.in_call("gemma4", "", [tool("f", {"a": {}})])
    assert scene.takes('a:{x:<|"|>}<|"|>}}') and not scene.takes("a:[1}") and not scene.takes("a:word")


def test_gemma_keys_that_need_quotes_cannot_be_written() -> None:
    nested = {"type": "object", "properties": {"k:1": {"type": "integer"}, "k": {"type": "integer"}}}
    scene = Scene.in_call("gemma4", "o:{k", [tool("f", {"o": nested})])
    assert scene.first() == {":"} and scene.takes(":1}}") and not scene.takes(":1:")
    with pytest.raises(constrain.UnsatisfiableError, match="'f'"):
        constrain.compile_tools([tool("f", {"o": {**nested, "required": ["k:1"]}}, ("o",))], None, "gemma4")


def test_function_gemma_has_markers_of_its_own() -> None:
    text = "<start_function_call>call:get_weather{location:<escape>x<escape>}<end_function_call>"
    scene = Scene("functiongemma", [WEATHER], text)
    assert not scene.matcher.is_constraining
    assert id_of("<start_function_response>") in scene.matcher.stop_token_ids


# Raw text --------------------------------------------------------------------------------------------


def test_coder_bodies_hold_parameters() -> None:
    scene = Scene.in_call("qwen3_coder")
    assert scene.first() == set(" \t\r\n<")
    scene.write("\n<")
    assert scene.first() == {"p"}
    scene.write("parameter=")
    assert scene.first() == {"l", "u", "d"}
    scene.write("location")
    assert scene.first() == {">"}
    scene.write(">\nx\n</parameter>\n<")
    assert scene.first() == {"p", "/"} and not scene.takes("parameter=l")
    scene.write("parameter=unit>celsius</parameter><parameter=days>1</parameter><")
    assert scene.first() == {"/"}


def test_coder_scalars_are_bare() -> None:
    scene = Scene.in_call("qwen3_coder", "<parameter=unit>")
    assert scene.first() == {"\n", "c", "f"}
    scene.write("\ncelsius")
    assert scene.first() == {"\n", "<"}
    tools = [tool("f", {"b": {"type": "boolean"}, "z": {"type": "null"}})]
    assert Scene.in_call("qwen3_coder", "<parameter=b>\n", tools).first() == {"t", "f"}
    assert not Scene.in_call("qwen3_coder", "<parameter=b>\n", tools).takes("True")
    assert Scene.in_call("qwen3_coder", "<parameter=z>", tools).first() == {"n", "\n"}


def test_coder_text_ends_at_the_first_closing_tag() -> None:
    scene = Scene.in_call("qwen3_coder", "<parameter=location>\n")
    scene.write('if a < b:\n    print("</function>", "<parameter=x>")\n')
    assert scene.takes("</parameters></parameter></function>")
    assert scene.matcher.accept_token(id_of(b".</"))
    scene.write("parameter>")
    assert scene.first() == set(" \t\r\n<")


@pytest.mark.parametrize(
    ("schema", "written", "refused"),
    [
        ({"minLength": 3}, ["abc", "\nabc", "abc\n", "\nabc\n", "\n\nab\n"], ["ab", "\nab", "ab\n", "\nab\n"]),
        ({"maxLength": 1}, ["", "\n", "\n\n", "a", "\na\n", "\n\n\n"], ["ab", "\nab\n", "\n\na\n", "\n\n\n\n"]),
        ({"pattern": "^\na$"}, ["\n\na", "\n\na\n"], ["\na", "\na\n", "a"]),
        ({"pattern": "^a\n$"}, ["a\n\n", "\na\n\n"], ["a\n", "\na\n", "a"]),
        ({"enum": ["\n", "x"]}, ["\n\n\n", "x", "\nx\n"], ["", "\n", "\n\n"]),
        ({"const": ""}, ["", "\n", "\n\n"], ["\n\n\n", "x"]),
        ({"pattern": "^(ab)*$", "maxLength": 4}, ["abab", "\nabab\n", ""], ["ababab", "\naba\n"]),
    ],
)
def test_coder_layout_is_no_part_of_the_string(schema: dict, written: list[str], refused: list[str]) -> None:
    """One line feed on either side is layout if it is there, as readers have it; facets are of what is left."""
    tools = [tool("f", {"s": {"type": "string", **schema}})]
    scene = Scene.in_call("qwen3_coder", "<parameter=s>", tools)
    for text in written:
        whole = text + "</parameter></function></tool_call>"
        assert scene.takes(whole), text
        parser = ReplyParser("qwen3_coder", tools, VOCABULARY)
        for token in units(scene.automaton, "<tool_call>\n<function=f><parameter=s>" + whole):
            parser.push(token)
        parser.finish()
        value = parser.reply.tool_calls[0].arguments["s"]
        assert value == text.removeprefix("\n").removesuffix("\n")
    for text in refused:
        assert not scene.takes(text + "</parameter>"), text


def test_coder_objects_and_arrays_are_json() -> None:
    item = {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "integer"}}}, "required": ["a"]}
    tools = [tool("f", {"o": item, "l": {"type": "array", "items": {"type": "integer"}}})]
    scene = Scene.in_call("qwen3_coder", "<parameter=o>\n", tools)
    assert scene.takes('{"a":[1,2]}\n</parameter>') and scene.takes('{"a": []}</parameter>')
    assert not scene.takes("{}") and not scene.takes('{"a": [1,</parameter>') and not scene.takes("a")
    free = Scene.in_call("qwen3_coder", "<parameter=o>\n", tools, json_values="free")
    assert free.takes("anything</parameter>")


def test_coder_keys_of_open_objects() -> None:
    tools = [tool("f", {"a": {"type": "integer"}}, additionalProperties={"type": "boolean"})]
    scene = Scene.in_call("qwen3_coder", "<parameter=", tools)
    assert scene.takes("b c>true</parameter>") and scene.takes("a>1</parameter>") and scene.takes("ab>false<")
    assert not scene.takes("a>true") and not scene.takes(">") and not scene.takes(" b") and not scene.takes("b<")
    scene.write("b>true</parameter><parameter=")
    assert not scene.takes("b>") and scene.takes("bb>")


def test_markers_are_not_spelled_in_raw_text() -> None:
    scene = Scene.in_call("qwen3_coder", "<parameter=location>\n")
    assert not scene.matcher.accept_bytes(b"</tool_call>")
    allowed = Scene.in_call("qwen3_coder", "<parameter=location>\n", spelled_markers="allow")
    assert allowed.matcher.accept_bytes(b"</tool_call>") and not Scene.in_call(
        "hermes", '{"location": "', spelled_markers="forbid"
    ).matcher.accept_bytes(b"</tool_call>")


def test_types_and_numbers_of_k3_elements() -> None:
    tools = [tool("f", {"n": {"type": ["integer", "null"]}, "s": {}, 'a"&b': {"type": "boolean"}}), tool("g", {})]
    head = '<|open|>tools<|sep|><|open|>call tool="f" index="'
    scene = Scene("kimi_k3", tools, head)
    assert scene.first() == {"1"}
    scene.write('1"<|sep|><|open|>argument key="')
    assert scene.takes('n" type="number"<|sep|>3<|close|>') and scene.takes('n" type="null"<|sep|>null<|close|>')
    assert not scene.takes('n" type="string') and not scene.takes('n" type="number"<|sep|>null')
    assert scene.takes('s" type="string"<|sep|>[<|close|>') and scene.takes('s" type="array"<|sep|>[1]<|close|>')
    assert scene.takes('a&quot;&amp;b" type="boolean"<|sep|>true<|close|>') and not scene.takes('a"')
    scene.write('n" type="number"<|sep|>3<|close|>argument<|sep|><|close|>call<|sep|><|open|>call tool="g" index="')
    assert scene.first() == {"2"}


def test_dsml_ties_its_flag_to_the_value() -> None:
    tools = [tool("f", {"n": {"type": ["integer", "string"]}, "s": {"type": "string"}})]
    scene = Scene(
        "dsml", tools, '<｜DSML｜tool_calls>\n<｜DSML｜invoke name="f">\n<｜DSML｜parameter name="n" string="'
    )
    assert scene.takes('true">x</') and scene.takes('false">3</') and not scene.takes('false">x')
    scene = Scene(
        "dsml", tools, '<｜DSML｜tool_calls>\n<｜DSML｜invoke name="f">\n<｜DSML｜parameter name="s" string="'
    )
    assert scene.first() == {"t"}


# Several formats at once --------------------------------------------------------------------------------------------


def test_the_first_byte_of_a_call_decides_between_formats() -> None:
    scene = Scene("qwen", [WEATHER], "<tool_call>")
    assert scene.first() == set(" \t\r\n{<")
    scene.write("\n")
    assert scene.takes("<function=") and scene.takes('{"name') and not scene.takes("[")
    scene.write("<function=get_weather")
    assert scene.allows(b"></") == [False]


def test_an_overlay_masks_like_the_format_that_was_decided() -> None:
    import random

    from .support import mask_of, random_tools, walk

    for seed in range(12):
        rng = random.Random(seed)
        tools = random_tools(rng)
        wire = rng.choice(["hermes", "qwen3_coder"])
        try:
            single = constrain.compile_tools(tools, VOCABULARY, wire, tool_choice="required", parallel=False)
        except constrain.UnsatisfiableError:
            continue
        tokens = walk(single.matcher(), rng, 150)
        one, both = (
            single.matcher(),
            constrain.compile_tools(tools, VOCABULARY, "qwen", tool_choice="required", parallel=False).matcher(),
        )
        decided = False
        for token in tokens or ():
            if decided:
                assert mask_of(one) == mask_of(both)
            assert one.accept_token(token) and both.accept_token(token)
            decided = decided or token in units(single, "{<") or VOCABULARY.token_bytes(token) in (b'{"', b"<function=")


def test_each_call_may_have_another_format() -> None:
    json_call = '<tool_call>{"name": "get_weather", "arguments": {"location": ""}}</tool_call>'
    xml_call = f"<tool_call><function=get_weather>{parameter('location', 'x')}</function></tool_call>"
    scene = Scene("qwen", [WEATHER], json_call + xml_call + json_call)
    assert not scene.matcher.is_constraining
    scene.write("<tool_call><function=get_weather>")
    assert not scene.takes("</function>")
    mixed = Scene(["hermes", "gemma4"], [WEATHER], json_call + '<|tool_call>call:get_weather{location:<|"|>')
    assert mixed.takes('<|"|>}<tool_call|>')
