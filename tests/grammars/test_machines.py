"""Machines of rules: deterministic and minimal over letters, with loops in the place of recursion at the end."""

from __future__ import annotations

import random

from constrain.grammars.machines import Machine, deterministic, loop_at_the_end, quotient, trimmed, without_empty


def machine(moves: str, final: set[int], silent: str = "") -> Machine:
    """moves: "0a1 1b0", one letter each; a capital is a rule."""
    made = Machine()
    numbers = [int(part[i]) for part in (moves + " " + silent).split() for i in (0, -1)]
    for _ in range(max([*numbers, *final]) + 1):
        made.state()
    for part in moves.split():
        made.add(int(part[0]), part[1] if part[1].isupper() else ord(part[1]), int(part[2]))
    for part in silent.split():
        made.silent[int(part[0])].add(int(part[1]))
    made.final = set(final)
    return made


def reads(made: Machine, word: str) -> bool:
    states = made.closure((0,))
    for char in word:
        letter = char if char.isupper() else ord(char)
        states = made.closure(t for state in states for t in made.edges[state].get(letter, ()))
    return bool(states & made.final)


def random_machine(rng: random.Random) -> Machine:
    size = rng.randint(1, 5)
    moves = " ".join(
        f"{rng.randrange(size)}{rng.choice('abX')}{rng.randrange(size)}" for _ in range(rng.randint(1, 2 * size))
    )
    silent = " ".join(f"{rng.randrange(size)}{rng.randrange(size)}" for _ in range(rng.randint(0, 2)))
    return machine(moves, {rng.randrange(size)}, silent)


def random_words(rng: random.Random) -> list[str]:
    return ["", *("".join(rng.choice("abX") for _ in range(rng.randint(1, 6))) for _ in range(30))]


def test_every_form_of_a_machine_reads_the_same_words() -> None:
    for seed in range(200):
        rng = random.Random(seed)
        made = random_machine(rng)
        smaller = deterministic(made)
        assert not any(smaller.silent)
        assert all(len(targets) == 1 for edges in smaller.edges for targets in edges.values())
        proper = without_empty(deterministic(made))
        for word in random_words(rng):
            assert reads(made, word) == reads(trimmed(made), word) == reads(smaller, word), (seed, word)
            assert reads(proper, word) == (word != "" and reads(made, word)), (seed, word)
            assert reads(quotient(smaller), word) == reads(made, word)


def test_minimal_machines_of_equal_words_have_equal_sizes() -> None:
    loop = machine("0a1 1b0", {1})
    unrolled = machine("0a1 1b2 2a3 3b4 4a5 5b0", {1, 3, 5})
    assert deterministic(loop).size == deterministic(unrolled).size == 2


def test_long_chains_are_minimised_quickly() -> None:
    made = Machine()
    for i in range(5000):
        made.add(made.state(), 97 + i % 26, i + 1)
    made.final = {made.state()}
    assert quotient(made) is made


class TestLoopAtTheEnd:
    def test_right_recursion(self) -> None:
        # X = a | a b X
        looped = loop_at_the_end(machine("0a1 1b2 2X3", {1, 3}), "X")
        assert looped is not None and looped.size == 2
        assert reads(looped, "ababa") and not reads(looped, "abab")

    def test_the_call_may_go_on_as_the_rule_does(self) -> None:
        # X = a (b X)*
        looped = loop_at_the_end(machine("0a1 1b2 2X1", {1}), "X")
        assert looped is not None and not any("X" in edges for edges in looped.edges)

    def test_what_only_the_call_can_be_followed_by_keeps_it(self) -> None:
        # X = a X c | a X | b: after the inner X a c can come, after b none
        assert loop_at_the_end(machine("0a1 1X2 2c3 0b3", {2, 3}), "X") is None

    def test_a_call_that_is_not_at_the_end_stays(self) -> None:
        assert loop_at_the_end(machine("0a1 1X2 2b3 0c3", {3}), "X") is None
