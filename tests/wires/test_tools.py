"""Compiling lists of tools: what is read, what is refused and how, what is shared."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

import constrain
from constrain.automata import (
    GemmaToolAutomaton,
    JsonToolAutomaton,
    QwenCoderToolAutomaton,
    ToolSchemaCompiler,
)

from .support import VOCABULARY, WEATHER, Scene, mask_of, parameter, tool, units

STRING = {"type": "string"}


def call(wire: str, name: str, arguments: dict) -> str:
    from constrain.wires.render import render_call

    return render_call(wire, name, arguments)


WIRES = ("hermes", "gemma4", "qwen3_coder")


def accepts(wire: str, tools: list, arguments: dict, **options) -> bool:
    name = tools[0]["function"]["name"]
    return constrain.compile_tools(tools, None, wire, tool_choice="required", **options).accepts(
        call(wire, name, arguments).lstrip("\n")
    )


def test_one_compilation_serves_all_formats_sequences_and_threads() -> None:
    compiler = ToolSchemaCompiler([tool("only_here", {"a": STRING, "b": {"type": "integer"}}, ("a",))])
    assert compiler.compiled == 1
    automata = [cls(compiler, VOCABULARY) for cls in (JsonToolAutomaton, GemmaToolAutomaton, QwenCoderToolAutomaton)]
    assert compiler.compiled == 1 and len({id(a.compiler) for a in automata}) == 1
    texts = [
        '<tool_call>{"name": "only_here", "arguments": {"b": 1, "a": "x"}}</tool_call>',
        '<|tool_call>call:only_here{b:1,a:<|"|>x<|"|>}<tool_call|>',
        "<tool_call><function=only_here>" + parameter("b", "1") + parameter("a", "x") + "</function></tool_call>",
    ]

    def masks(job: int) -> list[set[int]]:
        automaton, text = automata[job % 3], texts[job % 3]
        matcher, found = automaton.matcher(), []
        for unit in units(automaton, text):
            found.append(mask_of(matcher))
            assert matcher.accept_token(unit)
        return found

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(masks, range(24)))
    for job in range(3, 24):
        assert results[job] == results[job % 3]


@pytest.mark.parametrize(
    "entry",
    [
        WEATHER,
        {"type": "function", **WEATHER["function"]},
        {"name": "get_weather", "description": "d", "input_schema": WEATHER["function"]["parameters"]},
        {"name": "get_weather", "title": "t", "inputSchema": WEATHER["function"]["parameters"], "outputSchema": {}},
    ],
)
def test_lists_of_all_three_interfaces_are_read(entry: dict) -> None:
    for tools in ([entry], {"tools": [entry]}):
        grammar = constrain.compile_tools(tools, None, "hermes", tool_choice="required")
        assert grammar.accepts(call("hermes", "get_weather", {"location": "Oslo"}).lstrip())
        assert not grammar.accepts(call("hermes", "get_weather", {"unit": "celsius"}).lstrip())


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("size", [65, 300, 5000])
def test_enums_of_any_size(wire: str, size: int) -> None:
    words = [f"w{i:04}" for i in range(size)]
    tools = [tool("pick", {"word": {"enum": words}}, ("word",))]
    assert accepts(wire, tools, {"word": words[-1]}) and accepts(wire, tools, {"word": words[64]})
    assert not accepts(wire, tools, {"word": f"w{size:04}"}) and not accepts(wire, tools, {"word": "w00"})


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("size", [65, 300])
def test_any_number_of_parameters(wire: str, size: int) -> None:
    keys = [f"k{i}" for i in range(size)]
    automaton = constrain.compile_tools(
        [tool("many", {key: {"type": "integer"} for key in keys}, (keys[-1],))], VOCABULARY, wire, tool_choice="many"
    )

    def accepts(arguments: dict) -> bool:
        matcher, tokens = automaton.matcher(), units(automaton, call(wire, "many", arguments).lstrip())
        return matcher.accept_tokens(tokens) == len(tokens) and matcher.is_accepting()

    assert accepts({keys[-1]: 1, keys[0]: 2}) and accepts(dict.fromkeys(keys, 1))
    assert not accepts({keys[0]: 1}) and not accepts(dict.fromkeys(keys[:-1], 1))


def test_no_parameter_twice_among_many() -> None:
    keys = [f"k{i}" for i in range(65)]
    scene = Scene.in_call("hermes", '{"k64": 1, "k', [tool("many", {key: {"type": "integer"} for key in keys})])
    assert scene.takes('6":') and scene.takes('63":') and not scene.takes('64":')


@pytest.mark.parametrize("wire", WIRES)
def test_untyped_parts_are_free_and_typed_ones_enforced(wire: str) -> None:
    tools = [tool("f", {"id": {"type": "integer"}, "meta": {}, "tags": {"type": "array"}}, ("id",))]
    assert accepts(wire, tools, {"id": 1, "meta": {"a": [1, {"b": None}]}, "tags": [[], "x"]})
    assert not accepts(wire, tools, {"meta": 1}) and not accepts(wire, tools, {"id": "1x"})


def test_free_json_is_well_formed() -> None:
    tools = [tool("f", {"id": {"type": "integer"}, "meta": {}, "tags": {"type": "array"}}, ("id",))]
    scene = Scene.in_call("hermes", '{"meta": {', tools)
    assert not scene.takes("]") and scene.takes('}, "id": 1}}') and not scene.takes("}}")
    scene = Scene.in_call("gemma4", "meta:{a:[1", tools)
    assert scene.takes("]},id:1}") and not scene.takes("}") and not scene.takes("]}}")


@pytest.mark.parametrize("wire", WIRES)
def test_additional_parameters_where_the_schema_has_them(wire: str) -> None:
    tools = [tool("f", {"a": {"type": "integer"}}, ("a",), additionalProperties=True)]
    assert accepts(wire, tools, {"zz": 1, "a": 2}) and not accepts(wire, tools, {"zz": 1})
    typed = [tool("f", {"a": {"type": "integer"}}, ("a",), additionalProperties={"type": "boolean"})]
    assert accepts(wire, typed, {"zz": True, "a": 2}) and not accepts(wire, typed, {"zz": 1, "a": 2})


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    "entry",
    [tool("now", {}), {"name": "now"}, {"name": "now", "inputSchema": {"type": "object", "properties": {}}}],
)
def test_tools_without_parameters(wire: str, entry: dict) -> None:
    grammar = constrain.compile_tools([entry], None, wire, tool_choice="required")
    assert grammar.accepts(call(wire, "now", {}).lstrip()) and not grammar.accepts(call(wire, "now", {"a": 1}).lstrip())


def test_an_object_without_a_list_of_properties_is_free() -> None:
    tools = [{"name": "f", "parameters": {"type": "object"}}]
    grammar = constrain.compile_tools(tools, None, "hermes", tool_choice="required")
    assert grammar.accepts(call("hermes", "f", {"a": [1]}).lstrip())


@pytest.mark.parametrize("wire", WIRES)
def test_unions_constants_and_enums_of_any_value(wire: str) -> None:
    properties = {
        "u": {"type": ["integer", "boolean"]},
        "n": {"type": ["string", "null"]},
        "e": {"enum": [True, 1.5, "", {"k": [1]}]},
        "c": {"const": "a\nb"},
    }
    tools = [tool("f", properties)]
    for good in ({"u": 3}, {"u": True}, {"n": None}, {"n": "x"}, {"e": True}, {"e": 1.5}, {"e": ""}, {"e": {"k": [1]}}):
        assert accepts(wire, tools, good), good
    assert accepts(wire, tools, {"c": "a\nb"})
    for bad in ({"u": "x"}, {"e": False}, {"e": {"k": [2]}}, {"c": "a b"}):
        assert not accepts(wire, tools, bad), bad


@pytest.mark.parametrize("wire", WIRES)
def test_ranges_patterns_and_lengths(wire: str) -> None:
    properties = {
        "n": {"type": "integer", "minimum": 0, "maximum": 150},
        "p": {"type": "string", "pattern": "^[a-z]+@[a-z]+[.]c$"},
        "l": {"type": "string", "minLength": 2, "maxLength": 3},
        "d": {"type": "string", "format": "date"},
    }
    tools = [tool("f", properties)]
    for good in ({"n": 150}, {"p": "a@b.c"}, {"l": "日本"}, {"l": "abc"}, {"d": "2024-02-29"}):
        assert accepts(wire, tools, good), good
    for bad in ({"n": 151}, {"n": -1}, {"n": 160}, {"p": "A@b.c"}, {"l": "a"}, {"l": "abcd"}, {"d": "2023-02-29"}):
        assert not accepts(wire, tools, bad), bad


@pytest.mark.parametrize("wire", WIRES)
def test_recursive_schemas(wire: str) -> None:
    node = {
        "type": "object",
        "properties": {"v": {"type": "integer"}, "next": {"$ref": "#/$defs/node"}},
        "required": ["v"],
    }
    tools = [tool("f", {"list": {"$ref": "#/$defs/node"}}, ("list",), **{"$defs": {"node": node}})]
    value: dict = {"v": 0}
    for _ in range(40):
        value = {"v": 1, "next": value}
    assert accepts(wire, tools, {"list": value})
    value["next"]["next"]["v"] = "x"
    assert not accepts(wire, tools, {"list": value})


@pytest.mark.parametrize("wire", WIRES)
def test_names_keys_and_values_in_any_script(wire: str) -> None:
    tools = [tool("wetter_für", {"straße": {"enum": ["café"]}}, ("straße",))]
    assert accepts(wire, tools, {"straße": "café"})
    assert not accepts(wire, tools, {"straße": "cafe\u0301"}) and not accepts(wire, tools, {"strasse": "café"})


def test_members_that_json_escapes() -> None:
    scene = Scene.in_call("hermes", '{"e": "', [tool("f", {"e": {"enum": ['a"b\n']}})])
    assert scene.takes('a\\"b\\n"') and scene.takes('\\u0061\\u0022b\\u000a"') and not scene.takes('a"')


@pytest.mark.parametrize("order", ["any", "schema"])
@pytest.mark.parametrize("wire", WIRES)
def test_the_order_of_parameters(wire: str, order: str) -> None:
    tools = [tool("f", {key: {"type": "integer"} for key in ("say", "mid", "show")}, ("mid",))]
    any_order = order == "any"
    for keys in (["say", "mid", "show"], ["mid"], ["mid", "show"]):
        assert accepts(wire, tools, dict.fromkeys(keys, 1), property_order=order) or wire == "gemma4"
    # Gemma's templates sort, so what is rendered is mid, say, show
    assert accepts(wire, tools, {"mid": 1, "say": 1}, property_order=order) == any_order
    assert not accepts(wire, tools, {"say": 1, "show": 1}, property_order=order)


def test_tools_of_several_servers() -> None:
    search = {"name": "search", "inputSchema": {"type": "object", "properties": {"q": STRING}, "required": ["q"]}}
    both = {"fs": [search], "gh": {"tools": [search]}}
    for compiler in (
        ToolSchemaCompiler(None, servers=both),
        ToolSchemaCompiler([search, search], servers=["fs", "gh"]),
    ):
        assert [t.name for t in compiler.tools] == ["fs_search", "gh_search"]
        assert compiler.route("gh_search") == ("gh", "search")
        grammar = constrain.compile_tools(compiler, None, "hermes", tool_choice="required")
        assert grammar.accepts(call("hermes", "gh_search", {"q": ""}).lstrip())
        assert not grammar.accepts(call("hermes", "search", {"q": ""}).lstrip())
        assert not grammar.accepts(call("hermes", "gh_search", {}).lstrip())
    with pytest.raises(constrain.SchemaError, match=r"'fs_search'.*taken by 'search' of server 'fs'"):
        ToolSchemaCompiler([search, {"name": "fs_search"}], servers=["fs", None])
    with pytest.raises(constrain.SchemaError, match="2 servers for 1 tools"):
        ToolSchemaCompiler([search], servers=["fs", "gh"])


@pytest.mark.parametrize(
    ("entry", "pointer", "match"),
    [
        ({"name": "bad", "input_schema": None}, "/1", "'bad': must be a JSON Schema"),
        ({"name": "bad", "parameters": []}, "/1", "'bad': must be a JSON Schema"),
        ({"name": "bad", "inputSchema": {"type": "strng"}}, "/1/inputSchema", "tool 'bad': 'strng'"),
        (tool("bad", {"a": {"minLength": -1}}), "/1/function/parameters/properties/a", "tool 'bad'"),
        ({"function": {"name": "bad name"}}, "/1/function", "'bad name' cannot be a tool's name"),
        ({"parameters": {}}, "/1", "name.*is missing"),
        ({"name": 3}, "/1", "must be a string"),
        ({"name": "get_weather"}, "/1", "'get_weather': the name is taken by the one at /0"),
        ({"type": "web_search_20250305", "name": "web"}, "/1", "run by the provider"),
        ("get_weather", "/1", "a tool is an object, not str"),
    ],
)
def test_what_is_wrong_with_a_tool_is_said_of_that_tool(entry, pointer: str, match: str) -> None:
    with pytest.raises(constrain.SchemaError, match=match) as caught:
        ToolSchemaCompiler([WEATHER, entry])
    assert caught.value.pointer.startswith(pointer)


@pytest.mark.parametrize(
    "schema", [{"type": "string"}, False, {"type": "object", "properties": {"a": False}, "required": ["a"]}]
)
def test_a_tool_that_nothing_satisfies(schema) -> None:
    with pytest.raises(constrain.UnsatisfiableError, match="tool 'bad'") as caught:
        ToolSchemaCompiler([WEATHER, {"name": "bad", "parameters": schema}])
    assert caught.value.pointer.startswith("/1/parameters")


@pytest.mark.parametrize("tools", [3, "tools", {"name": "f"}, None])
def test_lists_that_are_none(tools) -> None:
    if tools is None:
        assert ToolSchemaCompiler(None).tools == ()
        return
    with pytest.raises(constrain.SchemaError, match="tools are a list"):
        ToolSchemaCompiler(tools)


def test_bad_tools_can_be_left_out(caplog) -> None:
    tools = [tool(f"t{i}", {"a": STRING}) for i in range(30)]
    tools[7] = tool("t7", {"a": {"type": "strng"}})
    with caplog.at_level("WARNING", "constrain"):
        compiler = ToolSchemaCompiler(tools, on_bad_tool="drop")
    assert len(compiler) == 29 and "t7" not in compiler
    (finding,) = compiler.report.having("refused")
    assert finding.pointer == "/7/function/parameters/properties/a" and "t7" in finding.reason
    assert "t7" in caplog.text
    with pytest.raises(constrain.SchemaError, match="t7"):
        ToolSchemaCompiler(tools)


def test_what_a_format_cannot_write_concerns_that_format() -> None:
    needs = tool("f", {"a>b": STRING, "c": STRING}, ("a>b",))
    may = tool("g", {"a>b": STRING, "c": STRING}, ("c",))
    assert accepts("hermes", [needs], {"a>b": "x"})
    with pytest.raises(constrain.ConstrainError, match="'f'"):
        constrain.compile_tools([needs], None, "qwen3_coder")
    assert accepts("qwen3_coder", [may], {"c": "x"})
    scene = Scene.in_call("qwen3_coder", "<parameter=", [may])
    assert scene.first() == {"c"}
    with pytest.raises(constrain.SchemaError, match="in a name"):
        constrain.compile_tools([tool("a{b", {})], None, "gemma4")
    closing = tool("f", {"a": {"enum": ["x</parameter>", "y"]}}, ("a",))
    assert Scene.in_call("qwen3_coder", "<parameter=a>\n", [closing]).first() == {"y"}
    only = tool("f", {"a": {"const": "x</parameter>"}}, ("a",))
    with pytest.raises(constrain.UnsatisfiableError, match="'f'"):
        constrain.compile_tools([only], None, "qwen3_coder")


def test_what_was_compiled_is_kept() -> None:
    tools = [tool(f"kept{i}", {"a": {"type": "integer", "maximum": i}}) for i in range(20)]
    assert ToolSchemaCompiler(tools).compiled == 20
    assert ToolSchemaCompiler(json.loads(json.dumps(tools))).compiled == 0
    tools[3] = tool("kept3", {"a": {"type": "integer", "maximum": 333}})
    changed = ToolSchemaCompiler(tools)
    assert changed.compiled == 1
    grammar = constrain.compile_tools(changed, None, "hermes", tool_choice="required")
    assert grammar.accepts(call("hermes", "kept3", {"a": 333}).lstrip())
    assert not grammar.accepts(call("hermes", "kept4", {"a": 333}).lstrip())


def test_the_same_list_gives_the_same_automaton() -> None:
    tools = [tool("again", {"a": {"type": "integer"}})]
    one = constrain.compile_tools(tools, VOCABULARY, "hermes", tool_choice={"type": "any"})
    assert (
        constrain.compile_tools(json.loads(json.dumps(tools)), VOCABULARY, "hermes", tool_choice={"type": "any"}) is one
    )
    assert constrain.compile_tools(tools, VOCABULARY, "hermes") is not one
    assert constrain.compile_tools(tools, None, "hermes", tool_choice={"type": "any"}) is not one


def test_depth_has_a_limit_with_a_name() -> None:
    deep: dict = {"type": "string"}
    for _ in range(1000):
        deep = {"type": "array", "items": deep}
    with pytest.raises(constrain.LimitError, match=r"max_depth.*'f'"):
        ToolSchemaCompiler([tool("f", {"a": deep})])


def test_what_is_relaxed_is_reported() -> None:
    counted = {"type": "array", "contains": {"type": "integer"}, "minContains": 5000}
    tools = [WEATHER, tool("f", {"a": counted})]
    with pytest.raises(constrain.SchemaError, match="tool 'f'"):
        ToolSchemaCompiler(tools)
    report = ToolSchemaCompiler(tools, lenient=True).report
    assert [f.pointer for f in report.having("relaxed")] == ["/1/function/parameters/properties/a"]
    assert "tool 'f'" in report.having("relaxed")[0].reason


@pytest.mark.parametrize("wire", WIRES)
def test_arrays_without_repeats(wire: str) -> None:
    strings = tool("f", {"a": {"type": "array", "items": {"type": "string"}, "uniqueItems": True, "maxItems": 3}})
    for good in ([], ["a"], ["a", ""], ["", "b", "a"], ["ab", "a", "b"]):
        assert accepts(wire, [strings], {"a": good}), good
    for bad in (["a", "a"], ["", ""], ["", "a", ""], ["a", "b", "c", ""], ["a", "b", "c", "d"]):
        assert not accepts(wire, [strings], {"a": bad}), bad
    two = tool("f", {"a": {"type": "array", "items": {"enum": ["", "b"]}, "uniqueItems": True, "minItems": 2}})
    assert accepts(wire, [two], {"a": ["b", ""]}) and not accepts(wire, [two], {"a": [""]})
    scalars = tool("f", {"a": {"type": "array", "items": {"type": ["integer", "null"]}, "uniqueItems": True}})
    assert accepts(wire, [scalars], {"a": [1, None, 2]}) and not accepts(wire, [scalars], {"a": [1, None, 1]})
    repeated = tool("f", {"a": {"type": "array", "items": {"type": "integer"}, "not": {"uniqueItems": True}}})
    assert accepts(wire, [repeated], {"a": [1, 2, 1]}) and not accepts(wire, [repeated], {"a": [1, 2, 3]})
    few = tool("f", {"a": {"type": "array", "items": {"enum": ["", "b"]}, "not": {"uniqueItems": True}}})
    assert accepts(wire, [few], {"a": ["b", "b"]}) and not accepts(wire, [few], {"a": ["b", ""]})
    objects = [tool("f", {"a": {"type": "array", "items": {"type": "object"}, "uniqueItems": True}})]
    if wire == "gemma4":
        with pytest.raises(constrain.SchemaError, match=r"outside JSON.*") as caught:
            constrain.compile_tools(objects, None, wire)
        assert "tool 'f'" in str(caught.value)
    else:
        assert accepts(wire, objects, {"a": [{"x": 1}, {"x": 2}]})
        assert not accepts(wire, objects, {"a": [{"x": 1}, {"x": 1}]})


def test_options_are_checked() -> None:
    for options in ({"on_bad_tool": "keep"}, {"names": "all"}, {"json_values": "text"}, {"spelled_markers": "yes"}):
        with pytest.raises(ValueError, match=next(iter(options))):
            constrain.compile_tools([WEATHER], None, "hermes", **options)
    with pytest.raises(ValueError, match="unknown wire format 'herms'"):
        constrain.compile_tools([WEATHER], None, "herms")
    with pytest.raises(ValueError, match="another kind of format"):
        GemmaToolAutomaton([WEATHER], None, "hermes")


def test_whitespace_patterns_are_checked_at_once() -> None:
    with pytest.raises(constrain.GrammarError, match="whitespace pattern"):
        ToolSchemaCompiler([WEATHER], whitespace="x")
    grammar = constrain.compile_tools([WEATHER], None, "hermes", tool_choice="required", whitespace="[ ]?")
    assert grammar.accepts('<tool_call>{"name" :"get_weather", "arguments":{ "location": "x"}}</tool_call>')
    assert not grammar.accepts('<tool_call>{"name"  :"get_weather", "arguments":{ "location": "x"}}</tool_call>')
