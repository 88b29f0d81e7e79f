"""The descriptions for CheckEmbed (section 4.1, Tables 1 and 2): what their README promises, counted.

That the sentences are correct cannot be tested here. What can: that the pairs are complete, that similar pairs look
unlike each other, that different pairs look alike, and that each topic is used as often as every other.
"""

import csv
import re
from collections import Counter
from statistics import mean

import pytest

from factlab import places

SAMPLES = places.samples("checkembed")


def rows(name: str) -> list[dict[str, str]]:
    with (SAMPLES / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, strict=True))


TOPICS = rows("topics.csv")
PAIRS = rows("descriptions.csv")
KIND = {row["topic"]: row["kind"] for row in TOPICS}
SIMILAR = [pair for pair in PAIRS if pair["setting"] == "similar"]
DIFFERENT = [pair for pair in PAIRS if pair["setting"] == "different"]
TEXTS = [pair[column] for pair in PAIRS for column in ("text_1", "text_2")]


def each(pairs: list[dict[str, str]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("pair", pairs, ids=[pair["pair_id"] for pair in pairs])


def words(text: str) -> list[str]:
    """Lower-case words and numbers, without the punctuation around them."""
    return re.findall(r"\w+(?:['.,:-]\w+)*", text.lower())


def phrases(text: str, length: int) -> set[tuple[str, ...]]:
    found = words(text)
    return {tuple(found[start : start + length]) for start in range(len(found) - length + 1)}


def lengths(pair: dict[str, str]) -> list[int]:
    """Words of the shorter and of the longer text, as a reader counts them: what stands between blanks."""
    return sorted(len(pair[column].split()) for column in ("text_1", "text_2"))


def overlap(pair: dict[str, str]) -> float:
    """Jaccard overlap of the two sets of words, in [0, 1]."""
    first, second = set(words(pair["text_1"])), set(words(pair["text_2"]))
    return len(first & second) / len(first | second)


# --- topics -------------------------------------------------------------------------------------------------------


def test_twenty_topics_of_each_kind():
    assert list(TOPICS[0]) == ["topic_id", "kind", "topic"]
    expected = [f"{kind}-{number:02d}" for kind in ("generic", "precise") for number in range(1, 21)]
    assert [row["topic_id"] for row in TOPICS] == expected
    assert all(row["topic_id"].startswith(row["kind"] + "-") for row in TOPICS)
    assert len({row["topic"].lower() for row in TOPICS}) == 40


def test_precise_topics_say_more_than_generic_ones():
    sizes = {kind: [len(topic.split()) for topic in KIND if KIND[topic] == kind] for kind in ("generic", "precise")}
    assert max(sizes["generic"]) <= 5
    assert min(sizes["precise"]) >= 12


def test_no_topic_is_an_example_of_the_paper():
    """Section 4.1 prints two topics, both a bicycle."""
    assert not [topic for topic in KIND if re.search(r"\bbi(ke|cycle)s?\b", topic, re.IGNORECASE)]


# --- pairs --------------------------------------------------------------------------------------------------------


def test_forty_pairs_of_each_setting_half_of_each_kind():
    assert list(PAIRS[0]) == ["pair_id", "setting", "kind", "topic_1", "topic_2", "text_1", "text_2"]
    expected = [f"{setting}-{number:02d}" for setting in ("similar", "different") for number in range(1, 41)]
    assert [pair["pair_id"] for pair in PAIRS] == expected
    assert all(pair["pair_id"].startswith(pair["setting"] + "-") for pair in PAIRS)
    counts = Counter((pair["setting"], pair["kind"]) for pair in PAIRS)
    assert counts == {(setting, kind): 20 for setting in ("similar", "different") for kind in ("generic", "precise")}


@each(PAIRS)
def test_both_topics_are_listed_and_of_the_kind_of_the_pair(pair):
    assert KIND[pair["topic_1"]] == KIND[pair["topic_2"]] == pair["kind"]
    assert (pair["topic_1"] == pair["topic_2"]) == (pair["setting"] == "similar")


def test_each_topic_has_one_similar_pair_and_stands_once_on_either_side_of_a_different_pair():
    once = dict.fromkeys(KIND, 1)
    assert Counter(pair["topic_1"] for pair in SIMILAR) == once
    assert Counter(pair["topic_1"] for pair in DIFFERENT) == once
    assert Counter(pair["topic_2"] for pair in DIFFERENT) == once
    assert len({frozenset((pair["topic_1"], pair["topic_2"])) for pair in DIFFERENT}) == 40


# --- texts --------------------------------------------------------------------------------------------------------


def test_no_text_twice():
    assert len({" ".join(words(text)) for text in TEXTS}) == 160


@pytest.mark.parametrize("text", TEXTS, ids=[f"{pair['pair_id']}-{side}" for pair in PAIRS for side in (1, 2)])
def test_a_text_is_one_paragraph_of_plain_prose(text):
    assert text == " ".join(text.split())  # no line breaks, no doubled blanks
    assert text[-1] in ".?!"
    assert not re.search(r"[*_`#<>|\[\]{}\\]|https?:|###", text)  # no markdown, no markup, no part of a prompt
    assert not re.search(r"[‘’“”–—…\xa0]", text)  # one spelling of quotes and dashes in all of them


@each(SIMILAR)
def test_similar_pair_differs_in_length_and_wording(pair):
    shorter, longer = lengths(pair)
    assert 25 <= shorter <= 40
    assert 90 <= longer <= 130
    assert longer >= 2 * shorter
    assert not phrases(pair["text_1"], 5) & phrases(pair["text_2"], 5)


def test_the_shorter_text_comes_first_in_half_of_the_similar_pairs():
    for kind in ("generic", "precise"):
        first = [len(p["text_1"]) < len(p["text_2"]) for p in SIMILAR if p["kind"] == kind]
        assert sum(first) == 10


@each(DIFFERENT)
def test_different_pair_has_one_length(pair):
    shorter, longer = lengths(pair)
    assert 50 <= shorter <= longer <= 80
    assert longer / shorter < 1.25


@pytest.mark.parametrize("kind", ["generic", "precise"])
def test_different_pairs_share_more_words_than_similar_ones(kind):
    """The point of the sample: who compares words alone gets it the wrong way round."""
    same, other = (mean(overlap(p) for p in pairs if p["kind"] == kind) for pairs in (SIMILAR, DIFFERENT))
    assert other > 2 * same
