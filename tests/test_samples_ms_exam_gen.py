"""The notes and the bank for MS-Exam-Gen: counted, traced to their evidence, and checked for cues.

That a statement about MRI is correct cannot be tested here. That an item quotes what really stands in a note, that the
sound items keep the length rules of the paper (section III.C) and that the marked faults are there can.
"""

import csv
import difflib
import re
import unicodedata
from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "lib" / "factlab" / "samples" / "ms_exam_gen"
COLUMNS = [
    *("item_id", "topic", "subtopic", "question_type", "label", "question"),
    *("option_a", "option_b", "option_c", "option_d", "key", "explanation"),
    *("evidence", "source", "start", "faulty", "made_by"),
]
FAULTS = {
    "longest key",
    "absolute term",
    "grammatical cue",
    "stem words in key",
    "contradiction",
    "two right options",
    "trivia",
    "near duplicate",
}
# Stem, shortest and longest option, advantage of the key, its ratio: words, MS-Exam-Gen section III.C.
RULES = {"hard": (18, 8, 60, 4, 1.15), "very hard": (35, 14, 70, 2, 1.08)}
ABSOLUTE = re.compile(r"\b(?:always|never|only|all|none|every|must)\b", re.IGNORECASE)
# The words of the second right option, for the items that have one.
ALSO_RIGHT = {"ms-40": "Confluent lesions", "ms-81": "alcohol"}


def rows(name: str) -> list[dict[str, str]]:
    with (FOLDER / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, strict=True))


def read(path: Path) -> str:
    return path.read_bytes().decode("utf-8")  # offsets count the characters that are in the file


NOTES = {path.name: read(path) for path in sorted((FOLDER / "sources").glob("*.md"))}
MANIFEST = rows("manifest.csv")
ITEMS = rows("bank.csv")
SOUND = [item for item in ITEMS if not item["faulty"]]
FAULTY = [item for item in ITEMS if item["faulty"]]
each_note = pytest.mark.parametrize("name", NOTES)
each_item = pytest.mark.parametrize("item", ITEMS, ids=[item["item_id"] for item in ITEMS])
each_sound = pytest.mark.parametrize("item", SOUND, ids=[item["item_id"] for item in SOUND])


def options(item: dict[str, str]) -> list[str]:
    return [item[f"option_{letter}"] for letter in "abcd"]


def key(item: dict[str, str]) -> str:
    return item[f"option_{item['key'].lower()}"]


def distractors(item: dict[str, str]) -> list[str]:
    return [item[f"option_{letter}"] for letter in "abcd" if letter != item["key"].lower()]


def length(text: str) -> int:
    return len(text.split())


def content(text: str) -> set[str]:
    return {word for word in re.findall(r"[a-z0-9-]+", text.lower()) if len(word) > 3}


def references(name: str) -> list[str]:
    return re.findall(r"^\* (.+)$", NOTES[name].split("## References\n")[1], re.MULTILINE)


def similarity(one: str, other: str) -> float:
    plain = [" ".join(re.findall(r"\w+", text.lower())) for text in (one, other)]
    return difflib.SequenceMatcher(None, *plain, autojunk=False).ratio()


def of_kind(fault: str) -> list[dict[str, str]]:
    return [item for item in FAULTY if item["faulty"].startswith(fault)]


# --- notes --------------------------------------------------------------------------------------------------------


def test_twelve_notes_in_the_manifest():
    assert len(NOTES) == 12
    assert sorted(row["file"] for row in MANIFEST) == sorted(NOTES)
    assert list(MANIFEST[0]) == ["file", "title", "topic", "included", "why", "references"]
    assert {row["included"] for row in MANIFEST} <= {"yes", "no"}
    for row in MANIFEST:
        assert NOTES[row["file"]].startswith(f"# {row['title']}\n")
        assert all(row.values()), f"{row['file']}: an empty cell"


@each_note
def test_note_is_of_one_size_and_says_what_it_is(name):
    text = NOTES[name]
    body = text.split("## References\n")[0]
    assert length(body) >= 700 and length(text) <= 1100
    assert "written by a language model" in body and "Not for clinical use" in body


@each_note
def test_references_are_facts_with_a_year_and_listed_in_the_manifest(name):
    found = references(name)
    assert len(found) >= 4
    listed = next(row["references"] for row in MANIFEST if row["file"] == name)
    for reference in found:
        year = re.search(r" (19|20)\d\d\.$", reference)
        assert year, f"{name}: no year at the end of {reference!r}"
        assert re.match(r"(?:De )?[\w-]+ [A-ZÀ]{1,3}[,.]", reference), f"{name}: no author in front of {reference!r}"
        family = re.match(r"((?:De )?[\w-]+) [A-ZÀ]", reference)[1]
        assert f"{family} {year[0].strip(' .')}" in listed
    assert len(set(found)) == len(found)


def test_one_work_is_written_in_one_way():
    every = {reference for name in NOTES for reference in references(name)}
    assert len(every) == 52
    assert len({reference.split(". ", 1)[1].lower() for reference in every}) == 52


def test_text_is_clean_unicode():
    for path in [
        *(FOLDER / "sources").glob("*.md"),
        FOLDER / "bank.csv",
        FOLDER / "manifest.csv",
        FOLDER / "README.md",
    ]:
        text = read(path)
        assert text == unicodedata.normalize("NFC", text)
        strange = {c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Co", "Cn", "Zl", "Zp") and c != "\n"}
        assert not strange, f"{path.name}: {strange}"
        assert "\u00a0" not in text and "\ufffd" not in text and text.endswith("\n")


# --- the bank ------------------------------------------------------------------------------------------------------


def test_shape_of_the_bank():
    assert list(ITEMS[0]) == COLUMNS
    assert [item["item_id"] for item in ITEMS] == [f"ms-{n:02d}" for n in range(1, 97)]
    assert Counter(item["label"] for item in ITEMS) == {"easy": 30, "medium": 30, "hard": 24, "very hard": 12}
    topics = Counter(item["topic"] for item in ITEMS)
    assert len(topics) == 16 and set(topics.values()) == {6}
    assert Counter(item["question_type"] for item in ITEMS).keys() == {"knowledge", "scenario"}
    assert {item["made_by"] for item in ITEMS} == {"language model"}


def test_keys_are_balanced_in_both_parts():
    assert Counter(item["key"] for item in SOUND) == dict.fromkeys("ABCD", 20)
    assert Counter(item["key"] for item in FAULTY) == dict.fromkeys("ABCD", 4)


@each_item
def test_item_is_complete(item):
    assert all(value.strip() == value for value in item.values())
    assert all(value for name, value in item.items() if name != "faulty")
    assert len({option.casefold() for option in options(item)}) == 4
    assert not any(re.search(r"\b(?:all|none|both) of (?:the above|these)\b", option, re.I) for option in options(item))
    assert not re.search(r"\b[Oo]ption [A-D]\b|\([A-D]\)", item["explanation"])


@each_item
def test_evidence_stands_in_the_notes_where_it_says(item):
    sources = item["source"].split("; ")
    quotes = item["evidence"].split(" || ")
    first = NOTES[sources[0]]
    start = int(item["start"])
    assert first[start : start + len(quotes[0])] == quotes[0]
    held = [next(name for name in sources if quote in NOTES[name]) for quote in quotes]
    assert list(dict.fromkeys(held)) == sources, "a source without a quote, or in another order"
    assert all(length(quote) >= 5 for quote in quotes)
    assert (len(sources) > 1) == (item["label"] == "very hard")


@each_sound
def test_sound_item_keeps_the_length_rules(item):
    right, wrong = length(key(item)), [length(option) for option in distractors(item)]
    stem, shortest, longest, advantage, ratio = RULES.get(item["label"], (5, 1, 60, 2, 2.0))
    assert length(item["question"]) >= stem
    assert all(shortest <= n <= longest for n in [right, *wrong])
    for against in (max(wrong), sum(wrong) / 3):
        assert right - against <= advantage
        assert right / against <= ratio
    if item["label"] == "very hard":
        assert right <= max(wrong), "the key is the one longest option"


@each_sound
def test_sound_item_has_no_cue_of_wording(item):
    absolute = [bool(ABSOLUTE.search(option)) for option in options(item)]
    assert all(absolute) or not any(absolute)
    assert item["question"].endswith("?")
    stem = content(item["question"])
    shared = [len(content(option) & stem) for option in distractors(item)]
    assert len(content(key(item)) & stem) <= max(shared) + 1


@pytest.mark.parametrize("size", [length, len], ids=["words", "characters"])
def test_length_does_not_point_at_the_key_over_the_sound_items(size):
    picked = 0.0
    for item in SOUND:
        top = max(map(size, options(item)))
        longest = [option for option in options(item) if size(option) == top]
        picked += (key(item) in longest) / len(longest)
    # 80 items by chance: 20 ± 3.9.
    assert 12 <= picked <= 28


# --- faults --------------------------------------------------------------------------------------------------------


def test_every_topic_has_one_fault_and_every_kind_two():
    assert Counter(item["topic"] for item in FAULTY) == dict.fromkeys({item["topic"] for item in ITEMS}, 1)
    assert Counter(item["faulty"].split(" of ")[0] for item in FAULTY) == dict.fromkeys(FAULTS, 2)


@pytest.mark.parametrize("item", of_kind("longest key"), ids=lambda item: item["item_id"])
def test_longest_key_is_there(item):
    wrong = [length(option) for option in distractors(item)]
    assert length(key(item)) > 2 * sum(wrong) / 3 and length(key(item)) > max(wrong) + 4


@pytest.mark.parametrize("item", of_kind("absolute term"), ids=lambda item: item["item_id"])
def test_absolute_terms_are_there(item):
    assert all(ABSOLUTE.search(option) for option in distractors(item)) and not ABSOLUTE.search(key(item))


@pytest.mark.parametrize("item", of_kind("grammatical cue"), ids=lambda item: item["item_id"])
def test_grammatical_cue_is_there(item):
    assert item["question"].endswith(" an")
    assert [option for option in options(item) if option[0] in "aeiou"] == [key(item)]


@pytest.mark.parametrize("item", of_kind("stem words in key"), ids=lambda item: item["item_id"])
def test_stem_words_in_key_are_there(item):
    stem = content(item["question"])
    assert len(content(key(item)) & stem) >= max(len(content(option) & stem) for option in distractors(item)) + 2


@pytest.mark.parametrize("item", of_kind("contradiction"), ids=lambda item: item["item_id"])
def test_contradiction_is_there(item):
    said = item["explanation"].lower()
    assert key(item).lower() not in said
    assert [option for option in distractors(item) if f"the answer is {option.lower()}" in said]


@pytest.mark.parametrize("item", of_kind("two right options"), ids=lambda item: item["item_id"])
def test_second_right_option_is_a_distractor_that_the_evidence_supports(item):
    words = ALSO_RIGHT[item["item_id"]].lower()
    assert any(words in option.lower() for option in distractors(item))
    assert words.split()[0] in item["evidence"].lower()


@pytest.mark.parametrize("item", of_kind("trivia"), ids=lambda item: item["item_id"])
def test_trivia_asks_about_a_publication(item):
    assert re.match(r"In which (?:year|journal)\b", item["question"])


def test_near_duplicates_are_the_marked_ones_and_no_others():
    alike = {
        (one["item_id"], other["item_id"])
        for one, other in combinations(ITEMS, 2)
        if similarity(one["question"], other["question"]) >= 0.90
    }
    marked = {(item["faulty"].rsplit(" ", 1)[1], item["item_id"]) for item in of_kind("near duplicate")}
    assert alike == marked
    assert alike == {("ms-19", "ms-20"), ("ms-69", "ms-70")}
