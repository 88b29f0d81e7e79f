"""Metadata of cited works from arXiv and Semantic Scholar, and whether a citation is the work that was found.

REASONS, section 3: metadata are looked up, and a citation is verified by exact matching with the record found. (The paper used a
search engine's results; the two services here are open to everyone.) Goes in: titles, authors, years, identifiers. Comes out: one row
for each, with a verdict. What a service has answered once is kept on disk and never asked again.

Facts about the services, as their documentation states them: arXiv asks for one request in three seconds over a single connection,
and takes many identifiers in one; its Atom feed has no licence, the OAI-PMH interface has. Semantic Scholar takes 500 identifiers in
one request, allows one request a second with a key, and answers 429 when it is busy; a title that matches nothing is a 404.
"""

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..text import normalise
from .files import SourceError, nearest
from .parsing import parse
from .web import Client, Failed, Store

if TYPE_CHECKING:
    import pandas as pd

URLS = {
    "arxiv": "https://export.arxiv.org/api/query",
    "semantic_scholar": "https://api.semanticscholar.org/graph/v1",
    "arxiv_licences": "https://oaipmh.arxiv.org/oai",
}
# Seconds between two requests; Semantic Scholar's is for people without a key, who share what there is. With one it is 1.
PAUSES = {"arxiv": 3.0, "semantic_scholar": 3.0, "arxiv_licences": 3.0}
BATCH = {"arxiv": 100, "semantic_scholar": 500}  # identifiers in one request
VERDICTS = ("exact", "title only", "differs", "error", "not found")  # from the best to the worst
FOUND = ("title", "abstract", "authors", "venue", "year", "arxiv_id", "doi", "licence", "service", "url")
COLUMNS = ("asked", *FOUND, "found_by", "verdict", "first_author", "same_year", "error")

_FIELDS = "title,abstract,authors,venue,year,externalIds,url"


def look_up(
    entries: "pd.DataFrame | Iterable[Mapping[str, Any]]",
    services: Sequence[str] = ("arxiv", "semantic_scholar"),
    cache: str | Path | None = None,
    *,
    same_title: Callable[[str, str], bool] | None = None,
    same_author: Callable[[str, str], bool] | None = None,
    licences: bool = False,
    key: str = "",
    contact: str = "",
    urls: Mapping[str, str] | None = None,
    pauses: Mapping[str, float] | None = None,
    timeout: float = 30,
    retries: int = 4,
    tell: Callable[[str], None] | None = None,
) -> "pd.DataFrame":
    """Find the works that are cited, and verify each citation against the record found.

    Parameters
    ----------
    entries : table or list of mappings
        One row a citation: ``cited_title``, ``cited_authors`` ("A; B" or a list), ``cited_year``, ``cited_id`` (an arXiv number or
        "doi:10.…"); ``cited_doi`` too, where there is one. All but the title may be missing. Each work is asked for once.
    services : sequence of str
        Asked in this order, the later ones only for what is not yet verified: "arxiv", "semantic_scholar".
    cache : path, optional
        SQLite file for what the services answered, as they wrote it; made where missing. Errors are not kept.
    same_title, same_author : functions of two str, optional
        Whether two titles, or two names, are the same (`attribution.same_title`, `attribution.same_author`). Default: letters and
        digits agree, without case, accents and TeX; the same surname and no other first initial.
    licences : bool
        Also ask arXiv under which licence each work lies, with one more request for each that is found there.
    key : str
        A key of Semantic Scholar's, sent to it alone.
    contact : str
        An address that the services may write to, sent with each request.
    urls, pauses : mappings, optional
        In place of `URLS` and `PAUSES` (seconds).
    timeout : float
        Seconds without an answer after which a request has failed.
    retries : int
        How often a request is sent again after 429, 5xx or silence; the wait doubles each time, or is what the service says,
        at most a minute.
    tell : function, optional
        Called with a line of text at each request.

    Returns
    -------
    DataFrame
        Columns `COLUMNS`, one row for each entry, in their order, all text. ``asked``: the title asked for. The record found: `FOUND`;
        authors "A; B". ``found_by``: "arxiv id", "doi", "title". ``first_author``, ``same_year``: "yes", "no", "" where one side is
        not known. ``verdict``:

        * "exact": the same title and first author;
        * "title only": the same title, and another first author, or one that is not known;
        * "differs": another title; by identifier, or the nearest that a search gave;
        * "not found": every service answered, and has no such work;
        * "error": nothing found, and a service did not answer; ``error`` says why.

        The year is evidence and decides nothing: a preprint and its publication often differ.

    Raises
    ------
    SourceError
        An unknown service; the cache cannot be used; or no service could be reached at all and nothing was in the cache.
    """
    import pandas as pd

    for service in services:
        if service not in BATCH:
            near = nearest(service, BATCH)
            raise SourceError(
                f"services: there is no {service!r}; "
                + (f"did you mean {near[0]!r}?" if near else f"there are {', '.join(BATCH)}.")
            )
    rows = entries.to_dict("records") if hasattr(entries, "to_dict") else list(entries)
    asked = [_asked(row) for row in rows]
    works = list(dict.fromkeys(asked))
    verify = _Verifier(same_title or _same_title, same_author or _same_author)
    best = {work: _row(work, "not found") for work in works}
    with closing(Store(cache)) as store:
        waits = {**PAUSES, **({"semantic_scholar": 1.0} if key else {}), **(pauses or {})}
        client = Client(store, {**URLS, **(urls or {})}, waits, key, contact, timeout, retries, tell)
        for service in services:
            open_works = [work for work in works if best[work]["verdict"] != "exact"]
            for work, found in _ask(client, service, open_works, verify).items():
                best[work] = _better(best[work], found)
        if licences:
            _add_licences(client, best)
    if (
        client.offline
        and not client.answered
        and all(row["verdict"] in ("error", "not found") for row in best.values())
    ):
        raise SourceError(
            f"nothing could be looked up: {client.offline[0]}. Is there a network? Without one, leave the look-up out."
        )
    return pd.DataFrame([best[work] for work in asked], columns=list(COLUMNS), dtype="str")


def look_up_licences(
    arxiv_ids: Iterable[str],
    cache: str | Path | None = None,
    *,
    contact: str = "",
    urls: Mapping[str, str] | None = None,
    pauses: Mapping[str, float] | None = None,
    timeout: float = 30,
    retries: int = 4,
    tell: Callable[[str], None] | None = None,
) -> "pd.DataFrame":
    """Under which licence papers lie on arXiv: what the filter of `read_citations` needs to know of source papers.

    Parameters
    ----------
    arxiv_ids : iterable of str
        One request each, three seconds apart; what is no arXiv number is not asked for.
    cache, contact, urls, pauses, timeout, retries, tell
        See `look_up`.

    Returns
    -------
    DataFrame
        Columns ``arxiv_id``, ``licence`` (an address, as arXiv gives it; empty where it gives none), ``error``; each number once.

    Raises
    ------
    SourceError
        The cache cannot be used, or arXiv cannot be reached and nothing was in the cache.
    """
    import pandas as pd

    found = []
    with closing(Store(cache)) as store:
        client = Client(
            store, {**URLS, **(urls or {})}, {**PAUSES, **(pauses or {})}, "", contact, timeout, retries, tell
        )
        for number in dict.fromkeys(arxiv_ids):
            try:
                found.append((number, _licence(client, number) if _is_arxiv(number) else "", ""))
            except Failed as error:
                found.append((number, "", str(error)))
    if client.offline and not client.answered:
        raise SourceError(f"no licence could be looked up: {client.offline[0]}. Is there a network?")
    return pd.DataFrame(found, columns=["arxiv_id", "licence", "error"], dtype="str")


# --- what is asked for, and how a record is judged --------------------------------------------------------------------


@dataclass(frozen=True)
class _Work:
    title: str
    authors: tuple[str, ...]
    year: str
    arxiv: str
    doi: str


def _is_arxiv(text: str) -> bool:
    return re.fullmatch(r"\d{4}\.\d{4,5}|[a-z-]+(?:\.[A-Z]{2})?/\d{7}", text) is not None


def _text(value: Any) -> str:
    """A cell as text; a missing one is empty."""
    return "" if value is None or value != value else " ".join(str(value).split())


def _asked(row: Mapping[str, Any]) -> _Work:
    authors = row.get("cited_authors")
    names = authors.split(";") if isinstance(authors, str) else authors if isinstance(authors, list | tuple) else ()
    number = re.sub(r"^arxiv:|v\d+$", "", _text(row.get("cited_id")), flags=re.IGNORECASE)
    doi = re.sub(r"^doi:\s*", "", _text(row.get("cited_doi")) or number, flags=re.IGNORECASE)
    return _Work(
        title=_text(row.get("cited_title")),
        authors=tuple(_text(name) for name in names if _text(name)),
        year=_text(row.get("cited_year")),
        arxiv=number if _is_arxiv(number) else "",
        doi=doi if re.match(r"10\.\d+/\S+$", doi) else "",
    )


@dataclass(frozen=True)
class _Verifier:
    same_title: Callable[[str, str], bool]
    same_author: Callable[[str, str], bool]

    def __call__(self, work: _Work, record: Mapping[str, str], found_by: str) -> dict[str, str]:
        """The row of a work with the record found."""
        authors = [name for name in record["authors"].split("; ") if name]
        known = bool(work.authors and authors)
        first = ("yes" if self.same_author(work.authors[0], authors[0]) else "no") if known else ""
        year = ("yes" if work.year == record["year"] else "no") if work.year and record["year"] else ""
        verdict = "differs"
        if work.title and record["title"] and self.same_title(work.title, record["title"]):
            verdict = "exact" if first == "yes" else "title only"
        return _row(work, verdict) | dict(record) | {"found_by": found_by, "first_author": first, "same_year": year}


def _row(work: _Work, verdict: str, error: str = "") -> dict[str, str]:
    return dict.fromkeys(COLUMNS, "") | {"asked": work.title, "verdict": verdict, "error": error}


def _better(a: dict[str, str], b: dict[str, str]) -> dict[str, str]:
    """The row with the better verdict, the first of equals; an error on the way stays on record."""
    one, other = sorted((a, b), key=lambda row: VERDICTS.index(row["verdict"]))
    return one | {"error": one["error"] or other["error"]}


def _bare(text: str) -> str:
    text = re.sub(r"\\[a-zA-Z]+\s*|[{}$\\]", "", text)
    letters = unicodedata.normalize("NFKD", normalise(text).casefold())
    return re.sub(r"[\W_]+", "", "".join(c for c in letters if not unicodedata.combining(c)))


def _same_title(a: str, b: str) -> bool:
    return bool(_bare(a)) and _bare(a) == _bare(b)


def _same_author(a: str, b: str) -> bool:
    """The same surname, and no first initials that differ."""
    if _bare(a) == _bare(b):
        return bool(_bare(a))
    left, right = a.split(), b.split()
    if not left or not right or _bare(left[-1]) != _bare(right[-1]):
        return False
    return len(left) == 1 or len(right) == 1 or _bare(left[0])[:1] == _bare(right[0])[:1]


# --- asking a service -------------------------------------------------------------------------------------------------


def _ask(client: Client, service: str, works: list[_Work], verify: _Verifier) -> dict[_Work, dict[str, str]]:
    """What one service has of each work: first by identifiers, many at once, then by title."""
    rows: dict[_Work, dict[str, str]] = {}
    by_id: dict[str, list[tuple[_Work, str]]] = {}
    for work in works:
        rows[work] = _row(work, "not found")
        if work.arxiv:
            by_id.setdefault(f"ARXIV:{work.arxiv}", []).append((work, "arxiv id"))
        elif work.doi and service == "semantic_scholar":
            by_id.setdefault(f"DOI:{work.doi}", []).append((work, "doi"))
    fetch = _arxiv_by_id if service == "arxiv" else _scholar_by_id
    for name, record in _in_batches(client, service, list(by_id), fetch).items():
        for work, how in by_id[name]:
            found = (
                _row(work, "error", str(record)) if isinstance(record, Failed) else record and verify(work, record, how)
            )
            rows[work] = _better(rows[work], found) if found else rows[work]
    search = _arxiv_by_title if service == "arxiv" else _scholar_by_title
    for work in works:
        # An identifier may be wrong; the title is asked for unless the work is there, or the service is out of reach.
        if rows[work]["verdict"] in ("not found", "differs") and _bare(work.title):
            try:
                found = [verify(work, record, "title") for record in search(client, work.title)]
            except Failed as error:
                found = [_row(work, "error", f"{service}: {error}")]
            for row in found:
                rows[work] = _better(rows[work], row)
    return rows


def _in_batches(client: Client, service: str, names: list[str], fetch: Callable) -> dict[str, Any]:
    """The record of each identifier, None where there is none, or the `Failed` that stands for it."""
    found: dict[str, Any] = {}
    missing = []
    for name in names:
        kept = client.store.get(f"{client.urls[service]} {name}")
        if kept is None:
            missing.append(name)
        else:
            found[name] = _read_kept(service, kept)
    for start in range(0, len(missing), BATCH[service]):
        part = missing[start : start + BATCH[service]]
        try:
            raw = fetch(client, part)
        except Failed as error:
            if len(part) > 1 and service not in client.given_up:  # one bad identifier can spoil the answer to all
                half = len(part) // 2
                found |= _in_batches(client, service, part[:half], fetch) | _in_batches(
                    client, service, part[half:], fetch
                )
            else:
                found.update(dict.fromkeys(part, Failed(f"{service}: {error}")))
            continue
        for name in part:
            client.store.put(f"{client.urls[service]} {name}", raw.get(name, ""))
            found[name] = _read_kept(service, raw.get(name, ""))
    return found


def _read_kept(service: str, text: str) -> dict[str, str] | None:
    """A record from the raw text of one work; an empty text says that there is none."""
    if not text:
        return None
    return _from_entry(_xml(text)) if service == "arxiv" else _from_scholar(json.loads(text))


def _arxiv_by_id(client: Client, names: list[str]) -> dict[str, str]:
    numbers = [name.partition(":")[2] for name in names]
    query = {"id_list": ",".join(numbers), "start": 0, "max_results": len(numbers)}
    raw = {}
    for entry in _entries(client.get("arxiv", "", query)):
        number = re.sub(r"^.*/abs/|v\d+$", "", _text(entry.findtext("id")))
        raw[f"ARXIV:{number}"] = _written(entry)
    return raw


def _arxiv_by_title(client: Client, title: str) -> list[dict[str, str]]:
    words = " ".join(re.findall(r"\w+", _plain(title)))
    if not words:
        return []
    store, name = client.store, f"{client.urls['arxiv']} title:{words.casefold()}"
    kept = store.get(name)
    if kept is None:
        entries = _entries(client.get("arxiv", "", {"search_query": f'ti:"{words}"', "start": 0, "max_results": 5}))
        kept = "<entries>" + "".join(map(_written, entries)) + "</entries>"
        store.put(name, kept)
    return [_from_entry(entry) for entry in _xml(kept).iter("entry")]


def _scholar_by_id(client: Client, names: list[str]) -> dict[str, str]:
    try:
        answer = client.post("semantic_scholar", "/paper/batch", {"fields": _FIELDS}, {"ids": names})
    except Failed as error:
        if "400" in str(error) and re.search(r"no valid paper ids", str(error), re.IGNORECASE):
            return {}
        raise
    papers = _json(answer)
    if not isinstance(papers, list) or len(papers) != len(names):
        raise Failed(f"an answer of another form than expected: {answer[:80]!r}")
    return {name: json.dumps(paper) for name, paper in zip(names, papers, strict=True) if paper}


def _scholar_by_title(client: Client, title: str) -> list[dict[str, str]]:
    query = _plain(title)
    store, name = client.store, f"{client.urls['semantic_scholar']} title:{query.casefold()}"
    kept = store.get(name)
    if kept is None:
        kept = (
            client.get("semantic_scholar", "/paper/search/match", {"query": query, "fields": _FIELDS}, missing=404)
            or '{"data": []}'
        )
        _json(kept)
        store.put(name, kept)
    papers = json.loads(kept).get("data") or []
    return [_from_scholar(paper) for paper in papers if isinstance(paper, dict)]


def _add_licences(client: Client, rows: Mapping[Any, dict[str, str]]) -> None:
    for row in rows.values():
        if row["arxiv_id"] and row["verdict"] in ("exact", "title only"):
            try:
                row["licence"] = _licence(client, row["arxiv_id"])
            except Failed as error:
                row["error"] = row["error"] or f"licence: {error}"


def _licence(client: Client, number: str) -> str:
    name = f"{client.urls['arxiv_licences']} {number}"
    kept = client.store.get(name)
    if kept is None:
        query = {"verb": "GetRecord", "identifier": f"oai:arXiv.org:{number}", "metadataPrefix": "arXiv"}
        kept = client.get("arxiv_licences", "", query)
        _parsed(kept)
        client.store.put(name, kept)
    found = _xml(kept).iter("license")
    return next((_text(element.text) for element in found), "")


def _plain(title: str) -> str:
    """A title as a search takes it: no TeX, quotes or hyphens between words (at Semantic Scholar a hyphen may match nothing)."""
    title = normalise(re.sub(r"\\[a-zA-Z]+\s*|[{}$\\\"]", "", title))
    return " ".join(re.sub(r"(?<=\w)-(?=\w)", " ", title).split())


# --- what the services write ------------------------------------------------------------------------------------------


def _xml(text: str) -> Any:
    return parse(text.encode(), "answer")[0]


def _parsed(text: str) -> Any:
    try:
        return _xml(text)
    except SourceError as error:
        raise Failed(f"not the XML that was expected ({text[:60]!r})") from error


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise Failed(f"not the JSON that was expected ({text[:60]!r})") from error


def _entries(text: str) -> list[Any]:
    """The entries of an Atom feed. arXiv tells errors as an entry, with status 200."""
    entries = list(_parsed(text).iter("entry"))
    for entry in entries:
        if "api/errors" in _text(entry.findtext("id")):
            raise Failed(f"arXiv: {_text(entry.findtext('summary')) or 'an error without a text'}")
    return [entry for entry in entries if _text(entry.findtext("title"))]


def _written(entry: Any) -> str:
    from lxml import etree

    return etree.tostring(entry, encoding="unicode", with_tail=False)


def _from_entry(entry: Any) -> dict[str, str]:
    names = [_text(author.findtext("name")) for author in entry.iter("author")]
    address = _text(entry.findtext("id"))
    return {
        "title": _text(entry.findtext("title")),
        "abstract": _text(entry.findtext("summary")),
        "authors": "; ".join(name for name in names if name),
        "venue": _text(entry.findtext("journal_ref")),
        "year": _text(entry.findtext("published"))[:4],
        "arxiv_id": re.sub(r"^.*/abs/|v\d+$", "", address),
        "doi": _text(entry.findtext("doi")),
        "licence": "",
        "service": "arxiv",
        "url": address,
    }


def _from_scholar(paper: Mapping[str, Any]) -> dict[str, str]:
    numbers = paper.get("externalIds") or {}
    names = [_text(author.get("name")) for author in paper.get("authors") or []]
    return {
        "title": _text(paper.get("title")),
        "abstract": _text(paper.get("abstract")),
        "authors": "; ".join(name for name in names if name),
        "venue": _text(paper.get("venue")),
        "year": _text(paper.get("year")),
        "arxiv_id": _text(numbers.get("ArXiv")),
        "doi": _text(numbers.get("DOI")),
        "licence": "",
        "service": "semantic_scholar",
        "url": _text(paper.get("url")),
    }
