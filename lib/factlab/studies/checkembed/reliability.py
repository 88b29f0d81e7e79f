"""Does stability predict closeness to the ground truth (60_reliability)?"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from factlab import stability, stats
from factlab.studies.checkembed.pairs import gone

if TYPE_CHECKING:
    import pandas as pd


def reliability(table: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """Correlation of the stability of replies with their closeness to the ground truth, over questions that have one.

    Parameters
    ----------
    table : from `decisions`.

    Returns
    -------
    DataFrame : as `stats.correlation`.
    """
    known = table[(table["status"] == "scored") & table["truth_similarity"].notna()]
    return stats.correlation(known["level"].astype(float), known["truth_similarity"].astype(float), seed=seed)


def surprises(table: pd.DataFrame, most: int = 3) -> pd.DataFrame:
    """Accepted answers farthest from the ground truth: stable and wrong."""
    known = table[table["accepted"].astype(bool) & table["truth_similarity"].notna()]
    return known.sort_values("truth_similarity").head(most)[["item_id", "level", "spread", "truth_similarity"]]


def reliability_sentence(found: pd.DataFrame, name: str = "") -> str:
    """Pearson's r of stability and closeness, in words."""
    row = found.set_index("coefficient").loc["pearson"]
    head = f"{name}: " if name else ""
    if gone(row["value"]):
        return f"{head}correlation undefined ({row['reason']})"
    interval = f" [{row['low']:.2f}, {row['high']:.2f}]" if not gone(row["low"]) else ""
    told = "" if gone(row["low"]) or row["low"] > 0 or row["high"] < 0 else ", not shown to differ from 0"
    return f"{head}r = {row['value']:.2f}{interval} over {row['n']} questions{told}"


def released_matrices(path: str | Path, field: str = "cosine_sim") -> list[np.ndarray]:
    """The matrices of one file of the authors' released results, the ground truth last.

    Parameters
    ----------
    path : a JSON file with `data`, a list of records.
    field : 'cosine_sim' or 'pearson_corr' (CheckEmbed), 'result' (BERTScore).

    Raises
    ------
    ValueError : the file is none of these.
    """
    try:
        records = json.loads(Path(path).read_text(encoding="utf-8"))["data"]
        found = [np.array(record[field], dtype=float) for record in records]
        if any(m.ndim != 2 or m.shape[0] != m.shape[1] for m in found):
            raise ValueError("not all are square")
        return found
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path}: not a file of released results with {field} ({error})") from error


def released_decisions(
    folder: Path | None, level: float = 0.9, spread: float = 0.05, variant: str = "paper"
) -> dict[str, pd.DataFrame]:
    """Decisions on the authors' legal documents, one table for each of their files; those without a ground truth are left out.

    Parameters
    ----------
    folder : `results` of the released data; None: no tables.
    level, spread, variant : as in `replies.decisions`.

    Returns
    -------
    dict of name to DataFrame : as `replies.decisions`, closeness to the ground truth included.

    Raises
    ------
    ValueError : the folder holds no such files.
    """
    from factlab.studies.checkembed.replies import decisions

    if folder is None:
        return {}
    paths = sorted((folder / "legal_definitions" / "CheckEmbed").glob("*.json"))
    if not paths:
        raise ValueError(
            f"{folder}: no legal_definitions/CheckEmbed/*.json in it; give the folder `results` of the authors' data"
        )
    found = {}
    for path in paths:
        matrices = {}
        for number, matrix in enumerate(released_matrices(path)):
            # An empty ground truth has -1 against every reply: there is nothing to be close to.
            if not (matrix[-1, :-1] <= -0.999).all():
                matrices[f"document {number}"] = matrix
        name = f"released, {path.name.split('_')[0]}"
        name = name if name not in found else f"released, {path.stem.removesuffix('_results')}"
        found[name] = decisions(matrices, level, spread, variant)
    return found


def all_correlations(tables: Mapping[str, pd.DataFrame], seed: int = 0) -> pd.DataFrame:
    """`reliability` of every table, one below the other, with the table's name in `data`."""
    import pandas as pd

    return pd.concat([reliability(table, seed).assign(data=name) for name, table in tables.items()], ignore_index=True)


def risk_curves(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Risk against coverage of every table, as `stability.risk_coverage`; risk is 1 minus the similarity to the ground truth."""
    import pandas as pd

    frames = [stability.risk_coverage(*_risk(t)).assign(method=name) for name, t in tables.items() if len(t)]
    return pd.concat(frames, ignore_index=True) if frames else stability.risk_coverage([], []).assign(method="")


def risk_areas(tables: Mapping[str, pd.DataFrame], seed: int = 0) -> dict[str, stats.Estimate]:
    """The area under the curve of every table that has questions."""
    return {name: stability.aurc(*_risk(t), seed=seed) for name, t in tables.items() if len(t)}


def _risk(table: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Level and risk of each question; a similarity that rounding left above 1 is no risk."""
    close = table["truth_similarity"].astype(float).to_numpy()
    return table["level"].astype(float).to_numpy(), np.maximum(1 - close, 0)


def all_surprises(tables: Mapping[str, pd.DataFrame], most: int = 3) -> pd.DataFrame:
    """`surprises` of every table, one below the other."""
    import pandas as pd

    return pd.concat([surprises(table, most).assign(data=name) for name, table in tables.items()], ignore_index=True)


def reliability_warnings(tables: Mapping[str, pd.DataFrame], correlations: pd.DataFrame) -> list[str]:
    """What a reader should distrust."""
    notes = []
    for name, table in tables.items():
        if len(table) < 30:
            notes.append(f"{name}: fewer than 30 questions ({len(table)}); a correlation is uncertain.")
    pearson = correlations[correlations["coefficient"] == "pearson"]
    open_ = [row.data for row in pearson.itertuples() if not gone(row.low) and row.low <= 0 <= row.high]
    if open_:
        notes.append(f"Stability is not shown to go with closeness to the truth in: {', '.join(open_)}.")
    return notes
