"""Reference lists of JATS articles, in all the ways in which a citation has been marked up since NLM 2.0."""

import re
from dataclasses import dataclass, replace

from .markup import text_of

_CITATIONS = ("element-citation", "mixed-citation", "citation", "nlm-citation")
_ET_AL = re.compile(r"\bet\.?\s+al\b", re.IGNORECASE)
_DOI = re.compile(r"\b10\.\d{4,9}/[^\s\"<>]+")


@dataclass(frozen=True)
class Reference:
    """One entry of a reference list.

    Parameters
    ----------
    id, label : str
        The target of citations in the text ("CR12"), and the number printed ("12.").
    authors : tuple of str
        "Surname, Given names", or the name of a group; in the order printed, editors left out.
    et_al : bool
        The list of authors is cut.
    title, source : str
        Of the article or chapter; and of the journal, book or site.
    year : str
        As printed, letters left out; empty where there is none.
    doi, pmid : str
    raw : str
        The entry as printed, as far as the file has it: all its words in order.
    more : tuple of Reference
        Further works cited under the same number.
    """

    id: str
    label: str
    authors: tuple[str, ...]
    et_al: bool
    title: str
    source: str
    year: str
    doi: str
    pmid: str
    raw: str
    more: tuple["Reference", ...] = ()


def read_reference(ref) -> Reference:
    """Read one ``<ref>`` (an lxml element with local names), whatever kind of citation it holds.

    Several citations are versions of one work where the file says so (``citation-alternatives``, or a type
    "display-unstructured" beside a structured one): fields missing in one are taken from the other. Otherwise the first
    is the reference, and the others follow in `more`.
    """
    works: list[Reference] = []
    for holder in ref:
        if holder.tag == "citation-alternatives":
            versions = [e for e in holder if e.tag in _CITATIONS]
            # The fields of the structured version, the wording of the one meant for print.
            versions.sort(key=lambda e: _CITATIONS.index(e.tag))
            works.append(_merge([_citation(e) for e in versions]))
        elif holder.tag in _CITATIONS:
            work = _citation(holder)
            if works and "unstructured" in _type(holder):
                works[-1] = _merge([works[-1], work])
            else:
                works.append(work)
        elif holder.tag != "label" and (text := spaced_text(holder)):
            works.append(replace(_EMPTY, raw=text))  # a note in place of a citation
    first, *others = works or [_EMPTY]
    label = text_of(ref.find("label")) or first.label
    return replace(first, id=ref.get("id", ""), label=label, more=tuple(others))


_EMPTY = Reference("", "", (), False, "", "", "", "", "", "")


def _type(citation) -> str:
    return citation.get("citation-type") or citation.get("publication-type") or ""


def _merge(versions: list[Reference]) -> Reference:
    if not versions:
        return _EMPTY
    merged = versions[0]
    for other in versions[1:]:
        missing = {name: value for name, value in vars(other).items() if value and not getattr(merged, name)}
        merged = replace(merged, **missing, raw=other.raw or merged.raw)
    return merged


def _citation(citation) -> Reference:
    raw = spaced_text(citation)
    title = _first(citation, "article-title", "chapter-title", "part-title", "data-title", "trans-title")
    year = re.search(r"\d{4}", _first(citation, "year"))
    doi = _identifier(citation, "doi") or next(iter(_DOI.findall(" ".join(_links(citation)) + " " + raw)), "")
    return Reference(
        id="",
        label=_first(citation, "label"),
        authors=tuple(_authors(citation)),
        et_al=citation.find(".//etal") is not None or bool(_ET_AL.search(raw.partition(title)[0] if title else raw)),
        title=title,
        source=_first(citation, "source", "conf-name"),
        year=year[0] if year else "",
        doi=_bare_doi(doi),
        pmid=_identifier(citation, "pmid"),
        raw=raw,
    )


def _first(citation, *tags: str) -> str:
    return next((text for tag in tags for e in citation.iter(tag) if (text := text_of(e))), "")


def _identifier(citation, kind: str) -> str:
    tags = ("pub-id", "object-id", "article-id")
    return next((text_of(e) for e in citation.iter(*tags) if e.get("pub-id-type", "").lower() == kind), "")


def _links(citation) -> list[str]:
    return [value for e in citation.iter("ext-link", "uri") for name, value in e.items() if name.endswith("href")]


def _bare_doi(doi: str) -> str:
    doi = re.sub(r"^(https?://(dx\.)?doi\.org/|doi:\s*)", "", doi.strip(), flags=re.IGNORECASE).rstrip(".,;")
    return doi[:-1] if doi.endswith(")") and "(" not in doi else doi


def _authors(citation) -> list[str]:
    groups = [g for g in citation.iter("person-group") if g.get("person-group-type", "author") == "author"]
    places = groups or [citation]
    names = []
    for place in places:
        for element in place.iter("name", "string-name", "collab"):
            group = next(element.iterancestors("person-group"), None)
            within = next(element.iterancestors("collab", "name", "string-name"), None)
            if within is not None or element in _other_versions(element):
                continue
            if (groups or group is None) and (written := person(element)):
                names.append(written)
    return names


def _other_versions(name) -> list:
    """The same name in other scripts or languages; the one in Latin script counts, else the first."""
    parent = name.getparent()
    if parent is None or parent.tag not in ("name-alternatives", "collab-alternatives"):
        return []
    versions = [e for e in parent if e.tag in ("name", "string-name", "collab")]
    chosen = next((e for e in versions if re.search("[A-Za-z]", spaced_text(e))), versions[0])
    return [e for e in versions if e is not chosen]


def people(element) -> list[str]:
    """The first name or group in an element that says who someone is, as a list of at most one."""
    for name in element.iter("name", "string-name", "collab", "anonymous"):
        if name not in _other_versions(name) and (written := person(name)):
            return [written]
    return []


def person(name) -> str:
    """ "Surname, Given names, Jr" of a ``name`` or ``string-name``; the text of a ``collab``, without its members.

    The comma keeps names of several words apart ("de Oliveira, S D").
    """
    if name.tag == "collab":
        return spaced_text(name, leave_out=("contrib-group", "fn", "xref", "aff", "address", "author-comment"))
    parts = [text_of(name.find(tag)) for tag in ("surname", "given-names", "suffix")]
    return ", ".join(part for part in parts if part) if parts[0] else text_of(name)


_FORMATTING = frozenset(
    [
        "italic",
        "bold",
        "sub",
        "sup",
        "sc",
        "underline",
        "monospace",
        "overline",
        "roman",
        "styled-content",
        "named-content",
    ]
)


def spaced_text(element, leave_out: tuple[str, ...] = ()) -> str:
    """All text of an element, with a space wherever two fields meet that the printer would have kept apart."""
    pieces: list[str] = []

    def walk(node) -> None:
        pieces.append(node.text or "")
        for child in node:
            if child.tag in leave_out:
                pieces.append(" ")
            elif child.tag in _FORMATTING:
                pieces.append(_whole(child))
            else:
                pieces.append("\x00")
                walk(child)
                pieces.append("\x00")
            pieces.append(child.tail or "")

    walk(element)
    text = " ".join("".join(pieces).split())
    # A field mark becomes a space only between two words: "surname, given" has its own punctuation.
    text = re.sub(r"(?<=[^\s\x00(\[“‘/–-])\x00+(?=[^\s\x00.,;:)\]”’/–-])", " ", text)
    return " ".join(text.replace("\x00", "").split())


def _whole(element) -> str:
    return f"{element.text or ''}{''.join(_whole(c) + (c.tail or '') for c in element)}"
