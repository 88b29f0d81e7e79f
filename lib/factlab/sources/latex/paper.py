"""A paper from its LaTeX source: title, sections, sentences with what they cite, bibliography.

The first step of REASONS (section 3): find the related work of a paper, take out the sentences that cite, and tell what they
cite. Goes in: what the authors uploaded to arXiv. Comes out: a frozen `Paper`. Nothing is run and the network is not used.
"""

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..files import SourceError, existing
from .archive import open_upload
from .bibliography import read_bibliography
from .entries import Entry
from .project import Files, choose_root
from .reader import Reader
from .sections import Beside, Section, Writer, build_sections, mark_related
from .tokens import CMD

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Paper:
    """What one paper says and cites.

    Parameters
    ----------
    title : str
    sections : tuple of Section
        In reading order, abstract and appendices among them.
    bibliography : tuple of Entry
        In the order printed.
    beside : tuple of Beside
        Floats and footnotes.
    abstract : str
    authors : str
        As printed below the title, in no fixed form.
    arxiv : str
        The identifier, where the name of the upload tells it: "1911.02782".
    cited : tuple of str
        All keys cited anywhere, in the order of their first citation.
    root : str
        The file that the paper begins with.
    files : tuple of str
        All files that were read, the root first.
    path : str
        The upload.
    notes : tuple of str
        What a user should know: files missing or left out, commands passed over, citations without an entry.
    """

    title: str
    sections: tuple[Section, ...]
    bibliography: tuple[Entry, ...]
    beside: tuple[Beside, ...]
    abstract: str
    authors: str
    arxiv: str
    cited: tuple[str, ...]
    root: str
    files: tuple[str, ...]
    path: str
    notes: tuple[str, ...]

    @property
    def name(self) -> str:
        """What tells this paper from others: its arXiv identifier, else the name of the upload."""
        return self.arxiv or Path(self.path).name

    @property
    def related_work(self) -> tuple[Section, ...]:
        """The sections that belong to the related work (see `factlab.sources.latex.names`)."""
        return tuple(section for section in self.sections if section.related)

    @property
    def text(self) -> str:
        """The prose of all sections, paragraphs separated by blank lines."""
        return "\n\n".join(section.text for section in self.sections if section.paragraphs)

    def entry(self, key: str) -> Entry | None:
        """The entry that a key cites."""
        return next((entry for entry in self.bibliography if entry.key == key), None)

    def citations(self, related: bool = True) -> "pd.DataFrame":
        """Sentences that cite, one row for each sentence and work.

        Parameters
        ----------
        related : bool
            Of the related work alone; otherwise of the whole text (floats and footnotes left aside).

        Returns
        -------
        DataFrame
            Columns ``source_id``, ``source_title``, ``section`` (its path, " > " between), ``sentence_no`` (from 0, within
            the section), ``sentence``, ``before``, ``after``, ``key``, ``textual``, ``cited_title``, ``cited_authors``
            (a list), ``cited_venue``, ``cited_year``, ``cited_arxiv``, ``cited_doi``, ``cited_text`` (the entry as printed),
            ``status``: "found"; "no entry" where the bibliography lacks the key; "no title" where its title is not told.
        """
        import pandas as pd

        entries = {entry.key: entry for entry in self.bibliography}
        rows = []
        for section in self.related_work if related else self.sections:
            for number, sentence in enumerate(section.sentences):
                for citation in sentence.citations:
                    for key in citation.keys:
                        entry = entries.get(key)
                        rows.append(
                            {
                                "source_id": self.name,
                                "source_title": self.title,
                                "section": " > ".join(section.path),
                                "sentence_no": number,
                                "sentence": sentence.text,
                                "before": sentence.before,
                                "after": sentence.after,
                                "key": key,
                                "textual": citation.textual,
                                "cited_title": entry.title if entry else "",
                                "cited_authors": list(entry.authors) if entry else [],
                                "cited_venue": entry.venue if entry else "",
                                "cited_year": entry.year if entry else "",
                                "cited_arxiv": entry.arxiv if entry else "",
                                "cited_doi": entry.doi if entry else "",
                                "cited_text": entry.raw if entry else "",
                                "status": "no entry" if not entry else "found" if entry.title else "no title",
                            }
                        )
        columns = (
            "source_id source_title section sentence_no sentence before after key textual cited_title cited_authors "
            "cited_venue cited_year cited_arxiv cited_doi cited_text status"
        )
        frame = pd.DataFrame(rows, columns=columns.split())
        return frame.drop_duplicates(["section", "sentence_no", "sentence", "key"], ignore_index=True)


def read_arxiv(path: str | Path) -> Paper:
    """Read a paper from its LaTeX source as uploaded to arXiv.

    Parameters
    ----------
    path : str or Path
        A .tar.gz, a .tar, one gzipped or plain .tex, or a folder.

    Returns
    -------
    Paper

    Raises
    ------
    SourceError
        The file is missing, empty, damaged, a PDF or the like, or holds no LaTeX paper.

    Notes
    -----
    Macros of simple kinds are expanded (``\\newcommand``, ``\\def`` with plain or delimited arguments, ``\\let``,
    ``\\NewDocumentCommand``, ``\\newenvironment``, operators), and conditionals decided where definitions decide them. Numbers
    of figures, sections and equations are not known: "[ref]" stands for them. What is left out is named in `notes`.
    """
    upload = open_upload(path)
    root = choose_root(upload)
    files = Files(upload, root)
    reader = Reader(files.fetch)
    reader.files = [root]
    tokens = files.tokens(root)
    reader.in_document = not any(
        token == (CMD, "begin") and tokens[place + 2 : place + 3] == [("t", "document")]
        for place, token in enumerate(tokens)
    )
    reader.run(tokens, reader.sink)
    reader.sink.paragraph()
    if not reader.in_document:
        reader.notes.append(
            "\\begin{document} stands in a file that is missing, or is never reached; all was read as text"
        )
    reader.finished = False
    cited = _cited(reader)
    entries, notes = read_bibliography(reader, upload.texts, root, cited)
    entries = [
        replace(entry, authors=tuple(name.replace("\ue00f", ",") for name in entry.authors)) for entry in entries
    ]
    writer = Writer(reader.citations, entries)
    sections = build_sections(reader.sink.blocks, writer)
    paths = writer.paths
    beside = tuple(
        Beside(aside.kind, paths[min(aside.block, len(paths) - 1)], writer.sentences(aside.paragraphs)[0])
        for aside in reader.asides
    )
    sections, related_note = mark_related(sections)
    title = writer.line(reader.text_of(reader.title)) if reader.title else ""
    authors = "; ".join(writer.line(reader.text_of(author)) for author in reader.authors)
    identifier = re.search(r"(?<!\d)(\d{4}\.\d{4,5})(?:v\d+)?(?!\d)", Path(path).name)
    all_notes = [*upload.notes, *reader.notes, *_reading_notes(reader), *notes, *related_note]
    if not any(section.paragraphs for section in sections):
        all_notes.append("no prose in it")
    return Paper(
        title=title,
        sections=sections,
        bibliography=tuple(entries),
        beside=beside,
        abstract="\n\n".join(
            section.text for section in sections if section.title == "Abstract" and section.paragraphs
        ),
        authors=authors,
        arxiv=identifier[1] if identifier else "",
        cited=tuple(cited),
        root=root,
        files=tuple(files.read),
        path=str(path),
        notes=tuple(dict.fromkeys(all_notes)),
    )


def read_papers(folder: str | Path) -> "tuple[list[Paper], pd.DataFrame]":
    """Read every upload in a folder: each archive, each .tex and each subfolder is one paper.

    Returns
    -------
    papers : list of Paper
        In the order of the names.
    problems : DataFrame
        Columns ``file``, ``level`` ("error": not read; "note": read, with a limitation), ``problem``.

    Raises
    ------
    SourceError
        There is no such folder, or nothing in it to read.
    """
    import pandas as pd

    folder = existing(folder, folder=True)
    if not folder.is_dir():
        raise SourceError(f"{folder}: a folder of papers is needed; read one paper with read_arxiv.")
    endings = (".tar.gz", ".tgz", ".tar", ".gz", ".tex")
    uploads = sorted(
        entry
        for entry in folder.iterdir()
        if not entry.name.startswith(".") and (entry.is_dir() or entry.name.lower().endswith(endings))
    )
    if not uploads:
        raise SourceError(f"{folder}: no paper in this folder; names must end in {', '.join(endings)}, or be folders.")
    papers, rows = [], []
    for upload in uploads:
        try:
            paper = read_arxiv(upload)
        except SourceError as error:
            rows.append((upload.name, "error", str(error)))
            continue
        rows += [(upload.name, "note", note) for note in paper.notes]
        papers.append(paper)
    return papers, pd.DataFrame(rows, columns=["file", "level", "problem"], dtype="str")


def _cited(reader: Reader) -> list[str]:
    keys = (key for citation in reader.citations for key in citation.keys)
    return list(dict.fromkeys(keys))


def _reading_notes(reader: Reader) -> list[str]:
    notes = [f"\\input of {target!r}: no such file in the upload" for target in dict.fromkeys(reader.missing)]
    if reader.unknown:
        most = [f"{name} ({count})" for name, count in reader.unknown.most_common(12)]
        more = " …" if len(reader.unknown) > 12 else ""
        notes.append(f"commands passed over, the text in their braces kept: {', '.join(most)}{more}")
    if reader.unread:
        notes.append("left out: " + ", ".join(f"{count} {name}" for name, count in reader.unread.most_common()))
    if reader.macros.undecided:
        names = ", ".join(f"{name} ({count})" for name, count in reader.macros.undecided.most_common(8))
        notes.append(f"conditionals that could not be decided, their first branch kept: {names}")
    if reader.macros.refused:
        names = ", ".join("\\" + name for name, _ in reader.macros.refused.most_common(5))
        notes.append(f"macros without an end, or too many: {names} left out")
    return notes
