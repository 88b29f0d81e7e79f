"""REASONS' records: one row for each sentence and work that it cites, from wherever the user has them.

Section 3 and Table 2 of the paper: source paper (identifier, title, date), domain, licence, the sentence with the ones before and
after, classification tag, what is cited (title, abstract, authors, venue, year) and the cross-domain marker. Goes in: a table, a
released file, a LaTeX upload or a folder of them. Comes out: records of one form, and beside them every row that is not among them,
with the reason.
"""

import ast
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from .. import places
from ..text import fold
from .files import SourceError, existing, read_bytes
from .latex import Paper, Sentence, read_arxiv, read_papers
from .latex.people import natural, split_people
from .licences import is_open_licence
from .reasons import read_reasons, reasons_problems
from .released import content_ids
from .tables import SYNONYMS, read_table

if TYPE_CHECKING:
    import pandas as pd

RECORD = (
    "item_id",
    "source_id",
    "source_title",
    "date",
    "domain",
    "licence",
    "sentence",
    "before",
    "after",
    "tag",
    "cited_id",
    "cited_title",
    "cited_abstract",
    "cited_authors",
    "cited_venue",
    "cited_year",
    "cross_domain",
    "problem",
)
LEFT_OUT = ("item_id", "source_id", "domain", "licence", "level", "reason", "sentence", "cited_title")
ASKED, OTHER = "[?]", "[…]"  # in a sentence: where the work asked for is cited, and where others are

# A bare "title" is left alone: it may be that of the paper that cites or of the one cited.
SYNONYMS.update(
    {
        "item_id": ("row_id", "citation_id", "id"),
        "source_id": ("source_paper_id", "source_paper", "paper_id", "citing_id", "citing_paper_id", "source", "paper"),
        "source_title": ("source_paper_title", "paper_title", "citing_title", "citing_paper_title"),
        "date": ("publication_date", "source_date", "published"),
        "domain": ("category", "field", "subject", "area"),
        "licence": ("license", "licence_url", "license_url"),
        "sentence": ("citing_sentence", "citation_context", "context", "citance", "text"),
        "before": ("sentence_before", "context_before", "previous", "previous_sentence"),
        "after": ("sentence_after", "context_after", "next", "next_sentence"),
        "tag": ("classification", "classification_tag", "citation_intent", "intent"),
        "cited_id": ("cited_paper_id", "citation_paper_id", "arxiv_id", "cited_arxiv", "arxiv", "doi"),
        "cited_title": ("cited_paper_title", "citation_paper_title", "citation_title", "cited_paper", "cited_work"),
        "cited_abstract": ("cited_paper_abstract", "citation_paper_abstract", "abstract", "summary"),
        "cited_authors": ("cited_paper_authors", "citation_paper_authors", "authors", "author"),
        "cited_venue": ("venue", "journal", "booktitle"),
        "cited_year": ("year",),
        "cross_domain": ("cross_domain_marker", "crossdomain"),
    }
)
_TABLES = (".csv", ".tsv", ".txt", ".jsonl", ".ndjson", ".parquet", ".xlsx", ".xlsm", ".xls", ".ods")
_UPLOADS = (".tar.gz", ".tgz", ".tar", ".gz")


def read_citations(
    path: str | Path | None = None, licences: str = "open", *, domain: str = "", licence: str = ""
) -> "tuple[pd.DataFrame, pd.DataFrame]":
    """Read records of citing sentences.

    Parameters
    ----------
    path : str or Path, optional
        None reads the 96 sample records. Otherwise

        * a table (see `read_table`) with ``sentence`` and ``cited_title`` and whatever else of `RECORD` there is, also under
          the names in `SYNONYMS`. Authors: a list, "A; B" or "A, B and C";
        * a REASONS file as released (.json), or a folder of them;
        * a paper's LaTeX source (see `read_arxiv`), or a folder of such uploads: a folder that holds archives, files named
          by arXiv numbers, or no .tex of its own. A table ``papers.csv`` in it may give, for each ``source_id`` (arXiv number or
          file name), ``domain``, ``licence`` and ``date``.
    licences : str
        "open" leaves out what has no open licence (see `is_open_licence`); "any" keeps it.
    domain, licence : str
        Of rows whose file does not tell, as LaTeX never does. You answer for it.

    Returns
    -------
    records : DataFrame
        Columns `RECORD`, all text, empty where unknown, ``item_id`` unique. ``cited_authors``: "Given Surname; Given Surname".
        ``cited_id``: an arXiv number, or "doi:10.…". ``cross_domain``: "yes", "no" or empty. ``date``: of the source paper;
        where nothing tells, year and month from its arXiv number. In sentences from LaTeX "[?]" stands where the work is
        cited and "[…]" where others are, authors' names of textual citations included, so that neither gives it away.
        ``problem``: what a user should know of the row.
    left_out : DataFrame
        Every row that is not among the records: columns `LEFT_OUT`; ``level`` is "citation", or "paper" for an upload that
        cannot be read or has no related work that cites, and for a released paper without a sentence. Reasons: no sentence, no title of the cited work, no entry in the
        bibliography, no open licence, or an exact repeat (domain, source paper, sentence and work).

    Raises
    ------
    SourceError
        A file that cannot be used, see the readers; or an ``item_id`` that stands in two rows which differ.
    ValueError
        `licences` is something else.

    Notes
    -----
    The paper (section 3, ethical considerations) took CC Zero, CC BY and CC BY-SA, and none under arXiv's perpetual,
    non-exclusive licence or CC BY-NC-ND. The released files give no licence, so that "open" leaves all of them out.
    """
    if licences not in ("open", "any"):
        raise ValueError(f"licences: expected 'open' or 'any', got {licences!r}")
    path = Path(path) if path else places.samples("reasons", "citations.csv")
    rows, lost = _gather(path)
    for row in rows:
        row["domain"] = row["domain"].strip() or domain
        row["licence"] = row["licence"].strip() or licence
        row["date"] = row["date"].strip() or _month(row["source_id"])
    for row in lost:
        row["domain"] = row.get("domain") or domain
        row["licence"] = row.get("licence") or licence
    rows = _identify(rows, path)
    kept = []
    for row in rows:
        reason = _unusable(row)
        if reason:
            lost.append({**row, "level": "citation", "reason": reason})
        else:
            kept.append(row)
    kept = _without_repeats(kept, lost)
    records, left_out = _frame(kept, RECORD), _frame(lost, LEFT_OUT)
    return open_only(records, left_out) if licences == "open" else (records, left_out)


def open_only(records: "pd.DataFrame", left_out: "pd.DataFrame") -> "tuple[pd.DataFrame, pd.DataFrame]":
    """Move records without an open licence to what is left out.

    Parameters
    ----------
    records, left_out : DataFrame
        As `read_citations` returns them.
    """
    import pandas as pd

    is_open = [is_open_licence(licence) for licence in records["licence"]]
    without = records[[not one for one in is_open]].assign(level="citation")
    without["reason"] = [
        f"no open licence: {licence}" if licence else "no licence given" for licence in without["licence"]
    ]
    joined = pd.concat([left_out, without[list(LEFT_OUT)]], ignore_index=True)
    return records[is_open].reset_index(drop=True), joined.astype("str")


def citation_notes(path: str | Path | None = None) -> "pd.DataFrame":
    """What a user should know of the files behind `read_citations`: what a reader could not do, repair or find.

    Returns
    -------
    DataFrame
        Columns ``file``, ``level`` ("error", "problem", "note"), ``problem``.
    """
    import pandas as pd

    path = Path(path) if path else places.samples("reasons", "citations.csv")
    kind = _kind(path)
    if kind == "released":
        table = reasons_problems(path)
        return table[table["level"] == "note"][["file", "level", "problem"]].reset_index(drop=True)
    if kind == "uploads":
        return read_papers(path)[1]
    if kind == "upload":
        found = [(path.name, "note", note) for note in read_arxiv(path).notes]
    else:
        found = [
            (path.name, "problem", f"row {row}: {problem}" if row else problem)
            for row, _, problem in _table(path)[1].itertuples(index=False)
        ]
    return pd.DataFrame(found, columns=["file", "level", "problem"], dtype="str")


def latex_papers(path: str | Path) -> list[Paper]:
    """The papers of a LaTeX upload or a folder of them; none where the path holds something else."""
    kind = _kind(Path(path))
    return [read_arxiv(path)] if kind == "upload" else read_papers(path)[0] if kind == "uploads" else []


# --- where the rows come from -----------------------------------------------------------------------------------------


def _kind(path: Path) -> str:
    """table, released, upload (one paper's LaTeX) or uploads."""
    path = existing(path, folder=True)
    if path.is_dir():
        files = [entry for entry in path.iterdir() if not entry.name.startswith(".")]
        names = [entry.name.lower() for entry in files if entry.is_file()]
        tex = [name for name in names if name.endswith((".tex", ".ltx"))]
        numbered = [name for name in tex if re.match(r"\d{4}\.\d{4,5}", name)]
        archives = [name for name in names if name.endswith(_UPLOADS) and not name.endswith((".json.gz", ".csv.gz"))]
        if not tex and not archives and any(name.endswith((".json", ".json.gz")) for name in names):
            return "released"
        return "uploads" if archives or not tex or len(numbered) == len(tex) else "upload"
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    if suffix == ".json":
        return "released" if read_bytes(path).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") else "table"
    return "table" if suffix in _TABLES else "upload"


def _gather(path: Path) -> tuple[list[dict], list[dict]]:
    """Rows with the columns of a record, and the papers of which there are none."""
    kind = _kind(path)
    if kind == "released":
        frame = read_reasons(path)
        rows = frame.rename(columns={"row_id": "item_id"})[list(RECORD)].to_dict("records")
        return [row | {"cited_authors": "; ".join(row["cited_authors"])} for row in rows], _released_papers(path)
    if kind == "table":
        return [_from_table(row) for row in _table(path)[0].to_dict("records")], []
    if kind == "upload":
        papers, errors = [read_arxiv(path)], []
    else:
        papers, problems = read_papers(path)
        errors = problems[problems["level"] == "error"].to_dict("records")
    told = _told(path) if path.is_dir() else {}
    rows, lost = [], []
    for error in errors:
        own = told.get(_bare_name(error["file"]), {})
        lost.append(own | {"item_id": error["file"], "source_id": error["file"], "level": "paper"})
        lost[-1]["reason"] = f"cannot be read: {error['problem']}"
    for paper in papers:
        own = told.get(paper.name, {}) or told.get(_bare_name(Path(paper.path).name), {})
        found = list(_from_latex(paper))
        rows += [row | own for row in found]
        if not found:
            why = "no citation in its related work" if paper.related_work else "no related work found"
            lost.append(own | {"item_id": paper.name, "source_id": paper.name, "level": "paper", "reason": why})
    return rows, lost


def _released_papers(path: Path) -> list[dict]:
    """The papers of released files of which no sentence was released."""
    files = sorted(path.glob("*.json*")) if path.is_dir() else [path]
    return [
        {"item_id": number, "source_id": number, "domain": domain, "level": "paper", "reason": "no sentence of it"}
        for file in files
        for domain, papers in json.loads(read_bytes(file).decode("utf-8-sig")).items()
        for address, paper in papers.items()
        if not paper["Sentences"]
        for number in [re.sub(r"^.*abs/|v\d+/?$", "", address)]
    ]


def _table(path: Path) -> "tuple[pd.DataFrame, pd.DataFrame]":
    required = ["sentence", "cited_title"]
    optional = [name for name in RECORD if name not in (*required, "problem")]
    frame, problems = read_table(path, required, optional)
    if not len(frame):
        raise SourceError(f"{path}: the file has headings and no rows; add the rows below the headings.")
    return frame, problems


# Remarks on the headings stand in row 1, which in JSON and parquet is the first record.
_OF_HEADINGS = re.compile(
    r"heading \d+ is '[^']*'; it is called '[^']*' here|'[^']*' is taken for '[^']*', and not '[^']*'(?:, '[^']*')*"
)


def _from_table(row: dict) -> dict:
    # A table that was written from records brings its own column `problem`, which read_table calls problem.1.
    own = _OF_HEADINGS.sub("", row["problem"]).strip("; ")
    problems = [text for text in (row.get("problem.1", ""), own) if text]
    authors, cut = _people(row["cited_authors"])
    problems += ["the list of authors is cut (et al.)"] if cut else []
    marker = {"yes": "yes", "true": "yes", "1": "yes", "no": "no", "false": "no", "0": "no", "": ""}
    cross = fold(row["cross_domain"])
    if cross not in marker:
        problems.append(f"cross_domain {row['cross_domain']!r} is neither yes nor no")
    found = {name: _line(row.get(name, "")) for name in RECORD}
    return found | {
        "cited_authors": authors,
        "cited_id": _identifier(row["cited_id"]),
        "cited_year": _year(row["cited_year"]),
        "cross_domain": marker.get(cross, ""),
        "problem": "; ".join(problems),
    }


def _told(folder: Path) -> dict[str, dict]:
    """What a table `papers.csv` in the folder says of each paper."""
    if not (folder / "papers.csv").is_file():
        return {}
    frame, _ = read_table(folder / "papers.csv", ["source_id"], ["domain", "licence", "date"], unique="source_id")
    rows = frame[["source_id", "domain", "licence", "date"]].to_dict("records")
    return {_bare_name(row.pop("source_id")): {name: text for name, text in row.items() if text} for row in rows}


def _bare_name(name: str) -> str:
    """The name of an upload without its ending; of an arXiv number without its version."""
    name = re.sub(r"(?:\.tar)?(?:\.gz|\.tgz|\.tar|\.tex)$", "", name.strip(), flags=re.IGNORECASE)
    return re.sub(r"^(?:arxiv:)?(\d{4}\.\d{4,5})(?:v\d+)?$", r"\1", name, flags=re.IGNORECASE)


def _from_latex(paper: Paper) -> Iterable[dict]:
    sentences = {
        (" > ".join(section.path), number, sentence.text): sentence
        for section in paper.related_work
        for number, sentence in enumerate(section.sentences)
    }
    for row in paper.citations().to_dict("records"):
        sentence = sentences[row["section"], row["sentence_no"], row["sentence"]]
        beside = max(len(citation.keys) for citation in sentence.citations if row["key"] in citation.keys)
        problems = [f"one of {beside} works cited at this place"] if beside > 1 else []
        if others := len(set(sentence.keys)) - beside:
            problems.append(f"{others} more cited elsewhere in the sentence")
        yield {
            **dict.fromkeys(RECORD, ""),
            "source_id": row["source_id"],
            "source_title": row["source_title"],
            "sentence": marked(sentence, row["key"]),
            "before": row["before"],
            "after": row["after"],
            "cited_id": row["cited_arxiv"] or (f"doi:{row['cited_doi']}" if row["cited_doi"] else ""),
            "cited_title": row["cited_title"],
            "cited_authors": "; ".join(row["cited_authors"]),
            "cited_venue": row["cited_venue"],
            "cited_year": row["cited_year"],
            "problem": "; ".join(problems),
            "status": row["status"],
            "key": row["key"],
        }


def marked(sentence: Sentence, key: str) -> str:
    """A sentence with `ASKED` for citations of one work, and `OTHER` for those of others alone; authors' names go with them."""
    pieces, position = [], 0
    for citation in sentence.citations:
        pieces += [sentence.text[position : citation.start], ASKED if key in citation.keys else OTHER]
        position = citation.end
    text = " ".join("".join([*pieces, sentence.text[position:]]).split())
    for mark in map(re.escape, (ASKED, OTHER)):
        text = re.sub(rf"[(\[]({mark})[)\]]", r"\1", text)
        text = re.sub(rf"({mark})(?:[\s,]*{mark})+", r"\1", text)  # "Smith et al. (2002)": name and year apart
    return re.sub(r"(?<=[\w.!?])(?=\[[?…]\])", " ", text)


# --- cells ------------------------------------------------------------------------------------------------------------


def _line(text: str) -> str:
    return " ".join(text.split())


def _people(text: str) -> tuple[str, bool]:
    """ "Given Surname; Given Surname" of a list of authors in any of the usual forms, and whether "et al." cuts it."""
    text = re.sub(r"^\s*authors?\s*:\s*", "", text, flags=re.IGNORECASE).strip()
    if text.startswith("["):
        for read in (json.loads, ast.literal_eval):
            try:
                value = read(text)
            except (ValueError, SyntaxError, MemoryError, RecursionError):
                continue
            names = [one.get("name", "") if isinstance(one, dict) else str(one) for one in value]
            names = [natural(name) for name in names if name.strip()]
            whole = [
                name for name in names if not re.fullmatch(r"(?:and )?(?:et\.? al\.?|others)", name, re.IGNORECASE)
            ]
            return "; ".join(whole), len(whole) < len(names)
    names, cut = split_people(text)
    return "; ".join(names), cut


_ARXIV = r"(?:\d{4}\.\d{4,5}|[a-z-]+(?:\.[A-Z]{2})?/\d{7})"


def _identifier(text: str) -> str:
    """ "1706.03762" of an arXiv number in any form, "doi:10.…" of a DOI, anything else as it is."""
    text = text.strip()
    number = re.sub(
        r"^(?:https?://)?(?:www\.|export\.)?arxiv\.org/(?:abs|pdf)/|^arxiv:\s*", "", text, flags=re.IGNORECASE
    )
    number = re.sub(r"^10\.48550/arxiv\.", "", number, flags=re.IGNORECASE)
    if match := re.fullmatch(rf"({_ARXIV})(?:v\d+)?(?:\.pdf)?/?(?:\s*\[[\w.-]+\])?", number):
        return match[1]
    doi = re.sub(r"^(?:https?://)?(?:dx\.)?doi\.org/|^doi:\s*", "", text, flags=re.IGNORECASE)
    return f"doi:{doi}" if doi.startswith("10.") else text


def _year(text: str) -> str:
    match = re.fullmatch(r"((?:1[5-9]|20)\d\d)(?:\.0+|-\d\d(?:-\d\d.*)?)?", text.strip())
    return match[1] if match else text.strip()


def _month(source: str) -> str:
    """Year and month in which a paper came to arXiv, as its number tells: "2019-11" of "1911.02782"; else empty."""
    match = re.fullmatch(r"(?:arxiv:)?(?:[a-z-]+(?:\.[A-Z]{2})?/)?(\d\d)(\d\d)(?:\.\d{4,5}|\d{3})(?:v\d+)?", source)
    if not match or not 1 <= int(match[2]) <= 12:
        return ""
    return f"{'19' if int(match[1]) > 90 else '20'}{match[1]}-{match[2]}"


# --- what is kept -----------------------------------------------------------------------------------------------------


def _identify(rows: list[dict], path: Path) -> list[dict]:
    """Every row with an identifier. Rows with one identifier are one record (in a table of several replies to it) and must be equal."""
    seen: dict[str, dict] = {}
    once = []
    for row in rows:
        own = row["item_id"] = row["item_id"].strip()
        if own and own in seen:
            differing = [field for field in row if row[field] != seen[own].get(field)]
            if differing:
                raise SourceError(
                    f"{path}: item_id {own!r} stands in two rows that differ ({', '.join(differing)}); give each citation an id of its "
                    "own, or take the column out."
                )
            continue
        seen[own] = row
        once.append(row)
    rows = once
    parts = [(row["source_id"], row["sentence"], row["cited_title"] or row.get("key", "")) for row in rows]
    made = content_ids(parts, [(row["domain"],) for row in rows], "c")
    for row, new in zip(rows, made, strict=True):
        row["item_id"] = row["item_id"] or new
    return rows


def _unusable(row: dict) -> str:
    if row.get("status") == "no entry":
        return f"no entry in the bibliography: {row['key']}"
    if not re.search(r"\w", row["sentence"]):
        return "no sentence"
    return "" if re.search(r"\w", row["cited_title"]) else "no title of the cited work"


def _without_repeats(rows: list[dict], lost: list[dict]) -> list[dict]:
    """Rows without exact repeats; the same sentence and work in another domain or source paper stays, and says so."""
    exact: dict[tuple, str] = {}
    elsewhere: dict[tuple, str] = {}
    kept = []
    for row in rows:
        said = (fold(row["sentence"]), fold(row["cited_title"]))
        where = (row["domain"], row["source_id"])
        if (*where, *said) in exact:
            lost.append({**row, "level": "citation", "reason": f"repeats {exact[*where, *said]}"})
            continue
        if said in elsewhere:
            row["problem"] = "; ".join(filter(None, [row["problem"], f"sentence and work of {elsewhere[said]}"]))
        exact[*where, *said] = elsewhere[said] = row["item_id"]
        kept.append(row)
    return kept


def _frame(rows: list[dict], columns: tuple[str, ...]) -> "pd.DataFrame":
    import pandas as pd

    return pd.DataFrame(
        [{name: row.get(name, "") for name in columns} for row in rows], columns=list(columns), dtype="str"
    )
