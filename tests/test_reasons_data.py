"""REASONS as released, and a real paper from arXiv: counts as stated with the data, and nothing of the PDF left in a sentence."""

import gzip
import json
import re
from collections import Counter

import pytest

from factlab import sources
from factlab.sources.reasons import repair
from factlab.text import fold

# --- repairs ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "right"),
    [
        ("two\nlines", "two lines"),
        ("tempo-\nral", "temporal"),
        ("state-\nof-the-art", "state-of-the-art"),
        ("encoder-\ndecoder", "encoder-decoder"),
        ("pre-\ntrained", "pretrained"),
        ("MS-\nCOCO", "MS-COCO"),
        ("clas-\nsiﬁcation", "classification"),
        ("di\x0berent arti\x0ccial \x0celd e\x0ecient in\ruence", "different artificial field efficient influence"),
        ("Na\x7f \x10ve", "Naïve"),
        ("P\x15 atra\x18 scu", "Pătraşcu"),
        ("M ¨uller, G´omez, Cal `ı", "Müller, Gómez, Calì"),
        ("V . Vanhoucke, Y . Jia", "V. Vanhoucke, Y. Jia"),
        ("pages 253{268", "pages 253–268"),
        ("end.\n\x0fURLNet", "end. • URLNet"),
        ("word , word .", "word, word."),
        ("𝐱 and ½", "x and 1⁄2"),
    ],
)
def test_repairs(raw, right):
    vocabulary = Counter({"state": 2, "of": 2, "encoder": 2, "decoder": 2})
    assert repair(raw, vocabulary) == (right, 0)


def test_the_words_of_the_file_decide_about_hyphens():
    assert repair("pre-\ntrained", Counter({"pre-trained": 2}))[0] == "pre-trained"
    assert repair("pre-\ntrained", Counter({"pre-trained": 2, "pretrained": 3}))[0] == "pretrained"


def test_characters_that_cannot_be_read_are_counted():
    assert repair("the \uf067 subunit \uffffoor") == ("the subunit oor", 2)


# --- the form of the file ---------------------------------------------------------------------------------------------

CITED = {
    "Citation Paper ID": "arXiv:1706.03762v5",
    "Citation Paper Title": "Title:Attention\n  Is All You Need",
    "Citation Paper Abstract": "Abstract: The dominant …",
    "Citation Paper Authors": "Authors:Ashish Vaswani, Łukasz Kaiser (Google Brain), Ting-Hao (Kenneth)Huang",
}
SENTENCE = {
    "Sentence ID": 7,
    "Sentence": ". Old things end. Transform-\ners ",
    "Citation Text": "A. Vaswani et al. Attention is all you need.\narXiv:1706.03762, 2017.\n12",
    "Citation": CITED,
}


def write(path, sentences):
    paper = {"Paper Title": "A\n  Title", "Sentences": sentences}
    path.write_text(json.dumps({"Databases": {"http://arxiv.org/abs/1801.00001v2": paper}}), encoding="utf-8")
    return path


def test_one_row(tmp_path):
    [row] = sources.read_reasons(write(tmp_path / "a.json", [SENTENCE])).to_dict("records")
    assert row["row_id"] == "Databases/1801.00001/7"
    assert (row["source_id"], row["source_version"], row["source_title"]) == ("1801.00001", "v2", "A Title")
    assert (row["sentence"], row["citing"]) == ("Old things end. Transformers", "Transformers")
    assert (row["cited_id"], row["cited_title"]) == ("1706.03762", "Attention Is All You Need")
    assert row["cited_abstract"] == "The dominant …"
    assert row["cited_authors"] == ["Ashish Vaswani", "Łukasz Kaiser", "Ting-Hao (Kenneth) Huang"]
    assert row["cited_text"] == "A. Vaswani et al. Attention is all you need. arXiv:1706.03762, 2017."
    assert row["cited_year"] == "2017"
    assert row["raw"] == SENTENCE["Sentence"]
    assert "fewer than 3 words" in row["problem"]


def test_ids_stay_apart_and_gzip_is_read(tmp_path):
    plain = write(tmp_path / "a.json", [SENTENCE, SENTENCE])
    (tmp_path / "b.json.gz").write_bytes(gzip.compress(plain.read_bytes()))
    plain.unlink()
    assert list(sources.read_reasons(tmp_path).row_id) == ["Databases/1801.00001/7", "Databases/1801.00001/7-2"]


def test_a_file_without_a_sentence_has_no_rows_and_says_so(tmp_path):
    path = write(tmp_path / "a.json", [])
    assert sources.read_reasons(path).empty
    assert "1 of 1 papers without a sentence" in list(sources.reasons_problems(path).problem)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"a": ', "line 1"),
        ("[1, 2]", "its form must be"),
        ('{"Databases": {"u": {"Paper Title": "x"}}}', "Databases > u has no list"),
        ('{"Databases": {"u": {"Sentences": [{"Sentence": 3}]}}}', "sentence 1: no text"),
        ("%PDF-1.4", "a PDF file"),
    ],
)
def test_other_forms_say_what_is_wrong(tmp_path, text, says):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(sources.SourceError, match=says):
        sources.read_reasons(tmp_path / "a.json")


def test_a_folder_without_json(tmp_path):
    with pytest.raises(sources.SourceError, match="no .json file"):
        sources.read_reasons(tmp_path)


# --- as released ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def frame(released):
    return sources.read_reasons(released / "reasons")


@pytest.mark.released
@pytest.mark.parametrize(
    ("file", "domain", "sentences", "papers"),
    [
        ("Adversarial.json", "Adversarial", 159, 67),
        ("Biomolecules.json", "Biomolecules", 27, 17),
        ("Databases.json", "Databases", 182, 115),
        ("HCI.json", "Human-Computer Interaction", 229, 112),
    ],
)
def test_counts(released, file, domain, sentences, papers):
    frame = sources.read_reasons(released / "reasons" / file)
    assert len(frame) == sentences
    assert frame.source_id.nunique() == papers  # of those with a sentence
    assert set(frame.domain) == {domain}


@pytest.mark.released
def test_nothing_of_the_pdf_is_left(frame):
    assert len(frame) == 597 and frame.row_id.is_unique
    for column in ("sentence", "citing", "cited_title", "cited_abstract", "cited_text", "source_title"):
        assert not frame[column].str.contains(r"[\n\r\t\x00-\x1f\x7f\uffff\ue000-\uf8ffﬀ-ﬆ]|  |^\s|\s$").any(), column
    assert not frame.sentence.str.match(r"[.,;:)\]}]").any()
    broken = r"[a-z]- [a-z]"  # what a break that nobody joined would leave
    assert frame.raw.str.contains(r"[a-z]-\n[a-z]").sum() > 100
    assert frame.sentence.str.contains(broken).sum() <= 5
    assert (frame.sentence.str.len() > 0).all()


@pytest.mark.released
def test_what_is_cited_is_told(frame):
    assert not frame.cited_title.str.contains(r"^Title:").any() and (frame.cited_title != "").all()
    assert not frame.cited_abstract.str.contains(r"^Abstract:").any() and (frame.cited_abstract != "").all()
    assert frame.cited_authors.map(len).min() >= 1
    assert frame.cited_id.str.fullmatch(r"\d{4}\.\d{4,5}|[a-z-]+/\d{7}").all()
    assert (frame.cited_year != "").mean() > 0.95
    # The reference as printed names the paper that it was matched with, as far as PDFs let it be read.
    found = [
        fold(t)[:25].replace(" ", "") in fold(r).replace(" ", "")
        for t, r in zip(frame.cited_title, frame.cited_text, strict=True)
    ]
    assert sum(found) / len(found) > 0.85


@pytest.mark.released
def test_problems_are_told(released, frame):
    problems = sources.reasons_problems(released / "reasons")
    notes = problems[problems.level == "note"]
    assert sorted(notes.problem) == [
        "102 of 119 papers without a sentence",
        "608 of 723 papers without a sentence",
        "649 of 761 papers without a sentence",
    ]
    assert (problems.level == "problem").sum() == (frame.problem != "").sum()


# --- a real source ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def paper(released):
    return sources.read_arxiv(released / "arxiv" / "1911.02782.tar.gz")


@pytest.mark.released
def test_real_paper(paper):
    assert paper.title == "S2ORC: The Semantic Scholar Open Research Corpus"
    assert (paper.arxiv, paper.root) == ("1911.02782", "main.tex")
    assert len(paper.sections) == 28
    assert paper.abstract.startswith("We introduce S2ORC, a large corpus of 81.1M")


@pytest.mark.released
def test_real_related_work(paper):
    [section] = paper.related_work
    assert section.title == "Related work"
    assert len(section.sentences) == 12
    assert [sentence.keys[0] for sentence in section.sentences if sentence.keys] == [
        "Radev:2009:AAN:1699750.1699759",
        "bird-etal-2008-acl",
        "Giles1998CiteSeerAA",
        "Huang2015ANP",
        "Saier2019BibliometricEnhancedAA",
        "Saier2020",
    ]


@pytest.mark.released
def test_every_citation_of_the_real_source_is_found(released, paper):
    """Against a count of our own, from the text of the file."""
    import tarfile

    with tarfile.open(released / "arxiv" / "1911.02782.tar.gz") as archive:
        source = archive.extractfile("main.tex").read().decode()
    source = re.sub(r"(?<!\\)%.*", "", source)
    calls = re.findall(r"\\cite[a-z]*\*?(?:\[[^\]]*\])*\{([^}]*)\}", source)
    keys = {key.strip() for call in calls for key in call.split(",")}
    assert set(paper.cited) == keys
    read = [c for s in paper.sections for x in s.sentences for c in x.citations]
    beside = [c for b in paper.beside for x in b.sentences for c in x.citations]
    assert len(read) + len(beside) == len(calls)


@pytest.mark.released
def test_real_bibliography(paper):
    assert len(paper.bibliography) == 55
    whole = [entry for entry in paper.bibliography if entry.title and entry.first_author]
    assert len(whole) >= 0.95 * 55
    assert all(entry.year for entry in paper.bibliography)
    devlin = paper.entry("Devlin2019BERTPO")
    assert devlin.title == "BERT: Pre-training of deep bidirectional transformers for language understanding"
    assert devlin.authors == ("Jacob Devlin", "Ming-Wei Chang", "Kenton Lee", "Kristina Toutanova")
    assert (devlin.year, devlin.doi) == ("2019", "10.18653/v1/N19-1423")
    assert paper.entry("Liu2019RoBERTaAR").arxiv == "1907.11692"
    assert sum(bool(entry.venue) for entry in paper.bibliography) >= 52


@pytest.mark.released
def test_titles_of_the_real_bibliography_against_its_links(released, paper):
    """In this bibliography most titles are the text of a link: the parts told by blocks must be just these."""
    import tarfile

    with tarfile.open(released / "arxiv" / "1911.02782.tar.gz") as archive:
        bbl = archive.extractfile("main.bbl").read().decode()
    linked = re.findall(
        r"\\bibitem\[.*?\]\{([^}]*)\}(?:(?!\\bibitem).)*?\\href\s*\{[^}]*\}\s*\{(.*?)\}\.\n", bbl, re.DOTALL
    )
    assert len(linked) > 40
    for key, title in linked:
        plain = fold(re.sub(r"[{}]|\\[a-z]+ ?", "", title)).strip(".? ")
        assert fold(paper.entry(key).title).strip(".? ") == plain.replace("---", "-").replace("{'}", "'"), key
