"""A folder of documents as texts: what an examination is written from (MS-Exam-Gen, sections III.A and IV).

Text, Markdown, HTML, PDF and JATS go in; documents come out, and beside them a manifest that says of every file whether it is in the
corpus, and why not. Nothing is fetched, and no file is changed. `chunk` cuts documents into passages that know where they stand.
"""

from __future__ import annotations

import hashlib
import io
import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from .files import SourceError, existing, foreign_format, nearest, read_bytes

if TYPE_CHECKING:
    import pandas as pd

KINDS = {
    ".txt": "text", ".text": "text", ".md": "Markdown", ".markdown": "Markdown", ".html": "HTML", ".htm": "HTML",
    ".xhtml": "HTML", ".pdf": "PDF", ".xml": "JATS", ".nxml": "JATS",
}  # fmt: skip
MANIFEST = ("file", "title", "kind", "included", "why", "chars", "chunks", "sha256", "note")
CHUNKS = ("chunk_id", "file", "title", "start", "end", "text", "sha256")
REFERENCES = ("keep", "leave out")
_SCAN = 40  # letters a page below which a PDF is taken for pictures of pages


@dataclass(frozen=True)
class Document:
    """One document of a corpus.

    Attributes
    ----------
    file : its path in the folder, `/` between; of several articles in one file, with `#` and the article's name.
    title : as the document gives it, else the file's name.
    kind : of `KINDS`.
    text : text and Markdown as they stand; of the others the prose, paragraphs separated by blank lines.
    note : what a user should know of it, '' where there is nothing.
    """

    file: str
    title: str
    kind: str
    text: str
    note: str = ""

    @property
    def sha256(self) -> str:
        """Of the text, as UTF-8."""
        return hashlib.sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()


def read_corpus(
    folder: str | Path,
    manifest: str | Path | None = None,
    references: str = "leave out",
    only: Sequence[str] = (),
) -> tuple[list[Document], pd.DataFrame]:
    """Read every document in a folder and in those beneath it.

    Parameters
    ----------
    folder : path
        Or a single file. Names that begin with a dot are passed over.
    manifest : path, optional
        A table with ``file`` and, where wanted, ``title``, ``included`` (yes or no; empty: yes) and ``why``: what a person decided.
        Files that it does not name are read as if there were none.
    references : str
        'leave out' ends a text, Markdown, HTML or PDF document before its list of references, where a heading tells it; of JATS only the prose is
        ever read. 'keep' keeps it.

    only : sequence of str
        Names of files, as the manifest gives them, to take; empty: all.

    Returns
    -------
    documents : list of Document
        Those that are included, in the order of their names.
    manifest : DataFrame
        Columns `MANIFEST`, one row a file (or article): ``included`` (bool) and ``why`` not; ``chars`` of the text, ``chunks`` 0 until
        `chunk` has cut it (`counted`), ``sha256`` of the text, empty where there is none.

    Raises
    ------
    SourceError
        There is no such folder, no file in it is of a kind that is read, the manifest cannot be used, `only` names a file that is not there,
        or `references` is something else.

    Notes
    -----
    Left out, with the reason in ``why``: what the manifest or `only` says; kinds that are not read; what cannot be opened; documents without text
    (such as scanned PDFs); and a text that another file has too. A file that the manifest names and that is not there has a row.
    """
    import pandas as pd

    if references not in REFERENCES:
        raise SourceError(f"references is {references!r}; it can be {' or '.join(map(repr, REFERENCES))}")
    folder = existing(folder, folder=True)
    files = [folder]
    if folder.is_dir():
        found = (
            path for path in folder.rglob("*") if not path.is_dir()
        )  # a link that leads nowhere has its row as well
        files = sorted(p for p in found if not any(part.startswith(".") for part in p.relative_to(folder).parts))
    if not any(_kind(file) for file in files):
        raise SourceError(f"{folder}: no document in this folder; file names must end in {', '.join(KINDS)}.")
    decided = _decisions(manifest) if manifest else {}
    names = [_safe(path.relative_to(folder).as_posix() if path != folder else path.name) for path in files]
    if absent := [name for name in only if _safe(name) not in names]:
        hint = nearest(absent[0], names)
        raise SourceError(
            f"{folder}: there is no {absent[0]!r} in it" + (f"; did you mean {hint[0]!r}?" if hint else ".")
        )
    documents: list[Document] = []
    rows: list[tuple] = []
    first: dict[str, str] = {}
    for path, name in zip(files, names, strict=True):
        said = decided.pop(name, {})
        if only and name not in map(_safe, only):
            rows.append(_row(name, said.get("title", ""), _kind(path), "not among the files asked for"))
            continue
        if said.get("included", "") in ("no", "false", "0"):
            rows.append(_row(name, said.get("title", ""), _kind(path), said.get("why") or "left out by the manifest"))
            continue
        kind = _kind(path)
        if not kind:
            rows.append(_row(name, "", "", f"{path.suffix or 'a name without ending'} is no kind that is read"))
            continue
        try:
            read = _read(path, name, kind)
        except SourceError as error:
            rows.append(_row(name, said.get("title", ""), kind, str(error).removeprefix(f"{path}: ")))
            continue
        for document in read:
            title = said.get("title") if len(read) == 1 else ""
            document = replace(document, title=title or document.title)
            if references == "leave out" and kind != "JATS":
                document = replace(document, text=without_references(document.text))
            digest = document.sha256
            why = ""
            if not re.search(r"\w", document.text):
                why = document.note or "there is no text in it"
            elif digest in first:
                why = f"the same text as {first[digest]}"
            else:
                first[digest] = document.file
                documents.append(document)
            size = len(document.text)
            rows.append((document.file, document.title, kind, not why, why, size, 0, digest, document.note))
    rows += [
        _row(name, said.get("title", ""), "", "named in the manifest, but not in the folder")
        for name, said in decided.items()
    ]
    table = pd.DataFrame(rows, columns=list(MANIFEST))
    texts = ["file", "title", "kind", "why", "sha256", "note"]
    return documents, table.astype(
        dict.fromkeys(texts, "str") | {"included": bool, "chars": "int64", "chunks": "int64"}
    )


def chunk(
    documents: Sequence[Document], size: int = 1200, overlap: int = 200, whole_sentences: bool = False
) -> pd.DataFrame:
    """Documents cut into overlapping passages.

    Parameters
    ----------
    documents : from `read_corpus`.
    size, overlap : in characters; 1,200 and 200 as published.
    whole_sentences : False cuts after exactly `size` characters, as published, through sentences and tables; True keeps sentences whole
        (see `retrieval.chunks`).

    Returns
    -------
    DataFrame, in reading order: chunk_id (file, @, start), file, title, start, end (offsets in the document's text), text, sha256 (of the
    passage as UTF-8).
    """
    import pandas as pd

    from factlab.retrieval import chunks

    found = []
    for document in documents:
        made = chunks(document.text, size, overlap, whole_sentences)
        made.insert(0, "title", pd.array([document.title] * len(made), dtype="str"))
        made.insert(0, "file", pd.array([document.file] * len(made), dtype="str"))
        made.insert(0, "chunk_id", pd.array([f"{document.file}@{start}" for start in made["start"]], dtype="str"))
        found.append(made)
    if not found:
        kinds = dict.fromkeys(CHUNKS, "str") | {"start": "int64", "end": "int64"}
        return pd.DataFrame(columns=list(CHUNKS)).astype(kinds)
    return pd.concat(found, ignore_index=True)


def counted(manifest: pd.DataFrame, chunks: pd.DataFrame) -> pd.DataFrame:
    """The manifest with the number of passages of each file."""
    return manifest.assign(chunks=manifest["file"].map(chunks["file"].value_counts()).fillna(0).astype("int64"))


def cut_sentences(documents: Sequence[Document], chunks: pd.DataFrame) -> tuple[int, int]:
    """How many sentences (headings, list items and table rows count as such) stand whole in no passage, and of how many.

    MS-Exam-Gen, section III.A: cutting by characters may split tables, lists or neighbouring criteria.
    """
    from factlab.text import fold, sentences

    split = every = 0
    shown = {file: [fold(text) for text in own] for file, own in chunks.groupby("file")["text"]}
    for document in documents:
        passages = shown.get(document.file, [])
        # What a document says twice is one sentence here.
        own = dict.fromkeys(fold(sentence) for sentence in sentences(document.text))
        every += len(own)
        split += sum(not any(sentence in passage for passage in passages) for sentence in own)
    return split, every


_HEADING = re.compile(
    r"^[ \t]*(?:#{1,6}[ \t]*)?(?:\*\*)?(?:\d+\.?[ \t]+)?(?:references|bibliography|literature(?: cited)?|works cited|further reading)"
    r"(?:\*\*)?[ \t]*:?[ \t]*(?:\n[ \t]*[-=]{3,}[ \t]*)?$",
    re.IGNORECASE | re.MULTILINE,
)


def without_references(text: str) -> str:
    """A text up to its list of references: the last line that is nothing but such a heading, in the second half of the text.

    A heading in the first half is left alone: a table of contents has one, too.
    """
    found = [match for match in _HEADING.finditer(text) if match.start() >= len(text) / 2]
    return text[: found[-1].start()].rstrip() + "\n" if found else text


# --- one file ------------------------------------------------------------------------------------------------------------------------


def _row(file: str, title: str, kind: str, why: str) -> tuple:
    return (file, title, kind, False, why, 0, 0, "", "")


def _safe(name: str) -> str:
    # Ids of several sources are written with "; " between.
    return name.replace(";", ",")


def _kind(path: Path) -> str:
    name = path.name.lower()
    inner = Path(name.removesuffix(".gz")).suffix if name.endswith((".xml.gz", ".nxml.gz")) else path.suffix.lower()
    return KINDS.get(inner, "")


def _decisions(path: str | Path) -> dict[str, dict[str, str]]:
    from .tables import read_table

    table, _ = read_table(path, required=["file"], optional=["title", "included", "why"])
    found: dict[str, dict[str, str]] = {}
    for number, row in zip(table.index, table.to_dict("records"), strict=True):
        included = row["included"].strip().lower()
        if included not in ("", "yes", "no", "true", "false", "1", "0"):
            raise SourceError(f"{path}, row {number}: included is {row['included']!r}, expected yes or no")
        if _safe(row["file"]) in found:
            raise SourceError(f"{path}, row {number}: {row['file']} stands there twice; leave one")
        found[_safe(row["file"])] = {"title": row["title"].strip(), "included": included, "why": row["why"].strip()}
    return found


def _read(path: Path, name: str, kind: str) -> list[Document]:
    if kind == "JATS":
        return _jats(path, name)
    data = read_bytes(path)
    foreign = foreign_format(data)
    if foreign and not (kind == "PDF" and foreign == "a PDF file"):
        raise SourceError(f"{path}: this is {foreign}, whatever its name says; give it its own ending.")
    made = {"PDF": _pdf, "HTML": _html}.get(kind, _plain)(path, data)
    title, text, note = made
    return [Document(name, " ".join(title.split()) or Path(name).stem, kind, text, note)]


def _jats(path: Path, name: str) -> list[Document]:
    from .jats import read_articles

    articles, problems = read_articles(path)
    if not articles:
        raise SourceError(str(problems["problem"].iloc[0]))
    several = len(articles) > 1
    return [
        Document(f"{name}#{_safe(a.name)}" if several else name, a.title or a.name, "JATS", a.text, "; ".join(a.notes))
        for a in articles
    ]


def _plain(path: Path, data: bytes) -> tuple[str, str, str]:
    """Text and Markdown: as it stands, so that offsets are those of the file."""
    text, note = _decoded(path, data)
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    front = re.match(r"---\n(.*?)\n---\n", text, re.DOTALL)
    named = re.search(r"^title\s*:\s*[\"']?(.+?)[\"']?\s*$", front[1], re.MULTILINE | re.IGNORECASE) if front else None
    heading = re.search(r"^[ \t]*#[ \t]+(.+?)[ \t#]*$|^(\S.*)\n=+[ \t]*$", text, re.MULTILINE)
    title = named[1] if named else (heading[1] or heading[2]) if heading else ""
    return title, text, note


def _decoded(path: Path, data: bytes) -> tuple[str, str]:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace"), ""
    if b"\x00" in data[:1000]:
        raise SourceError(f"{path}: holds zero bytes, so it is no text; give it its own ending, or leave it out.")
    note = ""
    if zeros := data.count(b"\x00"):
        # A stray one further down spoils no file, but must not get into passages and prompts.
        line = data[: data.index(b"\x00")].count(b"\n") + 1
        note = f"{zeros} zero byte{'s' * (zeros != 1)} (first in line {line}) read as blank{'s' * (zeros != 1)}"
        data = data.replace(b"\x00", b" ")
    try:
        return data.decode("utf-8-sig"), note
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        read = f"not UTF-8 (line {line}); read as Windows-1252, check the accents"
        return data.decode("cp1252", "replace"), "; ".join(filter(None, [read, note]))


_BLOCKS = re.compile(
    "address|article|aside|blockquote|body|caption|d[dlt]|details|div|figcaption|figure|h[1-6]|hr|li|main|ol|p|pre|section|summary"
    "|table|tbody|tfoot|thead|tr|ul"
)
_NO_TEXT = re.compile(
    "script|style|noscript|template|svg|math|nav|form|button|select|textarea|iframe|object|head|footer"
)


def _html(path: Path, data: bytes) -> tuple[str, str, str]:
    from lxml import etree, html

    try:
        data.decode("utf-8")
        encoding = "utf-8"
    except UnicodeDecodeError:
        encoding = None  # as the page itself says
    try:
        root = html.fromstring(data, parser=html.HTMLParser(encoding=encoding, no_network=True, huge_tree=False))
    except (etree.ParserError, etree.XMLSyntaxError, ValueError) as error:
        raise SourceError(f"{path}: no HTML that can be read ({error}).") from None
    title = root.findtext(".//title") or ""
    body = root.find(".//body")
    body = root if body is None else body
    lines: list[str] = [""]

    def walk(element) -> None:
        tag = element.tag if isinstance(element.tag, str) else ""
        if tag and not _NO_TEXT.fullmatch(tag):
            if _BLOCKS.fullmatch(tag):
                lines.append("")
            if tag == "li":
                lines[-1] += "- "
            lines[-1] += element.text or ""
            for child in element:
                walk(child)
            if tag in ("td", "th"):
                lines[-1] += " | "
            if tag == "br":
                lines[-1] += "\n"
            if _BLOCKS.fullmatch(tag):
                lines.append("")
        lines[-1] += element.tail or ""

    try:
        walk(body)
    except RecursionError:
        raise SourceError(f"{path}: elements stand in each other too deeply to be read.") from None
    if not title.strip():
        heading = body.find(".//h1")
        title = "" if heading is None else heading.text_content()
    kept = [" ".join(line.split()).removesuffix(" |") for line in lines]
    return title, "\n\n".join(line for line in kept if line.strip("- |")), ""


def _pdf(path: Path, data: bytes) -> tuple[str, str, str]:
    import pypdf

    logger = logging.getLogger("pypdf")
    before = logger.level
    logger.setLevel(logging.CRITICAL)  # it would print a line for every oddity of a file
    try:
        reader = pypdf.PdfReader(io.BytesIO(data), strict=False)
        if reader.is_encrypted and not reader.decrypt(""):
            raise SourceError(f"{path}: it is locked with a password; save a copy without.")
        pages = [page.extract_text() for page in reader.pages]
        title = str((reader.metadata or {}).get("/Title") or "")
    except SourceError:
        raise
    except Exception as error:  # a damaged PDF raises whatever its damage leads to
        why = " ".join(str(error).split())[:200]
        raise SourceError(f"{path}: no PDF that can be read ({type(error).__name__}: {why}).") from None
    finally:
        logger.setLevel(before)
    text = "\n\n".join(page.strip() for page in pages if page.strip())
    # A word divided at the end of a line; a quote would hold it whole.
    text = re.sub(r"(?<=[a-zß-ÿ])[-\u00ad\u2010]\n(?=[a-zß-ÿ])", "", text)
    empty = sum(len(page.strip()) < _SCAN for page in pages)
    if empty == len(pages):
        few = "no page" if not pages else f"{len(pages)} pages"
        return title, "", f"{few} with text: pictures of pages need text recognition first"
    note = f"{empty} of {len(pages)} pages have next to no text" if empty else ""
    return title, text, note
