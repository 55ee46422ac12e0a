"""The one table of tool-call formats: what each model family writes around names, keys and values.

The constraining side builds grammars from these records and `constrain.replies` reads replies with them, so that
neither can know a marker that the other does not. `constrain.wires.records` says what the fields mean. Sources: the
chat templates that the models are published with.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from .._errors import ArgumentError
from .records import (
    NOTHING,
    Body,
    Counter,
    ElementBody,
    Envelope,
    Head,
    JsonBody,
    KeyValueBody,
    Mark,
    Reasoning,
    Section,
    Typing,
    Wire,
)

__all__ = [
    "NOTHING",
    "WIRES",
    "Body",
    "Counter",
    "ElementBody",
    "Envelope",
    "Head",
    "JsonBody",
    "KeyValueBody",
    "Mark",
    "Reasoning",
    "Section",
    "Typing",
    "Wire",
    "members",
    "wire_names",
]

_THINK = Reasoning(Mark.of("<think>"), Mark.of("</think>"))
_THINK_LINES = Reasoning(Mark.of("<think>\n"), Mark.of("\n</think>\n\n"))
_THINK_CONTROLS = ("<think>", "</think>")
_ARGUMENTS = Envelope(("arguments", "parameters"))
_PARAMETERS = Envelope(("parameters", "arguments"))

_HERMES = Wire(
    name="hermes",
    models="Qwen2.5, Qwen3, Hermes 2 Pro, Hermes 3",
    heads=(Head(Mark.of("\n<tool_call>\n")),),
    body=JsonBody(_ARGUMENTS),
    close=Mark.of("\n</tool_call>"),
    between=Mark.of("\n"),
    reasoning=_THINK_LINES,
    stops=("<|im_end|>",),
    controls=("<tool_call>", "</tool_call>", *_THINK_CONTROLS),
    loose=True,
)

_EXAONE = Wire(
    name="exaone",
    models="EXAONE 4",
    heads=(Head(Mark.of("<tool_call>")),),
    body=JsonBody(_ARGUMENTS),
    close=Mark.of("</tool_call>"),
    reasoning=_THINK_LINES,
    stops=("[|endofturn|]",),
    controls=("<tool_call>", "</tool_call>", *_THINK_CONTROLS),
    loose=True,
)

_LLAMA3 = Wire(
    name="llama3",
    models="Llama 3.1, 3.2, 3.3",
    heads=(Head(at_start=True), Head(Mark.of("<|python_tag|>"))),
    body=JsonBody(_PARAMETERS),
    between=Mark.of("; "),
    stops=("<|eot_id|>", "<|eom_id|>"),
    controls=("<|python_tag|>",),
)

_MISTRAL_THINK = Reasoning(Mark.of("[THINK]"), Mark.of("[/THINK]"))

_MISTRAL = Wire(
    name="mistral",
    models="Mistral 7B v0.3, Mixtral, Nemo and others before tokenizer v11",
    sections=(Section(Mark.of("[TOOL_CALLS] ["), Mark.of("]")), Section(Mark.of("[TOOL_CALLS]["), Mark.of("]"))),
    body=JsonBody(_ARGUMENTS),
    between=Mark.of(", "),
    reasoning=_MISTRAL_THINK,
    stops=("</s>",),
    controls=("[TOOL_CALLS]", "[THINK]", "[/THINK]"),
)

_MISTRAL_V11 = Wire(
    name="mistral_v11",
    models="Mistral Small 3.2, Ministral 3, Magistral 2509, Devstral 2 and others since tokenizer v11",
    heads=(Head(Mark.of("[TOOL_CALLS]"), (Mark.of("[ARGS]"), NOTHING)),),
    body=JsonBody(),
    reasoning=_MISTRAL_THINK,
    stops=("</s>",),
    controls=("[TOOL_CALLS]", "[ARGS]", "[THINK]", "[/THINK]"),
)

_DEEPSEEK_CONTROLS = (
    "<｜tool▁calls▁begin｜>",
    "<｜tool▁calls▁end｜>",
    "<｜tool▁call▁begin｜>",
    "<｜tool▁call▁end｜>",
    "<｜tool▁sep｜>",
    *_THINK_CONTROLS,
)
_DEEPSEEK_THINK = Reasoning(_THINK.open, _THINK.close, in_prompt=True)

_DEEPSEEK_V3 = Wire(
    name="deepseek_v3",
    models="DeepSeek V3, V3-0324, R1, R1-0528",
    sections=(Section(Mark.of("<｜tool▁calls▁begin｜>"), Mark.of("<｜tool▁calls▁end｜>"), close_optional=True),),
    heads=(Head(Mark.of("<｜tool▁call▁begin｜>function<｜tool▁sep｜>"), (Mark.of("\n```json\n"),)),),
    body=JsonBody(),
    close=Mark.of("\n```<｜tool▁call▁end｜>"),
    between=Mark.of("\n"),
    reasoning=_DEEPSEEK_THINK,
    stops=("<｜end▁of▁sentence｜>",),
    controls=_DEEPSEEK_CONTROLS,
)

_DEEPSEEK_V31 = Wire(
    name="deepseek_v31",
    models="DeepSeek V3.1, V3.1-Terminus, V3.2-Exp",
    sections=_DEEPSEEK_V3.sections,
    heads=(Head(Mark.of("<｜tool▁call▁begin｜>"), (Mark.of("<｜tool▁sep｜>"),)),),
    body=JsonBody(),
    close=Mark.of("<｜tool▁call▁end｜>"),
    reasoning=_DEEPSEEK_THINK,
    stops=_DEEPSEEK_V3.stops,
    controls=_DEEPSEEK_CONTROLS,
)

_KIMI_K2 = Wire(
    name="kimi_k2",
    models="Kimi K2, K2-Thinking, K2.5",
    sections=(Section(Mark.of("<|tool_calls_section_begin|>"), Mark.of("<|tool_calls_section_end|>")),),
    heads=(
        Head(
            Mark.of("<|tool_call_begin|>functions."),
            (Mark.of("<|tool_call_argument_begin|>"),),
            Counter(":", 0, over_conversation=True, call_id="functions.{name}:{number}"),
        ),
    ),
    body=JsonBody(),
    close=Mark.of("<|tool_call_end|>"),
    reasoning=_THINK,
    stops=("<|im_end|>",),
    controls=(
        "<|tool_calls_section_begin|>",
        "<|tool_calls_section_end|>",
        "<|tool_call_begin|>",
        "<|tool_call_argument_begin|>",
        "<|tool_call_end|>",
        *_THINK_CONTROLS,
    ),
)

_PHI4_MINI = Wire(
    name="phi4_mini",
    models="Phi-4-mini",
    sections=(
        Section(Mark.of("<|tool_call|>["), Mark.of("]<|/tool_call|>")),
        Section(Mark.of("functools["), Mark.of("]")),
    ),
    body=JsonBody(_ARGUMENTS),
    between=Mark.of(", "),
    stops=("<|end|>",),
    controls=("<|tool_call|>", "<|/tool_call|>"),
)


def _harmony_heads() -> Iterator[Head]:
    formats = (" <|constrain|>json<|message|>", " json<|message|>", "<|message|>")
    for channel in ("<|channel|>commentary", "<|channel|>analysis"):
        yield Head(Mark.of(f"{channel} to=functions."), tuple(Mark.of(one) for one in formats))
    headers = tuple(
        Mark.of(channel + one) for channel in ("<|channel|>commentary", "<|channel|>analysis") for one in formats
    )
    yield Head(Mark.of(" to=functions."), headers, at_start=True)


_HARMONY = Wire(
    name="harmony",
    models="gpt-oss",
    heads=tuple(_harmony_heads()),
    body=JsonBody(item_separator=",", key_separator=":"),
    close=Mark.of("<|call|>"),
    between=Mark.of("<|start|>assistant"),
    reasoning=Reasoning(Mark.of("<|channel|>analysis<|message|>"), Mark.of("<|end|>")),
    silent=(
        Mark.of("<|start|>assistant"),
        Mark.of("<|channel|>final<|message|>"),
        Mark.of("<|channel|>commentary<|message|>"),
        Mark.of("<|end|>"),
    ),
    starts=(Mark.of("<|start|>assistant"),),
    headers=(Mark.of("<|channel|>final<|message|>"), Mark.of("<|channel|>commentary<|message|>")),
    stops=("<|return|>", "<|call|>"),
    controls=("<|start|>", "<|end|>", "<|message|>", "<|channel|>", "<|constrain|>", "<|return|>", "<|call|>"),
    before_call=(Mark.of("<|start|>assistant"),),
    before_answer=(Mark.of("<|start|>assistant"), Mark.of("<|channel|>final<|message|>")),
)

_GEMMA4 = Wire(
    name="gemma4",
    models="Gemma 4",
    heads=(Head(Mark.of("<|tool_call>call:")),),
    body=KeyValueBody('<|"|>'),
    close=Mark.of("<tool_call|>"),
    reasoning=Reasoning(Mark.of("<|channel>thought\n"), Mark.of("<channel|>")),
    stops=("<turn|>", "<|tool_response>"),
    controls=("<|tool_call>", "<tool_call|>", '<|"|>', "<|channel>", "<channel|>", "<|tool_response>"),
)

_FUNCTIONGEMMA = Wire(
    name="functiongemma",
    models="FunctionGemma",
    heads=(Head(Mark.of("<start_function_call>call:")),),
    body=KeyValueBody("<escape>"),
    close=Mark.of("<end_function_call>"),
    stops=("<end_of_turn>", "<start_function_response>"),
    controls=("<start_function_call>", "<end_function_call>", "<escape>", "<start_function_response>"),
)

_QWEN3_CODER = Wire(
    name="qwen3_coder",
    models="Qwen3-Coder, Qwen3.5 to 3.8, Nemotron 3 Nano, Step 3.5",
    sections=(Section(Mark.of("\n<tool_call>\n"), Mark.of("\n</tool_call>")),),
    heads=(Head(Mark.of("<function="), (Mark.of(">\n"),)),),
    body=ElementBody(
        key_open=Mark.of("<parameter="),
        key_close=Mark.of(">"),
        value_close=Mark.of("</parameter>\n"),
        pad="\n",
        capitals=True,
    ),
    close=Mark.of("</function>"),
    between=Mark.of("\n"),
    one_per_section=True,
    reasoning=Reasoning(_THINK_LINES.open, _THINK_LINES.close, in_prompt=True),
    stops=("<|im_end|>",),
    controls=_HERMES.controls,
    prose_after=False,
    loose=True,
)

_KIMI_K3 = Wire(
    name="kimi_k3",
    models="Kimi K3",
    sections=(Section(Mark.of("<|open|>tools<|sep|>"), Mark.of("<|close|>tools<|sep|>")),),
    heads=(Head(Mark.of('<|open|>call tool="'), (Mark.of('"<|sep|>'),), Counter('" index="', 1)),),
    body=ElementBody(
        key_open=Mark.of('<|open|>argument key="'),
        key_close=Mark.of('" type="'),
        value_open=Mark.of('"<|sep|>'),
        value_close=Mark.of("<|close|>argument<|sep|>"),
        typing=Typing.TYPE_NAME,
        attribute_escapes=True,
    ),
    close=Mark.of("<|close|>call<|sep|>"),
    reasoning=Reasoning(Mark.of("<|open|>think<|sep|>"), Mark.of("<|close|>think<|sep|>"), in_prompt=True),
    silent=(
        Mark.of("<|open|>response<|sep|>"),
        Mark.of("<|close|>response<|sep|>"),
        Mark.of("<|close|>message<|sep|>"),
    ),
    stops=("<|end_of_msg|>",),
    controls=("<|open|>", "<|close|>", "<|sep|>"),
    prose_after=False,
    before_call=(Mark.of("<|open|>response<|sep|>"), Mark.of("<|close|>response<|sep|>")),
    after_calls=(Mark.of("<|close|>message<|sep|>"),),
    before_answer=(Mark.of("<|open|>response<|sep|>"),),
    after_answer=(Mark.of("<|close|>response<|sep|>"), Mark.of("<|close|>message<|sep|>")),
)

_GLM_STOPS = ("<|observation|>", "<|user|>", "<|endoftext|>")
_GLM_CONTROLS = (
    "<tool_call>",
    "</tool_call>",
    "<arg_key>",
    "</arg_key>",
    "<arg_value>",
    "</arg_value>",
    *_THINK_CONTROLS,
)

_GLM45 = Wire(
    name="glm45",
    models="GLM-4.5, GLM-4.6",
    heads=(Head(Mark.of("\n<tool_call>"), (Mark.of("\n"),)),),
    body=ElementBody(
        key_open=Mark.of("<arg_key>"),
        key_close=Mark.of("</arg_key>\n"),
        value_open=Mark.of("<arg_value>"),
        value_close=Mark.of("</arg_value>\n"),
    ),
    close=Mark.of("</tool_call>"),
    between=Mark.of("\n"),
    reasoning=Reasoning(Mark.of("\n<think>"), Mark.of("</think>\n")),
    stops=_GLM_STOPS,
    controls=_GLM_CONTROLS,
    loose=True,
)

_GLM47 = Wire(
    name="glm47",
    models="GLM-4.7, GLM-5",
    heads=(Head(Mark.of("<tool_call>")),),
    body=ElementBody(
        key_open=Mark.of("<arg_key>"),
        key_close=Mark.of("</arg_key>"),
        value_open=Mark.of("<arg_value>"),
        value_close=Mark.of("</arg_value>"),
    ),
    close=Mark.of("</tool_call>"),
    reasoning=Reasoning(_THINK.open, _THINK.close, in_prompt=True),
    stops=_GLM_STOPS,
    controls=_GLM_CONTROLS,
    loose=True,
)

_MINIMAX_M2 = Wire(
    name="minimax_m2",
    models="MiniMax M2, M2.1, M2.5, M2.7",
    sections=(Section(Mark.of("\n<minimax:tool_call>\n"), Mark.of("</minimax:tool_call>")),),
    heads=(Head(Mark.of('<invoke name="'), (Mark.of('">\n'),)),),
    body=ElementBody(
        key_open=Mark.of('<parameter name="'), key_close=Mark.of('">'), value_close=Mark.of("</parameter>\n")
    ),
    close=Mark.of("</invoke>\n"),
    reasoning=Reasoning(_THINK_LINES.open, _THINK_LINES.close, in_prompt=True),
    stops=("[e~[",),
    controls=("<minimax:tool_call>", "</minimax:tool_call>", *_THINK_CONTROLS),
    loose=True,
)

_DSML = Wire(
    name="dsml",
    models="DeepSeek V3.2, V4",
    sections=tuple(
        Section(Mark.of(f"\n\n<｜DSML｜{tag}>\n"), Mark.of(f"\n</｜DSML｜{tag}>"))
        for tag in ("function_calls", "tool_calls")
    ),
    heads=(Head(Mark.of('<｜DSML｜invoke name="'), (Mark.of('">\n'),)),),
    body=ElementBody(
        key_open=Mark.of('<｜DSML｜parameter name="'),
        key_close=Mark.of('" string="'),
        value_open=Mark.of('">'),
        value_close=Mark.of("</｜DSML｜parameter>"),
        between="\n",
        typing=Typing.STRING_FLAG,
    ),
    close=Mark.of("\n</｜DSML｜invoke>"),
    between=Mark.of("\n"),
    reasoning=_DEEPSEEK_THINK,
    stops=_DEEPSEEK_V3.stops,
    controls=("｜DSML｜", *_THINK_CONTROLS),
)

_FAMILIES = (
    _HERMES,
    _EXAONE,
    _LLAMA3,
    _MISTRAL,
    _MISTRAL_V11,
    _DEEPSEEK_V3,
    _DEEPSEEK_V31,
    _KIMI_K2,
    _PHI4_MINI,
    _HARMONY,
    _GEMMA4,
    _FUNCTIONGEMMA,
    _QWEN3_CODER,
    _KIMI_K3,
    _GLM45,
    _GLM47,
    _MINIMAX_M2,
    _DSML,
)

WIRES: Mapping[str, Wire] = {wire.name: wire for wire in _FAMILIES}

_OVERLAYS = {"qwen": ("hermes", "qwen3_coder")}
"""Names for several formats at once: each block shows by its first byte which one it is in."""


def wire_names() -> tuple[str, ...]:
    """Every name that stands for a format, or for several."""
    return (*WIRES, *_OVERLAYS)


def members(wire: str | Sequence[str]) -> tuple[Wire, ...]:
    """The formats that a name, or a list of names, stands for. Raises ValueError on an unknown one."""
    names = (wire,) if isinstance(wire, str) else tuple(wire)
    found: dict[str, Wire] = {}
    for name in names:
        if name not in WIRES and name not in _OVERLAYS:
            raise ArgumentError(f"unknown wire format {name!r}; there are {', '.join(wire_names())}")
        found.update({one: WIRES[one] for one in _OVERLAYS.get(name, (name,))})
    if not found:
        raise ArgumentError(f"no wire format is named; there are {', '.join(wire_names())}")
    return tuple(found.values())
