"""The citations for REASONS: counted, and checked for what can be checked by rule.

That a title, an author or a year is right cannot be tested without a library. That no sentence gives its answer away
can, word by word, and so can the consistency of what is said of one work or one source paper in several rows.
"""

import csv
import re
import unicodedata
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from factlab.text import sentences

FOLDER = Path(__file__).resolve().parents[1] / "lib" / "factlab" / "samples" / "reasons"
COLUMNS = [
    *("item_id", "domain", "source_id", "source_title", "sentence", "before", "after"),
    *("cited_title", "cited_authors", "venue", "year", "arxiv_id", "summary", "tag", "cross_domain", "licence"),
]
DOMAINS = [
    *("Artificial Intelligence", "Biomolecules", "Cryptography", "Computer Vision", "Databases", "Graphics"),
    *("Human-Computer Interaction", "Information Retrieval", "Natural Language Processing"),
    *("Neurons and Cognition", "Quantum Computing", "Robotics"),
]  # fmt: skip
# What these works, or what they brought, are called in the field, where the title does not say it.
NICKNAMES = {
    *("a*", "apriori", "backpropagation", "blast", "dpa", "dpr", "dqn", "fhe", "idf", "lime"),
    *("lsm", "lstm", "lwe", "mcts", "mpnn", "ndcg", "pdb", "prm", "qaoa", "ransac", "resnet", "rpn", "shap", "sift"),
    *("tip3p", "transformer", "transformers", "uct", "vqe", "word2vec", "yolo"),
}  # fmt: skip

with (FOLDER / "citations.csv").open(encoding="utf-8", newline="") as file:
    ROWS = list(csv.DictReader(file, strict=True))
each_row = pytest.mark.parametrize("row", ROWS, ids=[row["item_id"] for row in ROWS])


def words(text: str) -> list[str]:
    """Lower-case words without punctuation or accents; a hyphen parts words, so `real-time` is two."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    return re.findall(r"[a-z0-9+]+\*?", re.sub(r"['’]", "", plain.casefold()))


def leaks(title: str, text: str, n: int) -> list[str]:
    """Runs of n words of a title that a text repeats; a shorter title counts as one run."""
    title_words, text_words = words(title), words(text)
    n = min(n, len(title_words))
    runs = {tuple(text_words[i : i + n]) for i in range(len(text_words) - n + 1)}
    starts = range(len(title_words) - n + 1)
    return [" ".join(title_words[i : i + n]) for i in starts if tuple(title_words[i : i + n]) in runs]


def authors(row: dict[str, str]) -> list[str]:
    return row["cited_authors"].split("; ")


def posted(arxiv_id: str) -> int:
    """The year in an arXiv identifier of the old or the new form."""
    digits = int(re.search(r"(\d\d)\d\d", arxiv_id)[1])
    return 1900 + digits if digits > 90 else 2000 + digits


# --- counts ---------------------------------------------------------------------------------------------------------


def test_eight_citations_for_each_of_twelve_domains():
    assert list(ROWS[0]) == COLUMNS
    assert [row["item_id"] for row in ROWS] == [f"reasons-{n:02d}" for n in range(1, 97)]
    assert [row["domain"] for row in ROWS] == [domain for domain in DOMAINS for _ in range(8)]


def test_every_source_paper_stands_in_one_domain_with_two_to_four_sentences():
    assert all(2 <= n <= 4 for n in Counter(row["source_id"] for row in ROWS).values())
    papers = {(row["source_id"], row["source_title"], row["domain"]) for row in ROWS}
    assert len({source_id for source_id, _, _ in papers}) == len(papers) == len({title for _, title, _ in papers})
    assert all(3 <= n <= 4 for n in Counter(domain for _, _, domain in papers).values())
    assert len(papers) == 36
    assert all(source_id[-2:] in ("-1", "-2", "-3") for source_id, _, _ in papers)


def test_sentences_of_one_source_paper_stand_together():
    changes = sum(a["source_id"] != b["source_id"] for a, b in pairwise(ROWS))
    assert changes == len({row["source_id"] for row in ROWS}) - 1


def test_tags_are_the_four_kinds_and_none_is_rare():
    counts = Counter(row["tag"] for row in ROWS)
    assert set(counts) == {"background", "method", "result", "contrast"}
    assert min(counts.values()) >= 12


# --- works ----------------------------------------------------------------------------------------------------------


def test_no_work_twice_in_a_domain_and_few_in_two():
    cited = Counter((row["cited_title"], row["domain"]) for row in ROWS)
    assert set(cited.values()) == {1}
    in_domains = Counter(title for title, _ in cited)
    assert max(in_domains.values()) == 2
    assert sum(n == 2 for n in in_domains.values()) <= 6
    assert len(in_domains) == 92


def test_one_work_has_one_record():
    facts = ("cited_title", "cited_authors", "venue", "year", "arxiv_id", "summary")
    records = {tuple(row[fact] for fact in facts) for row in ROWS}
    assert len(records) == len({row["cited_title"] for row in ROWS}) == len({row["summary"] for row in ROWS})
    identifiers = [record[4] for record in records if record[4]]
    assert len(identifiers) == len(set(identifiers))


def test_a_work_of_two_domains_is_at_home_in_one_of_them():
    for title, n in Counter(row["cited_title"] for row in ROWS).items():
        if n == 2:
            assert sorted(row["cross_domain"] for row in ROWS if row["cited_title"] == title) == ["no", "yes"], title


def test_every_domain_cites_another():
    assert {row["cross_domain"] for row in ROWS} == {"yes", "no"}
    assert {row["domain"] for row in ROWS if row["cross_domain"] == "yes"} == set(DOMAINS)


def test_an_author_is_written_in_one_way_but_for_a_middle_initial():
    spellings = {}
    for name in {name for row in ROWS for name in authors(row)}:
        parts = name.split()
        short = " ".join(part for part in parts if not part.endswith(".") or part == parts[0])
        spellings.setdefault((words(name)[-1], words(name)[0][0]), set()).add(short)
    assert [names for names in spellings.values() if len(names) > 1] == []


@each_row
def test_the_facts_have_their_form(row):
    names = authors(row)
    assert 1 <= len(names) <= 8 and len(set(names)) == len(names)
    for name in names:
        # One or more given names or initials, then the surname; no comma, no "et al.", no "and".
        assert re.fullmatch(r"[^\W\d_][\w'.-]*( [^\W\d_][\w'.-]*)+", name), name
        assert not re.search(r"\b(et|al|and|others)\b", name), name
        assert len(name.split()[-1].rstrip(".")) > 1 and name.split()[-1][0].isupper(), name
    assert 1950 <= int(row["year"]) <= 2023
    assert re.fullmatch(r"|\d{4}\.\d{4,5}|quant-ph/\d{7}", row["arxiv_id"])
    assert not row["arxiv_id"] or 0 <= int(row["year"]) - posted(row["arxiv_id"]) <= 2
    assert row["venue"] and row["licence"] == "Apache-2.0"


@each_row
def test_every_cell_is_tidy(row):
    for column, text in row.items():
        assert text == " ".join(text.split()) == unicodedata.normalize("NFC", text), column
        assert text or column == "arxiv_id", column


# --- the answer is not in the question ------------------------------------------------------------------------------


@each_row
def test_neither_sentence_nor_neighbours_give_the_title_away(row):
    context = [row["sentence"], row["before"], row["after"], row["source_title"]]
    assert [leaks(row["cited_title"], text, 4) for text in context] == [[], [], [], []]
    assert leaks(row["cited_title"], row["sentence"], 3) == []


@each_row
def test_the_summary_gives_neither_title_nor_authors_away(row):
    assert leaks(row["cited_title"], row["summary"], 4) == []
    assert not {name.split()[-1] for name in authors(row)} & set(re.findall(r"[\w'-]+", row["summary"]))


@each_row
def test_no_author_or_system_is_named(row):
    for text in (row["sentence"], row["before"], row["after"], row["source_title"]):
        assert not {name.split()[-1] for name in authors(row)} & set(re.findall(r"[\w'-]+", text)), text
        assert not NICKNAMES & set(words(text)), text
        head, colon, _ = row["cited_title"].partition(":")
        assert not (colon and leaks(head, text, len(words(head)))), text


def test_leaks_finds_runs_of_words_whatever_the_punctuation():
    title = "Faster R-CNN: Towards Real-Time Object Detection"
    assert leaks(title, "steps towards real time, object by object", 4) == ["towards real time object"]
    assert leaks(title, "objects towards real time", 4) == []
    assert leaks("How to Share a Secret", "They know how to share.", 3) == ["how to share"]
    assert leaks("Mask", "under a mask", 4) == ["mask"]
    assert leaks("WordNet: A Lexical Database", "a database of words", 4) == []


# --- texts ----------------------------------------------------------------------------------------------------------


@each_row
def test_lengths(row):
    assert 15 <= len(row["sentence"].split()) <= 40
    for column in ("before", "after"):
        assert 6 <= len(row[column].split()) <= 25, column
    assert 20 <= len(row["summary"].split()) <= 60


@each_row
def test_a_sentence_is_one_and_a_summary_is_two(row):
    for column in ("sentence", "before", "after"):
        assert re.fullmatch(r"[A-Z].*[^.]\.", row[column]), column
        assert sentences(row[column]) == [row[column]], column
    assert len(sentences(row["summary"])) == 2


@each_row
def test_no_citation_mark_and_no_year_is_left(row):
    for column in ("sentence", "before", "after", "summary"):
        assert not re.search(r"[\[\]\\]|\bet al\b|\(\d{4}", row[column]), column
    for column in ("sentence", "before", "after"):
        assert not re.search(r"\b(19|20)\d\d\b", row[column]), column


def test_no_text_twice():
    texts = [" ".join(words(row[column])) for row in ROWS for column in ("sentence", "before", "after")]
    assert len(texts) == len(set(texts)) == 3 * 96
