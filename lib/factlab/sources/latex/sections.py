"""From what the reader wrote to sections and their sentences, with what each sentence cites and what stands around it."""

import re
from dataclasses import dataclass, replace

from ... import text as prose
from .blocks import Block
from .citations import MARKED, Citation, shown
from .entries import Entry
from .names import is_related, may_be_related
from .reader import PRIVATE


@dataclass(frozen=True)
class Sentence:
    """One sentence of a paper.

    Parameters
    ----------
    text : str
        With citations as a reader sees them: "[3, 7]" by the numbers of the bibliography, "He et al. [3]" where the names
        are part of the sentence.
    citations : tuple of Citation
    before, after : str
        The sentences around it in the same section; empty at its ends.
    paragraph : int
        Which paragraph of the section, from 0.
    """

    text: str
    citations: tuple[Citation, ...]
    before: str
    after: str
    paragraph: int

    @property
    def keys(self) -> tuple[str, ...]:
        """All keys cited, each once."""
        return tuple(dict.fromkeys(key for citation in self.citations for key in citation.keys))

    @property
    def bare(self) -> str:
        """The sentence with all citations taken out, the authors' names of textual ones among them."""
        return self.masked("")

    def masked(self, mark: str = "[CITATION]") -> str:
        """The sentence with `mark` in place of each citation."""
        pieces, position = [], 0
        for citation in self.citations:
            pieces += [self.text[position : citation.start], mark]
            position = citation.end
        text = " ".join("".join([*pieces, self.text[position:]]).split())
        text = re.sub(r"\s*\(\s*\)|\s*\[\s*\]", "", text)
        return re.sub(r"\s+([,.;:!?)])", r"\1", text).strip()


@dataclass(frozen=True)
class Section:
    """One section, without its subsections.

    Parameters
    ----------
    path : tuple of str
        Titles from the outermost inwards: ``("Related Work", "Datasets")``.
    title : str
        Empty for text before the first heading.
    level : int
        1 section, 2 subsection, 3 subsubsection, 4 and 5 (sub)paragraph, 6 a bold run-in heading; 0 chapter.
    starred, appendix : bool
    labels : tuple of str
    paragraphs : tuple of str
        Citations as in `Sentence.text`.
    sentences : tuple of Sentence
    related : bool
        It belongs to the related work, by its title or that of a section around it.
    """

    path: tuple[str, ...]
    title: str
    level: int
    starred: bool
    appendix: bool
    labels: tuple[str, ...]
    paragraphs: tuple[str, ...]
    sentences: tuple[Sentence, ...]
    related: bool = False

    @property
    def text(self) -> str:
        """The paragraphs, separated by blank lines."""
        return "\n\n".join(self.paragraphs)


@dataclass(frozen=True)
class Beside:
    """What stands beside the text: a figure's caption, a table, a footnote.

    Parameters
    ----------
    kind : str
        "figure", "table", "algorithm", "listing", "caption", "footnote", "keywords", "biography".
    section : tuple of str
        Path of the section that it stands in.
    sentences : tuple of Sentence
    """

    kind: str
    section: tuple[str, ...]
    sentences: tuple[Sentence, ...]


_RUN = re.compile(f"{MARKED.pattern}(?:[\\s,;]*{MARKED.pattern})*".replace("(\\d+)", "\\d+"))


class Writer:
    """Puts citations into text, now that their numbers and names are known."""

    def __init__(self, citations: list[Citation], entries: list[Entry]):
        self.citations = citations
        self.numbers = {entry.key: entry.number for entry in entries}
        self.names = {entry.key: entry.short for entry in entries}
        self.years = {entry.key: entry.year for entry in entries}
        self.paths: list[tuple[str, ...]] = [()]

    def _show(self, index: str) -> str:
        return shown(self._resolved(int(index)), self.numbers, self.names, self.years)

    def _resolved(self, index: int) -> Citation:
        citation = self.citations[index]
        note = {part: MARKED.sub("", getattr(citation, part)) for part in ("prenote", "postnote")}
        return replace(citation, **note)

    def line(self, text: str) -> str:
        """A text with its citations shown."""
        return " ".join(PRIVATE.sub("", MARKED.sub(lambda match: self._show(match[1]), text)).split())

    def sentences(self, paragraphs: list[str]) -> tuple[tuple[Sentence, ...], tuple[str, ...]]:
        """The sentences of some paragraphs, with neighbours, and the paragraphs as shown."""
        found: list[tuple[str, tuple[Citation, ...], int]] = []
        for number, paragraph in enumerate(paragraphs):
            found += [(text, citations, number) for text, citations in self._split(paragraph)]
        sentences = tuple(
            Sentence(
                text,
                citations,
                found[place - 1][0] if place else "",
                found[place + 1][0] if place + 1 < len(found) else "",
                paragraph,
            )
            for place, (text, citations, paragraph) in enumerate(found)
        )
        return sentences, tuple(self.line(paragraph) for paragraph in paragraphs)

    def _split(self, paragraph: str) -> list[tuple[str, tuple[Citation, ...]]]:
        """Sentences of one paragraph. While it is split, a run of citations stands as what the splitter knows: "[987]",
        or a name where the names are part of the sentence."""
        literal = set(re.findall(r"\[(\d+)\]", paragraph))
        free = iter([n for n in range(999, 99, -1) if str(n) not in literal] or [999])
        runs: dict[str, str] = {}

        def stand_in(match: re.Match) -> str:
            first = self.citations[int(MARKED.search(match[0])[1])]
            number = next(free, None)
            if number is None:
                return match[0]
            name = f"Xref{number}x" if first.textual else f"[{number}]"
            runs[name] = match[0]
            return name

        text = _RUN.sub(stand_in, paragraph)
        pattern = re.compile("|".join(map(re.escape, runs))) if runs else None
        result = []
        for sentence in prose.sentences(text):
            restored = pattern.sub(lambda match: runs[match[0]], sentence) if pattern else sentence
            result.append(self._with_places(restored))
        return result

    def _with_places(self, marked: str) -> tuple[str, tuple[Citation, ...]]:
        pieces, citations, position, length = [], [], 0, 0
        for match in MARKED.finditer(marked):
            citation = self._resolved(int(match[1]))
            before = PRIVATE.sub("", marked[position : match.start()])
            text = self._show(match[1])
            pieces += [before, text]
            start = length + len(before)
            length = start + len(text)
            citations.append(replace(citation, start=start, end=length))
            position = match.end()
        pieces.append(PRIVATE.sub("", marked[position:]))
        return "".join(pieces), tuple(citations)


def build_sections(blocks: list[Block], writer: Writer) -> tuple[Section, ...]:
    sections: list[Section] = []
    stack: list[tuple[int, str]] = []
    writer.paths = []
    for block in blocks:
        while stack and stack[-1][0] >= block.level:
            stack.pop()
        if block.title:
            stack.append((block.level, writer.line(block.title)))
        path = tuple(title for _, title in stack)
        writer.paths.append(path)
        if not block.title and not block.paragraphs:
            continue
        sentences, paragraphs = writer.sentences(block.paragraphs)
        sections.append(
            Section(
                path,
                writer.line(block.title),
                block.level,
                block.starred,
                block.appendix,
                tuple(block.labels),
                paragraphs,
                sentences,
            )
        )
    return tuple(sections)


def mark_related(sections: tuple[Section, ...]) -> tuple[tuple[Section, ...], list[str]]:
    """Mark the related work; where no title names it, a "Background" or the like that cites stands in, and is noted."""
    marked = tuple(replace(section, related=any(is_related(title) for title in section.path)) for section in sections)
    if any(section.related for section in marked):
        return marked, []
    marked = tuple(
        replace(section, related=any(may_be_related(title) for title in section.path)) for section in sections
    )
    taken = [section for section in marked if section.related]
    if any(sentence.citations for section in taken for sentence in section.sentences):
        return marked, [f"no section is named as related work; {taken[0].title!r} is taken for it"]
    return sections, ["no section is named as related work"]
