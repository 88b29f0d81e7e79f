"""Records of citing sentences: from tables, released files and LaTeX; what is left out, and why."""

import json
import shutil
import tarfile

import pandas as pd
import pytest

from factlab import places, sources
from factlab.sources.citations import LEFT_OUT

PROJECT = places.samples("reasons", "latex_project")
OPEN = """CC0|CC Zero|CC-Zero 1.0|CC0 1.0 Universal|http://creativecommons.org/publicdomain/zero/1.0/|public domain|Public Domain Mark 1.0
CC BY|CC-BY-4.0|cc by 4.0|cc_by_4_0|CC BY 3.0 US|CC BY 4.0 International|https://creativecommons.org/licenses/by/4.0/legalcode
Creative Commons Attribution 4.0 International|Creative Commons Attribution 4.0 International (CC BY 4.0)|Attribution 4.0 International
CC BY-SA 3.0|CC-BY-SA|http://creativecommons.org/licenses/by-sa/4.0/|Creative Commons Attribution-ShareAlike 4.0 International License
Apache-2.0|Apache License 2.0|Apache License, Version 2.0|https://www.apache.org/licenses/LICENSE-2.0|MIT|The MIT License|MIT Licence
BSD-3-Clause|BSD License|ISC|ODC-By 1.0|PDDL|Licensed under CC BY 4.0|the Creative Commons Attribution License|CC BY 4.0; MIT"""
NOT_OPEN = """|  |CC BY-NC|CC BY-NC-ND 4.0|CC-BY-ND|CC BY NC SA|cc by nc|CC BY 4.0 ND|http://creativecommons.org/licenses/by-nc-sa/4.0/
http://creativecommons.org/licenses/by-nc-nd/4.0/|http://arxiv.org/licenses/nonexclusive-distrib/1.0/
arXiv.org perpetual, non-exclusive license|Creative Commons Attribution-NonCommercial 4.0|all rights reserved|none|unknown|nan|?
open access|not CC BY|non-CC BY|not in the public domain|CC|Creative Commons|CC BY or CC BY-NC|MIT Press|submit|0|zero|by
http://example.org/licenses/by/4.0/|no licence|license"""


@pytest.mark.parametrize("licence", OPEN.replace("\n", "|").split("|"))
def test_open(licence):
    assert sources.is_open_licence(licence)


@pytest.mark.parametrize("licence", NOT_OPEN.replace("\n", "|").split("|"))
def test_not_open(licence):
    assert not sources.is_open_licence(licence)


# --- tables -----------------------------------------------------------------------------------------------------------


def written(folder, rows, name="mine.csv"):
    path = folder / name
    if name.endswith(".jsonl"):
        path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    elif name.endswith(".parquet"):
        pd.DataFrame(rows).to_parquet(path)
    else:
        pd.DataFrame(rows).to_csv(path, index=False)
    return path


def row(**cells):
    return {"sentence": "Trees find paths.", "cited_title": "On Trees", "licence": "CC0"} | cells


def test_the_sample():
    records, left_out = sources.read_citations()
    assert tuple(records.columns) == sources.RECORD and tuple(left_out.columns) == LEFT_OUT
    assert len(records) == 96 and not len(left_out) and set(records.dtypes.astype(str)) == {"str"}
    raw = pd.read_csv(places.samples("reasons", "citations.csv"), dtype=str, keep_default_na=False)
    pairs = {"cited_abstract": "summary", "cited_venue": "venue", "cited_year": "year", "cited_id": "arxiv_id"}
    same = (
        "item_id sentence before after cited_title cited_authors tag cross_domain licence source_id source_title domain"
    )
    for column, own in (pairs | {name: name for name in same.split()}).items():
        assert records[column].tolist() == raw[own].tolist(), column
    assert (records["problem"] == "").all() and (records["date"] == "").all()


@pytest.mark.parametrize(
    ("authors", "read"),
    [
        ("Ada Wool; Ben Fleece", "Ada Wool; Ben Fleece"),
        ("Ada Wool, Ben Fleece and Cleo Pond", "Ada Wool; Ben Fleece; Cleo Pond"),
        ("Ada Wool and Ben Fleece", "Ada Wool; Ben Fleece"),
        ("Wool, Ada; van Fleece, Ben", "Ada Wool; Ben van Fleece"),
        ("Wool, Ada and Fleece, Ben", "Ada Wool; Ben Fleece"),
        ("Wool, A., Fleece, B.", "A. Wool; B. Fleece"),
        ('["Ada Wool", "Ben Fleece"]', "Ada Wool; Ben Fleece"),
        ("['Ada Wool', \"Ben O'Fleece\"]", "Ada Wool; Ben O'Fleece"),
        ('[{"name": "Ada Wool"}]', "Ada Wool"),
        ("Authors: Ada Wool", "Ada Wool"),
        ("", ""),
    ],
)
def test_authors(tmp_path, authors, read):
    records, _ = sources.read_citations(written(tmp_path, [row(authors=authors)]))
    assert records["cited_authors"][0] == read and records["problem"][0] == ""


def test_a_cut_list_of_authors_is_told(tmp_path):
    rows = [row(authors="Ada Wool et al."), row(sentence="B c.", authors='["Ada Wool", "et al."]')]
    records, _ = sources.read_citations(written(tmp_path, rows))
    assert records["cited_authors"].tolist() == ["Ada Wool"] * 2
    assert records["problem"].str.contains("et al").all()


@pytest.mark.parametrize("name", ["mine.csv", "mine.jsonl", "mine.parquet"])
def test_other_headings_and_kinds_of_file(tmp_path, name):
    one = {
        "Citing Sentence": "Trees\nfind paths.",
        "Citation Title": "On Trees",
        "license": "MIT",
        "abstract": "A.",
        "Year": "2017",
    }
    one |= {"venue": "STOC", "arxiv_id": "https://arxiv.org/abs/1706.03762v5", "topic ": "x", "cross-domain": "True"}
    one |= {"paper_id": "2312.10302", "paper_title": "Forests", "category": "Botany"}
    records, left_out = sources.read_citations(written(tmp_path, [one], name))
    got = records.iloc[0]
    assert not len(left_out) and got["sentence"] == "Trees find paths."
    shown = "source_id source_title domain cited_title cited_abstract cited_year cited_venue cited_id cross_domain date licence"
    assert got[shown.split()].tolist() == (
        ["2312.10302", "Forests", "Botany", "On Trees", "A.", "2017", "STOC", "1706.03762", "yes", "2023-12", "MIT"]
    )


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("arXiv:cs/0612115v1", "cs/0612115"),
        ("10.48550/arXiv.1706.03762", "1706.03762"),
        ("https://doi.org/10.1000/x", "doi:10.1000/x"),
        ("W123", "W123"),
    ],
)
def test_identifiers(tmp_path, given, read):
    assert sources.read_citations(written(tmp_path, [row(cited_id=given)]))[0]["cited_id"][0] == read


def test_nothing_is_lost(tmp_path):
    rows = [
        row(item_id="kept"),
        row(item_id="again", sentence="TREES find  paths."),
        row(item_id="other domain", domain="Art"),
        row(item_id="no title", cited_title=""),
        row(item_id="no sentence", sentence=" … "),
        row(item_id="none", licence="", sentence="A."),
        row(item_id="nc", licence="CC BY-NC", sentence="B."),
        row(item_id="odd", sentence="C.", cross_domain="perhaps"),
    ]
    path = written(tmp_path, rows)
    records, left_out = sources.read_citations(path)
    assert records["item_id"].tolist() == ["kept", "other domain", "odd"]
    assert records["problem"].tolist()[1] == "sentence and work of kept" and "perhaps" in records["problem"][2]
    assert records["cross_domain"].tolist() == ["", "", ""]
    assert dict(zip(left_out["item_id"], left_out["reason"], strict=True)) == {
        "no title": "no title of the cited work",
        "no sentence": "no sentence",
        "again": "repeats kept",
        "none": "no licence given",
        "nc": "no open licence: CC BY-NC",
    }
    every, rest = sources.read_citations(path, "any")
    assert len(every) + len(rest) == len(rows) and {"none", "nc"} <= set(every["item_id"])
    told, _ = sources.read_citations(path, licence="CC0", domain="Botany")
    assert told.set_index("item_id").loc["none", ["licence", "domain"]].tolist() == ["CC0", "Botany"]
    assert "nc" not in set(told["item_id"]) and told.set_index("item_id")["domain"]["other domain"] == "Art"


def test_identifiers_are_made_from_the_text_and_stay_when_rows_move(tmp_path):
    rows = [row(), row(sentence="Another one.")]
    first, _ = sources.read_citations(written(tmp_path, rows))
    second, _ = sources.read_citations(written(tmp_path, rows[::-1]))
    assert first["item_id"].is_unique and first["item_id"].tolist() == second["item_id"].tolist()[::-1]


def test_records_written_are_read_again(tmp_path):
    records, _ = sources.read_citations(written(tmp_path, [row(), row(domain="Art")]))
    records.to_parquet(tmp_path / "citations.parquet")
    assert sources.read_citations(tmp_path / "citations.parquet")[0].equals(records)
    records.to_csv(tmp_path / "citations.csv", index=False)
    assert sources.read_citations(tmp_path / "citations.csv")[0].equals(records)


def test_several_replies_to_one_record_are_one_record(tmp_path):
    rows = [
        row(item_id="a", mode="direct", reply="x"),
        row(item_id="a", mode="indirect", reply="y"),
        row(item_id="b", sentence="B."),
    ]
    records, left_out = sources.read_citations(written(tmp_path, rows))
    assert records["item_id"].tolist() == ["a", "b"] and len(left_out) == 0


def test_errors_for_people(tmp_path):
    with pytest.raises(sources.SourceError, match="no column 'cited_title'.*title"):
        sources.read_citations(written(tmp_path, [{"sentence": "A.", "title": "Whose?"}]))
    with pytest.raises(sources.SourceError, match="'a' stands in two rows that differ"):
        sources.read_citations(written(tmp_path, [row(item_id="a"), row(item_id="a", sentence="B.")]))
    with pytest.raises(ValueError, match="licences: expected 'open' or 'any'"):
        sources.read_citations(licences="all")
    with pytest.raises(sources.SourceError, match="no such file"):
        sources.read_citations(tmp_path / "nothing.csv")


# --- LaTeX ------------------------------------------------------------------------------------------------------------


def test_the_sample_project():
    records, left_out = sources.read_citations(PROJECT, "any", domain="NLP")
    assert len(records) == 13 and not len(left_out) and set(records["domain"]) == {"NLP"}
    assert (
        records["item_id"].is_unique and (records["cited_authors"] != "").all() and (records["cited_year"] != "").all()
    )
    by = records.set_index("cited_title")
    lewis = by.loc["Retrieval-augmented generation for knowledge-intensive NLP tasks"]
    assert lewis["sentence"] == (
        "[?] condition a generator on what is retrieved; their model, like others (e.g., those of […] or […] and many more), "
        "has no notion of a source."
    )
    assert lewis["cited_id"] == "2005.11401" and lewis["problem"] == "2 more cited elsewhere in the sentence"
    bleu = by.loc["BLEU: a Method for Automatic Evaluation of Machine Translation", "sentence"]
    assert bleu == "We score titles with bleu [?], of which [?] say that it agrees with what people judge."
    three = records["problem"].str.startswith("one of 3 works cited at this place")
    assert three.sum() == 3 and records.loc[three, "sentence"].unique().tolist() == [
        "[…] rank pages by the links to them [?]."
    ]
    # A name stays where the author wrote it himself, outside of any citation.
    assert "van der Maaten" in by.loc["Visualizing data using t-SNE", "sentence"]
    closed, rest = sources.read_citations(PROJECT)
    assert not len(closed) and set(rest["reason"]) == {"no licence given"} and len(rest) == 13
    assert len(sources.read_citations(PROJECT, licence="Apache-2.0")[0]) == 13
    assert sources.citation_notes(PROJECT)["problem"].str.contains("draft_old.tex").any()


PAPER = r"""\documentclass{article}\title{%s}\begin{document}\section{%s}
Sheep were counted before \cite{wool}. Ducks were not \cite{wool,gone}. Nor were \cite{blank}.
\begin{thebibliography}{9}\bibitem{wool} A. Wool. On the counting of sheep. \emph{Journal of Naps}, 2019.
\bibitem{blank} 2020.\end{thebibliography}\end{document}"""


@pytest.fixture
def uploads(tmp_path):
    folder = tmp_path / "uploads"
    folder.mkdir()
    (folder / "2101.00001v2.tex").write_text(PAPER % ("On Herds", "Related Work"))
    (folder / "2101.00002.tex").write_text(PAPER % ("On Flocks", "Method"))
    (folder / "2101.00003.gz").write_bytes(b"%PDF-1.4 no source")
    with tarfile.open(folder / "2101.00004.tar.gz", "w:gz") as archive:
        archive.add(PROJECT, ".")
    (folder / "papers.csv").write_text(
        "source_id,domain,licence,date\n2101.00001,Farming,CC BY 4.0,2021-01-02\n2101.00003,Birds,,\n"
    )
    return folder


def test_a_folder_of_uploads(uploads):
    records, left_out = sources.read_citations(uploads, "any")
    assert records.groupby("source_id").size().to_dict() == {"2101.00001": 2, "2101.00004": 13}
    herds = records[records["source_id"] == "2101.00001"]
    assert set(herds["domain"]) == {"Farming"} and set(herds["date"]) == {"2021-01-02"}
    assert set(records.loc[records["source_id"] == "2101.00004", "date"]) == {"2021-01"}
    reasons = left_out.set_index("source_id")["reason"]
    assert reasons["2101.00002"] == "no related work found" and "PDF" in reasons["2101.00003.gz"]
    assert left_out.loc[left_out["level"] == "paper", "domain"].tolist() == ["Birds", ""]
    lost = left_out.loc[left_out["level"] == "citation", "reason"].tolist()
    assert lost == ["no entry in the bibliography: gone", "no title of the cited work"]
    closed, _ = sources.read_citations(uploads)
    assert set(closed["source_id"]) == {"2101.00001"}
    assert (
        len(sources.latex_papers(uploads)) == 3
        and sources.latex_papers(places.samples("reasons", "citations.csv")) == []
    )


def test_one_upload_packed_or_not(tmp_path, uploads):
    shutil.copytree(PROJECT, tmp_path / "open")
    whole = sources.read_citations(tmp_path / "open", "any")[0]
    packed = sources.read_citations(uploads / "2101.00004.tar.gz", "any")[0]
    assert whole["sentence"].tolist() == packed["sentence"].tolist() and set(packed["source_id"]) == {"2101.00004"}
    single = sources.read_citations(uploads / "2101.00001v2.tex", "any")[0]
    assert single["cited_title"].tolist() == ["On the counting of sheep"] * 2


# --- released ---------------------------------------------------------------------------------------------------------


@pytest.mark.released
def test_released_rows(released):
    records, left_out = sources.read_citations(released / "reasons", "any")
    assert len(records) == 597 and set(left_out["level"]) == {"paper"} and records["item_id"].is_unique
    assert left_out.groupby("domain").size().to_dict() == {
        "Biomolecules": 102,
        "Databases": 608,
        "Human-Computer Interaction": 649,
    }
    assert records["problem"].str.contains("sentence and work of").sum() == 42
    assert records["date"].str.fullmatch(r"\d{4}-\d\d").all() and (records["cross_domain"] == "").all()
    assert (records["cited_authors"] != "").all() and not records["cited_authors"].str.contains(r"\[|Authors:").any()
    closed, rest = sources.read_citations(released / "reasons")
    assert not len(closed) and (rest["reason"] == "no licence given").sum() == 597
    one, _ = sources.read_citations(released / "reasons" / "HCI.json", "any")
    assert len(one) == 229


@pytest.mark.released
def test_released_source(released):
    for path in (released / "arxiv", released / "arxiv" / "1911.02782.tar.gz"):
        records, left_out = sources.read_citations(path, "any", domain="NLP")
        assert len(records) == 6 and not len(left_out)
        assert set(records["date"]) == {"2019-11"} and (records["cited_title"] != "").all()
        assert records["sentence"].str.contains("[?]", regex=False).all()
