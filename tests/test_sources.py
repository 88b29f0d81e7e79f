"""Articles, tables and released data: what is read, word for word, and what a user is told when it cannot be."""

import collections
import gzip
import re
import unicodedata
import xml.etree.ElementTree as ElementTree

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factlab import sources
from factlab.sources import SourceError

FRONT = (
    "<front><article-meta><title-group><article-title>On cells</article-title></title-group>%s</article-meta></front>"
)
MML = 'xmlns:mml="http://www.w3.org/1998/Math/MathML"'


@pytest.fixture
def jats(tmp_path):
    """Reads an article whose body is given; `front`, `back` and `rest` go where their names say."""

    def read(body="", front="", back="", rest="", doctype=""):
        file = tmp_path / "article.xml"
        inner = FRONT % front + f"<body>{body}</body><back>{back}</back>{rest}"
        text = f'{doctype}<article xmlns:xlink="http://www.w3.org/1999/xlink" {MML}>{inner}</article>'
        file.write_text(text, encoding="utf-8")
        return sources.read_jats(file)

    return read


@pytest.fixture
def save(tmp_path):
    def write(data, name="table.csv"):
        file = tmp_path / name
        file.write_bytes(data if isinstance(data, bytes) else data.encode("utf-8"))
        return file

    return write


# --- prose ------------------------------------------------------------------------------------------------------------

PROSE = {
    # scripts
    "H<sub>2</sub>O": "H2O",
    "1.73 m<sup>2</sup>of body": "1.73 m² of body",
    "R<sup>2 </sup>= 0.36": "R² = 0.36",
    "10<sup>−3</sup> M, 10<sup>-3</sup> M": "10⁻³ M, 10⁻³ M",
    "Ca<sup>2+</sup>, Cl<sup>–</sup>": "Ca²⁺, Cl⁻",
    "<sup>18</sup>F-FDG and H<sub>2</sub><sup>15</sup>O": "¹⁸F-FDG and H2¹⁵O",
    "<sup>99m</sup>Tc": "⁹⁹ᵐTc",
    "the 1<sup>st</sup> and 2<sup>nd</sup>dose": "the 1st and 2nd dose",
    "Kit<sup>®</sup> <sup>*</sup>": "Kit® *",
    "p53<sup>R175H</sup> and p53<sup>wt</sup>cells": "p53^R175H and p53^wt cells",
    "O<sup>a, b</sup>; a<sup>x</sup>B": "O^{a, b}; a^{x}B",
    "C<sub>max</sub>, <italic>t</italic><sub><italic>L</italic> </sub>- 1": "Cmax, tL - 1",
    "CO<sub>2</sub>was; x1<sub>2</sub>; log<sub>10</sub>5": "CO2 was; x1_2; log10 5",
    "grow<sup>1</sup><sup>2</sup>": "grow¹ ²",
    "grow<sup><xref>1</xref>,<xref>2</xref></sup>": "grow^1,2",
    "x<sub>i</sub><sup>2</sup>, e<sup>x<sub>1</sub></sup>": "xi², e^x1",
    "a<sup/>b": "ab",
    # marks of citations and figures stay
    'seen [<xref ref-type="bibr">1</xref>-<xref>9</xref>], Fig. <xref>2A</xref>': "seen [1-9], Fig. 2A",
    "Sm<italic>ad</italic>4 <bold>is</bold> a<italic> gene</italic>.": "Smad4 is a gene.",
    "line one<break/>line two": "line one line two",
    "a\u00a0b\u2009c\n   d so\u00adlid": "a b c d solid",
    "3 &lt; 4 &amp; <![CDATA[5 < 6]]>": "3 < 4 & 5 < 6",
    # formulas
    "is <inline-formula><tex-math>\\documentclass{minimal}\\begin{document}$$a^2$$\\end{document}</tex-math>"
    "</inline-formula>.": "is a^2.",
    "is <disp-formula><label>(1)</label><mml:math><mml:mfrac><mml:mi>a</mml:mi><mml:mrow><mml:mi>b</mml:mi><mml:mo>+"
    "</mml:mo><mml:mn>1</mml:mn></mml:mrow></mml:mfrac></mml:math></disp-formula>, so": "is a/(b + 1) (1), so",
    "<inline-formula><alternatives><tex-math>\\alpha</tex-math><mml:math><mml:msub><mml:mi>K</mml:mi><mml:mi>d"
    "</mml:mi></mml:msub></mml:math><inline-graphic/></alternatives></inline-formula>": "K_d",
    "is<disp-formula><graphic/></disp-formula>where": "is […] where",
    "so <disp-formula><italic>E</italic> = mc<sup>2</sup></disp-formula> holds": "so E = mc² holds",
    # blocks inside a paragraph
    "Two:<list><list-item><p>one</p></list-item><list-item><label>b)</label><p>two</p></list-item></list>and on": (
        "Two:\n\none\n\nb) two\n\nand on"
    ),
    "<def-list><def-item><term>NA</term><def><p>nucleus accumbens</p></def></def-item></def-list>": (
        "NA: nucleus accumbens"
    ),
    "He said<disp-quote><p>No.</p><attrib>Mendel</attrib></disp-quote>and left": "He said\n\nNo.\n\nMendel\n\nand left",
    # floats leave the sentence whole
    "before <fig><caption><p>F.</p></caption></fig>after": "before after",
    "before<table-wrap><table><tr><td>1</td></tr></table></table-wrap>after": "before after",
    "so<fn><p>A note.</p></fn>, then": "so, then",
    "<index-term><term>hidden</term></index-term>seen": "seen",
    "<unknown>any <p>thing</p></unknown>else": "any\n\nthing\n\nelse",
}


@pytest.mark.parametrize(("markup", "text"), PROSE.items(), ids=range(len(PROSE)))
def test_prose(jats, markup, text):
    assert jats(f"<p>{markup}</p>").text == text


def test_pictured_formulas_are_counted(jats):
    article = jats("<p>a <disp-formula><graphic/></disp-formula> b</p>")
    assert article.notes == ("1 formula only as a picture, shown as […]",)


words = st.lists(st.text("abcxyz012", min_size=1, max_size=4), min_size=1, max_size=8)


@settings(deadline=None)
@given(words, st.lists(st.sampled_from(["", "italic", "bold", "named-content", "xref"]), min_size=8, max_size=8))
def test_inline_markup_neither_loses_nor_glues_words(tmp_path_factory, words, tags):
    marked = " ".join(f"<{t}>{w}</{t}>" if t else w for w, t in zip(words, tags, strict=False))
    file = tmp_path_factory.mktemp("x") / "a.xml"
    file.write_text(f"<article><body><p>{marked}</p></body></article>")
    assert sources.read_jats(file).text.split() == words


# --- sections, floats, front matter -----------------------------------------------------------------------------------


def test_sections_have_paths_and_their_own_text_only(jats):
    article = jats(
        "<p>Lead.</p><sec><title>Methods</title><sec><label>2.1</label><title>Step <italic>1</italic></title><p>Did.</p>"
        "<fig id='f'><label>Fig 1</label><caption><title>T.</title><p>C.</p></caption></fig></sec></sec>"
        "<sec sec-type='results'><p>Saw.</p><sec><title>A</title><p>a</p></sec><p>After.</p></sec>",
        front="<abstract><sec><title>Aim</title><p>To see.</p></sec></abstract>"
        "<trans-abstract><title>Ziel</title><p>Sehen.</p></trans-abstract>",
        back="<ack><p>Thanks.</p></ack><app-group><app><title>App A</title><p>More.</p></app></app-group>",
    )
    assert [(s.path, s.title, s.label, s.text, s.part) for s in article.sections] == [
        (("Abstract",), "", "", "", "abstract"),
        (("Abstract", "Aim"), "Aim", "", "To see.", "abstract"),
        ((), "", "", "Lead.", "body"),
        (("Methods",), "Methods", "", "", "body"),
        (("Methods", "Step 1"), "Step 1", "2.1", "Did.", "body"),
        (("Results",), "", "", "Saw.", "body"),
        (("Results", "A"), "A", "", "a", "body"),
        (("Results",), "", "", "After.", "body"),
    ]
    assert article.abstract == "To see."
    assert article.text == "To see.\n\nLead.\n\nDid.\n\nSaw.\n\na\n\nAfter."
    assert [(s.path, s.text) for s in article.back] == [
        (("Ziel",), "Sehen."),
        (("Acknowledgements",), "Thanks."),
        (("App A",), "More."),
    ]
    assert [(f.kind, f.id, f.label, f.caption) for f in article.floats] == [("figure", "f", "Fig 1", "T.\n\nC.")]


def test_floats_of_every_kind(jats):
    article = jats(
        "<p>x<table-wrap id='t'><label>Table 1</label><caption><p>Cap</p></caption><alternatives><graphic/><table><thead>"
        "<tr><th>g<break/>kg</th><th/></tr></thead><tbody><tr><td>H<sub>2</sub></td><td><p>1</p><p>2</p></td></tr></tbody>"
        "</table></alternatives><table-wrap-foot><fn><label>a</label><p>Note</p></fn></table-wrap-foot></table-wrap></p>"
        "<boxed-text><caption><title>Box</title></caption><sec><title>Key</title><p>Point<fig><label>F</label></fig></p>"
        "</sec></boxed-text><supplementary-material id='s'><media><caption><p>File</p></caption></media>"
        "</supplementary-material><p>y<fn id='n'><p>Foot</p></fn></p>",
        rest="<floats-group><fig><label>Fig 9</label><caption><p>Late</p></caption><graphic/></fig></floats-group>",
    )
    assert article.text == "x\n\ny"
    assert [(f.kind, f.label, f.caption, f.text) for f in article.floats] == [
        ("table", "Table 1", "Cap", "g kg\t\nH2\t1 2\n\na Note"),
        ("box", "", "Box", "Key\n\nPoint"),
        ("figure", "F", "", ""),
        ("supplement", "", "", ""),
        ("media", "", "File", ""),
        ("footnote", "", "", "Foot"),
        ("figure", "Fig 9", "Late", ""),
    ]


def test_front_matter(jats):
    article = jats(
        "<p>x</p>",
        front="<article-id pub-id-type='pmc'>123</article-id><article-id pub-id-type='pmid'>45</article-id>"
        "<article-id pub-id-type='doi'>10.1/x</article-id><contrib-group><contrib contrib-type='author'><name><surname>"
        "de Oliveira</surname><given-names>S D</given-names></name></contrib><contrib contrib-type='author'><collab>The "
        "Group</collab></contrib><contrib contrib-type='editor'><name><surname>Ed</surname></name></contrib>"
        "</contrib-group><pub-date pub-type='pmc-release'><year>2001</year></pub-date><pub-date pub-type='epub'><year>2009"
        "</year></pub-date><pub-date pub-type='ppub'><year>2010</year></pub-date><permissions><license xlink:href="
        "'http://creativecommons.org/licenses/by/4.0/'><license-p>Free.</license-p></license></permissions><kwd-group>"
        "<title>Keywords</title><kwd><italic>E. coli</italic> K<sub>12</sub></kwd></kwd-group>",
    )
    assert (article.pmcid, article.pmid, article.doi, article.year) == ("PMC123", "45", "10.1/x", 2009)
    assert article.authors == ("de Oliveira, S D", "The Group")
    assert (article.title, article.keywords) == ("On cells", ("E. coli K12",))
    assert article.licence == "http://creativecommons.org/licenses/by/4.0/"


def test_an_abstract_alone_is_read_and_said(jats):
    article = jats("", front="<abstract><p>All there is.</p></abstract>")
    assert article.text == article.abstract == "All there is."
    assert article.notes == ("the file has no text in its <body>: only the abstract is there",)


def test_other_voices_are_left_out_and_said(jats):
    article = jats("<p>x</p>", rest="<sub-article><body><p>Review</p></body></sub-article>")
    assert (article.text, article.notes) == ("x", ("1 <sub-article> left out",))


# --- references -------------------------------------------------------------------------------------------------------

NAME = "<name><surname>%s</surname><given-names>%s</given-names></name>"
CELLS = "<article-title>On cells</article-title><source>Nature</source><year>1999a</year>"


@pytest.mark.parametrize("tag", ["element-citation", "mixed-citation", "citation", "nlm-citation"])
def test_reference_of_every_kind(jats, tag):
    authors = (
        f"<person-group person-group-type='author'>{NAME % ('Wu', 'X-G')}<collab>TCGA</collab><etal/></person-group>"
    )
    editors = f"<person-group person-group-type='editor'>{NAME % ('Ed', 'I')}</person-group>"
    ids = "<pub-id pub-id-type='pmid'>77</pub-id><pub-id pub-id-type='doi'>doi:10.1038/a(1)b.</pub-id>"
    [reference] = jats(
        back=f"<ref-list><ref id='R1'><label>1.</label><{tag}>{authors}{editors}{CELLS}{ids}</{tag}></ref></ref-list>"
    ).references
    assert (reference.id, reference.label) == ("R1", "1.")
    assert (reference.authors, reference.et_al) == (("Wu, X-G", "TCGA"), True)
    assert (reference.title, reference.source, reference.year) == ("On cells", "Nature", "1999")
    assert (reference.pmid, reference.doi) == ("77", "10.1038/a(1)b")
    assert reference.raw.startswith("Wu X-G TCGA Ed I On cells Nature 1999a 77")


def test_citation_alternatives_are_one_reference(jats):
    alternatives = (
        f"<citation-alternatives><mixed-citation>{'<string-name>Wu X</string-name>'}. On <italic>cells</italic>. Nature; 1999."
        f"</mixed-citation><element-citation>{NAME % ('Wu', 'X')}{CELLS}</element-citation></citation-alternatives>"
    )
    references = jats(back=f"<ref-list>{f'<ref>{alternatives}</ref>' * 84}</ref-list>").references
    assert len(references) == 84
    assert references[0].authors == ("Wu, X",)
    assert references[0].raw == "Wu X. On cells. Nature; 1999."
    assert references[0].more == ()


def test_several_works_under_one_number(jats):
    two = f"<citation>{CELLS}</citation><citation><source>Cell</source><pub-id pub-id-type='pmid'>9</pub-id></citation>"
    [reference] = jats(back=f"<ref-list><ref id='R'>{two}</ref></ref-list>").references
    assert (reference.source, reference.pmid) == ("Nature", "")
    assert [(r.source, r.pmid) for r in reference.more] == [("Cell", "9")]


def test_an_unstructured_twin_fills_gaps(jats):
    twin = "<citation citation-type='display-unstructured'>Wu. <pub-id pub-id-type='pmid'>9</pub-id></citation>"
    [reference] = jats(back=f"<ref-list><ref><citation>{CELLS}</citation>{twin}</ref></ref-list>").references
    assert (reference.title, reference.pmid, reference.raw, reference.more) == ("On cells", "9", "Wu. 9", ())


def test_a_note_in_place_of_a_citation_counts(jats):
    references = jats(back="<ref-list><ref><note><p>Unpublished.</p></note></ref><ref/></ref-list>").references
    assert [r.raw for r in references] == ["Unpublished.", ""]


# --- files of articles ------------------------------------------------------------------------------------------------

BODY = "<front/><body><p>caf\u00e9 text</p></body>"


@pytest.mark.parametrize(
    "data",
    [
        f"<article>{BODY}</article>".encode(),
        f"<article>{BODY}</article>".encode("utf-8-sig"),
        f'<?xml version="1.0" encoding="UTF-16"?><article>{BODY}</article>'.encode("utf-16"),
        f'<?xml version="1.0" encoding="ISO-8859-1"?><article>{BODY}</article>'.encode("latin-1"),
        gzip.compress(f"<article>{BODY}</article>".encode()),
        f"<pmc-articleset><article>{BODY}</article></pmc-articleset>".encode(),
        f"<OAI-PMH xmlns='http://www.openarchives.org/OAI/2.0/'><record><metadata><article "
        f"xmlns='https://jats.nlm.nih.gov/ns/archiving/1.3/'>{BODY}</article></metadata></record></OAI-PMH>".encode(),
        b'<!DOCTYPE article PUBLIC "-//NLM//DTD Journal Archiving and Interchange DTD v2.3//EN" "archivearticle.dtd">'
        b"<article><front/><body><p>caf&eacute;&nbsp;text</p></body></article>",
        b"<article><front/><body><p>caf&eacute; text</p></body></article>",
        '<!DOCTYPE article [<!ENTITY drink "caf\u00e9">]><article><body><p>&drink; text</p></body></article>'.encode(),
    ],
    ids=["plain", "bom", "utf16", "latin1", "gz", "articleset", "oai", "old-dtd", "no-dtd", "internal"],
)
def test_every_wrapping_gives_the_same_text(save, data):
    assert sources.read_jats(save(data, "a.nxml")).text == "café text"


@pytest.mark.parametrize(
    ("declaration", "entity"),
    [
        ('<!ENTITY x SYSTEM "secret.txt">', "&x;"),
        ('<!ENTITY a "lol"><!ENTITY x "&a;&a;&a;&a;">', "&x;"),
        ("", "&nosuchname;"),
    ],
    ids=["file", "bomb", "unknown"],
)
def test_entities_are_never_fetched_or_expanded(save, declaration, entity):
    save("the secret", "secret.txt")
    doctype = f'<!DOCTYPE article PUBLIC "x" "x.dtd" [{declaration}]>'
    article = sources.read_jats(save(f"{doctype}<article><body><p>a {entity} b</p></body></article>", "a.xml"))
    assert article.text == f"a {entity} b"
    assert entity in article.notes[0]


ARTICLE_ERRORS = {
    "<article>\n<body><p>x</body></article>": r"a\.xml: not well-formed XML at line 2, column \d+",
    "just text": "not well-formed XML at line 1",
    "<TEI><text/></TEI>": "no JATS article; the root element is <TEI>",
    "<html><article><p/></article></html>": "neither <front> nor <body>",
    "<pmc-articleset><Reply Id='1' error='not open'/></pmc-articleset>": "It says: not open",
    "<x><article><body/></article><article><body/></article></x>": "holds 2 articles.*read_articles",
    "": r"the file is empty \(0 bytes\)",
    "%PDF-1.4": "a PDF file, not XML",
}


@pytest.mark.parametrize(("data", "message"), ARTICLE_ERRORS.items(), ids=range(len(ARTICLE_ERRORS)))
def test_what_is_no_article(save, data, message):
    with pytest.raises(SourceError, match=message):
        sources.read_jats(save(data, "a.xml"))


def test_a_folder_of_articles(tmp_path, save):
    (tmp_path / "deep").mkdir()
    good = (
        "<article><front><article-meta><article-id pub-id-type='pmc'>1</article-id></article-meta></front>%s</article>"
    )
    save(good % "<body><p>one</p></body>", "deep/b.nxml")
    save("<set>" + good % "<body><p>two</p></body>" + good % "<body/>" + "</set>", "a.xml")
    save("<article><p>", "c.xml")
    save("not looked at", "d.txt")
    articles, problems = sources.read_articles(tmp_path)
    assert [a.text for a in articles] == ["two", "", "one"]
    assert problems[["file", "level"]].to_numpy().tolist() == [
        ["a.xml", "note"],
        ["a.xml", "note"],
        ["c.xml", "error"],
        ["deep/b.nxml", "note"],
    ]
    assert "PMC1 is also in a.xml" in problems["problem"].iloc[-1]
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceError, match="no article in this folder"):
        sources.read_articles(tmp_path / "empty")


# --- tables -----------------------------------------------------------------------------------------------------------

TWO = [["q1", "a1"], ["q2", "a2"]]
READABLE = {
    "plain": "question,response\nq1,a1\nq2,a2\n",
    "no last line end": "question,response\nq1,a1\nq2,a2",
    "bom": "\ufeffquestion,response\nq1,a1\nq2,a2\n",
    "windows line ends": "question,response\r\nq1,a1\r\nq2,a2\r\n",
    "old mac line ends": "question,response\rq1,a1\rq2,a2\r",
    "semicolons": "question;response\nq1;a1\nq2;a2\n",
    "tabs": "question\tresponse\nq1\ta1\nq2\ta2\n",
    "bars": "question|response\nq1|a1\nq2|a2\n",
    "sep line": "sep=;\r\nquestion;response\r\nq1;a1\r\nq2;a2\r\n",
    "sep line with bom": "\ufeffsep=\t\nquestion\tresponse\nq1\ta1\nq2\ta2\n",
    "utf-16": "question\tresponse\r\nq1\ta1\r\nq2\ta2\r\n".encode("utf-16"),
    "gzip": gzip.compress(b"question,response\nq1,a1\nq2,a2\n"),
    "headings in another dress": " Question , RESPONSE\nq1,a1\nq2,a2\n",
    "prompt, completion": "Prompt,completion\nq1,a1\nq2,a2\n",
    "input, output": "output,input\na1,q1\na2,q2\n",
    "question wins over input": "input,question,Answer\nx,q1,a1\ny,q2,a2\n",
}


@pytest.mark.parametrize("data", READABLE.values(), ids=READABLE.keys())
def test_every_dress_of_one_table(save, data):
    frame, problems = sources.read_table(save(data), ["question", "response"])
    assert frame[["question", "response"]].to_numpy().tolist() == TWO
    assert list(frame.index) == [2, 3]
    assert set(frame["problem"]) == {""}
    assert problems.empty


@pytest.mark.parametrize("name", ["t.jsonl", "t.json", "t.parquet"])
def test_other_formats(save, tmp_path, name):
    file = tmp_path / name
    frame = pd.DataFrame(TWO, columns=["prompt", "answer"])
    if name.endswith("parquet"):
        frame.to_parquet(file)
    else:
        frame.to_json(file, orient="records", lines=name.endswith("l"))
    read, problems = sources.read_table(file, ["question", "response"])
    assert read[["question", "response"]].to_numpy().tolist() == TWO
    assert list(read.index) == [1, 2]
    assert problems.empty


AS_WRITTEN = [
    "NA",
    "None",
    "null",
    "nan",
    "N/A",
    "007",
    "1E5",
    "1,5",
    "SEPT2",
    "0.10",
    "TRUE",
    "=1+1",
    "-5",
    " x ",
    "#1",
]


def test_cells_stay_as_written(save):
    rows = "".join(f'q;"{cell}"\n' for cell in AS_WRITTEN)
    frame, problems = sources.read_table(save("question;response\n" + rows), ["question", "response"])
    assert frame["response"].tolist() == AS_WRITTEN
    assert problems.empty
    assert {str(t) for t in frame.dtypes} == {"str"}


def test_json_numbers_and_nulls_stay_as_written(save):
    lines = '{"question": 1.50, "response": true}\n\n{"question": "q", "response": null}\nbroken\n{"question": "q2"}\n'
    frame, problems = sources.read_table(save(lines, "t.jsonl"), ["question", "response"])
    assert frame[["question", "response"]].to_numpy().tolist() == [["1.50", "true"], ["q", ""], ["", ""], ["q2", ""]]
    assert list(frame.index) == [1, 3, 4, 5]
    assert [row for row in problems["row"]] == [3, 4, 4, 4, 5]
    assert problems["problem"].iloc[1].startswith("not JSON")


PROBLEMS = {
    "empty cell": ("q1,\nq2,a2\n", {2: "response is empty"}),
    "white space": ("q1,a1\n  ,a2\n", {3: "question holds only white space"}),
    "too few fields": ("q1\nq2,a2\n", {2: "1 fields where the heading has 2; response is empty"}),
    "too many fields": ("q1,a, b\n", {2: "3 fields where the heading has 2; beyond it: ' b' (a comma not in quotes?)"}),
    "duplicate row": ("q1,a1\nq2,a2\nq1,a1\n", {4: "the same as row 2"}),
    "row after a cell of three lines": ('q1,"a\nb\nc"\nq2,\n', {3: "response is empty"}),
    "blank line": ("q1,a1\n\nq2,\n", {4: "response is empty"}),
    "text after a quote": ('"q"1,a1\nq2,a2\n"q"3,a3\n', {2: "text after a closing", 4: "text after a closing"}),
}


@pytest.mark.parametrize(("rows", "expected"), PROBLEMS.values(), ids=PROBLEMS.keys())
def test_odd_rows_are_kept_and_listed(save, rows, expected):
    frame, problems = sources.read_table(save("question,response\n" + rows), ["question", "response"])
    marked = frame.loc[frame["problem"] != "", "problem"].to_dict()
    assert {row: text[: len(expected.get(row, ""))] for row, text in marked.items()} == expected
    assert set(expected) <= set(problems["row"])
    assert len(frame) == len([r for r in rows.replace("\nb\nc", "").split("\n") if r])


def test_what_spreadsheets_add_is_left_out_and_listed(save):
    frame, problems = sources.read_table(save("question;response;\nq1;a1;\n\nq2;a2;\n;;\n;;\n"), ["question"])
    assert list(frame.columns) == ["question", "response", "problem"]
    assert list(frame.index) == [2, 4]
    assert problems[["row", "problem"]].to_numpy().tolist() == [
        [1, "1 empty column(s) without a heading left out"],
        [3, "blank line, left out"],
        [5, "rows 5 to 6 at the end: empty, left out"],
    ]


def test_repeated_ids_and_headings(save):
    text = "id,note,note,problem\nx,1,2,3\nx ,4,5,6\n,7,8,9\n"
    frame, problems = sources.read_table(save(text), [], ["question_id", "category"], unique="question_id")
    assert list(frame.columns) == ["question_id", "category", "note", "note.2", "problem.2", "problem"]
    assert frame["problem"].tolist() == ["", "question_id 'x' is already in row 2", "question_id is empty"]
    assert problems["row"].tolist() == [1, 1, 3, 4]


def test_of_two_optional_columns_one_is_taken_and_said(save):
    frame, problems = sources.read_table(save("question,pmid,Paper\nq,1,2\n"), ["question"], ["source"])
    assert frame.loc[2, ["source", "pmid"]].tolist() == ["2", "1"]
    assert problems["problem"].tolist() == ["'Paper' is taken for 'source', and not 'pmid'"]


def test_windows_1252_is_read_and_said(save):
    frame, problems = sources.read_table(
        save("question,response\ncaf\u00e9,\u2019a\u2019\n".encode("cp1252")), ["question"]
    )
    assert frame.loc[2, ["question", "response"]].tolist() == ["café", "’a’"]
    assert problems["row"].tolist() == [0]
    assert "line 2" in problems["problem"][0]
    assert "Windows-1252" in problems["problem"][0]


def test_a_heading_without_rows_is_said(save):
    frame, problems = sources.read_table(save("question,response\n"), ["question"])
    assert frame.empty
    assert problems["problem"].tolist() == ["the file has headings and no rows"]


TABLE_ERRORS = {
    ("t.csv", "question,respnse\nq,a\n"): r"t\.csv: no column 'response'; the columns are 'question', 'respnse'\. .*"
    "'respnse' looks like it; rename it to 'response'",
    ("t.csv", "frage,antwort\nq,a\n"): "no column 'question' and none 'response'.*or prompt, input",
    ("t.csv", "q1\nq2\n"): "Only one column was found.*The first row must hold the headings",
    ("t.csv", "question,answer,output\nq,a,b\n"): "'answer' and 'output' could each be 'response'; rename",
    ("t.csv", 'question,response\nq,"a\nq2,a2\n'): "quotation mark opened in row 2 is never closed",
    ("t.csv", ""): "the file is empty",
    ("t.csv", " \n\n"): "the file is empty",
    ("t.csv", "PK\x03\x04"): "this is a zip archive .*an Excel workbook.* save the table as CSV",
    ("t.csv", b"question,response\nq\x00\x01,a\n"): "zero bytes",
    ("t.csv", b"question,response\nq,\x81\n"): "line 2 is neither UTF-8 nor Windows-1252",
    ("t.xls", "x"): "xls files are not read; save the table as CSV",
    ("t.json", '{"question": "q"}'): "a list of objects is needed",
    ("t.json", '{"question": "q"}\n{"question": "r"}'): "name the file .jsonl",
    ("t.parquet", "no"): "not a readable parquet file",
}


@pytest.mark.parametrize(("name", "data"), TABLE_ERRORS, ids=range(len(TABLE_ERRORS)))
def test_what_is_no_table(save, name, data):
    with pytest.raises(SourceError, match=TABLE_ERRORS[name, data]):
        sources.read_table(save(data, name), ["question", "response"])


def test_missing_files_and_folders(save, tmp_path):
    save("x", "answers.csv")
    for reader in (sources.read_table, sources.read_jats, sources.read_questions):
        with pytest.raises(FileNotFoundError, match=r"no such file in .*; did you mean 'answers\.csv'\?"):
            reader(tmp_path / "anwsers.csv")
        with pytest.raises(SourceError, match="this is a folder"):
            reader(tmp_path)
    with pytest.raises(SourceError, match="there is no folder"):
        sources.read_table(tmp_path / "no" / "x.csv")


def test_excel_needs_openpyxl_or_is_read(tmp_path):
    file = tmp_path / "t.xlsx"
    try:
        import openpyxl
    except ImportError:
        file.write_bytes(b"PK\x03\x04")
        with pytest.raises(SourceError, match="openpyxl.*Save the sheet as CSV"):
            sources.read_table(file, ["question"])
        return
    book = openpyxl.Workbook()
    for row in (["Question", "n"], ["q1", 5], ["q2", 0.5], [None, None]):
        book.active.append(row)
    book.create_sheet("other")
    book.save(file)
    frame, problems = sources.read_table(file, ["question"])
    assert frame[["question", "n"]].to_numpy().tolist() == [["q1", "5"], ["q2", "0.5"]]
    assert "'other'" in " ".join(problems["problem"])


cells = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=12)
rows_of_two = st.lists(
    st.tuples(st.text("ab;,\"'\n\r\t=", min_size=1).filter(str.strip), cells), min_size=1, max_size=6
)


@pytest.mark.parametrize("suffix", ["csv", "tsv"])
@settings(deadline=None)
@given(rows=rows_of_two)
def test_what_is_written_is_read_back(tmp_path_factory, suffix, rows):
    frame = pd.DataFrame(rows, columns=["question", "response"], dtype="str")
    file = sources.write_table(frame, tmp_path_factory.mktemp("t") / f"t.{suffix}")
    read, _ = sources.read_table(file, ["question", "response"])
    assert read[["question", "response"]].to_numpy().tolist() == [list(row) for row in rows]


def test_writing(tmp_path):
    frame = pd.DataFrame({"question": ["é", None], "n": [1.5, 2]})
    file = sources.write_table(frame, tmp_path / "new" / "t.csv")
    assert file.read_bytes() == b"\xef\xbb\xbfquestion,n\r\n\xc3\xa9,1.5\r\n,2.0\r\n"
    assert [p.name for p in file.parent.iterdir()] == ["t.csv"]
    with pytest.raises(SourceError, match="written as .csv or .tsv"):
        sources.write_table(frame, tmp_path / "t.xlsx")
    (tmp_path / "file").write_text("")
    with pytest.raises(SourceError, match="cannot be written"):
        sources.write_table(frame, tmp_path / "file" / "t.csv")


# --- questions and responses ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("obstetrics gynaecology", "O&G"),
        ("o & g", "O&G"),
        ("Preventive and social medicine", "PSM"),
        ("ent", "ENT"),
        ("biostatistics", "Bio-Statistics"),
        ("public health", "Public Health"),
        ("statistics", "Other"),
        ("Astronomy", "Astronomy"),
        ("", ""),
    ],
)
def test_category_names(written, name):
    assert sources.category_name(written) == name


def test_29_categories_keep_their_names():
    assert len(set(sources.CATEGORIES)) == 29
    assert [sources.category_name(name) for name in sources.CATEGORIES] == list(sources.CATEGORIES)


def test_question_ids_do_not_depend_on_order(save):
    lines = ["What is p53?,genetics", "What  is p53?,oncology", "What is p53?,oncology", "Why?,ent"]
    frame = sources.read_questions(save("question,category\n" + "\n".join(lines)))
    turned = sources.read_questions(save("question,category\n" + "\n".join(lines[::-1])))
    assert frame["question_id"].is_unique
    assert list(frame.columns) == ["question_id", "question", "category", "source", "problem"]
    key = ["question_id", "category"]
    assert sorted(map(tuple, frame[key].to_numpy())) == sorted(map(tuple, turned[key].to_numpy()))
    first = frame["question_id"].iloc[0]
    assert re.fullmatch("q[0-9a-f]{12}", first)
    assert sorted(frame["question_id"].iloc[:3]) == [first, f"{first}-2", f"{first}-3"]


@settings(deadline=None)
@given(st.permutations(list("aabbbc")))
def test_content_ids_are_unique_and_stable(letters):
    ids = sources.content_ids([(x,) for x in letters], [("",)] * 6, "q")
    assert len(set(ids)) == 6
    assert set(ids) == set(sources.content_ids([(x,) for x in "aabbbc"], [("",)] * 6, "q"))


def test_own_ids_are_kept_and_repeats_said(save):
    frame = sources.read_questions(save("id,question\nA,x\nA,y\n,z\n"))
    assert frame["question_id"].tolist()[:2] == ["A", "A"]
    assert frame["question_id"].iloc[2].startswith("q")
    assert frame["problem"].tolist() == ["", "question_id 'A' is already in row 2", ""]


def test_responses(save):
    text = "Prompt,Answer,Topic,model\nx,one,dental,m1\nx,two,dental,m2\nx,one,dental,m3\ny,,,m1\n"
    frame = sources.read_responses(save(text))
    assert list(frame.columns) == (
        ["response_id", "question_id", "question", "response", "category", "source", "finish_reason", "problem"]
    )
    assert frame["response_id"].is_unique
    assert frame["question_id"].nunique() == 2
    assert frame["response"].tolist() == ["one", "two", "one", ""]
    assert frame["category"].tolist() == ["Dental", "Dental", "Dental", ""]
    assert frame["problem"].tolist() == ["", "", "", "response is empty"]


# --- released data sets -----------------------------------------------------------------------------------------------


def test_fetch(tmp_path, monkeypatch):
    source = tmp_path / "original"
    source.write_bytes(b"data")
    good = "3a6eb0790f39ac87c94f3856b2dd2c5d110e6811602261a9a923d3bb23adc8b7"

    def register(url, sha256):
        file = sources.DataFile("d.csv", url, sha256, 4)
        monkeypatch.setitem(sources.DATASETS, "tiny", sources.Dataset("tiny", "", "", "", (file,)))

    register(source.as_uri(), good)
    [path] = sources.fetch("tiny", tmp_path / "data")
    assert path == tmp_path / "data" / "tiny" / "d.csv"
    assert path.read_bytes() == b"data"
    register("http://127.0.0.1:9/nothing-listens-here", good)
    assert sources.fetch("tiny", tmp_path / "data") == [path]  # already there: no download
    path.write_bytes(b"spoilt")
    with pytest.raises(SourceError, match="could not be downloaded .*Is there a network.*d.csv"):
        sources.fetch("tiny", tmp_path / "data")
    register(source.as_uri(), "0" * 64)
    with pytest.raises(SourceError, match="is not the file that is expected"):
        sources.fetch("tiny", tmp_path / "data")
    assert path.read_bytes() == b"spoilt"
    with pytest.raises(SourceError, match="did you mean 'pubmedqa'"):
        sources.fetch("pubmed_qa", tmp_path)


def test_registry_is_pinned():
    for name, dataset in sources.DATASETS.items():
        assert dataset.name == name
        assert dataset.licence
        for file in dataset.files:
            assert re.fullmatch(r"https://raw\.githubusercontent\.com/[\w.-]+/[\w.-]+/[0-9a-f]{40}/.+", file.url)
            assert re.fullmatch("[0-9a-f]{64}", file.sha256)


@pytest.mark.released
def test_registry_hashes_are_those_of_the_released_files(released):
    import hashlib

    for dataset in sources.DATASETS.values():
        for file in dataset.files:
            data = (released / dataset.name / file.name).read_bytes()
            assert (hashlib.sha256(data).hexdigest(), len(data)) == (file.sha256, file.size)


@pytest.mark.released
def test_released_questions(released):
    plain = sources.read_questions(released / "dahl" / "questions.csv")
    sourced = sources.read_questions(released / "dahl" / "questions_with_source_paper.csv")
    for frame in (plain, sourced):
        assert len(frame) == 8573
        assert frame["question"].nunique() == 8505
        assert frame["question_id"].is_unique
        assert set(frame["category"]) == set(sources.CATEGORIES)
        counts = frame["category"].value_counts()
        assert (counts["Public Health"], counts["PSM"], counts["Other"]) == (969, 7, 42)
    assert set(plain["question_id"]) == set(sourced["question_id"])
    assert sourced["source"].nunique() == 1992
    assert set(plain["source"]) == {""}


# --- nothing lost, nothing glued --------------------------------------------------------------------------------------

ARTICLES = [
    "1471-2180-11-174.nxml",
    "6605965a.nxml",
    "PMC2491404.xml",
    "PMC2774419.xml",
    "PMC2775662.xml",
    "PMC2775685.xml",
    "PMC2900587.xml",
    "PMC3339580.xml",
    "PMC3339583.xml",
    "PMC5828200.nxml",
    "PMC7417471.nxml",
    "mds526.nxml",
    "pone.0000217.nxml",
]
IN_LINE = set(["italic", "bold", "sub", "sup", "sc", "xref", "ext-link", "uri", "email", "funding-source"])
# Knowingly elsewhere or left out: formulas (rewritten), references (counted), identifiers of figures, headings (below).
ELSEWHERE = set(["inline-formula", "disp-formula", "ref-list", "object-id", "permissions"])
HEADED = set(["sec", "abstract", "ack", "notes", "glossary"])
# Where a note's mark touches its text in the source ("<sup>a</sup>For"), the reader puts a space between.
SEPARATED = {
    "mds526.nxml": collections.Counter(["aFor", "aAll", "bTest", "cTest"]),
    "PMC2900587.xml": collections.Counter(["aIn"]),
}


def _plain(element) -> str:
    """The text of an element, read by another parser and by nothing but a list of tags that do not break a word."""
    text = element.text or ""
    for child in element:
        if child.tag in ELSEWHERE or (child.tag == "title" and element.tag in HEADED):
            text += " "
        else:
            text += _plain(child).join(["", ""] if child.tag in IN_LINE else [" ", " "])
        text += child.tail or ""
    return text


def _words(text: str) -> collections.Counter:
    """Words, with what the reader's conventions for scripts change undone."""
    text = re.sub(r"[\^_{}]", "", unicodedata.normalize("NFKC", text))
    return collections.Counter(re.findall(r"\w+", text))


@pytest.mark.released
@pytest.mark.parametrize("name", ARTICLES)
def test_no_word_of_a_real_article_is_lost_or_glued(released, name):
    root = ElementTree.parse(released / "pmc" / name).getroot()
    parts = [*root.findall("front/article-meta/abstract"), *root.findall("body"), *root.findall("back")]
    article = sources.read_jats(released / "pmc" / name)
    formulas = list(root.iter("{http://www.w3.org/1998/Math/MathML}math"))
    expected = _words(" ".join(_plain(part) for part in [*parts, *root.findall("floats-group")]))
    read = [article.text, *(s.text for s in article.back)]
    read += [text for f in article.floats for text in (f.label, f.caption, f.text)]
    words = _words(" ".join(read))
    assert expected - words == SEPARATED.get(name, collections.Counter())
    if not formulas:
        glued = SEPARATED.get(name, collections.Counter())
        assert words - expected == _words(" ".join(f"{w[0]} {w[1:]}" for w in glued.elements()))
    assert "[…]" in article.text or not list(root.iter("disp-formula")) or formulas


@pytest.mark.released
@pytest.mark.parametrize("name", ARTICLES)
def test_structure_of_a_real_article(released, name):
    root = ElementTree.parse(released / "pmc" / name).getroot()
    article = sources.read_jats(released / "pmc" / name)
    references = list(root.iter("ref"))
    assert len(article.references) == len(references) > 0
    assert [r.id for r in article.references] == [r.get("id", "") for r in references]
    assert all(r.raw for r in article.references)
    assert len([f for f in article.floats if f.kind == "figure"]) == len(list(root.iter("fig")))
    assert len([f for f in article.floats if f.kind == "table"]) == len(list(root.iter("table-wrap")))
    headings = [" ".join("".join(t.itertext()).split()) for t in root.findall("body//sec/title")]
    written = [s.title for s in article.sections if s.part == "body" and s.title]
    assert [re.sub(r"\W", "", h) for h in headings] == [re.sub(r"\W", "", w) for w in written]
    assert article.title
    assert article.authors
    assert article.pmcid.startswith("PMC")
    assert article.doi.startswith("10.")
    assert article.year
    assert article.licence
    assert article.text.startswith(article.abstract)


@pytest.mark.released
def test_the_released_folder_is_read_whole(released):
    articles, problems = sources.read_articles(released / "pmc")
    assert len(articles) == 13
    assert set(problems["level"]) == {"note"}
    assert sorted(problems["file"]) == ["PMC3339580.xml", "pone.0000217.nxml"]


NAMES = """<name-alternatives><name xml:lang="ja"><surname>山田</surname><given-names>太郎</given-names></name>
<name xml:lang="en"><surname>Yamada</surname><given-names>Taro</given-names></name></name-alternatives>"""


def test_one_person_in_two_scripts_is_one_author(jats):
    contributors = f"""<contrib-group><contrib contrib-type="author">{NAMES}</contrib><contrib contrib-type="author">
        <collab>The Trial Group<contrib-group><contrib><name><surname>Member</surname></name></contrib></contrib-group>
        </collab></contrib></contrib-group>"""
    citation = f"<ref><element-citation><person-group>{NAMES}</person-group></element-citation></ref>"
    article = jats(front=contributors, back=f"<ref-list>{citation}</ref-list>")
    assert article.authors == ("Yamada, Taro", "The Trial Group")
    assert article.references[0].authors == ("Yamada, Taro",)


@pytest.mark.parametrize(
    ("citation", "cut"),
    [
        ("<name><surname>Li</surname></name><etal/><article-title>A</article-title>", True),
        ("Li X, <italic>et al</italic>. A. J 2001.", True),
        ("Li X. <article-title>Reply to Wu et al</article-title>. J 2001.", False),
    ],
)
def test_a_list_of_authors_that_is_cut(jats, citation, cut):
    article = jats(back=f"<ref-list><ref><mixed-citation>{citation}</mixed-citation></ref></ref-list>")
    assert article.references[0].et_al is cut


def test_a_date_in_words_and_an_explained_abbreviation(jats):
    article = jats(
        "<p>The <abbrev>ECG<def><p>electrocardiogram</p></def></abbrev> was zero\u200bwidth.</p>",
        front="<pub-date><string-date>May 2013</string-date></pub-date>",
    )
    assert article.year == 2013
    assert article.text == "The ECG (electrocardiogram) was zerowidth."


def test_a_section_without_a_title_goes_by_its_kinds(jats):
    article = jats('<sec sec-type="materials|methods"><p>x</p></sec>')
    assert article.sections[0].path == ("Materials and methods",)


def test_responses_that_cannot_be_scored_are_refused_with_their_rows(save):
    with pytest.raises(SourceError, match="headings and no rows"):
        sources.read_responses(save(b"question,response\n"))
    with pytest.raises(SourceError, match="response_id 'a' stands in row 2 and in row 4"):
        sources.read_responses(save(b"response_id,question,response\na,x,y\nb,x,y\na,z,y\n"))


def test_what_is_odd_in_a_table_of_responses(save):
    file = save("question,response\nWhat is café?,A drink.\nWhy?,\n".encode("cp1252"))
    problems = sources.response_problems(file)
    assert problems["row"].tolist() == [0, 3] and problems["column"].tolist() == ["", "response"]
    assert "Windows-1252" in problems["problem"][0]
    assert len(sources.read_responses(file)) == 2


def test_the_released_benchmark_with_responses_has_29_categories(save):
    file = save(b'context_index,category,question,new_category,response\n7,"oncology, surgery",Why?,Oncology,So.\n')
    row = sources.read_responses(file).iloc[0]
    assert (row["category"], row["source"]) == ("Oncology", "7")


def test_zero_bytes_far_down_become_blanks_and_are_counted(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"question,response\n" + b"why,because\n" * 200 + b"what\x00now,then\n")
    table, problems = sources.read_table(path, required=["question", "response"])[:2]
    assert len(table) == 201 and table["question"].iloc[-1] == "what now"
    assert "1 zero byte (the first in line 202)" in str(problems)
