"""A run beside the numbers that a paper printed: are they comparable at all?

Published tables and settings lie under `published/<paper>/`. A score of one's own may stand beside a printed one only where judge,
prompts, data and variant are the same; `verdict` says which are not.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


def published(paper: str, name: str) -> pd.DataFrame:
    """A table that a paper printed, as data.

    Parameters
    ----------
    paper : e.g. 'dahl'.
    name : of the file, e.g. 'table2'.

    Returns
    -------
    DataFrame : numbers as numbers, missing where the cell is empty since the paper has none. Remarks in the file, from # on, are not
    part of it.

    Raises
    ------
    ValueError : there is no such table; the message lists those there are.
    """
    import pandas as pd

    folder = Path(__file__).parent / "published" / paper
    path = folder / f"{name}.csv"
    if not path.is_file():
        there = ", ".join(sorted(p.stem for p in folder.glob("*.csv"))) or "none"
        raise ValueError(f"no published table {paper}/{name}; there are {there}")
    # Only an empty cell is missing: "none" and "NA" may be what a paper printed.
    return pd.read_csv(path, comment="#", keep_default_na=False, na_values=[""]).convert_dtypes()


def verdict(yours: Mapping[str, Any], printed: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Whether a run was made as the paper's numbers were.

    Parameters
    ----------
    yours : what the run did, by aspect (the paper's aspects; others are passed over). None: not recorded.
    printed : columns aspect, published, source, and decides ('yes' where a difference makes the numbers incomparable).

    Returns
    -------
    table : DataFrame
        aspect, published, yours, same (missing where the run does not tell), decides, source.
    sentence : str
        Not comparable where an aspect that decides differs or is not recorded; comparable with care where another one does; else
        comparable. Numbers are compared as numbers, words without regard to case and spaces.
    """
    import pandas as pd

    rows = []
    for row in printed.itertuples():
        said = yours.get(row.aspect)
        same = None if said is None else _same(row.published, said)
        shown = "not recorded" if said is None else str(said)
        rows.append((row.aspect, str(row.published), shown, same, row.decides == "yes", row.source))
    table = pd.DataFrame(rows, columns=["aspect", "published", "yours", "same", "decides", "source"])
    table["same"] = table["same"].astype("boolean")
    open_ = ~table["same"].fillna(False)
    decisive, minor = table[open_ & table["decides"]], table[open_ & ~table["decides"]]
    if len(decisive):
        sentence = f"Not comparable with the printed numbers: {_listed(decisive)}."
    elif len(minor):
        sentence = f"Comparable with care; what differs: {_listed(minor)}."
    else:
        sentence = "Comparable: everything that the paper fixes is the same."
    return table, sentence


def _same(printed: Any, said: Any) -> bool:
    try:
        return float(printed) == float(said)
    except (TypeError, ValueError):
        return " ".join(str(printed).split()).casefold() == " ".join(str(said).split()).casefold()


def _listed(rows: pd.DataFrame) -> str:
    parts = []
    for row, missing in zip(rows.itertuples(), rows["same"].isna(), strict=True):
        parts.append(
            f"{row.aspect} ({row.yours})" if missing else f"{row.aspect} ({row.yours}; printed: {row.published})"
        )
    return ", ".join(parts)
