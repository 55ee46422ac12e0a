"""Text increments: any cut into pieces gives the same text, and nothing emitted has to be taken back."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constrain.runners import TextStream


def run(pieces, stop=()):
    stream, out = TextStream(stop), []
    for piece in pieces:
        out.append(stream.feed(piece))
        if stream.stopped is not None:
            break
    out.append(stream.finish())
    return out, stream.stopped


def cut(data, at):
    edges = [0, *sorted(at), len(data)]
    return [data[a:b] for a, b in itertools.pairwise(edges)]


def first_stop(text, stops):
    """Where the text ends: read it character by character until it ends in a stop string, the longest if several."""
    for end in range(len(text) + 1):
        found = [s for s in stops if text[:end].endswith(s)]
        if found:
            return text[: end - max(map(len, found))], max(found, key=len)
    return text, None


@given(st.text("aé日🙂\n"), st.data())
def test_characters_cut_across_tokens_come_out_whole(text, data):
    raw = text.encode()
    at = data.draw(st.lists(st.integers(0, len(raw)), max_size=8))
    out, _ = run(cut(raw, at))
    assert "".join(out) == text
    assert not any("�" in piece for piece in out)


@given(st.binary(max_size=12), st.lists(st.integers(0, 12), max_size=5))
def test_bytes_that_are_not_utf8_are_replaced_as_python_does(raw, at):
    out, _ = run(cut(raw, [min(i, len(raw)) for i in at]))
    assert "".join(out) == raw.decode("utf-8", "replace")


@given(st.text("abc", max_size=14), st.lists(st.text("abc", min_size=1, max_size=4), max_size=3), st.data())
def test_stop_strings_do_not_depend_on_the_cut(text, stops, data):
    at = data.draw(st.lists(st.integers(0, len(text)), max_size=6))
    out, stopped = run(cut(text.encode(), at), stops)
    assert ("".join(out), stopped) == first_stop(text, stops)


def test_text_that_may_become_a_stop_string_waits():
    stream = TextStream(["</s>"])
    assert [stream.feed(b) for b in (b"hi <", b"/", b"b", b"> <", b"/s>", b"late")] == ["hi ", "", "</b", "> ", "", ""]
    assert stream.stopped == "</s>" and stream.finish() == ""


def test_held_text_is_released_at_the_end():
    out, stopped = run([b"ab<", b"/"], ["</s>"])
    assert out == ["ab", "", "</"] and stopped is None


def test_an_unfinished_character_becomes_a_replacement():
    assert run(["日".encode()[:2]])[0] == ["", "�"]


def test_an_empty_stop_string_is_an_error():
    with pytest.raises(ValueError, match="empty"):
        TextStream(["a", ""])
