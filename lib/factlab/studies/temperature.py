"""DAHL section 5.2, Figure 5: how the score changes with the sampling temperature.

In goes one table of answers over all temperatures, one row an answer: subject, temperature (missing where it is not known),
question_id, source, precision (0..1, missing unless scored). The same questions are asked at each, so everything is compared question
by question; several answers to a question at one temperature count with their mean.
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
    margin : largest difference that does not matter, for the equivalence test; above 0.
    seed : of the resampling.

    Returns
    -------
    DataFrame : subject, temperature and the other columns of `stats.against` (difference: that temperature − the reference). Empty where no
    model was asked at the reference and at another temperature.
    """
    import pandas as pd

    found = []
    for subject, group in answers.groupby("subject"):
        if reference in set(group["temperature"]):
            rows = stats.against(
                group, "temperature", "question_id", "precision", reference, "source", margin=margin, seed=seed
            )
            rows.insert(0, "subject", subject)
            found += [rows] if len(rows) else []
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
    DataFrame : subject, best (the lowest of several with the same score), score (mean over its answers, 0..1), others and worse, as
    text. `worse`: temperatures significantly below the best, question by question, after Holm's correction; `others`: all further
    ones with a score, those that could not be tested among them. No row for a model without a score.

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
        # Over the questions that both have a score for, another temperature can lie above the best.
        lower = compared[compared["differs"].fillna(False) & (compared["difference"] < 0)]
        worse = set(lower["temperature"])
        others = [t for t in means.index if t != top and t not in worse]
        rows.append((subject, top, float(means.max()), _listed(others), _listed(sorted(worse))))
    return pd.DataFrame(rows, columns=["subject", "best", "score", "others", "worse"])


def _listed(numbers: Sequence[float]) -> str:
    return ", ".join(f"{n:g}" for n in numbers) or "none"


def sentence(by_temperature: pd.DataFrame, compared: pd.DataFrame, trend: pd.DataFrame) -> str:
    """What was found, in words, model by model: lowest and highest score, how many temperatures differ, the slope.

    Parameters
    ----------
    by_temperature : from `stats.estimates_by`, with subject and temperature.
    compared : from `against_reference`.
    trend : from `stats.estimates_by` over `slopes`.
    """
    import pandas as pd

    scored = by_temperature[by_temperature["value"].notna()]
    known = scored[pd.to_numeric(scored["temperature"], errors="coerce").notna()]  # else it says "(missing)"
    if not len(known):
        return "the temperatures are not recorded" if len(scored) else "no answer was scored at any temperature"
    parts = []
    for subject, group in known.groupby("subject"):
        said = f"{subject}: {_range(group)}"
        mine = compared[compared["subject"] == subject]
        if len(mine):
            tested, differ = mine["p_holm"].notna().sum(), mine["differs"].fillna(False).sum()
            said += f"; {differ} of {tested} temperatures differ from the reference" if tested else "; too few to test"
        for row in trend[(trend["subject"] == subject) & trend["low"].notna()].to_dict("records"):
            if row["method"].startswith("Wilson"):  # all slopes are 0, and that interval is one for shares
                continue
            away = row["low"] > 0 or row["high"] < 0
            said += f"; slope {row['value']:+.2f} [{row['low']:+.2f}, {row['high']:+.2f}]"
            said += "" if away else ", no trend shown"
        parts.append(said)
    return "; ".join(parts)


def _range(group: pd.DataFrame) -> str:
    """Lowest and highest score of one model with their temperatures."""
    low, high = group.loc[group["value"].idxmin()], group.loc[group["value"].idxmax()]
    if low["value"] == high["value"]:
        where = f"{low['temperature']:g} alone" if len(group) == 1 else f"all {len(group)} temperatures"
        return f"{low['value']:.2f} at {where}"
    return f"{low['value']:.2f} at {low['temperature']:g} to {high['value']:.2f} at {high['temperature']:g}"


def warnings(arms: pd.DataFrame, compared: pd.DataFrame, judges: Sequence[str]) -> list[str]:
    """What a reader should distrust.

    Parameters
    ----------
    arms : one row a subject and temperature, with asked and scored (numbers of answers).
    compared : from `against_reference`.
    judges : names of the judges of all runs.
    """
    import pandas as pd

    notes = (
        [] if len(arms) else ["The runs do not say at which temperature they were made, so nothing can be compared."]
    )
    small = arms[arms["scored"] < FEW]
    if len(small):
        notes.append(f"{len(small)} of {len(arms)} arms have fewer than {FEW} scored answers and are not tested.")
    several = arms.groupby("subject")["temperature"].nunique()
    alone = sorted(set(several.index[several > 1]) - set(compared["subject"]))
    if alone:
        notes.append(f"Not asked at the reference temperature, so not compared with it: {', '.join(alone)}.")
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
        widest = tested[["low", "high"]].abs().max(axis=None)
        notes.append(
            "No difference is significant, which does not make the scores equal"
            + (f": differences up to {widest:.2f} remain possible." if pd.notna(widest) else ".")
        )
    return notes
