"""What may follow where in a tool call, in the three notations: the table of `test_rows`."""

from __future__ import annotations

from typing import Any, NamedTuple

STRING, INTEGER = {"type": "string"}, {"type": "integer"}
Q = '<|"|>'


def tool(properties: dict[str, Any], required: list[str] | None = None, name: str = "f", **more: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": required or [], **more}
    return {"type": "function", "function": {"name": name, "parameters": schema}}


WEATHER = tool(
    {"location": STRING, "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]}, "days": INTEGER},
    ["location"],
    "get_weather",
)
KINDS = {
    "json": [
        *(("small", wire) for wire in ("hermes", "qwen", "exaone", "llama3", "mistral", "mistral_v11", "kimi_k2", "phi4_mini")),
        ("qwen3", "hermes"),
        ("llama3_1", "llama3"),
        ("deepseek_v3", "deepseek_v31"),
        ("deepseek_v3", "deepseek_v3"),
        ("gpt4o", "harmony"),
    ],
    "gemma": [("small", "gemma4"), ("small", "functiongemma"), ("gemma4", "gemma4")],
    "coder": [("small", "qwen3_coder"), ("qwen3", "qwen3_coder"), ("qwen3", "qwen")],
}


class Row(NamedTuple):
    """kind: of notation. text: the arguments so far. good, bad: what may follow, and what may not."""

    id: str
    kind: str
    tools: list[dict[str, Any]]
    text: str
    good: list[str]
    bad: list[str]


def p(key: str, value: str) -> str:
    return f"<parameter={key}>\n{value}\n</parameter>\n"


def many(count: int) -> dict[str, Any]:
    return {f"k{i}": INTEGER for i in range(count)}


MIXED = tool({"id": INTEGER, "meta": {}, "tags": {"type": "array"}}, ["id"])
OPEN = tool({"a": INTEGER}, ["a"], additionalProperties=True)
NOW = tool({}, additionalProperties=False, name="now")
UNIONS = tool({"u": {"type": ["integer", "string"]}, "n": {"type": ["string", "null"]}, "e": {"enum": [True, 1.5, "", {"k": [1]}]}})
RANGE = tool({"i": {**INTEGER, "minimum": 0, "maximum": 150}, "x": {"type": "number"}})
FACETS = tool({"m": {**STRING, "pattern": "^[a-z]+@[a-z]+[.]c$"}, "l": {**STRING, "minLength": 2, "maxLength": 3}})
ORDER = tool({key: INTEGER for key in ("say", "mid", "show")}, ["mid"])
SCRIPT = tool({"straße": {"enum": ["café"]}}, ["straße"], "wetter_für")
NESTED = tool({"o": {"type": "object", "properties": {"in": INTEGER, "b": INTEGER}, "required": ["in"]}, "t": {"type": "array", "items": INTEGER, "minItems": 1, "maxItems": 2}})
ESCAPES = tool({"e": {"enum": ['a"b\n']}})
PREFIX = tool({"a": STRING, "ab": STRING})
ROWS = [
    # A: schemas
    *(
        row
        for n in (65, 300, 5000)
        for row in (
            Row(f"A2 {n}", "json", [tool({"v": {"enum": [f"v{i}" for i in range(n)]}})], '{"v": "v', [f'{n - 1}"}}'], [f'{n}"', 'x"']),
            Row(f"A2 {n}", "gemma", [tool({"v": {"enum": [f"v{i}" for i in range(n)]}})], f"{{v:{Q}v", [f"{n - 1}{Q}}}"], [f"{n}{Q}", "x"]),
            Row(f"A2 {n}", "coder", [tool({"v": {"enum": [f"v{i}" for i in range(n)]}})], "\n<parameter=v>\nv", [f"{n - 1}\n</parameter>"], [f"{n}\n", "x"]),
        )
    ),
    *(
        row
        for n in (65, 300)
        for row in (
            Row(f"A3 {n}", "json", [tool(many(n), [f"k{n - 1}"])], '{"k0": 1', [f', "k{n - 1}": 2}}'], ["}", ', "k0"']),
            Row(f"A3 {n}", "gemma", [tool(many(n), [f"k{n - 1}"])], "{k0:1", [f",k{n - 1}:2}}"], ["}", ",k0:"]),
            Row(f"A3 {n}", "coder", [tool(many(n), [f"k{n - 1}"])], "\n" + p("k0", "1"), [p(f"k{n - 1}", "2") + "</function>"], ["</", "<parameter=k0>"]),
            Row(f"A3 {n}, all", "json", [tool(many(n))], "{" + ", ".join(f'"k{i}": {i}' for i in range(n)), ["}"], [","]),
        )
    ),
    Row("A4", "json", [MIXED], '{"meta": {"a": [1, {"b": null}]', ['}, "id": 1}', '}, "tags": [[], "x"], "id": 1}'], ["]", "}}", '}, "id": "x"']),
    Row("A4", "gemma", [MIXED], "{meta:{a:[1,{b:null}]", ["},id:1}"], ["]", "}}", f"}},id:{Q}"]),
    Row("A4", "coder", [MIXED], "\n" + p("meta", '{"a": [1]}'), [p("id", "1") + "</function>"], ["</", "<parameter=id>\nx"]),
    Row("A5", "json", [OPEN], '{"zz": 1', [', "a": 2}'], ["}", ', "zz"']),
    Row("A5", "gemma", [OPEN], "{zz:1", [",a:2}"], ["}", ",zz:"]),
    Row("A5", "coder", [OPEN], "\n" + p("zz", "1"), [p("a", "2") + "</function>"], ["</", "<parameter=zz>"]),
    Row("A6", "json", [NOW], "", ["{}", "{ }"], ['{"', '{"a": 1}']),
    Row("A6", "gemma", [NOW], "", ["{}"], ["{a"]),
    Row("A6", "coder", [NOW], "\n", ["</function>"], ["<parameter", "x"]),
    Row("A7", "json", [UNIONS], '{"u": ', ["3}", '"x"}'], ["true", "null", "1.5"]),
    Row("A7", "json", [UNIONS], '{"n": ', ["null}", '"x"}'], ["true", "1"]),
    Row("A7", "gemma", [UNIONS], "{n:", ["null}", f"{Q}x{Q}}}"], ["true", "1"]),
    Row("A8", "json", [UNIONS], '{"e": ', ["true}", "1.5}", '""}', '{"k": [1]}}'], ["false", "1}", '"x', '{"k": [2']),
    Row("A8", "gemma", [UNIONS], "{e:", ["true}", "1.5}", f"{Q}{Q}}}", "{k:[1]}}"], ["false", "1}", f"{Q}x", "{k:[2"]),
    Row("A8", "coder", [UNIONS], "\n<parameter=e>\n", ["true\n</parameter>", "1.5\n</parameter>", "\n</parameter>", '{"k": [1]}\n</parameter>'], ["false", "1\n<", '""', '{"k": [2']),
    Row("A9", "json", [RANGE], '{"i": 15', ["}", "0}"], ["1", "9", "00", "."]),
    Row("A9", "gemma", [RANGE], "{i:15", ["}", "0}"], ["1", "9", "00", "."]),
    Row("A9", "coder", [RANGE], "\n<parameter=i>\n15", ["\n</parameter>", "0\n</parameter>"], ["1", "9", "00", "."]),
    Row("A9", "json", [RANGE], '{"i": ', ["150}", "0}"], ["-1", "160", "151"]),
    Row("A10", "json", [FACETS], '{"m": "a', ['@b.c"}'], ["A", '"', '@b"', "1"]),
    Row("A10", "gemma", [FACETS], f"{{m:{Q}a", [f"@b.c{Q}}}"], ["A", Q, f"@b{Q}", "1"]),
    Row("A10", "coder", [FACETS], "\n<parameter=m>\na", ["@b.c\n</parameter>"], ["A", "\n<", "@b\n<", "1"]),
    Row("A10 length", "json", [FACETS], '{"l": "日', ['本"}', 'ab"}'], ['"', 'abc"']),
    Row("A14", "json", [ORDER], '{"say": 1', [', "mid": 1}', ', "show": 1, "mid": 1}'], ["}", ', "say"']),
    Row("A16", "json", [SCRIPT], '{"', ['straße": "café"}'], ['strasse"', 'straße": "cafe"', 'straße": "cafe\u0301"']),
    Row("A16", "gemma", [SCRIPT], "{", [f"straße:{Q}café{Q}}}"], ["strasse", f"straße:{Q}cafe\u0301"]),
    Row("A16", "coder", [SCRIPT], "\n<parameter=", ["straße>\ncafé\n</parameter>"], ["strasse", "straße>\ncafe\u0301"]),
    Row("A17", "json", [ESCAPES], '{"e": "', ['a\\"b\\n"}', '\\u0061\\u0022b\\u000a"}'], ['a"', "a\\\\", 'a\\"b"']),
    Row("A17", "gemma", [ESCAPES], f"{{e:{Q}", [f'a"b\n{Q}}}'], ["a\\", f'a"b{Q}']),
    Row("A17", "coder", [ESCAPES], "\n<parameter=e>\n", ['a"b\n\n</parameter>'], ["a\\", 'a"b\n</parameter>']),
    # C: JSON
    Row("C1", "json", [WEATHER], "{", ['"location": "x"}', '"lo', '"unit": "celsius", "location": ""}'], ["}", '"city"', " }", "{"]),
    Row("C1", "json", [WEATHER], '{"location": "x"', ["}", ', "days": 3}'], [', "location"', ', "city"']),
    Row("C2", "json", [WEATHER], '{"location": "x", "unit": "celsius", "days": 3', ["}"], [",", ', "']),
    Row("C3", "json", [WEATHER], '{ "days" :', [' 3 , "location": ""}', "3", "\n3"], ["\n\n\n\n3", " " * 200]),
    Row("C4", "json", [WEATHER], '{"location": "', ['\\n\\u00e9"}', "</tool", '日本 🙂"'], ["\n", "\x00", "\\q", '\\u12"', "a\n"]),
    Row("C6", "json", [RANGE], '{"x": ', ["-0}", "1e-5}", "0.5}", "1E+2}"], ["007", "1.}", "+1", ".5", "NaN"]),
    Row("C6", "json", [WEATHER], '{"location": "", "days": ', ["-0}", "12}"], ["1.5", "1e", "007"]),
    Row("C7", "json", [NESTED], '{"o": {"b": 1', [', "in": 2}}'], ["}", ', "b"']),
    Row("C7", "json", [NESTED], '{"t": [1', ["]}", ", 2]}"], [",]", ", ]", ", 2, 3]"]),
    Row("C9", "json", [WEATHER], "", ["{"], ['"{', "[", "null", "{}"]),
    # D: Gemma
    Row("D1", "gemma", [WEATHER], "{location:", [Q, f"{Q}x{Q}}}"], ['"', "x", "1", "null"]),
    Row("D2", "gemma", [WEATHER], f"{{unit:{Q}", [f"celsius{Q},location:{Q}{Q}}}", "fahr"], ["k", "Celsius", Q]),
    Row("D2", "gemma", [WEATHER], f"{{unit:{Q}celsius", [Q], ["x", "}", " "]),
    Row("D2", "gemma", [tool({"t": {"type": "array", "items": STRING}})], "{t:[", [f"{Q}a{Q}]}}", "]}"], ["a", '"', ","]),
    Row("D3", "gemma", [PREFIX], "{a", [":", "b:"], [" ", "c", " b:"]),
    Row("D5", "gemma", [WEATHER], f"{{days:1,location:{Q}{Q},unit:{Q}celsius{Q}", ["}"], [","]),
    Row("D7", "gemma", [tool({"a": {}})], f"{{a:{Q}}}", [f"{Q}}}", f"]{Q}}}"], []),
    Row("D7", "gemma", [tool({"a": {}})], "{a:[1", ["]}"], ["}", "]]"]),
    # E: Qwen3-Coder
    Row("E1", "coder", [WEATHER], "", ["\n<p", "<parameter=location>", "\n"], ["x", ">", "\n</", "</", "\n<function"]),
    Row("E2", "coder", [WEATHER], "\n<parameter=loca", ["tion>\nx\n</parameter>"], ["l", ">", "tions"]),
    Row("E2", "coder", [WEATHER], "\n" + p("location", "x"), ["<parameter=unit>", "</function>"], ["<parameter=location>", "x"]),
    Row("E3", "coder", [WEATHER], "\n<parameter=unit>\n", ["celsius\n</parameter>", "celsius</parameter>"], ['"', "kelvin", "Celsius"]),
    Row("E3", "coder", [WEATHER], "\n<parameter=days>\n", ["5\n</parameter>", "-5</parameter>"], ["5.", "- 5", '"5', "x"]),
    Row("E4", "coder", [WEATHER], "\n<parameter=location>\nHi.", ["</parameter>", "\n</parameter>\n</function>", "</function>", "<parameter=unit>"], ["\x00"]),
    Row("E5", "coder", [WEATHER], "\n" + p("location", "x") + p("unit", "celsius") + p("days", "3"), ["</function>"], ["<parameter", "<p"]),
    Row("E6", "coder", [NESTED], "\n<parameter=o>\n", ['{"in": 1}\n</parameter>'], ["[", '{"b": 1}', '{"in": 1</parameter>', '{"in": 1,}']),
    Row("E6", "coder", [NESTED], "\n<parameter=t>\n[1", ["]\n</parameter>", ", 2]\n</parameter>"], [", \n</parameter>", "</parameter>", ", 2, 3]"]),
]  # fmt: skip

