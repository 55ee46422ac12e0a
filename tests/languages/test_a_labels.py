"""A-labels of host names, checked against the codec of the standard library and the rules as `idna` has them."""

from __future__ import annotations

import random
import unicodedata
from itertools import islice

import pytest

from constrain.languages import a_labels, punycode
from constrain.languages.formats import format_language
from constrain.languages.idn import CYRILLIC, GREEK, LATIN
from constrain.languages.words import count_words, sample, words

FAMILIES = [*a_labels._ONE_WAY, *a_labels._TWO_WAYS]


def valid(name: str) -> bool:
    """Whether all labels are valid, and keep to RFC 5893 where one has characters from right to left."""
    idna = pytest.importorskip("idna")
    try:
        labels = [idna.decode(label) for label in name.split(".")]
        if any(unicodedata.bidirectional(char) in ("R", "AL", "AN") for label in labels for char in label):
            for label in labels:
                idna.check_bidi(label, check_ltr=True)
        return bool(idna.encode(".".join(labels)).decode() == name.lower())
    except idna.IDNAError:
        return False


def accepts(name: str) -> bool:
    return format_language("hostname").accepts(name.encode())


@pytest.mark.parametrize(("letters", "most", "few", "many"), [("\xfc\xdf\u03c9", 3, 0, 0), ("\u05d0\uff41", 2, 1, 2)])
def test_punycode_of_all_strings(letters: str, most: int, few: int, many: int) -> None:
    texts = {""}
    for _ in range(most + many):
        texts |= {text + char for text in texts for char in letters + ("a9" if many else "")}
    counts = {text: (sum(c > "\x7f" for c in text), sum(c < "\x7f" for c in text)) for text in texts}
    wanted = {
        text.encode("punycode")
        for text, (others, plain) in counts.items()
        if 0 < others <= most and few <= plain <= many
    }
    ascii_part = "a9" if many else ""
    found = words(punycode.labels(letters, most, few, many), 1 << 21)
    assert found is not None
    assert {w for w in found if set(w.decode().rpartition("-")[0]) <= set(ascii_part)} == wanted


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: f"U+{ord(family[0][0]):04X} {family[1:]}")
def test_families(family: tuple[str, int] | tuple[str, int, int, int]) -> None:
    letters, most, few, many = (*family, 0, 0)[:4]
    ends = punycode.labels(*family)
    rng = random.Random(17)
    for _ in range(60):
        text = rng.choices(letters, k=rng.randint(1, most)) + rng.choices("az09", k=rng.randint(few, many))
        rng.shuffle(text)
        word = "".join(text).encode("punycode")
        assert ends.accepts(word)
        assert accepts("xn--" + word.decode()) and valid("xn--" + word.decode())
    for _ in range(150):
        name = "xn--" + sample(ends, rng).decode()
        assert len(name) <= 63 and accepts(name) and valid(name)


def test_every_label_in_context_is_valid() -> None:
    for texts in (a_labels._one_way_in_context(), a_labels._two_ways_in_context()):
        for text in islice(texts, 0, None, 7):  # every kind has hundreds
            name = "xn--" + text.encode("punycode").decode()
            assert accepts(name) and valid(name), text


@pytest.mark.parametrize("families", [a_labels._ONE_WAY, a_labels._TWO_WAYS])
def test_names_of_several_labels(families: tuple[tuple[str, int], ...]) -> None:
    rng = random.Random(5)
    ends = [punycode.labels(*family) for family in families[-3:]]
    wrong_way = "xn--wxa" if families is a_labels._TWO_WAYS else "xn--4db"
    for _ in range(60):
        labels = ["xn--" + sample(rng.choice(ends), rng).decode() for _ in range(2)]
        name = ".".join(rng.sample([*labels, "a0-b", "www"], 4))
        assert accepts(name) and valid(name), name
        assert not accepts(f"{name}.{wrong_way}")
        assert accepts(f"{name}.0a") == valid(f"{name}.0a") == (families is a_labels._ONE_WAY)


def test_damaged_names_are_refused_unless_valid() -> None:
    rng = random.Random(23)
    for _ in range(1000):
        letters, most, few = (*rng.choice(FAMILIES), 0)[:3]
        text = rng.choices(letters, k=rng.randint(1, most)) + rng.choices("az", k=few)
        name = list("xn--" + "".join(text).encode("punycode").decode())
        place = rng.randrange(4, len(name))
        name[place : place + rng.randint(0, 1)] = rng.choice("abz019-.")
        damaged = "".join(name)
        assert not accepts(damaged) or valid(damaged), damaged


@pytest.mark.parametrize(
    "name",
    ["xn--bcher-kva.example", "www.xn--mnchen-3ya.de", "xn--strae-oqa", "xn--ll-0ea.x", "xn--qmbc", "a.xn--4dbc5h.c3"],
)
def test_admitted(name: str) -> None:
    assert accepts(name) and valid(name)


@pytest.mark.parametrize(
    "label",
    ["a\xb7l", "l\xb7", "\u03b1\u0375", "\u0375a", "\u05f3\u05d1", "a\u05f3", "\u30fb", "a\u30fb", "\u0628\u0660\u06f0",
     "\u0915\u200d\u0937", "\u0300a", "\xfca-", "-a\xfc", "ab--\xfc", "a\u05d0", "\xdc",
     "\u0640"],
)  # fmt: skip
def test_invalid_labels_are_refused(label: str) -> None:
    name = "xn--" + label.encode("punycode").decode()
    assert not accepts(name) and not valid(name)


@pytest.mark.parametrize(
    "name",
    ["xn--", "xn---", "xn--a", "xn--X", "xn--7a", "xn---9uc", "xn--example-", "xn--bcher-kv", "0a.xn--4dbc5h",
     "xn--bcher-kva-"],
)  # fmt: skip
def test_what_decodes_to_nothing_valid_is_refused(name: str) -> None:
    assert not accepts(name) and not valid(name)


@pytest.mark.parametrize(
    "name",
    ["XN--BCHER-KVA", "xn--9n2bp8q", "xn--fiq228c5hs", "xn--bcher-regal-hlb", "xn--bcher-kva.xn--4dbc5h",
     "xn--e1afmkfd"],
)  # fmt: skip
def test_others_are_left_out(name: str) -> None:
    assert not accepts(name)


def test_size() -> None:
    assert format_language("hostname").n_states < 20_000
    assert count_words(punycode.labels(GREEK, 2), 1 << 20) == len(GREEK) + len(GREEK) ** 2
    assert all(letter.islower() for letter in LATIN + GREEK + CYRILLIC)
