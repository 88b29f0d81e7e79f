"""Citations and bibliographies of LaTeX papers: commands, sentences, styles of entries, databases."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from latex_papers import document, reader_in, texts

from factlab.sources.latex.bibtex import read_bib
from factlab.sources.latex.citations import AUTHORS, PARENTHETICAL, TEXTUAL, YEAR
from factlab.sources.latex.entries import arxiv_id, from_text
from factlab.sources.latex.people import split_people


@pytest.fixture
def read(tmp_path):
    return reader_in(tmp_path)


# --- citations and sentences ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "right", "keys"),
    [
        (r"It is \cite{a}.", "It is [1].", ["a"]),
        (r"It is~\cite{a,b , c}.", "It is [1, 2, 3].", ["a", "b", "c"]),
        (r"It is \citep[p.~5]{a}.", "It is [1, p. 5].", ["a"]),
        (r"It is \citep[see][p.~5]{a}.", "It is [see 1, p. 5].", ["a"]),
        (r"It is \citep[see][]{a}.", "It is [see 1].", ["a"]),
        (r"\citet{a} say it.", "Smith et al. [1] say it.", ["a"]),
        (r"\citet*{b} says it.", "Lee [2] says it.", ["b"]),
        (r"\Citet{c} say it.", "Roy and Kim [3] say it.", ["c"]),
        (r"\citet{a,b} say it.", "Smith et al. [1] and Lee [2] say it.", ["a", "b"]),
        (r"\citeauthor{b} (\citeyear{b}) says it.", "Lee ((2021)) says it.", ["b"]),
        (r"\citeauthor{b}~\citeyearpar{b} says it.", "Lee (2021) says it.", ["b"]),
        (r"It is \parencite[12]{a}.", "It is [1, 12].", ["a"]),
        (r"\textcite[see][5]{a} say it.", "Smith et al. [1, 5] say it.", ["a"]),
        (r"It is \autocites[1]{a}[2]{b}.", "It is [1, 1][2, 2].", ["a", "b"]),
        (r"It is\footcite{a}.", "It is[1].", ["a"]),
        (r"It is\supercite{a}.", "It is[1].", ["a"]),
        (r"It is \citeA{a} or \citeNP{b}.", "It is Smith et al. [1] or [2].", ["a", "b"]),
        ("It is \\cite{a, % why\n  b}.", "It is [1, 2].", ["a", "b"]),
        (r"It is \cite{a}\cite{b}.", "It is [1][2].", ["a", "b"]),
        (r"It is \unknowncite{a}.", "It is [1].", ["a"]),
        (r"It is \cite{gone}.", "It is [?].", ["gone"]),
        (r"It is \cite <see>[p. 5]{a}.", "It is [see 1, p. 5].", ["a"]),
    ],
)
def test_citation_commands(read, body, right, keys):
    [sentence] = read(body).sections[0].sentences
    assert sentence.text == right
    assert list(sentence.keys) == keys
    assert all(sentence.text[c.start : c.end] for c in sentence.citations)


@pytest.mark.parametrize("command", sorted((PARENTHETICAL | TEXTUAL | AUTHORS | YEAR) - {"citefield", "citelist"}))
def test_every_command_listed_cites(read, command):
    assert read(f"It is \\{command}{{a}} here.").cited == ("a",)


def test_nocite_and_styles_cite_nothing(read):
    paper = read(r"\nocite{a}\setcitestyle{round}\citestyle{plain} Text.")
    assert paper.cited == () and texts(paper) == ["Text."]


@pytest.mark.parametrize(
    ("body", "right"),
    [
        (r"It fell.\cite{a} It rose.", ["It fell.[1]", "It rose."]),
        (r"It fell. \cite{a} It rose.", ["It fell. [1]", "It rose."]),
        (r"It fell \cite{a}. It rose.", ["It fell [1].", "It rose."]),
        (r"He et al.\ \cite{a} show it. It rose.", ["He et al. [1] show it.", "It rose."]),
        (r"See e.g.\ \citet{a}. It rose.", ["See e.g. Smith et al. [1].", "It rose."]),
        (r"It rose. \citet{a} show it.", ["It rose.", "Smith et al. [1] show it."]),
        (r"It rose. \cite{a} show it.", ["It rose.", "[1] show it."]),
        (r"It fell.~\cite{a},~\cite{b} It rose.", ["It fell. [1], [2]", "It rose."]),
        (r"In [7] it fell \cite{a}. It rose.", ["In [7] it fell [1].", "It rose."]),
        (r"It fell (cf.\ \cite{a}; Fig.~2). It rose.", ["It fell (cf. [1]; Fig. 2).", "It rose."]),
        (r"As \citet{a}, and \citet{b}. It rose.", ["As Smith et al. [1], and Lee [2].", "It rose."]),
    ],
)
def test_citations_do_not_break_sentences(read, body, right):
    assert texts(read(body)) == right


def test_neighbours_bare_and_masked(read):
    section = read(r"One. \citet{a} say two~\citep{b}. Three.").sections[0]
    sentence = section.sentences[1]
    assert (sentence.before, sentence.after) == ("One.", "Three.")
    assert sentence.bare == "say two."
    assert sentence.masked() == "[CITATION] say two [CITATION]."
    assert (section.sentences[0].before, section.sentences[2].after) == ("", "")


def test_what_stands_beside_is_kept_apart(read):
    body = r"""Text\footnote{A note \cite{a}.} goes on.
    \begin{figure}\includegraphics[width=3cm]{x}\caption{A figure \cite{b}.}\label{f}\end{figure}
    \begin{table*}[t]\begin{tabular}{l|r} \multicolumn{2}{c}{x} \\ \hline y & \cite{c} \end{tabular}\end{table*}
    \begin{lstlisting}
code \cite{a} % code
    \end{lstlisting}
    End."""
    paper = read(body)
    assert texts(paper) == ["Text goes on.", "End."]
    assert [(b.kind, [s.keys for s in b.sentences if s.keys]) for b in paper.beside] == [
        ("footnote", [("a",)]),
        ("figure", [("b",)]),
        ("table", [("c",)]),
    ]
    assert any("1 lstlisting" in note for note in paper.notes)


@pytest.mark.parametrize(
    ("body", "right"),
    [
        (
            r"Erd\H{o}s, M\"uller, \L{}ukasz, \c{C}elik, Fran\c cois, na\"{\i}ve.",
            "Erdős, Müller, Łukasz, Çelik, François, naïve.",
        ),
        ("``Quoted'' -- and --- dashed.", "“Quoted” – and — dashed."),
        (r"We take the $\ell_1$-norm.", "We take the ℓ_1-norm."),
        (r"It costs \$5 \& 10\,km, $O(n^{2})$.", "It costs $5 & 10 km, O(n^2)."),
        (r"So $x \le \alpha$ and \(y\) hold.", "So x ≤α and y hold."),
        (r"By \[ x = 1, \] it holds.", "By x = 1, it holds."),
        (r"A\vspace{2mm}\hspace*{1em} gap\vskip 1em plus 2pt minus 3pt here.", "A gap here."),
        (r"\textcolor{red}{Red}, {\em new}, \href{http://x.y}{link}.", "Red, new, link."),
        (r"See Fig.~\ref{f} and \cref{a,b}.", "See Fig. [ref] and [ref]."),
        (r"A\todo{fix me} word\marginpar{no} here.", "A word here."),
        (r"Line one\\[2pt] line two.", "Line one line two."),
        (r"A x_1 & b costs 5^3.", "A x_1 | b costs 5^3."),
    ],
)
def test_text(read, body, right):
    assert " ".join(texts(read(body))) == right


def test_lists_and_theorems(read):
    body = (
        "We give:\n\\begin{enumerate}[label=(a)]\n\\item one thing \\cite{a};\n\\item[Two] another.\n\\end{enumerate}"
    )
    assert texts(read(body)) == ["We give:", "one thing [1];", "Two another."]


def test_table_of_citations(read):
    frame = read("\\title{T}\\section{Related Work}\nOld \\cite{a,gone}.\n\\section{Rest}\nNew \\cite{b}.").citations()
    assert list(frame.key) == ["a", "gone"]
    assert list(frame.status) == ["found", "no entry"]
    assert frame.cited_authors[0] == ["Ann Smith", "Bo Jones", "Cy Wu"]
    assert (frame.cited_title[0], frame.cited_venue[0], frame.cited_year[0]) == (
        "A first work",
        "Journal of Firsts",
        "2020",
    )


def test_table_of_citations_of_a_paper_that_cites_nothing(read):
    assert read("Text.", bibliography="").citations(related=False).empty


# --- bibliographies ---------------------------------------------------------------------------------------------------

VASWANI = ("Attention is all you need", "Vaswani", "2017")


@pytest.mark.parametrize(
    ("style", "item"),
    [
        (
            "plain",
            r"A.~Vaswani, N.~Shazeer, and N.~Parmar.\newblock Attention is all you need.\newblock In {\em NeurIPS}, pages 5998--6008, 2017.",
        ),
        (
            "acl",
            r"Ashish Vaswani, Noam Shazeer, and Niki Parmar. 2017. \newblock \href {http://x.org/a} {Attention is all you need}. \newblock In \emph{NeurIPS}, pages 5998--6008.",
        ),
        (
            "IEEEtran",
            r"A.~Vaswani, N.~Shazeer, and N.~Parmar, ``Attention is all you need,'' in \emph{NeurIPS}, 2017, pp. 5998--6008.",
        ),
        (
            "IEEEtran et al.",
            r"A.~Vaswani \emph{et~al.}, ``Attention is all you need,'' in \emph{NeurIPS}, vol.~30, 2017.",
        ),
        (
            "apalike",
            r"Vaswani, A., Shazeer, N., and Parmar, N. (2017).\newblock Attention is all you need.\newblock In {\em NeurIPS}, pages 5998--6008.",
        ),
        (
            "splncs",
            r"Vaswani, A., Shazeer, N., Parmar, N.: Attention is all you need. In: NeurIPS. pp. 5998--6008 (2017)",
        ),
        ("spbasic", r"Vaswani A, Shazeer N, Parmar N (2017) Attention is all you need. In: NeurIPS, pp 5998--6008"),
        (
            "elsarticle",
            r"A.~Vaswani, N.~Shazeer, N.~Parmar, Attention is all you need, in: NeurIPS, 2017, pp. 5998--6008.",
        ),
        (
            "elsarticle 2",
            r"A.~Vaswani, N.~Shazeer, N.~Parmar, Attention is all you need, Journal of Things 3~(2) (2017) 1--5.",
        ),
        (
            "ACM",
            r"\bibfield{author}{\bibinfo{person}{Ashish Vaswani}, \bibinfo{person}{Noam Shazeer}, {and} \bibinfo{person}{Niki Parmar}.} \bibinfo{year}{2017}\natexlab{}. \newblock \showarticletitle{Attention is all you need}. In \bibinfo{booktitle}{\emph{NeurIPS}}. \bibinfo{pages}{5998--6008}.",
        ),
        (
            "REVTeX",
            r"\BibitemOpen \bibfield {author} {\bibinfo {author} {\bibfnamefont {A.}~\bibnamefont {Vaswani}}, \bibinfo {author} {\bibfnamefont {N.}~\bibnamefont {Shazeer}},\ and\ \bibinfo {author} {\bibfnamefont {N.}~\bibnamefont {Parmar}},\ }\bibfield {title} {\enquote {\bibinfo {title} {Attention is all you need},}\ }in\ \href@noop {} {\emph {\bibinfo {booktitle} {NeurIPS}}}\ (\bibinfo {year} {2017})\BibitemShut {NoStop}",
        ),
        (
            "aaai",
            r"Vaswani, A.; Shazeer, N.; and Parmar, N. 2017.\newblock Attention is all you need.\newblock In {\em NeurIPS}, 5998--6008.",
        ),
        (
            "chicago",
            r"Vaswani, A., N.~Shazeer, and N.~Parmar (2017).\newblock Attention is all you need.\newblock {\em NeurIPS\/}~{\em 30}, 5998--6008.",
        ),
        (
            "alphaurl",
            r"Ashish Vaswani, Noam Shazeer, and Niki Parmar.\newblock Attention is all you need.\newblock In {\em NeurIPS}, pages 5998--6008, 2017.\newblock \url{https://x.org/a%20b}.",
        ),
        ("by hand, quotes", r'[3] A. Vaswani, N. Shazeer, N. Parmar, "Attention is all you need", NeurIPS, 2017'),
        (
            "nature",
            r"Vaswani, A. \emph{et~al.} \newblock Attention is all you need. \newblock \emph{NeurIPS} \textbf{30}, 5998--6008 (2017).",
        ),
        ("by hand", r"Ashish Vaswani, Noam Shazeer, Niki Parmar. Attention is all you need. NeurIPS, 2017."),
        (
            "by hand, ACL",
            r"Ashish Vaswani, Noam Shazeer, and Niki Parmar. 2017. Attention is all you need. In NeurIPS.",
        ),
        (
            "by hand, APA",
            r"Vaswani, A., Shazeer, N., \& Parmar, N. (2017). Attention is all you need. \textit{NeurIPS}, 30.",
        ),
        (
            "MDPI",
            r"Vaswani, A.; Shazeer, N.; Parmar, N. Attention is all you need. {\em NeurIPS} {\bf 2017}, {\em 30},~5998--6008.",
        ),
        (
            "imsart",
            r"\begin{barticle} \bauthor{\bsnm{Vaswani},~\bfnm{A.}}, \bauthor{\bsnm{Shazeer},~\bfnm{N.}} \AND \bauthor{\bsnm{Parmar},~\bfnm{N.}} (\byear{2017}). \batitle{Attention is all you need}. \bjtitle{NeurIPS}. \end{barticle}",
        ),
    ],
)
def test_styles_of_bibliographies(read, style, item):
    bibliography = f"\\begin{{thebibliography}}{{1}}\n\\bibitem{{v}} {item}\n\\end{{thebibliography}}\n"
    [entry] = read("It is \\cite{v}.", bibliography=bibliography).bibliography
    assert (entry.title, entry.authors[0].split()[-1], entry.year) == VASWANI, entry
    assert len(entry.authors) == (1 if "et~al" in item else 3), entry.authors
    assert entry.et_al == ("et~al" in item)
    assert ("Journal of Things" if style == "elsarticle 2" else "NeurIPS") in entry.venue, entry


def test_book_whose_title_is_in_italics(read):
    item = r"\bibitem{g} I.~Goodfellow, Y.~Bengio, and A.~Courville, \emph{Deep Learning}. MIT Press, 2016."
    [entry] = read(bibliography=f"\\begin{{thebibliography}}{{1}}{item}\\end{{thebibliography}}").bibliography
    assert (entry.title, entry.authors, entry.year) == (
        "Deep Learning",
        ("I. Goodfellow", "Y. Bengio", "A. Courville"),
        "2016",
    )


def test_title_with_question_mark_colon_and_numbers(read):
    item = r"\bibitem{g} Jo Li and Al Wu. \newblock Why 2001? A study: part 1.5 of 3. \newblock arXiv preprint arXiv:1805.01234v2, 2018."
    [entry] = read(bibliography=f"\\begin{{thebibliography}}{{1}}{item}\\end{{thebibliography}}").bibliography
    assert (entry.title, entry.arxiv, entry.year) == ("Why 2001? A study: part 1.5 of 3", "1805.01234", "2018")


BIBTEX = r"""
Stray text. @comment{no} @string{nips = "NeurIPS"} @preamble{"\newcommand{\x}{y}"}
@InProceedings{v, title = {{Attention} is all you need}, author = {Vaswani, Ashish and {Google Brain} and others},
  booktitle = nips # { 30}, year = 2017, eprint = "1706.03762", url = {http://x.org/a_b%20c}, }
@article(p, author="M{\"u}ller, J{\"o}rg and van der Berg, Jr, Al", title="On {"}quotes{"}", journal={J. of X}, date={2019-05-01},
  doi={https://doi.org/10.1000/xyz.123})
@book{parent, title={The Volume}, year={2001}, publisher={Press}}
@incollection{child, crossref={parent}, author={Ann Lee}, title={A Chapter}}
@misc{unused, title={Unused}}
"""


def test_bib_only(read):
    files = {
        "main.tex": document("It is \\cite{v,p,child,gone}.", bibliography="\\bibliography{refs}\n"),
        "refs.bib": BIBTEX,
    }
    paper = read(files=files)
    assert [entry.key for entry in paper.bibliography] == ["v", "p", "child"]
    v, p, child = paper.bibliography
    assert (v.title, v.authors, v.et_al, v.venue) == (
        "Attention is all you need",
        ("Ashish Vaswani", "Google Brain"),
        True,
        "NeurIPS 30",
    )
    assert (v.year, v.arxiv, v.source, v.how) == ("2017", "1706.03762", "bib", "fields")
    assert (p.authors, p.title, p.year, p.doi) == (
        ("Jörg Müller", "Al van der Berg Jr"),
        'On "quotes"',
        "2019",
        "10.1000/xyz.123",
    )
    assert (child.venue, child.year) == ("The Volume", "2001")
    assert any("gone" in note for note in paper.notes)


def test_nocite_star_takes_all(read):
    files = {"main.tex": document("\\nocite{*}Text.", bibliography="\\bibliography{refs}\n"), "refs.bib": BIBTEX}
    assert len(read(files=files).bibliography) == 5


def test_bib_with_a_brace_that_never_closes():
    entries, problems = read_bib("@article{a, title={Open,\n\n@article{b, title={Fine}, year=2001}\n")
    assert entries["b"] == {"entrytype": "article", "title": "Fine", "year": "2001"}
    assert "line 1" in problems[0]


def test_bbl_of_biblatex(read):
    bbl = r"""\datalist[entry]{nty/global//global/global}
    \entry{v}{inproceedings}{}
      \name{author}{2}{}{%
        {{hash=1}{%
           family={Vaswani}, familyi={V\bibinitperiod}, given={Ashish}, giveni={A\bibinitperiod}}}%
        {{hash=2}{%
           family={Berg}, prefix={van\bibnamedelima der}, given={Niki}}}%
      }
      \list{publisher}{1}{{Press}}
      \field{booktitle}{NeurIPS}
      \field{title}{Attention is all you need}
      \field{year}{2017}
      \verb{doi}
      \verb 10.1000/xyz_1
      \endverb
    \endentry
    \enddatalist"""
    body = "It is \\parencite{v}."
    files = {"main.tex": document(body, "\\addbibresource{r.bib}", "\\printbibliography\n"), "main.bbl": bbl}
    [entry] = read(files=files).bibliography
    assert (entry.title, entry.authors, entry.venue, entry.year, entry.doi) == (
        "Attention is all you need",
        ("Ashish Vaswani", "Niki van der Berg"),
        "NeurIPS",
        "2017",
        "10.1000/xyz_1",
    )


def test_amsrefs(read):
    item = "\\begin{bibdiv}\\begin{biblist}\n\\bib{v}{article}{author={Lee, Ann}, author={Wu, Bo}, title={On $x$}, date={2001}, journal={J. X}}\n\\end{biblist}\\end{bibdiv}\n"
    [entry] = read("It is \\cite{v}.", bibliography=item).bibliography
    assert (entry.title, entry.authors, entry.venue, entry.year) == ("On x", ("Ann Lee", "Bo Wu"), "J. X", "2001")


def test_bbl_and_bib_together(read):
    bbl = "\\begin{thebibliography}{1}\n\\bibitem{v} A. Vaswani et al.\\newblock Attention is all you need.\\newblock 2017.\n\\end{thebibliography}"
    files = {
        "main.tex": document("It is \\cite{v,p}.", bibliography="\\bibliography{refs}\n"),
        "main.bbl": bbl,
        "refs.bib": BIBTEX,
    }
    paper = read(files=files)
    assert [(entry.key, entry.source) for entry in paper.bibliography] == [("v", "bbl"), ("p", "bib")]
    assert paper.entry("v").authors[0] == "Ashish Vaswani"


def test_a_paper_without_bibliography_says_so(read):
    assert any("no bibliography" in note for note in read("It is \\cite{a}.", bibliography="").notes)


@pytest.mark.parametrize(
    ("text", "people", "et_al"),
    [
        ("Waleed Ammar, Dirk Groeneveld, and Oren Etzioni", ("Waleed Ammar", "Dirk Groeneveld", "Oren Etzioni"), False),
        ("Vaswani, A., Shazeer, N., et al.", ("A. Vaswani", "N. Shazeer"), True),
        ("Smith, J.-P. & de Oliveira, S. D.", ("J.-P. Smith", "S. D. de Oliveira"), False),
        ("Wu X-G, Li Y", ("X-G Wu", "Y Li"), False),
        ("L. van der Maaten and G. Hinton", ("L. van der Maaten", "G. Hinton"), False),
        ("J. Smith, Jr. and A. Lee", ("J. Smith Jr.", "A. Lee"), False),
        ("Abadie, A. and M. D. Cattaneo", ("A. Abadie", "M. D. Cattaneo"), False),
        ("Vaswani, Ashish, Noam Shazeer, and Niki Parmar", ("Ashish Vaswani", "Noam Shazeer", "Niki Parmar"), False),
        ("Vaswani, Ashish; Shazeer, Noam; and Parmar, Niki", ("Ashish Vaswani", "Noam Shazeer", "Niki Parmar"), False),
        ("Vaswani, Ashish and Shazeer, Noam", ("Ashish Vaswani", "Noam Shazeer"), False),
        ("World Health Organization", ("World Health Organization",), False),
        ("A. Lee (Eds.)", ("A. Lee",), False),
        ("", (), False),
    ],
)
def test_people(text, people, et_al):
    assert split_people(text) == (people, et_al)


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("arXiv preprint arXiv:1706.03762v5", "1706.03762"),
        ("CoRR, abs/1512.03385, 2015", "1512.03385"),
        ("https://arxiv.org/pdf/2004.10706.pdf", "2004.10706"),
        ("arXiv:hep-th/9901001", "hep-th/9901001"),
        ("doi 10.1145/3308558.3313700", ""),
        ("pages 1234.56789", ""),
    ],
)
def test_arxiv_identifiers(text, right):
    assert arxiv_id(text) == right


# --- properties ---


@settings(max_examples=200)
@given(st.text(alphabet="AaBb .,:;()“”&-19207\ue002\ue003\ue004éÉ", max_size=80))
def test_no_entry_stops_the_reader(text):
    entry = from_text("k", 1, text, "", "bbl")
    assert entry.key == "k"


@settings(max_examples=200)
@given(st.text(alphabet='@article{}(),="#\\ab \n%1', max_size=80))
def test_no_bib_stops_the_reader(text):
    assert isinstance(read_bib(text), list | tuple | dict)


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("Vaswani AB", "AB Vaswani"),
        ("Smith, Jr., John", "John Smith Jr."),
        ("John Smith III", "John Smith III"),
        ("Smith, John, III", "John Smith III"),
        ("van der Berg, Niki", "Niki van der Berg"),
    ],
)
def test_given_names_come_first_and_generations_last(written, name):
    from factlab.sources.latex.people import natural

    assert natural(written) == name
