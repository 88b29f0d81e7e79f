"""The data set (10_build_dataset): records read, filtered, drawn and counted by domain, as in REASONS' section 3, Figure 2 and Table 2.

Goes in: what `sources.read_citations` reads. Comes out: tables of records, of what was left out and why, of domains; and, where the
network may be used, which citations could be verified.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from factlab import attribution, places, sources
from factlab.attribution.forms import words
from factlab.studies.reasons.query import holds
from factlab.text import fold

if TYPE_CHECKING:
    import pandas as pd

    from factlab.sources import Paper

FILLED = {  # column of a record: that of a look-up it is filled from
    "cited_id": "arxiv_id",
    "cited_abstract": "abstract",
    "cited_authors": "authors",
    "cited_venue": "venue",
    "cited_year": "year",
}


def read(
    path: str | Path | None, *, domain: str = "", licence: str = "", licences: str = "open", look_up: bool = False
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Records, and what was left out; with the network, source papers from arXiv are asked for their licence first.

    Parameters
    ----------
    path, domain, licence, licences : see `sources.read_citations`.
    look_up : whether licences that nothing tells may be looked up, one request in three seconds; kept in the cache.

    Returns
    -------
    (records, left_out)
    """
    if not look_up or licences == "any":
        return sources.read_citations(path, licences, domain=domain, licence=licence)
    records, left_out = sources.read_citations(path, "any", domain=domain, licence=licence)
    unknown = records.loc[records["licence"] == "", "source_id"]
    if len(unknown):
        found = sources.look_up_licences(unknown, _cache(), tell=print)
        told = dict(zip(found["arxiv_id"], found["licence"], strict=True))
        records["licence"] = [
            own or told.get(source, "") for own, source in zip(records["licence"], records["source_id"], strict=True)
        ]
    return sources.open_only(records, left_out)


def verify(records: pd.DataFrame, tell: Callable[[str], None] | None = print) -> pd.DataFrame:
    """Look up what each record cites, and compare: `sources.look_up` with the identity of titles and authors that scores use.

    Returns
    -------
    DataFrame : item_id, then the columns of `sources.look_up`, one row a record.
    """
    found = sources.look_up(
        records,
        cache=_cache(),
        same_title=attribution.same_title,
        same_author=attribution.same_author,
        key=os.environ.get("SEMANTIC_SCHOLAR_API_KEY", ""),
        tell=tell,
    )
    found.insert(0, "item_id", records["item_id"].to_numpy())
    return found


def _cache() -> Path:
    return places.outputs() / "cache" / "metadata.sqlite"


def filled(records: pd.DataFrame, found: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    """Records whose empty cells were filled from works that were verified as exact, and how many cells that were."""
    records = records.copy()
    exact = (found["verdict"] == "exact").to_numpy()
    count = 0
    for column, source in FILLED.items():
        fill = exact & (records[column] == "").to_numpy() & (found[source] != "").to_numpy()
        records.loc[fill, column] = found.loc[fill, source].to_numpy()
        count += int(fill.sum())
    return records, count


def verdicts(found: pd.DataFrame) -> pd.DataFrame:
    """How the verification came out: verdict, citations, works, service that knew most of them."""
    import pandas as pd

    rows = []
    for verdict in sources.VERDICTS:
        own = found[found["verdict"] == verdict]
        services = [f"{name or 'none'} {n}" for name, n in own["service"].value_counts().items()]
        rows.append((verdict, len(own), own["asked"].map(fold).nunique(), ", ".join(services)))
    return pd.DataFrame(rows, columns=["verdict", "citations", "works", "services"])


def draw(
    records: pd.DataFrame, left_out: pd.DataFrame, per_domain: int = 0, seed: int = 0
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """At most so many records of each domain: source papers by lot, each as a whole as long as they fit, the last one in part.

    Parameters
    ----------
    records, left_out : as `read` returns them.
    per_domain : records a domain; 0 keeps all.
    seed : int

    Returns
    -------
    (records, left_out) : in their order; those not drawn are among what is left out, with that reason.

    Raises
    ------
    ValueError : per_domain is negative.
    """
    import pandas as pd

    if per_domain < 0:
        raise ValueError(f"per_domain: expected 0 (all) or more, got {per_domain}")
    if not per_domain:
        return records, left_out
    kept: list[int] = []
    for number, (_, own) in enumerate(records.groupby("domain", sort=True)):
        order = np.random.default_rng([seed, number]).permutation(own["source_id"].unique())
        rest: list[int] = []
        count = 0
        for source in order:
            rows = own.index[own["source_id"] == source].tolist()
            if count + len(rows) <= per_domain:
                kept += rows
                count += len(rows)
            else:
                rest += rows
        kept += rest[: per_domain - count]
    chosen = records.index.isin(kept)
    lost = records[~chosen].assign(level="citation", reason=f"not drawn ({per_domain} a domain)")
    joined = pd.concat([left_out, lost[list(left_out.columns)]], ignore_index=True)
    return records[chosen].reset_index(drop=True), joined.astype("str")


def split(records: pd.DataFrame, test_share: float = 0.25, seed: int = 0) -> pd.DataFrame:
    """Which source papers are held out for testing: no paper is on both sides.

    Parameters
    ----------
    records : as `read` returns them.
    test_share : of the source papers of each domain, in [0, 1); rounded, at least one where the domain has two or more and the
        share is not 0.
    seed : int

    Returns
    -------
    DataFrame : source_id, domain (the first, where a paper is in several), records, split ('train' or 'test').

    Raises
    ------
    ValueError : test_share is outside [0, 1).
    """
    if not 0 <= test_share < 1:
        raise ValueError(f"test_share: expected a share from 0 to below 1, got {test_share!r}")
    papers = records.groupby("source_id", sort=False).agg(domain=("domain", "first"), records=("item_id", "size"))
    papers = papers.reset_index()
    papers["split"] = "train"
    for number, (_, own) in enumerate(papers.groupby("domain", sort=True)):
        wanted = int(len(own) * test_share + 0.5)
        wanted = max(wanted, 1) if test_share and len(own) > 1 else min(wanted, len(own) - 1)
        held = np.random.default_rng([seed, number]).choice(own.index.to_numpy(), wanted, replace=False)
        papers.loc[held, "split"] = "test"
    return papers


def shared_works(records: pd.DataFrame, papers: pd.DataFrame) -> int:
    """How many works are cited on both sides of a split."""
    side = dict(zip(papers["source_id"], papers["split"], strict=True))
    sides = records.assign(work=records["cited_title"].map(fold), side=records["source_id"].map(side))
    return int((sides.groupby("work")["side"].nunique() > 1).sum())


def domains(records: pd.DataFrame, left_out: pd.DataFrame) -> pd.DataFrame:
    """Figure 2 in kind: what each domain holds, most sentences first.

    Returns
    -------
    DataFrame : domain, papers (source papers read), papers_left (with a record), sentences (different ones), citations
        (records: a sentence counts for each work it cites), works (different titles cited), left_out (rows and papers).
    """
    import pandas as pd

    names = dict.fromkeys([*records["domain"], *left_out["domain"]])
    rows = []
    for name in names:
        own, lost = records[records["domain"] == name], left_out[left_out["domain"] == name]
        told = {*own["source_id"], *lost["source_id"]} - {""}
        bare = own["sentence"].str.replace(r"\[[?…]\]", "[]", regex=True)
        sentences = pd.DataFrame({"source": own["source_id"], "sentence": bare}).drop_duplicates()
        left = own["source_id"].nunique()
        counts = (len(told) + ("" in set(own["source_id"])), left, len(sentences), len(own))
        rows.append((name, *counts, own["cited_title"].map(fold).nunique(), len(lost)))
    columns = ["domain", "papers", "papers_left", "sentences", "citations", "works", "left_out"]
    table = pd.DataFrame(rows, columns=columns)
    return table.sort_values("sentences", ascending=False, kind="stable", ignore_index=True)


def reasons(left_out: pd.DataFrame) -> pd.DataFrame:
    """Why rows are left out: reason (of a kind), level, rows, an example."""
    kind = left_out["reason"].str.replace(
        r"^(repeats|cannot be read|no entry in the bibliography).*", r"\1", regex=True
    )
    table = left_out.assign(reason=kind).groupby(["reason", "level"], sort=False)["item_id"].agg(["size", "first"])
    table = table.reset_index().set_axis(["reason", "level", "rows", "for example"], axis=1)
    return table.sort_values("rows", ascending=False, kind="stable", ignore_index=True)


def example(records: pd.DataFrame) -> pd.DataFrame:
    """Table 2 in kind: the record with the most cells filled, without a problem where there is one; field and value."""
    import pandas as pd

    if not len(records):
        return pd.DataFrame(columns=["field", "value"])
    shown = records.drop(columns="problem")
    best = int(((shown != "").sum(axis=1) - 100 * (records["problem"] != "")).to_numpy().argmax())
    row = shown.iloc[best]
    return pd.DataFrame({"field": row.index, "value": [value or "(not known)" for value in row]})


def some(records: pd.DataFrame, left_out: pd.DataFrame) -> pd.DataFrame:
    """The records, if there are any.

    Raises
    ------
    sources.SourceError : there is none; the message says why and what to do.
    """
    if len(records):
        return records
    table = reasons(left_out)
    told = "; ".join(f"{row.rows} {row.reason}" for row in table.itertuples())
    hint = (
        "Name the licence of your own texts with `licence`, look up those on arXiv with `look_up`, or keep all with `licences: any`."
        if told and table["reason"].str.contains("licence").any()
        else "Check the file."
    )
    raise sources.SourceError(f"no record is left ({told or 'the data are empty'}). {hint}")


def are_sample(records: pd.DataFrame) -> bool:
    """Whether these records are those of the sample (or some of them)."""
    sample = sources.read_citations()[0]
    return bool(len(records)) and set(records["sentence"]) <= set(sample["sentence"])


# --- what the reader of LaTeX coped with ------------------------------------------------------------------------------


def papers_shown(path: str | Path | None) -> list[Paper]:
    """The LaTeX papers among the data; where the data are the sample, the sample project."""
    return sources.latex_papers(path or places.samples("reasons", "latex_project"))


def sections(papers: Sequence[Paper]) -> pd.DataFrame:
    """Sections of papers: paper, section, related_work ('yes' or ''), sentences, citations (sentence and work)."""
    import pandas as pd

    rows = [
        (
            paper.name,
            " > ".join(section.path) or "(before the first heading)",
            "yes" if section.related else "",
            len(section.sentences),
            sum(len(sentence.keys) for sentence in section.sentences),
        )
        for paper in papers
        for section in paper.sections
    ]
    return pd.DataFrame(rows, columns=["paper", "section", "related_work", "sentences", "citations"])


def bibliographies(papers: Sequence[Paper]) -> pd.DataFrame:
    """Bibliographies of papers: paper, key, title, authors, venue, year, arxiv, cited in related work ('yes' or '')."""
    import pandas as pd

    rows = []
    for paper in papers:
        related = {key for section in paper.related_work for s in section.sentences for key in s.keys}
        rows += [
            (
                paper.name,
                e.key,
                e.title,
                "; ".join(e.authors),
                e.venue,
                e.year,
                e.arxiv,
                "yes" if e.key in related else "",
            )
            for e in paper.bibliography
        ]
    return pd.DataFrame(rows, columns=["paper", "key", "title", "authors", "venue", "year", "arxiv", "related_work"])


def coped(papers: Sequence[Paper]) -> pd.DataFrame:
    """One row a paper: files read, sections, related work, keys cited, entries, those with title and author, notes."""
    import pandas as pd

    rows = []
    for paper in papers:
        whole = sum(bool(entry.title and entry.authors) for entry in paper.bibliography)
        rows.append(
            {
                "paper": paper.name,
                "files": ", ".join(paper.files),
                "sections": len(paper.sections),
                "related_work": len(paper.related_work),
                "keys_cited": len(paper.cited),
                "entries": len(paper.bibliography),
                "with_title_and_author": whole,
                "notes": "; ".join(paper.notes),
            }
        )
    return pd.DataFrame(rows)


# --- what to distrust -------------------------------------------------------------------------------------------------


def title_holders(records: pd.DataFrame) -> pd.DataFrame:
    """Records whose sentence holds the title that it cites: nothing is left to recognise in them."""
    pairs = zip(records["sentence"], records["cited_title"], strict=True)
    return records[[holds(sentence, title) for sentence, title in pairs]]


def name_holders(records: pd.DataFrame) -> pd.DataFrame:
    """Records whose sentence holds the surname of the first author of what it cites."""
    kept = []
    for sentence, authors in zip(records["sentence"], records["cited_authors"], strict=True):
        first = words(authors.split(";")[0])
        kept.append(bool(first) and len(first[-1]) > 3 and first[-1] in words(sentence))
    return records[kept]


def without_title_holders(
    records: pd.DataFrame, left_out: pd.DataFrame, holding_title: str = "leave out"
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Records without those of `title_holders`, which go to what is left out; with "keep", all.

    Raises
    ------
    ValueError : holding_title is neither "keep" nor "leave out".
    """
    import pandas as pd

    if holding_title not in ("keep", "leave out"):
        raise ValueError(f"holding_title: expected 'keep' or 'leave out', got {holding_title!r}")
    if holding_title == "keep":
        return records, left_out
    held = title_holders(records).assign(level="citation", reason="the sentence holds the title that it cites")
    joined = pd.concat([left_out, held[list(left_out.columns)]], ignore_index=True)
    return records.drop(index=held.index).reset_index(drop=True), joined.astype("str")


def warnings(records: pd.DataFrame, left_out: pd.DataFrame, found: pd.DataFrame | None = None) -> list[str]:
    """What to distrust in a data set, in sentences made from its numbers."""
    n = len(records)
    notes = []
    if are_sample(records):
        notes.append(
            "Sample data: the sentences and their source papers were invented for this project, and the summaries stand in for "
            "abstracts; the works cited are real. All are well known: an average paper is harder to recognise."
        )
    if held := len(title_holders(records)):
        notes.append(
            f"{held} of {n} sentences hold the very title that they cite, so that a prompt with one holds its own answer and "
            "stops a closed-book query; `holding_title: leave out` takes them out."
        )
    if named := len(name_holders(records)):
        notes.append(f"{named} of {n} sentences hold a word that is the first author's surname.")
    for kind, said in (
        (r"begins in mid-sentence", "begin in mid-sentence"),
        (r"cut to fewer than 3 words", "end in a citing sentence of fewer than three words"),
        (r"reference list, not a sentence", "look like entries of a reference list"),
        (r"works cited at this place", "cite several works at one place, so that more than one title is right"),
        (r"sentence and work of", "repeat sentence and work of another domain or source paper"),
        (r"et al\.", "have a list of authors that is cut"),
    ):
        if count := int(records["problem"].str.contains(kind).sum()):
            notes.append(f"{count} of {n} records {said}.")
    if without := int((records["licence"] == "").sum()):
        notes.append(f"{without} of {n} records have no licence: for your own use, not to be passed on.")
    closed = [one for one in records["licence"] if one and not sources.is_open_licence(one)]
    if closed:
        notes.append(f"{len(closed)} of {n} records are under a licence that is not open.")
    for column, said in (("cited_abstract", "abstract"), ("cited_authors", "authors")):
        if empty := int((records[column] == "").sum()):
            notes.append(
                f"{empty} of {n} records have no {said} of the cited work; queries that show or ask for it lack it."
            )
    if not (records["cross_domain"] != "").any() and n:
        notes.append("Nothing tells which citations cross domains.")
    small = records.groupby("domain").size() if n else []
    if n and (few := [name or "(not told)" for name, count in small.items() if count < 30]):
        notes.append(f"{len(few)} of {len(small)} domains have fewer than 30 records: they can hardly be compared.")
    if unread := int((left_out["level"] == "paper").sum()):
        notes.append(
            f"{unread} papers gave no record: no sentence of them is there, no related work that cites, or they could not be read."
        )
    if found is not None and len(found):
        exact = int((found["verdict"] == "exact").sum())
        notes.append(f"{exact} of {len(found)} citations were verified: title and first author as in the record found.")
        if errors := int((found["verdict"] == "error").sum()):
            notes.append(f"{errors} could not be looked up: {found.loc[found['verdict'] == 'error', 'error'].iloc[0]}.")
    return notes


def summary(records: pd.DataFrame, left_out: pd.DataFrame) -> str:
    """The data set in one line."""
    table = domains(records, left_out)
    papers = records["source_id"].nunique()
    works = records["cited_title"].map(fold).nunique()
    counted = int((table["papers_left"] > 0).sum())
    kept = f"{len(records)} records ({table['sentences'].sum()} sentences, {works} works) from {papers} source papers in {counted} "
    kept += "domain" if counted == 1 else "domains"
    citations = int((left_out["level"] == "citation").sum())
    without = len(left_out) - citations
    kept += f"; {citations} citations left out" if citations else ""
    return kept + (f"; {without} {'paper' if without == 1 else 'papers'} without any" if without else "")
