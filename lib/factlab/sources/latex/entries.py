"""One entry of a bibliography, taken apart: from the fields of a .bib file, or from the text that a style printed.

Printed entries tell their parts by marks where a style leaves marks (fields of REVTeX and ACM, `\\newblock`, quotes, italics) and
otherwise by the order that styles share. `Entry.how` says which of these it was.
"""

import re
from dataclasses import dataclass

from .people import bibtex_name, leading_people, split_people
from .reader import BLOCK, FIELD, FIELD_END, FIELD_NAME, ITALIC, ITALIC_END, PRIVATE


@dataclass(frozen=True)
class Entry:
    """One work in the bibliography.

    Parameters
    ----------
    key : str
        What citations name it by.
    number : int
        Its place in the list, from 1.
    title : str
    authors : tuple of str
        Given names first, as far as they are printed: "A. Vaswani", "Waleed Ammar".
    et_al : bool
        The list of authors is cut.
    venue : str
        Journal, proceedings, publisher or the like.
    year : str
        Four digits; empty where there is none.
    arxiv : str
        "1706.03762", "cs/0112017", without version.
    doi, url : str
    raw : str
        The entry as printed; of a .bib entry, its parts in the usual order.
    source : str
        "bbl", "bibitem" or "bib".
    how : str
        What told the parts: "fields", "blocks", "quotes", "year", "colon", "italics", "order"; empty: nothing did.
    """

    key: str
    number: int
    title: str
    authors: tuple[str, ...]
    et_al: bool
    venue: str
    year: str
    arxiv: str
    doi: str
    url: str
    raw: str
    source: str
    how: str

    @property
    def first_author(self) -> str:
        return self.authors[0] if self.authors else ""

    @property
    def short(self) -> str:
        """How a sentence names it: "He et al.", "He and Sun", "He"."""
        names = [_surname(name) for name in self.authors]
        if not names:
            return ""
        if len(names) > 2 or self.et_al:
            return f"{names[0]} et al."
        return " and ".join(names)


def _surname(name: str) -> str:
    words = [word for word in name.split() if not re.fullmatch(r"(?:Jr|Sr|II|III|IV)\.?", word)] or [name]
    for index, word in enumerate(words[1:], 1):
        if word.lower() in ("van", "von", "de", "der", "den", "di", "da", "del", "la", "le", "dos", "ter"):
            return " ".join(words[index:])
    return words[-1]


# --- identifiers ------------------------------------------------------------------------------------------------------

_NEW_ID = r"(?<![\d.])\d{4}\.\d{4,5}(?!\d)"
_OLD_ID = r"[a-z]+(?:-[a-z]+)?(?:\.[A-Z]{2})?/\d{7}"
_ARXIV = re.compile(
    rf"(?:arxiv[^\d\n]{{0,25}}?|abs/|CoRR[^\d\n]{{0,12}}|eprint[^\d\n]{{0,10}})({_NEW_ID})|(?:arxiv\W{{0,4}}|abs/|pdf/)({_OLD_ID})",
    re.IGNORECASE,
)
_DOI = re.compile(r"\b10\.\d{4,9}/[^\s\"<>{}|,]+")
_URL = re.compile(r"https?://[^\s\"<>{}|]+")
_YEAR = re.compile(r"(?<![\d/.–-])((?:19|20)\d\d)(?=[a-z]?(?![\d–]))")


def arxiv_id(text: str) -> str:
    """The first arXiv identifier in a text, without its version.

    >>> arxiv_id("arXiv preprint arXiv:1706.03762v5, 2017"), arxiv_id("hep-th/9901001 and abs/cs/0112017")
    ('1706.03762', 'cs/0112017')
    """
    match = _ARXIV.search(text)
    return (match[1] or match[2]) if match else ""


def _doi(text: str) -> str:
    match = _DOI.search(text)
    if not match:
        return ""
    doi = match[0].rstrip(".,;:]”")
    return doi[:-1] if doi.endswith(")") and "(" not in doi else doi


def _clean(text: str) -> str:
    return " ".join(PRIVATE.sub(" ", text).split())


def _title(text: str) -> str:
    text = _clean(text).strip(" ,;")
    if match := re.fullmatch(r"[“‘\"']([^“”‘’\"]*)[”’\"'][.,]?", text):
        text = match[1]
    text = text.strip(" ,;“")
    return text if text.endswith("...") else re.sub(r"(?<![.?!])[.,;]+$", "", text).strip()


# --- .bib -------------------------------------------------------------------------------------------------------------


def from_fields(key: str, number: int, fields: dict[str, str], people: list[str], source: str = "bib") -> Entry:
    """An entry from named fields, already text; `people` one name each, as BibTeX or biblatex has them."""
    et_al = bool(people) and people[-1].lower() in ("others", "et al.", "et al")
    authors = tuple(bibtex_name(name) for name in (people[:-1] if et_al else people))
    title = fields.get("title", "")
    if title and fields.get("subtitle"):
        title += ": " + fields["subtitle"]
    venue = next(
        (
            fields[name]
            for name in (
                *("journal", "journaltitle", "booktitle", "maintitle", "publisher", "school", "institution"),
                *("organization", "howpublished", "series"),
            )
            if fields.get(name)
        ),
        "",
    )
    year = _YEAR.search(fields.get("year", "") or fields.get("date", ""))
    everything = " ".join(fields.values())
    archive = fields.get("archiveprefix", "") or fields.get("eprinttype", "")
    eprint = fields.get("eprint", "") if archive.lower() in ("", "arxiv") else ""
    if not eprint:
        everything = everything.replace(fields.get("eprint") or "\0", "")
    identifier = re.fullmatch(rf"(?:arXiv:)?({_NEW_ID}|{_OLD_ID})(?:v\d+)?(?:\s*\[.*\])?", eprint, re.IGNORECASE)
    shown = [", ".join(authors) + (", et al." if et_al else ""), title, venue, year[1] if year else ""]
    return Entry(
        key=key,
        number=number,
        title=_title(title),
        authors=authors,
        et_al=et_al,
        venue=_clean(venue),
        year=year[1] if year else "",
        arxiv=identifier[1] if identifier else arxiv_id(everything),
        doi=_doi(fields.get("doi", "")) or _doi(fields.get("url", "")),
        url=fields.get("url", ""),
        raw=". ".join(part.rstrip(".") for part in shown if part) + ".",
        source=source,
        how="fields",
    )


# --- printed ----------------------------------------------------------------------------------------------------------

_FIELD = re.compile(f"{FIELD}(\\w*){FIELD_NAME}([^{FIELD}{FIELD_END}]*){FIELD_END}")
_ITALICS = re.compile(f"{ITALIC}([^{ITALIC}]*?){ITALIC_END}")
_QUOTED = re.compile(r"“(.{6,}?)(?:[,.;]?”|[,.]\s*”)(?![^“”]{0,3}”)")
_STRAIGHT = re.compile(r'(?<=[\s,.])"([^"]{6,}?)[,.;]?"(?=[\s,.])')
_BARE_YEAR = re.compile(r"[\s,.(]*\(?\b(?:19|20)\d\d[a-z]?\b(?:, [^()]{1,20}(?=\)))?\)?[.,:;\s]*$")


def from_text(key: str, number: int, marked: str, label: str, source: str) -> Entry:
    """An entry from what a style printed, with the marks that `Reader.entry_text` sets.

    Parameters
    ----------
    key, number
    marked : str
        The text of the entry.
    label : str
        The option of its ``\\bibitem``, where natbib keeps names and year: "Ammar et al.(2018)Ammar, Groeneveld, …".
    source : str
    """
    fields: dict[str, list[str]] = {}
    links: list[str] = []
    for _ in range(6):  # inner fields first
        found = _FIELD.findall(marked)
        if not found:
            break
        for name, value in found:
            if name == "link":
                links.append(value.strip())
            else:
                fields.setdefault(name, []).append(_clean(value))
        marked = _FIELD.sub(lambda match: "" if match[1] == "link" else match[2], marked)
    raw = _clean(marked)
    raw = re.sub(r"\s+([,.;:])(?=\s|$)", r"\1", raw)
    title, people, rest, how = _parts(re.sub(r"^\s*\[\d+\]\s*", "", marked), fields)
    authors, et_al = split_people(people)
    if fields.get("author"):
        names = [bibtex_name(name) for field in fields["author"] for name in re.split(r"\s+and\s+", field)]
        et_al = et_al or bool(re.search(r"\bet\.?\s*al\b", raw))
        authors = tuple(name for name in names if name)
    address = " ".join([*links, raw])
    found = _URL.search(" ".join(links)) or _URL.search(raw)
    return Entry(
        key=key,
        number=number,
        title=_title(title),
        authors=authors,
        et_al=et_al,
        venue=_venue(rest, fields),
        year=_year(fields, label, raw, people),
        arxiv=arxiv_id(address) or arxiv_id("arXiv:" + " ".join(fields.get("eprint", []))),
        doi=_doi(address),
        url=found[0].rstrip(".,;") if found else "",
        raw=raw,
        source=source,
        how=how,
    )


def _parts(marked: str, fields: dict[str, list[str]]) -> tuple[str, str, str, str]:
    """Title, authors, what follows the title, and how they were told."""
    title = next(iter(fields.get("title", []) or fields.get("book", [])), "")
    people = " and ".join(fields.get("authors", [])) or ", ".join(fields.get("author", []))
    if title and people:
        return title, people, _after(marked, title), "fields"
    blocks = [block.strip() for block in marked.split(BLOCK) if _clean(block)]
    quoted = _QUOTED.search(marked) or _STRAIGHT.search(marked)
    if quoted:
        before = marked[: quoted.start()]
        if people or re.search(r"[^\W\d_]{2}", _clean(before)):
            return quoted[1], people or _no_year(before), marked[quoted.end() :], "quotes"
    if title:
        before = marked[: marked.find(title)]
        return title, people or _no_year(before), _after(marked, title), "fields"
    if len(blocks) > 1:
        first, second = _no_year(blocks[0]), blocks[1]
        if not re.match(r"(?:In\b[: ]|arXiv|pages?\b|\d|https?:|Technical report)", _clean(second), re.IGNORECASE):
            if re.fullmatch(r"\(?(?:19|20)\d\d[a-z]?\)?\.?", _clean(second)) and len(blocks) > 2:
                second, blocks = blocks[2], [blocks[0], *blocks[2:]]
            italics = _ITALICS.match(second)  # a book; "Volume 80" may follow
            title, rest = (italics[1], second[italics.end() :]) if italics else (second, "")
            return title, people or first, f" {BLOCK} ".join([rest, *blocks[2:]]), "blocks"
        title, found, rest, how = _ordered(blocks[0])
        if title:
            return title, people or found, " ".join([rest, *blocks[1:]]), how
    return _ordered(marked, people)


def _after(marked: str, title: str) -> str:
    place = marked.find(title)
    return marked[place + len(title) :] if place >= 0 else ""


def _no_year(text: str) -> str:
    return _BARE_YEAR.sub("", _clean(text))


_AUTHORS_YEAR = re.compile(
    r"(?P<people>.{2,}?)[\s,.]*[(\[](?P<year>(?:19|20)\d\d)[a-z]?(?:,[^)\]]*)?[)\]][.,:]?\s+(?P<rest>.+)", re.DOTALL
)
_PEOPLE_DOT_YEAR = re.compile(
    r"(?P<people>.{4,}?[^\W\d_]{2,}\.?)[,.]\s+(?P<year>(?:19|20)\d\d)[a-z]?[.,:]\s+(?P<rest>.+)", re.DOTALL
)
_COLON = re.compile(r"(?P<people>[^:“”]{4,600}?)(?<=[.\w]):\s+(?P<rest>\S.+)", re.DOTALL)
# A full stop that ends the authors or the title: not that of an initial, of "et al." before a comma, or of a number.
_STOP = re.compile(
    r"(?<![\s.~(‐-][^\W\d_])(?<!^[^\W\d_])(?<!\b[JS]r)(?<!\bvol)(?<!\bno)(?<!\bpp)(?<!\bvs)(?<!\bSt)[.?!]['’”)]?\s+(?=[^\s,;])"
)


_HOLDS_TITLE = re.compile(r"[^\W\d_]{2}[.?!]\s+\w+ [\w-]+ \w+ \w+")


def _ordered(marked: str, people: str = "") -> tuple[str, str, str, str]:
    """Title, authors and rest of an entry without marks, by the order that its style has."""
    text = marked.replace(BLOCK, " ")
    text = " ".join(text.split())
    bare = PRIVATE.sub("", text)
    names = leading_people(bare)
    match = _AUTHORS_YEAR.match(text)
    if match and _are_people(match["people"], match.start("rest") < 0.6 * len(text)):
        title, rest = _cut_title(match["rest"])
        return title, match["people"], rest, "year"
    match = _PEOPLE_DOT_YEAR.match(text)
    if match and _are_people(match["people"], not re.match(r"pp|pages|vol|\d", match["rest"])):
        title, rest = _cut_title(match["rest"])
        return title, match["people"], rest, "year"
    if (match := _COLON.match(text)) and names and names >= len(_clean(match["people"])) - 8:
        title, rest = _cut_title(match["rest"])
        return title, match["people"], rest, "colon"
    if names:
        start = _place(text, names)
        after = text[start:].lstrip(" ,.:;")
        italics = _ITALICS.search(after)
        if re.match(r"[\s]*\.\s", text[start - 1 :]) or re.match(r"\.\s", text[start:]):
            title, rest = _cut_title(after)
            return title, bare[:names], rest, "order"
        if italics and italics.start() == 0:
            return italics[1], bare[:names], after[italics.end() :], "italics"
        if italics and re.search(r"\w", after[: italics.start()]):
            title = re.sub(r",?\s*(?:in|In)\s*:?\s*$", "", _clean(after[: italics.start()]))
            return title, bare[:names], after[italics.start() :], "italics"
        match = re.search(
            r",\s+(?=in\b:?\s|In\b:?\s|arXiv|CoRR|Proc|Journal|[A-Z][\w.& ]{2,60}\s\d)|\.\s+(?=\S)", after
        )
        if match:
            return after[: match.start()], bare[:names], after[match.end() :], "order"
        return after, bare[:names], "", "order"
    if (
        (italics := _ITALICS.search(text))
        and re.search(r"[^\W\d_]{2}", _clean(text[: italics.start()]))
        and not _STOP.search(_clean(text[: italics.start()]))
    ):
        return italics[1], text[: italics.start()], text[italics.end() :], "italics"
    if stop := _STOP.search(text):
        title, rest = _cut_title(text[stop.end() :])
        if title:
            return title, text[: stop.start()], rest, "order"
    return "", people, text, ""


def _are_people(text: str, otherwise: bool) -> bool:
    """Whether a text before a year holds names and no title; `otherwise` decides where it has no initials to tell by."""
    text = _clean(text)
    if reach := leading_people(text + "."):
        return reach > len(text) - 8
    return otherwise and not _HOLDS_TITLE.search(text)


def _place(marked: str, length: int) -> int:
    """Where the character number `length` of the text without marks stands in the text with them."""
    seen = 0
    for index, character in enumerate(marked):
        if seen == length:
            return index
        seen += not PRIVATE.match(character)
    return len(marked)


def _cut_title(rest: str) -> tuple[str, str]:
    """A title at the beginning of a text, and what follows it."""
    italics = _ITALICS.search(rest)
    if italics and italics.start() < 2:
        return italics[1], rest[italics.end() :]
    stop = _STOP.search(rest)
    end = stop.start() + (rest[stop.start()] in "?!") if stop else len(rest)
    if italics and italics.start() < end:  # "Title, Journal 3 (2010)": the italics are the journal
        before = re.sub(r"[,.]?\s*(?:\b[Ii]n:?)?\s*$", "", rest[: italics.start()])
        if re.search(r"\w{3}", before):
            return before, rest[italics.start() :]
    after = rest[stop.end() :] if stop else ""
    title = rest[:end]
    if not stop:
        title, _, after = re.sub(r"\.\s*$", "", rest).partition(", ")
        if re.match(r"(?:in\b|[A-Z].*\d)", after) is None and after:
            title, after = f"{title}, {after}", ""
    return title, after


def _venue(rest: str, fields: dict[str, list[str]]) -> str:
    if fields.get("venue"):
        return fields["venue"][0]
    rest = re.sub(r"^[\s,.]*(?:Volume|vol\.)\s*\d+[^\w\s]*", "", rest)
    italics = _ITALICS.search(rest)
    if italics and re.search(r"[^\W\d_]{2}", italics[1]):
        return _clean(italics[1]).strip(" ,.")
    text = _clean(rest.split(BLOCK)[0] if re.search(r"\w", rest.split(BLOCK)[0]) else rest)
    text = re.sub(r"^[\s,.;:]*(?:(?:In|in)\b\s*:?\s*)?", "", text)
    text = _URL.sub("", text)
    end = re.search(
        r",|(?<=[a-z]{5})\.\s|\.$|\s\(?(?:19|20)\d\d\b|\bpp\b|\bpages?\b|\s\d+\s*[(:,]|\bvol\b|\bdoi\b|;", text
    )
    if end and re.match(
        r"(?:Technical report|Tech\. rep|(?:PhD|Ph\.D\.|Master'?s?|MSc) thesis|Preprint)", text, re.IGNORECASE
    ):
        second = re.compile(r",|\.\s|\.$").search(text, end.end())  # who published it comes next
        end = second or end
    text = text[: end.start()] if end else text
    return text.strip(" ,.;:(") if re.search(r"[^\W\d_]{2}", text) else ""


def _year(fields: dict[str, list[str]], label: str, raw: str, people: str) -> str:
    for value in fields.get("year", []):
        if match := _YEAR.search(value):
            return match[1]
    if match := re.search(r"((?:19|20)\d\d)[a-z]?\W*(?:$|\))", label):
        return match[1]
    text = re.sub(rf"(?:arXiv\W*)?(?:{_NEW_ID})(?:v\d+)?", " ", _DOI.sub(" ", _URL.sub(" ", raw)), flags=re.IGNORECASE)
    text = re.sub(r"\d+\s*[–-]+\s*\d+", " ", text)
    if match := re.search(r"\(((?:19|20)\d\d)[a-z]?\)", text):
        return match[1]
    beyond = text[len(_clean(people)) :] if text.startswith(_clean(people)) else text
    if match := re.match(r"[\s.,(]*((?:19|20)\d\d)[a-z]?[).,:]", beyond):
        return match[1]
    years = _YEAR.findall(text)
    return years[-1] if years else ""
