"""Reading replies back: text, reasoning and tool calls, while they stream in.

    parser = ReplyParser("hermes", tools, vocab)
    for token_id in tokens:
        for event in parser.push(token_id):      # TextDelta, ReasoningDelta, CallStart, CallDelta, CallEnd, CallDropped
            ...
    parser.finish()
    parser.reply.text, parser.reply.reasoning, parser.reply.tool_calls

alphabet   tokens as symbols: a control token is one symbol that no text can spell
cursor     a place in a reply that arrives in pieces; readers are generators that wait there
prose      text outside calls, and where something else begins in it
blocks     calls, in any format of `constrain.wires.markers`
json_text, elements, key_values     the three shapes of arguments, read as JSON
values     which JSON value a raw text is, by the tool's schema
recorder, events                    what was found
"""

from .events import CallDelta, CallDropped, CallEnd, CallStart, Event, ReasoningDelta, Reply, TextDelta, ToolCall
from .parser import ReplyParser

__all__ = [
    "CallDelta",
    "CallDropped",
    "CallEnd",
    "CallStart",
    "Event",
    "ReasoningDelta",
    "Reply",
    "ReplyParser",
    "TextDelta",
    "ToolCall",
]
