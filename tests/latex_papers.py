"""Small LaTeX papers for the tests of `factlab.sources.latex`."""

from pathlib import Path

from factlab import sources

BIB = r"""\begin{thebibliography}{9}
\bibitem[Smith et~al.(2020)Smith, Jones, and Wu]{a} Ann Smith, Bo Jones, and Cy Wu. \newblock A first work. \newblock \emph{Journal of Firsts}, 2020.
\bibitem[Lee(2021)]{b} Dan Lee. \newblock A second work. \newblock In \emph{Proceedings of Seconds}, 2021.
\bibitem[Roy and Kim(2019)]{c} Eve Roy and Flo Kim. \newblock A third work. \newblock 2019.
\end{thebibliography}
"""


def document(body: str, preamble: str = "", bibliography: str = BIB) -> str:
    return f"\\documentclass{{article}}\n{preamble}\n\\begin{{document}}\n{body}\n{bibliography}\\end{{document}}\n"


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def reader_in(folder: Path):
    """A function that reads a paper from its files, or from the body of its one document."""

    def read(
        body: str = "", preamble: str = "", bibliography: str = BIB, files: dict[str, str] | None = None
    ) -> sources.Paper:
        return sources.read_arxiv(write(folder, files or {"main.tex": document(body, preamble, bibliography)}))

    return read


def texts(paper: sources.Paper) -> list[str]:
    return [sentence.text for section in paper.sections for sentence in section.sentences]
