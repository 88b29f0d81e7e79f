"""DAHL section 5.2, Figure 5: how the score changes with the sampling temperature.

In goes one table of scored answers over all temperatures: subject, temperature, question_id, source, precision (0..1, missing unless
scored). The same questions are asked at each, so everything is compared question by question.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from factlab import stats
from factlab.stats.resampling import FEW

if TYPE_CHECKING:
    import pandas as pd


def against_reference(
    answers: pd.DataFrame, reference: float = 0.6, margin: float | None = None, seed: int = 0
) -> pd.DataFrame:
    """Each temperature against one, for every model: paired, with Holm's correction over a model's comparisons.

    Parameters
    ----------
    answers : see the module.
    reference : the temperature that the others are compared with; a model that was not asked at it is left out.
    margin : largest difference that does not matter, for the equivalence test.

    Returns
    -------
    DataFrame : subject, temperature and the columns of `stats.against`.
    """
    import pandas as pd

    found = []
    for subject, group in answers.groupby("subject"):
        if reference in set(group["temperature"]):
            rows = stats.against(
                group, "temperature", "question_id", "precision", reference, "source", margin=margin, seed=seed
            )
            found.append(rows.assign(subject=subject))
    found = [rows for rows in found if len(rows)]
    return pd.concat(found, ignore_index=True) if found else pd.DataFrame(columns=["subject", "temperature"])


def slopes(answers: pd.DataFrame) -> pd.DataFrame:
    """For each question the slope of its precision over temperature (least squares), where it has a score at two or more.

    Returns
    -------
    DataFrame : subject, question_id, source, slope (change of precision when the temperature rises by 1), n (temperatures).
    """
    import pandas as pd

    rows = []
    scored = answers[answers["precision"].notna()]
    for (subject, question), group in scored.groupby(["subject", "question_id"], sort=False):
        means = group.groupby("temperature")["precision"].mean()
        if len(means) > 1:
            slope = float(np.polyfit(means.index.to_numpy(float), means.to_numpy(float), 1)[0])
            rows.append((subject, question, group["source"].iloc[0], slope, len(means)))
    return pd.DataFrame(rows, columns=["subject", "question_id", "source", "slope", "n"])


def best(answers: pd.DataFrame, seed: int = 0, alpha: float = 0.05) -> pd.DataFrame:
    """For each model the temperature with the highest score, and those that are not significantly below it.

    Returns
    -------
    DataFrame : subject, best, score, others (temperatures whose paired difference from the best is not significant after Holm's
    correction, or was not tested), worse (those significantly below).

    Notes
    -----
    The best was picked by looking at the same numbers, so the tests favour it; read `worse` as a first hint.
    """
    import pandas as pd

    rows = []
    for subject, group in answers.groupby("subject"):
        means = group.groupby("temperature")["precision"].mean().dropna()
        if not len(means):
            continue
        top = float(means.idxmax())
        compared = stats.against(
            group, "temperature", "question_id", "precision", top, "source", seed=seed, alpha=alpha
        )
        lower = compared[compared["differs"].fillna(False).astype(bool)] if len(compared) else compared
        worse = [] if not len(lower) else lower["temperature"].tolist()
        others = [t for t in means.index if t != top and t not in worse]
        rows.append((subject, top, means[top], _listed(others), _listed(worse)))
    return pd.DataFrame(rows, columns=["subject", "best", "score", "others", "worse"])


def _listed(numbers: Sequence[float]) -> str:
    return ", ".join(f"{n:g}" for n in numbers) or "none"


def sentence(by_temperature: pd.DataFrame, compared: pd.DataFrame, trend: pd.DataFrame) -> str:
    """What was found, in words.

    Parameters
    ----------
    by_temperature : from `stats.estimates_by`, with subject and temperature.
    compared : from `against_reference`.
    trend : from `stats.estimates_by` over `slopes`.
    """
    scored = by_temperature[by_temperature["value"].notna()]
    if not len(scored):
        return "no answer was scored at any temperature"
    parts = []
    for subject, group in scored.groupby("subject"):
        low, high = group.loc[group["value"].idxmin()], group.loc[group["value"].idxmax()]
        said = (
            f"{subject}: {low['value']:.2f} at {low['temperature']:g} to {high['value']:.2f} at {high['temperature']:g}"
        )
        mine = compared[compared["subject"] == subject] if len(compared) else compared
        if len(mine):
            tested, differ = mine["p_holm"].notna().sum(), mine["differs"].fillna(False).sum()
            said += (
                f"; {differ} of {tested} temperatures differ from the published one" if tested else "; too few to test"
            )
        slope = trend[trend["subject"] == subject] if len(trend) else trend
        if len(slope) and slope["low"].notna().all():
            row = slope.iloc[0]
            away = row["low"] > 0 or row["high"] < 0
            said += f"; slope {row['value']:+.2f} [{row['low']:+.2f}, {row['high']:+.2f}]" + (
                "" if away else ", no trend shown"
            )
        parts.append(said)
    return "; ".join(parts)


def warnings(arms: pd.DataFrame, compared: pd.DataFrame, judges: Sequence[str]) -> list[str]:
    """What a reader should distrust.

    Parameters
    ----------
    arms : one row a subject and temperature, with asked and scored.
    compared : from `against_reference`.
    judges : names of the judges of all runs.
    """
    notes = []
    small = arms[arms["scored"] < FEW]
    if len(small):
        notes.append(f"{len(small)} of {len(arms)} arms have fewer than {FEW} scored answers and are not tested.")
    if len(judges) > 1:
        notes.append(
            f"The runs were judged by different judges ({', '.join(judges)}), so their scores cannot be compared."
        )
    if "local/smollm2" in judges:
        notes.append(
            "The judge is the built-in model, which is no judge: see its audit in each run. This page shows how the method works."
        )
    lost = int((arms["asked"] - arms["scored"]).sum())
    if lost:
        notes.append(
            f"{lost} of {int(arms['asked'].sum())} answers have no score; those left out may differ between temperatures."
        )
    tested = compared[compared["p"].notna()] if "p" in compared else compared
    if len(tested) and not tested["differs"].fillna(False).any():
        widest = float(np.nanmax(np.abs(tested[["low", "high"]].to_numpy(dtype=float, na_value=np.nan))))
        notes.append(
            f"No difference is significant, which does not make the scores equal: differences up to {widest:.2f} remain possible."
        )
    return notes
