"""Papers from LaTeX as authors upload it: what may be given, files, macros, headings; one test a feature."""

import gzip
import io
import tarfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from latex_papers import BIB, document, reader_in, texts, write

from factlab import places, sources
from factlab.sources.latex.names import is_related, may_be_related
from factlab.sources.latex.tokens import words


@pytest.fixture
def read(tmp_path):
    return reader_in(tmp_path)


def tar(files: dict[str, bytes], mode: str = "w:gz") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


# --- what may be given ------------------------------------------------------------------------------------------------

PAPER = document("\\section{Related Work}\nThis follows \\citet{a}.", "\\title{On Uploads}")


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("1911.00001v2.tar.gz", tar({"main.tex": PAPER.encode(), "figure.png": b"\x89PNG"})),
        ("paper.tar", tar({"./main.tex": PAPER.encode()}, "w:")),
        ("0704.0001.gz", gzip.compress(PAPER.encode())),
        ("twice.tar.gz", gzip.compress(tar({"main.tex": PAPER.encode()}))),
        ("main.tex", PAPER.encode()),
        ("no_suffix", gzip.compress(PAPER.encode())),
    ],
)
def test_kinds_of_upload(tmp_path, name, data):
    (tmp_path / name).write_bytes(data)
    paper = sources.read_arxiv(tmp_path / name)
    assert paper.title == "On Uploads"
    assert texts(paper) == ["This follows Smith et al. [1]."]


def test_arxiv_identifier_from_the_name(tmp_path):
    (tmp_path / "1911.00001v2.tar.gz").write_bytes(tar({"main.tex": PAPER.encode()}))
    paper = sources.read_arxiv(tmp_path / "1911.00001v2.tar.gz")
    assert paper.arxiv == paper.name == "1911.00001"


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("paper.pdf", b"%PDF-1.5 ...", "a PDF file"),
        ("paper.zip", b"PK\x03\x04....", "unpack it"),
        ("page.html", b"<!DOCTYPE html><html></html>", "web page"),
        ("empty.tar.gz", b"", "empty"),
        ("cut.tar.gz", tar({"main.tex": PAPER.encode()})[:-40], "damaged gzip"),
        ("pictures.tar.gz", tar({"a.png": b"x"}), "no LaTeX file"),
        ("readme.tar.gz", tar({"a.txt": b"nothing of the kind"}), "no file with"),
    ],
)
def test_what_is_no_paper_says_what_it_is(tmp_path, name, data, says):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(sources.SourceError, match=says) as error:
        sources.read_arxiv(tmp_path / name)
    assert name in str(error.value)


def test_missing_file_suggests_the_nearest(tmp_path):
    (tmp_path / "paper.tar.gz").write_bytes(b"x")
    with pytest.raises(sources.MissingFile, match=r"did you mean 'paper\.tar\.gz'"):
        sources.read_arxiv(tmp_path / "papr.tar.gz")


def test_a_tar_cut_in_the_middle_gives_what_is_there(tmp_path):
    whole = tar({"main.tex": PAPER.encode(), "more.tex": b"x" * 5000}, "w:")
    (tmp_path / "cut.tar").write_bytes(whole[:4000])
    paper = sources.read_arxiv(tmp_path / "cut.tar")
    assert texts(paper) == ["This follows Smith et al. [1]."]
    assert any("damaged" in note for note in paper.notes)


def test_a_folder_of_papers(tmp_path):
    (tmp_path / "one.tar.gz").write_bytes(tar({"main.tex": PAPER.encode()}))
    (tmp_path / "two.gz").write_bytes(b"%PDF")
    write(tmp_path / "three", {"main.tex": document("Text \\cite{nobody}.")})
    papers, problems = sources.read_papers(tmp_path)
    assert [paper.title for paper in papers] == ["On Uploads", ""]
    assert list(problems[problems.level == "error"].file) == ["two.gz"]
    assert problems[problems.file == "three"].problem.str.contains("nobody").any()


# --- safety -----------------------------------------------------------------------------------------------------------


def test_names_that_lead_out_links_and_devices_are_left_out_and_named(tmp_path):
    secret = tmp_path / "secret.tex"
    secret.write_text("SECRET")
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, data in {"main.tex": PAPER.encode(), "../out.tex": b"OUT", "/abs.tex": b"ABS"}.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
        for name, kind in {
            "link.tex": tarfile.SYMTYPE,
            "hard.tex": tarfile.LNKTYPE,
            "pipe.tex": tarfile.FIFOTYPE,
        }.items():
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, str(secret)
            archive.addfile(member)
    path = tmp_path / "upload" / "bad.tar.gz"
    path.parent.mkdir()
    path.write_bytes(buffer.getvalue())
    paper = sources.read_arxiv(path)
    notes = "\n".join(paper.notes)
    for name in ("../out.tex", "/abs.tex", "link.tex", "hard.tex", "pipe.tex"):
        assert name in notes
    assert "SECRET" not in paper.text
    assert not (tmp_path / "out.tex").exists()
    assert sorted(p.name for p in path.parent.iterdir()) == ["bad.tar.gz"]


def test_input_never_leaves_the_upload(tmp_path):
    (tmp_path / "secret.tex").write_text("SECRET")
    folder = write(
        tmp_path / "paper", {"main.tex": document(f"\\input{{../secret}}\\input{{{tmp_path}/secret}} Text.")}
    )
    (folder / "link.tex").symlink_to(tmp_path / "secret.tex")
    paper = sources.read_arxiv(folder)
    assert "SECRET" not in paper.text
    assert sum("no such file in the upload" in note for note in paper.notes) == 2
    assert any("link.tex: a link" in note for note in paper.notes)


def test_a_text_that_is_too_large_is_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr("factlab.sources.latex.archive.MAX_FILE", 1000)
    paper = sources.read_arxiv(write(tmp_path, {"main.tex": PAPER, "huge.tex": "x" * 2000}))
    assert any("huge.tex: larger than" in note for note in paper.notes)


@pytest.mark.parametrize(
    "body",
    [
        r"\def\a{\a}\a",
        r"\def\a{\a\a}\a",
        r"\def\a{\b\b}\def\b{\c\c}\def\c{\a\a}\a",
        r"\newcommand{\x}[1]{\x{#1#1}}\x{y}",
        "{" * 3000,
        "}" * 3000,
        r"\textbf{" * 500,
        r"\footnote{" * 500 + "x" + "}" * 500,
        r"\begin{figure}" * 200,
        r"\begin{itemize}" * 500,
        "$" * 999,
        r"\cite[" * 500,
        r"\iffalse " * 300,
        r"\frac{" * 400 + "$",
        "$" + "{" * 2000 + "}" * 2000 + "$",
        r"\input{main}",
    ],
)
def test_inputs_without_end_end(read, body):
    paper = read("First sentence here.\n\n" + body)
    assert "First sentence here." in paper.text


# --- files ------------------------------------------------------------------------------------------------------------


def test_nested_input_and_include(read):
    main = document("\\include{parts/one}\n\\input parts/three\nLast.")
    files = {
        "main.tex": main,
        "parts/one.tex": "One.\n\\input{two}\n",
        "parts/two.tex": "Two.\n\\endinput\nNever.",
        "parts/three.tex": "Three.",
    }
    paper = read(files=files)
    assert texts(paper) == ["One.", "Two.", "Three.", "Last."]
    assert paper.files == ("main.tex", "parts/one.tex", "parts/two.tex", "parts/three.tex")


def test_input_finds_other_case_and_import_its_folder(read):
    files = {
        "main.tex": document("\\input{Intro}\\import{sub/}{more}"),
        "intro.tex": "Intro.\n\n",
        "sub/more.tex": "More.",
    }
    assert texts(read(files=files)) == ["Intro.", "More."]


def test_missing_input_is_a_note(read):
    paper = read("\\input{gone} Text.")
    assert any("'gone'" in note for note in paper.notes)


def test_root_among_drafts_and_junk(read):
    files = {
        "ms.tex": document("\\section{Real}\nThe real \\cite{a} paper.\n\\input{sec}"),
        "sec.tex": "More of it.",
        "old_draft.tex": document("\\section{Old}\nAn old one \\cite{a}." * 4),
        "response.tex": "\\documentclass{letter}\\begin{document}Dear editor.\\end{document}",
        "__MACOSX/._ms.tex": "\x05junk",
        "ms.tex~": "junk",
        ".hidden.tex": document("hidden"),
        "fig.tex": "\\documentclass{standalone}\\begin{document}\\begin{tikzpicture}\\end{tikzpicture}\\end{document}",
    }
    paper = read(files=files)
    assert paper.root == "ms.tex"
    assert texts(paper) == ["The real [1] paper.", "More of it."]
    assert any("old_draft.tex" in note for note in paper.notes)


def test_root_that_arxiv_names(read):
    files = {"a.tex": document("Wrong one, although it is much longer than the other."), "b.tex": document("Right.")}
    files["00README.XXX"] = "b.tex toplevelfile\n"
    assert texts(read(files=files)) == ["Right."]


def test_root_named_by_its_bbl_and_commented_class(read):
    files = {
        "x.tex": "% \\documentclass{article}\n\\section{No root}",
        "y.tex": document("Text \\cite{k}.", bibliography="\\bibliography{z}\n"),
        "y.bbl": BIB.replace("{a}", "{k}"),
    }
    paper = read(files=files)
    assert (paper.root, paper.entry("k").title) == ("y.tex", "A first work")


def test_encoding_that_is_declared(tmp_path):
    text = document("Erd\u0151s wrote it.", "\\usepackage[latin2]{inputenc}")
    (tmp_path / "main.tex").write_bytes(text.encode("iso8859-2"))
    paper = sources.read_arxiv(tmp_path)
    assert texts(paper) == ["Erdős wrote it."]
    assert any("not UTF-8" in note for note in paper.notes)


# --- comments, macros, conditionals -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "right"),
    [
        ("A loss of 5\\% here. % not this", ["A loss of 5% here."]),
        ("wrap%\n  ped word", ["wrapped word"]),
        ("One.\n% \\section{No}\nTwo.", ["One.", "Two."]),
        ("One line\n%\n\nnext paragraph", ["One line", "next paragraph"]),
        ("See \\url{http://x.org/a%20b#c}.", ["See http://x.org/a%20b#c."]),
        ("\\begin{comment}\nNo \\cite{a}.\n\\end{comment}\nYes.", ["Yes."]),
        ("\\iffalse No. \\else Yes. \\fi", ["Yes."]),
        ("\\iffalse No \\iftrue inner \\fi no. \\fi Yes.", ["Yes."]),
    ],
)
def test_comments(read, body, right):
    assert texts(read(body)) == right


@pytest.mark.parametrize(
    ("preamble", "body", "right"),
    [
        (
            r"\newcommand{\us}{FactLab}",
            r"We call \us{} ours, and \us\ yours.",
            "We call FactLab ours, and FactLab yours.",
        ),
        (r"\newcommand\us{FactLab\xspace}", r"\us is; \us, \us.", "FactLab is; FactLab, FactLab."),
        (r"\newcommand{\two}[2]{#2 before #1}", r"\two{B}{A}.", "A before B."),
        (r"\newcommand{\opt}[2][x]{#1-#2}", r"\opt{a} and \opt[y]{b}.", "x-a and y-b."),
        (r"\def\pair#1#2{#1/#2}", r"Of \pair ab and \pair{aa}{bb}.", "Of a/b and aa/bb."),
        (r"\def\upto#1.{<#1>}", r"It \upto ends. here.", "It <ends> here."),
        (r"\let\bold\textbf", r"Is \bold{this} it.", "Is this it."),
        (r"\NewDocumentCommand{\doc}{s O{d} m}{#2:#3}", r"A \doc*{x} and \doc[y]{z}.", "A d:x and y:z."),
        (r"\newcommand{\a}{b}\renewcommand{\a}{c}\providecommand{\a}{d}", r"It is \a.", "It is c."),
        (r"\newenvironment{mine}[1]{Begin #1: }{ end}", r"\begin{mine}{x}inner\end{mine}", "Begin x: inner end"),
        (r"\newif\iflong\longtrue", r"\iflong Long.\else Short.\fi", "Long."),
        (r"\newcommand{\outer}[1]{\inner{#1}!}\newcommand{\inner}[1]{(#1)}", r"So \outer{x}", "So (x)!"),
        (r"\expandafter\def\csname odd name\endcsname{x}", r"Fine.", "Fine."),
        (r"\DeclareMathOperator*{\argmax}{arg\,max}", r"Take $\argmax x$.", "Take arg max x."),
    ],
)
def test_macros(read, preamble, body, right):
    assert " ".join(texts(read(body, preamble))) == right


def test_macros_that_hide_structure(read):
    preamble = r"""\newcommand{\mysec}[1]{\section{#1}} \def\be{\begin{equation}} \def\ee{\end{equation}}
    \newcommand{\citesee}[1]{\citep[see][]{#1}} \newenvironment{relwork}{\section{Related Work}}{}"""
    body = r"\mysec{Intro} By \be x=1 \ee we see it \citesee{b}. \begin{relwork}Old \cite{a}.\end{relwork}"
    paper = read(body, preamble)
    assert [section.title for section in paper.sections] == ["Intro", "Related Work"]
    assert texts(paper) == ["By x=1 we see it [see 2].", "Old [1]."]


def test_macros_of_a_package_that_came_along(read):
    style = "\\newcommand{\\ours}{MethodX}\n\\renewcommand{\\section}[1]{broken}\n\\def\\cite@x{y}"
    paper = read(files={"main.tex": document("\\section{A}\nWe use \\ours.", "\\usepackage{own}"), "own.sty": style})
    assert texts(paper) == ["We use MethodX."]


def test_unknown_commands_keep_their_text_and_are_named(read):
    paper = read(r"This is \weird[opt]{kept} text.")
    assert texts(paper) == ["This is kept text."]
    assert any(r"\weird (1)" in note for note in paper.notes)


# --- headings ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "heading",
    [
        r"\section{Related Work}",
        r"\section*{Related Work}",
        r"\section[Short]{Related Work}",
        r"\section {Related Work}",
        r"\IEEEraisesectionheading{\section{Related Work}}",
        r"\section{\uppercase{R}elated Work}",
        r"\section{\label{sec:rw}Related Work}",
        r"\section{Related Work\footnote{With thanks.}}",
        r"\section{\texorpdfstring{Related Work}{x}}",
        r"\section{{\bf Related} Work}",
        r"\section{\texttt{}Related\\Work}",
        r"\section{Related~Work}\label{sec:rw}",
        r"\chapter{Related Work}",
        r"\subsection{Related Work}",
        r"\paragraph{Related Work.}",
        "\\section{Related\nWork}",
        r"{\section{Related Work}}",
    ],
)
def test_headings(read, heading):
    paper = read("\\section{Intro}\nHello.\n\n" + heading + "\nIt is old \\cite{a}.")
    [section] = paper.related_work
    assert section.title == "Related Work"
    assert [sentence.text for sentence in section.sentences] == ["It is old [1]."]


def test_raised_heading_and_section_without_text(read):
    body = r"""\IEEEraisesectionheading{\section{Introduction}}
    \IEEEPARstart{T}{his} is it.
    \section{Background}
    \subsection{Old things} They are old \cite{a}."""
    paper = read(body)
    assert [section.path for section in paper.sections] == [
        ("Introduction",),
        ("Background",),
        ("Background", "Old things"),
    ]
    assert texts(paper) == ["This is it.", "They are old [1]."]


def test_paragraph_in_bold_that_names_related_work(read):
    body = r"""\section{Introduction} Start.

    \noindent\textbf{Related work.} Old \cite{a}.

    Still old \cite{b}.

    \textbf{Contributions.} New."""
    paper = read(body)
    [related] = paper.related_work
    assert related.path == ("Introduction", "Related work")
    assert [sentence.text for sentence in related.sentences] == ["Old [1].", "Still old [2]."]


def test_abstract_title_authors_appendix(read):
    preamble = r"\title[Short]{A Long\\ Title\thanks{Paid.}} \author{A. One \and B. Two}"
    paper = read(r"\maketitle \begin{abstract}We say.\end{abstract} Loose. \appendix \section{More} End.", preamble)
    assert (paper.title, paper.authors, paper.abstract) == ("A Long Title", "A. One B. Two", "We say.")
    assert [(section.title, section.appendix) for section in paper.sections] == [
        ("Abstract", False),
        ("", False),
        ("More", True),
    ]


NAMES = """Related Work|Related Works|RELATED WORK|Related work and background|Background and Related Work|Related Research|
Related Literature|Related Studies|Related Approaches|Related-Work|Previous Work|Previous Works|Prior Work|Prior Art|
Prior and Related Work|Earlier Work|Past Work|Existing Work|Existing Approaches|Relevant Work|Relevant Literature|Recent Work|
Similar Work|Literature Review|Literature Survey|Review of Literature|Review of the Literature|State of the Art|
State-of-the-Art|State of the art in parsing|Survey of Related Work|Relation to Prior Work|Relationship to Other Work|
Connections to Previous Results|Comparison with Previous Work|Comparison to Related Work|Bibliographic Notes|
Historical Background|Work Related to Ours|Other Related Work|Further Related Work|Discussion of Related Work|Related Datasets"""


@pytest.mark.parametrize("title", [name.strip() for name in NAMES.split("|")])
def test_names_of_related_work(title):
    assert is_related(title)


OTHER_NAMES = """Introduction|Methods|Comparison with Existing Methods|Results|Future Work|Background|Preliminaries|Work
Packages|Evaluation of previous methods|Conclusion and Future Work|Limitations of existing approaches|Acknowledgements"""


@pytest.mark.parametrize("title", [" ".join(name.split()) for name in OTHER_NAMES.split("|")])
def test_names_of_other_sections(title):
    assert not is_related(title)


def test_background_stands_in_and_is_noted(read):
    paper = read("\\section{Background}\nOld \\cite{a}.\n\\section{Method}\nNew.")
    assert [section.title for section in paper.related_work] == ["Background"]
    assert any("'Background' is taken" in note for note in paper.notes)
    assert may_be_related("Technical Background") and not may_be_related("Background knowledge")


def test_background_does_not_stand_in_beside_related_work(read):
    paper = read("\\section{Background}\nOld \\cite{a}.\n\\section{Related Work}\nOld \\cite{b}.")
    assert [section.title for section in paper.related_work] == ["Related Work"]


# --- properties -------------------------------------------------------------------------------------------------------

_PIECES = st.sampled_from(
    sorted(
        words(
            r"""{ } $ $$ % \% & # _ ^ ~ [ ] \ \\ \section{A} \section*{ \cite{a} \cite[ \citet{b} \begin{figure} \end{figure}
    \begin{equation} \end{equation} \begin{ \end{ \footnote{ \def\x{y} \def\x#1{z} \x \newcommand{\q}[1]{#1} \q \iffalse \else
    \fi \verb|x| \item \input{main} \input{ \begin{document} \end{document} \bibitem{ \newblock word. Text here. \"u \'{ \let\y=
    \csname \endcsname \ifx \url{ \href{a}{ \left( \frac \textbf{ \title{ \begin{thebibliography}{1} \end{thebibliography} #1"""
        )
    )
)


@settings(max_examples=150, deadline=2000)
@given(st.lists(_PIECES, max_size=40))
def test_no_text_stops_the_reader(tmp_path_factory, pieces):
    folder = tmp_path_factory.mktemp("p")
    (folder / "main.tex").write_text(document(" ".join(pieces)))
    paper = sources.read_arxiv(folder)
    for section in paper.sections:
        for sentence in section.sentences:
            assert sentence.text == sentence.text.strip() != ""
            assert not any("\ue000" <= character <= "\uf8ff" for character in sentence.text)
            for citation in sentence.citations:
                assert citation.keys and 0 <= citation.start < citation.end <= len(sentence.text)


# --- the sample -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sample():
    return sources.read_arxiv(places.samples("reasons", "latex_project"))


def test_sample_sections(sample):
    assert sample.title == "Do Reading Assistants Cite What They Read? A Small Invented Study"
    assert sample.root == "main.tex"
    assert len(sample.sections) == 9
    assert [section.path[1:] for section in sample.related_work] == [
        (),
        ("Retrieval",),
        ("Graphs of citations",),
        ("Graphs of citations", "Measures"),
    ]
    assert any("draft_old.tex" in note for note in sample.notes)


def test_sample_bibliography(sample):
    assert len(sample.bibliography) == 13
    assert all(entry.title and entry.authors and entry.year and entry.venue for entry in sample.bibliography)
    assert sample.entry("erdos1959").authors == ("Paul Erdős", "Alfréd Rényi")
    assert sample.entry("small1973").source == "bib"
    assert sample.entry("papineni2002").authors[0] == "Kishore Papineni"
    assert not {"nobody1900", "hidden", "commented", "verbatim", "after"} & set(sample.cited)


def test_sample_citations(sample):
    frame = sample.citations()
    assert len(frame) == 13
    assert (frame.status == "found").all()
    assert set(sample.citations(related=False).key) >= set(frame.key)
    assert sorted(set(sample.cited)) == sorted(entry.key for entry in sample.bibliography)
