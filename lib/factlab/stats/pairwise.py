"""Several arms at once: every pair of them, or each against one, with Holm's correction over the family."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from factlab.stats.comparisons import compare, equivalence, holm, two_sample
from factlab.stats.resampling import table

if TYPE_CHECKING:
    import pandas as pd


def all_pairs(arms: Mapping[str, ArrayLike], margin: float, *, alpha: float = 0.05) -> pd.DataFrame:
    """Every pair of independent samples, tested as in DAHL section 5.2 and for equivalence.

    Parameters
    ----------
    arms : dict of name to (n,) array
        Scores of each sample; undefined ones are left out.
    margin : float
        Largest difference of means that does not matter, for the equivalence test.
    alpha : float

    Returns
    -------
    DataFrame
        One row a pair: a, b, n_a, n_b, mean_a, mean_b, difference (a − b), p_f (equal variances), test (Student's t, or Welch's where
        p_f < alpha), p (two-sided), p_holm, low, high (of the difference, at level 1 − 2 alpha), p_tost, p_tost_holm, equivalent
        (p_tost_holm < alpha), verdict, status, reason.

    Notes
    -----
    The paper reports F-tests, then t-tests, uncorrected, and reads p > 0.05 as "no difference". That conclusion needs the equivalence
    test (TOST). Pairs with an arm of fewer than ten are described, not tested (`two_sample`).
    """
    rows: list[dict[str, Any]] = []
    for a, b in itertools.combinations(arms, 2):
        tests = two_sample(arms[a], arms[b], alpha=alpha).set_index("test")
        same = equivalence(arms[a], arms[b], margin, paired=False, alpha=alpha).iloc[0]
        row: dict[str, Any] = {"a": a, "b": b}
        row |= {c: tests[c].iloc[0] for c in ("n_a", "n_b", "mean_a", "mean_b")}
        row |= {"difference": same["difference"], "p_f": tests.loc["F-test", "p"]}
        applies = tests.index[tests["applies"].fillna(False).astype(bool)]
        used = applies[0] if len(applies) else "Student t"
        row |= {"test": used if len(applies) else "", "p": tests.loc[used, "p"]}
        row |= {"low": same["low"], "high": same["high"], "p_tost": same["p"]}
        row |= {"status": tests.loc[used, "status"], "reason": tests.loc[used, "reason"]}
        rows.append(row)
    columns = ["a", "b", "n_a", "n_b", "mean_a", "mean_b", "difference", "p_f", "test", "p", "p_holm", "low", "high"]
    columns += ["p_tost", "p_tost_holm", "equivalent", "verdict", "status", "reason"]
    if not rows:
        return table([]).reindex(columns=columns)
    both = zip(rows, holm([r["p"] for r in rows]), holm([r["p_tost"] for r in rows]), strict=True)
    for row, corrected, tost in both:
        row |= {"p_holm": corrected, "p_tost_holm": tost}
        row["equivalent"] = None if tost != tost else bool(tost < alpha)
        row["verdict"] = _verdict(row, margin, alpha)
    return table([{c: row[c] for c in columns} for row in rows])


def _verdict(row: Mapping[str, Any], margin: float, alpha: float) -> str:
    if row["p_holm"] != row["p_holm"]:
        return "not tested"
    differs = row["p_holm"] < alpha
    if row["equivalent"]:
        return f"equal within ±{margin:g}" + (", though they differ" if differs else "")
    return "they differ" if differs else "undecided: neither a difference nor equality is shown"


def against(
    frame: pd.DataFrame,
    arm: str,
    item: str,
    value: str,
    reference: Any,
    clusters: str | None = None,
    *,
    margin: float | None = None,
    seed: int = 0,
    alpha: float = 0.05,
) -> pd.DataFrame:
    """Each arm against one of them, on the items that both have answered.

    Parameters
    ----------
    frame : DataFrame
        One row an item and arm; an item with several rows in an arm counts with their mean.
    arm, item, value : str
        Columns: the setting, the question, the score (missing where there is none).
    reference : value of `arm` that the others are compared with.
    clusters : str, optional
        Column of what the items came from.
    margin : float, optional
        Largest difference that does not matter; with it each pair is tested for equivalence too.
    seed, alpha

    Returns
    -------
    DataFrame
        One row an arm besides the reference, in order: arm, then the columns of `compare` (difference: arm − reference), p_holm,
        differs and, with a margin, equivalent (whether the interval at level 1 − 2 alpha lies inside ±margin); missing where not
        tested.

    Raises
    ------
    ValueError
        If the reference is not among the arms.
    """
    import pandas as pd

    arms = sorted(frame[arm].dropna().unique())
    if reference not in arms:
        raise ValueError(f"{arm} {reference!r} is not among the arms {', '.join(map(str, arms))}")
    wide = frame.pivot_table(index=item, columns=arm, values=value, aggfunc="mean", observed=True).astype(float)
    wide = wide.reindex(columns=arms)
    of = frame.groupby(item, observed=True)[clusters].first().reindex(wide.index) if clusters else None
    rows = []
    for other in (a for a in arms if a != reference):
        found = compare(wide[other], wide[reference], of, seed=seed).iloc[0].to_dict()
        if margin is not None:
            narrow = compare(wide[other], wide[reference], of, seed=seed, level=1 - 2 * alpha).iloc[0]
            known = not (pd.isna(narrow["low"]) or pd.isna(narrow["high"]))
            found["equivalent"] = bool(narrow["low"] > -margin and narrow["high"] < margin) if known else None
        rows.append({arm: other, **found})
    if not rows:
        return table([])
    for row, corrected in zip(rows, holm([r["p"] for r in rows]), strict=True):
        row |= {"p_holm": corrected, "differs": None if corrected != corrected else bool(corrected < alpha)}
    return table(rows)
