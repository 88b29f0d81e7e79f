"""The data set of REASONS' notebooks: drawn, split, counted, checked; and its figure."""

import pandas as pd
import pytest

from factlab import figures, sources
from factlab.sources.citations import LEFT_OUT
from factlab.studies.reasons import dataset


def made(*rows):
    """Records from (domain, source paper, sentence, title)."""
    cells = [
        dict.fromkeys(sources.RECORD, "")
        | {
            "item_id": f"i{i}",
            "domain": domain,
            "source_id": source,
            "sentence": sentence,
            "cited_title": title,
            "licence": "CC0",
        }
        for i, (domain, source, sentence, title) in enumerate(rows)
    ]
    return pd.DataFrame(cells, columns=list(sources.RECORD), dtype="str")


NOTHING = pd.DataFrame(columns=list(LEFT_OUT), dtype="str")
PAPERS = made(
    *[
        (domain, f"{domain}{paper}", f"{domain} {paper} {i}", f"T{i}")
        for domain in "AB"
        for paper in range(5)
        for i in range(4)
    ]
)


def test_whole_papers_are_drawn_as_far_as_they_fit():
    records, left_out = dataset.draw(PAPERS, NOTHING, 10, seed=1)
    assert records.groupby("domain").size().to_dict() == {"A": 10, "B": 10}
    assert sorted(records.groupby("source_id").size()) == [2, 2, 4, 4, 4, 4]
    assert len(records) + len(left_out) == len(PAPERS) and set(left_out["reason"]) == {"not drawn (10 a domain)"}
    assert records["item_id"].tolist() == sorted(records["item_id"], key=lambda i: int(i[1:]))
    assert dataset.draw(PAPERS, NOTHING, 10, seed=1)[0].equals(records)
    assert any(not dataset.draw(PAPERS, NOTHING, 10, seed=s)[0].equals(records) for s in range(2, 6))
    assert dataset.draw(PAPERS, NOTHING, 0)[0] is PAPERS and len(dataset.draw(PAPERS, NOTHING, 99)[0]) == len(PAPERS)
    with pytest.raises(ValueError, match="per_domain"):
        dataset.draw(PAPERS, NOTHING, -1)


def test_no_paper_is_on_both_sides():
    papers = dataset.split(PAPERS, 0.4, seed=3)
    assert papers["source_id"].is_unique and papers.groupby("domain")["split"].value_counts().to_dict() == {
        ("A", "train"): 3,
        ("A", "test"): 2,
        ("B", "train"): 3,
        ("B", "test"): 2,
    }
    assert dataset.shared_works(PAPERS, papers) == 4
    assert set(dataset.split(PAPERS, 0)["split"]) == {"train"}
    assert dataset.split(PAPERS, 0.01).groupby("domain")["split"].apply(lambda s: (s == "test").sum()).tolist() == [
        1,
        1,
    ]
    assert dataset.split(PAPERS.head(4), 0.9)["split"].tolist() == ["train"]
    both = made(("A", "x", "1", "T"), ("B", "x", "2", "T"))  # one paper in two domains
    assert len(dataset.split(both)) == 1
    with pytest.raises(ValueError, match="test_share"):
        dataset.split(PAPERS, 1)


def test_what_a_domain_holds():
    records = made(
        ("A", "x", "One [?] and […].", "T"),
        ("A", "x", "One […] and [?].", "U"),
        ("A", "y", "Two.", "t"),
        ("B", "z", "Three.", "V"),
    )
    lost = NOTHING.copy()
    lost.loc[0] = ["q", "gone", "A", "", "paper", "cannot be read: it is a PDF", "", ""]
    lost.loc[1] = ["r", "x", "A", "", "citation", "no licence given", "S.", "T"]
    lost.loc[2] = ["s", "w", "C", "", "citation", "no licence given", "S.", "T"]
    table = dataset.domains(records, lost).set_index("domain")
    assert table.loc["A"].to_dict() == {
        "papers": 3,
        "papers_left": 2,
        "sentences": 2,
        "citations": 3,
        "works": 2,
        "left_out": 2,
    }
    assert table.loc["C"].to_dict() == {
        "papers": 1,
        "papers_left": 0,
        "sentences": 0,
        "citations": 0,
        "works": 0,
        "left_out": 1,
    }
    assert dataset.reasons(lost)["rows"].tolist() == [2, 1]
    assert "2 citations left out; 1 paper without any" in dataset.summary(records, lost)


def test_sentences_that_give_the_answer_away():
    records = made(
        ("A", "x", "As in On the Counting of Sheep, we count.", "On the counting of sheep"),
        ("A", "x", "We count.", "Other"),
    )
    records.loc[1, ["cited_authors", "sentence"]] = ["Ada Wool", "Wool counts."]
    assert dataset.title_holders(records)["item_id"].tolist() == ["i0"]
    assert dataset.name_holders(records)["item_id"].tolist() == ["i1"]
    kept, lost = dataset.without_title_holders(records, NOTHING)
    assert kept["item_id"].tolist() == ["i1"] and lost["item_id"].tolist() == ["i0"]
    assert dataset.without_title_holders(records, NOTHING, "keep")[0] is records
    with pytest.raises(ValueError, match="holding_title"):
        dataset.without_title_holders(records, NOTHING, "drop")
    notes = " ".join(dataset.warnings(records, NOTHING))
    assert "1 of 2 sentences hold the very title" in notes and "1 of 2 sentences hold a word that is the first" in notes


def test_no_record_is_an_error_that_says_why(tmp_path):
    lost = pd.DataFrame([dict.fromkeys(LEFT_OUT, "") | {"reason": "no licence given", "level": "citation"}] * 3)
    with pytest.raises(sources.SourceError, match=r"3 no licence given.*licences: any"):
        dataset.some(PAPERS.head(0), lost)
    assert dataset.some(PAPERS, lost) is PAPERS
    assert not len(dataset.example(PAPERS.head(0)))


def test_the_sample():
    records, left_out = dataset.read(None)
    assert dataset.are_sample(records) and not dataset.are_sample(PAPERS)
    assert (
        dataset.summary(records, left_out) == "96 records (96 sentences, 92 works) from 36 source papers in 12 domains"
    )
    assert not len(dataset.title_holders(records)) and not len(dataset.name_holders(records))
    assert dataset.warnings(records, left_out)[0].startswith("Sample data")
    shown = dataset.example(records).set_index("field")["value"]
    assert shown["cited_abstract"] != "(not known)" and shown["date"] == "(not known)"
    [paper] = dataset.papers_shown(None)
    assert dataset.sections([paper])["related_work"].tolist().count("yes") == 4
    assert dataset.bibliographies([paper])["related_work"].tolist() == ["yes"] * 13
    assert dataset.coped([paper]).iloc[0][["sections", "entries", "with_title_and_author"]].tolist() == [9, 13, 13]


def test_metadata_fill_empty_cells_of_what_was_verified(monkeypatch):
    records = made(("A", "2101.00001", "One.", "T"), ("A", "x", "Two.", "U"))
    records.loc[0, "cited_year"] = "1999"
    found = pd.DataFrame(
        [
            dict.fromkeys(sources.metadata.COLUMNS, "")
            | {"asked": t, "verdict": v, "abstract": "A.", "year": "2000", "service": "arxiv"}
            for t, v in (("T", "exact"), ("U", "title only"))
        ]
    )
    after, count = dataset.filled(records, found)
    assert (
        after["cited_abstract"].tolist() == ["A.", ""] and after["cited_year"].tolist() == ["1999", ""] and count == 1
    )
    assert dataset.verdicts(found)["citations"].tolist() == [1, 1, 0, 0, 0]
    assert any("1 of 2 citations were verified" in note for note in dataset.warnings(records, NOTHING, found))
    monkeypatch.setattr(sources, "look_up", lambda entries, **settings: found)
    assert dataset.verify(records)["item_id"].tolist() == ["i0", "i1"]


def test_licences_of_source_papers_are_looked_up(monkeypatch, tmp_path):
    rows = [
        {"sentence": f"S{i}.", "cited_title": "T", "source_id": number, "licence": own}
        for i, (number, own) in enumerate([("2101.00001", ""), ("2101.00002", ""), ("2101.00003", "MIT")])
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "mine.csv", index=False)
    asked = []

    def answer(numbers, *_, **__):
        asked.extend(numbers)
        told = ["http://creativecommons.org/licenses/by/4.0/", "http://arxiv.org/licenses/nonexclusive-distrib/1.0/"]
        return pd.DataFrame({"arxiv_id": list(numbers), "licence": told, "error": ""})

    monkeypatch.setattr(sources, "look_up_licences", answer)
    records, left_out = dataset.read(tmp_path / "mine.csv", look_up=True)
    assert asked == ["2101.00001", "2101.00002"] and records["source_id"].tolist() == ["2101.00001", "2101.00003"]
    assert left_out["reason"].tolist() == ["no open licence: http://arxiv.org/licenses/nonexclusive-distrib/1.0/"]


# --- the figure -------------------------------------------------------------------------------------------------------

COUNTS = pd.DataFrame(
    {"domain": ["A", "Bees", ""], "papers": [5, 9, 1], "papers_left": [5, 2, 1], "sentences": [40, 7, 1]}
)


def test_figure():
    figure, table = figures.papers_by_domain(COUNTS)
    assert table["domain"].tolist() == ["A", "Bees", ""]
    first, second = figure.axes
    widths = [patch.get_width() for patch in first.patches]
    assert widths == [5, 9, 1, 5, 2, 1] and [patch.get_width() for patch in second.patches] == [40, 7, 1]
    assert [label.get_text() for label in first.texts] == ["5", "2 of 9", "1"]
    assert first.get_title(loc="left") == "source papers left (pale: left out)"
    assert second.get_title(loc="left") == "sentences: 48"
    assert "Bees: 2 of 9 papers, 7 sentences; (not told): 1 paper, 1 sentence." in figures.describe(figure)


def test_figure_of_nothing_and_of_many():
    assert "No domains" in figures.describe(figures.papers_by_domain(COUNTS.head(0))[0])
    many = pd.DataFrame({"domain": [f"d{i}" for i in range(60)], "papers": 3, "papers_left": 3, "sentences": range(60)})
    figure, table = figures.papers_by_domain(many)
    assert (
        len(table) == 60
        and len(figure.axes[1].patches) == figures.MOST
        and "15 smaller ones" in figures.describe(figure)
    )


@pytest.mark.parametrize(("column", "value"), [("papers", -1), ("sentences", 1.5), ("papers_left", 6)])
def test_figure_refuses_what_cannot_be(column, value):
    wrong = COUNTS.astype({column: float})
    wrong.loc[0, column] = value
    with pytest.raises(ValueError, match="papers_by_domain"):
        figures.papers_by_domain(wrong)


# --- released ---------------------------------------------------------------------------------------------------------


@pytest.mark.released
def test_released_counts(released):
    records, left_out = dataset.read(released / "reasons", licences="any")
    table = dataset.domains(records, left_out).set_index("domain")
    assert table["papers"].to_dict() == {
        "Human-Computer Interaction": 761,
        "Databases": 723,
        "Adversarial": 67,
        "Biomolecules": 119,
    }
    assert table["papers_left"].tolist() == [112, 115, 67, 17] and table["sentences"].tolist() == [229, 182, 159, 27]
    assert len(dataset.title_holders(records)) == 6
    notes = " ".join(dataset.warnings(records, left_out))
    assert (
        "597 of 597 records have no licence" in notes and "begin in mid-sentence" in notes and "Nothing tells" in notes
    )
