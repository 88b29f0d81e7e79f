"""Citation commands of LaTeX, natbib, biblatex and their kin, and how a citation is shown in a line of plain text.

While a paper is read, each citation stands in the text as a mark; when the bibliography is known, `shown` writes "[3, 7]" for
one in brackets and "Smith et al. [3]" for one that is part of the sentence.
"""

import re
from dataclasses import dataclass

from .tokens import OPEN, Stream, plain, words

# By what they print: the work's number or label in brackets; its authors as a word of the sentence; authors alone; year.
PARENTHETICAL = words(
    """cite citep citealp citealt citealp citenum citen citeonline onlinecite parencite autocite smartcite footcite
    footcitetext supercite fullcite footfullcite citetitle bibentry citeNP shortcite cites parencites autocites
    footcites supercites smartcites fullcites Parencite Autocite Cite Citep Citealp Citealt citepalias
    upcite inlinecite Parencites Autocites notecite pnotecite citeurl citefield citelist"""
)
TEXTUAL = words(
    """citet Citet textcite Textcite textcites Textcites newcite citeN citeA citeasnoun citename citetalias
    possessivecite citeposs Newcite"""
)
AUTHORS = words("citeauthor Citeauthor citeauthorNP citeauthorA")
YEAR = words("citeyear citeyearpar citeyearNP citeyearA citedate")
_LIKE = re.compile(r"^[a-z]*cite[a-z]{0,8}$", re.IGNORECASE)
_NOT_LIKE = re.compile(
    r"nocite|citeauthoryear|style|setup|index|declare|defcite|alias$|tracker|color|delim|reset|font|bibpunct",
    re.IGNORECASE,
)

MARK, MARK_END = "\ue000", "\ue001"  # private characters, removed from every text that is read


@dataclass(frozen=True)
class Citation:
    """One citation in a sentence.

    Parameters
    ----------
    keys : tuple of str
        Of the entries cited together, in the order written.
    command : str
        The command that cites, without backslash: "citep", "textcite".
    textual : bool
        Whether the authors' names are part of the sentence (``\\citet``).
    prenote, postnote : str
        "see", "p. 5".
    start, end : int
        Where it stands in the sentence: ``sentence.text[start:end]``.
    """

    keys: tuple[str, ...]
    command: str
    textual: bool
    prenote: str = ""
    postnote: str = ""
    start: int = 0
    end: int = 0


def is_citation(name: str) -> bool:
    """Whether a command cites. One with "cite" in its name that nobody defined is taken for one."""
    base = name.rstrip("*")
    if any(base in table for table in (PARENTHETICAL, TEXTUAL, AUTHORS, YEAR)):
        return True
    return bool(_LIKE.match(base)) and not _NOT_LIKE.search(base)


def read_citation(name: str, stream: Stream, text_of) -> list[Citation]:
    """Read the options and keys after a citation command; biblatex's plural commands give several.

    Parameters
    ----------
    name : str
        With its star.
    stream : Stream
    text_of : function
        From tokens to text, for the notes.
    """
    base = name.rstrip("*")
    found: list[Citation] = []
    several = base.lower().endswith("cites")
    while True:
        # amsrefs and jurabib have `\\cite*`; apacite `\\cite<see>[p. 5]{key}`.
        angle = _angle(stream)
        first, second = stream.optional(), None
        if first is not None:
            second = stream.optional()
        following = stream.peek()
        if found and first is None and (following is None or following[0] != OPEN):
            break
        if following is None or following[0] != OPEN:
            skipped = stream.skip_space()
            if not stream.peek() or stream.peek()[0] != OPEN:
                stream.push(skipped)
                break
        keys = split_keys(plain(stream.argument()))
        pre, post = (first, second) if second is not None else (None, first)
        found.append(
            Citation(
                keys,
                base,
                base in TEXTUAL or base in AUTHORS,
                angle or (text_of(pre) if pre else ""),
                text_of(post) if post else "",
            )
        )
        if base == "citefield" or base == "citelist":
            stream.argument()
        if not several:
            break
    return [citation for citation in found if citation.keys]


def _angle(stream: Stream) -> str:
    token = stream.peek()
    if token and token[1].startswith("<") and token[1].endswith(">") and len(token[1]) > 2:
        stream.next()
        return token[1][1:-1]
    return ""


def split_keys(text: str) -> tuple[str, ...]:
    """The keys in "a, b,c", each once, in order."""
    keys = (key.strip() for key in re.split(r"[,;]", text) if key.strip())
    return tuple(dict.fromkeys(keys))


def marked(index: int) -> str:
    """The mark that stands for the citation with this index until the bibliography is known."""
    return f"{MARK}{index}{MARK_END}"


MARKED = re.compile(f"{MARK}(\\d+){MARK_END}")


def shown(citation: Citation, numbers: dict[str, int], names: dict[str, str], years: dict[str, str]) -> str:
    """A citation as a reader would see it: "[see 3, 7, p. 5]", "He et al. [3]", "He et al.", "(2020)".

    Keys without an entry show as "?", as LaTeX prints them.
    """
    if citation.command in YEAR:
        return "(" + ", ".join(years.get(key) or "?" for key in citation.keys) + ")"
    if citation.command in AUTHORS:
        return " and ".join(names.get(key) or "[?]" for key in citation.keys)
    if citation.textual:
        parts = [f"{names.get(key, '')} [{numbers.get(key, '?')}]".strip() for key in citation.keys]
        text = " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
        return text[:-1] + f", {citation.postnote}]" if citation.postnote else text
    inner = ", ".join(str(numbers.get(key, "?")) for key in citation.keys)
    before = citation.prenote + " " if citation.prenote else ""
    return f"[{before}{inner}{', ' + citation.postnote if citation.postnote else ''}]"
