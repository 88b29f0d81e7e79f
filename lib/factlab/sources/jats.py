"""Journal articles in JATS XML (and its forerunner, the NLM archiving DTD): title, prose, sections, references.

Used as evidence for DAHL's checker (section 3.2: questions come from PubMed Central articles), for examinations
and for citations. A file or a folder of them goes in; frozen `Article`s come out. The network is never used: external
DTDs and entities are not loaded.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lxml import etree

from .files import SourceError, existing, read_bytes
from .markup import Beside, Float, loose, paragraphs_of, paragraphs_of_child, text_of
from .parsing import parse
from .references import Reference, people, read_reference

if TYPE_CHECKING:
    import pandas as pd

_SUFFIXES = (".xml", ".nxml", ".xml.gz", ".nxml.gz")


@dataclass(frozen=True)
class Section:
    """One section, without its subsections.

    Parameters
    ----------
    path : tuple of str
        Titles from the outermost section inwards: ``("Methods", "Step 1")``. Empty for paragraphs of the body that
        stand in no section. A section without a title goes by its kind ("Abstract", "Acknowledgements", its
        ``sec-type``).
    title, label : str
        As printed; "2.1" is a label. Empty where nothing is printed.
    paragraphs : tuple of str
        Empty for a section that holds only subsections.
    part : str
        "abstract", "body" or "back".
    """

    path: tuple[str, ...]
    title: str
    label: str
    paragraphs: tuple[str, ...]
    part: str

    @property
    def text(self) -> str:
        """The paragraphs, separated by blank lines."""
        return "\n\n".join(self.paragraphs)


@dataclass(frozen=True)
class Article:
    """What one journal article says.

    Parameters
    ----------
    title : str
        With the subtitle, after a colon.
    abstract : str
        The article's own abstracts in the order printed, paragraphs separated by blank lines.
    text : str
        The prose from the abstract to the end of the body: no headings, no floats, no back matter. Paragraphs and
        list items are separated by blank lines. See `factlab.sources.markup` for scripts and formulas.
    sections : tuple of Section
        The same prose, with its headings, in reading order.
    back : tuple of Section
        Acknowledgements, appendices, notes, glossary, and abstracts in other languages: not part of `text`.
    references : tuple of Reference
        One for each ``<ref>``, in order.
    floats : tuple of Float
        Figures, tables, boxes, supplements, footnotes.
    pmcid, pmid, doi : str
        "PMC2491404", "18373114", "10.1007/…"; empty where the file names none.
    authors, keywords : tuple of str
        Authors as "Surname, Given names", or the name of a group.
    journal : str
    year : int or None
        Of the first publication.
    licence : str
        The address of the licence, else its text, else the empty string.
    path : str
        The file that it was read from.
    notes : tuple of str
        What a user should know: no body, formulas that exist only as pictures, parts left out.
    """

    title: str
    abstract: str
    text: str
    sections: tuple[Section, ...]
    back: tuple[Section, ...]
    references: tuple[Reference, ...]
    floats: tuple[Float, ...]
    pmcid: str
    pmid: str
    doi: str
    authors: tuple[str, ...]
    keywords: tuple[str, ...]
    journal: str
    year: int | None
    licence: str
    path: str
    notes: tuple[str, ...]

    @property
    def name(self) -> str:
        """What tells this article from others: its PMC id, else its DOI, PubMed id, file name or title."""
        return self.pmcid or self.doi or self.pmid or Path(self.path).stem or self.title


def read_jats(path: str | Path) -> Article:
    """Read the one article in a JATS or NLM file (.xml, .nxml, also gzipped).

    The article may stand in an envelope: ``<pmc-articleset>``, an OAI-PMH ``<record>``. An article with an abstract
    and no body is read, and says so in `notes`.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    Article

    Raises
    ------
    SourceError
        The file is missing, empty, not XML (line and column are named), holds no article (the root element is named),
        or more than one (use `read_articles`).

    Notes
    -----
    Left out, as no part of what the article says: affiliations, dates and other front matter not listed in `Article`,
    ``<sub-article>`` and ``<response>`` (noted), and what `factlab.sources.markup.HIDDEN` names.
    """
    articles = _read_all(path)
    if len(articles) > 1:
        raise SourceError(f"{path}: holds {len(articles)} articles; read them all with read_articles.")
    return articles[0]


def read_articles(folder: str | Path) -> "tuple[list[Article], pd.DataFrame]":
    """Read every JATS file in a folder and in those beneath it.

    Parameters
    ----------
    folder : str or Path
        Or a single file, which may hold several articles. Names that begin with a dot are passed over.

    Returns
    -------
    articles : list of Article
        In the order of the file names.
    problems : DataFrame
        Columns ``file``, ``level`` ("error": not read; "note": read, with a limitation), ``problem``.

    Raises
    ------
    SourceError
        There is no such folder, or no file in it whose name ends in .xml or .nxml (or either with .gz).
    """
    import pandas as pd

    folder = existing(folder, folder=True)
    files = [folder]
    if folder.is_dir():
        found = (p for p in folder.rglob("*") if p.name.lower().endswith(_SUFFIXES) and p.is_file())
        files = sorted(p for p in found if not any(part.startswith(".") for part in p.relative_to(folder).parts))
    if not files:
        raise SourceError(f"{folder}: no article in this folder; file names must end in {', '.join(_SUFFIXES)}.")
    articles, rows, seen = [], [], {}
    for file in files:
        name = str(file.relative_to(folder)) if file != folder else file.name
        try:
            read = _read_all(file)
        except SourceError as error:
            rows.append((name, "error", str(error)))
            continue
        for article in read:
            rows += [(name, "note", note) for note in article.notes]
            key = article.pmcid or article.doi or article.pmid
            if key and key in seen:
                rows.append((name, "note", f"the article {key} is also in {seen[key]}; both are kept"))
            seen.setdefault(key, name)
        articles += read
    return articles, pd.DataFrame(rows, columns=["file", "level", "problem"], dtype="str")


def _read_all(path: str | Path) -> list[Article]:
    root, notes = parse(read_bytes(path), str(path))
    found = [a for a in root.iter("article") if next(a.iterancestors("article"), None) is None]
    articles = [a for a in found if a.find("front") is not None or a.find("body") is not None]
    if not articles:
        reply = next(root.iter("Reply", "error"), None)
        said = f" It says: {reply.get('error') or text_of(reply)}." if reply is not None else ""
        what = "an <article> with neither <front> nor <body>" if found else f"<{root.tag}>"
        raise SourceError(
            f"{path}: no JATS article; the root element is {what}, and <article> (or an envelope around it) is "
            f"needed.{said}"
        )
    return [_article(element, str(path), notes) for element in articles]


# --- one article ------------------------------------------------------------------------------------------------------


def _article(article: etree._Element, path: str, notes: list[str]) -> Article:
    meta = article.find("front/article-meta")
    if meta is None:
        meta = etree.Element("article-meta")
    beside = Beside()
    sections: list[Section] = []
    back: list[Section] = []
    for element in meta.iterchildren("abstract", "trans-abstract"):
        own = element.tag == "abstract"
        path_ = (text_of(element.find("title")) or "Abstract",)
        (sections if own else back).extend(_sections(element, path_, "abstract" if own else "back", beside))
    body = article.find("body")
    if body is not None:
        sections += _sections(body, (), "body", beside)
    for element in article.iterchildren("floats-group", "floats-wrap"):
        paragraphs_of(element, beside)
    for element in article.iterchildren("back"):
        for child in element:
            back += _back(child, beside)
    abstract = [p for s in sections if s.part == "abstract" for p in s.paragraphs]
    ids = {e.get("pub-id-type"): text_of(e) for e in meta.iterchildren("article-id")}
    pmc = ids.get("pmcid") or ids.get("pmc") or ""
    return Article(
        title=_title(meta),
        abstract="\n\n".join(abstract),
        text="\n\n".join(p for s in sections for p in s.paragraphs),
        sections=tuple(sections),
        back=tuple(back),
        references=tuple(read_reference(ref) for ref in article.iter("ref") if _is_own(ref, article)),
        floats=tuple(beside.floats),
        pmcid=f"PMC{pmc}" if pmc.isdecimal() else pmc,
        pmid=ids.get("pmid", ""),
        doi=ids.get("doi", ""),
        authors=tuple(_authors(meta)),
        keywords=tuple(_keywords(meta)),
        journal=next((text_of(e) for e in article.iterfind("front/journal-meta//journal-title")), ""),
        year=_year(meta),
        licence=_licence(meta),
        path=path,
        notes=(*notes, *_notes(article, sections, beside)),
    )


def _is_own(ref: etree._Element, article: etree._Element) -> bool:
    return next(ref.iterancestors("sub-article", "response", "article")) is article


def _sections(element: etree._Element, path: tuple[str, ...], part: str, beside: Beside) -> Iterator[Section]:
    """The sections of an element in reading order; text after a subsection comes as a section of the same path."""
    title = text_of(element.find("title"))
    label = text_of(element.find("label"))
    pending = loose(element.text)
    said = not path  # the body itself is no section, unless it has paragraphs of its own
    for child in element:
        if child.tag == "sec":
            if pending or not said:
                yield Section(path, title, label, tuple(pending), part)
            pending, said = [], True
            yield from _sections(child, _path_below(path, child), part, beside)
        elif child.tag not in ("title", "label"):
            pending += paragraphs_of_child(child, beside)
        pending += loose(child.tail)
    if pending or not said:
        yield Section(path, title, label, tuple(pending), part)


def _path_below(path: tuple[str, ...], section: etree._Element) -> tuple[str, ...]:
    title = text_of(section.find("title")) or _kind(section)
    return (*path, title) if title else path


def _kind(section: etree._Element) -> str:
    """The kind of a section as a title: "materials|methods" is "Materials and methods"."""
    return (section.get("sec-type") or "").replace("-", " ").replace("|", " and ").capitalize()


_BACK_TITLES = {
    "ack": "Acknowledgements",
    "app": "Appendix",
    "bio": "Biography",
    "fn-group": "Footnotes",
    "glossary": "Glossary",
    "notes": "Notes",
}


def _back(element: etree._Element, beside: Beside) -> Iterator[Section]:
    if element.tag == "ref-list":
        return
    if element.tag == "app-group":
        for child in element:
            yield from _back(child, beside)
        return
    title = text_of(element.find("title")) or _BACK_TITLES.get(element.tag, "")
    yield from _sections(element, (title,) if title else (), "back", beside)


def _title(meta: etree._Element) -> str:
    group = meta.find("title-group")
    if group is None:
        return ""
    names = ("article-title", "subtitle")
    for mark in list(group.iterfind(".//xref[@ref-type='fn']")) + list(group.iterfind(".//fn")):
        # "Title*": the mark of a footnote is not part of the title.
        mark.text, mark[:] = None, []
    return ": ".join(t for e in group.iterchildren(*names) if (t := text_of(e)))


def _authors(meta: etree._Element) -> Iterator[str]:
    for contributor in meta.iterfind("contrib-group/contrib"):
        if contributor.get("contrib-type", "author") == "author":
            yield from people(contributor)


def _keywords(meta: etree._Element) -> Iterator[str]:
    for group in meta.iterchildren("kwd-group"):
        if "abbr" not in group.get("kwd-group-type", "").lower():
            yield from (text for e in group.iter("kwd", "compound-kwd") if (text := text_of(e)))


def _year(meta: etree._Element) -> int | None:
    years = []
    for date in meta.iterchildren("pub-date"):
        kind = f"{date.get('pub-type', '')} {date.get('date-type', '')}"
        year = re.search(r"\d{4}", text_of(date.find("year")) or text_of(date))
        if year and not re.search("release|preprint|submitted|retract|correct", kind):
            years.append(int(year[0]))
    if not years and (year := re.search(r"\d{4}", text_of(meta.find(".//copyright-year")))):
        years.append(int(year[0]))
    return min(years, default=None)


_HREF = "{http://www.w3.org/1999/xlink}href"


def _licence(meta: etree._Element) -> str:
    for element in meta.iter("license", "license_ref"):
        for node in (element, *element.iter("ext-link", "license_ref", "uri")):
            address = node.get(_HREF) or (text_of(node) if node.tag == "license_ref" else "")
            if "://" in address:
                return address
    texts = (text_of(e) for tag in ("license", "copyright-statement") for e in meta.iter(tag))
    return next((text for text in texts if text), "")


def _notes(article: etree._Element, sections: list[Section], beside: Beside) -> Iterator[str]:
    if not any(s.part == "body" and s.paragraphs for s in sections):
        has = "only the abstract" if any(s.paragraphs for s in sections) else "no prose at all"
        yield f"the file has no text in its <body>: {has} is there"
    if lost := beside.counts["formula"]:
        yield f"{lost} formula{'s' if lost > 1 else ''} only as a picture, shown as […]"
    for tag in ("sub-article", "response"):
        if others := len(article.findall(tag)):
            yield f"{others} <{tag}> left out"
