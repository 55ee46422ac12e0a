"""The cache of compilations: one flight, bounds, and errors that are forgotten."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace

import pytest

import constrain
from constrain.requests import CompileCache, chat

from .support import SCHEMA, TOOLS, VOCABULARY

FORMAT = {"type": "json_schema", "schema": SCHEMA}


def run(count, work):
    """Call work(i) in so many threads at once; the results, exceptions among them."""
    results, barrier = [None] * count, threading.Barrier(count)

    def one(i):
        barrier.wait()
        try:
            results[i] = work(i)
        except Exception as error:
            results[i] = error

    threads = [threading.Thread(target=one, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_what_many_ask_for_at_once_is_made_once():
    cache, made = CompileCache(), []

    def make():
        made.append(threading.get_ident())
        time.sleep(0.05)
        return SimpleNamespace(nbytes=10)

    found = run(12, lambda i: cache.get("key", make))
    assert len(made) == 1 and all(one is found[0] for one in found)
    assert (cache.misses, cache.hits, len(cache)) == (1, 11, 1)


def test_an_error_reaches_all_who_wait_and_is_forgotten():
    cache, made = CompileCache(error_seconds=0.2), []

    def make():
        made.append(1)
        time.sleep(0.02)
        raise constrain.SchemaError("/a", "type", "bad")

    found = run(6, lambda i: cache.get("key", make))
    assert len(made) == 1 and len({id(one) for one in found}) == 6
    assert all(isinstance(one, constrain.SchemaError) and one.pointer == "/a" for one in found)
    with pytest.raises(constrain.SchemaError):
        cache.get("key", make)
    assert len(made) == 1
    time.sleep(0.25)
    assert cache.get("key", lambda: "good") == "good"


def test_an_error_of_the_machine_is_not_remembered():
    cache = CompileCache()

    def make():
        raise MemoryError

    for _ in range(2):
        with pytest.raises(MemoryError):
            cache.get("key", make)
    assert cache.misses == 2 and len(cache) == 0
    with pytest.raises(KeyboardInterrupt):
        cache.get("key", lambda: (_ for _ in ()).throw(KeyboardInterrupt()))
    assert cache.get("key", lambda: 1) == 1


def test_the_least_used_go_first():
    cache = CompileCache(max_entries=3)
    for key in "abcad":
        cache.get(key, lambda key=key: key)
    assert len(cache) == 3 and cache.hits == 1
    cache.get("a", lambda: pytest.fail("was dropped"))
    assert cache.get("b", lambda: "new") == "new"


def test_bytes_are_bounded_and_one_value_is_kept():
    cache, big = CompileCache(max_bytes=100), SimpleNamespace(nbytes=60)
    cache.get("a", lambda: big)
    cache.get("b", lambda: SimpleNamespace(nbytes=30))
    assert len(cache) == 2
    big.nbytes = 90  # it grew
    cache.get("c", lambda: SimpleNamespace(nbytes=20))
    assert len(cache) == 2
    cache.get("d", lambda: SimpleNamespace(nbytes=500))
    assert len(cache) == 1
    cache.clear()
    assert len(cache) == 0


def test_requests_share_one_compilation():
    """A1, A19: 8 threads with equal bodies get one grammar, one automaton and equal masks; dropping breaks nothing."""
    cache = CompileCache(max_entries=4)
    body = {"response_format": FORMAT, "tools": TOOLS}
    found = run(8, lambda i: chat(body, VOCABULARY, "hermes", cache=cache))
    assert len({id(one.grammar) for one in found}) == len({id(one.tools) for one in found}) == 1
    assert len({tuple(map(id, one.grammars())) for one in found}) == 1
    sessions = [one.session() for one in found]
    for i in range(6):
        chat({"guided_choice": [str(i)]}, VOCABULARY, cache=cache)
    assert len(cache) <= 4

    def walk(i):
        bitmask = constrain.allocate_token_bitmask(1, VOCABULARY.size)
        masks = []
        for token in b'{"x":1}':
            sessions[i].fill_next_token_bitmask(bitmask)
            masks.append(bitmask.tobytes())
            assert sessions[i].accept_token(token)
        return masks

    walked = run(8, walk)
    assert all(one == walked[0] for one in walked) and len(walked[0]) == 7


def test_options_and_vocabularies_are_part_of_the_key():
    cache = CompileCache()

    def grammar(**options):
        return chat({"response_format": FORMAT}, options.pop("vocab", VOCABULARY), cache=cache, **options).grammar

    assert grammar() is grammar()
    others = [grammar(whitespace="compact"), grammar(vocab=None), grammar(limits=constrain.Limits(max_depth=9))]
    assert len({id(one) for one in [grammar(), *others]}) == 4
    reordered = {"type": "json_schema", "schema": {"properties": {"b": {}, "a": {}}}}
    ordered = {"type": "json_schema", "schema": {"properties": {"a": {}, "b": {}}}}
    found = [chat({"response_format": one}, VOCABULARY, cache=cache) for one in (reordered, ordered)]
    assert [one.accepts('{"a":1,"b":2}') for one in found] == [False, True]


def test_numbers_that_floats_cannot_hold_stay_what_they_are():
    cache, found = CompileCache(), []
    for least in ("0.1", "0.10000000000000000001"):
        schema = f'{{"type": "number", "minimum": {least}}}'
        body = {"response_format": {"type": "json_schema", "schema": schema}}
        found.append(chat(body, VOCABULARY, cache=cache))
    assert [one.accepts("0.1") for one in found] == [True, False]
