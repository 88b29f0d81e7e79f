"""The legal chunks and the science passages for CheckEmbed: counted, and checked for what can be checked by rule.

That a contract is plausible, or that a sentence is true, cannot be tested here. That a ground truth is complete and
faithful can: the chunks put every defined term in quotation marks, and every definition is a piece of its chunk.
"""

import csv
import re
from difflib import SequenceMatcher
from pathlib import Path

import pytest

SAMPLES = Path(__file__).resolve().parents[1] / "lib" / "factlab" / "samples" / "checkembed"


def rows(name: str) -> list[dict[str, str]]:
    with (SAMPLES / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, strict=True))


def words(text: str) -> list[str]:
    return text.split()


def flat(text: str) -> str:
    return " ".join(text.split()).casefold()


def definitions(truth: str) -> list[tuple[str, str]]:
    """The terms of a ground truth with their definitions; a line without `. ` raises ValueError."""
    pairs = []
    for line in truth.splitlines():
        term, definition = line.split(". ", 1)
        pairs.append((term, definition))
    return pairs


def changes(true: str, false: str) -> list[tuple[list[str], list[str]]]:
    """The runs of words in which two sentences differ, as (words of the first, words of the second)."""
    a, b = words(true), words(false)
    steps = SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
    return [(a[i:j], b[k:n]) for what, i, j, k, n in steps if what != "equal"]


CHUNKS = rows("legal_chunks.csv")
SENTENCES = rows("passages.csv")
PASSAGES = {row["passage_id"]: [] for row in SENTENCES}
for row in SENTENCES:
    PASSAGES[row["passage_id"]].append(row)
each_chunk = pytest.mark.parametrize("chunk", CHUNKS, ids=[chunk["item_id"] for chunk in CHUNKS])
each_passage = pytest.mark.parametrize("passage", PASSAGES.values(), ids=PASSAGES)


# --- legal chunks (paper, section 4.2 and Table 3) ------------------------------------------------------------------


def test_twelve_chunks_with_running_ids():
    assert list(CHUNKS[0]) == ["item_id", "title", "text", "truth", "n_terms"]
    assert [chunk["item_id"] for chunk in CHUNKS] == [f"legal-{n:02d}" for n in range(1, 13)]
    for column in ("title", "text"):
        assert len({flat(chunk[column]) for chunk in CHUNKS}) == 12


def test_two_chunks_define_nothing():
    assert [chunk["n_terms"] for chunk in CHUNKS].count("0") == 2


@each_chunk
def test_a_chunk_has_120_to_260_words(chunk):
    assert 120 <= len(words(chunk["text"])) <= 260


@each_chunk
def test_the_truth_lists_as_many_terms_as_it_says(chunk):
    pairs = definitions(chunk["truth"])
    assert len(pairs) == int(chunk["n_terms"])
    assert len(pairs) == 0 or 3 <= len(pairs) <= 7
    assert chunk["truth"] == chunk["truth"].strip()


@each_chunk
def test_the_truth_is_complete(chunk):
    """A term stands in quotation marks once, where it is defined, and nothing else does."""
    quoted = re.findall(r'"([^"]+)"', chunk["text"])
    assert sorted(quoted) == sorted(term for term, _ in definitions(chunk["truth"]))
    assert not re.search("[“”„«»]", chunk["text"])


@each_chunk
def test_the_truth_is_faithful(chunk):
    for term, definition in definitions(chunk["truth"]):
        assert f'"{term}"' in chunk["text"]
        assert flat(definition) in flat(chunk["text"]), definition
        assert flat(definition) != flat(term)


# --- passages (paper, section 4.3 and Tables 4 and 5) ---------------------------------------------------------------


def test_twelve_passages_with_running_ids():
    assert list(SENTENCES[0]) == ["passage_id", "topic", "sentence_no", "sentence", "false_sentence"]
    assert list(PASSAGES) == [f"passage-{n:02d}" for n in range(1, 13)]
    assert [row["passage_id"] for row in SENTENCES] == sorted(row["passage_id"] for row in SENTENCES)
    assert len({row["topic"] for row in SENTENCES}) == 12


@each_passage
def test_a_passage_has_14_to_16_sentences_on_one_topic(passage):
    assert 14 <= len(passage) <= 16
    assert [row["sentence_no"] for row in passage] == [str(n) for n in range(1, len(passage) + 1)]
    assert len({row["topic"] for row in passage}) == 1


@each_passage
def test_ten_sentences_of_a_passage_have_a_false_version(passage):
    assert sum(bool(row["false_sentence"]) for row in passage) == 10


@each_passage
def test_every_text_is_one_sentence_of_10_to_22_words(passage):
    for row in passage:
        for text in filter(None, (row["sentence"], row["false_sentence"])):
            assert 10 <= len(words(text)) <= 22, text
            assert re.fullmatch(r"[A-Z].*[^.]\.", text), text
            assert not re.search(r"[.!?]\s", text), text
            assert text == " ".join(words(text)), text


@each_passage
def test_a_false_sentence_changes_one_thing(passage):
    for row in passage:
        if row["false_sentence"]:
            found = changes(row["sentence"], row["false_sentence"])
            assert len(found) == 1, found
            assert all(1 <= len(side) <= 3 for side in found[0]), found


def test_changes_finds_each_run_of_words():
    assert changes("ice floats on water", "ice sinks in water") == [(["floats", "on"], ["sinks", "in"])]
    assert changes("a b c d e", "a x c d y") == [(["b"], ["x"]), (["e"], ["y"])]
    assert changes("it is so", "it is so") == []


def test_no_sentence_twice():
    texts = [flat(text) for row in SENTENCES for text in (row["sentence"], row["false_sentence"]) if text]
    assert len(texts) == len(set(texts))
